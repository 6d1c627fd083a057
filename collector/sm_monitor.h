/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * sm_monitor.h - all subnet managers of the fabric, and how many of them are master
 *
 * Each sweep queries the master in this host's PortInfo (sweep.h). Other SMs are at ports with
 * IsSM, and at the MasterSMLID of other ports: with two masters, a part of the fabric follows the
 * other one. They are queried once a minute, after a change of the topology or the master, and in
 * every sweep while more than one is master, so that a handover is not mistaken for two masters.
 *
 * An unresponsive standby is not a fault, and an unresponsive SM does not count as master.
 */
#ifndef IBWIRE_COLLECTOR_SM_MONITOR_H
#define IBWIRE_COLLECTOR_SM_MONITOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/sink.h"
#include "wire/mad.h"

struct engine;
struct error;
struct events;
struct node_memory;

/* Interval between queries without a change. */
#define SM_MONITOR_US (60 * 1000000LL)

/* Of more SMs than this, each round queries a part; masters are always queried. */
#define SM_MONITOR_PORTS 64

/* A zeroed struct is the initial state; sm_monitor_done() frees it. */
struct sm_monitor {
	struct sm_port {
		uint64_t node_guid;
		uint8_t num;
		uint32_t port;       /* index into the ports of the current fabric */
		struct sm_state now; /* last response; known: it responded to the last query */
		struct sm_state reported; /* the same, as last reported */
	} *sm_ports;
	size_t count, capacity;
	size_t next;             /* first one of the next round, if there are many */
	uint64_t generation;     /* of the fabric that sm_ports belong to */
	bool listed;
	bool queried;              /* after the first round: changes are reported */
	uint64_t master_guid;    /* in the last sweep in which it responded; 0: never */
	int64_t queried_us;        /* CLOCK_BOOTTIME of the last round; 0: never */
	unsigned masters;        /* number of different SMs in state master; 0: not queried yet */
};

void sm_monitor_done(struct sm_monitor *monitor);

/* sm_state_read - the state of an SM from SMInfo; its LID remains */
void sm_state_read(struct sm_state *sm, const uint8_t mad[MAD_SIZE]);

/*
 * sm_monitor_run - query all SMs when it is due
 * @engine:       idle; used by this call alone
 * @memory:       unresponsive and locked nodes are not queried; SMs are located after a change of its fabric
 * @master:       the master that this sweep found
 * @now_us:       CLOCK_BOOTTIME
 * @deadline_us:  CLOCK_BOOTTIME at which it is cut, and the former state remains; 0: never
 * @wall_us, @events:  EVENT_SM_OTHER of other SMs that are new, changed or unresponsive
 *
 * Return: 0, also if it was cut; ERR_UNAVAILABLE if the local device failed; ERR_NOMEM.
 * Source: IBA Vol 1, 14.2.5.6 (PortInfo.CapabilityMask bit 1, MasterSMLID), 14.2.5.13 and 14.4.1
 * (SMInfo).
 */
int sm_monitor_run(struct sm_monitor *monitor, struct engine *engine, struct node_memory *memory,
		   const struct sm_state *master, int64_t now_us, int64_t deadline_us, int64_t wall_us,
		   struct events *events, struct error *err);

#endif
