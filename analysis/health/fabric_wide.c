/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What is of the fabric and not of one link: coverage, the subnet manager, tables, cabling, what others clear. */
#include <stdlib.h>
#include <string.h>

#include "analysis/health/state.h"
#include "base/array.h"
#include "fabric/routes.h"
#include "fabric/shape.h"

/* So many of a kind at once are one finding of the fabric. */
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

/* Has it been so for long enough to be told; what is open goes on at once. */
static bool lasts(struct health *health, enum finding_kind kind, uint8_t tag, unsigned sweeps, int64_t good_us)
{
	const struct health_settings *settings = &health->settings;

	return health_find(health, kind, 0, 0, tag) ||
	       (sweeps >= settings->silent_sweeps && health->now_us - good_us >= settings->silent_after_us);
}

/* Does no HCA answer but this host's own, while switches do? Then it is our rights, and not they. */
static bool is_only_hcas(const struct health *health)
{
	uint32_t asked = 0, answered = 0, switches = 0;
	size_t i;

	for (i = 0; i < health->node_count; i++) {
		const struct health_node *node = &health->nodes[i];

		if (!node->asked || (node->now != HEALTH_NONE && node->now == health->input->fabric->from_node))
			continue;
		if (node->type == NODE_SWITCH) {
			switches += node->answered > 0;
		} else {
			asked++;
			answered += node->answered > 0;
		}
	}
	return asked >= 2 && !answered && switches;
}

static const char *coverage_cause(const struct health *health, uint64_t missing, uint64_t unread)
{
	if (unread * 2 > missing)
		return "sweep-cut";
	if (health->to_nobody * 2 > missing)
		return "nobody-known";
	return is_only_hcas(health) ? "hcas-silent" : "silent";
}

static void judge_coverage(struct health *health)
{
	const struct health_limits *limits = &health->settings.limits[FINDING_COVERAGE];
	/* Behind a link to nobody known is a port at least, which nobody reads. */
	uint64_t all = health->to_nobody, missing = health->to_nobody, unread = 0;
	struct health_open_finding *open;
	struct health_case what;
	const char *cause;
	double percent;
	size_t i;

	for (i = 0; i < health->node_count; i++) {
		const struct health_node *node = &health->nodes[i];

		all += node->asked + node->unread;
		/* A silent node has a finding of its own, unless so many are that this is it. */
		if (node->silent && !health->silence_of_many)
			continue;
		missing += node->asked - node->answered + node->unread;
		unread += node->unread;
	}
	percent = all ? 100.0 - 100.0 * (double)missing / (double)all : 100;
	if (percent >= limits->warning) {
		health->coverage_sweeps = 0;
		health->coverage_good_us = health->now_us;
		return;
	}
	if (!health->coverage_sweeps++)
		health->coverage_bad_wall_us = health->wall_us;
	if (!health->step)
		health->coverage_good_us = health->now_us;
	if (!lasts(health, FINDING_COVERAGE, 0, health->coverage_sweeps, health->coverage_good_us))
		return;
	cause = coverage_cause(health, missing, unread);
	what = fabric_case(FINDING_COVERAGE, percent < limits->critical ? FINDING_CRITICAL : FINDING_WARNING, 0,
			   health->coverage_bad_wall_us, cause);
	open = hold_fabric(health, &what, "fabric");
	if (!open)
		return;
	if (!strcmp(cause, "hcas-silent"))
		health_text(open, "%.1f %% of %llu ports were read; no HCA answers while switches do: a PM_Key is set, "
			    "or this host is no full member of the default partition",
			    percent, (unsigned long long)all);
	else if (!strcmp(cause, "nobody-known"))
		health_text(open, "%.1f %% of %llu ports were read; %zu have a link to nobody known: who is there has "
			    "not answered any discovery, hangs, or has an M_Key",
			    percent, (unsigned long long)all, health->to_nobody);
	else
		health_text(open, "%.1f %% of %llu ports were read, %.0f %% should be; %llu were not come to in time, "
			    "%u nodes are silent",
			    percent, (unsigned long long)all, limits->warning, (unsigned long long)unread,
			    health->nodes_silent);
	health_number(open, "coverage_percent", percent);
	health_number(open, "ports_missing", (double)missing);
	health_number(open, "ports_to_nobody", (double)health->to_nobody);
	health_number(open, "nodes_silent", health->nodes_silent);
}

static void judge_sm_lost(struct health *health)
{
	struct health_open_finding *open;
	struct health_case what;
	char since[32];

	if (health->input->sm_known) {
		health->sm_bad_sweeps = 0;
		health->sm_good_us = health->now_us;
		return;
	}
	if (!health->step)
		health->sm_good_us = health->now_us;
	if (!health->sm_bad_sweeps++)
		health->sm_bad_wall_us = health->wall_us;
	if (!lasts(health, FINDING_SM_LOST, 0, health->sm_bad_sweeps, health->sm_good_us))
		return;
	what = fabric_case(FINDING_SM_LOST, FINDING_CRITICAL, 0, health->sm_bad_wall_us, "lost");
	open = hold_fabric(health, &what, "subnet manager");
	if (!open)
		return;
	health_text(open, "no subnet manager answers as master for %s (%u sweeps): links that come up stay unset",
		    health_duration(health->now_us - health->sm_good_us, since), health->sm_bad_sweeps);
	health_number(open, "lost_s", (double)(health->now_us - health->sm_good_us) / SECOND_US);
}

static void judge_sm_twins(struct health *health)
{
	struct health_open_finding *open;
	struct health_case what;

	if (health->input->sm_masters < 2) {
		health->sm_twin_sweeps = 0;
		health->sm_single_us = health->now_us;
		return;
	}
	if (!health->step)
		health->sm_single_us = health->now_us;
	if (!health->sm_twin_sweeps++)
		health->sm_twin_wall_us = health->wall_us;
	/* In a handover two may say so for a moment. */
	if (!lasts(health, FINDING_SM_LOST, 1, health->sm_twin_sweeps, health->sm_single_us))
		return;
	what = fabric_case(FINDING_SM_LOST, FINDING_CRITICAL, 1, health->sm_twin_wall_us, "two-masters");
	open = hold_fabric(health, &what, "subnet manager");
	if (!open)
		return;
	health_text(open, "%u subnet managers claim to be master of one fabric; there must be one",
		    health->input->sm_masters);
	health_number(open, "masters", health->input->sm_masters);
}

static void judge_sm_moved(struct health *health)
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
		health_text(open, "the master is now 0x%016llx; it was 0x%016llx", (unsigned long long)input->sm_guid,
			    (unsigned long long)was);
}

static void judge_locked(struct health *health)
{
	const struct health_input *input = health->input;
	struct health_open_finding *open;
	struct health_case what;
	size_t i;
	uint32_t at;

	if (input->locked_count > MANY_LOCKED) {
		what = fabric_case(FINDING_LOCKED, FINDING_INFO, 0, health->wall_us, "m-key");
		open = hold_fabric(health, &what, "fabric");
		if (open) {
			health_text(open, "%zu nodes answer for their counters and not to SMPs without their key",
				    input->locked_count);
			health_number(open, "nodes", (double)input->locked_count);
		}
		return;
	}
	for (i = 0; i < input->locked_count; i++) {
		if (!map_get(&health->by_guid, input->locked_guids[i], &at))
			continue;
		what = fabric_case(FINDING_LOCKED, FINDING_INFO, 0, health->wall_us, "m-key");
		what.node = at;
		open = hold_fabric(health, &what, health->nodes[at].name);
		if (open)
			health_text(open, "%s answers for its counters and not to SMPs without its key",
				    health->nodes[at].name);
	}
}

static int by_port(const void *a, const void *b)
{
	const struct health_cleared *x = a, *y = b;

	return (x->port > y->port) - (x->port < y->port);
}

static void hold_cleared(struct health *health, const struct health_cleared *cleared)
{
	struct health_case what = fabric_case(FINDING_COUNTERS_CLEARED, FINDING_INFO, 0, cleared->wall_us, "somebody");
	struct health_open_finding *open;
	char label[HEALTH_LABEL];

	what.port = cleared->port;
	open = hold_fabric(health, &what, health_port_label(health, cleared->port, label));
	if (open)
		health_text(open, "counters fell: somebody cleared them (ibwire clear, perfquery), or its box was "
			    "restarted");
}

/* All of them, within a minute: one. */
static void hold_many_cleared(struct health *health, size_t ports)
{
	uint32_t node = health->ports[health->cleared[0].port].node;
	struct health_case what = fabric_case(FINDING_COUNTERS_CLEARED, FINDING_INFO, 0, health->cleared[0].wall_us,
					      "somebody");
	struct health_open_finding *open;
	size_t i;

	for (i = 0; i < health->cleared_count; i++) {
		if (health->ports[health->cleared[i].port].node != node)
			node = HEALTH_NONE;
		if (health->cleared[i].wall_us < what.since_wall_us)
			what.since_wall_us = health->cleared[i].wall_us;
		if (node == HEALTH_NONE)
			break;
	}
	what.node = node;
	open = hold_fabric(health, &what, node == HEALTH_NONE ? "fabric" : health->nodes[node].name);
	if (!open)
		return;
	health_text(open, "counters of %zu ports fell within a minute: somebody cleared them (ibwire clear, "
		    "perfquery), or a box was restarted", ports);
	health_number(open, "ports", (double)ports);
}

/* A batch is told a minute after its first: then it is known how many there are. */
static void judge_cleared(struct health *health)
{
	size_t i, ports = 0;

	if (!health->cleared_count || health->now_us - health->cleared_us < MINUTE_US)
		return;
	qsort(health->cleared, health->cleared_count, sizeof(*health->cleared), by_port);
	for (i = 0; i < health->cleared_count; i++)
		ports += !i || health->cleared[i].port != health->cleared[i - 1].port;
	if (ports >= MANY_CLEARED)
		hold_many_cleared(health, ports);
	for (i = 0; ports < MANY_CLEARED && i < health->cleared_count; i++)
		if (!i || health->cleared[i].port != health->cleared[i - 1].port)
			hold_cleared(health, &health->cleared[i]);
	health->cleared_count = 0;
}

static void judge_full(struct health *health)
{
	struct health_case what = fabric_case(FINDING_COUNTER_SATURATED, FINDING_INFO, 0, health->wall_us, "full");
	struct health_open_finding *open;
	char label[HEALTH_LABEL];
	uint32_t full = 0, i;

	for (i = 0; i < health->port_count; i++)
		full += health->ports[i].full;
	if (full >= MANY_FULL) {
		open = hold_fabric(health, &what, "fabric");
		if (open) {
			health_text(open, "error counters of %u ports are full: what they count is lost", full);
			health_number(open, "ports", full);
		}
		return;
	}
	for (i = 0; full && i < health->port_count; i++) {
		if (!health->ports[i].full)
			continue;
		what.port = i;
		open = hold_fabric(health, &what, health_port_label(health, i, label));
		if (open)
			health_text(open, "an error counter is full: what it counts is lost");
	}
}

static void judge_topology(struct health *health)
{
	struct health_case what = fabric_case(FINDING_TOPOLOGY_CHANGED, FINDING_INFO, 0, health->wall_us, "cabling");
	struct health_open_finding *open;
	uint32_t nodes = health->nodes_added + health->nodes_gone;

	if (!nodes && !health->links_added && !health->links_moved && !health->links_gone)
		return;
	open = hold_fabric(health, &what, "fabric");
	if (!open)
		return;
	health_text(open, "%u nodes came, %u went; %u links are new, %u moved, %u went with their nodes",
		    health->nodes_added,
		    health->nodes_gone, health->links_added, health->links_moved, health->links_gone);
	health_number(open, "nodes_added", health->nodes_added);
	health_number(open, "nodes_gone", health->nodes_gone);
	health_number(open, "links_added", health->links_added);
	health_number(open, "links_moved", health->links_moved);
	health_number(open, "links_gone", health->links_gone);
}

static void hold_many_tables(struct health *health, int64_t since_wall_us, double entries)
{
	struct health_case what = fabric_case(FINDING_ROUTES_CHANGED, FINDING_INFO, 0, since_wall_us, "subnet-manager");
	struct health_open_finding *open = hold_fabric(health, &what, "fabric");

	if (!open)
		return;
	health_text(open, "tables of %zu switches changed: %.0f entries; the subnet manager routed anew",
		    health->input->routes_changed_count, entries);
	health_number(open, "switches", (double)health->input->routes_changed_count);
	health_number(open, "entries", entries);
}

static void judge_routes(struct health *health)
{
	const struct health_input *input = health->input;
	int64_t since = input->routes_changed_us ? input->routes_changed_us : health->wall_us;
	struct health_open_finding *open;
	struct health_case what;
	double entries, all = 0;
	uint32_t at;
	size_t i;

	for (i = 0; i < input->routes_changed_count; i++) {
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
		health_touch_below(health, open, at);
	}
	if (input->routes_changed_count > MANY_TABLES)
		hold_many_tables(health, since, all);
}

/* A place at which routes end. */
struct health_hole { uint32_t node; uint32_t lids, from; enum route_end end; };

static void take_hole(void *ctx, enum route_end end, uint32_t node, uint32_t lids, uint32_t from)
{
	struct health *health = ctx;
	struct health_hole *grown = array_grow(health->holes, health->hole_count, &health->hole_capacity,
					       sizeof(*grown));
	uint32_t at;

	if (!grown) {
		health->failed = true;
		return;
	}
	health->holes = grown;
	if (map_get(&health->by_guid, health->input->fabric->nodes[node].guid, &at))
		grown[health->hole_count++] = (struct health_hole){ at, lids, from, end };
}

static void hold_hole(struct health *health, const struct health_hole *hole)
{
	static const char *const causes[] = { [ROUTE_ARRIVES] = "", [ROUTE_UNKNOWN] = "",
		[ROUTE_BLACK_HOLE] = "no-route",
					      [ROUTE_DOWN] = "down-link", [ROUTE_LOOP] = "loop",
					      [ROUTE_WRONG_END] = "wrong-end" };
	static const char *const ends[] = { [ROUTE_ARRIVES] = "", [ROUTE_UNKNOWN] = "",
					    [ROUTE_BLACK_HOLE] = "has no port for",
					    [ROUTE_DOWN] = "forwards to a link that is down",
					    [ROUTE_LOOP] = "is on a loop for",
					    [ROUTE_WRONG_END] = "forwards to the wrong end" };
	const struct health_node *node = &health->nodes[hole->node];
	struct health_case what = fabric_case(FINDING_BLACK_HOLE, FINDING_CRITICAL, 0, node->hole_wall_us,
					      causes[hole->end]);
	struct health_open_finding *open;

	what.node = hole->node;
	open = hold_fabric(health, &what, node->name);
	if (!open)
		return;
	health_text(open, "%s %s %u destination%s there, as seen from %u switch%s; none is normal", node->name,
		    ends[hole->end], hole->lids, hole->lids == 1 ? " that is" : "s that are", hole->from,
		    hole->from == 1 ? "" : "es");
	health_number(open, "lids", hole->lids);
	health_number(open, "from_switches", hole->from);
	health_touch_below(health, open, hole->node);
}

/*
 * Has this switch's table been read when the hole had lasted long enough? Else it is asked for. One that was
 * read sooner may have been torn still, and mended since.
 */
static bool is_confirmed(struct health *health, const struct health_hole *hole)
{
	struct health_node *node = &health->nodes[hole->node];

	if (node->read_us >= node->hole_us + health->settings.down_after_us)
		return true;
	health_want(health, hole->node);
	return false;
}

/* A table that was written anew may have other holes than it had: those begin now. */
static void restart_holes(struct health *health)
{
	const struct health_input *input = health->input;
	uint32_t at;
	size_t i;

	for (i = 0; i < input->routes_changed_count; i++)
		if (map_get(&health->by_guid, input->routes_changed_guids[i], &at) && health->nodes[at].hole_us &&
		    !health_find(health, FINDING_BLACK_HOLE, health->nodes[at].guid, 0, 0))
			health->nodes[at].hole_us = health->now_us;
}

/* Look again; a node keeps the time at which its routes were first seen to end. */
static void check_routes(struct health *health)
{
	const struct health_input *input = health->input;
	size_t i;

	health->checked_generation = health->generation;
	health->checked_us = health->now_us;
	health->first_reads = false;
	health->hole_count = 0;
	restart_holes(health);
	if (routes_check(input->routes, input->fabric, take_hole, health, NULL) < 0)
		health->failed = true;
	for (i = 0; i < health->hole_count; i++) {
		struct health_node *node = &health->nodes[health->holes[i].node];

		if (!node->hole_us) {
			node->hole_us = health->now_us;
			node->hole_wall_us = input->routes_changed_us ? input->routes_changed_us : health->wall_us;
		}
		node->hole_check = health->step;
	}
	for (i = 0; i < health->node_count; i++)
		if (health->nodes[i].hole_check != health->step)
			health->nodes[i].hole_us = 0;
}

/*
 * Tables that are read and are as they were need no new look: that would be the dearest part of most sweeps. Those
 * that come one by one at the beginning are looked at together.
 */
static bool is_check_due(const struct health *health)
{
	return health->input->routes_changed_count || health->checked_generation != health->generation ||
	       (health->first_reads && health->now_us - health->checked_us >= health->settings.down_after_us);
}

static void judge_holes(struct health *health)
{
	const struct health_input *input = health->input;
	size_t i;

	if (!input->routes || !input->routes->count)
		return;
	if (is_check_due(health))
		check_routes(health);
	for (i = 0; i < health->hole_count; i++) {
		const struct health_hole *hole = &health->holes[i];

		if (health->now_us - health->nodes[hole->node].hole_us >= health->settings.down_after_us &&
		    is_confirmed(health, hole))
			hold_hole(health, hole);
	}
}

/* Links between two switches that are down and remembered are not missing. */
static uint32_t links_down_between(const struct health *health, uint32_t low, uint32_t high)
{
	const struct health_node *node = &health->nodes[low];
	uint32_t i, count = 0;

	for (i = node->first_port; i < node->first_port + node->slots; i++) {
		const struct health_port *port = &health->ports[i];

		if (port->peer != HEALTH_NONE && health->ports[port->peer].node == high)
			count += health_link_is_down(health, port);
	}
	return count;
}

static void judge_missing(struct health *health)
{
	const struct shape *shape = health->input->shape;
	const struct fabric *fabric = health->input->fabric;
	size_t i;

	for (i = 0; i < shape->missing_count; i++) {
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
		/* A switch may lack cables to several. */
		what.tag = (uint8_t)(map_mix(health->nodes[high].guid) % 255 + 1);
		open = health_hold(health, &what);
		if (!open)
			continue;
		open->finding.peer_guid = health->nodes[high].guid;
		health_subject(open, "%.77s - %.77s", health->nodes[low].name, health->nodes[high].name);
		health_text(open, "%u of %u cables that the switches around them have", missing->links,
			    missing->expected);
		health_number(open, "links", missing->links);
		health_number(open, "links_expected", missing->expected);
	}
}

static void judge_log(struct health *health)
{
	const struct health_input *input = health->input;
	struct health_case what = fabric_case(FINDING_LOG_GROWING, FINDING_WARNING, 0, health->wall_us, "reader");
	struct health_open_finding *open = input->log_bytes ? hold_fabric(health, &what, "database") : NULL;

	if (!open)
		return;
	health_text(open, "the database's log has grown to %.0f MB (threshold: 64 MB); it cannot be emptied while %s "
		    "holds a read transaction open", (double)input->log_bytes / 1e6,
		    *input->log_holders ? input->log_holders : "a process that is not visible from here");
	health_number(open, "log_bytes", (double)input->log_bytes);
}

void health_fabric(struct health *health)
{
	judge_coverage(health);
	judge_sm_lost(health);
	judge_sm_twins(health);
	judge_sm_moved(health);
	judge_locked(health);
	judge_cleared(health);
	judge_full(health);
	judge_topology(health);
	judge_routes(health);
	judge_holes(health);
	judge_missing(health);
	health_expected(health);
	health_miswired(health);
	judge_log(health);
}
