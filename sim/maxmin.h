/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * maxmin.h - max-min fair rates of flows, by progressive filling
 *
 * A group is one flow, or all flows of a coupled job, which have the same rate. All rates rise together
 * from 0; a group stops at its demand, or when one of its links is full.
 * Source: Bertsekas and Gallager, Data Networks, 6.5.2.
 */
#ifndef IBWIRE_SIM_MAXMIN_H
#define IBWIRE_SIM_MAXMIN_H

#include <stddef.h>
#include <stdint.h>

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

#endif
