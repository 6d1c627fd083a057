/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * chance.h - imbalance of a random placement of flows
 *
 * Flows placed at random on equal members are balls thrown into bins. The fullest of n bins holds
 * at least x of k balls with a probability of at most n * P(Binomial(k, 1/n) >= x). This union
 * bound is nearly exact in the tail, where one full bin makes another one unlikely. No random
 * numbers are needed.
 */
#ifndef IBWIRE_ANALYSIS_BALANCE_CHANCE_H
#define IBWIRE_ANALYSIS_BALANCE_CHANCE_H

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
