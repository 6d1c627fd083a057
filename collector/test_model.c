/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "collector/test_model.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/map.h"
#include "fabric/fabric.h"
#include "wire/pma.h"

uint64_t model_random(struct model *model)
{
	return model->random = map_mix(model->random + 0x9e3779b97f4a7c15ULL);
}

uint64_t model_guid(size_t node)
{
	return 0x1000 + node;
}

static bool is_switch(size_t node)
{
	return node < MODEL_SPINES + MODEL_LEAFS;
}

/* As planned: spine s port l+1 - leaf l port s+1; leaf l ports 3..6 - its four hosts' port 1. */
static bool planned_peer_of(size_t node, unsigned port, size_t *ret_node, unsigned *ret_port)
{
	if (node < MODEL_SPINES && port >= 1 && port <= MODEL_LEAFS) {
		*ret_node = MODEL_SPINES + port - 1;
		*ret_port = (unsigned)node + 1;
	} else if (is_switch(node) && node >= MODEL_SPINES && port >= 1 && port <= MODEL_SPINES) {
		*ret_node = port - 1;
		*ret_port = (unsigned)(node - MODEL_SPINES) + 1;
	} else if (is_switch(node) && node >= MODEL_SPINES && port > MODEL_SPINES && port <= MODEL_SPINES + 4) {
		*ret_node = MODEL_SPINES + MODEL_LEAFS + (node - MODEL_SPINES) * 4 + port - MODEL_SPINES - 1;
		*ret_port = 1;
	} else if (!is_switch(node) && port == 1) {
		size_t host = node - MODEL_SPINES - MODEL_LEAFS;

		*ret_node = MODEL_SPINES + host / 4;
		*ret_port = (unsigned)(host % 4) + MODEL_SPINES + 1;
	} else {
		return false;
	}
	return true;
}

/* The first two hosts may have each other's cable. */
static size_t swapped(const struct model *model, size_t node)
{
	return model->cables_swapped && (node == HOST || node == HOST + 1) ? 2 * HOST + 1 - node : node;
}

static bool peer_of(const struct model *model, size_t node, unsigned port, size_t *ret_node, unsigned *ret_port)
{
	if (!planned_peer_of(swapped(model, node), port, ret_node, ret_port))
		return false;
	*ret_node = swapped(model, *ret_node);
	return true;
}

static bool is_up(const struct model *model, size_t node, unsigned port)
{
	unsigned far_port;
	size_t far;

	return peer_of(model, node, port, &far, &far_port) && !model->nodes[node].ports[port].down &&
	       !model->nodes[far].ports[far_port].down && !model->nodes[far].absent && !model->nodes[node].absent;
}

static void link_ports(struct fabric *fabric, uint32_t here, uint32_t there)
{
	if (here != FABRIC_NONE && there != FABRIC_NONE)
		assert_int_equal(fabric_link(fabric, here, there, NULL), 0);
}

/* Where the collector runs. */
#define OWN_NODE (MODEL_NODES - 1)

/* @all: as it is; else as the collector's host sees it, which is nothing where its own port is down */
static struct fabric *build_fabric(const struct model *model, bool all)
{
	bool cut_off = !all && model->nodes[OWN_NODE].ports[1].down && !model->nodes[OWN_NODE].absent;
	struct fabric *fabric = fabric_create(NULL);
	unsigned port, far_port;
	size_t i, far;

	for (i = 0; i < MODEL_NODES; i++) {
		struct node node = { .guid = model_guid(i), .type = is_switch(i) ? NODE_SWITCH : NODE_CA,
				     .port_count = is_switch(i) ? MODEL_PORTS_MAX : 1 + model->nodes[i].planes,
				     .lid = is_switch(i) ? model->nodes[i].lid : 0,
				     .lft_top = model->nodes[i].lft_top };

		if (model->nodes[i].absent || model->nodes[i].hung || (cut_off && i != OWN_NODE))
			continue;
		if (all || !model->nodes[i].desc_lost)
			snprintf(node.desc, sizeof(node.desc), "node%02zu", i);
		assert_true(fabric_add_node(fabric, &node, NULL) >= 0);
		for (port = is_switch(i) ? 0 : 1; port <= node.port_count && (all || !model->nodes[i].ports_lost);
		     port++) {
			struct port added = { .num = (uint8_t)port, .lid = is_switch(i) ? 0 : model->nodes[i].lid,
					      .width = LINK_WIDTH_4X, .speed = LINK_SPEED_HDR,
					      .cap_mask = 1 << 14,
					      .guid = model->nodes[i].planes ? 0x9000 + i : 0 };

			added.state = port == 0 || is_up(model, i, port) ? PORT_ACTIVE : PORT_DOWN;
			if (added.state == PORT_ACTIVE && model->nodes[i].ports[port].init)
				added.state = PORT_INIT;
			assert_true(fabric_add_port(fabric, &added, NULL) >= 0);
		}
	}
	for (i = 0; i < MODEL_NODES && !cut_off; i++)
		for (port = 1; port <= MODEL_PORTS_MAX; port++)
			if (is_up(model, i, port) && peer_of(model, i, port, &far, &far_port))
				link_ports(fabric, fabric_find_port(fabric, model_guid(i), (uint8_t)port),
					   fabric_find_port(fabric, model_guid(far), (uint8_t)far_port));
	assert_int_equal(fabric_finish(fabric, NULL, NULL), 0);
	fabric->from_node = fabric_find_node(fabric, model_guid(OWN_NODE));
	fabric->from_port = 1;
	return fabric;
}

static int64_t boottime_us(void *ctx)
{
	return ((struct model *)ctx)->now_us;
}

static int64_t wall_us(void *ctx)
{
	struct model *model = ctx;

	return model->now_us + model->wall_offset_us;
}

static void count_port(struct model *model, struct model_port *port)
{
	int counter, attribute, number;

	for (counter = 0; counter < COUNTER_COUNT; counter++) {
		uint64_t random = model_random(model);

		if (counter == COUNTER_VL15_DROPPED || counter == COUNTER_QP1_DROPPED)
			port->value[counter] += model->drops;
		else if (counter == COUNTER_LINK_DOWNED && model->no_downs)
			continue;
		else if (counter < COUNTER_TRAFFIC_COUNT)
			port->value[counter] += random % 100000000;
		else if (random % 50 == 0)
			port->value[counter] += random >> 60;
	}
	for (attribute = 0; attribute < DETAIL_ATTRIBUTE_COUNT; attribute++)
		for (number = 0; number < DETAIL_MAX; number++)
			if (model_random(model) % 20 == 0)
				port->details[attribute].value[number] += model_random(model) >> 57;
}

/* Counters go on while the collector sleeps. */
static void count_traffic(struct model *model)
{
	size_t i;
	int port;

	for (i = 0; i < MODEL_NODES; i++)
		for (port = 1; port <= MODEL_PORTS_MAX; port++)
			count_port(model, &model->nodes[i].ports[port]);
}

static void sleep_until(void *ctx, int64_t until_us)
{
	struct model *model = ctx;

	if (until_us <= model->now_us)
		return;
	model->now_us = until_us;
	if (model->traffic)
		count_traffic(model);
	if (model->before_sweep)
		model->before_sweep(model);
}

static void boot_id(void *ctx, char ret[BOOT_ID_SIZE])
{
	memcpy(ret, ((struct model *)ctx)->boot_id, BOOT_ID_SIZE);
}

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
	size_t node = OWN_NODE;
	unsigned hop;

	*ret_port = 1;
	for (hop = 1; hop <= mad[7]; hop++) {
		if ((hop > 1 && !is_switch(node)) || !is_up(model, node, mad[128 + hop]) ||
		    !peer_of(model, node, mad[128 + hop], &node, ret_port))
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
		put_be64(info, model_guid(MODEL_NODES - 1));
		put_be32(info + 16, model->sm_act_count);
		info[20] = 3;
	} else if (header.attribute == SMP_PORT_INFO) {
		info[31] = LINK_WIDTH_4X;
		info[32] = !is_up(model, node, header.modifier) ? PORT_DOWN
			 : model->nodes[node].ports[header.modifier].init ? PORT_INIT : PORT_ACTIVE;
		info[62] = 4 << 4; /* HDR */
		if (header.modifier == 0 || !is_switch(node))
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
	return !node->silent && model_random(model) % 100 >= model->loss_percent;
}

static int model_send(void *ctx, const struct mad_address *to, const uint8_t mad[MAD_SIZE], unsigned timeout_ms,
		      struct error *err)
{
	struct model *model = ctx;
	struct model_node *node;
	uint8_t *answered;
	size_t index;

	(void)timeout_ms;
	(void)err;
	assert_true(mad_is_allowed(mad));
	model->now_us++;
	if (model->stop_after && !--model->stop_after)
		raise(SIGTERM);
	index = find_receiver(model, to, mad);
	if (index == MODEL_NODES)
		return 0;
	node = &model->nodes[index];
	count_request(model, index, mad);
	if (mad_is_smp(mad) && node->mkey && get_be64(mad + 24) != node->mkey) {
		node->smps_refused++;
		return 0;
	}
	if (!is_heard(model, node, mad))
		return 0;
	assert_true(model->flying_count < 256);
	answered = model->flying[model->flying_count].mad;
	memcpy(answered, mad, MAD_SIZE);
	if (node->redirect && mad[1] == CLASS_PERFORMANCE && !to->qp)
		redirect(model, index, answered);
	else
		answer(model, index, answered);
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

static int discover_start(void *ctx, struct error *err)
{
	(void)err;
	((struct model *)ctx)->discoveries++;
	return 0;
}

static int discover_step(void *ctx, unsigned timeout_ms, struct fabric **ret, struct record_trailer *trailer,
			 struct error *err)
{
	struct model *model = ctx;
	size_t i;

	(void)timeout_ms;
	model->now_us += 50000;
	if (model->discovery_fails)
		return err_set(err, ERR_UNAVAILABLE, "discovery crashed");
	*ret = build_fabric(model, false);
	*trailer = (struct record_trailer){ .smps = 100, .hops = 3, .took_us = 50000 };
	for (i = 0; i < MODEL_NODES; i++) {
		trailer->lost += model->nodes[i].ports_lost + model->nodes[i].desc_lost;
		model->nodes[i].ports_lost = model->nodes[i].desc_lost = false;
	}
	return 1;
}

static void discover_cancel(void *ctx)
{
	(void)ctx;
}

static struct model_port *stored_port(struct model *model, const struct fabric *fabric, uint32_t port)
{
	const struct port *which = &fabric->ports[port];

	return &model->nodes[fabric->nodes[which->node].guid - model_guid(0)].ports[which->num];
}

/* Nothing counts while a sweep runs: so what was read is what the port shows now, or it is another port's. */
static void assert_own_reading(const struct reading *reading, const struct model_port *port)
{
	int counter;

	for (counter = 0; counter < COUNTER_COUNT; counter++) {
		uint64_t max = reading_max(reading, (enum counter)counter);

		if (reading->present & COUNTER_BIT(counter))
			assert_true(reading->value[counter] ==
				    (port->value[counter] < max ? port->value[counter] : max));
	}
}

static void assert_own_detail(const struct detail_reading *reading, const struct model_port *port)
{
	const uint64_t *value = port->details[reading->attribute].value;
	unsigned i;

	/* Of FEC the model answers a part, as the mode lays it out. */
	for (i = 0; reading->attribute != DETAIL_EXTENDED_SPEEDS && i < detail_count(reading->attribute); i++) {
		uint64_t max = detail_max(reading->attribute, i);

		if (reading->present & 1u << i)
			assert_true(reading->value[i] == (value[i] < max ? value[i] : max));
	}
}

static void store_detail(const struct sweep *sweep, const struct detail_sample *sample, struct model_port *port)
{
	struct model_detail *detail = &port->details[sample->reading->attribute];
	unsigned i;

	assert_own_detail(sample->reading, port);
	assert_true((sample->delta != NULL) == detail->has_first);
	if (!detail->has_first)
		detail->first = *sample->reading;
	for (i = 0; sample->delta && i < DETAIL_MAX; i++)
		detail->sum[i] += sample->delta->value[i];
	if (sample->delta) {
		detail->marked |= sample->delta->reset | sample->delta->saturated |
				  (sample->reading->present & ~sample->delta->known);
		detail->elapsed_us += sample->delta->elapsed_us;
	}
	detail->has_first = true;
	detail->last = *sample->reading;
	detail->last_wall_us = sweep->wall_us;
	detail->reads++;
}

/* Blocks that changed are all that changed: what was stored before and they are the tables as they are. */
static void store_routes(struct model *model, const struct sweep *sweep)
{
	size_t i;

	for (i = 0; i < sweep->route_block_count; i++) {
		const struct route_block *block = &sweep->route_blocks[i];
		const struct route_table *table = routes_find(sweep->routes, block->node_guid);
		uint16_t lid = (uint16_t)(block->block * ROUTES_BLOCK);

		if (routes_is_read(table, lid))
			routes_set_block(&model->routes, block->node_guid, block->block, table->ports + lid, NULL, NULL);
		else
			routes_cut(&model->routes, block->node_guid, lid);
	}
	if (sweep->routes)
		assert_true(routes_same(&model->routes, sweep->routes));
}

static int sink_store(void *ctx, const struct sweep *sweep, struct error *err)
{
	struct model *model = ctx;
	size_t i;

	model->now_us += model->store_us;
	if (model->store_fails)
		return err_set(err, ERR_IO, "the disk is full");
	for (i = 0; i < sweep->sample_count; i++) {
		const struct port_sample *sample = &sweep->samples[i];
		struct model_port *port = stored_port(model, sweep->fabric, sample->port);

		port->status = sample->status;
		assert_true((sample->reading != NULL) == (sample->status == SAMPLE_OK));
		if (!sample->reading)
			continue;
		assert_own_reading(sample->reading, port);
		assert_true((sample->delta != NULL) == port->has_first);
		if (!port->has_first)
			port->first = *sample->reading;
		else
			delta_add(&port->sum, sample->delta);
		port->has_first = true;
		port->last = *sample->reading;
		port->last_wall_us = sweep->wall_us;
	}
	for (i = 0; i < sweep->detail_count; i++)
		store_detail(sweep, &sweep->details[i], stored_port(model, sweep->fabric, sweep->details[i].port));
	for (i = 0; i < sweep->event_count && model->event_count < MODEL_EVENTS_MAX; i++)
		model->events[model->event_count++] = sweep->events[i];
	store_routes(model, sweep);
	model->last_sweep = *sweep;
	model->sweeps++;
	model->knows_fabric = true;
	return 0;
}

static void restore_details(const struct model *model, size_t node, int number, struct restored *ret)
{
	const struct model_port *port = &model->nodes[node].ports[number];
	int i;

	for (i = 0; i < DETAIL_ATTRIBUTE_COUNT; i++)
		if (port->details[i].has_first)
			ret->details[ret->detail_count++] = (struct restored_detail){
				.node_guid = model_guid(node), .port = (uint8_t)number,
				.reading = port->details[i].last, .wall_us = port->details[i].last_wall_us };
}

static int sink_restore(void *ctx, struct restored *ret, struct error *err)
{
	struct model *model = ctx;
	size_t i;
	int port;

	(void)err;
	if (!model->knows_fabric)
		return 0;
	ret->fabric = build_fabric(model, true);
	assert_int_equal(routes_copy(&model->routes, &ret->routes, NULL), 0);
	memcpy(ret->boot_id, model->last_sweep.boot_id, BOOT_ID_SIZE);
	ret->ports = calloc(MODEL_NODES * (MODEL_PORTS_MAX + 1), sizeof(*ret->ports));
	ret->details = calloc(MODEL_NODES * (MODEL_PORTS_MAX + 1) * DETAIL_ATTRIBUTE_COUNT, sizeof(*ret->details));
	for (i = 0; i < MODEL_NODES; i++)
		for (port = 0; port <= MODEL_PORTS_MAX; port++)
			restore_details(model, i, port, ret);
	for (i = 0; i < MODEL_NODES; i++)
		for (port = 0; port <= MODEL_PORTS_MAX; port++)
			if (model->nodes[i].ports[port].has_first)
				ret->ports[ret->port_count++] = (struct restored_port){
					.node_guid = model_guid(i), .port = (uint8_t)port,
					.reading = model->nodes[i].ports[port].last,
					.wall_us = model->nodes[i].ports[port].last_wall_us };
	return 0;
}

static int sink_store_events(void *ctx, const struct event *events, size_t count, struct error *err)
{
	struct model *model = ctx;
	size_t i;

	if (model->store_fails)
		return err_set(err, ERR_IO, "the disk is full");
	for (i = 0; i < count && model->event_count < MODEL_EVENTS_MAX; i++)
		model->events[model->event_count++] = events[i];
	return 0;
}

static int sink_store_caps(void *ctx, const struct restored_caps *caps, size_t count, struct error *err)
{
	(void)ctx;
	(void)caps;
	(void)count;
	(void)err;
	return 0;
}

static uint16_t sm_lid(void *ctx)
{
	return ((struct model *)ctx)->nodes[OWN_NODE].lid;
}

void model_init(struct model *model, uint64_t seed)
{
	size_t i;

	memset(model, 0, sizeof(*model));
	model->random = seed;
	model->now_us = 1000000;
	model->wall_offset_us = 1795183200LL * US_PER_S;
	model->traffic = true;
	model->interval_us = 10 * US_PER_S;
	snprintf(model->boot_id, sizeof(model->boot_id), "boot-1");
	for (i = 0; i < MODEL_NODES; i++) {
		/* All kinds: 64-bit errors, 64-bit traffic only, without multicast, 32 bits only. */
		static const uint16_t masks[] = { 0xd300, 0x1200, 0x1400, 0x0000 };

		model->nodes[i].lid = (uint16_t)(i + 1);
		model->nodes[i].fec_mode = 2;
		model->nodes[i].caps.cap_mask = masks[i % 4];
		model->nodes[i].caps.cap_mask2 = i % 8 == 0 ? PMA_CAP2_EXTENDED_ERRORS : 0;
	}
	model->clock = (struct clock){ boottime_us, wall_us, sleep_until, boot_id, model };
	model->transport = (struct transport){ model_send, model_receive, model };
	model->discoverer = (struct discoverer){ discover_start, discover_step, discover_cancel, model };
	model->sink = (struct sink){ sink_store, sink_restore, sink_store_events, sink_store_caps, model };
	model->wire = (struct collector_wire){ .transport = &model->transport, .discoverer = &model->discoverer,
					       .sm_lid = sm_lid, .ctx = model };
}

struct model *model_create(uint64_t seed)
{
	struct model *model = malloc(sizeof(*model));

	assert_non_null(model);
	model_init(model, seed);
	return model;
}

int model_run(struct model *model, uint64_t sweeps, struct collector_report *ret, struct error *err)
{
	struct collector_settings settings = {
		.interval_us = model->interval_us,
		.count = sweeps,
		.discovery_interval_us = 600 * US_PER_S,
		.routes_interval_us = model->routes_interval_us,
		.routes_window = 8,
		.switches_only = model->switches_only,
		.engine = { .window = 32, .per_node = 1, .timeout_ms = 100, .retries = 2,
			    .max_mads_per_s = model->max_mads_per_s },
	};
	struct collector_report report;

	return collector_run(&settings, &model->wire, &model->clock, &model->sink, ret ? ret : &report, err);
}

size_t model_events_of(const struct model *model, const char *kind)
{
	size_t count = 0, i;

	for (i = 0; i < model->event_count; i++)
		count += !strcmp(model->events[i].kind, kind);
	return count;
}

size_t model_check(const struct model *model)
{
	size_t exact = 0, i;
	int port, counter;

	for (i = 0; i < MODEL_NODES; i++)
		for (port = 0; port <= MODEL_PORTS_MAX; port++) {
			const struct model_port *which = &model->nodes[i].ports[port];
			const struct delta *sum = &which->sum;

			if (!which->has_first || !sum->elapsed_us)
				continue;
			assert_true(sum->elapsed_us == which->last.at_us - which->first.at_us);
			for (counter = 0; counter < COUNTER_COUNT; counter++) {
				if (!(sum->known & COUNTER_BIT(counter)) ||
				    (sum->reset | sum->saturated) & COUNTER_BIT(counter))
					continue;
				assert_true(which->first.value[counter] + sum->value[counter] ==
					    which->last.value[counter]);
				exact++;
			}
		}
	return exact;
}

size_t model_check_details(const struct model *model)
{
	size_t exact = 0, i;
	int port, attribute;
	unsigned number;

	for (i = 0; i < MODEL_NODES; i++)
		for (port = 0; port <= MODEL_PORTS_MAX; port++)
			for (attribute = 0; attribute < DETAIL_ATTRIBUTE_COUNT; attribute++) {
				const struct model_detail *detail = &model->nodes[i].ports[port].details[attribute];

				if (detail->reads < 2)
					continue;
				assert_true(detail->elapsed_us == detail->last.at_us - detail->first.at_us);
				for (number = 0; number < DETAIL_MAX; number++) {
					if (!(detail->last.present & 1u << number) || detail->marked & 1u << number)
						continue;
					assert_true(detail->first.value[number] + detail->sum[number] ==
						    detail->last.value[number]);
					exact++;
				}
			}
	return exact;
}
