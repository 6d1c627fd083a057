/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* balance_test.c - balance on a small fabric: two leaves with 16 hosts, four spines, given loads */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/unit_test.h"
#include "fabric/fabric.h"
#include "tests/balance/bed.h"

enum { HOSTS = 16, SPINES = 4, WINDOW_US = 60000000 };

static void clear_loads(struct bed *bed, double stall)
{
	for (size_t i = 0; i < bed->fabric->port_count; i++)
		bed->loads[i] = (struct balance_load){ .known = true, .elapsed_us = WINDOW_US, .stall = stall };
}

/*
 * Destinations of the other leaf leave round by round: host 0 by the first uplink, host 1 by the
 * second, and so on. No load.
 */
static void init(struct bed *bed)
{
	struct net_shape shape = net_shape_default(NET_SHAPE_TREE2);

	shape.leafs = 2;
	shape.hosts = HOSTS;
	shape.spines = SPINES;
	shape.links = 1;
	shape.management = 0;
	bed_init(bed, &shape, 1);
	clear_loads(bed, 0);
}

/* The port of the nth HCA of a leaf. */
static uint32_t hca(const struct bed *bed, unsigned leaf, unsigned nth)
{
	return bed->hosts.hcas[bed->hosts.hosts[leaf * HOSTS + nth].first_hca].port;
}

/* The nth uplink of the first leaf. */
static uint32_t uplink(const struct bed *bed, unsigned nth)
{
	uint32_t leaf = bed->fabric->ports[bed->fabric->ports[hca(bed, 0, 0)].peer].node;

	return bed->shape->members[bed->shape->groups[bed->shape->nodes[leaf].up_group].first + nth];
}

/* A test with a fabric without load. */
#define SMALL_TEST(name) \
	static void name##_on(struct bed *bed); \
	TEST(name) \
	{ \
		struct bed bed; \
		\
		init(&bed); \
		name##_on(&bed); \
		bed_done(&bed); \
	} \
	static void name##_on(struct bed *bed)

/* @part of its capacity in each direction out of a port, at both ends of its link. */
static void send(struct bed *bed, uint32_t port, double part)
{
	double bytes = part * (double)port_rate_bits_per_s(&bed->fabric->ports[port]) / 8e6 * WINDOW_US;

	bed->loads[port].xmit_bytes += bytes;
	bed->loads[bed->fabric->ports[port].peer].rcv_bytes += bytes;
}

/* The first leaf's uplinks carry these parts of their capacity. */
static void load_uplinks(struct bed *bed, double a, double b, double c, double d)
{
	const double parts[SPINES] = { a, b, c, d };

	for (unsigned i = 0; i < SPINES; i++)
		send(bed, uplink(bed, i), parts[i]);
	for (unsigned i = 0; i < HOSTS; i++) {
		send(bed, hca(bed, 0, i), (a + b + c + d) / HOSTS);
		send(bed, bed->fabric->ports[hca(bed, 1, i)].peer, (a + b + c + d) / HOSTS);
	}
}

/* The result of the uplinks of the first leaf, sent. */
static const struct balance_result *evaluate(struct bed *bed)
{
	struct balance_input input = { .loads = bed->loads, .routes = &bed->lft.routes, .window_us = WINDOW_US,
				       .adaptive = bed->adaptive };

	bed_reshape(bed);
	input.shape = bed->shape;
	balance_done(&bed->balance);
	assert_int_equal(balance_evaluate(&input, &bed->settings, &bed->balance, NULL), 0);
	return bed_result(bed, bed->shape->ports[uplink(bed, 0)].group, BALANCE_XMIT);
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

	load_uplinks(bed, 0.2, 0.3, 0.4, 0.1);
	result = evaluate(bed);
	assert_int_equal(result->state, BALANCE_ACTIVE);
	assert_near(result->members[2].measured, 0.4);
	assert_near(result->members[2].utilization, 0.4);
	assert_near(result->members[2].capacity, 0.25);
	assert_near(result->members[2].destinations, 0.25);
	assert_near(result->members[2].predicted, 0.25);
	assert_int_equal(result->members[2].lids, 4);
	assert_int_equal(result->hottest, 2);
	assert_near(result->excess, 0.6);
	assert_true(result->load_uneven && !result->tables_uneven && !result->harmful);
	assert_int_equal(result->cause, BALANCE_NONE);
	/* The ends at the spines receive the same. */
	group = bed->shape->ports[bed->fabric->ports[uplink(bed, 2)].peer].group;
	assert_near(bed->balance.results[2 * group + 1].members[0].utilization, 0.4);
}

/* Half the destinations by the first uplink: 4 of 16 become 12. */
static void skew(struct bed *bed)
{
	uint8_t *table = bed_table(bed, bed->fabric->ports[uplink(bed, 0)].node);

	for (unsigned i = 1; i < HOSTS; i += 2)
		table[bed->fabric->ports[hca(bed, 1, i)].lid] = bed->fabric->ports[uplink(bed, 0)].num;
}

SMALL_TEST(routing_requires_uneven_tables_and_traffic)
{
	const struct balance_result *result;

	skew(bed);
	load_uplinks(bed, 0.9, 0.2, 0.2, 0.2);
	result = evaluate(bed);
	assert_true(result->tables_uneven && result->load_uneven && result->harmful);
	assert_int_equal(result->members[0].lids, 12);
	assert_int_equal(result->cause, BALANCE_ROUTING);
	assert_near(result->members[0].predicted, 0.75);
	/* No cause if another one is the hottest, with even load, and without load. */
	clear_loads(bed, 0);
	assert_int_equal(evaluate(bed)->cause, BALANCE_NONE);
	assert_int_equal(evaluate(bed)->state, BALANCE_IDLE);
	load_uplinks(bed, 0.2, 0.9, 0.2, 0.2);
	assert_int_equal(evaluate(bed)->cause, BALANCE_NONE);
	load_uplinks(bed, 0.7, 0, 0.7, 0.7);
	result = evaluate(bed);
	assert_true(result->tables_uneven && !result->load_uneven);
	assert_int_equal(result->cause, BALANCE_NONE);
}

/* Two uplinks are full: bed differences of their readings are no evidence. */
SMALL_TEST(of_full_links_the_overloaded_one_is_the_hottest)
{
	skew(bed);
	load_uplinks(bed, 0.98, 1.0, 0.1, 0.1);
	assert_int_equal(evaluate(bed)->hottest, 0);
	assert_int_equal(evaluate(bed)->cause, BALANCE_ROUTING);
}

/* A checkpoint sends everything to storage: M and H, but the tables count all destinations. */
SMALL_TEST(incast_to_few_is_no_routing)
{
	const struct balance_result *result;

	send(bed, uplink(bed, 1), 0.95);
	send(bed, bed->fabric->ports[hca(bed, 1, 1)].peer, 0.95);
	for (unsigned i = 0; i < HOSTS; i++)
		send(bed, hca(bed, 0, i), 0.95 / HOSTS);
	result = evaluate(bed);
	assert_true(result->load_uneven && result->harmful && !result->tables_uneven);
	assert_int_equal(result->cause, BALANCE_NONE);
	/* The tables predict it for this load; one receiver is one flow. */
	assert_near(result->members[1].predicted, 1);
	assert_near(result->flows, 1);
	assert_true(isinf(result->chance_excess));
	assert_true(balance_is_chance(bed->shape, &bed->balance, result));
}

SMALL_TEST(with_adaptive_routing_the_cause_is_never_routing)
{
	bed->adaptive = calloc(bed->fabric->node_count, 1);
	assert_non_null(bed->adaptive);
	bed->adaptive[bed->fabric->ports[uplink(bed, 0)].node] = ADAPTIVE_ON;
	skew(bed);
	load_uplinks(bed, 0.9, 0.2, 0.2, 0.2);
	assert_int_equal(evaluate(bed)->adaptive, ADAPTIVE_ON);
	assert_int_equal(evaluate(bed)->cause, BALANCE_NONE);
}

SMALL_TEST(harm_is_utilization_stall_or_discards_next_to_a_free_sibling)
{
	load_uplinks(bed, 0.6, 0.25, 0.25, 0.25);
	assert_false(evaluate(bed)->harmful);
	bed->loads[uplink(bed, 0)].stall = 0.06;
	assert_true(evaluate(bed)->harmful);
	/* All of them stall: congestion, not imbalance. */
	bed->loads[uplink(bed, 1)].stall = bed->loads[uplink(bed, 2)].stall = 0.05;
	assert_false(evaluate(bed)->harmful);
	bed->loads[uplink(bed, 0)].xmit_discards = 3;
	assert_true(evaluate(bed)->harmful);
	bed->loads[uplink(bed, 0)].xmit_discards = NAN;
	bed->loads[uplink(bed, 0)].stall = NAN;
	assert_false(evaluate(bed)->harmful);
	load_uplinks(bed, 0.2, 0, 0, 0);
	assert_true(evaluate(bed)->harmful);
	/* No sibling has less than half of its load. */
	load_uplinks(bed, 0.1, 0.25, 0.25, 0.25);
	assert_false(evaluate(bed)->harmful);
}

/* One of four unread ports is too many; its peer has the same counts. */
SMALL_TEST(ports_that_were_not_read_are_unknown)
{
	const struct balance_result *result;
	struct text text = { 0 };

	load_uplinks(bed, 0.5, 0.1, 0.1, 0.1);
	balance_append_reason(bed->shape, evaluate(bed), &text);
	assert_null(strstr(text_chars(&text), "known"));
	text_done(&text);
	bed->loads[uplink(bed, 0)].known = false;
	result = evaluate(bed);
	assert_int_equal(result->state, BALANCE_ACTIVE);
	assert_near(result->members[0].utilization, 0.5);
	assert_true(isnan(result->members[0].stall));
	bed->loads[bed->fabric->ports[uplink(bed, 0)].peer].known = false;
	result = evaluate(bed);
	assert_int_equal(result->state, BALANCE_UNKNOWN);
	assert_true(isnan(result->members[0].measured) && isnan(result->excess));
	assert_false(result->load_uneven || result->harmful);
	balance_append_reason(bed->shape, result, &text);
	assert_non_null(strstr(text_chars(&text), "; 1 of 4 uplinks not exactly known"));
	text_done(&text);
}

/* One of many unread ports is allowed: it may carry nothing, or more than the others. */
SMALL_TEST(utilization_without_an_unread_port_is_a_lower_bound)
{
	const struct balance_result *result;

	bed->settings.coverage = 0.7;
	load_uplinks(bed, 0.1, 0.3, 0.2, 0.4);
	result = evaluate(bed);
	assert_true(measure_is_exact(balance_mean(result)) && measure_is_exact(balance_max(result)));
	assert_near(balance_mean(result).value, 0.25);
	assert_true(measure_is_exact(balance_excess(result)));
	assert_near(balance_excess(result).value, 0.4 / 0.25 - 1);
	bed->loads[uplink(bed, 0)].known = false;
	bed->loads[bed->fabric->ports[uplink(bed, 0)].peer].known = false;
	result = evaluate(bed);
	assert_near(result->mean_utilization, 0.3);
	assert_true(measure_is_at_least(balance_mean(result)) && measure_is_at_least(balance_max(result)));
	assert_near(balance_mean(result).value, 0.225);
	assert_near(balance_max(result).value, 0.4);
	/* 0.4 at the unread port leaves the least excess; the mean is then 0.325. */
	assert_true(measure_is_at_least(balance_excess(result)));
	assert_near(balance_excess(result).value, 0.4 / 0.325 - 1);
}

SMALL_TEST(readings_far_apart_are_not_compared)
{
	load_uplinks(bed, 0.5, 0.1, 0.1, 0.1);
	bed->loads[uplink(bed, 3)].elapsed_us = WINDOW_US * 0.96;
	assert_int_equal(evaluate(bed)->state, BALANCE_ACTIVE);
	bed->loads[uplink(bed, 3)].elapsed_us = WINDOW_US * 0.94;
	assert_int_equal(evaluate(bed)->state, BALANCE_UNKNOWN);
}

SMALL_TEST(only_busy_windows_count)
{
	load_uplinks(bed, 0.19, 0, 0, 0);
	assert_int_equal(evaluate(bed)->state, BALANCE_IDLE);
	assert_false(evaluate(bed)->load_uneven);
	load_uplinks(bed, 0.02, 0, 0, 0);
	assert_int_equal(evaluate(bed)->state, BALANCE_ACTIVE);
}

/* With LMC a host has several LIDs, each with a path of its own. */
SMALL_TEST(each_path_of_a_destination_counts)
{
	uint8_t block[ROUTES_BLOCK];

	for (uint32_t node = 0; node < bed->fabric->node_count; node++) {
		const uint8_t *table = bed_table(bed, node);

		for (unsigned i = 0; table && i < ROUTES_BLOCK; i++)
			block[i] = table[1 + i / 2];
		if (table)
			assert_int_equal(routes_set_block(&bed->lft.routes, bed->fabric->nodes[node].guid, 1, block,
							  NULL, NULL), 0);
	}
	for (unsigned i = 0; i < 2 * HOSTS; i++) {
		struct port *port = &bed->fabric->ports[hca(bed, i / HOSTS, i % HOSTS)];

		port->lid = (uint16_t)(ROUTES_BLOCK + 2 * (port->lid - 1));
		port->lmc = 1;
	}
	load_uplinks(bed, 0.3, 0.3, 0.3, 0.3);
	assert_int_equal(evaluate(bed)->members[0].lids, 8);
	assert_near(evaluate(bed)->members[0].predicted, 0.25);
	assert_false(evaluate(bed)->tables_uneven);
}

SMALL_TEST(no_tables_are_no_even_tables)
{
	const struct balance_result *result;

	routes_done(&bed->lft.routes);
	load_uplinks(bed, 0.9, 0.1, 0.1, 0.1);
	result = evaluate(bed);
	assert_true(result->load_uneven && result->harmful);
	assert_false(result->tables_known || result->tables_uneven || result->predicted_known);
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

	port = &bed->fabric->ports[uplink(bed, 1)];
	port->width = bed->fabric->ports[port->peer].width = LINK_WIDTH_2X;
	bed_reshape(bed);
	result = evaluate(bed);
	assert_int_equal(result->cause, BALANCE_DEGRADED_MEMBER);
	assert_near(result->members[1].capacity, 0.5 / 3.5);
	/* Both ends support no higher rate, so the link is not degraded. */
	port->speed_supported = bed->fabric->ports[port->peer].speed_supported = 1u << LINK_SPEED_HDR;
	port->width_supported = bed->fabric->ports[port->peer].width_supported = LINK_WIDTH_2X;
	bed_reshape(bed);
	assert_int_equal(evaluate(bed)->cause, BALANCE_NONE);
	port->state = bed->fabric->ports[port->peer].state = PORT_DOWN;
	result = evaluate(bed);
	assert_int_equal(result->cause, BALANCE_MISSING_MEMBER);
	assert_near(result->members[1].capacity, 0);
	assert_near(result->members[0].capacity, 1.0 / 3);
}

/* A link of many without load hardly changes their mean. */
SMALL_TEST(an_unused_link_of_an_even_group_is_named)
{
	struct text text = { 0 };
	char wanted[64];

	bed->settings.measured_excess = 0.5;
	load_uplinks(bed, 0.2, 0.2, 0.2, 0.2);
	balance_append_reason(bed->shape, evaluate(bed), &text);
	assert_string_equal(text_chars(&text), "even");
	text_done(&text);
	clear_loads(bed, 0);
	load_uplinks(bed, 0.2, 0.2, 0, 0.2);
	snprintf(wanted, sizeof(wanted), "even; port %u carries none of it", bed->fabric->ports[uplink(bed, 2)].num);
	balance_append_reason(bed->shape, evaluate(bed), &text);
	assert_string_equal(text_chars(&text), wanted);
	text_done(&text);
}

/* Both are named: one link is down, and another one slow. */
SMALL_TEST(a_group_with_two_causes_names_both)
{
	struct text text = { 0 };
	struct port *port;

	for (unsigned i = 1; i <= 2; i++) {
		port = &bed->fabric->ports[uplink(bed, i)];
		if (i == 1)
			port->width = bed->fabric->ports[port->peer].width = LINK_WIDTH_2X;
		else
			port->state = bed->fabric->ports[port->peer].state = PORT_DOWN;
	}
	bed_reshape(bed);
	balance_append_reason(bed->shape, evaluate(bed), &text);
	assert_non_null(strstr(text_chars(&text), "1 of 4 links is not up (port "));
	assert_non_null(strstr(text_chars(&text), "; degraded links: port "));
	text_done(&text);
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
