/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/unit_test.h"
#include "tui/model/overview_layout.h"

#include "tui/model/layout.h"

enum { LEAST_ROWS = 6, MOST_ROWS = 99, MOST_COLUMNS = 300 };

static const size_t amounts[] = { 0, 1, 2, 3, 5, 8, 13, 40, 1000 };
#define AMOUNTS (sizeof(amounts) / sizeof(amounts[0]))

/* Calls for every mix of problems, changes and groups at every height. */
static void for_all(void (*check)(const struct overview_contents *ask, const struct overview_plan *plan))
{
	struct overview_plan plan;

	for (int rows = LEAST_ROWS; rows <= MOST_ROWS; rows++)
		for (size_t p = 0; p < AMOUNTS; p++)
			for (size_t c = 0; c < AMOUNTS; c++)
				for (size_t g = 0; g < AMOUNTS; g++) {
					const struct overview_contents ask = { rows, amounts[p], amounts[c],
									       amounts[g] };

					overview_plan(&ask, &plan);
					check(&ask, &plan);
				}
}

static void check_places(const struct overview_contents *ask, const struct overview_plan *plan)
{
	assert_int_equal(plan->problems, 1);
	assert_int_equal(plan->changes, plan->problems + plan->problems_rows);
	assert_int_equal(plan->groups_head, plan->changes + plan->changes_rows);
	assert_int_equal(plan->groups, plan->groups_head + plan->groups_head_rows);
	assert_true(plan->problems_rows >= 1 && plan->changes_rows >= 0 && plan->groups_rows >= 0);
	assert_true(plan->groups + plan->groups_rows <= ask->rows);
	/* No head above nothing, and nothing without its head. */
	assert_int_equal(plan->groups_head_rows, plan->groups_rows > 0);
}

TEST(parts_stand_below_each_other_inside_the_body)
{
	for_all(check_places);
}

static void check_amounts(const struct overview_contents *ask, const struct overview_plan *plan)
{
	int problems = plan->problems_rows / plan->problem_lines;
	int used = plan->groups + plan->groups_rows;

	assert_true(plan->problem_lines >= 2 && plan->problem_lines <= 5);
	if (ask->problems) {
		assert_int_equal(plan->problems_rows % plan->problem_lines, 0);
		assert_true(problems >= 1 && (size_t)problems <= ask->problems);
	} else {
		assert_int_equal(plan->problems_rows, 1);
	}
	assert_true((size_t)plan->changes_rows <= (ask->changes ? ask->changes : 1));
	assert_true((size_t)plan->groups_rows <= ask->groups);
	assert_true(plan->changes_rows >= 1);
	/* Room for a problem is left over only where all are seen, and for a line where all lines are. */
	if ((size_t)problems < ask->problems)
		assert_true(ask->rows - used < 2);
	if ((size_t)plan->groups_rows < ask->groups && plan->groups_rows)
		assert_true(ask->rows - used < 1);
	/* Long texts never cost a line of anything else. */
	if (plan->problem_lines > 2) {
		assert_int_equal(problems, ask->problems);
		assert_int_equal(plan->groups_rows, ask->groups);
		assert_true((size_t)plan->changes_rows >= ask->changes);
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
				const struct overview_contents ask = { rows, amounts[p], 8, amounts[g] };

				overview_plan(&ask, &plan);
				assert_true(plan.problems_rows / plan.problem_lines >= before);
				before = plan.problems_rows / plan.problem_lines;
			}
		}
}

/* What an operator has on the usual terminal: 20 rows below header and tabs. */
TEST(a_usual_terminal_has_some_of_everything)
{
	const struct overview_contents ask = { 20, 9, 9, 9 };
	struct overview_plan plan;

	overview_plan(&ask, &plan);
	assert_true(plan.problems_rows / plan.problem_lines >= 3);
	assert_true(plan.changes_rows >= 3);
	assert_true(plan.groups_rows >= 5);
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
