/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Findings about P_Keys that do not fit. */
#include <string.h>

#include "analysis/test_world.h"
#include "base/unit_test.h"

/* Two leaves, two spines, eight hosts with one HCA, four on each leaf. */
static const struct world_shape single = { 2, 2, 1, 8, 1 };
/* Two leaves, eight hosts with two HCAs, one on each leaf. */
static const struct world_shape rails = { 2, 2, 1, 8, 2 };

TEST(usual_partitions_are_no_finding)
{
	WORLD_CHECK(&single, true,
		{ "tables that are not known", "job 1 0 7; wait 300", "" },
		{ "full members of the default partition", "pkeys; job 1 0 7; wait 300", "" },
		{ "tenants of two hosts, and a server of both",
		  "pkeys; pkey h0.0 7fff 8012; pkey h1.0 7fff 8012; pkey h2.0 7fff 8013; pkey h3.0 7fff 8013;"
		  " pkey h4.0 7fff 8012 8013; job 1 0 1; job 2 2 3; wait 300", "" },
		{ "limited members of a server",
		  "pkeys; pkey h0.0 7fff 0012; pkey h1.0 7fff 0012; pkey h2.0 7fff 8012; job 1 2 2; wait 300", "" },
		{ "a fabric without a default partition",
		  "pkey h0.0 8012; pkey h1.0 8012; pkey h2.0 8012; pkey h3.0 8013; pkey h4.0 8013; wait 300", "" },
		{ "pairs that share different partitions",
		  "pkeys; pkey h0.0 7fff 8012 8013; pkey h1.0 7fff 8012 8014; pkey h2.0 7fff 8013 8014; job 1 0 2;"
		  " wait 300",
		  "" },
		{ "a partition whose other host restarts",
		  "pkeys; pkey h0.0 ffff 8012; pkey h1.0 ffff 8012; kill h1; wait 100; revive h1; wait 500",
		  "host-restart info h1 mlx5_0 closed; topology-changed info fabric closed" },
		{ "a switch port that enforces what its host has", "pkeys; enforce leaf0/1 ffff; wait 300", "" });
}

TEST(ports_of_a_job_that_cannot_communicate)
{
	WORLD_CHECK(&single, true,
		{ "one without the partition",
		  "pkeys; pkey h0.0 7fff 8012; pkey h1.0 7fff 8012; pkey h2.0 7fff; job 1 0 2; wait 100",
		  "partition warning h2 mlx5_0/1" },
		{ "limited members only", "pkeys; pkey h0.0 7fff; pkey h1.0 7fff; job 1 0 1; wait 100",
		  "partition warning h0 mlx5_0/1" },
		{ "a pair of limited members beside a full one",
		  "pkeys; pkey h0.0 ffff; pkey h1.0 7fff; pkey h2.0 7fff; job 1 0 2; wait 100",
		  "partition warning h1 mlx5_0/1" },
		{ "until it ends", "pkeys; pkey h0.0 7fff; pkey h1.0 7fff; job 1 0 1; wait 100; end 1; wait 400",
		  "partition warning h0 mlx5_0/1 closed" },
		{ "until it is corrected",
		  "pkeys; pkey h0.0 7fff; pkey h1.0 7fff; job 1 0 1; wait 100; pkey h0.0 ffff; wait 400",
		  "partition warning h0 mlx5_0/1 closed" },
		{ "not while tables change",
		  "pkeys; wait 60; unsettled; pkey h0.0 7fff; pkey h1.0 7fff; job 1 0 1; wait 100", "" },
		{ "then", "pkeys; unsettled; pkey h0.0 7fff; pkey h1.0 7fff; job 1 0 1; wait 100; settled; wait 60",
		  "partition warning h0 mlx5_0/1" },
		{ "and it stays meanwhile",
		  "pkeys; pkey h0.0 7fff; pkey h1.0 7fff; job 1 0 1; wait 100; unsettled; pkey h0.0 ffff; wait 900",
		  "partition warning h0 mlx5_0/1" });
}

TEST(rails_are_separate)
{
	WORLD_CHECK(&rails, true,
		{ "a partition for each rail",
		  "pkeys; pkey h0.0 8012; pkey h1.0 8012; pkey h0.1 8013; pkey h1.1 8013; pkey h2.0 8012;"
		  " pkey h2.1 8013; pkey h3.0 8012; pkey h3.1 8013; pkey h4.0 8012; pkey h4.1 8013; job 1 0 3;"
		  " wait 100", "" },
		{ "one port of the second rail, which also lacks the default partition",
		  "pkeys; pkey h2.1 8013; pkey h3.1 ffff 8013; job 1 0 2; wait 100",
		  "partition warning h2 mlx5_1/1; partition warning h2 mlx5_1/1" });
}

TEST(ports_that_differ_from_the_others)
{
	struct world *world;
	const struct finding *finding;

	WORLD_CHECK(&single, true,
		{ "a P_Key left behind", "pkeys; pkey h3.0 ffff 8012; wait 100", "partition info h3 mlx5_0/1" },
		{ "without the default partition", "pkeys; pkey h3.0 8012; pkey h4.0 ffff 8012; wait 100",
		  "partition warning h3 mlx5_0/1" },
		{ "a switch port that lacks a P_Key",
		  "pkeys; pkey h0.0 ffff 8012; pkey h1.0 ffff 8012; enforce leaf0/1 ffff; wait 100",
		  "partition warning leaf0/1" });
	world = world_create(&single);
	world_run(world, "wait 60; pkeys; pkey h0.0 ffff 8012; pkey h1.0 ffff 8012; enforce leaf0/1 ffff; wait 60;"
			 " count leaf0/1 rcv_constraint_errors 500; wait 60");
	finding = &world_find(world, FINDING_PARTITION)->finding;
	assert_string_equal(finding->cause, "switch-port");
	assert_non_null(strstr(finding->text, "lacks P_Key 0x8012 of h0 mlx5_0/1"));
	finding = &world_find(world, FINDING_CONSTRAINT_ERRORS)->finding;
	assert_string_equal(finding->cause, "switch-port");
	assert_non_null(strstr(finding->text, "the switch port lacks P_Key 0x8012 of h0 mlx5_0"));
	world_destroy(world);
}

TEST(findings_outlive_a_restart)
{
	WORLD_CHECK(&single, true,
		{ "whose tables were not read yet",
		  "pkeys; pkey h3.0 ffff 8012; wait 100; unsettled; restart; wait 900; settled; wait 60",
		  "partition info h3 mlx5_0/1" });
}
