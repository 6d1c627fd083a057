/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <iconv.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "base/map.h"
#include "base/text.h"
#include "base/unit_test.h"
#include "base/when.h"

TEST(number_is_formatted_as_by_printf)
{
	static const uint64_t values[] = {
		0, 1, 9, 10, 15, 16, 255, 65535, UINT32_MAX, INT64_MAX, UINT64_MAX - 1, UINT64_MAX,
	};

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		struct text text = { 0 }, expected = { 0 };

		text_append_number(&text, values[i], 10);
		text_append(&text, " ");
		text_append_number(&text, values[i], 16);
		text_appendf(&expected, "%" PRIu64 " %" PRIx64, values[i], values[i]);
		assert_string_equal(text_chars(&text), text_chars(&expected));
		text_done(&text);
		text_done(&expected);
	}
}

TEST(map_returns_stored_values)
{
	struct map map = { 0 };
	uint32_t value;

	assert_false(map_get(&map, 0, &value));
	for (uint64_t key = 0; key < 100000; key++)
		assert_int_equal(map_put(&map, key * key, (uint32_t)key), 0);
	assert_int_equal(map_put(&map, 9, 77), 0);
	for (uint64_t key = 0; key < 100000; key++) {
		assert_true(map_get(&map, key * key, &value));
		assert_int_equal(value, key == 3 ? 77 : key);
	}
	assert_false(map_get(&map, 2, &value));
	assert_int_equal(map.count, 100000);
	map_done(&map);
}

TEST(text_grows)
{
	struct text text = { 0 };

	assert_string_equal(text_chars(&text), "");
	for (int i = 0; i < 1000; i++)
		text_appendf(&text, "%03d", i);
	assert_int_equal(text.len, 3000);
	assert_memory_equal(text_chars(&text) + 2997, "999", 4);
	text_done(&text);
}

TEST(unsafe_characters_are_escaped)
{
	static const struct { const char *bytes, *clean; } cases[] = {
		{ "  node0001 mlx5_0 ", "node0001 mlx5_0" }, { "a\x1b[31mb\x07", "a\\x1b[31mb\\x07" },
		{ "tab\tnew\nline\r\x7f", "tab\\x09new\\x0aline\\x0d\\x7f" },
		{ "gr\xc3\xbc\xc3\x9f" "e \xe2\x82\xac \xf0\x9f\x98\x80",
		  "gr\xc3\xbc\xc3\x9f" "e \xe2\x82\xac \xf0\x9f\x98\x80" },
		{ "\xff\xc0\x80\xed\xa0\x80", "\\xff\\xc0\\x80\\xed\\xa0\\x80" },
		{ "cut \xe2\x82", "cut \\xe2\\x82" }, { "c1 \xc2\x9b" "31m", "c1 \\xc2\\x9b31m" },
		{ "rtl \xe2\x80\xae" "cod", "rtl \\xe2\\x80\\xae" "cod" }, { "\\x1b", "\\x5cx1b" },
		{ "a\\b", "a\\b" }, { "   ", "" },
	};
	char clean[300];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		text_sanitise(cases[i].bytes, strlen(cases[i].bytes), clean, sizeof(clean));
		assert_string_equal(clean, cases[i].clean);
	}
}

/* Output is valid UTF-8 without control characters, within the size. */
TEST(any_bytes_become_printable)
{
	uint64_t random = 5;

	for (int run = 0; run < 100000; run++) {
		char bytes[64], ret[260], again[1100];
		size_t size = 1 + (random >> 20) % sizeof(ret);

		for (size_t i = 0; i < sizeof(bytes); i++) {
			random = map_mix(random + 1);
			bytes[i] = (char)(run % 2 ? random : (random % 3 ? 0xe0 + random % 32 : random));
		}
		text_sanitise(bytes, sizeof(bytes), ret, size);
		assert_true(strlen(ret) < size);
		for (size_t i = 0; ret[i]; i++)
			assert_true((unsigned char)ret[i] >= 0x20 && ret[i] != 0x7f);
		/* Clean text is unchanged, except that "\x" is escaped. */
		text_sanitise(ret, strlen(ret), again, sizeof(again));
		for (size_t i = 0; again[i]; i++)
			assert_false(again[i] == '\\' && again[i + 1] == 'x' && strncmp(again + i, "\\x5cx", 5) &&
				     !strstr(ret, "\\x"));
		assert_true(text_columns(ret) <= strlen(ret));
		assert_true(text_prefix_bytes(ret, 10) <= strlen(ret));
	}
}

TEST(columns_are_terminal_columns)
{
	assert_int_equal(text_columns("abc"), 3);
	assert_int_equal(text_columns("gr\xc3\xbc\xc3\x9f" "e"), 5);
	assert_int_equal(text_columns("\xe6\x97\xa5\xe6\x9c\xac"), 4);
	assert_int_equal(text_prefix_bytes("\xe6\x97\xa5\xe6\x9c\xac", 3), 3);
	assert_int_equal(text_prefix_bytes("abc", 2), 2);
}

TEST(lines_are_wrapped_between_words)
{
	struct text text = { 0 };

	text_append(&text, "note: ");
	text_append_wrapped(&text, "the first  line, averyverylongword end\x1b", 6, 2, 16);
	assert_string_equal(text_chars(&text), "note: the first\n  line,\n  averyverylongword\n  end\\x1b\n");
	text_done(&text);
}

static unsigned digits_of(const char *chars, size_t len)
{
	unsigned count = 0;

	for (size_t i = 0; i < len; i++)
		count += chars[i] >= '0' && chars[i] <= '9';
	return count;
}

/* "~" is the mark. */
static const char *cut(const char *name, size_t columns, char *ret)
{
	struct text_cut at = text_cut_name(name, columns);

	sprintf(ret, "%.*s~%s", (int)at.head, name, name + at.tail);
	return ret;
}

TEST(a_cut_name_keeps_its_numbers_and_its_end)
{
	static const struct { const char *name; size_t columns; const char *expected; } cases[] = {
		{ "leaf-u01-r7/14", 12, "~f-u01-r7/14" }, { "leaf-u01-r7/14", 8, "~1-r7/14" },
		{ "node0044 mlx5_0/1", 16, "~de0044 mlx5_0/1" }, { "node0044 mlx5_0/1", 12, "node0044~0/1" },
		{ "node0044 mlx5_0/1 > leaf-u01-r7/14", 24, "node0044 mlx5_0~01-r7/14" },
		{ "gpu0007.site.example.net mlx5_0/1", 20, "gpu0007~net mlx5_0/1" },
		{ "B09-P1-IBLEAF-03-05/34", 16, "B09-P1~-03-05/34" }, { "ab", 1, "~" }, { "abc", 2, "~c" },
		{ "\xe6\x97\xa5\xe6\x9c\xac" "12", 4, "~12" }, { "xe\xcc\x81yz", 3, "~yz" },
	};
	static const char *const words[][3] = {
		{ "leaf-u0", "-r", "/" }, { "node000", " mlx5_", "/" }, { "rack-", "-sw", ".ib.site.net/" },
	};
	char ret[200], name[100], others[256][100];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(cut(cases[i].name, cases[i].columns, ret), cases[i].expected);
	/* Names of one pattern stay different as long as all their digits fit in two runs of the columns. */
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		for (unsigned k = 0; k < 256; k++) {
			sprintf(name, "%s%u%s%u%s%u", words[i][0], k % 8 + 1, words[i][1], k / 8 % 8,
				words[i][2], k / 64 + 1);
			cut(name, 13, others[k]);
			for (unsigned before = 0; before < k; before++)
				assert_string_not_equal(others[before], others[k]);
		}
	/* Against all ways to cut. */
	for (uint64_t seed = 1; seed < 3000; seed++) {
		size_t len = map_mix(seed) % 40 + 3, columns = map_mix(seed + 1) % (len - 2) + 2;
		unsigned fewest = UINT32_MAX, removed;

		for (size_t i = 0; i < len; i++)
			name[i] = "ab-/0123"[map_mix(seed * 64 + i) % 8];
		name[len] = '\0';
		for (size_t from = 0; from + (len - columns + 1) < len; from++) {
			removed = digits_of(name + from, len - columns + 1);
			fewest = removed < fewest ? removed : fewest;
		}
		cut(name, columns, ret);
		assert_int_equal(strlen(ret), columns);
		assert_int_equal(digits_of(name, len) - digits_of(ret, columns), fewest);
		assert_int_equal(ret[columns - 1], name[len - 1]);
	}
}

TEST(distance_counts_an_exchange_of_neighbours_once)
{
	assert_int_equal(text_distance("ports", "ports"), 0);
	assert_int_equal(text_distance("prots", "ports"), 1);
	assert_int_equal(text_distance("", "abc"), 3);
	assert_int_equal(text_distance("kitten", "sitting"), 3);
}

TEST(utc_time_is_formatted_as_by_strftime)
{
	for (uint64_t i = 0; i < 100000; i++) {
		/* Of years 1000 to 9999 (strftime() does not fill up earlier ones), ends of days among them. */
		int64_t s = (int64_t)(map_mix(i) % 284012524800) - 30610224000;
		int64_t fraction_us = (int64_t)(map_mix(~i) % 1000000);
		time_t seconds = i % 4 ? s : s - s % 86400 - (int64_t)(i / 4 % 2);
		char text[WHEN_SIZE], expected[WHEN_SIZE + 16];
		size_t len;

		len = strftime(expected, sizeof(expected), "%Y-%m-%dT%H:%M:%S", gmtime(&seconds));
		snprintf(expected + len, sizeof(expected) - len, ".%06dZ", (int)fraction_us);
		assert_string_equal(when_format_utc((int64_t)seconds * 1000000 + fraction_us, text), expected);
	}
}

TEST(extreme_times_are_formatted)
{
	static const struct { int64_t us; const char *text; } edges[] = {
		{ -1, "1969-12-31T23:59:59.999999Z" }, { 1795183200123456, "2026-11-20T14:00:00.123456Z" },
		{ INT64_MAX, "294247-01-10T04:00:54.775807Z" }, { INT64_MIN, "-290308-12-21T19:59:05.224192Z" },
		{ INT64_C(-62135596800000000), "0001-01-01T00:00:00.000000Z" },
	};
	char text[WHEN_SIZE];

	for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++)
		assert_string_equal(when_format_utc(edges[i].us, text), edges[i].text);
}

static void set_zone(const char *zone)
{
	setenv("TZ", zone, 1);
	tzset();
}

/* Parse a time and format it as local time; "rejected" if it is invalid. */
static const char *local_of(const char *typed, const char *now)
{
	static char text[WHEN_SIZE];
	int64_t now_us, us = 42;

	assert_int_equal(when_parse(now, 0, &now_us, NULL), 0);
	if (when_parse(typed, now_us, &us, NULL) == 0)
		return when_format_local(us, text);
	assert_int_equal(us, 42);
	return "rejected";
}

TEST(times_are_parsed_relative_to_now_and_zone)
{
	static const char saturday[] = "2026-11-21T14:30:00.5+01:00";
	static const struct { const char *typed, *now, *local; } cases[] = {
		{ "now", saturday, "2026-11-21 14:30:00 CET" }, { "-10m", saturday, "2026-11-21 14:20:00 CET" },
		{ "10m", saturday, "2026-11-21 14:20:00 CET" }, { "1h", saturday, "2026-11-21 13:30:00 CET" },
		{ "-3d", saturday, "2026-11-18 14:30:00 CET" },
		{ "2026-11-20T14:00:00.123456Z", saturday, "2026-11-20 15:00:00 CET" },
		{ "2026-11-20T15:00:00+01:00", saturday, "2026-11-20 15:00:00 CET" },
		{ "today", saturday, "2026-11-21 00:00:00 CET" },
		{ "today 18:00", saturday, "2026-11-21 18:00:00 CET" },
		{ "yesterday", saturday, "2026-11-20 00:00:00 CET" },
		{ "Yesterday 14:00:30", saturday, "2026-11-20 14:00:30 CET" },
		{ "14:00", saturday, "2026-11-21 14:00:00 CET" }, { "14:30", saturday, "2026-11-21 14:30:00 CET" },
		{ "14:31", saturday, "2026-11-20 14:31:00 CET" }, { "sat 14:00", saturday, "2026-11-21 14:00:00 CET" },
		{ "Sat 15:00", saturday, "2026-11-14 15:00:00 CET" }, { "Sat", saturday, "2026-11-21 00:00:00 CET" },
		{ "Mon 14:00", saturday, "2026-11-16 14:00:00 CET" },
		{ "sunday", saturday, "2026-11-15 00:00:00 CET" },
		/* Across the end of summer time, of a month and of a year. */
		{ "Sat 15:00", "2026-10-26T10:00:00Z", "2026-10-24 15:00:00 CEST" },
		{ "yesterday 12:00", "2026-11-01T10:00:00Z", "2026-10-31 12:00:00 CET" },
		{ "Thu", "2027-01-01T10:00:00Z", "2026-12-31 00:00:00 CET" },
		/* 2026-10-25, 03:00 CEST becomes 02:00 CET; 2026-03-29, 02:00 CET becomes 03:00 CEST. */
		{ "2026-10-25 01:59", saturday, "2026-10-25 01:59:00 CEST" },
		{ "2026-10-25 02:30", saturday, "2026-10-25 02:30:00 CEST" },
		{ "2026-10-25T02:30:00+01:00", saturday, "2026-10-25 02:30:00 CET" },
		{ "2026-10-25 03:00", saturday, "2026-10-25 03:00:00 CET" },
		{ "2026-03-29 01:59", saturday, "2026-03-29 01:59:00 CET" },
		{ "2026-03-29 02:30", saturday, "2026-03-29 03:30:00 CEST" },
		{ "2026-03-29 03:00", saturday, "2026-03-29 03:00:00 CEST" },
		{ "today", "2026-03-29T10:00:00Z", "2026-03-29 00:00:00 CET" },
		{ "yesterday 14:00", "2026-10-25T10:00:00Z", "2026-10-24 14:00:00 CEST" },
	};
	int64_t us;

	set_zone("CET-1CEST,M3.5.0,M10.5.0/3");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(local_of(cases[i].typed, cases[i].now), cases[i].local);
	assert_int_equal(when_parse("2026-11-20T14:00:00.123456Z", 0, &us, NULL), 0);
	assert_true(us == 1795183200123456);
	set_zone("UTC0");
	assert_string_equal(local_of("2026-07-01 12:00", saturday), "2026-07-01 12:00:00 UTC");
}

/* Every half hour of two years; of a repeated hour the first is returned. */
TEST(formatted_local_time_is_parsed_back)
{
	int64_t back, twice = 0;
	char shown[WHEN_SIZE];

	set_zone("CET-1CEST,M3.5.0,M10.5.0/3");
	for (int64_t us = 1767225600000000; us < 1767225600000000 + 730 * 86400000000LL; us += 1800000000) {
		when_format_local(us, shown);
		shown[19] = '\0';
		assert_int_equal(when_parse(shown, us, &back, NULL), 0);
		twice += back == us - 3600000000LL;
		assert_true(back == us || back == us - 3600000000LL);
	}
	assert_int_equal(twice, 4);
}

TEST(invalid_times_are_rejected)
{
	static const char *const wrong[] = {
		"", " ", "today ", "today14:00", "todayish", "25:00", "14:60", "14", "14:0", "1400", "Mo 14:00",
		"Mon  14:00", "14:00 Mon", "14:00Z", "yesterday 14:00Z", "2026-02-30", "2026-13-01", "2026-11-20 ",
		"2026-11-20T", "2026-11-20x", "2026-11-20T14", "2026-11-20T14:00:00+25:00", "2026-11-20 14:00+1:0",
		"-0m", "-", "- 10m", "noon", "thursdays", "tomorrowish", "2026-11-20T14:00:00Zx",
	};
	size_t i;

	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_string_equal(local_of(wrong[i], "2026-11-21T14:30:00Z"), "rejected");
	/* Any text is a time or rejected. */
	for (uint64_t run = 0; run < 100000; run++) {
		static const char some[] = "0123456789:-+ .TZ todayMon";
		uint64_t random = map_mix(run);
		char typed[24];
		int64_t us;

		for (i = 0; i < random % sizeof(typed); i++)
			typed[i] = some[map_mix(random + i) % (sizeof(some) - 1)];
		typed[i] = '\0';
		when_parse(typed, 1795183200123456, &us, NULL);
	}
}

TEST(spans_have_units_and_bounds)
{
	static const struct { const char *typed; int64_t us; } valid[] = {
		{ "10", 10000000 }, { "500ms", 500000 }, { "1.5h", 5400000000 },
	};
	static const char *const invalid[] = { "0", "-1s", "10 parsecs", "1e300d", "nan" };
	static const struct { int64_t us; const char *text; } formats[] = {
		{ 850, "850 us" }, { 31200, "31.2 ms" }, { 4200000, "4.2 s" }, { 750000000, "12m30s" },
		{ 11100000000, "3h05m" }, { 4 * 86400000000 + 7200000000, "4d02h" }, { -4200000, "?" },
	};
	char text[WHEN_SIZE];
	int64_t us = 0;

	for (size_t i = 0; i < sizeof(valid) / sizeof(valid[0]); i++) {
		assert_int_equal(when_span_parse(valid[i].typed, &us, NULL), 0);
		assert_true(us == valid[i].us);
	}
	for (size_t i = 0; i < sizeof(invalid) / sizeof(invalid[0]); i++)
		assert_int_equal(when_span_parse(invalid[i], &us, NULL), ERR_USAGE);
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		assert_string_equal(when_format_span(formats[i].us, text), formats[i].text);
}

TEST(age_is_never_negative)
{
	const int64_t now_us = 1795183200123456, minute_us = 60000000;
	char text[WHEN_AGE_SIZE];

	assert_string_equal(when_format_age(now_us, now_us - 750000000, text), "12m30s old");
	assert_int_equal(when_age_us(now_us, now_us - 5), 5);
	assert_int_equal(when_age_us(now_us, now_us + minute_us), 0);
	assert_string_equal(when_format_age(now_us, now_us + minute_us, text), "0 us old");
	assert_int_equal(when_age_us(now_us, now_us + minute_us + 1), -1);
	assert_string_equal(when_format_age(now_us, now_us + 180 * minute_us, text),
			    "labelled 3h00m in the future; check the clock of this host and of the collector's");
}

static void assert_unread(const char *path, size_t most, const char *why)
{
	struct text text = { 0 };
	struct error err;

	assert_int_equal(text_read_file(path, "the map ", most, &text, &err), ERR_IO);
	assert_non_null(strstr(err.text, "cannot read the map "));
	assert_non_null(strstr(err.text, why));
	text_done(&text);
}

/* What is written to stderr, which is a file, by one line of each function. */
static const char *logged(char *ret, size_t size)
{
	FILE *file = tmpfile();
	int saved = dup(STDERR_FILENO);
	struct stat st;
	ssize_t len;

	assert_non_null(file);
	assert_int_equal(fstat(fileno(file), &st), 0);
	/* The journal of a parent, and not of this process, if "other" is set. */
	snprintf(ret, size, "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino + (getenv("OTHER") != NULL));
	setenv("JOURNAL_STREAM", ret, 1);
	dup2(fileno(file), STDERR_FILENO);
	log_error("a");
	log_warning("b");
	log_info("c");
	log_debug("d");
	log_state(LOG_LEVEL_ERROR, "e");
	dup2(saved, STDERR_FILENO);
	close(saved);
	unsetenv("JOURNAL_STREAM");
	len = pread(fileno(file), ret, size - 1, 0);
	assert_true(len >= 0);
	ret[len] = '\0';
	fclose(file);
	return ret;
}

TEST(lines_have_priorities_in_the_journal)
{
	struct text lines = { 0 };
	char text[256];

	log_init("p", LOG_LEVEL_DEBUG);
	assert_string_equal(logged(text, sizeof(text)),
			    "<3>p: a\n<4>p: warning: b\n<6>p: c\n<7>p: debug: d\n<3>p: e\n");
	log_init("p", LOG_LEVEL_WARNING);
	assert_string_equal(logged(text, sizeof(text)), "<3>p: a\n<4>p: warning: b\n");
	/* Elsewhere there are none: stderr is not the journal, or the lines of a thread are collected. */
	setenv("OTHER", "", 1);
	assert_string_equal(logged(text, sizeof(text)), "p: a\np: warning: b\n");
	unsetenv("OTHER");
	log_collect(&lines);
	assert_string_equal(logged(text, sizeof(text)), "");
	log_collect(NULL);
	assert_string_equal(text_chars(&lines), "p: a\np: warning: b\n");
	text_done(&lines);
}

TEST(an_error_is_one_line)
{
	struct error err;

	err_set(&err, ERR_IO, "near \"%s\"", "CREATE\n\tTABLE\x7f");
	assert_string_equal(err.text, "near \"CREATE  TABLE \"");
	err_set(&err, ERR_IO, "no table \u202e%s", "caf\u00e9 \xc2\x9b\xff");
	assert_string_equal(err.text, "no table    caf\u00e9    ");
}

/* @expected NULL: it is UTF-16, and the error says so. */
static void assert_bytes_read(const char *bytes, size_t len, const char *expected)
{
	struct text text = { 0 };
	char name[32];
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], bytes, len), (ssize_t)len);
	close(ends[1]);
	snprintf(name, sizeof(name), "/dev/fd/%d", ends[0]);
	text_append(&text, "before ");
	if (!expected) {
		assert_unread(name, 1000, "UTF-16");
	} else {
		assert_int_equal(text_read_file(name, "", 1000, &text, NULL), 0);
		assert_string_equal(text_chars(&text) + strlen("before "), expected);
		assert_int_equal(text.len, strlen("before ") + strlen(expected));
	}
	close(ends[0]);
	text_done(&text);
}

static void assert_file_reads(const char *bytes, const char *expected)
{
	assert_bytes_read(bytes, strlen(bytes), expected);
}

TEST(input_file_is_limited_in_size_and_time)
{
	char folder[] = "text_read.XXXXXX", name[32];
	struct text text = { 0 };
	int ends[2];

	assert_non_null(mkdtemp(folder));
	assert_unread("/dev/zero", 1000, "too large");
	assert_unread(folder, 1000, "directory");
	assert_unread("text_read.none", 1000, "No such file");
	snprintf(name, sizeof(name), "%s/fifo", folder);
	assert_int_equal(mkfifo(name, 0600), 0);
	assert_unread(name, 1000, "nothing was written to this pipe");
	unlink(name);
	rmdir(folder);
	/* Like the shell's <(...): the writer has ended. */
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], "0x1 name", 8), 8);
	snprintf(name, sizeof(name), "/dev/fd/%d", ends[0]);
	close(ends[1]);
	assert_int_equal(text_read_file(name, "", 8, &text, NULL), 0);
	assert_string_equal(text_chars(&text), "0x1 name");
	close(ends[0]);
	/* The writer may begin before or after the reader. */
	assert_int_equal(pipe(ends), 0);
	if (!fork())
		_exit(write(ends[1], " more", 5) != 5);
	close(ends[1]);
	snprintf(name, sizeof(name), "/dev/fd/%d", ends[0]);
	assert_int_equal(text_read_file(name, "", 5, &text, NULL), 0);
	assert_string_equal(text_chars(&text), "0x1 name more");
	close(ends[0]);
	text_done(&text);
	assert_file_reads("\xef\xbb\xbf" "0x1 name", "0x1 name");
	assert_file_reads("\xef\xbb\xbf", "");
	assert_file_reads("a \xef\xbb\xbf", "a \xef\xbb\xbf");
	assert_file_reads("\xff\xfe" "0", NULL);
	assert_file_reads("\xfe\xff", NULL);
	/* Without a mark, a line of each byte order. */
	assert_bytes_read("0\0x\0" "1\0 \0n\0a\0m\0e\0\n\0", 18, NULL);
	assert_bytes_read("\0" "0\0x\0" "1\0 \0n\0a\0m\0e\0\n", 18, NULL);
	/* Fields of a hook. */
	assert_int_equal(text_is_wide("1\0a\0b\0", 6), WIDE_NONE);
	assert_int_equal(text_read_file("/dev/null", "", 0, &text, NULL), 0);
	assert_string_equal(text_chars(&text), "");
	text_done(&text);
}

/* Against iconv(3). */
TEST(utf16_becomes_utf8)
{
	uint64_t random = 7;

	for (unsigned run = 0; run < 2000; run++) {
		const char *code = run % 2 ? "UTF-16LE" : "UTF-16BE";
		char utf8[400], wide[400], *from = utf8, *to = wide;
		size_t left, room = sizeof(wide), len = 0;
		iconv_t way = iconv_open(code, "UTF-8");
		struct text text = { 0 };

		/* A mark, or enough ASCII to be recognised. */
		len += (size_t)sprintf(utf8, "%s", run % 4 < 2 ? "\xef\xbb\xbf" : "StartDevice,");
		for (unsigned i = 0; i < 40; i++) {
			uint32_t point = (random = map_mix(random + 1)) % (run % 3 ? 0x800 : 0x110000);

			if (point < 0x20 || (point >= 0xd800 && point < 0xe000))
				point = 'x';
			len += (size_t)sprintf(utf8 + len, point < 0x80 ? "%c" : point < 0x800 ? "%c%c" :
					       point < 0x10000 ? "%c%c%c" : "%c%c%c%c",
					       point < 0x80 ? point : point < 0x800 ? 0xc0 | point >> 6 :
					       point < 0x10000 ? 0xe0 | point >> 12 : 0xf0 | point >> 18,
					       0x80 | ((point < 0x800 ? point : point < 0x10000 ? point >> 6 :
							point >> 12) & 0x3f),
					       0x80 | ((point < 0x10000 ? point : point >> 6) & 0x3f),
					       0x80 | (point & 0x3f));
		}
		left = len;
		assert_int_equal(iconv(way, &from, &left, &to, &room), 0);
		iconv_close(way);
		text_narrow(&text, wide, sizeof(wide) - room);
		assert_string_equal(text_chars(&text), utf8 + (run % 4 < 2 ? 3 : 0));
		text_clear(&text);
		text_narrow(&text, utf8, len);
		assert_string_equal(text_chars(&text), utf8 + (run % 4 < 2 ? 3 : 0));
		text_done(&text);
	}
}

TEST(half_a_surrogate_is_replaced)
{
	struct text text = { 0 };

	text_narrow(&text, "\xff\xfe" "a\0\x3d\xd8" "b\0\x00\xde\x3d\xd8\x00", 13);
	assert_string_equal(text_chars(&text), "a\xef\xbf\xbd" "b\xef\xbf\xbd\xef\xbf\xbd");
	text_done(&text);
}
