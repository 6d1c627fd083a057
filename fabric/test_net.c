/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/test_net.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"

#define SWITCH_PORTS 64
#define HCA_PORTS 2

static void must(int64_t code, const struct error *err)
{
	if (code >= 0)
		return;
	fprintf(stderr, "%s\n", err->text);
	abort();
}

struct fabric *net_new(void)
{
	struct error err = { 0 };
	struct fabric *fabric = fabric_create(&err);

	must(fabric ? 0 : -1, &err);
	return fabric;
}

uint32_t net_node(struct fabric *fabric, const struct node *node)
{
	struct node one = *node;
	struct error err = { 0 };
	int64_t index;

	if (!one.guid)
		one.guid = 0x1000 + (fabric->node_count << 8);
	index = fabric_add_node(fabric, &one, &err);
	must(index, &err);
	for (unsigned i = one.type == NODE_SWITCH ? 0 : 1; i <= one.port_count; i++) {
		struct port port = { .num = (uint8_t)i, .state = PORT_DOWN, .guid = one.guid + i };

		must(fabric_add_port(fabric, &port, &err), &err);
	}
	return (uint32_t)index;
}

uint32_t net_switch(struct fabric *fabric, const char *fmt, ...)
{
	struct node node = { .type = NODE_SWITCH, .port_count = SWITCH_PORTS };
	va_list args;

	va_start(args, fmt);
	vsnprintf(node.desc, sizeof(node.desc), fmt, args);
	va_end(args);
	return net_node(fabric, &node);
}

uint32_t net_hca(struct fabric *fabric, uint64_t system_guid, const char *fmt, ...)
{
	struct node node = { .type = NODE_CA, .port_count = HCA_PORTS, .system_guid = system_guid };
	va_list args;

	va_start(args, fmt);
	vsnprintf(node.desc, sizeof(node.desc), fmt, args);
	va_end(args);
	return net_node(fabric, &node);
}

static uint32_t next_free(const struct fabric *fabric, uint32_t node)
{
	uint32_t first = fabric->nodes[node].first_port;

	for (uint32_t i = first; i < first + fabric->nodes[node].ports; i++)
		if (fabric->ports[i].num && fabric->ports[i].peer == FABRIC_NONE)
			return i;
	abort();
}

uint32_t net_link(struct fabric *fabric, uint32_t a, uint32_t b)
{
	uint32_t ends[2] = { next_free(fabric, a), 0 };
	struct error err = { 0 };

	fabric->ports[ends[0]].peer = ends[0]; /* not free any more, should b be a */
	ends[1] = next_free(fabric, b);
	fabric->ports[ends[0]].peer = FABRIC_NONE;
	for (int i = 0; i < 2; i++) {
		struct port *port = &fabric->ports[ends[i]];

		port->state = PORT_ACTIVE;
		port->speed = LINK_SPEED_NDR;
		port->width = LINK_WIDTH_4X;
	}
	must(fabric_link(fabric, ends[0], ends[1], &err), &err);
	return ends[0];
}

void net_links(struct fabric *fabric, uint32_t a, uint32_t b, unsigned count)
{
	while (count-- > 0)
		net_link(fabric, a, b);
}

void net_hosts(struct fabric *fabric, const char *prefix, unsigned first, unsigned count, uint32_t leaf)
{
	for (unsigned i = first; i < first + count; i++)
		net_link(fabric, net_hca(fabric, 0, "%s%u mlx5_0", prefix, i), leaf);
}

struct shape *net_shape(struct fabric *fabric, const struct shape_settings *settings)
{
	struct error err = { 0 };
	struct shape *shape;

	must(fabric_finish(fabric, NULL, &err), &err);
	must(shape_create(fabric, settings, &shape, &err), &err);
	return shape;
}

void net_add_host_anywhere(struct fabric *fabric)
{
	uint32_t hca = net_hca(fabric, 0, "added1 mlx5_0"), port = fabric->nodes[hca].first_port, free_port;
	struct shape *before, *after;
	struct error err = { 0 };

	fabric->nodes[hca].name = strdup("added1 mlx5_0");
	must(shape_create(fabric, NULL, &before, &err), &err);
	for (uint32_t i = 0; i < hca; i++) {
		const struct node *node = &fabric->nodes[i];

		for (free_port = node->first_port; free_port < node->first_port + node->ports; free_port++)
			if (fabric->ports[free_port].num && fabric->ports[free_port].peer == FABRIC_NONE)
				break;
		if (node->type != NODE_SWITCH || free_port == node->first_port + node->ports)
			continue;
		fabric->ports[port].peer = free_port;
		fabric->ports[free_port].peer = port;
		must(shape_create(fabric, NULL, &after, &err), &err);
		fabric->ports[port].peer = fabric->ports[free_port].peer = FABRIC_NONE;
		for (uint32_t j = 0; j < hca; j++) {
			if (j == i || before->nodes[j].tier == after->nodes[j].tier)
				continue;
			fprintf(stderr, "a host on %s (tier %u) makes %s tier %u instead of %u\n", node->name,
				before->nodes[i].tier, fabric->nodes[j].name, after->nodes[j].tier,
				before->nodes[j].tier);
			abort();
		}
		shape_destroy(after);
	}
	shape_destroy(before);
}

void net_done(struct fabric *fabric, struct shape *shape)
{
	shape_destroy(shape);
	fabric_destroy(fabric);
}

uint64_t net_random(uint64_t *random)
{
	return *random = map_mix(*random + 0x9e3779b97f4a7c15ULL);
}

struct fabric *net_random_fabric(uint64_t seed)
{
	struct fabric *fabric = net_new();
	struct error err = { 0 };
	uint64_t random = seed;
	int nodes = (int)(net_random(&random) % 30) + 1;

	for (int i = 0; i < nodes; i++) {
		struct node node = { .guid = net_random(&random) | 1, .system_guid = net_random(&random) };

		node.type = (uint8_t)(1 + net_random(&random) % 3);
		node.port_count = (uint8_t)(1 + net_random(&random) % 40);
		node.lid = (uint16_t)net_random(&random);
		node.enhanced_port0 = net_random(&random) & 1;
		for (int j = 0; j < NODE_DESC_SIZE; j++)
			node.desc[j] = (char)net_random(&random);
		must(fabric_add_node(fabric, &node, &err), &err);
		for (int j = node.type == NODE_SWITCH ? 0 : 1; j <= node.port_count; j++) {
			struct port port = { .num = (uint8_t)j, .state = (uint8_t)(net_random(&random) % 5) };

			if (net_random(&random) % 4 == 0)
				continue;
			port.guid = net_random(&random);
			port.lid = (uint16_t)net_random(&random);
			port.speed = (uint8_t)(net_random(&random) % LINK_SPEED_COUNT);
			port.width = LINK_WIDTH_4X;
			port.cap_mask = (uint32_t)net_random(&random);
			must(fabric_add_port(fabric, &port, &err), &err);
		}
	}
	for (int i = 0; fabric->port_count > 1 && i < 200; i++)
		fabric_link(fabric, (uint32_t)(net_random(&random) % fabric->port_count),
			    (uint32_t)(net_random(&random) % fabric->port_count), NULL);
	for (int i = 0; i < (int)fabric->port_count; i++)
		if (fabric->ports[i].peer == (uint32_t)i)
			fabric->ports[i].peer = FABRIC_NONE;
	must(fabric_finish(fabric, NULL, &err), &err);
	return fabric;
}
