/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* preload.h - LD_PRELOAD for clients of the simulation */
#ifndef IBWIRE_SIM_PRELOAD_H
#define IBWIRE_SIM_PRELOAD_H

#include <limits.h>

struct error;

/* Two paths separated by a colon. */
#define PRELOAD_SIZE (2 * PATH_MAX + 64)

/*
 * preload_find - the path of libumad2sim.so
 * Searched for in $IBWIRE_UMAD2SIM, in the script ibsim-run, and where Debian, RHEL and SUSE install it.
 * Return: 0 or ERR_UNAVAILABLE with the name of the package.
 */
int preload_find(char ret[PATH_MAX], struct error *err);

/*
 * preload_value - LD_PRELOAD: ibwire-sim-umad.so (sim/ibsim/umad_preload.h), then libumad2sim.so
 * @umad2sim:  found by preload_find
 * @dir:       the run directory. LD_PRELOAD is split at spaces and colons: if the path of our library has
 *             any, a symbolic link to it is created here
 *
 * Our library is in the directory of this program (build tree) or in the installed one.
 * Return: 0; ERR_UNAVAILABLE if it is in neither; ERR_IO for the link.
 */
int preload_value(const char *umad2sim, const char *dir, char ret[PRELOAD_SIZE], struct error *err);

#endif
