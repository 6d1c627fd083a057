/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * points.h - run cases, with a fault at some points of each (inject.h), and judge their output
 *
 * A case must print what it prints without a fault, or the beginning of it, one line of error and a
 * documented exit status. These variables select other points than the usual ones:
 *
 *	IBWIRE_FAULT_POINTS   number for each case; 0: every system call, and an allocation of every call stack
 *	IBWIRE_FAULT_ALL      every allocation (with IBWIRE_FAULT_POINTS=0)
 *	IBWIRE_FAULT_PARTS    share of them to try, IBWIRE_FAULT_PART which one (from 0)
 *	IBWIRE_FAULT_CASE     beginning of the names of the cases
 *	IBWIRE_FAULT_FROM     first point; system calls follow the allocations
 *	IBWIRE_FAULT_POINT    a single point of the case of that name; +N: after the allocations
 *	IBWIRE_FAULT_TRACE    show where the allocation failed, in a build with sanitizers
 */
#ifndef IBWIRE_TESTS_FAULT_POINTS_H
#define IBWIRE_TESTS_FAULT_POINTS_H

#include <stdbool.h>
#include <stddef.h>

struct error;

struct fault_case {
	const char *name;            /* one word; of a command: its words, separated by '|' */
	void (*prepare)(void);       /* in the parent, before each run; or NULL */
	void (*body)(void *name);
	/*
	 * In the parent, after a run with the right output. Return: NULL, or what is wrong; NULL: nothing to check.
	 * @failed: the exit status was not that of a run without a fault
	 */
	const char *(*check)(bool failed);
	bool flushes;                /* each failed flush is always tried */
	bool no_calls;               /* system calls do not fail: what cannot be read is shown as unknown */
};

extern const char *fault_current; /* case */
extern bool fault_counting;       /* its run without a fault */

/*
 * fault_try_cases - fails the test if a point does
 * @class, @result: for reports: their name, and what the checks of the cases require
 */
void fault_try_cases(const struct fault_case *cases, size_t count, const char *class, const char *result);

/* fault_repeat - run the body of the current case without a fault. Return: its status, as of waitpid() */
int fault_repeat(void (*body)(void *name));

/* fault_name_point - a teardown: a check that fails ends the test */
int fault_name_point(void **state);

/*
 * fault_again - for bodies: whether to repeat what returned @code
 * The first failure is reported; a second one ends the process, because only one call fails.
 */
bool fault_again(int code, const struct error *err);

#endif
