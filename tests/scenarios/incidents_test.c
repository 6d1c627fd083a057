/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/test_cases.h"
#include "base/text.h"
#include "base/unit_test.h"
#include "tests/scenarios/incidents.h"

/* Print the scenario and the findings of a case that is wrong. Return: whether it is right. */
static bool check(const size_t *kinds, unsigned count, uint64_t seed)
{
	struct incident one = incident_run(kinds, count, seed, NULL);
	struct text text = { 0 };

	if (incident_is_right(&one))
		return true;
	incident_run(kinds, count, seed, &text);
	print_message("# %u faults, %u findings, %u at a wrong place, %u faults missing, seed %u:\n%s", one.faults,
		      one.shown, one.wrong, one.missing, (unsigned)seed, text_chars(&text));
	text_done(&text);
	return false;
}

TEST(one_fault_is_one_finding)
{
	for (size_t kind = 0; kind < incident_kinds(); kind++)
		for (uint64_t seed = 1; seed <= test_cases(3); seed++)
			assert_true(check(&kind, 1, seed));
}

/* A part of them, in a different one for each seed; tests/bench/incidents runs all. */
TEST(two_faults_are_two_findings_at_most)
{
	for (uint64_t seed = 1; seed <= test_cases(60); seed++) {
		size_t kinds[2] = { seed * 7 % incident_kinds(), seed * 11 % incident_kinds() };

		assert_true(check(kinds, 2, seed));
	}
}

TEST(three_faults_are_three_findings_at_most)
{
	for (uint64_t seed = 1; seed <= test_cases(20); seed++) {
		size_t count = incident_kinds(), kinds[3] = { seed * 5 % count, seed * 7 % count, seed * 13 % count };

		assert_true(check(kinds, 3, seed));
	}
}
