/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/unit_test.h"
#include "tui/model/port_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"
#include "storage/reader.h"
#include "tui/model/context.h"
#include "tui/model/test_sample.h"

enum { LEAVES = 4, HOSTS = LEAVES * SAMPLE_HOSTS_PER_LEAF, TRUNKS = LEAVES * SAMPLE_SPINES };

struct made {
	struct sample_model model;
	struct finding_row finding;
	const struct shape_settings *settings;
};

static void make_snapshot(struct made *made, unsigned number)
{
	assert_int_equal(sample_snapshot(&made->model.sample, number, SAMPLE_START_US + number * SAMPLE_INTERVAL_US,
					 SAMPLE_INTERVAL_US, &made->model.snapshot), 0);
}

static int setup(void **state)
{
	*state = sample_model_create(sizeof(struct made), LEAVES, true);
	return *state ? 0 : -1;
}

/* A snapshot in which no port was read. */
static int setup_unread(void **state)
{
	*state = sample_model_create(sizeof(struct made), LEAVES, false);
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	sample_model_done(*state);
	free(*state);
	return 0;
}

/* leaf02/33 */
static uint32_t down_port(const struct made *made)
{
	return fabric_node_port(made->model.sample.fabric, HOSTS + 1, 33);
}

static enum port_status status_at(const struct made *made, uint32_t node, uint8_t num)
{
	return (enum port_status)made->model.table.ports[fabric_node_port(made->model.sample.fabric, node, num)].status;
}

MODEL_TEST(each_reason_for_no_data_has_its_own_status)
{
	const uint32_t leaf = 4 * SAMPLE_HOSTS_PER_LEAF;

	assert_int_equal(status_at(made, 0, 1), STATUS_OK);
	assert_int_equal(status_at(made, 4, 1), STATUS_UNSUPPORTED);
	assert_int_equal(status_at(made, 6, 1), STATUS_LOCKED);
	assert_int_equal(status_at(made, 8, 1), STATUS_IDLE);
	assert_int_equal(status_at(made, leaf, 3), STATUS_SILENT);
	assert_int_equal(status_at(made, leaf + 1, SAMPLE_HOSTS_PER_LEAF + 1), STATUS_DOWN);
	make_snapshot(made, 0);
	assert_int_equal(sample_model_set(&made->model), 0);
	assert_int_equal(status_at(made, 0, 1), STATUS_NEW);
	made->model.sample.fabric->ports[0].state = PORT_INIT;
	assert_int_equal(sample_model_set(&made->model), 0);
	assert_int_equal(status_at(made, 0, 1), STATUS_INIT);
}

MODEL_TEST(errors_sum_up_over_sweeps)
{
	const uint64_t guid = made->model.sample.fabric->nodes[4 * SAMPLE_HOSTS_PER_LEAF + 1].guid;
	const struct error_sum *sum;
	uint32_t port = fabric_find_port(made->model.sample.fabric, guid, 2);

	for (unsigned number = 2; number <= 10; number++) {
		make_snapshot(made, number);
		if (number == 5)
			made->model.snapshot.rows[port].sum.reset = COUNTER_BIT(COUNTER_SYMBOL_ERRORS);
		/* Relay errors are kept, and do not count. */
		made->model.snapshot.rows[port].sum.value[COUNTER_RCV_SWITCH_RELAY_ERRORS] = 7;
		assert_int_equal(error_sums_add(&made->model.sums, &made->model.snapshot, NULL), 0);
	}
	assert_int_equal(sample_model_set(&made->model), 0);
	assert_int_equal(made->model.sums.count, 1);
	sum = error_sums_find(&made->model.sums, guid, 2);
	assert_non_null(sum);
	assert_int_equal(sum->total, 30);
	assert_true(sum->at_least);
	assert_null(error_sums_find(&made->model.sums, guid, 1));
	assert_int_equal(made->model.table.totals.errors, 30);
}

MODEL_TEST(the_summary_counts_what_is_there)
{
	const struct fabric_summary *summary = &made->model.table.summary;

	assert_int_equal(summary->nodes[SUMMARY_HCAS], 4 * SAMPLE_HOSTS_PER_LEAF);
	assert_int_equal(summary->nodes[SUMMARY_SWITCHES], 4 + SAMPLE_SPINES);
	assert_int_equal(summary->links_by_state[PORT_ACTIVE], 4 * SAMPLE_HOSTS_PER_LEAF + 4 * SAMPLE_SPINES - 1);
	assert_int_equal(summary->by_status[STATUS_SILENT], 1);
	assert_int_equal(summary->by_status[STATUS_LOCKED], 1);
	assert_int_equal(summary->by_status[STATUS_UNSUPPORTED], 1);
}

MODEL_TEST(ports_that_were_never_up_are_counted_apart)
{
	const struct port_table *table = &made->model.table;
	size_t unused = table->summary.ports_unused;

	assert_true(unused > 0 && unused < table->summary.ports);
	/* One that was read a context before it went down is no such port. */
	made->model.snapshot.rows[down_port(made)].last_wall_us = SAMPLE_START_US;
	assert_int_equal(sample_model_set(&made->model), 0);
	assert_int_equal(table->summary.ports_unused, unused - 1);
}

MODEL_TEST(no_snapshot_is_an_empty_table)
{
	assert_int_equal(port_table_set(&made->model.table, NULL, &made->model.sums, NULL, NULL), 0);
	assert_null(made->model.table.snapshot);
	assert_int_equal(made->model.table.summary.ports, 0);
}

static void compare(struct made *made, const struct fabric_summary **ret)
{
	shape_destroy(made->model.context.shape);
	assert_int_equal(shape_create(made->model.sample.fabric, NULL, &made->model.context.shape, NULL), 0);
	assert_int_equal(sample_model_set(&made->model), 0);
	port_table_compare(&made->model.table, &made->model.context, made->settings);
	*ret = &made->model.table.summary;
}

TEST_WITH(a_link_counts_once_up_or_down, setup_unread, teardown)
{
	struct made *made = *state;
	const struct fabric *fabric = made->model.sample.fabric;
	uint32_t down = down_port(made);
	const struct fabric_summary *summary;

	compare(made, &summary);
	assert_int_equal(made->model.table.totals.hosts, HOSTS);
	assert_int_equal(summary->links_by_state[PORT_ACTIVE], HOSTS + TRUNKS - 1);
	assert_int_equal(made->model.context.shape->slow_count, 0);
	/* What hosts can send: not the sum over all hops. */
	assert_true(summary->injection_bits_per_s == HOSTS * port_rate_bits_per_s(&fabric->ports[0]));
	/* Ports that were never read were never up, as far as is known. */
	assert_int_equal(summary->links_by_state[PORT_DOWN], 0);
	made->model.snapshot.rows[down].last_wall_us = made->model.snapshot.sweep.wall_us - 1;
	compare(made, &summary);
	assert_int_equal(summary->links_by_state[PORT_DOWN], 1);
}

TEST_WITH(a_link_that_is_slower_than_its_siblings_is_degraded, setup_unread, teardown)
{
	struct made *made = *state;
	struct fabric *fabric = made->model.sample.fabric;
	uint32_t port = fabric_node_port(fabric, HOSTS, 40);
	const struct fabric_summary *summary;

	fabric->ports[port].width = fabric->ports[fabric->ports[port].peer].width = LINK_WIDTH_1X;
	compare(made, &summary);
	assert_int_equal(made->model.context.shape->slow_count, 1);
	assert_int_equal(made->model.table.totals.link_columns, strlen("1x HDR degraded"));
}

/* All host links are slow, so the built rate is unknown. */
TEST_WITH(a_link_below_what_its_ends_are_set_to_is_degraded, setup_unread, teardown)
{
	struct made *made = *state;
	struct fabric *fabric = made->model.sample.fabric;
	const struct fabric_summary *summary;

	for (uint32_t i = 0; i < HOSTS; i++) {
		uint32_t port = fabric_node_port(fabric, i, 1);

		fabric->ports[port].width = fabric->ports[fabric->ports[port].peer].width = LINK_WIDTH_1X;
	}
	compare(made, &summary);
	assert_int_equal(made->model.context.shape->slow_count, HOSTS);
}

TEST_WITH(the_port_of_the_subnet_manager_is_found_by_its_guid, setup_unread, teardown)
{
	struct made *made = *state;
	const struct fabric_summary *summary;

	compare(made, &summary);
	assert_int_equal(made->model.table.totals.sm_port, FABRIC_NONE);
	made->model.snapshot.sweep.sm.guid = made->model.sample.fabric->ports[7].guid;
	compare(made, &summary);
	assert_int_equal(made->model.table.totals.sm_port, 7);
}

TEST_WITH(adaptive_routing_comes_from_the_settings, setup_unread, teardown)
{
	struct shape_adaptive_rule rules[] = { { "leaf02", false }, { "leaf*", true }, { NULL, false } };
	const struct shape_settings settings = { .adaptive = rules };
	struct made *made = *state;
	const struct fabric_summary *summary;

	compare(made, &summary);
	assert_int_equal(made->model.table.totals.adaptive_on + made->model.table.totals.adaptive_off, 0);
	made->settings = &settings;
	compare(made, &summary);
	assert_int_equal(made->model.table.totals.adaptive_on, LEAVES - 1);
	assert_int_equal(made->model.table.totals.adaptive_off, 1);
}
