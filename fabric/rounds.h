/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * rounds.h - rounds of host pairs that load given directions of links, along the forwarding tables
 *
 * In a round each HCA port sends to at most one other port and receives from at most one; both are of one rail. All
 * pairs of a round send at the same time, each at the rate of the slowest link of its route, and the rates of all pairs
 * on a link are at most that of the link. So no pair slows another one down, and a direction has the load it is to
 * have if the pairs on it add up to that. A trunk that is faster than the HCAs needs several pairs in one round.
 *
 * The plan is a heuristic (pairs for the links with the fewest routes first, then exchanges of pairs while more
 * directions are loaded); rounds.at_least is a lower bound of its length.
 */
#ifndef IBWIRE_FABRIC_ROUNDS_H
#define IBWIRE_FABRIC_ROUNDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct routes;
struct shape;

/* Links of a route; pairs with longer ones are not used. */
#define ROUNDS_HOPS 16

struct round_pair {
	uint32_t from, to;  /* HCA ports: indices of ports */
	uint32_t new_links; /* wanted directions on its route that no earlier round loads */
};

struct rounds {
	struct round_pair *pairs; /* round by round, by sending port */
	size_t pair_count, pair_capacity;
	size_t *ends;             /* by round: number of pairs up to its end */
	size_t count, capacity;   /* of rounds */
	uint32_t *left;           /* sending ports of wanted directions that no round loads */
	size_t left_count;
	size_t no_route;          /* of them: no pair has a route through it */
	size_t wanted, loaded;    /* directions; loaded: by the rounds */
	size_t at_least;          /* no plan has fewer rounds */
};

struct rounds_query {
	const struct shape *shape;
	const struct routes *routes;
	const bool *wanted;     /* by port: what it sends is to be loaded */
	const bool *may_send;   /* by port: HCA ports that take part; NULL: those of compute hosts */
	double share;           /* of the data rate of a link that loads it: 0.8 */
	unsigned effort;        /* passes of exchanges of a round; 0: the default */
};

/*
 * rounds_plan - Return: 0, also if nothing can be loaded; ERR_NOMEM. @ret is for rounds_done(), untouched on error.
 * Equal arguments give equal rounds. Time is proportional to HCA ports times leaves.
 */
int rounds_plan(const struct rounds_query *query, struct rounds *ret, struct error *err);
void rounds_done(struct rounds *rounds);

#endif
