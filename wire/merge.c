/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "wire/merge.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "fabric/fabric.h"
#include "fabric/path.h"
#include "wire/explore.h"
#include "wire/smp.h"
#include "wire/survey.h"

static const struct survey_node *find_surveyed(const struct survey *part, uint64_t guid)
{
	uint32_t index;

	return map_get(&part->by_guid, guid, &index) ? &part->nodes[index] : NULL;
}

/* Its link is that of the survey, or it has none. */
static bool is_observed(const struct survey_node *node, uint8_t num)
{
	const struct survey_port *port = node && num <= node->node.port_count ? &node->ports[num] : NULL;

	return port && (port->linked || (port->known && (port->probed || !smp_is_link_up(port->info))));
}

static int add_border(struct fabric *to, const struct fabric *base, uint32_t index, const struct survey_node *fresh,
		      struct error *err)
{
	struct node node = base->nodes[index];
	int64_t code;

	node.kept &= !fresh;
	if (fresh && fresh->node.desc[0])
		memcpy(node.desc, fresh->node.desc, sizeof(node.desc));
	if (fresh && node.type == NODE_SWITCH && fresh->ports[0].known)
		node.lid = smp_read_base_lid(fresh->ports[0].info);
	code = fabric_add_node(to, &node, err);
	for (unsigned num = 0; num <= node.port_count && code >= 0; num++) {
		uint32_t was = fabric_node_port(base, index, (uint8_t)num);
		struct port port = { .num = (uint8_t)num };

		if (fresh && (fresh->ports[num].known || (was == FABRIC_NONE && fresh->ports[num].linked)))
			survey_read_port(fresh, (uint8_t)num, &port);
		else if (was != FABRIC_NONE)
			port = base->ports[was];
		else
			continue;
		code = fabric_add_port(to, &port, err);
	}
	return code < 0 ? (int)code : 0;
}

static int add_nodes(struct fabric *to, const struct fabric *base, const struct survey *part, struct error *err)
{
	int code = 0;

	for (uint32_t i = 0; i < base->node_count && code == 0; i++) {
		const struct survey_node *fresh = find_surveyed(part, base->nodes[i].guid);

		code = fresh && !fresh->border ? survey_add_to(fresh, to, err) : add_border(to, base, i, fresh, err);
	}
	for (size_t i = 0; i < part->count && code == 0; i++)
		if (fabric_find_node(base, part->nodes[i].node.guid) == FABRIC_NONE)
			code = survey_add_to(&part->nodes[i], to, err);
	return code;
}

static int link_ports(struct fabric *to, uint32_t one, uint32_t other, struct error *err)
{
	if (one == FABRIC_NONE || other == FABRIC_NONE || to->ports[one].peer != FABRIC_NONE ||
	    to->ports[other].peer != FABRIC_NONE)
		return 0;
	return fabric_link(to, one, other, err);
}

static int add_links(struct fabric *to, const struct fabric *base, const struct survey *part, struct error *err)
{
	int code = 0;

	for (size_t i = 0; i < part->count; i++) {
		const struct survey_node *node = &part->nodes[i];

		for (unsigned num = 1; num <= node->node.port_count && code == 0; num++) {
			const struct survey_port *port = &node->ports[num];

			if (port->linked)
				code = link_ports(to, fabric_find_port(to, node->node.guid, (uint8_t)num),
						  fabric_find_port(to, part->nodes[port->peer_node].node.guid,
								   port->peer_port), err);
		}
	}
	for (uint32_t i = 0; i < base->port_count && code == 0; i++) {
		const struct port *port = &base->ports[i], *peer;
		uint64_t guid = base->nodes[port->node].guid, peer_guid;

		if (port->peer == FABRIC_NONE || port->peer < i)
			continue;
		peer = &base->ports[port->peer];
		peer_guid = base->nodes[peer->node].guid;
		if (!is_observed(find_surveyed(part, guid), port->num) &&
		    !is_observed(find_surveyed(part, peer_guid), peer->num))
			code = link_ports(to, fabric_find_port(to, guid, port->num),
					  fabric_find_port(to, peer_guid, peer->num), err);
	}
	return code;
}

static void set_from(struct fabric *to, const struct fabric *base)
{
	to->from_node = base->from_node == FABRIC_NONE ? FABRIC_NONE
						       : fabric_find_node(to, base->nodes[base->from_node].guid);
	to->from_port = base->from_port;
}

/* The port of an HCA that has lost its link: discovery finds ports of HCAs by their links only. */
static bool is_lost_port(const struct fabric *all, const struct path *paths, uint32_t index, const struct fabric *base)
{
	const struct port *port = &all->ports[index];
	const struct node *node = &all->nodes[port->node];
	uint32_t was = fabric_find_port(base, node->guid, port->num);

	return node->type != NODE_SWITCH && was != FABRIC_NONE && base->ports[was].peer != FABRIC_NONE &&
	       (port->peer == FABRIC_NONE || paths[all->ports[port->peer].node].hops == PATH_NONE) &&
	       !(port->node == all->from_node && port->num == all->from_port);
}

/* Add what a path leads to. Return: 0; 1: that is everything, and @to has no links; ERR_NOMEM. */
static int add_reached(struct fabric *to, const struct fabric *all, const struct path *paths, const struct fabric *base,
		       struct error *err)
{
	bool complete = true;
	int64_t code = 0;

	for (uint32_t i = 0; i < all->node_count && code >= 0; i++) {
		const struct node *node = &all->nodes[i];

		complete &= paths[i].hops != PATH_NONE;
		if (paths[i].hops == PATH_NONE)
			continue;
		code = fabric_add_node(to, node, err);
		for (uint32_t p = node->first_port; p < node->first_port + node->ports && code >= 0; p++) {
			complete &= !is_lost_port(all, paths, p, base);
			if (!is_lost_port(all, paths, p, base))
				code = fabric_add_port(to, &all->ports[p], err);
		}
	}
	for (uint32_t p = 0; p < all->port_count && code >= 0 && !complete; p++) {
		const struct port *port = &all->ports[p];

		if (port->peer != FABRIC_NONE && port->peer > p)
			code = link_ports(to, fabric_find_port(to, all->nodes[port->node].guid, port->num),
					  fabric_find_port(to, all->nodes[all->ports[port->peer].node].guid,
							   all->ports[port->peer].num), err);
	}
	return code < 0 ? (int)code : complete;
}

/* Replace *all by what a path leads to. */
static int leave_out_unreached(struct fabric **all, const struct fabric *base, struct error *err)
{
	struct fabric *reached = fabric_create(err);
	struct path *paths = NULL;
	int code = reached ? paths_find(*all, NULL, &paths, err) : ERR_NOMEM;

	if (code == 0)
		code = add_reached(reached, *all, paths, base, err);
	if (code == 0) {
		set_from(reached, base);
		code = fabric_finish(reached, NULL, err);
	}
	free(paths);
	if (code != 0) {
		fabric_destroy(reached);
		return code < 0 ? code : 0;
	}
	fabric_destroy(*all);
	*all = reached;
	return 0;
}

int merge_survey(const struct fabric *base, const struct survey *part, struct fabric **ret, struct error *err)
{
	struct fabric *all = fabric_create(err);
	int code = all ? add_nodes(all, base, part, err) : ERR_NOMEM;

	if (code == 0)
		code = add_links(all, base, part, err);
	if (code == 0)
		code = fabric_finish(all, NULL, err);
	if (code == 0) {
		set_from(all, base);
		code = leave_out_unreached(&all, base, err);
	}
	if (code < 0) {
		fabric_destroy(all);
		return code;
	}
	*ret = all;
	return 0;
}

bool merge_is_complete(const struct fabric *fabric, uint32_t index)
{
	const struct node *node = &fabric->nodes[index];

	if (!node->desc[0] || !node->ports || (node->type == NODE_SWITCH && node->ports != node->port_count + 1u))
		return false;
	for (uint32_t i = node->first_port; i < node->first_port + node->ports; i++)
		if (fabric->ports[i].state == PORT_STATE_UNKNOWN)
			return false;
	return true;
}

size_t merge_find_holes(const struct fabric *fabric, struct explore_port *ret, size_t most)
{
	size_t count = 0;

	for (uint32_t i = 0; i < fabric->node_count && count < most; i++)
		if (fabric->nodes[i].type == NODE_SWITCH && !merge_is_complete(fabric, i))
			ret[count++] = (struct explore_port){ fabric->nodes[i].guid, 0 };
	for (uint32_t i = 0; i < fabric->port_count && count < most; i++) {
		const struct port *port = &fabric->ports[i];
		const struct node *node = &fabric->nodes[port->node];
		uint32_t peer = port->peer == FABRIC_NONE ? FABRIC_NONE : fabric->ports[port->peer].node;

		if (node->type != NODE_SWITCH)
			continue;
		if (port_is_unidentified(port) || (peer != FABRIC_NONE && fabric->nodes[peer].type != NODE_SWITCH &&
						   !merge_is_complete(fabric, peer)))
			ret[count++] = (struct explore_port){ node->guid, port->num };
	}
	return count;
}
