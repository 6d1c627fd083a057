/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What is named as the cause when a job became slower. This program has its own job_watch, which states what the test
 * says, so that only the causes and texts are tested.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/job_watch.h"
#include "analysis/test_world.h"
#include "base/unit_test.h"

struct job_watch { size_t count; };

static unsigned steps, readings_seen;
static int64_t interval_seen_us;

/* The state of all jobs from a time on, after the first sweep; before, they run. */
static struct job_state stated;
static int64_t stated_from_us;

struct job_watch *job_watch_create(const struct job_member *members, size_t count, int64_t interval_us)
{
	struct job_watch *watch = malloc(sizeof(*watch));

	(void)members;
	interval_seen_us = interval_us;
	if (watch)
		watch->count = count;
	return watch;
}

void job_watch_destroy(struct job_watch *watch)
{
	free(watch);
}

const struct job_state *job_watch_step(struct job_watch *watch, int64_t at_us, const struct job_reading *readings,
				       size_t count, const bool *down, bool suspended)
{
	static const struct job_state runs = { .phase = JOB_PHASE_RUNS, .allowed_s = NAN };

	(void)down;
	steps++;
	readings_seen += count;
	for (size_t i = 0; i < count; i++)
		assert_true(readings[i].at_us <= at_us && readings[i].elapsed_us > 0);
	(void)suspended;
	assert_in_range(count, 0, watch->count);
	stated.since_us = WORLD_BOOT_US + stated_from_us;
	return at_us >= WORLD_BOOT_US + stated_from_us ? &stated : &runs;
}

/* Two leaves, two spines, eight hosts with one HCA, four on each leaf; and with two HCAs, one on each leaf. */
static const struct world_shape single = { 2, 2, 1, 8, 1 }, rails = { 2, 2, 1, 8, 2 };

/* Jobs become slower after 600 s, by a quarter. */
static void become_slower(void)
{
	stated = (struct job_state){ .phase = JOB_PHASE_SLOWER, .slower = 1.25, .allowed_s = NAN,
				     .now.period_s = 5, .before.period_s = 4 };
	stated_from_us = 600000000;
}

struct cause_case { const char *name, *script, *cause, *texts[2], *without; };

static unsigned check_causes(const struct world_shape *shape, const struct cause_case *cases)
{
	unsigned failed = 0;

	for (; cases->name; cases++) {
		struct world *world = world_create(shape);
		const struct world_report *report;
		const struct finding *finding;

		world_run(world, cases->script);
		report = world_find(world, FINDING_JOB_SLOWER);
		finding = report ? &report->finding : NULL;
		if (!finding || strcmp(finding->cause, cases->cause) != 0 ||
		    (cases->texts[0] && !strstr(finding->text, cases->texts[0])) ||
		    (cases->texts[1] && !strstr(finding->text, cases->texts[1])) ||
		    (cases->without && strstr(finding->text, cases->without))) {
			print_message("%s: %s: %s\n", cases->name, finding ? finding->cause : "no finding",
				      finding ? finding->text : "");
			failed++;
		}
		world_destroy(world);
	}
	return failed;
}
#define NO_CASE { NULL, NULL, NULL, { NULL, NULL }, NULL }
#define CHECK_CAUSES(shape, ...) \
	assert_int_equal(check_causes(shape, (const struct cause_case[]){ __VA_ARGS__, NO_CASE }), 0)

TEST(each_cause_is_named)
{
	become_slower();
	CHECK_CAUSES(&single,
		{ "nothing", "routes; job 1 0 7; loads 0.5; wait 700", "hosts",
		  { "an iteration takes 5.00 s instead of 4.00 s, 25 % longer: nothing on the fabric changed" }, NULL },
		{ "a slow link", "routes; job 1 0 7; loads 0.5; wait 590; rate h3.0 1 NDR; wait 200", "link",
		  { "link-degraded at leaf0/4 - h3 mlx5_0/1 began" }, "nothing" },
		{ "a slow link of another host", "routes; job 1 0 5; loads 0.5; wait 590; rate h7.0 1 NDR; wait 200",
		  "hosts", { "nothing on the fabric changed" }, NULL },
		{ "a slow link long ago", "routes; job 1 0 7; loads 0.5; wait 100; rate h3.0 1 NDR; wait 700",
		  "hosts", { "nothing on the fabric changed" }, NULL },
		{ "a changed table", "routes; job 1 0 7; loads 0.5; wait 580; skew leaf0 101 2; reread leaf0; wait 100",
		  "routes", { "the forwarding table of leaf0, which it uses, changed" }, NULL },
		{ "a table that it does not use",
		  "routes; job 1 0 3; loads 0.5; wait 580; skew leaf1 101 2; reread leaf1; wait 100", "hosts",
		  { NULL }, NULL },
		{ "a job on its uplinks",
		  "routes; job 1 0 5; loads 0.5; loads 0 h6.0; loads 0 h7.0; wait 590; job 2 3 7; loads 0.5; wait 100",
		  "shared-uplinks", { "job 2 (5 hosts) began to communicate" }, NULL },
		{ "a job on one of its leaves only",
		  "routes; job 1 0 5; loads 0.5; loads 0 h6.0; loads 0 h7.0; wait 590; job 2 6 7; loads 0.5; wait 100",
		  "hosts", { NULL }, NULL },
		{ "new cables", "routes; down spine1/2; job 1 0 3; loads 0.5; wait 590; up spine1/2; wait 100",
		  "fabric-change", { "the topology changed", "1 links added" }, NULL });
	stated.suspect_count = 1;
	stated.suspects[0] = (struct job_suspect){ 2, JOB_EVIDENCE_NOT_RECEIVING, 0, 0.62, 0 };
	CHECK_CAUSES(&single,
		{ "a host that does not receive", "routes; job 1 0 7; loads 0.5; wait 700", "host-waits",
		  { "h2 receives too slowly: ports that send to it wait for 62 % more of the time "
		    "than before" }, NULL });
	stated.suspects[0] = (struct job_suspect){ 2, JOB_EVIDENCE_LATE, 0, 0.4, 0 };
	CHECK_CAUSES(&single,
		{ "a slow host", "routes; job 1 0 7; loads 0.5; wait 700", "hosts",
		  { "look at the hosts, first h2, which begins to send 0.4 s after the others" }, NULL });
	stated.suspects[0].absent = 0.4;
	CHECK_CAUSES(&single,
		{ "a host that begins late often", "routes; job 1 0 7; loads 0.5; wait 700", "hosts",
		  { "first h2, which begins after the others in 40 % more of the iterations than before" }, NULL });
	stated.suspect_count = 0;
	stated.rails_fell = 2;
	CHECK_CAUSES(&rails,
		{ "a rail", "routes; job 1 0 7; loads 0.5; wait 700", "rail",
		  { "rail mlx5_1 carries less than the other rails" }, NULL });
	stated.rails_fell = 3;
	CHECK_CAUSES(&rails,
		{ "all rails", "routes; job 1 0 7; loads 0.5; wait 700", "hosts", { NULL }, "rail" });
}

TEST(of_several_causes_the_first_two_are_named)
{
	become_slower();
	stated.suspect_count = 1;
	stated.suspects[0] = (struct job_suspect){ 2, JOB_EVIDENCE_NOT_RECEIVING, 0, 0.62, 0 };
	stated.rails_fell = 1;
	CHECK_CAUSES(&single,
		{ "a slow link and a changed table",
		  "routes; job 1 0 7; loads 0.5; wait 580; rate h3.0 1 NDR; skew leaf0 101 2; reread leaf0; wait 200",
		  "link", { "link-degraded at leaf0/4", "; also the forwarding table of leaf0" }, NULL },
		{ "a changed table and a host that does not receive",
		  "routes; job 1 0 7; loads 0.5; wait 580; skew leaf0 101 2; reread leaf0; wait 100",
		  "routes", { "the forwarding table of leaf0", "; also h2 receives too slowly" }, NULL });
	CHECK_CAUSES(&rails,
		{ "a host that does not receive, and a rail", "routes; job 1 0 7; loads 0.5; wait 700", "host-waits",
		  { "h2 receives too slowly", "; also rail mlx5_0" }, NULL });
}

/* The watch of a new run states less than that of the run before. */
TEST(a_slowdown_outlives_a_restart_until_half_of_it_is_left)
{
	struct world *world = world_create(&single);
	const struct world_report *report;

	become_slower();
	world_run(world, "routes; job 1 0 7; loads 0.5; wait 700; restart");
	stated.phase = JOB_PHASE_LEARNING;
	world_run(world, "wait 600");
	report = world_find(world, FINDING_JOB_SLOWER);
	assert_int_equal(report->opened, 1);
	assert_int_equal(report->finding.ok_since_us, 0);
	stated.phase = JOB_PHASE_RUNS;
	stated.now.period_s = 4.8;
	world_run(world, "wait 600");
	assert_int_equal(report->finding.ok_since_us, 0);
	stated.now.period_s = 4.2;
	world_run(world, "wait 120");
	assert_int_equal(report->opened, 1);
	assert_int_equal(report->closed, 1);
	world_destroy(world);
}

/* Readings between steps update the watch, which is created for their interval. */
TEST(readings_between_steps_are_of_the_job_too)
{
	struct world *world = world_create(&single);
	const struct fabric *fabric;
	struct delta delta = { .elapsed_us = 1000000, .known = COUNTER_BIT(COUNTER_COUNT) - 1 };
	struct health_sample samples[8];
	int64_t boot_us;
	size_t count = 0;

	become_slower();
	world_run(world, "job 1 0 7; loads 0.5; wait 100");
	fabric = world->fabric;
	for (uint32_t i = 0; i < fabric->port_count; i++)
		if (fabric->nodes[fabric->ports[i].node].type == NODE_CA)
			samples[count++] = (struct health_sample){ .port = i, .status = SAMPLE_OK, .delta = &delta };
	assert_int_equal(count, 8);
	assert_int_equal(interval_seen_us, 10000000);
	boot_us = WORLD_BOOT_US + world->now_us;
	steps = readings_seen = 0;
	for (int i = 1; i <= 3; i++)
		assert_int_equal(health_job_samples(world->health, boot_us + i * 1000000, samples, 8, NULL), 0);
	assert_int_equal(steps, 3);
	assert_int_equal(readings_seen, 24);
	assert_int_equal(interval_seen_us, 1000000);
	world_destroy(world);
}
