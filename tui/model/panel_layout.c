/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/model/panel_layout.h"

#include <string.h>

/* Width from which the list of boxes is shown, and its width. */
#define LIST_FROM_COLUMNS 84
#define LIST_COLUMNS 26

/* Maximum width of a cell. */
#define WIDEST_CELL 30

void panel_parts(const struct rect *body, struct panel_parts *ret)
{
	int list = body->columns >= LIST_FROM_COLUMNS ? LIST_COLUMNS : 0;
	int legend = body->rows >= 12, facts = body->rows >= 16 ? 3 : body->rows >= 9 ? 2 : 1;
	int x = body->x + (list ? list + 1 : 0), columns = body->columns - (list ? list + 1 : 0);
	int y = body->y, bottom = body->y + body->rows;

	memset(ret, 0, sizeof(*ret));
	if (list)
		ret->list = (struct rect){ body->y, body->x, body->rows, list };
	ret->title = (struct rect){ y, x, 1, columns };
	y += 1 + (body->rows >= 16);
	bottom -= facts;
	ret->facts = (struct rect){ bottom, x, facts, columns };
	bottom -= legend;
	ret->legend = (struct rect){ bottom, x, legend, columns };
	ret->cells = (struct rect){ y, x, bottom - y, columns };
}

static int most(int a, int b)
{
	return a > b ? a : b;
}

void panel_slots(const struct panel_port *ports, size_t count, bool one_row, struct panel_slot *ret_slots,
		 struct panel_box *ret_box)
{
	int caged_columns = 0, loose = 0;

	*ret_box = (struct panel_box){ .rows = one_row ? 1 : 2, .per_cage = 1 };
	for (size_t i = 0; i < count && !one_row; i++)
		ret_box->per_cage = most(ret_box->per_cage, ports[i].split);
	for (size_t i = 0; i < count && !one_row; i++) {
		int column;

		if (!ports[i].cage)
			continue;
		column = (ports[i].cage - 1) / 2 * ret_box->per_cage + (ports[i].split ? ports[i].split - 1 : 0);
		ret_slots[i] = (struct panel_slot){ (ports[i].cage - 1) % 2, column };
		caged_columns = most(caged_columns, ((ports[i].cage - 1) / 2 + 1) * ret_box->per_cage);
	}
	/* Ports without a cage come last; without any cages, the number determines the position. */
	for (size_t i = 0; i < count; i++) {
		if (one_row)
			ret_slots[i] = (struct panel_slot){ 0, (int)i };
		else if (!ports[i].cage && caged_columns)
			ret_slots[i] = (struct panel_slot){ loose % 2, caged_columns + loose / 2 };
		else if (!ports[i].cage)
			ret_slots[i] = (struct panel_slot){ (ports[i].num + 1) % 2, (ports[i].num - 1) / 2 };
		loose += !ports[i].cage;
		ret_box->columns = most(ret_box->columns, ret_slots[i].column + 1);
	}
}

/* Whether the box fits with these sizes; sets the plan if so. */
static bool try_cells(int rows, int columns, const struct panel_box *box, int cell_columns, int cell_rows, int gap,
		      struct panel_plan *ret)
{
	int beside = columns / cell_columns / box->per_cage * box->per_cage, banks, cages;

	if (beside < box->per_cage)
		beside = box->per_cage;
	banks = box->columns ? (box->columns + beside - 1) / beside : 0;
	/* Banks of equal length. */
	cages = banks ? (box->columns + banks * box->per_cage - 1) / (banks * box->per_cage) : 1;
	*ret = (struct panel_plan){
		.box = *box, .cell_rows = cell_rows, .cell_columns = cell_columns, .gap = gap,
		.bank_columns = cages * box->per_cage,
		.lines = banks * (box->rows * cell_rows + gap) - (banks ? gap : 0),
	};
	if (ret->lines > rows || ret->bank_columns * cell_columns > columns)
		return false;
	/* Cells take the remaining width. */
	while (cell_rows > 1 && ret->cell_columns < WIDEST_CELL &&
	       ret->bank_columns * (ret->cell_columns + 1) <= columns)
		ret->cell_columns++;
	return true;
}

void panel_plan(int rows, int columns, const struct panel_box *box, int label_columns, struct panel_plan *ret)
{
	static const struct { int columns, rows, gap; } styles[] = {
		{ 22, 3, 1 }, { 18, 3, 1 }, { 14, 3, 1 }, { 12, 3, 1 }, { 10, 3, 1 }, { 10, 3, 0 }, { 7, 2, 1 },
		{ 7, 2, 0 },
	};
	const struct panel_box nothing = { 1, 0, 1 };

	if (!box->columns)
		box = &nothing;
	for (size_t i = 0; i < sizeof(styles) / sizeof(styles[0]); i++)
		if (try_cells(rows, columns, box, most(styles[i].columns, label_columns + 4), styles[i].rows,
			      styles[i].gap, ret))
			return;
	/* Number and sign; blanks between cells and lines between banks if they fit. */
	if (try_cells(rows, columns, box, label_columns + 2, 1, 1, ret) ||
	    try_cells(rows, columns, box, label_columns + 2, 1, 0, ret))
		return;
	try_cells(rows, columns, box, label_columns + 1, 1, 0, ret);
}

struct rect panel_cell(const struct panel_plan *plan, const struct panel_slot *slot)
{
	int bank = slot->column / plan->bank_columns;

	return (struct rect){
		.y = bank * (plan->box.rows * plan->cell_rows + plan->gap) + slot->row * plan->cell_rows,
		.x = slot->column % plan->bank_columns * plan->cell_columns,
		.rows = plan->cell_rows, .columns = plan->cell_columns,
	};
}

int panel_scroll(const struct panel_plan *plan, const struct panel_slot *slot, int first, int rows)
{
	struct rect cell = panel_cell(plan, slot);

	if (plan->lines <= rows)
		return 0;
	if (first > plan->lines - rows)
		first = plan->lines - rows;
	if (cell.y + cell.rows > first + rows)
		first = cell.y + cell.rows - rows;
	return cell.y < first ? cell.y : first;
}

static int distance(int a, int b)
{
	return a > b ? a - b : b - a;
}

size_t panel_move(const struct panel_plan *plan, const struct panel_slot *slots, size_t count, size_t from, int dy,
		  int dx)
{
	struct rect here = panel_cell(plan, &slots[from]);
	size_t best = from;
	int best_along = 0, best_beside = 0;

	for (size_t i = 0; i < count; i++) {
		struct rect there = panel_cell(plan, &slots[i]);
		int along = dy ? (there.y - here.y) * dy : (there.x - here.x) * dx;
		int beside = dy ? distance(there.x, here.x) : distance(there.y, here.y);

		if (along <= 0 || (!dy && beside))
			continue;
		if (best == from || along < best_along || (along == best_along && beside < best_beside)) {
			best = i;
			best_along = along;
			best_beside = beside;
		}
	}
	return best;
}
