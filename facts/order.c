/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "facts/order.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "fabric/fabric.h"

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
	names_done(&order->own);
	free(order->port_rank);
	free(order->name_columns);
	memset(order, 0, sizeof(*order));
}

static int make_ranks(struct order *order, const struct fabric *fabric, struct error *err)
{
	uint32_t rank = 0;

	if (names_show(&order->own, fabric, err) < 0)
		return ERR_NOMEM;
	order->names = order->own.shown;
	order->nodes = order->own.sorted;
	order->equal_switches = order->own.equal_switches;
	order->port_rank = calloc(fabric->port_count + 1, sizeof(*order->port_rank));
	order->name_columns = calloc(fabric->node_count + 1, sizeof(*order->name_columns));
	if (!order->port_rank || !order->name_columns)
		return err_nomem(err);
	for (uint32_t i = 0; i < fabric->node_count; i++) {
		const struct node *node = &fabric->nodes[order->nodes[i]];

		for (uint32_t port = 0; port < node->ports; port++)
			order->port_rank[node->first_port + port] = rank++;
		order->name_columns[i] = (uint16_t)text_columns(order->names[i]);
	}
	return 0;
}

int order_names(struct order *order, const struct fabric *fabric, struct error *err)
{
	uint64_t fingerprint = fingerprint_of(fabric);
	int status;

	if (order->fingerprint == fingerprint)
		return 0;
	order_done(order);
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
