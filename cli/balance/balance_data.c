/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* balance_data.c - groups as JSON and CSV: one row per member with the columns of its group */
#include <math.h>

#include "cli/balance/balance.h"
#include "facts/cells.h"
#include "export/result.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"

enum {
	SINCE, TIME, NODE_GUID, NODE, GROUP, TIER, TO_GUID, TO, DIRECTION, STATE, CAUSE, T, M, H, ADAPTIVE, BEGAN,
	BEGAN_EARLIER, EXCESS, TABLE_EXCESS, MEAN, MOST, FLOWS, CHANCE, LINKS, BUILT, PORT, PEER_GUID, PEER, PEER_PORT,
	WORKS, HOTTEST, MEASURED, PREDICTED, FAIR, DESTINATIONS, LIDS, UTILIZATION, STALL, DISCARDS, COLUMN_COUNT,
};

static const struct column columns[COLUMN_COUNT] = {
	[SINCE] = { .key = "window_since", .kind = COLUMN_TIME },
	[TIME] = { .key = "time", .kind = COLUMN_TIME },
	[NODE_GUID] = { .key = "node_guid", .kind = COLUMN_GUID },
	[NODE] = { .key = "node", .kind = COLUMN_TEXT },
	[GROUP] = { .key = "group", .kind = COLUMN_TEXT },
	[TIER] = { .key = "tier", .kind = COLUMN_INTEGER },
	[TO_GUID] = { .key = "group_peer_guid", .kind = COLUMN_GUID },
	[TO] = { .key = "group_peer", .kind = COLUMN_TEXT },
	[DIRECTION] = { .key = "direction", .kind = COLUMN_TEXT },
	[STATE] = { .key = "state", .kind = COLUMN_TEXT },
	[CAUSE] = { .key = "cause", .kind = COLUMN_TEXT },
	[T] = { .key = "tables_uneven", .kind = COLUMN_BOOL },
	[M] = { .key = "measured_uneven", .kind = COLUMN_BOOL },
	[H] = { .key = "harm", .kind = COLUMN_BOOL },
	[ADAPTIVE] = { .key = "adaptive_routing", .kind = COLUMN_TEXT },
	[BEGAN] = { .key = "uneven_since", .kind = COLUMN_TIME },
	[BEGAN_EARLIER] = { .key = "uneven_earlier", .kind = COLUMN_BOOL },
	[EXCESS] = { .key = "excess_percent", .kind = COLUMN_PERCENT },
	[TABLE_EXCESS] = { .key = "table_excess_percent", .kind = COLUMN_PERCENT },
	[MEAN] = { .key = "mean_utilization_percent", .kind = COLUMN_PERCENT },
	[MOST] = { .key = "max_utilization_percent", .kind = COLUMN_PERCENT },
	[FLOWS] = { .key = "flows_at_least", .kind = COLUMN_REAL },
	[CHANCE] = { .key = "chance_excess_percent", .kind = COLUMN_PERCENT },
	[LINKS] = { .key = "links", .kind = COLUMN_INTEGER },
	[BUILT] = { .key = "links_built", .kind = COLUMN_INTEGER },
	[PORT] = { .key = "port", .kind = COLUMN_INTEGER },
	CELLS_PEER_COLUMNS(PEER_GUID),
	[WORKS] = { .key = "active", .kind = COLUMN_BOOL },
	[HOTTEST] = { .key = "hottest", .kind = COLUMN_BOOL },
	[MEASURED] = { .key = "measured_share_percent", .kind = COLUMN_PERCENT },
	[PREDICTED] = { .key = "predicted_share_percent", .kind = COLUMN_PERCENT },
	[FAIR] = { .key = "capacity_share_percent", .kind = COLUMN_PERCENT },
	[DESTINATIONS] = { .key = "destinations_share_percent", .kind = COLUMN_PERCENT },
	[LIDS] = { .key = "destinations", .kind = COLUMN_INTEGER },
	[UTILIZATION] = { .key = "utilization_percent", .kind = COLUMN_PERCENT },
	[STALL] = { .key = "stall_percent", .kind = COLUMN_PERCENT },
	[DISCARDS] = { .key = "xmit_discards", .kind = COLUMN_INTEGER },
};

static void put_group(const struct balance_report *report, struct result *table, size_t index)
{
	static const char *const states[] = { "unknown", "idle", "active" };
	static const char *const kinds[] = { "up", "down", "across" };
	const struct balance_result *result = &report->balance.results[index];
	const struct shape_group *group = balance_group_of(report, result);
	const struct fabric *fabric = report->view.fabric;
	bool measured = result->state != BALANCE_UNKNOWN;

	result_integer(table, SINCE, report->since_us);
	result_integer(table, TIME, report->until_us);
	result_unsigned(table, NODE_GUID, fabric->nodes[group->node].guid);
	result_text(table, NODE, fabric->nodes[group->node].name);
	result_text(table, GROUP, kinds[group->kind]);
	result_integer(table, TIER, group->tier);
	if (group->kind != GROUP_UP) {
		result_unsigned(table, TO_GUID, fabric->nodes[group->peer].guid);
		result_text(table, TO, fabric->nodes[group->peer].name);
	}
	result_text(table, DIRECTION, result->direction == BALANCE_XMIT ? "xmit" : "rcv");
	result_text(table, STATE, states[result->state]);
	result_text(table, CAUSE, balance_cause_name(result->cause));
	if (result->tables_known)
		result_bool(table, T, result->tables_uneven);
	if (measured)
		result_bool(table, M, result->load_uneven);
	if (measured)
		result_bool(table, H, result->harmful);
	result_text(table, ADAPTIVE, balance_adaptive_name(result->adaptive));
	if (report->began[index].wall_us) {
		result_integer(table, BEGAN, report->began[index].wall_us);
		result_bool(table, BEGAN_EARLIER, report->began[index].earlier);
	}
	result_real(table, EXCESS, 100 * result->excess);
	result_real(table, TABLE_EXCESS, 100 * result->table_excess);
	result_real(table, MEAN, 100 * result->mean_utilization);
	result_real(table, MOST, 100 * result->max_utilization);
	result_real(table, FLOWS, result->flows);
	result_real(table, CHANCE, 100 * result->chance_excess);
	result_integer(table, LINKS, group->count);
	result_integer(table, BUILT, group->built);
}

static void put_member(const struct balance_report *report, struct result *table, size_t index, uint32_t nth)
{
	const struct balance_result *result = &report->balance.results[index];
	const struct balance_member *member = &result->members[nth];
	const struct fabric *fabric = report->view.fabric;
	const struct port *port = &fabric->ports[member->port];

	put_group(report, table, index);
	result_integer(table, PORT, port->num);
	if (port->peer != FABRIC_NONE)
		cells_port(table, PEER_GUID, fabric, port->peer);
	result_bool(table, WORKS, member->works);
	result_bool(table, HOTTEST, nth == result->hottest);
	result_real(table, MEASURED, 100 * member->measured);
	result_real(table, PREDICTED, 100 * member->predicted);
	result_real(table, FAIR, 100 * member->capacity);
	result_real(table, DESTINATIONS, 100 * member->destinations);
	if (result->tables_known && member->works)
		result_integer(table, LIDS, member->lids);
	result_real(table, UTILIZATION, 100 * member->utilization);
	result_real(table, STALL, 100 * member->stall);
	if (!isnan(member->xmit_discards))
		result_integer(table, DISCARDS, (int64_t)member->xmit_discards);
	result_end_row(table);
}

int balance_data(const struct balance_report *report, struct error *err)
{
	struct result *table = output_begin(&report->options, false, columns, COLUMN_COUNT);

	for (size_t i = 0; i < report->shown_count; i++) {
		uint32_t count = balance_group_of(report, &report->balance.results[report->shown[i]])->count;

		for (uint32_t j = 0; j < count; j++)
			put_member(report, table, report->shown[i], j);
	}
	return output_end(table, 0, err);
}
