/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Balance on a small fabric: two leaves, some spines, and given loads.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/balance.h"
#include "base/unit_test.h"
#include "fabric/fabric.h"
#include "fabric/routes.h"
#include "fabric/shape.h"

enum { HOSTS = 16, SPINES = 4, PORTS = HOSTS + SPINES, WINDOW_US = 60000000 };

#define HOST_GUID(leaf, host) (0x1000u + 0x100u * (leaf) + (host))

struct small {
	struct fabric *fabric;
	struct shape *shape;
	struct routes routes;
	struct balance_load *loads;
	struct balance_settings settings;
	struct balance balance;
	uint32_t leaves[2];
	uint8_t tables[2][256]; /* of the leaves */
	const uint8_t *adaptive; /* by node, or NULL */
	uint8_t lmc;
};

static uint32_t add_node(struct small *small, uint64_t guid, uint8_t type, uint8_t ports, uint16_t lid)
{
	struct node node = { .guid = guid, .system_guid = guid, .type = type, .port_count = ports, .lid = lid };
	int64_t index;

	if (type == NODE_CA)
		snprintf(node.desc, sizeof(node.desc), "node%04u mlx5_0", (unsigned)(guid & 0xfff));
	index = fabric_add_node(small->fabric, &node, NULL);
	assert_true(index >= 0);
	for (unsigned i = type == NODE_CA; i <= ports; i++) {
		struct port port = {
			.num = (uint8_t)i, .state = PORT_ACTIVE, .phys_state = PHYS_LINK_UP, .speed = LINK_SPEED_HDR,
			.width = LINK_WIDTH_4X, .lid = type == NODE_CA || i == 0 ? lid : 0,
			.guid = type == NODE_CA ? guid + 1 : 0, .lmc = type == NODE_CA ? small->lmc : 0,
		};

		assert_true(fabric_add_port(small->fabric, &port, NULL) >= 0);
	}
	return (uint32_t)index;
}

static uint32_t port_of(const struct small *small, uint32_t node, unsigned num)
{
	uint32_t port = fabric_node_port(small->fabric, node, (uint8_t)num);

	assert_int_not_equal(port, FABRIC_NONE);
	return port;
}

static uint16_t lid_of(const struct small *small, unsigned leaf, unsigned host)
{
	return (uint16_t)(8 + ((leaf * HOSTS + host) << small->lmc));
}

static void publish(struct small *small)
{
	for (unsigned leaf = 0; leaf < 2; leaf++)
		for (unsigned block = 0; block < 4; block++)
			assert_int_equal(routes_set_block(&small->routes, 2 + leaf, block,
							  small->tables[leaf] + 64 * block, NULL, NULL), 0);
}

/*
 * Destinations of the other leaf leave round by round: host 0 by the first uplink, port HOSTS + 1,
 * and so on.
 */
static void init_with(struct small *small, uint8_t lmc)
{
	uint32_t spines[SPINES], hosts[2][HOSTS];

	memset(small, 0, sizeof(*small));
	small->lmc = lmc;
	balance_settings_default(&small->settings);
	small->fabric = fabric_create(NULL);
	assert_non_null(small->fabric);
	for (unsigned leaf = 0; leaf < 2; leaf++)
		small->leaves[leaf] = add_node(small, 2 + leaf, NODE_SWITCH, PORTS, (uint16_t)(1 + leaf));
	for (unsigned i = 0; i < SPINES; i++)
		spines[i] = add_node(small, 16 + i, NODE_SWITCH, 2, (uint16_t)(3 + i));
	for (unsigned leaf = 0; leaf < 2; leaf++)
		for (unsigned i = 0; i < HOSTS; i++)
			hosts[leaf][i] = add_node(small, HOST_GUID(leaf, i), NODE_CA, 1, lid_of(small, leaf, i));
	memset(small->tables, ROUTES_NO_PORT, sizeof(small->tables));
	for (unsigned leaf = 0; leaf < 2; leaf++) {
		for (unsigned i = 0; i < SPINES; i++)
			assert_int_equal(fabric_link(small->fabric, port_of(small, small->leaves[leaf], HOSTS + 1 + i),
						     port_of(small, spines[i], leaf + 1), NULL), 0);
		for (unsigned i = 0; i < HOSTS; i++) {
			assert_int_equal(fabric_link(small->fabric, port_of(small, small->leaves[leaf], i + 1),
						     port_of(small, hosts[leaf][i], 1), NULL), 0);
			for (unsigned path = 0; path < 1u << lmc; path++) {
				small->tables[leaf][lid_of(small, leaf, i) + path] = (uint8_t)(i + 1);
				small->tables[!leaf][lid_of(small, leaf, i) + path] = (uint8_t)(HOSTS + 1 + i % SPINES);
			}
		}
	}
	assert_int_equal(fabric_finish(small->fabric, NULL, NULL), 0);
	small->loads = calloc(small->fabric->port_count, sizeof(*small->loads));
	assert_non_null(small->loads);
	for (unsigned i = 0; i < small->fabric->port_count; i++)
		small->loads[i] = (struct balance_load){ .known = true, .elapsed_us = WINDOW_US, .stall = 0 };
	publish(small);
}

static void done(struct small *small)
{
	balance_done(&small->balance);
	free(small->loads);
	shape_destroy(small->shape);
	routes_done(&small->routes);
	fabric_destroy(small->fabric);
}

/* A test with a fabric without load. */
#define SMALL_TEST(name) \
	static void name##_on(struct small *small); \
	TEST(name) \
	{ \
		struct small small; \
		\
		init_with(&small, 0); \
		name##_on(&small); \
		done(&small); \
	} \
	static void name##_on(struct small *small)

/* @part of its capacity in each direction out of a port, at both ends of its link. */
static void send(struct small *small, uint32_t port, double part)
{
	double bytes = part * (double)port_rate_bits_per_s(&small->fabric->ports[port]) / 8e6 * WINDOW_US;

	small->loads[port].xmit_bytes += bytes;
	small->loads[small->fabric->ports[port].peer].rcv_bytes += bytes;
}

static uint32_t uplink(const struct small *small, unsigned nth)
{
	return port_of(small, small->leaves[0], HOSTS + 1 + nth);
}

/* The first leaf's uplinks carry these parts of their capacity. */
static void load_uplinks(struct small *small, double a, double b, double c, double d)
{
	const double parts[SPINES] = { a, b, c, d };

	for (unsigned i = 0; i < SPINES; i++)
		send(small, uplink(small, i), parts[i]);
	for (unsigned i = 0; i < HOSTS; i++) {
		uint32_t host = small->fabric->ports[port_of(small, small->leaves[0], i + 1)].peer;

		send(small, host, (a + b + c + d) / HOSTS);
		send(small, port_of(small, small->leaves[1], i + 1), (a + b + c + d) / HOSTS);
	}
}

/* The result of the uplinks of the first leaf, sent. */
static const struct balance_result *evaluate(struct small *small)
{
	struct balance_input input = { .loads = small->loads, .routes = &small->routes, .window_us = WINDOW_US,
				       .adaptive = small->adaptive };

	shape_destroy(small->shape);
	small->shape = NULL;
	assert_int_equal(shape_create(small->fabric, NULL, &small->shape, NULL), 0);
	input.shape = small->shape;
	balance_done(&small->balance);
	assert_int_equal(balance_evaluate(&input, &small->settings, &small->balance, NULL), 0);
	return &small->balance.results[2 * small->shape->nodes[small->leaves[0]].up_group];
}

static void assert_near(double a, double b)
{
	if (!(fabs(a - b) < 1e-4))
		fail_msg("%g is not %g", a, b);
}

SMALL_TEST(shares_are_of_capacity)
{
	const struct balance_result *result;
	uint32_t group;

	load_uplinks(small, 0.2, 0.3, 0.4, 0.1);
	result = evaluate(small);
	assert_int_equal(result->state, BALANCE_ACTIVE);
	assert_near(result->members[2].measured, 0.4);
	assert_near(result->members[2].utilization, 0.4);
	assert_near(result->members[2].capacity, 0.25);
	assert_near(result->members[2].destinations, 0.25);
	assert_near(result->members[2].predicted, 0.25);
	assert_int_equal(result->members[2].lids, 4);
	assert_int_equal(result->hottest, 2);
	assert_near(result->excess, 0.6);
	assert_true(result->m && !result->t && !result->h);
	assert_int_equal(result->cause, BALANCE_NONE);
	/* The ends at the spines receive the same. */
	group = small->shape->ports[small->fabric->ports[uplink(small, 2)].peer].group;
	assert_near(small->balance.results[2 * group + 1].members[0].utilization, 0.4);
}

/* Half the destinations by the first uplink: 4 of 16 become 10. */
static void skew(struct small *small)
{
	for (unsigned i = 0; i < HOSTS; i++)
		if (i % SPINES && i % 2)
			small->tables[0][lid_of(small, 1, i)] = HOSTS + 1;
	publish(small);
}

SMALL_TEST(routing_requires_uneven_tables_and_traffic)
{
	const struct balance_result *result;

	skew(small);
	load_uplinks(small, 0.9, 0.2, 0.2, 0.2);
	result = evaluate(small);
	assert_true(result->t && result->m && result->h);
	assert_int_equal(result->members[0].lids, 12);
	assert_int_equal(result->cause, BALANCE_ROUTING);
	assert_near(result->members[0].predicted, 0.75);
	/* No cause if another one is the hottest, with even load, and without load. */
	memset(small->loads, 0, small->fabric->port_count * sizeof(*small->loads));
	for (size_t i = 0; i < small->fabric->port_count; i++)
		small->loads[i] = (struct balance_load){ .known = true, .elapsed_us = WINDOW_US };
	assert_int_equal(evaluate(small)->cause, BALANCE_NONE);
	assert_int_equal(evaluate(small)->state, BALANCE_IDLE);
	load_uplinks(small, 0.2, 0.9, 0.2, 0.2);
	assert_int_equal(evaluate(small)->cause, BALANCE_NONE);
	load_uplinks(small, 0.7, 0, 0.7, 0.7);
	result = evaluate(small);
	assert_true(result->t && !result->m);
	assert_int_equal(result->cause, BALANCE_NONE);
}

/* Two uplinks are full: small differences of their readings are no evidence. */
SMALL_TEST(of_full_links_the_overloaded_one_is_the_hottest)
{
	skew(small);
	load_uplinks(small, 0.98, 1.0, 0.1, 0.1);
	assert_int_equal(evaluate(small)->hottest, 0);
	assert_int_equal(evaluate(small)->cause, BALANCE_ROUTING);
}

/* A checkpoint sends everything to storage: M and H, but the tables count all destinations. */
SMALL_TEST(incast_to_few_is_no_routing)
{
	const struct balance_result *result;

	send(small, uplink(small, 1), 0.95);
	send(small, port_of(small, small->leaves[1], 2), 0.95);
	for (unsigned i = 0; i < HOSTS; i++)
		send(small, small->fabric->ports[port_of(small, small->leaves[0], i + 1)].peer, 0.95 / HOSTS);
	result = evaluate(small);
	assert_true(result->m && result->h && !result->t);
	assert_int_equal(result->cause, BALANCE_NONE);
	/* The tables predict it for this load; one receiver is one flow. */
	assert_near(result->members[1].predicted, 1);
	assert_near(result->flows, 1);
	assert_true(isinf(result->chance_excess));
}

SMALL_TEST(with_adaptive_routing_the_cause_is_never_routing)
{
	uint8_t adaptive[64] = { 0 };

	assert_in_range(small->fabric->node_count, 0, sizeof(adaptive));
	adaptive[small->leaves[0]] = ADAPTIVE_ON;
	small->adaptive = adaptive;
	skew(small);
	load_uplinks(small, 0.9, 0.2, 0.2, 0.2);
	assert_int_equal(evaluate(small)->adaptive, ADAPTIVE_ON);
	assert_int_equal(evaluate(small)->cause, BALANCE_NONE);
}

SMALL_TEST(harm_is_utilization_stall_or_discards_next_to_a_free_sibling)
{
	load_uplinks(small, 0.6, 0.25, 0.25, 0.25);
	assert_false(evaluate(small)->h);
	small->loads[uplink(small, 0)].stall = 0.06;
	assert_true(evaluate(small)->h);
	/* All of them stall: congestion, not imbalance. */
	small->loads[uplink(small, 1)].stall = small->loads[uplink(small, 2)].stall = 0.05;
	assert_false(evaluate(small)->h);
	small->loads[uplink(small, 0)].xmit_discards = 3;
	assert_true(evaluate(small)->h);
	small->loads[uplink(small, 0)].xmit_discards = NAN;
	small->loads[uplink(small, 0)].stall = NAN;
	assert_false(evaluate(small)->h);
	load_uplinks(small, 0.2, 0, 0, 0);
	assert_true(evaluate(small)->h);
	/* No sibling has less than half of its load. */
	load_uplinks(small, 0.1, 0.25, 0.25, 0.25);
	assert_false(evaluate(small)->h);
}

/* One of four unread ports is too many; its peer has the same counts. */
SMALL_TEST(ports_that_were_not_read_are_unknown)
{
	const struct balance_result *result;

	load_uplinks(small, 0.5, 0.1, 0.1, 0.1);
	small->loads[uplink(small, 0)].known = false;
	result = evaluate(small);
	assert_int_equal(result->state, BALANCE_ACTIVE);
	assert_near(result->members[0].utilization, 0.5);
	assert_true(isnan(result->members[0].stall));
	small->loads[small->fabric->ports[uplink(small, 0)].peer].known = false;
	result = evaluate(small);
	assert_int_equal(result->state, BALANCE_UNKNOWN);
	assert_true(isnan(result->members[0].measured) && isnan(result->excess));
	assert_false(result->m || result->h);
}

SMALL_TEST(readings_far_apart_are_not_compared)
{
	load_uplinks(small, 0.5, 0.1, 0.1, 0.1);
	small->loads[uplink(small, 3)].elapsed_us = WINDOW_US * 0.96;
	assert_int_equal(evaluate(small)->state, BALANCE_ACTIVE);
	small->loads[uplink(small, 3)].elapsed_us = WINDOW_US * 0.94;
	assert_int_equal(evaluate(small)->state, BALANCE_UNKNOWN);
}

SMALL_TEST(only_busy_windows_count)
{
	load_uplinks(small, 0.19, 0, 0, 0);
	assert_int_equal(evaluate(small)->state, BALANCE_IDLE);
	assert_false(evaluate(small)->m);
	load_uplinks(small, 0.02, 0, 0, 0);
	assert_int_equal(evaluate(small)->state, BALANCE_ACTIVE);
}

/* With LMC a host has several LIDs, each with a path of its own. */
TEST(each_path_of_a_destination_counts)
{
	const struct balance_result *result;
	struct small small;

	init_with(&small, 1);
	load_uplinks(&small, 0.3, 0.3, 0.3, 0.3);
	result = evaluate(&small);
	assert_int_equal(result->members[0].lids, 8);
	assert_near(result->members[0].predicted, 0.25);
	assert_false(result->t);
	done(&small);
}

SMALL_TEST(no_tables_are_no_even_tables)
{
	const struct balance_result *result;

	routes_done(&small->routes);
	load_uplinks(small, 0.9, 0.1, 0.1, 0.1);
	result = evaluate(small);
	assert_true(result->m && result->h);
	assert_false(result->t_known || result->t || result->predicted_known);
	assert_true(isnan(result->members[0].predicted) && isnan(result->members[0].destinations));
	assert_int_equal(result->cause, BALANCE_NONE);
}

/*
 * A link that is down or slow is reported with and without traffic. The load of a slow link is
 * compared with the capacity of that link.
 */
SMALL_TEST(link_state_is_reported_at_once)
{
	const struct balance_result *result;
	struct port *port;

	port = &small->fabric->ports[uplink(small, 1)];
	port->width = small->fabric->ports[port->peer].width = LINK_WIDTH_2X;
	result = evaluate(small);
	assert_int_equal(result->cause, BALANCE_DEGRADED_MEMBER);
	assert_near(result->members[1].capacity, 0.5 / 3.5);
	/* Both ends support no higher rate, so the link is not degraded. */
	port->speed_supported = small->fabric->ports[port->peer].speed_supported = 1u << LINK_SPEED_HDR;
	port->width_supported = small->fabric->ports[port->peer].width_supported = LINK_WIDTH_2X;
	assert_int_equal(evaluate(small)->cause, BALANCE_NONE);
	port->state = small->fabric->ports[port->peer].state = PORT_DOWN;
	result = evaluate(small);
	assert_int_equal(result->cause, BALANCE_MISSING_MEMBER);
	assert_near(result->members[1].capacity, 0);
	assert_near(result->members[0].capacity, 1.0 / 3);
}

TEST(causes_and_states_have_names)
{
	for (int i = 0; i < BALANCE_CAUSE_COUNT; i++)
		for (int j = 0; j < i; j++)
			assert_string_not_equal(balance_cause_name((enum balance_cause)i),
						balance_cause_name((enum balance_cause)j));
	assert_string_equal(balance_adaptive_name(ADAPTIVE_ON), "on");
	assert_string_equal(balance_adaptive_name(ADAPTIVE_OFF), "off");
	assert_string_equal(balance_adaptive_name(ADAPTIVE_UNKNOWN), "unknown");
}

TEST(members_are_ordered_down_first_then_by_utilization)
{
	struct balance_member members[] = {
		{ .works = true, .utilization = NAN, .measured = NAN, .predicted = 0.1 },
		{ .works = true, .utilization = 0.2, .measured = 0.3, .predicted = NAN },
		{ .works = true, .utilization = 0.9, .measured = 0.6, .predicted = 0.2, .capacity = 0.3 },
		{ .utilization = NAN, .measured = NAN, .predicted = NAN },
		{ .works = true, .utilization = 0.2, .measured = 0.1, .predicted = 0.7 },
	};
	const struct balance_result result = { .members = members };
	uint32_t order[5];

	balance_order_members(&result, 5, order);
	assert_int_equal(order[0], 3);
	assert_int_equal(order[1], 2);
	assert_int_equal(order[2], 1);
	assert_int_equal(order[3], 4);
	assert_int_equal(order[4], 0);
	assert_true(balance_largest_share(&result, 5) == 0.7);
	assert_true(balance_largest_share(&result, 0) == 0);
}
