/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/job_detect.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/job_cluster.h"
#include "base/array.h"
#include "base/err.h"

#define US_PER_S INT64_C(1000000)

/* Management and login traffic is less. */
#define FLOOR_BYTES_PER_S 1e6
/* Multiples of the traffic of a host without a job, at which a job begins and ends. */
#define BEGIN_FACTOR 3
#define END_FACTOR 1.5
/* Traffic that was steady over so many sweeps is such traffic, if a job begins after it. */
#define BEFORE_SWEEPS 8
#define BEFORE_FACTOR 2

/*
 * Hosts of a job send about what they receive. What goes one way only is storage: a request or an acknowledgement is
 * a small share of the data. A first or last stage of a pipeline sends and receives in turn.
 */
#define REPLY_SHARE 0.05
#define BOTH_WAYS_LEAST 0.2
#define BOTH_WAYS_SWEEPS 8

/* A host that is quiet for this long begins again; hosts of a job do so together. */
#define HOST_QUIET_US (30 * US_PER_S)
#define HOST_QUIET_SWEEPS 3

/* A job ends after this multiple of its longest pause, within limits. */
#define JOB_PAUSE_FACTOR 3
#define JOB_QUIET_LEAST_US (120 * US_PER_S)
#define JOB_QUIET_MOST_US (1800 * US_PER_S)
#define JOB_QUIET_SWEEPS 4

#define EVALUATE_US (30 * US_PER_S)
#define EVALUATE_MANY_US (60 * US_PER_S)
enum { MANY_HOSTS = 1024 };

/* Hosts of a job begin within so many sweeps, as readings show it. */
#define BEGIN_SWEEPS 1
#define BEGIN_LEAST_US (3 * US_PER_S)

#define CONFIDENCE_SHOWN 0.5
#define CONFIDENCE_CHANGE 0.05
/* Confidence is half after so many sweeps. */
#define CONFIDENCE_SWEEPS 6
/* The share of it that does not need as many bytes sent as received. */
#define CONFIDENCE_UNBALANCED 0.6

/* A host leaves a job if it communicated like none of its hosts in so many evaluations. */
enum { STRANGE_MOST = 3 };

#define NO_JOB SIZE_MAX

struct host {
	bool announced;
	bool seen;            /* was read at all */
	bool begun, active;   /* a job may run; it communicates, or pauses for a short time */
	int64_t began_us;     /* CLOCK_BOOTTIME; 0: not known */
	int64_t since_us;     /* likewise; if it is not known, when it was read first */
	int64_t resumed_us;   /* the same of the last traffic after a pause */
	int64_t quiet_us;     /* since when it is quiet; 0: it is not */
	uint64_t from_sweep;  /* first one to be compared */
	double xmit, rcv;     /* bytes per second, smoothed */
	double base;          /* without a job */
	double before_sum, before_most; /* since it was read first, until a begin or a pause */
	unsigned before_count;
	double xmit_sum, rcv_sum; /* since the last evaluation */
	double xmit_begun, rcv_begun, begun_s; /* since it began, but for the first sweep */
	size_t job;           /* index, or NO_JOB */
	uint8_t strange;
};

struct job_detect {
	int64_t interval_us;
	uint64_t sweep;       /* number of this one, from 1 */
	int64_t evaluated_us;
	struct host *hosts;
	float *rates;         /* of each host CLUSTER_SWEEPS, as a ring */
	size_t host_count, host_capacity;
	struct detected_job *jobs;
	size_t job_count, job_capacity;
	uint64_t last_id;
};

static int64_t at_least(int64_t us, int64_t least_us)
{
	return us > least_us ? us : least_us;
}

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
	free(detect);
}

struct detected_job *job_detect_jobs(struct job_detect *detect, size_t *ret_count)
{
	*ret_count = detect->job_count;
	return detect->jobs;
}

/* --- hosts --- */

static int reserve_hosts(struct job_detect *detect, uint32_t host, struct error *err)
{
	size_t wanted = detect->host_capacity ? detect->host_capacity : 64;
	struct host *hosts;
	float *rates;

	if (host >= detect->host_capacity) {
		while (wanted <= host)
			wanted *= 2;
		hosts = reallocarray(detect->hosts, wanted, sizeof(*hosts));
		if (!hosts)
			return err_nomem(err);
		detect->hosts = hosts;
		rates = reallocarray(detect->rates, wanted, CLUSTER_SWEEPS * sizeof(*rates));
		if (!rates)
			return err_nomem(err);
		detect->rates = rates;
		detect->host_capacity = wanted;
	}
	for (; detect->host_count <= host; detect->host_count++) {
		detect->hosts[detect->host_count] = (struct host){ .job = NO_JOB };
		for (size_t i = 0; i < CLUSTER_SWEEPS; i++)
			detect->rates[detect->host_count * CLUSTER_SWEEPS + i] = NAN;
	}
	return 0;
}

static float *rate_of(struct job_detect *detect, size_t host, uint64_t sweep)
{
	return &detect->rates[host * CLUSTER_SWEEPS + sweep % CLUSTER_SWEEPS];
}

static void begin_host(struct host *host, uint64_t sweep, int64_t at_us, bool known)
{
	host->begun = true;
	host->began_us = known ? at_us : 0;
	host->since_us = at_us;
	host->from_sweep = sweep;
	host->before_count = 0;
	host->xmit_begun = host->rcv_begun = host->begun_s = 0;
}

/* Traffic that has been steady since a host was read first, and then rises, was none of a job. */
static bool rises(struct host *host, double rate)
{
	double mean = host->before_sum / host->before_count;

	if (host->before_count >= BEFORE_SWEEPS && host->before_most <= BEFORE_FACTOR * mean &&
	    rate > BEGIN_FACTOR * mean) {
		host->base = mean;
		return true;
	}
	host->before_count++;
	host->before_sum += rate;
	host->before_most = fmax(host->before_most, rate);
	return false;
}

/* Is it quiet? Its traffic without a job is learnt. */
static bool is_quiet(struct host *host, double rate)
{
	double factor = host->begun ? END_FACTOR : BEGIN_FACTOR;
	bool quiet = rate <= fmax(FLOOR_BYTES_PER_S, factor * host->base);

	if (quiet && !host->begun)
		host->base += (rate - host->base) / 16;
	return quiet;
}

/* @began_us: of the window */
static void update_host(struct job_detect *detect, struct host *host, double rate, int64_t began_us, int64_t at_us)
{
	int64_t allowed_us = at_least(HOST_QUIET_US, HOST_QUIET_SWEEPS * detect->interval_us);
	bool first = !host->seen;

	host->seen = true;
	if (is_quiet(host, rate)) {
		if (!host->quiet_us)
			host->quiet_us = began_us;
		host->before_count = 0;
		host->before_sum = host->before_most = 0;
		if (host->active && at_us - host->quiet_us < allowed_us)
			return;
		host->active = false;
		if (host->job == NO_JOB)
			host->begun = false;
		return;
	}
	host->quiet_us = 0;
	if (!host->begun) {
		begin_host(host, detect->sweep, began_us, !first);
		host->before_count = first;
		host->before_sum = host->before_most = first ? rate : 0;
		host->resumed_us = host->began_us;
	} else if (!host->active) {
		host->resumed_us = began_us;
	} else if (host->before_count && rises(host, rate)) {
		begin_host(host, detect->sweep, began_us, true);
		host->resumed_us = began_us;
	}
	host->active = true;
}

static void set_announced(struct host *host, bool announced)
{
	if (announced || host->announced) {
		host->begun = host->active = false;
		host->quiet_us = 0;
	}
	host->announced = announced;
}

static void read_host(struct job_detect *detect, const struct detect_reading *reading, int64_t at_us)
{
	struct host *host = &detect->hosts[reading->host];
	double elapsed_s = (double)reading->elapsed_us / 1e6, xmit, rcv, less, more, rate;

	set_announced(host, reading->announced);
	if (host->announced || !(elapsed_s > 0) || !isfinite(reading->xmit_bytes) || !isfinite(reading->rcv_bytes))
		return;
	xmit = reading->xmit_bytes / elapsed_s;
	rcv = reading->rcv_bytes / elapsed_s;
	host->xmit += (xmit - host->xmit) / (host->seen ? BOTH_WAYS_SWEEPS : 1);
	host->rcv += (rcv - host->rcv) / (host->seen ? BOTH_WAYS_SWEEPS : 1);
	less = fmin(host->xmit, host->rcv);
	more = fmax(host->xmit, host->rcv);
	rate = xmit + rcv;
	if (less < BOTH_WAYS_LEAST * more)
		rate = fmax(2 * (fmin(xmit, rcv) - REPLY_SHARE * fmax(xmit, rcv)), 0);
	*rate_of(detect, reading->host, detect->sweep) = (float)rate;
	update_host(detect, host, rate, at_us - reading->elapsed_us, at_us);
	host->xmit_sum += reading->xmit_bytes;
	host->rcv_sum += reading->rcv_bytes;
	if (host->from_sweep == detect->sweep)
		return;
	host->xmit_begun += reading->xmit_bytes;
	host->rcv_begun += reading->rcv_bytes;
	host->begun_s += elapsed_s;
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
		struct host *host = &detect->hosts[job->hosts[i]];

		host->job = NO_JOB;
		host->strange = 0;
		if (!host->active)
			host->begun = false;
	}
}

/* Its place is taken by the last one. */
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
		code = reserve_hosts(detect, job->hosts[i], err);
		if (code == 0 && detect->hosts[job->hosts[i]].job == NO_JOB)
			code = add_member(detect, detect->job_count - 1, job->hosts[i], err);
	}
	added->changed = false;
	return code;
}

/* Its last traffic and its longest pause; does it end? */
static void update_job(struct job_detect *detect, struct detected_job *job, int64_t at_us)
{
	int64_t allowed_us = JOB_PAUSE_FACTOR * job->longest_pause_us, least_us;
	bool traffic = false;

	for (size_t i = 0; i < job->host_count && !traffic; i++) {
		const struct host *host = &detect->hosts[job->hosts[i]];

		traffic = host->active && !host->quiet_us;
	}
	/* The pause of a restart is none of its own. */
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

/* A cluster, and the job that it is the hosts of. */
struct found {
	struct cluster_quality quality;
	const struct cluster_host *hosts; /* the first of quality.count */
	size_t job;
};

/* Hosts that a cluster and a job have in common. */
struct overlap { uint32_t cluster; size_t job, hosts; };

static int by_hosts(const void *a, const void *b)
{
	const struct overlap *one = a, *other = b;

	if (one->hosts != other->hosts)
		return one->hosts > other->hosts ? -1 : 1;
	return one->job != other->job ? (one->job < other->job ? -1 : 1) : one->cluster < other->cluster ? -1 : 1;
}

static int by_cluster(const void *a, const void *b)
{
	const struct cluster_host *one = a, *other = b;

	if (one->cluster != other->cluster)
		return one->cluster < other->cluster ? -1 : 1;
	return one->host < other->host ? -1 : one->host > other->host;
}

/* Active hosts and their rates, oldest first. */
static int gather(struct job_detect *detect, struct cluster_host **ret, float **ret_rates, size_t *ret_count,
		  struct error *err)
{
	struct cluster_host *hosts = calloc(detect->host_count + 1, sizeof(*hosts));
	float *rates = reallocarray(NULL, detect->host_count + 1, CLUSTER_SWEEPS * sizeof(*rates));
	size_t count = 0;

	*ret = hosts;
	*ret_rates = rates;
	*ret_count = 0;
	if (!hosts || !rates)
		return err_nomem(err);
	for (size_t i = 0; i < detect->host_count; i++) {
		const struct host *host = &detect->hosts[i];
		uint64_t age = detect->sweep - host->from_sweep; /* the first sweep is only a part of its traffic */
		float *copy = &rates[count * CLUSTER_SWEEPS];

		if (!host->active || age < 1)
			continue;
		for (uint64_t j = 0; j < CLUSTER_SWEEPS; j++)
			copy[j] = *rate_of(detect, i, detect->sweep + 1 + j);
		hosts[count++] = (struct cluster_host){
			.host = (uint32_t)i, .began_us = host->resumed_us, .rates = copy,
			.bytes_per_s = host->begun_s > 0 ? fmin(host->xmit_begun, host->rcv_begun) / host->begun_s : 0,
			.job = host->job == NO_JOB ? 0 : detect->jobs[host->job].id,
			.from = age < CLUSTER_SWEEPS ? CLUSTER_SWEEPS - (uint32_t)age : 0 };
	}
	*ret_count = count;
	return 0;
}

/* Find the job of each cluster: that with the most hosts in common first. */
static int match(struct job_detect *detect, struct found *found, size_t count, struct error *err)
{
	struct overlap *list = NULL;
	size_t *hosts = calloc(detect->job_count + 1, sizeof(*hosts)), listed = 0, capacity = 0;
	bool *taken = calloc(detect->job_count + 1, sizeof(*taken));
	int code = hosts && taken ? 0 : err_nomem(err);

	for (uint32_t i = 0; code == 0 && i < count; i++) {
		found[i].job = NO_JOB;
		memset(hosts, 0, detect->job_count * sizeof(*hosts));
		for (uint32_t j = 0; j < found[i].quality.count; j++) {
			size_t job = detect->hosts[found[i].hosts[j].host].job;

			if (job != NO_JOB)
				hosts[job]++;
		}
		for (size_t j = 0; code == 0 && j < detect->job_count; j++) {
			struct overlap *added;

			if (!hosts[j])
				continue;
			added = array_add(&list, &listed, &capacity, sizeof(*added));
			if (added)
				*added = (struct overlap){ i, j, hosts[j] };
			else
				code = err_nomem(err);
		}
	}
	if (code == 0 && listed)
		qsort(list, listed, sizeof(*list), by_hosts);
	for (size_t i = 0; code == 0 && i < listed; i++) {
		struct found *one = &found[list[i].cluster];
		const struct detected_job *job = &detect->jobs[list[i].job];

		if (one->job != NO_JOB || taken[list[i].job])
			continue;
		/* A few hosts of it in another cluster are another job. */
		if (2 * list[i].hosts < one->quality.count && 2 * list[i].hosts < job->host_count)
			continue;
		one->job = list[i].job;
		taken[list[i].job] = true;
	}
	free(list);
	free(hosts);
	free(taken);
	return code;
}

/* As many bytes are sent as are received, if all of its hosts are known. */
static double balance_of(const struct job_detect *detect, const struct detected_job *job)
{
	double xmit = 0, rcv = 0;

	for (size_t i = 0; i < job->host_count; i++) {
		xmit += detect->hosts[job->hosts[i]].xmit_sum;
		rcv += detect->hosts[job->hosts[i]].rcv_sum;
	}
	return fmax(xmit, rcv) > 0 ? fmin(xmit, rcv) / fmax(xmit, rcv) : 0;
}

/* The begin of a job that is not shown yet: that of its first hosts. */
static void set_begin(const struct job_detect *detect, struct detected_job *job)
{
	bool known = true;
	int64_t begin_us = INT64_MAX;

	for (size_t i = 0; i < job->host_count; i++) {
		const struct host *host = &detect->hosts[job->hosts[i]];

		known = known && host->began_us;
		if (host->since_us < begin_us)
			begin_us = host->since_us;
	}
	/* Readings of one sweep differ by less. */
	for (size_t i = job->host_count; i-- > 0;)
		if (detect->hosts[job->hosts[i]].since_us <= begin_us + detect->interval_us / 2)
			job->first_host = job->hosts[i];
	job->begin_known = known;
	job->begin_us = begin_us;
}

static void set_confidence(const struct job_detect *detect, struct detected_job *job, const struct cluster_quality *q)
{
	double balance = balance_of(detect, job);

	job->confidence = fmin(fmax(q->alike, 0), 1) * q->sweeps / (q->sweeps + CONFIDENCE_SWEEPS) *
			  (CONFIDENCE_UNBALANCED + (1 - CONFIDENCE_UNBALANCED) * balance);
	if (fabs(job->confidence - job->shown_confidence) > CONFIDENCE_CHANGE) {
		job->changed = true;
		job->shown_confidence = job->confidence;
	}
}

/* A new job for a cluster that is none yet. */
static int begin_job(struct job_detect *detect, struct found *found, int64_t at_us, struct error *err)
{
	struct detected_job *job = array_add(&detect->jobs, &detect->job_count, &detect->job_capacity, sizeof(*job));

	if (!job)
		return err_nomem(err);
	job->id = ++detect->last_id;
	job->begin_us = job->last_us = at_us;
	found->job = detect->job_count - 1;
	return 0;
}

/* The hosts of a cluster become those of its job. @old: whether the job existed before this evaluation */
static int take_hosts(struct job_detect *detect, const struct found *found, struct error *err)
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
		struct host *host = &detect->hosts[hosts[i].host];

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

/* Jobs without hosts: those of a merged one went to the job of a cluster, all or all that communicate. */
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

static int apply(struct job_detect *detect, struct found *found, size_t count, int64_t at_us, struct error *err)
{
	int code = match(detect, found, count, err);
	size_t known = detect->job_count;

	for (size_t i = 0; code == 0 && i < count; i++)
		if (found[i].job == NO_JOB)
			code = begin_job(detect, &found[i], at_us, err);
	for (size_t i = 0; code == 0 && i < count; i++) {
		/* Where the hosts of a job went, if it loses all of them. */
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
	int64_t slack_us = at_least(BEGIN_LEAST_US, BEGIN_SWEEPS * detect->interval_us);
	struct cluster_host *hosts;
	struct cluster_quality *qualities = NULL;
	struct found *found = NULL;
	float *rates;
	size_t count, clusters = 0;
	int code = gather(detect, &hosts, &rates, &count, err);

	if (code == 0)
		code = cluster_hosts(hosts, count, slack_us, &qualities, &clusters, err);
	if (code == 0 && !(found = calloc(clusters + 1, sizeof(*found))))
		code = err_nomem(err);
	if (code == 0) {
		qsort(hosts, count, sizeof(*hosts), by_cluster);
		for (size_t i = 0, at = 0; i < clusters; at += qualities[i++].count)
			found[i] = (struct found){ qualities[i], &hosts[at], NO_JOB };
		code = apply(detect, found, clusters, at_us, err);
	}
	if (code == 0) {
		expel(detect, hosts, count);
		close_empty(detect);
	}
	for (size_t i = 0; i < detect->host_count; i++)
		detect->hosts[i].xmit_sum = detect->hosts[i].rcv_sum = 0;
	free(found);
	free(qualities);
	free(hosts);
	free(rates);
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
		if ((code = reserve_hosts(detect, readings[i].host, err)) < 0)
			return code;
	detect->sweep++;
	for (size_t i = 0; i < detect->host_count; i++)
		*rate_of(detect, i, detect->sweep) = NAN;
	for (size_t i = 0; i < count; i++)
		read_host(detect, &readings[i], at_us);
	for (size_t i = detect->job_count; i-- > 0;) {
		update_job(detect, &detect->jobs[i], at_us);
		/* What was never shown needs no end. */
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
