/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * driver.h - the process that makes counters grow
 *
 * It owns the jobs, follows opensm's tables, and every tick moves the counters
 * of the simulated ports by what the flows sent since the last one. A counter
 * is read right before it is set, without crossing a link, so what MADs added
 * in between stays in it and a reset by somebody else is respected.
 */
#ifndef IBWIRE_SIM_DRIVER_H
#define IBWIRE_SIM_DRIVER_H

#include <stddef.h>

struct error;
struct fabric;
struct text;

struct driver_options {
	const struct fabric *fabric;
	const char *dir;       /* run directory: opensm's tables are here, and ibsim's working directory */
	const char *sockname;  /* of ibsim */
	const char *control;   /* name under which the driver listens: what clients have as IBSIM_SOCKNAME */
	const char *const *jobs; /* see sim/job.h */
	size_t job_count;
	const char *truth;     /* path of the CSV */
	unsigned tick_ms;
	int console_fd;        /* ibsim's console */
	int ready_fd;          /* one NUL is written when traffic flows, then it is closed and -1 */
};

/* driver_run - drive until SIGTERM, then write the truth. Return: 0 or what went wrong. */
int driver_run(struct driver_options *options, struct error *err);

/*
 * driver_control - tell the driver of a simulation something, and wait until it is done
 * @sockname:  $IBSIM_SOCKNAME
 * @command:   "pause", "resume", "truth" or "status"
 * @answer:    what it says is appended
 *
 * After "pause" no counter moves any more but by MADs, and the truth is written.
 * Return: 0, ERR_USAGE for another word, ERR_UNAVAILABLE where no driver answers.
 */
int driver_control(const char *sockname, const char *command, struct text *response, struct error *err);

#endif
