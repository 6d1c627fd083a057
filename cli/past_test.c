/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Commands with --at, and on anonymised exports, over a database with known contents. */
#define UNIT_TEST_SETUP make_database
#define UNIT_TEST_TEARDOWN remove_database

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/unit_test.h"
#include "base/when.h"
#include "cli/test_commands.h"
#include "storage/test/test_folder.h"
#include "storage/test/test_model.h"

/* A command line with the time of sweep @i of the model, from 0, behind --at. */
static char *at_sweep(const char *command, size_t i, char ret[256])
{
	char when[WHEN_SIZE];

	snprintf(ret, 256, "%s|--at|%s", command, when_format_utc(model->sweeps[i].wall_us, when));
	return ret;
}

TEST(past_status_matches_its_sweep)
{
	char line[256], when[WHEN_SIZE];

	for (size_t i = 0; i < SWEEPS; i++) {
		const struct model_sweep *sweep = &model->sweeps[i];
		json_t *status = run_json(at_sweep("status", i, line));

		assert_text(status, "state", "past");
		assert_text(status, "last_time", when_format_utc(sweep->wall_us, when));
		assert_number(status, "age_s", 0);
		assert_int_equal(integer_of(status, "nodes"), sweep->fabric->node_count);
		assert_int_equal(integer_of(status, "links"), fabric_count_links(sweep->fabric));
		assert_int_equal(integer_of(status, "ports_unfinished"), sweep->ports_unfinished);
		assert_int_equal(integer_of(status, "spread_us"), sweep->spread_us);
		assert_true(json_is_null(json_object_get(status, "live")));
		json_decref(status);
	}
}

/* Ports that can have a cable: not port 0 of a switch. */
static int64_t active_ports(const struct fabric *fabric, const struct node *node)
{
	int64_t active = 0;

	for (uint32_t i = node->first_port; i < node->first_port + node->ports; i++)
		active += fabric->ports[i].num > 0 && fabric->ports[i].state == PORT_ACTIVE;
	return active;
}

TEST(past_nodes_and_links_match_their_sweep)
{
	char line[256];

	for (size_t i = 0; i < SWEEPS; i++) {
		const struct fabric *fabric = model->sweeps[i].fabric;
		json_t *nodes = run_json(at_sweep("nodes", i, line));
		json_t *links = run_json(at_sweep("links", i, line));

		assert_int_equal(json_array_size(nodes), fabric->node_count);
		assert_int_equal(json_array_size(links), fabric_count_links(fabric));
		for (size_t n = 0; n < fabric->node_count; n++) {
			const json_t *row = find_row(nodes, fabric->nodes[n].guid, -1);

			assert_non_null(row);
			assert_int_equal(guid_of(row, "system_guid"), fabric->nodes[n].system_guid);
			assert_int_equal(integer_of(row, "ports_active"), active_ports(fabric, &fabric->nodes[n]));
		}
		json_decref(nodes);
		json_decref(links);
	}
}

#define BEFORE(line) { line, ERR_UNAVAILABLE, "the oldest is of" }

TEST(time_before_the_first_sweep_is_one_error_line)
{
	assert_refused(
		BEFORE("status|--at|2001-01-01"), BEFORE("nodes|--at|2001-01-01"), BEFORE("ports|--at|2001-01-01"),
		BEFORE("links|--at|2001-01-01"), BEFORE("ports|--details|--at|2001-01-01"),
		BEFORE("nodes|--until|2001-01-01"), BEFORE("ports|--since|2000-01-01|--until|2001-01-01"),
		BEFORE("links|--since|2000-01-01|--until|2001-01-01"), BEFORE("events|--until|2001-01-01"),
		BEFORE("events|--at|2001-01-01"));
}

/* Copies of the database in the folder of the running test. */
static char named[96], anonymised[96];

static void make_copies(void)
{
	char line[160];

	snprintf(named, sizeof(named), "%s/named.db", folder);
	snprintf(anonymised, sizeof(anonymised), "%s/anonymised.db", folder);
	snprintf(line, sizeof(line), "db|export|%s", named);
	free(run_text(line));
	snprintf(line, sizeof(line), "db|export|%s|--anonymise", anonymised);
	free(run_text(line));
}

static json_t *run_on(const char *database, const char *line)
{
	json_t *output;

	use_database(database);
	output = run_json(line);
	use_database(NULL);
	return output;
}

/* GUIDs by the ids that nodes and ports have in both databases. */
static json_t *map_guids(void)
{
	static const char query[] = "sql|SELECT printf('0x%016x', guid) AS guid FROM (SELECT 0 AS kind, id, guid "
				    "FROM node UNION ALL SELECT 1, port, guid FROM port_version WHERE guid) "
				    "ORDER BY kind, id";
	json_t *map = json_object(), *before = run_on(NULL, query), *after = run_on(anonymised, query);

	assert_int_equal(json_array_size(before), json_array_size(after));
	assert_true(json_array_size(before) > model->node_count);
	for (size_t i = 0; i < json_array_size(before); i++)
		json_object_set(map, json_string_value(json_object_get(json_array_get(before, i), "guid")),
				json_object_get(json_array_get(after, i), "guid"));
	for (size_t i = 0; i < json_array_size(after); i++)
		assert_null(json_object_get(map, json_string_value(json_object_get(json_array_get(after, i), "guid"))));
	json_decref(before);
	json_decref(after);
	return map;
}

/* Identifying values, and values of the file. */
static bool is_naming(const char *key)
{
	static const char *const keys[] = { "node", "peer", "description", "text", "system_guid", "sm_guid", "db",
					    "silent_nodes", "locked_nodes", "other_sms", "size_bytes", "log_bytes",
					    "age_s",
					    /* Values derived from host names. */
					    "host", "class", "rail", "rails", "role" };

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (!strcmp(keys[i], key))
			return true;
	return false;
}

static void assert_same_numbers(const char *line, json_t *map, json_t *before, json_t *after)
{
	const char *key;
	json_t *value;

	assert_int_equal(json_object_size(before), json_object_size(after));
	json_object_foreach(before, key, value) {
		json_t *other = json_object_get(after, key);

		if (is_naming(key))
			continue;
		if (strstr(key, "guid") && json_is_string(value))
			value = json_object_get(map, json_string_value(value));
		for (size_t i = 0; strstr(key, "guid") && i < json_array_size(value); i++)
			json_array_set(value, i, json_object_get(map, json_string_value(json_array_get(value, i))));
		if (!value || !json_equal(value, other))
			fail_msg("%s: %s is %s, and anonymised %s", line, key,
				 value ? json_dumps(value, JSON_ENCODE_ANY) : "-", json_dumps(other, JSON_ENCODE_ANY));
	}
}

/* The row of the same node and port, or link, or event. */
static json_t *counterpart(json_t *map, const json_t *row, json_t *rows)
{
	const char *guid = json_string_value(json_object_get(row, "node_guid"));
	const json_t *id = json_object_get(row, "id"), *wanted = guid ? json_object_get(map, guid) : NULL;

	for (size_t i = 0; i < json_array_size(rows); i++) {
		json_t *other = json_array_get(rows, i);

		if (id ? json_equal(id, json_object_get(other, "id")) :
			 json_equal(wanted, json_object_get(other, "node_guid")) &&
			 (!json_object_get(row, "port") ||
			  json_equal(json_object_get(row, "port"), json_object_get(other, "port"))))
			return other;
	}
	return NULL;
}

static void assert_same_output(const char *line, json_t *map)
{
	json_t *before = run_on(NULL, line), *after = run_on(anonymised, line);

	assert_int_equal(json_array_size(before), json_array_size(after));
	if (json_is_object(before))
		assert_same_numbers(line, map, before, after);
	for (size_t i = 0; i < json_array_size(before); i++) {
		json_t *row = json_array_get(before, i), *other = counterpart(map, row, after);

		if (!other && strncmp(line, "links", 5))
			fail_msg("%s: no row of %s", line, json_dumps(row, 0));
		if (other)
			assert_same_numbers(line, map, row, other);
	}
	json_decref(before);
	json_decref(after);
}

TEST_IN_FOLDER(anonymised_export_has_the_same_numbers)
{
	static const char *const commands[] = { "status", "nodes", "ports", "ports|--counters", "links" };
	char line[256], when[WHEN_SIZE];
	json_t *map;

	make_copies();
	map = map_guids();
	for (size_t i = 0; i < SWEEPS; i++)
		for (size_t c = 0; c < sizeof(commands) / sizeof(commands[0]); c++)
			assert_same_output(at_sweep(commands[c], i, line), map);
	snprintf(line, sizeof(line), "ports|--since|%s|--until|%s", when_format_utc(model->sweeps[0].wall_us, when),
		 when_format_utc(model->sweeps[SWEEPS - 1].wall_us, (char[WHEN_SIZE]){ 0 }));
	assert_same_output(line, map);
	assert_same_output("events", map);
	assert_same_output(at_sweep("ports|--details", SWEEPS - 1, line), map);
	json_decref(map);
}

TEST_IN_FOLDER(backup_gives_the_same_output)
{
	static const char *const lines[] = {
		"nodes", "ports", "links", "events", "sql|SELECT * FROM traffic ORDER BY sweep, node_guid, port",
		"sql|SELECT * FROM errors ORDER BY 1, 2, 4, 5, 6", "sql|SELECT * FROM details ORDER BY 2, 4, 5, 8",
		"sql|SELECT * FROM gaps ORDER BY 7, 4, 5", "sql|SELECT * FROM ports", "sql|SELECT * FROM sweeps",
	};
	char line[256], when[WHEN_SIZE];

	make_copies();
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		json_t *before, *after;

		/* Ages are those of one time. */
		snprintf(line, sizeof(line), strncmp(lines[i], "sql", 3) ? "%s|--at|%s" : "%s", lines[i],
			 when_format_utc(model->sweeps[SWEEPS - 1].wall_us, when));
		before = run_on(NULL, line);
		after = run_on(named, line);
		if (!json_equal(before, after))
			fail_msg("%s: %.500s, and the copy %.500s", line, json_dumps(before, 0), json_dumps(after, 0));
		json_decref(before);
		json_decref(after);
	}
}

TEST(db_shows_contents_and_rejects_invalid_requests)
{
	json_t *info = run_json("db"), *check = run_json("db|check");

	assert_int_equal(integer_of(info, "sweeps"), SWEEPS);
	assert_true(integer_of(info, "raw_rows") > 0);
	assert_true(json_is_false(json_object_get(info, "live")));
	assert_int_equal(json_array_size(check), 0);
	json_decref(info);
	json_decref(check);
	assert_refused(
		{ "db|chekc", ERR_USAGE, "chekc" },
		{ "db|backup", ERR_USAGE, "new file" },
		{ "db|export", ERR_USAGE, "new file" },
		{ "db|check|twice", ERR_USAGE, "twice" },
		{ "db|--since|-1h", ERR_USAGE, "export" },
		{ "db|check|--anonymise", ERR_USAGE, "export" },
		{ "db|backup|/tmp", ERR_IO, "already exists" },
		{ "db|backup|/nonexistent/copy.db", ERR_IO, "/nonexistent/copy.db" },
		{ "db|export|/nonexistent/copy.db", ERR_IO, "/nonexistent/copy.db" },
		{ "db|backup|/proc/copy.db", ERR_IO, "/proc/copy.db" },
		{ "db|export|/tmp/never.db|--until|2001-01-01", ERR_UNAVAILABLE, "nothing is stored" });
}
