/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * sink.h - the interface between collector and store
 *
 * store() stores one sweep completely or not at all. restore() is called once, at the start, and
 * returns the state of the last collector, so that a restart is one longer delta and never a gap.
 */
#ifndef IBWIRE_COLLECTOR_SINK_H
#define IBWIRE_COLLECTOR_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/delta.h"
#include "analysis/event.h"
#include "analysis/finding.h"
#include "analysis/status.h"
#include "analysis/job_minute.h"
#include "base/clock.h"
#include "fabric/counter.h"
#include "fabric/detail.h"
#include "fabric/firmware.h"
#include "fabric/pkeys.h"
#include "fabric/routes.h"

struct error;
struct fabric;
struct health_cable;
struct health_count;

struct port_sample {
	uint32_t port;                 /* index into sweep.fabric->ports */
	enum sample_status status;
	const struct reading *reading; /* NULL unless SAMPLE_OK */
	const struct delta *delta;     /* NULL at the first reading of a port */
	counter_set suspected;         /* of delta->reset: a reset that no decrease shows (hidden_reset.h) */
};

/* One attribute of detail counters of one port, read in this sweep. */
struct detail_sample {
	uint32_t port;                      /* index into sweep.fabric->ports */
	const struct detail_reading *reading;
	const struct detail_delta *delta;   /* NULL at its first reading */
};

/* A port whose P_Key table is new or has changed. */
struct pkey_change {
	uint64_t node_guid;
	uint8_t port;
};

/* 64 entries of a forwarding table that have changed. */
struct route_block {
	uint64_t node_guid;
	uint16_t block; /* LIDs from 64 * block */
};

struct sweep {
	int64_t wall_us;             /* start of the sweep: a label, not used in computations */
	int64_t start_us, end_us;    /* CLOCK_BOOTTIME */
	char boot_id[BOOT_ID_SIZE];
	int64_t interval_us;         /* as configured; 0: a single sweep */
	int64_t discovery_us;        /* duration of the discovery before this sweep, 0: none */
	uint64_t discovery_smps;     /* sent by that discovery */
	uint32_t ports_planned;      /* ports with counters, whether up or not */
	uint32_t ports_polled, ports_answered;
	uint32_t ports_unfinished;   /* SAMPLE_UNFINISHED: not 0 if the sweep was cut */
	int64_t spread_us;           /* between the first and the last reading */
	int64_t node_spread_us;      /* the same within one switch, maximum */
	uint64_t mads_sent, mads_timed_out, mads_retried;
	struct sm_state sm;
	/* generation is incremented when fabric is replaced. */
	const struct fabric *fabric;
	uint64_t generation;
	const struct port_sample *samples; /* one for every pollable port, in order of port */
	size_t sample_count;
	const struct detail_sample *details; /* in order of response */
	size_t detail_count;
	const struct event *events;
	size_t event_count;
	/*
	 * All open findings after this sweep, in any order. A stored open finding that is missing
	 * here is closed. NULL: findings were not updated.
	 */
	const struct finding *const *findings;
	size_t finding_count;
	/*
	 * Forwarding tables as last read (collector/route_read.h); NULL: not read. The blocks are
	 * those that are new, changed or removed since the last stored sweep.
	 */
	const struct routes *routes;
	const struct route_block *route_blocks;
	size_t route_block_count;
	/* P_Key tables as last read (collector/pkey_read.h); NULL: not read. Those that are new or have changed. */
	const struct pkeys *pkeys;
	const struct pkey_change *pkey_changes;
	size_t pkey_change_count;
	/* The rhythms of running jobs, in one sweep a minute; otherwise there are none. */
	const struct job_minute *job_minutes;
	size_t job_minute_count;
};

/* One port's last absolute reading. */
struct restored_port {
	uint64_t node_guid;
	uint8_t port;
	struct reading reading; /* at_us: CLOCK_BOOTTIME of the boot below */
	int64_t wall_us;        /* wall clock of the reading, for when the host was rebooted since */
	/* Within 10 minutes before the newest sweep: sweeps with a reset of a counter (at most 2), and the last one. */
	uint8_t resets;
	int64_t reset_wall_us;
};

/* The last reading of one attribute of detail counters. */
struct restored_detail {
	uint64_t node_guid;
	uint8_t port;
	struct detail_reading reading; /* at_us: CLOCK_BOOTTIME of the boot below */
	int64_t wall_us;
};

struct restored_caps {
	uint64_t node_guid;
	struct pma_caps caps;
};

/* An open finding in its last state. */
struct restored_finding {
	struct finding finding; /* its cause and number keys point to the copies below */
	char cause[32];
	char keys[FINDING_NUMBERS_MAX][64];
};

struct restored {
	struct fabric *fabric; /* NULL: the store is empty */
	char boot_id[BOOT_ID_SIZE];
	struct restored_port *ports;
	size_t port_count;
	struct restored_detail *details;
	size_t detail_count;
	struct restored_caps *caps;
	size_t caps_count;
	struct node_firmware *firmware;
	size_t firmware_count;
	struct restored_finding *findings; /* open */
	size_t finding_count;
	/* Errors of the last hours of ports with an open finding, by time. */
	struct health_count *counts;
	size_t count_count;
	struct routes routes; /* includes switches that have been removed */
	struct pkeys pkeys;   /* includes ports that have been removed */
};

/* restored_done - free the result of restore(). */
void restored_done(struct restored *restored);

/* The jobs that are registered as running, the newest first. A zeroed struct has none. */
struct running_job {
	int64_t number;
	char *id, *hosts; /* hosts: as Slurm writes them; "": no list */
	/* Of a job that was found in the traffic (analysis/job_detect.h); 0 or NAN: it was begun. */
	double confidence;
	int64_t begin_us; /* wall clock */
};

struct running_jobs {
	struct running_job *list;
	size_t count;
};

void running_jobs_done(struct running_jobs *jobs);

/* A job that was found in the traffic, or what has changed of it. */
struct detected_record {
	int64_t number;         /* of its row; 0: a new one, whose number is set */
	const char *id;         /* of a new one */
	const char *hosts;      /* as Slurm writes them */
	double confidence;      /* 0..1 */
	int64_t begin_us, begin_boot_us; /* of a new one: wall clock, CLOCK_BOOTTIME */
	int64_t end_us, end_boot_us;     /* likewise; 0: it runs */
	int64_t replaced_by;    /* number of the job that was begun on its hosts; 0: none */
};

#define SINK_HOLDERS_SIZE 128

struct sink {
	/*
	 * Store one sweep in one transaction. @sweep and everything it points to is borrowed for
	 * the call. Return: 0, or a negative error; then nothing was stored and the next sweep can
	 * be tried, unless has_ended().
	 */
	int (*store)(void *ctx, const struct sweep *sweep, struct error *err);
	/* Fill @ret (zeroed by the caller; restored_done() frees it). */
	int (*restore)(void *ctx, struct restored *ret, struct error *err);
	/* Store events after the last sweep. Return: as store(). */
	int (*store_events)(void *ctx, const struct event *events, size_t count, struct error *err);
	/* Store the capabilities of performance agents. */
	int (*store_caps)(void *ctx, const struct restored_caps *caps, size_t count, struct error *err);
	/* Store firmware of nodes; source FIRMWARE_UNKNOWN: it is not known any more. */
	int (*store_firmware)(void *ctx, const struct node_firmware *list, size_t count, struct error *err);
	/*
	 * Firmware that other processes have imported since the last call. NULL: it cannot be imported.
	 * Return: NULL, or borrowed until the next call.
	 */
	const struct node_firmware *(*imported_firmware)(void *ctx, size_t *ret_count);
	/*
	 * Have readers kept the store's log from being checkpointed, so that it is too large? NULL:
	 * there is no log. Return: its size in bytes, and in @ret_holders the readers ("":
	 * unknown); 0: no.
	 */
	int64_t (*log_held)(void *ctx, char ret_holders[SINK_HOLDERS_SIZE]);
	/*
	 * Did the last stored sweep leave out nodes of the fabric, because too many are new? NULL: never. Return:
	 * their number, and in @ret_first the first of them, with its place ("": none).
	 */
	size_t (*nodes_left_out)(void *ctx, char ret_first[SINK_HOLDERS_SIZE]);
	/* Was this node among them? What is known of it is to be stored later. NULL: never. */
	bool (*is_left_out)(void *ctx, uint64_t node_guid);
	/*
	 * Read the running jobs if they are others than in @jobs; NULL: there are none. Return: whether @jobs has
	 * changed; on an error it has not.
	 */
	bool (*running_jobs)(void *ctx, struct running_jobs *jobs);
	/* Store jobs that were found in the traffic; those that have ended stay as they are. NULL: cannot be done. */
	int (*store_detected)(void *ctx, struct detected_record *list, size_t count, struct error *err);
	/*
	 * The newest temperatures of transceivers that other processes have imported. NULL: none can be. Return: NULL,
	 * or borrowed until the next call.
	 */
	const struct health_cable *(*imported_cables)(void *ctx, size_t *ret_count);
	/* After an error: can nothing be stored until the process is started again? NULL: never. */
	bool (*has_ended)(void *ctx);
	void *ctx;
};

/* sink_leaves_out - is_left_out(); @sink may be NULL. */
bool sink_leaves_out(const struct sink *sink, uint64_t node_guid);

#endif
