/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * explain.c - findings that another finding explains
 *
 * Runs after all rules. A finding that holds says that a node, a host or a link does not work. What cannot be
 * reached without it from this host is cut off. A finding about nodes that are cut off, about a link that the
 * subnet manager cannot bring up because of such a node, or about routes to such nodes has that finding as its
 * origin: it stays open, but is shown below it, and does not alert. It keeps its origin while that is clearing,
 * and loses it when that closes.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/health/state.h"

/* The longest chain of findings that explain each other. */
enum { CHAIN_MAX = 8 };

/* A finding that began earlier than its origin has another cause: 3 sweeps, but at least a minute. */
static int64_t early_us(const struct health *health)
{
	int64_t sweeps_us = 3 * health->input->interval_us;

	return sweeps_us > MINUTE_US ? sweeps_us : MINUTE_US;
}

static bool is_root(const struct health *health, const struct health_open_finding *open)
{
	return !open->dropped && open->finding.severity >= FINDING_WARNING && health_holds_now(health, open);
}

/* Two findings may say that a node does not work: the older one explains what follows. */
static void mark(const struct health *health, struct health_node *node, struct health_open_finding *open)
{
	/* Where this host stands: only if it does not even reach the next node. */
	if (node == health_own_node(health) && !node->hidden_switches && !node->hidden_hcas)
		return;
	if (!node->failed || open->since.us < node->failed->since.us)
		node->failed = open;
}

static void mark_host(const struct health *health, const struct health_host *host, bool silent,
		      struct health_open_finding *open)
{
	for (struct health_node *node = host->first; node; node = node->host_next)
		if (silent ? node->silent : node->isolated)
			mark(health, node, open);
}

/* All nodes that a finding says do not work. */
static void mark_nodes(struct health *health, struct health_open_finding *open)
{
	struct health_node *node = health_find_node(health, open->finding.node_guid);

	if (!node || finding_is_refusal(&open->finding))
		return;
	if (open->finding.kind == FINDING_NODE_SILENT) {
		mark(health, node, open);
		if (node->host)
			mark_host(health, node->host, true, open);
	} else if (open->finding.kind == FINDING_NODE_MISSING && open->finding.tag) {
		for (size_t i = 0; i < health->host_count; i++)
			if (health->hosts[i]->down && health->hosts[i]->rack_guid == node->guid &&
			    health->hosts[i]->rack_tag == open->finding.tag)
				mark_host(health, health->hosts[i], false, open);
	} else if (open->finding.kind == FINDING_NODE_MISSING) {
		mark(health, node, open);
		if (node->host)
			mark_host(health, node->host, false, open);
		for (size_t i = 0; i < health->node_count && !node->host; i++)
			if (health->nodes[i]->isolated && health_cluster(health->nodes[i]) == health_cluster(node))
				mark(health, health->nodes[i], open);
	}
}

/* The link carries data as far as is known. */
static bool is_open_link(const struct health_port *port)
{
	return port->peer && !health_link_is_down(port) && port->degraded != HEALTH_NOT_ACTIVE &&
	       port->peer->degraded != HEALTH_NOT_ACTIVE;
}

struct health_open_finding *health_link_root(struct health *health, const struct health_port *port)
{
	struct health_open_finding *open = health_find_link(health, FINDING_LINK_DOWN, port);

	if (!open || !is_root(health, open))
		open = health_find_link(health, FINDING_LINK_NOT_ACTIVE, port);
	return open && is_root(health, open) ? open : NULL;
}

/* A walk over nodes: where it has been, and a queue. */
struct walk {
	uint8_t *reached;            /* by node: enum */
	struct health_node **queue;
	size_t head, tail;
};
enum { OUTSIDE, HOME, BEHIND };

static void visit(struct walk *walk, struct health_node *node, uint8_t where)
{
	walk->reached[node->index] = where;
	walk->queue[walk->tail++] = node;
}

/* What responds, or is connected to that by nodes and links that work; at least this host. */
static void find_home(struct health *health, struct walk *walk)
{
	for (size_t i = 0; i < health->node_count; i++)
		if (health->nodes[i] == health_own_node(health) ||
		    (health->nodes[i]->responded && !health->nodes[i]->failed))
			visit(walk, health->nodes[i], HOME);
	while (walk->head < walk->tail) {
		const struct health_node *node = walk->queue[walk->head++];

		for (uint32_t i = 0; !node->failed && i < node->slots; i++)
			if (is_open_link(&node->ports[i]) && !node->ports[i].peer->node->failed &&
			    !walk->reached[node->ports[i].peer->node->index])
				visit(walk, node->ports[i].peer->node, HOME);
	}
}

/* The finding at the border for a node that is not reached, but a neighbor of it is; NULL: it has no such neighbor. */
static struct health_open_finding *find_border(struct health *health, const struct walk *walk,
					       const struct health_node *node)
{
	struct health_open_finding *found = NULL;

	for (uint32_t i = 0; i < node->slots && !found; i++) {
		const struct health_port *port = &node->ports[i];

		if (port->peer && walk->reached[port->peer->node->index] == HOME)
			found = port->peer->node->failed ? port->peer->node->failed : node->failed ? node->failed :
				health_link_root(health, port);
	}
	return found;
}

/* Nodes that are cut off, with the finding at the border. */
static void find_cut(struct health *health, struct walk *walk)
{
	walk->head = walk->tail = 0;
	for (size_t i = 0; i < health->node_count; i++) {
		struct health_node *node = health->nodes[i];
		struct health_open_finding *border = walk->reached[i] ? NULL : find_border(health, walk, node);

		node->cut = !walk->reached[i] && !(border && border == node->failed);
		if (!border)
			continue;
		node->failed = border;
		walk->queue[walk->tail++] = node;
	}
	for (size_t i = 0; i < walk->tail; i++)
		walk->reached[walk->queue[i]->index] = BEHIND;
	while (walk->head < walk->tail) {
		const struct health_node *node = walk->queue[walk->head++];

		for (uint32_t i = 0; i < node->slots; i++) {
			struct health_node *next = node->ports[i].peer ? node->ports[i].peer->node : NULL;

			if (!next || walk->reached[next->index])
				continue;
			next->failed = node->failed;
			visit(walk, next, BEHIND);
		}
	}
}

/* --- the origin of a finding --- */

static struct health_open_finding *failed_node(const struct health *health, uint64_t guid, bool *ret_cut)
{
	const struct health_node *node = guid ? health_find_node(health, guid) : NULL;

	*ret_cut = node && node->cut;
	return node ? node->failed : NULL;
}

/*
 * Does the failure of a node explain what it carries? One that does not respond forwards as before; an HCA that
 * carries nothing hangs altogether.
 */
static bool explains_load(const struct health_open_finding *failed, bool cut, enum finding_kind kind)
{
	return cut || kind == FINDING_NIC_UNUSED || (failed && failed->finding.kind != FINDING_NODE_SILENT);
}

/* @either: one end that does not work is enough: it is not set to Active, or carries no load; else both are cut off. */
static struct health_open_finding *origin_of_links(const struct health *health, const struct finding *finding,
						   bool either)
{
	bool of_load = finding_is_of_window(finding->kind);
	struct health_open_finding *origin = NULL;
	uint64_t guid, peer_guid;
	uint8_t num;
	bool cut, peer_cut;

	for (unsigned at = finding->port_count ? FINDING_END_PORTS : 0;
	     finding_end(finding, health->fabric, at, &guid, &num); at += 2) {
		struct health_open_finding *here = failed_node(health, guid, &cut), *there;

		if (!finding_end(finding, health->fabric, at + 1, &peer_guid, &num))
			break;
		there = failed_node(health, peer_guid, &peer_cut);
		here = !of_load || explains_load(here, cut, finding->kind) ? here : NULL;
		there = !of_load || explains_load(there, peer_cut, finding->kind) ? there : NULL;
		if (either ? !here && !there : !cut || (peer_guid && !peer_cut))
			return NULL;
		if (!origin)
			origin = here ? here : there;
		if (!finding->port_count)
			break;
	}
	return origin;
}

/* A failed node is explained if it is cut off, with all failed HCAs of its host; its traffic by its failure. */
static struct health_open_finding *origin_of_node(const struct health *health, const struct finding *finding)
{
	const struct health_node *node = health_find_node(health, finding->node_guid);

	if (!node)
		return NULL;
	if (finding_is_of_window(finding->kind))
		return explains_load(node->failed, node->cut, finding->kind) ? node->failed : NULL;
	if (!node->cut)
		return NULL;
	for (const struct health_node *hca = node->host ? node->host->first : NULL; hca; hca = hca->host_next)
		if (hca->failed && !hca->cut)
			return NULL;
	return node->failed;
}

static bool is_transit(const struct health *health, uint64_t guid, uint8_t num)
{
	const struct health_node *node = health_find_node(health, guid);

	return node && node->type == NODE_SWITCH && (!num || (num < node->slots && health_is_trunk(&node->ports[num])));
}

/* About a switch or a link between switches: a subnet manager routes around these only. */
static bool is_of_transit(const struct health *health, const struct finding *finding)
{
	bool any = !finding->tag && is_transit(health, finding->node_guid, finding->port);

	for (unsigned i = 0; i < finding->port_count && !any; i++)
		any = is_transit(health, finding->ports[i].node_guid, finding->ports[i].port);
	return any;
}

static bool explains_event(const struct health *health, const struct finding *finding, enum health_event event)
{
	switch (finding->kind) {
	case FINDING_NODE_MISSING:
	case FINDING_NODE_SILENT:
	case FINDING_LINK_DOWN:
	case FINDING_LINK_NOT_ACTIVE:
		return !finding_is_refusal(finding) && (event != EVENT_REROUTED || is_of_transit(health, finding));
	case FINDING_LINK_DEGRADED:
	case FINDING_UPLINK_IMBALANCE:
		return event == EVENT_TRAFFIC_FELL && finding->severity == FINDING_CRITICAL;
	default:
		return false;
	}
}

struct health_open_finding *health_event_root(const struct health *health, int64_t since_us,
					      enum health_event event)
{
	struct health_open_finding *origin = NULL;

	for (size_t i = 0; i < health->open.count; i++) {
		struct health_open_finding *open = health_open_at(health, i);
		int64_t later_us = since_us - open->since.us;

		if (is_root(health, open) && later_us >= -early_us(health) && later_us <= 2 * MINUTE_US &&
		    explains_event(health, &open->finding, event) &&
		    (!origin || open->since.us < origin->since.us))
			origin = open;
	}
	return origin;
}

/*
 * A subnet manager routes around a switch or a trunk that failed, which makes the tables of several switches uneven.
 * An uneven table of one switch alone is a fault of its own.
 */
static struct health_open_finding *origin_of_rerouting(const struct health *health,
						       const struct health_open_finding *uneven)
{
	struct health_open_finding *origin = health_event_root(health, uneven->since.us, EVENT_REROUTED);
	const struct finding *finding = &uneven->finding;
	unsigned equal = 0;

	for (size_t i = 0; origin && i < health->open.count; i++) {
		const struct health_open_finding *open = health_open_at(health, i);

		equal += open->finding.kind == finding->kind && health_holds_now(health, open) &&
			 open->finding.node_guid != finding->node_guid &&
			 health_event_root(health, open->since.us, EVENT_REROUTED) == origin;
	}
	return equal ? origin : NULL;
}

static struct health_open_finding *origin_of(const struct health *health, const struct health_open_finding *open)
{
	const struct finding *finding = &open->finding;
	struct health_open_finding *origin;
	bool cut;

	switch (finding->kind) {
	case FINDING_BLACK_HOLE:
		return open->rule_origin;
	case FINDING_LINK_NOT_ACTIVE:
		return origin_of_links(health, finding, true);
	case FINDING_SM_LOST:
		return finding->tag ? NULL : failed_node(health, finding->peer_guid, &cut);
	case FINDING_ROUTES_CHANGED:
	case FINDING_TOPOLOGY_CHANGED:
		return finding->severity == FINDING_INFO ?
		       health_event_root(health, open->since.us, EVENT_CHANGED) : NULL;
	case FINDING_JOB_STALLED:
	case FINDING_JOB_SLOWER:
		return open->rule_origin;
	case FINDING_TRAFFIC_FELL:
		origin = health_event_root(health, open->since.us, EVENT_TRAFFIC_FELL);
		return origin ? origin : open->rule_origin;
	case FINDING_COVERAGE:
		return NULL;
	case FINDING_UPLINK_IMBALANCE:
		origin = origin_of_rerouting(health, open);
		return origin ? origin : origin_of_node(health, finding);
	case FINDING_NODE_SILENT:
	case FINDING_NODE_MISSING:
	case FINDING_HOST_RESTART:
		return origin_of_node(health, finding);
	default:
		return finding->port || finding->port_count ?
		       origin_of_links(health, finding, finding_is_of_window(finding->kind)) :
							       origin_of_node(health, finding);
	}
}

/* An origin that is clearing still explains what lasts a little longer; and any if the present one is too @late. */
static bool keeps_origin(const struct health *health, const struct health_open_finding *open, bool late)
{
	return open->origin && !open->origin->dropped &&
	       (late || !health_holds_now(health, open->origin) || !health_holds_now(health, open));
}

void health_set_origin(struct health *health, struct health_open_finding *open, struct health_open_finding *origin)
{
	struct finding *finding = &open->finding;
	const char *advice = finding_advice(finding->kind, finding->severity, finding->cause);

	open->changed |= open->origin != origin;
	open->origin = origin;
	finding->is_explained = origin != NULL;
	if (!origin) {
		if (finding->advice == open->advice)
			finding->advice = advice;
		return;
	}
	finding->origin = (struct finding_place){ origin->finding.kind, origin->finding.node_guid,
						  origin->finding.port, origin->finding.tag };
	snprintf(open->advice, sizeof(open->advice), "first repair %.90s (%s), which explains this; if it lasts after "
		 "that: %s", origin->finding.subject, finding_kind_name(origin->finding.kind), advice);
	finding->advice = open->advice;
	/* What concerns the whole fabric makes its origin as severe. */
	if (!finding->node_guid && !finding->port_count && finding->severity > origin->finding.severity)
		health_set_severity(origin, finding->severity, health->now_us);
}

static void find_origins(struct health *health)
{
	for (size_t i = 0; i < health->open.count; i++) {
		struct health_open_finding *open = health_open_at(health, i), *next = origin_of(health, open);

		bool late = next && open->since.us < next->since.us - early_us(health);

		if (next == open || late)
			next = NULL;
		open->next_origin = !next && keeps_origin(health, open, late) ? open->origin : next;
	}
	/* The first one of a chain; a ring of them has none. */
	for (size_t i = 0; i < health->open.count; i++) {
		struct health_open_finding *open = health_open_at(health, i), *first = open->next_origin;
		unsigned steps = 0;

		for (; first && first->next_origin && steps < CHAIN_MAX; steps++)
			first = first->next_origin;
		health_set_origin(health, open, steps < CHAIN_MAX ? first : NULL);
	}
}

void health_find_origins(struct health *health)
{
	struct walk walk = { 0 };
	bool any = false;

	for (size_t i = 0; i < health->open.count; i++) {
		any |= health_open_at(health, i)->origin != NULL || is_root(health, health_open_at(health, i));
		/* That of an earlier step may have closed. */
		health_open_at(health, i)->rule_origin = NULL;
	}
	/* A finding alone has no origin. */
	if (!any || health->open.count < 2)
		return;
	walk.reached = calloc(health->node_count + 1, sizeof(*walk.reached));
	walk.queue = calloc(health->node_count + 1, sizeof(struct health_node *));
	if (!walk.reached || !walk.queue) {
		health->failed = true;
	} else {
		for (size_t i = 0; i < health->node_count; i++)
			health->nodes[i]->failed = NULL;
		for (size_t i = 0; i < health->open.count; i++)
			if (is_root(health, health_open_at(health, i)))
				mark_nodes(health, health_open_at(health, i));
		find_home(health, &walk);
		find_cut(health, &walk);
		health_explain_rules(health);
		find_origins(health);
	}
	free(walk.reached);
	free(walk.queue);
}
