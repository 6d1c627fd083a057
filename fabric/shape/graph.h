/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* graph.h - islands, or switches, and the links within a tier that join them; private to fabric/shape/ */
#ifndef IBWIRE_FABRIC_SHAPE_GRAPH_H
#define IBWIRE_FABRIC_SHAPE_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

struct shape_build;

/* Two islands, or two switches, that are joined by links within a tier. */
struct shape_edge {
	uint32_t a, b;        /* a < b, unless listed in both directions */
	uint32_t links;
	uint64_t built, now;  /* bits/s, one way */
};

struct shape_graph {
	struct shape_edge *edges;   /* by a, then b */
	uint32_t count;
	uint32_t *first;      /* by vertex: its first edge in edges; one more at the end */
	uint32_t *order, *depth, *parent, *cursor; /* of a depth-first search; depth from 1, 0: not visited */
	uint32_t visited;
};

/* shape_find_islands - the island of each switch: its switch with the lowest index. Return: NULL: no memory. */
uint32_t *shape_find_islands(struct shape_build *build);

/*
 * shape_make_graph - the links within a tier
 * @islands:  join islands, and not switches, or NULL
 * Return: 0 or ERR_NOMEM.
 */
int shape_make_graph(struct shape_build *build, uint32_t *islands, struct shape_graph *ret);

/*
 * shape_search_cycle - visit all vertices that are connected with @start
 * @covered:  by vertex, 0 at first: cycles through the edge to its parent
 * Return: whether there is a cycle of four or more vertices; all cycles of three have different edges then.
 */
bool shape_search_cycle(struct shape_graph *graph, uint32_t start, uint8_t *covered);

#endif
