/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * diff_cables.c - chains and cycles of planned and present links
 *
 * A port has at most one link of each kind, so what differs consists of paths over ports whose links alternate:
 * planned, present, planned ... A cycle of n cables has n ports at which ends are exchanged, every other port of
 * it; each exchange puts one more cable into its place, so n - 1 of them are needed and suffice. In a path each
 * move frees the port that the next one needs.
 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "fabric/fabric.h"
#include "fabric/plan.h"
#include "fabric/plan/diff.h"
#include "fabric/shape.h"

struct path {
	uint32_t *ports;
	uint32_t count;
};

/* The cost of moving or exchanging cable ends between two ports, without a unit: least on one switch. */
static unsigned distance(const struct plan_work *work, uint32_t a, uint32_t b)
{
	const struct fabric *fabric = work->fabric;
	uint32_t node_a = fabric->ports[work->actual[a]].node, node_b = fabric->ports[work->actual[b]].node;
	bool switches = fabric->nodes[node_a].type == NODE_SWITCH && fabric->nodes[node_b].type == NODE_SWITCH;

	if (node_a == node_b)
		/* Leaves before spines: more of them have many equal cables. */
		return switches ? work->shape->nodes[node_a].tier : 10;
	if (work->shape->nodes[node_a].box == work->shape->nodes[node_b].box)
		return 11;
	if (switches)
		return 20;
	return fabric->nodes[node_a].type == fabric->nodes[node_b].type ? 30 : 40;
}

/* --- cycles --- */

/* Above this length neighbors are exchanged: below it the best pairs are found by comparing all. */
enum { CYCLE_PAIRS_MOST = 64 };

/* Positions in a cycle, of equal parity, a < b. */
struct exchange {
	uint32_t a, b;
};

static struct exchange best_exchange(const struct plan_work *work, const uint32_t *ports, uint32_t count)
{
	struct exchange best = { 0, 2 };
	unsigned least = UINT32_MAX;

	for (uint32_t gap = 2; gap < count; gap += 2)
		for (uint32_t i = 0; i + gap < count; i++) {
			unsigned cost = distance(work, ports[i], ports[i + gap]);

			if (cost >= least)
				continue;
			least = cost;
			best = (struct exchange){ i, i + gap };
		}
	return best;
}

/*
 * Exchange ends until all cables are in their places. The ports are in the order of the cycle, from a planned link
 * on: 0 planned 1 present 2 planned ... present 0. An exchange at a and b makes two cycles of one: the ports between
 * them with the one whose planned link is there, and the others. A cycle of two ports is a cable in its place.
 */
static void solve_cycle(struct plan_work *work, uint32_t *ports, uint32_t count)
{
	uint32_t inner[CYCLE_PAIRS_MOST];

	while (count > 2) {
		struct exchange best = best_exchange(work, ports, count);
		uint32_t from = best.a + (best.a & 1), len = best.b - best.a;

		plan_diff_add_move(work, ports[best.a], ports[best.b]);
		memcpy(inner, ports + from, len * sizeof(*inner));
		memmove(ports + from, ports + from + len, (count - from - len) * sizeof(*ports));
		count -= len;
		memcpy(ports + count, inner, len * sizeof(*inner));
		solve_cycle(work, ports + count, len);
	}
}

static void solve_long_cycle(struct plan_work *work, const uint32_t *ports, uint32_t count)
{
	uint64_t cost[2] = { 0 };

	for (uint32_t i = 0; i + 2 < count; i++)
		cost[i & 1] += distance(work, ports[i], ports[i + 2]);
	for (uint32_t i = count - (cost[1] < cost[0] ? 1 : 2); i >= 2; i -= 2)
		plan_diff_add_move(work, ports[i - 2], ports[i]);
}

static void report_cycle(struct plan_work *work, const struct path *path)
{
	plan_diff_begin(work, path->count == 4 ? PLAN_SWAPPED : PLAN_CYCLE, FABRIC_NONE, FABRIC_NONE);
	for (uint32_t i = 0; i < path->count; i += 2) {
		plan_diff_add_link(work, work->link[path->ports[i]]);
		plan_diff_add_present(work, path->ports[i + 1]);
	}
	for (uint32_t i = 0; i < path->count; i += 2) {
		plan_diff_drop_planned(work, path->ports[i]);
		plan_diff_drop_present(work, path->ports[i + 1]);
	}
	if (path->count > CYCLE_PAIRS_MOST)
		solve_long_cycle(work, path->ports, path->count);
	else
		solve_cycle(work, path->ports, path->count);
}

/* --- chains --- */

/* Kinds of planned links: between switches, to a host, between the switches of a box. */
enum { KIND_TRUNK, KIND_HOST, KIND_INSIDE };

static unsigned kind_of(const struct plan_work *work, uint32_t a, uint32_t b)
{
	const struct fabric *fabric = work->fabric;
	uint32_t node_a = fabric->ports[a].node, node_b = fabric->ports[b].node;

	if (fabric->nodes[node_a].type != NODE_SWITCH || fabric->nodes[node_b].type != NODE_SWITCH)
		return KIND_HOST;
	return node_a != node_b && work->shape->nodes[node_a].box == work->shape->nodes[node_b].box ? KIND_INSIDE :
	       KIND_TRUNK;
}

static unsigned planned_kinds(const struct plan_work *work)
{
	unsigned kinds = 0;

	for (size_t i = 0; i < work->plan->link_count; i++) {
		const uint32_t *ports = work->places->links[i].port;

		if (ports[0] != FABRIC_NONE && ports[1] != FABRIC_NONE)
			kinds |= 1u << kind_of(work, ports[0], ports[1]);
	}
	return kinds;
}

/* A link inside a switch is in no plan. */
static bool leads_to_aggregation(const struct plan_work *work, uint32_t port)
{
	return work->shape->nodes[work->fabric->ports[work->actual[port]].node].class == CLASS_AGGREGATION;
}

/* Is a link that no plan has a difference? A plan of a part of the fabric, or a torn one, does not judge the rest. */
static bool is_extra(const struct plan_work *work, unsigned kinds, uint32_t port, uint32_t peer)
{
	uint32_t ends[2] = { work->actual[port], work->actual[peer] };
	bool named = false;

	for (unsigned i = 0; i < 2 && !work->plan->incomplete; i++) {
		const struct port *end = &work->fabric->ports[ends[i]];

		if (work->claimed[i ? peer : port] || leads_to_aggregation(work, i ? peer : port))
			return false;
		named |= work->named[end->node];
	}
	return named && kinds & 1u << kind_of(work, ends[0], ends[1]);
}

/* Follow links to the end of a chain, or once around a cycle. */
static void walk(const struct plan_work *work, uint32_t port, bool planned, struct path *path)
{
	uint32_t first = port;

	path->count = 0;
	do {
		path->ports[path->count++] = port;
		port = planned ? work->planned[port] : work->present[port];
		planned = !planned;
	} while (port != FABRIC_NONE && port != first);
}

/*
 * Planned links at both ends: one cable is missing. Those before it are served from one side, those after it from the
 * other. Return: which one makes the moves shortest, from 0.
 */
static uint32_t choose_missing(const struct plan_work *work, const uint32_t *ports, uint32_t links)
{
	uint64_t cost = 0, least;
	uint32_t best = 0;

	for (uint32_t j = 0; j + 1 < links; j++)
		cost += distance(work, ports[2 * j + 1], ports[2 * j + 3]);
	least = cost;
	for (uint32_t j = 0; j + 1 < links; j++) {
		cost += distance(work, ports[2 * j + 2], ports[2 * j]);
		cost -= distance(work, ports[2 * j + 1], ports[2 * j + 3]);
		if (cost >= least)
			continue;
		least = cost;
		best = j + 1;
	}
	return best;
}

/* Present links at both ends: one cable is removed. */
static uint32_t choose_removed(const struct plan_work *work, const uint32_t *ports, uint32_t cables)
{
	uint64_t cost = 0, least;
	uint32_t best = 0;

	for (uint32_t j = 1; j < cables; j++)
		cost += distance(work, ports[2 * j + 1], ports[2 * j - 1]);
	least = cost;
	for (uint32_t j = 0; j + 1 < cables; j++) {
		cost += distance(work, ports[2 * j], ports[2 * j + 2]);
		cost -= distance(work, ports[2 * j + 3], ports[2 * j + 1]);
		if (cost >= least)
			continue;
		least = cost;
		best = j + 1;
	}
	return best;
}

/* Ports 0 planned 1 present 2 ... planned: @links links, one cable less. */
static void report_short(struct plan_work *work, const uint32_t *ports, uint32_t links)
{
	uint32_t missing = choose_missing(work, ports, links);

	for (uint32_t j = 0; j < links; j++) {
		if (j != missing)
			plan_diff_add_link(work, work->link[ports[2 * j]]);
		if (j + 1 < links)
			plan_diff_add_present(work, ports[2 * j + 1]);
	}
	plan_diff_add_link(work, work->link[ports[2 * missing]]);
	for (uint32_t j = 0; j < missing; j++)
		plan_diff_add_move(work, ports[2 * j + 2], ports[2 * j]);
	for (uint32_t j = links - 1; j-- > missing;)
		plan_diff_add_move(work, ports[2 * j + 1], ports[2 * j + 3]);
}

/* Ports 0 present 1 planned 2 ... present: @cables cables, one link less. */
static void report_surplus(struct plan_work *work, const uint32_t *ports, uint32_t cables)
{
	uint32_t removed = choose_removed(work, ports, cables);

	plan_diff_add_present(work, ports[2 * removed]);
	for (uint32_t j = 0; j < cables; j++) {
		if (j != removed)
			plan_diff_add_present(work, ports[2 * j]);
		if (j + 1 < cables)
			plan_diff_add_link(work, work->link[ports[2 * j + 1]]);
	}
	for (uint32_t j = removed; j-- > 0;)
		plan_diff_add_move(work, ports[2 * j], ports[2 * j + 2]);
	for (uint32_t j = removed + 1; j < cables; j++)
		plan_diff_add_move(work, ports[2 * j + 1], ports[2 * j - 1]);
}

/* Ports 0 planned 1 present 2 planned ... present: as many cables as links, each of which moves towards 0. */
static void report_moves(struct plan_work *work, const uint32_t *ports, uint32_t links)
{
	for (uint32_t j = 0; j < links; j++) {
		plan_diff_add_link(work, work->link[ports[2 * j]]);
		plan_diff_add_present(work, ports[2 * j + 1]);
		plan_diff_add_move(work, ports[2 * j + 2], ports[2 * j]);
	}
}

static void report_chain(struct plan_work *work, const struct path *path, unsigned kinds)
{
	const uint32_t *ports = path->ports;
	bool planned = work->planned[ports[0]] != FABRIC_NONE;
	bool is_cable = path->count == 2;
	bool is_reported = planned || !is_cable || is_extra(work, kinds, ports[0], ports[1]);

	if (is_reported)
		plan_diff_begin(work, !is_cable ? PLAN_WRONG_PORT : planned ? PLAN_MISSING : PLAN_EXTRA, FABRIC_NONE,
			   FABRIC_NONE);
	else
		work->diff.unplanned += !leads_to_aggregation(work, ports[0]) && !leads_to_aggregation(work, ports[1]);
	if (path->count & 1)
		report_moves(work, ports, path->count / 2);
	else if (planned)
		report_short(work, ports, path->count / 2);
	else if (is_reported)
		report_surplus(work, ports, path->count / 2);
	for (uint32_t i = 0; i + 1 < path->count; i++)
		if (planned == !(i & 1))
			plan_diff_drop_planned(work, ports[i]);
		else
			plan_diff_drop_present(work, ports[i]);
}

int plan_report_cables(struct plan_work *work)
{
	struct path path = { .ports = calloc(work->fabric->port_count + 1, sizeof(uint32_t)) };
	unsigned kinds = planned_kinds(work);

	if (!path.ports)
		return ERR_NOMEM;
	for (uint32_t i = 0; i < work->fabric->port_count; i++) {
		bool planned = work->planned[i] != FABRIC_NONE;

		if (planned == (work->present[i] != FABRIC_NONE))
			continue;
		walk(work, i, planned, &path);
		/* A chain with a planned link at one end only begins there. */
		if (!planned && path.count & 1)
			walk(work, path.ports[path.count - 1], true, &path);
		report_chain(work, &path, kinds);
	}
	for (uint32_t i = 0; i < work->fabric->port_count; i++)
		if (work->planned[i] != FABRIC_NONE) {
			walk(work, i, true, &path);
			report_cycle(work, &path);
		}
	free(path.ports);
	return 0;
}
