/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* text_page_test.c - lines stay inside the page; the cursor reaches all lines with a subject */
#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "base/unit_test.h"
#include "tui/draw/key.h"
#include "tui/draw/text_page.h"

/* Parts of one line neither overlap nor leave the page. */
static void check_bounds(const struct text_page *page)
{
	for (size_t i = 0; i < page->line_count; i++) {
		const struct page_line *line = &page->lines[i];

		for (size_t p = line->first; p < line->first + line->count; p++) {
			assert_true(page->parts[p].x >= 0 && page->parts[p].columns > 0);
			assert_true(page->parts[p].x + page->parts[p].columns <= page->columns);
		}
	}
}

static const char *text_of(const struct text_page *page, size_t line, size_t part)
{
	assert_true(part < page->lines[line].count);
	return page->chars.chars + page->parts[page->lines[line].first + part].text;
}

TEST(wrapped_text_is_complete_and_cut_between_words)
{
	static const char text[] =
		"a random placement of flows is uneven by itself, so an uneven load alone is no fault";
	struct text_page page = { 0 };

	for (int columns = 24; columns < 140; columns++) {
		char joined[256] = "";

		page_begin(&page, columns);
		page_field(&page, NULL, "why", ROLE_FAINT, 8, ROLE_TEXT, text);
		check_bounds(&page);
		assert_string_equal(text_of(&page, 0, 0), "why");
		for (size_t line = 0; line < page.line_count; line++) {
			const char *part = text_of(&page, line, line ? 0 : 1);

			assert_true((int)strlen(part) <= columns - 8);
			assert_true(part[0] != ' ');
			snprintf(joined + strlen(joined), sizeof(joined) - strlen(joined), "%s%s", line ? " " : "",
				 part);
		}
		assert_string_equal(joined, text);
	}
	page_done(&page);
}

TEST(a_word_that_is_too_long_is_cut_and_a_wide_one_does_not_hang)
{
	struct text_page page = { 0 };

	page_begin(&page, 12);
	page_wrap(&page, NULL, 2, ROLE_TEXT, "0123456789012345678901234567890");
	assert_int_equal(page.line_count, 4);
	page_wrap(&page, NULL, 0, ROLE_TEXT,
		  "\xe6\x97\xa5\xe6\x9c\xac\xe6\x97\xa5\xe6\x9c\xac\xe6\x97\xa5\xe6\x9c\xac\xe6\x97\xa5");
	check_bounds(&page);
	page_wrap(&page, NULL, 0, ROLE_TEXT, "");
	page_field(&page, NULL, "nothing", ROLE_FAINT, 8, ROLE_TEXT, NULL);
	assert_int_equal(page.line_count, 6);
	page_done(&page);
}

TEST(text_beyond_the_page_is_omitted)
{
	struct text_page page = { 0 };

	page_begin(&page, 10);
	page_line(&page, NULL);
	assert_int_equal(page_put(&page, 4, 20, ALIGN_LEFT, ROLE_TEXT, "wide"), 10);
	assert_int_equal(page_put(&page, 10, -1, ALIGN_LEFT, ROLE_TEXT, "behind it"), 10);
	assert_int_equal(page_put(&page, 300, 5, ALIGN_LEFT, ROLE_TEXT, "far behind it"), 10);
	assert_int_equal(page.lines[0].count, 1);
	check_bounds(&page);
	page_done(&page);
}

/* A page in which about a quarter of the lines have a subject. */
static void make(struct text_page *page, size_t lines, uint64_t seed)
{
	page_begin(page, 40);
	for (size_t i = 0; i < lines; i++) {
		const struct subject subject = { .kind = SUBJECT_PORT, .node_guid = 1, .port = (uint8_t)i };

		page_line(page, map_mix(seed * 1000 + i) % 4 == 0 ? &subject : NULL);
		page_putf(page, 0, ROLE_TEXT, "line %zu", i);
	}
}

static void check_view(const struct text_page *page, const struct page_view *view)
{
	size_t room = (size_t)view->height;

	assert_true(view->first == 0 || view->first + room <= page->line_count);
	if (view->cursor == PAGE_NONE) {
		for (size_t i = view->first; i < view->first + room && i < page->line_count; i++)
			assert_int_equal(page->lines[i].subject.kind, SUBJECT_NONE);
		return;
	}
	assert_true(view->cursor >= view->first && view->cursor < view->first + room);
	assert_int_equal(page->lines[view->cursor].subject.kind, SUBJECT_PORT);
}

TEST(arrows_reach_every_line_with_a_subject)
{
	for (uint64_t seed = 0; seed < 200; seed++) {
		struct text_page page = { 0 };
		struct page_view view = { .cursor = PAGE_NONE };
		bool visited[100] = { false }, seen[100] = { false };
		size_t lines = seed % 100;

		make(&page, lines, seed);
		page_fit(&page, &view, (int)(1 + seed % 23));
		for (int step = 0; step < 500; step++) {
			check_view(&page, &view);
			if (view.cursor != PAGE_NONE)
				visited[view.cursor] = true;
			for (size_t i = view.first; i < view.first + (size_t)view.height && i < lines; i++)
				seen[i] = true;
			assert_true(page_key(&page, &view, step < 250 ? KEY_SPECIAL(KEY_DOWN) : KEY_SPECIAL(KEY_UP)));
		}
		for (size_t i = 0; i < lines; i++) {
			assert_true(seen[i]);
			assert_true(visited[i] || page.lines[i].subject.kind == SUBJECT_NONE);
		}
		assert_int_equal(view.first, 0);
		page_done(&page);
	}
}

TEST(the_cursor_stays_on_a_visible_line_for_any_keys_and_sizes)
{
	static const int keys[] = { KEY_SPECIAL(KEY_DOWN), KEY_SPECIAL(KEY_UP), KEY_SPECIAL(KEY_NPAGE),
				    KEY_SPECIAL(KEY_PPAGE), 'g', 'G', 'j', 'k' };
	struct text_page page = { 0 };
	struct page_view view = { .cursor = PAGE_NONE };

	for (uint64_t step = 0; step < 5000; step++) {
		uint64_t random = map_mix(step);

		if (random % 20 == 0)
			make(&page, random / 20 % 80, random);
		page_fit(&page, &view, (int)(random / 7 % 30));
		check_view(&page, &view);
		page_key(&page, &view, keys[random / 3 % (sizeof(keys) / sizeof(*keys))]);
		check_view(&page, &view);
		page_scroll(&page, &view, (long)(random % 11) - 5);
		check_view(&page, &view);
	}
	assert_false(page_key(&page, &view, 'x'));
	page_done(&page);
}
