/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* host_set_test.c - host lists in batch system notation */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/test_damage.h"
#include "base/text.h"
#include "base/unit_test.h"
#include "fabric/host_set.h"
#include "storage/test/test_folder.h"

/* The names of a list, separated by spaces. */
static const char *expanded(const char *typed, char ret[1024])
{
	struct host_set set = { 0 };
	size_t len = 0;

	ret[0] = '\0';
	assert_int_equal(host_set_add(&set, typed, NULL), 0);
	for (size_t i = 0; i < set.count; i++)
		len += (size_t)snprintf(ret + len, 1024 - len, "%s%s", i ? " " : "", set.names[i]);
	host_set_done(&set);
	return ret;
}

TEST(lists_are_written_out)
{
	static const struct { const char *typed, *names; } cases[] = {
		{ "node1", "node1" },
		{ "node1,node3", "node1 node3" },
		{ "node[1-3]", "node1 node2 node3" },
		{ "node[008-011]", "node008 node009 node010 node011" },
		{ "node[1,3-4],login", "node1 node3 node4 login" },
		{ "r[1-2]n[01-02]", "r1n01 r1n02 r2n01 r2n02" },
		{ "gpu[7]-ib", "gpu7-ib" },
		{ " a , b\tc", "a b c" },
		{ "n[9-10]", "n9 n10" },
	};
	char names[1024];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_string_equal(expanded(cases[i].typed, names), cases[i].names);
}

TEST(names_are_folded_and_their_list_has_the_same_names)
{
	static const struct { const char *names, *list; } cases[] = {
		{ "node1", "node1" },
		{ "node1 node2 node3", "node[1-3]" },
		{ "node008 node009 node010 node011", "node[008-011]" },
		{ "node1 node3 node4 login", "node[1,3-4], login" },
		{ "r1n01 r1n02 r2n01 r2n02", "r1n[01-02], r2n[01-02]" },
		{ "gpu7-ib gpu8-ib gpu7-eth", "gpu[7-8]-ib, gpu7-eth" },
		{ "n9 n10 n011", "n[9-10], n011" },
		{ "n9 n9 n8", "n9, n9, n8" },
		{ "a b 1 2", "a, b, [1-2]" },
		{ "n99999999999999999998 n99999999999999999999", "n99999999999999999998, n99999999999999999999" },
	};
	char copy[256], names[1024];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *list[16];
		struct text text = { 0 };
		size_t count = 0;

		snprintf(copy, sizeof(copy), "%s", cases[i].names);
		for (char *save, *name = strtok_r(copy, " ", &save); name; name = strtok_r(NULL, " ", &save))
			list[count++] = name;
		assert_int_equal(host_names_fold(list, count, 16, &text), count);
		assert_string_equal(text_chars(&text), cases[i].list);
		assert_string_equal(expanded(text_chars(&text), names), cases[i].names);
		text_done(&text);
	}
}

TEST(folded_list_ends_after_so_many_elements_and_keeps_names_that_look_like_a_list)
{
	static const char *const names[] = { "n1", "n2", "a[1]", "a[2]", "z1" };
	struct text text = { 0 };

	assert_int_equal(host_names_fold(names, 5, 2, &text), 3);
	assert_string_equal(text_chars(&text), "n[1-2], a[1]");
	text_done(&text);
}

TEST(list_for_slurm_has_no_blanks_and_brackets_only_at_the_end)
{
	static const char *const names[] = {
		"a", "n1", "n2", "n9", "n10", "n010", "n011", "r1-ib", "r2-ib", "x[1]", "y99999999999999998",
		"y99999999999999999",
	};
	struct text text = { 0 };

	host_names_list(names, sizeof(names) / sizeof(*names), &text);
	assert_string_equal(text_chars(&text), "a,n[1-2,9-10],n[010-011],r1-ib,r2-ib,x[1],y99999999999999998,"
			    "y99999999999999999");
	text_done(&text);
}

TEST(invalid_host_list_is_named_in_the_error)
{
	static const char *const bad[] = {
		"", ",", "node[", "node[1", "node]1", "node[]", "node[1-]", "node[-2]", "node[3-1]", "node[a-c]",
		"node[1-999999999]", "node[1-99999]x[1-99999]",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct host_set set = { 0 };
		struct error err = { 0 };

		if (host_set_add(&set, bad[i], &err) != ERR_USAGE)
			fail_msg("'%s' was taken", bad[i]);
		assert_true(strlen(err.text) > 0);
		host_set_done(&set);
	}
}

TEST(host_matches_with_and_without_domain)
{
	static const struct { const char *name; bool found; } cases[] = {
		{ "node2", true }, { "node20.cluster.example", true }, { "login1", true }, { "login1.cluster", true },
		{ "node21", false }, { "node", false }, { "login", false }, { "login1.other", false },
		{ "login1.clusters", false }, { "", false },
	};
	struct host_set set = { 0 };

	assert_int_equal(host_set_add(&set, "node[1-20],login1.cluster,login1-a,login1/b", NULL), 0);
	for (int sorted = 0; sorted < 2; sorted++) {
		for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
			assert_int_equal(host_set_has(&set, cases[i].name), cases[i].found);
		host_set_sort(&set);
	}
	host_set_done(&set);
	assert_false(host_set_has(&set, "node1"));
}

TEST_IN_FOLDER(drained_hosts_are_read_from_a_state_file)
{
	static const char lines[] = "node1 idle\nnode2 drained*\nnode3 DOWN+CLOUD\n# node4 down\n\nnode5\n"
				    "node[6-7] draining\nnode8 alloc\nnode9 maint\n";
	struct host_set set = { 0 };

	test_file_write(path, lines, sizeof(lines) - 1);
	assert_int_equal(host_set_add_drained(&set, path, NULL), 0);
	unlink(path);
	assert_int_equal(set.count, 5);
	assert_true(host_set_has(&set, "node2") && host_set_has(&set, "node3") && host_set_has(&set, "node6"));
	assert_true(host_set_has(&set, "node7") && host_set_has(&set, "node9"));
	host_set_done(&set);
	assert_int_equal(host_set_add_drained(&set, path, NULL), ERR_IO);
	assert_int_equal(host_set_add_file(&set, "/nonexistent", NULL), ERR_IO);
}

/* The model: lines of one host each, of letters and digits, and of two words in a file of states. */
static bool is_whole(const char *line, bool states)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-]\"";
	size_t host = strspn(line, letters), blank = strspn(line + host, " ");
	const char *state = line + host + blank;

	if (!*line)
		return true;
	if (!states || !host)
		return host && !line[host];
	return blank && (!strncmp(state, "idle", 4) || !strncmp(state, "down", 4) || !strncmp(state, "drain", 5));
}

TEST_IN_FOLDER(a_damaged_line_of_a_host_list_is_named_and_the_rest_is_read)
{
	static const char *const wholes[] = { "node01\nnode02\nnode03", "node01 idle\nnode02 drained*\nnode03 down\n" };

	for (size_t i = 0; i < 2 * 3 * DAMAGE_COUNT * 20; i++) {
		bool states = i % 2;
		size_t number = i / 2 % 3 + 1, at = i / 6 % 20;
		enum damage damage = (enum damage)(i / 120);
		char whole[64], *line, *damaged;
		struct host_set set = { 0 };
		int code;

		snprintf(whole, sizeof(whole), "%s%s", wholes[states], states ? "" : "\n");
		at = at < damage_bytes(whole, number) ? at : damage_bytes(whole, number);
		damaged = damage_line(whole, number, damage, at, &line);
		test_file_write(path, damaged, strlen(damaged));
		code = states ? host_set_add_drained(&set, path, NULL) : host_set_add_file(&set, path, NULL);
		assert_int_equal(code, 0);
		for (size_t node = 1; node <= 3; node++) {
			char name[16];

			snprintf(name, sizeof(name), "node%02zu", node);
			assert_true(node == number || host_set_has(&set, name) == (!states || node > 1));
		}
		if (damage > DAMAGE_DOUBLED && !is_whole(line, states) && set.unread.first != number)
			fail_msg("line %zu, '%s' is not reported", number, line);
		if (damage <= DAMAGE_DOUBLED)
			assert_int_equal(set.unread.lines, 0);
		host_set_done(&set);
		unlink(path);
		free(line);
		free(damaged);
	}
}

TEST_IN_FOLDER(lines_of_a_host_list_that_are_none_are_counted)
{
	static const char lines[] = "node01\nnode[02-\n\nno\0de03\nnode[04-05],node[\nnode06";
	struct host_set set = { 0 };
	char typed[256];

	snprintf(typed, sizeof(typed), "@%s", path);
	test_file_write(path, lines, sizeof(lines) - 1);
	assert_int_equal(host_set_add_file(&set, path, NULL), 0);
	assert_int_equal(set.count, 2);
	assert_true(host_set_has(&set, "node01") && host_set_has(&set, "node06"));
	assert_int_equal(set.unread.lines, 3);
	assert_int_equal(set.unread.first, 2);
	host_set_done(&set);
	/* Lists that are stored or come from another user name no file. */
	assert_int_equal(host_set_add(&set, typed, NULL), 0);
	unlink(path);
	assert_int_equal(set.count, 1);
	assert_string_equal(set.names[0], typed);
	host_set_done(&set);
}
