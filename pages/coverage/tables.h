/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* tables.h - the tables of the burn-in in text and HTML: problems, coverage by role, what is left, bit error rates */
#ifndef IBWIRE_PAGES_COVERAGE_TABLES_H
#define IBWIRE_PAGES_COVERAGE_TABLES_H

#include "analysis/coverage.h"

struct coverage_report;
struct page;

/* What is left of load, and of time without errors. */
enum {
	COVERAGE_LOAD_BITS = COVERAGE_NOT_LOADED | COVERAGE_LOAD_UNKNOWN,
	COVERAGE_CLEAN_BITS = COVERAGE_ERRORS | COVERAGE_CLEAN_SHORT | COVERAGE_ERRORS_UNKNOWN,
};

/* coverage_add_tables - @report: counted, borrowed until the page is rendered */
void coverage_add_tables(const struct coverage_report *report, struct page *page);

#endif
