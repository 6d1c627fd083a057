/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * keys.h - M_Keys and PM_Keys by GUID, from the key files of the subnet manager
 *
 * A node whose M_Key protects it against reading drops every SMP without that key, and counts it as
 * a violation. The subnet manager sets the keys and writes them to guid2mkey: lines of a port GUID
 * and its key, each followed by an empty line. Its file neighbors, in the same format, names the
 * port behind each port, so that the key of a node is known before its GUID is: lines of
 * 0xGUID:PORT and its peer's 0xGUID:PORT, where ports of a switch have the GUID of its port 0.
 * NVIDIA's subnet manager may also set keys of performance agents (PM_Key), in guid2pmkey.
 */
#ifndef IBWIRE_WIRE_KEYS_H
#define IBWIRE_WIRE_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/unread.h"

struct error;
struct keys;

/* Names of the files in their directory; only the first must exist. */
#define KEYS_FILE "guid2mkey"
#define KEYS_NEIGHBORS_FILE "neighbors"
#define KEYS_PM_FILE "guid2pmkey"

enum keys_files { KEYS_OF_SMPS, KEYS_OF_AGENTS, KEYS_NEIGHBORS, KEYS_FILE_COUNT };

/* What was not read of a file. */
struct keys_file {
	const char *name; /* in the directory */
	const char *why;  /* of the first invalid line, never with a key */
	struct unread unread;
};

/*
 * keys_load - read the keys of a directory
 * @ret:  for keys_destroy()
 *
 * Invalid lines are counted (keys_file()), and the others are read. Of several keys of a GUID the first counts.
 * Return: 0; ERR_IO: a file cannot be read, or no line of it is valid: the text names the first one
 * and never contains a key; ERR_NOMEM.
 * Source: opensm osm_db_files.c (key, blank, value, empty line), osm_db_pack.c (0x and hexadecimal
 * digits).
 */
int keys_load(const char *directory, struct keys **ret, struct error *err);

/*
 * keys_refresh - read the files again
 * Return: as keys_load(), or ERR_IO if more lines are invalid than before: the subnet manager may be
 * writing. The keys are unchanged on failure.
 */
int keys_refresh(struct keys *keys, struct error *err);

/* keys_destroy - wipe and free the keys. */
void keys_destroy(struct keys *keys);

/* keys_are_exposed - a file of keys is readable by users other than its owner and group. */
bool keys_are_exposed(const struct keys *keys);

/* keys_file - what was not read of a file. */
const struct keys_file *keys_file(const struct keys *keys, enum keys_files which);

/* keys_count - number of GUIDs with an M_Key. */
size_t keys_count(const struct keys *keys);

/* keys_find - M_Key of a GUID; 0: none. @keys may be NULL. */
uint64_t keys_find(const struct keys *keys, uint64_t guid);

/*
 * keys_find_pm - PM_Key of a GUID; 0: none. @keys may be NULL.
 * Source: NVIDIA, ibdiagnet user manual 2.21, "Security Keys", and its header ibdm/IBDiagnetFileNames.h
 * ("Class 0x4 PM Key"): guid2pmkey is one of the guid2*key files of the subnet manager, whose lines are
 * those of guid2mkey.
 */
uint64_t keys_find_pm(const struct keys *keys, uint64_t guid);

/*
 * keys_pick - one key for a discovery whose SMPs all carry the same
 * @own_guid:       of the local port, which is queried first
 * @ret_different:  number of different keys
 *
 * Return: the key of the local port, or else the most frequent one.
 */
uint64_t keys_pick(const struct keys *keys, uint64_t own_guid, size_t *ret_different);

/* keys_neighbor - port GUID of the peer of a port, from the neighbors file; 0: unknown. @keys may be NULL. */
uint64_t keys_neighbor(const struct keys *keys, uint64_t port_guid, uint8_t num);

#endif
