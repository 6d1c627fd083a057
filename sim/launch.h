/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* launch.h - run a command within a simulated fabric (docs/simulation.md) */
#ifndef IBWIRE_SIM_LAUNCH_H
#define IBWIRE_SIM_LAUNCH_H

#include <stddef.h>

struct error;
struct fabric;

#define LAUNCH_OPTIONS_MAX 32

/* Name of its control socket (sim/control.h), and the command that returns the environment of the simulation. */
#define LAUNCH_CONTROL_PART "opensm"
#define LAUNCH_CONTROL_ENVIRONMENT "environment"

struct launch_options {
	const char *net;      /* contents of the net file for ibsim */
	size_t net_len;
	struct fabric *fabric; /* the fabric in the net file */
	char name[20];        /* part of the simulation's name, to tell several apart; "": none */
	const char *attach;   /* node of the command: name or GUID; NULL: automatic */
	const char *sm;       /* node of opensm, the same */
	const char *dir;      /* run directory that is not removed; NULL: a temporary one */
	const char *traffic[LAUNCH_OPTIONS_MAX]; /* jobs: sim/job.h */
	size_t traffic_count;
	const char *truth;    /* file for the ground truth of the traffic; NULL: in the run directory */
	unsigned tick_ms;     /* interval of counter updates */
	const char *opensm[LAUNCH_OPTIONS_MAX]; /* additional lines of opensm's configuration */
	size_t opensm_count;
	const char *wire;     /* settings of the relay: sim/relay/relay.h; NULL: no delay */
	const char *pma[LAUNCH_OPTIONS_MAX]; /* settings of performance agents: sim/relay/responder.h */
	size_t pma_count;
	unsigned timeout_s;   /* until the subnet is up; 0: depends on its size */
	char *const *command; /* NULL-terminated */
};

/*
 * launch_run - bring the fabric up, run the command, take everything down
 * @ret_status:  the command's exit status, as a shell reports it
 *
 * Start order: ibsim has loaded the net file, the relay is ready, opensm reports SUBNET UP, the driver is
 * ready, the command starts. The end is in reverse order: opensm hangs without ibsim.
 * Return: 0; ERR_UNAVAILABLE if the fabric did not come up; ERR_USAGE for an invalid node or job;
 * ERR_IO. No process is left running.
 */
int launch_run(const struct launch_options *options, int *ret_status, struct error *err);

#endif
