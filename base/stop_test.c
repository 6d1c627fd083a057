/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* stop_test.c - termination by signals and its time limit */
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/stop.h"
#include "base/unit_test.h"

static void pause_ms(long ms)
{
	struct timespec left = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	while (nanosleep(&left, &left) < 0)
		;
}

/* Start a process that handles a stop and exits with status 7, or one that hangs. */
static pid_t start(bool finishes, unsigned within_s)
{
	int ready[2];
	pid_t pid;
	char c;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		close(STDERR_FILENO);
		stop_install();
		stop_within(within_s);
		if (write(ready[1], "", 1) != 1)
			_exit(1);
		while (!finishes || !stop_requested())
			pause_ms(10);
		_exit(7);
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static int end_of(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static int64_t now_us(void)
{
	return clock_boottime_us(clock_system());
}

static bool lives(pid_t pid)
{
	return waitpid(pid, NULL, WNOHANG) == 0;
}

TEST(process_completes_after_a_signal)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		pid_t pid = start(true, 100);
		int status;

		kill(pid, numbers[i]);
		status = end_of(pid);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 7);
	}
}

TEST(hanging_process_ends_at_the_time_limit)
{
	pid_t pid = start(false, 1);
	int64_t sent_us;
	int status;

	pause_ms(1200);
	assert_true(lives(pid)); /* no signal yet */
	sent_us = now_us();
	kill(pid, SIGTERM);
	status = end_of(pid);
	/* The limit of one second has passed. */
	assert_true(now_us() - sent_us >= US_PER_S);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), -ERR_UNAVAILABLE);
}

TEST(second_signal_ends_at_once_but_not_within_a_second)
{
	pid_t pid = start(false, 0);
	int64_t sent_us = now_us();
	int status = 0;

	kill(pid, SIGINT);
	/* Signals within a second are ignored, a later one ends the process. */
	while (waitpid(pid, &status, WNOHANG) == 0 && now_us() - sent_us < 100 * US_PER_S) {
		kill(pid, SIGTERM);
		pause_ms(20);
	}
	assert_true(now_us() - sent_us >= US_PER_S);
	if (lives(pid))
		kill(pid, SIGKILL);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGTERM);
}
