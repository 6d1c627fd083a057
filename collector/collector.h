/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * collector.h - the loop: discover, sweep, store, wait
 *
 * The wire, the clock, discovery and the store are handed in as tables of
 * functions, so that the same loop runs on a real fabric and on a model with
 * virtual time.
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
struct shape_settings;
struct sink;
struct transport;

struct collector_wire {
	const struct transport *transport;
	const struct discoverer *discoverer;
	struct keys *keys;  /* M_Keys for SMPs, read anew behind each discovery; or NULL */
	bool directed_smps; /* SMPs are routed along the topology's paths, not by LID */
	/* LID of the master SM as this host's port knows it now; 0: none. */
	uint16_t (*sm_lid)(void *ctx);
	void *ctx;
};

struct collector_settings {
	int64_t interval_us;
	uint64_t count;                /* end after so many sweeps, 0: never; 1 is a single sweep */
	int64_t discovery_interval_us; /* where nothing changes */
	int64_t routes_interval_us;    /* each forwarding table is read once in so long; 0: none is ever read */
	unsigned routes_window;        /* SMPs in flight for them, at most */
	bool switches_only;            /* HCAs are not asked: the ports that they are cabled to mirror them */
	struct engine_settings engine;
	const struct health_settings *health; /* limits of findings; NULL: the defaults */
	const struct shape_settings *shape;   /* classes and rails as a person says; or NULL */
	/*
	 * Asked once, with the first topology that discovery brings and that is not the store's: is this the fabric
	 * that the store belongs to? An error ends the collector. NULL: no question.
	 */
	int (*accept)(void *ctx, const struct fabric *fabric, struct error *err);
	void *accept_ctx;
};

/* What was done, for a person or a script. */
struct collector_report {
	uint64_t sweeps;       /* stored */
	uint64_t sweeps_made;  /* stored or not */
	uint64_t sweeps_late;  /* that took longer than the interval */
	uint64_t sweeps_cut;   /* that ended before all ports were read, so that the next could start on time */
	int64_t discovery_us;  /* of the last discovery */
	uint64_t discovery_smps;
	/* Of the last sweep: */
	int64_t sweep_us, commit_us;
	uint64_t nodes, links;
	uint32_t ports_asked, ports_answered, ports_unfinished;
	uint64_t mads_sent, mads_timed_out;
	struct error unstored; /* why it is not stored; code 0: it is */
};

/*
 * collector_run - collect until a stop is asked for (base/stop.h), or `count` sweeps
 * @ret:  filled also when it fails
 *
 * A sweep that does not end before the next one is due is cut short and stored with
 * what it has, and so is the one in hand when the stop comes. Where the store fails
 * the next sweep is tried all the same, and its deltas reach back to the last
 * one that was stored; for a single sweep that is an error. @ret says whether
 * the last one was stored: with no next one it is the caller's to tell.
 * Return: 0; ERR_UNAVAILABLE where the first discovery fails and the store
 * knows no fabric, the fabric is not accepted, or the device is gone; ERR_IO
 * where the store fails a single sweep; ERR_NOMEM.
 */
int collector_run(const struct collector_settings *settings, const struct collector_wire *wire,
		  const struct clock *clock, const struct sink *sink, struct collector_report *ret, struct error *err);

#endif
