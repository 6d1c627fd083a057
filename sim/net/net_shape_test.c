/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "base/text.h"
#include "base/unit_test.h"
#include "fabric/fabric.h"
#include "fabric/netfile.h"
#include "sim/ibsim/attach.h"
#include "sim/net/mend.h"
#include "sim/net_shape.h"

static struct fabric *build(const struct net_shape *shape)
{
	struct fabric *fabric = NULL;
	struct error err = { 0 };

	if (net_shape_build(shape, &fabric, &err) < 0)
		fail_msg("%s", err.text);
	return fabric;
}

/* Check the numbers of switches, CAs and links, and that both ends of each link agree. */
struct counts {
	size_t switches, cas, links;
};

static struct counts count(const struct fabric *fabric)
{
	struct counts counts = { 0 };

	for (size_t i = 0; i < fabric->node_count; i++) {
		counts.switches += fabric->nodes[i].type == NODE_SWITCH;
		counts.cas += fabric->nodes[i].type == NODE_CA;
	}
	for (size_t i = 0; i < fabric->port_count; i++) {
		const struct port *port = &fabric->ports[i];

		if (port->peer == FABRIC_NONE)
			continue;
		assert_int_equal(fabric->ports[port->peer].peer, i);
		assert_int_equal(fabric->ports[port->peer].speed, port->speed);
		assert_int_equal(port->state, PORT_ACTIVE);
		counts.links += i < port->peer;
	}
	return counts;
}

/* Node GUIDs and the CA port GUIDs of ibsim are unique. */
static void check_guids(const struct fabric *fabric)
{
	struct map seen = { 0 };
	uint32_t other;

	for (size_t i = 0; i < fabric->node_count; i++) {
		assert_false(map_get(&seen, fabric->nodes[i].guid, &other));
		assert_int_equal(map_put(&seen, fabric->nodes[i].guid, 1), 0);
	}
	for (size_t i = 0; i < fabric->port_count; i++) {
		const struct node *node = &fabric->nodes[fabric->ports[i].node];

		if (node->type == NODE_SWITCH)
			continue;
		assert_false(map_get(&seen, node->guid + fabric->ports[i].num, &other));
		assert_int_equal(map_put(&seen, node->guid + fabric->ports[i].num, 1), 0);
	}
	map_done(&seen);
}

/* The net file is read as the same fabric. */
static void check_round_trip(const struct fabric *fabric)
{
	struct netfile_notes notes;
	struct text net = { 0 };
	struct fabric *back;

	mend_write(&net, fabric);
	assert_false(text_failed(&net));
	assert_int_equal(netfile_read(text_chars(&net), net.len, NULL, &back, &notes, NULL), 0);
	assert_int_equal(notes.ignored.lines + notes.damaged.lines + notes.peers_unknown.lines, 0);
	assert_int_equal(notes.peers_one_sided.lines + notes.peers_conflicting.lines, 0);
	assert_int_equal(back->node_count, fabric->node_count);
	assert_int_equal(back->port_count, fabric->port_count);
	for (size_t i = 0; i < fabric->node_count; i++) {
		assert_int_equal(back->nodes[i].guid, fabric->nodes[i].guid);
		assert_int_equal(back->nodes[i].system_guid, fabric->nodes[i].system_guid);
		assert_int_equal(back->nodes[i].device_id, fabric->nodes[i].device_id);
		assert_string_equal(back->nodes[i].desc, fabric->nodes[i].desc);
	}
	for (size_t i = 0; i < fabric->port_count; i++) {
		assert_int_equal(back->ports[i].peer, fabric->ports[i].peer);
		assert_int_equal(back->ports[i].num, fabric->ports[i].num);
		if (fabric->ports[i].speed <= LINK_SPEED_HDR)
			assert_int_equal(back->ports[i].speed, fabric->ports[i].speed);
		assert_int_equal(back->ports[i].width, fabric->ports[i].width);
		assert_int_equal(back->ports[i].state, fabric->ports[i].state);
	}
	fabric_destroy(back);
	text_done(&net);
}

TEST(the_default_is_an_eight_rail_cluster)
{
	struct net_shape shape = net_shape_default(NET_SHAPE_RAIL);
	struct fabric *fabric = build(&shape);
	struct counts counts = count(fabric);

	assert_int_equal(counts.switches, 16 + 8);
	assert_int_equal(counts.cas, 2 * 16 * 8 + 2);
	/* Host links, two cables of each leaf-spine pair, management hosts. */
	assert_int_equal(counts.links, 256 + 16 * 8 * 2 + 2);
	check_guids(fabric);
	check_round_trip(fabric);
	fabric_destroy(fabric);
}

/* Every HCA of a rail fabric is connected to the leaf of its unit and rail; HCAs of a host share a SystemImageGUID. */
TEST(each_rail_of_a_unit_has_its_own_leaf)
{
	struct net_shape shape = net_shape_default(NET_SHAPE_RAIL);
	struct fabric *fabric = build(&shape);

	for (size_t i = 0; i < fabric->node_count; i++) {
		const struct node *node = &fabric->nodes[i];
		const struct port *leaf_port;
		unsigned host, rail;
		char expected[NODE_DESC_SIZE];

		if (sscanf(node->desc, "node%u mlx5_%u", &host, &rail) != 2)
			continue;
		leaf_port = &fabric->ports[fabric->ports[node->first_port].peer];
		snprintf(expected, sizeof(expected), "MF0;leaf-u%02u-r%u:MQM8700/U1", (host - 1) / 16 + 1, rail);
		assert_string_equal(fabric->nodes[leaf_port->node].desc, expected);
		assert_int_equal(node->system_guid, fabric->nodes[i - rail].guid);
	}
	fabric_destroy(fabric);
}

static size_t uplinks(const struct fabric *fabric, const char *name, const char *up)
{
	size_t links = 0;

	for (size_t i = 0; i < fabric->port_count; i++) {
		const struct port *port = &fabric->ports[i];
		const struct node *peer;

		if (port->peer == FABRIC_NONE || strncmp(fabric->nodes[port->node].desc, name, strlen(name)))
			continue;
		peer = &fabric->nodes[fabric->ports[port->peer].node];
		links += !strncmp(peer->desc, up, strlen(up));
	}
	return links;
}

TEST(oversubscription_reduces_uplinks)
{
	struct net_shape shape = net_shape_default(NET_SHAPE_TREE2);
	struct fabric *fabric;

	shape.hosts = 24;
	assert_int_equal(net_shape_option(&shape, "oversubscription", "3:1", NULL), 0);
	fabric = build(&shape);
	assert_int_equal(uplinks(fabric, "MF0;leaf-001", "MF0;spine"), 8);
	check_round_trip(fabric);
	fabric_destroy(fabric);
	assert_int_equal(net_shape_option(&shape, "oversubscription", "1", NULL), 0);
	fabric = build(&shape);
	assert_int_equal(uplinks(fabric, "MF0;leaf-001", "MF0;spine"), 24);
	assert_int_equal(uplinks(fabric, "MF0;leaf-001", "MF0;spine-03"), 3);
	fabric_destroy(fabric);
	shape.links = 2;
	fabric = build(&shape);
	assert_int_equal(uplinks(fabric, "MF0;leaf-001", "MF0;spine"), 16);
	fabric_destroy(fabric);
}

TEST(three_tiers_are_connected_by_cores)
{
	struct net_shape shape = net_shape_default(NET_SHAPE_TREE3);
	struct fabric *fabric = build(&shape);
	struct counts counts = count(fabric);

	assert_int_equal(counts.switches, 4 * (4 + 4) + 8);
	assert_int_equal(counts.cas, 4 * 4 * 8 + 2);
	assert_int_equal(uplinks(fabric, "MF0;spine-p02-03", "MF0;core-"), 8);
	/* The nth spine of each pod is connected to the same cores. */
	assert_int_equal(uplinks(fabric, "MF0;spine-p02-03", "MF0;core-005"), 4);
	assert_int_equal(uplinks(fabric, "MF0;spine-p04-03", "MF0;core-005"), 4);
	check_guids(fabric);
	check_round_trip(fabric);
	fabric_destroy(fabric);
	assert_int_equal(net_shape_option(&shape, "core-oversubscription", "2", NULL), 0);
	fabric = build(&shape);
	assert_int_equal(uplinks(fabric, "MF0;spine-p02-03", "MF0;core-"), 4);
	fabric_destroy(fabric);
}

TEST(sixteen_thousand_hcas_are_supported)
{
	struct net_shape shape = net_shape_default(NET_SHAPE_TREE3);
	struct fabric *fabric;
	struct counts counts;

	shape.units = 32;
	shape.leafs = 16;
	shape.hosts = 32;
	shape.spines = 16;
	shape.cores = 256;
	shape.management = 0;
	fabric = build(&shape);
	counts = count(fabric);
	assert_int_equal(counts.cas, 16384);
	assert_int_equal(counts.switches, 1280);
	check_guids(fabric);
	fabric_destroy(fabric);
}

TEST(ndr_models_have_hdr_links)
{
	struct net_shape shape = net_shape_default(NET_SHAPE_RAIL);
	struct mend_notes notes = { 0 };
	struct text net = { 0 };
	struct fabric *fabric;

	assert_int_equal(net_shape_option(&shape, "speed", "NDR", NULL), 0);
	fabric = build(&shape);
	mend_fabric(fabric, &notes);
	mend_write(&net, fabric);
	assert_int_equal(notes.speeds_lowered, 256 + 256 + 2);
	assert_non_null(strstr(text_chars(&net), "MQM9700"));
	assert_non_null(strstr(text_chars(&net), " 4xHDR"));
	assert_null(strstr(text_chars(&net), "NDR"));
	text_done(&net);
	fabric_destroy(fabric);
}

TEST(invalid_shapes_are_rejected)
{
	static const char *const wrong[][2] = {
		{ "hosts", "x" }, { "hosts", "-1" }, { "hosts", "" }, { "rails", "17" }, { "speed", "XDR" },
		{ "speed", "fast" }, { "width", "3x" }, { "oversubscription", "0" }, { "oversubscription", "nan" },
		{ "oversubscription", "2:2" }, { "colour", "red" },
	};
	struct net_shape shape = net_shape_default(NET_SHAPE_RAIL);
	struct fabric *fabric = NULL;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(net_shape_option(&shape, wrong[i][0], wrong[i][1], NULL), ERR_USAGE);
	shape.hosts = 0;
	assert_int_equal(net_shape_build(&shape, &fabric, NULL), ERR_USAGE);
	shape.hosts = 300; /* more than the ports of a switch */
	assert_int_equal(net_shape_build(&shape, &fabric, NULL), ERR_USAGE);
	shape = net_shape_default(NET_SHAPE_RAIL);
	shape.units = 1024; /* too many HCAs */
	assert_int_equal(net_shape_build(&shape, &fabric, NULL), ERR_USAGE);
	shape = net_shape_default(NET_SHAPE_TREE3);
	shape.cores = 6; /* not a multiple of 4 spines */
	assert_int_equal(net_shape_build(&shape, &fabric, NULL), ERR_USAGE);
	assert_null(fabric);
}

TEST(opensm_and_the_command_have_different_nodes)
{
	struct net_shape shape = net_shape_default(NET_SHAPE_RAIL);
	struct fabric *fabric = build(&shape);
	uint32_t sm, attach;
	char id[ATTACH_ID_SIZE];

	assert_int_equal(attach_choose(fabric, NULL, NULL, &sm, &attach, NULL), 0);
	assert_string_equal(fabric->nodes[sm].desc, "mgmt0001 mlx5_0");
	assert_string_equal(fabric->nodes[attach].desc, "mgmt0002 mlx5_0");
	assert_string_equal(attach_id(fabric, attach, id), "H-0c42a10300002000");
	assert_int_equal(attach_choose(fabric, NULL, "mgmt0001 mlx5_0", &sm, &attach, NULL), 0);
	assert_string_equal(fabric->nodes[sm].desc, "mgmt0002 mlx5_0");
	assert_int_equal(attach_choose(fabric, NULL, "MF0;spine-01:MQM8700/U1", &sm, &attach, NULL), 0);
	assert_int_equal(attach_choose(fabric, "absent", NULL, &sm, &attach, NULL), ERR_USAGE);
	fabric_destroy(fabric);
	shape.management = 0;
	fabric = build(&shape);
	assert_int_equal(attach_choose(fabric, NULL, NULL, &sm, &attach, NULL), 0);
	assert_int_not_equal(sm, attach);
	fabric_destroy(fabric);
}
