/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/balance/chance.h"

#include <math.h>

/* lgamma() writes a global variable. */
static double log_factorial(double n)
{
	int sign;

	return lgamma_r(n + 1, &sign);
}

static double exactly(unsigned trials, double p, unsigned x)
{
	double log_chance = log_factorial(trials) - log_factorial(x) - log_factorial(trials - x) + x * log(p) +
			    (trials - x) * log1p(-p);

	return exp(log_chance);
}

double chance_at_least(unsigned trials, double p, unsigned x)
{
	double odds = p / (1 - p), term, sum = 0;

	if (x > trials)
		return 0;
	if ((double)x <= (double)trials * p) {
		/* Below the mean the other tail is shorter. */
		if (x == 0)
			return 1;
		term = exactly(trials, p, x - 1);
		for (unsigned i = x - 1; ; i--) {
			sum += term;
			if (i == 0 || term < 1e-17 * sum)
				break;
			term *= (double)i / (double)(trials - i + 1) / odds;
		}
		return sum < 1 ? 1 - sum : 0;
	}
	term = exactly(trials, p, x);
	for (unsigned i = x; i <= trials; i++) {
		sum += term;
		if (term < 1e-17 * sum)
			break;
		term *= (double)(trials - i) / (double)(i + 1) * odds;
	}
	return sum < 1 ? sum : 1;
}

double chance_excess(double flows, unsigned members, double percentile)
{
	unsigned trials = flows < 1 ? 1 : flows > 1e6 ? 1000000 : (unsigned)flows;
	double allowed = (1 - percentile) / members, p = 1.0 / members, tail;
	unsigned x = trials / members + 1;

	/*
	 * Sum from above the mean on, where terms fall quickly; summing from the far end would be
	 * exact, but slow.
	 */
	for (tail = chance_at_least(trials, p, x); x <= trials && tail > allowed; x++)
		tail -= exactly(trials, p, x);
	return x > trials ? INFINITY : (double)x * members / trials - 1;
}
