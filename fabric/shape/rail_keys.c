/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which devices may belong to one rail: they get the same key.
 *
 * A rail is a device that most hosts have. "HCA-4" of older drivers and "mlx5_3" are the same
 * device: one counts from 1, the other from 0. Settings take precedence.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "fabric/name_pattern.h"
#include "fabric/shape/rail_build.h"

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

const char *rail_by_settings(const struct shape_build *build, uint32_t node)
{
	const struct shape_rail_rule *rule = build->settings ? build->settings->rails : NULL;

	for (; rule && rule->pattern; rule++)
		if (name_pattern_matches(rule->pattern, build->fabric->nodes[node].name))
			return rule->rail;
	return NULL;
}

/* Set the key of the device of a port; it has none without a device name. */
static int find_key(struct rail_build *rails, struct rail_port *port)
{
	const struct shape_build *build = rails->build;
	const char *rule = rail_by_settings(build, port->node), *device = build->device_of[port->node], *key;
	int number = device_number(device);
	char text[NODE_NAME_SIZE + 16];

	if (rule)
		snprintf(text, sizeof(text), "=%s", rule);
	else if (!device[0])
		return 0;
	else if (number >= 0 && !rails->full_names)
		snprintf(text, sizeof(text), "#%d", number);
	else
		snprintf(text, sizeof(text), ".%s", device);
	if (!rule && rails->by_port)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "/%u", port->nth + 1);
	if (shape_find_text(&rails->keys, text, &port->key))
		return 0;
	key = shape_string(build->shape, text, strlen(text));
	return key ? shape_intern(&rails->keys, key, &port->key) : ERR_NOMEM;
}

/* Two HCAs of one host have the number of this one: mlx4_0 and mlx5_0. */
static bool has_number_twice(const struct shape_build *build, const struct shape_host *host, uint32_t hca)
{
	const uint32_t *nodes = build->shape->host_nodes + host->first;
	int number = device_number(build->device_of[nodes[hca]]);

	for (uint32_t i = 0; number >= 0 && i < hca && i < 64; i++)
		if (device_number(build->device_of[nodes[i]]) == number)
			return true;
	return false;
}

static uint32_t list_hca(struct rail_build *rails, uint32_t node, uint32_t host)
{
	const struct fabric *fabric = rails->build->fabric;
	const struct node *self = &fabric->nodes[node];
	struct rail_port port = { .node = node, .host = host, .key = SHAPE_NONE, .rail = SHAPE_NONE,
				  .adopted = SHAPE_NONE };

	for (port.port = self->first_port; port.port < self->first_port + self->ports; port.port++)
		if (fabric->ports[port.port].peer != FABRIC_NONE) {
			rails->list[rails->list_count++] = port;
			port.nth++;
		}
	port.port = self->first_port;
	if (!port.nth && self->ports)
		rails->list[rails->list_count++] = port;
	return port.nth;
}

static void list_ports(struct rail_build *rails)
{
	const struct shape *shape = rails->build->shape;
	uint32_t one_port = 0, two_ports = 0;

	for (uint32_t i = 0; i < shape->host_count; i++) {
		const struct shape_host *host = &shape->hosts[i];

		for (uint32_t j = 0; j < host->count && host->class == rails->class; j++) {
			uint32_t cabled = list_hca(rails, shape->host_nodes[host->first + j], i);

			one_port += cabled == 1;
			two_ports += cabled > 1;
			rails->full_names |= has_number_twice(rails->build, host, j);
		}
	}
	rails->by_port = two_ports > one_port;
}

/* Hosts by key; of those, hosts with several keys. */
struct key_hosts { uint32_t all, several, last; };

static void count_keys(const struct rail_build *rails, struct key_hosts *hosts, struct key_hosts *sum)
{
	uint32_t end;

	for (uint32_t i = 0; i < rails->list_count; i = end) {
		uint32_t host = rails->list[i].host, distinct = 0;

		/* First the number of its keys, then which. */
		for (uint32_t pass = 1; pass <= 2; pass++)
			for (end = i; end < rails->list_count && rails->list[end].host == host; end++) {
				uint32_t key = rails->list[end].key;

				if (key == SHAPE_NONE || hosts[key].last == host * 2 + pass)
					continue;
				hosts[key].last = host * 2 + pass;
				distinct += pass == 1;
				hosts[key].all += pass == 2;
				hosts[key].several += pass == 2 && distinct > 1;
			}
		sum->all += distinct > 0;
		sum->several += distinct > 1;
	}
}

/* A key is a rail if most hosts, or most hosts with several HCAs, have it. */
static int choose_rails(struct rail_build *rails)
{
	struct key_hosts *hosts = shape_scratch(rails->build, rails->keys.count, sizeof(*hosts)), all = { 0 };

	rails->rail_of_key = shape_indexes(rails->build, rails->keys.count);
	if (!hosts || !rails->rail_of_key)
		return ERR_NOMEM;
	count_keys(rails, hosts, &all);
	for (uint32_t i = 0; i < rails->keys.count && rails->count < RAILS_MAX; i++)
		if (rails->keys.texts[i][0] == '=' || hosts[i].all * 2 > all.all ||
		    (all.several > 1 && hosts[i].several * 2 > all.several))
			rails->rail_of_key[i] = rails->count++;
	return 0;
}

int rail_find_keys(struct rail_build *rails)
{
	struct shape_build *build = rails->build;
	int code = 0;

	/* At most the cabled ports, and one port of each other HCA. */
	rails->list = shape_scratch(build, build->fabric->port_count, sizeof(*rails->list));
	if (!rails->list)
		return ERR_NOMEM;
	list_ports(rails);
	for (uint32_t i = 0; i < rails->list_count && code == 0; i++)
		code = find_key(rails, &rails->list[i]);
	return code < 0 ? code : choose_rails(rails);
}
