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
#include "collector/conservation.h"
#include "collector/details.h"
#include "collector/event_limit.h"
#include "collector/events.h"
#include "collector/fabric_watch.h"
#include "collector/judge.h"
#include "collector/lid_check.h"
#include "collector/link_check.h"
#include "collector/link_look.h"
#include "collector/loop_events.h"
#include "collector/memory.h"
#include "collector/route_read.h"
#include "collector/sink.h"
#include "collector/sm_watch.h"
#include "collector/sweep.h"
#include "collector/sweep_events.h"
#include "collector/sweep_result.h"
#include "collector/throttle.h"
#include "fabric/fabric.h"

/* How long one look at a running discovery takes while nothing else is to do. */
#define DISCOVERY_SLICE_MS 50

/* How long one wait for late answers takes; they come within a second behind a sweep. */
#define LISTEN_MS 10

/* A sweep is cut so long before the next one is due that it can be stored: twice what that took the last time. */
#define COMMIT_FACTOR 2
#define COMMIT_LEAST_US (20 * US_PER_MS)

/* How long discovery waits at most for a subnet manager that is at work, or for nodes that drop datagrams. */
#define DISCOVERY_HOLD_US (60 * US_PER_S)

/* Forwarding tables may take this part of the rate, the beat and what is urgent, and this part of the time. */
#define ROUTES_SHARE 20
#define ROUTES_TIME_SHARE 10

/* So do questions to subnet managers, when it is time for them. */
#define SMS_TIME_SHARE 10

/* Blocks of them that one transaction stores at most: some 40 ms, for which nobody else writes. */
#define ROUTES_STORED 4096

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
	struct link_look look;
	struct details details;
	struct route_read routes;
	struct sm_watch sms;
	struct throttle throttle;
	int64_t throttled_us;        /* since when, CLOCK_BOOTTIME */
	struct sweep_events sweep_events;
	struct events events;        /* since the last sweep that was stored */
	struct event_limit event_limit;
	struct conservation conservation;
	struct sweep_result result;
	struct loop_events loop_events;
	struct judge judge;
	char boot_id[BOOT_ID_SIZE];
	int64_t discovery_us;        /* not in a stored sweep yet */
	uint64_t discovery_smps;
	bool accepted;               /* the fabric is the store's */
	bool store_failed;           /* told already */
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
	if (code == 0)
		code = judge_restore(&collector->judge, &restored, err);
	if (code == 0) {
		route_read_restore(&collector->routes, &restored.routes);
		fabric_watch_restore(&collector->watch, restored.fabric);
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

/* When may the next discovery start? Not while the fabric has better things to do, but not for ever later. */
static int64_t next_discovery_us(const struct collector *collector)
{
	int64_t next_us = collector->watch.next_us, held_us = collector->throttled_us + DISCOVERY_HOLD_US;

	return collector->throttle.on && next_us < held_us ? held_us : next_us;
}

/*
 * Sleep, but hear late answers, and let a discovery that runs or is due go on
 * meanwhile: a little also where there is no time for it, or a collector that is always
 * late would never see a change.
 */
static int wait_until(struct collector *collector, int64_t until_us, struct error *err)
{
	const struct clock *clock = collector->clock;
	int64_t began_us = clock_boottime_us(clock);

	if (until_us <= began_us && (collector->watch.running || began_us >= next_discovery_us(collector)))
		until_us = began_us + DISCOVERY_SLICE_MS * US_PER_MS;
	while (!stop_requested()) {
		int64_t now_us = clock_boottime_us(clock), left_us = until_us - now_us;
		int64_t next_us = next_discovery_us(collector);
		bool discovering = collector->watch.running || now_us >= next_us, listening;
		unsigned slice_ms = DISCOVERY_SLICE_MS;

		if (left_us <= 0)
			break;
		if (left_us < DISCOVERY_SLICE_MS * US_PER_MS)
			slice_ms = (unsigned)(left_us / US_PER_MS);
		/* Less than can be waited for otherwise. */
		if (!slice_ms) {
			clock->sleep_until(clock->ctx, until_us);
			break;
		}
		listening = engine_listen(collector->engine, slice_ms < LISTEN_MS ? slice_ms : LISTEN_MS);
		if (discovering && step_watch(collector, listening ? 0 : slice_ms, err) < 0)
			return err->code;
		if (!discovering && !listening)
			clock->sleep_until(clock->ctx, next_us < until_us ? next_us : until_us);
	}
	return 0;
}

/*
 * Is there a reason to doubt all LIDs: a topology that discovery could not
 * confirm, another or a restarted subnet manager, or a node that is not where it was?
 */
static bool doubts_lids(struct collector *collector)
{
	const struct sm_state *now = &collector->result.sm, *last = &collector->loop_events.last_sm;
	size_t i;

	/* One whose count of activity fell has started anew, and may give out LIDs anew. */
	if (!collector->watch.confirmed ||
	    (now->known && last->guid && (now->guid != last->guid || now->act_count < last->act_count)))
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
	details_keep(&collector->details);
	route_read_keep(&collector->routes);
	events_clear(&collector->events);
	collector->event_limit.passed = 0;
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

/* Half the rate while the fabric is busy with itself. */
static void throttle(struct collector *collector, int64_t wall_us)
{
	const struct engine_settings *settings = &collector->settings->engine;
	const struct throttle_signs signs = {
		.links_seen = collector->check.links_seen,
		.links_not_active = collector->check.links_not_active,
		.drops = sweep_result_drops(&collector->result),
	};
	bool by_rate = settings->max_mads_per_s > 0;

	switch (throttle_step(&collector->throttle, &signs)) {
	case THROTTLE_SAME:
		return;
	case THROTTLE_BEGINS:
		collector->throttled_us = clock_boottime_us(collector->clock);
		engine_set_rate(collector->engine, throttle_half(settings->max_mads_per_s),
				by_rate ? settings->window : throttle_half(settings->window));
		events_add(&collector->events, wall_us, EVENT_THROTTLED, EVENT_INFO, NULL, FABRIC_NONE, 0,
			   signs.drops ? "asking at half the rate: nodes dropped %" PRIu64 " management datagrams"
				       : "asking at half the rate: %" PRIu64 " links are on their way up",
			   signs.drops ? signs.drops : signs.links_not_active);
		return;
	case THROTTLE_ENDS:
		engine_set_rate(collector->engine, settings->max_mads_per_s, settings->window);
		events_add(&collector->events, wall_us, EVENT_UNTHROTTLED, EVENT_INFO, NULL, FABRIC_NONE, 0,
			   "asking at the full rate again");
		return;
	}
}

/* When must a sweep that starts now end, so that it is stored when the next one is due? 0: it may take its time. */
static int64_t sweep_deadline_us(const struct collector *collector, int64_t start_us)
{
	int64_t interval_us = collector->settings->interval_us, commit_us = collector->report->commit_us;

	if (collector->settings->count == 1)
		return 0;
	commit_us = commit_us * COMMIT_FACTOR > COMMIT_LEAST_US ? commit_us * COMMIT_FACTOR : COMMIT_LEAST_US;
	return start_us + (commit_us < interval_us / 2 ? interval_us - commit_us : interval_us / 2);
}

/* What the sweep is told of, from its result. */
static void fill_sweep(const struct collector *collector, const struct engine_counts *before, struct sweep *sweep)
{
	const struct sweep_result *result = &collector->result;
	struct engine_counts after = engine_counts(collector->engine);

	memcpy(sweep->boot_id, collector->boot_id, sizeof(sweep->boot_id));
	sweep->ports_planned = (uint32_t)result->count;
	sweep->ports_asked = result->ports_asked;
	sweep->ports_answered = result->ports_answered;
	sweep->ports_unfinished = result->ports_unfinished;
	sweep->spread_us = result->spread_us;
	sweep->node_spread_us = result->node_spread_us;
	sweep->mads_sent = after.sent - before->sent;
	sweep->mads_timed_out = after.timed_out - before->timed_out;
	sweep->mads_retried = after.retried - before->retried;
	sweep->sm = result->sm;
	sweep->samples = result->samples;
	sweep->sample_count = result->count;
	sweep->details = collector->details.samples;
	sweep->detail_count = collector->details.sample_count;
	sweep->events = collector->events.list;
	sweep->event_count = collector->events.count;
	sweep->routes = collector->settings->routes_interval_us ? &collector->routes.routes : NULL;
	sweep->route_blocks = collector->routes.blocks;
	sweep->route_block_count = collector->routes.block_count;
}

static void fill_report(struct collector_report *report, const struct sweep *sweep)
{
	report->sweep_us = sweep->end_us - sweep->start_us;
	report->nodes = sweep->fabric->node_count;
	report->links = fabric_count_links(sweep->fabric);
	report->ports_asked = sweep->ports_asked;
	report->ports_answered = sweep->ports_answered;
	report->ports_unfinished = sweep->ports_unfinished;
	report->mads_sent = sweep->mads_sent;
	report->mads_timed_out = sweep->mads_timed_out;
}

/* Is the topology still what it was? Where it is not, or may not be, the next discovery is due. */
static int look_at_links(struct collector *collector, int64_t start_us, struct error *err)
{
	int code = link_look_run(&collector->look, collector->engine, sweep_deadline_us(collector, start_us), err);

	if (collector->look.changed || collector->check.changed_port != FABRIC_NONE)
		fabric_watch_suspect(&collector->watch, WATCH_CHANGE);
	else if (collector->check.changed)
		fabric_watch_suspect(&collector->watch, WATCH_HINT);
	return code;
}

/* Ask all ports; what was answered by the wrong node is taken back. */
static int ask(struct collector *collector, int64_t start_us, struct error *err)
{
	const struct sweep_settings settings = {
		.switches_only = collector->settings->switches_only,
		.sm_lid = collector->wire->sm_lid(collector->wire->ctx),
		.deadline_us = sweep_deadline_us(collector, start_us),
	};
	int code;

	engine_stop_when(collector->engine, stop_requested);
	code = sweep_run(collector->engine, collector->watch.fabric, &collector->memory, &collector->check,
			 &collector->details, &settings, &collector->result, err);
	/* Whose answers they were must be known, however much of a hurry there is. */
	engine_stop_when(collector->engine, NULL);
	if (code == 0)
		code = check_lids(collector, err);
	if (code == 0)
		code = details_finish(&collector->details, &collector->result);
	return code;
}

/*
 * While the store fails, deltas reach back to the last sweep that it took: judged each time, an
 * error would count again and again. So nothing is judged then.
 */
static int judge(struct collector *collector, struct sweep *sweep, struct error *err)
{
	if (collector->store_failed)
		return 0;
	return judge_step(&collector->judge, &collector->result, &collector->details, &collector->memory,
			  &collector->routes, sweep, &collector->events, err);
}

/*
 * Read forwarding tables, behind the counters and for a small part of the time. Not where a LID may be
 * somebody else's, nor while the SM or the nodes have enough to do: it has time.
 */
static int read_routes(struct collector *collector, const struct sweep *sweep, struct error *err)
{
	const struct engine_settings *settings = &collector->settings->engine;
	unsigned rate = settings->max_mads_per_s, window = collector->settings->routes_window;
	int64_t interval_us = collector->settings->interval_us, now_us = clock_boottime_us(collector->clock);
	const struct route_read_limits limits = {
		.smps = (uint64_t)((rate ? rate : ROUTE_READ_RATE) * (interval_us / 1e6) / ROUTES_SHARE),
		.beat_per_s = route_read_beat_per_s(rate),
		.deadline_us = now_us + interval_us / ROUTES_TIME_SHARE,
		.blocks = ROUTES_STORED,
	};
	int code;

	if (collector->result.cut || !collector->watch.confirmed || collector->throttle.on) {
		route_read_skip(&collector->routes);
		return 0;
	}
	engine_set_rate(collector->engine, rate, window && window < settings->window ? window : settings->window);
	engine_stop_when(collector->engine, stop_requested);
	code = route_read_run(&collector->routes, collector->engine, sweep->fabric, &collector->memory,
			      sweep->generation, &limits, now_us, sweep->wall_us, &collector->events, err);
	engine_stop_when(collector->engine, NULL);
	engine_set_rate(collector->engine, rate, settings->window);
	return code;
}

/* Who else manages the subnet: a handful of SMPs once a minute, so also behind a sweep that was cut. */
static int ask_sms(struct collector *collector, const struct sweep *sweep, struct error *err)
{
	int64_t now_us = clock_boottime_us(collector->clock), interval_us = collector->settings->interval_us;
	int64_t deadline_us = collector->settings->count == 1 ? 0 : now_us + interval_us / SMS_TIME_SHARE;
	int code;

	engine_stop_when(collector->engine, stop_requested);
	code = sm_watch_run(&collector->sms, collector->engine, sweep->fabric, &collector->memory, sweep->generation,
			    &collector->result.sm, now_us, deadline_us, sweep->wall_us, &collector->events,
			    err);
	engine_stop_when(collector->engine, NULL);
	collector->result.sm_masters = collector->sms.masters;
	return code;
}

static int one_sweep(struct collector *collector, bool last, struct error *err)
{
	struct engine_counts before = engine_counts(collector->engine);
	const struct fabric *fabric = collector->watch.fabric;
	struct sweep sweep = {
		.wall_us = clock_wall_us(collector->clock),
		.start_us = clock_boottime_us(collector->clock),
		.interval_us = collector->settings->count == 1 ? 0 : collector->settings->interval_us,
		.fabric = fabric,
		.generation = collector->watch.generation,
		.discovery_us = collector->discovery_us,
		.discovery_smps = collector->discovery_smps,
	};
	int code = ask(collector, sweep.start_us, err);

	if (code < 0)
		return code;
	sweep.end_us = clock_boottime_us(collector->clock);
	code = read_routes(collector, &sweep, err);
	if (code == 0)
		code = ask_sms(collector, &sweep, err);
	if (code < 0)
		return code;
	link_look_find(&collector->look, fabric, &collector->memory, &collector->result);
	loop_events_clock(&collector->loop_events, &collector->events, sweep.wall_us, sweep.start_us);
	collector->report->sweeps_cut += loop_events_cut(&collector->loop_events, &collector->events, sweep.wall_us,
							 &collector->result, collector->settings->interval_us);
	sweep_events_tell(&collector->sweep_events, &collector->events, sweep.start_us, sweep.wall_us, fabric,
			  &collector->result, &collector->memory);
	if (last)
		sweep_events_flush(&collector->sweep_events, &collector->events);
	conservation_step(&collector->conservation, &collector->events, sweep.wall_us, sweep.start_us, fabric,
			  &collector->result);
	loop_events_sm(&collector->loop_events, &collector->events, sweep.wall_us, &collector->result);
	throttle(collector, sweep.wall_us);
	code = judge(collector, &sweep, err);
	if (code < 0)
		return code;
	event_limit_apply(&collector->event_limit, &collector->events, sweep.end_us, sweep.wall_us);
	fill_sweep(collector, &before, &sweep);
	fill_report(collector->report, &sweep);
	code = store(collector, &sweep, err);
	code = handle_store(collector, code, sweep.wall_us, err);
	/* What was read is kept first; the last sweep needs no discovery after it. */
	return code < 0 || last ? code : look_at_links(collector, sweep.start_us, err);
}

/* The next start on the beat of the interval; beats that were missed are skipped. */
static int64_t next_beat(struct collector *collector, int64_t last_us)
{
	int64_t interval_us = collector->settings->interval_us, now_us = clock_boottime_us(collector->clock);
	int64_t next_us = last_us + interval_us;

	loop_events_late(&collector->loop_events, &collector->events, clock_wall_us(collector->clock), now_us - last_us,
			 interval_us);
	if (next_us > now_us)
		return next_us;
	collector->report->sweeps_late++;
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
	collector->check.fresh = collector->watch.confirmed;
	events_add(&collector->events, clock_wall_us(collector->clock), EVENT_COLLECTOR_STARTED, EVENT_INFO, NULL,
		   FABRIC_NONE, 0, "collector started");
	beat_us = clock_boottime_us(collector->clock);
	for (;;) {
		code = one_sweep(collector, left == 1, err);
		fabric_watch_tidy(&collector->watch);
		if (code < 0 || stop_requested() || (left && --left == 0))
			return code;
		beat_us = next_beat(collector, beat_us);
		code = wait_until(collector, beat_us, err);
		if (code < 0 || stop_requested())
			return code;
	}
}

/* What is still to tell is stored before the end. Where that fails nothing counted is lost. */
static void tell_rest(struct collector *collector)
{
	struct error cause = { 0 };

	sweep_events_flush(&collector->sweep_events, &collector->events);
	event_limit_apply(&collector->event_limit, &collector->events, clock_boottime_us(collector->clock),
			  clock_wall_us(collector->clock));
	if (collector->report->sweeps && collector->events.count &&
	    collector->sink->store_events(collector->sink->ctx, collector->events.list, collector->events.count,
					  &cause) < 0)
		log_warning("the last events are not stored: %s", cause.text);
}

int collector_run(const struct collector_settings *settings, const struct collector_wire *wire,
		  const struct clock *clock, const struct sink *sink, struct collector_report *ret, struct error *err)
{
	struct collector collector = {
		.settings = settings, .wire = wire, .clock = clock, .sink = sink, .report = ret,
		.memory = { .keys = wire->keys, .directed = wire->directed_smps },
		.routes = { .interval_us = settings->routes_interval_us },
	};
	struct error own; /* the loop reads errors to tell them, wanted by the caller or not */
	int code;

	if (!err)
		err = &own;
	*ret = (struct collector_report){ 0 };
	/* Single sweeps, too, shall ask all ports for their slow counters in time: so the first turn is anybody's. */
	collector.details.sweep = (uint64_t)clock_boottime_us(clock) / US_PER_S;
	clock->boot_id(clock->ctx, collector.boot_id);
	fabric_watch_init(&collector.watch, wire->discoverer, clock, settings->discovery_interval_us);
	code = engine_create(wire->transport, clock, &settings->engine, &collector.engine, err);
	if (code == 0)
		code = judge_init(&collector.judge, settings->health, settings->shape, err);
	if (code == 0) {
		/* It takes a while, and so does the store. */
		fabric_watch_begin(&collector.watch);
		code = restore(&collector, err);
	}
	if (code == 0)
		code = run(&collector, err);
	tell_rest(&collector);
	fabric_watch_done(&collector.watch);
	/* What was asked is answered, or lost for good, before the device is closed: at most one timeout. */
	while (collector.engine && engine_listen(collector.engine, LISTEN_MS))
		;
	engine_destroy(collector.engine);
	judge_done(&collector.judge);
	memory_done(&collector.memory);
	events_done(&collector.events);
	conservation_done(&collector.conservation);
	details_done(&collector.details);
	route_read_done(&collector.routes);
	sm_watch_done(&collector.sms);
	sweep_result_done(&collector.result);
	return code;
}
