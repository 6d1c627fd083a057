/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The fabric itself, its clock, its discovery, and the collector that runs on it. */
#include "collector/test_model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/map.h"
#include "fabric/fabric.h"

uint64_t model_random(struct model *model)
{
	return model->random = map_mix(model->random + 0x9e3779b97f4a7c15ULL);
}

uint64_t model_guid(size_t node)
{
	return 0x1000 + node;
}

bool model_is_switch(size_t node)
{
	return node < MODEL_SPINES + MODEL_LEAFS;
}

/* As planned: spine s port l+1 - leaf l port s+1; leaf l ports 3..6 - its four hosts' port 1. */
static bool planned_peer_of(size_t node, unsigned port, size_t *ret_node, unsigned *ret_port)
{
	if (node < MODEL_SPINES && port >= 1 && port <= MODEL_LEAFS) {
		*ret_node = MODEL_SPINES + port - 1;
		*ret_port = (unsigned)node + 1;
	} else if (model_is_switch(node) && node >= MODEL_SPINES && port >= 1 && port <= MODEL_SPINES) {
		*ret_node = port - 1;
		*ret_port = (unsigned)(node - MODEL_SPINES) + 1;
	} else if (model_is_switch(node) && node >= MODEL_SPINES && port > MODEL_SPINES && port <= MODEL_SPINES + 4) {
		*ret_node = MODEL_SPINES + MODEL_LEAFS + (node - MODEL_SPINES) * 4 + port - MODEL_SPINES - 1;
		*ret_port = 1;
	} else if (!model_is_switch(node) && port == 1) {
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

bool model_peer_of(const struct model *model, size_t node, unsigned port, size_t *ret_node, unsigned *ret_port)
{
	if (!planned_peer_of(swapped(model, node), port, ret_node, ret_port))
		return false;
	*ret_node = swapped(model, *ret_node);
	return true;
}

bool model_is_up(const struct model *model, size_t node, unsigned port)
{
	unsigned far_port;
	size_t far;

	return model_peer_of(model, node, port, &far, &far_port) && !model->nodes[node].ports[port].down &&
	       !model->nodes[far].ports[far_port].down && !model->nodes[far].absent && !model->nodes[node].absent;
}

static void link_ports(struct fabric *fabric, uint32_t here, uint32_t there)
{
	if (here != FABRIC_NONE && there != FABRIC_NONE)
		assert_int_equal(fabric_link(fabric, here, there, NULL), 0);
}

struct fabric *model_build_fabric(const struct model *model, bool all)
{
	bool cut_off = !all && model->nodes[MODEL_OWN_NODE].ports[1].down && !model->nodes[MODEL_OWN_NODE].absent;
	struct fabric *fabric = fabric_create(NULL);
	unsigned port, far_port;
	size_t i, far;

	for (i = 0; i < MODEL_NODES; i++) {
		struct node node = { .guid = model_guid(i), .type = model_is_switch(i) ? NODE_SWITCH : NODE_CA,
				     .port_count = model_is_switch(i) ? MODEL_PORTS_MAX : 1 + model->nodes[i].planes,
				     .lid = model_is_switch(i) ? model->nodes[i].lid : 0,
				     .lft_top = model->nodes[i].lft_top };

		if (model->nodes[i].absent || model->nodes[i].hung || (cut_off && i != MODEL_OWN_NODE))
			continue;
		if (all || !model->nodes[i].desc_lost)
			snprintf(node.desc, sizeof(node.desc), "node%02zu", i);
		assert_true(fabric_add_node(fabric, &node, NULL) >= 0);
		for (port = model_is_switch(i) ? 0 : 1; port <= node.port_count && (all || !model->nodes[i].ports_lost);
		     port++) {
			struct port added = { .num = (uint8_t)port, .lid = model_is_switch(i) ? 0 : model->nodes[i].lid,
					      .width = LINK_WIDTH_4X, .speed = LINK_SPEED_HDR,
					      .cap_mask = 1 << 14 | (uint32_t)(model->nodes[i].sm > 0) << 1,
					      .guid = model->nodes[i].planes ? 0x9000 + i : 0 };

			added.state = port == 0 || model_is_up(model, i, port) ? PORT_ACTIVE : PORT_DOWN;
			if (added.state == PORT_ACTIVE && model->nodes[i].ports[port].init)
				added.state = PORT_INIT;
			assert_true(fabric_add_port(fabric, &added, NULL) >= 0);
		}
	}
	for (i = 0; i < MODEL_NODES && !cut_off; i++)
		for (port = 1; port <= MODEL_PORTS_MAX; port++)
			if (model_is_up(model, i, port) && model_peer_of(model, i, port, &far, &far_port))
				link_ports(fabric, fabric_find_port(fabric, model_guid(i), (uint8_t)port),
					   fabric_find_port(fabric, model_guid(far), (uint8_t)far_port));
	assert_int_equal(fabric_finish(fabric, NULL, NULL), 0);
	fabric->from_node = fabric_find_node(fabric, model_guid(MODEL_OWN_NODE));
	fabric->from_port = 1;
	return fabric;
}

void model_swap_lids(struct model *model)
{
	uint16_t lid = model->nodes[HOST].lid;

	/* Once: it may sleep more than once between two sweeps, a discovery divides the time. */
	if (model->sweeps != 3 || lid != HOST + 1)
		return;
	model->nodes[HOST].lid = model->nodes[HOST + 4].lid;
	model->nodes[HOST + 4].lid = lid;
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

static int discover_start(void *ctx, struct error *err)
{
	struct model *model = ctx;

	(void)err;
	model->discoveries++;
	model->discovery_end_us = model->now_us + model->discovery_us;
	return 0;
}

static int discover_step(void *ctx, unsigned timeout_ms, struct fabric **ret, struct record_trailer *trailer,
			 struct error *err)
{
	struct model *model = ctx;
	size_t i;

	(void)timeout_ms;
	model->now_us += 50000;
	if (model->now_us < model->discovery_end_us) {
		if (model->before_sweep)
			model->before_sweep(model);
		return 0;
	}
	if (model->discovery_fails)
		return err_set(err, ERR_UNAVAILABLE, "discovery crashed");
	*ret = model_build_fabric(model, false);
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

static uint16_t sm_lid(void *ctx)
{
	return ((struct model *)ctx)->nodes[((struct model *)ctx)->sm_node].lid;
}

static void model_init(struct model *model, uint64_t seed)
{
	size_t i;

	memset(model, 0, sizeof(*model));
	model->random = seed;
	model->now_us = 1000000;
	model->wall_offset_us = 1795183200LL * US_PER_S;
	model->traffic = true;
	model->sm_node = MODEL_OWN_NODE;
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
	model->transport = model_transport(model);
	model->discoverer = (struct discoverer){ discover_start, discover_step, discover_cancel, model };
	model->sink = model_sink(model);
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
