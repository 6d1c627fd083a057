/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Background commands: their output is bounded, their exit status is known, and none is left behind. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/child_command.h"
#include "base/unit_test.h"

static void start(struct child_command *run, const char *script)
{
	const char *const argv[] = { "sh", "-c", script, NULL };

	assert_int_equal(child_command_start(run, "/bin/sh", argv, 97, false, NULL), 0);
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
	struct child_command run = { 0 };
	char line[64] = "";

	assert_false(child_command_poll(&run));
	start(&run, "echo one; echo two >&2; echo $COLUMNS; cat; exit 3");
	wait_end(&run);
	assert_string_equal(text_chars(&run.output), "one\ntwo\n97\n");
	assert_true(child_command_last_line(&run, line, sizeof(line)));
	assert_string_equal(line, "97");
	assert_int_equal(run.exit_status, 3);
	assert_false(run.cut);
	assert_false(child_command_poll(&run));
	child_command_stop(&run, COMMAND_WAIT_MS);
	assert_int_equal(run.pid, 0);
}

TEST(output_without_end_is_cut_and_the_command_still_ends)
{
	struct child_command run = { 0 };

	start(&run, "i=0; while [ $i -lt 6000 ]; do printf '%01000d' 0; i=$((i + 1)); done; exit 5");
	wait_end(&run);
	assert_true(run.cut);
	assert_int_equal(run.output.len, COMMAND_OUTPUT_MOST);
	assert_int_equal(run.exit_status, 5);
	child_command_stop(&run, COMMAND_WAIT_MS);
}

TEST(last_line_is_complete_and_without_the_program_name)
{
	struct child_command run = { 0 };
	const char *const argv[] = { "sh", "-c", "echo first; echo 'ibwire: second' >&2; printf third >&2; cat", NULL };
	char line[64] = "";

	assert_int_equal(child_command_start(&run, "/bin/sh", argv, 0, true, NULL), 0);
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

TEST(bytes_of_zero_do_not_end_the_text)
{
	struct child_command run = { 0 };

	start(&run, "printf 'a\\000b'");
	wait_end(&run);
	assert_string_equal(text_chars(&run.output), "a b");
	child_command_stop(&run, COMMAND_WAIT_MS);
}

TEST(a_signal_is_reported_as_exit_status)
{
	struct child_command run = { 0 };

	start(&run, "kill -9 $$");
	wait_end(&run);
	assert_int_equal(run.exit_status, 128 + SIGKILL);
	child_command_stop(&run, COMMAND_WAIT_MS);
}

TEST(no_poll_waits_for_a_command_that_is_silent)
{
	struct child_command run = { 0 };
	bool waits = true;

	start(&run, "sleep 100");
	/* A machine that stands still may make it slow once, or twice. */
	for (int times = 0; times < 5 && waits; times++) {
		int64_t begin_us = clock_boottime_us(clock_system());

		for (int i = 0; i < 50; i++)
			assert_false(child_command_poll(&run));
		waits = clock_boottime_us(clock_system()) - begin_us >= 2 * US_PER_S;
	}
	assert_false(waits);
	child_command_stop(&run, COMMAND_WAIT_MS);
}

TEST(stopping_leaves_no_process_even_where_it_will_not_end)
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

/* The shell ends of SIGTERM at once and forgets the other, which does not listen. */
TEST(stopping_ends_what_the_command_started_too)
{
	struct child_command run = { 0 };
	pid_t other;
	int status;

	/* Whoever loses its parent becomes a child of this process, which can then wait for it. */
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

	assert_int_equal(child_command_start(&run, NULL, argv, 0, false, &err), ERR_UNAVAILABLE);
	assert_true(err.text[0]);
	assert_int_equal(child_command_start(&run, "/nonexistent/program", argv, 0, false, NULL), 0);
	wait_end(&run);
	assert_int_equal(run.exit_status, 127);
	child_command_stop(&run, COMMAND_WAIT_MS);
}
