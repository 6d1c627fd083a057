/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* preload.h - where libumad2sim.so is */
#ifndef IBWIRE_SIM_PRELOAD_H
#define IBWIRE_SIM_PRELOAD_H

#include <limits.h>

struct error;

/*
 * preload_find - the path of umad2sim's library
 * Looked for in $IBWIRE_UMAD2SIM, where ibsim-run names it, and where Debian,
 * RHEL and SUSE put it. Return: 0 or ERR_UNAVAILABLE, naming the package.
 */
int preload_find(char ret[PATH_MAX], struct error *err);

#endif
