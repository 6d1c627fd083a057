/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Discovery of virtual fabrics by the explorer: complete ones, lossy ones, and inconsistent ones. */
#define UNIT_TEST_TEARDOWN bed_teardown

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/unit_test.h"
#include "fabric/fabric.h"
#include "tests/wire/explore_bed.h"
#include "tests/world/virtual.h"
#include "wire/keys.h"

/* SMPs that libibnetdisc sends: infiniband.md, Costs. */
static uint64_t cost_of_library(void)
{
	uint64_t cost = 1;

	for (size_t i = 0; i < bed.fabric->port_count; i++) {
		const struct port *port = &bed.fabric->ports[i];

		if (bed.fabric->nodes[port->node].type != NODE_SWITCH)
			cost += 3;
		else if (port->num)
			cost += 1 + (port->peer != FABRIC_NONE);
		else
			cost += 3;
	}
	return cost;
}

TEST(any_fabric_is_discovered_completely)
{
	for (uint64_t seed = 1; seed <= 2000; seed++) {
		unsigned ends = 0;

		bed_draw(seed);
		bed_discover(3, NULL);
		assert_non_null(bed.fabric);
		bed_check_found();
		assert_int_equal(bed.trailer.lost, 0);
		assert_string_equal(text_chars(&bed.notes), "");
		if (!bed.trailer.silent) {
			assert_true(bed.trailer.smps <= cost_of_library());
			/* A port is probed at most once. */
			for (uint32_t i = 0; i < bed.fabric->port_count; i++)
				ends += bed.fabric->ports[i].peer != FABRIC_NONE;
			assert_true(bed.node_infos <= 1 + ends);
		}
	}
}

static bool is_all_there(void)
{
	bool reached[NODES_MAX];
	size_t nodes = 0;

	bed_reach(reached);
	for (size_t i = 0; i < bed.count; i++)
		nodes += reached[i];
	return bed.fabric->node_count == nodes;
}

/* With enough retries everything is found; with few, lost queries are counted. */
TEST(lost_responses_are_retried_or_counted)
{
	unsigned incomplete = 0, lossy = 0;
	uint64_t repeated = 0;

	for (uint64_t seed = 1; seed <= 600; seed++) {
		bed_draw(seed);
		for (uint32_t i = 0; i < bed.count; i++)
			bed.agents[i].dead = false;
		bed.run.loss = 0.2;
		bed_discover(seed % 2 ? 20 : 1, NULL);
		if (!bed.fabric)
			continue;
		if (seed % 2 || !(bed.trailer.lost + bed.trailer.silent)) {
			bed_check_found();
			assert_int_equal(bed.trailer.lost + bed.trailer.silent, 0);
			assert_true(bed.trailer.queries <= cost_of_library());
			repeated += bed.trailer.smps - bed.trailer.queries;
		}
		lossy += bed.trailer.lost + bed.trailer.silent > 0;
		incomplete += !is_all_there();
	}
	assert_true(lossy > 50 && incomplete > 20 && repeated > 1000);
}

TEST(unresponsive_neighbours_cause_no_delay)
{
	int64_t began_us;

	bed_star(38);
	for (unsigned i = 2; i < 12; i++)
		bed.agents[i].dead = true;
	began_us = bed.run.now_us;
	bed_discover(3, NULL);
	bed_check_found();
	assert_int_equal(bed.trailer.silent, 10);
	assert_int_equal(bed.trailer.lost, 0);
	/* Three short timeouts and a long one, of all at the same time. */
	assert_true(bed.run.now_us - began_us < 320 * US_PER_MS);
}

TEST(a_hundred_unresponsive_neighbours_take_no_place_of_others)
{
	int64_t began_us;

	bed_star(100);
	for (unsigned i = 2; i < 100; i++)
		bed.agents[i].dead = true;
	began_us = bed.run.now_us;
	bed.max_smps = 8;
	bed_discover(3, NULL);
	bed.max_smps = 32;
	bed_check_found();
	assert_int_equal(bed.trailer.silent, 98);
	/* 260 ms for every eight of them would be 3.2 s. */
	assert_true(bed.run.now_us - began_us < 700 * US_PER_MS);
}

TEST(at_its_deadline_a_discovery_returns_what_it_has_found)
{
	for (int64_t time_us = 20; time_us <= 90 * US_PER_MS; time_us = time_us * 3 / 2) {
		bed_star(38);
		for (unsigned i = 2; i < 12; i++)
			bed.agents[i].dead = true;
		bed.deadline_us = bed.run.boot_us + bed.run.now_us + time_us;
		bed_discover(3, NULL);
		assert_true(bed.run.boot_us + bed.run.now_us <= bed.deadline_us + 2 * US_PER_MS);
		if (!bed.fabric)
			continue;
		bed_check_peers();
		assert_true(bed.trailer.lost + bed.trailer.silent > 0);
		assert_non_null(strstr(text_chars(&bed.notes), "deadline"));
	}
	bed.deadline_us = 0;
	/* Only the retries of the unresponsive neighbors are missing. */
	bed_check_found();
	assert_int_equal(bed.trailer.silent, 10);
	assert_int_equal(bed.trailer.lost, 0);
}

TEST(a_slow_node_is_found)
{
	bed_star(10);
	bed.agents[5].latency_us = 150 * US_PER_MS;
	bed_discover(3, NULL);
	bed_check_found();
	assert_int_equal(bed.trailer.silent + bed.trailer.lost, 0);
}

TEST(a_response_to_an_attempt_that_timed_out_counts)
{
	bed_star(10);
	bed.agents[5].latency_us = 150 * US_PER_MS;
	bed.agents[5].responses_left = 1;
	bed_discover(3, NULL);
	assert_true(bed_has_node(5));
	assert_int_equal(bed.trailer.silent, 0);
}

/* As on a machine that stalls at first: no other node has responded yet, to compare with. */
TEST(a_late_response_of_the_own_node_counts)
{
	for (int64_t latency_ms = 10; latency_ms < 1000; latency_ms += 30) {
		bed_star(4);
		bed.agents[0].latency_us = latency_ms * US_PER_MS;
		bed_discover(3, NULL);
		assert_non_null(bed.fabric);
		bed_check_found();
		assert_int_equal(bed.trailer.silent + bed.trailer.lost, 0);
	}
}

TEST(the_last_timeout_scales_with_the_response_times_of_other_nodes)
{
	bed_star(10);
	for (unsigned i = 2; i < 12; i++)
		bed.agents[i].latency_us = (i < 7 ? 150 : 300) * US_PER_MS;
	bed_discover(3, NULL);
	bed_check_found();
	assert_int_equal(bed.trailer.silent + bed.trailer.lost, 0);
}

TEST(without_retries_the_timeout_is_long)
{
	bed_star(4);
	bed.agents[3].latency_us = 150 * US_PER_MS;
	bed_discover(0, NULL);
	bed_check_found();
}

TEST(a_switch_that_fails_meanwhile_is_abandoned_soon)
{
	bed_stop();
	bed_add(NODE_CA, 1);
	bed_add(NODE_SWITCH, 31);
	bed_add(NODE_SWITCH, 36);
	bed_start();
	bed_cable(0, 1, 1, 1);
	bed_cable(1, 31, 2, 1);
	bed.agents[2].responses_left = 5;
	bed_discover(3, NULL);
	assert_true(bed_has_node(2));
	assert_true(bed_has_link(1, 31, 2, 1));
	assert_int_equal(bed.trailer.lost, 35); /* of 39: it responded to NodeInfo and four others */
	/* Not four attempts for each query. */
	assert_true(bed.agents[2].smps < 30);
}

TEST(a_lost_port_0_hides_no_port)
{
	bed_star(10);
	bed.agents[1].ignored_smp = SMP_PORT_INFO;
	bed.agents[1].ignored_port = 0;
	bed_discover(3, NULL);
	assert_int_equal(bed.fabric->node_count, 12);
	assert_int_equal(fabric_count_links(bed.fabric), 11);
	assert_int_equal(bed.trailer.lost, 1);
}

TEST(a_rejected_query_counts_as_lost)
{
	bed_star(3);
	bed.agents[3].rejected_smp = SMP_NODE_DESCRIPTION;
	bed_discover(3, NULL);
	assert_int_equal(bed.fabric->node_count, 5);
	assert_int_equal(bed.trailer.lost, 1);
	assert_string_equal(bed.fabric->nodes[fabric_find_node(bed.fabric, bed.built->nodes[3].guid)].desc, "");
}

/* The GUID that the port reports: of a switch that of port 0. */
static unsigned long long guid_of(const struct port *port)
{
	const struct node *node = &bed.built->nodes[port->node];

	return node->type != NODE_SWITCH && port->guid ? port->guid : node->guid;
}

/* opensm's files: a distinct key for each port, and the port behind each port but one. */
static struct keys *keys_of_ports(uint32_t unnamed)
{
	char folder[] = "/tmp/explore_test_XXXXXX", path[64], neighbors[64];
	struct keys *keys;
	FILE *file;

	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/" KEYS_FILE, folder);
	file = fopen(path, "w");
	assert_non_null(file);
	for (uint32_t i = 0; i < bed.count; i++) {
		bed.agents[i].mkey = 0xaaaa00 + i;
		fprintf(file, "0x%016llx 0x%016llx\n\n", guid_of(&bed.built->ports[bed.built->nodes[i].first_port]),
			(unsigned long long)bed.agents[i].mkey);
	}
	fclose(file);
	snprintf(neighbors, sizeof(neighbors), "%s/" KEYS_NEIGHBORS_FILE, folder);
	file = fopen(neighbors, "w");
	assert_non_null(file);
	for (uint32_t i = 0; i < bed.built->port_count; i++) {
		const struct port *port = &bed.built->ports[i];

		if (port->peer != FABRIC_NONE && bed.built->ports[port->peer].node != unnamed)
			fprintf(file, "0x%016llx:%u 0x%016llx:%u\n\n",
				guid_of(port), port->num, guid_of(&bed.built->ports[port->peer]),
				bed.built->ports[port->peer].num);
	}
	fclose(file);
	assert_int_equal(keys_load(folder, &keys, NULL), 0);
	unlink(path);
	unlink(neighbors);
	rmdir(folder);
	return keys;
}

static uint64_t violations(void)
{
	uint64_t dropped = 0;

	for (uint32_t i = 0; i < bed.count; i++)
		dropped += bed.agents[i].smps_dropped;
	return dropped;
}

TEST(each_node_is_queried_with_its_own_key_from_the_first_smp_on)
{
	struct keys *keys;

	bed_star(12);
	keys = keys_of_ports(FABRIC_NONE);
	bed_discover(3, keys);
	bed_check_found();
	assert_int_equal(bed.trailer.lost + bed.trailer.silent, 0);
	assert_int_equal(violations(), 0);
	keys_destroy(keys);
	bed_discover(3, NULL);
	assert_null(bed.fabric);
}

TEST(a_node_with_an_unknown_key_is_reported_and_not_queried)
{
	struct keys *keys;

	bed_star(12);
	keys = keys_of_ports(5);
	bed_discover(3, keys);
	assert_int_equal(bed.fabric->node_count, 13);
	assert_int_equal(bed.trailer.silent, 1);
	assert_int_equal(violations(), 0);
	assert_non_null(strstr(text_chars(&bed.notes), "M_Keys differ by port"));
	/* The last discovery names it, too. */
	bed.last = bed.built;
	bed_discover(3, keys);
	bed.last = NULL;
	bed_check_found();
	assert_int_equal(violations(), 0);
	keys_destroy(keys);
}

TEST(hosts_back_to_back)
{
	bed_stop();
	bed_add(NODE_CA, 2);
	bed_add(NODE_CA, 2);
	bed_start();
	bed_cable(0, 1, 1, 2);
	bed_cable(0, 2, 1, 1);
	bed_discover(3, NULL);
	assert_int_equal(bed.fabric->node_count, 2);
	assert_int_equal(bed.fabric->port_count, 2);
	assert_true(bed_has_link(0, 1, 1, 2));
}

TEST(a_loopback_plug_is_its_own_peer)
{
	bed_star(3);
	bed_cut(1, 4);
	bed_cable(1, 4, 1, 4);
	bed_discover(3, NULL);
	assert_int_equal(bed.fabric->node_count, 4);
	assert_true(bed_has_link(1, 4, 1, 4));
	assert_string_equal(text_chars(&bed.notes), "");
}

TEST(two_hosts_with_one_guid_are_reported)
{
	bed_star(6);
	bed.built->nodes[5].guid = bed.built->nodes[5].system_guid = bed.built->nodes[3].guid;
	bed_port_of(5, 1)->guid = bed_port_of(3, 1)->guid;
	bed_discover(3, NULL);
	assert_int_equal(bed.fabric->node_count, 7);
	/* One of the two has the link; the port of the other one has no peer. */
	assert_int_equal(bed_has_link(1, 3, 3, 1) + bed_has_link(1, 5, 3, 1), 1);
	assert_int_equal(fabric_count_links(bed.fabric), 6);
	assert_non_null(strstr(text_chars(&bed.notes), "two nodes have one GUID"));
}

TEST(a_switch_and_a_host_with_one_guid_are_reported)
{
	bed_star(6);
	bed.built->nodes[5].guid = bed.built->nodes[1].guid;
	bed_discover(3, NULL);
	assert_int_equal(bed.fabric->node_count, 7);
	assert_int_equal(fabric_count_links(bed.fabric), 6);
	assert_non_null(strstr(text_chars(&bed.notes), "two nodes have the GUID 0x0000000000002000"));
}

/*
 * Two switches with one GUID behind a third: neighbours of both have links to its ports. Discovery ends,
 * peers are mutual, and the neighbours of the other switches are found.
 */
TEST(two_switches_with_one_guid_are_reported)
{
	for (unsigned seed = 1; seed <= 300; seed++) {
		bed.random_state = seed;
		bed_build(4, 12, 12);
		bed_cable(1, 2, 2, 1);
		bed_cable(1, 3, 3, 1);
		bed_cable(4, 1, 2, 2);
		bed_cable(4, 2, 3, (unsigned)(2 + bed_random(2)));
		for (unsigned i = 0; i < 12; i++) {
			uint32_t leaf = 1 + (uint32_t)bed_random(4);
			unsigned num = (unsigned)(4 + bed_random(9));

			if (bed_peer_of(leaf, num) == FABRIC_NONE)
				bed_cable(5 + i, 1, leaf, num);
		}
		bed.built->nodes[3].guid = bed.built->nodes[2].guid;
		bed_discover(3, NULL);
		assert_true(text_chars(&bed.notes)[0]);
		assert_int_equal(bed.trailer.lost, 0);
		bed_check_peers();
		assert_true(bed_has_node(1) && bed_has_node(2) && bed_has_node(4));
		/* Hosts of the second switch with the GUID may be missing; those of the others are found. */
		for (unsigned i = 5; i < bed.count; i++)
			if (bed_peer_of(i, 1) == 1 || bed_peer_of(i, 1) == 4)
				assert_true(bed_has_node(i));
	}
}

TEST(a_node_without_a_guid_is_left_out)
{
	bed_star(3);
	bed.built->nodes[3].guid = 0;
	bed_discover(3, NULL);
	assert_int_equal(bed.fabric->node_count, 4);
	assert_int_equal(bed.fabric->ports[fabric_find_port(bed.fabric, bed.built->nodes[1].guid, 3)].peer,
			 FABRIC_NONE);
	assert_non_null(strstr(text_chars(&bed.notes), "GUID 0"));
}

TEST(a_path_ends_after_63_hops)
{
	bed_build(79, 2, 0);
	for (uint32_t i = 2; i < 80; i++)
		bed_cable(i - 1, 2, i, 1);
	bed_discover(3, NULL);
	assert_int_equal(bed.fabric->node_count, 64);
	assert_int_equal(bed.trailer.hops, 63);
	assert_non_null(strstr(text_chars(&bed.notes), "out of reach"));
}

static void move_cables(struct world_run *at, const uint8_t mad[MAD_SIZE])
{
	uint32_t a = 1 + (uint32_t)bed_random(bed.count - 1), b = 1 + (uint32_t)bed_random(bed.count - 1);
	unsigned a_num = (unsigned)(1 + bed_random(bed.built->nodes[a].port_count));
	unsigned b_num = (unsigned)(1 + bed_random(bed.built->nodes[b].port_count));

	bed_on_send(at, mad);
	if (bed.sent % 20 != 5)
		return;
	bed_cut(a, a_num);
	bed_cut(b, b_num);
	if (a != b)
		bed_cable(a, a_num, b, b_num);
}

/* The result is some fabric with mutual peers. */
TEST(cables_that_move_meanwhile_leave_mutual_peers)
{
	for (uint64_t seed = 1; seed <= 1000; seed++) {
		bed_draw(seed);
		if (bed.count < 3)
			continue;
		bed.run.on_send = move_cables;
		bed_discover(3, NULL);
		assert_non_null(bed.fabric);
		bed_check_peers();
		assert_true(bed.sent < 20000);
	}
}
