/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tests/world/lab.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "fabric/fabric.h"

enum { SM_MASTER = 3 };

uint64_t lab_random(struct lab *lab)
{
	return (uint64_t)(virtual_random(lab->run.world) * 9007199254740992.0);
}

uint64_t lab_guid(size_t node)
{
	return 0x1000 + node;
}

static bool is_switch(size_t node)
{
	return node < HOST;
}

struct lab_port *lab_port(struct lab *lab, size_t node, unsigned num)
{
	return &lab->nodes[node].ports[num];
}

void lab_clear(struct lab *lab, size_t node, unsigned num)
{
	struct port_counters *now = lab_port(lab, node, num)->now;

	if (now)
		memset(now->value, 0, sizeof(now->value));
}

void lab_swap_lids(struct lab *lab)
{
	uint16_t lid = lab->nodes[HOST].lid;

	/* Once: the collector may sleep more than once between two sweeps. */
	if (lab->sweeps != 3 || lid != HOST + 1)
		return;
	lab->nodes[HOST].lid = lab->nodes[HOST + 4].lid;
	lab->nodes[HOST + 4].lid = lid;
}

void lab_set_tables(struct lab *lab)
{
	for (uint32_t i = 0; i < HOST; i++) {
		lab->run.world->built->nodes[i].lft_top = 150;
		assert_int_equal(routes_size(&lab->run.world->tables, lab_guid(i), 192, NULL), 0);
		for (uint32_t lid = 0; lid < 192; lid++)
			lab_table(lab, i)[lid] = (uint8_t)(lab_random(lab) % (LAB_SWITCH_PORTS + 1));
	}
}

uint8_t *lab_table(struct lab *lab, size_t node)
{
	return spread_table(&lab->run.world->tables, lab_guid(node));
}

static struct fabric *build(void)
{
	struct fabric *fabric = fabric_create(NULL);

	for (size_t node = 0; node < LAB_NODES; node++) {
		struct node added = { .guid = lab_guid(node), .type = is_switch(node) ? NODE_SWITCH : NODE_CA,
				      .port_count = is_switch(node) ? LAB_SWITCH_PORTS : 2 };

		snprintf(added.desc, sizeof(added.desc), "node%02zu", node);
		assert_true(fabric_add_node(fabric, &added, NULL) >= 0);
		for (unsigned num = is_switch(node) ? 0 : 1; num <= added.port_count; num++)
			assert_true(fabric_add_port(fabric, &(struct port){
				.num = (uint8_t)num, .width = LINK_WIDTH_4X, .speed = LINK_SPEED_HDR,
				.state = PORT_ACTIVE }, NULL) >= 0);
	}
	for (unsigned leaf = 0; leaf < LAB_LEAVES; leaf++) {
		for (unsigned i = 0; i < LAB_SPINES; i++)
			fabric_link(fabric, fabric_node_port(fabric, i, (uint8_t)(leaf + 1)),
				    fabric_node_port(fabric, LEAF + leaf, (uint8_t)(i + 1)), NULL);
		for (unsigned i = 0; i < 4; i++)
			fabric_link(fabric, fabric_node_port(fabric, LEAF + leaf, (uint8_t)(3 + i)),
				    fabric_node_port(fabric, HOST + 4 * leaf + i, 1), NULL);
	}
	assert_int_equal(fabric_finish(fabric, NULL, NULL), 0);
	fabric->from_node = OWN_HOST;
	fabric->from_port = 1;
	return fabric;
}

static void link_ports(struct fabric *built, uint32_t a, uint32_t b)
{
	built->ports[a].peer = b;
	built->ports[b].peer = a;
}

static uint8_t state_of(const struct lab *lab, const struct fabric *built, uint32_t index)
{
	const struct port *port = &built->ports[index], *peer = &built->ports[port->peer];
	const struct lab_node *node = &lab->nodes[port->node], *far;

	if (port->peer == FABRIC_NONE)
		return is_switch(port->node) && !port->num ? PORT_ACTIVE : PORT_DOWN;
	far = &lab->nodes[peer->node];
	if (node->absent || far->absent || node->ports[port->num].down || far->ports[peer->num].down)
		return PORT_DOWN;
	return node->ports[port->num].init ? PORT_INIT : PORT_ACTIVE;
}

void lab_apply(struct lab *lab)
{
	struct fabric *built = lab->run.world->built;
	uint32_t first = fabric_node_port(built, LEAF, 3);

	link_ports(built, first, built->nodes[HOST + lab->cables_swapped].first_port);
	link_ports(built, first + 1, built->nodes[HOST + !lab->cables_swapped].first_port);
	for (uint32_t i = 0; i < built->port_count; i++) {
		struct port *port = &built->ports[i];
		struct lab_node *node = &lab->nodes[port->node];

		port->state = state_of(lab, built, i);
		port->guid = node->planes ? 0x9000 + port->node : 0;
		port->lid = (is_switch(port->node) ? !port->num : port->num == 1) ? node->lid : 0;
		/* IsSM. Source: IBA Vol 1, 14.2.5.6. */
		port->cap_mask = 1 << 14 | (uint32_t)(lab->agents[port->node].sm_state > 0) << 1;
	}
	for (uint32_t i = 0; i < LAB_NODES; i++) {
		built->nodes[i].lid = is_switch(i) ? lab->nodes[i].lid : 0;
		lab->run.world->nodes[i].off = lab->nodes[i].absent;
	}
	world_run_lids(&lab->run);
}

/* Detail counters have random numbers of their own: the rest of a world does not depend on how many there are. */
static uint64_t detail_random(struct lab *lab)
{
	return map_mix(++lab->detail_draws) >> 11;
}

static void count_port(struct lab *lab, struct port_counters *now)
{
	for (int counter = 0; counter < COUNTER_COUNT; counter++) {
		uint64_t random = lab_random(lab);

		if (counter == COUNTER_VL15_DROPPED || counter == COUNTER_QP1_DROPPED)
			now->value[counter] += lab->drops;
		else if (counter == COUNTER_LINK_DOWNED && lab->no_downs)
			continue;
		else if (counter < COUNTER_TRAFFIC_COUNT)
			now->value[counter] += random % 100000000;
		else if (random % 50 == 0)
			now->value[counter] += random >> 49;
	}
	for (int attribute = 0; attribute < DETAIL_ATTRIBUTE_COUNT; attribute++)
		for (int number = 0; number < DETAIL_MAX; number++)
			if (detail_random(lab) % 20 == 0)
				now->details[attribute][number] += detail_random(lab) >> 46;
}

static void apply_schedules(struct lab *lab)
{
	for (size_t i = 0; i < lab->schedule_count; i++)
		*lab->schedules[i].flag = lab->sweeps >= lab->schedules[i].from &&
					  (!lab->schedules[i].until || lab->sweeps < lab->schedules[i].until);
}

void lab_during(struct lab *lab, bool *flag, uint64_t from, uint64_t until)
{
	assert_true(lab->schedule_count < LAB_SCHEDULES_MAX);
	lab->schedules[lab->schedule_count].flag = flag;
	lab->schedules[lab->schedule_count].from = from;
	lab->schedules[lab->schedule_count++].until = until;
	apply_schedules(lab);
}

static void on_sleep(struct world_run *run)
{
	struct lab *lab = run->wire.ctx;

	for (uint32_t i = 0; i < run->world->built->port_count && lab->traffic; i++)
		count_port(lab, &run->world->counters[i]);
	apply_schedules(lab);
	if (lab->before_sweep)
		lab->before_sweep(lab);
	lab_apply(lab);
}

static void on_send(struct world_run *run, const uint8_t mad[MAD_SIZE])
{
	struct lab *lab = run->wire.ctx;

	(void)mad;
	if (lab->act_after && !--lab->act_after)
		lab->act(lab);
}

static uint16_t sm_lid(struct world_run *run)
{
	const struct lab *lab = run->wire.ctx;

	return lab->nodes[lab->sm_node].lid;
}

static void init_node(struct lab *lab, uint32_t index)
{
	/* 64-bit errors, 64-bit traffic only, the same without multicast, 32 bits only. */
	static const uint16_t masks[] = { 0xd300, 0x1200, 0x1400, 0x0000 };
	struct virtual *world = lab->run.world;
	const struct node *node = &world->built->nodes[index];

	lab->nodes[index].lid = (uint16_t)(index + 1);
	lab->agents[index].fec_mode = 2;
	lab->agents[index].caps = (struct pma_caps){ .known = true, .cap_mask = masks[index % 4],
						     .cap_mask2 = index % 8 ? 0 : PMA_CAP2_EXTENDED_ERRORS };
	for (uint32_t i = node->first_port; i < node->first_port + node->ports; i++) {
		lab->nodes[index].ports[world->built->ports[i].num].now = &world->counters[i];
		/* Different for each port, far from the maximum of 32 bits. */
		for (uint32_t counter = 0; counter < COUNTER_TRAFFIC_COUNT; counter++)
			world->counters[i].value[counter] = lab_random(lab) % (UINT32_MAX / 2);
	}
}

struct lab *lab_create(uint64_t seed)
{
	struct lab *lab = virtual_alloc(1, sizeof(*lab));
	struct virtual *world = virtual_create(build(), 10 * US_PER_S, seed);

	log_init("lab", LOG_LEVEL_NONE);
	lab->detail_draws = seed << 40;
	world->counters = virtual_alloc(world->built->port_count, sizeof(*world->counters));
	world_run_init(&lab->run, world);
	lab->agents = world->agents;
	for (uint32_t i = 0; i < LAB_NODES; i++) {
		init_node(lab, i);
		world->built->nodes[i].lft_top = 0;
	}
	lab->agents[OWN_HOST].sm_state = SM_MASTER;
	lab->sm_node = OWN_HOST;
	lab->traffic = true;
	lab->sink = lab_sink(lab);
	lab->run.now_us = US_PER_S;
	lab->run.boot_us = 0;
	lab->run.wall_us = 1795183200LL * US_PER_S;
	snprintf(lab->run.boot_id, sizeof(lab->run.boot_id), "boot-1");
	lab->run.loss = 0;
	lab->run.jitter_us = 200;
	lab->run.discovery_us = 0;
	lab->run.settings.interval_us = 10 * US_PER_S;
	lab->run.settings.routes_interval_us = 0;
	lab->run.settings.engine.max_mads_per_s = 0;
	lab->run.settings.engine.timeout_ms = 100;
	lab->run.wire.ctx = lab;
	lab->run.sm_lid = sm_lid;
	lab->run.on_sleep = on_sleep;
	lab->run.on_send = on_send;
	return lab;
}

void lab_destroy(struct lab *lab)
{
	routes_done(&lab->routes);
	text_done(&lab->fabric);
	virtual_destroy(lab->run.world);
	free(lab);
}

int lab_setup(void **state)
{
	*state = lab_create(1);
	return 0;
}

int lab_teardown(void **state)
{
	lab_destroy(*state);
	return 0;
}

int lab_try(struct lab *lab, uint64_t sweeps)
{
	lab->run.settings.count = sweeps;
	lab->run.wire.directed_smps = lab->run.lid_smps_lost;
	lab->generation = 0;
	lab_apply(lab);
	return collector_run(&lab->run.settings, &lab->run.wire, &lab->run.clock, &lab->sink, &lab->report, &lab->err);
}

void lab_run(struct lab *lab, uint64_t sweeps)
{
	if (lab_try(lab, sweeps) < 0)
		fail_msg("%s", lab->err.text);
}

void lab_run_with(struct lab *lab, void (*before_sweep)(struct lab *lab), uint64_t sweeps)
{
	lab->before_sweep = before_sweep;
	lab_run(lab, sweeps);
}
