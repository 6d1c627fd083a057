/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The running jobs that are watched: which ports are members of a job, and how samples of these ports become readings.
 * job_watch.h decides from the readings whether the job stalls or is slower; job_findings.c makes findings of that.
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

/* After a pause of this length a job may slow others down as a new job does: job_causes.c looks for that. */
enum { PAUSE_US = MINUTE_US };
/* Queries in a row without a response after which a port counts as one that cannot be read. */
enum { SILENT_LEAST = 2 };

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

/* Is the port of a rail of compute hosts? Without such rails, each port counts as one. */
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

/* Does the port have to become a member? */
static bool is_new_member(const struct health *health, const struct watched_job *job, uint32_t port)
{
	return is_of_compute(health->input->shape, port) && !is_member(health, job, port);
}

/* @array: the address of a pointer to an array. Return: false: no memory, and nothing has changed. */
static bool resize(void *array, size_t count, size_t size)
{
	void *grown;

	memcpy(&grown, array, sizeof(grown));
	grown = reallocarray(grown, count, size);
	if (grown)
		memcpy(array, &grown, sizeof(grown));
	return grown != NULL;
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

/* Adds ports of the job that are no members yet; its watch then begins again. Return: false: no memory. */
static bool update_members(struct health *health, struct watched_job *job, const struct health_job *now)
{
	size_t added = 0, before = job->member_count, most;

	for (size_t i = 0; i < now->port_count; i++)
		added += is_new_member(health, job, now->ports[i]);
	if (!added)
		return true;
	most = before + added;
	job_watch_destroy(job->watch);
	job->watch = NULL;
	job->state = NULL;
	if (!resize(&job->members, most, sizeof(*job->members)) || !resize(&job->ports, most, sizeof(*job->ports)) ||
	    !resize(&job->hosts, most, sizeof(*job->hosts)))
		return false;
	for (size_t i = 0; i < now->port_count; i++)
		if (is_new_member(health, job, now->ports[i]) && !add_member(health, job, now->ports[i]))
			return false;
	return !before || sort_members(job);
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
			job_findings_end(health, jobs->list[i]);
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

	for (size_t i = 0; i < jobs->count; i++)
		if (jobs->list[i]->member_count > most)
			most = jobs->list[i]->member_count;
	if (most <= jobs->member_capacity)
		return true;
	if (!resize(&jobs->readings, most, sizeof(*jobs->readings)) || !resize(&jobs->down, most, sizeof(*jobs->down)))
		return false;
	jobs->member_capacity = most;
	return true;
}

static bool size_samples(struct watched_jobs *jobs, size_t ports)
{
	if (ports <= jobs->sample_capacity)
		return true;
	if (!resize(&jobs->sample_of, ports, sizeof(const struct health_sample *)))
		return false;
	jobs->sample_capacity = ports;
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

/* The traffic of a port, if necessary as counted by the switch port at its other end. Return: false: unknown. */
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
 * Has the port stopped responding? If the switch port at the other end still counts its traffic, it must have none, and
 * must have stopped responding no more than a minute before its last traffic: an agent that has not responded for hours
 * does not explain a pause.
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

/* Notes the time of traffic of the job, and when it begins to communicate after a pause. */
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
		job_findings_step(health, jobs, job);
	}
done:
	jobs->stepped = true;
}

/* Runs after all rules, with what they found. */
static void explain(struct health *health, void *state)
{
	struct watched_jobs *jobs = state;

	for (size_t i = 0; i < jobs->count; i++)
		job_findings_explain(health, jobs->list[i]);
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
