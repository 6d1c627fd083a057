/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/ports/port_details.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "cli/lib/cells.h"
#include "cli/lib/selection.h"
#include "cli/lib/view.h"
#include "fabric/fabric.h"
#include "storage/reader.h"

struct loading {
	const struct fabric *fabric;
	struct port_details *details;
	bool no_memory;
};

static bool add_row(void *ctx, const struct detail_row *row)
{
	struct loading *loading = ctx;
	struct port_details *details = loading->details;
	uint32_t port = fabric_find_port(loading->fabric, row->node_guid, row->port);
	struct detail_row *rows;

	/* The database keeps detail counters of removed ports. */
	if (port == FABRIC_NONE)
		return true;
	rows = array_grow(details->rows, details->count, &details->capacity, sizeof(*rows));
	loading->no_memory = !rows;
	if (!rows)
		return false;
	details->rows = rows;
	rows[details->count++] = *row;
	details->index[(size_t)port * DETAIL_ATTRIBUTE_COUNT + row->reading.attribute] = (uint32_t)details->count;
	return true;
}

/* Query one port or one node directly; filter a full read for several. */
static void narrow(const struct fabric *fabric, const struct selection *selection, struct detail_query *query)
{
	uint32_t port = FABRIC_NONE, ports = 0;
	bool one_node = true;

	for (uint32_t i = 0; !selection->all && i < fabric->port_count; i++) {
		if (!selection_has_port(selection, i))
			continue;
		one_node &= port == FABRIC_NONE || fabric->ports[port].node == fabric->ports[i].node;
		port = i;
		ports++;
	}
	if (port == FABRIC_NONE || !one_node)
		return;
	query->node_guid = fabric->nodes[fabric->ports[port].node].guid;
	if (ports == 1)
		query->port = fabric->ports[port].num;
}

int port_details_load(const struct view *view, const struct selection *selection, struct port_details *ret,
		      struct error *err)
{
	struct detail_query query = { .at_us = view->at_us, .window_us = view->window_us, .port = -1 };
	struct loading loading = { .fabric = view->fabric, .details = ret };
	int code;

	ret->index = calloc((view->fabric->port_count + 1) * DETAIL_ATTRIBUTE_COUNT, sizeof(*ret->index));
	if (!ret->index)
		return err_nomem(err);
	narrow(view->fabric, selection, &query);
	code = reader_details(view->reader, &query, add_row, &loading, err);
	return code == 0 && loading.no_memory ? err_nomem(err) : code;
}

void port_details_done(struct port_details *details)
{
	free(details->rows);
	free(details->index);
	memset(details, 0, sizeof(*details));
}

const struct detail_row *port_details_row(const struct port_details *details, uint32_t port,
					  enum detail_attribute attribute)
{
	uint32_t place = details->index ? details->index[(size_t)port * DETAIL_ATTRIBUTE_COUNT + attribute] : 0;

	return place ? &details->rows[place - 1] : NULL;
}

bool port_details_fec_counts(const struct detail_row *speeds)
{
	const struct detail_reading *reading = &speeds->reading;
	const struct detail_delta *sum = &speeds->sum;

	/* Also for the sum: the counter may have been reset. */
	return reading->layout != FEC_LAYOUT_LANES || reading->value[DETAIL_FEC_CORRECTED_BLOCKS] ||
	       reading->value[DETAIL_FEC_UNCORRECTED_BLOCKS] || sum->value[DETAIL_FEC_CORRECTED_BLOCKS] ||
	       sum->value[DETAIL_FEC_UNCORRECTED_BLOCKS];
}

void port_details_ber(const struct view *view, const struct port_details *details, struct port_view *port)
{
	const struct detail_row *row = port_details_row(details, port->port, DETAIL_EXTENDED_SPEEDS);
	uint64_t rate = port_rate_bits_per_s(&view->fabric->ports[port->port]);

	if (!row || !port_details_fec_counts(row))
		return;
	port->ber[VIEW_BER_EFFECTIVE] = ber_effective(&row->sum, (enum fec_layout)row->reading.layout, rate);
	port->ber[VIEW_BER_RAW] = ber_raw(&row->sum, (enum fec_layout)row->reading.layout, rate);
}

static const struct column data_columns[PORT_DETAILS_COLUMNS] = {
	[PORT_DETAILS_EFFECTIVE] = { .key = "effective_ber", .kind = COLUMN_REAL },
	[PORT_DETAILS_EFFECTIVE_BELOW] = { .key = "effective_ber_below", .kind = COLUMN_REAL },
	[PORT_DETAILS_RAW] = { .key = "raw_ber", .kind = COLUMN_REAL },
	[PORT_DETAILS_RAW_BELOW] = { .key = "raw_ber_below", .kind = COLUMN_REAL },
	[PORT_DETAILS_FEC] = { .key = "fec_layout", .kind = COLUMN_TEXT },
	[PORT_DETAILS_READINGS] = { .key = "details", .kind = COLUMN_OBJECT },
	[PORT_DETAILS_COUNTED] = { .key = "details_counted", .kind = COLUMN_OBJECT },
	[PORT_DETAILS_UNKNOWN] = { .key = "details_unknown", .kind = COLUMN_LIST },
	[PORT_DETAILS_AT_LEAST] = { .key = "details_at_least", .kind = COLUMN_LIST },
	[PORT_DETAILS_WINDOW] = { .key = "details_window_us", .kind = COLUMN_OBJECT },
	[PORT_DETAILS_AGE] = { .key = "details_age_us", .kind = COLUMN_OBJECT },
};

static void set_members(struct column *column, const char *const *names, size_t count)
{
	column->members = names;
	column->member_count = count;
}

void port_details_columns(struct port_details_names *names, struct column ret[PORT_DETAILS_COLUMNS])
{
	size_t count = 0;

	for (int attribute = 0; attribute < DETAIL_ATTRIBUTE_COUNT; attribute++) {
		names->attributes[attribute] = detail_attribute_name((enum detail_attribute)attribute);
		for (unsigned number = 0; number < detail_count((enum detail_attribute)attribute); number++)
			names->counters[count++] = detail_info((enum detail_attribute)attribute, number)->key;
	}
	memcpy(ret, data_columns, sizeof(data_columns));
	for (size_t i = 0; i < PORT_DETAILS_COLUMNS; i++)
		ret[i].flags = COLUMN_NO_TABLE;
	set_members(&ret[PORT_DETAILS_READINGS], names->counters, count);
	set_members(&ret[PORT_DETAILS_COUNTED], names->counters, count);
	set_members(&ret[PORT_DETAILS_WINDOW], names->attributes, DETAIL_ATTRIBUTE_COUNT);
	set_members(&ret[PORT_DETAILS_AGE], names->attributes, DETAIL_ATTRIBUTE_COUNT);
}

static void fill_counters(struct result *result, size_t first, const struct detail_row *row)
{
	const struct detail_delta *sum = &row->sum;

	for (unsigned number = 0; number < detail_count((enum detail_attribute)row->reading.attribute); number++) {
		const char *key = detail_info((enum detail_attribute)row->reading.attribute, number)->key;
		uint32_t bit = UINT32_C(1) << number;

		if (row->reading.present & bit)
			result_member(result, first + PORT_DETAILS_READINGS, key, row->reading.value[number]);
		if (sum->known & bit)
			result_member(result, first + PORT_DETAILS_COUNTED, key, sum->value[number]);
		else if (row->reading.present & bit)
			result_item(result, first + PORT_DETAILS_UNKNOWN, "%s", key);
		if (sum->known & bit && (sum->reset | sum->saturated) & bit)
			result_item(result, first + PORT_DETAILS_AT_LEAST, "%s", key);
	}
}

void port_details_fill(struct result *result, size_t first, const struct view *view,
		       const struct port_details *details, const struct port_view *port)
{
	static const char *const layouts[] = {
		[FEC_LAYOUT_UNKNOWN] = "unknown",
		[FEC_LAYOUT_LANES] = "lanes",
		[FEC_LAYOUT_RS] = "rs",
		[FEC_LAYOUT_RS_544] = "rs-544",
	};
	const struct detail_row *speeds = port_details_row(details, port->port, DETAIL_EXTENDED_SPEEDS);

	cells_ber(result, first + PORT_DETAILS_EFFECTIVE, first + PORT_DETAILS_EFFECTIVE_BELOW,
		  &port->ber[VIEW_BER_EFFECTIVE]);
	cells_ber(result, first + PORT_DETAILS_RAW, first + PORT_DETAILS_RAW_BELOW, &port->ber[VIEW_BER_RAW]);
	if (speeds && speeds->reading.layout < sizeof(layouts) / sizeof(layouts[0]))
		result_text(result, first + PORT_DETAILS_FEC, layouts[speeds->reading.layout]);
	for (size_t i = PORT_DETAILS_READINGS; i < PORT_DETAILS_COLUMNS; i++)
		result_empty(result, first + i);
	for (int attribute = 0; attribute < DETAIL_ATTRIBUTE_COUNT; attribute++) {
		const struct detail_row *row = port_details_row(details, port->port, (enum detail_attribute)attribute);
		const char *name = detail_attribute_name((enum detail_attribute)attribute);

		if (!row)
			continue;
		fill_counters(result, first, row);
		if (row->sum.elapsed_us > 0)
			result_member(result, first + PORT_DETAILS_WINDOW, name, (uint64_t)row->sum.elapsed_us);
		/* Unknown if the clock was set back. */
		if (view->reference_us >= row->wall_us)
			result_member(result, first + PORT_DETAILS_AGE, name,
				      (uint64_t)(view->reference_us - row->wall_us));
	}
}
