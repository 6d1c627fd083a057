/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Every screen is compared with tests/screen/expected/NAME-COLUMNSxROWS.txt, after keys on a recording
 *
 * IBWIRE_SCREENS_WRITE=1 rewrites the files. The captures in docs/screen.md are taken from them
 * (tests/screen/captures_test.py).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit_test.h"
#include "cli/lib/settings.h"
#include "storage/jobs.h"
#include "storage/saved.h"
#include "storage/writer.h"
#include "tests/screen/canvas.h"
#include "tests/screen/stage.h"

/* The routes of a leaf are skewed during a job (docs/balance.md). */
#define STORY "routes-skewed-story"

static const struct {
	int columns, rows;
} sizes[] = { { 80, 24 }, { 100, 30 }, { 120, 40 }, { 200, 60 } };

static const struct {
	const char *name, *keys;
} ways[] = {
	{ "overview", "1" },         { "links", "2" },
	{ "balance-map", "3" },      { "balance-groups", "3g" },
	{ "balance-rails", "3H" },   { "ports", "4/leaf-u02-r3\r" },
	{ "events", "5" },           { "snapshots", "6" },
	{ "jobs", "7" },            { "job-window", "7jw2\r" },
	{ "finding", "1\r" },        { "port", "2\r" },
	{ "group", "3g\r" },         { "help", "1?" },
	{ "history", "1t-9m\r" },   { "setup", "1S" },
	{ "node", "4/leaf-u02-r3\r\rjj\r" }, { "nodes", "N" },
};

/* The demo of ./quickstart: a screen that shows each of its stages, besides the Overview. */
static const struct {
	const char *name;
	int seconds; /* since its beginning */
	const char *screen, *keys;
} demo[] = {
	{ "healthy", 28, "balance-map", "3" },  { "skewed", 80, "balance-map", "3" },
	{ "clearing", 98, "finding", "1\r" },   { "slow-link", 150, "links", "2" },
	{ "host-hangs", 220, "events", "5" },   { "rail-unused", 250, "balance-rails", "3H" },
	{ "recovered", 298, "events", "5" },
};

static void save(const char *name, const char *note, bool slow, unsigned number)
{
	const struct saved_label label = { .name = name, .note = note, .slow = slow };

	stage_save(path, &label, number, STAGE_END_US - 1000 * US_PER_S + number * 300 * US_PER_S);
}

static void add_job(const char *id, const char *name, const char *list, int64_t begin_s, int64_t end_s, int status)
{
	char hosts[64], command[] = "";
	struct job job = { .hosts = hosts, .command = command, .begin_us = STAGE_END_US - begin_s * US_PER_S,
			   .exit_status = status };

	snprintf(hosts, sizeof(hosts), "%s", list);
	job.end_us = end_s ? STAGE_END_US - end_s * US_PER_S : 0;
	snprintf(job.id, sizeof(job.id), "%s", id);
	snprintf(job.name, sizeof(job.name), "%s", name);
	stage_job(path, &job);
}

static void record(void)
{
	stage_record(STORY, path);
	save("before", "of the job", true, 1);
	save("after", NULL, false, 2);
	add_job("4702", "all-reduce", "", 1400, 1100, 0);
	add_job("4711", "train-70b", "node[0001-0016]", 600, 180, 1);
	add_job("4712", "train-70b", "node[0001-0016]", 120, 0, -1);
}

/* Background queries are complete after a few rounds. */
static void wait(void)
{
	bool news = true;

	for (int rounds = 0; rounds < 40; rounds++) {
		assert_int_equal(app_poll(&stage.app, &news, NULL), 0);
		stage.boot_us += US_PER_MS;
	}
	stage_draw(stage.rows, stage.columns);
}

static void write_expected(const char *file)
{
	FILE *out = fopen(file, "w");
	char line[CANVAS_LINE_SIZE];

	assert_non_null(out);
	for (int y = 0; y < canvas.rows; y++)
		fprintf(out, "%s\n", canvas_line(y, line));
	assert_int_equal(fclose(out), 0);
}

/* Print lines that differ. Return: their number. */
static int compare_expected(const char *file, const char *what)
{
	FILE *in = fopen(file, "r");
	char wanted[CANVAS_LINE_SIZE], got[CANVAS_LINE_SIZE];
	int wrong = 0;

	if (!in)
		fail_msg("%s: %s is missing", what, file);
	for (int y = 0; y < canvas.rows; y++) {
		if (!fgets(wanted, sizeof(wanted), in))
			wanted[0] = '\0';
		wanted[strcspn(wanted, "\n")] = '\0';
		if (!strcmp(canvas_line(y, got), wanted))
			continue;
		if (!wrong++)
			print_message("# %s, from line %d:\n", what, y + 1);
		print_message("# wanted |%s\n# got    |%s\n", wanted, got);
	}
	if (fgets(wanted, sizeof(wanted), in))
		wrong++;
	fclose(in);
	return wrong;
}

/*
 * The screen after @keys in all sizes, in the short form in one of them, each time in the next; @after_us after the
 * last sweep. Return: the number of lines that differ.
 */
static int show(const char *name, const char *keys, int64_t after_us)
{
	const char *dir = getenv("IBWIRE_SRCDIR"), *rewrite = getenv("IBWIRE_SCREENS_WRITE");
	const size_t count = sizeof(sizes) / sizeof(sizes[0]);
	static size_t shown;
	int wrong = 0;

	shown++;
	/* Without saved settings of the user. */
	setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
	for (size_t i = 0; i < count; i++) {
		char file[1024], what[64];

		if (getenv("IBWIRE_TEST_SHORT") && i != shown % count)
			continue;
		stage_open(path, STAGE_END_US + after_us, 0, sizes[i].rows, sizes[i].columns);
		stage_keys(keys);
		wait();
		snprintf(what, sizeof(what), "%s-%dx%d", name, sizes[i].columns, sizes[i].rows);
		snprintf(file, sizeof(file), "%s/tests/screen/expected/%s.txt", dir ? dir : ".", what);
		if (rewrite && *rewrite)
			write_expected(file);
		else
			wrong += compare_expected(file, what);
	}
	return wrong;
}

static void no_differences(int wrong)
{
	if (wrong)
		fail_msg("%d lines differ from the expected screens: IBWIRE_SCREENS_WRITE=1 rewrites the files", wrong);
}

TEST_ON_STAGE(every_screen_is_as_expected)
{
	struct writer *collector = NULL;
	int wrong = 0;

	record();
	/* The lock of the writer marks a running collector. */
	assert_int_equal(writer_open(path, &collector, NULL), 0);
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		wrong += show(ways[i].name, ways[i].keys, 3 * US_PER_S);
	writer_close(collector);
	no_differences(wrong);
}

TEST_ON_STAGE(every_stage_of_the_demo_is_as_expected)
{
	struct settings settings;
	char file[1024], name[64];
	int wrong = 0;

	snprintf(file, sizeof(file), "%s/sim/demo.conf", getenv("IBWIRE_SRCDIR"));
	assert_int_equal(settings_load(file, &settings, NULL), 0);
	stage.balance = &settings.health.balance;
	for (size_t i = 0; i < sizeof(demo) / sizeof(demo[0]); i++) {
		struct writer *collector = NULL;

		test_folder_renew();
		stage_record_until("../../sim/demo", path, demo[i].seconds * US_PER_S);
		assert_int_equal(writer_open(path, &collector, NULL), 0);
		snprintf(name, sizeof(name), "demo-%s-overview", demo[i].name);
		wrong += show(name, "1", US_PER_S);
		snprintf(name, sizeof(name), "demo-%s-%s", demo[i].name, demo[i].screen);
		wrong += show(name, demo[i].keys, US_PER_S);
		writer_close(collector);
	}
	stage.balance = NULL;
	settings_done(&settings);
	no_differences(wrong);
}
