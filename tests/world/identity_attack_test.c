/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * identity_attack_test.c - a compromised switch shows false switches with new GUIDs to each discovery
 *
 * The whole collector on a virtual fabric, with a database: 40 false switches of 254 Active ports, of which
 * some respond to all queries and the others to discovery only. IBWIRE_ATTACK_LONG: for so many discoveries
 * that all ids would be used up.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/test_cases.h"
#include "base/unit_test.h"
#include "base/when.h"
#include "cli/test_commands.h"
#include "fabric/fabric.h"
#include "storage/history.h"
#include "storage/reader.h"
#include "storage/test/test_check.h"
#include "storage/test/test_folder.h"
#include "storage/writer.h"
#include "tests/heap.h"
#include "tests/world/collect.h"
#include "tests/world/virtual.h"

/* Nodes by number: a spine, leaves, hosts, false switches at the spine. The collector runs on the first host. */
enum { LEAVES = 2, HOSTS = 8, FALSE_SWITCHES = 40, FALSE_PORTS = 254, RESPONDING = 4 };
enum { SPINE, LEAF, FIRST_HOST = LEAF + LEAVES, NEW_HOST = FIRST_HOST + HOSTS - 1, FALSE_SWITCH = NEW_HOST + 1 };
enum { NODES = FALSE_SWITCH + FALSE_SWITCHES, LEAF_PORTS = 1 + HOSTS / LEAVES };

/* Ids that may be assigned after the first topology: at once, and per hour (writer_identity.c). */
enum { NEW_MOST = 131072, NEW_PER_HOUR = 1024 };

#define INTERVAL_US (300 * US_PER_S)
#define HOUR_US (3600 * US_PER_S)

/*
 * Of the collector, the writer and this test, with all ids that may be assigned: 131,072, 1,024 per hour for 39 hours,
 * and those of real ports. The writer's cache has 94 MB, as an array of 262,144, its map 8 MB, and the compactor's last
 * readings 42 MB. The arrays of the collector have at most 131,072 entries (collector.c): 41 MB of last readings, 42 MB
 * of sums of packets, 35 MB for findings and 10 MB of queues. SQLite, topologies, forwarding tables and the virtual
 * fabric have 40 MB.
 */
#define HEAP_MOST (320u << 20)

static struct attack {
	struct world_run run;
	struct virtual *world;
	struct writer *writer;
	struct sink sink;
	struct discoverer inner;
	bool on;
	uint64_t serial;          /* of false GUIDs */
	uint64_t stored, deltas;
	uint64_t new_host_after;  /* sweeps until a host is connected */
	size_t left_out_most;
	uint64_t named;           /* sweeps with the finding */
	size_t heap_most;
	/* Of a real port: at its first and its last stored reading. */
	struct truth { bool known; uint64_t first[COUNTER_TRAFFIC_COUNT], last[COUNTER_TRAFFIC_COUNT]; } *truth;
} attack;

static uint64_t real_guid(size_t node)
{
	return 0x1000 + node;
}

static bool is_false(size_t node)
{
	return node >= FALSE_SWITCH;
}

static void add_device(struct fabric *fabric, size_t number, unsigned ports)
{
	bool is_switch = number < FIRST_HOST || is_false(number);
	struct node node = { .guid = real_guid(number), .type = is_switch ? NODE_SWITCH : NODE_CA,
			     .port_count = (uint8_t)ports };

	snprintf(node.desc, sizeof(node.desc), "%s%02zu", is_false(number) ? "false" : is_switch ? "switch" : "host",
		 number);
	assert_true(fabric_add_node(fabric, &node, NULL) >= 0);
	for (unsigned num = is_switch ? 0 : 1; num <= ports; num++)
		assert_true(fabric_add_port(fabric, &(struct port){ .num = (uint8_t)num, .width = LINK_WIDTH_4X,
								    .speed = LINK_SPEED_HDR, .state = PORT_ACTIVE },
					    NULL) >= 0);
}

static void connect(struct fabric *fabric, uint32_t a, unsigned a_num, uint32_t b, unsigned b_num)
{
	assert_int_equal(fabric_link(fabric, fabric_node_port(fabric, a, (uint8_t)a_num),
				     fabric_node_port(fabric, b, (uint8_t)b_num), NULL), 0);
}

static struct fabric *build(void)
{
	struct fabric *fabric = fabric_create(NULL);

	for (size_t node = 0; node < NODES; node++)
		add_device(fabric, node, node == SPINE ? LEAVES + FALSE_SWITCHES : node < FIRST_HOST ? LEAF_PORTS :
			   is_false(node) ? FALSE_PORTS : 1);
	for (uint32_t leaf = 0; leaf < LEAVES; leaf++)
		connect(fabric, SPINE, leaf + 1, LEAF + leaf, 1);
	for (uint32_t host = 0; host < HOSTS; host++)
		connect(fabric, LEAF + host % LEAVES, 2 + host / LEAVES, FIRST_HOST + host, 1);
	for (uint32_t i = 0; i < FALSE_SWITCHES; i++)
		connect(fabric, SPINE, LEAVES + 1 + i, FALSE_SWITCH + i, 1);
	assert_int_equal(fabric_finish(fabric, NULL, NULL), 0);
	fabric->from_node = FIRST_HOST;
	fabric->from_port = 1;
	return fabric;
}

/* New GUIDs, which no discovery has seen. */
static void renew_false_switches(void)
{
	struct fabric *built = attack.world->built;

	for (uint32_t i = FALSE_SWITCH; i < NODES; i++) {
		built->nodes[i].guid = 0x1000000 + ++attack.serial;
		snprintf(built->nodes[i].desc, sizeof(built->nodes[i].desc), "false %08" PRIx64, built->nodes[i].guid);
		assert_true(map_put(&built->by_guid, built->nodes[i].guid, i) >= 0);
	}
	virtual_route(attack.world);
}

static int start_discovery(void *ctx, const struct fabric *last, const struct explore_port *ports, size_t count,
			   struct error *err)
{
	if (!count && attack.on)
		renew_false_switches();
	return attack.inner.start(ctx, last, ports, count, err);
}

static void set_link(uint32_t node, bool up)
{
	struct fabric *built = attack.world->built;
	uint32_t port = fabric_node_port(built, node, 1);

	built->ports[port].state = built->ports[built->ports[port].peer].state = up ? PORT_ACTIVE : PORT_DOWN;
	attack.world->trunks_changed = true;
	virtual_route(attack.world);
}

static void set_attack(bool on)
{
	attack.on = on;
	for (uint32_t i = FALSE_SWITCH; i < NODES; i++)
		set_link(i, on);
}

/* Traffic of real ports. */
static void on_sleep(struct world_run *run)
{
	const struct fabric *built = run->world->built;

	if (attack.stored == attack.new_host_after)
		set_link(NEW_HOST, true);
	for (uint32_t i = 0; i < built->port_count; i++)
		for (int counter = 0; counter < COUNTER_TRAFFIC_COUNT && !is_false(built->ports[i].node); counter++)
			run->world->counters[i].value[counter] += (uint64_t)(virtual_random(run->world) * 1e5);
}

static void note_sample(const struct sweep *sweep, const struct port_sample *sample)
{
	const struct port *port = &sweep->fabric->ports[sample->port];
	uint64_t guid = sweep->fabric->nodes[port->node].guid;
	uint32_t is = fabric_find_port(attack.world->built, guid, port->num);
	struct truth *truth = &attack.truth[is];
	const uint64_t *now = attack.world->counters[is].value;

	if (guid >= real_guid(FALSE_SWITCH) || !sample->reading)
		return;
	for (int counter = 0; counter < COUNTER_TRAFFIC_COUNT; counter++)
		if (sample->reading->present & COUNTER_BIT(counter))
			assert_true(sample->reading->value[counter] == now[counter]);
	if (!truth->known)
		memcpy(truth->first, now, sizeof(truth->first));
	truth->known = true;
	memcpy(truth->last, now, sizeof(truth->last));
	attack.deltas += sample->delta != NULL;
}

/* The compactor is a thread in real time, and a virtual sweep does not wait for its locks. */
static void store_in_database(const struct sweep *sweep, struct error *err)
{
	const struct sink *sink = writer_sink(attack.writer);

	for (int tries = 0; sink->store(sink->ctx, sweep, err) < 0; tries++)
		if (tries == 20 || !strstr(err->text, "is locked"))
			fail_msg("sweep %" PRIu64 ": %s", attack.stored, err->text);
}

/* Each sweep is stored. */
static int store(void *ctx, const struct sweep *sweep, struct error *err)
{
	size_t heap = mallinfo2().uordblks + mallinfo2().hblkhd, left_out;
	char first[SINK_HOLDERS_SIZE];

	store_in_database(sweep, err);
	attack.stored++;
	for (size_t i = 0; i < sweep->sample_count; i++)
		note_sample(sweep, &sweep->samples[i]);
	for (size_t i = 0; i < sweep->finding_count; i++)
		attack.named += sweep->findings[i]->kind == FINDING_NODES_LEFT_OUT;
	left_out = writer_sink(attack.writer)->nodes_left_out(ctx, first);
	if (left_out > attack.left_out_most)
		attack.left_out_most = left_out;
	if (left_out)
		assert_non_null(strstr(first, "at switch00/"));
	if (heap > attack.heap_most)
		attack.heap_most = heap;
	return 0;
}

static void create(void)
{
	struct virtual *world = virtual_create(build(), INTERVAL_US, 1);
	struct world_run *run = &attack.run;

	log_init("attack", LOG_LEVEL_NONE);
	attack = (struct attack){ .world = world, .new_host_after = UINT64_MAX };
	world->counters = virtual_alloc(world->built->port_count, sizeof(*world->counters));
	attack.truth = virtual_alloc(world->built->port_count, sizeof(*attack.truth));
	for (uint32_t i = 0; i < FALSE_SWITCHES; i++)
		world->agents[FALSE_SWITCH + i].dead = i >= RESPONDING;
	set_link(NEW_HOST, false);
	set_attack(false);
	world_run_init(run, world);
	run->settings.interval_us = INTERVAL_US;
	run->settings.discovery_interval_us = 2 * INTERVAL_US;
	run->on_sleep = on_sleep;
	run->wall_us = INT64_C(1790000000) * US_PER_S;
	run->now_us = US_PER_S;
	attack.inner = run->discoverer;
	run->discoverer.start = start_discovery;
	attack.writer = check_open_writer(path);
	attack.sink = *writer_sink(attack.writer);
	attack.sink.store = store;
}

static void destroy(void)
{
	writer_close(attack.writer);
	virtual_destroy(attack.world);
	free(attack.truth);
}

static void collect(uint64_t sweeps)
{
	struct world_run *run = &attack.run;
	struct collector_report report;
	struct error err = { 0 };
	uint64_t before = attack.stored;

	run->settings.count = sweeps;
	if (collector_run(&run->settings, &run->wire, &run->clock, &attack.sink, &report, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(attack.stored - before, sweeps);
}

static int64_t all_ids(void)
{
	return check_integer(path, "SELECT (SELECT count(*) FROM node) + (SELECT count(*) FROM port)");
}

/* The sum of all deltas of a real port is the change of its counters. Return: the number of ports. */
static size_t check_sums(void)
{
	const struct fabric *built = attack.world->built;
	struct reader *reader = check_open_reader(path);
	struct history_range range;
	size_t checked = 0;

	assert_int_equal(reader_history_range(reader, 0, 0, &range, NULL), 0);
	for (uint32_t i = 0; i < built->port_count; i++) {
		const struct port *port = &built->ports[i];
		const struct history_port who = { built->nodes[port->node].guid, port->num };
		struct history_sum sum;

		if (!attack.truth[i].known)
			continue;
		assert_int_equal(reader_history_sums(reader, &(struct history_query){
			.after = range.after, .until = range.until, .ports = &who, .port_count = 1,
			.counters = COUNTER_BIT(COUNTER_TRAFFIC_COUNT) - 1 }, &sum, NULL), 0);
		assert_true(sum.samples > 0);
		for (int counter = 0; counter < COUNTER_TRAFFIC_COUNT; counter++)
			if (sum.sum.known & COUNTER_BIT(counter))
				assert_true(sum.sum.value[counter] ==
					    attack.truth[i].last[counter] - attack.truth[i].first[counter]);
		assert_true(sum.sum.known & COUNTER_BIT(COUNTER_XMIT_DATA));
		checked++;
	}
	reader_close(reader);
	return checked;
}

/* Commands show the real nodes, and name those that are left out. */
static void check_commands(void)
{
	static const char *const expected[][2] = {
		{ "status", "nodes               12: 4 switches, 8 HCAs" },
		{ "nodes", "host10" },
		{ "ports", "host10" },
		{ "health", "nodes are not stored, because too many are new; the first is false" },
	};
	char line[256], when[WHEN_SIZE];

	when_format_utc(check_integer(path, "SELECT max(wall_us) FROM sweep"), when);
	use_database(path);
	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
		snprintf(line, sizeof(line), "%s|--at|%s", expected[i][0], when);
		assert_shows(line, expected[i][1]);
	}
	use_database(NULL);
}

/* The same false switches, until the first ones are stored: with what was read of them while they were left out. */
static void check_stored_later(void)
{
	static const char *const rows[] = { "caps", "route_version" };
	char sql[256];

	attack.on = false;
	collect(2 * HOUR_US / INTERVAL_US);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		snprintf(sql, sizeof(sql), "SELECT count(DISTINCT v.node) FROM node_version v JOIN %s r ON r.node ="
			 " v.node WHERE v.to_sweep IS NULL AND instr(v.description, 'false') = 1", rows[i]);
		assert_int_equal(check_integer(path, sql), RESPONDING);
	}
}

/* Sweep until the compactor, a thread in real time, has removed what is stored of the attack. */
static void expire(int64_t end)
{
	const struct timespec pause = { .tv_nsec = 20 * 1000000 };

	collect(8 * HOUR_US / INTERVAL_US);
	for (int i = 0; i < 500 && check_integer(path, "SELECT min(from_sweep) FROM (SELECT from_sweep FROM hour"
						       " UNION ALL SELECT from_sweep FROM chunk_window)") <= end; i++) {
		collect(1);
		nanosleep(&pause, NULL);
	}
}

static void report(uint64_t discoveries, int64_t assigned)
{
	char checked[200];

	print_message("# %" PRId64 " ids in %" PRIu64 " discoveries, heap %zu MB\n", assigned, discoveries,
		      attack.heap_most >> 20);
	snprintf(checked, sizeof(checked), "All %" PRIu64 " sweeps are stored, %" PRIu64 " deltas of real ports are"
		 " exact, a new host is stored; %" PRId64 " new ids, %zu MB; then the ids are assigned again",
		 attack.stored, attack.deltas, assigned, attack.heap_most >> 20);
	reliability_report("40 false switches of 254 ports with new GUIDs", discoveries, "discoveries", checked);
}

TEST_IN_FOLDER(false_switches_cost_neither_sweeps_nor_real_nodes_nor_memory)
{
	uint64_t discoveries = getenv("IBWIRE_ATTACK_LONG") ? 230 : 16;
	uint64_t hours = discoveries * 2 * INTERVAL_US / HOUR_US + 1;
	const struct writer_retention kept = { .raw_us = 3 * HOUR_US, .sums_us = 720 * HOUR_US,
					       .hours_us = 17520 * HOUR_US };
	const struct writer_retention expired = { .raw_us = HOUR_US, .sums_us = 2 * HOUR_US, .hours_us = 4 * HOUR_US };
	int64_t before, assigned, most;

	create();
	writer_set_retention(attack.writer, &kept);
	collect(3);
	before = all_ids();
	set_attack(true);
	attack.new_host_after = attack.stored + discoveries;
	collect(2 * discoveries);
	assigned = all_ids() - before;
	assert_in_range(assigned, NEW_MOST / 2, NEW_MOST + hours * NEW_PER_HOUR);
	assert_true(attack.left_out_most >= FALSE_SWITCHES - 1 && attack.named > 0);
#ifndef __SANITIZE_ADDRESS__ /* there mallinfo2() reports no memory */
	assert_in_range(attack.heap_most, 1, HEAP_MOST);
#endif
	check_commands();
	assert_int_equal(check_sums(), LEAVES * LEAF_PORTS + LEAVES + FALSE_SWITCHES + HOSTS);
	report(discoveries, assigned);
	check_stored_later();
	/* The ids are those of other nodes once nothing is stored of the false ones. */
	set_attack(false);
	writer_set_retention(attack.writer, &expired);
	expire((int64_t)attack.stored);
	set_attack(true);
	collect(4);
	most = check_integer(path, "SELECT max(id) FROM port");
	collect(12);
	assert_int_equal(check_integer(path, "SELECT max(id) FROM port"), most);
	check_integrity(path);
	destroy();
}
