/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Every scenario file and random scenarios: the expected findings open, and no others.
 * One test for each file, and for each shape of fabric and number of faults.
 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/test_cases.h"
#include "base/text.h"
#include "base/when.h"
#include "cli/test_commands.h"
#include "storage/test/test_folder.h"
#include "tests/scenarios/compare.h"
#include "tests/screen/record.h"

#define FILES_MAX 200

static char *source_path(const char *name)
{
	const char *dir = getenv("IBWIRE_SRCDIR");
	char *file;

	if (asprintf(&file, "%s/tests/scenarios/%s", dir ? dir : ".", name) < 0)
		abort();
	return file;
}

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
	char *file = source_path(*state);
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

/* The name of the first node that `ibwire status` lists after a scenario file; "": none. */
static void first_of_status(const char *name, const char *key, char ret[128])
{
	char *source = source_path(name);
	struct error err = { 0 };
	json_t *row;

	test_folder_renew();
	if (record_scenario(source, path, INT64_C(1790000000000000), &err) < 0)
		fail_msg("%s: %s", name, err.text);
	use_database(path);
	row = run_json("status");
	snprintf(ret, 128, "%s", json_array_size(json_object_get(row, key))
		 ? json_string_value(json_array_get(json_object_get(row, key), 0)) : "");
	json_decref(row);
	use_database(NULL);
	free(source);
}

static void status_lists_locked_and_unresponsive_nodes_and_standby_sms(void **state)
{
	static const struct { const char *file, *key, *node; } cases[] = {
		{ "locked-switch.scenario", "locked_nodes", "spine-02" },
		{ "silent-hca.scenario", "silent_nodes", "node0005 mlx5_1" },
		{ "silent-hca.scenario", "locked_nodes", "" }, { "nothing.scenario", "silent_nodes", "" },
		{ "nothing.scenario", "other_sms", "mgmt0002 mlx5_0" },
	};
	char node[128];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		first_of_status(cases[i].file, cases[i].key, node);
		if (*cases[i].node ? !strstr(node, cases[i].node) : *node)
			fail_msg("%s: %s begins with \"%s\"", cases[i].file, cases[i].key, node);
	}
}

/* Exit status of health at a time after the beginning; its output shows @words. */
static int health_at(int64_t start_us, int minutes, const char *words)
{
	char line[64], when[WHEN_SIZE], *output;
	struct error err = { 0 };
	int status;

	snprintf(line, sizeof(line), "health|--at|%s", when_format_utc(start_us + minutes * 60 * US_PER_S, when));
	status = run(line, &output, &err);
	if (!strstr(output, words))
		fail_msg("%s: \"%s\" is missing in: %s%s", line, words, output, err.text);
	free(output);
	return status;
}

/* Skewed from 5 to 11 min; closed at 17 min. */
static void a_clearing_finding_does_not_raise_the_exit_status_of_health(void **state)
{
	const int64_t end_us = INT64_C(1790000000000000), start_us = end_us - 25 * 60 * US_PER_S;
	char *source = source_path("routes-mended.scenario"), line[96], when[WHEN_SIZE];
	json_t *balance, *health;
	struct error err = { 0 };

	(void)state;
	test_folder_renew();
	if (record_scenario(source, path, end_us, &err) < 0)
		fail_msg("%s", err.text);
	use_database(path);
	assert_int_equal(health_at(start_us, 4, "no open findings"), 0);
	assert_int_equal(health_at(start_us, 9, "CRITICAL  leaf-u01-r1 uplinks"), 2);
	/* The balance command dates it as the finding does. */
	snprintf(line, sizeof(line), "balance|leaf-u01-r1|--at|%s",
		 when_format_utc(start_us + 9 * 60 * US_PER_S, when));
	balance = run_json(line);
	snprintf(line, sizeof(line), "health|--at|%s", when);
	health = run_json(line);
	assert_string_equal(json_string_value(json_object_get(json_array_get(health, 0), "kind")), "uplink-imbalance");
	assert_string_equal(json_string_value(json_object_get(json_array_get(balance, 0), "uneven_since")),
			    json_string_value(json_object_get(json_array_get(health, 0), "since")));
	json_decref(balance);
	json_decref(health);
	assert_int_equal(health_at(start_us, 13, "CLEARING  leaf-u01-r1 uplinks  uplink-imbalance, cause: routing "
				   "(ok for"), 0);
	assert_int_equal(health_at(start_us, 13, "port 11 carried"), 0);
	assert_int_equal(health_at(start_us, 20, "no open findings"), 0);
	use_database(NULL);
	free(source);
}

static int is_scenario(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return dot && !strcmp(dot, ".scenario");
}

int main(void)
{
	static char demo[] = "../../sim/demo.scenario";
	static struct CMUnitTest tests[FILES_MAX + 10] = {
		{ "the demo's faults are found and end", findings_are_as_expected, NULL, NULL, demo },
		cmocka_unit_test(wrong_expected_findings_fail),
		cmocka_unit_test(an_unknown_kind_is_an_error),
		cmocka_unit_test(random_healthy_fabrics_have_no_findings),
		cmocka_unit_test(random_single_faults_are_found_on_rails),
		cmocka_unit_test(random_single_faults_are_found_on_two_tiers),
		cmocka_unit_test(random_single_faults_are_found_on_three_tiers),
		cmocka_unit_test(random_pairs_of_faults_are_found),
		cmocka_unit_test_setup_teardown(a_clearing_finding_does_not_raise_the_exit_status_of_health,
						test_folder_make, test_folder_remove),
		cmocka_unit_test_setup_teardown(status_lists_locked_and_unresponsive_nodes_and_standby_sms,
						test_folder_make, test_folder_remove),
	};
	size_t count = 10;
	char *dir = source_path("");
	struct dirent **entries;
	int found = scandir(dir, &entries, is_scenario, alphasort), failed;

	if (found < 35 || found > FILES_MAX) {
		fprintf(stderr, "%d scenario files in %s: there must be 35 to %d\n", found, dir, FILES_MAX);
		return 1;
	}
	for (int i = 0; i < found; i++)
		tests[count++] = (struct CMUnitTest){ entries[i]->d_name, findings_are_as_expected, NULL, NULL,
						      entries[i]->d_name };
	failed = _cmocka_run_group_tests("scenarios", tests, count, NULL, NULL);
	while (found-- > 0)
		free(entries[found]);
	free(entries);
	free(dir);
	return failed;
}
