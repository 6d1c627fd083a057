/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "collector/fast_jobs.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/delta.h"
#include "base/err.h"
#include "base/when.h"
#include "collector/events.h"
#include "collector/lid_verify.h"
#include "collector/node_memory.h"
#include "fabric/fabric.h"
#include "fabric/planes.h"
#include "wire/engine.h"
#include "wire/mad.h"
#include "wire/pma.h"

void fast_jobs_done(struct fast_jobs *fast)
{
	free(fast->ports);
	free(fast->samples);
	free(fast->deltas);
	sweep_result_done(&fast->result);
	memset(fast, 0, sizeof(*fast));
}

void fast_jobs_schedule(struct fast_jobs *fast, int64_t start_us)
{
	fast->next_us = start_us + fast->interval_us;
}

int64_t fast_jobs_next_us(const struct fast_jobs *fast, int64_t sweep_us)
{
	if (!fast->interval_us || !fast->count || fast->next_us + fast->interval_us / 2 > sweep_us)
		return INT64_MAX;
	return fast->next_us;
}

uint64_t fast_jobs_mads(uint64_t ports, int64_t interval_us, int64_t sweep_interval_us)
{
	return ports * (uint64_t)((sweep_interval_us - interval_us / 2) / interval_us);
}

/* The indices of the ports in another fabric. */
static void find_ports(struct fast_jobs *fast, const struct fabric *fabric, uint64_t generation)
{
	for (size_t i = 0; fast->generation != generation && i < fast->count; i++)
		fast->ports[i].port = fabric_find_port(fabric, fast->ports[i].node_guid, fast->ports[i].num);
	fast->generation = generation;
}

/* --- one round --- */

struct round {
	struct fast_jobs *fast;
	struct node_memory *memory;
};

static enum sample_status first_status(const struct round *round, const struct fast_port *at)
{
	const struct fabric *fabric = round->memory->fabric;
	const struct node_entry *node;
	const struct port *port;

	if (at->port == FABRIC_NONE)
		return SAMPLE_DOWN;
	port = &fabric->ports[at->port];
	node = node_memory_node(round->memory, port->node);
	if (port->state >= PORT_INIT && port_is_plane(fabric, at->port))
		return SAMPLE_UNSUPPORTED;
	if (!port_is_live(fabric, port))
		return SAMPLE_DOWN;
	if (node->unresponsive_sweeps)
		return SAMPLE_BACKOFF;
	return pma_caps_meet(&node->caps, NEED_EXTENDED) ? SAMPLE_SILENT : SAMPLE_UNSUPPORTED;
}

/* Errors are not used, and may have another width in a sweep. */
static void keep_traffic(struct reading *reading)
{
	reading->present &= COUNTER_TRAFFIC_SET;
	reading->wide &= COUNTER_TRAFFIC_SET;
}

/* The tag is the place of the port in the list. A busy or redirecting agent is read in the next round. */
static void on_counters(void *ctx, const struct request *request, const struct response *response)
{
	struct round *round = ctx;
	struct fast_port *at = &round->fast->ports[request->tag];
	struct port_sample *sample = &round->fast->result.samples[request->tag];
	struct reading *reading = &round->fast->result.readings[request->tag];
	const struct node_entry *node = node_memory_node(round->memory, round->memory->fabric->ports[at->port].node);

	if (response->result == REQUEST_CANCELLED)
		sample->status = SAMPLE_UNFINISHED;
	at->timed_out = response->result == REQUEST_TIMED_OUT;
	if (response->result != REQUEST_ANSWERED ||
	    pma_read_counters(response->mad, ATTRIBUTE_PORT_COUNTERS_EXTENDED, request->port_select, &node->caps,
			      reading) != ANSWER_OK)
		return;
	reading->at_us = response->at_us;
	keep_traffic(reading);
	sample->status = SAMPLE_OK;
}

static int query(struct round *round, struct engine *engine, struct error *err)
{
	struct fast_jobs *fast = round->fast;
	int code = 0;

	for (size_t i = 0; i < fast->count && code == 0; i++) {
		struct fast_port *at = &fast->ports[i];
		struct port_sample *sample = &fast->result.samples[i];
		struct request request;

		fast->result.readings[i] = (struct reading){ 0 };
		/* A port that is not there has no reading; for lid_verify_run() it is any port. */
		*sample = (struct port_sample){ .port = at->port != FABRIC_NONE ? at->port : 0,
						.status = first_status(round, at) };
		if (sample->status != SAMPLE_SILENT)
			continue;
		request = node_memory_pma_request(round->memory, at->port, PMA_PORT_COUNTERS_EXTENDED, on_counters,
						  round);
		request.tag = (uint32_t)i;
		request.once = at->timed_out;
		/* Its path is queried only when it begins (lid_verify.h). */
		if (at->timed_out)
			sample->status = SAMPLE_BACKOFF;
		code = engine_submit(engine, &request, err);
	}
	return code;
}

/* Deltas since the last readings. */
static void finish(struct fast_jobs *fast)
{
	struct sweep_result *result = &fast->result;

	for (size_t i = 0; i < fast->count; i++) {
		struct port_sample *sample = &result->samples[i];
		const struct fast_port *at = &fast->ports[i];

		if (sample->status != SAMPLE_OK)
			continue;
		result->ports_answered++;
		sample->reading = &result->readings[i];
		if (!at->has_last || sample->reading->at_us <= at->last.at_us)
			continue;
		delta_between(&at->last, sample->reading, &result->deltas[i]);
		sample->delta = &result->deltas[i];
	}
}

static void set_sample(struct fast_jobs *fast, size_t i, const struct port_sample *from)
{
	fast->samples[i] = (struct health_sample){
		.port = fast->ports[i].step_port, .status = from ? from->status : SAMPLE_SILENT,
		.delta = from ? from->delta : NULL, .at_us = from && from->reading ? from->reading->at_us : 0,
	};
	if (!from || !from->reading)
		return;
	fast->ports[i].last = *from->reading;
	keep_traffic(&fast->ports[i].last);
	fast->ports[i].has_last = true;
}

int fast_jobs_round(struct fast_jobs *fast, struct engine *engine, struct node_memory *memory, uint64_t generation,
		    int64_t deadline_us, uint32_t *ret_moved, const struct health_sample **ret_samples,
		    struct error *err)
{
	struct round round = { .fast = fast, .memory = memory };
	uint64_t before = engine_counts(engine).sent;
	bool cut = false;
	int code = sweep_result_reserve(&fast->result, fast->count, err);

	*ret_moved = 0;
	if (code < 0)
		return code;
	find_ports(fast, memory->fabric, generation);
	sweep_result_clear(&fast->result);
	fast->result.count = fast->count;
	code = query(&round, engine, err);
	code = engine_finish(engine, code, deadline_us, err);
	cut = code == ENGINE_CUT;
	if (code < 0)
		return code;
	finish(fast);
	code = lid_verify_run(engine, memory, &fast->result, false, deadline_us, ret_moved, err);
	fast->mads += engine_counts(engine).sent - before;
	if (code < 0)
		return code;
	for (size_t i = 0; i < fast->count; i++)
		set_sample(fast, i, &fast->result.samples[i]);
	*ret_samples = fast->samples;
	return cut || fast->result.cut ? ENGINE_CUT : 0;
}

/* --- sweeps --- */

static int compare_ports(const void *a, const void *b)
{
	const struct fast_port *x = a, *y = b;

	return (x->port > y->port) - (x->port < y->port);
}

static int compare_samples(const void *key, const void *sample)
{
	uint32_t port = *(const uint32_t *)key, other = ((const struct port_sample *)sample)->port;

	return (port > other) - (port < other);
}

static const struct port_sample *find_sample(const struct sweep_result *result, uint32_t port)
{
	if (!result->count)
		return NULL;
	return bsearch(&port, result->samples, result->count, sizeof(*result->samples), compare_samples);
}

/* Samples name the ports of this fabric from now on; those that it does not have are removed. */
static void set_fabric(struct fast_jobs *fast, const struct fabric *fabric, uint64_t generation)
{
	size_t count = 0;

	find_ports(fast, fabric, generation);
	for (size_t i = 0; i < fast->count; i++) {
		struct fast_port at = fast->ports[i];

		at.step_port = at.port;
		if (at.port != FABRIC_NONE)
			fast->ports[count++] = at;
	}
	fast->count = count;
	if (count)
		qsort(fast->ports, count, sizeof(*fast->ports), compare_ports);
}

const struct health_sample *fast_jobs_sweep(struct fast_jobs *fast, const struct sweep_result *result,
					    const struct fabric *fabric, uint64_t generation)
{
	set_fabric(fast, fabric, generation);
	for (size_t i = 0; i < fast->count; i++) {
		const struct port_sample *found = find_sample(result, fast->ports[i].port);
		struct fast_port *at = &fast->ports[i];
		struct port_sample sample = { .status = SAMPLE_SILENT };

		if (found)
			sample = *found;
		sample.delta = NULL;
		at->timed_out = false;
		if (sample.reading && at->has_last && sample.reading->at_us > at->last.at_us) {
			delta_between(&at->last, sample.reading, &fast->deltas[i]);
			sample.delta = &fast->deltas[i];
		}
		set_sample(fast, i, &sample);
	}
	return fast->count ? fast->samples : NULL;
}

static int reserve(struct fast_jobs *fast, size_t count, struct error *err)
{
	if (count <= fast->sample_capacity)
		return 0;
	free(fast->samples);
	free(fast->deltas);
	fast->samples = calloc(count, sizeof(*fast->samples));
	fast->deltas = calloc(count, sizeof(*fast->deltas));
	fast->sample_capacity = fast->samples && fast->deltas ? count : 0;
	return fast->sample_capacity ? 0 : err_nomem(err);
}

int fast_jobs_select(struct fast_jobs *fast, const uint32_t *ports, size_t count, const struct sweep_result *result,
		     const struct fabric *fabric, uint64_t generation, struct error *err)
{
	struct fast_port *list = calloc(count + 1, sizeof(*list));
	size_t unique = 0;

	if (!list || reserve(fast, count, err) < 0) {
		free(list);
		fast->count = 0;
		return err_nomem(err);
	}
	set_fabric(fast, fabric, generation);
	for (size_t i = 0; i < count; i++)
		list[i].port = ports[i];
	if (count)
		qsort(list, count, sizeof(*list), compare_ports);
	for (size_t i = 0; i < count; i++) {
		struct fast_port *at = &list[unique];
		const struct fast_port *before;
		const struct port_sample *sample;

		if (i && list[i].port == list[i - 1].port)
			continue;
		*at = (struct fast_port){
			.port = list[i].port, .step_port = list[i].port, .num = fabric->ports[list[i].port].num,
			.node_guid = fabric->nodes[fabric->ports[list[i].port].node].guid,
		};
		unique++;
		before = fast->count ? bsearch(at, fast->ports, fast->count, sizeof(*fast->ports), compare_ports) :
				       NULL;
		if (before) {
			*at = *before;
			continue;
		}
		sample = find_sample(result, at->port);
		at->has_last = sample && sample->reading;
		if (!at->has_last)
			continue;
		at->last = *sample->reading;
		keep_traffic(&at->last);
	}
	free(fast->ports);
	fast->ports = list;
	fast->count = unique;
	return 0;
}

void fast_jobs_report(struct fast_jobs *fast, struct events *events, int64_t wall_us)
{
	char every[WHEN_SIZE];

	if (fast->late && !fast->late_reported)
		events_add(events, wall_us, EVENT_FAST_LATE, EVENT_WARNING, NULL, FABRIC_NONE, 0,
			   "the %zu ports of running jobs are not all read every %s (--fast-jobs): sweeps or nodes "
			   "take longer; increase that interval or the limits", fast->count,
			   when_format_span(fast->interval_us, every));
	fast->late_reported = fast->late;
	fast->late = false;
}
