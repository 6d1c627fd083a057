/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* One job, sweep by sweep: the sum of its members, whether it is quiet, and its rhythm now and then. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/jobs/state.h"

enum { RHYTHM_SWEEPS = 16 };      /* the rhythm is computed once in these */

/*
 * Keep-alives and performance queries are less than this, per member. Monitoring and logs over IPoIB are more now and
 * then, on few members, but less than a burst of messages of a library; 1/5000 of what the job sends is neither.
 */
static const double quiet_bytes_per_s = 50e3, loud_bytes_per_s = 1e6, loud_share = 2e-4;
static const double above_share = 0.1;    /* of the members may be above the first while the job is quiet */
static const double begin_share = 0.02;   /* of the usual rate: only the beginning of a collective */
static const float begin_bytes = 20e3F;   /* of a member that has entered it */
static const int64_t history_step_us = INT64_C(300000000);
static const double read_share = 0.9;     /* of the members that are not down must be read for a point */

struct job_watch *job_watch_create(const struct job_member *members, size_t count, int64_t interval_us)
{
	struct job_watch *watch = calloc(1, sizeof(*watch));

	if (!watch)
		return NULL;
	watch->members = malloc((count ? count : 1) * sizeof(*members));
	watch->states = calloc(count ? count : 1, sizeof(*watch->states));
	watch->values = malloc((count ? count : 1) * sizeof(*watch->values));
	if (!watch->members || !watch->states || !watch->values) {
		job_watch_destroy(watch);
		return NULL;
	}
	if (count)
		memcpy(watch->members, members, count * sizeof(*members));
	watch->count = count;
	watch->interval_us = interval_us;
	for (size_t i = 0; i < count; i++)
		if (members[i].host >= watch->hosts)
			watch->hosts = members[i].host + 1;
	watch->state.allowed_s = NAN;
	watch->state.slower = 1;
	rhythm_of(NULL, 0, &watch->state.now);
	watch->state.before = watch->state.now;
	return watch;
}

void job_watch_destroy(struct job_watch *watch)
{
	if (!watch)
		return;
	free(watch->members);
	free(watch->states);
	free(watch->values);
	free(watch);
}

double watch_window(const struct job_watch *watch)
{
	double window = (double)watch->interval_us;

	if (watch->point_count) {
		size_t last = (watch->next + JOB_POINTS - 1) % JOB_POINTS;

		window = fmax(window, (double)watch->points[last].elapsed_us);
	}
	return window / 1e6;
}

static void point_add(struct job_watch *watch, struct rhythm_point point)
{
	watch->points[watch->next] = point;
	watch->next = (watch->next + 1) % JOB_POINTS;
	if (watch->point_count < JOB_POINTS)
		watch->point_count++;
}

/* Copies the points to the series, by time. Return: their number. */
static size_t points_in_order(struct job_watch *watch)
{
	size_t count = watch->point_count, from = (watch->next + JOB_POINTS - count) % JOB_POINTS;
	size_t first = count < JOB_POINTS - from ? count : JOB_POINTS - from;

	memcpy(watch->series, watch->points + from, first * sizeof(*watch->points));
	memcpy(watch->series + first, watch->points, (count - first) * sizeof(*watch->points));
	return count;
}

/* Number of the points of the series that are not after @at_us. */
static size_t points_until(const struct job_watch *watch, size_t count, int64_t at_us)
{
	while (count > 0 && watch->series[count - 1].at_us > at_us)
		count--;
	return count;
}

/* Sums of one sweep. */
struct sums {
	double rate, rate_received, at_us, elapsed_us; /* of what was read */
	size_t read, down, above, loud;
	bool busy;
	int64_t busy_us, busy_from_us;    /* last reading with traffic; the earliest begin of such a window */
	int64_t quiet_until_us;           /* last reading */
};

/* What members send to each other is received by them: not checkpoints and data of training that go to storage. */
static double exchanged(const struct sums *sums)
{
	return fmin(sums->rate, sums->rate_received);
}

static void wait_average(const struct job_watch *watch, double wait, float *now, float *usual)
{
	if (isnan(wait))
		return;
	*now += ((float)wait - *now) / 15;
	if (watch->state.phase == JOB_PHASE_LEARNING || watch->state.phase == JOB_PHASE_RUNS)
		*usual += ((float)wait - *usual) / fminf(1000, (float)watch->sweeps + 1);
}

static void add_reading(struct job_watch *watch, const struct job_reading *reading, double loud, struct sums *sums)
{
	struct job_member_state *state = &watch->states[reading->member];
	double seconds = (double)reading->elapsed_us / 1e6, most;

	if (reading->elapsed_us <= 0 || (isnan(reading->xmit_bytes) && isnan(reading->rcv_bytes)))
		return;
	state->read_sweep = watch->sweeps;
	sums->read++;
	if (reading->at_us > sums->quiet_until_us)
		sums->quiet_until_us = reading->at_us;
	sums->at_us += (double)reading->at_us;
	sums->elapsed_us += (double)reading->elapsed_us;
	if (!isnan(reading->rcv_bytes)) {
		sums->rate_received += reading->rcv_bytes / seconds;
		watch->shares.received += reading->rcv_bytes;
		state->received += reading->rcv_bytes;
	}
	if (!isnan(reading->xmit_bytes)) {
		double middle_s = (double)(reading->at_us - watch->iterations.flush_us) / 1e6 - seconds / 2;

		sums->rate += reading->xmit_bytes / seconds;
		watch->shares.sent += reading->xmit_bytes;
		state->total += reading->xmit_bytes;
		state->sent += (float)reading->xmit_bytes;
		state->last_bytes = (float)reading->xmit_bytes - state->quiet_rate * (float)seconds;
		if (reading->xmit_bytes / seconds > (watch->level > 10 * loud_bytes_per_s ? loud : quiet_bytes_per_s))
			state->sent_us = reading->at_us;
		state->moment += (float)(reading->xmit_bytes * middle_s);
	}
	wait_average(watch, reading->wait_to, &state->wait_to_now, &state->wait_to_usual);
	wait_average(watch, reading->wait_own, &state->wait_own_now, &state->wait_own_usual);

	most = fmax(reading->xmit_bytes, reading->rcv_bytes) / seconds;
	sums->loud += most > loud;
	if (most > quiet_bytes_per_s) {
		int64_t from_us = reading->at_us - reading->elapsed_us;

		sums->above++;
		if (reading->at_us > sums->busy_us)
			sums->busy_us = reading->at_us;
		if (!sums->busy_from_us || from_us < sums->busy_from_us)
			sums->busy_from_us = from_us;
	}
	/* Of a job that always sends little, what is above the first threshold. */
	if (most > (watch->level > 10 * loud_bytes_per_s ? loud : quiet_bytes_per_s)) {
		state->busy_us = reading->at_us;
		state->wait_to_most = 0;
	} else {
		float rate = (float)(reading->xmit_bytes / seconds);

		/* A low quantile: now and then there is more, or the beginning of a collective. */
		if (!isnan(rate) && !(state->quiet_rate > 0))
			state->quiet_rate = rate;
		else if (rate < state->quiet_rate)
			state->quiet_rate += 0.5F * (rate - state->quiet_rate);
		else if (rate < 4 * state->quiet_rate + 2000)
			state->quiet_rate += 0.02F * (rate - state->quiet_rate);
		if (!isnan(reading->wait_to))
			state->wait_to_most = fmaxf(state->wait_to_most, (float)reading->wait_to);
	}
}

/* A pause ends with the first window that has traffic, and begins with the last. */
static void pause_step(struct job_watch *watch, const struct sums *sums, bool suspended)
{
	if (sums->busy) {
		double seconds = (double)(sums->busy_from_us - watch->busy_us) / 1e6;

		if (watch->paused && !watch->was_suspended && !suspended && seconds > 0 && watch->first_exchange_us)
			pause_end(watch, seconds);
		watch->busy_us = sums->busy_us;
		if (exchanged(sums) > loud_bytes_per_s) {
			if (!watch->first_exchange_us)
				watch->first_exchange_us = sums->busy_us;
			watch->exchange_us = sums->busy_us;
			watch->exchange_sweeps++;
		}
		watch->paused = watch->was_suspended = false;
		watch->quiet_us = 0;
		return;
	}
	/* Quiet is what was read of nearly all of them, and only if one of them responds. */
	if (!sums->read || (double)(sums->read + sums->down) < read_share * (double)watch->count)
		return;
	if (!watch->busy_us)
		return;
	watch->paused = true;
	watch->was_suspended |= suspended;
	watch->quiet_us = sums->quiet_until_us - watch->busy_us;
}

/*
 * Members enter a collective one after the other, and send what they can until the last one enters. In a window in
 * which the job sends only that, those that sent nothing are late.
 */
static void absent_step(struct job_watch *watch, const struct sums *sums)
{
	size_t present = 0, absent;

	if (!sums->read || sums->rate / (double)sums->read > begin_share * watch->level ||
	    watch->state.phase == JOB_PHASE_LEARNING || watch->state.phase == JOB_PHASE_STALLED)
		return;
	for (size_t i = 0; i < watch->count; i++)
		present += watch->states[i].last_bytes > begin_bytes;
	absent = watch->count - present;
	if (absent == 0 || absent * 3 > watch->count)
		return;
	for (size_t i = 0; i < watch->count; i++) {
		struct job_member_state *state = &watch->states[i];
		float is_absent = state->last_bytes > begin_bytes ? 0 : 1;

		state->absent += 0.3F * (is_absent - state->absent);
		if (watch->state.phase == JOB_PHASE_RUNS)
			state->absent_usual += 0.02F * (is_absent - state->absent_usual);
	}
}

/* The rhythm of an hour ago, or of the beginning of the training. */
static void history_step(struct job_watch *watch, int64_t now_us)
{
	if (watch->state.phase == JOB_PHASE_LEARNING || watch->state.now.kind == RHYTHM_UNKNOWN)
		return;
	if (!watch->history_count || now_us - watch->history_us >= history_step_us) {
		watch->history[watch->history_next] = watch->state.now;
		watch->history_next = (watch->history_next + 1) % JOB_HISTORY;
		if (watch->history_count < JOB_HISTORY)
			watch->history_count++;
		watch->history_us = now_us;
	}
	watch->state.before = watch->history[watch->history_count < JOB_HISTORY ? 0 : watch->history_next];
}

/* The rhythm since the speed changed last. Of too few points, it is not known, and remains. */
static void rhythm_now(struct job_watch *watch, size_t count)
{
	size_t from = points_until(watch, count, watch->speed_us);
	struct rhythm now;

	rhythm_of(watch->series + from, count - from, &now);
	if (!from || now.kind != RHYTHM_UNKNOWN)
		watch->state.now = now;
}

static void rhythm_learn(struct job_watch *watch)
{
	size_t count = points_in_order(watch);

	rhythm_now(watch, count);
	if (watch->state.phase == JOB_PHASE_SLOWER)
		return;
	history_step(watch, watch->series[count - 1].at_us);
	iterations_learn(watch, count);
}

/* What both rhythms and @slower say is the same: the rhythm of now is less exact, and of a longer time. */
static void slowdown_step(struct job_watch *watch)
{
	struct job_state *state = &watch->state;

	if (watch->speed_us != state->since_us) {
		size_t count = points_in_order(watch);
		double period_s = state->before.period_s, spread_s = state->before.spread_s;
		struct rhythm before;

		watch->speed_us = state->since_us;
		rhythm_of(watch->series, points_until(watch, count, watch->speed_us), &before);
		if (before.kind != RHYTHM_UNKNOWN)
			state->before = before;
		/* Iterations show it more exactly. */
		if (!watch->pace.found) {
			state->before.period_s = period_s;
			state->before.spread_s = spread_s;
		}
		state->now = state->before;
		state->now.wire_share /= state->slower;
		rhythm_now(watch, count);
	}
	state->now.period_s = state->before.period_s * state->slower;
	state->now.bytes_per_s = state->before.bytes_per_s / state->slower;
}

const struct job_state *job_watch_step(struct job_watch *watch, int64_t at_us, const struct job_reading *readings,
				       size_t count, const bool *down, bool suspended)
{
	double loud = fmax(loud_bytes_per_s, loud_share * watch->level);
	struct sums sums = { 0 };
	struct rhythm_point point = { .at_us = at_us, .elapsed_us = watch->interval_us, .bytes = NAN };

	watch->sweeps++;
	for (size_t i = 0; down && i < watch->count; i++) {
		watch->states[i].down = down[i];
		sums.down += down[i];
	}
	for (size_t i = 0; i < count; i++)
		if (readings[i].member < watch->count)
			add_reading(watch, &readings[i], loud, &sums);
	sums.busy = sums.loud || (double)sums.above > fmax(1, above_share * (double)watch->count);

	if (sums.read) {
		point.at_us = (int64_t)(sums.at_us / (double)sums.read);
		point.elapsed_us = (int64_t)(sums.elapsed_us / (double)sums.read);
		if ((double)sums.read >= read_share * (double)(watch->count - sums.down))
			point.bytes = exchanged(&sums) / (double)sums.read * (double)watch->count *
				      (double)point.elapsed_us / 1e6;
		if (sums.busy) {
			double level = sums.rate / (double)sums.read;

			watch->level += (level - watch->level) / fmin(100, watch->exchange_sweeps + 1.0);
		}
	}
	point_add(watch, point);

	pause_step(watch, &sums, suspended);
	shares_step(watch, at_us, (double)(sums.read + sums.down) / (double)watch->count,
		    sums.rate_received < 0.5 * sums.rate);
	stall_step(watch, at_us);
	if (suspended) {
		speed_break(watch);
		pace_break(watch);
	}
	absent_step(watch, &sums);
	if (watch->state.phase != JOB_PHASE_STALLED) {
		if ((watch->sweeps + watch->members[0].node_guid) % RHYTHM_SWEEPS == 0)
			rhythm_learn(watch);
		iterations_step(watch, &point);
	}
	pace_step(watch);
	if (watch->state.phase == JOB_PHASE_SLOWER) {
		suspects_of_slowdown(watch);
		slowdown_step(watch);
	}
	return &watch->state;
}

const char *job_phase_name(enum job_phase phase)
{
	static const char *const names[JOB_PHASES] = { "learning", "runs", "stalled", "slower" };

	return names[phase];
}

const char *job_evidence_name(enum job_evidence evidence)
{
	static const char *const names[] = {
		[JOB_EVIDENCE_UNREADABLE] = "unreadable", [JOB_EVIDENCE_STOPPED_FIRST] = "stopped-first",
		[JOB_EVIDENCE_NOT_RECEIVING] = "not-receiving", [JOB_EVIDENCE_LATE] = "late",
		[JOB_EVIDENCE_NONE] = "none",
	};

	return names[evidence];
}
