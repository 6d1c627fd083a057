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
#include "view/order.h"
#include "view/port_view.h"

struct error;
struct snapshot;

struct fabric_summary {
	size_t switches, hcas, others;
	size_t links_up;
	size_t ports, ports_down, ports_unused; /* ports_down: those not unused */
	size_t words[WORD_COUNT];
	double hosts_xmit_bytes_per_s, hosts_rcv_bytes_per_s; /* total of the HCA ports; NAN if unknown */
	uint64_t errors;
	bool errors_at_least;
	int link_columns;    /* longest text of width and speed */
};

struct port_table {
	const struct snapshot *snapshot; /* borrowed; NULL: empty */
	struct port_view *views;         /* parallel to the fabric's ports; errors as in struct error_sums */
	struct fabric_summary summary;
	struct order order;
};

void port_table_init(struct port_table *table);
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

#endif
