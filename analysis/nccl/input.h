/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* input.h - the reader's state between two pieces, and what its files call of each other */
#ifndef IBWIRE_ANALYSIS_NCCL_INPUT_H
#define IBWIRE_ANALYSIS_NCCL_INPUT_H

#include "analysis/nccl.h"
#include "base/text.h"

/*
 * NCCL formats a message in a buffer of 1,024 bytes (ncclDebugLog in debug.cc). A line that is
 * longer than the reader's buffer is read in parts that overlap by NCCL_MESSAGE_MOST.
 */
enum { NCCL_MESSAGE_MOST = 1280, NCCL_LINE_MOST = 65536, NCCL_COLUMNS_MOST = 32 };

/* The meaning of a column of a table. */
enum nccl_column { COLUMN_OTHER, COLUMN_SIZE, COLUMN_COUNT, COLUMN_TYPE, COLUMN_OP, COLUMN_ROOT, COLUMN_TIME,
		   COLUMN_ALGBW, COLUMN_BUSBW, COLUMN_WRONG };

/* The state of nccl_json_feed(). */
struct nccl_json {
	bool active, in_string, escaped, wants_value, in_list;
	char key[64], word[64], program[64]; /* of one size: they are copied */
	size_t len;                          /* of the word */
	uint32_t iterations, rank, number;
	uint64_t size, wrong;
	struct nccl_row groups[2];
	unsigned group, group_count;
};

/* Known texts by the bytes with which they begin; numbers from 1 in the order of their table. */
struct nccl_warning_index {
	bool filled;
	uint8_t first[1024], next[256];
};

struct nccl_input {
	struct nccl_json json;
	struct nccl_warning_index warnings;
	char head[32];    /* the first bytes of this log, until its kind is known */
	size_t head_len;
	bool started;     /* they were read */
	bool skipped;     /* it is no text */
	enum text_wide wide; /* UTF-16 */
	int half;         /* the first byte of a character of UTF-16; -1: none */
	char line[NCCL_LINE_MOST + 1];
	size_t len, done; /* bytes of the line, and before which messages were read */
	size_t joined;    /* bytes of the line that earlier lines of a logger had; 0: none */
	unsigned logger;  /* that wrote these: what logger_of() returns */
	struct nccl_test *test; /* its header was read and not yet its summary */
	enum nccl_column columns[NCCL_COLUMNS_MOST];
	unsigned column_count; /* 0: no header of a table yet */
	enum nccl_operation next_operation; /* of the name of the program, for the next test */
	struct map test_hosts; /* of the test */
};

/*
 * nccl_line_read - read the messages of input->line that begin before @limit; those before input->done were read
 * @len:    bytes of the line
 * @limit:  @len if the line is whole
 */
void nccl_line_read(struct nccl_log *log, size_t len, size_t limit);

/*
 * nccl_message - take one message
 * @process:  NULL: the prefix was lost
 * @warn:     NCCL WARN
 * @text:     NUL-terminated, without prefix
 */
void nccl_message(struct nccl_log *log, struct nccl_process *process, bool warn, const char *text);

/* nccl_version - "2.19.3+cuda12.3 ..." after "NCCL version" or "RCCL version :". */
void nccl_version(struct nccl_log *log, const char *library, const char *text);

/* A known text of NCCL WARN. */
struct nccl_warning {
	const char *pattern; /* parts in this order, separated by '*' */
	const char *since;   /* first version whose sources have it, of NCCL unless it names a library (without: any) */
	enum nccl_problem_kind kind;
	enum nccl_severity severity; /* NCCL_NOTE: harmless */
	const char *fix;     /* NULL: harmless, or it depends on the status */
};

/* nccl_warning_find - Return: NULL: not known. */
const struct nccl_warning *nccl_warning_find(struct nccl_warning_index *index, const char *text);

/* A status of a failed work request, of enum ibv_wc_status in libibverbs' verbs.h. */
struct nccl_status {
	int status; /* 0: any other */
	const char *text, *fix;
};

const struct nccl_status *nccl_status_find(int status);

/* nccl_warning_read - count a NCCL WARN. @process: NULL: unknown */
void nccl_warning_read(struct nccl_log *log, struct nccl_process *process, const char *text);

/* nccl_trace_read - "init.cc:300 -> 2": calls through which a failure returned. Return: whether it is one. */
bool nccl_trace_read(struct nccl_log *log, const struct nccl_process *process, const char *text);

/* nccl_failure_read - what a program reports of a call that failed. @line: the start of its line */
void nccl_failure_read(struct nccl_log *log, const char *line, const char *text);

/* nccl_watchdog_read - a line of PyTorch's watchdog; @text: from the words "Watchdog caught" on */
void nccl_watchdog_read(struct nccl_log *log, const char *line, const char *text);

/* nccl_host_find - the host of a name, added if it is new. Return: UINT32_MAX: beyond the limits. */
uint32_t nccl_host_find(struct nccl_log *log, const char *name, size_t len);

/* nccl_comment - a line of nccl-tests from its '#' on. nccl_row_read - a line inside a table. */
void nccl_comment(struct nccl_log *log, const char *text);
void nccl_row_read(struct nccl_log *log, const char *line);

/*
 * nccl_test_begin - begin a table that is not text
 * @program:     "all_reduce_perf"; "": unknown
 * @iterations:  0: unknown
 */
void nccl_test_begin(struct nccl_log *log, const char *program, uint32_t iterations);

/* nccl_json_begins - is it the beginning of a JSON file of nccl-tests? nccl_json_feed - read a piece of it. */
bool nccl_json_begins(const char *bytes, size_t len);
void nccl_json_feed(struct nccl_log *log, const char *bytes, size_t len);

/* nccl_rank_add - count a rank of the test, before its first row. @group: 0 without NCCL_TESTS_SPLIT. */
void nccl_rank_add(struct nccl_log *log, uint32_t rank, uint32_t group, const char *host, size_t len);

/* nccl_row_add - add a row of the test: one or two column groups (out-of-place, in-place). */
void nccl_row_add(struct nccl_log *log, const struct nccl_row *groups, unsigned count, uint64_t wrong);

/* nccl_test_runs - the header of a test was read and not yet its summary. */
static inline bool nccl_test_runs(const struct nccl_log *log)
{
	return log->input->test && !log->input->test->concluded;
}

/* nccl_hash - FNV-1a, for keys of maps. */
static inline uint64_t nccl_hash(const char *bytes, size_t len, uint64_t hash)
{
	hash ^= 14695981039346656037u;
	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)bytes[i]) * 1099511628211u;
	return map_mix(hash);
}

/* nccl_copy - copy at most @size - 1 bytes, sanitised for display. */
void nccl_copy(char *ret, size_t size, const char *bytes, size_t len);

#endif
