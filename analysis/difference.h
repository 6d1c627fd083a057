/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * difference.h - what ports counted between two full readings that may be months apart
 *
 * As delta.h, with what a collector would have seen in between not seen: ports come
 * and go, and a counter may have been reset, and counted further than it was.
 * Fast and slow counters stand in one list here, so that they are summed and
 * shown by one loop.
 */
#ifndef IBWIRE_ANALYSIS_DIFFERENCE_H
#define IBWIRE_ANALYSIS_DIFFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/status.h"
#include "fabric/counter.h"
#include "fabric/detail.h"

/* All that was read of one port at one time. */
struct full_reading {
	enum sample_status status; /* but SAMPLE_OK: nothing is present */
	struct reading reading;
	struct detail_reading details[DETAIL_ATTRIBUTE_COUNT];
};

/* Places in a list of all counters: the fast ones by enum counter, then DETAIL_MAX for each attribute. */
#define COUNTED_COUNT (COUNTER_COUNT + DETAIL_ATTRIBUTE_COUNT * DETAIL_MAX)
#define COUNTED_DETAIL(attribute, number) (COUNTER_COUNT + (attribute) * DETAIL_MAX + (number))

/* counted_key - the counter's key; NULL where no counter has this place. */
const char *counted_key(size_t place);

/* What one counter counted, in its own unit. Reset or saturated: at least so much. */
struct counted {
	uint64_t value;
	bool known, reset, saturated;
};

struct difference {
	bool was_there, is_there; /* in the fabric at the first time, at the second */
	enum sample_status status_before, status_after;
	int64_t elapsed_us;       /* between the port's two answers; 0: not both were there */
	struct counted counters[COUNTED_COUNT];
};

/*
 * difference_between - one port at two times
 * @before, @after:  or NULL: not in the fabric then
 * @offset_us:  to add to after's at_us so that it counts from where before's does
 * @ret:        filled completely
 *
 * A counter that fell was reset; one that was not read at both times, or with
 * another width or FEC layout, is not known.
 */
void difference_between(const struct full_reading *before, const struct full_reading *after, int64_t offset_us,
			struct difference *ret);

/* difference_note_reset - somebody saw this counter fall in between: what is known of it is a lower bound. */
void difference_note_reset(struct difference *difference, enum counter counter);

/* difference_is_down - no link at either time: nothing was asked, and nothing is missed. */
bool difference_is_down(const struct difference *difference);

/* Several ports added up. Zeroed at first. */
struct difference_sum {
	uint32_t ports;         /* without those that are down */
	uint32_t ports_unknown; /* of those: not read at both times */
	/* Of so many ports that know the counter; at_least: one of them was reset or was full. */
	struct { uint64_t value; uint32_t ports; bool at_least; } counters[COUNTED_COUNT];
};

/* difference_add - values stop at UINT64_MAX, and are at least that much then. */
void difference_add(struct difference_sum *sum, const struct difference *difference);

/*
 * difference_sum_counter - one counter of a sum; not known where no port knows it
 * Marked as saturated, at least so much, where a port does not know it, was reset or was full.
 */
struct counted difference_sum_counter(const struct difference_sum *sum, size_t place);

/* counted_errors - errors among all counters: what goes wrong on a link, without the details that split them up. */
uint64_t counted_errors(const struct counted counters[COUNTED_COUNT]);

/* counted_bytes - what words of data are; UINT64_MAX words are no number of bytes. Return: whether @ret is set. */
bool counted_bytes(const struct counted *words, uint64_t *ret);

#endif
