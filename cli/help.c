/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "cli/command.h"
#include "cli/lib/options.h"

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
