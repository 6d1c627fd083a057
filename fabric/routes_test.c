/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Forwarding tables: what they keep, and a route by hand. */
#include <string.h>

#include "base/err.h"
#include "base/unit_test.h"
#include "fabric/fabric.h"
#include "fabric/routes.h"
#include "fabric/test_routes.h"

TEST(a_host_is_traced_from_its_own_port_on)
{
	struct fabric *fabric = fabric_create(NULL);
	uint32_t leaf = routes_add_switch(fabric, 100, 1, 4, 63), a = routes_add_host(fabric, 200, 1, 2, 0, 1);
	uint32_t b = routes_add_host(fabric, 201, 2, 3, 0, 1), lonely = routes_add_host(fabric, 202, 1, 9, 0, 1);
	uint32_t from, to;
	uint8_t block[ROUTES_BLOCK];
	struct routes routes = { 0 };
	struct route_trace trace;

	routes_link(fabric, leaf, a);
	routes_link(fabric, leaf, b);
	routes_link(fabric, leaf, b);
	assert_int_equal(fabric_finish(fabric, NULL, NULL), 0);
	from = fabric_node_port(fabric, a, 1);
	to = fabric_node_port(fabric, b, 2);
	routes_trace(&routes, fabric, from, to, 0, &trace);
	assert_int_equal(trace.end, ROUTE_UNKNOWN);
	assert_int_equal(trace.hops, 1);
	memset(block, ROUTES_NO_PORT, sizeof(block));
	block[4] = 3;
	assert_int_equal(routes_set_block(&routes, 100, 0, block, NULL, NULL), 0);
	routes_trace(&routes, fabric, from, to, 0, &trace);
	assert_int_equal(trace.end, ROUTE_ARRIVES);
	assert_int_equal(trace.hops, 2);
	assert_int_equal(trace.ports[0], from);
	assert_int_equal(trace.at, b);
	/* The other port of the same HCA is a wrong end. */
	block[4] = 2;
	routes_set_block(&routes, 100, 0, block, NULL, NULL);
	routes_trace(&routes, fabric, from, to, 0, &trace);
	assert_int_equal(trace.end, ROUTE_WRONG_END);
	/* A switch is reached without an entry for it, a port reaches itself. */
	routes_trace(&routes, fabric, from, fabric_node_port(fabric, leaf, 0), 0, &trace);
	assert_int_equal(trace.end, ROUTE_ARRIVES);
	assert_int_equal(trace.hops, 1);
	routes_trace(&routes, fabric, from, from, 0, &trace);
	assert_int_equal(trace.end, ROUTE_ARRIVES);
	assert_int_equal(trace.hops, 0);
	routes_trace(&routes, fabric, fabric_node_port(fabric, lonely, 1), to, 0, &trace);
	assert_int_equal(trace.end, ROUTE_BLACK_HOLE);
	assert_int_equal(trace.hops, 0);
	routes_set_state(fabric, from, PORT_INIT);
	routes_trace(&routes, fabric, from, to, 0, &trace);
	assert_int_equal(trace.end, ROUTE_DOWN);
	routes_done(&routes);
	fabric_destroy(fabric);
}

TEST(a_table_tells_what_changed_and_what_was_not_read)
{
	uint8_t block[ROUTES_BLOCK];
	struct routes routes = { 0 }, copy;
	unsigned changed = 99;

	memset(block, ROUTES_NO_PORT, sizeof(block));
	block[0] = 1;
	block[63] = 2;
	assert_null(routes_find(&routes, 7));
	assert_int_equal(routes_set_block(&routes, 7, 2, block, &changed, NULL), 0);
	assert_int_equal(changed, 2);
	assert_int_equal(routes_find(&routes, 7)->lids, 192);
	assert_false(routes_is_read(routes_find(&routes, 7), 127));
	assert_true(routes_is_read(routes_find(&routes, 7), 128));
	assert_false(routes_is_read(routes_find(&routes, 7), 192));
	assert_int_equal(routes_out_port(routes_find(&routes, 7), 191), 2);
	assert_int_equal(routes_out_port(routes_find(&routes, 7), 192), ROUTES_NO_PORT);
	assert_int_equal(routes_set_block(&routes, 7, 2, block, &changed, NULL), 0);
	assert_int_equal(changed, 0);
	block[63] = ROUTES_NO_PORT;
	block[5] = 9;
	assert_int_equal(routes_copy(&routes, &copy, NULL), 0);
	assert_int_equal(routes_set_block(&routes, 7, 2, block, &changed, NULL), 0);
	assert_int_equal(changed, 2);
	assert_false(routes_same(&routes, &copy));
	assert_int_equal(routes_out_port(routes_find(&copy, 7), 191), 2);
	assert_int_equal(routes_set_block(&copy, 7, 2, block, NULL, NULL), 0);
	assert_true(routes_same(&routes, &copy));
	/* Smaller, larger, gone. */
	assert_int_equal(routes_size(&routes, 7, 129, NULL), 0);
	assert_int_equal(routes_find(&routes, 7)->lids, 192);
	assert_int_equal(routes_size(&routes, 7, 128, NULL), 0);
	assert_false(routes_same(&routes, &copy));
	assert_int_equal(routes_size(&routes, 7, 1000, NULL), 0);
	assert_int_equal(routes_find(&routes, 7)->lids, 1024);
	assert_false(routes_is_read(routes_find(&routes, 7), 128));
	assert_int_equal(routes_out_port(routes_find(&routes, 7), 133), ROUTES_NO_PORT);
	routes_cut(&routes, 7, 0);
	assert_null(routes_find(&routes, 7));
	assert_int_equal(routes_set_block(&routes, 7, ROUTES_BLOCKS - 1, block, NULL, NULL), 0);
	assert_int_equal(routes_set_block(&routes, 7, ROUTES_BLOCKS, block, NULL, NULL), ERR_IO);
	routes_cut(&routes, 8, 0);
	routes_done(&routes);
	routes_done(&copy);
}
