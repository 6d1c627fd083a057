/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "base/unit_test.h"
#include "facts/link.h"
#include "facts/node_facts.h"
#include "facts/port_columns.h"
#include "facts/port_facts.h"
#include "facts/summary.h"
#include "storage/reader.h"

#define WALL_US (INT64_C(1790000000) * 1000000)

/* A switch, two HCAs, an aggregation node and a router, each of them cabled to a port of the switch. */
static const struct node nodes[] = {
	{ .guid = 1, .type = NODE_SWITCH, .port_count = 6, .desc = "leaf01" },
	{ .guid = 2, .type = NODE_CA, .port_count = 1, .desc = "node0001 mlx5_0" },
	{ .guid = 3, .type = NODE_CA, .port_count = 1, .desc = "node0002 mlx5_0" },
	{ .guid = 4, .type = NODE_CA, .port_count = 1, .desc = "Mellanox Technologies Aggregation Node" },
	{ .guid = 5, .type = NODE_ROUTER, .port_count = 1, .desc = "router01" },
};
enum { NODES = sizeof(nodes) / sizeof(nodes[0]), SWITCH_PORTS = 6, PORTS = SWITCH_PORTS + NODES - 1 };

struct made {
	struct snapshot snapshot;
	struct port_row rows[PORTS];
};

static struct made *make(void)
{
	struct made *made = calloc(1, sizeof(*made));
	struct fabric *fabric = fabric_create(NULL);

	assert_true(made && fabric);
	for (unsigned i = 0; i < NODES; i++) {
		assert_true(fabric_add_node(fabric, &nodes[i], NULL) >= 0);
		for (uint8_t num = 1; num <= nodes[i].port_count; num++) {
			struct port port = { .num = num, .state = i && num <= 1 ? PORT_ACTIVE : PORT_DOWN,
					     .width = LINK_WIDTH_4X, .speed = LINK_SPEED_HDR };

			if (!i && num < NODES)
				port.state = PORT_ACTIVE;
			assert_true(fabric_add_port(fabric, &port, NULL) >= 0);
		}
	}
	for (uint32_t i = 1; i < NODES; i++)
		assert_int_equal(fabric_link(fabric, i - 1, SWITCH_PORTS + i - 1, NULL), 0);
	assert_int_equal(fabric_finish(fabric, NULL, NULL), 0);
	made->snapshot = (struct snapshot){ .sweep.wall_us = WALL_US, .fabric = fabric, .rows = made->rows };
	for (unsigned i = 0; i < PORTS; i++) {
		struct delta *sum = &made->rows[i].sum;

		if (fabric->ports[i].state != PORT_ACTIVE)
			continue;
		sum->elapsed_us = 1000000;
		sum->known = COUNTER_TRAFFIC_SET;
		sum->value[COUNTER_XMIT_DATA] = 250000000;
		made->rows[i].last_wall_us = WALL_US;
	}
	return made;
}

static struct fabric_summary summary_of(const struct made *made)
{
	struct fabric_summary summary;

	assert_int_equal(summary_load(&made->snapshot, NULL, &summary, NULL), 0);
	return summary;
}

static void done(struct made *made)
{
	fabric_destroy(made->snapshot.fabric);
	free(made);
}

TEST(each_class_of_nodes_is_counted_and_named)
{
	struct made *made = make();
	struct fabric_summary summary = summary_of(made);
	struct text text = { 0 };

	assert_int_equal(summary.node_count, NODES);
	summary_append_nodes(&summary, &text);
	assert_string_equal(text_chars(&text), "1 switch, 2 HCAs, 1 aggregation node, 1 router");
	/* An aggregation node is no host. */
	assert_true(measure_exact(summary.hosts_xmit_bytes_per_s) == 2e9);
	assert_true(summary.injection_bits_per_s == 2 * port_rate_bits_per_s(&made->snapshot.fabric->ports[0]));
	text_done(&text);
	done(made);
}

TEST(a_link_is_active_only_if_both_ends_are)
{
	for (unsigned end = 0; end < 2; end++) {
		struct made *made = make();
		struct port *ports = made->snapshot.fabric->ports;
		struct fabric_summary summary;
		struct text text = { 0 };

		ports[end ? SWITCH_PORTS : 0].state = PORT_INIT;
		ports[end ? 1 : SWITCH_PORTS + 1].state = PORT_ARMED;
		summary = summary_of(made);
		assert_int_equal(summary.links, 4);
		summary_append_links(&summary, &text);
		assert_string_equal(text_chars(&text), "2 of them active, 1 armed, 1 init");
		assert_int_equal(summary.by_status[STATUS_INIT], 2);
		text_done(&text);
		done(made);
	}
}

TEST(a_link_without_a_cable_is_down_for_an_hour)
{
	struct made *made = make();
	const uint32_t port = SWITCH_PORTS - 1;

	assert_int_equal(summary_of(made).links, 4);
	made->rows[port].last_wall_us = WALL_US - PORT_UNUSED_US;
	assert_int_equal(summary_of(made).links, 5);
	assert_int_equal(summary_of(made).links_by_state[PORT_DOWN], 1);
	made->rows[port].last_wall_us--;
	assert_int_equal(summary_of(made).links, 4);
	assert_int_equal(summary_of(made).ports_down, 2);
	done(made);
}

TEST(a_degraded_link_and_saturated_counters_have_one_text)
{
	struct port port = { .width = LINK_WIDTH_4X, .speed = LINK_SPEED_HDR };
	uint64_t values[COUNTER_COUNT - COUNTER_TRAFFIC_COUNT] = { 0 };
	char link[LINK_TEXT_SIZE];
	struct text text = { 0 };

	assert_string_equal(link_text(&port, false, link), "4x HDR");
	assert_string_equal(link_text(&port, true, link), "4x HDR degraded");
	port.width = 0;
	assert_string_equal(link_text(&port, true, link), "");
	values[COUNTER_SYMBOL_ERRORS - COUNTER_TRAFFIC_COUNT] = 12;
	assert_false(errors_append(&text, "peer: ", COUNTER_BIT(COUNTER_RCV_ERRORS), 0, 0, values));
	assert_true(errors_append(&text, "peer: ", COUNTER_ERROR_SET, COUNTER_BIT(COUNTER_SYMBOL_ERRORS),
				  COUNTER_BIT(COUNTER_RCV_ERRORS), values));
	assert_string_equal(text_chars(&text), "peer: symbol_errors 12+, rcv_errors 0+ (saturated)");
	text_done(&text);
}

/* What a port can count: nothing was read; 0 or 5; at least 0 or 3 after a reset of another counter; saturated. */
static const struct {
	double value; /* NAN: unknown */
	bool read, reset, saturated;
} counts[] = {
	{ NAN, 0, 0, 0 }, { 0, 1, 0, 0 }, { 5, 1, 0, 0 }, { 0, 1, 1, 0 }, { 3, 1, 1, 0 }, { 0, 1, 0, 1 },
	{ 2, 1, 1, 1 },
};
enum { COUNTS = sizeof(counts) / sizeof(*counts) };

static void set_errors(struct made *made, uint32_t port, unsigned which)
{
	const counter_set bit = COUNTER_BIT(COUNTER_RCV_ERRORS);

	made->rows[port].sum.elapsed_us = 1000000;
	made->rows[port].sum.known = COUNTER_TRAFFIC_SET | (counts[which].read ? COUNTER_ERROR_SET : 0);
	made->rows[port].sum.reset = counts[which].reset ? COUNTER_BIT(COUNTER_XMIT_DATA) : 0;
	made->rows[port].sum.saturated = counts[which].saturated ? bit : 0;
	made->rows[port].sum.value[COUNTER_RCV_ERRORS] = counts[which].read ? (uint64_t)counts[which].value : 0;
}

/* At least 0 is unknown, unless a counter is saturated. */
static void assert_errors(struct measure got, unsigned a, unsigned b)
{
	bool read = counts[a].read || counts[b].read, saturated = counts[a].saturated || counts[b].saturated;
	bool bound = counts[a].reset || counts[b].reset || saturated;
	double sum = (counts[a].read ? counts[a].value : 0) + (counts[b].read ? counts[b].value : 0);

	if (!read || (bound && !sum && !saturated)) {
		assert_true(isnan(got.value));
	} else {
		assert_true(got.value == sum);
		assert_int_equal(measure_is_at_least(got), bound);
	}
	assert_int_equal(facts_has_errors(got), sum > 0 || saturated);
}

/* Each pair of them, as a port, as two ports of a switch, and as both ends of a link. */
TEST(errors_of_links_and_nodes_are_lower_bounds_if_those_of_a_port_are)
{
	for (unsigned pair = 0; pair < COUNTS * COUNTS; pair++) {
		struct made *made = make();
		const struct port_scope scope = { .snapshot = &made->snapshot };
		const unsigned a = pair / COUNTS, b = pair % COUNTS;
		struct port_facts ends[2];
		struct link_facts link;
		struct node_facts node;

		set_errors(made, 0, a);
		set_errors(made, 1, b);
		node_facts_of(&scope, 0, false, NULL, &node);
		assert_errors(node.errors, a, b);
		set_errors(made, SWITCH_PORTS, b);
		port_facts_of(&scope, 0, &ends[0]);
		port_facts_of(&scope, SWITCH_PORTS, &ends[1]);
		link_facts_of(&ends[0], &ends[1], NULL, &link);
		assert_errors(link.errors, a, b);
		assert_errors(ends[0].errors, a, 0);
		done(made);
	}
}
