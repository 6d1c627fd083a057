/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * launch.h - a simulated fabric around a command: ibsim, opensm, the traffic driver
 *
 * One launch has a private run directory, a socket name of its own, and
 * children that die with it, so several run side by side. Order of the start:
 * ibsim has loaded the net, opensm says SUBNET UP, the driver is ready, then
 * the command; it ends the other way round (ibsim goes last: without it
 * opensm hangs).
 */
#ifndef IBWIRE_SIM_LAUNCH_H
#define IBWIRE_SIM_LAUNCH_H

#include <stddef.h>

struct error;
struct fabric;

#define LAUNCH_OPTIONS_MAX 32

/* Under which name the launcher listens, see sim/control.h. */
#define LAUNCH_CONTROL_PART "opensm"

struct launch_options {
	const char *net;      /* net file as ibsim shall load it: text */
	size_t net_len;
	const struct fabric *fabric; /* what is in it */
	const char *attach;   /* node of the command: name or GUID; NULL: chosen */
	const char *sm;       /* node of opensm, likewise */
	const char *dir;      /* run directory that is kept, or NULL: a temporary one */
	const char *traffic[LAUNCH_OPTIONS_MAX]; /* jobs, see sim/job.h */
	size_t traffic_count;
	const char *truth;    /* file for what the driver sent, or NULL: in the run directory */
	unsigned tick_ms;     /* of the driver */
	const char *opensm[LAUNCH_OPTIONS_MAX]; /* more lines for opensm's configuration */
	size_t opensm_count;
	const char *wire;     /* what the relay does with MADs, see sim/relay/relay.h; NULL: they pass at once */
	const char *pma[LAUNCH_OPTIONS_MAX]; /* what performance agents answer, see sim/relay/responder.h */
	size_t pma_count;
	unsigned timeout_s;   /* for the subnet to come up; 0: by the size of the net */
	char *const *command; /* NULL-terminated */
};

/*
 * launch_run - bring the fabric up, run the command in it, take everything down
 * @ret_status:  the command's exit status as a shell reports it
 *
 * The command has LD_PRELOAD, IBSIM_SOCKNAME and SIM_HOST set, and
 * IBWIRE_SIM_DIR (the run directory), IBWIRE_SIM_CONSOLE (ibsim's console, a
 * FIFO to write lines to), IBWIRE_SIM_OPENSM_PID. It has the terminal, and Ctrl-C goes to
 * it. SIGTERM, SIGHUP and a SIGINT sent to the launcher are passed on to it.
 * Return: 0; ERR_UNAVAILABLE where the fabric did not come up; ERR_USAGE where
 * a node or a job is none; ERR_IO. Then nothing is left running.
 */
int launch_run(const struct launch_options *options, int *ret_status, struct error *err);

#endif
