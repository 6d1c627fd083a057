/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Nodes, hosts and ports by identity (GUID, name, port number); they persist across topologies. */
#include <stdlib.h>
#include <string.h>

#include "analysis/health/state.h"
#include "base/array.h"
#include "base/err.h"
#include "fabric/shape.h"

static void free_node(struct health_node *node)
{
	for (uint32_t i = 0; i < node->slots; i++)
		free(node->ports[i].tracker);
	free(node->ports);
	free(node->name);
	free(node);
}

void health_inventory_done(struct health *health)
{
	for (size_t i = 0; i < health->node_count; i++)
		free_node(health->nodes[i]);
	for (size_t i = 0; i < health->host_count; i++) {
		free(health->hosts[i]->name);
		free(health->hosts[i]);
	}
	free(health->nodes);
	free(health->hosts);
	free(health->port_of);
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

struct health_host *health_find_host(struct health *health, const char *name)
{
	uint64_t hash = map_hash_text(MAP_HASH_START, name); /* on a collision the next free key is used */
	struct health_host **grown, *host;
	uint32_t at;

	for (; map_get(&health->host_by_name, hash, &at); hash++)
		if (!strcmp(health->hosts[at]->name, name))
			return health->hosts[at];
	grown = array_grow(health->hosts, health->host_count, &health->host_capacity, sizeof(*grown));
	if (!grown)
		return NULL;
	health->hosts = grown;
	host = calloc(1, sizeof(*host));
	if (!host || !health_copy_name(&host->name, name) ||
	    map_put(&health->host_by_name, hash, (uint32_t)health->host_count) < 0) {
		free(host ? host->name : NULL);
		free(host);
		return NULL;
	}
	host->charge_until_us = host->restart_us = HEALTH_LONG_AGO;
	return grown[health->host_count++] = host;
}

struct health_node *health_find_node(const struct health *health, uint64_t guid)
{
	uint32_t at;

	return map_get(&health->by_guid, guid, &at) ? health->nodes[at] : NULL;
}

struct health_node *health_own_node(const struct health *health)
{
	const struct fabric *fabric = health->fabric;
	uint32_t own = fabric->from_node;

	return own == FABRIC_NONE ? NULL : health_find_node(health, fabric->nodes[own].guid);
}

struct health_port *health_next_port(const struct health *health, const struct health_port *port)
{
	size_t next = port ? port->node->index + 1 : 0;

	if (port && port->num + 1u < port->node->slots)
		return &port->node->ports[port->num + 1];
	return next < health->node_count ? health->nodes[next]->ports : NULL;
}

/*
 * Set the number of ports of a node. References to the ports it had before (it was split) are
 * updated.
 */
static bool widen(struct health_node *node, uint32_t slots)
{
	struct health_port *ports = calloc(slots, sizeof(*ports));

	if (!ports)
		return false;
	for (uint32_t i = 0; i < slots; i++) {
		ports[i] = (struct health_port){ .changed_us = HEALTH_LONG_AGO };
		if (i < node->slots)
			ports[i] = node->ports[i];
		if (ports[i].peer)
			ports[i].peer->peer = &ports[i];
		ports[i].node = node;
		ports[i].num = (uint8_t)i;
	}
	free(node->ports);
	node->ports = ports;
	node->slots = slots;
	node->suspect = NULL;
	return true;
}

struct health_node *health_add_node(struct health *health, uint64_t guid, uint32_t slots)
{
	struct health_node **grown = array_grow(health->nodes, health->node_count, &health->node_capacity,
						sizeof(*grown));
	struct health_node *node;

	if (!grown)
		return NULL;
	health->nodes = grown;
	node = calloc(1, sizeof(*node));
	if (!node || !widen(node, slots) || map_put(&health->by_guid, guid, (uint32_t)health->node_count) < 0) {
		free(node ? node->ports : NULL);
		free(node);
		return NULL;
	}
	node->guid = guid;
	node->index = health->node_count;
	node->now = FABRIC_NONE;
	node->read_us = node->table_next_us = HEALTH_LONG_AGO;
	return grown[health->node_count++] = node;
}

static int update_node(struct health *health, const struct fabric *fabric, const struct shape *shape, uint32_t now)
{
	const struct node *from = &fabric->nodes[now];
	struct health_node *node = health_find_node(health, from->guid);
	uint32_t slots = (uint32_t)from->port_count + 1;

	if (!node) {
		node = health_add_node(health, from->guid, slots);
		health->changes.nodes_added++;
	} else if (node->slots < slots && !widen(node, slots)) {
		return ERR_NOMEM;
	}
	if (!node)
		return ERR_NOMEM;
	node->now = now;
	node->type = from->type;
	node->system_guid = from->system_guid;
	node->class = shape->nodes[now].class;
	if (shape->nodes[now].tier || !node->tier)
		node->tier = shape->nodes[now].tier;
	if (!health_copy_name(&node->name, shape->fabric->names.shown[now]))
		return ERR_NOMEM;
	node->host = NULL;
	if (shape->nodes[now].host != SHAPE_NONE) {
		node->host = health_find_host(health, shape->hosts[shape->nodes[now].host].name);
		if (!node->host)
			return ERR_NOMEM;
		node->host->class = node->class;
	}
	return 0;
}

static int map_ports(struct health *health, const struct fabric *fabric)
{
	struct health_port **grown = reallocarray(health->port_of, fabric->port_count + 1,
						   sizeof(struct health_port *));

	if (!grown)
		return ERR_NOMEM;
	health->port_of = grown;
	for (uint32_t i = 0; i < health->node_count; i++) {
		const struct health_node *node = health->nodes[i];
		const struct node *now;

		if (node->now == FABRIC_NONE)
			continue;
		now = &fabric->nodes[node->now];
		for (uint32_t p = now->first_port; p < now->first_port + now->ports; p++)
			grown[p] = &node->ports[fabric->ports[p].num];
	}
	return 0;
}

/* Disconnect a port from its former peer. */
static void forget_cable(struct health_port *port)
{
	if (!port->peer)
		return;
	port->peer->peer = NULL;
	port->peer->link = LINK_NEVER_UP;
	port->peer = NULL;
}

static void set_peer(struct health *health, struct health_port *port, struct health_port *peer)
{
	if (port->peer == peer)
		return;
	if (health->generation > 1) {
		bool moved = port->peer || peer->peer;

		health->changes.links_moved += moved;
		health->changes.links_added += !moved;
	}
	forget_cable(port);
	forget_cable(peer);
	port->peer = peer;
	peer->peer = port;
	/* State and errors belong to the former cable. */
	port->link = peer->link = LINK_NEVER_UP;
	if (port->tracker)
		health_tracker_init(port->tracker);
	if (peer->tracker)
		health_tracker_init(peer->tracker);
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
	port->began = health_now(health);
}

/* Update a port from this fabric. */
static void update_port(struct health *health, const struct fabric *fabric, const struct shape *shape, uint32_t p)
{
	const struct port *now = &fabric->ports[p];
	struct health_port *port = health->port_of[p];

	if (now->peer != FABRIC_NONE) {
		set_peer(health, port, health->port_of[now->peer]);
		port->way = shape->ports[p].way;
	}
	if (now->state == PORT_STATE_UNKNOWN)
		return;
	if (now->state >= PORT_INIT && now->peer != FABRIC_NONE) {
		set_link(health, port, true);
		/* The load of this window has no single rate. */
		port->load_lost |= port->width && (port->width != now->width || port->speed != now->speed);
		port->width = now->width;
		port->speed = now->speed;
	} else if (now->state < PORT_INIT) {
		set_link(health, port, false);
	}
}

/* Links of a node that left the fabric are down if the other end is down, or left as well. */
static void update_absent(struct health *health, const struct health_node *node)
{
	for (uint32_t i = 0; i < node->slots; i++) {
		struct health_port *port = &node->ports[i];

		if (port->link != LINK_IS_UP || !port->peer)
			continue;
		if (port->peer->link == LINK_IS_DOWN || port->peer->node->now == FABRIC_NONE) {
			set_link(health, port, false);
			health->changes.links_removed++;
		}
	}
}

static void list_hosts(struct health *health)
{
	for (size_t i = 0; i < health->host_count; i++)
		health->hosts[i]->first = NULL;
	for (size_t i = health->node_count; i-- > 0;) {
		struct health_node *node = health->nodes[i];

		if (!node->host)
			continue;
		node->host_next = node->host->first;
		node->host->first = node;
	}
}

static void count_down(struct health *health)
{
	health->down_ports = 0;
	for (struct health_port *port = health_next_port(health, NULL); port; port = health_next_port(health, port))
		health->down_ports += port->link == LINK_IS_DOWN && port->peer;
}

int health_update_inventory(struct health *health)
{
	const struct fabric *fabric = health->input->fabric;
	const struct shape *shape = health->input->shape;

	memset(&health->changes, 0, sizeof(health->changes));
	if (health->generation && !health->input->topology_changed && fabric == health->fabric)
		return 0;
	health->fabric = fabric;
	health->generation++;
	health->unidentified = fabric_count_unidentified(fabric);
	for (uint32_t i = 0; i < health->node_count; i++) {
		struct health_node *node = health->nodes[i];

		health->changes.nodes_removed += node->now != FABRIC_NONE &&
						 fabric_find_node(fabric, node->guid) == FABRIC_NONE;
		node->now = FABRIC_NONE;
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
		if (health->nodes[i]->now == FABRIC_NONE)
			update_absent(health, health->nodes[i]);
	list_hosts(health);
	count_down(health);
	health_find_degraded(health);
	return 0;
}

bool health_is_trunk(const struct health_port *port)
{
	return port->peer && port->node->type == NODE_SWITCH && port->peer->node->type == NODE_SWITCH;
}

/* Most links of a class run at the expected rate. */
unsigned health_link_class(const struct health_port *port)
{
	const struct health_node *other = port->peer->node;
	unsigned far = other->type == NODE_SWITCH ? other->tier : 8u + other->class;

	return (port->node->tier & 7u) << 4 | (far & 15u);
}

bool health_link_is_down(const struct health_port *port)
{
	return port->peer && (port->link == LINK_IS_DOWN || port->peer->link == LINK_IS_DOWN);
}

struct health_host *health_edge_host(const struct health_port *port)
{
	return port->node->host || !port->peer ? port->node->host : port->peer->node->host;
}

bool health_is_charged(const struct health *health, const struct health_port *port)
{
	const struct health_host *host = health_edge_host(port);

	return host && (host->down || health->now_us < host->charge_until_us);
}
