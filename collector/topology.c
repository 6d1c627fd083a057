/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "collector/topology.h"

#include <stddef.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "fabric/diff.h"
#include "fabric/fabric.h"

void topology_init(struct topology *topology, const struct discoverer *discoverer, const struct clock *clock,
		   int64_t interval_us, struct fabric *fabric)
{
	*topology = (struct topology){
		.discoverer = discoverer,
		.clock = clock,
		.fabric = fabric,
		.generation = fabric ? 1 : 0,
		.next_us = clock_boottime_us(clock),
		.interval_us = interval_us,
	};
}

void topology_done(struct topology *topology)
{
	if (topology->running)
		topology->discoverer->cancel(topology->discoverer->ctx);
	fabric_destroy(topology->fabric);
	topology->fabric = NULL;
	topology->running = false;
}

void topology_suspect(struct topology *topology)
{
	int64_t soon_us = topology->started_us + TOPOLOGY_CHANGE_INTERVAL_US;
	int64_t now_us = clock_boottime_us(topology->clock);

	if (soon_us < now_us)
		soon_us = now_us;
	if (soon_us < topology->next_us)
		topology->next_us = soon_us;
}

static int fail(struct topology *topology, struct events *events, const struct error *cause, struct error *err)
{
	topology_suspect(topology);
	if (!topology->fabric)
		return err_set(err, cause->code, "%s", cause->text);
	log_warning("%s; the last good topology stays", cause->text);
	events_add(events, clock_wall_us(topology->clock), EVENT_DISCOVERY_FAILED, EVENT_WARNING, NULL, FABRIC_NONE, 0,
		   "%s; the last good topology stays", cause->text);
	return 0;
}

/* Is @found so small beside what we know that it must be said again before it is believed? */
static bool is_suspicious(struct topology *topology, const struct fabric *found)
{
	const struct fabric *known = topology->fabric;

	if (!known || found->node_count * 100 >= known->node_count * TOPOLOGY_SHRUNK_PERCENT) {
		topology->shrunk_in_a_row = 0;
		return false;
	}
	return ++topology->shrunk_in_a_row < TOPOLOGY_SHRUNK_REPEATS;
}

static void ignore_change(void *ctx, enum fabric_change change, uint32_t before, uint32_t after)
{
	(void)ctx;
	(void)change;
	(void)before;
	(void)after;
}

/* Is a link down that was up? Then its return is worth looking for. */
static bool lost_links(const struct fabric *before, const struct fabric *after)
{
	size_t i;

	for (i = 0; i < before->port_count; i++) {
		const struct port *port = &before->ports[i];
		uint32_t now;

		if (port->peer == FABRIC_NONE)
			continue;
		now = fabric_find_port(after, before->nodes[port->node].guid, port->num);
		if (now == FABRIC_NONE || after->ports[now].state < PORT_INIT)
			return true;
	}
	return false;
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

static int take_over(struct topology *topology, struct fabric *found, struct events *events)
{
	struct fabric *before = topology->fabric;
	int64_t wall_us = clock_wall_us(topology->clock);

	if (is_suspicious(topology, found)) {
		log_warning("discovery found %zu nodes where %zu are known; the last good topology stays",
			    found->node_count, before->node_count);
		events_add(events, wall_us, EVENT_DISCOVERY_SHRUNK, EVENT_WARNING, NULL, FABRIC_NONE, 0,
			   "discovery found %zu nodes where %zu are known (%u of %u times); the last good topology stays",
			   found->node_count, before->node_count, topology->shrunk_in_a_row, TOPOLOGY_SHRUNK_REPEATS);
		fabric_destroy(found);
		topology_suspect(topology);
		return 0;
	}
	topology->shrunk_in_a_row = 0;
	if (before && !differs(before, found)) {
		fabric_destroy(found);
		return 0;
	}
	if (before) {
		events_from_topology(events, wall_us, before, found);
		if (lost_links(before, found))
			topology_suspect(topology);
	}
	topology->fabric = found;
	topology->generation++;
	fabric_destroy(before);
	return 1;
}

int topology_step(struct topology *topology, unsigned timeout_ms, struct events *events, struct error *err)
{
	const struct discoverer *discoverer = topology->discoverer;
	int64_t now_us = clock_boottime_us(topology->clock);
	struct record_trailer trailer = { 0 };
	struct fabric *found = NULL;
	struct error cause = { 0 };
	int code;

	if (!topology->running) {
		if (now_us < topology->next_us)
			return 0;
		topology->started_us = now_us;
		topology->next_us = now_us + topology->interval_us;
		code = discoverer->start(discoverer->ctx, &cause);
		if (code < 0)
			return fail(topology, events, &cause, err);
		topology->running = true;
	}
	code = discoverer->step(discoverer->ctx, timeout_ms, &found, &trailer, &cause);
	if (code == 0)
		return 0;
	topology->running = false;
	topology->took_us = clock_boottime_us(topology->clock) - topology->started_us;
	topology->smps = trailer.smps;
	if (code < 0)
		return fail(topology, events, &cause, err);
	return take_over(topology, found, events);
}
