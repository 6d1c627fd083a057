/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/test_cases.h"
#include "base/text.h"
#include "tests/scenarios/compare.h"
#include "tests/scenarios/files.h"
#include "tests/world/scenario.h"

/*
 * Every scenario file and random scenarios: the expected findings open, and no others.
 * One test for each file, and for each shape of fabric and number of faults. The short form runs a quarter of the
 * files; make check-scripts runs the usual form on the build without sanitizers.
 */

/*
 * Return: whether the findings are right; differences are printed. The times of random scenarios (@when false)
 * are not checked: with some traffic the tables are read late.
 */
static bool is_right(const struct scenario *scenario, const char *name, bool when)
{
	struct comparison comparison;
	struct text text = { 0 };
	struct error err;
	bool right;

	if (compare_scenario(scenario, &comparison, &err) < 0)
		fail_msg("%s: %s", name, err.text);
	right = when ? comparison_is_right(&comparison) : comparison_is_found(&comparison);
	comparison_describe(&comparison, false, &text);
	if (!comparison_is_right(&comparison))
		print_message("# %s\n%s", name, text_chars(&text));
	text_done(&text);
	comparison_done(&comparison);
	return right;
}

static void findings_are_as_expected(void **state)
{
	char *file = scenario_file(*state);
	struct scenario scenario;
	struct error err;
	bool right;

	if (scenario_load(file, &scenario, &err) < 0)
		fail_msg("%s", err.text);
	right = is_right(&scenario, *state, true);
	scenario_done(&scenario);
	free(file);
	assert_true(right);
}

static void an_unknown_kind_is_an_error(void **state)
{
	static const char *const lines[] = { "expect link-donw any", "allow link-down|link-donw any" };

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct comparison comparison;
		struct scenario scenario;
		struct error err = { 0 };

		assert_int_equal(scenario_read(lines[i], &scenario, &err), 0);
		assert_int_equal(compare_scenario(&scenario, &comparison, &err), ERR_USAGE);
		assert_non_null(strstr(err.text, "\"link-donw\""));
		scenario_done(&scenario);
	}
}

static void run_random(enum net_shape_kind kind, unsigned faults)
{
	unsigned wrong = 0;

	for (unsigned seed = 1; seed <= test_cases(8); seed++) {
		uint64_t number = 1000 * (uint64_t)kind + 100 * (uint64_t)faults + seed;
		struct text text = { 0 };
		struct scenario scenario;
		struct error err = { 0 };

		scenario_draw(number, faults, kind, SCENARIO_SMALL, &text);
		if (scenario_read(text_chars(&text), &scenario, &err) < 0)
			fail_msg("seed %u: %s", (unsigned)number, err.text);
		if (!is_right(&scenario, text_chars(&text), false))
			wrong++;
		scenario_done(&scenario);
		text_done(&text);
	}
	assert_int_equal(wrong, 0);
}

static void random_healthy_fabrics_have_no_findings(void **state)
{
	(void)state;
	run_random(NET_SHAPE_RAIL, 0);
	run_random(NET_SHAPE_TREE2, 0);
	run_random(NET_SHAPE_TREE3, 0);
}

static void random_single_faults_are_found_on_rails(void **state)
{
	(void)state;
	run_random(NET_SHAPE_RAIL, 1);
}

static void random_single_faults_are_found_on_two_tiers(void **state)
{
	(void)state;
	run_random(NET_SHAPE_TREE2, 1);
}

static void random_single_faults_are_found_on_three_tiers(void **state)
{
	(void)state;
	run_random(NET_SHAPE_TREE3, 1);
}

static void random_pairs_of_faults_are_found(void **state)
{
	(void)state;
	run_random(NET_SHAPE_RAIL, 2);
	run_random(NET_SHAPE_TREE2, 2);
	run_random(NET_SHAPE_TREE3, 2);
}

/* The comparison fails for wrong expected findings. */
static void wrong_expected_findings_fail(void **state)
{
	static const char *const wrong[] = {
		"at 5m off spine-03\nexpect node-missing spine-02 within=80s\n",
		"at 5m off spine-03\nexpect node-silent spine-03 within=80s\n",
		"at 5m off spine-03\nexpect node-missing spine-03 within=11s\n",
		"at 5m off spine-03\nexpect node-missing spine-03 cause=weather\n",
		"at 5m off spine-03\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct comparison comparison;
		struct scenario scenario;
		char text[512];

		snprintf(text, sizeof(text), "shape rail units=2 hosts=8 rails=4 spines=4\nlength 10m\n%s", wrong[i]);
		assert_int_equal(scenario_read(text, &scenario, NULL), 0);
		assert_int_equal(compare_scenario(&scenario, &comparison, NULL), 0);
		assert_false(comparison_is_right(&comparison));
		comparison_done(&comparison);
		scenario_done(&scenario);
	}
}

int main(void)
{
	static char demo[] = "../../sim/demo.scenario";
	static struct CMUnitTest tests[SCENARIO_FILES_MAX + 8] = {
		{ "the demo's faults are found and end", findings_are_as_expected, NULL, NULL, demo },
		cmocka_unit_test(wrong_expected_findings_fail),
		cmocka_unit_test(an_unknown_kind_is_an_error),
		cmocka_unit_test(random_healthy_fabrics_have_no_findings),
		cmocka_unit_test(random_single_faults_are_found_on_rails),
		cmocka_unit_test(random_single_faults_are_found_on_two_tiers),
		cmocka_unit_test(random_single_faults_are_found_on_three_tiers),
		cmocka_unit_test(random_pairs_of_faults_are_found),
	};
	char *names[SCENARIO_FILES_MAX];
	size_t files = scenario_files(names), count = 8;
	int failed;

	for (size_t i = 0; i < files; i++)
		if (scenario_file_is_run(i, 4))
			tests[count++] = (struct CMUnitTest){ names[i], findings_are_as_expected, NULL, NULL,
							      names[i] };
	failed = _cmocka_run_group_tests("scenarios", tests, count, NULL, NULL);
	while (files-- > 0)
		free(names[files]);
	return failed;
}
