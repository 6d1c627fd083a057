/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* virtual_fault.c - effects of events on links, nodes, tables, the SM and error counters */
#include <string.h>

#include "base/map.h"
#include "fabric/fabric.h"
#include "tests/world/virtual.h"

static uint64_t *errors_of(struct virtual *world, uint32_t port, enum counter counter)
{
	return &world->ports[port].errors[counter - COUNTER_TRAFFIC_COUNT];
}

static bool is_switch(const struct virtual *world, uint32_t port)
{
	return world->built->nodes[world->built->ports[port].node].type == NODE_SWITCH;
}

static void note_change(struct virtual *world, uint32_t port)
{
	uint32_t peer = world->built->ports[port].peer;

	world->loads_changed = true;
	world->tables_changed = true;
	world->trunks_changed |= is_switch(world, port) && peer != FABRIC_NONE && is_switch(world, peer);
}

/* Both ends count LinkDowned; a switch discards the packets that it had queued for this link. */
static void lose_link(struct virtual *world, uint32_t port)
{
	struct port *p = &world->built->ports[port];

	p->state = PORT_DOWN;
	p->phys_state = PHYS_POLLING;
	p->speed = LINK_SPEED_NONE;
	p->width = LINK_WIDTH_NONE;
	if (world->nodes[p->node].off)
		return;
	++*errors_of(world, port, COUNTER_LINK_DOWNED);
	if (is_switch(world, port) && world->ports[port].rate > 0)
		*errors_of(world, port, COUNTER_XMIT_DISCARDS) += (uint64_t)(50 + 500 * virtual_random(world));
}

/* Link training counts some errors. */
static void gain_link(struct virtual *world, uint32_t port)
{
	struct port *p = &world->built->ports[port];

	p->state = PORT_ACTIVE;
	p->phys_state = PHYS_LINK_UP;
	p->speed = world->ports[port].speed;
	p->width = world->ports[port].width;
	*errors_of(world, port, COUNTER_SYMBOL_ERRORS) += (uint64_t)(40 * virtual_random(world));
	*errors_of(world, port, COUNTER_RCV_ERRORS) += (uint64_t)(3 * virtual_random(world));
}

static uint32_t own_node(const struct virtual *world)
{
	return world->built->from_node == FABRIC_NONE ? 0 : world->built->from_node;
}

static void update_link(struct virtual *world, uint32_t port)
{
	const struct port *p = &world->built->ports[port];
	uint32_t peer = p->peer;
	bool was = p->state >= PORT_INIT, up;

	if (peer == FABRIC_NONE)
		return;
	up = !world->ports[port].cut && !world->ports[peer].cut && !world->nodes[p->node].off &&
	     !world->nodes[world->built->ports[peer].node].off;
	if (up == was)
		return;
	world->wrong_routes |= p->node == own_node(world) || world->built->ports[peer].node == own_node(world);
	if (up) {
		gain_link(world, port);
		gain_link(world, peer);
	} else {
		lose_link(world, port);
		lose_link(world, peer);
	}
	note_change(world, port);
}

static void zero_counters(struct virtual *world, uint32_t index)
{
	struct virtual_port *port = &world->ports[index];

	port->zero_xmit = port->xmit;
	port->zero_rcv = port->rcv;
	port->zero_wait = port->wait;
	memcpy(port->zero_errors, port->errors, sizeof(port->errors));
}

static void switch_node(struct virtual *world, uint32_t node, bool on)
{
	const struct node *owner = &world->built->nodes[node];

	world->nodes[node].off = !on;
	for (uint32_t i = owner->first_port; i < owner->first_port + owner->ports; i++) {
		/* Counters begin at 0 after a power cycle. */
		if (on)
			zero_counters(world, i);
		update_link(world, i);
	}
}

/* The host has another name: "node0003b mlx5_0". */
static void rename_node(struct node *node)
{
	size_t end = strcspn(node->desc, " ");

	if (strlen(node->desc) + 1 >= sizeof(node->desc))
		return;
	memmove(node->desc + end + 1, node->desc + end, strlen(node->desc + end) + 1);
	node->desc[end] = 'b';
}

static void retrain(struct virtual *world, uint32_t port)
{
	uint32_t peer = world->built->ports[port].peer;

	world->ports[port].cut = true;
	update_link(world, port);
	world->ports[port].cut = false;
	update_link(world, port);
	if (peer != FABRIC_NONE)
		note_change(world, port);
}

static void set_link(struct virtual *world, uint32_t port, uint8_t width, uint8_t speed)
{
	uint32_t ends[2] = { port, world->built->ports[port].peer };

	for (int i = 0; i < 2; i++) {
		if (ends[i] == FABRIC_NONE)
			continue;
		if (width)
			world->ports[ends[i]].width = width;
		if (speed)
			world->ports[ends[i]].speed = speed;
	}
	retrain(world, port);
}

static void unplug(struct virtual *world, uint32_t port)
{
	uint32_t peer = world->built->ports[port].peer;

	if (peer == FABRIC_NONE)
		return;
	world->ports[port].cut = true;
	update_link(world, port);
	world->ports[port].cut = false;
	world->built->ports[port].peer = FABRIC_NONE;
	world->built->ports[peer].peer = FABRIC_NONE;
}

static void swap_cables(struct virtual *world, uint32_t a, uint32_t b)
{
	struct port *ports = world->built->ports;
	uint32_t leaf_a = ports[a].peer, leaf_b = ports[b].peer;

	if (leaf_a == FABRIC_NONE || leaf_b == FABRIC_NONE)
		return;
	unplug(world, a);
	unplug(world, b);
	ports[a].peer = leaf_b;
	ports[leaf_b].peer = a;
	ports[b].peer = leaf_a;
	ports[leaf_a].peer = b;
	update_link(world, a);
	update_link(world, b);
	world->tables_changed = true;
}

/* Move part of the destinations that this port is on a shortest path to onto it. */
static void apply_skew(struct virtual *world, const struct virtual_skew *skew)
{
	const struct fabric *built = world->built;
	uint32_t out = fabric_node_port(built, skew->node, skew->port);
	uint8_t *table = spread_table(&world->tables, built->nodes[skew->node].guid);

	if (out == FABRIC_NONE || !table)
		return;
	for (uint32_t i = 0; i < built->port_count; i++) {
		const struct port *port = &built->ports[i];
		uint32_t leaf = port->peer == FABRIC_NONE ? FABRIC_NONE : built->ports[port->peer].node;

		if (built->nodes[port->node].type == NODE_SWITCH || leaf == FABRIC_NONE || leaf == skew->node ||
		    built->nodes[leaf].type != NODE_SWITCH)
			continue;
		if ((double)(map_mix(port->lid) % 1000) < skew->part * 1000 &&
		    spread_nearer(&world->spread, built, out, leaf))
			table[port->lid] = skew->port;
	}
}

/* The only switch of the subnet manager's host hangs: it sees no other node. */
static bool is_sm_cut_off(const struct virtual *world)
{
	uint32_t peer = world->built->ports[world->sm_port].peer;

	return peer != FABRIC_NONE && world->nodes[world->built->ports[peer].node].hung;
}

/* The subnet manager removes nodes that hang: the other end of their links is in state Init, as with opensm 3.3.23. */
static void set_states(struct virtual *world)
{
	struct port *ports = world->built->ports;

	for (size_t i = 0; i < world->built->port_count; i++) {
		bool hangs = ports[i].peer != FABRIC_NONE && world->nodes[ports[ports[i].peer].node].hung;

		if (ports[i].peer == FABRIC_NONE || ports[i].state < PORT_INIT || world->nodes[ports[i].node].hung ||
		    hangs == (ports[i].state == PORT_INIT))
			continue;
		ports[i].state = hangs ? PORT_INIT : PORT_ACTIVE;
		world->trunks_changed = true;
	}
}

void virtual_route(struct virtual *world)
{
	world->loads_changed = true;
	/* Without a subnet manager the tables do not change. */
	if (!world->sm_runs || is_sm_cut_off(world))
		return;
	set_states(world);
	if (world->trunks_changed || !world->spread.hops)
		spread_measure(&world->spread, world->built);
	spread_tables(&world->spread, world->built, world->lids, world->route_order, &world->tables);
	for (size_t i = 0; i < world->skew_count; i++)
		apply_skew(world, &world->skews[i]);
	for (size_t i = 0; i < world->hole_count; i++)
		spread_table(&world->tables, world->built->nodes[world->holes[i].node].guid)[world->holes[i].lid] =
			ROUTES_NO_PORT;
}

static void add_skew(struct virtual *world, const struct virtual_event *event)
{
	world->skews = virtual_grow(world->skews, world->skew_count, &world->skew_capacity, sizeof(*world->skews));
	world->skews[world->skew_count++] = (struct virtual_skew){ event->a, event->n, event->x };
}

static void end_skew(struct virtual *world, uint32_t node)
{
	size_t kept = 0;

	for (size_t i = 0; i < world->skew_count; i++)
		if (world->skews[i].node != node)
			world->skews[kept++] = world->skews[i];
	world->skew_count = kept;
}

static void add_hole(struct virtual *world, uint32_t node, uint32_t to)
{
	world->holes = virtual_grow(world->holes, world->hole_count, &world->hole_capacity, sizeof(*world->holes));
	world->holes[world->hole_count++] = (struct virtual_hole){ node, world->built->ports[to].lid };
}

static void add_source(struct virtual *world, const struct virtual_event *event)
{
	world->sources = virtual_grow(world->sources, world->source_count, &world->source_capacity,
				      sizeof(*world->sources));
	world->sources[world->source_count++] = (struct error_source){
		.port = event->a, .counter = event->n, .per_s = event->x, .echo = (double)event->b / 100,
	};
}

static void end_source(struct virtual *world, uint32_t port, uint8_t counter)
{
	size_t kept = 0;

	for (size_t i = 0; i < world->source_count; i++)
		if (world->sources[i].port != port || world->sources[i].counter != counter)
			world->sources[kept++] = world->sources[i];
	world->source_count = kept;
}

/* A random output port of a packet, weighted by rate; FABRIC_NONE: no port sends. */
static uint32_t pick_out(struct virtual *world, uint32_t in)
{
	const struct node *node = &world->built->nodes[world->built->ports[in].node];
	double total = 0, at;
	uint32_t last = node->first_port + node->ports;

	for (uint32_t i = node->first_port; i < last; i++)
		total += i == in ? 0 : world->ports[i].rate;
	at = virtual_random(world) * total;
	for (uint32_t i = node->first_port; total > 0 && i < last; i++) {
		at -= i == in ? 0 : world->ports[i].rate;
		if (i != in && world->ports[i].rate > 0 && at <= 0)
			return i;
	}
	return FABRIC_NONE;
}

/* A corrupt packet is forwarded, marked as bad: each later receiver counts PortRcvRemotePhysicalErrors. */
static void echo(struct virtual *world, uint32_t port)
{
	for (int hop = 0; hop < 4 && port != FABRIC_NONE && is_switch(world, port); hop++) {
		uint32_t out = pick_out(world, port);

		port = out == FABRIC_NONE ? FABRIC_NONE : world->built->ports[out].peer;
		if (port != FABRIC_NONE)
			++*errors_of(world, port, COUNTER_RCV_REMOTE_PHYSICAL_ERRORS);
	}
}

void virtual_count_errors(struct virtual *world, double elapsed_s)
{
	for (size_t i = 0; i < world->source_count; i++) {
		const struct error_source *source = &world->sources[i];
		const struct port *port = &world->built->ports[source->port];
		uint64_t count = virtual_poisson(world, source->per_s * elapsed_s);

		/* Idle links count errors too: flow control packets. */
		if (port->state != PORT_ACTIVE)
			continue;
		*errors_of(world, source->port, (enum counter)source->counter) += count;
		for (uint64_t n = 0; n < count; n++)
			if (virtual_random(world) < source->echo)
				echo(world, source->port);
	}
}

static void clear(struct virtual *world, const struct virtual_event *event)
{
	for (uint32_t i = 0; i < world->built->port_count; i++)
		if ((event->a == FABRIC_NONE && event->b == FABRIC_NONE) || event->b == i ||
		    world->built->ports[i].node == event->a)
			zero_counters(world, i);
}

uint32_t virtual_next_host(const struct virtual *world, uint32_t port)
{
	const struct fabric *built = world->built;
	uint32_t node = built->ports[port].node;

	do
		node = (node + 1) % (uint32_t)built->node_count;
	while (built->nodes[node].type == NODE_SWITCH || world->nodes[node].off);
	return built->nodes[node].first_port;
}

/* The standby becomes master if it has power. */
static void hand_over(struct virtual *world)
{
	uint32_t master = world->sm_port;

	world->sm_port = world->nodes[world->built->ports[world->sm_other].node].off ? virtual_next_host(world, master)
									       : world->sm_other;
	world->sm_other = master;
}

static void apply_route(struct virtual *world, const struct virtual_event *event)
{
	switch (event->what) {
	case CHANGE_SKEW:
		add_skew(world, event);
		virtual_route(world);
		break;
	case CHANGE_SKEW_END:
		end_skew(world, event->a);
		virtual_route(world);
		break;
	case CHANGE_BLACK_HOLE:
		add_hole(world, event->a, event->b);
		virtual_route(world);
		break;
	case CHANGE_ORDER:
		world->route_order = event->n;
		virtual_route(world);
		break;
	case CHANGE_SM_STOP:
		world->sm_runs = false;
		world->wrong_routes = true;
		break;
	case CHANGE_SM_START:
		world->sm_runs = true;
		world->sm_masters = 1;
		world->trunks_changed = world->tables_changed = true;
		break;
	case CHANGE_SM_HANDOVER:
		hand_over(world);
		world->sm_masters = 1;
		break;
	case CHANGE_SM_TWO:
		world->sm_masters = 2;
		break;
	default:
		break;
	}
}

void virtual_apply(struct virtual *world, const struct virtual_event *event)
{
	switch (event->what) {
	case CHANGE_LINK_DOWN:
	case CHANGE_LINK_UP:
		world->ports[event->a].cut = event->what == CHANGE_LINK_DOWN;
		update_link(world, event->a);
		break;
	case CHANGE_WIDTH:
		set_link(world, event->a, event->n, LINK_SPEED_NONE);
		break;
	case CHANGE_SPEED:
		set_link(world, event->a, LINK_WIDTH_NONE, event->n);
		break;
	case CHANGE_NODE_OFF:
	case CHANGE_NODE_ON:
		switch_node(world, event->a, event->what == CHANGE_NODE_ON);
		break;
	case CHANGE_NAME:
		rename_node(&world->built->nodes[event->a]);
		break;
	case CHANGE_SILENT:
	case CHANGE_ANSWERS:
		world->nodes[event->a].silent = event->what == CHANGE_SILENT;
		break;
	case CHANGE_NARROW:
	case CHANGE_WIDE:
		world->agents[event->a].caps = (struct pma_caps){ .known = event->what == CHANGE_NARROW,
								  .cap_mask = PMA_CAP_XMIT_WAIT };
		break;
	case CHANGE_HANG:
	case CHANGE_HANG_END:
		world->nodes[event->a].hung = event->what == CHANGE_HANG;
		world->agents[event->a].dead = world->agents[event->a].hidden = world->nodes[event->a].hung;
		world->wrong_routes = world->tables_changed = true;
		break;
	case CHANGE_IDLE:
	case CHANGE_BUSY:
		world->nodes[event->a].idle = event->what == CHANGE_IDLE;
		world->loads_changed = true;
		break;
	case CHANGE_LOCK:
	case CHANGE_UNLOCK:
		world->nodes[event->a].locked = event->what == CHANGE_LOCK;
		break;
	case CHANGE_ADAPTIVE:
	case CHANGE_STATIC:
		world->agents[event->a].adaptive = event->what == CHANGE_ADAPTIVE;
		break;
	case CHANGE_ERRORS:
		add_source(world, event);
		break;
	case CHANGE_ERRORS_END:
		end_source(world, event->a, event->n);
		break;
	case CHANGE_CLEAR:
		clear(world, event);
		break;
	case CHANGE_SWAP:
		swap_cables(world, event->a, event->b);
		break;
	case CHANGE_UNPLUG:
		unplug(world, event->a);
		break;
	case CHANGE_JOB_START:
	case CHANGE_JOB_STOP:
		world->jobs[event->a].runs = event->what == CHANGE_JOB_START;
		world->loads_changed = true;
		break;
	case CHANGE_JOB_PACE:
		/* It begins with an iteration. */
		world->jobs[event->a].pace = event->x;
		world->jobs[event->a].phase_us = -event->at_us;
		break;
	case CHANGE_JOB_LEAVE:
		world->jobs[event->a].left[event->b] = true;
		world->loads_changed = true;
		break;
	default:
		apply_route(world, event);
	}
}
