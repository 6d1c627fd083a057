/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* run.h - run a command as a shell does, with its terminal, signals and exit status */
#ifndef IBWIRE_CLI_RUN_H
#define IBWIRE_CLI_RUN_H

#include <signal.h>

struct error;

/* Exit statuses of a shell for a command that cannot be executed, and for one that is not found. */
enum { RUN_CANNOT_EXECUTE = 126, RUN_NOT_FOUND = 127, RUN_SIGNALLED = 128 };

/* Signals that this process handles otherwise than the command. */
enum { RUN_SIGNALS = 9 };
struct run_signals {
	struct sigaction actions[RUN_SIGNALS];
	sigset_t mask;
};

/* run_save_signals - the signal actions and mask that a command inherits; before stop_install(). */
void run_save_signals(struct run_signals *ret);

/*
 * run_command - run a command to its end
 * @argv:        ends with NULL; searched in PATH
 * @ret_status:  its exit status; 128 + N if signal N ended it; RUN_CANNOT_EXECUTE or RUN_NOT_FOUND
 *
 * It inherits files, environment, process group and terminal, so that Ctrl-C and Ctrl-Z reach it.
 * Signals that another process sends to this one are passed on to it.
 * Return: 0, or ERR_UNAVAILABLE if it could not be executed, which @err says.
 */
int run_command(char **argv, const struct run_signals *signals, int *ret_status, struct error *err);

#endif
