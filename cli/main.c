/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* main.c - runs a command, reports its error and exits */
#include "config.h"

#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/lib/pager.h"
#include "storage/reader.h"

#ifdef __clang__
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

static int run(int argc, char **argv, struct error *err)
{
	static char help[] = "help";
	const struct command *command;

	if (argc < 2)
		return err_set(err, ERR_USAGE, "a command is required (see ibwire help)");
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		printf("ibwire %s\nbuilt with %s; %s\ndatabase schema %d\n",
		       PACKAGE_VERSION, COMPILER, IBWIRE_LIBRARIES, storage_schema_version());
		return 0;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		argv[1] = help;
	if (argv[1][0] == '-')
		return err_set(err, ERR_USAGE, "unknown option '%.64s' before the command (see ibwire help)",
			       argv[1]);
	command = command_find(argv[1]);
	if (!command)
		return command_unknown(argv[1], err);
	return command->run(command, argc - 1, argv + 1, err);
}

static void discard(int number)
{
	(void)number;
}

/* Was a part of the output lost? A closed pipe is no error. */
static bool output_lost(void)
{
	struct pollfd out = { .fd = STDOUT_FILENO, .events = POLLOUT };

	errno = 0;
	if (fflush(stdout) == 0 && !ferror(stdout))
		return false;
	if (errno)
		return errno != EPIPE;
	/* An earlier write failed. */
	errno = EIO;
	return poll(&out, 1, 0) < 1 || !(out.revents & POLLERR);
}

int main(int argc, char **argv)
{
	static char buffer[64 * 1024]; /* the size of a pipe */
	struct error err = { 0 };
	int code;

	/* LC_NUMERIC stays "C": a decimal comma would break CSV. */
	setlocale(LC_CTYPE, "");
	setlocale(LC_TIME, "");
	/*
	 * A closed pipe is reported as EPIPE, which the output ignores. A handler, since the command of
	 * `ibwire run` would inherit SIG_IGN.
	 */
	if (signal(SIGPIPE, discard) == SIG_IGN)
		signal(SIGPIPE, SIG_IGN);
	/* If the parent ignores it, so does this process, and waitpid() would not return exit statuses. */
	signal(SIGCHLD, SIG_DFL);
	if (!isatty(STDOUT_FILENO))
		setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	code = run(argc, argv, &err);
	pager_finish();
	if (code >= 0 && output_lost())
		code = err_set(&err, ERR_IO, "cannot write the output: %s", strerror(errno));
	if (code < 0)
		log_error("%s", err.text);
	/* Nothing follows what was lost. */
	if (ferror(stdout))
		__fpurge(stdout);
	exit(code < 0 ? -code : code);
}
