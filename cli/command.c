/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/command.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/nearest.h"
#include "cli/lib/options.h"

static const struct command commands[] = {
	{ "status", "", "collector status: freshness, coverage, unresponsive nodes, SM, database", false,
	  .run = status_run },
	{ "collect", "", "poll the fabric and store counter deltas (foreground)", false, .run = collect_run },
	{ "top", "", "interactive screen; starts a collector if none is running", false, .run = top_run },
	{ "nodes", "[SUBJECT ...]", "list nodes: type, LIDs, ports, device, state", false, .run = nodes_run },
	{ "ports", "[SUBJECT ...]", "list ports: state, speed, rates, XmitWait, errors, age", false, .run = ports_run },
	{ "links", "[SUBJECT ...]", "list links with both ends: state, speed, rates, errors", false,
	  .run = links_run },
	{ "balance", "[SUBJECT ...]",
	  "load balance over equivalent links: measured, predicted by routes, cause", false,
	  .run = balance_run },
	{ "topology", "show|check [PLAN ...]|save FILE|diff FILE|dot|partitions|route A B|slurm|slurm-yaml|labels",
	  "topology summary, baseline and differences, cabling plan, routes, files of schedulers", false,
	  .run = topology_run },
	{ "what-if", "SUBJECT ...|--bad-links",
	  "what happens if links, switches or hosts are taken out; which bad links can be", false,
	  .run = what_if_run },
	{ "names", "suggest", "suggest a node-name-map for unnamed switches", false, .run = names_run },
	{ "errors", "[SUBJECT ...]", "list error counters that increased, highest rate first, with both ends", false,
	  .run = errors_run },
	{ "events", "[SUBJECT ...]", "list events", false, .run = events_run },
	{ "health", "[SUBJECT ...]|ack ID ...|unack ID ...",
	  "list findings: what, since when, cause; exit status 1 warning, 2 critical", false, .run = health_run },
	{ "history", "[SUBJECT ...]",
	  "counters over time, per port or summed; --top lists the top ports", false, .run = history_run },
	{ "coverage", "[SUBJECT ...]",
	  "burn-in: which links carried load and were clean, host pairs for the rest, acceptance page", false,
	  .run = coverage_run },
	{ "report", "SUBJECT", "one-page report of a port, link, node, host, or cable by its serial number",
	  false, .run = report_run },
	{ "import", "DIR|FILE", "cables, their temperatures and error rates from the files of ibdiagnet", false,
	  .run = import_run },
	{ "alert", "", "send open findings to Alertmanager", false, .run = alert_run },
	{ "metrics", "", "serve metrics to Prometheus, a page to browsers, and JSON, over HTTP", false,
	  .run = metrics_run },
	{ "push", "", "send stored sweeps to Prometheus remote write; the database is the queue", false,
	  .run = push_run },
	{ "clear", "SUBJECT ...", "reset counters to zero on the fabric (writes; asks for "
		"confirmation)", false,
	  .run = clear_run },
	{ "db", "[check|compact|backup FILE|export FILE|recover FILE]",
	  "database contents and sizes; check, compact, backup, export, recover", false, .run = database_run },
	{ "snapshot", "take NAME|list|diff [A [B]]|remove NAME",
	  "store all counters at one time; compare two snapshots", false, .run = snapshot_run },
	{ "job", "begin ID|end ID|list|report ID|watch ID|compare [ID] ID|remove ID|hook begin|end|suspend|resume",
	  "record jobs, and report their traffic, evenness and errors", false, .run = job_run },
	{ "run", "-- COMMAND ...",
	  "run a command as a job, and report its traffic", false, .run = run_run },
	{ "doctor", "", "check this host for RDMA: HCAs, links, GPUs, limits; exit status 1 warning, 2 failure", false,
	  .run = doctor_run },
	{ "sql", "STATEMENT|-", "run one read-only SQL statement", false, .run = sql_run },
	{ "discover", "", "discovery helper of collect: prints nodes and ports as records", true, .run = discover_run },
	{ "help", "[COMMAND]", "list commands, or show the options of one", false, .run = help_run },
	{ .name = NULL },
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

int command_call(const struct call_context *context, int argc, char **argv, struct error *err)
{
	const struct command *entry = command_find(argv[0]);
	struct command command;

	if (!entry)
		return command_unknown(argv[0], err);
	command = *entry;
	command.call = *context;
	return command.run(&command, argc, argv, err);
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

static void print_commands(FILE *out)
{
	const struct command *command;

	fprintf(out, "usage: ibwire COMMAND [options]\n"
		"Monitors an InfiniBand fabric in-band and stores its counters in SQLite.\n\n");
	for (command = commands_all(); command->name; command++)
		if (!command->hidden)
			fprintf(out, "  %-10s %s\n", command->name, command->summary);
	fprintf(out, "\n'ibwire help COMMAND' or 'ibwire COMMAND --help' shows the options of a command; see also "
		"ibwire(1).\n");
}

int help_run(const struct command *command, int argc, char **argv, struct error *err)
{
	static char help_option[] = "--help";
	const struct command *found;
	struct command about;
	struct options options;
	int code = options_parse(command, 0, NULL, argc, argv, &options, err);

	if (code)
		return code < 0 ? code : 0;
	if (options.argc == 0) {
		print_commands(options.out);
		return 0;
	}
	if (options.argc > 1)
		return options_usage_error(command, err, "takes at most one command");
	found = command_find(options.argv[0]);
	if (!found || found->hidden)
		return command_unknown(options.argv[0], err);
	about = *found;
	about.call = command->call;
	return about.run(&about, 2, (char *[]){ options.argv[0], help_option, NULL }, err);
}
