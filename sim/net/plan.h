/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * plan.h - a fabric under construction: nodes and cables
 *
 * The number of ports of a switch is known when all its cables are, but a struct fabric needs it
 * first. A zeroed struct is an empty plan.
 */
#ifndef IBWIRE_SIM_PLAN_H
#define IBWIRE_SIM_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "fabric/fabric.h"

struct plan_cable {
	uint32_t node[2];
	uint8_t port[2];
};

struct plan {
	struct node *nodes; /* port_count: the number of cables so far */
	size_t node_count, node_capacity;
	struct plan_cable *cables;
	size_t cable_count, cable_capacity;
};

/* plan_add - add a node. Return: its index, or ERR_NOMEM. */
int64_t plan_add(struct plan *plan, const struct node *node, struct error *err);

/* plan_cable - connect the next free ports of @a and @b. Return: 0, ERR_USAGE (no free port), ERR_NOMEM. */
int plan_cable(struct plan *plan, uint32_t a, uint32_t b, struct error *err);

/*
 * plan_build - create the fabric
 * @switch_ports:  minimum number of ports of a switch
 * @speed, @width: of every link
 * @from_node:     from_node of the fabric, or FABRIC_NONE
 */
int plan_build(const struct plan *plan, unsigned switch_ports, enum link_speed speed, uint8_t width,
	       uint32_t from_node, struct fabric **ret, struct error *err);

void plan_done(struct plan *plan);

#endif
