/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tests/screen/stage.h"

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "storage/jobs.h"
#include "storage/saved.h"
#include "storage/test/test_folder.h"
#include "tests/scenarios/files.h"
#include "tests/screen/canvas.h"
#include "tests/screen/record.h"
#include "tui/model/test_sample.h"

struct stage stage;

static int64_t boottime_us(void *ctx)
{
	(void)ctx;
	return stage.boot_us;
}

static int64_t wall_us_of(void *ctx)
{
	(void)ctx;
	return stage.wall_us;
}

/* Process the effects of a key, and those of what they loaded. */
static void settle(void)
{
	struct error err = { 0 };
	bool news = true;

	for (int rounds = 0; news && rounds < 4; rounds++)
		if (app_poll(&stage.app, &news, &err) < 0)
			fail_msg("%s", err.text);
}

void stage_open(const char *db, int64_t wall_us, int64_t at_us, int rows, int columns)
{
	struct error err = { 0 };

	setenv("TZ", "UTC", 1);
	assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
	app_done(&stage.app);
	stage = (struct stage){ .random = stage.random, .balance = stage.balance };
	stage.clock = (struct clock){ .boottime_us = boottime_us, .wall_us = wall_us_of };
	stage.boot_us = 1000 * US_PER_S;
	stage.wall_us = wall_us;
	stage.options = (struct tui_options){
		.db_path = db, .clock = &stage.clock, .balance = stage.balance, .at_us = at_us };
	if (app_init(&stage.app, &stage.options, &err) < 0)
		fail_msg("%s", err.text);
	stage.app.theme->unicode = true;
	settle();
	stage_draw(rows, columns);
}

void stage_begin(const char *scenario, int64_t at_us, int rows, int columns)
{
	stage_record(scenario, path);
	stage_open(path, STAGE_END_US + 3 * US_PER_S, at_us, rows, columns);
}

int stage_end(void **state)
{
	app_done(&stage.app);
	memset(&stage.app, 0, sizeof(stage.app));
	return test_folder_remove(state);
}

void stage_draw(int rows, int columns)
{
	stage.rows = rows;
	stage.columns = columns;
	canvas_erase(rows, columns);
	app_draw(&stage.app, canvas.rows, canvas.columns);
}

void stage_key(int key)
{
	app_key(&stage.app, key);
	settle();
	stage_draw(stage.rows, stage.columns);
}

void stage_keys(const char *keys)
{
	for (; *keys; keys++)
		stage_key((unsigned char)*keys);
}

void stage_mouse(const struct mouse *mouse)
{
	app_mouse(&stage.app, mouse);
	settle();
	stage_draw(stage.rows, stage.columns);
}

bool stage_shows(const char *text)
{
	return canvas_find(text) >= 0;
}

void stage_try(const char *keys, const char *text)
{
	stage_keys(keys);
	stage_expect(text);
}

void stage_expect(const char *text)
{
	if (stage_shows(text))
		return;
	stage_print();
	fail_msg("the screen does not show \"%s\"", text);
}

void stage_hides(const char *text)
{
	if (!stage_shows(text))
		return;
	stage_print();
	fail_msg("the screen shows \"%s\"", text);
}

unsigned stage_random(unsigned limit)
{
	stage.random = stage.random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)(stage.random >> 33) % limit;
}

void stage_print(void)
{
	char line[CANVAS_LINE_SIZE];

	for (int y = 0; y < canvas.rows; y++)
		print_message("# |%s\n", canvas_line(y, line));
}

void stage_record(const char *scenario, const char *db)
{
	stage_record_until(scenario, db, 0);
}

/* Recordings of this program; each scenario is run once, and copied for other tests. */
static struct recording {
	char scenario[64];
	int64_t length_us;
	char *bytes;
	size_t len;
} recordings[16];

void stage_record_until(const char *scenario, const char *db, int64_t length_us)
{
	struct recording *to = recordings;
	struct error err = { 0 };
	char name[128], *file;

	for (; to < recordings + sizeof(recordings) / sizeof(*recordings) && to->bytes; to++)
		if (to->length_us == length_us && !strcmp(to->scenario, scenario)) {
			test_file_write(db, to->bytes, to->len);
			return;
		}
	snprintf(name, sizeof(name), "%s.scenario", scenario);
	file = scenario_file(name);
	if (record_scenario(file, db, length_us, STAGE_END_US, 0, NULL, &err) < 0)
		fail_msg("%s", err.text);
	free(file);
	assert_true(to < recordings + sizeof(recordings) / sizeof(*recordings));
	snprintf(to->scenario, sizeof(to->scenario), "%s", scenario);
	to->length_us = length_us;
	to->bytes = test_file_read(db, &to->len);
}

void stage_job(const char *db, const struct job *job)
{
	const struct job_rules rules = { 0 };
	struct saved_writer *writer = NULL;
	struct job begun = *job;
	struct error err = { 0 };

	if (saved_writer_open(db, &writer, &err) < 0 || jobs_begin(writer, &begun, &rules, &err) < 0)
		fail_msg("%s", err.text);
	begun.end_us = job->end_us;
	begun.exit_status = job->exit_status;
	if (job->end_us && jobs_end(writer, NULL, &begun, &err) < 0)
		fail_msg("%s", err.text);
	saved_writer_close(writer);
}

void stage_save(const char *db, const struct saved_label *label, unsigned number, int64_t wall_us)
{
	struct saved_writer *writer = NULL;
	struct sample sample;
	struct sweep sweep;
	struct error err = { 0 };

	if (sample_create(&sample, 2, false, &err) < 0 || saved_writer_open(db, &writer, &err) < 0)
		fail_msg("%s", err.text);
	sample_sweep(&sample, number, wall_us, US_PER_S, &sweep);
	if (saved_write(writer, label, &sweep, &err) < 0)
		fail_msg("%s", err.text);
	saved_writer_close(writer);
	sample_destroy(&sample);
}
