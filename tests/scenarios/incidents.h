/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * incidents.h - several faults at once, and the findings that are shown for them
 *
 * One fault is one finding at its place, also while other faults last: what they have in common is shown below
 * the finding that explains it. The model knows the places of the faults, and which of them can be seen from
 * the collector's port: nodes that hang or are off hide what is behind them.
 */
#ifndef IBWIRE_TESTS_SCENARIOS_INCIDENTS_H
#define IBWIRE_TESTS_SCENARIOS_INCIDENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text;

/* At most this many faults at once. */
#define INCIDENT_FAULTS_MAX 3

struct incident {
	unsigned faults;     /* injected */
	unsigned shown;      /* findings from warning on at the end, without those shown below another */
	unsigned most;       /* the same, the largest number at any time */
	unsigned wrong;      /* of those at the end: at no place of a fault */
	unsigned early;      /* of any time: at no place of a fault */
	unsigned missing;    /* visible faults without a finding at the end */
	unsigned infos;      /* findings of severity info at the end */
};

/* incident_kinds - number of kinds of faults. incident_kind_name - "hang-leaf". */
size_t incident_kinds(void);
const char *incident_kind_name(size_t kind);

/*
 * incident_run - run a fabric with faults through the collector
 * @kinds:  @count kinds of faults, at random different places
 * @seed:   of the places, the times and the shape of the fabric; equal seeds give equal results
 * @text:   NULL, or the scenario and its findings are appended
 */
struct incident incident_run(const size_t *kinds, unsigned count, uint64_t seed, struct text *text);

/* incident_is_right - not more findings than faults, each at the place of one, and each visible fault has one. */
bool incident_is_right(const struct incident *incident);

#endif
