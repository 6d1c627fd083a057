/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which switches are leaves, the lowest tier.
 *
 * A switch with many hosts is a leaf. A switch with few hosts is a leaf with few hosts, or an upper
 * switch with a storage or management host: then it is above several leaves, or connects parts that
 * are separate without it.
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
	uint32_t *pod;   /* by node: sets of leaves and the switches directly above them */
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

static void find_pods(struct leaves *leaves)
{
	const struct shape_build *build = leaves->build;

	for (uint32_t i = 0; i < build->switch_count; i++) {
		uint32_t node = build->switches[i];

		if (!leaves->strong[node])
			continue;
		for (uint32_t j = build->first_near[node]; j < build->first_near[node + 1]; j++)
			if (!leaves->strong[build->near[j].node])
				shape_join(leaves->pod, node, build->near[j].node);
	}
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

/* A switch with few hosts is a leaf. */
static bool is_small_leaf(const struct leaves *leaves, uint32_t node)
{
	const struct shape_build *build = leaves->build;
	uint32_t leaf_count = 0, links = 0, leaf_links = 0, pods = 0, pod = UINT32_MAX, j;

	for (uint32_t i = build->first_near[node]; i < build->first_near[node + 1]; i++) {
		const struct near *near = &build->near[i];
		bool has_leaf = false;

		links += near->links;
		if (leaves->strong[near->node]) {
			leaf_count++;
			leaf_links += near->links;
			continue;
		}
		for (j = build->first_near[near->node]; j < build->first_near[near->node + 1] && !has_leaf; j++)
			has_leaf = leaves->strong[build->near[j].node];
		if (!has_leaf || shape_root(leaves->pod, near->node) == pod)
			continue;
		pod = shape_root(leaves->pod, near->node);
		pods++;
	}
	if (leaf_count >= 2 && leaf_links * 3 >= links)
		return false; /* it is above leaves */
	if (pods >= 2)
		return false; /* it connects switches above leaves */
	return pods == 0 || !has_bare_twin(leaves, node);
}

int shape_find_leaves(struct shape_build *build)
{
	size_t count = build->fabric->node_count;
	struct leaves leaves = {
		.build = build, .pod = shape_sets(build),
		.strong = shape_scratch(build, count, sizeof(*leaves.strong)),
		.color = shape_scratch(build, count, sizeof(*leaves.color)),
		.queue = shape_scratch(build, count, sizeof(*leaves.queue)),
	};
	const uint32_t *weight;
	uint32_t median;

	build->hcas = shape_scratch(build, count, sizeof(*build->hcas));
	build->compute = shape_scratch(build, count, sizeof(*build->compute));
	if (!leaves.pod || !leaves.strong || !leaves.color || !leaves.queue || !build->hcas || !build->compute)
		return ERR_NOMEM;
	count_hosts(build);
	weight = build->compute;
	median = median_host(build, weight, leaves.queue);
	if (!median) {
		weight = build->hcas;
		median = median_host(build, weight, leaves.queue);
	}
	for (uint32_t i = 0; i < build->switch_count; i++) {
		uint32_t node = build->switches[i];

		leaves.strong[node] = median && weight[node] && weight[node] * FEW_DIVISOR > median;
	}
	demote_cores(&leaves);
	find_pods(&leaves);
	for (uint32_t i = 0; i < build->switch_count; i++) {
		uint32_t node = build->switches[i];

		if (leaves.strong[node] || (build->hcas[node] && is_small_leaf(&leaves, node)))
			build->shape->nodes[node].tier = 1;
	}
	return 0;
}
