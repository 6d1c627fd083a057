/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "base/unit_test.h"
#include "fabric/fabric.h"
#include "sim/net/mend.h"

#define HEAD "vendid=0x2c9\ndevid=0xd2f0\nsysimgguid=0x20\nswitchguid=0x20(20)\nSwitch\t36 \"S-0000000000000020\"\t\t# "
#define PLAIN_HEAD HEAD "\"sw\" enhanced port 0 lid 1 lmc 0\n"
#define CA(guid, desc, line)                                                                            \
	"\nvendid=0x2c9\ndevid=0x101b\nsysimgguid=0x" guid "\ncaguid=0x" guid "(" guid ")\n"          \
	"Ca\t1 \"H-00000000000000" guid "\"\t\t# " desc "\n" line "\n"

struct mended {
	struct text net;
	struct fabric *fabric;
	struct mend_notes notes;
};

static struct mended mend_chars(const char *chars)
{
	struct mended mended = { 0 };

	assert_int_equal(mend(chars, strlen(chars), &mended.net, &mended.fabric, &mended.notes, NULL), 0);
	return mended;
}

static void mended_done(struct mended *mended)
{
	fabric_destroy(mended->fabric);
	text_done(&mended->net);
}

/* A written file must be read as the same fabric, and a second conversion must not change it. */
static void check_stable(const struct mended *mended)
{
	struct text again = { 0 };
	struct mend_notes notes;
	struct fabric *fabric;

	assert_int_equal(mend(text_chars(&mended->net), mended->net.len, &again, &fabric, &notes, NULL), 0);
	assert_string_equal(text_chars(&again), text_chars(&mended->net));
	assert_int_equal(notes.read.ignored.lines + notes.read.damaged.lines + notes.read.peers_unknown.lines +
			 notes.read.peers_one_sided.lines + notes.read.peers_conflicting.lines +
			 notes.speeds_lowered + notes.read.ends_differ.lines, 0);
	assert_int_equal(fabric->node_count, mended->fabric->node_count);
	for (size_t i = 0; i < fabric->port_count; i++)
		assert_int_equal(fabric->ports[i].peer, mended->fabric->ports[i].peer);
	fabric_destroy(fabric);
	text_done(&again);
}

TEST(error_lines_and_unknown_peers_are_omitted)
{
	struct mended mended = mend_chars("src/query_smp.c:195; umad (DR path slid 0) bad status 110\n" PLAIN_HEAD
		"[1]\t\"H-0000000000000030\"[1](31)\t\t# \"a\" lid 2 4xHDR\n"
		"[2]\t\"H-00000000000000ff\"[1](ff)\t\t# \"gone\" lid 3 4xHDR\n"
		CA("30", "\"a\"", "[1](31)\t\"S-0000000000000020\"[1]\t\t# lid 2 lmc 0 \"sw\" lid 1 4xHDR"));

	assert_int_equal(mended.notes.read.ignored.lines, 1);
	assert_int_equal(mended.notes.read.peers_unknown.lines, 1);
	assert_null(strstr(text_chars(&mended.net), "gone"));
	assert_null(strstr(text_chars(&mended.net), "umad"));
	assert_non_null(strstr(text_chars(&mended.net), "[1]\t\"H-0000000000000030\"[1](31) "));
	check_stable(&mended);
	mended_done(&mended);
}

TEST(both_ends_of_a_link_get_the_same_supported_speed)
{
	struct mended mended = mend_chars(PLAIN_HEAD
		"[1]\t\"H-0000000000000030\"[1](31)\t\t# \"a\" lid 2 4xNDR\n"
		"[2]\t\"H-0000000000000040\"[1](41)\t\t# \"b\" lid 3 4xFDR10\n"
		"[3]\t\"H-0000000000000050\"[1](51)\t\t# \"c\" lid 4 1xSDR\n"
		CA("30", "\"a\"", "[1](31)\t\"S-0000000000000020\"[1]\t\t# lid 2 lmc 0 \"sw\" lid 1 4xNDR")
		CA("40", "\"b\"", "[1](41)\t\"S-0000000000000020\"[2]\t\t# lid 3 lmc 0 \"sw\" lid 1 4xFDR10")
		CA("50", "\"c\"", "[1](51)\t\"S-0000000000000020\"[3]\t\t# lid 4 lmc 0 \"sw\" lid 1 4xSDR"));
	const char *net = text_chars(&mended.net);

	assert_int_equal(mended.notes.speeds_lowered, 1);
	assert_int_equal(mended.notes.read.ends_differ.lines, 1);
	assert_non_null(strstr(net, "# lid 2 lmc 0 \"sw\" lid 1 4xHDR\n"));
	assert_non_null(strstr(net, "\"a\" lid 2 4xHDR\n"));
	assert_non_null(strstr(net, "# lid 3 lmc 0 \"sw\" lid 1 4xFDR10\n"));
	assert_non_null(strstr(net, "# lid 4 lmc 0 \"sw\" lid 1 1xSDR\n"));
	assert_non_null(strstr(net, "\"c\" lid 4 1xSDR\n"));
	check_stable(&mended);
	mended_done(&mended);
}

/* The first line of a node in the net file. */
static void assert_node_line(const struct mended *mended, const char *line)
{
	char wanted[256];

	snprintf(wanted, sizeof(wanted), "\n%s\n", line);
	if (!strstr(text_chars(&mended->net), wanted))
		fail_msg("no line <%s> in:\n%s", line, text_chars(&mended->net));
}

TEST(descriptions_are_changed_where_ibsim_misreads_them)
{
	struct mended mended = mend_chars(HEAD "\"sw \"q\" # x\" base port 0 lid 1 lmc 0\n"
		CA("30", "\"a # b\"", "")
		CA("40", "\"say \"hi\"\"", "")
		CA("50", "\"\"quoted\"\"", "")
		CA("60", "\"\"", "")
		CA("70", "\"esc \x1b[31m \\x1b =5 @\"", "")
		CA("80", "\"has \" lid 7 in it\"", ""));

	assert_node_line(&mended, "Switch\t36 \"S-0000000000000020\"\t\t# \"sw 'q' # x\" base port 0 lid 1 lmc 0");
	assert_node_line(&mended, "Ca\t1 \"H-0000000000000030\"\t\t# \"a # b\"");
	assert_node_line(&mended, "Ca\t1 \"H-0000000000000040\"\t\t# \"say 'hi'\"");
	assert_node_line(&mended, "Ca\t1 \"H-0000000000000050\"\t\t# \"'quoted'\"");
	assert_node_line(&mended, "Ca\t1 \"H-0000000000000060\"\t\t# \" \"");
	assert_node_line(&mended, "Ca\t1 \"H-0000000000000070\"\t\t# \"esc  [31m \\x1b =5 @\"");
	assert_node_line(&mended, "Ca\t1 \"H-0000000000000080\"\t\t# \"has ' lid 7 in it\"");
	assert_int_equal(mended.notes.descs_changed, 6);
	check_stable(&mended);
	mended_done(&mended);
}

/* ibsim takes "w=1" anywhere after a port for an option: the name of a peer must not contain it. */
TEST(a_name_is_not_read_as_a_port_option)
{
	struct mended mended = mend_chars(PLAIN_HEAD
		"[1]\t\"H-0000000000000030\"[1](31)\t\t# \"w=99 s=0\" lid 2 4xHDR\n"
		CA("30", "\"w=99 s=0\"", "[1](31)\t\"S-0000000000000020\"[1]\t\t# lid 2 lmc 0 \"sw\" lid 1 4xHDR"));

	assert_non_null(strstr(text_chars(&mended.net), "# \"w_99 s_0\" lid 2 4xHDR\n"));
	assert_string_equal(mended.fabric->nodes[1].desc, "w=99 s=0");
	check_stable(&mended);
	mended_done(&mended);
}

TEST(from_node_is_read_from_the_dump)
{
	struct mended mended = mend_chars("# Initiated from node 0000000000000030 port 0000000000000031\n" PLAIN_HEAD
					  CA("30", "\"a\"", ""));

	assert_int_equal(mended.fabric->from_node, 1);
	check_stable(&mended);
	mended_done(&mended);
	mended = mend_chars(PLAIN_HEAD "# Initiated from node 00");
	assert_int_equal(mended.fabric->from_node, FABRIC_NONE);
	mended_done(&mended);
}

/* Any input results in a fabric or an error, and the output is stable. */
TEST(corrupt_dumps_are_handled)
{
	static const char whole[] = PLAIN_HEAD
		"[1]\t\"H-0000000000000030\"[1](31)\t\t# \"a \"b\" c\" lid 2 4xHDR\n"
		"[2]\t\"S-0000000000000020\"[3]\t\t# \"sw\" lid 1 4xHDR s=4 w=2\n"
		"[3]\t\"S-0000000000000020\"[2]\t\t# \"sw\" lid 1 4xHDR\n"
		CA("30", "\"a \"b\" c\"", "[1](31)\t\"S-0000000000000020\"[1]\t\t# lid 2 lmc 0 \"sw\" lid 1 4xHDR");
	static const char bytes[] = "\"#[]()= \n\t\r0x\x1b\xff\\Sw";
	uint64_t seed = 1;

	for (unsigned round = 0; round < 4000; round++) {
		char text[sizeof(whole)];
		size_t len = sizeof(whole) - 1, hits = round % 5 + 1;
		struct mended mended = { 0 }, twice;
		struct error err = { 0 };

		memcpy(text, whole, sizeof(whole));
		while (hits--) {
			seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
			text[(seed >> 33) % len] = bytes[(seed >> 20) % (sizeof(bytes) - 1)];
		}
		if (round % 7 == 0)
			len = (seed >> 40) % len;
		text[len] = '\0';
		if (mend(text, len, &mended.net, &mended.fabric, &mended.notes, &err) < 0) {
			assert_true(err.text[0]);
			text_done(&mended.net);
			continue;
		}
		/* An empty description becomes a space: stable after the first conversion. */
		twice = mend_chars(text_chars(&mended.net));
		assert_int_equal(twice.fabric->node_count, mended.fabric->node_count);
		check_stable(&twice);
		mended_done(&twice);
		mended_done(&mended);
	}
}

TEST(empty_and_foreign_files_are_rejected)
{
	struct text net = { 0 };
	struct fabric *fabric = NULL;
	struct mend_notes notes;
	struct error err = { 0 };

	assert_int_equal(mend("", 0, &net, &fabric, &notes, &err), ERR_IO);
	assert_int_equal(mend("hello\n", 6, &net, &fabric, &notes, &err), ERR_IO);
	assert_null(fabric);
	text_done(&net);
}

static void count_line(void *ctx, const char *line)
{
	assert_true(strlen(line) < 150);
	++*(int *)ctx;
}

TEST(each_kind_of_modification_is_listed_once)
{
	struct mend_notes notes = { 0 };
	int lines = 0;

	mend_describe(&notes, count_line, &lines);
	assert_int_equal(lines, 0);
	notes.read.peers_unknown.lines = 5;
	notes.speeds_lowered = 1;
	mend_describe(&notes, count_line, &lines);
	assert_int_equal(lines, 2);
}
