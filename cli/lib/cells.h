/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* cells.h - table cells that several commands share */
#ifndef IBWIRE_CLI_CELLS_H
#define IBWIRE_CLI_CELLS_H

#include <stddef.h>
#include <stdint.h>

#include "cli/lib/view.h"
#include "export/result.h"

struct port;

/* cells_counter_keys - counter keys in catalogue order; errors start at COUNTER_TRAFFIC_COUNT. */
void cells_counter_keys(const char *ret[COUNTER_COUNT]);
#define CELLS_ERROR_COUNT (COUNTER_COUNT - COUNTER_TRAFFIC_COUNT)

/* cells_port_name - "NAME/PORT" for tables. */
void cells_port_name(struct result *result, size_t column, const struct view *view, uint32_t port);

/* cells_rate - bytes per second; tables show the reason if it is unknown. */
void cells_rate(struct result *result, size_t column, const struct port_view *port, double bytes_per_s);

/* cells_stall - XmitWait%, an estimate; a lower bound is "12.3+" in tables and null in data. */
void cells_stall(struct result *result, size_t column, const struct port_view *port);

/* cells_status - the port status, coloured. */
void cells_status(struct result *result, size_t column, enum port_status status);

/* cells_link - "4x HDR" for tables, "4x EDR low" below what both ends have enabled. */
void cells_link(struct result *result, size_t column, const struct view *view, uint32_t port);

/* cells_width_and_speed - "4x" and "HDR" for data. */
void cells_width_and_speed(struct result *result, size_t width_column, size_t speed_column, const struct port *port);

/* cells_state - "Active", coloured in tables. */
void cells_state(struct result *result, size_t column, const struct port *port);

/*
 * cells_ber - in data: errors per bit, or the upper bound without errors. "At least 0" is unknown.
 */
void cells_ber(struct result *result, size_t column, size_t below_column, const struct ber *ber);

/*
 * cells_ber_text - for tables: "3.1e-12", "< 5.0e-15", ">= 3.1e-12". Return: @ret; NULL if unknown.
 */
#define CELLS_BER_SIZE 24
const char *cells_ber_text(const struct ber *ber, char ret[CELLS_BER_SIZE]);

/* cells_ber_at_least - the list of rates that are lower bounds. */
void cells_ber_at_least(struct result *result, size_t column, const struct port_view *port);

/* cells_errors - the object `errors`; cells_errors_unknown - the list of unknown counters. */
void cells_errors(struct result *result, size_t column, const struct view *view, const struct port_view *port);
void cells_errors_unknown(struct result *result, size_t column, const struct port_view *port);

#endif
