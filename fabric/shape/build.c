/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/shape/build.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"

/* Memory of a shape, in pieces that are freed together. */
struct piece {
	struct piece *next;
	size_t used, size;
	_Alignas(max_align_t) unsigned char bytes[];
};

#define PIECE_SIZE 65536

void *shape_memory(struct shape *shape, size_t count, size_t size)
{
	struct piece *piece = shape->memory;
	size_t wanted;
	void *got;

	if (!count)
		count = 1;
	if (size && count > (SIZE_MAX - sizeof(*piece) - 32) / size)
		return NULL;
	wanted = (count * size + 15) & ~(size_t)15;
	if (!piece || piece->size - piece->used < wanted) {
		size_t room = wanted > PIECE_SIZE ? wanted : PIECE_SIZE;

		piece = calloc(1, sizeof(*piece) + room);
		if (!piece)
			return NULL;
		piece->size = room;
		piece->next = shape->memory;
		shape->memory = piece;
	}
	got = piece->bytes + piece->used;
	piece->used += wanted;
	return got;
}

void shape_memory_done(struct shape *shape)
{
	struct piece *piece = shape->memory, *next;

	for (; piece; piece = next) {
		next = piece->next;
		free(piece);
	}
	shape->memory = NULL;
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

/* FNV-1a. */
static uint64_t hash_text(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325ULL;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3ULL;
	return hash;
}

bool shape_find_text(const struct map *map, const char **texts, const char *text, uint32_t *ret)
{
	uint64_t key = hash_text(text);
	uint32_t found;

	/* On a collision the next free key is used. */
	for (; map_get(map, key, &found); key++) {
		if (!strcmp(texts[found], text)) {
			*ret = found;
			return true;
		}
	}
	return false;
}

int shape_intern(struct map *map, const char **texts, uint32_t *count, const char *text, uint32_t *ret)
{
	uint64_t key = hash_text(text);
	uint32_t found;

	if (shape_find_text(map, texts, text, ret))
		return 0;
	while (map_get(map, key, &found))
		key++;
	if (map_put(map, key, *count) < 0)
		return ERR_NOMEM;
	texts[*count] = text;
	*ret = (*count)++;
	return 0;
}

bool shape_is_hca(const struct shape_build *build, uint32_t node)
{
	return build->fabric->nodes[node].type == NODE_CA && build->shape->nodes[node].class != CLASS_AGGREGATION;
}

/*
 * List the switches that a switch is cabled to. @seen: by node, all 0 before and after. Return:
 * their number.
 */
static uint32_t look_around(const struct fabric *fabric, uint32_t node, uint32_t *seen, struct near *near)
{
	const struct node *self = &fabric->nodes[node];
	uint32_t count = 0;

	for (uint32_t i = self->first_port; i < self->first_port + self->ports; i++) {
		uint32_t other;

		if (fabric->ports[i].peer == FABRIC_NONE)
			continue;
		other = fabric->ports[fabric->ports[i].peer].node;
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

int shape_find_near(struct shape_build *build)
{
	const struct fabric *fabric = build->fabric;
	uint32_t *seen = calloc(fabric->node_count + 1, sizeof(*seen)), count = 0, i;

	build->switches = malloc((fabric->node_count + 1) * sizeof(*build->switches));
	build->first_near = calloc(fabric->node_count + 1, sizeof(*build->first_near));
	build->near = malloc((fabric->port_count + 1) * sizeof(*build->near));
	if (!seen || !build->switches || !build->first_near || !build->near) {
		free(seen);
		return ERR_NOMEM;
	}
	for (i = 0; i < fabric->node_count; i++) {
		build->first_near[i] = count;
		if (fabric->nodes[i].type != NODE_SWITCH)
			continue;
		build->switches[build->switch_count++] = i;
		count += look_around(fabric, i, seen, build->near + count);
	}
	build->first_near[i] = count;
	free(seen);
	return 0;
}
