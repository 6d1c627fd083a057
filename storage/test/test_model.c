/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/test/test_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"

static void *must(void *pointer)
{
	if (!pointer)
		abort();
	return pointer;
}

uint64_t model_random(struct model *model, uint64_t below)
{
	model->random += UINT64_C(0x9e3779b97f4a7c15);
	return below ? map_mix(model->random) % below : 0;
}

static bool one_in(struct model *model, uint64_t n)
{
	return model_random(model, n) == 0;
}

static void describe(struct model *model, struct node *node)
{
	static const char *const hostile[] = {
		"", "  ", "\x1b[31mred\x1b[0m", "a,b;\"c\"'d'", "\xff\xfe\x80", "line\nbreak\rand\ttab",
		"'); DROP TABLE delta; --",
		"\\x1b[0m", "%s%n%d", ("\xe2\x80\xae" "right to left"), "node0001 mlx5_0",
	};
	size_t count = sizeof(hostile) / sizeof(*hostile);

	memset(node->desc, 0, sizeof(node->desc));
	if (one_in(model, 3)) {
		snprintf(node->desc, sizeof(node->desc), "%s", hostile[model_random(model, count)]);
	} else if (one_in(model, 4)) {
		for (int i = 0; i < NODE_DESC_SIZE; i++)
			node->desc[i] = (char)model_random(model, 256);
	} else {
		snprintf(node->desc, sizeof(node->desc), "node%04u mlx5_%u", (unsigned)model_random(model, 10000),
			 (unsigned)model_random(model, 8));
	}
}

static void add_node(struct model *model, uint8_t type, uint8_t ports)
{
	struct model_node *added = &model->nodes[model->node_count];
	struct node *node = &added->node;

	/* GUIDs of all sizes, also with the highest bit set. */
	node->guid = map_mix(model->node_count + 1) | 1;
	node->system_guid = model_random(model, UINT64_MAX);
	node->vendor_id = (uint32_t)model_random(model, UINT32_MAX);
	node->revision = (uint32_t)model_random(model, UINT32_MAX);
	node->device_id = (uint16_t)model_random(model, UINT16_MAX);
	node->type = type;
	node->port_count = ports;
	node->lid = type == NODE_SWITCH ? (uint16_t)(model->node_count + 1) : 0;
	node->enhanced_port0 = type == NODE_SWITCH && one_in(model, 2);
	node->adaptive = type == NODE_SWITCH ? (uint8_t)(node->guid >> 8) % (ADAPTIVE_ON + 1) : ADAPTIVE_UNKNOWN;
	added->there = true;
	describe(model, node);
	for (unsigned num = type == NODE_SWITCH ? 0 : 1; num <= ports; num++) {
		struct model_port *port = &model->ports[model->port_count++];

		port->node = (uint32_t)model->node_count;
		port->num = (uint8_t)num;
		port->there = true;
		port->pollable = num || node->enhanced_port0;
		port->state = PORT_ACTIVE;
		port->peer = FABRIC_NONE;
		port->present = COUNTER_BIT(COUNTER_COUNT) - 1;
		port->wide = one_in(model, 4) ? 0 : COUNTER_TRAFFIC_SET;
		if (one_in(model, 4))
			port->wide = port->present;
		if (!port->wide)
			port->present &= ~(COUNTER_BIT(COUNTER_UNICAST_XMIT_PACKETS) |
					   COUNTER_BIT(COUNTER_UNICAST_RCV_PACKETS) |
					   COUNTER_BIT(COUNTER_MULTICAST_XMIT_PACKETS) |
					   COUNTER_BIT(COUNTER_MULTICAST_RCV_PACKETS));
	}
	model->node_count++;
}

static void link_ports(struct model *model, uint32_t a, uint32_t b)
{
	struct model_port *left = &model->ports[a], *right = &model->ports[b];

	if (a == b || !left->num || !right->num)
		return;
	if (left->peer != FABRIC_NONE)
		model->ports[left->peer].peer = FABRIC_NONE;
	if (right->peer != FABRIC_NONE)
		model->ports[right->peer].peer = FABRIC_NONE;
	left->peer = b;
	right->peer = a;
}

struct model *model_create(uint64_t seed, size_t switches, uint8_t radix, size_t hosts)
{
	struct model *model = must(calloc(1, sizeof(*model)));
	size_t ports = switches * (radix + 1u) + hosts * 2;

	model->random = map_mix(seed + 1);
	model->nodes = must(calloc(switches + hosts, sizeof(*model->nodes)));
	model->ports = must(calloc(ports, sizeof(*model->ports)));
	model->index_of = must(calloc(ports, sizeof(*model->index_of)));
	model->samples = must(calloc(ports, sizeof(*model->samples)));
	model->readings = must(calloc(ports, sizeof(*model->readings)));
	model->deltas = must(calloc(ports, sizeof(*model->deltas)));
	model->detail_random = map_mix(seed + 2);
	model->detail_samples = must(calloc(ports * DETAIL_ATTRIBUTE_COUNT, sizeof(*model->detail_samples)));
	model->details = must(calloc(ports * DETAIL_ATTRIBUTE_COUNT, sizeof(*model->details)));
	for (size_t i = 0; i < switches; i++)
		add_node(model, NODE_SWITCH, radix);
	for (size_t i = 0; i < hosts; i++)
		add_node(model, NODE_CA, 2);
	for (size_t i = 0; i + 1 < ports; i++)
		link_ports(model, (uint32_t)model_random(model, ports), (uint32_t)model_random(model, ports));
	model->boot_us = 1000000;
	model->wall_us = INT64_C(1795000000000000);
	snprintf(model->boot_id, sizeof(model->boot_id), "00000000-0000-4000-8000-%012u", 1u);
	model->sweep.interval_us = 1000000;
	return model;
}

void model_destroy(struct model *model)
{
	if (!model)
		return;
	for (size_t i = 0; i < model->fabric_count; i++)
		fabric_destroy(model->fabrics[i]);
	for (size_t i = 0; i < model->sweep_count; i++) {
		free(model->sweeps[i].truth);
		free(model->sweeps[i].details);
	}
	free(model->fabrics);
	free(model->sweeps);
	free(model->nodes);
	free(model->ports);
	free(model->index_of);
	free(model->samples);
	free(model->readings);
	free(model->deltas);
	free(model->detail_samples);
	free(model->details);
	free(model);
}

static void add_to_fabric(struct model *model, struct fabric *fabric, size_t index)
{
	const struct model_node *from = &model->nodes[index];

	if (fabric_add_node(fabric, &from->node, NULL) < 0)
		abort();
	for (size_t p = 0; p < model->port_count; p++) {
		const struct model_port *port = &model->ports[p];
		bool up = port->state >= PORT_INIT;
		struct port added = { .num = port->num, .state = port->state,
				      .phys_state = up ? PHYS_LINK_UP : PHYS_POLLING,
				      .speed = up ? LINK_SPEED_HDR : LINK_SPEED_NONE, .width = up ? LINK_WIDTH_4X : 0,
				      .speed_enabled = 0xfffe, .speed_supported = (uint16_t)(1 << LINK_SPEED_HDR),
				      .width_enabled = 31, .width_supported = 3, .cap_mask = UINT32_MAX - port->num,
				      .lid = (uint16_t)(0xbf00 + index), .sm_lid = 7, .lmc = 3,
				      .guid = from->node.type == NODE_SWITCH ? 0 : from->node.guid + port->num };
		int64_t at;

		if (port->node != index || !port->there)
			continue;
		at = fabric_add_port(fabric, &added, NULL);
		if (at < 0)
			abort();
		model->index_of[p] = (uint32_t)at;
	}
}

/* The current fabric, with its nodes in random order. */
static void build_fabric(struct model *model)
{
	struct fabric *fabric = must(fabric_create(NULL));
	size_t first = model_random(model, model->node_count);

	memset(model->index_of, 0xff, model->port_count * sizeof(*model->index_of));
	for (size_t i = 0; i < model->node_count; i++) {
		size_t index = (first + i) % model->node_count;

		if (model->nodes[index].there)
			add_to_fabric(model, fabric, index);
	}
	for (size_t p = 0; p < model->port_count; p++) {
		uint32_t peer = model->ports[p].peer;

		if (peer != FABRIC_NONE && model->index_of[p] != FABRIC_NONE && model->index_of[peer] != FABRIC_NONE &&
		    fabric_link(fabric, model->index_of[p], model->index_of[peer], NULL) < 0)
			abort();
	}
	if (fabric_finish(fabric, NULL, NULL) < 0)
		abort();
	fabric->from_node = (uint32_t)model_random(model, fabric->node_count);
	fabric->from_port = 1;
	model->fabrics = must(reallocarray(model->fabrics, model->fabric_count + 1, sizeof(*model->fabrics)));
	model->fabrics[model->fabric_count++] = fabric;
	model->sweep.fabric = fabric;
	model->sweep.generation = model->fabric_count;
}

static void change_topology(struct model *model)
{
	struct model_port *port = &model->ports[model_random(model, model->port_count)];
	struct model_node *node = &model->nodes[model_random(model, model->node_count)];

	switch (model_random(model, 7)) {
	case 0:
		node->there = !node->there;
		if (model->nodes[0].there == false)
			model->nodes[0].there = true; /* never an empty fabric */
		break;
	case 1:
		describe(model, &node->node);
		break;
	case 2:
		node->node.lid = node->node.type == NODE_SWITCH ? (uint16_t)(1 + model_random(model, 40000)) : 0;
		break;
	case 3:
		port->there = !port->there || !port->num;
		break;
	case 4:
		port->state = port->state == PORT_ACTIVE ? PORT_DOWN : PORT_ACTIVE;
		break;
	default:
		link_ports(model, (uint32_t)(port - model->ports), (uint32_t)model_random(model, model->port_count));
	}
}

/* A busy NDR link in 1 s: 25 GB, packets of 4 KB, hardly any multicast. */
static uint64_t calm_step(struct model *model, int counter)
{
	switch (counter) {
	case COUNTER_XMIT_DATA:
	case COUNTER_RCV_DATA:
		return UINT64_C(6000000000) + model_random(model, 500000000);
	case COUNTER_MULTICAST_XMIT_PACKETS:
	case COUNTER_MULTICAST_RCV_PACKETS:
		return model_random(model, 4);
	default:
		return 6000000 + model_random(model, 500000);
	}
}

static uint64_t random_step(struct model *model, int counter)
{
	if (counter < COUNTER_TRAFFIC_COUNT) {
		if (model->calm)
			return calm_step(model, counter);
		switch (model_random(model, 8)) {
		case 0:
			return 0;
		case 1:
			return model_random(model, UINT64_MAX);
		case 2:
			return UINT64_MAX;
		default:
			return model_random(model, UINT64_C(1) << (1 + model_random(model, 40)));
		}
	}
	return one_in(model, model->calm ? 20000 : 10) ? 1 + model_random(model, 30) : 0;
}

static void count(struct model *model, struct model_port *port)
{
	struct reading limits = { .present = port->present, .wide = port->wide };

	if (!model->calm && one_in(model, 60))
		port->present ^= COUNTER_BIT(model_random(model, COUNTER_COUNT));
	if (!model->calm && one_in(model, 60))
		port->wide ^= COUNTER_BIT(model_random(model, COUNTER_COUNT));
	for (int i = 0; i < COUNTER_COUNT; i++) {
		uint64_t max, step = random_step(model, i);

		limits.wide = port->wide;
		max = reading_max(&limits, (enum counter)i);
		if (!model->calm && one_in(model, 50))
			port->value[i] = model_random(model, 100); /* reset */
		if (!model->calm && one_in(model, 200))
			port->value[i] = max - model_random(model, 3);
		if (port->value[i] > max)
			port->value[i] = max;
		port->value[i] = step > max - port->value[i] ? max : port->value[i] + step;
	}
}

static enum sample_status status_of(struct model *model, struct model_port *port)
{
	if (model->calm)
		return SAMPLE_OK;
	if (port->state < PORT_INIT)
		return SAMPLE_DOWN;
	if (one_in(model, 25))
		port->mood = one_in(model, 2) ? SAMPLE_OK
			: (enum sample_status)(1 + model_random(model, SAMPLE_STATUS_COUNT - 1));
	return port->mood == SAMPLE_DOWN ? SAMPLE_OK : port->mood;
}

/* A reading of a port, and its delta. */
static void read_port(struct model *model, struct model_port *port, struct port_sample *sample)
{
	struct reading *reading = &model->readings[sample - model->samples];
	struct delta *delta = &model->deltas[sample - model->samples];

	memset(reading, 0, sizeof(*reading));
	reading->at_us = model->boot_us + (int64_t)model_random(model, 100000);
	reading->present = port->present;
	reading->wide = port->wide & port->present;
	for (int i = 0; i < COUNTER_COUNT; i++)
		if (reading->present & COUNTER_BIT(i))
			reading->value[i] = port->value[i];
	sample->reading = reading;
	if (port->has_last) {
		delta_between(&port->last, reading, delta);
		sample->delta = delta;
	}
	port->has_last = true;
	port->last = *reading;
	port->last_wall_us = model->sweep.wall_us;
	port->last_start_us = model->sweep.start_us;
	port->last_at_us = reading->at_us;
	port->last_boot = model->boot;
}

static void keep(struct model *model)
{
	struct model_sweep *kept;

	if (model->sweep_count == model->sweep_capacity) {
		model->sweep_capacity = model->sweep_capacity ? 2 * model->sweep_capacity : 256;
		model->sweeps = must(reallocarray(model->sweeps, model->sweep_capacity, sizeof(*model->sweeps)));
	}
	kept = &model->sweeps[model->sweep_count++];
	*kept = (struct model_sweep){ .wall_us = model->sweep.wall_us,
				      .fabric = model->fabrics[model->fabric_count - 1],
				      .ports_unfinished = model->sweep.ports_unfinished,
				      .spread_us = model->sweep.spread_us,
				      .node_spread_us = model->sweep.node_spread_us };
	if (model->keep_history)
		kept->truth = must(calloc(model->port_count, sizeof(*kept->truth)));
}

static void keep_port(struct model *model, size_t index, const struct port_sample *sample)
{
	struct model_port *port = &model->ports[index];
	struct model_truth *truth;

	if (!model->keep_history)
		return;
	truth = &model->sweeps[model->sweep_count - 1].truth[index];
	truth->has_reading = port->has_last;
	truth->reading = port->last;
	truth->reading.at_us = port->last_at_us;
	truth->last_wall_us = !port->has_last || port->last_boot != model->boot ? port->last_wall_us :
			      model->sweep.wall_us - (model->sweep.start_us - port->last_start_us);
	if (!sample)
		return;
	truth->sampled = true;
	truth->status = sample->status;
	truth->has_delta = sample->delta != NULL;
	if (sample->delta)
		truth->delta = *sample->delta;
}

static void sample_ports(struct model *model)
{
	uint32_t *port_of = must(malloc((model->sweep.fabric->port_count + 1) * sizeof(*port_of)));
	size_t samples = 0;

	for (size_t p = 0; p < model->port_count; p++)
		if (model->index_of[p] != FABRIC_NONE)
			port_of[model->index_of[p]] = (uint32_t)p;
	for (size_t p = 0; p < model->port_count; p++) {
		count(model, &model->ports[p]);
		if (model->index_of[p] == FABRIC_NONE || !model->ports[p].pollable)
			keep_port(model, p, NULL);
	}
	for (size_t i = 0; i < model->sweep.fabric->port_count; i++) {
		struct model_port *port = &model->ports[port_of[i]];
		struct port_sample *sample = &model->samples[samples];

		if (!port->pollable)
			continue;
		*sample = (struct port_sample){ .port = (uint32_t)i, .status = status_of(model, port) };
		if (sample->status == SAMPLE_OK)
			read_port(model, port, sample);
		keep_port(model, port_of[i], sample);
		/* An unplanned port may have no sample. */
		if (sample->status != SAMPLE_UNPLANNED || one_in(model, 2))
			samples++;
	}
	model->sweep.samples = model->samples;
	model->sweep.sample_count = samples;
	free(port_of);
}

const struct sweep *model_step(struct model *model)
{
	struct sweep *sweep = &model->sweep;
	int64_t passed_us = 1000000 + (int64_t)model_random(model, 1000);

	model->boot_us += passed_us;
	model->wall_us += passed_us;
	if (!model->fabric_count || (!model->calm && one_in(model, 8))) {
		for (uint64_t i = model->fabric_count ? model_random(model, 3) : 0; i; i--)
			change_topology(model);
		build_fabric(model);
	}
	model->swept_boot = model->boot;
	sweep->wall_us = model->wall_us;
	sweep->start_us = model->boot_us;
	sweep->end_us = model->boot_us + 100000;
	memcpy(sweep->boot_id, model->boot_id, sizeof(sweep->boot_id));
	sweep->discovery_smps = model_random(model, 1000);
	sweep->mads_sent = model_random(model, UINT64_MAX);
	sweep->ports_planned = (uint32_t)sweep->fabric->port_count;
	sweep->sm = (struct sm_state){ .known = true, .lid = 7, .guid = UINT64_MAX - model_random(model, 9), .state = 3,
				       .priority = 15, .act_count = UINT32_MAX };
	sweep->event_count = 0;
	if (!model->calm && one_in(model, 3)) {
		model->event = (struct event){ .wall_us = sweep->wall_us, .kind = "node-silent",
					       .severity = EVENT_WARNING, .port = 1,
					       .node_guid = model->nodes[0].node.guid };
		snprintf(model->event.text, sizeof(model->event.text), "something 'happened' in sweep %zu",
			 model->sweep_count + 1);
		sweep->events = &model->event;
		sweep->event_count = 1;
	}
	sweep->ports_unfinished = (uint32_t)(sweep->mads_sent % 7);
	sweep->spread_us = (int64_t)(sweep->mads_sent % 100000);
	sweep->node_spread_us = sweep->spread_us / 2;
	keep(model);
	sample_ports(model);
	model_sample_details(model);
	return sweep;
}

void model_reboot(struct model *model)
{
	int64_t before_us = model->boot_us;

	snprintf(model->boot_id, sizeof(model->boot_id), "00000000-0000-4000-8000-%012u",
		 1 + ++model->boot);
	model->boot_us = 500000 + (int64_t)model_random(model, 1000000);
	/* As in the collector: readings of the previous boot are converted to the time of this one. */
	for (size_t p = 0; p < model->port_count; p++) {
		model->ports[p].last.at_us += model->boot_us - before_us;
		for (int i = 0; i < DETAIL_ATTRIBUTE_COUNT; i++)
			model->ports[p].details[i].last.at_us += model->boot_us - before_us;
	}
}

void model_jump(struct model *model, int64_t by_us)
{
	model->wall_us += by_us;
}
