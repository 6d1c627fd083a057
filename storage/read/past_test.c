/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* past_test.c - names of nodes over time, and changes of the topology */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "base/err.h"
#include "base/map.h"
#include "base/text.h"
#include "base/unit_test.h"
#include "fabric/name_map.h"
#include "fabric/names.h"
#include "storage/findings.h"
#include "storage/reader.h"
#include "storage/file/tables.h"
#include "storage/test/test_check.h"
#include "storage/test/test_folder.h"
#include "storage/test/test_model.h"
#include "storage/writer.h"

enum { STEPS = 6, NODE = 3 };

/* The description of a node in each sweep, and the name to show. */
static const char *const descriptions[STEPS] = {
	"MT4129 ConnectX7   Mellanox Technologies", "node07 mlx5_0", "localhost mlx5_0", "", "node08 mlx5_0",
	"MT4129 ConnectX7   Mellanox Technologies",
};
static const char *const shown_names[STEPS] = {
	"MT4129 ConnectX7   Mellanox Technologies", "node07 mlx5_0", "node07 mlx5_0 (was)", "node07 mlx5_0 (was)",
	"node08 mlx5_0", "node08 mlx5_0 (was)",
};

static int64_t store_history(struct model *model, int64_t wall_us[STEPS])
{
	struct writer *writer = check_open_writer(path);
	struct event event = { .kind = "node-silent", .node_guid = model->nodes[NODE].node.guid, .text = "is silent" };
	const struct finding finding = { .kind = FINDING_NODE_SILENT, .node_guid = event.node_guid, .cause = "",
					 .advice = "" }, *open = &finding;

	for (int i = 0; i < STEPS; i++) {
		struct sweep sweep = *model_step(model);
		struct fabric *fabric = model->fabrics[0];
		struct node *node = &fabric->nodes[fabric_find_node(fabric, event.node_guid)];

		memset(node->desc, 0, sizeof(node->desc));
		snprintf(node->desc, sizeof(node->desc), "%s", descriptions[i]);
		free(node->name);
		node->name = calloc(1, NODE_NAME_SIZE);
		assert_non_null(node->name);
		if (descriptions[i][0])
			snprintf(node->name, NODE_NAME_SIZE, "%s", descriptions[i]);
		else
			snprintf(node->name, NODE_NAME_SIZE, "0x%016llx", (unsigned long long)node->guid);
		sweep.generation = (uint64_t)i + 1;
		event.wall_us = wall_us[i] = sweep.wall_us;
		sweep.events = &event;
		sweep.event_count = 1;
		sweep.findings = &open;
		sweep.finding_count = 1;
		check_store(writer, &sweep);
	}
	writer_close(writer);
	return (int64_t)event.node_guid;
}

static void assert_name(struct reader *reader, int64_t at_us, uint64_t guid, const struct name_map *names,
			const char *expected)
{
	const struct snapshot_query query = { .at_us = at_us, .names = names };
	struct snapshot *snapshot;
	uint32_t node, found;

	assert_int_equal(snapshot_load(reader, &query, &snapshot, NULL), 0);
	node = fabric_find_node(snapshot->fabric, guid);
	assert_string_equal(snapshot->fabric->nodes[node].name, expected);
	assert_int_equal(names_find_node(snapshot->fabric, expected, &found, NULL), 0);
	assert_int_equal(found, node);
	snapshot_destroy(snapshot);
}

static bool take_name(void *ctx, const struct event_row *row)
{
	int *at = ctx;

	assert_string_equal(row->node, shown_names[*at]);
	(*at)++;
	return true;
}

static bool take_finding(void *ctx, const struct finding_row *row)
{
	assert_string_equal(row->node, ctx);
	return true;
}

TEST_IN_FOLDER(a_generic_name_is_replaced_by_the_last_one)
{
	const struct event_query all = { 0 };
	struct model *model = model_create(5, 2, 8, 6);
	int64_t wall_us[STEPS];
	struct reader *reader;
	uint64_t guid;
	int at = 0;

	model->calm = true;
	guid = (uint64_t)store_history(model, wall_us);
	reader = check_open_reader(path);
	/* Backwards too, since the reader keeps the last topology. */
	for (int i = 0; i < 2 * STEPS; i++) {
		int step = i < STEPS ? i : 2 * STEPS - 1 - i;

		const struct finding_query then = { .at_us = wall_us[step] };

		assert_name(reader, wall_us[step], guid, NULL, shown_names[step]);
		assert_int_equal(reader_findings(reader, &then, take_finding, (void *)shown_names[step], NULL), 0);
	}
	assert_int_equal(reader_events(reader, &all, take_name, &at, NULL), 0);
	assert_int_equal(at, STEPS);
	reader_close(reader);
	model_destroy(model);
}

/* The first column of each row is the name of the node. */
static bool take_cell(void *ctx, const struct cell *cells, int count)
{
	int *at = ctx;

	assert_true(count == 1 && *at < STEPS);
	assert_string_equal(cells[0].bytes, shown_names[*at]);
	(*at)++;
	return true;
}

#define NODE_GUID "(SELECT e.node_guid FROM event e LIMIT 1)"
#define GUID_TEXT "printf('0x%016x', " NODE_GUID ")"

TEST_IN_FOLDER(views_and_tables_show_the_same_name)
{
	static const struct { const char *sql; int first, rows; } questions[] = {
		{ "SELECT node FROM events ORDER BY time", 0, STEPS },
		{ "SELECT v.name FROM node_names v JOIN node n ON n.id = v.node WHERE n.guid = " NODE_GUID
		  " ORDER BY v.from_sweep", 0, STEPS },
		{ "SELECT node FROM nodes WHERE node_guid = " GUID_TEXT, STEPS - 1, 1 },
		{ "SELECT DISTINCT node FROM ports WHERE node_guid = " GUID_TEXT, STEPS - 1, 1 },
		{ "SELECT node FROM sample WHERE node_guid = " GUID_TEXT " AND port = 1 ORDER BY sweep", 1,
		  STEPS - 1 },
		{ "SELECT node FROM traffic WHERE node = 'node07 mlx5_0 (was)' AND port = 1 ORDER BY sweep", 2, 2 },
		{ "SELECT node FROM traffic WHERE node = 'node07 mlx5_0' AND port = 1", 1, 1 },
	};
	struct model *model = model_create(5, 2, 8, 6);
	int64_t wall_us[STEPS];
	struct reader *reader;

	model->calm = true;
	store_history(model, wall_us);
	reader = check_open_reader(path);
	for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++) {
		int at = questions[i].first;
		const struct sql_consumer consumer = { check_any_header, take_cell, &at };
		struct error err = { 0 };

		if (reader_sql(reader, questions[i].sql, 0, &consumer, &err) < 0)
			fail_msg("%s: %s", questions[i].sql, err.text);
		assert_int_equal(at, questions[i].first + questions[i].rows);
	}
	reader_close(reader);
	model_destroy(model);
}

/* Rows of nodes, or of ports and peers, have the names of the fabric. */
static bool take_own_name(void *ctx, const struct cell *cells, int count)
{
	const struct fabric *fabric = ctx;
	uint32_t node = fabric_find_node(fabric, strtoull(cells[0].bytes, NULL, 16)), port, peer;

	assert_int_not_equal(node, FABRIC_NONE);
	assert_string_equal(cells[1].bytes, fabric->nodes[node].name);
	if (count == 2)
		return true;
	port = fabric_node_port(fabric, node, (uint8_t)cells[2].integer);
	assert_int_not_equal(port, FABRIC_NONE);
	peer = fabric->ports[port].peer;
	assert_int_equal(cells[3].type == CELL_NULL, peer == FABRIC_NONE);
	if (peer != FABRIC_NONE)
		assert_string_equal(cells[3].bytes, fabric->nodes[fabric->ports[peer].node].name);
	return true;
}

/* Also if the name of another node is newer, or the ports did not change with the name. */
TEST_IN_FOLDER(views_show_the_name_of_each_node)
{
	struct sql_consumer consumer = { check_any_header, take_own_name, NULL };
	const struct snapshot_query now = { 0 };
	struct model *model = model_create(5, 2, 8, 6);
	int64_t wall_us[STEPS];
	struct snapshot *snapshot;
	struct reader *reader;
	struct error err = { 0 };

	model->calm = true;
	store_history(model, wall_us);
	reader = check_open_reader(path);
	assert_int_equal(snapshot_load(reader, &now, &snapshot, NULL), 0);
	consumer.ctx = snapshot->fabric;
	if (reader_sql(reader, "SELECT node_guid, node FROM nodes", 0, &consumer, &err) < 0 ||
	    reader_sql(reader, "SELECT node_guid, node, port, peer FROM ports", 0, &consumer, &err) < 0)
		fail_msg("%s", err.text);
	snapshot_destroy(snapshot);
	reader_close(reader);
	model_destroy(model);
}

/* SQL and C agree on random descriptions. */
TEST(sql_recognises_generic_names)
{
	static const char *const pieces[] = {
		"localhost", ".localdomain", "(none)", "mlx5_", "mlx_", "mlx", "hfi1_", "HCA-", "0", "17", " ", "x",
		"_", "Mellanox Technologies", "0x0002c903000a1b2c", "a",
	};
	sqlite3 *db;
	sqlite3_stmt *statement;

	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, "SELECT " TABLES_IS_GENERIC("v") " FROM (SELECT ?1 AS name,"
					    " CAST(?2 AS BLOB) AS description) v", -1, &statement, NULL), SQLITE_OK);
	for (uint64_t run = 0; run < 200000; run++) {
		char desc[NODE_DESC_SIZE + 64] = "", name[NODE_NAME_SIZE];
		uint64_t random = map_mix(run);

		for (; random % 4 && strlen(desc) < NODE_DESC_SIZE; random = map_mix(random))
			strcat(desc, pieces[random / 4 % (sizeof(pieces) / sizeof(pieces[0]))]);
		text_sanitise(desc, strlen(desc), name, sizeof(name));
		if (!name[0])
			snprintf(name, sizeof(name), "0x%016x", 7);
		sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
		sqlite3_bind_text(statement, 2, desc, -1, SQLITE_STATIC);
		assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
		if (sqlite3_column_int(statement, 0) != names_is_generic(desc))
			fail_msg("'%s': %d in SQL", desc, sqlite3_column_int(statement, 0));
		sqlite3_reset(statement);
	}
	sqlite3_finalize(statement);
	sqlite3_close(db);
}

TEST_IN_FOLDER(a_name_map_precedes_the_last_name)
{
	struct model *model = model_create(6, 2, 8, 6);
	struct name_map *names;
	struct reader *reader;
	int64_t wall_us[STEPS];
	char map[64];
	uint64_t guid;

	model->calm = true;
	guid = (uint64_t)store_history(model, wall_us);
	snprintf(map, sizeof(map), "0x%016llx \"mapped\"\n", (unsigned long long)guid);
	assert_int_equal(name_map_parse(map, strlen(map), &names, NULL, NULL), 0);
	reader = check_open_reader(path);
	for (int i = 0; i < STEPS; i++)
		assert_name(reader, wall_us[i], guid, names, "mapped");
	reader_close(reader);
	name_map_destroy(names);
	model_destroy(model);
}

TEST_IN_FOLDER(a_sweep_without_topology_has_an_empty_fabric)
{
	const struct snapshot_query now = { 0 };
	struct model *model = model_create(6, 2, 8, 6);
	struct writer *writer = check_open_writer(path);
	struct snapshot *snapshot;
	struct reader *reader;

	check_store(writer, model_step(model));
	writer_close(writer);
	check_change(path, "UPDATE sweep SET topology = 0, from_node = 0, from_port = 0");
	reader = check_open_reader(path);
	assert_int_equal(snapshot_load(reader, &now, &snapshot, NULL), 0);
	assert_int_equal(snapshot->fabric->node_count, 0);
	snapshot_destroy(snapshot);
	reader_close(reader);
	model_destroy(model);
}
