/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/model/test_sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"

#define HOST_GUID UINT64_C(0x0000000000100000)
#define LEAF_GUID UINT64_C(0x0000000000200000)
#define SPINE_GUID UINT64_C(0x0000000000300000)

/* Words per second at the 4x HDR data rate of 200 Gb/s. */
#define FULL_WORDS_PER_S UINT64_C(6250000000)

static int add_node(struct fabric *fabric, uint64_t guid, uint8_t type, uint8_t ports, const char *desc,
		    struct error *err)
{
	struct node node = { .guid = guid, .system_guid = guid, .type = type, .port_count = ports };
	struct port port = {
		.state = PORT_DOWN, .phys_state = PHYS_POLLING,
		.speed_enabled = 1 << LINK_SPEED_HDR, .speed_supported = 1 << LINK_SPEED_HDR,
		.width_enabled = LINK_WIDTH_4X, .width_supported = LINK_WIDTH_4X,
	};
	uint16_t lid = (uint16_t)(fabric->node_count + 1);

	snprintf(node.desc, sizeof(node.desc), "%s", desc);
	if (type == NODE_SWITCH)
		node.lid = lid;
	if (fabric_add_node(fabric, &node, err) < 0)
		return err ? err->code : ERR_INTERNAL;
	for (int num = 1; num <= ports; num++) {
		port.num = (uint8_t)num;
		port.lid = type == NODE_SWITCH ? 0 : lid;
		port.guid = type == NODE_SWITCH ? 0 : guid + 1;
		if (fabric_add_port(fabric, &port, err) < 0)
			return err ? err->code : ERR_INTERNAL;
	}
	return 0;
}

static int connect_ports(struct fabric *fabric, uint32_t a, uint32_t b, struct error *err)
{
	const uint32_t ends[] = { a, b };

	for (size_t i = 0; i < 2; i++) {
		fabric->ports[ends[i]].state = PORT_ACTIVE;
		fabric->ports[ends[i]].phys_state = PHYS_LINK_UP;
		fabric->ports[ends[i]].speed = LINK_SPEED_HDR;
		fabric->ports[ends[i]].width = LINK_WIDTH_4X;
	}
	return fabric_link(fabric, a, b, err);
}

static uint32_t port_at(const struct fabric *fabric, uint32_t node, unsigned num)
{
	return fabric->nodes[node].first_port + num - 1;
}

/* A spine has room for 254 leaves; further ones are islands, good enough to be many. */
static uint8_t spine_ports(unsigned leaves)
{
	return (uint8_t)(leaves < 64 ? 64 : leaves > 254 ? 254 : leaves);
}

static int add_nodes(struct fabric *fabric, unsigned leaves, struct error *err)
{
	char desc[NODE_DESC_SIZE];
	int status = 0;

	for (unsigned i = 0; i < leaves * SAMPLE_HOSTS_PER_LEAF && !status; i++) {
		snprintf(desc, sizeof(desc), "node%04u mlx5_0", i + 1);
		status = add_node(fabric, HOST_GUID + i * 16, NODE_CA, 1,
				  i == 8 ? "\x1b[31mred\" \xe6\x97\xa5\xe6\x9c\xac,\x07 mlx5_0" : desc, err);
	}
	for (unsigned i = 0; i < leaves && !status; i++) {
		snprintf(desc, sizeof(desc), "MF0;leaf%02u:MQM8700/U1", i + 1);
		status = add_node(fabric, LEAF_GUID + i, NODE_SWITCH, SAMPLE_SWITCH_PORTS, desc, err);
	}
	for (unsigned i = 0; i < SAMPLE_SPINES && !status; i++) {
		snprintf(desc, sizeof(desc), "spine%02u", i + 1);
		status = add_node(fabric, SPINE_GUID + i, NODE_SWITCH, spine_ports(leaves), desc, err);
	}
	return status;
}

static int link_nodes(struct fabric *fabric, unsigned leaves, bool down, struct error *err)
{
	unsigned hosts = leaves * SAMPLE_HOSTS_PER_LEAF;
	int status = 0;

	for (unsigned i = 0; i < hosts && !status; i++)
		status = connect_ports(
			fabric, port_at(fabric, i, 1),
			port_at(fabric, hosts + i / SAMPLE_HOSTS_PER_LEAF, i % SAMPLE_HOSTS_PER_LEAF + 1), err);
	for (unsigned leaf = 0; leaf < leaves; leaf++)
		for (unsigned i = 0; i < SAMPLE_SPINES && !status; i++) {
			if ((down && leaf == 1 && i == 0) || leaf >= spine_ports(leaves))
				continue;
			status = connect_ports(fabric, port_at(fabric, hosts + leaf, SAMPLE_HOSTS_PER_LEAF + 1 + i),
					       port_at(fabric, hosts + leaves + i, leaf + 1), err);
		}
	return status;
}

int sample_create(struct sample *sample, unsigned leaves, bool down, struct error *err)
{
	int status = 0;

	memset(sample, 0, sizeof(*sample));
	sample->fabric = fabric_create(err);
	if (!sample->fabric)
		return ERR_NOMEM;
	status = add_nodes(sample->fabric, leaves, err);
	if (!status)
		status = link_nodes(sample->fabric, leaves, down, err);
	if (!status)
		status = fabric_finish(sample->fabric, NULL, err);
	sample->samples = calloc(sample->fabric->port_count, sizeof(*sample->samples));
	sample->readings = calloc(sample->fabric->port_count, sizeof(*sample->readings));
	sample->deltas = calloc(sample->fabric->port_count, sizeof(*sample->deltas));
	if (!status && (!sample->samples || !sample->readings || !sample->deltas))
		status = err_nomem(err);
	if (status)
		sample_destroy(sample);
	return status;
}

void sample_destroy(struct sample *sample)
{
	fabric_destroy(sample->fabric);
	free(sample->samples);
	free(sample->readings);
	free(sample->deltas);
	memset(sample, 0, sizeof(*sample));
}

static enum sample_status status_of(const struct fabric *fabric, const struct port *port, unsigned number)
{
	const struct node *node = &fabric->nodes[port->node];

	if (port->state == PORT_DOWN)
		return SAMPLE_DOWN;
	if (node->guid == LEAF_GUID && port->num == 3 && number > 0)
		return SAMPLE_SILENT;
	if (node->guid == HOST_GUID + 4 * 16)
		return SAMPLE_UNSUPPORTED;
	if (node->guid == HOST_GUID + 6 * 16)
		return SAMPLE_LOCKED;
	return SAMPLE_OK;
}

/* Load of a direction in parts of 1,000: both ends of a link agree. */
static uint64_t load_of(const struct fabric *fabric, uint32_t from)
{
	const struct port *port = &fabric->ports[from];
	uint64_t guid = fabric->nodes[port->node].guid;

	if (guid == HOST_GUID + 8 * 16 ||
	    (port->peer != FABRIC_NONE && fabric->nodes[fabric->ports[port->peer].node].guid == HOST_GUID + 8 * 16))
		return 0;
	if (guid == LEAF_GUID && port->num == 1)
		return 950;
	if (guid == HOST_GUID)
		return 500;
	return map_mix(guid * 256 + port->num) % 800;
}

static void fill(struct sample *sample, uint32_t index, unsigned number, int64_t end_us, int64_t interval_us)
{
	const struct fabric *fabric = sample->fabric;
	const struct port *port = &fabric->ports[index];
	struct reading *reading = &sample->readings[index];
	struct delta *delta = &sample->deltas[index];
	uint64_t seconds = (uint64_t)(interval_us / US_PER_S), xmit, rcv;

	xmit = load_of(fabric, index) * FULL_WORDS_PER_S / 1000 * seconds;
	rcv = (port->peer == FABRIC_NONE ? 0 : load_of(fabric, port->peer)) * FULL_WORDS_PER_S / 1000 * seconds;
	memset(delta, 0, sizeof(*delta));
	delta->elapsed_us = interval_us;
	delta->known = COUNTER_BIT(COUNTER_COUNT) - 1;
	delta->value[COUNTER_XMIT_DATA] = xmit;
	delta->value[COUNTER_RCV_DATA] = rcv;
	delta->value[COUNTER_XMIT_PACKETS] = xmit / 1024;
	delta->value[COUNTER_RCV_PACKETS] = rcv / 1024;
	delta->value[COUNTER_XMIT_WAIT] = xmit / 4096;
	if (fabric->nodes[port->node].guid == LEAF_GUID + 1 && port->num == 2) {
		delta->value[COUNTER_SYMBOL_ERRORS] = 2;
		delta->value[COUNTER_RCV_ERRORS] = 1;
	}
	memset(reading, 0, sizeof(*reading));
	reading->at_us = end_us;
	reading->present = delta->known;
	reading->wide = COUNTER_TRAFFIC_SET;
	for (unsigned i = 0; i < COUNTER_COUNT; i++)
		reading->value[i] = delta->value[i] * number;
}

void sample_sweep(struct sample *sample, unsigned number, int64_t wall_us, int64_t interval_us, struct sweep *ret)
{
	const struct fabric *fabric = sample->fabric;
	int64_t start_us = 1000 * US_PER_S + number * interval_us;
	size_t count = 0;

	memset(ret, 0, sizeof(*ret));
	ret->wall_us = wall_us;
	ret->start_us = start_us;
	ret->end_us = start_us + 31 * US_PER_MS;
	ret->interval_us = interval_us;
	snprintf(ret->boot_id, sizeof(ret->boot_id), "00000000-0000-0000-0000-000000000001");
	ret->sm = (struct sm_state){ true, 1, HOST_GUID + 1, 3, 14, 1000 + number };
	ret->fabric = fabric;
	for (uint32_t i = 0; i < fabric->port_count; i++) {
		struct port_sample *to = &sample->samples[count];

		if (!port_is_pollable(fabric, &fabric->ports[i]))
			continue;
		count++;
		*to = (struct port_sample){ .port = i, .status = status_of(fabric, &fabric->ports[i], number) };
		ret->ports_planned++;
		ret->ports_polled += to->status != SAMPLE_DOWN && to->status != SAMPLE_UNSUPPORTED;
		if (to->status != SAMPLE_OK)
			continue;
		ret->ports_answered++;
		fill(sample, i, number, ret->end_us, interval_us);
		to->reading = &sample->readings[i];
		if (number)
			to->delta = &sample->deltas[i];
	}
	ret->samples = sample->samples;
	ret->sample_count = count;
	ret->mads_sent = 2 * ret->ports_polled;
}

int sample_snapshot(struct sample *sample, unsigned number, int64_t wall_us, int64_t interval_us,
		    struct snapshot *ret)
{
	struct sweep sweep;

	free(ret->rows);
	memset(ret, 0, sizeof(*ret));
	ret->fabric = sample->fabric;
	ret->rows = calloc(sample->fabric->port_count, sizeof(*ret->rows));
	if (!ret->rows)
		return ERR_NOMEM;
	sample_sweep(sample, number, wall_us, interval_us, &sweep);
	ret->sweep.id = number + 1;
	ret->sweep.wall_us = sweep.wall_us;
	ret->sweep.interval_us = sweep.interval_us;
	for (size_t i = 0; i < sweep.sample_count; i++) {
		const struct port_sample *from = &sweep.samples[i];
		struct port_row *row = &ret->rows[from->port];

		row->status = from->status;
		if (from->delta)
			row->sum = *from->delta;
		row->last_wall_us = from->status == SAMPLE_OK ? sweep.wall_us : 0;
	}
	return 0;
}

int sample_model_set(struct sample_model *model)
{
	return port_table_set(&model->table, &model->snapshot, &model->sums, NULL, NULL);
}

void *sample_model_create(size_t size, unsigned leaves, bool read)
{
	struct sample_model *model = calloc(1, size);
	int64_t wall_us = SAMPLE_START_US + SAMPLE_INTERVAL_US;

	if (!model || sample_create(&model->sample, leaves, true, NULL) < 0)
		return NULL;
	if (sample_snapshot(&model->sample, 1, wall_us, SAMPLE_INTERVAL_US, &model->snapshot) < 0)
		return NULL;
	if (!read)
		memset(model->snapshot.rows, 0, model->sample.fabric->port_count * sizeof(*model->snapshot.rows));
	if (error_sums_add(&model->sums, &model->snapshot, NULL) < 0 || sample_model_set(model) < 0 ||
	    shape_create(model->sample.fabric, NULL, &model->context.shape, NULL) < 0)
		return NULL;
	return model;
}

void sample_model_done(struct sample_model *model)
{
	shape_destroy(model->context.shape);
	port_table_done(&model->table);
	error_sums_done(&model->sums);
	free(model->snapshot.rows);
	sample_destroy(&model->sample);
}
