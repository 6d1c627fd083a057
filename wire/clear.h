/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * clear.h - clear counters of ports on request of the user
 *
 * A survey reads first: NodeInfo and ClassPortInfo of each LID. Clearing then reads NodeInfo of
 * each LID again, so that a LID that was reassigned meanwhile does not clear another node, and
 * sends a Set for each port and attribute, one after the other. A LID without a valid NodeInfo is
 * skipped. Many LIDs are processed at a time, with one MAD each.
 */
#ifndef IBWIRE_WIRE_CLEAR_H
#define IBWIRE_WIRE_CLEAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fabric/counter.h"
#include "wire/clear_mad.h"

struct clear;
struct clock;
struct error;
struct hca;
struct hca_port;
struct transport;

enum clear_outcome {
	CLEAR_UNTRIED,    /* not processed, or stopped before */
	CLEAR_DONE,
	CLEAR_SILENT,     /* no response */
	CLEAR_UNPROVEN,   /* NodeInfo has an error status: the node cannot be verified */
	CLEAR_MOVED,      /* the LID belongs to another node now */
	CLEAR_REFUSED,    /* error status */
	CLEAR_REDIRECTED, /* redirected to an agent that cannot be queried */
	CLEAR_KEPT,       /* success was reported, but error counters kept their values */
};

/* One port to clear. Ports of one LID are adjacent. */
struct clear_port {
	uint64_t node_guid;
	uint16_t lid; /* its own, or that of its switch; not 0 */
	uint8_t num;
	bool is_switch;
	/* Result: */
	uint8_t outcome;   /* enum clear_outcome */
	uint8_t attribute; /* failed attribute; CLEAR_ATTRIBUTE_COUNT: before any */
	uint16_t status;   /* CLEAR_REFUSED: MAD status */
	counter_set kept;  /* CLEAR_KEPT: which counters */
};

struct clear_settings {
	unsigned timeout_ms; /* response timeout */
	unsigned retries;
	bool errors_only;    /* keep data, packet and wait counters */
	bool (*stop)(void);  /* checked between MADs: stop now; or NULL */
};

/* clear_open - hca_open() with the gate of `ibwire clear`. */
int clear_open(const struct hca_port *local, struct hca **ret, struct error *err);

/*
 * clear_create - prepare clearing
 * @transport, @clock:  borrowed
 * @ports:              borrowed; their results are written
 *
 * Return: 0 or ERR_NOMEM.
 */
int clear_create(const struct transport *transport, const struct clock *clock, const struct clear_settings *settings,
		 struct clear_port *ports, size_t count, struct clear **ret, struct error *err);
void clear_destroy(struct clear *clear);

/*
 * clear_survey - read which nodes respond and what can be cleared; writes nothing
 * Ports that cannot be cleared have an outcome afterwards, the others are CLEAR_UNTRIED. Return: 0;
 * ERR_UNAVAILABLE: the local device failed.
 */
int clear_survey(struct clear *clear, struct error *err);

/* clear_planned - after the survey: number of ports on which an attribute will be cleared. */
size_t clear_planned(const struct clear *clear, enum clear_attribute attribute);

/*
 * clear_write - clear the ports found by the survey: this function writes
 * Return: 0 and all outcomes, or ERR_UNAVAILABLE: the local device failed; some ports are cleared,
 * as their outcomes show.
 */
int clear_write(struct clear *clear, struct error *err);

#endif
