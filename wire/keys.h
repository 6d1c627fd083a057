/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * keys.h - M_Keys by GUID, as the subnet manager keeps them in a file
 *
 * A node whose M_Key protects it against reading drops every SMP that does not
 * carry that key. The subnet manager, which sets the keys, writes them to
 * guid2mkey: lines of a port GUID and its key, with an empty line after each.
 */
#ifndef IBWIRE_WIRE_KEYS_H
#define IBWIRE_WIRE_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct keys;

/* The file's name in its directory. */
#define KEYS_FILE "guid2mkey"

/*
 * keys_load - read the keys of a directory
 * @ret:  for keys_destroy()
 *
 * Return: 0; ERR_IO where the file cannot be read, or a line is not what it has
 * to be: the text names the line and never shows a key; ERR_NOMEM.
 * Source: opensm osm_db_files.c (key, blank, value, empty line), osm_db_pack.c (0x and hexadecimal digits).
 */
int keys_load(const char *directory, struct keys **ret, struct error *err);

/*
 * keys_refresh - read them anew from where they were read: the subnet manager may have given out others
 * Return: 0; else as keys_load(), and they are as before.
 */
int keys_refresh(struct keys *keys, struct error *err);

/* keys_destroy - forget them; the memory that held them is wiped. */
void keys_destroy(struct keys *keys);

/* keys_are_exposed - may users that are neither the file's owner nor of its group read it? */
bool keys_are_exposed(const struct keys *keys);

/* keys_count - how many GUIDs have a key. */
size_t keys_count(const struct keys *keys);

/* keys_find - the M_Key of a GUID; 0, which is no key, where there is none. @keys may be NULL. */
uint64_t keys_find(const struct keys *keys, uint64_t guid);

/*
 * keys_pick - one key for a discovery, all of whose SMPs carry the same
 * @own_guid:       of the local port, which is asked first: without its key no discovery gets further
 * @ret_different:  how many different keys there are
 *
 * Return: the local port's key; where it has none, the one that most have.
 */
uint64_t keys_pick(const struct keys *keys, uint64_t own_guid, size_t *ret_different);

/*
 * keys_rank - the different keys, the one that most GUIDs have first
 * @ret:  room for @max of them, to be wiped by the caller
 * Return: how many are in @ret; 0 where @keys is NULL or there is no memory.
 */
size_t keys_rank(const struct keys *keys, uint64_t *ret, size_t max);

#endif
