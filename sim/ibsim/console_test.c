/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/unit_test.h"
#include "sim/ibsim/console.h"
#include "sim/rundir.h"

struct attached {
	int count, client;
	pid_t pid;
};

static void note_attached(void *ctx, int client, pid_t pid)
{
	struct attached *attached = ctx;

	attached->count++;
	attached->client = client;
	attached->pid = pid;
}

/* Return: the log of the output of ibsim, filtered in pieces of @piece bytes. */
static void filter(const char *printed, size_t piece, struct attached *attached, char *ret_log, size_t size)
{
	struct console_output output = { .fd = -1, .attached = note_attached, .ctx = attached };
	FILE *log = tmpfile();
	size_t len = strlen(printed), got;

	assert_non_null(log);
	output.log_fd = fileno(log);
	while (len) {
		size_t part = len < piece ? len : piece;

		console_filter(&output, printed, part);
		printed += part;
		len -= part;
	}
	rewind(log);
	got = fread(ret_log, 1, size - 1, log);
	ret_log[got] = '\0';
	fclose(log);
	text_done(&output.line);
}

TEST(counter_settings_are_not_logged)
{
	static const char printed[] = "parsing: net\nNetwork simulator ready.\n"
		"sim> S-1[3] PortCounters.PortXmitData has been set to 7\n"
		"sim> sim> Client 3: pid 4711 connected at \"H-1\" port 0x1, lid 2, qp 0 SM\n"
		"sim> # nodeid \"x\" not found\nsim> ";

	for (size_t piece = 1; piece < sizeof(printed); piece += 3) {
		struct attached attached = { 0 };
		char log[512];

		filter(printed, piece, &attached, log, sizeof(log));
		assert_int_equal(attached.count, 1);
		assert_int_equal(attached.client, 3);
		assert_int_equal(attached.pid, 4711);
		assert_string_equal(log, "parsing: net\nNetwork simulator ready.\nsim> # nodeid \"x\" not found\n");
	}
}

TEST(a_response_between_marks_is_logged_completely)
{
	struct attached attached = { 0 };
	char log[512];

	filter("sim> # ibwire-sim begin 1sim> Client 0: pid 1 connected\n"
	       "sim> # ibwire-sim end 1sim> simulator verbose level is 0\n"
	       "sim> Client 0: pid 1 connected\n", 512, &attached, log, sizeof(log));
	assert_int_equal(attached.count, 1);
	assert_non_null(strstr(log, "pid 1 connected\n"));
	assert_null(strstr(strstr(log, "verbose"), "pid 1"));
}

TEST(a_command_is_one_short_line)
{
	char longer[CONSOLE_MAX_LINE + 2];
	struct text response = { 0 };

	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	assert_int_equal(console_run("/nonexistent", "/nonexistent", longer, &response, NULL), ERR_USAGE);
	assert_int_equal(console_run("/nonexistent", "/nonexistent", "a\nb", &response, NULL), ERR_USAGE);
	assert_int_equal(console_run("/nonexistent", "/nonexistent", "Help", &response, NULL), ERR_UNAVAILABLE);
	text_done(&response);
}

/* A directory that is not empty is rejected; removing a directory removes its contents. */
TEST(a_run_directory_must_be_new_or_empty)
{
	char dir[PATH_MAX], again[PATH_MAX], path[PATH_MAX + 16], *chars;
	size_t len;

	assert_int_equal(rundir_create(NULL, dir, NULL), 0);
	assert_int_equal(rundir_create(dir, again, NULL), 0); /* empty */
	assert_string_equal(dir, again);
	assert_int_equal(rundir_write(dir, "file", "text", 4, NULL), 0);
	assert_int_equal(rundir_create(dir, again, NULL), ERR_IO);
	snprintf(path, sizeof(path), "%s/file", dir);
	assert_int_equal(rundir_read(path, &chars, &len, NULL), 0);
	assert_string_equal(chars, "text");
	free(chars);
	snprintf(path, sizeof(path), "%s/sys-12", dir);
	assert_int_equal(symlink(dir, path), 0);
	rundir_remove_sys(dir, 12); /* a symbolic link is not followed */
	assert_int_equal(access(path, F_OK), 0);
	rundir_remove(dir);
	assert_int_equal(access(dir, F_OK), -1);
}
