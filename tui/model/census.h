/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* census.h - size of a fabric, and deviations from its built state. O(ports). */
#ifndef IBWIRE_TUI_MODEL_CENSUS_H
#define IBWIRE_TUI_MODEL_CENSUS_H

#include <stddef.h>
#include <stdint.h>

struct snapshot_context;
struct shape_settings;
struct port_table;

struct census {
	size_t hosts;
	size_t links_down;     /* down now, up within the last hour */
	size_t links_degraded; /* up, and port_is_degraded() (port_marks.h) */
	uint64_t bits_per_s;   /* total data rate of all links that are up, one direction */
	uint32_t sm_port;      /* port of the subnet manager of the sweep, or FABRIC_NONE */
	/* Switches with adaptive routing set on or off in the settings. */
	size_t adaptive_on, adaptive_off;
};

/*
 * census_count - count
 * @context:   of the same snapshot; without a shape hosts and built state are unknown
 * @settings:  or NULL
 */
void census_count(const struct port_table *table, const struct snapshot_context *context,
		  const struct shape_settings *settings, struct census *ret);

#endif
