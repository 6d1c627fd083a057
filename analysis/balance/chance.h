/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * balance_chance.h - how uneven chance alone makes a load
 *
 * Flows that are placed at random on members that are alike are balls thrown into
 * bins. The fullest of n bins holds x of k balls or more with a probability of at most
 * n * P(Binomial(k, 1/n) >= x): the bound of the union, which far out, where one
 * full bin makes another one unlikely, is nearly exact. So no random numbers are drawn.
 */
#ifndef IBWIRE_ANALYSIS_BALANCE_CHANCE_H
#define IBWIRE_ANALYSIS_BALANCE_CHANCE_H

/* chance_at_least - P(Binomial(@trials, @p) >= @x). @p: above 0, below 1. */
double chance_at_least(unsigned trials, double p, unsigned x);

/*
 * chance_excess - (max - mean) / mean that so many flows reach by chance with a probability of 1 - percentile at most
 * @flows:       of equal size; broken ones count as less: rounded down, at least 1
 * @members:     that are alike, at least 2
 * @percentile:  such as 0.999
 *
 * Return: INFINITY where even all flows on one member are no wonder.
 */
double chance_excess(double flows, unsigned members, double percentile);

#endif
