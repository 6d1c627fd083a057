/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* delta.h - change of the counters of a port between two readings */
#ifndef IBWIRE_ANALYSIS_DELTA_H
#define IBWIRE_ANALYSIS_DELTA_H

#include <stdbool.h>
#include <stdint.h>

#include "fabric/counter.h"
#include "fabric/detail.h"

/*
 * For each counter in `known` the value is its change in elapsed_us; other counters were not read
 * at one of the ends. Marks:
 *
 * reset      it decreased: it was reset. The value is the count since the reset, a lower bound.
 * saturated  it is at its maximum. The value is the count until saturation (0 if it was
 *            saturated before), a lower bound.
 *
 * Without marks the value is exact. 64-bit counters that decrease were reset: they cannot wrap (11
 * years at NDR).
 */
struct delta {
	int64_t elapsed_us; /* CLOCK_BOOTTIME between the two responses */
	counter_set known, reset, saturated;
	uint64_t value[COUNTER_COUNT];
};

/*
 * delta_between - change of the counters of a port from one reading to the next
 * @prev, @cur:  the readings, @prev the older
 * @ret:         filled completely
 *
 * A counter whose width differs between the two is unknown. Source: IBA Vol 1, PortCounters: a
 * counter stops at all ones.
 */
void delta_between(const struct reading *prev, const struct reading *cur, struct delta *ret);

/* delta_us_add - sum of two times in us, clamped to the range of int64_t. */
static inline int64_t delta_us_add(int64_t us, int64_t more_us)
{
	int64_t sum_us;

	return !__builtin_add_overflow(us, more_us, &sum_us) ? sum_us : more_us < 0 ? INT64_MIN : INT64_MAX;
}

/* What a tool clears with any counter, and what is lost then shows in no decrease. */
#define DELTA_LOST_SET (COUNTER_ERROR_SET | COUNTER_BIT(COUNTER_XMIT_WAIT))

/*
 * delta_resets - counters whose reset is known
 * @reset:  those that decreased
 * After a reset of any counter also those of errors and PortXmitWait: a tool that clears counters clears them too, and
 * what they had counted since the last reading is lost, which a count of 0 or of few does not show by a decrease.
 */
static inline counter_set delta_resets(counter_set reset)
{
	return reset ? reset | DELTA_LOST_SET : 0;
}

/* delta_lower_bounds - the known counters whose value is a lower bound */
static inline counter_set delta_lower_bounds(const struct delta *delta)
{
	return (delta_resets(delta->reset) | delta->saturated) & delta->known;
}

/*
 * delta_add - append a later delta of the same port
 * Elapsed times and values add up (at most UINT64_MAX), marks are combined; a counter is known only
 * if both know it, so a sum never covers less than its window. The neutral start is elapsed_us 0
 * and nothing known.
 */
void delta_add(struct delta *sum, const struct delta *later);

/*
 * delta_is_cut - was a port not read in all of a window, so that its sum is a lower bound?
 * @window_us:    that the sums of other ports cover
 * @interval_us:  of the sweeps; 0: unknown. Ports are read at different times within a sweep: up to half an interval,
 *                else up to 1 % of the window (2 s at least, for retries), is no part that was not read.
 */
bool delta_is_cut(const struct delta *sum, int64_t window_us, int64_t interval_us);

/*
 * delta_mirror - delta of a port, derived from the delta of the other end of its link
 * @peer:  delta of the other end
 * @ret:   filled completely: data and packets with directions exchanged; nothing else is known
 */
void delta_mirror(const struct delta *peer, struct delta *ret);

/*
 * The same for one detail attribute: sets are bits 1 << number, elapsed_us is between the readings
 * of this attribute.
 */
struct detail_delta {
	int64_t elapsed_us;
	uint32_t known, reset, saturated;
	uint64_t value[DETAIL_MAX];
};

/* detail_delta_lower_bounds - as delta_lower_bounds(): one reset clears all counters of the attribute. */
static inline uint32_t detail_delta_lower_bounds(const struct detail_delta *delta)
{
	return (delta->reset ? delta->known : delta->saturated) & delta->known;
}

/*
 * detail_delta_between - change of the counters of one attribute
 * @prev, @cur:  readings of one attribute of one port, @prev the older
 * @ret:         filled completely; FEC counters of different layouts are unknown
 */
void detail_delta_between(const struct detail_reading *prev, const struct detail_reading *cur,
			  struct detail_delta *ret);

/*
 * detail_delta_add - append a later delta of the same port and attribute
 * As delta_add(); a value that does not fit is marked as saturated.
 */
void detail_delta_add(struct detail_delta *sum, const struct detail_delta *later);

#endif
