/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/map.h"

#include <stdlib.h>

#include "base/err.h"

uint64_t map_mix(uint64_t key)
{
	key ^= key >> 30;
	key *= 0xbf58476d1ce4e5b9ULL;
	key ^= key >> 27;
	key *= 0x94d049bb133111ebULL;
	key ^= key >> 31;
	return key;
}

uint64_t map_hash_text(uint64_t hash, const char *text)
{
	do
		hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	while (*text++);
	return hash;
}

/* The slot of @key, or the free slot where it belongs. */
static struct map_slot *find_slot(struct map_slot *slots, size_t capacity, uint64_t key)
{
	size_t at = map_mix(key) & (capacity - 1);

	while (slots[at].used && slots[at].key != key)
		at = (at + 1) & (capacity - 1);
	return &slots[at];
}

static int grow(struct map *map)
{
	size_t capacity = map->capacity ? map->capacity * 2 : 64;
	struct map_slot *slots = calloc(capacity, sizeof(*slots));

	if (!slots)
		return ERR_NOMEM;
	for (size_t i = 0; i < map->capacity; i++)
		if (map->slots[i].used)
			*find_slot(slots, capacity, map->slots[i].key) = map->slots[i];
	free(map->slots);
	map->slots = slots;
	map->capacity = capacity;
	return 0;
}

int map_put(struct map *map, uint64_t key, uint32_t value)
{
	struct map_slot *slot;

	if (map->count * 2 >= map->capacity && grow(map) < 0)
		return ERR_NOMEM;
	slot = find_slot(map->slots, map->capacity, key);
	if (!slot->used) {
		slot->used = true;
		slot->key = key;
		map->count++;
	}
	slot->value = value;
	return 0;
}

bool map_get(const struct map *map, uint64_t key, uint32_t *ret)
{
	const struct map_slot *slot;

	if (!map->capacity)
		return false;
	slot = find_slot(map->slots, map->capacity, key);
	if (!slot->used)
		return false;
	*ret = slot->value;
	return true;
}

void map_done(struct map *map)
{
	free(map->slots);
	*map = (struct map){ 0 };
}
