/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* opensm.h - what opensm is told, and what its log says */
#ifndef IBWIRE_SIM_OPENSM_H
#define IBWIRE_SIM_OPENSM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct error;

/* Names in the run directory. */
#define OPENSM_CONF "opensm.conf"
#define OPENSM_LOG "opensm.log"
#define OPENSM_LFTS "routes.lfts" /* where it is, opensm routes by it (`ibwire-sim routes`); else by itself */

/*
 * opensm_configure - write its configuration, in which nothing is outside the run directory
 * @port_guid:     of the simulated port that it shall manage from, and of no other: if it were
 *                 ever started without umad2sim, it would find no such port on the host and
 *                 end, instead of managing the host's real fabric
 * @dumps:         it shall write its forwarding tables (sim/lft.h)
 * @lines, @count: more lines of configuration
 */
int opensm_configure(const char *dir, uint64_t port_guid, bool dumps, const char *const *lines, size_t count,
		     struct error *err);

/* Where opensm is started, and for which subnet. */
struct opensm_place {
	const char *dir;      /* the run directory, with its configuration */
	const char *sockname; /* of the ibsim that it talks to, or the relay */
	const char *origin;     /* id of its node */
	const char *preload;  /* value of LD_PRELOAD: sim/ibsim/preload.h */
};

/*
 * opensm_start - start it; its log goes on where there is one
 * Return: 0; ERR_UNAVAILABLE where it is not installed; ERR_IO; ERR_NOMEM.
 */
int opensm_start(const struct opensm_place *place, pid_t *ret, struct error *err);

/* opensm_subnet_up_count - how often the log says that the subnet is up: once more after each start. */
unsigned opensm_subnet_up_count(const char *dir);

/* opensm_routed_count - how often the log says that tables were configured. */
unsigned opensm_routed_count(const char *dir);

/* opensm_explain - append the last line of its log to an error. */
void opensm_explain(const char *dir, struct error *err);

#endif
