/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tests/world/spread.h"

#include <stdlib.h>
#include <string.h>

#include "fabric/fabric.h"
#include "tests/world/virtual.h"

uint32_t spread_lids(struct fabric *fabric)
{
	uint32_t lid = 0;

	for (size_t i = 0; i < fabric->port_count; i++)
		if (fabric->nodes[fabric->ports[i].node].type != NODE_SWITCH)
			fabric->ports[i].lid = (uint16_t)++lid;
	for (size_t i = 0; i < fabric->node_count; i++) {
		struct node *node = &fabric->nodes[i];
		uint32_t zero = fabric_node_port(fabric, (uint32_t)i, 0);

		if (node->type != NODE_SWITCH)
			continue;
		node->lid = (uint16_t)++lid;
		if (zero != FABRIC_NONE)
			fabric->ports[zero].lid = node->lid;
	}
	for (size_t i = 0; i < fabric->node_count; i++)
		if (fabric->nodes[i].type == NODE_SWITCH)
			fabric->nodes[i].lft_top = (uint16_t)lid;
	return lid + 1;
}

static void number_switches(struct spread *spread, const struct fabric *fabric)
{
	if (spread->switch_of)
		return;
	spread->switch_of = virtual_alloc(fabric->node_count, sizeof(*spread->switch_of));
	spread->nodes = virtual_alloc(fabric->node_count, sizeof(*spread->nodes));
	for (uint32_t i = 0; i < fabric->node_count; i++) {
		spread->switch_of[i] = UINT32_MAX;
		if (fabric->nodes[i].type != NODE_SWITCH)
			continue;
		spread->nodes[spread->count] = i;
		spread->switch_of[i] = spread->count++;
	}
	spread->hops = virtual_alloc((size_t)spread->count * spread->count, 1);
}

/* The number of the switch at the other end of an Active link; UINT32_MAX: none. */
static uint32_t next_switch(const struct spread *spread, const struct fabric *fabric, uint32_t port)
{
	uint32_t peer = fabric->ports[port].peer;

	if (fabric->ports[port].state != PORT_ACTIVE || peer == FABRIC_NONE ||
	    fabric->ports[peer].state != PORT_ACTIVE)
		return UINT32_MAX;
	return spread->switch_of[fabric->ports[peer].node];
}

static void measure_from(const struct spread *spread, const struct fabric *fabric, uint32_t from, uint32_t *queue)
{
	uint8_t *hops = spread->hops + (size_t)from * spread->count;
	size_t head = 0, tail = 0;

	memset(hops, SPREAD_FAR, spread->count);
	hops[from] = 0;
	queue[tail++] = from;
	while (head < tail) {
		uint32_t at = queue[head++];
		const struct node *node = &fabric->nodes[spread->nodes[at]];

		for (uint32_t i = node->first_port; i < node->first_port + node->ports; i++) {
			uint32_t next = next_switch(spread, fabric, i);

			if (next == UINT32_MAX || hops[next] != SPREAD_FAR || hops[at] + 1 >= SPREAD_FAR)
				continue;
			hops[next] = (uint8_t)(hops[at] + 1);
			queue[tail++] = next;
		}
	}
}

void spread_measure(struct spread *spread, const struct fabric *fabric)
{
	uint32_t *queue;

	number_switches(spread, fabric);
	queue = virtual_alloc(spread->count, sizeof(*queue));
	for (uint32_t i = 0; i < spread->count; i++)
		measure_from(spread, fabric, i, queue);
	free(queue);
}

bool spread_nearer(const struct spread *spread, const struct fabric *fabric, uint32_t port, uint32_t to)
{
	uint32_t next = next_switch(spread, fabric, port), from = spread->switch_of[fabric->ports[port].node];
	const uint8_t *hops = spread->hops + (size_t)spread->switch_of[to] * spread->count;

	return next != UINT32_MAX && hops[from] != SPREAD_FAR && hops[next] + 1 == hops[from];
}

/* Ports of the current switch on shortest paths to another switch. */
struct near {
	uint8_t ports[255];
	uint8_t count;
};

struct filling {
	const struct spread *spread;
	const struct fabric *fabric;
	uint32_t order;
	struct near *near;       /* by number of the other switch */
	uint32_t given[256];     /* LIDs assigned to a port so far */
};

static void find_near(struct filling *filling, uint32_t node, uint32_t to)
{
	const struct node *owner = &filling->fabric->nodes[node];
	struct near *near = &filling->near[to];

	near->count = 0;
	for (uint32_t i = owner->first_port; i < owner->first_port + owner->ports; i++)
		if (filling->fabric->ports[i].num &&
		    spread_nearer(filling->spread, filling->fabric, i, filling->spread->nodes[to]))
			near->ports[near->count++] = filling->fabric->ports[i].num;
}

static uint8_t pick(struct filling *filling, uint32_t to, bool counts)
{
	const struct near *near = &filling->near[to];
	unsigned best = 0;

	if (!near->count)
		return ROUTES_NO_PORT;
	for (unsigned i = 0; i < near->count; i++) {
		unsigned at = (i + filling->order) % near->count;

		if (i == 0 || filling->given[near->ports[at]] < filling->given[near->ports[best]])
			best = at;
	}
	if (counts)
		filling->given[near->ports[best]]++;
	return near->ports[best];
}

/* Write the entry for the HCA on a switch's port, if there is one. */
static void fill_entry(struct filling *filling, uint32_t node, uint32_t to, uint32_t port, uint8_t *table)
{
	const struct port *p = &filling->fabric->ports[port];
	uint16_t lid = p->peer == FABRIC_NONE ? 0 : filling->fabric->ports[p->peer].lid;

	if (!p->num || !lid || p->state != PORT_ACTIVE)
		return;
	table[lid] = filling->spread->nodes[to] == node ? p->num : pick(filling, to, true);
}

static bool has_hosts(const struct fabric *fabric, uint32_t node)
{
	const struct node *owner = &fabric->nodes[node];

	for (uint32_t i = owner->first_port; i < owner->first_port + owner->ports; i++)
		if (fabric->ports[i].peer != FABRIC_NONE &&
		    fabric->nodes[fabric->ports[fabric->ports[i].peer].node].type != NODE_SWITCH)
			return true;
	return false;
}

/*
 * Leafs assign the HCAs of one leaf after the other, so a spine gets traffic for the same few HCAs of each leaf.
 * Switches above therefore assign the first HCA of each leaf, then the second; otherwise the traffic that arrives
 * at a spine would leave by the same ports.
 */
static void fill_table(struct filling *filling, uint32_t node, uint8_t *table)
{
	const struct fabric *fabric = filling->fabric;
	const struct spread *spread = filling->spread;
	uint32_t most = 0;

	memset(filling->given, 0, sizeof(filling->given));
	for (uint32_t to = 0; to < spread->count; to++) {
		const struct node *other = &fabric->nodes[spread->nodes[to]];

		find_near(filling, node, to);
		table[other->lid] = spread->nodes[to] == node ? 0 : pick(filling, to, false);
		most = other->ports > most ? other->ports : most;
	}
	if (has_hosts(fabric, node)) {
		for (uint32_t to = 0; to < spread->count; to++)
			for (uint32_t i = 0; i < fabric->nodes[spread->nodes[to]].ports; i++)
				fill_entry(filling, node, to, fabric->nodes[spread->nodes[to]].first_port + i, table);
		return;
	}
	for (uint32_t i = 0; i < most; i++)
		for (uint32_t to = 0; to < spread->count; to++)
			if (i < fabric->nodes[spread->nodes[to]].ports)
				fill_entry(filling, node, to, fabric->nodes[spread->nodes[to]].first_port + i, table);
}

uint8_t *spread_table(struct routes *routes, uint64_t node_guid)
{
	uint32_t at;

	return map_get(&routes->by_guid, node_guid, &at) ? routes->tables[at].ports : NULL;
}

void spread_tables(const struct spread *spread, const struct fabric *fabric, uint32_t lids, uint32_t order,
		   struct routes *ret)
{
	struct filling filling = { .spread = spread, .fabric = fabric, .order = order,
				   .near = virtual_alloc(spread->count, sizeof(*filling.near)) };
	uint32_t blocks = (lids + ROUTES_BLOCK - 1) / ROUTES_BLOCK;
	uint8_t *table = virtual_alloc((size_t)blocks * ROUTES_BLOCK, 1);

	for (uint32_t i = 0; i < spread->count; i++) {
		memset(table, ROUTES_NO_PORT, (size_t)blocks * ROUTES_BLOCK);
		fill_table(&filling, spread->nodes[i], table);
		for (uint32_t block = 0; block < blocks; block++)
			if (routes_set_block(ret, fabric->nodes[spread->nodes[i]].guid, block,
					     table + (size_t)block * ROUTES_BLOCK, NULL, NULL) < 0)
				abort();
	}
	free(filling.near);
	free(table);
}

void spread_done(struct spread *spread)
{
	free(spread->switch_of);
	free(spread->nodes);
	free(spread->hops);
	memset(spread, 0, sizeof(*spread));
}
