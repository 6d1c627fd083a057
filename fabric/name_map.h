/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* name_map.h - configured names of GUIDs, which take precedence over descriptions */
#ifndef IBWIRE_FABRIC_NAME_MAP_H
#define IBWIRE_FABRIC_NAME_MAP_H

#include <stddef.h>
#include <stdint.h>

struct error;
struct name_map;
struct unread;

/*
 * name_map_parse - parse a node-name-map in the format of the infiniband-diags
 * @chars:      lines of a node GUID and a name: 0x2c5eab0300b87b40 "leaf 1", or without quotes;
 *              '#' starts a comment; the first name of a GUID counts
 * @ret_unread: lines that are neither that nor empty, or NULL
 *
 * Return: 0 and a map that name_map_destroy() frees, or ERR_NOMEM.
 * Source: rdma-core util/node_name_map.c, which rejects a file with a line that it cannot read.
 */
int name_map_parse(const char *chars, size_t len, struct name_map **ret, struct unread *ret_unread,
		   struct error *err);
void name_map_destroy(struct name_map *map);

/* name_map_find - the name of a GUID, or NULL (borrowed from @map). */
const char *name_map_find(const struct name_map *map, uint64_t guid);

#endif
