/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* control_test.c - a command whose connection timed out is sent again */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "base/unit_test.h"
#include "sim/control.h"

#define PART "test"

static char name[32];

/* Counts commands: none is run twice. */
static int handle_command(void *ctx, const char *command, struct text *response, struct error *err)
{
	unsigned *executed = ctx;

	if (!strcmp(command, "wrong"))
		return err_set(err, ERR_USAGE, "no such command");
	text_appendf(response, "%s %u", command, ++*executed);
	return 0;
}

/* Send two commands, in a process of its own. Return: an exit status that identifies the failed step. */
static int run_client(void)
{
	struct text response = { 0 };
	struct error err = { 0 };

	if (control_send(name, PART, "do", "no server", &response, &err) < 0)
		return 1;
	if (strcmp(text_chars(&response), "do 1"))
		return 2;
	if (control_send(name, PART, "wrong", "no server", &response, &err) != ERR_USAGE)
		return 3;
	text_done(&response);
	return 0;
}

TEST(a_connection_closed_before_reading_is_retried)
{
	unsigned executed = 0;
	int fd, status;
	pid_t child;

	snprintf(name, sizeof(name), "control-test-%ld", (long)getpid());
	assert_int_equal(control_listen(name, PART, &fd, NULL), 0);
	child = fork();
	assert_true(child >= 0);
	if (!child)
		_exit(run_client());
	alarm(100);
	for (int i = 0; i < 5; i++) {
		struct pollfd polled = { .fd = fd, .events = POLLIN };

		assert_int_equal(poll(&polled, 1, -1), 1);
		if (i < 3)
			close(accept(fd, NULL, NULL));
		else
			control_serve(fd, 50 * US_PER_S, handle_command, &executed);
	}
	alarm(0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(executed, 1);
	close(fd);
}

TEST(a_missing_server_is_reported)
{
	struct text response = { 0 };
	struct error err = { 0 };

	assert_int_equal(control_send("control-test-without-server", PART, "do", "no such server", &response, &err),
			 ERR_UNAVAILABLE);
	assert_string_equal(err.text, "no such server");
	text_done(&response);
}
