/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* status.h - the status of a port in one word, common to all outputs */
#ifndef IBWIRE_ANALYSIS_STATUS_H
#define IBWIRE_ANALYSIS_STATUS_H

#include <stdbool.h>

#include "analysis/measure.h"

struct port;

/* Result of polling a port in a sweep. Values are stored: never renumber. */
enum sample_status {
	SAMPLE_OK = 0,
	SAMPLE_SILENT = 1,      /* polled, no response */
	SAMPLE_BACKOFF = 2,     /* unresponsive before, not polled this time */
	SAMPLE_DOWN = 3,        /* no link: not polled */
	SAMPLE_LOCKED = 4,      /* responds, but not without a key */
	SAMPLE_UNSUPPORTED = 5, /* no such counters, or a plane (fabric/planes.h) */
	SAMPLE_UNPLANNED = 6,   /* excluded by the settings */
	SAMPLE_UNFINISHED = 7,  /* the sweep ended before it was polled, or before it responded */
	SAMPLE_STATUS_COUNT,
};

/* sample_status_name - "ok", "silent", "backoff", "down", ... */
const char *sample_status_name(enum sample_status status);

/* In order of severity: of two ends of a link the higher value counts. */
enum port_status {
	STATUS_OK,
	STATUS_IDLE,        /* responds, and its link carries almost no traffic */
	STATUS_NEW,         /* responds, and has no rates: one reading so far, they follow with the next */
	STATUS_MIRRORED,    /* no counters: the counters of the switch port at its other end are shown */
	STATUS_UNPLANNED,
	STATUS_UNFINISHED,
	STATUS_INIT,        /* Init or Armed: responds, and the SM has not configured the link */
	STATUS_UNSUPPORTED,
	STATUS_LOCKED,
	STATUS_SILENT,
	STATUS_DOWN,
	STATUS_COUNT,
};

/* port_status_name - "ok", "idle", ...: `status` in every output. */
const char *port_status_name(enum port_status status);

/* port_status_worse - status of a link from both ends: the worse one; idle only if both are. */
enum port_status port_status_worse(enum port_status a, enum port_status b);

/*
 * port_status - status of a port in every output
 * @status:  of the port in the displayed sweep
 * @counted:  it has a delta of data counters; without it there was one reading so far
 * @xmit_bytes_per_s, @rcv_bytes_per_s: rate_bytes_per_s()
 *
 * A port without a link is down, whatever its sample status is. If a port without counters, or
 * one that the settings exclude, has rates, they are those of its peer: mirrored.
 */
enum port_status port_status(const struct port *port, enum sample_status status, bool counted,
			     struct measure xmit_bytes_per_s, struct measure rcv_bytes_per_s);

#endif
