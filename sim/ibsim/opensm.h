/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* opensm.h - the opensm process: configuration, start, state from its log */
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
#define OPENSM_LFTS "routes.lfts" /* tables to load instead of computing routes (ibwire-sim routes) */

/*
 * opensm_configure - write a configuration whose files are all in the run directory
 * @port_guid:     of the simulated port that opensm uses. Without umad2sim it would not find this port on
 *                 the host, and end instead of managing a real fabric
 * @dumps:         dump the forwarding tables (sim/lft.h)
 * @lines, @count: additional lines
 */
int opensm_configure(const char *dir, uint64_t port_guid, bool dumps, const char *const *lines, size_t count,
		     struct error *err);

/* Parameters of the opensm process. */
struct opensm_place {
	const char *dir;      /* the run directory, with its configuration */
	const char *sockname; /* of the relay */
	const char *node_id;  /* its node in the net file */
	const char *preload;  /* value of LD_PRELOAD: sim/ibsim/preload.h */
};

/*
 * opensm_start - start opensm; an existing log is appended to
 * Return: 0; ERR_UNAVAILABLE if opensm is not installed; ERR_IO; ERR_NOMEM.
 */
int opensm_start(const struct opensm_place *place, pid_t *ret, struct error *err);

/* opensm_subnet_up_count - number of SUBNET UP lines in the log, one for each start. */
unsigned opensm_subnet_up_count(const char *dir);

/* opensm_routed_count - number of lines in the log that report configured tables. */
unsigned opensm_routed_count(const char *dir);

/* opensm_explain - append the last line of its log to an error. */
void opensm_explain(const char *dir, struct error *err);

#endif
