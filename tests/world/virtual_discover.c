/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* virtual_discover.c - the topology as discovered, and the counters of a port */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "fabric/fabric.h"
#include "sim/traffic.h"
#include "tests/world/virtual_state.h"

/* The nodes that a discovery reaches over Active links. */
static bool *find_reached(const struct virtual *world)
{
	const struct fabric *built = world->built;
	bool *reached = calloc(built->node_count + 1, sizeof(*reached));
	uint32_t *queue = calloc(built->node_count + 1, sizeof(*queue));
	size_t head = 0, tail = 0;

	if (!reached || !queue) {
		free(queue);
		free(reached);
		return NULL;
	}
	queue[tail++] = built->from_node == FABRIC_NONE ? 0 : built->from_node;
	reached[queue[0]] = true;
	while (head < tail) {
		const struct node *node = &built->nodes[queue[head++]];

		for (uint32_t i = node->first_port; i < node->first_port + node->ports; i++) {
			uint32_t peer = built->ports[i].peer;

			if (peer == FABRIC_NONE || built->ports[i].state < PORT_INIT ||
			    reached[built->ports[peer].node] || world->agents[built->ports[peer].node].hidden)
				continue;
			reached[built->ports[peer].node] = true;
			queue[tail++] = built->ports[peer].node;
		}
	}
	free(queue);
	return reached;
}

static int add_nodes(const struct virtual *world, const bool *reached, struct fabric *found, uint32_t *index_of,
		     struct error *err)
{
	const struct fabric *built = world->built;
	uint32_t j;

	for (uint32_t i = 0; i < built->node_count; i++) {
		const struct node *node = &built->nodes[i];
		struct node added = *node;
		int64_t index;

		if (!reached[i])
			continue;
		if (world->agents[i].desc_lost)
			memset(added.desc, 0, sizeof(added.desc));
		index = fabric_add_node(found, &added, err);
		if (index < 0)
			return (int)index;
		if (i == built->from_node)
			found->from_node = (uint32_t)index;
		for (j = node->first_port; j < node->first_port + node->ports && !world->agents[i].ports_lost; j++) {
			index = fabric_add_port(found, &built->ports[j], err);
			if (index < 0)
				return (int)index;
			index_of[j] = (uint32_t)index;
		}
	}
	return 0;
}

static int link_ports(const struct fabric *built, const uint32_t *index_of, struct fabric *found, struct error *err)
{
	for (uint32_t i = 0; i < built->port_count; i++) {
		uint32_t peer = built->ports[i].peer;

		if (peer == FABRIC_NONE || peer < i || index_of[i] == FABRIC_NONE || index_of[peer] == FABRIC_NONE ||
		    built->ports[i].state < PORT_INIT)
			continue;
		if (fabric_link(found, index_of[i], index_of[peer], err) < 0)
			return ERR_IO;
	}
	return 0;
}

int virtual_discover(struct virtual *world, struct fabric **ret, struct error *err)
{
	const struct fabric *built = world->built;
	struct fabric *found = fabric_create(err);
	bool *reached = find_reached(world);
	uint32_t *index_of = malloc((built->port_count + 1) * sizeof(*index_of));
	int code = ERR_NOMEM;

	if (found && reached && index_of) {
		memset(index_of, 0xff, (built->port_count + 1) * sizeof(*index_of));
		found->from_port = built->from_port;
		code = add_nodes(world, reached, found, index_of, err);
		if (code == 0)
			code = link_ports(built, index_of, found, err);
		if (code == 0)
			code = fabric_finish(found, NULL, err);
	} else {
		err_nomem(err);
	}
	free(index_of);
	free(reached);
	if (code < 0)
		fabric_destroy(found);
	else
		*ret = found;
	return code;
}

/* A reading just after a reset is at least 0. */
static uint64_t units(double bits, double bits_per_unit)
{
	return bits > 0 ? (uint64_t)(bits / bits_per_unit) : 0;
}

void virtual_read_port(struct virtual *world, uint32_t port, int64_t at_us, uint64_t ret[COUNTER_COUNT])
{
	const struct virtual_port *own = &world->ports[port];
	uint32_t peer = world->built->ports[port].peer;
	double ahead_s = (double)(at_us - world->now_us) / 1e6;
	double rcv_rate = peer == FABRIC_NONE ? 0 : world->ports[peer].rate;
	double sent = own->xmit + own->rate * ahead_s - own->zero_xmit;
	double received = own->rcv + rcv_rate * ahead_s - own->zero_rcv;
	double waited = own->wait + own->wait_rate * ahead_s - own->zero_wait;

	if (at_us > world->read_us)
		world->read_us = at_us;
	memset(ret, 0, COUNTER_COUNT * sizeof(*ret));
	ret[COUNTER_XMIT_DATA] = units(sent, 32);
	ret[COUNTER_RCV_DATA] = units(received, 32);
	ret[COUNTER_XMIT_PACKETS] = ret[COUNTER_UNICAST_XMIT_PACKETS] = units(sent, TRAFFIC_PACKET_BITS);
	ret[COUNTER_RCV_PACKETS] = ret[COUNTER_UNICAST_RCV_PACKETS] = units(received, TRAFFIC_PACKET_BITS);
	ret[COUNTER_XMIT_WAIT] = units(waited, TRAFFIC_TICK_BITS);
	for (unsigned i = 0; i < VIRTUAL_ERRORS; i++)
		ret[COUNTER_TRAFFIC_COUNT + i] = own->errors[i] - own->zero_errors[i];
}
