/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* cells.h - cells that several commands fill in the same way */
#ifndef IBWIRE_CLI_CELLS_H
#define IBWIRE_CLI_CELLS_H

#include <stddef.h>
#include <stdint.h>

#include "cli/lib/view.h"
#include "export/result.h"

struct port;

/* cells_counter_keys - the catalogue's keys in its order; the errors from COUNTER_TRAFFIC_COUNT on. */
void cells_counter_keys(const char *ret[COUNTER_COUNT]);
#define CELLS_ERROR_COUNT (COUNTER_COUNT - COUNTER_TRAFFIC_COUNT)

/* cells_port_name - "NAME/PORT" in a table, the name as it is shown. */
void cells_port_name(struct result *result, size_t column, const struct view *view, uint32_t port);

/* cells_rate - bytes per second; where there is none in a table: why. */
void cells_rate(struct result *result, size_t column, const struct port_view *port, double bytes_per_s);

/* cells_stall - the estimate; in data only where it is one, in a table "12.3+" where it is at least so much. */
void cells_stall(struct result *result, size_t column, const struct port_view *port);

/* cells_status - the port's word, in its colour. */
void cells_status(struct result *result, size_t column, enum port_word word);

/* cells_link - "4x HDR" for a table, "4x EDR low" where it is below what both ends have enabled. */
void cells_link(struct result *result, size_t column, const struct view *view, uint32_t port);

/* cells_width_and_speed - "4x" and "HDR" for data. */
void cells_width_and_speed(struct result *result, size_t width_column, size_t speed_column, const struct port *port);

/* cells_state - "Active", and in a table its colour. */
void cells_state(struct result *result, size_t column, const struct port *port);

/* cells_ber - in data: errors over bits, and where none was seen what that is below. "At least 0" is not known. */
void cells_ber(struct result *result, size_t column, size_t below_column, const struct ber *ber);

/* cells_ber_text - for people: "3.1e-12", "< 5.0e-15", ">= 3.1e-12". Return: @ret; NULL where nothing is known. */
#define CELLS_BER_SIZE 24
const char *cells_ber_text(const struct ber *ber, char ret[CELLS_BER_SIZE]);

/* cells_ber_at_least - the list of those that are lower bounds. */
void cells_ber_at_least(struct result *result, size_t column, const struct port_view *port);

/* cells_errors - the object `errors`; cells_errors_unknown - the list beside it. */
void cells_errors(struct result *result, size_t column, const struct view *view, const struct port_view *port);
void cells_errors_unknown(struct result *result, size_t column, const struct port_view *port);

#endif
