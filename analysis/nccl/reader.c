/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* reader.c - lines of a log, and the messages in them */
#include "analysis/nccl.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zlib.h>

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
	*log = (struct nccl_log){ .inflate_most = 16ull << 30 };
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
	/* Near the marker: a line with many of them is not searched from its begin for each. */
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
	size_t len;
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
	stop = message_end(log, at, end);
	for (len = 0; at + len < stop && at[len] != '\r'; len++)
		text[len] = at[len] ? at[len] : '?';
	while (len && text[len - 1] == ' ')
		len--;
	text[len] = '\0';
	log->messages++;
	/* message_end() may have added processes, which moves them. */
	if (process) {
		process = prefix_read(log, begin, marker, warn, &prefix);
		if (process)
			process->messages++;
	}
	nccl_message(log, process, warn, text);
	return starts(at, end, "NCCL version ") || starts(at, end, "RCCL version ") ? at : stop;
}

/* Remove escape sequences of colours. Return: the new length. */
static size_t strip_colours(char *line, size_t len)
{
	size_t to = 0;

	for (size_t i = 0; i < len; i++) {
		if (line[i] != '\033' || i + 1 >= len || line[i + 1] != '[') {
			line[to++] = line[i];
			continue;
		}
		for (i += 2; i < len && (isdigit((unsigned char)line[i]) || line[i] == ';' || line[i] == '?'); i++)
			;
	}
	return to;
}

/* Messages that begin before @limit. The line is @len bytes; input->done are read already. */
static void line_read(struct nccl_log *log, size_t len, size_t limit)
{
	struct nccl_input *input = log->input;
	char *line = input->line;
	const char *at = line + input->done, *marker, *hash;
	bool found = false;

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
	else if (input->column_count)
		nccl_row_read(log, line);
}

/* Loggers split a line at this length: docker and containerd after 16 kB. */
enum { SPLIT_LEAST = 16000 };

/*
 * A line of docker's and of other loggers: {"log":"TEXT\\n","stream":"stdout"}. The text replaces the line.
 * @ret_split:  the logger split the line: the rest is in the next one
 * Return: its length.
 */
static size_t unwrap(char *line, size_t len, bool *ret_split)
{
	static const char *const keys[] = { "\"log\":", "\"message\":", "\"msg\":", "\"MESSAGE\":", "\"text\":",
					    "\"textPayload\":", "\"line\":", "\"short_message\":" };
	const char *end = line + len, *at = NULL;
	bool ended = false;
	size_t to = 0;

	*ret_split = memmem(line, len, "\"logtag\":\"P\"", 12) || memmem(line, len, "\"partial_message\":\"true\"", 24);
	for (size_t i = 0; !at && i < sizeof(keys) / sizeof(keys[0]); i++) {
		at = memmem(line, len, keys[i], strlen(keys[i]));
		at = at ? at + strlen(keys[i]) : NULL;
		while (at && at < end && *at == ' ')
			at++;
		if (at && (at == end || *at != '"'))
			at = NULL;
	}
	if (!at)
		return len;
	for (at++; at < end && *at != '"'; at++) {
		if (*at != '\\' || at + 1 == end) {
			line[to++] = *at;
			continue;
		}
		at++;
		ended = *at == 'n';
		if (*at == 'u' && end - at > 4) {
			char digits[5] = { at[1], at[2], at[3], at[4], '\0' };
			unsigned long code = strtoul(digits, NULL, 16);

			line[to++] = code && code < 128 ? (char)code : '?';
			at += 4;
		} else if (*at != 'n' && *at != 'r') {
			line[to++] = *at == 't' ? ' ' : *at;
		}
	}
	*ret_split = !ended && (*ret_split || to >= SPLIT_LEAST);
	return to;
}

/*
 * A line of containerd and CRI-O, "2026-01-02T03:04:05.123456789Z stdout P TEXT": P of one that is split, F of its
 * last part. The text replaces the line if it is a part.
 * @rest:  it continues the line before
 */
static size_t unwrap_cri(char *line, size_t len, bool rest, bool *ret_split)
{
	enum { HEAD_MOST = 64 };
	const char *at = isdigit((unsigned char)line[0]) ?
			 memmem(line, len < HEAD_MOST ? len : HEAD_MOST, " std", 4) : NULL;
	size_t head = at ? (size_t)(at - line) + 10 : 0;

	*ret_split = false;
	if (!at || head > len || line[head - 1] != ' ' || (line[head - 2] != 'P' && line[head - 2] != 'F'))
		return len;
	*ret_split = line[head - 2] == 'P';
	if (!rest && !*ret_split)
		return len;
	memmove(line, line + head, len - head);
	return len - head;
}

/* "... [repeated 15x across cluster]" of Ray: other processes printed the same line. */
static void repetition_read(struct nccl_log *log, const char *line, size_t len)
{
	const char *at = memmem(line, len, "[repeated ", 10), *end = line + len;
	unsigned long times = 0;

	for (at = at ? at + 10 : end; at < end && isdigit((unsigned char)*at) && times < 1000000; at++)
		times = 10 * times + (unsigned long)(*at - '0');
	log->repeated += at < end && *at == 'x' ? times : 0;
}

/* The line is longer than the buffer: read what is whole, and keep its end and a prefix before it. */
static void line_cut(struct nccl_log *log)
{
	enum { PREFIX_MOST = 512 };
	struct nccl_input *input = log->input;
	size_t limit = input->len - NCCL_MESSAGE_MOST, from = limit - PREFIX_MOST;

	line_read(log, input->len, limit);
	memmove(input->line, input->line + from, input->len - from);
	input->len -= from;
	input->done = PREFIX_MOST;
	input->joined = 0;
}

/* The line is whole, without what a logger wrote around it. */
static void line_finish(struct nccl_log *log)
{
	struct nccl_input *input = log->input;

	if (memchr(input->line, '\033', input->len) && !input->done)
		input->len = strip_colours(input->line, input->len);
	repetition_read(log, input->line, input->len);
	line_read(log, input->len, input->len);
	log->lines++;
	input->len = 0;
	input->done = 0;
	input->joined = 0;
}

static void line_end(struct nccl_log *log)
{
	struct nccl_input *input = log->input;
	char *part = input->line + input->joined;
	size_t len = input->len - input->joined;
	bool split = false, rest = input->joined > 0;

	if (len && *part == '{' && (rest || !input->done))
		len = unwrap(part, len, &split);
	else if (len && (rest || !input->done))
		len = unwrap_cri(part, len, rest, &split);
	input->len = input->joined + len;
	if (!split) {
		line_finish(log);
		return;
	}
	if (input->len > NCCL_LINE_MOST / 2)
		line_cut(log);
	log->lines++;
	input->joined = input->len;
}

/* Lines without anything of interest are most of a log: they are not copied. Colours may split words. */
static bool is_of_interest(const struct nccl_log *log, const char *line, size_t len)
{
	return log->input->column_count || len >= SPLIT_LEAST || memchr(line, '#', len) || memchr(line, '\033', len) ||
	       memmem(line, len, "CCL", 3);
}

/* What a log may be instead of text, by its first bytes. */
static const struct {
	const char *magic, *name;
} formats[] = {
	{ "\x1f\x8b", "gzip" }, { "\x28\xb5\x2f\xfd", "zstd" }, { "\xfd" "7zXZ", "xz" }, { "BZh", "bzip2" },
	{ "PK\x03\x04", "zip" }, { "\x04\x22\x4d\x18", "lz4" },
};

/* The first bytes of a log decide how it is read. */
static void log_begin(struct nccl_log *log, const char *bytes, size_t len)
{
	struct nccl_input *input = log->input;
	const unsigned char *head = (const unsigned char *)bytes;

	input->started = true;
	input->skipped = false;
	input->wide = len > 1 && head[0] == 0xff && head[1] == 0xfe ? WIDE_LITTLE :
		      len > 1 && head[0] == 0xfe && head[1] == 0xff ? WIDE_BIG : WIDE_NONE;
	input->half = -1;
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (len >= strlen(formats[i].magic) && !memcmp(bytes, formats[i].magic, strlen(formats[i].magic))) {
			input->skipped = true;
			log->foreign = formats[i].name;
		}
	input->json.active = !input->skipped && nccl_json_begins(bytes, len);
}

static void text_feed(struct nccl_log *log, const char *bytes, size_t len)
{
	const char *end = bytes + len;

	while (bytes < end && !log->failed) {
		struct nccl_input *input = log->input;
		const char *newline = memchr(bytes, '\n', (size_t)(end - bytes));
		size_t part = (size_t)((newline ? newline : end) - bytes);

		if (newline && !input->len && !is_of_interest(log, bytes, part)) {
			log->lines++;
			bytes = newline + 1;
			continue;
		}
		if (part > NCCL_LINE_MOST - input->len) {
			part = NCCL_LINE_MOST - input->len;
			newline = NULL;
		}
		memcpy(input->line + input->len, bytes, part);
		input->len += part;
		bytes += part + (newline != NULL);
		if (newline)
			line_end(log);
		else if (bytes < end)
			line_cut(log);
	}
}

/* UTF-16, as PowerShell writes it: what is not ASCII becomes '?'. */
static void wide_feed(struct nccl_log *log, const char *bytes, size_t len)
{
	struct nccl_input *input = log->input;
	char text[1024];
	size_t count = 0;

	for (size_t i = 0; i < len; i++) {
		unsigned char byte = (unsigned char)bytes[i];
		unsigned code;

		if (input->half < 0) {
			input->half = byte;
			continue;
		}
		code = input->wide == WIDE_LITTLE ? (unsigned)input->half | (unsigned)byte << 8 :
						    (unsigned)input->half << 8 | byte;
		input->half = -1;
		if (code != 0xfeff)
			text[count++] = code < 128 ? (char)code : '?';
		if (count == sizeof(text)) {
			text_feed(log, text, count);
			count = 0;
		}
	}
	text_feed(log, text, count);
}

static void bytes_feed(struct nccl_log *log, const char *bytes, size_t len)
{
	if (log->input->skipped)
		return;
	if (log->input->json.active)
		nccl_json_feed(log, bytes, len);
	else if (log->input->wide)
		wide_feed(log, bytes, len);
	else
		text_feed(log, bytes, len);
}

/* The first bytes were collected. */
static void head_feed(struct nccl_log *log)
{
	struct nccl_input *input = log->input;

	log_begin(log, input->head, input->head_len);
	bytes_feed(log, input->head, input->head_len);
}

int nccl_feed(struct nccl_log *log, const char *bytes, size_t len, struct error *err)
{
	struct nccl_input *input;

	if (!log->input)
		log->input = calloc(1, sizeof(*log->input));
	input = log->input;
	if (!input)
		return err_nomem(err);
	log->bytes += len;
	while (len && !input->started) {
		input->head[input->head_len++] = *bytes++;
		len--;
		if (input->head_len == sizeof(input->head))
			head_feed(log);
	}
	if (len)
		bytes_feed(log, bytes, len);
	return log->failed ? err_nomem(err) : 0;
}

int nccl_end(struct nccl_log *log, struct error *err)
{
	if (log->input) {
		if (!log->input->started && log->input->head_len)
			head_feed(log);
		log->input->head_len = 0;
		if (log->input->len)
			line_end(log);
		if (log->input->len) /* its last part is not in the log */
			line_finish(log);
		log->input->test = NULL;
		log->input->column_count = 0;
		log->input->started = false;
		log->input->json = (struct nccl_json){ .active = false };
	}
	return log->failed ? err_nomem(err) : 0;
}

int nccl_read(struct nccl_log *log, int fd, struct error *err)
{
	enum { SIZE = 1 << 18 };
	int own = dup(fd), code = 0, got, ret = 0;
	gzFile file = own < 0 ? NULL : gzdopen(own, "r");
	char *piece = file ? malloc(SIZE) : NULL;
	uint64_t before = log->bytes;

	if (!piece) {
		if (file)
			gzclose(file);
		else if (own >= 0)
			close(own);
		return own < 0 ? err_set(err, ERR_IO, "%s", strerror(errno)) : err_nomem(err);
	}
	while ((got = gzread(file, piece, SIZE)) > 0 && !ret) {
		ret = nccl_feed(log, piece, (size_t)got, err);
		if (log->bytes - before >= log->inflate_most && !gzdirect(file)) {
			log->cut = "it is too large";
			break;
		}
	}
	/* Of a file that ends within a block gzread() returns what is whole, and then 0. */
	gzerror(file, &code);
	if (!ret && code == Z_ERRNO)
		ret = err_set(err, ERR_IO, "%s", strerror(errno));
	else if (code == Z_BUF_ERROR)
		log->cut = "the file ends within it";
	else if (code == Z_DATA_ERROR)
		log->cut = "the file is damaged";
	else if (!ret && code == Z_MEM_ERROR)
		ret = err_nomem(err);
	gzclose(file);
	free(piece);
	return ret ? ret : nccl_end(log, err);
}
