/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Write the rails into the shape: names, order, ports and leaves. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "fabric/names.h"
#include "fabric/shape/rail_build.h"

int rail_list_init(struct shape_build *build)
{
	struct shape *shape = build->shape;

	shape->rail_ports = shape_memory(shape, build->fabric->port_count, sizeof(*shape->rail_ports));
	return shape->rail_ports ? 0 : ERR_NOMEM;
}

/* Name of a rail: from the settings, or the most frequent device name of its HCAs. */
static const char *name_rail(const struct rail_build *rails, const uint32_t *ports, uint32_t count, const char *key)
{
	const struct shape_build *build = rails->build;
	const char *kinds[8], *slash = rails->by_port ? strrchr(key, '/') : NULL;
	uint32_t times[8], known = 0, best = 0, j;
	char text[NODE_NAME_SIZE + 16];

	if (key[0] == '=')
		return key + 1;
	for (uint32_t i = 0; i < count; i++) {
		const char *device = build->device_of[build->fabric->ports[ports[i]].node];

		for (j = 0; j < known && strcmp(kinds[j], device);)
			j++;
		if (!device[0] || j == 8)
			continue;
		if (j == known) {
			kinds[known] = device;
			times[known++] = 0;
		}
		times[j]++;
	}
	for (uint32_t i = 1; i < known; i++)
		if (times[i] > times[best])
			best = i;
	snprintf(text, sizeof(text), "%s%s", known ? kinds[best] : key + 1, slash ? slash : "");
	return shape_string(build->shape, text, strlen(text));
}

struct listed {
	struct shape_rail rail;
	uint32_t number; /* within its class */
};

static int compare_rails(const void *a, const void *b)
{
	const struct listed *x = a, *y = b;
	int difference = names_compare(x->rail.name, y->rail.name);

	return difference ? difference : x->number < y->number ? -1 : 1;
}

/*
 * Ports of each rail in order of host; ports assigned by their leaf follow those assigned by name.
 */
static uint32_t list_ports(struct rail_build *rails, uint32_t rail, uint32_t *ports)
{
	const struct shape *shape = rails->build->shape;
	const struct fabric *fabric = rails->build->fabric;
	uint32_t count = 0;

	for (uint32_t i = 0; i < shape->host_count; i++) {
		const struct shape_host *host = &shape->hosts[i];

		if (host->class != rails->class)
			continue;
		for (uint32_t j = host->first; j < host->first + host->count; j++) {
			const struct node *node = &fabric->nodes[shape->host_nodes[j]];

			for (uint32_t k = node->first_port; k < node->first_port + node->ports; k++)
				if (rails->rail[k] == rail || rails->adopted[k] == rail)
					ports[count++] = k;
		}
	}
	return count;
}

static void list_leafs(const struct rail_build *rails, struct shape_rail *rail, uint32_t number, uint32_t *leafs)
{
	for (uint32_t i = 0; i < rails->leaf_count; i++)
		if (rail_serves(rails, i, number))
			leafs[rail->first_leaf + rail->leafs++] = rails->leafs[i];
}

/* Convert numbers within the class to indexes of the shape. */
static void tell_ports(struct rail_build *rails, const struct listed *listed, size_t first, size_t first_miswired)
{
	struct shape *shape = rails->build->shape;

	for (uint32_t i = 0; i < rails->count; i++) {
		const struct shape_rail *rail = &listed[i].rail;

		for (uint32_t j = rail->first; j < rail->first + rail->count; j++)
			shape->ports[shape->rail_ports[j]].rail = (uint32_t)first + i;
		rails->rail_of_key[listed[i].number] = (uint32_t)first + i;
	}
	for (size_t k = first_miswired; k < shape->miswired_count; k++) {
		shape->miswired[k].leaf_rail = rails->rail_of_key[shape->miswired[k].leaf_rail];
		shape->rails[shape->ports[shape->miswired[k].port].rail].miswired++;
	}
}

static struct listed *list_rails(struct rail_build *rails)
{
	struct shape *shape = rails->build->shape;
	struct listed *listed = calloc(rails->count + 1, sizeof(*listed));
	uint32_t first_port = 0, first_leaf = 0;

	if (!listed)
		return NULL;
	for (uint32_t i = 0; i < shape->rail_count; i++) {
		first_port += shape->rails[i].count;
		first_leaf += shape->rails[i].leafs;
	}
	for (uint32_t key = 0; key < rails->key_count; key++) {
		uint32_t number = rails->rail_of_key[key];
		struct shape_rail *rail;

		if (number == SHAPE_NONE)
			continue;
		rail = &listed[number].rail;
		listed[number].number = number;
		rail->class = rails->class;
		rail->first = first_port;
		rail->count = list_ports(rails, number, shape->rail_ports + first_port);
		rail->name = name_rail(rails, shape->rail_ports + first_port, rail->count, rails->keys[key]);
		rail->first_leaf = first_leaf;
		list_leafs(rails, rail, number, shape->rail_leafs);
		first_port += rail->count;
		first_leaf += rail->leafs;
		if (!rail->name) {
			free(listed);
			return NULL;
		}
	}
	qsort(listed, rails->count, sizeof(*listed), compare_rails);
	return listed;
}

int rail_list_add(struct rail_build *rails, size_t first_miswired)
{
	struct shape *shape = rails->build->shape;
	size_t first = shape->rail_count, leafs = 0;
	struct shape_rail *all = shape_memory(shape, first + rails->count, sizeof(*all));
	uint32_t *all_leafs;
	struct listed *listed;

	for (size_t i = 0; i < first; i++)
		leafs += shape->rails[i].leafs;
	all_leafs = shape_memory(shape, leafs + (size_t)rails->leaf_count * rails->count, sizeof(*all_leafs));
	if (!all || !all_leafs)
		return ERR_NOMEM;
	if (first) {
		memcpy(all, shape->rails, first * sizeof(*all));
		memcpy(all_leafs, shape->rail_leafs, leafs * sizeof(*all_leafs));
	}
	shape->rails = all;
	shape->rail_leafs = all_leafs;
	listed = list_rails(rails);
	if (!listed)
		return ERR_NOMEM;
	for (size_t i = 0; i < rails->count; i++)
		all[first + i] = listed[i].rail;
	shape->rail_count += rails->count;
	tell_ports(rails, listed, first, first_miswired);
	free(listed);
	return 0;
}
