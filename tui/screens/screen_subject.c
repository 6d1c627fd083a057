/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* screen_subject.c - details of one port, node, group or finding */
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "fabric/routes.h"
#include "tui/draw/draw.h"
#include "tui/draw/terminal.h"
#include "tui/model/live.h"
#include "tui/screens/app.h"
#include "tui/screens/subject_page.h"
#include "tui/tui.h"

/* Maximum age of a forwarding table while following the newest sweeps. */
#define ROUTES_US (30 * US_PER_S)

/* Minimum interval of reading detail counters, longer if a read is slow. */
#define SLOW_US (3 * US_PER_S)
#define SLOW_SHARE 30
#define SLOW_WINDOW_US (3600 * US_PER_S)

struct saved {
	struct subject subject;
	size_t first, cursor;
};

struct screen_state {
	struct subject_page detail;
	struct subject subject;     /* of the page */
	uint64_t generation;        /* of app when the page was made */
	bool dirty;                 /* the page must be rebuilt */
	bool painted;               /* the page was drawn since it was opened: slow reads may start */
	int columns;
	int64_t routes_at_us, routes_boot_us; /* live->at_us and boottime of the last read of tables */
	struct {
		struct subject place;
		int64_t wall_us, boot_us, took_us;
	} slow;                     /* what the detail counters were read for */
	struct saved saved[PATH_MAX_DEPTH]; /* scroll positions of the pages of the path */
};

static void init(void *data, const struct app *app)
{
	struct screen_state *state = data;

	(void)app;
	state->detail.plot.window = 2;
	state->detail.view.cursor = PAGE_NONE;
}

static void done(void *data)
{
	struct screen_state *state = data;

	page_done(&state->detail.page);
	history_plot_done(&state->detail.plot);
}

/* The port, node or group of a finding; else the subject itself. */
static struct subject place_of(const struct app *app, const struct subject *subject)
{
	const struct finding_row *row = subject_finding(app, subject);

	return row ? subject_of_finding(row) : *subject;
}

static void save_position(struct screen_state *state, size_t depth)
{
	if (depth && depth <= PATH_MAX_DEPTH)
		state->saved[depth - 1] = (struct saved){ state->subject, state->detail.view.first,
							state->detail.view.cursor };
}

static void opened(void *data, struct app *app, const struct subject *subject)
{
	struct screen_state *state = data;
	const struct saved *saved = &state->saved[app->depth - 1];

	if (!subject_equal(&state->subject, subject)) {
		memset(&state->detail.known, 0, sizeof(state->detail.known));
		memset(&state->slow, 0, sizeof(state->slow));
		state->detail.view = (struct page_view){ .cursor = PAGE_NONE };
		if (subject_equal(&saved->subject, subject))
			state->detail.view = (struct page_view){ .first = saved->first, .cursor = saved->cursor };
	}
	state->subject = *subject;
	state->dirty = true;
	state->painted = false;
}

/* --- data loaded for the subject --- */

static bool add_details(void *ctx, const struct detail_row *row)
{
	struct subject_data *known = ctx;

	if (known->slow_count < DETAIL_ATTRIBUTE_COUNT)
		known->slow[known->slow_count++] = *row;
	return true;
}

/* Read after the first frame, for one hour at most: detail counters are sparse in the database. */
static bool load_slow(struct screen_state *state, struct app *app, const struct subject *place)
{
	struct subject_data *known = &state->detail.known;
	const struct snapshot *shown = app->live->shown;
	int64_t now_us = clock_boottime_us(app->options->clock),
		window_us = history_plot_window_us(&state->detail.plot);
	struct detail_query query = {
		.at_us = shown->sweep.wall_us, .window_us = window_us < SLOW_WINDOW_US ? window_us : SLOW_WINDOW_US,
		.node_guid = place->node_guid, .port = place->port,
	};
	bool same = known->slow_read && subject_equal(&state->slow.place, place) &&
		    known->slow_window_us == query.window_us;
	int64_t pause_us = SLOW_SHARE * state->slow.took_us > SLOW_US ? SLOW_SHARE * state->slow.took_us : SLOW_US;

	if (place->kind != SUBJECT_PORT || !app->live->reader || !state->painted)
		return false;
	if (same && (state->slow.wall_us == shown->sweep.wall_us ||
		     (!app->live->at_us && now_us - state->slow.boot_us < pause_us)))
		return false;
	known->slow_count = 0;
	known->slow_read = true;
	known->slow_window_us = query.window_us;
	if (reader_details(app->live->reader, &query, add_details, known, NULL) < 0)
		known->slow_count = 0;
	state->slow.place = *place;
	state->slow.wall_us = shown->sweep.wall_us;
	state->slow.boot_us = clock_boottime_us(app->options->clock);
	state->slow.took_us = state->slow.boot_us - now_us;
	return true;
}

/*
 * LIDs per port from the forwarding table of the switch. Read after the first frame, as it may take
 * long.
 */
static bool load_routes(struct screen_state *state, const struct app *app, const struct subject *place)
{
	struct subject_data *known = &state->detail.known;
	const struct fabric *fabric = app->live->shown->fabric;
	uint32_t node = fabric_find_node(fabric, place->node_guid);
	int64_t now_us = clock_boottime_us(app->options->clock);
	struct routes routes = { 0 };
	bool known_now = false;

	if ((place->kind != SUBJECT_PORT && place->kind != SUBJECT_GROUP) || node == FABRIC_NONE ||
	    fabric->nodes[node].type != NODE_SWITCH || !app->live->reader)
		return false;
	if (known->routes >= ROUTES_READ && known->routes_guid == place->node_guid &&
	    state->routes_at_us == app->live->at_us && (app->live->at_us || now_us - state->routes_boot_us < ROUTES_US))
		return false;
	if (!state->painted) {
		if (known->routes != ROUTES_READ || known->routes_guid != place->node_guid)
			known->routes = ROUTES_PENDING;
		return false;
	}
	if (reader_routes(app->live->reader, app->live->at_us, &routes, NULL) == 0) {
		known_now = routes_count_lids(&routes, fabric, node, known->lids);
		routes_done(&routes);
	}
	known->routes = known_now ? ROUTES_READ : ROUTES_UNKNOWN;
	known->routes_guid = place->node_guid;
	state->routes_at_us = app->live->at_us;
	state->routes_boot_us = now_us;
	return true;
}

/* Of a port without a link. */
static void load_last_peer(struct screen_state *state, const struct app *app, const struct subject *place)
{
	struct subject_data *known = &state->detail.known;
	const struct snapshot *shown = app->live->shown;
	uint32_t port = place->kind == SUBJECT_PORT ?
			fabric_find_port(shown->fabric, place->node_guid, place->port) : FABRIC_NONE;

	known->has_last_peer = port != FABRIC_NONE && shown->fabric->ports[port].peer == FABRIC_NONE &&
			       app->live->reader &&
			       reader_last_peer(app->live->reader, place->node_guid, place->port, shown->sweep.wall_us,
						&known->last_peer, NULL) > 0;
}

static bool keep_cable(void *ctx, const struct cable_place *place)
{
	struct subject_data *known = ctx;

	known->cable = *place;
	known->has_cable = true;
	return true;
}

static bool keep_cable_reading(void *ctx, const struct cable_reading *reading)
{
	struct subject_data *known = ctx;

	known->cable_reading = *reading;
	known->has_cable_reading = true;
	return true;
}

/* The cable that was in the port at the time shown, and its newest reading until then. */
static void load_cable(struct screen_state *state, const struct app *app, const struct subject *place)
{
	struct subject_data *known = &state->detail.known;
	int64_t at_us = app->live->shown->sweep.wall_us;
	struct cable_query query = {
		.node_guid = place->node_guid, .port = place->port, .since_us = at_us, .until_us = at_us,
	};

	known->has_cable = known->has_cable_reading = false;
	if (place->kind != SUBJECT_PORT || !app->live->reader ||
	    reader_cables(app->live->reader, &query, keep_cable, known, NULL) < 0 || !known->has_cable)
		return;
	query.since_us = known->cable.from_us;
	if (known->cable.last_us < at_us)
		query.since_us = query.until_us = known->cable.last_us;
	if (reader_cable_readings(app->live->reader, &query, keep_cable_reading, known, NULL) < 0)
		known->has_cable_reading = false;
}

/* Absolute values need all samples since the last stored ones: on demand only. */
static void load_values(struct screen_state *state, struct app *app)
{
	const struct subject place = place_of(app, &state->subject);
	struct subject_data *known = &state->detail.known;
	struct error trouble = { 0 };
	int found;

	if (place.kind != SUBJECT_PORT || !app->live->reader) {
		app_message(app, "absolute values are only available for a port");
		return;
	}
	if (known->has_reading) {
		known->has_reading = false;
		return;
	}
	found = reader_reading(app->live->reader, app->live->shown->sweep.wall_us, place.node_guid, place.port,
			       &known->reading, &trouble);
	known->has_reading = found > 0;
	if (found <= 0)
		app_message(app, "%s", found < 0 ? trouble.text : "no absolute values stored for this port");
}

static void draw(void *data, struct app *app, const struct rect *body)
{
	struct screen_state *state = data;
	struct subject_page *detail = &state->detail;
	const struct brush brush = app_brush(app, false);
	const struct subject place = place_of(app, &state->subject);

	if (state->generation != app->generation) {
		state->generation = app->generation;
		state->dirty = true;
		/* After a step in time, a frame is drawn before tables are read again. */
		state->painted = false;
	}
	/* Plots are updated at their own interval. */
	state->dirty |= history_plot_load(&detail->plot, app, &place, body->columns);
	state->dirty |= load_slow(state, app, &place);
	state->dirty |= load_routes(state, app, &place);
	if (state->dirty) {
		load_last_peer(state, app, &place);
		load_cable(state, app, &place);
	}
	if (state->dirty || state->columns != body->columns || detail->rows != body->rows) {
		detail->rows = body->rows;
		state->columns = body->columns;
		subject_page_fill(detail, app, &state->subject, body->columns);
		if (detail->page.failed)
			app_message(app, "out of memory: some lines are missing");
		state->dirty = false;
	}
	page_fit(&detail->page, &detail->view, body->rows);
	page_draw(&detail->page, &detail->view, &brush, body);
	state->painted = true;
	save_position(state, app->depth);
}

/* A pending read starts after the frame that announces it. */
static bool poll(void *data, struct app *app)
{
	const struct screen_state *state = data;

	return app_screen(app) == &screen_subject && state->painted && state->detail.plot.waits;
}

/* Replace the page by that of the peer; Esc goes back to the page before it. */
static void go_to_peer(struct screen_state *state, struct app *app)
{
	const struct fabric *fabric = app->live->shown->fabric;
	const struct subject place = place_of(app, &state->subject);
	uint32_t port =
		place.kind == SUBJECT_PORT ? fabric_find_port(fabric, place.node_guid, place.port) : FABRIC_NONE;

	if (port == FABRIC_NONE || fabric->ports[port].peer == FABRIC_NONE) {
		app_message(app, "no port with a peer selected");
		return;
	}
	app->path[app->depth - 1].subject = subject_of_port(app, fabric->ports[port].peer);
	opened(state, app, app_subject(app));
}

static bool key(void *data, struct app *app, int pressed)
{
	struct screen_state *state = data;
	const struct subject place = place_of(app, &state->subject);

	switch (pressed) {
	case '+':
	case 'Z':
		app_clear_limit(app);
		history_plot_zoom(&state->detail.plot, 1);
		return true;
	case '-':
	case 'z':
		app_clear_limit(app);
		history_plot_zoom(&state->detail.plot, -1);
		return true;
	case 'c':
		history_plot_next(&state->detail.plot, &place);
		return true;
	case 'v':
		load_values(state, app);
		state->dirty = true;
		return true;
	case 'x':
		go_to_peer(state, app);
		return true;
	default:
		return page_key(&state->detail.page, &state->detail.view, pressed);
	}
}

static bool mouse(void *data, struct app *app, const struct mouse *event)
{
	struct screen_state *state = data;

	return page_mouse(&state->detail.page, &state->detail.view, app->body.y, event);
}

/* The selected subject, else that of the page, for the keys a, b and r. */
static void subject_here(void *data, const struct app *app, struct subject *ret)
{
	const struct screen_state *state = data;
	const struct text_page *page = &state->detail.page;

	(void)app;
	*ret = state->detail.view.cursor < page->line_count ? page->lines[state->detail.view.cursor].subject :
							      state->subject;
	if (ret->kind == SUBJECT_NONE)
		*ret = state->subject;
}

static const struct key_help footer_keys[] = {
	{ "Enter", "open" }, { "x", "other end" }, { "+ -", "zoom" }, { "c", "plot" },
	{ "r", "report" }, { "Esc", "back" }, { "?", "help" }, { NULL, NULL },
};

static const struct key_help help[] = {
	{ "Up Down", "next line that can be opened, or scroll" },
	{ "PgUp PgDn Home End", "scroll" },
	{ "Enter", "open the selected peer, port, finding or group" },
	{ "x", "other end of the link" },
	{ "+ - (or Z z)", "longer or shorter plot: 1 min, 10 min, 1 h, 6 h, 24 h, 7 d" },
	{ "c", "metric: utilization, rate, XmitWait, packets, errors; shares of a group" },
	{ "v", "show or hide absolute values of a port's counters" },
	{ NULL, NULL },
};

const struct screen screen_subject = {
	.name = "detail",
	.size = sizeof(struct screen_state),
	.init = init,
	.done = done,
	.opened = opened,
	.poll = poll,
	.draw = draw,
	.key = key,
	.mouse = mouse,
	.subject = subject_here,
	.footer_keys = footer_keys,
	.help = help,
};
