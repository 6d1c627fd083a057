/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Findings about running jobs that stall or become slower. The traffic is that of scripts, not of a model of jobs. */
#include <string.h>

#include "analysis/test_world.h"
#include "base/unit_test.h"

/* Two leaves, two spines, eight hosts with one HCA, four on each leaf. */
static const struct world_shape single = { 2, 2, 1, 8, 1 };

/* A job that sends all the time, long enough to be learnt. */
#define RUNS "job 1 0 7; loads 0.5; wait 900; "

TEST(a_job_that_stops_has_stalled_until_it_continues_or_ends)
{
	WORLD_CHECK(&single, false,
		{ "without a job", "loads 0.5; wait 900; loads 0; wait 300", "" },
		{ "it runs", RUNS "wait 600", "" },
		{ "it stops", RUNS "loads 0; wait 300", "job-stalled warning fabric" },
		{ "and continues", RUNS "loads 0; wait 300; loads 0.5; wait 120",
		  "job-stalled warning fabric closed" },
		{ "it stops, and is ended", RUNS "loads 0; wait 300; end 1; wait 10",
		  "job-stalled warning fabric closed" },
		{ "it ends as it stops", RUNS "loads 0; wait 10; end 1; wait 300", "" },
		{ "a job of one host", "job 1 0 0; loads 0.5; wait 900; loads 0; wait 300", "" },
		{ "a job that never communicated", "job 1 0 7; wait 1800", "" });
}

TEST(a_restart_of_the_collector_neither_closes_nor_repeats_it)
{
	WORLD_CHECK(&single, false,
		{ "it remains", RUNS "loads 0; wait 300; restart; wait 1800", "job-stalled warning fabric" },
		{ "until the traffic is back", RUNS "loads 0; wait 300; restart; wait 600; loads 0.5; wait 120",
		  "job-stalled warning fabric closed" },
		{ "or the job ends", RUNS "loads 0; wait 300; restart; wait 600; end 1; wait 120",
		  "job-stalled warning fabric closed" });
}

TEST(a_failed_link_explains_that_a_job_stalls)
{
	struct world *world;
	const struct finding *finding;

	world = world_create(&single);
	world_run(world, RUNS "down h3.0; loads 0; wait 120");
	finding = &world_find(world, FINDING_JOB_STALLED)->finding;
	assert_true(finding->is_explained);
	assert_int_equal(finding->origin.kind, FINDING_HOST_RESTART);
	assert_string_equal(finding->hosts[0], "h3");
	assert_int_equal(finding->affected_hosts, 8);
	assert_non_null(strstr(finding->text, "link leaf0/4 - h3 mlx5_0/1 went down"));
	assert_true(world_find(world, FINDING_TRAFFIC_FELL)->finding.is_explained);
	world_destroy(world);
}
