/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "collector/loop_sweep.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/stop.h"
#include "collector/collector.h"
#include "collector/lid_verify.h"
#include "collector/sink.h"
#include "collector/sweep.h"
#include "fabric/fabric.h"

/* A sweep is cut so long before the next one is due that it can be stored: twice what that took the last time. */
#define COMMIT_FACTOR 2
#define COMMIT_LEAST_US (20 * US_PER_MS)

/* Forwarding tables may take this part of the rate, the beat and what is urgent, and this part of the time. */
#define ROUTES_SHARE 20
#define ROUTES_TIME_SHARE 10

/* So do questions to subnet managers, when it is time for them. */
#define SMS_TIME_SHARE 10

/*
 * Forwarding tables wait for sweeps that are not cut, and no longer than this: where all are, each ends so much earlier
 * that there is time for tables behind it.
 */
#define ROUTES_CUT_HOLD_US (60 * US_PER_S)

/* Blocks of them that one transaction stores at most: some 40 ms, for which nobody else writes. */
#define ROUTES_STORED 4096

/* How many events are kept while the store takes nothing. */
#define EVENTS_MAX 10000

/*
 * Is there a reason to doubt all LIDs: a topology that discovery could not
 * confirm, another or a restarted subnet manager, or a node that is not where it was?
 */
static bool lids_suspect(struct collector *collector)
{
	const struct sm_state *now = &collector->result.sm, *last = &collector->loop_events.last_sm;
	size_t i;

	/* One whose count of activity fell has started anew, and may give out LIDs anew. */
	if (!collector->topology.confirmed ||
	    (now->known && last->guid && (now->guid != last->guid || now->act_count < last->act_count)))
		return true;
	for (i = 0; i < collector->result.count; i++) {
		const struct port_sample *sample = &collector->result.samples[i];

		if (sample->status == SAMPLE_SILENT &&
		    node_memory_port(&collector->memory, collector->topology.fabric, sample->port)->status == SAMPLE_OK)
			return true;
	}
	return false;
}

/* Readings of LIDs that are another node's by now are taken back; then the topology is old. */
static int check_lids(struct collector *collector, struct error *err)
{
	uint32_t moved;
	int code = lid_verify_run(collector->engine, collector->topology.fabric, &collector->memory, &collector->result,
				  lids_suspect(collector), &moved, err);

	if (code == 0 && moved) {
		log_warning("%u LIDs belong to other nodes by now: what they answered is not counted", moved);
		topology_monitor_invalidate(&collector->topology);
	}
	return code;
}

/* Keep what nodes can do: asked once per node, for ever. */
static void store_caps(struct collector *collector)
{
	struct node_memory *memory = &collector->memory;
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
	collector->report->sweeps_made++;
	collector->report->unstored = code < 0 ? *err : (struct error){ 0 };
	if (code < 0)
		return code;
	sweep_commit(&collector->result, collector->topology.fabric, &collector->memory);
	details_commit(&collector->details);
	route_read_commit(&collector->routes);
	if (collector->events.lost)
		log_warning("%zu events are lost: there was no room for them", collector->events.lost);
	events_clear(&collector->events);
	collector->event_limit.passed = 0;
	collector->discovery_us = 0;
	collector->discovery_smps = 0;
	collector->report->sweeps++;
	store_caps(collector);
	return 0;
}

/*
 * The store fails: say it once, and once that it is over; deltas wait in the readings. ERR_UNAVAILABLE ends the
 * collector: another one stores the same counters.
 */
static int handle_store(struct collector *collector, int code, int64_t wall_us, struct error *err)
{
	if (code == 0) {
		if (collector->store_failed)
			log_info("the database takes sweeps again; deltas reach back to the last one stored");
		collector->store_failed = false;
		return 0;
	}
	if (collector->settings->count == 1 || code == ERR_UNAVAILABLE)
		return code;
	if (!collector->store_failed) {
		log_error("%s; polling goes on, and nothing counted is lost", err->text);
		events_add(&collector->events, wall_us, EVENT_STORE_FAILED, EVENT_WARNING, NULL, FABRIC_NONE, 0, "%s",
			   err->text);
	}
	collector->store_failed = true;
	if (collector->events.count > EVENTS_MAX) {
		collector->events.lost += collector->events.count - EVENTS_MAX;
		collector->events.count = EVENTS_MAX;
	}
	return 0;
}

/* The limit on MADs per second that holds now. 0: none */
static unsigned rate_now(const struct collector *collector)
{
	unsigned rate = collector->settings->engine.max_mads_per_s;

	return collector->throttle.on ? throttle_half(rate) : rate;
}

/* Let the limits hold that hold now; where none is on the rate, half of it is half of the window. */
static void set_limits(struct collector *collector, unsigned window_most)
{
	const struct engine_settings *settings = &collector->settings->engine;
	unsigned window = settings->window;

	if (collector->throttle.on && !settings->max_mads_per_s)
		window = throttle_half(window);
	engine_set_rate(collector->engine, rate_now(collector),
			window_most && window_most < window ? window_most : window);
}

/* Half the rate from now on, and who or what is the reason. */
static void report_throttled(struct collector *collector, int64_t wall_us, const struct throttle_load *load,
			     uint32_t port_index)
{
	const struct fabric *fabric = collector->topology.fabric;
	const struct port *port = load->drops ? &fabric->ports[port_index] : NULL;

	if (port)
		events_add(&collector->events, wall_us, EVENT_THROTTLED, EVENT_INFO, fabric, port->node, port->num,
			   "asking at half the rate: nodes dropped %" PRIu64 " management datagrams, this one the most",
			   load->drops);
	else
		events_add(&collector->events, wall_us, EVENT_THROTTLED, EVENT_INFO, NULL, FABRIC_NONE, 0,
			   "asking at half the rate: %" PRIu32 " links are on their way up", load->links_not_active);
}

/* Half the rate while the fabric is busy with itself. */
static void throttle(struct collector *collector, int64_t wall_us)
{
	uint32_t dropped_at;
	const struct throttle_load load = {
		.links_seen = collector->probe.links_seen,
		.links_not_active = collector->probe.links_not_active,
		.drops = sweep_result_drops(&collector->result, &dropped_at),
	};

	switch (throttle_step(&collector->throttle, &load)) {
	case THROTTLE_SAME:
		return;
	case THROTTLE_BEGINS:
		collector->throttled_us = clock_boottime_us(collector->clock);
		set_limits(collector, 0);
		report_throttled(collector, wall_us, &load, dropped_at);
		return;
	case THROTTLE_ENDS:
		set_limits(collector, 0);
		events_add(&collector->events, wall_us, EVENT_UNTHROTTLED, EVENT_INFO, NULL, FABRIC_NONE, 0,
			   "asking at the full rate again");
		return;
	}
}

/* Have sweeps been cut for so long that tables are read all the same? */
static bool routes_reserve_time(const struct collector *collector, int64_t now_us)
{
	return collector->settings->routes_interval_us && collector->cut_us &&
	       now_us - collector->cut_us >= ROUTES_CUT_HOLD_US;
}

/* When must a sweep that starts now end, so that it is stored when the next one is due? 0: it may take its time. */
static int64_t sweep_deadline_us(const struct collector *collector, int64_t start_us)
{
	int64_t interval_us = collector->settings->interval_us, commit_us = collector->report->commit_us;

	if (collector->settings->count == 1)
		return 0;
	commit_us = commit_us * COMMIT_FACTOR > COMMIT_LEAST_US ? commit_us * COMMIT_FACTOR : COMMIT_LEAST_US;
	if (routes_reserve_time(collector, start_us))
		commit_us += interval_us / ROUTES_TIME_SHARE;
	return start_us + (commit_us < interval_us / 2 ? interval_us - commit_us : interval_us / 2);
}

/* What the store is given. */
static void fill_sweep(const struct collector *collector, const struct engine_counts *before, struct sweep *sweep)
{
	struct engine_counts after = engine_counts(collector->engine);

	memcpy(sweep->boot_id, collector->boot_id, sizeof(sweep->boot_id));
	sweep_result_fill(&collector->result, sweep);
	sweep->mads_sent = after.sent - before->sent;
	sweep->mads_timed_out = after.timed_out - before->timed_out;
	sweep->mads_retried = after.retried - before->retried;
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
static int verify_links(struct collector *collector, int64_t start_us, struct error *err)
{
	int code = link_verify_run(&collector->verify, collector->engine, sweep_deadline_us(collector, start_us), err);

	if (collector->verify.changed || collector->probe.changed_port != FABRIC_NONE)
		topology_monitor_rediscover(&collector->topology, TOPOLOGY_HINT_DIFFERENCE);
	else if (collector->probe.changed)
		topology_monitor_rediscover(&collector->topology, TOPOLOGY_HINT_STATE_CHANGE);
	return code;
}

/* Ask all ports; what was answered by the wrong node is taken back. */
static int query(struct collector *collector, int64_t start_us, struct error *err)
{
	const struct sweep_settings settings = {
		.switches_only = collector->settings->switches_only,
		.sm_lid = collector->wire->sm_lid(collector->wire->ctx),
		.deadline_us = sweep_deadline_us(collector, start_us),
	};
	int code;

	engine_stop_when(collector->engine, stop_requested);
	code = sweep_run(collector->engine, collector->topology.fabric, &collector->memory, &collector->probe,
			 &collector->details, &settings, &collector->result, err);
	if (!collector->result.cut)
		collector->cut_us = 0;
	else if (!collector->cut_us)
		collector->cut_us = start_us;
	/* Whose answers they were must be known, however much of a hurry there is. */
	engine_stop_when(collector->engine, NULL);
	if (code == 0)
		code = check_lids(collector, err);
	if (code == 0)
		code = details_finish(&collector->details, &collector->result);
	if (code == 0 && collector->result.bad_responses)
		log_debug("%u answers with an error, or to another question, are not counted",
			  collector->result.bad_responses);
	return code;
}

/*
 * While the store fails, deltas reach back to the last sweep that it took: judged each time, an
 * error would count again and again. So nothing is judged then.
 */
static int findings(struct collector *collector, struct sweep *sweep, struct error *err)
{
	const struct sink *sink = collector->sink;

	if (collector->store_failed)
		return 0;
	collector->findings.log_bytes = sink->log_held ? sink->log_held(sink->ctx, collector->findings.log_holders) : 0;
	return findings_step_run(&collector->findings, &collector->result, &collector->details, &collector->memory,
				 &collector->routes, sweep, &collector->events, err);
}

/*
 * Read forwarding tables, behind the counters and for a small part of the time. Not where a LID may be
 * somebody else's, nor at once while the SM or the nodes have enough to do: it has time, but not for ever.
 */
static int read_routes(struct collector *collector, const struct sweep *sweep, struct error *err)
{
	unsigned rate = rate_now(collector);
	int64_t interval_us = collector->settings->interval_us, now_us = clock_boottime_us(collector->clock);
	const struct route_read_limits limits = {
		.smps = (uint64_t)((rate ? rate : ROUTE_READ_RATE) * (interval_us / 1e6) / ROUTES_SHARE),
		.blocks_per_s = route_read_blocks_per_s(rate),
		.deadline_us = now_us + interval_us / ROUTES_TIME_SHARE,
		.blocks = ROUTES_STORED,
	};
	bool deferred = collector->throttle.on && now_us - collector->throttled_us < THROTTLE_HOLD_US;
	bool cut = collector->result.cut && !routes_reserve_time(collector, sweep->start_us);
	int code;

	if (cut || !collector->topology.confirmed || deferred) {
		route_read_skip(&collector->routes);
		return 0;
	}
	set_limits(collector, collector->settings->routes_window);
	engine_stop_when(collector->engine, stop_requested);
	code = route_read_run(&collector->routes, collector->engine, sweep->fabric, &collector->memory,
			      sweep->generation, &limits, now_us, sweep->wall_us, &collector->events, err);
	engine_stop_when(collector->engine, NULL);
	set_limits(collector, 0);
	return code;
}

/* Who else manages the subnet: a handful of SMPs once a minute, so also behind a sweep that was cut. */
static int query_sms(struct collector *collector, const struct sweep *sweep, struct error *err)
{
	int64_t now_us = clock_boottime_us(collector->clock), interval_us = collector->settings->interval_us;
	int64_t deadline_us = collector->settings->count == 1 ? 0 : now_us + interval_us / SMS_TIME_SHARE;
	int code;

	engine_stop_when(collector->engine, stop_requested);
	code = sm_monitor_run(&collector->sm_monitor, collector->engine, sweep->fabric, &collector->memory,
			      sweep->generation, &collector->result.sm, now_us, deadline_us, sweep->wall_us,
			      &collector->events, err);
	engine_stop_when(collector->engine, NULL);
	collector->result.sm_masters = collector->sm_monitor.masters;
	return code;
}

/* The events of this sweep: of the clock, of the sweep itself, of what was read, of who manages the subnet. */
static void add_events(struct collector *collector, const struct sweep *sweep)
{
	const struct sweep_result *result = &collector->result;
	struct events *events = &collector->events;

	loop_events_clock(&collector->loop_events, events, sweep->wall_us, sweep->start_us);
	collector->report->sweeps_cut += loop_events_cut(&collector->loop_events, events, sweep->wall_us, result,
							 collector->settings->interval_us);
	collector->sweep_events.busy = collector->topology.running || collector->throttle.on;
	sweep_events_report(&collector->sweep_events, events, sweep->start_us, sweep->wall_us, sweep->fabric, result,
			    &collector->memory);
	conservation_step(&collector->conservation, events, sweep->wall_us, sweep->start_us, sweep->fabric, result);
	loop_events_sm(&collector->loop_events, events, sweep->wall_us, result);
}

int loop_sweep(struct collector *collector, bool last, struct error *err)
{
	struct engine_counts before = engine_counts(collector->engine);
	const struct fabric *fabric = collector->topology.fabric;
	struct sweep sweep = {
		.wall_us = clock_wall_us(collector->clock),
		.start_us = clock_boottime_us(collector->clock),
		.interval_us = collector->settings->count == 1 ? 0 : collector->settings->interval_us,
		.fabric = fabric,
		.generation = collector->topology.generation,
		.discovery_us = collector->discovery_us,
		.discovery_smps = collector->discovery_smps,
	};
	int code = query(collector, sweep.start_us, err);

	if (code < 0)
		return code;
	sweep.end_us = clock_boottime_us(collector->clock);
	code = read_routes(collector, &sweep, err);
	if (code == 0)
		code = query_sms(collector, &sweep, err);
	if (code < 0)
		return code;
	link_verify_select(&collector->verify, fabric, &collector->memory, &collector->result);
	add_events(collector, &sweep);
	throttle(collector, sweep.wall_us);
	code = findings(collector, &sweep, err);
	if (code < 0)
		return code;
	event_limit_apply(&collector->event_limit, &collector->events, sweep.end_us, sweep.wall_us);
	fill_sweep(collector, &before, &sweep);
	fill_report(collector->report, &sweep);
	code = store(collector, &sweep, err);
	code = handle_store(collector, code, sweep.wall_us, err);
	/* What was read is kept first; the last sweep needs no discovery after it. */
	return code < 0 || last ? code : verify_links(collector, sweep.start_us, err);
}
