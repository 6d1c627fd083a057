/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* name_map.h - configured names of GUIDs, which take precedence over descriptions */
#ifndef IBWIRE_FABRIC_NAME_MAP_H
#define IBWIRE_FABRIC_NAME_MAP_H

#include <stddef.h>
#include <stdint.h>

struct error;
struct name_map;

/*
 * name_map_parse - parse a node-name-map in the format of the infiniband-diags
 * @chars:  lines of: 0x<node guid> "name"; '#' starts a comment
 *
 * Other lines are ignored, as there.
 * Return: 0 and a map that name_map_destroy() frees, or ERR_NOMEM.
 * Source: infiniband-diags, --node-name-map (man ibnetdiscover).
 */
int name_map_parse(const char *chars, size_t len, struct name_map **ret, struct error *err);
void name_map_destroy(struct name_map *map);

/* name_map_find - the name of a GUID, or NULL (borrowed from @map). */
const char *name_map_find(const struct name_map *map, uint64_t guid);

#endif
