/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/command.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "cli/lib/nearest.h"
#include "cli/lib/options.h"

static const struct command commands[] = {
	{ "status", "", "can I trust it: live or not, coverage, silent nodes, SM, age, size, cost", false, status_run },
	{ "collect", "", "poll the fabric and store what its counters did, in the foreground", false, collect_run },
	{ "top", "", "the screen: the fabric now, with a collector of its own where none runs", false, top_run },
	{ "nodes", "[NODE|HOST ...]", "the fabric's nodes: type, LIDs, ports, device, state", false, nodes_run },
	{ "ports", "[NODE|NODE/PORT|HOST ...]",
	  "ports with state, speed, rates, stall (an estimate), errors, age of the reading", false, ports_run },
	{ "links", "[NODE|NODE/PORT|HOST ...]", "links with both ends: state, speed, rates and errors each way", false,
	  links_run },
	{ "balance", "[NODE|NODE/PORT ...]",
	  "is load spread over uplinks as it could be: measured beside what the routes predict, and why not", false,
	  balance_run },
	{ "topology", "show|save FILE|diff FILE|dot|route A B",
	  "what the fabric is built like; what changed since it was saved; the route between two ends", false,
	  topology_run },
	{ "names", "suggest", "a node-name-map for switches without a name, by tier and rail", false, names_run },
	{ "events", "[NODE]", "what happened, when", false, events_run },
	{ "health", "[NODE|NODE/PORT|HOST ...]|ack ID ...|unack ID ...",
	  "what is wrong, since when, and why; exit status 1 warning, 2 critical", false, health_run },
	{ "history", "[NODE|NODE/PORT|HOST|'NODE uplinks'|hosts|all ...]",
	  "over time: traffic, utilization, stall, errors of ports, or of all together; --top", false, history_run },
	{ "report", "NODE|NODE/PORT", "all about one link, port or node on one page: state, findings, errors, events",
	  false, report_run },
	{ "clear", "NODE|NODE/PORT ...|all", "set counters back to zero on the fabric: asks first, and writes", false,
	  clear_run },
	{ "db", "[check|compact|backup FILE|export FILE]",
	  "what the database keeps, since when, sizes; look for damage, compact, copy", false, database_run },
	{ "snapshot", "take NAME|list|diff [A [B]]|remove NAME",
	  "all counters of all ports at one time, and what was counted between two", false, snapshot_run },
	{ "sql", "STATEMENT|-", "one read-only SQL statement over the history", false, sql_run },
	{ "discover", "", "the fabric's nodes and ports as flat records: collect runs it", true, discover_run },
	{ "help", "[COMMAND]", "this list, or how to use one command", false, help_run },
	{ NULL, NULL, NULL, false, NULL },
};

const struct command *commands_all(void)
{
	return commands;
}

const struct command *command_find(const char *name)
{
	const struct command *command;

	for (command = commands; command->name; command++)
		if (!strcmp(command->name, name))
			return command;
	return NULL;
}

int command_unknown(const char *name, struct error *err)
{
	const struct command *command;
	struct nearest nearest;

	nearest_init(&nearest, name);
	for (command = commands; command->name; command++)
		if (!command->hidden)
			nearest_offer(&nearest, command->name);
	if (nearest.best)
		return err_set(err, ERR_USAGE,
			       "no command is called '%.64s': did you mean '%s'? (usage: ibwire COMMAND [options]; "
			       "'ibwire help' lists the commands)",
			       name, nearest.best);
	return err_set(err, ERR_USAGE,
		       "no command is called '%.64s' (usage: ibwire COMMAND [options]; 'ibwire help' lists the "
		       "commands)",
		       name);
}

static void print_commands(void)
{
	const struct command *command;

	printf("usage: ibwire COMMAND [options]\n"
	       "Watches an InfiniBand fabric at the wire, and keeps what it saw in SQLite.\n\n");
	for (command = commands_all(); command->name; command++)
		if (!command->hidden)
			printf("  %-10s %s\n", command->name, command->summary);
	printf("\n'ibwire help COMMAND' or 'ibwire COMMAND --help' shows its options; ibwire(1) tells the rest.\n");
}

int help_run(const struct command *command, int argc, char **argv, struct error *err)
{
	static char help_option[] = "--help";
	const struct command *about;
	struct options options;
	char *about_argv[3];
	int code = options_parse(command, 0, NULL, argc, argv, clock_wall_us(clock_system()), &options, err);

	if (code)
		return code < 0 ? code : 0;
	if (options.argc == 0) {
		print_commands();
		return 0;
	}
	if (options.argc > 1)
		return options_usage_error(command, err, "takes one command");
	about = command_find(options.argv[0]);
	if (!about || about->hidden)
		return command_unknown(options.argv[0], err);
	about_argv[0] = options.argv[0];
	about_argv[1] = help_option;
	about_argv[2] = NULL;
	return about->run(about, 2, about_argv, err);
}
