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
	/* Hosts cost a line of changes where there is a plot, and otherwise none; evidence and action come first. */
	if (plan->problem_lines > 2)
		assert_int_equal(problems, contents->problems);
	if (plan->problem_lines > 4 && !contents->top) {
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

TEST(on_a_usual_terminal_the_action_of_each_problem_comes_before_older_changes)
{
	for (size_t problems = 1; problems <= 3; problems++) {
		const struct overview_contents contents = { 20, problems, 9, 9, 0 };
		struct overview_plan plan;

		overview_plan(&contents, &plan);
		assert_int_equal(plan.problems_rows, 4 * problems);
		assert_int_equal(plan.problem_lines, 4);
		assert_true(plan.groups_rows >= 2);
	}
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
