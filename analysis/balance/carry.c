/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Predicted load of each port from the forwarding tables of all switches
 *
 * The table of one switch does not show which of its destinations it actually forwards; that
 * depends on the switches before it. So the load of every switch with hosts is routed to every
 * destination: not path by path, but all loads to one destination that meet at a switch continue
 * together, 64 destinations at a time, whose table entries are adjacent.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/balance/tables.h"
#include "base/err.h"
#include "fabric/fabric.h"
#include "fabric/routes.h"
#include "fabric/shape.h"

/*
 * One pass over all switches from the lowest tier up, and one back, covers every path of a
 * fat-tree. More passes cover links within a tier; load that is still on the way then is in a loop.
 */
enum { ROUNDS = 3 };

#define NOWHERE UINT32_MAX

struct carrying {
	struct balance_tables *tables;
	const struct fabric *fabric;
	uint32_t *order;                   /* switches from the lowest tier up */
	size_t switches;
	uint32_t *place;                   /* by node: index in order; NOWHERE: not a switch */
	uint32_t *next;                    /* by port: index of the switch that it leads to, or NOWHERE */
	uint8_t *nums;                     /* by port: its number */
	double (*amounts)[ROUTES_BLOCK];   /* by index, and by destination of the current block */
	bool *busy;                        /* by index: it has load to forward */
	const struct balance_dest *dests;  /* of the current block */
	size_t count;
	uint32_t goals[ROUTES_BLOCK];      /* by destination: index of its switch */
};

/*
 * Forward the load of one switch. Most of the time is spent here, so only small arrays are
 * accessed.
 */
static void visit(struct carrying *carrying, size_t at)
{
	uint32_t node = carrying->order[at];
	const struct route_table *table = carrying->tables->by_node[node];
	const struct node *owner = &carrying->fabric->nodes[node];
	double *amounts = carrying->amounts[at];
	uint32_t ports[256];

	memset(ports, 0xff, sizeof(ports));
	for (uint32_t j = owner->first_port; j < owner->first_port + owner->ports; j++)
		ports[carrying->nums[j]] = j;
	ports[ROUTES_NO_PORT] = FABRIC_NONE;
	carrying->busy[at] = false;
	for (size_t i = 0; i < carrying->count; i++) {
		double amount = amounts[i];
		uint16_t lid = carrying->dests[i].lid;
		uint32_t port, next;

		if (!(amount > 0))
			continue;
		amounts[i] = 0;
		if (!table || lid >= table->lids)
			continue;
		port = ports[table->ports[lid]];
		if (port == FABRIC_NONE)
			continue;
		carrying->tables->carried[port] += amount;
		next = carrying->next[port];
		if (next == carrying->goals[i] || next == NOWHERE)
			continue;
		carrying->amounts[next][i] += amount;
		carrying->busy[next] = true;
	}
}

static void carry_block(struct carrying *carrying, const double *sent)
{
	for (size_t i = 0; i < carrying->count; i++)
		carrying->goals[i] = carrying->next[carrying->dests[i].port];
	for (size_t at = 0; at < carrying->switches; at++) {
		double here = sent[carrying->order[at]];

		carrying->busy[at] = here > 0;
		for (size_t i = 0; here > 0 && i < carrying->count; i++)
			carrying->amounts[at][i] = at == carrying->goals[i] ? 0 : here * carrying->dests[i].weight;
	}
	for (int round = 0; round < ROUNDS; round++) {
		for (size_t at = 0; at < carrying->switches; at++)
			if (carrying->busy[at])
				visit(carrying, at);
		for (size_t at = carrying->switches; at-- > 0;)
			if (carrying->busy[at])
				visit(carrying, at);
	}
}

/* By tier; irregular switches (tier 0) last. */
static void sort_switches(struct carrying *carrying, const struct shape *shape)
{
	const struct fabric *fabric = carrying->fabric;

	memset(carrying->place, 0xff, fabric->node_count * sizeof(*carrying->place));

	for (unsigned tier = 1; tier <= UINT8_MAX + 1; tier++) {
		for (size_t node = 0; node < fabric->node_count; node++) {
			if (fabric->nodes[node].type != NODE_SWITCH ||
			    shape->nodes[node].tier != (tier > UINT8_MAX ? 0 : tier))
				continue;
			carrying->place[node] = (uint32_t)carrying->switches;
			carrying->order[carrying->switches++] = (uint32_t)node;
		}
		if (tier == shape->tier_count)
			tier = UINT8_MAX;
	}
	for (size_t i = 0; i < fabric->port_count; i++) {
		carrying->nums[i] = fabric->ports[i].num;
		carrying->next[i] = fabric->ports[i].peer == FABRIC_NONE ? NOWHERE :
				    carrying->place[fabric->ports[fabric->ports[i].peer].node];
	}
}

static void carry_all(struct carrying *carrying, const double *sent)
{
	const struct balance_tables *tables = carrying->tables;
	size_t next;

	for (size_t first = 0; first < tables->dest_count; first = next) {
		for (next = first; next < tables->dest_count &&
		     tables->lids[next] / ROUTES_BLOCK == tables->lids[first] / ROUTES_BLOCK;)
			next++;
		carrying->dests = tables->dests + first;
		carrying->count = next - first;
		carry_block(carrying, sent);
	}
}

int balance_carry(struct balance_tables *tables, const struct shape *shape, const double *sent, struct error *err)
{
	const struct fabric *fabric = tables->fabric;
	struct carrying carrying = { .tables = tables, .fabric = fabric };
	size_t switches = 0;
	int code = 0;

	for (size_t node = 0; node < fabric->node_count; node++)
		switches += fabric->nodes[node].type == NODE_SWITCH;
	if (!tables->weights_known || !switches || tables->dest_count > BALANCE_STEPS_MOST / switches)
		return 0;
	carrying.order = calloc(switches, sizeof(*carrying.order));
	carrying.place = calloc(fabric->node_count, sizeof(*carrying.place));
	carrying.next = calloc(fabric->port_count + 1, sizeof(*carrying.next));
	carrying.nums = calloc(fabric->port_count + 1, sizeof(*carrying.nums));
	carrying.amounts = calloc(switches, sizeof(*carrying.amounts));
	carrying.busy = calloc(switches, sizeof(*carrying.busy));
	tables->carried = calloc(fabric->port_count + 1, sizeof(*tables->carried));
	if (carrying.order && carrying.place && carrying.next && carrying.nums && carrying.amounts && carrying.busy &&
	    tables->carried) {
		sort_switches(&carrying, shape);
		carry_all(&carrying, sent);
	} else {
		code = err_nomem(err);
	}
	free(carrying.order);
	free(carrying.place);
	free(carrying.next);
	free(carrying.nums);
	free(carrying.amounts);
	free(carrying.busy);
	return code;
}
