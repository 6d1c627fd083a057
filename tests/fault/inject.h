/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * inject.h - run code in a child process in which one allocation or one system call fails
 *
 * A program that links inject.c has its malloc(), calloc(), realloc(), strdup() and strndup(), which
 * the C library and all others call, too. System calls are intercepted by the kernel (seccomp user
 * notification: Linux 5.5): a filter of the child stops at each call of the table in inject.c, and
 * the parent lets it continue, or returns an error, or performs the first half of a read or write.
 *
 * A point is one call with one way to fail. The calls of a run are counted first; then each point is
 * a run of its own. Calls of the sanitizers, and of programs that the child starts, never fail.
 */
#ifndef IBWIRE_TESTS_FAULT_INJECT_H
#define IBWIRE_TESTS_FAULT_INJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a run did. */
struct fault_run {
	int status;         /* as of waitpid() */
	char *out, *err;    /* its output */
	bool failed;        /* the point was reached, and the call failed */
	bool hidden;        /* what failed was a write to stderr */
	char what[64];      /* "pwrite64 ENOSPC"; "allocation" */
};

/* The calls of a run without a fault. */
struct fault_plan {
	uint64_t allocations;
	uint32_t *stacks;   /* hash of the callers of each allocation, without SQLite's own functions */
	uint16_t *calls;    /* index into the table of each system call */
	size_t call_count;
	uint64_t points;
};

/*
 * fault_count - run without a fault, and count
 * @body:    runs in the child, and should end with exit(); a return is exit status 0
 * @stacks:  also fill in the stacks of the plan, which takes ten times as long
 * Return: false without seccomp user notification; only allocations are counted then.
 */
bool fault_count(void (*body)(void *), void *ctx, bool stacks, struct fault_plan *ret_plan, struct fault_run *ret);

/* fault_call_name - the system call of a point, or NULL: an allocation */
const char *fault_call_name(const struct fault_plan *plan, uint64_t point);

/* fault_run - the same with a fault at a point of the plan (from 0). */
void fault_run(void (*body)(void *), void *ctx, const struct fault_plan *plan, uint64_t point, struct fault_run *ret);

void fault_run_done(struct fault_run *run);
void fault_plan_done(struct fault_plan *plan);

/* In the child: code of the test itself, in which no allocation of this thread fails; nested. */
void fault_pause(void);
void fault_resume(void);

#endif
