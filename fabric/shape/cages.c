/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Position of a port on the front panel of its switch.
 *
 * Source: NVIDIA MLNX-OS user manual 3.11.2016, "InfiniBand Interface": on Quantum a port is named
 * x/y and, split, x/y/1 and x/y/2; on Quantum-2 a cage holds two ports, "1/3/1" and "1/3/2" being
 * those of cage 3. Modules of directors have internal ports, so theirs are not named; nor are
 * devices without a public description.
 */
#include "fabric/shape/build.h"

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

/* Several ASICs with one SystemImageGUID are a director. */
static bool shares_box(const struct shape_build *build, const uint32_t *asics, uint32_t node)
{
	return asics[build->shape->nodes[node].box] > 1;
}

void shape_find_cages(struct shape_build *build, const uint32_t *asics)
{
	const struct fabric *fabric = build->fabric;

	for (uint32_t i = 0; i < build->switch_count; i++) {
		const struct node *node = &fabric->nodes[build->switches[i]];
		const struct model *model = find_model(node);

		if (!model || shares_box(build, asics, build->switches[i]))
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
