/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* cells.h - the columns of a port or link that several commands show, and their values */
#ifndef IBWIRE_CLI_CELLS_H
#define IBWIRE_CLI_CELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/lib/view.h"
#include "export/result.h"

struct fabric;
struct plane_sum;

enum port_cell {
	CELL_OWN, /* described and filled by the command */
	/* Identity and state. CELL_NAME is "NAME/PORT", CELL_LINK "4x HDR", both for tables. */
	CELL_TIME, CELL_NAME, CELL_GUID, CELL_NODE, CELL_PORT, CELL_LID, CELL_STATE, CELL_PHYS_STATE, CELL_LINK,
	CELL_WIDTH, CELL_SPEED,
	/* Position, after view_find_shape() only; sums of a multi-plane port. */
	CELL_TIER, CELL_ROLE, CELL_RAIL, CELL_CAGE, CELL_PLANES, CELL_PLANES_RATE, CELL_PLANES_XMIT, CELL_PLANES_RCV,
	/* Numbers of struct port_facts; the object CELL_COUNTERS has the absolute counters. */
	CELL_STATUS, CELL_LINK_STATUS, CELL_XMIT, CELL_RCV, CELL_XMIT_PERCENT, CELL_RCV_PERCENT, CELL_STALL,
	CELL_XMIT_WAIT, CELL_XMIT_PACKETS, CELL_RCV_PACKETS, CELL_RATE, CELL_ERRORS, CELL_ERRORS_UNKNOWN, CELL_WINDOW,
	CELL_AGE, CELL_COUNTERS, CELL_SYMBOL_BER, CELL_SYMBOL_BER_BELOW, CELL_BER_AT_LEAST,
	/* Sort keys only; see port_details.h. */
	CELL_EFFECTIVE_BER, CELL_RAW_BER,
	CELL_LOAD, CELL_UTIL, /* the larger of both directions */
	CELL_COUNT,
};

/* A column of a command. */
struct cell_column {
	enum port_cell cell;
	bool peer;         /* of the other end of the link */
	const char *title; /* in tables; NULL: only in data */
	unsigned priority; /* as in struct column */
	const char *key;   /* NULL: the usual one, with "peer" for the other end */
	struct column own; /* of CELL_OWN */
};

enum { CELLS_MOST = 64 };

/* The columns of a result, for result_create(); more may follow behind those of the list. */
struct cells {
	const struct cell_column *list;
	size_t count;
	struct column columns[CELLS_MOST];
	const char *keys[COUNTER_COUNT];
};

/* cells_init - describe @count columns. @list: borrowed. */
void cells_init(struct cells *cells, const struct cell_column *list, size_t count);

/* cells_fill - set the cells of the current row, except those of CELL_OWN. */
void cells_fill(const struct cells *cells, struct result *result, const struct view *view,
		const struct port_facts *port);

/*
 * cells_sort_key - key of a cell with a number; NULL: it has none
 * cells_number - the number; NAN if unknown
 */
const char *cells_sort_key(enum port_cell cell);
double cells_number(enum port_cell cell, const struct port_facts *port);

/* cells_sum_planes - sum of all planes of the port that @port is a plane of. */
struct plane_sum cells_sum_planes(const struct view *view, uint32_t port);

/* The three columns of cells_identity() in data, of a port or its peer. */
#define CELLS_NODE_COLUMNS(guid_column) \
	[guid_column] = { .key = "node_guid", .kind = COLUMN_GUID }, \
	[guid_column + 1] = { .key = "node", .kind = COLUMN_TEXT }, \
	[guid_column + 2] = { .key = "port", .kind = COLUMN_INTEGER }
#define CELLS_PEER_COLUMNS(guid_column) \
	[guid_column] = { .key = "peer_guid", .kind = COLUMN_GUID }, \
	[guid_column + 1] = { .key = "peer", .kind = COLUMN_TEXT }, \
	[guid_column + 2] = { .key = "peer_port", .kind = COLUMN_INTEGER }

/* cells_nonzero - an integer; 0 is unknown. */
void cells_nonzero(struct result *result, size_t column, int64_t value);

/*
 * cells_identity - GUID, name and port number, in three adjacent columns
 * cells_port - the same of a port of a fabric
 * @name:  NULL: unknown
 * @num:   0: unknown
 */
void cells_identity(struct result *result, size_t guid_column, uint64_t guid, const char *name, uint8_t num);
void cells_port(struct result *result, size_t guid_column, const struct fabric *fabric, uint32_t port);

/*
 * cells_port_name - "NAME/PORT" for tables
 * cells_displayed_name - the same for a stored name; @num -1: of a node
 */
void cells_port_name(struct result *result, size_t column, const struct view *view, uint32_t port);
void cells_displayed_name(struct result *result, size_t column, const char *name, int num);

/* cells_status - a port status, coloured. */
void cells_status(struct result *result, size_t column, enum port_status status);

/*
 * cells_ber - in data: errors per bit, or the upper bound without errors. "At least 0" is unknown.
 */
void cells_ber(struct result *result, size_t column, size_t below_column, const struct ber *ber);

/*
 * cells_ber_text - for tables: "3.1e-12", "< 5.0e-15", ">= 3.1e-12". Return: @ret; NULL if unknown.
 */
#define CELLS_BER_SIZE 24
const char *cells_ber_text(const struct ber *ber, char ret[CELLS_BER_SIZE]);

#endif
