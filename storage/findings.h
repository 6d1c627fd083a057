/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * findings.h - stored findings, and what people say of them
 */
#ifndef IBWIRE_STORAGE_FINDINGS_H
#define IBWIRE_STORAGE_FINDINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/finding.h"
#include "fabric/fabric.h"

struct error;
struct reader;
struct sqlite3;

/* Somebody knows of it: it is shown apart, and wakes nobody. */
struct acknowledgement {
	int64_t at_us;        /* wall clock; 0: there is none */
	int64_t until_us;     /* 0: until it is taken back */
	char person[64];
	char reason[256];
};

struct finding_row {
	struct finding finding;  /* as it was said last, at or before the time that was asked for */
	int64_t opened_us;       /* wall clock of the sweep that found it */
	struct acknowledgement acknowledged; /* as of that time */
	char node[NODE_NAME_SIZE], peer[NODE_NAME_SIZE]; /* names, also of nodes that are gone; "": none is known */
	char cause[32], advice[256];             /* what finding.cause and .advice point to */
	char keys[FINDING_NUMBERS_MAX][64];      /* what its numbers' keys point to */
};

struct finding_query {
	int64_t at_us;               /* those that were open then, wall clock; 0: now */
	int64_t now_us;              /* what ends of acknowledgements are compared with then; 0: the system's clock */
	int64_t since_us, until_us;  /* with since: those that were open at any time in (since, until]; until 0: now */
	uint64_t node_guid;          /* 0: any; else those at this node, or with it at the other end */
};

/*
 * reader_findings - call @each for findings, in the order in which they opened, until it returns false
 * @row:  valid during the call
 *
 * Return: 0, also where there is none; ERR_UNAVAILABLE where no sweep is stored at or before
 * that time; ERR_IO.
 */
typedef bool reader_finding_fn(void *ctx, const struct finding_row *row);
int reader_findings(struct reader *reader, const struct finding_query *query, reader_finding_fn *each, void *ctx,
		    struct error *err);

/*
 * findings_open - the same of those that are open after the newest sweep, where there is no reader; without what
 * people say of them
 */
int findings_open(struct sqlite3 *db, reader_finding_fn *each, void *ctx, struct error *err);

/*
 * finding_acknowledge - write that somebody knows of a finding, or takes that back
 * Beside a collector; needs the right to write to the database.
 * @path:     the database
 * @finding:  of its kind and place; also when it closes and opens again
 * @said:     at_us 0: taken back
 *
 * Return: 0; ERR_IO.
 */
int finding_acknowledge(const char *path, const struct finding *finding, const struct acknowledgement *said,
			struct error *err);

#endif
