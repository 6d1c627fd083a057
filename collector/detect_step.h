/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * detect_step.h - find jobs that no batch system has begun, with each sweep
 *
 * Passes the traffic of compute hosts to analysis/job_detect, and stores the jobs that it finds. A job that was begun
 * on any of these hosts replaces one that was found.
 */
#ifndef IBWIRE_COLLECTOR_DETECT_STEP_H
#define IBWIRE_COLLECTOR_DETECT_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

struct error;
struct findings_step;
struct job_detect;
struct sink;
struct sweep;

/* A host that has been in the fabric, by its name. */
struct detect_host {
	char *name;
	int64_t announced;    /* number of the job that was begun on it; 0: none */
	/* In this sweep, of all ports that were read. */
	double xmit_bytes_per_s, rcv_bytes_per_s;
	int64_t elapsed_us;
	unsigned ports, ports_before; /* that were read: now, and in the last sweep */
};

/* A zeroed one does nothing. Freed by detect_step_done(). */
struct detect_step {
	struct job_detect *detect;
	bool switches_only;
	struct detect_host *hosts;
	size_t host_count, host_capacity;
	struct map by_name;   /* keys: hashes of names */
	uint32_t *host_of;    /* by port of the fabric of this generation; UINT32_MAX: none */
	uint64_t generation, jobs_revision;
	bool has_hosts, restored;
};

/* detect_step_init - Return: 0 or ERR_NOMEM. @interval_us: of the sweeps */
int detect_step_init(struct detect_step *step, int64_t interval_us, bool switches_only, struct error *err);
void detect_step_done(struct detect_step *step);

/*
 * detect_step_run - after a sweep was stored
 * @findings:  of this sweep: shape of the fabric and running jobs
 * Jobs that cannot be stored are stored with the next sweep.
 * Return: 0 or ERR_NOMEM.
 */
int detect_step_run(struct detect_step *step, const struct sweep *sweep, const struct findings_step *findings,
		    const struct sink *sink, struct error *err);

#endif
