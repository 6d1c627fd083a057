/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* identity_test.c - new ids are limited, those of departed nodes are assigned again, and no row changes its owner */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/test_cases.h"
#include "base/unit_test.h"
#include "fabric/fabric.h"
#include "storage/reader.h"
#include "storage/test/test_check.h"
#include "storage/test/test_folder.h"
#include "storage/test/test_history.h"
#include "storage/write/writer_internal.h"

#define HOST 0x20000u
#define LEAF 0x10000u

enum { SLOTS = 252, FALSE_SWITCHES = 40 };

/*
 * A leaf with the collector's host at port 1. What is connected to its other ports has GUIDs with this port in the
 * last byte, a description with its GUID, and counters that increase by a number of its own in each sweep, which
 * tells whose the stored rows are.
 */
struct device {
	uint64_t guid; /* 0: none */
	uint8_t ports;
	bool read;     /* it responds with counters */
	unsigned polls;
	int64_t at_us;
};

struct world {
	struct device host, leaf, slots[SLOTS];
	uint64_t serial;
	int64_t us, wall_step_us; /* CLOCK_BOOTTIME; what the wall clock is ahead of it */
	uint64_t generation, built; /* of the devices, of the fabric */
	struct fabric *fabric;
	struct port_sample *samples;
	struct reading *readings;
	struct delta *deltas;
	struct writer *writer;
	struct finding finding;
};

static uint64_t step_of(uint64_t guid, uint8_t num)
{
	return (guid & 0xffffff) * 256 + num + 1;
}

static struct device *device_of(struct world *world, uint64_t guid)
{
	return guid == HOST ? &world->host : guid == LEAF ? &world->leaf : &world->slots[(guid & 0xff) - 2];
}

static void connect_device(struct world *world, size_t slot, uint8_t ports, bool read)
{
	world->slots[slot] = (struct device){ .guid = 0x1000000 + (++world->serial << 8) + slot + 2, .ports = ports,
					      .read = read };
	world->generation++;
}

static void disconnect_device(struct world *world, size_t slot)
{
	world->slots[slot] = (struct device){ 0 };
	world->generation++;
}

static void add_device(struct fabric *fabric, const struct device *device, bool is_switch)
{
	struct node node = { .guid = device->guid, .type = is_switch ? NODE_SWITCH : NODE_CA,
			     .port_count = device->ports, .lid = is_switch ? 9 : 0 };

	snprintf(node.desc, sizeof(node.desc), "%s %08" PRIx64, is_switch ? "switch" : "host", device->guid);
	assert_true(fabric_add_node(fabric, &node, NULL) >= 0);
	for (unsigned num = is_switch ? 0 : 1; num <= device->ports; num++)
		assert_true(fabric_add_port(fabric, &(struct port){ .num = (uint8_t)num, .lid = is_switch ? 0 : 8,
								    .state = PORT_ACTIVE }, NULL) >= 0);
}

static void build(struct world *world)
{
	struct fabric *fabric = fabric_create(NULL);
	uint32_t leaf;

	add_device(fabric, &world->host, false);
	add_device(fabric, &world->leaf, true);
	leaf = fabric->nodes[1].first_port;
	assert_int_equal(fabric_link(fabric, 0, leaf + 1, NULL), 0);
	for (size_t i = 0; i < SLOTS; i++) {
		if (!world->slots[i].guid)
			continue;
		add_device(fabric, &world->slots[i], world->slots[i].ports > 2);
		assert_int_equal(fabric_link(fabric, fabric->nodes[fabric->node_count - 1].first_port +
					     (world->slots[i].ports > 2), leaf + (uint32_t)i + 2, NULL), 0);
	}
	assert_int_equal(fabric_finish(fabric, NULL, NULL), 0);
	fabric->from_node = 0;
	fabric->from_port = 1;
	fabric_destroy(world->fabric);
	world->fabric = fabric;
	world->samples = reallocarray(world->samples, fabric->port_count, sizeof(*world->samples));
	world->readings = reallocarray(world->readings, fabric->port_count, sizeof(*world->readings));
	world->deltas = reallocarray(world->deltas, fabric->port_count, sizeof(*world->deltas));
}

static size_t read_ports(struct world *world)
{
	const struct fabric *fabric = world->fabric;
	size_t count = 0;

	for (size_t i = 0; i < fabric->port_count; i++) {
		const struct node *node = &fabric->nodes[fabric->ports[i].node];
		struct device *device = device_of(world, node->guid);
		uint8_t num = fabric->ports[i].num;
		struct port_sample *sample = &world->samples[count];

		if (!num)
			continue;
		*sample = (struct port_sample){ .port = (uint32_t)i,
						.status = device->read ? SAMPLE_OK : SAMPLE_SILENT };
		if (device->read) {
			world->readings[count] = (struct reading){ .at_us = world->us, .present = COUNTER_ALL_SET,
								   .wide = COUNTER_ALL_SET };
			world->readings[count].value[COUNTER_XMIT_DATA] = device->polls * step_of(node->guid, num);
			world->deltas[count] = (struct delta){ .elapsed_us = world->us - device->at_us,
							       .known = COUNTER_ALL_SET };
			world->deltas[count].value[COUNTER_XMIT_DATA] = step_of(node->guid, num);
			sample->reading = &world->readings[count];
			sample->delta = device->polls > 1 ? &world->deltas[count] : NULL;
		}
		count++;
	}
	return count;
}

/* The next sweep, @passed_us after the last one. */
static void sweep_world(struct world *world, int64_t passed_us)
{
	const struct finding *open = &world->finding;
	struct sweep sweep = { .boot_id = "boot", .interval_us = 600 * US_PER_S };

	world->us += passed_us;
	if (world->built != world->generation)
		build(world);
	world->built = world->generation;
	for (size_t i = 0; i < SLOTS; i++)
		world->slots[i].polls++;
	world->host.polls = ++world->leaf.polls;
	sweep.wall_us = world->us + world->wall_step_us;
	sweep.start_us = sweep.end_us = world->us;
	sweep.fabric = world->fabric;
	sweep.generation = world->generation;
	sweep.sample_count = read_ports(world);
	sweep.samples = world->samples;
	sweep.findings = &open;
	sweep.finding_count = world->finding.port_count != 0;
	check_store(world->writer, &sweep);
	for (size_t i = 0; i < SLOTS; i++)
		world->slots[i].at_us = world->us;
	world->host.at_us = world->leaf.at_us = world->us;
}

static const struct writer_retention short_retention = { .raw_us = 3 * 3600 * US_PER_S, .sums_us = 6 * 3600 * US_PER_S,
							 .hours_us = 24 * 3600 * US_PER_S, .window_sweeps = 4 };

static void restart(struct world *world)
{
	writer_close(world->writer);
	world->writer = check_open_writer(path);
	writer_set_retention(world->writer, &short_retention);
}

static struct world *create_world(void)
{
	struct world *world = calloc(1, sizeof(*world));

	world->us = INT64_C(1790000000) * US_PER_S;
	world->generation = 1;
	world->host = (struct device){ .guid = HOST, .ports = 1, .read = true };
	world->leaf = (struct device){ .guid = LEAF, .ports = 254, .read = true };
	restart(world);
	return world;
}

static void destroy_world(struct world *world)
{
	writer_close(world->writer);
	fabric_destroy(world->fabric);
	free(world->samples);
	free(world->readings);
	free(world->deltas);
	free(world);
}

static size_t left_out(const struct world *world, char ret_first[SINK_HOLDERS_SIZE])
{
	const struct sink *sink = writer_sink(world->writer);

	return sink->nodes_left_out(sink->ctx, ret_first);
}

static bool is_left_out(const struct world *world, uint64_t guid)
{
	return sink_leaves_out(writer_sink(world->writer), guid);
}

static int64_t most_port_id(void)
{
	return check_integer(path, "SELECT max(id) FROM port");
}

/* --- whose rows they are --- */

/* Rows that do not belong to the node that their id has now. */
#define STEP "((n.guid & 0xffffff) * 256 + p.number + 1)"
#define OF_PORT " JOIN port p ON p.id = s.port JOIN node n ON n.id = p.node WHERE "
static const char *const foreign[] = {
	"SELECT count(*) FROM hour_sum s" OF_PORT "s.xmit_data <> s.samples * " STEP,
	"SELECT count(*) FROM chunk_sum s" OF_PORT "s.xmit_data <> s.samples * " STEP,
	"SELECT count(*) FROM absolute s" OF_PORT "s.xmit_data % " STEP " <> 0",
	"SELECT count(*) FROM node_version v JOIN node n ON n.id = v.node WHERE"
	" instr(v.description, printf('%08x', n.guid)) = 0",
	/* The leaf's ports had peers with the GUID of this port. */
	"SELECT count(*) FROM port_version s JOIN port o ON o.id = s.peer JOIN node m ON m.id = o.node" OF_PORT
	"n.guid = 65536 AND p.number > 1 AND m.guid & 255 <> p.number",
	"SELECT count(*) FROM port_version s JOIN port o ON o.id = s.peer JOIN node m ON m.id = o.node" OF_PORT
	"n.guid > 0x1000000 AND m.guid <> 65536",
	/* Findings name the ports of one node. */
	"SELECT count(*) FROM finding f JOIN finding_state t ON t.finding = f.id JOIN json_each(CASE t.ports WHEN ''"
	" THEN '[]' ELSE t.ports END) s JOIN port p ON p.id = s.value JOIN node n ON n.id = p.node WHERE"
	" n.guid <> f.node_guid",
	"SELECT count(*) FROM caps c JOIN node n ON n.id = c.node WHERE c.cap_mask2 <> n.guid & 0xffffff",
	"SELECT max(id) - count(*) FROM port", "SELECT max(id) - count(*) FROM node",
};

static bool count_row(void *ctx, const struct cell *cells, int count)
{
	(void)count;
	*(int64_t *)ctx += cells[0].integer;
	return true;
}

static void check_rows(void)
{
	int64_t others = 0;
	const struct sql_consumer consumer = { check_any_header, count_row, &others };
	struct reader *reader = check_open_reader(path);

	for (size_t i = 0; i < sizeof(foreign) / sizeof(*foreign); i++)
		if (check_integer(path, foreign[i]))
			fail_msg("%" PRId64 ": %s", check_integer(path, foreign[i]), foreign[i]);
	assert_int_equal(reader_sql(reader, "SELECT count(*) FROM sample s JOIN port p ON p.id = s.port_id JOIN node n"
				    " ON n.id = p.node WHERE s.xmit_bytes <> 4 * " STEP, 0, &consumer, NULL), 0);
	assert_int_equal(others, 0);
	reader_close(reader);
	check_sound(path);
}

/* The collector stores what it knows of a node's performance agent. */
static void store_caps(struct world *world, size_t slot)
{
	uint64_t guid = world->slots[slot].guid;
	struct restored_caps caps = { guid, { .known = true, .cap_mask2 = (uint32_t)(guid & 0xffffff) } };

	assert_int_equal(writer_sink(world->writer)->store_caps(world->writer, &caps, 1, NULL), 0);
}

TEST_IN_FOLDER(ids_are_assigned_again_and_no_row_of_the_past_is_of_another_port)
{
	uint64_t seed = 1;
	struct world *world = create_world();
	int64_t at_day = 0, connected = 0;

	for (unsigned sweep = 0; sweep < test_cases(400); sweep++) {
		for (int i = 0; i < 2; i++) {
			size_t slot = (size_t)(seed = map_mix(seed + 1)) % 20;

			if (world->slots[slot].guid) {
				disconnect_device(world, slot);
			} else {
				connect_device(world, slot, (uint8_t)(seed >> 32 & 1 ? 1 : 3 + (seed >> 40) % 6),
					       seed >> 33 & 1);
				connected += world->slots[slot].ports + (world->slots[slot].ports > 2);
			}
		}
		sweep_world(world, 600 * US_PER_S);
		for (size_t slot = 0; slot < 20; slot++)
			if (world->slots[slot].polls == 1 && world->slots[slot].guid >> 8 & 1)
				store_caps(world, slot);
		/* An open finding names the ports of a node that leaves, one day. */
		if (sweep == 20) {
			world->finding = (struct finding){ .kind = FINDING_LINK_DOWN, .node_guid = LEAF,
							   .cause = "cable", .advice = "", .port_count = 1 };
			for (size_t slot = 0; slot < 20; slot++)
				if (world->slots[slot].guid)
					world->finding.node_guid = world->slots[slot].guid;
			world->finding.ports[0] = (struct finding_port){ world->finding.node_guid, 1 };
		}
		world->finding.port_count = sweep >= 20 && sweep < 30;
		if (sweep % 24 == 23)
			restart(world);
		if (sweep % 100 == 99)
			check_rows();
		if (sweep == 200)
			at_day = most_port_id();
	}
	/*
	 * The number of ids is that of the retention, a day and some hours, not of all nodes that ever were; a short
	 * run ends before the first ids are free.
	 */
	if (at_day) {
		assert_in_range(most_port_id(), 254, at_day + at_day / 4);
		assert_true(most_port_id() < connected);
		assert_true(check_integer(path, "SELECT count(*) FROM node") < (int64_t)world->serial / 2);
	}
	destroy_world(world);
	check_rows();
}

TEST_IN_FOLDER(the_generations_of_the_next_collector_are_others)
{
	struct world *world = create_world();
	const struct sink *sink = writer_sink(world->writer);
	struct restored restored = { 0 };
	uint64_t generation;

	connect_device(world, 0, 3, true);
	connect_device(world, 1, 5, true);
	sweep_world(world, 600 * US_PER_S);
	generation = world->generation;
	/* It begins with another fabric, of the same size, and the same generation. */
	disconnect_device(world, 0);
	connect_device(world, 2, 3, true);
	world->generation = generation;
	world->built = 0;
	assert_int_equal(sink->restore(sink->ctx, &restored, NULL), 0);
	restored_done(&restored);
	for (int i = 0; i < 3; i++)
		sweep_world(world, 600 * US_PER_S);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM node_version WHERE to_sweep IS NULL"), 4);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM node"), 5);
	destroy_world(world);
	check_rows();
}

/* --- limits --- */

/* A discovery with 40 false switches that were never seen before. Return: nodes that the sweep left out. */
static size_t discover_false_switches(struct world *world, int64_t passed_us, char ret_first[SINK_HOLDERS_SIZE])
{
	for (size_t slot = 0; slot < FALSE_SWITCHES; slot++)
		connect_device(world, slot, 254, false);
	sweep_world(world, passed_us);
	return left_out(world, ret_first);
}

static int64_t sweeps(void)
{
	return check_integer(path, "SELECT count(*) FROM sweep");
}

/* Ids of nodes and ports, and rows of the host in the newest sweep. */
static int64_t all_ids(void)
{
	return check_integer(path, "SELECT (SELECT count(*) FROM node) + (SELECT count(*) FROM port)");
}

TEST_IN_FOLDER(false_switches_are_limited_and_named_and_no_sweep_is_lost)
{
	struct world *world = create_world();
	int64_t before, stored = 0;
	char first[SINK_HOLDERS_SIZE];
	size_t out = 0;

	sweep_world(world, US_PER_S);
	before = all_ids();
	for (int i = 0; i < 20; i++, stored++)
		out = discover_false_switches(world, US_PER_S, first);
	assert_int_equal(out, FALSE_SWITCHES);
	assert_string_equal(first, "switch 0102f902 (0x000000000102f902) at switch 00010000/2");
	assert_int_equal(sweeps(), 21);
	assert_in_range(all_ids() - before, 130000, 131072);
	/* Of a node that is connected then, no port is stored, and no row is without its port. */
	before = all_ids();
	connect_device(world, 100, 2, true);
	for (int i = 0; i < 3; i++)
		sweep_world(world, US_PER_S);
	/* A host needs three ids, a false switch 256: the host is not left out. */
	assert_int_equal(all_ids() - before, 3);
	assert_int_equal(left_out(world, first), FALSE_SWITCHES);
	/* Also after a restart: 1,024 an hour. */
	restart(world);
	sweep_world(world, US_PER_S);
	assert_int_equal(left_out(world, first), FALSE_SWITCHES);
	sweep_world(world, 3600 * US_PER_S);
	assert_int_equal(left_out(world, first), FALSE_SWITCHES - 4);
	for (size_t slot = 0; slot < FALSE_SWITCHES; slot++)
		assert_int_equal(is_left_out(world, world->slots[slot].guid), slot >= 4);
	assert_false(is_left_out(world, HOST) || is_left_out(world, world->slots[100].guid));
	/* The same topology is tried again once more credit has accrued, and until all are stored. */
	for (int i = 0; i < 9; i++)
		sweep_world(world, 3600 * US_PER_S);
	assert_int_equal(left_out(world, first), 0);
	assert_int_equal(all_ids() - before, 3 + FALSE_SWITCHES * 256);
	/* A clock that is set back by a year, or forward by two, neither costs nor gains credit, over restarts too. */
	discover_false_switches(world, US_PER_S, first);
	assert_int_equal(left_out(world, first), FALSE_SWITCHES);
	for (int i = 0; i < 2; i++) {
		world->wall_step_us += (i ? 2 : -1) * 365 * 24 * 3600 * US_PER_S;
		sweep_world(world, US_PER_S);
		assert_int_equal(left_out(world, first), FALSE_SWITCHES - 4 * i);
		restart(world);
		sweep_world(world, 3601 * US_PER_S);
		assert_int_equal(left_out(world, first), FALSE_SWITCHES - 4 * (i + 1));
	}
	destroy_world(world);
	check_rows();
}

/* A fabric of switches in a row, each with @ports ports; after the first one that knows only the host, or at once. */
static void store_large(size_t switches, uint8_t ports, bool after_host)
{
	struct world *world = create_world();
	struct fabric *fabric = fabric_create(NULL);
	struct sweep sweep = { .wall_us = world->us, .boot_id = "boot", .fabric = fabric, .generation = 1000 };
	char first[SINK_HOLDERS_SIZE];

	if (after_host)
		sweep_world(world, US_PER_S);
	add_device(fabric, &world->host, false);
	for (size_t i = 0; i < switches; i++)
		add_device(fabric, &(struct device){ .guid = 0x1000000 + i, .ports = ports }, true);
	assert_int_equal(fabric_finish(fabric, NULL, NULL), 0);
	fabric->from_node = 0;
	check_store(world->writer, &sweep);
	assert_int_equal(left_out(world, first), 0);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM port_version WHERE to_sweep IS NULL"),
			 1 + switches * (ports + 1));
	destroy_world(world);
	fabric_destroy(fabric);
}

TEST_IN_FOLDER(a_large_fabric_is_stored_at_once)
{
	/* The largest fabric that has LIDs for its switches and hosts; short: of more ids than a later one may add. */
	store_large(getenv("IBWIRE_TEST_SHORT") ? 2100 : 6000, 64, false);
	test_folder_renew();
	/* A fabric of 65,536 ports that the first topology did not have. */
	store_large(1024, 64, true);
}

TEST_IN_FOLDER(without_free_ids_nodes_are_left_out_until_others_expire)
{
	struct world *world = create_world();
	char first[SINK_HOLDERS_SIZE];
	int64_t most;

	for (size_t slot = 0; slot < 4; slot++)
		connect_device(world, slot, 254, slot < 2);
	sweep_world(world, 600 * US_PER_S);
	most = most_port_id();
	world->writer->ids_most = (size_t)most + 100;
	/* No room for a switch, but for a host. */
	disconnect_device(world, 0);
	disconnect_device(world, 3);
	connect_device(world, 4, 254, true);
	connect_device(world, 5, 1, true);
	for (int sweep = 0; sweep < 30; sweep++) {
		sweep_world(world, 600 * US_PER_S);
		assert_int_equal(left_out(world, first), 1);
	}
	assert_int_equal(strncmp(first, "switch 01000506 (0x0000000001000506) at switch 00010000/6", 57), 0);
	assert_int_equal(sweeps(), 31);
	/* The switch that was not read expires with the sums of windows, and the ids are those of the next one. */
	for (int sweep = 0; sweep < 100 && left_out(world, first); sweep++) {
		sweep_world(world, 600 * US_PER_S);
		if (sweep % 10 == 9) {
			restart(world);
			world->writer->ids_most = (size_t)most + 100;
			sweep_world(world, 600 * US_PER_S);
		}
	}
	assert_int_equal(left_out(world, first), 0);
	assert_in_range(most_port_id(), most, most + 100);
	destroy_world(world);
	check_rows();
}
