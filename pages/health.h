/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* health.h - findings as sections of a page */
#ifndef IBWIRE_PAGES_HEALTH_H
#define IBWIRE_PAGES_HEALTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct finding;
struct health_filter;
struct health_rows;
struct moment;
struct page;
struct shape;
struct text;

/* health_append_summary - "2 critical, 1 warning; sweep 3.2 s old, 40 of 40 ports responded" */
void health_append_summary(const struct moment *moment, const struct health_filter *filter,
			   const struct health_rows *rows, struct text *ret);

struct health_layout {
	unsigned in;       /* as in struct page_section */
	const char *title; /* NULL: none */
	const char *none;  /* text if no finding is listed; NULL: none */
	bool brief;        /* two lines: without reason and action */
	bool links;        /* HTML: to pages of `ibwire metrics` */
	size_t html_most;  /* bytes of HTML after which findings are only counted; 0: no limit */
	const struct shape *shape; /* for the cost of taking degraded links out; NULL: without it */
};

/*
 * health_append_cost - what it would cost to take out the degraded link of an open finding, as link_append_cost()
 * Nothing for other findings. text_failed() reports a lack of memory.
 */
void health_append_cost(const struct shape *shape, const struct finding *finding, struct text *text);

/*
 * health_add_findings - add a list of findings, each with the command that shows its history
 * @now_us:  reference time of ages, wall clock
 * @rows:    borrowed until the page is rendered
 */
void health_add_findings(int64_t now_us, const struct health_filter *filter, const struct health_rows *rows,
			 const struct health_layout *layout, struct page *page);

#endif
