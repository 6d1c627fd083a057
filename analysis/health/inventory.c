/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Nodes, hosts and ports by identity (GUID, name, port number); they persist across topologies. */
#include <stdlib.h>
#include <string.h>

#include "analysis/health/state.h"
#include "base/array.h"
#include "base/err.h"
#include "fabric/names.h"
#include "fabric/shape.h"

void health_inventory_done(struct health *health)
{
	for (size_t i = 0; i < health->node_count; i++)
		free(health->nodes[i].name);
	for (size_t i = 0; i < health->host_count; i++)
		free(health->hosts[i].name);
	free(health->nodes);
	free(health->ports);
	free(health->hosts);
	free(health->port_of);
	free(health->trackers);
	free(health->window.loads);
	free(health->balance.loads);
	free(health->balance.adaptive);
	free(health->resets.list);
	free(health->departed);
	free(health->routes.holes);
	map_done(&health->by_guid);
	map_done(&health->host_by_name);
}

bool health_copy_name(char **name, const char *now)
{
	char *copy;

	if (*name && !strcmp(*name, now))
		return true;
	copy = strdup(now);
	if (!copy)
		return false;
	free(*name);
	*name = copy;
	return true;
}

/* FNV-1a; on a collision the next free key is used. */
static uint64_t hash_name(const char *name)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (; *name; name++)
		hash = (hash ^ (uint8_t)*name) * UINT64_C(0x100000001b3);
	return hash;
}

uint32_t health_find_host(struct health *health, const char *name)
{
	uint64_t hash = hash_name(name);
	struct health_host *grown;
	uint32_t at;

	for (; map_get(&health->host_by_name, hash, &at); hash++)
		if (!strcmp(health->hosts[at].name, name))
			return at;
	grown = array_grow(health->hosts, health->host_count, &health->host_capacity, sizeof(*grown));
	if (!grown)
		return HEALTH_NONE;
	health->hosts = grown;
	at = (uint32_t)health->host_count;
	grown[at] = (struct health_host){ .first = HEALTH_NONE, .charge_until_us = HEALTH_LONG_AGO,
					  .restart_us = HEALTH_LONG_AGO };
	if (!health_copy_name(&grown[at].name, name) || map_put(&health->host_by_name, hash, at) < 0) {
		free(grown[at].name);
		return HEALTH_NONE;
	}
	health->host_count++;
	return at;
}

/* Add the ports of a node, which are consecutive. */
static bool add_ports(struct health *health, uint32_t node, uint32_t slots)
{
	uint32_t first = (uint32_t)health->port_count;

	for (uint32_t i = 0; i < slots; i++) {
		struct health_port *grown = array_grow(health->ports, health->port_count, &health->port_capacity,
						       sizeof(*grown));

		if (!grown) {
			health->port_count = first;
			return false;
		}
		health->ports = grown;
		grown[health->port_count++] = (struct health_port){
			.node = node, .peer = HEALTH_NONE, .tracker = HEALTH_NONE, .num = (uint8_t)i,
			.changed_us = HEALTH_LONG_AGO,
		};
	}
	health->nodes[node].first_port = first;
	health->nodes[node].slots = slots;
	return true;
}

static uint32_t find_node(struct health *health, uint64_t guid)
{
	uint32_t at;

	return map_get(&health->by_guid, guid, &at) ? at : HEALTH_NONE;
}

uint32_t health_add_node(struct health *health, uint64_t guid, uint32_t slots)
{
	struct health_node *grown = array_grow(health->nodes, health->node_count, &health->node_capacity,
					       sizeof(*grown));
	uint32_t at = (uint32_t)health->node_count;

	if (!grown)
		return HEALTH_NONE;
	health->nodes = grown;
	grown[at] = (struct health_node){
		.guid = guid, .host = HEALTH_NONE, .host_next = HEALTH_NONE, .now = FABRIC_NONE,
		.read_us = HEALTH_LONG_AGO, .table_next_us = HEALTH_LONG_AGO,
		.suspect_port = HEALTH_NONE,
	};
	if (!add_ports(health, at, slots) || map_put(&health->by_guid, guid, at) < 0)
		return HEALTH_NONE;
	health->node_count++;
	return at;
}

/*
 * A node has more ports than before (it was split): move them, and update the references to them.
 */
static bool widen(struct health *health, uint32_t node, uint32_t slots)
{
	uint32_t from = health->nodes[node].first_port, had = health->nodes[node].slots;

	if (!add_ports(health, node, slots))
		return false;
	for (uint32_t i = 0; i < had; i++) {
		struct health_port *port = &health->ports[health->nodes[node].first_port + i];

		*port = health->ports[from + i];
		if (port->peer != HEALTH_NONE)
			health->ports[port->peer].peer = health->nodes[node].first_port + i;
		if (port->tracker != HEALTH_NONE)
			health->trackers[port->tracker].port = health->nodes[node].first_port + i;
		health->ports[from + i] = (struct health_port){ .node = node, .peer = HEALTH_NONE,
								.tracker = HEALTH_NONE, .num = (uint8_t)i };
	}
	return true;
}

static int update_node(struct health *health, const struct fabric *fabric, const struct shape *shape, uint32_t now)
{
	char shown[NODE_NAME_SIZE];
	const struct node *from = &fabric->nodes[now];
	uint32_t slots = (uint32_t)from->port_count + 1, at = find_node(health, from->guid);
	struct health_node *node;

	if (at == HEALTH_NONE) {
		at = health_add_node(health, from->guid, slots);
		if (at == HEALTH_NONE)
			return ERR_NOMEM;
		health->changes.nodes_added++;
	} else if (health->nodes[at].slots < slots && !widen(health, at, slots)) {
		return ERR_NOMEM;
	}
	node = &health->nodes[at];
	node->now = now;
	node->type = from->type;
	node->system_guid = from->system_guid;
	node->class = shape->nodes[now].class;
	if (shape->nodes[now].tier || !node->tier)
		node->tier = shape->nodes[now].tier;
	/* The displayed name: of a managed switch without its model. */
	names_short(from->name, shown);
	if (!health_copy_name(&node->name, shown))
		return ERR_NOMEM;
	node->host = HEALTH_NONE;
	if (shape->nodes[now].host != SHAPE_NONE) {
		node->host = health_find_host(health, shape->hosts[shape->nodes[now].host].name);
		if (node->host == HEALTH_NONE)
			return ERR_NOMEM;
		health->hosts[node->host].class = node->class;
	}
	return 0;
}

static int map_ports(struct health *health, const struct fabric *fabric)
{
	if (fabric->port_count > health->port_of_capacity) {
		uint32_t *grown = reallocarray(health->port_of, fabric->port_count, sizeof(*grown));

		if (!grown)
			return ERR_NOMEM;
		health->port_of = grown;
		health->port_of_capacity = fabric->port_count;
	}
	for (uint32_t i = 0; i < health->node_count; i++) {
		const struct health_node *node = &health->nodes[i];
		const struct node *now;

		if (node->now == FABRIC_NONE)
			continue;
		now = &fabric->nodes[node->now];
		for (uint32_t p = now->first_port; p < now->first_port + now->ports; p++)
			health->port_of[p] = node->first_port + fabric->ports[p].num;
	}
	return 0;
}

/* Disconnect a port from its former peer. */
static void forget_cable(struct health *health, struct health_port *port)
{
	if (port->peer == HEALTH_NONE)
		return;
	health->ports[port->peer].peer = HEALTH_NONE;
	health->ports[port->peer].link = LINK_NEVER_UP;
	port->peer = HEALTH_NONE;
}

static void set_peer(struct health *health, uint32_t at, uint32_t peer)
{
	struct health_port *port = &health->ports[at], *other = &health->ports[peer];

	if (port->peer == peer)
		return;
	if (health->generation > 1) {
		bool moved = port->peer != HEALTH_NONE || other->peer != HEALTH_NONE;

		health->changes.links_moved += moved;
		health->changes.links_added += !moved;
	}
	forget_cable(health, port);
	forget_cable(health, other);
	port->peer = peer;
	other->peer = at;
	/* State and errors belong to the former cable. */
	port->link = other->link = LINK_NEVER_UP;
	if (port->tracker != HEALTH_NONE)
		health_tracker_init(&health->trackers[port->tracker], at);
	if (other->tracker != HEALTH_NONE)
		health_tracker_init(&health->trackers[other->tracker], peer);
}

static void set_link(struct health *health, struct health_port *port, bool up)
{
	enum health_link was = port->link;

	if (up == (was == LINK_IS_UP) || (!up && was == LINK_NEVER_UP))
		return;
	port->link = up ? LINK_IS_UP : LINK_IS_DOWN;
	if (up && was == LINK_IS_DOWN)
		port->returned = true;
	/* When a link that is up at the first sight came up is unknown. */
	if (!up)
		port->changed_us = health->last_us;
	else
		port->changed_us = was == LINK_IS_DOWN || health->step ? health->now_us : HEALTH_LONG_AGO;
	port->changed_wall_us = health->wall_us;
}

/* Update a port from this fabric. */
static void update_port(struct health *health, const struct fabric *fabric, const struct shape *shape, uint32_t p)
{
	const struct port *now = &fabric->ports[p];
	struct health_port *port = &health->ports[health->port_of[p]];

	if (now->peer != FABRIC_NONE) {
		set_peer(health, health->port_of[p], health->port_of[now->peer]);
		port->way = shape->ports[p].way;
	}
	if (now->state == PORT_STATE_UNKNOWN)
		return;
	if (now->state >= PORT_INIT && now->peer != FABRIC_NONE) {
		set_link(health, port, true);
		port->width = now->width;
		port->speed = now->speed;
	} else if (now->state < PORT_INIT) {
		set_link(health, port, false);
	}
}

/* Links of a node that left the fabric are down if the other end is down, or left as well. */
static void update_absent(struct health *health, const struct health_node *node)
{
	for (uint32_t i = node->first_port; i < node->first_port + node->slots; i++) {
		struct health_port *port = &health->ports[i];
		const struct health_port *peer;

		if (port->link != LINK_IS_UP || port->peer == HEALTH_NONE)
			continue;
		peer = &health->ports[port->peer];
		if (peer->link == LINK_IS_DOWN || health->nodes[peer->node].now == FABRIC_NONE) {
			set_link(health, port, false);
			health->changes.links_removed++;
		}
	}
}

static void list_hosts(struct health *health)
{
	for (size_t i = 0; i < health->host_count; i++)
		health->hosts[i].first = HEALTH_NONE;
	for (size_t i = health->node_count; i-- > 0;) {
		struct health_node *node = &health->nodes[i];

		if (node->host == HEALTH_NONE)
			continue;
		node->host_next = health->hosts[node->host].first;
		health->hosts[node->host].first = (uint32_t)i;
	}
}

static void count_down(struct health *health)
{
	health->down_ports = 0;
	for (size_t i = 0; i < health->port_count; i++)
		health->down_ports += health->ports[i].link == LINK_IS_DOWN && health->ports[i].peer != HEALTH_NONE;
}

int health_update_inventory(struct health *health)
{
	const struct fabric *fabric = health->input->fabric;
	const struct shape *shape = health->input->shape;

	health->changes.nodes_added = health->changes.nodes_removed = 0;
	health->changes.links_added = health->changes.links_removed = health->changes.links_moved = 0;
	if (health->generation && !health->input->topology_changed && fabric == health->fabric)
		return 0;
	health->fabric = fabric;
	health->generation++;
	health->unidentified = fabric_count_unidentified(fabric);
	for (uint32_t i = 0; i < health->node_count; i++) {
		health->changes.nodes_removed += health->nodes[i].now != FABRIC_NONE &&
				      fabric_find_node(fabric, health->nodes[i].guid) == FABRIC_NONE;
		health->nodes[i].now = FABRIC_NONE;
	}
	for (uint32_t i = 0; i < fabric->node_count; i++)
		if (update_node(health, fabric, shape, i) < 0)
			return ERR_NOMEM;
	if (health->generation == 1)
		health->changes.nodes_added = 0;
	if (map_ports(health, fabric) < 0)
		return ERR_NOMEM;
	for (uint32_t i = 0; i < fabric->port_count; i++)
		update_port(health, fabric, shape, i);
	for (uint32_t i = 0; i < health->node_count; i++)
		if (health->nodes[i].now == FABRIC_NONE)
			update_absent(health, &health->nodes[i]);
	list_hosts(health);
	count_down(health);
	health_find_degraded(health);
	return 0;
}

bool health_is_trunk(const struct health *health, uint32_t port)
{
	const struct health_port *end = &health->ports[port];

	return end->peer != HEALTH_NONE && health->nodes[end->node].type == NODE_SWITCH &&
	       health->nodes[health->ports[end->peer].node].type == NODE_SWITCH;
}

bool health_link_is_down(const struct health *health, const struct health_port *port)
{
	return port->peer != HEALTH_NONE &&
	       (port->link == LINK_IS_DOWN || health->ports[port->peer].link == LINK_IS_DOWN);
}

uint32_t health_edge_host(const struct health *health, uint32_t port)
{
	const struct health_port *end = &health->ports[port];

	if (health->nodes[end->node].host != HEALTH_NONE)
		return health->nodes[end->node].host;
	return end->peer == HEALTH_NONE ? HEALTH_NONE : health->nodes[health->ports[end->peer].node].host;
}

bool health_is_charged(const struct health *health, uint32_t port)
{
	uint32_t host = health_edge_host(health, port);

	return host != HEALTH_NONE &&
	       (health->hosts[host].down || health->now_us < health->hosts[host].charge_until_us);
}

void health_count_responses(struct health *health)
{
	const struct health_input *input = health->input;

	for (size_t i = 0; i < health->node_count; i++)
		health->nodes[i].polled = health->nodes[i].responded = health->nodes[i].unread = 0;
	for (size_t i = 0; i < input->sample_count; i++) {
		const struct health_sample *sample = &input->samples[i];
		struct health_node *node = &health->nodes[health->ports[health->port_of[sample->port]].node];

		node->responded += sample->status == SAMPLE_OK;
		node->polled += sample->status == SAMPLE_OK || sample->status == SAMPLE_SILENT ||
			       sample->status == SAMPLE_BACKOFF;
		node->unread += sample->status == SAMPLE_UNFINISHED;
	}
}
