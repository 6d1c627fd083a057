/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* health.h - shared by the files of `ibwire health` */
#ifndef IBWIRE_CLI_HEALTH_H
#define IBWIRE_CLI_HEALTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/lib/options.h"
#include "fabric/host_set.h"
#include "storage/findings.h"

struct columns;
struct command;
struct error;
struct fabric;
struct page;
struct result;
struct sweep_info;
struct text;
struct moment;

/* How a finding counts. */
enum health_place {
	HEALTH_COUNTS,       /* decides the exit status */
	HEALTH_CLEARING,     /* its condition has ended, does not count */
	HEALTH_ACKNOWLEDGED, /* acknowledged, does not count */
	HEALTH_DRAINED,      /* all affected hosts are out of service, does not count */
};

struct health_row {
	struct finding_row row;
	enum health_place place;
};

struct health_rows {
	struct health_row *list;
	size_t count, capacity;
};

/* The query of a command. */
struct health_filter {
	const struct options *options;
	struct host_set job, drained; /* job: empty without --job */
	char **names;                 /* nodes and ports; none: everything */
	int name_count;
	bool may_be_unknown;          /* accept names that are neither in the fabric nor in a finding */
	const char *exec, *webhook;   /* --watch: receivers of changes; NULL: none */
	bool all;                     /* include infos, show all details */
};

/*
 * health_load - read the selected findings, worst first
 * @view:   open, with the fabric of that time
 * @query:  which of them
 */
int health_load(const struct moment *view, const struct health_filter *filter, const struct finding_query *query,
		struct health_rows *ret, struct error *err);
void health_rows_done(struct health_rows *rows);

/* health_is_stale - is the sweep of this age older than three of its intervals, and 30 s at least? */
bool health_is_stale(const struct sweep_info *sweep, int64_t age_us);

/* health_touches - does a finding affect one of these hosts? */
bool health_touches(const struct moment *view, const struct finding *finding, const struct host_set *hosts);

/* health_append_summary - "2 critical, 1 warning; sweep 3.2 s old, 40 of 40 ports responded" */
void health_append_summary(const struct moment *view, const struct health_filter *filter,
			   const struct health_rows *rows, struct text *ret);

struct health_layout {
	unsigned in;       /* as in struct page_section */
	const char *title; /* NULL: none */
	const char *none;  /* text if no finding is listed; NULL: none */
	bool links;        /* HTML: to pages of `ibwire metrics` */
	size_t html_most;  /* bytes of HTML after which findings are only counted; 0: no limit */
};

/*
 * health_add_findings - add a list of findings, each with the command that shows its history
 * @rows:  borrowed until the page is rendered
 */
void health_add_findings(const struct moment *view, const struct health_filter *filter, const struct health_rows *rows,
			 const struct health_layout *layout, struct page *page);

/* health_worst - the worst severity that counts: the exit status. */
int health_worst(const struct health_rows *rows);

/* health_print - print findings in the format of --format. */
int health_print(const struct moment *view, const struct health_filter *filter, const struct health_rows *rows,
		 struct error *err);

/*
 * health_choose_columns - the columns of --columns. Return: as columns_create().
 * health_print_columns - print findings as a table of these columns in the format of --format
 */
int health_choose_columns(const struct command *command, const struct options *options, const char *chosen,
			  struct columns *ret, struct error *err);
int health_print_columns(const struct moment *view, const struct health_filter *filter, const struct health_rows *rows,
			 const struct columns *shown, struct error *err);

/*
 * health_result - rows of findings as JSON or CSV
 * @watch:  rows are written one by one, with the additional column "change"
 * health_put_row - add a row. @change: with @watch, else NULL
 */
struct result *health_result(const struct options *options, bool watch);
void health_put_row(struct result *result, const struct moment *view, int64_t time_us, const char *change,
		    const struct health_row *health);

/*
 * health_explain - description, thresholds, rationale and action of a finding kind
 * @kind:  NULL: one line per kind; JSON and CSV have full rows in both cases
 */
int health_explain(const char *kind, const struct options *options, struct error *err);

/* health_watch - print a line when a finding opens, changes or closes, until interrupted. */
int health_watch(const struct health_filter *filter, struct error *err);

/* health_gate - exit status 0 if the links of the hosts were clean for @span_us, else 2. */
int health_gate(const struct health_filter *filter, int64_t span_us, struct error *err);

/* health_acknowledge - `ack ID ... --reason TEXT [--for SPAN]`; @back: unack. */
int health_acknowledge(const struct options *options, const char *reason, int64_t for_us, bool back,
		       struct error *err);

#endif
