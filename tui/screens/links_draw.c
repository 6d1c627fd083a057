/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/screens/links_draw.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "fabric/fabric.h"
#include "tui/draw/draw.h"
#include "tui/draw/list.h"
#include "tui/model/cell_text.h"
#include "tui/model/links.h"
#include "tui/model/live.h"
#include "tui/model/port_table.h"
#include "tui/model/trend.h"
#include "tui/screens/app.h"
#include "tui/screens/setup.h"

void links_places(const struct app *app, const struct links *links, int columns, struct column_place *ret)
{
	const struct column_needs needs = {
		.port_columns = links->end_columns[links->swapped], .peer_columns = links->end_columns[!links->swapped],
		.link_columns = app->table->totals.link_columns,
		.findings = links->has_marks, .tags = links->tag_count > 0,
		.hidden = app->setup->hidden, .order = app->setup->order,
	};

	layout_columns(columns, &needs, ret);
}

enum role status_role(enum port_status status)
{
	static const enum role roles[STATUS_COUNT] = {
		[STATUS_OK] = ROLE_TEXT,         [STATUS_IDLE] = ROLE_FAINT,       [STATUS_NEW] = ROLE_FAINT,
		[STATUS_UNPLANNED] = ROLE_FAINT, [STATUS_UNFINISHED] = ROLE_FAINT, [STATUS_INIT] = ROLE_WARNING,
		[STATUS_LOCKED] = ROLE_LOCKED,   [STATUS_SILENT] = ROLE_SILENT,
		[STATUS_UNSUPPORTED] = ROLE_UNSUPPORTED,
		[STATUS_DOWN] = ROLE_DOWN,       [STATUS_MIRRORED] = ROLE_FAINT,
	};

	return roles[status];
}

enum role mark_role(enum port_mark mark)
{
	if (mark == MARK_CRITICAL)
		return ROLE_CRITICAL;
	return mark == MARK_WARNING ? ROLE_WARNING : ROLE_FAINT;
}

static bool has_errors(const struct links *links, const struct link_row *link)
{
	const struct port_facts *views = links->table->views;

	return links_errors(links, link) > 0 || views[link->ends[0]].errors_at_least ||
	       (link->ends[1] != FABRIC_NONE && views[link->ends[1]].errors_at_least);
}

static enum role cell_role(const struct links *links, const struct link_row *link, enum link_column column)
{
	unsigned side = links_side(links, link, 0);

	switch (column) {
	case LINK_COLUMN_TAG:
		return ROLE_GOOD;
	case LINK_COLUMN_FINDING:
		return mark_role(link->mark);
	case LINK_COLUMN_STATUS:
	case LINK_COLUMN_STATE:
		return status_role(link->status);
	case LINK_COLUMN_LOAD:
	case LINK_COLUMN_SPARK:
		return link->status == STATUS_IDLE ? ROLE_FAINT : role_of_load(links_load(link));
	case LINK_COLUMN_XMIT:
	case LINK_COLUMN_XMIT_PERCENT:
	case LINK_COLUMN_XMIT_BAR:
		return link->status == STATUS_IDLE ? ROLE_FAINT : role_of_load(link->percent[side]);
	case LINK_COLUMN_RCV:
	case LINK_COLUMN_RCV_PERCENT:
	case LINK_COLUMN_RCV_BAR:
		return link->status == STATUS_IDLE ? ROLE_FAINT : role_of_load(link->percent[!side]);
	case LINK_COLUMN_ERRORS:
	case LINK_COLUMN_WHICH_ERRORS:
		return has_errors(links, link) ? ROLE_WARNING : ROLE_FAINT;
	case LINK_COLUMN_LINK:
		return link->degraded ? ROLE_WARNING : ROLE_TEXT;
	case LINK_COLUMN_PORT:
	case LINK_COLUMN_PEER:
		return link->status == STATUS_DOWN || link->status == STATUS_IDLE ? ROLE_FAINT : ROLE_TEXT;
	default:
		return ROLE_FAINT;
	}
}

/* Write the text of a cell. */
static void write_cell(const struct app *app, const struct links *links, const struct link_row *link,
		       enum link_column column, int columns, char *ret)
{
	bool back = column == LINK_COLUMN_RCV_BAR;
	struct text line = { 0 };

	if (column == LINK_COLUMN_SPARK) {
		trend_spark(app->trend, &link->ends[0], 1, columns < TREND_LOADS ? columns : TREND_LOADS,
			    app->theme->unicode, &line);
		snprintf(ret, CELL_SIZE, "%s", text_chars(&line));
		text_done(&line);
		return;
	}
	if (column != LINK_COLUMN_XMIT_BAR && !back)
		cell_text(links, &app->live->errors, link, column, columns, app->now_us, ret);
	else /* Traffic of an idle link is from polling. */
		format_bar(link->status == STATUS_IDLE ? 0 : link->percent[links_side(links, link, 0) ^ back],
			   (unsigned)columns, app->theme->unicode, ret);
}

static void draw_row(const struct app *app, const struct links *links, const struct brush *brush, int y,
		     const struct rect *body, const struct column_place *places, const struct link_row *link)
{
	char text[CELL_SIZE];

	draw_cell(brush, y, body->x, body->columns, "", ALIGN_LEFT, ROLE_TEXT);
	for (int column = 0; column < LINK_COLUMN_COUNT; column++) {
		const struct column_place *place = &places[column];
		enum align align = column_info((enum link_column)column)->right ? ALIGN_RIGHT : ALIGN_LEFT;

		if (!place->columns)
			continue;
		if (column == LINK_COLUMN_PORT || column == LINK_COLUMN_PEER)
			align = ALIGN_MIDDLE;
		write_cell(app, links, link, (enum link_column)column, place->columns, text);
		draw_cell(brush, y, body->x + place->x, place->columns, text, align,
			  cell_role(links, link, (enum link_column)column));
	}
}

static void draw_heads(const struct app *app, const struct links *links, const struct rect *body,
		       const struct column_place *places)
{
	const struct brush brush = { app->theme, 0 };
	const char *arrow = links->descending ? (app->theme->unicode ? "\xe2\x96\xbc" : "v") :
						(app->theme->unicode ? "\xe2\x96\xb2" : "^");

	draw_cell(&brush, body->y, body->x, body->columns, "", ALIGN_LEFT, ROLE_HEAD);
	for (int column = 0; column < LINK_COLUMN_COUNT; column++) {
		const struct column_info *info = column_info((enum link_column)column);
		bool sorted = links->sort == (enum link_column)column;
		const char *title = (int)strlen(info->title) + sorted <= places[column].columns ? info->title :
												    info->narrow;
		char text[64];

		/* Below 10 columns the unit is in the head. */
		if ((column == LINK_COLUMN_XMIT || column == LINK_COLUMN_RCV) && places[column].columns < 10)
			title = info->narrow;
		snprintf(text, sizeof(text), "%s%s", title, sorted ? arrow : "");
		draw_cell(&brush, body->y, body->x + places[column].x, places[column].columns, text,
			  info->right ? ALIGN_RIGHT : ALIGN_LEFT, sorted ? ROLE_SORTED : ROLE_HEAD);
	}
}

/* Message for an empty table. */
static void draw_empty(const struct app *app, const struct links *links, const struct rect *body)
{
	const struct brush brush = { app->theme, 0 };

	if (links->tagged_only)
		draw_line(&brush, body, 2, ROLE_TEXT, "No tagged links. * shows all, T tags.");
	else if (links->filter.select.term_count)
		draw_line(&brush, body, 2, ROLE_TEXT, "No link matches \"%s\". Esc shows all.", links->filter.typed);
	else if (links->unused_count)
		draw_line(&brush, body, 2, ROLE_TEXT, "All %zu ports are unused. d shows them.", links->unused_count);
	else
		draw_line(&brush, body, 2, ROLE_TEXT, "This fabric has no ports with counters.");
}

void links_draw(const struct app *app, const struct links *links, const struct list *list, const struct rect *body)
{
	struct column_place places[LINK_COLUMN_COUNT];
	struct brush brush;

	links_places(app, links, body->columns, places);
	app->trend->wanted |= places[LINK_COLUMN_SPARK].columns > 0;
	draw_heads(app, links, body, places);
	for (int y = 0; y < body->rows - 1 && list->first + (size_t)y < links->row_count; y++) {
		size_t row = list->first + (size_t)y;

		brush = app_brush(app, row == list->cursor);
		draw_row(app, links, &brush, body->y + 1 + y, body, places, links_row(links, row));
	}
	if (!links->row_count && body->rows > 2)
		draw_empty(app, links, body);
}

void links_draw_menu(const struct app *app, const struct links *links, enum link_column chosen,
		     const struct rect *body)
{
	const struct brush plain = { app->theme, 0 }, cursor = { app->theme, DRAW_CURSOR };
	int columns = body->columns < 74 ? body->columns : 74, rows = body->rows - 1;
	int first = (int)layout_scroll(0, chosen, LINK_COLUMN_COUNT, rows);

	draw_cell(&plain, body->y, body->x, columns, " SORT BY", ALIGN_LEFT, ROLE_HEAD);
	for (int y = 0; y < rows && first + y < LINK_COLUMN_COUNT; y++) {
		enum link_column column = (enum link_column)(first + y);
		char text[160];

		snprintf(text, sizeof(text), " %-12s  %s", column_info(column)->title, column_info(column)->meaning);
		draw_cell(column == chosen ? &cursor : &plain, body->y + 1 + y, body->x, columns, text, ALIGN_LEFT,
			  column == links->sort ? ROLE_STRONG : ROLE_TEXT);
	}
}
