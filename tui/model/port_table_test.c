/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/unit_test.h"
#include "tui/model/port_table.h"

#include <stdlib.h>

#include "base/clock.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"
#include "storage/reader.h"
#include "tui/model/context.h"
#include "tui/model/test_sample.h"

#define INTERVAL_US (2 * US_PER_S)
enum { LEAVES = 4, HOSTS = LEAVES * SAMPLE_HOSTS_PER_LEAF, TRUNKS = LEAVES * SAMPLE_SPINES };

#define START_US (1000000 * US_PER_S)

/* A snapshot as the reader would give it, made without a database. */
struct made {
	struct sample sample;
	struct snapshot snapshot;
	struct error_sums sums;
	struct port_table table;
	struct snapshot_context context;
	struct finding_row finding;
	const struct shape_settings *settings;
};

static void make_snapshot(struct made *made, unsigned number)
{
	assert_int_equal(sample_snapshot(&made->sample, number, START_US + number * INTERVAL_US, INTERVAL_US,
					 &made->snapshot), 0);
}

static int setup(void **state)
{
	struct made *made = calloc(1, sizeof(*made));

	if (!made || sample_create(&made->sample, 4, true, NULL) < 0)
		return -1;
	make_snapshot(made, 1);
	if (error_sums_add(&made->sums, &made->snapshot, NULL) < 0 ||
	    port_table_set(&made->table, &made->snapshot, &made->sums, NULL) < 0)
		return -1;
	*state = made;
	return 0;
}

/* A snapshot in which no port was read. */
static int setup_unread(void **state)
{
	struct made *made = calloc(1, sizeof(*made));

	if (!made || sample_create(&made->sample, LEAVES, true, NULL) < 0)
		return -1;
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

static enum port_status status_at(const struct made *made, uint32_t node, uint8_t num)
{
	return (enum port_status)made->table.views[fabric_node_port(made->sample.fabric, node, num)].status;
}

TEST_WITH(each_reason_for_no_data_has_its_own_status, setup, teardown)
{
	struct made *made = *state;
	const uint32_t leaf = 4 * SAMPLE_HOSTS_PER_LEAF;

	assert_int_equal(status_at(made, 0, 1), STATUS_OK);
	assert_int_equal(status_at(made, 4, 1), STATUS_UNSUPPORTED);
	assert_int_equal(status_at(made, 6, 1), STATUS_LOCKED);
	assert_int_equal(status_at(made, 8, 1), STATUS_IDLE);
	assert_int_equal(status_at(made, leaf, 3), STATUS_SILENT);
	assert_int_equal(status_at(made, leaf + 1, SAMPLE_HOSTS_PER_LEAF + 1), STATUS_DOWN);
	make_snapshot(made, 0);
	assert_int_equal(port_table_set(&made->table, &made->snapshot, &made->sums, NULL), 0);
	assert_int_equal(status_at(made, 0, 1), STATUS_NEW);
	made->sample.fabric->ports[0].state = PORT_INIT;
	assert_int_equal(port_table_set(&made->table, &made->snapshot, &made->sums, NULL), 0);
	assert_int_equal(status_at(made, 0, 1), STATUS_INIT);
}

TEST_WITH(errors_sum_up_over_sweeps, setup, teardown)
{
	struct made *made = *state;
	const uint64_t guid = made->sample.fabric->nodes[4 * SAMPLE_HOSTS_PER_LEAF + 1].guid;
	const struct error_sum *sum;
	uint32_t port = fabric_find_port(made->sample.fabric, guid, 2);

	for (unsigned number = 2; number <= 10; number++) {
		make_snapshot(made, number);
		if (number == 5)
			made->snapshot.rows[port].sum.reset = COUNTER_BIT(COUNTER_SYMBOL_ERRORS);
		/* Relay errors are kept, and do not count. */
		made->snapshot.rows[port].sum.value[COUNTER_RCV_SWITCH_RELAY_ERRORS] = 7;
		assert_int_equal(error_sums_add(&made->sums, &made->snapshot, NULL), 0);
	}
	assert_int_equal(port_table_set(&made->table, &made->snapshot, &made->sums, NULL), 0);
	assert_int_equal(made->sums.count, 1);
	sum = error_sums_find(&made->sums, guid, 2);
	assert_non_null(sum);
	assert_int_equal(sum->total, 30);
	assert_true(sum->at_least);
	assert_null(error_sums_find(&made->sums, guid, 1));
	assert_int_equal(made->table.summary.errors, 30);
}

TEST_WITH(the_summary_counts_what_is_there, setup, teardown)
{
	struct made *made = *state;
	const struct fabric_summary *summary = &made->table.summary;

	assert_int_equal(summary->hcas, 4 * SAMPLE_HOSTS_PER_LEAF);
	assert_int_equal(summary->switches, 4 + SAMPLE_SPINES);
	assert_int_equal(summary->links_up, 4 * SAMPLE_HOSTS_PER_LEAF + 4 * SAMPLE_SPINES - 1);
	assert_int_equal(summary->by_status[STATUS_SILENT], 1);
	assert_int_equal(summary->by_status[STATUS_LOCKED], 1);
	assert_int_equal(summary->by_status[STATUS_UNSUPPORTED], 1);
	assert_int_equal(summary->link_columns, 5);
}

TEST_WITH(ports_that_were_never_up_are_counted_apart, setup, teardown)
{
	struct made *made = *state;
	const struct port_table *table = &made->table;
	size_t unused = table->summary.ports_unused;

	assert_true(unused > 0 && unused < table->summary.ports);
	/* One that was read a context before it went down is no such port. */
	made->snapshot.rows[fabric_node_port(made->sample.fabric, 4 * SAMPLE_HOSTS_PER_LEAF + 1, 33)].last_wall_us =
		START_US;
	assert_int_equal(port_table_set(&made->table, &made->snapshot, &made->sums, NULL), 0);
	assert_int_equal(table->summary.ports_unused, unused - 1);
	assert_int_equal(table->summary.ports_down, 1);
}

TEST_WITH(no_snapshot_is_an_empty_table, setup, teardown)
{
	struct made *made = *state;

	assert_int_equal(port_table_set(&made->table, NULL, &made->sums, NULL), 0);
	assert_null(made->table.snapshot);
	assert_int_equal(made->table.summary.ports, 0);
}

/* leaf02/33 and its other end. */
static uint32_t down_port(const struct made *made)
{
	return fabric_node_port(made->sample.fabric, HOSTS + 1, 33);
}

static void compare(struct made *made, const struct fabric_summary **ret)
{
	shape_destroy(made->context.shape);
	assert_int_equal(shape_create(made->sample.fabric, NULL, &made->context.shape, NULL), 0);
	assert_int_equal(port_table_set(&made->table, &made->snapshot, &made->sums, NULL), 0);
	port_table_compare(&made->table, &made->context, made->settings);
	*ret = &made->table.summary;
}

TEST_WITH(a_link_counts_once_up_or_down, setup_unread, teardown)
{
	struct made *made = *state;
	const struct fabric *fabric = made->sample.fabric;
	uint32_t down = down_port(made);
	const struct fabric_summary *summary;

	compare(made, &summary);
	assert_int_equal(summary->hosts, HOSTS);
	assert_int_equal(summary->links_up, HOSTS + TRUNKS - 1);
	assert_int_equal(summary->links_degraded, 0);
	assert_true(summary->bits_per_s == (HOSTS + TRUNKS - 1) * port_rate_bits_per_s(&fabric->ports[0]));
	/* Ports that were never read were never up, as far as is known. */
	assert_int_equal(summary->links_down, 0);
	made->snapshot.rows[down].last_wall_us = made->snapshot.sweep.wall_us - 1;
	compare(made, &summary);
	assert_int_equal(summary->links_down, 1);
}

TEST_WITH(two_ends_that_only_a_finding_knows_are_one_link, setup_unread, teardown)
{
	struct made *made = *state;
	const struct fabric *fabric = made->sample.fabric;
	uint32_t low = down_port(made), high = FABRIC_NONE;
	const struct fabric_summary *summary;

	for (uint32_t i = 0; i < fabric->port_count; i++)
		if (fabric->ports[i].num == fabric->ports[low].num - 33 + 2 && fabric->ports[i].peer == FABRIC_NONE &&
		    fabric->nodes[fabric->ports[i].node].type == NODE_SWITCH && fabric->ports[i].node >= HOSTS + LEAVES)
			high = i;
	assert_true(high != FABRIC_NONE && fabric->ports[low].peer == FABRIC_NONE);
	made->snapshot.rows[low].last_wall_us = made->snapshot.rows[high].last_wall_us = 1;
	compare(made, &summary);
	assert_int_equal(summary->links_down, 2);
	made->finding.finding = (struct finding){ .kind = FINDING_LINK_DOWN, .cause = "",
		.node_guid = fabric->nodes[fabric->ports[low].node].guid, .port = fabric->ports[low].num,
		.peer_guid = fabric->nodes[fabric->ports[high].node].guid, .peer_port = fabric->ports[high].num };
	made->context.findings = &made->finding;
	made->context.finding_count = 1;
	compare(made, &summary);
	assert_int_equal(summary->links_down, 1);
}

TEST_WITH(a_link_that_is_slower_than_its_siblings_is_degraded, setup_unread, teardown)
{
	struct made *made = *state;
	struct fabric *fabric = made->sample.fabric;
	uint32_t port = fabric_node_port(fabric, HOSTS, 40);
	const struct fabric_summary *summary;

	fabric->ports[port].width = fabric->ports[fabric->ports[port].peer].width = LINK_WIDTH_1X;
	compare(made, &summary);
	assert_int_equal(summary->links_degraded, 1);
}

/* All links of hosts are so: no sibling tells what they were built for. */
TEST_WITH(a_link_below_what_its_ends_are_set_to_is_degraded, setup_unread, teardown)
{
	struct made *made = *state;
	struct fabric *fabric = made->sample.fabric;
	const struct fabric_summary *summary;

	for (uint32_t i = 0; i < HOSTS; i++) {
		uint32_t port = fabric_node_port(fabric, i, 1);

		fabric->ports[port].width = fabric->ports[fabric->ports[port].peer].width = LINK_WIDTH_1X;
	}
	compare(made, &summary);
	assert_int_equal(summary->links_degraded, HOSTS);
}

TEST_WITH(the_port_of_the_subnet_manager_is_found_by_its_guid, setup_unread, teardown)
{
	struct made *made = *state;
	const struct fabric_summary *summary;

	compare(made, &summary);
	assert_int_equal(summary->sm_port, FABRIC_NONE);
	made->snapshot.sweep.sm.guid = made->sample.fabric->ports[7].guid;
	compare(made, &summary);
	assert_int_equal(summary->sm_port, 7);
}

TEST_WITH(adaptive_routing_comes_from_the_settings, setup_unread, teardown)
{
	struct shape_adaptive_rule rules[] = { { "leaf02", false }, { "leaf*", true }, { NULL, false } };
	const struct shape_settings settings = { .adaptive = rules };
	struct made *made = *state;
	const struct fabric_summary *summary;

	compare(made, &summary);
	assert_int_equal(summary->adaptive_on + summary->adaptive_off, 0);
	made->settings = &settings;
	compare(made, &summary);
	assert_int_equal(summary->adaptive_on, LEAVES - 1);
	assert_int_equal(summary->adaptive_off, 1);
}

