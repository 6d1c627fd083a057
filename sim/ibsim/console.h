/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * console.h - ibsim's console: a FIFO that commands go into, a pipe that answers come out of
 *
 * ibsim answers every command, and every single counter that is set: the pipe
 * must be drained always, and most of what comes is not worth keeping. A log
 * file gets the rest. Several processes write to the FIFO; a write of up to
 * PIPE_BUF bytes is never mixed with another's, so lines that belong together
 * go out in one write.
 */
#ifndef IBWIRE_SIM_CONSOLE_H
#define IBWIRE_SIM_CONSOLE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/text.h"

struct error;

/* A line longer than this is cut by ibsim. Source: ibsim.c, sim_run_console. */
#define CONSOLE_MAX_LINE 126

struct console_output {
	int fd;     /* ibsim's stdout, non-blocking */
	int log_fd;
	struct text line; /* what came of a line that is not complete */
	bool quoting;     /* between the marks of console_run: everything is kept */
	bool ready;       /* the net is loaded */
	char last[256];   /* the last complaint of ibsim: why it died */
	/* Called for each line of the answer to "Attached". */
	void (*attached)(void *ctx, int client, pid_t pid);
	void *ctx;
};

/* console_drain - take what is there. Return: false once ibsim has closed its end. */
bool console_drain(struct console_output *output);

/* console_filter - the part of console_drain that looks at bytes. */
void console_filter(struct console_output *output, const char *bytes, size_t len);

/* console_send - write commands, each ended by a newline, in one piece. Return: 0 or ERR_IO. */
int console_send(int fifo_fd, const char *lines, struct error *err);

/*
 * console_run - run one command from within a simulation and wait for its answer
 * @fifo_path:  $IBWIRE_SIM_CONSOLE
 * @dir:        $IBWIRE_SIM_DIR, where the log is
 * @command:    one line
 * @answer:     what ibsim printed is appended
 *
 * Return: 0; ERR_USAGE for a line that is too long or several; ERR_UNAVAILABLE
 * where nothing answers within 10 s.
 */
int console_run(const char *fifo_path, const char *dir, const char *command, struct text *response, struct error *err);

/* The log's name in the run directory. */
#define CONSOLE_LOG "ibsim.log"

#endif
