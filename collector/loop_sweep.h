/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * loop_sweep.h - one turn of the collector's loop: ask, tell, judge, store
 *
 * What the loop holds is here, too: collector.c makes it, ends it, and says when the next turn is due.
 */
#ifndef IBWIRE_COLLECTOR_LOOP_SWEEP_H
#define IBWIRE_COLLECTOR_LOOP_SWEEP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "collector/conservation.h"
#include "collector/details.h"
#include "collector/event_limit.h"
#include "collector/events.h"
#include "collector/topology_monitor.h"
#include "collector/findings_step.h"
#include "collector/topology_probe.h"
#include "collector/link_verify.h"
#include "collector/loop_events.h"
#include "collector/node_memory.h"
#include "collector/route_read.h"
#include "collector/sm_monitor.h"
#include "collector/sweep_events.h"
#include "collector/sweep_result.h"
#include "collector/throttle.h"

struct collector_report;
struct collector_settings;
struct collector_wire;
struct engine;
struct error;
struct sink;

struct collector {
	const struct collector_settings *settings;
	const struct collector_wire *wire;
	const struct clock *clock;
	const struct sink *sink;
	struct collector_report *report;
	struct engine *engine;
	struct topology_monitor topology;
	struct node_memory memory;
	struct topology_probe probe;
	struct link_verify verify;
	struct details details;
	struct route_read routes;
	struct sm_monitor sm_monitor;
	struct throttle throttle;
	int64_t throttled_us;        /* since when, CLOCK_BOOTTIME */
	int64_t cut_us;              /* since when each sweep was cut; 0: the last one was not */
	struct sweep_events sweep_events;
	struct events events;        /* since the last sweep that was stored */
	struct event_limit event_limit;
	struct conservation conservation;
	struct sweep_result result;
	struct loop_events loop_events;
	struct findings_step findings;
	char boot_id[BOOT_ID_SIZE];
	int64_t discovery_us;        /* not in a stored sweep yet */
	uint64_t discovery_smps;
	bool accepted;               /* the fabric is the store's */
	bool store_failed;           /* told already */
};

/*
 * loop_sweep - sweep once, say what it tells, and store it
 * @collector:  has a topology (watch.fabric), which its memory follows
 * @last:       no sweep comes after it: no link is looked at again
 *
 * Where the store fails that is told, and the readings wait for the next sweep; only a single one fails with it.
 * Return: 0; ERR_UNAVAILABLE where the local device failed; ERR_IO where the store failed a single sweep; ERR_NOMEM.
 */
int loop_sweep(struct collector *collector, bool last, struct error *err);

#endif
