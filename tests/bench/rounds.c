/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * rounds.c - rounds of host pairs that load every link direction of a fabric (fabric/rounds.h), and a lower bound
 *
 *	rounds                 fabrics of two and three tiers and of rails, up to 11,264 HCAs
 *	rounds KIND OPTION...  another one, with the options of ibwire-sim net: rounds tree3 hosts=16 units=8
 *
 * The forwarding tables are those of minhop (fabric/spread.h), and for trees those in which a destination has the same
 * uplink number everywhere (d mod k), as ftree makes them. Times are CPU time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/coverage.h"
#include "base/err.h"
#include "fabric/fabric.h"
#include "fabric/rounds.h"
#include "fabric/routes.h"
#include "fabric/shape.h"
#include "fabric/spread.h"
#include "sim/net_shape.h"
#include "tests/bench/measure.h"
#include "tests/world/spread.h"

/* A destination takes the uplink of its number, at spines without the part that chose the spine, as in ftree. */
static void spread_modulo(const struct spread *spread, const struct shape *shape, struct routes *tables)
{
	const struct fabric *fabric = shape->fabric;
	uint32_t leaf_uplinks = 1;

	for (size_t i = 0; i < shape->group_count; i++)
		if (shape->groups[i].kind == GROUP_UP && shape->groups[i].tier == 1)
			leaf_uplinks = shape->groups[i].count;
	for (uint32_t i = 0; i < spread->count; i++) {
		const struct node *node = &fabric->nodes[spread->nodes[i]];
		uint32_t divisor = shape->nodes[spread->nodes[i]].tier > 1 ? leaf_uplinks : 1, nth = 0;
		uint8_t *table = spread_table(tables, node->guid);

		for (uint32_t j = 0; j < fabric->port_count; j++) {
			const struct port *port = &fabric->ports[j];
			uint32_t near[256], count = 0;

			if (fabric->nodes[port->node].type == NODE_SWITCH || port->peer == FABRIC_NONE)
				continue;
			for (uint32_t out = node->first_port; out < node->first_port + node->ports; out++)
				if (fabric->ports[out].peer != port->peer && spread_nearer(spread, fabric, out,
								fabric->ports[port->peer].node) && count < 256)
					near[count++] = out;
			if (count > 1)
				table[port->lid] = fabric->ports[near[nth / (shape->ports[near[0]].way == WAY_UP ?
									     divisor : 1) % count]].num;
			nth++;
		}
	}
}

static void print_figure(const char *what, const char *name, bool modulo, double value, const char *unit)
{
	char key[96];

	snprintf(key, sizeof(key), "rounds_%s_%s_%s", name, modulo ? "modulo" : "minhop", what);
	figure(key, value, unit, 0, NULL, 0);
}

static int fail(const struct error *err)
{
	fprintf(stderr, "rounds: %s\n", err->text);
	return 64;
}

static int measure(const char *name, const struct net_shape *settings, bool modulo)
{
	struct rounds_query query = { .share = 0.8 };
	struct spread spread = { 0 };
	struct routes tables = { 0 };
	struct rounds rounds;
	struct fabric *fabric;
	struct shape *shape;
	struct error err = { 0 };
	bool *wanted;
	int64_t begin_us;

	if (net_shape_build(settings, &fabric, &err) < 0)
		return fail(&err);
	spread_lids(fabric);
	if (shape_create(fabric, NULL, &shape, &err) < 0 ||
	    routes_spread(fabric, SPREAD_MINHOP, NULL, &tables, &err) < 0)
		return fail(&err);
	spread_measure(&spread, fabric);
	if (modulo)
		spread_modulo(&spread, shape, &tables);
	wanted = calloc(fabric->port_count + 1, sizeof(*wanted));
	for (uint32_t i = 0; wanted && i < fabric->port_count; i++)
		wanted[i] = coverage_is_link(fabric, i);
	query.shape = shape;
	query.routes = &tables;
	query.wanted = wanted;
	begin_us = cpu_us();
	if (!wanted || rounds_plan(&query, &rounds, &err) < 0)
		return fail(&err);
	begin_us = cpu_us() - begin_us;
	printf("%s, %s: %zu hosts, %u tiers, %zu link directions, %zu loaded in %zu rounds (at least %zu), %zu without "
	       "a route, %.2f s\n", name, modulo ? "d mod k" : "minhop", shape->host_count, shape->tier_count,
	       rounds.wanted, rounds.loaded, rounds.count, rounds.at_least, rounds.no_route, (double)begin_us / 1e6);
	for (size_t i = 0; i < rounds.count; i++)
		printf("  round %zu: %zu pairs\n", i + 1, rounds.ends[i] - (i ? rounds.ends[i - 1] : 0));
	print_figure("count", name, modulo, (double)rounds.count, "rounds");
	print_figure("at_least", name, modulo, (double)rounds.at_least, "rounds");
	print_figure("cpu", name, modulo, (double)begin_us / 1e6, "s");
	rounds_done(&rounds);
	free(wanted);
	shape_destroy(shape);
	routes_done(&tables);
	spread_done(&spread);
	fabric_destroy(fabric);
	return 0;
}

static int run(char **words, int count, const char *name)
{
	static const char *const kinds[] = { "rail", "tree2", "tree3" };
	struct error err = { 0 };
	struct net_shape shape;
	int kind = 0, code;

	while (kind < 3 && strcmp(words[0], kinds[kind]) != 0)
		kind++;
	if (kind == 3) {
		fprintf(stderr, "rounds: '%s' is none of rail, tree2 and tree3\n", words[0]);
		return 64;
	}
	shape = net_shape_default((enum net_shape_kind)kind);
	for (int i = 1; i < count; i++) {
		char option[64], *value;

		snprintf(option, sizeof(option), "%s", words[i]);
		value = strchr(option, '=');
		if (value)
			*value++ = 0;
		if (net_shape_option(&shape, option, value ? value : "", &err) < 0)
			return fail(&err);
	}
	code = measure(name ? name : words[0], &shape, false);
	/* Each rail has leaves of its own: it would be the number within the rail. */
	return code || kind == NET_SHAPE_RAIL ? code : measure(name ? name : words[0], &shape, true);
}

int main(int argc, char **argv)
{
	static const struct { const char *name, *words[8]; } fabrics[] = {
		{ "tree2_512", { "tree2", "leafs=32", "hosts=16", "spines=16" } },
		{ "tree3_1024", { "tree3", "units=8", "leafs=8", "hosts=16", "spines=8", "cores=64" } },
		{ "rail_1024", { "rail", "units=8", "hosts=16", "spines=8" } },
		{ "rail_11264", { "rail", "units=22", "hosts=64", "spines=64" } },
	};
	int code = 0;

	if (argc > 1)
		return run(argv + 1, argc - 1, NULL);
	for (size_t i = 0; !code && i < sizeof(fabrics) / sizeof(*fabrics); i++) {
		int count = 0;

		while (fabrics[i].words[count])
			count++;
		code = run((char **)fabrics[i].words, count, fabrics[i].name);
	}
	return code;
}
