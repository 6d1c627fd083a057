/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/unit_test.h"
#include "fabric/name_pattern.h"

TEST(patterns_and_lists_match_names)
{
	static const struct { const char *pattern, *name; bool matches; } cases[] = {
		{ "node01", "node01", true },            { "node01", "node011", false },
		{ "leaf*", "leaf-u01", true },           { "node00[1-4]?", "node0035", true },
		{ "node[1-4]", "node3", true },          { "node[1-4]", "node12", false },
		{ "node[001-016]", "node007", true },    { "node[001-016]", "node7", false },
		{ "node[001-016]", "node0007", false },  { "node[001-016]", "node017", false },
		{ "node[1,10]", "node10", true },        { "node[1,10]", "node1", true },
		{ "node[1,10]", "node01", false },       { "node[8-12]", "node[8-12]", false },
		{ "node[08-12]", "node10", true },       { "node[8-120]", "node100", true },
		{ "node[01-02]0", "node010", true },     { "node[01-02]0", "node01", false },
		{ "r[01-02]n[1,3]", "r02n3", true },     { "r[01-02]n[1,3]", "r02n2", false },
		{ "node[01-02] mlx5_*", "node01 mlx5_3", true }, { "node[01-02] mlx5_0", "node01 mlx5_3", false },
		{ "a\\x1b*", "a\\x1bc", true },          { "node[01-02]", "node99999999999999999999", false },
		{ "", "", true },                        { "node[01-02", "node01", false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (name_pattern_matches(cases[i].pattern, cases[i].name) != cases[i].matches)
			fail_msg("'%s' and '%s'", cases[i].pattern, cases[i].name);
	assert_true(name_pattern_is_list("node[001-016]") && !name_pattern_is_list("node[1-4]"));
	assert_false(name_pattern_is_list("@node[001-016]"));
}
