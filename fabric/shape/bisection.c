/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The narrowest cut through a fabric: half of a tier, or between islands (fabric/shape/islands.c). */
#include <inttypes.h>
#include <stdio.h>

#include "base/err.h"
#include "fabric/shape/build.h"
#include "fabric/shape/graph.h"

/*
 * A cut divides the islands in two parts. Hosts of the smaller part share its capacity: the
 * narrowest cut has the least capacity per host of its smaller part.
 */
struct cut {
	uint64_t bits_per_s;
	uint32_t links;
	uint64_t hosts[2];   /* the smaller part first */
};

struct islands {
	struct shape_graph graph;
	uint32_t *hosts;     /* by island: ports cabled to HCAs */
	uint64_t all_hosts;
	bool now;            /* capacities now, else as built */
	bool searched;       /* not all cuts were compared: the narrowest may be narrower */
};

/* Beyond this number not all cuts are tried, unless the islands form a tree. */
enum { ISLANDS_MAX = 14 };

/* @hosts: in one of the parts */
static void divide_hosts(const struct islands *islands, struct cut *cut, uint64_t hosts)
{
	uint64_t rest = islands->all_hosts - hosts;

	cut->hosts[0] = hosts < rest ? hosts : rest;
	cut->hosts[1] = hosts < rest ? rest : hosts;
}

/* Of two cuts that are equally narrow the one into more equal parts is preferred. */
static bool is_narrower(const struct cut *a, const struct cut *b)
{
	double mine = (double)a->bits_per_s * (double)b->hosts[0], other = (double)b->bits_per_s * (double)a->hosts[0];

	return a->hosts[0] && (!b->hosts[0] || mine < other || (mine == other && a->hosts[0] > b->hosts[0]));
}

static void consider(const struct islands *islands, struct cut *cut, uint64_t hosts, struct cut *best)
{
	divide_hosts(islands, cut, hosts);
	if (is_narrower(cut, best))
		*best = *cut;
}

static void add_edge(const struct islands *islands, const struct shape_edge *edge, struct cut *cut)
{
	cut->bits_per_s += islands->now ? edge->now : edge->built;
	cut->links += edge->links;
}

/* Islands that form a tree: one of its edges is the narrowest cut. @below: by island, scratch */
static void cut_tree(const struct islands *islands, uint64_t *below, struct cut *best)
{
	const struct shape_graph *graph = &islands->graph;

	for (uint32_t i = 0; i < graph->visited; i++)
		below[graph->order[i]] = islands->hosts[graph->order[i]];
	for (uint32_t i = graph->visited; i-- > 1;) {
		uint32_t island = graph->order[i], parent = graph->parent[island];
		struct cut cut = { .links = 0 };

		below[parent] += below[island];
		for (uint32_t j = graph->first[island]; j < graph->first[island + 1]; j++)
			if (graph->edges[j].b == parent)
				add_edge(islands, &graph->edges[j], &cut);
		consider(islands, &cut, below[island], best);
	}
}

/* All cuts of at most ISLANDS_MAX islands. @place: by island, its bit, from 0 */
static void cut_all(const struct islands *islands, const uint32_t *place, struct cut *best)
{
	const struct shape_graph *graph = &islands->graph;

	for (uint64_t set = 1; set < UINT64_C(1) << (graph->visited - 1); set++) {
		struct cut cut = { .links = 0 };
		uint64_t hosts = 0;

		for (uint32_t j = 0; j < graph->visited; j++)
			hosts += set >> j & 1 ? islands->hosts[graph->order[j]] : 0;
		for (uint32_t j = 0; j < graph->count; j++)
			if ((set >> place[graph->edges[j].a] & 1) && !(set >> place[graph->edges[j].b] & 1))
				add_edge(islands, &graph->edges[j], &cut);
		consider(islands, &cut, hosts, best);
	}
}

/*
 * Cuts of many islands. The islands that are nearer to one end of a link than to the other are half of a torus, of a
 * hypercube and of a mesh, if the link is in its middle; of other graphs these halves, and the islands around each one,
 * are where the search begins. It then moves single islands to the other part while that makes the cut narrower.
 */
struct search {
	const struct islands *islands;
	bool *inside;              /* by island */
	uint32_t *near, *far;      /* by island: distance from the two ends of a link */
	uint32_t *queue, queued;   /* islands by distance from the last one that was measured from */
	struct cut cut;            /* around the islands inside */
	uint64_t hosts;            /* inside */
};

/* Edges times starting points: about 20 ms of CPU */
enum { SEARCH_WORK_MAX = 300000 };

static void measure_from(struct search *search, uint32_t island, uint32_t *distance)
{
	const struct shape_graph *graph = &search->islands->graph;

	for (uint32_t i = 0; i < graph->visited; i++)
		distance[graph->order[i]] = SHAPE_NONE;
	distance[island] = 0;
	search->queue[0] = island;
	search->queued = 1;
	for (uint32_t i = 0; i < search->queued; i++) {
		uint32_t from = search->queue[i];

		for (uint32_t j = graph->first[from]; j < graph->first[from + 1]; j++) {
			const struct shape_edge *edge = &graph->edges[j];

			if (distance[edge->b] != SHAPE_NONE || !(search->islands->now ? edge->now : edge->built))
				continue;
			distance[edge->b] = distance[from] + 1;
			search->queue[search->queued++] = edge->b;
		}
	}
}

static void search_empty(struct search *search)
{
	const struct shape_graph *graph = &search->islands->graph;

	for (uint32_t i = 0; i < graph->visited; i++)
		search->inside[graph->order[i]] = false;
	search->cut = (struct cut){ .links = 0 };
	search->hosts = 0;
}

/* Move an island to the other part; with @narrower only if the cut is narrower then. Return: whether it was moved. */
static bool search_move(struct search *search, uint32_t island, bool narrower)
{
	const struct islands *islands = search->islands;
	const struct shape_graph *graph = &islands->graph;
	struct cut added = { .links = 0 }, removed = added, cut = search->cut;
	uint64_t hosts = islands->hosts[island];

	for (uint32_t i = graph->first[island]; i < graph->first[island + 1]; i++)
		add_edge(islands, &graph->edges[i],
			 search->inside[graph->edges[i].b] == search->inside[island] ? &added : &removed);
	cut.bits_per_s += added.bits_per_s - removed.bits_per_s;
	cut.links += added.links - removed.links;
	hosts = search->inside[island] ? search->hosts - hosts : search->hosts + hosts;
	divide_hosts(islands, &cut, hosts);
	if (narrower && !is_narrower(&cut, &search->cut))
		return false;
	search->cut = cut;
	search->hosts = hosts;
	search->inside[island] = !search->inside[island];
	return true;
}

static void search_narrower(struct search *search, struct cut *best)
{
	const struct shape_graph *graph = &search->islands->graph;
	bool moved = true;

	for (int turns = 0; moved && turns < 8; turns++) {
		moved = false;
		for (uint32_t i = 0; i < graph->visited; i++)
			moved |= search_move(search, graph->order[i], true);
	}
	if (is_narrower(&search->cut, best))
		*best = search->cut;
}

/* The islands around the last one that was measured from, as far as the cut becomes narrower. */
static void search_around(struct search *search, struct cut *best)
{
	struct cut narrowest = { .links = 0 };
	uint32_t size = 0;

	search_empty(search);
	for (uint32_t i = 0; i < search->queued; i++) {
		search_move(search, search->queue[i], false);
		if (!is_narrower(&search->cut, &narrowest))
			continue;
		narrowest = search->cut;
		size = i + 1;
	}
	search_empty(search);
	for (uint32_t i = 0; i < size; i++)
		search_move(search, search->queue[i], false);
	search_narrower(search, best);
}

static int cut_many(struct shape_build *build, const struct islands *islands, struct cut *best)
{
	const struct shape_graph *graph = &islands->graph;
	size_t nodes = build->fabric->node_count;
	struct search search = {
		.islands = islands,
		.inside = shape_scratch(build, nodes, sizeof(*search.inside)),
		.near = shape_scratch(build, nodes, sizeof(*search.near)),
		.far = shape_scratch(build, nodes, sizeof(*search.far)),
		.queue = shape_scratch(build, nodes, sizeof(*search.queue)),
	};
	uint32_t starts = SEARCH_WORK_MAX / graph->count + 1;

	if (!search.inside || !search.near || !search.far || !search.queue)
		return ERR_NOMEM;
	if (starts > graph->count)
		starts = graph->count;
	for (uint32_t i = 0; i < starts; i++) {
		/* A prime spreads few starting points over all places and directions. */
		const struct shape_edge *edge = &graph->edges[i * UINT64_C(1000003) % graph->count];

		measure_from(&search, edge->b, search.far);
		measure_from(&search, edge->a, search.near);
		search_around(&search, best);
		search_empty(&search);
		for (uint32_t j = 0; j < graph->visited; j++)
			if (search.near[graph->order[j]] < search.far[graph->order[j]])
				search_move(&search, graph->order[j], false);
		search_narrower(&search, best);
	}
	return 0;
}

static int cut_islands(struct shape_build *build, uint32_t *sets, struct islands *islands, struct cut *best)
{
	size_t nodes = build->fabric->node_count;
	uint8_t *covered = shape_scratch(build, nodes, sizeof(*covered));
	uint64_t *below = shape_scratch(build, nodes, sizeof(*below));
	uint32_t *place = shape_scratch(build, nodes, sizeof(*place));
	struct shape_graph *graph = &islands->graph;
	int code = covered && below && place ? shape_make_graph(build, sets, graph) : ERR_NOMEM;

	*best = (struct cut){ .links = 0 };
	if (code < 0 || !graph->count)
		return code;
	shape_search_cycle(graph, graph->edges[0].a, covered);
	for (uint32_t i = 0; i < graph->visited; i++)
		place[graph->order[i]] = i;
	/* Each edge is listed in both directions. */
	if (graph->count / 2 == graph->visited - 1)
		cut_tree(islands, below, best);
	else if (graph->visited <= ISLANDS_MAX)
		cut_all(islands, place, best);
	else
		islands->searched = true;
	return islands->searched ? cut_many(build, islands, best) : 0;
}

/* The links between the leaves of a fabric with two; more of them can be divided without a cut between a pair. */
static int find_between_leaves(struct shape_build *build, struct shape_edge *ret)
{
	const struct shape_node *nodes = build->shape->nodes;
	struct shape_graph graph;
	int code;

	*ret = (struct shape_edge){ .links = 0 };
	if (build->shape->tiers[1].switches != 2)
		return 0;
	code = shape_make_graph(build, NULL, &graph);
	for (uint32_t i = 0; code == 0 && i < graph.count; i++)
		if (nodes[graph.edges[i].a].tier == 1 && nodes[graph.edges[i].b].tier == 1)
			*ret = graph.edges[i];
	return code;
}

/*
 * The narrowest of the tiers: half of the hosts send to the other half over half of its links, and over those between
 * two leaves.
 */
static void narrowest_tier(const struct shape *shape, bool now, const struct shape_edge *between, uint64_t *ret_bits,
			   unsigned *ret_tier)
{
	/* The switches of a torus have no tier. */
	const struct shape_tier *leaves = &shape->tiers[shape->kind == SHAPE_NO_TREE ? 0 : 1];

	*ret_tier = 0;
	*ret_bits = now ? leaves->down_bits_per_s_now : leaves->down_bits_per_s;
	for (unsigned i = 1; i < shape->tier_count; i++) {
		uint64_t bits = now ? shape->tiers[i].up_bits_per_s_now : shape->tiers[i].up_bits_per_s;

		if (i == 1)
			bits += 2 * (now ? between->now : between->built);
		if (bits >= *ret_bits)
			continue;
		*ret_bits = bits;
		*ret_tier = i;
	}
}

static void describe_cut(struct shape *shape, unsigned tier, const struct shape_edge *between, const struct cut *cut)
{
	if (cut->hosts[0])
		snprintf(shape->bisection_cut, sizeof(shape->bisection_cut),
			 "%u link%s between parts with %" PRIu64 " and %" PRIu64 " HCA links", cut->links,
			 cut->links == 1 ? "" : "s", cut->hosts[0], cut->hosts[1]);
	else if (tier)
		snprintf(shape->bisection_cut, sizeof(shape->bisection_cut),
			 "half of the links from tier %u up to tier %u%s", tier, tier + 1,
			 tier == 1 && between->links ? ", and those between leaves" : "");
	else
		snprintf(shape->bisection_cut, sizeof(shape->bisection_cut), "half of the links to HCAs");
}

/* Islands of two or more switches, if there are no others. @sizes: by island, number of its switches */
static void count_islands(struct shape *shape, const struct islands *islands, const uint32_t *sizes)
{
	const struct shape_graph *graph = &islands->graph;

	for (uint32_t i = 0; i < graph->visited; i++)
		if (sizes[graph->order[i]] < 2)
			return;
	shape->island_count = graph->visited;
	for (uint32_t i = 0; i < graph->count; i++)
		shape->island_links += graph->edges[i].links;
	shape->island_links /= 2;
}

int shape_find_bisection(struct shape_build *build)
{
	struct shape *shape = build->shape;
	uint32_t *sets, *sizes;
	struct islands islands = { .hosts = NULL };
	struct shape_edge between;
	int code;

	/* A torus in several unconnected parts has no cut between two halves of its hosts. */
	if (!shape->tier_count && (shape->kind != SHAPE_NO_TREE || shape->parts > 1))
		return 0;
	code = find_between_leaves(build, &between);
	if (code < 0)
		return code;
	sets = shape_find_islands(build);
	islands.hosts = shape_scratch(build, build->fabric->node_count, sizeof(*islands.hosts));
	sizes = shape_scratch(build, build->fabric->node_count, sizeof(*sizes));
	if (!sets || !islands.hosts || !sizes)
		return ERR_NOMEM;
	for (uint32_t i = 0; i < build->switch_count; i++) {
		uint32_t node = build->switches[i];

		sizes[shape_root(sets, node)]++;
		islands.hosts[shape_root(sets, node)] += build->hcas[node];
		islands.all_hosts += build->hcas[node];
	}
	for (int now = 0; now < 2; now++) {
		uint64_t bits;
		struct cut cut = { .links = 0 };
		unsigned tier;

		narrowest_tier(shape, now, &between, &bits, &tier);
		islands.now = now;
		/* Unconnected parts are planes of all hosts, or separate fabrics: no cut leads through them. */
		if (shape->parts == 1)
			code = cut_islands(build, sets, &islands, &cut);
		if (code < 0)
			return code;
		/* Leaves that nothing connects. */
		if (shape->tier_count == 1 && shape->tiers[1].switches > 1 && !cut.hosts[0])
			bits = 0;
		if (!is_narrower(&cut, &(struct cut){ .bits_per_s = bits, .hosts = { islands.all_hosts } }))
			cut.hosts[0] = 0;
		if (!now)
			describe_cut(shape, tier, &between, &cut);
		*(now ? &shape->bisection_bits_per_s_now : &shape->bisection_bits_per_s) =
			cut.hosts[0] ? cut.bits_per_s : bits / 2;
		if (!now)
			count_islands(shape, &islands, sizes);
	}
	shape->bisection_at_most = islands.searched;
	if (!shape->bisection_bits_per_s)
		shape->bisection_cut[0] = '\0';
	return 0;
}
