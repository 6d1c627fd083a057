/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "collector/sweep.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/err.h"
#include "collector/details.h"
#include "collector/topology_probe.h"
#include "collector/node_memory.h"
#include "collector/sm_monitor.h"
#include "collector/sweep_port.h"
#include "collector/sweep_result.h"
#include "fabric/fabric.h"
#include "fabric/planes.h"
#include "wire/engine.h"
#include "wire/mad.h"
#include "wire/pma.h"

/* Sweeps without a response after which a node's single query is not retried. */
#define SWEEPS_UNTIL_NO_RETRY 3

/* The engine's agent identifier for the SM; other agents: node_memory_agent_id(). */
#define SM_AGENT 0

/* Retries per sweep of a query with the status "busy" or "redirect". */
#define RETRIES_PER_QUERY 2

/* Is this port polled in this sweep, if its node responds? */
static bool is_queried(const struct sweep_state *state, uint32_t port_index)
{
	uint32_t sample = state->ports[port_index].sample;

	return sample != FABRIC_NONE && state->result->samples[sample].status != SAMPLE_DOWN &&
	       state->result->samples[sample].status != SAMPLE_UNPLANNED &&
	       state->result->samples[sample].status != SAMPLE_UNSUPPORTED;
}

/* A port or node, and the time of its last reading. */
struct turn {
	int64_t read_us; /* INT64_MIN: never */
	uint32_t index;
};

static int compare_turns(const void *left, const void *right)
{
	const struct turn *a = left, *b = right;

	if (a->read_us != b->read_us)
		return a->read_us < b->read_us ? -1 : 1;
	return a->index < b->index ? -1 : a->index > b->index;
}

static int64_t read_us(const struct sweep_state *state, uint32_t port_index)
{
	const struct port_entry *port = node_memory_port(state->memory, port_index);

	return port->has_last ? port->last.at_us : INT64_MIN;
}

/* Query all live ports of a node whose capabilities are known. */
static void query_ports(struct sweep_state *state, uint32_t node_index)
{
	const struct node *node = &state->fabric->nodes[node_index];
	struct turn turns[UINT8_MAX + 1];
	size_t count = 0;

	for (uint32_t port = node->first_port; port < node->first_port + node->ports; port++)
		if (is_queried(state, port))
			turns[count++] = (struct turn){ read_us(state, port), port };
	if (state->oldest_first)
		qsort(turns, count, sizeof(*turns), compare_turns);
	for (size_t i = 0; i < count; i++)
		sweep_port_submit(state, turns[i].index);
}

static void on_caps(void *ctx, const struct request *request, const struct response *response);

/* Query the capabilities of a node's agent, at one of its ports. */
static void query_caps(struct sweep_state *state, uint32_t port_index)
{
	uint32_t node = state->fabric->ports[port_index].node;
	struct request request = node_memory_pma_request(state->memory, port_index, PMA_CLASS_PORT_INFO, on_caps,
							 state);

	request.port_select = 0;
	request.once = node_memory_node(state->memory, node)->unresponsive_sweeps >= SWEEPS_UNTIL_NO_RETRY;
	sweep_submit(state, &request);
}

/* The first port from @from on that is polled, FABRIC_NONE if there is none. */
static uint32_t next_queried(const struct sweep_state *state, uint32_t node_index, uint32_t from)
{
	const struct node *node = &state->fabric->nodes[node_index];

	for (; from < node->first_port + node->ports; from++)
		if (is_queried(state, from))
			return from;
	return FABRIC_NONE;
}

static void on_caps(void *ctx, const struct request *request, const struct response *response)
{
	struct sweep_state *state = ctx;
	uint32_t node_index = state->fabric->ports[request->tag].node;
	struct node_entry *node = node_memory_node(state->memory, node_index);

	if (response->result == REQUEST_TIMED_OUT)
		*node_memory_redirect(state->memory, request->tag) = (struct mad_address){ 0 };
	if (response->result != REQUEST_ANSWERED)
		return;
	sweep_port_responded(state, request->tag);
	switch (answer_status(response->mad)) {
	case ANSWER_OK:
		if (!node->caps.known)
			node_memory_set_caps(node, pma_read_caps(response->mad));
		break;
	case ANSWER_UNSUPPORTED:
		/* Without ClassPortInfo only PortCounters, which is mandatory, can be expected. */
		if (!node->caps.known)
			node_memory_set_caps(node, (struct pma_caps){ .known = true });
		break;
	case ANSWER_REDIRECT:
		if (!sweep_port_redirect(state, request->tag, response->mad))
			return;
		/* fallthrough */
	case ANSWER_BUSY:
		if (sweep_port_retry(state, request->tag))
			query_caps(state, request->tag);
		return;
	case ANSWER_BAD:
		state->result->bad_responses++;
		return;
	}
	if (node_memory_is_switch(state->memory, node_index))
		query_ports(state, node_index);
	else
		sweep_port_submit(state, request->tag);
}

static void on_sm_info(void *ctx, const struct request *request, const struct response *response)
{
	struct sweep_state *state = ctx;

	(void)request;
	state->result->sm_pending = response->result == REQUEST_CANCELLED;
	if (response->result == REQUEST_ANSWERED && answer_status(response->mad) == ANSWER_OK)
		sm_state_read(&state->result->sm, response->mad);
}

/*
 * Query a node's ports, or its capabilities if they are unknown. An unresponsive node is sent only
 * that, soon without retries: one MAD per sweep, and it is read completely in the sweep in which it
 * responds. Each port of an HCA is queried separately and in parallel, so that an unresponsive one
 * does not delay the others.
 */
static void query_node(struct sweep_state *state, uint32_t node_index)
{
	const struct node_entry *memory = node_memory_node(state->memory, node_index);
	uint32_t port = next_queried(state, node_index, state->fabric->nodes[node_index].first_port);

	if (port == FABRIC_NONE)
		return;
	if (memory->caps.known && !memory->unresponsive_sweeps) {
		query_ports(state, node_index);
		return;
	}
	query_caps(state, port);
	if (node_memory_is_switch(state->memory, node_index))
		return;
	while ((port = next_queried(state, node_index, port + 1)) != FABRIC_NONE)
		query_caps(state, port);
}

/* Time of the oldest reading of a node. */
static int64_t oldest_us(const struct sweep_state *state, uint32_t node_index)
{
	const struct node *node = &state->fabric->nodes[node_index];
	int64_t oldest = INT64_MAX;

	for (uint32_t port = node->first_port; port < node->first_port + node->ports; port++)
		if (is_queried(state, port) && read_us(state, port) < oldest)
			oldest = read_us(state, port);
	return oldest;
}

/* After a cut sweep the nodes with the oldest readings come first, so all are read eventually. */
static int query_nodes(struct sweep_state *state)
{
	size_t count = state->fabric->node_count;
	struct turn *turns;

	if (!state->oldest_first) {
		for (size_t i = 0; i < count; i++)
			query_node(state, (uint32_t)i);
		return 0;
	}
	turns = calloc(count, sizeof(*turns));
	if (!turns)
		return err_nomem(state->err);
	for (size_t i = 0; i < count; i++)
		turns[i] = (struct turn){ oldest_us(state, (uint32_t)i), (uint32_t)i };
	qsort(turns, count, sizeof(*turns), compare_turns);
	for (size_t i = 0; i < count; i++)
		query_node(state, turns[i].index);
	free(turns);
	return 0;
}

static enum sample_status first_status(const struct sweep_state *state, const struct port *port)
{
	/* Not all planes have a LID. */
	if (port->state >= PORT_INIT && port_is_plane(state->fabric, (uint32_t)(port - state->fabric->ports)))
		return SAMPLE_UNSUPPORTED;
	if (!port_is_live(state->fabric, port))
		return SAMPLE_DOWN;
	if (state->settings->switches_only && !node_memory_is_switch(state->memory, port->node))
		return SAMPLE_UNPLANNED;
	return node_memory_node(state->memory, port->node)->unresponsive_sweeps ? SAMPLE_BACKOFF : SAMPLE_SILENT;
}

/* Create one sample per pollable port; live ones are unresponsive until they respond. */
static void plan(struct sweep_state *state)
{
	const struct fabric *fabric = state->fabric;
	struct sweep_result *result = state->result;

	sweep_result_clear(result);
	for (uint32_t i = 0; i < fabric->port_count; i++) {
		struct port_entry *agent = node_memory_agent(state->memory, i);
		enum sample_status status;

		state->ports[i] = (struct sweep_port){ .sample = FABRIC_NONE, .retries_left = RETRIES_PER_QUERY };
		agent->redirect_new = false;
		/* The LID that redirected may have been another node's already. */
		if (agent->redirect_from != fabric_port_lid(fabric, &fabric->ports[i]))
			agent->redirect = (struct mad_address){ 0 };
		if (!port_is_pollable(fabric, &fabric->ports[i]))
			continue;
		status = first_status(state, &fabric->ports[i]);
		state->ports[i].sample = (uint32_t)result->count;
		result->readings[result->count] = (struct reading){ 0 };
		result->samples[result->count++] = (struct port_sample){ .port = i, .status = status };
		result->ports_polled += status == SAMPLE_SILENT || status == SAMPLE_BACKOFF;
		state->oldest_first |= node_memory_port(state->memory, i)->status == SAMPLE_UNFINISHED;
	}
}

/* The sweep was cut: a port without a response may be unresponsive, or was not queried in time. */
static void mark_unfinished(struct sweep_state *state)
{
	for (size_t i = 0; i < state->result->count; i++) {
		struct port_sample *sample = &state->result->samples[i];
		const struct sweep_port *agent = &state->ports[fabric_port_agent(state->fabric, sample->port)];

		if (sample->status == SAMPLE_SILENT && (agent->responded || !agent->timeouts)) {
			sample->status = SAMPLE_UNFINISHED;
			state->result->ports_unfinished++;
		}
	}
}

/* After a cut sweep: SMPs that detect changes would never be sent if they came last. */
static int query_after_cut(struct sweep_state *state, struct topology_probe *probe, struct error *err)
{
	int code = topology_probe_submit(probe, state->engine, state->memory, err);

	code = engine_finish(state->engine, code, state->settings->deadline_us, err);
	if (code >= 0)
		code = query_nodes(state);
	return code ? code : details_submit_turn(state->details, state->settings->switches_only);
}

static int query_all(struct sweep_state *state, struct topology_probe *probe, struct error *err)
{
	int code = query_nodes(state);

	if (code == 0)
		code = details_submit_turn(state->details, state->settings->switches_only);
	return code ? code : topology_probe_submit(probe, state->engine, state->memory, err);
}

static int query_and_wait(struct sweep_state *state, struct topology_probe *probe, struct error *err)
{
	const struct sweep_settings *settings = state->settings;
	struct request sm_info = { .node = SM_AGENT, .attribute = SMP_SM_INFO, .done = on_sm_info, .ctx = state };
	bool probe_first;
	int code;

	if (settings->sm_lid) {
		state->result->sm.lid = settings->sm_lid;
		state->result->sm.state = state->memory->no_smps ? SM_NOT_QUERIED : 0;
		if (node_memory_route_smp_to_lid(state->memory, settings->sm_lid, &sm_info))
			sweep_submit(state, &sm_info);
	}
	details_begin(state->details, state->engine, state->memory, err);
	engine_finish_nodes(state->engine, state->oldest_first);
	/* Runs every third sweep, in each turn of detail queries for another third of the ports. */
	probe_first = state->oldest_first && (state->details->sweep + state->details->sweep / DETAILS_SWEEPS) % 3 == 0;
	code = probe_first ? query_after_cut(state, probe, err) : query_all(state, probe, err);
	code = engine_finish(state->engine, code, settings->deadline_us, err);
	engine_finish_nodes(state->engine, false);
	state->result->cut = code == ENGINE_CUT;
	return code < 0 ? code : state->code;
}

int sweep_run(struct engine *engine, struct node_memory *memory, struct topology_probe *probe, struct details *details,
	      const struct sweep_settings *settings, struct sweep_result *result, struct error *err)
{
	const struct fabric *fabric = memory->fabric;
	struct sweep_state state = {
		.engine = engine, .fabric = fabric, .memory = memory, .details = details, .settings = settings,
		.result = result, .err = err,
	};
	size_t ports = fabric->port_count ? fabric->port_count : 1;
	int code;

	state.ports = calloc(ports, sizeof(*state.ports));
	code = state.ports ? sweep_result_reserve(result, ports, err) : err_nomem(err);
	if (code < 0)
		goto out;
	plan(&state);
	code = query_and_wait(&state, probe, err);
	if (code == 0 && result->cut)
		mark_unfinished(&state);
	if (code == 0)
		sweep_result_finish(result, fabric, memory);
out:
	free(state.ports);
	return code;
}
