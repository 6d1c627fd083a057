/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/stop.h"

#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"

/* One stop may send several signals (Ctrl-C to a group, SIGTERM by the parent). Later ones are a second request. */
#define SECOND_REQUEST_S 1

static volatile sig_atomic_t stop_flag;
static volatile sig_atomic_t reload_flag;
static volatile sig_atomic_t within_s; /* 0: unlimited */
static struct timespec requested_at;   /* CLOCK_MONOTONIC; used only by the handler, whose signals block each other */

static bool is_second_request(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec - requested_at.tv_sec > SECOND_REQUEST_S ||
	       (now.tv_sec - requested_at.tv_sec == SECOND_REQUEST_S && now.tv_nsec >= requested_at.tv_nsec);
}

/* Uses only async-signal-safe functions. */
static void on_signal(int number)
{
	if (!stop_flag) {
		clock_gettime(CLOCK_MONOTONIC, &requested_at);
		stop_flag = number; /* of a signal, so not 0 */
		if (within_s)
			alarm((unsigned)within_s);
	} else if (is_second_request()) {
		signal(number, SIG_DFL);
		raise(number); /* ends the process when this handler returns */
	}
}

/* Not exit(): its handlers may also wait for the blocked call. */
static void on_alarm(int number)
{
	static const char line[] = "ibwire: the shutdown did not complete in time and was aborted (a device or a "
				   "locked database does not respond?); stored data is safe\n";
	ssize_t written = write(STDERR_FILENO, line, sizeof(line) - 1);

	(void)number;
	(void)written; /* a failure cannot be reported */
	_exit(-ERR_UNAVAILABLE);
}

void stop_install(void)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = on_signal;
	sigemptyset(&action.sa_mask);
	sigaddset(&action.sa_mask, SIGINT);
	sigaddset(&action.sa_mask, SIGTERM);
	sigaddset(&action.sa_mask, SIGHUP);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	action.sa_handler = on_alarm;
	sigaction(SIGALRM, &action, NULL);
	action.sa_handler = SIG_IGN;
	sigaction(SIGPIPE, &action, NULL);
	sigaction(SIGXFSZ, &action, NULL);
}

void stop_within(unsigned seconds)
{
	within_s = (sig_atomic_t)seconds;
	/* A signal between these two lines has set the same alarm. */
	if (stop_flag)
		alarm(seconds);
}

static void on_hangup(int number)
{
	(void)number;
	reload_flag = 1;
}

void stop_reload_on_hangup(void)
{
	struct sigaction action = { .sa_handler = on_hangup };
	int terminal = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);

	if (terminal >= 0)
		close(terminal);
	else
		sigaction(SIGHUP, &action, NULL);
}

bool stop_take_reload(void)
{
	bool requested = reload_flag;

	reload_flag = 0;
	return requested;
}

bool stop_requested(void)
{
	return stop_flag != 0;
}

int stop_signal(void)
{
	return stop_flag;
}
