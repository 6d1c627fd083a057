/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * conserve.h - what one end of a link sent, the other end received
 *
 * The two ends are read at different times, so their deltas differ although
 * nothing is lost: by what passed between the two readings at the beginning, and
 * between the two at the end. That is bounded: the link carries no more than its
 * rate, and no more passed than the end that was read later, or the one that was
 * read earlier in its next delta, has counted itself. What is beyond the bound
 * cannot be explained by reading times.
 *
 * Over a sequence of readings only the first and the last pair matter: what was
 * sent and received adds up, and the bound stays what it was. So a loss of a small
 * share, hidden in a single sweep, comes out after some, while a healthy link never
 * does. That is the running form; one pair of deltas is its shortest case.
 *
 * Both ends count each packet on the link, whoever made it: management datagrams
 * that an end itself asks or answers as well. The specification lets a device count
 * packets with errors or leave out their data (IBA Vol 1, PortRcvData: "may include");
 * where a receiver counted errors they are the first thing to suspect.
 */
#ifndef IBWIRE_ANALYSIS_CONSERVE_H
#define IBWIRE_ANALYSIS_CONSERVE_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/delta.h"

/*
 * When a counter was read. The answer shows what it was at some time between the
 * two, on one clock for both ends of a link.
 * @early_us:  the question was not asked before; earlier by as much as an agent
 *             may answer from a copy
 * @late_us:   the answer was there
 */
struct conserve_moment {
	int64_t early_us, late_us;
};

/* One end's delta in one direction: what it sent, or what it received. */
struct conserve_delta {
	struct conserve_moment from, to;
	uint64_t words, packets;
};

enum conserve_verdict {
	CONSERVE_UNDECIDED, /* not known at both ends for one time */
	CONSERVE_HOLDS,     /* what differs may be the reading times */
	CONSERVE_VIOLATED,
};

struct conserve_result {
	enum conserve_verdict verdict;
	/*
	 * Beyond what reading times explain: positive is missing at the receiver (at
	 * least so much), negative was received and never sent. 0: explained.
	 */
	int64_t missing_words, missing_packets;
};

/*
 * conserve_take - one direction of a port's delta, where it can be compared
 * @reading:   the reading that @delta ends with: says which counters are wide
 * @xmit:      what the port sent; else what it received
 * @from, @to: of the readings that @delta lies between
 *
 * Return: false where words or packets are not known, were reset or full, or are
 * 32 bits wide (full in a third of a second on a fast link), or where @delta is not
 * what lies between @from and @to.
 */
bool conserve_take(const struct delta *delta, const struct reading *reading, bool xmit,
		   const struct conserve_moment *from, const struct conserve_moment *to, struct conserve_delta *ret);

/* One end's side of a run; private. */
struct conserve_side {
	int64_t first_late_us;        /* of its first reading */
	struct conserve_moment last;
	uint64_t words, packets;      /* since the first */
	struct {
		int64_t from_late_us; /* the reading that it begins with */
		uint64_t words, packets;
	} recent[2];                  /* the newest deltas, the newest first */
	unsigned count;               /* deltas so far; stops at 2 */
};

/* One direction of one link from its first pair of readings on. */
struct conserve_run {
	uint64_t link_bits_per_s; /* 0: nothing to run on */
	struct conserve_side sent, received;
	/* The most and the least that the sender was ahead at the first pair of readings. */
	double ahead_words, ahead_packets, behind_words, behind_packets;
};

/*
 * conserve_run_start - begin with a pair of readings
 * @sent, @received: of the sending and of the receiving end
 * @link_bits_per_s: the link's data rate; another one needs another run
 */
void conserve_run_start(struct conserve_run *run, const struct conserve_moment *sent,
			const struct conserve_moment *received, uint64_t link_bits_per_s);

/*
 * conserve_run_sent, conserve_run_received - the next delta of an end
 * Each begins where the one before of that end has ended. An end that was not
 * read in a sweep has a longer one later.
 * Return: false where one is missing in between: the run says nothing any more.
 */
bool conserve_run_sent(struct conserve_run *run, const struct conserve_delta *delta);
bool conserve_run_received(struct conserve_run *run, const struct conserve_delta *delta);

/* conserve_run_judge - do both ends agree so far? Undecided before each has a delta. */
struct conserve_result conserve_run_judge(const struct conserve_run *run);

#endif
