/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tests/wire/explore_bed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/map.h"
#include "fabric/fabric.h"
#include "tests/world/virtual.h"
#include "wire/explore.h"

struct explore_bed bed = { .max_smps = 32 };

uint64_t bed_random(uint64_t most)
{
	return (bed.random_state = map_mix(bed.random_state + 0x9e3779b97f4a7c15ULL)) % most;
}

uint32_t bed_add(uint8_t type, unsigned port_count)
{
	struct node node = { .guid = 0x1000 * (bed.count + 1), .system_guid = 0x1000 * (bed.count + 1), .type = type,
			     .port_count = (uint8_t)port_count };

	if (!bed.count)
		bed.built = fabric_create(NULL);
	snprintf(node.desc, sizeof(node.desc), "node %u", bed.count);
	assert_true(fabric_add_node(bed.built, &node, NULL) == bed.count);
	for (unsigned num = type == NODE_SWITCH ? 0 : 1; num <= port_count; num++)
		assert_true(fabric_add_port(bed.built, &(struct port){
			.num = (uint8_t)num, .width = LINK_WIDTH_4X, .speed = LINK_SPEED_NDR, .state = PORT_ACTIVE,
			.guid = type == NODE_SWITCH ? 0 : node.guid + num }, NULL) >= 0);
	return bed.count++;
}

void bed_on_send(struct world_run *at, const uint8_t mad[MAD_SIZE])
{
	(void)at;
	bed.sent++;
	bed.node_infos += get_be16(mad + 16) == SMP_NODE_INFO;
}

void bed_stop(void)
{
	if (bed.run.world)
		virtual_destroy(bed.run.world);
	bed.run.world = NULL;
	bed.count = 0;
}

int bed_teardown(void **state)
{
	(void)state;
	bed_stop();
	fabric_destroy(bed.fabric);
	fabric_destroy((struct fabric *)bed.last);
	bed.last = bed.fabric = NULL;
	bed.part_count = 0;
	text_done(&bed.notes);
	return 0;
}

void bed_start(void)
{
	uint32_t nodes = bed.count;
	struct virtual *world;

	/* The virtual fabric needs a host. */
	bed_add(NODE_CA, 1);
	bed.count = nodes;
	assert_int_equal(fabric_finish(bed.built, NULL, NULL), 0);
	world = virtual_create(bed.built, US_PER_S, bed.random_state);
	world_run_init(&bed.run, world);
	bed.run.loss = 0;
	bed.run.jitter_us = 50;
	bed.run.on_send = bed_on_send;
	bed.built->from_node = 0;
	bed.built->from_port = 1;
	bed.agents = world->agents;
	bed.sent = bed.node_infos = 0;
	for (uint32_t i = 0; i < bed.built->port_count; i++) {
		bool of_switch = bed.built->nodes[bed.built->ports[i].node].type == NODE_SWITCH;

		bed.built->ports[i].state = of_switch && !bed.built->ports[i].num ? PORT_ACTIVE : PORT_DOWN;
		/* CapabilityMask of port 0 applies to all ports of a switch. */
		bed.built->ports[i].cap_mask = bed.built->ports[i].num ? 0 : 1 << 14;
	}
}

struct port *bed_port_of(uint32_t node, unsigned num)
{
	return &bed.built->ports[fabric_node_port(bed.built, node, (uint8_t)num)];
}

uint32_t bed_peer_of(uint32_t node, unsigned num)
{
	uint32_t peer = bed_port_of(node, num)->peer;

	return peer == FABRIC_NONE ? FABRIC_NONE : bed.built->ports[peer].node;
}

void bed_cut(uint32_t a, unsigned a_num)
{
	struct port *port = bed_port_of(a, a_num);

	if (port->peer == FABRIC_NONE)
		return;
	bed.built->ports[port->peer].state = PORT_DOWN;
	bed.built->ports[port->peer].peer = FABRIC_NONE;
	port->state = PORT_DOWN;
	port->peer = FABRIC_NONE;
}

void bed_cable(uint32_t a, unsigned a_num, uint32_t b, unsigned b_num)
{
	struct port *near = bed_port_of(a, a_num), *far = bed_port_of(b, b_num);

	near->peer = (uint32_t)(far - bed.built->ports);
	far->peer = (uint32_t)(near - bed.built->ports);
	near->state = far->state = PORT_ACTIVE;
}

void bed_draw(uint64_t seed)
{
	unsigned switches, others;

	bed_stop();
	bed.random_state = seed;
	bed_add(bed_random(8) ? NODE_CA : NODE_SWITCH, (unsigned)(1 + bed_random(2)));
	switches = (unsigned)bed_random(8);
	others = (unsigned)bed_random(24);
	for (unsigned i = 0; i < switches; i++)
		bed_add(NODE_SWITCH, (unsigned)(1 + bed_random(16)));
	for (unsigned i = 0; i < others; i++)
		bed_add(bed_random(10) ? NODE_CA : NODE_ROUTER, (unsigned)(1 + bed_random(2)));
	bed_start();
	for (unsigned i = 0; i < 60; i++) {
		uint32_t a = i ? (uint32_t)bed_random(bed.count) : 0, b = (uint32_t)bed_random(bed.count);
		unsigned a_num = i ? (unsigned)(1 + bed_random(bed.built->nodes[a].port_count)) : 1;
		unsigned b_num = (unsigned)(1 + bed_random(bed.built->nodes[b].port_count));

		if ((a != b || a_num != b_num) && bed_peer_of(a, a_num) == FABRIC_NONE &&
		    bed_peer_of(b, b_num) == FABRIC_NONE)
			bed_cable(a, a_num, b, b_num);
	}
	for (unsigned i = 1; i < bed.count; i++)
		bed.agents[i].dead = bed_random(12) == 0;
}

void bed_build(unsigned switches, unsigned ports, unsigned hosts)
{
	bed_stop();
	bed_add(NODE_CA, 1);
	for (unsigned i = 0; i < switches; i++)
		bed_add(NODE_SWITCH, ports);
	for (unsigned i = 0; i < hosts; i++)
		bed_add(NODE_CA, 1);
	bed_start();
	bed_cable(0, 1, 1, 1);
}

void bed_star(unsigned hosts)
{
	bed_build(1, hosts + 1, hosts);
	for (unsigned i = 0; i < hosts; i++)
		bed_cable(2 + i, 1, 1, i + 2);
}

void bed_discover(unsigned retries, const struct keys *keys)
{
	const struct explore_settings settings = { .max_smps = bed.max_smps, .per_node = 2, .timeout_ms = 1000,
						   .retries = retries, .keys = keys, .last = bed.last,
						   .ports = bed.parts, .port_count = bed.part_count,
						   .deadline_us = bed.deadline_us,
						   .own_guid = bed.built->nodes[0].guid };
	struct error err = { 0 };

	fabric_destroy(bed.fabric);
	bed.fabric = NULL;
	text_clear(&bed.notes);
	bed.trailer = (struct record_trailer){ 0 };
	if (explore_run(&bed.run.transport, &bed.run.clock, &settings, &bed.fabric, &bed.trailer, &bed.notes, &err) < 0)
		assert_true(err.text[0]);
}

bool bed_has_node(uint32_t node)
{
	return fabric_find_node(bed.fabric, bed.built->nodes[node].guid) != FABRIC_NONE;
}

bool bed_has_link(uint32_t a, unsigned a_num, uint32_t b, unsigned b_num)
{
	uint32_t one = fabric_find_port(bed.fabric, bed.built->nodes[a].guid, (uint8_t)a_num);
	uint32_t other = fabric_find_port(bed.fabric, bed.built->nodes[b].guid, (uint8_t)b_num);

	return one != FABRIC_NONE && other != FABRIC_NONE && bed.fabric->ports[one].peer == other &&
	       bed.fabric->ports[other].peer == one;
}

/* Whether a path continues through this port: of a switch, or of the collector's host. */
static bool leads_on(uint32_t node, unsigned num)
{
	return bed.built->nodes[node].type == NODE_SWITCH || (node == 0 && num == 1);
}

void bed_reach(bool *ret)
{
	uint32_t queue[NODES_MAX], first = 0, end = 0;

	memset(ret, 0, NODES_MAX * sizeof(*ret));
	ret[0] = true;
	queue[end++] = 0;
	while (first < end) {
		uint32_t node = queue[first++];

		for (unsigned num = 1; num <= bed.built->nodes[node].port_count; num++) {
			uint32_t peer = bed_peer_of(node, num);

			if (!leads_on(node, num) || peer == FABRIC_NONE || ret[peer] || bed.agents[peer].dead)
				continue;
			ret[peer] = true;
			queue[end++] = peer;
		}
	}
}

/* Whether a port can be found; a port of an HCA only if a path leads to it. */
static bool is_found(const bool *reached, uint32_t node, unsigned num)
{
	uint32_t peer = bed_peer_of(node, num);

	return leads_on(node, num) || (num && peer != FABRIC_NONE && reached[peer] &&
				       leads_on(peer, bed.built->ports[bed_port_of(node, num)->peer].num));
}

static void check_port(const bool *reached, uint32_t node, unsigned num)
{
	uint32_t at = fabric_find_port(bed.fabric, bed.built->nodes[node].guid, (uint8_t)num);
	uint32_t peer = bed_peer_of(node, num);
	bool is_switch = bed.built->nodes[node].type == NODE_SWITCH;
	const struct port *port, *truth = bed_port_of(node, num);

	assert_int_equal(at != FABRIC_NONE, is_found(reached, node, num));
	if (at == FABRIC_NONE)
		return;
	port = &bed.fabric->ports[at];
	assert_int_equal(port->state, truth->state);
	if (!is_switch || !num) {
		assert_int_equal(port->lid, truth->lid);
		assert_true(port->guid == (is_switch ? bed.built->nodes[node].guid : truth->guid));
	}
	if (is_switch && port->state == PORT_ACTIVE && num)
		assert_int_equal(port->speed, LINK_SPEED_NDR);
	if (!num || peer == FABRIC_NONE || bed.agents[peer].dead)
		assert_int_equal(port->peer, FABRIC_NONE);
	else
		assert_true(bed_has_link(node, num, peer, bed.built->ports[truth->peer].num));
}

void bed_check_found(void)
{
	bool reached[NODES_MAX];
	size_t nodes = 0;

	bed_reach(reached);
	for (uint32_t i = 0; i < bed.count; i++) {
		const struct node *node = &bed.built->nodes[i];

		nodes += reached[i];
		assert_int_equal(bed_has_node(i), reached[i]);
		if (!reached[i])
			continue;
		assert_string_equal(bed.fabric->nodes[fabric_find_node(bed.fabric, node->guid)].desc, node->desc);
		for (unsigned num = node->type == NODE_SWITCH ? 0 : 1; num <= node->port_count; num++)
			check_port(reached, i, num);
	}
	assert_int_equal(bed.fabric->node_count, nodes);
	assert_int_equal(bed.fabric->from_node, 0);
}

void bed_check_peers(void)
{
	for (uint32_t i = 0; i < bed.fabric->port_count; i++)
		if (bed.fabric->ports[i].peer != FABRIC_NONE)
			assert_int_equal(bed.fabric->ports[bed.fabric->ports[i].peer].peer, i);
}
