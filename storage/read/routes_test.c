/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* routes_test.c - forwarding tables at any time */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "base/unit_test.h"
#include "fabric/routes.h"
#include "storage/admin.h"
#include "storage/reader.h"
#include "storage/test/test_check.h"
#include "storage/test/test_folder.h"
#include "storage/test/test_model.h"
#include "storage/writer.h"

enum { SWEEPS = 200, BLOCKS = 12 };

#define BEGAN_US 1795183200000000LL
#define SWEEP_US 10000000LL

/* Tables of the switches of the model and of an unknown one, which change at random, and their history. */
struct bed {
	struct model *model;
	struct routes routes;
	struct routes was[SWEEPS];
	struct route_block blocks[256];
	size_t block_count;
	uint64_t random;
	unsigned sweeps;
	struct sweep sweep;
};

static uint32_t below(struct bed *bed, uint32_t limit)
{
	bed->random = map_mix(bed->random + 0x9e3779b97f4a7c15ULL);
	return (uint32_t)(bed->random % limit);
}

static void bed_init(struct bed *bed, uint64_t seed)
{
	memset(bed, 0, sizeof(*bed));
	bed->model = model_create(seed, 3, 6, 4);
	bed->random = seed;
}

static void bed_done(struct bed *bed)
{
	for (unsigned i = 0; i < bed->sweeps; i++)
		routes_done(&bed->was[i]);
	routes_done(&bed->routes);
	model_destroy(bed->model);
}

/* Each block once. */
static void note(struct bed *bed, uint64_t guid, unsigned block)
{
	for (size_t i = 0; i < bed->block_count; i++)
		if (bed->blocks[i].node_guid == guid && bed->blocks[i].block == block)
			return;
	assert_true(bed->block_count < sizeof(bed->blocks) / sizeof(*bed->blocks));
	bed->blocks[bed->block_count++] = (struct route_block){ guid, (uint16_t)block };
}

static void change(struct bed *bed)
{
	unsigned which = below(bed, 4), block = below(bed, BLOCKS);
	uint64_t guid = which < 3 ? bed->model->nodes[which].node.guid : 0xabcdef;
	const struct route_table *table = routes_find(&bed->routes, guid);
	uint8_t ports[ROUTES_BLOCK];

	if (below(bed, 8) == 0 && table) {
		for (unsigned i = block; i < table->lids / ROUTES_BLOCK; i++)
			if (table->read[i])
				note(bed, guid, i);
		routes_cut(&bed->routes, guid, block * ROUTES_BLOCK);
		return;
	}
	for (unsigned i = 0; i < ROUTES_BLOCK; i++)
		ports[i] = (uint8_t)below(bed, 256);
	assert_int_equal(routes_set_block(&bed->routes, guid, block, ports, NULL, NULL), 0);
	note(bed, guid, block);
}

/* The next sweep, with the changes since the last one. */
static const struct sweep *step(struct bed *bed)
{
	unsigned changes = below(bed, 3) ? below(bed, 6) : 0;

	bed->sweep = *model_step(bed->model);
	bed->sweep.wall_us = BEGAN_US + bed->sweeps * SWEEP_US;
	while (changes--)
		change(bed);
	bed->sweep.routes = &bed->routes;
	bed->sweep.route_blocks = bed->blocks;
	bed->sweep.route_block_count = bed->block_count;
	assert_true(bed->sweeps < SWEEPS);
	assert_int_equal(routes_copy(&bed->routes, &bed->was[bed->sweeps++], NULL), 0);
	return &bed->sweep;
}

static void store(struct bed *bed, struct writer *writer)
{
	check_store(writer, step(bed));
	bed->block_count = 0;
}

/* Each block as it was in the first of the sweeps in which it was known. */
static void check_before(const struct bed *bed, struct reader *reader, unsigned first, unsigned last)
{
	struct routes routes, expected = { 0 };

	for (unsigned i = last + 1; i-- > first;)
		for (size_t t = 0; t < bed->was[i].count; t++) {
			const struct route_table *table = &bed->was[i].tables[t];

			for (unsigned block = 0; block < table->lids / ROUTES_BLOCK; block++)
				if (table->read[block])
					assert_int_equal(routes_set_block(&expected, table->node_guid, block,
									  table->ports + block * ROUTES_BLOCK, NULL,
									  NULL), 0);
		}
	assert_int_equal(reader_routes_before(reader, BEGAN_US + first * SWEEP_US, BEGAN_US + last * SWEEP_US, &routes,
					      NULL), 0);
	assert_true(routes_same(&routes, &expected));
	routes_done(&routes);
	routes_done(&expected);
}

static void check_past(const struct bed *bed)
{
	struct reader *reader = check_open_reader(path);
	struct routes routes;

	for (unsigned i = 0; i < bed->sweeps; i++) {
		assert_int_equal(reader_routes(reader, BEGAN_US + i * SWEEP_US + SWEEP_US / 2, &routes, NULL), 0);
		assert_true(routes_same(&routes, &bed->was[i]));
		routes_done(&routes);
		check_before(bed, reader, i > 3 ? i - 3 : 0, i);
	}
	assert_int_equal(reader_routes_before(reader, BEGAN_US - 9 * SWEEP_US, BEGAN_US, &routes, NULL), 0);
	assert_true(routes_same(&routes, &bed->was[0]));
	routes_done(&routes);
	assert_int_equal(reader_routes(reader, 0, &routes, NULL), 0);
	assert_true(routes_same(&routes, &bed->routes));
	routes_done(&routes);
	assert_int_equal(reader_routes(reader, BEGAN_US - 1, &routes, NULL), ERR_UNAVAILABLE);
	assert_int_equal(routes.count, 0);
	reader_close(reader);
}

static void check_restored(const struct bed *bed)
{
	struct writer *writer = check_open_writer(path);
	struct restored restored = { 0 };

	assert_int_equal(writer_sink(writer)->restore(writer, &restored, NULL), 0);
	assert_true(routes_same(&restored.routes, &bed->routes));
	restored_done(&restored);
	writer_close(writer);
}

TEST_IN_FOLDER(tables_are_read_as_of_each_sweep)
{
	for (uint64_t seed = 1; seed <= 4; seed++) {
		struct writer *writer = check_open_writer(path);
		struct bed bed;

		bed_init(&bed, seed);
		for (unsigned i = 0; i < SWEEPS; i++)
			store(&bed, writer);
		check_past(&bed);
		writer_close(writer);
		check_past(&bed);
		check_restored(&bed);
		check_integrity(path);
		/* Only changes are stored: no version is empty or equal to the previous one. */
		assert_int_equal(check_integer(path, "SELECT count(*) FROM route_version WHERE to_sweep <= from_sweep"),
				 0);
		assert_true(check_integer(path, "SELECT count(*) FROM route_version") > SWEEPS);
		bed_done(&bed);
		test_folder_renew();
	}
}

TEST_IN_FOLDER(an_export_has_the_tables_of_its_time)
{
	const struct export_query query = { .since_us = BEGAN_US + 80 * SWEEP_US,
					    .until_us = BEGAN_US + 119 * SWEEP_US };
	struct writer *writer = check_open_writer(path);
	struct export_summary summary;
	struct reader *reader;
	struct routes routes;
	char part[96];
	struct bed bed;

	snprintf(part, sizeof(part), "%s/part.db", folder);
	bed_init(&bed, 21);
	for (unsigned i = 0; i < SWEEPS; i++)
		store(&bed, writer);
	writer_close(writer);
	assert_int_equal(admin_export(path, part, &query, &summary, NULL), 0);
	reader = check_open_reader(part);
	for (unsigned i = 80; i < 120; i++) {
		assert_int_equal(reader_routes(reader, BEGAN_US + i * SWEEP_US, &routes, NULL), 0);
		assert_true(routes_same(&routes, &bed.was[i]));
		routes_done(&routes);
	}
	reader_close(reader);
	check_integrity(part);
	bed_done(&bed);
}

/* If a statement fails, nothing of its sweep is stored. */
TEST_IN_FOLDER(a_failed_sweep_leaves_the_tables_unchanged)
{
	struct writer *writer = check_open_writer(path);
	struct sweep sweep;
	struct error err = { 0 };
	struct routes routes;
	struct reader *reader;
	struct event broken = { .kind = NULL };
	struct bed bed;

	bed_init(&bed, 9);
	for (unsigned i = 0; i < 20; i++)
		store(&bed, writer);
	while (!bed.block_count)
		change(&bed);
	sweep = *model_step(bed.model);
	sweep.routes = &bed.routes;
	sweep.route_blocks = bed.blocks;
	sweep.route_block_count = bed.block_count;
	sweep.events = &broken; /* kind is NOT NULL */
	sweep.event_count = 1;
	assert_true(writer_sink(writer)->store(writer, &sweep, &err) < 0);
	reader = check_open_reader(path);
	assert_int_equal(reader_routes(reader, 0, &routes, NULL), 0);
	assert_true(routes_same(&routes, &bed.was[19]));
	assert_false(routes_same(&routes, &bed.routes));
	routes_done(&routes);
	reader_close(reader);
	writer_close(writer);
	bed_done(&bed);
}

TEST_IN_FOLDER(a_damaged_row_counts_as_an_unread_block)
{
	struct writer *writer = check_open_writer(path);
	struct routes routes;
	struct reader *reader;
	uint64_t guid;
	uint8_t ports[ROUTES_BLOCK] = { 1, 2, 3 };
	struct bed bed;

	bed_init(&bed, 3);
	guid = bed.model->nodes[0].node.guid;
	routes_set_block(&bed.routes, guid, 0, ports, NULL, NULL);
	routes_set_block(&bed.routes, guid, 1, ports, NULL, NULL);
	note(&bed, guid, 0);
	note(&bed, guid, 1);
	bed.random = 1;
	store(&bed, writer);
	writer_close(writer);
	check_change(path, "UPDATE route_version SET ports = x'0102' WHERE block = 0;"
		     "INSERT INTO route_version SELECT from_sweep, node, -5, NULL, zeroblob(64) FROM route_version"
		     " LIMIT 1;"
		     "INSERT INTO route_version SELECT from_sweep, node, 99999, NULL, zeroblob(64) FROM route_version"
		     " LIMIT 1");
	reader = check_open_reader(path);
	assert_int_equal(reader_routes(reader, 0, &routes, NULL), 0);
	assert_false(routes_is_read(routes_find(&routes, guid), 0));
	assert_true(routes_is_read(routes_find(&routes, guid), 64));
	assert_int_equal(routes_out_port(routes_find(&routes, guid), 66),
			 routes_out_port(routes_find(&bed.routes, guid), 66));
	routes_done(&routes);
	reader_close(reader);
	bed_done(&bed);
}
