/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* stop_test.c - who is asked to end may finish, and ends in any case */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/stop.h"

static void pause_ms(long ms)
{
	struct timespec left = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	while (nanosleep(&left, &left) < 0)
		;
}

/* A process that never comes back from where it is, or that finishes: it ends with status 7 then. */
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

static void who_is_asked_to_end_finishes_first(void **state)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };

	(void)state;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		pid_t pid = start(true, 100);
		int status;

		kill(pid, numbers[i]);
		status = end_of(pid);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 7);
	}
}

static void who_does_not_come_back_ends_in_time(void **state)
{
	pid_t pid = start(false, 1);
	int64_t asked_us;
	int status;

	(void)state;
	pause_ms(1200);
	assert_true(lives(pid)); /* nobody asked yet */
	asked_us = now_us();
	kill(pid, SIGTERM);
	status = end_of(pid);
	/* It had its second, however late this process comes to look. */
	assert_true(now_us() - asked_us >= US_PER_S);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), -ERR_UNAVAILABLE);
}

static void a_second_wish_ends_at_once_and_an_echo_does_not(void **state)
{
	pid_t pid = start(false, 0);
	int64_t asked_us = now_us();
	int status = 0;

	(void)state;
	kill(pid, SIGINT);
	/* Echoes first, and a second wish in the end: where the one becomes the other a busy machine may decide. */
	while (waitpid(pid, &status, WNOHANG) == 0 && now_us() - asked_us < 100 * US_PER_S) {
		kill(pid, SIGTERM);
		pause_ms(20);
	}
	assert_true(now_us() - asked_us >= US_PER_S);
	if (lives(pid))
		kill(pid, SIGKILL);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGTERM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_is_asked_to_end_finishes_first),
		cmocka_unit_test(who_does_not_come_back_ends_in_time),
		cmocka_unit_test(a_second_wish_ends_at_once_and_an_echo_does_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
