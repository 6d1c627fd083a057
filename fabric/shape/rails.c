/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Rails: HCA ports with one key (rail_keys.c), and the leaves that serve them.
 *
 * A leaf serves a rail if it has at least half as many of its ports as of the rail with most ports
 * on it. So a missing HCA changes nothing, and a host of another kind (two HCAs on other leaves) is
 * in no rail.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "fabric/names.h"
#include "fabric/shape/rail_build.h"

/* Minimum number of other ports on a leaf, of which 90 % must match before one is miswired. */
#define OTHERS_MIN 3

/* The row of the switch that a port is cabled to, or SHAPE_NONE. */
static uint32_t leaf_of(const struct rail_build *rails, uint32_t port)
{
	const struct fabric *fabric = rails->build->fabric;
	uint32_t peer = fabric->ports[port].peer;

	return peer == FABRIC_NONE ? SHAPE_NONE : rails->row[fabric->ports[peer].node];
}

static uint32_t *row_of(const struct rail_build *rails, uint32_t leaf)
{
	return rails->ports + (size_t)leaf * rails->count;
}

static void count_leaves(struct rail_build *rails)
{
	memset(rails->ports, 0, (size_t)rails->leaf_count * rails->count * sizeof(*rails->ports));
	for (uint32_t i = 0; i < rails->list_count; i++) {
		const struct rail_port *port = &rails->list[i];

		if (port->rail != SHAPE_NONE && leaf_of(rails, port->port) != SHAPE_NONE)
			row_of(rails, leaf_of(rails, port->port))[port->rail]++;
	}
	for (uint32_t i = 0; i < rails->leaf_count; i++) {
		const uint32_t *row = row_of(rails, i);

		rails->most[i] = 0;
		for (uint32_t j = 1; j < rails->count; j++)
			if (row[j] > row[rails->most[i]])
				rails->most[i] = j;
	}
}

/* A leaf, by row, has at least half as many ports of a rail as of its main rail. */
static bool serves(const struct rail_build *rails, uint32_t leaf, uint32_t rail)
{
	const uint32_t *row = row_of(rails, leaf);

	return row[rail] && row[rail] * 2 >= row[rails->most[leaf]];
}

/*
 * A host with at most half of the devices of the rails, most of them on other leaves, is of another
 * kind. A host that lacks devices of the rails and has others numbers them in another way: its
 * device names are not compared, and each HCA belongs to the rail that its leaf serves.
 */
static void drop_strangers(struct rail_build *rails)
{
	const struct shape_build *build = rails->build;
	uint32_t end;

	for (uint32_t i = 0; i < rails->list_count; i = end) {
		uint32_t ports = 0, cabled = 0, fits = 0, others = 0;
		bool numbered;

		for (end = i; end < rails->list_count && rails->list[end].host == rails->list[i].host; end++) {
			const struct rail_port *port = &rails->list[end];
			uint32_t leaf = leaf_of(rails, port->port);

			if (rail_by_settings(build, port->node))
				continue;
			others += port->rail == SHAPE_NONE && port->key != SHAPE_NONE;
			if (port->rail == SHAPE_NONE)
				continue;
			ports++;
			cabled += leaf != SHAPE_NONE;
			fits += leaf != SHAPE_NONE && serves(rails, leaf, port->rail);
		}
		numbered = ports && others && ports < rails->count;
		if (!numbered && (fits * 2 >= cabled || ports * 2 > rails->count))
			continue;
		for (uint32_t j = i; j < end; j++) {
			if (rail_by_settings(build, rails->list[j].node))
				continue;
			rails->list[j].rail = SHAPE_NONE;
			if (numbered)
				rails->list[j].key = SHAPE_NONE;
		}
	}
}

/* HCAs without a usable name belong to the rail that their leaf serves, if it serves one. */
static void adopt_unnamed(struct rail_build *rails)
{
	for (uint32_t i = 0; i < rails->list_count; i++) {
		struct rail_port *port = &rails->list[i];
		uint32_t leaf = leaf_of(rails, port->port), served = 0, rail = SHAPE_NONE;

		if (port->key != SHAPE_NONE || leaf == SHAPE_NONE)
			continue;
		for (uint32_t j = 0; j < rails->count; j++) {
			if (!serves(rails, leaf, j))
				continue;
			rail = j;
			served++;
		}
		if (served == 1)
			port->adopted = rail;
	}
}

/* 90 % of the cabled ports of a rail are on leaves that serve it. */
static bool is_clean(const struct rail_build *rails, uint32_t rail)
{
	uint32_t on = 0, all = 0;

	for (uint32_t i = 0; i < rails->leaf_count; i++) {
		uint32_t ports = rails->ports[(size_t)i * rails->count + rail];

		all += ports;
		on += serves(rails, i, rail) ? ports : 0;
	}
	return on * 10 >= all * 9;
}

/* 90 % of the other ports of a leaf belong to rails that it serves. */
static bool others_agree(const struct rail_build *rails, uint32_t leaf)
{
	const uint32_t *row = rails->ports + (size_t)leaf * rails->count;
	uint32_t others = 0, agree = 0;

	for (uint32_t i = 0; i < rails->count; i++) {
		others += row[i];
		agree += serves(rails, leaf, i) ? row[i] : 0;
	}
	others--;
	return others >= OTHERS_MIN && agree * 10 >= others * 9;
}

static int compare_miswired(const void *a, const void *b)
{
	const struct shape_miswired *x = a, *y = b;

	return x->port < y->port ? -1 : 1;
}

/* The rails of the leaves are numbers within the class; index_ports() converts them. */
static int find_miswired(struct rail_build *rails, size_t first)
{
	struct shape *shape = rails->build->shape;

	for (uint32_t i = 0; i < rails->list_count; i++) {
		uint32_t rail = rails->list[i].rail, port = rails->list[i].port, leaf = leaf_of(rails, port);
		struct shape_miswired *miswired;

		if (rail == SHAPE_NONE || leaf == SHAPE_NONE || serves(rails, leaf, rail) || !is_clean(rails, rail) ||
		    !others_agree(rails, leaf))
			continue;
		miswired = array_grow(shape->miswired, shape->miswired_count, &rails->miswired_capacity,
				      sizeof(*miswired));
		if (!miswired)
			return ERR_NOMEM;
		shape->miswired = miswired;
		miswired[shape->miswired_count++] = (struct shape_miswired){
			.port = port, .leaf = rails->leaves[leaf], .leaf_rail = rails->most[leaf],
		};
	}
	if (shape->miswired_count > first)
		qsort(shape->miswired + first, shape->miswired_count - first, sizeof(*shape->miswired),
		      compare_miswired);
	return 0;
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

/* Convert numbers within the class to indexes of the shape. */
static void index_ports(struct rail_build *rails, const struct listed *listed, size_t first, size_t first_miswired)
{
	struct shape *shape = rails->build->shape;

	for (uint32_t i = 0; i < rails->count; i++) {
		const struct shape_rail *rail = &listed[i].rail;

		for (uint32_t j = rail->first; j < rail->first + rail->count; j++)
			shape->ports[shape->rail_ports[j]].rail = (uint32_t)first + i;
		rails->rail_of_key[listed[i].number] = (uint32_t)first + i;
	}
	for (size_t i = first_miswired; i < shape->miswired_count; i++) {
		shape->miswired[i].leaf_rail = rails->rail_of_key[shape->miswired[i].leaf_rail];
		shape->rails[shape->ports[shape->miswired[i].port].rail].miswired++;
	}
}

/* One rail: its ports in order of host, its leaves, and its name. */
static int list_rail(struct rail_build *rails, struct listed *listed, const char *key)
{
	struct shape *shape = rails->build->shape;
	struct shape_rail *rail = &listed->rail;

	for (uint32_t i = 0; i < rails->list_count; i++)
		if (rails->list[i].rail == listed->number || rails->list[i].adopted == listed->number)
			shape->rail_ports[rail->first + rail->count++] = rails->list[i].port;
	for (uint32_t i = 0; i < rails->leaf_count; i++)
		if (serves(rails, i, listed->number))
			shape->rail_leaves[rail->first_leaf + rail->leaves++] = rails->leaves[i];
	rail->name = name_rail(rails, shape->rail_ports + rail->first, rail->count, key);
	return rail->name ? 0 : ERR_NOMEM;
}

/* Append the rails of the class to those of the shape. */
static int add_rails(struct rail_build *rails, size_t first_miswired)
{
	struct shape *shape = rails->build->shape;
	struct listed *listed = shape_scratch(rails->build, rails->count, sizeof(*listed));
	size_t first = shape->rail_count;
	uint32_t ports = 0, leaves = 0, *all_leaves;

	for (size_t i = 0; i < first; i++) {
		ports += shape->rails[i].count;
		leaves += shape->rails[i].leaves;
	}
	all_leaves = shape_memory(shape, leaves + (size_t)rails->leaf_count * rails->count, sizeof(*all_leaves));
	if (!listed || !all_leaves)
		return ERR_NOMEM;
	if (leaves)
		memcpy(all_leaves, shape->rail_leaves, leaves * sizeof(*all_leaves));
	shape->rail_leaves = all_leaves;
	for (uint32_t key = 0; key < rails->keys.count; key++) {
		uint32_t number = rails->rail_of_key[key];

		if (number == SHAPE_NONE)
			continue;
		listed[number].number = number;
		listed[number].rail = (struct shape_rail){ .class = rails->class, .first = ports,
							   .first_leaf = leaves };
		if (list_rail(rails, &listed[number], rails->keys.texts[key]) < 0)
			return ERR_NOMEM;
		ports += listed[number].rail.count;
		leaves += listed[number].rail.leaves;
	}
	qsort(listed, rails->count, sizeof(*listed), compare_rails);
	for (size_t i = 0; i < rails->count; i++)
		shape->rails[first + i] = listed[i].rail;
	shape->rail_count += rails->count;
	index_ports(rails, listed, first, first_miswired);
	return 0;
}

static int find_class(struct rail_build *rails)
{
	struct shape_build *build = rails->build;
	size_t first_miswired = build->shape->miswired_count;
	int code = rail_find_keys(rails);

	if (code < 0)
		return code;
	rails->row = shape_indexes(build, build->fabric->node_count);
	rails->leaves = shape_scratch(build, build->switch_count, sizeof(*rails->leaves));
	rails->most = shape_scratch(build, build->switch_count, sizeof(*rails->most));
	rails->ports = shape_scratch(build, (size_t)build->switch_count * rails->count, sizeof(*rails->ports));
	if (!rails->row || !rails->leaves || !rails->most || !rails->ports)
		return ERR_NOMEM;
	for (uint32_t i = 0; i < build->switch_count; i++) {
		if (!build->hcas[build->switches[i]])
			continue;
		rails->row[build->switches[i]] = rails->leaf_count;
		rails->leaves[rails->leaf_count++] = build->switches[i];
	}
	for (uint32_t i = 0; i < rails->list_count; i++)
		if (rails->list[i].key != SHAPE_NONE)
			rails->list[i].rail = rails->rail_of_key[rails->list[i].key];
	count_leaves(rails);
	drop_strangers(rails);
	count_leaves(rails);
	adopt_unnamed(rails);
	code = find_miswired(rails, first_miswired);
	return code < 0 ? code : add_rails(rails, first_miswired);
}

int shape_find_rails(struct shape_build *build)
{
	static const uint8_t classes[] = { CLASS_COMPUTE, CLASS_STORAGE };
	struct shape *shape = build->shape;
	int code;

	shape->rail_ports = shape_memory(shape, build->fabric->port_count, sizeof(*shape->rail_ports));
	shape->rails = shape_memory(shape, sizeof(classes) * RAILS_MAX, sizeof(*shape->rails));
	code = shape->rail_ports && shape->rails ? 0 : ERR_NOMEM;
	for (size_t i = 0; i < sizeof(classes) && code == 0; i++) {
		struct rail_build rails = { .build = build, .class = classes[i],
					    .miswired_capacity = shape->miswired_count };

		code = find_class(&rails);
		shape_strings_done(&rails.keys);
	}
	return code;
}
