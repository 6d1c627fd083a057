/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * maxmin.h - how flows share links: max-min fair, by progressive filling
 *
 * What gets a rate is a group: one flow, or all flows of a job whose step is
 * as slow as the slowest of them, so that all run at one rate. A group crosses
 * a link as many times as it has flows there (its weight on it). All rates rise
 * together from 0; a group stops at its demand, or when a link that it crosses is full.
 *
 * What holds of the result: no link carries more than its capacity; no group
 * exceeds its demand; a group below its demand crosses a full link on which
 * nobody has a higher rate, so it cannot be raised without lowering one that
 * has no more than it.
 * Source: Bertsekas and Gallager, Data Networks, 6.5.2.
 */
#ifndef IBWIRE_SIM_MAXMIN_H
#define IBWIRE_SIM_MAXMIN_H

#include <stddef.h>
#include <stdint.h>

/* A group crosses a link. Several entries of the same pair add up. */
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

/* Rates within this part of a link's capacity count as full. */
#define MAXMIN_FULL 1e-9

/*
 * maxmin_solve - the rates
 * @ret_rate:  by group: the rate of each of its flows
 * @ret_load:  by link: what it carries
 *
 * Return: 0 or ERR_NOMEM.
 */
int maxmin_solve(const struct maxmin *problem, double *ret_rate, double *ret_load);

#endif
