/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/unit_test.h"
#include "tui/model/filter.h"

#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "base/text.h"
#include "tui/draw/key.h"
#include "tui/draw/prompt.h"

static bool matches(const struct filter *filter, const char *text)
{
	return filter_matches(filter, text, 0);
}

TEST(nothing_typed_keeps_everything)
{
	struct filter filter = { 0 };

	filter_set(&filter, "");
	assert_true(matches(&filter, "leaf01/3"));
	assert_true(matches(&filter, ""));
	filter_set(&filter, "||");
	assert_true(matches(&filter, "leaf01/3"));
}

TEST(either_alternative_matches)
{
	struct filter filter = { 0 };

	filter_set(&filter, "leaf|spine");
	assert_true(matches(&filter, "leaf01/3"));
	assert_true(matches(&filter, "my spine07/3"));
	assert_false(matches(&filter, "node0001 mlx5_0/1"));
	/* While the second one is being typed it does not match everything. */
	filter_set(&filter, "leaf|");
	assert_false(matches(&filter, "spine07/3"));
}

TEST(the_case_of_letters_does_not_matter)
{
	struct filter filter = { 0 };

	filter_set(&filter, "MLX5_0");
	assert_true(matches(&filter, "node0001 mlx5_0/1"));
	filter_set(&filter, "leaf");
	assert_true(matches(&filter, "LEAF01"));
}

/* The same by a simple search. */
static bool plain_matches(const char *typed, const char *text)
{
	char copy[FILTER_SIZE], *rest = copy, *word;
	bool any = false;

	snprintf(copy, sizeof(copy), "%s", typed);
	while ((word = strsep(&rest, "|"))) {
		if (!*word)
			continue;
		any = true;
		if (strcasestr(text, word))
			return true;
	}
	return !any;
}

TEST(random_filters_agree_with_a_plain_search)
{
	static const char alphabet[] = "abAB|/1";
	uint64_t seed = 1;
	int hits = 0;

	for (int round = 0; round < 50000; round++) {
		char typed[8] = "", text[16] = "";
		struct filter filter = { 0 };

		for (size_t i = 0; i < (seed = map_mix(seed + 1)) % sizeof(typed); i++)
			typed[i] = alphabet[(seed + i * 31) / 7 % 7];
		for (size_t i = 0; i < (seed = map_mix(seed + 1)) % sizeof(text); i++)
			text[i] = alphabet[(seed + i * 17) / 5 % 7];
		typed[sizeof(typed) - 1] = text[sizeof(text) - 1] = '\0';
		filter_set(&filter, typed);
		assert_int_equal(matches(&filter, text), plain_matches(typed, text));
		hits += matches(&filter, text);
	}
	assert_in_range(hits, 1000, 49000);
}

TEST(typing_and_erasing_handle_multibyte_characters)
{
	struct filter filter = { 0 };
	bool typing = true;

	filter_set(&filter, "");
	setlocale(LC_CTYPE, "C.UTF-8");
	filter_key(&filter, &typing, 'a');
	filter_key(&filter, &typing, 0x65e5);
	assert_string_equal(filter.typed, "a\xe6\x97\xa5");
	assert_true(matches(&filter, "xa\xe6\x97\xa5"));
	filter_key(&filter, &typing, KEY_DELETE);
	assert_string_equal(filter.typed, "a");
	filter_key(&filter, &typing, KEY_DELETE);
	filter_key(&filter, &typing, KEY_DELETE);
	assert_string_equal(filter.typed, "");
	for (int i = 0; i < FILTER_SIZE; i++)
		filter_key(&filter, &typing, 0x65e5);
	/* When full, the last character is complete. */
	assert_int_equal(strlen(filter.typed) % 3, 0);
	assert_int_equal(text_columns(filter.typed), 2 * (strlen(filter.typed) / 3));
}

TEST(keys_edit_keep_or_end_a_filter)
{
	struct filter filter = { 0 };
	bool typing = true;

	for (const char *key = "leaf"; *key; key++)
		assert_true(filter_key(&filter, &typing, *key));
	assert_true(filter_key(&filter, &typing, KEY_SPECIAL(KEY_BACKSPACE)));
	assert_string_equal(filter.typed, "lea");
	assert_false(filter_key(&filter, &typing, KEY_SPECIAL(KEY_DOWN)));
	assert_true(typing && filter_key(&filter, &typing, '\r'));
	assert_false(typing);
	assert_string_equal(filter.typed, "lea");
	typing = true;
	assert_true(filter_key(&filter, &typing, KEY_CTRL('u')) && typing);
	assert_string_equal(filter.typed, "");
	assert_true(filter_key(&filter, &typing, 127) && !typing);
	filter_set(&filter, "spine");
	typing = true;
	assert_true(filter_key(&filter, &typing, KEY_ESCAPE) && !typing);
	assert_string_equal(filter.typed, "");
	filter_done(&filter);
}

TEST(control_characters_are_not_taken)
{
	static const int keys[] = { 0x7f, 0x85, 0x9b, '\t', 'a', ' ', 'b' };
	struct filter filter = { 0 };
	bool typing = true;

	setlocale(LC_CTYPE, "C.UTF-8");
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		filter_key(&filter, &typing, keys[i]);
	assert_string_equal(filter.typed, "a b");
	filter_done(&filter);
}

TEST(a_filter_too_long_is_cut_and_harmless)
{
	char typed[4 * FILTER_SIZE];
	struct filter filter = { 0 };
	size_t i;

	for (i = 0; i + 1 < sizeof(typed); i++)
		typed[i] = i % 2 ? '|' : (char)('a' + i / 2 % 26);
	typed[i] = '\0';
	filter_set(&filter, typed);
	assert_int_equal(filter.select.term_count, SELECT_TERMS);
	assert_true(matches(&filter, "a"));
	assert_false(matches(&filter, "1"));
}

TEST(blanks_are_and_and_an_exclamation_mark_is_not)
{
	struct filter filter = { 0 };

	filter_set(&filter, "leaf 4xhdr");
	assert_true(matches(&filter, "leaf01/1\n4xHDR"));
	assert_false(matches(&filter, "leaf01/1\n1xHDR"));
	filter_set(&filter, "leaf !4xhdr|spine");
	assert_false(matches(&filter, "leaf01/1\n4xHDR"));
	assert_true(matches(&filter, "leaf01/1\n1xHDR"));
	assert_true(matches(&filter, "spine01/1\n4xHDR"));
	/* An incomplete term matches everything. */
	filter_set(&filter, "!");
	assert_true(matches(&filter, "leaf01/1"));
}

TEST(expressions_match_as_in_grep)
{
	static const struct { const char *typed, *text; bool matches; } cases[] = {
		{ "leaf(01|02)/", "leaf02/3", true },   { "leaf(01|02)/", "leaf03/3", false },
		{ "^node.*1$", "leaf01/1\nnode01/1", true }, { "^01", "leaf01/1", false },
		{ "LEAF[0-9]+/1$", "leaf17/1", true },   { "leaf[|]", "leaf|", true },
		{ "a.c", "a\nc", false },                { "n(a b|c d)", "na b", true },
		{ "n(a b|c d)", "na", false },            { "[[:digit:]]{3}", "x123", true },
		{ "!^leaf", "leaf01", false },            { "!^leaf", "spine01", true },
		{ "x\\|y", "x|y", true },                 { "x\\|y", "y", false },
	};
	struct filter filter = { 0 };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		filter_set(&filter, cases[i].typed);
		assert_string_equal(filter.trouble, "");
		assert_int_equal(matches(&filter, cases[i].text), cases[i].matches);
	}
	filter_done(&filter);
}

TEST(an_invalid_expression_is_reported_and_matched_as_text)
{
	static const char *const broken[] = { "leaf(01", "leaf[01", "leaf)*(", "x{1,0}" };
	struct filter filter = { 0 };

	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		char text[64];

		filter_set(&filter, broken[i]);
		assert_non_null(strstr(filter.trouble, "matched as plain text"));
		snprintf(text, sizeof(text), "a %s b", broken[i]);
		assert_true(matches(&filter, text));
		assert_false(matches(&filter, "leaf01/1"));
	}
	filter_done(&filter);
}

/* The bad ones take regcomp() gigabytes, or matching does not end; the good ones are close to the limit. */
TEST(an_expression_that_costs_too_much_is_refused)
{
	static const struct { const char *text; bool is_good; } cases[] = {
		{ "((a{255}){255}){255}", false }, { "(((x{99}){99}){99}){9}", false }, { "(a?){1001}", false },
		{ "((((((((((((((((((((a+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+", false },
		{ "(.*)(.*)(.*)(.*)(.*)\\1x", false }, { "a{1,4294967297}", false }, { "(a{900,}){2}", false },
		{ "(a{1000})", true }, { "0x[0-9a-f]{16}", true }, { "([0-9]{1,3}\\.){3}[0-9]{1,3}", true },
		{ "\\(a\\)[)(+*]{9}(b|c)+", true }, { "leaf[0-9]+ (mlx5_[0-9]+)/[0-9]+", true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char why[80] = "";
		regex_t regex;
		int code = filter_compile(&regex, cases[i].text, why, sizeof(why));

		assert_int_equal(!code, cases[i].is_good);
		assert_int_equal(!why[0], cases[i].is_good);
		if (!code)
			regfree(&regex);
	}
}

TEST(keys_hold_where_the_bits_of_the_row_are)
{
	struct filter filter = { 0 };

	filter_set(&filter, "TIER:2 leaf");
	assert_int_equal(filter.select.terms[0].key, SELECT_TIER);
	assert_true(filter_has_keys(&filter) && filter_reads(&filter));
	assert_true(filter_matches(&filter, "leaf01", 1));
	assert_false(filter_matches(&filter, "leaf01", 0));
	assert_false(filter_matches(&filter, "spine01", 1));
	filter_set(&filter, "tier:3|!rail:1");
	assert_true(filter_matches(&filter, "leaf01", 0));
	assert_true(filter_matches(&filter, "leaf01", 3));
	assert_false(filter_matches(&filter, "leaf01", 2));
	/* Without a value it matches everything. */
	filter_set(&filter, "tier:");
	assert_true(matches(&filter, "leaf01"));
	/* An unknown key. */
	filter_set(&filter, "tire:2");
	assert_string_equal(filter.trouble, "matched as text: there is no key 'tire': did you mean 'tier'?");
	assert_true(matches(&filter, "MF0;tire:2"));
	/* Other text with a colon is plain text. */
	filter_set(&filter, "u01:mqm");
	assert_string_equal(filter.trouble, "");
	assert_true(matches(&filter, "MF0;U01:MQM8700/U1"));
	filter_done(&filter);
}

TEST(whatever_is_typed_does_no_harm)
{
	static const char alphabet[] = "a|( )[]^$\\*+?{}1,:!.-tier";
	struct filter filter = { 0 };
	uint64_t seed = 7;

	for (int round = 0; round < 20000; round++) {
		char typed[24];
		size_t len = (seed = map_mix(seed + 1)) % (sizeof(typed) - 1);

		for (size_t i = 0; i < len; i++)
			typed[i] = alphabet[(seed = map_mix(seed + 1)) % (sizeof(alphabet) - 1)];
		typed[len] = '\0';
		filter_set(&filter, typed);
		assert_string_equal(filter.typed, typed);
		matches(&filter, "leaf01/1\nnode0001 mlx5_0/1\nok");
	}
	filter_done(&filter);
}

TEST(a_word_is_found_as_by_strcasestr)
{
	static const char characters[] = "aAbB1\xc3\xa9/ ";
	char text[24], word[5];

	for (uint64_t i = 0; i < 200000; i++) {
		uint64_t seed = map_mix(i);
		size_t len = seed % sizeof(text), short_len = seed / 64 % sizeof(word);

		for (size_t at = 0; at < len; at++, seed = map_mix(seed))
			text[at] = characters[seed % (sizeof(characters) - 1)];
		text[len] = '\0';
		for (size_t at = 0; at < short_len; at++, seed = map_mix(seed))
			word[at] = characters[seed % (sizeof(characters) - 1)];
		word[short_len] = '\0';
		assert_ptr_equal(filter_find(text, word), strcasestr(text, word));
	}
}
