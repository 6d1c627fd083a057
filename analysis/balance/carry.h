/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * balance_carry.h - what each port would carry, by all tables together
 *
 * A table alone does not say which of its destinations come by at all: that is decided by the
 * switches before. So loads are sent along the tables from every switch with hosts to every
 * destination: not path by path, but destination by destination all loads that meet at a switch
 * go on together, and 64 destinations at a time, whose entries of a table lie side by side.
 */
#ifndef IBWIRE_ANALYSIS_BALANCE_CARRY_H
#define IBWIRE_ANALYSIS_BALANCE_CARRY_H

struct balance_tables;
struct error;
struct shape;

/* More switches times destinations than this would take longer than anybody waits at each window. */
#define BALANCE_STEPS_MOST 3000000

/*
 * balance_carry - fill in tables->carried; it stays NULL where weights are not known, or there is too much to do
 * @sent:  by node: bytes per us that the HCAs on a switch send into it
 * Return: 0 or ERR_NOMEM.
 */
int balance_carry(struct balance_tables *tables, const struct shape *shape, const double *sent, struct error *err);

#endif
