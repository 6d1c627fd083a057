/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * snapshot_capture.h - all counters of all ports, once: what `ibwire snapshot take` asks
 *
 * One sweep of a process of its own, on a fabric that is handed in. It knows no
 * earlier reading, so each node is asked who it is: a LID that moved since the
 * topology was made gives nobody another's counters.
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
	bool fast_only;          /* leave the slow counters (fabric/detail.h) out */
	bool directed_smps;      /* SMPs are routed along the topology's paths, not by LID */
	const struct keys *keys; /* M_Keys for SMPs, or NULL */
};

/* What was seen beside the counters. */
struct snapshot_capture_report {
	uint32_t moved_lids; /* LIDs that are another node's by now: those nodes count as silent */
	bool changed;        /* a port is not as the topology has it */
};

/*
 * snapshot_capture_run - one sweep of everything
 * @caps:   what nodes' agents are known to do, or NULL: those that it lacks are asked
 * @store:  called once, as struct sink's store(), with deltas left out; not where the program was told to stop
 * @ret:    filled on success
 *
 * Return: 0; ERR_UNAVAILABLE where no port answered, the local device failed, or the
 * program was told to stop; what @store returned; ERR_NOMEM.
 */
int snapshot_capture_run(const struct snapshot_capture_settings *settings, const struct transport *transport,
			 const struct clock *clock, const struct fabric *fabric, const struct restored_caps *caps,
			 size_t caps_count, int (*store)(void *ctx, const struct sweep *sweep, struct error *err),
			 void *ctx, struct snapshot_capture_report *ret, struct error *err);

#endif
