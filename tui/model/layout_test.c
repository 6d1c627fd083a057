/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/unit_test.h"
#include "tui/model/layout.h"

enum { MOST_ROWS = 100, MOST_COLUMNS = 300 };

static void check_part(const struct rect *part, int *y, int columns)
{
	if (!part->rows)
		return;
	assert_int_equal(part->y, *y);
	assert_int_equal(part->x, 0);
	assert_int_equal(part->columns, columns);
	assert_true(part->rows > 0);
	*y += part->rows;
}

TEST(parts_of_the_screen_fill_it_without_overlap)
{
	struct frame frame;

	for (int rows = LAYOUT_MIN_ROWS; rows <= MOST_ROWS; rows++)
		for (int columns = LAYOUT_MIN_COLUMNS; columns <= MOST_COLUMNS; columns++)
			for (int notice = 0; notice < 2; notice++) {
				int y = 0;

				assert_true(layout_frame(rows, columns, notice, &frame));
				check_part(&frame.header, &y, columns);
				check_part(&frame.tabs, &y, columns);
				check_part(&frame.notice, &y, columns);
				check_part(&frame.body, &y, columns);
				check_part(&frame.footer, &y, columns);
				assert_int_equal(y, rows);
				assert_int_equal(frame.notice.rows, notice);
				assert_true(frame.body.rows >= 6);
				assert_true(frame.header.rows >= 1);
				assert_int_equal(frame.footer.rows, 1);
			}
}

TEST(a_screen_below_the_least_size_is_refused)
{
	struct frame frame;

	assert_false(layout_frame(LAYOUT_MIN_ROWS - 1, 80, false, &frame));
	assert_false(layout_frame(24, LAYOUT_MIN_COLUMNS - 1, false, &frame));
	assert_false(layout_frame(0, 0, false, &frame));
	assert_true(layout_frame(LAYOUT_MIN_ROWS, LAYOUT_MIN_COLUMNS, false, &frame));
}

static void check_columns(int columns, const struct column_place *places)
{
	static const enum column always[] = { COLUMN_PORT, COLUMN_STATUS, COLUMN_XMIT, COLUMN_RCV, COLUMN_ERRORS };
	int end = -1;

	for (int column = 0; column < COLUMN_COUNT; column++) {
		if (!places[column].columns)
			continue;
		assert_true(places[column].columns > 0);
		/* One blank to the left neighbour, and the first one at the edge. */
		assert_int_equal(places[column].x, end + 1);
		end = places[column].x + places[column].columns;
		assert_true(end <= columns);
	}
	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
		assert_true(places[always[i]].columns >= 4);
	if (places[COLUMN_XMIT_BAR].columns && places[COLUMN_RCV_BAR].columns)
		assert_int_equal(places[COLUMN_XMIT_BAR].columns, places[COLUMN_RCV_BAR].columns);
}

TEST(columns_never_overlap_nor_leave_the_table)
{
	static const int needs[] = { 0, 4, 10, 17, 24, 33, 64, 261 };
	struct column_place places[COLUMN_COUNT];

	for (int columns = LAYOUT_MIN_COLUMNS; columns <= MOST_COLUMNS; columns++)
		for (size_t port = 0; port < sizeof(needs) / sizeof(needs[0]); port++)
			for (size_t peer = 0; peer < sizeof(needs) / sizeof(needs[0]); peer++)
				for (int link = 0; link <= 9; link += 3)
					for (int more = 0; more < 4; more++) {
						const struct column_needs all = {
							needs[port], needs[peer], link, more & 1, more & 2, 0,
						};

						layout_columns(columns, &all, places);
						check_columns(columns, places);
						if (columns >= 46) {
							assert_true(!all.findings == !places[COLUMN_FINDING].columns);
							assert_true(!all.tags == !places[COLUMN_TAG].columns);
						}
					}
}

TEST(a_wider_terminal_never_shows_fewer_columns)
{
	const struct column_needs needs = { 17, 17, 5, true, true, 0 };
	struct column_place places[COLUMN_COUNT];
	int before = 0;

	for (int columns = LAYOUT_MIN_COLUMNS; columns <= MOST_COLUMNS; columns++) {
		int shown = 0;

		layout_columns(columns, &needs, places);
		for (int column = 0; column < COLUMN_COUNT; column++)
			shown += places[column].columns > 0;
		/* A column may give way to the growth of one before it, but not more than one. */
		assert_true(shown >= before - 1);
		before = shown > before ? shown : before;
	}
	assert_int_equal(before, COLUMN_COUNT);
}

TEST(hidden_columns_leave_their_room_to_others)
{
	struct column_needs needs = { 17, 17, 5, true, true, 0 };
	struct column_place places[COLUMN_COUNT];

	for (int column = 0; column < COLUMN_COUNT; column++) {
		needs.hidden = 1u << column;
		for (int columns = LAYOUT_MIN_COLUMNS; columns <= MOST_COLUMNS; columns += 13) {
			layout_columns(columns, &needs, places);
			for (int other = 0; other < COLUMN_COUNT; other++)
				assert_true(!places[other].columns ||
					    places[other].x + places[other].columns <= columns);
			if (column_can_hide((enum column)column))
				assert_int_equal(places[column].columns, 0);
		}
		assert_true(column_can_hide((enum column)column) || places[column].columns);
	}
	needs.hidden = UINT32_MAX;
	layout_columns(80, &needs, places);
	assert_int_equal(places[COLUMN_PORT].columns, 17);
}

TEST(eighty_columns_hold_the_ten_that_matter)
{
	static const enum column wanted[] = {
		COLUMN_PORT, COLUMN_PEER, COLUMN_STATUS, COLUMN_LINK, COLUMN_LOAD, COLUMN_XMIT, COLUMN_RCV,
		COLUMN_XMIT_BAR, COLUMN_RCV_BAR, COLUMN_ERRORS,
	};
	const struct column_needs needs = { 17, 17, 5, false, false, 0 };
	struct column_place places[COLUMN_COUNT];

	layout_columns(80, &needs, places);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		assert_true(places[wanted[i]].columns > 0);
	/* "node0001 mlx5_0/1" all but whole. */
	assert_true(places[COLUMN_PORT].columns >= 16);
}

TEST(the_most_important_parts_of_a_line_stay)
{
	const int widths[] = { 10, 20, 30, 5 }, ranks[] = { 2, 0, 1, 3 };
	bool shown[4];

	layout_segments(20, widths, ranks, 4, 2, shown);
	assert_true(shown[1] && !shown[0] && !shown[2] && !shown[3]);
	layout_segments(52, widths, ranks, 4, 2, shown);
	assert_true(shown[1] && shown[2] && !shown[0] && !shown[3]);
	for (int columns = 0; columns < 100; columns++) {
		int used = 0, count = 0;

		layout_segments(columns, widths, ranks, 4, 2, shown);
		for (int i = 0; i < 4; i++) {
			used += shown[i] ? widths[i] : 0;
			count += shown[i];
		}
		assert_true(used + (count ? count - 1 : 0) * 2 <= columns);
	}
	assert_true(shown[0] && shown[1] && shown[2] && shown[3]);
}

TEST(scrolling_shows_the_cursor_and_wastes_no_line)
{
	for (int height = 1; height < 8; height++)
		for (size_t rows = 1; rows < 20; rows++)
			for (size_t cursor = 0; cursor < rows; cursor++)
				for (size_t first = 0; first < 25; first++) {
					size_t to = layout_scroll(first, cursor, rows, height);

					assert_true(to <= cursor && cursor < to + (size_t)height);
					assert_true(to == 0 || to + (size_t)height <= rows);
					/* It stays where it may stay. */
					if (first <= cursor && cursor < first + (size_t)height &&
					    first + (size_t)height <= rows)
						assert_int_equal(to, first);
				}
	assert_int_equal(layout_scroll(5, 0, 0, 10), 0);
}
