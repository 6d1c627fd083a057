/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/test_cases.h"
#include "base/unit_test.h"
#include "fabric/fabric.h"
#include "fabric/rounds.h"
#include "fabric/routes.h"
#include "fabric/spread.h"
#include "fabric/test_net.h"
#include "fabric/variant.h"

enum { SWITCHES_MOST = 24 };
#define SHARE 0.8

/* A fabric with LIDs and tables, and what is to be loaded. */
struct bed {
	struct fabric *built, *fabric;
	struct shape *shape;
	struct routes routes;
	struct rounds rounds;
	bool *wanted;
};

static bool is_link(const struct fabric *fabric, uint32_t port)
{
	return fabric->ports[port].num && fabric_link_state(fabric, port) == PORT_ACTIVE &&
	       fabric->ports[port].peer != FABRIC_NONE;
}

/* @skip: of 10 directions this number is not wanted */
static void bed_plan(struct bed *bed, struct fabric *built, unsigned skip, uint64_t *random)
{
	struct rounds_query query = { .share = SHARE };

	memset(bed, 0, sizeof(*bed));
	bed->built = built;
	bed->fabric = fabric_variant_create(built, NULL);
	assert_true(fabric_variant_assign_lids(bed->fabric, NULL) > 0);
	assert_int_equal(shape_create(bed->fabric, NULL, &bed->shape, NULL), 0);
	assert_int_equal(routes_spread(bed->fabric, SPREAD_MINHOP, NULL, &bed->routes, NULL), 0);
	bed->wanted = calloc(bed->fabric->port_count + 1, sizeof(*bed->wanted));
	for (uint32_t i = 0; i < bed->fabric->port_count; i++)
		bed->wanted[i] = is_link(bed->fabric, i) && (!skip || net_random(random) % 10 >= skip);
	query.shape = bed->shape;
	query.routes = &bed->routes;
	query.wanted = bed->wanted;
	assert_int_equal(rounds_plan(&query, &bed->rounds, NULL), 0);
}

static void bed_done(struct bed *bed)
{
	rounds_done(&bed->rounds);
	routes_done(&bed->routes);
	shape_destroy(bed->shape);
	fabric_variant_destroy(bed->fabric);
	fabric_destroy(bed->built);
	free(bed->wanted);
}

/* Leaves with hosts, spines and cores, cables of several speeds, some missing. */
static struct fabric *random_tree(uint64_t *random)
{
	struct fabric *fabric = net_new();
	uint32_t switches[SWITCHES_MOST], leaves = 2 + (uint32_t)(net_random(random) % 5);
	uint32_t spines = 1 + (uint32_t)(net_random(random) % 4), cores = (uint32_t)(net_random(random) % 3);
	unsigned cables = 1 + (unsigned)(net_random(random) % 3);

	for (uint32_t i = 0; i < leaves + spines + cores; i++)
		switches[i] = net_switch(fabric, "switch%u", i);
	for (uint32_t i = 0; i < leaves; i++)
		net_hosts(fabric, "node", i * 100, 1 + (unsigned)(net_random(random) % 8), switches[i]);
	for (uint32_t i = 0; i < leaves; i++)
		for (uint32_t j = 0; j < spines; j++)
			net_links(fabric, switches[i], switches[leaves + j], cables);
	for (uint32_t i = 0; i < spines; i++)
		for (uint32_t j = 0; j < cores; j++)
			net_links(fabric, switches[leaves + i], switches[leaves + spines + j],
				  (unsigned)(net_random(random) % 3));
	for (uint32_t i = 0; i < fabric->port_count; i++) {
		uint32_t peer = fabric->ports[i].peer;
		unsigned draw = (unsigned)(net_random(random) % 40);

		if (peer == FABRIC_NONE || i > peer || draw > 4)
			continue;
		if (draw == 0)
			fabric->ports[i].state = PORT_DOWN;
		else
			fabric->ports[i].speed = fabric->ports[peer].speed = draw < 3 ? LINK_SPEED_HDR : LINK_SPEED_XDR;
	}
	assert_int_equal(fabric_finish(fabric, NULL, NULL), 0);
	return fabric;
}

static double rate_of(const struct fabric *fabric, uint32_t port)
{
	return (double)port_rate_bits_per_s(&fabric->ports[port]);
}

/* The rules of one round, by routes_trace(). @loaded: by port, what this and earlier rounds loaded */
static void check_round(const struct bed *bed, const struct round_pair *pairs, size_t count, bool *loaded)
{
	const struct fabric *fabric = bed->fabric;
	double *flow = calloc(fabric->port_count + 1, sizeof(*flow));
	bool *sends = calloc(fabric->port_count + 1, sizeof(*sends));
	bool *receives = calloc(fabric->port_count + 1, sizeof(*receives));
	struct route_trace trace;

	for (size_t i = 0; i < count; i++) {
		double rate = 1e300;

		assert_true(pairs[i].from != pairs[i].to && !sends[pairs[i].from] && !receives[pairs[i].to]);
		sends[pairs[i].from] = receives[pairs[i].to] = true;
		assert_int_equal(bed->shape->ports[pairs[i].from].rail, bed->shape->ports[pairs[i].to].rail);
		routes_trace(&bed->routes, fabric, pairs[i].from, pairs[i].to, 0, &trace);
		assert_int_equal(trace.end, ROUTE_ARRIVES);
		for (unsigned j = 0; j < trace.hops; j++)
			rate = rate_of(fabric, trace.ports[j]) < rate ? rate_of(fabric, trace.ports[j]) : rate;
		for (unsigned j = 0; j < trace.hops; j++)
			flow[trace.ports[j]] += rate;
	}
	for (uint32_t i = 0; i < fabric->port_count; i++) {
		/* No pair slows another one down. */
		assert_true(flow[i] <= rate_of(fabric, i) * 1.0001);
		loaded[i] |= flow[i] > 0 && flow[i] * 1.0001 >= SHARE * rate_of(fabric, i);
	}
	free(flow);
	free(sends);
	free(receives);
}

/* Directions on any route between two HCA ports of one rail. */
static bool *find_routed(const struct bed *bed)
{
	const struct fabric *fabric = bed->fabric;
	bool *routed = calloc(fabric->port_count + 1, sizeof(*routed));
	struct route_trace trace;

	for (uint32_t a = 0; a < fabric->port_count; a++)
		for (uint32_t b = 0; b < fabric->port_count; b++) {
			if (a == b || fabric->nodes[fabric->ports[a].node].type == NODE_SWITCH ||
			    fabric->nodes[fabric->ports[b].node].type == NODE_SWITCH || !is_link(fabric, a) ||
			    !is_link(fabric, b) || bed->shape->ports[a].rail != bed->shape->ports[b].rail)
				continue;
			routes_trace(&bed->routes, fabric, a, b, 0, &trace);
			for (unsigned i = 0; trace.end == ROUTE_ARRIVES && i < trace.hops; i++)
				routed[trace.ports[i]] = true;
		}
	return routed;
}

static void check(const struct bed *bed)
{
	const struct rounds *rounds = &bed->rounds;
	size_t ports = bed->fabric->port_count, loaded_count = 0, wanted = 0, no_route = 0;
	bool *loaded = calloc(ports + 1, sizeof(*loaded)), *left = calloc(ports + 1, sizeof(*left));
	bool *routed = find_routed(bed);

	for (size_t i = 0; i < rounds->count; i++) {
		size_t first = i ? rounds->ends[i - 1] : 0;

		assert_true(rounds->ends[i] > first);
		check_round(bed, rounds->pairs + first, rounds->ends[i] - first, loaded);
	}
	for (size_t i = 0; i < rounds->left_count; i++) {
		left[rounds->left[i]] = true;
		no_route += !routed[rounds->left[i]];
	}
	for (size_t i = 0; i < ports; i++) {
		wanted += bed->wanted[i];
		loaded_count += bed->wanted[i] && loaded[i];
		if (bed->wanted[i])
			assert_true(loaded[i] != left[i]);
	}
	assert_int_equal(rounds->wanted, wanted);
	assert_int_equal(rounds->loaded, loaded_count);
	assert_int_equal(rounds->no_route, no_route);
	assert_true(rounds->at_least <= rounds->count || rounds->left_count);
	free(loaded);
	free(left);
	free(routed);
}

TEST(rounds_load_what_they_say_and_pairs_share_no_capacity)
{
	size_t directions = 0, left = 0;

	for (uint64_t seed = 1; seed <= test_cases(150); seed++) {
		uint64_t random = seed;
		struct bed bed;

		bed_plan(&bed, random_tree(&random), (unsigned)(seed % 3) * 4, &random);
		check(&bed);
		directions += bed.rounds.wanted;
		left += bed.rounds.left_count;
		bed_done(&bed);
	}
	assert_true(directions > 1000 && left < directions / 4);
}

/* --- the fewest rounds of small fabrics, by trying all --- */

struct search {
	const struct bed *bed;
	uint32_t ends[6];
	uint32_t count;
	struct round_pair pairs[6];
	bool found;
};

static bool loads_all(const struct search *search, size_t count)
{
	const struct bed *bed = search->bed;
	bool *loaded = calloc(bed->fabric->port_count + 1, sizeof(*loaded)), all = true;
	double *flow = calloc(bed->fabric->port_count + 1, sizeof(*flow));

	for (size_t i = 0; i < count; i++) {
		struct route_trace trace;

		routes_trace(&bed->routes, bed->fabric, search->pairs[i].from, search->pairs[i].to, 0, &trace);
		for (unsigned j = 0; j < trace.hops; j++)
			flow[trace.ports[j]]++;
	}
	for (size_t i = 0; i < bed->fabric->port_count; i++) {
		/* All rates are equal. */
		all &= flow[i] <= 1 && (!bed->wanted[i] || flow[i] == 1);
	}
	free(flow);
	free(loaded);
	return all;
}

/* Every end sends to any other end that has no sender, or to none. */
static void try_all(struct search *search, uint32_t sender, unsigned used, size_t count)
{
	if (search->found)
		return;
	if (sender == search->count) {
		search->found = loads_all(search, count);
		return;
	}
	for (uint32_t to = 0; to < search->count; to++) {
		if (to == sender || used & 1u << to)
			continue;
		search->pairs[count] = (struct round_pair){ .from = search->ends[sender], .to = search->ends[to] };
		try_all(search, sender + 1, used | 1u << to, count + 1);
	}
	try_all(search, sender + 1, used, count);
}

TEST(one_round_is_found_where_one_is_enough)
{
	unsigned one = 0, found = 0;

	for (uint64_t seed = 1; seed <= test_cases(60); seed++) {
		struct fabric *fabric = net_new();
		uint32_t leaves[2], spines[2];
		uint64_t random = seed;
		struct search search = { 0 };
		struct bed bed;

		for (unsigned i = 0; i < 2; i++) {
			leaves[i] = net_switch(fabric, "leaf%u", i);
			spines[i] = net_switch(fabric, "spine%u", i);
		}
		for (unsigned i = 0; i < 2; i++) {
			net_hosts(fabric, "node", i * 100, 2 + (unsigned)(net_random(&random) % 2), leaves[i]);
			for (unsigned j = 0; j < 2; j++)
				net_links(fabric, leaves[i], spines[j], 1);
		}
		assert_int_equal(fabric_finish(fabric, NULL, NULL), 0);
		bed_plan(&bed, fabric, (unsigned)(seed % 4) * 2, &random);
		check(&bed);
		search.bed = &bed;
		for (uint32_t i = 0; i < bed.fabric->port_count; i++)
			if (bed.fabric->nodes[bed.fabric->ports[i].node].type != NODE_SWITCH && is_link(bed.fabric, i))
				search.ends[search.count++] = i;
		try_all(&search, 0, 0, 0);
		if (search.found) {
			one++;
			found += bed.rounds.count <= 1;
			assert_true(bed.rounds.at_least <= 1);
		}
		bed_done(&bed);
	}
	assert_true(one >= test_cases(60) / 3);
	/* A heuristic; here it misses none. */
	assert_int_equal(found, one);
}

/* Each of the two uplinks needs four pairs at a time: two hosts are too few, four are enough. */
TEST(a_trunk_that_is_faster_than_the_hosts_needs_several_pairs_at_a_time)
{
	for (unsigned hosts = 2; hosts <= 8; hosts += 2) {
		struct fabric *fabric = net_new();
		uint32_t leaf[2] = { net_switch(fabric, "leaf0"), net_switch(fabric, "leaf1") };
		uint32_t spine = net_switch(fabric, "spine");
		uint64_t random = 1;
		struct bed bed;

		for (unsigned i = 0; i < 2; i++) {
			net_hosts(fabric, "node", i * 100, hosts, leaf[i]);
			net_link(fabric, leaf[i], spine);
		}
		for (uint32_t i = 0; i < fabric->port_count; i++)
			if (fabric->ports[i].peer != FABRIC_NONE &&
			    (fabric->nodes[fabric->ports[i].node].type != NODE_SWITCH ||
			     fabric->nodes[fabric->ports[fabric->ports[i].peer].node].type != NODE_SWITCH))
				fabric->ports[i].speed = LINK_SPEED_EDR;
		assert_int_equal(fabric_finish(fabric, NULL, NULL), 0);
		bed_plan(&bed, fabric, 0, &random);
		check(&bed);
		assert_int_equal(bed.rounds.left_count, hosts < 4 ? 4 : 0);
		assert_int_equal(bed.rounds.no_route, 0);
		assert_int_equal(bed.rounds.count, 1);
		bed_done(&bed);
	}
}

/* Three hosts below each of two leaves with one uplink: three destinations, one at a time over the uplink. */
TEST(the_bound_counts_what_can_enter_a_switch)
{
	struct fabric *fabric = net_new();
	uint32_t leaf[2] = { net_switch(fabric, "leaf0"), net_switch(fabric, "leaf1") };
	uint32_t spine[3] = { net_switch(fabric, "s0"), net_switch(fabric, "s1"), net_switch(fabric, "s2") };
	uint64_t random = 1;
	struct bed bed;

	/* One host each, so one uplink at a time. */
	for (unsigned i = 0; i < 2; i++) {
		net_hosts(fabric, "node", i * 100, i ? 3 : 1, leaf[i]);
		for (unsigned j = 0; j < 3; j++)
			net_link(fabric, leaf[i], spine[j]);
	}
	assert_int_equal(fabric_finish(fabric, NULL, NULL), 0);
	bed_plan(&bed, fabric, 0, &random);
	check(&bed);
	assert_int_equal(bed.rounds.at_least, 3);
	assert_int_equal(bed.rounds.count, 3);
	bed_done(&bed);
}

TEST(nothing_is_planned_without_tables_or_hosts)
{
	struct fabric *fabric = net_new();
	uint32_t leaf = net_switch(fabric, "leaf"), spine = net_switch(fabric, "spine");
	struct rounds_query query = { .share = SHARE };
	struct routes none = { 0 };
	struct rounds rounds;
	struct shape *shape;
	bool *wanted;

	net_hosts(fabric, "node", 0, 2, leaf);
	net_link(fabric, leaf, spine);
	shape = net_shape(fabric, NULL);
	wanted = calloc(fabric->port_count + 1, sizeof(*wanted));
	for (uint32_t i = 0; i < fabric->port_count; i++)
		wanted[i] = is_link(fabric, i);
	query.shape = shape;
	query.routes = &none;
	query.wanted = wanted;
	assert_int_equal(rounds_plan(&query, &rounds, NULL), 0);
	assert_int_equal(rounds.count, 0);
	assert_int_equal(rounds.left_count, 6);
	assert_int_equal(rounds.no_route, 6);
	rounds_done(&rounds);
	free(wanted);
	net_done(fabric, shape);
}
