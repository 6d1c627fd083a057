/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Unconnected parts of a fabric. HCAs do not forward packets, so they connect nothing. */
#include <stdlib.h>

#include "base/err.h"
#include "fabric/shape/build.h"

struct part {
	uint32_t root;
	uint32_t nodes;
};

/* Largest first; on a tie in order of the fabric. */
static int compare_parts(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	if (x->nodes != y->nodes)
		return x->nodes > y->nodes ? -1 : 1;
	return x->root < y->root ? -1 : 1;
}

/* The switch that connects a node: a switch itself, else the peer of its first cable. */
static uint32_t anchor_of(const struct fabric *fabric, uint32_t index)
{
	const struct node *node = &fabric->nodes[index];
	uint32_t other;

	for (uint32_t i = node->first_port; node->type != NODE_SWITCH && i < node->first_port + node->ports; i++) {
		if (fabric->ports[i].peer == FABRIC_NONE)
			continue;
		other = fabric->ports[fabric->ports[i].peer].node;
		return fabric->nodes[other].type == NODE_SWITCH || other < index ? other : index;
	}
	return index;
}

static bool has_peer(const struct fabric *fabric, uint32_t index)
{
	const struct node *node = &fabric->nodes[index];

	for (uint32_t i = node->first_port; i < node->first_port + node->ports; i++)
		if (fabric->ports[i].peer != FABRIC_NONE)
			return true;
	return false;
}

int shape_find_parts(struct shape_build *build)
{
	const struct fabric *fabric = build->fabric;
	size_t room = fabric->node_count + 1;
	uint32_t *sets = malloc(room * sizeof(*sets)), *rank = calloc(room, sizeof(*rank)), count = 0;
	struct part *parts = calloc(room, sizeof(*parts));
	int code = sets && rank && parts ? 0 : ERR_NOMEM;

	for (uint32_t i = 0; i < fabric->node_count && code == 0; i++)
		sets[i] = i;
	for (uint32_t i = 0; i < fabric->node_count && code == 0; i++) {
		shape_join(sets, i, anchor_of(fabric, i));
		for (uint32_t j = build->first_near[i]; j < build->first_near[i + 1]; j++)
			shape_join(sets, i, build->near[j].node);
	}
	for (uint32_t i = 0; i < fabric->node_count && code == 0; i++) {
		uint32_t root = shape_root(sets, i);

		/* An HCA without a cable is not a part of its own. */
		if (root == i && fabric->nodes[i].type != NODE_SWITCH && !has_peer(fabric, i))
			continue;
		if (root == i) {
			rank[i] = count;
			parts[count++].root = i;
		}
		parts[rank[root]].nodes++;
	}
	if (code == 0) {
		qsort(parts, count, sizeof(*parts), compare_parts);
		for (uint32_t i = 0; i < count; i++)
			rank[parts[i].root] = i + 1;
		for (uint32_t i = 0; i < fabric->node_count; i++) {
			uint32_t part = rank[shape_root(sets, i)];

			build->shape->nodes[i].part = (uint8_t)(part && part < 256 ? part - 1 : 255);
		}
		build->shape->parts = count;
	}
	free(sets);
	free(rank);
	free(parts);
	return code;
}
