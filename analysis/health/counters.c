/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Record the counters of a sweep for the rules: errors in rings of the ports that have any, loads
 * of all ports as sums of the current window.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/health/state.h"
#include "analysis/stall.h"
#include "base/array.h"

/* Advance to @bucket and empty the buckets that are passed. */
static void ring_move(struct health_ring *ring, int64_t bucket)
{
	int64_t steps = bucket - ring->bucket, i;

	if (steps <= 0)
		return;
	if (steps > RING_BUCKETS)
		steps = RING_BUCKETS;
	for (i = 0; i < steps; i++) {
		ring->total -= ring->count[(bucket - i) % RING_BUCKETS];
		ring->count[(bucket - i) % RING_BUCKETS] = 0;
		ring->sweeps[(bucket - i) % RING_BUCKETS] = 0;
	}
	ring->bucket = bucket;
}

void ring_add(struct health_ring *ring, int64_t now_us, int64_t bucket_us, uint64_t count, int64_t wall_us)
{
	int64_t bucket = now_us / bucket_us;
	uint64_t room;

	ring_move(ring, bucket);
	if (!ring->total)
		ring->since_wall_us = wall_us;
	room = UINT32_MAX - ring->count[bucket % RING_BUCKETS];
	if (count > room)
		count = room;
	ring->count[bucket % RING_BUCKETS] += (uint32_t)count;
	ring->total += count;
	ring->sweeps[bucket % RING_BUCKETS]++;
}

uint64_t ring_sum(struct health_ring *ring, int64_t now_us, int64_t bucket_us, unsigned buckets, unsigned *ret_sweeps)
{
	int64_t bucket = now_us / bucket_us;
	uint64_t sum = 0;
	unsigned i, sweeps = 0;

	ring_move(ring, bucket);
	for (i = 0; ring->total && i < buckets && (int64_t)i <= bucket; i++) {
		sum += ring->count[(bucket - i) % RING_BUCKETS];
		sweeps += ring->sweeps[(bucket - i) % RING_BUCKETS];
	}
	if (ret_sweeps)
		*ret_sweeps = sweeps;
	return sum;
}

static void retrained(struct health *health, uint32_t at)
{
	struct health_port *port = &health->ports[at];

	port->changed_us = health->now_us;
	if (port->peer != HEALTH_NONE)
		health->ports[port->peer].changed_us = health->now_us;
}

/* If all HCAs of a host went down at the same time, the host restarted. */
static void check_host_restart(struct health *health, uint32_t at)
{
	uint32_t node, hcas = 0, i;
	struct health_host *host = &health->hosts[at];

	for (node = host->first; node != HEALTH_NONE; node = health->nodes[node].host_next) {
		bool went = false, cabled = false;

		for (i = health->nodes[node].first_port; i < health->nodes[node].first_port + health->nodes[node].slots;
		     i++) {
			const struct health_port *port = &health->ports[i];
			uint32_t ends[2] = { i, port->peer };
			int end;

			for (end = 0; end < 2 && port->peer != HEALTH_NONE; end++) {
				uint32_t tracker = health->ports[ends[end]].tracker;

				cabled = true;
				went |= tracker != HEALTH_NONE && health->now_us - health->trackers[tracker].flaps[0] <=
									  health->settings.restart_within_us;
			}
		}
		if (cabled && !went)
			return;
		hcas += cabled;
	}
	if (hcas < 2)
		return;
	host->restart_us = health->now_us;
	host->restart_wall_us = health->wall_us;
	host->charge_until_us = health->now_us + health->settings.restart_charge_us;
	health_forget_host(health, at);
}

/* A link went down and came back @times times. */
static void record_flap(struct health *health, uint32_t at, uint64_t times)
{
	struct health_tracker *tracker;
	uint32_t host = health_edge_host(health, at);

	retrained(health, at);
	if (health_is_charged(health, at))
		return;
	tracker = health_track(health, at);
	if (!tracker)
		return;
	for (times = times < FLAPS_MAX ? times : FLAPS_MAX; times; times--) {
		memmove(&tracker->flaps[1], &tracker->flaps[0], (FLAPS_MAX - 1) * sizeof(tracker->flaps[0]));
		memmove(&tracker->flaps_wall_us[1], &tracker->flaps_wall_us[0],
			(FLAPS_MAX - 1) * sizeof(tracker->flaps_wall_us[0]));
		tracker->flaps[0] = health->now_us;
		tracker->flaps_wall_us[0] = health->wall_us;
	}
	if (host != HEALTH_NONE)
		check_host_restart(health, host);
}

static void record_returned(struct health *health)
{
	uint32_t i;

	if (health->returned_generation == health->generation)
		return;
	health->returned_generation = health->generation;
	for (i = 0; i < health->port_count; i++) {
		struct health_port *port = &health->ports[i];

		if (!port->returned)
			continue;
		port->returned = false;
		/* LinkDowned may have counted this loss before the topology showed it. */
		if (port->downed) {
			port->downed = false;
			continue;
		}
		port->downs += port->downs < UINT8_MAX;
		record_flap(health, i, 1);
	}
}

/* Link losses that LinkDowned counted and the topology did not show. */
static void record_link_downed(struct health *health)
{
	const struct health_input *input = health->input;
	size_t i;

	for (i = 0; i < input->sample_count; i++) {
		const struct delta *delta = input->samples[i].delta;
		uint32_t at = health->port_of[input->samples[i].port];
		struct health_port *port = &health->ports[at];
		uint64_t downs;

		if (!delta || !(delta->known & COUNTER_BIT(COUNTER_LINK_DOWNED)))
			continue;
		downs = delta->value[COUNTER_LINK_DOWNED];
		if (downs > port->downs) {
			record_flap(health, at, downs - port->downs);
			port->downed = true;
		}
		port->downs = 0;
	}
}

static void record_reset(struct health *health, uint32_t at)
{
	struct reset_port *grown = array_grow(health->resets.list, health->resets.count, &health->resets.capacity,
						  sizeof(*grown));

	if (!grown) {
		health->failed = true;
		return;
	}
	if (!health->resets.count)
		health->resets.first_us = health->now_us;
	health->resets.list = grown;
	grown[health->resets.count++] = (struct reset_port){ .port = at, .wall_us = health->wall_us };
}

/*
 * Scale a count over more time than the ring covers (a restart, a gap) down to the time of the
 * ring.
 */
static uint64_t scale_to_ring(uint64_t count, int64_t elapsed_us, int64_t ring_us)
{
	if (elapsed_us <= ring_us)
		return count;
	return (uint64_t)((double)count * (double)ring_us / (double)elapsed_us + 0.5);
}

static void record_error(struct health *health, struct health_ring *ring, const struct delta *delta,
		       enum counter counter, int64_t bucket_us, unsigned buckets)
{
	uint64_t count = scale_to_ring(delta->value[counter], delta->elapsed_us, bucket_us * buckets);

	if (delta->known & COUNTER_BIT(counter) && count)
		ring_add(ring, health->now_us, bucket_us, count, health->wall_us);
}

static void record_errors(struct health *health, uint32_t at, const struct delta *delta)
{
	struct health_tracker *tracker = health_track(health, at);

	if (!tracker)
		return;
	tracker->error_us = health->now_us;
	record_error(health, &tracker->symbols, delta, COUNTER_SYMBOL_ERRORS, SYMBOL_BUCKET_US, SYMBOL_BUCKETS);
	record_error(health, &tracker->receive, delta, COUNTER_RCV_ERRORS, ERROR_BUCKET_US, ERROR_BUCKETS);
	record_error(health, &tracker->remote, delta, COUNTER_RCV_REMOTE_PHYSICAL_ERRORS, ERROR_BUCKET_US,
		     ERROR_BUCKETS);
	record_error(health, &tracker->discards, delta, COUNTER_XMIT_DISCARDS, MINUTE_US, DISCARD_BUCKETS);
	record_error(health, &tracker->drops, delta, COUNTER_VL15_DROPPED, MINUTE_US, DROP_BUCKETS);
}

static bool has_errors(const struct delta *delta)
{
	return delta->value[COUNTER_SYMBOL_ERRORS] | delta->value[COUNTER_RCV_ERRORS] |
	       delta->value[COUNTER_RCV_REMOTE_PHYSICAL_ERRORS] | delta->value[COUNTER_XMIT_DISCARDS] |
	       delta->value[COUNTER_VL15_DROPPED];
}

static bool grow_loads(struct health *health)
{
	struct health_load *grown;

	if (health->port_count <= health->window.load_capacity)
		return true;
	grown = reallocarray(health->window.loads, health->port_capacity, sizeof(*grown));
	if (!grown) {
		health->failed = true;
		return false;
	}
	memset(grown + health->window.load_capacity, 0,
	       (health->port_capacity - health->window.load_capacity) * sizeof(*grown));
	health->window.loads = grown;
	health->window.load_capacity = health->port_capacity;
	return true;
}

static void record_load(struct health *health, struct health_load *load, const struct health_sample *sample)
{
	const counter_set data = COUNTER_BIT(COUNTER_XMIT_DATA) | COUNTER_BIT(COUNTER_RCV_DATA);
	const struct delta *delta = sample->delta;
	const struct fabric *fabric = health->input->fabric;
	const struct port *port = &fabric->ports[sample->port];
	struct stall stall;

	if (!delta || (delta->known & ~delta->reset & ~delta->saturated & data) != data || delta->elapsed_us <= 0) {
		load->lost |= sample->status != SAMPLE_DOWN;
		return;
	}
	load->sweeps++;
	load->elapsed_us += (double)delta->elapsed_us;
	load->xmit_bytes += (double)delta->value[COUNTER_XMIT_DATA] * COUNTER_WORD_BYTES;
	load->rcv_bytes += (double)delta->value[COUNTER_RCV_DATA] * COUNTER_WORD_BYTES;
	if (delta->known & COUNTER_BIT(COUNTER_XMIT_DISCARDS))
		load->discards += (double)delta->value[COUNTER_XMIT_DISCARDS];
	else
		load->discards_lost = true;
	if (!health->input->caps) {
		load->stall_lost = true;
		return;
	}
	stall = stall_estimate(delta, &fabric->nodes[port->node], port, &health->input->caps[port->node]);
	if (isnan(stall.percent))
		load->stall_lost = true;
	else
		load->stall_us += stall.percent / 100.0 * (double)delta->elapsed_us;
}

static void record_details(struct health *health)
{
	const struct health_input *input = health->input;
	size_t i;

	for (i = 0; i < input->detail_count; i++) {
		const struct health_detail *detail = &input->details[i];
		uint32_t at = health->port_of[detail->port];
		uint32_t blocks = detail->delta->value[DETAIL_FEC_UNCORRECTED_BLOCKS];
		struct health_tracker *tracker;

		if (detail->attribute != DETAIL_EXTENDED_SPEEDS || !blocks ||
		    !(detail->delta->known & 1u << DETAIL_FEC_UNCORRECTED_BLOCKS) || health_is_training(health, at) ||
		    health_is_charged(health, at))
			continue;
		tracker = health_track(health, at);
		if (!tracker)
			continue;
		tracker->error_us = health->now_us;
		ring_add(&tracker->fec, health->now_us, MINUTE_US,
			 scale_to_ring(blocks, detail->delta->elapsed_us, FEC_BUCKETS * (int64_t)MINUTE_US),
				health->wall_us);
	}
}

bool health_is_training(const struct health *health, uint32_t port)
{
	return health->now_us - health->ports[port].changed_us < health->settings.training_us;
}

void health_record_counters(struct health *health)
{
	const struct health_input *input = health->input;
	size_t i;

	record_returned(health);
	record_link_downed(health);
	if (!grow_loads(health))
		return;
	for (i = 0; i < input->sample_count; i++) {
		const struct health_sample *sample = &input->samples[i];
		uint32_t at = health->port_of[sample->port];
		const struct delta *delta = sample->delta;

		record_load(health, &health->window.loads[at], sample);
		if (!delta)
			continue;
		health->ports[at].saturated = delta->saturated & COUNTER_ERROR_SET;
		if (delta->reset && !health_is_training(health, at) && !health_is_charged(health, at))
			record_reset(health, at);
		if (has_errors(delta) && !health_is_training(health, at) && !health_is_charged(health, at))
			record_errors(health, at, delta);
	}
	record_details(health);
}

static void ring_forget(struct health_ring *ring, int64_t from_us, int64_t now_us, int64_t bucket_us)
{
	int64_t bucket;

	ring_move(ring, now_us / bucket_us);
	for (bucket = from_us / bucket_us; bucket <= now_us / bucket_us; bucket++) {
		if (bucket < 0 || ring->bucket - bucket >= RING_BUCKETS)
			continue;
		ring->total -= ring->count[bucket % RING_BUCKETS];
		ring->count[bucket % RING_BUCKETS] = ring->sweeps[bucket % RING_BUCKETS] = 0;
	}
}

void health_forget_recent(struct health_tracker *tracker, int64_t from_us, int64_t now_us)
{
	int i, kept = 0;

	ring_forget(&tracker->symbols, from_us, now_us, SYMBOL_BUCKET_US);
	ring_forget(&tracker->receive, from_us, now_us, ERROR_BUCKET_US);
	ring_forget(&tracker->remote, from_us, now_us, ERROR_BUCKET_US);
	ring_forget(&tracker->discards, from_us, now_us, MINUTE_US);
	ring_forget(&tracker->drops, from_us, now_us, MINUTE_US);
	ring_forget(&tracker->fec, from_us, now_us, MINUTE_US);
	for (i = 0; i < FLAPS_MAX; i++)
		if (tracker->flaps[i] < from_us) {
			tracker->flaps[kept] = tracker->flaps[i];
			tracker->flaps_wall_us[kept++] = tracker->flaps_wall_us[i];
		}
	for (; kept < FLAPS_MAX; kept++)
		tracker->flaps[kept] = HEALTH_LONG_AGO;
}
