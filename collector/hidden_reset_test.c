/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "collector/hidden_reset.h"

#include "base/clock.h"
#include "base/unit_test.h"
#include "collector/node_memory.h"
#include "collector/sweep_result.h"
#include "fabric/fabric.h"

/* Two switches with two links; a sweep each 10 s. A 4x HDR link carries 62.5e9 words in that time. */
enum { PORTS = 4, PORTS_MOST = 64, INTERVAL_S = 10 };
#define A_SECOND UINT64_C(1250000000)

static struct fabric *fabric;
static struct node_memory memory;
static uint64_t words[PORTS_MOST];
static int64_t now_us;

static void make_switches(unsigned nodes, unsigned ports)
{
	fabric = fabric_create(NULL);
	memory = (struct node_memory){ 0 };
	now_us = 1000 * US_PER_S;
	for (unsigned node = 0; node < nodes; node++) {
		struct node added = { .guid = 0x100 + node, .type = NODE_SWITCH, .port_count = (uint8_t)ports,
				      .desc = "switch" };

		assert_true(fabric_add_node(fabric, &added, NULL) >= 0);
		for (unsigned port = 1; port <= ports; port++)
			assert_true(fabric_add_port(fabric, &(struct port){
				.num = (uint8_t)port, .state = PORT_ACTIVE, .width = LINK_WIDTH_4X,
				.speed = LINK_SPEED_HDR }, NULL) >= 0);
	}
	for (unsigned i = 0; i < ports; i++)
		assert_int_equal(fabric_link(fabric, i, (nodes - 1) * ports + i, NULL), 0);
	assert_int_equal(fabric_finish(fabric, NULL, NULL), 0);
	assert_int_equal(node_memory_set_fabric(&memory, fabric, NULL), 0);
	for (unsigned i = 0; i < nodes * ports; i++)
		words[i] = 1000 * A_SECOND;
}

static int make(void **state)
{
	(void)state;
	make_switches(2, PORTS / 2);
	return 0;
}

static int drop(void **state)
{
	(void)state;
	node_memory_done(&memory);
	fabric_destroy(fabric);
	return 0;
}

/* Read ports that have counted @now words since they were last cleared. Return: the ports whose delta is marked. */
static uint64_t sweep_ports(int64_t elapsed_us, const uint64_t *now, unsigned count)
{
	struct port_sample samples[PORTS_MOST] = { 0 };
	struct reading readings[PORTS_MOST] = { 0 };
	struct delta deltas[PORTS_MOST];
	struct sweep_result result = { .samples = samples, .readings = readings, .deltas = deltas, .count = count };
	uint64_t marked = 0;

	now_us += elapsed_us;
	for (unsigned i = 0; i < count; i++) {
		struct reading last = { .at_us = now_us - elapsed_us };

		for (int counter = COUNTER_XMIT_DATA; counter <= COUNTER_RCV_DATA; counter++) {
			last.present = last.wide |= COUNTER_BIT(counter);
			last.value[counter] = words[i];
			readings[i].value[counter] = now[i];
		}
		readings[i].present = readings[i].wide = last.present;
		readings[i].at_us = now_us;
		delta_between(&last, &readings[i], &deltas[i]);
		samples[i] = (struct port_sample){ .port = i, .reading = &readings[i], .delta = &deltas[i] };
		words[i] = now[i];
	}
	hidden_reset_mark(&result, &memory, now_us, INTERVAL_S * US_PER_S);
	for (unsigned i = 0; i < count; i++) {
		marked |= (uint64_t)(deltas[i].reset != 0) << i;
		assert_true((samples[i].suspected & ~deltas[i].reset) == 0);
	}
	return marked;
}

static unsigned sweep_after(int64_t elapsed_us, const uint64_t now[PORTS])
{
	return (unsigned)sweep_ports(elapsed_us, now, PORTS);
}

static unsigned sweep(const uint64_t now[PORTS])
{
	return sweep_after(INTERVAL_S * US_PER_S, now);
}

/* Ten cleared ports of one switch are one cleared switch: a small counter of another one is exact. */
TEST(the_whole_fabric_is_cleared_if_several_nodes_are)
{
	enum { NODES = 5, EACH = 10 };

	for (unsigned cleared = 1; cleared < NODES; cleared++) {
		uint64_t now[NODES * EACH];

		make_switches(NODES, EACH);
		words[NODES * EACH - 1] = 0;
		for (unsigned i = 0; i < NODES * EACH; i++)
			now[i] = 1010 * A_SECOND;
		now[NODES * EACH - 1] = 5 * A_SECOND;
		assert_true(sweep_ports(INTERVAL_S * US_PER_S, now, NODES * EACH) == 0);
		for (unsigned i = 0; i < NODES * EACH; i++)
			now[i] = (i < cleared * EACH ? 1 : 1020) * A_SECOND;
		now[NODES * EACH - 1] = 9 * A_SECOND;
		assert_int_equal(sweep_ports(INTERVAL_S * US_PER_S, now, NODES * EACH) >> (NODES * EACH - 1),
				 cleared >= 3);
		drop(NULL);
	}
}

TEST_WITH(large_counters_are_never_suspected, make, drop)
{
	assert_int_equal(sweep((uint64_t[]){ 1010 * A_SECOND, 1010 * A_SECOND, 1010 * A_SECOND, 1010 * A_SECOND }), 0);
	assert_int_equal(sweep((uint64_t[]){ A_SECOND, 1020 * A_SECOND, 1020 * A_SECOND, 1020 * A_SECOND }), 1);
	assert_int_equal(sweep((uint64_t[]){ 11 * A_SECOND, 1030 * A_SECOND, 1030 * A_SECOND, 1030 * A_SECOND }), 0);
}

TEST_WITH(a_small_counter_is_suspected_while_its_node_is_cleared, make, drop)
{
	words[1] = words[2] = 0;
	assert_int_equal(sweep((uint64_t[]){ 1010 * A_SECOND, 5 * A_SECOND, 5 * A_SECOND, 1010 * A_SECOND }), 0);
	assert_int_equal(sweep((uint64_t[]){ A_SECOND, 9 * A_SECOND, 9 * A_SECOND, 1020 * A_SECOND }), 3);
	/* One reset is no series: what follows is exact. */
	assert_int_equal(sweep((uint64_t[]){ 11 * A_SECOND, 14 * A_SECOND, 14 * A_SECOND, 1030 * A_SECOND }), 0);
}

/* As after a restart of the collector, and of a port whose counters were saturated. */
TEST_WITH(without_an_exact_rate_a_small_counter_stays_suspected, make, drop)
{
	uint64_t rest = 1010 * A_SECOND;

	assert_int_equal(sweep((uint64_t[]){ A_SECOND, rest, rest, rest }), 1);
	/* Cleared 3 seconds before: more than was counted in the sweep before. */
	assert_int_equal(sweep((uint64_t[]){ 3 * A_SECOND, rest, rest, rest }), 1);
	assert_int_equal(sweep((uint64_t[]){ 13 * A_SECOND, rest, rest, rest }), 1);
	assert_int_equal(sweep((uint64_t[]){ 63 * A_SECOND, rest, rest, rest }), 0);
}

TEST_WITH(resets_before_a_restart_are_remembered, make, drop)
{
	struct restored_port port = { .node_guid = 0x100, .port = 1, .resets = 2, .reset_wall_us = 990 * US_PER_S };
	const struct restored restored = { .ports = &port, .port_count = 1, .boot_id = "this" };
	uint64_t rest = 1010 * A_SECOND;

	port.wall_us = 995 * US_PER_S;
	port.reading.at_us = now_us - 5 * US_PER_S;
	assert_int_equal(node_memory_restore(&memory, &restored, "this", now_us, 1000 * US_PER_S, NULL), 0);
	words[0] = A_SECOND;
	assert_int_equal(sweep((uint64_t[]){ 3 * A_SECOND, rest, rest, rest }), 1);
	assert_int_equal(sweep((uint64_t[]){ 5 * A_SECOND, rest, rest, rest }), 1);
	assert_int_equal(sweep((uint64_t[]){ 65 * A_SECOND, rest, rest, rest }), 0);
	assert_int_equal(sweep((uint64_t[]){ 3 * A_SECOND, rest, rest, rest }), 1);
}

/* A sweep shortly after a restart shows no reset, but is too brief to exclude one: the port stays suspected. */
TEST_WITH(the_brief_sweep_after_a_restart_ends_no_doubt, make, drop)
{
	struct restored_port port = { .node_guid = 0x100, .port = 1, .resets = 1, .reset_wall_us = 1000 * US_PER_S };
	const struct restored restored = { .ports = &port, .port_count = 1, .boot_id = "this" };
	uint64_t rest = 1010 * A_SECOND;

	port.wall_us = 1000 * US_PER_S;
	port.reading.at_us = now_us;
	assert_int_equal(node_memory_restore(&memory, &restored, "this", now_us, 1000 * US_PER_S, NULL), 0);
	words[0] = 2 * A_SECOND;
	assert_int_equal(sweep_after(US_PER_S / 10, (uint64_t[]){ 2 * A_SECOND + 1, rest, rest, rest }), 0);
	assert_int_equal(sweep((uint64_t[]){ 8 * A_SECOND, rest, rest, rest }), 1);
}

TEST_WITH(a_counter_that_is_cleared_regularly_need_not_decrease, make, drop)
{
	uint64_t rest = 1010 * A_SECOND;

	assert_int_equal(sweep((uint64_t[]){ 3 * A_SECOND, rest, rest, rest }), 1);
	assert_int_equal(sweep((uint64_t[]){ 2 * A_SECOND, rest, rest, rest }), 1);
	/* The tool clears once per sweep, a little earlier each time. */
	for (unsigned i = 3; i <= 10; i++)
		assert_int_equal(sweep((uint64_t[]){ i * A_SECOND, rest, rest, rest }), 1);
	/* It has stopped: the link cannot have carried so much since the last reading. */
	for (unsigned i = 60; i < 100; i += 10)
		assert_int_equal(sweep((uint64_t[]){ i * A_SECOND, rest, rest, rest }), 0);
}

/* One sweep of 2 s of port 1. @values: PortXmitData, symbol errors, XmitWait, uncorrectable blocks in 64 bits */
static counter_set sweep_counters(struct reading *last, const uint64_t values[4])
{
	static const enum counter counters[] = { COUNTER_XMIT_DATA, COUNTER_SYMBOL_ERRORS, COUNTER_XMIT_WAIT,
						 COUNTER_RCV_ERRORS };
	struct reading reading = { .at_us = now_us += 2 * US_PER_S };
	struct delta delta;
	struct port_sample sample = { .reading = &reading, .delta = &delta };
	struct sweep_result result = { .samples = &sample, .readings = &reading, .deltas = &delta, .count = 1 };

	for (int i = 0; i < 4; i++) {
		reading.present |= COUNTER_BIT(counters[i]);
		reading.value[counters[i]] = values[i];
	}
	reading.wide = COUNTER_BIT(COUNTER_XMIT_DATA) | COUNTER_BIT(COUNTER_RCV_ERRORS);
	delta_between(last, &reading, &delta);
	hidden_reset_mark(&result, &memory, now_us, 2 * US_PER_S);
	*last = reading;
	return delta.reset;
}

/* perfquery -R clears PortCounters each second: 20 symbol errors a second are about 20 in each reading. */
TEST_WITH(errors_that_are_cleared_regularly_need_not_decrease, make, drop)
{
	const counter_set errors = COUNTER_BIT(COUNTER_SYMBOL_ERRORS), wait = COUNTER_BIT(COUNTER_XMIT_WAIT);
	struct reading last = { 0 };
	uint64_t data = 1000 * A_SECOND;

	sweep_counters(&last, (uint64_t[]){ data, 21, 5, 3 });
	assert_int_equal(sweep_counters(&last, (uint64_t[]){ data += A_SECOND, 20, 5, 3 }), errors | wait);
	assert_int_equal(sweep_counters(&last, (uint64_t[]){ data += A_SECOND, 19, 6, 3 }), errors | wait);
	for (int i = 0; i < 10; i++)
		assert_int_equal(sweep_counters(&last, (uint64_t[]){ data += A_SECOND, 20, 0, 3 }),
				 i ? errors : errors | wait);
	/* It has stopped a minute ago. */
	for (int i = 0; i < 40; i++)
		sweep_counters(&last, (uint64_t[]){ data += A_SECOND, 20, 0, 3 });
	assert_int_equal(sweep_counters(&last, (uint64_t[]){ data += A_SECOND, 25, 1, 3 }), 0);
}

/* With the traffic in 64 bits, errors in 64 bits are cleared as well. */
TEST_WITH(errors_in_64_bits_are_cleared_with_the_traffic, make, drop)
{
	struct reading last = { 0 };

	sweep_counters(&last, (uint64_t[]){ 3000, 0, 0, 3 });
	sweep_counters(&last, (uint64_t[]){ 2000, 0, 0, 3 });
	sweep_counters(&last, (uint64_t[]){ 1000, 0, 0, 3 });
	assert_int_equal(sweep_counters(&last, (uint64_t[]){ 1500, 0, 0, 3 }),
			 COUNTER_BIT(COUNTER_XMIT_DATA) | COUNTER_BIT(COUNTER_RCV_ERRORS));
}

TEST_WITH(the_reset_after_the_first_one_need_not_decrease_either, make, drop)
{
	uint64_t rest = 1020 * A_SECOND;

	words[1] = A_SECOND;
	assert_int_equal(sweep((uint64_t[]){ 1010 * A_SECOND, 11 * A_SECOND, rest, rest }), 0);
	/* The tool clears the node later after each reading; the first reset of port 2 does not show either. */
	assert_int_equal(sweep((uint64_t[]){ 2 * A_SECOND, 12 * A_SECOND, rest, rest }), 3);
	assert_int_equal(sweep((uint64_t[]){ 4 * A_SECOND, 14 * A_SECOND, rest, rest }), 3);
	assert_int_equal(sweep((uint64_t[]){ 6 * A_SECOND, 16 * A_SECOND, rest, rest }), 3);
	/* It has stopped: the rate is that of before. */
	assert_int_equal(sweep((uint64_t[]){ 16 * A_SECOND, 26 * A_SECOND, rest, rest }), 0);
	/* Less traffic of a port that counts what it did before is exact. */
	assert_int_equal(sweep((uint64_t[]){ 17 * A_SECOND, 27 * A_SECOND, rest, rest }), 0);
}
