/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sim/traffic/phases.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "sim/job.h"

/* Iterations vary by this, as those of real jobs do. */
#define NOISE 0.01

/* A flow has sent all of its amount. */
#define ALL (1 - 1e-9)

static const struct job_rhythm *rhythm_of_flow(const struct phases *phases, size_t flow)
{
	return &phases->list->rhythms[phases->list->flows[flow].job];
}

static double amount_of(const struct phases *phases, size_t flow)
{
	const struct job_rhythm *rhythm = rhythm_of_flow(phases, flow);

	return phases->list->flows[flow].demand_bits_per_s * rhythm->iteration_s * rhythm->wire;
}

/* Even numbers that depend on job and iteration only: -1 to 1. */
static double noise_of(size_t job, unsigned iteration)
{
	uint64_t mixed = ((uint64_t)job + 1) * UINT64_C(0x9e3779b97f4a7c15) ^
			 ((uint64_t)iteration + 1) * UINT64_C(0xbf58476d1ce4e5b9);

	mixed = (mixed ^ mixed >> 31) * UINT64_C(0x94d049bb133111eb);
	return (double)(mixed >> 11) / 4503599627370496.0 - 1;
}

/* The next iteration of a job begins; it is preceded by a checkpoint if one is due. */
static void begin_iteration(struct phases *phases, size_t job)
{
	const struct job_rhythm *rhythm = &phases->list->rhythms[job];
	struct job_run *run = &phases->runs[job];
	double held_s = 0;

	if (rhythm->checkpoint_every_s > 0 && phases->now_s - run->saved_s >= rhythm->checkpoint_every_s) {
		held_s = rhythm->checkpoint_s;
		run->saved_s = phases->now_s;
	}
	for (size_t i = 0; i < phases->list->count; i++) {
		if (phases->list->flows[i].job != job)
			continue;
		phases->sent[i] = 0;
		phases->held_s[i] = held_s;
		phases->computes_s[i] = rhythm->iteration_s * (1 - rhythm->wire) *
					(1 + NOISE * noise_of(job, run->iterations));
	}
	run->iterations++;
}

int phases_init(struct phases *phases, const struct flow_list *list)
{
	*phases = (struct phases){
		.list = list, .runs = calloc(list->job_count + 1, sizeof(*phases->runs)),
		.computes_s = calloc(list->count + 1, sizeof(*phases->computes_s)),
		.sent = calloc(list->count + 1, sizeof(*phases->sent)),
		.held_s = calloc(list->count + 1, sizeof(*phases->held_s)),
	};
	if (!phases->runs || !phases->computes_s || !phases->sent || !phases->held_s)
		return ERR_NOMEM;
	for (size_t i = 0; list->rhythms && i < list->job_count; i++)
		begin_iteration(phases, i);
	return 0;
}

void phases_done(struct phases *phases)
{
	free(phases->runs);
	free(phases->computes_s);
	free(phases->sent);
	free(phases->held_s);
	memset(phases, 0, sizeof(*phases));
}

/* Does the job exist at this time? */
static bool runs_now(const struct phases *phases, const struct job_rhythm *rhythm)
{
	return phases->now_s >= rhythm->start_s &&
	       (rhythm->length_s <= 0 || phases->now_s < rhythm->start_s + rhythm->length_s);
}

static bool is_busy(const struct phases *phases, size_t index)
{
	return phases->held_s[index] > 0 || phases->computes_s[index] > 0;
}

/* Bits that a flow may send now, as far as its host has data and the other one is ready: at least @least if any. */
static double room_of(const struct phases *phases, size_t index, double least)
{
	const struct flow *flow = &phases->list->flows[index];
	double amount = amount_of(phases, index), limit, chunk;

	if (is_busy(phases, index) || is_busy(phases, flow->next))
		return 0;
	/* Reduce-scatter and all-gather: twice the number of hosts, less two, chunks. */
	chunk = amount / (2.0 * (flow->ring_hosts > 1 ? flow->ring_hosts - 1 : 1));
	limit = phases->sent[flow->previous] + (chunk > least ? chunk : least);
	return (limit < amount ? limit : amount) - phases->sent[index];
}

bool phases_update(struct phases *phases)
{
	const struct flow_list *list = phases->list;
	bool changed = false;

	for (size_t job = 0; job < list->job_count; job++) {
		bool sent_before = phases->runs[job].sends;

		phases->runs[job].sends = runs_now(phases, &list->rhythms[job]) && list->rhythms[job].iteration_s <= 0;
		phases->runs[job].was_sending = sent_before;
	}
	for (size_t i = 0; i < list->count; i++)
		if (rhythm_of_flow(phases, i)->iteration_s > 0 && runs_now(phases, rhythm_of_flow(phases, i)) &&
		    room_of(phases, i, 0) > amount_of(phases, i) * (1 - ALL))
			phases->runs[list->flows[i].job].sends = true;
	for (size_t job = 0; job < list->job_count; job++)
		changed |= phases->runs[job].sends != phases->runs[job].was_sending;
	return changed;
}

double phases_demand(const struct phases *phases, size_t job)
{
	return phases->runs[job].sends ? phases->runs[job].demand : 0;
}

static void compute(struct phases *phases, size_t index, double step_s)
{
	const struct host *host = &phases->list->hosts[phases->list->flows[index].host];

	if (phases->held_s[index] > 0)
		phases->held_s[index] -= step_s;
	else if (phases->computes_s[index] > 0 && !host->frozen)
		phases->computes_s[index] -= step_s / (1 + host->slower);
}

void phases_advance(struct phases *phases, double step_s, const double *rate, double *ret_sent)
{
	const struct flow_list *list = phases->list;

	for (size_t i = 0; i < list->count; i++) {
		size_t job = list->flows[i].job;
		double sends = phases->runs[job].sends ? rate[i] * step_s : 0;

		ret_sent[i] = sends;
		phases->runs[job].unfinished = false;
		if (list->rhythms[job].iteration_s <= 0)
			continue;
		if (sends > 0) {
			double room = room_of(phases, i, 2 * sends);

			ret_sent[i] = sends < room ? sends : room > 0 ? room : 0;
			phases->sent[i] += ret_sent[i];
		}
	}
	for (size_t i = 0; i < list->count; i++) {
		if (rhythm_of_flow(phases, i)->iteration_s <= 0 || !runs_now(phases, rhythm_of_flow(phases, i)))
			continue;
		compute(phases, i, step_s);
		phases->runs[list->flows[i].job].unfinished |= phases->sent[i] < amount_of(phases, i) * ALL;
	}
	phases->now_s += step_s;
	for (size_t job = 0; job < list->job_count; job++)
		if (list->rhythms[job].iteration_s > 0 && runs_now(phases, &list->rhythms[job]) &&
		    !phases->runs[job].unfinished)
			begin_iteration(phases, job);
}
