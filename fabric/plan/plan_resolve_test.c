/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Names of plans in fabrics whose ports the test names in all the ways that it knows: each must be found, and nothing
 * that is ambiguous or unknown may be.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/test_cases.h"
#include "base/text.h"
#include "base/unit_test.h"
#include "fabric/fabric.h"
#include "fabric/netfile.h"
#include "fabric/plan.h"
#include "fabric/plan/port_text.h"
#include "fabric/plan_diff.h"
#include "fabric/shape.h"
#include "fabric/test_net.h"

enum { QUANTUM = 0xd2f0, QUANTUM_2 = 0xd2f2, TEXT_MAX = 160 };

static uint64_t seed;

static uint32_t below(uint32_t of)
{
	return (uint32_t)(net_random(&seed) % of);
}

static uint32_t add(struct fabric *fabric, uint8_t type, uint16_t device_id, uint8_t ports, uint64_t system,
		    const char *fmt, ...) __attribute__((format(printf, 6, 7)));
static uint32_t add(struct fabric *fabric, uint8_t type, uint16_t device_id, uint8_t ports, uint64_t system,
		    const char *fmt, ...)
{
	struct node node = { .type = type, .device_id = device_id, .port_count = ports, .system_guid = system };
	va_list args;

	va_start(args, fmt);
	vsnprintf(node.desc, sizeof(node.desc), fmt, args);
	va_end(args);
	node.guid = 0x2c5eab0300000000 + (fabric->node_count << 8);
	return net_node(fabric, &node);
}

/* Switches and hosts with the names and devices that sites have. */
static struct fabric *site(void)
{
	struct fabric *fabric = net_new();

	for (unsigned i = 1; i <= 8; i++)
		add(fabric, NODE_SWITCH, QUANTUM, 41, 0, "MF0;leaf-a%02u:MQM8700/U1", i);
	for (unsigned i = 1; i <= 4; i++)
		add(fabric, NODE_SWITCH, QUANTUM_2, 65, 0, "MF0;NDR-Leaf%u:MQM9700/U1", i);
	for (unsigned i = 1; i <= 4; i++)
		add(fabric, NODE_SWITCH, QUANTUM, 81, 0, "split%u", i);
	for (unsigned i = 1; i <= 4; i++)
		add(fabric, NODE_SWITCH, 0xcb20, 36, 0, "edr sw%u.ib.site.net", i);
	for (unsigned i = 1; i <= 4; i++)
		add(fabric, NODE_SWITCH, 0xcb20, 36, 0, "ibsw%u.ib.site.net", i);
	for (unsigned box = 1; box <= 2; box++) {
		for (unsigned i = 1; i <= 10; i++)
			for (unsigned asic = 1; asic <= 2; asic++)
				add(fabric, NODE_SWITCH, QUANTUM, 41, box, "MF0;core-%u-A:MCS8500/L%02u/U%u", box, i,
				    asic);
		for (unsigned i = 1; i <= 5; i++)
			add(fabric, NODE_SWITCH, QUANTUM, 41, box, "MF0;core-%u-A:MCS8500/S%02u/U1", box, i);
	}
	for (unsigned i = 1; i <= 30; i++)
		for (unsigned k = 0; k < 4; k++)
			add(fabric, NODE_CA, 4123, 1, 0x7000 + i, "node%04u mlx5_%u", i, k);
	for (unsigned i = 1; i <= 10; i++)
		add(fabric, NODE_CA, 4123, 1, 0x8000 + i, "login%u.cluster.site mlx5_0", i);
	for (unsigned i = 1; i <= 10; i++)
		add(fabric, NODE_CA, 4103, 2, 0x9000 + i, "oss%u HCA-1", i);
	for (unsigned i = 1; i <= 5; i++)
		add(fabric, NODE_CA, 4123, 1, 0xa000 + i, "mds%u", i);
	return fabric;
}

static void lower(char *text)
{
	for (; *text; text++)
		*text = (char)tolower((unsigned char)*text);
}

static void upper(char *text)
{
	for (; *text; text++)
		*text = (char)toupper((unsigned char)*text);
}

/* --- one way to write a port --- */

static void switch_number(char port[TEXT_MAX], const struct node *node, unsigned num)
{
	static const char *const words[] = { "Port ", "P", "", "port ", "Switch Port ", "p", "Port_" };
	unsigned cage = (num - 1) / 2 + 1, split = (num - 1) % 2 + 1;

	if (node->device_id == QUANTUM_2 && below(2))
		snprintf(port, TEXT_MAX, "%s%u%c%u", below(2) ? "" : "Port ", cage, "./"[below(2)], split);
	else if (node->device_id == QUANTUM_2 && below(2))
		snprintf(port, TEXT_MAX, below(2) ? "1/%u/%u" : "sw%up%u", cage, split);
	else if (node->port_count == 81 && below(2))
		snprintf(port, TEXT_MAX, below(2) ? "%u/%u" : "Cage %u Port %u", cage, split);
	else if (node->device_id != QUANTUM_2 && node->port_count < 66 && below(4) == 0)
		snprintf(port, TEXT_MAX, below(2) ? "1/%u" : "IB1/%u", num);
	else
		snprintf(port, TEXT_MAX, "%s%u", words[below(sizeof(words) / sizeof(words[0]))], num);
}

static void director_part(char device[TEXT_MAX], char port[TEXT_MAX], const char *name, unsigned num)
{
	unsigned box, module, asic;
	char kind;

	assert_int_equal(sscanf(name, "MF0;core-%u-A:MCS8500/%c%u/U%u", &box, &kind, &module, &asic), 4);
	snprintf(device, TEXT_MAX, "core-%u-A", box);
	switch (below(7)) {
	case 0:
		snprintf(port, TEXT_MAX, "%s %u_Port %u/%u", kind == 'L' ? "Blade" : "Spine", module, asic, num);
		break;
	case 1:
		snprintf(port, TEXT_MAX, "%c%u/U%u/P%u", kind, module, asic, num);
		break;
	case 2:
		snprintf(port, TEXT_MAX, "%c%02u/U%u port %u", kind, module, asic, num);
		break;
	case 3:
		snprintf(device, TEXT_MAX, "core-%u-A/%c%02u/U%u", box, kind, module, asic);
		snprintf(port, TEXT_MAX, "%u", num);
		break;
	case 4:
		snprintf(device, TEXT_MAX, "core-%u-A/%c%u", box, kind, module);
		snprintf(port, TEXT_MAX, "U%u/P%u", asic, num);
		break;
	case 5:
		/* Of a spine module with its only ASIC, that need not be given. */
		if (kind == 'S')
			snprintf(port, TEXT_MAX, "spine %u Port %u", module, num);
		else
			snprintf(port, TEXT_MAX, "Line %u ASIC %u Port %u", module, asic, num);
		break;
	default:
		snprintf(device, TEXT_MAX, "MF0;core-%u-A:MCS8501/%c%u/U%u", box, kind, module, asic);
		snprintf(port, TEXT_MAX, "Port %u", num);
	}
}

static void hca(char device[TEXT_MAX], char port[TEXT_MAX], const struct node *node, unsigned num)
{
	char *name = strdup(node->name), *space = strchr(name, ' '), *dot = strchr(name, '.');
	const char *own = space ? space + 1 : "";
	bool single = !strcmp(own, "mlx5_0") && strncmp(name, "node", 4);

	if (space)
		*space = '\0';
	if (dot && below(2))
		*dot = '\0';
	snprintf(device, TEXT_MAX, "%s", name);
	if (!space) {
		snprintf(port, TEXT_MAX, "%s", below(2) ? "" : "Port 1");
	} else if (node->port_count == 2) {
		static const char *const ways[] = {
			"HCA-1 Port ", "", "Port ", "mlx5_0/", "HCA 1 P", "hca-1:", "U1/P",
		};

		snprintf(port, TEXT_MAX, "%s%u", ways[below(sizeof(ways) / sizeof(ways[0]))], num);
	} else {
		switch (below(single ? 9 : 7)) {
		case 0:
			snprintf(port, TEXT_MAX, "%s %s", name, own);
			break;
		case 1:
			snprintf(port, TEXT_MAX, "%s", own);
			break;
		case 2:
			snprintf(port, TEXT_MAX, "%s Port 1", own);
			break;
		case 3:
			snprintf(port, TEXT_MAX, "HCA-%d", atoi(own + 5) + 1);
			break;
		case 4:
			snprintf(device, TEXT_MAX, "%s %s", name, own);
			snprintf(port, TEXT_MAX, "%s", below(2) ? "1" : "");
			break;
		case 5:
			snprintf(port, TEXT_MAX, "%d", atoi(own + 5) + 1);
			break;
		case 6:
			snprintf(port, TEXT_MAX, "ib%d", atoi(own + 5));
			break;
		case 7:
			snprintf(port, TEXT_MAX, "Port 1");
			break;
		default:
			port[0] = '\0';
		}
	}
	free(name);
}

static void name_port(const struct fabric *fabric, uint32_t at, char device[TEXT_MAX], char port[TEXT_MAX])
{
	const struct port *self = &fabric->ports[at];
	const struct node *node = &fabric->nodes[self->node];
	const char *shown = fabric->names.shown[self->node];
	char *dot;

	if (below(8) == 0) {
		static const char *const ways[] = { "0x", "", "S-", "0X" };

		snprintf(device, TEXT_MAX, "%s%016" PRIx64, ways[below(4)], node->guid);
		snprintf(port, TEXT_MAX, "%s%u", below(2) ? "" : "Port ", self->num);
		return;
	}
	if (node->type == NODE_CA) {
		hca(device, port, node, self->num);
	} else if (strstr(node->name, "MCS8500")) {
		director_part(device, port, node->name, self->num);
	} else {
		const char *ways[] = { shown, shown, node->name };

		snprintf(device, TEXT_MAX, "%s", ways[below(3)]);
		switch_number(port, node, self->num);
		dot = strstr(device, ".ib.site");
		if (dot && below(2))
			*dot = '\0';
		if (below(6) == 0 && strncmp(device, "MF0;", 4)) {
			snprintf(device + strlen(device), TEXT_MAX - strlen(device), ":MQM8790/U1");
		} else if (below(6) == 0) {
			/* As ibwire names ports. */
			snprintf(device + strlen(device), TEXT_MAX - strlen(device), "/%u", self->num);
			port[0] = '\0';
		}
	}
	if (below(3) == 0)
		(below(2) ? lower : upper)(device);
}

/* --- plans of known ports --- */

struct pair {
	uint32_t port[2];
};

static void put_quoted(struct text *text, const char *cell)
{
	text_appendf(text, "\"%s\"", cell);
}

static void read_plan(struct plan *plan, const struct text *text)
{
	struct error err = { 0 };

	if (plan_read(plan, "plan", text_chars(text), text->len, &err) < 0)
		fail_msg("%s", err.text);
	if (plan->problem_count)
		fail_msg("%u: %s", plan->problems[0].line, plan->problems[0].text);
}

static struct plan_ports resolve(const struct plan *plan, const struct shape *shape)
{
	struct plan_ports ports;
	struct error err = { 0 };

	assert_int_equal(plan_resolve(plan, shape, &ports, &err), 0);
	return ports;
}

TEST(each_port_is_found_by_each_of_its_names)
{
	struct fabric *fabric = site();
	struct shape *shape = net_shape(fabric, NULL);
	uint32_t *order = calloc(fabric->port_count, sizeof(*order));
	struct pair *pairs = calloc(fabric->port_count, sizeof(*pairs));

	assert_true(order && pairs);
	for (unsigned run = 0; run < test_cases(60); run++) {
		struct plan plan = { 0 };
		struct plan_ports ports;
		struct text text = { 0 };
		size_t count = 0, links;

		seed = run;
		for (uint32_t i = 0; i < fabric->port_count; i++) {
			uint8_t type = fabric->nodes[fabric->ports[i].node].type;

			/* Port 41, 65 and 81 are not on the front panel. */
			if (fabric->ports[i].num && (type == NODE_CA || fabric->ports[i].num < 37))
				order[count++] = i;
		}
		for (size_t i = count; i > 1; i--) {
			size_t other = below((uint32_t)i);
			uint32_t swap = order[i - 1];

			order[i - 1] = order[other];
			order[other] = swap;
		}
		links = count / 2 < 400 ? count / 2 : 400;
		text_append(&text, "#StartDevice,StartPort,EndDevice,EndPort\n");
		for (size_t i = 0; i < links; i++) {
			for (int k = 0; k < 2; k++) {
				char device[TEXT_MAX], port[TEXT_MAX];

				pairs[i].port[k] = order[2 * i + (size_t)k];
				name_port(fabric, pairs[i].port[k], device, port);
				put_quoted(&text, device);
				text_append(&text, ",");
				put_quoted(&text, port);
				text_append(&text, k ? "\n" : ",");
			}
		}
		read_plan(&plan, &text);
		assert_int_equal(plan.link_count, links);
		ports = resolve(&plan, shape);
		if (ports.problem_count)
			fail_msg("line %u: %s", ports.problems[0].line, ports.problems[0].text);
		assert_int_equal(ports.not_judged + ports.repeated, 0);
		for (size_t i = 0; i < links; i++)
			for (int k = 0; k < 2; k++) {
				char found[TEXT_MAX], wanted[TEXT_MAX];

				shape_port_name(shape, ports.links[i].port[k], found, sizeof(found));
				shape_port_name(shape, pairs[i].port[k], wanted, sizeof(wanted));
				if (ports.links[i].port[k] != pairs[i].port[k])
					fail_msg("'%s', '%s' is %s instead of %s", plan.links[i].ends[k].device,
						 plan.links[i].ends[k].port, found, wanted);
				assert_int_equal(ports.links[i].node[k], fabric->ports[pairs[i].port[k]].node);
			}
		plan_ports_done(&ports);
		plan_done(&plan);
		text_done(&text);
	}
	free(order);
	free(pairs);
	net_done(fabric, shape);
}

/* --- what is not found --- */

/* Ports of a small fabric, which a test changes. */
static struct fabric *small(void)
{
	struct fabric *fabric = net_new();

	add(fabric, NODE_SWITCH, QUANTUM, 41, 0, "MF0;leaf-01:MQM8700/U1");
	add(fabric, NODE_SWITCH, QUANTUM_2, 65, 0, "MF0;leaf-11:MQM9700/U1");
	add(fabric, NODE_SWITCH, 0xcb20, 36, 0, "spine");
	for (unsigned i = 1; i <= 3; i++)
		for (unsigned asic = 1; asic <= 2; asic++)
			add(fabric, NODE_SWITCH, QUANTUM, 41, 5, "MF0;core:MCS8500/L%02u/U%u", i, asic);
	add(fabric, NODE_SWITCH, 0xcb20, 36, 0, "twin");
	add(fabric, NODE_SWITCH, 0xcb20, 36, 0, "twin");
	for (unsigned k = 0; k < 2; k++)
		add(fabric, NODE_CA, 4123, 1, 0x77, "node0007 mlx5_%u", k);
	add(fabric, NODE_CA, 4103, 2, 0x78, "oss1 mlx4_0");
	for (unsigned k = 0; k < 2; k++)
		for (unsigned clone = 0; clone < 2; clone++)
			add(fabric, NODE_CA, 4123, 1, 0x80 + clone, "gpu mlx5_%u", k);
	net_links(fabric, 3, 13, 2);
	/* A device between them is Ethernet. */
	for (unsigned k = 0; k < 5; k += k ? 1 : 3)
		add(fabric, NODE_CA, 4123, 1, 0x90, "dgx mlx5_%u", k);
	return fabric;
}

TEST(what_is_not_found_is_named_with_the_reason)
{
	static const struct {
		const char *device, *port, *problem;
	} cases[] = {
		{ "leaf1", "Port 2", "the fabric has no device 'leaf1' (1 link): did you mean leaf-01?" },
		{ "LEAF_11", "2", "the fabric has no device 'LEAF_11' (1 link): did you mean leaf-11?" },
		{ "node7", "mlx5_0", "the fabric has no device 'node7' (1 link): did you mean node0007?" },
		{ "node-7.site.net mlx5_0", "1",
		  "the fabric has no device 'node-7.site.net mlx5_0' (1 link): did you mean node0007?" },
		{ "spien", "2", "the fabric has no device 'spien' (1 link): did you mean spine?" },
		{ "nothing", "2", "the fabric has no device 'nothing' (1 link)" },
		{ "0x1234", "2", "the fabric has no device '0x1234' (1 link)" },
		{ "twin", "Port 2",
		  "2 devices are called 'twin' (1 link): give a GUID: 0x2c5eab0300000900, 0x2c5eab0300000a00" },
		{ "gpu", "mlx5_0",
		  "2 hosts are called 'gpu' (1 link): give a GUID: 0x2c5eab0300000e00, 0x2c5eab0300000f00" },
		{ "leaf-01", "Port 99", "leaf-01, Port 99: leaf-01 has no port 99 (it has 41)" },
		{ "leaf-01", "", "leaf-01: no port of leaf-01 is given" },
		{ "leaf-01", "left", "leaf-01, left: 'left' is no port" },
		{ "leaf-01", "2-Jan",
		  "leaf-01, 2-Jan: '2-Jan' is no port: the spreadsheet made a date of it, format the column as text" },
		{ "leaf-01", "3/2", "leaf-01, 3/2: leaf-01 has no port 3.2" },
		{ "leaf-01", "mlx5_0", "leaf-01, mlx5_0: leaf-01 is a switch" },
		{ "leaf-01", "L2/P3", "leaf-01, L2/P3: leaf-01 has no such module or ASIC" },
		{ "leaf-11", "cage 6", "leaf-11, cage 6: cage 6 of leaf-11 has two ports: name one, such as 6.1" },
		{ "leaf-11", "1/7", "leaf-11, 1/7: leaf-11 has no port 1.7" },
		{ "leaf-11", "33.1", "leaf-11, 33.1: leaf-11 has no port 33.1" },
		{ "spine", "6.2", "spine, 6.2: the cages of spine are not known: name its ports by number" },
		{ "spine", "6/2", "spine, 6/2: the cages of spine are not known: name its ports by number" },
		{ "core", "Port 20",
		  "core, Port 20: core has 6 switches: give module and ASIC, such as Blade 2_Port 1/20" },
		{ "core", "Blade 2_Port 20",
		  "core, Blade 2_Port 20: 2 switches of core fit: give the ASIC, such as Port 1/20" },
		{ "core", "Blade 9_Port 1/20", "core, Blade 9_Port 1/20: core has no line module 9 with ASIC 1" },
		{ "core", "Blade 2_Port 3/20", "core, Blade 2_Port 3/20: core has no line module 2 with ASIC 3" },
		{ "core", "Blade 2_Port 1/77", "core, Blade 2_Port 1/77: core/L02/U1 has no port 77 (it has 41)" },
		{ "node0007", "", "node0007: node0007 has 2 HCAs: name one of mlx5_0, mlx5_1" },
		{ "node0007", "Port 1", "node0007, Port 1: node0007 has 2 HCAs: name one of mlx5_0, mlx5_1" },
		{ "node0007", "mlx5_4", "node0007, mlx5_4: node0007 has no such HCA: it has mlx5_0, mlx5_1" },
		{ "node0007", "ibp11s0f0", "node0007, ibp11s0f0: node0007 has no such HCA: it has mlx5_0, mlx5_1" },
		{ "node0007", "3", "node0007, 3: node0007 has 2 HCAs: name one of mlx5_0, mlx5_1" },
		{ "node0007", "mlx5_0 Port 2", "node0007, mlx5_0 Port 2: node0007 mlx5_0 has no port 2 (it has 1)" },
		{ "node0007 mlx5_0", "mlx5_1",
		  "node0007 mlx5_0, mlx5_1: the HCA node0007 mlx5_0 is not mlx5_1" },
		{ "oss1", "", "oss1: oss1 mlx4_0 has 2 cables: give its port" },
		{ "dgx", "2", "dgx, 2: dgx has 3 HCAs: name one of mlx5_0, mlx5_3, mlx5_4" },
		{ "dgx", "4", "dgx, 4: dgx has 3 HCAs: name one of mlx5_0, mlx5_3, mlx5_4" },
		{ "dgx", "HCA-2", "dgx, HCA-2: dgx has no such HCA: it has mlx5_0, mlx5_3, mlx5_4" },
		{ "oss1", "Blade 1_Port 1/2", "oss1, Blade 1_Port 1/2: oss1 mlx4_0 is an HCA" },
	};
	struct fabric *fabric = small();
	struct shape *shape = net_shape(fabric, NULL);

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct plan plan = { 0 };
		struct plan_ports ports;
		struct text text = { 0 };

		text_appendf(&text, "StartDevice,StartPort,EndDevice,EndPort\nspine,1,\"%s\",%s\n", cases[i].device,
			     cases[i].port);
		read_plan(&plan, &text);
		ports = resolve(&plan, shape);
		if (ports.problem_count != 1)
			fail_msg("'%s' '%s': %zu problems", cases[i].device, cases[i].port, ports.problem_count);
		assert_string_equal(ports.problems[0].text, cases[i].problem);
		assert_int_equal(ports.problems[0].line, 2);
		assert_int_equal(ports.not_judged, 1);
		assert_int_equal(ports.links[0].node[0], 2);
		assert_int_equal(ports.links[0].port[1], FABRIC_NONE);
		plan_ports_done(&ports);
		plan_done(&plan);
		text_done(&text);
	}
	net_done(fabric, shape);
}

TEST(lines_that_contradict_each_other_and_loops_are_not_judged)
{
	static const char list[] =
		"StartDevice,StartPort,EndDevice,EndPort\n"
		"spine,1,leaf-01,21\n"
		"LEAF-01,Port 21,0x2c5eab0300000200,P1\n" /* the first one again */
		"spine,1,leaf-01,22\n"                    /* another peer of spine/1 */
		"spine,3,spine,Port 3\n"
		"spine,4,node7,mlx5_0\n"
		"spine,5,node7,mlx5_1\n"
		"spine,6,node0007,mlx5_1\n"
		"leaf-01,7,node0007,Port 1\n"
		"leaf-01,8,node0007,Port 1\n";
	struct fabric *fabric = small();
	struct shape *shape = net_shape(fabric, NULL);
	struct plan plan = { 0 };
	struct plan_ports ports;
	struct error err = { 0 };

	assert_int_equal(plan_read(&plan, "plan", list, sizeof(list) - 1, &err), 0);
	ports = resolve(&plan, shape);
	assert_int_equal(ports.repeated, 1);
	assert_true(ports.links[1].repeated);
	assert_int_equal(ports.links[1].port[0], FABRIC_NONE);
	assert_int_equal(ports.not_judged, 7);
	assert_int_equal(ports.problem_count, 4);
	assert_int_equal(ports.problems[0].line, 4);
	assert_string_equal(ports.problems[0].text,
			    "spine/1 is cabled to leaf-01/21 in line 2, and here to leaf-01/22");
	assert_int_equal(ports.links[2].port[0], FABRIC_NONE);
	assert_int_equal(ports.problems[1].line, 5);
	assert_string_equal(ports.problems[1].text, "both ends are spine, 3");
	assert_int_equal(ports.problems[2].line, 6);
	assert_string_equal(ports.problems[2].text,
			    "the fabric has no device 'node7' (2 links): did you mean node0007?");
	assert_int_equal(ports.problems[3].line, 9);
	assert_string_equal(ports.problems[3].text,
			    "node0007, Port 1 (2 links): node0007 has 2 HCAs: name one of mlx5_0, mlx5_1");
	assert_true(ports.links[0].contradicted && ports.links[2].contradicted);
	assert_int_equal(ports.links[0].port[0], FABRIC_NONE);
	assert_int_equal(ports.links[0].named[0], fabric_node_port(fabric, 2, 1));
	assert_int_equal(ports.links[6].port[1], fabric->nodes[12].first_port);
	plan_ports_done(&ports);
	plan_done(&plan);
	net_done(fabric, shape);
}

TEST(problems_of_reading_and_resolving_are_in_order_of_file_and_line)
{
	static const char *const lists[] = {
		"StartDevice,StartPort,EndDevice,EndPort\n"
		"spine,1,leaf-01,21\n"
		"spine,2,,\n"           /* read: one end */
		"spine,3,leaf-99,22\n"  /* resolved: no such device */
		"spine,4,,\n",
		"StartDevice,StartPort,EndDevice,EndPort\n"
		"spine,5,leaf-98,23\n"
		"spine,6,,\n",
	};
	static const struct { uint32_t file, line; const char *end; } expected[] = {
		{ 0, 3, "'spine' has no other end" }, { 0, 4, "'leaf-99' (1 link)" },
		{ 0, 5, "'spine' has no other end" }, { 1, 2, "'leaf-98' (1 link)" },
		{ 1, 3, "'spine' has no other end" },
	};
	struct fabric *fabric = small();
	struct shape *shape = net_shape(fabric, NULL);
	struct plan plan = { 0 };
	struct plan_ports ports;

	for (size_t i = 0; i < 2; i++)
		assert_int_equal(plan_read(&plan, "plan", lists[i], strlen(lists[i]), NULL), 0);
	assert_int_equal(plan.problem_count, 3);
	ports = resolve(&plan, shape);
	assert_int_equal(ports.problem_count, sizeof(expected) / sizeof(expected[0]));
	for (size_t i = 0; i < ports.problem_count; i++) {
		assert_int_equal(ports.problems[i].file, expected[i].file);
		assert_int_equal(ports.problems[i].line, expected[i].line);
		assert_non_null(strstr(ports.problems[i].text, expected[i].end));
	}
	plan_ports_done(&ports);
	plan_done(&plan);
	net_done(fabric, shape);
}

/* Of an HCA with two ports of which one has a cable, the name alone is that one. */
TEST(an_hca_without_a_port_is_its_only_cable)
{
	static const char list[] = "StartDevice,StartPort,EndDevice,EndPort\nspine,1,oss,mlx4_0\nspine,2,idle,\n";
	struct fabric *fabric = net_new();
	struct plan plan = { 0 };
	struct plan_ports ports;
	struct error err = { 0 };
	uint32_t hca, idle, sw = net_switch(fabric, "spine");
	struct shape *shape;

	hca = add(fabric, NODE_CA, 4103, 2, 1, "oss mlx4_0");
	idle = add(fabric, NODE_CA, 4103, 2, 2, "idle mlx4_0");
	net_links(fabric, sw, hca, 2);
	/* Port 1 loses its cable. */
	fabric->ports[fabric->ports[fabric->nodes[hca].first_port].peer].peer = FABRIC_NONE;
	fabric->ports[fabric->nodes[hca].first_port].peer = FABRIC_NONE;
	shape = net_shape(fabric, NULL);
	assert_int_equal(plan_read(&plan, "plan", list, sizeof(list) - 1, &err), 0);
	ports = resolve(&plan, shape);
	assert_int_equal(ports.problem_count, 0);
	assert_int_equal(ports.links[0].port[1], fabric_node_port(fabric, hca, 2));
	assert_int_equal(ports.links[1].port[1], fabric_node_port(fabric, idle, 1));
	plan_ports_done(&ports);
	plan_done(&plan);
	net_done(fabric, shape);
}

/* A cable is no extra one because the line of the plan that has it is damaged. */
TEST(a_damaged_line_claims_its_cable)
{
	static const char head[] = "StartDevice,StartPort,EndDevice,EndPort,LinkType\n", first[] = "l1,1,l2,1,Data\n";
	static const struct {
		const char *line;
		size_t extra, not_judged;
	} cases[] = {
		{ "", 1, 0 },                 /* no line at all: it is one more cable */
		{ "l1,2,l2\n", 0, 1 }, { "l1;2;l2;2;Data\n", 0, 0 }, { "\"l1,2,l2,2,Data\n", 0, 0 },
		{ "l1,2,,,Data\n", 0, 1 }, { ",,l2,2,Data\n", 0, 1 }, { "l1,2,x9,2,Data\n", 0, 1 },
		{ "l1,7,l2", 0, 1 },          /* torn: the line of the cable may be behind it */
		{ "l1,7\n", 1, 1 },
	};
	struct fabric *fabric = net_new();
	struct shape *shape;

	net_switch(fabric, "l1");
	net_switch(fabric, "l2");
	net_links(fabric, 0, 1, 2);
	shape = net_shape(fabric, NULL);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct plan plan = { 0 };
		struct plan_ports ports;
		struct plan_diff diff;
		struct text text = { 0 };
		struct error err = { 0 };

		text_appendf(&text, "%s%s%s", head, first, cases[i].line);
		assert_int_equal(plan_read(&plan, "plan", text_chars(&text), text.len, &err), 0);
		ports = resolve(&plan, shape);
		assert_int_equal(plan_compare(&plan, &ports, shape, &diff, &err), 0);
		if (diff.by_change[PLAN_EXTRA] != cases[i].extra || diff.not_judged != cases[i].not_judged)
			fail_msg("%s: %zu extra, %zu not judged", cases[i].line, diff.by_change[PLAN_EXTRA],
				 diff.not_judged);
		assert_int_equal(diff.not_judged, ports.not_judged);
		assert_int_equal(diff.count, cases[i].extra);
		plan_diff_done(&diff);
		plan_ports_done(&ports);
		plan_done(&plan);
		text_done(&text);
	}
	net_done(fabric, shape);
}

/* Two links of one port to a device that the fabric does not have. */
TEST(a_port_that_is_twice_at_an_unknown_device_is_judged_once)
{
	static const char list[] = "StartDevice,StartPort,EndDevice,EndPort\nl1,1,l2,1\nl1,2,ghost,1\nl1,2,ghost,2\n"
				   "l1,3,ghost,3\n";
	struct fabric *fabric = net_new();
	struct shape *shape;
	struct plan plan = { 0 };
	struct plan_ports ports;
	struct plan_diff diff;
	struct error err = { 0 };

	net_switch(fabric, "l1");
	net_switch(fabric, "l2");
	net_switch(fabric, "other");
	net_link(fabric, 0, 1);
	net_links(fabric, 0, 2, 2);
	shape = net_shape(fabric, NULL);
	assert_int_equal(plan_read(&plan, "plan", list, sizeof(list) - 1, &err), 0);
	ports = resolve(&plan, shape);
	assert_int_equal(plan_compare(&plan, &ports, shape, &diff, &err), 0);
	assert_int_equal(diff.count, 1);
	assert_int_equal(diff.by_change[PLAN_REPLACED], 1);
	assert_int_equal(diff.not_judged, 1);
	plan_diff_done(&diff);
	plan_ports_done(&ports);
	plan_done(&plan);
	net_done(fabric, shape);
}

TEST(ports_are_taken_apart)
{
	static const struct {
		const char *text, *parts; /* numbers, device, module, ASIC, HCA, cage */
	} cases[] = {
		{ "Port 21", "21" }, { "P21", "21" }, { "21", "21" }, { "21/1", "21,1" }, { "6.2", "6,2" },
		{ "21.0", "21" },
		{ "1/6/2", "1,6,2" }, { "Switch Port 6.2", "6,2" }, { "sw6p2", "c6.2" }, { "QSFP 6", "c6.0" },
		{ "Blade 16_Port 2/20", "2,20 L16" }, { "L16/U2/P20", "20 L16 u2" }, { "S3 P5", "5 S3" },
		{ "mlx5_0 Port 1", "1 mlx5_0" }, { "mlx5_0/1", "1 mlx5_0" }, { "HCA-1 P2", "2 h2" }, { "HCA 3", "h4" },
		{ "mlx5_bond_0", "mlx5_bond_0" }, { "ibp11s0f0", "ibp11s0f0" }, { "ib0", "i0" }, { "IB1/21", "1,21" },
		{ "", "" }, { "hfi1_0:1", "1 hfi1_0" }, { "Port 1/6/2/1", "1,6,2,1" },
		{ "left", NULL }, { "Port", NULL }, { "Port 1/2/3/4/5", NULL }, { "1 2", NULL }, { "L1/L2", NULL },
		{ "9999999", NULL }, { "Port x", NULL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct port_text port;
		char parts[200] = "", number[32];
		bool read = port_text_parse(cases[i].text, &port);

		if (!read) {
			assert_null(cases[i].parts);
			continue;
		}
		for (size_t k = 0; k < port.count; k++) {
			snprintf(number, sizeof(number), "%s%u", k ? "," : "", port.numbers[k]);
			strcat(parts, number);
		}
		if (*port.device)
			sprintf(parts + strlen(parts), "%s%s", *parts ? " " : "", port.device);
		if (port.module)
			sprintf(parts + strlen(parts), "%s%c%u", *parts ? " " : "", port.module, port.module_number);
		if (port.asic)
			sprintf(parts + strlen(parts), "%su%u", *parts ? " " : "", port.asic);
		if (port.hca)
			sprintf(parts + strlen(parts), "%sh%u", *parts ? " " : "", port.hca);
		if (port.interface >= 0)
			sprintf(parts + strlen(parts), "%si%d", *parts ? " " : "", port.interface);
		if (port.cage)
			sprintf(parts + strlen(parts), "%sc%u.%u", *parts ? " " : "", port.cage, port.split);
		assert_non_null(cases[i].parts);
		assert_string_equal(parts, cases[i].parts);
	}
}

/* Texts of any kind are no port of another device, and do no harm. */
TEST(any_text_is_a_name_or_not)
{
	struct fabric *fabric = small();
	struct shape *shape = net_shape(fabric, NULL);

	for (unsigned run = 0; run < test_cases(300); run++) {
		struct plan plan = { 0 };
		struct plan_ports ports;
		struct text text = { 0 };
		struct error err = { 0 };

		seed = run;
		text_append(&text, "StartDevice,StartPort,EndDevice,EndPort\n");
		for (unsigned i = 0; i < 40; i++) {
			for (unsigned k = 0; k < 4; k++) {
				static const char *const pieces[] = {
					"leaf-01", "core", "node0007", "mlx5_0", "/", ":", ".", " ", "Port", "L1",
					"U2", "0x", "7", "MF0;", "MCS8500", "Blade", "_", "\xc3\xbc", "99999999999",
					"-", "twin", "gpu", "'",
				};

				for (unsigned n = below(6); n > 0; n--)
					text_append(&text, pieces[below(sizeof(pieces) / sizeof(pieces[0]))]);
				text_append(&text, k < 3 ? "," : "\n");
			}
		}
		if (plan_read(&plan, "plan", text_chars(&text), text.len, &err) == 0) {
			ports = resolve(&plan, shape);
			for (size_t i = 0; i < plan.link_count; i++)
				for (int k = 0; k < 2; k++)
					if (ports.links[i].port[k] != FABRIC_NONE)
						assert_int_equal(fabric->ports[ports.links[i].port[k]].node,
								 ports.links[i].node[k]);
			plan_ports_done(&ports);
		}
		plan_done(&plan);
		text_done(&text);
	}
	net_done(fabric, shape);
}

/* --- published fabrics as plans of themselves --- */

static char *load(const char *file, size_t *ret_len)
{
	FILE *stream = unit_test_open_shared("topology", file);
	char *chars = malloc(8 << 20);

	assert_non_null(chars);
	*ret_len = fread(chars, 1, 8 << 20, stream);
	fclose(stream);
	return chars;
}

/* Each link of a plan has the ports that are cabled in the fabric, all cables are in it, and @problems were found. */
static void check_all(const struct plan *plan, const struct shape *shape, size_t links, size_t problems)
{
	struct plan_ports ports = resolve(plan, shape);

	if (ports.problem_count > problems)
		fail_msg("line %u: %s", ports.problems[problems].line, ports.problems[problems].text);
	assert_int_equal(ports.problem_count, problems);
	assert_int_equal(plan->link_count, links);
	assert_int_equal(ports.not_judged, 0);
	assert_int_equal(ports.repeated, 0);
	for (size_t i = 0; i < plan->link_count; i++)
		assert_int_equal(shape->fabric->ports[ports.links[i].port[0]].peer, ports.links[i].port[1]);
	plan_ports_done(&ports);
}

/* A list by displayed names, or by host and device; names that several nodes have are written as GUIDs. */
static void write_list(struct text *text, const struct fabric *fabric)
{
	text_append(text, "StartDevice;StartPort;EndDevice;EndPort\n");
	for (uint32_t i = 0; i < fabric->port_count; i++) {
		uint32_t ends[2] = { i, fabric->ports[i].peer };

		if (ends[1] == FABRIC_NONE || ends[1] < i)
			continue;
		for (int k = 0; k < 2; k++) {
			const struct port *port = &fabric->ports[ends[k]];
			const struct node *node = &fabric->nodes[port->node];
			const char *space = strchr(node->name, ' ');

			if (node->type == NODE_CA && space && !strchr(space + 1, ' ') && !names_is_generic(node->name))
				text_appendf(text, "%.*s;%s Port %u", (int)(space - node->name), node->name, space + 1,
					     port->num);
			else
				text_appendf(text, "\"%s\";Port %u", fabric->names.shown[port->node], port->num);
			text_append(text, k ? "\n" : ";");
		}
	}
}

/* @omitted: 1 if the file has lines or cables that are no part of a fabric, which is one problem of it as a plan. */
static void check_published(const char *file, size_t omitted)
{
	size_t len;
	char *chars = load(file, &len);
	struct fabric *fabric = NULL;
	struct shape *shape = NULL;
	struct plan plan = { 0 };
	struct text text = { 0 };
	struct error err = { 0 };

	assert_int_equal(netfile_read(chars, len, NULL, &fabric, NULL, &err), 0);
	assert_int_equal(shape_create(fabric, NULL, &shape, &err), 0);
	assert_int_equal(plan_read(&plan, file, chars, len, &err), 0);
	check_all(&plan, shape, fabric_count_links(fabric), omitted);
	plan_done(&plan);
	write_list(&text, fabric);
	assert_int_equal(plan_read(&plan, file, text_chars(&text), text.len, &err), 0);
	assert_int_equal(plan.problem_count, 0);
	check_all(&plan, shape, fabric_count_links(fabric), 0);
	plan_done(&plan);
	text_done(&text);
	net_done(fabric, shape);
	free(chars);
}

TEST(published_fabrics_are_plans_of_themselves)
{
	check_published("dgx-ndr-582ca-40sw.ibnetdiscover", 0);
	check_published("fdr10-144ca-8sw.ibnetdiscover", 0);
	check_published("hdr-director-faked.ibnetdiscover", 1);
	check_published("mixed-6ca-2sw.ibnetdiscover", 1);
	check_published("qdr-ddr-89ca-11sw.ibnetdiscover", 0);
	check_published("sdr-4ca-2sw.ibnetdiscover", 1);
	check_published("taurus-fdr-2104ca-211sw.ibnetdiscover", 0);
}

/* --- time --- */

static double cpu_s(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Three tiers: 1,408 hosts with 8 HCAs each, a leaf for each 32 of a rail, as many links up as down. */
TEST(a_plan_of_eleven_thousand_hcas_is_resolved_at_once)
{
	enum { HOSTS = 1408, RAILS = 8, PER_LEAF = 32, LEAVES = HOSTS / PER_LEAF * RAILS, SPINES = 352, CORES = 176 };
	struct fabric *fabric = net_new();
	struct shape *shape;
	struct plan plan = { 0 };
	struct plan_ports ports;
	struct text text = { 0 };
	struct error err = { 0 };
	uint32_t leaves[LEAVES], spines[SPINES], cores[CORES];
	double begin;

	for (unsigned i = 0; i < LEAVES; i++)
		leaves[i] = net_switch(fabric, "MF0;leaf-%03u:MQM9700/U1", i);
	for (unsigned i = 0; i < SPINES; i++)
		spines[i] = net_switch(fabric, "MF0;spine-%03u:MQM9700/U1", i);
	for (unsigned i = 0; i < CORES; i++)
		cores[i] = net_switch(fabric, "MF0;core-%03u:MQM9700/U1", i);
	for (unsigned i = 0; i < HOSTS; i++)
		for (unsigned k = 0; k < RAILS; k++)
			net_link(fabric, net_hca(fabric, 0x100000 + i, "node%04u mlx5_%u", i, k),
				 leaves[i / PER_LEAF * RAILS + k]);
	for (unsigned i = 0; i < LEAVES; i++)
		for (unsigned k = 0; k < 32; k++)
			net_link(fabric, leaves[i], spines[i / 32 * 32 + k]);
	for (unsigned i = 0; i < SPINES; i++)
		for (unsigned k = 0; k < 32; k++)
			net_link(fabric, spines[i], cores[(i * 32 + k) % CORES]);
	shape = net_shape(fabric, NULL);
	write_list(&text, fabric);
	begin = cpu_s();
	assert_int_equal(plan_read(&plan, "plan", text_chars(&text), text.len, &err), 0);
	print_message("# %zu links read: %.3f s\n", plan.link_count, cpu_s() - begin);
	begin = cpu_s();
	ports = resolve(&plan, shape);
	print_message("# resolved: %.3f s\n", cpu_s() - begin);
	plan_ports_done(&ports);
	check_all(&plan, shape, fabric_count_links(fabric), 0);
	/* As slow as it gets: no name is known. */
	plan_done(&plan);
	for (char *at = text.chars; (at = strstr(at, "node")); at++)
		memcpy(at, "pqrs", 4);
	assert_int_equal(plan_read(&plan, "plan", text_chars(&text), text.len, &err), 0);
	begin = cpu_s();
	ports = resolve(&plan, shape);
	print_message("# with %d unknown hosts: %.3f s\n", HOSTS, cpu_s() - begin);
	assert_int_equal(ports.problem_count, HOSTS);
	assert_int_equal(ports.not_judged, HOSTS * RAILS);
	plan_ports_done(&ports);
	plan_done(&plan);
	text_done(&text);
	net_done(fabric, shape);
}
