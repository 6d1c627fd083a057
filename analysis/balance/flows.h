/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * flows.h - minimum number of flows of a load
 *
 * Counters measure load, not flows. But each sender and each receiver has at least one flow,
 * because tables choose a member by destination. Of all hosts that may contribute to the load only
 * as many certainly do as are needed to send, or receive, it: of 16 busy hosts with 80 Gb/s over
 * the uplinks, one. The smaller of both numbers is used, because fewer flows are more uneven by
 * chance. Unequal loads count as the number of equal loads with the same unevenness: the square of
 * the sum over the sum of the squares (Kish, Survey Sampling, 1965: effective sample size).
 */
#ifndef IBWIRE_ANALYSIS_BALANCE_FLOWS_H
#define IBWIRE_ANALYSIS_BALANCE_FLOWS_H

struct balance_input;
struct balance_result;

struct flow_loads {
	double sum, squares;
};

/* flow_loads_add - add a load; NAN and 0 are ignored. */
void flow_loads_add(struct flow_loads *loads, double rate);

/*
 * balance_flows - minimum number of flows of the load of a result
 * @rate:      of all its members, bytes per us
 * @received:  loads received by all HCAs of the fabric
 * Return: NAN: unknown.
 */
double balance_flows(const struct balance_input *input, const struct balance_result *result, double rate,
		     const struct flow_loads *received);

#endif
