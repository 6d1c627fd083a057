/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * slots.h - cleanup after clients that were killed: they leave a slot of ibsim occupied, and their emulated
 * sysfs, a directory sys-<pid>, in their working directory
 */
#ifndef IBWIRE_SIM_SLOTS_H
#define IBWIRE_SIM_SLOTS_H

#include <limits.h>
#include <stddef.h>
#include <sys/types.h>

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
