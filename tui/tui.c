/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/tui.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/stop.h"
#include "tui/app.h"
#include "tui/draw.h"
#include "tui/terminal.h"

/* How often the database is looked at; a key is served at once. */
#define POLL_MS 250

/* Keys that are served before the screen is drawn again. */
#define KEYS_AT_ONCE 100

/* So many empty reads in a row that took no time mean that the terminal is gone. */
#define DEAD_READS 20

/* What stands in the body as long as there is nothing to show. */
static void draw_waiting(const struct app *app, const struct rect *body)
{
	const struct brush brush = { &app->theme, 0 };
	int seconds = (int)((clock_boottime_us(app->options->clock) - app->started_us) / US_PER_S);
	char text[640];
	int y = body->y + (body->rows > 4 ? 1 : 0);

	if (app->options->child)
		snprintf(text, sizeof(text), "discovering the fabric ... %d s", seconds);
	else
		snprintf(text, sizeof(text), "waiting for the first sweep of the collector that runs ... %d s",
			 seconds);
	draw_cell(&brush, y, body->x, body->columns, text, ALIGN_LEFT, ROLE_STRONG);
	snprintf(text, sizeof(text), "database: %.500s", app->options->db_path);
	draw_cell(&brush, y + 1, body->x, body->columns, text, ALIGN_LEFT, ROLE_FAINT);
	if (app->options->child && app->child.line[0])
		draw_cell(&brush, y + 2, body->x, body->columns, app->child.line, ALIGN_LEFT, ROLE_FAINT);
}

/* What is typed at the foot, else what the screen has there. */
static void draw_footer(struct app *app, const struct rect *footer)
{
	const struct brush brush = { &app->theme, 0 };
	const struct screen *screen = app_screen(app);
	char text[PROMPT_SIZE + 80];

	if (app->prompt.done) {
		snprintf(text, sizeof(text), "%s%s_", app->prompt.label, app->prompt.text);
		draw_cell(&brush, footer->y, footer->x, footer->columns, text, ALIGN_LEFT, ROLE_STRONG);
	} else if (screen->draw_footer) {
		screen->draw_footer(screen_state(app, screen), app, footer);
	} else {
		footer_draw_keys(app, footer, screen->footer_keys);
	}
}

static void draw(struct app *app)
{
	const struct screen *screen = app_screen(app);
	const struct brush brush = { &app->theme, 0 };
	struct frame frame;
	char notice[768];
	int rows, columns;

	getmaxyx(stdscr, rows, columns);
	erase();
	app_notice(app, notice, sizeof(notice));
	if (!layout_frame(rows, columns, notice[0] != '\0', &frame)) {
		draw_cell(&brush, 0, 0, columns, "too small: 40x10 at least", ALIGN_LEFT, ROLE_WARNING);
	} else {
		app->body = frame.body;
		header_draw(app, &frame.header);
		if (frame.tabs.rows)
			tabs_draw(app, &frame.tabs);
		draw_cell(&brush, frame.notice.y, frame.notice.x, frame.notice.rows ? columns : 0, notice, ALIGN_LEFT,
			  ROLE_WARNING);
		if (!app->live.shown && screen != &screen_help)
			draw_waiting(app, &frame.body);
		else
			screen->draw(screen_state(app, screen), app, &frame.body);
		draw_footer(app, &frame.footer);
	}
	/* Where a screen reader, or a terminal that cannot hide its cursor, has it. */
	move(rows - 1, 0);
	wnoutrefresh(stdscr);
	doupdate();
}

/* What is shown is another snapshot, or something that is said of it changed. */
static int take_snapshot(struct app *app, struct error *err)
{
	struct live *live = &app->live;
	struct error trouble = { 0 };
	size_t count, i;
	int status = table_set_snapshot(&app->table, live->shown, &live->errors, err);

	if (status < 0)
		return status;
	status = moment_load(&app->moment, live->reader, live->shown, live->at_us, clock_wall_us(live->clock),
			     app->options->shape, &trouble);
	if (status == ERR_NOMEM)
		return err_set(err, status, "%s", trouble.text);
	if (status < 0)
		app_say(app, "%s", trouble.text);
	census_take(&app->table, app->moment.shape, &app->census);
	app->stale = false;
	for (i = 0; live->shown && i < (screens(&count), count); i++)
		if (screens(&count)[i]->changed)
			screens(&count)[i]->changed(app->states[i], app);
	return 0;
}

static void serve_mouse(struct app *app)
{
	const struct screen *screen = app_screen(app), *tab;
	struct mouse mouse;

	if (!terminal_mouse(&mouse))
		return;
	if (mouse.y < app->body.y) {
		tab = mouse.wheel ? NULL : tabs_at(app, mouse.y == app->body.y - 1 ? mouse.x : -1);
		if (tab)
			app_show(app, tab);
	} else if (app->live.shown && screen->mouse) {
		screen->mouse(screen_state(app, screen), app, &mouse);
	}
}

static void serve_key(struct app *app, int key)
{
	const struct screen *screen = app_screen(app);

	if (key == KEY_SPECIAL(KEY_RESIZE))
		return;
	if (key == KEY_SPECIAL(KEY_MOUSE))
		serve_mouse(app);
	else if (app->prompt.done && prompt_key(&app->prompt, app, key))
		return;
	else if ((!app->live.shown && screen != &screen_help) || !screen->key(screen_state(app, screen), app, key))
		common_key(app, key);
}

/*
 * One key, and those that wait behind it, so that typed-ahead keys are drawn
 * once; but none after one that made stale what is shown, and not without end
 * where somebody pastes a book.
 */
static bool serve_keys(struct app *app, int wait_ms)
{
	int count, key;

	for (count = 0; count < KEYS_AT_ONCE && !app->quit && !app->stale && !app->live.stale; count++) {
		if (!terminal_key(count ? 0 : wait_ms, &key))
			break;
		serve_key(app, key);
	}
	return count > 0;
}

/* The collector ended, and there is nothing to look at: then this is the end too. */
static int check_child(struct app *app, struct error *err)
{
	if (!app->options->child)
		return 0;
	app->options->child(app->options->child_ctx, &app->child);
	/* Where somebody else's collector was faster, ours was refused, and nothing is lost. */
	if (app->child.running || app->live.shown || app->live.status.live)
		return 0;
	if (!app->child.exit_status)
		return err_set(err, ERR_UNAVAILABLE, "the collector ended without a sweep");
	return err_set(err, -app->child.exit_status, "%s",
		       app->child.line[0] ? app->child.line : "the collector failed and did not say why");
}

static int loop(struct app *app, struct error *err)
{
	const struct clock *clock = app->options->clock;
	int64_t drawn_s = -1;
	int dead = 0, status;

	while (!app->quit && !stop_requested() && dead < DEAD_READS) {
		bool changed = false, keys;
		int64_t before_us = clock_boottime_us(clock);

		keys = serve_keys(app, drawn_s < 0 ? 0 : POLL_MS);
		/* The wait was over at once and brought nothing: a terminal that hung up answers so for ever. */
		if (keys || drawn_s < 0 || clock_boottime_us(clock) - before_us > POLL_MS * US_PER_MS / 10)
			dead = 0;
		else
			dead++;
		/* What a new snapshot replaces is freed: nobody may look at it in between. */
		status = live_poll(&app->live, &changed, err);
		if (status < 0)
			return status;
		if (changed || app->stale) {
			status = take_snapshot(app, err);
			if (status < 0)
				return status;
		}
		if (app->live.refused[0]) {
			app_say(app, "%s", app->live.refused);
			app->live.refused[0] = '\0';
		}
		status = check_child(app, err);
		if (status < 0)
			return status;
		/* Without news only the ages move on, once a second. */
		app->now_us = clock_wall_us(clock);
		if (!keys && !changed && clock_boottime_us(clock) / US_PER_S == drawn_s)
			continue;
		drawn_s = clock_boottime_us(clock) / US_PER_S;
		draw(app);
	}
	return 0;
}

static int create_screens(struct app *app, struct error *err)
{
	size_t count, i;
	const struct screen *const *all = screens(&count);

	app->states = calloc(count, sizeof(*app->states));
	if (!app->states)
		return err_nomem(err);
	for (i = 0; i < count; i++) {
		if (!all[i]->create)
			continue;
		app->states[i] = all[i]->create(app, err);
		if (!app->states[i])
			return err ? err->code : ERR_NOMEM;
	}
	return 0;
}

static void destroy_screens(const struct app *app)
{
	size_t count, i;
	const struct screen *const *all = screens(&count);

	for (i = 0; app->states && i < count; i++)
		if (all[i]->destroy)
			all[i]->destroy(app->states[i]);
	free(app->states);
}

int tui_run(const struct tui_options *options, struct error *err)
{
	struct app app = { .options = options };
	bool unicode = false;
	size_t count;
	int status;

	app.started_us = clock_boottime_us(options->clock);
	app.now_us = clock_wall_us(options->clock);
	live_init(&app.live, options->db_path, options->names, options->clock, options->refresh_us);
	app.live.at_us = options->at_us;
	table_init(&app.table);
	app.path[0].screen = screens(&count)[0];
	app.depth = 1;
	status = create_screens(&app, err);
	if (status < 0)
		goto out;
	status = terminal_start(&unicode, err);
	if (status < 0)
		goto out;
	theme_init(&app.theme, options->color, unicode);
	status = loop(&app, err);
	terminal_stop();
out:
	destroy_screens(&app);
	table_done(&app.table);
	moment_done(&app.moment);
	live_done(&app.live);
	return status;
}

int tui_check_terminal(struct error *err)
{
	return terminal_check(err);
}
