/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "collector/topology_monitor.h"

#include <stddef.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "fabric/diff.h"
#include "fabric/fabric.h"
#include "fabric/keep.h"

void fabric_watch_init(struct fabric_watch *watch, const struct discoverer *discoverer, const struct clock *clock,
		       int64_t interval_us)
{
	*watch = (struct fabric_watch){
		.discoverer = discoverer,
		.clock = clock,
		.next_us = clock_boottime_us(clock),
		.interval_us = interval_us,
	};
}

void fabric_watch_done(struct fabric_watch *watch)
{
	watch->discoverer->cancel(watch->discoverer->ctx);
	fabric_destroy(watch->fabric);
	watch->fabric = NULL;
	watch->running = false;
}

void fabric_watch_tidy(struct fabric_watch *watch)
{
	if (!watch->running)
		watch->discoverer->cancel(watch->discoverer->ctx);
}

static int start(struct fabric_watch *watch, int64_t now_us, struct error *err)
{
	int code;

	watch->started_us = now_us;
	watch->next_us = now_us + watch->interval_us;
	code = watch->discoverer->start(watch->discoverer->ctx, err);
	watch->running = code == 0;
	return code;
}

void fabric_watch_begin(struct fabric_watch *watch)
{
	int64_t now_us = clock_boottime_us(watch->clock);
	struct error untold;

	if (start(watch, now_us, &untold) < 0)
		watch->next_us = now_us;
}

void fabric_watch_restore(struct fabric_watch *watch, struct fabric *fabric)
{
	watch->fabric = fabric;
	watch->generation = fabric ? 1 : 0;
}

void fabric_watch_suspect(struct fabric_watch *watch, enum watch_sign sign)
{
	unsigned wasted = watch->fruitless_in_a_row[sign] + watch->failed_in_a_row;
	int64_t soon_us = watch->started_us + (TOPOLOGY_CHANGE_INTERVAL_US << (wasted < 16 ? wasted : 16));
	int64_t now_us = clock_boottime_us(watch->clock);

	if (watch->busy_in_a_row >= TOPOLOGY_BUSY_REPEATS && soon_us < watch->started_us + TOPOLOGY_BUSY_US)
		soon_us = watch->started_us + TOPOLOGY_BUSY_US;
	if (sign > watch->suspected)
		watch->suspected = sign;
	if (soon_us < now_us)
		soon_us = now_us;
	if (soon_us < watch->next_us)
		watch->next_us = soon_us;
}

void fabric_watch_doubt(struct fabric_watch *watch)
{
	watch->confirmed = false;
	fabric_watch_suspect(watch, WATCH_CHANGE);
}

static int fail(struct fabric_watch *watch, struct events *events, const struct error *cause, struct error *err)
{
	fabric_watch_doubt(watch);
	watch->failed_in_a_row++;
	if (!watch->fabric)
		return err_set(err, cause->code, "%s", cause->text);
	log_warning("%s; the last good topology stays", cause->text);
	events_add(events, clock_wall_us(watch->clock), EVENT_DISCOVERY_FAILED, EVENT_WARNING, NULL, FABRIC_NONE, 0,
		   "%s; the last good topology stays", cause->text);
	return 0;
}

/* Has discovery seen no more than this host: is the port that it asked from down, or nobody known behind it? */
static bool is_cut_off(const struct fabric *found)
{
	uint32_t port = found->from_node == FABRIC_NONE ? FABRIC_NONE
							: fabric_node_port(found, found->from_node, found->from_port);

	return port != FABRIC_NONE &&
	       (found->ports[port].state < PORT_INIT || found->ports[port].peer == FABRIC_NONE);
}

static bool has_shrunk(const struct fabric *known, const struct fabric *found)
{
	return found->node_count * 100 < known->node_count * TOPOLOGY_SHRUNK_PERCENT;
}

/*
 * Nodes of which an SMP was lost on the way: without the description, or the LID, that
 * they had. Discovery does not say so; they look as if they had changed.
 */
static size_t count_holes(const struct fabric *known, const struct fabric *found)
{
	size_t holes = 0, i;

	for (i = 0; i < found->node_count; i++) {
		const struct node *now = &found->nodes[i];
		uint32_t was = fabric_find_node(known, now->guid);

		if (was != FABRIC_NONE)
			holes += (known->nodes[was].desc[0] && !now->desc[0]) || (known->nodes[was].lid && !now->lid);
	}
	return holes;
}

/* Must @found be said again before it is believed: is it so small beside what we know, or has it holes? */
static bool is_suspicious(struct fabric_watch *watch, const struct fabric *found)
{
	const struct fabric *known = watch->fabric;

	if (!known || (!has_shrunk(known, found) && !count_holes(known, found))) {
		watch->suspicious_in_a_row = 0;
		return false;
	}
	return ++watch->suspicious_in_a_row < TOPOLOGY_SUSPICIOUS_REPEATS;
}

/*
 * The last good topology stays until a discovery is believed again. A fabric that shrank is worth an event, a lost
 * SMP is not.
 */
static void doubt(struct fabric_watch *watch, const struct fabric *found, struct events *events)
{
	const struct fabric *known = watch->fabric;

	if (has_shrunk(known, found)) {
		log_warning("discovery found %zu nodes where %zu are known; the last good topology stays",
			    found->node_count, known->node_count);
		events_add(events, clock_wall_us(watch->clock), EVENT_DISCOVERY_SHRUNK, EVENT_WARNING, NULL,
			   FABRIC_NONE, 0, "discovery found %zu nodes where %zu are known (%u of %u times); the last "
			   "good topology stays", found->node_count, known->node_count, watch->suspicious_in_a_row,
			   TOPOLOGY_SUSPICIOUS_REPEATS);
	} else {
		log_info("discovery lost what %zu nodes said of themselves; the last good topology stays",
			 count_holes(known, found));
	}
	fabric_watch_doubt(watch);
}

static void ignore_change(void *ctx, enum fabric_change change, uint32_t before, uint32_t after)
{
	(void)ctx;
	(void)change;
	(void)before;
	(void)after;
}

/* Are attributes different that no event tells of, but that must be stored and asked by? */
static bool differs(const struct fabric *before, const struct fabric *after)
{
	size_t i;

	if (before->port_count != after->port_count ||
	    fabric_diff(before, after, ignore_change, NULL) > 0)
		return true;
	for (i = 0; i < after->port_count; i++) {
		const struct port *new = &after->ports[i];
		uint32_t was = fabric_find_port(before, after->nodes[new->node].guid, new->num);
		const struct port *old = was == FABRIC_NONE ? NULL : &before->ports[was];

		if (!old || old->lid != new->lid || old->sm_lid != new->sm_lid || old->lmc != new->lmc ||
		    old->state != new->state || old->phys_state != new->phys_state || old->guid != new->guid ||
		    old->speed != new->speed || old->width != new->width || old->cap_mask != new->cap_mask ||
		    old->speed_enabled != new->speed_enabled || old->speed_supported != new->speed_supported ||
		    old->width_enabled != new->width_enabled || old->width_supported != new->width_supported)
			return true;
	}
	return false;
}

static void forget_fruitless(struct fabric_watch *watch)
{
	int sign;

	for (sign = WATCH_HINT; sign < WATCH_SIGN_COUNT; sign++)
		watch->fruitless_in_a_row[sign] = 0;
}

/* Who hung when discovery came by is looked for again, ever less often, whatever else changes meanwhile. */
static void look_for_nobody(struct fabric_watch *watch)
{
	size_t count = fabric_to_nobody(watch->fabric);

	if (count != watch->to_nobody)
		watch->fruitless_in_a_row[WATCH_NOBODY] = 0;
	else if (count)
		watch->fruitless_in_a_row[WATCH_NOBODY]++;
	watch->to_nobody = count;
	if (count)
		fabric_watch_suspect(watch, WATCH_NOBODY);
}

static int take_over(struct fabric_watch *watch, struct fabric *found, struct events *events)
{
	struct fabric *before = watch->fabric, *kept;
	int64_t wall_us = clock_wall_us(watch->clock);

	if (is_suspicious(watch, found)) {
		doubt(watch, found, events);
		fabric_destroy(found);
		return 0;
	}
	watch->suspicious_in_a_row = 0;
	/* Who does not answer but is cabled to a port that is up has not left; without memory for it, it has. */
	if (before && fabric_keep_silent(before, found, &kept, NULL) > 0) {
		fabric_destroy(found);
		found = kept;
	}
	watch->confirmed = true;
	if (before && !differs(before, found)) {
		/* One that followed no sign says that it is quiet. */
		if (watch->follows <= WATCH_NOBODY)
			forget_fruitless(watch);
		else
			watch->fruitless_in_a_row[watch->follows]++;
		fabric_destroy(found);
		look_for_nobody(watch);
		return 0;
	}
	forget_fruitless(watch);
	/* One lost SMP can hide a node, or all ports of a switch: what is missing is looked for again soon. */
	if (watch->lost ||
	    (before && (found->node_count < before->node_count || found->port_count < before->port_count)))
		fabric_watch_suspect(watch, WATCH_CHANGE);
	if (before)
		events_from_topology(events, wall_us, before, found);
	watch->fabric = found;
	watch->generation++;
	fabric_destroy(before);
	look_for_nobody(watch);
	return 1;
}

int fabric_watch_step(struct fabric_watch *watch, unsigned timeout_ms, struct events *events, struct error *err)
{
	const struct discoverer *discoverer = watch->discoverer;
	int64_t now_us = clock_boottime_us(watch->clock);
	struct record_trailer trailer = { 0 };
	struct fabric *found = NULL;
	struct error cause = { 0 };
	int code;

	if (!watch->running) {
		if (now_us < watch->next_us)
			return 0;
		if (watch->started_us && now_us - watch->started_us <= 2 * TOPOLOGY_BUSY_US)
			watch->busy_in_a_row++;
		else
			watch->busy_in_a_row = 0;
		watch->follows = watch->suspected;
		watch->suspected = WATCH_NO_SIGN;
		code = start(watch, now_us, &cause);
		if (code < 0)
			return fail(watch, events, &cause, err);
	}
	code = discoverer->step(discoverer->ctx, timeout_ms, &found, &trailer, &cause);
	if (code == 0)
		return 0;
	watch->running = false;
	watch->took_us = clock_boottime_us(watch->clock) - watch->started_us;
	watch->smps = trailer.smps;
	watch->lost = trailer.lost;
	if (code < 0)
		return fail(watch, events, &cause, err);
	if (is_cut_off(found)) {
		fabric_destroy(found);
		err_set(&cause, ERR_UNAVAILABLE,
			"discovery saw nothing beyond this host: its port is down, or SMPs to its switch are lost");
		return fail(watch, events, &cause, err);
	}
	watch->failed_in_a_row = 0;
	return take_over(watch, found, events);
}
