/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* rundir.h - the run directory of a simulation, and directories left by clients */
#ifndef IBWIRE_SIM_RUNDIR_H
#define IBWIRE_SIM_RUNDIR_H

#include <limits.h>
#include <stddef.h>
#include <sys/types.h>

struct error;

/*
 * rundir_create - create a directory readable by its owner only
 * @wanted:  its path: created if missing, else it must be empty; NULL: a temporary directory
 * @ret:     absolute path
 */
int rundir_create(const char *wanted, char ret[PATH_MAX], struct error *err);

/* rundir_remove - remove a directory and its contents; errors are ignored. */
void rundir_remove(const char *path);

/* rundir_write - write a file in a directory; without @dir @name is a path. Return: 0 or ERR_IO. */
int rundir_write(const char *dir, const char *name, const char *chars, size_t len, struct error *err);

/*
 * rundir_read - read a file, like text_read_file(), of at most TEXT_FABRIC_MOST bytes
 * @path:  NULL: standard input
 * @ret:   NUL-terminated; freed by the caller
 */
int rundir_read(const char *path, char **ret, size_t *ret_len, struct error *err);

/*
 * rundir_remove_sys - remove the emulated sysfs of a umad2sim client that was killed
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
