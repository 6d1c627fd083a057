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
	bool explained;           /* the truth speaks of it */
	size_t seen;              /* number of the last sweep in which it was open */
};

/* What became of one expectation. */
struct judged_truth {
	const struct scenario_truth *truth; /* of the scenario: must live as long */
	bool kind;     /* a finding of that kind, with whomever */
	bool found;    /* and with the right culprit */
	bool cause, severe, in_time, since;
	int64_t delay_us; /* from what happened to the opening; -1: never */
	const struct judged_finding *finding; /* or NULL */
};

struct judgement {
	struct judged_finding *findings;
	size_t finding_count, finding_capacity;
	struct judged_truth *truths; /* those expected */
	size_t truth_count;
	size_t false_alarms;         /* warnings and worse that nothing explains */
	size_t false_criticals;
	size_t infos;                /* of no consequence */
	size_t sweeps;
};

/* judge_scenario - Return: 0, or what prevented it: a scenario that is none, no memory. judgement_done() frees it. */
int judge_scenario(const struct scenario *scenario, struct judgement *ret, struct error *err);
void judgement_done(struct judgement *judgement);

/* judgement_is_right - everything expected is there, in time, with its cause, and nothing else. */
bool judgement_is_right(const struct judgement *judgement);

/* judgement_is_found - the same, but for when: everything is there with its culprit and cause, and nothing else. */
bool judgement_is_found(const struct judgement *judgement);

/* judgement_describe - for a person: what was expected and is not, what is and was not expected; @all: everything. */
void judgement_describe(const struct judgement *judgement, bool all, struct text *text);

/* judge_load - read a scenario file. Return: 0, ERR_IO, ERR_USAGE with the file's name. */
int judge_load(const char *path, struct scenario *ret, struct error *err);

#endif
