/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Selection and order of rows: by name, host and GUID, by errors, sorted. */
#define UNIT_TEST_SETUP make_database
#define UNIT_TEST_TEARDOWN remove_database

#include <math.h>

#include <jansson.h>

#include "base/err.h"
#include "base/unit_test.h"
#include "cli/lib/selection.h"
#include "cli/test_commands.h"
#include "fabric/fabric.h"
#include "storage/test/test_model.h"

/* These nodes, each with all of its ports and no link, port 0 if it has a LID; for fabric_destroy(). */
static struct fabric *make_fabric(const struct node *nodes, size_t count)
{
	struct fabric *fabric = fabric_create(NULL);

	for (size_t i = 0; i < count; i++) {
		assert_int_equal(fabric_add_node(fabric, &nodes[i], NULL), i);
		for (struct port port = { .num = !nodes[i].lid }; port.num <= nodes[i].port_count; port.num++)
			assert_true(fabric_add_port(fabric, &port, NULL) >= 0);
	}
	assert_int_equal(fabric_finish(fabric, NULL, NULL), 0);
	return fabric;
}

TEST(displayed_name_is_accepted)
{
	static const struct node nodes[] = {
		{ .guid = 1, .type = NODE_SWITCH, .port_count = 2, .desc = "MF0;leaf-1:MQM8700/U1" },
		{ .guid = 2, .type = NODE_SWITCH, .port_count = 2, .desc = "MF0;twin:MQM8700/U1" },
		{ .guid = 3, .type = NODE_SWITCH, .port_count = 2, .desc = "MF0;twin:MQM9700/U1" },
	};
	static const struct {
		const char *typed;
		int code;
		size_t node, ports;
	} cases[] = {
		{ "leaf-1", 0, 0, 2 }, { "MF0;leaf-1:MQM8700/U1", 0, 0, 2 }, { "leaf-1/2", 0, 0, 1 },
		{ "MF0;leaf-1:MQM8700/U1/1", 0, 0, 1 }, { "MF0;twin:MQM9700/U1", 0, 2, 2 }, { "0x2/1", 0, 1, 1 },
		{ "twin", ERR_USAGE, 0, 0 }, { "leaf-1/3", ERR_USAGE, 0, 0 }, { "leaf-1/258", ERR_USAGE, 0, 0 },
		{ "leaf-1/1x", ERR_USAGE, 0, 0 }, { "leaf-1/", ERR_USAGE, 0, 0 }, { "", ERR_USAGE, 0, 0 },
	};
	struct fabric *fabric = make_fabric(nodes, sizeof(nodes) / sizeof(nodes[0]));

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *argv[] = { (char *)(uintptr_t)cases[i].typed };
		struct selection selection;
		size_t ports = 0;

		assert_int_equal(selection_init(&selection, fabric, argv, 1, NULL), cases[i].code);
		if (cases[i].code)
			continue;
		for (size_t j = 0; j < 3; j++)
			assert_int_equal(selection_has_node(&selection, (uint32_t)j), j == cases[i].node);
		for (size_t j = 0; j < 6; j++)
			ports += selection_has_port(&selection, (uint32_t)j);
		assert_int_equal(ports, cases[i].ports);
		selection_done(&selection);
	}
	fabric_destroy(fabric);
}

/* Each notation of ibwire(1), NODES AND PORTS. Nodes and ports are bits. */
TEST(subject_is_found_as_people_write_it)
{
	static const struct node nodes[] = {
		{ .guid = 0x11, .type = NODE_SWITCH, .port_count = 4, .lid = 9, .desc = "MF0;leaf-1:MQM8700/U1" },
		{ .guid = 0x12, .type = NODE_SWITCH, .port_count = 4, .lid = 4, .desc = "leaf-2" },
		{ .guid = 0x21, .type = NODE_CA, .port_count = 1, .desc = "node1 mlx5_0" },
		{ .guid = 0x22, .type = NODE_CA, .port_count = 1, .desc = "node1 mlx5_1" },
		{ .guid = 0x23, .type = NODE_CA, .port_count = 2, .desc = "node10 mlx5_0" },
		{ .guid = 0x24, .type = NODE_CA, .port_count = 1, .desc = "alike" },
		{ .guid = 0x25, .type = NODE_CA, .port_count = 1, .desc = "alike" },
		{ .guid = 0x26, .type = NODE_SWITCH, .port_count = 1, .desc = "7" },
	};
	enum { COUNT = sizeof(nodes) / sizeof(nodes[0]) };
	static const struct {
		const char *typed;
		unsigned nodes, ports; /* ports: bits 0 to 4 leaf-1, 5 to 9 leaf-2, then one or two per HCA */
		int code;
	} cases[] = {
		{ "node1", 0x0c, 0xc00, 0 },     { "node1 mlx5_1", 8, 0x800, 0 }, { "node1 mlx5_1/1", 8, 0x800, 0 },
		{ "0x22", 8, 0x800, 0 },         { "4", 2, 0x3e0, 0 },            { "0x4", 2, 0x3e0, 0 },
		{ "9/2", 1, 4, 0 },              { "101", 0x10, 0x1000, 0 },      { "103", 0x10, 0x2000, 0 },
		{ "7", 0x80, 0x10000, 0 },       { "leaf*", 3, 0x3ff, 0 },        { "leaf-[2-9]", 2, 0x3e0, 0 },
		{ "node1?", 0x10, 0x3000, 0 },   { "*mlx5_0", 0x14, 0x3400, 0 },  { "leaf-1/2-3", 1, 0xc, 0 },
		{ "leaf*/1,3-4", 3, 0x35a, 0 },  { "leaf-2/[34]", 2, 0x300, 0 },  { "leaf*/*", 3, 0x3ff, 0 },
		{ "node1/1", 0x0c, 0xc00, 0 },   { "alike", 0x60, 0xc000, 0 },    { "hosts", 0x7c, 0xfc00, 0 },
		{ "all", 0xff, 0x1ffff, 0 },     { "node[1,10]", 0x1c, 0x3c00, 0 },
		{ "node[10-10]/2", 0x10, 0x2000, 0 },
		{ "node[1-2]0,node1", 0, 0, ERR_USAGE },
		{ "node", 0, 0, ERR_USAGE },     { "", 0, 0, ERR_USAGE },         { "nope*", 0, 0, ERR_USAGE },
		{ "leaf-1/9", 0, 0, ERR_USAGE }, { "leaf*/9", 0, 0, ERR_USAGE },  { "500", 0, 0, ERR_USAGE },
		{ "rail:0", 0x14, 0x1400, 0 },   { "rail:mlx5_0", 0x14, 0x1400, 0 }, { "rail:*", 0x14, 0x1400, 0 },
		{ "rail:7", 0, 0, ERR_USAGE },   { "tier:1x", 0, 0, ERR_USAGE },  { "leaf-1/", 0, 0, ERR_USAGE },
		{ "leaf-1 uplinks", 0, 0, ERR_USAGE },
	};
	struct fabric *fabric = make_fabric(nodes, COUNT);
	struct selection selection;

	/* LIDs 100 to 101 and 102 to 103 of the two ports of node10. */
	for (uint32_t i = 0; i < 2; i++) {
		fabric->ports[fabric->nodes[4].first_port + i].lid = (uint16_t)(100 + 2 * i);
		fabric->ports[fabric->nodes[4].first_port + i].lmc = 1;
	}
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *typed = (char *)(uintptr_t)cases[i].typed;
		int code = selection_init(&selection, fabric, &typed, 1, NULL);
		unsigned has_nodes = 0, has_ports = 0;

		for (uint32_t j = 0; code == 0 && j < COUNT; j++)
			has_nodes |= (unsigned)selection_has_node(&selection, j) << j;
		for (uint32_t j = 0; code == 0 && j < fabric->port_count; j++)
			has_ports |= (unsigned)selection_has_port(&selection, j) << j;
		if (code != cases[i].code || has_nodes != cases[i].nodes || has_ports != cases[i].ports)
			fail_msg("'%s': %d, nodes %#x, ports %#x", typed, code, has_nodes, has_ports);
		if (code == 0)
			selection_done(&selection);
	}
	fabric_destroy(fabric);
}

/* Commands for one node or port list the candidates. */
TEST(single_subject_must_be_unique)
{
	static const struct node nodes[] = {
		{ .guid = 1, .type = NODE_CA, .port_count = 1, .desc = "node1 mlx5_1" },
		{ .guid = 2, .type = NODE_CA, .port_count = 1, .desc = "node1 mlx5_0" },
		{ .guid = 3, .type = NODE_SWITCH, .port_count = 3, .lid = 4, .desc = "MF0;leaf1:MQM8700/U1" },
		{ .guid = 5, .type = NODE_CA, .port_count = 1, .desc = "alike" },
		{ .guid = 6, .type = NODE_CA, .port_count = 1, .desc = "alike" },
	};
	static const struct { const char *typed, *error; uint32_t node, port; } cases[] = {
		{ "leaf*", NULL, 2, FABRIC_NONE }, { "4", NULL, 2, FABRIC_NONE }, { "4/3", NULL, 2, 5 },
		{ "node1 mlx5_0/1", NULL, 1, 1 },
		{ "node1", "'node1' selects 2 nodes: give one, such as 'node1 mlx5_0'", 0, 0 },
		{ "leaf1/2-3", "'leaf1/2-3' selects 2 ports: give one, such as 'leaf1/2'", 0, 0 },
		{ "alike", "2 nodes are called 'alike': give a GUID: 0x0000000000000005, 0x0000000000000006", 0, 0 },
		{ "node2/1", "no node is called 'node2': 'ibwire nodes' lists them", 0, 0 },
		{ "node1 mlx5_0/2", "node1 mlx5_0 has no port 2 (it has 1)", 0, 0 },
		{ "leaf*/5", "leaf1 has no port 5 (it has 3)", 0, 0 },
		{ "77", "no port has LID 77", 0, 0 },
		{ "node[1,3]", "no HCA of host 'node3': 'ibwire nodes' lists them", 0, 0 },
		{ "x*", "no node or host matches 'x*': 'ibwire nodes' lists them", 0, 0 },
		{ "rail:7", "no rail is called '7': the rails are mlx5_0, mlx5_1", 0, 0 },
	};
	struct fabric *fabric = make_fabric(nodes, sizeof(nodes) / sizeof(nodes[0]));

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct error err = { 0 };
		uint32_t node, port;
		int code = selection_find(fabric, cases[i].typed, &node, &port, &err);

		assert_int_equal(code, cases[i].error ? ERR_USAGE : 0);
		if (code)
			assert_string_equal(err.text, cases[i].error);
		else
			assert_true(node == cases[i].node && port == cases[i].port);
	}
	fabric_destroy(fabric);
}

TEST(sorting_puts_the_largest_first_and_the_unknown_last)
{
	json_t *rows = run_json("ports|--sort|rcv_bytes_per_s");
	json_t *top = run_json("ports|--sort|rcv_bytes_per_s|--top|3");
	double before = INFINITY;
	bool unknown = false;

	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *rate = json_object_get(json_array_get(rows, i), "rcv_bytes_per_s");

		assert_false(unknown && !json_is_null(rate));
		unknown = json_is_null(rate);
		assert_true(unknown || json_number_value(rate) <= before);
		before = json_number_value(rate);
	}
	assert_int_equal(json_array_size(top), 3);
	for (size_t i = 0; i < 3; i++)
		assert_true(guid_of(json_array_get(top, i), "node_guid") ==
			    guid_of(json_array_get(rows, i), "node_guid"));
	json_decref(rows);
	json_decref(top);
}

/* The default window is the last day, here the whole database. */
TEST(errors_option_hides_ports_without_errors)
{
	json_t *all = run_json("ports"), *bad = run_json("ports|--errors");
	size_t listed = 0;

	for (size_t i = 0; i < json_array_size(all); i++) {
		const json_t *port = json_array_get(all, i);
		const json_t *row = find_row(bad, guid_of(port, "node_guid"), integer_of(port, "port"));

		/* Every error of the newest sweep is one of the day. */
		assert_true(row || !json_object_size(json_object_get(port, "errors")));
		listed += row != NULL;
	}
	assert_int_equal(json_array_size(bad), listed);
	assert_true(listed > 0 && listed < json_array_size(all));
	json_decref(all);
	json_decref(bad);
}
