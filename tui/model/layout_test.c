/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <stdio.h>
#include <string.h>

#include "base/unit_test.h"
#include "tui/model/layout.h"

enum { LEAST_ROWS = 6, MOST_ROWS = 100, MOST_COLUMNS = 300 };

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
	static const enum link_column always[] = { LINK_COLUMN_PORT, LINK_COLUMN_STATUS, LINK_COLUMN_XMIT,
						   LINK_COLUMN_RCV, LINK_COLUMN_ERRORS };
	int end = -1;

	for (int column = 0; column < LINK_COLUMN_COUNT; column++) {
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
	if (places[LINK_COLUMN_XMIT_BAR].columns && places[LINK_COLUMN_RCV_BAR].columns)
		assert_int_equal(places[LINK_COLUMN_XMIT_BAR].columns, places[LINK_COLUMN_RCV_BAR].columns);
}

TEST(columns_never_overlap_nor_leave_the_table)
{
	static const int needs[] = { 0, 4, 10, 17, 24, 33, 64, 261 };
	struct column_place places[LINK_COLUMN_COUNT];

	for (int columns = LAYOUT_MIN_COLUMNS; columns <= MOST_COLUMNS; columns++)
		for (size_t port = 0; port < sizeof(needs) / sizeof(needs[0]); port++)
			for (size_t peer = 0; peer < sizeof(needs) / sizeof(needs[0]); peer++)
				for (int link = 0; link <= 9; link += 3)
					for (int more = 0; more < 4; more++) {
						const struct column_needs all = {
							needs[port], needs[peer], link, more & 1, more & 2, 0, NULL,
						};

						layout_columns(columns, &all, places);
						check_columns(columns, places);
						if (columns >= 46) {
							assert_true(!all.findings ==
								    !places[LINK_COLUMN_FINDING].columns);
							assert_true(!all.tags == !places[LINK_COLUMN_TAG].columns);
						}
					}
}

TEST(a_wider_terminal_never_shows_fewer_columns)
{
	const struct column_needs needs = { 17, 17, 5, true, true, 0, NULL };
	struct column_place places[LINK_COLUMN_COUNT];
	int before = 0;

	for (int columns = LAYOUT_MIN_COLUMNS; columns <= MOST_COLUMNS; columns++) {
		int shown = 0;

		layout_columns(columns, &needs, places);
		for (int column = 0; column < LINK_COLUMN_COUNT; column++)
			shown += places[column].columns > 0;
		/* A column may give way to the growth of one before it, but not more than one. */
		assert_true(shown >= before - 1);
		before = shown > before ? shown : before;
	}
	assert_int_equal(before, LINK_COLUMN_COUNT);
}

TEST(hidden_columns_leave_their_room_to_others)
{
	struct column_needs needs = { 17, 17, 5, true, true, 0, NULL };
	struct column_place places[LINK_COLUMN_COUNT];

	for (int column = 0; column < LINK_COLUMN_COUNT; column++) {
		needs.hidden = 1u << column;
		for (int columns = LAYOUT_MIN_COLUMNS; columns <= MOST_COLUMNS; columns += 13) {
			layout_columns(columns, &needs, places);
			for (int other = 0; other < LINK_COLUMN_COUNT; other++)
				assert_true(!places[other].columns ||
					    places[other].x + places[other].columns <= columns);
			if (column_can_hide((enum link_column)column))
				assert_int_equal(places[column].columns, 0);
		}
		assert_true(column_can_hide((enum link_column)column) || places[column].columns);
	}
	needs.hidden = UINT32_MAX;
	layout_columns(80, &needs, places);
	assert_int_equal(places[LINK_COLUMN_PORT].columns, 17);
}

/* Titles of the shown columns from the left. */
static const char *titles(const struct column_place *places, char ret[256])
{
	ret[0] = '\0';
	for (int x = 0; x < MOST_COLUMNS; x++)
		for (int column = 0; column < LINK_COLUMN_COUNT; column++)
			if (places[column].columns && places[column].x == x)
				sprintf(ret + strlen(ret), "%s ", column_info((enum link_column)column)->title);
	return ret;
}

TEST(a_column_moves_past_its_shown_neighbour)
{
	uint8_t order[LINK_COLUMN_COUNT];
	const struct column_needs needs = { 17, 17, 5, false, false, 1u << LINK_COLUMN_LINK, order };
	struct column_place places[LINK_COLUMN_COUNT];
	char text[256];

	for (int i = 0; i < LINK_COLUMN_COUNT; i++)
		order[i] = (uint8_t)i;
	layout_columns(80, &needs, places);
	assert_string_equal(titles(places, text), "PORT PEER STATUS LOAD TX TX% RX RX% ERRORS AGE ");
	/* STATE and LINK between are not shown. */
	assert_true(columns_move(order, places, LINK_COLUMN_COUNT, LINK_COLUMN_LOAD, -1));
	layout_columns(80, &needs, places);
	assert_string_equal(titles(places, text), "PORT PEER LOAD STATUS TX TX% RX RX% ERRORS AGE ");
	for (int i = 0; i < 6; i++)
		assert_true(columns_move(order, places, LINK_COLUMN_COUNT, LINK_COLUMN_LOAD, 1));
	layout_columns(80, &needs, places);
	assert_string_equal(titles(places, text), "PORT PEER STATUS TX TX% RX RX% ERRORS LOAD AGE ");
	assert_true(columns_move(order, places, LINK_COLUMN_COUNT, LINK_COLUMN_LOAD, 1));
	assert_false(columns_move(order, places, LINK_COLUMN_COUNT, LINK_COLUMN_LOAD, 1));
	layout_columns(80, &needs, places);
	assert_int_equal(columns_neighbour(order, places, LINK_COLUMN_COUNT, LINK_COLUMN_LOAD, -1), LINK_COLUMN_AGE);
	assert_int_equal(columns_neighbour(order, places, LINK_COLUMN_COUNT, LINK_COLUMN_LOAD, 1), LINK_COLUMN_PORT);
	assert_int_equal(columns_neighbour(order, places, LINK_COLUMN_COUNT, LINK_COLUMN_PORT, -1), LINK_COLUMN_LOAD);
}

TEST(eighty_columns_hold_the_ten_that_matter)
{
	static const enum link_column wanted[] = {
		LINK_COLUMN_PORT, LINK_COLUMN_PEER, LINK_COLUMN_STATUS, LINK_COLUMN_LINK, LINK_COLUMN_LOAD,
		LINK_COLUMN_XMIT, LINK_COLUMN_RCV,
		LINK_COLUMN_XMIT_PERCENT, LINK_COLUMN_RCV_PERCENT, LINK_COLUMN_ERRORS,
	};
	const struct column_needs needs = { 17, 17, 5, false, false, 0, NULL };
	struct column_place places[LINK_COLUMN_COUNT];

	layout_columns(80, &needs, places);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		assert_true(places[wanted[i]].columns > 0);
	/* "node0001 mlx5_0/1" all but whole. */
	assert_true(places[LINK_COLUMN_PORT].columns >= 16);
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

static const size_t amounts[] = { 0, 1, 2, 3, 5, 8, 13, 40, 1000 };
#define AMOUNTS (sizeof(amounts) / sizeof(amounts[0]))

/* Calls for every mix of problems, changes and groups at every height. */
static void for_all(void (*check)(const struct overview_contents *contents, const struct overview_plan *plan))
{
	struct overview_plan plan;

	for (int rows = LEAST_ROWS; rows <= MOST_ROWS; rows++)
		for (size_t p = 0; p < AMOUNTS; p++)
			for (size_t c = 0; c < AMOUNTS; c++)
				for (size_t g = 0; g < AMOUNTS; g++) {
					struct overview_contents contents = { rows, amounts[p], amounts[c],
									 amounts[g], 0 };

					overview_plan(&contents, &plan);
					check(&contents, &plan);
					contents.top = amounts[p] + 1;
					overview_plan(&contents, &plan);
					if (overview_is_large(&(struct rect){ 0, 0, rows, 100 }))
						check(&contents, &plan);
				}
}

static void check_plan(const struct overview_contents *contents, const struct overview_plan *plan)
{
	assert_int_equal(plan->problems, 1);
	assert_int_equal(plan->changes, plan->problems + plan->problems_rows);
	assert_int_equal(plan->plot, plan->changes + plan->changes_rows);
	assert_int_equal(plan->groups_head, plan->plot + plan->plot_rows);
	assert_int_equal(plan->groups, plan->groups_head + plan->groups_head_rows);
	assert_true(plan->problems_rows >= 1 && plan->changes_rows >= 0 && plan->groups_rows >= 0);
	assert_int_equal(plan->top, plan->groups + plan->groups_rows);
	/* A large terminal has no empty line. */
	if (contents->top)
		assert_true(plan->plot_rows >= 6 && plan->top_rows >= 6 &&
			    plan->top + plan->top_rows == contents->rows);
	assert_true(plan->top + plan->top_rows <= contents->rows);
	/* No head above nothing, and nothing without its head. */
	assert_int_equal(plan->groups_head_rows, plan->groups_rows > 0);
}

TEST(parts_stand_below_each_other_inside_the_body)
{
	for_all(check_plan);
}

static void check_amounts(const struct overview_contents *contents, const struct overview_plan *plan)
{
	int problems = plan->problems_rows / plan->problem_lines;
	int used = plan->top + plan->top_rows;

	assert_true(plan->problem_lines >= 2 && plan->problem_lines <= 5);
	if (contents->problems) {
		assert_int_equal(plan->problems_rows % plan->problem_lines, 0);
		assert_true(problems >= 1 && (size_t)problems <= contents->problems);
	} else {
		assert_int_equal(plan->problems_rows, 1);
	}
	assert_true((size_t)plan->changes_rows <= (contents->changes ? contents->changes : 1));
	assert_true((size_t)plan->groups_rows <= contents->groups);
	assert_true(plan->changes_rows >= 1);
	/* Room for a problem is left over only where all are seen, and for a line where all lines are. */
	if ((size_t)problems < contents->problems)
		assert_true(contents->rows - used < 2);
	if ((size_t)plan->groups_rows < contents->groups && plan->groups_rows)
		assert_true(contents->rows - used < 1);
	/* Long texts cost a line of changes where there is a plot, and otherwise none. */
	if (plan->problem_lines > 2)
		assert_int_equal(problems, contents->problems);
	if (plan->problem_lines > 2 && !contents->top) {
		assert_int_equal(plan->groups_rows, contents->groups);
		assert_true((size_t)plan->changes_rows >= contents->changes);
	}
}

TEST(what_is_there_is_shown_as_far_as_there_is_room)
{
	for_all(check_amounts);
}

TEST(a_higher_terminal_never_shows_fewer_problems)
{
	struct overview_plan plan;

	for (size_t p = 1; p < AMOUNTS; p++)
		for (size_t g = 0; g < AMOUNTS; g++) {
			int before = 0;

			for (int rows = LEAST_ROWS; rows <= MOST_ROWS; rows++) {
				const struct overview_contents contents = { rows, amounts[p], 8, amounts[g], 0 };

				overview_plan(&contents, &plan);
				assert_true(plan.problems_rows / plan.problem_lines >= before);
				before = plan.problems_rows / plan.problem_lines;
			}
		}
}

/* What an operator has on the usual terminal: 20 rows below header and tabs. */
TEST(a_usual_terminal_has_some_of_everything)
{
	const struct overview_contents contents = { 20, 9, 9, 9, 0 };
	struct overview_plan plan;

	overview_plan(&contents, &plan);
	assert_true(plan.problems_rows / plan.problem_lines >= 3);
	assert_true(plan.changes_rows >= 3);
	assert_true(plan.groups_rows >= 5);
}

TEST(with_a_plot_the_evidence_and_the_action_come_before_older_changes)
{
	const struct overview_contents contents = { 26, 1, 9, 7, 9 };
	struct overview_plan plan;

	overview_plan(&contents, &plan);
	assert_int_equal(plan.problem_lines, 4);
	assert_int_equal(plan.changes_rows, 1);
}

TEST(columns_of_groups_never_overlap_nor_leave_the_line)
{
	struct column_place places[GROUP_COLUMN_COUNT];
	int before = 0;

	for (int name = 0; name <= 280; name += 7) {
		for (int columns = LAYOUT_MIN_COLUMNS; columns <= MOST_COLUMNS; columns++) {
			/* The mark of the cursor has the first. */
			int end = 0, shown = 0;

			overview_columns(columns, name, places);
			for (int column = 0; column < GROUP_COLUMN_COUNT; column++) {
				if (!places[column].columns)
					continue;
				assert_int_equal(places[column].x, end + 1);
				end = places[column].x + places[column].columns;
				assert_true(end <= columns);
				shown++;
			}
			assert_true(places[GROUP_COLUMN_NAME].columns && places[GROUP_COLUMN_MAX].columns &&
				    places[GROUP_COLUMN_STATE].columns);
			assert_true(columns == LAYOUT_MIN_COLUMNS || shown >= before);
			before = shown;
		}
	}
	overview_columns(80, 14, places);
	assert_true(places[GROUP_COLUMN_HISTOGRAM].columns == 10 && places[GROUP_COLUMN_SILENT].columns);
	overview_columns(120, 14, places);
	for (int column = 0; column < GROUP_COLUMN_HOTTEST; column++)
		assert_true(places[column].columns > 0);
	overview_columns(140, 14, places);
	assert_true(places[GROUP_COLUMN_HOTTEST].columns > 0);
}

TEST(parts_of_a_problem_never_overlap)
{
	struct problem_places places;

	for (int columns = LAYOUT_MIN_COLUMNS; columns <= MOST_COLUMNS; columns++) {
		overview_problem_places(columns, &places);
		assert_true(places.subject > places.severity_columns);
		assert_true(places.subject_columns >= 20);
		assert_true(places.subject + places.subject_columns < places.since);
		assert_true(places.since + places.since_columns <= columns);
		if (places.cause_columns) {
			assert_true(places.since + places.since_columns < places.cause);
			assert_true(places.cause + places.cause_columns <= columns);
		}
	}
}
