/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * sweep.h - ask every live port of the fabric for its counters, once
 */
#ifndef IBWIRE_COLLECTOR_SWEEP_H
#define IBWIRE_COLLECTOR_SWEEP_H

#include <stdbool.h>
#include <stdint.h>

struct details;
struct engine;
struct error;
struct fabric;
struct topology_probe;
struct node_memory;
struct sweep_result;

struct sweep_settings {
	bool switches_only;  /* HCAs are left alone: SAMPLE_UNPLANNED */
	uint16_t sm_lid;     /* whom to ask for SMInfo, 0: nobody */
	int64_t deadline_us; /* CLOCK_BOOTTIME at which it ends with what it has, 0: never */
};

/*
 * sweep_run - one sweep
 * @engine:   idle; used by this call alone
 * @fabric:   which ports; those below PORT_INIT, or without a LID, are not asked
 * @memory:   follows @fabric; capabilities and redirections are read from and put
 *            into it, last readings are read only: sweep_commit() moves them on
 * @check:    SMPs that look for changes of topology and go with the sweep
 * @details:  slow questions that go with it; begun by this call, and the caller
 *            finishes them
 * @result:   reused from sweep to sweep; filled completely
 *
 * ClassPortInfo is asked once per node, before its ports. An agent that does not
 * answer its first question, or two in a row later on, is not asked more in this
 * sweep; a node that was silent in the last sweep is asked a single question, an HCA one at each port. The ports of
 * a switch have one agent, those of an HCA each its own: a silent one says nothing of the other.
 * Ports that the last sweep did not come to are asked first.
 * Return: 0, also where it was cut short; ERR_UNAVAILABLE where the local device failed; ERR_NOMEM.
 * Ports that do not answer are samples without data, no error.
 */
int sweep_run(struct engine *engine, const struct fabric *fabric, struct node_memory *memory,
	      struct topology_probe *probe, struct details *details, const struct sweep_settings *settings,
	      struct sweep_result *result, struct error *err);

#endif
