/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/order.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "fabric/fabric.h"
#include "fabric/names.h"

/* A node while nodes are being ordered. */
struct named_node {
	const char *name;
	const struct node *node;
};

static int compare_nodes(const void *a, const void *b)
{
	const struct named_node *node_a = a, *node_b = b;
	int difference = names_compare(node_a->name, node_b->name);

	if (difference)
		return difference;
	return node_a->node->guid < node_b->node->guid ? -1 : node_a->node->guid > node_b->node->guid;
}

/* All that the ranks depend on, folded into 64 bits. */
static uint64_t fingerprint_of(const struct fabric *fabric)
{
	uint64_t hash = map_mix(fabric->port_count);
	size_t i;

	for (i = 0; i < fabric->node_count; i++) {
		const struct node *node = &fabric->nodes[i];
		const char *name;

		hash = map_mix(hash ^ node->guid) + node->ports;
		for (name = node->name; *name; name++)
			hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
	}
	return hash ? hash : 1;
}

void order_done(struct order *order)
{
	free(order->names);
	free(order->name_chars);
	free(order->port_rank);
	free(order->name_columns);
	memset(order, 0, sizeof(*order));
}

static int make_names(struct order *order, const struct fabric *fabric, struct error *err)
{
	size_t size = 1, i;
	char *to;

	for (i = 0; i < fabric->node_count; i++)
		size += strlen(fabric->nodes[i].name) + 1;
	order->names = calloc(fabric->node_count + 1, sizeof(*order->names));
	order->name_chars = to = malloc(size);
	order->name_columns = calloc(fabric->node_count + 1, sizeof(*order->name_columns));
	if (!order->names || !order->name_chars || !order->name_columns)
		return err_nomem(err);
	for (i = 0; i < fabric->node_count; i++) {
		order->names[i] = to;
		to += names_short(fabric->nodes[i].name, to);
		order->name_columns[i] = (uint16_t)text_columns(order->names[i]);
	}
	return 0;
}

static int make_ranks(struct order *order, const struct fabric *fabric, struct error *err)
{
	struct named_node *nodes = calloc(fabric->node_count + 1, sizeof(*nodes));
	uint32_t rank = 0, port;
	size_t i;

	order->port_rank = calloc(fabric->port_count + 1, sizeof(*order->port_rank));
	if (!nodes || !order->port_rank) {
		free(nodes);
		return err_nomem(err);
	}
	for (i = 0; i < fabric->node_count; i++)
		nodes[i] = (struct named_node){ order->names[i], &fabric->nodes[i] };
	qsort(nodes, fabric->node_count, sizeof(*nodes), compare_nodes);
	for (i = 0; i < fabric->node_count; i++)
		for (port = 0; port < nodes[i].node->ports; port++)
			order->port_rank[nodes[i].node->first_port + port] = rank++;
	free(nodes);
	return 0;
}

int order_names(struct order *order, const struct fabric *fabric, struct error *err)
{
	uint64_t fingerprint = fingerprint_of(fabric);
	int status;

	if (order->fingerprint == fingerprint)
		return 0;
	order_done(order);
	status = make_names(order, fabric, err);
	if (!status)
		status = make_ranks(order, fabric, err);
	if (status)
		order_done(order);
	else
		order->fingerprint = fingerprint;
	return status;
}
