/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * selection.h - nodes and ports selected by command arguments
 *
 * All commands resolve their subjects here; ibwire(1), NODES AND PORTS, documents the notation. The
 * first that matches counts:
 *
 *	NAME, 0xGUID         a node, by its full or displayed name
 *	HOST                 all HCAs of a host
 *	all, hosts           all nodes; all HCAs of hosts
 *	rail:NAME, rail:N    HCA ports of a rail; N is the number at the end of its name
 *	tier:N               switches of a tier, 1 = leaves
 *	'SUBJECT uplinks'    uplinks of switches
 *	LID                  a switch or HCA port
 *	GLOB                 nodes whose name, or host name, matches an fnmatch(3) pattern
 *	HOST[001-016]        hosts, as host_set_add() reads them
 *	SUBJECT/PORTS        ports of these: 3, 17-20, 1,4,7-9, or a pattern
 */
#ifndef IBWIRE_FACTS_SELECTION_H
#define IBWIRE_FACTS_SELECTION_H

#include <stdbool.h>
#include <stdint.h>

struct error;
struct fabric;
struct select_facts;

struct selection {
	bool all;    /* no argument: everything is selected */
	bool *nodes; /* parallel to the fabric's nodes: selected, or with a selected port */
	bool *ports; /* parallel to its ports: selected, directly or by node */
	bool *named; /* parallel to its ports: selected directly */
};

/*
 * selection_init - resolve subjects
 * Return: 0; ERR_USAGE for a subject that selects nothing, or an ambiguous name; ERR_NOMEM. Nothing
 * to free after an error.
 */
int selection_init(struct selection *selection, struct select_facts *facts, char **args, int count, struct error *err);
void selection_done(struct selection *selection);

/*
 * selection_find - resolve a subject that must select one node or one port
 * @ret_port:  FABRIC_NONE for a node
 * Return: as selection_init().
 */
int selection_find(struct select_facts *facts, const char *typed, uint32_t *ret_node, uint32_t *ret_port,
		   struct error *err);

/* selection_is_lid - is @typed the number of a LID of this port? Port 0 has the LIDs of a switch. */
bool selection_is_lid(const struct fabric *fabric, uint32_t port, const char *typed);

static inline bool selection_has_node(const struct selection *selection, uint32_t node)
{
	return selection->all || selection->nodes[node];
}

static inline bool selection_has_port(const struct selection *selection, uint32_t port)
{
	return selection->all || selection->ports[port];
}

/* selection_names_port - was this port selected directly? */
static inline bool selection_names_port(const struct selection *selection, uint32_t port)
{
	return !selection->all && selection->named[port];
}

#endif
