/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* P_Key tables: when they are read, and which mistakes of 4,096 HCAs are found within one discovery. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/health.h"
#include "base/clock.h"
#include "base/unit_test.h"
#include "collector/events.h"
#include "collector/node_memory.h"
#include "collector/pkey_read.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"
#include "tests/world/lab.h"
#include "wire/engine.h"

enum { LEAVES = 128, PER_LEAF = 32, HOSTS = LEAVES * PER_LEAF, SPINES = 32, PORTS = 4 * HOSTS };
/* MADs of a sweep: one per port, a sixth for detail counters and changes (docs/cost.md), and forwarding tables. */
enum { MADS = PORTS * 6 / 5 };
enum { TENANTS = 120, OF_TENANT = 30, SERVERS = 40, MISTAKES = 100, SWEEPS_AN_HOUR = 360, OF_DISCOVERY = 60 };
#define SWEEP_US (10 * US_PER_S)

/* Host 0 has the SM and the collector; hosts of tenants follow, then servers of several tenants, then others. */
struct bed {
	struct world_run *run;
	struct fabric *fabric;
	struct shape *shape;
	struct engine *engine;
	struct node_memory memory;
	struct pkey_read read;
	struct events events;
	struct health *health;
	struct health_job jobs[TENANTS];
	uint32_t job_ports[TENANTS * OF_TENANT];
	bool wrong[PORTS + HOSTS]; /* by port: a mistake was made there */
	bool found[PORTS + HOSTS];
	uint64_t mads;             /* SMPs for tables */
	unsigned false_ones;
};

static struct fabric *build(void)
{
	struct fabric *fabric = fabric_create(NULL);

	for (unsigned i = 0; i < HOSTS + LEAVES + SPINES; i++) {
		bool host = i < HOSTS, leaf = !host && i < HOSTS + LEAVES;
		struct node node = { .guid = 1000 + i, .system_guid = 1000 + i, .type = host ? NODE_CA : NODE_SWITCH,
				     .port_count = host ? 1 : leaf ? 2 * PER_LEAF : LEAVES,
				     .partition_cap = host ? 128 : 8, .enforcement_cap = leaf ? 32 : 0 };

		snprintf(node.desc, sizeof(node.desc), host ? "n%04u mlx5_0" : leaf ? "leaf%u" : "spine%u",
			 host ? i : leaf ? i - HOSTS : i - HOSTS - LEAVES);
		assert_true(fabric_add_node(fabric, &node, NULL) == i);
		for (unsigned num = host ? 1 : 0; num <= node.port_count; num++)
			assert_true(fabric_add_port(fabric, &(struct port){
				.num = (uint8_t)num, .state = PORT_ACTIVE, .phys_state = PHYS_LINK_UP,
				.guid = host ? 900000 + i : 0,
				.enforcement = leaf && num && num <= PER_LEAF ? PKEYS_INBOUND | PKEYS_OUTBOUND : 0 },
						    NULL) >= 0);
	}
	for (unsigned leaf = 0; leaf < LEAVES; leaf++)
		for (unsigned i = 0; i < PER_LEAF; i++) {
			uint32_t at = fabric->nodes[HOSTS + leaf].first_port;

			assert_int_equal(fabric_link(fabric, fabric->nodes[leaf * PER_LEAF + i].first_port, at + 1 + i,
						     NULL), 0);
			assert_int_equal(fabric_link(fabric, at + 1 + PER_LEAF + i,
						     fabric->nodes[HOSTS + LEAVES + i].first_port + 1 + leaf, NULL), 0);
		}
	assert_int_equal(fabric_finish(fabric, NULL, NULL), 0);
	fabric->from_node = 0;
	fabric->from_port = 1;
	return fabric;
}

/* The tables of a host and of the switch port at the other end. */
static void set_keys(struct bed *bed, unsigned host, const uint16_t *keys, size_t count, bool of_host, bool of_switch)
{
	const struct fabric *built = bed->run->world->built;
	const struct port *peer = &built->ports[built->ports[built->nodes[host].first_port].peer];

	if (of_host)
		assert_true(pkeys_set(&bed->run->world->pkeys, 1000 + host, 1, keys, count, 0, NULL) >= 0);
	if (of_switch)
		assert_true(pkeys_set(&bed->run->world->pkeys, built->nodes[peer->node].guid, peer->num, keys, count,
				      3, NULL) >= 0);
}

static unsigned host_of(unsigned tenant, unsigned at)
{
	/* Spread over the leaves. */
	return 1 + (tenant * OF_TENANT + at) * 37 % (TENANTS * OF_TENANT);
}

static void configure(struct bed *bed)
{
	uint16_t keys[16] = { 0xffff };

	set_keys(bed, 0, keys, 1, true, true);
	keys[0] = 0x7fff;
	for (unsigned host = 1; host < HOSTS; host++)
		set_keys(bed, host, keys, 1, true, true);
	for (unsigned tenant = 0; tenant < TENANTS; tenant++) {
		struct health_job *job = &bed->jobs[tenant];

		*job = (struct health_job){ .number = 100 + tenant, .id = "4711", .port_count = OF_TENANT,
					    .ports = bed->job_ports + (size_t)tenant * OF_TENANT };
		keys[1] = (uint16_t)(0x8001 + tenant);
		for (unsigned i = 0; i < OF_TENANT; i++) {
			set_keys(bed, host_of(tenant, i), keys, 2, true, true);
			bed->job_ports[tenant * OF_TENANT + i] =
				bed->run->world->built->nodes[host_of(tenant, i)].first_port;
		}
	}
	for (unsigned i = 0; i < SERVERS; i++) {
		for (unsigned k = 0; k < 15; k++)
			keys[1 + k] = (uint16_t)(0x8001 + (i * 3 + k) % TENANTS);
		set_keys(bed, 1 + TENANTS * OF_TENANT + i, keys, 16, true, true);
	}
}

static void bed_init(struct bed *bed)
{
	static const struct engine_settings settings = { .window = 32, .per_node = 1, .timeout_ms = 100, .retries = 2 };
	struct health_settings health;
	struct virtual *world = virtual_create(build(), SWEEP_US, 1);

	memset(bed, 0, sizeof(*bed));
	bed->run = virtual_alloc(1, sizeof(*bed->run));
	bed->fabric = world->built;
	world_run_init(bed->run, world);
	bed->run->loss = 0;
	bed->run->boot_us = 0;
	bed->run->now_us = 77 * US_PER_S;
	assert_int_equal(node_memory_set_fabric(&bed->memory, bed->fabric, NULL), 0);
	assert_int_equal(engine_create(&bed->run->transport, &bed->run->clock, &settings, &bed->engine, NULL), 0);
	assert_int_equal(shape_create(bed->fabric, NULL, &bed->shape, NULL), 0);
	health_settings_default(&health);
	bed->health = health_create(&health);
	assert_non_null(bed->health);
	configure(bed);
}

static void bed_done(struct bed *bed)
{
	health_destroy(bed->health);
	engine_destroy(bed->engine);
	pkey_read_done(&bed->read);
	node_memory_done(&bed->memory);
	events_done(&bed->events);
	shape_destroy(bed->shape);
	virtual_destroy(bed->run->world);
	free(bed->run);
}

static void note_port(struct bed *bed, uint64_t guid, uint8_t num, const char *text)
{
	uint32_t port = fabric_find_port(bed->fabric, guid, num);

	assert_true(port != FABRIC_NONE);
	bed->found[port] = true;
	if (!bed->wrong[port] && bed->false_ones++ < 3)
		print_message("# false: port %u of 0x%llx: %s\n", num, (unsigned long long)guid, text);
}

static void ignore(void *ctx, enum health_change change, struct finding *finding)
{
	(void)ctx;
	(void)change;
	(void)finding;
}

/* The reads of one sweep, and the findings after it. */
static void bed_sweep(struct bed *bed)
{
	const struct pkey_read_limits limits = { .mads = MADS, .smps = 10000 };
	int64_t began_us = bed->run->now_us;
	struct health_input input = {
		.wall_us = began_us, .boot_us = began_us, .interval_us = SWEEP_US, .fabric = bed->fabric,
		.shape = bed->shape, .sm_known = true, .sm_masters = 1, .jobs = bed->jobs, .job_count = TENANTS,
		.topology_changed = bed->read.run == 0,
	};
	const struct finding *const *open;
	size_t count;

	assert_int_equal(pkey_read_run(&bed->read, bed->engine, &bed->memory, &limits, began_us, began_us, &bed->events,
				       NULL), 0);
	pkey_read_commit(&bed->read);
	bed->mads += bed->read.smps;
	bed->run->now_us = began_us + SWEEP_US;
	/* In every third sweep, for the time that it takes. */
	if (bed->read.run % 3 != 1)
		return;
	input.pkeys = &bed->read.pkeys;
	input.pkeys_revision = bed->read.revision;
	input.pkeys_settled = bed->read.is_settled;
	assert_int_equal(health_step(bed->health, &input, ignore, NULL, NULL), 0);
	count = health_open(bed->health, &open);
	for (size_t i = 0; i < count; i++) {
		if (open[i]->kind != FINDING_PARTITION)
			continue;
		if (open[i]->node_guid)
			note_port(bed, open[i]->node_guid, open[i]->port, open[i]->text);
		for (unsigned j = 0; j < open[i]->port_count; j++)
			note_port(bed, open[i]->ports[j].node_guid, open[i]->ports[j].port, open[i]->text);
	}
}

static void mark_wrong(struct bed *bed, unsigned host, bool of_switch)
{
	uint32_t port = bed->fabric->nodes[host].first_port;

	bed->wrong[of_switch ? bed->fabric->ports[port].peer : port] = true;
}

/* A mistake at hosts that have none yet. */
static void make_mistake(struct bed *bed, unsigned number, bool used[HOSTS])
{
	unsigned kind = number % 5, tenant, host, other;
	uint16_t keys[3] = { 0x7fff };

	do {
		tenant = (unsigned)(virtual_random(bed->run->world) * TENANTS);
		host = host_of(tenant, (unsigned)(virtual_random(bed->run->world) * OF_TENANT));
		other = host_of(tenant, (unsigned)(virtual_random(bed->run->world) * OF_TENANT));
	} while (used[host] || used[other] || host == other);
	keys[1] = (uint16_t)(0x8001 + tenant);
	used[host] = true;
	switch (kind) {
	case 0: /* a host without the partition of its job */
		set_keys(bed, host, keys, 1, true, true);
		break;
	case 1: /* two limited members in it */
		used[other] = true;
		keys[1] &= PKEY_BASE;
		set_keys(bed, host, keys, 2, true, true);
		set_keys(bed, other, keys, 2, true, true);
		mark_wrong(bed, other, false);
		break;
	case 2: /* a P_Key left behind */
		keys[2] = (uint16_t)(0xa000 + number);
		set_keys(bed, host, keys, 3, true, true);
		break;
	case 3: /* no default partition; once at the collector */
		host = number == 3 ? 0 : host;
		set_keys(bed, host, keys + 1, number == 3 ? 0 : 1, true, true);
		break;
	case 4: /* the switch port lacks the partition */
		set_keys(bed, host, keys, 1, false, true);
		mark_wrong(bed, host, true);
		return;
	}
	mark_wrong(bed, host, false);
}

TEST(mistakes_of_4096_hcas_are_found_within_one_discovery)
{
	struct bed *bed = virtual_alloc(1, sizeof(*bed));
	bool *used = virtual_alloc(HOSTS, sizeof(*used));
	unsigned sweep = 0, wrong = 0, missing = 0, first = 0, last = 0, most = 0;

	bed_init(bed);
	for (; sweep < SWEEPS_AN_HOUR / 2; sweep++)
		bed_sweep(bed);
	assert_int_equal(bed->false_ones, 0);
	assert_true(bed->read.is_settled);
	for (unsigned i = 0; i < MISTAKES; i++)
		make_mistake(bed, i, used);
	for (unsigned i = 0; i < OF_DISCOVERY; i++, sweep++) {
		unsigned found = 0;

		bed_sweep(bed);
		for (uint32_t port = 0; port < bed->fabric->port_count; port++)
			found += bed->wrong[port] && bed->found[port];
		first = found && !first ? i + 1 : first;
		last = found > most ? i + 1 : last;
		most = found > most ? found : most;
	}
	for (uint32_t port = 0; port < bed->fabric->port_count; port++) {
		wrong += bed->wrong[port];
		missing += bed->wrong[port] && !bed->found[port];
	}
	for (; sweep < SWEEPS_AN_HOUR; sweep++)
		bed_sweep(bed);
	print_message("# %u ports of %d mistakes, %u not found, %u false; found after %u to %u s; %.2f %% of MADs\n",
		      wrong, MISTAKES, missing, bed->false_ones, 10 * first, 10 * last,
		      100.0 * (double)bed->mads / ((double)SWEEPS_AN_HOUR * MADS));
	assert_int_equal(wrong, MISTAKES + MISTAKES / 5);
	assert_int_equal(missing, 0);
	assert_int_equal(bed->false_ones, 0);
	assert_true(bed->mads <= (uint64_t)SWEEPS_AN_HOUR * MADS / 100);
	bed_done(bed);
	free(used);
	free(bed);
}

/* What is known of a host, as text. */
static const char *known(const struct bed *bed, unsigned host, char ret[80])
{
	const struct pkey_table *table = pkeys_find(&bed->read.pkeys, 1000 + host, 1);
	struct text text = { 0 };

	if (table)
		pkeys_text(&text, table, 0);
	snprintf(ret, 80, "%s", text_chars(&text));
	text_done(&text);
	return ret;
}

TEST(all_blocks_in_use_are_read)
{
	struct bed *bed = virtual_alloc(1, sizeof(*bed));
	uint16_t keys[100];
	char text[80];

	for (unsigned i = 0; i < 100; i++)
		keys[i] = (uint16_t)(0x8100 + i);
	bed_init(bed);
	mark_wrong(bed, 5, false);
	mark_wrong(bed, 6, false);
	mark_wrong(bed, 5, true);
	mark_wrong(bed, 6, true);
	set_keys(bed, 5, keys, 100, true, false);
	/* Entries may be unused, but for the last one. */
	memset(keys, 0, 31 * sizeof(*keys));
	set_keys(bed, 6, keys, 40, true, false);
	/* A node that does not respond delays no other, and has no table. */
	bed->run->world->agents[7].dead = true;
	bed_sweep(bed);
	bed_sweep(bed);
	assert_int_equal(pkeys_find(&bed->read.pkeys, 1005, 1)->count, 100);
	assert_int_equal(pkeys_find(&bed->read.pkeys, 1006, 1)->count, 40);
	assert_null(pkeys_find(&bed->read.pkeys, 1007, 1));
	assert_true(bed->read.is_settled);
	assert_string_equal(known(bed, 0, text), "0xffff");
	assert_int_equal(bed->events.count, 0);
	/* A change is an event, once it is read; it unsettles the tables for a minute. */
	bed->run->world->agents[7].dead = false;
	set_keys(bed, 0, (const uint16_t[]){ 0xffff, 0x8012 }, 2, true, true);
	for (unsigned i = 0; i < OF_DISCOVERY - 7 && bed->read.is_settled; i++)
		bed_sweep(bed);
	assert_false(bed->read.is_settled);
	assert_string_equal(known(bed, 0, text), "0xffff 0x8012");
	assert_int_equal(bed->events.count, 2);
	assert_string_equal(bed->events.list[0].kind, EVENT_PKEYS_CHANGED);
	assert_non_null(strstr(bed->events.list[0].text, "changed: 0xffff 0x8012, before 0xffff"));
	for (unsigned i = 0; i < 8; i++)
		bed_sweep(bed);
	assert_true(bed->read.is_settled);
	assert_non_null(pkeys_find(&bed->read.pkeys, 1007, 1));
	/* An estimate: each table once in 8 minutes, and no more than 0.8 % of the MADs. */
	assert_int_equal(pkey_read_cost(bed->fabric, 100000000, 2 * PKEY_READ_PERIOD_US), 2 * bed->read.target_count);
	assert_int_equal(pkey_read_cost(bed->fabric, 1000, 2 * PKEY_READ_PERIOD_US), 8);
	bed_done(bed);
	free(bed);
}
