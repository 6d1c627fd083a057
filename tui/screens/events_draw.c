/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* events_draw.c - drawing of the Events screen */
#include <stdio.h>
#include <string.h>

#include "base/when.h"
#include "tui/draw/draw.h"
#include "tui/model/live.h"
#include "tui/screens/app.h"
#include "tui/screens/events_view.h"
#include "facts/event_text.h"

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
static void column_widths(int columns, bool days, int ret[COLUMNS])
{
	ret[TIME] = days && columns >= 76 ? 14 : 8;
	ret[SEVERITY] = 4;
	ret[KIND] = columns >= 100 ? 20 : columns >= 76 ? 14 : 0;
	ret[WHERE] = columns >= 140 ? 28 : columns >= 100 ? 20 : columns >= 56 ? 18 : 0;
	ret[TEXT] = columns;
	for (int i = 0; i < TEXT; i++)
		ret[TEXT] -= ret[i] ? ret[i] + 1 : 0;
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
		       const int *widths, int y, size_t row)
{
	static const char *const severities[] = { "info", "warn", "CRIT" };
	const struct recent_event *event = event_list_at(&view->events, row);
	const struct brush brush = app_brush(app, row == view->list.cursor);
	enum role role = role_of(event->severity);
	char time[WHEN_SIZE], where[NODE_NAME_SIZE + 8], text[256];
	const char *rest = event_text(event->text, text, sizeof(text));

	event_where(event, where, sizeof(where));
	/* Skip the place at the beginning of the text: it has a column of its own. */
	if (widths[WHERE] && where[0] && strncmp(rest, where, strlen(where)) == 0)
		rest += strlen(where) + strspn(rest + strlen(where), " :");
	write_time(event->wall_us, app->live->shown->sweep.wall_us, widths[TIME] > 8, time, sizeof(time));
	draw_cells(&brush, y, body, widths, (const struct table_cell[]){
		[TIME] = { time, ROLE_TEXT, ALIGN_RIGHT },
		[SEVERITY] = { severities[event->severity <= EVENT_CRITICAL ? event->severity : 0], role, ALIGN_LEFT },
		[KIND] = { event->kind, ROLE_TEXT, ALIGN_LEFT },
		[WHERE] = { where, ROLE_TEXT, ALIGN_MIDDLE },
		[TEXT] = { rest, role, ALIGN_LEFT },
	}, COLUMNS);
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
	int foot = body->rows >= 14 ? 2 : 1, widths[COLUMNS];
	static const struct table_cell heads[COLUMNS] = {
		{ "TIME", ROLE_HEAD, ALIGN_RIGHT }, { "SEV", ROLE_HEAD, ALIGN_LEFT }, { "KIND", ROLE_HEAD, ALIGN_LEFT },
		{ "WHERE", ROLE_HEAD, ALIGN_LEFT }, { "EVENT", ROLE_HEAD, ALIGN_LEFT },
	};
	const struct recent_event *event;
	char text[256], whole[512], time[WHEN_SIZE];

	column_widths(body->columns, has_days(view, app), widths);
	list_place(&view->list, view->events.row_count, body->y + 2, body->rows - 2 - foot);
	draw_title(view, app, body);
	draw_cells(&brush, body->y + 1, body, widths, heads, COLUMNS);
	for (int line = 0; line < view->list.height && view->list.first + (size_t)line < view->events.row_count; line++)
		draw_event(view, app, body, widths, body->y + 2 + line, view->list.first + (size_t)line);
	if (!view->events.row_count)
		draw_line(&brush, body, 2, ROLE_TEXT, view->events.count ?
			  "no event matches the filter (Esc: clear it)" : "no events");
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

enum { TOTAL, FIRST, LAST, PORT, COUNTERS, ERROR_COLUMNS };

static void draw_error(const struct event_view *view, const struct app *app, const struct rect *body,
		       const int *widths, int y, size_t row)
{
	const struct error_sum *error = &view->errors.sums[row];
	const struct brush brush = app_brush(app, row == view->error_list.cursor);
	int64_t shown_us = app->live->shown->sweep.wall_us;
	char port[CELL_SIZE], total[32], count[32], first[16], last[16], counters[256];

	snprintf(total, sizeof(total), "%.20s%s", format_count(error->total, 7, count, sizeof(count)),
		 error->at_least ? "+" : "");
	write_time(error->first_us, shown_us, false, first, sizeof(first));
	write_time(error->last_us, shown_us, false, last, sizeof(last));
	write_port(app, error, port, sizeof(port));
	draw_cells(&brush, y, body, widths, (const struct table_cell[]){
		[TOTAL] = { total, ROLE_WARNING, ALIGN_RIGHT },
		[FIRST] = { first, ROLE_TEXT, ALIGN_LEFT },
		[LAST] = { last, ROLE_TEXT, ALIGN_LEFT },
		[PORT] = { port, ROLE_TEXT, ALIGN_MIDDLE },
		[COUNTERS] = { error_sum_text(error, counters, sizeof(counters)), ROLE_TEXT, ALIGN_LEFT },
	}, ERROR_COLUMNS);
}

void events_draw_errors(struct event_view *view, const struct app *app, const struct rect *body)
{
	static const struct table_cell heads[ERROR_COLUMNS] = {
		{ "ERRORS", ROLE_HEAD, ALIGN_RIGHT }, { "FIRST", ROLE_HEAD, ALIGN_LEFT },
		{ "LAST", ROLE_HEAD, ALIGN_LEFT }, { "PORT", ROLE_HEAD, ALIGN_LEFT },
		{ "COUNTERS", ROLE_HEAD, ALIGN_LEFT },
	};
	const struct brush brush = app_brush(app, false);
	int name = body->columns >= 100 ? 28 : body->columns >= 60 ? 20 : 12;
	const int widths[ERROR_COLUMNS] = { 8, 8, 8, name, body->columns - 28 - name };
	struct list *list = &view->error_list;
	struct segments title = { 0 };
	char from[16];

	segment_add(&title, 0, ROLE_STRONG, "%zu %s errors from %s on", view->errors.count,
		    view->errors.count == 1 ? "port with" : "ports with",
		    format_time(view->errors.since_us, "%H:%M:%S", from, sizeof(from)));
	segment_add(&title, 1, ROLE_TEXT, "excluding PortRcvSwitchRelayErrors");
	draw_segments(&brush, body->y, body->x, body->columns, &title);
	draw_cells(&brush, body->y + 1, body, widths, heads, ERROR_COLUMNS);
	list_place(list, view->errors.count, body->y + 2, body->rows - 2);
	for (int line = 0; line < list->height && list->first + (size_t)line < view->errors.count; line++)
		draw_error(view, app, body, widths, body->y + 2 + line, list->first + (size_t)line);
	if (!view->errors.count)
		draw_line(&brush, body, 2, ROLE_TEXT, "no error counter increased");
}
