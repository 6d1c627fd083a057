/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Traffic that falls: what is reported of it, once, and what is not known. */
#include <stdio.h>
#include <string.h>

#include "analysis/test_world.h"
#include "base/test_cases.h"
#include "base/unit_test.h"

static const struct world_shape rails = { 4, 4, 2, 8, 4 };
static const struct world_shape single = { 4, 8, 1, 32, 1 };

/* The reports of all falls: how often one opened, and the text of the last. */
static unsigned falls(const struct world *world, char ret[320])
{
	unsigned opened = 0;

	*ret = 0;
	for (size_t i = 0; i < world->report_count; i++) {
		const struct world_report *report = &world->reports[i];

		if (report->finding.kind != FINDING_TRAFFIC_FELL)
			continue;
		opened += report->opened;
		assert_int_equal(report->worst, FINDING_INFO);
		snprintf(ret, 320, "%s", report->finding.text);
	}
	return opened;
}

static void check(const struct world_shape *shape, const char *script, unsigned expected, const char *text)
{
	struct world *world = world_create(shape);
	char found[320];
	unsigned count;

	world_run(world, script);
	count = falls(world, found);
	if (count != expected || (text && !strstr(found, text)))
		fail_msg("%s: %u falls, \"%s\"; expected %u, \"%s\"", script, count, found, expected,
			 text ? text : "");
	world_destroy(world);
}

TEST(what_falls_is_one_finding_of_the_widest_subject)
{
	check(&rails, "loads 0.3; wait 300; loads 0; wait 30", 1, "traffic of the fabric fell from 3.8 Tb/s to 0 b/s");
	check(&rails, "loads 0.3; wait 300; loads 0.03; wait 30", 1, "fell from 3.8 Tb/s to 384.0 Gb/s");
	/* All of rail 1: its leaf has no other traffic. */
	check(&rails, "loads 0.3; wait 300; loads 0 leaf1; wait 60", 1,
	      "traffic of the rail mlx5_1 fell from 960.0 Gb/s to 0 b/s");
	check(&rails, "loads 0.3; wait 300; loads 0 leaf1; loads 0 leaf3; wait 60", 1,
	      "traffic of the 2 rails fell from 1.9 Tb/s to 0 b/s");
	check(&single, "loads 0.3; wait 300; loads 0 leaf1; wait 60", 1, "traffic of the leaf1 uplinks fell from");
	check(&single, "loads 0.3; wait 300; loads 0 leaf1; loads 0 leaf2; wait 60", 1,
	      "traffic of the uplinks of 2 switches fell from");
	check(&single, "loads 0.3; wait 300; loads 0 leaf1; wait 120; loads 0 leaf2; wait 60", 2, NULL);
}

TEST(what_is_no_fall)
{
	check(&rails, "wait 3600", 0, NULL);
	check(&rails, "loads 0.3; wait 300; loads 0.2; wait 300; loads 0.08; wait 300; loads 0.02; wait 20", 0, NULL);
	check(&rails, "loads 0.3; wait 300; loads 0; wait 10; loads 0.3; wait 300", 0, NULL);
	/* Almost nothing is moved. */
	check(&rails, "loads 0.003; wait 300; loads 0; wait 300", 0, NULL);
	/* It began a moment ago. */
	check(&rails, "wait 30; loads 0.3; wait 10; loads 0; wait 300", 0, NULL);
}

/* Ports that do not respond have not stopped; nor have those whose counters are cleared or full. */
TEST(what_is_not_known_has_not_fallen)
{
	static const char *const events[] = {
		"silent leaf0", "silent leaf0; silent leaf1; silent leaf2; silent leaf3", "silent h0; silent h1",
		"silent spine0; silent leaf1", "kill h0", "kill leaf0", "unread 60",
		"silent leaf0; silent h3; answer leaf0",
		"full leaf0/101 xmit_data; full leaf0/102 xmit_data; full leaf0/103 xmit_data",
		"silent leaf0; wait 100; answer leaf0; silent leaf1; wait 100; silent leaf2",
	};
	char script[400];

	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		snprintf(script, sizeof(script), "loads 0.3; wait 300; %s; wait 300", events[i]);
		check(&single, script, 0, NULL);
		check(&rails, script, 0, NULL);
	}
}

/* Where a part of the fabric does not respond and the rest stops, the fall is that of the rest. */
TEST(the_rest_falls)
{
	check(&rails, "loads 0.3; wait 300; silent leaf0; silent h0; silent h1; silent h2; silent h3; loads 0; wait 60",
	      1,
	      "traffic of the fabric fell from 3.4 Tb/s to 0 b/s (at 28 of 32 ports; the others are not known)");
}

/* A pause that ends is one report, and one that is twice as long another; pauses of equal length are no more. */
TEST(pauses_of_a_job_are_reported_once)
{
	struct world *world = world_create(&rails);
	char found[320];

	check(&rails, "loads 0.3; wait 300; loads 0; wait 60; loads 0.3; wait 300", 1,
	      "fell from 3.8 Tb/s to 0 b/s; 3.8 Tb/s again after 60 s");
	world_run(world, "loads 0.3; wait 300");
	for (unsigned i = 0; i < 60; i++)
		world_run(world, "loads 0; wait 60; loads 0.3; wait 240");
	assert_int_equal(falls(world, found), 1);
	/* The job ends, some time after its last pause. */
	world_run(world, "loads 0; wait 120");
	assert_int_equal(falls(world, found), 1);
	world_run(world, "wait 20");
	assert_int_equal(falls(world, found), 2);
	world_destroy(world);
}

/* Phases of any length: the number of reports is that of the doublings. The short form has each length once or more. */
TEST(phases_do_not_flood)
{
	static const unsigned lengths_s[] = { 10, 30, 60, 120, 300, 1200 };

	for (size_t on = 0; on < sizeof(lengths_s) / sizeof(lengths_s[0]); on++)
		for (size_t off = 0; off < sizeof(lengths_s) / sizeof(lengths_s[0]); off++) {
			struct world *world;
			char script[80], found[320];

			if ((on + off) % (4 / test_cases(4)))
				continue;
			world = world_create(&rails);
			snprintf(script, sizeof(script), "loads 0.3; wait %u; loads 0; wait %u", lengths_s[on],
				 lengths_s[off]);
			for (unsigned s = 0; s < 3 * 3600; s += lengths_s[on] + lengths_s[off])
				world_run(world, script);
			if (falls(world, found) > 2)
				fail_msg("%u s on, %u s off: %u falls", lengths_s[on], lengths_s[off],
					 falls(world, found));
			world_destroy(world);
		}
}

/* It is explained by a node that failed at that time, and is reported beside it. */
TEST(a_fall_beside_a_fault_is_its_consequence)
{
	struct world *world = world_create(&single);
	const struct world_report *fell;

	world_run(world, "loads 0.3; wait 300; silent leaf0; loads 0; wait 60");
	fell = world_find(world, FINDING_TRAFFIC_FELL);
	assert_non_null(fell);
	assert_true(fell->finding.is_explained);
	assert_int_equal(fell->finding.origin.kind, FINDING_NODE_SILENT);
	world_destroy(world);
	/* Also if the traffic began a moment before, and if the fault only slows the traffic down. */
	check(&single, "loads 0.3; wait 30; loads 0; wait 60", 0, NULL);
	check(&single, "loads 0.3; wait 30; silent leaf0; loads 0; wait 60", 1, NULL);
	world = world_create(&single);
	world_run(world, "loads 0.3; wait 30; rate leaf0/101 1 NDR; loads 0.03; wait 100");
	fell = world_find(world, FINDING_TRAFFIC_FELL);
	assert_non_null(fell);
	assert_true(fell->finding.is_explained);
	assert_int_equal(fell->finding.origin.kind, FINDING_LINK_DEGRADED);
	world_destroy(world);
	check(&single, "loads 0.3; wait 30; rate h3.0 4 EDR; loads 0.03; wait 100", 0, NULL);
	/* Pauses of the job neither delay it, nor does it delay the next. */
	check(&single, "loads 0.3; wait 300; loads 0; wait 120; loads 0.3; wait 300; silent leaf0; loads 0; wait 40", 2,
	      NULL);
	check(&single, "loads 0.3; wait 80; silent leaf0; loads 0; wait 60; answer leaf0; loads 0.3; wait 150; "
	      "loads 0; wait 40", 2, NULL);
	check(&single, "loads 0.3; wait 300; loads 0; wait 40; restart; loads 0; wait 200", 1, "before a restart");
	/* A job of a small part of the fabric: its end is one fall, also when the fabric has been idle for a while. */
	check(&single, "loads 0; loads 0.06 leaf0; wait 400; loads 0; wait 1800", 1, "traffic of the fabric fell");
}

/* The fall of a running job is one finding that names it, also where it is most of a wider fall. */
TEST(a_fall_of_a_job_names_it)
{
	struct world *world = world_create(&single);
	const struct world_report *fell;

	world_run(world, "loads 0.3; job 7 0 7; wait 300; loads 0 leaf0; wait 60");
	fell = world_find(world, FINDING_TRAFFIC_FELL);
	assert_non_null(fell);
	assert_string_equal(fell->finding.subject, "job 7");
	assert_non_null(strstr(fell->finding.text, "traffic of job 7 fell from 960.0 Gb/s to 0 b/s"));
	assert_int_equal(fell->finding.port_count, 8);
	assert_false(fell->finding.is_explained);
	/* It ends with the job, and no wider fall takes its place. */
	world_run(world, "end 7; wait 100");
	assert_int_equal(fell->closed, 1);
	assert_int_equal(world->report_count, 1);
	assert_non_null(strstr(fell->finding.text, "; the job ended 60 s later"));
	world_destroy(world);
	check(&single, "loads 0.3; job 7 0 15; job 9 16 31; wait 300; loads 0; wait 60", 1,
	      "traffic of jobs 9, 7 fell");
	/* A job of half of a fabric that stops, a small one; a job whose host list has no host of the fabric. */
	check(&single, "loads 0.3; job 7 0 15; wait 300; loads 0; wait 60", 2, NULL);
	check(&single, "loads 0.3; job 7 0 1; wait 300; loads 0; wait 60", 2, NULL);
	check(&single, "loads 0.3; job 7 50 60; wait 300; loads 0; wait 60", 1, "traffic of the fabric fell");
	/* The job ended at once: what fell is the fabric's. */
	check(&single, "loads 0.3; job 7 0 31; wait 300; loads 0; wait 10; end 7; wait 60", 1, "of the fabric fell");
}

TEST(what_is_no_fall_of_a_job)
{
	/* Its hosts had other traffic before it; it has just begun; it is not known. */
	check(&single, "loads 0.3; wait 300; loads 0 leaf0; job 7 0 7; wait 200", 1, "the leaf0 uplinks fell");
	check(&single, "loads 0.3; wait 300; job 7 0 7; wait 30; loads 0 leaf0; wait 60", 1, "the leaf0 uplinks fell");
	check(&single, "loads 0.3; job 7 0 7; wait 300; silent leaf0; silent h0; silent h1; silent h2; silent h3; "
	      "silent h4; silent h5; silent h6; silent h7; wait 300", 0, NULL);
	/* Beside it the traffic of hosts stops that are not in it. */
	check(&single, "loads 0.3; job 7 0 7; wait 300; loads 0 leaf0; loads 0 leaf1; wait 60", 2, NULL);
	/* Pauses are reported once. */
	check(&single, "loads 0.3; job 7 0 7; wait 300; loads 0 leaf0; wait 60; loads 0.3; wait 300; loads 0 leaf0;"
	      "wait 60; loads 0.3; wait 240; loads 0 leaf0; wait 80; loads 0.3; wait 300", 1, "of job 7 fell");
}

TEST(a_fall_of_a_job_beside_a_fault_is_its_consequence)
{
	struct world *world = world_create(&single);
	const struct world_report *fell;

	world_run(world, "loads 0.3; job 7 0 15; wait 300; down leaf0/101; loads 0 leaf0; loads 0 leaf1; wait 100");
	fell = world_find(world, FINDING_TRAFFIC_FELL);
	assert_non_null(fell);
	assert_string_equal(fell->finding.subject, "job 7");
	assert_true(fell->finding.is_explained);
	assert_int_equal(fell->finding.origin.kind, FINDING_LINK_DOWN);
	assert_int_equal(fell->worst, FINDING_INFO);
	world_destroy(world);
}
