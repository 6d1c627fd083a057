/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/shape/build.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"

/* Memory of a shape, in pieces that are freed together. */
struct shape_piece {
	struct shape_piece *next;
	size_t used, size;
	_Alignas(max_align_t) unsigned char bytes[];
};

#define PIECE_SIZE 65536

static void *take(struct shape_piece **pieces, size_t count, size_t size)
{
	struct shape_piece *piece = *pieces;
	size_t wanted;
	void *got;

	if (size && count > (SIZE_MAX - sizeof(*piece) - 32) / size)
		return NULL;
	wanted = ((count ? count : 1) * size + 15) & ~(size_t)15;
	if (!piece || piece->size - piece->used < wanted) {
		size_t room = wanted > PIECE_SIZE ? wanted : PIECE_SIZE;

		piece = calloc(1, sizeof(*piece) + room);
		if (!piece)
			return NULL;
		piece->size = room;
		piece->next = *pieces;
		*pieces = piece;
	}
	got = piece->bytes + piece->used;
	piece->used += wanted;
	return got;
}

void *shape_memory(struct shape *shape, size_t count, size_t size)
{
	return take(&shape->memory, count, size);
}

void *shape_scratch(struct shape_build *build, size_t count, size_t size)
{
	return take(&build->scratch, count, size);
}

void shape_memory_done(struct shape_piece *pieces)
{
	while (pieces) {
		struct shape_piece *next = pieces->next;

		free(pieces);
		pieces = next;
	}
}

uint32_t *shape_indexes(struct shape_build *build, size_t count)
{
	uint32_t *indexes = shape_scratch(build, count, sizeof(*indexes));

	return indexes ? memset(indexes, 0xff, count * sizeof(*indexes)) : NULL;
}

const char *shape_string(struct shape *shape, const char *chars, size_t len)
{
	char *copy = shape_memory(shape, len + 1, 1);

	if (!copy)
		return NULL;
	memcpy(copy, chars, len);
	copy[len] = '\0';
	return copy;
}

uint32_t *shape_sets(struct shape_build *build)
{
	uint32_t *sets = shape_scratch(build, build->fabric->node_count, sizeof(*sets));

	if (sets)
		shape_part(build, sets);
	return sets;
}

void shape_part(const struct shape_build *build, uint32_t *sets)
{
	for (uint32_t i = 0; i < build->fabric->node_count; i++)
		sets[i] = i;
}

uint32_t shape_root(uint32_t *sets, uint32_t i)
{
	while (sets[i] != i) {
		sets[i] = sets[sets[i]];
		i = sets[i];
	}
	return i;
}

void shape_join(uint32_t *sets, uint32_t a, uint32_t b)
{
	a = shape_root(sets, a);
	b = shape_root(sets, b);
	if (a < b)
		sets[b] = a;
	else
		sets[a] = b;
}

bool shape_find_text(const struct shape_strings *strings, const char *text, uint32_t *ret)
{
	uint64_t key = map_hash_text(MAP_HASH_START, text);
	uint32_t found;

	/* On a collision the next free key is used. */
	for (; map_get(&strings->map, key, &found); key++) {
		if (!strcmp(strings->texts[found], text)) {
			*ret = found;
			return true;
		}
	}
	return false;
}

int shape_intern(struct shape_strings *strings, const char *text, uint32_t *ret)
{
	uint64_t key = map_hash_text(MAP_HASH_START, text);
	const char **texts;
	uint32_t found;

	if (shape_find_text(strings, text, ret))
		return 0;
	while (map_get(&strings->map, key, &found))
		key++;
	texts = array_grow(strings->texts, strings->count, &strings->capacity, sizeof(*texts));
	if (!texts)
		return ERR_NOMEM;
	strings->texts = texts;
	if (map_put(&strings->map, key, (uint32_t)strings->count) < 0)
		return ERR_NOMEM;
	texts[strings->count] = text;
	*ret = (uint32_t)strings->count++;
	return 0;
}

void shape_strings_done(struct shape_strings *strings)
{
	map_done(&strings->map);
	free(strings->texts);
}

bool shape_is_hca(const struct shape_build *build, uint32_t node)
{
	return build->fabric->nodes[node].type == NODE_CA && build->shape->nodes[node].class != CLASS_AGGREGATION;
}

/*
 * List the switches that a switch is cabled to, and count its links to itself. @seen: by node, all 0
 * before and after. Return: the number of switches.
 */
static uint32_t list_near(const struct fabric *fabric, uint32_t node, uint32_t *seen, struct near *near,
			  uint32_t *loops)
{
	const struct node *self = &fabric->nodes[node];
	uint32_t count = 0;

	for (uint32_t i = self->first_port; i < self->first_port + self->ports; i++) {
		uint32_t other;

		if (fabric->ports[i].peer == FABRIC_NONE)
			continue;
		other = fabric->ports[fabric->ports[i].peer].node;
		*loops += other == node && i < fabric->ports[i].peer;
		if (other == node || fabric->nodes[other].type != NODE_SWITCH)
			continue;
		if (!seen[other]) {
			near[count] = (struct near){ .node = other };
			seen[other] = ++count;
		}
		near[seen[other] - 1].links++;
	}
	for (uint32_t i = 0; i < count; i++)
		seen[near[i].node] = 0;
	return count;
}

uint64_t shape_link_rate(const struct fabric *fabric, uint32_t port)
{
	uint64_t own = port_rate_bits_per_s(&fabric->ports[port]);
	uint32_t peer = fabric->ports[port].peer;
	uint64_t other = peer == FABRIC_NONE ? 0 : port_rate_bits_per_s(&fabric->ports[peer]);

	return other && other < own ? other : own;
}

static int compare_by_guid(const void *a, const void *b, void *ctx)
{
	const struct node *nodes = ctx;
	uint64_t left = nodes[*(const uint32_t *)a].guid, right = nodes[*(const uint32_t *)b].guid;

	return (left > right) - (left < right);
}

int shape_find_near(struct shape_build *build)
{
	const struct fabric *fabric = build->fabric;
	uint32_t *seen = shape_scratch(build, fabric->node_count, sizeof(*seen)), count = 0, i;

	build->switches = shape_scratch(build, fabric->node_count, sizeof(*build->switches));
	build->first_near = shape_scratch(build, fabric->node_count + 1, sizeof(*build->first_near));
	build->near = shape_scratch(build, fabric->port_count, sizeof(*build->near));
	if (!seen || !build->switches || !build->first_near || !build->near)
		return ERR_NOMEM;
	for (i = 0; i < fabric->node_count; i++) {
		build->first_near[i] = count;
		if (fabric->nodes[i].type != NODE_SWITCH)
			continue;
		build->switches[build->switch_count++] = i;
		count += list_near(fabric, i, seen, build->near + count, &build->shape->loops);
	}
	build->first_near[i] = count;
	if (build->switch_count)
		qsort_r(build->switches, build->switch_count, sizeof(*build->switches), compare_by_guid, fabric->nodes);
	return 0;
}

/* Unconnected parts of the fabric. HCAs do not forward packets, so they connect nothing. */
struct part {
	uint32_t root;
	uint32_t nodes;
	uint64_t guid; /* the lowest of its nodes */
};

/* Largest first; on a tie by GUID, which no order of discovery changes. */
static int compare_parts(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	if (x->nodes != y->nodes)
		return x->nodes > y->nodes ? -1 : 1;
	return (x->guid > y->guid) - (x->guid < y->guid);
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
	uint32_t *sets = shape_sets(build), *rank = shape_indexes(build, fabric->node_count);
	struct part *parts = shape_scratch(build, fabric->node_count, sizeof(*parts));
	uint32_t count = 0;

	if (!sets || !rank || !parts)
		return ERR_NOMEM;
	for (uint32_t i = 0; i < fabric->node_count; i++) {
		shape_join(sets, i, anchor_of(fabric, i));
		for (uint32_t j = build->first_near[i]; j < build->first_near[i + 1]; j++)
			shape_join(sets, i, build->near[j].node);
	}
	for (uint32_t i = 0; i < fabric->node_count; i++) {
		uint32_t root = shape_root(sets, i);

		/* An HCA without a cable is not a part of its own. */
		if (root == i && (fabric->nodes[i].type == NODE_SWITCH || has_peer(fabric, i))) {
			rank[i] = count;
			parts[count++] = (struct part){ .root = i, .guid = UINT64_MAX };
		}
		if (rank[root] == SHAPE_NONE)
			continue;
		parts[rank[root]].nodes++;
		if (fabric->nodes[i].guid < parts[rank[root]].guid)
			parts[rank[root]].guid = fabric->nodes[i].guid;
	}
	qsort(parts, count, sizeof(*parts), compare_parts);
	for (uint32_t i = 0; i < count; i++)
		rank[parts[i].root] = i;
	for (uint32_t i = 0; i < fabric->node_count; i++) {
		uint32_t part = rank[shape_root(sets, i)];

		build->shape->nodes[i].part = (uint8_t)(part < 255 ? part : 255);
	}
	build->shape->parts = count;
	return 0;
}
