/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What tells a running launcher something: it waits here, so that the launcher needs not. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "sim/control.h"
#include "sim/ibsim/opensm.h"
#include "sim/launch.h"

#define PATIENCE_US (60 * US_PER_S)

static int tell(const char *sockname, const char *command, long *ret_pid, struct error *err)
{
	struct text answer = { 0 };
	int code = control_ask(sockname, LAUNCH_CONTROL_PART, command,
			       "no launcher answers here: is the simulation over?", &answer, err);

	if (code == 0)
		*ret_pid = strtol(text_chars(&answer), NULL, 10);
	text_done(&answer);
	return code;
}

int launch_control_opensm(const char *sockname, const char *dir, const char *command, long *ret_pid,
			  struct error *err)
{
	const struct timespec nap = { .tv_nsec = 20000000 };
	const struct clock *clock = clock_system();
	bool stops = !strcmp(command, "stop"), starts = !strcmp(command, "start") || !strcmp(command, "restart");
	unsigned times_up = opensm_times_up(dir);
	int64_t until_us = clock_boottime_us(clock) + PATIENCE_US;
	long pid = 0;
	int code = tell(sockname, command, &pid, err);

	while (code == 0 && (stops || starts)) {
		code = tell(sockname, "status", &pid, err);
		if (code == 0 && (stops ? !pid : opensm_times_up(dir) > times_up))
			break;
		if (code == 0 && clock_boottime_us(clock) > until_us)
			code = err_set(err, ERR_UNAVAILABLE, "opensm did not %s within a minute: see %s/" OPENSM_LOG,
				       stops ? "end" : "bring the subnet up", dir);
		nanosleep(&nap, NULL);
	}
	if (code == 0)
		*ret_pid = pid;
	return code;
}
