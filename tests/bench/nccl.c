/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * nccl.c - time and memory to read a log of NCCL
 *
 *	nccl            1 GB each of training output with some messages, and of messages only
 *	nccl MEGABYTES  another size
 *
 * The log is in /dev/shm, or in $TMPDIR.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "analysis/nccl.h"
#include "base/err.h"

enum { HOSTS = 128, RANKS = 8, CHANNELS = 32 };

static double seconds(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static size_t message_write(FILE *file, unsigned i)
{
	unsigned host = i % HOSTS, rank = i / HOSTS % RANKS, channel = i / (HOSTS * RANKS) % CHANNELS;

	return (size_t)fprintf(file, "node%03u:%u:%u [%u] NCCL INFO Channel %02u/0 : %u[%u] -> %u[%u] [send]"
			       " via NET/IB/%u/GDRDMA\n", host, 1000 + rank, 2000 + rank, rank, channel,
			       host * RANKS + rank, rank, (host + 1) % HOSTS * RANKS + rank, rank, rank);
}

/* @every: each line with this distance is a message. */
static int log_write(FILE *file, size_t bytes, unsigned every)
{
	size_t written = 0;

	for (unsigned i = 0; i < HOSTS * RANKS; i++) {
		written += (size_t)fprintf(file, "node%03u:%u:%u [%u] NCCL INFO NET/IB : Using", i % HOSTS,
					   1000 + i / HOSTS, 2000 + i / HOSTS, i / HOSTS);
		for (unsigned hca = 0; hca < RANKS; hca++)
			written += (size_t)fprintf(file, " [%u]mlx5_%u:1/IB", hca, hca);
		written += (size_t)fprintf(file, " [RO]; OOB eth0:10.0.0.1<0>\n");
	}
	for (unsigned i = 0; written < bytes; i++)
		if (i % every)
			written += (size_t)fprintf(file, "Epoch 3:  %u%%|####      | %u/2000 [00:12<00:31, 61.3it/s,"
						   " loss=%u.%05u]\n", i % 100, i % 2000, i % 7, i % 99991);
		else
			written += message_write(file, i / every);
	return fflush(file);
}

static int measure(const char *folder, size_t bytes, unsigned every)
{
	static struct nccl_log log;
	static struct nccl_verdict verdict;
	struct error err = { .text = "cannot write the log" };
	struct rusage usage;
	double wall, cpu;
	char path[4096];
	FILE *file;
	int fd, failed;

	snprintf(path, sizeof(path), "%s/nccl-XXXXXX", folder);
	fd = mkstemp(path);
	file = fd < 0 ? NULL : fdopen(fd, "w+");
	if (!file) {
		perror(path);
		return 1;
	}
	unlink(path);
	nccl_init(&log);
	failed = log_write(file, bytes, every);
	rewind(file);
	wall = seconds(CLOCK_MONOTONIC);
	cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
	failed = failed || nccl_read(&log, fileno(file), "the log", &err) || nccl_check(&log, NULL, 0, &verdict, &err);
	getrusage(RUSAGE_SELF, &usage);
	if (failed)
		fprintf(stderr, "%s\n", err.text);
	else
		printf("%7.2f GB, %9.0f messages: %5.2f s, %5.2f s CPU, memory %.1f MB: %s\n", (double)log.bytes / 1e9,
		       (double)log.messages, seconds(CLOCK_MONOTONIC) - wall, seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu,
		       (double)usage.ru_maxrss / 1e3, verdict.lines[0].text);
	nccl_done(&log);
	fclose(file);
	return failed != 0;
}

int main(int argc, char **argv)
{
	size_t bytes = (argc > 1 ? strtoul(argv[1], NULL, 10) : 1000) * 1000000;
	const char *folder = getenv("TMPDIR");

	folder = folder ? folder : "/dev/shm";
	return measure(folder, bytes, 20) || measure(folder, bytes, 1);
}
