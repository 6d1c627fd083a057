/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Findings about nodes of one kind with different firmware. */
#include <stdio.h>
#include <string.h>

#include "analysis/test_world.h"
#include "base/map.h"
#include "base/test_cases.h"
#include "base/unit_test.h"

/* Four leaves, 16 hosts with one HCA, four on each leaf; one link to each of four spines. */
static const struct world_shape single = { 4, 4, 1, 16, 1 };

TEST(one_kind_with_two_versions_is_one_finding)
{
	WORLD_CHECK(&single, true,
		{ "equal versions", "firmware h 1002 MT_1; firmware leaf 2110 MT_2; firmware spine 2110 MT_2; wait 300",
		  "" },
		{ "nothing known", "wait 300", "" },
		{ "one host", "firmware h 1002 MT_1; firmware h3 1000 MT_1; wait 60", "firmware-mixed info fabric" },
		{ "several", "firmware h 1002 MT_1; firmware h3 1000 MT_1; firmware h4 1001 MT_1; wait 60",
		  "firmware-mixed info fabric" },
		{ "two kinds", "firmware h 1002 MT_1; firmware h3 1000 MT_1; firmware leaf 7 MT_2;"
		  " firmware spine 8 MT_2; wait 60", "firmware-mixed info fabric; firmware-mixed info fabric" },
		{ "until the update", "firmware h 1002 MT_1; firmware h3 1000 MT_1; wait 60; firmware h3 1002 MT_1;"
		  " wait 300", "firmware-mixed info fabric closed" });
}

TEST(other_kinds_and_unknown_versions_are_not_compared)
{
	WORLD_CHECK(&single, true,
		{ "boards of an OEM", "firmware h 1002 MT_1; firmware h3 1000 DEL_1; wait 300", "" },
		{ "a PSID of switches and HCAs", "firmware h 1002 MT_1; firmware leaf 7 MT_1; wait 300", "" },
		{ "the only node of its kind", "firmware h3 1000 MT_1; wait 300", "" },
		{ "without a PSID", "firmware h 1002; firmware h3 1000; wait 300", "" },
		{ "a host that does not respond", "firmware h1 1002 MT_1; firmware h2 1002 MT_1; wait 300", "" });
}

TEST(a_finding_names_the_minority)
{
	struct world *world = world_create(&single);
	const struct finding *finding;

	world_run(world, "firmware h 1002 MT_1; firmware h3 1000 MT_1; firmware h7 1000 MT_1; firmware h12 2048 MT_1;"
		  " wait 60");
	finding = &world_find(world, FINDING_FIRMWARE_MIXED)->finding;
	assert_string_equal(finding->subject, "ConnectX-7");
	assert_non_null(strstr(finding->text, "3 of 16 ConnectX-7 HCAs with PSID MT_1 have other firmware than "
			       "28.39.1002: 28.39.2048 at h12; 28.39.1000 at h3, h7"));
	assert_int_equal(finding->port_count, 3);
	assert_null(strstr(finding->text, "unknown"));
	world_destroy(world);
	/* Of how many nodes the version is known. */
	world = world_create(&single);
	world_run(world, "firmware h1 1002 MT_1; firmware h2 1002 MT_1; firmware h3 1000 MT_1; wait 60");
	finding = &world_find(world, FINDING_FIRMWARE_MIXED)->finding;
	assert_non_null(strstr(finding->text, "1 of 3 ConnectX-7 HCAs with PSID MT_1 has other firmware than "));
	assert_non_null(strstr(finding->text, "; the versions of 13 more HCAs with this DeviceID are unknown"));
	world_destroy(world);
}

/* A rolling update: the text has its beginning, and the finding as well. */
TEST(an_update_that_is_under_way_has_its_beginning)
{
	struct world *world = world_create(&single);
	const struct finding *finding;

	world_run(world, "firmware h 1002 MT_1; wait 600; firmware h3 2048 MT_1; firmware h4 2048 MT_1; wait 300;"
		  " firmware h5 2048 MT_1; wait 60");
	finding = &world_find(world, FINDING_FIRMWARE_MIXED)->finding;
	assert_string_equal(finding->cause, "update");
	assert_non_null(strstr(finding->text, "2 of 16 "));
	assert_non_null(strstr(finding->text, "28.39.2048 at h3, h4; updated since "));
	assert_in_range(finding->since_us - WORLD_WALL_US, 595000000, 625000000);
	assert_int_equal(world_find(world, FINDING_FIRMWARE_MIXED)->opened, 1);
	world_destroy(world);
}

/* Random versions and PSIDs: a finding for each PSID with two versions, with the number of the less frequent ones. */
TEST(the_numbers_are_those_of_a_count)
{
	for (uint64_t seed = 0; seed < test_cases(40); seed++) {
		struct world *world = world_create(&single);
		unsigned counts[2][3] = { { 0 } };
		char command[64];

		for (unsigned host = 0; host < 16; host++) {
			uint64_t random = map_mix(seed * 16 + host + 1);
			unsigned psid = random % 2, version = (unsigned)(random >> 8) % (2 + seed % 2);

			counts[psid][version]++;
			snprintf(command, sizeof(command), "firmware h%u %u MT_%u", host, 1000 + version, psid);
			world_run(world, command);
		}
		world_run(world, "wait 60");
		for (unsigned psid = 0, found = 0; psid < 2; psid++) {
			const unsigned *of = counts[psid];
			unsigned all = of[0] + of[1] + of[2], most = of[0] > of[1] ? of[0] : of[1];
			char wanted[64];

			most = of[2] > most ? of[2] : most;
			snprintf(wanted, sizeof(wanted), "%u of %u ConnectX-7 HCAs with PSID MT_%u ", all - most, all,
				 psid);
			for (size_t i = 0; i < world->report_count; i++)
				found += world->reports[i].finding.kind == FINDING_FIRMWARE_MIXED &&
					 strstr(world->reports[i].finding.text, wanted);
			assert_int_equal(found, most < all);
			found = 0;
		}
		world_destroy(world);
	}
}
