/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/model/census.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "fabric/shape.h"
#include "storage/reader.h"
#include "tui/model/context.h"
#include "tui/model/test_sample.h"
#include "tui/model/port_table.h"

enum { LEAVES = 4, HOSTS = LEAVES * SAMPLE_HOSTS_PER_LEAF, TRUNKS = LEAVES * SAMPLE_SPINES };

struct made {
	struct sample sample;
	struct snapshot snapshot;
	struct error_sums sums;
	struct port_table table;
	struct snapshot_context context;
	struct finding_row finding;
	const struct shape_settings *settings;
};

static int setup(void **state)
{
	struct made *made = calloc(1, sizeof(*made));

	if (!made || sample_create(&made->sample, LEAVES, true, NULL) < 0)
		return -1;
	port_table_init(&made->table);
	made->snapshot.fabric = made->sample.fabric;
	made->snapshot.sweep.wall_us = 1000000;
	made->snapshot.rows = calloc(made->sample.fabric->port_count, sizeof(*made->snapshot.rows));
	*state = made;
	return made->snapshot.rows ? 0 : -1;
}

static int teardown(void **state)
{
	struct made *made = *state;

	shape_destroy(made->context.shape);
	port_table_done(&made->table);
	error_sums_done(&made->sums);
	free(made->snapshot.rows);
	sample_destroy(&made->sample);
	free(made);
	return 0;
}

/* leaf02/33 and its other end. */
static uint32_t down_port(const struct made *made)
{
	return fabric_node_port(made->sample.fabric, HOSTS + 1, 33);
}

static void take(struct made *made, struct census *ret)
{
	shape_destroy(made->context.shape);
	assert_int_equal(shape_create(made->sample.fabric, NULL, &made->context.shape, NULL), 0);
	assert_int_equal(port_table_set(&made->table, &made->snapshot, &made->sums, NULL), 0);
	census_count(&made->table, &made->context, made->settings, ret);
}

static void a_link_counts_once_up_or_down(void **state)
{
	struct made *made = *state;
	const struct fabric *fabric = made->sample.fabric;
	uint32_t down = down_port(made);
	struct census census;

	take(made, &census);
	assert_int_equal(census.hosts, HOSTS);
	assert_int_equal(made->table.summary.links_up, HOSTS + TRUNKS - 1);
	assert_int_equal(census.links_degraded, 0);
	assert_true(census.bits_per_s == (HOSTS + TRUNKS - 1) * port_rate_bits_per_s(&fabric->ports[0]));
	/* Ports that were never read were never up, as far as is known. */
	assert_int_equal(census.links_down, 0);
	made->snapshot.rows[down].last_wall_us = made->snapshot.sweep.wall_us - 1;
	take(made, &census);
	assert_int_equal(census.links_down, 1);
}

static void two_ends_that_only_a_finding_knows_are_one_link(void **state)
{
	struct made *made = *state;
	const struct fabric *fabric = made->sample.fabric;
	uint32_t low = down_port(made), high = FABRIC_NONE, i;
	struct census census;

	for (i = 0; i < fabric->port_count; i++)
		if (fabric->ports[i].num == fabric->ports[low].num - 33 + 2 && fabric->ports[i].peer == FABRIC_NONE &&
		    fabric->nodes[fabric->ports[i].node].type == NODE_SWITCH && fabric->ports[i].node >= HOSTS + LEAVES)
			high = i;
	assert_true(high != FABRIC_NONE && fabric->ports[low].peer == FABRIC_NONE);
	made->snapshot.rows[low].last_wall_us = made->snapshot.rows[high].last_wall_us = 1;
	take(made, &census);
	assert_int_equal(census.links_down, 2);
	made->finding.finding = (struct finding){ .kind = FINDING_LINK_DOWN, .cause = "",
		.node_guid = fabric->nodes[fabric->ports[low].node].guid, .port = fabric->ports[low].num,
		.peer_guid = fabric->nodes[fabric->ports[high].node].guid, .peer_port = fabric->ports[high].num };
	made->context.findings = &made->finding;
	made->context.finding_count = 1;
	take(made, &census);
	assert_int_equal(census.links_down, 1);
}

static void a_link_that_is_slower_than_its_siblings_is_degraded(void **state)
{
	struct made *made = *state;
	struct fabric *fabric = made->sample.fabric;
	uint32_t port = fabric_node_port(fabric, HOSTS, 40);
	struct census census;

	fabric->ports[port].width = fabric->ports[fabric->ports[port].peer].width = LINK_WIDTH_1X;
	take(made, &census);
	assert_int_equal(census.links_degraded, 1);
}

/* All links of hosts are so: no sibling tells what they were built for. */
static void a_link_below_what_its_ends_are_set_to_is_degraded(void **state)
{
	struct made *made = *state;
	struct fabric *fabric = made->sample.fabric;
	struct census census;

	for (uint32_t i = 0; i < HOSTS; i++) {
		uint32_t port = fabric_node_port(fabric, i, 1);

		fabric->ports[port].width = fabric->ports[fabric->ports[port].peer].width = LINK_WIDTH_1X;
	}
	take(made, &census);
	assert_int_equal(census.links_degraded, HOSTS);
}

static void the_port_of_the_subnet_manager_is_found_by_its_guid(void **state)
{
	struct made *made = *state;
	struct census census;

	take(made, &census);
	assert_int_equal(census.sm_port, FABRIC_NONE);
	made->snapshot.sweep.sm.guid = made->sample.fabric->ports[7].guid;
	take(made, &census);
	assert_int_equal(census.sm_port, 7);
}

static void adaptive_routing_comes_from_the_settings(void **state)
{
	struct shape_adaptive_rule rules[] = { { "leaf02", false }, { "leaf*", true }, { NULL, false } };
	const struct shape_settings settings = { .adaptive = rules };
	struct made *made = *state;
	struct census census;

	take(made, &census);
	assert_int_equal(census.adaptive_on + census.adaptive_off, 0);
	made->settings = &settings;
	take(made, &census);
	assert_int_equal(census.adaptive_on, LEAVES - 1);
	assert_int_equal(census.adaptive_off, 1);
}

static void without_a_snapshot_there_is_nothing(void **state)
{
	const struct port_table none = { 0 };
	const struct snapshot_context context = { 0 };
	struct census census = { .hosts = 7 };

	(void)state;
	census_count(&none, &context, NULL, &census);
	assert_int_equal(census.hosts + census.links_down, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_link_counts_once_up_or_down),
		TEST(two_ends_that_only_a_finding_knows_are_one_link),
		TEST(a_link_that_is_slower_than_its_siblings_is_degraded),
		TEST(a_link_below_what_its_ends_are_set_to_is_degraded),
		TEST(the_port_of_the_subnet_manager_is_found_by_its_guid),
		TEST(adaptive_routing_comes_from_the_settings),
		cmocka_unit_test(without_a_snapshot_there_is_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
