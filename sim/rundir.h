/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* rundir.h - the directory of one simulation, and directories that clients leave behind */
#ifndef IBWIRE_SIM_RUNDIR_H
#define IBWIRE_SIM_RUNDIR_H

#include <limits.h>
#include <stddef.h>
#include <sys/types.h>

struct error;

/*
 * rundir_create - a new directory that nobody else can read
 * @wanted:  its path, where the caller chose one (made if it is missing; must be empty), or NULL
 * @ret:     absolute path
 */
int rundir_create(const char *wanted, char ret[PATH_MAX], struct error *err);

/* rundir_remove - remove a directory with all that is in it; what cannot be removed stays. */
void rundir_remove(const char *path);

/* rundir_write - create the file NAME in a directory. Return: 0 or ERR_IO. */
int rundir_write(const char *dir, const char *name, const char *chars, size_t len, struct error *err);

/*
 * rundir_read - a whole file in memory, as text_read_file(); at most TEXT_FABRIC_MOST bytes
 * @path:  NULL: standard input
 * @ret:   NUL-terminated; freed by the caller
 */
int rundir_read(const char *path, char **ret, size_t *ret_len, struct error *err);

/*
 * rundir_remove_sys - remove the fake sysfs of a umad2sim client that died
 * @dir:  the client's working directory. Source: umad2sim.c, umad2sim_init.
 */
void rundir_remove_sys(const char *dir, pid_t pid);

/*
 * A process that removes the run directory if the launcher is killed. The launcher's other children
 * end with it by their death signal.
 */
struct janitor {
	pid_t pid;
	int fd; /* its end of file is the launcher's end: no other process may inherit it */
};

/* janitor_start - @dir: the directory to remove; NULL: none. Return: 0 or ERR_NOMEM. */
int janitor_start(struct janitor *janitor, const char *dir, struct error *err);

/* janitor_dismiss - end the process without removing anything; no effect if it was not started (fd -1). */
void janitor_dismiss(struct janitor *janitor);

#endif
