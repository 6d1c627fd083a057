/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "analysis/delta.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/unit_test.h"
#include "collector/conservation.h"
#include "collector/events.h"
#include "collector/node_memory.h"
#include "collector/sweep_result.h"
#include "fabric/fabric.h"

/* Number of links between two switches; port N of one is cabled to port N of the other. */
#define LINKS 12
#define PORTS (2 * LINKS)
#define INTERVAL_US (10 * US_PER_S)

struct world {
	uint64_t random;
	struct fabric *fabric;
	struct sweep_result result;
	struct port_sample samples[PORTS];
	struct reading readings[PORTS], last[PORTS];
	struct delta deltas[PORTS];
	bool has_last[PORTS];
	/* Ground truth in 64 bits, whatever a port reports. */
	uint64_t words[PORTS][2], packets[PORTS][2]; /* [0] sent, [1] received */
	uint64_t errors[PORTS], down[PORTS];
	double loss[PORTS];  /* share of the sent packets that is lost */
	bool silent[PORTS], narrow[PORTS], clear[PORTS];
	int64_t now_us;
	int64_t reading_us;  /* from the reading of one port to that of the next one */
	unsigned sweeps;
	struct node_memory memory;
	struct conservation conservation;
	struct events events;
};

static struct world world;

static uint64_t next(void)
{
	return world.random = map_mix(world.random + 0x9e3779b97f4a7c15ULL);
}

/* @shift: offset of the cables at the second switch; @nodes: 1: the first switch alone */
static struct fabric *make_part(unsigned nodes, unsigned shift)
{
	struct fabric *fabric = fabric_create(NULL);

	for (unsigned node = 0; node < nodes; node++) {
		struct node added = { .guid = 0x100 + node, .type = NODE_SWITCH, .port_count = LINKS };

		snprintf(added.desc, sizeof(added.desc), "switch-%u", node);
		assert_true(fabric_add_node(fabric, &added, NULL) >= 0);
		for (unsigned port = 1; port <= LINKS; port++)
			assert_true(fabric_add_port(fabric, &(struct port){
				.num = (uint8_t)port, .state = PORT_ACTIVE, .width = LINK_WIDTH_4X,
				.speed = LINK_SPEED_HDR }, NULL) >= 0);
	}
	for (unsigned port = 0; port < LINKS && nodes > 1; port++)
		assert_int_equal(fabric_link(fabric, port, LINKS + (port + shift) % LINKS, NULL), 0);
	assert_int_equal(fabric_finish(fabric, NULL, NULL), 0);
	return fabric;
}

static struct fabric *make_fabric(unsigned shift)
{
	return make_part(2, shift);
}

static int make_world(void **state)
{
	(void)state;
	memset(&world, 0, sizeof(world));
	world.random = 1;
	world.fabric = make_fabric(0);
	world.now_us = 1000 * US_PER_S;
	world.reading_us = 500;
	world.result = (struct sweep_result){ .samples = world.samples, .readings = world.readings,
					      .deltas = world.deltas, .count = PORTS };
	return 0;
}

static int drop_world(void **state)
{
	(void)state;
	conservation_done(&world.conservation);
	node_memory_done(&world.memory);
	events_done(&world.events);
	fabric_destroy(world.fabric);
	return 0;
}

/* A port sends packets, and its peer receives those that are not lost. */
static void send_packets(unsigned port, uint64_t packets)
{
	uint32_t peer = world.fabric->ports[port].peer;
	int64_t lost = (int64_t)((double)packets * world.loss[port]);

	world.packets[port][0] += packets;
	world.words[port][0] += 1000 * packets;
	world.packets[peer][1] += packets - (uint64_t)lost;
	world.words[peer][1] += 1000 * (packets - (uint64_t)lost);
	world.errors[peer] += lost > 0 ? (uint64_t)lost / 2 : 0;
}

static void show(struct reading *reading, enum counter counter, uint64_t value, bool wide)
{
	reading->present |= COUNTER_BIT(counter);
	if (wide)
		reading->wide |= COUNTER_BIT(counter);
	reading->value[counter] = !wide && value > UINT32_MAX ? UINT32_MAX : value;
}

static void read_port(unsigned port)
{
	struct reading *reading = &world.readings[port];
	struct port_sample *sample = &world.samples[port];
	bool wide = !world.narrow[port];

	*sample = (struct port_sample){ .port = port, .status = world.silent[port] ? SAMPLE_SILENT : SAMPLE_OK };
	if (world.silent[port])
		return;
	if (world.clear[port])
		memset(world.words[port], 0, sizeof(world.words[port]));
	world.clear[port] = false;
	*reading = (struct reading){ .at_us = world.now_us };
	show(reading, COUNTER_XMIT_DATA, world.words[port][0], wide);
	show(reading, COUNTER_RCV_DATA, world.words[port][1], wide);
	show(reading, COUNTER_XMIT_PACKETS, world.packets[port][0], wide);
	show(reading, COUNTER_RCV_PACKETS, world.packets[port][1], wide);
	show(reading, COUNTER_RCV_ERRORS, world.errors[port], true);
	show(reading, COUNTER_LINK_DOWNED, world.down[port], true);
	sample->reading = reading;
	if (world.has_last[port]) {
		delta_between(&world.last[port], reading, &world.deltas[port]);
		sample->delta = &world.deltas[port];
	}
	world.last[port] = *reading;
	world.has_last[port] = true;
}

/* Traffic, then a sweep that reads the ports one after the other during traffic. */
static void sweep_as(const struct fabric *known)
{
	int64_t start_us = world.now_us += INTERVAL_US;

	for (unsigned port = 0; port < PORTS; port++)
		send_packets(port, next() % (4u << next() % 20));
	for (unsigned port = 0; port < PORTS; port++) {
		world.now_us += world.reading_us;
		/* In slow sweeps at up to the rate of the link. */
		for (unsigned other = 0; other < PORTS; other++)
			send_packets(other, next() % (64 + 6 * (uint64_t)(world.reading_us - 500)));
		if (port < known->port_count)
			read_port(port);
	}
	world.result.count = known->port_count;
	assert_int_equal(node_memory_set_fabric(&world.memory, known, NULL), 0);
	conservation_step(&world.conservation, &world.events, world.now_us, start_us, &world.memory, &world.result);
	world.sweeps++;
}

static void sweep(void)
{
	sweep_as(world.fabric);
}

static void sweeps(unsigned count)
{
	while (count--)
		sweep();
}

TEST_WITH(lossless_links_are_never_reported, make_world, drop_world)
{
	world.narrow[5] = true;
	for (unsigned i = 0; i < 1000; i++) {
		world.silent[next() % PORTS] = next() % 2;
		world.clear[next() % PORTS] = next() % 8 == 0;
		sweep();
	}
	assert_int_equal(world.events.count, 0);
}

/* The ends of a link are read up to eight seconds apart. */
TEST_WITH(slow_sweeps_report_the_lossy_link_only, make_world, drop_world)
{
	world.reading_us = 8 * US_PER_S / PORTS;
	sweeps(1000);
	assert_int_equal(world.events.count, 0);
	world.loss[3] = 0.05;
	sweeps(100);
	assert_int_equal(world.events.count, 1);
	assert_int_equal(world.events.list[0].port, 4);
}

TEST_WITH(a_lossy_link_is_reported_once_at_its_sending_end, make_world, drop_world)
{
	const struct event *event;

	world.loss[3] = 0.05;
	sweeps(400);
	assert_int_equal(world.events.count, 1);
	event = world.events.list;
	assert_string_equal(event->kind, "link-not-conserved");
	assert_int_equal(event->severity, EVENT_WARNING);
	assert_int_equal(event->node_guid, 0x100);
	assert_int_equal(event->port, 4);
	assert_int_equal(event->peer_guid, 0x101);
	assert_int_equal(event->peer_port, 4);
	assert_non_null(strstr(event->text, "switch-0/4 sent "));
	assert_non_null(strstr(event->text, "switch-1/4 received "));
	assert_non_null(strstr(event->text, "too few"));
	assert_non_null(strstr(event->text, "errors there may explain this"));
}

TEST_WITH(a_loss_that_recurs_is_reported_again, make_world, drop_world)
{
	world.loss[3] = 0.2;
	sweeps(100);
	assert_int_equal(world.events.count, 1);
	world.loss[3] = 0;
	sweeps(400);
	assert_int_equal(world.events.count, 1);
	world.loss[3] = 0.2;
	sweeps(100);
	assert_int_equal(world.events.count, 2);
}

TEST_WITH(excess_packets_are_reported_too, make_world, drop_world)
{
	world.loss[LINKS + 2] = -0.3;
	sweeps(200);
	assert_int_equal(world.events.count, 1);
	assert_int_equal(world.events.list[0].node_guid, 0x101);
	assert_int_equal(world.events.list[0].port, 3);
	assert_non_null(strstr(world.events.list[0].text, "too many"));
}

TEST_WITH(incomparable_readings_are_not_reported, make_world, drop_world)
{
	world.loss[0] = world.loss[1] = world.loss[2] = 0.5;
	world.narrow[LINKS + 0] = true; /* the receiving end has 32-bit counters */
	world.silent[LINKS + 1] = true; /* unresponsive */
	for (unsigned i = 0; i < 100; i++) {
		world.clear[LINKS + 2] = i % 3 == 0; /* cleared all the time */
		sweep();
	}
	assert_int_equal(world.events.count, 0);
}

/* Cables are moved at any time, and discovery detects it some sweeps later. */
TEST_WITH(moved_cables_are_not_reported, make_world, drop_world)
{
	struct fabric *old = world.fabric;

	for (unsigned i = 1; i < 50; i++) {
		sweeps(20);
		/* Traffic uses the new cables, but the sweeps still have the old topology. */
		world.fabric = make_fabric(i % LINKS);
		for (unsigned port = 0; port < PORTS; port++)
			world.down[port] += i % 2;
		/* If the ports count a link down, discovery may take longer. */
		for (unsigned port = 0; port < (i % 2 ? 7 : 2); port++)
			sweep_as(old);
		fabric_destroy(old);
		old = world.fabric;
	}
	assert_int_equal(world.events.count, 0);
}

/*
 * Discovery does not find an unresponsive node; its counters continue, and its next delta is long.
 */
TEST_WITH(a_node_after_an_outage_is_not_reported, make_world, drop_world)
{
	struct fabric *without = make_part(1, 0);

	for (unsigned i = 0; i < 20; i++) {
		sweeps(20);
		for (unsigned j = 0; j < 10; j++)
			sweep_as(without);
	}
	sweeps(20);
	assert_int_equal(world.events.count, 0);
	fabric_destroy(without);
}

TEST_WITH(many_lossy_links_are_summarised, make_world, drop_world)
{
	for (unsigned port = 0; port < PORTS; port++)
		world.loss[port] = 0.9;
	sweeps(300);
	assert_int_equal(world.conservation.reported, PORTS);
	assert_int_equal(world.events.count, 10);
	assert_non_null(strstr(world.events.list[9].text, "the devices may count differently"));
	assert_int_equal(world.events.list[9].node_guid, 0);
}
