/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* At every size no screen writes past an edge or over other text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/test_cases.h"
#include "base/unit_test.h"
#include "cli/test_commands.h"
#include "storage/jobs.h"
#include "tests/screen/canvas.h"
#include "tests/screen/stage.h"

enum { MIN_ROWS = 10, MAX_ROWS = 100, MIN_COLUMNS = 40, MAX_COLUMNS = 300 };

/*
 * Not all 24,000 sizes: each height (each seventh with IBWIRE_TEST_SHORT) is combined with some widths
 * and vice versa. The short form has one of the recordings.
 */
static void check_sizes(const char *what, bool covered)
{
	bool is_short = getenv("IBWIRE_TEST_SHORT");
	int step = is_short ? 211 : 89;

	for (int rows = MIN_ROWS; rows <= MAX_ROWS; rows += is_short ? 7 : 1)
		for (int columns = MIN_COLUMNS + rows % step; columns <= MAX_COLUMNS; columns += step) {
			stage_draw(rows, columns);
			if (canvas.outside || (canvas.over && !covered)) {
				stage_print();
				fail_msg("%s: %s", what, canvas.first);
			}
		}
}

/* The keys to a screen. A menu may cover other text. */
struct way { const char *what, *keys; bool covers; };

static const struct way ways[] = {
	{ "overview", "1", false },      { "links", "2", false },        { "balance", "3", false },
	{ "ports", "4", false },         { "events", "5", false },       { "snapshots", "6", false },
	{ "jobs", "7", false },           { "nodes", "N", false },
	{ "a finding", "1\r", false },   { "a link", "2\r", false },     { "a port of a panel", "4\r", false },
	{ "a cell of balance", "3\r", false }, { "help", "1?", false },  { "help of links", "2?", false },
	{ "a filter", "2/leaf|spine", false }, { "a time", "1t-10m", false },
	{ "a filter that nothing matches", "2/nothing has this name", false },
	{ "sorting", "2s", true },	 { "setup", "S", false },	  { "help of setup", "S?", false },
};

/* A running job of many hosts, and a replaced job with long texts. */
static void add_jobs(const char *db)
{
	char hosts[] = "node[0001-4000]", others[] = "a[1-9],b", command[] = "";
	struct job job = { .hosts = hosts, .command = command, .begin_us = STAGE_END_US - 100 * US_PER_S };

	memset(job.id, 'i', sizeof(job.id) - 1);
	memset(job.name, 'n', sizeof(job.name) - 1);
	stage_job(db, &job);
	job = (struct job){ .id = "1", .name = "\xe6\x97\xa5\xe6\x9c\xac \x1b[31m", .hosts = others, .command = command,
			    .begin_us = STAGE_END_US - 99 * US_PER_S, .end_us = STAGE_END_US, .exit_status = 255 };
	stage_job(db, &job);
}

static void check_all_screens(const char *name, const char *db)
{
	add_jobs(db);
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		char what[128];

		stage_open(db, STAGE_END_US + 3 * US_PER_S, 0, 40, 120);
		stage_keys(ways[i].keys);
		snprintf(what, sizeof(what), "%s: %s", name, ways[i].what);
		check_sizes(what, ways[i].covers);
		stage.app.theme->unicode = false;
		snprintf(what, sizeof(what), "%s: %s in ASCII", name, ways[i].what);
		check_sizes(what, ways[i].covers);
	}
}

TEST_ON_STAGE(screens_of_recordings_fit_every_size)
{
	static const char *const scenarios[] = { "routes-skewed-story", "dead-spine", "nothing-three-tiers" };

	for (size_t i = 0; i < test_cases(sizeof(scenarios) / sizeof(scenarios[0])); i++) {
		test_folder_renew();
		stage_record(scenarios[i], path);
		check_all_screens(scenarios[i], path);
	}
}

/* Node descriptions with escape sequences, invalid UTF-8 and text in the other direction. */
TEST_WITH(unsafe_names_are_drawn_escaped, NULL, NULL)
{
	assert_int_equal(make_database(state), 0);
	check_all_screens("unsafe names", db_path);
	assert_int_equal(remove_database(state), 0);
}

/* The canvas detects text past an edge and over other text. */
TEST_ON_STAGE(the_canvas_counts_faults)
{
	stage_record("nothing", path);
	stage_open(path, STAGE_END_US, 0, 24, 80);
	stage_keys("2");
	assert_int_equal(canvas.outside + canvas.over, 0);
	canvas.columns = 40;
	app_draw(&stage.app, 24, 80);
	assert_true(canvas.outside > 0);
	stage_draw(24, 80);
	app_draw(&stage.app, 20, 80);
	assert_true(canvas.over > 0);
}
