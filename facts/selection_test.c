/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Subjects of commands: names, hosts, LIDs, patterns, rails, tiers, ports. */
#include "base/unit_test.h"
#include "facts/selection.h"

#include <string.h>

#include "base/err.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"
#include "facts/select.h"

/* The shape is made when a subject needs it. */
static int load(struct select_facts *facts, unsigned needs, struct error *err)
{
	struct shape *shape = NULL;
	int code = needs & SELECT_NEEDS_SHAPE ? shape_create(facts->fabric, NULL, &shape, err) : 0;

	facts->shape = shape;
	return code;
}

static int select_subjects(struct selection *selection, const struct fabric *fabric, const char *typed,
			   struct error *err)
{
	struct select_facts facts = { .fabric = fabric, .load = load };
	int code = selection_init(selection, &facts, (char *[]){ (char *)(uintptr_t)typed }, 1, err);

	shape_destroy((struct shape *)(uintptr_t)facts.shape);
	return code;
}

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

/* Batch systems know hosts by names with and without their domain; cloned hosts have one name. */
TEST(hosts_are_found_with_and_without_their_domain)
{
	static const struct node nodes[] = {
		{ .guid = 1, .type = NODE_CA, .port_count = 1, .desc = "node001.ib mlx5_0", .system_guid = 1 },
		{ .guid = 2, .type = NODE_CA, .port_count = 1, .desc = "node002.ib mlx5_0", .system_guid = 2 },
		{ .guid = 3, .type = NODE_CA, .port_count = 1, .desc = "node003 mlx5_0", .system_guid = 3 },
		{ .guid = 4, .type = NODE_CA, .port_count = 1, .desc = "gpu mlx5_0", .system_guid = 4 },
		{ .guid = 5, .type = NODE_CA, .port_count = 1, .desc = "gpu mlx5_0", .system_guid = 5 },
		{ .guid = 6, .type = NODE_CA, .port_count = 1, .desc = "node003 mlx5_1", .system_guid = 3 },
		/* No name yet: of the host with its SystemImageGUID. */
		{ .guid = 7, .type = NODE_CA, .port_count = 1, .desc = "localhost mlx5_2", .system_guid = 3 },
	};
	static const struct { const char *typed; unsigned nodes; } cases[] = {
		{ "node[001-003]", 0x67 }, { "host:node[001-003]", 0x67 }, { "node[002-003]/1", 0x66 },
		{ "node001", 1 }, { "node001.ib", 1 }, { "node001.cluster", 1 }, { "host:node001.cluster", 1 },
		{ "node003", 0x64 }, { "node003.ib", 0x64 }, { "host:node003", 0x64 }, { "gpu", 0x18 },
		{ "gpu,node[001-002]", 0x1b }, { "host:gpu,node[001-002]", 0x1b }, { "gpu (0x0000000000000005)", 0x10 },
		{ "hosts", 0x7f }, { "node[001-004]", 0 }, { "host:node[001-004]", 0 }, { "node004", 0 },
		{ "host:node004", 0 }, { "node00", 0 },
	};
	struct fabric *fabric = make_fabric(nodes, sizeof(nodes) / sizeof(nodes[0]));

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct selection selection;
		unsigned found = 0;
		int code = select_subjects(&selection, fabric, cases[i].typed, NULL);

		if (code != (cases[i].nodes ? 0 : ERR_USAGE))
			fail_msg("%s: %d", cases[i].typed, code);
		for (uint32_t k = 0; code == 0 && k < fabric->node_count; k++)
			found |= (unsigned)selection_has_node(&selection, k) << k;
		if (found != cases[i].nodes)
			fail_msg("%s: %#x", cases[i].typed, found);
		if (code == 0)
			selection_done(&selection);
	}
	fabric_destroy(fabric);
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
		struct selection selection;
		size_t ports = 0;

		assert_int_equal(select_subjects(&selection, fabric, cases[i].typed, NULL), cases[i].code);
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
		/* Keys and expressions; a name with a blank is one word. */
		{ "name:leaf-1", 1, 0x1f, 0 },   { "name:LEAF-*/2", 3, 0x84, 0 }, { "guid:0x22", 8, 0x800, 0 },
		{ "lid:103", 0x10, 0x2000, 0 },  { "host:node1", 0x0c, 0xc00, 0 }, { "host:node", 0x1c, 0x3c00, 0 },
		{ "host:node[1,10]/2", 0x10, 0x2000, 0 }, { "host:node[1-10]", 0, 0, ERR_USAGE },
		{ "class:switch", 0x83, 0x103ff, 0 }, { "class:sw port:1", 0x83, 0x10042, 0 },
		{ "leaf-1|leaf-2/3", 3, 0x11f, 0 }, { "leaf* !leaf-2", 1, 0x1f, 0 },
		{ "leaf* !port:0,1", 3, 0x39c, 0 }, { "!class:switch", 0x7c, 0xfc00, 0 },
		{ "node1 mlx5_0|leaf-1/1", 5, 0x402, 0 }, { "node1 mlx5_1 !rail:7", 0, 0, ERR_USAGE },
		{ "node1 mlx5_1 !rail:0", 8, 0x800, 0 }, { "host:node1 rail:0", 4, 0x400, 0 },
		{ "name:\"node1 mlx5_1\" port:1", 8, 0x800, 0 }, { "name:\"node1 mlx5_1\"/1", 8, 0x800, 0 },
		{ "hosts !host:node*", 0x60, 0xc000, 0 }, { "class:storage|leaf-1/1", 1, 2, 0 },
		{ "class:storage !leaf-1", 0, 0, 0 }, { "leaf-1 tire:1", 0, 0, ERR_USAGE },
		{ "tier:", 0, 0, ERR_USAGE }, { "!", 0, 0, ERR_USAGE }, { "leaf-1 !", 0, 0, ERR_USAGE },
		{ "tagged:yes", 0, 0, ERR_USAGE }, { "|", 0, 0, ERR_USAGE },
	};
	struct fabric *fabric = make_fabric(nodes, COUNT);
	struct selection selection;

	/* LIDs 100 to 101 and 102 to 103 of the two ports of node10. */
	for (uint32_t i = 0; i < 2; i++) {
		fabric->ports[fabric->nodes[4].first_port + i].lid = (uint16_t)(100 + 2 * i);
		fabric->ports[fabric->nodes[4].first_port + i].lmc = 1;
	}
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *typed = cases[i].typed;
		int code = select_subjects(&selection, fabric, typed, NULL);
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
		{ .guid = 7, .type = NODE_SWITCH, .port_count = 2, .desc = "MF0;core1:CS7520/L16/U1" },
	};
	static const struct { const char *typed, *error; uint32_t node, port; } cases[] = {
		{ "leaf*", NULL, 2, FABRIC_NONE }, { "4", NULL, 2, FABRIC_NONE }, { "4/3", NULL, 2, 5 },
		{ "node1 mlx5_0/1", NULL, 1, 1 },
		{ "node1", "'node1' selects 2 nodes: give one, such as 'node1 mlx5_0'", 0, 0 },
		{ "leaf1/2-3", "'leaf1/2-3' selects 2 ports: give one, such as 'leaf1/2'", 0, 0 },
		{ "alike", "2 nodes are called 'alike': give a GUID: 0x0000000000000005, 0x0000000000000006", 0, 0 },
		{ "node2/1", "no node is called 'node2': 'ibwire nodes' lists them", 0, 0 },
		{ "core1/L16", "no node is called 'core1/L16': did you mean 'core1/L16/*'?", 0, 0 },
		{ "core1/L1", "no node is called 'core1/L1': 'ibwire nodes' lists them", 0, 0 },
		{ "node1 mlx5_0/2", "node1 mlx5_0 has no port 2 (it has 1)", 0, 0 },
		{ "leaf*/5", "leaf1 has no port 5 (it has 3)", 0, 0 },
		{ "77", "no port has LID 77", 0, 0 },
		{ "node[1,3]", "no HCA of host 'node3': 'ibwire nodes' lists them", 0, 0 },
		{ "x*", "no node or host matches 'x*': 'ibwire nodes' lists them", 0, 0 },
		{ "rail:7", "no rail is called '7': the rails are mlx5_0, mlx5_1", 0, 0 },
		{ "leaf1 rail:7", "no rail is called '7': the rails are mlx5_0, mlx5_1", 0, 0 },
		{ "clas:switch", "there is no key 'clas': did you mean 'class'?", 0, 0 },
		{ "colour:red", "there is no key 'colour': the keys are tier, rail, host, class, role, state, speed, "
			"width, err, finding, name, guid, lid, port, tagged", 0, 0 },
		{ "class:compte", "no class is called 'compte': did you mean 'compute'?", 0, 0 },
		{ "class:tor", "no class is called 'tor': there are compute, storage, management, router, "
			"aggregation, switch", 0, 0 },
		{ "host:nodo1", "no host is called 'nodo1': did you mean 'node1'?", 0, 0 },
		{ "width:3x !leaf1", "'3x' is no width: there are 1x, 2x, 4x, 8x, 12x", 0, 0 },
		{ "leaf1 tier:", "'leaf1 tier:' is incomplete: a key needs a value, and '!' a term", 0, 0 },
		{ "tagged:yes", "'tagged:' is a key of the screen only", 0, 0 },
		{ "leaf1 !leaf*", "'leaf1 !leaf*' selects no node or port", 0, 0 },
	};
	struct fabric *fabric = make_fabric(nodes, sizeof(nodes) / sizeof(nodes[0]));

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct error err = { 0 };
		uint32_t node, port;
		struct select_facts facts = { .fabric = fabric, .load = load };
		int code = selection_find(&facts, cases[i].typed, &node, &port, &err);

		shape_destroy((struct shape *)(uintptr_t)facts.shape);
		assert_int_equal(code, cases[i].error ? ERR_USAGE : 0);
		if (code)
			assert_string_equal(err.text, cases[i].error);
		else
			assert_true(node == cases[i].node && port == cases[i].port);
	}
	fabric_destroy(fabric);
}

/* As in perfquery(8); a number that could be either is refused. */
TEST(two_arguments_may_be_a_node_and_its_port)
{
	static const struct node nodes[] = {
		{ .guid = 1, .type = NODE_SWITCH, .port_count = 4, .lid = 9, .desc = "leaf-1" },
		{ .guid = 2, .type = NODE_SWITCH, .port_count = 4, .lid = 2, .desc = "leaf-2" },
		{ .guid = 3, .type = NODE_SWITCH, .port_count = 4, .lid = 5, .desc = "7" },
	};
	static const struct {
		const char *args[4];
		unsigned ports; /* bits: five of each switch */
		const char *error;
	} cases[] = {
		{ { "9", "2" }, 1u << 2, NULL }, { { "leaf-1", "2" }, 1u << 2, NULL },
		{ { "0x2", "4" }, 1u << 9, NULL },
		{ { "leaf*", "1" }, 1u << 1 | 1u << 6, NULL }, { { "leaf-1", "lid:2" }, 0x3ff, NULL },
		{ { "leaf-1", "7" }, 0x7c1f, NULL }, /* the name of a node */
		{ { "leaf-1", "leaf-2" }, 0x3ff, NULL }, { { "leaf-1", "leaf-2/1" }, 0x5f, NULL },
		{ { "leaf-1", "9" }, 0, "leaf-1 has no port 9 (it has 4)" },
		{ { "leaf-1", "1", "2" }, 0, "'1' could be a LID or a port: write lid:1, or leaf-1/1" },
		{ { "leaf-1", "leaf-2", "2" }, 0, "'2' could be a LID or a port: write lid:2, or leaf-2/2" },
	};
	struct fabric *fabric = make_fabric(nodes, sizeof(nodes) / sizeof(nodes[0]));

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct select_facts facts = { .fabric = fabric, .load = load };
		struct selection selection;
		struct error err = { 0 };
		unsigned ports = 0;
		int count = 0, code;

		while (cases[i].args[count])
			count++;
		code = selection_init(&selection, &facts, (char **)(uintptr_t)cases[i].args, count, &err);
		assert_string_equal(err.text, cases[i].error ? cases[i].error : "");
		assert_int_equal(code, cases[i].error ? ERR_USAGE : 0);
		for (uint32_t j = 0; code == 0 && j < fabric->port_count; j++)
			ports |= (unsigned)selection_has_port(&selection, j) << j;
		assert_int_equal(ports, cases[i].ports);
		if (code == 0)
			selection_done(&selection);
	}
	fabric_destroy(fabric);
}

/* Each suffix is cut off once: trying both readings of each would never end. */
TEST(repeated_suffixes_take_linear_time)
{
	static const struct node nodes[] = {
		{ .guid = 1, .type = NODE_SWITCH, .port_count = 1, .desc = "leaf-1" },
	};
	struct fabric *fabric = make_fabric(nodes, 1);
	char typed[1024] = "leaf-1";
	struct selection selection;
	struct error err = { 0 };

	for (unsigned i = 0; i < 90; i++)
		strcat(typed, "/1 uplinks");
	assert_int_equal(select_subjects(&selection, fabric, typed, &err), ERR_USAGE);
	assert_non_null(strstr(err.text, "no node is called 'leaf-1/1 uplinks/1"));
	fabric_destroy(fabric);
}

/* Options read lists of hosts from files; a subject, which may be of a request, never does. */
TEST(a_subject_opens_no_file)
{
	static const struct node nodes[] = { { .guid = 1, .type = NODE_CA, .port_count = 1, .desc = "node1 mlx5_0" } };
	struct fabric *fabric = make_fabric(nodes, 1);
	struct selection selection;
	struct error err = { 0 };

	assert_int_equal(select_subjects(&selection, fabric, "@hosts[01-02]", &err), ERR_USAGE);
	assert_string_equal(err.text, "no node or host matches '@hosts[01-02]': 'ibwire nodes' lists them");
	fabric_destroy(fabric);
}
