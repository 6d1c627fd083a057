/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "collector/collector.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/stop.h"
#include "base/when.h"
#include "collector/events.h"
#include "collector/lid_check.h"
#include "collector/link_check.h"
#include "collector/memory.h"
#include "collector/sink.h"
#include "collector/sweep.h"
#include "collector/fabric_watch.h"
#include "fabric/fabric.h"

/* How long one look at a running discovery takes while nothing else is to do. */
#define DISCOVERY_SLICE_MS 50

/* How long one wait for late answers takes; they come within a second behind a sweep. */
#define LISTEN_MS 10

/* How many events are kept while the store takes nothing. */
#define EVENTS_MAX 10000

struct collector {
	const struct collector_settings *settings;
	const struct collector_wire *wire;
	const struct clock *clock;
	const struct sink *sink;
	struct collector_report *report;
	struct engine *engine;
	struct fabric_watch watch;
	struct memory memory;
	struct link_check check;
	struct events events;        /* since the last sweep that was stored */
	struct sweep_result result;
	struct sm_state last_sm;
	char boot_id[BOOT_ID_SIZE];
	int64_t discovery_us;        /* not in a stored sweep yet */
	uint64_t discovery_smps;
	bool accepted;               /* the fabric is the store's */
	bool store_failed;           /* told already */
	bool late;                   /* told already */
};

static int restore(struct collector *collector, struct error *err)
{
	const struct clock *clock = collector->clock;
	struct restored restored = { 0 };
	int code = collector->sink->restore(collector->sink->ctx, &restored, err);

	if (code < 0)
		return code;
	code = memory_restore(&collector->memory, &restored, collector->boot_id, clock_boottime_us(clock),
			      clock_wall_us(clock), err);
	if (code == 0) {
		fabric_watch_init(&collector->watch, collector->wire->discoverer, clock,
			      collector->settings->discovery_interval_us, restored.fabric);
		restored.fabric = NULL;
		if (collector->watch.fabric)
			code = memory_follow(&collector->memory, collector->watch.fabric, err);
	}
	restored_done(&restored);
	return code;
}

/* Let discovery go on, at most so long; take over a new fabric. */
static int step_watch(struct collector *collector, unsigned timeout_ms, struct error *err)
{
	struct fabric_watch *watch = &collector->watch;
	int code = fabric_watch_step(watch, timeout_ms, &collector->events, err);

	if (watch->took_us) {
		collector->discovery_us = collector->report->discovery_us = watch->took_us;
		collector->discovery_smps = collector->report->discovery_smps = watch->smps;
		watch->took_us = 0;
	}
	if (code <= 0)
		return code;
	if (collector->settings->accept && !collector->accepted) {
		code = collector->settings->accept(collector->settings->accept_ctx, watch->fabric, err);
		if (code < 0)
			return code;
	}
	collector->accepted = true;
	code = memory_follow(&collector->memory, watch->fabric, err);
	if (code < 0)
		return code;
	log_info("fabric: %zu nodes, %zu ports (discovered in %.3f s, %" PRIu64 " SMPs)", watch->fabric->node_count,
		 watch->fabric->port_count, (double)collector->discovery_us / US_PER_S, collector->discovery_smps);
	return 0;
}

/* The first discovery is waited for: there is nothing to sweep without it. */
static int first_discovery(struct collector *collector, struct error *err)
{
	do {
		int code = step_watch(collector, DISCOVERY_SLICE_MS, err);

		if (code < 0)
			return code;
	} while (collector->watch.running && !stop_requested());
	return 0;
}

/* Sleep, but hear late answers, and let a discovery that runs or is due go on meanwhile. */
static int wait_until(struct collector *collector, int64_t until_us, struct error *err)
{
	const struct clock *clock = collector->clock;

	while (!stop_requested()) {
		int64_t now_us = clock_boottime_us(clock), left_us = until_us - now_us;
		int64_t next_us = collector->watch.next_us;
		bool discovering = collector->watch.running || now_us >= next_us, listening;
		unsigned slice_ms = DISCOVERY_SLICE_MS;

		if (left_us <= 0)
			break;
		if (left_us < DISCOVERY_SLICE_MS * US_PER_MS)
			slice_ms = (unsigned)(left_us / US_PER_MS);
		listening = engine_listen(collector->engine, slice_ms < LISTEN_MS ? slice_ms : LISTEN_MS);
		if (discovering && step_watch(collector, listening ? 0 : slice_ms, err) < 0)
			return err->code;
		if (!discovering && !listening)
			clock->sleep_until(clock->ctx, next_us < until_us ? next_us : until_us);
	}
	return 0;
}

static void tell_sm(struct collector *collector, int64_t wall_us)
{
	const struct sm_state *now = &collector->result.sm, *last = &collector->last_sm;

	if (last->known && !now->known)
		events_add(&collector->events, wall_us, EVENT_SM_LOST, EVENT_WARNING, NULL, FABRIC_NONE, 0,
			   "the subnet manager at LID %u does not answer", now->lid ? now->lid : last->lid);
	else if (now->known && last->guid && now->guid != last->guid)
		events_add(&collector->events, wall_us, EVENT_SM_CHANGED, EVENT_INFO, NULL, FABRIC_NONE, 0,
			   "the subnet manager is now 0x%016" PRIx64 ", before 0x%016" PRIx64, now->guid, last->guid);
	if (now->known)
		collector->last_sm = *now;
	collector->last_sm.known = now->known;
}

/*
 * Is there a reason to doubt all LIDs: a topology that discovery could not
 * confirm, another subnet manager, or a node that is not where it was?
 */
static bool doubts_lids(struct collector *collector)
{
	const struct sm_state *now = &collector->result.sm, *last = &collector->last_sm;
	size_t i;

	if (!collector->watch.confirmed || (now->known && last->guid && now->guid != last->guid))
		return true;
	for (i = 0; i < collector->result.count; i++) {
		const struct port_sample *sample = &collector->result.samples[i];

		if (sample->status == SAMPLE_SILENT &&
		    memory_port(&collector->memory, collector->watch.fabric, sample->port)->status == SAMPLE_OK)
			return true;
	}
	return false;
}

/* Readings of LIDs that are another node's by now are taken back; then the topology is old. */
static int check_lids(struct collector *collector, struct error *err)
{
	uint32_t moved;
	int code = lid_check_run(collector->engine, collector->watch.fabric, &collector->memory, &collector->result,
				 doubts_lids(collector), &moved, err);

	if (code == 0 && moved) {
		log_warning("%u LIDs belong to other nodes by now: what they answered is not counted", moved);
		fabric_watch_doubt(&collector->watch);
	}
	return code;
}

/* Does the sweep hint at a change of topology? */
static bool hints_at_change(struct collector *collector)
{
	const struct sweep_result *result = &collector->result;
	size_t i;

	for (i = 0; i < result->count; i++) {
		const struct port_sample *sample = &result->samples[i];
		const struct port_memory *port = memory_port(&collector->memory, collector->watch.fabric,
							     sample->port);

		if (sample->status == SAMPLE_SILENT && port->status == SAMPLE_OK)
			return true;
		if (sample->delta && sample->delta->known & COUNTER_BIT(COUNTER_LINK_DOWNED) &&
		    sample->delta->value[COUNTER_LINK_DOWNED])
			return true;
	}
	return false;
}

/* Keep what nodes can do: asked once per node, for ever. */
static void store_caps(struct collector *collector)
{
	struct memory *memory = &collector->memory;
	struct restored_caps *caps;
	struct error cause = { 0 };
	size_t count = 0, i;

	for (i = 0; i < memory->node_count; i++)
		count += memory->nodes[i].caps.known && !memory->nodes[i].caps_stored;
	caps = count ? calloc(count, sizeof(*caps)) : NULL;
	if (!caps)
		return;
	for (i = 0, count = 0; i < memory->node_count; i++)
		if (memory->nodes[i].caps.known && !memory->nodes[i].caps_stored)
			caps[count++] = (struct restored_caps){ memory->nodes[i].guid, memory->nodes[i].caps };
	if (collector->sink->store_caps(collector->sink->ctx, caps, count, &cause) == 0)
		for (i = 0; i < memory->node_count; i++)
			memory->nodes[i].caps_stored |= memory->nodes[i].caps.known;
	free(caps);
}

/* Give the sweep to the store; its readings count as last ones only once they are kept. */
static int store(struct collector *collector, struct sweep *sweep, struct error *err)
{
	int64_t before_us = clock_boottime_us(collector->clock);
	int code = collector->sink->store(collector->sink->ctx, sweep, err);

	collector->report->commit_us = clock_boottime_us(collector->clock) - before_us;
	if (code < 0)
		return code;
	sweep_keep(&collector->result, collector->watch.fabric, &collector->memory);
	events_clear(&collector->events);
	collector->discovery_us = 0;
	collector->discovery_smps = 0;
	collector->report->sweeps++;
	store_caps(collector);
	return 0;
}

/* The store fails: say it once, and once that it is over; deltas wait in the readings. */
static int handle_store(struct collector *collector, int code, int64_t wall_us, struct error *err)
{
	if (code == 0) {
		if (collector->store_failed)
			log_info("the database takes sweeps again; deltas reach back to the last one stored");
		collector->store_failed = false;
		return 0;
	}
	if (collector->settings->count == 1)
		return code;
	if (!collector->store_failed) {
		log_error("%s; polling goes on, and nothing counted is lost", err->text);
		events_add(&collector->events, wall_us, EVENT_STORE_FAILED, EVENT_WARNING, NULL, FABRIC_NONE, 0, "%s",
			   err->text);
	}
	collector->store_failed = true;
	if (collector->events.count > EVENTS_MAX)
		collector->events.count = EVENTS_MAX;
	return 0;
}

static int one_sweep(struct collector *collector, struct error *err)
{
	struct engine_counts before = engine_counts(collector->engine), after;
	struct collector_report *report = collector->report;
	const struct fabric *fabric = collector->watch.fabric;
	uint16_t sm_lid = collector->wire->sm_lid(collector->wire->ctx);
	struct sweep sweep = {
		.wall_us = clock_wall_us(collector->clock),
		.start_us = clock_boottime_us(collector->clock),
		.interval_us = collector->settings->count == 1 ? 0 : collector->settings->interval_us,
		.fabric = fabric,
		.generation = collector->watch.generation,
		.discovery_us = collector->discovery_us,
		.discovery_smps = collector->discovery_smps,
	};
	int code = sweep_run(collector->engine, fabric, &collector->memory, &collector->check,
			     sm_lid, &collector->result, err);

	if (code == 0)
		code = check_lids(collector, err);
	if (code < 0)
		return code;
	sweep.end_us = clock_boottime_us(collector->clock);
	after = engine_counts(collector->engine);
	if (collector->check.changed || hints_at_change(collector))
		fabric_watch_suspect(&collector->watch);
	events_from_sweep(&collector->events, sweep.wall_us, fabric, &collector->result, &collector->memory);
	tell_sm(collector, sweep.wall_us);
	memcpy(sweep.boot_id, collector->boot_id, sizeof(sweep.boot_id));
	sweep.ports_planned = (uint32_t)collector->result.count;
	sweep.ports_asked = collector->result.ports_asked;
	sweep.ports_answered = collector->result.ports_answered;
	sweep.mads_sent = after.sent - before.sent;
	sweep.mads_timed_out = after.timed_out - before.timed_out;
	sweep.mads_retried = after.retried - before.retried;
	sweep.sm = collector->result.sm;
	sweep.samples = collector->result.samples;
	sweep.sample_count = collector->result.count;
	sweep.events = collector->events.list;
	sweep.event_count = collector->events.count;
	report->sweep_us = sweep.end_us - sweep.start_us;
	report->nodes = fabric->node_count;
	report->links = fabric_count_links(fabric);
	report->ports_asked = sweep.ports_asked;
	report->ports_answered = sweep.ports_answered;
	report->mads_sent = sweep.mads_sent;
	report->mads_timed_out = sweep.mads_timed_out;
	code = store(collector, &sweep, err);
	return handle_store(collector, code, sweep.wall_us, err);
}

/* The next start on the beat of the interval; beats that were missed are skipped and told once. */
static int64_t next_beat(struct collector *collector, int64_t last_us)
{
	int64_t interval_us = collector->settings->interval_us, now_us = clock_boottime_us(collector->clock);
	int64_t next_us = last_us + interval_us;
	char took[WHEN_SIZE], every[WHEN_SIZE];

	if (next_us > now_us) {
		collector->late = false;
		return next_us;
	}
	collector->report->sweeps_late++;
	if (!collector->late)
		events_add(&collector->events, clock_wall_us(collector->clock), EVENT_SWEEP_LATE, EVENT_WARNING, NULL,
			   FABRIC_NONE, 0, "a sweep took %s, longer than the interval of %s",
			   when_format_span(now_us - last_us, took), when_format_span(interval_us, every));
	collector->late = true;
	return next_us + (now_us - next_us) / interval_us * interval_us;
}

static int run(struct collector *collector, struct error *err)
{
	uint64_t left = collector->settings->count;
	int64_t beat_us;
	int code = first_discovery(collector, err);

	if (code < 0)
		return code;
	if (stop_requested())
		return 0;
	events_add(&collector->events, clock_wall_us(collector->clock), EVENT_COLLECTOR_STARTED, EVENT_INFO, NULL,
		   FABRIC_NONE, 0, "collector started");
	beat_us = clock_boottime_us(collector->clock);
	for (;;) {
		code = one_sweep(collector, err);
		if (code < 0 || stop_requested() || (left && --left == 0))
			return code;
		beat_us = next_beat(collector, beat_us);
		code = wait_until(collector, beat_us, err);
		if (code < 0 || stop_requested())
			return code;
	}
}

int collector_run(const struct collector_settings *settings, const struct collector_wire *wire,
		  const struct clock *clock, const struct sink *sink, struct collector_report *ret, struct error *err)
{
	struct collector collector = {
		.settings = settings, .wire = wire, .clock = clock, .sink = sink, .report = ret,
		.memory = { .keys = wire->keys, .directed = wire->directed_smps },
	};
	struct error own; /* the loop reads errors to tell them, wanted by the caller or not */
	int code;

	if (!err)
		err = &own;
	*ret = (struct collector_report){ 0 };
	clock->boot_id(clock->ctx, collector.boot_id);
	code = engine_create(wire->transport, clock, &settings->engine, &collector.engine, err);
	if (code == 0)
		code = restore(&collector, err);
	if (code == 0)
		code = run(&collector, err);
	if (collector.watch.discoverer)
		fabric_watch_done(&collector.watch);
	/* What was asked is answered, or lost for good, before the device is closed: at most one timeout. */
	while (collector.engine && engine_listen(collector.engine, LISTEN_MS))
		;
	engine_destroy(collector.engine);
	memory_done(&collector.memory);
	events_done(&collector.events);
	sweep_result_done(&collector.result);
	return code;
}
