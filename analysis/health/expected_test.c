/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Expected numbers of hosts, HCAs, switches and links */
#include <string.h>

#include "analysis/test_world.h"
#include "base/unit_test.h"

/* The finding that something is missing, or NULL. */
static const struct world_report *find(const struct world *world)
{
	for (size_t i = 0; i < world->report_count; i++)
		if (world->reports[i].finding.kind == FINDING_TOPOLOGY_CHANGED &&
		    !strcmp(world->reports[i].finding.cause, "fewer-than-expected"))
			return &world->reports[i];
	return NULL;
}

/*
 * Four hosts with four HCAs each on four leaves, below two spines: 16 links to hosts and 8 between
 * switches.
 */
static struct world *begin(unsigned hosts, unsigned hcas, unsigned switches, unsigned links)
{
	struct world *world = world_create(&(struct world_shape){ .leaves = 4, .spines = 2, .parallel = 1, .hosts = 4,
								   .rails = 4 });

	world->settings.expected_hosts = hosts;
	world->settings.expected_hcas = hcas;
	world->settings.expected_switches = switches;
	world->settings.expected_links = links;
	world_restart(world);
	return world;
}

TEST(no_finding_without_settings_or_with_all_present)
{
	struct world *world = begin(0, 0, 0, 0);

	world_run(world, "wait 60; kill h3; wait 2000");
	assert_null(find(world));
	world_destroy(world);
	world = begin(4, 16, 6, 24);
	world_run(world, "wait 2000");
	assert_null(find(world));
	world_destroy(world);
}

TEST(missing_nodes_are_reported_and_the_finding_closes)
{
	struct world *world = begin(4, 16, 6, 24);

	world_run(world, "wait 60; kill h3; wait 880");
	assert_null(find(world));
	world_run(world, "wait 60");
	assert_non_null(find(world));
	assert_int_equal(find(world)->finding.severity, FINDING_WARNING);
	assert_non_null(strstr(find(world)->finding.text, "3 of 4 hosts, 12 of 16 HCAs, 20 of 24 Active links"));
	assert_in_range(find(world)->finding.since_us - WORLD_WALL_US, 50000000, 90000000);
	assert_int_equal(find(world)->closed, 0);
	world_run(world, "revive h3; wait 600");
	assert_int_equal(find(world)->closed, 1);
	world_destroy(world);
}

TEST(a_reboot_is_no_loss)
{
	struct world *world = begin(4, 16, 6, 24);

	world_run(world, "wait 60; kill h2; wait 600; revive h2; wait 600; kill h1; wait 600; revive h1; wait 600");
	assert_null(find(world));
	world_destroy(world);
}

TEST(fewer_than_expected_at_the_start_is_reported)
{
	struct world *world = begin(5, 0, 0, 0);

	world_run(world, "wait 960");
	assert_non_null(find(world));
	assert_non_null(strstr(find(world)->finding.text, "4 of 5 hosts found"));
	world_destroy(world);
}
