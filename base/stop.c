/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/stop.h"

#include <signal.h>
#include <stddef.h>
#include <string.h>

static volatile sig_atomic_t stop_flag;

static void on_signal(int number)
{
	(void)number;
	stop_flag = 1;
}

void stop_install(void)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = on_signal;
	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	action.sa_handler = SIG_IGN;
	sigaction(SIGPIPE, &action, NULL);
	sigaction(SIGXFSZ, &action, NULL);
}

bool stop_requested(void)
{
	return stop_flag != 0;
}
