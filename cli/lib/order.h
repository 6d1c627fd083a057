/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* order.h - row order: --sort of `ibwire ports` */
#ifndef IBWIRE_CLI_ORDER_H
#define IBWIRE_CLI_ORDER_H

#include <stddef.h>

struct command;
struct error;
struct port_view;
struct view;

/* order_check - Return: 0 if @key is a sort key or NULL; ERR_USAGE with the nearest match. */
int order_check(const struct command *command, const char *key, struct error *err);

/*
 * order_ports - sort by a key, largest first, unknown values last; the sort is stable.
 * "node" leaves the order unchanged.
 *
 * Return: 0, ERR_USAGE (as order_check), ERR_NOMEM.
 */
int order_ports(const struct command *command, const struct view *view, const char *key, struct port_view *ports,
		size_t count, struct error *err);

#endif
