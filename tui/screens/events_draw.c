/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* events_draw.c - drawing of the Events screen */
#include <stdio.h>
#include <string.h>

#include "base/when.h"
#include "tui/draw/draw.h"
#include "tui/model/live.h"
#include "tui/screens/app.h"
#include "tui/screens/events_view.h"
#include "view/event_text.h"

static bool is_same_day(int64_t a_us, int64_t b_us)
{
	char a[16], b[16];

	return !strcmp(format_time(a_us, "%Y-%m-%d", a, sizeof(a)), format_time(b_us, "%Y-%m-%d", b, sizeof(b)));
}

/* "14:00:00", with the date if it differs from that of the shown time. */
static void write_time(int64_t wall_us, int64_t shown_us, bool day, char *ret, size_t size)
{
	if (!wall_us)
		snprintf(ret, size, "-");
	else
		format_time(wall_us, day && !is_same_day(wall_us, shown_us) ? "%m-%d %H:%M:%S" : "%H:%M:%S", ret, size);
}

enum { TIME, SEVERITY, KIND, WHERE, TEXT, COLUMNS };

/*
 * TIME has room for a date. If space is short, KIND is omitted first, then WHERE, which is usually
 * in the text.
 */
static void place_columns(int columns, bool days, struct column_place *ret)
{
	int x = 0, i;

	memset(ret, 0, COLUMNS * sizeof(*ret));
	ret[TIME].columns = days && columns >= 76 ? 14 : 8;
	ret[SEVERITY].columns = 4;
	ret[KIND].columns = columns >= 100 ? 20 : columns >= 76 ? 14 : 0;
	ret[WHERE].columns = columns >= 140 ? 28 : columns >= 100 ? 20 : columns >= 56 ? 18 : 0;
	for (i = 0; i < COLUMNS; i++) {
		if (i == TEXT)
			ret[i].columns = columns - x > 0 ? columns - x : 0;
		ret[i].x = x;
		x += ret[i].columns ? ret[i].columns + 1 : 0;
	}
}

/* Whether the oldest loaded event is of another day. */
static bool has_days(const struct event_view *view, const struct app *app)
{
	return view->events.count && !is_same_day(view->events.events[view->events.count - 1].wall_us,
						  app->live->shown->sweep.wall_us);
}

static enum role role_of(enum event_severity severity)
{
	return severity == EVENT_CRITICAL ? ROLE_CRITICAL : severity == EVENT_WARNING ? ROLE_WARNING : ROLE_TEXT;
}

static void draw_event(const struct event_view *view, const struct app *app, const struct rect *body,
		       const struct column_place *places, int y, size_t row)
{
	static const char *const severities[] = { "info", "warn", "CRIT" };
	const struct recent_event *event = event_list_at(&view->events, row);
	const struct brush brush = app_brush(app, row == view->list.cursor);
	enum role role = role_of(event->severity);
	char time[WHEN_SIZE], where[NODE_NAME_SIZE + 8], text[256];
	const char *rest = event_text(event->text, text, sizeof(text));

	event_where(event, where, sizeof(where));
	/* Skip the place at the beginning of the text: it has a column of its own. */
	if (places[WHERE].columns && where[0] && strncmp(rest, where, strlen(where)) == 0)
		rest += strlen(where) + strspn(rest + strlen(where), " :");
	write_time(event->wall_us, app->live->shown->sweep.wall_us, places[TIME].columns > 8, time, sizeof(time));
	draw_cell(&brush, y, body->x, body->columns, "", ALIGN_LEFT, ROLE_TEXT);
	draw_cell(&brush, y, body->x, places[TIME].columns, time, ALIGN_RIGHT, ROLE_TEXT);
	draw_cell(&brush, y, body->x + places[SEVERITY].x, places[SEVERITY].columns,
		  severities[event->severity <= EVENT_CRITICAL ? event->severity : 0], ALIGN_LEFT, role);
	draw_cell(&brush, y, body->x + places[KIND].x, places[KIND].columns, event->kind, ALIGN_LEFT, ROLE_TEXT);
	draw_cell(&brush, y, body->x + places[WHERE].x, places[WHERE].columns, where,
		  ALIGN_MIDDLE, ROLE_TEXT);
	draw_cell(&brush, y, body->x + places[TEXT].x, places[TEXT].columns, rest, ALIGN_LEFT, role);
}

static void draw_heads(const struct app *app, const struct rect *body, const struct column_place *places, int y)
{
	static const char *const titles[COLUMNS] = { "TIME", "SEV", "KIND", "WHERE", "EVENT" };
	const struct brush brush = app_brush(app, false);
	int i;

	draw_cell(&brush, y, body->x, body->columns, "", ALIGN_LEFT, ROLE_HEAD);
	for (i = 0; i < COLUMNS; i++)
		draw_cell(&brush, y, body->x + places[i].x, places[i].columns, titles[i],
			  i == TIME ? ALIGN_RIGHT : ALIGN_LEFT, ROLE_HEAD);
}

static void draw_title(const struct event_view *view, const struct app *app, const struct rect *body)
{
	static const char *const least[] = { "", "warnings and above", "critical events" };
	const struct event_filter *filter = &view->events.filter;
	const struct brush brush = app_brush(app, false);
	const char *newest = view->events.complete ? "" : "the newest ", *plural = view->events.count == 1 ? "" : "s";
	struct segments line = { 0 };
	char shown[32], all[32];

	format_count(view->events.row_count, 24, shown, sizeof(shown));
	format_count(view->events.count, 24, all, sizeof(all));
	if (view->events.row_count != view->events.count)
		segment_add(&line, 0, ROLE_STRONG, "%s of %s%s event%s", shown, newest, all, plural);
	else
		segment_add(&line, 0, ROLE_STRONG, "%s%s event%s", newest, all, plural);
	if (filter->least > EVENT_INFO)
		segment_add(&line, 1, ROLE_WARNING, "only %s", least[filter->least]);
	if (filter->kind[0])
		segment_add(&line, 2, ROLE_WARNING, "only %s", filter->kind);
	if (filter->findings)
		segment_add(&line, 3, ROLE_WARNING, "only findings");
	if (filter->has_regex)
		segment_add(&line, 4, ROLE_WARNING, "/%.200s", filter->pattern);
	draw_segments(&brush, body->y, body->x, body->columns, &line);
}

void events_draw(struct event_view *view, const struct app *app, const struct rect *body)
{
	const struct brush brush = app_brush(app, false);
	int foot = body->rows >= 14 ? 2 : 1, line;
	struct column_place places[COLUMNS];
	const struct recent_event *event;
	char text[256], whole[512], time[WHEN_SIZE];

	place_columns(body->columns, has_days(view, app), places);
	list_fit(&view->list, view->events.row_count, body->rows - 2 - foot);
	draw_title(view, app, body);
	draw_heads(app, body, places, body->y + 1);
	for (line = 0; line < view->list.height && view->list.first + (size_t)line < view->events.row_count; line++)
		draw_event(view, app, body, places, body->y + 2 + line, view->list.first + (size_t)line);
	if (!view->events.row_count)
		draw_cell(&brush, body->y + 2, body->x, body->columns, view->events.count ?
			  "no event matches the filter (Esc: clear it)" : "no events", ALIGN_LEFT,
			  ROLE_TEXT);
	event = event_list_at(&view->events, view->list.cursor);
	if (!event)
		return;
	snprintf(whole, sizeof(whole), "%s  %s", when_format_local(event->wall_us, time),
		 event_text(event->text, text, sizeof(text)));
	/* The full text of the selected event, in the last lines. */
	draw_wrapped(&brush, body->y + body->rows - foot, body->x, body->columns, foot, whole, ROLE_STRONG);
}

/* Name of a port, or its GUID if it was removed. */
static void write_port(const struct app *app, const struct error_sum *error, char *ret, size_t size)
{
	const struct subject subject = { .kind = SUBJECT_PORT, .node_guid = error->node_guid, .port = error->port };

	subject_name(app, &subject, ret, size);
}

static void draw_error(const struct event_view *view, const struct app *app, const struct rect *body, int y,
		       size_t row)
{
	const struct error_sum *error = &view->errors.sums[row];
	const struct brush brush = app_brush(app, row == view->error_list.cursor);
	int name = body->columns >= 100 ? 28 : body->columns >= 60 ? 20 : 12, x = body->x;
	int64_t shown_us = app->live->shown->sweep.wall_us;
	char text[CELL_SIZE], count[32];

	draw_cell(&brush, y, x, body->columns, "", ALIGN_LEFT, ROLE_TEXT);
	format_count(error->total, 7, text, sizeof(text));
	snprintf(count, sizeof(count), "%.20s%s", text, error->at_least ? "+" : "");
	draw_cell(&brush, y, x, 8, count, ALIGN_RIGHT, ROLE_WARNING);
	x += 9;
	write_time(error->first_us, shown_us, false, text, sizeof(text));
	draw_cell(&brush, y, x, 8, text, ALIGN_LEFT, ROLE_TEXT);
	x += 9;
	write_time(error->last_us, shown_us, false, text, sizeof(text));
	draw_cell(&brush, y, x, 8, text, ALIGN_LEFT, ROLE_TEXT);
	x += 9;
	write_port(app, error, text, sizeof(text));
	draw_cell(&brush, y, x, name, text, ALIGN_MIDDLE, ROLE_TEXT);
	x += name + 1;
	draw_cell(&brush, y, x, body->x + body->columns - x, error_sum_text(error, text, 256), ALIGN_LEFT,
		  ROLE_TEXT);
}

void events_draw_errors(struct event_view *view, const struct app *app, const struct rect *body)
{
	const struct brush brush = app_brush(app, false);
	struct segments line = { 0 };
	char from[16];
	int name = body->columns >= 100 ? 28 : body->columns >= 60 ? 20 : 12, x = body->x, y;

	segment_add(&line, 0, ROLE_STRONG, "%zu %s errors from %s on", view->errors.count,
		    view->errors.count == 1 ? "port with" : "ports with",
		    format_time(view->errors.since_us, "%H:%M:%S", from, sizeof(from)));
	segment_add(&line, 1, ROLE_TEXT, "excluding PortRcvSwitchRelayErrors");
	draw_segments(&brush, body->y, body->x, body->columns, &line);
	draw_cell(&brush, body->y + 1, x, body->columns, "  ERRORS FIRST    LAST", ALIGN_LEFT, ROLE_HEAD);
	draw_cell(&brush, body->y + 1, x + 27, name + 1, "PORT", ALIGN_LEFT, ROLE_HEAD);
	draw_cell(&brush, body->y + 1, x + 28 + name, body->columns - 28 - name, "COUNTERS", ALIGN_LEFT, ROLE_HEAD);
	list_fit(&view->error_list, view->errors.count, body->rows - 2);
	for (y = 0; y < view->error_list.height && view->error_list.first + (size_t)y < view->errors.count; y++)
		draw_error(view, app, body, body->y + 2 + y, view->error_list.first + (size_t)y);
	if (!view->errors.count)
		draw_cell(&brush, body->y + 2, body->x, body->columns, "no error counter increased", ALIGN_LEFT,
			  ROLE_TEXT);
}
