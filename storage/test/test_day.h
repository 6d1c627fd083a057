/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * test_day.h - the traffic of a noisy day of all-reduce, for measurements and tests
 *
 * The model: ports of 200 Gb/s in a training cluster. Each port has spells of random duration,
 * independent of other ports:
 *
 *     idle   30 % of the time, 90 s on average: the poll and its response, sometimes a few more
 *            management packets
 *     busy   60 %, 60 s on average: collectives at a rate that is constant for the port (1/4 to 3/4
 *            of the line rate), with 2 % of independent noise per direction; rarely XmitWait
 *     burst  10 %, 4 s on average: any rate up to the line rate, independent for each direction, and
 *            XmitWait
 *
 * Packets are full (4,096 bytes and headers), except one in a thousand at the end of a message, one
 * small acknowledgement for each 512 packets of the other direction, and a few others. One second in a
 * hundred has multicast. Readings have a jitter of 100 us. There are no errors.
 *
 * The entropy of a sample is about 7.9 bytes at 1 s intervals: 5.0 of words, 1.2 of elapsed time, 1.2 of
 * packets, 0.5 of XmitWait.
 *
 * The day of a port depends on its seed only, on every machine.
 */
#ifndef IBWIRE_STORAGE_TEST_DAY_H
#define IBWIRE_STORAGE_TEST_DAY_H

#include <stdint.h>

struct delta;

struct day_port {
	uint64_t random;
	unsigned spell;       /* one of the three */
	int64_t left_us;      /* until the end of the spell */
	double words_per_s;   /* while busy */
	int64_t late_us;      /* of the last reading */
};

/* day_begin - initialise a port; each seed is another port. */
void day_begin(struct day_port *port, uint64_t seed);

/*
 * day_next - the delta of the next reading of a port
 * @interval_us:  between sweeps
 * @ret:          filled completely: all counters are known, error counters are 0
 */
void day_next(struct day_port *port, int64_t interval_us, struct delta *ret);

#endif
