/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* health_rows.h - the findings of a moment or window, in the order of `ibwire health` */
#ifndef IBWIRE_FACTS_HEALTH_ROWS_H
#define IBWIRE_FACTS_HEALTH_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fabric/host_set.h"
#include "storage/findings.h"

struct error;
struct moment;
struct shape;
struct sweep_info;

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

/* Which findings. A zeroed struct: all. */
struct health_filter {
	struct host_set job, drained; /* job: empty without --job */
	bool of_job;                  /* only findings about one job and its links and hosts; none of the fabric */
	int64_t job_number;           /* with it: of the job */
	char **names;                 /* nodes and ports; none: everything */
	int name_count;
	bool may_be_unknown;          /* accept names that are neither in the fabric nor in a finding */
	bool all;                     /* include infos, show all details */
	bool is_page;                 /* for a page of HTML: no hints about options */
};

/*
 * health_load - read the selected findings, worst first
 * @moment:  open, with the fabric of that time
 * @query:   which of them
 */
int health_load(const struct moment *moment, const struct health_filter *filter, const struct finding_query *query,
		struct health_rows *ret, struct error *err);
void health_rows_done(struct health_rows *rows);

/* health_row_of - a finding, as it counts. */
void health_row_of(const struct finding_row *row, const struct health_filter *filter, struct health_row *ret);

/*
 * sweep_is_late - is the newest sweep, of this age, older than three of its intervals?
 * health_is_stale - the same, and older than 30 s
 */
bool sweep_is_late(const struct sweep_info *sweep, int64_t age_us);
bool health_is_stale(const struct sweep_info *sweep, int64_t age_us);

/* health_touches - does a finding affect one of these hosts, called as shape_name_hosts() does? */
bool health_touches(const struct shape *shape, const struct finding *finding, const struct host_set *hosts);

/*
 * finding_counts - is a finding open and neither acknowledged, clearing nor explained by another one?
 * health_counts - the same, and not all hosts that it affects are out of service.
 */
bool finding_counts(const struct finding_row *row);
bool health_counts(const struct health_row *row);

/* health_worst - the worst severity that counts: the exit status. */
int health_worst(const struct health_rows *rows);

#endif
