/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * life_test.c - job_watch on jobs without faults, which begin, load, pause, are suspended, killed, and end
 *
 * 4,096 HCA ports with jobs on nearly all of them, an hour at sweeps of 10 s. IBWIRE_LONG=1 runs ten days,
 * IBWIRE_HOURS=N so many hours, IBWIRE_SWEEP_S=N other sweeps, IBWIRE_TRAINING_SEED=N another world.
 * IBWIRE_STALLS_PRINT=1 prints what is false.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/test_cases.h"
#include "base/unit_test.h"
#include "tests/world/training_model.h"
#include "tests/world/training_sweep.h"

enum { HOSTS = 512, RAILS = 8, JOBS_MOST = 2000 };

/* A slowdown is true if iterations are longer by that since then, other jobs being the reason. */
static const double TRUE_SLOWDOWN = 1.025;

static const char *const SPAN_NAMES[] = { "quiet", "loading", "iteration", "evaluation", "checkpoint" };

/* A job that is watched from its begin to its end. */
struct watched {
	struct training_job job;
	uint32_t *hosts;
	uint32_t number;
	struct training_sweep sweep;
	struct job_watch *watch;
	enum job_phase phase;
	double usual_s, slower_s; /* mean iteration before the last true slowdown, and its time */
	/* Sums of the model's iterations at each sweep. */
	struct progress { double at_s, steps, seconds; } *progress;
	size_t progress_count, progress_room;
};

struct life {
	struct training_shape shape;
	struct training *world;
	struct watched *jobs;
	unsigned count, running;
	uint64_t draws;
	uint32_t wanted;          /* hosts of the next job in the queue */
	/* Results. */
	unsigned stalls, slowdowns, true_slowdowns, killed, suspended, most_running;
	uint64_t sweeps, readings;
	double watch_s, longest_s, world_s; /* CPU time; of the watch in one sweep */
};

static int64_t us(double s)
{
	return (int64_t)(s * 1e6);
}

static double cpu_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double uniform(struct life *life, double least, double most)
{
	return least + (most - least) * model_uniform(life->shape.seed * 31, life->draws++);
}

/* A job on the first hosts that are free at @at_s, or anywhere; false: there are too few. */
static bool add_job(struct life *life, double *free_s, double at_s)
{
	uint32_t wanted, count = 0, hosts[HOSTS];
	uint32_t from = uniform(life, 0, 1) < 0.3 ? (uint32_t)uniform(life, 0, HOSTS) : 0;
	double length = exp(uniform(life, log(1200), log(2 * 86400)));
	struct watched *w = &life->jobs[life->count];

	/* Large jobs wait for hosts, small ones may pass. */
	if (!life->wanted)
		life->wanted = (uint32_t)exp(uniform(life, log(2), log(200)));
	wanted = uniform(life, 0, 1) < 0.15 ? (uint32_t)uniform(life, 2, 8) : life->wanted;
	for (uint32_t i = 0; i < HOSTS && count < wanted; i++)
		if (free_s[(from + i) % HOSTS] <= at_s)
			hosts[count++] = (from + i) % HOSTS;
	if (count < wanted || life->count == JOBS_MOST)
		return false;
	if (wanted == life->wanted)
		life->wanted = 0;
	w->hosts = malloc(count * sizeof(*hosts));
	assert_non_null(w->hosts);
	memcpy(w->hosts, hosts, count * sizeof(*hosts));
	training_draw(model_mix(life->shape.seed, 1000 + life->count), &life->shape, w->hosts, count, us(at_s),
		      us(at_s + length), &w->job);
	if (uniform(life, 0, 1) < 0.25) {
		/* Preempted, or at the limit of its time. */
		w->job.end_us = us(at_s + length * uniform(life, 0.05, 1));
		life->killed++;
	} else if (uniform(life, 0, 1) < 0.2) {
		w->job.suspend_us = us(at_s + length * uniform(life, 0.1, 0.9));
		w->job.resume_us = w->job.suspend_us + us(exp(uniform(life, log(60), log(3600))));
		w->job.stop_us += w->job.resume_us - w->job.suspend_us;
		w->job.end_us += w->job.resume_us - w->job.suspend_us;
		life->suspended++;
	}
	w->number = training_add(life->world, &w->job);
	assert_int_not_equal(w->number, TRAINING_NO_JOB);
	for (uint32_t i = 0; i < w->job.host_count; i++)
		free_s[w->hosts[i]] = (double)w->job.end_us / 1e6 + uniform(life, 10, 300);
	life->count++;
	return true;
}

static void life_init(struct life *life, uint64_t seed, double length_s)
{
	double free_s[HOSTS] = { 0 };

	*life = (struct life){ .shape = { .hosts = HOSTS, .rails = RAILS, .hosts_per_leaf = 16, .uplinks = 16,
					  .link_bytes_per_s = 50e9, .seed = seed } };
	life->world = training_create(&life->shape);
	life->jobs = calloc(JOBS_MOST, sizeof(*life->jobs));
	assert_non_null(life->world);
	assert_non_null(life->jobs);
	for (double at = 0; at < length_s; at += uniform(life, 0, 300))
		while (add_job(life, free_s, at))
			at += uniform(life, 0, 30);
}

static void watched_end(struct watched *w)
{
	job_watch_destroy(w->watch);
	training_sweep_done(&w->sweep);
	free(w->progress);
	w->watch = NULL;
	w->progress = NULL;
	w->progress_count = w->progress_room = 0;
}

static void life_done(struct life *life)
{
	for (unsigned i = 0; i < life->count; i++) {
		if (life->jobs[i].watch)
			watched_end(&life->jobs[i]);
		free(life->jobs[i].hosts);
	}
	training_destroy(life->world);
	free(life->jobs);
}

static void note_progress(struct life *life, struct watched *w, double at_s)
{
	const struct model_job *job = &life->world->jobs[w->number];

	if (w->progress_count == w->progress_room) {
		w->progress_room = w->progress_room ? 2 * w->progress_room : 64;
		w->progress = realloc(w->progress, w->progress_room * sizeof(*w->progress));
		assert_non_null(w->progress);
	}
	w->progress[w->progress_count++] = (struct progress){ at_s, (double)job->steps_before, job->sum_before };
}

/* Mean duration of the model's iterations between two times; NAN: there were none. */
static double mean_step(const struct watched *w, double from_s, double to_s)
{
	const struct progress *first = NULL, *last = NULL;

	for (size_t i = 0; i < w->progress_count; i++) {
		if (w->progress[i].at_s <= from_s || !first)
			first = &w->progress[i];
		if (w->progress[i].at_s <= to_s)
			last = &w->progress[i];
	}
	if (!first || !last || !(last->steps > first->steps))
		return NAN;
	return (last->seconds - first->seconds) / (last->steps - first->steps);
}

static void evaluate(struct life *life, struct watched *w, const struct job_state *state, double at_s)
{
	struct model_job *job = &life->world->jobs[w->number];
	double since_s = (double)state->since_us / 1e6, ratio, usual_s;
	const struct span *span;

	if (state->phase == w->phase || (state->phase != JOB_PHASE_STALLED && state->phase != JOB_PHASE_SLOWER))
		return;
	usual_s = mean_step(w, since_s - 3600, since_s);
	/* The slow time of an earlier slowdown is not what was usual. */
	if (w->slower_s > 0 && at_s - w->slower_s < 6 * 3600.0)
		usual_s = fmin(usual_s, w->usual_s);
	ratio = mean_step(w, since_s, at_s) / usual_s;
	if (state->phase == JOB_PHASE_SLOWER && ratio >= TRUE_SLOWDOWN) {
		w->usual_s = usual_s;
		w->slower_s = at_s;
	}
	if (state->phase == JOB_PHASE_STALLED)
		life->stalls++;
	else if (ratio >= TRUE_SLOWDOWN)
		life->true_slowdowns++;
	else
		life->slowdowns++;
	if (!getenv("IBWIRE_STALLS_PRINT"))
		return;
	span = model_span_at(job, model_job_time(job, at_s));
	print_message("    job %u (kind %d, %u hosts, period %.2f, checkpoints %.0f every %.0f by %u, evaluation %.0f "
		      "every %.0f) %s at %.0f since %.0f, allowed %.1f, slower %.3f: %s since %.0f; iterations "
		      "%.3f times as long; begin %.0f stop %.0f end %.0f\n", w->number, job->is.kind,
		      job->is.host_count, mean_step(w, 0, at_s), job->is.checkpoint_s, job->is.checkpoint_every_s,
		      job->is.checkpoint_hosts, job->is.eval_s, job->is.eval_every_s,
		      job_phase_name(state->phase), at_s, since_s,
		      state->allowed_s, state->slower, SPAN_NAMES[span->kind], model_world_time(job, span->begin_s),
		      ratio, (double)job->is.begin_us / 1e6, (double)job->is.stop_us / 1e6,
		      (double)job->is.end_us / 1e6);
}

static void life_run(struct life *life, double interval_s, double from_s, double until_s)
{
	for (double at = from_s + 0.3; at < until_s; at += interval_s) {
		double begin = cpu_s();
		double sweep_s = 0;
		unsigned running = 0;

		assert_true(training_advance(life->world, us(at + 0.5)));
		life->world_s += cpu_s() - begin;
		for (unsigned i = 0; i < life->count; i++) {
			struct watched *w = &life->jobs[i];
			const struct job_state *state;
			bool suspended = us(at) >= w->job.suspend_us && us(at) < w->job.resume_us;

			if (w->job.begin_us > us(at))
				break;
			if (w->job.end_us <= us(at)) {
				if (w->watch)
					watched_end(w);
				continue;
			}
			begin = cpu_s();
			if (!w->watch) {
				assert_true(training_sweep_init(&w->sweep, life->world, &life->shape, &w->job,
								us(interval_s), life->shape.seed + i));
				w->watch = job_watch_create(w->sweep.members, w->sweep.member_count, us(interval_s));
				assert_non_null(w->watch);
				w->phase = JOB_PHASE_LEARNING;
			}
			note_progress(life, w, at);
			training_sweep_run(&w->sweep, us(at));
			life->world_s += cpu_s() - begin;
			begin = cpu_s();
			state = job_watch_step(w->watch, w->sweep.at_us, w->sweep.readings, w->sweep.count,
					       w->sweep.down, suspended);
			sweep_s += cpu_s() - begin;
			life->readings += w->sweep.count;
			running++;
			evaluate(life, w, state, at);
			w->phase = state->phase;
		}
		life->watch_s += sweep_s;
		life->longest_s = fmax(life->longest_s, sweep_s);
		if (running > life->most_running)
			life->most_running = running;
		life->sweeps++;
	}
}

TEST(life_without_faults_at_sweeps_of_10_s)
{
	const char *hours = getenv("IBWIRE_HOURS"), *seed = getenv("IBWIRE_TRAINING_SEED");
	const char *sweep = getenv("IBWIRE_SWEEP_S");
	double length_s = hours ? atof(hours) * 3600 : getenv("IBWIRE_LONG") ? 10 * 86400.0 : 3600;
	struct life *life = malloc(sizeof(*life));

	assert_non_null(life);
	life_init(life, 7 + (seed ? strtoull(seed, NULL, 10) : 0), length_s);
	life_run(life, sweep ? atof(sweep) : 10, 0, length_s);
	print_message("# note: %.1f h of %d HCA ports, %u jobs (%u at most at a time, %u killed, %u suspended), %.1f M "
		      "readings: %u false stalls, %u false slowdowns, %u true ones; CPU: %.0f s the world, %.0f s the "
		      "watch\n", length_s / 3600, HOSTS * RAILS, life->count, life->most_running, life->killed,
		      life->suspended, (double)life->readings / 1e6, life->stalls, life->slowdowns,
		      life->true_slowdowns, life->world_s, life->watch_s);
	assert_int_equal(life->stalls, 0);
	assert_true(life->slowdowns <= 1);
	life_done(life);
	free(life);
}

/* Printed only: a slow host does not make a test fail. */
TEST(cost_at_sweeps_of_1_s)
{
	struct life *life = malloc(sizeof(*life));
	double length_s = getenv("IBWIRE_LONG") ? 900 : 300, per_sweep_s, busy;

	assert_non_null(life);
	life_init(life, 8, 1200);
	life_run(life, 10, 0, 300); /* nearly all hosts have jobs, which have begun to train */
	life->watch_s = life->longest_s = 0;
	life->readings = life->sweeps = 0;
	for (unsigned i = 0; i < life->count; i++)
		if (life->jobs[i].watch)
			watched_end(&life->jobs[i]);
	life_run(life, 1, 300, 300 + length_s);
	per_sweep_s = life->watch_s / (double)life->sweeps;
	busy = (double)life->readings / (double)life->sweeps;
	print_message("# note: %.0f readings of %u jobs per sweep take %.2f ms (%.2f ms at most), %.0f ns each: "
		      "%.2f %% of a core at sweeps of 1 s\n", busy, life->most_running, per_sweep_s * 1e3,
		      life->longest_s * 1e3, per_sweep_s / busy * 1e9, per_sweep_s * 100);
	life_done(life);
	free(life);
}
