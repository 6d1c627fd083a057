/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Findings about running jobs that stall or become slower: their texts, evidence and severity, and when they are held
 * and closed. The state of a job is that of its watch (jobs.c); the causes are in job_causes.c.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/health/jobs.h"
#include "analysis/rate.h"
#include "base/when.h"

/* Causes are looked for again at this interval, for this time: some are found only after the slowdown began. */
enum { LOOK_EVERY_US = 10 * SECOND_US };
#define LOOK_MOST_US (15 * MINUTE_US)

static const enum finding_kind kinds[] = { FINDING_JOB_STALLED, FINDING_JOB_SLOWER };
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static struct health_open_finding *find_finding(const struct health *health, enum finding_kind kind, int64_t number,
						uint8_t *ret_tag)
{
	/* Job numbers may be the same modulo 255; then the next free tag is used. */
	for (unsigned i = 0; i < UINT8_MAX; i++) {
		uint8_t tag = (uint8_t)(1 + ((uint64_t)number + i) % UINT8_MAX);
		struct health_open_finding *open = health_find_open(health, kind, 0, 0, tag);

		*ret_tag = tag;
		if (!open || finding_job(&open->finding) == number)
			return open;
	}
	*ret_tag = 0;
	return NULL;
}

static void end_finding(struct health_open_finding *open, const char *why)
{
	size_t len = strlen(open->past);

	if (len)
		snprintf(open->past + len, sizeof(open->past) - len, "; %s", why);
}

void job_findings_end(struct health *health, const struct watched_job *job)
{
	for (size_t i = 0; i < KINDS; i++) {
		uint8_t tag;
		struct health_open_finding *open = find_finding(health, kinds[i], job->number, &tag);

		if (!open)
			continue;
		end_finding(open, "the job no longer runs");
		health_drop(open);
	}
}

/* --- texts --- */

/*
 * Seconds by which a suspect stopped before the others, in whole windows. Below one window, the value of the suspect
 * ranks hosts by the bytes that they lack, and is no time. Return: 0: in the same window
 */
static double stopped_before_s(const struct watched_job *job, const struct job_suspect *suspect)
{
	double window_s = (double)job->interval_us / SECOND_US;

	return window_s * floor(suspect->value / window_s);
}

const char *job_evidence_text(const struct watched_job *job, const struct job_suspect *suspect,
			      char ret[JOB_CAUSE_SIZE])
{
	const bool slower = job->state->phase == JOB_PHASE_SLOWER;
	const double value = suspect->value;
	char share[64];

	*ret = '\0';
	snprintf(share, sizeof(share), slower ? "for %.0f %% more of the time than before" : "%.0f %% of the time",
		 100 * value);
	switch (suspect->evidence) {
	case JOB_EVIDENCE_UNREADABLE:
		snprintf(ret, JOB_CAUSE_SIZE, TENSE("is", "was") " down, or " TENSE("does", "did") " not respond");
		break;
	case JOB_EVIDENCE_STOPPED_FIRST:
		if (stopped_before_s(job, suspect) > 0)
			snprintf(ret, JOB_CAUSE_SIZE, "stopped %.1f s before the others",
				 stopped_before_s(job, suspect));
		else
			snprintf(ret, JOB_CAUSE_SIZE, "sent less than the others in the last iteration");
		break;
	case JOB_EVIDENCE_NOT_RECEIVING:
		snprintf(ret, JOB_CAUSE_SIZE, TENSE("receives", "received") " too slowly: ports that send to it "
			 TENSE("wait", "waited") " %s", share);
		break;
	case JOB_EVIDENCE_LATE:
		if (suspect->absent > 0)
			snprintf(ret, JOB_CAUSE_SIZE, TENSE("begins", "began") " after the others in %.0f %% more of "
				 "the iterations than before", 100 * suspect->absent);
		else
			snprintf(ret, JOB_CAUSE_SIZE, TENSE("begins", "began") " to send %.1f s after the others",
				 value);
		break;
	default:
		break;
	}
	return ret;
}

/* The number of suspects with the evidence of the first one; hosts that stopped must have done so in its window. */
static unsigned count_first(const struct watched_job *job)
{
	const struct job_state *state = job->state;
	unsigned count = 0;

	if (!state->suspect_count || state->suspects[0].evidence == JOB_EVIDENCE_NONE)
		return 0;
	while (count < state->suspect_count && state->suspects[count].evidence == state->suspects[0].evidence &&
	       (state->suspects[0].evidence != JOB_EVIDENCE_STOPPED_FIRST ||
		stopped_before_s(job, &state->suspects[count]) == stopped_before_s(job, &state->suspects[0])))
		count++;
	return count;
}

/* "node07 and node08 stopped 2.0 s before the others at 14:03:05" */
static void describe_first(const struct health *health, const struct watched_job *job, unsigned count, char *ret,
			   size_t size)
{
	const struct job_suspect *first = &job->state->suspects[0];
	char evidence[JOB_CAUSE_SIZE], time[WHEN_SIZE];
	size_t len = (size_t)snprintf(ret, size, "%.40s", job_host_name(job, first->host));

	if (count == 2)
		len += (size_t)snprintf(ret + len, size - len, " and %.40s",
					job_host_name(job, job->state->suspects[1].host));
	else if (count > 2)
		len += (size_t)snprintf(ret + len, size - len, " and %u other hosts", count - 1);
	len += (size_t)snprintf(ret + len, size - len, " %s", job_evidence_text(job, first, evidence));
	if (first->stopped_us)
		snprintf(ret + len, size - len, " (last traffic %.8s)",
			 when_format_local(health->wall_us - (health->now_us - first->stopped_us), time) + 11);
}

static void add_number(struct health_open_finding *open, const char *key, double value)
{
	if (!isnan(value))
		health_number(open, key, value);
}

static bool is_suspected(const struct job_state *state, uint32_t host)
{
	for (unsigned i = 0; i < state->suspect_count; i++)
		if (state->suspects[i].host == host)
			return true;
	return false;
}

/* Hosts and ports of the job, the suspected ones first. */
static void list_members(struct health_open_finding *open, const struct watched_job *job)
{
	const struct job_state *state = job->state;
	struct health_set set = { 0 };

	health_clear_affected(open);
	for (unsigned i = 0; i < state->suspect_count; i++)
		health_add_affected(open, job_host_name(job, state->suspects[i].host));
	for (unsigned pass = 0; pass < 2; pass++)
		for (uint32_t i = 0; i < job->member_count && set.count < FINDING_PORTS_MAX; i++) {
			const struct job_port *port = &job->ports[i];

			if (is_suspected(state, job->members[i].host) == !pass && port->num < port->node->slots)
				health_set_add(&set, &port->node->ports[port->num]);
		}
	for (uint32_t host = 0; host < job->host_count; host++)
		if (!is_suspected(state, host))
			health_add_affected(open, job_host_name(job, host));
	health_list_set(open, &set);
}

/* NULL: no tag is left, as 255 jobs have such a finding. */
static struct health_open_finding *hold(struct health *health, struct watched_job *job, enum finding_kind kind,
					enum finding_severity severity, const char *cause)
{
	char subject[128];
	struct health_open_finding *open;
	uint8_t tag;

	find_finding(health, kind, job->number, &tag);
	if (!tag)
		return NULL;
	snprintf(subject, sizeof(subject), "job %.80s (%u hosts)", job->id, job->host_count);
	open = health_hold(health, &(struct health_case){
		.kind = kind, .severity = severity, .tag = tag, .subject = subject, .cause = cause,
		.since = health_before(health, health->now_us - job->state->since_us) });
	list_members(open, job);
	return open;
}

static void hold_stalled(struct health *health, struct watched_job *job)
{
	const struct health_limits *limits = &health->settings.limits[FINDING_JOB_STALLED];
	const struct job_state *state = job->state;
	unsigned first = count_first(job), waiting = job->host_count - first;
	char lasted[WHEN_SIZE], longest[WHEN_SIZE], allowed[80] = "", links[JOB_CAUSE_SIZE];
	char who[400] = "no host stopped before the others";
	struct health_open_finding *open;

	if (job->host_count < limits->warning)
		return;
	job_link_events(health, job, state->since_us, links);
	open = hold(health, job, FINDING_JOB_STALLED,
		    limits->critical > 0 && job->host_count >= limits->critical ? FINDING_CRITICAL : FINDING_WARNING,
		    first ? FINDING_CAUSE_STALL_HOST : *links ? FINDING_CAUSE_STALL_LINK : FINDING_CAUSE_STALL_UNKNOWN);
	if (!open)
		return;
	if (first)
		describe_first(health, job, first, who, sizeof(who));
	if (!isnan(state->allowed_s))
		snprintf(allowed, sizeof(allowed), ", its rhythm allows %s",
			 when_format_span((int64_t)(1e6 * state->allowed_s), longest));
	health_text(open, "%u of %u hosts " TENSE("wait", "waited") " for %s%s: %s%s%s", waiting, job->host_count,
		    when_format_span(health->now_us - state->since_us, lasted), allowed, who, *links ? "; " : "",
		    links);
	health_number(open, "job_number", (double)job->number);
	health_number(open, "job_hosts", job->host_count);
	health_number(open, "stalled_s", (double)(health->now_us - state->since_us) / SECOND_US);
	add_number(open, "allowed_s", state->allowed_s);
	if (first && state->suspects[0].evidence == JOB_EVIDENCE_STOPPED_FIRST) {
		health_number(open, "stopped_first_hosts", first);
		if (stopped_before_s(job, &state->suspects[0]) > 0)
			health_number(open, "stopped_before_s", stopped_before_s(job, &state->suspects[0]));
	}
}

static void hold_slower(struct health *health, const struct watched_jobs *jobs, struct watched_job *job)
{
	static const char *const names[JOB_CAUSES] = {
		FINDING_CAUSE_SLOWER_LINK, FINDING_CAUSE_SLOWER_ROUTES, FINDING_CAUSE_SLOWER_SHARED,
		FINDING_CAUSE_SLOWER_WAITS, FINDING_CAUSE_SLOWER_RAIL, FINDING_CAUSE_SLOWER_FABRIC,
		FINDING_CAUSE_SLOWER_HOSTS };
	const struct job_state *state = job->state;
	struct health_open_finding *open;
	const char *found[2] = { NULL, NULL };
	char before[32], now[32], why[2 * sizeof(job->causes[0]) + 64];
	int first = -1;

	if (state->since_us != job->slower_us) {
		memset(job->causes, 0, sizeof(job->causes));
		job->slower_us = state->since_us;
		job->looked_us = 0;
	}
	if (health->now_us - job->looked_us >= LOOK_EVERY_US && health->now_us - state->since_us < LOOK_MOST_US) {
		job_find_causes(health, jobs, job);
		job->looked_us = health->now_us;
	}
	for (int i = 0; i < JOB_CAUSES; i++) {
		if (!*job->causes[i] || found[1] || (i == JOB_CAUSE_HOSTS && found[0]))
			continue;
		first = first < 0 ? i : first;
		found[found[0] != NULL] = job->causes[i];
	}
	open = hold(health, job, FINDING_JOB_SLOWER, FINDING_WARNING,
		    first < 0 ? FINDING_CAUSE_SLOWER_HOSTS : names[first]);
	if (!open)
		return;
	snprintf(why, sizeof(why), "%.0f %% longer: %s%s%s", 100 * (state->slower - 1),
		 found[0] ? found[0] : "the cause is not known", found[1] ? "; also " : "", found[1] ? found[1] : "");
	if (isnan(state->before.period_s))
		health_text(open, "its ports " TENSE("send", "sent") " %s instead of %s, iterations "
			    TENSE("take", "took") " %s", rate_format_bits(state->now.bytes_per_s, now, sizeof(now)),
			    rate_format_bits(state->before.bytes_per_s, before, sizeof(before)), why);
	else
		health_text(open, "an iteration " TENSE("takes", "took") " %.2f s instead of %.2f s, %s",
			    state->now.period_s, state->before.period_s, why);
	open->extent = 100 * (state->slower - 1);
	health_number(open, "job_number", (double)job->number);
	health_number(open, "job_hosts", job->host_count);
	health_number(open, "slower_percent", 100 * (state->slower - 1));
	add_number(open, "period_s", state->now.period_s);
	add_number(open, "period_before_s", state->before.period_s);
	add_number(open, "bytes_per_s", state->now.bytes_per_s);
	add_number(open, "bytes_per_s_before", state->before.bytes_per_s);
}

/* --- restarts --- */

/* Is a job still slower that was so before the collector restarted? Its watch only knows the time since then. */
static bool is_still_slower(const struct finding *finding, const struct job_state *state)
{
	double period_s = finding_number_of(finding, "period_before_s", NAN);
	double bytes_per_s = finding_number_of(finding, "bytes_per_s_before", NAN);
	double slower = 1 + finding_number_of(finding, "slower_percent", 0) / 100, now;

	now = !isnan(period_s) && !isnan(state->now.period_s) ? state->now.period_s / period_s :
								bytes_per_s / state->now.bytes_per_s;
	return isnan(now) || now > 1 + (slower - 1) / 2;
}

/* A finding of an earlier run stays open until the watch knows the state of the job. */
static bool outlives_restart(const struct watched_job *job, const struct finding *finding)
{
	if (finding->kind == FINDING_JOB_STALLED)
		return !job->resumed;
	return !job->state || job->state->phase == JOB_PHASE_LEARNING ||
	       (job->state->phase == JOB_PHASE_RUNS && is_still_slower(finding, job->state));
}

/* Of a job that neither stalls nor is slower. Return: whether one is open, or closes in this step. */
static bool close_findings(struct health *health, const struct watched_job *job)
{
	bool any = false;

	for (size_t i = 0; i < KINDS; i++) {
		uint8_t tag;
		struct health_open_finding *open = find_finding(health, kinds[i], job->number, &tag);

		any |= open != NULL;
		if (open && open->restored && outlives_restart(job, &open->finding))
			health_extend(health, open);
		else if (open && kinds[i] == FINDING_JOB_STALLED && open->held_step + 1 == health->step)
			end_finding(open, "the job communicates again");
	}
	return any;
}

/* --- the state of a job becomes findings --- */

void job_findings_step(struct health *health, const struct watched_jobs *jobs, struct watched_job *job)
{
	enum job_phase phase = job->state ? job->state->phase : JOB_PHASE_LEARNING;

	if (phase == JOB_PHASE_STALLED || phase == JOB_PHASE_SLOWER) {
		if (!job->paths)
			job->paths = job_paths_make(health, job);
		health->failed |= !job->paths;
		if (phase == JOB_PHASE_STALLED)
			hold_stalled(health, job);
		else
			hold_slower(health, jobs, job);
	} else if (!close_findings(health, job)) {
		job_paths_destroy(job->paths);
		job->paths = NULL;
	}
}

/* The stall is the origin of findings about traffic that fell on hosts of the job at that time. */
static void explain_fall(struct health *health, const struct watched_job *job, struct health_open_finding *stalled)
{
	for (size_t i = 0; i < health->open.count; i++) {
		struct health_open_finding *open = health_open_at(health, i);
		const struct finding *finding = &open->finding;

		if (finding->kind == FINDING_TRAFFIC_FELL && finding->port_count &&
		    llabs(open->since.us - stalled->since.us) <= MINUTE_US &&
		    job_path_at(job->paths, finding->ports[0].node_guid, finding->ports[0].port) & PATH_HOST)
			open->rule_origin = stalled;
	}
}

void job_findings_explain(struct health *health, const struct watched_job *job)
{
	for (size_t i = 0; i < KINDS && job->paths; i++) {
		uint8_t tag;
		struct health_open_finding *open = find_finding(health, kinds[i], job->number, &tag);

		if (!open)
			continue;
		open->rule_origin = job_find_origin(health, job, kinds[i], open->since);
		if (kinds[i] == FINDING_JOB_STALLED)
			explain_fall(health, job, open);
	}
}
