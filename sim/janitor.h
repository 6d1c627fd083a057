/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * janitor.h - a process that removes the run directory if the launcher is killed
 *
 * The launcher's other children die with it by their death signal; this one
 * outlives it and only then does something.
 */
#ifndef IBWIRE_SIM_JANITOR_H
#define IBWIRE_SIM_JANITOR_H

#include <sys/types.h>

struct error;

struct janitor {
	pid_t pid;
	int fd; /* its end is the launcher's end: no child may keep a copy */
};

/* janitor_start - @dir: what to remove, NULL: nothing. Return: 0 or ERR_NOMEM. */
int janitor_start(struct janitor *janitor, const char *dir, struct error *err);

/* janitor_dismiss - the launcher cleans up itself. Does nothing where there is none (fd -1). */
void janitor_dismiss(struct janitor *janitor);

#endif
