/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/filter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/map.h"
#include "base/text.h"

static void nothing_typed_keeps_everything(void **state)
{
	struct filter filter;

	(void)state;
	filter_set(&filter, "");
	assert_true(filter_matches(&filter, "leaf01/3"));
	assert_true(filter_matches(&filter, ""));
	filter_set(&filter, "||");
	assert_true(filter_matches(&filter, "leaf01/3"));
}

static void either_alternative_matches(void **state)
{
	struct filter filter;

	(void)state;
	filter_set(&filter, "leaf|spine");
	assert_true(filter_matches(&filter, "leaf01/3"));
	assert_true(filter_matches(&filter, "my spine07/3"));
	assert_false(filter_matches(&filter, "node0001 mlx5_0/1"));
	/* While the second one is being typed it does not match everything. */
	filter_set(&filter, "leaf|");
	assert_false(filter_matches(&filter, "spine07/3"));
}

static void the_case_of_letters_does_not_matter(void **state)
{
	struct filter filter;

	(void)state;
	filter_set(&filter, "MLX5_0");
	assert_true(filter_matches(&filter, "node0001 mlx5_0/1"));
	filter_set(&filter, "leaf");
	assert_true(filter_matches(&filter, "LEAF01"));
}

/* The same, the slow and plain way. */
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

static void random_filters_agree_with_a_plain_search(void **state)
{
	static const char alphabet[] = "abAB|/1";
	uint64_t seed = 1;
	int round, matches = 0;

	(void)state;
	for (round = 0; round < 50000; round++) {
		char typed[8] = "", text[16] = "";
		struct filter filter;
		size_t i;

		for (i = 0; i < (seed = map_mix(seed + 1)) % sizeof(typed); i++)
			typed[i] = alphabet[(seed + i * 31) / 7 % 7];
		for (i = 0; i < (seed = map_mix(seed + 1)) % sizeof(text); i++)
			text[i] = alphabet[(seed + i * 17) / 5 % 7];
		typed[sizeof(typed) - 1] = text[sizeof(text) - 1] = '\0';
		filter_set(&filter, typed);
		assert_int_equal(filter_matches(&filter, text), plain_matches(typed, text));
		matches += filter_matches(&filter, text);
	}
	assert_in_range(matches, 1000, 49000);
}

static void typing_and_erasing_work_in_whole_characters(void **state)
{
	struct filter filter;
	int i;

	(void)state;
	filter_set(&filter, "");
	filter_append(&filter, "a");
	filter_append(&filter, "\xe6\x97\xa5");
	assert_string_equal(filter.typed, "a\xe6\x97\xa5");
	assert_true(filter_matches(&filter, "xa\xe6\x97\xa5"));
	filter_erase(&filter);
	assert_string_equal(filter.typed, "a");
	filter_erase(&filter);
	filter_erase(&filter);
	assert_string_equal(filter.typed, "");
	for (i = 0; i < FILTER_SIZE; i++)
		filter_append(&filter, "\xe6\x97\xa5");
	/* Full: no character is half there. */
	assert_int_equal(strlen(filter.typed) % 3, 0);
	assert_int_equal(text_columns(filter.typed), 2 * (strlen(filter.typed) / 3));
}

static void a_filter_too_long_is_cut_and_harmless(void **state)
{
	char typed[4 * FILTER_SIZE];
	struct filter filter;
	size_t i;

	(void)state;
	for (i = 0; i + 1 < sizeof(typed); i++)
		typed[i] = i % 2 ? '|' : (char)('a' + i / 2 % 26);
	typed[i] = '\0';
	filter_set(&filter, typed);
	assert_int_equal(filter.word_count, FILTER_WORDS);
	assert_true(filter_matches(&filter, "a"));
	assert_false(filter_matches(&filter, "1"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_typed_keeps_everything),
		cmocka_unit_test(either_alternative_matches),
		cmocka_unit_test(the_case_of_letters_does_not_matter),
		cmocka_unit_test(random_filters_agree_with_a_plain_search),
		cmocka_unit_test(typing_and_erasing_work_in_whole_characters),
		cmocka_unit_test(a_filter_too_long_is_cut_and_harmless),
	};

	return cmocka_run_group_tests_name("tui_filter", tests, NULL, NULL);
}
