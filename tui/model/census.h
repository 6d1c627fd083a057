/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * census.h - how big a fabric is, and how much of it is not as it was built
 *
 * Pure: no curses, no I/O. O(ports).
 */
#ifndef IBWIRE_TUI_MODEL_CENSUS_H
#define IBWIRE_TUI_MODEL_CENSUS_H

#include <stddef.h>
#include <stdint.h>

struct snapshot_context;
struct shape_settings;
struct port_table;

struct census {
	size_t hosts;
	size_t links_down;     /* were up within the hour; of those that are up see struct fabric_summary */
	size_t links_degraded; /* up, and as port_is_degraded() (tui/model/port_marks.h) says */
	uint64_t bits_per_s;   /* data rate of all links that are up, one way */
	uint32_t sm_port;      /* where the subnet manager runs that the sweep names, or FABRIC_NONE */
	/* Switches of which a person says whether they route adaptively; of the others nobody knows. */
	size_t adaptive_on, adaptive_off;
};

/*
 * census_count - count it
 * @context:    of the same snapshot; without a shape nothing is known of hosts and of what was built
 * @settings:  or NULL
 */
void census_count(const struct port_table *table, const struct snapshot_context *context,
		  const struct shape_settings *settings, struct census *ret);

#endif
