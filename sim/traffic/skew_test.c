/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A skewed table has the requested share and all destinations are reachable; modified dumps can be read. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/text.h"
#include "fabric/fabric.h"
#include "sim/lft.h"
#include "sim/traffic/skew.h"

/* Leaves with hosts and one uplink per spine; the uplink of a destination is given by its number. */
enum { LEAFS = 6, SPINES = 4, HOSTS = 10, SWITCHES = LEAFS + SPINES };

struct bed {
	struct fabric *fabric;
	struct text dump;
	struct lft lft;
};

static void cable(struct fabric *fabric, uint32_t a, unsigned a_port, uint32_t b, unsigned b_port)
{
	assert_int_equal(fabric_link(fabric, fabric_node_port(fabric, a, (uint8_t)a_port),
				     fabric_node_port(fabric, b, (uint8_t)b_port), NULL), 0);
}

static void make_fabric(struct bed *bed)
{
	unsigned i, p;

	bed->fabric = fabric_create(NULL);
	for (i = 0; i < SWITCHES + LEAFS * HOSTS; i++) {
		struct node node = { .guid = 0x1000 * (i + 1), .type = i < SWITCHES ? NODE_SWITCH : NODE_CA,
				     .port_count = i < SWITCHES ? HOSTS + SPINES : 1 };

		assert_true(fabric_add_node(bed->fabric, &node, NULL) == i);
		for (p = i < SWITCHES ? 0 : 1; p <= node.port_count; p++)
			assert_true(fabric_add_port(bed->fabric, &(struct port){ .num = (uint8_t)p }, NULL) >= 0);
	}
	for (i = 0; i < LEAFS * HOSTS; i++)
		cable(bed->fabric, SWITCHES + i, 1, i / HOSTS, 1 + i % HOSTS);
	for (i = 0; i < LEAFS; i++)
		for (p = 0; p < SPINES; p++)
			cable(bed->fabric, i, 1 + HOSTS + p, LEAFS + p, 1 + i);
	assert_int_equal(fabric_finish(bed->fabric, NULL, NULL), 0);
}

static unsigned out_of(unsigned node, unsigned host)
{
	if (node >= LEAFS)
		return 1 + host / HOSTS;
	return host / HOSTS == node ? 1 + host % HOSTS : 1 + HOSTS + host % SPINES;
}

/* One spine is not connected to the last leaf: destinations there must not be routed through it. */
static void bed_init(struct bed *bed)
{
	unsigned node, host;

	memset(bed, 0, sizeof(*bed));
	make_fabric(bed);
	for (node = 0; node < SWITCHES; node++) {
		text_appendf(&bed->dump, "Unicast lids [0-99] of switch Lid 1 guid 0x%016" PRIx64 " ('a switch'):\n",
			     bed->fabric->nodes[node].guid);
		for (host = 0; host < LEAFS * HOSTS; host++)
			if (node != LEAFS + SPINES - 1 || host / HOSTS != LEAFS - 1)
				text_appendf(&bed->dump, "0x%04x %03u # Channel Adapter portguid 0x%016" PRIx64
					     ": 'h'\n", 10 + host, out_of(node, host),
					     bed->fabric->nodes[SWITCHES + host].guid + 1);
		text_appendf(&bed->dump, "%u lids dumped \n", LEAFS * HOSTS);
	}
	assert_int_equal(lft_parse(bed->fabric, text_chars(&bed->dump), bed->dump.len, &bed->lft, NULL), 0);
}

static void bed_done(struct bed *bed)
{
	fabric_destroy(bed->fabric);
	text_done(&bed->dump);
	lft_done(&bed->lft);
}

static unsigned count_by(const struct bed *bed, const struct routes *routes, uint32_t node, uint8_t out)
{
	const struct route_table *table = routes_find(routes, bed->fabric->nodes[node].guid);
	unsigned count = 0, host;

	for (host = 0; host < LEAFS * HOSTS; host++)
		count += routes_out_port(table, (uint16_t)(10 + host)) == out;
	return count;
}

static void a_share_is_routed_through_one_port_and_remains_reachable(void **state)
{
	static const struct { double share; unsigned expected; } cases[] = { { 0.1, 12 }, { 0.5, 25 }, { 0.8, 40 } };
	struct route_trace trace;
	struct routes routes;
	unsigned moved, all, host, i, p;
	struct bed bed;
	uint32_t port;

	(void)state;
	bed_init(&bed);
	port = fabric_node_port(bed.fabric, 0, HOSTS + 1);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(skew_routes(bed.fabric, &bed.lft, port, cases[i].share, &routes, &moved, &all, NULL),
				 0);
		assert_int_equal(all, (LEAFS - 1) * HOSTS);
		assert_int_equal(count_by(&bed, &routes, 0, HOSTS + 1), cases[i].expected);
		assert_int_equal(moved, cases[i].expected - count_by(&bed, &bed.lft.routes, 0, HOSTS + 1));
		/* The remaining destinations are as balanced as before, and no other entry has changed. */
		for (p = 2; p <= SPINES; p++)
			assert_in_range(count_by(&bed, &routes, 0, (uint8_t)(HOSTS + p)) * (SPINES - 1) + 3,
					all - cases[i].expected, all - cases[i].expected + 6);
		for (host = 0; host < LEAFS * HOSTS; host++) {
			routes_trace(&routes, bed.fabric, fabric_node_port(bed.fabric, 0, 0),
				     fabric_node_port(bed.fabric, SWITCHES + host, 1), (uint16_t)(10 + host), &trace);
			assert_int_equal(trace.end, host / HOSTS == LEAFS - 1 && trace.at == LEAFS + SPINES - 1
						    ? ROUTE_BLACK_HOLE : ROUTE_ARRIVES);
		}
		assert_int_equal(count_by(&bed, &routes, 1, HOSTS + 1), count_by(&bed, &bed.lft.routes, 1, HOSTS + 1));
		routes_done(&routes);
	}
	/* Through the spine without the last leaf only destinations it reaches. */
	port = fabric_node_port(bed.fabric, 0, HOSTS + SPINES);
	assert_int_equal(skew_routes(bed.fabric, &bed.lft, port, 1, &routes, &moved, &all, NULL), 0);
	for (host = 0; host < LEAFS * HOSTS; host++)
		if (host / HOSTS == LEAFS - 1)
			assert_int_equal(routes_out_port(routes_find(&routes, bed.fabric->nodes[0].guid),
							 (uint16_t)(10 + host)), out_of(0, host));
	routes_done(&routes);
	assert_int_equal(skew_routes(bed.fabric, &bed.lft, fabric_node_port(bed.fabric, 0, 1), 0.5, &routes, &moved,
				     &all, NULL), ERR_USAGE);
	assert_int_equal(skew_routes(bed.fabric, &bed.lft, port, 0, &routes, &moved, &all, NULL), ERR_USAGE);
	assert_int_equal(skew_routes(bed.fabric, &bed.lft, port, 1.1, &routes, &moved, &all, NULL), ERR_USAGE);
	bed_done(&bed);
}

static void a_written_dump_can_be_read(void **state)
{
	struct text text = { 0 };
	struct routes routes;
	unsigned moved, all;
	struct lft again;
	struct bed bed;

	(void)state;
	bed_init(&bed);
	assert_int_equal(lft_write(text_chars(&bed.dump), bed.dump.len, &bed.lft.routes, &text, NULL), 0);
	assert_string_equal(text_chars(&text), text_chars(&bed.dump));
	text_clear(&text);
	assert_int_equal(skew_routes(bed.fabric, &bed.lft, fabric_node_port(bed.fabric, 2, HOSTS + 2), 0.7, &routes,
				     &moved, &all, NULL), 0);
	assert_false(routes_same(&routes, &bed.lft.routes));
	assert_int_equal(lft_write(text_chars(&bed.dump), bed.dump.len, &routes, &text, NULL), 0);
	assert_int_equal(text.len, bed.dump.len);
	assert_int_equal(lft_parse(bed.fabric, text_chars(&text), text.len, &again, NULL), 0);
	assert_true(routes_same(&again.routes, &routes));
	lft_done(&again);
	routes_done(&routes);
	text_done(&text);
	bed_done(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_share_is_routed_through_one_port_and_remains_reachable),
		cmocka_unit_test(a_written_dump_can_be_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
