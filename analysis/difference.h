/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * difference.h - change of ports between two complete readings, which may be months apart
 *
 * Like delta.h, but without the readings in between: ports come and go, and a counter may have been
 * reset and counted beyond its former value. Fast and detail counters are in one list, so that one
 * loop sums and displays them.
 */
#ifndef IBWIRE_ANALYSIS_DIFFERENCE_H
#define IBWIRE_ANALYSIS_DIFFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/status.h"
#include "fabric/counter.h"
#include "fabric/detail.h"

/* All counters of one port at one time. */
struct full_reading {
	enum sample_status status; /* except for SAMPLE_OK nothing is present */
	struct reading reading;
	struct detail_reading details[DETAIL_SELDOM];
};

/* Indexes of all counters: enum counter first, then DETAIL_MAX for each attribute of a snapshot. */
#define COUNTED_COUNT (COUNTER_COUNT + DETAIL_SELDOM * DETAIL_MAX)
#define COUNTED_DETAIL(attribute, number) (COUNTER_COUNT + (attribute) * DETAIL_MAX + (number))

/* counted_key - key of a counter; NULL: no counter has this index. */
const char *counted_key(size_t place);

/* Change of one counter in its own unit. Reset or saturated: a lower bound. */
struct counted {
	uint64_t value;
	bool known, reset, saturated;
};

struct difference {
	bool was_there, is_there; /* in the fabric at the first and the second time */
	enum sample_status status_before, status_after;
	int64_t elapsed_us;       /* between the two responses of the port; 0: not read twice */
	struct counted counters[COUNTED_COUNT];
};

/*
 * difference_between - change of one port between two times
 * @before, @after:  NULL: not in the fabric at that time
 * @offset_us:  added to at_us of @after to convert it to the clock of @before
 * @ret:        filled completely
 *
 * A counter that decreased was reset; one that was not read twice, or with different widths or FEC
 * layouts, is unknown.
 */
void difference_between(const struct full_reading *before, const struct full_reading *after, int64_t offset_us,
			struct difference *ret);

/*
 * difference_note_resets - resets of these counters in between are known: their changes, and those of the counters that
 * a tool clears with them (delta_resets()), are lower bounds.
 */
void difference_note_resets(struct difference *difference, counter_set reset);

/* difference_is_down - no link at either time, so nothing was read and nothing is missing. */
bool difference_is_down(const struct difference *difference);

/* Sum over several ports. Start with zeros. */
struct difference_sum {
	uint32_t ports;         /* number of ports, without those that are down */
	uint32_t ports_unknown; /* of those: not read at both times */
	/*
	 * ports: number of ports that know the counter; at_least: one of them was reset or
	 * saturated.
	 */
	struct { uint64_t value; uint32_t ports; bool at_least; } counters[COUNTED_COUNT];
};

/* difference_add - values are clamped to UINT64_MAX, as lower bounds. */
void difference_add(struct difference_sum *sum, const struct difference *difference);

/*
 * difference_sum_counter - one counter of a sum; unknown if no port knows it
 * Marked as saturated (a lower bound) if a port does not know it, or was reset or saturated.
 */
struct counted difference_sum_counter(const struct difference_sum *sum, size_t place);

/* counted_errors - sum of the error counters, without the details that split them up. */
uint64_t counted_errors(const struct counted counters[COUNTED_COUNT]);

/* counted_bytes - words in bytes; not for UINT64_MAX words. Return: whether @ret is set. */
bool counted_bytes(const struct counted *words, uint64_t *ret);

#endif
