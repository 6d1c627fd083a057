/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/stop.h"

#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"

/* Signals of one wish come together (Ctrl-C to a group, its parent's SIGTERM). So much later it is another. */
#define SECOND_WISH_S 1

static volatile sig_atomic_t stop_flag;
static volatile sig_atomic_t within_s; /* 0: however long it takes */
static struct timespec asked_at;       /* CLOCK_MONOTONIC; of the handler alone, whose signals block each other */

static bool is_another_wish(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec - asked_at.tv_sec > SECOND_WISH_S ||
	       (now.tv_sec - asked_at.tv_sec == SECOND_WISH_S && now.tv_nsec >= asked_at.tv_nsec);
}

/* The rest is only what a signal handler may do. */
static void on_signal(int number)
{
	if (!stop_flag) {
		clock_gettime(CLOCK_MONOTONIC, &asked_at);
		stop_flag = 1;
		if (within_s)
			alarm((unsigned)within_s);
	} else if (is_another_wish()) {
		signal(number, SIG_DFL);
		raise(number); /* ends the process when this handler returns */
	}
}

/* No exit(): whoever does not come back may also be waited for there. */
static void on_alarm(int number)
{
	static const char line[] = "ibwire: ended, though not all of it came to its end in time (a device that answers "
				   "nothing?); what was stored is safe\n";
	ssize_t written = write(STDERR_FILENO, line, sizeof(line) - 1);

	(void)number;
	(void)written; /* there is nobody else to tell */
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

bool stop_requested(void)
{
	return stop_flag != 0;
}
