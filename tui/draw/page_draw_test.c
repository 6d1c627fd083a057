/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* page_draw_test.c - a page as lines of the screen, after what it was built from is gone */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/metric.h"
#include "analysis/series.h"
#include "base/err.h"
#include "base/text.h"
#include "base/unit_test.h"
#include "export/page.h"
#include "tui/draw/page_draw.h"
#include "tui/draw/text_page.h"

enum { NAME, PEER, ERRORS, AGE, NOTE, COLUMNS };

static const struct column columns[COLUMNS] = {
	[NAME] = { .title = "PORT", .kind = COLUMN_TEXT },
	[PEER] = { .title = "PEER", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE },
	[ERRORS] = { .title = "ERRORS", .kind = COLUMN_INTEGER },
	[AGE] = { .title = "AGE", .kind = COLUMN_TEXT, .priority = 3 },
	[NOTE] = { .title = "NOTE", .kind = COLUMN_TEXT, .flags = COLUMN_BELOW },
};

static void put_ports(struct result *result, const void *ctx)
{
	const char *peer = ctx;

	assert_int_equal(result_rendering(result), PAGE_TEXT);
	for (int i = 0; i < 2; i++) {
		result_text(result, NAME, i ? "leaf01/12" : "leaf01/3");
		if (i)
			result_target(result, NAME, 0x77, 12);
		result_text(result, PEER, peer);
		result_integer(result, ERRORS, i * 7);
		result_show(result, ERRORS, NULL, i ? STYLE_WARNING : STYLE_PLAIN);
		result_text(result, AGE, "3.2 s");
		result_text(result, NOTE, "the cable was replaced");
		result_end_row(result);
	}
	result_note(result, "2 of 40 ports");
}

static const char *format(double value, char *ret, size_t size)
{
	snprintf(ret, size, "%.0f GB", value);
	return ret;
}

/* All that it borrows is overwritten before it returns. */
static struct page *make_page(void)
{
	char name[] = "node0001 mlx5_0/1", title[] = "Both ends";
	double values[] = { 1, NAN, 3, 4 };
	const char *names[] = { name, "leaf02", "spine01", "spine02" };
	struct series_step steps[4] = { 0 };
	struct page_series series = { name, steps, 4 };
	struct page_bar bar = { name, 5, PAGE_WARNING };
	struct page_field field = { .name = "time", .value = "8m00s", .note = name };
	struct page *page = page_create("x");
	struct metric metric;

	metric_find("bytes", &metric);
	for (int i = 0; i < 4; i++)
		steps[i] = (struct series_step){ .from_us = i, .until_us = i + 1, .mean = 1e9 };
	page_add(page, &(struct page_section){ .kind = PAGE_VERDICT, .state = PAGE_CRITICAL,
					       .verdict = { .subject = name, .sentence = "slow" } });
	page_add(page, &(struct page_section){ .kind = PAGE_FIELDS, .fields = { &field, 1 } });
	page_add(page, &(struct page_section){ .kind = PAGE_TABLE, .title = title,
					       .table = { columns, COLUMNS, put_ports, name } });
	page_add(page, &(struct page_section){ .kind = PAGE_LINES, .lines = {
		.title = "Rate", .series = &series, .series_count = 1, .until_us = 4, .metric = &metric } });
	page_add(page, &(struct page_section){ .kind = PAGE_BARS, .bars = {
		.title = "Bytes", .bars = &bar, .count = 1, .format = format, .mean = NAN } });
	page_add(page, &(struct page_section){ .kind = PAGE_HEAT, .heat = {
		.title = "Map", .row_names = names, .column_names = names + 2, .rows = 2, .columns = 2,
		.values = values, .format = format } });
	assert_int_equal(page_freeze(page, NULL), 0);
	memset(name, '!', sizeof(name) - 1);
	memset(title, '!', sizeof(title) - 1);
	memset(values, 0, sizeof(values));
	memset(steps, 0, sizeof(steps));
	return page;
}

/* The line that begins with a text. */
static size_t line_of(const struct text_page *page, const char *begin)
{
	for (size_t i = 0; i < page->line_count; i++)
		if (page->lines[i].count &&
		    !strncmp(page->chars.chars + page->parts[page->lines[i].first].text, begin, strlen(begin)))
			return i;
	fail_msg("no line '%s'", begin);
	return 0;
}

static const struct page_part *part_of(const struct text_page *page, size_t line, const char *chars)
{
	for (size_t i = page->lines[line].first; i < page->lines[line].first + page->lines[line].count; i++)
		if (!strcmp(page->chars.chars + page->parts[i].text, chars))
			return &page->parts[i];
	return NULL;
}

TEST(all_sections_are_lines_inside_every_width)
{
	struct page *page = make_page();
	struct text_page lines = { 0 };

	for (int width = 20; width < 200; width++) {
		page_lay_out(page, &lines, width, width % 2);
		assert_false(lines.failed);
		for (size_t i = 0; i < lines.part_count; i++)
			assert_true(lines.parts[i].x >= 0 && lines.parts[i].x + lines.parts[i].columns <= width);
		for (size_t i = 0; i < lines.chars.len; i++)
			assert_int_not_equal(lines.chars.chars[i], '!');
		line_of(&lines, "BOTH ENDS");
		line_of(&lines, "Rate");
		line_of(&lines, "Bytes");
		line_of(&lines, "Map");
	}
	page_done(&lines);
	page_destroy(page);
}

TEST(cells_keep_their_style_and_the_port_they_are_about)
{
	struct page *page = make_page();
	struct text_page lines = { 0 };
	size_t line;

	page_lay_out(page, &lines, 100, true);
	line = line_of(&lines, "leaf01/12");
	assert_int_equal(lines.lines[line].subject.kind, SUBJECT_PORT);
	assert_true(lines.lines[line].subject.node_guid == 0x77 && lines.lines[line].subject.port == 12);
	assert_int_equal(part_of(&lines, line, "7")->role, ROLE_WARNING);
	assert_non_null(part_of(&lines, line, "node0001 mlx5_0/1"));
	assert_int_equal(lines.lines[line_of(&lines, "leaf01/3")].subject.kind, SUBJECT_NONE);
	assert_int_equal(lines.parts[lines.lines[0].first].role, ROLE_CRITICAL);
	line_of(&lines, "2 of 40 ports");
	page_done(&lines);
	page_destroy(page);
}

/* First the text goes below its row, then names are cut, then columns of low priority are left out. */
TEST(narrow_tables_keep_what_is_important)
{
	struct page *page = make_page();
	struct text_page lines = { 0 };
	size_t line;

	page_lay_out(page, &lines, 60, true);
	line = line_of(&lines, "leaf01/12");
	assert_null(part_of(&lines, line, "the cable was replaced"));
	assert_non_null(part_of(&lines, line + 1, "the cable was replaced"));
	assert_non_null(part_of(&lines, line, "3.2 s"));
	page_lay_out(page, &lines, 34, true);
	line = line_of(&lines, "leaf01/12");
	assert_null(part_of(&lines, line, "3.2 s"));
	assert_non_null(part_of(&lines, line, "7"));
	page_done(&lines);
	page_destroy(page);
}

/* A frozen page can be written to a file. */
TEST(a_frozen_page_is_rendered_from_its_rows)
{
	const struct page_options options = { .target = PAGE_TEXT, .width = 120 };
	struct page *page = make_page();
	char *chars = NULL;
	size_t size;
	FILE *stream = open_memstream(&chars, &size);

	assert_non_null(stream);
	assert_int_equal(page_render(page, stream, &options, NULL), 0);
	fclose(stream);
	assert_non_null(strstr(chars, "leaf01/12  node0001 mlx5_0/1       7  3.2 s  the cable was replaced\n"));
	free(chars);
	page_destroy(page);
}
