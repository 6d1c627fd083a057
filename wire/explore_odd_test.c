/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Fabrics that contradict themselves, lead back to where they began, or change while they are explored. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "fabric/fabric.h"
#include "wire/test_explore.h"

static void hosts_back_to_back(void **state)
{
	struct fabric *fabric;

	(void)state;
	wiring_init(&wiring, 1);
	wiring_add(&wiring, NODE_CA, 2);
	wiring_add(&wiring, NODE_CA, 2);
	wiring_link(&wiring, 0, 1, 1, 2);
	wiring_link(&wiring, 0, 2, 1, 1);
	fabric = test_explore(3, NULL);
	assert_int_equal(fabric->node_count, 2);
	assert_int_equal(fabric->port_count, 2);
	assert_true(test_has_link(fabric, 0, 1, 1, 2));
	fabric_destroy(fabric);
}

static void a_plug_that_leads_back_is_its_own_peer(void **state)
{
	struct fabric *fabric;

	(void)state;
	test_star(3);
	wiring_cut(&wiring, 1, 4);
	wiring_link(&wiring, 1, 4, 1, 4);
	fabric = test_explore(3, NULL);
	assert_int_equal(fabric->node_count, 4);
	assert_true(test_has_link(fabric, 1, 4, 1, 4));
	assert_string_equal(text_chars(&notes), "");
	fabric_destroy(fabric);
}

static void two_hosts_with_one_guid_are_told(void **state)
{
	struct fabric *fabric;

	(void)state;
	test_star(6);
	wiring.nodes[5].guid = wiring.nodes[3].guid;
	fabric = test_explore(3, NULL);
	assert_int_equal(fabric->node_count, 7);
	/* One of the two has the link, the other one's port has a cable and no peer. */
	assert_int_equal(test_has_link(fabric, 1, 3, 3, 1) + test_has_link(fabric, 1, 5, 3, 1), 1);
	assert_int_equal(fabric_count_links(fabric), 6);
	assert_non_null(strstr(text_chars(&notes), "two nodes have one GUID"));
	fabric_destroy(fabric);
}

static void another_kind_of_node_with_the_same_guid_is_told(void **state)
{
	struct fabric *fabric;

	(void)state;
	test_star(6);
	wiring.nodes[5].guid = wiring.nodes[1].guid;
	fabric = test_explore(3, NULL);
	assert_int_equal(fabric->node_count, 7);
	assert_int_equal(fabric_count_links(fabric), 6);
	assert_non_null(strstr(text_chars(&notes), "two nodes have the GUID 0x0000000000002000"));
	fabric_destroy(fabric);
}

/*
 * Two switches with one GUID behind a third: each of their ports may be claimed by the wrong one's neighbours. It ends,
 * it is told, every peer is mutual, and what the kept one is cabled to is found behind it.
 */
static void two_switches_with_one_guid_are_told(void **state)
{
	unsigned seed, i;

	(void)state;
	for (seed = 1; seed <= 300; seed++) {
		struct fabric *fabric;
		size_t port;

		wiring_init(&wiring, seed);
		wiring_add(&wiring, NODE_CA, 1);
		for (i = 0; i < 4; i++)
			wiring_add(&wiring, NODE_SWITCH, 12);
		wiring_link(&wiring, 0, 1, 1, 1);
		wiring_link(&wiring, 1, 2, 2, 1);
		wiring_link(&wiring, 1, 3, 3, 1);
		wiring_link(&wiring, 4, 1, 2, 2);
		wiring_link(&wiring, 4, 2, 3, (uint8_t)(2 + test_below(2)));
		for (i = 0; i < 12; i++) {
			uint32_t leaf = 1 + (uint32_t)test_below(4);
			uint8_t num = (uint8_t)(4 + test_below(9));

			if (wiring.nodes[leaf].peer[num].node == WIRING_NONE)
				wiring_link(&wiring, wiring_add(&wiring, NODE_CA, 1), 1, leaf, num);
		}
		wiring.nodes[3].guid = wiring.nodes[2].guid;
		fabric = test_explore(3, NULL);
		assert_true(text_chars(&notes)[0]);
		assert_int_equal(trailer.lost, 0);
		for (port = 0; port < fabric->port_count; port++)
			if (fabric->ports[port].peer != FABRIC_NONE)
				assert_int_equal(fabric->ports[fabric->ports[port].peer].peer, port);
		assert_true(test_has_node(fabric, 1) && test_has_node(fabric, 2) && test_has_node(fabric, 4));
		/* The twin's hosts may stay hidden behind the first's GUID; those of the others are all there. */
		for (i = 5; i < wiring.count; i++)
			if (wiring.nodes[i].peer[1].node == 1 || wiring.nodes[i].peer[1].node == 4)
				assert_true(test_has_node(fabric, i));
		fabric_destroy(fabric);
	}
}

static void a_node_without_a_guid_is_left_out(void **state)
{
	struct fabric *fabric;

	(void)state;
	test_star(3);
	wiring.nodes[3].guid = 0;
	fabric = test_explore(3, NULL);
	assert_int_equal(fabric->node_count, 4);
	assert_int_equal(fabric->ports[fabric_find_port(fabric, wiring.nodes[1].guid, 3)].peer, FABRIC_NONE);
	assert_non_null(strstr(text_chars(&notes), "GUID 0"));
	fabric_destroy(fabric);
}

static void a_path_ends_where_an_smp_has_no_more_room(void **state)
{
	struct fabric *fabric;
	uint32_t i;

	(void)state;
	wiring_init(&wiring, 1);
	wiring_add(&wiring, NODE_CA, 1);
	for (i = 1; i < 80; i++) {
		wiring_add(&wiring, NODE_SWITCH, 2);
		wiring_link(&wiring, i - 1, i == 1 ? 1 : 2, i, 1);
	}
	fabric = test_explore(3, NULL);
	assert_int_equal(fabric->node_count, 64);
	assert_int_equal(trailer.hops, 63);
	assert_non_null(strstr(text_chars(&notes), "out of reach"));
	fabric_destroy(fabric);
}

static void move_a_cable(struct wiring *changed)
{
	uint32_t a = 1 + (uint32_t)test_below(changed->count - 1), b = 1 + (uint32_t)test_below(changed->count - 1);
	uint8_t a_num = (uint8_t)(1 + test_below(changed->nodes[a].port_count));
	uint8_t b_num = (uint8_t)(1 + test_below(changed->nodes[b].port_count));

	wiring_cut(changed, a, a_num);
	wiring_cut(changed, b, b_num);
	if (a != b)
		wiring_link(changed, a, a_num, b, b_num);
	changed->change_at = changed->sent + 20;
}

/* Cables move all the time: what comes out is some fabric, with mutual peers, and it comes to an end. */
static void a_fabric_that_changes_meanwhile_does_no_harm(void **state)
{
	uint64_t seed;

	(void)state;
	for (seed = 1; seed <= 1000; seed++) {
		struct fabric *fabric;
		size_t i;

		test_draw(seed);
		if (wiring.count < 3)
			continue;
		wiring.change = move_a_cable;
		wiring.change_at = 5;
		fabric = test_explore(3, NULL);
		assert_non_null(fabric);
		for (i = 0; i < fabric->port_count; i++)
			if (fabric->ports[i].peer != FABRIC_NONE)
				assert_int_equal(fabric->ports[fabric->ports[i].peer].peer, i);
		assert_true(wiring.sent < 20000);
		fabric_destroy(fabric);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hosts_back_to_back),
		cmocka_unit_test(a_plug_that_leads_back_is_its_own_peer),
		cmocka_unit_test(two_hosts_with_one_guid_are_told),
		cmocka_unit_test(another_kind_of_node_with_the_same_guid_is_told),
		cmocka_unit_test(two_switches_with_one_guid_are_told),
		cmocka_unit_test(a_node_without_a_guid_is_left_out),
		cmocka_unit_test(a_path_ends_where_an_smp_has_no_more_room),
		cmocka_unit_test(a_fabric_that_changes_meanwhile_does_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, test_forget);
}
