/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * child.h - a collector that belongs to this process: it ends with it
 */
#ifndef IBWIRE_CLI_CHILD_H
#define IBWIRE_CLI_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct error;

struct child {
	pid_t pid;       /* 0: none was started */
	int stderr_fd;   /* what it says; -1: closed */
	bool ended;
	int exit_status; /* once it ended: as a shell says it, 128 + signal included */
	char partial[512]; /* of a line whose end has not come yet */
	size_t partial_len;
	char line[512];  /* the last whole line, made harmless, without the program's name */
};

/*
 * child_start - run this program again, with another command
 * @argv:  argv[0] is the program's name; ends with NULL
 *
 * Its stdin and stdout are /dev/null, its stderr is kept for child_poll(). It
 * has a process group of its own, so that what is typed at the terminal is not
 * for it, and is told to end when this process dies of whatever.
 * Return: 0 or ERR_NOMEM.
 */
int child_start(struct child *child, char *const *argv, struct error *err);

/* child_poll - read what it said, see whether it ended; never waits. */
void child_poll(struct child *child);

/*
 * child_settle - wait for a child that fails at once
 * @wait_us:  how long at most
 */
void child_settle(struct child *child, int64_t wait_us);

/*
 * child_stop - ask it to end, which it does after its sweep in hand is stored
 * @patience_us:  after that it is killed
 * Return: whether it ended by itself.
 */
bool child_stop(struct child *child, int64_t patience_us);

#endif
