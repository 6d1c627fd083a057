/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The state of the jobs that were found, over time: which job is the same as before, which hosts join and leave it, and
 * when it ends. detect/hosts.c records what hosts do; detect/compare.c compares them.
 */
#include "analysis/job_detect.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/detect/state.h"
#include "base/array.h"
#include "base/err.h"

/* A job ends after this multiple of its longest pause, within limits. */
#define JOB_PAUSE_FACTOR 3
#define JOB_QUIET_LEAST_US (120 * US_PER_S)
#define JOB_QUIET_MOST_US (1800 * US_PER_S)
#define JOB_QUIET_SWEEPS 4

#define EVALUATE_US (30 * US_PER_S)
#define EVALUATE_MANY_US (60 * US_PER_S)
enum { MANY_HOSTS = 1024 };

#define CONFIDENCE_SHOWN 0.5
#define CONFIDENCE_CHANGE 0.05

/* A host leaves a job if it communicated like none of its hosts in so many evaluations. */
enum { STRANGE_MOST = 3 };

struct job_detect *job_detect_create(int64_t interval_us)
{
	struct job_detect *detect = calloc(1, sizeof(*detect));

	if (detect)
		detect->interval_us = interval_us;
	return detect;
}

void job_detect_destroy(struct job_detect *detect)
{
	if (!detect)
		return;
	for (size_t i = 0; i < detect->job_count; i++)
		free(detect->jobs[i].hosts);
	free(detect->jobs);
	free(detect->hosts);
	free(detect->rates);
	free(detect->differences);
	free(detect);
}

struct detected_job *job_detect_jobs(struct job_detect *detect, size_t *ret_count)
{
	*ret_count = detect->job_count;
	return detect->jobs;
}

/* --- jobs --- */

static int add_member(struct job_detect *detect, size_t at, uint32_t host, struct error *err)
{
	struct detected_job *job = &detect->jobs[at];
	uint32_t *grown = array_grow(job->hosts, job->host_count, &job->host_capacity, sizeof(*grown));
	size_t place = job->host_count;

	if (!grown)
		return err_nomem(err);
	job->hosts = grown;
	for (; place && grown[place - 1] > host; place--)
		grown[place] = grown[place - 1];
	grown[place] = host;
	job->host_count++;
	job->changed = true;
	detect->hosts[host].job = at;
	detect->hosts[host].strange = 0;
	return 0;
}

static void remove_member(struct job_detect *detect, uint32_t host)
{
	struct detected_job *job = &detect->jobs[detect->hosts[host].job];
	size_t kept = 0;

	for (size_t i = 0; i < job->host_count; i++)
		if (job->hosts[i] != host)
			job->hosts[kept++] = job->hosts[i];
	job->host_count = kept;
	job->changed = true;
	detect->hosts[host].job = NO_JOB;
}

/* The hosts of a job may begin another one. */
static void release_members(struct job_detect *detect, const struct detected_job *job)
{
	for (size_t i = 0; i < job->host_count; i++) {
		struct detect_host *host = &detect->hosts[job->hosts[i]];

		host->job = NO_JOB;
		host->strange = 0;
		if (!host->active)
			host->begun = false;
	}
}

/* The last job of the list takes its place. */
static void remove_job(struct job_detect *detect, size_t at)
{
	free(detect->jobs[at].hosts);
	detect->jobs[at] = detect->jobs[--detect->job_count];
	for (size_t i = 0; at < detect->job_count && i < detect->jobs[at].host_count; i++)
		if (detect->hosts[detect->jobs[at].hosts[i]].job == detect->job_count)
			detect->hosts[detect->jobs[at].hosts[i]].job = at;
}

static bool has_ended(const struct detected_job *job)
{
	return job->state == DETECTED_ENDED || job->state == DETECTED_MERGED;
}

static void end_job(struct job_detect *detect, struct detected_job *job, enum detected_state state)
{
	release_members(detect, job);
	job->state = state;
	job->changed = true;
}

static size_t find_job(const struct job_detect *detect, uint64_t id)
{
	for (size_t i = 0; i < detect->job_count; i++)
		if (detect->jobs[i].id == id)
			return i;
	return NO_JOB;
}

void job_detect_dismiss(struct job_detect *detect, uint64_t id)
{
	size_t at = find_job(detect, id);

	if (at == NO_JOB)
		return;
	detect->jobs[at].dismissed = true;
	detect->jobs[at].shown = false;
	detect->jobs[at].state = DETECTED_CANDIDATE;
}

void job_detect_drop(struct job_detect *detect, uint64_t id)
{
	size_t at = find_job(detect, id);

	if (at == NO_JOB)
		return;
	if (!has_ended(&detect->jobs[at]))
		release_members(detect, &detect->jobs[at]);
	remove_job(detect, at);
}

int job_detect_restore(struct job_detect *detect, const struct detected_job *job, struct error *err)
{
	struct detected_job *added = array_add(&detect->jobs, &detect->job_count, &detect->job_capacity,
					       sizeof(*added));
	int code = 0;

	if (!added)
		return err_nomem(err);
	*added = (struct detected_job){
		.id = ++detect->last_id, .state = DETECTED_RUNNING, .begin_us = job->begin_us,
		.begin_known = job->begin_known, .first_host = job->first_host, .last_us = job->last_us,
		.confidence = job->confidence, .number = job->number, .shown_confidence = job->confidence,
		.restored = true, .shown = true,
	};
	for (size_t i = 0; code == 0 && i < job->host_count; i++) {
		code = detect_reserve_host(detect, job->hosts[i], err);
		if (code == 0 && detect->hosts[job->hosts[i]].job == NO_JOB)
			code = add_member(detect, detect->job_count - 1, job->hosts[i], err);
	}
	added->changed = false;
	return code;
}

/* Updates the last traffic of a job and its longest pause, and ends it if it has been quiet for too long. */
static void update_job(struct job_detect *detect, struct detected_job *job, int64_t at_us)
{
	int64_t allowed_us = JOB_PAUSE_FACTOR * job->longest_pause_us, least_us;
	bool traffic = false;

	for (size_t i = 0; i < job->host_count && !traffic; i++) {
		const struct detect_host *host = &detect->hosts[job->hosts[i]];

		traffic = host->active && !host->quiet_us;
	}
	/* The time in which the collector did not run is not a pause of the job. */
	if (job->restored && detect->sweep == 1)
		job->last_us = at_us;
	if (traffic) {
		job->longest_pause_us = at_least(job->longest_pause_us, at_us - job->last_us);
		job->last_us = at_us;
		return;
	}
	least_us = at_least(JOB_QUIET_LEAST_US, JOB_QUIET_SWEEPS * detect->interval_us);
	allowed_us = at_least(allowed_us < JOB_QUIET_MOST_US ? allowed_us : JOB_QUIET_MOST_US, least_us);
	if (at_us - job->last_us > allowed_us)
		end_job(detect, job, DETECTED_ENDED);
}

/* --- evaluation --- */

/* A job that is not shown yet begins when its first host does. */
static void set_begin(const struct job_detect *detect, struct detected_job *job)
{
	bool known = true;
	int64_t begin_us = INT64_MAX;

	for (size_t i = 0; i < job->host_count; i++) {
		const struct detect_host *host = &detect->hosts[job->hosts[i]];

		known = known && host->began_us;
		if (host->since_us < begin_us)
			begin_us = host->since_us;
	}
	/* Times of readings of one sweep differ by less than half an interval. */
	for (size_t i = job->host_count; i-- > 0;)
		if (detect->hosts[job->hosts[i]].since_us <= begin_us + detect->interval_us / 2)
			job->first_host = job->hosts[i];
	job->begin_known = known;
	job->begin_us = begin_us;
}

static void set_confidence(const struct job_detect *detect, struct detected_job *job, const struct cluster_quality *q)
{
	job->confidence = detect_confidence(detect, job, q);
	if (fabs(job->confidence - job->shown_confidence) > CONFIDENCE_CHANGE) {
		job->changed = true;
		job->shown_confidence = job->confidence;
	}
}

/* A new job for a cluster that has none. */
static int begin_job(struct job_detect *detect, struct detect_cluster *found, int64_t at_us, struct error *err)
{
	struct detected_job *job = array_add(&detect->jobs, &detect->job_count, &detect->job_capacity, sizeof(*job));

	if (!job)
		return err_nomem(err);
	job->id = ++detect->last_id;
	job->begin_us = job->last_us = at_us;
	found->job = detect->job_count - 1;
	return 0;
}

/* The hosts of a cluster become those of its job. */
static int take_hosts(struct job_detect *detect, const struct detect_cluster *found, struct error *err)
{
	int code = 0;

	for (uint32_t i = 0; code == 0 && i < found->quality.count; i++) {
		uint32_t host = found->hosts[i].host;

		detect->hosts[host].strange = 0;
		if (detect->hosts[host].job == found->job)
			continue;
		if (detect->hosts[host].job != NO_JOB)
			remove_member(detect, host);
		code = add_member(detect, found->job, host, err);
	}
	return code;
}

/* Active hosts that are in no cluster leave their jobs after a time. */
static void expel(struct job_detect *detect, const struct cluster_host *hosts, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct detect_host *host = &detect->hosts[hosts[i].host];

		if (hosts[i].cluster != CLUSTER_NONE || host->job == NO_JOB)
			continue;
		if (++host->strange >= STRANGE_MOST || detect->jobs[host->job].state == DETECTED_CANDIDATE) {
			remove_member(detect, hosts[i].host);
			host->strange = 0;
		}
	}
}

static bool has_active(const struct job_detect *detect, const struct detected_job *job)
{
	for (size_t i = 0; i < job->host_count; i++)
		if (detect->hosts[job->hosts[i]].active)
			return true;
	return false;
}

/* A job ends with fewer than two hosts, and if all of its hosts that communicate went to another job. */
static void close_empty(struct job_detect *detect)
{
	for (size_t i = detect->job_count; i-- > 0;) {
		struct detected_job *job = &detect->jobs[i];

		if (has_ended(job) || (job->host_count > 1 && !(job->merged_into && !has_active(detect, job))))
			continue;
		if (job->state == DETECTED_RUNNING) {
			end_job(detect, job, job->merged_into ? DETECTED_MERGED : DETECTED_ENDED);
			continue;
		}
		release_members(detect, job);
		remove_job(detect, i);
	}
}

/* Clusters of this evaluation become jobs, or change those that exist. */
static int apply(struct job_detect *detect, struct detect_cluster *found, size_t count, int64_t at_us,
		 struct error *err)
{
	size_t known = detect->job_count;
	int code = 0;

	for (size_t i = 0; code == 0 && i < count; i++)
		if (found[i].job == NO_JOB)
			code = begin_job(detect, &found[i], at_us, err);
	for (size_t i = 0; code == 0 && i < count; i++) {
		/* If a job loses all of its hosts, this is the job that they went to. */
		for (uint32_t j = 0; j < found[i].quality.count; j++) {
			size_t job = detect->hosts[found[i].hosts[j].host].job;

			if (job != NO_JOB && job != found[i].job)
				detect->jobs[job].merged_into = detect->jobs[found[i].job].id;
		}
		code = take_hosts(detect, &found[i], err);
	}
	for (size_t i = 0; code == 0 && i < count; i++) {
		struct detected_job *job = &detect->jobs[found[i].job];

		job->merged_into = 0;
		set_confidence(detect, job, &found[i].quality);
		if (job->state != DETECTED_CANDIDATE || job->dismissed)
			continue;
		set_begin(detect, job);
		if (found[i].job < known && job->confidence >= CONFIDENCE_SHOWN) {
			job->state = DETECTED_RUNNING;
			job->changed = true;
			job->shown_confidence = job->confidence;
			job->shown = true;
		}
	}
	return code;
}

static int evaluate(struct job_detect *detect, int64_t at_us, struct error *err)
{
	struct detect_comparison found;
	int code = detect_compare(detect, &found, err);

	if (code == 0)
		code = apply(detect, found.clusters, found.cluster_count, at_us, err);
	if (code == 0) {
		expel(detect, found.hosts, found.host_count);
		close_empty(detect);
	}
	for (size_t i = 0; i < detect->host_count; i++)
		detect->hosts[i].xmit_sum = detect->hosts[i].rcv_sum = 0;
	detect_comparison_done(&found);
	return code;
}

int job_detect_step(struct job_detect *detect, int64_t at_us, const struct detect_reading *readings, size_t count,
		    struct error *err)
{
	int64_t every_us = detect->host_count > MANY_HOSTS ? EVALUATE_MANY_US : EVALUATE_US;
	int code = 0;

	for (size_t i = detect->job_count; i-- > 0;) {
		detect->jobs[i].changed = false;
		if (has_ended(&detect->jobs[i]))
			remove_job(detect, i);
	}
	for (size_t i = 0; i < count; i++)
		if ((code = detect_reserve_host(detect, readings[i].host, err)) < 0)
			return code;
	detect->sweep++;
	for (size_t i = 0; i < detect->host_count; i++)
		*detect_rate(detect, i, detect->sweep) = *detect_difference(detect, i, detect->sweep) = NAN;
	for (size_t i = 0; i < count; i++)
		detect_read_host(detect, &readings[i], at_us);
	for (size_t i = detect->job_count; i-- > 0;) {
		update_job(detect, &detect->jobs[i], at_us);
		/* A job that was never shown is removed without having ended. */
		if (detect->jobs[i].state == DETECTED_ENDED && !detect->jobs[i].shown)
			remove_job(detect, i);
	}
	if (!detect->evaluated_us)
		detect->evaluated_us = at_us;
	if (at_us - detect->evaluated_us < at_least(every_us, detect->interval_us))
		return 0;
	detect->evaluated_us = at_us;
	return evaluate(detect, at_us, err);
}
