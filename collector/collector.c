/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "collector/collector.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/stop.h"
#include "collector/loop_sweep.h"
#include "collector/node_memory.h"
#include "collector/sink.h"
#include "fabric/fabric.h"
#include "wire/discovery.h"
#include "wire/keys.h"

/* Longest wait for a running discovery while nothing else is due. */
#define DISCOVERY_SLICE_MS 50

/*
 * What is known of departed nodes is kept while the collector runs. A switch that shows false nodes would fill the
 * memory: with this number of further ports, besides those of the fabric, the collector starts again from the store.
 */
#define DEPARTED_PORTS_MOST 32768

/* Longest wait for late responses, which arrive within a second after a sweep. */
#define LISTEN_MS 10

static int restore(struct collector *collector, struct error *err)
{
	const struct clock *clock = collector->clock;
	struct restored restored = { 0 };
	struct fabric *fabric = NULL;
	int code = collector->sink->restore(collector->sink->ctx, &restored, err);

	if (code < 0)
		return code;
	code = node_memory_restore(&collector->memory, &restored, collector->boot_id, clock_boottime_us(clock),
				   clock_wall_us(clock), err);
	if (code == 0)
		code = findings_step_restore(&collector->findings, &restored, err);
	if (code == 0) {
		route_read_restore(&collector->routes, &restored.routes);
		pkey_read_restore(&collector->pkeys, &restored.pkeys);
		fabric = restored.fabric;
		topology_monitor_restore(&collector->topology, fabric);
		restored.fabric = NULL;
		if (collector->topology.fabric)
			code = node_memory_set_fabric(&collector->memory, collector->topology.fabric, err);
	}
	/* A stored state is outdated unless it is queried again. */
	for (uint32_t i = 0; code == 0 && fabric && i < fabric->node_count; i++) {
		struct node_entry *entry = node_memory_node(&collector->memory, i);

		if (collector->settings->adaptive_routing)
			entry->adaptive = entry->adaptive_reported = fabric->nodes[i].adaptive;
	}
	for (size_t i = 0; code == 0 && !collector->settings->firmware && i < collector->memory.node_count; i++) {
		struct node_entry *entry = &collector->memory.nodes[i];

		entry->firmware_unstored = entry->firmware.source == FIRMWARE_READ;
		if (entry->firmware_unstored)
			entry->firmware = (struct firmware){ 0 };
	}
	restored_done(&restored);
	return code;
}

/* Let discovery proceed for at most @timeout_ms, and adopt a new topology. */
static int step_topology(struct collector *collector, unsigned timeout_ms, struct error *err)
{
	struct topology_monitor *topology = &collector->topology;
	int code = topology_monitor_step(topology, timeout_ms, &collector->events, err);

	if (topology->took_us) {
		collector->discovery_us = collector->report->discovery_us = topology->took_us;
		collector->discovery_smps = collector->report->discovery_smps = topology->smps;
		topology->took_us = 0;
		collector->probe.read_adaptive = collector->settings->adaptive_routing && !topology->part;
		/* A new topology may come with newer M_Keys. keys_read() has logged its errors. */
		if (collector->wire->keys)
			keys_refresh(collector->wire->keys, NULL);
	}
	if (code <= 0)
		return code;
	if (collector->settings->accept && !collector->accepted) {
		code = collector->settings->accept(collector->settings->accept_ctx, topology->fabric, err);
		if (code < 0)
			return code;
	}
	collector->accepted = true;
	code = node_memory_set_fabric(&collector->memory, topology->fabric, err);
	if (code < 0)
		return code;
	node_memory_put_switch_info(&collector->memory, topology->fabric);
	if (topology->discoverer->file)
		return 0;
	log_info("fabric: %zu nodes, %zu ports (discovered in %.3f s, %" PRIu64 " SMPs)", topology->fabric->node_count,
		 topology->fabric->port_count, (double)collector->discovery_us / US_PER_S, collector->discovery_smps);
	return 0;
}

/* Return: whether the run continues. Between sweeps settings->proceed is called once in COLLECTOR_WAIT_US. */
static bool proceeds(struct collector *collector, bool before_sweep)
{
	const struct collector_settings *settings = collector->settings;
	int64_t now_us = clock_boottime_us(collector->clock);

	if (settings->proceed && !collector->halted && (before_sweep || now_us >= collector->proceed_us)) {
		collector->proceed_us = now_us + COLLECTOR_WAIT_US;
		collector->halted = !settings->proceed(settings->proceed_ctx);
	}
	return !collector->halted && !stop_requested();
}

/* Wait for the first discovery: there is nothing to sweep without it. */
static int first_discovery(struct collector *collector, struct error *err)
{
	do {
		int code = step_topology(collector, DISCOVERY_SLICE_MS, err);

		if (code < 0)
			return code;
	} while (collector->topology.running && proceeds(collector, false));
	return 0;
}

static int64_t smallest(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Earliest start of the next discovery: it is deferred while throttled, up to a limit. */
static int64_t next_discovery_us(const struct collector *collector)
{
	int64_t next_us = collector->topology.next_us, held_us = collector->throttle.since_us + THROTTLE_HOLD_US;

	return collector->throttle.on && next_us < held_us ? held_us : next_us;
}

/*
 * Read the ports of running jobs once. While the topology is not confirmed all LIDs are in doubt: the next sweep
 * verifies them.
 * @sweep_us:  of the next sweep
 */
static int fast_round(struct collector *collector, int64_t sweep_us, struct error *err)
{
	struct fast_jobs *fast = &collector->fast;
	int64_t now_us = clock_boottime_us(collector->clock);
	int64_t missed = (now_us - fast->next_us) / fast->interval_us;
	const struct health_sample *samples;
	uint64_t before = fast->mads;
	uint32_t moved;
	int code;

	fast->late |= missed > 0;
	fast->next_us += (missed + 1) * fast->interval_us;
	/* At half the rate. */
	fast->skipped = collector->throttle.on && !fast->skipped;
	if (fast->skipped || !collector->topology.confirmed)
		return 0;
	engine_stop_when(collector->engine, stop_requested);
	code = fast_jobs_round(fast, collector->engine, &collector->memory, collector->topology.generation,
			       smallest(fast->next_us, sweep_us), &moved, &samples, err);
	engine_stop_when(collector->engine, NULL);
	collector->report->fast_rounds++;
	collector->report->fast_ports = fast->count;
	collector->report->fast_mads += fast->mads - before;
	if (code < 0)
		return code;
	fast->late |= code == ENGINE_CUT && !stop_requested();
	if (moved) {
		log_warning("%u LIDs belong to other nodes now: their responses are discarded", moved);
		topology_monitor_invalidate(&collector->topology);
	}
	return health_job_samples(collector->findings.health, now_us, samples, fast->count, err);
}

/*
 * Sleep, but receive late responses and let a due discovery proceed: for a short time even if there
 * is none left, since otherwise a collector whose sweeps are always late would never detect a
 * change.
 */
static int wait_until(struct collector *collector, int64_t until_us, struct error *err)
{
	const struct clock *clock = collector->clock;
	int64_t began_us = clock_boottime_us(clock);

	if (until_us <= began_us && (collector->topology.running || began_us >= next_discovery_us(collector)))
		until_us = began_us + DISCOVERY_SLICE_MS * US_PER_MS;
	while (proceeds(collector, false)) {
		int64_t now_us = clock_boottime_us(clock), fast_us = fast_jobs_next_us(&collector->fast, until_us);
		int64_t left_us = smallest(fast_us, until_us) - now_us;
		int64_t next_us = next_discovery_us(collector), wake_us = now_us + COLLECTOR_WAIT_US;
		bool discovering = collector->topology.running || now_us >= next_us, listening;
		unsigned slice_ms = DISCOVERY_SLICE_MS;
		int code = 0;

		if (until_us <= now_us)
			break;
		if (fast_us <= now_us) {
			code = fast_round(collector, until_us, err);
			if (code < 0)
				return code;
			continue;
		}
		if (left_us < DISCOVERY_SLICE_MS * US_PER_MS)
			slice_ms = (unsigned)(left_us / US_PER_MS);
		/* Shorter than the resolution of the wait. */
		if (!slice_ms) {
			clock->sleep_until(clock->ctx, now_us + left_us);
			continue;
		}
		listening = engine_listen(collector->engine, slice_ms < LISTEN_MS ? slice_ms : LISTEN_MS);
		if (discovering)
			code = step_topology(collector, listening ? 0 : slice_ms, err);
		else if (!listening)
			clock->sleep_until(clock->ctx, smallest(smallest(next_us, now_us + left_us), wake_us));
		if (code < 0)
			return code;
	}
	return 0;
}

/* The next start at a multiple of the interval; missed ones are skipped. */
static int64_t next_period(struct collector *collector, int64_t last_us)
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

/* A store that fails does not have what is to be restored. */
static bool has_too_many_departed(const struct collector *collector)
{
	return !collector->store_failed &&
	       collector->memory.port_count > collector->ports_at_start + collector->topology.fabric->port_count +
					      DEPARTED_PORTS_MOST;
}

/* @left: sweeps; 0: no limit. Return: 0; 1: to be started again; or a negative error. */
static int run(struct collector *collector, uint64_t *left, struct error *err)
{
	int64_t scheduled_us;
	int code;

	if (collector->wire->device_returned)
		events_add(&collector->events, clock_wall_us(collector->clock), EVENT_DEVICE_RETURNED, EVENT_INFO,
			   NULL, FABRIC_NONE, 0, "%s of this host is there again", collector->wire->device);
	events_add(&collector->events, clock_wall_us(collector->clock), EVENT_COLLECTOR_STARTED, EVENT_INFO, NULL,
		   FABRIC_NONE, 0, "collector started");
	code = first_discovery(collector, err);
	if (code < 0)
		return code;
	collector->probe.fresh = collector->topology.confirmed;
	collector->ports_at_start = collector->memory.port_count;
	scheduled_us = clock_boottime_us(collector->clock);
	while (proceeds(collector, true)) {
		code = loop_sweep(collector, *left == 1, err);
		topology_monitor_reap(&collector->topology);
		if (code < 0 || stop_requested() || (*left && --*left == 0))
			return code;
		fast_jobs_schedule(&collector->fast, scheduled_us);
		scheduled_us = next_period(collector, scheduled_us);
		code = wait_until(collector, scheduled_us, err);
		if (code < 0)
			return code;
		if (has_too_many_departed(collector)) {
			log_warning("%zu ports are known, many of them of departed nodes: starting again from the "
				    "database", collector->memory.port_count);
			return 1;
		}
	}
	return 0;
}

/* Store the remaining events before the end. A failure loses no counters. */
static void report_rest(struct collector *collector)
{
	struct error cause = { 0 };

	event_limit_apply(&collector->event_limit, &collector->events, clock_boottime_us(collector->clock),
			  clock_wall_us(collector->clock));
	if (collector->report->sweeps && collector->events.count &&
	    collector->sink->store_events(collector->sink->ctx, collector->events.list, collector->events.count,
					  &cause) < 0)
		log_warning("the last events were not stored: %s", cause.text);
}

/* @left, return: as of run() */
static int run_once(const struct collector_settings *settings, const struct collector_wire *wire,
		    const struct clock *clock, const struct sink *sink, uint64_t *left, struct collector_report *ret,
		    struct error *err)
{
	struct collector collector = {
		.settings = settings, .wire = wire, .clock = clock, .sink = sink, .report = ret,
		.memory = { .keys = wire->keys, .directed = wire->directed_smps,
			    .no_smps = wire->discoverer->file != NULL },
		.routes = { .interval_us = settings->routes_interval_us, .sink = sink },
		.fast = { .interval_us = settings->fast_jobs_us },
		.pkeys = { .off = settings->switches_only || settings->no_pkeys || wire->discoverer->file != NULL,
			   .sink = sink },
	};
	int code;

	collector.probe.skip_hcas = settings->switches_only;
	/* The first turn is arbitrary, so consecutive single sweeps cover all ports. */
	collector.details.sweep = (uint64_t)clock_boottime_us(clock) / US_PER_S;
	clock->boot_id(clock->ctx, collector.boot_id);
	topology_monitor_init(&collector.topology, wire->discoverer, clock, settings->discovery_interval_us);
	code = engine_create(wire->transport, clock, &settings->engine, &collector.engine, err);
	if (code == 0)
		code = findings_step_init(&collector.findings, settings->health, settings->shape, err);
	if (code == 0 && settings->detect_jobs && sink->store_detected)
		code = detect_step_init(&collector.detect, settings->interval_us, settings->switches_only, err);
	if (code == 0) {
		/* Takes a while, in parallel to restoring from the store. */
		topology_monitor_start(&collector.topology);
		code = restore(&collector, err);
	}
	if (code == 0)
		code = run(&collector, left, err);
	if (code < 0 && wire->device_removed && wire->device_removed(wire->ctx))
		events_add(&collector.events, clock_wall_us(clock), EVENT_DEVICE_REMOVED, EVENT_WARNING, NULL,
			   FABRIC_NONE, 0, "%s of this host was removed", wire->device);
	report_rest(&collector);
	topology_monitor_done(&collector.topology);
	/* Pending requests end before the device is closed: at most one timeout. */
	while (collector.engine && engine_listen(collector.engine, LISTEN_MS))
		;
	engine_destroy(collector.engine);
	findings_step_done(&collector.findings);
	fast_jobs_done(&collector.fast);
	detect_step_done(&collector.detect);
	node_memory_done(&collector.memory);
	events_done(&collector.events);
	conservation_done(&collector.conservation);
	wait_guard_done(&collector.wait_guard);
	details_done(&collector.details);
	route_read_done(&collector.routes);
	pkey_read_done(&collector.pkeys);
	sm_monitor_done(&collector.sm_monitor);
	sweep_result_done(&collector.result);
	return code;
}

int collector_run(const struct collector_settings *settings, const struct collector_wire *wire,
		  const struct clock *clock, const struct sink *sink, struct collector_report *ret, struct error *err)
{
	uint64_t left = settings->count;
	struct error own; /* used for reporting even if the caller passes NULL */
	int code;

	*ret = (struct collector_report){ 0 };
	do {
		code = run_once(settings, wire, clock, sink, &left, ret, err ? err : &own);
	} while (code > 0);
	return code;
}
