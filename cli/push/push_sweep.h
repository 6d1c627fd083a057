/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * push_sweep.h - the samples of one stored sweep, in batches
 *
 * The metrics are those of `ibwire metrics` (cli/metrics/metrics_families.h) that follow from what is stored of a
 * sweep, so that a batch that is sent again is the same. A batch never has samples of two sweeps: a
 * receiver that has stored a batch whose response was lost then gets samples that are equal to its
 * newest ones, which it ignores. Samples of an older sweep would be rejected, with the others of the batch.
 *
 * A series ends where a sweep has no value for it, as with a scrape that lacks it: by a sample whose value is a NaN of
 * its own, the stale marker of Prometheus. Two things are about the present and no sweep: ibwire_collector_live, and
 * the end of all other series after the last sweep of a collector, a millisecond later, so that it precedes a sweep
 * that is stored late.
 */
#ifndef IBWIRE_CLI_PUSH_SWEEP_H
#define IBWIRE_CLI_PUSH_SWEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "cli/metrics/metrics_page.h"
#include "cli/push/push_state.h"

struct error;
struct fabric;
struct name_map;
struct push_target;
struct reader;
struct settings;

struct push_source {
	const struct name_map *names; /* borrowed; or NULL */
	const struct settings *settings;
	const char *labels;           /* of --label, as metrics_label() writes them */
	size_t batch;                 /* samples */
	int64_t unchanged_us;         /* of --unchanged: time between equal samples of a series; 0: one per sweep */
	struct push_state *state;
	struct push_target *target;

	/* Of the last sweep: ports and their labels are prepared once per topology. */
	struct metrics_topology *topology;
	uint32_t *slots;              /* by port of the fabric: index in state->ports */
	double *sent;                 /* by family that can be left out and port: the last sample; NULL: none is */
	bool *is_sent;                /* by family and row: it has a sample, and no end; NULL: none has */
	struct text request, line, encoded, name;
	uint64_t pending;             /* samples in `request` */
	int64_t wall_ms;
	int64_t ended;                /* sweep after which the end of its series was sent; 0: none */
	int64_t present_us;           /* boot time of the newest ibwire_collector_live; 0: none */
	bool live;                    /* its value */
};

/*
 * push_sweep - send the next sweep after the acknowledged one, if there is one
 * The origin itself is sent with counters of 0.
 * Return: 1: it was acknowledged, and the cursor is saved; 0: none is newer, or a stop was requested; ERR_UNAVAILABLE
 * without a sweep, or from push_target_send(); ERR_IO; ERR_NOMEM. Counters are undefined after an error or a stop.
 */
int push_sweep(struct push_source *source, struct reader *reader, struct error *err);

/*
 * push_present - send what is due about the present, after every stored sweep was sent
 * Return: 1; 0: a stop was requested; or as push_sweep().
 */
int push_present(struct push_source *source, struct reader *reader, struct error *err);
void push_source_done(struct push_source *source);

#endif
