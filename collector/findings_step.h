/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * findings_step.h - what each sweep says of the fabric's health
 *
 * Gives analysis/health what it wants of a sweep: the fabric's shape, samples, tables,
 * who is locked, who manages the subnet; and turns what opens and closes into events.
 */
#ifndef IBWIRE_COLLECTOR_FINDINGS_STEP_H
#define IBWIRE_COLLECTOR_FINDINGS_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/health.h"
#include "collector/sink.h"

struct details;
struct error;
struct events;
struct fabric;
struct node_memory;
struct restored;
struct restored_finding;
struct route_read;
struct shape;
struct shape_settings;
struct sweep;
struct sweep_result;

/* A zeroed struct that findings_step_init() fills in; findings_step_done() frees what it holds. */
struct findings_step {
	struct health *health;
	const struct shape_settings *shape_settings; /* or NULL */
	struct shape *shape;     /* of the fabric of this generation */
	uint64_t generation;
	bool has_shape;
	struct health_sample *samples;
	size_t sample_capacity;
	struct pma_caps *caps;   /* by node */
	size_t caps_capacity;
	uint64_t *locked;
	size_t locked_capacity;
	/* Switches whose tables changed in this sweep, and by how many entries; when one did last. */
	uint64_t *changed_guids;
	uint32_t *changed_entries;
	size_t changed_capacity, entries_capacity;
	int64_t changed_us;
	uint64_t *read_guids;    /* whose tables were read whole in this sweep */
	size_t read_capacity;
	int64_t tables_read_us;  /* CLOCK_BOOTTIME of the newest that was told */
	uint8_t *adaptive;       /* by node: what a person says, enum balance_adaptive */
	struct health_detail *details;
	size_t detail_capacity;
	/* The master's count of activity, and when it was seen to move: CLOCK_BOOTTIME. */
	uint64_t sm_guid;
	uint32_t sm_act_count;
	int64_t sm_moved_us;
	bool sm_known;
	/* Set before findings_step_run(): of a log that readers hold (sink.h). */
	int64_t log_bytes;
	char log_holders[SINK_HOLDERS_SIZE];
	struct restored_finding *restored; /* words that restored findings point to */
};

/* A master whose ActCount stands still for so long is as good as gone. Source: IBA Vol 1, 14.4.1 (SMInfo.ActCount). */
#define SM_STALLED_US INT64_C(60000000)

/*
 * findings_step_init - begin without a history
 * @settings:        limits, or NULL: the defaults
 * @shape_settings:  or NULL; borrowed
 */
int findings_step_init(struct findings_step *step, const struct health_settings *settings,
		       const struct shape_settings *shape_settings, struct error *err);
void findings_step_done(struct findings_step *step);

/* findings_step_restore - findings that were open when the collector ended. Return: 0 or ERR_NOMEM. */
int findings_step_restore(struct findings_step *step, const struct restored *restored, struct error *err);

/*
 * findings_step_run - one sweep
 * @result, @details:  what it read
 * @routes:  tables as they are known; is told which to read again before a cause is named
 * @sweep:   its times, fabric and generation; findings are put into it: valid until the next step
 * @events:  get what opened, became worse or better, and closed
 *
 * Return: 0 or ERR_NOMEM; then nothing is said of findings in this sweep.
 */
int findings_step_run(struct findings_step *step, const struct sweep_result *result, const struct details *details,
		      struct node_memory *memory, struct route_read *routes, struct sweep *sweep, struct events *events,
		      struct error *err);

#endif
