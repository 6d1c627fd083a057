/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Discovery of virtual fabrics: complete ones, lossy ones, and inconsistent ones. */
#define UNIT_TEST_TEARDOWN teardown

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/map.h"
#include "base/text.h"
#include "base/unit_test.h"
#include "fabric/fabric.h"
#include "tests/world/collect.h"
#include "tests/world/virtual.h"
#include "wire/explore.h"
#include "wire/keys.h"
#include "wire/merge.h"

#define NODES_MAX 128

/* The fabric that is discovered, from node 0; its state may be changed at any time. */
static struct world_run run;
static struct fabric *built;
static struct agent *agents;
static uint32_t count;
static uint64_t random_state;
static unsigned sent, node_infos;

/* For explore_settings. */
static const struct fabric *last;
static struct explore_port parts[EXPLORE_PORTS_MAX];
static size_t part_count;

/* Results of the last discovery; NULL: it failed. */
static struct fabric *fabric;
static struct record_trailer trailer;
static struct text notes;

static uint64_t below(uint64_t most)
{
	return (random_state = map_mix(random_state + 0x9e3779b97f4a7c15ULL)) % most;
}

/* Add a node without cables to the fabric that start() creates. Return: its index. */
static uint32_t add(uint8_t type, unsigned port_count)
{
	struct node node = { .guid = 0x1000 * (count + 1), .system_guid = 0x1000 * (count + 1), .type = type,
			     .port_count = (uint8_t)port_count };

	if (!count)
		built = fabric_create(NULL);
	snprintf(node.desc, sizeof(node.desc), "node %u", count);
	assert_true(fabric_add_node(built, &node, NULL) == count);
	for (unsigned num = type == NODE_SWITCH ? 0 : 1; num <= port_count; num++)
		assert_true(fabric_add_port(built, &(struct port){
			.num = (uint8_t)num, .width = LINK_WIDTH_4X, .speed = LINK_SPEED_NDR, .state = PORT_ACTIVE,
			.guid = type == NODE_SWITCH ? 0 : node.guid + num }, NULL) >= 0);
	return count++;
}

static void on_send(struct world_run *at, const uint8_t mad[MAD_SIZE])
{
	(void)at;
	sent++;
	node_infos += get_be16(mad + 16) == SMP_NODE_INFO;
}

static void stop(void)
{
	if (run.world)
		virtual_destroy(run.world);
	run.world = NULL;
	count = 0;
}

int teardown(void **state)
{
	(void)state;
	stop();
	fabric_destroy(fabric);
	fabric_destroy((struct fabric *)last);
	last = fabric = NULL;
	part_count = 0;
	text_done(&notes);
	return 0;
}

/* Create the fabric of all added nodes, without cables. */
static void start(void)
{
	uint32_t nodes = count;
	struct virtual *world;

	/* The virtual fabric needs a host. */
	add(NODE_CA, 1);
	count = nodes;
	assert_int_equal(fabric_finish(built, NULL, NULL), 0);
	world = virtual_create(built, US_PER_S, random_state);
	world_run_init(&run, world);
	run.loss = 0;
	run.jitter_us = 50;
	run.on_send = on_send;
	built->from_node = 0;
	built->from_port = 1;
	agents = world->agents;
	sent = node_infos = 0;
	for (uint32_t i = 0; i < built->port_count; i++) {
		bool of_switch = built->nodes[built->ports[i].node].type == NODE_SWITCH;

		built->ports[i].state = of_switch && !built->ports[i].num ? PORT_ACTIVE : PORT_DOWN;
		/* CapabilityMask of port 0 applies to all ports of a switch. */
		built->ports[i].cap_mask = built->ports[i].num ? 0 : 1 << 14;
	}
}

static struct port *port_of(uint32_t node, unsigned num)
{
	return &built->ports[fabric_node_port(built, node, (uint8_t)num)];
}

static uint32_t peer_of(uint32_t node, unsigned num)
{
	uint32_t peer = port_of(node, num)->peer;

	return peer == FABRIC_NONE ? FABRIC_NONE : built->ports[peer].node;
}

static void cut(uint32_t a, unsigned a_num)
{
	struct port *port = port_of(a, a_num);

	if (port->peer == FABRIC_NONE)
		return;
	built->ports[port->peer].state = PORT_DOWN;
	built->ports[port->peer].peer = FABRIC_NONE;
	port->state = PORT_DOWN;
	port->peer = FABRIC_NONE;
}

static void cable(uint32_t a, unsigned a_num, uint32_t b, unsigned b_num)
{
	struct port *near = port_of(a, a_num), *far = port_of(b, b_num);

	near->peer = (uint32_t)(far - built->ports);
	far->peer = (uint32_t)(near - built->ports);
	near->state = far->state = PORT_ACTIVE;
}

/* Switches, HCAs with one or two ports and routers, cables between any two ports; some nodes are dead. */
static void draw(uint64_t seed)
{
	unsigned switches, others;

	stop();
	random_state = seed;
	add(below(8) ? NODE_CA : NODE_SWITCH, (unsigned)(1 + below(2)));
	switches = (unsigned)below(8);
	others = (unsigned)below(24);
	for (unsigned i = 0; i < switches; i++)
		add(NODE_SWITCH, (unsigned)(1 + below(16)));
	for (unsigned i = 0; i < others; i++)
		add(below(10) ? NODE_CA : NODE_ROUTER, (unsigned)(1 + below(2)));
	start();
	for (unsigned i = 0; i < 60; i++) {
		uint32_t a = i ? (uint32_t)below(count) : 0, b = (uint32_t)below(count);
		unsigned a_num = i ? (unsigned)(1 + below(built->nodes[a].port_count)) : 1;
		unsigned b_num = (unsigned)(1 + below(built->nodes[b].port_count));

		if ((a != b || a_num != b_num) && peer_of(a, a_num) == FABRIC_NONE && peer_of(b, b_num) == FABRIC_NONE)
			cable(a, a_num, b, b_num);
	}
	for (unsigned i = 1; i < count; i++)
		agents[i].dead = below(12) == 0;
}

/* The collector's host, a switch, and other hosts at its ports from 2 on. */
static void star(unsigned hosts)
{
	stop();
	add(NODE_CA, 1);
	add(NODE_SWITCH, hosts + 1);
	for (unsigned i = 0; i < hosts; i++)
		add(NODE_CA, 1);
	start();
	cable(0, 1, 1, 1);
	for (unsigned i = 0; i < hosts; i++)
		cable(2 + i, 1, 1, i + 2);
}

static int64_t deadline_us;
static unsigned max_smps = 32;

static void discover(unsigned retries, const struct keys *keys)
{
	const struct explore_settings settings = { .max_smps = max_smps, .per_node = 2, .timeout_ms = 1000,
						   .retries = retries, .keys = keys, .last = last,
						   .ports = parts, .port_count = part_count,
						   .deadline_us = deadline_us, .own_guid = built->nodes[0].guid };
	struct error err = { 0 };

	fabric_destroy(fabric);
	fabric = NULL;
	text_clear(&notes);
	trailer = (struct record_trailer){ 0 };
	if (explore_run(&run.transport, &run.clock, &settings, &fabric, &trailer, &notes, &err) < 0)
		assert_true(err.text[0]);
}

static bool has_node(uint32_t node)
{
	return fabric_find_node(fabric, built->nodes[node].guid) != FABRIC_NONE;
}

static bool has_link(uint32_t a, unsigned a_num, uint32_t b, unsigned b_num)
{
	uint32_t one = fabric_find_port(fabric, built->nodes[a].guid, (uint8_t)a_num);
	uint32_t other = fabric_find_port(fabric, built->nodes[b].guid, (uint8_t)b_num);

	return one != FABRIC_NONE && other != FABRIC_NONE && fabric->ports[one].peer == other &&
	       fabric->ports[other].peer == one;
}

/* Does a path lead out of this port: of a switch, or of the collector's host? */
static bool leads_on(uint32_t node, unsigned num)
{
	return built->nodes[node].type == NODE_SWITCH || (node == 0 && num == 1);
}

/* By node: can it be found? */
static void reach(bool *ret)
{
	uint32_t queue[NODES_MAX], first = 0, end = 0;

	memset(ret, 0, NODES_MAX * sizeof(*ret));
	ret[0] = true;
	queue[end++] = 0;
	while (first < end) {
		uint32_t node = queue[first++];

		for (unsigned num = 1; num <= built->nodes[node].port_count; num++) {
			uint32_t peer = peer_of(node, num);

			if (!leads_on(node, num) || peer == FABRIC_NONE || ret[peer] || agents[peer].dead)
				continue;
			ret[peer] = true;
			queue[end++] = peer;
		}
	}
}

/* Can a port be found: of an HCA only if a path leads to it? */
static bool is_found(const bool *reached, uint32_t node, unsigned num)
{
	uint32_t peer = peer_of(node, num);

	return leads_on(node, num) || (num && peer != FABRIC_NONE && reached[peer] &&
				       leads_on(peer, built->ports[port_of(node, num)->peer].num));
}

static void check_port(const bool *reached, uint32_t node, unsigned num)
{
	uint32_t at = fabric_find_port(fabric, built->nodes[node].guid, (uint8_t)num), peer = peer_of(node, num);
	bool is_switch = built->nodes[node].type == NODE_SWITCH;
	const struct port *port, *truth = port_of(node, num);

	assert_int_equal(at != FABRIC_NONE, is_found(reached, node, num));
	if (at == FABRIC_NONE)
		return;
	port = &fabric->ports[at];
	assert_int_equal(port->state, truth->state);
	if (!is_switch || !num) {
		assert_int_equal(port->lid, truth->lid);
		assert_true(port->guid == (is_switch ? built->nodes[node].guid : truth->guid));
	}
	if (is_switch && port->state == PORT_ACTIVE && num)
		assert_int_equal(port->speed, LINK_SPEED_NDR);
	if (!num || peer == FABRIC_NONE || agents[peer].dead)
		assert_int_equal(port->peer, FABRIC_NONE);
	else
		assert_true(has_link(node, num, peer, built->ports[truth->peer].num));
}

static void check_found(void)
{
	bool reached[NODES_MAX];
	size_t nodes = 0;

	reach(reached);
	for (uint32_t i = 0; i < count; i++) {
		const struct node *node = &built->nodes[i];

		nodes += reached[i];
		assert_int_equal(has_node(i), reached[i]);
		if (!reached[i])
			continue;
		assert_string_equal(fabric->nodes[fabric_find_node(fabric, node->guid)].desc, node->desc);
		for (unsigned num = node->type == NODE_SWITCH ? 0 : 1; num <= node->port_count; num++)
			check_port(reached, i, num);
	}
	assert_int_equal(fabric->node_count, nodes);
	assert_int_equal(fabric->from_node, 0);
}

/* Peers are mutual. */
static void check_peers(void)
{
	for (uint32_t i = 0; i < fabric->port_count; i++)
		if (fabric->ports[i].peer != FABRIC_NONE)
			assert_int_equal(fabric->ports[fabric->ports[i].peer].peer, i);
}

/* SMPs that libibnetdisc sends: infiniband.md, Costs. */
static uint64_t cost_of_library(void)
{
	uint64_t cost = 1;

	for (size_t i = 0; i < fabric->port_count; i++) {
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

TEST(any_fabric_is_discovered_completely)
{
	for (uint64_t seed = 1; seed <= 2000; seed++) {
		unsigned ends = 0;

		draw(seed);
		discover(3, NULL);
		assert_non_null(fabric);
		check_found();
		assert_int_equal(trailer.lost, 0);
		assert_string_equal(text_chars(&notes), "");
		if (!trailer.silent) {
			assert_true(trailer.smps <= cost_of_library());
			/* A port is probed at most once. */
			for (uint32_t i = 0; i < fabric->port_count; i++)
				ends += fabric->ports[i].peer != FABRIC_NONE;
			assert_true(node_infos <= 1 + ends);
		}
	}
}

static bool is_all_there(void)
{
	bool reached[NODES_MAX];
	size_t nodes = 0;

	reach(reached);
	for (size_t i = 0; i < count; i++)
		nodes += reached[i];
	return fabric->node_count == nodes;
}

/* With enough retries everything is found; with few, lost queries are counted. */
TEST(lost_responses_are_retried_or_counted)
{
	unsigned incomplete = 0, lossy = 0;

	for (uint64_t seed = 1; seed <= 600; seed++) {
		draw(seed);
		for (uint32_t i = 0; i < count; i++)
			agents[i].dead = false;
		run.loss = 0.2;
		discover(seed % 2 ? 20 : 1, NULL);
		if (!fabric)
			continue;
		if (seed % 2 || !(trailer.lost + trailer.silent)) {
			check_found();
			assert_int_equal(trailer.lost + trailer.silent, 0);
		}
		lossy += trailer.lost + trailer.silent > 0;
		incomplete += !is_all_there();
	}
	assert_true(lossy > 50 && incomplete > 20);
}

TEST(unresponsive_neighbours_cause_no_delay)
{
	int64_t began_us;

	star(38);
	for (unsigned i = 2; i < 12; i++)
		agents[i].dead = true;
	began_us = run.now_us;
	discover(3, NULL);
	check_found();
	assert_int_equal(trailer.silent, 10);
	assert_int_equal(trailer.lost, 0);
	/* Three short timeouts and a long one, of all at the same time. */
	assert_true(run.now_us - began_us < 320 * US_PER_MS);
}

TEST(a_hundred_unresponsive_neighbours_take_no_place_of_others)
{
	int64_t began_us;

	star(100);
	for (unsigned i = 2; i < 100; i++)
		agents[i].dead = true;
	began_us = run.now_us;
	max_smps = 8;
	discover(3, NULL);
	max_smps = 32;
	check_found();
	assert_int_equal(trailer.silent, 98);
	/* 260 ms for every eight of them would be 3.2 s. */
	assert_true(run.now_us - began_us < 700 * US_PER_MS);
}

TEST(at_its_deadline_a_discovery_returns_what_it_has_found)
{
	for (int64_t time_us = 20; time_us <= 90 * US_PER_MS; time_us = time_us * 3 / 2) {
		star(38);
		for (unsigned i = 2; i < 12; i++)
			agents[i].dead = true;
		deadline_us = run.boot_us + run.now_us + time_us;
		discover(3, NULL);
		assert_true(run.boot_us + run.now_us <= deadline_us + 2 * US_PER_MS);
		if (!fabric)
			continue;
		check_peers();
		assert_true(trailer.lost + trailer.silent > 0);
		assert_non_null(strstr(text_chars(&notes), "deadline"));
	}
	deadline_us = 0;
	/* Only the retries of the unresponsive neighbors are missing. */
	check_found();
	assert_int_equal(trailer.silent, 10);
	assert_int_equal(trailer.lost, 0);
}

TEST(a_slow_node_is_found)
{
	star(10);
	agents[5].latency_us = 150 * US_PER_MS;
	discover(3, NULL);
	check_found();
	assert_int_equal(trailer.silent + trailer.lost, 0);
}

TEST(a_response_to_an_attempt_that_timed_out_counts)
{
	star(10);
	agents[5].latency_us = 150 * US_PER_MS;
	agents[5].responses_left = 1;
	discover(3, NULL);
	assert_true(has_node(5));
	assert_int_equal(trailer.silent, 0);
}

TEST(the_last_timeout_scales_with_the_response_times_of_other_nodes)
{
	star(10);
	for (unsigned i = 2; i < 12; i++)
		agents[i].latency_us = (i < 7 ? 150 : 300) * US_PER_MS;
	discover(3, NULL);
	check_found();
	assert_int_equal(trailer.silent + trailer.lost, 0);
}

TEST(without_retries_the_timeout_is_long)
{
	star(4);
	agents[3].latency_us = 150 * US_PER_MS;
	discover(0, NULL);
	check_found();
}

TEST(a_switch_that_fails_meanwhile_is_abandoned_soon)
{
	stop();
	add(NODE_CA, 1);
	add(NODE_SWITCH, 31);
	add(NODE_SWITCH, 36);
	start();
	cable(0, 1, 1, 1);
	cable(1, 31, 2, 1);
	agents[2].responses_left = 5;
	discover(3, NULL);
	assert_true(has_node(2));
	assert_true(has_link(1, 31, 2, 1));
	assert_int_equal(trailer.lost, 35); /* of 39: it responded to NodeInfo and four others */
	/* Not four attempts for each query. */
	assert_true(agents[2].smps < 30);
}

TEST(a_lost_port_0_hides_no_port)
{
	star(10);
	agents[1].ignored_smp = SMP_PORT_INFO;
	agents[1].ignored_port = 0;
	discover(3, NULL);
	assert_int_equal(fabric->node_count, 12);
	assert_int_equal(fabric_count_links(fabric), 11);
	assert_int_equal(trailer.lost, 1);
}

TEST(a_rejected_query_counts_as_lost)
{
	star(3);
	agents[3].rejected_smp = SMP_NODE_DESCRIPTION;
	discover(3, NULL);
	assert_int_equal(fabric->node_count, 5);
	assert_int_equal(trailer.lost, 1);
	assert_string_equal(fabric->nodes[fabric_find_node(fabric, built->nodes[3].guid)].desc, "");
}

/* The GUID that the port reports: of a switch that of port 0. */
static unsigned long long guid_of(const struct port *port)
{
	const struct node *node = &built->nodes[port->node];

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
	for (uint32_t i = 0; i < count; i++) {
		agents[i].mkey = 0xaaaa00 + i;
		fprintf(file, "0x%016llx 0x%016llx\n\n", guid_of(&built->ports[built->nodes[i].first_port]),
			(unsigned long long)agents[i].mkey);
	}
	fclose(file);
	snprintf(neighbors, sizeof(neighbors), "%s/" KEYS_NEIGHBORS_FILE, folder);
	file = fopen(neighbors, "w");
	assert_non_null(file);
	for (uint32_t i = 0; i < built->port_count; i++) {
		const struct port *port = &built->ports[i];

		if (port->peer != FABRIC_NONE && built->ports[port->peer].node != unnamed)
			fprintf(file, "0x%016llx:%u 0x%016llx:%u\n\n",
				guid_of(port), port->num, guid_of(&built->ports[port->peer]),
				built->ports[port->peer].num);
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

	for (uint32_t i = 0; i < count; i++)
		dropped += agents[i].smps_dropped;
	return dropped;
}

TEST(each_node_is_queried_with_its_own_key_from_the_first_smp_on)
{
	struct keys *keys;

	star(12);
	keys = keys_of_ports(FABRIC_NONE);
	discover(3, keys);
	check_found();
	assert_int_equal(trailer.lost + trailer.silent, 0);
	assert_int_equal(violations(), 0);
	keys_destroy(keys);
	discover(3, NULL);
	assert_null(fabric);
}

TEST(a_node_with_an_unknown_key_is_reported_and_not_queried)
{
	struct keys *keys;

	star(12);
	keys = keys_of_ports(5);
	discover(3, keys);
	assert_int_equal(fabric->node_count, 13);
	assert_int_equal(trailer.silent, 1);
	assert_int_equal(violations(), 0);
	assert_non_null(strstr(text_chars(&notes), "M_Keys differ by port"));
	/* The last discovery names it, too. */
	last = built;
	discover(3, keys);
	last = NULL;
	check_found();
	assert_int_equal(violations(), 0);
	keys_destroy(keys);
}

TEST(hosts_back_to_back)
{
	stop();
	add(NODE_CA, 2);
	add(NODE_CA, 2);
	start();
	cable(0, 1, 1, 2);
	cable(0, 2, 1, 1);
	discover(3, NULL);
	assert_int_equal(fabric->node_count, 2);
	assert_int_equal(fabric->port_count, 2);
	assert_true(has_link(0, 1, 1, 2));
}

TEST(a_loopback_plug_is_its_own_peer)
{
	star(3);
	cut(1, 4);
	cable(1, 4, 1, 4);
	discover(3, NULL);
	assert_int_equal(fabric->node_count, 4);
	assert_true(has_link(1, 4, 1, 4));
	assert_string_equal(text_chars(&notes), "");
}

TEST(two_hosts_with_one_guid_are_reported)
{
	star(6);
	built->nodes[5].guid = built->nodes[5].system_guid = built->nodes[3].guid;
	port_of(5, 1)->guid = port_of(3, 1)->guid;
	discover(3, NULL);
	assert_int_equal(fabric->node_count, 7);
	/* One of the two has the link; the port of the other one has no peer. */
	assert_int_equal(has_link(1, 3, 3, 1) + has_link(1, 5, 3, 1), 1);
	assert_int_equal(fabric_count_links(fabric), 6);
	assert_non_null(strstr(text_chars(&notes), "two nodes have one GUID"));
}

TEST(a_switch_and_a_host_with_one_guid_are_reported)
{
	star(6);
	built->nodes[5].guid = built->nodes[1].guid;
	discover(3, NULL);
	assert_int_equal(fabric->node_count, 7);
	assert_int_equal(fabric_count_links(fabric), 6);
	assert_non_null(strstr(text_chars(&notes), "two nodes have the GUID 0x0000000000002000"));
}

/*
 * Two switches with one GUID behind a third: neighbours of both have links to its ports. Discovery ends,
 * peers are mutual, and the neighbours of the other switches are found.
 */
TEST(two_switches_with_one_guid_are_reported)
{
	for (unsigned seed = 1; seed <= 300; seed++) {
		stop();
		random_state = seed;
		add(NODE_CA, 1);
		for (unsigned i = 0; i < 4; i++)
			add(NODE_SWITCH, 12);
		for (unsigned i = 0; i < 12; i++)
			add(NODE_CA, 1);
		start();
		cable(0, 1, 1, 1);
		cable(1, 2, 2, 1);
		cable(1, 3, 3, 1);
		cable(4, 1, 2, 2);
		cable(4, 2, 3, (unsigned)(2 + below(2)));
		for (unsigned i = 0; i < 12; i++) {
			uint32_t leaf = 1 + (uint32_t)below(4);
			unsigned num = (unsigned)(4 + below(9));

			if (peer_of(leaf, num) == FABRIC_NONE)
				cable(5 + i, 1, leaf, num);
		}
		built->nodes[3].guid = built->nodes[2].guid;
		discover(3, NULL);
		assert_true(text_chars(&notes)[0]);
		assert_int_equal(trailer.lost, 0);
		check_peers();
		assert_true(has_node(1) && has_node(2) && has_node(4));
		/* Hosts of the second switch with the GUID may be missing; those of the others are found. */
		for (unsigned i = 5; i < count; i++)
			if (peer_of(i, 1) == 1 || peer_of(i, 1) == 4)
				assert_true(has_node(i));
	}
}

TEST(a_node_without_a_guid_is_left_out)
{
	star(3);
	built->nodes[3].guid = 0;
	discover(3, NULL);
	assert_int_equal(fabric->node_count, 4);
	assert_int_equal(fabric->ports[fabric_find_port(fabric, built->nodes[1].guid, 3)].peer, FABRIC_NONE);
	assert_non_null(strstr(text_chars(&notes), "GUID 0"));
}

TEST(a_path_ends_after_63_hops)
{
	stop();
	add(NODE_CA, 1);
	for (uint32_t i = 1; i < 80; i++)
		add(NODE_SWITCH, 2);
	start();
	for (uint32_t i = 1; i < 80; i++)
		cable(i - 1, i == 1 ? 1 : 2, i, 1);
	discover(3, NULL);
	assert_int_equal(fabric->node_count, 64);
	assert_int_equal(trailer.hops, 63);
	assert_non_null(strstr(text_chars(&notes), "out of reach"));
}

static void move_cables(struct world_run *at, const uint8_t mad[MAD_SIZE])
{
	uint32_t a = 1 + (uint32_t)below(count - 1), b = 1 + (uint32_t)below(count - 1);
	unsigned a_num = (unsigned)(1 + below(built->nodes[a].port_count));
	unsigned b_num = (unsigned)(1 + below(built->nodes[b].port_count));

	on_send(at, mad);
	if (sent % 20 != 5)
		return;
	cut(a, a_num);
	cut(b, b_num);
	if (a != b)
		cable(a, a_num, b, b_num);
}

/* The result is some fabric with mutual peers. */
TEST(cables_that_move_meanwhile_leave_mutual_peers)
{
	for (uint64_t seed = 1; seed <= 1000; seed++) {
		draw(seed);
		if (count < 3)
			continue;
		run.on_send = move_cables;
		discover(3, NULL);
		assert_non_null(fabric);
		check_peers();
		assert_true(sent < 20000);
	}
}

/* --- ports of the last topology --- */

/* The last topology is the fabric as it is now, discovered completely. */
static void discover_base(void)
{
	fabric_destroy((struct fabric *)last);
	last = NULL;
	part_count = 0;
	discover(3, NULL);
	assert_non_null(fabric);
	last = fabric;
	fabric = NULL;
}

/* A switch of the last topology notices that the link of a port has changed. */
static bool notice(uint32_t node, unsigned num)
{
	uint64_t guid = built->nodes[node].guid;
	uint32_t was = fabric_find_node(last, guid);

	if (was == FABRIC_NONE || last->nodes[was].type != NODE_SWITCH)
		return false;
	parts[part_count++] = (struct explore_port){ guid, (uint8_t)num };
	return true;
}

static void pull(uint32_t a, unsigned a_num)
{
	uint32_t peer = port_of(a, a_num)->peer;

	if (peer == FABRIC_NONE)
		return;
	/* The end at one switch is enough. */
	if (below(2) || !notice(a, a_num))
		if (!notice(built->ports[peer].node, built->ports[peer].num))
			notice(a, a_num);
	cut(a, a_num);
}

static void plug(uint32_t a, unsigned a_num, uint32_t b, unsigned b_num)
{
	pull(a, a_num);
	pull(b, b_num);
	cable(a, a_num, b, b_num);
	notice(a, a_num);
	notice(b, b_num);
}

/* Not the cable of this host, and no port twice. */
static bool is_movable(uint32_t a, unsigned a_num)
{
	uint32_t peer = port_of(a, a_num)->peer;

	return !(a == 0 && a_num == 1) && !(peer != FABRIC_NONE && built->ports[peer].node == 0);
}

static void move_some_cables(void)
{
	uint64_t changes = 1 + below(4);

	for (uint64_t i = 0; i < changes; i++) {
		uint32_t a = (uint32_t)below(count), b = (uint32_t)below(count);
		unsigned a_num = (unsigned)(1 + below(built->nodes[a].port_count));
		unsigned b_num = (unsigned)(1 + below(built->nodes[b].port_count));

		if (!is_movable(a, a_num) || !is_movable(b, b_num) || (a == b && a_num == b_num))
			continue;
		if (below(2))
			pull(a, a_num);
		else
			plug(a, a_num, b, b_num);
	}
}

/* One end of each changed cable is enough: the result is that of a discovery of the whole fabric. */
TEST(explored_ports_and_the_last_topology_are_the_whole_fabric)
{
	unsigned explored = 0, impossible = 0;
	uint64_t smps = 0, smps_of_whole = 0;

	for (uint64_t seed = 1; seed <= 6000; seed++) {
		uint64_t whole;

		draw(seed);
		discover_base();
		whole = trailer.smps;
		move_some_cables();
		if (!part_count)
			continue;
		discover(3, NULL);
		impossible += !fabric;
		if (!fabric)
			continue;
		explored++;
		smps += trailer.smps;
		smps_of_whole += whole;
		check_found();
		check_peers();
	}
	assert_true(explored > 500 && impossible < explored / 100);
	assert_true(smps * 2 < smps_of_whole);
}

/* Explore one port of a switch. Return: the number of SMPs. */
static uint64_t explore_port(uint32_t node, unsigned num)
{
	parts[0] = (struct explore_port){ built->nodes[node].guid, (uint8_t)num };
	part_count = 1;
	discover(3, NULL);
	assert_non_null(fabric);
	check_found();
	assert_string_equal(text_chars(&notes), "");
	assert_int_equal(trailer.lost + trailer.silent, 0);
	return trailer.smps;
}

/* The result becomes the last topology. */
static void keep_result(void)
{
	fabric_destroy((struct fabric *)last);
	last = fabric;
	fabric = NULL;
}

TEST(a_host_reboot_costs_nine_smps)
{
	star(38);
	discover_base();
	assert_true(trailer.smps > 150);
	cut(5, 1);
	/* The switch: NodeInfo, PortInfo of port 0 and of the port; the host: NodeInfo, PortInfo, NodeDescription. */
	assert_int_equal(explore_port(1, 5), 3);
	keep_result();
	cable(5, 1, 1, 5);
	snprintf(built->nodes[5].desc, sizeof(built->nodes[5].desc), "rebooted");
	assert_int_equal(explore_port(1, 5), 6);
}

/* A swapped cable leaves all ports up: one of them leads to the other one. */
TEST(two_swapped_cables_are_found_from_one_port)
{
	star(38);
	discover_base();
	cut(5, 1);
	cut(6, 1);
	cable(5, 1, 1, 6);
	cable(6, 1, 1, 5);
	assert_in_range(explore_port(1, 6), 9, 10);
	/* PortStateChange names no port: all are followed, and peers that are the same are not queried. */
	assert_in_range(explore_port(1, 0), 2 + 2 * 39, 2 + 2 * 39 + 6);
}

/* Two spines, a leaf with hosts; another leaf with two hosts is plugged in. */
TEST(a_new_leaf_is_found_with_its_hosts)
{
	stop();
	add(NODE_CA, 1);
	for (unsigned i = 0; i < 4; i++)
		add(NODE_SWITCH, 40);
	for (unsigned i = 0; i < 12; i++)
		add(NODE_CA, 1);
	start();
	cable(0, 1, 1, 1);
	cable(1, 39, 3, 1);
	cable(1, 40, 4, 1);
	for (unsigned i = 0; i < 12; i++)
		cable(5 + i, 1, i < 10 ? 1 : 2, 2 + i);
	discover_base();
	cable(2, 39, 3, 2);
	cable(2, 40, 4, 2);
	/* Its 40 ports, and what is behind four of them. */
	assert_in_range(explore_port(3, 2), 43 + 8, 43 + 20);
	keep_result();
	cut(2, 39);
	cut(2, 40);
	/* The leaf and its hosts are gone with the last link to them. */
	parts[1] = (struct explore_port){ built->nodes[4].guid, 2 };
	part_count = 2;
	parts[0] = (struct explore_port){ built->nodes[3].guid, 2 };
	discover(3, NULL);
	check_found();
	assert_false(has_node(2));
	assert_int_equal(trailer.smps, 6);
}

TEST(a_fabric_that_contradicts_the_last_topology_is_not_explored_in_parts)
{
	star(38);
	discover_base();
	built->nodes[1].guid = 0x999000;
	parts[0] = (struct explore_port){ last->nodes[1].guid, 5 };
	part_count = 1;
	discover(3, NULL);
	assert_null(fabric);
	/* More than half of it is new. */
	star(20);
	cut(1, 21);
	for (unsigned num = 2; num < 20; num++)
		cut(1, num);
	discover_base();
	for (unsigned i = 0; i < 18; i++)
		cable(2 + i, 1, 1, i + 2);
	parts[0] = (struct explore_port){ built->nodes[1].guid, 0 };
	part_count = 1;
	discover(3, NULL);
	assert_null(fabric);
}

/* As of libibnetdisc: a port without PortInfo has state 0, and a switch without that of port 0 no other port. */
TEST(holes_of_a_discovery_are_completed)
{
	struct explore_port holes[EXPLORE_PORTS_MAX];
	struct fabric *holed = fabric_create(NULL);

	star(38);
	agents[9].dead = true;
	discover_base();
	assert_int_equal(merge_find_holes(last, holes, EXPLORE_PORTS_MAX), 1);
	for (uint32_t i = 0; i < last->node_count; i++) {
		struct node node = last->nodes[i];

		if (node.guid == built->nodes[7].guid)
			node.desc[0] = '\0';
		assert_true(fabric_add_node(holed, &node, NULL) >= 0);
		for (uint32_t p = node.first_port; p < node.first_port + node.ports; p++) {
			struct port port = last->ports[p];

			if (node.guid == built->nodes[6].guid)
				port = (struct port){ .num = port.num };
			if (!(node.type == NODE_SWITCH && port.num == 20))
				assert_true(fabric_add_port(holed, &port, NULL) >= 0);
		}
	}
	for (uint32_t p = 0; p < last->port_count; p++)
		if (last->ports[p].peer != FABRIC_NONE) {
			const struct port *peer = &last->ports[last->ports[p].peer];
			uint32_t a = fabric_find_port(holed, last->nodes[last->ports[p].node].guid, last->ports[p].num);
			uint32_t b = fabric_find_port(holed, last->nodes[peer->node].guid, peer->num);

			if (a != FABRIC_NONE && b != FABRIC_NONE)
				assert_int_equal(fabric_link(holed, a, b, NULL), 0);
		}
	assert_int_equal(fabric_finish(holed, NULL, NULL), 0);
	holed->from_node = last->from_node;
	holed->from_port = last->from_port;
	fabric_destroy((struct fabric *)last);
	last = holed;
	agents[9].dead = false;
	part_count = merge_find_holes(last, parts, EXPLORE_PORTS_MAX);
	assert_true(part_count == 4);
	discover(3, NULL);
	assert_non_null(fabric);
	check_found();
}
