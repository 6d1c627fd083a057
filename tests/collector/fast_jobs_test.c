/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Rounds between sweeps: the ports of running jobs, their deltas, their MADs; what is left out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit_test.h"
#include "collector/events.h"
#include "collector/fast_jobs.h"
#include "collector/node_memory.h"
#include "fabric/fabric.h"
#include "tests/world/lab.h"
#include "wire/engine.h"

/* The hosts of the job: the first four, whose agents have PortCountersExtended but for the last. */
#define JOB_HOSTS 4

static const char *job_hosts; /* of the running job; NULL: none */
static bool jobs_changed;

static bool running_jobs(void *ctx, struct running_jobs *jobs)
{
	(void)ctx;
	if (!jobs_changed)
		return false;
	jobs_changed = false;
	running_jobs_done(jobs);
	if (!job_hosts)
		return true;
	jobs->list = calloc(1, sizeof(*jobs->list));
	jobs->list[0] = (struct running_job){ .number = 1, .id = strdup("1"), .hosts = strdup(job_hosts) };
	jobs->count = 1;
	return true;
}

static void set_job(const char *hosts)
{
	job_hosts = hosts;
	jobs_changed = true;
}

static int setup_fast(void **state)
{
	struct lab *lab = lab_create(1);

	lab->sink.running_jobs = running_jobs;
	lab->run.settings.fast_jobs_us = US_PER_S;
	lab->no_downs = true;
	for (size_t i = HOST; i < LAB_NODES; i++)
		lab->agents[i].caps.cap_mask = 0x1200;
	set_job("node[06-09]");
	*state = lab;
	return 0;
}

LAB_TEST_WITH(rounds_cost_what_the_estimate_says, setup_fast)
{
	lab_run(lab, 11);
	/* The first sweep finds the job; then nine rounds between two sweeps. */
	assert_int_equal(lab->report.fast_rounds, 90);
	assert_int_equal(lab->report.fast_ports, JOB_HOSTS);
	assert_int_equal(lab->report.fast_mads, 10 * fast_jobs_mads(JOB_HOSTS, US_PER_S, 10 * US_PER_S));
	assert_int_equal(fast_jobs_mads(JOB_HOSTS, US_PER_S, 10 * US_PER_S), 9 * JOB_HOSTS);
	assert_int_equal(lab_events_of(lab, EVENT_FAST_LATE), 0);
	assert_true(lab_check(lab) > 0);
}

LAB_TEST_WITH(estimate_of_other_intervals, setup_fast)
{
	static const int64_t intervals_us[] = { 100000, 300000, 700000, 2500000, 3000000, 4000000, 5000000 };

	for (size_t i = 0; i < sizeof(intervals_us) / sizeof(*intervals_us); i++) {
		lab->run.settings.fast_jobs_us = intervals_us[i];
		set_job("node[06-09]");
		lab_run(lab, 3);
		assert_int_equal(lab->report.fast_mads, 2 * fast_jobs_mads(JOB_HOSTS, intervals_us[i], 10 * US_PER_S));
	}
}

/* Stored deltas and MADs of the agents: each host outside of the job is polled by sweeps only. */
LAB_TEST_WITH(only_ports_of_jobs_are_polled_between_sweeps, setup_fast)
{
	struct lab *without = lab_create(1);
	unsigned polled[LAB_NODES];

	lab_run(lab, 6);
	for (size_t i = 0; i < LAB_NODES; i++)
		polled[i] = lab->agents[i].queries;
	without->no_downs = true;
	for (size_t i = HOST; i < LAB_NODES; i++)
		without->agents[i].caps.cap_mask = 0x1200;
	lab_run(without, 6);
	for (size_t i = 0; i < LAB_NODES; i++)
		assert_int_equal(polled[i], without->agents[i].queries + (i >= HOST && i < HOST + JOB_HOSTS ? 45 : 0));
	assert_true(lab_check(lab) > 0);
	lab_destroy(without);
}

LAB_TEST_WITH(without_a_job_there_are_no_rounds, setup_fast)
{
	set_job(NULL);
	lab_run(lab, 4);
	assert_int_equal(lab->report.fast_rounds + lab->report.fast_mads, 0);
}

static void begin_and_end_jobs(struct lab *lab)
{
	static uint64_t seen;

	if (seen == lab->sweeps)
		return;
	seen = lab->sweeps;
	if (lab->sweeps == 3)
		set_job("node[06-13]");
	if (lab->sweeps == 6)
		set_job(NULL);
}

LAB_TEST_WITH(a_job_is_read_from_the_sweep_after_its_begin_to_that_after_its_end, setup_fast)
{
	/* Sweep 4 finds the other job, sweep 7 that none runs: 3 x 9 rounds of 4 ports, 3 x 9 of 8. */
	lab_run_with(lab, begin_and_end_jobs, 9);
	assert_int_equal(lab->report.fast_rounds, 54);
	assert_int_equal(lab->report.fast_mads, 27 * 4 + 27 * 8);
}

static void take_hosts_down(struct lab *lab)
{
	lab->agents[HOST].dead = lab->sweeps >= 3;
	lab_port(lab, HOST + 1, 1)->down = lab->sweeps >= 3;
}

/* A host that does not respond costs one MAD per round without retries until a sweep knows it. */
LAB_TEST_WITH(hosts_that_go_down_delay_no_round, setup_fast)
{
	lab_run_with(lab, take_hosts_down, 7);
	assert_int_equal(lab->report.fast_rounds, 54);
	assert_int_equal(lab_events_of(lab, EVENT_FAST_LATE), 0);
	assert_true(lab->report.fast_mads < 3 * 36 + 3 * 9 * 2 + 9 * 4);
	assert_true(lab_check(lab) > 0);
}

static void slow_agents(struct lab *lab)
{
	for (size_t i = HOST; i < HOST + JOB_HOSTS; i++)
		lab->agents[i].latency_us = lab->sweeps >= 3 && lab->sweeps < 7 ? 1200000 : 0;
}

LAB_TEST_WITH(rounds_that_do_not_end_in_time_are_cut_and_reported_once, setup_fast)
{
	lab->run.settings.engine.timeout_ms = 5000;
	lab_run_with(lab, slow_agents, 10);
	assert_int_equal(lab->report.sweeps_cut + lab->report.sweeps_late, 0);
	assert_int_equal(lab_events_of(lab, EVENT_FAST_LATE), 1);
	assert_true(lab_check(lab) > 0);
}

static void drop_datagrams(struct lab *lab)
{
	lab->drops = lab->sweeps >= 1;
	lab_port(lab, HOST + 3, 1)->now->value[COUNTER_VL15_DROPPED] += 100;
}

LAB_TEST_WITH(every_second_round_is_left_out_while_throttled, setup_fast)
{
	lab_run_with(lab, drop_datagrams, 7);
	assert_int_equal(lab_events_of(lab, EVENT_THROTTLED), 1);
	assert_in_range(lab->report.fast_rounds, 6 * 9 / 2, 6 * 9 / 2 + 12);
	assert_int_equal(lab_events_of(lab, EVENT_FAST_LATE), 0);
}

/* --- deltas --- */

struct rounds {
	struct fabric *fabric;
	struct engine *engine;
	struct node_memory memory;
	struct sweep_result none;
	struct fast_jobs fast;
	uint32_t ports[JOB_HOSTS];
	uint32_t moved;
	const struct health_sample *samples;
};

static void rounds_init(struct rounds *rounds, struct lab *lab)
{
	static const struct engine_settings settings = { .window = 32, .per_node = 1, .timeout_ms = 100, .retries = 2 };
	struct record_trailer trailer;

	*rounds = (struct rounds){ .fast.interval_us = US_PER_S };
	lab_apply(lab);
	assert_int_equal(lab->run.discoverer.start(&lab->run, NULL, NULL, 0, NULL), 0);
	while (lab->run.discoverer.step(&lab->run, 1000, &rounds->fabric, &trailer, NULL) == 0)
		;
	assert_int_equal(engine_create(&lab->run.transport, &lab->run.clock, &settings, &rounds->engine, NULL), 0);
	assert_int_equal(node_memory_set_fabric(&rounds->memory, rounds->fabric, NULL), 0);
	for (size_t i = 0; i < JOB_HOSTS; i++) {
		rounds->ports[i] = fabric_find_port(rounds->fabric, lab_guid(HOST + i), 1);
		node_memory_set_caps(node_memory_node(&rounds->memory, rounds->fabric->ports[rounds->ports[i]].node),
				     lab->agents[HOST + i].caps);
	}
	assert_int_equal(fast_jobs_select(&rounds->fast, rounds->ports, JOB_HOSTS, &rounds->none, rounds->fabric, 1,
					  NULL), 0);
}

static void rounds_done(struct rounds *rounds)
{
	fast_jobs_done(&rounds->fast);
	node_memory_done(&rounds->memory);
	engine_destroy(rounds->engine);
	fabric_destroy(rounds->fabric);
}

/* A round a second after the last one; @add: what each port has counted in it. */
static void round_run(struct rounds *rounds, struct lab *lab, uint64_t add)
{
	lab->run.now_us += US_PER_S;
	for (size_t i = 0; i < JOB_HOSTS; i++)
		lab_port(lab, HOST + i, 1)->now->value[COUNTER_XMIT_DATA] += add * (i + 1);
	lab_apply(lab);
	assert_int_equal(fast_jobs_round(&rounds->fast, rounds->engine, &rounds->memory, 1, 0,
					 &rounds->moved, &rounds->samples, NULL), 0);
}

static const struct health_sample *sample_of(const struct rounds *rounds, size_t host)
{
	for (size_t i = 0; i < rounds->fast.count; i++)
		if (rounds->samples[i].port == rounds->ports[host])
			return &rounds->samples[i];
	fail_msg("no sample");
	return NULL;
}

LAB_TEST_WITH(deltas_are_those_since_the_last_reading_of_each_port, setup_fast)
{
	struct rounds rounds;

	rounds_init(&rounds, lab);
	round_run(&rounds, lab, 1000);
	for (size_t i = 0; i < JOB_HOSTS; i++)
		assert_null(sample_of(&rounds, i)->delta);
	lab->agents[HOST + 2].dead = true;
	round_run(&rounds, lab, 2000);
	assert_int_equal(sample_of(&rounds, 2)->status, SAMPLE_SILENT);
	assert_null(sample_of(&rounds, 2)->delta);
	assert_int_equal(sample_of(&rounds, 1)->delta->value[COUNTER_XMIT_DATA], 4000);
	assert_in_range(sample_of(&rounds, 1)->delta->elapsed_us, 999000, 1030000);
	lab->agents[HOST + 2].dead = false;
	lab_clear(lab, HOST + 3, 1);
	round_run(&rounds, lab, 3000);
	assert_int_equal(sample_of(&rounds, 2)->delta->value[COUNTER_XMIT_DATA], 15000);
	assert_in_range(sample_of(&rounds, 2)->delta->elapsed_us, 1900000, 2200000);
	assert_true(sample_of(&rounds, 3)->delta->reset & COUNTER_BIT(COUNTER_XMIT_DATA));
	assert_int_equal(rounds.moved, 0);
	rounds_done(&rounds);
}

/* Two hosts exchange their LIDs between two rounds: neither gets the counters of the other. */
LAB_TEST_WITH(readings_of_lids_that_moved_are_discarded, setup_fast)
{
	struct rounds rounds;
	uint16_t lid;

	rounds_init(&rounds, lab);
	lab_port(lab, HOST + 1, 1)->now->value[COUNTER_XMIT_DATA] = 5000000;
	lab_port(lab, HOST, 1)->now->value[COUNTER_XMIT_DATA] = 1000000;
	round_run(&rounds, lab, 1000);
	lid = lab->nodes[HOST].lid;
	lab->nodes[HOST].lid = lab->nodes[HOST + 1].lid;
	lab->nodes[HOST + 1].lid = lid;
	round_run(&rounds, lab, 1000);
	assert_int_equal(rounds.moved, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_null(sample_of(&rounds, i)->delta);
		assert_int_equal(sample_of(&rounds, i)->status, SAMPLE_SILENT);
	}
	assert_int_equal(sample_of(&rounds, 2)->delta->value[COUNTER_XMIT_DATA], 3000);
	rounds_done(&rounds);
}
