/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* name_map.h - names that somebody gave to GUIDs, and that win over descriptions */
#ifndef IBWIRE_FABRIC_NAME_MAP_H
#define IBWIRE_FABRIC_NAME_MAP_H

#include <stddef.h>
#include <stdint.h>

struct error;
struct name_map;

/*
 * name_map_parse - a node-name-map as the infiniband-diags read it
 * @chars:  lines of: 0x<node guid> "name"; '#' begins a comment
 *
 * A line that says nothing of this form is passed over, as there.
 * Return: 0 and a map that name_map_destroy() frees, or ERR_NOMEM.
 * Source: infiniband-diags, --node-name-map (man ibnetdiscover).
 */
int name_map_parse(const char *chars, size_t len, struct name_map **ret, struct error *err);
void name_map_destroy(struct name_map *map);

/* name_map_find - the name of a GUID, or NULL (borrowed from @map). */
const char *name_map_find(const struct name_map *map, uint64_t guid);

#endif
