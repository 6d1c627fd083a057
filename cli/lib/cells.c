/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/lib/cells.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/rate.h"
#include "base/text.h"
#include "fabric/fabric.h"
#include "fabric/names.h"
#include "fabric/planes.h"
#include "fabric/shape.h"
#include "facts/link.h"
#include "storage/reader.h"

#define NUMBER(member) offsetof(struct port_facts, member)

/* Keys in data, kind, flags, and place of the number. */
static const struct {
	const char *key, *peer_key;
	enum column_kind kind;
	unsigned flags;
	size_t number; /* in struct port_facts; 0: none */
} infos[CELL_COUNT] = {
	[CELL_TIME] = { "time", NULL, COLUMN_TIME, 0, 0 },
	[CELL_NAME] = { NULL, NULL, COLUMN_TEXT, COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL, 0 },
	[CELL_GUID] = { "node_guid", "peer_guid", COLUMN_GUID, 0, 0 },
	[CELL_NODE] = { "node", "peer", COLUMN_TEXT, 0, 0 },
	[CELL_PORT] = { "port", "peer_port", COLUMN_INTEGER, 0, 0 },
	[CELL_LID] = { "lid", "peer_lid", COLUMN_INTEGER, 0, 0 },
	[CELL_STATE] = { "state", "peer_state", COLUMN_TEXT, 0, 0 },
	[CELL_PHYS_STATE] = { "phys_state", "peer_phys_state", COLUMN_TEXT, 0, 0 },
	[CELL_LINK] = { NULL, NULL, COLUMN_TEXT, 0, 0 },
	[CELL_WIDTH] = { "width", NULL, COLUMN_TEXT, 0, 0 },
	[CELL_SPEED] = { "speed", NULL, COLUMN_TEXT, 0, 0 },
	[CELL_TIER] = { "tier", NULL, COLUMN_INTEGER, 0, 0 },
	[CELL_ROLE] = { "role", NULL, COLUMN_TEXT, 0, 0 },
	[CELL_RAIL] = { "rail", NULL, COLUMN_TEXT, 0, 0 },
	[CELL_CAGE] = { "cage", NULL, COLUMN_TEXT, 0, 0 },
	[CELL_PLANES] = { "planes", NULL, COLUMN_INTEGER, 0, 0 },
	[CELL_PLANES_RATE] = { "planes_rate_gbps", NULL, COLUMN_GBPS, 0, 0 },
	[CELL_PLANES_XMIT] = { "planes_xmit_bytes_per_s", NULL, COLUMN_RATE, 0, 0 },
	[CELL_PLANES_RCV] = { "planes_rcv_bytes_per_s", NULL, COLUMN_RATE, 0, 0 },
	[CELL_STATUS] = { "status", "peer_status", COLUMN_TEXT, 0, NUMBER(status) },
	[CELL_LINK_STATUS] = { "status", NULL, COLUMN_TEXT, 0, 0 },
	[CELL_XMIT] = { "xmit_bytes_per_s", "peer_xmit_bytes_per_s", COLUMN_RATE, 0, NUMBER(xmit_bytes_per_s) },
	[CELL_RCV] = { "rcv_bytes_per_s", "peer_rcv_bytes_per_s", COLUMN_RATE, 0, NUMBER(rcv_bytes_per_s) },
	[CELL_XMIT_PERCENT] = { "xmit_utilization_percent", "peer_xmit_utilization_percent", COLUMN_PERCENT, 0,
				NUMBER(xmit_percent) },
	[CELL_RCV_PERCENT] = { "rcv_utilization_percent", "peer_rcv_utilization_percent", COLUMN_PERCENT, 0,
			       NUMBER(rcv_percent) },
	[CELL_STALL] = { "stall_percent", "peer_stall_percent", COLUMN_PERCENT, 0, NUMBER(stall_percent) },
	[CELL_XMIT_WAIT] = { "xmit_wait_ticks_per_s", NULL, COLUMN_PER_S, 0, NUMBER(wait_ticks_per_s) },
	[CELL_XMIT_PACKETS] = { "xmit_packets_per_s", NULL, COLUMN_PER_S, 0, NUMBER(xmit_packets_per_s) },
	[CELL_RCV_PACKETS] = { "rcv_packets_per_s", NULL, COLUMN_PER_S, 0, NUMBER(rcv_packets_per_s) },
	[CELL_RATE] = { "rate_gbps", NULL, COLUMN_GBPS, 0, NUMBER(rate_gbps) },
	[CELL_ERRORS] = { "errors", "peer_errors", COLUMN_OBJECT, COLUMN_OMIT_ZERO | COLUMN_FLEXIBLE, NUMBER(errors) },
	[CELL_ERRORS_UNKNOWN] = { "errors_unknown", "peer_errors_unknown", COLUMN_LIST, 0, 0 },
	[CELL_WINDOW] = { "window_s", NULL, COLUMN_SPAN_S, 0, NUMBER(window_s) },
	[CELL_AGE] = { "age_s", "peer_age_s", COLUMN_SPAN_S, 0, NUMBER(age_s) },
	[CELL_COUNTERS] = { "counters", NULL, COLUMN_OBJECT, 0, 0 },
	[CELL_SYMBOL_BER] = { "symbol_ber", NULL, COLUMN_REAL, 0, NUMBER(ber[PORT_BER_SYMBOL].rate) },
	[CELL_SYMBOL_BER_BELOW] = { "symbol_ber_below", NULL, COLUMN_REAL, 0, 0 },
	[CELL_BER_AT_LEAST] = { "ber_at_least", NULL, COLUMN_LIST, 0, 0 },
	[CELL_EFFECTIVE_BER] = { "effective_ber", NULL, COLUMN_REAL, 0, NUMBER(ber[PORT_BER_EFFECTIVE].rate) },
	[CELL_LOAD] = { "load", NULL, COLUMN_RATE, 0, NUMBER(xmit_bytes_per_s) },
	[CELL_UTIL] = { "util", NULL, COLUMN_PERCENT, 0, NUMBER(xmit_percent) },
	[CELL_RAW_BER] = { "raw_ber", NULL, COLUMN_REAL, 0, NUMBER(ber[PORT_BER_RAW].rate) },
};

void cells_init(struct cells *cells, const struct cell_column *list, size_t count)
{
	*cells = (struct cells){ .list = list, .count = count };
	for (int counter = 0; counter < COUNTER_COUNT; counter++)
		cells->keys[counter] = counter_info((enum counter)counter)->key;
	for (size_t i = 0; i < count; i++) {
		enum port_cell cell = list[i].cell;
		struct column *column = &cells->columns[i];

		*column = list[i].own;
		if (cell == CELL_OWN)
			continue;
		column->key = list[i].key ? list[i].key : list[i].peer ? infos[cell].peer_key : infos[cell].key;
		column->title = list[i].title;
		column->kind = infos[cell].kind;
		column->flags = infos[cell].flags;
		column->priority = list[i].priority;
		if (cell == CELL_ERRORS || cell == CELL_COUNTERS) {
			size_t first = cell == CELL_ERRORS ? COUNTER_TRAFFIC_COUNT : 0;

			column->members = cells->keys + first;
			column->member_count = COUNTER_COUNT - first;
		}
	}
}

const char *cells_sort_key(enum port_cell cell)
{
	return infos[cell].number ? infos[cell].key : NULL;
}

double cells_number(enum port_cell cell, const struct port_facts *port)
{
	double value = NAN;

	if (cell == CELL_STATUS)
		return (double)port->status;
	/* fmax() ignores an unknown value. */
	if (cell == CELL_LOAD)
		return fmax(port->xmit_bytes_per_s, port->rcv_bytes_per_s);
	if (cell == CELL_UTIL)
		return fmax(port->xmit_percent, port->rcv_percent);
	if (infos[cell].number)
		memcpy(&value, (const char *)port + infos[cell].number, sizeof(value));
	return value;
}

void cells_nonzero(struct result *result, size_t column, int64_t value)
{
	if (value)
		result_integer(result, column, value);
}

void cells_identity(struct result *result, size_t guid_column, uint64_t guid, const char *name, uint8_t num)
{
	result_unsigned(result, guid_column, guid);
	result_text(result, guid_column + 1, name);
	cells_nonzero(result, guid_column + 2, num);
}

void cells_port(struct result *result, size_t guid_column, const struct fabric *fabric, uint32_t port)
{
	const struct node *node = &fabric->nodes[fabric->ports[port].node];

	cells_identity(result, guid_column, node->guid, node->name, 0);
	result_integer(result, guid_column + 2, fabric->ports[port].num);
}

void cells_port_name(struct result *result, size_t column, const struct view *view, uint32_t port)
{
	char name[PORT_NAME_SIZE];

	order_port_name(&view->names_shown, view->fabric, port, name);
	result_text(result, column, name);
}

/* An estimate. */
static void fill_stall(struct result *result, size_t column, const struct port_facts *port)
{
	result_real(result, column, port->stall_percent);
	if (port->stall_at_least)
		result_at_least(result, column);
}

void cells_displayed_name(struct result *result, size_t column, const char *name, int num)
{
	char shown[PORT_NAME_SIZE];
	size_t len = strlen(name) < NODE_NAME_SIZE ? names_short(name, shown) - 1 : 0;

	if (!len)
		return;
	if (num >= 0)
		snprintf(shown + len, sizeof(shown) - len, "/%d", num);
	result_text(result, column, shown);
}

void cells_status(struct result *result, size_t column, enum port_status status)
{
	static const enum cell_style styles[STATUS_COUNT] = {
		[STATUS_OK] = STYLE_PLAIN,        [STATUS_IDLE] = STYLE_DIM,         [STATUS_UNPLANNED] = STYLE_DIM,
		[STATUS_MIRRORED] = STYLE_PLAIN,   [STATUS_NEW] = STYLE_DIM,          [STATUS_INIT] = STYLE_WARNING,
		[STATUS_UNFINISHED] = STYLE_DIM,  [STATUS_LOCKED] = STYLE_WARNING,   [STATUS_SILENT] = STYLE_CRITICAL,
		[STATUS_UNSUPPORTED] = STYLE_DIM, [STATUS_DOWN] = STYLE_WARNING,
	};

	result_text(result, column, port_status_name(status));
	result_show(result, column, NULL, styles[status]);
}

static void fill_link(struct result *result, size_t column, const struct view *view, uint32_t index)
{
	const struct port *port = &view->fabric->ports[index];
	bool degraded = link_is_degraded(view->fabric, view->shape, index);
	char link[LINK_TEXT_SIZE];

	if (!*link_text(port, false, link))
		return;
	result_text(result, column, link);
	if (degraded)
		result_show(result, column, link_text(port, true, link), STYLE_WARNING);
}

static bool ber_is_known(const struct ber *ber)
{
	return !isnan(ber->rate) && (ber->rate > 0 || !ber->at_least);
}

void cells_ber(struct result *result, size_t column, size_t below_column, const struct ber *ber)
{
	result_real(result, column, ber_is_known(ber) ? ber->rate : NAN);
	result_real(result, below_column, ber_below(ber));
}

const char *cells_ber_text(const struct ber *ber, char ret[CELLS_BER_SIZE])
{
	double below = ber_below(ber);

	if (!ber_is_known(ber))
		return NULL;
	if (isnan(below))
		snprintf(ret, CELLS_BER_SIZE, "%s%.1e", ber->at_least ? ">= " : "", ber->rate);
	else
		snprintf(ret, CELLS_BER_SIZE, "< %.1e", below);
	return ret;
}

static void fill_ber_at_least(struct result *result, size_t column, const struct port_facts *port)
{
	result_empty(result, column);
	for (int which = 0; which < PORT_BER_COUNT; which++)
		if (ber_is_known(&port->ber[which]) && port->ber[which].at_least)
			result_item(result, column, "%s", port_ber_key((enum port_ber)which));
}

/* Table text: counts, a dash if unknown. */
static void show_errors(struct result *result, size_t column, const struct delta *sum, const struct port_facts *port)
{
	struct text shown = { 0 };

	if (errors_append(&shown, "", port->errors_known, sum->saturated, sum->value + COUNTER_TRAFFIC_COUNT))
		result_show(result, column, result_chars(result, &shown), STYLE_WARNING);
	else
		result_show(result, column, port->errors_known ? "0" : "-", STYLE_DIM);
	text_done(&shown);
}

/* The members of @set, with their deltas or absolute values. */
static void fill_members(struct result *result, size_t column, counter_set set, const uint64_t *values)
{
	result_empty(result, column);
	for (int counter = 0; counter < COUNTER_COUNT; counter++)
		if (set & COUNTER_BIT(counter))
			result_member(result, column, counter_info((enum counter)counter)->key, values[counter]);
}

static void fill_errors_unknown(struct result *result, size_t column, const struct port_facts *port)
{
	result_empty(result, column);
	for (int counter = COUNTER_TRAFFIC_COUNT; counter < COUNTER_COUNT; counter++)
		if (port->errors_unknown & COUNTER_BIT(counter))
			result_item(result, column, "%s", counter_info((enum counter)counter)->key);
}

static void fill_state(struct result *result, size_t column, const struct port *port)
{
	result_text(result, column, port_state_name(port->state));
	if (port->state != PORT_ACTIVE)
		result_show(result, column, NULL, port->state == PORT_DOWN ? STYLE_DIM : STYLE_WARNING);
}

static void fill_identity(struct result *result, size_t column, enum port_cell cell, const struct view *view,
			  uint32_t index)
{
	const struct port *port = &view->fabric->ports[index];
	const struct node *node = &view->fabric->nodes[port->node];
	unsigned lid = fabric_port_lid(view->fabric, port), lanes = link_width_lanes(port->width);
	char width[16];

	switch (cell) {
	case CELL_TIME:
		result_integer(result, column, view->snapshot->sweep.wall_us);
		break;
	case CELL_NAME:
		cells_port_name(result, column, view, index);
		break;
	case CELL_GUID:
		result_unsigned(result, column, node->guid);
		break;
	case CELL_NODE:
		result_text(result, column, node->name);
		break;
	case CELL_PORT:
		result_integer(result, column, port->num);
		break;
	case CELL_LID:
		cells_nonzero(result, column, lid);
		break;
	case CELL_STATE:
		fill_state(result, column, port);
		break;
	case CELL_PHYS_STATE:
		result_text(result, column, port_phys_state_name(port->phys_state));
		break;
	case CELL_LINK:
		fill_link(result, column, view, index);
		break;
	case CELL_WIDTH:
		snprintf(width, sizeof(width), "%ux", lanes);
		result_text(result, column, lanes ? width : NULL);
		break;
	default:
		if (port->speed != LINK_SPEED_NONE)
			result_text(result, column, link_speed_name((enum link_speed)port->speed));
	}
}

struct plane_sum cells_sum_planes(const struct view *view, uint32_t port)
{
	struct plane_sum sum = { 0 };

	for (port = port_first_plane(view->fabric, port); port != FABRIC_NONE;
	     port = port_next_plane(view->fabric, port)) {
		struct port_facts plane;

		view_port_facts(view, port, &plane);
		plane_sum_add(&sum, &view->fabric->ports[port], plane.xmit_bytes_per_s, plane.rcv_bytes_per_s);
	}
	return sum;
}

static void fill_planes(struct result *result, size_t column, enum port_cell cell, const struct view *view,
			uint32_t port)
{
	struct plane_sum sum;

	if (!port_is_plane(view->fabric, port))
		return;
	sum = cells_sum_planes(view, port);
	if (cell == CELL_PLANES)
		result_integer(result, column, sum.planes);
	else if (cell == CELL_PLANES_RATE)
		result_real(result, column, (double)sum.bits_per_s / 1e9);
	else
		result_real(result, column, cell == CELL_PLANES_XMIT ? sum.xmit_bytes_per_s : sum.rcv_bytes_per_s);
}

static void fill_place(struct result *result, size_t column, enum port_cell cell, const struct shape *shape,
		       uint32_t index)
{
	const struct shape_port *place = &shape->ports[index];
	char role[SHAPE_ROLE_SIZE], cage[16];

	switch (cell) {
	case CELL_TIER:
		cells_nonzero(result, column, shape_port_tier(shape, index));
		break;
	case CELL_ROLE:
		result_text(result, column, shape_port_role(shape, index, role));
		break;
	case CELL_RAIL:
		if (place->rail != SHAPE_NONE)
			result_text(result, column, shape->rails[place->rail].name);
		break;
	default:
		snprintf(cage, sizeof(cage), "%u.%u", place->cage, place->split);
		if (!place->split)
			*strchr(cage, '.') = '\0';
		result_text(result, column, place->cage ? cage : NULL);
	}
}

static void fill_number(struct result *result, size_t column, enum port_cell cell, const struct view *view,
			const struct port_facts *port)
{
	const struct port_row *row = &view->snapshot->rows[port->port];

	switch (cell) {
	case CELL_STATUS:
		cells_status(result, column, port->status);
		break;
	case CELL_STALL:
		fill_stall(result, column, port);
		break;
	case CELL_ERRORS:
		/* Always an object; errors_unknown lists the missing counters. */
		fill_members(result, column, port->errors_known, row->sum.value);
		show_errors(result, column, &row->sum, port);
		break;
	case CELL_ERRORS_UNKNOWN:
		fill_errors_unknown(result, column, port);
		break;
	case CELL_COUNTERS:
		fill_members(result, column, row->reading ? row->reading->present : 0,
			     row->reading ? row->reading->value : NULL);
		break;
	case CELL_SYMBOL_BER:
		cells_ber(result, column, column + 1, &port->ber[PORT_BER_SYMBOL]);
		break;
	case CELL_SYMBOL_BER_BELOW:
		break;
	case CELL_BER_AT_LEAST:
		fill_ber_at_least(result, column, port);
		break;
	default:
		result_real(result, column, cells_number(cell, port));
	}
	if ((cell == CELL_XMIT || cell == CELL_RCV) &&
	    (port->status == STATUS_IDLE || isnan(cells_number(cell, port))))
		result_show(result, column, NULL, STYLE_DIM);
}

void cells_fill(const struct cells *cells, struct result *result, const struct view *view,
		const struct port_facts *port)
{
	uint32_t index = view->fabric->ports[port->port].peer;
	struct port_facts peer = { .port = index };
	bool viewed = index == FABRIC_NONE;

	for (size_t i = 0; i < cells->count; i++) {
		const struct port_facts *end = cells->list[i].peer ? &peer : port;
		enum port_cell cell = cells->list[i].cell;

		if (cell == CELL_OWN || end->port == FABRIC_NONE || !result_has(result, i))
			continue;
		/* Most columns of the other end are its identity. */
		if (!viewed && cell >= CELL_STATUS && (end == &peer || cell == CELL_LINK_STATUS)) {
			view_port_facts(view, index, &peer);
			viewed = true;
		}
		if (cell == CELL_LINK_STATUS)
			cells_status(result, i, port_status_worse(port->status, peer.status));
		else if (cell <= CELL_SPEED)
			fill_identity(result, i, cell, view, end->port);
		else if (cell >= CELL_STATUS)
			fill_number(result, i, cell, view, end);
		else if (cell >= CELL_PLANES)
			fill_planes(result, i, cell, view, end->port);
		else if (view->shape)
			fill_place(result, i, cell, view->shape, end->port);
	}
}
