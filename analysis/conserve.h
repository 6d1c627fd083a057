/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * conserve.h - check that one end of a link receives what the other end sends
 *
 * Both ends are read at different times, so their deltas differ without loss. The difference is
 * bounded by the rate of the link and by what one end counted between the two readings. Over a
 * sequence of readings only the first and the last pair matter: amounts add up while the bound
 * stays the same, so a small continuous loss becomes visible after some sweeps. The specification
 * allows a device to omit packets with errors (IBA Vol 1, PortRcvData: "may include").
 */
#ifndef IBWIRE_ANALYSIS_CONSERVE_H
#define IBWIRE_ANALYSIS_CONSERVE_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/delta.h"

/*
 * Time of a reading. The response shows the counter at some time between these two, on one clock
 * for both ends of a link.
 * @early_us:  when the query was sent; earlier by the time for which an agent may return a copy
 * @late_us:   when the response arrived
 */
struct conserve_moment {
	int64_t early_us, late_us;
};

/* Delta of one end in one direction. */
struct conserve_delta {
	struct conserve_moment from, to;
	uint64_t words, packets;
};

enum conserve_verdict {
	CONSERVE_UNDECIDED, /* not known at both ends for one time */
	CONSERVE_HOLDS,     /* differences are within the reading times */
	CONSERVE_VIOLATED,
};

struct conserve_result {
	enum conserve_verdict verdict;
	/*
	 * Difference beyond the bound: positive is missing at the receiver, negative was received
	 * but not sent. 0: within the bound.
	 */
	int64_t missing_words, missing_packets;
};

/*
 * conserve_take - one direction of the delta of a port, if it can be compared
 * @reading:   last reading of @delta: defines which counters are wide
 * @xmit:      sent; else received
 * @from, @to: times of the readings of @delta
 *
 * Return: false: words or packets are unknown, were reset or saturated, or have 32 bits (saturated
 * within a third of a second on a fast link), or @delta is not between @from and @to.
 */
bool conserve_take(const struct delta *delta, const struct reading *reading, bool xmit,
		   const struct conserve_moment *from, const struct conserve_moment *to, struct conserve_delta *ret);

/* One end of a run; private. */
struct conserve_side {
	int64_t first_late_us;        /* of its first reading */
	struct conserve_moment last;
	uint64_t words, packets;      /* since the first reading */
	struct {
		int64_t from_late_us; /* its first reading */
		uint64_t words, packets;
	} recent[2];                  /* last deltas, newest first */
	unsigned count;               /* number of deltas, at most 2 */
};

/* One direction of one link since its first pair of readings. */
struct conserve_run {
	uint64_t link_bits_per_s; /* 0: no run */
	struct conserve_side sent, received;
	/* Bounds of the lead of the sender, and of the receiver, at the first pair of readings. */
	struct conserve_amount { double words, packets; } ahead, behind;
};

/*
 * conserve_run_start - start with a pair of readings
 * @sent, @received: of the sending and of the receiving end
 * @link_bits_per_s: data rate of the link; a change needs a new run
 */
void conserve_run_start(struct conserve_run *run, const struct conserve_moment *sent,
			const struct conserve_moment *received, uint64_t link_bits_per_s);

/*
 * conserve_run_add - add the next delta of an end
 * @xmit:  of the sending end
 * It starts where the previous delta of that end ended. An end that was not read in a sweep has a
 * longer delta later.
 * Return: false: a delta is missing; the run is invalid.
 */
bool conserve_run_add(struct conserve_run *run, bool xmit, const struct conserve_delta *delta);

/* conserve_run_evaluate - compare both ends. Undecided until each has a delta. */
struct conserve_result conserve_run_evaluate(const struct conserve_run *run);

#endif
