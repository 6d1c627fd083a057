/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */

#include "base/unit_test.h"
#include "fabric/fabric.h"
#include "fabric/planes.h"

/* A node whose ports 1 and up have these GUIDs. */
static struct fabric *make(uint8_t type, const uint64_t *guids, unsigned count)
{
	struct fabric *fabric = fabric_create(NULL);

	assert_true(fabric_add_node(fabric, &(struct node){ .guid = 0x10, .type = type, .port_count = (uint8_t)count },
				    NULL) >= 0);
	for (unsigned i = 0; i < count; i++)
		assert_true(fabric_add_port(fabric, &(struct port){ .num = (uint8_t)(i + 1), .guid = guids[i],
								    .state = i ? PORT_ACTIVE : PORT_DOWN }, NULL) >= 0);
	assert_int_equal(fabric_finish(fabric, NULL, NULL), 0);
	return fabric;
}

TEST(ports_of_one_guid_are_planes_up_or_down)
{
	static const uint64_t guids[] = { 0xa, 0xa, 0xa, 0xa };
	struct fabric *fabric = make(NODE_CA, guids, 4);

	assert_int_equal(node_planes(fabric, 0), 4);
	for (uint32_t i = 0; i < 4; i++)
		assert_true(port_is_plane(fabric, i));
	fabric_destroy(fabric);
}

TEST(ports_with_different_guids_are_no_planes)
{
	static const uint64_t guids[] = { 0xa, 0xb, 0, 0 };
	struct fabric *fabric = make(NODE_CA, guids, 4);

	assert_int_equal(node_planes(fabric, 0), 0);
	assert_false(port_is_plane(fabric, 0));
	assert_false(port_is_plane(fabric, 3));
	fabric_destroy(fabric);
}

TEST(the_planes_of_a_port_are_walked_in_order)
{
	static const uint64_t guids[] = { 0xa, 0xb, 0xa, 0xb, 0xa, 0xc };
	static const uint32_t first[] = { 0, 1, 0, 1, 0, 5 };
	static const uint32_t next[] = { 2, 3, 4, FABRIC_NONE, FABRIC_NONE, FABRIC_NONE };
	struct fabric *fabric = make(NODE_CA, guids, 6);

	for (uint32_t i = 0; i < 6; i++) {
		assert_int_equal(port_first_plane(fabric, i), first[i]);
		assert_int_equal(port_next_plane(fabric, i), next[i]);
	}
	fabric_destroy(fabric);
}

TEST(a_port_with_its_own_guid_is_no_plane)
{
	static const uint64_t guids[] = { 0xa, 0xb, 0xa };
	struct fabric *fabric = make(NODE_CA, guids, 3);

	assert_int_equal(node_planes(fabric, 0), 2);
	assert_true(port_is_plane(fabric, 0));
	assert_false(port_is_plane(fabric, 1));
	fabric_destroy(fabric);
}

TEST(switches_have_no_planes)
{
	static const uint64_t guids[] = { 0xa, 0xa };
	struct fabric *fabric = make(NODE_SWITCH, guids, 2);

	assert_int_equal(node_planes(fabric, 0), 0);
	fabric_destroy(fabric);
}
