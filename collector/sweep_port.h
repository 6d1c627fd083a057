/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * sweep_port.h - the queries for one port's counters within a sweep, and their responses
 *
 * Private to sweep.c, which determines the ports and their order.
 */
#ifndef IBWIRE_COLLECTOR_SWEEP_PORT_H
#define IBWIRE_COLLECTOR_SWEEP_PORT_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/mad.h"

struct details;
struct engine;
struct error;
struct fabric;
struct node_memory;
struct request;
struct sweep_result;
struct sweep_settings;

/* State of a port in a running sweep; timeouts and responses are those of its agent (fabric_port_agent). */
struct sweep_port {
	uint32_t sample;      /* index of its sample; FABRIC_NONE: it has none */
	uint8_t pending;      /* mask of attributes without a response */
	uint8_t retries_left;
	uint8_t timeouts;     /* consecutive */
	bool responded;       /* to any query */
};

/* State of a running sweep. */
struct sweep_state {
	struct engine *engine;
	const struct fabric *fabric;
	struct node_memory *memory;
	struct details *details;
	const struct sweep_settings *settings;
	struct sweep_result *result;
	struct sweep_port *ports;   /* by port index */
	bool oldest_first;          /* the last sweep was cut: ports with the oldest readings are polled first */
	struct error *err;
	int code;                   /* first error of a callback */
};

/* sweep_submit - queue a request, unless one has failed. */
void sweep_submit(struct sweep_state *state, const struct request *request);

/*
 * sweep_port_submit - query PortCounters or PortCountersExtended of a port, or both
 * @port_index:  a port with a sample, whose node's capabilities are known
 *
 * With 64-bit error counters PortCountersExtended has all counters, and PortCounters of a port is
 * queried once in DETAILS_SWEEPS sweeps, as a check: an error counter that is larger there is
 * reported, and the errors of that agent are read from PortCounters from then on.
 *
 * To be called once per sweep. Responses fill the port's reading. Its sample becomes SAMPLE_OK with
 * the last of them, or SAMPLE_UNSUPPORTED; otherwise it remains SAMPLE_SILENT.
 */
void sweep_port_submit(struct sweep_state *state, uint32_t port_index);

/* sweep_port_responded - the agent responded to a query for this port, with any status. */
void sweep_port_responded(struct sweep_state *state, uint32_t port_index);

/* sweep_port_retry - may a busy or redirected port be queried again? Each call consumes a retry. */
bool sweep_port_retry(struct sweep_state *state, uint32_t port_index);

/* sweep_port_redirect - follow a redirection. Return: false if its address is invalid. */
bool sweep_port_redirect(struct sweep_state *state, uint32_t port_index, const uint8_t mad[MAD_SIZE]);

#endif
