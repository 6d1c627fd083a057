/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * sink.h - where sweeps go
 *
 * The collector knows its store only as two calls. store() takes one sweep and
 * keeps all of it or nothing. restore() is called once, at the start, and gives
 * back what a new collector needs so that a restart is one longer delta and
 * never a gap.
 */
#ifndef IBWIRE_COLLECTOR_SINK_H
#define IBWIRE_COLLECTOR_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/delta.h"
#include "analysis/finding.h"
#include "analysis/status.h"
#include "base/clock.h"
#include "fabric/counter.h"
#include "fabric/detail.h"
#include "fabric/routes.h"

struct error;
struct fabric;

struct port_sample {
	uint32_t port;                 /* index into sweep.fabric->ports */
	enum sample_status status;
	const struct reading *reading; /* NULL unless SAMPLE_OK */
	const struct delta *delta;     /* NULL at a port's first reading */
};

/* One attribute of slow counters of one port, read in this sweep. */
struct detail_sample {
	uint32_t port;                      /* index into sweep.fabric->ports */
	const struct detail_reading *reading;
	const struct detail_delta *delta;   /* NULL at its first reading */
};

enum event_severity { EVENT_INFO, EVENT_WARNING, EVENT_CRITICAL };

/* event_severity_name - "info", "warning", "critical". */
const char *event_severity_name(enum event_severity severity);

struct event {
	int64_t wall_us;
	const char *kind;    /* short word with dashes, of a fixed list (collector/events.h) */
	enum event_severity severity;
	uint64_t node_guid;  /* 0: none */
	uint64_t peer_guid;  /* 0: none */
	uint8_t port, peer_port; /* meaningful with the GUID beside them */
	/*
	 * It stands for so many that were told before: the newest ones of its kind that are not older than it. They are
	 * taken back when it is stored.
	 */
	unsigned replaces;
	char text[256];      /* one line for a person, printable */
};

/* 64 entries of a switch's forwarding table that are others than they were. */
struct route_block {
	uint64_t node_guid;
	uint16_t block; /* LIDs from 64 * block */
};

/* Who manages the subnet, as this sweep found it. Source: SMInfo, PortInfo.MasterSMLID. */
struct sm_state {
	bool known;         /* the master's SMInfo was answered */
	uint16_t lid;       /* MasterSMLID of this host's port; 0: none */
	uint64_t guid;      /* port GUID */
	uint8_t state;      /* 0 not active, 1 discovering, 2 standby, 3 master */
	uint8_t priority;
	uint32_t act_count;
};

struct sweep {
	int64_t wall_us;             /* at its start: a label, nothing is computed from it */
	int64_t start_us, end_us;    /* CLOCK_BOOTTIME */
	char boot_id[BOOT_ID_SIZE];
	int64_t interval_us;         /* as set; 0: a single sweep */
	int64_t discovery_us;        /* of the discovery before this sweep, 0: none was made */
	uint64_t discovery_smps;     /* sent by it */
	uint32_t ports_planned;      /* ports with counters, up or not */
	uint32_t ports_asked, ports_answered;
	uint32_t ports_unfinished;   /* SAMPLE_UNFINISHED: more than 0 where the sweep was cut off */
	int64_t spread_us;           /* between the first and the last reading of the sweep */
	int64_t node_spread_us;      /* the same within one switch: the largest of all */
	uint64_t mads_sent, mads_timed_out, mads_retried;
	struct sm_state sm;
	/* The fabric as it is; generation rises by one when it is another object. */
	const struct fabric *fabric;
	uint64_t generation;
	const struct port_sample *samples; /* one for every pollable port, in order of port */
	size_t sample_count;
	const struct detail_sample *details; /* in the order in which they were answered */
	size_t detail_count;
	const struct event *events;
	size_t event_count;
	/*
	 * All findings that are open after this sweep, in any order. One that was open
	 * and is not among them is closed. NULL: nothing was judged, all stay as they were.
	 */
	const struct finding *const *findings;
	size_t finding_count;
	/*
	 * Forwarding tables as they were read last (collector/route_read.h); NULL: they are not read. With them the
	 * blocks that changed since the last sweep that was stored: new, different, or no longer there.
	 */
	const struct routes *routes;
	const struct route_block *route_blocks;
	size_t route_block_count;
};

/* One port's last absolute reading, as it was stored. */
struct restored_port {
	uint64_t node_guid;
	uint8_t port;
	struct reading reading; /* at_us: CLOCK_BOOTTIME of the boot below */
	int64_t wall_us;        /* the wall clock then, for when the machine booted since */
};

/* The newest reading of one attribute of slow counters. */
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

/* An open finding, as it was said last. */
struct restored_finding {
	struct finding finding; /* its cause and the keys of its numbers point to the copies below */
	char cause[32];
	char keys[FINDING_NUMBERS_MAX][64];
};

struct restored {
	struct fabric *fabric; /* as last stored; NULL: an empty store */
	char boot_id[BOOT_ID_SIZE];
	struct restored_port *ports;
	size_t port_count;
	struct restored_detail *details;
	size_t detail_count;
	struct restored_caps *caps;
	size_t caps_count;
	struct restored_finding *findings; /* that are open */
	size_t finding_count;
	struct routes routes; /* as last stored, also of switches that are gone */
};

/* restored_done - free what restore() filled in. */
void restored_done(struct restored *restored);

#define SINK_HOLDERS_SIZE 128

struct sink {
	/*
	 * Keep one sweep, in one transaction. @sweep and all it points to is
	 * borrowed for the call. Return: 0, or a negative error; then nothing
	 * of it was kept and the next sweep may be tried.
	 */
	int (*store)(void *ctx, const struct sweep *sweep, struct error *err);
	/* Fill @ret (zeroed by the caller; restored_done() frees it). */
	int (*restore)(void *ctx, struct restored *ret, struct error *err);
	/* Keep events that came after the last sweep: the end. Return: as store(). */
	int (*store_events)(void *ctx, const struct event *events, size_t count, struct error *err);
	/* Remember what nodes' performance agents can do. */
	int (*store_caps)(void *ctx, const struct restored_caps *caps, size_t count, struct error *err);
	/*
	 * Has the store's log grown too large because readers keep it from being emptied? NULL: there is no log.
	 * Return: its bytes, and in @ret_holders who reads ("": not known); 0: it has not.
	 */
	int64_t (*log_held)(void *ctx, char ret_holders[SINK_HOLDERS_SIZE]);
	void *ctx;
};

#endif
