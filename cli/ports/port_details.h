/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * port_details.h - detail counters and bit error rates of ports, for `ibwire ports --details`
 *
 * Detail counters are read in rotation: each attribute of each port has its own time and window,
 * which every output includes.
 */
#ifndef IBWIRE_CLI_PORT_DETAILS_H
#define IBWIRE_CLI_PORT_DETAILS_H

#include <stddef.h>
#include <stdint.h>

#include "collector/details.h"
#include "export/result.h"
#include "fabric/detail.h"

struct detail_row;
struct error;
struct port_facts;
struct selection;
struct moment;

/* Intervals in which every port is read twice, so that a delta exists. */
#define PORT_DETAILS_SWEEPS (2 * DETAILS_SWEEPS)

/* A zeroed struct is empty. */
struct port_details {
	struct detail_row *rows;
	size_t count, capacity;
	uint32_t *index; /* by port of the fabric and attribute: index in rows plus 1; 0: never read */
};

/*
 * port_details_load - read the detail counters for the moment's time and window
 * @selection:  of these ports
 * @ret:        a zeroed struct; port_details_done() frees it, after errors too
 *
 * Return: 0; ERR_IO; ERR_NOMEM.
 */
int port_details_load(const struct moment *moment, const struct selection *selection, struct port_details *ret,
		      struct error *err);
void port_details_done(struct port_details *details);

/* port_details_ber - add the bit error rates of FEC counters to a port. */
void port_details_ber(const struct moment *moment, const struct port_details *details, struct port_facts *port);

/*
 * port_details_put_rows - table rows of a port: one for each bit error rate, for FEC, and for each
 * counter that is not 0
 * @result:  made with port_details_table, PORT_DETAILS_TABLE_COLUMNS
 * @zeros:   incremented by the number of omitted counters
 */
enum { PORT_DETAILS_TABLE_COLUMNS = 8 };
extern const struct column port_details_table[PORT_DETAILS_TABLE_COLUMNS];
void port_details_put_rows(struct result *result, const struct moment *moment, const struct port_details *details,
			   const struct port_facts *port, size_t *zeros);

/* The same for JSON and CSV: columns of a row of these. */
struct port_details_row {
	const struct port_details *details;
	const struct port_facts *port;
};
extern const struct column port_details_columns[]; /* the last one has no key */

#endif
