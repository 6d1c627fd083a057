/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * compare.h - run a scenario through the collector and compare its findings with the ground truth
 */
#ifndef IBWIRE_TESTS_SCENARIOS_COMPARE_H
#define IBWIRE_TESTS_SCENARIOS_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/finding.h"
#include "tests/world/scenario.h"

struct error;
struct text;

/* A finding from its opening to its end. */
struct observed_finding {
	struct finding finding;   /* last state */
	enum finding_severity worst;
	int64_t opened_us, closed_us; /* since the beginning; closed_us -1: still open */
	bool explained;           /* it matches an expected or allowed finding */
	size_t seen;              /* number of the last sweep in which it was open */
};

/* The result of one expectation. */
struct compared_truth {
	const struct scenario_truth *truth; /* borrowed from the scenario */
	bool kind;     /* a finding of that kind exists, on any subject */
	bool found;    /* on the right subject */
	bool cause, severe, in_time, since, ended;
	int64_t delay_us; /* from the event until the finding opened; -1: never */
	const struct observed_finding *finding; /* or NULL */
};

struct comparison {
	struct observed_finding *findings;
	size_t finding_count, finding_capacity;
	struct compared_truth *truths; /* of expected findings */
	size_t truth_count;
	size_t false_alarms;         /* unexplained findings of severity warning or critical */
	size_t false_criticals;
	size_t infos;                /* unexplained findings of severity info */
	size_t sweeps;
};

/* compare_scenario - Return: 0, ERR_USAGE, ERR_NOMEM. comparison_done() frees it. */
int compare_scenario(const struct scenario *scenario, struct comparison *ret, struct error *err);
void comparison_done(struct comparison *comparison);

/* comparison_is_right - all expected findings opened in time, with their causes, and no false alarm. */
bool comparison_is_right(const struct comparison *comparison);

/* comparison_is_found - the same, but times are not compared. */
bool comparison_is_found(const struct comparison *comparison);

/* comparison_describe - text: unmet expectations and false alarms; @all: all findings. */
void comparison_describe(const struct comparison *comparison, bool all, struct text *text);

#endif
