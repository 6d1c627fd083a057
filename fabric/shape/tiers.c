/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which tier each switch is of: from the leafs up, tier by tier.
 *
 * One stray cable must not move a whole tier, so a switch joins the tier above
 * only if most of its links do not lead to others that would join with it. A
 * switch without hosts that is cabled as the leafs are is a leaf whose hosts are
 * off, not a core.
 */
#include <stdlib.h>

#include "base/err.h"
#include "fabric/shape/build.h"

/* A mesh of two switches is a trunk between two leafs, not a torus. */
#define NO_TREE_SWITCHES 3

/* More than this part of all links between switches leads across: no tree. A tree's exceptions are few; a
 * dragonfly with spines has a third of its links between groups. */
#define ACROSS_DIVISOR 4

struct climb {
	struct shape_build *build;
	uint8_t *state;  /* by node: see enum climb_state */
	uint32_t *joined; /* by node: sets of what the tiers so far connect */
	bool *mark;      /* by node: scratch, all false between uses */
	unsigned tier;   /* that is being found */
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
	uint32_t links = 0, i;

	*ret_switches = 0;
	for (i = build->first_near[node]; i < build->first_near[node + 1]; i++) {
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
	uint32_t links = 0, i;

	for (i = build->first_near[node]; i < build->first_near[node + 1]; i++)
		if (climb->state[build->near[i].node] == CANDIDATE)
			links += build->near[i].links;
	return links;
}

/*
 * How much of the marked switches a switch of a lower tier is cabled to: those that both have, and all of both together
 * @marked:  how many are marked
 */
static void compare_uplinks(const struct climb *climb, uint32_t marked, uint32_t other, uint32_t *ret_shared,
			    uint32_t *ret_all)
{
	const struct shape_build *build = climb->build;
	unsigned above = tier_of(climb, other) + 1u;
	uint32_t i, shared = 0, all = marked;

	for (i = build->first_near[other]; i < build->first_near[other + 1]; i++) {
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

/* Is there a switch of the tier below the marked ones that is cabled as they are to it? */
static bool has_kin_below(const struct climb *climb, uint32_t node, uint32_t marked)
{
	const struct shape_build *build = climb->build;
	uint32_t i, j, shared, all, looked = 0;

	for (i = build->first_near[node]; i < build->first_near[node + 1]; i++) {
		uint32_t beside = build->near[i].node;

		if (!climb->mark[beside])
			continue;
		for (j = build->first_near[beside]; j < build->first_near[beside + 1]; j++) {
			if (tier_of(climb, build->near[j].node) != climb->tier - 2)
				continue;
			compare_uplinks(climb, marked, build->near[j].node, &shared, &all);
			if (shared * 2 >= all)
				return true;
			if (++looked == 64)
				return false;
		}
	}
	return false;
}

/*
 * Is a switch above tier @climb->tier - 1 one of the tier below that, with nothing on it, or with nothing but
 * switches that have no host either? What it is cabled to is connected without it, and half of that at least serves
 * a switch of that tier too, and little else does.
 */
static bool is_bare_lower(struct climb *climb, uint32_t node)
{
	const struct shape_build *build = climb->build;
	uint32_t first = build->first_near[node], end = build->first_near[node + 1], i, marked = 0, root = 0;
	bool fits = true;

	for (i = first; i < end && fits; i++) {
		uint32_t beside = build->near[i].node;

		if (tier_of(climb, beside) == climb->tier - 1) {
			if (!marked++)
				root = shape_root(climb->joined, beside);
			climb->mark[beside] = true;
			fits = shape_root(climb->joined, beside) == root;
		} else {
			/* Below a leaf there is nothing. */
			fits = climb->tier > 3 && !tier_of(climb, beside) && climb->state[beside] == FREE;
		}
	}
	fits = fits && has_kin_below(climb, node, marked);
	for (i = first; i < end; i++)
		climb->mark[build->near[i].node] = false;
	return fits;
}

/* The set of connected switches that a bare one hangs on. */
static uint32_t root_above(const struct climb *climb, uint32_t node)
{
	const struct shape_build *build = climb->build;
	uint32_t i;

	for (i = build->first_near[node]; i < build->first_near[node + 1]; i++)
		if (tier_of(climb, build->near[i].node) == climb->tier - 1)
			return shape_root(climb->joined, build->near[i].node);
	return UINT32_MAX;
}

/*
 * Do the bare switches beside one without a tier all hang on the same, and is it cabled to nothing else? Then it is
 * below them; else it may join what is apart without it, and is above.
 */
static bool is_below_bare(const struct climb *climb, uint32_t node, bool *ret_beside)
{
	const struct shape_build *build = climb->build;
	uint32_t i, root = UINT32_MAX;
	bool fits = true;

	*ret_beside = false;
	for (i = build->first_near[node]; i < build->first_near[node + 1]; i++) {
		uint32_t beside = build->near[i].node;

		if (climb->state[beside] != LOWER) {
			fits = false;
			continue;
		}
		fits = fits && (!*ret_beside || root_above(climb, beside) == root);
		root = root_above(climb, beside);
		*ret_beside = true;
	}
	return fits;
}

/* Switches that looked bare are not where something above them is cabled to them. */
static void doubt_lower(struct climb *climb)
{
	const struct shape_build *build = climb->build;
	bool changed = climb->tier > 3, beside;
	uint32_t i, j;

	while (changed) {
		changed = false;
		for (i = 0; i < build->switch_count; i++) {
			uint32_t node = build->switches[i];

			if (tier_of(climb, node) || climb->state[node] != FREE || is_below_bare(climb, node, &beside) ||
			    !beside)
				continue;
			for (j = build->first_near[node]; j < build->first_near[node + 1]; j++)
				if (climb->state[build->near[j].node] == LOWER)
					climb->state[build->near[j].node] = CANDIDATE;
			changed = true;
		}
	}
}

/* What hangs below switches that have just been given a tier, and on nothing else, is of the tier below. */
static void settle_below(const struct climb *climb, unsigned tier)
{
	const struct shape_build *build = climb->build;
	struct shape_node *nodes = build->shape->nodes;
	uint32_t i, j;

	for (; tier > 1; tier--) {
		for (i = 0; i < build->switch_count; i++) {
			uint32_t node = build->switches[i], first = build->first_near[node];

			if (nodes[node].tier || climb->state[node] == CANDIDATE || first == build->first_near[node + 1])
				continue;
			for (j = first; j < build->first_near[node + 1]; j++)
				if (nodes[build->near[j].node].tier != tier)
					break;
			if (j < build->first_near[node + 1])
				continue;
			nodes[node].tier = (uint8_t)(tier - 1);
			build->shape->empty_leafs += tier == 2 && !build->hcas[node];
		}
	}
}

/* Those that are bare switches of a lower tier go there, where they are fewer than half of its others. */
static void settle_lower(struct climb *climb)
{
	const struct shape_build *build = climb->build;
	uint32_t i, bare = 0, others = 0;

	for (i = 0; i < build->switch_count; i++) {
		uint32_t node = build->switches[i];

		others += tier_of(climb, node) == climb->tier - 2;
		if (climb->state[node] == CANDIDATE && is_bare_lower(climb, node))
			climb->state[node] = LOWER;
	}
	doubt_lower(climb);
	for (i = 0; i < build->switch_count; i++)
		bare += climb->state[build->switches[i]] == LOWER;
	for (i = 0; i < build->switch_count; i++) {
		uint32_t node = build->switches[i];

		if (climb->state[node] != LOWER)
			continue;
		climb->state[node] = CANDIDATE;
		if (bare * 2 >= others)
			continue;
		climb->state[node] = FREE;
		build->shape->nodes[node].tier = (uint8_t)(climb->tier - 2);
		build->shape->empty_leafs += climb->tier == 3 && !build->hcas[node];
	}
	if (bare && bare * 2 < others)
		settle_below(climb, climb->tier - 2);
}

/* A switch that hangs on one other of the tier below, which has no other above it, joins nothing. */
static bool is_stub(const struct climb *climb, uint32_t node)
{
	const struct shape_build *build = climb->build;
	uint32_t beside, i;

	if (build->first_near[node + 1] - build->first_near[node] != 1)
		return false;
	beside = build->near[build->first_near[node]].node;
	for (i = build->first_near[beside]; i < build->first_near[beside + 1]; i++)
		if (climb->state[build->near[i].node] == CANDIDATE &&
		    build->first_near[build->near[i].node + 1] - build->first_near[build->near[i].node] > 1)
			return false;
	return true;
}

/* The next tier up. Return: how many switches it has. */
static uint32_t climb_tier(struct climb *climb)
{
	const struct shape_build *build = climb->build;
	struct shape_node *nodes = build->shape->nodes;
	uint32_t i, j, found = 0, below, switches;

	for (i = 0; i < build->switch_count; i++) {
		uint32_t node = build->switches[i];

		climb->state[node] = FREE;
		if (!nodes[node].tier && links_to_tier(climb, node, climb->tier - 1, &switches))
			climb->state[node] = CANDIDATE;
	}
	if (climb->tier > 2)
		settle_lower(climb);
	for (i = 0; i < build->switch_count; i++) {
		uint32_t node = build->switches[i];

		if (climb->state[node] != CANDIDATE)
			continue;
		below = links_to_tier(climb, node, climb->tier - 1, &switches);
		if (links_to_candidates(climb, node) > below || (climb->tier > 2 && is_stub(climb, node)))
			climb->state[node] = STUB;
	}
	for (i = 0; i < build->switch_count; i++) {
		uint32_t node = build->switches[i];

		if (climb->state[node] != CANDIDATE)
			continue;
		nodes[node].tier = (uint8_t)climb->tier;
		found++;
		for (j = build->first_near[node]; j < build->first_near[node + 1]; j++)
			if (nodes[build->near[j].node].tier == climb->tier - 1)
				shape_join(climb->joined, node, build->near[j].node);
	}
	return found;
}

/* A switch without hosts most of whose links do not lead one tier up or down fits none. */
static void drop_misfits(struct shape_build *build)
{
	struct shape_node *nodes = build->shape->nodes;
	uint32_t i, j;

	for (i = 0; i < build->switch_count; i++) {
		uint32_t node = build->switches[i], fits = 0, same = 0, links = 0;

		for (j = build->first_near[node]; j < build->first_near[node + 1]; j++) {
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
	for (i = 0; i < build->switch_count; i++)
		if (nodes[build->switches[i]].why)
			nodes[build->switches[i]].tier = 0;
}

/* Links that a tree does not have; each is seen from both of its ends. */
static void count_exceptions(struct shape_build *build)
{
	struct shape *shape = build->shape;
	uint32_t i, j, across = 0, skips = 0, links = 0;

	for (i = 0; i < build->switch_count; i++) {
		uint32_t node = build->switches[i];
		int tier = shape->nodes[node].tier;

		for (j = build->first_near[node]; j < build->first_near[node + 1]; j++) {
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
	if (build->switch_count < NO_TREE_SWITCHES || across * ACROSS_DIVISOR <= links)
		return;
	shape->kind = SHAPE_NO_TREE;
	shape->empty_leafs = 0;
	for (i = 0; i < build->switch_count; i++) {
		shape->nodes[build->switches[i]].tier = 0;
		shape->nodes[build->switches[i]].why = SHAPE_WHOLE_NO_TREE;
	}
}

/* Planes: what is left of the tiers above the leafs when the leafs are taken away. */
static void find_planes(struct shape_build *build, uint32_t *sets)
{
	struct shape_node *nodes = build->shape->nodes;
	uint32_t i, j;

	for (i = 0; i < build->fabric->node_count; i++)
		sets[i] = i;
	for (i = 0; i < build->switch_count; i++) {
		uint32_t node = build->switches[i];

		for (j = build->first_near[node]; j < build->first_near[node + 1] && nodes[node].tier > 1; j++)
			if (nodes[build->near[j].node].tier > 1)
				shape_join(sets, node, build->near[j].node);
	}
	/* A set's representative is its first node, and comes first here. */
	for (i = 0; i < build->switch_count; i++) {
		uint32_t node = build->switches[i], root = shape_root(sets, node);

		if (nodes[node].tier < 2)
			continue;
		nodes[node].plane = root == node ? build->shape->plane_count++ : nodes[root].plane;
	}
}

int shape_find_tiers(struct shape_build *build)
{
	size_t count = build->fabric->node_count + 1;
	struct climb climb = {
		.build = build, .state = calloc(count, sizeof(*climb.state)),
		.joined = malloc(count * sizeof(*climb.joined)), .mark = calloc(count, sizeof(*climb.mark)),
	};
	struct shape *shape = build->shape;
	uint32_t i;
	int code = climb.state && climb.joined && climb.mark ? 0 : ERR_NOMEM;

	if (code == 0) {
		for (i = 0; i < build->fabric->node_count; i++)
			climb.joined[i] = i;
		for (climb.tier = 2; climb.tier <= SHAPE_TIERS_MAX && climb_tier(&climb); climb.tier++)
			;
		drop_misfits(build);
		count_exceptions(build);
		find_planes(build, climb.joined);
		for (i = 0; i < build->switch_count; i++)
			if (shape->nodes[build->switches[i]].tier > shape->tier_count)
				shape->tier_count = shape->nodes[build->switches[i]].tier;
	}
	free(climb.state);
	free(climb.joined);
	free(climb.mark);
	return code;
}
