/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* cmd.h - the sub-commands of ibwire-sim and their shared functions */
#ifndef IBWIRE_SIM_CMD_H
#define IBWIRE_SIM_CMD_H

#include <stdbool.h>

struct error;
struct fabric;

struct command {
	const char *name;
	const char *arguments; /* for the usage message */
	const char *summary;
	bool joins; /* it needs a running simulation: cmd_join() is called before it */
	void (*help)(void); /* prints more, for --help; NULL: nothing */
	/* Return: the exit status, or a negative code with @err set. */
	int (*run)(int argc, char **argv, struct error *err);
};

int cmd_net(int argc, char **argv, struct error *err);
int cmd_mend(int argc, char **argv, struct error *err);
int cmd_run(int argc, char **argv, struct error *err);
int cmd_traffic(int argc, char **argv, struct error *err);
int cmd_wire(int argc, char **argv, struct error *err);
int cmd_pma(int argc, char **argv, struct error *err);
int cmd_opensm(int argc, char **argv, struct error *err);
int cmd_routes(int argc, char **argv, struct error *err);
int cmd_console(int argc, char **argv, struct error *err);
int cmd_exec(int argc, char **argv, struct error *err);
int cmd_break(int argc, char **argv, struct error *err);
int cmd_repair(int argc, char **argv, struct error *err);
int cmd_play(int argc, char **argv, struct error *err);
int cmd_story(int argc, char **argv, struct error *err);
void cmd_break_help(void);
void cmd_story_help(void);

/* cmd_add_own_directory - put the directory of ibwire-sim first in PATH: for an ibwire that is not installed */
void cmd_add_own_directory(void);

/*
 * cmd_join - set the environment of the running simulation, as for the command of ibwire-sim run
 * The simulation is that of $IBSIM_SOCKNAME, else the only one of this user; no effect within ibwire-sim run.
 * Return: 0; ERR_UNAVAILABLE if there is none; ERR_USAGE if there are several (the text lists them).
 */
int cmd_join(struct error *err);

/* cmd_load_fabric - read the fabric of a simulation. @dir: $IBWIRE_SIM_DIR. Return: 0, or an error. */
int cmd_load_fabric(const char *dir, struct fabric **ret, struct error *err);

/*
 * cmd_control_opensm - send a command for opensm to the launcher, and wait until it has taken effect
 * @sockname:  $IBSIM_SOCKNAME
 * @dir:       $IBWIRE_SIM_DIR
 * @command:   "stop", "start", "restart", "status"
 * @ret_pid:   opensm's process, 0 if it is not running
 *
 * Return: 0; ERR_USAGE; ERR_UNAVAILABLE if the launcher does not respond, or after a minute.
 */
int cmd_control_opensm(const char *sockname, const char *dir, const char *command, long *ret_pid, struct error *err);

#endif
