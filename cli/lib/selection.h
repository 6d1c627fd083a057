/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* selection.h - the nodes and ports that a command's arguments name */
#ifndef IBWIRE_CLI_SELECTION_H
#define IBWIRE_CLI_SELECTION_H

#include <stdbool.h>
#include <stdint.h>

struct error;
struct fabric;

struct selection {
	bool all;    /* no argument: everything is meant */
	bool *nodes; /* parallel to the fabric's nodes: named, with a named port, or an HCA of a named host */
	bool *ports; /* parallel to its ports: named, or of a named node or host */
	bool *named; /* parallel to its ports: named itself */
};

/*
 * selection_init - resolve NODE and NODE/PORT arguments
 * Return: 0; ERR_USAGE where one fits nothing or several; ERR_NOMEM. On an error there is nothing to free.
 */
int selection_init(struct selection *selection, const struct fabric *fabric, char **args, int count,
		   struct error *err);
void selection_done(struct selection *selection);

/* selection_init_hosts - the same, and an argument that is no node's name may be a host's: all its HCAs are meant. */
int selection_init_hosts(struct selection *selection, const struct fabric *fabric, char **args, int count,
			 struct error *err);

/* selection_find_node - names_find_node(), and a name as tables show it where it is unique. */
int selection_find_node(const struct fabric *fabric, const char *typed, uint32_t *ret, struct error *err);

static inline bool selection_has_node(const struct selection *selection, uint32_t node)
{
	return selection->all || selection->nodes[node];
}

static inline bool selection_has_port(const struct selection *selection, uint32_t port)
{
	return selection->all || selection->ports[port];
}

/* selection_names_port - was this very port asked for? */
static inline bool selection_names_port(const struct selection *selection, uint32_t port)
{
	return !selection->all && selection->named[port];
}

#endif
