/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Islands, and the graph of links within a tier.
 *
 * An island is a set of switches that are connected by links from tier to tier. Links within a tier
 * join islands, or switches of one island. A fabric is a torus, mesh or dragonfly only if these
 * links form cycles: chains, stars, pairs of leaves with links between them, and islands that are
 * joined pairwise are none.
 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "fabric/shape/build.h"
#include "fabric/shape/graph.h"

static int compare_edges(const void *x, const void *y)
{
	const struct shape_edge *a = x, *b = y;

	if (a->a != b->a)
		return a->a < b->a ? -1 : 1;
	return a->b < b->b ? -1 : a->b > b->b;
}

/* Sort the edges and merge parallel ones. @vertices: the highest number of a vertex plus 1 */
static int graph_finish(struct shape_build *build, struct shape_graph *graph, uint32_t vertices)
{
	uint32_t merged = 0, at = 0;

	if (graph->count)
		qsort(graph->edges, graph->count, sizeof(*graph->edges), compare_edges);
	for (uint32_t i = 1; i < graph->count; i++) {
		struct shape_edge *last = &graph->edges[merged];
		const struct shape_edge *edge = &graph->edges[i];

		if (!compare_edges(last, edge)) {
			last->links += edge->links;
			last->built += edge->built;
			last->now += edge->now;
		} else {
			graph->edges[++merged] = *edge;
		}
	}
	graph->count = graph->count ? merged + 1 : 0;
	graph->first = shape_scratch(build, vertices + 1, sizeof(*graph->first));
	graph->order = shape_scratch(build, vertices, sizeof(*graph->order));
	graph->depth = shape_scratch(build, vertices, sizeof(*graph->depth));
	graph->parent = shape_scratch(build, vertices, sizeof(*graph->parent));
	graph->cursor = shape_scratch(build, vertices, sizeof(*graph->cursor));
	if (!graph->first || !graph->order || !graph->depth || !graph->parent || !graph->cursor)
		return ERR_NOMEM;
	for (uint32_t vertex = 0; vertex < vertices; vertex++) {
		while (at < graph->count && graph->edges[at].a < vertex)
			at++;
		graph->first[vertex] = graph->cursor[vertex] = at;
	}
	graph->first[vertices] = graph->count;
	return 0;
}

bool shape_search_cycle(struct shape_graph *graph, uint32_t start, uint8_t *covered)
{
	uint32_t vertex = start;
	bool found = false;

	graph->depth[start] = 1;
	graph->parent[start] = SHAPE_NONE;
	graph->order[graph->visited++] = start;
	while (vertex != SHAPE_NONE) {
		uint32_t other, parent = graph->parent[vertex];

		if (graph->cursor[vertex] == graph->first[vertex + 1]) {
			vertex = parent;
			continue;
		}
		other = graph->edges[graph->cursor[vertex]++].b;
		if (!graph->depth[other]) {
			graph->depth[other] = graph->depth[vertex] + 1;
			graph->parent[other] = vertex;
			graph->order[graph->visited++] = other;
			vertex = other;
		} else if (other != parent && graph->depth[other] < graph->depth[vertex]) {
			found |= graph->depth[vertex] - graph->depth[other] > 2 || covered[vertex]++ ||
				 covered[parent]++;
		}
	}
	return found;
}

static bool is_across(const struct shape_build *build, uint32_t a, uint32_t b)
{
	uint8_t tier = build->shape->nodes[a].tier, other = build->shape->nodes[b].tier;

	return !tier || tier == other || !other;
}

uint32_t *shape_find_islands(struct shape_build *build)
{
	uint32_t *sets = shape_sets(build);

	for (uint32_t i = 0; sets && i < build->switch_count; i++) {
		uint32_t node = build->switches[i];

		for (uint32_t j = build->first_near[node]; j < build->first_near[node + 1]; j++)
			if (!is_across(build, node, build->near[j].node))
				shape_join(sets, node, build->near[j].node);
	}
	return sets;
}

int shape_make_graph(struct shape_build *build, uint32_t *islands, struct shape_graph *ret)
{
	const struct fabric *fabric = build->fabric;

	*ret = (struct shape_graph){ .edges = shape_scratch(build, fabric->port_count + 1, sizeof(*ret->edges)) };
	if (!ret->edges)
		return ERR_NOMEM;
	for (uint32_t i = 0; i < fabric->port_count; i++) {
		const struct port *port = &fabric->ports[i];
		uint32_t a = port->node, b = port->peer == FABRIC_NONE ? a : fabric->ports[port->peer].node;
		uint64_t rate = shape_link_rate(fabric, i);

		if (a == b || fabric->nodes[a].type != NODE_SWITCH || fabric->nodes[b].type != NODE_SWITCH ||
		    !is_across(build, a, b))
			continue;
		if (islands) {
			a = shape_root(islands, a);
			b = shape_root(islands, b);
		}
		/* The rate of a link in a dump may be unknown. */
		if (a != b)
			ret->edges[ret->count++] = (struct shape_edge){
				a, b, 1, build->expected_rate[i],
				port->state != PORT_ACTIVE ? 0 : rate ? rate : build->expected_rate[i],
			};
	}
	return graph_finish(build, ret, (uint32_t)fabric->node_count);
}

static int has_cycle(struct shape_build *build, uint32_t *islands, bool *ret)
{
	uint8_t *covered = shape_scratch(build, build->fabric->node_count, sizeof(*covered));
	struct shape_graph graph;
	int code = covered ? shape_make_graph(build, islands, &graph) : ERR_NOMEM;

	for (uint32_t i = 0; code == 0 && i < graph.count && !*ret; i++)
		if (!graph.depth[graph.edges[i].a])
			*ret |= shape_search_cycle(&graph, graph.edges[i].a, covered);
	return code;
}

int shape_has_cycles(struct shape_build *build, bool *ret)
{
	uint32_t *islands = shape_find_islands(build);
	int code = islands ? has_cycle(build, NULL, ret) : ERR_NOMEM;

	if (code == 0 && !*ret)
		code = has_cycle(build, islands, ret);
	return code;
}
