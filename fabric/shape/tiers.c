/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The tier of each switch, from the leaves up.
 *
 * A single stray cable must not move a whole tier, so a switch joins the next tier only if most of
 * its links do not lead to other candidates. A switch without hosts that is cabled like a leaf is a
 * leaf whose hosts are off, not a core.
 */
#include <stdlib.h>

#include "base/err.h"
#include "fabric/shape/build.h"

/*
 * Above this share of links within a tier a fabric in which they form cycles is no tree. A tree has
 * few exceptions; a dragonfly with spines has a third of its links between groups.
 */
#define ACROSS_DIVISOR 4

struct climb {
	struct shape_build *build;
	uint8_t *state;  /* by node: enum climb_state */
	uint32_t *joined; /* by node: sets of switches connected by the tiers so far */
	bool *mark;      /* by node: scratch, all false between uses */
	bool *twin;      /* by node: cabled as a switch of a lower tier */
	unsigned tier;   /* the current tier */
};

enum climb_state { FREE, CANDIDATE, STUB, LOWER };

static uint8_t tier_of(const struct climb *climb, uint32_t node)
{
	return climb->build->shape->nodes[node].tier;
}

/* Links from @node to switches of one tier, and to those of one state. */
static uint32_t links_to_tier(const struct climb *climb, uint32_t node, unsigned tier, uint32_t *ret_switches)
{
	const struct shape_build *build = climb->build;
	uint32_t links = 0;

	*ret_switches = 0;
	for (uint32_t i = build->first_near[node]; i < build->first_near[node + 1]; i++) {
		if (tier_of(climb, build->near[i].node) != tier)
			continue;
		links += build->near[i].links;
		(*ret_switches)++;
	}
	return links;
}

static uint32_t links_to_candidates(const struct climb *climb, uint32_t node)
{
	const struct shape_build *build = climb->build;
	uint32_t links = 0;

	for (uint32_t i = build->first_near[node]; i < build->first_near[node + 1]; i++)
		if (climb->state[build->near[i].node] == CANDIDATE)
			links += build->near[i].links;
	return links;
}

/*
 * Overlap of the marked switches and the neighbors of a switch: intersection and union. @marked:
 * number of marked switches.
 */
static void compare_uplinks(const struct climb *climb, uint32_t marked, uint32_t other, uint32_t *ret_shared,
			    uint32_t *ret_all)
{
	const struct shape_build *build = climb->build;
	unsigned above = tier_of(climb, other) + 1u;
	uint32_t shared = 0, all = marked;

	for (uint32_t i = build->first_near[other]; i < build->first_near[other + 1]; i++) {
		if (tier_of(climb, build->near[i].node) != above)
			continue;
		if (climb->mark[build->near[i].node])
			shared++;
		else
			all++;
	}
	*ret_shared = shared;
	*ret_all = all;
}

/* A module of a director is connected to modules of the same box. */
static bool in_one_box(const struct climb *climb, uint32_t a, uint32_t b)
{
	return climb->build->shape->nodes[a].box == climb->build->shape->nodes[b].box;
}

/*
 * A switch of the tier below the marked ones has half of the same cabling, and *@ret_twin: three
 * quarters.
 */
static bool has_kin_below(const struct climb *climb, uint32_t node, uint32_t marked, bool *ret_twin)
{
	const struct shape_build *build = climb->build;
	uint32_t shared, all, looked = 0;
	bool found = false;

	*ret_twin = false;
	for (uint32_t i = build->first_near[node]; i < build->first_near[node + 1]; i++) {
		uint32_t neighbor = build->near[i].node;

		if (!climb->mark[neighbor])
			continue;
		for (uint32_t j = build->first_near[neighbor]; j < build->first_near[neighbor + 1]; j++) {
			uint32_t other = build->near[j].node;

			if (tier_of(climb, other) != climb->tier - 2 ||
			    in_one_box(climb, node, neighbor) != in_one_box(climb, other, neighbor))
				continue;
			compare_uplinks(climb, marked, other, &shared, &all);
			found |= shared * 2 >= all;
			*ret_twin |= shared * 4 >= all * 3;
			if (*ret_twin || ++looked == 64)
				return found;
		}
	}
	return found;
}

/*
 * A switch above tier @climb->tier - 1 belongs to the tier below that, without hosts below it: its
 * neighbors are connected without it, at least half of them also serve a switch of that tier, and
 * it has few other links.
 */
static bool is_bare_lower(struct climb *climb, uint32_t node)
{
	const struct shape_build *build = climb->build;
	uint32_t first = build->first_near[node], end = build->first_near[node + 1], marked = 0, root = 0;
	bool fits = true;

	for (uint32_t i = first; i < end && fits; i++) {
		uint32_t neighbor = build->near[i].node;

		if (tier_of(climb, neighbor) == climb->tier - 1) {
			if (!marked++)
				root = shape_root(climb->joined, neighbor);
			climb->mark[neighbor] = true;
			fits = shape_root(climb->joined, neighbor) == root;
		} else {
			/* There is no tier below the leaves. */
			fits = climb->tier > 3 && !tier_of(climb, neighbor) && climb->state[neighbor] == FREE;
		}
	}
	fits = fits && has_kin_below(climb, node, marked, &climb->twin[node]);
	for (uint32_t i = first; i < end; i++)
		climb->mark[build->near[i].node] = false;
	return fits;
}

/* The set of connected switches that a bare switch is attached to. */
static uint32_t root_above(const struct climb *climb, uint32_t node)
{
	const struct shape_build *build = climb->build;

	for (uint32_t i = build->first_near[node]; i < build->first_near[node + 1]; i++)
		if (tier_of(climb, build->near[i].node) == climb->tier - 1)
			return shape_root(climb->joined, build->near[i].node);
	return UINT32_MAX;
}

/*
 * All bare switches next to a switch without a tier are attached to the same set, and it has no
 * other links: then it is below them. Otherwise it may connect separate parts, and is above.
 */
static bool is_below_bare(const struct climb *climb, uint32_t node, bool *ret_has_bare)
{
	const struct shape_build *build = climb->build;
	uint32_t root = UINT32_MAX;
	bool fits = true;

	*ret_has_bare = false;
	for (uint32_t i = build->first_near[node]; i < build->first_near[node + 1]; i++) {
		uint32_t neighbor = build->near[i].node;

		if (climb->state[neighbor] != LOWER) {
			fits = false;
			continue;
		}
		fits = fits && (!*ret_has_bare || root_above(climb, neighbor) == root);
		root = root_above(climb, neighbor);
		*ret_has_bare = true;
	}
	return fits;
}

/* Switches are not bare if a switch above them is cabled to them. */
static void doubt_lower(struct climb *climb)
{
	const struct shape_build *build = climb->build;
	bool changed = climb->tier > 3, has_bare;

	while (changed) {
		changed = false;
		for (uint32_t i = 0; i < build->switch_count; i++) {
			uint32_t node = build->switches[i];

			if (tier_of(climb, node) || climb->state[node] != FREE ||
			    is_below_bare(climb, node, &has_bare) || !has_bare)
				continue;
			for (uint32_t j = build->first_near[node]; j < build->first_near[node + 1]; j++)
				if (climb->state[build->near[j].node] == LOWER)
					climb->state[build->near[j].node] = CANDIDATE;
			changed = true;
		}
	}
}

/* Switches attached only to switches that just received a tier belong to the tier below. */
static void settle_below(const struct climb *climb, unsigned tier)
{
	const struct shape_build *build = climb->build;
	struct shape_node *nodes = build->shape->nodes;
	uint32_t j;

	for (; tier > 1; tier--) {
		for (uint32_t i = 0; i < build->switch_count; i++) {
			uint32_t node = build->switches[i], first = build->first_near[node];

			if (nodes[node].tier || climb->state[node] == CANDIDATE || first == build->first_near[node + 1])
				continue;
			for (j = first; j < build->first_near[node + 1]; j++)
				if (nodes[build->near[j].node].tier != tier)
					break;
			if (j < build->first_near[node + 1])
				continue;
			nodes[node].tier = (uint8_t)(tier - 1);
			build->shape->empty_leaves += tier == 2 && !build->hcas[node];
		}
	}
}

/*
 * Bare switches of a lower tier are assigned to it if their uplinks reach the same switches, however
 * many they are, else if they are less than half of its switches.
 */
static void settle_lower(struct climb *climb)
{
	const struct shape_build *build = climb->build;
	uint32_t bare = 0, others = 0, settled = 0;

	for (uint32_t i = 0; i < build->switch_count; i++) {
		uint32_t node = build->switches[i];

		others += tier_of(climb, node) == climb->tier - 2;
		if (climb->state[node] == CANDIDATE && is_bare_lower(climb, node))
			climb->state[node] = LOWER;
	}
	doubt_lower(climb);
	for (uint32_t i = 0; i < build->switch_count; i++) {
		uint32_t node = build->switches[i];

		bare += climb->state[node] == LOWER && !climb->twin[node];
		others += climb->state[node] == LOWER && climb->twin[node];
	}
	for (uint32_t i = 0; i < build->switch_count; i++) {
		uint32_t node = build->switches[i];

		if (climb->state[node] != LOWER)
			continue;
		climb->state[node] = CANDIDATE;
		if (!climb->twin[node] && bare * 2 >= others)
			continue;
		settled++;
		climb->state[node] = FREE;
		build->shape->nodes[node].tier = (uint8_t)(climb->tier - 2);
		build->shape->empty_leaves += climb->tier == 3 && !build->hcas[node];
	}
	if (settled)
		settle_below(climb, climb->tier - 2);
}

/*
 * A switch attached to a single switch of the tier below, without another one above, connects
 * nothing.
 */
static bool is_stub(const struct climb *climb, uint32_t node)
{
	const struct shape_build *build = climb->build;
	uint32_t neighbor;

	if (build->first_near[node + 1] - build->first_near[node] != 1)
		return false;
	neighbor = build->near[build->first_near[node]].node;
	for (uint32_t i = build->first_near[neighbor]; i < build->first_near[neighbor + 1]; i++)
		if (climb->state[build->near[i].node] == CANDIDATE &&
		    build->first_near[build->near[i].node + 1] - build->first_near[build->near[i].node] > 1)
			return false;
	return true;
}

/* Assign the next tier. Return: its number of switches. */
static uint32_t climb_tier(struct climb *climb)
{
	const struct shape_build *build = climb->build;
	struct shape_node *nodes = build->shape->nodes;
	uint32_t found = 0, below, switches;

	for (uint32_t i = 0; i < build->switch_count; i++) {
		uint32_t node = build->switches[i];

		climb->state[node] = FREE;
		if (!nodes[node].tier && links_to_tier(climb, node, climb->tier - 1, &switches))
			climb->state[node] = CANDIDATE;
	}
	if (climb->tier > 2)
		settle_lower(climb);
	for (uint32_t i = 0; i < build->switch_count; i++) {
		uint32_t node = build->switches[i];

		if (climb->state[node] != CANDIDATE)
			continue;
		below = links_to_tier(climb, node, climb->tier - 1, &switches);
		if (links_to_candidates(climb, node) > below || (climb->tier > 2 && is_stub(climb, node)))
			climb->state[node] = STUB;
	}
	for (uint32_t i = 0; i < build->switch_count; i++) {
		uint32_t node = build->switches[i];

		if (climb->state[node] != CANDIDATE)
			continue;
		nodes[node].tier = (uint8_t)climb->tier;
		found++;
		for (uint32_t j = build->first_near[node]; j < build->first_near[node + 1]; j++)
			if (nodes[build->near[j].node].tier == climb->tier - 1)
				shape_join(climb->joined, node, build->near[j].node);
	}
	return found;
}

/* A switch without hosts fits no tier if most of its links do not lead one tier up or down. */
static void drop_misfits(struct shape_build *build)
{
	struct shape_node *nodes = build->shape->nodes;

	for (uint32_t i = 0; i < build->switch_count; i++) {
		uint32_t node = build->switches[i], fits = 0, same = 0, links = 0;

		for (uint32_t j = build->first_near[node]; j < build->first_near[node + 1]; j++) {
			const struct near *near = &build->near[j];
			int step = nodes[near->node].tier - nodes[node].tier;

			links += near->links;
			fits += step == 1 || step == -1 ? near->links : 0;
			same += step == 0 ? near->links : 0;
		}
		if (!nodes[node].tier)
			nodes[node].why = !links ? SHAPE_UNCONNECTED : SHAPE_NO_HOSTS_BELOW;
		else if (nodes[node].tier > 1 && fits * 2 < links)
			nodes[node].why = same ? SHAPE_SAME_TIER : SHAPE_SKIPS_TIER;
	}
	for (uint32_t i = 0; i < build->switch_count; i++)
		if (nodes[build->switches[i]].why)
			nodes[build->switches[i]].tier = 0;
}

/* Count links that a tree does not have; each is seen from both ends. */
static int count_exceptions(struct shape_build *build)
{
	struct shape *shape = build->shape;
	uint32_t across = 0, skips = 0, links = 0;
	bool cycles = false;
	int code;

	if (!shape->tier_count && build->switch_count) {
		shape->kind = SHAPE_UNKNOWN;
		return 0;
	}
	for (uint32_t i = 0; i < build->switch_count; i++) {
		uint32_t node = build->switches[i];
		int tier = shape->nodes[node].tier;

		for (uint32_t j = build->first_near[node]; j < build->first_near[node + 1]; j++) {
			int other = shape->nodes[build->near[j].node].tier;

			links += build->near[j].links;
			if (tier == other || !tier || !other)
				across += build->near[j].links;
			else if (abs(tier - other) > 1)
				skips += build->near[j].links;
		}
	}
	shape->across = across / 2;
	shape->skips = skips / 2;
	if (across * ACROSS_DIVISOR <= links)
		return 0;
	code = shape_has_cycles(build, &cycles);
	if (code < 0 || !cycles)
		return code;
	shape->kind = SHAPE_NO_TREE;
	shape->empty_leaves = 0;
	shape->tier_count = 0;
	for (uint32_t i = 0; i < build->switch_count; i++) {
		shape->nodes[build->switches[i]].tier = 0;
		shape->nodes[build->switches[i]].why = SHAPE_WHOLE_NO_TREE;
	}
	return 0;
}

/*
 * Planes are the unconnected parts, if all of them serve the same HCAs, or else the connected parts that remain without
 * the leaves. @sets: of one node each
 */
static void find_planes(struct shape_build *build, uint32_t *sets)
{
	struct shape_node *nodes = build->shape->nodes;

	if (shape_has_planes(build)) {
		build->shape->plane_count = build->shape->parts;
		for (uint32_t i = 0; i < build->switch_count; i++)
			nodes[build->switches[i]].plane = nodes[build->switches[i]].part;
		return;
	}

	for (uint32_t i = 0; i < build->switch_count; i++) {
		uint32_t node = build->switches[i];

		for (uint32_t j = build->first_near[node]; j < build->first_near[node + 1] && nodes[node].tier > 1; j++)
			if (nodes[build->near[j].node].tier > 1)
				shape_join(sets, node, build->near[j].node);
	}
	/* In order of GUIDs. */
	for (uint32_t i = 0; i < build->switch_count; i++) {
		uint32_t node = build->switches[i], root = shape_root(sets, node);

		if (nodes[node].tier < 2)
			continue;
		if (nodes[root].plane == SHAPE_NONE)
			nodes[root].plane = build->shape->plane_count++;
		nodes[node].plane = nodes[root].plane;
	}
}

int shape_find_tiers(struct shape_build *build)
{
	size_t count = build->fabric->node_count;
	struct climb climb = {
		.build = build, .state = shape_scratch(build, count, sizeof(*climb.state)),
		.joined = shape_sets(build), .mark = shape_scratch(build, count, sizeof(*climb.mark)),
		.twin = shape_scratch(build, count, sizeof(*climb.twin)),
	};
	struct shape *shape = build->shape;

	if (!climb.state || !climb.joined || !climb.mark || !climb.twin)
		return ERR_NOMEM;
	for (climb.tier = 2; climb.tier <= SHAPE_TIERS_MAX && climb_tier(&climb); climb.tier++)
		;
	drop_misfits(build);
	for (uint32_t i = 0; i < build->switch_count; i++)
		if (shape->nodes[build->switches[i]].tier > shape->tier_count)
			shape->tier_count = shape->nodes[build->switches[i]].tier;
	if (count_exceptions(build) < 0)
		return ERR_NOMEM;
	shape_part(build, climb.joined);
	find_planes(build, climb.joined);
	return 0;
}
