/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * phases.h - the iterations of jobs: which flows have data to send at a moment
 *
 * Every host computes, then each ring transfers a fixed amount per flow, in chunks: a host forwards a chunk when it
 * has received it from the host before it. A host that still computes has no buffers for it, so that nothing is sent
 * to it. An iteration ends when all flows of the job have sent their amount. So a host that computes longer, or has
 * stopped, holds up the others after the chunks that they can send without it.
 */
#ifndef IBWIRE_SIM_PHASES_H
#define IBWIRE_SIM_PHASES_H

#include <stdbool.h>
#include <stddef.h>

struct flow_list;

/* Seconds of traffic are advanced in steps of this. */
#define PHASES_STEP_S 0.005

struct job_run {
	double demand;       /* of each flow while there is data to send, bits per second: of traffic_route() */
	double saved_s;      /* time of its last checkpoint */
	unsigned iterations;
	bool sends, was_sending; /* in this step; in the one before */
	bool unfinished;     /* a flow has not sent its amount */
};

struct phases {
	const struct flow_list *list; /* borrowed */
	struct job_run *runs;   /* by job */
	double *computes_s;     /* by flow: time that its host still computes in this iteration */
	double *sent;           /* by flow, in this iteration: bits */
	double *held_s;         /* by flow: an extra pause of the job, which slow hosts do not lengthen */
	double now_s;
};

/* phases_init - Return: 0 or ERR_NOMEM. phases_done() frees it in any case. */
int phases_init(struct phases *phases, const struct flow_list *list);
void phases_done(struct phases *phases);

/* phases_update - which jobs send from now on? Return: whether that changed. */
bool phases_update(struct phases *phases);

/* phases_demand - the demand of each flow of a job, as phases_update() found it */
double phases_demand(const struct phases *phases, size_t job);

/*
 * phases_advance - advance the time by a step
 * @rate:      by flow: bits per second, if it sends
 * @ret_sent:  by flow: bits
 */
void phases_advance(struct phases *phases, double step_s, const double *rate, double *ret_sent);

#endif
