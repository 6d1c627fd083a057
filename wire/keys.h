/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * keys.h - M_Keys by GUID, from the key file of the subnet manager
 *
 * A node whose M_Key protects it against reading drops every SMP without that key. The subnet
 * manager sets the keys and writes them to guid2mkey: lines of a port GUID and its key, each
 * followed by an empty line.
 */
#ifndef IBWIRE_WIRE_KEYS_H
#define IBWIRE_WIRE_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct keys;

/* Name of the file in its directory. */
#define KEYS_FILE "guid2mkey"

/*
 * keys_load - read the keys of a directory
 * @ret:  for keys_destroy()
 *
 * Return: 0; ERR_IO: the file cannot be read, or a line is invalid: the text names the line and
 * never contains a key; ERR_NOMEM.
 * Source: opensm osm_db_files.c (key, blank, value, empty line), osm_db_pack.c (0x and hexadecimal
 * digits).
 */
int keys_load(const char *directory, struct keys **ret, struct error *err);

/* keys_refresh - read the file again. Return: as keys_load(); the keys are unchanged on failure. */
int keys_refresh(struct keys *keys, struct error *err);

/* keys_destroy - wipe and free the keys. */
void keys_destroy(struct keys *keys);

/* keys_are_exposed - the file is readable by users other than its owner and group. */
bool keys_are_exposed(const struct keys *keys);

/* keys_count - number of GUIDs with a key. */
size_t keys_count(const struct keys *keys);

/* keys_find - M_Key of a GUID; 0: none. @keys may be NULL. */
uint64_t keys_find(const struct keys *keys, uint64_t guid);

/*
 * keys_pick - one key for a discovery whose SMPs all carry the same
 * @own_guid:       of the local port, which is queried first
 * @ret_different:  number of different keys
 *
 * Return: the key of the local port, or else the most frequent one.
 */
uint64_t keys_pick(const struct keys *keys, uint64_t own_guid, size_t *ret_different);

/*
 * keys_rank - the different keys, most frequent first
 * @ret:            at most @max keys, to be wiped by the caller
 * @ret_different:  number of different keys
 * Return: their number; 0: @keys is NULL, or no memory.
 */
size_t keys_rank(const struct keys *keys, uint64_t *ret, size_t max, size_t *ret_different);

#endif
