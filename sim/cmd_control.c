/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The commands that are used within a simulation: they find it by its environment. */
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/text.h"
#include "sim/cmd.h"
#include "sim/ibsim/console.h"
#include "sim/launch.h"
#include "sim/traffic/driver.h"

static int need_env(const char *name, const char **ret, struct error *err)
{
	*ret = getenv(name);
	if (*ret && **ret)
		return 0;
	return err_set(err, ERR_UNAVAILABLE, "%s is not set: this works within ibwire-sim run", name);
}

int cmd_traffic(int argc, char **argv, struct error *err)
{
	struct text answer = { 0 };
	const char *sockname;
	int code;

	if (argc != 2)
		return err_set(err, ERR_USAGE, "usage: ibwire-sim traffic pause|resume|truth|status");
	code = need_env("IBSIM_SOCKNAME", &sockname, err);
	if (code == 0)
		code = driver_control(sockname, argv[1], &answer, err);
	if (code == 0)
		fputs(text_chars(&answer), stdout);
	text_done(&answer);
	return code;
}

int cmd_opensm(int argc, char **argv, struct error *err)
{
	const char *sockname, *dir;
	long pid = 0;
	int code;

	if (argc != 2)
		return err_set(err, ERR_USAGE, "usage: ibwire-sim opensm stop|start|restart|status");
	code = need_env("IBSIM_SOCKNAME", &sockname, err);
	if (code == 0)
		code = need_env("IBWIRE_SIM_DIR", &dir, err);
	if (code == 0)
		code = launch_control_opensm(sockname, dir, argv[1], &pid, err);
	if (code == 0 && pid)
		printf("opensm runs: process %ld\n", pid);
	else if (code == 0)
		puts("opensm does not run");
	return code;
}

int cmd_console(int argc, char **argv, struct error *err)
{
	struct text answer = { 0 };
	const char *fifo, *dir;
	int code;

	if (argc != 2)
		return err_set(err, ERR_USAGE, "usage: ibwire-sim console 'COMMAND' (Help lists ibsim's commands)");
	code = need_env("IBWIRE_SIM_CONSOLE", &fifo, err);
	if (code == 0)
		code = need_env("IBWIRE_SIM_DIR", &dir, err);
	if (code == 0)
		code = console_ask(fifo, dir, argv[1], &answer, err);
	if (code == 0)
		fputs(text_chars(&answer), stdout);
	text_done(&answer);
	return code;
}
