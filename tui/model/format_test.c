/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/unit_test.h"
#include "tui/model/format.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/text.h"

/* Plain, wide, combining and invalid characters. */
static const char *const letters[] = {
	"a", "Z", "0", " ", "/", "\xc3\xa9", "\xe6\x97\xa5", "\xf0\x9f\x98\x80", "e\xcc\x81", "\xff", "\\x1b",
};

static void random_text(uint64_t seed, char *ret, size_t size)
{
	size_t count = map_mix(seed) % 300, len = 0;

	ret[0] = '\0';
	while (count--) {
		const char *letter = letters[(seed = map_mix(seed + 1)) % (sizeof(letters) / sizeof(letters[0]))];

		if (len + strlen(letter) + 1 > size)
			return;
		len += (size_t)sprintf(ret + len, "%s", letter);
	}
}

TEST(a_cell_is_exactly_as_wide_as_its_column)
{
	char text[1024], cell[CELL_SIZE];

	for (uint64_t seed = 1; seed < 20000; seed++) {
		unsigned columns = (unsigned)(map_mix(seed * 7) % 301);
		enum align align = (enum align)(seed % 3);
		bool unicode = seed % 2;

		random_text(seed, text, sizeof(text));
		format_fit(text, columns, align, unicode, cell);
		assert_true(strlen(cell) < CELL_SIZE);
		assert_int_equal(text_columns(cell), columns);
		for (size_t i = 0; !unicode && cell[i]; i++)
			assert_true((unsigned char)cell[i] < 0x80);
	}
}

TEST(text_that_fits_is_not_cut)
{
	char cell[CELL_SIZE];

	assert_string_equal(format_fit("abc", 5, ALIGN_LEFT, true, cell), "abc  ");
	assert_string_equal(format_fit("abc", 5, ALIGN_RIGHT, true, cell), "  abc");
	assert_string_equal(format_fit("abc", 3, ALIGN_NAME, true, cell), "abc");
	assert_string_equal(format_fit("", 2, ALIGN_RIGHT, false, cell), "  ");
	assert_string_equal(format_fit("abc", 0, ALIGN_LEFT, true, cell), "");
}

TEST(cut_text_ends_in_an_ellipsis)
{
	char cell[CELL_SIZE];

	assert_string_equal(format_fit("abcdef", 4, ALIGN_LEFT, true, cell), "abc\xe2\x80\xa6");
	assert_string_equal(format_fit("abcdef", 4, ALIGN_LEFT, false, cell), "abc~");
	/* The numbers of host and port stay. */
	assert_string_equal(format_fit("node0044 mlx5_0/1", 16, ALIGN_NAME, false, cell), "~de0044 mlx5_0/1");
	assert_string_equal(format_fit("leaf-u01-r7/14", 10, ALIGN_NAME, true, cell), "\xe2\x80\xa6u01-r7/14");
	/* Half a wide character is a blank. */
	assert_string_equal(format_fit("\xe6\x97\xa5\xe6\x9c\xac", 3, ALIGN_LEFT, true, cell),
			    "\xe6\x97\xa5\xe2\x80\xa6");
	assert_string_equal(format_fit("\xe6\x97\xa5\xe6\x9c\xac", 2, ALIGN_LEFT, true, cell), "\xe2\x80\xa6 ");
}

TEST(a_line_ends_behind_a_word_where_one_fits)
{
	char text[1024];

	assert_int_equal(format_line("one two", 7), 7);
	assert_int_equal(format_line("one two", 6), 3);
	assert_int_equal(format_line("one two", 3), 3);
	assert_int_equal(format_line("one two", 2), 2);
	assert_int_equal(format_line("\xe6\x97\xa5", 1), 0);
	assert_int_equal(format_line("", 5), 0);
	for (uint64_t seed = 1; seed < 2000; seed++) {
		size_t columns = map_mix(seed * 3) % 100, bytes;

		random_text(seed, text, sizeof(text));
		bytes = format_line(text, columns);
		assert_true(!text[bytes] || text[bytes] == ' ' || !memchr(text, ' ', bytes) ||
			    strchr(text, ' ') == text);
		text[bytes] = '\0';
		assert_true(text_columns(text) <= columns);
	}
}

TEST(times_are_local)
{
	char text[32];

	setenv("TZ", "UTC-1", 1);
	tzset();
	assert_string_equal(format_time(INT64_C(1790000000) * US_PER_S, "%Y-%m-%d %H:%M:%S", text, sizeof(text)),
			    "2026-09-21 15:13:20");
	assert_string_equal(format_time(0, "%H:%M", text, 3), "");
}

TEST(a_bar_grows_with_its_share_and_keeps_its_width)
{
	char bar[CELL_SIZE];

	for (unsigned columns = 0; columns < 40; columns++)
		for (int unicode = 0; unicode < 2; unicode++) {
			long before = -1;

			for (int percent = 0; percent <= 120; percent++) {
				/* Marks of a bar: bytes above ASCII, or '#'. */
				long marks = 0;
				const char *at;

				format_bar(measure_of(percent, true), columns, unicode, bar);
				assert_int_equal(text_columns(bar), columns);
				for (at = bar; *at; at++)
					marks += *at == '#' || ((unsigned char)*at & 0xc0) == 0xc0;
				assert_true(marks >= before);
				before = marks;
			}
			assert_int_equal(before, columns);
		}
	assert_string_equal(format_bar(measure_of(0, true), 4, true, bar), "    ");
	assert_string_equal(format_bar(measure_of(0, true), 4, false, bar), "....");
	assert_string_equal(format_bar(measure_of(NAN, true), 4, false, bar), "    ");
	assert_string_equal(format_bar(measure_of(50, true), 4, false, bar), "##..");
	/* Any traffic is visible. */
	assert_string_equal(format_bar(measure_of(0.001, true), 2, true, bar), "\xe2\x96\x8f ");
}

TEST(rates_fit_their_column)
{
	char text[32];
	double bits;

	assert_string_equal(format_rate(measure_of(NAN, true), 6, text, sizeof(text)), "-");
	assert_string_equal(format_rate(measure_of(0, true), 6, text, sizeof(text)), "0");
	assert_string_equal(format_rate(measure_of(182.4e9 / 8, true), 6, text, sizeof(text)), "182.4G");
	assert_string_equal(format_rate(measure_of(182.4e9 / 8, true), 10, text, sizeof(text)), "182.4 Gb/s");
	for (bits = 1; bits < 1e16; bits *= 1.37) {
		assert_true(strlen(format_rate(measure_of(bits / 8, true), 6, text, sizeof(text))) <= 6);
		assert_true(strlen(format_rate(measure_of(bits / 8, true), 10, text, sizeof(text))) <= 10);
	}
}

TEST(percents_fit_four_columns)
{
	char text[32];

	for (int i = 0; i < 12000; i++)
		for (int exact = 0; exact < 2; exact++)
			assert_true(strlen(format_percent(measure_of(i / 100.0, exact), text, sizeof(text))) <= 4);
	assert_string_equal(format_percent(measure_of(NAN, true), text, sizeof(text)), "-");
	assert_string_equal(format_percent(measure_of(9.94, true), text, sizeof(text)), "9.9%");
	assert_string_equal(format_percent(measure_of(9.96, true), text, sizeof(text)), "10%");
}

TEST(counts_fit_their_column)
{
	char text[32];

	for (unsigned columns = 4; columns < 24; columns++)
		for (uint64_t count = 1; count < UINT64_MAX / 3; count = count * 2 + count / 7 + 1)
			assert_true(strlen(format_count(count, columns, text, sizeof(text))) <= columns);
	assert_string_equal(format_count(0, 4, text, sizeof(text)), "0");
	assert_string_equal(format_count(4096, 24, text, sizeof(text)), "4,096");
	assert_string_equal(format_count(4096, 4, text, sizeof(text)), "4096");
	assert_string_equal(format_count(12345, 4, text, sizeof(text)), "12k");
	assert_string_equal(format_count(UINT64_MAX, 4, text, sizeof(text)), "18E");
	assert_string_equal(format_count(18446744073709551615u, 26, text, sizeof(text)), "18,446,744,073,709,551,615");
}

TEST(ages_fit_three_columns)
{
	char text[32];

	for (int64_t age_us = 1; age_us < INT64_MAX / 3; age_us = age_us * 2 + age_us / 3 + 1)
		assert_true(strlen(format_age(age_us, text, sizeof(text))) <= 3);
	assert_string_equal(format_age(-1, text, sizeof(text)), "-");
	assert_string_equal(format_age(0, text, sizeof(text)), "0s");
	assert_string_equal(format_age(99 * US_PER_S, text, sizeof(text)), "99s");
	assert_string_equal(format_age(100 * US_PER_S, text, sizeof(text)), "1m");
	assert_string_equal(format_age(100 * 3600 * US_PER_S, text, sizeof(text)), "4d");
	assert_string_equal(format_age(200 * 86400 * US_PER_S, text, sizeof(text)), "<1y");
}
