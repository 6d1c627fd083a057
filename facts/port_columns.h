/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * port_columns.h - the columns of ports and of links, each described once
 *
 * A line of port_columns describes one text or number of a port: its key, titles, kind and help
 * sentence, how it is read from a struct port_facts, whether it is a metric. From it come the
 * columns of `ibwire ports`, `ibwire links` and others in all formats, --sort and --columns, the
 * columns of the Links screen, `/api/` and the gauges of `ibwire metrics`. To add a number of a port: a member of
 * struct port_facts, its computation, a line here.
 *
 * A list of ports has two rows for each of its rows, of the port and of its peer; a list of links a
 * third one, a struct link_facts. Cells of a list of rows in memory:
 *
 *	const void *const rows[] = { [PORT_ROW] = &facts[a], [PEER_ROW] = &facts[b], [LINK_ROW] = &link };
 *	result_fill_rows(result, rows);
 *
 * The rank by which a row is sorted is column_number(column, rows[column->row]).
 */
#ifndef IBWIRE_FACTS_PORT_COLUMNS_H
#define IBWIRE_FACTS_PORT_COLUMNS_H

#include <stddef.h>

#include "analysis/status.h"
#include "export/result.h"

struct port_facts;
struct shape;

/* Rows of a list of ports or links, for struct column.row. */
enum { PORT_ROW, PEER_ROW, LINK_ROW };

/* Columns of a struct port_facts, in the order of `--columns help`; the last one has no key. */
extern const struct column port_columns[];

/* One link. NAN: unknown. Index 0 is the direction from end[0] to end[1]. */
struct link_facts {
	const struct port_facts *end[2]; /* end[1] is NULL without a cable */
	struct measure bytes_per_s[2];   /* as counted by the sending end, or by the other one if that knows more */
	struct measure percent[2];
	struct measure load, util;       /* of the busier direction: bytes per second, percent */
	enum port_status status;         /* of the worse end */
	struct measure errors;           /* of both ends */
	int64_t last_wall_us;            /* newest reading of either end; 0: never */
	bool degraded;                   /* narrower or slower than enabled at both ends, or than built */
	bool unused;                     /* both ends down for long or always, or port 0 of a switch */
};

/*
 * link_facts_of - compute the numbers of a link
 * @a, @b:   its ends (borrowed by @ret); @b: or NULL
 * @shape:  or NULL: built rates are unknown
 */
void link_facts_of(const struct port_facts *a, const struct port_facts *b, const struct shape *shape,
		   struct link_facts *ret);

/* Columns of a struct link_facts; the last one has no key. */
extern const struct column link_columns[];

#endif
