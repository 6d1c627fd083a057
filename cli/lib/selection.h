/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* selection.h - nodes and ports selected by command arguments */
#ifndef IBWIRE_CLI_SELECTION_H
#define IBWIRE_CLI_SELECTION_H

#include <stdbool.h>
#include <stdint.h>

struct error;
struct fabric;

struct selection {
	bool all;    /* no argument: everything is selected */
	bool *nodes; /* parallel to the fabric's nodes: selected, or with a selected port */
	bool *ports; /* parallel to its ports: selected, directly or by node or host */
	bool *named; /* parallel to its ports: selected directly */
};

/*
 * selection_init - resolve NODE and NODE/PORT arguments
 * Return: 0; ERR_USAGE for an unknown or ambiguous name; ERR_NOMEM. Nothing to free after an error.
 */
int selection_init(struct selection *selection, const struct fabric *fabric, char **args, int count,
		   struct error *err);
void selection_done(struct selection *selection);

/* selection_init_hosts - the same; an argument may also be a host name and selects all its HCAs. */
int selection_init_hosts(struct selection *selection, const struct fabric *fabric, char **args, int count,
			 struct error *err);

/* selection_find_node - as names_find_node(), also by the shown name if it is unique. */
int selection_find_node(const struct fabric *fabric, const char *typed, uint32_t *ret, struct error *err);

/*
 * selection_find - resolve one NODE or NODE/PORT
 * @ret_port:  FABRIC_NONE for a node
 * Return: as selection_init().
 */
int selection_find(const struct fabric *fabric, const char *typed, uint32_t *ret_node, uint32_t *ret_port,
		   struct error *err);

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
