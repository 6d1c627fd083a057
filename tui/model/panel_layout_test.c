/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/unit_test.h"
#include "tui/model/panel_layout.h"

#include <string.h>

#define PORTS_MAX 255

struct box {
	struct panel_port ports[PORTS_MAX];
	struct panel_slot slots[PORTS_MAX];
	struct panel_box box;
	size_t count;
	int label_columns;
};

/* @per_cage 0: without cages; a port beyond those that are in cages is the aggregation node's. */
static void make(struct box *box, int count, int caged, int per_cage, bool one_row)
{
	memset(box, 0, sizeof(*box));
	box->count = (size_t)count;
	box->label_columns = one_row ? 8 : per_cage > 1 ? 4 : 3;
	for (int i = 0; i < count; i++) {
		box->ports[i].num = (uint8_t)(i + 1);
		if (!per_cage || i >= caged)
			continue;
		box->ports[i].cage = (uint16_t)(i / per_cage + 1);
		box->ports[i].split = per_cage > 1 ? (uint16_t)(i % per_cage + 1) : 0;
	}
	panel_slots(box->ports, box->count, one_row, box->slots, &box->box);
}

static const struct { int count, caged, per_cage; bool one_row; } boxes[] = {
	{ 36, 0, 0, false }, { 40, 40, 1, false }, { 41, 40, 1, false }, { 64, 64, 2, false }, { 65, 64, 2, false },
	{ 80, 80, 2, false }, { 81, 80, 2, false }, { 8, 0, 0, true }, { 16, 0, 0, true }, { 1, 0, 0, true },
	{ 1, 0, 0, false }, { 255, 0, 0, false }, { 0, 0, 0, false }, { 24, 0, 0, false }, { 144, 144, 2, false },
};

#define BOXES (sizeof(boxes) / sizeof(boxes[0]))

static void make_number(struct box *box, size_t i)
{
	make(box, boxes[i].count, boxes[i].caged, boxes[i].per_cage, boxes[i].one_row);
}

TEST(odd_ports_stand_above_even_ones)
{
	struct box box;

	make(&box, 36, 0, 0, false);
	for (size_t i = 0; i < box.count; i++) {
		assert_int_equal(box.slots[i].row, i % 2);
		assert_int_equal(box.slots[i].column, i / 2);
	}
	assert_int_equal(box.box.columns, 18);
}

TEST(the_ports_of_a_cage_stand_side_by_side)
{
	struct box box;

	make(&box, 65, 64, 2, false);
	for (size_t i = 0; i < 64; i += 2) {
		assert_int_equal(box.slots[i].row, i / 2 % 2);
		assert_int_equal(box.slots[i + 1].row, box.slots[i].row);
		assert_int_equal(box.slots[i + 1].column, box.slots[i].column + 1);
		/* The cage below is the next one. */
		if (i % 4 == 0)
			assert_int_equal(box.slots[i + 2].column, box.slots[i].column);
	}
	/* The aggregation node's port is behind all cages. */
	assert_int_equal(box.slots[64].column, 32);
}

TEST(slots_are_different_and_inside_of_their_box)
{
	struct box box;

	for (size_t n = 0; n < BOXES; n++) {
		make_number(&box, n);
		for (size_t i = 0; i < box.count; i++) {
			assert_in_range(box.slots[i].row, 0, box.box.rows - 1);
			assert_in_range(box.slots[i].column, 0, box.box.columns - 1);
			for (size_t j = 0; j < i; j++)
				assert_true(box.slots[i].row != box.slots[j].row ||
					    box.slots[i].column != box.slots[j].column);
		}
	}
}

static bool overlap(const struct rect *a, const struct rect *b)
{
	return a->y < b->y + b->rows && b->y < a->y + a->rows && a->x < b->x + b->columns && b->x < a->x + a->columns;
}

static void check_part(const struct rect *part, const struct rect *body)
{
	assert_true(part->rows >= 0 && part->columns >= 0);
	if (!part->rows)
		return;
	assert_true(part->y >= body->y && part->y + part->rows <= body->y + body->rows);
	assert_true(part->x >= body->x && part->x + part->columns <= body->x + body->columns);
}

TEST(parts_never_overlap_nor_leave_the_body)
{
	for (int rows = 6; rows <= 96; rows++)
		for (int columns = LAYOUT_MIN_COLUMNS; columns <= 300; columns++) {
			const struct rect body = { 3, 0, rows, columns };
			struct panel_parts parts;
			const struct rect *all[] = { &parts.list, &parts.title, &parts.cells, &parts.legend,
						     &parts.facts };

			panel_parts(&body, &parts);
			for (size_t i = 0; i < 5; i++) {
				check_part(all[i], &body);
				for (size_t j = 0; j < i; j++)
					assert_false(overlap(all[i], all[j]));
			}
			assert_true(parts.cells.rows >= 3);
			assert_true(parts.title.rows == 1 && parts.facts.rows >= 1);
		}
}

static void check_cells(const struct box *box, const struct panel_plan *plan, int rows, int columns)
{
	static uint8_t taken[4096][304];

	assert_true(plan->lines < 4096);
	memset(taken, 0, ((size_t)plan->lines + 1) * sizeof(taken[0]));
	for (size_t i = 0; i < box->count; i++) {
		struct rect cell = panel_cell(plan, &box->slots[i]);
		int first = panel_scroll(plan, &box->slots[i], (int)(i * 7 % 50), rows);

		assert_true(cell.y >= 0 && cell.y + cell.rows <= plan->lines);
		assert_true(cell.x >= 0 && cell.x + cell.columns <= columns);
		assert_true(cell.columns > box->label_columns);
		for (int y = cell.y; y < cell.y + cell.rows; y++)
			for (int x = cell.x; x < cell.x + cell.columns; x++)
				assert_false(taken[y][x]++);
		/* The cursor's cell is seen, and no line wasted. */
		assert_true(first >= 0 && cell.y >= first && cell.y + cell.rows <= first + rows);
		assert_true(!first || first + rows <= plan->lines);
	}
}

TEST(cells_never_overlap_and_the_cursor_is_always_seen)
{
	struct box box;

	for (size_t n = 0; n < BOXES; n++) {
		make_number(&box, n);
		for (int rows = 3; rows <= 90; rows += 1 + rows / 12)
			for (int columns = 40; columns <= 300; columns += 3) {
				struct panel_plan plan;

				panel_plan(rows, columns, &box.box, box.label_columns, &plan);
				check_cells(&box, &plan, rows, columns);
			}
	}
}

TEST(a_switch_of_64_ports_is_seen_whole_at_80x24)
{
	const struct rect body = { 3, 0, 20, 80 };
	struct panel_parts parts;
	struct panel_plan plan;
	struct box box;

	make(&box, 65, 64, 2, false);
	panel_parts(&body, &parts);
	panel_plan(parts.cells.rows, parts.cells.columns, &box.box, box.label_columns, &plan);
	assert_true(plan.lines <= parts.cells.rows);
	/* No cage is torn apart between two banks. */
	assert_int_equal(plan.bank_columns % 2, 0);
}

TEST(a_box_that_is_not_there_needs_no_room)
{
	const struct panel_box nothing = { 0 };
	struct panel_plan plan;

	panel_plan(20, 80, &nothing, 0, &plan);
	assert_int_equal(plan.lines, 0);
	assert_true(plan.bank_columns > 0);
}

/* Every port can be reached from the first one, and a step to the right is undone by one to the left. */
TEST(arrows_reach_every_port)
{
	static const int steps[4][2] = { { -1, 0 }, { 1, 0 }, { 0, -1 }, { 0, 1 } };
	struct box box;
	size_t head, tail;

	for (size_t n = 0; n < BOXES; n++) {
		bool reached[PORTS_MAX] = { false };
		size_t queue[PORTS_MAX];
		struct panel_plan plan;

		make_number(&box, n);
		if (!box.count)
			continue;
		panel_plan(15, 80, &box.box, box.label_columns, &plan);
		reached[0] = true;
		queue[0] = 0;
		for (head = 0, tail = 1; head < tail; head++)
			for (size_t s = 0; s < 4; s++) {
				size_t to = panel_move(&plan, box.slots, box.count, queue[head], steps[s][0],
						       steps[s][1]);

				assert_true(to < box.count);
				if (s == 3 && to != queue[head])
					assert_int_equal(panel_move(&plan, box.slots, box.count, to, 0, -1),
							 queue[head]);
				if (!reached[to])
					queue[tail++] = to;
				reached[to] = true;
			}
		for (size_t i = 0; i < box.count; i++)
			assert_true(reached[i]);
	}
}
