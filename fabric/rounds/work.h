/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* work.h - what the parts of rounds_plan() share: the routes of the fabric, and the round that is being built */
#ifndef IBWIRE_FABRIC_ROUNDS_WORK_H
#define IBWIRE_FABRIC_ROUNDS_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fabric/fabric.h"
#include "fabric/rounds.h"

struct error;
struct route_table;

enum {
	ROUNDS_SAMPLES = 24,        /* routes that are kept for each direction */
	ROUNDS_WORK_MOST = 8000000, /* routes that are looked at for exchanges; then rounds are taken as they are */
};

/* The HCA ports of one rail on one switch: their routes differ in the first link only. */
struct rounds_station {
	uint32_t node, rail;
	uint32_t first, count; /* in plan.senders */
	uint32_t rail_first, rail_count; /* stations of its rail */
};

/* A route: from any port of a station to an end. */
struct rounds_sample { uint32_t station, end; };

struct rounds_route {
	unsigned links;
	uint32_t ports[ROUNDS_HOPS]; /* sending ports; [0] is that of the HCA, set by the caller */
	double rate;                 /* bits per second of the slowest link after the first */
};

/* One pair of the current round. */
struct rounds_placed {
	uint32_t from, to; /* ends */
	unsigned links;
	uint32_t ports[ROUNDS_HOPS];
	double rate;
};

/* What a plan is made from, and with. An end is an HCA port that takes part. */
struct rounds_work {
	const struct rounds_query *query;
	const struct fabric *fabric;
	uint32_t *ends;              /* HCA ports that take part */
	uint32_t end_count;
	uint32_t *end_of;            /* by port: its number; FABRIC_NONE: none */
	uint32_t *end_station;       /* by end */
	struct rounds_station *stations;
	uint32_t station_count;
	uint32_t *senders;           /* ends, by station */
	const struct route_table **tables; /* by node */
	uint32_t *port_of;           /* by node: 256 ports by number; FABRIC_NONE */
	double *capacity, *need;     /* by port: data rate; load that is wanted, 0: none */
	uint32_t *routes;            /* by port: number of routes through it */
	struct rounds_sample *samples; /* by port: ROUNDS_SAMPLES each */
	uint32_t *end_seen, *ends_through; /* by port: last end, and number of ends with a route through it */
	double *weight;              /* by port */
	/* The current round. */
	double *flow;                /* by port */
	struct rounds_placed *placed; /* by sending end */
	uint32_t *sends, *receives;  /* by end: sending end of its pair, or FABRIC_NONE */
	uint32_t *first_user, *next_user; /* by port; by sending end and link: pairs on a link */
	double value;                /* sum of weights of what is loaded */
	uint32_t *order;             /* scratch: ports */
	uint64_t random;
	unsigned attempt;
	size_t work;
};

static inline uint32_t rounds_random(struct rounds_work *plan, uint32_t below)
{
	plan->random = plan->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)((plan->random >> 33) % below);
}

static inline bool rounds_is_switch(const struct rounds_work *plan, uint32_t node)
{
	return plan->fabric->nodes[node].type == NODE_SWITCH;
}

static inline uint32_t rounds_peer_node(const struct rounds_work *plan, uint32_t port)
{
	return plan->fabric->ports[plan->fabric->ports[port].peer].node;
}

static inline bool rounds_is_loaded(const struct rounds_work *plan, uint32_t port)
{
	return plan->flow[port] * 1.000001 >= plan->need[port];
}

/* rounds_find_route - the route from a switch to an end, from the second link on. Return: whether it arrives. */
bool rounds_find_route(const struct rounds_work *plan, uint32_t node, uint32_t end, struct rounds_route *ret);

/* rounds_build - place pairs in the current round, which is empty */
void rounds_build(struct rounds_work *plan);

/* rounds_find_bound - a lower bound of the number of rounds. Return: 0 or ERR_NOMEM. */
int rounds_find_bound(const struct rounds_work *plan, size_t *ret, struct error *err);

#endif
