/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Findings about differences from a cabling plan. */
#include <string.h>

#include "analysis/test_world.h"
#include "base/unit_test.h"

/* Four leaves, 16 hosts with one HCA, four on each leaf; one link to each of four spines. */
static const struct world_shape single = { 4, 4, 1, 16, 1 };
/* Four leaves, four spines with two links each, eight hosts with four HCAs, one on each leaf. */
static const struct world_shape rails = { 4, 4, 2, 8, 4 };

TEST(each_difference_is_one_finding)
{
	WORLD_CHECK(&single, true,
		{ "a fabric as planned", "plan; wait 600", "" },
		{ "without a plan", "swap leaf0/1 leaf0/2; wait 600", "topology-changed info fabric closed" },
		{ "two swapped cables", "plan; swap leaf0/1 leaf0/2; wait 100",
		  "plan-differs warning leaf0/1; topology-changed info fabric" },
		{ "of two leaves", "plan; swap leaf0/1 leaf1/2; wait 100",
		  "plan-differs warning leaf0/1; topology-changed info fabric" },
		{ "a cable in another port", "plan; move leaf0/2 50; wait 100",
		  "plan-differs warning leaf0/50; topology-changed info fabric" },
		{ "and back", "plan; move leaf0/2 50; wait 100; move leaf0/50 2; wait 400",
		  "plan-differs warning leaf0/50 closed; topology-changed info fabric closed" },
		{ "for less than a minute", "plan; swap leaf0/1 leaf0/2; wait 50; swap leaf0/1 leaf0/2; wait 400",
		  "topology-changed info fabric closed" });
}

TEST(a_host_of_several_hcas_is_one_finding)
{
	struct world *world = world_create(&rails);
	const struct finding *finding;

	world_run(world, "wait 60; plan; move leaf0/1 50; move leaf1/1 50; move leaf2/1 50; move leaf3/1 50; wait 100");
	finding = &world_find(world, FINDING_PLAN_DIFFERS)->finding;
	assert_string_equal(finding->subject, "h0");
	assert_string_equal(finding->cause, "moved");
	assert_int_equal(finding->port, 0);
	assert_int_equal(finding->port_count, 8);
	assert_non_null(strstr(finding->text, "differs from the cabling plan"));
	assert_non_null(strstr(finding->text, "move h0, or its 4 cables, from leaf0/50, leaf1/50, leaf2/50 and leaf3/50"
			       " to leaf0/1, leaf1/1, leaf2/1 and leaf3/1"));
	world_destroy(world);
}

TEST(a_link_that_goes_down_is_no_second_finding)
{
	WORLD_CHECK(&single, false,
		{ "a trunk", "plan; down leaf0/101; wait 600", "link-down critical leaf0/101" },
		{ "a spine", "plan; kill spine1; wait 600", "node-missing critical spine1" },
		{ "a host that restarts", "plan; kill h3; wait 300; revive h3; wait 600", "" },
		{ "a link that was down before", "plan; down leaf0/101; wait 100; restart; wait 300",
		  "link-down critical leaf0/101" },
		{ "a slow one", "plan; rate leaf0/101 1 NDR; wait 600", "link-degraded critical leaf0/101" });
}

TEST(a_cable_that_never_was_there_is_missing)
{
	WORLD_CHECK(&single, false,
		{ "a trunk, found by a new collector", "plan; down leaf0/101; restart; wait 300",
		  "plan-differs warning leaf0/101" });
}

TEST(more_than_ten_differences_are_one_finding)
{
	struct world *world = world_create(&single);
	const struct finding *finding;
	char summary[1024];

	world_run(world, "wait 60; plan; swap leaf0/1 leaf1/1; swap leaf0/2 leaf1/2; swap leaf0/3 leaf1/3; "
		  "swap leaf0/4 leaf1/4; swap leaf2/1 leaf3/1; swap leaf2/2 leaf3/2; wait 100");
	assert_string_equal(world_summary(world, false, summary, sizeof(summary)),
			    "plan-differs warning leaf0/1; plan-differs warning leaf0/2; plan-differs warning leaf0/3; "
			    "plan-differs warning leaf0/4; plan-differs warning leaf2/1; plan-differs warning leaf2/2");
	world_run(world, "swap leaf2/3 leaf3/3; swap leaf2/4 leaf3/4; move leaf0/101 60; move leaf0/102 61; "
		  "move leaf0/103 62; wait 100");
	world_summary(world, false, summary, sizeof(summary));
	if (!strstr(summary, "plan-differs warning fabric"))
		fail_msg("%s", summary);
	assert_null(strstr(summary, "plan-differs warning fabric closed"));
	assert_non_null(strstr(summary, "plan-differs warning leaf0/1 closed"));
	finding = &world_find_tag(world, FINDING_PLAN_DIFFERS, 1)->finding;
	assert_non_null(strstr(finding->text, "11 places differ from the cabling plan (3 wrong-port, 8 swapped)"));
	assert_int_equal((int)world_number(finding, "differences"), 11);
	world_run(world, "move leaf0/60 101; move leaf0/61 102; move leaf0/62 103; wait 100");
	world_summary(world, false, summary, sizeof(summary));
	assert_non_null(strstr(summary, "plan-differs warning fabric closed"));
	assert_non_null(strstr(summary, "plan-differs warning leaf0/1 x2;"));
	world_destroy(world);
}

TEST(a_restart_keeps_the_findings)
{
	WORLD_CHECK(&single, false,
		{ "one", "plan; swap leaf0/1 leaf0/2; wait 100; restart; wait 300", "plan-differs warning leaf0/1" },
		{ "that closes", "plan; swap leaf0/1 leaf0/2; wait 100; swap leaf0/1 leaf0/2; restart; wait 300",
		  "plan-differs warning leaf0/1 closed" });
}
