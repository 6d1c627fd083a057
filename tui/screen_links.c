/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* screen_links.c - every link of the fabric in a table */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/err.h"
#include "fabric/fabric.h"
#include "tui/app.h"
#include "tui/draw.h"
#include "tui/words.h"

enum mode { MODE_TABLE, MODE_FILTER, MODE_SORT };

struct ports {
	enum mode mode;
	size_t cursor, first; /* rows */
	int height;           /* rows that the last drawing had room for */
	/*
	 * The port that the cursor stands on, so that it stays there when the
	 * rows move. Until the cursor was moved, it is that of the first row,
	 * whichever port that is.
	 */
	bool follows;
	uint64_t node_guid;
	uint8_t port;
	enum column menu; /* that the cursor of the sort menu stands on */
};

static void *create(struct app *app, struct error *err)
{
	struct ports *ports = calloc(1, sizeof(*ports));

	(void)app;
	if (!ports)
		err_nomem(err);
	return ports;
}

static void move_to(struct ports *ports, const struct table *table, size_t row)
{
	const struct fabric *fabric;
	const struct port *port;

	ports->cursor = row < table->row_count ? row : table->row_count ? table->row_count - 1 : 0;
	ports->follows = ports->cursor > 0;
	if (!ports->follows)
		return;
	fabric = table->snapshot->fabric;
	port = &fabric->ports[table->rows[ports->cursor]];
	ports->node_guid = fabric->nodes[port->node].guid;
	ports->port = port->num;
}

/* The rows are others: the cursor goes with its port, and keeps its line on the screen where it can. */
static void changed(void *state, struct app *app)
{
	struct ports *ports = state;
	const struct table *table = &app->table;
	size_t line = ports->cursor - ports->first, row = table->row_count;

	if (ports->follows)
		row = table_find(table, ports->node_guid, ports->port);
	if (row < table->row_count) {
		ports->cursor = row;
		ports->first = row > line ? row - line : 0;
	} else if (ports->cursor >= table->row_count) {
		/* Its port is gone: without a row of its own it stays near its place. */
		ports->cursor = table->row_count ? table->row_count - 1 : 0;
	}
	ports->first = layout_scroll(ports->first, ports->cursor, table->row_count, ports->height);
}

static enum role word_role(enum port_word word)
{
	static const enum role roles[WORD_COUNT] = {
		[WORD_OK] = ROLE_TEXT,         [WORD_IDLE] = ROLE_FAINT,       [WORD_NEW] = ROLE_FAINT,
		[WORD_UNPLANNED] = ROLE_FAINT, [WORD_UNFINISHED] = ROLE_FAINT, [WORD_INIT] = ROLE_WARNING,
		[WORD_LOCKED] = ROLE_LOCKED,   [WORD_SILENT] = ROLE_SILENT,    [WORD_UNSUPPORTED] = ROLE_UNSUPPORTED,
		[WORD_DOWN] = ROLE_DOWN,       [WORD_MIRRORED] = ROLE_FAINT,
	};

	return roles[word];
}

static enum role cell_role(const struct row_view *view, enum column column)
{
	switch (column) {
	case COLUMN_STATUS:
	case COLUMN_STATE:
		return word_role((enum port_word)view->word);
	case COLUMN_XMIT:
	case COLUMN_XMIT_PERCENT:
	case COLUMN_XMIT_BAR:
		return view->word == WORD_IDLE ? ROLE_FAINT : theme_load_role(view->xmit_percent);
	case COLUMN_RCV:
	case COLUMN_RCV_PERCENT:
	case COLUMN_RCV_BAR:
		return view->word == WORD_IDLE ? ROLE_FAINT : theme_load_role(view->rcv_percent);
	case COLUMN_ERRORS:
	case COLUMN_WHICH_ERRORS:
		return view->errors > 0 || view->at_least ? ROLE_WARNING : ROLE_FAINT;
	case COLUMN_PORT:
	case COLUMN_PEER:
	case COLUMN_LINK:
		return view->word == WORD_DOWN || view->word == WORD_IDLE ? ROLE_FAINT : ROLE_TEXT;
	default:
		return ROLE_FAINT;
	}
}

static void draw_row(const struct app *app, const struct brush *brush, int y, const struct rect *body,
		     const struct column_place *places, uint32_t port)
{
	const struct row_view *view = &app->table.views[port];
	char text[CELL_SIZE];
	int column, x = 0;

	for (column = 0; column < COLUMN_COUNT; column++) {
		const struct column_place *place = &places[column];
		enum role role = cell_role(view, (enum column)column);
		enum align align = column_info((enum column)column)->right ? ALIGN_RIGHT : ALIGN_LEFT;

		if (!place->columns)
			continue;
		draw_cell(brush, y, body->x + x, place->x - x, "", ALIGN_LEFT, ROLE_TEXT);
		x = place->x + place->columns;
		if (column == COLUMN_PORT || column == COLUMN_PEER)
			align = ALIGN_MIDDLE;
		if (column == COLUMN_XMIT_BAR || column == COLUMN_RCV_BAR) {
			double percent = column == COLUMN_XMIT_BAR ? view->xmit_percent : view->rcv_percent;

			/* The monitor's own questions are no load to look at. */
			if (view->word == WORD_IDLE)
				percent = 0;
			draw_fitted(brush, y, body->x + place->x,
				    format_bar(percent, (unsigned)place->columns, app->theme.unicode, text), role);
			continue;
		}
		words_cell(&app->table, &app->live.errors, port, (enum column)column, place->columns, app->now_us,
			   text);
		draw_cell(brush, y, body->x + place->x, place->columns, text, align, role);
	}
	draw_cell(brush, y, body->x + x, body->columns - x, "", ALIGN_LEFT, ROLE_TEXT);
}

static void draw_heads(const struct app *app, const struct rect *body, const struct column_place *places)
{
	const struct brush brush = { &app->theme, 0 };
	const char *arrow = app->table.descending ? (app->theme.unicode ? "\xe2\x96\xbc" : "v") :
						    (app->theme.unicode ? "\xe2\x96\xb2" : "^");
	int column;

	draw_cell(&brush, body->y, body->x, body->columns, "", ALIGN_LEFT, ROLE_HEAD);
	for (column = 0; column < COLUMN_COUNT; column++) {
		const struct column_info *info = column_info((enum column)column);
		const char *title = (int)strlen(info->title) <= places[column].columns ? info->title : info->narrow;
		bool sorted = app->table.sort == (enum column)column;
		char text[64];

		/* Rates are short below 10 columns: then the unit stands in the head. */
		if ((column == COLUMN_XMIT || column == COLUMN_RCV) && places[column].columns < 10)
			title = info->narrow;
		snprintf(text, sizeof(text), "%s%s", title, sorted ? arrow : "");
		draw_cell(&brush, body->y, body->x + places[column].x, places[column].columns, text,
			  info->right ? ALIGN_RIGHT : ALIGN_LEFT, sorted ? ROLE_SORTED : ROLE_HEAD);
	}
}

/* What is said where there are no rows. */
static void write_empty(const struct app *app, char *ret, size_t size)
{
	const struct fabric_summary *summary = &app->table.summary;

	if (app->table.filter.word_count)
		snprintf(ret, size, "No port matches \"%.200s\". Esc shows all.", app->table.filter.typed);
	else if (summary->ports_unused)
		snprintf(ret, size, "All %zu ports are down and unused. d shows them.", summary->ports_unused);
	else
		snprintf(ret, size, "This fabric has no port with counters.");
}

static void draw_menu(const struct ports *ports, const struct app *app, const struct rect *body)
{
	const struct brush plain = { &app->theme, 0 }, chosen = { &app->theme, DRAW_CURSOR };
	int columns = body->columns < 70 ? body->columns : 70, rows = body->rows - 1, y;
	int first = (int)layout_scroll(0, ports->menu, COLUMN_COUNT, rows);

	draw_cell(&plain, body->y, body->x, columns, " SORT BY", ALIGN_LEFT, ROLE_HEAD);
	for (y = 0; y < rows && first + y < COLUMN_COUNT; y++) {
		enum column column = (enum column)(first + y);
		char text[160];

		snprintf(text, sizeof(text), " %-12s  %s", column_info(column)->title, column_info(column)->meaning);
		draw_cell(column == ports->menu ? &chosen : &plain, body->y + 1 + y, body->x, columns, text, ALIGN_LEFT,
			  column == app->table.sort ? ROLE_STRONG : ROLE_TEXT);
	}
}

static void draw(void *state, struct app *app, const struct rect *body)
{
	struct ports *ports = state;
	const struct table *table = &app->table;
	struct brush brush = { &app->theme, 0 };
	struct column_place places[COLUMN_COUNT];
	char text[CELL_SIZE];
	int y;

	ports->height = body->rows - 1;
	ports->first = layout_scroll(ports->first, ports->cursor, table->row_count, ports->height);
	layout_columns(body->columns, table->summary.port_columns, table->summary.peer_columns,
		       table->summary.link_columns, places);
	draw_heads(app, body, places);
	for (y = 0; y < ports->height && ports->first + (size_t)y < table->row_count; y++) {
		size_t row = ports->first + (size_t)y;

		brush.flags = (app_dims(app) ? DRAW_DIM : 0) | (row == ports->cursor ? DRAW_CURSOR : 0);
		draw_row(app, &brush, body->y + 1 + y, body, places, table->rows[row]);
	}
	if (!table->row_count) {
		brush.flags = 0;
		write_empty(app, text, sizeof(text));
		draw_cell(&brush, body->y + 2, body->x, body->columns, text, ALIGN_LEFT, ROLE_TEXT);
	}
	if (ports->mode == MODE_SORT)
		draw_menu(ports, app, body);
}

static void draw_footer(void *state, struct app *app, const struct rect *footer)
{
	static const struct key_help keys[] = {
		{ "F1", "help" },     { "/", "filter" }, { "s", "sort" },   { "d", "unused" },
		{ "Space", "pause" }, { "q", "quit" },	 { "I", "reverse" }, { NULL, NULL },
	};
	static const struct key_help menu_keys[] = {
		{ "Up Down", "choose" }, { "Enter", "sort by it" }, { "Esc", "leave it" }, { NULL, NULL },
	};
	const struct ports *ports = state;
	const struct table *table = &app->table;
	const struct brush brush = { &app->theme, 0 };
	char shown[32], all[32], text[FILTER_SIZE + 128];
	struct rect left = *footer;
	int columns;

	format_count(table->row_count, 24, shown, sizeof(shown));
	format_count(table->summary.ports, 24, all, sizeof(all));
	snprintf(text, sizeof(text), "%s of %s ports", shown, all);
	columns = (int)strlen(text);
	left.columns = footer->columns - columns - 2;
	draw_cell(&brush, footer->y, footer->x, footer->columns, text, ALIGN_RIGHT, ROLE_FAINT);
	if (ports->mode == MODE_SORT) {
		footer_draw_keys(app, &left, menu_keys);
		return;
	}
	if (ports->mode == MODE_FILTER || table->filter.word_count) {
		snprintf(text, sizeof(text), "/%s%s", table->filter.typed, ports->mode == MODE_FILTER ? "_" : "");
		draw_cell(&brush, left.y, left.x, left.columns, text, ALIGN_LEFT,
			  ports->mode == MODE_FILTER ? ROLE_STRONG : ROLE_WARNING);
		return;
	}
	footer_draw_keys(app, &left, keys);
}

static void rearrange(struct ports *ports, struct app *app)
{
	table_arrange(&app->table);
	changed(ports, app);
}

static void sort_by(struct ports *ports, struct app *app, enum column column)
{
	if (app->table.sort != column)
		app->table.descending = table_descending_first(column);
	app->table.sort = column;
	rearrange(ports, app);
}

/* The next column to the left or right that is shown now. */
static void sort_by_neighbour(struct ports *ports, struct app *app, int step)
{
	struct column_place places[COLUMN_COUNT];
	int column = app->table.sort, tries;

	layout_columns(getmaxx(stdscr), app->table.summary.port_columns, app->table.summary.peer_columns,
		       app->table.summary.link_columns, places);
	for (tries = 0; tries < COLUMN_COUNT; tries++) {
		column = (column + step + COLUMN_COUNT) % COLUMN_COUNT;
		if (places[column].columns)
			break;
	}
	sort_by(ports, app, (enum column)column);
}

static bool move_key(struct ports *ports, const struct table *table, int key)
{
	size_t page = ports->height > 1 ? (size_t)ports->height - 1 : 1;
	size_t last = table->row_count ? table->row_count - 1 : 0;

	switch (key) {
	case KEY_SPECIAL(KEY_UP):
		move_to(ports, table, ports->cursor ? ports->cursor - 1 : 0);
		break;
	case KEY_SPECIAL(KEY_DOWN):
		move_to(ports, table, ports->cursor + 1);
		break;
	case KEY_SPECIAL(KEY_PPAGE):
		ports->first -= ports->first < page ? ports->first : page;
		move_to(ports, table, ports->cursor > page ? ports->cursor - page : 0);
		break;
	case KEY_SPECIAL(KEY_NPAGE):
		ports->first += page;
		move_to(ports, table, ports->cursor + page);
		break;
	case KEY_SPECIAL(KEY_HOME):
		move_to(ports, table, 0);
		break;
	case KEY_SPECIAL(KEY_END):
		move_to(ports, table, last);
		break;
	default:
		return false;
	}
	ports->first = layout_scroll(ports->first, ports->cursor, table->row_count, ports->height);
	return true;
}

static void append_character(struct filter *filter, int key)
{
	char bytes[MB_LEN_MAX + 1];
	mbstate_t shift = { 0 };
	size_t len = wcrtomb(bytes, (wchar_t)key, &shift);

	if (len == (size_t)-1)
		return;
	bytes[len] = '\0';
	filter_append(filter, bytes);
}

static bool filter_key(struct ports *ports, struct app *app, int key)
{
	struct filter *filter = &app->table.filter;

	switch (key) {
	case KEY_ESCAPE:
		filter_set(filter, "");
		ports->mode = MODE_TABLE;
		break;
	case '\r':
	case '\n':
	case KEY_SPECIAL(KEY_ENTER):
		ports->mode = MODE_TABLE;
		break;
	case '\b':
	case 127:
	case KEY_SPECIAL(KEY_BACKSPACE):
		/* Erasing what is not there leaves the filter, as in less and vi. */
		if (!filter->typed[0])
			ports->mode = MODE_TABLE;
		filter_erase(filter);
		break;
	case KEY_CTRL('u'):
		filter_set(filter, "");
		break;
	default:
		if (move_key(ports, &app->table, key))
			return true;
		if (key < ' ')
			return key != KEY_SPECIAL(KEY_F(1)) && key != KEY_SPECIAL(KEY_F(10));
		append_character(filter, key);
		break;
	}
	rearrange(ports, app);
	return true;
}

static bool menu_key(struct ports *ports, struct app *app, int key)
{
	switch (key) {
	case 'k':
	case KEY_SPECIAL(KEY_UP):
		ports->menu = ports->menu ? ports->menu - 1 : COLUMN_COUNT - 1;
		break;
	case 'j':
	case KEY_SPECIAL(KEY_DOWN):
		ports->menu = (ports->menu + 1) % COLUMN_COUNT;
		break;
	case '\r':
	case '\n':
	case ' ':
	case KEY_SPECIAL(KEY_ENTER):
		ports->mode = MODE_TABLE;
		sort_by(ports, app, ports->menu);
		break;
	case KEY_ESCAPE:
	case 'q':
	case 's':
	case KEY_SPECIAL(KEY_F(6)):
		ports->mode = MODE_TABLE;
		break;
	default:
		break;
	}
	return true;
}

static int as_special(int key)
{
	switch (key) {
	case 'k':
		return KEY_SPECIAL(KEY_UP);
	case 'j':
		return KEY_SPECIAL(KEY_DOWN);
	case 'g':
		return KEY_SPECIAL(KEY_HOME);
	case 'G':
		return KEY_SPECIAL(KEY_END);
	case KEY_CTRL('b'):
		return KEY_SPECIAL(KEY_PPAGE);
	case KEY_CTRL('f'):
		return KEY_SPECIAL(KEY_NPAGE);
	default:
		return key;
	}
}

static bool key(void *state, struct app *app, int pressed)
{
	struct ports *ports = state;

	if (!app->table.snapshot)
		return false;
	if (ports->mode == MODE_FILTER)
		return filter_key(ports, app, pressed);
	if (ports->mode == MODE_SORT)
		return menu_key(ports, app, pressed);
	if (move_key(ports, &app->table, as_special(pressed)))
		return true;
	switch (pressed) {
	case '/':
	case '\\':
	case KEY_SPECIAL(KEY_F(3)):
	case KEY_SPECIAL(KEY_F(4)):
		ports->mode = MODE_FILTER;
		return true;
	case KEY_ESCAPE:
		if (!app->table.filter.word_count)
			return false;
		filter_set(&app->table.filter, "");
		rearrange(ports, app);
		return true;
	case KEY_SPECIAL(KEY_LEFT):
		sort_by_neighbour(ports, app, -1);
		return true;
	case KEY_SPECIAL(KEY_RIGHT):
		sort_by_neighbour(ports, app, 1);
		return true;
	case 's':
	case KEY_SPECIAL(KEY_F(6)):
		ports->menu = app->table.sort;
		ports->mode = MODE_SORT;
		return true;
	case 'I':
		app->table.descending = !app->table.descending;
		rearrange(ports, app);
		return true;
	case 'd':
		app->table.show_unused = !app->table.show_unused;
		rearrange(ports, app);
		return true;
	default:
		return false;
	}
}

static const struct key_help help[] = {
	{ "Up Down j k", "move; the cursor stays on its port when the rows move" },
	{ "PgUp PgDn", "a page up or down" },
	{ "Home End g G", "first and last row; on the first row the cursor stays there" },
	{ "/ F3 F4", "filter as you type: part of a port, peer, status, link or GUID; a|b is either" },
	{ "Esc", "no filter any more" },
	{ "Left Right", "sort by the next column" },
	{ "s F6", "choose the column to sort by" },
	{ "I", "the other way round" },
	{ "d", "show or hide ports that are down and unused" },
	{ NULL, NULL },
};

static void subject(void *state, const struct app *app, struct subject *ret)
{
	const struct ports *ports = state;
	const struct table *table = &app->table;
	const struct port *port;

	if (ports->cursor >= table->row_count)
		return;
	port = &table->snapshot->fabric->ports[table->rows[ports->cursor]];
	*ret = (struct subject){ .kind = SUBJECT_PORT, .port = port->num,
				 .node_guid = table->snapshot->fabric->nodes[port->node].guid };
}

const struct screen screen_links = {
	.name = "Links",
	.is_tab = true,
	.subject = subject,
	.create = create,
	.destroy = free,
	.changed = changed,
	.draw = draw,
	.draw_footer = draw_footer,
	.key = key,
	.help = help,
};
