/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* port_errors.h - which error counters moved, at which ports, since when: of a window of the past. No curses. */
#ifndef IBWIRE_TUI_MODEL_PORT_ERRORS_H
#define IBWIRE_TUI_MODEL_PORT_ERRORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "fabric/counter.h"

struct error;
struct reader;

/* What one port had in the window. */
struct port_error {
	uint64_t node_guid;
	uint64_t value[COUNTER_COUNT - COUNTER_TRAFFIC_COUNT]; /* from COUNTER_TRAFFIC_COUNT on */
	uint64_t total;              /* as in struct error_sum */
	int64_t first_us, last_us;   /* wall clock: of the first and the last sweep (or sum of some) that has any */
	uint8_t port;
	bool at_least;               /* a counter was reset, or is full */
};

struct port_errors {
	struct port_error *list; /* the most first */
	size_t count, capacity;
	struct map by_port;      /* inside only */
	int64_t since_us, until_us; /* wall clock */
};

/*
 * port_errors_read - of (@since_us, @until_us], wall clock
 * @kept_us:  since when samples are kept (struct db_status): a window that begins before and ends later begins there
 * @ret:  what was in it is freed; port_errors_done() frees it
 * Return: 0; ERR_IO, ERR_NOMEM: then it is empty.
 */
int port_errors_read(struct reader *reader, int64_t since_us, int64_t until_us, int64_t kept_us,
		     struct port_errors *ret, struct error *err);
void port_errors_done(struct port_errors *errors);

/* port_errors_text - "12 SymbolErrors, 1 PortRcvErrors", the most first. Return: @ret. */
const char *port_errors_text(const struct port_error *error, char *ret, size_t size);

#endif
