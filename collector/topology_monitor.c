/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "collector/topology_monitor.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/text.h"
#include "fabric/diff.h"
#include "fabric/fabric.h"
#include "fabric/keep.h"
#include "wire/discovery.h"

/* Ports that an event names. */
#define NAMES_MAX 5

void topology_monitor_init(struct topology_monitor *monitor, const struct discoverer *discoverer,
			   const struct clock *clock, int64_t interval_us)
{
	*monitor = (struct topology_monitor){
		.discoverer = discoverer,
		.clock = clock,
		.next_us = clock_boottime_us(clock),
		.whole_us = clock_boottime_us(clock),
		.interval_us = interval_us,
	};
}

void topology_monitor_done(struct topology_monitor *monitor)
{
	monitor->discoverer->cancel(monitor->discoverer->ctx);
	fabric_destroy(monitor->fabric);
	monitor->fabric = NULL;
	monitor->running = false;
}

void topology_monitor_reap(struct topology_monitor *monitor)
{
	bool changed = false;

	if (!monitor->running)
		monitor->discoverer->cancel(monitor->discoverer->ctx);
	if (monitor->discoverer->file)
		monitor->discoverer->file(monitor->discoverer->ctx, &changed);
	if (changed)
		monitor->next_us = clock_boottime_us(monitor->clock);
}

/* Add a port to a list, or put it in place of "all ports" of its switch. Return: false: there is no room. */
static bool add_port(struct explore_port *list, size_t *count, const struct explore_port *port)
{
	for (size_t i = 0; i < *count; i++) {
		if (list[i].node_guid != port->node_guid)
			continue;
		if (!list[i].num)
			list[i].num = port->num;
		if (!port->num || list[i].num == port->num)
			return true;
	}
	if (*count == EXPLORE_PORTS_MAX)
		return false;
	list[(*count)++] = *port;
	return true;
}

/* Ports with an unknown peer are explored with every change, but not in place of "all ports" of their switch. */
static void add_unknown_peers(struct topology_monitor *monitor)
{
	const struct fabric *fabric = monitor->fabric;

	for (uint32_t i = 0; i < fabric->port_count; i++) {
		const struct explore_port port = { fabric->nodes[fabric->ports[i].node].guid, fabric->ports[i].num };
		bool covered = !port_is_unidentified(&fabric->ports[i]);

		for (size_t j = 0; j < monitor->changed_count && !covered; j++)
			covered = monitor->changed[j].node_guid == port.node_guid && !monitor->changed[j].num;
		if (!covered)
			add_port(monitor->changed, &monitor->changed_count, &port);
	}
}

static int start(struct topology_monitor *monitor, int64_t now_us, struct error *err)
{
	int code;

	if (monitor->unknown_peers)
		add_unknown_peers(monitor);
	monitor->part = monitor->changed_count && !monitor->whole && monitor->confirmed && now_us < monitor->whole_us;
	monitor->started_us = now_us;
	if (!monitor->part)
		monitor->whole_us = monitor->discoverer->file ? INT64_MAX : now_us + monitor->interval_us;
	monitor->next_us = monitor->whole_us;
	for (size_t i = 0; i < monitor->changed_count && monitor->part; i++)
		add_port(monitor->explored, &monitor->explored_count, &monitor->changed[i]);
	code = monitor->discoverer->start(monitor->discoverer->ctx, monitor->fabric, monitor->changed,
					  monitor->part ? monitor->changed_count : 0, err);
	monitor->changed_count = 0;
	monitor->whole = false;
	monitor->running = code == 0;
	return code;
}

void topology_monitor_start(struct topology_monitor *monitor)
{
	int64_t now_us = clock_boottime_us(monitor->clock);
	struct error ignored;

	if (start(monitor, now_us, &ignored) < 0)
		monitor->next_us = now_us;
}

void topology_monitor_restore(struct topology_monitor *monitor, struct fabric *fabric)
{
	monitor->fabric = fabric;
	monitor->generation = fabric ? 1 : 0;
}

/*
 * Schedule a discovery because of a hint.
 * @again: what it is about was discovered before, so it waits if that happens often
 */
static void schedule(struct topology_monitor *monitor, enum topology_hint hint, bool again)
{
	unsigned wasted = monitor->unchanged_in_a_row[hint] + monitor->failed_in_a_row;
	int64_t soon_us = monitor->started_us + (TOPOLOGY_CHANGE_INTERVAL_US << (wasted < 16 ? wasted : 16));
	int64_t now_us = clock_boottime_us(monitor->clock);

	if (again && monitor->busy_in_a_row >= TOPOLOGY_BUSY_REPEATS &&
	    soon_us < monitor->started_us + TOPOLOGY_BUSY_US)
		soon_us = monitor->started_us + TOPOLOGY_BUSY_US;
	if (hint > monitor->pending_hint)
		monitor->pending_hint = hint;
	if (soon_us < now_us)
		soon_us = now_us;
	if (soon_us < monitor->next_us)
		monitor->next_us = soon_us;
}

/* Was the port explored since the last discovery of the whole fabric? Number 0: any port of the switch. */
static bool was_explored(const struct topology_monitor *monitor, const struct explore_port *port)
{
	for (size_t i = 0; i < monitor->explored_count; i++)
		if (monitor->explored[i].node_guid == port->node_guid &&
		    (!port->num || monitor->explored[i].num == port->num))
			return true;
	return monitor->explored_count == EXPLORE_PORTS_MAX;
}

void topology_monitor_explore(struct topology_monitor *monitor, enum topology_hint hint, uint64_t node_guid,
			      uint8_t num)
{
	const struct explore_port port = { node_guid, num };

	if (monitor->discoverer->file)
		return;
	if (!add_port(monitor->changed, &monitor->changed_count, &port))
		monitor->whole = true;
	schedule(monitor, hint, monitor->whole || was_explored(monitor, &port));
}

void topology_monitor_rediscover(struct topology_monitor *monitor, enum topology_hint hint)
{
	/* A file is read again when it changes: topology_monitor_reap(). */
	if (monitor->discoverer->file)
		return;
	monitor->whole = true;
	schedule(monitor, hint, true);
}

void topology_monitor_invalidate(struct topology_monitor *monitor)
{
	monitor->confirmed = false;
	topology_monitor_rediscover(monitor, TOPOLOGY_HINT_DIFFERENCE);
}

static int fail(struct topology_monitor *monitor, struct events *events, const struct error *cause, struct error *err)
{
	topology_monitor_invalidate(monitor);
	monitor->failed_in_a_row++;
	if (!monitor->fabric)
		return err_set(err, cause->code, "%s", cause->text);
	log_warning("%s; the last topology remains in use", cause->text);
	events_add(events, clock_wall_us(monitor->clock), EVENT_DISCOVERY_FAILED, EVENT_WARNING, NULL, FABRIC_NONE, 0,
		   "%s; the last topology remains in use", cause->text);
	return 0;
}

/*
 * Did discovery see only this host, because its port is down or its peer did not respond? A switch
 * as host (port 0, which has no peer) is connected by its other ports.
 */
static bool is_cut_off(const struct fabric *found)
{
	uint32_t port = found->from_node == FABRIC_NONE ? FABRIC_NONE
							: fabric_node_port(found, found->from_node, found->from_port);

	if (port != FABRIC_NONE && found->nodes[found->from_node].type == NODE_SWITCH)
		return found->node_count == 1;
	return port != FABRIC_NONE && (found->ports[port].state < PORT_INIT || found->ports[port].peer == FABRIC_NONE);
}

static bool has_shrunk(const struct fabric *known, const struct fabric *found)
{
	return found->node_count * 100 < known->node_count * TOPOLOGY_SHRUNK_PERCENT;
}

/* Nodes without the description or LID that they had: probably an SMP was lost. */
static size_t count_holes(const struct fabric *known, const struct fabric *found)
{
	size_t holes = 0;

	for (size_t i = 0; i < found->node_count; i++) {
		const struct node *now = &found->nodes[i];
		uint32_t was = fabric_find_node(known, now->guid);

		if (was != FABRIC_NONE)
			holes += (known->nodes[was].desc[0] && !now->desc[0]) || (known->nodes[was].lid && !now->lid);
	}
	return holes;
}

/* Must @found be repeated before it is accepted, because it is too small or incomplete? */
static bool is_suspicious(struct topology_monitor *monitor, const struct fabric *found)
{
	const struct fabric *known = monitor->fabric;
	bool incomplete = known && monitor->lost &&
			  (found->node_count < known->node_count || found->port_count < known->port_count);

	if (!known || monitor->discoverer->file ||
	    (!has_shrunk(known, found) && !count_holes(known, found) && !incomplete)) {
		monitor->suspicious_in_a_row = 0;
		return false;
	}
	return ++monitor->suspicious_in_a_row < TOPOLOGY_SUSPICIOUS_REPEATS;
}

/* Keep the last topology. A smaller fabric is reported, a lost SMP is not. */
static void reject(struct topology_monitor *monitor, const struct fabric *found, struct events *events)
{
	const struct fabric *known = monitor->fabric;

	if (has_shrunk(known, found)) {
		log_warning("discovery found %zu of %zu known nodes; the last topology remains in use",
			    found->node_count, known->node_count);
		events_add(events, clock_wall_us(monitor->clock), EVENT_DISCOVERY_SHRUNK, EVENT_WARNING, NULL,
			   FABRIC_NONE, 0, "discovery found %zu of %zu known nodes (%u of %u times); the last "
			   "topology remains in use", found->node_count, known->node_count,
			   monitor->suspicious_in_a_row, TOPOLOGY_SUSPICIOUS_REPEATS);
	} else {
		log_info("discovery lost %" PRIu64 " requests, attributes of %zu nodes, and found %zu of %zu known "
			 "nodes; the last topology remains in use", monitor->lost, count_holes(known, found),
			 found->node_count, known->node_count);
	}
	topology_monitor_invalidate(monitor);
}

static void ignore_change(void *ctx, enum fabric_change change, uint32_t before, uint32_t after)
{
	(void)ctx;
	(void)change;
	(void)before;
	(void)after;
}

/* Do attributes differ that have no event, but must be stored or affect polling? */
static bool differs(const struct fabric *before, const struct fabric *after)
{
	if (before->port_count != after->port_count || fabric_diff(before, after, ignore_change, NULL) > 0)
		return true;
	for (size_t i = 0; i < after->port_count; i++) {
		const struct port *new = &after->ports[i];
		uint32_t was = fabric_find_port(before, after->nodes[new->node].guid, new->num);
		const struct port *old = was == FABRIC_NONE ? NULL : &before->ports[was];

		if (!old || before->nodes[old->node].kept != after->nodes[new->node].kept || old->guid != new->guid ||
		    old->lid != new->lid || old->sm_lid != new->sm_lid || old->lmc != new->lmc ||
		    old->state != new->state || old->phys_state != new->phys_state ||
		    old->speed != new->speed || old->width != new->width || old->cap_mask != new->cap_mask ||
		    old->speed_enabled != new->speed_enabled || old->speed_supported != new->speed_supported ||
		    old->width_enabled != new->width_enabled || old->width_supported != new->width_supported)
			return true;
	}
	return false;
}

static void reset_unchanged(struct topology_monitor *monitor)
{
	for (int hint = TOPOLOGY_HINT_STATE_CHANGE; hint < TOPOLOGY_HINT_COUNT; hint++)
		monitor->unchanged_in_a_row[hint] = 0;
}

/* Nodes that did not respond to discovery are queried again, with increasing delay. */
static void follow_unknown_peers(struct topology_monitor *monitor)
{
	const struct fabric *fabric = monitor->fabric;
	size_t count = fabric_count_unidentified(fabric);

	if (count != monitor->unknown_peers)
		monitor->unchanged_in_a_row[TOPOLOGY_HINT_UNKNOWN_PEER] = 0;
	else if (count)
		monitor->unchanged_in_a_row[TOPOLOGY_HINT_UNKNOWN_PEER]++;
	monitor->unknown_peers = count;
	if (count && !monitor->discoverer->file)
		schedule(monitor, TOPOLOGY_HINT_UNKNOWN_PEER, true);
}

/* Does a port have another link, or none? */
static bool has_other_link(const struct fabric *before, const struct fabric *found, const struct explore_port *port)
{
	uint32_t was = fabric_find_port(before, port->node_guid, port->num);
	uint32_t now = fabric_find_port(found, port->node_guid, port->num);
	uint32_t old, new;

	if (was == FABRIC_NONE || now == FABRIC_NONE)
		return was != now;
	old = before->ports[was].peer;
	new = found->ports[now].peer;
	if (old == FABRIC_NONE || new == FABRIC_NONE)
		return old != new;
	return before->ports[old].num != found->ports[new].num ||
	       before->nodes[before->ports[old].node].guid != found->nodes[found->ports[new].node].guid;
}

/*
 * The whole fabric was discovered without a hint. A port that was explored before and has another link
 * now was found differently by the two.
 */
static void compare_explored(struct topology_monitor *monitor, const struct fabric *found, struct events *events)
{
	const struct fabric *before = monitor->fabric;
	struct text names = { 0 };
	size_t count = 0;

	for (size_t i = 0; i < monitor->explored_count && monitor->current_hint == TOPOLOGY_HINT_NONE; i++) {
		const struct explore_port *port = &monitor->explored[i];
		uint32_t node = fabric_find_node(before, port->node_guid);

		if (node == FABRIC_NONE || !port->num || !has_other_link(before, found, port))
			continue;
		if (++count <= NAMES_MAX)
			text_appendf(&names, "%s%s/%u", count > 1 ? ", " : "", before->names.shown[node],
				     port->num);
	}
	monitor->explored_count = 0;
	if (count)
		events_add(events, clock_wall_us(monitor->clock), EVENT_DISCOVERY_DIFFERS, EVENT_INFO, NULL,
			   FABRIC_NONE, 0, "the explorer and the discovery of the whole fabric found different "
			   "links of %s%s", text_chars(&names), count > NAMES_MAX ? ", ..." : "");
	text_done(&names);
}

static int adopt(struct topology_monitor *monitor, struct fabric *found, struct events *events)
{
	struct fabric *before = monitor->fabric, *merged;
	int64_t wall_us = clock_wall_us(monitor->clock);

	if (is_suspicious(monitor, found)) {
		reject(monitor, found, events);
		fabric_destroy(found);
		return 0;
	}
	monitor->suspicious_in_a_row = 0;
	/* Keep unresponsive nodes behind a port that is up, if there is memory. */
	if (before && !monitor->discoverer->file && fabric_keep_silent(before, found, &merged, NULL) > 0) {
		fabric_destroy(found);
		found = merged;
	}
	monitor->confirmed = true;
	if (before && !monitor->part)
		compare_explored(monitor, found, events);
	if (before && !differs(before, found)) {
		/* A discovery without a hint shows that the fabric is stable. */
		if (monitor->current_hint <= TOPOLOGY_HINT_UNKNOWN_PEER && !monitor->part)
			reset_unchanged(monitor);
		else if (monitor->current_hint > TOPOLOGY_HINT_UNKNOWN_PEER)
			monitor->unchanged_in_a_row[monitor->current_hint]++;
		fabric_destroy(found);
		follow_unknown_peers(monitor);
		return 0;
	}
	reset_unchanged(monitor);
	/* A lost SMP can hide a node or all ports of a switch: discover again soon. Explored ports were read. */
	if (monitor->lost || (before && !monitor->part && (found->node_count < before->node_count ||
							   found->port_count < before->port_count)))
		topology_monitor_rediscover(monitor, TOPOLOGY_HINT_DIFFERENCE);
	if (before)
		events_from_topology(events, wall_us, before, found);
	monitor->fabric = found;
	monitor->generation++;
	fabric_destroy(before);
	follow_unknown_peers(monitor);
	return 1;
}

/* Report a difference between the engines once: a node that is too slow for libibnetdisc is so in each discovery. */
static void report_difference(struct topology_monitor *monitor, const struct error *difference, struct events *events)
{
	if (difference->text[0] && strcmp(difference->text, monitor->difference.text))
		events_add(events, clock_wall_us(monitor->clock), EVENT_DISCOVERY_DIFFERS, EVENT_INFO, NULL,
			   FABRIC_NONE, 0, "%s", difference->text);
	monitor->difference = *difference;
}

static void report_file(const struct topology_monitor *monitor, const struct fabric *found, struct events *events)
{
	bool changed;
	const char *file = monitor->discoverer->file(monitor->discoverer->ctx, &changed);

	log_info("topology from %s, no SMPs: %zu nodes, %zu ports", file, found->node_count, found->port_count);
	events_add(events, clock_wall_us(monitor->clock), EVENT_TOPOLOGY_FILE, EVENT_INFO, NULL, FABRIC_NONE, 0,
		   TOPOLOGY_FILE_PREFIX "from %s, no SMPs", file);
}

int topology_monitor_step(struct topology_monitor *monitor, unsigned timeout_ms, struct events *events,
			  struct error *err)
{
	const struct discoverer *discoverer = monitor->discoverer;
	int64_t now_us = clock_boottime_us(monitor->clock);
	struct record_trailer trailer = { 0 };
	struct fabric *found = NULL;
	struct error cause = { 0 };
	int code;

	if (!monitor->running) {
		if (now_us < monitor->next_us)
			return 0;
		if (monitor->started_us && now_us - monitor->started_us <= 2 * TOPOLOGY_BUSY_US)
			monitor->busy_in_a_row++;
		else
			monitor->busy_in_a_row = 0;
		monitor->current_hint = monitor->pending_hint;
		monitor->pending_hint = TOPOLOGY_HINT_NONE;
		code = start(monitor, now_us, &cause);
		if (code < 0)
			return fail(monitor, events, &cause, err);
	}
	code = discoverer->step(discoverer->ctx, timeout_ms, &found, &trailer, &cause);
	if (code == 0)
		return 0;
	monitor->running = false;
	monitor->took_us = discoverer->file ? 0 : clock_boottime_us(monitor->clock) - monitor->started_us;
	monitor->smps = trailer.smps;
	monitor->lost = trailer.lost;
	if (code < 0 && monitor->part) {
		log_info("%s: the whole fabric is discovered", cause.text);
		monitor->whole = true;
		if (monitor->current_hint > monitor->pending_hint)
			monitor->pending_hint = monitor->current_hint;
		monitor->next_us = clock_boottime_us(monitor->clock);
		return 0;
	}
	if (code < 0)
		return fail(monitor, events, &cause, err);
	if (cause.code) {
		log_warning("%s", cause.text);
		events_add(events, clock_wall_us(monitor->clock), EVENT_DISCOVERY_FAILED, EVENT_WARNING, NULL,
			   FABRIC_NONE, 0, "%s", cause.text);
	} else if (!monitor->part) {
		report_difference(monitor, &cause, events);
	}
	if (is_cut_off(found)) {
		fabric_destroy(found);
		err_set(&cause, ERR_UNAVAILABLE,
			"discovery found only this host: its port is down, or SMPs to its switch are lost");
		return fail(monitor, events, &cause, err);
	}
	monitor->failed_in_a_row = 0;
	if (discoverer->file)
		report_file(monitor, found, events);
	return adopt(monitor, found, events);
}
