/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* theme_test.c - roles that must differ do so, with any number of colours and with none */

#include "base/unit_test.h"
#include "tui/draw/theme.h"

static const int counts[] = { 0, 8, 16, 88, 256 };

static int differ(const struct theme *theme, enum role a, enum role b)
{
	return theme->colors[a] != theme->colors[b] || theme->attributes[a] != theme->attributes[b];
}

TEST(important_roles_differ_from_others)
{
	static const enum role apart[][2] = {
		{ ROLE_CRITICAL, ROLE_WARNING },   { ROLE_CRITICAL, ROLE_TEXT },      { ROLE_CRITICAL, ROLE_FAINT },
		{ ROLE_CRITICAL, ROLE_STRONG },    { ROLE_WARNING, ROLE_TEXT },       { ROLE_WARNING, ROLE_FAINT },
		{ ROLE_SILENT, ROLE_TEXT },        { ROLE_LOCKED, ROLE_TEXT },        { ROLE_DOWN, ROLE_TEXT },
		{ ROLE_LOAD_HIGH, ROLE_LOAD_LOW }, { ROLE_LOAD_HIGH, ROLE_LOAD_MIDDLE }, { ROLE_HEAD, ROLE_SORTED },
		{ ROLE_KEY, ROLE_TEXT },           { ROLE_FAINT, ROLE_TEXT },
	};
	struct theme theme;

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		theme_make(&theme, counts[i], true);
		for (size_t j = 0; j < sizeof(apart) / sizeof(apart[0]); j++)
			if (!differ(&theme, apart[j][0], apart[j][1]))
				fail_msg("%d colours: roles %u and %u look alike", counts[i], apart[j][0], apart[j][1]);
	}
}

/* So the cursor is visible on a cell of any other role. */
TEST(only_heads_are_reversed)
{
	struct theme theme;

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		theme_make(&theme, counts[i], true);
		for (int role = 0; role < ROLE_COUNT; role++)
			assert_true(!(theme.attributes[role] & A_REVERSE) ==
				    (role != ROLE_HEAD && role != ROLE_SORTED &&
				     (role != ROLE_CURSOR || counts[i])));
	}
}

TEST(colors_are_within_the_number_of_colors)
{
	struct theme theme;

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		theme_make(&theme, counts[i], true);
		for (int role = 0; role < ROLE_COUNT; role++)
			assert_true(theme.colors[role] < counts[i] && theme.colors[role] >= -1);
	}
}
