/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* command.h - the table of sub-commands */
#ifndef IBWIRE_CLI_COMMAND_H
#define IBWIRE_CLI_COMMAND_H

#include <stdbool.h>

#include "base/call.h"

struct command;
struct error;

/*
 * @argv:  argv[0] is the command's name
 * Return: 0, a positive exit status that is not an error (health: 1, 2), or one of ERR_* with @err
 * filled in, which main() prints before it exits.
 */
typedef int command_function(const struct command *command, int argc, char **argv, struct error *err);

struct command {
	const char *name;
	const char *args;    /* for the usage line: "[NAME|NAME/PORT ...]", "" */
	const char *summary; /* one line for 'ibwire help' */
	bool hidden;         /* not listed: run by ibwire itself */
	command_function *run;
	struct call_context call; /* set by command_call() in a copy of the entry */
};

/* commands_all - the table; the last entry has a NULL name. */
const struct command *commands_all(void);

/* command_find - Return: the command with this name, or NULL. */
const struct command *command_find(const char *name);

/*
 * command_call - run a command in a thread of another one; a call_fn of base/call.h
 * For commands that only read the database. Nothing is paged or coloured by default.
 */
int command_call(const struct call_context *context, int argc, char **argv, struct error *err);

/*
 * command_unknown - error for an unknown command, with the nearest match
 * Return: ERR_USAGE.
 */
int command_unknown(const char *name, struct error *err);

/* The commands, each in a file or folder of its name. */
command_function alert_run, balance_run, clear_run, collect_run, coverage_run, database_run, discover_run,
		 doctor_run, errors_run, events_run, health_run, help_run, history_run, import_run, job_run, links_run,
		 metrics_run, names_run, nodes_run, ports_run, push_run, report_run, run_run, snapshot_run,
		 sql_run, status_run, top_run, topology_run, what_if_run;

#endif
