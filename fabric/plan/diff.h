/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * diff.h - work data of plan_compare(); private to fabric/plan_diff.c and fabric/plan/
 *
 * A unit is a switch, or a host with all of its HCAs: what can be in a wrong place as a whole. It is called by
 * a node: the switch, or the first HCA of the host. Once units are known to be in each other's place, all
 * further comparison is between roles: the port that the plan means, and the actual port in its place.
 */
#ifndef IBWIRE_FABRIC_PLAN_DIFF_PRIVATE_H
#define IBWIRE_FABRIC_PLAN_DIFF_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fabric/plan_diff.h"

struct fabric;

struct plan_work {
	const struct plan *plan;
	const struct plan_ports *places;
	const struct shape *shape;
	const struct fabric *fabric;
	/* By port. Ends of edges that a difference has, or that are as planned, are FABRIC_NONE afterwards. */
	uint32_t *planned;  /* peer in the plan, or FABRIC_NONE */
	uint32_t *present;  /* the role of the actual peer of the port in this role, or FABRIC_NONE */
	uint32_t *link;     /* its planned link */
	uint32_t *actual;   /* the port that is in the place of this one; itself, unless units are in wrong places */
	uint32_t *role;     /* the inverse of actual */
	bool *claimed;      /* the plan names the port for a link that cannot be judged */
	/* By node. */
	bool *named;        /* the plan has it */
	uint32_t *unit;
	uint32_t *place_of; /* by unit: the unit that is in its place; itself, unless they are in wrong places */
	uint32_t *size;     /* by unit: planned links */
	uint32_t *position; /* of an HCA in its host */
	struct plan_diff diff;
	size_t list_capacity, links_count, links_capacity, ports_count, ports_capacity, moves_count, moves_capacity;
	bool failed;        /* no memory */
};

/*
 * The nodes of a unit. Return: their number.
 * @ret:  points to their indices
 */
uint32_t plan_unit_nodes(const struct plan_work *work, const uint32_t *unit, const uint32_t **ret);

/* plan_diff_begin - append a difference, which gets the links, ports and moves that are added from now on */
void plan_diff_begin(struct plan_work *work, enum plan_change change, uint32_t node, uint32_t other);
void plan_diff_add_link(struct plan_work *work, uint32_t link);
/* plan_diff_add_present - add the present link of a port in this role. plan_diff_add_move - both are roles */
void plan_diff_add_present(struct plan_work *work, uint32_t port);
void plan_diff_add_move(struct plan_work *work, uint32_t from, uint32_t to);

/* plan_diff_drop_planned, plan_diff_drop_present - remove the edge of a port from the comparison */
void plan_diff_drop_planned(struct plan_work *work, uint32_t port);
void plan_diff_drop_present(struct plan_work *work, uint32_t port);

/* plan_find_roles - find units that are in the place of others. Return: 0 or ERR_NOMEM. */
int plan_find_roles(struct plan_work *work);

/* plan_report_roles - differences for them; their links are dropped */
void plan_report_roles(struct plan_work *work);

/* plan_report_unknown - absent and replaced devices that the fabric does not have. Return: 0 or ERR_NOMEM. */
int plan_report_unknown(struct plan_work *work);

/* plan_report_units - units that are at other ports as a whole, or have no link. Return: 0 or ERR_NOMEM. */
int plan_report_units(struct plan_work *work);

/* plan_report_cables - what is left: chains and cycles of cables. Return: 0 or ERR_NOMEM. */
int plan_report_cables(struct plan_work *work);

#endif
