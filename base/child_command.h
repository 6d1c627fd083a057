/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * child_command.h - run this program in the background and collect its output: what uses a device (else: base/call.h)
 *
 * Non-blocking: start, poll, stop. The child is killed when this process exits.
 */
#ifndef IBWIRE_BASE_CHILD_COMMAND_H
#define IBWIRE_BASE_CHILD_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/text.h"

struct error;

/* Output beyond this is dropped. */
#define COMMAND_OUTPUT_MOST (4 << 20)

/* Time to exit by itself that suffices for a command that only reads. */
#define COMMAND_WAIT_MS 500

/* A zeroed struct: not started. */
struct child_command {
	pid_t pid;         /* 0: none */
	int fd;            /* its stdout and stderr, in order */
	bool ended;
	int exit_status;   /* after its end, as in a shell: 128 + signal */
	struct text output; /* raw; the caller sanitises it */
};

/*
 * child_command_start - start this program with other arguments
 * @program:  its path: "/proc/self/exe"; NULL: disabled
 * @argv:     argv[0] is the name; NULL-terminated. A previous command is stopped.
 * @errors_only:  drop its stdout
 *
 * stdin is /dev/null; it has its own process group, so that terminal signals do not reach it.
 * Return: 0; ERR_UNAVAILABLE without a program; ERR_NOMEM.
 */
int child_command_start(struct child_command *run, const char *program, const char *const *argv,
			bool errors_only, struct error *err);

/* child_command_poll - read available output. Return: whether there is new output, or it ended. */
bool child_command_poll(struct child_command *run);

/* child_command_wait - poll until it ends, at most @wait_ms. Return: whether it has ended. */
bool child_command_wait(struct child_command *run, int wait_ms);

/*
 * child_command_last_line - the last line of the output, sanitised, without "ibwire: "
 * Return: whether the output ends with a line that is complete and not empty; else @ret is untouched.
 */
bool child_command_last_line(const struct child_command *run, char *ret, size_t size);

/*
 * child_command_stop - terminate the process group if it still runs, and free all memory
 * @wait_ms:  from SIGTERM to SIGKILL
 * Return: whether it exited in time.
 */
bool child_command_stop(struct child_command *run, int wait_ms);

#endif
