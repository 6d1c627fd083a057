/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* keep.h - keep unresponsive nodes that a discovery missed while their links are up */
#ifndef IBWIRE_FABRIC_KEEP_H
#define IBWIRE_FABRIC_KEEP_H


struct error;
struct fabric;
struct name_map;

/*
 * fabric_keep_silent - add unresponsive nodes of the previous topology to a discovered fabric
 * @before:  previous topology
 * @found:   discovered fabric
 * @ret:     a new fabric: @found, and the nodes of @before that are cabled to a port of it with a
 *           link and no peer, and the nodes behind them; untouched if there are none
 *
 * A node with a hung management agent, or whose responses were lost, has not left the fabric: the
 * port of its neighbor is up. It stays in the topology, marked as kept, and is polled.
 * Return: number of nodes added, or ERR_NOMEM.
 */
int fabric_keep_silent(const struct fabric *before, const struct fabric *found, struct fabric **ret,
		       struct error *err);

/*
 * fabric_sort - replace a finished fabric of links that are up by one whose nodes are in order of GUIDs
 * What is computed from it no longer depends on the order of the file that it was read from.
 * @map:  node names, or NULL
 * Return: 0 or ERR_NOMEM; @fabric is unchanged then.
 */
int fabric_sort(struct fabric **fabric, const struct name_map *map, struct error *err);

#endif
