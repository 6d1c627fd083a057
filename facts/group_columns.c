/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "facts/group_columns.h"

#include <math.h>

#include "analysis/balance.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"

static const struct balance_result *result_of(const void *row)
{
	return ((const struct group_facts *)row)->result;
}

static const struct shape_group *group_of(const void *row)
{
	return ((const struct group_facts *)row)->group;
}

static const struct balance_member *member_of(const void *row)
{
	return &result_of(row)->members[((const struct group_facts *)row)->nth];
}

static const struct port *port_of(const void *row)
{
	return &((const struct group_facts *)row)->fabric->ports[member_of(row)->port];
}

/* A function that reads a number of a row. */
#define NUMBER(name, expression) static double name(const void *row) { return (double)(expression); }

NUMBER(number_table_excess, 100 * result_of(row)->table_excess)
NUMBER(number_flows, result_of(row)->flows)
NUMBER(number_chance, 100 * result_of(row)->chance_excess)
NUMBER(number_port, port_of(row)->num)
NUMBER(number_predicted, 100 * member_of(row)->predicted)
NUMBER(number_capacity, 100 * member_of(row)->capacity)
NUMBER(number_destinations, 100 * member_of(row)->destinations)
NUMBER(number_lids, result_of(row)->tables_known && member_of(row)->works ? member_of(row)->lids : NAN)
NUMBER(number_utilization, 100 * member_of(row)->utilization)

static struct measure measure_share(const void *row)
{
	return measure_scale(balance_share(result_of(row), member_of(row)), 100);
}

static struct measure measure_excess(const void *row)
{
	return measure_scale(balance_excess(result_of(row)), 100);
}

static struct measure measure_mean_utilization(const void *row)
{
	return measure_scale(balance_mean(result_of(row)), 100);
}

static struct measure measure_max_utilization(const void *row)
{
	return measure_scale(balance_max(result_of(row)), 100);
}

static struct measure measure_stall(const void *row)
{
	return measure_of(100 * member_of(row)->stall, !member_of(row)->stall_at_least);
}

static struct measure measure_discards(const void *row)
{
	return measure_of(member_of(row)->xmit_discards, !member_of(row)->discards_at_least);
}

static double number_peer_port(const void *row)
{
	uint32_t peer = port_of(row)->peer;

	return peer == FABRIC_NONE ? NAN : ((const struct group_facts *)row)->fabric->ports[peer].num;
}

/* The nodes of a group: its own, the one at the other end of all its links, the one of the member's link. */
enum { OWN, GROUP_PEER, MEMBER_PEER };

static const struct node *node_of(const struct group_facts *facts, int which)
{
	uint32_t peer = port_of(facts)->peer;

	if (which == OWN)
		return &facts->fabric->nodes[facts->group->node];
	if (which == GROUP_PEER)
		return facts->group->kind != GROUP_UP ? &facts->fabric->nodes[facts->group->peer] : NULL;
	return peer != FABRIC_NONE ? &facts->fabric->nodes[facts->fabric->ports[peer].node] : NULL;
}

static void fill_guid(struct result *result, size_t at, const void *row)
{
	const struct node *node = node_of(row, result_column(result, at)->which);

	if (node)
		result_unsigned(result, at, node->guid);
}

static void fill_node(struct result *result, size_t at, const void *row)
{
	const struct node *node = node_of(row, result_column(result, at)->which);

	if (node)
		result_text(result, at, node->name);
}

enum { GROUP_KIND, DIRECTION, STATE, CAUSE, ADAPTIVE };

static void fill_word(struct result *result, size_t at, const void *row)
{
	static const char *const states[] = { "unknown", "idle", "active" };
	static const char *const kinds[] = { "up", "down", "across" };
	int which = result_column(result, at)->which;

	result_text(result, at,
		    which == GROUP_KIND ? kinds[group_of(row)->kind] :
		    which == DIRECTION  ? result_of(row)->direction == BALANCE_XMIT ? "xmit" : "rcv" :
		    which == STATE      ? states[result_of(row)->state] :
		    which == CAUSE      ? balance_cause_name(result_of(row)->cause) :
					  balance_adaptive_name(result_of(row)->adaptive));
}

enum { TABLES_UNEVEN, LOAD_UNEVEN, HARMFUL, INFERRED, UNEVEN_EARLIER, WORKS, HOTTEST };

static void fill_bool(struct result *result, size_t at, const void *row)
{
	int which = result_column(result, at)->which;
	const struct group_facts *facts = row;
	const struct balance_result *of = facts->result;

	if (which == TABLES_UNEVEN && of->tables_known)
		result_bool(result, at, of->tables_uneven);
	if (which == LOAD_UNEVEN && of->state != BALANCE_UNKNOWN)
		result_bool(result, at, of->load_uneven);
	if (which == HARMFUL && of->state != BALANCE_UNKNOWN)
		result_bool(result, at, of->harmful);
	if (which == INFERRED && of->adaptive != ADAPTIVE_UNKNOWN)
		result_bool(result, at, of->adaptive_inferred);
	if (which == UNEVEN_EARLIER && facts->uneven_since_us)
		result_bool(result, at, facts->uneven_earlier);
	if (which == WORKS)
		result_bool(result, at, member_of(row)->works);
	if (which == HOTTEST)
		result_bool(result, at, facts->nth == of->hottest);
}

#define GROUP(member) COLUMN_MEMBER_AT(struct group_facts, group, struct shape_group, member)

const struct column group_columns[] = {
	{ .key = "window_since", .title = "SINCE", .kind = COLUMN_TIME, COLUMN_MEMBER(struct group_facts, since_us),
	  .help = "begin of the window" },
	{ .key = "time", .title = "TIME", .kind = COLUMN_TIME, COLUMN_MEMBER(struct group_facts, until_us),
	  .help = "end of the window" },
	{ .key = "node_guid", .title = "NODE GUID", .kind = COLUMN_GUID, .fill = fill_guid, .which = OWN,
	  .help = "GUID of the switch that the group belongs to" },
	{ .key = "node", .title = "NODE", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL,
	  .fill = fill_node,
	  .which = OWN, .help = "switch that the group belongs to" },
	{ .key = "group", .title = "GROUP", .kind = COLUMN_TEXT, .fill = fill_word, .which = GROUP_KIND,
	  .help = "up: uplinks; down, across: links to the switch group_peer" },
	{ .key = "tier", .title = "TIER", .kind = COLUMN_INTEGER, GROUP(tier),
	  .help = "tier of the switch: 1 is next to the hosts" },
	{ .key = "group_peer_guid", .title = "TO GUID", .kind = COLUMN_GUID, .fill = fill_guid, .which = GROUP_PEER,
	  .help = "GUID of the switch at the other end of the group" },
	{ .key = "group_peer", .title = "TO", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL,
	  .fill = fill_node,
	  .which = GROUP_PEER, .help = "switch at the other end of the group" },
	{ .key = "direction", .title = "DIRECTION", .kind = COLUMN_TEXT, .fill = fill_word, .which = DIRECTION,
	  .help = "xmit: sent by the switch; rcv: received" },
	{ .key = "state", .title = "STATE", .kind = COLUMN_TEXT, .fill = fill_word, .which = STATE,
	  .help = "active, idle or unknown" },
	{ .key = "cause", .title = "CAUSE", .kind = COLUMN_TEXT, .fill = fill_word, .which = CAUSE,
	  .help = "cause of the imbalance" },
	{ .key = "tables_uneven", .title = "TABLES", .kind = COLUMN_BOOL, .fill = fill_bool, .which = TABLES_UNEVEN,
	  .help = "whether the forwarding tables spread the load unevenly" },
	{ .key = "measured_uneven", .title = "LOAD", .kind = COLUMN_BOOL, .fill = fill_bool, .which = LOAD_UNEVEN,
	  .help = "whether the measured load is uneven" },
	{ .key = "harm", .title = "HARM", .kind = COLUMN_BOOL, .fill = fill_bool, .which = HARMFUL,
	  .help = "whether the hottest link is congested while others have capacity" },
	{ .key = "adaptive_routing", .title = "AR", .kind = COLUMN_TEXT, .fill = fill_word, .which = ADAPTIVE,
	  .help = "adaptive routing of the switch" },
	{ .key = "adaptive_inferred", .title = "INFERRED", .kind = COLUMN_BOOL, .fill = fill_bool,
	  .which = INFERRED, .help = "whether that is inferred from the load" },
	{ .key = "uneven_since", .title = "UNEVEN SINCE", .kind = COLUMN_TIME, .flags = COLUMN_NONZERO,
	  COLUMN_MEMBER(struct group_facts, uneven_since_us),
	  .help = "begin of the imbalance" },
	{ .key = "uneven_earlier", .title = "EARLIER", .kind = COLUMN_BOOL, .fill = fill_bool,
	  .which = UNEVEN_EARLIER, .help = "whether it began before uneven_since" },
	{ .key = "excess_percent", .title = "IMBALANCE%", .kind = COLUMN_PERCENT, .measure = measure_excess,
	  .help = "load of the hottest link above its fair share; a lower bound if some links are not exactly known" },
	{ .key = "table_excess_percent", .title = "TABLES%", .kind = COLUMN_PERCENT, .number = number_table_excess,
	  .help = "the same as predicted from the forwarding tables" },
	{ .key = "mean_utilization_percent", .title = "MEAN UTIL%", .kind = COLUMN_PERCENT,
	  .measure = measure_mean_utilization,
	  .help = "mean utilization of the links; a lower bound if some of them are not exactly known" },
	{ .key = "max_utilization_percent", .title = "MAX UTIL%", .kind = COLUMN_PERCENT,
	  .measure = measure_max_utilization, .help = "utilization of the hottest link; likewise" },
	{ .key = "flows_at_least", .title = "FLOWS", .kind = COLUMN_REAL, .number = number_flows,
	  .help = "lower bound of the number of flows" },
	{ .key = "chance_excess_percent", .title = "CHANCE%", .kind = COLUMN_PERCENT, .number = number_chance,
	  .help = "imbalance that is within chance for this number of flows" },
	{ .key = "links", .title = "LINKS", .kind = COLUMN_INTEGER, GROUP(count),
	  .help = "number of links of the group" },
	{ .key = "links_built", .title = "BUILT", .kind = COLUMN_INTEGER, GROUP(built),
	  .help = "number of links that it is built with" },
	{ .key = "port", .title = "PORT", .kind = COLUMN_INTEGER, .number = number_port,
	  .help = "port of the link at the switch" },
	{ .key = "peer_guid", .title = "PEER GUID", .kind = COLUMN_GUID, .fill = fill_guid, .which = MEMBER_PEER,
	  .help = "node GUID of the other end of the link" },
	{ .key = "peer", .title = "PEER", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL,
	  .fill = fill_node,
	  .which = MEMBER_PEER, .help = "node at the other end of the link" },
	{ .key = "peer_port", .title = "PEER PORT", .kind = COLUMN_INTEGER, .number = number_peer_port,
	  .help = "port at the other end of the link" },
	{ .key = "active", .title = "ACTIVE", .kind = COLUMN_BOOL, .fill = fill_bool, .which = WORKS,
	  .help = "whether the link is Active" },
	{ .key = "hottest", .title = "HOTTEST", .kind = COLUMN_BOOL, .fill = fill_bool, .which = HOTTEST,
	  .help = "whether it is the hottest link of the group" },
	{ .key = "measured_share_percent", .title = "MEASURED%", .kind = COLUMN_PERCENT, .measure = measure_share,
	  .help = "its share of the measured load" },
	{ .key = "predicted_share_percent", .title = "PREDICTED%", .kind = COLUMN_PERCENT,
	  .number = number_predicted, .help = "its share as predicted from the forwarding tables" },
	{ .key = "capacity_share_percent", .title = "FAIR%", .kind = COLUMN_PERCENT, .number = number_capacity,
	  .help = "its share of the data rate of the group" },
	{ .key = "destinations_share_percent", .title = "LIDS%", .kind = COLUMN_PERCENT,
	  .number = number_destinations, .help = "its share of the LIDs" },
	{ .key = "destinations", .title = "LIDS", .kind = COLUMN_INTEGER, .number = number_lids,
	  .help = "number of LIDs that are routed through it" },
	{ .key = "utilization_percent", .title = "UTIL%", .kind = COLUMN_PERCENT, .number = number_utilization,
	  .help = "its load in percent of its data rate" },
	{ .key = "stall_percent", .title = "XmitWait%", .kind = COLUMN_PERCENT, .measure = measure_stall,
	  .help = "share of the time with data but no credits to send" },
	{ .key = "xmit_discards", .title = "DISCARDS", .kind = COLUMN_INTEGER, .measure = measure_discards,
	  .help = "PortXmitDiscards in the window" },
	{ 0 },
};
