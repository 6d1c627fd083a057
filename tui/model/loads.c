/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/model/loads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/map.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"
#include "pages/balance.h"
#include "storage/history.h"
#include "storage/reader.h"
#include "tui/model/live.h"
#include "tui/model/context.h"

/* A slow load waits until the shown time is unchanged for this long. */
#define SETTLE_US (300 * US_PER_MS)
/*
 * While following the newest sweeps: minimum interval, and maximum share of time spent loading
 * (1/40).
 */
#define LOAD_EVERY_US (3 * US_PER_S)
#define LOAD_SHARE 40

/* Maximum age of forwarding tables: their first reading is not an event. */
#define ROUTES_EVERY_US (60 * US_PER_S)

static void clear(struct loads *loads)
{
	balance_done(&loads->balance);
	free(loads->loads);
	free(loads->adaptive);
	loads->loads = NULL;
	loads->adaptive = NULL;
	loads->known = false;
	loads->generation++;
}

void loads_done(struct loads *loads)
{
	clear(loads);
	balance_memory_destroy(loads->past);
	routes_done(&loads->routes);
	fabric_destroy(loads->fabric);
	memset(loads, 0, sizeof(*loads));
}

/* Hash of all that determines a shape and port indices. */
static uint64_t fingerprint_of(const struct fabric *fabric)
{
	uint64_t hash = map_mix(fabric->port_count);

	for (size_t i = 0; i < fabric->node_count; i++)
		hash = map_mix(hash ^ fabric->nodes[i].guid) + fabric->nodes[i].first_port;
	for (size_t i = 0; i < fabric->port_count; i++) {
		const struct port *port = &fabric->ports[i];

		hash = map_mix(hash ^ ((uint64_t)port->peer << 32 | (uint64_t)port->num << 24 |
				       (uint64_t)port->state << 16 | (uint64_t)port->speed << 8 | port->width));
	}
	return hash;
}

/* Any event may change forwarding tables. */
static int64_t newest_change(const struct snapshot_context *context)
{
	return context->recent_event_count ? context->recent_events[0].id : 0;
}

/* Missing tables are not an error. */
static int read_routes(struct loads *loads, const struct loads_source *source, int64_t at_us, struct error *err)
{
	int64_t change = newest_change(source->context), apart_us = at_us - loads->routes_us;
	struct routes routes;
	int code;

	if (loads->routes_us && change == loads->routes_event && apart_us > -ROUTES_EVERY_US &&
	    apart_us < ROUTES_EVERY_US)
		return 0;
	code = reader_routes(source->live->reader, at_us, &routes, err);
	if (code < 0)
		return code;
	routes_done(&loads->routes);
	loads->routes = routes;
	loads->routes_us = at_us;
	loads->routes_event = change;
	return 0;
}

struct balance_input loads_input(const struct loads *loads, const struct shape *shape)
{
	return (struct balance_input){
		.shape = shape, .routes = loads->routes_known ? &loads->routes : NULL, .loads = loads->loads,
		.adaptive = loads->adaptive, .window_us = (double)(loads->until_us - loads->since_us),
	};
}

/* The windows before, unless those that are known end less than a window before this one. */
static int read_past(struct loads *loads, const struct loads_source *source, struct error *err)
{
	const struct balance_input input = loads_input(loads, source->context->shape);
	const struct snapshot *shown = source->live->shown;
	int64_t window_us = balance_window_us(source->limits, shown->sweep.interval_us);
	const struct balance_windows windows = {
		.reader = source->live->reader, .snapshot = shown, .limits = source->limits,
		.until_us = loads->until_us, .window_us = window_us, .damage = &loads->damage,
		.loads = calloc(shown->fabric->port_count + 1, sizeof(*windows.loads)),
	};
	bool is_near = loads->past && !source->live->at_us && loads->until_us >= loads->past_us &&
		       loads->until_us - loads->past_us < window_us;
	int code = windows.loads ? 0 : err_nomem(err);

	if (code == 0 && !is_near) {
		balance_memory_destroy(loads->past);
		loads->past = balance_memory_create();
		loads->past_us = loads->until_us;
		code = loads->past ? balance_step_past(&windows, &input, loads->past, err) : err_nomem(err);
	}
	free(windows.loads);
	if (code < 0)
		loads->past_us = 0;
	return code;
}

static int compute_balance(struct loads *loads, const struct loads_source *source, struct error *err)
{
	const struct balance_input input = loads_input(loads, source->context->shape);
	struct balance_memory *memory = balance_memory_copy(loads->past);
	int code = memory ? balance_evaluate(&input, source->limits, &loads->balance, err) : err_nomem(err);

	if (code == 0)
		code = balance_memory_step(memory, input.shape, source->limits, &loads->balance, err);
	balance_memory_destroy(memory);
	return code;
}

static int load(struct loads *loads, const struct loads_source *source, struct error *err)
{
	const struct snapshot *shown = source->live->shown;
	const struct load_query query = {
		.since_us = loads->since_us, .until_us = loads->until_us, .snapshot = shown,
		.damage = &loads->damage,
	};
	int code;

	loads->damage = (struct history_damage){ 0 };
	loads->loads = calloc(shown->fabric->port_count + 1, sizeof(*loads->loads));
	code = loads->loads ? reader_history_loads(source->live->reader, &query, loads->loads, err) : err_nomem(err);
	if (code == 0)
		code = err_set(err, ERR_UNAVAILABLE, "no samples in the window before the shown time");
	if (code > 0)
		code = balance_adaptive_create(source->shape, shown->fabric, &loads->adaptive, err);
	if (code == 0)
		code = read_routes(loads, source, loads->until_us, err);
	loads->routes_known = code == 0 && loads->routes.count > 0;
	if (code == 0)
		code = read_past(loads, source, err);
	return code == 0 ? compute_balance(loads, source, err) : code;
}

/* Map the loads to the ports of the new fabric that existed before. */
static int carry_over(struct loads *loads, const struct loads_source *source, struct error *err)
{
	const struct fabric *before = loads->fabric, *now = source->live->shown->fabric;
	struct balance_load *carried = calloc(now->port_count + 1, sizeof(*carried));
	uint32_t node = FABRIC_NONE, port;

	if (!carried)
		return err_nomem(err);
	for (uint32_t i = 0; i < now->port_count; i++) {
		const struct port *to = &now->ports[i];

		if (!i || to->node != now->ports[i - 1].node)
			node = fabric_find_node(before, now->nodes[to->node].guid);
		port = node == FABRIC_NONE ? FABRIC_NONE : fabric_node_port(before, node, to->num);
		if (port != FABRIC_NONE && port_is_pollable(now, to) && to->peer != FABRIC_NONE)
			carried[i] = loads->loads[port];
	}
	clear(loads);
	loads->loads = carried;
	return balance_adaptive_create(source->shape, now, &loads->adaptive, err);
}

void loads_changed(struct loads *loads, const struct loads_source *source)
{
	const struct snapshot *shown = source->live->shown;
	uint64_t fingerprint = shown ? fingerprint_of(shown->fabric) : 0;
	bool follows = loads->known && shown && !source->live->at_us && source->context->shape;

	if (fingerprint != loads->fingerprint || !source->context->shape) {
		/* A changed link does not cause a reload while following the newest sweeps. */
		if (follows)
			loads->known = carry_over(loads, source, NULL) == 0 &&
				       compute_balance(loads, source, NULL) == 0;
		if (!follows || !loads->known) {
			loads->until_us = 0;
			clear(loads);
		}
	}
	fabric_destroy(loads->fabric);
	loads->fabric = shown ? fabric_share(shown->fabric) : NULL;
	loads->fingerprint = fingerprint;
}

static bool wants_load(struct loads *loads, const struct loads_source *source)
{
	const struct live *live = source->live;
	int64_t since_us = source->now_us - loads->loaded_us;

	if (!live->shown || !live->reader || !source->context->shape || live->stale ||
	    loads->until_us == live->shown->sweep.wall_us)
		return false;
	if (live->at_us || !loads->until_us) {
		if (loads->wanted_wall_us != live->shown->sweep.wall_us)
			loads->wanted_us = source->now_us;
		loads->wanted_wall_us = live->shown->sweep.wall_us;
		/* A slow load must not delay stepping through time. */
		return !live_is_slow(live, loads->load_us) || source->now_us - loads->wanted_us >= SETTLE_US;
	}
	return since_us >= LOAD_EVERY_US && since_us >= LOAD_SHARE * loads->load_us;
}

bool loads_poll(struct loads *loads, const struct loads_source *source)
{
	const struct clock *clock = source->live->clock;
	struct error trouble = { 0 };
	struct history_range range;
	int64_t began_us;

	if (!wants_load(loads, source))
		return false;
	began_us = clock_boottime_us(clock);
	clear(loads);
	loads->until_us = source->live->shown->sweep.wall_us;
	loads->since_us = loads->until_us - balance_window_us(source->limits, source->live->shown->sweep.interval_us);
	if (reader_history_range(source->live->reader, loads->since_us, loads->until_us, &range, NULL) == 0)
		loads->since_us = range.since_us;
	loads->known = load(loads, source, &trouble) == 0;
	if (!loads->known)
		clear(loads);
	snprintf(loads->problem, sizeof(loads->problem), "%s", loads->known ? "" : trouble.text);
	loads->loaded_us = source->now_us;
	loads->load_us = clock_boottime_us(clock) - began_us;
	return true;
}
