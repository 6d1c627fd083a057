/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * delta.h - what two readings of one port say about the time between them
 */
#ifndef IBWIRE_ANALYSIS_DELTA_H
#define IBWIRE_ANALYSIS_DELTA_H

#include <stdint.h>

#include "fabric/counter.h"
#include "fabric/detail.h"

/*
 * For each counter in `known` the value is what was counted in elapsed_us; a
 * counter that is not known was not read at one of the ends. Marks beside it:
 *
 * reset      it fell: somebody reset it. Value is what it has counted
 *            since then: at least this much.
 * saturated  it sits at its maximum. Value is what it counted until it got
 *            there (0 where it sat there before): at least this much.
 *
 * The value is exact where neither mark is set. 64-bit counters that fall are
 * reset, never wrapped: at NDR one would take 11 years to fill.
 */
struct delta {
	int64_t elapsed_us; /* CLOCK_BOOTTIME between the two answers of this port */
	counter_set known, reset, saturated;
	uint64_t value[COUNTER_COUNT];
};

/*
 * delta_between - change of one port's counters from one reading to the next
 * @prev, @cur:  the readings, @prev the older
 * @ret:         filled completely
 *
 * A counter whose width differs between the two is not known.
 * Source: IBA Vol 1, PortCounters: a counter stops at all ones.
 */
void delta_between(const struct reading *prev, const struct reading *cur, struct delta *ret);

/* delta_us_add - the sum of two times or spans, us; the nearest number there is where it does not fit. */
static inline int64_t delta_us_add(int64_t us, int64_t more_us)
{
	int64_t sum_us;

	return !__builtin_add_overflow(us, more_us, &sum_us) ? sum_us : more_us < 0 ? INT64_MIN : INT64_MAX;
}

/*
 * delta_add - put a later delta of the same port behind an earlier one
 * Elapsed times and values add up (values stop at UINT64_MAX), marks are kept
 * from both; a counter is known only where both know it, so that a sum never
 * shows less than its window. A @sum with elapsed_us 0 and nothing known is the
 * neutral start.
 */
void delta_add(struct delta *sum, const struct delta *later);

/*
 * delta_mirror - what the other end of a link counted, as this end must have
 * @peer:  of the other end
 * @ret:   filled completely: data and packets, what one end sends being what the other
 *         receives; nothing else is known
 */
void delta_mirror(const struct delta *peer, struct delta *ret);

/*
 * The same for one attribute of slow counters: sets are bits 1 << number, and
 * elapsed_us is that between the two readings of this attribute.
 */
struct detail_delta {
	int64_t elapsed_us;
	uint32_t known, reset, saturated;
	uint32_t value[DETAIL_MAX];
};

/*
 * detail_delta_between - change of one attribute's counters
 * @prev, @cur:  readings of one attribute of one port, @prev the older
 * @ret:         filled completely; FEC counters of two layouts are not known
 */
void detail_delta_between(const struct detail_reading *prev, const struct detail_reading *cur,
			  struct detail_delta *ret);

/*
 * detail_delta_add - put a later delta behind an earlier one of the same port and attribute
 * As delta_add(); a value that does not fit any more is marked as saturated: at least so many.
 */
void detail_delta_add(struct detail_delta *sum, const struct detail_delta *later);

#endif
