/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * port_details.h - slow counters and bit error rates of ports, for `ibwire ports --details`
 *
 * They are read now and then, each attribute of each port at its own time and over
 * its own window: what is shown of them always says which.
 */
#ifndef IBWIRE_CLI_PORT_DETAILS_H
#define IBWIRE_CLI_PORT_DETAILS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/details.h"
#include "export/result.h"
#include "fabric/detail.h"

struct detail_row;
struct error;
struct port_view;
struct selection;
struct view;

/* Intervals in which every port's turn comes twice, so that it is read and there is a delta to show. */
#define PORT_DETAILS_SWEEPS (2 * DETAILS_SWEEPS)

/* A zeroed struct is empty. */
struct port_details {
	struct detail_row *rows;
	size_t count, capacity;
	uint32_t *index; /* by port of the fabric and attribute: place in rows, from 1 up; 0: never read */
};

/*
 * port_details_load - the slow counters of the view's time and window
 * @selection:  of these ports
 * @ret:        a zeroed struct; port_details_done() frees it, after errors too
 *
 * Return: 0; ERR_IO; ERR_NOMEM.
 */
int port_details_load(const struct view *view, const struct selection *selection, struct port_details *ret,
		      struct error *err);
void port_details_done(struct port_details *details);

/* port_details_row - what is known of an attribute of a port; NULL: it was never read. */
const struct detail_row *port_details_row(const struct port_details *details, uint32_t port,
					  enum detail_attribute attribute);

/*
 * port_details_fec_counts - does FEC count, as far as can be told?
 * Blocks by lane are what a link without FEC has too, and there they stay 0: of
 * those nothing is known until one was counted.
 */
bool port_details_fec_counts(const struct detail_row *speeds);

/* port_details_ber - complete the bit error rates of a port. */
void port_details_ber(const struct view *view, const struct port_details *details, struct port_view *port);

/*
 * port_details_put_rows - a port in a table: a line for each bit error rate, for FEC,
 * and for each counter that is not 0
 * @result:  made with port_details_table, PORT_DETAILS_TABLE_COLUMNS
 * @zeros:   counters that were left out are added to this
 *
 * Return: whether it makes sense to go on.
 */
enum { PORT_DETAILS_TABLE_COLUMNS = 8 };
extern const struct column port_details_table[PORT_DETAILS_TABLE_COLUMNS];
bool port_details_put_rows(struct result *result, const struct view *view, const struct port_details *details,
			   const struct port_view *port, size_t *zeros);

/*
 * The same as data: columns that follow the others of a port's row.
 */
enum {
	PORT_DETAILS_EFFECTIVE, PORT_DETAILS_EFFECTIVE_BELOW, PORT_DETAILS_RAW, PORT_DETAILS_RAW_BELOW,
	PORT_DETAILS_FEC, PORT_DETAILS_READINGS, PORT_DETAILS_COUNTED, PORT_DETAILS_UNKNOWN, PORT_DETAILS_AT_LEAST,
	PORT_DETAILS_WINDOW, PORT_DETAILS_AGE, PORT_DETAILS_COLUMNS,
};

/* Names that the columns' members have. */
struct port_details_names {
	const char *counters[DETAIL_ATTRIBUTE_COUNT * DETAIL_MAX];
	const char *attributes[DETAIL_ATTRIBUTE_COUNT];
};

/* port_details_columns - describe them. @names: filled; borrowed by the columns. */
void port_details_columns(struct port_details_names *names, struct column ret[PORT_DETAILS_COLUMNS]);

/* port_details_fill - their cells of the row in hand. @first: the index of the first of them. */
void port_details_fill(struct result *result, size_t first, const struct view *view,
		       const struct port_details *details, const struct port_view *port);

#endif
