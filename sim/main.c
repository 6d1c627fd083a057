/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <stdio.h>
#include <string.h>

#include "config.h"

#include "base/err.h"
#include "base/log.h"
#include "base/nearest.h"
#include "sim/cmd.h"

static const struct command commands[] = {
	{ "net", "rail|tree2|tree3 [--OPTION VALUE]...", "print the net file of a generated fabric", .run = cmd_net },
	{ "mend", "FILE", "convert an ibnetdiscover output into a net file that ibsim loads", .run = cmd_mend },
	{ "run", "[--net FILE | --gen 'KIND ...'] [--traffic JOB]... -- COMMAND",
	  "run a command within a simulated fabric", .run = cmd_run },
	{ "story", "hang|neighbor|straggler", "show what ibwire prints of a job that stops or becomes slower",
	  .help = cmd_story_help, .run = cmd_story },
	{ "break", "[FAULT [TARGET] [KEY=VALUE]...]", "break something, or list what is broken", true, cmd_break_help,
	  cmd_break },
	{ "repair", "[FAULT [TARGET]]", "repair everything, or some of it", true, .run = cmd_repair },
	{ "play", "[--loop] FILE", "break and repair as a scenario file specifies", true, .run = cmd_play },
	{ "exec", "[COMMAND]", "run a command, or a shell, within the running simulation", true, .run = cmd_exec },
	{ "traffic", "pause|resume|truth|status", "control the traffic", true, .run = cmd_traffic },
	{ "wire", "['latency=TIME service=TIME hold=TIME loss=PERCENT dead=NODES locked=NODES']",
	  "set or print latency, loss and unresponsive nodes", true, .run = cmd_wire },
	{ "pma", "'NODES caps=MASK caps2=MASK tick=N fec=MODE ...'", "set what performance agents return", true,
	  .run = cmd_pma },
	{ "opensm", "stop|start|restart|status", "stop, start or restart the subnet manager", true, .run = cmd_opensm },
	{ "routes", "save FILE|load FILE|skew NODE/PORT SHARE|reset", "change the forwarding tables", true,
	  .run = cmd_routes },
	{ "console", "'COMMAND'", "run a console command of ibsim and print its output", true, .run = cmd_console },
};

#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

static void print_usage(FILE *out)
{
	fprintf(out, "usage: ibwire-sim COMMAND [options]\n\n");
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		fprintf(out, "  %-8s %s\n           %s\n", commands[i].name, commands[i].arguments,
			commands[i].summary);
	fprintf(out, "\nFrom break on, commands control the running simulation, within run or from another terminal.\n"
		"All options: man ibwire-sim\n");
}

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	return NULL;
}

static void report_unknown(const char *name)
{
	struct nearest nearest;

	nearest_init(&nearest, name);
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		nearest_offer(&nearest, commands[i].name);
	log_error("unknown command '%.64s'%s (see ibwire-sim --help)", name, nearest_hint(&nearest));
}

int main(int argc, char **argv)
{
	const struct command *command;
	struct error err = { 0 };
	int status;

	log_init("ibwire-sim", LOG_LEVEL_INFO);
	if (argc > 1 && !strcmp(argv[1], "--version")) {
		puts(PACKAGE_STRING);
		return 0;
	}
	if (argc < 2 || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
		print_usage(argc < 2 ? stderr : stdout);
		return argc < 2 ? -ERR_USAGE : 0;
	}
	command = find_command(argv[1]);
	if (!command) {
		report_unknown(argv[1]);
		return -ERR_USAGE;
	}
	if (argc > 2 && !strcmp(argv[2], "--help")) {
		printf("usage: ibwire-sim %s %s\n\n%s\n\n", command->name, command->arguments, command->summary);
		if (command->help)
			command->help();
		puts("All options: man ibwire-sim");
		return 0;
	}
	status = command->joins ? cmd_join(&err) : 0;
	if (status == 0)
		status = command->run(argc - 1, argv + 1, &err);
	if (status < 0) {
		log_error("%s", err.text);
		return -status;
	}
	return status;
}
