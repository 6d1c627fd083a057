/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Jobs that the collector finds in the traffic: rows, reports, restart, and jobs that are begun on their hosts. */
#include <math.h>
#include <string.h>

#include <jansson.h>

#include "base/unit_test.h"
#include "cli/test_commands.h"
#include "storage/test/test_check.h"
#include "storage/test/test_folder.h"
#include "tests/job/play.h"

/* Two jobs that iterate, and hosts that are idle: 4, 2 and 2 of 8. */
#define LENGTH "shape rail units=2 hosts=4 rails=8 spines=4\nlength 20m\n"
#define ONE "job one alltoall hosts=node0001-node0004 fan=3 load=0.5 phase=34s/21s noise=0.1 starts=later\n"
#define TWO "job two alltoall hosts=node0005-node0006 fan=1 load=0.3 phase=27s/46s noise=0.1 starts=later\n"
#define RUN_BOTH "at 100s start one\nat 140s start two\n"

static json_t *rows(void)
{
	return run_json("job|list");
}

static const json_t *row_with(const json_t *list, const char *hosts)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		if (is_text(json_array_get(list, i), "hosts", hosts))
			return json_array_get(list, i);
	fail_msg("no job has the hosts %s", hosts);
	return NULL;
}

TEST_IN_FOLDER(jobs_are_found_with_their_hosts_and_ends)
{
	json_t *list, *report;
	const json_t *row;
	const char *id;

	play_settings.detects = true;
	play_with(LENGTH ONE TWO RUN_BOTH "at 720s stop one\n", NULL, 0);
	list = rows();
	assert_int_equal(json_array_size(list), 2);
	row = row_with(list, "node[0001-0004]");
	id = json_string_value(json_object_get(row, "id"));
	assert_int_equal(strncmp(id, "seen-node0001-20", 16), 0);
	assert_true(is_text(row, "ending", "ended"));
	assert_true(number_of(row, "confidence_percent") > 60);
	/* 620 s, as sweeps of 10 s show it. */
	assert_true(fabs(number_of(row, "duration_us") / 1e6 - 620) <= 60);
	row = row_with(list, "node[0005-0006]");
	assert_true(is_text(row, "ending", "running"));
	report = report_of(id);
	assert_true(is_text(json_object_get(report, "job"), "source", "history"));
	/* What four hosts with eight HCAs send at half of 200 Gb/s, in 34 of 55 s, of up to 10 % less. */
	assert_true(fabs(number_of(json_object_get(report, "job"), "xmit_bytes") /
			 (0.5 * 25e9 * 32 * 620 * 34 / 55 * 0.95) - 1) < 0.15);
	json_decref(report);
	json_decref(list);
	assert_shows("job|list", "CONFIDENCE%");
}

TEST_IN_FOLDER(nothing_is_found_unless_it_is_switched_on)
{
	json_t *list;

	play_with(LENGTH ONE TWO RUN_BOTH, NULL, 0);
	list = rows();
	assert_int_equal(json_array_size(list), 0);
	json_decref(list);
}

TEST_IN_FOLDER(after_a_restart_a_job_goes_on)
{
	json_t *list;

	play_settings.detects = true;
	play_with(LENGTH ONE TWO RUN_BOTH "restart 10m\n", NULL, 0);
	list = rows();
	assert_int_equal(json_array_size(list), 2);
	assert_true(is_text(row_with(list, "node[0001-0004]"), "ending", "running"));
	assert_true(is_text(row_with(list, "node[0005-0006]"), "ending", "running"));
	json_decref(list);
}

/* A job that is begun on hosts of one that was found replaces it; nothing is found on its hosts. */
TEST_IN_FOLDER(a_job_that_is_begun_wins)
{
	const json_t *row;
	json_t *list;

	play_settings.detects = true;
	play_with(LENGTH ONE TWO RUN_BOTH, (struct planned[]){
		{ .id = "4711", .begin = 70, .hosts = "node[0001-0004]" } }, 1);
	list = rows();
	assert_int_equal(json_array_size(list), 3);
	for (size_t i = 0; i < 3; i++) {
		row = json_array_get(list, i);
		if (!strncmp(json_string_value(json_object_get(row, "id")), "seen-node0001", 13)) {
			assert_true(is_text(row, "ending", "replaced"));
			assert_true(is_text(row, "ended_by", "4711"));
		} else {
			assert_true(is_text(row, "ending", "running"));
		}
	}
	json_decref(list);
}

TEST_IN_FOLDER(nothing_is_found_on_hosts_of_a_begun_job)
{
	json_t *list;

	play_settings.detects = true;
	play_with(LENGTH ONE TWO RUN_BOTH, (struct planned[]){
		{ .id = "4711", .begin = 5, .hosts = "node[0001-0004]" } }, 1);
	list = rows();
	assert_int_equal(json_array_size(list), 2);
	assert_true(isnan(number_of(row_with(list, "node[0001-0004]"), "confidence_percent")));
	row_with(list, "node[0005-0006]");
	json_decref(list);
}
