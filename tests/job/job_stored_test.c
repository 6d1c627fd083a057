/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reports of jobs of whose time not everything is stored, or whose clock was stepped. */
#include <inttypes.h>
#include <math.h>

#include <jansson.h>
#include <sqlite3.h>

#include "base/unit_test.h"
#include "cli/test_commands.h"
#include "storage/test/test_folder.h"
#include "tests/job/play.h"

TEST_IN_FOLDER(without_a_collector_snapshots_have_bytes_but_no_rates)
{
	json_t *report;

	play_settings.no_history = true;
	play_with(FABRIC TRAIN "at 6m width \"node0002 mlx5_2/1\" 1x\n", (struct planned[]){
		{ .id = "1", .begin = BEGIN, .end = END, .snapshots = true } }, 1);
	report = report_of("1");
	assert_exact(report);
	assert_verdict(report, "link-failed", "node0002 mlx5_2/1: 4x HDR -> 1x HDR during the job");
	assert_true(json_is_null(json_object_get(json_object_get(report, "job"), "peak_xmit_bytes_per_s")));
	assert_int_equal(json_array_size(json_object_get(report, "series")), 0);
	assert_shows("job|report|1", "no sweep of a collector is stored of this time");
	keep_page("1");
	json_decref(report);
}

TEST_IN_FOLDER(without_sweeps_and_snapshots_the_verdict_is_unknown)
{
	json_t *report;

	play_settings.no_history = true;
	play_with(FABRIC TRAIN, (struct planned[]){
		{ .id = "1", .begin = BEGIN, .end = END, .snapshots = true, .end_lost = true } }, 1);
	report = report_of("1");
	assert_verdict(report, "unknown", "nothing is known of its traffic");
	assert_true(json_is_null(json_object_get(json_object_get(report, "job"), "xmit_bytes")));
	json_decref(report);
	assert_shows("job|report|1", "nothing is known");
	keep_page("1");
}

TEST_IN_FOLDER(a_lost_end_snapshot_is_replaced_by_the_history)
{
	json_t *report;

	play_with(FABRIC TRAIN, (struct planned[]){
		{ .id = "1", .begin = BEGIN, .end = END, .snapshots = true, .end_lost = true } }, 1);
	report = report_of("1");
	assert_verdict(report, "clean", "8 hosts");
	assert_true(is_text(json_object_get(report, "job"), "source", "history"));
	json_decref(report);
}

/* The bytes of the history are those of sweeps BEGIN + 1 to END. */
TEST_IN_FOLDER(a_gap_of_the_collector_loses_no_bytes)
{
	const json_t *row;
	json_t *report;
	double rate = 0.5 * 200e9 / 8 * 480;

	play_settings.fails_from = 30;
	play_settings.fails_until = 40;
	play_with(FABRIC TRAIN, (struct planned[]){ { .id = "1", .begin = BEGIN, .end = END } }, 1);
	report = report_of("1");
	assert_verdict(report, "clean", "8 hosts");
	row = row_of(report, "ports", "host", "node0005");
	assert_true(fabs(number_of(row, "xmit_bytes") / rate - 1) < 0.01);
	assert_true(fabs(number_of(row, "peak_xmit_bytes_per_s") / (rate / 480) - 1) < 0.01);
	json_decref(report);
}

/* The only sweep of the job is three intervals long, and its traffic stopped before. */
TEST_IN_FOLDER(a_peak_is_not_below_the_mean)
{
	const json_t *row;
	json_t *report;

	play_settings.fails_from = BEGIN + 1;
	play_settings.fails_until = BEGIN + 3;
	play_with(FABRIC TRAIN "at 135s stop main\n", (struct planned[]){
		{ .id = "1", .begin = BEGIN, .end = BEGIN + 2, .snapshots = true } }, 1);
	report = report_of("1");
	row = json_object_get(report, "job");
	assert_true(is_text(row, "source", "snapshots"));
	assert_true(number_of(row, "mean_xmit_bytes_per_s") > 1e9);
	assert_true(number_of(row, "peak_xmit_bytes_per_s") >= number_of(row, "mean_xmit_bytes_per_s"));
	json_decref(report);
}

/* As after retention: the first window of 60 sweeps is removed, packed or not. */
static void expire(void)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "DELETE FROM hot WHERE rowid < 61 * 65536; DELETE FROM sweep WHERE id <= 60;"
				      " DELETE FROM chunk_window WHERE to_sweep <= 61", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

TEST_IN_FOLDER(sweeps_removed_by_retention_are_reported)
{
	json_t *report;

	play_with(FABRIC TRAIN "length 22m\n", (struct planned[]){
		{ .id = "1", .begin = 30, .end = 110 }, { .id = "2", .begin = 6, .end = 40 } }, 2);
	expire();
	report = report_of("1");
	assert_verdict(report, "clean", "8 hosts");
	assert_true(json_is_true(json_object_get(json_object_get(report, "job"), "at_least")));
	json_decref(report);
	assert_shows("job|report|1", "the history before ");
	report = report_of("2");
	assert_verdict(report, "unknown", "nothing is known of its traffic");
	json_decref(report);
}

TEST_IN_FOLDER(a_collector_that_started_late_is_reported)
{
	json_t *report;

	play_settings.fails_from = 1;
	play_settings.fails_until = 30;
	play_with(FABRIC TRAIN, (struct planned[]){ { .id = "1", .begin = BEGIN, .end = END } }, 1);
	report = report_of("1");
	assert_verdict(report, "clean", "8 hosts");
	json_decref(report);
	assert_shows("job|report|1", "no collector ran at the begin of the job: the history begins at");
}

TEST_IN_FOLDER(a_step_of_the_wall_clock_changes_no_duration)
{
	static const int64_t steps_us[] = { 3600 * INT64_C(1000000), -3600 * INT64_C(1000000) };

	for (size_t i = 0; i < 2; i++) {
		json_t *report;

		test_folder_renew();
		play_with(FABRIC TRAIN, (struct planned[]){
			{ .id = "1", .begin = BEGIN, .end = END, .snapshots = true, .step_us = steps_us[i] } }, 1);
		report = report_of("1");
		assert_verdict(report, "clean", "mean 100.0 Gb/s");
		assert_int_equal(integer_of(json_object_get(report, "job"), "duration_us"), 480 * INT64_C(1000000));
		assert_int_equal(integer_of(json_object_get(report, "job"), "clock_step_us"), steps_us[i]);
		assert_exact(report);
		json_decref(report);
		assert_shows("job|report|1", i ? "the wall clock was set back by 1h00m" :
			     "the wall clock was set forward by 1h00m");
	}
}

TEST_IN_FOLDER(a_restart_of_the_host_is_reported)
{
	json_t *report;

	play_settings.reboots = true;
	play_with(FABRIC TRAIN, (struct planned[]){
		{ .id = "1", .begin = BEGIN, .end = END, .snapshots = true } }, 1);
	report = report_of("1");
	assert_verdict(report, "clean", "8 hosts");
	json_decref(report);
	assert_shows("job|report|1", "this host was restarted during the job");
}
