/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* job_rhythm.h - what is shown of the rhythm of a job at one moment: numbers, words and one sentence */
#ifndef IBWIRE_FACTS_JOB_RHYTHM_H
#define IBWIRE_FACTS_JOB_RHYTHM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/job_minute.h"
#include "export/result.h"

enum { JOB_RHYTHM_SIZE = 192 };

/* A minute that is older is not current: the collector does not run, or sweeps are rare. */
#define JOB_RHYTHM_RECENT_US (300 * INT64_C(1000000))

struct job_rhythm {
	bool known;              /* something is stored of it */
	enum rhythm_kind kind;   /* RHYTHM_UNKNOWN if not */
	enum job_phase phase;    /* JOB_PHASE_LEARNING if not */
	double period_s, spread_s; /* of an iteration; NAN: there is none, or it is unknown; likewise the next ones */
	double wire_percent;     /* share of the time in which it communicates */
	double trend_percent;    /* how much longer an iteration is than an hour ago, or than before a slowdown */
	double bytes_per_s;      /* sent by all of its ports */
	double shortest_s;       /* shortest period that the sweeps resolve */
	int64_t since_us;        /* wall clock: begin of a stall or slowdown; 0: neither */
	int64_t wall_us;         /* of the sweep; 0: nothing is stored */
	char text[JOB_RHYTHM_SIZE]; /* "iteration 4.2 s, 31 % of it on the wire, 2 % longer than an hour ago" */
};

/*
 * job_rhythm_of - the rhythm as it is shown
 * @minute:  its job is 0 if nothing is stored
 * @now_us:  wall clock; if the minute is not current then, the sentence ends with its time. 0: it does not
 */
struct job_rhythm job_rhythm_of(const struct job_minute *minute, int64_t now_us);

/*
 * job_rhythm_state_text - "4.2 s", "< 20 s", "steady", "-": the period, or why there is none
 * Return: @ret, of JOB_RHYTHM_SIZE bytes.
 */
const char *job_rhythm_state_text(const struct job_rhythm *rhythm, char *ret);

/* Columns of a struct job_rhythm, all of the row JOB_RHYTHM_ROW; the last one has no key. */
enum { JOB_RHYTHM_ROW = 2 };
extern const struct column job_rhythm_columns[];

#endif
