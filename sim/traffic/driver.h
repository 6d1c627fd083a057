/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* driver.h - the process that advances the counters of ibsim by the traffic of the jobs */
#ifndef IBWIRE_SIM_DRIVER_H
#define IBWIRE_SIM_DRIVER_H

#include <stddef.h>

struct error;
struct fabric;
struct text;

struct driver_options {
	struct fabric *fabric; /* its widths change with "narrow" */
	const char *dir;       /* run directory, with opensm's tables; ibsim's working directory */
	const char *sockname;  /* of ibsim */
	const char *control;   /* name of the control socket: the IBSIM_SOCKNAME of clients */
	const char *const *jobs; /* sim/job.h */
	size_t job_count;
	const char *truth;     /* path of the ground-truth CSV */
	unsigned tick_ms;
	int console_fd;        /* ibsim's console */
	int ready_fd;          /* a NUL is written when traffic flows, then it is closed and set to -1 */
};

/* driver_run - run until SIGTERM, then write the ground truth. Return: 0 or an error. */
int driver_run(struct driver_options *options, struct error *err);

/*
 * driver_control - send a command to the driver of a simulation and wait until it is done
 * @command:   "pause", "resume", "truth", "status", "idle NODES", "freeze NODES",
 *            "slower LIST", "narrow PORTS" or "skew SHARE [PORT]" (sim/fault_kinds.c)
 *
 * After "pause" counters change only by MADs, and the ground truth is written.
 * Return: 0; ERR_USAGE for another command; ERR_UNAVAILABLE if the driver does not respond.
 */
int driver_control(const char *sockname, const char *command, struct text *response, struct error *err);

#endif
