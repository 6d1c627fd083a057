/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "collector/conservation.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/conserve.h"
#include "base/clock.h"
#include "base/text.h"
#include "collector/events.h"
#include "collector/node_memory.h"
#include "collector/sweep_result.h"
#include "fabric/fabric.h"

/*
 * Consecutive sweeps, and the time, in which both ends must disagree. A sum that was wrong for
 * another reason recovers, and a moved cable is detected by discovery meanwhile.
 */
#define SWEEPS_UNTIL_REPORTED 3
#define UNTIL_REPORTED_US (30 * US_PER_S)

/* For this time after a sum ended, for example because the link went down, the port may have another peer. */
#define SETTLE_US (60 * US_PER_S)

/* Time without a disagreement after which it is over; longer if it took longer to detect. */
#define QUIET_US (3600 * US_PER_S)

/* Disagreements in more directions are a property of the devices, and reported as one. */
#define REPORTED_MAX 10

/* Age of the counters in a response. Simulated traffic updates them every 0.1 s. */
#define COPY_US US_PER_S

/* Bit errors lose a packet now and then, which the error counters show: fewer are ignored. */
#define TOLERATED_PACKETS 100
#define TOLERATED_PER_MILLION 10
#define WORDS_PER_PACKET 1064

struct conservation_port {
	uint64_t peer_guid;
	uint64_t link_bits_per_s;
	uint8_t peer_num;
	bool known;              /* it has been read, maybe in this sweep only */
	bool running;
	bool was_read;           /* before this sweep */
	bool reported;           /* it continues since the event */
	uint8_t failing;         /* consecutive sweeps, up to SWEEPS_UNTIL_REPORTED */
	int64_t failing_us;      /* since */
	int64_t settled_us;      /* no sum begins before */
	uint32_t sweeps;         /* evaluated in this sum */
	int64_t begun_us;        /* of the sum */
	int64_t quiet_us;        /* if reported: it is over if there is no disagreement until then */
	struct conserve_moment last; /* last reading of this port */
	struct conserve_run run; /* sent by this port, received by its peer */
	uint64_t rcv_errors;     /* counted by the peer in this sum */
};

void conservation_done(struct conservation *conservation)
{
	free(conservation->ports);
	*conservation = (struct conservation){ 0 };
}

/* Return: false if memory is exhausted. */
static bool reserve(struct conservation *conservation, size_t count)
{
	struct conservation_port *ports;

	if (count <= conservation->count)
		return true;
	ports = reallocarray(conservation->ports, count, sizeof(*ports));
	if (!ports)
		return false;
	memset(ports + conservation->count, 0, (count - conservation->count) * sizeof(*ports));
	conservation->ports = ports;
	conservation->count = count;
	return true;
}

static struct conservation_port *entry_of(struct conservation *conservation, const struct node_memory *memory,
					  uint32_t port)
{
	return &conservation->ports[node_memory_port_index(memory, port)];
}

static int compare_port(const void *key, const void *sample)
{
	uint32_t port = *(const uint32_t *)key, other = ((const struct port_sample *)sample)->port;

	return port < other ? -1 : port > other;
}

/* Samples are in order of port. */
static const struct port_sample *sample_of(const struct sweep_result *result, uint32_t port)
{
	return bsearch(&port, result->samples, result->count, sizeof(*result->samples), compare_port);
}

static struct conserve_moment moment_of(const struct reading *reading, int64_t start_us)
{
	return (struct conserve_moment){ start_us - COPY_US, reading->at_us };
}

/* One end of a direction in this sweep. */
struct link_end {
	const struct port_sample *sample;
	const struct conservation_port *entry;
	struct conserve_delta delta;
	bool has_delta;
};

/* Return: false if this end's reading cannot be compared, or its link was down meanwhile. */
static bool set_end(struct link_end *end, bool xmit, int64_t start_us)
{
	struct conserve_moment to;

	if (!end->sample->reading)
		return true;
	if (!end->sample->delta || !end->entry->was_read)
		return false;
	if (end->sample->delta->known & COUNTER_BIT(COUNTER_LINK_DOWNED) &&
	    end->sample->delta->value[COUNTER_LINK_DOWNED])
		return false;
	to = moment_of(end->sample->reading, start_us);
	end->has_delta = conserve_take(end->sample->delta, end->sample->reading, xmit, &end->entry->last, &to,
				       &end->delta);
	return end->has_delta;
}

static uint64_t errors_of(const struct delta *delta)
{
	uint64_t count = 0;

	if (delta->known & COUNTER_BIT(COUNTER_RCV_ERRORS))
		count += delta->value[COUNTER_RCV_ERRORS];
	if (delta->known & COUNTER_BIT(COUNTER_SYMBOL_ERRORS))
		count += delta->value[COUNTER_SYMBOL_ERRORS];
	return count;
}

static bool is_more(int64_t missing, uint64_t tolerated, uint64_t sent)
{
	return (uint64_t)llabs(missing) > tolerated + sent / 1000000 * TOLERATED_PER_MILLION;
}

/* More than single lost packets? */
static bool matters(const struct conserve_run *run, const struct conserve_result *result)
{
	return result->verdict == CONSERVE_VIOLATED &&
	       (is_more(result->missing_packets, TOLERATED_PACKETS, run->sent.packets) ||
		is_more(result->missing_words, TOLERATED_PACKETS * WORDS_PER_PACKET, run->sent.words));
}

/* Discard the sum. */
static void discard_sum(struct conservation_port *port, int64_t start_us)
{
	port->running = false;
	port->settled_us = start_us + SETTLE_US;
}

/* Start a sum at the last readings of both ends. */
static void start(struct conservation_port *port, const struct conservation_port *peer, int64_t start_us)
{
	port->begun_us = start_us;
	port->running = true;
	port->failing = 0;
	port->sweeps = 0;
	port->rcv_errors = 0;
	conserve_run_start(&port->run, &port->last, &peer->last, port->link_bits_per_s);
}

/*
 * Add this sweep's deltas to the sums.
 * Return: whether the ends have disagreed for long enough; then @ret is the difference.
 */
static bool evaluate(struct conservation_port *port, const struct link_end ends[2], int64_t start_us,
		     struct conserve_result *ret)
{
	/* After an outage, a node's counters continue, but its peer has no deltas of that time. */
	if ((ends[0].has_delta && !conserve_run_add(&port->run, true, &ends[0].delta)) ||
	    (ends[1].has_delta && !conserve_run_add(&port->run, false, &ends[1].delta))) {
		discard_sum(port, start_us);
		return false;
	}
	if (ends[1].has_delta)
		port->rcv_errors += errors_of(ends[1].sample->delta);
	if (!ends[0].has_delta || !ends[1].has_delta)
		return false;
	*ret = conserve_run_evaluate(&port->run);
	port->sweeps++;
	if (!matters(&port->run, ret)) {
		port->failing = 0;
		return false;
	}
	if (!port->failing)
		port->failing_us = start_us;
	port->failing += port->failing < SWEEPS_UNTIL_REPORTED;
	return port->failing == SWEEPS_UNTIL_REPORTED && start_us - port->failing_us >= UNTIL_REPORTED_US;
}

static void add_events(struct events *events, int64_t wall_us, const struct fabric *fabric, uint32_t index,
		       const struct conservation_port *entry, const struct conserve_result *result)
{
	const struct port *port = &fabric->ports[index], *peer = &fabric->ports[port->peer];
	const char *name = fabric->names.shown[port->node], *peer_name = fabric->names.shown[peer->node];
	bool missing = result->missing_words > 0 || result->missing_packets > 0;
	char errors[80];

	if (entry->rcv_errors)
		snprintf(errors, sizeof(errors), "%" PRIu64 " receive and symbol errors there may explain this",
			 entry->rcv_errors);
	else
		snprintf(errors, sizeof(errors), "without errors there");
	events_add(events, wall_us, EVENT_LINK_NOT_CONSERVED, EVENT_WARNING, fabric, port->node, port->num,
		   "%.40s/%u sent %" PRIu64 " packets, %.40s/%u received %" PRIu64 " in %u sweep%s: "
		   "%" PRIu64 " packet%s, %" PRIu64 " bytes too %s; %s", name, port->num, entry->run.sent.packets,
		   peer_name, peer->num, entry->run.received.packets, entry->sweeps, text_plural(entry->sweeps),
		   (uint64_t)llabs(result->missing_packets), text_plural((uint64_t)llabs(result->missing_packets)),
		   (uint64_t)llabs(result->missing_words) * COUNTER_WORD_BYTES, missing ? "few" : "many", errors);
}

/* One direction of one link. Return: as evaluate(). */
static bool step_port(struct conservation *conservation, int64_t start_us, const struct node_memory *memory,
		      const struct sweep_result *result, const struct port_sample *sample, struct conserve_result *ret)
{
	const struct fabric *fabric = memory->fabric;
	const struct port *port = &fabric->ports[sample->port];
	const struct port *peer = port->peer == FABRIC_NONE ? NULL : &fabric->ports[port->peer];
	struct conservation_port *entry = entry_of(conservation, memory, sample->port);
	const struct conservation_port *far = peer ? entry_of(conservation, memory, port->peer) : NULL;
	struct link_end ends[2] = { 0 };

	if (!far || !far->known || port->state < PORT_INIT || node_is_aggregation(&fabric->nodes[port->node]) ||
	    node_is_aggregation(&fabric->nodes[peer->node])) {
		discard_sum(entry, start_us);
		return false;
	}
	if (entry->peer_guid != fabric->nodes[peer->node].guid || entry->peer_num != peer->num ||
	    entry->link_bits_per_s != port_rate_bits_per_s(port)) {
		discard_sum(entry, start_us);
		entry->peer_guid = fabric->nodes[peer->node].guid;
		entry->peer_num = peer->num;
		entry->link_bits_per_s = port_rate_bits_per_s(port);
		entry->quiet_us = 0;
	}
	ends[0] = (struct link_end){ .sample = sample, .entry = entry };
	ends[1] = (struct link_end){ .sample = sample_of(result, port->peer), .entry = far };
	if (!ends[1].sample || !set_end(&ends[0], true, start_us) || !set_end(&ends[1], false, start_us)) {
		discard_sum(entry, start_us);
		return false;
	}
	if (!entry->running) {
		if (!entry->was_read || !far->was_read || start_us < entry->settled_us)
			return false;
		start(entry, far, start_us);
	}
	return evaluate(entry, ends, start_us, ret);
}

/* Report it once, and start a new sum, which determines whether it continues. */
static void found(struct conservation *conservation, struct events *events, int64_t wall_us, int64_t start_us,
		  const struct node_memory *memory, uint32_t index, const struct conserve_result *result)
{
	struct conservation_port *port = entry_of(conservation, memory, index);
	int64_t took_us = start_us - port->begun_us;

	port->quiet_us = start_us + (2 * took_us > QUIET_US ? 2 * took_us : QUIET_US);
	if (!port->reported && ++conservation->reported < REPORTED_MAX)
		add_events(events, wall_us, memory->fabric, index, port, result);
	else if (!port->reported && conservation->reported == REPORTED_MAX)
		events_add(events, wall_us, EVENT_LINK_NOT_CONSERVED, EVENT_WARNING, NULL, FABRIC_NONE, 0,
			   "%u link ends sent different amounts than their peers received: the devices may count "
			   "differently; others are not reported", REPORTED_MAX);
	port->reported = true;
	port->running = false;
}

static void close_quiet_ones(struct conservation *conservation, int64_t start_us)
{
	for (size_t i = 0; conservation->reported && i < conservation->count; i++) {
		struct conservation_port *port = &conservation->ports[i];

		if (!port->reported || start_us <= port->quiet_us)
			continue;
		port->reported = false;
		conservation->reported--;
	}
}

void conservation_step(struct conservation *conservation, struct events *events, int64_t wall_us, int64_t start_us,
		       const struct node_memory *memory, const struct sweep_result *result)
{
	if (!reserve(conservation, memory->port_count)) {
		conservation_done(conservation);
		return;
	}
	for (size_t i = 0; i < result->count; i++)
		entry_of(conservation, memory, result->samples[i].port)->known |= result->samples[i].reading != NULL;
	for (size_t i = 0; i < result->count; i++) {
		const struct port_sample *sample = &result->samples[i];
		struct conserve_result disagreement;

		if (entry_of(conservation, memory, sample->port)->known &&
		    step_port(conservation, start_us, memory, result, sample, &disagreement))
			found(conservation, events, wall_us, start_us, memory, sample->port, &disagreement);
	}
	close_quiet_ones(conservation, start_us);
	/* The sums continue from the readings of this sweep. */
	for (size_t i = 0; i < result->count; i++) {
		const struct port_sample *sample = &result->samples[i];
		struct conservation_port *port = entry_of(conservation, memory, sample->port);

		if (!sample->reading)
			continue;
		port->last = moment_of(sample->reading, start_us);
		port->was_read = true;
	}
}
