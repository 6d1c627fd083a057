/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Topology files: ibnetdiscover outputs, net files of ibsim, damaged ones, and files that were written. */
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/test_damage.h"
#include "base/text.h"
#include "base/unit_test.h"
#include "fabric/fabric.h"
#include "fabric/names.h"
#include "fabric/netfile.h"
#include "fabric/test_net.h"

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
	assert_int_equal(notes.ignored.lines, 1);
	assert_int_equal(notes.peers_unknown.lines, 1);
	assert_int_equal(notes.peers_one_sided.lines, 1);
	assert_int_equal(notes.peers_conflicting.lines, 0);
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
		{ "switchguid=0xa1(a1)\r\nSwitch41 \"S-a1\" # \"leaf\" base port 0 lid 1 lmc 0\r\n" SWITCH_PORTS
		  WHOLE_CAS "\r\n", 3, 2, "" },
		{ "[root@ufm ~]# ibnetdiscover\n" WHOLE "[root@ufm ~]# ", 3, 2,
		  "2 lines are not part of a fabric: ignored, the first is line 1;" },
		{ SWITCH_LINES "ibwarn: [9] recv failed: m_key=0 status=110\n" SWITCH_PORTS WHOLE_CAS "\n", 3, 2,
		  "1 line is not part of a fabric: ignored, the first is line 3;" },
		{ SWITCH_LINES SWITCH_PORTS "\ncaguid=0xb1\n", 1, 0,
		  "the file ends inside a line or a node: the rest of the fabric may be missing;"
		  "2 cables to nodes or ports that are not in the file: omitted, the first is line 3;" },
		{ WHOLE_CAS "\n" SWITCH_LINES "[1] \"H-b1\"[1](b2) # \"n1 mlx5_0\" lid 2 4xHDR\n", 3, 2,
		  "the file ends inside a line or a node: the rest of the fabric may be missing;"
		  "1 cable listed at one end only: other end added, the first is line 7;" },
		{ SWITCH_LINES SWITCH_PORTS WHOLE_CAS, 3, 2,
		  "the file ends inside a line or a node: the rest of the fabric may be missing;" },
		{ "switchguid=0xa1(a1)\nSwitch 36 \"S-a1\"\n[1] \"S-a1\"[1]\n[2] \"H-b1\"[1]\n"
		  "sysimgguid=0xb8599fxxxxxx\nCa 1 \"H-b1\"\n[1](b8599fxxxx) \"S-a1\"[2]\n", 2, 1,
		  "1 port that is its own peer: omitted, the first is line 3;"
		  "1 link without width and speed: its bandwidth is unknown, the first is line 4;"
		  "2 GUIDs that are not hexadecimal (redacted?): unknown, the first is line 5;"
		  "1 node without a GUID: one is made up from its id, the first is line 6;" },
		/* Names as ibsim loads them, labels of ibdiagnet, ends that differ. */
		{ "Switch 8 \"S-1\"\n[1] \"H-1\"[1] # \"n\" lid 1 4xHDR\nHca 1 \"H-1\"\n"
		  "[1](1/1/1) \"S-1\"[1] # lid 1 lmc 0 \"s\" lid 2 1xHDR\n", 2, 1,
		  "1 link whose ends differ in width or speed: the lower rate counts, the first is line 2;"
		  "2 nodes without a GUID: made up from their ids, the first is line 1;" },
		/* A rate at one end: of the first line, of the last. */
		{ "Switch 8 \"S-1\"\n[1] \"H-1\"[1] # \"n\" lid 1\n[2] \"H-2\"[1] # \"n\" lid 3 4xHDR\n"
		  "Hca 1 \"H-1\"\n[1](1) \"S-1\"[1] # lid 1 lmc 0 \"s\" lid 2 1xHDR\n"
		  "Hca 1 \"H-2\"\n[1](2) \"S-1\"[2] # lid 3 lmc 0 \"s\" lid 2\n", 3, 2,
		  "2 links without width or speed at one end: those of the other ends count, the first is line 2;"
		  "3 nodes without a GUID: made up from their ids, the first is line 1;" },
		{ "switchguid=0xb8xxxx01(b8xxxx01)\nSwitch 36 \"S-b8xxxx01\"\n"
		  "[1] \"H-b8xxxx02\"[1] # \"n\" lid 1 4xHDR\n"
		  "caguid=0xb8xxxx02\nCa 1 \"H-b8xxxx02\"\n[1](b8) \"S-b8xxxx01\"[1] # lid 1 lmc 0 \"s\" lid 2 4xHDR\n",
		  2, 1, "2 GUIDs that are not hexadecimal (redacted?): unknown, the first is line 1;"
		  "2 nodes without a GUID: made up from their ids, the first is line 2;" },
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
	assert_int_equal(notes.guids_made.lines, 2);
	assert_int_equal(notes.rates_unknown.lines, 2);
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
			bytes[net_random(&random) % (sizeof(net) - 1)] = (char)net_random(&random);
		netfile_read(bytes, sizeof(net) - 1 - net_random(&random) % 40, NULL, &fabric, NULL, NULL);
		fabric_destroy(fabric);
	}
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
		struct fabric *fabric = net_random_fabric(seed), *back;
		struct netfile_notes notes;
		struct text text = { 0 };
		size_t down = 0;

		for (size_t i = 0; i < fabric->port_count; i++)
			down += fabric->ports[i].peer != FABRIC_NONE && i < fabric->ports[i].peer &&
				!is_up(fabric, &fabric->ports[i]);
		assert_int_equal(netfile_write(&text, fabric), down);
		assert_false(text_failed(&text));
		assert_int_equal(netfile_read(text_chars(&text), text.len, NULL, &back, &notes, NULL), 0);
		assert_int_equal(notes.ignored.lines + notes.damaged.lines + notes.peers_unknown.lines, 0);
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

/* --- any one line is damaged --- */

static const char whole_net[] =
	"# Topology file: generated on Sun Oct  5 21:59:42 2014\n#\n"
	"vendid=0x2c9\ndevid=0xd2f2\nsysimgguid=0x2c5eab0300b87b40\nswitchguid=0x2c5eab0300b87b40(2c5eab0300b87b40)\n"
	"Switch\t40 \"S-2c5eab0300b87b40\"\t\t# \"MF0;leaf:MODEL/U1\" enhanced port 0 lid 73 lmc 0\n"
	"[1]\t\"H-00000000000000aa\"[1](ab) \t\t# \"node0001 mlx5_0\" lid 647 4xNDR\n"
	"[2]\t\"H-00000000000000bb\"[2](bc) \t\t# \"node0002 mlx5_0\" lid 7 1xFDR10\n"
	"[21]\t\"S-2c5eab0300b87b50\"[22]\t\t# \"MF0;spine:MODEL/U1\" lid 74 4xNDR\n\n"
	"vendid=0x2c9\ndevid=0xd2f2\nsysimgguid=0x2c5eab0300b87b50\nswitchguid=0x2c5eab0300b87b50(2c5eab0300b87b50)\n"
	"Switch\t40 \"S-2c5eab0300b87b50\"\t\t# \"MF0;spine:MODEL/U1\" base port 0 lid 74 lmc 0\n"
	"[22]\t\"S-2c5eab0300b87b40\"[21]\t\t# \"MF0;leaf:MODEL/U1\" lid 73 4xNDR\n\n"
	"vendid=0x2c9\ndevid=0x1021\nsysimgguid=0xaa\ncaguid=0xaa\n"
	"Ca\t1 \"H-00000000000000aa\"\t\t# \"node0001 mlx5_0\"\n"
	"[1](ab) \t\"S-2c5eab0300b87b40\"[1]\t\t# lid 647 lmc 2 \"MF0;leaf:MODEL/U1\" lid 73 4xNDR\n\n"
	"vendid=0x2c9\ndevid=0x1021\nsysimgguid=0xbb\ncaguid=0xbb\n"
	"Ca\t2 \"H-00000000000000bb\"\t\t# \"node0002 mlx5_0\"\n"
	"[2](bc) \t\"S-2c5eab0300b87b40\"[2]\t\t# lid 7 lmc 0 \"MF0;leaf:MODEL/U1\" lid 73 1xFDR10\n";

static const char *const whole_lines[] = {
	"^[ \t]*(#.*)?$", "^(vendid|devid|sysimgguid|caguid|hcaguid|rtguid|switchguid)=(0x)?[0-9a-f]+$",
	"^switchguid=0x[0-9a-f]+(\\([0-9a-f]+\\))?$",
	"^(Switch|H?Ca|Rt)[ \t]*[0-9]+ \"[SHR]-[0-9a-f]{16}\""
	"([ \t]*#[ \t]*(\".*\"|[^\" \t].*)( (enhanced|base) port 0( lid [0-9]+ lmc [0-9]+)?)?)?[ \t]*$",
	"^\\[[0-9]+](\\([0-9a-f]+\\)|\\[ext [0-9]+])?[ \t]*"
	"\"[SHR]-[0-9a-f]{16}\"(\\[[0-9]+](\\([0-9a-f]+\\))?)?[ \t]*( w=[0-9]+ s=[0-9]+ e=[0-9]+)?"
	"(#( lid [0-9]+ lmc [0-9])? \".*\" lid [0-9]+( [0-9]+x[A-Z]+[0-9]*)?)?[ \t]*$",
};

static bool is_whole(const char *line)
{
	bool found = false;

	for (size_t i = 0; i < sizeof(whole_lines) / sizeof(*whole_lines) && !found; i++) {
		regex_t regex;

		assert_int_equal(regcomp(&regex, whole_lines[i], REG_EXTENDED | REG_NOSUB), 0);
		found = regexec(&regex, line, 0, NULL, 0) == 0;
		regfree(&regex);
	}
	return found;
}

struct search {
	char end[32]; /* "line 7" */
	bool found;
};

static void search_line(void *ctx, const char *line)
{
	struct search *search = ctx;
	size_t len = strlen(line), wanted = strlen(search->end);

	search->found |= len >= wanted && !strcmp(line + len - wanted, search->end);
}

static void expect_rest(const struct fabric *whole, const struct text *written, const char *damaged, const char *line,
			enum damage damage, size_t number)
{
	struct search search = { .found = false };
	struct netfile_notes notes;
	struct fabric *fabric;
	struct text text = { 0 };
	size_t lost = 0;
	struct error err;

	if (netfile_read(damaged, strlen(damaged), NULL, &fabric, &notes, &err) < 0)
		fail_msg("line %zu, '%s': %s", number, line, err.text);
	for (size_t i = 0; i < whole->node_count; i++)
		lost += fabric_find_node(fabric, whole->nodes[i].guid) == FABRIC_NONE;
	assert_true(lost <= 1);
	netfile_write(&text, fabric);
	snprintf(search.end, sizeof(search.end), " line %zu", number);
	netfile_describe(&notes, search_line, &search);
	if (strcmp(text_chars(&text), text_chars(written)) &&
	    (damage == DAMAGE_DOUBLED || (damage != DAMAGE_DELETED && !is_whole(line) && !search.found)))
		fail_msg("line %zu, '%s' is not reported", number, line);
	text_done(&text);
	fabric_destroy(fabric);
}

/* The rest is read, and the line is named unless it is whole by the forms above, or nothing changes. */
TEST(a_damaged_line_of_a_dump_is_named_and_the_rest_is_read)
{
	struct text written = { 0 };
	struct fabric *whole;

	assert_int_equal(netfile_read(whole_net, sizeof(whole_net) - 1, NULL, &whole, NULL, NULL), 0);
	netfile_write(&written, whole);
	for (size_t number = 1; number <= damage_lines(whole_net); number++) {
		for (int damage = 0; damage < DAMAGE_COUNT; damage++) {
			size_t most = damage < DAMAGE_CUT ? 0 : damage_bytes(whole_net, number);

			for (size_t at = 0; at <= most; at++) {
				char *line, *damaged = damage_line(whole_net, number, (enum damage)damage, at, &line);

				expect_rest(whole, &written, damaged, line, (enum damage)damage, number);
				free(line);
				free(damaged);
			}
		}
	}
	text_done(&written);
	fabric_destroy(whole);
}
