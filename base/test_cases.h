/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* test_cases.h - number of random cases in tests, and their report */
#ifndef IBWIRE_BASE_TEST_CASES_H
#define IBWIRE_BASE_TEST_CASES_H

#include <stdio.h>
#include <stdlib.h>

/*
 * test_cases - number of cases of a property: @usual, or a quarter of it (at least one) with
 * IBWIRE_TEST_SHORT in the environment, as for sanitizers, which take several times as long
 */
static inline unsigned test_cases(unsigned usual)
{
	return getenv("IBWIRE_TEST_SHORT") ? (usual + 3) / 4 : usual;
}

/*
 * reliability_report - print a row of docs/reliability.md if make reliability runs the program
 * @faults, @checked:  their class; what was checked after each, a phrase
 * @cases, @unit:      their number, and what they are, such as "kills"
 * To be called after the checks have passed.
 */
static inline void reliability_report(const char *faults, unsigned long long cases, const char *unit,
				      const char *checked)
{
	if (getenv("IBWIRE_RELIABILITY"))
		printf("RELIABILITY\t%s\t%llu %s\t%s\t0 failures\n", faults, cases, unit, checked);
	fflush(stdout);
}

#endif
