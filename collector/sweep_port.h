/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * sweep_port.h - one port's counters within a sweep: its questions, and what their answers mean
 *
 * sweep.c says which ports are asked, and in what order; it alone uses this.
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

/* What a sweep knows while it runs. */
struct sweep_state {
	struct engine *engine;
	const struct fabric *fabric;
	struct node_memory *memory;
	struct details *details;
	const struct sweep_settings *settings;
	struct sweep_result *result;
	uint32_t *sample_of;        /* port index to sample index */
	uint8_t *attributes_pending;   /* per sample: mask of attributes not answered yet */
	uint8_t *retries_left;        /* per sample */
	uint8_t *timeouts;          /* per agent (fabric_port_agent), in a row */
	bool *responded;             /* per agent: anything at all */
	bool oldest_first;                /* the last sweep was cut: what it did not come to goes first */
	struct error *err;
	int code;                   /* the first failure of a callback */
};

/* sweep_submit - queue a question; after a failure, which the state keeps, none is queued any more. */
void sweep_submit(struct sweep_state *state, const struct request *request);

/*
 * sweep_port_submit - ask one port for PortCounters, and for PortCountersExtended where it has them
 * @port_index:  into the fabric, of a port with a sample; its node's capabilities are known
 *
 * To be called once a sweep. As answers come the port's reading is filled, and its sample becomes SAMPLE_OK with the
 * last of them, or SAMPLE_UNSUPPORTED; else it stays SAMPLE_SILENT.
 */
void sweep_port_submit(struct sweep_state *state, uint32_t port_index);

/* sweep_port_responded - its agent answered a question about this port, whatever it said. */
void sweep_port_responded(struct sweep_state *state, uint32_t port_index);

/* sweep_port_retry - may a port that is busy, or answers elsewhere, be asked once more? Each call uses up one. */
bool sweep_port_retry(struct sweep_state *state, uint32_t port_index);

/* sweep_port_redirect - @mad says to ask elsewhere. Return: whether that is somewhere to go; else it counts as bad. */
bool sweep_port_redirect(struct sweep_state *state, uint32_t port_index, const uint8_t mad[MAD_SIZE]);

#endif
