/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* screen_events.c - events, newest first, and ports with increased error counters */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/err.h"
#include "tui/draw/key.h"
#include "tui/draw/prompt.h"
#include "tui/model/live.h"
#include "tui/screens/app.h"
#include "tui/screens/events_view.h"
#include "tui/tui.h"

/* Batch size of loading older events, and time before the screen is drawn again. */
#define BATCH CONTEXT_EVENTS
#define LOAD_US (20 * US_PER_MS)

static void done(void *state)
{
	struct event_view *view = state;

	event_list_done(&view->events);
	error_sums_done(&view->errors);
}

/* Restore the cursor to its event, or to the newest. */
static void restore_cursor(struct event_view *view)
{
	size_t row = view->cursor_id ? event_list_find(&view->events, view->cursor_id) : 0;

	view->list.cursor = row < view->events.row_count ? row : 0;
	view->list.count = view->events.row_count;
}

static void save_cursor(struct event_view *view)
{
	const struct recent_event *event = event_list_at(&view->events, view->list.cursor);

	view->cursor_id = event && view->list.cursor ? event->id : 0;
}

static void apply_filter(struct event_view *view, struct app *app)
{
	struct error trouble = { 0 };

	if (event_list_filter(&view->events, &trouble) < 0)
		app_message(app, "%s", trouble.text);
	restore_cursor(view);
}

static bool update_events(struct event_view *view, struct app *app)
{
	const struct snapshot_context *context = app->context;
	struct error trouble = { 0 };

	view->generation = app->generation;
	/* Stored events do not change. */
	if (view->events.count && context->recent_event_count &&
	    view->events.events[0].id == context->recent_events[0].id)
		return false;
	if (event_list_merge(&view->events, context->recent_events, context->recent_event_count, CONTEXT_EVENTS,
			     &trouble) < 0)
		app_message(app, "%s", trouble.text);
	restore_cursor(view);
	return true;
}

struct batch {
	struct recent_event *events;
	size_t count;
};

static bool add_to_batch(void *ctx, const struct event_row *row)
{
	struct batch *batch = ctx;

	if (batch->count < BATCH)
		recent_event_copy(row, &batch->events[batch->count++]);
	return true;
}

static int load_batch(struct event_view *view, struct reader *reader, struct error *err)
{
	struct event_list *list = &view->events;
	const struct event_query query = { .before_id = list->events[list->count - 1].id, .limit = BATCH };
	struct batch batch = { .events = calloc(BATCH, sizeof(*batch.events)) };
	int code = batch.events ? reader_events(reader, &query, add_to_batch, &batch, err) : err_nomem(err);

	list->complete |= code == 0 && batch.count < BATCH;
	while (code == 0 && batch.count)
		code = event_list_add(list, &batch.events[--batch.count], err);
	list->complete |= list->count >= EVENT_LIST_MOST;
	free(batch.events);
	return code < 0 ? code : event_list_filter(list, err);
}

/* Load more near the end of the list, earlier if the filter matches little. */
static bool wants_older(const struct event_view *view)
{
	return !view->events.complete && view->events.count &&
	       view->list.cursor + 2 * (size_t)view->list.height + 1 >= view->events.row_count;
}

static bool load_older(struct event_view *view, struct app *app)
{
	const struct clock *clock = app->options->clock;
	int64_t began_us = clock_boottime_us(clock);
	struct error trouble = { 0 };
	bool loaded = false;

	while (wants_older(view) && app->live->reader && clock_boottime_us(clock) - began_us < LOAD_US) {
		if (load_batch(view, app->live->reader, &trouble) < 0) {
			view->events.complete = true;
			app_message(app, "%s", trouble.text);
		}
		loaded = true;
	}
	return loaded;
}

static void restore_error_cursor(struct event_view *view)
{
	for (size_t i = 0; view->error_guid && i < view->errors.count; i++)
		if (view->errors.sums[i].node_guid == view->error_guid && view->errors.sums[i].port == view->error_port)
			view->error_list.cursor = i;
	view->error_list.count = view->errors.count;
}

static bool load_errors(struct event_view *view, struct app *app)
{
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
	restore_error_cursor(view);
	return true;
}

/* Nothing is read for an invisible screen. */
static bool poll(void *state, struct app *app)
{
	struct event_view *view = state;
	bool news = false;

	if (app_screen(app) != &screen_events || !app->live->shown)
		return false;
	if (view->generation != app->generation)
		news = update_events(view, app);
	if (view->errors_shown)
		return load_errors(view, app) || news;
	return load_older(view, app) || news;
}

static void draw(void *state, struct app *app, const struct rect *body)
{
	struct event_view *view = state;

	if (view->errors_shown)
		events_draw_errors(view, app, body);
	else
		events_draw(view, app, body);
}

static void draw_footer(void *state, struct app *app, const struct rect *footer)
{
	static const struct key_help events[] = {
		{ "?", "help" }, { "Enter", "go there" }, { "d", "detail" }, { "/", "filter" }, { "s", "severity" },
		{ "f", "findings" }, { "K", "kind" }, { "e", "errors" }, { NULL, NULL },
	}, errors[] = {
		{ "?", "help" }, { "Enter", "detail" }, { "e", "events" }, { NULL, NULL },
	};
	const struct event_view *view = state;

	footer_draw_keys(app, footer, view->errors_shown ? errors : events);
}

static void pattern_entered(struct app *app, const char *typed)
{
	struct event_view *view = screen_state(app, &screen_events);
	struct error trouble = { 0 };

	if (event_list_pattern(&view->events, typed, &trouble) < 0) {
		app_message(app, "%s", trouble.text);
		prompt_start(app->prompt, "/", typed, pattern_entered);
		return;
	}
	apply_filter(view, app);
}

static bool is_filtered(const struct event_filter *filter)
{
	return filter->has_regex || filter->kind[0] || filter->findings || filter->least > EVENT_INFO;
}

static void clear_filter(struct event_view *view, struct app *app)
{
	struct event_filter *filter = &view->events.filter;

	event_list_pattern(&view->events, "", NULL);
	filter->kind[0] = '\0';
	filter->findings = false;
	filter->least = EVENT_INFO;
	apply_filter(view, app);
}

static void go_to_event(struct event_view *view, struct app *app)
{
	const struct recent_event *event = event_list_at(&view->events, view->list.cursor);

	if (!event)
		return;
	/* The event becomes the newest one of the shown time; the cursor must stay on it later. */
	view->cursor_id = event->id;
	app_set_time(app, event->wall_us);
	app_message(app, "showing the fabric at the time of the event; L: live");
}

static void subject(void *state, const struct app *app, struct subject *ret)
{
	const struct event_view *view = state;
	const struct recent_event *event = event_list_at(&view->events, view->list.cursor);

	(void)app;
	if (view->errors_shown) {
		if (view->error_list.cursor < view->errors.count)
			*ret = (struct subject){ .kind = SUBJECT_PORT,
						 .node_guid = view->errors.sums[view->error_list.cursor].node_guid,
						 .port = view->errors.sums[view->error_list.cursor].port };
		return;
	}
	if (event)
		*ret = (struct subject){ .kind = !event->node_guid ? SUBJECT_FABRIC : event->port ? SUBJECT_PORT :
						 SUBJECT_NODE,
					 .node_guid = event->node_guid, .port = event->port };
}

static void save_error_cursor(struct event_view *view)
{
	size_t row = view->error_list.cursor;

	view->error_guid = row && row < view->errors.count ? view->errors.sums[row].node_guid : 0;
	view->error_port = view->error_guid ? view->errors.sums[row].port : 0;
}

static void toggle_kind(struct event_view *view, struct app *app)
{
	struct event_filter *filter = &view->events.filter;
	const struct recent_event *event = event_list_at(&view->events, view->list.cursor);

	if (filter->kind[0])
		filter->kind[0] = '\0';
	else if (event)
		snprintf(filter->kind, sizeof(filter->kind), "%s", event->kind);
	apply_filter(view, app);
}

static bool event_key(struct event_view *view, struct app *app, int pressed)
{
	struct event_filter *filter = &view->events.filter;

	switch (pressed) {
	case '/':
	case KEY_SPECIAL(KEY_F(3)):
	case KEY_SPECIAL(KEY_F(4)):
		prompt_start(app->prompt, "/", filter->pattern, pattern_entered);
		return true;
	case 's':
		filter->least = (filter->least + 1) % (EVENT_CRITICAL + 1);
		apply_filter(view, app);
		return true;
	case 'f':
		filter->findings = !filter->findings;
		apply_filter(view, app);
		return true;
	case 'K':
		toggle_kind(view, app);
		return true;
	case 'd':
		app_open_here(app);
		return true;
	case '\r':
		go_to_event(view, app);
		return true;
	case KEY_ESCAPE:
		if (!is_filtered(filter))
			return false;
		clear_filter(view, app);
		return true;
	default:
		return false;
	}
}

static bool key(void *state, struct app *app, int pressed)
{
	struct event_view *view = state;

	if (pressed != 'e')
		return !view->errors_shown && event_key(view, app, pressed);
	view->errors_shown = !view->errors_shown;
	return true;
}

static struct list *list(void *state, const struct app *app)
{
	struct event_view *view = state;

	(void)app;
	return view->errors_shown ? &view->error_list : &view->list;
}

static void moved(void *state, struct app *app)
{
	struct event_view *view = state;

	(void)app;
	if (view->errors_shown)
		save_error_cursor(view);
	else
		save_cursor(view);
}

static const struct key_help help[] = {
	{ "Up Down j k", "move; on the first row the cursor follows the newest event, else it stays on its event" },
	{ "Enter", "go to the time of the event" },
	{ "d", "details of the event's node or port" },
	{ "/ F3 F4", "filter by a regular expression on kind, place, text; case-insensitive" },
	{ "s", "minimum severity: warning, critical, all" },
	{ "f", "only findings: opened, changed, closed" },
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
	.draw = draw,
	.draw_footer = draw_footer,
	.key = key,
	.list = list,
	.moved = moved,
	.subject = subject,
	.help = help,
};
