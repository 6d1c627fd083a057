/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which switches are leaves, the lowest tier.
 *
 * A switch with many hosts is a leaf. A switch with few hosts is a leaf with few hosts, or an upper
 * switch with a storage or management host: then it is above several leaves, between switches that
 * are nearer to the leaves with many hosts and others that are farther, or connects parts that are
 * separate without it. So a host on a spine, on a core or on a module of a director changes no tier.
 */
#include <stdlib.h>

#include "base/err.h"
#include "fabric/shape/build.h"

/* Few hosts: at most this fraction of the leaf of the median host. */
#define FEW_DIVISOR 4

static void count_hosts(struct shape_build *build)
{
	const struct fabric *fabric = build->fabric;

	for (uint32_t i = 0; i < fabric->port_count; i++) {
		uint32_t node = fabric->ports[i].node, leaf;

		if (fabric->ports[i].peer == FABRIC_NONE || !shape_is_hca(build, node))
			continue;
		leaf = fabric->ports[fabric->ports[i].peer].node;
		if (fabric->nodes[leaf].type != NODE_SWITCH)
			continue;
		build->hcas[leaf]++;
		build->compute[leaf] += build->shape->nodes[node].class == CLASS_COMPUTE;
	}
}

static int compare_counts(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Number of hosts of the switch with the median host; 0: no hosts. */
static uint32_t median_host(const struct shape_build *build, const uint32_t *weight, uint32_t *scratch)
{
	uint64_t total = 0, below = 0;
	uint32_t count = 0;

	for (uint32_t i = 0; i < build->switch_count; i++)
		if (weight[build->switches[i]])
			scratch[count++] = weight[build->switches[i]];
	qsort(scratch, count, sizeof(*scratch), compare_counts);
	for (uint32_t i = 0; i < count; i++)
		total += scratch[i];
	for (uint32_t i = 0; i < count; i++) {
		below += scratch[i];
		if (below * 2 >= total)
			return scratch[i];
	}
	return 0;
}

struct leaves {
	struct shape_build *build;
	bool *strong;    /* by node: it has many hosts */
	uint8_t *color; /* by node, of strong switches */
	uint32_t *distance; /* by node: links to the nearest strong switch; SHAPE_NONE: no path */
	uint32_t *pod;   /* by node: sets of switches that are connected below the current distance */
	uint32_t *queue;
};

/*
 * A two-coloring of a connected set of strong switches, with the switches and hosts of each color.
 */
struct coloring {
	uint32_t first, count;     /* in queue */
	uint32_t switches[2];
	uint64_t hosts[2];
	bool proper;               /* no link connects switches of one color */
};

static struct coloring color_from(struct leaves *leaves, uint32_t start, uint32_t first)
{
	const struct shape_build *build = leaves->build;
	struct coloring coloring = { .first = first, .proper = true };
	uint32_t at = first, end = first;

	leaves->queue[end++] = start;
	leaves->color[start] = 1;
	while (at < end) {
		uint32_t node = leaves->queue[at++];
		unsigned color = leaves->color[node] - 1u;

		coloring.switches[color]++;
		coloring.hosts[color] += build->hcas[node];
		for (uint32_t i = build->first_near[node]; i < build->first_near[node + 1]; i++) {
			uint32_t other = build->near[i].node;

			if (!leaves->strong[other])
				continue;
			if (!leaves->color[other]) {
				leaves->color[other] = (uint8_t)(2 - color);
				leaves->queue[end++] = other;
			} else if (leaves->color[other] - 1u == color) {
				coloring.proper = false;
			}
		}
	}
	coloring.count = end - first;
	return coloring;
}

/*
 * Core switches with as many hosts as a leaf: all links of the leaves lead to them, they are few,
 * and have few of all hosts. In a torus or a mesh both colors are equal.
 */
static void demote_cores(struct leaves *leaves)
{
	const struct shape_build *build = leaves->build;
	uint32_t end = 0;

	for (uint32_t i = 0; i < build->switch_count; i++) {
		uint32_t node = build->switches[i];
		struct coloring coloring;
		unsigned few;

		if (!leaves->strong[node] || leaves->color[node])
			continue;
		coloring = color_from(leaves, node, end);
		end = coloring.first + coloring.count;
		few = coloring.hosts[0] < coloring.hosts[1] ? 0 : 1;
		if (!coloring.proper || coloring.switches[few] * 2 > coloring.switches[!few] ||
		    coloring.hosts[few] * FEW_DIVISOR > coloring.hosts[0] + coloring.hosts[1])
			continue;
		for (uint32_t j = coloring.first; j < end; j++)
			if (leaves->color[leaves->queue[j]] == few + 1)
				leaves->strong[leaves->queue[j]] = false;
	}
}

/* Distances of all switches; they are in queue in this order. Return: their number. */
static uint32_t find_distances(struct leaves *leaves)
{
	const struct shape_build *build = leaves->build;
	uint32_t end = 0;

	for (uint32_t i = 0; i < build->switch_count; i++) {
		if (!leaves->strong[build->switches[i]])
			continue;
		leaves->distance[build->switches[i]] = 0;
		leaves->queue[end++] = build->switches[i];
	}
	for (uint32_t at = 0; at < end; at++) {
		uint32_t node = leaves->queue[at];

		for (uint32_t i = build->first_near[node]; i < build->first_near[node + 1]; i++) {
			uint32_t other = build->near[i].node;

			if (leaves->distance[other] != SHAPE_NONE)
				continue;
			leaves->distance[other] = leaves->distance[node] + 1;
			leaves->queue[end++] = other;
		}
	}
	return end;
}

/* Join a switch with those that are nearer to the strong switches. */
static void join_nearer(struct leaves *leaves, uint32_t node)
{
	const struct shape_build *build = leaves->build;

	for (uint32_t i = build->first_near[node]; i < build->first_near[node + 1]; i++)
		if (leaves->distance[build->near[i].node] < leaves->distance[node])
			shape_join(leaves->pod, node, build->near[i].node);
}

/* A switch without hosts is cabled to the same switches. */
static bool has_bare_twin(const struct leaves *leaves, uint32_t node)
{
	const struct shape_build *build = leaves->build;
	uint32_t first = build->first_near[node], count = build->first_near[node + 1] - first, j, k;
	uint32_t adjacent = build->near[first].node;

	for (uint32_t i = build->first_near[adjacent]; i < build->first_near[adjacent + 1]; i++) {
		uint32_t other = build->near[i].node, start = build->first_near[other];

		if (other == node || build->hcas[other] || build->first_near[other + 1] - start != count)
			continue;
		for (j = 0; j < count; j++) {
			for (k = 0; k < count && build->near[start + k].node != build->near[first + j].node;)
				k++;
			if (k == count)
				break;
		}
		if (j == count)
			return true;
	}
	return false;
}

/* A switch with few hosts is a leaf. Switches that are nearer to the strong ones are joined in pods. */
static bool is_small_leaf(const struct leaves *leaves, uint32_t node)
{
	const struct shape_build *build = leaves->build;
	const struct shape_node *nodes = build->shape->nodes;
	uint32_t distance = leaves->distance[node], links = 0, nearer = 0, nearer_links = 0, pods = 0, pod = SHAPE_NONE;
	bool one_box = true;

	for (uint32_t i = build->first_near[node]; i < build->first_near[node + 1]; i++) {
		uint32_t other = build->near[i].node;

		links += build->near[i].links;
		/* Between the strong switches and one that leads elsewhere, too. */
		if (leaves->distance[other] == distance + 1 &&
		    build->first_near[other + 1] - build->first_near[other] > 1)
			return false;
		if (leaves->distance[other] + 1 != distance)
			continue;
		nearer++;
		nearer_links += build->near[i].links;
		one_box &= nodes[other].box == nodes[node].box;
		if (shape_root(leaves->pod, other) == pod)
			continue;
		pod = shape_root(leaves->pod, other);
		pods++;
	}
	if (distance == 1 ? nearer >= 2 && nearer_links * 3 >= links : pods >= 2)
		return false; /* it is above leaves, or connects pods */
	/* Far from the leaves, twins are modules of a director, or empty leaves beside this one. */
	return (distance > 2 && !one_box) || !has_bare_twin(leaves, node);
}

int shape_find_leaves(struct shape_build *build)
{
	size_t count = build->fabric->node_count;
	struct leaves leaves = {
		.build = build, .pod = shape_sets(build), .distance = shape_indexes(build, count),
		.strong = shape_scratch(build, count, sizeof(*leaves.strong)),
		.color = shape_scratch(build, count, sizeof(*leaves.color)),
		.queue = shape_scratch(build, count, sizeof(*leaves.queue)),
	};
	const uint32_t *weight;
	uint32_t median, reached, joined = 0;
	uint64_t hcas = 0, compute = 0;

	build->hcas = shape_scratch(build, count, sizeof(*build->hcas));
	build->compute = shape_scratch(build, count, sizeof(*build->compute));
	if (!leaves.pod || !leaves.distance || !leaves.strong || !leaves.color || !leaves.queue || !build->hcas ||
	    !build->compute)
		return ERR_NOMEM;
	count_hosts(build);
	for (uint32_t i = 0; i < build->switch_count; i++) {
		hcas += build->hcas[build->switches[i]];
		compute += build->compute[build->switches[i]];
	}
	/* In a fabric of other hosts, the few compute hosts may be anywhere. */
	weight = compute * FEW_DIVISOR > hcas ? build->compute : build->hcas;
	median = median_host(build, weight, leaves.queue);
	for (uint32_t i = 0; i < build->switch_count; i++) {
		uint32_t node = build->switches[i];

		/* A single host makes no switch a leaf where others have more. */
		leaves.strong[node] = median && weight[node] * FEW_DIVISOR > median &&
				      (weight[node] > 1 || median == 1);
	}
	demote_cores(&leaves);
	reached = find_distances(&leaves);
	for (uint32_t i = 0; i < reached; i++) {
		uint32_t node = leaves.queue[i];

		for (; leaves.distance[leaves.queue[joined]] < leaves.distance[node]; joined++)
			join_nearer(&leaves, leaves.queue[joined]);
		if (leaves.strong[node] || (build->hcas[node] && is_small_leaf(&leaves, node)))
			build->shape->nodes[node].tier = 1;
	}
	/* Without a leaf that has many hosts, all that have hosts are leaves. */
	for (uint32_t i = 0; i < build->switch_count; i++)
		if (leaves.distance[build->switches[i]] == SHAPE_NONE && build->hcas[build->switches[i]])
			build->shape->nodes[build->switches[i]].tier = 1;
	return 0;
}
