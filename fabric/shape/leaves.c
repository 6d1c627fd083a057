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

struct leafs {
	struct shape_build *build;
	bool *strong;    /* by node: it has many hosts */
	uint8_t *colour; /* by node, of strong switches */
	uint32_t *pod;   /* by node: sets of leaves and the switches directly above them */
	uint32_t *queue;
};

/*
 * A two-coloring of a connected set of strong switches, with the switches and hosts of each color.
 */
struct colours {
	uint32_t first, count;     /* in queue */
	uint32_t switches[2];
	uint64_t hosts[2];
	bool proper;               /* no link connects switches of one color */
};

static struct colours colour_from(struct leafs *leafs, uint32_t start, uint32_t first)
{
	const struct shape_build *build = leafs->build;
	struct colours colours = { .first = first, .proper = true };
	uint32_t at = first, end = first;

	leafs->queue[end++] = start;
	leafs->colour[start] = 1;
	while (at < end) {
		uint32_t node = leafs->queue[at++];
		unsigned colour = leafs->colour[node] - 1u;

		colours.switches[colour]++;
		colours.hosts[colour] += build->hcas[node];
		for (uint32_t i = build->first_near[node]; i < build->first_near[node + 1]; i++) {
			uint32_t other = build->near[i].node;

			if (!leafs->strong[other])
				continue;
			if (!leafs->colour[other]) {
				leafs->colour[other] = (uint8_t)(2 - colour);
				leafs->queue[end++] = other;
			} else if (leafs->colour[other] - 1u == colour) {
				colours.proper = false;
			}
		}
	}
	colours.count = end - first;
	return colours;
}

/*
 * Core switches with as many hosts as a leaf: all links of the leaves lead to them, they are few,
 * and have few of all hosts. In a torus or a mesh both colors are equal.
 */
static void demote_cores(struct leafs *leafs)
{
	const struct shape_build *build = leafs->build;
	uint32_t end = 0;

	for (uint32_t i = 0; i < build->switch_count; i++) {
		uint32_t node = build->switches[i];
		struct colours colours;
		unsigned few;

		if (!leafs->strong[node] || leafs->colour[node])
			continue;
		colours = colour_from(leafs, node, end);
		end = colours.first + colours.count;
		few = colours.hosts[0] < colours.hosts[1] ? 0 : 1;
		if (!colours.proper || colours.switches[few] * 2 > colours.switches[!few] ||
		    colours.hosts[few] * FEW_DIVISOR > colours.hosts[0] + colours.hosts[1])
			continue;
		for (uint32_t j = colours.first; j < end; j++)
			if (leafs->colour[leafs->queue[j]] == few + 1)
				leafs->strong[leafs->queue[j]] = false;
	}
}

static void find_pods(struct leafs *leafs)
{
	const struct shape_build *build = leafs->build;

	for (uint32_t i = 0; i < build->fabric->node_count; i++)
		leafs->pod[i] = i;
	for (uint32_t i = 0; i < build->switch_count; i++) {
		uint32_t node = build->switches[i];

		if (!leafs->strong[node])
			continue;
		for (uint32_t j = build->first_near[node]; j < build->first_near[node + 1]; j++)
			if (!leafs->strong[build->near[j].node])
				shape_join(leafs->pod, node, build->near[j].node);
	}
}

/* A switch without hosts is cabled to the same switches. */
static bool has_bare_twin(const struct leafs *leafs, uint32_t node)
{
	const struct shape_build *build = leafs->build;
	uint32_t first = build->first_near[node], count = build->first_near[node + 1] - first, j, k;
	uint32_t beside = build->near[first].node;

	for (uint32_t i = build->first_near[beside]; i < build->first_near[beside + 1]; i++) {
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
static bool is_small_leaf(const struct leafs *leafs, uint32_t node)
{
	const struct shape_build *build = leafs->build;
	uint32_t beside_leafs = 0, links = 0, leaf_links = 0, pods = 0, pod = UINT32_MAX, j;

	for (uint32_t i = build->first_near[node]; i < build->first_near[node + 1]; i++) {
		const struct near *near = &build->near[i];
		bool has_leaf = false;

		links += near->links;
		if (leafs->strong[near->node]) {
			beside_leafs++;
			leaf_links += near->links;
			continue;
		}
		for (j = build->first_near[near->node]; j < build->first_near[near->node + 1] && !has_leaf; j++)
			has_leaf = leafs->strong[build->near[j].node];
		if (!has_leaf || shape_root(leafs->pod, near->node) == pod)
			continue;
		pod = shape_root(leafs->pod, near->node);
		pods++;
	}
	if (beside_leafs >= 2 && leaf_links * 3 >= links)
		return false; /* it is above leaves */
	if (pods >= 2)
		return false; /* it connects switches above leaves */
	return pods == 0 || !has_bare_twin(leafs, node);
}

static int leafs_init(struct leafs *leafs, struct shape_build *build)
{
	size_t count = build->fabric->node_count + 1;

	*leafs = (struct leafs){
		.build = build,
		.strong = calloc(count, sizeof(*leafs->strong)), .colour = calloc(count, sizeof(*leafs->colour)),
		.pod = malloc(count * sizeof(*leafs->pod)), .queue = malloc(count * sizeof(*leafs->queue)),
	};
	return leafs->strong && leafs->colour && leafs->pod && leafs->queue ? 0 : ERR_NOMEM;
}

static void leafs_done(struct leafs *leafs)
{
	free(leafs->strong);
	free(leafs->colour);
	free(leafs->pod);
	free(leafs->queue);
}

int shape_find_leafs(struct shape_build *build)
{
	size_t count = build->fabric->node_count + 1;
	const uint32_t *weight;
	struct leafs leafs;
	uint32_t median;
	int code;

	build->hcas = calloc(count, sizeof(*build->hcas));
	build->compute = calloc(count, sizeof(*build->compute));
	code = leafs_init(&leafs, build);
	if (!build->hcas || !build->compute)
		code = ERR_NOMEM;
	if (code < 0) {
		leafs_done(&leafs);
		return code;
	}
	count_hosts(build);
	weight = build->compute;
	median = median_host(build, weight, leafs.queue);
	if (!median) {
		weight = build->hcas;
		median = median_host(build, weight, leafs.queue);
	}
	for (uint32_t i = 0; i < build->switch_count; i++) {
		uint32_t node = build->switches[i];

		leafs.strong[node] = median && weight[node] && weight[node] * FEW_DIVISOR > median;
	}
	demote_cores(&leafs);
	find_pods(&leafs);
	for (uint32_t i = 0; i < build->switch_count; i++) {
		uint32_t node = build->switches[i];

		if (leafs.strong[node] || (build->hcas[node] && is_small_leaf(&leafs, node)))
			build->shape->nodes[node].tier = 1;
	}
	leafs_done(&leafs);
	return 0;
}
