/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Names of nodes and ports, and models of devices. */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/unit_test.h"
#include "base/unread.h"
#include "fabric/device.h"
#include "fabric/fabric.h"
#include "fabric/name_map.h"
#include "fabric/names.h"

TEST(device_has_its_product_name)
{
	static const struct {
		uint32_t vendor;
		uint16_t device;
		enum node_type type;
		const char *desc, *model;
	} cases[] = {
		{ 0x2c9, 54002, NODE_SWITCH, "MF0;spine01:MQM9700/U1", "Quantum-2 QM9700" },
		{ 0x2c9, 0xd2f0, NODE_SWITCH, "MF0;core:CS8500/L01/U1", "Quantum CS8500" },
		{ 0x2c9, 0xc738, NODE_SWITCH, "MF0;a:b:SX6036/U1", "SwitchX SX6036" },
		{ 0x2c9, 0xcb20, NODE_SWITCH, "SwitchIB Mellanox Technologies", "Switch-IB" },
		/* The description is untrusted, and only a switch has a model in it. */
		{ 0x2c9, 0xd2f2, NODE_SWITCH, "MF0;x:\033[2J/U1", "Quantum-2" },
		{ 0x2c9, 0xd2f2, NODE_SWITCH, "MF0;x:", "Quantum-2" },
		{ 0x2c9, 0xd2f2, NODE_SWITCH, "MF0;", "Quantum-2" },
		{ 0x2c9, 4129, NODE_CA, "MF0;x:MQM9700/U1", "ConnectX-7" },
		{ 0x2c9, 4123, NODE_CA, "node01 mlx5_0", "ConnectX-6" },
		{ 0x2c9, 4131, NODE_CA, "", "ConnectX-8" },
		{ 0x2c9, 4119, NODE_CA, "", "ConnectX-5" },
		{ 0x2c9, 53001, NODE_CA, "", "aggregation node" },
		{ 0x2c9, 1, NODE_CA, "node01 mlx5_0", NULL },
		{ 0x119f, 4129, NODE_CA, "node01 mlx5_0", NULL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct node node = { .vendor_id = cases[i].vendor, .device_id = cases[i].device,
				     .type = cases[i].type };
		char model[DEVICE_MODEL_SIZE];

		snprintf(node.desc, sizeof(node.desc), "%s", cases[i].desc);
		if (cases[i].model)
			assert_string_equal(device_model(&node, model), cases[i].model);
		else
			assert_null(device_model(&node, model));
	}
}

TEST(a_node_name_map_is_read_as_the_infiniband_diags_read_it)
{
	static const struct { const char *line, *name; } cases[] = {
		{ "0x10 leafA(root)", "leafA(root)" }, { "0x10\tleaf A\t\t# comment", "leaf A" },
		{ "0x10 \"leafC - quoted\"", "leafC - quoted" }, { "0x10 \"a\" \"b\"", "a" },
		{ "0x10 \"open", "open" }, { "  0x0000000000000010 x\r", "x" }, { "16 decimal", "decimal" },
		{ "0x10 first\n0x10 second", "first" }, { "# 0x10 x", NULL }, { "0x10", NULL }, { "0x10 #x", "x" },
		{ "0X10#x", "x" }, { "0x10 \"# x", "x" }, { "0x10 #", NULL }, { "0x10 \"\"", NULL },
		{ "0x10\"x\"", NULL }, { "2c5e x", NULL }, { "020 octal", "octal" },
		{ "0x10 \"a \\\"b\\\" c\"", "a \\" }, { "\xef\xbb\xbf" "0x10 x", NULL },
		{ "0x10x name", NULL }, { "leaf 0x10", NULL }, { "", NULL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		bool is_ignored = !cases[i].name && cases[i].line[0] && cases[i].line[0] != '#';
		struct unread unread;
		struct name_map *map;
		const char *name;
		char text[128];

		snprintf(text, sizeof(text), "0x11 before\n%s\n0x12 after", cases[i].line);
		assert_int_equal(name_map_parse(text, strlen(text), &map, &unread, NULL), 0);
		assert_string_equal(name_map_find(map, 0x11), "before");
		assert_string_equal(name_map_find(map, 0x12), "after");
		name = name_map_find(map, 0x10);
		if (cases[i].name)
			assert_string_equal(name, cases[i].name);
		else
			assert_null(name);
		assert_int_equal(unread.lines, is_ignored);
		assert_true(!is_ignored || unread.first == 2);
		name_map_destroy(map);
	}
}

TEST(names_are_found_or_the_most_similar_is_suggested)
{
	struct fabric *fabric = fabric_create(NULL);
	struct name_map *map;
	struct error err;
	uint32_t found;
	const char names[] =
		"# comment\n0x1 \"mapped one\"\nnonsense\n 0x0000000000000002\t\"two\" # why\n0x3\n";

	assert_int_equal(name_map_parse(names, sizeof(names) - 1, &map, NULL, NULL), 0);
	for (uint64_t guid = 1; guid <= 6; guid++) {
		struct node node = { .guid = guid, .type = NODE_CA, .port_count = 1 };
		struct port port = { .num = 1 };

		snprintf(node.desc, sizeof(node.desc), "%s", guid == 3 ? "\x1b[31mred\x07" :
			 guid == 6 ? "MF0;leaf1:MQM9700/U1" : guid > 3 ? "same" : "x");
		assert_true(fabric_add_node(fabric, &node, NULL) >= 0);
		assert_true(fabric_add_port(fabric, &port, NULL) >= 0);
	}
	assert_int_equal(fabric_finish(fabric, map, NULL), 0);
	assert_string_equal(fabric->nodes[0].name, "mapped one");
	assert_string_equal(fabric->nodes[1].name, "two");
	assert_string_equal(fabric->nodes[2].name, "\\x1b[31mred\\x07");
	assert_int_equal(names_find_node(fabric, "two", &found, NULL), 0);
	assert_int_equal(found, 1);
	assert_int_equal(names_find_node(fabric, "0x0000000000000005", &found, NULL), 0);
	assert_int_equal(found, 4);
	assert_int_equal(names_find_node(fabric, "leaf1", &found, NULL), 0);
	assert_int_equal(found, 5);
	assert_int_equal(names_find_node(fabric, "same (0004)", &found, NULL), 0);
	assert_int_equal(found, 3);
	assert_int_equal(names_find_node(fabric, "same (0006)", &found, &err), ERR_USAGE);
	assert_int_equal(names_find_node(fabric, "same", &found, &err), ERR_USAGE);
	assert_non_null(strstr(err.text, "0x0000000000000004, 0x0000000000000005"));
	assert_int_equal(names_find_node(fabric, "mapped on", &found, &err), ERR_USAGE);
	assert_non_null(strstr(err.text, "did you mean 'mapped one'"));
	assert_int_equal(names_find_port(fabric, "two/1", &found, NULL), 0);
	assert_int_equal(names_find_port(fabric, "two/2", &found, &err), ERR_USAGE);
	assert_int_equal(names_find_port(fabric, "two/1x", &found, &err), ERR_USAGE);
	assert_int_equal(names_find_port(fabric, "two/999", &found, &err), ERR_USAGE);
	assert_int_equal(names_find_port(fabric, "two", &found, &err), ERR_USAGE);
	name_map_destroy(map);
	fabric_destroy(fabric);
}

TEST(names_are_in_natural_order)
{
	static const char *const ordered[] = { "",	  "a",	    "a1",     "a2",	 "a10",	   "a10b",
					       "a010b1z", "leaf2/9", "leaf2/10", "leaf10/1", "node0002", "node10" };
	size_t count = sizeof(ordered) / sizeof(ordered[0]);

	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < count; k++) {
			int found = names_compare(ordered[i], ordered[k]);

			assert_int_equal((found > 0) - (found < 0), (i > k) - (i < k));
		}
	/* Numbers of any length; leading zeros alone make a difference, but a small one. */
	assert_true(names_compare("x99999999999999999999999", "x100000000000000000000000") < 0);
	assert_true(names_compare("node01", "node1") != 0);
	assert_true(names_compare("node01", "node2") < 0);
}

TEST(managed_switches_have_short_names)
{
	static const char *const cases[][2] = {
		{ "MF0;leaf-u01-r1:MQM8700/U1", "leaf-u01-r1" },
		{ "MF0;big:MCS7520/L01/U1", "big/L01/U1" },
		{ "MF0;:MQM8700/U1", "MF0;:MQM8700/U1" },
		{ "MF0;leaf:MQM8700/U1 (was)", "leaf (was)" },
		{ "MF0;leaf", "MF0;leaf" },
		{ "MF0;leaf:MQM8700", "MF0;leaf:MQM8700" },
		{ "node0001 mlx5_0", "node0001 mlx5_0" },
		{ "", "" },
	};
	char name[64];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(names_short(cases[i][0], name), strlen(cases[i][1]) + 1);
		assert_string_equal(name, cases[i][1]);
	}
}

TEST(generic_descriptions_are_recognized)
{
	static const char *const generic[] = {
		"", "   ", "MT4129 ConnectX7   Mellanox Technologies", "Quantum Mellanox Technologies",
		"SwitchX -  Mellanox Technologies", "MT25408 ConnectX Mellanox Technologies  ", "localhost mlx5_0",
		"localhost", "localhost.localdomain HCA-1", "(none) mlx5_1", "mlx5_0", "HCA-2", " hfi1_0",
	};
	static const char *const names[] = {
		"node07 mlx5_0", "MF0;leaf1:MQM8700/U1", "Mellanox Technologies Aggregation Node", "taurusi1 HCA-1",
		"localhost2 mlx5_0", "rocket", "mlx5", "17", "MT4129", "HCA-", "(none", "ISR9024 Voltaire",
	};

	for (size_t i = 0; i < sizeof(generic) / sizeof(*generic); i++)
		assert_true(names_is_generic(generic[i]));
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		assert_false(names_is_generic(names[i]));
}

/* Of ASICs of one box each has its suffix; a box of one ASIC and a module have the names that they had. */
TEST(each_asic_of_a_box_has_its_suffix)
{
	static const struct { const char *desc, *shown; } cases[] = {
		{ "MF0;leaf00:MODEL/U1", "leaf00/U1" }, { "MF0;leaf00:MODEL/U4", "leaf00/U4" },
		{ "MF0;leaf00:MODEL/U1/RT", "leaf00/U1/RT" }, { "MF0;leaf01:MODEL/U1", "leaf01" },
		{ "MF0;leaf01:MODEL/U1/RT", "leaf01/U1/RT" }, { "MF0;core:MCS8500/L01/U1", "core/L01/U1" },
		{ "MF0;core:MCS8500/S01/U2", "core/S01/U2" }, { "MF0;x:Q3400/A1", "x/A1" },
		{ "MF0;x:Q3400/A2", "x/A2" },
		{ "SwitchX -  Mellanox Technologies", "SwitchX -  Mellanox Technologies" }, { "plain/U1", "plain/U1" },
	};
	enum { COUNT = sizeof(cases) / sizeof(*cases) };
	char name[NODE_NAME_SIZE];

	for (unsigned order = 0; order < COUNT; order++) {
		struct fabric *fabric = fabric_create(NULL);

		for (size_t i = 0; i < COUNT; i++) {
			size_t at = (i + order) % COUNT;
			struct node node = { .guid = at + 1, .type = strstr(cases[at].desc, "/RT") ? NODE_ROUTER :
					     NODE_SWITCH, .port_count = 1 };

			snprintf(node.desc, sizeof(node.desc), "%s", cases[at].desc);
			assert_true(fabric_add_node(fabric, &node, NULL) >= 0);
		}
		assert_int_equal(fabric_finish(fabric, NULL, NULL), 0);
		for (uint32_t i = 0; i < COUNT; i++) {
			const char *shown = cases[fabric->nodes[i].guid - 1].shown;
			uint32_t found;

			assert_string_equal(fabric->names.shown[i], shown);
			assert_int_equal(names_display(fabric, fabric->nodes[i].name, name), strlen(shown) + 1);
			assert_string_equal(name, shown);
			assert_int_equal(names_find_node(fabric, shown, &found, NULL), 0);
			assert_int_equal(found, i);
		}
		/* A former name of an ASIC. */
		names_display(fabric, "MF0;leaf00:MODEL/U1" NAMES_WAS, name);
		assert_string_equal(name, "leaf00/U1" NAMES_WAS);
		fabric_destroy(fabric);
	}
}
