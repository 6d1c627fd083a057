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

#include "analysis/status.h"
#include "tui/model/error_sums.h"
#include "tui/order.h"

struct error;
struct snapshot;

/* A port that is down and was not read for this long is hidden by default. */
#define PORT_UNUSED_US (3600 * 1000000LL)

/* Displayed values of one port. NAN: unknown. */
struct row_view {
	double xmit_bytes_per_s, rcv_bytes_per_s;
	double xmit_percent, rcv_percent;
	double stall_percent; /* an estimate */
	double errors;       /* as in struct error_sum; NAN if no error counter was read */
	int64_t last_wall_us; /* newest reading; 0: never */
	uint32_t port_rank;  /* position among all ports by name */
	uint8_t word;        /* enum port_word */
	bool at_least;       /* of errors */
	bool stall_at_least;
	bool unused;         /* down for long or always */
};

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
	struct row_view *views;          /* parallel to the fabric's ports */
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
