/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tests/world/virtual.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "fabric/fabric.h"
#include "sim/traffic.h"

/* Events within this time share one recalculation of loads. */
#define TOGETHER_US 1000000

double virtual_random(struct virtual *world)
{
	world->random += 0x9e3779b97f4a7c15ULL;
	return (double)(map_mix(world->random) >> 11) / 9007199254740992.0;
}

uint64_t virtual_poisson(struct virtual *world, double mean)
{
	double limit = exp(-mean), product = 1;
	uint64_t count = 0;

	if (!(mean > 0))
		return 0;
	if (mean > 50) {
		/* A sum of twelve uniform numbers is approximately normal. */
		double sum = -6;

		for (int i = 0; i < 12; i++)
			sum += virtual_random(world);
		mean += sum * sqrt(mean);
		return mean > 0 ? (uint64_t)(mean + 0.5) : 0;
	}
	while ((product *= virtual_random(world)) > limit)
		count++;
	return count;
}

/* PortInfo.CapabilityMask. Source: IBA Vol 1, 14.2.5.6. */
enum { CAP_IS_SM = 1 << 1, CAP_EXTENDED_SPEEDS = 1 << 14, CAP_CAP_MASK2 = 1 << 15 };

/* Ports support all widths up to their own and all speeds; all supported ones are enabled. */
static void fill_masks(struct virtual *world)
{
	for (size_t i = 0; i < world->built->port_count; i++) {
		struct port *port = &world->built->ports[i];

		world->ports[i].speed = port->speed;
		world->ports[i].width = port->width;
		port->cap_mask |= CAP_EXTENDED_SPEEDS | CAP_CAP_MASK2;
		if (!port->num && world->built->nodes[port->node].type == NODE_SWITCH)
			continue;
		port->speed_supported = port->speed ? (uint16_t)((2 << port->speed) - 2) : 0;
		port->width_supported = port->width ? LINK_WIDTH_1X | port->width : 0;
		if (port->width == LINK_WIDTH_4X)
			port->width_supported |= LINK_WIDTH_2X;
		port->speed_enabled = port->speed_supported;
		port->width_enabled = port->width_supported;
	}
}

/* Counters are not 0 at the beginning, as after weeks of uptime. */
static void begin_counters(struct virtual *world)
{
	for (size_t i = 0; i < world->built->port_count; i++) {
		world->ports[i].xmit = floor(1e12 * virtual_random(world)) * 32;
		world->ports[i].rcv = floor(1e12 * virtual_random(world)) * 32;
	}
}

struct virtual *virtual_create(struct fabric *built, int64_t interval_us, uint64_t seed)
{
	struct virtual *world = virtual_alloc(1, sizeof(*world));

	*world = (struct virtual){
		.built = built, .interval_us = interval_us, .random = map_mix(seed + 1), .sm_runs = true,
		.sm_masters = 1, .loads_changed = true, .trunks_changed = true, .lids = spread_lids(built),
		.sm_port = built->nodes[0].first_port,
		.ports = virtual_alloc(built->port_count, sizeof(*world->ports)),
		.nodes = virtual_alloc(built->node_count, sizeof(*world->nodes)),
		.agents = virtual_alloc(built->node_count, sizeof(*world->agents)),
	};
	if (host_table_create(built, &world->hosts, NULL) < 0)
		abort();
	fill_masks(world);
	begin_counters(world);
	world->sm_other = virtual_next_host(world, world->sm_port);
	built->ports[world->sm_port].cap_mask |= CAP_IS_SM;
	built->ports[world->sm_other].cap_mask |= CAP_IS_SM;
	virtual_route(world);
	return world;
}

void virtual_destroy(struct virtual *world)
{
	if (!world)
		return;
	for (size_t i = 0; i < world->job_count; i++) {
		free(world->jobs[i].hosts);
		free(world->jobs[i].targets);
		free(world->jobs[i].left);
		free(world->jobs[i].flows);
		free(world->jobs[i].loads);
	}
	free(world->jobs);
	free(world->events);
	free(world->sources);
	free(world->skews);
	free(world->holes);
	free(world->ports);
	free(world->nodes);
	free(world->health);
	free(world->agents);
	free(world->counters);
	routes_done(&world->tables);
	pkeys_done(&world->pkeys);
	spread_done(&world->spread);
	host_table_done(&world->hosts);
	fabric_destroy(world->built);
	free(world);
}

void virtual_schedule(struct virtual *world, const struct virtual_event *event)
{
	struct virtual_event *events = virtual_grow(world->events, world->event_count, &world->event_capacity,
						    sizeof(*events));
	size_t at = world->event_count++;

	world->events = events;
	for (; at > world->event_next && events[at - 1].at_us > event->at_us; at--)
		events[at] = events[at - 1];
	events[at] = *event;
}

/* Integrate the present rates. */
static void count_until(struct virtual *world, int64_t to_us)
{
	double elapsed_s = (double)(to_us - world->now_us) / 1e6;
	const struct port *ports = world->built->ports;

	if (to_us <= world->now_us)
		return;
	for (size_t i = 0; i < world->built->port_count; i++) {
		world->ports[i].xmit += world->ports[i].rate * elapsed_s;
		world->ports[i].wait += world->ports[i].wait_rate * elapsed_s;
		if (ports[i].peer != FABRIC_NONE)
			world->ports[i].rcv += world->ports[ports[i].peer].rate * elapsed_s;
	}
	world->now_us = to_us;
}

static void advance(struct virtual *world, int64_t to_us)
{
	if (to_us <= world->now_us)
		return;
	virtual_rates(world, world->now_us, to_us);
	count_until(world, to_us);
}

/* After events: the subnet manager reroutes, and the jobs' loads are recalculated. */
static void settle(struct virtual *world)
{
	if (world->tables_changed)
		virtual_route(world);
	if (world->loads_changed)
		virtual_share(world);
	world->trunks_changed = world->tables_changed = world->loads_changed = false;
}

static void pass(struct virtual *world, int64_t until_us)
{
	while (world->event_next < world->event_count && world->events[world->event_next].at_us <= until_us) {
		struct virtual_event event = world->events[world->event_next++];

		advance(world, event.at_us);
		virtual_apply(world, &event);
		if (world->event_next < world->event_count &&
		    world->events[world->event_next].at_us - event.at_us < TOGETHER_US &&
		    world->events[world->event_next].at_us <= until_us)
			continue;
		settle(world);
	}
	settle(world);
	advance(world, until_us);
}

void virtual_advance(struct virtual *world, int64_t to_us)
{
	int64_t from_us = world->now_us;

	if (to_us <= from_us)
		return;
	/* No counter falls below its last reading. */
	count_until(world, world->read_us < to_us ? world->read_us : to_us);
	pass(world, to_us);
	virtual_count_errors(world, (double)(to_us - from_us) / 1e6);
}

double virtual_load(const struct virtual *world, uint32_t port)
{
	uint64_t capacity = port_rate_bits_per_s(&world->built->ports[port]);

	return capacity ? world->ports[port].rate / (double)capacity : 0;
}

/* --- discovery and counters --- */

/* By node: does a discovery reach it over Active links? */
static bool *find_reached(const struct virtual *world)
{
	const struct fabric *built = world->built;
	bool *reached = virtual_alloc(built->node_count, sizeof(*reached));
	uint32_t *queue = virtual_alloc(built->node_count, sizeof(*queue));
	size_t head = 0, tail = 0;

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

static int64_t must(int64_t index)
{
	if (index < 0)
		abort();
	return index;
}

/* Add a node as discovered. @index_of: by port of the fabric: set to that of the port in @found */
static void add_node(const struct virtual *world, uint32_t index, struct fabric *found, uint32_t *index_of)
{
	const struct fabric *built = world->built;
	const struct node *node = &built->nodes[index];
	struct node added = *node;
	uint32_t at;

	if (world->agents[index].desc_lost)
		memset(added.desc, 0, sizeof(added.desc));
	at = (uint32_t)must(fabric_add_node(found, &added, NULL));
	if (index == built->from_node)
		found->from_node = at;
	for (uint32_t i = node->first_port; i < node->first_port + node->ports && !world->agents[index].ports_lost; i++)
		index_of[i] = (uint32_t)must(fabric_add_port(found, &built->ports[i], NULL));
}

struct fabric *virtual_discover(struct virtual *world)
{
	const struct fabric *built = world->built;
	struct fabric *found = fabric_create(NULL);
	bool *reached = find_reached(world);
	uint32_t *index_of = virtual_alloc(built->port_count, sizeof(*index_of));

	if (!found)
		abort();
	memset(index_of, 0xff, built->port_count * sizeof(*index_of));
	found->from_port = built->from_port;
	for (uint32_t i = 0; i < built->node_count; i++)
		if (reached[i])
			add_node(world, i, found, index_of);
	for (uint32_t i = 0; i < built->port_count; i++) {
		uint32_t peer = built->ports[i].peer;

		if (peer != FABRIC_NONE && peer >= i && index_of[i] != FABRIC_NONE && index_of[peer] != FABRIC_NONE &&
		    built->ports[i].state >= PORT_INIT)
			must(fabric_link(found, index_of[i], index_of[peer], NULL));
	}
	must(fabric_finish(found, NULL, NULL));
	free(index_of);
	free(reached);
	return found;
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
