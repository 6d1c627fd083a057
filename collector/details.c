/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "collector/details.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/delta.h"
#include "base/array.h"
#include "base/err.h"
#include "collector/node_memory.h"
#include "collector/sweep_result.h"
#include "fabric/device.h"
#include "fabric/fabric.h"
#include "fabric/planes.h"
#include "wire/engine.h"
#include "wire/mad.h"
#include "wire/pma.h"
#include "wire/smp.h"

/* Queries per sweep about counters that increased: a share of the ports, and a minimum. */
#define MOVED_SHARE 10
#define MOVED_LEAST 64

/* Sweeps in which the ticks of all nodes are read: few, because stalls depend on them. */
#define TICK_SWEEPS 10

/*
 * Consecutive timeouts after which an attribute counts as unsupported, like a rejected one. Once in
 * GIVEN_UP_TURNS turns both are queried again: MADs are lost, and a starting agent may reject what
 * it supports.
 */
#define TIMED_OUT_MAX 3
#define GIVEN_UP_TURNS 60

/* PortSamplesControl: settings. */
#define SELDOM_STATE_TURNS 24

/* Index of node_entry.timed_out_queries for the tick. */
#define TIMED_OUT_TICK DETAIL_SAMPLES_CONTROL

void details_done(struct details *details)
{
	free(details->entries);
	free(details->samples);
	*details = (struct details){ 0 };
}

void details_begin(struct details *details, struct engine *engine, struct node_memory *memory, struct error *err)
{
	const struct fabric *fabric = memory->fabric;
	size_t share = fabric->port_count / MOVED_SHARE;

	details->engine = engine;
	details->fabric = fabric;
	details->memory = memory;
	details->err = err;
	details->code = 0;
	details->trigger_budget = share > MOVED_LEAST ? (unsigned)share : MOVED_LEAST;
	details->sweep++;
	details->entry_count = details->sample_count = 0;
}

static void submit(struct details *details, const struct request *request)
{
	if (details->code == 0)
		details->code = engine_submit(details->engine, request, details->err);
}

/* Does the port have counters, and did its node respond to its last query? */
static bool may_query(const struct details *details, uint32_t port)
{
	const struct port *which = &details->fabric->ports[port];

	return port_is_pollable(details->fabric, which) && port_is_live(details->fabric, which) &&
	       !port_is_plane(details->fabric, port) &&
	       !node_memory_node(details->memory, which->node)->unresponsive_sweeps;
}

/* A query to a port's performance agent; without retries, since its turn returns. */
static struct request port_request(const struct details *details, uint32_t port, uint16_t attribute, request_done *done)
{
	struct request request = node_memory_pma_request(details->memory, port, attribute, done, (void *)details);

	request.once = !details->all;
	return request;
}

/* After a few consecutive timeouts the node has no such attribute. */
static void count_timed_out(struct node_entry *node, unsigned which, enum request_result result)
{
	if (result == REQUEST_TIMED_OUT && node->timed_out_queries[which] < TIMED_OUT_MAX)
		node->timed_out_queries[which]++;
	else if (result == REQUEST_ANSWERED)
		node->timed_out_queries[which] = 0;
}

static bool is_retry_turn(const struct details *details)
{
	return details->sweep / DETAILS_SWEEPS % GIVEN_UP_TURNS == 0;
}

/* An attribute that was given up is queried at one port now and then. */
static bool is_abandoned(const struct details *details, const struct node_entry *node, unsigned which)
{
	return node->timed_out_queries[which] >= TIMED_OUT_MAX && !is_retry_turn(details);
}

static void refuse(struct node_entry *node, uint32_t bit)
{
	node->caps.missing |= bit;
	node->caps_stored = false;
}

/* Store what a response contains of an attribute. */
static enum answer_status add_reading(struct details *details, const struct request *request,
				      const struct response *response, enum detail_attribute attribute)
{
	const struct port_entry *port = node_memory_port(details->memory, request->tag);
	struct detail_entry *entries = array_grow(details->entries, details->entry_count, &details->entry_capacity,
						  sizeof(*entries)), *entry;
	enum answer_status status;

	if (!entries) {
		details->code = err_nomem(details->err);
		return ANSWER_BAD;
	}
	details->entries = entries;
	entry = &entries[details->entry_count];
	status = pma_read_detail(response->mad, attribute, request->port_select, (enum fec_layout)port->fec_layout,
				 &entry->reading);
	entry->port = request->tag;
	entry->reading.at_us = response->at_us;
	if (status == ANSWER_OK && entry->reading.present)
		details->entry_count++;
	return status;
}

static void on_detail(void *ctx, const struct request *request, const struct response *response)
{
	struct details *details = ctx;
	const struct port *which = &details->fabric->ports[request->tag];
	struct node_entry *node = node_memory_node(details->memory, which->node);
	const struct port_entry *port = node_memory_port(details->memory, request->tag);
	enum detail_attribute attribute = pma_detail_attribute(request->attribute);
	enum detail_attribute seldom = (enum detail_attribute)port->details_seldom;
	enum answer_status status = ANSWER_OK;

	count_timed_out(node, attribute, response->result);
	/* The other ports of a large switch are not queried in this turn. */
	if (response->result == REQUEST_TIMED_OUT && node->timed_out_queries[attribute] == TIMED_OUT_MAX)
		engine_drop_node(details->engine, request->node);
	if (response->result != REQUEST_ANSWERED)
		return;
	if (attribute < DETAIL_SELDOM)
		status = add_reading(details, request, response, attribute);
	if (status == ANSWER_OK && seldom < DETAIL_ATTRIBUTE_COUNT && detail_wire(seldom) == attribute)
		status = add_reading(details, request, response, seldom);
	if (status == ANSWER_UNSUPPORTED)
		refuse(node, detail_missing_bit(attribute));
}

static uint32_t first_port_to_query(const struct details *details, uint32_t node_index)
{
	const struct node *node = &details->fabric->nodes[node_index];

	for (uint32_t port = node->first_port; port < node->first_port + node->ports; port++)
		if (may_query(details, port))
			return port;
	return FABRIC_NONE;
}

static bool has_reading(const struct details *details, uint32_t port, enum detail_attribute attribute)
{
	return node_memory_detail(node_memory_port(details->memory, port), attribute) != NULL;
}

/* Is the attribute meaningful for this port? */
static bool has_attribute(const struct details *details, uint32_t port, enum detail_attribute attribute)
{
	const struct port *which = &details->fabric->ports[port];
	const struct node_entry *node = node_memory_node(details->memory, which->node);
	enum detail_attribute wire = detail_wire(attribute);

	if (!node->caps.known || node->caps.missing & detail_missing_bit(attribute) ||
	    is_abandoned(details, node, wire))
		return false;
	if (node->timed_out_queries[wire] >= TIMED_OUT_MAX && port != first_port_to_query(details, which->node))
		return false;
	switch (attribute) {
	case DETAIL_VL_XMIT_WAIT:
		return pma_caps_meet(&node->caps, NEED_XMIT_WAIT);
	case DETAIL_EXTENDED_SPEEDS: /* It counts events of the encoding of FDR10, FDR and later. */
		return which->speed >= LINK_SPEED_FDR10;
	case DETAIL_LANE_ERRORS:
	case DETAIL_LANE_UNCORRECTED:
		return which->speed >= LINK_SPEED_FDR10 &&
		       node_memory_port(details->memory, port)->fec_layout == FEC_LAYOUT_LANES;
	case DETAIL_XMIT_DATA_SL_EXT:
	case DETAIL_RCV_DATA_SL_EXT:
		return details->fabric->nodes[which->node].vendor_id == VENDOR_MELLANOX;
	/* They are full soon, and the port has the same in 64 bits. */
	case DETAIL_XMIT_DATA_SL:
		return !has_reading(details, port, DETAIL_XMIT_DATA_SL_EXT);
	case DETAIL_RCV_DATA_SL:
		return !has_reading(details, port, DETAIL_RCV_DATA_SL_EXT);
	case DETAIL_VL_CONGESTION:
		return details->fabric->nodes[which->node].type == NODE_SWITCH;
	default:
		return true;
	}
}

/* Forget what was queried in an earlier sweep. */
static struct port_entry *port_of_sweep(struct details *details, uint32_t port)
{
	struct port_entry *memory = node_memory_port(details->memory, port);

	if (memory->details_sweep != details->sweep) {
		memory->details_sweep = details->sweep;
		memory->details_read = 0;
		memory->details_seldom = DETAIL_ATTRIBUTE_COUNT;
	}
	return memory;
}

static void query(struct details *details, uint32_t port, enum detail_attribute attribute)
{
	struct port_entry *memory = port_of_sweep(details, port);
	struct request request = port_request(details, port, pma_detail_attribute_id(attribute), on_detail);

	if (memory->details_read & 1u << attribute)
		return;
	memory->details_read |= 1u << attribute;
	if (attribute == DETAIL_VL_XMIT_WAIT)
		memory->wait_sweep = details->sweep;
	submit(details, &request);
}

static void query_fec_mode(struct details *details, uint32_t port, uint16_t attribute, request_done *done)
{
	const struct port *which = &details->fabric->ports[port];
	struct request request = port_request(details, port, attribute, done);

	request.modifier = which->num;
	if (node_memory_route_smp(details->memory, which->node, which->num, &request))
		submit(details, &request);
}

static void on_vendor_port_info(void *ctx, const struct request *request, const struct response *response)
{
	struct details *details = ctx;
	struct port_entry *port = node_memory_port(details->memory, request->tag);

	if (response->result == REQUEST_CANCELLED)
		return;
	if (response->result == REQUEST_ANSWERED)
		port->fec_layout = (uint8_t)smp_read_vendor_fec_layout(response->mad);
	query(details, request->tag, DETAIL_EXTENDED_SPEEDS);
}

/* Read which FEC the link trained with, then its counters. */
static void on_port_info_extended(void *ctx, const struct request *request, const struct response *response)
{
	struct details *details = ctx;
	const struct port *which = &details->fabric->ports[request->tag];
	struct port_entry *port = node_memory_port(details->memory, request->tag);

	port->fec_layout = FEC_LAYOUT_UNKNOWN;
	if (response->result == REQUEST_CANCELLED)
		return;
	node_memory_note_smp(details->memory, which->node, response->result == REQUEST_ANSWERED);
	if (response->result == REQUEST_ANSWERED)
		port->fec_layout = (uint8_t)smp_read_fec_layout(response->mad,
								&node_memory_node(details->memory, which->node)->caps);
	if (port->fec_layout == FEC_LAYOUT_UNKNOWN && response->result == REQUEST_ANSWERED &&
	    details->fabric->nodes[which->node].vendor_id == VENDOR_MELLANOX)
		query_fec_mode(details, request->tag, SMP_MLNX_EXTENDED_PORT_INFO, on_vendor_port_info);
	else
		query(details, request->tag, DETAIL_EXTENDED_SPEEDS);
}

static void query_speeds(struct details *details, uint32_t port)
{
	const struct port *which = &details->fabric->ports[port];
	const struct node_entry *node = node_memory_node(details->memory, which->node);

	if (!(node->caps.cap_mask & PMA_CAP_RS_FEC)) {
		node_memory_port(details->memory, port)->fec_layout = FEC_LAYOUT_LANES;
		query(details, port, DETAIL_EXTENDED_SPEEDS);
		return;
	}
	query_fec_mode(details, port, SMP_PORT_INFO_EXTENDED, on_port_info_extended);
}

static void on_caps(void *ctx, const struct request *request, const struct response *response)
{
	struct details *details = ctx;
	struct node_entry *node = node_memory_node(details->memory, request->tag);
	struct pma_caps caps;

	if (response->result != REQUEST_ANSWERED || answer_status(response->mad) != ANSWER_OK)
		return;
	/* The stored state is valid until the response. */
	if (is_retry_turn(details))
		node->caps.missing &= PMA_MISSING_EXTENDED;
	caps = pma_read_caps(response->mad);
	if (caps.cap_mask == node->caps.cap_mask && caps.cap_mask2 == node->caps.cap_mask2 &&
	    !(node->caps.missing & PMA_MISSING_EXTENDED))
		return;
	/* New firmware, or a rejection by mistake: rejected attributes are queried again. */
	node_memory_set_caps(node, caps);
	node->firmware_due = true;
	node->firmware_failures = 0;
	memset(node->timed_out_queries, 0, sizeof(node->timed_out_queries));
}

static void on_tick(void *ctx, const struct request *request, const struct response *response)
{
	struct details *details = ctx;
	struct node_entry *node = node_memory_node(details->memory, details->fabric->ports[request->tag].node);

	count_timed_out(node, TIMED_OUT_TICK, response->result);
	if (response->result != REQUEST_ANSWERED)
		return;
	switch (answer_status(response->mad)) {
	case ANSWER_OK:
		node->caps.tick_known = true;
		node->caps.tick = pma_read_tick(response->mad);
		node->caps_stored = false;
		break;
	case ANSWER_UNSUPPORTED:
		refuse(node, PMA_MISSING_SAMPLES_CONTROL);
		break;
	case ANSWER_BUSY:
	case ANSWER_REDIRECT:
	case ANSWER_BAD:
		break;
	}
}

static bool needs_tick(const struct details *details, const struct node_entry *node)
{
	return node->caps.known && !node->caps.tick_known && pma_caps_meet(&node->caps, NEED_XMIT_WAIT) &&
	       !(node->caps.missing & PMA_MISSING_SAMPLES_CONTROL) && !is_abandoned(details, node, TIMED_OUT_TICK);
}

/* Once per node; a tenth of the nodes per sweep. */
static void query_ticks(struct details *details, bool skip_hcas)
{
	const struct fabric *fabric = details->fabric;
	size_t left = fabric->node_count / TICK_SWEEPS + 1;

	if (details->next_tick >= fabric->node_count)
		details->next_tick = 0;
	for (; left && details->next_tick < fabric->node_count; left--, details->next_tick++) {
		uint32_t node = details->next_tick, port;

		if ((skip_hcas && fabric->nodes[node].type != NODE_SWITCH) ||
		    !needs_tick(details, node_memory_node(details->memory, node)))
			continue;
		port = first_port_to_query(details, node);
		if (port != FABRIC_NONE) {
			struct request request = port_request(details, port, PMA_PORT_SAMPLES_CONTROL, on_tick);

			submit(details, &request);
		}
	}
}

static void query_caps(struct details *details, uint32_t port)
{
	struct request request = port_request(details, port, PMA_CLASS_PORT_INFO, on_caps);

	request.port_select = 0;
	request.tag = details->fabric->ports[port].node;
	submit(details, &request);
}

/* @except: not this one; DETAIL_ATTRIBUTE_COUNT: all */
static void query_attributes(struct details *details, uint32_t port, enum detail_attribute except)
{
	for (int attribute = 0; attribute < DETAIL_SELDOM; attribute++) {
		if (attribute == (int)except || !has_attribute(details, port, (enum detail_attribute)attribute))
			continue;
		if (attribute == DETAIL_EXTENDED_SPEEDS)
			query_speeds(details, port);
		else
			query(details, port, (enum detail_attribute)attribute);
	}
}

/* Does the port carry data of several service levels, as its last 64-bit reading has it? */
static bool has_several_sls(const struct details *details, uint32_t port)
{
	const struct port_entry *memory = node_memory_port(details->memory, port);
	const struct detail_reading *xmit = node_memory_detail(memory, DETAIL_XMIT_DATA_SL_EXT);
	const struct detail_reading *rcv = node_memory_detail(memory, DETAIL_RCV_DATA_SL_EXT);
	unsigned used = 0;

	for (unsigned sl = 0; sl < detail_count(DETAIL_XMIT_DATA_SL_EXT); sl++)
		used += (xmit && xmit->value[sl]) || (rcv && rcv->value[sl]);
	return used > 1;
}

/*
 * The seldom attribute of a port in this turn. Ports begin with different ones: a node's refusals are known after a
 * few turns. States, which rarely change, are read once in SELDOM_STATE_TURNS turns each. Where several service levels
 * are in use, their data has every second turn.
 * Return: DETAIL_ATTRIBUTE_COUNT: it has none
 */
static enum detail_attribute choose_seldom(const struct details *details, uint32_t port)
{
	static const enum detail_attribute states[] = { DETAIL_SAMPLES_CONTROL, DETAIL_SAMPLES_SELECT };
	uint64_t turn = details->sweep / DETAILS_SWEEPS + port, slot = turn % SELDOM_STATE_TURNS;
	enum detail_attribute existing[DETAIL_ATTRIBUTE_COUNT];
	size_t count = 0;

	if (slot < sizeof(states) / sizeof(states[0]) && has_attribute(details, port, states[slot]))
		return states[slot];
	if (has_several_sls(details, port)) {
		enum detail_attribute data = turn / 2 & 1 ? DETAIL_XMIT_DATA_SL_EXT : DETAIL_RCV_DATA_SL_EXT;

		if (turn & 1 && has_attribute(details, port, data))
			return data;
		turn /= 2;
	}
	for (int i = DETAIL_SELDOM; i < DETAIL_ATTRIBUTE_COUNT; i++)
		if (!detail_is_state((enum detail_attribute)i) &&
		    has_attribute(details, port, (enum detail_attribute)i))
			existing[count++] = (enum detail_attribute)i;
	return count ? existing[turn % count] : DETAIL_ATTRIBUTE_COUNT;
}

/*
 * One seldom attribute, another one in each turn. It takes the place of the explanation of errors or of discards,
 * which are also read when their counter increases, so that turns stay as long as they were.
 * Return: the attribute that is not queried; DETAIL_ATTRIBUTE_COUNT: none
 */
static enum detail_attribute query_seldom(struct details *details, uint32_t port)
{
	enum detail_attribute attribute = choose_seldom(details, port);
	enum detail_attribute instead = details->sweep / DETAILS_SWEEPS & 1 ? DETAIL_RCV_ERRORS : DETAIL_XMIT_DISCARDS;
	struct port_entry *memory = port_of_sweep(details, port);

	memory->details_seldom = (uint8_t)attribute;
	if (attribute == DETAIL_ATTRIBUTE_COUNT || detail_wire(attribute) < DETAIL_SELDOM)
		return DETAIL_ATTRIBUTE_COUNT;
	query(details, port, detail_wire(attribute));
	return node_memory_detail(memory, instead) && !is_retry_turn(details) ? instead : DETAIL_ATTRIBUTE_COUNT;
}

static void query_port(struct details *details, uint32_t port)
{
	if (node_memory_node(details->memory, details->fabric->ports[port].node)->caps.known &&
	    port == first_port_to_query(details, details->fabric->ports[port].node))
		query_caps(details, port);
	query_attributes(details, port, query_seldom(details, port));
}

int details_submit_turn(struct details *details, bool skip_hcas)
{
	const struct fabric *fabric = details->fabric;
	uint64_t turn = details->sweep % DETAILS_SWEEPS, count = fabric->port_count;

	if (details->all)
		return 0;
	query_ticks(details, skip_hcas);
	/* Not neighbours: the ports of one switch are queried one after the other. */
	for (uint32_t port = (uint32_t)turn; port < count; port += DETAILS_SWEEPS) {
		if (may_query(details, port) &&
		    !(skip_hcas && fabric->nodes[fabric->ports[port].node].type != NODE_SWITCH))
			query_port(details, port);
	}
	return details->code;
}

int details_all(struct details *details, const struct sweep_result *result)
{
	for (size_t i = 0; i < result->count; i++)
		if (result->samples[i].reading)
			query_attributes(details, result->samples[i].port, DETAIL_ATTRIBUTE_COUNT);
	return details->code;
}

void details_moved(struct details *details, uint32_t port, counter_set moved)
{
	static const struct {
		counter_set counter;
		enum detail_attribute attribute;
	} explains[] = {
		{ COUNTER_BIT(COUNTER_RCV_ERRORS), DETAIL_RCV_ERRORS },
		{ COUNTER_BIT(COUNTER_XMIT_DISCARDS), DETAIL_XMIT_DISCARDS },
		{ COUNTER_BIT(COUNTER_XMIT_WAIT), DETAIL_VL_XMIT_WAIT },
	};
	const struct port_entry *memory = node_memory_port(details->memory, port);

	for (size_t i = 0; i < sizeof(explains) / sizeof(explains[0]) && details->trigger_budget; i++) {
		if (!(moved & explains[i].counter) || !has_attribute(details, port, explains[i].attribute))
			continue;
		if (explains[i].attribute == DETAIL_VL_XMIT_WAIT && memory->wait_sweep &&
		    details->sweep - memory->wait_sweep < DETAILS_WAIT_SWEEPS)
			continue;
		details->trigger_budget--;
		query(details, port, explains[i].attribute);
	}
}

/* Agents with a reading in this sweep. Return: one flag per port, NULL if memory is exhausted. */
static bool *read_agents(const struct details *details, const struct sweep_result *result)
{
	bool *read = calloc(details->fabric->port_count + 1, sizeof(*read));

	for (size_t i = 0; read && i < result->count; i++)
		read[fabric_port_agent(details->fabric, result->samples[i].port)] |= result->samples[i].reading != NULL;
	return read;
}

int details_finish(struct details *details, const struct sweep_result *result)
{
	bool *read;
	size_t i;

	if (details->code < 0 || !details->entry_count)
		return details->code;
	read = read_agents(details, result);
	for (i = 0; read && i < details->entry_count; i++) {
		struct detail_entry *entry = &details->entries[i];
		const struct port_entry *port = node_memory_port(details->memory, entry->port);
		const struct detail_reading *last = node_memory_detail(port, entry->reading.attribute);
		struct detail_sample *samples;

		if (!read[fabric_port_agent(details->fabric, entry->port)])
			continue;
		entry->has_delta = last && last->present && last->at_us < entry->reading.at_us;
		if (entry->has_delta)
			detail_delta_between(last, &entry->reading, &entry->delta);
		samples = array_grow(details->samples, details->sample_count, &details->sample_capacity,
				     sizeof(*samples));
		if (!samples)
			break;
		details->samples = samples;
		samples[details->sample_count++] = (struct detail_sample){
			.port = entry->port,
			.reading = &entry->reading,
			.delta = entry->has_delta ? &entry->delta : NULL,
		};
	}
	if (!read || i < details->entry_count)
		details->code = err_nomem(details->err);
	free(read);
	return details->code;
}

void details_commit(const struct details *details)
{
	for (size_t i = 0; i < details->sample_count; i++) {
		const struct detail_sample *sample = &details->samples[i];

		/* Without memory the next reading is a first one: its delta is unknown. */
		node_memory_set_detail(node_memory_port(details->memory, sample->port), sample->reading);
	}
}

uint64_t details_cost(const struct fabric *fabric, bool skip_hcas)
{
	uint64_t ports = 0, agents = 0;

	for (size_t i = 0; i < fabric->port_count; i++) {
		const struct port *port = &fabric->ports[i];

		if (port_is_pollable(fabric, port) && port->state >= PORT_INIT &&
		    !(skip_hcas && fabric->nodes[port->node].type != NODE_SWITCH))
			ports++;
	}
	for (size_t i = 0; i < fabric->node_count; i++)
		agents += !skip_hcas || fabric->nodes[i].type == NODE_SWITCH;
	/* Of a port the attributes, one replaced by a seldom one, and PortInfoExtended; ClassPortInfo of a node. */
	return (ports * (DETAIL_SELDOM + 1) + agents) / DETAILS_SWEEPS;
}
