/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Commands that control a running simulation. They find it by the environment that run sets, or cmd_join(). */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/text.h"
#include "sim/cmd.h"
#include "sim/control.h"
#include "sim/ibsim/console.h"
#include "sim/ibsim/programs.h"
#include "sim/launch.h"
#include "sim/relay/relay.h"
#include "sim/rundir.h"
#include "sim/traffic/driver.h"

#define OPENSM_TIMEOUT_US (60 * US_PER_S)

static int need_env(const char *name, const char **ret, struct error *err)
{
	*ret = getenv(name);
	if (*ret && **ret)
		return 0;
	return err_set(err, ERR_UNAVAILABLE, "%s is not set: run this command within ibwire-sim run", name);
}

/* Variable of the shells of exec: the simulation's name. */
#define IN_SHELL "IBWIRE_SIM_SHELL"

/* --- joining a simulation --- */

/* The list of sockets, with @ for a NUL in names. Source: proc(5), /proc/pid/net/unix. */
#define SOCKETS "/proc/net/unix"

/* Read the environment of a simulation. @apply: set it. Return: whether it runs and belongs to this user. */
static bool join(const char *name, bool apply)
{
	struct text response = { 0 };
	char *line, *rest = NULL;
	bool own = false;

	if (control_send(name, LAUNCH_CONTROL_PART, LAUNCH_CONTROL_ENVIRONMENT, "", &response, NULL) < 0 ||
	    !response.chars)
		return false;
	for (line = strtok_r(response.chars, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		char *value = strchr(line, '=');

		if (!value)
			continue;
		*value++ = '\0';
		if (!strcmp(line, "IBWIRE_SIM_DIR"))
			own = access(value, W_OK | X_OK) == 0;
		if (apply && setenv(line, value, 1) < 0)
			own = false;
	}
	text_done(&response);
	return own;
}

/* List the names of the user's simulations, each followed by a space. */
static void find_simulations(struct text *names)
{
	struct text sockets = { 0 };
	char *line, *rest = NULL;

	/* Without the file there are none to be found. */
	if (text_read_file(SOCKETS, "", TEXT_FABRIC_MOST, &sockets, NULL) < 0)
		return;
	for (line = strtok_r(sockets.chars, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		char *name = strstr(line, "@ibwire-"), *end = name ? strchr(name, ':') : NULL;

		if (!end || strcmp(end + 1, LAUNCH_CONTROL_PART "@"))
			continue;
		*end = '\0';
		/* A connection has the name of its listening socket. */
		if (!strstr(text_chars(names), name + 1) && join(name + 1, false))
			text_appendf(names, "%s ", name + 1);
	}
	text_done(&sockets);
}

int cmd_join(struct error *err)
{
	const char *dir = getenv("IBWIRE_SIM_DIR"), *wanted = getenv("IBSIM_SOCKNAME");
	struct text names = { 0 };
	char name[64];
	int code = 0;

	if (dir && *dir && wanted && getenv("IBWIRE_SIM_CONSOLE"))
		return 0;
	if (wanted && *wanted)
		text_appendf(&names, "%s ", wanted);
	else
		find_simulations(&names);
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(text_chars(&names), " "), text_chars(&names));
	if (!*name)
		code = err_set(err, ERR_UNAVAILABLE, "no simulation is running: start one with ./quickstart or "
			       "ibwire-sim run");
	else if (text_chars(&names)[strlen(name) + 1])
		code = err_set(err, ERR_USAGE, "several simulations are running: select one with IBSIM_SOCKNAME=NAME; "
			       "names: %s", text_chars(&names));
	else if (!join(name, true))
		code = err_set(err, ERR_UNAVAILABLE, "the simulation %s has ended", name);
	text_done(&names);
	return code;
}

void cmd_add_own_directory(void)
{
	const char *old = getenv("PATH");
	char own[PATH_MAX], *slash;
	struct text path = { 0 };
	ssize_t len = readlink("/proc/self/exe", own, sizeof(own) - 1);

	own[len > 0 ? len : 0] = '\0';
	slash = strrchr(own, '/');
	if (!slash)
		return;
	text_appendf(&path, "%.*s%s%s", (int)(slash - own), own, old ? ":" : "", old ? old : "");
	if (!text_failed(&path) && setenv("PATH", text_chars(&path), 1) < 0)
		log_warning("cannot set PATH: %s", strerror(errno));
	text_done(&path);
}

/*
 * A shell whose prompt has the name of the simulation. bash reads a file of its own, which reads that of the user;
 * other shells may replace the prompt.
 */
static int run_shell(const char *name, struct error *err)
{
	const char *shell = getenv("SHELL"), *dir = getenv("IBWIRE_SIM_DIR"), *slash, *end;
	char rc[PATH_MAX], prompt[96], line[160];
	char *const argv[] = { (char *)(uintptr_t)(shell && *shell ? shell : "/bin/sh"), NULL };
	char *const bash[] = { argv[0], (char *)(uintptr_t) "--rcfile", rc, (char *)(uintptr_t) "-i", NULL };

	slash = strrchr(argv[0], '/');
	/* "demo-4711" of "ibwire-demo-4711-0a1b2c" */
	name += strncmp(name, "ibwire-", 7) ? 0 : 7;
	end = strrchr(name, '-');
	snprintf(prompt, sizeof(prompt), "(%.*s) \\w\\$ ", end ? (int)(end - name) : 63, name);
	snprintf(rc, sizeof(rc), "%s/bashrc", dir);
	snprintf(line, sizeof(line), "[ -f ~/.bashrc ] && . ~/.bashrc\nPS1='%s'\n", prompt);
	if (setenv(IN_SHELL, name, 1) < 0 || setenv("PS1", strstr(argv[0], "bash") ? prompt : "(simulation) $ ", 1) < 0)
		return err_nomem(err);
	printf("a shell in the simulation %s: ibwire shows it, exit leaves it\n", name);
	fflush(stdout);
	if (!strcmp(slash ? slash + 1 : argv[0], "bash") && rundir_write(NULL, rc, line, strlen(line), NULL) == 0)
		execvp(bash[0], bash);
	execvp(argv[0], argv);
	return err_set(err, ERR_USAGE, "cannot run the shell %s: %s", argv[0], strerror(errno));
}

int cmd_exec(int argc, char **argv, struct error *err)
{
	const char *name = getenv("IBSIM_SOCKNAME"), *shell = getenv(IN_SHELL);
	char *const *command = argv + 1 + (argc > 1 && !strcmp(argv[1], "--"));

	cmd_add_own_directory();
	if (!*command && shell && *shell)
		return err_set(err, ERR_USAGE, "this shell is in the simulation %s already: exit leaves it", shell);
	if (!*command)
		return run_shell(name ? name : "", err);
	execvp(*command, command);
	return err_set(err, ERR_USAGE, "cannot run the command %s: %s", *command, strerror(errno));
}

/* --- commands --- */

/* Send a command to a process of the simulation and print the response. */
static int send_command(control_function *send, const char *command, struct error *err)
{
	struct text response = { 0 };
	const char *sockname;
	int code = need_env("IBSIM_SOCKNAME", &sockname, err);

	if (code == 0)
		code = send(sockname, command, &response, err);
	if (code == 0)
		fputs(text_chars(&response), stdout);
	text_done(&response);
	return code;
}

int cmd_traffic(int argc, char **argv, struct error *err)
{
	if (argc != 2)
		return err_set(err, ERR_USAGE, "usage: ibwire-sim traffic pause|resume|truth|status");
	return send_command(driver_control, argv[1], err);
}

/* @settings: NULL to print the current ones */
static int send_settings(const char *what, const char *settings, struct error *err)
{
	struct text command = { 0 };
	int code;

	text_appendf(&command, "%s%s%s", what, settings ? " " : "", settings ? settings : "");
	code = text_failed(&command) ? err_nomem(err) : send_command(relay_control, text_chars(&command), err);
	text_done(&command);
	return code;
}

int cmd_wire(int argc, char **argv, struct error *err)
{
	if (argc > 2)
		return err_set(err, ERR_USAGE, "usage: ibwire-sim wire ['latency=20us service=100us hold=1s "
			       "loss=0 dead=NODES locked=NODES'] (one argument)");
	return send_settings("wire", argc == 2 ? argv[1] : NULL, err);
}

int cmd_pma(int argc, char **argv, struct error *err)
{
	if (argc != 2)
		return err_set(err, ERR_USAGE, "usage: ibwire-sim pma 'NODES caps=0x5300 caps2=0x2 tick=7 ...' "
			       "(one argument)");
	return send_settings("pma", argv[1], err);
}

/* Send a command to the launcher. @ret_pid: opensm's process, 0 if it is not running */
static int control_launcher(const char *sockname, const char *command, long *ret_pid, struct error *err)
{
	struct text response = { 0 };
	int code = control_send(sockname, LAUNCH_CONTROL_PART, command,
				"the launcher does not respond: has the simulation ended?", &response, err);

	if (code == 0)
		*ret_pid = strtol(text_chars(&response), NULL, 10);
	text_done(&response);
	return code;
}

int cmd_control_opensm(const char *sockname, const char *dir, const char *command, long *ret_pid, struct error *err)
{
	const struct timespec interval = { .tv_nsec = 20000000 };
	const struct clock *clock = clock_system();
	bool stops = !strcmp(command, "stop"), starts = !strcmp(command, "start") || !strcmp(command, "restart");
	unsigned count_before = opensm_subnet_up_count(dir);
	int64_t deadline_us = clock_boottime_us(clock) + OPENSM_TIMEOUT_US;
	int code = control_launcher(sockname, command, ret_pid, err);

	while (code == 0 && (stops || starts)) {
		code = control_launcher(sockname, "status", ret_pid, err);
		if (code == 0 && (stops ? !*ret_pid : opensm_subnet_up_count(dir) > count_before))
			break;
		if (code == 0 && clock_boottime_us(clock) > deadline_us)
			code = err_set(err, ERR_UNAVAILABLE, "opensm did not %s within a minute: see %s/" OPENSM_LOG,
				       stops ? "end" : "bring the subnet up", dir);
		nanosleep(&interval, NULL);
	}
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
		code = cmd_control_opensm(sockname, dir, argv[1], &pid, err);
	if (code == 0 && pid)
		printf("opensm is running: process %ld\n", pid);
	else if (code == 0)
		puts("opensm is not running");
	return code;
}

int cmd_console(int argc, char **argv, struct error *err)
{
	struct text output = { 0 };
	const char *fifo, *dir;
	int code;

	if (argc != 2)
		return err_set(err, ERR_USAGE, "usage: ibwire-sim console 'COMMAND' (Help lists ibsim's commands)");
	code = need_env("IBWIRE_SIM_CONSOLE", &fifo, err);
	if (code == 0)
		code = need_env("IBWIRE_SIM_DIR", &dir, err);
	if (code == 0)
		code = console_run(fifo, dir, argv[1], &output, err);
	if (code == 0)
		fputs(text_chars(&output), stdout);
	text_done(&output);
	return code;
}
