/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* order.h - the names of a fabric's nodes, and the place of each port among all by name */
#ifndef IBWIRE_TUI_ORDER_H
#define IBWIRE_TUI_ORDER_H

#include <stdint.h>

struct error;
struct fabric;

/*
 * Names are made and compared once per fabric, not once per sort: each port has
 * its place among all ports by name. A zeroed struct is empty.
 */
struct order {
	char **names;           /* of the fabric's nodes as they are shown, parallel to them */
	char *name_chars;       /* where they lie */
	uint16_t *name_columns; /* how wide each is */
	uint32_t *port_rank;    /* parallel to the fabric's ports */
	uint64_t fingerprint;   /* of the names that all this was made of */
};

void order_done(struct order *order);

/*
 * order_names - bring names and port_rank up to a fabric; nothing is done where
 * its nodes have the same names as those before
 * Return: 0 or ERR_NOMEM: @order is empty then.
 */
int order_names(struct order *order, const struct fabric *fabric, struct error *err);

#endif
