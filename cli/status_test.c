/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* status and health for the newest sweep: counts, unresponsive ports, finding kinds. */
#define UNIT_TEST_SETUP make_database
#define UNIT_TEST_TEARDOWN remove_database

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "analysis/finding.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/unit_test.h"
#include "base/when.h"
#include "cli/test_commands.h"
#include "fabric/fabric.h"
#include "storage/reader.h"
#include "storage/test/test_check.h"
#include "storage/test/test_model.h"

static void set_answered(int64_t answered, int64_t polled)
{
	char sql[160];

	snprintf(sql, sizeof(sql), "UPDATE sweep SET ports_answered = %" PRId64 ", ports_polled = %" PRId64
		 " WHERE id = (SELECT max(id) FROM sweep)", answered, polled);
	check_change(db_path, sql);
}

/* No finding is open; three ports were not read in a sweep. */
TEST(health_mentions_unresponsive_ports_without_findings)
{
	const struct sweep *sweep = &model->sweep;
	char line[128], time[WHEN_SIZE];

	snprintf(line, sizeof(line), "health|--at|%s", when_format_utc(model->sweeps[SWEEPS - 1].wall_us, time));
	set_answered(6, 9);
	assert_shows(line, "no open findings, but 3 ports were not read;");
	set_answered(9, 9);
	assert_shows(line, "no open findings;");
	set_answered(sweep->ports_answered, sweep->ports_polled);
}

static void set_label(int64_t wall_us)
{
	char sql[128];

	snprintf(sql, sizeof(sql), "UPDATE sweep SET wall_us = %" PRId64
		 " WHERE id = (SELECT max(id) FROM sweep)", wall_us);
	check_change(db_path, sql);
}

/* A clock was set back: the newest sweep is labelled three hours in the future. */
TEST(a_sweep_in_the_future_has_no_age)
{
	json_t *rows;

	set_label(clock_wall_us(clock_system()) + 3 * 3600 * US_PER_S + 30 * US_PER_S);
	assert_shows("status", "data is labelled 3h00m in the future; check the clock of this host");
	assert_refused(
		{ "health", ERR_UNAVAILABLE, "the newest sweep is labelled 3h00m in the future; check the clock" });
	rows = run_json("status");
	assert_true(json_is_null(json_object_get(rows, "age_s")));
	json_decref(rows);
	rows = run_json("ports|--all");
	assert_true(json_array_size(rows) > 0);
	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *age = json_object_get(json_array_get(rows, i), "age_s");

		assert_true(json_is_null(age) || json_number_value(age) >= 0);
	}
	json_decref(rows);
	set_label(model->sweep.wall_us);
}

/* JSON and CSV have one row per kind with all keys; a table has one line per property. */
TEST(health_explains_kinds_in_every_format)
{
	json_t *all = run_json("health|--explain|all");
	char line[128], *output;

	assert_int_equal(json_array_size(all), FINDING_KIND_COUNT);
	for (int kind = 0; kind < FINDING_KIND_COUNT; kind++) {
		const struct finding_kind_info *info = finding_kind_info((enum finding_kind)kind);
		const json_t *row = json_array_get(all, (size_t)kind);
		json_t *one;

		assert_text(row, "kind", info->name);
		assert_text(row, "means", info->means);
		assert_text(row, "limits", info->limits);
		assert_text(row, "reason", info->reason);
		assert_text(row, "advice", info->advice);
		snprintf(line, sizeof(line), "health|--explain|%s", info->name);
		one = run_json(line);
		assert_int_equal(json_array_size(one), 1);
		assert_true(json_equal(json_array_get(one, 0), row));
		json_decref(one);
		output = run_text(line);
		assert_ptr_equal(strstr(output, info->name), output);
		assert_non_null(strstr(output, "default:"));
		free(output);
	}
	json_decref(all);
	output = run_text("health|--explain|all|--format|csv");
	assert_ptr_equal(strstr(output, "kind,means,limits,reason,advice"), output);
	free(output);
}

TEST(status_matches_the_newest_sweep)
{
	const struct sweep *sweep = &model->sweep;
	json_t *status = run_json("status");

	assert_true(json_is_object(status));
	assert_text(status, "state", "stopped");
	assert_true(json_is_false(json_object_get(status, "live")));
	assert_true(json_is_null(json_object_get(status, "collector_pid")));
	assert_int_equal(integer_of(status, "sweeps"), SWEEPS);
	assert_int_equal(integer_of(status, "ports_polled"), sweep->ports_polled);
	assert_int_equal(integer_of(status, "ports_answered"), sweep->ports_answered);
	assert_true(unsigned_of(json_object_get(status, "mads_sent")) == sweep->mads_sent);
	assert_int_equal(integer_of(status, "nodes"), sweep->fabric->node_count);
	assert_int_equal(integer_of(status, "ports_unfinished"), sweep->ports_unfinished);
	assert_int_equal(integer_of(status, "spread_us"), sweep->spread_us);
	assert_int_equal(integer_of(status, "node_spread_us"), sweep->node_spread_us);
	/* A stopped collector has no rate. */
	assert_true(json_is_null(json_object_get(status, "throttled")));
	assert_true(json_is_null(json_object_get(status, "throttled_time")));
	json_decref(status);
}

TEST(status_counts_ports_by_status)
{
	json_t *status = run_json("status"), *rows = run_json("ports");
	int64_t unplanned = 0, mirrored = 0, unsupported = 0;
	char words[160], *output = run_text("status");

	for (size_t i = 0; i < json_array_size(rows); i++) {
		const char *word = json_string_value(json_object_get(json_array_get(rows, i), "status"));

		unplanned += !strcmp(word, "unplanned");
		mirrored += !strcmp(word, "mirrored");
		unsupported += !strcmp(word, "unsupported");
	}
	assert_true(mirrored > 0 && unplanned + unsupported > 0);
	assert_int_equal(integer_of(status, "ports_unplanned"), unplanned);
	assert_int_equal(integer_of(status, "ports_mirrored"), mirrored);
	assert_int_equal(integer_of(status, "ports_unsupported"), unsupported);
	/* The table has each of them that is not 0. */
	snprintf(words, sizeof(words), "%" PRId64 " mirrored by", mirrored);
	assert_non_null(strstr(output, words));
	snprintf(words, sizeof(words), "%" PRId64 " excluded by", unplanned);
	assert_int_equal(strstr(output, words) != NULL, unplanned > 0);
	snprintf(words, sizeof(words), "%" PRId64 " without counters", unsupported);
	assert_int_equal(strstr(output, words) != NULL, unsupported > 0);
	free(output);
	json_decref(status);
	json_decref(rows);
}

/* A table shows optional lines only if set. */
TEST(optional_status_lines_are_shown_only_if_set)
{
	char *output = run_text("status");

	assert_null(strstr(output, "throttled"));
	assert_int_equal(strstr(output, "not reached in time") != NULL, model->sweep.ports_unfinished > 0);
	assert_int_equal(strstr(output, "readings within") != NULL, model->sweep.spread_us > 0);
	assert_non_null(strstr(output, "not read"));
	free(output);
}

TEST(status_names_the_process_that_locks_the_database)
{
	char words[160], sql[160], *output;
	struct reader *collector;
	struct db_status status;
	struct db_lock lock;
	json_t *row;
	pid_t child;

	snprintf(sql, sizeof(sql), "UPDATE sweep SET wall_us = wall_us - (SELECT max(wall_us) FROM sweep)"
		 " + (strftime('%%s', 'now') - 3600) * 1000000");
	check_change(db_path, sql);
	/* An open connection keeps the index of the WAL, as that of a collector does. */
	assert_int_equal(reader_open(db_path, &collector, NULL), 0);
	assert_int_equal(reader_status(collector, &status, NULL), 0);
	assert_int_equal(lock_take(db_path, &lock, NULL), 0);
	output = run_text("status");
	assert_non_null(strstr(output, "stalled: the collector is running"));
	assert_null(strstr(output, "locks the database"));
	free(output);
	snprintf(words, sizeof(words), "%s-shm", db_path);
	/* The byte that a writer of the WAL locks. */
	child = check_lock_in_child(words, 120);
	snprintf(words, sizeof(words), "; process %lld locks the database (its -shm file)", (long long)child);
	assert_shows("status", words);
	row = run_json("status");
	assert_true(json_is_true(json_object_get(row, "store_blocked")));
	assert_int_equal(integer_of(row, "blocker_pid"), child);
	json_decref(row);
	check_end_child(child);
	lock_release(&lock);
	reader_close(collector);
}

TEST(status_says_that_the_collector_waits_for_its_device)
{
	static const char insert[] = "INSERT INTO event (sweep, wall_us, kind, severity, text) SELECT max(id), "
		"1795183200000000, 'device-removed', 1, 'mlx5_0 port 1 of this host was removed' FROM sweep";
	struct db_lock lock;
	json_t *row;

	check_change(db_path, insert);
	assert_shows("status", "stopped: no collector is running");
	assert_int_equal(lock_take(db_path, &lock, NULL), 0);
	assert_shows("status", ": mlx5_0 port 1 of this host was removed; the newest sweep is ");
	row = run_json("status");
	assert_text(row, "state", "waiting");
	assert_true(json_is_true(json_object_get(row, "live")));
	assert_non_null(strstr(json_string_value(json_object_get(row, "waiting_time")), "2026-11-20"));
	json_decref(row);
	lock_release(&lock);
	check_change(db_path, "DELETE FROM event WHERE kind = 'device-removed'");
}

/* Names of the model are hostile. Times of commands end in the past, because its sweeps do. */
TEST(the_page_has_the_words_of_the_commands_and_stays_small)
{
	char *page = run_text("status|--html|-"), *linked = run_text("status|--html|-|--links");

	assert_non_null(strstr(page, "stopped: no collector is running"));
	assert_non_null(strstr(page, "newest sweep"));
	assert_non_null(strstr(page, "</html>\n"));
	assert_null(strstr(page, "<script"));
	assert_null(strstr(page, "<a href"));
	assert_non_null(strstr(linked, "href=\"api/health\""));
	assert_true(strlen(linked) < 100000);
	free(page);
	free(linked);
}

TEST(links_without_a_page_are_a_usage_error)
{
	assert_refused(
		{ "status|--links", ERR_USAGE, "--links requires --html" },
		{ "status|--html|/nonexistent/page.html", ERR_IO, "cannot write /nonexistent/page.html" });
}

/* Findings with the longest possible text. */
TEST(hundreds_of_findings_fit_on_the_page)
{
	const char *const numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)";
	char sql[1200], *page;

	snprintf(sql, sizeof(sql), "INSERT INTO finding (id, kind, node_guid, port, peer_port, tag, since_us, "
		 "opened_us, opened_sweep, last_seen_us) %s SELECT 100000 + i, 'symbol-errors', i, 1, 0, 0, %" PRId64
		 ", %" PRId64 ", 1, %" PRId64 " FROM n", numbers, model->sweep.wall_us,
		 model->sweep.wall_us, model->sweep.wall_us);
	check_change(db_path, sql);
	snprintf(sql, sizeof(sql), "INSERT INTO finding_state (finding, from_sweep, wall_us, severity, subject, cause, "
		 "text, advice, evidence, hosts, affected_hosts, ports) %s SELECT 100000 + i, 1, %" PRId64 ", 2, "
		 "printf('%%0150d', i), 'cable', printf('%%0310d', i), printf('%%0250d', i), '{}', '[]', 0, '[]' "
		 "FROM n", numbers, model->sweep.wall_us);
	check_change(db_path, sql);
	page = run_text("status|--html|-|--links");
	assert_non_null(strstr(page, " more: ibwire health</p>"));
	assert_true(strlen(page) < 100000);
	free(page);
}
