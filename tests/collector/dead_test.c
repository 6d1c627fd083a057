/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Unresponsive, slow and returning nodes in virtual time: all others are read in time in every
 * sweep.
 */
#include <string.h>

#include "base/test_cases.h"
#include "base/unit_test.h"
#include "collector/events.h"
#include "tests/world/lab.h"

/* Time to query the LIDs of nodes that became unresponsive in a sweep, along their paths. */
#define LIDS_US (7 * US_PER_MS)

/* Time for a second query to a node that has just timed out. */
#define SECOND_US (7 * US_PER_MS)

/* The sweeps of one run, as recorded by the next one. */
#define SWEEPS_MAX 64

static struct {
	int64_t took_us[SWEEPS_MAX];
	uint32_t responded[SWEEPS_MAX];
	size_t count;
	size_t dies_at; /* number of sweeps before the nodes fail */
	unsigned mads;  /* number of MADs of that sweep before they fail; 0: before it */
	size_t dead;    /* number of failing hosts, from the first one */
	bool leaf_too;
} course;

/* Return: whether there is a new sweep; the collector may sleep in several steps. */
static bool note(struct lab *lab)
{
	if (lab->sweeps == course.count)
		return false;
	assert_true(course.count < SWEEPS_MAX);
	course.took_us[course.count] = lab->last_sweep.end_us - lab->last_sweep.start_us;
	course.responded[course.count++] = lab->last_sweep.ports_answered;
	return true;
}

/* Longest sweep with unresponsive nodes, derived from the last one without. */
static int64_t bound_us(void)
{
	return course.took_us[course.dies_at - 1] * 12 / 10 + 20 * US_PER_MS;
}

static void fail_nodes(struct lab *lab)
{
	for (size_t i = 0; i < course.dead; i++)
		lab->agents[HOST + i].dead = true;
	lab->agents[LEAF].dead = course.leaf_too;
}

static void fail_some_nodes(struct lab *lab)
{
	if (!note(lab) || lab->sweeps != course.dies_at)
		return;
	if (!course.mads)
		fail_nodes(lab);
	lab->act = fail_nodes;
	lab->act_after = course.mads;
}

/* Run a number of sweeps; after the first ones some nodes fail permanently. */
static void run_with_dead(struct lab *lab, size_t sweeps)
{
	lab->no_downs = true;
	lab_run_with(lab, fail_some_nodes, sweeps);
	note(lab);
	assert_int_equal(course.count, sweeps);
}

/* Ten of sixteen hosts, or a whole leaf, fail between two sweeps: the others are read in time. */
TEST(responsive_nodes_are_read_in_time_while_others_fail)
{
	for (uint64_t seed = 0; seed < test_cases(40); seed++) {
		struct lab *lab = lab_create(seed);

		memset(&course, 0, sizeof(course));
		course.dies_at = 4;
		course.dead = 1 + seed % 10;
		course.leaf_too = seed % 3 == 0;
		run_with_dead(lab, 16);
		for (size_t i = course.dies_at; i < course.count; i++) {
			assert_true(course.took_us[i] <= bound_us() + (i == course.dies_at ? LIDS_US : 0));
			assert_int_equal(course.responded[i], LIVE_PORTS - course.dead - (course.leaf_too ? 6 : 0));
		}
		lab_destroy(lab);
	}
}

/*
 * Or during a sweep, after some of their responses. Then a second query times out, and so do the
 * queries of their LIDs, in this sweep or the next.
 */
TEST(responsive_nodes_are_read_soon_if_others_fail_in_mid_sweep)
{
	for (unsigned mads = 1; mads < 100; mads++) {
		struct lab *lab = lab_create(mads);

		memset(&course, 0, sizeof(course));
		course.dies_at = 4;
		course.dead = 5;
		course.leaf_too = mads % 2;
		course.mads = mads;
		run_with_dead(lab, 9);
		assert_true(course.took_us[course.dies_at] <= bound_us() + SECOND_US + LIDS_US + 20 * US_PER_MS);
		assert_true(course.responded[course.dies_at] >= LIVE_PORTS - course.dead - (course.leaf_too ? 6 : 0));
		for (size_t i = course.dies_at + 1; i < course.count; i++) {
			assert_true(course.took_us[i] <= bound_us() + LIDS_US);
			assert_int_equal(course.responded[i], LIVE_PORTS - course.dead - (course.leaf_too ? 6 : 0));
		}
		lab_destroy(lab);
	}
}

/* If a sweep takes longer than the timeout, unresponsive nodes add no time. */
LAB_TEST(unresponsive_nodes_delay_no_slow_sweep)
{
	int64_t before_us;

	memset(&course, 0, sizeof(course));
	course.dies_at = 4;
	course.dead = 10;
	lab->run.settings.engine.max_mads_per_s = 3000;
	lab->traffic = false;
	run_with_dead(lab, 16);
	assert_true(course.took_us[course.dies_at - 1] > 25 * US_PER_MS);
	assert_true(course.took_us[course.dies_at] <= bound_us());
	/* Each sweep has its own number of detail queries. */
	before_us = course.took_us[1] > course.took_us[2] ? course.took_us[1] : course.took_us[2];
	for (size_t i = course.dies_at + 1; i < course.count; i++) {
		assert_true(course.took_us[i] <= before_us * 12 / 10);
		assert_int_equal(course.responded[i], LIVE_PORTS - course.dead);
	}
}

/* SMPs to the hosts that neither fail nor have the subnet manager, before and after a host fails. */
static unsigned host_smps[3];

static void fail_one_host(struct lab *lab)
{
	unsigned smps = 0;

	for (size_t i = HOST + 1; i < OWN_HOST; i++)
		smps += lab->agents[i].smps;
	for (size_t i = 0; i < 3; i++)
		if (lab->sweeps == 4 + i)
			host_smps[i] = smps;
	lab->agents[HOST].dead = lab->sweeps >= 4;
}

/* Its link is up: its own LID and its switch port are queried, and nothing else is in doubt. */
LAB_TEST(an_unresponsive_host_costs_no_smps_to_others_and_no_discovery)
{
	lab->traffic = false;
	lab_run_with(lab, fail_one_host, 20);
	assert_in_range(host_smps[1] - host_smps[0], 0, 1);
	assert_in_range(host_smps[2] - host_smps[1], 0, 1);
	assert_int_equal(lab_events_of(lab, EVENT_NODE_SILENT), 1);
	assert_int_equal(lab->run.discoveries, 1);
}

static void fail_leaf_agent(struct lab *lab)
{
	lab->run.world->nodes[LEAF].silent = lab->sweeps >= 4;
}

/* The performance agent of a switch fails, its management agent responds. */
LAB_TEST(an_unresponsive_performance_agent_of_a_switch_causes_no_discovery)
{
	lab->traffic = false;
	lab_run_with(lab, fail_leaf_agent, 20);
	assert_int_equal(lab_events_of(lab, EVENT_NODE_SILENT), 1);
	assert_int_equal(lab->run.discoveries, 1);
}

static void fail_and_restore_any(struct lab *lab)
{
	uint32_t responsive = 0;

	if (!note(lab))
		return;
	for (size_t i = 0; i < LAB_NODES; i++)
		if (!lab->agents[i].dead)
			responsive += i < LEAF ? 4 : i < HOST ? 6 : 1;
	/* All responsive nodes, including those that responded again in this sweep. */
	assert_int_equal(course.responded[course.count - 1], responsive);
	if (course.count > course.dies_at)
		assert_true(course.took_us[course.count - 1] <= bound_us() + LIDS_US);
	for (size_t i = 0; i < LAB_NODES - 1 && lab->sweeps >= course.dies_at; i++)
		if (lab_random(lab) % 4 == 0)
			lab->agents[i].dead = !lab->agents[i].dead;
}

/* Random failures: responsive nodes are read in each sweep, in time, and the sums are exact. */
TEST(responsive_nodes_are_read_in_each_sweep)
{
	for (uint64_t seed = 100; seed < 100 + test_cases(40); seed++) {
		struct lab *lab = lab_create(seed);

		memset(&course, 0, sizeof(course));
		course.dies_at = 4;
		lab->no_downs = true;
		lab_run_with(lab, fail_and_restore_any, 50);
		/* All but the last one were checked. */
		assert_int_equal(course.count, 49);
		assert_true(lab_check(lab) > 0);
		lab_destroy(lab);
	}
}

static void delay_host_once(struct lab *lab)
{
	lab->agents[HOST].latency_us = lab->sweeps == 4 ? 12000 : 0;
}

/* A hundred times its usual response time: the query is retried, and the first response counts. */
LAB_TEST(a_late_response_to_a_retried_query_counts)
{
	lab_run_with(lab, delay_host_once, 5);
	assert_true(lab->report.mads_timed_out > 0);
	assert_int_equal(lab->report.ports_answered, LIVE_PORTS);
	assert_int_equal(lab_events_of(lab, EVENT_NODE_SILENT), 0);
	assert_true(lab_check(lab) > 0);
}

static void hang_host(struct lab *lab)
{
	lab->agents[HOST].latency_us = lab->sweeps >= 4 ? 35000 : 0;
}

/* Later than the timeout: the sweep does not wait, and the counts are in the next delta. */
LAB_TEST(counts_of_a_late_response_are_in_the_next_delta)
{
	const struct lab_port *port = lab_port(lab, HOST, 1);

	lab_run_with(lab, hang_host, 5);
	assert_int_equal(lab->report.ports_answered, LIVE_PORTS - 1);
	lab_run(lab, 2);
	assert_int_equal(lab->report.ports_answered, LIVE_PORTS);
	assert_int_equal(port->status, SAMPLE_OK);
	assert_true(lab_check(lab) > 0);
}

/* The response time of each node is learnt. */
LAB_TEST(a_slow_node_has_a_longer_timeout_once_it_is_known)
{
	lab->agents[HOST].latency_us = 60000;
	lab->agents[HOST + 5].latency_us = 15000;
	/* Without and with a known response time. */
	lab_run(lab, 1);
	assert_int_equal(lab->report.ports_answered, LIVE_PORTS);
	lab_run(lab, 4);
	assert_int_equal(lab->report.ports_answered, LIVE_PORTS);
	assert_int_equal(lab->report.mads_timed_out, 0);
}

/* Sweeps in which a host was unresponsive, and whether a discovery was running. */
static struct {
	size_t from, sweeps;
	bool beside_discovery;
} pause;

static void pause_host(struct lab *lab)
{
	bool discovers = lab->run.parts > 0 && lab->run.now_us < lab->run.discovery_end_us;

	/* Two ends of a link that went down: a discovery runs during the next sweeps. */
	if (lab->sweeps == 2)
		lab_port(lab, LEAF, 1)->down = lab_port(lab, 0, 1)->down = true;
	lab->agents[HOST + 1].dead = lab->sweeps >= pause.from && lab->sweeps < pause.from + pause.sweeps;
	pause.beside_discovery |= discovers && lab->agents[HOST + 1].dead;
}

static size_t run_with_pause(size_t from, size_t sweeps)
{
	struct lab *lab = lab_create(41);
	size_t reported;

	pause.from = from;
	pause.sweeps = sweeps;
	pause.beside_discovery = false;
	lab->run.discovery_us = 45 * US_PER_S;
	lab_run_with(lab, pause_host, 20);
	reported = lab_events_of(lab, EVENT_NODE_SILENT);
	assert_int_equal(lab_events_of(lab, EVENT_NODE_ANSWERS), reported);
	lab_destroy(lab);
	return reported;
}

/* A slow agent that is busy with a discovery times out once; a failed one remains unresponsive. */
TEST(a_node_that_misses_one_sweep_during_discovery_is_not_reported)
{
	assert_int_equal(run_with_pause(5, 1), 0);
	assert_true(pause.beside_discovery);
	assert_int_equal(run_with_pause(5, 2), 1);
	assert_true(pause.beside_discovery);
	assert_int_equal(run_with_pause(15, 1), 1);
	assert_false(pause.beside_discovery);
}
