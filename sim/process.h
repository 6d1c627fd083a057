/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* process.h - children of the launcher: started so that they cannot be left behind */
#ifndef IBWIRE_SIM_PROCESS_H
#define IBWIRE_SIM_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

struct error;

#define PROCESS_ENV_MAX 16

struct process_spec {
	char *const *argv;   /* looked for in PATH; NULL-terminated */
	const char *dir;     /* working directory, NULL: the caller's */
	const char *env[PROCESS_ENV_MAX]; /* "NAME=value", up to the first NULL */
	int in, out;         /* become stdin, and stdout and stderr; -1: the caller's */
	bool own_group;      /* a terminal's Ctrl-C does not reach it */
	int death_signal;    /* what it gets when the launcher dies */
};

/*
 * process_start - fork and exec
 * @ret:  the child's process id
 *
 * Return: 0; ERR_UNAVAILABLE where the program cannot be run; ERR_NOMEM where
 * there is no process to be had.
 */
int process_start(const struct process_spec *spec, pid_t *ret, struct error *err);

/*
 * process_fork - fork a child that goes on in this program
 * Like process_start, it dies with the launcher and has a group of its own.
 * Return: as fork(), negative with @err filled in.
 */
pid_t process_fork(int death_signal, struct error *err);

/*
 * process_stop - end a child and reap it
 * @pid:      0: there is none. Set to 0.
 * @signal:   what it is asked with; SIGKILL follows after @wait_ms
 */
void process_stop(pid_t *pid, int signal, int wait_ms);

/* process_exit_status - what a shell would report of a wait status: 128 + signal for one that was killed. */
int process_exit_status(int wait_status);

#endif
