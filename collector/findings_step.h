/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * findings_step.h - update the findings with each sweep
 *
 * Passes samples, shape, forwarding tables, locked nodes and SM state to analysis/health, and adds
 * an event for each finding that opens, changes or closes.
 */
#ifndef IBWIRE_COLLECTOR_FINDINGS_STEP_H
#define IBWIRE_COLLECTOR_FINDINGS_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/health.h"
#include "analysis/job_minute.h"
#include "collector/sink.h"

struct details;
struct error;
struct events;
struct fabric;
struct node_memory;
struct plan;
struct restored;
struct restored_finding;
struct pkey_read;
struct route_read;
struct shape;
struct shape_settings;
struct sweep;
struct sweep_result;

/* Initialised by findings_step_init(), freed by findings_step_done(). */
struct findings_step {
	struct health *health;
	const struct shape_settings *shape_settings; /* or NULL */
	struct shape *shape;     /* of the fabric of this generation */
	uint64_t generation;
	bool has_shape;
	int64_t tables_read_us;  /* CLOCK_BOOTTIME of the newest table passed to health */
	uint8_t *adaptive;       /* by node: enum adaptive_routing, or NULL (analysis/balance.h) */
	/* SMInfo.ActCount of the master, and CLOCK_BOOTTIME of its last increment. */
	uint64_t sm_guid;
	uint32_t sm_act_count;
	int64_t sm_moved_us;
	bool sm_known;
	/* Set before findings_step_run(): a log that cannot be checkpointed (sink.h). */
	int64_t log_bytes;
	char log_holders[SINK_HOLDERS_SIZE];
	/* Likewise: nodes that the store leaves out. */
	size_t left_out;
	char left_out_first[SINK_HOLDERS_SIZE];
	/* Likewise: for how long no sweep could be stored before this one, and why; 0: it could. */
	int64_t stalled_us;
	char stall_reason[512];
	/* Likewise: the cabling plan, or NULL. */
	const struct plan *plan;
	uint64_t plan_generation;
	/* Likewise: temperatures of transceivers. */
	const struct health_cable *cables;
	size_t cable_count;
	/* Likewise: other jobs run. The revision changes with them. */
	bool jobs_changed;
	uint64_t jobs_revision;
	/* The running jobs, their ports (indices into the fabric of this generation), and all of those. */
	struct running_jobs running;
	struct health_job *jobs;
	uint32_t *job_ports;
	size_t job_port_count;
	/* Their rhythms: the minute of the newest ones, those of this sweep, the phase of each at the last sweep. */
	int64_t minute;
	struct job_minute *minutes;
	struct job_phase_of { int64_t number; enum job_phase phase; } *phases; /* by descending number */
	size_t phase_count;
	/* Set before findings_step_run(): fast_jobs_sweep(), or NULL. */
	const struct health_sample *job_samples;
	size_t job_sample_count;
	struct restored_finding *restored; /* strings of restored findings */
};

/* A master without a change of ActCount for this long is lost. Source: IBA Vol 1, 14.4.1. */
#define SM_STALLED_US INT64_C(60000000)

/*
 * findings_step_init - start without a history
 * @settings:        thresholds, or NULL: the defaults
 * @shape_settings:  or NULL; borrowed
 */
int findings_step_init(struct findings_step *step, const struct health_settings *settings,
		       const struct shape_settings *shape_settings, struct error *err);
void findings_step_done(struct findings_step *step);

/* findings_step_restore - findings that were open in the store. Return: 0 or ERR_NOMEM. */
int findings_step_restore(struct findings_step *step, const struct restored *restored, struct error *err);

/*
 * findings_step_run - update with one sweep
 * @result, @details:  its readings
 * @routes:  known tables; those to read again before a cause is named are requested
 * @pkeys:   P_Key tables
 * @sweep:   its times, fabric and generation; findings are set, valid until the next call
 * @events:  findings that opened, changed or closed are added
 *
 * Return: 0 or ERR_NOMEM; then the findings are not updated.
 */
int findings_step_run(struct findings_step *step, const struct sweep_result *result, const struct details *details,
		      struct node_memory *memory, struct route_read *routes, const struct pkey_read *pkeys,
		      struct sweep *sweep, struct events *events, struct error *err);

#endif
