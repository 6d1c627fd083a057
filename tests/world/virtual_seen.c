/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* virtual_seen.c - what a collector gets to see of a virtual fabric */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "fabric/fabric.h"
#include "tests/world/virtual_state.h"

#define BOOT_BEGIN_US INT64_C(3600000000)

/* One answer in so many comes after the sweep's end. */
#define LATE_ONE_IN 200000

/* HCAs have 64-bit counters for traffic alone; switches for errors too. */
#define WIDE_OF_HCA (COUNTER_TRAFFIC_SET & ~COUNTER_BIT(COUNTER_XMIT_WAIT))

/* Which nodes a discovery reaches from where it begins: over links that are up. */
static bool *find_reached(const struct virtual *world)
{
	const struct fabric *built = world->built;
	bool *reached = calloc(built->node_count + 1, sizeof(*reached));
	uint32_t *queue = calloc(built->node_count + 1, sizeof(*queue));
	size_t head = 0, tail = 0;
	uint32_t i;

	if (!reached || !queue) {
		free(queue);
		free(reached);
		return NULL;
	}
	queue[tail++] = built->from_node == FABRIC_NONE ? 0 : built->from_node;
	reached[queue[0]] = true;
	while (head < tail) {
		const struct node *node = &built->nodes[queue[head++]];

		for (i = node->first_port; i < node->first_port + node->ports; i++) {
			uint32_t peer = built->ports[i].peer;

			if (peer == FABRIC_NONE || built->ports[i].state != PORT_ACTIVE ||
			    reached[built->ports[peer].node])
				continue;
			reached[built->ports[peer].node] = true;
			queue[tail++] = built->ports[peer].node;
		}
	}
	free(queue);
	return reached;
}

static int add_nodes(struct virtual *world, const bool *reached, struct fabric *seen, uint32_t *seen_of,
		     struct error *err)
{
	const struct fabric *built = world->built;
	uint32_t i, j;

	for (i = 0; i < built->node_count; i++) {
		const struct node *node = &built->nodes[i];
		int64_t index;

		if (!reached[i])
			continue;
		index = fabric_add_node(seen, node, err);
		if (index < 0)
			return (int)index;
		if (i == built->from_node)
			seen->from_node = (uint32_t)index;
		for (j = node->first_port; j < node->first_port + node->ports; j++) {
			index = fabric_add_port(seen, &built->ports[j], err);
			if (index < 0)
				return (int)index;
			seen_of[j] = (uint32_t)index;
			world->built_of[index] = j;
		}
	}
	return 0;
}

static int link_ports(const struct fabric *built, const uint32_t *seen_of, struct fabric *seen, struct error *err)
{
	uint32_t i;

	for (i = 0; i < built->port_count; i++) {
		uint32_t peer = built->ports[i].peer;

		if (peer == FABRIC_NONE || peer < i || seen_of[i] == FABRIC_NONE || seen_of[peer] == FABRIC_NONE ||
		    built->ports[i].state != PORT_ACTIVE)
			continue;
		if (fabric_link(seen, seen_of[i], seen_of[peer], err) < 0)
			return ERR_IO;
	}
	return 0;
}

int virtual_discover(struct virtual *world, struct error *err)
{
	const struct fabric *built = world->built;
	struct fabric *seen = fabric_create(err);
	bool *reached = find_reached(world);
	uint32_t *seen_of = malloc((built->port_count + 1) * sizeof(*seen_of));
	int code = ERR_NOMEM;

	if (!world->built_of)
		world->built_of = calloc(built->port_count + 1, sizeof(*world->built_of));
	if (seen && reached && seen_of && world->built_of) {
		memset(seen_of, 0xff, (built->port_count + 1) * sizeof(*seen_of));
		seen->from_port = built->from_port;
		code = add_nodes(world, reached, seen, seen_of, err);
		if (code == 0)
			code = link_ports(built, seen_of, seen, err);
		if (code == 0)
			code = fabric_finish(seen, NULL, err);
	} else {
		err_nomem(err);
	}
	free(seen_of);
	free(reached);
	if (code < 0) {
		fabric_destroy(seen);
		return code;
	}
	/* Whoever looks at the one before may do so until the next. */
	fabric_destroy(world->retired);
	world->retired = world->seen;
	world->seen = seen;
	world->discovered_us = world->now_us;
	world->changed = false;
	return 0;
}

static uint64_t narrow(uint64_t value, unsigned bits)
{
	uint64_t max = (UINT64_C(1) << bits) - 1;

	return value > max ? max : value;
}

/* Whole packets, as they were a little while before now. */
static void read_port(struct virtual *world, uint32_t port, double before_s, struct reading *ret)
{
	const struct fabric *built = world->built;
	const struct port *p = &built->ports[port];
	double rcv_rate = p->peer == FABRIC_NONE ? 0 : world->rate[p->peer];
	double sent = world->xmit[port] - world->rate[port] * before_s - world->zero_xmit[port];
	double got = world->rcv[port] - rcv_rate * before_s - world->zero_rcv[port];
	double waited = world->wait[port] - world->wait_rate[port] * before_s - world->zero_wait[port];
	bool is_hca = built->nodes[p->node].type != NODE_SWITCH;
	unsigned i;

	*ret = (struct reading){
		.at_us = BOOT_BEGIN_US + world->now_us - (int64_t)(before_s * 1e6),
		.present = COUNTER_BIT(COUNTER_COUNT) - 1,
		.wide = is_hca ? WIDE_OF_HCA : COUNTER_BIT(COUNTER_COUNT) - 1,
	};
	/* What was zeroed a moment ago. */
	sent = sent > 0 ? sent / 32 : 0;
	got = got > 0 ? got / 32 : 0;
	ret->value[COUNTER_XMIT_DATA] = (uint64_t)sent;
	ret->value[COUNTER_RCV_DATA] = (uint64_t)got;
	ret->value[COUNTER_XMIT_PACKETS] = ret->value[COUNTER_UNICAST_XMIT_PACKETS] = (uint64_t)(sent / 1030);
	ret->value[COUNTER_RCV_PACKETS] = ret->value[COUNTER_UNICAST_RCV_PACKETS] = (uint64_t)(got / 1030);
	ret->value[COUNTER_XMIT_WAIT] = waited > 0 ? (uint64_t)(waited / 64) : 0;
	for (i = 0; i < VIRTUAL_ERRORS; i++)
		ret->value[COUNTER_TRAFFIC_COUNT + i] = world->errors[(size_t)port * VIRTUAL_ERRORS + i] -
							world->zero_errors[(size_t)port * VIRTUAL_ERRORS + i];
	for (i = 0; is_hca && i < COUNTER_COUNT; i++)
		if (!(ret->wide & COUNTER_BIT(i)))
			ret->value[i] = narrow(ret->value[i], counter_info((enum counter)i)->narrow_bits);
}

/* Is anybody there to answer for a port? */
static bool answers(const struct virtual *world, uint32_t port)
{
	const struct port *p = &world->built->ports[port];

	if (world->off[p->node] || world->silent[p->node])
		return false;
	return world->built->nodes[p->node].type == NODE_SWITCH || p->state == PORT_ACTIVE;
}

static void take_sample(struct virtual *world, struct virtual_sample *sample, bool first_of_node, double before_s)
{
	const struct port *seen = &world->seen->ports[sample->port];

	if (seen->state < PORT_INIT) {
		sample->word = VIRTUAL_DOWN;
	} else if (!answers(world, sample->built)) {
		sample->word = !first_of_node && world->was_silent[world->built->ports[sample->built].node] ?
			VIRTUAL_BACKOFF : VIRTUAL_SILENT;
	} else if (virtual_random(world) * LATE_ONE_IN < 1) {
		sample->word = VIRTUAL_UNFINISHED;
	} else {
		sample->word = VIRTUAL_READ;
		read_port(world, sample->built, before_s, &sample->reading);
	}
}

size_t virtual_read(struct virtual *world)
{
	const struct fabric *seen = world->seen;
	size_t count = 0;
	uint32_t i, j;

	for (i = 0; i < seen->node_count; i++) {
		const struct node *node = &seen->nodes[i];
		double before_s = virtual_random(world) * (double)world->spread_us / 1e6;
		bool silent = false, first = true;
		uint32_t built_node = world->built->ports[world->built_of[node->first_port]].node;

		for (j = node->first_port; j < node->first_port + node->ports; j++) {
			struct virtual_sample *sample = &world->samples[count];

			if (!port_is_pollable(seen, &seen->ports[j]))
				continue;
			sample->port = j;
			sample->built = world->built_of[j];
			take_sample(world, sample, first, before_s);
			silent |= sample->word == VIRTUAL_SILENT;
			first &= sample->word == VIRTUAL_DOWN;
			count++;
		}
		world->was_silent[built_node] = silent;
	}
	return count;
}
