/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* child_command_test.c - output and exit status of background commands; no process remains */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/child_command.h"
#include "base/unit_test.h"

static void start(struct child_command *run, const char *script)
{
	const char *const argv[] = { "sh", "-c", script, NULL };

	assert_int_equal(child_command_start(run, "/bin/sh", argv, false, NULL), 0);
}

static void wait_end(struct child_command *run)
{
	for (int i = 0; i < 3000 && !run->ended; i++) {
		child_command_poll(run);
		usleep(10000);
	}
	assert_true(run->ended);
}

static void wait_output(struct child_command *run)
{
	for (int i = 0; i < 3000 && !run->output.len; i++) {
		child_command_poll(run);
		usleep(10000);
	}
}

TEST(output_of_both_streams_and_the_exit_status_are_kept)
{
	static const struct { const char *script, *output; int exit_status; } cases[] = {
		{ "echo one; echo two >&2; cat; exit 3", "one\ntwo\n", 3 },
		/* A NUL does not end the text. */
		{ "printf 'a\\000b'", "a b", 0 },
		{ "kill -9 $$", "", 128 + SIGKILL },
	};
	struct child_command run = { 0 };

	assert_false(child_command_poll(&run));
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		start(&run, cases[i].script);
		wait_end(&run);
		assert_string_equal(text_chars(&run.output), cases[i].output);
		assert_int_equal(run.exit_status, cases[i].exit_status);
		assert_false(child_command_poll(&run));
		child_command_stop(&run, COMMAND_WAIT_MS);
		assert_int_equal(run.pid, 0);
	}
}

TEST(output_without_end_is_cut_and_the_command_still_ends)
{
	struct child_command run = { 0 };

	start(&run, "i=0; while [ $i -lt 6000 ]; do printf '%01000d' 0; i=$((i + 1)); done; exit 5");
	wait_end(&run);
	assert_int_equal(run.output.len, COMMAND_OUTPUT_MOST);
	assert_int_equal(run.exit_status, 5);
	child_command_stop(&run, COMMAND_WAIT_MS);
}

TEST(last_line_is_complete_and_without_the_program_name)
{
	struct child_command run = { 0 };
	const char *const argv[] = { "sh", "-c", "echo first; echo 'ibwire: second' >&2; printf third >&2; cat", NULL };
	char line[64] = "";

	assert_int_equal(child_command_start(&run, "/bin/sh", argv, true, NULL), 0);
	wait_end(&run);
	assert_string_equal(text_chars(&run.output), "ibwire: second\nthird");
	run.ended = false;
	assert_false(child_command_last_line(&run, line, sizeof(line)));
	run.output.len -= strlen("third");
	assert_true(child_command_last_line(&run, line, sizeof(line)));
	assert_string_equal(line, "second");
	run.ended = true;
	child_command_stop(&run, COMMAND_WAIT_MS);
}

TEST(a_poll_does_not_wait)
{
	struct child_command run = { 0 };

	start(&run, "sleep 100");
	for (int i = 0; i < 50; i++)
		assert_false(child_command_poll(&run));
	assert_false(run.ended);
	child_command_stop(&run, COMMAND_WAIT_MS);
}

TEST(a_command_that_ignores_sigterm_is_killed)
{
	struct child_command run = { 0 };
	pid_t pid;

	start(&run, "trap '' TERM; echo ready; while :; do sleep 1; done");
	wait_output(&run);
	assert_string_equal(text_chars(&run.output), "ready\n");
	pid = run.pid;
	child_command_stop(&run, COMMAND_WAIT_MS);
	assert_int_equal(waitpid(pid, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	assert_int_equal(kill(pid, 0), -1);
	child_command_stop(&run, COMMAND_WAIT_MS);
}

/* The shell ends at SIGTERM; its child ignores it. */
TEST(a_stop_kills_the_process_group)
{
	struct child_command run = { 0 };
	pid_t other;
	int status;

	/* Orphans become children of this process, which can wait for them. */
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	start(&run, "trap '' TERM; sleep 20 & trap - TERM; echo $!; wait");
	wait_output(&run);
	other = (pid_t)strtol(text_chars(&run.output), NULL, 10);
	assert_true(other > 0);
	child_command_stop(&run, COMMAND_WAIT_MS);
	assert_int_equal(waitpid(other, &status, 0), other);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGKILL);
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0), 0);
}

TEST(a_second_start_ends_the_first)
{
	struct child_command run = { 0 };
	pid_t first;

	start(&run, "echo first; sleep 100");
	first = run.pid;
	start(&run, "echo second");
	assert_int_equal(waitpid(first, NULL, WNOHANG), -1);
	wait_end(&run);
	assert_string_equal(text_chars(&run.output), "second\n");
	child_command_stop(&run, COMMAND_WAIT_MS);
}

TEST(a_failed_start_is_reported)
{
	const char *const argv[] = { "ibwire", NULL };
	struct child_command run = { 0 };
	struct error err = { 0 };

	assert_int_equal(child_command_start(&run, NULL, argv, false, &err), ERR_UNAVAILABLE);
	assert_true(err.text[0]);
	assert_int_equal(child_command_start(&run, "/nonexistent/program", argv, false, NULL), 0);
	wait_end(&run);
	assert_int_equal(run.exit_status, 127);
	child_command_stop(&run, COMMAND_WAIT_MS);
}
