/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * job_page.h - the report of a job as a page; private to pages/job/
 *
 * job_page.c puts the page together; job_tables*.c and job_nccl.c have its tables, job_figures.c its plots.
 */
#ifndef IBWIRE_PAGES_JOB_PAGE_H
#define IBWIRE_PAGES_JOB_PAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "export/page.h"
#include "pages/job_report.h"

/* What a table shows. */
struct job_part {
	const struct job_report *report;
	bool all;           /* every row, not only those that stand out */
	size_t from, until; /* groups of uplinks */
};

/* job_part_of - with the lifetime of the page. Return: NULL: no memory. */
struct job_part *job_part_of(struct page *page, const struct job_report *report, bool all);

/*
 * Add a table. Data has all rows; text and HTML without @all have those that stand out, and a line with the
 * number of the others. A table without rows is left out of text.
 * @in:  mask of enum page_target
 */
void job_add_rails(const struct job_report *report, bool all, unsigned in, struct page *page);
void job_add_hosts(const struct job_report *report, bool all, unsigned in, struct page *page);
void job_add_ports(const struct job_report *report, unsigned in, struct page *page);
void job_add_groups(const struct job_report *report, bool all, unsigned in, struct page *page);
void job_add_uplinks(const struct job_report *report, bool all, unsigned in, struct page *page);
void job_add_findings(const struct job_report *report, bool all, unsigned in, struct page *page);
void job_add_levels(const struct job_report *report, unsigned in, struct page *page);
void job_add_rhythm(const struct job_report *report, bool all, unsigned in, struct page *page);
void job_add_events(const struct job_report *report, bool all, unsigned in, struct page *page);

/* job_add_groups_folded - in HTML: the worst groups, and the others folded. */
void job_add_groups_folded(const struct job_report *report, struct page *page);

/* job_add_rates_in_data - rates over time and between switches, in JSON; what NCCL logged, if it is known. */
void job_add_rates_in_data(const struct job_report *report, struct page *page);
void job_add_nccl(const struct job_report *report, struct page *page);

/*
 * Figures: rates over time per rail with findings as marks; bytes per host, and per host and rail; loads
 * between leaves and spines in both parts of the job.
 */
void job_add_rates(const struct job_report *report, unsigned in, struct page *page);
void job_add_host_bars(const struct job_report *report, unsigned in, struct page *page);
void job_add_host_map(const struct job_report *report, unsigned in, struct page *page);
void job_add_uplink_maps(const struct job_report *report, unsigned in, struct page *page);

/* job_shown - text that a user typed, with unsafe bytes as "\xHH"; cut to @size bytes. Return: @ret. */
const char *job_shown(const char *typed, char *ret, size_t size);

#endif
