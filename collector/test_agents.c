/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the nodes of the model answer, and the wire that carries it. */
#include "collector/test_model.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "fabric/fabric.h"
#include "wire/pma.h"

static void put_bits(uint8_t *bytes, const struct counter_field *field, uint64_t value)
{
	unsigned i;

	if (field->bits < 64 && value > (UINT64_C(1) << field->bits) - 1)
		value = (UINT64_C(1) << field->bits) - 1;
	if (field->bits == 4) {
		bytes[field->bit_offset / 8] |= (uint8_t)(value << (4 - field->bit_offset % 8));
		return;
	}
	for (i = 0; i < field->bits / 8u; i++)
		bytes[field->bit_offset / 8 + i] = (uint8_t)(value >> (field->bits - 8 - 8 * i));
}

static void answer_counters(const struct model_node *node, uint8_t mad[MAD_SIZE], enum counter_attribute attribute)
{
	const struct model_port *port = &node->ports[mad[PMA_DATA_OFFSET + 1] % (MODEL_PORTS_MAX + 1)];
	const struct counter_field *fields;
	size_t count, i;

	fields = counter_fields(&count);
	for (i = 0; i < count; i++)
		if (fields[i].attribute == attribute)
			put_bits(mad + PMA_DATA_OFFSET, &fields[i], port->value[fields[i].counter]);
}

static void put_stopped(uint8_t *bytes, unsigned width, uint64_t value)
{
	uint64_t max = (UINT64_C(1) << 8 * width) - 1, stopped = value > max ? max : value;
	unsigned i;

	for (i = 0; i < width; i++)
		bytes[i] = (uint8_t)(stopped >> 8 * (width - 1 - i));
}

/* Slow counters, each where libibmad fields.c says; FEC as the node's mode lays it out, on one lane. */
static void answer_detail(const struct model_node *node, uint8_t mad[MAD_SIZE], enum detail_attribute attribute)
{
	const struct model_port *port = &node->ports[mad[PMA_DATA_OFFSET + 1] % (MODEL_PORTS_MAX + 1)];
	const uint64_t *value = port->details[attribute].value;
	uint8_t *info = mad + PMA_DATA_OFFSET;
	bool rs = node->fec_mode >= 2;
	unsigned i;

	if (attribute != DETAIL_EXTENDED_SPEEDS) {
		for (i = 0; i < detail_count(attribute); i++)
			put_stopped(info + 4 + 2 * i, 2, value[i]);
		return;
	}
	put_stopped(info + 16, 2, value[DETAIL_SYNC_HEADER_ERRORS]);
	put_stopped(info + 18, 2, value[DETAIL_UNKNOWN_BLOCKS]);
	put_stopped(info + 44, 4, value[rs ? DETAIL_FEC_CORRECTED_SYMBOLS : DETAIL_FEC_CORRECTED_BLOCKS]);
	if (!rs)
		put_stopped(info + 92, 4, value[DETAIL_FEC_UNCORRECTED_BLOCKS]);
	else
		for (i = 0; i < 3; i++)
			put_stopped(info + 140 + 4 * i, 4, value[DETAIL_FEC_CORRECTED_BLOCKS + i]);
}

/* Whom a directed SMP reaches, hop by hop, and at which of its ports; MODEL_NODES: nobody. */
static size_t follow_path(const struct model *model, const uint8_t mad[MAD_SIZE], unsigned *ret_port)
{
	size_t node = MODEL_OWN_NODE;
	unsigned hop;

	*ret_port = 1;
	for (hop = 1; hop <= mad[7]; hop++) {
		if ((hop > 1 && !model_is_switch(node)) || !model_is_up(model, node, mad[128 + hop]) ||
		    !model_peer_of(model, node, mad[128 + hop], &node, ret_port))
			return MODEL_NODES;
	}
	return node;
}

static void answer_smp(const struct model *model, size_t node, uint8_t mad[MAD_SIZE])
{
	struct mad_header header = mad_read_header(mad);
	uint8_t *info = mad + SMP_DATA_OFFSET;

	if (header.attribute == SMP_NODE_INFO) {
		unsigned port = 1;

		if (header.mgmt_class == CLASS_SUBN_DIRECTED)
			assert_int_equal(follow_path(model, mad, &port), node);
		put_be64(info + 12, model_guid(node));
		info[36] = (uint8_t)port;
	} else if (header.attribute == SMP_SWITCH_INFO) {
		info[11] = model->state_change_stuck ? 4 : 0;
		put_be16(info + 6, model->nodes[node].lft_top);
	} else if (header.attribute == SMP_LINEAR_FORWARDING_TABLE) {
		assert_true(header.modifier < MODEL_LIDS / ROUTES_BLOCK);
		memcpy(info, model->nodes[node].lft + header.modifier * ROUTES_BLOCK, ROUTES_BLOCK);
	} else if (header.attribute == SMP_SM_INFO) {
		const struct model_node *at = &model->nodes[node];

		put_be64(info, model_guid(at->sm ? node : MODEL_OWN_NODE));
		put_be32(info + 16, model->sm_act_count);
		info[20] = at->sm ? at->sm : 3;
	} else if (header.attribute == SMP_PORT_INFO) {
		info[31] = LINK_WIDTH_4X;
		info[32] = !model_is_up(model, node, header.modifier) ? PORT_DOWN
			 : model->nodes[node].ports[header.modifier].init ? PORT_INIT : PORT_ACTIVE;
		info[62] = 4 << 4; /* HDR */
		if (header.modifier == 0 || !model_is_switch(node))
			put_be16(info + 16, model->nodes[node].lid);
	} else if (header.attribute == SMP_PORT_INFO_EXTENDED) {
		info[3] = 1;
		info[5] = model->nodes[node].fec_mode;
	}
}

static void answer(struct model *model, size_t index, uint8_t mad[MAD_SIZE])
{
	struct model_node *node = &model->nodes[index];
	struct mad_header header = mad_read_header(mad);
	enum detail_attribute detail = pma_detail_attribute(header.attribute);

	mad[3] = METHOD_GET_RESPONSE;
	if (mad_is_smp(mad)) {
		put_be16(mad + 4, header.mgmt_class == CLASS_SUBN_DIRECTED ? 0x8000 : 0);
		answer_smp(model, index, mad);
	} else if (node->no_counters || (node->no_caps && header.attribute == PMA_CLASS_PORT_INFO)) {
		put_be16(mad + 4, 0x000c);
	} else if (node->caps_busy_once && header.attribute == PMA_CLASS_PORT_INFO) {
		node->caps_busy_once = false;
		put_be16(mad + 4, 0x0001);
	} else if (header.attribute == PMA_CLASS_PORT_INFO) {
		put_be16(mad + PMA_DATA_OFFSET + 2, node->caps.cap_mask);
		put_be32(mad + PMA_DATA_OFFSET + 4, node->caps.cap_mask2 << 5);
	} else if (node->busy_once && header.attribute == PMA_PORT_COUNTERS) {
		node->busy_once = false;
		put_be16(mad + 4, 0x0001);
	} else if (node->extended_status && header.attribute == PMA_PORT_COUNTERS_EXTENDED) {
		put_be16(mad + 4, node->extended_status);
	} else if (header.attribute == PMA_PORT_SAMPLES_CONTROL && node->tick_refused) {
		put_be16(mad + 4, 0x000c);
	} else if (header.attribute == PMA_PORT_SAMPLES_CONTROL) {
		mad[PMA_DATA_OFFSET + 2] = 7;
	} else if (detail != DETAIL_ATTRIBUTE_COUNT && node->refused & 1u << detail) {
		put_be16(mad + 4, 0x000c);
	} else if (detail != DETAIL_ATTRIBUTE_COUNT) {
		answer_detail(node, mad, detail);
	} else {
		answer_counters(node, mad, header.attribute == PMA_PORT_COUNTERS ? ATTRIBUTE_PORT_COUNTERS
										 : ATTRIBUTE_PORT_COUNTERS_EXTENDED);
	}
}

/* Queue pairs at which nodes answer for each other: this plus the node's number. */
#define REDIRECT_QP 0x1000

/* Who hears a MAD: the node with the LID, unless the queue pair is another's. */
static size_t receiver_of(const struct model *model, const struct mad_address *to)
{
	size_t index = 0;

	/* A LID that nobody has is a question that nobody hears. */
	while (index < MODEL_NODES && (model->nodes[index].lid != to->lid || model->nodes[index].absent))
		index++;
	if (index < MODEL_NODES && to->qp >= REDIRECT_QP) {
		assert_int_equal(to->qkey, 0x1234);
		return to->qp - REDIRECT_QP + model->queue_pairs_moved;
	}
	return index;
}

/* Whom a MAD reaches; MODEL_NODES: nobody. */
static size_t find_receiver(struct model *model, const struct mad_address *to, const uint8_t mad[MAD_SIZE])
{
	unsigned port;

	if (mad[1] == CLASS_SUBN_DIRECTED) {
		model->smps_by_path++;
		assert_int_equal(to->lid, LID_PERMISSIVE);
		return follow_path(model, mad, &port);
	}
	if (mad[1] == CLASS_SUBN_LID) {
		model->smps_by_lid++;
		if (model->wire.directed_smps)
			return MODEL_NODES;
	}
	return receiver_of(model, to);
}

/* "Ask there instead": ClassPortInfo with its redirection. */
static void redirect(const struct model *model, size_t node, uint8_t mad[MAD_SIZE])
{
	mad[3] = METHOD_GET_RESPONSE;
	put_be16(mad + 4, 0x0002);
	put_be16(mad + PMA_DATA_OFFSET + 28, model->nodes[node].redirect);
	put_be32(mad + PMA_DATA_OFFSET + 32, REDIRECT_QP + (uint32_t)node - model->queue_pairs_moved);
	put_be32(mad + PMA_DATA_OFFSET + 36, 0x1234);
}

static void count_request(struct model *model, size_t node, const uint8_t mad[MAD_SIZE])
{
	struct mad_header header = mad_read_header(mad);

	model->nodes[node].lft_reads += mad_is_smp(mad) && header.attribute == SMP_LINEAR_FORWARDING_TABLE;
	if (header.mgmt_class != CLASS_PERFORMANCE)
		return;
	if (pma_detail_attribute(header.attribute) != DETAIL_ATTRIBUTE_COUNT ||
	    header.attribute == PMA_PORT_SAMPLES_CONTROL)
		model->slow_requests_to[node]++;
	else
		model->requests_to[node]++;
}

static bool is_heard(struct model *model, const struct model_node *node, const uint8_t mad[MAD_SIZE])
{
	enum detail_attribute detail = pma_detail_attribute(mad_read_header(mad).attribute);

	if (mad[1] == CLASS_PERFORMANCE && detail != DETAIL_ATTRIBUTE_COUNT && node->ignored & 1u << detail)
		return false;
	if (mad_is_smp(mad) && mad_read_header(mad).attribute == SMP_SM_INFO && node->sm_silent)
		return false;
	return !node->silent && model_random(model) % 100 >= model->loss_percent;
}

static int model_send(void *ctx, const struct mad_address *to, const uint8_t mad[MAD_SIZE], unsigned timeout_ms,
		      struct error *err)
{
	struct model *model = ctx;
	struct model_node *node;
	uint8_t *responded;
	size_t index;

	(void)timeout_ms;
	(void)err;
	assert_true(mad_is_allowed(mad));
	model->now_us++;
	if (model->stop_after && !--model->stop_after)
		raise(SIGTERM);
	if (model->act_after && !--model->act_after)
		model->act(model);
	index = find_receiver(model, to, mad);
	if (index == MODEL_NODES)
		return 0;
	node = &model->nodes[index];
	count_request(model, index, mad);
	node->sm_asked += mad_is_smp(mad) && mad_read_header(mad).attribute == SMP_SM_INFO;
	if (mad_is_smp(mad) && node->mkey && get_be64(mad + 24) != node->mkey) {
		node->smps_refused++;
		return 0;
	}
	if (!is_heard(model, node, mad))
		return 0;
	assert_true(model->flying_count < 256);
	responded = model->flying[model->flying_count].mad;
	memcpy(responded, mad, MAD_SIZE);
	if (node->redirect && mad[1] == CLASS_PERFORMANCE && !to->qp)
		redirect(model, index, responded);
	else
		answer(model, index, responded);
	if (model_random(model) % 100 < model->loss_percent)
		return 0;
	model->flying[model->flying_count++].at_us = model->now_us + node->answer_us + 10 +
						      (int64_t)(model_random(model) % 200);
	return 0;
}

static int model_receive(void *ctx, uint8_t mad[MAD_SIZE], unsigned timeout_ms, struct error *err)
{
	struct model *model = ctx;
	int64_t until_us = model->now_us + timeout_ms * US_PER_MS;
	size_t best = 0, i;

	(void)err;
	for (i = 1; i < model->flying_count; i++)
		if (model->flying[i].at_us < model->flying[best].at_us)
			best = i;
	if (!model->flying_count || model->flying[best].at_us > until_us) {
		model->now_us = until_us;
		return TRANSPORT_NOTHING;
	}
	if (model->flying[best].at_us > model->now_us)
		model->now_us = model->flying[best].at_us;
	memcpy(mad, model->flying[best].mad, MAD_SIZE);
	model->flying[best] = model->flying[--model->flying_count];
	return TRANSPORT_MAD;
}

struct transport model_transport(struct model *model)
{
	return (struct transport){ model_send, model_receive, model };
}
