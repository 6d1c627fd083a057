/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/command.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "cli/lib/options.h"

static const struct command commands[] = {
	{ "status", "", "collector status: freshness, coverage, unresponsive nodes, SM, database", false, status_run },
	{ "collect", "", "poll the fabric and store counter deltas (foreground)", false, collect_run },
	{ "top", "", "interactive screen; starts a collector if none is running", false, top_run },
	{ "nodes", "[SUBJECT ...]", "list nodes: type, LIDs, ports, device, state", false, nodes_run },
	{ "ports", "[SUBJECT ...]", "list ports: state, speed, rates, XmitWait, errors, age", false, ports_run },
	{ "links", "[SUBJECT ...]", "list links with both ends: state, speed, rates, errors", false,
	  links_run },
	{ "balance", "[SUBJECT ...]",
	  "load balance over equivalent links: measured, predicted by routes, cause", false,
	  balance_run },
	{ "topology", "show|save FILE|diff FILE|dot|route A B",
	  "topology summary, baseline and differences, routes", false,
	  topology_run },
	{ "names", "suggest", "suggest a node-name-map for unnamed switches", false, names_run },
	{ "events", "[SUBJECT ...]", "list events", false, events_run },
	{ "health", "[SUBJECT ...]|ack ID ...|unack ID ...",
	  "list findings: what, since when, cause; exit status 1 warning, 2 critical", false, health_run },
	{ "history", "[SUBJECT ...]",
	  "counters over time, per port or summed; --top lists the top ports", false, history_run },
	{ "report", "SUBJECT", "one-page report of a port, link or node",
	  false, report_run },
	{ "metrics", "", "serve metrics to Prometheus, a page to browsers, and JSON, over HTTP", false, metrics_run },
	{ "push", "", "send stored sweeps to Prometheus remote write; the database is the queue", false, push_run },
	{ "clear", "SUBJECT ...", "reset counters to zero on the fabric (writes; asks for "
		"confirmation)", false,
	  clear_run },
	{ "db", "[check|compact|backup FILE|export FILE]",
	  "database contents and sizes; check, compact, backup, export", false, database_run },
	{ "snapshot", "take NAME|list|diff [A [B]]|remove NAME",
	  "store all counters at one time; compare two snapshots", false, snapshot_run },
	{ "job", "begin ID|end ID|list|report ID|compare [ID] ID|remove ID",
	  "record jobs, and report their traffic, evenness and errors", false, job_run },
	{ "run", "-- COMMAND ...",
	  "run a command as a job, and report its traffic", false, run_run },
	{ "doctor", "", "check this host for RDMA: HCAs, links, GPUs, limits; exit status 1 warning, 2 failure", false,
	  doctor_run },
	{ "sql", "STATEMENT|-", "run one read-only SQL statement", false, sql_run },
	{ "discover", "", "discovery helper of collect: prints nodes and ports as records", true, discover_run },
	{ "help", "[COMMAND]", "list commands, or show the options of one", false, help_run },
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
	return err_set(err, ERR_USAGE, "unknown command '%.64s'%s (see ibwire help)", name, nearest_hint(&nearest));
}

static void print_commands(void)
{
	const struct command *command;

	printf("usage: ibwire COMMAND [options]\n"
	       "Monitors an InfiniBand fabric in-band and stores its counters in SQLite.\n\n");
	for (command = commands_all(); command->name; command++)
		if (!command->hidden)
			printf("  %-10s %s\n", command->name, command->summary);
	printf("\n'ibwire help COMMAND' or 'ibwire COMMAND --help' shows the options of a command; see also "
		"ibwire(1).\n");
}

int help_run(const struct command *command, int argc, char **argv, struct error *err)
{
	static char help_option[] = "--help";
	const struct command *about;
	struct options options;
	int code = options_parse(command, 0, NULL, argc, argv, &options, err);

	if (code)
		return code < 0 ? code : 0;
	if (options.argc == 0) {
		print_commands();
		return 0;
	}
	if (options.argc > 1)
		return options_usage_error(command, err, "takes at most one command");
	about = command_find(options.argv[0]);
	if (!about || about->hidden)
		return command_unknown(options.argv[0], err);
	return about->run(about, 2, (char *[]){ options.argv[0], help_option, NULL }, err);
}
