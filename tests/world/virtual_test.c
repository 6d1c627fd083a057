/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "base/unit_test.h"
#include "fabric/fabric.h"
#include "fabric/names.h"
#include "fabric/routes.h"
#include "tests/world/scenario.h"
#include "tests/world/virtual.h"

static struct virtual *begin(const char *chars)
{
	struct scenario scenario;
	struct virtual *world = NULL;
	struct error err = { 0 };

	if (scenario_read(chars, &scenario, &err) < 0 || scenario_begin(&scenario, &world, &err) < 0)
		fail_msg("%s", err.text);
	scenario_done(&scenario);
	return world;
}

/* A test with the fabric of a scenario, `world`. */
#define WORLD_TEST(name, scenario) \
	static void name##_in(struct virtual *world); \
	TEST(name) \
	{ \
		struct virtual *own = begin(scenario); \
\
		name##_in(own); \
		virtual_destroy(own); \
	} \
	static void name##_in(struct virtual *world)

#define INTERVAL_US INT64_C(10000000)

/* Advance to a number of intervals since the beginning. */
static void advance(struct virtual *world, unsigned intervals)
{
	virtual_advance(world, intervals * INTERVAL_US);
}

/* The value of a counter after a number of intervals. */
static uint64_t value_of(struct virtual *world, uint32_t port, unsigned intervals, enum counter counter)
{
	uint64_t values[COUNTER_COUNT];

	virtual_read_port(world, port, intervals * INTERVAL_US, values);
	return values[counter];
}

static uint32_t port_of(const struct virtual *world, const char *name)
{
	struct error err;
	uint32_t port;

	if (names_find_port(world->built, name, &port, &err) < 0)
		fail_msg("%s", err.text);
	return port;
}

#define SMALL "shape rail units=2 hosts=8 rails=4 spines=4\njob main alltoall fan=8 load=0.6 noise=0.2\n"

/* Uplinks of leafs begin after the 8 ports of hosts. */
#define UPLINK "leaf-u01-r0/9"

WORLD_TEST(both_ends_of_a_link_count_the_same, SMALL)
{
	const struct fabric *built = world->built;
	uint64_t *before = calloc(built->port_count * 2, sizeof(*before));
	size_t compared = 0;

	advance(world, 1);
	for (uint32_t i = 0; i < built->port_count; i++) {
		before[2 * i] = value_of(world, i, 1, COUNTER_XMIT_DATA);
		before[2 * i + 1] = value_of(world, i, 1, COUNTER_RCV_DATA);
	}
	advance(world, 31);
	for (uint32_t i = 0; i < built->port_count; i++) {
		uint32_t peer = built->ports[i].peer;
		uint64_t sent, received;

		if (peer == FABRIC_NONE)
			continue;
		sent = value_of(world, i, 31, COUNTER_XMIT_DATA) - before[2 * i];
		received = value_of(world, peer, 31, COUNTER_RCV_DATA) - before[2 * peer + 1];
		assert_true(sent <= received + 1 && received <= sent + 1);
		compared += sent > 1000000;
	}
	assert_true(compared > 100);
	free(before);
}

/* Also readings later than the last advance. */
WORLD_TEST(counters_fall_only_where_they_were_cleared,
	   SMALL "length 1h\nat 5m clear leaf-u01-r0/9\nat 6m width leaf-u01-r0/10 1x\n"
	   "at 7m flap leaf-u01-r0/11\nat 8m off spine-02 for=2m\n")
{
	const struct fabric *built = world->built;
	uint64_t *last = calloc(built->port_count * COUNTER_COUNT, sizeof(*last)), values[COUNTER_COUNT];
	unsigned fell = 0;

	for (unsigned reads = 2; reads < 240; reads++) {
		advance(world, reads / 2);
		for (uint32_t i = 0; i < built->port_count; i++) {
			bool falls = false;

			virtual_read_port(world, i, reads * INTERVAL_US / 2, values);
			for (unsigned c = 0; c < COUNTER_COUNT; c++) {
				falls |= values[c] < last[i * COUNTER_COUNT + c];
				last[i * COUNTER_COUNT + c] = values[c];
			}
			fell += falls && i == port_of(world, UPLINK);
			if (falls && i != port_of(world, UPLINK) &&
			    !strstr(built->nodes[built->ports[i].node].name, "spine-02"))
				fail_msg("a counter of %s fell", built->nodes[built->ports[i].node].name);
		}
	}
	assert_int_equal(fell, 1);
	free(last);
}

TEST(a_scenario_is_deterministic)
{
	const char *text = SMALL "seed 5\nat 1m errors leaf-u01-r0/9 symbol_errors=4000\n";
	struct virtual *a = begin(text), *b = begin(text);
	uint64_t one[COUNTER_COUNT], two[COUNTER_COUNT];

	advance(a, 40);
	advance(b, 40);
	for (uint32_t i = 0; i < a->built->port_count; i++) {
		virtual_read_port(a, i, 40 * INTERVAL_US, one);
		virtual_read_port(b, i, 40 * INTERVAL_US, two);
		assert_memory_equal(one, two, sizeof(one));
	}
	assert_true(value_of(a, port_of(a, UPLINK), 40, COUNTER_SYMBOL_ERRORS) > 100);
	virtual_destroy(a);
	virtual_destroy(b);
}

/* @ret: by port of the switch: the number of remote HCAs routed through it. */
static void count_destinations(const struct virtual *world, const char *name, uint32_t ret[256])
{
	const struct fabric *built = world->built;
	struct error err;
	uint32_t node;

	memset(ret, 0, 256 * sizeof(*ret));
	assert_int_equal(names_find_node(built, name, &node, &err), 0);
	for (uint32_t i = 0; i < built->port_count; i++) {
		const struct port *port = &built->ports[i];

		if (built->nodes[port->node].type != NODE_SWITCH && built->ports[port->peer].node != node)
			ret[routes_out_port(routes_find(&world->tables, built->nodes[node].guid), port->lid)]++;
	}
}

WORLD_TEST(tables_are_even_until_they_are_skewed, SMALL "at 1m skew leaf-u01-r0 to=9 part=0.5\n")
{
	uint32_t count[256], total = 0;

	advance(world, 2);
	count_destinations(world, "leaf-u01-r0", count);
	/* Ports 9 to 16 are the uplinks; the management host's port follows. */
	for (uint32_t i = 9; i <= 16; i++) {
		assert_in_range(count[i], 56 / 8 - 1, 56 / 8 + 2);
		total += count[i];
	}
	advance(world, 8);
	count_destinations(world, "leaf-u01-r0", count);
	assert_true(count[9] > total * 4 / 10);
}

WORLD_TEST(a_dead_spine_is_not_discovered, SMALL "at 65s off spine-03\n")
{
	struct fabric *seen;
	uint32_t count[256], node;

	advance(world, 7);
	assert_int_equal(value_of(world, port_of(world, "leaf-u01-r0/13"), 7, COUNTER_LINK_DOWNED), 1);
	seen = virtual_discover(world);
	assert_int_not_equal(names_find_node(seen, "spine-03", &node, NULL), 0);
	assert_int_equal(names_find_node(seen, "spine-04", &node, NULL), 0);
	fabric_destroy(seen);
	/* Nothing is routed over it. */
	count_destinations(world, "leaf-u01-r0", count);
	assert_int_equal(count[13] + count[14], 0);
	assert_true(count[9] > 7);
}

WORLD_TEST(an_idle_hca_sends_nothing, SMALL "at 1m leave main \"node0003 mlx5_2\"\n")
{
	uint32_t idle, used;

	advance(world, 9);
	idle = port_of(world, "node0003 mlx5_2/1");
	used = port_of(world, "node0003 mlx5_1/1");
	assert_true(virtual_load(world, used) > 0.2);
	assert_true(virtual_load(world, idle) <= 0);
}

/* Many hosts send to one storage host: their ports wait, and the saturated port does not. */
WORLD_TEST(ports_before_a_full_link_count_wait,
	   "shape tree2 leafs=4 hosts=8 spines=4\n"
	   "job dump incast hosts=node0001-node0016 targets=node0032 load=0.8\n")
{
	const struct fabric *built = world->built;
	uint32_t target = port_of(world, "node0032 mlx5_0/1"), leaf = built->ports[target].peer, waiting = 0;

	advance(world, 3);
	assert_true(virtual_load(world, leaf) > 0.99);
	assert_int_equal(value_of(world, leaf, 3, COUNTER_XMIT_WAIT), 0);
	for (uint32_t i = 0; i < built->port_count; i++)
		waiting += value_of(world, i, 3, COUNTER_XMIT_WAIT) > 0;
	/* 16 HCAs, and the uplinks of their leafs that lead there. */
	assert_in_range(waiting, 18, 24);
}

TEST(random_scenarios_are_valid)
{
	for (uint64_t seed = 0; seed < 120; seed++) {
		struct text text = { 0 };
		struct scenario scenario;
		struct virtual *world = NULL;
		struct error err = { 0 };

		scenario_draw(seed, seed % 3, (enum net_shape_kind)(seed % 3), SCENARIO_SMALL, &text);
		if (scenario_read(text_chars(&text), &scenario, &err) < 0 ||
		    scenario_begin(&scenario, &world, &err) < 0)
			fail_msg("seed %u: %s\n%s", (unsigned)seed, err.text, text_chars(&text));
		advance(world, 3);
		virtual_destroy(world);
		scenario_done(&scenario);
		text_done(&text);
	}
}

/* Read and begin a scenario. Return: 0 or its error. */
static int try(const char *text, struct error *err)
{
	struct scenario scenario;
	struct virtual *world;
	int code = scenario_read(text, &scenario, err);

	if (code < 0)
		return code;
	code = scenario_begin(&scenario, &world, err);
	if (code == 0)
		virtual_destroy(world);
	scenario_done(&scenario);
	return code;
}

/* Each error names the line, the word or the option. */
TEST(invalid_lines_are_errors)
{
	static const struct { const char *text, *named; } wrong[] = {
		{ "about x\nshape ring", "line 2" }, { "at 5m\nbogus", "line 2" }, { "shape rail hosts", "hosts=32" },
		{ "expect link-down", "a kind and a subject" },
		{ "expect link-down any severity=bad", "severity=bad" },
		{ "expect link-down any sevrity=warning", "sevrity" },
		{ "about x\nseed abc", "line 2: seed=abc" }, { "seed", "seed=" }, { "seed 7 8", "line 1" },
		{ "at 1m", "" }, { "at 1m explode leaf-u01-r0", "explode" },
		{ "at 1m down leaf-u01-r0", "leaf-u01-r0" },
		{ "at 1m down leaf-u01-r0/99", "99" }, { "at 1m down \"" UPLINK, "quote" },
		{ "at 1m width " UPLINK, "2x" }, { "at 1m errors " UPLINK, "counter" },
		{ "at 1m errors " UPLINK " xmit_data=4", "xmit_data" }, { "at 1m stop absent", "job" },
		{ "at 1m off absent", "absent" }, { "at 1m skew leaf-u01-r0", "to=" }, { "at 1m sm dance", "handover" },
		{ "job x dance", "dance" }, { "job x ring hosts=absent", "absent" },
		/* Numbers */
		{ "at 1m flap " UPLINK " times=0", "times=0" }, { "at 1m flap " UPLINK " times=1e3", "times=1e3" },
		{ "at 1m errors " UPLINK " symbol_errors=40 echo=2", "echo=2" },
		{ "at 1m errors " UPLINK " symbol_errors=nan", "symbol_errors=nan" },
		{ "at 1m skew leaf-u01-r0 to=9 part=0,5", "part=0,5" }, { "at 1m skew leaf-u01-r0 to=265", "to=265" },
		{ "at 1m reroute order= 1", "order=" }, { "job x ring load=inf", "load=inf" },
		{ "job x ring noise=-1", "noise=-1" }, { "job x ring stride=99999999999", "stride=99999999999" },
		{ "job x alltoall fan=2x", "fan=2x" }, { "job x ring seed=99999999999999999999", "seed=99" },
		/* Unknown options, missing hosts, surplus words */
		{ "at 1m flap " UPLINK " tims=3", "\"tims\": it has times every for" },
		{ "at 1m flap " UPLINK " time=3", "\"time\"" }, { "at 1m down " UPLINK " " UPLINK, "word \"" UPLINK },
		{ "at 1m errors " UPLINK " symbol_errors=40 symbol_error=3", "\"symbol_error\"" },
		{ "at 1m errors " UPLINK " symbol_errors=40 =5", "\"\"" }, { "at 1m reroute 2", "word \"2\"" },
		{ "at 1m off host=node0001", "\"host\"" }, { "at 1m off hosts=", "has no host" },
		{ "at 1m off \"node0001 mlx5_0\" hosts=node0002", "not both" },
		{ "job x ring\nat 1m leave x hosts=absent", "absent" },
		{ "job x ring coupled=rubbish", "coupled=rubbish must be yes or no" },
		{ "job x ring spread=adaptve", "spread=adaptve" }, { "job x ring starts=", "starts=" },
		{ "job x ring cupled=no", "\"cupled\"" },
	};
	char text[256];

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		/* The number of the line must not change. */
		bool bare = strstr(wrong[i].named, "line ") != NULL;
		struct error err = { 0 };

		snprintf(text, sizeof(text), "%s%s\n", bare ? "" : SMALL, wrong[i].text);
		assert_int_equal(try(text, &err), ERR_USAGE);
		if (!err.text[0] || !strstr(err.text, wrong[i].named) || strchr(err.text, '\n'))
			fail_msg("%s: %s", text, err.text);
	}
}

TEST(valid_lines_are_accepted)
{
	static const char *const right[] = {
		"at 1m flap " UPLINK " times=3 every=1m for=2s", "at 1m flap " UPLINK " times=1",
		"at 1m errors " UPLINK " symbol_errors=4 echo=1 for=2m",
		"at 1m errors " UPLINK " symbol_errors=0.5 echo=0",
		"at 1m skew leaf-u01-r0 to=9 part=1", "at 1m reroute order=0",
		"at 1m off hosts=node0001-node0002 for=2m", "job x ring coupled=yes load=1 noise=0 stride=9 seed=0",
		"job x ring coupled=no", "job x ring spread=adaptive", "job x ring spread=static",
		"job x ring starts=later", "job x ring starts=now\nat 1m leave x hosts=node0001-node0002",
	};
	char text[256];

	for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
		struct error err = { 0 };

		snprintf(text, sizeof(text), SMALL "%s\n", right[i]);
		if (try(text, &err))
			fail_msg("%s: %s", text, err.text);
	}
}

TEST(a_width_is_a_number_of_lanes)
{
	static const char *const right[] = { "1x", "2x", "4x", "4" };
	static const char *const wrong[] = { "abc", "1y", "1xx", "3x", "-1x", "4294967297x" };
	char text[256];

	for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
		snprintf(text, sizeof(text), SMALL "at 1m width " UPLINK " %s\n", right[i]);
		assert_int_equal(try(text, NULL), 0);
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		snprintf(text, sizeof(text), SMALL "at 1m width " UPLINK " %s\n", wrong[i]);
		assert_int_equal(try(text, NULL), ERR_USAGE);
	}
}
