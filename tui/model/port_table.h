/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * port_table.h - values of each port of a snapshot, and their totals
 *
 * Work proportional to the fabric is done when the snapshot changes, never while drawing.
 */
#ifndef IBWIRE_TUI_MODEL_PORT_TABLE_H
#define IBWIRE_TUI_MODEL_PORT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tui/model/error_sums.h"
#include "facts/order.h"
#include "facts/port_facts.h"

struct error;
struct shape_settings;
struct snapshot;
struct snapshot_context;

struct fabric_summary {
	size_t switches, hcas, others;
	size_t links_up;
	size_t ports, ports_down, ports_unused; /* ports_down: those not unused */
	size_t by_status[STATUS_COUNT];
	double hosts_xmit_bytes_per_s, hosts_rcv_bytes_per_s; /* total of the HCA ports; NAN if unknown */
	uint64_t errors;
	bool errors_at_least;
	int link_columns;      /* longest text of width and speed */
	/* From port_table_compare(). */
	size_t hosts;
	size_t links_down;     /* down now, up within the last hour */
	size_t links_degraded; /* up, and port_is_degraded() (context.h) */
	uint64_t injection_bits_per_s; /* data rate of all Active HCA ports, one direction */
	uint32_t sm_port;      /* port of the subnet manager of the sweep, or FABRIC_NONE */
	size_t adaptive_on, adaptive_off; /* switches, by the settings or as read from them */
};

/* A zeroed struct is empty. */
struct port_table {
	const struct snapshot *snapshot; /* borrowed; NULL: empty */
	struct port_facts *views;         /* parallel to the fabric's ports; errors as in struct error_sums */
	struct fabric_summary summary;
	struct order order;
};

void port_table_done(struct port_table *table);

/*
 * port_table_set - show another snapshot
 * @snapshot:  borrowed until the next call; NULL for none
 * @sums:      errors up to it
 *
 * Return: 0, or ERR_NOMEM: empty then.
 */
int port_table_set(struct port_table *table, const struct snapshot *snapshot, const struct error_sums *sums,
		       struct error *err);

/*
 * port_table_compare - complete the summary: size of the fabric, and deviations from its built state
 * @context:   of the same snapshot; without a shape hosts and built state are unknown
 * @settings:  or NULL
 */
void port_table_compare(struct port_table *table, const struct snapshot_context *context,
			const struct shape_settings *settings);

#endif
