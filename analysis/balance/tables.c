/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/balance/tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/balance.h"
#include "base/err.h"
#include "fabric/fabric.h"
#include "fabric/routes.h"
#include "fabric/shape.h"

/* In order of LID, so that tables are read sequentially. */
static void list_destinations(struct balance_tables *tables, const struct balance_input *input, const uint32_t *owners,
			      double coverage)
{
	const struct fabric *fabric = tables->fabric;
	size_t known = 0;

	for (uint32_t lid = 1; lid < ROUTES_LIDS; lid++) {
		struct balance_dest *dest = &tables->dests[tables->dest_count];
		double rate;

		if (!owners[lid])
			continue;
		dest->port = owners[lid] - 1;
		dest->lid = tables->lids[tables->dest_count] = (uint16_t)lid;
		rate = balance_port_rate(input, dest->port, false);
		known += !isnan(rate);
		dest->weight = isnan(rate) ? 0 : rate / (1 << (fabric->ports[dest->port].lmc & 7));
		tables->dest_count++;
	}
	tables->all_known = tables->dest_count && known == tables->dest_count;
	tables->weights_known = tables->dest_count && (double)known >= coverage * (double)tables->dest_count;
}

/* Owner of each LID: 1 + its port. */
static void find_owners(const struct fabric *fabric, uint32_t *owners)
{
	for (size_t i = 0; i < fabric->port_count; i++) {
		const struct port *port = &fabric->ports[i];
		uint32_t end = (uint32_t)port->lid + (1u << (port->lmc & 7));

		if (!routes_is_destination(fabric, port))
			continue;
		for (uint32_t lid = port->lid; lid < end && lid < ROUTES_LIDS; lid++)
			owners[lid] = (uint32_t)i + 1;
	}
}

/*
 * Sums by port of a switch. balance_evaluate() spends most of its time here, once for each switch and
 * destination, so count and weight are packed into one number: the count in the upper 16 bits
 * (there are fewer LIDs), the weight below as a share of the sum of all weights.
 */
#define WEIGHT_BITS 48
#define WEIGHT_MOST ((double)((1ULL << (WEIGHT_BITS - 1)) - ROUTES_LIDS))

static void count_switch(struct balance_tables *tables, const struct node *node, const struct route_table *table,
			 const uint64_t *parts, double unit)
{
	/*
	 * Alternate between two sums, so that consecutive additions to one port do not wait for
	 * each other.
	 */
	uint64_t sums[2][256] = { 0 };
	const struct fabric *fabric = tables->fabric;
	const uint16_t *lids = tables->lids;
	size_t i;

	for (i = 0; i + 1 < tables->dest_count && lids[i + 1] < table->lids; i += 2) {
		sums[0][table->ports[lids[i]]] += parts[i];
		sums[1][table->ports[lids[i + 1]]] += parts[i + 1];
	}
	for (; i < tables->dest_count && lids[i] < table->lids; i++)
		sums[0][table->ports[lids[i]]] += parts[i];
	for (i = node->first_port; i < node->first_port + node->ports; i++) {
		uint64_t sum = sums[0][fabric->ports[i].num] + sums[1][fabric->ports[i].num];

		tables->given[i].lids = (uint32_t)(sum >> WEIGHT_BITS);
		tables->given[i].weight = (double)(sum & ((1ULL << WEIGHT_BITS) - 1)) * unit;
	}
}

static int count_switches(struct balance_tables *tables, struct error *err)
{
	uint64_t *parts = calloc(tables->dest_count + 1, sizeof(*parts));
	const struct fabric *fabric = tables->fabric;
	double all = 0, unit;

	if (!parts)
		return err_nomem(err);
	for (size_t i = 0; i < tables->dest_count; i++)
		all += tables->dests[i].weight;
	unit = all > 0 ? all / WEIGHT_MOST : 1;
	for (size_t i = 0; i < tables->dest_count; i++)
		parts[i] = (1ULL << WEIGHT_BITS) + (uint64_t)(tables->dests[i].weight / unit);
	for (size_t i = 0; i < fabric->node_count; i++)
		if (tables->by_node[i])
			count_switch(tables, &fabric->nodes[i], tables->by_node[i], parts, unit);
	free(parts);
	return 0;
}

/*
 * Predicted load of each port from the forwarding tables of all switches. The table of one switch
 * does not show which of its destinations it actually forwards; that depends on the switches before
 * it. So the load of every switch with hosts is routed to every destination: not path by path, but
 * all loads to one destination that meet at a switch continue together, 64 destinations at a time,
 * whose table entries are adjacent.
 */

/*
 * One pass over all switches from the lowest tier up, and one back, covers every path of a
 * fat-tree. More passes cover links within a tier; load that is still on the way then is in a loop.
 */
enum { ROUNDS = 3 };

#define NOWHERE UINT32_MAX

/* Maximum number of switches times destinations; more would take too long for each window. */
#define BALANCE_STEPS_MOST 3000000

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

/* Set tables->carried; it stays NULL if weights are unknown or there are too many steps. */
static int balance_carry(struct balance_tables *tables, const struct shape *shape, const double *sent,
			 struct error *err)
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

int balance_tables_init(struct balance_tables *tables, const struct balance_input *input, const double *sent,
			double coverage, struct error *err)
{
	const struct fabric *fabric = input->shape->fabric;
	uint32_t *owners = calloc(ROUTES_LIDS, sizeof(*owners));

	*tables = (struct balance_tables){ .fabric = fabric };
	tables->dests = calloc(ROUTES_LIDS, sizeof(*tables->dests));
	tables->by_node = calloc(fabric->node_count + 1, sizeof(*tables->by_node));
	tables->given = calloc(fabric->port_count + 1, sizeof(*tables->given));
	tables->lids = calloc(ROUTES_LIDS, sizeof(*tables->lids));
	if (!owners || !tables->dests || !tables->lids || !tables->by_node || !tables->given) {
		free(owners);
		balance_tables_done(tables);
		return err_nomem(err);
	}
	find_owners(fabric, owners);
	list_destinations(tables, input, owners, coverage);
	free(owners);
	if (!input->routes)
		return 0;
	for (size_t i = 0; i < fabric->node_count; i++)
		if (fabric->nodes[i].type == NODE_SWITCH)
			tables->by_node[i] = routes_find(input->routes, fabric->nodes[i].guid);
	if (count_switches(tables, err) < 0 || balance_carry(tables, input->shape, sent, err) < 0) {
		balance_tables_done(tables);
		return ERR_NOMEM;
	}
	return 0;
}

void balance_tables_done(struct balance_tables *tables)
{
	free(tables->dests);
	free(tables->lids);
	free(tables->by_node);
	free(tables->given);
	free(tables->carried);
	memset(tables, 0, sizeof(*tables));
}
