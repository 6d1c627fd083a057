/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which HCA ports belong together.
 *
 * A rail is a device that most hosts have. "HCA-4" of older drivers' hosts and
 * "mlx5_3" are the same device: one counts from 1, the other from 0. A leaf
 * serves a rail where it has at least half as many of its ports as of the rail
 * that it has most of. So a missing HCA shifts nobody, and a host of another kind
 * (two HCAs on two leafs of its own choice) is in no rail.
 */
#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/map.h"
#include "fabric/names.h"
#include "fabric/rail_build.h"

/* Of how many other ports of a leaf nine in ten must agree before one is called miswired. */
#define OTHERS_MIN 3

/* More devices than any host has: one host's name everywhere, say. */
#define RAILS_MAX 256

/* "mlx5_3" is 3, "HCA-4" is 3: -1 where it is neither. */
static int device_number(const char *device)
{
	const char *digits;
	char *end;
	long number;

	if (!strncmp(device, "HCA-", 4))
		digits = device + 4;
	else if (!strncmp(device, "mlx", 3) && isdigit((unsigned char)device[3]) && device[4] == '_')
		digits = device + 5;
	else
		return -1;
	if (!isdigit((unsigned char)*digits))
		return -1;
	number = strtol(digits, &end, 10);
	if (*end || number > 9999)
		return -1;
	return device[0] == 'H' ? (int)number - 1 : (int)number;
}

/* The ports of an HCA that stand for it: those with a cable, or the first where none has one. */
static uint32_t port_in_use(const struct shape_build *build, uint32_t node, uint32_t nth)
{
	const struct node *self = &build->fabric->nodes[node];
	uint32_t i, cabled = 0;

	for (i = self->first_port; i < self->first_port + self->ports; i++)
		if (build->fabric->ports[i].peer != FABRIC_NONE && cabled++ == nth)
			return i;
	return cabled == 0 && nth == 0 && self->ports ? self->first_port : FABRIC_NONE;
}

/* What a host's HCAs are, before anybody is asked what it is called. */
static void look_at_host(struct rail_build *rails, const struct shape_host *host, uint32_t *two_ports,
			 uint32_t *one_port)
{
	const struct shape_build *build = rails->build;
	uint32_t i, j;

	for (i = 0; i < host->count; i++) {
		uint32_t node = build->shape->host_nodes[host->first + i];
		uint32_t port = port_in_use(build, node, 0);
		int number = device_number(build->device_of[node]);

		if (port_in_use(build, node, 1) != FABRIC_NONE)
			(*two_ports)++;
		else if (port != FABRIC_NONE && build->fabric->ports[port].peer != FABRIC_NONE)
			(*one_port)++;
		for (j = 0; number >= 0 && j < i && j < 64; j++)
			if (device_number(build->device_of[build->shape->host_nodes[host->first + j]]) == number)
				rails->full_names = true; /* mlx4_0 and mlx5_0 in one host */
	}
}

static const char *name_by_settings(const struct shape_build *build, uint32_t node)
{
	const struct shape_rail_rule *rule = build->settings ? build->settings->rails : NULL;

	for (; rule && rule->pattern; rule++)
		if (!fnmatch(rule->pattern, build->fabric->nodes[node].name, 0))
			return rule->rail;
	return NULL;
}

/* The key of a device: equal for what may be one rail. Return: NULL: it has none; or no memory, then *ret_code. */
static const char *key_of(struct rail_build *rails, uint32_t node, uint32_t nth, int *ret_code)
{
	const struct shape_build *build = rails->build;
	const char *rule = name_by_settings(build, node), *device = build->device_of[node], *key;
	int number = device_number(device);
	char text[NODE_NAME_SIZE + 16];

	if (rule)
		snprintf(text, sizeof(text), "=%s", rule);
	else if (!device[0])
		return NULL;
	else if (number >= 0 && !rails->full_names)
		snprintf(text, sizeof(text), "#%d", number);
	else
		snprintf(text, sizeof(text), ".%s", device);
	if (!rule && rails->by_port)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "/%u", nth + 1);
	key = shape_string(build->shape, text, strlen(text));
	if (!key)
		*ret_code = ERR_NOMEM;
	return key;
}

/* Keys of devices: thousands of HCAs have few different ones. */
struct device_keys {
	struct map keys, devices;
	const char **texts; /* of devices */
	uint32_t *key;      /* of a device, or SHAPE_NONE */
	uint32_t count;
};

static int find_key(struct rail_build *rails, struct device_keys *known, uint32_t node, uint32_t nth, uint32_t *ret)
{
	const struct shape_settings *settings = rails->build->settings;
	bool plain = !rails->by_port && !(settings && settings->rails);
	const char *key;
	uint32_t device = 0;
	int code = 0;

	if (plain) {
		uint32_t before = known->count;

		code = shape_intern(&known->devices, known->texts, &known->count, rails->build->device_of[node],
				    &device);
		if (code < 0)
			return code;
		if (known->count == before) {
			*ret = known->key[device];
			return 0;
		}
	}
	*ret = SHAPE_NONE;
	key = key_of(rails, node, nth, &code);
	if (key)
		code = shape_intern(&known->keys, rails->keys, &rails->key_count, key, ret);
	if (plain)
		known->key[device] = *ret;
	return code;
}

/* Give each port of the class its key. */
static int find_keys(struct rail_build *rails)
{
	struct shape_build *build = rails->build;
	const struct shape *shape = build->shape;
	size_t room = build->fabric->node_count + 1;
	struct device_keys known = {
		.texts = malloc(room * sizeof(*known.texts)), .key = malloc(room * sizeof(*known.key)),
	};
	int code = known.texts && known.key ? 0 : ERR_NOMEM;
	uint32_t i, j, nth, port;

	for (i = 0; i < shape->host_count && code == 0; i++) {
		const struct shape_host *host = &shape->hosts[i];

		for (j = host->first; j < host->first + host->count && host->class == rails->class && code == 0; j++) {
			uint32_t node = shape->host_nodes[j];

			for (nth = 0; (port = port_in_use(build, node, nth)) != FABRIC_NONE && code == 0; nth++)
				code = find_key(rails, &known, node, nth, &rails->key[port]);
		}
	}
	map_done(&known.keys);
	map_done(&known.devices);
	free(known.texts);
	free(known.key);
	return code;
}

/* How many hosts have each key; of hosts with several keys apart. */
static void count_keys(struct rail_build *rails, uint32_t *hosts, uint32_t *many, uint32_t *all, uint32_t *all_many)
{
	const struct shape *shape = rails->build->shape;
	uint32_t i, j, nth, port, *last = rails->scratch;

	memset(last, 0xff, (rails->key_count + 1) * sizeof(*last));
	for (i = 0; i < shape->host_count; i++) {
		const struct shape_host *host = &shape->hosts[i];
		uint32_t distinct = 0, pass;

		/* First how many keys it has, then which. */
		for (pass = 0; pass < 2 && host->class == rails->class; pass++) {
			for (j = host->first; j < host->first + host->count; j++) {
				uint32_t node = shape->host_nodes[j];

				for (nth = 0; (port = port_in_use(rails->build, node, nth)) != FABRIC_NONE; nth++) {
					uint32_t key = rails->key[port];

					if (key == SHAPE_NONE || last[key] == i * 2 + pass)
						continue;
					last[key] = i * 2 + pass;
					if (pass == 0)
						distinct++;
					else
						hosts[key]++;
					if (pass == 1 && distinct > 1)
						many[key]++;
				}
			}
		}
		*all += distinct > 0;
		*all_many += distinct > 1;
	}
}

/* A key that most hosts have, or most hosts of several HCAs, is a rail. */
static int choose_rails(struct rail_build *rails)
{
	uint32_t *hosts = calloc(rails->key_count + 1, sizeof(*hosts));
	uint32_t *many = calloc(rails->key_count + 1, sizeof(*many));
	uint32_t all = 0, all_many = 0, i;

	if (!hosts || !many) {
		free(hosts);
		free(many);
		return ERR_NOMEM;
	}
	count_keys(rails, hosts, many, &all, &all_many);
	for (i = 0; i < rails->key_count; i++) {
		rails->rail_of_key[i] = SHAPE_NONE;
		if (rails->count == RAILS_MAX)
			continue;
		if (rails->keys[i][0] == '=' || hosts[i] * 2 > all || (all_many > 1 && many[i] * 2 > all_many))
			rails->rail_of_key[i] = rails->count++;
	}
	free(hosts);
	free(many);
	return 0;
}

/* Put every port of a key into its rail, those without a rail into none. */
static void assign_ports(struct rail_build *rails)
{
	const struct fabric *fabric = rails->build->fabric;
	uint32_t i;

	for (i = 0; i < fabric->port_count; i++)
		rails->rail[i] = rails->key[i] == SHAPE_NONE ? SHAPE_NONE : rails->rail_of_key[rails->key[i]];
}

uint32_t rail_leaf_of(const struct rail_build *rails, uint32_t port)
{
	const struct fabric *fabric = rails->build->fabric;
	uint32_t peer = fabric->ports[port].peer;

	return peer == FABRIC_NONE ? SHAPE_NONE : rails->row[fabric->ports[peer].node];
}

static void count_leafs(struct rail_build *rails)
{
	const struct fabric *fabric = rails->build->fabric;
	uint32_t i, j;

	memset(rails->ports, 0, ((size_t)rails->leaf_count * rails->count + 1) * sizeof(*rails->ports));
	for (i = 0; i < fabric->port_count; i++)
		if (rails->rail[i] != SHAPE_NONE && rail_leaf_of(rails, i) != SHAPE_NONE)
			rails->ports[(size_t)rail_leaf_of(rails, i) * rails->count + rails->rail[i]]++;
	for (i = 0; i < rails->leaf_count; i++) {
		const uint32_t *row = rails->ports + (size_t)i * rails->count;

		rails->most[i] = 0;
		for (j = 1; j < rails->count; j++)
			if (row[j] > row[rails->most[i]])
				rails->most[i] = j;
	}
}

bool rail_serves(const struct rail_build *rails, uint32_t leaf, uint32_t rail)
{
	const uint32_t *row = rails->ports + (size_t)leaf * rails->count;

	return row[rail] && row[rail] * 2 >= row[rails->most[leaf]];
}

/* A host that has half of the rails' devices at most, and most of them elsewhere, is of another kind. */
static void drop_strangers(struct rail_build *rails)
{
	struct shape_build *build = rails->build;
	const struct shape *shape = build->shape;
	uint32_t i, j, nth, port, drop;

	for (i = 0; i < shape->host_count; i++) {
		const struct shape_host *host = &shape->hosts[i];
		uint32_t ports = 0, cabled = 0, fits = 0;

		for (drop = 0; drop < 2 && host->class == rails->class; drop++) {
			for (j = host->first; j < host->first + host->count; j++) {
				uint32_t node = shape->host_nodes[j];

				for (nth = 0; (port = port_in_use(build, node, nth)) != FABRIC_NONE; nth++) {
					uint32_t leaf = rail_leaf_of(rails, port);

					if (rails->rail[port] == SHAPE_NONE || name_by_settings(build, node))
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

/* HCAs that say no name: on a leaf that serves one rail they are of that. */
static void adopt_unnamed(struct rail_build *rails)
{
	const struct shape_build *build = rails->build;
	uint32_t i, j, leaf, serves, rail;

	for (i = 0; i < build->fabric->port_count; i++) {
		uint32_t node = build->fabric->ports[i].node;

		if (build->shape->nodes[node].class != rails->class || build->shape->nodes[node].host == SHAPE_NONE ||
		    build->device_of[node][0] || rails->key[i] != SHAPE_NONE)
			continue;
		leaf = rail_leaf_of(rails, i);
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

/* Of a rail: are nine in ten of its cabled ports on leafs that serve it? Else it says nothing about the tenth. */
static bool is_clean(const struct rail_build *rails, uint32_t rail)
{
	uint32_t i, on = 0, all = 0;

	for (i = 0; i < rails->leaf_count; i++) {
		uint32_t ports = rails->ports[(size_t)i * rails->count + rail];

		all += ports;
		on += rail_serves(rails, i, rail) ? ports : 0;
	}
	return on * 10 >= all * 9;
}

/* Do nine in ten of a leaf's other ports belong to the rails that it serves? */
static bool others_agree(const struct rail_build *rails, uint32_t leaf)
{
	const uint32_t *row = rails->ports + (size_t)leaf * rails->count;
	uint32_t i, others = 0, agree = 0;

	for (i = 0; i < rails->count; i++) {
		others += row[i];
		agree += rail_serves(rails, leaf, i) ? row[i] : 0;
	}
	others--;
	return others >= OTHERS_MIN && agree * 10 >= others * 9;
}

static int find_miswired(struct rail_build *rails)
{
	struct shape *shape = rails->build->shape;
	uint32_t i;

	for (i = 0; i < rails->build->fabric->port_count; i++) {
		uint32_t rail = rails->rail[i], leaf = rail == SHAPE_NONE ? SHAPE_NONE : rail_leaf_of(rails, i);
		struct shape_miswired *miswired;

		if (leaf == SHAPE_NONE || rail_serves(rails, leaf, rail) || !is_clean(rails, rail) ||
		    !others_agree(rails, leaf))
			continue;
		miswired = array_grow(shape->miswired, shape->miswired_count, &rails->miswired_capacity,
				      sizeof(*miswired));
		if (!miswired)
			return ERR_NOMEM;
		shape->miswired = miswired;
		/* leaf_rail is the number within the class for now; see rail_list.c. */
		miswired[shape->miswired_count++] = (struct shape_miswired){
			.port = i, .leaf = rails->leafs[leaf], .leaf_rail = rails->most[leaf],
		};
	}
	return 0;
}

static int find_class(struct rail_build *rails)
{
	const struct shape *shape = rails->build->shape;
	uint32_t i, two_ports = 0, one_port = 0;
	size_t cells;
	int code;

	for (i = 0; i < shape->host_count; i++)
		if (shape->hosts[i].class == rails->class)
			look_at_host(rails, &shape->hosts[i], &two_ports, &one_port);
	rails->by_port = two_ports > one_port;
	code = find_keys(rails);
	if (code == 0)
		code = choose_rails(rails);
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
	uint32_t i;

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
	for (i = 0; i < build->switch_count; i++) {
		if (!build->hcas[build->switches[i]])
			continue;
		rails->row[build->switches[i]] = rails->leaf_count;
		rails->leafs[rails->leaf_count++] = build->switches[i];
	}
	return 0;
}

static bool has_class(const struct shape *shape, uint8_t class)
{
	size_t i;

	for (i = 0; i < shape->host_count; i++)
		if (shape->hosts[i].class == class)
			return true;
	return false;
}

int shape_find_rails(struct shape_build *build)
{
	static const uint8_t classes[] = { CLASS_COMPUTE, CLASS_STORAGE };
	size_t i;
	int code = rail_list_init(build);

	for (i = 0; i < sizeof(classes) && code == 0; i++) {
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
