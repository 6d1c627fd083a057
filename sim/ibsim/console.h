/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * console.h - ibsim's console: a FIFO for commands, and a pipe for output that is drained continuously
 * Several processes write to the FIFO. Lines that belong together are one write of at most PIPE_BUF bytes.
 */
#ifndef IBWIRE_SIM_CONSOLE_H
#define IBWIRE_SIM_CONSOLE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/text.h"

struct error;

/* Longer lines are truncated by ibsim. Source: ibsim.c, sim_run_console. */
#define CONSOLE_MAX_LINE 126

struct console_output {
	int fd;     /* ibsim's stdout, non-blocking */
	int log_fd;
	struct text line; /* an incomplete line */
	bool quoting;     /* between the marks of console_run: all lines are logged */
	bool ready;       /* the net file is loaded */
	char last[256];   /* the last error message of ibsim */
	/* Called for each line of the response to "Attached". */
	void (*attached)(void *ctx, int client, pid_t pid);
	void *ctx;
};

/* console_drain - read available output. Return: false if ibsim has closed its end. */
bool console_drain(struct console_output *output);

/* console_filter - process output; called by console_drain. */
void console_filter(struct console_output *output, const char *bytes, size_t len);

/* console_send - write commands, each with a final newline, in one write. Return: 0 or ERR_IO. */
int console_send(int fifo_fd, const char *lines, struct error *err);

/*
 * console_run - run a command from within a simulation and wait for its output
 * @fifo_path:  $IBWIRE_SIM_CONSOLE
 * @dir:        $IBWIRE_SIM_DIR, the directory of the log
 * @command:    one line
 * @response:   the output is appended
 *
 * Return: 0; ERR_USAGE if the line is too long or more than one; ERR_UNAVAILABLE after 10 s without
 * a response.
 */
int console_run(const char *fifo_path, const char *dir, const char *command, struct text *response, struct error *err);

/* Name of the log in the run directory. */
#define CONSOLE_LOG "ibsim.log"

#endif
