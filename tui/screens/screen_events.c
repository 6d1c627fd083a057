/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* screen_events.c - events, newest first, and ports with increased error counters */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/when.h"
#include "facts/event_text.h"
#include "tui/draw/draw.h"
#include "tui/draw/key.h"
#include "tui/model/error_sums.h"
#include "tui/model/event_list.h"
#include "tui/model/live.h"
#include "tui/screens/list_screen.h"
#include "tui/tui.h"

/* Batch size of loading older events, and time before the screen is drawn again. */
#define BATCH CONTEXT_EVENTS
#define LOAD_US (20 * US_PER_MS)

/* Window of the error counters, and interval of its updates. */
#define ERRORS_US (3600 * US_PER_S)
#define ERRORS_EVERY_US (3 * US_PER_S)

struct event_view {
	struct list_screen list, error_list;
	struct event_list events;
	struct error_sums errors;
	uint64_t generation; /* of app when the context was last read */
	bool errors_shown;
};

static void done(void *state)
{
	struct event_view *view = state;

	event_list_done(&view->events);
	error_sums_done(&view->errors);
}

static const struct recent_event *event_here(const struct event_view *view)
{
	size_t index;

	return list_screen_index(&view->list, &index) ? &view->events.events[index] : NULL;
}

/* --- loading --- */

static bool update_events(void *state, struct app *app)
{
	const struct snapshot_context *context = app->context;
	struct event_view *view = state;
	struct error trouble = { 0 };

	if (view->generation == app->generation)
		return false;
	view->generation = app->generation;
	/* Stored events do not change. */
	if (view->events.count && context->recent_event_count &&
	    view->events.events[0].id == context->recent_events[0].id)
		return false;
	if (event_list_merge(&view->events, context->recent_events, context->recent_event_count, CONTEXT_EVENTS,
			     &trouble) < 0)
		app_message(app, "%s", trouble.text);
	return true;
}

struct batch {
	const struct fabric *fabric;
	struct recent_event *events;
	size_t count;
};

static bool add_to_batch(void *ctx, const struct event_row *row)
{
	struct batch *batch = ctx;

	if (batch->count < BATCH)
		recent_event_copy(row, batch->fabric, &batch->events[batch->count++]);
	return true;
}

static int load_batch(struct event_view *view, struct reader *reader, const struct fabric *fabric,
		      struct error *err)
{
	struct event_list *list = &view->events;
	const struct event_query query = { .before_id = list->events[list->count - 1].id, .limit = BATCH };
	struct batch batch = { .fabric = fabric, .events = calloc(BATCH, sizeof(*batch.events)) };
	int code = batch.events ? reader_events(reader, &query, add_to_batch, &batch, err) : err_nomem(err);

	list->complete |= code == 0 && batch.count < BATCH;
	while (code == 0 && batch.count)
		code = event_list_add(list, &batch.events[--batch.count], err);
	list->complete |= list->count >= EVENT_LIST_MOST;
	free(batch.events);
	return code;
}

/* Load more near the end of the list, earlier if the filter matches little. */
static bool wants_older(const struct event_view *view)
{
	const struct list *list = &view->list.list;

	return !view->events.complete && view->events.count &&
	       list->cursor + 2 * (size_t)list->height + 1 >= view->list.table.row_count;
}

static bool load_older(struct event_view *view, struct app *app)
{
	const struct clock *clock = app->options->clock;
	int64_t began_us = clock_boottime_us(clock);
	struct error trouble = { 0 };
	bool loaded = false;

	while (wants_older(view) && app->live->reader && clock_boottime_us(clock) - began_us < LOAD_US) {
		if (load_batch(view, app->live->reader, app->context->fabric, &trouble) < 0) {
			view->events.complete = true;
			app_message(app, "%s", trouble.text);
		}
		list_screen_changed(&view->list, true);
		loaded = true;
	}
	return loaded;
}

static bool update_errors(void *state, struct app *app)
{
	struct event_view *view = state;
	int64_t until_us = app->live->shown->sweep.wall_us, apart_us = until_us - view->errors.until_us;
	struct error trouble = { 0 };

	if (!app->live->reader || app->live->stale || !apart_us ||
	    (!app->live->at_us && apart_us > 0 && apart_us < ERRORS_EVERY_US))
		return false;
	if (error_sums_read(app->live->reader, until_us - ERRORS_US, until_us, app->live->status.first_wall_us,
			    &view->errors, &trouble) < 0) {
		app_message(app, "%s", trouble.text);
		view->errors.until_us = until_us;
	}
	return true;
}

/* Nothing is read for an invisible screen. */
static bool poll(void *state, struct app *app)
{
	struct event_view *view = state;
	bool news;

	if (app_screen(app) != &screen_events || !app->live->shown)
		return false;
	news = list_screen_update(view->errors_shown ? &view->error_list : &view->list, app);
	return (!view->errors_shown && load_older(view, app)) || news;
}

/* --- the list of events --- */

static bool is_same_day(int64_t a_us, int64_t b_us)
{
	char a[16], b[16];

	return !strcmp(format_time(a_us, "%Y-%m-%d", a, sizeof(a)), format_time(b_us, "%Y-%m-%d", b, sizeof(b)));
}

/* "14:00:00", with the date if it differs from that of the shown time. */
static void write_time(const struct table *table, int64_t wall_us, bool day, char *ret, size_t size)
{
	int64_t shown_us = table->app->live->shown->sweep.wall_us;

	if (!wall_us)
		snprintf(ret, size, "-");
	else
		format_time(wall_us, day && !is_same_day(wall_us, shown_us) ? "%m-%d %H:%M:%S" : "%H:%M:%S", ret, size);
}

static const struct recent_event *event_of(const void *row)
{
	return row;
}

static double number_time(const void *row)
{
	return (double)event_of(row)->wall_us;
}

static double number_severity(const void *row)
{
	return event_of(row)->severity;
}

static void fill_severity(struct result *result, size_t at, const void *row)
{
	static const char *const severities[] = { "info", "warn", "CRIT" };
	enum event_severity severity = event_of(row)->severity;

	result_show(result, at, severities[severity <= EVENT_CRITICAL ? severity : 0], STYLE_PLAIN);
}

static void fill_kind(struct result *result, size_t at, const void *row)
{
	result_text(result, at, event_of(row)->kind);
}

static void fill_where(struct result *result, size_t at, const void *row)
{
	char where[NODE_NAME_SIZE + 8];

	result_show(result, at, event_where(event_of(row), where, sizeof(where)), STYLE_PLAIN);
}

/* Without the place at the beginning of the text: it has a column of its own. */
static void fill_text(struct result *result, size_t at, const void *row)
{
	const struct recent_event *event = row;
	char where[NODE_NAME_SIZE + 8];
	const char *rest = event->text;
	size_t len = strlen(event_where(event, where, sizeof(where)));

	if (len && !strncmp(rest, where, len))
		rest += len + strspn(rest + len, " :");
	result_show(result, at, rest, STYLE_PLAIN);
}

enum { TIME, SEVERITY, KIND, WHERE, TEXT, COLUMNS };

static const struct column event_columns[COLUMNS] = {
	[TIME] = { .title = "TIME", .kind = COLUMN_TIME, .number = number_time, .help = "time of the event" },
	[SEVERITY] = { .title = "SEV", .number = number_severity, .fill = fill_severity,
		       .help = "severity: info, warn, CRIT" },
	[KIND] = { .title = "KIND", .fill = fill_kind, .flags = COLUMN_FLEXIBLE, .help = "kind of the event" },
	[WHERE] = { .title = "WHERE", .fill = fill_where, .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL,
		    .help = "node, and port" },
	[TEXT] = { .title = "EVENT", .fill = fill_text, .flags = COLUMN_FLEXIBLE, .help = "what happened" },
};

/* If space is short, KIND is omitted first, then WHERE. */
static const struct column_step event_steps[] = {
	{ SEVERITY, 4, 0 }, { TIME, 8, 0 }, { TEXT, 20, 0 }, { WHERE, 18, 0 }, { KIND, 14, 0 }, { TEXT, 31, 0 },
	{ TIME, COLUMN_WIDEST, 0 }, { TEXT, 40, 0 }, { WHERE, 20, 0 }, { KIND, 20, 0 }, { TEXT, 64, 0 },
	{ WHERE, 28, 0 }, { TEXT, 400, 0 },
};

static bool is_listed(const struct table *table, size_t index)
{
	return event_list_has(&((const struct event_view *)table->state)->events, index);
}

static struct table_id event_id(const struct table *table, size_t index)
{
	return (struct table_id){ 0, (uint64_t)event_of(table_row(table, index))->id };
}

static struct subject event_subject(const struct table *table, size_t index)
{
	const struct recent_event *event = table_row(table, index);

	return (struct subject){ .kind = !event->node_guid ? SUBJECT_FABRIC : event->port ? SUBJECT_PORT : SUBJECT_NODE,
				 .node_guid = event->node_guid, .port = event->port };
}

/* Events of one moment stay in the order in which they were stored. */
static bool event_key(const struct table *table, size_t index, size_t column, struct table_key *ret)
{
	const struct recent_event *event = table_row(table, index);

	ret->number = (double)event->wall_us;
	ret->rest = (uint64_t)event->id;
	ret->tie = index;
	return column == TIME;
}

/* Room for the date if the oldest loaded event is of another day. */
static int event_widest(const struct table *table, size_t column)
{
	const struct event_list *events = &((const struct event_view *)table->state)->events;
	bool days = events->count && !is_same_day(events->events[events->count - 1].wall_us,
						  table->app->live->shown->sweep.wall_us);

	return column == TIME && days ? 14 : column == TIME ? 8 : COLUMN_WIDEST;
}

static bool event_cell(const struct table *table, size_t index, size_t column, int columns, struct text *ret)
{
	char time[WHEN_SIZE];

	if (column != TIME)
		return false;
	write_time(table, event_of(table_row(table, index))->wall_us, columns > 8, time, sizeof(time));
	text_append(ret, time);
	return true;
}

static enum role event_role(const struct table *table, size_t index, size_t column, enum role usual)
{
	enum event_severity severity = event_of(table_row(table, index))->severity;

	if (column != SEVERITY && column != TEXT)
		return usual;
	return severity == EVENT_CRITICAL ? ROLE_CRITICAL : severity == EVENT_WARNING ? ROLE_WARNING : ROLE_TEXT;
}

static const struct table_view events_view = {
	.name = "events", .noun = "event", .plural = "events", .none = "no events",
	.none_listed = "no event matches the filter (Esc: clear it)",
	.columns = event_columns, .column_count = COLUMNS,
	.steps = event_steps, .step_count = sizeof(event_steps) / sizeof(event_steps[0]),
	.fixed = 1 << TEXT, .descending = 1 << TIME | 1 << SEVERITY, .sort = TIME, .sort_descending = true,
	.at_shown_time = true, .array = TABLE_ARRAY(struct event_view, events.events, events.count),
	.update = update_events, .id = event_id, .subject = event_subject, .text = event_cell, .role = event_role,
	.key = event_key, .widest = event_widest, .is_listed = is_listed,
};

static void draw_title(const struct event_view *view, const struct app *app, const struct rect *line)
{
	static const char *const least[] = { "", "warnings and above", "critical events" };
	const struct event_filter *filter = &view->events.filter;
	const struct brush brush = app_brush(app, false);
	struct segments title = { 0 };
	char all[32];

	/* The footer has the number of rows: an event and the finding that repeats it are one. */
	format_count(view->events.count, 24, all, sizeof(all));
	if (view->events.complete)
		segment_add(&title, 0, ROLE_STRONG, "all events");
	else
		segment_add(&title, 0, ROLE_STRONG, "the newest %s events", all);
	if (filter->least > EVENT_INFO)
		segment_add(&title, 1, ROLE_WARNING, "only %s", least[filter->least]);
	if (filter->kind[0])
		segment_add(&title, 2, ROLE_WARNING, "only %s", filter->kind);
	if (filter->findings)
		segment_add(&title, 3, ROLE_WARNING, "only findings");
	draw_segments(&brush, line->y, line->x, line->columns, &title);
}

static void draw_events(struct event_view *view, struct app *app, const struct rect *body)
{
	const struct brush brush = app_brush(app, false);
	int foot = body->rows >= 14 ? 2 : 1;
	struct rect area = { body->y + 1, body->x, body->rows - 1 - foot, body->columns };
	const struct recent_event *event;
	char whole[512], time[WHEN_SIZE];

	list_screen_draw(&view->list, app, &area);
	draw_title(view, app, body);
	event = event_here(view);
	if (!event)
		return;
	snprintf(whole, sizeof(whole), "%s  %s", when_format_local(event->wall_us, time), event->text);
	/* The full text of the selected event, in the last lines. */
	draw_wrapped(&brush, body->y + body->rows - foot, body->x, body->columns, foot, whole, ROLE_STRONG);
}

/* --- the list of ports with errors --- */

static const struct error_sum *sum_of(const void *row)
{
	return row;
}

static double number_total(const void *row)
{
	return (double)sum_of(row)->total;
}

static double number_first(const void *row)
{
	return (double)sum_of(row)->first_us;
}

static double number_last(const void *row)
{
	return (double)sum_of(row)->last_us;
}

static void fill_total(struct result *result, size_t at, const void *row)
{
	result_unsigned(result, at, sum_of(row)->total);
	if (sum_of(row)->at_least)
		result_at_least(result, at);
}

static void fill_counters(struct result *result, size_t at, const void *row)
{
	char text[256];

	result_show(result, at, error_sum_text(row, text, sizeof(text)), STYLE_PLAIN);
}

enum { TOTAL, FIRST, LAST, PORT, COUNTERS, ERROR_COLUMNS };

static const struct column error_columns[ERROR_COLUMNS] = {
	[TOTAL] = { .title = "ERRORS", .kind = COLUMN_INTEGER, .number = number_total, .fill = fill_total,
		    .help = "increase of its error counters in the last hour" },
	[FIRST] = { .title = "FIRST", .kind = COLUMN_TIME, .number = number_first, .help = "time of the first one" },
	[LAST] = { .title = "LAST", .kind = COLUMN_TIME, .number = number_last, .help = "time of the last one" },
	[PORT] = { .title = "PORT", .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL, .help = "node/port" },
	[COUNTERS] = { .title = "COUNTERS", .fill = fill_counters, .flags = COLUMN_FLEXIBLE, .priority = 1,
		       .help = "error counters that increased" },
};

static struct table_id error_id(const struct table *table, size_t index)
{
	const struct error_sum *sum = table_row(table, index);

	return (struct table_id){ sum->node_guid, sum->port };
}

static struct subject error_subject(const struct table *table, size_t index)
{
	const struct table_id id = error_id(table, index);

	return (struct subject){ .kind = SUBJECT_PORT, .node_guid = id.high, .port = (uint8_t)id.low };
}

/* A removed port has its GUID as name. */
static bool error_cell(const struct table *table, size_t index, size_t column, int columns, struct text *ret)
{
	const struct error_sum *sum = table_row(table, index);
	const struct subject subject = error_subject(table, index);
	char text[CELL_SIZE];

	(void)columns;
	if (column == PORT)
		text_append(ret, subject_name(table->app, &subject, text, sizeof(text)));
	else if (column == FIRST || column == LAST)
		write_time(table, column == FIRST ? sum->first_us : sum->last_us, false, text, sizeof(text));
	else
		return false;
	if (column != PORT)
		text_append(ret, text);
	return true;
}

static enum role error_role(const struct table *table, size_t index, size_t column, enum role usual)
{
	(void)table;
	(void)index;
	return column == TOTAL ? ROLE_WARNING : usual;
}

static const struct table_view errors_view = {
	.name = "errors", .noun = "port", .plural = "ports", .none = "no error counter increased",
	.columns = error_columns, .column_count = ERROR_COLUMNS, .fixed = 1 << PORT,
	.descending = 1 << FIRST | 1 << LAST, .sort = LAST, .sort_descending = true, .at_shown_time = true,
	.array = TABLE_ARRAY(struct event_view, errors.sums, errors.count),
	.update = update_errors, .id = error_id, .subject = error_subject, .text = error_cell, .role = error_role,
};

static void draw_errors(struct event_view *view, struct app *app, const struct rect *body)
{
	const struct brush brush = app_brush(app, false);
	struct rect area = { body->y + 1, body->x, body->rows - 1, body->columns };
	struct segments title = { 0 };
	char from[16];

	list_screen_draw(&view->error_list, app, &area);
	segment_add(&title, 0, ROLE_STRONG, "%zu %s errors from %s on", view->errors.count,
		    view->errors.count == 1 ? "port with" : "ports with",
		    format_time(view->errors.since_us, "%H:%M:%S", from, sizeof(from)));
	segment_add(&title, 1, ROLE_TEXT, "excluding PortRcvSwitchRelayErrors");
	draw_segments(&brush, body->y, body->x, body->columns, &title);
}

/* --- the screen --- */

static size_t table(void *state, const struct app *app)
{
	(void)app;
	return ((const struct event_view *)state)->errors_shown;
}

static void draw(void *state, struct app *app, const struct rect *body)
{
	struct event_view *view = state;

	if (view->errors_shown)
		draw_errors(view, app, body);
	else
		draw_events(view, app, body);
}

static void draw_footer(void *state, struct app *app, const struct rect *footer)
{
	static const struct key_help events[] = {
		{ "?", "help" }, { "Enter", "go there" }, { "d", "detail" }, { "/", "filter" }, { "s", "severity" },
		{ "f", "findings" }, { "K", "kind" }, { "e", "errors" }, { NULL, NULL },
	}, errors[] = {
		{ "?", "help" }, { "Enter", "detail" }, { "/", "filter" }, { "s", "sort" }, { "e", "events" },
		{ NULL, NULL },
	};
	struct event_view *view = state;

	list_screen_draw_footer(view->errors_shown ? &view->error_list : &view->list, app, footer,
				view->errors_shown ? errors : events);
}

static void go_to_event(struct event_view *view, struct app *app)
{
	const struct recent_event *event = event_here(view);

	if (!event)
		return;
	/* The event becomes the newest one of the shown time; the cursor must stay on it later. */
	list_screen_go(&view->list, (struct table_id){ 0, (uint64_t)event->id });
	app_set_time(app, event->wall_us);
	app_message(app, "showing the fabric at the time of the event; L: live");
}

static void toggle_kind(struct event_view *view)
{
	struct event_filter *filter = &view->events.filter;
	const struct recent_event *event = event_here(view);

	if (filter->kind[0])
		filter->kind[0] = '\0';
	else if (event)
		snprintf(filter->kind, sizeof(filter->kind), "%s", event->kind);
}

static bool filter_pressed(struct event_view *view, int pressed)
{
	struct event_filter *filter = &view->events.filter;

	switch (pressed) {
	case 's':
		filter->least = (filter->least + 1) % (EVENT_CRITICAL + 1);
		break;
	case 'f':
		filter->findings = !filter->findings;
		break;
	case 'K':
		toggle_kind(view);
		break;
	case KEY_ESCAPE:
		if (!filter->kind[0] && !filter->findings && filter->least == EVENT_INFO)
			return false;
		*filter = (struct event_filter){ 0 };
		list_screen_filter(&view->list, "");
		return true;
	default:
		return false;
	}
	list_screen_changed(&view->list, false);
	return true;
}

static bool key(void *state, struct app *app, int pressed)
{
	struct event_view *view = state;

	if (pressed == 'e')
		view->errors_shown = !view->errors_shown;
	else if (view->errors_shown)
		return false;
	else if (pressed == 'd')
		app_open_here(app);
	else if (pressed == '\r')
		go_to_event(view, app);
	else
		return filter_pressed(view, pressed);
	return true;
}

static const struct key_help help[] = {
	{ "Enter", "go to the time of the event" },
	{ "d", "details of the event's node or port" },
	{ "s", "minimum severity: warning, critical, all; F6 selects the sort column" },
	{ "f", "only findings: opened, changed, closed; F: follow" },
	{ "K", "only events of this kind; again: all kinds" },
	{ "Esc", "clear the filters" },
	{ "e", "error counters that increased in the last hour, by port; e: events" },
	{ "", "older events are loaded when scrolling down" },
	{ NULL, NULL },
};

const struct screen screen_events = {
	.name = "Events",
	.size = sizeof(struct event_view),
	.done = done,
	.poll = poll,
	.tables = (const struct screen_table[]){
		{ &events_view, offsetof(struct event_view, list) },
		{ &errors_view, offsetof(struct event_view, error_list) },
		{ NULL, 0 },
	},
	.table = table,
	.draw = draw,
	.draw_footer = draw_footer,
	.key = key,
	.help = help,
};
