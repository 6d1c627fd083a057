/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* order.h - nodes by name: their displayed names, their order, and the rank of each port */
#ifndef IBWIRE_FACTS_ORDER_H
#define IBWIRE_FACTS_ORDER_H

#include <stdint.h>

#include "fabric/fabric.h"
#include "fabric/names.h"

struct error;

/* Computed once per fabric, not once per sort. A zeroed struct is empty. */
struct order {
	char **names;           /* displayed names (names_show()), parallel to the nodes */
	uint16_t *name_columns; /* their widths */
	uint32_t *nodes;        /* indices of the nodes, sorted by displayed name (fabric/names.h), then GUID */
	uint32_t *port_rank;    /* parallel to the fabric's ports */
	uint32_t equal_switches; /* number of switches whose name another node has, too */
	struct names own;       /* storage of the names */
	uint64_t fingerprint;   /* of the names it was built from */
};

void order_done(struct order *order);

/*
 * order_names - update for a fabric; no effect if the node names are the same
 * Return: 0 or ERR_NOMEM: empty then.
 */
int order_names(struct order *order, const struct fabric *fabric, struct error *err);

/*
 * order_port_name - "NAME/PORT" with the displayed name of the node
 * order_port_name_of - the same for the name of a node and a port number
 * @ret:  of PORT_NAME_SIZE
 * Return: its final NUL.
 */
#define PORT_NAME_SIZE (NODE_NAME_SIZE + 4)
char *order_port_name(const struct order *order, const struct fabric *fabric, uint32_t port, char *ret);
char *order_port_name_of(const char *node, uint8_t num, char *ret);

#endif
