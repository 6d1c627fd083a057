/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* HCAs that send and wait for known parts of the time, and a guard that sees readings at other times. */
#include <stdio.h>
#include <string.h>

#include "analysis/delta.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/test_cases.h"
#include "base/unit_test.h"
#include "collector/events.h"
#include "collector/node_memory.h"
#include "collector/sweep_result.h"
#include "collector/wait_guard.h"
#include "fabric/fabric.h"

#define HCAS 12
#define HDR_BYTES_PER_S 25e9

static struct world {
	uint64_t random;
	struct fabric *fabric;
	struct sweep_result result;
	struct port_sample samples[HCAS];
	struct delta deltas[HCAS];
	struct node_memory memory;
	struct wait_guard guard;
	struct events events;
	int64_t interval_us, late_us[HCAS]; /* of the last response, after its counters were read */
	int64_t most_late_us;
} world;

static int set_up(void **state)
{
	(void)state;
	memset(&world, 0, sizeof(world));
	world.interval_us = 10 * US_PER_S;
	world.fabric = fabric_create(NULL);
	for (unsigned i = 0; i < HCAS; i++) {
		struct node node = { .guid = 0x100 + i, .type = NODE_CA, .port_count = 1, .device_id = 0x1021 };

		snprintf(node.desc, sizeof(node.desc), "node%04u mlx5_0", i + 1);
		assert_true(fabric_add_node(world.fabric, &node, NULL) >= 0);
		assert_true(fabric_add_port(world.fabric, &(struct port){
			.num = 1, .state = PORT_ACTIVE, .width = LINK_WIDTH_4X, .speed = LINK_SPEED_HDR }, NULL) >= 0);
		world.samples[i].port = i;
	}
	assert_int_equal(fabric_finish(world.fabric, NULL, NULL), 0);
	assert_int_equal(node_memory_set_fabric(&world.memory, world.fabric, NULL), 0);
	for (unsigned i = 0; i < HCAS; i++)
		node_memory_node(&world.memory, i)->caps =
			(struct pma_caps){ .known = true, .tick_known = true, .tick = 7 };
	world.result = (struct sweep_result){ .samples = world.samples, .count = HCAS };
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	wait_guard_done(&world.guard);
	node_memory_done(&world.memory);
	events_done(&world.events);
	fabric_destroy(world.fabric);
	return 0;
}

/* A sweep in which the first @count HCAs sent and waited for these shares of the time, by their counters. */
static void sweep(unsigned count, double sent, double waited)
{
	for (unsigned i = 0; i < HCAS; i++) {
		double bytes = HDR_BYTES_PER_S * (double)world.interval_us / 1e6;
		int64_t late_us = 0;

		world.random = map_mix(world.random + 1);
		if (world.most_late_us)
			late_us = (int64_t)(world.random % (uint64_t)world.most_late_us);
		world.deltas[i] = (struct delta){
			.elapsed_us = world.interval_us + late_us - world.late_us[i],
			.known = COUNTER_BIT(COUNTER_XMIT_DATA) | COUNTER_BIT(COUNTER_XMIT_WAIT) |
				 COUNTER_BIT(COUNTER_LINK_DOWNED),
		};
		world.late_us[i] = late_us;
		world.samples[i].delta = &world.deltas[i];
		if (i >= count)
			continue;
		world.deltas[i].value[COUNTER_XMIT_DATA] = (uint64_t)(bytes * sent / 4);
		world.deltas[i].value[COUNTER_XMIT_WAIT] = (uint64_t)(bytes * waited / 8);
	}
}

/* Return: the number of HCAs with a contradicted tick. */
static unsigned step(void)
{
	unsigned contradicted = 0;

	wait_guard_step(&world.guard, &world.events, 1, &world.memory, &world.result);
	for (unsigned i = 0; i < HCAS; i++)
		contradicted += node_memory_node(&world.memory, i)->caps.wait_contradicted;
	return contradicted;
}

static unsigned run(unsigned count, double sent, double waited)
{
	sweep(count, sent, waited);
	return step();
}

#define GUARD_TEST(name) TEST_WITH(name, set_up, tear_down)

/* One window is sufficient, whatever follows. */
GUARD_TEST(a_device_that_is_too_busy_once_is_found_with_the_third_sweep)
{
	(void)state;
	node_memory_node(&world.memory, 0)->caps_stored = true;
	assert_int_equal(run(1, 0.6, 0.45), 0);
	assert_int_equal(run(1, 0, 0), 0);
	assert_int_equal(run(1, 0, 0), 1);
	assert_false(node_memory_node(&world.memory, 0)->caps_stored);
	assert_int_equal(world.events.count, 1);
	assert_string_equal(world.events.list[0].kind, EVENT_WAIT_CONTRADICTED);
	assert_non_null(strstr(world.events.list[0].text, "node0001 mlx5_0/1 would have sent for 60.0 % and waited for "
						 "45.0 % of 10.0 s"));
	/* It is known, also after its capabilities are read again. */
	node_memory_set_caps(node_memory_node(&world.memory, 0), (struct pma_caps){ .known = true });
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(run(1, 0.6, 0.45), 1);
	assert_int_equal(world.events.count, 1);
}

GUARD_TEST(a_small_excess_adds_up)
{
	unsigned sweeps = 0;

	(void)state;
	while (!run(1, 0.6, 0.415) && sweeps < 100)
		sweeps++;
	assert_true(sweeps > 3 && sweeps < 10);
}

/* Ports that send or wait all the time, read earlier and later than the clock says. */
GUARD_TEST(devices_that_are_always_busy_are_not_found)
{
	(void)state;
	world.interval_us = US_PER_S;
	world.most_late_us = 240000;
	for (unsigned i = 0; i < test_cases(20000); i++)
		assert_int_equal(run(HCAS, 0.3, 0.7), 0);
	/* As fast as the link, with the rounding of a rate. */
	for (unsigned i = 0; i < test_cases(1000); i++)
		assert_int_equal(run(HCAS, 1.005, 0), 0);
}

GUARD_TEST(a_lower_bound_is_a_proof)
{
	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		sweep(1, 0.6, 0.6);
		world.deltas[0].reset = COUNTER_BIT(COUNTER_XMIT_WAIT);
		assert_int_equal(step(), i == 2);
	}
}

/* A link that became faster looks like a wrong tick until its rate is discovered. */
GUARD_TEST(a_link_that_is_faster_than_known_is_no_proof)
{
	(void)state;
	world.fabric->ports[0].width = LINK_WIDTH_1X;
	assert_int_equal(run(1, 0.2, 0.1), 0);
	assert_int_equal(run(1, 0.2, 0.1), 0);
	world.fabric->ports[0].width = LINK_WIDTH_4X;
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(run(1, 0.2, 0.1), 0);
	/* Data alone are more than the link can carry. */
	world.fabric->ports[0].width = LINK_WIDTH_1X;
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(run(1, 0.5, 0.1), 0);
	/* It went down: another rate will be discovered. */
	world.fabric->ports[0].width = LINK_WIDTH_4X;
	assert_int_equal(run(1, 0.6, 0.6), 0);
	sweep(1, 0.6, 0.6);
	world.deltas[0].value[COUNTER_LINK_DOWNED] = 1;
	assert_int_equal(step(), 0);
	assert_int_equal(run(1, 0.2, 0.2), 0);
	assert_int_equal(run(1, 0.2, 0.2), 0);
}

/* A port that is not read is compared over the longer time, and unknown values are not compared. */
GUARD_TEST(what_is_not_known_is_no_proof)
{
	(void)state;
	for (unsigned i = 0; i < 10; i++) {
		sweep(1, 0.6, 0.6);
		world.deltas[0].known &= ~COUNTER_BIT(COUNTER_XMIT_WAIT);
		assert_int_equal(step(), 0);
		world.samples[0].delta = NULL;
		assert_int_equal(step(), 0);
	}
	/* No other tick is assumed. */
	node_memory_node(&world.memory, 0)->caps.tick = 8;
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(run(1, 0.6, 0.6), 0);
	assert_int_equal(world.events.count, 0);
}

GUARD_TEST(many_devices_are_one_event_more)
{
	(void)state;
	for (unsigned i = 0; i < 3; i++)
		run(HCAS, 0.6, 0.6);
	assert_int_equal(world.events.count, 10);
	assert_non_null(strstr(world.events.list[9].text, "12 HCAs"));
}
