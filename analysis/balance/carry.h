/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * carry.h - predicted load of each port from the forwarding tables of all switches
 *
 * The table of one switch does not show which of its destinations it actually forwards; that
 * depends on the switches before it. So the load of every switch with hosts is routed to every
 * destination: not path by path, but all loads to one destination that meet at a switch continue
 * together, 64 destinations at a time, whose table entries are adjacent.
 */
#ifndef IBWIRE_ANALYSIS_BALANCE_CARRY_H
#define IBWIRE_ANALYSIS_BALANCE_CARRY_H

struct balance_tables;
struct error;
struct shape;

/* Maximum number of switches times destinations; more would take too long for each window. */
#define BALANCE_STEPS_MOST 3000000

/*
 * balance_carry - set tables->carried; it stays NULL if weights are unknown or there are too many
 * steps
 * @sent:  by node: bytes per us that the HCAs on a switch send into it
 * Return: 0 or ERR_NOMEM.
 */
int balance_carry(struct balance_tables *tables, const struct shape *shape, const double *sent, struct error *err);

#endif
