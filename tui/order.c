/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/rate.h"
#include "base/err.h"
#include "fabric/fabric.h"
#include "fabric/names.h"
#include "storage/reader.h"
#include "tui/table.h"

struct order_entry {
	double key;
	uint64_t tie;
	uint32_t port;
};

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
	free(order->entries);
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
	if (!order->names || !order->name_chars)
		return err_nomem(err);
	for (i = 0; i < fabric->node_count; i++) {
		order->names[i] = to;
		to += names_short(fabric->nodes[i].name, to);
	}
	return 0;
}

static int make_ranks(struct order *order, const struct fabric *fabric, struct error *err)
{
	struct named_node *nodes = calloc(fabric->node_count + 1, sizeof(*nodes));
	uint32_t rank = 0, port;
	size_t i;

	order->port_rank = calloc(fabric->port_count + 1, sizeof(*order->port_rank));
	order->entries = calloc(fabric->port_count + 1, sizeof(*order->entries));
	if (!nodes || !order->port_rank || !order->entries) {
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

/* The number that a row is ordered by; NAN where it is not known. */
static double key_of(const struct table *table, uint32_t index)
{
	const struct row_view *view = &table->views[index];
	const struct fabric *fabric = table->snapshot->fabric;
	const struct port *port = &fabric->ports[index];
	const struct delta *sum = &table->snapshot->rows[index].sum;
	uint64_t rate;

	switch (table->sort) {
	case COLUMN_PORT:
		return view->port_rank;
	case COLUMN_PEER:
		return port->peer == FABRIC_NONE ? NAN : view->peer_rank;
	case COLUMN_STATUS:
		return view->word;
	case COLUMN_STATE:
		return port->state * 16 + port->phys_state;
	case COLUMN_LINK:
		rate = port_rate_bits_per_s(port);
		return rate ? (double)rate : NAN;
	case COLUMN_XMIT:
		return view->xmit_bytes_per_s;
	case COLUMN_RCV:
		return view->rcv_bytes_per_s;
	case COLUMN_XMIT_PERCENT:
	case COLUMN_XMIT_BAR:
		return view->xmit_percent;
	case COLUMN_RCV_PERCENT:
	case COLUMN_RCV_BAR:
		return view->rcv_percent;
	case COLUMN_XMIT_PACKETS:
		return rate_per_s(sum, COUNTER_XMIT_PACKETS);
	case COLUMN_RCV_PACKETS:
		return rate_per_s(sum, COUNTER_RCV_PACKETS);
	case COLUMN_STALL:
		return view->stall_percent;
	case COLUMN_WAIT:
		return rate_per_s(sum, COUNTER_XMIT_WAIT);
	case COLUMN_ERRORS:
	case COLUMN_WHICH_ERRORS:
		return view->errors;
	case COLUMN_AGE:
		return view->last_wall_us ? -(double)view->last_wall_us : NAN;
	case COLUMN_LID:
		return fabric_port_lid(fabric, port);
	case COLUMN_GUID:
		return 0; /* 64 bits do not fit: it is the tie */
	default:
		return NAN;
	}
}

static int compare_entries(const void *a, const void *b)
{
	const struct order_entry *entry_a = a, *entry_b = b;

	if (entry_a->key != entry_b->key)
		return entry_a->key < entry_b->key ? -1 : 1;
	if (entry_a->tie != entry_b->tie)
		return entry_a->tie < entry_b->tie ? -1 : 1;
	return entry_a->port < entry_b->port ? -1 : entry_a->port > entry_b->port;
}

void order_rows(struct table *table)
{
	const struct fabric *fabric = table->snapshot->fabric;
	struct order_entry *entries = table->order.entries;
	size_t i;

	for (i = 0; i < table->row_count; i++) {
		uint32_t index = table->rows[i];
		double key = key_of(table, index);

		if (isnan(key))
			key = INFINITY;
		else if (table->descending)
			key = -key;
		entries[i] = (struct order_entry){ key, table->views[index].port_rank, index };
		if (table->sort == COLUMN_GUID) {
			uint64_t guid = fabric->nodes[fabric->ports[index].node].guid;

			entries[i].tie = table->descending ? ~guid : guid;
		}
	}
	qsort(entries, table->row_count, sizeof(*entries), compare_entries);
	for (i = 0; i < table->row_count; i++)
		table->rows[i] = entries[i].port;
}
