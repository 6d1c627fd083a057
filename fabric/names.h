/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * names.h - node names: from a name map, from a description, as typed
 */
#ifndef IBWIRE_FABRIC_NAMES_H
#define IBWIRE_FABRIC_NAMES_H

#include <stddef.h>
#include <stdint.h>

struct error;
struct fabric;

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

/*
 * names_find_node - a node as typed: its name, or its GUID as 0x...
 * @typed:  whole name, case-sensitive; else 0x and a GUID
 * @ret:    index into fabric->nodes
 *
 * Return: 0; ERR_USAGE where nothing or several nodes are meant: the text lists
 * some of them, or names the nearest.
 */
int names_find_node(const struct fabric *fabric, const char *typed, uint32_t *ret, struct error *err);

/*
 * names_find_port - a port as typed: NAME/PORT or 0xGUID/PORT
 * @ret:  index into fabric->ports
 *
 * Return: 0 or ERR_USAGE, as above.
 */
int names_find_port(const struct fabric *fabric, const char *typed, uint32_t *ret, struct error *err);

#endif
