/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * cable_history.h - where cables were, what their links counted there, and which part the errors follow
 *
 * Imports of ibdiagnet's files have a cable in a port at some times. Between an import with one cable and the next with
 * another, the exchange is at the time when the link was down; if that is not known, the time between belongs to none.
 */
#ifndef IBWIRE_FACTS_CABLE_HISTORY_H
#define IBWIRE_FACTS_CABLE_HISTORY_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/link_fault.h"
#include "storage/cables.h"
#include "storage/history.h"

struct error;
struct reader;

/* A link with the same cable, or transceivers, at both ends. */
struct cable_period {
	int64_t from_us, to_us;      /* wall clock */
	struct history_port ports[2];
	char serials[2][IBDIAGNET_TEXT_SIZE]; /* at each end; "": unknown */
	double hours, bad_hours;     /* as of struct link_period */
	uint64_t errors;             /* sum of both ends */
};

struct cable_history {
	struct cable_place *places;  /* of the subject: cables in its ports, or the ports of its cable */
	size_t place_count, place_capacity;
	struct cable_period *periods; /* with a part of the subject or of the suspected link, by time */
	size_t period_count;
	struct link_fault fault;     /* period: index into periods */
	char (*parts)[LINK_PARTS][IBDIAGNET_TEXT_SIZE]; /* by period: serial number of a part; "": it is a port */
	struct history_port (*part_ports)[LINK_PARTS]; /* by period: the port, if it is one */
	size_t *part_counts;
};

/*
 * cable_history_load - the history of a cable, or of the cables of ports
 * @serial:  or NULL
 * @ports:   without a serial number: of one link
 * @since_us, @until_us:  wall clock; places of earlier imports are not used
 * @ret:     zeroed; cable_history_done() frees it, on error too
 *
 * Without an import of the subject it is empty. Return: 0; ERR_IO; ERR_NOMEM.
 */
int cable_history_load(struct cable_history *ret, struct reader *reader, const char *serial,
		       const struct history_port *ports, size_t port_count, int64_t since_us, int64_t until_us,
		       struct error *err);
void cable_history_done(struct cable_history *history);

#endif
