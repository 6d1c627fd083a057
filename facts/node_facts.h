/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* node_facts.h - what is shown of a node: sums over its ports, and the columns of nodes, each described once */
#ifndef IBWIRE_FACTS_NODE_FACTS_H
#define IBWIRE_FACTS_NODE_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/measure.h"
#include "analysis/status.h"
#include "export/result.h"

struct port_scope;

/* A row of a table of nodes. NAN: unknown. */
struct node_facts {
	const struct port_scope *scope; /* with names and shape (facts/port_facts.h) */
	uint32_t node;                  /* index into the fabric's nodes */
	uint32_t ports_active;
	enum port_status status;
	struct measure xmit_bytes_per_s, rcv_bytes_per_s; /* sum over the ports with a link; parts: their number */
	struct measure errors;
	double age_s;                   /* age of the newest reading */
	const char *adaptive_routing;   /* "on", "off"; NULL: unknown */
};

/*
 * node_facts_of - compute the numbers of a node
 * @locked:            it does not respond to SMPs without an M_Key
 * @adaptive_routing:  borrowed by @ret; or NULL
 */
void node_facts_of(const struct port_scope *scope, uint32_t node, bool locked, const char *adaptive_routing,
		   struct node_facts *ret);

/* Columns of a struct node_facts; the last one has no key. */
extern const struct column node_columns[];

#endif
