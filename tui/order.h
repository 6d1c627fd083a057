/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* order.h - in which order the rows of a table stand */
#ifndef IBWIRE_TUI_ORDER_H
#define IBWIRE_TUI_ORDER_H

#include <stdint.h>

struct error;
struct fabric;
struct table;

struct order_entry;

/*
 * Names are compared once per fabric, not once per sort: each port has its
 * place among all ports by name. A zeroed struct is empty; its arrays are freed
 * with free().
 */
struct order {
	uint32_t *port_rank;         /* parallel to the fabric's ports */
	uint64_t fingerprint;        /* of the names that it was made of */
	struct order_entry *entries; /* room to sort in, as many as ports */
};

/*
 * order_names - bring port_rank up to a fabric; nothing is done where its nodes
 * have the same names as those before
 * Return: 0 or ERR_NOMEM.
 */
int order_names(struct order *order, const struct fabric *fabric, struct error *err);

/* order_compare_names - as people order names: "node2" before "node10". As strcmp. */
int order_compare_names(const char *a, const char *b);

/*
 * order_rows - sort table->rows by the table's column
 * What is not known comes last in both directions; equals are ordered by name.
 */
void order_rows(struct table *table);

#endif
