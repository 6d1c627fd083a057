/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which devices may belong to one rail: they get the same key.
 *
 * A rail is a device that most hosts have. "HCA-4" of older drivers and "mlx5_3" are the same
 * device: one counts from 1, the other from 0. Settings take precedence.
 */
#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "fabric/shape/rail_build.h"

/* More devices than any host has, for example with one host name everywhere. */
#define RAILS_MAX 256

/* "mlx5_3" is 3, "HCA-4" is 3; -1: neither. */
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

uint32_t rail_port_in_use(const struct shape_build *build, uint32_t node, uint32_t nth)
{
	const struct node *self = &build->fabric->nodes[node];
	uint32_t cabled = 0;

	for (uint32_t i = self->first_port; i < self->first_port + self->ports; i++)
		if (build->fabric->ports[i].peer != FABRIC_NONE && cabled++ == nth)
			return i;
	return cabled == 0 && nth == 0 && self->ports ? self->first_port : FABRIC_NONE;
}

/* Inspect the HCAs of hosts: number of cables, and device numbers that occur twice. */
static void look_at_host(struct rail_build *rails, const struct shape_host *host, uint32_t *two_ports,
			 uint32_t *one_port)
{
	const struct shape_build *build = rails->build;

	for (uint32_t i = 0; i < host->count; i++) {
		uint32_t node = build->shape->host_nodes[host->first + i];
		uint32_t port = rail_port_in_use(build, node, 0);
		int number = device_number(build->device_of[node]);

		if (rail_port_in_use(build, node, 1) != FABRIC_NONE)
			(*two_ports)++;
		else if (port != FABRIC_NONE && build->fabric->ports[port].peer != FABRIC_NONE)
			(*one_port)++;
		for (uint32_t j = 0; number >= 0 && j < i && j < 64; j++)
			if (device_number(build->device_of[build->shape->host_nodes[host->first + j]]) == number)
				rails->full_names = true; /* mlx4_0 and mlx5_0 in one host */
	}
}

const char *rail_by_settings(const struct shape_build *build, uint32_t node)
{
	const struct shape_rail_rule *rule = build->settings ? build->settings->rails : NULL;

	for (; rule && rule->pattern; rule++)
		if (!fnmatch(rule->pattern, build->fabric->nodes[node].name, 0))
			return rule->rail;
	return NULL;
}

/* The key of a device. Return: NULL: none, or out of memory (*ret_code). */
static const char *key_of(struct rail_build *rails, uint32_t node, uint32_t nth, int *ret_code)
{
	const struct shape_build *build = rails->build;
	const char *rule = rail_by_settings(build, node), *device = build->device_of[node], *key;
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

/* Keys by device name: thousands of HCAs have few different ones. */
struct device_keys {
	struct map keys, devices;
	const char **texts; /* device names */
	uint32_t *key;      /* by device name; or SHAPE_NONE */
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

/* Set the key of each port of the class. */
static int find_keys(struct rail_build *rails)
{
	struct shape_build *build = rails->build;
	const struct shape *shape = build->shape;
	size_t room = build->fabric->node_count + 1;
	struct device_keys known = {
		.texts = malloc(room * sizeof(*known.texts)), .key = malloc(room * sizeof(*known.key)),
	};
	int code = known.texts && known.key ? 0 : ERR_NOMEM;
	uint32_t j, nth, port;

	for (uint32_t i = 0; i < shape->host_count && code == 0; i++) {
		const struct shape_host *host = &shape->hosts[i];

		for (j = host->first; j < host->first + host->count && host->class == rails->class && code == 0; j++) {
			uint32_t node = shape->host_nodes[j];

			for (nth = 0; (port = rail_port_in_use(build, node, nth)) != FABRIC_NONE && code == 0; nth++)
				code = find_key(rails, &known, node, nth, &rails->key[port]);
		}
	}
	map_done(&known.keys);
	map_done(&known.devices);
	free(known.texts);
	free(known.key);
	return code;
}

/* Count hosts by key, separately for hosts with several keys. */
static void count_keys(struct rail_build *rails, uint32_t *hosts, uint32_t *many, uint32_t *all, uint32_t *all_many)
{
	const struct shape_build *build = rails->build;
	const struct shape *shape = build->shape;
	uint32_t nth, port, *last = rails->scratch;

	memset(last, 0xff, (rails->key_count + 1) * sizeof(*last));
	for (uint32_t i = 0; i < shape->host_count; i++) {
		const struct shape_host *host = &shape->hosts[i];
		uint32_t distinct = 0;

		/* First the number of its keys, then which. */
		for (uint32_t pass = 0; pass < 2 && host->class == rails->class; pass++) {
			for (uint32_t j = host->first; j < host->first + host->count; j++) {
				uint32_t node = shape->host_nodes[j];

				for (nth = 0; (port = rail_port_in_use(build, node, nth)) != FABRIC_NONE; nth++) {
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

/* A key is a rail if most hosts, or most hosts with several HCAs, have it. */
static int choose_rails(struct rail_build *rails)
{
	uint32_t *hosts = calloc(rails->key_count + 1, sizeof(*hosts));
	uint32_t *many = calloc(rails->key_count + 1, sizeof(*many));
	uint32_t all = 0, all_many = 0;

	if (!hosts || !many) {
		free(hosts);
		free(many);
		return ERR_NOMEM;
	}
	count_keys(rails, hosts, many, &all, &all_many);
	for (uint32_t i = 0; i < rails->key_count; i++) {
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

int rail_find_keys(struct rail_build *rails)
{
	const struct shape *shape = rails->build->shape;
	uint32_t two_ports = 0, one_port = 0;
	int code;

	for (uint32_t i = 0; i < shape->host_count; i++)
		if (shape->hosts[i].class == rails->class)
			look_at_host(rails, &shape->hosts[i], &two_ports, &one_port);
	rails->by_port = two_ports > one_port;
	code = find_keys(rails);
	return code < 0 ? code : choose_rails(rails);
}
