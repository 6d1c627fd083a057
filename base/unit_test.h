/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * unit_test.h - the frame of a test program: cmocka, TEST() and main()
 *
 *	TEST(reset_is_not_a_negative_delta)
 *	{
 *		assert_true(...);
 *	}
 *
 * main() runs the tests of the file in their order. Helpers in other files include cmocka.h.
 * UNIT_TEST_SETUP and UNIT_TEST_TEARDOWN, defined before the include, name functions of the file
 * that run before the first test and after the last one.
 */
#ifndef IBWIRE_BASE_UNIT_TEST_H
#define IBWIRE_BASE_UNIT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static struct CMUnitTest unit_tests[100];
static int unit_test_lines[100];
static size_t unit_test_count;

/* Constructors run in an order that the compiler chooses: sort by line. */
static void unit_test_add(int line, struct CMUnitTest test)
{
	size_t at = unit_test_count++;

	if (unit_test_count > sizeof(unit_tests) / sizeof(unit_tests[0]))
		abort();
	for (; at && unit_test_lines[at - 1] > line; at--) {
		unit_tests[at] = unit_tests[at - 1];
		unit_test_lines[at] = unit_test_lines[at - 1];
	}
	unit_tests[at] = test;
	unit_test_lines[at] = line;
}

#define UNIT_TEST_FUNCTION(name, setup, teardown, parameter) \
	static void name(void **state); \
	__attribute__((constructor)) static void name##_add(void) \
	{ \
		unit_test_add(__LINE__, (struct CMUnitTest){ #name, name, setup, teardown, NULL }); \
	} \
	static void name(__attribute__((unused)) void **parameter)

#define TEST(name) UNIT_TEST_FUNCTION(name, NULL, NULL, unit_test_state)
/* With functions that run before and after it, which may set *state. */
#define TEST_WITH(name, setup, teardown) UNIT_TEST_FUNCTION(name, setup, teardown, state)

/* With a fixture of its own, @fix of type @type, that is created and destroyed around it. */
#define TEST_OF(name, type, create, destroy) \
	static void name##_of(type *fix); \
	TEST(name) \
	{ \
		type *own = create; \
\
		name##_of(own); \
		destroy(own); \
	} \
	static void name##_of(type *fix)

#ifdef UNIT_TEST_SETUP
int UNIT_TEST_SETUP(void **state);
#else
#define UNIT_TEST_SETUP NULL
#endif
#ifdef UNIT_TEST_TEARDOWN
int UNIT_TEST_TEARDOWN(void **state);
#else
#define UNIT_TEST_TEARDOWN NULL
#endif

/*
 * unit_test_open_shared - open a published file of @folder in IBWIRE_SHARED_DATA, or in ../shared/data
 * beside the sources. If it is not there, the test is skipped.
 */
static inline FILE *unit_test_open_shared(const char *folder, const char *file)
{
	const char *shared = getenv("IBWIRE_SHARED_DATA"), *source = getenv("IBWIRE_SRCDIR");
	char path[4096];
	FILE *stream;

	snprintf(path, sizeof(path), "%s%s/%s/%s", shared ? shared : source ? source : ".",
		 shared ? "" : "/../shared/data", folder, file);
	stream = fopen(path, "r");
	if (!stream) {
		print_message("# %s is not here\n", path);
		skip();
	}
	return stream;
}

int main(void)
{
	return _cmocka_run_group_tests("tests", unit_tests, unit_test_count, UNIT_TEST_SETUP, UNIT_TEST_TEARDOWN);
}

#endif
