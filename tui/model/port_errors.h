/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* port_errors.h - ports whose error counters increased in a time window */
#ifndef IBWIRE_TUI_MODEL_PORT_ERRORS_H
#define IBWIRE_TUI_MODEL_PORT_ERRORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "fabric/counter.h"

struct error;
struct reader;

/* Errors of one port in the window. */
struct port_error {
	uint64_t node_guid;
	uint64_t value[COUNTER_COUNT - COUNTER_TRAFFIC_COUNT]; /* from COUNTER_TRAFFIC_COUNT on */
	uint64_t total;              /* as in struct error_sum */
	int64_t first_us, last_us;   /* wall clock of the first and last sweep (or aggregate) with errors */
	uint8_t port;
	bool at_least;               /* a counter was reset or is saturated */
};

struct port_errors {
	struct port_error *list; /* highest total first */
	size_t count, capacity;
	struct map by_port;      /* internal */
	int64_t since_us, until_us; /* wall clock */
};

/*
 * port_errors_read - errors in (@since_us, @until_us], wall clock
 * @kept_us:  start of raw-sample retention (struct db_status); a window that spans it is cut to
 * it
 * @ret:  its previous content is freed; port_errors_done() frees it
 * Return: 0; ERR_IO, ERR_NOMEM: empty then.
 */
int port_errors_read(struct reader *reader, int64_t since_us, int64_t until_us, int64_t kept_us,
		     struct port_errors *ret, struct error *err);
void port_errors_done(struct port_errors *errors);

/* port_errors_text - "12 SymbolErrors, 1 PortRcvErrors", highest first. Return: @ret. */
const char *port_errors_text(const struct port_error *error, char *ret, size_t size);

#endif
