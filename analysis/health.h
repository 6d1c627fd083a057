/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * health.h - findings as they open and close, sweep after sweep
 *
 * A state machine without clock, I/O or globals: the collector steps it with each sweep, a
 * test with thousands of made ones, and both get the same findings. What it remembers is
 * keyed by node GUID and port number, so it outlives a topology; memory is linear in ports.
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
struct routes;
struct shape;

/*
 * Limits of one kind: what warns, what is critical, in the unit of the kind:
 *
 * coverage            percent of the ports that should answer: below these
 * link-down           critical: percent of a switch's uplinks that are down
 * link-flapping       warning: downs in 24 h; critical: downs in 1 h
 * symbol-errors       an hour on a link of 400 Gb/s, HDR and later
 * receive-errors      an hour
 * fec-uncorrectable   effective bit error rate over 10 min
 * xmit-discards       of a trunk: packets a minute, three times in ten; critical: in one of those
 * congestion          percent of the time stalled
 * rail-imbalance      warning: percent off what hosts like it have
 *
 * Other kinds have no numbers here but `off`.
 */
struct health_limits { bool off; double warning, critical; };

/* Everything that a settings file may change (analysis/health_settings.h reads no file: cli does). */
struct health_settings {
	struct health_limits limits[FINDING_KIND_COUNT];
	int64_t down_after_us;       /* a trunk must be down for so long: 30 s */
	int64_t degraded_after_us;   /* 60 s */
	int64_t silent_after_us;     /* 30 s, and silent_sweeps */
	unsigned silent_sweeps;      /* 3 */
	int64_t restart_within_us;   /* all HCAs of a host down within: 30 s */
	int64_t restart_charge_us;   /* its leaf's errors are charged to it for: 5 min */
	int64_t training_us;         /* errors after link-up that are training: 5 min */
	int64_t missing_after_us;    /* a host that is down for so long does not just boot: 15 min */
	unsigned rack_hosts;         /* so many hosts of one leaf down within restart_within_us are one rack: 4 */
	int64_t forget_us;           /* what is gone for so long was taken away: 7 days */
	int64_t recovery_us;         /* clean for so long before a finding closes: 5 min */
	int64_t state_recovery_us;   /* the same of what is either so or not (a link that is down): 60 s */
	int64_t flap_recovery_us;    /* 24 h */
	int64_t window_us;           /* of balance: 60 s, and 3 sweeps */
	double old_ber_warning, old_ber_critical; /* symbol errors of links below HDR: 1e-12, 1e-11 */
	double edge_discards;        /* to a host, in 5 min: 200 */
	double vl15_drops;           /* VL15Dropped in 5 min: 50 */
	/* What a person says that there is; 0: nobody said. Fewer, for missing_after_us, is a finding. */
	unsigned expected_hosts, expected_hcas, expected_switches, expected_links;
	unsigned symbol_sweeps;      /* symbol errors in so many sweeps: 3 */
	struct balance_settings balance;
};
void health_settings_default(struct health_settings *ret);

/* What one port said in one sweep. By pollable port. */
struct health_sample {
	uint32_t port;               /* index into fabric->ports */
	enum sample_status status;
	const struct delta *delta;   /* NULL: none */
};

/* One attribute of slow counters of one port, read in this sweep. */
struct health_detail {
	uint32_t port;               /* index into fabric->ports */
	uint8_t attribute;           /* enum detail_attribute */
	const struct detail_delta *delta;
};

struct health_input {
	int64_t wall_us;             /* label of the sweep: what since_us is in */
	int64_t boot_us;             /* CLOCK_BOOTTIME: what lengths of time are in */
	int64_t interval_us;
	const struct fabric *fabric;
	const struct shape *shape;   /* of this very fabric */
	const struct routes *routes; /* or NULL */
	int64_t routes_changed_us;   /* wall clock of the newest change of a table; 0: none was seen */
	const uint64_t *routes_changed_guids; /* switches whose tables changed since the last step */
	size_t routes_changed_count;
	const uint32_t *routes_changed_entries; /* how many entries each */
	/*
	 * Switches whose tables were read, whole, since the last step, changed or not. A cause
	 * `routing` is named only once what health_wants_tables() asked for came here.
	 */
	const uint64_t *routes_read_guids;
	size_t routes_read_count;
	bool topology_changed;       /* fabric is another one than at the last step */
	const struct health_sample *samples; /* in any order */
	size_t sample_count;
	const uint64_t *locked_guids;
	size_t locked_count;
	bool sm_known;               /* the master SM answered, and its ActCount moved */
	uint64_t sm_guid;
	unsigned sm_masters;         /* how many claim to be master; 0: not known */
	const struct pma_caps *caps; /* by node, or NULL: for stall */
	const uint8_t *adaptive;     /* by node, enum balance_adaptive as set by a person; or NULL */
	const struct health_detail *details;
	size_t detail_count;
	int64_t log_bytes;           /* of a database log that readers keep from being emptied; else 0 */
	const char *log_holders;     /* with it: who, "process 4711 (less)"; "": not known */
};

enum health_change { HEALTH_OPENED, HEALTH_CHANGED, HEALTH_CLOSED };
typedef void health_report_fn(void *ctx, enum health_change change, struct finding *finding);

struct health;

/* health_create - Return: NULL where memory is out. */
struct health *health_create(const struct health_settings *settings);
void health_destroy(struct health *health);

/*
 * health_restore - an open finding of an earlier run; it goes on as it was, or closes when it no longer holds
 * Before the first step. What it says stays until it is measured anew; what had not opened yet is forgotten.
 * Return: 0 or ERR_NOMEM.
 */
int health_restore(struct health *health, const struct finding *finding, struct error *err);

/*
 * health_step - one sweep
 * @report:  told of each finding that opens, changes its severity or cause, or closes; may set finding->id
 *
 * Return: 0 or ERR_NOMEM.
 */
int health_step(struct health *health, const struct health_input *input, health_report_fn *report, void *ctx,
		struct error *err);

/*
 * health_wants_tables - switches whose tables must be read again before a cause is named
 * Each is named in one step, and again later only if it was not read. @ret_guids: valid until the next step.
 * Return: how many.
 */
size_t health_wants_tables(const struct health *health, const uint64_t **ret_guids);

/* health_open - all open findings, in no order; valid until the next step. Return: how many. */
size_t health_open(const struct health *health, const struct finding *const **ret);

#endif
