/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* select.h - what subjects are selected from */
#ifndef IBWIRE_FACTS_SELECT_H
#define IBWIRE_FACTS_SELECT_H

struct error;
struct fabric;
struct shape;

/* What a selection depends on. load() fetches what costs time, when an expression needs it. */
enum select_need { SELECT_NEEDS_SHAPE = 1 };

struct select_facts {
	const struct fabric *fabric; /* borrowed, as all others */
	const struct shape *shape;   /* NULL: not loaded */
	/*
	 * load - fetch what is not there yet
	 * @needs:  bits of enum select_need
	 * Return: 0 or an error. NULL: there is nothing to fetch.
	 */
	int (*load)(struct select_facts *facts, unsigned needs, struct error *err);
};

#endif
