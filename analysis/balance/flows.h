/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * flows.h - minimum number of flows of a load, and the imbalance of their random placement
 *
 * Each sender and each receiver has at least one flow, because tables choose a member by
 * destination. Of all hosts that may contribute only as many are counted as are needed for the
 * load, and the smaller of both numbers is used. Unequal loads count as equal loads with the same
 * unevenness: the square of the sum over the sum of the squares (Kish, Survey Sampling, 1965). The
 * fullest of n bins holds at least x of k balls with a probability of at most
 * n * P(Binomial(k, 1/n) >= x), nearly exact in the tail.
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

/* log_factorial - lgamma() would write a global variable. */
double log_factorial(double n);

/* chance_at_least - P(Binomial(@trials, @p) >= @x). @p: above 0, below 1. */
double chance_at_least(unsigned trials, double p, unsigned x);

/*
 * chance_excess - (max - mean) / mean that random placement reaches with a probability of at most 1
 * - percentile
 * @flows:       number of equal flows, rounded down, at least 1
 * @members:     number of equal members, at least 2
 * @percentile:  such as 0.999
 *
 * Return: INFINITY if even all flows on one member are within chance.
 */
double chance_excess(double flows, unsigned members, double percentile);

#endif
