/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * slots.h - clients that died without a word
 *
 * ibsim has ten slots. A client that is killed keeps its slot, and its fake
 * sysfs, a directory sys-<pid>, stays where it worked. Once a second ibsim is asked
 * who is attached; who is dead is disconnected, and its directory removed.
 */
#ifndef IBWIRE_SIM_SLOTS_H
#define IBWIRE_SIM_SLOTS_H

#include <limits.h>
#include <stddef.h>
#include <sys/types.h>

/* Clients of which we remember where they worked. */
#define SLOTS_SEEN_MAX 64

struct slots {
	int console_fd;
	struct slots_client {
		pid_t pid;
		char dir[PATH_MAX];
	} seen[SLOTS_SEEN_MAX];
	size_t next; /* of seen, round and round */
	char start_dir[PATH_MAX];
	time_t start;
};

/* slots_init - remember when and where; the owner sets console_fd once there is one. */
void slots_init(struct slots *slots);

/* slots_query - ask ibsim who is attached; the answer comes with its output, to slots_attached. */
void slots_query(const struct slots *slots);

/* slots_attached - a line of that answer. @slots is a struct slots (struct console_output calls this). */
void slots_attached(void *slots, int client, pid_t pid);

/* slots_clean - all clients are dead: remove what they left, also where they came and went unseen. */
void slots_clean(const struct slots *slots);

#endif
