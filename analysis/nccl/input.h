/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* input.h - the reader's state between two pieces, and what its files call of each other */
#ifndef IBWIRE_ANALYSIS_NCCL_INPUT_H
#define IBWIRE_ANALYSIS_NCCL_INPUT_H

#include "analysis/nccl.h"

/*
 * NCCL formats a message in a buffer of 1,024 bytes (ncclDebugLog in debug.cc). A line that is
 * longer than the reader's buffer is read in parts that overlap by NCCL_MESSAGE_MOST.
 */
enum { NCCL_MESSAGE_MOST = 1280, NCCL_LINE_MOST = 65536, NCCL_COLUMNS_MOST = 32 };

/* The meaning of a column of a table. */
enum nccl_column { COLUMN_OTHER, COLUMN_SIZE, COLUMN_COUNT, COLUMN_TYPE, COLUMN_OP, COLUMN_ROOT, COLUMN_TIME,
		   COLUMN_ALGBW, COLUMN_BUSBW, COLUMN_WRONG };

struct nccl_input {
	char line[NCCL_LINE_MOST + 1];
	size_t len, done; /* bytes of the line, and before which messages were read */
	struct nccl_test *test; /* its header was read and not yet its summary */
	enum nccl_column columns[NCCL_COLUMNS_MOST];
	unsigned column_count; /* 0: no header of a table yet */
	enum nccl_operation next_operation; /* of the name of the program, for the next test */
	struct map test_hosts; /* of the test */
};

/*
 * nccl_message - take one message
 * @process:  NULL: the prefix was lost
 * @warn:     NCCL WARN
 * @text:     NUL-terminated, without prefix
 */
void nccl_message(struct nccl_log *log, struct nccl_process *process, bool warn, const char *text);

/* nccl_version - "2.19.3+cuda12.3 ..." after "NCCL version" or "RCCL version :". */
void nccl_version(struct nccl_log *log, const char *library, const char *text);

/* nccl_problem_add - count a problem; messages that differ only in numbers are one. */
void nccl_problem_add(struct nccl_log *log, enum nccl_problem_kind kind, const struct nccl_process *process,
		      int status, const char *text);

/* nccl_host_find - the host of a name, added if it is new. Return: UINT32_MAX: beyond the limits. */
uint32_t nccl_host_find(struct nccl_log *log, const char *name, size_t len);

/* nccl_comment - a line of nccl-tests from its '#' on. nccl_row_read - a line inside a table. */
void nccl_comment(struct nccl_log *log, const char *text);
void nccl_row_read(struct nccl_log *log, const char *line);

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
