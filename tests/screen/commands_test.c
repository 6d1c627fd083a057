/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Commands run by the screen: reports, snapshots, differences, with a program that prints its arguments.
 */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/unit_test.h"
#include "storage/saved.h"
#include "storage/test/test_folder.h"
#include "tests/screen/canvas.h"
#include "tests/screen/stage.h"

static void save(const char *name, const char *note, unsigned number)
{
	const struct saved_label label = { .name = name, .note = note, .slow = true };

	stage_save(path, &label, number, STAGE_END_US - 1000 * US_PER_S + number * US_PER_S);
}

static void begin(struct stage *stage, const char *program, int columns)
{
	stage_record("nothing-idle", path);
	save("before", "of the job", 1);
	save("after", NULL, 2);
	save("a name with a \\ in it", "\x1b[31mred", 3);
	stage_open(stage, path, STAGE_END_US + 3 * US_PER_S, 0, 24, columns);
	stage->options.program = program;
}

/* Wait for a text on the screen; fail after a timeout. */
static void wait_for(struct stage *stage, const char *text)
{
	bool news;

	for (int i = 0; i < 2000 && !stage_shows(text); i++) {
		assert_int_equal(app_poll(&stage->app, &news, NULL), 0);
		stage_draw(stage, stage->rows, stage->columns);
		usleep(5000);
	}
	if (!stage_shows(text)) {
		stage_print();
		fail_msg("there is no '%s'", text);
	}
}

TEST_IN_FOLDER(snapshots_are_listed_and_compared_older_first)
{
	struct stage stage;

	begin(&stage, "/bin/echo", 140);
	stage_keys(&stage, "6");
	stage_expect("of the job");
	stage_expect("before");
	/* What a note has of the wire's tricks is harmless. */
	stage_expect("\\x1b[31mred");
	stage_keys(&stage, "j\r");
	stage_expect("* after");
	stage_keys(&stage, "j\r");
	wait_for(&stage, "-- diff before after");
	stage_expect("--by port");
	stage_keys(&stage, "y");
	wait_for(&stage, "--by link");
	stage_expect("rows by link");
	stage_key(&stage, KEY_ESCAPE);
	/* None is tagged any more; d is against the newest. */
	stage_hides("* after");
	stage_keys(&stage, "d");
	wait_for(&stage, "-- diff before a name with a \\ in it");
	stage_close(&stage);
}

TEST_IN_FOLDER(a_snapshot_command_reports_its_result)
{
	struct stage stage;

	begin(&stage, "/bin/true", 100);
	stage_keys(&stage, "6n");
	stage_keys(&stage, "x\rwith a note\r");
	wait_for(&stage, "x is stored");
	/* One that fails says why, in its own words. */
	stage.options.program = "/bin/cat";
	stage_keys(&stage, "n\r\r");
	wait_for(&stage, " failed: ");
	/* Without a name nothing is run. */
	stage_keys(&stage, "n");
	for (int i = 0; i < 80; i++)
		stage_key(&stage, 0x7f);
	stage_key(&stage, '\r');
	stage_hides("note");
	stage_close(&stage);
}

TEST_IN_FOLDER(a_report_is_about_the_selected_row_at_the_shown_time)
{
	char who[64];
	struct stage stage;

	begin(&stage, "/bin/echo", 160);
	stage_keys(&stage, "2\rr");
	snprintf(who, sizeof(who), "report 0x%016" PRIx64 "/%u --db", stage.app.path[1].subject.node_guid,
		 stage.app.path[1].subject.port);
	wait_for(&stage, who);
	stage_hides("--at");
	stage_key(&stage, KEY_ESCAPE);
	stage_keys(&stage, "<r");
	wait_for(&stage, "--at 20");
	/* Nothing under the cursor. */
	stage_keys(&stage, "6r");
	stage_expect("no port, node or finding selected");
	stage.options.program = NULL;
	stage_keys(&stage, "2\rr");
	stage_expect("commands cannot be run");
	stage_close(&stage);
}

TEST_IN_FOLDER(a_text_is_searched_and_written_once)
{
	char file[600], content[4096] = "";
	struct stage stage;
	FILE *stream;

	begin(&stage, "/bin/echo", 160);
	stage_keys(&stage, "2\rr");
	wait_for(&stage, "report 0x");
	stage_keys(&stage, "/nowhere\r");
	stage_expect("nowhere not found");
	snprintf(file, sizeof(file), "%s.text", path);
	stage_keys(&stage, "w");
	stage_keys(&stage, file);
	stage_keys(&stage, "\r");
	stage_expect("written");
	stream = fopen(file, "r");
	assert_non_null(stream);
	assert_true(fread(content, 1, sizeof(content) - 1, stream) > 0);
	fclose(stream);
	assert_memory_equal(content, "report 0x", 9);
	/* What is there stays. */
	stage_keys(&stage, "w");
	stage_keys(&stage, file);
	stage_keys(&stage, "\r");
	stage_expect("the file exists");
	unlink(file);
	stage_close(&stage);
}

TEST_IN_FOLDER(lists_and_texts_fit_every_size)
{
	struct stage stage;

	begin(&stage, "/bin/echo", 100);
	for (int text = 0; text < 2; text++) {
		stage_keys(&stage, text ? "2\rr" : "6\r");
		if (text)
			wait_for(&stage, "report 0x");
		for (int rows = 10; rows <= 100; rows += 3)
			for (int columns = 40 + rows % 7; columns <= 300; columns += 7) {
				stage_draw(&stage, rows, columns);
				if (canvas.outside || canvas.over) {
					stage_print();
					fail_msg("%s", canvas.first);
				}
			}
	}
	stage_close(&stage);
}
