/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * link_verify.h - verify links that a sweep indicates as changed
 *
 * A link that went down since the last sweep, or an unresponsive HCA, may be back as it was. Two
 * SMPs determine that without a discovery: PortInfo of the switch port, and NodeInfo of the node
 * behind it, along a path that ends with this cable.
 */
#ifndef IBWIRE_COLLECTOR_LINK_VERIFY_H
#define IBWIRE_COLLECTOR_LINK_VERIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fabric/path.h"

struct engine;
struct error;
struct fabric;
struct node_memory;
struct sweep_result;

/* More suspected links than this count as a change: a discovery covers all of them. */
#define LINK_VERIFY_MAX 32

struct link_verify {
	const struct fabric *fabric;
	struct node_memory *memory;
	bool changed;                     /* something differs, timed out, or cannot be queried */
	size_t count;
	uint32_t ports[LINK_VERIFY_MAX];    /* switch ports to verify, indices */
	struct path paths[LINK_VERIFY_MAX]; /* to their peers */
};

/*
 * link_verify_select - select the links that a sweep indicates as changed
 * @verify:  overwritten; `changed` if there are too many, a switch is unresponsive, or neither end
 *           is a switch port
 * @memory:  indexed by @fabric, before sweep_commit()
 * @result:  of the current sweep
 */
void link_verify_select(struct link_verify *verify, const struct fabric *fabric, struct node_memory *memory,
			const struct sweep_result *result);

/*
 * link_verify_run - query the selected links, unless a change is already known
 * @engine:       idle. Each SMP is sent once, so an unresponsive node costs 20 ms
 * @deadline_us:  CLOCK_BOOTTIME; links without a response by then count as changed
 * Return: 0; ERR_UNAVAILABLE if the local device failed; ERR_NOMEM.
 */
int link_verify_run(struct link_verify *verify, struct engine *engine, int64_t deadline_us, struct error *err);

#endif
