/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/host_tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "fabric/host_tree/build.h"
#include "fabric/names.h"
#include "fabric/shape.h"

static uint32_t set_root(uint32_t *set, uint32_t i)
{
	while (set[i] != i)
		i = set[i] = set[set[i]];
	return i;
}

static void join(uint32_t *set, uint32_t a, uint32_t b)
{
	a = set_root(set, a);
	b = set_root(set, b);
	set[a < b ? b : a] = a < b ? a : b;
}

static void fill(uint32_t *list, size_t count, uint32_t value)
{
	for (size_t i = 0; i < count; i++)
		list[i] = value;
}

static uint32_t peer_node(const struct fabric *fabric, uint32_t port)
{
	return fabric->ports[port].peer == FABRIC_NONE ? FABRIC_NONE : fabric->ports[fabric->ports[port].peer].node;
}

/* Number the boxes in natural order of the name of the first switch of each. */
static bool find_boxes(struct host_build *build)
{
	const struct fabric *fabric = build->fabric;
	size_t nodes = fabric->node_count;

	build->box_of = malloc((nodes + 1) * sizeof(*build->box_of));
	build->node_of = malloc((nodes + 1) * sizeof(*build->node_of));
	build->tier = calloc(nodes + 1, sizeof(*build->tier));
	build->group_of = malloc((nodes + 1) * sizeof(*build->group_of));
	build->set = malloc((nodes + 1) * sizeof(*build->set));
	build->found = malloc((nodes + 1) * sizeof(*build->found));
	if (!build->box_of || !build->node_of || !build->tier || !build->group_of || !build->set || !build->found)
		return false;
	fill(build->box_of, nodes, SHAPE_NONE);
	fill(build->group_of, nodes, SHAPE_NONE);
	for (size_t i = 0; i < nodes; i++) {
		uint32_t node = fabric->names.sorted[i];

		if (fabric->nodes[node].type != NODE_SWITCH || build->shape->nodes[node].box != node)
			continue;
		build->node_of[build->box_count] = node;
		build->set[build->box_count] = build->box_count;
		build->box_of[node] = build->box_count++;
	}
	for (uint32_t i = 0; i < nodes; i++) {
		const struct shape_node *node = &build->shape->nodes[i];
		uint8_t *tier;

		if (fabric->nodes[i].type != NODE_SWITCH)
			continue;
		build->box_of[i] = build->box_of[node->box];
		tier = &build->tier[build->box_of[i]];
		if (node->tier && (!*tier || node->tier < *tier))
			*tier = node->tier;
	}
	return true;
}

/* The box that an HCA port of the compute network is cabled to, or SHAPE_NONE. */
static uint32_t leaf_of_port(const struct host_build *build, uint32_t port)
{
	uint32_t node = peer_node(build->fabric, port), rail = build->shape->ports[port].rail;

	if (node == FABRIC_NONE)
		return SHAPE_NONE;
	if (!build->all && rail != SHAPE_NONE && build->shape->rails[rail].class != CLASS_COMPUTE)
		return SHAPE_NONE;
	return build->box_of[node];
}

/* Append the leaves of a host, each once and in order. Return: the end. */
static uint32_t *add_leaves(const struct host_build *build, uint32_t index, uint32_t *leaves)
{
	const struct shape_host *host = &build->shape->hosts[index];
	uint32_t *end = leaves;

	for (uint32_t i = host->first; i < host->first + host->count; i++) {
		const struct node *node = &build->fabric->nodes[build->shape->host_nodes[i]];

		for (uint32_t port = node->first_port; port < node->first_port + node->ports; port++) {
			uint32_t leaf = leaf_of_port(build, port), *at = end;

			if (leaf == SHAPE_NONE)
				continue;
			while (at > leaves && at[-1] > leaf)
				at--;
			if (at > leaves && at[-1] == leaf)
				continue;
			memmove(at + 1, at, (size_t)(end - at) * sizeof(*at));
			*at = leaf;
			end++;
		}
	}
	return end;
}

/* Is a host cabled to a switch of the compute network? */
static bool is_cabled(void *context, uint32_t host)
{
	const struct host_build *build = context;
	const struct shape_host *self = &build->shape->hosts[host];

	for (uint32_t i = self->first; i < self->first + self->count; i++) {
		const struct node *node = &build->fabric->nodes[build->shape->host_nodes[i]];

		for (uint32_t port = node->first_port; port < node->first_port + node->ports; port++)
			if (leaf_of_port(build, port) != SHAPE_NONE)
				return true;
	}
	return false;
}

/* Leaves with storage or management hosts, which are not in the tree. */
static void find_others(struct host_build *build)
{
	const struct fabric *fabric = build->fabric;

	for (uint32_t i = 0; i < fabric->port_count && !build->all; i++) {
		const struct shape_node *node = &build->shape->nodes[fabric->ports[i].node];
		uint32_t peer = peer_node(fabric, i);

		if (peer != FABRIC_NONE && (node->class == CLASS_STORAGE || node->class == CLASS_MANAGEMENT) &&
		    build->box_of[peer] != SHAPE_NONE)
			build->others[build->box_of[peer]] = true;
	}
}

static int find_units(struct host_build *build, struct error *err)
{
	const struct host_names *names = &build->names;
	struct host_leaves hosts;
	uint32_t *end;

	build->first = malloc((names->count + 1) * sizeof(*build->first));
	build->leaves = malloc((build->fabric->port_count + 1) * sizeof(*build->leaves));
	build->others = calloc(build->box_count + 1, sizeof(*build->others));
	if (!build->first || !build->leaves || !build->others)
		return err_nomem(err);
	find_others(build);
	end = build->leaves;
	for (size_t i = 0; i < names->count; i++) {
		build->first[i] = (uint32_t)(end - build->leaves);
		end = add_leaves(build, names->list[i].host, end);
	}
	build->first[names->count] = (uint32_t)(end - build->leaves);
	hosts = (struct host_leaves){ (uint32_t)names->count, build->box_count, build->first, build->leaves,
				      build->others };
	return host_units_find(&hosts, &build->units, err);
}

/* Names of modules of one box, "director/L01/U1", have its name before the slash. */
static size_t box_name_len(const struct host_build *build, uint32_t box)
{
	const struct fabric *fabric = build->fabric;
	const char *name = fabric->names.shown[build->node_of[box]];
	size_t len = strcspn(name, "/");
	uint32_t switches = 0;

	for (uint32_t i = 0; i < fabric->node_count; i++) {
		if (build->box_of[i] != box)
			continue;
		switches++;
		if (strncmp(fabric->names.shown[i], name, len) || fabric->names.shown[i][len] != '/')
			return strlen(name);
	}
	return switches > 1 && len ? len : strlen(name);
}

static char *name_box(const struct host_build *build, uint32_t box, const char *end)
{
	const char *name = build->fabric->names.shown[build->node_of[box]];

	return host_tree_switch_name("", name, strchr(name, '/') ? box_name_len(build, box) : strlen(name), end,
				     host_build_guid(build, box));
}

/* Add a switch of the tree. Return: its number; SHAPE_NONE: no memory. */
static uint32_t add_group(struct host_build *build, const struct host_group *group)
{
	if (!group->name)
		return SHAPE_NONE;
	build->groups[build->group_count] = *group;
	build->groups[build->group_count].parent = SHAPE_NONE;
	return build->group_count++;
}

/* The leaves of the tree: a unit has the name of its first leaf. */
static bool add_units(struct host_build *build)
{
	const struct host_units *units = &build->units;
	uint32_t *first = build->found;

	fill(first, units->count, SHAPE_NONE);
	for (uint32_t i = 0; i < build->box_count; i++) {
		uint32_t unit = units->of_leaf[i];

		if (unit == HOST_UNIT_NONE)
			continue;
		/* Hosts on a spine need a leaf of their own, since a switch has either hosts or switches. */
		if (first[unit] == SHAPE_NONE || (build->tier[first[unit]] > 1 && build->tier[i] <= 1))
			first[unit] = i;
	}
	for (uint32_t i = 0; i < build->box_count; i++)
		if (units->of_leaf[i] != HOST_UNIT_NONE)
			join(build->set, i, first[units->of_leaf[i]]);
	for (uint32_t i = 0; i < units->count; i++) {
		struct host_group group = { .unit = i, .box = first[i], .inside = first[i], .tier = 1 };

		group.name = name_box(build, first[i], build->tier[first[i]] > 1 ? "-hosts" : "");
		if (add_group(build, &group) == SHAPE_NONE)
			return false;
	}
	return true;
}

/* Join boxes that a link connects. @tier: only up to this tier, and from tier to tier; 0: by any link */
static void join_links(struct host_build *build, unsigned tier)
{
	const struct fabric *fabric = build->fabric;

	for (uint32_t i = 0; i < fabric->port_count; i++) {
		uint32_t peer = peer_node(fabric, i), a = build->box_of[fabric->ports[i].node], b;

		if (peer == FABRIC_NONE || a == SHAPE_NONE || build->box_of[peer] == SHAPE_NONE)
			continue;
		b = build->box_of[peer];
		if (tier && (build->tier[a] != tier || !build->tier[b] || build->tier[b] >= tier))
			continue;
		join(build->set, a, b);
	}
}

/* The switches of a tier that are connected with the same units are one switch, above all that they connect. */
static bool add_tier(struct host_build *build, uint8_t tier)
{
	uint32_t before = build->group_count;

	join_links(build, tier);
	fill(build->found, build->box_count, SHAPE_NONE);
	/* The part of each group that has nothing above it yet; its first box is replaced by the new group below. */
	for (uint32_t i = 0; i < before; i++)
		if (build->groups[i].parent == SHAPE_NONE)
			build->found[set_root(build->set, build->groups[i].inside)] = i;
	for (uint32_t i = 0; i < build->box_count; i++) {
		uint32_t *found = &build->found[set_root(build->set, i)];

		if (build->tier[i] != tier || *found == SHAPE_NONE)
			continue;
		if (*found < before) {
			struct host_group group = { .unit = SHAPE_NONE, .box = i, .inside = i, .tier = tier };

			group.name = name_box(build, i, "");
			*found = add_group(build, &group);
			if (*found == SHAPE_NONE)
				return false;
		}
		build->group_of[i] = *found;
	}
	for (uint32_t i = 0; i < before; i++) {
		uint32_t above = build->found[set_root(build->set, build->groups[i].inside)];

		if (build->groups[i].parent == SHAPE_NONE && above >= before)
			build->groups[i].parent = above;
	}
	return true;
}

/* Is the group the higher one, or that of the first name in one tier? */
static bool is_above(const struct host_group *a, const struct host_group *b)
{
	return a->tier != b->tier ? a->tier > b->tier : names_compare(a->name, b->name) < 0;
}

/*
 * What is connected has one root: the only group of the highest tier, or one that stands for no switch, named
 * after the first group below it.
 */
static bool add_roots(struct host_build *build)
{
	uint32_t before = build->group_count;
	bool ok = true;

	join_links(build, 0);
	fill(build->found, build->box_count, SHAPE_NONE);
	for (uint32_t i = 0; i < before; i++) {
		uint32_t *best = &build->found[set_root(build->set, build->groups[i].inside)];

		if (build->groups[i].parent == SHAPE_NONE &&
		    (*best == SHAPE_NONE || is_above(&build->groups[i], &build->groups[*best])))
			*best = i;
	}
	for (uint32_t i = 0; i < before && ok; i++) {
		uint32_t *best = &build->found[set_root(build->set, build->groups[i].inside)];
		const struct host_group *top = &build->groups[*best];
		struct host_group group = {
			.unit = SHAPE_NONE, .box = SHAPE_NONE, .inside = top->inside, .tier = UINT8_MAX,
		};

		if (build->groups[i].parent != SHAPE_NONE || i == *best || *best >= before ||
		    (top->tier > 1 && top->tier > build->groups[i].tier))
			continue;
		group.name = host_tree_switch_name("fabric-", top->name, strlen(top->name), "",
						   host_build_guid(build, top->box));
		*best = add_group(build, &group);
		ok = *best != SHAPE_NONE;
	}
	for (uint32_t i = 0; i < before && ok; i++) {
		uint32_t best = build->found[set_root(build->set, build->groups[i].inside)];

		if (build->groups[i].parent == SHAPE_NONE && best != i)
			build->groups[i].parent = best;
	}
	return ok;
}

static int build_tree(struct host_build *build, const struct host_tree_options *options, struct error *err)
{
	int code = find_boxes(build) ? 0 : err_nomem(err);
	uint8_t tiers = 0;

	if (code == 0)
		code = host_names_find(&build->names, build->shape, options, is_cabled, build, build->tree, err);
	if (code == 0)
		code = find_units(build, err);
	if (code < 0)
		return code;
	for (uint32_t i = 0; i < build->box_count; i++)
		tiers = build->tier[i] > tiers ? build->tier[i] : tiers;
	/* A group of a tier has at least one box of it, and a root at least two groups. */
	build->group_most = 2 * build->units.count + 2 * build->box_count + 1;
	build->groups = calloc(build->group_most, sizeof(*build->groups));
	if (!build->groups || !add_units(build))
		return err_nomem(err);
	for (uint8_t tier = 2; tier && tier <= tiers; tier++)
		if (!add_tier(build, tier))
			return err_nomem(err);
	if (!add_roots(build) || !host_build_emit(build))
		return err_nomem(err);
	return 0;
}

int host_tree_create(const struct shape *shape, const struct host_tree_options *options, struct host_tree **ret,
		     struct error *err)
{
	struct host_build build = { .shape = shape, .fabric = shape->fabric, .all = options->all };
	int code;

	build.tree = calloc(1, sizeof(*build.tree));
	code = build.tree ? build_tree(&build, options, err) : err_nomem(err);
	for (uint32_t i = 0; i < build.group_count; i++)
		free(build.groups[i].name);
	free(build.groups);
	free(build.box_of);
	free(build.node_of);
	free(build.tier);
	free(build.group_of);
	free(build.set);
	free(build.found);
	free(build.first);
	free(build.leaves);
	free(build.others);
	free(build.sorted);
	free(build.first_child);
	free(build.place);
	host_names_done(&build.names);
	host_units_done(&build.units);
	if (code == 0)
		*ret = build.tree;
	else
		host_tree_destroy(build.tree);
	return code;
}

void host_tree_destroy(struct host_tree *tree)
{
	if (!tree)
		return;
	for (size_t i = 0; i < tree->switch_count; i++)
		free((char *)tree->switches[i].name);
	for (size_t i = 0; i < HOST_LEFT_COUNT; i++)
		free(tree->left[i]);
	for (size_t i = 0; i < tree->changed_count; i++)
		free(tree->changed[i]);
	free(tree->changed);
	free(tree->switches);
	free(tree->children);
	free(tree->boxes);
	free(tree->hosts);
	free(tree->leaf_of);
	free(tree);
}
