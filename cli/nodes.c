/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* nodes.c - `ibwire nodes`: one row per node */
#include <math.h>
#include <stdlib.h>

#include "analysis/balance.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/map.h"
#include "base/text.h"
#include "facts/cells.h"
#include "cli/command.h"
#include "cli/lib/event_state.h"
#include "cli/lib/options.h"
#include "cli/lib/settings.h"
#include "cli/lib/view.h"
#include "fabric/device.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"
#include "facts/selection.h"
#include "storage/reader.h"

enum {
	TIME, NAME, TYPE, CLASS, TIER, HOST, RAILS, GUID, SYSTEM_GUID, LID, LIDS, PORTS, PORTS_ACTIVE,
	STATUS, XMIT, RCV, ERRORS, MODEL, VENDOR, DEVICE, REVISION, ADAPTIVE, DESCRIPTION, AGE, COLUMN_COUNT,
};

static const struct column node_columns[COLUMN_COUNT] = {
	[TIME] = { .key = "time", .kind = COLUMN_TIME },
	[NAME] = { .key = "node", .title = "NODE", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL },
	[TYPE] = { .key = "type", .kind = COLUMN_TEXT },
	[CLASS] = { .key = "class", .title = "CLASS", .kind = COLUMN_TEXT, .priority = 1 },
	[TIER] = { .key = "tier", .title = "TIER", .kind = COLUMN_INTEGER, .priority = 6 },
	[HOST] = { .key = "host", .kind = COLUMN_TEXT },
	[RAILS] = { .key = "rails", .kind = COLUMN_LIST },
	[GUID] = { .key = "node_guid", .title = "GUID", .kind = COLUMN_GUID, .priority = 5 },
	[SYSTEM_GUID] = { .key = "system_guid", .kind = COLUMN_GUID },
	[LID] = { .key = "lid", .title = "LID", .kind = COLUMN_INTEGER, .priority = 4 },
	[LIDS] = { .key = "lids", .kind = COLUMN_LIST },
	[PORTS] = { .key = "port_count", .title = "PORTS", .kind = COLUMN_INTEGER },
	[PORTS_ACTIVE] = { .key = "ports_active", .title = "ACTIVE", .kind = COLUMN_INTEGER },
	[STATUS] = { .key = "status", .title = "STATUS", .kind = COLUMN_TEXT },
	[XMIT] = { .key = "xmit_bytes_per_s", .title = "TX", .kind = COLUMN_RATE, .priority = 2 },
	[RCV] = { .key = "rcv_bytes_per_s", .title = "RX", .kind = COLUMN_RATE, .priority = 2 },
	[ERRORS] = { .key = "errors", .title = "ERRORS", .kind = COLUMN_INTEGER, .priority = 3 },
	[MODEL] = { .key = "model", .title = "MODEL", .kind = COLUMN_TEXT, .priority = 3 },
	[VENDOR] = { .key = "vendor_id", .kind = COLUMN_HEX },
	[DEVICE] = { .key = "device_id", .kind = COLUMN_INTEGER },
	[REVISION] = { .key = "revision", .kind = COLUMN_HEX },
	[ADAPTIVE] = { .key = "adaptive_routing", .kind = COLUMN_TEXT },
	[DESCRIPTION] = { .key = "description", .kind = COLUMN_TEXT },
	[AGE] = { .key = "age_s", .kind = COLUMN_SPAN_S },
};

/* Sums over the ports of a node. */
struct node_view {
	uint32_t pollable, active;
	uint32_t by_status[STATUS_COUNT];
	double xmit_bytes_per_s, rcv_bytes_per_s; /* sum over the ports with a known value; NAN: none */
	uint64_t errors;
	bool errors_known;
	double age_s; /* age of the newest reading */
};

static void node_view_init(const struct view *view, const struct map *locked, const struct node *node,
			   struct node_view *ret)
{
	const struct port_scope scope = view_scope(view);
	uint32_t is_locked = 0;

	*ret = (struct node_view){ .xmit_bytes_per_s = NAN, .rcv_bytes_per_s = NAN, .age_s = NAN };
	for (uint32_t i = node->first_port; i < node->first_port + node->ports; i++) {
		const struct port *port = &view->fabric->ports[i];
		struct port_facts one;

		if (!port_is_pollable(view->fabric, port))
			continue;
		port_facts_of(&scope, i, &one);
		ret->pollable++;
		ret->active += port->num > 0 && port->state == PORT_ACTIVE;
		ret->by_status[one.status]++;
		ret->xmit_bytes_per_s = facts_sum(ret->xmit_bytes_per_s, one.xmit_bytes_per_s);
		ret->rcv_bytes_per_s = facts_sum(ret->rcv_bytes_per_s, one.rcv_bytes_per_s);
		ret->errors += one.errors_known ? (uint64_t)one.errors : 0;
		ret->errors_known |= one.errors_known != 0;
		if (!isnan(one.age_s) && !(one.age_s >= ret->age_s))
			ret->age_s = one.age_s;
	}
	if (map_get(locked, node->guid, &is_locked) && is_locked)
		ret->by_status[STATUS_LOCKED]++;
}

/*
 * Status of a node: that of its linked ports; if they differ, the worst, where "ok" and "idle"
 * together are "ok". A node that does not respond to SMPs counts as a "locked" port.
 */
static enum port_status node_status(const struct node_view *node)
{
	for (int status = STATUS_SILENT; status >= STATUS_NEW; status--)
		if (node->by_status[status])
			return (enum port_status)status;
	if (node->by_status[STATUS_OK])
		return STATUS_OK;
	return node->by_status[STATUS_IDLE] ? STATUS_IDLE : STATUS_DOWN;
}

/* Class, tier and rail of a node. */
static void fill_place(struct result *result, const struct shape *shape, uint32_t index)
{
	const struct node *node = &shape->fabric->nodes[index];
	const struct shape_node *found = &shape->nodes[index];

	result_text(result, CLASS, node_class_name(found->class));
	if (found->tier)
		result_integer(result, TIER, found->tier);
	else if (node->type != NODE_SWITCH)
		result_show(result, TIER, "", STYLE_PLAIN);
	if (found->host != SHAPE_NONE)
		result_text(result, HOST, shape->hosts[found->host].name);
	if (node->type == NODE_SWITCH)
		return;
	result_empty(result, RAILS);
	for (uint32_t i = node->first_port; i < node->first_port + node->ports; i++)
		if (shape->ports[i].rail != SHAPE_NONE)
			result_item(result, RAILS, "%s", shape->rails[shape->ports[i].rail].name);
}

static void add_lid(struct result *result, uint16_t lid, bool first)
{
	if (first && lid)
		result_integer(result, LID, lid);
	if (lid)
		result_item(result, LIDS, "%u", lid);
}

static void fill_lids(struct result *result, const struct fabric *fabric, const struct node *node)
{
	bool first = true;

	result_empty(result, LIDS);
	if (node->type == NODE_SWITCH) {
		add_lid(result, node->lid, true);
		return;
	}
	for (uint32_t i = node->first_port; i < node->first_port + node->ports; i++) {
		add_lid(result, fabric->ports[i].lid, first);
		first = first && !fabric->ports[i].lid;
	}
}

static void put_row(struct result *result, const struct view *view, const struct map *locked, const struct node *node,
		    enum adaptive_routing adaptive)
{
	char description[NODE_NAME_SIZE], buffer[DEVICE_MODEL_SIZE];
	const char *model = device_model(node, buffer);
	struct node_view sum;

	node_view_init(view, locked, node, &sum);
	text_sanitise(node->desc, sizeof(node->desc), description, sizeof(description));
	result_integer(result, TIME, view->snapshot->sweep.wall_us);
	result_text(result, NAME, node->name);
	result_show(result, NAME, view->names_shown.names[node - view->fabric->nodes], STYLE_PLAIN);
	result_text(result, TYPE, node_type_name(node->type));
	fill_place(result, view->shape, (uint32_t)(node - view->fabric->nodes));
	result_unsigned(result, GUID, node->guid);
	result_unsigned(result, SYSTEM_GUID, node->system_guid);
	fill_lids(result, view->fabric, node);
	result_integer(result, PORTS, node->port_count);
	result_integer(result, PORTS_ACTIVE, sum.active);
	cells_status(result, STATUS, node_status(&sum));
	result_real(result, XMIT, sum.xmit_bytes_per_s);
	result_real(result, RCV, sum.rcv_bytes_per_s);
	if (sum.errors_known)
		result_unsigned(result, ERRORS, sum.errors);
	if (sum.errors)
		result_show(result, ERRORS, NULL, STYLE_WARNING);
	result_text(result, MODEL, model);
	/* To be looked up in pci.ids. */
	if (!model)
		result_showf(result, MODEL, STYLE_DIM, "%#x:%#x", node->vendor_id, node->device_id);
	result_unsigned(result, VENDOR, node->vendor_id);
	result_unsigned(result, DEVICE, node->device_id);
	result_unsigned(result, REVISION, node->revision);
	if (adaptive != ADAPTIVE_UNKNOWN)
		result_text(result, ADAPTIVE, balance_adaptive_name(adaptive));
	result_text(result, DESCRIPTION, description);
	result_real(result, AGE, sum.age_s);
	result_end_row(result);
}

static int show(const struct options *options, const struct view *view, const struct map *locked, struct error *err)
{
	struct selection selection;
	struct result *result;
	uint8_t *adaptive = NULL;
	int code = view_select(view, options->argv, options->argc, &selection, err);

	if (code < 0)
		return code;
	code = balance_adaptive_create(&view->settings->shape, view->fabric, &adaptive, err);
	if (code == 0) {
		result = output_begin(options, false, node_columns, COLUMN_COUNT);
		for (size_t i = 0; i < view->fabric->node_count; i++)
			if (selection_has_node(&selection, view->nodes[i]))
				put_row(result, view, locked, &view->fabric->nodes[view->nodes[i]],
					adaptive ? adaptive[view->nodes[i]] : ADAPTIVE_UNKNOWN);
		result_none(result, "the fabric has no node");
		code = output_end(result, 0, err);
	}
	free(adaptive);
	selection_done(&selection);
	return code;
}

int nodes_run(const struct command *command, int argc, char **argv, struct error *err)
{
	struct map locked = { 0 };
	struct options options;
	struct view view;
	int code = options_parse(command, COMMON_SHOW | COMMON_AT | COMMON_WINDOW, NULL, argc, argv, &options, err);

	if (code)
		return code < 0 ? code : 0;
	code = view_open(&options, false, &view, err);
	if (code < 0)
		return code;
	code = view_find_shape(&view, err);
	if (code == 0)
		code = locked_load(view.reader, view.snapshot->sweep.wall_us, &locked, err);
	if (code == 0)
		code = show(&options, &view, &locked, err);
	map_done(&locked);
	view_done(&view);
	return code;
}
