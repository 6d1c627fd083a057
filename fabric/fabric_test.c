/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A fabric through records, net files, names and differences. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "base/text.h"
#include "base/unit_test.h"
#include "fabric/diff.h"
#include "fabric/device.h"
#include "fabric/fabric.h"
#include "fabric/name_map.h"
#include "fabric/names.h"
#include "fabric/netfile.h"
#include "fabric/record.h"

static uint64_t next_random(uint64_t *random)
{
	return *random = map_mix(*random + 0x9e3779b97f4a7c15ULL);
}

/* Random nodes with random ports and random links between free ports. */
static struct fabric *random_fabric(uint64_t seed)
{
	struct fabric *fabric = fabric_create(NULL);
	uint64_t random = seed;
	int nodes = (int)(next_random(&random) % 30) + 1;

	for (int i = 0; i < nodes; i++) {
		struct node node = { .guid = next_random(&random) | 1, .system_guid = next_random(&random) };

		node.type = (uint8_t)(1 + next_random(&random) % 3);
		node.port_count = (uint8_t)(1 + next_random(&random) % 40);
		node.lid = (uint16_t)next_random(&random);
		node.enhanced_port0 = next_random(&random) & 1;
		for (int j = 0; j < NODE_DESC_SIZE; j++)
			node.desc[j] = (char)next_random(&random);
		assert_true(fabric_add_node(fabric, &node, NULL) == i);
		for (int j = node.type == NODE_SWITCH ? 0 : 1; j <= node.port_count; j++) {
			struct port port = { .num = (uint8_t)j, .state = (uint8_t)(next_random(&random) % 5) };

			if (next_random(&random) % 4 == 0)
				continue;
			port.guid = next_random(&random);
			port.lid = (uint16_t)next_random(&random);
			port.speed = (uint8_t)(next_random(&random) % LINK_SPEED_COUNT);
			port.width = LINK_WIDTH_4X;
			port.cap_mask = (uint32_t)next_random(&random);
			assert_true(fabric_add_port(fabric, &port, NULL) >= 0);
		}
	}
	for (int i = 0; fabric->port_count > 1 && i < 200; i++)
		fabric_link(fabric, (uint32_t)(next_random(&random) % fabric->port_count),
			    (uint32_t)(next_random(&random) % fabric->port_count), NULL);
	for (int i = 0; i < (int)fabric->port_count; i++)
		if (fabric->ports[i].peer == (uint32_t)i)
			fabric->ports[i].peer = FABRIC_NONE;
	assert_int_equal(fabric_finish(fabric, NULL, NULL), 0);
	return fabric;
}

static char *records_of(const struct fabric *fabric, size_t *ret_len)
{
	struct record_trailer trailer = { 5, 6, 7, 8, 9 };
	struct text text = { 0 };

	record_write(&text, fabric, &trailer);
	*ret_len = text.len;
	return text.chars;
}

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

TEST(records_restore_the_same_fabric)
{
	for (uint64_t seed = 1; seed <= 300; seed++) {
		struct fabric *fabric = random_fabric(seed), *back;
		struct record_trailer trailer;
		size_t len, back_len;
		char *records = records_of(fabric, &len), *again;

		assert_int_equal(record_read(records, len, NULL, &back, &trailer, NULL), 0);
		assert_int_equal(trailer.took_us, 7);
		assert_int_equal(trailer.lost, 8);
		assert_int_equal(trailer.silent, 9);
		assert_int_equal(back->node_count, fabric->node_count);
		assert_int_equal(back->port_count, fabric->port_count);
		for (size_t i = 0; i < fabric->port_count; i++)
			assert_int_equal(back->ports[i].peer, fabric->ports[i].peer);
		for (size_t i = 0; i < fabric->node_count; i++)
			assert_string_equal(back->nodes[i].name, fabric->nodes[i].name);
		again = records_of(back, &back_len);
		assert_string_equal(records, again);
		free(records);
		free(again);
		fabric_destroy(fabric);
		fabric_destroy(back);
	}
}

TEST(truncated_records_are_an_error)
{
	struct fabric *fabric = random_fabric(3), *back = NULL;
	size_t len;
	char *records = records_of(fabric, &len);

	for (size_t i = 0; i < len; i++) {
		struct error err = { 0 };

		assert_int_equal(record_read(records, i, NULL, &back, NULL, &err), ERR_IO);
		assert_true(err.text[0] != '\0');
	}
	assert_null(back);
	free(records);
	fabric_destroy(fabric);
}

/* Whatever the bytes: an error or a fabric, and no crash (the sanitizers watch). */
TEST(damaged_records_do_no_harm)
{
	uint64_t random = 9;

	for (int run = 0; run < 3000; run++) {
		struct fabric *fabric = random_fabric((uint64_t)run % 7 + 1), *back = NULL;
		size_t len;
		char *records = records_of(fabric, &len);

		for (int i = 0; i < 3; i++)
			records[next_random(&random) % len] = "0123456789abcdef -\n\xff"[next_random(&random) % 20];
		if (record_read(records, len, NULL, &back, NULL, NULL) == 0)
			assert_non_null(back);
		fabric_destroy(back);
		free(records);
		fabric_destroy(fabric);
	}
}

static const char net[] =
	"src/query_smp.c:195; umad (DR path slid 0; dlid 0; 0,1 Attr 0x11:0) bad status 110\n"
	"#\n# Topology file: generated on Sun Oct  5 21:59:42 2014\n"
	"vendid=0x2c9\ndevid=0xd2f2\nsysimgguid=0x2c5eab0300b87b40\n"
	"switchguid=0x2c5eab0300b87b40(2c5eab0300b87b40)\n"
	"Switch\t36 \"S-2c5eab0300b87b40\"\t\t# \"MF0;a \"quoted\" # leaf/U1\" enhanced port 0 lid 73 lmc 0\n"
	"[1]\t\"H-00000000000000aa\"[1](ab) \t\t# \"node0001 lid 9 mlx5_0\" lid 647 4xNDR\n"
	"[2]\t\"H-00000000000000bb\"[2](bc) \t\t# \"node0002 mlx5_0\" lid 7 1xFDR10\n"
	"[3]\t\"S-00000000000000ff\"[2]\t\t# \"not in this file\" lid 8 4xHDR\n"
	"[4][ext 9]\t\"H-00000000000000cc\"[1] w=1 s=4 e=4\n"
	"\nvendid=0x2c9\ndevid=0x1021\nsysimgguid=0xaa\ncaguid=0xaa\n"
	"Ca\t1 \"H-00000000000000aa\"\t\t# \"node0001 mlx5_0\"\n"
	"[1](ab) \t\"S-2c5eab0300b87b40\"[1]\t\t# lid 647 lmc 2 \"MF0;a \"quoted\" lid 5 # leaf/U1\" lid 73 4xNDR\n"
	"\ncaguid=0xbb\nCa\t2 \"H-00000000000000bb\"\t\t# \"node0002 mlx5_0\"\n"
	"[2](bc) \t\"S-2c5eab0300b87b40\"[2]\t\t# lid 7 lmc 0 \"x\" lid 73 1xFDR10\n"
	"\ncaguid=0xcc\nHca\t1 \"H-00000000000000cc\"\n";

TEST(an_ibnetdiscover_output_is_read)
{
	struct netfile_notes notes;
	struct fabric *fabric;
	const struct port *port;
	uint32_t found;

	assert_int_equal(netfile_read(net, sizeof(net) - 1, NULL, &fabric, &notes, NULL), 0);
	assert_int_equal(notes.lines_ignored, 1);
	assert_int_equal(notes.peers_unknown, 1);
	assert_int_equal(notes.peers_one_sided, 1);
	assert_int_equal(notes.peers_conflicting, 0);
	assert_int_equal(fabric->node_count, 4);
	assert_string_equal(fabric->nodes[0].name, "MF0;a \"quoted\" # leaf/U1");
	assert_int_equal(fabric->nodes[0].lid, 73);
	assert_true(fabric->nodes[0].enhanced_port0);
	assert_int_equal(fabric->nodes[0].device_id, 0xd2f2);
	assert_int_equal(fabric->nodes[1].system_guid, 0xaa);
	assert_int_equal(fabric->port_count, 37 + 1 + 2 + 1);
	port = &fabric->ports[fabric_find_port(fabric, 0x2c5eab0300b87b40, 1)];
	assert_int_equal(port->speed, LINK_SPEED_NDR);
	assert_int_equal(port->width, LINK_WIDTH_4X);
	assert_int_equal(fabric->ports[port->peer].guid, 0xab);
	assert_int_equal(fabric->ports[port->peer].lid, 647);
	assert_int_equal(fabric->ports[port->peer].lmc, 2);
	port = &fabric->ports[fabric_find_port(fabric, 0xbb, 2)];
	assert_int_equal(port->speed, LINK_SPEED_FDR10);
	assert_int_equal(port->width, LINK_WIDTH_1X);
	assert_int_equal(fabric->ports[fabric_find_port(fabric, 0x2c5eab0300b87b40, 3)].state, PORT_DOWN);
	port = &fabric->ports[fabric_find_port(fabric, 0xcc, 1)];
	assert_int_equal(port->state, PORT_ACTIVE);
	assert_int_equal(port->speed, LINK_SPEED_HDR);
	assert_int_equal(port->width, LINK_WIDTH_1X);
	assert_int_equal(names_find_port(fabric, "node0002 mlx5_0/2", &found, NULL), 0);
	assert_int_equal(fabric->ports[found].lid, 7);
	fabric_destroy(fabric);
}

/* ibdiagnet has the SystemImageGUID of the box after "switchguid=", and the node GUID in brackets. */
TEST(the_quoted_id_is_the_guid_of_a_directors_module)
{
	static const char director[] =
		"sysimgguid=0xd1\nswitchguid=0xd1(a1)\n"
		"Switch 36 \"S-00000000000000a1\" # \"box:1/L01/U1\" base port 0\n"
		"[1] \"S-00000000000000a2\"[7] # \"box:1/S01/U1\" lid 2 4xHDR\n\n"
		"sysimgguid=0xd1\nswitchguid=0xd1(a2)\n"
		"Switch 36 \"S-00000000000000a2\" # \"box:1/S01/U1\" base port 0\n"
		"[7] \"S-00000000000000a1\"[1] # \"box:1/L01/U1\" lid 1 4xHDR\n";
	struct fabric *fabric;

	assert_int_equal(netfile_read(director, sizeof(director) - 1, NULL, &fabric, NULL, NULL), 0);
	assert_int_equal(fabric->node_count, 2);
	assert_int_equal(fabric->nodes[1].guid, 0xa2);
	assert_int_equal(fabric->nodes[1].system_guid, 0xd1);
	assert_int_equal(fabric_count_links(fabric), 1);
	fabric_destroy(fabric);
}

#define SWITCH_LINES "switchguid=0xa1(a1)\nSwitch 36 \"S-a1\" # \"leaf\" base port 0 lid 1 lmc 0\n"
#define SWITCH_PORTS "[1] \"H-b1\"[1](b2) # \"n1 mlx5_0\" lid 2 4xHDR\n" \
	"[2] \"H-b3\"[1](b4) # \"n2 mlx5_0\" lid 3 4xHDR\n"
#define CA_LINES(guid, port, num, desc) "caguid=0x" guid "\nCa 1 \"H-" guid "\" # \"" desc "\"\n" \
	"[1](" port ") \"S-a1\"[" num "] # lid 2 lmc 0 \"leaf\" lid 1 4xHDR"
#define WHOLE_CAS CA_LINES("b1", "b2", "1", "n1 mlx5_0") "\n\n" CA_LINES("b3", "b4", "2", "n2 mlx5_0")
#define WHOLE SWITCH_LINES SWITCH_PORTS "\n" WHOLE_CAS "\n"

static void join_line(void *text, const char *line)
{
	strcat(strcat(text, line), ";");
}

TEST(what_a_log_or_a_cut_adds_to_a_dump_is_accepted_or_reported)
{
	static const struct { const char *net; size_t nodes, links; const char *notes; } cases[] = {
		{ WHOLE, 3, 2, "" },
		{ "\xef\xbb\xbf" WHOLE, 3, 2, "" },
		{ "switchguid=0xa1(a1)\r\nSwitch41 \"S-a1\" # \"leaf\" base port 0 lid 1\r\n" SWITCH_PORTS
		  WHOLE_CAS "\r\n", 3, 2, "" },
		{ "[root@ufm ~]# ibnetdiscover\n" WHOLE "[root@ufm ~]# ", 3, 2,
		  "2 lines are not part of a fabric: ignored, the first is line 1;" },
		{ SWITCH_LINES "ibwarn: [9] recv failed: m_key=0 status=110\n" SWITCH_PORTS WHOLE_CAS "\n", 3, 2,
		  "1 line is not part of a fabric: ignored, the first is line 3;" },
		{ SWITCH_LINES SWITCH_PORTS "\ncaguid=0xb1\n", 1, 0,
		  "the file ends inside a line or a node: the rest of the fabric may be missing;"
		  "2 cables to nodes or ports that are not in the file: omitted;" },
		{ WHOLE_CAS "\n" SWITCH_LINES "[1] \"H-b1\"[1](b2) # \"n1 mlx5_0\" lid 2 4xHDR\n", 3, 2,
		  "the file ends inside a line or a node: the rest of the fabric may be missing;"
		  "1 cable listed at one end only: other end added;" },
		{ SWITCH_LINES SWITCH_PORTS WHOLE_CAS, 3, 2,
		  "the file ends inside a line or a node: the rest of the fabric may be missing;" },
		{ "switchguid=0xa1(a1)\nSwitch 36 \"S-a1\"\n[1] \"S-a1\"[1]\n[2] \"H-b1\"[1]\n"
		  "sysimgguid=0xb8599fxxxxxx\nCa 1 \"H-b1\"\n[1](b8599fxxxx) \"S-a1\"[2]\n", 2, 1,
		  "1 port that is its own peer: omitted;1 link without width and speed: its bandwidth is unknown;"
		  "2 GUIDs that are not hexadecimal (redacted?): unknown;" },
		{ "switchguid=0xb8xxxx01(b8xxxx01)\nSwitch 36 \"S-b8xxxx01\"\n"
		  "[1] \"H-b8xxxx02\"[1] # \"n\" lid 1 4xHDR\n"
		  "caguid=0xb8xxxx02\nCa 1 \"H-b8xxxx02\"\n[1](b8) \"S-b8xxxx01\"[1] # lid 1 lmc 0 \"s\" lid 2 4xHDR\n",
		  2, 1, "2 GUIDs that are not hexadecimal (redacted?): unknown;"
		  "2 nodes without a GUID: made up from their ids;" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct netfile_notes notes;
		struct fabric *fabric;
		char lines[512] = "";

		assert_int_equal(netfile_read(cases[i].net, strlen(cases[i].net), NULL, &fabric, &notes, NULL), 0);
		netfile_describe(&notes, join_line, lines);
		assert_string_equal(lines, cases[i].notes);
		assert_int_equal(fabric->node_count, cases[i].nodes);
		assert_int_equal(fabric_count_links(fabric), cases[i].links);
		fabric_destroy(fabric);
	}
}

/* Names instead of GUIDs; one of the nodes has a GUID all the same. */
TEST(a_net_file_of_ibsim_is_read)
{
	static const char names[] = "Switch\t8 \"sw1\"\n[1]\t\"Hca1\"[1]\n[2]\t\"Hca2\"[2]\tw=1\n\n"
		"Hca\t2 \"Hca1\"\n[1]\t\"sw1\"[1]\n\ncaguid=0xb2\nHca 2 \"Hca2\"\n[2]\t\"sw1\"[2]\tw=1\n";
	static const char twice[] = "Switch 8 \"S-xxxx\"\n[1] \"H-xxxx\"[1]\nSwitch 8 \"S-xxxx\"\n";
	struct netfile_notes notes;
	struct error err = { 0 };
	struct fabric *fabric;

	assert_int_equal(netfile_read(names, sizeof(names) - 1, NULL, &fabric, &notes, NULL), 0);
	assert_int_equal(fabric->node_count, 3);
	assert_int_equal(fabric_count_links(fabric), 2);
	assert_string_equal(fabric->nodes[0].name, "sw1");
	assert_int_equal(fabric->nodes[2].guid, 0xb2);
	assert_int_equal(notes.guids_made, 2);
	assert_int_equal(notes.rates_unknown, 2);
	fabric_destroy(fabric);
	assert_int_equal(netfile_read(twice, sizeof(twice) - 1, NULL, &fabric, &notes, &err), ERR_IO);
	assert_non_null(strstr(err.text, "redacted"));
}

TEST(damaged_net_files_do_no_harm)
{
	uint64_t random = 11;

	for (int run = 0; run < 5000; run++) {
		char bytes[sizeof(net)];
		struct fabric *fabric = NULL;

		memcpy(bytes, net, sizeof(net));
		for (int i = 0; i < 1 + run % 8; i++)
			bytes[next_random(&random) % (sizeof(net) - 1)] = (char)next_random(&random);
		netfile_read(bytes, sizeof(net) - 1 - next_random(&random) % 40, NULL, &fabric, NULL, NULL);
		fabric_destroy(fabric);
	}
}

TEST(names_are_found_or_the_most_similar_is_suggested)
{
	struct fabric *fabric = fabric_create(NULL);
	struct name_map *map;
	struct error err;
	uint32_t found;
	const char names[] =
		"# comment\n0x1 \"mapped one\"\nnonsense\n 0x0000000000000002\t\"two\" # why\n0x3 broken\n";

	assert_int_equal(name_map_parse(names, sizeof(names) - 1, &map, NULL), 0);
	for (uint64_t guid = 1; guid <= 5; guid++) {
		struct node node = { .guid = guid, .type = NODE_CA, .port_count = 1 };
		struct port port = { .num = 1 };

		snprintf(node.desc, sizeof(node.desc), "%s", guid == 3 ? "\x1b[31mred\x07" : guid > 3 ? "same" : "x");
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

struct changes {
	unsigned count[CHANGE_COUNT];
};

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

static void count_change(void *ctx, enum fabric_change change, uint32_t before, uint32_t after)
{
	(void)before;
	(void)after;
	((struct changes *)ctx)->count[change]++;
}

/* Two switches, four cables between them, and one HCA. */
static struct fabric *small_fabric(unsigned cables, int with_hca, uint8_t speed, uint8_t down_from)
{
	struct fabric *fabric = fabric_create(NULL);

	for (uint64_t guid = 1; guid <= 2u + (with_hca != 0); guid++) {
		struct node node = { .guid = guid, .type = guid < 3 ? NODE_SWITCH : NODE_CA, .port_count = 8,
				     .desc = "n" };

		fabric_add_node(fabric, &node, NULL);
		for (unsigned i = 1; i <= 8; i++) {
			struct port port = { .num = (uint8_t)i, .width = LINK_WIDTH_4X, .speed = speed };

			port.state = i <= cables && i < down_from ? PORT_ACTIVE : PORT_DOWN;
			fabric_add_port(fabric, &port, NULL);
		}
	}
	for (unsigned i = 1; i <= cables && i < down_from; i++)
		fabric_link(fabric, fabric_find_port(fabric, 1, (uint8_t)i),
			    fabric_find_port(fabric, 2, (uint8_t)i), NULL);
	fabric_finish(fabric, NULL, NULL);
	return fabric;
}

TEST(a_change_of_a_link_is_reported_once)
{
	struct fabric *all = small_fabric(4, 1, LINK_SPEED_HDR, 9), *down = small_fabric(4, 1, LINK_SPEED_HDR, 3);
	struct fabric *slow = small_fabric(4, 1, LINK_SPEED_EDR, 9), *less = small_fabric(4, 0, LINK_SPEED_HDR, 9);
	struct changes changes = { { 0 } };

	assert_int_equal(fabric_diff(all, all, count_change, &changes), 0);
	assert_int_equal(fabric_diff(all, down, count_change, &changes), 2 + 2 /* the HCA's own ports 3, 4 */);
	assert_int_equal(changes.count[CHANGE_PORT_STATE], 4);
	memset(&changes, 0, sizeof(changes));
	assert_int_equal(fabric_diff(down, all, count_change, &changes), 4);
	assert_int_equal(changes.count[CHANGE_PORT_STATE], 4);
	memset(&changes, 0, sizeof(changes));
	fabric_diff(all, slow, count_change, &changes);
	assert_int_equal(changes.count[CHANGE_PORT_RATE], 4 + 4);
	memset(&changes, 0, sizeof(changes));
	assert_int_equal(fabric_diff(all, less, count_change, &changes), 1);
	assert_int_equal(changes.count[CHANGE_NODE_REMOVED], 1);
	assert_int_equal(fabric_diff(less, all, count_change, &changes), 1);
	assert_int_equal(changes.count[CHANGE_NODE_ADDED], 1);
	fabric_destroy(all);
	fabric_destroy(down);
	fabric_destroy(slow);
	fabric_destroy(less);
}

/* A port that is not configured has LID 0 or 0xffff: no unicast LID. */
TEST(only_a_unicast_lid_is_polled)
{
	static const struct {
		uint16_t lid, expected;
	} cases[] = { { 0, 0 }, { 1, 1 }, { 0xbfff, 0xbfff }, { 0xc000, 0 }, { 0xffff, 0 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fabric *fabric = fabric_create(NULL);
		const struct node node = { .guid = 1, .type = NODE_CA, .port_count = 1 };
		const struct port port = { .num = 1, .state = PORT_INIT, .lid = cases[i].lid };

		fabric_add_node(fabric, &node, NULL);
		fabric_add_port(fabric, &port, NULL);
		assert_int_equal(fabric_finish(fabric, NULL, NULL), 0);
		assert_int_equal(fabric_port_lid(fabric, &fabric->ports[0]), cases[i].expected);
		fabric_destroy(fabric);
	}
}

/* Whichever of its ports were found, the first too. */
TEST(all_ports_of_a_switch_have_one_agent)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct fabric *fabric = random_fabric(seed);

		for (uint32_t a = 0; a < fabric->port_count; a++) {
			uint32_t node = fabric->ports[a].node;

			assert_int_equal(fabric->ports[fabric_port_agent(fabric, a)].node, node);
			for (uint32_t b = 0; b < fabric->port_count; b++)
				assert_int_equal(fabric_port_agent(fabric, a) == fabric_port_agent(fabric, b),
						 a == b || (fabric->ports[b].node == node &&
							    fabric->nodes[node].type == NODE_SWITCH));
		}
		fabric_destroy(fabric);
	}
}

TEST(ports_that_are_down_or_without_lid_are_not_live)
{
	for (uint8_t type = NODE_CA; type <= NODE_ROUTER; type++) {
		for (unsigned port_state = PORT_DOWN; port_state <= PORT_ACTIVE; port_state++) {
			for (uint16_t lid = 0; lid <= 1; lid++) {
				bool is_switch = type == NODE_SWITCH;
				struct fabric *fabric = fabric_create(NULL);
				struct node node = { .guid = 1, .type = type, .port_count = 1 };
				struct port port = { .num = 1, .state = (uint8_t)port_state };

				/* A switch's is that of its port 0. */
				*(is_switch ? &node.lid : &port.lid) = lid;
				fabric_add_node(fabric, &node, NULL);
				fabric_add_port(fabric, &port, NULL);
				assert_int_equal(fabric_finish(fabric, NULL, NULL), 0);
				assert_int_equal(port_is_live(fabric, &fabric->ports[0]),
						 lid && port_state != PORT_DOWN);
				fabric_destroy(fabric);
			}
		}
	}
}

TEST(contradictions_in_a_fabric_are_errors)
{
	struct fabric *fabric = small_fabric(4, 1, LINK_SPEED_HDR, 9);
	struct node node = { .guid = 1, .type = NODE_CA, .port_count = 1 };
	struct port port = { .num = 8 };

	assert_int_equal(fabric_add_node(fabric, &node, NULL), ERR_IO);
	node.guid = 0;
	assert_int_equal(fabric_add_node(fabric, &node, NULL), ERR_IO);
	assert_int_equal(fabric_add_port(fabric, &port, NULL), ERR_IO);
	port.num = 9;
	assert_int_equal(fabric_add_port(fabric, &port, NULL), ERR_IO);
	assert_int_equal(fabric_link(fabric, fabric_find_port(fabric, 1, 1), fabric_find_port(fabric, 2, 2), NULL),
			 ERR_IO);
	assert_int_equal(fabric_find_port(fabric, 1, 0), FABRIC_NONE);
	assert_int_equal(fabric_find_port(fabric, 77, 1), FABRIC_NONE);
	fabric_destroy(fabric);
}

static bool is_up(const struct fabric *fabric, const struct port *port)
{
	return port->num && port->peer != FABRIC_NONE && fabric->ports[port->peer].num && port->state >= PORT_INIT &&
	       fabric->ports[port->peer].state >= PORT_INIT;
}

/* Descriptions are random bytes here: what breaks a line must not. */
TEST(a_netfile_that_was_written_has_the_same_nodes_and_links)
{
	for (uint64_t seed = 500; seed < 700; seed++) {
		struct fabric *fabric = random_fabric(seed), *back;
		struct netfile_notes notes;
		struct text text = { 0 };
		size_t down = 0;

		for (size_t i = 0; i < fabric->port_count; i++)
			down += fabric->ports[i].peer != FABRIC_NONE && i < fabric->ports[i].peer &&
				!is_up(fabric, &fabric->ports[i]);
		assert_int_equal(netfile_write(&text, fabric), down);
		assert_false(text_failed(&text));
		assert_int_equal(netfile_read(text_chars(&text), text.len, NULL, &back, &notes, NULL), 0);
		assert_int_equal(notes.lines_ignored + notes.peers_unknown + notes.peers_conflicting, 0);
		assert_int_equal(back->node_count, fabric->node_count);
		for (size_t i = 0; i < fabric->port_count; i++) {
			const struct port *port = &fabric->ports[i], *other;
			uint32_t found = fabric_find_port(back, fabric->nodes[port->node].guid, port->num);

			if (!is_up(fabric, port))
				continue;
			assert_int_not_equal(found, FABRIC_NONE);
			other = &back->ports[found];
			assert_int_equal(back->ports[other->peer].num, fabric->ports[port->peer].num);
			assert_int_equal(back->nodes[back->ports[other->peer].node].guid,
					 fabric->nodes[fabric->ports[port->peer].node].guid);
			if (port->speed == LINK_SPEED_NONE)
				continue;
			assert_int_equal(other->width, port->width);
			assert_int_equal(other->speed, port->speed);
		}
		text_done(&text);
		fabric_destroy(back);
		fabric_destroy(fabric);
	}
}
