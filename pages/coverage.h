/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* coverage.h - the burn-in of a fabric: what its links carried and whether they were clean, and its acceptance */
#ifndef IBWIRE_PAGES_COVERAGE_H
#define IBWIRE_PAGES_COVERAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/ber.h"
#include "analysis/coverage.h"
#include "facts/health_rows.h"
#include "facts/selection.h"
#include "facts/summary.h"
#include "storage/history.h"

struct error;
struct moment;
struct page;
struct plan;
struct plan_diff;
struct plan_ports;

/* FEC and bit error rates of a receiving port over the window. */
struct coverage_fec {
	uint8_t layout; /* enum fec_layout; UNKNOWN: not read */
	struct ber raw, effective;
};

struct coverage_report {
	struct moment *moment;     /* the fabric at the end of the window, with its shape */
	struct coverage_limits limits;
	bool all;                  /* text: all rows of each table */
	struct coverage coverage;
	struct selection selection; /* of directions: what their sending or receiving ports are */
	struct history_damage damage;
	bool is_all_stored;        /* the window was to begin before the oldest stored sweep */
	struct coverage_fec *fec;  /* by port */
	struct health_rows rows;   /* open findings */
	struct health_filter filter; /* that they were read with */
	struct fabric_summary summary;
	/* The plan, or NULL: none was given. All borrowed. */
	const struct plan *plan;
	const struct plan_ports *plan_ports;
	const struct plan_diff *plan_diff;
	/* Counted by coverage_count(). */
	size_t directions, covered, links;
	size_t left_by_bit[COVERAGE_LEFT_BITS];
	size_t left_links;         /* links with a direction that is left */
	size_t plan_points;        /* differences from the plan, without links that are slow in any case */
	size_t slow_links;         /* narrower or slower than expected */
	size_t other_findings;     /* open ones from warning on that are about none of these links */
	size_t points;             /* differences from the plan, links with a problem, other findings */
};

/*
 * coverage_read - read the history of (@since_us, @until_us], FEC counters and findings
 * @report:    moment, limits and selection are set
 * @since_us:  begin of the window, wall clock
 * Return: 0; ERR_UNAVAILABLE: no sweep in the window; ERR_IO; ERR_NOMEM. coverage_report_done() is needed in any case.
 */
int coverage_read(struct coverage_report *report, int64_t since_us, int64_t until_us, struct error *err);
void coverage_report_done(struct coverage_report *report);

/* coverage_count - set the counts. @report: after coverage_read(), and with the plan */
void coverage_count(struct coverage_report *report);

/*
 * coverage_link_has_problem - is a link left in a direction, or narrower or slower than expected?
 * coverage_finding_is_other - is an open finding from warning on about no such link?
 * coverage_difference_counts - is a difference from the plan more than that a link of this kind is slow?
 */
bool coverage_link_has_problem(const struct coverage_report *report, uint32_t port);
bool coverage_finding_is_other(const struct coverage_report *report, const struct health_row *row);
struct plan_difference;
bool coverage_difference_counts(const struct coverage_report *report, const struct plan_difference *difference);

/* coverage_is_judged - is the direction of a sending port selected and part of the burn-in? */
bool coverage_is_judged(const struct coverage_report *report, uint32_t port);

/*
 * coverage_page - the burn-in in text, JSON and CSV, which have a row for each direction; in HTML the acceptance page
 * The page borrows the report until it is rendered.
 */
struct page *coverage_page(const struct coverage_report *report);

#endif
