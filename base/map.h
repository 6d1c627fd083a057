/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * map.h - a hash map from 64-bit keys to 32-bit numbers
 *
 * For GUIDs, and for other keys mixed into 64 bits with map_mix. Open addressing, at most half full.
 * Keys are never removed: indexes are rebuilt instead. A zeroed struct is an empty map.
 */
#ifndef IBWIRE_BASE_MAP_H
#define IBWIRE_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map_slot {
	uint64_t key;
	uint32_t value;
	bool used;
};

struct map {
	struct map_slot *slots;
	size_t capacity; /* slots, a power of two or 0 */
	size_t count;
};

/* map_put - set the value of a key. Return: 0, or ERR_NOMEM (nothing changed). */
int map_put(struct map *map, uint64_t key, uint32_t value);

/* map_get - find the value of a key. Return: false if it is absent; @ret is untouched then. */
bool map_get(const struct map *map, uint64_t key, uint32_t *ret);

/* map_done - free the memory; the map is empty afterwards. */
void map_done(struct map *map);

/* map_mix - hash of 64 bits (the finaliser of SplitMix64), also to fold a port number into a GUID's key. */
uint64_t map_mix(uint64_t key);

/*
 * map_hash_text - FNV-1a of a string with its final NUL, as a key; two strings may have the same
 * @hash:  MAP_HASH_START, or the hash of the strings in front of this one
 */
#define MAP_HASH_START UINT64_C(0xcbf29ce484222325)
uint64_t map_hash_text(uint64_t hash, const char *text);

#endif
