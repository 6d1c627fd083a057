/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tests/bench/fabric_day.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/map.h"
#include "collector/sink.h"
#include "fabric/fabric.h"
#include "sim/net_shape.h"
#include "storage/test/test_day.h"

#define SECOND_US INT64_C(1000000)
#define COUNTER_ALL (COUNTER_BIT(COUNTER_COUNT) - 1)

struct fabric_day {
	struct fabric *fabric;
	struct day_port *traffic; /* by sample */
	struct port_sample *samples;
	struct reading *readings;
	struct delta *deltas;
	struct sweep sweep;
	bool begun;
};

static struct net_shape choose_shape(size_t ports)
{
	struct net_shape shape = net_shape_default(NET_SHAPE_RAIL);

	shape.management = 0;
	shape.hosts = 32;
	if (ports < 1024) {
		shape = net_shape_default(NET_SHAPE_TREE2);
		shape.management = 0;
		shape.units = shape.rails = 1;
		shape.leafs = ports > 64 ? (unsigned)(ports / 32) : 2;
		shape.hosts = shape.spines = 8;
		shape.links = 1;
	} else if (ports <= 31744) {
		shape.units = (unsigned)((ports + 512) / 1024);
		shape.rails = 8;
		shape.spines = shape.units <= 7 ? 16 : 32;
		shape.links = shape.units <= 7 ? 2 : 1;
	} else {
		shape = net_shape_default(NET_SHAPE_TREE3);
		shape.management = 0;
		shape.leafs = shape.hosts = shape.spines = 32;
		shape.rails = 1;
		shape.units = (unsigned)((ports + 3072) / 6144);
		shape.cores = 256;
	}
	shape.speed = LINK_SPEED_HDR;
	return shape;
}

static void *allocate(size_t count, size_t size)
{
	void *memory = calloc(count, size);

	if (!memory)
		abort();
	return memory;
}

static void make_samples(struct fabric_day *day, uint64_t seed)
{
	size_t ports = day->fabric->port_count, samples = 0;

	day->traffic = allocate(ports, sizeof(*day->traffic));
	day->samples = allocate(ports, sizeof(*day->samples));
	day->readings = allocate(ports, sizeof(*day->readings));
	day->deltas = allocate(ports, sizeof(*day->deltas));
	for (size_t i = 0; i < ports; i++) {
		if (!port_is_pollable(day->fabric, &day->fabric->ports[i]))
			continue;
		day_begin(&day->traffic[samples], map_mix(seed * 1000003 + i));
		day->samples[samples] = (struct port_sample){ .port = (uint32_t)i, .status = SAMPLE_OK,
							      .reading = &day->readings[samples] };
		samples++;
	}
	day->sweep.samples = day->samples;
	day->sweep.sample_count = samples;
}

int fabric_day_create(const struct fabric_day_settings *settings, struct fabric_day **ret, struct error *err)
{
	struct net_shape shape = settings->shape ? *settings->shape : choose_shape(settings->ports);
	struct fabric *fabric;
	struct fabric_day *day;
	int code = net_shape_build(&shape, &fabric, err);

	if (code < 0)
		return code;
	fabric->from_node = 0;
	fabric->from_port = 1;
	day = allocate(1, sizeof(*day));
	*day = (struct fabric_day){
		.fabric = fabric,
		.sweep = {
			.fabric = fabric, .generation = 1, .interval_us = settings->interval_us,
			.wall_us = settings->begin_us - settings->interval_us, .start_us = 100 * SECOND_US,
			.boot_id = "11111111-2222-4333-8444-555555555555",
		},
	};
	make_samples(day, settings->seed);
	*ret = day;
	return 0;
}

void fabric_day_destroy(struct fabric_day *day)
{
	if (!day)
		return;
	fabric_destroy(day->fabric);
	free(day->traffic);
	free(day->samples);
	free(day->readings);
	free(day->deltas);
	free(day);
}

static void read_port(struct fabric_day *day, size_t index)
{
	struct reading *reading = &day->readings[index];
	struct delta *delta = &day->deltas[index];

	reading->present = COUNTER_ALL;
	reading->wide = COUNTER_TRAFFIC_SET;
	if (!day->begun) {
		reading->at_us = day->sweep.start_us + (int64_t)(index * 20);
		return;
	}
	day_next(&day->traffic[index], day->sweep.interval_us, delta);
	reading->at_us += delta->elapsed_us;
	for (unsigned i = 0; i < COUNTER_COUNT; i++)
		reading->value[i] += delta->value[i];
	day->samples[index].delta = delta;
}

const struct sweep *fabric_day_step(struct fabric_day *day)
{
	struct sweep *sweep = &day->sweep;

	sweep->wall_us += sweep->interval_us;
	sweep->start_us += sweep->interval_us;
	for (size_t i = 0; i < sweep->sample_count; i++)
		read_port(day, i);
	day->begun = true;
	sweep->ports_planned = sweep->ports_polled = sweep->ports_answered = (uint32_t)sweep->sample_count;
	sweep->end_us = sweep->start_us + 20 * (int64_t)sweep->sample_count;
	sweep->spread_us = sweep->end_us - sweep->start_us;
	sweep->node_spread_us = 500;
	sweep->mads_sent = sweep->ports_polled;
	sweep->sm = (struct sm_state){ .known = true, .lid = 1, .guid = day->fabric->nodes[0].guid, .state = 3 };
	return sweep;
}
