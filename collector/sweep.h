/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* sweep.h - poll the counters of every live port once */
#ifndef IBWIRE_COLLECTOR_SWEEP_H
#define IBWIRE_COLLECTOR_SWEEP_H

#include <stdbool.h>
#include <stdint.h>

struct details;
struct engine;
struct error;
struct topology_probe;
struct node_memory;
struct sweep_result;

struct sweep_settings {
	bool switches_only;  /* HCAs are not polled: SAMPLE_UNPLANNED */
	uint16_t sm_lid;     /* destination of SMInfo, 0: none */
	int64_t deadline_us; /* CLOCK_BOOTTIME at which the sweep is cut, 0: never */
};

/*
 * sweep_run - one sweep
 * @engine:   idle; used by this call alone
 * @memory:   capabilities and redirections are updated, last readings are not: see sweep_commit()
 * @probe:    SMPs that detect topology changes, sent with the sweep
 * @details:  detail queries, begun by this call and finished by the caller
 * @result:   reused; completely overwritten
 *
 * ClassPortInfo is queried once per node, before its ports. After a timeout of the first query, or
 * two consecutive later ones, an agent is not queried again in this sweep. A node that was
 * unresponsive in the last sweep is sent a single query, an HCA one per port. Ports that the last
 * sweep did not read are polled first; ports that are down or have no LID are not polled.
 * Return: 0, also if it was cut; ERR_UNAVAILABLE if the local device failed; ERR_NOMEM.
 * An unresponsive port is a sample without data, not an error.
 */
int sweep_run(struct engine *engine, struct node_memory *memory, struct topology_probe *probe, struct details *details,
	      const struct sweep_settings *settings, struct sweep_result *result, struct error *err);

#endif
