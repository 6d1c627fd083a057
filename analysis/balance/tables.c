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
