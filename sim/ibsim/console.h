/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * console.h - ibsim's console: a FIFO for commands, and a pipe for output that is drained continuously
 * Several processes write to the FIFO. Lines that belong together are one write of at most PIPE_BUF bytes.
 */
#ifndef IBWIRE_SIM_CONSOLE_H
#define IBWIRE_SIM_CONSOLE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>

#include "base/text.h"

struct error;

/* Longer lines are truncated by ibsim. Source: ibsim.c, sim_run_console. */
#define CONSOLE_MAX_LINE 126

struct console_output {
	int fd;     /* ibsim's stdout, non-blocking */
	int log_fd;
	struct text line; /* an incomplete line */
	bool quoting;     /* between the marks of console_run: all lines are logged */
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

/*
 * Cleanup after clients that were killed: they leave a slot of ibsim occupied, and their emulated sysfs, a
 * directory sys-<pid>, in their working directory.
 */

/* Clients whose working directory is remembered. */
#define SLOTS_RECENT_MAX 64

struct slots {
	int console_fd;
	struct slots_client {
		pid_t pid;
		char dir[PATH_MAX];
	} recent[SLOTS_RECENT_MAX];
	size_t next; /* in recent, cyclic */
	char start_dir[PATH_MAX];
	time_t start;
};

/* slots_init - record time and working directory; the caller sets console_fd when the console is open. */
void slots_init(struct slots *slots);

/* slots_query - query attached clients; the response is in the output of ibsim, for slots_attached. */
void slots_query(const struct slots *slots);

/* slots_attached - process a line of the response; called by struct console_output. @slots: a struct slots */
void slots_attached(void *slots, int client, pid_t pid);

/* slots_clean - after all clients have ended: remove their directories, also those that are not recorded. */
void slots_clean(const struct slots *slots);

#endif
