/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Verdicts of jobs with known traffic and faults, and which hosts and uplinks are theirs. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "base/unit_test.h"
#include "cli/test_commands.h"
#include "pages/job/job_work.h"
#include "storage/test/test_folder.h"
#include "tests/job/play.h"

TEST_IN_FOLDER(a_clean_job_is_exact_to_the_byte)
{
	assert_both(FABRIC TRAIN, "clean", "8 hosts, 8 rails, even");
	assert_shows("job|report|h", "rail cv   0.00; all within 1 % of the mean");
}

/*
 * A host that was read in the fast half of a job only carried no more than others: the other ends of its links were
 * read to the end, and where they were not, its mean is a lower bound and is compared with none.
 */
TEST_IN_FOLDER(hosts_that_were_read_in_a_part_of_the_job_are_not_uneven)
{
	char text[2048], nodes[1024];
	json_t *report;
	const json_t *host;

	for (int i = 0; i < 2; i++) {
		size_t len = 0;

		for (int rail = 0; rail < 8; rail++)
			len += (size_t)snprintf(nodes + len, sizeof(nodes) - len, "at 6m silent \"node0003 mlx5_%d\"\n",
						rail);
		for (int rail = 0; i && rail < 8; rail++)
			len += (size_t)snprintf(nodes + len, sizeof(nodes) - len, "at 6m silent leaf-u01-r%d\n", rail);
		snprintf(text, sizeof(text), FABRIC "%sjob more alltoall fan=7 load=0.3\nat 6m stop more\n%s",
			 "job main alltoall fan=7 load=0.2\n", nodes);
		play_with(text, (struct planned[]){ { .id = "1", .begin = BEGIN, .end = END } }, 1);
		report = report_of("1");
		host = row_of(report, "hosts", "host", "node0003");
		assert_true(number_of(json_object_get(report, "job"), "hosts_cv") < 0.02);
		assert_int_equal(json_is_true(json_object_get(host, "at_least")), i);
		json_decref(report);
	}
}

TEST_IN_FOLDER(one_nic_of_eight_is_unused)
{
	json_t *report;

	assert_both(FABRIC "job main alltoall fan=7 load=0.5 without=\"node0003 mlx5_5\"\n", "nic-unused",
		    "mlx5_5 of node0003 was not used");
	report = report_of("s");
	assert_int_equal(integer_of(row_of(report, "hosts", "host", "node0003"), "ports_used"), 7);
	assert_true(list_has(json_object_get(row_of(report, "hosts", "host", "node0003"), "ports_unused"), "mlx5_5"));
	json_decref(report);
}

TEST_IN_FOLDER(a_rail_that_no_host_uses_is_one_line)
{
	assert_both(FABRIC "job main alltoall fan=7 load=0.5 rails=0-6\n", "nic-unused",
		    "1 of 8 rails unused: mlx5_7");
}

TEST_IN_FOLDER(uneven_rails_are_reported)
{
	json_t *report;

	assert_both(FABRIC "job main alltoall fan=7 load=0.5 rails=0-6\njob slow alltoall fan=7 load=0.2 rails=7\n",
		    "rails-uneven", "mlx5_7 carried 43 % of the mean");
	assert_shows("job|report|h", "rail cv   0.21; mlx5_7 43 %, mlx5_");
	report = report_of("h");
	assert_true(fabs(number_of(row_of(report, "rails", "rail", "mlx5_7"), "utilization_percent") - 20) < 0.5);
	json_decref(report);
}

TEST_IN_FOLDER(a_job_without_traffic_is_not_over_infiniband)
{
	assert_both(FABRIC TRAIN "at 1m stop main\n", "no-traffic", "not over InfiniBand: the 64 HCA ports");
}

TEST_IN_FOLDER(a_link_that_degrades_during_the_job_is_reported)
{
	assert_both(FABRIC TRAIN "at 6m width \"node0002 mlx5_2/1\" 1x\n", "link-failed", "node0002 mlx5_2/1");
	assert_shows("job|report|h", "\n    runs at 1x HDR (50 Gb/s), both ends support 4x HDR (200 Gb/s)\n");
}

TEST_IN_FOLDER(an_uplink_that_goes_down_is_reported)
{
	assert_both(FABRIC TRAIN "at 5m down leaf-u01-r1/6\n", "link-failed", "leaf-u01-r1/6");
}

/* Other flows make uplinks uneven, without any fault. */
TEST_IN_FOLDER(a_job_that_starts_in_the_middle_skews_no_route)
{
	json_t *report;

	play_with(FABRIC "job main alltoall fan=3 load=0.2 spread=adaptive hosts=node0001-node0002,node0005-node0006\n"
		  "job other ring load=0.9 hosts=node0003-node0004,node0007-node0008 starts=later\nat 6m start other\n",
		  (struct planned[]){ {
			  .id = "1", .hosts = "node[0001-0002,0005-0006]", .begin = BEGIN, .end = END } }, 1);
	report = report_of("1");
	assert_verdict(report, "clean", "4 hosts");
	json_decref(report);
}

TEST_IN_FOLDER(routes_skewed_during_the_job_are_reported)
{
	json_t *report;
	const json_t *group;

	assert_both(FABRIC TRAIN "at 6m skew leaf-u01-r1/6 part=0.9\n", "routing", "leaf-u01-r1");
	assert_shows("job|report|h", "leaf-u01-r1  TX ");
	report = report_of("h");
	group = row_of(report, "uplink_groups", "node", "MF0;leaf-u01-r1:MQM8700/U1");
	assert_true(json_is_true(json_object_get(group, "skewed")));
	assert_true(number_of(group, "late_imbalance_percent") > number_of(group, "early_imbalance_percent") + 20);
	json_decref(report);
}

TEST_IN_FOLDER(errors_on_a_link_are_reported)
{
	assert_both(FABRIC TRAIN "at 3m errors \"node0002 mlx5_2/1\" symbol_errors=9000\n", "errors",
		    "node0002 mlx5_2/1");
}

/* The same errors, which ended before the job, and which go on. */
TEST_IN_FOLDER(errors_before_the_job_are_a_note)
{
	static const char *const ends[] = { "node0002 mlx5_2/1", "leaf-u01-r3/2" };
	char text[1024];

	for (int i = 0; i < 4; i++) {
		const char *end = ends[i % 2];
		bool goes_on = i >= 2;
		const json_t *row;
		json_t *report;

		snprintf(text, sizeof(text), FABRIC "%sat 10s errors \"%s\" symbol_errors=9000%s\n", TRAIN, end,
			 goes_on ? "" : " for=90s");
		play_with(text, (struct planned[]){ { .id = "1", .begin = BEGIN, .end = END } }, 1);
		report = report_of("1");
		row = row_of(report, "findings", "kind", "symbol-errors");
		assert_true(json_is_true(json_object_get(row, "before_job")));
		assert_int_equal(json_is_true(json_object_get(row, "held_during_job")), goes_on);
		assert_verdict(report, goes_on ? "errors" : "clean",
			       goes_on ? " errors during the job; " : "no errors");
		json_decref(report);
		if (!goes_on)
			assert_shows("job|report|1", "no increase");
		test_folder_renew();
	}
}

TEST_IN_FOLDER(uneven_hosts_are_shown)
{
	play_with(FABRIC "job main incast targets=node0003 load=0.1\n", (struct planned[]){
		{ .id = "1", .begin = BEGIN, .end = END } }, 1);
	assert_shows("job|report|1", "hosts are uneven");
	assert_shows("job|report|1|--all", "PREDICTED%");
}

TEST_IN_FOLDER(jobs_side_by_side_are_kept_apart_by_hosts)
{
	json_t *report;

	play_with(FABRIC "job a ring hosts=node0001-node0004 load=0.5\njob b ring hosts=node0005-node0008 load=0.25\n",
		  (struct planned[]){
			  { .id = "a", .hosts = "node[0001-0004]", .begin = BEGIN, .end = END, .snapshots = true },
			  { .id = "b", .hosts = "node0005,node[0006-0008]", .begin = BEGIN, .end = END },
			  { .id = "c", .hosts = "node0004.cluster,node0005", .begin = BEGIN + 5, .end = END },
		  }, 3);
	report = report_of("a");
	assert_verdict(report, "clean", "4 hosts, 8 rails");
	assert_int_equal(json_array_size(json_object_get(report, "ports")), 32);
	/* a and b are on different leaves, c is on those of both. */
	assert_true(list_has(json_object_get(json_object_get(report, "job"), "other_jobs"), "c"));
	assert_false(list_has(json_object_get(json_object_get(report, "job"), "other_jobs"), "b"));
	assert_true(json_is_true(json_object_get(row_of(report, "uplinks", "node", "MF0;leaf-u01-r1:MQM8700/U1"),
						 "shared")));
	json_decref(report);
	report = report_of("b");
	assert_true(fabs(number_of(row_of(report, "rails", "rail", "mlx5_0"), "utilization_percent") - 25) < 0.5);
	json_decref(report);
}

/* Its finding, in the report of this job, and in none of another: through collector, database and commands. */
TEST_IN_FOLDER(traffic_of_a_job_that_stops_is_reported_with_its_name)
{
	json_t *report, *health;
	const json_t *finding;

	play_with(FABRIC "job a ring hosts=node0001-node0004 load=0.5\njob b ring hosts=node0005-node0008 load=0.25\n"
		  "at 5m stop a\n", (struct planned[]){
			  { .id = "4711", .hosts = "node[0001-0004]", .begin = BEGIN, .end = 40 },
			  { .id = "4712", .hosts = "node[0005-0008]", .begin = BEGIN },
		  }, 2);
	report = report_of("4711");
	finding = row_of(report, "findings", "kind", "traffic-fell");
	assert_true(is_text(finding, "subject", "job 4711"));
	assert_true(is_text(finding, "severity", "info"));
	assert_true(json_is_true(json_object_get(finding, "on_job")));
	assert_non_null(strstr(json_string_value(json_object_get(finding, "text")), "traffic of job 4711 fell from "));
	json_decref(report);
	report = report_of("4712");
	assert_true(json_is_false(json_object_get(row_of(report, "findings", "subject", "job 4711"), "on_job")));
	json_decref(report);
	health = run_json("health|--all|--since|2026-01-01T00:00:00Z");
	finding = json_array_get(health, 0);
	assert_true(is_text(finding, "subject", "job 4711"));
	assert_non_null(strstr(json_string_value(json_object_get(finding, "text")), "; the job ended "));
	json_decref(health);
	assert_shows("job|report|4711", "traffic of job 4711 fell");
	assert_shows("events|--since|2026-01-01T00:00:00Z", "traffic of job 4711 fell");
}

/* Bytes of an uplink whose counters were cleared are a lower bound, and those of its group. */
/* A group of which a link was not read at first may have been uneven then, too. */
TEST(a_group_became_uneven_only_if_it_was_exactly_even_before)
{
	const struct measure even = measure_of(0.02, true), uneven = measure_of(0.9, true);

	assert_true(job_became_uneven(&(struct job_group){ .part_excess = { even, uneven } }));
	assert_true(job_became_uneven(&(struct job_group){ .part_excess = { even, measure_of(0.9, false) } }));
	assert_false(job_became_uneven(&(struct job_group){ .part_excess = { measure_of(0.02, false), uneven } }));
	assert_false(job_became_uneven(&(struct job_group){ .part_excess = { MEASURE_NONE, uneven } }));
	assert_false(job_became_uneven(&(struct job_group){ .part_excess = { uneven, uneven } }));
}

TEST_IN_FOLDER(bytes_of_uplinks_have_a_mark)
{
	static const char *const sections[] = { "uplinks", "uplink_groups" };

	play_with(FABRIC TRAIN "at 6m clear leaf-u01-r1/6\n", (struct planned[]){
		{ .id = "h", .begin = BEGIN, .end = END },
		{ .id = "s", .begin = BEGIN, .end = END, .snapshots = true } }, 2);
	for (int which = 0; which < 4; which++) {
		json_t *report = report_of(which & 1 ? "s" : "h");
		const json_t *rows = json_object_get(report, sections[which / 2]), *row;
		size_t bounds = 0, i;

		json_array_foreach(rows, i, row) {
			const json_t *bound = json_object_get(json_object_get(row, "lower_bounds"), "bytes");

			bounds += bound != NULL;
			assert_true(json_is_null(json_object_get(row, "bytes")) == (bound != NULL));
			assert_true(json_is_integer(bound ? bound : json_object_get(row, "bytes")));
			assert_true(!bound || strstr(json_string_value(json_object_get(row, "node")), "leaf-u01-r1"));
		}
		assert_int_equal(bounds, 2); /* both directions */
		json_decref(report);
	}
}

/* An uplink whose bytes are unknown at both ends may be full: the others carry at least their share. */
TEST_IN_FOLDER(shares_beside_an_unknown_uplink_are_lower_bounds)
{
	json_t *report, *row;
	unsigned bounds = 0;
	size_t i;

	play_with("shape rail units=2 hosts=24 rails=1 spines=24\nlength 11m\n"
		  "at 6m clear leaf-u01-r0/30\nat 6m clear spine-06\n" TRAIN,
		  (struct planned[]){ { .id = "1", .begin = BEGIN, .end = END } }, 1);
	report = report_of("1");
	json_array_foreach(json_object_get(report, "uplinks"), i, row) {
		const json_t *bound = json_object_get(json_object_get(row, "lower_bounds"), "measured_share_percent");
		bounds += bound != NULL;
		assert_true(!bound || strstr(json_string_value(json_object_get(row, "node")), "leaf-u01-r0"));
	}
	assert_int_equal(bounds, 2 * 23); /* both directions */
	json_decref(report);
}

/* It has all compute hosts, as its report says. */
TEST_IN_FOLDER(traffic_of_a_job_without_hosts_that_stops_is_reported_with_its_name)
{
	json_t *report;

	play_with(FABRIC TRAIN "at 5m stop main\n",
		  (struct planned[]){ { .id = "4711", .begin = BEGIN, .end = 40 } }, 1);
	report = report_of("4711");
	assert_true(json_is_true(json_object_get(row_of(report, "findings", "subject", "job 4711"), "on_job")));
	json_decref(report);
}

TEST_IN_FOLDER(a_host_that_is_not_in_the_fabric_is_named)
{
	json_t *report;

	play_with(FABRIC TRAIN, (struct planned[]){
		{ .id = "some", .hosts = "node0001,node0002.cluster,gone77", .begin = BEGIN, .end = END },
		{ .id = "none", .hosts = "gone[77-78]", .begin = BEGIN, .end = END },
	}, 2);
	report = report_of("some");
	assert_verdict(report, "no-hosts", "1 of its 3 hosts was not in the fabric at its end: gone77");
	assert_true(json_is_true(json_object_get(row_of(report, "hosts", "host", "gone77"), "missing")));
	/* Its errors are not known. */
	assert_true(json_is_null(json_object_get(json_object_get(report, "job"), "errors")));
	assert_int_equal(json_array_size(json_object_get(report, "ports")), 16);
	json_decref(report);
	report = report_of("none");
	assert_verdict(report, "no-hosts", "none of its hosts was in the fabric: gone77");
	json_decref(report);
	assert_shows("job|report|none", "none of its hosts");
	keep_page("some");
	keep_page("none");
}

TEST_IN_FOLDER(a_running_job_is_compared_with_its_earlier_time)
{
	json_t *report;

	play_with(FABRIC TRAIN "at 9m straggle main part=0.6\n",
		  (struct planned[]){ { .id = "1", .begin = BEGIN } }, 1);
	report = report_of("1");
	print_text("1");
	assert_verdict(report, "slower", "slower: in the last ");
	assert_true(json_is_true(json_object_get(json_object_get(report, "job"), "running")));
	assert_true(json_is_null(json_object_get(json_object_get(report, "job"), "end")));
	assert_shows("job|report|1", "still running");
	keep_page("1");
	json_decref(report);
}
