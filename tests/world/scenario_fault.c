/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* scenario_fault.c - random faults with their expected findings */
#include <stdio.h>
#include <string.h>

#include "fabric/fabric.h"
#include "fabric/routes.h"
#include "tests/world/scenario_draw.h"
#include "tests/world/virtual.h"

#define TRIES_MAX 300 /* to find a free place */

/* @ret: a port of a link, else a node. Return: false without a free place. */
static bool draw_place(struct draw *draw, const struct place_fault *fault, uint32_t *ret)
{
	size_t fewer = draw->spine_count < draw->leaf_count ? draw->spine_count : draw->leaf_count;
	uint32_t port;

	switch (fault->place) {
	case ON_TRUNK:
	case ON_HOST_LINK:
		return draw_link(draw, fault->place == ON_TRUNK, ret);
	case ON_LINK:
		return draw_link(draw, draw_number(draw, 2), ret);
	case AT_HCA:
		if (!draw_hca(draw, &port))
			return false;
		*ret = draw_node_of(draw, port);
		return true;
	case AT_SWITCH:
		return draw_switch(draw, draw_number(draw, 2) ? draw->leafs : draw->spines, fewer, ret);
	default:
		return draw_switch(draw, draw->spines, fault->place == AT_SPINE ? draw->spine_count : fewer, ret);
	}
}

static bool draw_place_fault(struct draw *draw, int64_t at_s, const struct place_fault *fault)
{
	char number[16], rest[64];
	const char *format = strstr(fault->rest, "%d");
	uint32_t place;

	snprintf(rest, sizeof(rest), "%s", fault->rest);
	if (format) {
		snprintf(number, sizeof(number), "%d", (int)draw_between(draw, fault->least, fault->most));
		snprintf(rest, sizeof(rest), "%.*s%s%s", (int)(format - fault->rest), fault->rest, number, format + 2);
	}
	if (!draw_place(draw, fault, &place))
		return false;
	if (fault->other && !draw_number(draw, 2))
		snprintf(rest, sizeof(rest), "%s", fault->other);
	return (fault->place <= ON_LINK ? draw_add_port : draw_add_node)(draw, at_s, fault->event, rest, fault->kind,
									 fault->truth, place);
}

/*
 * A discovery that finds the link down leaves it down in the topology for up to ten sweeps, until the
 * collector reads PortInfo of the port again (collector/topology_probe). Until then routes lead through it.
 */
static bool flapping_link(struct draw *draw, int64_t at_s)
{
	int every_s = (int)draw_between(draw, 40, 200);
	char rest[64], truth[64], name[DRAW_NAME_SIZE];
	uint32_t port;

	snprintf(rest, sizeof(rest), "times=%d every=%ds for=%ds", (int)draw_between(draw, 3, 6), every_s,
		 (int)draw_between(draw, 1, 4));
	snprintf(truth, sizeof(truth), "severity=warning within=%ds", 2 * every_s + 40);
	if (!draw_link(draw, draw_number(draw, 2), &port))
		return false;
	draw_add_port(draw, at_s, "flap", rest, "link-flapping", truth, port);
	text_appendf(draw->text, "allow link-down %s\nallow black-hole any\n", draw_port_name(draw, port, name));
	return true;
}

/* One of several HCAs; the host stays up. */
static bool dead_hca(struct draw *draw, int64_t at_s)
{
	char leaf[DRAW_NAME_SIZE];
	const char *hca;
	uint32_t port;

	if (draw->kind != NET_SHAPE_RAIL || !draw_hca(draw, &port))
		return false;
	hca = draw->built->nodes[draw_node_of(draw, port)].name;
	draw_port_name(draw, draw->built->ports[port].peer, leaf);
	text_appendf(draw->text, "at %ds off \"%s\"\nexpect node-missing|link-down \"%s|%s\" severity=warning "
		     "within=80s\n", (int)at_s, hca, leaf, hca);
	return true;
}

static bool rebooted_host(struct draw *draw, int64_t at_s)
{
	const char *name;
	size_t host;

	if (!draw_host(draw, &host))
		return false;
	name = draw->hosts.hosts[host].name;
	text_appendf(draw->text, "at %ds off hosts=%s for=%ds\nexpect host-restart host:%s within=2m\n", (int)at_s,
		     name, (int)draw_between(draw, 90, 360), name);
	return true;
}

/* Adjacent hosts lose power. One finding for all, or one for each, is correct. */
static bool dead_rack(struct draw *draw, int64_t at_s)
{
	size_t count = 4, first, i;
	int tries;

	for (tries = 0; tries < TRIES_MAX; tries++) {
		first = draw_number(draw, draw->hosts.host_count - draw->storage - count);
		for (i = 0; i < count && draw_host_is_free(draw, &draw->hosts.hosts[first + i]); i++)
			;
		if (i == count)
			break;
	}
	if (tries == TRIES_MAX)
		return false;
	text_appendf(draw->text, "at %ds off hosts=%s-%s\nexpect node-missing|host-restart|link-down ", (int)at_s,
		     draw->hosts.hosts[first].name, draw->hosts.hosts[first + count - 1].name);
	for (i = 0; i < count; i++) {
		draw_use_host(draw, &draw->hosts.hosts[first + i]);
		text_appendf(draw->text, "%shost:%s", i ? "|" : "", draw->hosts.hosts[first + i].name);
	}
	text_append(draw->text, " within=3m\n");
	return true;
}

static bool dead_leaf(struct draw *draw, int64_t at_s)
{
	uint32_t node;

	if (!draw_switch(draw, draw->leafs, draw->leaf_count, &node))
		return false;
	/* The collector and the SM are on the first leafs. */
	for (uint32_t i = 0; i < draw->built->node_count; i++)
		if (!draw_is_switch(draw, i) && host_is_management(draw->built->nodes[i].desc) &&
		    draw_peer_node(draw, draw->built->nodes[i].first_port) == node)
			return false;
	return draw_add_node(draw, at_s, "off", "", "node-missing", "severity=warning within=80s", node);
}

static bool swapped_cables(struct draw *draw, int64_t at_s)
{
	char a[DRAW_NAME_SIZE], b[DRAW_NAME_SIZE];
	const struct host *host;
	size_t index, rail;

	if (draw->kind != NET_SHAPE_RAIL || !draw_host(draw, &index))
		return false;
	host = &draw->hosts.hosts[index];
	rail = draw_number(draw, host->hca_count - 1);
	draw_node_name(draw, draw_node_of(draw, draw->hosts.hcas[host->first_hca + rail].port), a);
	draw_node_name(draw, draw_node_of(draw, draw->hosts.hcas[host->first_hca + rail + 1].port), b);
	text_appendf(draw->text, "at %ds swap %s %s\nexpect rail-miswired %s|%s within=80s\n", (int)at_s, a, b, a, b);
	return true;
}

static bool missing_cable(struct draw *draw, int64_t at_s)
{
	char name[DRAW_NAME_SIZE], low[DRAW_NAME_SIZE], high[DRAW_NAME_SIZE];
	uint32_t port;

	(void)at_s;
	/* A small fabric has too few links between spines and cores to determine what is usual. */
	if (!draw_trunk(draw, &port) || (draw_node_of(draw, port) > draw->leafs[draw->leaf_count - 1] &&
					 draw_peer_node(draw, port) > draw->leafs[draw->leaf_count - 1]))
		return false;
	text_appendf(draw->text, "at 0 unplug %s\nexpect uplinks-missing %s|%s within=3m\n",
		     draw_port_name(draw, port, name), draw_node_name(draw, draw_node_of(draw, port), low),
		     draw_node_name(draw, draw_peer_node(draw, port), high));
	return true;
}

/* A fault of the tables needs static routing and a subnet manager that writes them. */
static bool take_tables(struct draw *draw)
{
	draw->follows_tables = !draw->no_sm;
	return draw->follows_tables;
}

/* Half of a switch's destinations leave by one of its uplinks. Switches are numbered from the leafs up. */
static bool skewed_leaf(struct draw *draw, int64_t at_s)
{
	char rest[64];
	uint32_t port;

	/* A job already slowed down by one skew hides another. */
	if (draw->follows_tables || !take_tables(draw) || !draw_trunk(draw, &port))
		return false;
	/* The leaf's end of it; of a trunk between spines and cores the lower one. */
	if (draw_node_of(draw, port) > draw_peer_node(draw, port))
		port = draw->built->ports[port].peer;
	snprintf(rest, sizeof(rest), "to=%u part=%.2f", draw->built->ports[port].num, 0.4 + 0.3 * draw_share(draw));
	return draw_add_node(draw, at_s, "skew", rest, "uplink-imbalance",
			     "cause=routing severity=warning within=150s since=90s", draw_node_of(draw, port));
}

/* Of the parallel links from one switch down to another, one gets nearly all. */
static bool skewed_spine(struct draw *draw, int64_t at_s)
{
	const struct fabric *built = draw->built;
	unsigned parallel = 0;
	char rest[64];
	uint32_t port;

	/* A job already slowed down by one skew hides another. */
	if (draw->follows_tables || !take_tables(draw) || !draw_trunk(draw, &port))
		return false;
	if (draw_node_of(draw, port) < draw_peer_node(draw, port))
		port = built->ports[port].peer;
	for (uint32_t i = 0; i < draw->trunk_count; i++)
		parallel += draw_node_of(draw, draw->trunks[i]) == draw_node_of(draw, port) &&
			    draw_peer_node(draw, draw->trunks[i]) == draw_peer_node(draw, port);
	snprintf(rest, sizeof(rest), "to=%u part=1", built->ports[port].num);
	return parallel > 1 &&
	       draw_add_node(draw, at_s, "skew", rest, "uplink-imbalance",
			     "cause=routing severity=warning within=150s since=90s", draw_node_of(draw, port));
}

static bool nic_unused(struct draw *draw, int64_t at_s)
{
	uint32_t port;

	return draw->kind == NET_SHAPE_RAIL && draw_hca(draw, &port) &&
	       draw_add_node(draw, at_s, "leave main", "", "nic-unused", "within=16m", draw_node_of(draw, port));
}

static bool fallen_back(struct draw *draw, int64_t at_s)
{
	const char *name;
	size_t host;

	if (draw->kind != NET_SHAPE_RAIL || !draw_host(draw, &host))
		return false;
	name = draw->hosts.hosts[host].name;
	/* Only the job's duration distinguishes it from the job's end. */
	text_appendf(draw->text, "length 45m\nat %ds leave main hosts=%s\nexpect nic-unused host:%s within=16m\n",
		     (int)at_s + 600, name, name);
	return true;
}

/*
 * Without a subnet manager the tables do not change, also when a fault makes it necessary. The collector
 * queries other subnet managers once a minute, so a second master is found later.
 */
static bool sm_lost(struct draw *draw, int64_t at_s)
{
	bool stops;

	if (draw->follows_tables)
		return false;
	draw->no_sm = true;
	stops = draw_number(draw, 2);
	text_appendf(draw->text, "at %ds sm %s\nexpect sm-lost any severity=critical within=%s\n"
		     "allow black-hole any\n", (int)at_s, stops ? "stop" : "two", stops ? "80s" : "110s");
	return true;
}

static bool cleared(struct draw *draw, int64_t at_s)
{
	text_appendf(draw->text, "at %ds clear all\nexpect counters-cleared any within=90s\n", (int)at_s);
	return true;
}

static bool handed_over(struct draw *draw, int64_t at_s)
{
	text_appendf(draw->text, "at %ds sm handover\n", (int)at_s);
	return true;
}

static bool black_hole(struct draw *draw, int64_t at_s)
{
	char leaf[DRAW_NAME_SIZE], hca[DRAW_NAME_SIZE];
	uint32_t port, node;

	if (!take_tables(draw) || !draw_switch(draw, draw->leafs, draw->leaf_count, &node) || !draw_hca(draw, &port))
		return false;
	text_appendf(draw->text, "at %ds hole %s %s\nexpect black-hole %s within=2m\n", (int)at_s,
		     draw_node_name(draw, node, leaf), draw_node_name(draw, draw_node_of(draw, port), hca), leaf);
	return true;
}

/* HCAs on one leaf whose partners are all reached by the same uplink, although the tables are balanced. */
static bool collisions(struct draw *draw, int64_t at_s)
{
	const struct fabric *built = draw->built;
	const struct route_table *table;
	char name[DRAW_NAME_SIZE];
	uint32_t leaf, senders[256], i, trunk;
	unsigned sender_count = 0, pairs = 0;
	size_t begin = draw_number(draw, draw->hosts.hca_count);

	if (!draw_switch(draw, draw->leafs, draw->leaf_count, &leaf))
		return false;
	table = routes_find(&draw->world->tables, built->nodes[leaf].guid);
	for (i = built->nodes[leaf].first_port, trunk = 0; i < built->nodes[leaf].first_port + built->nodes[leaf].ports;
	     i++) {
		uint32_t peer = built->ports[i].peer;

		if (peer == FABRIC_NONE)
			continue;
		if (draw_is_switch(draw, draw_node_of(draw, peer)))
			trunk = draw_number(draw, 4) || !trunk ? i : trunk;
		else if (!host_is_management(built->nodes[draw_node_of(draw, peer)].desc))
			senders[sender_count++] = peer;
	}
	text_appendf(draw->text, "job colliding pairs load=0.6 coupled=no starts=later pairs=\"");
	for (size_t j = 0; j < draw->hosts.hca_count && pairs < sender_count && pairs < 10; j++) {
		uint32_t to = draw->hosts.hcas[(begin + j) % draw->hosts.hca_count].port;

		if (draw_peer_node(draw, to) == leaf ||
		    routes_out_port(table, built->ports[to].lid) != built->ports[trunk].num)
			continue;
		text_appendf(draw->text, "%s%s>%s", pairs ? "," : "",
			     built->nodes[draw_node_of(draw, senders[pairs])].name,
			     built->nodes[draw_node_of(draw, to)].name);
		pairs++;
	}
	text_appendf(draw->text, "\"\nat %ds start colliding\nexpect uplink-imbalance %s cause=flows severity=warning "
		     "within=16m\n", (int)at_s, draw_node_name(draw, leaf, name));
	return true;
}

static const struct draw_fault faults[] = {
	{ "a trunk with fewer lanes", NEEDS_NOTHING,
	  .at = { "width", ON_TRUNK, "1x", "2x", 0, 0, "link-degraded", "severity=warning within=110s" } },
	{ "a host's link with fewer lanes", NEEDS_NOTHING,
	  .at = { "width", ON_HOST_LINK, "1x", "2x", 0, 0, "link-degraded", "severity=warning within=110s" } },
	{ "a link at a lower speed", NEEDS_NOTHING,
	  .at = { "speed", ON_LINK, "EDR", "FDR", 0, 0, "link-degraded", "severity=warning within=110s" } },
	{ "a flapping link", NEEDS_TRAFFIC, .draw = flapping_link },
	{ "symbol errors", NEEDS_NOTHING,
	  .at = { "errors", ON_LINK, "symbol_errors=%d", NULL, 200, 5000,
	    "symbol-errors", "severity=warning within=10m" } },
	{ "receive errors, with echoes", NEEDS_TRAFFIC,
	  .at = { "errors", ON_LINK, "rcv_errors=%d echo=0.8", NULL, 120, 5000,
	    "receive-errors", "severity=warning within=10m" } },
	{ "discards on a trunk", NEEDS_NOTHING,
	  .at = { "errors", ON_TRUNK, "xmit_discards=%d", NULL, 1800, 30000,
	    "xmit-discards", "severity=warning within=10m" } },
	{ "discards towards a host", NEEDS_NOTHING,
	  .at = { "errors", ON_HOST_LINK, "xmit_discards=%d", NULL, 6000, 30000, "xmit-discards", "within=10m" } },
	{ "a trunk that is down", NEEDS_TRAFFIC,
	  .at = { "down", ON_TRUNK, "", NULL, 0, 0, "link-down", "severity=warning within=80s" } },
	{ "a dead HCA", NEEDS_NOTHING, .draw = dead_hca },
	{ "a silent HCA", NEEDS_NOTHING,
	  .at = { "silent", AT_HCA, "", NULL, 0, 0, "node-silent", "severity=warning within=80s" } },
	{ "a silent switch", NEEDS_NOTHING,
	  .at = { "silent", AT_SWITCH, "", NULL, 0, 0, "node-silent", "severity=critical within=80s" } },
	/* Not an HCA: it gets no SMP between discoveries, so its lock is not detected. */
	{ "a locked node", NEEDS_NOTHING,
	  .at = { "lock", AT_MIRRORED_SPINE, "", NULL, 0, 0, "locked", "within=80s" } },
	{ "a rebooted host", NEEDS_NOTHING, .draw = rebooted_host },
	{ "a rack without power", NEEDS_NOTHING, .draw = dead_rack },
	{ "a dead spine", NEEDS_TRAFFIC,
	  .at = { "off", AT_SPINE, "", NULL, 0, 0, "node-missing", "severity=warning within=80s" } },
	{ "a dead leaf", NEEDS_TRAFFIC, .draw = dead_leaf },
	{ "two cables swapped between rails", NEEDS_NOTHING, .draw = swapped_cables },
	{ "a missing cable", NEEDS_TRAFFIC, .draw = missing_cable },
	{ "a leaf's routes skewed", NEEDS_TRAFFIC, .draw = skewed_leaf },
	{ "a leaf's routes skewed", NEEDS_TRAFFIC, .draw = skewed_leaf },
	{ "a spine's routes skewed", NEEDS_TRAFFIC, .draw = skewed_spine },
	{ "an HCA that its job does not use", NEEDS_TRAFFIC, .draw = nic_unused },
	{ "a host that fell back to TCP", NEEDS_TRAFFIC, .draw = fallen_back },
	{ "no subnet manager, or two", NEEDS_TRAFFIC, .draw = sm_lost },
	{ "counters cleared by another tool", NEEDS_NOTHING, .draw = cleared },
	{ "a new subnet manager", NEEDS_NOTHING, .draw = handed_over },
	{ "a black hole", NEEDS_NOTHING, .draw = black_hole },
	{ "collisions on even tables", NEEDS_QUIET, .draw = collisions },
};

const struct draw_fault *draw_faults(size_t *ret_count)
{
	*ret_count = sizeof(faults) / sizeof(faults[0]);
	return faults;
}

bool draw_fault(struct draw *draw, const struct draw_fault *fault, int64_t at_s)
{
	return fault->draw ? fault->draw(draw, at_s) : draw_place_fault(draw, at_s, &fault->at);
}
