/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* test_cases.h - how much a test tries; of tests only */
#ifndef IBWIRE_BASE_TEST_CASES_H
#define IBWIRE_BASE_TEST_CASES_H

#include <stdlib.h>

/*
 * test_cases - how many cases of a property are tried: @usual, or a quarter of that, one at least, where
 * IBWIRE_TEST_SHORT is in the environment, as with sanitizers: they look for other mistakes, and take several times as
 * long
 */
static inline unsigned test_cases(unsigned usual)
{
	return getenv("IBWIRE_TEST_SHORT") ? (usual + 3) / 4 : usual;
}

#endif
