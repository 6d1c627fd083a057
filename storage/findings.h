/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* findings.h - stored findings and their acknowledgements */
#ifndef IBWIRE_STORAGE_FINDINGS_H
#define IBWIRE_STORAGE_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/finding.h"
#include "fabric/fabric.h"

struct error;
struct reader;
struct sqlite3;

/* An acknowledged finding is listed separately and does not alert. */
struct acknowledgement {
	int64_t at_us;        /* wall clock; 0: not acknowledged */
	int64_t until_us;     /* 0: until it is withdrawn */
	char person[64];
	char reason[256];
};

/* Among the stored numbers of a finding: finding.ok_since_us, .increased_us and .stopped, and its origin, if not 0. */
#define FINDINGS_OK_SINCE "ok_since_us"
#define FINDINGS_INCREASED "last_increase_us"
#define FINDINGS_STOPPED "increase_stopped"
#define FINDINGS_ORIGIN "origin"

struct finding_row {
	struct finding finding;  /* as of the requested time; while it holds, last_seen_us is that of the sweep */
	int64_t opened_us;       /* wall clock of the sweep that opened it */
	int64_t measured_us;     /* wall clock of the sweep that measured its text */
	double peak;             /* largest value of its magnitude until then; NaN: none (finding_format_peak()) */
	int64_t peak_us;         /* wall clock of the sweep that measured it */
	struct acknowledgement acknowledged; /* as of that time */
	int64_t origin;          /* id of the open finding that explains this one, below which it is shown; 0: none */
	unsigned echoes;         /* number of findings that are folded under this one */
	size_t rank;             /* order of display */
	char node[NODE_NAME_SIZE], peer[NODE_NAME_SIZE]; /* names, also of departed nodes; "": unknown */
	char cause[32], advice[512];             /* finding.cause and .advice point here */
	char keys[FINDING_NUMBERS_MAX][64];      /* the keys of its numbers point here */
};

struct finding_query {
	int64_t at_us;               /* findings that were open then, wall clock; 0: now */
	int64_t now_us;              /* time for the ends of acknowledgements if at_us is 0; 0: the system's clock */
	int64_t since_us, until_us;  /* if since is set: open at any time in (since, until]; until 0 means now */
	uint64_t node_guid;          /* of this node or its peers; 0: any */
};

/*
 * reader_findings - call @each for findings, in the order in which they opened, until it returns false
 * @row:  valid during the call
 *
 * Return: 0; ERR_UNAVAILABLE if no sweep is stored at or before that time; ERR_IO.
 */
typedef bool reader_finding_fn(void *ctx, const struct finding_row *row);
int reader_findings(struct reader *reader, const struct finding_query *query, reader_finding_fn *each, void *ctx,
		    struct error *err);

/*
 * findings_fold - order findings below those that explain them, and set echoes and rank
 * One whose origin is not in the list has none.
 * @rows:  in order of display; by rank, each origin is followed by its echoes
 * Return: 0 or ERR_NOMEM.
 */
int findings_fold(struct finding_row *const *rows, size_t count);

/*
 * findings_resolve_origins - a finding whose origin is not among the rows has none; an acknowledged one is acknowledged
 * with those that it explains. Return: 0 or ERR_NOMEM.
 */
int findings_resolve_origins(struct finding_row *const *rows, size_t count);

/* findings_open - the same for the findings that are open after the newest sweep, without acknowledgements. */
int findings_open(struct sqlite3 *db, reader_finding_fn *each, void *ctx, struct error *err);

/*
 * finding_acknowledge - store or withdraw an acknowledgement
 * Possible while a collector is live; requires write access to the database.
 * @path:     of the database
 * @finding:  its kind and place; the acknowledgement also holds when it closes and opens again
 * @given:    at_us 0: withdrawn
 *
 * Return: 0; ERR_IO.
 */
int finding_acknowledge(const char *path, const struct finding *finding, const struct acknowledgement *given,
			struct error *err);

#endif
