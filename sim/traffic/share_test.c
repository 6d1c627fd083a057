/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */

#include "base/unit_test.h"
#include "sim/share.h"

#define MAX_LINKS 12
#define MAX_GROUPS 16
#define MAX_USES 64

/* A random number below @end; the same sequence in every run. */
static unsigned draw(uint64_t *seed, unsigned end)
{
	*seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (unsigned)(*seed >> 33) % end;
}

static void assert_near(double a, double b)
{
	if (a - b > 1e-6 * (b + 1) || b - a > 1e-6 * (b + 1))
		fail_msg("%g is not %g", a, b);
}

TEST(a_single_group_gets_its_demand_or_the_link)
{
	const double capacity[] = { 10 };
	const struct maxmin_use uses[] = { { 0, 0, 2 } };
	double demand[] = { 4 }, rate[1], load[1];
	const struct maxmin problem = { capacity, 1, demand, 1, uses, 1 };

	assert_int_equal(maxmin_solve(&problem, rate, load), 0);
	assert_near(rate[0], 4);
	assert_near(load[0], 8);
	demand[0] = 20;
	assert_int_equal(maxmin_solve(&problem, rate, load), 0);
	assert_near(rate[0], 5);
	assert_near(load[0], 10);
}

/* The textbook example: one flow over two links, one flow on each link. */
TEST(unused_capacity_is_available_to_others)
{
	const double capacity[] = { 10, 40 };
	const double demand[] = { 100, 100, 100 };
	const struct maxmin_use uses[] = { { 0, 0, 1 }, { 0, 1, 1 }, { 1, 0, 1 }, { 2, 1, 1 } };
	const struct maxmin problem = { capacity, 2, demand, 3, uses, 4 };
	double rate[3], load[2];

	assert_int_equal(maxmin_solve(&problem, rate, load), 0);
	assert_near(rate[0], 5);
	assert_near(rate[1], 5);
	assert_near(rate[2], 35);
}

TEST(empty_problems_are_solved)
{
	const double capacity[] = { 0 };
	const double demand[] = { 0, 5, 5 };
	const struct maxmin_use uses[] = { { 2, 0, 1 } };
	const struct maxmin problem = { capacity, 1, demand, 3, uses, 1 };
	const struct maxmin empty = { 0 };
	double rate[3], load[1];

	assert_int_equal(maxmin_solve(&empty, rate, load), 0);
	assert_int_equal(maxmin_solve(&problem, rate, load), 0);
	assert_near(rate[0], 0);
	assert_near(rate[1], 5); /* crosses no link */
	assert_near(rate[2], 0); /* a link without capacity */
}

struct random_problem {
	struct maxmin problem;
	double capacity[MAX_LINKS], demand[MAX_GROUPS];
	struct maxmin_use uses[MAX_USES];
};

static void make_problem(struct random_problem *random, uint64_t *seed)
{
	unsigned links = 1 + draw(seed, MAX_LINKS), groups = 1 + draw(seed, MAX_GROUPS), uses = draw(seed, MAX_USES);

	for (unsigned i = 0; i < links; i++)
		random->capacity[i] = draw(seed, 10) ? (1 + draw(seed, 400)) * 1e9 : 1e9;
	for (unsigned i = 0; i < groups; i++)
		random->demand[i] = draw(seed, 5) ? draw(seed, 200) * 1e9 : 0;
	for (unsigned i = 0; i < uses; i++)
		random->uses[i] = (struct maxmin_use){ draw(seed, groups), draw(seed, links), 1 + draw(seed, 3) };
	random->problem = (struct maxmin){
		random->capacity, links, random->demand, groups, random->uses, uses,
	};
}

/* Is there a full link on the path of the group on which no group has a higher rate? */
static int has_bottleneck(const struct maxmin *problem, const double *rate, const double *load, uint32_t group)
{
	for (size_t i = 0; i < problem->use_count; i++) {
		uint32_t link = problem->uses[i].link;
		int fastest = 1;

		if (problem->uses[i].group != group || load[link] < problem->capacity[link] * (1 - 1e-6))
			continue;
		for (size_t j = 0; j < problem->use_count; j++)
			if (problem->uses[j].link == link && rate[problem->uses[j].group] > rate[group] * (1 + 1e-6))
				fastest = 0;
		if (fastest)
			return 1;
	}
	return 0;
}

TEST(random_problems_have_max_min_fair_rates)
{
	uint64_t seed = 42;

	for (unsigned round = 0; round < 5000; round++) {
		double rate[MAX_GROUPS], load[MAX_LINKS], sum[MAX_LINKS] = { 0 };
		struct random_problem random;
		const struct maxmin *problem = &random.problem;

		make_problem(&random, &seed);
		assert_int_equal(maxmin_solve(problem, rate, load), 0);
		for (size_t i = 0; i < problem->use_count; i++)
			sum[problem->uses[i].link] += problem->uses[i].weight * rate[problem->uses[i].group];
		for (size_t i = 0; i < problem->link_count; i++) {
			assert_true(sum[i] <= problem->capacity[i] * (1 + 1e-6));
			assert_near(load[i], sum[i]);
		}
		for (size_t i = 0; i < problem->group_count; i++) {
			assert_true(rate[i] >= 0 && rate[i] <= problem->demand[i] * (1 + 1e-9));
			if (rate[i] < problem->demand[i] * (1 - 1e-6))
				assert_true(has_bottleneck(problem, rate, load, (uint32_t)i));
		}
	}
}
