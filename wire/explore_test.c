/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What is discovered is what is there: fabrics in memory, drawn at random, lossy, dying, contradicting themselves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/text.h"
#include "fabric/fabric.h"
#include "wire/explore.h"
#include "wire/keys.h"
#include "wire/test_wiring.h"

static struct wiring wiring;
static struct record_trailer trailer;
static struct text notes;

static struct fabric *explore(unsigned retries, const struct keys *keys)
{
	const struct explore_settings settings = { .max_smps = 32, .per_node = 2, .timeout_ms = 1000,
						   .retries = retries, .keys = keys, .own_guid = wiring.nodes[0].guid };
	struct fabric *fabric = NULL;
	struct error err = { 0 };

	text_clear(&notes);
	trailer = (struct record_trailer){ 0 };
	if (explore_run(&wiring.transport, &wiring.clock, &settings, &fabric, &trailer, &notes, &err) < 0)
		assert_true(err.text[0]);
	assert_int_equal(wiring.not_allowed, 0);
	return fabric;
}

static bool has_node(const struct fabric *fabric, uint32_t node)
{
	return fabric_find_node(fabric, wiring.nodes[node].guid) != FABRIC_NONE;
}

/* Is a link in the fabric? */
static bool has_link(const struct fabric *fabric, uint32_t a, uint8_t a_num, uint32_t b, uint8_t b_num)
{
	uint32_t one = fabric_find_port(fabric, wiring.nodes[a].guid, a_num);
	uint32_t other = fabric_find_port(fabric, wiring.nodes[b].guid, b_num);

	return one != FABRIC_NONE && other != FABRIC_NONE && fabric->ports[one].peer == other &&
	       fabric->ports[other].peer == one;
}

/* Which nodes can be found, through whom it leads on. */
static void reach(bool *ret)
{
	uint32_t queue[WIRING_NODES], first = 0, last = 0, i;
	unsigned num;

	for (i = 0; i < wiring.count; i++)
		ret[i] = false;
	ret[0] = true;
	queue[last++] = 0;
	while (first < last) {
		const struct wiring_node *node = &wiring.nodes[queue[first++]];

		for (num = 1; num <= node->port_count; num++) {
			uint32_t peer = node->peer[num].node;

			if ((node->type != NODE_SWITCH && (node != wiring.nodes || num != 1)) || peer == WIRING_NONE ||
			    ret[peer] || wiring.nodes[peer].dead)
				continue;
			ret[peer] = true;
			queue[last++] = peer;
		}
	}
}

/* Can a port be found: a switch's always; an HCA's where something that leads on is cabled to it. */
static bool is_found(const bool *reached, uint32_t index, uint8_t num)
{
	const struct wiring_node *node = &wiring.nodes[index];
	uint32_t peer = node->peer[num].node;

	if (node->type == NODE_SWITCH || (index == 0 && num == 1))
		return true;
	return num && peer != WIRING_NONE && reached[peer] &&
	       (wiring.nodes[peer].type == NODE_SWITCH || (peer == 0 && node->peer[num].num == 1));
}

static void check_port(const struct fabric *fabric, const bool *reached, uint32_t index, uint8_t num)
{
	const struct wiring_node *node = &wiring.nodes[index];
	uint32_t at = fabric_find_port(fabric, node->guid, num), peer = node->peer[num].node;
	const struct port *port;

	assert_int_equal(at != FABRIC_NONE, is_found(reached, index, num));
	if (at == FABRIC_NONE)
		return;
	port = &fabric->ports[at];
	assert_int_equal(port->state, num && peer == WIRING_NONE ? PORT_DOWN : PORT_ACTIVE);
	if (node->type != NODE_SWITCH || !num) {
		assert_int_equal(port->lid, wiring_lid(index, num));
		assert_true(port->guid == wiring_port_guid(&wiring, index, num));
	}
	/* CapabilityMask of port 0 alone says that HDR is possible. */
	if (node->type == NODE_SWITCH && port->state == PORT_ACTIVE && num)
		assert_int_equal(port->speed, LINK_SPEED_NDR);
	if (!num || peer == WIRING_NONE || wiring.nodes[peer].dead)
		assert_int_equal(port->peer, FABRIC_NONE);
	else
		assert_true(has_link(fabric, index, num, peer, node->peer[num].num));
}

/* The fabric is exactly what can be reached. */
static void check_all(const struct fabric *fabric)
{
	bool reached[WIRING_NODES];
	size_t nodes = 0;
	uint32_t i;
	unsigned num;

	reach(reached);
	for (i = 0; i < wiring.count; i++) {
		const struct wiring_node *node = &wiring.nodes[i];
		char desc[65];

		nodes += reached[i];
		assert_int_equal(has_node(fabric, i), reached[i]);
		if (!reached[i])
			continue;
		snprintf(desc, sizeof(desc), "node %u", i);
		assert_string_equal(fabric->nodes[fabric_find_node(fabric, node->guid)].desc, desc);
		for (num = node->type == NODE_SWITCH ? 0 : 1; num <= node->port_count; num++)
			check_port(fabric, reached, i, (uint8_t)num);
	}
	assert_int_equal(fabric->node_count, nodes);
	assert_int_equal(fabric->from_node, 0);
}

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

static uint64_t up_to(uint64_t most)
{
	return wiring_random(&wiring) % most;
}

/* Switches, HCAs with one or two ports and routers, cables between any two ports; some HCAs dead. */
static void draw(uint64_t seed)
{
	unsigned switches, others, i;

	wiring_init(&wiring, seed);
	wiring_add(&wiring, up_to(8) ? NODE_CA : NODE_SWITCH, (uint8_t)(1 + up_to(2)));
	switches = (unsigned)up_to(8);
	others = (unsigned)up_to(24);
	for (i = 0; i < switches; i++)
		wiring_add(&wiring, NODE_SWITCH, (uint8_t)(1 + up_to(16)));
	for (i = 0; i < others; i++)
		wiring_add(&wiring, up_to(10) ? NODE_CA : NODE_ROUTER, (uint8_t)(1 + up_to(2)));
	for (i = 0; i < 60; i++) {
		uint32_t a = i ? (uint32_t)up_to(wiring.count) : 0, b = (uint32_t)up_to(wiring.count);
		uint8_t a_num = i ? (uint8_t)(1 + up_to(wiring.nodes[a].port_count)) : 1;
		uint8_t b_num = (uint8_t)(1 + up_to(wiring.nodes[b].port_count));

		if ((a != b || a_num != b_num) && wiring.nodes[a].peer[a_num].node == WIRING_NONE &&
		    wiring.nodes[b].peer[b_num].node == WIRING_NONE)
			wiring_link(&wiring, a, a_num, b, b_num);
	}
	for (i = 1; i < wiring.count; i++)
		wiring.nodes[i].dead = up_to(12) == 0;
}

static void any_fabric_is_found_as_it_is(void **state)
{
	uint64_t seed;

	(void)state;
	for (seed = 1; seed <= 2000; seed++) {
		struct fabric *fabric;
		uint32_t i;
		unsigned num;

		draw(seed);
		fabric = explore(3, NULL);
		assert_non_null(fabric);
		check_all(fabric);
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

	reach(reached);
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

		draw(seed);
		for (i = 0; i < wiring.count; i++)
			wiring.nodes[i].dead = false;
		wiring.loss_percent = 20;
		fabric = explore(seed % 2 ? 20 : 1, NULL);
		if (!fabric)
			continue;
		if (seed % 2 || !(trailer.lost + trailer.silent)) {
			check_all(fabric);
			assert_int_equal(trailer.lost + trailer.silent, 0);
		}
		lossy += trailer.lost + trailer.silent > 0;
		incomplete += !is_all_there(fabric);
		fabric_destroy(fabric);
	}
	assert_true(lossy > 50 && incomplete > 20);
}

/* This host, a switch, and so many hosts behind it. */
static void star(unsigned hosts)
{
	unsigned i;

	wiring_init(&wiring, 1);
	wiring_add(&wiring, NODE_CA, 1);
	wiring_add(&wiring, NODE_SWITCH, (uint8_t)(hosts + 1));
	wiring_link(&wiring, 0, 1, 1, 1);
	for (i = 0; i < hosts; i++)
		wiring_link(&wiring, wiring_add(&wiring, NODE_CA, 1), 1, 1, (uint8_t)(i + 2));
}

static void dead_neighbours_delay_nobody(void **state)
{
	struct fabric *fabric;
	int64_t began_us;
	unsigned i;

	(void)state;
	star(38);
	for (i = 2; i < 12; i++)
		wiring.nodes[i].dead = true;
	began_us = wiring.now_us;
	fabric = explore(3, NULL);
	check_all(fabric);
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
	star(10);
	wiring.nodes[5].answer_us = 150 * US_PER_MS;
	fabric = explore(3, NULL);
	check_all(fabric);
	assert_int_equal(trailer.silent + trailer.lost, 0);
	fabric_destroy(fabric);
}

static void without_retries_the_one_attempt_is_patient(void **state)
{
	struct fabric *fabric;

	(void)state;
	star(4);
	wiring.nodes[3].answer_us = 150 * US_PER_MS;
	fabric = explore(0, NULL);
	check_all(fabric);
	fabric_destroy(fabric);
}

static void a_switch_that_dies_half_way_is_left_soon(void **state)
{
	struct fabric *fabric;

	(void)state;
	star(30);
	wiring_add(&wiring, NODE_SWITCH, 36);
	wiring_link(&wiring, 1, 31, 32, 1);
	wiring.nodes[31].peer[1].node = WIRING_NONE;
	wiring.nodes[32].answers_left = 5;
	fabric = explore(3, NULL);
	assert_true(has_node(fabric, 32));
	assert_true(has_link(fabric, 1, 31, 32, 1));
	assert_int_equal(trailer.lost, 35); /* of 39: NodeInfo and four others came */
	/* Not four attempts at each. */
	assert_true(wiring.asked[32] < 30);
	fabric_destroy(fabric);
}

static void a_lost_port_0_hides_no_port(void **state)
{
	struct fabric *fabric;

	(void)state;
	star(10);
	wiring.nodes[1].drops = SMP_PORT_INFO;
	wiring.nodes[1].drops_port = 0;
	fabric = explore(3, NULL);
	assert_int_equal(fabric->node_count, 12);
	assert_int_equal(fabric_count_links(fabric), 11);
	assert_int_equal(trailer.lost, 1);
	fabric_destroy(fabric);
}

static void what_is_refused_is_lost(void **state)
{
	struct fabric *fabric;

	(void)state;
	star(3);
	wiring.nodes[3].refuses = SMP_NODE_DESCRIPTION;
	fabric = explore(3, NULL);
	assert_int_equal(fabric->node_count, 5);
	assert_int_equal(trailer.lost, 1);
	assert_string_equal(fabric->nodes[fabric_find_node(fabric, wiring.nodes[3].guid)].desc, "");
	fabric_destroy(fabric);
}

static void hosts_back_to_back(void **state)
{
	struct fabric *fabric;

	(void)state;
	wiring_init(&wiring, 1);
	wiring_add(&wiring, NODE_CA, 2);
	wiring_add(&wiring, NODE_CA, 2);
	wiring_link(&wiring, 0, 1, 1, 2);
	wiring_link(&wiring, 0, 2, 1, 1);
	fabric = explore(3, NULL);
	assert_int_equal(fabric->node_count, 2);
	assert_int_equal(fabric->port_count, 2);
	assert_true(has_link(fabric, 0, 1, 1, 2));
	fabric_destroy(fabric);
}

static void a_plug_that_leads_back_is_its_own_peer(void **state)
{
	struct fabric *fabric;

	(void)state;
	star(3);
	wiring_cut(&wiring, 1, 4);
	wiring_link(&wiring, 1, 4, 1, 4);
	fabric = explore(3, NULL);
	assert_int_equal(fabric->node_count, 4);
	assert_true(has_link(fabric, 1, 4, 1, 4));
	assert_string_equal(text_chars(&notes), "");
	fabric_destroy(fabric);
}

static void two_hosts_with_one_guid_are_told(void **state)
{
	struct fabric *fabric;

	(void)state;
	star(6);
	wiring.nodes[5].guid = wiring.nodes[3].guid;
	fabric = explore(3, NULL);
	assert_int_equal(fabric->node_count, 7);
	/* One of the two has the link, the other one's port has a cable and no peer. */
	assert_int_equal(has_link(fabric, 1, 3, 3, 1) + has_link(fabric, 1, 5, 3, 1), 1);
	assert_int_equal(fabric_count_links(fabric), 6);
	assert_non_null(strstr(text_chars(&notes), "two nodes have one GUID"));
	fabric_destroy(fabric);
}

static void another_kind_of_node_with_the_same_guid_is_told(void **state)
{
	struct fabric *fabric;

	(void)state;
	star(6);
	wiring.nodes[5].guid = wiring.nodes[1].guid;
	fabric = explore(3, NULL);
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
		wiring_link(&wiring, 4, 2, 3, (uint8_t)(2 + up_to(2)));
		for (i = 0; i < 12; i++) {
			uint32_t leaf = 1 + (uint32_t)up_to(4);
			uint8_t num = (uint8_t)(4 + up_to(9));

			if (wiring.nodes[leaf].peer[num].node == WIRING_NONE)
				wiring_link(&wiring, wiring_add(&wiring, NODE_CA, 1), 1, leaf, num);
		}
		wiring.nodes[3].guid = wiring.nodes[2].guid;
		fabric = explore(3, NULL);
		assert_true(text_chars(&notes)[0]);
		assert_int_equal(trailer.lost, 0);
		for (port = 0; port < fabric->port_count; port++)
			if (fabric->ports[port].peer != FABRIC_NONE)
				assert_int_equal(fabric->ports[fabric->ports[port].peer].peer, port);
		assert_true(has_node(fabric, 1) && has_node(fabric, 2) && has_node(fabric, 4));
		/* The twin's hosts may stay hidden behind the first's GUID; those of the others are all there. */
		for (i = 5; i < wiring.count; i++)
			if (wiring.nodes[i].peer[1].node == 1 || wiring.nodes[i].peer[1].node == 4)
				assert_true(has_node(fabric, i));
		fabric_destroy(fabric);
	}
}

static void a_node_without_a_guid_is_left_out(void **state)
{
	struct fabric *fabric;

	(void)state;
	star(3);
	wiring.nodes[3].guid = 0;
	fabric = explore(3, NULL);
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
	fabric = explore(3, NULL);
	assert_int_equal(fabric->node_count, 64);
	assert_int_equal(trailer.hops, 63);
	assert_non_null(strstr(text_chars(&notes), "out of reach"));
	fabric_destroy(fabric);
}

static void move_a_cable(struct wiring *changed)
{
	uint32_t a = 1 + (uint32_t)up_to(changed->count - 1), b = 1 + (uint32_t)up_to(changed->count - 1);
	uint8_t a_num = (uint8_t)(1 + up_to(changed->nodes[a].port_count));
	uint8_t b_num = (uint8_t)(1 + up_to(changed->nodes[b].port_count));

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

		draw(seed);
		if (wiring.count < 3)
			continue;
		wiring.change = move_a_cable;
		wiring.change_at = 5;
		fabric = explore(3, NULL);
		assert_non_null(fabric);
		for (i = 0; i < fabric->port_count; i++)
			if (fabric->ports[i].peer != FABRIC_NONE)
				assert_int_equal(fabric->ports[fabric->ports[i].peer].peer, i);
		assert_true(wiring.sent < 20000);
		fabric_destroy(fabric);
	}
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
	star(12);
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
	fabric = explore(3, keys);
	check_all(fabric);
	assert_int_equal(trailer.lost + trailer.silent, 0);
	fabric_destroy(fabric);
	keys_destroy(keys);
	assert_null(explore(3, NULL));
	unlink(path);
	rmdir(folder);
}

static int forget_notes(void **state)
{
	(void)state;
	text_done(&notes);
	return 0;
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
		cmocka_unit_test(hosts_back_to_back),
		cmocka_unit_test(a_plug_that_leads_back_is_its_own_peer),
		cmocka_unit_test(two_hosts_with_one_guid_are_told),
		cmocka_unit_test(another_kind_of_node_with_the_same_guid_is_told),
		cmocka_unit_test(two_switches_with_one_guid_are_told),
		cmocka_unit_test(a_node_without_a_guid_is_left_out),
		cmocka_unit_test(a_path_ends_where_an_smp_has_no_more_room),
		cmocka_unit_test(a_fabric_that_changes_meanwhile_does_no_harm),
		cmocka_unit_test(each_node_is_asked_with_its_key),
	};

	return cmocka_run_group_tests(tests, NULL, forget_notes);
}
