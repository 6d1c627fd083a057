/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * clear.h - clear counters of ports, as a person asked for
 *
 * First a survey, which only reads: each LID is asked who it is (NodeInfo) and
 * what its performance agent can do (ClassPortInfo). Then the clearing: each LID
 * is asked again who it is, so that one that a subnet manager has given to
 * another node meanwhile never loses that node's counters, and is then sent a
 * Set for each port and attribute, one after the other. A LID that does not say
 * who it is is left alone. Many LIDs are worked on at a time, with one MAD each.
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
	CLEAR_UNTRIED,    /* not yet, or stopped before its turn */
	CLEAR_DONE,
	CLEAR_SILENT,     /* no answer */
	CLEAR_UNPROVEN,   /* NodeInfo was answered with an error: the LID does not say who it is */
	CLEAR_MOVED,      /* the LID is another node's now */
	CLEAR_REFUSED,    /* answered with an error status */
	CLEAR_REDIRECTED, /* another agent answers for this one, and cannot be asked */
	CLEAR_KEPT,       /* answered as if it had, but error counters kept their values */
};

/* One port to be cleared. Those of one LID stand together. */
struct clear_port {
	uint64_t node_guid;
	uint16_t lid; /* its own, or its switch's; not 0 */
	uint8_t num;
	bool is_switch;
	/* What came of it. */
	uint8_t outcome;   /* enum clear_outcome */
	uint8_t attribute; /* enum clear_attribute: where it failed; CLEAR_ATTRIBUTE_COUNT: before any */
	uint16_t status;   /* CLEAR_REFUSED: as on the wire */
	counter_set kept;  /* CLEAR_KEPT: which */
};

struct clear_settings {
	unsigned timeout_ms; /* for an answer */
	unsigned retries;
	bool errors_only;    /* leave data, packets and waits alone */
	bool (*stop)(void);  /* asked between MADs: shall it end? or NULL */
};

/* clear_open - hca_open() with the gate of `ibwire clear`. */
int clear_open(const struct hca_port *local, struct hca **ret, struct error *err);

/*
 * clear_create - prepare a clearing
 * @transport, @clock:  borrowed
 * @ports:              borrowed; its outcomes are written
 *
 * Return: 0 or ERR_NOMEM.
 */
int clear_create(const struct transport *transport, const struct clock *clock, const struct clear_settings *settings,
		 struct clear_port *ports, size_t count, struct clear **ret, struct error *err);
void clear_destroy(struct clear *clear);

/*
 * clear_survey - read who is there and what can be cleared; writes nothing
 * Ports that cannot be cleared have their outcome afterwards, the others are
 * CLEAR_UNTRIED.
 * Return: 0; ERR_UNAVAILABLE where the local device failed.
 */
int clear_survey(struct clear *clear, struct error *err);

/* clear_planned - after the survey: at how many ports an attribute will be cleared, where the node has it. */
size_t clear_planned(const struct clear *clear, enum clear_attribute attribute);

/*
 * clear_write - clear the ports that the survey found: the one that writes
 * Return: 0 and all outcomes, or ERR_UNAVAILABLE where the local device failed: then
 * some ports are cleared, as their outcomes say.
 */
int clear_write(struct clear *clear, struct error *err);

#endif
