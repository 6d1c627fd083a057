/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * sm_monitor.h - all subnet managers of the fabric, and how many of them claim to be master
 *
 * Each sweep asks the master that this host's port names (sweep.h). Others are at ports whose PortInfo says IsSM,
 * and at LIDs that other ports' PortInfo names as their master's: a fabric of two masters has one half that follows
 * the other one. They are asked once a minute, when the topology or the master changed, and with every sweep while
 * more than one says that it is the master: a handover is over by then.
 *
 * A standby that does not answer is no fault of the fabric, and no answer is never counted as a master.
 */
#ifndef IBWIRE_COLLECTOR_SM_MONITOR_H
#define IBWIRE_COLLECTOR_SM_MONITOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/sink.h"

struct engine;
struct error;
struct events;
struct fabric;
struct node_memory;

/* How often all are asked while nothing changes. */
#define SM_MONITOR_US (60 * 1000000LL)

/* More than this are asked in turn; those that say that they are master always. */
#define SM_MONITOR_PORTS 64

/* A zeroed struct is the start; sm_monitor_done() frees what it holds. */
struct sm_monitor {
	struct sm_port {
		uint64_t node_guid;
		uint8_t num;
		uint32_t port;       /* index into the ports of this generation's fabric */
		struct sm_state now; /* as it answered last; known: it answered when it was last asked */
		struct sm_state reported; /* the same, as events have it */
	} *sm_ports;
	size_t count, capacity;
	size_t next;             /* of many: who is asked first in the next round */
	uint64_t generation;     /* of the fabric that places are of */
	bool listed;
	bool queried;              /* at least one round: what is new from then on is told */
	uint64_t master_guid;    /* as the sweep found it last; 0: never */
	int64_t queried_us;        /* CLOCK_BOOTTIME of the last round; 0: never */
	unsigned masters;        /* different SMs that said so when they were last asked; 0: nobody was asked yet */
};

void sm_monitor_done(struct sm_monitor *monitor);

/*
 * sm_monitor_run - ask them, where it is time to
 * @engine:       idle; used by this call alone
 * @memory:       follows @fabric: silent and locked nodes are left alone
 * @generation:   of @fabric: where it rose they are looked for anew
 * @master:       what this sweep heard of the master that this host's port names
 * @now_us:       CLOCK_BOOTTIME
 * @deadline_us:  CLOCK_BOOTTIME at which it is cut, and what was known stands; 0: never
 * @wall_us, @events:  EVENT_SM_OTHER of those beside the master that are new, others than before, or silent now
 *
 * Return: 0, also where it was cut short; ERR_UNAVAILABLE where the local device failed; ERR_NOMEM.
 * Source: IBA Vol 1, 14.2.5.6 (PortInfo.CapabilityMask bit 1, MasterSMLID), 14.2.5.13 and 14.4.1 (SMInfo).
 */
int sm_monitor_run(struct sm_monitor *monitor, struct engine *engine, const struct fabric *fabric,
		   struct node_memory *memory, uint64_t generation, const struct sm_state *master, int64_t now_us,
		   int64_t deadline_us, int64_t wall_us, struct events *events, struct error *err);

#endif
