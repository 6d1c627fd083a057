/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "facts/port_columns.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/rate.h"
#include "base/text.h"
#include "fabric/fabric.h"
#include "fabric/planes.h"
#include "fabric/shape.h"
#include "facts/cells.h"
#include "facts/link.h"
#include "facts/order.h"
#include "facts/port_facts.h"
#include "facts/port_marks.h"
#include "storage/findings.h"
#include "storage/reader.h"

static const struct fabric *fabric_of(const struct port_facts *facts)
{
	return facts->scope->snapshot->fabric;
}

static const struct port *port_of(const struct port_facts *facts)
{
	return &fabric_of(facts)->ports[facts->port];
}

static const struct node *node_of(const struct port_facts *facts)
{
	return &fabric_of(facts)->nodes[port_of(facts)->node];
}

static const struct port_row *row_of(const struct port_facts *facts)
{
	return &facts->scope->snapshot->rows[facts->port];
}

/* --- identity and state --- */

static double number_time(const void *row)
{
	return (double)((const struct port_facts *)row)->scope->snapshot->sweep.wall_us;
}

static double number_port(const void *row)
{
	return port_of(row)->num;
}

static double number_lid(const void *row)
{
	unsigned lid = fabric_port_lid(fabric_of(row), port_of(row));

	return lid ? lid : NAN;
}

static double number_state(const void *row)
{
	return port_of(row)->state ? port_of(row)->state : NAN;
}

static double number_phys_state(const void *row)
{
	return port_of(row)->phys_state;
}

static void fill_name(struct result *result, size_t at, const void *row)
{
	const struct port_facts *facts = row;

	cells_port_name(result, at, facts->scope->order, fabric_of(facts), facts->port);
}

static void fill_guid(struct result *result, size_t at, const void *row)
{
	result_unsigned(result, at, node_of(row)->guid);
}

static void fill_port_guid(struct result *result, size_t at, const void *row)
{
	const struct port_facts *facts = row;

	result_unsigned(result, at, fabric_port_guid(fabric_of(facts), facts->port));
}

static void fill_node(struct result *result, size_t at, const void *row)
{
	result_text(result, at, node_of(row)->name);
}

static void fill_state(struct result *result, size_t at, const void *row)
{
	const struct port *port = port_of(row);

	result_text(result, at, port_state_name(port->state));
	if (port->state != PORT_ACTIVE)
		result_show(result, at, NULL, port->state == PORT_DOWN ? STYLE_DIM : STYLE_WARNING);
}

static void fill_phys_state(struct result *result, size_t at, const void *row)
{
	result_text(result, at, port_phys_state_name(port_of(row)->phys_state));
}

static void fill_link(struct result *result, size_t at, const void *row)
{
	const struct port_facts *facts = row;
	const struct port *port = port_of(row);
	char link[LINK_TEXT_SIZE];

	if (!*link_text(port, false, link))
		return;
	result_text(result, at, link);
	if (link_is_degraded(facts->scope->shape, facts->port))
		result_show(result, at, link_text(port, true, link), STYLE_WARNING);
}

static void fill_width(struct result *result, size_t at, const void *row)
{
	unsigned lanes = link_width_lanes(port_of(row)->width);
	char width[16];

	snprintf(width, sizeof(width), "%ux", lanes);
	result_text(result, at, lanes ? width : NULL);
}

static void fill_speed(struct result *result, size_t at, const void *row)
{
	const struct port *port = port_of(row);

	if (port->speed != LINK_SPEED_NONE)
		result_text(result, at, link_speed_name((enum link_speed)port->speed));
}

static void fill_status(struct result *result, size_t at, const void *row)
{
	cells_status(result, at, ((const struct port_facts *)row)->status);
}

static void fill_wait_rule(struct result *result, size_t at, const void *row)
{
	result_text(result, at, stall_rule_name(((const struct port_facts *)row)->stall_rule));
}

/* The place of a port's worst finding in the list, from 1 on; 0: none. */
static uint32_t finding_of(const struct port_facts *facts)
{
	return facts && facts->scope->finding_of ? facts->scope->finding_of[facts->port] : 0;
}

static double finding_rank(const struct port_scope *scope, uint32_t finding)
{
	return finding ? port_mark_of(&scope->findings[finding - 1]) : NAN;
}

static double number_finding(const void *row)
{
	return finding_rank(((const struct port_facts *)row)->scope, finding_of(row));
}

static void fill_finding(struct result *result, size_t at, const void *row)
{
	uint32_t finding = finding_of(row);

	cells_finding(result, at, finding ? &((const struct port_facts *)row)->scope->findings[finding - 1] : NULL);
}

/* --- position in the topology, and sums of a multi-plane port --- */

static double number_tier(const void *row)
{
	const struct port_facts *facts = row;
	int tier = facts->scope->shape ? shape_port_tier(facts->scope->shape, facts->port) : 0;

	return tier ? tier : NAN;
}

static void fill_role(struct result *result, size_t at, const void *row)
{
	const struct port_facts *facts = row;
	char role[SHAPE_ROLE_SIZE];

	if (facts->scope->shape)
		result_text(result, at, shape_port_role(facts->scope->shape, facts->port, role));
}

static void fill_rail(struct result *result, size_t at, const void *row)
{
	const struct port_facts *facts = row;
	const struct shape *shape = facts->scope->shape;

	if (shape && shape->ports[facts->port].rail != SHAPE_NONE)
		result_text(result, at, shape->rails[shape->ports[facts->port].rail].name);
}

static void fill_cage(struct result *result, size_t at, const void *row)
{
	const struct port_facts *facts = row;
	const struct shape_port *place = facts->scope->shape ? &facts->scope->shape->ports[facts->port] : NULL;
	char cage[16];

	if (!place)
		return;
	snprintf(cage, sizeof(cage), "%u.%u", place->cage, place->split);
	if (!place->split)
		*strchr(cage, '.') = '\0';
	result_text(result, at, place->cage ? cage : NULL);
}

enum { PLANES_COUNT, PLANES_RATE, PLANES_XMIT, PLANES_RCV };

static void fill_planes(struct result *result, size_t at, const void *row)
{
	int which = result_column(result, at)->which;
	const struct port_facts *facts = row;
	struct plane_sum sum;

	if (!port_is_plane(fabric_of(facts), facts->port))
		return;
	sum = port_facts_planes(facts->scope, facts->port);
	if (which == PLANES_COUNT)
		result_integer(result, at, sum.planes);
	else if (which == PLANES_RATE)
		result_real(result, at, (double)sum.bits_per_s / 1e9);
	else
		result_measure(result, at, which == PLANES_XMIT ? sum.xmit_bytes_per_s : sum.rcv_bytes_per_s);
}

/* --- numbers --- */

/* A rate of an idle port, or an unknown one, is dim. */
static void fill_rate(struct result *result, size_t at, const void *row)
{
	const struct port_facts *facts = row;
	struct measure rate = column_measure(result_column(result, at), row);

	result_measure(result, at, rate);
	if (facts->status == STATUS_IDLE || isnan(rate.value))
		result_show(result, at, NULL, STYLE_DIM);
}

/* Table text: counts, a dash if unknown. */
static void show_errors(struct result *result, size_t at, const struct port_facts *facts)
{
	const struct delta *sum = &row_of(facts)->sum;
	struct text shown = { 0 };

	if (errors_append(&shown, "", facts->errors_known, facts->error_bounds, sum->saturated,
			  sum->value + COUNTER_TRAFFIC_COUNT))
		result_show(result, at, result_chars(result, &shown), STYLE_WARNING);
	else
		result_show(result, at, facts->errors_known && !isnan(facts->errors.value) ? "0" : "-", STYLE_DIM);
	text_done(&shown);
}

/* The members of @set, with their deltas or absolute values. */
static void fill_members(struct result *result, size_t at, counter_set set, const uint64_t *values)
{
	result_empty(result, at);
	for (int counter = 0; counter < COUNTER_COUNT; counter++)
		if (set & COUNTER_BIT(counter))
			result_member(result, at, counter_info((enum counter)counter)->key, values[counter]);
}

/* Always an object; errors_unknown lists the missing counters. */
static void fill_errors(struct result *result, size_t at, const void *row)
{
	const struct port_facts *facts = row;

	fill_members(result, at, facts->errors_known, row_of(facts)->sum.value);
	show_errors(result, at, facts);
}

static void fill_errors_unknown(struct result *result, size_t at, const void *row)
{
	const struct port_facts *facts = row;

	result_empty(result, at);
	for (int counter = COUNTER_TRAFFIC_COUNT; counter < COUNTER_COUNT; counter++)
		if (facts->errors_unknown & COUNTER_BIT(counter))
			result_item(result, at, "%s", counter_info((enum counter)counter)->key);
}

static void fill_counters(struct result *result, size_t at, const void *row)
{
	const struct reading *reading = row_of(row)->reading;

	fill_members(result, at, reading ? reading->present : 0, reading ? reading->value : NULL);
}

static void fill_ber(struct result *result, size_t at, const void *row)
{
	cells_ber(result, at, &((const struct port_facts *)row)->ber[result_column(result, at)->which]);
}

static struct measure symbol_ber(const void *row)
{
	const struct ber *ber = &((const struct port_facts *)row)->ber[PORT_BER_SYMBOL];

	return measure_of(ber->rate, !ber->at_least);
}

static void fill_ber_below(struct result *result, size_t at, const void *row)
{
	cells_ber_below(result, at, &((const struct port_facts *)row)->ber[result_column(result, at)->which]);
}

static void fill_ber_at_least(struct result *result, size_t at, const void *row)
{
	const struct port_facts *facts = row;

	result_empty(result, at);
	for (int which = 0; which < PORT_BER_COUNT; which++)
		if (cells_ber_is_known(&facts->ber[which]) && facts->ber[which].at_least)
			result_item(result, at, "%s", port_ber_key((enum port_ber)which));
}

#define MEMBER(member) COLUMN_MEMBER(struct port_facts, member)

const struct column port_columns[] = {
	{ .key = "time", .title = "TIME", .kind = COLUMN_TIME, .number = number_time,
	  .help = "time of the sweep that the numbers are of" },
	{ .key = "name", .title = "PORT", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL,
	  .fill = fill_name, .help = "displayed name of the node, and port number" },
	{ .key = "node_guid", .title = "NODE GUID", .narrow = "GUID", .kind = COLUMN_GUID, .fill = fill_guid,
	  .help = "node GUID" },
	{ .key = "port_guid", .title = "PORT GUID", .kind = COLUMN_GUID, .fill = fill_port_guid,
	  .help = "port GUID; all ports of a switch have that of its port 0" },
	{ .key = "node", .title = "NODE", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL,
	  .fill = fill_node,
	  .help = "full name of the node" },
	{ .key = "port", .title = "NUM", .kind = COLUMN_INTEGER, .number = number_port, .help = "port number" },
	{ .key = "lid", .title = HEADING_LID, .kind = COLUMN_INTEGER, .number = number_lid,
	  .help = "LID at which the port is polled" },
	{ .key = "state", .title = HEADING_STATE, .kind = COLUMN_TEXT, .number = number_state, .fill = fill_state,
	  .metric = "ibwire_port_state", .help = "PortState: 1 Down, 2 Init, 3 Armed, 4 Active" },
	{ .key = "phys_state", .title = "PHYS", .kind = COLUMN_TEXT, .number = number_phys_state,
	  .fill = fill_phys_state, .help = "PortPhysicalState: LinkUp, Polling, Disabled, ..." },
	{ .key = "link", .title = HEADING_LINK, .kind = COLUMN_TEXT, MEMBER(rate_gbps), .fill = fill_link,
	  .help = "active width and speed of the link; " LINK_DEGRADED ": below what both ends support or have "
		  "enabled, or below comparable links" },
	{ .key = "width", .title = "WIDTH", .kind = COLUMN_TEXT, .fill = fill_width,
	  .help = "active width of the link" },
	{ .key = "speed", .title = "SPEED", .kind = COLUMN_TEXT, .fill = fill_speed,
	  .help = "active speed of the link" },
	{ .key = "rate_gbps", .title = "Gb/s", .kind = COLUMN_GBPS, MEMBER(rate_gbps),
	  .metric = "ibwire_port_rate_bits_per_second",
	  .help = "data rate of the link in one direction" },
	{ .key = "tier", .title = "TIER", .kind = COLUMN_INTEGER, .number = number_tier,
	  .help = "tier of the switch: 1 is next to the hosts" },
	{ .key = "role", .title = "ROLE", .kind = COLUMN_TEXT, .fill = fill_role,
	  .help = "role of the port in the topology: host, uplink, downlink, ..." },
	{ .key = "rail", .title = "RAIL", .kind = COLUMN_TEXT, .fill = fill_rail, .help = "rail of the host port" },
	{ .key = "cage", .title = "CAGE", .kind = COLUMN_TEXT, .fill = fill_cage,
	  .help = "cage on the front panel, and the part of a split port" },
	{ .key = "status", .title = HEADING_STATUS, .kind = COLUMN_TEXT, MEMBER(status), .fill = fill_status,
	  .help = "result of polling the port: ok, idle, silent, down, ..." },
	{ .key = "finding", .title = HEADING_FINDING, .kind = COLUMN_TEXT, .number = number_finding,
	  .fill = fill_finding, .help = "severity and kind of the worst open finding at the port, its peer or node" },
	{ .key = "xmit_bytes_per_s", .title = HEADING_TX, .narrow = "TXb/s", .kind = COLUMN_RATE,
	  MEMBER(xmit_bytes_per_s), .fill = fill_rate, .help = "sent data rate" },
	{ .key = "rcv_bytes_per_s", .title = HEADING_RX, .narrow = "RXb/s", .kind = COLUMN_RATE,
	  MEMBER(rcv_bytes_per_s), .fill = fill_rate, .help = "received data rate" },
	{ .key = "xmit_utilization_percent", .title = HEADING_TX_PERCENT, .kind = COLUMN_PERCENT,
	  .flags = COLUMN_LOAD, MEMBER(xmit_percent), .metric = "ibwire_port_xmit_utilization_ratio",
	  .help = "sent data, as a share of the link's data rate" },
	{ .key = "rcv_utilization_percent", .title = HEADING_RX_PERCENT, .kind = COLUMN_PERCENT,
	  .flags = COLUMN_LOAD, MEMBER(rcv_percent), .metric = "ibwire_port_rcv_utilization_ratio",
	  .help = "received data, as a share of the link's data rate" },
	{ .key = "stall_percent", .title = HEADING_STALL, .narrow = "Wait%", .kind = COLUMN_PERCENT,
	  MEMBER(stall_percent), .metric = "ibwire_port_xmit_wait_ratio",
	  .help = "share of the time with data but no credits to send, estimated from PortXmitWait" },
	{ .key = "xmit_wait_ticks_per_s", .title = "XmitWait/s", .narrow = "Wait/s", .kind = COLUMN_PER_S,
	  MEMBER(wait_ticks_per_s), .help = "PortXmitWait ticks per second" },
	{ .key = "xmit_wait_rule", .title = "Wait rule", .kind = COLUMN_TEXT, .fill = fill_wait_rule,
	  .help = "tick of PortXmitWait: of the port or a lane as documented; assumed; contradicted; unknown" },
	{ .key = "xmit_packets_per_s", .title = "TXpkt/s", .kind = COLUMN_PER_S,
	  MEMBER(xmit_packets_per_s), .help = "sent packets per second" },
	{ .key = "rcv_packets_per_s", .title = "RXpkt/s", .kind = COLUMN_PER_S,
	  MEMBER(rcv_packets_per_s), .help = "received packets per second" },
	{ .key = "rcv_packet_bytes_mean", .title = "RXB/pkt", .kind = COLUMN_INTEGER,
	  .flags = COLUMN_APPEND | COLUMN_NO_TABLE, MEMBER(rcv_packet_bytes_mean),
	  .metric = "ibwire_port_rcv_packet_mean_bytes", .help = "mean size of the received packets" },
	{ .key = "errors", .title = HEADING_ERRORS, .narrow = "ERR", .kind = COLUMN_OBJECT,
	  .flags = COLUMN_OMIT_ZERO | COLUMN_FLEXIBLE, .member = cells_error_key, MEMBER(errors.value),
	  .fill = fill_errors, .help = "error counters that increased in the window" },
	{ .key = "errors_unknown", .title = "UNKNOWN", .kind = COLUMN_LIST, .fill = fill_errors_unknown,
	  .help = "error counters without a delta in the window, reset in it, or saturated" },
	{ .key = "window_s", .title = "WINDOW", .kind = COLUMN_SPAN_S, MEMBER(window_s),
	  .help = "time that the rates and errors are of" },
	{ .key = "age_s", .title = HEADING_AGE, .kind = COLUMN_SPAN_S, MEMBER(age_s),
	  .help = "age of the newest reading" },
	{ .key = "counters", .title = "COUNTERS", .kind = COLUMN_OBJECT, .flags = COLUMN_FLEXIBLE,
	  .member = cells_counter_key, .fill = fill_counters, .help = "absolute counters" },
	{ .key = "symbol_ber", .title = "BER", .kind = COLUMN_REAL, .measure = symbol_ber,
	  .fill = fill_ber, .which = PORT_BER_SYMBOL, .metric = "ibwire_port_symbol_ber",
	  .help = "symbol errors per bit" },
	{ .key = "symbol_ber_below", .title = "BER BELOW", .kind = COLUMN_REAL, .fill = fill_ber_below,
	  .which = PORT_BER_SYMBOL, .help = "upper bound of symbol_ber without errors (95 %)" },
	{ .key = "ber_at_least", .title = "BER AT LEAST", .kind = COLUMN_LIST, .fill = fill_ber_at_least,
	  .help = "bit error rates that are lower bounds: a counter is saturated or was reset" },
	{ .key = "effective_ber", .title = "EFFECTIVE BER", .kind = COLUMN_REAL,
	  .measured = true, MEMBER(ber[PORT_BER_EFFECTIVE].rate), .fill = fill_ber, .which = PORT_BER_EFFECTIVE,
	  .help = "bit error rate after FEC, with --details" },
	{ .key = "effective_ber_below", .title = "EFFECTIVE BELOW", .kind = COLUMN_REAL, .fill = fill_ber_below,
	  .which = PORT_BER_EFFECTIVE, .help = "upper bound of effective_ber without errors (95 %), with --details" },
	{ .key = "raw_ber", .title = "RAW BER", .kind = COLUMN_REAL, .measured = true,
	  MEMBER(ber[PORT_BER_RAW].rate), .fill = fill_ber, .which = PORT_BER_RAW,
	  .help = "bit error rate before FEC, with --details" },
	{ .key = "raw_ber_below", .title = "RAW BELOW", .kind = COLUMN_REAL, .fill = fill_ber_below,
	  .which = PORT_BER_RAW, .help = "upper bound of raw_ber without errors (95 %), with --details" },
	{ .key = "planes", .title = "PLANES", .kind = COLUMN_INTEGER, .fill = fill_planes, .which = PLANES_COUNT,
	  .help = "planes of the multi-plane port" },
	{ .key = "planes_rate_gbps", .title = "PLANES Gb/s", .kind = COLUMN_GBPS, .fill = fill_planes,
	  .which = PLANES_RATE, .help = "data rate of its planes together" },
	{ .key = "planes_xmit_bytes_per_s", .title = "PLANES TX", .kind = COLUMN_RATE, .fill = fill_planes,
	  .measured = true, .which = PLANES_XMIT, .help = "sent data rate of its planes together" },
	{ .key = "planes_rcv_bytes_per_s", .title = "PLANES RX", .kind = COLUMN_RATE, .fill = fill_planes,
	  .measured = true, .which = PLANES_RCV, .help = "received data rate of its planes together" },
	{ .key = "load", .title = "MAX LOAD", .kind = COLUMN_RATE, MEMBER(load),
	  .help = "data rate of the busier direction" },
	{ .key = "util", .title = HEADING_LOAD, .kind = COLUMN_PERCENT, MEMBER(util),
	  .help = "utilization of the busier direction" },
	{ 0 },
};

/* --- links --- */

/* Load of one direction, as counted by the sender; by the receiver where that is known better. */
static void set_direction(const struct port_facts *from, const struct port_facts *to, unsigned direction,
			  struct link_facts *ret)
{
	bool receiver = to && measure_is_better(to->rcv_bytes_per_s, from->xmit_bytes_per_s);

	ret->bytes_per_s[direction] = receiver ? to->rcv_bytes_per_s : from->xmit_bytes_per_s;
	ret->percent[direction] = receiver ? to->rcv_percent : from->xmit_percent;
}

void link_facts_of(const struct port_facts *a, const struct port_facts *b, const struct shape *shape,
		   struct link_facts *ret)
{
	*ret = (struct link_facts){
		.end = { a, b }, .status = a->status, .errors = a->errors,
		.last_wall_us = row_of(a)->last_wall_us, .unused = a->unused || (!b && !port_of(a)->num),
	};
	set_direction(a, b, 0, ret);
	if (b) {
		ret->status = port_status_worse(a->status, b->status);
		ret->errors = measure_add(a->errors, b->errors);
		ret->degraded = link_is_degraded(shape, a->port);
		ret->unused &= b->unused;
		if (row_of(b)->last_wall_us > ret->last_wall_us)
			ret->last_wall_us = row_of(b)->last_wall_us;
		set_direction(b, a, 1, ret);
	} else {
		/* Without a cable there is no other end; the port's own receive counters are still shown. */
		ret->bytes_per_s[1] = a->rcv_bytes_per_s;
		ret->percent[1] = a->rcv_percent;
	}
	ret->load = measure_max(ret->bytes_per_s[0], ret->bytes_per_s[1]);
	ret->util = measure_max(ret->percent[0], ret->percent[1]);
}

static void fill_link_status(struct result *result, size_t at, const void *row)
{
	cells_status(result, at, ((const struct link_facts *)row)->status);
}

/* The worse finding of both ends. */
static uint32_t link_finding(const struct link_facts *link)
{
	uint32_t a = finding_of(link->end[0]), b = finding_of(link->end[1]);

	return !a || (b && b < a) ? b : a;
}

static double number_link_finding(const void *row)
{
	const struct link_facts *link = row;

	return finding_rank(link->end[0]->scope, link_finding(link));
}

static void fill_link_finding(struct result *result, size_t at, const void *row)
{
	const struct link_facts *link = row;
	uint32_t finding = link_finding(link);

	cells_finding(result, at, finding ? &link->end[0]->scope->findings[finding - 1] : NULL);
}

const struct column link_columns[] = {
	{ .key = "status", .title = HEADING_STATUS, .kind = COLUMN_TEXT, COLUMN_MEMBER(struct link_facts, status),
	  .fill = fill_link_status, .help = "status of the worse end: ok, idle, silent, down, ..." },
	{ .key = "finding", .title = HEADING_FINDING, .kind = COLUMN_TEXT, .number = number_link_finding,
	  .fill = fill_link_finding, .help = "severity and kind of the worst open finding at the link or its nodes" },
	{ .key = "load", .title = "MAX LOAD", .kind = COLUMN_RATE, COLUMN_MEMBER(struct link_facts, load),
	  .help = "data rate of the busier direction, as counted by either end" },
	{ .key = "util", .title = HEADING_LOAD, .kind = COLUMN_PERCENT, COLUMN_MEMBER(struct link_facts, util),
	  .help = "utilization of the busier direction, as counted by either end" },
	{ 0 },
};
