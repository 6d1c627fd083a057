/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "collector/hidden_reset.h"

#include "collector/node_memory.h"
#include "collector/sweep_result.h"
#include "fabric/fabric.h"

/* Resets of a port within this time are of one tool. */
#define REPEATED_US (10 * 60 * INT64_C(1000000))

/* So long after counters of a port decreased, others of it may be cleared again. */
#define STOPPED_US (60 * INT64_C(1000000))

/* From this number of ports in a sweep on, at this number of nodes, a tool clears the whole fabric. */
enum { WHOLE_FABRIC = 10, WHOLE_FABRIC_NODES = 3 };

/* Reading times are inexact. */
#define RATE_TOLERANCE 1.1

/* A reset that hides less of the traffic of a sweep is ignored. */
#define HIDDEN_PART 0.01

static void remember(struct port_entry *port, int64_t now_us)
{
	if (!port->resets || now_us - port->reset_us > REPEATED_US)
		port->resets = 0;
	if (now_us != port->reset_us && port->resets < 2)
		port->resets++;
	port->reset_us = now_us;
}

/* The traffic counters that the link can have brought from 0 to their reading since the one before. */
static counter_set can_be_hidden(const struct fabric *fabric, const struct port_sample *sample)
{
	const counter_set xmit = COUNTER_BIT(COUNTER_XMIT_DATA) | COUNTER_BIT(COUNTER_XMIT_PACKETS) |
				 COUNTER_BIT(COUNTER_UNICAST_XMIT_PACKETS) |
				 COUNTER_BIT(COUNTER_MULTICAST_XMIT_PACKETS);
	const counter_set rcv = COUNTER_BIT(COUNTER_RCV_DATA) | COUNTER_BIT(COUNTER_RCV_PACKETS) |
				COUNTER_BIT(COUNTER_UNICAST_RCV_PACKETS) | COUNTER_BIT(COUNTER_MULTICAST_RCV_PACKETS);
	double bits_per_s = (double)port_rate_bits_per_s(&fabric->ports[sample->port]) * RATE_TOLERANCE;
	double words = bits_per_s / 32 * (double)sample->delta->elapsed_us / 1e6;
	counter_set hidden = 0;

	if ((double)sample->reading->value[COUNTER_XMIT_DATA] <= words)
		hidden |= xmit;
	if ((double)sample->reading->value[COUNTER_RCV_DATA] <= words)
		hidden |= rcv;
	return hidden & sample->delta->known & ~sample->delta->reset;
}

/*
 * The other counters that count: no rate limits them. PortCounters can be cleared alone; counters with 64 bits are
 * cleared with those of the traffic.
 */
static counter_set others_can_be_hidden(const struct port_sample *sample, counter_set traffic)
{
	const struct reading *reading = sample->reading;
	counter_set hidden = 0;

	for (int i = 0; i < COUNTER_COUNT; i++)
		hidden |= reading->value[i] ? DELTA_LOST_SET & COUNTER_BIT(i) : 0;
	return hidden & sample->delta->known & ~sample->delta->reset & ~(traffic ? 0 : reading->wide);
}

/*
 * Remember the rates of a port: of both directions the last exact one, or a greater one since.
 * Return: whether one is less than the last exact one, or there is none, as after a restart of the collector.
 */
static bool note_rates(struct port_entry *port, const struct delta *delta, bool exact)
{
	bool less = false;

	for (int i = 0; i < 2 && delta->elapsed_us > 0; i++) {
		counter_set bit = COUNTER_BIT(i ? COUNTER_RCV_DATA : COUNTER_XMIT_DATA);
		double rate = (double)delta->value[i ? COUNTER_RCV_DATA : COUNTER_XMIT_DATA] /
			      (double)delta->elapsed_us, before = (double)port->words_per_us[i];

		if (!(delta->known & bit))
			continue;
		less |= !port->has_rate[i] || rate < (1 - HIDDEN_PART) * before;
		if (exact && !((delta->reset | delta->saturated) & bit))
			port->has_rate[i] = true;
		else if (rate <= before)
			continue;
		port->words_per_us[i] = (float)rate;
	}
	return less;
}

/*
 * @cleared: in this sweep, counters of its node or of many ports decreased
 * @proof_us: shorter deltas, as the first one after a restart of the collector, do not end a doubt
 */
static void mark_port(const struct fabric *fabric, struct port_sample *sample, struct delta *delta,
		      struct port_entry *port, bool cleared, int64_t now_us, int64_t proof_us)
{
	bool again = port->resets >= 2 && now_us - port->reset_us <= REPEATED_US, less;

	if (cleared)
		port->doubtful_us = now_us;
	if (now_us - port->doubtful_us > REPEATED_US)
		port->doubtful_us = 0;
	if (!sample->delta)
		return;
	less = note_rates(port, delta, !port->doubtful_us && !again);
	if (cleared || again || (port->doubtful_us && less))
		sample->suspected = can_be_hidden(fabric, sample);
	if (!cleared && !sample->suspected && delta->elapsed_us >= proof_us)
		port->doubtful_us = 0;
	if (port->resets && now_us - port->reset_us <= STOPPED_US)
		sample->suspected |= others_can_be_hidden(sample, sample->suspected);
	delta->reset |= sample->suspected;
}

void hidden_reset_mark(struct sweep_result *result, struct node_memory *memory, int64_t now_us, int64_t interval_us)
{
	const struct fabric *fabric = memory->fabric;
	size_t ports = 0, nodes = 0, end;
	uint32_t last = FABRIC_NONE;

	for (size_t i = 0; i < result->count; i++) {
		if (!result->samples[i].delta || !result->samples[i].delta->reset)
			continue;
		ports++;
		nodes += fabric->ports[result->samples[i].port].node != last;
		last = fabric->ports[result->samples[i].port].node;
		remember(node_memory_port(memory, result->samples[i].port), now_us);
	}
	/* The samples of a node are consecutive. */
	for (size_t i = 0; i < result->count; i = end) {
		uint32_t node = fabric->ports[result->samples[i].port].node;
		bool cleared = ports >= WHOLE_FABRIC && nodes >= WHOLE_FABRIC_NODES;

		for (end = i; end < result->count && fabric->ports[result->samples[end].port].node == node; end++)
			cleared |= result->samples[end].delta && result->samples[end].delta->reset;
		for (; i < end; i++) {
			struct port_entry *port = node_memory_port(memory, result->samples[i].port);

			mark_port(fabric, &result->samples[i], &result->deltas[i], port, cleared, now_us,
				  interval_us / 2);
		}
	}
}
