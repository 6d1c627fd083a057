/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* bound.c - a lower bound of the number of rounds */
#include "fabric/rounds/work.h"

#include <math.h>
#include <stdlib.h>

#include "base/err.h"
#include "fabric/shape.h"

/*
 * What a direction needs, and what it can carry at most, in one round: pairs if all HCA ports have one rate, else bits
 * per second.
 */
struct unit { double rate; }; /* of all HCA ports; 0: they differ */

static struct unit find_unit(const struct rounds_work *plan)
{
	struct unit unit = { plan->end_count ? plan->capacity[plan->ends[0]] : 0 };

	for (uint32_t i = 0; i < plan->end_count; i++)
		if (plan->capacity[plan->ends[i]] != unit.rate)
			unit.rate = 0;
	return unit;
}

static double needed(const struct rounds_work *plan, struct unit unit, uint32_t port)
{
	return unit.rate > 0 ? ceil(plan->need[port] / unit.rate - 1e-6) : plan->need[port];
}

static double possible(const struct rounds_work *plan, struct unit unit, uint32_t port)
{
	double pairs = unit.rate > 0 ? floor(plan->capacity[port] / unit.rate + 1e-6) : plan->capacity[port];

	return !plan->routes[port] ? 0 : pairs < 1 ? 1 : pairs;
}

static void raise_bound(size_t *bound, double need, double most)
{
	double rounds = most > 0 ? ceil(need / most - 1e-6) : 0;

	if (rounds > (double)*bound)
		*bound = (size_t)rounds;
}

/* What leaves a switch has entered it in the same round; what goes up has come from below, and the reverse. */
static void bound_switches(const struct rounds_work *plan, struct unit unit, size_t *bound)
{
	enum { BELOW, ABOVE, SIDES };
	const struct fabric *fabric = plan->fabric;

	for (uint32_t i = 0; i < fabric->node_count; i++) {
		double in_need[SIDES] = { 0 }, out_need[SIDES] = { 0 }, in_most[SIDES] = { 0 }, out_most[SIDES] = { 0 };
		bool tree = plan->query->shape->nodes[i].tier > 0;

		for (uint32_t j = fabric->nodes[i].first_port; rounds_is_switch(plan, i) &&
		     j < fabric->nodes[i].first_port + fabric->nodes[i].ports; j++) {
			uint8_t way = plan->query->shape->ports[j].way;
			uint32_t peer = fabric->ports[j].peer;
			int side = way == WAY_UP ? ABOVE : BELOW;

			if (peer == FABRIC_NONE)
				continue;
			tree &= way != WAY_ACROSS;
			out_need[side] += plan->weight[j] > 0 ? needed(plan, unit, j) : 0;
			in_need[side] += plan->weight[peer] > 0 ? needed(plan, unit, peer) : 0;
			out_most[side] += possible(plan, unit, j);
			in_most[side] += possible(plan, unit, peer);
		}
		raise_bound(bound, out_need[BELOW] + out_need[ABOVE], in_most[BELOW] + in_most[ABOVE]);
		raise_bound(bound, in_need[BELOW] + in_need[ABOVE], out_most[BELOW] + out_most[ABOVE]);
		if (tree) {
			raise_bound(bound, out_need[ABOVE], in_most[BELOW]);
			raise_bound(bound, in_need[ABOVE], out_most[BELOW]);
		}
	}
}

/*
 * A lower bound of the number of rounds:
 * - what is to leave a switch, divided by what can enter it in a round, and the reverse;
 * - a route has at most one link up from a tier and one down to it, and an HCA port receives from one pair: directions
 *   of one tier which only routes to one and the same HCA port cross need a round each.
 */
int rounds_find_bound(const struct rounds_work *plan, size_t *ret, struct error *err)
{
	enum { LEVELS = 2 * (SHAPE_TIERS_MAX + 1) };
	const struct shape *shape = plan->query->shape;
	uint32_t *alone = calloc((size_t)plan->end_count * LEVELS + 1, sizeof(*alone));
	size_t bound = 0;

	if (!alone)
		return err_nomem(err);
	for (uint32_t i = 0; i < plan->fabric->port_count; i++) {
		bool up = shape->ports[i].way == WAY_UP;
		size_t level;

		if (plan->weight[i] <= 0)
			continue;
		bound = bound ? bound : 1;
		if ((!up && shape->ports[i].way != WAY_DOWN) || plan->ends_through[i] != 1)
			continue;
		level = 2 * (size_t)shape->nodes[up ? plan->fabric->ports[i].node : rounds_peer_node(plan, i)].tier;
		level += up;
		if (level < LEVELS)
			raise_bound(&bound, ++alone[(size_t)plan->end_seen[i] * LEVELS + level], 1);
	}
	bound_switches(plan, find_unit(plan), &bound);
	*ret = bound;
	free(alone);
	return 0;
}
