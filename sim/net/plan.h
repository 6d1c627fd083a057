/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * plan.h - nodes and cables put down one after the other, then made a fabric
 *
 * A shape does not know how many ports its switches need before all cables are
 * laid; a struct fabric wants to know first. A zeroed struct is an empty plan.
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
	struct node *nodes; /* port_count: the ports that are cabled so far */
	size_t node_count, node_capacity;
	struct plan_cable *cables;
	size_t cable_count, cable_capacity;
};

/* plan_add - put a node down. Return: its index, or ERR_NOMEM. */
int64_t plan_add(struct plan *plan, const struct node *node, struct error *err);

/* plan_cable - connect the next free port of @a with the next of @b. Return: 0, ERR_USAGE (no port left), ERR_NOMEM. */
int plan_cable(struct plan *plan, uint32_t a, uint32_t b, struct error *err);

/*
 * plan_build - the fabric
 * @switch_ports:  what a switch has at least; one that uses more has what it uses
 * @speed, @width: of every link
 * @from_node:     the node that the fabric is said to be seen from, or FABRIC_NONE
 */
int plan_build(const struct plan *plan, unsigned switch_ports, enum link_speed speed, uint8_t width,
	       uint32_t from_node, struct fabric **ret, struct error *err);

void plan_done(struct plan *plan);

#endif
