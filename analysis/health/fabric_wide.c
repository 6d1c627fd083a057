/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Rules about the fabric as a whole: subnet manager, M_Keys, topology, forwarding tables, cabling, and the database.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/health/state.h"
#include "base/array.h"
#include "base/clock.h"
#include "fabric/routes.h"
#include "fabric/shape.h"

/* Tags of FINDING_TOPOLOGY_CHANGED: fewer than expected; and of FINDING_COUNTER_SATURATED: data counters. */
enum { EXPECTED_TAG = 1, DATA_TAG = 1 };

/* From these numbers on, findings of one kind are merged into one of the fabric. */
enum { MANY_LOCKED = 8, MANY_FULL = 10, MANY_TABLES = 8 };

/* A switch at which routes end, for @lids destinations as seen from @from switches. */
struct route_hole {
	struct health_node *node;
	uint32_t lids, from;
	enum route_end end;
	uint64_t *to;               /* one bit for each node of the fabric that was checked: the destinations */
};

struct fabric_wide {
	struct debounce sm_lost, sm_duplicate, expected;
	uint64_t sm_guid, sm_node; /* port and node of the last master */
	struct route_hole *holes;
	size_t hole_count, hole_capacity;
	uint64_t checked_generation; /* of the last check of all routes */
	int64_t checked_us;         /* 0: never */
};

static struct health_open_finding *hold(struct health *health, enum finding_kind kind, enum finding_severity severity,
					const struct health_node *node, struct health_time since, const char *cause)
{
	return health_hold(health, &(struct health_case){ .kind = kind, .severity = severity, .node = node,
							  .since = since, .cause = cause });
}

static struct health_open_finding *hold_sm(struct health *health, enum finding_severity severity, uint8_t tag,
					   struct health_time since, const char *cause)
{
	return health_hold(health, &(struct health_case){
		.kind = FINDING_SM_LOST, .severity = severity, .tag = tag, .since = since,
		.cause = cause, .subject = "subnet manager" });
}

static bool sm_lasts(struct health *health, struct debounce *debounce, bool bad, uint8_t tag)
{
	return health_debounce(health, debounce, bad, health->settings.silent_sweeps, health->settings.silent_after_us,
			       health_find(health, FINDING_SM_LOST, NULL, 0, tag));
}

static void check_sm(struct health *health, struct fabric_wide *state)
{
	const struct health_input *input = health->input;
	struct health_open_finding *open;
	uint64_t was = state->sm_guid;
	char since[32];

	if (sm_lasts(health, &state->sm_lost, !input->sm_known, 0)) {
		int64_t lost_us = health->now_us - state->sm_lost.good_us;

		open = hold_sm(health, FINDING_CRITICAL, 0, state->sm_lost.bad, "lost");
		health_text(open, "no master SM " TENSE("has", "had") " responded for %s; new links "
			    TENSE("will stay", "stayed") " in Init", health_duration(lost_us, since));
		if (state->sm_node)
			open->finding.peer_guid = state->sm_node;
		health_number(open, "lost_sweeps", state->sm_lost.sweeps);
		health_number(open, "lost_s", (double)lost_us / SECOND_US);
	}
	/* During a handover two SMs may be master for a moment. */
	if (sm_lasts(health, &state->sm_duplicate, input->sm_masters >= 2, 1)) {
		open = hold_sm(health, FINDING_CRITICAL, 1, state->sm_duplicate.bad, "two-masters");
		health_text(open, "%u subnet managers " TENSE("claim", "claimed") " to be master of this fabric; "
			    "exactly one is allowed",
			    input->sm_masters);
		health_number(open, "masters", input->sm_masters);
	}
	if (!input->sm_known || !input->sm_guid)
		return;
	state->sm_guid = input->sm_guid;
	for (uint32_t i = 0; was != input->sm_guid && i < input->fabric->port_count; i++)
		if (input->fabric->ports[i].guid == input->sm_guid ||
		    input->fabric->nodes[input->fabric->ports[i].node].guid == input->sm_guid)
			state->sm_node = input->fabric->nodes[input->fabric->ports[i].node].guid;
	if (!was || was == input->sm_guid)
		return;
	open = hold_sm(health, FINDING_INFO, 2, health_now(health), "handover");
	health_text(open, "the master SM changed to 0x%016llx from 0x%016llx", (unsigned long long)input->sm_guid,
		    (unsigned long long)was);
}

static void check_locked(struct health *health)
{
	const struct health_input *input = health->input;
	struct health_open_finding *open;
	const struct health_node *node;
	struct health_set nodes = { 0 };

	if (input->locked_count > MANY_LOCKED) {
		for (size_t i = 0; i < input->locked_count; i++)
			health_set_add_node(&nodes, health_find_node(health, input->locked_guids[i]));
		open = hold(health, FINDING_LOCKED, FINDING_INFO, NULL, health_now(health), "m-key");
		health_text(open, "%zu nodes " TENSE("respond", "responded") " to performance queries, but not to "
			    "SMPs without their M_Key",
			    input->locked_count);
		health_number(open, "nodes", (double)input->locked_count);
		open->extent = (double)input->locked_count;
		health_list_set(open, &nodes);
		return;
	}
	for (size_t i = 0; i < input->locked_count; i++) {
		node = health_find_node(health, input->locked_guids[i]);
		if (!node)
			continue;
		nodes = (struct health_set){ 0 };
		health_set_add_links(&nodes, node);
		open = hold(health, FINDING_LOCKED, FINDING_INFO, node, health_now(health), "m-key");
		health_text(open, "%s " TENSE("responds", "responded") " to performance queries, but not to SMPs "
			    "without its M_Key",
			    node->name);
		health_list_set(open, &nodes);
	}
}

/* As far as its last reading shows; a node that left the fabric has no counters. */
static bool is_saturated(const struct health_port *port, counter_set counters)
{
	return port->saturated & counters && port->node->now != FABRIC_NONE;
}

/* Error counters that are full. */
static void check_saturated(struct health *health)
{
	struct health_open_finding *open;
	struct health_set full = { 0 };

	for (struct health_port *port = health_next_port(health, NULL); port; port = health_next_port(health, port))
		if (is_saturated(port, COUNTER_ERROR_SET))
			health_set_add(&full, port);
	if (full.count >= MANY_FULL) {
		open = hold(health, FINDING_COUNTER_SATURATED, FINDING_INFO, NULL, health_now(health), "full");
		health_text(open, "error counters of %u ports " TENSE("are", "were") " saturated; further errors "
			    TENSE("are", "were") " not counted",
			    full.count);
		health_number(open, "ports", full.count);
		open->extent = full.count;
		health_list_set(open, &full);
		return;
	}
	for (struct health_port *port = full.count ? health_next_port(health, NULL) : NULL; port;
	     port = health_next_port(health, port))
		if (is_saturated(port, COUNTER_ERROR_SET))
			health_text(health_hold(health, &(struct health_case){
					.kind = FINDING_COUNTER_SATURATED, .severity = FINDING_INFO, .port = port,
					.cause = "full" }), "an error counter " TENSE("is", "was") " saturated; "
				    "further errors " TENSE("are", "were") " not counted");
}

/* The other end of a link counts the same traffic. */
static bool counts_at_peer(const struct health_port *port, counter_set counters)
{
	return health_is_read(port->peer) && !is_saturated(port->peer, counters);
}

/*
 * Data counters that are full: of 32 bits, since 64 bits do not fill. They count again when they are cleared,
 * until they are full. A port whose link is down has no traffic that could be unknown.
 */
static void check_full_data(struct health *health)
{
	const counter_set data = COUNTER_BIT(COUNTER_XMIT_DATA) | COUNTER_BIT(COUNTER_RCV_DATA);
	struct health_open_finding *open;
	struct health_set full = { 0 };
	const double fill_bits = 0x1p32 * 32; /* in units of 4 bytes */
	uint64_t most_bits_per_s = 0;
	unsigned unknown = 0;
	char takes[64] = "";

	for (struct health_port *port = health_next_port(health, NULL); port; port = health_next_port(health, port)) {
		uint64_t bits_per_s = link_rate_bits_per_s(port->width, (enum link_speed)port->speed);

		if (port->link != LINK_IS_UP || !is_saturated(port, data))
			continue;
		health_set_add(&full, port);
		unknown += !counts_at_peer(port, data);
		most_bits_per_s = bits_per_s > most_bits_per_s ? bits_per_s : most_bits_per_s;
	}
	if (!full.count)
		return;
	open = health_hold_set(health, &(struct health_case){
		.kind = FINDING_COUNTER_SATURATED, .severity = unknown ? FINDING_WARNING : FINDING_INFO,
		.tag = DATA_TAG, .cause = "32-bit" }, &full);
	if (most_bits_per_s)
		snprintf(takes, sizeof(takes), ", which takes %.1f s at the full rate",
			 fill_bits / (double)most_bits_per_s);
	health_text(open, "data counters of %u (of %u) ports " TENSE("have", "had") " 32 bits and " TENSE("are", "were")
		    " full%s; traffic: unknown at %u, known from the other end of the link at %u", full.count,
		    health_count_read(health, open->finding.node_guid), takes, unknown, full.count - unknown);
	health_number(open, "ports", full.count);
	open->extent = full.count;
	health_number(open, "ports_unknown", unknown);
	if (most_bits_per_s)
		health_number(open, "full_after_s", fill_bits / (double)most_bits_per_s);
}

static void check_topology(struct health *health)
{
	uint32_t added = health->changes.nodes_added, removed = health->changes.nodes_removed;
	uint32_t links_added = health->changes.links_added, links_moved = health->changes.links_moved;
	uint32_t links_removed = health->changes.links_removed;
	struct health_open_finding *open;

	if (!(added | removed | links_added | links_moved | links_removed))
		return;
	open = hold(health, FINDING_TOPOLOGY_CHANGED, FINDING_INFO, NULL, health_now(health), "cabling");
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

		ret[LINKS].found += port->peer != FABRIC_NONE && i < port->peer &&
				    fabric_link_state(fabric, i) == PORT_ACTIVE;
	}
}

/* Fewer hosts, HCAs, switches or links than the settings expect. */
static void check_expected(struct health *health, struct fabric_wide *state)
{
	bool is_open = health_find(health, FINDING_TOPOLOGY_CHANGED, NULL, 0, EXPECTED_TAG);
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
	if (!health_debounce(health, &state->expected, len > 0, 0, health->settings.missing_after_us, is_open))
		return;
	open = health_hold(health, &(struct health_case){
		.kind = FINDING_TOPOLOGY_CHANGED, .severity = FINDING_WARNING, .tag = EXPECTED_TAG,
		.since = state->expected.bad, .cause = "fewer-than-expected" });
	health_text(open, "%s found; warning threshold: all expected by the settings", text);
	for (int i = 0; i < COUNTED; i++)
		if (counted[i].expected)
			health_number(open, counted[i].key, counted[i].found);
	for (int i = 0; i < COUNTED; i++)
		if (counted[i].found < counted[i].expected)
			open->extent += counted[i].expected - counted[i].found;
}

static void check_table_changes(struct health *health)
{
	const struct health_input *input = health->input;
	struct health_time since = health_now(health);
	bool many = input->routes_changed_count > MANY_TABLES;
	struct health_open_finding *open;
	struct health_set switches = { 0 };
	double all = 0;

	for (size_t i = 0; i < input->routes_changed_count; i++) {
		double entries = input->routes_changed_entries ? input->routes_changed_entries[i] : 0;
		const struct health_node *node = health_find_node(health, input->routes_changed_guids[i]);

		if (!node)
			continue;
		all += entries;
		health_set_add_node(&switches, node);
		if (many)
			continue;
		open = hold(health, FINDING_ROUTES_CHANGED, FINDING_INFO, node, since, "subnet-manager");
		health_text(open, "%.0f %s of the forwarding table of %s changed", entries,
			    entries == 1 ? "entry" : "entries", node->name);
		health_number(open, "entries", entries);
		health_affected_below(health, open, node);
	}
	if (!many)
		return;
	open = hold(health, FINDING_ROUTES_CHANGED, FINDING_INFO, NULL, since, "subnet-manager");
	health_text(open, "forwarding tables of %zu switches changed: %.0f entries; the subnet manager rerouted",
		    input->routes_changed_count, all);
	health_list_set(open, &switches);
	health_number(open, "switches", (double)input->routes_changed_count);
	health_number(open, "entries", all);
}

struct hole_search { struct health *health; struct fabric_wide *state; };

static void record_hole(void *ctx, const struct route_fault *fault)
{
	struct health *health = ((struct hole_search *)ctx)->health;
	struct fabric_wide *state = ((struct hole_search *)ctx)->state;
	struct route_hole *grown = array_grow(state->holes, state->hole_count, &state->hole_capacity, sizeof(*grown));
	struct health_node *at = health_find_node(health, health->input->fabric->nodes[fault->node].guid);
	size_t words = health->input->fabric->node_count / 64 + 1;
	uint64_t *to = calloc(words, sizeof(*to));

	state->holes = grown ? grown : state->holes;
	if (!grown || !to || !at) {
		health->failed |= !grown || !to;
		free(to);
		return;
	}
	memcpy(to, fault->nodes, words * sizeof(*to));
	grown[state->hole_count++] = (struct route_hole){ at, fault->lids, fault->from, fault->end, to };
}

static void hold_hole(struct health *health, const struct route_hole *hole)
{
	static const struct { const char *cause, *text; } ends[ROUTE_END_COUNT] = {
		[ROUTE_BLACK_HOLE] = { "no-route", TENSE("has", "had") " no LFT entry for" },
		[ROUTE_DOWN] = { "down-link", TENSE("forwards to a link that is", "forwarded to a link that was")
				 " down, for" },
		[ROUTE_LOOP] = { "loop", TENSE("is", "was") " on a routing loop for" },
		[ROUTE_WRONG_END] = { "wrong-end", TENSE("forwards", "forwarded") " to the wrong port, for" },
	};
	const struct health_node *node = hole->node;
	struct health_open_finding *open = hold(health, FINDING_BLACK_HOLE, FINDING_CRITICAL, node, node->hole_since,
						ends[hole->end].cause);

	health_text(open, "%s %s %u reachable LID%s, as seen from %u switch%s; threshold: 1", node->name,
		    ends[hole->end].text, hole->lids, hole->lids == 1 ? "" : "s", hole->from,
		    hole->from == 1 ? "" : "es");
	health_number(open, "lids", hole->lids);
	open->extent = hole->lids;
	health_number(open, "from_switches", hole->from);
	health_affected_below(health, open, node);
}

/*
 * The table was read after the hole had lasted for down_after; otherwise request a read. A table
 * that was read earlier may have been inconsistent and repaired since.
 */
static bool is_confirmed(struct health *health, const struct route_hole *hole)
{
	if (hole->node->read_us >= hole->node->hole_us + health->settings.down_after_us)
		return true;
	health_request_table(health, hole->node);
	return false;
}

static void forget_holes(struct fabric_wide *state)
{
	for (size_t i = 0; i < state->hole_count; i++)
		free(state->holes[i].to);
	state->hole_count = 0;
}

/* When routes began to end here: the last link went down, or the table changed just now; else unknown. */
static struct health_time hole_began(const struct health *health, const struct route_hole *hole)
{
	const struct health_node *node = hole->node;
	struct health_time began = { 0 };

	for (uint32_t i = 0; hole->end == ROUTE_DOWN && i < node->slots; i++) {
		const struct health_port *port = &node->ports[i];
		const struct health_port *down = port->link == LINK_IS_DOWN || !port->peer ? port : port->peer;

		if (down->link == LINK_IS_DOWN && (!began.us || down->began.us > began.us))
			began = down->began;
	}
	if (!began.us && node->routes_changed.us && health->now_us - node->routes_changed.us <= 2 * MINUTE_US)
		began = node->routes_changed;
	return began.us ? began : health_now(health);
}

/* Check all routes. A node keeps the time at which routes were first seen to end there. */
static void update_holes(struct health *health, struct fabric_wide *state)
{
	const struct health_input *input = health->input;
	struct hole_search search = { health, state };

	state->checked_generation = health->generation;
	state->checked_us = health->now_us;
	health->first_table_read = false;
	forget_holes(state);
	/* Holes of a table that changed start now: they may be different ones. */
	for (size_t i = 0; i < health->node_count; i++) {
		struct health_node *node = health->nodes[i];

		if (node->hole_us && node->routes_changed.us == health->now_us &&
		    !health_find(health, FINDING_BLACK_HOLE, node, 0, 0)) {
			node->hole_us = health->now_us;
			node->hole_since = node->routes_changed;
		}
	}
	if (routes_check(input->routes, input->fabric, record_hole, &search, NULL) < 0)
		health->failed = true;
	for (size_t i = 0; i < state->hole_count; i++) {
		struct health_node *node = state->holes[i].node;

		if (!node->hole_us) {
			node->hole_us = health->now_us;
			node->hole_since = hole_began(health, &state->holes[i]);
		}
		node->hole_check = health->step;
	}
	for (size_t i = 0; i < health->node_count; i++)
		if (health->nodes[i]->hole_check != health->step)
			health->nodes[i]->hole_us = 0;
}

/*
 * Unchanged tables are not checked again: that would dominate the cost of a sweep. Tables that are
 * read one after the other after the start are checked together.
 */
static bool is_check_due(const struct health *health, const struct fabric_wide *state)
{
	return health->input->routes_changed_count || state->checked_generation != health->generation ||
	       (health->first_table_read &&
		health->now_us - state->checked_us >= health->settings.down_after_us);
}

static void check_holes(struct health *health, struct fabric_wide *state)
{
	const struct health_input *input = health->input;

	if (!input->routes || !input->routes->count)
		return;
	if (is_check_due(health, state))
		update_holes(health, state);
	for (size_t i = 0; i < state->hole_count; i++) {
		const struct route_hole *hole = &state->holes[i];

		if (health->now_us - hole->node->hole_us >= health->settings.down_after_us &&
		    is_confirmed(health, hole))
			hold_hole(health, hole);
	}
}

/* Known links between two switches that are down: they are not missing. */
static uint32_t links_down_between(const struct health_node *low, const struct health_node *high)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < low->slots; i++)
		count += low->ports[i].peer && low->ports[i].peer->node == high && health_link_is_down(&low->ports[i]);
	return count;
}

static void check_missing_uplinks(struct health *health)
{
	const struct shape *shape = health->input->shape;
	const struct fabric *fabric = health->input->fabric;

	for (size_t i = 0; i < shape->missing_count; i++) {
		const struct shape_missing *missing = &shape->missing[i];
		const struct health_node *low = health_find_node(health, fabric->nodes[missing->low].guid);
		const struct health_node *high = health_find_node(health, fabric->nodes[missing->high].guid);
		struct health_open_finding *open;

		if (!low || !high || missing->links + links_down_between(low, high) >= missing->expected)
			continue;
		/* The tag: a switch may lack cables to several switches. */
		open = health_hold(health, &(struct health_case){
			.kind = FINDING_UPLINKS_MISSING, .severity = FINDING_INFO, .node = low,
			.tag = (uint8_t)(map_mix(high->guid) % 255 + 1), .cause = "cabling" });
		open->finding.peer_guid = high->guid;
		health_subject(open, "%.77s - %.77s", low->name, high->name);
		health_text(open, TENSE("has", "had") " %u of the %u cables that comparable pairs of switches have",
			    missing->links, missing->expected);
		health_number(open, "links", missing->links);
		open->extent = missing->expected - missing->links;
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
			    "the write-ahead log of the database " TENSE("has", "had") " grown to %.0f MB (threshold: "
			    "64 MB); it " TENSE("cannot be truncated while", "could not be truncated:") " %s "
			    TENSE("holds", "held") " a read transaction open", (double)input->log_bytes / 1e6,
			    *input->log_holders ? input->log_holders :
						  "a process that is not visible to the collector");
		health_number(open, "log_bytes", (double)input->log_bytes);
	}
	if (input->left_out) {
		open = health_hold(health, &(struct health_case){
			.kind = FINDING_NODES_LEFT_OUT, .severity = FINDING_WARNING, .cause = "new-nodes",
			.subject = "database" });
		health_text(open, input->left_out == 1 ?
			    "%zu node " TENSE("is", "was") " not stored, because too many are new: %s" :
			    "%zu nodes " TENSE("are", "were") " not stored, because too many are new; the first "
			    TENSE("is", "was") " %s", input->left_out, input->left_out_first);
		health_number(open, "nodes", (double)input->left_out);
		open->extent = (double)input->left_out;
	}
	if (input->stalled_us >= 30 * US_PER_S) {
		open = health_hold(health, &(struct health_case){
			.kind = FINDING_STORE_STALLED, .severity = FINDING_WARNING, .cause = "database",
			.since = health_before(health, input->stalled_us), .subject = "database" });
		health_text(open, "no sweep could be stored for %.0f s (threshold: 30 s): %.200s",
			    (double)input->stalled_us / US_PER_S, input->stall_reason);
		health_number(open, "stalled_s", (double)input->stalled_us / US_PER_S);
	}
}

/* The link by which a switch would send to a node does not work, or the node itself. */
static struct health_open_finding *origin_of_route(struct health *health, const struct route_hole *hole, uint32_t to)
{
	const struct fabric *fabric = health->fabric;
	const struct health_node *node = health_find_node(health, fabric->nodes[to].guid);
	const struct route_table *table = routes_find(health->input->routes, hole->node->guid);
	struct health_open_finding *origin = node ? node->failed : NULL;

	for (uint32_t i = fabric->nodes[to].first_port; !origin && table && i < fabric->nodes[to].first_port +
	     fabric->nodes[to].ports; i++) {
		uint8_t out = routes_out_port(table, fabric->ports[i].lid);
		const struct health_port *port = out < hole->node->slots ? &hole->node->ports[out] : NULL;

		if (port && port->peer && port->link != LINK_NEVER_UP)
			origin = health_link_is_down(port) && port->peer->node->failed ? port->peer->node->failed :
				 health_link_root(health, port);
	}
	return origin;
}

/*
 * The oldest of those that explain each destination; else the switch itself, which has an old table, or the loss of
 * the subnet manager, without which no table is mended.
 */
static struct health_open_finding *origin_of_hole(struct health *health, const struct route_hole *hole)
{
	struct health_open_finding *origin = NULL, *lost = health_find(health, FINDING_SM_LOST, NULL, 0, 0);

	for (uint32_t i = 0; i < health->fabric->node_count; i++) {
		struct health_open_finding *one;

		if (!(hole->to[i / 64] >> i % 64 & 1))
			continue;
		one = origin_of_route(health, hole, i);
		if (!one)
			return hole->node->failed ? hole->node->failed :
			       lost && health_holds_now(health, lost) ? lost : NULL;
		if (!origin || one->since.us < origin->since.us)
			origin = one;
	}
	return origin;
}

/* The holes of one switch follow each other, and are one finding: each of them must have an origin. */
static void explain_holes(struct health *health, void *of_rule)
{
	const struct fabric_wide *state = of_rule;

	for (size_t i = 0; i < state->hole_count; i++) {
		const struct route_hole *hole = &state->holes[i];
		struct health_open_finding *open = health_find(health, FINDING_BLACK_HOLE, hole->node, 0, 0);

		if (open && (!i || state->holes[i - 1].node != hole->node || open->rule_origin))
			open->rule_origin = origin_of_hole(health, hole);
	}
}

static void sweep(struct health *health, void *state)
{
	check_sm(health, state);
	check_locked(health);
	check_saturated(health);
	check_full_data(health);
	check_topology(health);
	check_table_changes(health);
	check_holes(health, state);
	check_missing_uplinks(health);
	check_expected(health, state);
	check_database(health);
}

static void done(void *state)
{
	forget_holes(state);
	free(((struct fabric_wide *)state)->holes);
}

const struct health_rule health_fabric = {
	.state_size = sizeof(struct fabric_wide), .sweep = sweep, .explain = explain_holes, .done = done,
};
