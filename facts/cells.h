/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* cells.h - cells that the tables of several kinds of rows have in common */
#ifndef IBWIRE_FACTS_CELLS_H
#define IBWIRE_FACTS_CELLS_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/status.h"
#include "export/result.h"

struct ber;
struct fabric;
struct finding_row;
struct order;

/* The three columns of cells_port() in data, of a port or its peer. */
#define CELLS_NODE_COLUMNS(guid_column) \
	[guid_column] = { .key = "node_guid", .kind = COLUMN_GUID }, \
	[guid_column + 1] = { .key = "node", .kind = COLUMN_TEXT }, \
	[guid_column + 2] = { .key = "port", .kind = COLUMN_INTEGER }
#define CELLS_PEER_COLUMNS(guid_column) \
	[guid_column] = { .key = "peer_guid", .kind = COLUMN_GUID }, \
	[guid_column + 1] = { .key = "peer", .kind = COLUMN_TEXT }, \
	[guid_column + 2] = { .key = "peer_port", .kind = COLUMN_INTEGER }

/*
 * Numbers of result_target(): 0 is the node with the GUID, 1 to 255 a port of it. The id of others is that of a
 * finding, also for what that is about, or 1 + the index of a group in the shape.
 */
enum { TARGET_FINDING = 256, TARGET_FINDING_PLACE, TARGET_GROUP };

/* cells_nonzero - an integer; 0 is unknown. */
void cells_nonzero(struct result *result, size_t column, int64_t value);

/* cells_port - GUID, name and port number of a port, in three adjacent columns. */
void cells_port(struct result *result, size_t guid_column, const struct fabric *fabric, uint32_t port);

/*
 * cells_port_name - "NAME/PORT" for tables; the target of the cell is the port (result_target())
 * cells_displayed_name - the same for a stored name; @num -1: of a node
 */
void cells_port_name(struct result *result, size_t column, const struct order *order, const struct fabric *fabric,
		     uint32_t port);
void cells_displayed_name(struct result *result, size_t column, const struct fabric *fabric, const char *name,
			  int num);

/*
 * cells_finding - severity and kind of a finding: "CRIT link-degraded" in tables, "critical link-degraded" in data
 * @row:  NULL: none, which is empty or null
 */
void cells_finding(struct result *result, size_t column, const struct finding_row *row);

/* cells_status - a port status, coloured. */
void cells_status(struct result *result, size_t column, enum port_status status);

/*
 * cells_ber - errors per bit; "at least 0" is unknown; shown with a mark if it is a lower bound
 * cells_ber_below - the upper bound without errors, else unknown
 */
void cells_ber(struct result *result, size_t column, const struct ber *ber);
void cells_ber_below(struct result *result, size_t column, const struct ber *ber);

/* cells_ber_is_known - is the rate known? "At least 0" is not. */
bool cells_ber_is_known(const struct ber *ber);

/*
 * cells_ber_text - for tables: "3.1e-12", "< 5.0e-15", ">= 3.1e-12". Return: @ret; NULL if unknown.
 */
#define CELLS_BER_SIZE 24
const char *cells_ber_text(const struct ber *ber, char ret[CELLS_BER_SIZE]);

/*
 * Names of members (struct column.member): all counters, the error counters, the detail counters by
 * attribute, and these attributes. Return: NULL behind the last one.
 */
const char *cells_counter_key(size_t at);
const char *cells_error_key(size_t at);
const char *cells_detail_key(size_t at);
const char *cells_detail_attribute(size_t at);

#endif
