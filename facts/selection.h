/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * selection.h - nodes and ports selected by arguments of commands
 *
 * An argument is a subject or an expression of subjects and keys (facts/select.h); several arguments select what any of
 * them selects. ibwire(1), NODES AND PORTS, documents the notation. The first that matches counts:
 *
 *	NAME, 0xGUID         a node, by its full or displayed name
 *	HOST                 all HCAs of a host
 *	all, hosts, uplinks  all nodes; all HCAs of hosts; all uplinks of switches
 *	KEY:VALUE            facts/select.h
 *	HOST[001-016]        hosts, as host_set_add() reads them
 *	LID                  a switch or HCA port
 *	GLOB                 nodes whose name, or host name, matches an fnmatch(3) pattern
 *	SUBJECT/PORTS        ports of these: 3, 17-20, 1,4,7-9, or a pattern
 *	'SUBJECT uplinks'    uplinks of switches
 *	EXPRESSION           'class:storage !state:down', 'leaf01|leaf02 role:leaf-uplink'
 *
 * Two arguments of which the second is a number are a subject and its port, as in perfquery(8): 279 30, leaf01 17.
 *
 * A name or value that does not exist is an error. An expression of which nothing holds now selects nothing.
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
	bool *links; /* parallel to its ports: the port's link is selected, by either end */
};

/*
 * selection_join - the subject and port of two arguments as one: "279/30"
 * @ret:  for free(); NULL: each argument is a subject
 * Return: 0; ERR_USAGE for a number after several subjects, which could be a LID or a port; ERR_NOMEM.
 */
int selection_join(const struct fabric *fabric, char *const *args, int count, char **ret, struct error *err);

/*
 * selection_init - resolve subjects, joined by selection_join()
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

static inline bool selection_has_node(const struct selection *selection, uint32_t node)
{
	return selection->all || selection->nodes[node];
}

static inline bool selection_has_port(const struct selection *selection, uint32_t port)
{
	return selection->all || selection->ports[port];
}

static inline bool selection_has_link(const struct selection *selection, uint32_t port)
{
	return selection->all || selection->links[port];
}

/* selection_names_port - was this port selected directly? */
static inline bool selection_names_port(const struct selection *selection, uint32_t port)
{
	return !selection->all && selection->named[port];
}

#endif
