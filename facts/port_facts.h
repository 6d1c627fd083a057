/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* port_facts.h - what is shown of a port, in tables, in data and on the screen */
#ifndef IBWIRE_FACTS_PORT_FACTS_H
#define IBWIRE_FACTS_PORT_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/ber.h"
#include "analysis/measure.h"
#include "analysis/rate.h"
#include "analysis/status.h"
#include "fabric/counter.h"

struct delta;
struct order;
struct plane_sum;
struct finding_row;
struct shape;
struct snapshot;

/* Headings of the columns of a port, in tables and on the screen. */
#define HEADING_LID "LID"
#define HEADING_STATE "STATE"
#define HEADING_LINK "LINK"
#define HEADING_STATUS "STATUS"
#define HEADING_FINDING "FINDING"
#define HEADING_TX "TX"
#define HEADING_RX "RX"
#define HEADING_TX_PERCENT "TX%"
#define HEADING_RX_PERCENT "RX%"
#define HEADING_STALL "XmitWait%"
#define HEADING_LOAD "LOAD%"
#define HEADING_ERRORS "ERRORS"
#define HEADING_PEER "PEER"
#define HEADING_AGE "AGE"

/* Bit error rates, and their keys; effective and raw need detail counters (cli/ports/port_details.h). */
enum port_ber { PORT_BER_SYMBOL, PORT_BER_EFFECTIVE, PORT_BER_RAW, PORT_BER_COUNT };
const char *port_ber_key(enum port_ber which);

/* What the rows of ports are of: a fabric and its counters at one time. Borrowed by each row. */
struct port_scope {
	const struct snapshot *snapshot;
	const struct order *order;  /* displayed names; or NULL if no column has them */
	const struct shape *shape;  /* tiers, rails; NULL: these columns are unknown */
	const struct finding_row *findings; /* the open ones, as of open_findings_load(); for the column finding */
	size_t finding_count;
	const uint32_t *finding_of; /* open_findings_mark(); NULL: no findings were loaded */
	const struct pkeys *pkeys;  /* P_Key tables; NULL: not loaded */
	int64_t reference_us;       /* wall clock for ages */
	int64_t covered_us;         /* the window: numbers of a port_is_cut() in it are lower bounds; 0: one sweep */
	bool newest;                /* of the newest sweep alone: a port that did not respond in it has no rates */
};

/* A row of a table of ports (port_columns.h): numbers of one port; NAN if unknown. */
struct port_facts {
	const struct port_scope *scope;
	uint32_t port; /* index into the fabric's ports */
	enum port_status status;
	double rate_gbps;
	struct measure xmit_bytes_per_s, rcv_bytes_per_s;
	struct measure xmit_packets_per_s, rcv_packets_per_s;
	double rcv_packet_bytes_mean;
	struct measure xmit_percent, rcv_percent;
	struct measure load, util;  /* of the busier direction, in bytes per second and percent */
	struct measure stall_percent; /* XmitWait%, an estimate */
	enum stall_rule stall_rule;   /* what it is computed by */
	struct measure wait_ticks_per_s;
	struct measure errors;        /* facts_errors() */
	struct measure window_errors; /* the same, also where a caller replaces errors by another time span */
	double window_s, age_s;     /* window_s: in which the port was read */
	counter_set errors_known;   /* error counters with a delta in the window */
	counter_set error_bounds;   /* of them, those whose delta is a lower bound */
	counter_set errors_unknown; /* without a delta, and lower bounds */
	struct ber ber[PORT_BER_COUNT];
	bool unused;                /* down, and port_was_unused() */
};

/* A port that is down and was not read for this long is unused. */
#define PORT_UNUSED_US (3600 * INT64_C(1000000))

/*
 * port_facts_of - compute the numbers of a port
 * @port:  index into the fabric's ports
 */
void port_facts_of(const struct port_scope *scope, uint32_t port, struct port_facts *ret);

/* port_wait_is_assumed - an HCA port with a stall that is estimated by an assumption; the note of a table with one. */
#define PORT_WAIT_ASSUMED_NOTE "XmitWait%% of HCAs is an estimate: the length of their tick is assumed"
bool port_wait_is_assumed(const struct port_facts *facts);

/*
 * port_is_cut - was a port not read in all of a window, as delta_is_cut()?
 * Not if its link is down: its counters do not change until it is read again.
 * @window_us: as there
 */
bool port_is_cut(const struct snapshot *snapshot, uint32_t port, const struct delta *sum, int64_t window_us);

/*
 * port_window_errors - facts_errors() of a window, where those of a port_is_cut() are lower bounds;
 * at least 0: unknown
 */
struct measure port_window_errors(const struct snapshot *snapshot, uint32_t port, const struct delta *sum,
				  int64_t window_us);

/* port_facts_planes - sum of all planes of the port that @port is a plane of. */
struct plane_sum port_facts_planes(const struct port_scope *scope, uint32_t port);

/* port_was_unused - the port was not read within PORT_UNUSED_US before the snapshot, or never. */
bool port_was_unused(const struct snapshot *snapshot, uint32_t port);

/*
 * port_facts_add - add the traffic of a port to a sum over ports, in bytes per second
 * As counted at the other end of the link if more is known there. Without a link a port carries nothing, and the
 * management port of a switch almost nothing: they are no unknown parts.
 */
void port_facts_add(const struct port_facts *facts, struct measure *xmit, struct measure *rcv);

/*
 * facts_errors - sum of the known counters of COUNTER_ERROR_SUM_SET; MEASURE_NONE if none is known
 * Of a saturated counter that did not increase: at least 0.
 */
struct measure facts_errors(const struct delta *delta);

/* facts_has_errors - were errors counted, or is a counter saturated? Such a port is listed as one with errors. */
static inline bool facts_has_errors(struct measure errors)
{
	return errors.value > 0 || measure_is_at_least(errors);
}

/* facts_unknown_errors - "", or "; errors of 2 ports are unknown: reset or not read", after "no errors of ..." */
#define UNKNOWN_ERRORS_SIZE 80
const char *facts_unknown_errors(size_t ports, char ret[UNKNOWN_ERRORS_SIZE]);

/* facts_sum - a sum in which NAN is unknown: NAN if both are. */
double facts_sum(double sum, double more);

/* facts_age_s - when_age_us() in seconds; NAN if unknown: @then_us is 0, or the clock was changed. */
double facts_age_s(int64_t now_us, int64_t then_us);

#endif
