/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Rules about the fabric as a whole: coverage, subnet manager, M_Keys, counter resets, topology,
 * forwarding tables, cabling, and the log of the database.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/health/state.h"
#include "base/array.h"
#include "base/clock.h"
#include "fabric/routes.h"
#include "fabric/shape.h"

/* From these numbers on, findings of one kind are merged into one of the fabric. */
enum { MANY_LOCKED = 8, MANY_CLEARED = 10, MANY_FULL = 10, MANY_TABLES = 8 };

static struct health_case fabric_case(enum finding_kind kind, enum finding_severity severity, uint8_t tag,
				      int64_t since_wall_us, const char *cause)
{
	return (struct health_case){ .kind = kind, .severity = severity, .node = HEALTH_NONE, .port = HEALTH_NONE,
				     .peer = HEALTH_NONE, .tag = tag, .since_wall_us = since_wall_us, .cause = cause };
}

static struct health_open_finding *hold_fabric(struct health *health, const struct health_case *what,
					       const char *subject)
{
	struct health_open_finding *open = health_hold(health, what);

	if (open)
		health_subject(open, "%s", subject);
	return open;
}

/*
 * Switches respond, and no HCA except that of this host does: an access problem, not faults of the
 * HCAs.
 */
static bool is_only_hcas(const struct health *health)
{
	uint32_t polled = 0, responded = 0, switches = 0;

	for (size_t i = 0; i < health->node_count; i++) {
		const struct health_node *node = &health->nodes[i];

		if (!node->polled || (node->now != HEALTH_NONE && node->now == health->input->fabric->from_node))
			continue;
		if (node->type == NODE_SWITCH) {
			switches += node->responded > 0;
		} else {
			polled++;
			responded += node->responded > 0;
		}
	}
	return polled >= 2 && !responded && switches;
}

static const char *coverage_cause(const struct health *health, uint64_t missing, uint64_t unread)
{
	if (unread * 2 > missing)
		return "sweep-cut";
	if (health->unidentified * 2 > missing)
		return "unidentified-nodes";
	return is_only_hcas(health) ? "hcas-silent" : "silent";
}

static void check_coverage(struct health *health)
{
	const struct health_limits *limits = &health->settings.limits[FINDING_COVERAGE];
	/* Behind each link to an unidentified node is at least one port that is not read. */
	uint64_t all = health->unidentified, missing = health->unidentified, unread = 0;
	struct health_open_finding *open;
	struct health_case what;
	const char *cause;
	double percent;

	for (size_t i = 0; i < health->node_count; i++) {
		const struct health_node *node = &health->nodes[i];

		all += node->polled + node->unread;
		/* An unresponsive node has a finding of its own, except during a mass failure. */
		if (node->silent && !health->mass_silence)
			continue;
		missing += node->polled - node->responded + node->unread;
		unread += node->unread;
	}
	percent = all ? 100.0 - 100.0 * (double)missing / (double)all : 100;
	if (!health_debounce(health, &health->coverage, percent < limits->warning, FINDING_COVERAGE, 0))
		return;
	cause = coverage_cause(health, missing, unread);
	what = fabric_case(FINDING_COVERAGE, percent < limits->critical ? FINDING_CRITICAL : FINDING_WARNING, 0,
			   health->coverage.bad_wall_us, cause);
	open = hold_fabric(health, &what, "fabric");
	if (!open)
		return;
	if (!strcmp(cause, "hcas-silent"))
		health_text(open,
			    "%.1f %% of %llu ports were read (threshold %.0f %%); switches respond and HCAs do not: "
			    "a PM_Key is set, or this host is not a full member of the default partition",
			    percent, (unsigned long long)all, limits->warning);
	else if (!strcmp(cause, "unidentified-nodes"))
		health_text(open,
			    "%.1f %% of %llu ports were read (threshold %.0f %%); %zu have a link to an unidentified "
			    "node, which has not responded to any discovery: it hangs, or has an M_Key",
			    percent, (unsigned long long)all, limits->warning, health->unidentified);
	else
		health_text(open,
			    "%.1f %% of %llu ports were read (threshold %.0f %%); %llu were not reached before the end "
			    "of the sweep, %u nodes are unresponsive",
			    percent, (unsigned long long)all, limits->warning, (unsigned long long)unread,
			    health->nodes_silent);
	health_number(open, "coverage_percent", percent);
	health_number(open, "ports_missing", (double)missing);
	health_number(open, "ports_to_unidentified_nodes", (double)health->unidentified);
	health_number(open, "nodes_silent", health->nodes_silent);
}

static void check_sm_lost(struct health *health)
{
	struct health_open_finding *open;
	struct health_case what;
	char since[32];

	if (!health_debounce(health, &health->sm_lost, !health->input->sm_known, FINDING_SM_LOST, 0))
		return;
	what = fabric_case(FINDING_SM_LOST, FINDING_CRITICAL, 0, health->sm_lost.bad_wall_us, "lost");
	open = hold_fabric(health, &what, "subnet manager");
	if (!open)
		return;
	health_text(open, "no master SM has responded for %s (%u sweeps); new links will stay in Init",
		    health_duration(health->now_us - health->sm_lost.good_us, since), health->sm_lost.sweeps);
	health_number(open, "lost_s", (double)(health->now_us - health->sm_lost.good_us) / SECOND_US);
}

static void check_sm_duplicates(struct health *health)
{
	struct health_open_finding *open;
	struct health_case what;

	/* During a handover two SMs may be master for a moment. */
	if (!health_debounce(health, &health->sm_duplicate, health->input->sm_masters >= 2, FINDING_SM_LOST, 1))
		return;
	what = fabric_case(FINDING_SM_LOST, FINDING_CRITICAL, 1, health->sm_duplicate.bad_wall_us, "two-masters");
	open = hold_fabric(health, &what, "subnet manager");
	if (!open)
		return;
	health_text(open, "%u subnet managers claim to be master of this fabric; exactly one is allowed",
		    health->input->sm_masters);
	health_number(open, "masters", health->input->sm_masters);
}

static void check_sm_handover(struct health *health)
{
	const struct health_input *input = health->input;
	struct health_open_finding *open;
	struct health_case what;
	uint64_t was = health->sm_guid;

	if (!input->sm_known || !input->sm_guid)
		return;
	health->sm_guid = input->sm_guid;
	if (!was || was == input->sm_guid)
		return;
	what = fabric_case(FINDING_SM_LOST, FINDING_INFO, 2, health->wall_us, "handover");
	open = hold_fabric(health, &what, "subnet manager");
	if (open)
		health_text(open, "the master SM changed to 0x%016llx from 0x%016llx",
			    (unsigned long long)input->sm_guid,
			    (unsigned long long)was);
}

static void check_locked(struct health *health)
{
	const struct health_input *input = health->input;
	struct health_open_finding *open;
	struct health_case what;
	uint32_t at;

	if (input->locked_count > MANY_LOCKED) {
		what = fabric_case(FINDING_LOCKED, FINDING_INFO, 0, health->wall_us, "m-key");
		open = hold_fabric(health, &what, "fabric");
		if (open) {
			health_text(open,
				    "%zu nodes respond to performance queries, but not to SMPs without their M_Key",
				    input->locked_count);
			health_number(open, "nodes", (double)input->locked_count);
		}
		return;
	}
	for (size_t i = 0; i < input->locked_count; i++) {
		if (!map_get(&health->by_guid, input->locked_guids[i], &at))
			continue;
		what = fabric_case(FINDING_LOCKED, FINDING_INFO, 0, health->wall_us, "m-key");
		what.node = at;
		open = hold_fabric(health, &what, health->nodes[at].name);
		if (open)
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
	struct health_case what = fabric_case(FINDING_COUNTERS_CLEARED, FINDING_INFO, 0, cleared->wall_us, "somebody");
	struct health_open_finding *open;
	char label[HEALTH_LABEL];

	what.port = cleared->port;
	open = hold_fabric(health, &what, health_port_label(health, cleared->port, label));
	if (open)
		health_text(open, "counters were reset externally (ibwire clear, perfquery), or the device restarted");
}

/*
 * Many resets within a minute are one finding: of the node if all of its ports are on one, else of
 * the fabric.
 */
static void hold_many_cleared(struct health *health, size_t ports)
{
	uint32_t node = health->ports[health->resets.list[0].port].node;
	struct health_case what = fabric_case(FINDING_COUNTERS_CLEARED, FINDING_INFO, 0, health->resets.list[0].wall_us,
					      "somebody");
	struct health_open_finding *open;

	for (size_t i = 0; i < health->resets.count; i++) {
		if (health->ports[health->resets.list[i].port].node != node)
			node = HEALTH_NONE;
		if (health->resets.list[i].wall_us < what.since_wall_us)
			what.since_wall_us = health->resets.list[i].wall_us;
		if (node == HEALTH_NONE)
			break;
	}
	what.node = node;
	open = hold_fabric(health, &what, node == HEALTH_NONE ? "fabric" : health->nodes[node].name);
	if (!open)
		return;
	health_text(open, "counters of %zu ports were reset externally within a minute (ibwire clear, perfquery), or a "
		    "device restarted", ports);
	health_number(open, "ports", (double)ports);
}

/* Resets are reported a minute after the first, when their number is known. */
static void check_resets(struct health *health)
{
	size_t ports = 0;

	if (!health->resets.count || health->now_us - health->resets.first_us < MINUTE_US)
		return;
	qsort(health->resets.list, health->resets.count, sizeof(*health->resets.list), compare_ports);
	for (size_t i = 0; i < health->resets.count; i++)
		ports += !i || health->resets.list[i].port != health->resets.list[i - 1].port;
	if (ports >= MANY_CLEARED)
		hold_many_cleared(health, ports);
	for (size_t i = 0; ports < MANY_CLEARED && i < health->resets.count; i++)
		if (!i || health->resets.list[i].port != health->resets.list[i - 1].port)
			hold_cleared(health, &health->resets.list[i]);
	health->resets.count = 0;
}

static void check_saturated(struct health *health)
{
	struct health_case what = fabric_case(FINDING_COUNTER_SATURATED, FINDING_INFO, 0, health->wall_us, "full");
	struct health_open_finding *open;
	char label[HEALTH_LABEL];
	uint32_t saturated = 0;

	for (uint32_t i = 0; i < health->port_count; i++)
		saturated += health->ports[i].saturated;
	if (saturated >= MANY_FULL) {
		open = hold_fabric(health, &what, "fabric");
		if (open) {
			health_text(open, "error counters of %u ports are saturated; further errors are not counted",
				    saturated);
			health_number(open, "ports", saturated);
		}
		return;
	}
	for (uint32_t i = 0; saturated && i < health->port_count; i++) {
		if (!health->ports[i].saturated)
			continue;
		what.port = i;
		open = hold_fabric(health, &what, health_port_label(health, i, label));
		if (open)
			health_text(open, "an error counter is saturated; further errors are not counted");
	}
}

static void check_topology(struct health *health)
{
	struct health_case what = fabric_case(FINDING_TOPOLOGY_CHANGED, FINDING_INFO, 0, health->wall_us, "cabling");
	struct health_open_finding *open;
	uint32_t nodes = health->changes.nodes_added + health->changes.nodes_gone;

	if (!nodes && !health->changes.links_added && !health->changes.links_moved && !health->changes.links_gone)
		return;
	open = hold_fabric(health, &what, "fabric");
	if (!open)
		return;
	health_text(open, "nodes: %u added, %u removed; links: %u added, %u moved, %u removed with their nodes",
		    health->changes.nodes_added, health->changes.nodes_gone, health->changes.links_added,
		    health->changes.links_moved, health->changes.links_gone);
	health_number(open, "nodes_added", health->changes.nodes_added);
	health_number(open, "nodes_gone", health->changes.nodes_gone);
	health_number(open, "links_added", health->changes.links_added);
	health_number(open, "links_moved", health->changes.links_moved);
	health_number(open, "links_gone", health->changes.links_gone);
}

static void hold_many_table_changes(struct health *health, int64_t since_wall_us, double entries)
{
	struct health_case what = fabric_case(FINDING_ROUTES_CHANGED, FINDING_INFO, 0, since_wall_us, "subnet-manager");
	struct health_open_finding *open = hold_fabric(health, &what, "fabric");

	if (!open)
		return;
	health_text(open, "forwarding tables of %zu switches changed: %.0f entries; the subnet manager rerouted",
		    health->input->routes_changed_count, entries);
	health_number(open, "switches", (double)health->input->routes_changed_count);
	health_number(open, "entries", entries);
}

static void check_table_changes(struct health *health)
{
	const struct health_input *input = health->input;
	int64_t since = input->routes_changed_us ? input->routes_changed_us : health->wall_us;
	struct health_open_finding *open;
	struct health_case what;
	double entries, all = 0;
	uint32_t at;

	for (size_t i = 0; i < input->routes_changed_count; i++) {
		if (!map_get(&health->by_guid, input->routes_changed_guids[i], &at))
			continue;
		entries = input->routes_changed_entries ? input->routes_changed_entries[i] : 0;
		all += entries;
		if (input->routes_changed_count > MANY_TABLES)
			continue;
		what = fabric_case(FINDING_ROUTES_CHANGED, FINDING_INFO, 0, since, "subnet-manager");
		what.node = at;
		open = hold_fabric(health, &what, health->nodes[at].name);
		if (!open)
			continue;
		health_text(open, "%.0f entries of the forwarding table of %s changed", entries,
			    health->nodes[at].name);
		health_number(open, "entries", entries);
		health_add_affected_below(health, open, at);
	}
	if (input->routes_changed_count > MANY_TABLES)
		hold_many_table_changes(health, since, all);
}

/* A switch at which routes end, for @lids destinations as seen from @from switches. */
struct route_hole { uint32_t node; uint32_t lids, from; enum route_end end; };

static void record_hole(void *ctx, enum route_end end, uint32_t node, uint32_t lids, uint32_t from)
{
	struct health *health = ctx;
	struct route_hole *grown = array_grow(health->routes.holes, health->routes.hole_count,
					      &health->routes.hole_capacity,
					       sizeof(*grown));
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
	static const char *const causes[] = { [ROUTE_ARRIVES] = "", [ROUTE_UNKNOWN] = "",
		[ROUTE_BLACK_HOLE] = "no-route",
					      [ROUTE_DOWN] = "down-link", [ROUTE_LOOP] = "loop",
					      [ROUTE_WRONG_END] = "wrong-end" };
	static const char *const ends[] = { [ROUTE_ARRIVES] = "", [ROUTE_UNKNOWN] = "",
					    [ROUTE_BLACK_HOLE] = "has no LFT entry for",
					    [ROUTE_DOWN] = "forwards to a link that is down, for",
					    [ROUTE_LOOP] = "is on a routing loop for",
					    [ROUTE_WRONG_END] = "forwards to the wrong port, for" };
	const struct health_node *node = &health->nodes[hole->node];
	struct health_case what = fabric_case(FINDING_BLACK_HOLE, FINDING_CRITICAL, 0, node->hole_wall_us,
					      causes[hole->end]);
	struct health_open_finding *open;

	what.node = hole->node;
	open = hold_fabric(health, &what, node->name);
	if (!open)
		return;
	health_text(open, "%s %s %u reachable LID%s, as seen from %u switch%s; threshold: 1", node->name,
		    ends[hole->end], hole->lids, hole->lids == 1 ? "" : "s", hole->from, hole->from == 1 ? "" : "es");
	health_number(open, "lids", hole->lids);
	health_number(open, "from_switches", hole->from);
	health_add_affected_below(health, open, hole->node);
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

/* Holes of a table that changed start now: they may be different ones. */
static void restart_holes(struct health *health)
{
	const struct health_input *input = health->input;
	uint32_t at;

	for (size_t i = 0; i < input->routes_changed_count; i++)
		if (map_get(&health->by_guid, input->routes_changed_guids[i], &at) && health->nodes[at].hole_us &&
		    !health_find(health, FINDING_BLACK_HOLE, health->nodes[at].guid, 0, 0))
			health->nodes[at].hole_us = health->now_us;
}

/* Check all routes. A node keeps the time at which routes were first seen to end there. */
static void update_holes(struct health *health)
{
	const struct health_input *input = health->input;

	health->routes.checked_generation = health->generation;
	health->routes.checked_us = health->now_us;
	health->routes.first_reads = false;
	health->routes.hole_count = 0;
	restart_holes(health);
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
		struct health_case what = fabric_case(FINDING_UPLINKS_MISSING, FINDING_INFO, 0, health->wall_us,
						      "cabling");
		struct health_open_finding *open;
		uint32_t low, high;

		if (!map_get(&health->by_guid, fabric->nodes[missing->low].guid, &low) ||
		    !map_get(&health->by_guid, fabric->nodes[missing->high].guid, &high) ||
		    missing->links + links_down_between(health, low, high) >= missing->expected)
			continue;
		what.node = low;
		/* A switch may lack cables to several switches. */
		what.tag = (uint8_t)(map_mix(health->nodes[high].guid) % 255 + 1);
		open = health_hold(health, &what);
		if (!open)
			continue;
		open->finding.peer_guid = health->nodes[high].guid;
		health_subject(open, "%.77s - %.77s", health->nodes[low].name, health->nodes[high].name);
		health_text(open, "%u of the %u cables that comparable pairs of switches have", missing->links,
			    missing->expected);
		health_number(open, "links", missing->links);
		health_number(open, "links_expected", missing->expected);
	}
}

static void check_log(struct health *health)
{
	const struct health_input *input = health->input;
	struct health_case what = fabric_case(FINDING_LOG_GROWING, FINDING_WARNING, 0, health->wall_us, "reader");
	struct health_open_finding *open = input->log_bytes ? hold_fabric(health, &what, "database") : NULL;

	if (!open)
		return;
	health_text(open,
		    "the write-ahead log of the database has grown to %.0f MB (threshold: 64 MB); it cannot be "
		    "truncated while %s holds a read transaction open", (double)input->log_bytes / 1e6,
		    *input->log_holders ? input->log_holders : "a process that is not visible to the collector");
	health_number(open, "log_bytes", (double)input->log_bytes);
}

static void check_store(struct health *health)
{
	const struct health_input *input = health->input;
	struct health_case what = fabric_case(FINDING_STORE_STALLED, FINDING_WARNING, 0,
					      health->wall_us - input->stalled_us, "database");
	struct health_open_finding *open = input->stalled_us >= 30 * US_PER_S ? hold_fabric(health, &what, "database")
									       : NULL;

	if (!open)
		return;
	health_text(open, "no sweep could be stored for %.0f s (threshold: 30 s): %.200s",
		    (double)input->stalled_us / US_PER_S, input->stall_reason);
	health_number(open, "stalled_s", (double)input->stalled_us / US_PER_S);
}

void health_fabric(struct health *health)
{
	check_coverage(health);
	check_sm_lost(health);
	check_sm_duplicates(health);
	check_sm_handover(health);
	check_locked(health);
	check_resets(health);
	check_saturated(health);
	check_topology(health);
	check_table_changes(health);
	check_holes(health);
	check_missing_uplinks(health);
	health_expected(health);
	health_miswired(health);
	check_log(health);
	check_store(health);
}
