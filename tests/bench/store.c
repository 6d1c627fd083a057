/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * store.c - size and time of the store: the figures of docs/storage.md, Cost
 *
 * A noisy day (storage/test/test_day.h) of 4,096 port ends with one sweep per second, and 65,536 port
 * ends with one sweep per ten seconds, are stored as by a collector. There is no pause between sweeps,
 * except at the end of each window, where the time of compaction is measured.
 *
 *     PORTS=4096 HOURS=6.05    the day; 0 hours omits it
 *     LARGE_SWEEPS=60          of 65,536 port ends; 0 omits them
 *     FOLDER=$TMPDIR           needs 1 GB
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "collector/sink.h"
#include "storage/reader.h"
#include "storage/writer.h"
#include "tests/bench/fabric_day.h"
#include "tests/bench/measure.h"

#define SECOND_US INT64_C(1000000)
#define WARM_RUNS 7

/* A shorter time between two windows is a checkpoint of the log only. */
#define COMPACTION_MIN_US 20000

/* A database and the times of filling it. */
struct filling {
	char path[4200];
	struct times stores, cpus; /* of storing a sweep: elapsed, and CPU time of this thread */
	struct times compactions;  /* CPU time */
	int64_t samples, newest_us;
};

static double setting(const char *name, double otherwise)
{
	const char *text = getenv(name);

	return text && *text ? strtod(text, NULL) : otherwise;
}

static void compact(struct filling *filling)
{
	int64_t cpu_us;

	if (settle(&cpu_us) >= COMPACTION_MIN_US)
		times_add(&filling->compactions, cpu_us);
}

static int store_sweeps(struct filling *filling, struct fabric_day *day, struct writer *writer, int64_t sweeps,
			int64_t window_sweeps, struct error *err)
{
	const struct sink *sink = writer_sink(writer);
	int code = 0;

	for (int64_t i = 0; i < sweeps && code == 0; i++) {
		const struct sweep *sweep = fabric_day_step(day);
		int64_t began_us = now_us(), began_cpu_us = cpu_us();

		code = sink->store(sink->ctx, sweep, err);
		times_add(&filling->cpus, cpu_us() - began_cpu_us);
		times_add(&filling->stores, now_us() - began_us);
		for (size_t j = 0; j < sweep->sample_count; j++)
			filling->samples += sweep->samples[j].delta != NULL;
		if (i % window_sweeps == window_sweeps - 1)
			compact(filling);
		filling->newest_us = sweep->wall_us;
	}
	return code;
}

static int fill(struct filling *filling, double ports, int64_t interval_us, int64_t sweeps, struct error *err)
{
	const struct fabric_day_settings settings = {
		.ports = (size_t)ports, .interval_us = interval_us, .seed = 1,
		.begin_us = INT64_C(1795046400) * SECOND_US,
	};
	struct fabric_day *day = NULL;
	struct writer *writer = NULL;
	int code = fabric_day_create(&settings, &day, err);

	if (code == 0)
		code = writer_open(filling->path, &writer, err);
	if (code == 0)
		code = store_sweeps(filling, day, writer, sweeps, SETTLE_SWEEPS(interval_us), err);
	writer_close(writer);
	fabric_day_destroy(day);
	return code;
}

static void print_filling(struct filling *filling, const char *name)
{
	const struct {
		const char *name, *unit;
		double value;
	} rows[] = {
		{ "store a sweep, CPU", "ms", times_at_ms(&filling->cpus, 50) },
		{ "store a sweep", "ms", times_at_ms(&filling->stores, 50) },
		{ "longest", "ms", times_at_ms(&filling->stores, 100) },
		{ "compact a window, CPU", "ms", times_at_ms(&filling->compactions, 50) },
		{ "size of a port-sample", "bytes",
		  (double)file_bytes(filling->path) / (double)filling->samples },
	};
	char text[128];

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		snprintf(text, sizeof(text), "%s: %s", name, rows[i].name);
		figure(text, rows[i].value, rows[i].unit);
	}
}

/* What a collector reads when it starts. */
static int measure_restore(const struct filling *filling, struct error *err)
{
	struct restored restored = { 0 };
	struct writer *writer = NULL;
	int64_t began_us = now_us();
	int code = writer_open(filling->path, &writer, err);

	if (code == 0)
		code = writer_sink(writer)->restore(writer_sink(writer)->ctx, &restored, err);
	figure("open and restore", (double)(now_us() - began_us) / 1000, "ms");
	restored_done(&restored);
	writer_close(writer);
	return code;
}

static bool ignore_header(void *ctx, const char *const *names, int count)
{
	(void)ctx;
	(void)names;
	(void)count;
	return true;
}

static bool count_row(void *ctx, const struct cell *cells, int count)
{
	(void)cells;
	(void)count;
	++*(int64_t *)ctx;
	return true;
}

/* The newest topology, and the sums of all ports over five windows as ibwire history --top reads them. */
static int measure_reader(const struct filling *filling, int64_t interval_us, struct error *err)
{
	int64_t rows = 0, span_us = 5 * SETTLE_SWEEPS(interval_us) * interval_us;
	const struct sql_consumer consumer = { .header = ignore_header, .row = count_row, .ctx = &rows };
	struct snapshot_query newest = { 0 };
	struct times snapshots = { 0 }, sums = { 0 };
	struct reader *reader = NULL;
	char sql[128];
	int code = reader_open(filling->path, &reader, err);

	snprintf(sql, sizeof(sql), "SELECT samples, xmit_data FROM port_sum(%lld, %lld)",
		 (long long)(filling->newest_us - span_us), (long long)filling->newest_us);
	for (int i = 0; code == 0 && i <= WARM_RUNS; i++) {
		struct snapshot *snapshot = NULL;
		int64_t began_us = cpu_us(), middle_us;

		code = snapshot_load(reader, &newest, &snapshot, err);
		snapshot_destroy(snapshot);
		middle_us = cpu_us();
		if (code == 0)
			code = reader_sql(reader, sql, 0, &consumer, err);
		if (i) {
			times_add(&snapshots, middle_us - began_us);
			times_add(&sums, cpu_us() - middle_us);
		}
	}
	if (code == 0 && !rows)
		code = err_set(err, ERR_INTERNAL, "no row from: %s", sql);
	figure("snapshot of the newest sweep, CPU", times_at_ms(&snapshots, 50), "ms");
	figure("sums of all ports over five windows, CPU", times_at_ms(&sums, 50), "ms");
	times_done(&snapshots);
	times_done(&sums);
	reader_close(reader);
	return code;
}

static void filling_remove(struct filling *filling)
{
	static const char *const ends[] = { "", "-wal", "-shm", ".lock" };
	char path[4300];

	times_done(&filling->stores);
	times_done(&filling->cpus);
	times_done(&filling->compactions);
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		snprintf(path, sizeof(path), "%s%s", filling->path, ends[i]);
		unlink(path);
	}
}

static int measure(const char *folder, double ports, int64_t interval_us, int64_t sweeps, struct error *err)
{
	struct filling filling = { .samples = 0 };
	char name[64];
	int code;

	if (sweeps <= 0)
		return 0;
	snprintf(name, sizeof(name), "%.0f port ends", ports);
	snprintf(filling.path, sizeof(filling.path), "%s/%.0f.db", folder, ports);
	printf("%s, %lld s apart, %lld sweeps\n", name, (long long)(interval_us / SECOND_US), (long long)sweeps);
	code = fill(&filling, ports, interval_us, sweeps, err);
	if (code == 0) {
		print_filling(&filling, name);
		code = measure_restore(&filling, err);
	}
	if (code == 0)
		code = measure_reader(&filling, interval_us, err);
	filling_remove(&filling);
	return code;
}

int main(void)
{
	const char *folder = getenv("FOLDER") ? getenv("FOLDER") : getenv("TMPDIR");
	struct error err = { 0 };
	char path[4096];
	int code;

	snprintf(path, sizeof(path), "%s/ibwire-bench-XXXXXX", folder ? folder : "/tmp");
	if (!mkdtemp(path)) {
		fprintf(stderr, "store: cannot create a directory in %s: set FOLDER\n", folder ? folder : "/tmp");
		return -ERR_IO;
	}
	code = measure(path, setting("PORTS", 4096), SECOND_US, (int64_t)(3600 * setting("HOURS", 6.05)), &err);
	if (code == 0)
		code = measure(path, 65536, 10 * SECOND_US, (int64_t)setting("LARGE_SWEEPS", 60), &err);
	if (code < 0)
		fprintf(stderr, "store: %s\n", err.text);
	rmdir(path);
	return -code;
}
