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
#include "facts/summary.h"

struct error;
struct reader;
struct shape_settings;
struct snapshot;
struct snapshot_context;

/* What the screen shows of a fabric beside struct fabric_summary. */
struct table_totals {
	uint64_t errors;
	bool errors_at_least;
	/* From port_table_compare(). */
	int link_columns;      /* longest link_text() (facts/link.h) */
	size_t hosts;
	uint32_t sm_port;      /* port of the subnet manager of the sweep, or FABRIC_NONE */
	size_t adaptive_on, adaptive_off; /* switches, by the settings or as read from them */
};

/* A zeroed struct is empty. */
struct port_table {
	const struct snapshot *snapshot; /* borrowed; NULL: empty */
	struct port_scope scope;  /* of the ports */
	struct port_facts *ports;         /* parallel to the fabric's ports; errors as in struct error_sums */
	struct fabric_summary summary;
	struct table_totals totals;
	struct order order;
};

void port_table_done(struct port_table *table);

/* port_table_name - order_port_name(), or "-" for FABRIC_NONE. @ret: of PORT_NAME_SIZE. */
void port_table_name(const struct port_table *table, uint32_t port, char *ret);

/*
 * port_table_set - show another snapshot
 * @snapshot:  borrowed until the next call; NULL for none
 * @sums:      errors up to it
 * @reader:    of the snapshot, or NULL: each end of a link whose cable is gone counts as a link
 *
 * Return: 0, or ERR_NOMEM: empty then.
 */
int port_table_set(struct port_table *table, const struct snapshot *snapshot, const struct error_sums *sums,
		   struct reader *reader, struct error *err);

/*
 * port_table_compare - complete the totals: hosts, and deviations of the fabric from its built state
 * @context:   of the same snapshot; without a shape hosts and built state are unknown
 * @settings:  or NULL
 */
void port_table_compare(struct port_table *table, const struct snapshot_context *context,
			const struct shape_settings *settings);

#endif
