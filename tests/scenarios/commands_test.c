/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <math.h>
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
#include "base/when.h"
#include "cli/test_commands.h"
#include "storage/test/test_folder.h"
#include "tests/scenarios/files.h"
#include "tests/screen/record.h"

/* The output of ibwire commands on the databases of recorded scenarios. */

/* The name of the first node that `ibwire status` lists after a scenario file; "": none. */
static void first_of_status(const char *name, const char *key, char ret[128])
{
	char *source = scenario_file(name);
	struct error err = { 0 };
	json_t *row;

	test_folder_renew();
	if (record_scenario(source, path, 0, INT64_C(1790000000000000), 0, NULL, &err) < 0)
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

/* Record a scenario that ends at @end_us, wall clock, for run(). */
static void use_scenario(const char *name, int64_t end_us)
{
	char *source = scenario_file(name);
	struct error err = { 0 };

	test_folder_renew();
	if (record_scenario(source, path, 0, end_us, 0, NULL, &err) < 0)
		fail_msg("%s", err.text);
	use_database(path);
	free(source);
}

static void consequences_are_counted_by_themselves(void **state)
{
	const int64_t end_us = INT64_C(1790000000000000), start_us = end_us - 15 * 60 * US_PER_S;

	(void)state;
	use_scenario("cable-pulled-and-more.scenario", end_us);
	/* Three faults at once do not explain each other, but changed tables do not count. */
	assert_int_equal(health_at(start_us, 10, "3 critical, "), 2);
	assert_int_equal(health_at(start_us, 10, " explained by others (--all shows them)"), 2);
	use_database(NULL);
}

/* Routes are skewed from minute 5 to minute 11; the finding closes in minute 17. */
static void a_clearing_finding_does_not_raise_the_exit_status_of_health(void **state)
{
	const int64_t end_us = INT64_C(1790000000000000), start_us = end_us - 25 * 60 * US_PER_S;
	char line[96], when[WHEN_SIZE];
	json_t *balance, *health;

	(void)state;
	use_scenario("routes-mended.scenario", end_us);
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
}

/* The link is slower from the fifth minute on: its group is counted once, and no uneven load before that. */
static void balance_counts_a_slow_link_once_and_reports_no_start(void **state)
{
	const int64_t end_us = INT64_C(1790000000000000), at_us = end_us - 13 * 60 * US_PER_S;
	char line[96], when[WHEN_SIZE], *output;
	struct error err = { 0 };

	(void)state;
	use_scenario("uplink-one-lane.scenario", end_us);
	snprintf(line, sizeof(line), "balance|--at|%s", when_format_utc(at_us, when));
	assert_int_equal(run(line, &output, &err), 0);
	assert_non_null(strstr(output, "2 groups with a cause (1 in both directions), 0 imbalanced without a cause, "));
	assert_non_null(strstr(output, "leaf-u01-r0 uplinks out: degraded-member"));
	assert_null(strstr(output, "uneven for"));
	free(output);
	use_database(NULL);
}

static void use_text(const char *scenario, int64_t end_us)
{
	struct error err = { 0 };

	test_folder_renew();
	test_file_write("text.scenario", scenario, strlen(scenario));
	if (record_scenario("text.scenario", path, 0, end_us, 0, NULL, &err) < 0)
		fail_msg("%s", err.text);
	use_database(path);
}

/* The same link, and a spine that fails: the load was even before, at the rates of that time. */
static void balance_reports_no_start_where_a_spine_failed_and_a_link_is_slow(void **state)
{
	struct error err = { 0 };
	char *output;

	(void)state;
	use_text("shape rail units=2 hosts=8 rails=4 spines=4\nlength 8m\njob main ring stride=8 load=0.5\n"
		 "at 5m width leaf-u01-r0/9 1x\nat 6m hang spine-02\n", INT64_C(1790000000000000));
	assert_int_equal(run("balance|leaf-u01-r0|--at|2026-09-21 14:13:20Z", &output, &err), 0);
	assert_non_null(strstr(output, "leaf-u01-r0 uplinks out: missing-member"));
	assert_null(strstr(output, "uneven for"));
	free(output);
	use_database(NULL);
}

/* Of a switch that was read in the first half of the window it is not known whether it counted errors after. */
static void no_command_reports_no_errors_of_ports_that_were_not_read_to_the_end(void **state)
{
	static const char *const commands[] = { "errors", "links|--errors", "report" };
	const int64_t end_us = INT64_C(1790000000000000);
	char line[192], from[WHEN_SIZE], until[WHEN_SIZE], *output;
	struct error err = { 0 };

	(void)state;
	use_text("shape rail units=2 hosts=8 rails=4 spines=4\nlength 8m\njob main alltoall fan=8 load=0.5\n"
		 "at 4m silent spine-02\n", end_us);
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		snprintf(line, sizeof(line), "%s|spine-02|--%s|%s|--%s|%s", commands[i], i == 2 ? "at" : "since",
			 when_format_utc(i == 2 ? end_us : end_us - 400 * US_PER_S, from),
			 i == 2 ? "format" : "until", i == 2 ? "table" : when_format_utc(end_us, until));
		assert_int_equal(run(line, &output, &err), 0);
		if (!strstr(output, "; errors of 16 ports are unknown: reset or not read"))
			fail_msg("%s: %s", line, output);
		free(output);
	}
	use_database(NULL);
}

/* In a window that began before the link got slower it carried more than its rate is now. */
static void no_utilization_is_above_100_percent(void **state)
{
	static const char scenario[] = "shape rail units=2 hosts=8 rails=4 spines=4\nlength 6m\n"
				       "job main alltoall fan=8 load=0.5\nat 5m width leaf-u01-r0/9 1x\n";
	const int64_t end_us = INT64_C(1790000000000000);
	static const struct { const char *command, *key; } shown[] = {
		{ "ports|leaf-u01-r0/9", "xmit_utilization_percent" },
		{ "links|leaf-u01-r0/9", "rcv_utilization_percent" },
		{ "balance|leaf-u01-r0", "utilization_percent" },
		{ "history|leaf-u01-r0/9|--counter|xmit_utilization|--step|5m", "max" },
	};
	char line[192], from[WHEN_SIZE], until[WHEN_SIZE];

	(void)state;
	use_text(scenario, end_us);
	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
		double most = 0, bytes = 0;
		json_t *rows, *row;
		size_t j;

		snprintf(line, sizeof(line), "%s|--since|%s|--until|%s", shown[i].command,
			 when_format_utc(end_us - 300 * US_PER_S, from), when_format_utc(end_us, until));
		rows = run_json(line);
		json_array_foreach(rows, j, row) {
			most = fmax(most, json_number_value(json_object_get(row, shown[i].key)));
			bytes = fmax(bytes, json_number_value(json_object_get(row, "xmit_bytes_per_s")));
		}
		if (most < 50 || most > 100 || (!i && bytes * 8 < 50e9))
			fail_msg("%s: %g %%, %g bytes/s", line, most, bytes);
		json_decref(rows);
	}
	use_database(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(consequences_are_counted_by_themselves,
						test_folder_make, test_folder_remove),
		cmocka_unit_test_setup_teardown(a_clearing_finding_does_not_raise_the_exit_status_of_health,
						test_folder_make, test_folder_remove),
		cmocka_unit_test_setup_teardown(balance_counts_a_slow_link_once_and_reports_no_start,
						test_folder_make, test_folder_remove),
		cmocka_unit_test_setup_teardown(balance_reports_no_start_where_a_spine_failed_and_a_link_is_slow,
						test_folder_make, test_folder_remove),
		cmocka_unit_test_setup_teardown(no_command_reports_no_errors_of_ports_that_were_not_read_to_the_end,
						test_folder_make, test_folder_remove),
		cmocka_unit_test_setup_teardown(no_utilization_is_above_100_percent,
						test_folder_make, test_folder_remove),
		cmocka_unit_test_setup_teardown(status_lists_locked_and_unresponsive_nodes_and_standby_sms,
						test_folder_make, test_folder_remove),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
