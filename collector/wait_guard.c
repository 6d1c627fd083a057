/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "collector/wait_guard.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/rate.h"
#include "collector/events.h"
#include "collector/node_memory.h"
#include "collector/sweep_result.h"
#include "fabric/fabric.h"

/* Share of the time that a port may seem to send and wait: rates are rounded, and clocks of devices differ. */
#define BUSY_LIMIT 1.01

/*
 * Responses take different times, so a port that is always busy seems to be so for a little more or less than the
 * time between two of them. Over consecutive sweeps these differences cancel out, while an excess adds up.
 */
#define READING_TIMES_US 250000.0

/*
 * Sweeps from the first one that shows it. Until the last one, a link that runs faster than known is detected, which
 * would look the same: its switch reports a change with each sweep (topology_probe.h).
 */
#define SWEEPS_UNTIL_CONTRADICTED 3

/* More devices in one sweep are reported as one event. */
#define REPORTED_MAX 10

struct wait_guard_port {
	uint64_t link_bits_per_s; /* 0: nothing is summed up */
	double excess_us;         /* time of sending and waiting above BUSY_LIMIT of the time */
	uint8_t sweeps;           /* since that was too much; 0: it was not */
	/* Of the sweep that showed it. */
	float sent_percent, waited_percent, elapsed_s;
};

void wait_guard_done(struct wait_guard *guard)
{
	free(guard->ports);
	*guard = (struct wait_guard){ 0 };
}

/* Return: false if memory is exhausted. */
static bool reserve(struct wait_guard *guard, size_t count)
{
	struct wait_guard_port *ports;

	if (count <= guard->count)
		return true;
	ports = reallocarray(guard->ports, count, sizeof(*ports));
	if (!ports)
		return false;
	memset(ports + guard->count, 0, (count - guard->count) * sizeof(*ports));
	guard->ports = ports;
	guard->count = count;
	return true;
}

static bool went_down(const struct delta *delta)
{
	return delta->known & COUNTER_BIT(COUNTER_LINK_DOWNED) && delta->value[COUNTER_LINK_DOWNED];
}

/* Add the delta of a sweep. */
static void add_delta(struct wait_guard_port *port, const struct delta *delta, const struct node *node,
		      const struct port *of, const struct pma_caps *caps)
{
	double elapsed_us = (double)delta->elapsed_us;
	double sent = rate_bytes_per_s(delta, COUNTER_XMIT_DATA).value * 8 / (double)port->link_bits_per_s;
	double waited = rate_per_s(delta, COUNTER_XMIT_WAIT).value * stall_tick_s(node, of, caps);
	double busy = isnan(sent) ? waited : sent + waited;

	/* Nothing is known of this time, or the link is faster than it is known to be. */
	if (isnan(busy) || (sent - BUSY_LIMIT) * elapsed_us > READING_TIMES_US) {
		*port = (struct wait_guard_port){ .link_bits_per_s = port->link_bits_per_s };
		return;
	}
	port->excess_us += (busy - BUSY_LIMIT) * elapsed_us;
	if (port->excess_us < 0)
		port->excess_us = 0;
	if (port->sweeps || port->excess_us <= READING_TIMES_US)
		return;
	port->sweeps = 1;
	port->sent_percent = (float)(100 * sent);
	port->waited_percent = (float)(100 * waited);
	port->elapsed_s = (float)(elapsed_us / 1e6);
}

/* Return: whether the port has contradicted the rule for as many sweeps as are needed. */
static bool step_port(struct wait_guard_port *port, const struct port_sample *sample, const struct node *node,
		      const struct port *of, const struct pma_caps *caps)
{
	uint64_t link_bits_per_s = port_rate_bits_per_s(of);
	bool changed = (port->link_bits_per_s && port->link_bits_per_s != link_bits_per_s) ||
		       (sample->delta && went_down(sample->delta));

	if (changed)
		*port = (struct wait_guard_port){ 0 };
	port->link_bits_per_s = link_bits_per_s;
	if (port->sweeps)
		port->sweeps++;
	/* Without a reading the next delta is longer. If the link changed, a part of it may be of another rate. */
	if (sample->delta && link_bits_per_s && !changed)
		add_delta(port, sample->delta, node, of, caps);
	return port->sweeps >= SWEEPS_UNTIL_CONTRADICTED;
}

static void add_event(struct events *events, int64_t wall_us, const struct fabric *fabric, uint32_t index,
		      const struct wait_guard_port *port)
{
	const struct port *of = &fabric->ports[index];
	char name[128];

	events_add(events, wall_us, EVENT_WAIT_CONTRADICTED, EVENT_INFO, fabric, of->node, of->num,
		   "%s would have sent for %.1f %% and waited for %.1f %% of %.1f s: the tick of its PortXmitWait is "
		   "not the assumed one, so ticks per second are shown from now on, and no percentage",
		   events_port_name(fabric, index, name, sizeof(name)), (double)port->sent_percent,
		   (double)port->waited_percent, (double)port->elapsed_s);
}

void wait_guard_step(struct wait_guard *guard, struct events *events, int64_t wall_us, struct node_memory *memory,
		     const struct sweep_result *result)
{
	const struct fabric *fabric = memory->fabric;
	unsigned found = 0;

	if (!reserve(guard, memory->port_count)) {
		wait_guard_done(guard);
		return;
	}
	for (size_t i = 0; i < result->count; i++) {
		const struct port_sample *sample = &result->samples[i];
		const struct port *of = &fabric->ports[sample->port];
		const struct node *node = &fabric->nodes[of->node];
		struct wait_guard_port *port = &guard->ports[node_memory_port_index(memory, sample->port)];
		struct node_entry *entry = node_memory_node(memory, of->node);

		if (stall_rule_of(node, &entry->caps) != STALL_ASSUMED) {
			port->link_bits_per_s = 0;
			continue;
		}
		if (!step_port(port, sample, node, of, &entry->caps))
			continue;
		entry->caps.wait_contradicted = true;
		entry->caps_stored = false;
		if (++found < REPORTED_MAX)
			add_event(events, wall_us, fabric, sample->port, port);
	}
	if (found >= REPORTED_MAX)
		events_add(events, wall_us, EVENT_WAIT_CONTRADICTED, EVENT_INFO, NULL, FABRIC_NONE, 0,
			   "%u HCAs, of which %u are reported, would have sent and waited for more than the time: the "
			   "tick of their PortXmitWait is not the assumed one, so ticks per second are shown from now "
			   "on, and no percentage", found, REPORTED_MAX - 1);
}
