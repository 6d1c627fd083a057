/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* share.h - flows on their paths share links max-min fairly; which ports wait for that (docs/simulation.md) */
#ifndef IBWIRE_SIM_SHARE_H
#define IBWIRE_SIM_SHARE_H

#include <stddef.h>
#include <stdint.h>

struct fabric;

/*
 * Max-min fair rates by progressive filling: a group is one flow, or all flows of a coupled job, which have
 * the same rate. All rates rise together from 0; a group stops at its demand, or when one of its links is
 * full. Source: Bertsekas and Gallager, Data Networks, 6.5.2.
 */

/* A group uses a link. Several entries of the same pair add up. */
struct maxmin_use {
	uint32_t group, link;
	double weight; /* flows of the group on that link, above 0 */
};

struct maxmin {
	const double *capacity; /* by link, in any unit of rate */
	size_t link_count;
	const double *demand;   /* by group, the same unit, of each of its flows; at least 0 */
	size_t group_count;
	const struct maxmin_use *uses;
	size_t use_count;
};

/* A link is full if less than this part of its capacity is free. */
#define MAXMIN_FULL 1e-9

/*
 * maxmin_solve - compute the rates
 * @ret_rate:  by group: the rate of each of its flows
 * @ret_load:  by link: its load
 *
 * Return: 0 or ERR_NOMEM.
 */
int maxmin_solve(const struct maxmin *problem, double *ret_rate, double *ret_load);
/* A part of a flow on a link. */
struct share_use {
	uint32_t flow, port; /* port: the sending one */
	float part;          /* 0..1 of the flow */
	uint8_t depth;       /* number of links before it */
};

struct share {
	const struct fabric *fabric; /* borrowed; capacities are the data rates of its ports */
	struct share_use *uses;  /* flow after flow, by depth */
	size_t use_count, use_capacity;
	size_t *first;           /* by flow: its first use; one more at the end */
	uint32_t *group;         /* by flow: flows of a group have the same rate */
	double *demand;          /* by group, bits per second, of each of its flows */
	size_t flow_count, group_count;
	double *rate;            /* by group: set by share_solve() */
	double *load;            /* by port: the same */
};

/* share_init - room for @flows flows and as many groups. Return: 0 or ERR_NOMEM. */
int share_init(struct share *share, const struct fabric *fabric, size_t flows);
void share_done(struct share *share);

/* share_add - add a part of the flow number flow_count. Return: 0 or ERR_NOMEM. */
int share_add(struct share *share, uint32_t port, double part, unsigned depth);

/* share_solve - compute rates and loads. Return: 0 or ERR_NOMEM. */
int share_solve(struct share *share);

/*
 * share_wait - add the excess demand of a flow to @wait (by port, bits per second)
 * A flow below its demand is queued before the last full link of its path: the ports before that link wait,
 * because links before it that are full transmit all the time. Without a full link its group limits it,
 * and no data is queued.
 */
void share_wait(const struct share *share, size_t flow, double *wait);

/* share_idle - the part of a port's capacity that is not used, in bits per second. */
double share_idle(const struct share *share, uint32_t port);

#endif
