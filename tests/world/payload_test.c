/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * payload_test.c - responses with a matching header and a good status, but wrong data
 *
 * They cannot be recognized, so numbers are not compared while they are received, and a topology
 * with nodes that do not exist is stored. Afterwards the topology, the forwarding tables, the readings
 * and the findings become right again, once missing nodes are forgotten: after 7 days, here an hour.
 * IBWIRE_PAYLOAD_ROUNDS is the number of rounds, each with other data in a part of the responses.
 */
#include <string.h>

#include "analysis/finding.h"
#include "analysis/health.h"
#include "base/clock.h"
#include "base/test_cases.h"
#include "base/unit_test.h"
#include "fabric/fabric.h"
#include "tests/world/lab.h"
#include "wire/smp.h"

/* Sweeps with wrong data, and in all: the errors of four hours are findings. */
enum { WRONG = 60, ROUND = WRONG + 1600, COMPARED = 10 };

/* Entries of the tables of lab_set_tables(). */
enum { TABLE_LIDS = 192 };

static struct payload {
	struct lab *lab;
	struct transport inner;
	uint64_t sweeps, changed;
	unsigned percent; /* of the responses that are changed */
	struct reading last[LAB_NODES][LAB_SWITCH_PORTS + 1];
} test;

/* All bytes, some of them, or one bit. */
static void change_data(uint8_t *data, size_t size)
{
	uint64_t kind = lab_random(test.lab) % 4, filler = lab_random(test.lab) % 3;

	for (size_t i = 0; i < size && kind < 2; i++)
		if (kind == 0 || lab_random(test.lab) % 4 == 0)
			data[i] = filler ? (uint8_t)lab_random(test.lab) : lab_random(test.lab) % 2 ? 0xff : 0;
	if (kind >= 2)
		data[lab_random(test.lab) % size] ^= (uint8_t)(1u << lab_random(test.lab) % 8);
	test.changed++;
}

static int receive(void *ctx, uint8_t mad[MAD_SIZE], unsigned timeout_ms, struct error *err)
{
	int event = test.inner.receive(ctx, mad, timeout_ms, err);

	if (event != TRANSPORT_MAD || test.sweeps % ROUND >= WRONG || lab_random(test.lab) % 100 >= test.percent)
		return event;
	if (mad_is_smp(mad))
		change_data(mad + SMP_DATA_OFFSET, SMP_DATA_SIZE);
	else
		/* With another PortSelect it does not match (hostile_wire.c). */
		change_data(mad + PMA_DATA_OFFSET + 2, PMA_DATA_SIZE - 2);
	return event;
}

static void on_explore(struct world_run *run, struct world_run *copy)
{
	(void)run;
	copy->transport.receive = receive;
}

static void count_traffic(struct lab *lab)
{
	lab->run.world->act_count++;
	for (uint32_t i = 0; i < lab->run.world->built->port_count; i++)
		for (int counter = 0; counter < COUNTER_TRAFFIC_COUNT; counter++)
			lab->run.world->counters[i].value[counter] += lab_random(lab) % 1000;
}

/* Node N has LID N + 1. A leaf forwards to its hosts, and to all others over the first spine. */
static void set_tables(struct lab *lab)
{
	lab_set_tables(lab);
	for (size_t node = 0; node < HOST; node++) {
		memset(lab_table(lab, node), ROUTES_NO_PORT, TABLE_LIDS);
		for (size_t to = 0; to < LAB_NODES; to++) {
			size_t leaf = to < HOST ? to - LEAF : (to - HOST) / 4;

			lab_table(lab, node)[to + 1] = (uint8_t)(to == node ? 0 : node < LEAF && to >= LEAF ? leaf + 1 :
				to >= HOST && node == LEAF + leaf ? 3 + (to - HOST) % 4 : to < LEAF ? to + 1 : 1);
		}
	}
}

static void check_sample(const struct sweep *sweep, const struct port_sample *sample)
{
	size_t node = lab_node_of(sweep->fabric, sample->port);
	struct reading *last = &test.last[node][sweep->fabric->ports[sample->port].num];

	assert_in_range(node, 0, LAB_NODES - 1);
	/* Ports that wrong data has shown as up are down. */
	if (!sample->reading)
		return;
	lab_same(test.lab, sweep->fabric, sample->port, sample->reading);
	for (int i = 0; i < COUNTER_COUNT && last->at_us && sample->delta; i++)
		if (sample->delta->known & COUNTER_BIT(i))
			assert_true(last->value[i] + sample->delta->value[i] == sample->reading->value[i]);
	*last = *sample->reading;
}

/* A port that wrong data has shown as up is not read any more: its last reading remains. */
static void check_finding(const struct sweep *sweep, const struct finding *finding)
{
	uint32_t port = fabric_find_port(sweep->fabric, finding->node_guid, finding->port);

	if (finding->kind != FINDING_COUNTER_SATURATED || port == FABRIC_NONE ||
	    sweep->fabric->ports[port].state >= PORT_INIT)
		fail_msg("%s %s: %s", finding_kind_name(finding->kind), finding->subject, finding->text);
}

static void check_recovered(const struct sweep *sweep)
{
	assert_int_equal(sweep->ports_answered, LIVE_PORTS);
	assert_int_equal(sweep->fabric->node_count, LAB_NODES);
	assert_int_equal(fabric_count_links(sweep->fabric), LIVE_PORTS / 2);
	for (size_t node = 0; node < HOST; node++)
		assert_memory_equal(routes_find(sweep->routes, lab_guid(node))->ports, lab_table(test.lab, node),
				    TABLE_LIDS);
	for (size_t i = 0; i < sweep->finding_count; i++)
		check_finding(sweep, sweep->findings[i]);
	memset(test.last, 0, sizeof(test.last));
	test.percent = (unsigned)(1 + lab_random(test.lab) % 30);
}

static int store(void *ctx, const struct sweep *sweep, struct error *err)
{
	(void)ctx;
	(void)err;
	test.sweeps++;
	for (size_t i = 0; i < sweep->sample_count && test.sweeps % ROUND >= ROUND - COMPARED; i++)
		check_sample(sweep, &sweep->samples[i]);
	if (test.sweeps % ROUND == ROUND - 1)
		check_recovered(sweep);
	return 0;
}

TEST(wrong_data_in_matching_responses_is_harmless)
{
	const char *text = getenv("IBWIRE_PAYLOAD_ROUNDS");
	uint64_t rounds = text ? strtoull(text, NULL, 10) : test_cases(2);
	struct lab *lab = test.lab = lab_create(1);
	struct health_settings settings;

	health_settings_default(&settings);
	settings.forget_us = 3600 * US_PER_S;
	settings.limits[FINDING_LINK_FLAPPING].off = true; /* a day long */
	lab->run.settings.health = &settings;
	test.percent = 10;
	test.inner = lab->run.transport;
	lab->run.transport.receive = receive;
	lab->run.explorer = true;
	lab->run.on_explore = on_explore;
	lab->traffic = false;
	lab->run.settings.routes_interval_us = 60 * US_PER_S;
	set_tables(lab);
	lab->sink = world_sink(store, NULL);
	lab_run_with(lab, count_traffic, rounds * ROUND);
	lab_destroy(lab);
	reliability_report("Matching responses with wrong data", test.changed, "responses",
			   "no crash; then topology, forwarding tables, readings and findings are right again");
}
