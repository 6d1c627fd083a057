/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Running jobs that stall or become slower. job_watch.h decides from the traffic of a job's own ports; here it gets
 * its readings, and its state becomes findings. Their causes are in job_causes.c.
 *
 * A suspended job is not among the running ones: its watch begins again when it continues.
 * A job of one host is not watched: it has no traffic between hosts. Where the fabric has rails of compute hosts, ports
 * of other rails are left out, since storage traffic goes on while a job hangs.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/health/jobs.h"
#include "analysis/rate.h"
#include "base/when.h"

/* A job that is quiet for this long begins to communicate again: another phase, or another job to its neighbors. */
enum { PAUSE_US = MINUTE_US };
/* Queries in a row without a response after which a port counts as one that cannot be read. */
enum { SILENT_LEAST = 2 };
/* A finding needs a slowdown by a tenth. */
static const double SLOWER_LEAST = 1.1;
/* A slowdown is explained again at this interval, for this time: what explains it may be found later. */
enum { LOOK_EVERY_US = 10 * SECOND_US };
#define LOOK_MOST_US (15 * MINUTE_US)

static const enum finding_kind kinds[] = { FINDING_JOB_STALLED, FINDING_JOB_SLOWER };
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

const char *job_host_name(const struct watched_job *job, uint32_t host)
{
	const struct health_node *node = host < job->host_count ? job->hosts[host] : NULL;

	return !node ? "?" : node->host ? node->host->name : node->name;
}

/* --- members --- */

static void free_job(struct watched_job *job)
{
	if (!job)
		return;
	job_watch_destroy(job->watch);
	job_paths_destroy(job->paths);
	map_done(&job->member_of);
	free(job->members);
	free(job->ports);
	free(job->hosts);
	free(job);
}

/* Storage has rails of its own, or the fabric has no rails. */
static bool is_of_compute(const struct shape *shape, uint32_t port)
{
	uint32_t rail = shape->ports[port].rail;
	bool any = false;

	for (size_t i = 0; i < shape->rail_count; i++)
		any |= shape->rails[i].class == CLASS_COMPUTE;
	return !any || (rail != SHAPE_NONE && shape->rails[rail].class == CLASS_COMPUTE);
}

static uint32_t host_of(struct watched_job *job, const struct health_node *node)
{
	/* Ports are in order of host. */
	for (uint32_t i = job->host_count; i-- > 0;)
		if (job->hosts[i] == node || (node->host && job->hosts[i]->host == node->host))
			return i;
	job->hosts[job->host_count] = node;
	return job->host_count++;
}

static bool add_member(struct health *health, struct watched_job *job, uint32_t port)
{
	const struct fabric *fabric = health->input->fabric;
	struct health_node *node = health->port_of[port]->node;
	uint32_t rail = health->input->shape->ports[port].rail;
	uint8_t num = fabric->ports[port].num;

	if (map_put(&job->member_of, job_place(node->guid, num), job->member_count) < 0)
		return false;
	job->ports[job->member_count] = (struct job_port){ .node = node, .num = num };
	job->members[job->member_count++] = (struct job_member){
		.node_guid = node->guid, .port = num, .host = host_of(job, node),
		.rail = (uint8_t)(rail < 63 ? rail : 63) };
	return true;
}

static bool is_member(const struct health *health, const struct watched_job *job, uint32_t port)
{
	uint32_t at;

	return map_get(&job->member_of, job_place(health->port_of[port]->node->guid,
						   health->input->fabric->ports[port].num), &at);
}

struct sorted { struct job_member member; struct job_port port; };

static int compare_hosts(const void *a, const void *b)
{
	const struct job_member *x = &((const struct sorted *)a)->member, *y = &((const struct sorted *)b)->member;

	if (x->host != y->host)
		return x->host < y->host ? -1 : 1;
	return x->node_guid != y->node_guid ? (x->node_guid < y->node_guid ? -1 : 1) : x->port - y->port;
}

/* The watch expects the members of a host beside each other. Return: false: no memory. */
static bool sort_members(struct watched_job *job)
{
	struct sorted *all = malloc(job->member_count * sizeof(*all));

	if (!all)
		return false;
	for (uint32_t i = 0; i < job->member_count; i++)
		all[i] = (struct sorted){ job->members[i], job->ports[i] };
	qsort(all, job->member_count, sizeof(*all), compare_hosts);
	map_done(&job->member_of);
	for (uint32_t i = 0; i < job->member_count; i++) {
		job->members[i] = all[i].member;
		job->ports[i] = all[i].port;
		if (map_put(&job->member_of, job_place(all[i].member.node_guid, all[i].member.port), i) < 0) {
			free(all);
			return false;
		}
	}
	free(all);
	return true;
}

/* Members are added if ports of the job are new. Then the watch learns again. Return: false: no memory. */
static bool update_members(struct health *health, struct watched_job *job, const struct health_job *now)
{
	size_t added = 0, before, most;
	void *grown;

	for (size_t i = 0; i < now->port_count; i++)
		added += is_of_compute(health->input->shape, now->ports[i]) && !is_member(health, job, now->ports[i]);
	if (!added)
		return true;
	before = job->member_count;
	most = job->member_count + added;
	job_watch_destroy(job->watch);
	job->watch = NULL;
	job->state = NULL;
	grown = realloc(job->members, most * sizeof(*job->members));
	job->members = grown ? grown : job->members;
	if (grown)
		grown = realloc(job->ports, most * sizeof(*job->ports));
	job->ports = grown ? grown : job->ports;
	if (grown)
		grown = realloc(job->hosts, most * sizeof(*job->hosts));
	job->hosts = grown ? grown : job->hosts;
	for (size_t i = 0; grown && i < now->port_count; i++)
		if (is_of_compute(health->input->shape, now->ports[i]) && !is_member(health, job, now->ports[i]) &&
		    !add_member(health, job, now->ports[i]))
			return false;
	return grown != NULL && (!before || sort_members(job));
}

static float tick_of(const struct health_input *input, uint32_t port)
{
	const struct port *of = port == FABRIC_NONE ? NULL : &input->fabric->ports[port];

	return !of || !input->caps ? NAN :
	       (float)stall_tick_s(&input->fabric->nodes[of->node], of, &input->caps[of->node]);
}

/* Where the ports of a job are in the fabric of this step. */
static void find_ports(struct health *health, struct watched_job *job)
{
	const struct fabric *fabric = health->input->fabric;

	for (uint32_t i = 0; i < job->member_count; i++) {
		struct job_port *port = &job->ports[i];
		const struct port *own, *peer;

		port->now = port->node->now == FABRIC_NONE ? FABRIC_NONE :
							     fabric_node_port(fabric, port->node->now, port->num);
		own = port->now == FABRIC_NONE ? NULL : &fabric->ports[port->now];
		port->peer = own ? own->peer : FABRIC_NONE;
		peer = port->peer == FABRIC_NONE ? NULL : &fabric->ports[port->peer];
		port->active = own && peer && own->state == PORT_ACTIVE && peer->state == PORT_ACTIVE;
		port->most_bytes_per_s = own ? (double)port_rate_bits_per_s(own) / 8 : 0;
		port->tick_own = tick_of(health->input, port->now);
		port->tick_to = tick_of(health->input, port->peer);
	}
}

static struct watched_job *add_job(struct health *health, const struct watched_jobs *jobs,
				   const struct health_job *now)
{
	struct watched_job *job = calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	job->number = now->number;
	if (jobs->stepped)
		job->began = health_now(health);
	return job;
}

static struct watched_job *find_job(const struct watched_jobs *jobs, size_t at, int64_t number)
{
	/* Usually the same jobs run as in the last step. */
	if (at < jobs->count && jobs->list[at] && jobs->list[at]->number == number)
		return jobs->list[at];
	for (size_t i = 0; i < jobs->count; i++)
		if (jobs->list[i] && jobs->list[i]->number == number)
			return jobs->list[i];
	return NULL;
}

/* --- findings --- */

static struct health_open_finding *find_finding(const struct health *health, enum finding_kind kind, int64_t number,
						uint8_t *ret_tag)
{
	/* Two running jobs may have the same number modulo 255. */
	for (unsigned i = 0; i < UINT8_MAX; i++) {
		uint8_t tag = (uint8_t)(1 + ((uint64_t)number + i) % UINT8_MAX);
		struct health_open_finding *open = health_find_open(health, kind, 0, 0, tag);

		*ret_tag = tag;
		if (!open || (int64_t)finding_number_of(&open->finding, "job_number", 0) == number)
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

/* A job that has ended, or is suspended. */
static void end_job(struct health *health, struct watched_job *job)
{
	for (size_t i = 0; i < KINDS; i++) {
		uint8_t tag;
		struct health_open_finding *open = find_finding(health, kinds[i], job->number, &tag);

		if (!open)
			continue;
		end_finding(open, "the job does not run any more");
		health_drop(open);
	}
}

/* The jobs of this step. Return: false: no memory. */
static bool update_jobs(struct health *health, struct watched_jobs *jobs)
{
	const struct health_input *input = health->input;
	struct watched_job **list = calloc(input->job_count + 1, sizeof(*list));

	if (!list)
		return false;
	for (size_t i = 0; i < input->job_count; i++) {
		struct watched_job *job = find_job(jobs, i, input->jobs[i].number);

		list[i] = job ? job : add_job(health, jobs, &input->jobs[i]);
		if (!list[i]) {
			health->failed = true;
			break;
		}
		list[i]->seen_step = health->step;
		snprintf(list[i]->id, sizeof(list[i]->id), "%s", input->jobs[i].id);
		health->failed |= !update_members(health, list[i], &input->jobs[i]);
		find_ports(health, list[i]);
	}
	for (size_t i = 0; i < jobs->count; i++) {
		if (jobs->list[i]->seen_step == health->step)
			continue;
		/* Without memory, those that were not reached have not ended. */
		if (!health->failed)
			end_job(health, jobs->list[i]);
		free_job(jobs->list[i]);
	}
	free(jobs->list);
	jobs->list = list;
	for (jobs->count = 0; jobs->count < input->job_count && list[jobs->count];)
		jobs->count++;
	return true;
}

/* --- readings --- */

static bool size_readings(struct watched_jobs *jobs)
{
	uint32_t most = 0;
	struct job_reading *readings;
	bool *down;

	for (size_t i = 0; i < jobs->count; i++)
		if (jobs->list[i]->member_count > most)
			most = jobs->list[i]->member_count;
	if (most <= jobs->member_capacity)
		return true;
	readings = realloc(jobs->readings, most * sizeof(*readings));
	jobs->readings = readings ? readings : jobs->readings;
	down = realloc(jobs->down, most * sizeof(*down));
	jobs->down = down ? down : jobs->down;
	if (!readings || !down)
		return false;
	jobs->member_capacity = most;
	return true;
}

static bool size_samples(struct watched_jobs *jobs, size_t ports)
{
	const struct health_sample **grown;

	if (ports > jobs->sample_capacity) {
		grown = realloc(jobs->sample_of, ports * sizeof(*grown));
		if (!grown)
			return false;
		jobs->sample_of = grown;
		jobs->sample_capacity = ports;
	}
	return true;
}

static void put_samples(struct watched_jobs *jobs, const struct health_sample *samples, size_t count)
{
	for (size_t i = 0; i < count; i++)
		/* A port that only steps read keeps the sample of the step. */
		if (samples[i].port < jobs->sample_capacity &&
		    (samples[i].status != SAMPLE_UNSUPPORTED || !jobs->sample_of[samples[i].port]))
			jobs->sample_of[samples[i].port] = &samples[i];
}

static const struct health_sample *sample_at(const struct watched_jobs *jobs, uint32_t port)
{
	return port < jobs->sample_capacity ? jobs->sample_of[port] : NULL;
}

static double bytes_of(const struct health_sample *sample, enum counter counter)
{
	return sample && sample->delta ? measure_exact(rate_bytes_per_s(sample->delta, counter)) *
					 (double)sample->delta->elapsed_us / 1e6 : NAN;
}

static double wait_of(const struct health_sample *sample, double tick_s)
{
	double share = sample && sample->delta ?
		       measure_exact(rate_per_s(sample->delta, COUNTER_XMIT_WAIT)) * tick_s : NAN;

	return share > 1 ? 1 : share;
}

/* What a port did, also as counted by the switch port at the other end. Return: false: not known. */
static bool read_port(const struct job_port *port, const struct health_sample *own, const struct health_sample *to,
		      int64_t at_us, struct job_reading *ret)
{
	const struct health_sample *from = own;

	ret->xmit_bytes = bytes_of(own, COUNTER_XMIT_DATA);
	ret->rcv_bytes = bytes_of(own, COUNTER_RCV_DATA);
	ret->wait_own = wait_of(own, port->tick_own);
	ret->wait_to = wait_of(to, port->tick_to);
	if (isnan(ret->xmit_bytes) && isnan(ret->rcv_bytes)) {
		from = to;
		ret->xmit_bytes = bytes_of(to, COUNTER_RCV_DATA);
		ret->rcv_bytes = bytes_of(to, COUNTER_XMIT_DATA);
	}
	if ((isnan(ret->xmit_bytes) && isnan(ret->rcv_bytes)) || from->delta->elapsed_us <= 0)
		return false;
	ret->at_us = from->at_us ? from->at_us : at_us;
	ret->elapsed_us = from->delta->elapsed_us;
	return true;
}

static bool is_unresponsive(const struct health_sample *sample)
{
	return sample && (sample->status == SAMPLE_SILENT || sample->status == SAMPLE_BACKOFF);
}

/*
 * It does not respond any more. If the switch port at the other end shows what it does, only while it does nothing, and
 * since about then: an agent that does not respond for hours has no part in a pause.
 */
static bool has_fallen_silent(struct job_port *port, const struct health_sample *own, bool known, int64_t at_us)
{
	port->responded |= own && own->delta;
	if (!is_unresponsive(own)) {
		port->silent = 0;
		return false;
	}
	if (!port->silent)
		port->silent_us = at_us;
	port->silent += port->silent < SILENT_LEAST;
	return port->silent == SILENT_LEAST &&
	       (!known || (port->responded && port->silent_us >= port->moved_us - MINUTE_US && port->moved_us < at_us));
}

/* The job begins to communicate, or has stopped. */
static void note_traffic(struct watched_job *job, struct health_time now, double share)
{
	if (isnan(share) || share * 100 < RATE_IDLE_PERCENT)
		return;
	job->resumed = true;
	if (job->moved_us ? now.us - job->moved_us > PAUSE_US : job->began.us != 0)
		job->active = now;
	job->moved_us = now.us;
}

static void step_watch(struct watched_jobs *jobs, struct watched_job *job, struct health_time now)
{
	double bytes_per_s = 0, most_bytes_per_s = 0;
	size_t count = 0;

	for (uint32_t i = 0; i < job->member_count; i++) {
		struct job_port *port = &job->ports[i];
		const struct health_sample *own = sample_at(jobs, port->now), *to = sample_at(jobs, port->peer);
		struct job_reading *reading = &jobs->readings[count];
		double rate;
		bool known;

		*reading = (struct job_reading){ .member = i };
		known = read_port(port, own, to, now.us, reading);
		count += known;
		rate = known ? fmax(reading->xmit_bytes, reading->rcv_bytes) * 1e6 / (double)reading->elapsed_us : NAN;
		if (rate * 100 >= RATE_IDLE_PERCENT * port->most_bytes_per_s)
			port->moved_us = now.us;
		jobs->down[i] = has_fallen_silent(port, own, known, now.us) || !port->active ||
				(own && own->status == SAMPLE_DOWN);
		if (isnan(rate))
			continue;
		bytes_per_s += rate;
		most_bytes_per_s += port->most_bytes_per_s;
	}
	note_traffic(job, now, most_bytes_per_s > 0 ? bytes_per_s / most_bytes_per_s : NAN);
	if (job->watch)
		job->state = job_watch_step(job->watch, now.us, jobs->readings, count, jobs->down, false);
}

/* A watch is created in the step after the one in which its job is new: the first readings are of the time before. */
static bool make_watch(struct watched_job *job, int64_t interval_us)
{
	if (job->host_count < 2 || (job->watch && llabs(job->interval_us - interval_us) <= interval_us / 2))
		return true;
	job_watch_destroy(job->watch);
	job->state = NULL;
	job->interval_us = interval_us;
	job->watch = job_watch_create(job->members, job->member_count, interval_us);
	return job->watch != NULL;
}

const struct job_state *health_jobs_state(const struct watched_jobs *jobs, int64_t number)
{
	const struct watched_job *job = find_job(jobs, 0, number);

	return job && job->watch ? job->state : NULL;
}

int health_jobs_between(struct health *health, struct watched_jobs *jobs, int64_t boot_us,
			const struct health_sample *samples, size_t count)
{
	/* What the wall clock shows now is not known: the time since the last step has passed. */
	const struct health_time now = { boot_us, health->wall_us + (boot_us - health->now_us) };

	if (jobs->fast_at_us && !jobs->fast_us)
		jobs->fast_us = boot_us - jobs->fast_at_us;
	jobs->fast_at_us = boot_us;
	if (!jobs->sample_capacity)
		return 0;
	if (!size_readings(jobs))
		return -1;
	memset(jobs->sample_of, 0, jobs->sample_capacity * sizeof(*jobs->sample_of));
	put_samples(jobs, samples, count);
	for (size_t i = 0; i < jobs->count; i++) {
		step_watch(jobs, jobs->list[i], now);
		if (jobs->fast_us && !make_watch(jobs->list[i], jobs->fast_us))
			return -1;
	}
	return 0;
}

/* --- texts --- */

const char *job_evidence_text(const struct watched_job *job, const struct job_suspect *suspect,
			      char ret[JOB_CAUSE_SIZE])
{
	const bool slower = job->state->phase == JOB_PHASE_SLOWER;
	const double window_s = (double)job->interval_us / SECOND_US, value = suspect->value;

	*ret = '\0';
	switch (suspect->evidence) {
	case JOB_EVIDENCE_UNREADABLE:
		snprintf(ret, JOB_CAUSE_SIZE, TENSE("is", "was") " down, or " TENSE("does", "did") " not respond");
		break;
	case JOB_EVIDENCE_STOPPED_FIRST:
		/* What is less than a window ranks hosts by the bytes that they lack. */
		if (value < window_s)
			snprintf(ret, JOB_CAUSE_SIZE, "sent less than the others in the last iteration");
		else
			snprintf(ret, JOB_CAUSE_SIZE, "stopped %.1f s before the others",
				 window_s * floor(value / window_s));
		break;
	case JOB_EVIDENCE_NOT_RECEIVING:
		snprintf(ret, JOB_CAUSE_SIZE, TENSE("receives", "received") " too slowly: ports that send to it "
			 TENSE("wait", "waited") " %.0f %% of the time%s", 100 * value,
			 slower ? " more than before" : "");
		break;
	case JOB_EVIDENCE_LATE:
		if (suspect->absent > 0)
			snprintf(ret, JOB_CAUSE_SIZE, TENSE("begins", "began") " after the others in %.0f %% of the "
				 "iterations more than before", 100 * suspect->absent);
		else
			snprintf(ret, JOB_CAUSE_SIZE, TENSE("begins", "began") " to send %.1f s after the others",
				 value);
		break;
	case JOB_EVIDENCE_LOWER:
		snprintf(ret, JOB_CAUSE_SIZE, TENSE("sends", "sent") " %.0f %% less than its peers, compared with "
			 "before", 100 * value);
		break;
	default:
		break;
	}
	return ret;
}

/* Suspects with the evidence of the first one: of hosts that stopped, those that did so in the same window. */
static unsigned count_first(const struct watched_job *job)
{
	const struct job_state *state = job->state;
	const double window_s = (double)job->interval_us / SECOND_US;
	const double first = floor(state->suspects[0].value / window_s);
	unsigned count = 0;

	if (!state->suspect_count || state->suspects[0].evidence == JOB_EVIDENCE_NONE)
		return 0;
	while (count < state->suspect_count && state->suspects[count].evidence == state->suspects[0].evidence &&
	       (state->suspects[0].evidence != JOB_EVIDENCE_STOPPED_FIRST ||
		floor(state->suspects[count].value / window_s) == first))
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

/* Suspected hosts and their ports first. */
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
			bool suspected = false;

			for (unsigned j = 0; j < state->suspect_count; j++)
				suspected |= state->suspects[j].host == job->members[i].host;
			if (suspected == !pass && port->num < port->node->slots)
				health_set_add(&set, &port->node->ports[port->num]);
		}
	for (uint32_t host = 0; host < job->host_count; host++) {
		bool suspected = false;

		for (unsigned j = 0; j < state->suspect_count; j++)
			suspected |= state->suspects[j].host == host;
		if (!suspected)
			health_add_affected(open, job_host_name(job, host));
	}
	health_list_set(open, &set);
}

static struct health_time time_of(const struct health *health, int64_t boot_us)
{
	return health_before(health, health->now_us - boot_us);
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
		.since = time_of(health, job->state->since_us) });
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
		health_number(open, "stopped_before_s", state->suspects[0].value);
	}
}

static void hold_slower(struct health *health, struct watched_jobs *jobs, struct watched_job *job)
{
	static const char *const names[JOB_CAUSES] = {
		FINDING_CAUSE_SLOWER_LINK, FINDING_CAUSE_SLOWER_ROUTES, FINDING_CAUSE_SLOWER_SHARED,
		FINDING_CAUSE_SLOWER_WAITS, FINDING_CAUSE_SLOWER_RAIL, FINDING_CAUSE_SLOWER_FABRIC,
		FINDING_CAUSE_SLOWER_HOSTS };
	const struct job_state *state = job->state;
	/* state->now is of a longer time, in which the job was faster. */
	const double period_s = state->before.period_s * state->slower;
	const double bytes_per_s = state->before.bytes_per_s / state->slower;
	char now[32], before[32], change[160];
	struct health_open_finding *open;
	const char *found[2] = { NULL, NULL };
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
	if (!isnan(period_s))
		snprintf(change, sizeof(change), "an iteration " TENSE("takes", "took") " %.2f s instead of %.2f s, "
			 "%.0f %% longer", period_s, state->before.period_s, 100 * (state->slower - 1));
	else
		snprintf(change, sizeof(change), "its rate " TENSE("is", "was") " %s instead of %s, %.0f %% lower",
			 rate_format_bits(bytes_per_s, now, sizeof(now)),
			 rate_format_bits(state->before.bytes_per_s, before, sizeof(before)),
			 100 * (1 - 1 / state->slower));
	health_text(open, "%s: %s%s%s", change, found[0] ? found[0] : "the cause is not known",
		    found[1] ? "; also " : "", found[1] ? found[1] : "");
	open->extent = 100 * (state->slower - 1);
	health_number(open, "job_number", (double)job->number);
	health_number(open, "job_hosts", job->host_count);
	health_number(open, "slower_percent", 100 * (state->slower - 1));
	add_number(open, "period_s", period_s);
	add_number(open, "period_before_s", state->before.period_s);
	add_number(open, "bytes_per_s", bytes_per_s);
	add_number(open, "bytes_per_s_before", state->before.bytes_per_s);
}

/* --- restarts --- */

/* Is a job that was slower before a restart still so? The watch knows this run only. */
static bool is_still_slower(const struct finding *finding, const struct job_state *state)
{
	double period_s = finding_number_of(finding, "period_before_s", NAN);
	double bytes_per_s = finding_number_of(finding, "bytes_per_s_before", NAN);
	double slower = 1 + finding_number_of(finding, "slower_percent", 0) / 100, now;

	now = !isnan(period_s) && !isnan(state->now.period_s) ? state->now.period_s / period_s :
								bytes_per_s / state->now.bytes_per_s;
	return isnan(now) || now > 1 + (slower - 1) / 2;
}

/* A finding of an earlier run remains until the watch knows better. */
static bool outlives_restart(const struct watched_job *job, const struct finding *finding)
{
	if (finding->kind == FINDING_JOB_STALLED)
		return !job->resumed;
	return !job->state || job->state->phase == JOB_PHASE_LEARNING ||
	       (job->state->phase == JOB_PHASE_RUNS && is_still_slower(finding, job->state));
}

/* The findings of a job that neither stalls nor is slower. Return: whether any is open. */
static bool step_findings(struct health *health, const struct watched_job *job)
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

/* --- the rule --- */

static void note_changes(const struct health *health, struct watched_jobs *jobs)
{
	const struct { uint32_t count; const char *what; } changes[] = {
		{ health->changes.nodes_removed, "nodes removed" }, { health->changes.links_removed, "links removed" },
		{ health->changes.links_moved, "links moved" }, { health->changes.nodes_added, "nodes added" },
		{ health->changes.links_added, "links added" },
	};

	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]) && jobs->stepped; i++) {
		if (!changes[i].count)
			continue;
		jobs->changed = health_now(health);
		snprintf(jobs->change, sizeof(jobs->change), "%u %s", changes[i].count, changes[i].what);
		return;
	}
}

/*
 * Iterations shorter than 3.5 sweeps (shortest_s is two of them), and small changes, are too uncertain for a finding:
 * the phase of the job says them. One that is open remains while the job is slower.
 */
static bool is_reported(const struct health *health, const struct watched_job *job)
{
	const struct job_state *state = job->state;
	uint8_t tag;

	return find_finding(health, FINDING_JOB_SLOWER, job->number, &tag) ||
	       (state->slower >= SLOWER_LEAST && (isnan(state->before.period_s) ||
						  state->before.period_s >= 1.75 * state->before.shortest_s));
}

static void step_job(struct health *health, struct watched_jobs *jobs, struct watched_job *job)
{
	enum job_phase phase = job->state ? job->state->phase : JOB_PHASE_LEARNING;

	if (phase == JOB_PHASE_SLOWER && !is_reported(health, job))
		phase = JOB_PHASE_RUNS;

	if (phase == JOB_PHASE_STALLED || phase == JOB_PHASE_SLOWER) {
		if (!job->paths)
			job->paths = job_paths_make(health, job);
		health->failed |= !job->paths;
		if (phase == JOB_PHASE_STALLED)
			hold_stalled(health, job);
		else
			hold_slower(health, jobs, job);
	} else if (!step_findings(health, job)) {
		job_paths_destroy(job->paths);
		job->paths = NULL;
	}
}

static void sweep(struct health *health, void *state)
{
	struct watched_jobs *jobs = state;
	const struct health_input *input = health->input;
	bool fast = input->job_samples != NULL;

	note_changes(health, jobs);
	if (!fast)
		jobs->fast_us = 0;
	jobs->fast_at_us = 0;
	if ((!input->job_count && !jobs->count) || !update_jobs(health, jobs))
		goto done;
	if (!size_readings(jobs) || !size_samples(jobs, input->fabric->port_count)) {
		health->failed = true;
		goto done;
	}
	if (jobs->sample_capacity)
		memset(jobs->sample_of, 0, jobs->sample_capacity * sizeof(*jobs->sample_of));
	put_samples(jobs, input->samples, input->sample_count);
	put_samples(jobs, input->job_samples, input->job_sample_count);
	for (size_t i = 0; i < jobs->count; i++) {
		struct watched_job *job = jobs->list[i];

		step_watch(jobs, job, health_now(health));
		health->failed |= !make_watch(job, fast && jobs->fast_us ? jobs->fast_us : input->interval_us);
		step_job(health, jobs, job);
	}
done:
	jobs->stepped = true;
}

/* Traffic that fell, of a job that stalls. */
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

/* Runs after all rules, with what they found. */
static void explain(struct health *health, void *state)
{
	struct watched_jobs *jobs = state;

	for (size_t i = 0; i < jobs->count; i++)
		for (size_t j = 0; j < KINDS && jobs->list[i]->paths; j++) {
			uint8_t tag;
			struct health_open_finding *open = find_finding(health, kinds[j], jobs->list[i]->number, &tag);

			if (!open)
				continue;
			open->rule_origin = job_find_origin(health, jobs->list[i], kinds[j], open->since);
			if (kinds[j] == FINDING_JOB_STALLED)
				explain_fall(health, jobs->list[i], open);
		}
}

static void done(void *state)
{
	struct watched_jobs *jobs = state;

	for (size_t i = 0; i < jobs->count; i++)
		free_job(jobs->list[i]);
	free(jobs->list);
	free(jobs->sample_of);
	free(jobs->readings);
	free(jobs->down);
}

const struct health_rule health_jobs = { .state_size = sizeof(struct watched_jobs), .sweep = sweep, .explain = explain,
					  .done = done };
