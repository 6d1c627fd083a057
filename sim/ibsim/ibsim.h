/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* ibsim.h - the ibsim process, which emulates all nodes */
#ifndef IBWIRE_SIM_IBSIM_H
#define IBWIRE_SIM_IBSIM_H

#include <sys/types.h>

struct error;
struct fabric;

/* Name of the net file in the run directory. */
#define IBSIM_NET_FILE "net"

struct ibsim_place {
	const struct fabric *fabric; /* of the net file: ibsim needs its size */
	const char *dir;             /* the run directory */
	const char *console;         /* FIFO for console commands */
	const char *sockname;        /* socket name */
};

/*
 * ibsim_start - start ibsim with the net file in the run directory
 * @ret:            its process id
 * @ret_output_fd:  its output, non-blocking, to be drained continuously; closed by the caller, also if
 *                  it was set and an error is returned
 *
 * Return: 0; ERR_UNAVAILABLE if ibsim is not installed; ERR_IO; ERR_NOMEM.
 */
int ibsim_start(const struct ibsim_place *place, pid_t *ret, int *ret_output_fd, struct error *err);

#endif
