/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * sweep.h - ask every live port of the fabric for its counters, once
 */
#ifndef IBWIRE_COLLECTOR_SWEEP_H
#define IBWIRE_COLLECTOR_SWEEP_H

#include <stddef.h>
#include <stdint.h>

#include "collector/sink.h"

struct engine;
struct error;
struct fabric;
struct link_check;
struct memory;

/* What one sweep has read. samples, readings and deltas are parallel arrays. */
struct sweep_result {
	struct port_sample *samples; /* one per pollable port of the fabric, in order of port */
	struct reading *readings;
	struct delta *deltas;
	size_t count, capacity;
	uint32_t ports_asked, ports_answered;
	uint32_t bad_answers; /* answers with an error status, or to another question */
	struct sm_state sm;
};

void sweep_result_done(struct sweep_result *result);

/*
 * sweep_run - one sweep
 * @engine:   idle; used by this call alone
 * @fabric:   which ports; those below PORT_INIT, or without a LID, are not asked
 * @memory:   follows @fabric; capabilities are read from and put into it, last
 *            readings are read only: sweep_keep() moves them on
 * @check:    SMPs that look for changes of topology and go with the sweep
 * @sm_lid:   whom to ask for SMInfo, 0: nobody
 * @result:   reused from sweep to sweep; filled completely
 *
 * ClassPortInfo is asked once per node, before its ports. A node that does not
 * answer its first question, or two in a row later on, is not asked more in this
 * sweep; one that was silent in the last sweep is asked a single question.
 * Return: 0; ERR_UNAVAILABLE where the local device failed; ERR_NOMEM. Ports
 * that do not answer are samples without data, no error.
 */
int sweep_run(struct engine *engine, const struct fabric *fabric, struct memory *memory, struct link_check *check,
	      uint16_t sm_lid, struct sweep_result *result, struct error *err);

/* sweep_keep - the sweep was stored: its readings are the last ones from now on. */
void sweep_keep(const struct sweep_result *result, const struct fabric *fabric, struct memory *memory);

#endif
