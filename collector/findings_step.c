/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "collector/findings_step.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/log.h"
#include "collector/details.h"
#include "collector/events.h"
#include "collector/node_memory.h"
#include "collector/pkey_read.h"
#include "collector/route_read.h"
#include "collector/sink.h"
#include "collector/sweep_result.h"
#include "fabric/fabric.h"
#include "fabric/host_set.h"
#include "fabric/shape.h"

int findings_step_init(struct findings_step *step, const struct health_settings *settings,
		       const struct shape_settings *shape_settings, struct error *err)
{
	struct health_settings defaults;

	*step = (struct findings_step){ .shape_settings = shape_settings };
	health_settings_default(&defaults);
	step->health = health_create(settings ? settings : &defaults);
	return step->health ? 0 : err_nomem(err);
}

void findings_step_done(struct findings_step *step)
{
	health_destroy(step->health);
	shape_destroy(step->shape);
	free(step->adaptive);
	running_jobs_done(&step->running);
	free(step->jobs);
	free(step->job_ports);
	free(step->minutes);
	free(step->phases);
	free(step->restored);
	memset(step, 0, sizeof(*step));
}

int findings_step_restore(struct findings_step *step, const struct restored *restored, struct error *err)
{
	int code = health_restore_counts(step->health, restored->counts, restored->count_count, err);

	if (code < 0)
		return code;
	step->restored = calloc(restored->finding_count + 1, sizeof(*step->restored));
	if (!step->restored)
		return err_nomem(err);
	for (size_t i = 0; code == 0 && i < restored->finding_count; i++) {
		struct restored_finding *one = &step->restored[i];

		*one = restored->findings[i];
		one->finding.cause = one->cause;
		for (unsigned j = 0; j < one->finding.number_count; j++)
			one->finding.numbers[j].key = one->keys[j];
		code = health_restore(step->health, &one->finding, err);
	}
	return code;
}

/* Update the shape if the fabric has changed. */
static int update_shape(struct findings_step *step, const struct sweep *sweep, bool *ret_changed, struct error *err)
{
	struct shape *shape;
	int code;

	*ret_changed = !step->has_shape || step->generation != sweep->generation;
	if (!*ret_changed)
		return 0;
	free(step->adaptive);
	step->adaptive = NULL;
	code = balance_adaptive_create(step->shape_settings, sweep->fabric, &step->adaptive, err);
	if (code == 0)
		code = shape_create(sweep->fabric, step->shape_settings, &shape, err);
	if (code < 0)
		return code;
	shape_destroy(step->shape);
	step->shape = shape;
	step->generation = sweep->generation;
	step->has_shape = true;
	return 0;
}

/* Append the cabled ports of the HCAs of a host. */
static int add_ports(const struct shape *shape, const struct shape_host *host, uint32_t **ports, size_t *count,
		     size_t *capacity, struct error *err)
{
	const struct fabric *fabric = shape->fabric;

	for (uint32_t i = host->first; i < host->first + host->count; i++) {
		const struct node *node = &fabric->nodes[shape->host_nodes[i]];

		for (uint32_t port = node->first_port; port < node->first_port + node->ports; port++) {
			uint32_t *grown = array_grow(*ports, *count, capacity, sizeof(*grown));

			if (!grown)
				return err_nomem(err);
			*ports = grown;
			if (fabric->ports[port].peer != FABRIC_NONE)
				grown[(*count)++] = port;
		}
	}
	return 0;
}

/* Find the ports of the running jobs, if other jobs run or the fabric has changed. */
static int update_jobs(struct findings_step *step, bool shape_changed, struct error *err)
{
	const struct shape *shape = step->shape;
	size_t count = 0, capacity = 0, names = 0, *first;
	bool *listed;
	int code = 0;

	if (!step->jobs_changed && !shape_changed)
		return 0;
	free(step->jobs);
	free(step->job_ports);
	step->job_ports = NULL;
	step->jobs = calloc(step->running.count + 1, sizeof(*step->jobs));
	first = calloc(step->running.count + 1, sizeof(*first));
	listed = calloc(shape->host_count + 1, sizeof(*listed));
	if (!step->jobs || !first || !listed)
		code = err_nomem(err);
	for (size_t i = 0; code == 0 && i < step->running.count; i++) {
		const struct running_job *job = &step->running.list[i];

		first[i] = count;
		memset(listed, 0, shape->host_count * sizeof(*listed));
		/* That many names and hosts of all jobs are looked at, then those of one more job. */
		if (names < HOST_SET_MOST)
			code = shape_mark_hosts(shape, job->hosts, listed, NULL, err);
		names += code > 0 ? (size_t)code : 0;
		code = code < 0 ? code : 0;
		for (size_t j = 0; code == 0 && j < shape->host_count; j++)
			if (listed[j])
				code = add_ports(shape, &shape->hosts[j], &step->job_ports, &count, &capacity, err);
		step->jobs[i] = (struct health_job){ .number = job->number, .id = job->id,
						     .port_count = count - first[i] };
	}
	for (size_t i = 0; code == 0 && i < step->running.count; i++)
		step->jobs[i].ports = step->job_ports + first[i];
	step->job_port_count = code < 0 ? 0 : count;
	free(first);
	free(listed);
	/* Without memory, they are tried again. */
	step->jobs_changed = code < 0;
	return code;
}

/* The phase of a job at the last sweep; @at: where to search, since both lists have descending numbers. */
static bool was_in_phase(const struct findings_step *step, size_t *at, int64_t number, enum job_phase phase)
{
	while (*at < step->phase_count && step->phases[*at].number > number)
		++*at;
	return *at < step->phase_count && step->phases[*at].number == number && step->phases[*at].phase == phase;
}

/* The rhythms of jobs are stored in the first sweep of a minute, and when their phase changes. */
static int list_minutes(struct findings_step *step, struct sweep *sweep, struct error *err)
{
	int64_t minute = sweep->wall_us / (60 * INT64_C(1000000));
	struct job_minute *minutes = calloc(step->running.count + 1, sizeof(*minutes));
	struct job_phase_of *phases = calloc(step->running.count + 1, sizeof(*phases));
	size_t count = 0, phase_count = 0, at = 0;

	if (!minutes || !phases) {
		free(minutes);
		free(phases);
		return err_nomem(err);
	}
	for (size_t i = 0; i < step->running.count; i++) {
		int64_t number = step->running.list[i].number;
		const struct job_state *state = health_job_state(step->health, number);

		if (!state)
			continue;
		if (minute != step->minute || !was_in_phase(step, &at, number, state->phase))
			minutes[count++] = job_minute_of(number, state, sweep->wall_us, sweep->start_us);
		phases[phase_count++] = (struct job_phase_of){ number, state->phase };
	}
	free(step->minutes);
	free(step->phases);
	step->minute = minute;
	step->minutes = minutes;
	step->phases = phases;
	step->phase_count = phase_count;
	sweep->job_minutes = minutes;
	sweep->job_minute_count = count;
	return 0;
}

/* Arrays of health_input for one sweep. */
struct gathered {
	struct health_sample *samples;
	struct pma_caps *caps; /* by node */
	struct health_detail *details;
	uint64_t *locked;
	/* Switches whose tables changed in this sweep, and the number of entries; those that were read completely. */
	uint64_t *changed_guids, *read_guids;
	uint32_t *changed_entries;
};

static void gathered_done(struct gathered *all)
{
	free(all->samples);
	free(all->caps);
	free(all->details);
	free(all->locked);
	free(all->changed_guids);
	free(all->read_guids);
	free(all->changed_entries);
}

static int gather(struct gathered *all, const struct sweep_result *result, const struct details *details,
		  const struct fabric *fabric, struct node_memory *memory, struct health_input *input,
		  struct error *err)
{
	all->samples = calloc(result->count + 1, sizeof(*all->samples));
	all->caps = calloc(fabric->node_count + 1, sizeof(*all->caps));
	all->details = calloc(details->sample_count + 1, sizeof(*all->details));
	all->locked = calloc(fabric->node_count + 1, sizeof(*all->locked));
	if (!all->samples || !all->caps || !all->details || !all->locked)
		return err_nomem(err);
	for (size_t i = 0; i < result->count; i++) {
		const struct port_sample *sample = &result->samples[i];

		all->samples[i] = (struct health_sample){ sample->port, sample->status, sample->delta,
							      sample->suspected,
							      sample->reading ? sample->reading->at_us : 0 };
	}
	for (uint32_t i = 0; i < fabric->node_count; i++) {
		const struct node_entry *node = node_memory_node(memory, i);

		all->caps[i] = node->caps;
		if (node->locked)
			all->locked[input->locked_count++] = node->guid;
	}
	for (size_t i = 0; i < details->sample_count; i++) {
		const struct detail_sample *detail = &details->samples[i];

		if (detail->delta)
			all->details[input->detail_count++] = (struct health_detail){
				.port = detail->port, .attribute = detail->reading->attribute,
				.layout = detail->reading->layout, .delta = detail->delta };
	}
	input->details = all->details;
	input->samples = all->samples;
	input->sample_count = result->count;
	input->caps = all->caps;
	input->locked_guids = all->locked;
	return 0;
}

/* The tables, and those that changed in this sweep. */
static int gather_routes(struct findings_step *step, struct gathered *all, const struct route_read *routes,
			 struct health_input *input, struct error *err)
{
	int64_t newest_us = step->tables_read_us;

	if (!routes->interval_us)
		return 0;
	all->changed_guids = calloc(routes->count + 1, sizeof(*all->changed_guids));
	all->changed_entries = calloc(routes->count + 1, sizeof(*all->changed_entries));
	all->read_guids = calloc(routes->count + 1, sizeof(*all->read_guids));
	if (!all->changed_guids || !all->changed_entries || !all->read_guids)
		return err_nomem(err);
	for (size_t i = 0; i < routes->count; i++) {
		const struct route_switch *one = &routes->switches[i];

		if (one->read_us > step->tables_read_us) {
			all->read_guids[input->routes_read_count++] = one->guid;
			newest_us = one->read_us > newest_us ? one->read_us : newest_us;
		}
		if (!one->changed)
			continue;
		all->changed_guids[input->routes_changed_count] = one->guid;
		all->changed_entries[input->routes_changed_count++] = one->changed;
	}
	step->tables_read_us = newest_us;
	input->routes_read_guids = all->read_guids;
	input->routes = &routes->routes;
	input->routes_changed_guids = all->changed_guids;
	input->routes_changed_entries = all->changed_entries;
	return 0;
}

/* A table is read again before a fault is attributed to it. */
static int request_tables(const struct findings_step *step, struct route_read *routes, struct error *err)
{
	const uint64_t *guids;
	size_t count = health_wants_tables(step->health, &guids);
	int code = 0;

	for (size_t i = 0; code == 0 && routes->interval_us && i < count; i++)
		code = route_read_request(routes, guids[i], err);
	return code;
}

/* Is there a master SM that responds, and whose ActCount increases? */
static void update_sm(struct findings_step *step, const struct sweep_result *result, int64_t now_us,
		      struct health_input *input)
{
	const struct sm_state *sm = &result->sm;

	/* If the sweep was cut before the response, the former state remains. */
	if (!result->sm_pending) {
		if (sm->known && (sm->guid != step->sm_guid || sm->act_count != step->sm_act_count ||
				  !step->sm_moved_us))
			step->sm_moved_us = now_us;
		step->sm_known = sm->known && now_us - step->sm_moved_us < SM_STALLED_US;
		if (sm->known) {
			step->sm_guid = sm->guid;
			step->sm_act_count = sm->act_count;
		}
	}
	input->sm_known = step->sm_known || sm->state == SM_NOT_QUERIED;
	input->sm_guid = step->sm_guid;
	input->sm_masters = result->sm_masters;
}

/* Changes of findings in the log, per sweep; all are events. */
enum { LOGGED_MOST = 20 };

struct reporting {
	struct events *events;
	const struct sweep *sweep;
	unsigned count;
};

static void add_events(void *ctx, enum health_change change, struct finding *finding)
{
	static const char *const kinds[] = {
		[HEALTH_OPENED] = EVENT_FINDING_OPENED, [HEALTH_CHANGED] = EVENT_FINDING_CHANGED,
		[HEALTH_CLOSED] = EVENT_FINDING_CLOSED,
	};
	static const enum event_severity severities[] = {
		[FINDING_INFO] = EVENT_INFO, [FINDING_WARNING] = EVENT_WARNING, [FINDING_CRITICAL] = EVENT_CRITICAL,
	};
	static const enum log_level levels[] = {
		[EVENT_INFO] = LOG_LEVEL_INFO, [EVENT_WARNING] = LOG_LEVEL_WARNING, [EVENT_CRITICAL] = LOG_LEVEL_ERROR,
	};
	struct reporting *reporting = ctx;
	struct event *event;

	/* Changes of tables and nodes have events of their own. */
	if (finding->is_explained && finding->severity == FINDING_INFO && finding->kind != FINDING_TRAFFIC_FELL)
		return;
	event = events_add(reporting->events, reporting->sweep->wall_us, kinds[change],
			   change == HEALTH_CLOSED || finding->is_explained ? EVENT_INFO :
			   severities[finding->severity], NULL, FABRIC_NONE, 0, "%s %s: %s%s%s",
			   finding_kind_name(finding->kind), finding->subject, finding->text,
			   finding->is_explained ? "; explained by " : "",
			   finding->is_explained ? finding_kind_name(finding->origin.kind) : "");
	event->node_guid = finding->node_guid;
	event->port = finding->port;
	event->peer_guid = finding->peer_guid;
	event->peer_port = finding->peer_port;
	if (reporting->count++ < LOGGED_MOST)
		log_state(levels[event->severity], "%s (%s): %s", kinds[change],
			  finding_severity_name(finding->severity), event->text);
}

int findings_step_run(struct findings_step *step, const struct sweep_result *result, const struct details *details,
		      struct node_memory *memory, struct route_read *routes, const struct pkey_read *pkeys,
		      struct sweep *sweep, struct events *events, struct error *err)
{
	struct health_input input = {
		.wall_us = sweep->wall_us, .boot_us = sweep->start_us, .interval_us = sweep->interval_us,
		.fabric = sweep->fabric, .log_bytes = step->log_bytes, .log_holders = step->log_holders,
		.left_out = step->left_out, .left_out_first = step->left_out_first,
		.stalled_us = step->stalled_us, .stall_reason = step->stall_reason,
		.plan = step->plan, .plan_generation = step->plan_generation,
		.cables = step->cables, .cable_count = step->cable_count,
		.pkeys = pkeys->off ? NULL : &pkeys->pkeys, .pkeys_revision = pkeys->revision,
		.pkeys_settled = pkeys->is_settled,
	};
	struct reporting reporting = { .events = events, .sweep = sweep };
	struct gathered all = { 0 };
	int code = update_shape(step, sweep, &input.topology_changed, err);

	if (code == 0)
		code = update_jobs(step, input.topology_changed, err);
	if (code == 0)
		code = gather(&all, result, details, sweep->fabric, memory, &input, err);
	if (code == 0)
		code = gather_routes(step, &all, routes, &input, err);
	if (code == 0) {
		input.shape = step->shape;
		input.jobs = step->jobs;
		input.job_count = step->running.count;
		input.job_samples = step->job_samples;
		input.job_sample_count = step->job_sample_count;
		input.adaptive = step->adaptive;
		update_sm(step, result, sweep->end_us, &input);
		code = health_step(step->health, &input, add_events, &reporting, err);
		if (reporting.count > LOGGED_MOST)
			log_info("%u more findings opened, changed or closed: see ibwire events",
				 reporting.count - LOGGED_MOST);
	}
	if (code == 0)
		code = request_tables(step, routes, err);
	if (code == 0)
		code = list_minutes(step, sweep, err);
	gathered_done(&all);
	if (code == 0)
		sweep->finding_count = health_open(step->health, &sweep->findings);
	return code;
}
