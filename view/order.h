/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* order.h - nodes by name: their displayed names, their order, and the rank of each port */
#ifndef IBWIRE_VIEW_ORDER_H
#define IBWIRE_VIEW_ORDER_H

#include <stdint.h>

struct error;
struct fabric;

/* Computed once per fabric, not once per sort. A zeroed struct is empty. */
struct order {
	char **names;           /* displayed names, parallel to the nodes */
	char *name_chars;       /* their storage */
	uint16_t *name_columns; /* their widths */
	uint32_t *nodes;        /* indices of the nodes, sorted by displayed name (fabric/names.h), then GUID */
	uint32_t *port_rank;    /* parallel to the fabric's ports */
	uint64_t fingerprint;   /* of the names it was built from */
};

void order_done(struct order *order);

/*
 * order_names - update for a fabric; no effect if the node names are the same
 * Return: 0 or ERR_NOMEM: empty then.
 */
int order_names(struct order *order, const struct fabric *fabric, struct error *err);

#endif
