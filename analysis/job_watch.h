/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * job_watch.h - watch the traffic of one running job: its rhythm, whether it hangs, whether it became slower
 *
 * A state machine without clock, I/O or globals, as analysis/health.h. The owner passes the readings of the
 * job's HCA ports (members) and of the switch ports at their other ends, sweep by sweep, and reads the state
 * after each. Memory is linear in members, and does not grow with time.
 */
#ifndef IBWIRE_ANALYSIS_JOB_WATCH_H
#define IBWIRE_ANALYSIS_JOB_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/rhythm.h"

struct error;

/* An HCA port of the job. Members of one host have the same number @host; hosts are numbered from 0. */
struct job_member { uint64_t node_guid; uint8_t port; uint32_t host; uint8_t rail; };

/* What one member did between two of its readings. */
struct job_reading {
	uint32_t member;        /* index */
	int64_t at_us;          /* CLOCK_BOOTTIME of the later reading */
	int64_t elapsed_us;
	double xmit_bytes, rcv_bytes;    /* NAN: not known */
	double wait_own, wait_to;        /* share of the time stalled, 0..1: of the member, of the switch port that
					    sends to it; NAN: not known */
};

enum job_phase {
	JOB_PHASE_LEARNING,     /* too little is known of it */
	JOB_PHASE_RUNS,         /* it communicates, or pauses as it did before */
	JOB_PHASE_STALLED,      /* all of its ports are quiet for longer than its rhythm allows */
	JOB_PHASE_SLOWER,       /* it communicates, and slower than before, since a moment */
	JOB_PHASES,
};

/* Why a host is suspected, strongest first. */
enum job_evidence {
	JOB_EVIDENCE_UNREADABLE,   /* its ports are down, or do not respond */
	JOB_EVIDENCE_STOPPED_FIRST, /* it stopped before the others, or sent less than its share at last */
	JOB_EVIDENCE_NOT_RECEIVING, /* the switch ports to it wait, or in a slowdown a host that may send to it */
	JOB_EVIDENCE_LATE,         /* it begins to send after the others */
	JOB_EVIDENCE_NONE,
};

struct job_suspect {
	uint32_t host;
	enum job_evidence evidence;
	int64_t stopped_us;     /* CLOCK_BOOTTIME of the reading that shows its last traffic; 0: it still sends */
	double value;           /* of the evidence: seconds before or after the others, or a share, 0..1 */
	double absent;          /* JOB_EVIDENCE_LATE: share of the collectives that begin without it, more than
				   before, 0..1; stronger than @value; 0: known by @value only */
};
enum { JOB_SUSPECTS_MOST = 8 };

struct job_state {
	enum job_phase phase;
	int64_t since_us;       /* CLOCK_BOOTTIME at which the stall or slowdown began, as far as sweeps show it */
	int64_t known_us;       /* at which it could first be said; 0: in no such phase */
	struct rhythm now;      /* of the last minutes, since a slowdown began or ended; its period is that before
				   times @slower */
	struct rhythm before;   /* of the time that @now is compared with: an hour ago, or before the slowdown */
	double slower;          /* JOB_PHASE_SLOWER: period or 1 / rate as a share of that before: 1.2 is 20 % slower */
	double allowed_s;       /* the longest pause that its rhythm allows; NAN: not learnt */
	struct job_suspect suspects[JOB_SUSPECTS_MOST]; /* most suspected first */
	unsigned suspect_count;
	uint64_t rails_fell;    /* JOB_PHASE_SLOWER: bits of rails that carry less than others, compared with before */
};

struct job_watch;

/* job_watch_create - Return: NULL: no memory. @members: copied. @interval_us: of the sweeps */
struct job_watch *job_watch_create(const struct job_member *members, size_t count, int64_t interval_us);
void job_watch_destroy(struct job_watch *watch);

/*
 * job_watch_step - evaluate one sweep
 * @at_us:     CLOCK_BOOTTIME of the sweep
 * @readings:  of members that were read, in any order; those missing were not read. What members send to each other
 *             is the smaller one of what all sent and all received, so both should be known
 * @down:      by member: its link is down, or it does not respond; NULL: none
 * @suspended: the batch system has suspended the job: a pause is none of its own
 * Return: the state, valid until the next call.
 */
const struct job_state *job_watch_step(struct job_watch *watch, int64_t at_us, const struct job_reading *readings,
				       size_t count, const bool *down, bool suspended);

const char *job_phase_name(enum job_phase phase);       /* "learning", "runs", "stalled", "slower" */
const char *job_evidence_name(enum job_evidence evidence); /* "unreadable", "stopped-first", ... */

#endif
