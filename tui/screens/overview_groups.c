/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/screens/overview_view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/rate.h"
#include "base/text.h"
#include "fabric/fabric.h"
#include "tui/draw/draw.h"
#include "tui/model/cell_text.h"
#include "tui/model/live.h"
#include "tui/model/port_table.h"
#include "tui/screens/app.h"

/* The text and look of a cell of a group. */
static enum role write_cell(const struct app *app, const struct port_group *group, enum group_column column,
			    int columns, char ret[CELL_SIZE])
{
	static const enum role states[] = {
		[GROUP_STATE_UNKNOWN] = ROLE_SILENT, [GROUP_STATE_OK] = ROLE_FAINT, [GROUP_STATE_INFO] = ROLE_STRONG,
		[GROUP_STATE_WARNING] = ROLE_WARNING, [GROUP_STATE_CRITICAL] = ROLE_CRITICAL,
	};
	double percent = column == GROUP_COLUMN_MEAN ? group->mean_percent :
			 column == GROUP_COLUMN_MIN ? group->min_percent : group->max_percent;
	uint32_t number = column == GROUP_COLUMN_PORTS ? group->ports : group->silent;

	switch (column) {
	case GROUP_COLUMN_NAME:
		snprintf(ret, CELL_SIZE, "%s", group->name);
		return ROLE_TEXT;
	case GROUP_COLUMN_RATE:
		format_rate(group->bytes_per_s, (unsigned)columns, ret, CELL_SIZE);
		return ROLE_TEXT;
	case GROUP_COLUMN_MEAN:
	case GROUP_COLUMN_MIN:
	case GROUP_COLUMN_MAX:
		format_percent(percent, ret, CELL_SIZE);
		return role_of_load(percent);
	case GROUP_COLUMN_HISTOGRAM:
		group_histogram(group, app->theme->unicode, ret);
		return role_of_load(group->max_percent);
	case GROUP_COLUMN_STALL:
		format_percent(group->stall_percent, ret, CELL_SIZE);
		return group->stall_percent >= 10 ? ROLE_WARNING : ROLE_TEXT;
	case GROUP_COLUMN_ERRORS:
		format_errors(group->errors, group->errors_at_least && group->errors > 0, (unsigned)columns, ret,
			      CELL_SIZE);
		return group->errors > 0 ? ROLE_WARNING : ROLE_FAINT;
	case GROUP_COLUMN_HOTTEST:
		ret[0] = '\0';
		if (group->hottest != FABRIC_NONE && group->max_percent > RATE_IDLE_PERCENT)
			cell_text_port(app->table, group->hottest, ret);
		return ROLE_TEXT;
	case GROUP_COLUMN_STATE:
		group_state_word(group, columns, ret, CELL_SIZE);
		return states[group_state(group)];
	default:
		format_count(number, (unsigned)columns, ret, CELL_SIZE);
		return column == GROUP_COLUMN_PORTS ? ROLE_TEXT : number ? ROLE_SILENT : ROLE_FAINT;
	}
}

static void draw_group(const struct overview_view *view, const struct app *app, const struct brush *plain, size_t index,
		       int y, const struct column_place *places, const struct rect *body)
{
	bool here = view->problem_count + index == view->cursor, right;
	const struct brush brush = { plain->theme, plain->flags | (here ? DRAW_CURSOR : 0) };
	char text[CELL_SIZE];
	int column;

	draw_cell(&brush, y, body->x, body->columns, here ? ">" : "", ALIGN_LEFT, ROLE_TEXT);
	for (column = 0; column < GROUP_COLUMN_COUNT; column++) {
		enum role role;

		if (!places[column].columns)
			continue;
		group_column_title((enum group_column)column, &right);
		role = write_cell(app, &view->groups.list[index], (enum group_column)column, places[column].columns,
				  text);
		draw_cell(&brush, y, body->x + places[column].x, places[column].columns, text,
			  right ? ALIGN_RIGHT : column == GROUP_COLUMN_NAME ? ALIGN_MIDDLE : ALIGN_LEFT, role);
	}
}

void overview_draw_groups(const struct overview_view *view, const struct app *app, const struct brush *brush,
			  const struct rect *body)
{
	const struct overview_plan *plan = &view->plan;
	struct column_place places[GROUP_COLUMN_COUNT];
	int name_columns = 0, column, i, y = body->y + plan->groups_head;
	size_t group;
	bool right;

	if (!plan->groups_head_rows)
		return;
	for (group = 0; group < view->groups.count; group++) {
		int columns = (int)text_columns(view->groups.list[group].name);

		name_columns = columns > name_columns ? columns : name_columns;
	}
	overview_columns(body->columns, name_columns, places);
	draw_cell(brush, y, body->x, body->columns, "", ALIGN_LEFT, ROLE_HEAD);
	for (column = 0; column < GROUP_COLUMN_COUNT; column++) {
		const char *title = group_column_title((enum group_column)column, &right);
		/* The heads of sections begin at the edge. */
		int x = column == GROUP_COLUMN_NAME ? 0 : places[column].x;

		draw_cell(brush, y, body->x + x, places[column].columns, title, right ? ALIGN_RIGHT : ALIGN_LEFT,
			  ROLE_HEAD);
	}
	for (i = 0; i < plan->groups_rows; i++)
		draw_group(view, app, brush, view->first_group + (size_t)i, body->y + plan->groups + i, places, body);
}
