/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* training_routes.c - which uplinks jobs share, and how fast their transfers are */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/world/training_model.h"

/* Share of the time of loading and checkpoints in which a job takes its share of uplinks. */
static const double STORAGE_DUTY = 0.3;

struct use_list { struct uplink_use *uses; size_t count, room; bool failed; };

static void add_use(struct use_list *list, uint32_t link, unsigned rail, double flows)
{
	struct uplink_use *larger;

	if (list->count == list->room) {
		list->room = list->room ? list->room * 2 : 256;
		larger = realloc(list->uses, list->room * sizeof(*larger));
		if (!larger) {
			list->failed = true;
			list->room = list->count;
			return;
		}
		list->uses = larger;
	}
	list->uses[list->count++] = (struct uplink_use){link, rail, (float)flows};
}

static int compare_uses(const void *a, const void *b)
{
	const struct uplink_use *x = a, *y = b;

	return (x->link > y->link) - (x->link < y->link);
}

/* Both links of the path from a leaf switch to a host of another one. */
static void add_path(const struct training *world, struct use_list *list, uint32_t leaf, uint32_t host, unsigned rail,
		     bool skewed, double flows)
{
	const struct training_shape *shape = &world->shape;
	uint32_t to = host / shape->hosts_per_leaf, uplink = host % shape->hosts_per_leaf % shape->uplinks;

	if (skewed && to == world->skew_leaf && rail == world->skew_rail)
		uplink = 0;
	add_use(list, ((leaf * shape->rails + rail) * shape->uplinks + uplink) * 2, rail, flows);
	add_use(list, ((to * shape->rails + rail) * shape->uplinks + uplink) * 2 + 1, rail, flows);
}

static bool all_to_all(const struct training *world, const struct model_job *job, struct use_list *list, unsigned rail,
		       bool skewed)
{
	uint32_t leaves = (world->shape.hosts - 1) / world->shape.hosts_per_leaf + 1, count = job->is.host_count;
	uint32_t *hosts_of = calloc(leaves, sizeof(*hosts_of));

	if (!hosts_of)
		return false;
	for (uint32_t i = 0; i < count; i++)
		hosts_of[job->hosts[i] / world->shape.hosts_per_leaf]++;
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t leaf = 0; leaf < leaves; leaf++)
			if (hosts_of[leaf] && leaf != job->hosts[i] / world->shape.hosts_per_leaf)
				add_path(world, list, leaf, job->hosts[i], rail, skewed,
					 hosts_of[leaf] / (double)(count - 1));
	free(hosts_of);
	return true;
}

/* The uses of a job, each link once. */
static bool find_uses(const struct training *world, struct model_job *job, bool skewed)
{
	struct job_routes *routes = &job->routes[skewed];
	struct use_list list = { 0 };
	uint32_t count = job->is.host_count, stride = job->is.kind == TRAINING_PIPELINE ? job->is.stages : 1;
	size_t merged = 0;

	routes->crossing = calloc(count, sizeof(*routes->crossing));
	if (!routes->crossing)
		return false;
	routes->alike = !skewed;
	for (unsigned rail = 0; rail < (routes->alike ? 1 : world->shape.rails); rail++) {
		if (job->is.kind == TRAINING_ALLTOALL && !all_to_all(world, job, &list, rail, skewed))
			list.failed = true;
		for (uint32_t i = 0; i < count; i++) {
			uint32_t leaf = job->hosts[i] / world->shape.hosts_per_leaf;
			uint32_t to = job->hosts[(i + stride) % count];

			if (job->is.kind == TRAINING_ALLTOALL || leaf != to / world->shape.hosts_per_leaf)
				routes->crossing[i] |= (uint8_t)(routes->alike ? 0xff : 1u << rail);
			/* With SHARP, leaf switches send one flow each. */
			if (leaf != to / world->shape.hosts_per_leaf && job->is.kind != TRAINING_ALLTOALL)
				add_path(world, &list, leaf, to, rail, skewed, 1);
		}
	}
	if (list.failed) {
		free(list.uses);
		return false;
	}
	if (list.count)
		qsort(list.uses, list.count, sizeof(*list.uses), compare_uses);
	for (size_t i = 0; i < list.count; i++) {
		if (merged && list.uses[merged - 1].link == list.uses[i].link)
			list.uses[merged - 1].flows += list.uses[i].flows;
		else
			list.uses[merged++] = list.uses[i];
	}
	for (size_t i = 0; i < merged; i++)
		routes->most_own[list.uses[i].rail] =
			fmaxf(routes->most_own[list.uses[i].rail], list.uses[i].flows);
	for (unsigned rail = 1; rail < world->shape.rails && routes->alike; rail++)
		routes->most_own[rail] = routes->most_own[0];
	routes->uses = list.uses;
	routes->use_count = merged;
	return true;
}

static int compare_shared(const void *a, const void *b)
{
	const struct shared_use *x = a, *y = b;

	return x->link != y->link ? (x->link > y->link) - (x->link < y->link) :
	       (x->other_job > y->other_job) - (x->other_job < y->other_job);
}

/* Only links that others can fill together with this job. */
static void prune(struct job_routes *routes)
{
	size_t kept = 0;

	for (size_t i = 0, end; i < routes->shared_count; i = end) {
		float sum = routes->shared[i].own;

		for (end = i; end < routes->shared_count && routes->shared[end].link == routes->shared[i].link; end++)
			sum += routes->shared[end].other;
		/* Those before are alike in most jobs: a link with the same users. */
		if (sum <= 1)
			continue;
		if (kept >= end - i) {
			const struct shared_use *same = &routes->shared[kept - (end - i)];
			size_t n = 0;

			while (n < end - i && same[n].link == same->link && same[n].rail == routes->shared[i].rail &&
			       same[n].other_job == routes->shared[i + n].other_job &&
			       !(routes->shared[i + n].own > same[n].own) &&
			       !(routes->shared[i + n].other > same[n].other))
				n++;
			if (n == end - i)
				continue;
		}
		memmove(&routes->shared[kept], &routes->shared[i], (end - i) * sizeof(*routes->shared));
		kept += end - i;
	}
	routes->shared_count = kept;
}

static bool find_shared(struct training *world, uint32_t number, bool skewed)
{
	struct model_job *job = &world->jobs[number];
	struct job_routes *routes = &job->routes[skewed];
	size_t room = 0;

	routes->others = calloc(world->job_count, sizeof(*routes->others));
	routes->active = calloc(world->job_count, sizeof(*routes->active));
	if (!routes->others || !routes->active)
		return false;
	for (uint32_t i = 0; i < world->job_count; i++) {
		const struct job_routes *other = &world->jobs[i].routes[skewed];
		size_t before = routes->shared_count;

		if (i == number || world->jobs[i].is.begin_us >= job->is.end_us ||
		    world->jobs[i].is.end_us <= job->is.begin_us)
			continue;
		for (size_t a = 0, b = 0; a < routes->use_count && b < other->use_count;) {
			if (routes->uses[a].link < other->uses[b].link) {
				a++;
			} else if (routes->uses[a].link > other->uses[b].link) {
				b++;
			} else {
				if (routes->shared_count == room) {
					struct shared_use *larger;

					room = room ? room * 2 : 64;
					larger = realloc(routes->shared, room * sizeof(*larger));
					if (!larger)
						return false;
					routes->shared = larger;
				}
				routes->shared[routes->shared_count++] = (struct shared_use){
					.link = routes->uses[a].link, .rail = routes->uses[a].rail,
					.own = routes->uses[a].flows, .other = other->uses[b].flows,
					.other_job = routes->other_count};
				a++;
				b++;
			}
		}
		if (routes->shared_count > before)
			routes->others[routes->other_count++] = i;
	}
	if (routes->shared_count)
		qsort(routes->shared, routes->shared_count, sizeof(*routes->shared), compare_shared);
	prune(routes);
	return true;
}

void model_routes_done(struct job_routes *routes)
{
	free(routes->uses);
	free(routes->shared);
	free(routes->others);
	free(routes->active);
	free(routes->crossing);
	*routes = (struct job_routes){0};
}

bool model_routes(struct training *world)
{
	for (unsigned skewed = 0; skewed <= !isinf(world->skew_s); skewed++) {
		for (uint32_t i = 0; i < world->job_count; i++) {
			model_routes_done(&world->jobs[i].routes[skewed]);
			if (!find_uses(world, &world->jobs[i], skewed))
				return false;
		}
		for (uint32_t i = 0; i < world->job_count; i++)
			if (!find_shared(world, i, skewed))
				return false;
	}
	return true;
}

/* How much of the time a job sends at a moment: 0 or 1 where that is known, or else on average. */
static double activity(struct model_job *job, double world_s)
{
	double at = model_job_time(job, world_s);
	const struct span *span;

	if (world_s * 1e6 < (double)job->is.begin_us || !job->count)
		return 0;
	if (job->is.suspend_us && world_s * 1e6 >= (double)job->is.suspend_us &&
	    world_s * 1e6 < (double)job->is.resume_us)
		return 0;
	if (at >= job->now_s)
		return job->duty;
	span = model_span_at(job, at);
	if (span->kind == SPAN_LOAD || span->kind == SPAN_CHECKPOINT)
		return STORAGE_DUTY;
	for (unsigned k = 0; k < span->buckets; k++)
		if (at >= span->start_s[k] && at < span->done_s[k])
			return isinf(span->done_s[k]) ? 0 : 1;
	return 0;
}

void model_rates(struct training *world, const struct model_job *job, double job_s, float ret[TRAINING_RAILS_MAX],
		 uint8_t *ret_limits)
{
	double world_s = model_world_time(job, job_s), others = 0;
	const struct job_routes *routes = &job->routes[world_s >= world->skew_s];

	*ret_limits = 0;
	for (unsigned r = 0; r < world->shape.rails; r++) {
		ret[r] = 1;
		if (routes->most_own[r] > 1) {
			ret[r] = 1 / routes->most_own[r];
			*ret_limits |= (uint8_t)(1u << r);
		}
	}
	for (size_t i = 0; i < routes->other_count; i++)
		routes->active[i] = activity(&world->jobs[routes->others[i]], world_s);
	for (size_t i = 0; i < routes->shared_count; i++) {
		const struct shared_use *use = &routes->shared[i];

		if (i == 0 || use->link != use[-1].link)
			others = 0;
		others += (double)use->other * routes->active[use->other_job];
		if ((double)use->own + others > 1 && 1 / ((double)use->own + others) < (double)ret[use->rail]) {
			ret[use->rail] = (float)(1 / ((double)use->own + others));
			*ret_limits |= (uint8_t)(1u << use->rail);
		}
	}
	for (unsigned r = 1; r < world->shape.rails && routes->alike; r++) {
		ret[r] = ret[0];
		*ret_limits |= (uint8_t)((*ret_limits & 1) << r);
	}
	if (job->fault && job->fault->kind == TRAINING_SLOW_RAIL && job_s >= job->fault_s &&
	    job->fault->factor < (double)ret[job->fault->rail]) {
		ret[job->fault->rail] = (float)job->fault->factor;
		*ret_limits &= (uint8_t)~(1u << job->fault->rail);
	}
}
