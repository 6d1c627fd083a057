/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Record the counters of a sweep for the rules: errors in rings of the ports that have any, loads
 * of all ports as sums of the current window.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/health/state.h"

/* The counters of each ring, the length of its buckets, and how many of them rules evaluate. */
static const struct {
	counter_set counters;
	int64_t bucket_us;
	unsigned buckets;
} rings[RING_COUNT] = {
	[RING_SYMBOLS] = { COUNTER_BIT(COUNTER_SYMBOL_ERRORS), SYMBOL_BUCKET_US, SYMBOL_BUCKETS },
	[RING_RECEIVE] = { COUNTER_BIT(COUNTER_RCV_ERRORS), ERROR_BUCKET_US, 12 },
	[RING_REMOTE] = { COUNTER_BIT(COUNTER_RCV_REMOTE_PHYSICAL_ERRORS), ERROR_BUCKET_US, 12 },
	[RING_DISCARDS] = { COUNTER_BIT(COUNTER_XMIT_DISCARDS), MINUTE_US, DISCARD_BUCKETS },
	[RING_DROPS] = { COUNTER_BIT(COUNTER_VL15_DROPPED), MINUTE_US, 5 },
	[RING_LINK] = { COUNTER_BIT(COUNTER_LINK_ERROR_RECOVERY) | COUNTER_BIT(COUNTER_LOCAL_LINK_INTEGRITY_ERRORS) |
			COUNTER_BIT(COUNTER_EXCESSIVE_BUFFER_OVERRUN_ERRORS), MINUTE_US, 5 },
	[RING_CONSTRAINTS] = { COUNTER_BIT(COUNTER_XMIT_CONSTRAINT_ERRORS) | COUNTER_BIT(COUNTER_RCV_CONSTRAINT_ERRORS),
			       MINUTE_US, 5 },
	[RING_FEC] = { 0, MINUTE_US, 10 }, /* DETAIL_FEC_UNCORRECTED_BLOCKS */
};

static void empty_bucket(struct health_ring *ring, int64_t bucket)
{
	ring->total -= ring->count[bucket % RING_BUCKETS];
	ring->count[bucket % RING_BUCKETS] = ring->sweeps[bucket % RING_BUCKETS] = 0;
}

/* Advance to the bucket of a time and empty the buckets that are passed. */
static struct health_ring *ring_at(struct health_tracker *tracker, enum health_ring_kind kind, int64_t at_us)
{
	struct health_ring *ring = &tracker->rings[kind];
	int64_t bucket = at_us / rings[kind].bucket_us, steps = bucket - ring->bucket;

	if (steps <= 0)
		return ring;
	for (int64_t i = 0; i < steps && i < RING_BUCKETS; i++)
		empty_bucket(ring, bucket - i);
	ring->bucket = bucket;
	return ring;
}

static void add_to_ring(struct health_tracker *tracker, enum health_ring_kind kind, struct health_time at,
			uint64_t count)
{
	struct health_ring *ring = ring_at(tracker, kind, at.us);
	uint32_t *bucket = &ring->count[at.us / rings[kind].bucket_us % RING_BUCKETS];

	if (!ring->total)
		ring->since = at;
	if (count > UINT32_MAX - *bucket)
		count = UINT32_MAX - *bucket;
	if (at.us >= ring->last.us)
		ring->last = at;
	*bucket += (uint32_t)count;
	ring->total += count;
	ring->sweeps[bucket - ring->count]++;
}

double health_ring_sum(const struct health *health, struct health_tracker *tracker, enum health_ring_kind kind,
		       unsigned buckets, unsigned *ret_sweeps)
{
	struct health_ring *ring = ring_at(tracker, kind, health->now_us);
	unsigned most = buckets ? buckets : rings[kind].buckets, sweeps = 0;
	uint64_t sum = 0;

	for (unsigned i = 0; ring->total && i < most && (int64_t)i <= ring->bucket; i++) {
		sum += ring->count[(ring->bucket - i) % RING_BUCKETS];
		sweeps += ring->sweeps[(ring->bucket - i) % RING_BUCKETS];
	}
	if (ret_sweeps)
		*ret_sweeps = sweeps;
	return (double)sum;
}

/* Start of the window of a sum. */
static int64_t start_of(const struct health *health, const struct health_port *port, enum health_ring_kind kind,
			unsigned buckets)
{
	int64_t first = health->now_us / rings[kind].bucket_us - (buckets ? buckets : rings[kind].buckets) + 1;
	bool restored = port->tracker->rings[kind].since.us < health->first_us;
	int64_t from_us = first * rings[kind].bucket_us - 1, known_us = restored ? health->stored_us : health->first_us;

	return from_us > known_us ? from_us : known_us;
}

double health_ring_hours(const struct health *health, const struct health_port *port, enum health_ring_kind kind,
			 unsigned buckets)
{
	int64_t span_us = health->now_us - start_of(health, port, kind, buckets);

	/* At least that of one sweep. */
	return (double)(span_us > health->input->interval_us ? span_us : health->input->interval_us) / HOUR_US;
}

bool health_ring_at_least(const struct health *health, const struct health_port *port, enum health_ring_kind kind,
			  unsigned buckets)
{
	int64_t last_us = port->bound_us > port->excused_us ? port->bound_us : port->excused_us;
	/* The last sweep may end before it reads a port. */
	bool unread = port->link == LINK_IS_UP && health->now_us - port->read_us > 2 * health->input->interval_us;

	return unread || port->saturated & rings[kind].counters ||
	       (last_us && last_us > start_of(health, port, kind, buckets));
}

const char *health_ring_amount(const struct health *health, struct health_open_finding *open,
			       const struct health_port *port, enum health_ring_kind kind, unsigned buckets,
			       double sum, const char *what, char ret[96])
{
	int64_t from_us = start_of(health, port, kind, buckets), span_us = health->now_us - from_us;
	bool at_least = health_ring_at_least(health, port, kind, buckets);
	char span[32];

	health_window(health, open, from_us, health->now_us);
	health_lower_bound(open, at_least);
	/* Rounded to the nearest minute: health_duration() rounds down. */
	snprintf(ret, 96, "%s%.0f %s in %s", at_least ? "at least " : "", sum, what,
		 health_duration(span_us < 2 * MINUTE_US ? span_us : span_us + 30 * SECOND_US, span));
	return ret;
}

void health_ring_number(const struct health *health, struct health_open_finding *open, const struct health_port *port,
			enum health_ring_kind kind, const char *key)
{
	bool at_least = health_ring_at_least(health, port, kind, 0);

	health_number(open, key, health_ring_sum(health, port->tracker, kind, 0, NULL));
	health_lower_bound(open, at_least);
}

/* Mean time between two sweeps of the last buckets that counted; 0: one of them. */
static int64_t gap_of(const struct health_ring *ring, enum health_ring_kind kind, unsigned buckets)
{
	int64_t most_us = ring->last.us - ring->since.us, span_us = 0;
	unsigned sweeps = 0;

	for (unsigned i = 0; i < buckets && (int64_t)i <= ring->bucket; i++) {
		if (!ring->count[(ring->bucket - i) % RING_BUCKETS])
			continue;
		sweeps += ring->sweeps[(ring->bucket - i) % RING_BUCKETS];
		span_us = ring->last.us - (ring->bucket - i) * rings[kind].bucket_us;
	}
	span_us = span_us < most_us ? span_us : most_us;
	return sweeps > 1 && span_us > 0 ? span_us / (sweeps - 1) : 0;
}

void health_ring_increase(const struct health *health, struct health_open_finding *open, const struct health_port *port,
			  enum health_ring_kind kind, unsigned buckets)
{
	const struct health_tracker *peer = port->peer ? port->peer->tracker : NULL;
	const struct health_ring *ring = &port->tracker->rings[kind];

	/* Both ends of a link are one finding. */
	if (peer && peer->rings[kind].total && peer->rings[kind].last.us > ring->last.us)
		ring = &peer->rings[kind];
	health_increase(health, open, ring->last, gap_of(ring, kind, buckets ? buckets : rings[kind].buckets));
}

void health_tracker_init(struct health_tracker *tracker)
{
	*tracker = (struct health_tracker){ .error_us = HEALTH_LONG_AGO, .edge_since_us = HEALTH_LONG_AGO,
					    .flap_since_us = HEALTH_LONG_AGO };
	for (int i = 0; i < FLAPS_MAX; i++)
		tracker->flaps[i].us = HEALTH_LONG_AGO;
}

struct health_tracker *health_track(struct health *health, struct health_port *port)
{
	if (!port->tracker) {
		port->tracker = malloc(sizeof(*port->tracker));
		if (port->tracker)
			health_tracker_init(port->tracker);
		health->failed |= !port->tracker;
	}
	return port->tracker;
}

static bool is_recent(const struct health *health, const struct health_tracker *tracker)
{
	return health->now_us - tracker->error_us <= SYMBOL_BUCKETS * (int64_t)SYMBOL_BUCKET_US;
}

bool health_errors_count(const struct health *health, const struct health_port *port)
{
	return port->tracker && is_recent(health, port->tracker);
}

static bool is_unused_tracker(const struct health *health, const struct health_tracker *tracker)
{
	return !is_recent(health, tracker) && health->now_us - tracker->flaps[0].us >= FLAPS_LAST_US &&
	       !(tracker->stalled | tracker->stalled_critical | tracker->rail_off | tracker->unused |
		 tracker->hot[0] | tracker->hot[1]);
}

/*
 * Once per hour, remove trackers that no rule uses. Otherwise every port would have one eventually:
 * 80 MB with 65,536 ports.
 */
static void prune_trackers(struct health *health)
{
	if (health->now_us - health->pruned_us < HOUR_US)
		return;
	health->pruned_us = health->now_us;
	for (struct health_port *port = health_next_port(health, NULL); port; port = health_next_port(health, port)) {
		if (!port->tracker || !is_unused_tracker(health, port->tracker))
			continue;
		free(port->tracker);
		port->tracker = NULL;
	}
}

static bool flapped_now(const struct health *health, const struct health_port *port)
{
	return port->tracker &&
	       health->now_us - port->tracker->flaps[0].us <= health->settings.restart_within_us;
}

/* If all HCAs of a host went down at the same time, the host restarted. */
static void check_host_restart(struct health *health, struct health_host *host)
{
	uint32_t hcas = 0;

	for (const struct health_node *node = host->first; node; node = node->host_next) {
		bool flapped = false, cabled = false;

		for (uint32_t i = 0; i < node->slots; i++) {
			const struct health_port *port = &node->ports[i];

			if (!port->peer)
				continue;
			cabled = true;
			flapped |= flapped_now(health, port) || flapped_now(health, port->peer);
		}
		if (cabled && !flapped)
			return;
		hcas += cabled;
	}
	if (hcas < 2)
		return;
	host->restart_us = health->now_us;
	host->restart_since = health_now(health);
	host->charge_until_us = health->now_us + health->settings.restart_charge_us;
	health_forget_host(health, host);
}

/* A link went down and came back @times times. */
static void record_flap(struct health *health, struct health_port *port, uint64_t times)
{
	struct health_host *host = health_edge_host(port);
	struct health_tracker *tracker;

	port->changed_us = health->now_us;
	if (port->peer)
		port->peer->changed_us = health->now_us;
	if (health_is_charged(health, port))
		return;
	tracker = health_track(health, port);
	if (!tracker)
		return;
	for (times = times < FLAPS_MAX ? times : FLAPS_MAX; times; times--) {
		memmove(&tracker->flaps[1], &tracker->flaps[0], (FLAPS_MAX - 1) * sizeof(tracker->flaps[0]));
		tracker->flaps[0] = health_now(health);
	}
	if (host)
		check_host_restart(health, host);
}

/* A link came back in the topology. LinkDowned may have counted this loss before. */
static void record_returned(struct health *health, struct health_port *port)
{
	if (!port->returned)
		return;
	port->returned = false;
	if (port->downed) {
		port->downed = false;
		return;
	}
	port->downs += port->downs < UINT8_MAX;
	record_flap(health, port, 1);
}

/* Link losses that LinkDowned counted and the topology did not show. */
static void record_link_downed(struct health *health)
{
	const struct health_input *input = health->input;

	for (size_t i = 0; i < input->sample_count; i++) {
		const struct delta *delta = input->samples[i].delta;
		struct health_port *port = health->port_of[input->samples[i].port];
		uint64_t downs;

		if (!delta || !(delta->known & COUNTER_BIT(COUNTER_LINK_DOWNED)))
			continue;
		downs = delta->value[COUNTER_LINK_DOWNED];
		if (downs > port->downs) {
			record_flap(health, port, downs - port->downs);
			port->downed = true;
		}
		port->downs = 0;
	}
}

/*
 * A count over more time than the ring covers (a restart, a gap) is scaled down to the time of the
 * ring.
 */
static void record_count(struct health *health, struct health_tracker *tracker, enum health_ring_kind kind,
			 uint64_t count, int64_t elapsed_us)
{
	int64_t ring_us = rings[kind].bucket_us * rings[kind].buckets;

	if (elapsed_us > ring_us)
		count = (uint64_t)((double)count * (double)ring_us / (double)elapsed_us + 0.5);
	if (count)
		add_to_ring(tracker, kind, health_now(health), count);
}

/* Sum of the known ones of some counters. */
static uint64_t sum_of(const struct delta *delta, counter_set counters)
{
	uint64_t sum = 0;

	for (counters &= delta->known; counters; counters &= counters - 1)
		sum += delta->value[__builtin_ctzll(counters)];
	return sum;
}

static void record_errors(struct health *health, struct health_port *port, const struct delta *delta)
{
	struct health_tracker *tracker = health_track(health, port);

	if (!tracker)
		return;
	tracker->error_us = health->now_us;
	for (int kind = 0; kind < RING_FEC; kind++)
		record_count(health, tracker, kind, sum_of(delta, rings[kind].counters), delta->elapsed_us);
}

void health_record_count(struct health *health, struct health_port *port, const struct health_count *count,
			 int64_t at_us)
{
	struct health_tracker *tracker = health_track(health, port);

	if (!tracker)
		return;
	tracker->error_us = at_us;
	if (count->at_least && at_us > port->bound_us)
		port->bound_us = at_us;
	if (count->counter == HEALTH_COUNT_FEC)
		tracker->fec_layout = count->layout;
	for (int kind = 0; kind < RING_COUNT; kind++)
		if (kind == RING_FEC ? count->counter == HEALTH_COUNT_FEC :
		    count->counter < COUNTER_COUNT && rings[kind].counters & COUNTER_BIT(count->counter))
			add_to_ring(tracker, kind, (struct health_time){ at_us, count->wall_us }, count->value);
}

static bool has_errors(const struct delta *delta)
{
	uint64_t any = 0;

	for (int kind = 0; kind < RING_FEC; kind++)
		any |= sum_of(delta, rings[kind].counters);
	return any;
}

static void record_load(struct health *health, struct health_port *port, const struct health_sample *sample)
{
	const struct fabric *fabric = health->input->fabric;
	const struct port *now = &fabric->ports[sample->port];
	const struct pma_caps *caps = health->input->caps;
	struct balance_load one = { .known = false };

	if (sample->delta)
		balance_load_of(sample->delta, &fabric->nodes[now->node], now, caps ? &caps[now->node] : NULL, &one);
	if (!one.known) {
		port->load_lost |= sample->status != SAMPLE_DOWN;
		return;
	}
	port->load.elapsed_us += one.elapsed_us;
	port->load.xmit_bytes += one.xmit_bytes;
	port->load.rcv_bytes += one.rcv_bytes;
	/* Unknown if one of them is. */
	port->load.stall += one.stall * one.elapsed_us;
	port->load.stall_at_least |= one.stall_at_least;
	port->load.discards_at_least |= one.discards_at_least;
	port->load.xmit_discards += one.xmit_discards;
}

bool health_is_training(const struct health *health, const struct health_port *port)
{
	return health->now_us - port->changed_us < health->settings.training_us;
}

/* Errors of the port are due to training, or to the restart of its host. */
static bool has_excuse(const struct health *health, const struct health_port *port)
{
	return health_is_training(health, port) || health_is_charged(health, port);
}

static void record_details(struct health *health)
{
	const struct health_input *input = health->input;

	for (size_t i = 0; i < input->detail_count; i++) {
		const struct health_detail *detail = &input->details[i];
		struct health_port *port = health->port_of[detail->port];
		uint32_t blocks = detail->delta->value[DETAIL_FEC_UNCORRECTED_BLOCKS];
		struct health_tracker *tracker;

		if (detail->attribute == DETAIL_EXTENDED_SPEEDS && detail->delta->reset)
			port->bound_us = health->now_us;
		if (detail->attribute != DETAIL_EXTENDED_SPEEDS || !blocks ||
		    !(detail->delta->known & 1u << DETAIL_FEC_UNCORRECTED_BLOCKS))
			continue;
		if (has_excuse(health, port)) {
			port->excused_us = health->now_us;
			continue;
		}
		tracker = health_track(health, port);
		if (!tracker)
			continue;
		tracker->error_us = health->now_us;
		tracker->fec_layout = detail->layout;
		record_count(health, tracker, RING_FEC, blocks, detail->delta->elapsed_us);
	}
}

static void record_sample(struct health *health, const struct health_sample *sample)
{
	struct health_port *port = health->port_of[sample->port];
	const struct delta *delta = sample->delta;

	record_load(health, port, sample);
	if (!delta)
		return;
	port->is_read = true;
	port->read_us = health->now_us;
	port->saturated = delta->saturated;
	if (delta->reset)
		port->bound_us = health->now_us;
	if (!has_errors(delta))
		return;
	if (has_excuse(health, port))
		port->excused_us = health->now_us;
	else
		record_errors(health, port, delta);
}

unsigned health_count_read(const struct health *health, uint64_t guid)
{
	unsigned ports = 0;

	for (const struct health_port *port = health_next_port(health, NULL); port;
	     port = health_next_port(health, port))
		ports += port->is_read && port->node->now != FABRIC_NONE && (!guid || port->node->guid == guid);
	return ports;
}

static void sweep(struct health *health, void *state)
{
	(void)state;
	prune_trackers(health);
	for (struct health_port *port = health_next_port(health, NULL); port; port = health_next_port(health, port))
		record_returned(health, port);
	record_link_downed(health);
	for (size_t i = 0; i < health->input->sample_count; i++)
		record_sample(health, &health->input->samples[i]);
	record_details(health);
}

const struct health_rule health_counters = { .sweep = sweep };

/* Remove what a tracker recorded since @from_us. */
static void forget_recent(struct health_tracker *tracker, int64_t from_us, int64_t now_us)
{
	int kept = 0;

	for (int kind = 0; kind < RING_COUNT; kind++) {
		struct health_ring *ring = ring_at(tracker, kind, now_us);

		for (int64_t i = from_us / rings[kind].bucket_us; i <= now_us / rings[kind].bucket_us; i++)
			if (i >= 0 && ring->bucket - i < RING_BUCKETS)
				empty_bucket(ring, i);
	}
	for (int i = 0; i < FLAPS_MAX; i++)
		if (tracker->flaps[i].us < from_us)
			tracker->flaps[kept++] = tracker->flaps[i];
	for (; kept < FLAPS_MAX; kept++)
		tracker->flaps[kept].us = HEALTH_LONG_AGO;
}

void health_forget_host(struct health *health, const struct health_host *host)
{
	for (const struct health_node *node = host->first; node; node = node->host_next)
		for (uint32_t i = 0; i < node->slots; i++)
			for (unsigned far = 0; far < 2; far++) {
				const struct health_port *port = far ? node->ports[i].peer : &node->ports[i];

				if (port && port->tracker)
					forget_recent(port->tracker, health->now_us - 2 * MINUTE_US, health->now_us);
			}
}
