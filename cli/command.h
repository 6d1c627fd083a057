/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* command.h - the table of sub-commands */
#ifndef IBWIRE_CLI_COMMAND_H
#define IBWIRE_CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

struct error;

struct command {
	const char *name;
	const char *args;    /* for the usage line: "[NAME|NAME/PORT ...]", "" */
	const char *summary; /* one line for 'ibwire help' */
	bool hidden;         /* not listed: run by ibwire itself */
	/*
	 * @argv:  argv[0] is the command's name
	 * Return: 0, a positive exit status that is not an error (health: 1, 2), or one of
	 * ERR_* with @err filled in, which main() prints before it exits.
	 */
	int (*run)(const struct command *command, int argc, char **argv, struct error *err);
};

/* commands_all - the table; the last entry has a NULL name. */
const struct command *commands_all(void);

/* command_find - Return: the command with this name, or NULL. */
const struct command *command_find(const char *name);

/*
 * command_unknown - error for an unknown command, with the nearest match and the usage
 * Return: ERR_USAGE.
 */
int command_unknown(const char *name, struct error *err);

/* The commands, each in a file or folder of its name. */
int balance_run(const struct command *command, int argc, char **argv, struct error *err);
int clear_run(const struct command *command, int argc, char **argv, struct error *err);
int collect_run(const struct command *command, int argc, char **argv, struct error *err);
int database_run(const struct command *command, int argc, char **argv, struct error *err);
int discover_run(const struct command *command, int argc, char **argv, struct error *err);
int events_run(const struct command *command, int argc, char **argv, struct error *err);
int health_run(const struct command *command, int argc, char **argv, struct error *err);
int help_run(const struct command *command, int argc, char **argv, struct error *err);
int history_run(const struct command *command, int argc, char **argv, struct error *err);
int links_run(const struct command *command, int argc, char **argv, struct error *err);
int names_run(const struct command *command, int argc, char **argv, struct error *err);
int nodes_run(const struct command *command, int argc, char **argv, struct error *err);
int ports_run(const struct command *command, int argc, char **argv, struct error *err);
int report_run(const struct command *command, int argc, char **argv, struct error *err);
int snapshot_run(const struct command *command, int argc, char **argv, struct error *err);
int sql_run(const struct command *command, int argc, char **argv, struct error *err);
int status_run(const struct command *command, int argc, char **argv, struct error *err);
int topology_run(const struct command *command, int argc, char **argv, struct error *err);
int top_run(const struct command *command, int argc, char **argv, struct error *err);

#endif
