/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* health.h - between the files of `ibwire health` */
#ifndef IBWIRE_CLI_HEALTH_H
#define IBWIRE_CLI_HEALTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/lib/host_set.h"
#include "cli/lib/options.h"
#include "cli/lib/selection.h"
#include "storage/findings.h"

struct error;
struct fabric;
struct result;
struct result_options;
struct view;

/* Where a finding stands beside what the person asked for. */
enum health_place {
	HEALTH_COUNTS,       /* it decides the exit status */
	HEALTH_ACKNOWLEDGED, /* somebody knows */
	HEALTH_DRAINED,      /* all hosts that it touches are out of service */
};

struct health_row {
	struct finding_row row;
	enum health_place place;
};

struct health_rows {
	struct health_row *list;
	size_t count, capacity;
};

/* What is asked for. */
struct health_ask {
	const struct options *options;
	struct host_set job, drained; /* job: none where it is empty */
	char **names;                 /* of nodes and ports; none: everything is meant */
	int name_count;
	bool may_be_unknown;          /* a name that neither the fabric nor a finding knows is no error */
	bool all;                     /* infos too, each in full */
};

/* Nodes and ports that are named, in the fabric or in findings alone. */
struct health_named {
	bool all;
	struct selection there;       /* those in the fabric */
	char **gone;                  /* what names nothing in it */
	bool *found;                  /* a finding knows it; parallel to gone */
	int gone_count;
};

/*
 * health_named_init - resolve NODE and NODE/PORT
 * health_named_has - is a finding of one of them?
 * health_named_check - after all findings: ERR_USAGE where a name was known to nobody.
 */
int health_named_init(struct health_named *named, const struct fabric *fabric, char **args, int count,
		      struct error *err);
void health_named_done(struct health_named *named);
bool health_named_has(struct health_named *named, const struct fabric *fabric, const struct finding_row *row);
int health_named_check(const struct health_named *named, const struct fabric *fabric, struct error *err);

/*
 * health_load - the findings that are meant, worst first
 * @view:   open, with the fabric of that time
 * @query:  which of them
 */
int health_load(const struct view *view, const struct health_ask *ask, const struct finding_query *query,
		struct health_rows *ret, struct error *err);
void health_rows_done(struct health_rows *rows);

/* health_touches - does a finding concern one of these hosts? */
bool health_touches(const struct view *view, const struct finding *finding, const struct host_set *hosts);

/* health_print - as --format says. */
int health_print(const struct view *view, const struct health_ask *ask, const struct health_rows *rows,
		 struct error *err);

/*
 * health_result - rows of findings as JSON or CSV
 * @watch:  they come one by one and have a column more: what changed
 * health_put_row - one of them. @change: of @watch, else NULL. Return: whether it makes sense to go on.
 */
int health_result(const struct options *options, bool watch, struct result **ret, struct error *err);
bool health_put_row(struct result *result, const struct view *view, int64_t time_us, const char *change,
		    const struct health_row *health);

/*
 * health_explain - what a kind means, its limits, why they are so, and what to do
 * @kind:  NULL: a line for each kind; as data a row of all that is said, for one kind as for all
 */
int health_explain(const char *kind, const struct result_options *how, struct error *err);

/* health_watch - a line for each finding that opens, changes or closes, until it is interrupted. */
int health_watch(const struct health_ask *ask, struct error *err);

/* health_gate - exit status 0 where the links of the job's hosts were clean for @span_us, else 2. */
int health_gate(const struct health_ask *ask, int64_t span_us, struct error *err);

/* health_acknowledge - `ack ID ... --reason TEXT [--for SPAN]`; @back: take it back. */
int health_acknowledge(const struct options *options, const char *reason, int64_t for_us, bool back,
		       struct error *err);

#endif
