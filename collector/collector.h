/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * collector.h - the collector's loop: discovery, sweep, store, wait
 *
 * Transport, clock, discovery and store are tables of functions, so that the same loop runs on a
 * real fabric and on a simulated one in virtual time.
 */
#ifndef IBWIRE_COLLECTOR_COLLECTOR_H
#define IBWIRE_COLLECTOR_COLLECTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "wire/engine.h"

struct clock;
struct discoverer;
struct fabric;
struct health_settings;
struct keys;
struct plan;
struct shape_settings;
struct sink;
struct transport;

struct collector_wire {
	const struct transport *transport;
	const struct discoverer *discoverer;
	struct keys *keys;  /* M_Keys for SMPs, read again after each discovery; or NULL */
	bool directed_smps; /* SMPs are routed along paths of the topology, not by LID */
	/* LID of the master SM in this host's PortInfo; 0: none. */
	uint16_t (*sm_lid)(void *ctx);
	/* Was the local device removed, so that the transport failed? NULL: never. */
	bool (*device_removed)(void *ctx);
	void *ctx;
	const char *device;   /* device and port of this host, for events */
	bool device_returned; /* the last run ended because the device was removed */
};

struct collector_settings {
	int64_t interval_us;
	uint64_t count;                /* number of sweeps, 0: no limit; 1: a single sweep */
	int64_t discovery_interval_us; /* longest time between discoveries */
	int64_t routes_interval_us;    /* time between reads of each forwarding table; 0: never read */
	unsigned routes_window;        /* SMPs in flight for forwarding tables and verifications */
	bool adaptive_routing;         /* query AdaptiveRoutingInfo of NVIDIA's switches after each discovery */
	int64_t fast_jobs_us;          /* between sweeps, HCA ports of running jobs (fast_jobs.h); 0: never */
	bool no_pkeys;                 /* P_Key tables are not read */
	bool firmware;                 /* query GeneralInfo of NVIDIA's nodes (firmware_read.h) */
	bool detect_jobs;              /* find jobs that no batch system begins (detect_step.h) */
	bool switches_only;            /* HCAs are not polled: the counters of their switch ports mirror them */
	struct engine_settings engine;
	const struct health_settings *health; /* thresholds of findings; NULL: the defaults */
	const struct shape_settings *shape;   /* configured node classes and rails; or NULL */
	/*
	 * Called before the findings of each sweep: the cabling plan, valid until the next call, or NULL. The
	 * generation changes with it. NULL: there is none.
	 */
	const struct plan *(*plan)(void *ctx, uint64_t *ret_generation);
	void *plan_ctx;
	/*
	 * Called once, with the first discovered topology that is not the stored one: does the
	 * database belong to this fabric? An error ends the collector. NULL: not checked.
	 */
	int (*accept)(void *ctx, const struct fabric *fabric, struct error *err);
	void *accept_ctx;
	/*
	 * Called before each sweep, and at least every COLLECTOR_WAIT_US while the collector waits. False
	 * ends the run as a request to stop does. NULL: always true.
	 */
	bool (*proceed)(void *ctx);
	void *proceed_ctx;
};
#define COLLECTOR_WAIT_US (30 * INT64_C(1000000))

/* Summary of a run. */
struct collector_report {
	uint64_t sweeps;       /* stored */
	uint64_t sweeps_made;  /* stored or not */
	uint64_t sweeps_late;  /* longer than the interval */
	uint64_t sweeps_cut;   /* ended before all ports were read, so that the next could start on time */
	int64_t discovery_us;  /* of the last discovery */
	uint64_t discovery_smps;
	/* Of the last sweep: */
	int64_t sweep_us, commit_us;
	uint64_t nodes, links;
	uint32_t ports_polled, ports_answered, ports_unfinished;
	uint64_t mads_sent, mads_timed_out;
	/* Rounds between sweeps (fast_jobs.h), their MADs, and the ports of the last one. */
	uint64_t fast_rounds, fast_mads, fast_ports;
	struct error unstored; /* why the last sweep is not stored; code 0: it is */
};

/*
 * collector_run - collect until a stop is requested (base/stop.h), or for `count` sweeps
 * @ret:  filled on failure too
 *
 * A sweep ends before the next one is due, or when a stop is requested, and is stored with the
 * readings it has. If the store fails, polling continues, and the next deltas start at the last
 * stored sweep; for a single sweep the failure is returned. @ret->unstored is set if the last
 * sweep was not stored.
 * Return: 0; ERR_UNAVAILABLE if the first discovery fails and no fabric is stored, the fabric is
 * not accepted, or the device failed; ERR_IO if the store fails for a single sweep; ERR_NOMEM.
 */
int collector_run(const struct collector_settings *settings, const struct collector_wire *wire,
		  const struct clock *clock, const struct sink *sink, struct collector_report *ret, struct error *err);

#endif
