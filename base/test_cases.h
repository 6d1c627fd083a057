/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* test_cases.h - number of random cases in tests */
#ifndef IBWIRE_BASE_TEST_CASES_H
#define IBWIRE_BASE_TEST_CASES_H

#include <stdlib.h>

/*
 * test_cases - number of cases of a property: @usual, or a quarter of it (at least one) with
 * IBWIRE_TEST_SHORT in the environment, as for sanitizers, which take several times as long
 */
static inline unsigned test_cases(unsigned usual)
{
	return getenv("IBWIRE_TEST_SHORT") ? (usual + 3) / 4 : usual;
}

#endif
