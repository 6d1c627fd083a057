/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* process.h - child processes that end with the launcher */
#ifndef IBWIRE_SIM_PROCESS_H
#define IBWIRE_SIM_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

struct error;

#define PROCESS_ENV_MAX 16

struct process_spec {
	char *const *argv;   /* searched for in PATH; NULL-terminated */
	const char *dir;     /* working directory; NULL: the caller's */
	const char *env[PROCESS_ENV_MAX]; /* "NAME=value", terminated by NULL */
	int in, out;         /* stdin; stdout and stderr; -1: the caller's */
	bool own_group;      /* a process group of its own: Ctrl-C does not reach it */
	int death_signal;    /* sent to it when the launcher ends */
};

/*
 * process_start - fork and exec
 * @ret:  the child's process id
 *
 * Return: 0; ERR_UNAVAILABLE if the program cannot be executed; ERR_NOMEM if no process can be
 * created.
 */
int process_start(const struct process_spec *spec, pid_t *ret, struct error *err);

/*
 * process_fork - fork a child that continues in this program
 * It ends with the launcher and has a process group of its own.
 * Return: as fork(); negative with @err set.
 */
pid_t process_fork(int death_signal, struct error *err);

/*
 * process_stop - end a child and reap it
 * @pid:      0: no effect. Set to 0.
 * @signal:   sent first; SIGKILL follows after @wait_ms
 */
void process_stop(pid_t *pid, int signal, int wait_ms);

/* process_report_ready - write a NUL, for which the launcher waits, and close @fd; it is set to -1. */
void process_report_ready(int *fd);

/* process_exit_status - the exit status a shell reports: 128 + signal for a killed process. */
int process_exit_status(int wait_status);

#endif
