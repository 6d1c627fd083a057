/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The overview on recorded scenarios: what is told of them, where its keys lead, and that who
 * acknowledges a problem sees it at once, and everybody else too.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "storage/findings.h"
#include "storage/reader.h"
#include "storage/test/test_folder.h"
#include "tests/screen/stage.h"

#define MINUTE_US (60 * US_PER_S)

static void begin(struct stage *stage, const char *scenario, int64_t at_us)
{
	stage_record(scenario, path);
	stage_open(stage, path, STAGE_END_US + 3 * US_PER_S, at_us, 30, 120);
}

static void shows(const char *text)
{
	if (stage_shows(text))
		return;
	stage_print();
	fail_msg("there is no \"%s\"", text);
}

static void hides(const char *text)
{
	if (!stage_shows(text))
		return;
	stage_print();
	fail_msg("there is \"%s\"", text);
}

struct told {
	size_t count, acknowledged;
	struct acknowledgement last;
};

static bool count_row(void *ctx, const struct finding_row *row)
{
	struct told *told = ctx;

	if (row->finding.severity < FINDING_WARNING)
		return true;
	told->count++;
	if (row->acknowledged.at_us) {
		told->acknowledged++;
		told->last = row->acknowledged;
	}
	return true;
}

/* What everybody else reads in the database. */
static struct told read_told(const struct stage *stage)
{
	const struct finding_query query = { .now_us = stage->wall_us };
	struct told told = { 0 };
	struct reader *reader;
	struct error err = { 0 };

	if (reader_open(path, &reader, &err) < 0 || reader_findings(reader, &query, count_row, &told, &err) < 0)
		fail_msg("%s", err.text);
	reader_close(reader);
	return told;
}

static void a_problem_is_acknowledged_and_taken_back(void **state)
{
	struct stage stage;
	struct told told;

	(void)state;
	begin(&stage, "pair-two-bad-cables", 0);
	shows("PROBLEMS 2");
	hides("acknowledged");
	stage_keys(&stage, "ja");
	shows("reason to acknowledge");
	/* What is typed is text here, whatever it does elsewhere. */
	stage_keys(&stage, "q3 cable is ordered\r");
	shows("duration (8h");
	stage_keys(&stage, "8h\r");
	shows("PROBLEMS 1, acknowledged 1");
	shows("acknowledged until");
	shows("q3 cable is ordered");
	told = read_told(&stage);
	assert_int_equal(told.count, 2);
	assert_int_equal(told.acknowledged, 1);
	assert_string_equal(told.last.reason, "q3 cable is ordered");
	assert_true(told.last.at_us == stage.wall_us);
	assert_true(told.last.until_us == stage.wall_us + 8 * 60 * MINUTE_US);
	assert_true(told.last.person[0]);
	stage_keys(&stage, "an\r");
	shows("acknowledgement unchanged");
	stage_keys(&stage, "a");
	shows("revoke the acknowledgement?");
	stage_keys(&stage, "y\r");
	shows("PROBLEMS 2");
	assert_int_equal(read_told(&stage).acknowledged, 0);
	stage_close(&stage);
}

static void without_an_end_it_lasts_until_it_is_taken_back(void **state)
{
	struct stage stage;
	struct told told;

	(void)state;
	begin(&stage, "pair-two-bad-cables", 0);
	stage_keys(&stage, "aknown\r\r");
	told = read_told(&stage);
	assert_int_equal(told.acknowledged, 1);
	assert_int_equal(told.last.until_us, 0);
	stage_close(&stage);
}

static void invalid_input_reopens_or_cancels_the_prompt(void **state)
{
	struct stage stage;

	(void)state;
	begin(&stage, "pair-two-bad-cables", 0);
	stage_keys(&stage, "a  \r");
	shows("not acknowledged: a reason is required");
	stage_keys(&stage, "aknown\rsoon\r");
	shows("duration (8h");
	shows("soon");
	stage_key(&stage, KEY_ESCAPE);
	assert_int_equal(read_told(&stage).acknowledged, 0);
	/* The cursor on a group without a problem: nothing to acknowledge. */
	stage_keys(&stage, "Gkka");
	shows("no open finding selected");
	stage_close(&stage);
}

static void a_read_only_database_is_reported(void **state)
{
	struct stage stage;

	(void)state;
	begin(&stage, "pair-two-bad-cables", 0);
	stage_keys(&stage, "aknown\r");
	assert_int_equal(rename(path, "elsewhere"), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	app_key(&stage.app, '\r');
	stage_draw(&stage, 30, 120);
	shows("not written: ");
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(rename("elsewhere", path), 0);
	assert_int_equal(read_told(&stage).acknowledged, 0);
	stage_close(&stage);
}

static void in_the_past_it_is_said_that_it_counts_from_now(void **state)
{
	struct stage stage;

	(void)state;
	begin(&stage, "pair-two-bad-cables", STAGE_END_US - MINUTE_US);
	shows("PROBLEMS 2");
	stage_keys(&stage, "aknown\r\r");
	shows("the screen shows an earlier time");
	shows("PROBLEMS 2");
	assert_int_equal(read_told(&stage).acknowledged, 1);
	stage_keys(&stage, "L");
	shows("PROBLEMS 1, acknowledged 1");
	stage_close(&stage);
}

static void a_reboot_is_one_line_and_no_problem(void **state)
{
	struct stage stage;

	(void)state;
	begin(&stage, "host-reboots", STAGE_END_US - 10 * MINUTE_US);
	shows("PROBLEMS 0");
	shows("no problems: all");
	shows("node0007: ");
	shows("restart 1");
	stage_close(&stage);
}

static void counters_that_were_cleared_are_one_line(void **state)
{
	struct stage stage;

	(void)state;
	begin(&stage, "counters-cleared", 0);
	shows("counters of 272 ports");
	shows("PROBLEMS 0");
	stage_close(&stage);
}

static void skewed_routes_have_a_row_and_lead_to_the_switch(void **state)
{
	struct stage stage;

	(void)state;
	begin(&stage, "routes-skewed-story", 0);
	shows("CRIT leaf-");
	shows(" uplinks ");
	shows("leaf up other");
	shows("CRIT routing");
	/* The first group is that of the switch. */
	stage_keys(&stage, "j\r");
	shows(" uplinks");
	assert_int_equal(app_subject(&stage.app)->kind, SUBJECT_GROUP);
	stage_close(&stage);
}

static void a_group_leads_to_its_links(void **state)
{
	struct stage stage;

	(void)state;
	begin(&stage, "pair-two-bad-cables", 0);
	stage_keys(&stage, "jj\r");
	assert_ptr_equal(app_screen(&stage.app), &screen_links);
	shows("/class:compute");
	shows("64 of ");
	stage_keys(&stage, "1Gk\r");
	shows("/role:leaf-uplink");
	hides("node0001");
	stage_close(&stage);
}

static void the_cursor_stays_on_its_problem_when_another_is_acknowledged(void **state)
{
	struct stage stage;
	struct subject before = { .kind = SUBJECT_NONE }, after = { .kind = SUBJECT_NONE };
	struct error err = { 0 };
	struct acknowledgement said = { .person = "somebody", .reason = "known" };

	(void)state;
	begin(&stage, "pair-two-bad-cables", 0);
	stage_keys(&stage, "j");
	screen_overview.subject(screen_state(&stage.app, &screen_overview), &stage.app, &before);
	said.at_us = stage.wall_us;
	assert_int_equal(finding_acknowledge(path, &stage.app.context->findings[0].finding, &said, &err), 0);
	stage.app.stale = true;
	stage_key(&stage, KEY_SPECIAL(KEY_F(20)));
	screen_overview.subject(screen_state(&stage.app, &screen_overview), &stage.app, &after);
	assert_true(before.id && subject_equal(&before, &after));
	stage_close(&stage);
}

static void the_mouse_chooses_a_problem_and_opens_it(void **state)
{
	struct stage stage;
	struct mouse mouse = { 0 };

	(void)state;
	begin(&stage, "pair-two-bad-cables", 0);
	mouse.y = stage.app.body.y + 3;
	mouse.twice = true;
	stage_mouse(&stage, &mouse);
	assert_int_equal(app_subject(&stage.app)->kind, SUBJECT_FINDING);
	stage_close(&stage);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(a_problem_is_acknowledged_and_taken_back),
		TEST_IN_FOLDER(without_an_end_it_lasts_until_it_is_taken_back),
		TEST_IN_FOLDER(invalid_input_reopens_or_cancels_the_prompt),
		TEST_IN_FOLDER(a_read_only_database_is_reported),
		TEST_IN_FOLDER(in_the_past_it_is_said_that_it_counts_from_now),
		TEST_IN_FOLDER(a_reboot_is_one_line_and_no_problem),
		TEST_IN_FOLDER(counters_that_were_cleared_are_one_line),
		TEST_IN_FOLDER(skewed_routes_have_a_row_and_lead_to_the_switch),
		TEST_IN_FOLDER(a_group_leads_to_its_links),
		TEST_IN_FOLDER(the_cursor_stays_on_its_problem_when_another_is_acknowledged),
		TEST_IN_FOLDER(the_mouse_chooses_a_problem_and_opens_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
