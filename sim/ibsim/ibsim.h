/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* ibsim.h - the process that holds all nodes */
#ifndef IBWIRE_SIM_IBSIM_H
#define IBWIRE_SIM_IBSIM_H

#include <sys/types.h>

struct error;
struct fabric;

/* The net file's name in the run directory. */
#define IBSIM_NET_FILE "net"

struct ibsim_place {
	const struct fabric *fabric; /* what the net file holds: ibsim must be told how large it is */
	const char *dir;             /* the run directory */
	const char *console;         /* FIFO that it reads commands from */
	const char *sockname;        /* its name */
};

/*
 * ibsim_start - start it on the net file in the run directory
 * @ret:            its process id
 * @ret_output_fd:  what it prints, non-blocking; to be drained always. May be set where an error is
 *                  returned, too: then it is to be closed
 *
 * Return: 0; ERR_UNAVAILABLE where it is not installed; ERR_IO; ERR_NOMEM.
 */
int ibsim_start(const struct ibsim_place *place, pid_t *ret, int *ret_output_fd, struct error *err);

#endif
