/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * run.h - a command of this program, run beside the screen; what it prints is kept
 *
 * Nothing here waits: it is started, asked now and then, and killed where it is not
 * wanted any more. It dies with this process, whatever that dies of.
 */
#ifndef IBWIRE_TUI_MODEL_CHILD_COMMAND_H
#define IBWIRE_TUI_MODEL_CHILD_COMMAND_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/text.h"

struct error;

/* What is printed beyond this is left out. */
#define COMMAND_OUTPUT_MOST (4 << 20)

/* A zeroed struct: nothing was started. */
struct child_command {
	pid_t pid;         /* 0: none */
	int fd;            /* of what it prints, on stdout and stderr in the order that it writes */
	bool ended;
	int exit_status;   /* once it ended: as a shell says it, 128 + signal included */
	bool cut;          /* it printed more than is kept, or than there was memory for */
	struct text output; /* as it came: made harmless by who shows it */
};

/*
 * child_command_start - start a program, this one with other arguments
 * @program:  its path: "/proc/self/exe"; NULL: none may be run
 * @argv:     argv[0] is the program's name; ends with NULL. What ran before is ended and forgotten.
 * @columns:  how wide its tables may be; 0: as they are without a terminal
 *
 * Its stdin is /dev/null; it has a process group of its own, so that what is typed at the terminal is not for it.
 * Return: 0; ERR_UNAVAILABLE without a program; ERR_NOMEM.
 */
int child_command_start(struct child_command *run, const char *program, char *const *argv, int columns,
			struct error *err);

/* child_command_poll - read what is there. Return: whether there is news: output, or that it ended. */
bool child_command_poll(struct child_command *run);

/* child_command_stop - terminate the process group if it still runs (SIGKILL after 0.5 s) and free all memory. */
void child_command_stop(struct child_command *run);

#endif
