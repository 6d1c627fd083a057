/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * metrics_compat.c - the schemas of --compat
 *
 * treydock:    treydock/infiniband_exporter 0.10, collectors switch and hca; data in bytes; GUIDs and
 *              LIDs as in the output of ibnetdiscover --ports
 * guilbaults:  guilbaults/infiniband-exporter 0.0.6; data in words; GUIDs as in the output of
 *              ibqueryerrors
 */
#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/text.h"
#include "cli/metrics/metrics_families.h"
#include "cli/metrics/metrics_page.h"
#include "fabric/fabric.h"

static uint16_t port_lid(const struct fabric *fabric, uint32_t index)
{
	return fabric_port_lid(fabric, &fabric->ports[index]);
}

static void treydock_labels(const struct fabric *fabric, uint32_t index, struct text *text)
{
	metrics_label_guid(text, "guid", fabric_port_guid(fabric, index));
	metrics_label_number(text, "port", fabric->ports[index].num);
}

static void uplink_labels(const struct metrics_page *page, uint32_t row, struct text *text)
{
	static const char *const types[] = { [NODE_CA] = "CA", [NODE_SWITCH] = "SW", [NODE_ROUTER] = "RT" };
	const struct fabric *fabric = page->topology->fabric;
	const struct port *port = &fabric->ports[row], *peer = &fabric->ports[port->peer];
	const struct node *node = &fabric->nodes[port->node], *other = &fabric->nodes[peer->node];

	metrics_label(text, node->type == NODE_SWITCH ? "switch" : "hca", metrics_node_name(fabric, port->node));
	metrics_label(text, "uplink", metrics_node_name(fabric, peer->node));
	metrics_label_guid(text, "uplink_guid", fabric_port_guid(fabric, port->peer));
	metrics_label(text, "uplink_type", other->type <= NODE_ROUTER && types[other->type] ? types[other->type] : "");
	metrics_label_number(text, "uplink_port", peer->num);
	metrics_label_number(text, "uplink_lid", port_lid(fabric, port->peer));
}

/* Devices: a switch is a row of its node; each port of an HCA is one. */
static void switch_guid(const struct metrics_page *page, uint32_t row, struct text *text)
{
	const struct fabric *fabric = page->topology->fabric;
	const struct node *node = &fabric->nodes[row];

	metrics_label_guid(text, "guid", node->ports ? fabric_port_guid(fabric, node->first_port) : node->guid);
}

static void switch_info(const struct metrics_page *page, uint32_t row, struct text *text)
{
	const struct fabric *fabric = page->topology->fabric;

	switch_guid(page, row, text);
	metrics_label(text, "switch", metrics_node_name(fabric, row));
	metrics_label_number(text, "lid", fabric->nodes[row].lid);
}

static void hca_guid(const struct metrics_page *page, uint32_t row, struct text *text)
{
	metrics_label_guid(text, "guid", fabric_port_guid(page->topology->fabric, row));
}

static void hca_info(const struct metrics_page *page, uint32_t row, struct text *text)
{
	const struct fabric *fabric = page->topology->fabric;

	hca_guid(page, row, text);
	metrics_label(text, "hca", metrics_node_name(fabric, fabric->ports[row].node));
	metrics_label_number(text, "lid", port_lid(fabric, row));
}

/* Bytes per second by the table of that exporter: signalling rate and effective rate of a lane in Gb/s. */
static double lane_rate(const struct metrics_page *page, uint32_t row, int which)
{
	static const double rates[LINK_SPEED_COUNT][2] = {
		[LINK_SPEED_SDR] = { 2.5, 2 }, [LINK_SPEED_DDR] = { 5, 4 }, [LINK_SPEED_QDR] = { 10, 8 },
		[LINK_SPEED_FDR10] = { 10.3125, 10 }, [LINK_SPEED_FDR] = { 14.0625, 13.64 },
		[LINK_SPEED_EDR] = { 25.78125, 25 }, [LINK_SPEED_HDR] = { 50, 50 }, [LINK_SPEED_NDR] = { 100, 100 },
		[LINK_SPEED_XDR] = { 250, 250 },
	};
	const struct port *port = &page->topology->fabric->ports[row];
	double rate = port->speed < LINK_SPEED_COUNT ? rates[port->speed][which] : 0;

	rate *= link_width_lanes(port->width) * 1e9 / 8;
	return rate > 0 ? rate : NAN;
}

static bool is_failed(const struct metrics_page *page, uint32_t port)
{
	return page->ports[port].sample == SAMPLE_SILENT || page->ports[port].sample == SAMPLE_BACKOFF;
}

/* A node fails if one of its polled ports did not respond. */
static double switch_failed(const struct metrics_page *page, uint32_t row)
{
	const struct node *node = &page->topology->fabric->nodes[row];
	bool failed = false;

	for (uint32_t i = 0; i < node->ports; i++)
		failed |= is_failed(page, node->first_port + i);
	return failed;
}

static void switch_device(const struct metrics_page *page, uint32_t row, struct text *text)
{
	switch_guid(page, row, text);
	metrics_label(text, "collector", "switch");
}

static void hca_device(const struct metrics_page *page, uint32_t row, struct text *text)
{
	hca_guid(page, row, text);
	metrics_label(text, "collector", "hca");
}

/* Row 0 is the collector hca, row 1 the collector switch. */
static double timed_out(const struct metrics_page *page, uint32_t row)
{
	const struct fabric *fabric = page->topology->fabric;
	double count = 0;

	for (uint32_t i = 0; i < fabric->node_count; i++)
		if (fabric->nodes[i].type == (row ? NODE_SWITCH : NODE_CA))
			count += switch_failed(page, i);
	return count;
}

METRICS_VALUE(zero, 0)
METRICS_VALUE(one, 1)
METRICS_VALUE(raw_rate, lane_rate(page, row, 0))
METRICS_VALUE(effective_rate, lane_rate(page, row, 1))
METRICS_VALUE(hca_failed, is_failed(page, row))
METRICS_VALUE(last_execution, (double)(page->status.last.wall_us / US_PER_S))
METRICS_VALUE(sweep_duration, (double)page->status.last.duration_us / US_PER_S)
METRICS_VALUE(build_duration, page->build_s)

static void collector_label(const struct metrics_page *page, uint32_t row, struct text *text)
{
	(void)page;
	metrics_label(text, "collector", row ? "switch" : "hca");
}

#define TREYDOCK_COUNTER(device, of_type, key, which, times, what) \
	{ .name = "infiniband_" device "_port_" key, .type = METRICS_COUNTER, .scope = METRICS_PORT, .help = what, \
	  .counter = COUNTER_##which, .scale = times, .node_type = of_type },
#define TREYDOCK_SWITCH(which, own, key, guilbaults) TREYDOCK_COUNTER("switch", NODE_SWITCH, key, which, 1, NULL)
#define TREYDOCK_CA(which, own, key, guilbaults) TREYDOCK_COUNTER("hca", NODE_CA, key, which, 1, NULL)
#define TREYDOCK_COUNTERS(device, type, each) \
	TREYDOCK_COUNTER(device, type, "transmit_data_bytes", XMIT_DATA, 4, "PortXmitData in bytes") \
	TREYDOCK_COUNTER(device, type, "receive_data_bytes", RCV_DATA, 4, "PortRcvData in bytes") \
	METRICS_COUNTERS(each) \
	TREYDOCK_COUNTER(device, type, "receive_switch_relay_errors", RCV_SWITCH_RELAY_ERRORS, 1, NULL) \
	TREYDOCK_COUNTER(device, type, "qp1_dropped", QP1_DROPPED, 1, NULL)
#define TREYDOCK_DETAIL(device, of_type, key, number, what) \
	{ .name = "infiniband_" device "_port_" key "_errors", .type = METRICS_COUNTER, .scope = METRICS_PORT, \
	  .help = what " (PortRcvErrorDetails)", .detail = 1 + METRICS_DETAIL(DETAIL_RCV_ERRORS, number), \
	  .node_type = of_type }
#define TREYDOCK_DETAILS(device, type) \
	TREYDOCK_DETAIL(device, type, "local_physical", 0, "PortLocalPhysicalErrors"), \
	TREYDOCK_DETAIL(device, type, "malformed_packet", 1, "PortMalformedPktErrors"), \
	TREYDOCK_DETAIL(device, type, "buffer_overrun", 2, "PortBufferOverrunErrors"), \
	TREYDOCK_DETAIL(device, type, "dli_mapping", 3, "PortDLIDMappingErrors"), \
	TREYDOCK_DETAIL(device, type, "vl_mapping", 4, "PortVLMappingErrors"), \
	TREYDOCK_DETAIL(device, type, "looping", 5, "PortLoopingErrors")
#define TREYDOCK_GAUGE(key, rows, of_type, function, more_labels, what) \
	{ .name = "infiniband_" key, .scope = rows, .help = what, .value = function, .node_type = of_type, \
	  .labels = more_labels }
#define TREYDOCK_HCA(key, function, more_labels, what) \
	{ .name = "infiniband_hca_" key, .scope = METRICS_PORT, .help = what, .value = function, \
	  .node_type = NODE_CA, .labels = more_labels, .own_labels = true }

static const struct metrics_family treydock[] = {
	TREYDOCK_COUNTERS("switch", NODE_SWITCH, TREYDOCK_SWITCH)
	TREYDOCK_DETAILS("switch", NODE_SWITCH),
	TREYDOCK_GAUGE("switch_port_rate_bytes_per_second", METRICS_PORT, NODE_SWITCH, effective_rate, NULL,
		       "Effective data rate of the link"),
	TREYDOCK_GAUGE("switch_port_raw_rate_bytes_per_second", METRICS_PORT, NODE_SWITCH, raw_rate, NULL,
		       "Signalling rate of the link"),
	TREYDOCK_GAUGE("switch_uplink_info", METRICS_PORT, NODE_SWITCH, one, uplink_labels,
		       "Other end of the link of a switch port"),
	TREYDOCK_GAUGE("switch_info", METRICS_NODE, NODE_SWITCH, one, switch_info,
		       "Name and LID of a switch"),
	TREYDOCK_GAUGE("switch_collect_duration_seconds", METRICS_NODE, NODE_SWITCH, zero, switch_device,
		       "Always 0: all nodes are polled in one sweep"),
	TREYDOCK_GAUGE("switch_collect_error", METRICS_NODE, NODE_SWITCH, zero, switch_device, "Always 0"),
	TREYDOCK_GAUGE("switch_collect_timeout", METRICS_NODE, NODE_SWITCH, switch_failed, switch_device,
		       "1 if a port of the switch did not respond in the newest sweep"),
	TREYDOCK_COUNTERS("hca", NODE_CA, TREYDOCK_CA)
	TREYDOCK_DETAILS("hca", NODE_CA),
	TREYDOCK_HCA("rate_bytes_per_second", effective_rate, hca_guid,
		       "Effective data rate of the link of an HCA port"),
	TREYDOCK_HCA("raw_rate_bytes_per_second", raw_rate, hca_guid,
		       "Signalling rate of the link of an HCA port"),
	TREYDOCK_GAUGE("hca_uplink_info", METRICS_PORT, NODE_CA, one, uplink_labels,
		       "Other end of the link of an HCA port"),
	TREYDOCK_HCA("info", one, hca_info, "Name and LID of an HCA port"),
	TREYDOCK_HCA("collect_duration_seconds", zero, hca_device,
		       "Always 0: all nodes are polled in one sweep"),
	TREYDOCK_HCA("collect_error", zero, hca_device, "Always 0"),
	TREYDOCK_HCA("collect_timeout", hca_failed, hca_device,
		       "1 if the HCA port did not respond in the newest sweep"),
	TREYDOCK_GAUGE("exporter_collector_duration_seconds", METRICS_COLLECTOR, 0, sweep_duration,
		       collector_label, "Duration of the newest sweep"),
	TREYDOCK_GAUGE("exporter_collect_errors", METRICS_COLLECTOR, 0, zero, collector_label, "Always 0"),
	TREYDOCK_GAUGE("exporter_collect_timeouts", METRICS_COLLECTOR, 0, timed_out, collector_label,
		       "Nodes with a port that did not respond in the newest sweep"),
	{ .name = "infiniband_exporter_last_execution", .scope = METRICS_COLLECTOR, .labels = collector_label,
	  .help = "Start of the newest sweep, in whole seconds since 1970", .value = last_execution, .lasting = true },
};

const struct metrics_schema metrics_schema_treydock = {
	.name = "treydock", .families = treydock, .count = sizeof(treydock) / sizeof(*treydock),
	.port_labels = treydock_labels, .linked = true, .details = true,
};

static void guilbaults_labels(const struct fabric *fabric, uint32_t index, struct text *text)
{
	const struct port *port = &fabric->ports[index], *peer;
	char digits[24];

	snprintf(digits, sizeof(digits), "0x%llx", (unsigned long long)fabric_port_guid(fabric, index));
	metrics_label(text, "component", fabric->nodes[port->node].type == NODE_SWITCH ? "switch" : "ca");
	metrics_label(text, "local_name", metrics_node_name(fabric, port->node));
	metrics_label(text, "local_guid", digits);
	metrics_label_number(text, "local_port", port->num);
	if (port->peer == FABRIC_NONE)
		return;
	peer = &fabric->ports[port->peer];
	metrics_label_guid(text, "remote_guid", fabric_port_guid(fabric, port->peer));
	metrics_label_number(text, "remote_port", peer->num);
	metrics_label(text, "remote_name", metrics_node_name(fabric, peer->node));
}

/* Per lane, as libibmad prints PortInfo.LinkSpeedActive and LinkSpeedExtActive. */
static double lane_gbps(const struct metrics_page *page, uint32_t row)
{
	static const double speeds[LINK_SPEED_COUNT] = {
		[LINK_SPEED_SDR] = 2.5, [LINK_SPEED_DDR] = 5, [LINK_SPEED_QDR] = 10, [LINK_SPEED_FDR10] = 10,
		[LINK_SPEED_FDR] = 14.0625, [LINK_SPEED_EDR] = 25.78125, [LINK_SPEED_HDR] = 53.125,
		[LINK_SPEED_NDR] = 106.25, [LINK_SPEED_XDR] = 212.5,
	};
	const struct port *port = &page->topology->fabric->ports[row];

	return port->speed < LINK_SPEED_COUNT && speeds[port->speed] > 0 ? speeds[port->speed] : NAN;
}

METRICS_VALUE(lanes, link_width_lanes(page->topology->fabric->ports[row].width) ?
	      link_width_lanes(page->topology->fabric->ports[row].width) : NAN)
METRICS_VALUE(sweep_complete, page->live && !page->is_stale &&
	      page->status.last.ports_answered == page->status.last.ports_polled)

/* What libibmad calls a port; the ports of a switch have that of its port 0. */
static void portid_label(const struct metrics_page *page, uint32_t row, struct text *text)
{
	char portid[16];

	snprintf(portid, sizeof(portid), "Lid %u", port_lid(page->topology->fabric, row));
	metrics_label(text, "portid", portid);
}

/* As ibqueryerrors reports a port that does not respond. */
static void query_labels(const struct metrics_page *page, uint32_t row, struct text *text)
{
	const struct fabric *fabric = page->topology->fabric;

	metrics_label(text, "counter_name", "IB_GSI_PORT_COUNTERS");
	metrics_label(text, "local_name", metrics_node_name(fabric, fabric->ports[row].node));
	portid_label(page, row, text);
	metrics_label_number(text, "port", fabric->ports[row].num);
}

/* The first port of a LID that did not respond. */
static bool is_first_failed(const struct metrics_page *page, uint32_t row)
{
	const struct fabric *fabric = page->topology->fabric;
	const struct node *node = &fabric->nodes[fabric->ports[row].node];
	uint32_t first = node->type == NODE_SWITCH ? node->first_port : row;

	while (first < row && (fabric->ports[first].peer == FABRIC_NONE || !is_failed(page, first)))
		first++;
	return first == row && is_failed(page, row);
}

METRICS_VALUE(query_failed, is_failed(page, row) ? 1 : NAN)
METRICS_VALUE(rpc_failed, is_first_failed(page, row) ? 1 : NAN)
METRICS_VALUE(unknown, NAN)

#define GUILBAULTS_COUNTER(which, own, treydock, key) \
	{ .name = "infiniband_" key, .type = METRICS_COUNTER, .scope = METRICS_PORT, \
	  .counter = COUNTER_##which, .scale = 1 },
#define GUILBAULTS_DETAIL(key, attribute, number, what) \
	{ .name = "infiniband_" key, .type = METRICS_COUNTER, .scope = METRICS_PORT, .help = what, \
	  .detail = 1 + METRICS_DETAIL(attribute, number) }
#define GUILBAULTS_STDERR(key, function, all_labels, what) \
	{ .name = key "_error", .scope = METRICS_PORT, .help = what, .value = function, .labels = all_labels, \
	  .own_labels = true }
#define GUILBAULTS_GAUGE(key, rows, function, what) \
	{ .name = "infiniband_" key, .scope = rows, .help = what, .value = function }
#define GUILBAULTS_LASTING(key, function, what) \
	{ .name = "infiniband_" key, .scope = METRICS_ONCE, .help = what, .value = function, .lasting = true }

static const struct metrics_family guilbaults[] = {
	METRICS_COUNTERS(GUILBAULTS_COUNTER)
	GUILBAULTS_COUNTER(XMIT_DATA,,, "portxmitdata")
	GUILBAULTS_COUNTER(RCV_DATA,,, "portrcvdata")
	GUILBAULTS_DETAIL("portlocalphysicalerrors", DETAIL_RCV_ERRORS, 0, "PortLocalPhysicalErrors"),
	GUILBAULTS_DETAIL("portmalformedpkterrors", DETAIL_RCV_ERRORS, 1, "PortMalformedPktErrors"),
	GUILBAULTS_DETAIL("portbufferoverrunerrors", DETAIL_RCV_ERRORS, 2, "PortBufferOverrunErrors"),
	GUILBAULTS_DETAIL("portdlidmappingerrors", DETAIL_RCV_ERRORS, 3, "PortDLIDMappingErrors"),
	GUILBAULTS_DETAIL("portinactivediscards", DETAIL_XMIT_DISCARDS, 0, "PortInactiveDiscards"),
	GUILBAULTS_DETAIL("portneighbormtudiscards", DETAIL_XMIT_DISCARDS, 1, "PortNeighborMTUDiscards"),
	GUILBAULTS_DETAIL("portswlifetimelimitdiscards", DETAIL_XMIT_DISCARDS, 2, "PortSwLifetimeLimitDiscards"),
	GUILBAULTS_DETAIL("portswhoqlifetimelimitdiscards", DETAIL_XMIT_DISCARDS, 3,
			  "PortSwHOQLifetimeLimitDiscards"),
	GUILBAULTS_GAUGE("speed", METRICS_PORT, lane_gbps, "Active speed of a lane in Gb/s"),
	GUILBAULTS_GAUGE("width", METRICS_PORT, lanes, "Lanes of the link"),
	/* Spelled as there. */
	GUILBAULTS_STDERR("infininband_print", query_failed, query_labels,
			  "Port that did not respond in the newest sweep"),
	GUILBAULTS_STDERR("infininband_mad_rpc_failed", rpc_failed, portid_label,
			  "LID with a port that did not respond in the newest sweep"),
	GUILBAULTS_STDERR("infiniband_bad_status", unknown, NULL, "Never set: no status of an SMP is stored"),
	GUILBAULTS_STDERR("infiniband_query_failed", unknown, NULL,
			  "Never set: details that a port lacks are no error"),
	GUILBAULTS_STDERR("infininband_query_cap_mask", unknown, NULL,
			  "Never set: ports that do not respond are in infininband_print_error"),
	GUILBAULTS_GAUGE("ibqueryerrors_duration_seconds", METRICS_ONCE, sweep_duration,
			 "Duration of the newest sweep"),
	GUILBAULTS_LASTING("scrape_duration_seconds", build_duration, "Time to read the newest sweep for this page"),
	GUILBAULTS_LASTING("scrape_ok", sweep_complete,
			   "1 if a collector is running and all polled ports responded in the newest sweep"),
};

const struct metrics_schema metrics_schema_guilbaults = {
	.name = "guilbaults", .families = guilbaults, .count = sizeof(guilbaults) / sizeof(*guilbaults),
	.port_labels = guilbaults_labels, .linked = true, .details = true,
};
