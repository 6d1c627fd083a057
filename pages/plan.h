/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* plan.h - the page about differences between a cabling plan and the fabric */
#ifndef IBWIRE_PAGES_PLAN_H
#define IBWIRE_PAGES_PLAN_H

struct page;
struct plan;
struct plan_diff;
struct plan_ports;
struct shape;

/* All of one fabric. */
struct plan_report {
	const struct plan *plan;
	const struct plan_ports *places;
	const struct shape *shape;
	const struct plan_diff *diff;
};

/*
 * plan_page - one row for each difference; in HTML a sheet to print for each rack, with a box to tick per row
 * @report:  borrowed until the page is destroyed
 * Return: NULL without memory.
 */
struct page *plan_page(const struct plan_report *report);

#endif
