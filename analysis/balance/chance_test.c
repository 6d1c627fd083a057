/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <math.h>
#include <stdlib.h>

#include "analysis/balance/flows.h"
#include "base/map.h"
#include "base/unit_test.h"

static uint64_t next_random(uint64_t *random)
{
	*random += 0x9e3779b97f4a7c15ULL;
	return map_mix(*random);
}

/* Place flows on members at random. Return: (max - mean) / mean. */
static double place(unsigned flows, unsigned members, uint64_t *random)
{
	unsigned counts[256] = { 0 }, most = 0, at;

	for (unsigned i = 0; i < flows; i++) {
		at = (unsigned)(next_random(random) % members);
		counts[at]++;
		most = counts[at] > most ? counts[at] : most;
	}
	return (double)most * members / flows - 1;
}

/* Compared with the sum of all terms, for small numbers. */
TEST(the_tail_is_that_of_the_binomial_distribution)
{
	for (unsigned trials = 1; trials <= 40; trials++) {
		for (unsigned x = 0; x <= trials + 1; x++) {
			double p = 0.02 + 0.9 * x / (trials + 1), sum = 0, ways = 1;

			for (unsigned i = 0; i <= trials; i++) {
				if (i >= x)
					sum += ways * pow(p, i) * pow(1 - p, trials - i);
				ways = ways * (trials - i) / (i + 1);
			}
			if (fabs(chance_at_least(trials, p, x) - sum) > 1e-12)
				fail_msg("%u of %u at %g is not %g", x, trials, p, sum);
		}
	}
}

/* At most 1 in 1,000 at the limit or above; the bound is nearly exact. */
TEST(random_placements_exceed_it_once_in_a_thousand)
{
	static const unsigned flows[] = { 4, 8, 16, 32, 128, 1024 }, members[] = { 2, 4, 8, 32 };
	enum { THROWS = 20000 };
	uint64_t random = 7;
	size_t k, beyond, before;

	for (size_t i = 0; i < sizeof(flows) / sizeof(flows[0]); i++) {
		for (size_t j = 0; j < sizeof(members) / sizeof(members[0]); j++) {
			double limit = chance_excess(flows[i], members[j], 0.999), step = (double)members[j] / flows[i];

			for (k = 0, beyond = 0, before = 0; k < THROWS; k++) {
				double excess = place(flows[i], members[j], &random);

				beyond += excess >= limit - 1e-9;
				before += excess >= limit - step - 1e-9;
			}
			/*
			 * 20 of 20,000 are expected at most; 40 is 4 standard deviations from it.
			 */
			if (beyond > 40)
				fail_msg("%u flows on %u: %zu beyond %g", flows[i], members[j], beyond, limit);
			/* One flow less on the fullest member is within chance. */
			if (isfinite(limit) && before < 10)
				fail_msg("%u flows on %u: %g could be less", flows[i], members[j], limit);
		}
	}
}

TEST(few_flows_can_all_be_on_one_member)
{
	assert_true(isinf(chance_excess(1, 8, 0.999)));
	assert_true(isinf(chance_excess(0, 8, 0.999)));
	assert_true(isinf(chance_excess(3.9, 4, 0.999)));
	assert_true(isfinite(chance_excess(8, 8, 0.999)));
}

/* More flows are more even. */
TEST(more_flows_have_a_lower_limit)
{
	double before = INFINITY, limit;

	for (unsigned flows = 8; flows <= 1u << 20; flows *= 2) {
		limit = chance_excess(flows, 8, 0.999);
		assert_true(limit > 0 && limit < before);
		before = limit;
	}
}
