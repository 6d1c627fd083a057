/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/test_world.h"
#include "base/unit_test.h"

static const struct world_shape rails = { 4, 4, 2, 8, 4 };
/* 4 leaves with 8 hosts each, 8 uplinks. */
static const struct world_shape single = { 4, 8, 1, 32, 1 };

static const struct world_shape many_hosts = { 4, 4, 2, 16, 4 };

/* Uplinks of leaf0 at 20 %, one of them at 80 %, as with a skewed table. */
#define EVEN "routes; loads 0.2; wait 130; "
#define SKEWED "load leaf0/101 0.8; load leaf0/102 0.1; load leaf0/103 0.1; load leaf0/104 0.1; " \
	       "load leaf0/105 0.1; load leaf0/106 0.1; load leaf0/107 0.1; load leaf0/108 0.1; "

TEST(uneven_groups)
{
	WORLD_CHECK(&single, false,
		{ "even", EVEN "wait 600", "" },
		{ "idle", "routes; wait 600", "" },
		{ "a table that was changed, and not read", EVEN "skew leaf0 101 12; " SKEWED "wait 90",
		  "uplink-imbalance critical leaf0" },
		{ "a table that was changed, without traffic",
		  "routes; wait 130; skew leaf0 101 12; reread leaf0; wait 600", "" },
		{ "uneven load with even tables", EVEN SKEWED "wait 300", "" },
		{ "for a long time: flows collide", EVEN SKEWED "wait 700", "" },
		{ "the table is repaired", EVEN "skew leaf0 101 12; " SKEWED "wait 90; routes; loads 0.2; wait 420",
		  "uplink-imbalance critical leaf0 closed" },
		{ "traffic pauses for an hour", EVEN "skew leaf0 101 12; " SKEWED
		  "wait 90; loads 0; wait 3600; loads 0.2; " SKEWED "wait 90", "uplink-imbalance critical leaf0" },
		{ "without tables", "loads 0.2; wait 130; " SKEWED "wait 600", "" },
		{ "a member that is down is the cause",
		  "loads 0.2; wait 60; down leaf0/108; wait 130; routes; skew leaf0 101 4; reread leaf0; " SKEWED
		  "wait 600", "link-down warning leaf0/108" });
}

/* Few flows: the traffic of all hosts of leaf0 uses the same uplink, whatever the table is. */
#define ONE_UPLINK "load leaf0/101 0.8; load leaf0/102 0.02; load leaf0/103 0.02; load leaf0/104 0.02; " \
		   "load leaf0/105 0.02; load leaf0/106 0.02; load leaf0/107 0.02; load leaf0/108 0.02; "
/* The load of an uplink moves to the others. */
#define WITHOUT_108 "load leaf0/101 0.3; load leaf0/102 0.2; load leaf0/103 0.2; load leaf0/104 0.2; " \
		    "load leaf0/105 0.2; load leaf0/106 0.2; load leaf0/107 0.2; load leaf0/108 0; "

/* Traffic of the former tables says nothing about the new ones. */
TEST(tables_that_changed_in_the_window_are_no_cause)
{
	WORLD_CHECK(&single, false,
		{ "in the first window", "cold; routes; loads 0.2; " ONE_UPLINK "wait 50; skew leaf0 101 12; "
		  "reread leaf0; wait 10; loads 0; wait 100", "" },
		{ "in a later one", "routes; loads 0.2; " ONE_UPLINK "wait 160; skew leaf0 101 12; reread leaf0; "
		  "wait 20; loads 0; wait 100", "" },
		{ "read on request, for the window before", "routes; loads 0.2; " ONE_UPLINK "wait 40; "
		  "skew leaf0 101 12; wait 20; loads 0; wait 100", "" },
		{ "they stay, and so does the load", "routes; loads 0.2; " ONE_UPLINK "wait 160; skew leaf0 101 12; "
		  "reread leaf0; wait 130", "uplink-imbalance critical leaf0" },
		{ "the load moves with them", EVEN "wait 20; skew leaf0 101 12; reread leaf0; " SKEWED "wait 50",
		  "uplink-imbalance warning leaf0" },
		{ "other entries change in each minute", EVEN "skew leaf0 101 12; " SKEWED "wait 30; "
		  "skew leaf0 102 1; reread leaf0; wait 60; skew leaf0 103 1; reread leaf0; wait 60",
		  "uplink-imbalance critical leaf0" },
		{ "of a switch that has no counters", EVEN "silent spine7; wait 20; skew leaf0 101 12; reread leaf0; "
		  SKEWED "wait 60", "node-silent critical spine7; uplink-imbalance warning leaf0" },
		{ "around a switch that hangs", EVEN "hang spine7; wait 20; avoid leaf0 108 101; reread leaf0; "
		  WITHOUT_108 "wait 60",
		  "node-silent critical spine7" });
}

/* A job that waits for the full uplink sends a quarter of its former load. */
#define SLOWED "load leaf0/101 0.2; load leaf0/102 0.0286; load leaf0/103 0.0286; load leaf0/104 0.0286; " \
	       "load leaf0/105 0.0286; load leaf0/106 0.0286; load leaf0/107 0.0286; load leaf0/108 0.0286; "

/* Error of `since` for a skew that starts @before_s after the start of a window. */
static int64_t dated_off_s(unsigned before_s, const char *loads)
{
	struct world *world = world_create(&single);
	const struct world_report *report;
	int64_t changed_us, off_us;
	char script[512];

	world_run(world, EVEN);
	snprintf(script, sizeof(script), "wait %u", before_s);
	world_run(world, script);
	changed_us = WORLD_WALL_US + world->now_us;
	snprintf(script, sizeof(script), "skew leaf0 101 12; %swait 90", loads);
	world_run(world, script);
	report = world_find(world, FINDING_UPLINK_IMBALANCE);
	assert_non_null(report);
	assert_string_equal(report->finding.cause, "routing");
	assert_true(report->opened_us - (changed_us - WORLD_WALL_US) <= 90000000);
	off_us = report->finding.since_us - changed_us;
	world_destroy(world);
	return off_us / 1000000;
}

/* `since` is the time when the table changed, although it was read later. */
TEST(a_skew_is_dated_by_the_load)
{
	for (unsigned before = 0; before <= 50; before += 10) {
		int64_t off_s = dated_off_s(before, SKEWED), slowed_s = dated_off_s(before, SLOWED);

		/* Sweeps are 10 s apart. */
		if (llabs(off_s) > 10 || llabs(slowed_s) > 10)
			fail_msg("%u s into a window: dated %lld s off, and %lld s where the job became slower", before,
				 (long long)off_s, (long long)slowed_s);
	}
}

static const struct finding *open_imbalance(struct world *world)
{
	const struct finding *const *open;
	size_t count = health_open(world->health, &open);

	for (size_t i = 0; i < count; i++)
		if (open[i]->kind == FINDING_UPLINK_IMBALANCE)
			return open[i];
	fail_msg("no imbalance is open");
	return NULL;
}

/* A window that ends after the repair has little of the fault. */
TEST(a_finding_that_is_over_has_the_numbers_of_its_worst_window)
{
	struct world *world = world_create(&single);
	const struct finding *finding;

	world_run(world, EVEN "skew leaf0 101 12; " SKEWED "wait 90");
	world_run(world, "load leaf0/101 0.4; load leaf0/102 0.15; load leaf0/103 0.15; load leaf0/104 0.15; "
		  "load leaf0/105 0.15; load leaf0/106 0.15; load leaf0/107 0.15; load leaf0/108 0.15; wait 120");
	assert_non_null(strstr(open_imbalance(world)->text, " carries 28 % of"));
	world_run(world, "routes; loads 0.2; wait 130");
	finding = open_imbalance(world);
	assert_true(finding->ok_since_us != 0);
	assert_non_null(strstr(finding->text, " carried 53 % of"));
	assert_true(fabs(finding_magnitude(finding)->value - 100 * 0.8 / 1.5) < 0.5);
	world_run(world, "wait 420");
	finding = &world_find(world, FINDING_UPLINK_IMBALANCE)->finding;
	assert_true(finding->closed_us != 0);
	assert_non_null(strstr(finding->text, " carried 53 % of"));
	world_destroy(world);
}

/* An uplink whose load is unknown may be full: shares and excess are what they are then, or more. */
TEST(numbers_of_a_group_with_an_unknown_member_are_lower_bounds)
{
	struct world *world = world_create(&single);
	const struct finding *finding;

	world->settings.balance.coverage = 0.8;
	world_restart(world);
	world_run(world, EVEN "skew leaf0 101 12; " SKEWED "wait 90");
	finding = open_imbalance(world);
	assert_true(isnan(world_number(finding, FINDING_LOWER_BOUND)));
	assert_true(fabs(world_number(finding, "measured_percent") - 100 * 0.8 / 1.5) < 0.5);
	assert_true(fabs(world_number(finding, "excess_percent") - 100 * (8 * 0.8 / 1.5 - 1)) < 1);
	world_run(world, "full leaf0/108 xmit_data; full spine7/1 xmit_data; wait 120");
	finding = open_imbalance(world);
	assert_true(world_number(finding, FINDING_LOWER_BOUND) == 1);
	assert_true(fabs(world_number(finding, "measured_percent") - 100 * 0.8 / 2.4) < 0.5);
	/* With as much as the hottest, the least excess. */
	assert_true(fabs(world_number(finding, "excess_percent") - 100 * (8 * 0.8 / 2.2 - 1)) < 1);
	assert_non_null(strstr(finding->text, " carries at least 33 % of"));
	world_destroy(world);
}

/* PortXmitWait has 32 bits in many agents. */
TEST(a_stall_of_a_saturated_counter_is_a_lower_bound)
{
	struct world *world = world_create(&single);
	const struct finding *finding;

	world_run(world, "load leaf0/101 0.2; stall leaf0/101 0.2; wait 400");
	finding = &world_find(world, FINDING_CONGESTION)->finding;
	assert_true(isnan(world_number(finding, FINDING_LOWER_BOUND)));
	assert_null(strstr(finding->text, "at least"));
	world_destroy(world);
	world = world_create(&single);
	world_run(world, "load leaf0/101 0.2; stall leaf0/101 0.2; full leaf0/101 xmit_wait; wait 400");
	finding = &world_find(world, FINDING_CONGESTION)->finding;
	assert_true(world_number(finding, FINDING_LOWER_BOUND) == 1);
	assert_non_null(strstr(finding->text, "stalled at least 20 %"));
	world_destroy(world);
}

TEST(congestion_at_its_root)
{
	WORLD_CHECK(&single, true,
		{ "a trunk that stalls 9 %", "load leaf0/101 0.2; stall leaf0/101 0.09; wait 900", "" },
		{ "a trunk that stalls", "load leaf0/101 0.2; stall leaf0/101 0.11; wait 310",
		  "congestion warning leaf0/101" },
		{ "for four minutes", "load leaf0/101 0.2; stall leaf0/101 0.11; wait 250; stall leaf0/101 0; wait 900",
		  "" },
		{ "30 % without harm", "loads 0.1; stall leaf0/101 0.5; wait 400", "congestion warning leaf0/101" },
		{ "30 % with harm", "loads 0.05; load leaf0/101 0.2; stall leaf0/101 0.5; wait 400",
		  "congestion critical leaf0/101" },
		{ "to a host it is the host", "load leaf0/1 0.2; stall leaf0/1 0.5; wait 400",
		  "congestion info leaf0/1" },
		{ "ports that wait for it are not reported", "load leaf0/1 0.2; stall leaf0/1 0.5; load spine0/1 0.2; "
		  "stall spine0/1 0.4; load leaf1/101 0.2; stall leaf1/101 0.3; wait 400", "congestion info leaf0/1" },
		{ "a full host", "load leaf0/1 0.98; load spine0/1 0.5; stall spine0/1 0.4; load spine1/1 0.5; "
		  "stall spine1/1 0.4; wait 400", "congestion info leaf0/1" },
		{ "full trunks are load", "load spine0/2 0.97; load leaf0/101 0.5; stall leaf0/101 0.3; wait 900", "" },
		{ "an HCA that waits for its leaf", "load h0.0 0.2; stall h0.0 0.5; wait 400", "" },
		{ "before a switch that was not read",
		  "silent spine0; load leaf0/101 0.2; stall leaf0/101 0.5; wait 900", "node-silent critical spine0" },
		{ "it closes", "load leaf0/101 0.2; stall leaf0/101 0.2; wait 400; stall leaf0/101 0; wait 1200",
		  "congestion warning leaf0/101 closed" },
		{ "on a slow link it is a symptom",
		  "rate leaf0/101 1 NDR; load leaf0/101 0.2; stall leaf0/101 0.4; wait 900",
		  "link-degraded critical leaf0/101" });
}

/* All HCAs of all hosts at 30 %. */
#define BUSY "loads 0.3; wait 60; "

TEST(rails_of_hosts)
{
	WORLD_CHECK(&rails, false,
		{ "all alike", BUSY "wait 1800", "" },
		{ "one a little less", BUSY "load h3.1 0.26; load leaf1/4 0.26; wait 1800", "" },
		{ "one much less", BUSY "load h3.1 0.2; load leaf1/4 0.2; wait 660",
		  "rail-imbalance warning h3 mlx5_1/1" },
		{ "on three hosts: a common cause", BUSY "load h3.1 0.2; load leaf1/4 0.2; load h4.1 0.2; "
		  "load leaf1/5 0.2; load h5.1 0.2; load leaf1/6 0.2; wait 1800", "" },
		{ "for nine minutes", BUSY "load h3.1 0.2; load leaf1/4 0.2; wait 480; loads 0.3; wait 900", "" },
		{ "one is idle", BUSY "load h3.1 0; load leaf1/4 0; wait 660", "nic-unused warning h3 mlx5_1/1" },
		{ "for nine minutes without traffic", BUSY "load h3.1 0; load leaf1/4 0; wait 540; loads 0.3; wait 900",
		  "" },
		{ "one that is down is not unused", BUSY "down h3.1; wait 1800", "link-down warning leaf1/4" },
		{ "a job on half of the rails", BUSY "load h3.0 0; load leaf0/4 0; load h3.1 0; load leaf1/4 0; "
		  "load h4.0 0; load leaf0/5 0; load h4.1 0; load leaf1/5 0; load h5.0 0; load leaf0/6 0; "
		  "load h5.1 0; load leaf1/6 0; wait 1800", "" });
}

TEST(cables_and_tables)
{
	WORLD_CHECK(&many_hosts, false,
		{ "two cables swapped", "swap leaf1/4 leaf2/4; wait 60", "rail-miswired warning h3 mlx5_1/1" });
	WORLD_CHECK(&single, false,
		{ "a black hole for 20 s",
		  "routes; wait 60; skew leaf0 99 1; reread leaf0; wait 20; routes; wait 60", "" },
		{ "a black hole", "routes; wait 60; skew leaf0 99 1; reread leaf0; wait 60",
		  "black-hole critical leaf0" });
}

/* The only open finding that is not an info. */
static const struct finding *only_open(struct world *world)
{
	const struct finding *const *open, *found = NULL;
	size_t count = health_open(world->health, &open);

	for (size_t i = 0; i < count; i++) {
		assert_true(!found || open[i]->severity == FINDING_INFO);
		found = open[i]->severity == FINDING_INFO ? found : open[i];
	}
	assert_non_null(found);
	return found;
}

static void is_state(struct world *world, const char *script, bool holds, const char *words)
{
	const struct finding *finding;

	world_run(world, script);
	finding = only_open(world);
	if (!finding->ok_since_us != holds || !strstr(finding->text, words))
		fail_msg("after \"%s\": %s, \"%s\"", script, finding->ok_since_us ? "clearing" : "holds",
			 finding->text);
}

/* Until it closes, a finding says in the past tense what was, and since when it is over. */
TEST(a_finding_whose_condition_has_ended_is_clearing)
{
	struct world *world = world_create(&single);
	int64_t ok_us;

	is_state(world, "wait 60; sm lost; wait 60", true, "no master SM has responded");
	ok_us = WORLD_WALL_US + world->now_us;
	is_state(world, "sm ok; wait 30", false, "no master SM had responded for 60 s; new links stayed in Init");
	assert_in_range(only_open(world)->ok_since_us, ok_us, ok_us + 10 * INT64_C(1000000));
	is_state(world, "sm lost; wait 40", true, "no master SM has responded");
	world_run(world, "sm ok; wait 120; loads 0.2; down leaf0/101; wait 60");
	is_state(world, "wait 10", true, "% of the uplinks of leaf0 are down");
	is_state(world, "up leaf0/101; wait 10", false, "was down for");
	world_destroy(world);
}

/* Windows of a minute: between them the last one counts; a repaired table ends the condition at once. */
TEST(a_repaired_table_ends_an_imbalance)
{
	struct world *world = world_create(&single);

	is_state(world, EVEN "skew leaf0 101 12; " SKEWED "wait 90", true, "port 101 carries");
	is_state(world, "wait 50", true, "port 101 carries");
	/* Nothing is measured, but the table is still uneven. */
	is_state(world, "loads 0; wait 130", true, "port 101 carried");
	is_state(world, "loads 0.2; " SKEWED "wait 130", true, "port 101 carries");
	is_state(world, "routes; wait 10", false, "port 101 carried");
	is_state(world, "loads 0.2; wait 120", false, "LIDs were routed through it");
	world_destroy(world);
}

/* The window of the evidence: not longer than the time that is covered. */
TEST(counts_name_the_time_in_which_they_were_counted)
{
	struct world *world = world_create(&single);
	const struct finding *finding;

	world_run(world, "wait 60; spread leaf0/101 symbol_errors 12 3; wait 60");
	finding = only_open(world);
	assert_non_null(strstr(finding->text, "12 symbol errors in 2 min at"));
	assert_string_equal(finding->numbers[0].key, FINDING_WINDOW_FROM);
	assert_true(finding->numbers[0].value == (double)WORLD_WALL_US);
	assert_string_equal(finding->numbers[1].key, FINDING_WINDOW_UNTIL);
	assert_true(finding->numbers[1].value == (double)finding->last_seen_us);
	world_run(world, "wait 2400; spread leaf0/101 symbol_errors 9 3; wait 60");
	assert_non_null(strstr(only_open(world)->text, "21 symbol errors in 44 min at"));
	world_destroy(world);
}

/*
 * The subnet manager repairs a table after 20 s, before the table is read again. The table is read
 * before a finding opens. @again: other destinations are lost meanwhile, as when hosts restart one
 * after the other.
 */
/* A black hole is dated by what made it, not by an earlier change of another switch. */
TEST(a_hole_begins_with_the_change_that_made_it)
{
	static const char *const made_by[] = {
		"skew leaf0 99 1; reread leaf0", "down leaf0/101; wait 40; reread leaf0",
	};

	for (size_t i = 0; i < sizeof(made_by) / sizeof(made_by[0]); i++) {
		struct world *world = world_create(&single);
		const struct world_report *report;
		int64_t made_us;

		world_run(world, "routes; wait 60; skew leaf1 102 2; reread leaf1; wait 84");
		made_us = WORLD_WALL_US + world->now_us;
		world_run(world, made_by[i]);
		world_run(world, "wait 90");
		report = world_find(world, FINDING_BLACK_HOLE);
		assert_non_null(report);
		if (llabs(report->finding.since_us - made_us) > 20 * INT64_C(1000000))
			fail_msg("%s: since %lld s after it", made_by[i],
				 (long long)(report->finding.since_us - made_us) / 1000000);
		world_destroy(world);
	}
}

TEST(a_hole_that_was_repaired_before_the_next_read_is_not_reported)
{
	for (unsigned again = 0; again < 2; again++) {
		struct world *world = world_create(&single);

		world_run(world, "routes; wait 60; skew leaf0 99 1; reread leaf0");
		for (unsigned i = 0; i < 30; i++) {
			world_sweeps(world, 1);
			if (i == 2)
				world_settle_routes(world);
			if (again && i < 24 && i % 3 == 2)
				world_run(world, i % 6 == 2 ? "skew leaf0 98 1; reread leaf0" :
							      "skew leaf0 99 1; reread leaf0");
			else if (again && i == 24)
				world_settle_routes(world);
		}
		assert_null(world_find(world, FINDING_BLACK_HOLE));
		world_destroy(world);
	}
}

/*
 * The table of a switch whose load it does not explain is requested, and less often while it is
 * unchanged.
 */
TEST(unchanged_tables_are_requested_less_often)
{
	struct world *world = world_create(&single);
	unsigned wanted = 0;

	world_run(world, EVEN SKEWED);
	for (unsigned minute = 0; minute < 60; minute++) {
		for (unsigned i = 0; i < 6; i++) {
			world_sweeps(world, 1);
			wanted += world->read_count > 0;
		}
	}
	assert_in_range(wanted, 1, 6);
	world_destroy(world);
}
