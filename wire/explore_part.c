/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "wire/explore_part.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/err.h"
#include "fabric/fabric.h"
#include "wire/merge.h"
#include "wire/smp.h"

/* A part cannot be explored by itself: pending queries complete. */
void part_give_up(struct explore *explore, const char *fmt, ...)
{
	char reason[200];
	va_list args;

	if (explore->code < 0)
		return;
	va_start(args, fmt);
	vsnprintf(reason, sizeof(reason), fmt, args);
	va_end(args);
	explore->code = err_set(explore->err, ERR_UNAVAILABLE, "changed ports cannot be explored by themselves: %s",
				reason);
}

/* The port of the last topology that was cabled to this one, or FABRIC_NONE. */
static uint32_t last_peer(const struct explore *explore, uint64_t guid, uint8_t num)
{
	uint32_t port = fabric_find_port(explore->base, guid, num);

	return port == FABRIC_NONE ? FABRIC_NONE : explore->base->ports[port].peer;
}

/* PortInfo of a port of a border node. */
static void read_port(struct explore *explore, uint32_t index, uint8_t num, const struct query *found_by)
{
	struct survey_node *node = &explore->survey.nodes[index];

	/* The capabilities of port 0 determine the speeds of the others. */
	if (num && node->node.type == NODE_SWITCH)
		read_port(explore, index, 0, found_by);
	if (node->ports[num].requested)
		return;
	node->ports[num].requested = true;
	explore_query_node(explore, QUERY_PORT_INFO, index, num, found_by);
}

/* Read the listed ports of a node that was found. */
static void read_listed(struct explore *explore, uint32_t index)
{
	struct survey_node *node = &explore->survey.nodes[index];
	const struct query from = { .path = node->path, .mkey = explore->mkey };

	for (size_t i = 0; i < explore->port_count && node->border; i++) {
		const struct explore_port *port = &explore->ports[i];
		unsigned first = port->num ? port->num : 1, end = port->num ? port->num : node->node.port_count;

		if (port->node_guid != node->node.guid)
			continue;
		for (unsigned num = first; num <= end && num <= node->node.port_count; num++)
			read_port(explore, index, (uint8_t)num, &from);
		if (port->num && port->num <= node->node.port_count)
			node->ports[port->num].listed = true;
	}
}

/* Verify that a switch of the last topology is still there. */
static void query_border(struct explore *explore, uint32_t index)
{
	const struct node *node = &explore->base->nodes[index];
	uint64_t mkey = explore_mkey_of(explore, node->guid, 0);

	if (explore->queried[index])
		return;
	explore->queried[index] = true;
	if (!mkey && explore->keys_differ) {
		part_give_up(explore, "the M_Key of switch 0x%016" PRIx64 " is unknown", node->guid);
		return;
	}
	explore_start_query(explore, &(struct query){
		.kind = QUERY_BORDER, .node = index, .path = explore->paths[index],
		.request_node = explore->request_nodes++, .mkey = mkey ? mkey : explore->mkey });
}

/*
 * Read a port of a switch, if it was one of the last topology. Without a path to the switch the port at
 * the other end of the cable leads to it.
 */
static void list_port(struct explore *explore, uint64_t guid, uint8_t num)
{
	uint32_t base = fabric_find_node(explore->base, guid), index;
	struct explore_port *ports;

	if (base == FABRIC_NONE || explore->base->nodes[base].type != NODE_SWITCH)
		return;
	for (size_t i = 0; i < explore->port_count; i++)
		if (explore->ports[i].node_guid == guid && explore->ports[i].num == num)
			return;
	ports = array_grow(explore->ports, explore->port_count, &explore->port_capacity, sizeof(*ports));
	if (!ports) {
		explore->code = err_nomem(explore->err);
		return;
	}
	explore->ports = ports;
	ports[explore->port_count++] = (struct explore_port){ guid, num };
	if (map_get(&explore->survey.by_guid, guid, &index))
		read_listed(explore, index);
	else if (explore->paths[base].hops != PATH_NONE)
		query_border(explore, base);
	else
		part_list_last_peer(explore, guid, num);
}

/* The link of a port has changed: read the other end of its last one. */
void part_list_last_peer(struct explore *explore, uint64_t guid, uint8_t num)
{
	uint32_t peer = last_peer(explore, guid, num);

	if (peer != FABRIC_NONE)
		list_port(explore, explore->base->nodes[explore->base->ports[peer].node].guid,
			  explore->base->ports[peer].num);
}

/* A node of the last topology: only some ports are read. Return: false: it must be queried completely. */
static bool become_border(struct explore *explore, uint32_t index)
{
	struct survey_node *node = &explore->survey.nodes[index];
	uint32_t base = fabric_find_node(explore->base, node->node.guid);

	node->border = base != FABRIC_NONE && merge_is_complete(explore->base, base) &&
		       explore->base->nodes[base].type == node->node.type &&
		       explore->base->nodes[base].port_count == node->node.port_count;
	return node->border;
}

void part_handle_border(struct explore *explore, const struct query *query, const uint8_t mad[MAD_SIZE])
{
	struct smp_node info = smp_read_node(mad + SMP_DATA_OFFSET);
	uint64_t guid = explore->base->nodes[query->node].guid;
	uint32_t found;
	bool is_new;
	int code;

	if (info.node.guid != guid) {
		part_give_up(explore, "node 0x%016" PRIx64 " is where switch 0x%016" PRIx64 " was",
			     info.node.guid, guid);
		return;
	}
	code = survey_add(&explore->survey, &info, &query->path, query->request_node, &found, &is_new, explore->err);
	if (code < 0)
		explore->code = code;
	else if (code > 0)
		part_give_up(explore, "inconsistent NodeInfo of switch 0x%016" PRIx64, guid);
	else if (is_new && become_border(explore, found))
		read_listed(explore, found);
	else if (is_new)
		explore_query_new_node(explore, found, info.port, query);
}

/* The node behind a port of a part: new, or known from the last topology or from another port of the part. */
void part_handle_node(struct explore *explore, const struct query *query, uint32_t found, uint8_t num, bool is_new)
{
	const struct survey_node *near = &explore->survey.nodes[query->node], *far = &explore->survey.nodes[found];
	uint64_t near_guid = near->node.guid, far_guid = far->node.guid;
	bool is_switch = far->node.type == NODE_SWITCH, listed = near->ports[query->num].listed;
	uint32_t peer = last_peer(explore, near_guid, query->num);
	bool same = peer != FABRIC_NONE && peer == fabric_find_port(explore->base, far_guid, num);

	if (is_new && !become_border(explore, found)) {
		explore_query_new_node(explore, found, num, query);
	} else if (far->border && (listed || !same)) {
		read_port(explore, found, num, query);
		if (is_new && !is_switch)
			explore_query_node(explore, QUERY_DESCRIPTION, found, num, query);
	} else if (!is_switch && !is_new && !far->border && !far->ports[num].known) {
		explore_query_node(explore, QUERY_PORT_INFO, found, num, query);
	}
	read_listed(explore, found);
	if (same)
		return;
	part_list_last_peer(explore, near_guid, query->num);
	part_list_last_peer(explore, far_guid, num);
}

/* Query the switches of the ports, along paths that avoid the ports; this host's own link cannot be avoided. */
int part_begin(struct explore *explore)
{
	const struct explore_settings *settings = explore->settings;
	const struct fabric *base = explore->base = settings->last;
	uint32_t own = base->from_node == FABRIC_NONE ? FABRIC_NONE
						      : fabric_node_port(base, base->from_node, base->from_port);
	bool *avoid = calloc(base->port_count + 1, sizeof(*avoid));
	int code;

	explore->queried = calloc(base->node_count + 1, sizeof(*explore->queried));
	if (!avoid || !explore->queried) {
		free(avoid);
		return err_nomem(explore->err);
	}
	for (size_t i = 0; i < settings->port_count; i++) {
		uint32_t port = fabric_find_port(base, settings->ports[i].node_guid, settings->ports[i].num);

		if (port != FABRIC_NONE && port != own && base->ports[port].peer != own)
			avoid[port] = settings->ports[i].num != 0;
	}
	code = paths_find(base, avoid, &explore->paths, explore->err);
	free(avoid);
	for (size_t i = 0; i < settings->port_count && code == 0; i++) {
		list_port(explore, settings->ports[i].node_guid, settings->ports[i].num);
		code = explore->code;
	}
	return code;
}

/* A port to read, whose switch no path avoiding the ports leads to, and no explored port has led to. */
static bool is_pending(const struct explore *explore, const struct explore_port *port)
{
	uint32_t index;

	return !explore->queried[fabric_find_node(explore->base, port->node_guid)] &&
	       !map_get(&explore->survey.by_guid, port->node_guid, &index);
}

/* Query switches of pending ports along paths through what was found. Return: whether there are any; an error. */
int part_query_pending(struct explore *explore)
{
	struct fabric *merged = NULL;
	struct path *paths = NULL;
	size_t pending = 0;
	int code = 0, found = 0;

	while (pending < explore->port_count && !is_pending(explore, &explore->ports[pending]))
		pending++;
	if (pending == explore->port_count)
		return 0;
	code = merge_survey(explore->base, &explore->survey, &merged, explore->err);
	if (code == 0)
		code = paths_find(merged, NULL, &paths, explore->err);
	for (; pending < explore->port_count && code == 0; pending++) {
		const struct explore_port *port = &explore->ports[pending];
		uint32_t base = fabric_find_node(explore->base, port->node_guid);
		uint32_t now = fabric_find_node(merged, port->node_guid);

		if (now == FABRIC_NONE || paths[now].hops == PATH_NONE || !is_pending(explore, port))
			continue;
		explore->paths[base] = paths[now];
		query_border(explore, base);
		code = explore->code;
		found = 1;
	}
	free(paths);
	fabric_destroy(merged);
	return code < 0 ? code : found;
}

void part_done(struct explore *explore)
{
	free(explore->paths);
	free(explore->queried);
	free(explore->ports);
}
