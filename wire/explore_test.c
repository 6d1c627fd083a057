/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What is discovered is what is there: fabrics in memory, drawn at random, lossy, dying, locked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/text.h"
#include "fabric/fabric.h"
#include "wire/keys.h"
#include "wire/test_explore.h"

/* What libibnetdisc would have sent: infiniband.md, Costs. */
static uint64_t cost_of_library(const struct fabric *fabric)
{
	uint64_t cost = 1;
	size_t i;

	for (i = 0; i < fabric->port_count; i++) {
		const struct port *port = &fabric->ports[i];

		if (fabric->nodes[port->node].type != NODE_SWITCH)
			cost += 3;
		else if (port->num)
			cost += 1 + (port->peer != FABRIC_NONE);
		else
			cost += 3;
	}
	return cost;
}

static void any_fabric_is_found_as_it_is(void **state)
{
	uint64_t seed;

	(void)state;
	for (seed = 1; seed <= 2000; seed++) {
		struct fabric *fabric;
		uint32_t i;
		unsigned num;

		test_draw(seed);
		fabric = test_explore(3, NULL);
		assert_non_null(fabric);
		test_check_found(fabric);
		assert_int_equal(trailer.lost, 0);
		assert_string_equal(text_chars(&notes), "");
		if (!trailer.silent) {
			assert_true(trailer.smps <= cost_of_library(fabric));
			for (i = 0; i < wiring.count; i++)
				for (num = 0; num <= wiring.nodes[i].port_count; num++)
					assert_true(wiring.probes[i][num] <= 1);
		}
		fabric_destroy(fabric);
	}
}

static bool is_all_there(const struct fabric *fabric)
{
	bool reached[WIRING_NODES];
	size_t nodes = 0, i;

	test_reach(reached);
	for (i = 0; i < wiring.count; i++)
		nodes += reached[i];
	return fabric->node_count == nodes;
}

/* A fifth of all MADs is lost: with enough retries everything is found; with few, what is not is counted. */
static void what_is_lost_is_found_or_counted(void **state)
{
	unsigned incomplete = 0, lossy = 0;
	uint64_t seed;
	uint32_t i;

	(void)state;
	for (seed = 1; seed <= 600; seed++) {
		struct fabric *fabric;

		test_draw(seed);
		for (i = 0; i < wiring.count; i++)
			wiring.nodes[i].dead = false;
		wiring.loss_percent = 20;
		fabric = test_explore(seed % 2 ? 20 : 1, NULL);
		if (!fabric)
			continue;
		if (seed % 2 || !(trailer.lost + trailer.silent)) {
			test_check_found(fabric);
			assert_int_equal(trailer.lost + trailer.silent, 0);
		}
		lossy += trailer.lost + trailer.silent > 0;
		incomplete += !is_all_there(fabric);
		fabric_destroy(fabric);
	}
	assert_true(lossy > 50 && incomplete > 20);
}

static void dead_neighbours_delay_nobody(void **state)
{
	struct fabric *fabric;
	int64_t began_us;
	unsigned i;

	(void)state;
	test_star(38);
	for (i = 2; i < 12; i++)
		wiring.nodes[i].dead = true;
	began_us = wiring.now_us;
	fabric = test_explore(3, NULL);
	test_check_found(fabric);
	assert_int_equal(trailer.silent, 10);
	assert_int_equal(trailer.lost, 0);
	/* Three short attempts and a patient one, all of them side by side. */
	assert_true(wiring.now_us - began_us < 320 * US_PER_MS);
	fabric_destroy(fabric);
}

static void a_slow_node_is_found(void **state)
{
	struct fabric *fabric;

	(void)state;
	test_star(10);
	wiring.nodes[5].answer_us = 150 * US_PER_MS;
	fabric = test_explore(3, NULL);
	test_check_found(fabric);
	assert_int_equal(trailer.silent + trailer.lost, 0);
	fabric_destroy(fabric);
}

static void without_retries_the_one_attempt_is_patient(void **state)
{
	struct fabric *fabric;

	(void)state;
	test_star(4);
	wiring.nodes[3].answer_us = 150 * US_PER_MS;
	fabric = test_explore(0, NULL);
	test_check_found(fabric);
	fabric_destroy(fabric);
}

static void a_switch_that_dies_half_way_is_left_soon(void **state)
{
	struct fabric *fabric;

	(void)state;
	test_star(30);
	wiring_add(&wiring, NODE_SWITCH, 36);
	wiring_link(&wiring, 1, 31, 32, 1);
	wiring.nodes[31].peer[1].node = WIRING_NONE;
	wiring.nodes[32].answers_left = 5;
	fabric = test_explore(3, NULL);
	assert_true(test_has_node(fabric, 32));
	assert_true(test_has_link(fabric, 1, 31, 32, 1));
	assert_int_equal(trailer.lost, 35); /* of 39: NodeInfo and four others came */
	/* Not four attempts at each. */
	assert_true(wiring.asked[32] < 30);
	fabric_destroy(fabric);
}

static void a_lost_port_0_hides_no_port(void **state)
{
	struct fabric *fabric;

	(void)state;
	test_star(10);
	wiring.nodes[1].drops = SMP_PORT_INFO;
	wiring.nodes[1].drops_port = 0;
	fabric = test_explore(3, NULL);
	assert_int_equal(fabric->node_count, 12);
	assert_int_equal(fabric_count_links(fabric), 11);
	assert_int_equal(trailer.lost, 1);
	fabric_destroy(fabric);
}

static void what_is_refused_is_lost(void **state)
{
	struct fabric *fabric;

	(void)state;
	test_star(3);
	wiring.nodes[3].refuses = SMP_NODE_DESCRIPTION;
	fabric = test_explore(3, NULL);
	assert_int_equal(fabric->node_count, 5);
	assert_int_equal(trailer.lost, 1);
	assert_string_equal(fabric->nodes[fabric_find_node(fabric, wiring.nodes[3].guid)].desc, "");
	fabric_destroy(fabric);
}

/* Switches have one key, hosts another, and this host one of its own: three where libibnetdisc has one. */
static void each_node_is_asked_with_its_key(void **state)
{
	char folder[] = "/tmp/explore_test_XXXXXX", path[64];
	struct fabric *fabric;
	struct keys *keys;
	uint32_t i;
	FILE *file;

	(void)state;
	test_star(12);
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/" KEYS_FILE, folder);
	file = fopen(path, "w");
	assert_non_null(file);
	for (i = 0; i < wiring.count; i++) {
		wiring.nodes[i].mkey = i > 1 ? 0xaaaa : i ? 0xbbbb : 0xcccc;
		fprintf(file, "0x%llx 0x%llx\n\n", (unsigned long long)wiring.nodes[i].guid,
			(unsigned long long)wiring.nodes[i].mkey);
	}
	fclose(file);
	assert_int_equal(keys_load(folder, &keys, NULL), 0);
	fabric = test_explore(3, keys);
	test_check_found(fabric);
	assert_int_equal(trailer.lost + trailer.silent, 0);
	fabric_destroy(fabric);
	keys_destroy(keys);
	assert_null(test_explore(3, NULL));
	unlink(path);
	rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_fabric_is_found_as_it_is),
		cmocka_unit_test(what_is_lost_is_found_or_counted),
		cmocka_unit_test(dead_neighbours_delay_nobody),
		cmocka_unit_test(a_slow_node_is_found),
		cmocka_unit_test(without_retries_the_one_attempt_is_patient),
		cmocka_unit_test(a_switch_that_dies_half_way_is_left_soon),
		cmocka_unit_test(a_lost_port_0_hides_no_port),
		cmocka_unit_test(what_is_refused_is_lost),
		cmocka_unit_test(each_node_is_asked_with_its_key),
	};

	return cmocka_run_group_tests(tests, NULL, test_forget);
}
