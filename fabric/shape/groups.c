/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Direction of each port, and the groups of ports among which traffic can be distributed. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "fabric/shape/build.h"

static uint8_t way_of(const struct shape_build *build, const struct port *port)
{
	const struct fabric *fabric = build->fabric;
	const struct shape_node *nodes = build->shape->nodes;
	uint32_t other;
	bool from_switch = fabric->nodes[port->node].type == NODE_SWITCH, to_switch;

	if (port->peer == FABRIC_NONE)
		return WAY_NONE;
	other = fabric->ports[port->peer].node;
	to_switch = fabric->nodes[other].type == NODE_SWITCH;
	if (!from_switch)
		return to_switch ? WAY_SWITCH : WAY_ACROSS;
	if (!to_switch)
		return WAY_HOST;
	if (!nodes[other].tier || nodes[other].tier == nodes[port->node].tier || !nodes[port->node].tier)
		return WAY_ACROSS;
	return nodes[other].tier > nodes[port->node].tier ? WAY_UP : WAY_DOWN;
}

/*
 * Groups of one switch during construction. @slot: by node, its group + 1; all 0 between switches.
 */
struct grouping {
	struct shape_build *build;
	uint32_t *slot;
	uint32_t members;
};

static uint32_t add_group(struct grouping *grouping, uint8_t kind, uint32_t node, uint32_t peer, uint32_t links)
{
	struct shape *shape = grouping->build->shape;
	struct shape_group *group = &shape->groups[shape->group_count];

	*group = (struct shape_group){
		.kind = kind, .tier = shape->nodes[node].tier, .node = node, .peer = peer,
		.first = grouping->members, .built = links,
	};
	grouping->members += links;
	return (uint32_t)shape->group_count++;
}

static void group_switch(struct grouping *grouping, uint32_t node)
{
	struct shape_build *build = grouping->build;
	const struct fabric *fabric = build->fabric;
	const struct node *self = &fabric->nodes[node];
	struct shape *shape = build->shape;
	uint32_t up = 0;
	uint8_t tier = shape->nodes[node].tier;

	for (uint32_t i = build->first_near[node]; i < build->first_near[node + 1]; i++)
		if (tier && shape->nodes[build->near[i].node].tier > tier)
			up += build->near[i].links;
	if (up)
		shape->nodes[node].up_group = add_group(grouping, GROUP_UP, node, FABRIC_NONE, up);
	for (uint32_t i = build->first_near[node]; i < build->first_near[node + 1]; i++) {
		const struct near *near = &build->near[i];
		uint8_t other = shape->nodes[near->node].tier;

		if (tier && other > tier)
			grouping->slot[near->node] = shape->nodes[node].up_group + 1;
		else
			grouping->slot[near->node] =
				add_group(grouping, tier && other && other < tier ? GROUP_DOWN : GROUP_ACROSS, node,
					  near->node, near->links) + 1;
	}
	for (uint32_t i = self->first_port; i < self->first_port + self->ports; i++) {
		struct shape_group *group;
		uint32_t slot;

		if (fabric->ports[i].peer == FABRIC_NONE)
			continue;
		slot = grouping->slot[fabric->ports[fabric->ports[i].peer].node];
		if (!slot)
			continue;
		group = &shape->groups[slot - 1];
		shape->members[group->first + group->count++] = i;
		shape->ports[i].group = slot - 1;
	}
	for (uint32_t i = build->first_near[node]; i < build->first_near[node + 1]; i++)
		grouping->slot[build->near[i].node] = 0;
}

int shape_find_groups(struct shape_build *build)
{
	const struct fabric *fabric = build->fabric;
	struct shape *shape = build->shape;
	struct grouping grouping = {
		.build = build, .slot = calloc(fabric->node_count + 1, sizeof(*grouping.slot)),
	};
	uint32_t pairs = build->first_near[fabric->node_count];

	/* At most one group for each neighbor. */
	shape->groups = shape_memory(shape, pairs, sizeof(*shape->groups));
	shape->members = shape_memory(shape, fabric->port_count, sizeof(*shape->members));
	if (!grouping.slot || !shape->groups || !shape->members) {
		free(grouping.slot);
		return ERR_NOMEM;
	}
	for (uint32_t i = 0; i < fabric->port_count; i++)
		shape->ports[i].way = way_of(build, &fabric->ports[i]);
	for (uint32_t i = 0; i < build->switch_count; i++)
		group_switch(&grouping, build->switches[i]);
	free(grouping.slot);
	return 0;
}
