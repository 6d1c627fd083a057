/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Rules about the fabric as a whole: subnet manager, M_Keys, counter resets, topology, forwarding
 * tables, cabling, and the database.
 */
#include <stdio.h>
#include <stdlib.h>

#include "analysis/health/state.h"
#include "base/array.h"
#include "base/clock.h"
#include "fabric/routes.h"
#include "fabric/shape.h"

/* Tag of FINDING_TOPOLOGY_CHANGED: fewer than expected. */
enum { EXPECTED_TAG = 1 };

/* From these numbers on, findings of one kind are merged into one of the fabric. */
enum { MANY_LOCKED = 8, MANY_CLEARED = 10, MANY_FULL = 10, MANY_TABLES = 8 };

static struct health_open_finding *hold(struct health *health, enum finding_kind kind, enum finding_severity severity,
					const struct health_node *node, int64_t since_wall_us, const char *cause)
{
	return health_hold(health, &(struct health_case){ .kind = kind, .severity = severity, .node = node,
							  .since_wall_us = since_wall_us, .cause = cause });
}

static struct health_open_finding *hold_sm(struct health *health, enum finding_severity severity, uint8_t tag,
					   int64_t since_wall_us, const char *cause)
{
	return health_hold(health, &(struct health_case){
		.kind = FINDING_SM_LOST, .severity = severity, .tag = tag, .since_wall_us = since_wall_us,
		.cause = cause, .subject = "subnet manager" });
}

static bool sm_lasts(struct health *health, struct debounce *debounce, bool bad, uint8_t tag)
{
	return health_debounce(health, debounce, bad, health->settings.silent_sweeps, health->settings.silent_after_us,
			       health_find(health, FINDING_SM_LOST, 0, 0, tag));
}

static void check_sm(struct health *health)
{
	const struct health_input *input = health->input;
	struct health_open_finding *open;
	uint64_t was = health->sm_guid;
	char since[32];

	if (sm_lasts(health, &health->sm_lost, !input->sm_known, 0)) {
		int64_t lost_us = health->now_us - health->sm_lost.good_us;

		open = hold_sm(health, FINDING_CRITICAL, 0, health->sm_lost.bad_wall_us, "lost");
		health_text(open, "no master SM has responded for %s (%u sweeps); new links will stay in Init",
			    health_duration(lost_us, since), health->sm_lost.sweeps);
		health_number(open, "lost_s", (double)lost_us / SECOND_US);
	}
	/* During a handover two SMs may be master for a moment. */
	if (sm_lasts(health, &health->sm_duplicate, input->sm_masters >= 2, 1)) {
		open = hold_sm(health, FINDING_CRITICAL, 1, health->sm_duplicate.bad_wall_us, "two-masters");
		health_text(open, "%u subnet managers claim to be master of this fabric; exactly one is allowed",
			    input->sm_masters);
		health_number(open, "masters", input->sm_masters);
	}
	if (!input->sm_known || !input->sm_guid)
		return;
	health->sm_guid = input->sm_guid;
	if (!was || was == input->sm_guid)
		return;
	open = hold_sm(health, FINDING_INFO, 2, health->wall_us, "handover");
	health_text(open, "the master SM changed to 0x%016llx from 0x%016llx", (unsigned long long)input->sm_guid,
		    (unsigned long long)was);
}

static void check_locked(struct health *health)
{
	const struct health_input *input = health->input;
	struct health_open_finding *open;
	uint32_t at;

	if (input->locked_count > MANY_LOCKED) {
		open = hold(health, FINDING_LOCKED, FINDING_INFO, NULL, health->wall_us, "m-key");
		health_text(open, "%zu nodes respond to performance queries, but not to SMPs without their M_Key",
			    input->locked_count);
		health_number(open, "nodes", (double)input->locked_count);
		return;
	}
	for (size_t i = 0; i < input->locked_count; i++) {
		if (!map_get(&health->by_guid, input->locked_guids[i], &at))
			continue;
		open = hold(health, FINDING_LOCKED, FINDING_INFO, &health->nodes[at], health->wall_us, "m-key");
		health_text(open, "%s responds to performance queries, but not to SMPs without its M_Key",
			    health->nodes[at].name);
	}
}

static int compare_ports(const void *a, const void *b)
{
	const struct reset_port *x = a, *y = b;

	return (x->port > y->port) - (x->port < y->port);
}

static void hold_cleared(struct health *health, const struct reset_port *cleared)
{
	struct health_open_finding *open = health_hold(health, &(struct health_case){
		.kind = FINDING_COUNTERS_CLEARED, .severity = FINDING_INFO, .port = &health->ports[cleared->port],
		.since_wall_us = cleared->wall_us, .cause = "external" });

	health_text(open, "counters were reset externally (ibwire clear, perfquery), or the device restarted");
}

/*
 * Many resets within a minute are one finding: of the node if all of its ports are on one, else of
 * the fabric.
 */
static void hold_many_cleared(struct health *health, size_t ports)
{
	uint32_t node = health->ports[health->resets.list[0].port].node;
	int64_t since_wall_us = INT64_MAX;
	struct health_open_finding *open;

	for (size_t i = 0; i < health->resets.count; i++) {
		if (health->ports[health->resets.list[i].port].node != node)
			node = HEALTH_NONE;
		if (health->resets.list[i].wall_us < since_wall_us)
			since_wall_us = health->resets.list[i].wall_us;
		if (node == HEALTH_NONE)
			break;
	}
	open = hold(health, FINDING_COUNTERS_CLEARED, FINDING_INFO, node == HEALTH_NONE ? NULL : &health->nodes[node],
		    since_wall_us, "external");
	health_text(open, "counters of %zu ports were reset externally within a minute (ibwire clear, perfquery), or a "
		    "device restarted", ports);
	health_number(open, "ports", (double)ports);
}

/* Resets are reported a minute after the first, when their number is known. */
static void check_resets(struct health *health)
{
	struct reset_port *list = health->resets.list;
	size_t ports = 0;

	if (!health->resets.count || health->now_us - health->resets.first_us < MINUTE_US)
		return;
	qsort(list, health->resets.count, sizeof(*list), compare_ports);
	for (size_t i = 0; i < health->resets.count; i++)
		ports += !i || list[i].port != list[i - 1].port;
	if (ports >= MANY_CLEARED)
		hold_many_cleared(health, ports);
	for (size_t i = 0; ports < MANY_CLEARED && i < health->resets.count; i++)
		if (!i || list[i].port != list[i - 1].port)
			hold_cleared(health, &list[i]);
	health->resets.count = 0;
}

static void check_saturated(struct health *health)
{
	struct health_open_finding *open;
	uint32_t saturated = 0;

	for (uint32_t i = 0; i < health->port_count; i++)
		saturated += health->ports[i].saturated;
	if (saturated >= MANY_FULL) {
		open = hold(health, FINDING_COUNTER_SATURATED, FINDING_INFO, NULL, health->wall_us, "full");
		health_text(open, "error counters of %u ports are saturated; further errors are not counted",
			    saturated);
		health_number(open, "ports", saturated);
		return;
	}
	for (uint32_t i = 0; saturated && i < health->port_count; i++) {
		if (!health->ports[i].saturated)
			continue;
		open = health_hold(health, &(struct health_case){
			.kind = FINDING_COUNTER_SATURATED, .severity = FINDING_INFO, .port = &health->ports[i],
			.cause = "full" });
		health_text(open, "an error counter is saturated; further errors are not counted");
	}
}

static void check_topology(struct health *health)
{
	uint32_t added = health->changes.nodes_added, removed = health->changes.nodes_removed;
	uint32_t links_added = health->changes.links_added, links_moved = health->changes.links_moved;
	uint32_t links_removed = health->changes.links_removed;
	struct health_open_finding *open;

	if (!added && !removed && !links_added && !links_moved && !links_removed)
		return;
	open = hold(health, FINDING_TOPOLOGY_CHANGED, FINDING_INFO, NULL, health->wall_us, "cabling");
	health_text(open, "nodes: %u added, %u removed; links: %u added, %u moved, %u removed with their nodes",
		    added, removed, links_added, links_moved, links_removed);
	health_number(open, "nodes_added", added);
	health_number(open, "nodes_gone", removed);
	health_number(open, "links_added", links_added);
	health_number(open, "links_moved", links_moved);
	health_number(open, "links_gone", links_removed);
}

struct counted {
	const char *what, *key;
	unsigned expected, found;
};

enum { HOSTS, HCAS, SWITCHES, LINKS, COUNTED };

static void count_parts(const struct health *health, struct counted ret[COUNTED])
{
	const struct health_settings *settings = &health->settings;
	const struct fabric *fabric = health->input->fabric;

	ret[HOSTS] = (struct counted){ "hosts", "hosts_found", settings->expected_hosts,
				       (unsigned)health->input->shape->host_count };
	ret[HCAS] = (struct counted){ "HCAs", "hcas_found", settings->expected_hcas, 0 };
	ret[SWITCHES] = (struct counted){ "switches", "switches_found", settings->expected_switches, 0 };
	ret[LINKS] = (struct counted){ "Active links", "links_found", settings->expected_links, 0 };
	for (size_t i = 0; i < fabric->node_count; i++) {
		ret[SWITCHES].found += fabric->nodes[i].type == NODE_SWITCH;
		ret[HCAS].found += fabric->nodes[i].type == NODE_CA && !node_is_aggregation(&fabric->nodes[i]);
	}
	for (uint32_t i = 0; i < fabric->port_count; i++) {
		const struct port *port = &fabric->ports[i];

		ret[LINKS].found += port->peer != FABRIC_NONE && i < port->peer && port->state == PORT_ACTIVE &&
				    fabric->ports[port->peer].state == PORT_ACTIVE;
	}
}

/* Fewer hosts, HCAs, switches or links than the settings expect. */
static void check_expected(struct health *health)
{
	bool is_open = health_find(health, FINDING_TOPOLOGY_CHANGED, 0, 0, EXPECTED_TAG);
	struct health_open_finding *open;
	struct counted counted[COUNTED];
	char text[200] = "";
	size_t len = 0;

	count_parts(health, counted);
	for (int i = 0; i < COUNTED; i++)
		if (counted[i].found < counted[i].expected)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%u of %u %s", len ? ", " : "",
						counted[i].found, counted[i].expected, counted[i].what);
	/* Nodes that boot come back, so the delay is that of a missing host. */
	if (!health_debounce(health, &health->expected, len > 0, 0, health->settings.missing_after_us, is_open))
		return;
	open = health_hold(health, &(struct health_case){
		.kind = FINDING_TOPOLOGY_CHANGED, .severity = FINDING_WARNING, .tag = EXPECTED_TAG,
		.since_wall_us = health->expected.bad_wall_us, .cause = "fewer-than-expected" });
	health_text(open, "%s found; warning threshold: all expected by the settings", text);
	for (int i = 0; i < COUNTED; i++)
		if (counted[i].expected)
			health_number(open, counted[i].key, counted[i].found);
}

static void check_table_changes(struct health *health)
{
	const struct health_input *input = health->input;
	int64_t since = input->routes_changed_us ? input->routes_changed_us : health->wall_us;
	bool many = input->routes_changed_count > MANY_TABLES;
	struct health_open_finding *open;
	double all = 0;
	uint32_t at;

	for (size_t i = 0; i < input->routes_changed_count; i++) {
		double entries = input->routes_changed_entries ? input->routes_changed_entries[i] : 0;

		if (!map_get(&health->by_guid, input->routes_changed_guids[i], &at))
			continue;
		all += entries;
		if (many)
			continue;
		open = hold(health, FINDING_ROUTES_CHANGED, FINDING_INFO, &health->nodes[at], since, "subnet-manager");
		health_text(open, "%.0f entries of the forwarding table of %s changed", entries,
			    health->nodes[at].name);
		health_number(open, "entries", entries);
		health_affected_below(health, open, at);
	}
	if (!many)
		return;
	open = hold(health, FINDING_ROUTES_CHANGED, FINDING_INFO, NULL, since, "subnet-manager");
	health_text(open, "forwarding tables of %zu switches changed: %.0f entries; the subnet manager rerouted",
		    input->routes_changed_count, all);
	health_number(open, "switches", (double)input->routes_changed_count);
	health_number(open, "entries", all);
}

/* A switch at which routes end, for @lids destinations as seen from @from switches. */
struct route_hole { uint32_t node; uint32_t lids, from; enum route_end end; };

static void record_hole(void *ctx, enum route_end end, uint32_t node, uint32_t lids, uint32_t from)
{
	struct health *health = ctx;
	struct route_hole *grown = array_grow(health->routes.holes, health->routes.hole_count,
					      &health->routes.hole_capacity, sizeof(*grown));
	uint32_t at;

	if (!grown) {
		health->failed = true;
		return;
	}
	health->routes.holes = grown;
	if (map_get(&health->by_guid, health->input->fabric->nodes[node].guid, &at))
		grown[health->routes.hole_count++] = (struct route_hole){ at, lids, from, end };
}

static void hold_hole(struct health *health, const struct route_hole *hole)
{
	static const struct { const char *cause, *text; } ends[ROUTE_END_COUNT] = {
		[ROUTE_BLACK_HOLE] = { "no-route", "has no LFT entry for" },
		[ROUTE_DOWN] = { "down-link", "forwards to a link that is down, for" },
		[ROUTE_LOOP] = { "loop", "is on a routing loop for" },
		[ROUTE_WRONG_END] = { "wrong-end", "forwards to the wrong port, for" },
	};
	const struct health_node *node = &health->nodes[hole->node];
	struct health_open_finding *open = hold(health, FINDING_BLACK_HOLE, FINDING_CRITICAL, node, node->hole_wall_us,
						ends[hole->end].cause);

	health_text(open, "%s %s %u reachable LID%s, as seen from %u switch%s; threshold: 1", node->name,
		    ends[hole->end].text, hole->lids, hole->lids == 1 ? "" : "s", hole->from,
		    hole->from == 1 ? "" : "es");
	health_number(open, "lids", hole->lids);
	health_number(open, "from_switches", hole->from);
	health_affected_below(health, open, hole->node);
}

/*
 * The table was read after the hole had lasted for down_after; otherwise request a read. A table
 * that was read earlier may have been inconsistent and repaired since.
 */
static bool is_confirmed(struct health *health, const struct route_hole *hole)
{
	struct health_node *node = &health->nodes[hole->node];

	if (node->read_us >= node->hole_us + health->settings.down_after_us)
		return true;
	health_request_table(health, hole->node);
	return false;
}

/* Check all routes. A node keeps the time at which routes were first seen to end there. */
static void update_holes(struct health *health)
{
	const struct health_input *input = health->input;

	health->routes.checked_generation = health->generation;
	health->routes.checked_us = health->now_us;
	health->routes.first_reads = false;
	health->routes.hole_count = 0;
	/* Holes of a table that changed start now: they may be different ones. */
	for (size_t i = 0; i < health->node_count; i++)
		if (health->nodes[i].hole_us && health->nodes[i].routes_us == health->now_us &&
		    !health_find(health, FINDING_BLACK_HOLE, health->nodes[i].guid, 0, 0))
			health->nodes[i].hole_us = health->now_us;
	if (routes_check(input->routes, input->fabric, record_hole, health, NULL) < 0)
		health->failed = true;
	for (size_t i = 0; i < health->routes.hole_count; i++) {
		struct health_node *node = &health->nodes[health->routes.holes[i].node];

		if (!node->hole_us) {
			node->hole_us = health->now_us;
			node->hole_wall_us = input->routes_changed_us ? input->routes_changed_us : health->wall_us;
		}
		node->hole_check = health->step;
	}
	for (size_t i = 0; i < health->node_count; i++)
		if (health->nodes[i].hole_check != health->step)
			health->nodes[i].hole_us = 0;
}

/*
 * Unchanged tables are not checked again: that would dominate the cost of a sweep. Tables that are
 * read one after the other after the start are checked together.
 */
static bool is_check_due(const struct health *health)
{
	return health->input->routes_changed_count || health->routes.checked_generation != health->generation ||
	       (health->routes.first_reads &&
		health->now_us - health->routes.checked_us >= health->settings.down_after_us);
}

static void check_holes(struct health *health)
{
	const struct health_input *input = health->input;

	if (!input->routes || !input->routes->count)
		return;
	if (is_check_due(health))
		update_holes(health);
	for (size_t i = 0; i < health->routes.hole_count; i++) {
		const struct route_hole *hole = &health->routes.holes[i];

		if (health->now_us - health->nodes[hole->node].hole_us >= health->settings.down_after_us &&
		    is_confirmed(health, hole))
			hold_hole(health, hole);
	}
}

/* Known links between two switches that are down: they are not missing. */
static uint32_t links_down_between(const struct health *health, uint32_t low, uint32_t high)
{
	const struct health_node *node = &health->nodes[low];
	uint32_t count = 0;

	for (uint32_t i = node->first_port; i < node->first_port + node->slots; i++) {
		const struct health_port *port = &health->ports[i];

		if (port->peer != HEALTH_NONE && health->ports[port->peer].node == high)
			count += health_link_is_down(health, port);
	}
	return count;
}

static void check_missing_uplinks(struct health *health)
{
	const struct shape *shape = health->input->shape;
	const struct fabric *fabric = health->input->fabric;

	for (size_t i = 0; i < shape->missing_count; i++) {
		const struct shape_missing *missing = &shape->missing[i];
		struct health_open_finding *open;
		uint32_t low, high;

		if (!map_get(&health->by_guid, fabric->nodes[missing->low].guid, &low) ||
		    !map_get(&health->by_guid, fabric->nodes[missing->high].guid, &high) ||
		    missing->links + links_down_between(health, low, high) >= missing->expected)
			continue;
		/* The tag: a switch may lack cables to several switches. */
		open = health_hold(health, &(struct health_case){
			.kind = FINDING_UPLINKS_MISSING, .severity = FINDING_INFO, .node = &health->nodes[low],
			.tag = (uint8_t)(map_mix(health->nodes[high].guid) % 255 + 1), .cause = "cabling" });
		open->finding.peer_guid = health->nodes[high].guid;
		health_subject(open, "%.77s - %.77s", health->nodes[low].name, health->nodes[high].name);
		health_text(open, "%u of the %u cables that comparable pairs of switches have", missing->links,
			    missing->expected);
		health_number(open, "links", missing->links);
		health_number(open, "links_expected", missing->expected);
	}
}

static void check_database(struct health *health)
{
	const struct health_input *input = health->input;
	struct health_open_finding *open;

	if (input->log_bytes) {
		open = health_hold(health, &(struct health_case){
			.kind = FINDING_LOG_GROWING, .severity = FINDING_WARNING, .cause = "reader",
			.subject = "database" });
		health_text(open,
			    "the write-ahead log of the database has grown to %.0f MB (threshold: 64 MB); it cannot be "
			    "truncated while %s holds a read transaction open", (double)input->log_bytes / 1e6,
			    *input->log_holders ? input->log_holders :
						  "a process that is not visible to the collector");
		health_number(open, "log_bytes", (double)input->log_bytes);
	}
	if (input->stalled_us >= 30 * US_PER_S) {
		open = health_hold(health, &(struct health_case){
			.kind = FINDING_STORE_STALLED, .severity = FINDING_WARNING, .cause = "database",
			.since_wall_us = health->wall_us - input->stalled_us, .subject = "database" });
		health_text(open, "no sweep could be stored for %.0f s (threshold: 30 s): %.200s",
			    (double)input->stalled_us / US_PER_S, input->stall_reason);
		health_number(open, "stalled_s", (double)input->stalled_us / US_PER_S);
	}
}

void health_fabric(struct health *health)
{
	health_coverage(health);
	check_sm(health);
	check_locked(health);
	check_resets(health);
	check_saturated(health);
	check_topology(health);
	check_table_changes(health);
	check_holes(health);
	check_missing_uplinks(health);
	check_expected(health);
	health_miswired(health);
	check_database(health);
}
