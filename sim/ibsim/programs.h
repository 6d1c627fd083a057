/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* programs.h - ibsim, which emulates all nodes; opensm; and the libraries preloaded into its clients */
#ifndef IBWIRE_SIM_PROGRAMS_H
#define IBWIRE_SIM_PROGRAMS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
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
	const char *preload;  /* value of LD_PRELOAD: preload_value() */
};

/* opensm_start - Return: 0; ERR_UNAVAILABLE if opensm is not installed; ERR_IO; ERR_NOMEM. */
int opensm_start(const struct opensm_place *place, pid_t *ret, struct error *err);

/* opensm_subnet_up_count - number of SUBNET UP lines in the log, one for each start. */
unsigned opensm_subnet_up_count(const char *dir);

/* opensm_routed_count - number of lines in the log that report configured tables. */
unsigned opensm_routed_count(const char *dir);

/* opensm_explain - append the last line of its log to an error. */
void opensm_explain(const char *dir, struct error *err);

/* Two paths separated by a colon. */
#define PRELOAD_SIZE (2 * PATH_MAX + 64)

/*
 * preload_find - the path of libumad2sim.so
 * $IBWIRE_UMAD2SIM, or where Debian, RHEL and SUSE install it.
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
