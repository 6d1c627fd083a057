/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "view/order.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "fabric/fabric.h"
#include "fabric/names.h"

/* Room for the digits of a GUID in a name: " (", 16 digits, ")". */
#define DIGITS_SIZE 19

/* Sort key of a node. */
struct named_node {
	const char *name;
	uint64_t guid;
	uint32_t index;
};

static int compare_nodes(const void *a, const void *b)
{
	const struct named_node *left = a, *right = b;
	int by_name = names_compare(left->name, right->name);

	if (by_name)
		return by_name;
	return left->guid < right->guid ? -1 : left->guid > right->guid;
}

/* Hash of all that the ranks depend on; never 0. */
static uint64_t fingerprint_of(const struct fabric *fabric)
{
	uint64_t hash = map_mix(fabric->port_count);

	for (size_t i = 0; i < fabric->node_count; i++) {
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
	free(order->nodes);
	free(order->port_rank);
	free(order->name_columns);
	memset(order, 0, sizeof(*order));
}

static int make_names(struct order *order, const struct fabric *fabric, struct error *err)
{
	size_t size = 1;
	char *to;

	for (size_t i = 0; i < fabric->node_count; i++)
		size += strlen(fabric->nodes[i].name) + 1 + DIGITS_SIZE;
	order->names = calloc(fabric->node_count + 1, sizeof(*order->names));
	order->name_chars = to = malloc(size);
	order->name_columns = calloc(fabric->node_count + 1, sizeof(*order->name_columns));
	if (!order->names || !order->name_chars || !order->name_columns)
		return err_nomem(err);
	for (size_t i = 0; i < fabric->node_count; i++) {
		order->names[i] = to;
		to += names_short(fabric->nodes[i].name, to) + DIGITS_SIZE;
	}
	return 0;
}

/* Append the last digits of the GUIDs to @count equal names: 4, or as many as are needed. */
static void distinguish(struct order *order, const struct fabric *fabric, const struct named_node *equal,
			uint32_t count)
{
	unsigned digits = 4;

	for (uint32_t i = 1; i < count; i++)
		for (uint32_t j = 0; j < i; j++)
			while (digits < 16 && !((equal[i].guid ^ equal[j].guid) << (64 - 4 * digits)))
				digits++;
	for (uint32_t i = 0; i < count; i++) {
		char *name = order->names[equal[i].index];
		size_t len = strlen(name);

		order->equal_switches += fabric->nodes[equal[i].index].type == NODE_SWITCH;
		if (len + digits + 3 < NODE_NAME_SIZE)
			snprintf(name + len, DIGITS_SIZE + 1, " (%0*" PRIx64 ")", (int)digits,
				 digits < 16 ? equal[i].guid & ((UINT64_C(1) << 4 * digits) - 1) : equal[i].guid);
	}
}

static int make_ranks(struct order *order, const struct fabric *fabric, struct error *err)
{
	struct named_node *sorted = calloc(fabric->node_count + 1, sizeof(*sorted));
	uint32_t rank = 0, end;

	order->nodes = calloc(fabric->node_count + 1, sizeof(*order->nodes));
	order->port_rank = calloc(fabric->port_count + 1, sizeof(*order->port_rank));
	if (!sorted || !order->nodes || !order->port_rank) {
		free(sorted);
		return err_nomem(err);
	}
	for (uint32_t i = 0; i < fabric->node_count; i++)
		sorted[i] = (struct named_node){ order->names[i], fabric->nodes[i].guid, i };
	qsort(sorted, fabric->node_count, sizeof(*sorted), compare_nodes);
	for (uint32_t i = 0; i < fabric->node_count; i++) {
		const struct node *node = &fabric->nodes[sorted[i].index];

		order->nodes[i] = sorted[i].index;
		for (uint32_t port = 0; port < node->ports; port++)
			order->port_rank[node->first_port + port] = rank++;
	}
	for (uint32_t i = 0; i < fabric->node_count; i = end) {
		for (end = i + 1; end < fabric->node_count && !strcmp(sorted[end].name, sorted[i].name);)
			end++;
		if (end > i + 1)
			distinguish(order, fabric, sorted + i, end - i);
	}
	for (size_t i = 0; i < fabric->node_count; i++)
		order->name_columns[i] = (uint16_t)text_columns(order->names[i]);
	free(sorted);
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

char *order_port_name_of(const char *node, uint8_t num, char *ret)
{
	/* Called for each link while a filter is typed; snprintf() takes ten times as long. */
	size_t len = strnlen(node, NODE_NAME_SIZE - 1);

	memcpy(ret, node, len);
	ret += len;
	*ret++ = '/';
	if (num >= 100)
		*ret++ = (char)('0' + num / 100);
	if (num >= 10)
		*ret++ = (char)('0' + num / 10 % 10);
	*ret++ = (char)('0' + num % 10);
	*ret = '\0';
	return ret;
}

char *order_port_name(const struct order *order, const struct fabric *fabric, uint32_t index, char *ret)
{
	const struct port *port = &fabric->ports[index];

	return order_port_name_of(order->names[port->node], port->num, ret);
}
