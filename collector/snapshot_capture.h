/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * snapshot_capture.h - all counters of all ports, once: `ibwire snapshot take`
 *
 * One sweep on a given fabric, in a process of its own. There are no earlier readings, so NodeInfo
 * of every LID is verified: a LID that moved must not give a node the counters of another.
 */
#ifndef IBWIRE_COLLECTOR_SNAPSHOT_CAPTURE_H
#define IBWIRE_COLLECTOR_SNAPSHOT_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/sink.h"
#include "wire/engine.h"

struct clock;
struct error;
struct fabric;
struct keys;
struct transport;

struct snapshot_capture_settings {
	struct engine_settings engine;
	bool fast_only;          /* without detail counters (fabric/detail.h) */
	bool directed_smps;      /* SMPs are routed along paths of the topology, not by LID */
	bool no_smps;            /* no SMPs are sent: LIDs are not verified, FEC layouts are unknown */
	const struct keys *keys; /* M_Keys for SMPs, or NULL */
};

/* Observations apart from the counters. */
struct snapshot_capture_report {
	uint32_t moved_lids; /* LIDs that belong to another node: their nodes count as unresponsive */
	bool changed;        /* a port differs from the topology */
};

/*
 * snapshot_capture_run - one sweep of all counters
 * @caps:   known capabilities, or NULL; those that are missing are queried
 * @store:  called once, as store() of struct sink, without deltas; not if a stop was requested
 * @ret:    set on success
 *
 * Return: 0; ERR_UNAVAILABLE if no port responded, the local device failed, or a stop was
 * requested; the error of @store; ERR_NOMEM.
 */
int snapshot_capture_run(const struct snapshot_capture_settings *settings, const struct transport *transport,
			 const struct clock *clock, const struct fabric *fabric, const struct restored_caps *caps,
			 size_t caps_count, int (*store)(void *ctx, const struct sweep *sweep, struct error *err),
			 void *ctx, struct snapshot_capture_report *ret, struct error *err);

#endif
