/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/spread.h"

#include <byteswap.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "fabric/fabric.h"
#include "fabric/routes.h"
#include "fabric/variant.h"

#define NOWHERE UINT32_MAX
#define FAR 0xff

/* Most links of a path that opensm counts in its search for roots. Source: opensm IB_SUBNET_PATH_HOPS_MAX. */
enum { HOPS_MAX = 64 };

/* A link to another switch, from a switch; in order of its switch and port. */
struct hop {
	uint32_t to;    /* number of the other switch */
	uint32_t back;  /* index of the same link in the list of the other switch */
	uint8_t num;
	uint8_t hops;   /* updn: links to the current destination by this port */
};

/* An HCA port, or a router's, and its place. */
struct end {
	uint32_t at;    /* number of its switch */
	uint16_t lid;
	uint8_t lids;   /* with LMC */
	uint8_t num;    /* port of the switch */
};

struct spreading {
	const struct fabric *fabric;
	enum spread_engine engine;
	struct routes *routes;
	uint32_t *nodes;           /* by number of a switch: its node; in opensm's order */
	uint32_t *switch_of;       /* by node: number of the switch; NOWHERE: none */
	uint32_t count;            /* switches */
	struct hop *hops;
	uint32_t *first;           /* by switch: its first hop; one more at the end */
	uint32_t *peers;           /* other switches of each switch, each once, in the places of its hops */
	uint32_t *peer_count;      /* by switch */
	struct end *ends;          /* in the order of assignment */
	uint32_t end_count;
	uint8_t **tables;          /* by switch */
	const struct route_table **kept; /* by switch; NULL: none */
	uint32_t (*given)[256];    /* by switch and port: LIDs so far */
	/* Of the current destination. */
	uint8_t *least;            /* by switch: links to it */
	uint32_t *queue;           /* a ring of count + 1 */
	/* updn: by switch */
	uint32_t *rank;
	bool *down, *queued;       /* the way on which the search has reached it */
	uint32_t lids;
	unsigned lids_most;        /* of a port */
};

/* opensm orders GUIDs by the number that their bytes have on a little-endian host. */
static int compare_guids(const void *a, const void *b, void *ctx)
{
	const struct node *nodes = ctx;
	uint64_t left = bswap_64(nodes[*(const uint32_t *)a].guid), right = bswap_64(nodes[*(const uint32_t *)b].guid);

	return (left > right) - (left < right);
}

static int number_switches(struct spreading *of)
{
	const struct fabric *fabric = of->fabric;

	of->nodes = calloc(fabric->node_count + 1, sizeof(*of->nodes));
	of->switch_of = calloc(fabric->node_count + 1, sizeof(*of->switch_of));
	if (!of->nodes || !of->switch_of)
		return ERR_NOMEM;
	for (uint32_t i = 0; i < fabric->node_count; i++) {
		of->switch_of[i] = NOWHERE;
		if (fabric->nodes[i].type == NODE_SWITCH)
			of->nodes[of->count++] = i;
	}
	qsort_r(of->nodes, of->count, sizeof(*of->nodes), compare_guids, fabric->nodes);
	for (uint32_t i = 0; i < of->count; i++)
		of->switch_of[of->nodes[i]] = i;
	return 0;
}

static bool leads_to_switch(const struct spreading *of, uint32_t port)
{
	const struct port *self = &of->fabric->ports[port];

	return self->num && link_is_usable(of->fabric, port) && of->fabric->ports[self->peer].node != self->node &&
	       of->switch_of[of->fabric->ports[self->peer].node] != NOWHERE;
}

/* List the links between switches, and the neighbors of each switch. */
static int list_hops(struct spreading *of)
{
	const struct fabric *fabric = of->fabric;
	uint32_t *hop_of = calloc(fabric->port_count + 1, sizeof(*hop_of)), count = 0;

	of->first = calloc(of->count + 1, sizeof(*of->first));
	of->hops = calloc(fabric->port_count + 1, sizeof(*of->hops));
	of->peers = calloc(fabric->port_count + 1, sizeof(*of->peers));
	of->peer_count = calloc(of->count + 1, sizeof(*of->peer_count));
	if (!hop_of || !of->first || !of->hops || !of->peers || !of->peer_count) {
		free(hop_of);
		return ERR_NOMEM;
	}
	for (uint32_t i = 0; i < of->count; i++) {
		const struct node *node = &fabric->nodes[of->nodes[i]];

		of->first[i] = count;
		for (uint32_t port = node->first_port; port < node->first_port + node->ports; port++) {
			if (!leads_to_switch(of, port))
				continue;
			hop_of[port] = count;
			of->hops[count].num = fabric->ports[port].num;
			of->hops[count].back = fabric->ports[port].peer;
			of->hops[count++].to = of->switch_of[fabric->ports[fabric->ports[port].peer].node];
		}
	}
	of->first[of->count] = count;
	for (uint32_t i = 0; i < count; i++)
		of->hops[i].back = hop_of[of->hops[i].back];
	for (uint32_t i = 0; i < of->count; i++) {
		uint32_t *peers = of->peers + of->first[i], k;

		for (uint32_t j = of->first[i]; j < of->first[i + 1]; j++) {
			for (k = 0; k < of->peer_count[i] && peers[k] != of->hops[j].to; k++)
				;
			if (k == of->peer_count[i])
				peers[of->peer_count[i]++] = of->hops[j].to;
		}
	}
	free(hop_of);
	return 0;
}

/* --- the order of destinations --- */

static bool is_end(const struct spreading *of, uint32_t port)
{
	const struct port *self = &of->fabric->ports[port];

	return self->num && link_is_usable(of->fabric, port) &&
	       of->fabric->nodes[of->fabric->ports[self->peer].node].type != NODE_SWITCH;
}

struct loaded {
	uint32_t at, ends;
};

static int compare_loaded(const void *a, const void *b)
{
	const struct loaded *left = a, *right = b;

	if (left->ends != right->ends)
		return left->ends > right->ends ? -1 : 1;
	return left->at < right->at ? -1 : left->at > right->at;
}

static void add_end(struct spreading *of, uint32_t at, uint32_t port)
{
	const struct port *far = &of->fabric->ports[of->fabric->ports[port].peer];
	uint32_t lids = 1u << (far->lmc & 7);

	if (!far->lid || far->lid + lids > ROUTES_LIDS)
		return;
	of->ends[of->end_count++] = (struct end){ .at = at, .lid = far->lid, .lids = (uint8_t)lids,
						  .num = of->fabric->ports[port].num };
	of->lids = far->lid + lids > of->lids ? far->lid + lids : of->lids;
	of->lids_most = lids > of->lids_most ? lids : of->lids_most;
}

static int order_ends(struct spreading *of)
{
	struct loaded *loaded = calloc(of->count + 1, sizeof(*loaded));

	of->ends = calloc(of->fabric->port_count + 1, sizeof(*of->ends));
	if (!loaded || !of->ends) {
		free(loaded);
		return ERR_NOMEM;
	}
	for (uint32_t i = 0; i < of->count; i++) {
		const struct node *node = &of->fabric->nodes[of->nodes[i]];

		loaded[i].at = i;
		for (uint32_t port = node->first_port; port < node->first_port + node->ports; port++)
			loaded[i].ends += is_end(of, port);
		if (node->lid < ROUTES_LIDS && node->lid >= of->lids)
			of->lids = node->lid + 1u;
	}
	qsort(loaded, of->count, sizeof(*loaded), compare_loaded);
	for (uint32_t i = 0; i < of->count && loaded[i].ends; i++) {
		const struct node *node = &of->fabric->nodes[of->nodes[loaded[i].at]];

		for (uint32_t port = node->first_port; port < node->first_port + node->ports; port++)
			if (is_end(of, port))
				add_end(of, loaded[i].at, port);
	}
	free(loaded);
	return 0;
}

/* --- paths to one switch --- */

static void measure_minhop(struct spreading *of, uint32_t to)
{
	uint32_t head = 0, tail = 0;

	memset(of->least, FAR, of->count);
	of->least[to] = 0;
	of->queue[tail++] = to;
	while (head < tail) {
		uint32_t at = of->queue[head++];
		const uint32_t *peers = of->peers + of->first[at];
		uint8_t next = (uint8_t)(of->least[at] + 1);

		if (next == FAR)
			continue;
		for (uint32_t i = 0; i < of->peer_count[at]; i++) {
			if (of->least[peers[i]] != FAR)
				continue;
			of->least[peers[i]] = next;
			of->queue[tail++] = peers[i];
		}
	}
}

/* Does the link lead away from the roots? Between equal ranks it leads down to the lower GUID, between roots up. */
static bool leads_down(const struct spreading *of, uint32_t from, uint32_t to)
{
	if (of->rank[from] != of->rank[to])
		return of->rank[from] < of->rank[to];
	return of->rank[from] && of->fabric->nodes[of->nodes[from]].guid <= of->fabric->nodes[of->nodes[to]].guid;
}

/*
 * The search starts at the destination, so a path that leads up and then down does so in this order, too. A switch that
 * is reached again over another port is searched again, on that way.
 */
static void measure_updn(struct spreading *of, uint32_t to)
{
	uint32_t head = 0, tail = 0, size = of->count + 1;

	memset(of->least, FAR, of->count);
	memset(of->queued, 0, of->count * sizeof(*of->queued));
	for (uint32_t i = 0; i < of->first[of->count]; i++)
		of->hops[i].hops = FAR;
	of->least[to] = 0;
	of->down[to] = false;
	of->queue[tail++] = to;
	while (head != tail) {
		uint32_t at = of->queue[head];
		bool down = of->down[at];

		head = (head + 1) % size;
		of->queued[at] = false;
		for (uint32_t i = of->first[at]; i < of->first[at + 1]; i++) {
			struct hop *back = &of->hops[of->hops[i].back];
			uint32_t next = of->hops[i].to;
			bool goes_down = leads_down(of, at, next);

			if ((down && !goes_down) || of->least[at] + 1 >= back->hops)
				continue;
			back->hops = (uint8_t)(of->least[at] + 1);
			if (back->hops < of->least[next])
				of->least[next] = back->hops;
			if (of->queued[next])
				continue;
			of->down[next] = goes_down;
			of->queued[next] = true;
			of->queue[tail] = next;
			tail = (tail + 1) % size;
		}
	}
}

/* The ports of a switch on shortest paths to the current destination, in order of number. Return: how many. */
static unsigned find_nearest(const struct spreading *of, uint32_t at, uint8_t ret[256])
{
	uint8_t least = of->least[at];
	unsigned count = 0;

	if (least == FAR || !least)
		return 0;
	for (uint32_t i = of->first[at]; i < of->first[at + 1]; i++) {
		const struct hop *hop = &of->hops[i];

		if (of->engine == SPREAD_UPDN ? hop->hops == least : of->least[hop->to] + 1 == least)
			ret[count++] = hop->num;
	}
	return count;
}

/* --- roots of updn --- */

/*
 * A root is a switch from which nine tenths of the HCAs are equally far, and no other distance has more than a
 * twentieth of them.
 */
static bool is_root(const uint32_t counts[HOPS_MAX], uint32_t ends)
{
	unsigned many = 0, some = 0;

	for (unsigned i = 0; i < HOPS_MAX; i++) {
		many += counts[i] > 0.9 * ends;
		some += counts[i] > 0.05 * ends;
	}
	return many == 1 && some == 1;
}

static void rank_below_roots(struct spreading *of)
{
	uint32_t head = 0, tail = 0;

	for (uint32_t i = 0; i < of->count; i++)
		if (!of->rank[i])
			of->queue[tail++] = i;
	while (head < tail) {
		uint32_t at = of->queue[head++];

		for (uint32_t i = 0; i < of->peer_count[at]; i++) {
			uint32_t next = of->peers[of->first[at] + i];

			if (of->rank[next] != NOWHERE)
				continue;
			of->rank[next] = of->rank[at] + 1;
			of->queue[tail++] = next;
		}
	}
}

/* Return: 0; ERR_IO: there is no root; ERR_NOMEM. */
static int find_roots(struct spreading *of, struct error *err)
{
	uint32_t (*counts)[HOPS_MAX] = calloc(of->count + 1, sizeof(*counts));
	uint32_t *ends = calloc(of->count + 1, sizeof(*ends)), roots = 0;

	of->rank = calloc(of->count + 1, sizeof(*of->rank));
	of->down = calloc(of->count + 1, sizeof(*of->down));
	of->queued = calloc(of->count + 1, sizeof(*of->queued));
	if (!counts || !ends || !of->rank || !of->down || !of->queued) {
		free(counts);
		free(ends);
		return err_nomem(err);
	}
	for (uint32_t i = 0; i < of->end_count; i++)
		ends[of->ends[i].at]++;
	for (uint32_t to = 0; to < of->count; to++) {
		if (!ends[to])
			continue;
		measure_minhop(of, to);
		for (uint32_t i = 0; i < of->count; i++)
			if (of->least[i] < HOPS_MAX)
				counts[i][of->least[i]] += ends[to];
	}
	for (uint32_t i = 0; i < of->count; i++) {
		of->rank[i] = is_root(counts[i], of->end_count) ? 0 : NOWHERE;
		roots += !of->rank[i];
	}
	free(counts);
	free(ends);
	if (!roots)
		return err_set(err, ERR_IO, "updn finds no root switch in this fabric");
	rank_below_roots(of);
	return 0;
}

/* --- assignment --- */

static uint32_t peer_node(const struct spreading *of, uint32_t at, uint8_t num)
{
	uint32_t port = fabric_node_port(of->fabric, of->nodes[at], num);

	return port == FABRIC_NONE || of->fabric->ports[port].peer == FABRIC_NONE ? FABRIC_NONE :
	       of->fabric->ports[of->fabric->ports[port].peer].node;
}

static bool same_box(const struct fabric *fabric, uint32_t a, uint32_t b)
{
	return a == b || (a != FABRIC_NONE && b != FABRIC_NONE && fabric->nodes[a].system_guid &&
			  fabric->nodes[a].system_guid == fabric->nodes[b].system_guid);
}

/* How often the earlier LIDs of a port go through the same switch (low byte), and through its box. */
static uint32_t count_earlier(const struct spreading *of, uint32_t at, const struct end *end, unsigned nth, uint8_t num)
{
	uint32_t here = peer_node(of, at, num), box = 0, node = 0;

	for (unsigned i = 0; i < nth; i++) {
		uint32_t other = peer_node(of, at, of->tables[at][end->lid + i]);

		box += same_box(of->fabric, here, other);
		node += here == other;
	}
	return (uint32_t)(box > 0) << 16 | (uint32_t)(node > 0) << 8 | node;
}

/* The port with the fewest LIDs of @count ports. */
static uint8_t pick(const struct spreading *of, uint32_t at, const uint8_t *ports, unsigned count)
{
	const uint32_t *given = of->given[at];
	uint8_t best = ports[0];

	for (unsigned i = 1; i < count; i++)
		if (given[ports[i]] < given[best])
			best = ports[i];
	return best;
}

/* The same of the further LIDs of a port: first a box, then a switch without any of its LIDs. */
static uint8_t pick_other(const struct spreading *of, uint32_t at, const struct end *end, unsigned nth,
			  const uint8_t *ports, unsigned count)
{
	unsigned begin = 0, best = 0;
	uint64_t lowest = UINT64_MAX;

	while (begin < count && ports[begin] <= of->tables[at][end->lid + nth - 1])
		begin++;
	for (unsigned i = 0; i < count; i++) {
		unsigned k = (begin + i) % count;
		uint32_t earlier = count_earlier(of, at, end, nth, ports[k]);
		uint64_t cost = (uint64_t)(earlier >> 8) << 40 | (uint64_t)of->given[at][ports[k]] << 8 |
				(earlier & 0xff);

		if (cost < lowest) {
			lowest = cost;
			best = k;
		}
	}
	return ports[best];
}

static uint8_t pick_kept(const struct spreading *of, uint32_t at, uint16_t lid, const uint8_t *ports, unsigned count)
{
	uint8_t num = of->kept ? routes_out_port(of->kept[at], lid) : ROUTES_NO_PORT;

	return num != ROUTES_NO_PORT && memchr(ports, num, count) ? num : ROUTES_NO_PORT;
}

static void assign(struct spreading *of, uint32_t at, const struct end *end, unsigned nth, const uint8_t *ports,
		   unsigned count)
{
	uint16_t lid = (uint16_t)(end->lid + nth);
	uint8_t num;

	if (at == end->at) {
		of->tables[at][lid] = end->num;
		return;
	}
	if (!count)
		return;
	num = pick_kept(of, at, lid, ports, count);
	if (num == ROUTES_NO_PORT)
		num = nth ? pick_other(of, at, end, nth, ports, count) : pick(of, at, ports, count);
	of->tables[at][lid] = num;
	of->given[at][num]++;
}

/*
 * The same for the first LIDs of adjacent ends, none of them kept: each port with the fewest LIDs gets one, in order of
 * number, until all have one more. Each pass over the ports assigns at least one LID.
 */
static void assign_run(struct spreading *of, uint32_t at, const struct end *end, const struct end *last,
		       const uint8_t *ports, unsigned count)
{
	uint32_t *given = of->given[at];

	while (count && end < last) {
		uint32_t fewest = given[pick(of, at, ports, count)];

		for (unsigned i = 0; i < count && end < last; i++) {
			if (given[ports[i]] != fewest)
				continue;
			of->tables[at][end++->lid] = ports[i];
			given[ports[i]]++;
		}
	}
}

static void measure(struct spreading *of, uint32_t to)
{
	(of->engine == SPREAD_UPDN ? measure_updn : measure_minhop)(of, to);
}

/* The ends of one switch are adjacent: their paths are searched once. */
static void assign_ends(struct spreading *of, unsigned nth)
{
	uint8_t ports[256];
	uint32_t next;

	for (uint32_t i = 0; i < of->end_count; i = next) {
		measure(of, of->ends[i].at);
		for (next = i; next < of->end_count && of->ends[next].at == of->ends[i].at;)
			next++;
		for (uint32_t at = 0; at < of->count; at++) {
			unsigned count = find_nearest(of, at, ports);

			if (!nth && !of->kept && at != of->ends[i].at) {
				assign_run(of, at, of->ends + i, of->ends + next, ports, count);
				continue;
			}
			for (uint32_t k = i; k < next; k++)
				if (nth < of->ends[k].lids)
					assign(of, at, &of->ends[k], nth, ports, count);
		}
	}
}

static void assign_switches(struct spreading *of)
{
	uint8_t ports[256];

	for (uint32_t to = 0; to < of->count; to++) {
		uint16_t lid = of->fabric->nodes[of->nodes[to]].lid;

		if (!lid || lid >= ROUTES_LIDS)
			continue;
		measure(of, to);
		for (uint32_t at = 0; at < of->count; at++) {
			unsigned count = find_nearest(of, at, ports);
			uint8_t num = pick_kept(of, at, lid, ports, count);

			if (at == to)
				of->tables[at][lid] = 0;
			else if (count)
				of->tables[at][lid] = num != ROUTES_NO_PORT ? num : pick(of, at, ports, count);
		}
	}
}

/* Empty tables of all switches, and those to keep. */
static int make_tables(struct spreading *of, const struct routes *keep)
{
	of->tables = calloc(of->count + 1, sizeof(*of->tables));
	of->given = calloc(of->count + 1, sizeof(*of->given));
	of->kept = keep ? calloc(of->count + 1, sizeof(*of->kept)) : NULL;
	of->least = calloc(of->count + 1, sizeof(*of->least));
	of->queue = calloc(of->count + 1, sizeof(*of->queue));
	if (!of->tables || !of->given || (keep && !of->kept) || !of->least || !of->queue)
		return ERR_NOMEM;
	for (uint32_t i = 0; i < of->count; i++)
		if (routes_size(of->routes, of->fabric->nodes[of->nodes[i]].guid, of->lids, NULL) < 0)
			return ERR_NOMEM;
	for (uint32_t i = 0; i < of->count; i++) {
		uint64_t guid = of->fabric->nodes[of->nodes[i]].guid;
		const struct route_table *table = routes_find(of->routes, guid);

		if (!table)
			continue;
		of->tables[i] = table->ports;
		for (uint32_t block = 0; block < table->lids / ROUTES_BLOCK; block++)
			table->read[block] = true;
		if (keep)
			of->kept[i] = routes_find(keep, guid);
	}
	return 0;
}

static void spreading_done(struct spreading *of)
{
	free(of->nodes);
	free(of->switch_of);
	free(of->hops);
	free(of->first);
	free(of->peers);
	free(of->peer_count);
	free(of->ends);
	free(of->tables);
	free(of->kept);
	free(of->given);
	free(of->least);
	free(of->queue);
	free(of->rank);
	free(of->down);
	free(of->queued);
}

int routes_spread(const struct fabric *fabric, enum spread_engine engine, const struct routes *keep, struct routes *ret,
		  struct error *err)
{
	struct routes routes = { 0 };
	struct spreading of = { .fabric = fabric, .engine = engine, .routes = &routes };
	int code = 0;

	if (number_switches(&of) < 0 || list_hops(&of) < 0 || order_ends(&of) < 0 || make_tables(&of, keep) < 0)
		code = err_nomem(err);
	if (code == 0 && engine == SPREAD_UPDN && of.lids)
		code = find_roots(&of, err);
	for (unsigned nth = 0; code == 0 && of.lids && nth < of.lids_most; nth++)
		assign_ends(&of, nth);
	if (code == 0 && of.lids)
		assign_switches(&of);
	spreading_done(&of);
	if (code < 0)
		routes_done(&routes);
	else
		*ret = routes;
	return code;
}

const char *spread_engine_name(enum spread_engine engine)
{
	return engine == SPREAD_UPDN ? "updn" : "minhop";
}
