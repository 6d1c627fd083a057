/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "collector/sweep_port.h"

#include "collector/details.h"
#include "collector/node_memory.h"
#include "collector/sweep_result.h"
#include "fabric/fabric.h"
#include "wire/engine.h"
#include "wire/pma.h"

/* Consecutive timeouts after which the queries of a responsive node are dropped. */
#define TIMEOUTS_UNTIL_SILENT 2

/*
 * Consecutive sweeps with an error status of PortCountersExtended until a port is polled for
 * PortCounters only, and until it is queried again. The status "unsupported" has immediate effect,
 * for the whole node.
 */
#define EXTENDED_FAILURES_MAX 8
#define EXTENDED_RETRY_AFTER 68

void sweep_submit(struct sweep_state *state, const struct request *request)
{
	if (state->code == 0)
		state->code = engine_submit(state->engine, request, state->err);
}

static void on_counters(void *ctx, const struct request *request, const struct response *response);

static void query_attribute(struct sweep_state *state, uint32_t port_index, enum counter_attribute attribute)
{
	struct request request = node_memory_pma_request(state->memory, port_index, pma_attribute_id(attribute),
							 on_counters, state);

	sweep_submit(state, &request);
}

static bool has_extended(const struct sweep_state *state, uint32_t node)
{
	return pma_caps_meet(&node_memory_node(state->memory, node)->caps, NEED_EXTENDED);
}

/* Is PortCountersExtended to be queried? To be called once per sweep. */
static bool needs_extended(struct sweep_state *state, uint32_t port_index)
{
	struct port_entry *port = node_memory_port(state->memory, port_index);

	if (!has_extended(state, state->fabric->ports[port_index].node))
		return false;
	if (port->extended_failures >= EXTENDED_FAILURES_MAX && ++port->extended_failures < EXTENDED_RETRY_AFTER)
		return false;
	if (port->extended_failures == EXTENDED_RETRY_AFTER)
		port->extended_failures = EXTENDED_FAILURES_MAX;
	return true;
}

/* Does PortCountersExtended lack counters, or is it the port's turn to be checked? */
static bool needs_port_counters(const struct sweep_state *state, uint32_t port_index)
{
	const struct node_entry *node = node_memory_node(state->memory, state->fabric->ports[port_index].node);

	return !pma_caps_meet(&node->caps, NEED_EXTENDED_ERRORS) ||
	       port_index % DETAILS_SWEEPS == state->details->sweep % DETAILS_SWEEPS;
}

static void begin_attribute(struct sweep_state *state, uint32_t port_index, enum counter_attribute attribute)
{
	state->ports[port_index].pending |= (uint8_t)(1u << attribute);
	query_attribute(state, port_index, attribute);
}

void sweep_port_submit(struct sweep_state *state, uint32_t port_index)
{
	uint32_t sample = state->ports[port_index].sample;
	bool extended = needs_extended(state, port_index);

	state->result->samples[sample].status = SAMPLE_SILENT;
	/* First, so that none of its counters can have counted more. */
	if (!extended || needs_port_counters(state, port_index))
		begin_attribute(state, port_index, ATTRIBUTE_PORT_COUNTERS);
	if (extended)
		begin_attribute(state, port_index, ATTRIBUTE_PORT_COUNTERS_EXTENDED);
}

/* A query timed out: the remaining ones of its agent are dropped. */
static void count_timeout(struct sweep_state *state, uint32_t port_index)
{
	uint32_t agent = fabric_port_agent(state->fabric, port_index);

	/* The redirection may be the cause; the next sweep queries the node itself. */
	*node_memory_redirect(state->memory, port_index) = (struct mad_address){ 0 };
	if (++state->ports[agent].timeouts >= TIMEOUTS_UNTIL_SILENT || !state->ports[agent].responded)
		engine_drop_node(state->engine, node_memory_agent_id(state->memory, port_index));
}

void sweep_port_responded(struct sweep_state *state, uint32_t port_index)
{
	uint32_t agent = fabric_port_agent(state->fabric, port_index);

	state->ports[agent].timeouts = 0;
	state->ports[agent].responded = true;
}

bool sweep_port_retry(struct sweep_state *state, uint32_t port_index)
{
	uint8_t *left = &state->ports[port_index].retries_left;

	return *left && (*left)--;
}

bool sweep_port_redirect(struct sweep_state *state, uint32_t port_index, const uint8_t mad[MAD_SIZE])
{
	struct port_entry *agent = node_memory_agent(state->memory, port_index);

	agent->redirect_new = pma_read_redirect(mad, &agent->redirect);
	agent->redirect_from = fabric_port_lid(state->fabric, &state->fabric->ports[port_index]);
	state->result->bad_responses += !agent->redirect_new;
	return agent->redirect_new;
}

/*
 * An attribute is complete or failed; with the last one the port is finished. Without a reading
 * PortCountersExtended was queried alone and failed: PortCounters takes its place.
 */
static void close_attribute(struct sweep_state *state, uint32_t port_index, enum counter_attribute attribute)
{
	uint32_t sample = state->ports[port_index].sample;

	state->ports[port_index].pending &= (uint8_t)~(1u << attribute);
	if (state->ports[port_index].pending)
		return;
	if (state->result->readings[sample].present)
		state->result->samples[sample].status = SAMPLE_OK;
	else
		begin_attribute(state, port_index, ATTRIBUTE_PORT_COUNTERS);
}

/*
 * Error counters that are larger in PortCounters (@before) than in PortCountersExtended, although
 * read earlier: the 64-bit ones do not count, or only they were reset.
 */
static counter_set larger_narrow(const struct reading *before, const struct reading *reading)
{
	counter_set both = before->present & ~before->wide & reading->wide & COUNTER_ERROR_SET, larger = 0;

	for (int counter = COUNTER_TRAFFIC_COUNT; counter < COUNTER_COUNT; counter++)
		if (both & COUNTER_BIT(counter) && before->value[counter] > reading->value[counter])
			larger |= COUNTER_BIT(counter);
	return larger;
}

/* Decode a response; from a PortCountersExtended that contradicts PortCounters only the traffic counters. */
static enum answer_status decode(struct sweep_state *state, const struct request *request,
				 const struct response *response, enum counter_attribute attribute,
				 struct reading *reading)
{
	struct node_entry *node = node_memory_node(state->memory, state->fabric->ports[request->tag].node);
	struct reading before = *reading;
	enum answer_status status = pma_read_counters(response->mad, attribute, request->port_select, &node->caps,
						      reading);
	counter_set larger = larger_narrow(&before, reading);

	if (!larger)
		return status;
	node_memory_port(state->memory, request->tag)->contradicted = larger;
	node->caps.missing |= PMA_MISSING_EXTENDED_ERRORS;
	node->caps_stored = false;
	*reading = before;
	return pma_read_counters(response->mad, attribute, request->port_select, &node->caps, reading);
}

/* Query the details of counters that have increased since the last stored reading. */
static void apply_details(struct sweep_state *state, uint32_t port_index, const struct reading *reading)
{
	static const enum counter explained[] = { COUNTER_RCV_ERRORS, COUNTER_XMIT_DISCARDS, COUNTER_XMIT_WAIT };
	const struct port_entry *port = node_memory_port(state->memory, port_index);
	counter_set both = port->has_last ? port->last.present & reading->present : 0, moved = 0;

	for (size_t i = 0; i < sizeof(explained) / sizeof(explained[0]); i++)
		if (both & COUNTER_BIT(explained[i]) && reading->value[explained[i]] != port->last.value[explained[i]])
			moved |= COUNTER_BIT(explained[i]);
	if (moved)
		details_moved(state->details, port_index, moved);
}

/* Prefetch what apply_details() reads when the port's other attribute arrives. */
static void prefetch_details(struct sweep_state *state, uint32_t port_index)
{
	const struct port_entry *port = node_memory_port(state->memory, port_index);

	__builtin_prefetch(port);
	__builtin_prefetch(&port->last.value[COUNTER_XMIT_WAIT]);
	__builtin_prefetch(&port->last.value[COUNTER_RCV_ERRORS]);
}

/* A single error is a garbled MAD; persistent ones mean that the attribute is unsupported. */
static void count_extended_failure(struct sweep_state *state, uint32_t port_index)
{
	struct port_entry *port = node_memory_port(state->memory, port_index);

	if (port->extended_failures < EXTENDED_FAILURES_MAX)
		port->extended_failures++;
	if (port->extended_failures == EXTENDED_FAILURES_MAX)
		close_attribute(state, port_index, ATTRIBUTE_PORT_COUNTERS_EXTENDED);
}

/* Process the response for an attribute, by its status. */
static void apply_response(struct sweep_state *state, const struct request *request, const struct response *response)
{
	enum counter_attribute attribute = request->attribute == PMA_PORT_COUNTERS ? ATTRIBUTE_PORT_COUNTERS
										   : ATTRIBUTE_PORT_COUNTERS_EXTENDED;
	uint32_t node_index = state->fabric->ports[request->tag].node, sample = state->ports[request->tag].sample;
	struct node_entry *node = node_memory_node(state->memory, node_index);
	struct reading *reading = &state->result->readings[sample];

	switch (decode(state, request, response, attribute, reading)) {
	case ANSWER_OK:
		/* The time of the response with traffic counters, which may be earlier. */
		if (attribute == ATTRIBUTE_PORT_COUNTERS_EXTENDED || !(reading->wide & COUNTER_BIT(COUNTER_XMIT_DATA)))
			reading->at_us = response->at_us;
		if (attribute == ATTRIBUTE_PORT_COUNTERS_EXTENDED)
			node_memory_port(state->memory, request->tag)->extended_failures = 0;
		if (pma_lacks_port_select(response->mad, request->port_select)) {
			state->result->no_port_selects++;
			node->lacks_port_select = true;
		}
		close_attribute(state, request->tag, attribute);
		if (state->result->samples[sample].status == SAMPLE_OK)
			apply_details(state, request->tag, reading);
		else
			prefetch_details(state, request->tag);
		break;
	case ANSWER_REDIRECT:
		if (!sweep_port_redirect(state, request->tag, response->mad))
			break;
		/* fallthrough */
	case ANSWER_BUSY:
		if (sweep_port_retry(state, request->tag))
			query_attribute(state, request->tag, attribute);
		break;
	case ANSWER_UNSUPPORTED:
		if (attribute == ATTRIBUTE_PORT_COUNTERS) {
			state->result->samples[sample].status = SAMPLE_UNSUPPORTED;
			break;
		}
		/* ClassPortInfo was wrong: query it again only after another ClassPortInfo. */
		node->caps.missing |= PMA_MISSING_EXTENDED;
		close_attribute(state, request->tag, attribute);
		break;
	case ANSWER_BAD:
		state->result->bad_responses++;
		if (attribute == ATTRIBUTE_PORT_COUNTERS_EXTENDED)
			count_extended_failure(state, request->tag);
		break;
	}
}

static void on_counters(void *ctx, const struct request *request, const struct response *response)
{
	struct sweep_state *state = ctx;

	if (response->result == REQUEST_TIMED_OUT)
		count_timeout(state, request->tag);
	if (response->result != REQUEST_ANSWERED)
		return;
	sweep_port_responded(state, request->tag);
	apply_response(state, request, response);
}
