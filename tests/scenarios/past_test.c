/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * past_test.c - what was shown live at a sweep is shown for it later, word for word
 *
 * Each scenario is recorded. After each of its sweeps the commands and the screen show the database live, by a clock
 * that stands at that sweep; at the end they show each of these sweeps once more. Only what names the present differs:
 * the state of the collector, the size of the database, and the header of the screen.
 *
 * IBWIRE_CASES=60 for all sweeps of the first 60 scenarios; otherwise a few scenarios, and of them the sweeps at which
 * findings change and every tenth one. The short form runs one of these; make check-scripts runs the usual form on the
 * build without sanitizers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/test_cases.h"
#include "base/text.h"
#include "base/unit_test.h"
#include "base/when.h"
#include "cli/test_commands.h"
#include "storage/writer.h"
#include "tests/scenarios/compare.h"
#include "tests/scenarios/files.h"
#include "tests/screen/canvas.h"
#include "tests/screen/stage.h"
#include "tests/world/collect.h"
#include "tests/world/virtual.h"

enum { FACES = 7, MOMENTS_MAX = 20000, ROWS = 60, COLUMNS = 160 };

/* What is run for a moment; the report is about the place of the first finding; the last face is the screen. */
enum { HEALTH_JSON, REPORT };
static const char *const commands[FACES - 1] = {
	[HEALTH_JSON] = "health|--all|--format|json", [REPORT] = "report", "health|--all", "status|--format|json",
	"events|--since|2020-01-01", "balance|--format|json",
};

struct moment {
	int64_t wall_us;
	char place[32]; /* "0x0002c90000000001/3", or "" */
	char *shown[FACES];
};

static struct {
	const struct sink *sink;
	struct moment *moments;
	size_t count, sweeps;
	bool all;               /* all sweeps are recorded */
	char *findings;         /* those of the last sweep */
} recording;

/* The wall clock of commands; 0: the machine's. */
static int64_t shown_now_us;

const struct clock *__real_clock_system(void);
const struct clock *__wrap_clock_system(void);

static int64_t wall_us_shown(void *ctx)
{
	(void)ctx;
	return shown_now_us;
}

const struct clock *__wrap_clock_system(void)
{
	static struct clock stopped;

	if (!shown_now_us)
		return __real_clock_system();
	stopped = *__real_clock_system();
	stopped.wall_us = wall_us_shown;
	return &stopped;
}

/* Remove a part of a text that begins with @key and ends before one of @ends. */
static void remove_part(char *text, const char *key, const char *ends)
{
	for (char *at = strstr(text, key), *end; at; at = strstr(at, key)) {
		end = at + strlen(key);
		end += *ends ? strcspn(end, ends) : 0;
		memmove(at, end, strlen(end) + 1);
	}
}

/* Remove what names the present. */
static char *without_present(char *text)
{
	static const char *const keys[] = { "\"state\":", "\"live\":", "\"db\":", "\"size_bytes\":", "\"log_bytes\":",
					    "\"collector_pid\":", "\"store_blocked\":", "\"sweeps\":", "\"age_s\":" };

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		remove_part(text, keys[i], ",}\n");
	return text;
}

/* @at_us: 0: live */
static char *show_command(const char *command, int64_t at_us)
{
	char line[160], when[WHEN_SIZE], *output;
	struct error err = { 0 };

	snprintf(line, sizeof(line), "%s%s%s", command,
		 !at_us ? "" : strncmp(command, "events", 6) ? "|--at|" : "|--until|",
		 at_us ? when_format_utc(at_us, when) : "");
	if (run(line, &output, &err) < 0)
		fail_msg("%s: %s", line, err.text);
	return strncmp(command, "status", 6) ? output : without_present(output);
}

/* The screen below its header, without the key that leads to the present. */
static char *show_screen(int64_t now_us, int64_t at_us)
{
	struct text text = { 0 };
	char line[CANVAS_LINE_SIZE];

	stage_open(path, now_us, at_us, ROWS, COLUMNS);
	for (int row = 1; row < canvas.rows; row++)
		text_appendf(&text, "%s\n", canvas_line(row, line));
	remove_part(text.chars, "L live  ", "");
	return text.chars;
}

/* The place of the first finding with one. */
static void find_place(const char *findings, char ret[32])
{
	json_t *rows = json_loads(findings, 0, NULL), *row;
	size_t i;

	*ret = '\0';
	json_array_foreach(rows, i, row) {
		const char *guid = json_string_value(json_object_get(row, "node_guid"));
		int64_t port = json_integer_value(json_object_get(row, "port"));

		if (guid && !*ret && port)
			snprintf(ret, 32, "%s/%lld", guid, (long long)port);
		else if (guid && !*ret)
			snprintf(ret, 32, "%s", guid);
	}
	json_decref(rows);
}

static void show(struct moment *moment, int64_t at_us, char *ret[FACES])
{
	char report[64];

	shown_now_us = moment->wall_us;
	use_database(path);
	for (size_t i = 0; i < FACES - 1; i++) {
		if (i == REPORT && !at_us)
			find_place(ret[HEALTH_JSON], moment->place);
		snprintf(report, sizeof(report), "report|%s", moment->place);
		ret[i] = i == REPORT && !*moment->place ? strdup("") :
			 show_command(i == REPORT ? report : commands[i], at_us);
	}
	ret[FACES - 1] = show_screen(moment->wall_us, at_us);
	use_database(NULL);
	shown_now_us = 0;
}

static int store(void *ctx, const struct sweep *sweep, struct error *err)
{
	int code = recording.sink->store(recording.sink->ctx, sweep, err);
	struct moment *moment = &recording.moments[recording.count];
	bool changed;
	char *now;

	(void)ctx;
	/* The capabilities of agents, such as the unit of XmitWait, are learned in the first minutes. */
	if (code < 0 || ++recording.sweeps * (uint64_t)sweep->interval_us < 180 * US_PER_S)
		return code;
	shown_now_us = sweep->wall_us;
	use_database(path);
	now = show_command("health|--all|--columns|kind,severity,cause,subject,text", 0);
	shown_now_us = 0;
	changed = !recording.findings || strcmp(now, recording.findings);
	free(recording.findings);
	recording.findings = now;
	if (!recording.all && !changed && recording.sweeps % 10)
		return 0;
	assert_true(++recording.count < MOMENTS_MAX);
	moment->wall_us = sweep->wall_us;
	show(moment, 0, moment->shown);
	return 0;
}

/* Where the texts begin to differ. */
static void report_difference(const char *scenario, const struct moment *moment, size_t face, const char *past)
{
	const char *live = moment->shown[face];
	char when[WHEN_SIZE];
	int at = 0, from;

	while (live[at] && live[at] == past[at])
		at++;
	for (from = at; from > 0 && live[from - 1] != '\n' && from > at - 100; from--)
		;
	print_error("%s, %s, %s:\n  live: %.*s\n  past: %.*s\n", scenario, when_format_utc(moment->wall_us, when),
		    face < FACES - 1 ? commands[face] : "top", at - from + (int)strcspn(live + at, "\n,"), live + from,
		    at - from + (int)strcspn(past + at, "\n,"), past + from);
}

/* Return: the number of differences. */
static size_t check(const char *scenario)
{
	size_t differences = 0;

	for (size_t i = 0; i < recording.count; i++) {
		struct moment *moment = &recording.moments[i];
		char *past[FACES];

		show(moment, moment->wall_us, past);
		for (size_t face = 0; face < FACES; face++) {
			if (strcmp(moment->shown[face], past[face]) && differences++ < 3)
				report_difference(scenario, moment, face, past[face]);
			free(past[face]);
			free(moment->shown[face]);
		}
	}
	return differences;
}

/* Windows and recovery times of seconds, and a sweep per second. */
static const char quick[] =
	"shape rail units=2 hosts=8 rails=4 spines=4\ninterval 1s\nlength 6m\nsettings quick.conf\n"
	"job main alltoall fan=8 load=0.5 noise=0.1\nat 190s skew leaf-u01-r1 to=11 part=0.5 for=45s\n"
	"at 220s width leaf-u01-r0/9 1x for=40s\nat 250s errors leaf-u01-r2/9 symbol_errors=9000 for=60s\n";
static const char quick_settings[] =
	"[health]\nlink_down_after = 5s\ndegraded_after = 5s\nsilent_after = 6s\ntraining = 5s\nstate_recovery = 10s\n"
	"recovery = 20s\n[balance]\nwindow = 6s\nwindows = 4\nwindows_same = 3\nspread = 20%\n";

/* @source: NULL: the scenario with this name. Return: the number of differences. */
static size_t run_scenario(const char *name, const char *source)
{
	const int64_t end_us = INT64_C(1790000000) * US_PER_S;
	struct scenario scenario = { 0 };
	struct virtual *world = NULL;
	struct writer *writer = NULL;
	char *file = source ? strdup("quick.scenario") : scenario_file(name);
	struct error err = { 0 };
	struct sink sink;
	size_t differences;

	test_folder_renew();
	recording.count = recording.sweeps = 0;
	recording.all = getenv("IBWIRE_CASES") != NULL;
	if (source) {
		test_file_write("quick.scenario", source, strlen(source));
		test_file_write("quick.conf", quick_settings, strlen(quick_settings));
	}
	if (scenario_load(file, &scenario, &err) < 0 || scenario_begin(&scenario, &world, &err) < 0 ||
	    writer_open(path, &writer, &err) < 0)
		fail_msg("%s: %s", name, err.text);
	sink = *writer_sink(writer);
	recording.sink = writer_sink(writer);
	sink.store = store;
	if (world_collect(world, scenario.interval_us, scenario.length_us, end_us - scenario.length_us, &sink, NULL,
			  &err) < 0)
		fail_msg("%s: %s", name, err.text);
	differences = check(name);
	writer_close(writer);
	virtual_destroy(world);
	scenario_done(&scenario);
	if (source) {
		unlink("quick.scenario");
		unlink("quick.conf");
	}
	free(file);
	free(recording.findings);
	recording.findings = NULL;
	print_message("%s: %zu moments, %zu differences\n", name, recording.count, differences);
	return differences;
}

TEST_WITH(the_past_is_what_was_shown, test_folder_make, stage_end)
{
	static const char *const few[] = { "routes-mended.scenario", "symbol-errors-trunk.scenario",
					   "dead-spine.scenario", "hosts-hang.scenario" };
	size_t cases = getenv("IBWIRE_CASES") ? (size_t)atoi(getenv("IBWIRE_CASES")) : 0, count, differences = 0;
	char *names[SCENARIO_FILES_MAX];

	(void)state;
	unsetenv("IBWIRE_DB");
	recording.moments = calloc(MOMENTS_MAX, sizeof(*recording.moments));
	for (size_t i = 0; !cases && i < test_cases(sizeof(few) / sizeof(few[0])); i++)
		differences += run_scenario(few[i], NULL);
	differences += run_scenario("quick", quick);
	count = scenario_files(names);
	for (size_t i = 0; i < count; i++) {
		if (i < cases)
			differences += run_scenario(names[i], NULL);
		free(names[i]);
	}
	free(recording.moments);
	assert_int_equal(differences, 0);
}
