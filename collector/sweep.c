/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "collector/sweep.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/delta.h"
#include "base/err.h"
#include "collector/link_check.h"
#include "collector/memory.h"
#include "fabric/fabric.h"
#include "fabric/planes.h"
#include "wire/engine.h"
#include "wire/mad.h"
#include "wire/pma.h"
#include "wire/smp.h"

/*
 * Questions in a row that a node may leave open before the rest is dropped: one
 * where it has not answered at all in this sweep.
 */
#define TIMEOUTS_UNTIL_SILENT 2

/* Sweeps of silence after which a node's one question is no longer repeated. */
#define SILENT_UNTIL_ONCE 3

/* The engine's lane of questions to the subnet manager; nodes have the others (memory_lane). */
#define SM_LANE 0

/* How often a port that says "busy" is asked again within a sweep. */
#define BUSY_RETRIES 2

/* What a sweep knows while it runs. */
struct sweep_state {
	struct engine *engine;
	const struct fabric *fabric;
	struct memory *memory;
	struct sweep_result *result;
	uint32_t *sample_of;        /* port index to sample index */
	uint8_t *attributes_open;   /* per sample: mask of attributes not answered yet */
	uint8_t *busy_left;         /* per sample */
	uint8_t *timeouts;          /* per node, in a row */
	bool *answered;             /* per node: anything at all */
	struct error *err;
	int code;                   /* the first failure of a callback */
};

void sweep_result_done(struct sweep_result *result)
{
	free(result->samples);
	free(result->readings);
	free(result->deltas);
	*result = (struct sweep_result){ 0 };
}

static int reserve(struct sweep_result *result, size_t count, struct error *err)
{
	if (count > result->capacity) {
		sweep_result_done(result);
		result->samples = calloc(count, sizeof(*result->samples));
		result->readings = calloc(count, sizeof(*result->readings));
		result->deltas = calloc(count, sizeof(*result->deltas));
		if (!result->samples || !result->readings || !result->deltas) {
			sweep_result_done(result);
			return err_nomem(err);
		}
		result->capacity = count;
	}
	return 0;
}

static bool is_live(const struct fabric *fabric, const struct port *port)
{
	return port->state >= PORT_INIT && fabric_port_lid(fabric, port) != 0;
}

static void submit(struct sweep_state *state, const struct request *request)
{
	if (state->code == 0)
		state->code = engine_submit(state->engine, request, state->err);
}

static void on_counters(void *ctx, const struct request *request, enum request_result result,
			const uint8_t mad[MAD_SIZE], int64_t at_us);

static void ask_attribute(struct sweep_state *state, uint32_t port_index, enum counter_attribute attribute)
{
	const struct port *port = &state->fabric->ports[port_index];

	submit(state, &(struct request){
		.node = memory_lane(state->memory, port->node),
		.to.lid = fabric_port_lid(state->fabric, port),
		.mgmt_class = CLASS_PERFORMANCE,
		.port_select = port->num,
		.attribute = pma_attribute_id(attribute),
		.tag = port_index,
		.done = on_counters,
		.ctx = state,
	});
}

/* Has this port counters, a link, and no answer yet? As plan() and answers have left it. */
static bool is_asked(const struct sweep_state *state, uint32_t port)
{
	uint32_t sample = state->sample_of[port];
	enum sample_status status = sample == FABRIC_NONE ? SAMPLE_DOWN : state->result->samples[sample].status;

	return status == SAMPLE_SILENT || status == SAMPLE_BACKOFF;
}

/* Ask all live ports of a node whose capabilities are known. */
static void ask_ports(struct sweep_state *state, uint32_t node_index)
{
	const struct node *node = &state->fabric->nodes[node_index];
	bool extended = pma_caps_meet(&memory_node(state->memory, node_index)->caps, NEED_EXTENDED);
	uint32_t i;

	for (i = node->first_port; i < node->first_port + node->ports; i++) {
		uint32_t sample = state->sample_of[i];

		if (!is_asked(state, i))
			continue;
		state->result->samples[sample].status = SAMPLE_SILENT;
		state->attributes_open[sample] = 1 << ATTRIBUTE_PORT_COUNTERS;
		if (extended)
			state->attributes_open[sample] |= 1 << ATTRIBUTE_PORT_COUNTERS_EXTENDED;
		ask_attribute(state, i, ATTRIBUTE_PORT_COUNTERS);
		if (extended)
			ask_attribute(state, i, ATTRIBUTE_PORT_COUNTERS_EXTENDED);
	}
}

/* A question to a node was left open. */
static void count_timeout(struct sweep_state *state, uint32_t node)
{
	if (++state->timeouts[node] >= TIMEOUTS_UNTIL_SILENT || !state->answered[node])
		engine_drop_node(state->engine, memory_lane(state->memory, node));
}

static void count_answer(struct sweep_state *state, uint32_t node)
{
	state->timeouts[node] = 0;
	state->answered[node] = true;
}

/* A port's attribute is there, or will not come: with the last one the port is done. */
static void close_attribute(struct sweep_state *state, uint32_t sample, enum counter_attribute attribute)
{
	state->attributes_open[sample] &= (uint8_t)~(1u << attribute);
	if (!state->attributes_open[sample] && state->result->readings[sample].present)
		state->result->samples[sample].status = SAMPLE_OK;
}

static void on_counters(void *ctx, const struct request *request, enum request_result result,
			const uint8_t mad[MAD_SIZE], int64_t at_us)
{
	struct sweep_state *state = ctx;
	enum counter_attribute attribute = request->attribute == PMA_PORT_COUNTERS ? ATTRIBUTE_PORT_COUNTERS
										   : ATTRIBUTE_PORT_COUNTERS_EXTENDED;
	uint32_t node_index = state->fabric->ports[request->tag].node;
	struct node_memory *node = memory_node(state->memory, node_index);
	uint32_t sample = state->sample_of[request->tag];
	struct reading *reading = &state->result->readings[sample];

	if (result == REQUEST_TIMED_OUT)
		count_timeout(state, node_index);
	if (result != REQUEST_ANSWERED)
		return;
	count_answer(state, node_index);
	switch (pma_read_counters(mad, attribute, request->port_select, &node->caps, reading)) {
	case ANSWER_OK:
		/* The answer with the traffic counters dates the reading; it is not always the later one. */
		if (attribute == ATTRIBUTE_PORT_COUNTERS_EXTENDED || !(reading->wide & COUNTER_BIT(COUNTER_XMIT_DATA)))
			reading->at_us = at_us;
		close_attribute(state, sample, attribute);
		break;
	case ANSWER_BUSY:
		if (state->busy_left[sample]) {
			state->busy_left[sample]--;
			ask_attribute(state, request->tag, attribute);
		}
		break;
	case ANSWER_UNSUPPORTED:
		if (attribute == ATTRIBUTE_PORT_COUNTERS) {
			state->result->samples[sample].status = SAMPLE_UNSUPPORTED;
			break;
		}
		/* It said that it had them, and has not: do not ask again, until the next start. */
		node->caps.cap_mask &= (uint16_t)~(PMA_CAP_EXTENDED | PMA_CAP_EXTENDED_NO_IETF);
		close_attribute(state, sample, attribute);
		break;
	case ANSWER_REDIRECT:
	case ANSWER_BAD:
		state->result->bad_answers++;
		break;
	}
}

static void on_caps(void *ctx, const struct request *request, enum request_result result,
		    const uint8_t mad[MAD_SIZE], int64_t at_us)
{
	struct sweep_state *state = ctx;
	struct node_memory *node = memory_node(state->memory, request->tag);

	(void)at_us;
	if (result != REQUEST_ANSWERED)
		return;
	count_answer(state, request->tag);
	switch (answer_status(mad)) {
	case ANSWER_OK:
		node->caps = pma_read_caps(mad);
		break;
	case ANSWER_UNSUPPORTED:
		/* No ClassPortInfo: PortCounters is mandatory all the same, and nothing else can be believed. */
		node->caps = (struct pma_caps){ .known = true };
		break;
	case ANSWER_BUSY:
	case ANSWER_REDIRECT:
	case ANSWER_BAD:
		state->result->bad_answers++;
		return;
	}
	ask_ports(state, request->tag);
}

static void on_sm_info(void *ctx, const struct request *request, enum request_result result,
		       const uint8_t mad[MAD_SIZE], int64_t at_us)
{
	struct sweep_state *state = ctx;
	struct sm_state *sm = &state->result->sm;
	struct sm_info info;

	(void)request;
	(void)at_us;
	if (result != REQUEST_ANSWERED || answer_status(mad) != ANSWER_OK)
		return;
	info = smp_read_sm_info(mad);
	sm->known = true;
	sm->guid = info.guid;
	sm->state = info.state;
	sm->priority = info.priority;
	sm->act_count = info.act_count;
}

/*
 * Start a node's questions: its ports, or its capabilities where they are not
 * known. A node that was silent is asked that alone, and soon without retries: it
 * costs one MAD a sweep while it is dead, and is read in full in the sweep in
 * which it answers.
 */
static void ask_node(struct sweep_state *state, uint32_t node_index)
{
	const struct node *node = &state->fabric->nodes[node_index];
	const struct node_memory *memory = memory_node(state->memory, node_index);
	uint32_t i;

	for (i = node->first_port; i < node->first_port + node->ports; i++)
		if (is_asked(state, i))
			break;
	if (i == node->first_port + node->ports)
		return;
	if (memory->caps.known && !memory->silent_sweeps) {
		ask_ports(state, node_index);
		return;
	}
	submit(state, &(struct request){
		.node = memory_lane(state->memory, node_index),
		.to.lid = fabric_port_lid(state->fabric, &state->fabric->ports[i]),
		.mgmt_class = CLASS_PERFORMANCE,
		.attribute = PMA_CLASS_PORT_INFO,
		.tag = node_index,
		.once = memory->silent_sweeps >= SILENT_UNTIL_ONCE,
		.done = on_caps,
		.ctx = state,
	});
}

/* One sample per pollable port; live ones are silent until they have answered. */
static void plan(struct sweep_state *state)
{
	const struct fabric *fabric = state->fabric;
	struct sweep_result *result = state->result;
	uint32_t i;

	result->count = 0;
	result->ports_asked = result->ports_answered = result->bad_answers = 0;
	result->sm = (struct sm_state){ 0 };
	for (i = 0; i < fabric->port_count; i++) {
		bool live = is_live(fabric, &fabric->ports[i]), plane = port_is_plane(fabric, i);
		bool backoff = memory_node(state->memory, fabric->ports[i].node)->silent_sweeps > 0;

		state->sample_of[i] = FABRIC_NONE;
		if (!port_is_pollable(fabric, &fabric->ports[i]))
			continue;
		state->sample_of[i] = (uint32_t)result->count;
		result->readings[result->count] = (struct reading){ 0 };
		result->samples[result->count++] = (struct port_sample){
			.port = i,
			.status = !live ? SAMPLE_DOWN : plane ? SAMPLE_UNSUPPORTED :
				  backoff ? SAMPLE_BACKOFF : SAMPLE_SILENT,
		};
		result->ports_asked += live && !plane;
	}
	memset(state->busy_left, BUSY_RETRIES, result->count);
}

/* All answers are in: what changed since the last stored reading of each port? */
static void finish(struct sweep_state *state)
{
	struct sweep_result *result = state->result;
	size_t i;

	for (i = 0; i < result->count; i++) {
		struct port_sample *sample = &result->samples[i];
		const struct port_memory *port = memory_port(state->memory, state->fabric, sample->port);

		if (sample->status != SAMPLE_OK)
			continue;
		result->ports_answered++;
		sample->reading = &result->readings[i];
		if (!port->has_last || result->readings[i].at_us <= port->last.at_us)
			continue;
		delta_between(&port->last, &result->readings[i], &result->deltas[i]);
		sample->delta = &result->deltas[i];
	}
}

int sweep_run(struct engine *engine, const struct fabric *fabric, struct memory *memory, struct link_check *check,
	      uint16_t sm_lid, struct sweep_result *result, struct error *err)
{
	struct sweep_state state = {
		.engine = engine, .fabric = fabric, .memory = memory, .result = result, .err = err,
	};
	size_t ports = fabric->port_count ? fabric->port_count : 1, nodes = fabric->node_count;
	struct request request;
	uint32_t i;
	int code;

	state.sample_of = calloc(ports, sizeof(*state.sample_of));
	state.attributes_open = calloc(ports, 1);
	state.busy_left = calloc(ports, 1);
	state.timeouts = calloc(nodes + 1, 1);
	state.answered = calloc(nodes + 1, sizeof(*state.answered));
	if (!state.sample_of || !state.attributes_open || !state.busy_left || !state.timeouts || !state.answered) {
		code = err_nomem(err);
		goto out;
	}
	code = reserve(result, ports, err);
	if (code < 0)
		goto out;
	plan(&state);
	if (sm_lid) {
		result->sm.lid = sm_lid;
		request = (struct request){ .node = SM_LANE, .attribute = SMP_SM_INFO, .done = on_sm_info,
					    .ctx = &state };
		if (memory_route_smp_to_lid(memory, fabric, sm_lid, &request))
			submit(&state, &request);
	}
	for (i = 0; i < nodes; i++)
		ask_node(&state, i);
	code = link_check_submit(check, engine, fabric, memory, err);
	if (state.code == 0)
		state.code = code;
	code = engine_run(engine, 0, err);
	if (code == 0)
		code = state.code;
	if (code == 0)
		finish(&state);
out:
	free(state.sample_of);
	free(state.attributes_open);
	free(state.busy_left);
	free(state.timeouts);
	free(state.answered);
	return code;
}

void sweep_keep(const struct sweep_result *result, const struct fabric *fabric, struct memory *memory)
{
	size_t i;

	for (i = 0; i < result->count; i++) {
		const struct port_sample *sample = &result->samples[i];
		struct port_memory *port = memory_port(memory, fabric, sample->port);

		port->status = sample->status;
		if (!sample->reading)
			continue;
		port->last = *sample->reading;
		port->has_last = true;
	}
}
