/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "collector/sweep_result.h"

#include <stdlib.h>

#include "analysis/delta.h"
#include "base/err.h"
#include "collector/node_memory.h"
#include "fabric/fabric.h"
#include "fabric/planes.h"

void sweep_result_done(struct sweep_result *result)
{
	free(result->samples);
	free(result->readings);
	free(result->deltas);
	*result = (struct sweep_result){ 0 };
}

int sweep_result_reserve(struct sweep_result *result, size_t count, struct error *err)
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

void sweep_result_clear(struct sweep_result *result)
{
	struct sweep_result buffers = *result;

	*result = (struct sweep_result){
		.samples = buffers.samples, .readings = buffers.readings, .deltas = buffers.deltas,
		.capacity = buffers.capacity,
	};
}

/* Times of the readings of all ports or of one switch. */
struct spread {
	int64_t first_us, last_us; /* 0: none */
};

static int64_t widen(struct spread *spread, int64_t at_us)
{
	if (!spread->first_us || at_us < spread->first_us)
		spread->first_us = at_us;
	if (at_us > spread->last_us)
		spread->last_us = at_us;
	return spread->last_us - spread->first_us;
}

/* Time between the first and the last reading. */
static void measure_spread(struct sweep_result *result, const struct fabric *fabric)
{
	struct spread all = { 0 }, own = { 0 };
	uint32_t node = FABRIC_NONE;

	for (size_t i = 0; i < result->count; i++) {
		const struct port_sample *sample = &result->samples[i];
		int64_t own_us;

		if (!sample->reading)
			continue;
		if (fabric->ports[sample->port].node != node)
			own = (struct spread){ 0 };
		node = fabric->ports[sample->port].node;
		own_us = widen(&own, sample->reading->at_us);
		if (fabric->nodes[node].type == NODE_SWITCH && own_us > result->node_spread_us)
			result->node_spread_us = own_us;
		result->spread_us = widen(&all, sample->reading->at_us);
	}
}

void sweep_result_finish(struct sweep_result *result, const struct fabric *fabric, struct node_memory *memory)
{
	for (size_t i = 0; i < result->count; i++) {
		struct port_sample *sample = &result->samples[i];
		const struct port_entry *port = node_memory_port(memory, sample->port);

		/* As in analysis/health: what refuses has no counters that could be missing. */
		if (sample->status == SAMPLE_UNSUPPORTED && !port_is_plane(fabric, sample->port))
			result->ports_polled--;
		if (sample->status != SAMPLE_OK)
			continue;
		result->ports_answered++;
		sample->reading = &result->readings[i];
		if (!port->has_last || result->readings[i].at_us <= port->last.at_us)
			continue;
		delta_between(&port->last, &result->readings[i], &result->deltas[i]);
		sample->delta = &result->deltas[i];
	}
	measure_spread(result, fabric);
}

uint64_t sweep_result_drops(const struct sweep_result *result, uint32_t *ret_port)
{
	static const enum counter counters[] = { COUNTER_VL15_DROPPED, COUNTER_QP1_DROPPED };
	uint64_t drops = 0, max = 0;

	*ret_port = FABRIC_NONE;
	for (size_t i = 0; i < result->count; i++) {
		const struct delta *delta = result->samples[i].delta;
		uint64_t before = drops;

		for (size_t j = 0; delta && j < sizeof(counters) / sizeof(counters[0]); j++)
			if (delta->known & ~delta->reset & COUNTER_BIT(counters[j]))
				drops += delta->value[counters[j]];
		if (drops - before > max) {
			max = drops - before;
			*ret_port = result->samples[i].port;
		}
	}
	return drops;
}

void sweep_result_fill(const struct sweep_result *result, struct sweep *sweep)
{
	sweep->ports_planned = (uint32_t)result->count;
	sweep->ports_polled = result->ports_polled;
	sweep->ports_answered = result->ports_answered;
	sweep->ports_unfinished = result->ports_unfinished;
	sweep->spread_us = result->spread_us;
	sweep->node_spread_us = result->node_spread_us;
	sweep->sm = result->sm;
	sweep->samples = result->samples;
	sweep->sample_count = result->count;
}

void sweep_commit(const struct sweep_result *result, struct node_memory *memory)
{
	for (size_t i = 0; i < result->count; i++) {
		const struct port_sample *sample = &result->samples[i];
		struct port_entry *port = node_memory_port(memory, sample->port);

		port->status = sample->status;
		if (!sample->reading)
			continue;
		port->last = *sample->reading;
		port->has_last = true;
	}
}
