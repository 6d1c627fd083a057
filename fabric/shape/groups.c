/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Direction and cage of each port, and the groups of ports among which traffic can be distributed. */
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
		.build = build, .slot = shape_scratch(build, fabric->node_count, sizeof(*grouping.slot)),
	};

	/* At most one group for each neighbor. */
	shape->groups = shape_memory(shape, build->first_near[fabric->node_count], sizeof(*shape->groups));
	shape->members = shape_memory(shape, fabric->port_count, sizeof(*shape->members));
	if (!grouping.slot || !shape->groups || !shape->members)
		return ERR_NOMEM;
	for (uint32_t i = 0; i < fabric->port_count; i++)
		shape->ports[i].way = way_of(build, &fabric->ports[i]);
	for (uint32_t i = 0; i < build->switch_count; i++)
		group_switch(&grouping, build->switches[i]);
	return 0;
}

/*
 * Position of a port on the front panel of its switch.
 *
 * Source: NVIDIA MLNX-OS user manual 3.11.2016, "InfiniBand Interface": on Quantum a port is named
 * x/y and, split, x/y/1 and x/y/2; on Quantum-2 a cage holds two ports, "1/3/1" and "1/3/2" being
 * those of cage 3. Modules of directors have internal ports, so theirs are not named; nor are
 * devices without a public description.
 */
struct model {
	uint16_t device_id;
	uint8_t ports;     /* external ports; an aggregation node has one more */
	uint8_t per_cage;
};

/*
 * Device ids from libibnetdisc and published ibnetdiscover outputs: 0xd2f0 Quantum, 0xd2f2
 * Quantum-2.
 */
static const struct model models[] = {
	{ 0xd2f0, 40, 1 }, /* QM8700, QM8790 */
	{ 0xd2f0, 80, 2 }, /* the same, split */
	{ 0xd2f2, 64, 2 }, /* QM9700, QM9790: 32 cages */
};

static const struct model *find_model(const struct node *node)
{
	for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++)
		if (node->device_id == models[i].device_id &&
		    (node->port_count == models[i].ports || node->port_count == models[i].ports + 1))
			return &models[i];
	return NULL;
}

void shape_find_cages(struct shape_build *build)
{
	const struct fabric *fabric = build->fabric;

	for (uint32_t i = 0; i < build->switch_count; i++) {
		const struct node *node = &fabric->nodes[build->switches[i]];
		const struct model *model = find_model(node);

		/* Several ASICs with one SystemImageGUID are a director. */
		if (!model || build->asics[build->shape->nodes[build->switches[i]].box] > 1)
			continue;
		for (uint32_t j = node->first_port; j < node->first_port + node->ports; j++) {
			unsigned num = fabric->ports[j].num;

			if (!num || num > model->ports)
				continue;
			build->shape->ports[j].cage = (uint16_t)((num - 1) / model->per_cage + 1);
			if (model->per_cage > 1)
				build->shape->ports[j].split = (uint16_t)((num - 1) % model->per_cage + 1);
		}
	}
}
