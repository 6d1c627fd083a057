/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * judge.h - run a scenario through the collector and compare its findings with the ground truth
 */
#ifndef IBWIRE_TESTS_SCENARIOS_JUDGE_H
#define IBWIRE_TESTS_SCENARIOS_JUDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/finding.h"
#include "tests/world/scenario.h"

struct error;
struct text;

/* A finding from its opening to its end. */
struct judged_finding {
	struct finding finding;   /* as it was last */
	enum finding_severity worst;
	int64_t opened_us, closed_us; /* since the beginning; closed_us -1: still open */
	bool explained;           /* it matches an expected or allowed finding */
	size_t seen;              /* number of the last sweep in which it was open */
};

/* The result of one expectation. */
struct judged_truth {
	const struct scenario_truth *truth; /* of the scenario: must live as long */
	bool kind;     /* a finding of that kind exists, on any subject */
	bool found;    /* on the right subject */
	bool cause, severe, in_time, since;
	int64_t delay_us; /* from what happened to the opening; -1: never */
	const struct judged_finding *finding; /* or NULL */
};

struct judgement {
	struct judged_finding *findings;
	size_t finding_count, finding_capacity;
	struct judged_truth *truths; /* those expected */
	size_t truth_count;
	size_t false_alarms;         /* unexplained findings of level warning or worse */
	size_t false_criticals;
	size_t infos;                /* unexplained findings of level info */
	size_t sweeps;
};

/* judge_scenario - Return: 0, ERR_USAGE, ERR_NOMEM. judgement_done() frees it. */
int judge_scenario(const struct scenario *scenario, struct judgement *ret, struct error *err);
void judgement_done(struct judgement *judgement);

/* judgement_is_right - all expected findings opened in time, with their causes, and no false alarm. */
bool judgement_is_right(const struct judgement *judgement);

/* judgement_is_found - the same without the times. */
bool judgement_is_found(const struct judgement *judgement);

/* judgement_describe - text: unmet expectations and false alarms; @all: all findings. */
void judgement_describe(const struct judgement *judgement, bool all, struct text *text);

/* judge_load - read a scenario file. Return: 0, ERR_IO, ERR_USAGE with the file's name. */
int judge_load(const char *path, struct scenario *ret, struct error *err);

#endif
