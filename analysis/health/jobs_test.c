/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Findings about running jobs that stall or become slower. The traffic is that of scripts, not of a model of jobs. */
#include <string.h>

#include "analysis/test_world.h"
#include "base/unit_test.h"

/* Two leaves, two spines, eight hosts with one HCA, four on each leaf. */
static const struct world_shape single = { 2, 2, 1, 8, 1 };
/* Two leaves, eight hosts with two HCAs, one on each leaf. */
static const struct world_shape rails = { 2, 2, 1, 8, 2 };

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

/* What fails while a job runs, its finding, the host that is named first, and a part of the text. */
static const struct fault { const struct world_shape *shape; const char *script; int origin; const char *host, *text; }
faults[] = {
	{ &single, "down h3.0; loads 0; wait 120", FINDING_HOST_RESTART, "h3",
	  "7 of 8 hosts wait for 30.0 s, its rhythm allows 16.0 s: h3 is down, or does not respond" },
	{ &single, "down h3.0; loads 0; wait 120", FINDING_HOST_RESTART, "h3", "link leaf0/4 - h3 mlx5_0/1 went down" },
	{ &rails, "down h2.1; loads 0; wait 120", FINDING_LINK_DOWN, "h2", "link leaf1/3 - h2 mlx5_1/1 went down" },
	{ &single, "init h3.0; loads 0; wait 400", FINDING_LINK_NOT_ACTIVE, "h3", "h3 is down" },
	{ &single, "kill leaf0; loads 0; wait 400", FINDING_NODE_MISSING, "h0", "went down" },
	{ &single, "hang h1; loads 0; wait 100", FINDING_NODE_SILENT, "h1", "h1 is down, or does not respond" },
	{ &single, "silent h2.0; wait 600; loads 0; wait 300", -1, "h0", "no host stopped before the others" },
	{ &single, "loads 0; wait 300; down leaf0/101; wait 100", -1, "h0", "no host stopped before the others" },
};

TEST(a_failure_explains_that_a_job_stalls)
{
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		struct world *world = world_create(faults[i].shape);
		const struct finding *finding;
		const struct world_report *report;

		world_run(world, RUNS);
		world_run(world, faults[i].script);
		report = world_find(world, FINDING_JOB_STALLED);
		if (!report)
			fail_msg("%s: no finding", faults[i].script);
		finding = &report->finding;
		if (strcmp(finding->hosts[0], faults[i].host) != 0 || !strstr(finding->text, faults[i].text))
			fail_msg("%s: %s, %s", faults[i].script, finding->hosts[0], finding->text);
		assert_int_equal(finding->is_explained ? (int)finding->origin.kind : -1, faults[i].origin);
		assert_int_equal(finding->affected_hosts, 8);
		assert_true(world_find(world, FINDING_TRAFFIC_FELL)->finding.is_explained);
		world_destroy(world);
	}
}
