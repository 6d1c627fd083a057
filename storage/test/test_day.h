/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * test_day.h - the traffic of a noisy day of all-reduce, for measurements and tests
 *
 * What it models: ports of 200 Gb/s in a fabric that trains. Each port goes
 * through spells, of a random length, independent of its neighbours:
 *
 *     idle   30 % of the time, 90 s on average: the question itself and an answer
 *            to it, some seconds a few management packets more
 *     busy   60 %, 60 s on average: collectives at a rate that the port keeps for
 *            all the day (a quarter to three quarters of the line), in each
 *            direction with noise of 2 % of its own; now and then a credit lacks
 *     burst  10 %, 4 s on average: any rate up to the line's, each direction for
 *            itself, and ticks without credit
 *
 * Packets are full (4,096 bytes and headers), beside one in a thousand at the end
 * of a message that is half full, give or take, one small acknowledgement for each 512
 * packets of the other direction, and a handful of others. Some multicast comes with
 * them in one of a hundred seconds. Readings of a port come at the interval with a
 * jitter of 100 us. Nothing is lost and nothing goes wrong.
 *
 * By these rules what is new in a sample is about 7.9 bytes at intervals of 1 s: 5.0 of words, 1.2 of
 * the time between, 1.2 of packets, 0.5 of waiting. No code can do with less.
 *
 * A port's day follows from its seed, on every machine.
 */
#ifndef IBWIRE_STORAGE_TEST_DAY_H
#define IBWIRE_STORAGE_TEST_DAY_H

#include <stdint.h>

struct delta;

struct day_port {
	uint64_t random;
	unsigned spell;       /* which of the three */
	int64_t left_us;      /* of the spell */
	double words_per_s;   /* while it is busy */
	int64_t late_us;      /* of the last reading */
};

/* day_begin - a port at the beginning of its day; each seed is another port. */
void day_begin(struct day_port *port, uint64_t seed);

/*
 * day_next - what the port counted until its next reading
 * @interval_us:  between sweeps
 * @ret:          filled completely: all counters are known, errors count nothing
 */
void day_next(struct day_port *port, int64_t interval_us, struct delta *ret);

#endif
