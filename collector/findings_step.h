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
struct memory;
struct restored;
struct restored_finding;
struct route_read;
struct shape;
struct shape_settings;
struct sweep;
struct sweep_result;

/* A zeroed struct that judge_init() fills in; judge_done() frees what it holds. */
struct judge {
	struct health *health;
	const struct shape_settings *shape_settings; /* or NULL */
	struct shape *shape;     /* of the fabric of this generation */
	uint64_t generation;
	bool shaped;
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
	/* Set before judge_step(): of a log that readers hold (sink.h). */
	int64_t log_bytes;
	char log_holders[SINK_HOLDERS_SIZE];
	struct restored_finding *restored; /* words that restored findings point to */
};

/* A master whose ActCount stands still for so long is as good as gone. Source: IBA Vol 1, 14.4.1 (SMInfo.ActCount). */
#define JUDGE_SM_STILL_US INT64_C(60000000)

/*
 * judge_init - begin without a history
 * @settings:        limits, or NULL: the defaults
 * @shape_settings:  or NULL; borrowed
 */
int judge_init(struct judge *judge, const struct health_settings *settings,
	       const struct shape_settings *shape_settings, struct error *err);
void judge_done(struct judge *judge);

/* judge_restore - findings that were open when the collector ended. Return: 0 or ERR_NOMEM. */
int judge_restore(struct judge *judge, const struct restored *restored, struct error *err);

/*
 * judge_step - one sweep
 * @result, @details:  what it read
 * @routes:  tables as they are known; is told which to read again before a cause is named
 * @sweep:   its times, fabric and generation; findings are put into it: valid until the next step
 * @events:  get what opened, became worse or better, and closed
 *
 * Return: 0 or ERR_NOMEM; then nothing is said of findings in this sweep.
 */
int judge_step(struct judge *judge, const struct sweep_result *result, const struct details *details,
	       struct memory *memory, struct route_read *routes, struct sweep *sweep, struct events *events,
	       struct error *err);

#endif
