/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * loop_sweep.h - one iteration of the collector's loop: poll, report events, update findings, store
 *
 * Also defines the state of the loop, which collector.c creates, destroys and schedules.
 */
#ifndef IBWIRE_COLLECTOR_LOOP_SWEEP_H
#define IBWIRE_COLLECTOR_LOOP_SWEEP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "collector/conservation.h"
#include "collector/details.h"
#include "collector/detect_step.h"
#include "collector/events.h"
#include "collector/topology_monitor.h"
#include "collector/fast_jobs.h"
#include "collector/findings_step.h"
#include "collector/firmware_read.h"
#include "collector/topology_probe.h"
#include "collector/node_memory.h"
#include "collector/pkey_read.h"
#include "collector/route_read.h"
#include "collector/sm_monitor.h"
#include "collector/sweep_events.h"
#include "collector/sweep_result.h"
#include "collector/wait_guard.h"

struct collector_report;
struct collector_settings;
struct collector_wire;
struct engine;
struct error;
struct sink;

/*
 * While a subnet manager activates ports, or agents drop management datagrams, the rate is halved.
 * Discovery and forwarding tables are deferred, but for this long at most: a node that drops datagrams
 * now and then, or a link that stays in Init, can keep throttling on for days.
 */
#define THROTTLE_HOLD_US (60 * US_PER_S)

struct throttle {
	bool on;
	unsigned quiet_sweeps; /* consecutive, while on */
	int64_t since_us;      /* CLOCK_BOOTTIME of the start */
};

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
	struct firmware_read firmware;
	struct pkey_read pkeys;
	struct sm_monitor sm_monitor;
	struct throttle throttle;
	int64_t cut_us;              /* start of the first of consecutive cut sweeps; 0: the last one was complete */
	struct sweep_events sweep_events;
	struct events events;        /* since the last sweep that was stored */
	struct event_limit event_limit;
	struct conservation conservation;
	struct wait_guard wait_guard;
	struct sweep_result result;
	struct loop_events loop_events;
	struct findings_step findings;
	struct fast_jobs fast;
	struct detect_step detect;
	char boot_id[BOOT_ID_SIZE];
	int64_t discovery_us;        /* of the last discovery, until it is stored with a sweep */
	uint64_t discovery_smps;
	size_t ports_at_start;       /* in memory after the first discovery */
	bool accepted;               /* the fabric is the stored one */
	bool store_failed;           /* already reported */
	int64_t proceed_us;          /* CLOCK_BOOTTIME of the next call of settings->proceed */
	bool halted;                 /* it returned false */
	int64_t stalled_at_us;       /* CLOCK_BOOTTIME of the first sweep that was not stored */
};

/*
 * loop_sweep - run one sweep, report its events, and store it
 * @collector:  has a topology, which its node memory is indexed by
 * @last:       no sweep follows: links are not verified
 *
 * A failure of the store is reported, and the next sweep covers the interval; only a single sweep
 * fails with it.
 * Return: 0; ERR_UNAVAILABLE if the local device failed; ERR_IO if the store failed for a single
 * sweep; ERR_NOMEM.
 */
int loop_sweep(struct collector *collector, bool last, struct error *err);

#endif
