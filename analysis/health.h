/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * health.h - detection of findings, sweep by sweep
 *
 * A state machine without clock, I/O or globals: the collector calls it for each sweep, tests for
 * thousands of simulated ones. Its state is by node GUID and port number, so it persists across
 * topologies; memory is linear in ports.
 */
#ifndef IBWIRE_ANALYSIS_HEALTH_H
#define IBWIRE_ANALYSIS_HEALTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/balance.h"
#include "analysis/delta.h"
#include "analysis/finding.h"
#include "analysis/status.h"

struct error;
struct fabric;
struct job_state;
struct pkeys;
struct plan;
struct routes;
struct shape;

/*
 * Thresholds of one kind, in the unit of the kind:
 *
 * coverage            percent of the polled ports: below these
 * link-down           critical: percent of the uplinks of a switch that are down
 * link-flapping       warning: downs in 24 h; critical: downs in 1 h
 * symbol-errors       per hour on a link of 400 Gb/s, HDR and later
 * receive-errors      per hour
 * fec-uncorrectable   effective bit error rate over 10 min
 * xmit-discards       of a trunk: packets per minute, in three of ten; critical: in one of those
 * congestion          percent of the time stalled
 * rail-imbalance      warning: percent difference from comparable hosts
 * cable-hot           warning: degrees Celsius
 * job-stalled         hosts of the job
 *
 * Other kinds only have `off`.
 */
struct health_limits { bool off; double warning, critical; };

/* All settings; cli/ reads the settings file. The comments give the defaults. */
struct health_settings {
	struct health_limits limits[FINDING_KIND_COUNT];
	int64_t down_after_us;       /* delay of link-down: 30 s */
	int64_t degraded_after_us;   /* delay of link-degraded, link-not-active and plan-differs: 60 s */
	int64_t silent_after_us;     /* delay of node-silent: 30 s, and silent_sweeps */
	unsigned silent_sweeps;      /* 3 */
	int64_t restart_within_us;   /* all HCAs of a host go down within: 30 s */
	int64_t restart_charge_us;   /* errors on leaf ports are attributed to the restart for: 5 min */
	int64_t training_us;         /* errors after link-up are ignored for: 5 min */
	int64_t missing_after_us;    /* delay of node-missing for a host: 15 min */
	unsigned rack_hosts;         /* hosts of one leaf that go down within restart_within_us form a rack: 4 */
	int64_t forget_us;           /* missing nodes and links are forgotten after: 7 days */
	int64_t recovery_us;         /* recovery window of counts: 5 min */
	int64_t state_recovery_us;   /* recovery window of states, such as a down link: 60 s */
	int64_t flap_recovery_us;    /* recovery window of link-flapping: 24 h */
	double old_ber_warning, old_ber_critical; /* symbol errors below HDR: 1e-12, 1e-11 */
	double edge_discards;        /* discards to a host in 5 min: 200 */
	double vl15_drops;           /* VL15Dropped in 5 min: 50 */
	/* Expected numbers; 0: not checked. Fewer for missing_after_us is a finding. */
	unsigned expected_hosts, expected_hcas, expected_switches, expected_links;
	double cable_rise_c;         /* between two imports: 10 C */
	unsigned symbol_sweeps;      /* minimum number of sweeps with symbol errors: 3 */
	struct balance_settings balance;
};
void health_settings_default(struct health_settings *ret);

/* Result of one port in one sweep. */
struct health_sample {
	uint32_t port;               /* index into fabric->ports */
	enum sample_status status;
	const struct delta *delta;   /* NULL: none */
	counter_set suspected;       /* of delta->reset: a reset that no decrease shows */
	int64_t at_us;               /* CLOCK_BOOTTIME of the reading; 0: there is none */
};

/* One detail attribute of one port that was read in this sweep. */
struct health_detail {
	uint32_t port;               /* index into fabric->ports */
	uint8_t attribute;           /* enum detail_attribute */
	uint8_t layout;              /* enum fec_layout; of DETAIL_EXTENDED_SPEEDS */
	const struct detail_delta *delta;
};

/* A job that is running. */
struct health_job {
	int64_t number;              /* unique */
	const char *id;
	const uint32_t *ports;       /* HCA ports of its hosts, indices into fabric->ports */
	size_t port_count;
};

/* The newest temperature of a transceiver, as imported. */
struct health_cable {
	uint64_t node_guid;
	uint8_t port;
	double temperature_c, before_c; /* before: in the import before, of the same one; NAN: unknown */
	int64_t wall_us;             /* of the import */
	char serial[40];
};

struct health_input {
	int64_t wall_us;             /* wall clock of the sweep, for display */
	int64_t boot_us;             /* CLOCK_BOOTTIME, for durations */
	int64_t interval_us;
	const struct fabric *fabric;
	const struct shape *shape;   /* of this fabric */
	const struct routes *routes; /* or NULL */
	const uint64_t *routes_changed_guids; /* switches whose tables changed since the last step */
	size_t routes_changed_count;
	const uint32_t *routes_changed_entries; /* number of changed entries each */
	/*
	 * Switches whose tables were read completely since the last step, changed or not. The cause
	 * `routing` requires that tables requested by health_wants_tables() were read.
	 */
	const uint64_t *routes_read_guids;
	size_t routes_read_count;
	bool topology_changed;       /* fabric differs from the last step */
	const struct health_sample *samples; /* in any order */
	size_t sample_count;
	const uint64_t *locked_guids;
	size_t locked_count;
	bool sm_known;               /* the master SM responded, and its ActCount advanced */
	uint64_t sm_guid;
	unsigned sm_masters;         /* number of SMs in state master; 0: unknown */
	const struct pma_caps *caps; /* by node, or NULL */
	const uint8_t *adaptive;     /* by node, as balance_adaptive_create(); or NULL */
	const struct health_detail *details;
	size_t detail_count;
	const struct health_job *jobs;
	size_t job_count;
	/*
	 * Their HCA ports, if those are also read between sweeps (health_job_samples): with deltas since the last of
	 * those readings. For the traffic of the jobs they replace the samples of these ports. NULL: they are not.
	 */
	const struct health_sample *job_samples;
	size_t job_sample_count;
	int64_t log_bytes;           /* size of a database log that readers keep from truncation; else 0 */
	const char *log_holders;     /* its readers: "process 4711 (less)"; "": unknown */
	size_t left_out;             /* nodes that the database leaves out, because too many are new */
	const char *left_out_first;  /* with it: one of them, and its place */
	int64_t stalled_us;          /* no sweep could be stored for this long, until the last one; else 0 */
	const char *stall_reason;    /* with it: one line */
	const struct plan *plan;     /* cabling plan, or NULL */
	uint64_t plan_generation;    /* changes with the plan */
	const struct health_cable *cables; /* of ports with a known temperature */
	size_t cable_count;
	const struct pkeys *pkeys;   /* P_Key tables, or NULL */
	uint64_t pkeys_revision;     /* changes with them */
	bool pkeys_settled;          /* all of them were read since their last change */
};

enum health_change { HEALTH_OPENED, HEALTH_CHANGED, HEALTH_CLOSED };
typedef void health_report_fn(void *ctx, enum health_change change, struct finding *finding);

struct health;

/* health_create - Return: NULL: no memory. */
struct health *health_create(const struct health_settings *settings);
void health_destroy(struct health *health);

/*
 * health_restore - restore an open finding of an earlier run
 * Before the first step. It stays open until its condition no longer holds. Conditions that had not
 * opened a finding are lost.
 * Return: 0 or ERR_NOMEM.
 */
int health_restore(struct health *health, const struct finding *finding, struct error *err);

/* Errors that a port with an open finding counted in a minute of an earlier run. */
struct health_count {
	int64_t wall_us;             /* of the last sweep of that minute */
	uint64_t node_guid;
	uint8_t port;
	uint8_t counter;             /* enum counter, or HEALTH_COUNT_FEC: uncorrectable blocks */
	uint8_t layout;              /* of those: enum fec_layout */
	bool at_least;               /* counters of the port were reset or saturated in that minute */
	uint64_t value;
	int64_t first_wall_us;       /* of the first stored sweep that was searched for counts */
};
#define HEALTH_COUNT_FEC COUNTER_COUNT
#define HEALTH_COUNTS_US (4 * INT64_C(3600000000)) /* the longest time that counts are evaluated */

/*
 * health_restore_counts - restore the errors that open findings are evaluated by
 * Before the first step, with the findings. @counts: by time; they are copied.
 * Return: 0 or ERR_NOMEM.
 */
int health_restore_counts(struct health *health, const struct health_count *counts, size_t count, struct error *err);

/*
 * health_step - evaluate one sweep
 * @report:  called for each finding that opens, changes its severity or cause, or closes; may set
 *           finding->id
 *
 * Return: 0 or ERR_NOMEM.
 */
int health_step(struct health *health, const struct health_input *input, health_report_fn *report, void *ctx,
		struct error *err);

/*
 * health_job_samples - the traffic of the running jobs between two steps
 * @boot_us:  CLOCK_BOOTTIME of these readings
 * @samples:  HCA ports of the jobs of the last step, in order of port: indices into the fabric of that step. Deltas
 *            are since the previous call or step; a port without a reading has SAMPLE_DOWN or SAMPLE_SILENT,
 *            SAMPLE_UNFINISHED if it was not read in time, SAMPLE_UNSUPPORTED if only steps read it
 *
 * Only the watches of the jobs are updated; findings open and close in the next step.
 * Return: 0 or ERR_NOMEM.
 */
int health_job_samples(struct health *health, int64_t boot_us, const struct health_sample *samples, size_t count,
		       struct error *err);

/*
 * health_job_state - the state of a running job after the last step
 * @number:  of the job
 * Return: borrowed until the next step; NULL: it is not watched.
 */
const struct job_state *health_job_state(const struct health *health, int64_t number);

/*
 * health_wants_tables - switches whose tables must be read again before a cause is assigned
 * Each is listed in one step, and later again if it was not read. @ret_guids: valid until the next
 * step. Return: their number.
 */
size_t health_wants_tables(const struct health *health, const uint64_t **ret_guids);

/* health_open - all open findings, unordered; valid until the next step. Return: their number. */
size_t health_open(const struct health *health, const struct finding *const **ret);

#endif
