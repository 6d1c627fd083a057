/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* reader_test.c - events, status, SQL, and reading beside a writer */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/unit_test.h"
#include "storage/reader.h"
#include "storage/test/test_check.h"
#include "storage/test/test_folder.h"
#include "storage/test/test_model.h"
#include "storage/writer.h"

/* The size of an SQL result, and its first cell. */
struct answer {
	int columns, rows, stop_after;
	struct cell first;
	char text[512];
};

static bool take_header(void *ctx, const char *const *names, int count)
{
	struct answer *answer = ctx;

	assert_non_null(names[0]);
	answer->columns = count;
	return true;
}

static bool take_row(void *ctx, const struct cell *cells, int count)
{
	struct answer *answer = ctx;

	assert_int_equal(count, answer->columns);
	if (!answer->rows++) {
		answer->first = cells[0];
		if (cells[0].type == CELL_TEXT)
			snprintf(answer->text, sizeof(answer->text), "%s", cells[0].bytes);
	}
	return !answer->stop_after || answer->rows < answer->stop_after;
}

static int run_sql(struct reader *reader, const char *sql, struct answer *answer, struct error *err)
{
	struct sql_consumer consumer = { .header = take_header, .row = take_row, .ctx = answer };

	return reader_sql(reader, sql, 0, &consumer, err);
}

static int64_t sql_integer(struct reader *reader, const char *sql)
{
	struct answer answer = { 0 };
	struct error err = { 0 };

	if (run_sql(reader, sql, &answer, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(answer.rows, 1);
	assert_int_equal(answer.first.type, CELL_INTEGER);
	return answer.first.integer;
}

TEST_IN_FOLDER(sql_can_only_read)
{
	static const char *const refused[] = {
		"", "   ", "-- nothing", ";", "DELETE FROM sweep", "INSERT INTO meta VALUES ('a', 1)",
		"DROP TABLE delta", "CREATE TABLE x (a)", "CREATE TEMP TABLE x (a)", "ATTACH '/tmp/x' AS y",
		"DETACH main", "VACUUM", "BEGIN",
		"COMMIT", "ROLLBACK", "SAVEPOINT a", "PRAGMA journal_mode = DELETE", "PRAGMA user_version = 7",
		"PRAGMA wal_checkpoint", "PRAGMA writable_schema = 1", "REINDEX", "ANALYZE", "SELECT 1; SELECT 2",
		"SELECT 1; garbage", "SELECT", "SELEC 1", "SELECT * FROM nothing", "SELECT load_extension('x')",
		"SELECT fts3_tokenizer('simple')", "SELECT fts3_tokenizer('simple', x'00')", "SELECT * FROM planted",
		"SELECT * FROM pragma_journal_mode('delete')", "PRAGMA trusted_schema = 1",
		"UPDATE port SET number = 1 RETURNING id", "WITH x AS (SELECT 1) DELETE FROM event",
		"VACUUM INTO '/tmp/ibwire-must-not-be'",
	};
	struct model *model = model_create(5, 2, 8, 6);
	struct writer *writer = check_open_writer(path);
	struct reader *reader = check_open_reader(path);
	struct answer answer = { 0 };
	struct error err = { 0 };

	check_store(writer, model_step(model));
	/* A view in the file may only use functions and tables that are marked as harmless. */
	check_change(path, "CREATE VIEW planted AS SELECT * FROM sqlite_stmt");
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		memset(&err, 0, sizeof(err));
		if (run_sql(reader, refused[i], &answer, &err) != ERR_USAGE)
			fail_msg("not refused: %s", refused[i]);
		assert_int_equal(answer.rows, 0);
		assert_true(err.text[0]);
		assert_null(strchr(err.text, '\n'));
	}
	assert_int_not_equal(access("/tmp/ibwire-must-not-be", F_OK), 0);
	assert_int_equal(sql_integer(reader, "SELECT 1 ; -- and a comment \n /* two */ ;"), 1);
	assert_int_equal(sql_integer(reader, "SELECT count(*) FROM sweep"), 1);
	assert_int_equal(run_sql(reader, "EXPLAIN QUERY PLAN SELECT * FROM traffic", &answer, &err), 0);
	assert_int_equal(run_sql(reader, "PRAGMA table_info(delta)", &answer, &err), 0);
	answer = (struct answer){ .stop_after = 3 };
	assert_int_equal(run_sql(reader,
			     "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n",
			     &answer, &err), 0);
	assert_int_equal(answer.rows, 3);
	answer = (struct answer){ 0 };
	assert_int_equal(run_sql(reader, "SELECT 1 WHERE 0", &answer, &err), 0);
	assert_int_equal(answer.columns, 1);
	assert_int_equal(answer.rows, 0);
	reader_close(reader);
	writer_close(writer);
	model_destroy(model);
}

TEST_IN_FOLDER(every_view_can_be_read)
{
	static const char *const views[] = { "traffic", "errors", "gaps", "nodes", "ports", "events", "sweeps",
					     "details" };
	struct model *model = model_create(8, 2, 6, 4);
	struct writer *writer = check_open_writer(path);
	struct reader *reader = check_open_reader(path);
	struct error err = { 0 };
	char sql[256];

	check_store_steps(writer, model, 120);
	for (size_t i = 0; i < sizeof(views) / sizeof(*views); i++) {
		struct answer answer = { 0 };

		snprintf(sql, sizeof(sql), "SELECT * FROM %s", views[i]);
		if (run_sql(reader, sql, &answer, &err) < 0)
			fail_msg("%s: %s", views[i], err.text);
		assert_true(answer.rows > 0);
	}
	/* Each row of a table is in its view once. */
	assert_int_equal(sql_integer(reader, "SELECT (SELECT count(*) FROM traffic) - (SELECT count(*) FROM delta)"),
			 0);
	snprintf(sql, sizeof(sql), "SELECT (SELECT count(*) FROM errors) - (SELECT count(*) FROM error WHERE"
		 " counter >= %d)", COUNTER_TRAFFIC_COUNT);
	assert_int_equal(sql_integer(reader, sql), 0);
	assert_true(sql_integer(reader, "SELECT count(*) FROM error WHERE counter = 5") > 0);
	assert_int_equal(sql_integer(reader, "SELECT (SELECT count(*) FROM gaps) - (SELECT count(*) FROM span)"), 0);
	assert_int_equal(sql_integer(reader, "SELECT (SELECT count(DISTINCT sweep || node_guid || '/' || port ||"
				     " attribute) FROM details) - (SELECT count(*) FROM detail)"), 0);
	assert_int_equal(sql_integer(reader, "SELECT (SELECT count(*) FROM details WHERE reading OR value OR reset) -"
				     " (SELECT count(*) FROM detail_value)"), 0);
	assert_int_equal(sql_integer(reader, "SELECT count(*) FROM details WHERE time IS NULL OR node IS NULL OR"
				     " attribute IS NULL OR reading IS NULL"), 0);
	assert_int_equal(sql_integer(reader, "SELECT count(*) FROM traffic WHERE time IS NULL OR node IS NULL"), 0);
	/* Values above 2^63 - 1 are not shown as negative numbers. */
	assert_true(sql_integer(reader, "SELECT count(*) FROM delta WHERE xmit_data < 0 OR rcv_packets < 0") > 0);
	assert_int_equal(sql_integer(reader, "SELECT count(*) FROM traffic WHERE xmit_bytes < 0 OR rcv_bytes < 0 OR"
				     " xmit_packets < 0 OR rcv_packets < 0 OR xmit_wait_ticks < 0"), 0);
	assert_int_equal(sql_integer(reader, "SELECT count(*) FROM errors WHERE value < 0"), 0);
	/* A port has one id; its gaps do not overlap. */
	assert_int_equal(sql_integer(reader, "SELECT count(*) - count(DISTINCT node * 1000 + number) FROM port"), 0);
	assert_int_equal(sql_integer(reader,
				     "SELECT count(*) FROM span a JOIN span b ON a.port = b.port AND a.from_sweep <"
				     " b.from_sweep AND (a.to_sweep IS NULL OR a.to_sweep > b.from_sweep)"), 0);
	assert_int_equal(sql_integer(reader, "SELECT count(*) FROM delta d JOIN span g ON g.port = d.port AND"
				     " g.from_sweep <= d.sweep AND (g.to_sweep IS NULL OR g.to_sweep > d.sweep)"), 0);
	/* "absent" are exactly the ports that are not in the fabric. */
	assert_int_equal(sql_integer(reader, "SELECT count(*) FROM span g WHERE (g.why = 100) = EXISTS (SELECT 1 FROM"
				     " port_version v WHERE v.port = g.port AND v.from_sweep <= g.from_sweep AND"
				     " (v.to_sweep IS NULL OR v.to_sweep > g.from_sweep))"), 0);
	assert_true(sql_integer(reader, "SELECT count(*) FROM gaps WHERE why = 'absent'") > 0);
	assert_true(sql_integer(reader, "SELECT count(*) FROM gaps WHERE why = 'unplanned'") > 0);
	reader_close(reader);
	writer_close(writer);
	model_destroy(model);
}

TEST_IN_FOLDER(the_view_details_has_null_for_unknown_changes)
{
	struct model *model = model_create(12, 2, 6, 4);
	struct writer *writer = check_open_writer(path);
	struct reader *reader = check_open_reader(path);
	int64_t read = 0, known = 0, value = 0;

	for (int i = 0; i < 100; i++) {
		const struct sweep *sweep = model_step(model);

		check_store(writer, sweep);
		for (size_t d = 0; d < sweep->detail_count; d++) {
			const struct detail_delta *delta = sweep->details[d].delta;

			read += __builtin_popcount(sweep->details[d].reading->present);
			for (unsigned n = 0; delta && n < DETAIL_MAX; n++)
				value += delta->known & UINT32_C(1) << n ? delta->value[n] : 0;
			known += delta ? __builtin_popcount(delta->known) : 0;
		}
	}
	assert_true(known < read);
	assert_int_equal(sql_integer(reader, "SELECT count(*) FROM details"), read);
	assert_int_equal(sql_integer(reader, "SELECT count(value) FROM details"), known);
	assert_int_equal(sql_integer(reader, "SELECT sum(value) FROM details"), value);
	assert_int_equal(sql_integer(reader, "SELECT count(*) FROM details d JOIN detail_counter k ON k.key = d.counter"
				     " JOIN code c ON c.kind = 'attribute' AND c.value = k.attribute"
				     " WHERE c.name <> d.attribute OR k.unit <> d.unit"), 0);
	reader_close(reader);
	writer_close(writer);
	model_destroy(model);
}

TEST_IN_FOLDER(invalid_details_are_refused_with_their_sweep)
{
	struct model *model = model_create(12, 1, 4, 2);
	struct writer *writer = check_open_writer(path);
	struct reader *reader = check_open_reader(path);
	struct detail_reading plain = { .attribute = DETAIL_RCV_ERRORS, .present = 1, .value = { 5 } };
	struct detail_sample samples[2] = { { .reading = &plain }, { .reading = &plain } };
	struct sweep sweep = *model_step(model);
	struct error err = { 0 };

	sweep.details = samples;
	sweep.detail_count = 2;
	assert_int_equal(writer_sink(writer)->store(writer, &sweep, &err), ERR_INTERNAL);
	assert_non_null(strstr(err.text, "twice"));
	samples[1] = (struct detail_sample){ .reading = &plain, .port = (uint32_t)sweep.fabric->port_count };
	assert_int_equal(writer_sink(writer)->store(writer, &sweep, &err), ERR_INTERNAL);
	assert_int_equal(sql_integer(reader, "SELECT (SELECT count(*) FROM sweep) + (SELECT count(*) FROM detail)"), 0);
	sweep.detail_count = 1;
	check_store(writer, &sweep);
	assert_int_equal(sql_integer(reader, "SELECT reading FROM details WHERE value IS NULL AND elapsed_us IS NULL"),
			 5);
	reader_close(reader);
	writer_close(writer);
	model_destroy(model);
}

struct events {
	int count;
	int64_t last_id;
	char first_text[256], last_node[NODE_NAME_SIZE];
};

static bool take_event(void *ctx, const struct event_row *row)
{
	struct events *events = ctx;

	assert_true(row->id > events->last_id);
	if (!events->count++)
		snprintf(events->first_text, sizeof(events->first_text), "%s", row->event.text);
	events->last_id = row->id;
	assert_string_equal(row->event.kind, "node-silent");
	assert_int_equal(row->event.severity, EVENT_WARNING);
	assert_int_equal(row->event.port, 1);
	assert_int_equal(row->event.peer_guid, 0);
	assert_null(row->peer);
	assert_non_null(row->node);
	snprintf(events->last_node, sizeof(events->last_node), "%s", row->node);
	return true;
}

static int count_events(struct reader *reader, const struct event_query *query, struct events *ret)
{
	struct error err = { 0 };

	memset(ret, 0, sizeof(*ret));
	if (reader_events(reader, query, take_event, ret, &err) < 0)
		fail_msg("%s", err.text);
	return ret->count;
}

TEST_IN_FOLDER(events_are_in_order_of_age_up_to_the_limit)
{
	struct model *model = model_create(8, 2, 6, 4);
	struct writer *writer = check_open_writer(path);
	struct reader *reader = check_open_reader(path);
	struct event_query query = { 0 };
	struct events all, some;
	int stored = 0;
	char last[256] = "";

	for (int i = 0; i < 60; i++) {
		const struct sweep *sweep = model_step(model);

		check_store(writer, sweep);
		stored += (int)sweep->event_count;
		if (sweep->event_count)
			snprintf(last, sizeof(last), "%s", sweep->events[0].text);
	}
	assert_true(stored > 5);
	assert_int_equal(count_events(reader, &query, &all), stored);
	query.limit = 1;
	assert_int_equal(count_events(reader, &query, &some), 1);
	assert_string_equal(some.first_text, last);
	/* Continued: all but the newest, then nothing. */
	query = (struct event_query){ .before_id = some.last_id };
	assert_int_equal(count_events(reader, &query, &some), stored - 1);
	assert_true(some.last_id < query.before_id);
	query = (struct event_query){ .before_id = 1, .limit = 5 };
	assert_int_equal(count_events(reader, &query, &some), 0);
	query = (struct event_query){ .kind = "no-such-kind" };
	assert_int_equal(count_events(reader, &query, &some), 0);
	query = (struct event_query){ .kind = "node-silent", .node_guid = model->nodes[0].node.guid };
	assert_int_equal(count_events(reader, &query, &some), stored);
	query.node_guid++;
	assert_int_equal(count_events(reader, &query, &some), 0);
	query = (struct event_query){ .since_us = model->sweeps[30].wall_us };
	count_events(reader, &query, &some);
	query = (struct event_query){ .until_us = model->sweeps[30].wall_us - 1 };
	assert_int_equal(some.count + count_events(reader, &query, &some), stored);
	assert_string_equal(all.last_node, model->fabrics[model->fabric_count - 1]->nodes[fabric_find_node(
		model->fabrics[model->fabric_count - 1], model->nodes[0].node.guid)].name);
	reader_close(reader);
	writer_close(writer);
	model_destroy(model);
}

/* An event replaces the last ones of its kind, as many as it has counted. */
TEST_IN_FOLDER(an_event_can_replace_earlier_ones)
{
	struct model *model = model_create(8, 2, 6, 4);
	struct writer *writer = check_open_writer(path);
	struct event events[] = {
		{ .wall_us = 10, .kind = "a", .text = "older" }, { .wall_us = 30, .kind = "a", .text = "another's" },
		{ .wall_us = 30, .kind = "a", .text = "first" }, { .wall_us = 30, .kind = "b", .text = "other kind" },
		{ .wall_us = 31, .kind = "a", .text = "second" },
		{ .wall_us = 32, .kind = "a", .text = "2", .replaces = 2 },
		{ .wall_us = 33, .kind = "a", .text = "3", .replaces = 1 },
		{ .wall_us = 34, .kind = "a", .text = "4", .replaces = 2 },
	};
	struct sweep sweep = *model_step(model);

	sweep.events = events;
	sweep.event_count = 6;
	check_store(writer, &sweep);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM event"), 4);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM event WHERE text IN ('first', 'second')"), 0);
	assert_int_equal(check_integer(path, "SELECT id FROM event WHERE text = '2'"), 6);
	sweep = *model_step(model);
	sweep.events = &events[6];
	sweep.event_count = 2;
	check_store(writer, &sweep);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM event"), 3);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM event WHERE text IN ('older', 'other kind')"), 2);
	assert_int_equal(check_integer(path, "SELECT id FROM event WHERE text = '4'"), 8);
	writer_close(writer);
	model_destroy(model);
}

TEST_IN_FOLDER(a_full_disk_loses_nothing)
{
	struct model *model = model_create(21, 2, 8, 6);
	struct writer *writer = check_open_writer_with(path, 5);
	struct reader *reader = check_open_reader(path);
	struct rlimit before, full;
	struct error err = { 0 };
	int failures = 0;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	model->keep_history = true;
	for (int i = 0; i < 200; i++) {
		const struct sweep *sweep = model_step(model);
		struct db_status status;

		if (i % 7 == 3) {
			/* Space for a part of the transaction, or for nothing. */
			assert_int_equal(reader_status(reader, &status, NULL), 0);
			full = before;
			full.rlim_cur = (rlim_t)status.size_bytes / 2 + (rlim_t)model_random(model, 20000);
			assert_int_equal(setrlimit(RLIMIT_FSIZE, &full), 0);
			for (int again = 0; again < 2; again++) {
				int64_t newest = 0;

				if (writer_sink(writer)->store(writer, sweep, &err) == 0)
					break;
				failures++;
				assert_int_equal(err.code, ERR_IO);
				assert_null(strchr(err.text, '\n'));
				assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
				assert_int_equal(reader_newest(reader, &newest, NULL), 0);
				assert_int_equal(newest, i);
				if (again)
					check_store(writer, sweep);
				else
					setrlimit(RLIMIT_FSIZE, &full);
			}
			assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
		} else {
			check_store(writer, sweep);
		}
	}
	assert_true(failures > 5);
	for (int64_t id = 1; id <= 200; id++)
		check_sweep(reader, model, id);
	check_restore(writer, model);
	reader_close(reader);
	writer_close(writer);
	model_destroy(model);
	check_integrity(path);
}

TEST_IN_FOLDER(capabilities_are_restored_without_a_sweep)
{
	struct restored_caps given[] = {
		{ .node_guid = UINT64_MAX,
		  .caps = { .known = true, .cap_mask = 0xffff, .cap_mask2 = 0x7ffffff, .resp_time = 31,
			    .tick_known = true, .tick = 255, .missing = PMA_MISSING_SAMPLES_CONTROL | 5 } },
		{ .node_guid = 1, .caps = { .known = false } },
	};
	struct writer *writer = check_open_writer(path);
	struct restored restored = { 0 };
	struct error err = { 0 };

	assert_int_equal(writer_sink(writer)->store_caps(writer, given, 2, &err), 0);
	given[1].caps = (struct pma_caps){ .known = true, .cap_mask = 0x1200 };
	assert_int_equal(writer_sink(writer)->store_caps(writer, &given[1], 1, &err), 0);
	writer_close(writer);
	writer = check_open_writer(path);
	assert_int_equal(writer_sink(writer)->restore(writer, &restored, &err), 0);
	assert_null(restored.fabric);
	assert_int_equal(restored.port_count, 0);
	assert_int_equal(restored.caps_count, 2);
	for (int i = 0; i < 2; i++) {
		int at = restored.caps[0].node_guid == given[i].node_guid ? 0 : 1;
		const struct restored_caps *back = &restored.caps[at];

		assert_int_equal(back->node_guid, given[i].node_guid);
		assert_int_equal(back->caps.known, given[i].caps.known);
		assert_int_equal(back->caps.cap_mask, given[i].caps.cap_mask);
		assert_int_equal(back->caps.cap_mask2, given[i].caps.cap_mask2);
		assert_int_equal(back->caps.resp_time, given[i].caps.resp_time);
		assert_int_equal(back->caps.tick_known, given[i].caps.tick_known);
		assert_int_equal(back->caps.tick, given[i].caps.tick);
		assert_int_equal(back->caps.missing, given[i].caps.missing);
	}
	restored_done(&restored);
	writer_close(writer);
}

TEST_IN_FOLDER(a_snapshot_has_the_capabilities_of_each_node)
{
	struct model *model = model_create(3, 3, 8, 6);
	struct writer *writer = check_open_writer(path);
	struct reader *reader;
	struct snapshot *snapshot;
	struct snapshot_query query = { 0 };
	const struct fabric *fabric;
	struct error err = { 0 };

	check_store(writer, model_step(model));
	fabric = model->sweep.fabric;
	/* Every other node was queried, and one that is not in this fabric. */
	for (size_t i = 0; i < fabric->node_count; i += 2) {
		struct restored_caps caps = { fabric->nodes[i].guid, { .known = true, .cap_mask = (uint16_t)(i + 1),
								       .cap_mask2 = 2, .resp_time = 3,
								       .tick_known = i % 4 == 0, .tick = 7 } };

		assert_int_equal(writer_sink(writer)->store_caps(writer, &caps, 1, &err), 0);
	}
	assert_int_equal(writer_sink(writer)->store_caps(writer, &(struct restored_caps){ 12345, { .known = true } }, 1,
							 &err), 0);
	assert_int_equal(reader_open(path, &reader, &err), 0);
	assert_int_equal(snapshot_load(reader, &query, &snapshot, &err), 0);
	for (size_t i = 0; i < fabric->node_count; i++) {
		uint32_t node = fabric_find_node(snapshot->fabric, fabric->nodes[i].guid);
		const struct pma_caps *caps = &snapshot->caps[node];

		assert_int_equal(caps->known, i % 2 == 0);
		assert_int_equal(caps->cap_mask, i % 2 ? 0 : i + 1);
		assert_int_equal(caps->cap_mask2, i % 2 ? 0 : 2);
		assert_int_equal(caps->tick_known, i % 4 == 0);
		assert_int_equal(caps->tick, i % 4 ? 0 : 7);
	}
	snapshot_destroy(snapshot);
	reader_close(reader);
	writer_close(writer);
	model_destroy(model);
}

TEST_IN_FOLDER(a_concurrent_reader_sees_whole_sweeps)
{
	struct model *model = model_create(31, 2, 8, 6);
	int status, seen[2];
	bool reported = false;
	char byte = 0;
	pid_t child;

	model->keep_history = true;
	assert_int_equal(pipe(seen), 0);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		struct writer *writer = NULL;

		close(seen[1]);
		if (writer_open(path, &writer, NULL) < 0)
			_exit(1);
		for (int i = 0; i < 400; i++) {
			/* The reader has seen a sweep before the end. */
			if (i == 200 && read(seen[0], &byte, 1) != 1)
				_exit(3);
			if (writer_sink(writer)->store(writer, model_step(model), NULL) < 0)
				_exit(2);
		}
		writer_close(writer);
		_exit(0);
	}
	for (int looks = 0; waitpid(child, &status, WNOHANG) == 0; looks++) {
		struct reader *reader = NULL;
		struct error err = { 0 };
		int64_t newest = 0;

		if (reader_open(path, &reader, &err) < 0) {
			assert_int_equal(err.code, ERR_UNAVAILABLE); /* not created yet, never incomplete */
			continue;
		}
		if (reader_newest(reader, &newest, &err) < 0)
			fail_msg("%s", err.text);
		while (model->sweep_count < (size_t)newest)
			model_step(model);
		if (newest) {
			check_sweep(reader, model, newest);
			if (!reported)
				assert_int_equal(write(seen[1], &byte, 1), 1);
			reported = true;
		}
		reader_close(reader);
	}
	close(seen[0]);
	close(seen[1]);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_true(model->sweep_count > 0);
	model_destroy(model);
}
