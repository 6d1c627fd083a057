/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * predict.h - the load of each link between switches with given forwarding tables
 *
 * The demand between hosts is not measured. It is estimated for each leaf as source and each HCA LID as destination:
 * first by gravity, what a leaf's hosts send in proportion to what each destination receives; then, if the tables and
 * the loads of links at the same time are known, all estimates that cross a link are scaled until its measured load
 * results. docs/what-if.md has the model and its limits.
 */
#ifndef IBWIRE_ANALYSIS_PREDICT_H
#define IBWIRE_ANALYSIS_PREDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct fabric;
struct routes;

struct demand;

struct demand_input {
	const struct fabric *fabric;
	const double *xmit, *rcv; /* by port, of HCAs: bits per second that it sends, and receives; NAN counts as 0 */
	/*
	 * By port: HCA ports of a tenant, whose share of each link is asked for; NULL: none. As much of the traffic as
	 * the counters permit is taken to be among the ports of the tenant, and among the others; the rest is between
	 * both, and counts as the tenant's. @open: its ports exchange with all others in proportion, as without a
	 * tenant.
	 */
	const bool *tenant;
	bool open;
	/* To fit the estimate to loads; both or none. */
	const struct routes *routes; /* tables at the time of the loads, or NULL */
	const double *measured;      /* by port of a switch: bits per second that it sends; NAN: unknown */
};

/*
 * demand_create - estimate the demand
 * @ret_error:  mean deviation of the fitted loads from the measured ones, 0..1, weighted by load; NAN without a fit
 *
 * Memory: 4 bytes for each leaf and LID. Cost at 352 leaves and 11,264 LIDs: 0.1 s, 0.5 s with a fit.
 * Return: NULL: no memory.
 */
struct demand *demand_create(const struct demand_input *input, double *ret_error, struct error *err);
void demand_destroy(struct demand *demand);

/*
 * demand_route - the load of each link with forwarding tables
 * @fabric:    a variant of that of the demand: same nodes and ports, LIDs of the tables
 * @ret_load:  by port: bits per second that it sends to another switch; also above its rate
 * @ret_lost:  bits per second between HCAs with usable links for which the tables have no path
 *
 * An HCA whose link is not usable in @fabric neither sends nor receives; others do not send more instead.
 * Return: 0 or ERR_NOMEM.
 */
int demand_route(const struct demand *demand, const struct fabric *fabric, const struct routes *routes,
		 double *ret_load, double *ret_lost, struct error *err);

/* demand_route_tenant - the same of the traffic that ports of the tenant send or receive */
int demand_route_tenant(const struct demand *demand, const struct fabric *fabric, const struct routes *routes,
			double *ret_load, double *ret_lost, struct error *err);

#endif
