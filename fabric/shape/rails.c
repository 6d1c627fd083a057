/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Rails: HCA ports with one key (rail_keys.c), and the leaves that serve them.
 *
 * A leaf serves a rail if it has at least half as many of its ports as of the rail with most ports
 * on it. So a missing HCA changes nothing, and a host of another kind (two HCAs on other leaves) is
 * in no rail.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "fabric/shape/rail_build.h"

/* Minimum number of other ports on a leaf, of which 90 % must match before one is miswired. */
#define OTHERS_MIN 3

/* Assign every port to the rail of its key, or to none. */
static void assign_ports(struct rail_build *rails)
{
	const struct fabric *fabric = rails->build->fabric;

	for (uint32_t i = 0; i < fabric->port_count; i++)
		rails->rail[i] = rails->key[i] == SHAPE_NONE ? SHAPE_NONE : rails->rail_of_key[rails->key[i]];
}

/* The row of the switch that a port is cabled to, or SHAPE_NONE. */
static uint32_t leaf_of(const struct rail_build *rails, uint32_t port)
{
	const struct fabric *fabric = rails->build->fabric;
	uint32_t peer = fabric->ports[port].peer;

	return peer == FABRIC_NONE ? SHAPE_NONE : rails->row[fabric->ports[peer].node];
}

static void count_leafs(struct rail_build *rails)
{
	const struct fabric *fabric = rails->build->fabric;

	memset(rails->ports, 0, ((size_t)rails->leaf_count * rails->count + 1) * sizeof(*rails->ports));
	for (uint32_t i = 0; i < fabric->port_count; i++)
		if (rails->rail[i] != SHAPE_NONE && leaf_of(rails, i) != SHAPE_NONE)
			rails->ports[(size_t)leaf_of(rails, i) * rails->count + rails->rail[i]]++;
	for (uint32_t i = 0; i < rails->leaf_count; i++) {
		const uint32_t *row = rails->ports + (size_t)i * rails->count;

		rails->most[i] = 0;
		for (uint32_t j = 1; j < rails->count; j++)
			if (row[j] > row[rails->most[i]])
				rails->most[i] = j;
	}
}

bool rail_serves(const struct rail_build *rails, uint32_t leaf, uint32_t rail)
{
	const uint32_t *row = rails->ports + (size_t)leaf * rails->count;

	return row[rail] && row[rail] * 2 >= row[rails->most[leaf]];
}

/*
 * A host with at most half of the devices of the rails, most of them on other leaves, is of another
 * kind.
 */
static void drop_strangers(struct rail_build *rails)
{
	struct shape_build *build = rails->build;
	const struct shape *shape = build->shape;
	uint32_t nth, port;

	for (uint32_t i = 0; i < shape->host_count; i++) {
		const struct shape_host *host = &shape->hosts[i];
		uint32_t ports = 0, cabled = 0, fits = 0;

		for (uint32_t drop = 0; drop < 2 && host->class == rails->class; drop++) {
			for (uint32_t j = host->first; j < host->first + host->count; j++) {
				uint32_t node = shape->host_nodes[j];

				for (nth = 0; (port = rail_port_in_use(build, node, nth)) != FABRIC_NONE; nth++) {
					uint32_t leaf = leaf_of(rails, port);

					if (rails->rail[port] == SHAPE_NONE || rail_by_settings(build, node))
						continue;
					if (drop) {
						rails->rail[port] = SHAPE_NONE;
						continue;
					}
					ports++;
					cabled += leaf != SHAPE_NONE;
					fits += leaf != SHAPE_NONE && rail_serves(rails, leaf, rails->rail[port]);
				}
			}
			if (fits * 2 >= cabled || ports * 2 > rails->count)
				break;
		}
	}
}

/* HCAs without a name belong to the rail that their leaf serves, if it serves one. */
static void adopt_unnamed(struct rail_build *rails)
{
	const struct shape_build *build = rails->build;
	uint32_t j, leaf, serves, rail;

	for (uint32_t i = 0; i < build->fabric->port_count; i++) {
		uint32_t node = build->fabric->ports[i].node;

		if (build->shape->nodes[node].class != rails->class || build->shape->nodes[node].host == SHAPE_NONE ||
		    build->device_of[node][0] || rails->key[i] != SHAPE_NONE)
			continue;
		leaf = leaf_of(rails, i);
		if (leaf == SHAPE_NONE)
			continue;
		for (j = serves = 0, rail = SHAPE_NONE; j < rails->count; j++) {
			if (!rail_serves(rails, leaf, j))
				continue;
			rail = j;
			serves++;
		}
		if (serves == 1)
			rails->adopted[i] = rail;
	}
}

/* 90 % of the cabled ports of a rail are on leaves that serve it. */
static bool is_clean(const struct rail_build *rails, uint32_t rail)
{
	uint32_t on = 0, all = 0;

	for (uint32_t i = 0; i < rails->leaf_count; i++) {
		uint32_t ports = rails->ports[(size_t)i * rails->count + rail];

		all += ports;
		on += rail_serves(rails, i, rail) ? ports : 0;
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
		agree += rail_serves(rails, leaf, i) ? row[i] : 0;
	}
	others--;
	return others >= OTHERS_MIN && agree * 10 >= others * 9;
}

static int find_miswired(struct rail_build *rails)
{
	struct shape *shape = rails->build->shape;

	for (uint32_t i = 0; i < rails->build->fabric->port_count; i++) {
		uint32_t rail = rails->rail[i], leaf = rail == SHAPE_NONE ? SHAPE_NONE : leaf_of(rails, i);
		struct shape_miswired *miswired;

		if (leaf == SHAPE_NONE || rail_serves(rails, leaf, rail) || !is_clean(rails, rail) ||
		    !others_agree(rails, leaf))
			continue;
		miswired = array_grow(shape->miswired, shape->miswired_count, &rails->miswired_capacity,
				      sizeof(*miswired));
		if (!miswired)
			return ERR_NOMEM;
		shape->miswired = miswired;
		/*
		 * The number within the class; rail_list_add() replaces it by the index in the
		 * shape.
		 */
		miswired[shape->miswired_count++] = (struct shape_miswired){
			.port = i, .leaf = rails->leafs[leaf], .leaf_rail = rails->most[leaf],
		};
	}
	return 0;
}

static int find_class(struct rail_build *rails)
{
	size_t cells;
	int code = rail_find_keys(rails);

	if (code < 0)
		return code;
	cells = (size_t)rails->leaf_count * rails->count + 1;
	rails->ports = calloc(cells, sizeof(*rails->ports));
	if (!rails->ports)
		return ERR_NOMEM;
	assign_ports(rails);
	count_leafs(rails);
	drop_strangers(rails);
	count_leafs(rails);
	adopt_unnamed(rails);
	return find_miswired(rails);
}

static void rail_build_done(struct rail_build *rails)
{
	free(rails->key);
	free(rails->rail);
	free(rails->adopted);
	free(rails->keys);
	free(rails->rail_of_key);
	free(rails->scratch);
	free(rails->row);
	free(rails->leafs);
	free(rails->most);
	free(rails->ports);
}

static int rail_build_init(struct rail_build *rails, struct shape_build *build, uint8_t class)
{
	size_t ports = build->fabric->port_count + 1, nodes = build->fabric->node_count + 1;

	*rails = (struct rail_build){
		.build = build, .class = class,
		.key = malloc(ports * sizeof(*rails->key)), .rail = malloc(ports * sizeof(*rails->rail)),
		.adopted = malloc(ports * sizeof(*rails->adopted)),
		.keys = malloc(ports * sizeof(*rails->keys)),
		.rail_of_key = malloc(ports * sizeof(*rails->rail_of_key)),
		.scratch = malloc(ports * sizeof(*rails->scratch)), .row = malloc(nodes * sizeof(*rails->row)),
		.leafs = malloc(nodes * sizeof(*rails->leafs)), .most = malloc(nodes * sizeof(*rails->most)),
	};
	if (!rails->key || !rails->rail || !rails->adopted || !rails->keys || !rails->rail_of_key || !rails->scratch ||
	    !rails->row || !rails->leafs || !rails->most)
		return ERR_NOMEM;
	memset(rails->key, 0xff, ports * sizeof(*rails->key));
	memset(rails->rail, 0xff, ports * sizeof(*rails->rail));
	memset(rails->adopted, 0xff, ports * sizeof(*rails->adopted));
	memset(rails->row, 0xff, nodes * sizeof(*rails->row));
	for (uint32_t i = 0; i < build->switch_count; i++) {
		if (!build->hcas[build->switches[i]])
			continue;
		rails->row[build->switches[i]] = rails->leaf_count;
		rails->leafs[rails->leaf_count++] = build->switches[i];
	}
	return 0;
}

static bool has_class(const struct shape *shape, uint8_t class)
{
	for (size_t i = 0; i < shape->host_count; i++)
		if (shape->hosts[i].class == class)
			return true;
	return false;
}

int shape_find_rails(struct shape_build *build)
{
	static const uint8_t classes[] = { CLASS_COMPUTE, CLASS_STORAGE };
	int code = rail_list_init(build);

	for (size_t i = 0; i < sizeof(classes) && code == 0; i++) {
		struct rail_build rails;
		size_t known_miswired = build->shape->miswired_count;

		if (!has_class(build->shape, classes[i]))
			continue;
		code = rail_build_init(&rails, build, classes[i]);
		rails.miswired_capacity = known_miswired;
		if (code == 0)
			code = find_class(&rails);
		if (code == 0)
			code = rail_list_add(&rails, known_miswired);
		rail_build_done(&rails);
	}
	return code;
}
