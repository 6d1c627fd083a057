/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* balance_map.c - the heat map of the Balance screen */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/rate.h"
#include "base/err.h"
#include "base/text.h"
#include "fabric/shape.h"
#include "tui/draw/draw.h"
#include "tui/draw/key.h"
#include "tui/model/context.h"
#include "tui/model/live.h"
#include "tui/model/port_table.h"
#include "tui/model/trend.h"
#include "tui/screens/balance_view.h"

/* Maximum number of names compared for their common prefix. */
enum { NAMES_MOST = 4096 };

/* From this width on the selected group is beside the map, and its load over time below the map. */
enum { BESIDE_FROM = 160, BESIDE_COLUMNS = 84 };

static const char *name_of(const struct app *app, uint32_t node)
{
	return app->table->order.names[node];
}

static uint64_t guid_of(const struct app *app, uint32_t node)
{
	return node == FABRIC_NONE ? 0 : app->live->shown->fabric->nodes[node].guid;
}

/* The selected row of the matrix. */
static size_t row_here(const struct balance_view *view)
{
	return view->rows.cursor < view->heat.row_count ? view->order[view->rows.cursor] : 0;
}

static void save_cursor(struct balance_view *view, const struct app *app)
{
	size_t row = row_here(view), count = heat_columns(&view->heat, row);

	if (!view->heat.row_count)
		return;
	if (view->column >= count)
		view->column = count ? count - 1 : 0;
	view->row_guid = guid_of(app, view->heat.rows[row]);
	view->column_guid = guid_of(app, heat_column(&view->heat, row, view->column));
}

/* The cursor starts at the hottest cell. */
static void go_to_hottest(struct balance_view *view, const struct app *app)
{
	uint32_t *order = calloc(view->heat.row_count + 1, sizeof(*order));

	if (!order)
		return;
	heat_order(&view->heat, HEAT_MEASURED, true, order);
	for (size_t i = 0; i < view->heat.row_count; i++)
		if (view->order[i] == order[0])
			view->rows.cursor = i;
	view->column = heat_worst(&view->heat, HEAT_MEASURED, order[0]);
	free(order);
	save_cursor(view, app);
}

static void restore_cursor(struct balance_view *view, const struct app *app)
{
	for (size_t i = 0; i < view->heat.row_count; i++)
		if (guid_of(app, view->heat.rows[view->order[i]]) == view->row_guid)
			view->rows.cursor = i;
	if (view->rows.cursor >= view->heat.row_count)
		view->rows.cursor = 0;
	for (size_t i = 0; i < heat_columns(&view->heat, row_here(view)); i++)
		if (guid_of(app, heat_column(&view->heat, row_here(view), i)) == view->column_guid)
			view->column = i;
	save_cursor(view, app);
}

static void arrange(struct balance_view *view, const struct app *app)
{
	heat_order(&view->heat, view->value, view->hottest_first, view->order);
	restore_cursor(view, app);
}

/* A port of the switch was up, is down, and has lost its peer. */
static bool has_lost_peer(const struct app *app, uint32_t index)
{
	const struct fabric *fabric = app->table->snapshot->fabric;
	const struct node *node = &fabric->nodes[index];

	for (uint32_t i = node->first_port; i < node->first_port + node->ports; i++)
		if (fabric->ports[i].peer == FABRIC_NONE && app->table->ports[i].status == STATUS_DOWN &&
		    !app->table->ports[i].unused)
			return true;
	return false;
}

/* A pulled cable is not in the topology. It was there if both switches have lost a peer. */
static void mark_pulled(struct balance_view *view, const struct app *app)
{
	struct heat *heat = &view->heat;

	for (size_t row = 0; app->table->snapshot && row < heat->row_count; row++)
		for (size_t column = 0; column < heat_columns(heat, row); column++) {
			struct heat_cell *cell = &heat->cells[heat->row_cells[row] + column];

			if (cell->sign == HEAT_MISSING && has_lost_peer(app, heat->rows[row]) &&
			    has_lost_peer(app, heat_column(heat, row, column)))
				cell->sign = HEAT_DOWN;
		}
}

static int make(struct balance_view *view, const struct app *app, struct error *err)
{
	const struct shape *shape = app->context->shape;
	const struct balance_input input = loads_input(&view->loads, shape);
	struct heat_source source = { .shape = shape, .nodes = app->table->order.nodes, .input = &input,
				      .balance = &view->loads.balance, .inward = view->inward };
	int code;

	heat_done(&view->heat);
	if (view->tier >= shape->tier_count)
		view->tier = 1;
	source.tier = view->tier;
	code = heat_create(&source, &view->heat, err);
	if (code == 0)
		mark_pulled(view, app);
	free(view->order);
	view->order = calloc(view->heat.row_count + 1, sizeof(*view->order));
	if (code == 0 && !view->order)
		code = err_nomem(err);
	if (code < 0) {
		heat_done(&view->heat);
		return code;
	}
	heat_order(&view->heat, view->value, view->hottest_first, view->order);
	if (view->heat.row_count && !view->row_guid)
		go_to_hottest(view, app);
	restore_cursor(view, app);
	return 0;
}

static void draw_title(const struct balance_view *view, const struct app *app, const struct rect *body)
{
	static const char *const values[HEAT_VALUES] = { "measured load", "load predicted from the routes",
							 "measured minus predicted" };
	const struct heat *heat = &view->heat;
	const struct brush brush = app_brush(app, false);
	struct segments line = { 0 };
	char low[16], high[16], window[64];

	segment_add(&line, 0, ROLE_STRONG, "%s %s %s: %s%s", shape_tier_name(heat->tier, low),
		    heat->inward ? "<-" : "->", shape_tier_name(heat->tier + 1, high), values[view->value],
		    view->value != HEAT_MEASURED && !heat->predicted ? " (forwarding tables unknown)" : "");
	segment_add(&line, 1, ROLE_TEXT, "%s", view_window(view, window, sizeof(window)));
	segment_add(&line, 2, ROLE_TEXT, "%s %zu of %zu, %s %zu of %zu", low, view->rows.cursor + 1, heat->row_count,
		    high, view->column + 1, heat_columns(heat, row_here(view)));
	if (heat->block_count > 1)
		segment_add(&line, 3, ROLE_TEXT, "part %u of %zu", heat->row_block[row_here(view)] + 1,
			    heat->block_count);
	draw_segments(&brush, body->y, body->x, body->columns, &line);
}

/* Common prefix of the column names of a block. @ret_longest: columns of the longest rest. */
static size_t column_prefix(const struct balance_view *view, const struct app *app, size_t row, int *ret_longest)
{
	const char *names[NAMES_MOST];
	size_t count = heat_columns(&view->heat, row), prefix, i;

	if (count > NAMES_MOST)
		count = NAMES_MOST;
	for (i = 0; i < count; i++)
		names[i] = name_of(app, heat_column(&view->heat, row, i));
	prefix = heat_prefix(names, count);
	for (i = 0, *ret_longest = 0; i < count; i++)
		if ((int)text_columns(names[i] + prefix) > *ret_longest)
			*ret_longest = (int)text_columns(names[i] + prefix);
	return prefix;
}

/* The name of a column: horizontal, or its last characters one per line. */
static void draw_head(const struct balance_view *view, const struct app *app, const struct rect *body, int x,
		      const char *name, bool here)
{
	const struct heat_layout *layout = &view->layout;
	const struct brush brush = app_brush(app, here);
	size_t columns = text_columns(name);
	char character[8];

	if (layout->heads == 1) {
		if (columns > (size_t)heat_number_columns(layout->cell))
			name += text_prefix_bytes(name, columns - (size_t)heat_number_columns(layout->cell));
		draw_cell(&brush, body->y, x, heat_number_columns(layout->cell), name, ALIGN_RIGHT, ROLE_TEXT);
		return;
	}
	if (columns > (size_t)layout->heads)
		name += text_prefix_bytes(name, columns - (size_t)layout->heads);
	for (int line = layout->heads - (int)text_columns(name); line < layout->heads && *name; line++) {
		size_t bytes = text_prefix_bytes(name, 1);

		/* A number wider than the cell is left blank. */
		snprintf(character, sizeof(character), "%.*s", (int)(bytes < 7 ? bytes : 7), name);
		draw_cell(&brush, body->y + (line < 0 ? 0 : line), x, heat_number_columns(layout->cell), character,
			  ALIGN_RIGHT, ROLE_TEXT);
		name += bytes ? bytes : strlen(name);
	}
}

static void draw_heads(const struct balance_view *view, const struct app *app, const struct rect *body, size_t prefix)
{
	const struct heat_layout *layout = &view->layout;
	const struct brush brush = app_brush(app, false);
	size_t row = row_here(view);
	uint32_t node = heat_column(&view->heat, row, 0);
	char corner[NODE_NAME_SIZE];

	if (node == FABRIC_NONE)
		return;
	snprintf(corner, sizeof(corner), "%.*s", (int)prefix, name_of(app, node));
	draw_cell(&brush, body->y + layout->heads - 1, body->x, layout->label, corner, ALIGN_RIGHT, ROLE_FAINT);
	for (size_t i = 0; i < (size_t)layout->shown; i++) {
		node = heat_column(&view->heat, row, view->first_column + i);
		if (node != FABRIC_NONE)
			draw_head(view, app, body, body->x + layout->label + 1 + (int)i * layout->cell,
				  name_of(app, node) + prefix, view->first_column + i == view->column);
	}
}

static void draw_row(const struct balance_view *view, const struct app *app, const struct rect *body, int y, size_t at)
{
	const struct heat_layout *layout = &view->layout;
	const struct heat *heat = &view->heat;
	uint32_t row = view->order[at];
	bool here = at == view->rows.cursor, named = heat->row_block[row] == heat->row_block[row_here(view)];
	struct brush brush = app_brush(app, here);
	char text[16];

	/* Column names are those of the block of the cursor; rows of other blocks are faint. */
	draw_cell(&brush, y, body->x, layout->label, name_of(app, heat->rows[row]), ALIGN_NAME,
		  named ? ROLE_TEXT : ROLE_FAINT);
	for (size_t i = 0; i < (size_t)layout->shown && view->first_column + i < heat_columns(heat, row); i++) {
		enum role role = heat_write(heat_cell(heat, row, view->first_column + i), view->value, layout->cell,
					    app->theme->unicode, text);

		/* The selected cell keeps the colour of its load. */
		brush = app_brush(app, false);
		brush.flags |= here && view->first_column + i == view->column ? DRAW_CELL : 0;
		draw_cell(&brush, y, body->x + layout->label + 1 + (int)i * layout->cell, layout->cell, text,
			  ALIGN_LEFT, role);
	}
}

static void append_percent(struct text *text, const char *before, double part)
{
	if (!isnan(part))
		text_appendf(text, "%s%.0f %%", before, 100 * part);
}

static const struct balance_result *result_here(const struct balance_view *view, const struct app *app)
{
	const struct shape *shape = app->context->shape;
	uint32_t group = shape->nodes[view->heat.rows[row_here(view)]].up_group;

	return group == SHAPE_NONE ? NULL :
	       &view->loads.balance.results[2 * (size_t)group + (view->heat.inward ? 1 : 0)];
}

/* The other links of the cell: ", port 19 8 %". */
static void append_others(const struct balance_view *view, const struct app *app, const struct heat_cell *cell,
			  struct text *text)
{
	const struct fabric *fabric = app->live->shown->fabric;
	const struct balance_result *result = result_here(view, app);
	uint32_t above = heat_column(&view->heat, row_here(view), view->column);

	text_appendf(text, "; busiest of %u links", cell->links);
	for (uint32_t i = 0; result && i < app->context->shape->groups[result->group].count; i++) {
		const struct balance_member *member = &result->members[i];
		const struct port *port = &fabric->ports[member->port];

		if (member->port == cell->port || port->peer == FABRIC_NONE ||
		    fabric->ports[port->peer].node != above)
			continue;
		text_appendf(text, ", port %u ", port->num);
		if (!member->works)
			text_append(text, port_state_name(port->state));
		else if (isnan(member->utilization))
			text_append(text, "not read");
		else
			append_percent(text, "", member->utilization);
	}
}

static void append_cell(const struct balance_view *view, const struct app *app, const struct heat_cell *cell,
			struct text *text)
{
	const struct fabric *fabric = app->live->shown->fabric;
	const struct port *port = &fabric->ports[cell->port];
	const struct balance_result *result = result_here(view, app);
	const char *low = name_of(app, port->node), *high = name_of(app, fabric->ports[port->peer].node);
	char rate[32];

	if (view->heat.inward)
		text_appendf(text, "%s/%u to %s/%u: ", high, fabric->ports[port->peer].num, low, port->num);
	else
		text_appendf(text, "%s/%u to %s/%u: ", low, port->num, high, fabric->ports[port->peer].num);
	rate_format_bits((double)port_rate_bits_per_s(port) / 8, rate, sizeof(rate));
	if (cell->sign == HEAT_DOWN)
		text_append(text, port_state_name(port->state));
	else if (cell->sign == HEAT_UNKNOWN)
		text_appendf(text, "not read in this window; %s", rate);
	else
		text_appendf(text, "%.0f %% of %s", 100 * (double)cell->value[HEAT_MEASURED], rate);
	append_percent(text, ", predicted ", cell->value[HEAT_PREDICTED]);
	append_percent(text, ", fair share ", result ? result->mean_utilization : NAN);
	if (cell->degraded) {
		rate_format_bits((double)app->context->shape->built_bits_per_s[cell->port] / 8, rate, sizeof(rate));
		text_appendf(text, "; built for %s", rate);
	}
	if (cell->links > 1)
		append_others(view, app, cell, text);
	if (cell->missing)
		text_appendf(text, "; %u fewer links than other pairs", cell->missing);
}

static void draw_words(const struct balance_view *view, const struct app *app, const struct rect *body, int y)
{
	size_t row = row_here(view);
	const struct heat_cell *cell = heat_cell(&view->heat, row, view->column);
	const struct balance_result *result = result_here(view, app);
	const struct brush brush = app_brush(app, false);
	struct text text = { 0 };
	char words[512];
	int used;

	if (!cell || cell->port == SHAPE_NONE)
		text_appendf(&text, "%s - %s: %s", name_of(app, view->heat.rows[row]),
			     cell ? name_of(app, heat_column(&view->heat, row, view->column)) : "no upper switches",
			     !cell || !cell->missing ? "no link" : cell->sign == HEAT_DOWN ? "link down, was up" :
			     "missing link: neighbouring switches have one");
	else
		append_cell(view, app, cell, &text);
	used = draw_wrapped(&brush, y, body->x, body->columns, view->layout.words > 1 ? view->layout.words - 1 : 1,
			    text_chars(&text), ROLE_STRONG);
	text_done(&text);
	if (result && used < view->layout.words)
		draw_wrapped(&brush, y + used, body->x, body->columns, view->layout.words - used,
			     view_group_text(view, app, result, words, sizeof(words)), ROLE_TEXT);
}

static void fit(struct balance_view *view, const struct app *app, const struct rect *body, size_t *ret_prefix)
{
	const struct heat *heat = &view->heat;
	int longest = 0, suffix, here;
	size_t widest = 0;

	for (size_t i = 0; i < heat->row_count; i++) {
		int columns = (int)text_columns(name_of(app, heat->rows[i]));

		longest = columns > longest ? columns : longest;
	}
	for (size_t i = 0; i < heat->block_count; i++)
		widest = heat->blocks[i].count > widest ? heat->blocks[i].count : widest;
	*ret_prefix = column_prefix(view, app, row_here(view), &suffix);
	here = (int)text_columns(name_of(app, heat->rows[row_here(view)]));
	heat_layout(body->rows - 1, body->columns, longest > here ? longest : here, suffix, heat->row_count,
		    widest, &view->layout);
	list_place(&view->rows, heat->row_count, body->y + 1 + view->layout.heads, view->layout.rows);
	view->first_column = layout_scroll(view->first_column, view->column,
					   heat_columns(heat, row_here(view)), view->layout.shown);
}

/* Each uplink of the selected row by sweep: which one was busy when. */
static void draw_sweeps(const struct balance_view *view, const struct app *app, const struct rect *area)
{
	const struct balance_result *result = result_here(view, app);
	const struct trend *trend = app->trend;
	const struct brush brush = app_brush(app, false);
	uint32_t count = app->context->shape->groups[result->group].count;
	size_t end = trend_until(trend, app->live->shown->sweep.wall_us);
	int label = view->layout.label, sweeps = area->columns - label - 1, x;
	char text[PORT_NAME_SIZE];

	sweeps = sweeps > TREND_LOADS ? TREND_LOADS : sweeps;
	app->trend->wanted = true;
	draw_cell(&brush, area->y, area->x, area->columns, "", ALIGN_LEFT, ROLE_HEAD);
	draw_cell(&brush, area->y, area->x, area->columns, "LAST SWEEPS of each uplink, busier direction", ALIGN_LEFT,
		  ROLE_HEAD);
	for (int y = 1; y < area->rows && (uint32_t)y <= count; y++) {
		uint32_t port = result->members[y - 1].port, peer = app->live->shown->fabric->ports[port].peer;

		if (peer == FABRIC_NONE)
			continue;
		order_port_name(&app->table->order, app->live->shown->fabric, peer, text);
		draw_cell(&brush, area->y + y, area->x, label, text, ALIGN_NAME, ROLE_TEXT);
		x = area->x + label + 1;
		for (int i = sweeps; i > 0; i--, x++) {
			double load = end >= (size_t)i ? trend_load(trend, port, end - (size_t)i) : NAN;
			const struct heat_cell cell = { .value[HEAT_MEASURED] = (float)(load / 100), .links = 1,
							.working = 1, .sign = HEAT_LOAD };
			enum role role = heat_write(&cell, HEAT_MEASURED, 1, app->theme->unicode, text);

			if (!isnan(load))
				draw_cell(&brush, area->y + y, x, 1, text, ALIGN_LEFT, role);
		}
	}
}

/* The selected group beside the map. */
static void draw_beside(const struct balance_view *view, const struct app *app, const struct rect *area)
{
	const struct brush brush = app_brush(app, false);
	const struct balance_result *result = result_here(view, app);
	struct rect members = *area;
	char words[512];
	int used = 1;

	draw_cell(&brush, area->y, area->x, area->columns, name_of(app, view->heat.rows[row_here(view)]), ALIGN_NAME,
		  ROLE_STRONG);
	used += draw_wrapped(&brush, area->y + 1, area->x, area->columns, 3,
			     view_group_text(view, app, result, words, sizeof(words)), ROLE_TEXT);
	members.y += used;
	members.rows -= used;
	groups_draw_members(app, &members, result);
}

static void draw(struct balance_view *view, struct app *app, const struct rect *whole)
{
	const struct brush brush = app_brush(app, false);
	bool wide = whole->columns >= BESIDE_FROM && view->heat.row_count && result_here(view, app);
	struct rect left = *whole, right = *whole, below, *body = &left;
	size_t prefix = 0;
	char legend[256];
	int y;

	if (!view->heat.row_count)
		return;
	if (wide) {
		left.columns -= BESIDE_COLUMNS + 2;
		right.x += left.columns + 2;
		right.columns = BESIDE_COLUMNS;
		draw_beside(view, app, &right);
	}
	below = left;
	fit(view, app, body, &prefix);
	draw_title(view, app, body);
	below.y++;
	draw_heads(view, app, &below, prefix);
	y = body->y + 1 + view->layout.heads;
	for (int line = 0; line < view->layout.rows && view->rows.first + (size_t)line < view->heat.row_count; line++)
		draw_row(view, app, body, y + line, view->rows.first + (size_t)line);
	if (view->layout.members && result_here(view, app)) {
		below.y = y + view->layout.rows + 1;
		below.rows = view->layout.members;
		if (wide)
			draw_sweeps(view, app, &below);
		else
			groups_draw_members(app, &below, result_here(view, app));
	}
	y = body->y + body->rows - view->layout.words - view->layout.legend;
	draw_words(view, app, body, y);
	if (view->layout.legend)
		draw_line(&brush, body, body->rows - 1, ROLE_FAINT, "%s",
			  heat_legend(view->value, view->layout.cell, app->theme->unicode, legend, sizeof(legend)));
}

/* Rebuild the matrix from the same loads. */
static void rebuild(struct balance_view *view, struct app *app)
{
	struct error trouble = { 0 };

	if (make(view, app, &trouble) < 0)
		app_message(app, "%s", trouble.text);
}

static void change_tier(struct balance_view *view, struct app *app, int step)
{
	unsigned tiers = app->context->shape->tier_count;
	char name[16];

	if (tiers <= 2) {
		app_message(app, "this fabric has no other tiers");
		return;
	}
	if (step > 0 ? view->tier + 1 >= tiers : view->tier <= 1) {
		app_message(app, "no further tier: shown are %ss and the tier above",
			shape_tier_name(view->tier, name));
		return;
	}
	view->tier = step > 0 ? view->tier + 1 : view->tier - 1;
	view->row_guid = 0;
	rebuild(view, app);
}

static void move_column(struct balance_view *view, const struct app *app, int step)
{
	size_t count = heat_columns(&view->heat, row_here(view));

	if (step < 0 ? view->column > 0 : view->column + 1 < count)
		view->column = step < 0 ? view->column - 1 : view->column + 1;
	save_cursor(view, app);
}

static bool key(struct balance_view *view, struct app *app, int pressed)
{
	switch (pressed) {
	case KEY_SPECIAL(KEY_LEFT):
		move_column(view, app, -1);
		return true;
	case KEY_SPECIAL(KEY_RIGHT):
		move_column(view, app, 1);
		return true;
	case 'v':
		view->value = (view->value + 1) % HEAT_VALUES;
		arrange(view, app);
		return true;
	case 'd':
		view->inward = !view->inward;
		rebuild(view, app);
		return true;
	case 's':
		view->hottest_first = !view->hottest_first;
		arrange(view, app);
		return true;
	case '+':
	case '=':
		change_tier(view, app, 1);
		return true;
	case '-':
		change_tier(view, app, -1);
		return true;
	default:
		return false;
	}
}

void map_press_column(struct balance_view *view, int x)
{
	int cell = x - view->layout.label - 1;

	if (cell >= 0 && cell / view->layout.cell < view->layout.shown)
		view->column = view->first_column + (size_t)(cell / view->layout.cell);
}

static void subject(const struct balance_view *view, const struct app *app, struct subject *ret)
{
	size_t row = row_here(view);
	const struct heat_cell *cell = heat_cell(&view->heat, row, view->column);

	if (!view->heat.row_count)
		return;
	if (cell && cell->port != SHAPE_NONE)
		*ret = subject_of_port(app, cell->port);
	else
		*ret = (struct subject){ .kind = SUBJECT_GROUP, .node_guid = guid_of(app, view->heat.rows[row]) };
}

const struct balance_part_info balance_map = {
	.make = make,
	.draw = draw,
	.key = key,
	.moved = save_cursor,
	.subject = subject,
};
