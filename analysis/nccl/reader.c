/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* reader.c - the messages in a line of a log, and the processes that printed them */
#include "analysis/nccl.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/nccl/input.h"
#include "base/array.h"
#include "base/err.h"
#include "base/text.h"

void nccl_copy(char *ret, size_t size, const char *bytes, size_t len)
{
	text_sanitise(bytes, len, ret, size);
}

void nccl_init(struct nccl_log *log)
{
	*log = (struct nccl_log){ .inflate_most = 4ull << 30 };
}

void nccl_done(struct nccl_log *log)
{
	if (log->input)
		map_done(&log->input->test_hosts);
	free(log->input);
	free(log->hosts);
	free(log->hcas);
	free(log->processes);
	free(log->slots);
	for (size_t i = 0; i < log->test_count; i++)
		free(log->tests[i].groups);
	free(log->tests);
	free(log->renamed);
	map_done(&log->renamed_map);
	map_done(&log->lid_map);
	map_done(&log->host_map);
	map_done(&log->process_map);
	map_done(&log->hca_map);
	map_done(&log->rank_map);
	map_done(&log->overdue_map);
	free(log->tallies);
	nccl_init(log);
}

enum { SEED_NAME = 1, SEED_PRINTED = 5 }; /* of keys: the name of a host, and as NCCL prints it */

int nccl_rename_host(struct nccl_log *log, const char *from, const char *to, struct error *err)
{
	char (*name)[NCCL_NAME_SIZE] = array_add(&log->renamed, &log->renamed_count, &log->renamed_capacity,
						 sizeof(*name));

	if (!name || map_put(&log->renamed_map, nccl_hash(from, strcspn(from, "."), SEED_PRINTED),
			     (uint32_t)log->renamed_count - 1))
		return err_nomem(err);
	nccl_copy(*name, sizeof(*name), to, strcspn(to, "."));
	return 0;
}

/* The host of a name, added if it is new. Return: UINT32_MAX: beyond the limits. */
static uint32_t host_add(struct nccl_log *log, const char *name, size_t len)
{
	uint64_t key = nccl_hash(name, len, SEED_NAME);
	struct nccl_host *host;
	uint32_t found;

	if (map_get(&log->host_map, key, &found))
		return found;
	if (log->host_count == NCCL_HOSTS_MOST)
		return UINT32_MAX;
	host = array_add(&log->hosts, &log->host_count, &log->host_capacity, sizeof(*host));
	if (!host || map_put(&log->host_map, key, (uint32_t)log->host_count - 1)) {
		log->failed = true;
		return UINT32_MAX;
	}
	*host = (struct nccl_host){ 0 };
	nccl_copy(host->name, NCCL_NAME_SIZE, name, len);
	return (uint32_t)log->host_count - 1;
}

uint32_t nccl_host_find(struct nccl_log *log, const char *name, size_t len)
{
	uint64_t key = nccl_hash(name, len, SEED_PRINTED);
	uint32_t found, renamed;

	if (map_get(&log->host_map, key, &found))
		return found;
	if (map_get(&log->renamed_map, key, &renamed))
		found = host_add(log, log->renamed[renamed], strlen(log->renamed[renamed]));
	else
		found = host_add(log, name, len);
	if (found != UINT32_MAX && map_put(&log->host_map, key, found))
		log->failed = true;
	return found;
}

/*
 * Text without a newline before a message becomes part of the host name: "loss 1.0node01:71:71".
 * Return: the process whose host name is the end of this one; NULL: none.
 */
static struct nccl_process *process_glued(struct nccl_log *log, const char *name, size_t len, uint32_t pid)
{
	uint32_t at;

	for (size_t i = 1; i < len; i++)
		if (map_get(&log->process_map, nccl_hash(name + i, len - i, pid), &at))
			return &log->processes[at];
	return NULL;
}

/*
 * Or the first message of the process was torn, "pha:71:71" of "alpha:71:71", and the longer name is the host:
 * then it is repeated, while the process has few messages.
 */
static void process_rename(struct nccl_log *log, struct nccl_process *process, const char *name, size_t len,
			   uint64_t key)
{
	enum { MESSAGES_MOST = 3 };
	uint32_t host = process->host, index = (uint32_t)(process - log->processes), found;
	uint64_t host_key = nccl_hash(name, len, SEED_PRINTED);

	if (process->messages > MESSAGES_MOST || log->hosts[host].processes > 1 ||
	    map_get(&log->renamed_map, host_key, &found))
		return;
	if (process->longer != key) {
		process->longer = key;
		process->longer_at = process->messages;
	}
	if (process->longer_at == process->messages)
		return;
	if (map_get(&log->host_map, host_key, &found)) {
		log->hosts[host].processes--;
		log->hosts[found].processes++;
		process->host = found;
	} else {
		nccl_copy(log->hosts[host].name, NCCL_NAME_SIZE, name, len);
		log->failed |= map_put(&log->host_map, host_key, host) != 0 ||
			       map_put(&log->host_map, nccl_hash(name, len, SEED_NAME), host) != 0;
	}
	log->failed |= map_put(&log->process_map, key, index) != 0;
}

/* The same for the first message of a process: the end of the name is a known host. */
static uint32_t host_glued(const struct nccl_log *log, const char *name, size_t len)
{
	uint32_t host;

	for (size_t i = 1; i < len; i++)
		if (map_get(&log->host_map, nccl_hash(name + i, len - i, SEED_PRINTED), &host))
			return host;
	return UINT32_MAX;
}

/* The process of a prefix, added if it is new. Return: NULL: beyond the limits, or the host is not known. */
static struct nccl_process *process_find(struct nccl_log *log, const char *name, size_t len, uint32_t pid, bool glued)
{
	uint64_t key = nccl_hash(name, len, pid);
	struct nccl_process *processes;
	uint32_t at, host;

	if (map_get(&log->process_map, key, &at))
		return &log->processes[at];
	processes = process_glued(log, name, len, pid);
	if (processes) {
		if (!glued)
			process_rename(log, processes, name, len, key);
		return processes;
	}
	host = log->process_count == NCCL_PROCESSES_MOST ? UINT32_MAX :
	       glued ? host_glued(log, name, len) : nccl_host_find(log, name, len);
	if (host == UINT32_MAX) {
		log->dropped += !glued;
		return NULL;
	}
	if (glued && map_get(&log->process_map, key = nccl_hash(log->hosts[host].name, strlen(log->hosts[host].name),
								pid), &at))
		return &log->processes[at];
	processes = array_grow(log->processes, log->process_count, &log->process_capacity, sizeof(*processes));
	if (processes)
		log->processes = processes;
	if (!processes || map_put(&log->process_map, key, (uint32_t)log->process_count)) {
		log->failed = true;
		return NULL;
	}
	log->hosts[host].processes++;
	processes[log->process_count] = (struct nccl_process){ .host = host, .pid = pid, .first_slot = UINT32_MAX };
	return &processes[log->process_count++];
}

static bool in_word(char c)
{
	return isalnum((unsigned char)c) || c == '.' || c == '-' || c == '_';
}

/* Go back over a number and the character before it. Return: its first digit; NULL: something else. */
static const char *back_number(const char *begin, const char *end, char before)
{
	const char *at = end;

	while (at > begin && isdigit((unsigned char)at[-1]))
		at--;
	return at < end && end - at < 11 && at > begin && at[-1] == before ? at : NULL;
}

static const char *back_word(const char *begin, const char *end)
{
	while (end > begin && end[-1] != ' ')
		end--;
	return end;
}

/*
 * The prefix "HOST:PID:TID [GPU] " before "NCCL INFO", with "FILE:LINE " after it before "NCCL WARN", since 2.30
 * "FILE:LINE (FUNCTION) ", since 2.27 perhaps with a time before it.
 * @ret_begin:  the first character of the prefix, or of what is left of it
 * Return: the process; NULL: there is no whole prefix.
 */
static struct nccl_process *prefix_read(struct nccl_log *log, const char *begin, const char *marker, bool warn,
					const char **ret_begin)
{
	const char *at = marker, *number, *host;
	uint32_t pid;

	*ret_begin = marker;
	if (warn) {
		if (at == begin || at[-1] != ' ')
			return NULL;
		if (at - begin > 2 && at[-2] == ')')
			at = back_word(begin, at - 1);
		if (at > begin && at[-1] == ' ')
			at = back_word(begin, at - 1);
		*ret_begin = at;
	}
	if (at - begin < 2 || at[-1] != ' ' || at[-2] != ']')
		return NULL;
	number = back_number(begin, at - 2, '[');
	if (!number && at - begin > 5 && at[-3] == '1' && at[-4] == '-') /* [-1]: no GPU */
		number = at[-5] == '[' ? at - 4 : NULL;
	if (!number || number - begin < 2 || number[-2] != ' ')
		return NULL;
	number = back_number(begin, number - 2, ':');
	number = number ? back_number(begin, number - 1, ':') : NULL;
	if (!number)
		return NULL;
	pid = (uint32_t)strtoul(number, NULL, 10);
	for (host = number - 1; host > begin && in_word(host[-1]) && number - host < NCCL_NAME_SIZE; host--)
		;
	if (host == number - 1)
		return NULL;
	*ret_begin = host;
	/* A prefix follows a label of mpirun, srun or kubectl; inside another message it follows other characters. */
	return process_find(log, host, (size_t)(number - 1 - host), pid, host > begin && !strchr(" \t\r:|)", host[-1]));
}

/* The next "NCCL" or "RCCL" between @from and @end; NULL: none. */
static const char *marker_find(const char *from, const char *end)
{
	const char *at = from;

	while (at < end) {
		at = memmem(at, (size_t)(end - at), "CCL", 3);
		if (!at)
			return NULL;
		if (at > from && (at[-1] == 'N' || at[-1] == 'R'))
			return at - 1;
		at += 3;
	}
	return NULL;
}

static bool starts(const char *at, const char *end, const char *with)
{
	size_t len = strlen(with);

	return (size_t)(end - at) >= len && !memcmp(at, with, len);
}

/* Where the message that begins at @at ends: at the prefix of the next one in the same line. */
static const char *message_end(struct nccl_log *log, const char *at, const char *end)
{
	const char *next, *prefix;

	if (end - at > NCCL_MESSAGE_MOST)
		end = at + NCCL_MESSAGE_MOST;
	for (next = marker_find(at, end); next; next = marker_find(next + 4, end)) {
		bool warn = starts(next, end, "NCCL WARN ");

		/* A warning is never a part of another message, even if its prefix is lost. */
		if ((warn || starts(next, end, "NCCL INFO ")) && (prefix_read(log, at, next, warn, &prefix) || warn))
			return prefix;
	}
	return end;
}

enum { NEAR_MOST = 1024 };

/* What other programs report in a line with "NCCL", from @marker on. */
static void report_read(struct nccl_log *log, const char *begin, const char *marker, const char *end)
{
	static const char words[] = "Watchdog caught collective operation timeout";
	/* Near the marker: a line with many of them is not searched from its start for each. */
	const char *from = marker - begin > NEAR_MOST ? marker - NEAR_MOST : begin;
	const char *at = memmem(from, (size_t)((end - marker > NEAR_MOST ? marker + NEAR_MOST : end) - from), words,
				sizeof(words) - 1);
	char text[NCCL_TEXT_SIZE], line[4 * NCCL_TEXT_SIZE];
	size_t before = at ? (size_t)(at - begin) : 0, part = before < sizeof(line) / 2 ? before : sizeof(line) / 2;

	if (at) {
		nccl_copy(text, sizeof(text), at, (size_t)(end - at));
		nccl_copy(line, sizeof(line), at - part, part + (size_t)(end - at));
		nccl_watchdog_read(log, line, text);
		return;
	}
	/* PyTorch: "NCCL error in: FILE:LINE, unhandled system error"; nccl-tests: "Test NCCL failure FILE:LINE". */
	nccl_copy(text, sizeof(text), marker, (size_t)(end - marker));
	nccl_copy(line, sizeof(line), from, (size_t)(marker - from));
	nccl_failure_read(log, line, text);
}

/* The message at @marker. Return: where to look for the next one. */
static const char *marker_read(struct nccl_log *log, const char *begin, const char *marker, const char *end)
{
	const char *at = marker + 10, *stop, *prefix;
	struct nccl_process *process;
	char text[NCCL_MESSAGE_MOST + 1];
	size_t len, index;
	bool warn = starts(marker, end, "NCCL WARN ");

	if (starts(marker, end, "NCCL version ") || starts(marker, end, "RCCL version ")) {
		stop = end - marker > 120 ? marker + 120 : end;
		memcpy(text, marker + 13, (size_t)(stop - marker - 13));
		text[stop - marker - 13] = '\0';
		nccl_version(log, *marker == 'N' ? "NCCL" : "RCCL", text);
		return stop;
	}
	if ((starts(marker, end, "NCCL(") && marker - begin > 4 && !memcmp(marker - 4, "Work", 4)) ||
	    starts(marker, end, "NCCL error in: ") || starts(marker, end, "NCCL failure "))
		report_read(log, begin, marker, end);
	if (!warn && !starts(marker, end, "NCCL INFO "))
		return marker + 4;
	process = prefix_read(log, begin, marker, warn, &prefix);
	index = process ? (size_t)(process - log->processes) : 0;
	stop = message_end(log, at, end);
	for (len = 0; at + len < stop && at[len] != '\r'; len++)
		text[len] = at[len] ? at[len] : '?';
	while (len && text[len - 1] == ' ')
		len--;
	text[len] = '\0';
	log->messages++;
	/* message_end() may have added processes, which moves them. */
	if (process) {
		process = &log->processes[index];
		process->messages++;
	}
	nccl_message(log, process, warn, text);
	return starts(at, end, "NCCL version ") || starts(at, end, "RCCL version ") ? at : stop;
}

/* "... [repeated 15x across cluster]" of Ray: other processes printed the same line. */
static void repetition_read(struct nccl_log *log, const char *line, size_t len)
{
	const char *end = line + len, *at = len ? memrchr(line, '[', len) : NULL;
	unsigned long times = 0;

	if (!at || !starts(at, end, "[repeated "))
		return;
	for (at += 10; at < end && isdigit((unsigned char)*at) && times < 1000000; at++)
		times = 10 * times + (unsigned long)(*at - '0');
	log->repeated += at < end && *at == 'x' ? times : 0;
}

/* "HOST: Test CUDA failure common.cu:1023 'out of memory'", "HOST: Test timeout (120s) common.cu:400": of nccl-tests */
static const char *test_failure_find(const char *line)
{
	const char *at = strstr(line, ": Test ");

	return at && (!strncmp(at + 7, "CUDA failure", 12) || !strncmp(at + 7, "timeout", 7)) ? at + 2 : NULL;
}

void nccl_line_read(struct nccl_log *log, size_t len, size_t limit)
{
	struct nccl_input *input = log->input;
	char *line = input->line;
	const char *at = line + input->done, *marker, *hash, *test_failure;
	bool found = false;

	if (limit == len)
		repetition_read(log, line, len);
	while (at < line + limit) {
		marker = marker_find(at, line + (limit + 4 < len ? limit + 4 : len));
		if (!marker || marker >= line + limit)
			break;
		at = marker_read(log, line, marker, line + len);
		found = true;
	}
	if (found || input->done || limit < len)
		return;
	hash = memchr(line, '#', len);
	line[len] = '\0';
	if (hash)
		nccl_comment(log, hash);
	else if (nccl_test_runs(log) && (test_failure = test_failure_find(line)))
		nccl_warning_read(log, NULL, test_failure);
	else if (input->column_count)
		nccl_row_read(log, line);
}
