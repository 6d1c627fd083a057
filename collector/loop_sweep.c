/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "collector/loop_sweep.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/stop.h"
#include "base/text.h"
#include "collector/collector.h"
#include "collector/hidden_reset.h"
#include "collector/lid_verify.h"
#include "collector/sink.h"
#include "collector/sweep.h"
#include "fabric/fabric.h"

/* Time reserved for storing a sweep before the next one is due: twice that of the last commit. */
#define COMMIT_FACTOR 2
#define COMMIT_LEAST_US (20 * US_PER_MS)

/* Shares of the rate and of the interval for forwarding tables. */
#define ROUTES_SHARE 20
#define ROUTES_TIME_SHARE 10

/* Share of the interval for queries to subnet managers, and for those of firmware. */
#define SMS_TIME_SHARE 10

/* Share of the interval that a cut sweep leaves to the verification of LIDs. */
#define LIDS_TIME_SHARE 20

/*
 * Forwarding tables are not read after a cut sweep. If all sweeps are cut for this long, they end
 * earlier, to leave time for the tables.
 */
#define ROUTES_CUT_HOLD_US (60 * US_PER_S)

/* Blocks per transaction: this number takes 40 ms, in which no other process can write. */
#define ROUTES_STORED 4096

/* The SM is activating links if both this number and this share of them are not active. */
#define THROTTLE_LINKS 2
#define THROTTLE_LINKS_PERCENT 10

/* Sweeps without load that end the throttling; it takes TOPOLOGY_PROBE_SWEEPS to check all links. */
#define THROTTLE_QUIET_SWEEPS 11

/* Events to keep while the store fails. */
#define EVENTS_MAX 10000

/* Store capabilities of nodes, which are queried only once; of a node that is left out, when it is stored. */
static void store_caps(struct collector *collector)
{
	struct node_memory *memory = &collector->memory;
	uint32_t nodes = (uint32_t)memory->fabric->node_count;
	struct restored_caps *caps = NULL;
	struct error cause = { 0 };
	size_t count = 0;

	for (uint32_t i = 0; i < nodes; i++) {
		const struct node_entry *node = node_memory_node(memory, i);

		if (!node->caps.known || node->caps_stored || sink_leaves_out(collector->sink, node->guid))
			continue;
		if (!caps && !(caps = calloc(nodes - i, sizeof(*caps))))
			return;
		caps[count++] = (struct restored_caps){ node->guid, node->caps };
	}
	if (count && collector->sink->store_caps(collector->sink->ctx, caps, count, &cause) == 0)
		for (uint32_t i = 0; i < nodes; i++)
			node_memory_node(memory, i)->caps_stored |= node_memory_node(memory, i)->caps.known &&
				!sink_leaves_out(collector->sink, node_memory_node(memory, i)->guid);
	free(caps);
}

/* Store the sweep; only then its readings become the last ones. */
static int store(struct collector *collector, struct sweep *sweep, struct error *err)
{
	int64_t before_us = clock_boottime_us(collector->clock);
	int code = collector->sink->store(collector->sink->ctx, sweep, err);

	collector->report->commit_us = clock_boottime_us(collector->clock) - before_us;
	collector->report->sweeps_made++;
	collector->report->unstored = code < 0 ? *err : (struct error){ 0 };
	if (code < 0)
		return code;
	sweep_commit(&collector->result, &collector->memory);
	details_commit(&collector->details);
	route_read_commit(&collector->routes);
	pkey_read_commit(&collector->pkeys);
	if (collector->events.lost)
		log_warning("%zu event%s %s lost: out of memory, or too many", collector->events.lost,
			    text_plural(collector->events.lost), collector->events.lost == 1 ? "was" : "were");
	events_clear(&collector->events);
	collector->event_limit.passed = 0;
	collector->discovery_us = 0;
	collector->discovery_smps = 0;
	collector->report->sweeps++;
	store_caps(collector);
	firmware_read_store(&collector->memory, collector->sink);
	return 0;
}

/*
 * Report the first failure of the store, and its end; the readings still contain the deltas.
 * ERR_UNAVAILABLE ends the collector: another one stores the same counters. So does a store that has ended.
 */
static int handle_store(struct collector *collector, int code, int64_t wall_us, struct error *err)
{
	if (code == 0) {
		collector->findings.stalled_us = 0;
		if (collector->store_failed) {
			log_info("sweeps are stored again; the deltas start at the last stored sweep");
			/* For the findings of the next sweep; those of this one were not updated. */
			collector->findings.stalled_us = clock_boottime_us(collector->clock) - collector->stalled_at_us;
		}
		collector->store_failed = false;
		return 0;
	}
	if (collector->settings->count == 1 || code == ERR_UNAVAILABLE ||
	    (collector->sink->has_ended && collector->sink->has_ended(collector->sink->ctx)))
		return code;
	if (!collector->store_failed) {
		log_error("%s; polling continues, and no counts are lost", err->text);
		events_add(&collector->events, wall_us, EVENT_STORE_FAILED, EVENT_WARNING, NULL, FABRIC_NONE, 0, "%s",
			   err->text);
		collector->stalled_at_us = clock_boottime_us(collector->clock);
		snprintf(collector->findings.stall_reason, sizeof(collector->findings.stall_reason), "%s", err->text);
	}
	collector->store_failed = true;
	if (collector->events.count > EVENTS_MAX) {
		collector->events.lost += collector->events.count - EVENTS_MAX;
		collector->events.count = EVENTS_MAX;
	}
	return 0;
}

/* Half of a limit, at least 1; 0 (no limit) remains 0. */
static unsigned half(unsigned limit)
{
	return limit > 1 ? limit / 2 : limit;
}

/* Current limit of MADs per second. 0: none */
static unsigned rate_now(const struct collector *collector)
{
	unsigned rate = collector->settings->engine.max_mads_per_s;

	return collector->throttle.on ? half(rate) : rate;
}

/* Apply the current limits. If the rate is not limited, throttling halves the window. */
static void set_limits(struct collector *collector, unsigned window_most)
{
	const struct engine_settings *settings = &collector->settings->engine;
	unsigned window = settings->window;

	if (collector->throttle.on && !settings->max_mads_per_s)
		window = half(window);
	engine_set_rate(collector->engine, rate_now(collector),
			window_most && window_most < window ? window_most : window);
}

/* Report that the rate is halved, and why. */
static void report_throttled(struct collector *collector, int64_t wall_us, uint64_t drops, uint32_t port_index)
{
	const struct fabric *fabric = collector->topology.fabric;

	if (drops)
		events_add(&collector->events, wall_us, EVENT_THROTTLED, EVENT_INFO, fabric,
			   fabric->ports[port_index].node, fabric->ports[port_index].num,
			   "polling at half the rate: nodes dropped %" PRIu64 " management datagrams, "
			   "most of them here", drops);
	else
		events_add(&collector->events, wall_us, EVENT_THROTTLED, EVENT_INFO, NULL, FABRIC_NONE, 0,
			   "polling at half the rate: %" PRIu32 " links are coming up",
			   collector->probe.links_not_active);
}

/* Halve the rate while the SM or the agents are busy. */
static void throttle(struct collector *collector, int64_t wall_us)
{
	const struct topology_probe *probe = &collector->probe;
	struct throttle *state = &collector->throttle;
	bool was_on = state->on;
	uint32_t dropped_at;
	uint64_t drops = sweep_result_drops(&collector->result, &dropped_at);

	if (drops || (probe->links_not_active >= THROTTLE_LINKS && (uint64_t)probe->links_not_active * 100 >=
			      (uint64_t)probe->links_seen * THROTTLE_LINKS_PERCENT)) {
		state->on = true;
		state->quiet_sweeps = 0;
	} else if (state->on && ++state->quiet_sweeps >= THROTTLE_QUIET_SWEEPS) {
		state->on = false;
	}
	if (state->on == was_on)
		return;
	set_limits(collector, 0);
	if (state->on) {
		state->since_us = clock_boottime_us(collector->clock);
		report_throttled(collector, wall_us, drops, dropped_at);
	} else {
		events_add(&collector->events, wall_us, EVENT_UNTHROTTLED, EVENT_INFO, NULL, FABRIC_NONE, 0,
			   "polling at the full rate again");
	}
}

/* Return: whether all sweeps have been cut for so long that time for reading tables is reserved. */
static bool routes_reserve_time(const struct collector *collector, int64_t now_us)
{
	return collector->settings->routes_interval_us && collector->cut_us &&
	       now_us - collector->cut_us >= ROUTES_CUT_HOLD_US;
}

/* CLOCK_BOOTTIME at which a sweep is cut, so that it is stored in time; 0: never. */
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

/* Are all LIDs in doubt: after a topology that discovery could not confirm, or a new or restarted SM? */
static bool lids_suspect(const struct collector *collector)
{
	const struct sm_state *now = &collector->result.sm, *last = &collector->loop_events.last_sm;

	/* An SM whose ActCount decreased was restarted, and may reassign LIDs. */
	return !collector->topology.confirmed ||
	       (now->known && last->guid && (now->guid != last->guid || now->act_count < last->act_count));
}

/* Discard readings of LIDs that have moved; then the topology is outdated. */
static int check_lids(struct collector *collector, int64_t start_us, struct error *err)
{
	uint32_t moved;
	int code;

	set_limits(collector, collector->settings->routes_window);
	code = lid_verify_run(collector->engine, &collector->memory, &collector->result, lids_suspect(collector),
			      sweep_deadline_us(collector, start_us), &moved, err);
	set_limits(collector, 0);
	if (code == 0 && moved) {
		log_warning("%u LIDs belong to other nodes now: their responses are discarded", moved);
		topology_monitor_invalidate(&collector->topology);
	}
	return code;
}

/* Set the fields of a sweep for the store. */
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
	sweep->pkeys = collector->pkeys.off ? NULL : &collector->pkeys.pkeys;
	sweep->pkey_changes = collector->pkeys.changes;
	sweep->pkey_change_count = collector->pkeys.change_count;
}

static void fill_report(struct collector_report *report, const struct sweep *sweep)
{
	report->sweep_us = sweep->end_us - sweep->start_us;
	report->nodes = sweep->fabric->node_count;
	report->links = fabric_count_links(sweep->fabric);
	report->ports_polled = sweep->ports_polled;
	report->ports_answered = sweep->ports_answered;
	report->ports_unfinished = sweep->ports_unfinished;
	report->mads_sent = sweep->mads_sent;
	report->mads_timed_out = sweep->mads_timed_out;
}

/* Does the sweep show which port of a switch has changed? */
static bool has_change_of(const struct collector *collector, uint64_t guid)
{
	const struct link_verify *verify = &collector->verify;
	const struct topology_probe *probe = &collector->probe;

	for (size_t i = 0; i < probe->change_count; i++)
		if (probe->changes[i].num && probe->changes[i].node_guid == guid)
			return true;
	for (size_t i = 0; i < verify->count; i++) {
		const struct port *port = &verify->fabric->ports[verify->ports[i]];

		if (verify->differs[i] && verify->fabric->nodes[port->node].guid == guid)
			return true;
	}
	return false;
}

/* Ports that have changed are explored; other changes need a discovery of the whole fabric. */
static void report_changes(struct collector *collector)
{
	const struct link_verify *verify = &collector->verify;
	const struct topology_probe *probe = &collector->probe;
	struct topology_monitor *topology = &collector->topology;

	for (size_t i = 0; i < probe->change_count; i++) {
		const struct explore_port *port = &probe->changes[i];

		if (port->num)
			topology_monitor_explore(topology, TOPOLOGY_HINT_DIFFERENCE, port->node_guid, port->num);
		else if (!has_change_of(collector, port->node_guid))
			topology_monitor_explore(topology, TOPOLOGY_HINT_STATE_CHANGE, port->node_guid, 0);
	}
	for (size_t i = 0; i < verify->count; i++) {
		const struct port *port = &verify->fabric->ports[verify->ports[i]];

		if (verify->differs[i])
			topology_monitor_explore(topology, TOPOLOGY_HINT_DIFFERENCE,
						 verify->fabric->nodes[port->node].guid, port->num);
	}
	if (verify->changed)
		topology_monitor_rediscover(topology, TOPOLOGY_HINT_DIFFERENCE);
	else if (probe->whole)
		topology_monitor_rediscover(topology, TOPOLOGY_HINT_STATE_CHANGE);
}

/* Verify suspected links. If the topology has changed or may have, the next discovery is due. */
static int verify_links(struct collector *collector, int64_t start_us, struct error *err)
{
	int code;

	set_limits(collector, collector->settings->routes_window);
	code = link_verify_run(&collector->verify, collector->engine, sweep_deadline_us(collector, start_us), err);
	set_limits(collector, 0);
	report_changes(collector);
	return code;
}

/* Poll all ports, and discard responses of other nodes. */
static int query(struct collector *collector, int64_t start_us, struct error *err)
{
	int64_t deadline_us = sweep_deadline_us(collector, start_us);
	const struct sweep_settings settings = {
		.switches_only = collector->settings->switches_only,
		.sm_lid = collector->wire->sm_lid(collector->wire->ctx),
		.deadline_us = deadline_us ? deadline_us - collector->settings->interval_us / LIDS_TIME_SHARE : 0,
	};
	int code;

	engine_stop_when(collector->engine, stop_requested);
	code = sweep_run(collector->engine, &collector->memory, &collector->probe, &collector->details,
			 &settings, &collector->result, err);
	if (!collector->result.cut)
		collector->cut_us = 0;
	else if (!collector->cut_us)
		collector->cut_us = start_us;
	/* LIDs are verified even if a stop was requested. */
	engine_stop_when(collector->engine, NULL);
	if (code == 0)
		code = check_lids(collector, start_us, err);
	if (code == 0)
		code = details_finish(&collector->details, &collector->result);
	if (code == 0 && collector->result.bad_responses)
		log_debug("%u responses with an error status, or to another request, were discarded",
			  collector->result.bad_responses);
	if (code == 0 && collector->result.no_port_selects)
		log_debug("%u responses had PortSelect 0 instead of the port, and were accepted",
			  collector->result.no_port_selects);
	return code;
}

/*
 * While the store fails, deltas start at the last stored sweep. An error would count in each of
 * them, so the findings are not updated.
 */
static int findings(struct collector *collector, struct sweep *sweep, struct error *err)
{
	const struct sink *sink = collector->sink;
	int code;

	if (collector->store_failed)
		return 0;
	collector->findings.log_bytes = sink->log_held ? sink->log_held(sink->ctx, collector->findings.log_holders) : 0;
	collector->findings.left_out =
		sink->nodes_left_out ? sink->nodes_left_out(sink->ctx, collector->findings.left_out_first) : 0;
	if (sink->running_jobs && sink->running_jobs(sink->ctx, &collector->findings.running)) {
		collector->findings.jobs_changed = true;
		collector->findings.jobs_revision++;
	}
	collector->findings.cable_count = 0;
	collector->findings.cables = sink->imported_cables ?
					     sink->imported_cables(sink->ctx, &collector->findings.cable_count) : NULL;
	if (collector->settings->plan)
		collector->findings.plan = collector->settings->plan(collector->settings->plan_ctx,
								     &collector->findings.plan_generation);
	if (collector->fast.interval_us) {
		collector->findings.job_samples = fast_jobs_sweep(&collector->fast, &collector->result, sweep->fabric,
								  sweep->generation);
		collector->findings.job_sample_count = collector->fast.count;
		fast_jobs_report(&collector->fast, &collector->events, sweep->wall_us);
	}
	code = findings_step_run(&collector->findings, &collector->result, &collector->details, &collector->memory,
				 &collector->routes, &collector->pkeys, sweep, &collector->events, err);
	if (code == 0 && collector->fast.interval_us)
		code = fast_jobs_select(&collector->fast, collector->findings.job_ports,
					collector->findings.job_port_count, &collector->result, sweep->fabric,
					sweep->generation, err);
	return code;
}

/*
 * May tables be read after the counters, for a small share of the time? Not if LIDs are in doubt, and not at first
 * while throttled.
 */
static bool reads_tables(const struct collector *collector, const struct sweep *sweep, int64_t now_us)
{
	bool deferred = collector->throttle.on && now_us - collector->throttle.since_us < THROTTLE_HOLD_US;
	bool cut = collector->result.cut && !routes_reserve_time(collector, sweep->start_us);

	return !cut && collector->topology.confirmed && !deferred;
}

/* SMPs that a sweep may send for tables of one kind. */
static uint64_t table_smps(unsigned rate, int64_t interval_us)
{
	return (uint64_t)((rate ? rate : ROUTE_READ_RATE) * (interval_us / 1e6) / ROUTES_SHARE);
}

static int read_pkeys(struct collector *collector, const struct sweep *sweep, const struct engine_counts *before,
		      struct error *err)
{
	int64_t interval_us = collector->settings->interval_us, now_us = clock_boottime_us(collector->clock);
	const struct pkey_read_limits limits = {
		.mads = engine_counts(collector->engine).sent - before->sent,
		.smps = table_smps(rate_now(collector), interval_us),
		.deadline_us = now_us + interval_us / ROUTES_TIME_SHARE,
	};
	int code;

	if (!reads_tables(collector, sweep, now_us))
		return 0;
	set_limits(collector, collector->settings->routes_window);
	engine_stop_when(collector->engine, stop_requested);
	code = pkey_read_run(&collector->pkeys, collector->engine, &collector->memory, &limits, now_us, sweep->wall_us,
			     &collector->events, err);
	engine_stop_when(collector->engine, NULL);
	set_limits(collector, 0);
	return code;
}

static int read_routes(struct collector *collector, const struct sweep *sweep, struct error *err)
{
	unsigned rate = rate_now(collector);
	int64_t interval_us = collector->settings->interval_us, now_us = clock_boottime_us(collector->clock);
	const struct route_read_limits limits = {
		.smps = table_smps(rate, interval_us),
		.blocks_per_s = route_read_blocks_per_s(rate),
		.deadline_us = now_us + interval_us / ROUTES_TIME_SHARE,
		.blocks = ROUTES_STORED,
	};
	int code;

	if (!reads_tables(collector, sweep, now_us)) {
		route_read_skip(&collector->routes);
		return 0;
	}
	set_limits(collector, collector->settings->routes_window);
	engine_stop_when(collector->engine, stop_requested);
	code = route_read_run(&collector->routes, collector->engine, &collector->memory, &limits, now_us,
			      sweep->wall_us, &collector->events, err);
	engine_stop_when(collector->engine, NULL);
	set_limits(collector, 0);
	return code;
}

/* Other SMs: a few SMPs once a minute, so also after a cut sweep. */
static int query_sms(struct collector *collector, const struct sweep *sweep, struct error *err)
{
	int64_t now_us = clock_boottime_us(collector->clock), interval_us = collector->settings->interval_us;
	int64_t deadline_us = collector->settings->count == 1 ? 0 : now_us + interval_us / SMS_TIME_SHARE;
	int code;

	engine_stop_when(collector->engine, stop_requested);
	code = sm_monitor_run(&collector->sm_monitor, collector->engine, &collector->memory, &collector->result.sm,
			      now_us, deadline_us, sweep->wall_us, &collector->events, err);
	engine_stop_when(collector->engine, NULL);
	collector->result.sm_masters = collector->sm_monitor.masters;
	return code;
}

/* Not after a cut sweep: nothing depends on the versions of now. */
static int read_firmware(struct collector *collector, const struct sweep *sweep, struct error *err)
{
	const struct collector_settings *settings = collector->settings;
	int64_t deadline_us = settings->count == 1 ? 0 : clock_boottime_us(collector->clock) +
							 settings->interval_us / SMS_TIME_SHARE;
	int code;

	if (!settings->firmware || collector->result.cut)
		return 0;
	engine_stop_when(collector->engine, stop_requested);
	code = firmware_read_run(&collector->firmware, collector->engine, &collector->memory, settings->count == 1,
				 settings->switches_only, &collector->result, deadline_us, sweep->wall_us,
				 &collector->events, err);
	engine_stop_when(collector->engine, NULL);
	return code;
}

/* Add the events of this sweep. */
static void add_events(struct collector *collector, const struct sweep *sweep)
{
	const struct sweep_result *result = &collector->result;
	struct events *events = &collector->events;

	loop_events_clock(&collector->loop_events, events, sweep->wall_us, sweep->start_us);
	collector->report->sweeps_cut += loop_events_cut(&collector->loop_events, events, sweep->wall_us, result,
							 collector->settings->interval_us);
	collector->sweep_events.busy = collector->topology.running || collector->throttle.on;
	sweep_events_report(&collector->sweep_events, events, sweep->start_us, sweep->wall_us, result,
			    &collector->memory);
	hidden_reset_mark(&collector->result, &collector->memory, sweep->start_us,
			  collector->settings->interval_us);
	conservation_step(&collector->conservation, events, sweep->wall_us, sweep->start_us, &collector->memory,
			  result);
	/* While the store fails, deltas start at the last stored sweep, so they must not be added up. */
	if (!collector->store_failed)
		wait_guard_step(&collector->wait_guard, events, sweep->wall_us, &collector->memory, result);
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
	/* The store writes new versions of these nodes. */
	if (node_memory_put_switch_info(&collector->memory, collector->topology.fabric))
		sweep.generation = ++collector->topology.generation;
	sweep.end_us = clock_boottime_us(collector->clock);
	code = read_routes(collector, &sweep, err);
	if (code == 0)
		code = read_pkeys(collector, &sweep, &before, err);
	if (code == 0)
		code = query_sms(collector, &sweep, err);
	if (code == 0)
		code = read_firmware(collector, &sweep, err);
	if (code < 0)
		return code;
	firmware_read_adopt(&collector->memory, collector->sink);
	node_memory_put_firmware(&collector->memory, collector->topology.fabric);
	link_verify_select(&collector->verify, &collector->memory, &collector->result);
	add_events(collector, &sweep);
	throttle(collector, sweep.wall_us);
	code = findings(collector, &sweep, err);
	if (code < 0)
		return code;
	event_limit_apply(&collector->event_limit, &collector->events, sweep.end_us, sweep.wall_us);
	fill_sweep(collector, &before, &sweep);
	/* Those of the rounds since the last sweep, too: they are part of the cost. */
	sweep.mads_sent += collector->fast.mads;
	collector->fast.mads = 0;
	fill_report(collector->report, &sweep);
	code = store(collector, &sweep, err);
	code = handle_store(collector, code, sweep.wall_us, err);
	if (code == 0 && !collector->store_failed)
		code = detect_step_run(&collector->detect, &sweep, &collector->findings, collector->sink, err);
	/* The readings are stored first. The last sweep needs no discovery after it. */
	return code < 0 || last ? code : verify_links(collector, sweep.start_us, err);
}
