/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Commands run by the screen: reports and differences, with a command that prints its arguments; snapshots, with a
 * program.
 */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/call.h"
#include "base/log.h"
#include "base/unit_test.h"
#include "export/page.h"
#include "storage/jobs.h"
#include "storage/saved.h"
#include "tests/screen/canvas.h"
#include "tests/screen/stage.h"

static void save(const char *name, const char *note, unsigned number)
{
	const struct saved_label label = { .name = name, .note = note, .slow = true };

	stage_save(path, &label, number, STAGE_END_US - 1000 * US_PER_S + number * US_PER_S);
}

static atomic_int calls, stopped; /* of the commands below */

/* A command that prints its arguments. */
static int print_arguments(const struct call_context *context, int argc, char **argv, struct error *err)
{
	(void)err;
	calls++;
	for (int i = 0; i < argc; i++)
		fprintf(context->out, "%s%c", argv[i], i < argc - 1 ? ' ' : '\n');
	return 0;
}

/* One that takes longer than a user waits. */
static int hang(const struct call_context *context, int argc, char **argv, struct error *err)
{
	(void)argc;
	(void)argv;
	calls++;
	while (!*context->stop)
		usleep(1000);
	stopped++;
	return err_set(err, ERR_IO, "interrupted");
}

/* One with a warning, an exit status and a terminal's escape sequence. */
static int fail_loudly(const struct call_context *context, int argc, char **argv, struct error *err)
{
	(void)argc;
	(void)argv;
	log_warning("the database is damaged");
	fprintf(context->out, "a\033[31m\tline of %u columns\n", context->columns);
	return err_set(err, ERR_UNAVAILABLE, "there is no data");
}

enum { PORT, ERRORS, COLUMNS };

static const struct column page_columns[COLUMNS] = {
	[PORT] = { .title = "PORT", .kind = COLUMN_TEXT },
	[ERRORS] = { .title = "ERRORS", .kind = COLUMN_INTEGER },
};

/* Two rows; the second one is about the port that the command got as argument. */
static void put_rows(struct result *result, const void *ctx)
{
	char *const *argv = ctx, *slash = strchr(argv[1], '/');

	result_text(result, PORT, "no port");
	result_end_row(result);
	result_text(result, PORT, argv[1]);
	result_target(result, PORT, strtoull(argv[1], NULL, 16), (unsigned)atoi(slash + 1));
	result_integer(result, ERRORS, 7);
	result_show(result, ERRORS, NULL, STYLE_WARNING);
	result_end_row(result);
}

/* A command that leaves a page. */
static int leave_page(const struct call_context *context, int argc, char **argv, struct error *err)
{
	struct page *page = page_create("x");

	assert_true(argc > 1 && context->value);
	page_add_note(page, PAGE_TEXT, false, "a note about the port");
	page_add(page, &(struct page_section){ .kind = PAGE_TABLE, .title = "Its rows",
					       .table = { page_columns, COLUMNS, put_rows, argv } });
	*context->value = page;
	return page_freeze(page, err);
}

static void begin(call_fn *command, int columns)
{
	stage_record("nothing-idle", path);
	save("before", "of the job", 1);
	save("after", NULL, 2);
	save("a name with a \\ in it", "\x1b[31mred", 3);
	stage_open(path, STAGE_END_US + 3 * US_PER_S, 0, 24, columns);
	stage.options.command = command;
}

/* Wait for a text on the screen; fail after a timeout. */
static void wait_for(const char *text)
{
	bool news;

	for (int i = 0; i < 2000 && !stage_shows(text); i++) {
		assert_int_equal(app_poll(&stage.app, &news, NULL), 0);
		stage_draw(stage.rows, stage.columns);
		usleep(5000);
	}
	if (!stage_shows(text)) {
		stage_print();
		fail_msg("the screen does not show '%s'", text);
	}
}

TEST_ON_STAGE(snapshots_are_listed_and_compared_older_first)
{
	begin(print_arguments, 140);
	stage_try("6", "of the job");
	stage_expect("before");
	/* Control characters of a note are escaped. */
	stage_expect("\\x1b[31mred");
	stage_try("j\r", "* after");
	stage_keys("j\r");
	wait_for("-- diff before after");
	stage_expect("--by port");
	stage_keys("y");
	wait_for("--by link");
	stage_expect("rows by link");
	stage_key(KEY_ESCAPE);
	/* The selection is cleared; d compares with the newest snapshot. */
	stage_hides("* after");
	stage_keys("d");
	wait_for("-- diff before a name with a \\ in it");
}

/* The line of the screen with a text, from its first row. */
static int row_of(const char *text)
{
	int row = canvas_find(text);

	assert_true(row >= 0);
	return row;
}

TEST_ON_STAGE(snapshots_are_sorted_and_filtered)
{
	begin(print_arguments, 140);
	stage_keys("6");
	assert_true(row_of("a name with") < row_of("after"));
	stage_expect("TIME\xe2\x96\xbc");
	stage_key(KEY_SPECIAL(KEY_LEFT));
	stage_expect("NAME\xe2\x96\xb2");
	assert_true(row_of("after ") < row_of("before "));
	stage_keys("I");
	assert_true(row_of("before ") < row_of("after "));
	/* The filter reads all columns; what it finds is emphasised in rows without the cursor. */
	stage_try("/of the", "1 of 3 snapshots");
	stage_hides("after ");
	stage_key(KEY_ESCAPE);
	stage_try("/after|before", "2 of 3 snapshots");
	assert_int_equal(canvas.roles[row_of("after ")][0], ROLE_MATCH);
	stage_key(KEY_ESCAPE);
	stage_try("/nothing", "No snapshot matches");
	stage_key(KEY_ESCAPE);
	stage_try("s", "SORT BY");
	stage_key(KEY_ESCAPE);
	stage_expect("3 of 3 snapshots");
}

TEST_ON_STAGE(a_job_is_reported_and_limits_every_screen)
{
	char hosts[] = "node[0001-0003]", command[] = "";
	struct job job = { .id = "4711", .name = "<b>\x1b[31m", .hosts = hosts, .command = command, .exit_status = 3,
			   .begin_us = STAGE_END_US - 60 * US_PER_S, .end_us = STAGE_END_US - 20 * US_PER_S };

	stage_record("nothing-idle", path);
	stage_job(path, &job);
	snprintf(job.id, sizeof(job.id), "array_1; rm -rf *");
	job.begin_us += 10 * US_PER_S;
	job.end_us = 0;
	stage_job(path, &job);
	stage_open(path, STAGE_END_US + 3 * US_PER_S, 0, 40, 150);
	stage.options.command = print_arguments;
	/* Overview has the running job, at the shown time. */
	stage_expect("1 job: array_1; rm -rf * <b>\\x1b[31m 3 hosts 53.0 s");
	stage_try("7", "exit 3");
	/* Below the list is the report of the job that stays selected. */
	stage_expect("REPORT ...");
	stage.boot_us += US_PER_S;
	wait_for("REPORT of 14:13:23");
	stage_expect("-- report array_1; rm -rf *");
	stage_try("j", "REPORT ...");
	stage.boot_us += US_PER_S;
	wait_for("-- report 4711");
	stage_keys("k");
	stage_keys("\r");
	wait_for("-- report array_1; rm -rf *");
	stage_key(KEY_ESCAPE);
	stage_keys("jc");
	wait_for("-- compare 4711");
	stage_key(KEY_ESCAPE);
	/* The window of the job that ended, then of the running one. */
	stage_keys("w2\r");
	stage_expect("JOB 4711: rates since");
	stage_expect("40.0 s of the job to");
	assert_int_equal(stage.app.live->shown->sweep.wall_us, STAGE_END_US - 20 * US_PER_S);
	stage_keys("1");
	stage_expect("2 jobs: 4711 ");
	stage_keys("L");
	stage_hides("rates since");
	stage_keys("7kw2\r");
	stage_expect("JOB array_1; rm -rf *: rates since");
	assert_int_equal(stage.app.live->at_us, 0);
	/* Another length of the history ends the limit. */
	stage_keys("+");
	stage_hides("of the job to");
	stage_hides("rates since");
}

/* With one cluster, it is not shown: in the test above there is none, and the first job here is alone in its own. */
TEST_ON_STAGE(jobs_of_several_clusters_are_named_with_theirs)
{
	char hosts[] = "node[0001-0003]", command[] = "";
	struct job job = { .id = "4711", .labels[JOB_CLUSTER] = "alpha", .hosts = hosts, .command = command,
			   .begin_us = STAGE_END_US - 60 * US_PER_S };

	stage_record("nothing-idle", path);
	stage_job(path, &job);
	stage_open(path, STAGE_END_US + 3 * US_PER_S, 0, 40, 150);
	stage_expect("1 job: 4711 3 hosts");
	snprintf(job.labels[JOB_CLUSTER], sizeof(job.labels[JOB_CLUSTER]), "beta");
	job.begin_us += 10 * US_PER_S;
	stage_job(path, &job);
	stage_open(path, STAGE_END_US + 3 * US_PER_S, 0, 40, 150);
	stage.options.command = print_arguments;
	stage_expect("4711@alpha 3 hosts");
	stage_expect("4711@beta 3 hosts");
	stage_keys("7");
	assert_true(row_of("4711@beta ") < row_of("4711@alpha "));
	/* A command has the id and the cluster. */
	stage_keys("\r");
	stage_expect("report of job 4711@beta");
	wait_for("-- report 4711");
	stage_key(KEY_ESCAPE);
	stage_try("w2\r", "JOB 4711@beta: rates since");
}

TEST_ON_STAGE(a_snapshot_command_reports_its_result)
{
	begin(print_arguments, 100);
	stage.options.program = "/bin/true";
	stage_keys("6nx\rwith a note\r");
	wait_for("x is stored");
	/* A failure is shown with the message of the command. */
	stage.options.program = "/bin/cat";
	stage_keys("n\r\r");
	wait_for(" failed: ");
	/* Without a name no command runs. */
	stage_keys("n");
	for (int i = 0; i < 80; i++)
		stage_key(0x7f);
	stage_key('\r');
	stage_hides("note");
}

TEST_ON_STAGE(a_report_is_about_the_selected_row_at_the_shown_time)
{
	char who[64];

	begin(print_arguments, 160);
	stage_keys("2\rr");
	snprintf(who, sizeof(who), "report 0x%016" PRIx64 "/%u --db", stage.app.path[1].subject.node_guid,
		 stage.app.path[1].subject.port);
	wait_for(who);
	stage_hides("--at");
	stage_key(KEY_ESCAPE);
	stage_keys("<r");
	wait_for("--at 20");
	/* No row is selected. */
	stage_try("6r", "no port, node or finding selected");
	stage.options.command = NULL;
	stage_try("2\rr", "commands cannot be run");
}

TEST_ON_STAGE(a_command_that_runs_does_not_block_the_screen_and_ends_with_it)
{
	bool news;

	begin(hang, 160);
	calls = stopped = 0;
	stage_keys("2\rr");
	stage_expect("running ...");
	/* Help above it does not end it. */
	stage_try("?", "scroll");
	for (int i = 0; i < 10; i++)
		assert_int_equal(app_poll(&stage.app, &news, NULL), 0);
	stage_key(KEY_ESCAPE);
	stage_expect("running ...");
	assert_true(stage.app.command_runs);
	assert_int_equal(stopped, 0);
	/* Esc leaves the screen at once, and stops the command. */
	stage_key(KEY_ESCAPE);
	stage_hides("running ...");
	for (int i = 0; i < 2000 && !stopped; i++) {
		assert_int_equal(app_poll(&stage.app, &news, NULL), 0);
		usleep(1000);
	}
	assert_int_equal(stopped, 1);
	assert_false(stage.app.command_runs);
	/* The end of the screen stops one, too. */
	stage_keys("r");
	while (calls < 2)
		usleep(1000);
	stage_end(NULL);
	for (int i = 0; i < 2000 && stopped < 2; i++)
		usleep(1000);
	assert_int_equal(stopped, 2);
	test_folder_make(NULL);
}

TEST_ON_STAGE(warnings_and_the_error_of_a_command_are_shown)
{
	begin(fail_loudly, 160);
	log_init("ibwire", LOG_LEVEL_INFO);
	stage_keys("2\rr");
	wait_for("exit status 69");
	stage_expect("ibwire: warning: the database is damaged");
	stage_expect("a?[31m line of 160 columns");
	stage_expect("ibwire: there is no data");
}

TEST_ON_STAGE(a_report_is_a_page_whose_ports_are_opened)
{
	char file[600], content[4096] = "", who[32];
	FILE *stream;

	begin(leave_page, 160);
	stage_keys("2\rr");
	wait_for("ITS ROWS");
	snprintf(who, sizeof(who), "0x%016" PRIx64 "/%u", stage.app.path[1].subject.node_guid,
		 stage.app.path[1].subject.port);
	stage_expect(who);
	stage_expect("(lines 1 to 6 of 6)");
	assert_int_equal(canvas.roles[row_of("ITS ROWS")][0], ROLE_HEAD);
	stage_try("/nowhere\r", "nowhere not found");
	/* The page is written as a text. */
	snprintf(file, sizeof(file), "%s.page", path);
	stage_keys("w");
	stage_keys(file);
	stage_try("\r", "written");
	stream = fopen(file, "r");
	assert_non_null(stream);
	assert_true(fread(content, 1, sizeof(content) - 1, stream) > 0);
	fclose(stream);
	unlink(file);
	assert_non_null(strstr(content, "a note about the port\n\nITS ROWS\nPORT "));
	/* The line with a port is selected, and opens it. */
	stage_keys("\r");
	assert_int_equal(stage.app.depth, 4);
	assert_true(stage.app.path[3].subject.node_guid == stage.app.path[1].subject.node_guid);
	assert_int_equal(stage.app.path[3].subject.port, stage.app.path[1].subject.port);
	stage_key(KEY_ESCAPE);
	stage_expect("ITS ROWS");
}

TEST_ON_STAGE(a_text_is_searched_and_written_once)
{
	char file[600], content[4096] = "";
	FILE *stream;

	begin(print_arguments, 160);
	stage_keys("2\rr");
	wait_for("report 0x");
	stage_try("/nowhere\r", "nowhere not found");
	snprintf(file, sizeof(file), "%s.text", path);
	stage_keys("w");
	stage_keys(file);
	stage_try("\r", "written");
	stream = fopen(file, "r");
	assert_non_null(stream);
	assert_true(fread(content, 1, sizeof(content) - 1, stream) > 0);
	fclose(stream);
	assert_memory_equal(content, "report 0x", 9);
	/* An existing file is not overwritten. */
	stage_keys("w");
	stage_keys(file);
	stage_try("\r", "the file exists");
	unlink(file);
}

TEST_ON_STAGE(lists_and_texts_fit_every_size)
{
	begin(print_arguments, 100);
	for (int text = 0; text < 2; text++) {
		stage_keys(text ? "2\rr" : "6\r");
		if (text)
			wait_for("report 0x");
		for (int rows = 10; rows <= 100; rows += 3)
			for (int columns = 40 + rows % 7; columns <= 300; columns += 7) {
				stage_draw(rows, columns);
				if (canvas.outside || canvas.over) {
					stage_print();
					fail_msg("%s", canvas.first);
				}
			}
	}
}
