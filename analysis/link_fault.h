/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * link_fault.h - which part of a link its errors follow: the cable, the port, or the far end
 *
 * A link consists of parts: two ports, and a cable or two transceivers. When parts are exchanged, the errors go where
 * the faulty one goes. Each period in which a link had the same parts is a test of all of them: with errors the fault
 * is among its parts, without errors it is not. A part is the fault if it alone agrees with all periods.
 */
#ifndef IBWIRE_ANALYSIS_LINK_FAULT_H
#define IBWIRE_ANALYSIS_LINK_FAULT_H

#include <stddef.h>
#include <stdint.h>

enum { LINK_PARTS = 4 };

/* A time in which a link had the same parts. */
struct link_period {
	uint64_t parts[LINK_PARTS]; /* ids, each once */
	size_t part_count;
	double hours;     /* of them with readings */
	double bad_hours; /* of those, hours with errors: errors come in bursts, so their number says little */
};

enum link_fault_result {
	LINK_FAULT_NONE,        /* no period with errors */
	LINK_FAULT_FOUND,       /* one part */
	LINK_FAULT_SEVERAL,     /* several parts agree with all periods: they were not separated yet */
	LINK_FAULT_CONTRADICTS, /* no part does: several faults, or errors that came or went without an exchange */
};

/*
 * Errors in 3 hours and in 1 % of all make a link one with errors; a period is decided if errors at a quarter of that
 * share were seen, or 7 hours with errors would be expected and at most a twentieth were seen. 7: the probability of
 * none by chance is 0.1 %.
 */
#define LINK_FAULT_BAD_HOURS 3
#define LINK_FAULT_BAD_SHARE 0.01
#define LINK_FAULT_EXPECTED_HOURS 7

struct link_fault {
	enum link_fault_result result;
	size_t period;          /* with most hours with errors: its parts are suspects; unless LINK_FAULT_NONE */
	unsigned suspects;      /* bits of its parts that agree with all periods */
	size_t part;            /* LINK_FAULT_FOUND: index into its parts */
	size_t decided;         /* number of periods with a suspect that were long enough to tell */
};

/*
 * link_fault_find - find the part
 * @periods:  in any order; those without a part of the suspected link do not matter
 * @of:       parts of the subject: the period with errors must have one of them
 * Cannot fail.
 */
struct link_fault link_fault_find(const struct link_period *periods, size_t count, const uint64_t *of, size_t of_count);

/* link_fault_judge - does a period show that its parts work (-1), that one does not (1), or nothing (0)? */
int link_fault_judge(const struct link_period *period, double share);

#endif
