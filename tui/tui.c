/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/tui.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/stop.h"
#include "tui/config_file.h"
#include "tui/draw/draw.h"
#include "tui/draw/key.h"
#include "tui/draw/terminal.h"
#include "tui/model/live.h"
#include "tui/screens/app.h"
#include "tui/screens/setup.h"

/* Interval of polling the database; keys are handled at once. */
#define POLL_MS 250

/* The same while a command runs whose output is to be shown; longer than a read that returns at once. */
#define COMMAND_POLL_MS 30

/* Maximum number of keys handled before a redraw. */
#define KEYS_AT_ONCE 100

/* This many consecutive reads that return at once without a key: the terminal has hung up. */
#define HANGUP_READS 20

/*
 * Handle a key and those typed ahead, before one redraw. Stops after a key that made the shown data
 * stale, and after KEYS_AT_ONCE keys.
 */
static bool handle_keys(struct app *app, int wait_ms)
{
	struct mouse mouse;
	int count, key;

	for (count = 0; count < KEYS_AT_ONCE && !app->quit && !app->stale && !app->live->stale; count++) {
		if (!terminal_key(count ? 0 : wait_ms, &key))
			break;
		if (key == KEY_SPECIAL(KEY_MOUSE) && terminal_mouse(&mouse))
			app_mouse(app, &mouse);
		else if (key != KEY_SPECIAL(KEY_RESIZE) && key != KEY_SPECIAL(KEY_MOUSE))
			app_key(app, key);
	}
	return count > 0;
}

static void draw(struct app *app)
{
	int rows, columns;

	getmaxyx(stdscr, rows, columns);
	paint_begin(app->theme->paint, rows, columns);
	app_draw(app, rows, columns);
	paint_end(app->theme->paint);
	/* The position for screen readers, and for terminals that cannot hide the cursor. */
	move(rows - 1, 0);
	wnoutrefresh(stdscr);
	doupdate();
}

/* If the collector exited and there is no data, the display ends too. */
static int check_child(struct app *app, struct error *err)
{
	if (!app->options->child)
		return 0;
	app->options->child(app->options->child_ctx, app->child);
	/* If another collector was faster, ours was refused, and there is data. */
	if (app->child->running || app->live->shown || app->live->status.live)
		return 0;
	if (!app->child->exit_status)
		return err_set(err, ERR_UNAVAILABLE, "the collector exited before the first sweep");
	return err_set(err, -app->child->exit_status, "%s",
		       app->child->line[0] ? app->child->line : "the collector failed without a message");
}

/* Apply changed settings, and redraw after a suspension. */
static void update_terminal(struct app *app, bool unicode, bool *ret_draw)
{
	struct paint *paint = app->theme->paint;

	*ret_draw |= terminal_was_stopped();
	if (!app->setup->stale)
		return;
	app->setup->stale = false;
	theme_init(app->theme, app->options->color, (enum theme_colors)app->setup->colors,
		   unicode && !app->setup->ascii);
	app->theme->paint = paint;
	/* The next frame is written completely: colours of the same pairs may differ. */
	paint_begin(paint, 0, 0);
	terminal_mouse_on(app->setup->mouse);
	*ret_draw = true;
}

static int loop(struct app *app, bool unicode, struct error *err)
{
	const struct clock *clock = app->options->clock;
	int64_t drawn_us = -1;
	int empty_reads = 0, status;

	while (!app->quit && !stop_requested() && empty_reads < HANGUP_READS) {
		bool news = false, keys;
		int64_t before_us = clock_boottime_us(clock);

		keys = handle_keys(app, drawn_us < 0 ? 0 : app->command_runs ? COMMAND_POLL_MS : POLL_MS);
		/*
		 * The read returned at once without a key: a terminal that hung up does so forever.
		 */
		if (keys || drawn_us < 0 || clock_boottime_us(clock) - before_us > POLL_MS * US_PER_MS / 10)
			empty_reads = 0;
		else
			empty_reads++;
		update_terminal(app, unicode, &keys);
		/* A key has a visible effect at once, even if its data takes long to read. */
		if (keys && live_load_is_slow(app->live))
			draw(app);
		status = app_poll(app, &news, err);
		if (status < 0)
			return status;
		status = check_child(app, err);
		if (status < 0)
			return status;
		/* Without new data, ages are updated once per second. */
		if (!keys && !news && clock_boottime_us(clock) - drawn_us < US_PER_S)
			continue;
		drawn_us = clock_boottime_us(clock);
		draw(app);
	}
	return 0;
}

int tui_run(const struct tui_options *options, struct error *err)
{
	struct app app;
	bool unicode = false;
	int status = app_init(&app, options, err);

	if (status == 0) {
		app.theme->paint = paint_create();
		status = app.theme->paint ? terminal_start(&unicode, err) : err_nomem(err);
	}
	if (status == 0) {
		status = loop(&app, unicode, err);
		terminal_stop();
		setup_end(&app);
	}
	if (app.theme)
		paint_destroy(app.theme->paint);
	app_done(&app);
	return status;
}

bool tui_config_path(char *ret, size_t size)
{
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	int len = -1;

	if (config && config[0] == '/')
		len = snprintf(ret, size, "%s/ibwire/top.conf", config);
	else if (home && home[0] == '/')
		len = snprintf(ret, size, "%s/.config/ibwire/top.conf", home);
	return len > 0 && (size_t)len < size;
}
