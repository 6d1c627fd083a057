/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* preload.h - the libraries that make a program a client of the simulation: the value of LD_PRELOAD */
#ifndef IBWIRE_SIM_PRELOAD_H
#define IBWIRE_SIM_PRELOAD_H

#include <limits.h>

struct error;

/* Two paths with a colon between them. */
#define PRELOAD_SIZE (2 * PATH_MAX + 64)

/*
 * preload_find - the path of umad2sim's library
 * Looked for in $IBWIRE_UMAD2SIM, where ibsim-run names it, and where Debian,
 * RHEL and SUSE put it. Return: 0 or ERR_UNAVAILABLE, naming the package.
 */
int preload_find(char ret[PATH_MAX], struct error *err);

/*
 * preload_value - our own library (sim/ibsim/umad_preload.h) and that one behind it, as LD_PRELOAD takes them
 * @umad2sim:  found by preload_find
 * @dir:       the run directory. The loader splits at spaces and colons: where ours lies below a
 *             directory that has some, a link to it is made here
 *
 * Ours is beside this program in a build tree, and where make install put it.
 * Return: 0; ERR_UNAVAILABLE where it is in neither place; ERR_IO for the link.
 */
int preload_value(const char *umad2sim, const char *dir, char ret[PRELOAD_SIZE], struct error *err);

#endif
