/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/screens/setup.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "tui/screens/app.h"

static const struct {
	int64_t us;
	const char *name;
} refreshes[] = {
	{ 0, "each sweep" }, { 2 * US_PER_S, "2 s" }, { 5 * US_PER_S, "5 s" }, { 10 * US_PER_S, "10 s" },
	{ 30 * US_PER_S, "30 s" }, { 60 * US_PER_S, "60 s" },
};
enum { REFRESHES = sizeof(refreshes) / sizeof(refreshes[0]) };

static const char *const color_names[] = { "auto", "256", "16", "8", "mono", NULL };

const char *setup_colors_name(enum theme_colors colors)
{
	return color_names[colors];
}

static int refresh_index(const struct app *app)
{
	int i = 0;

	while (i < REFRESHES - 1 && refreshes[i].us < app->live.refresh_us)
		i++;
	return i;
}

void setup_refresh(struct app *app, int direction)
{
	app->live.refresh_us = refreshes[(refresh_index(app) + direction + REFRESHES) % REFRESHES].us;
}

const char *setup_refresh_name(const struct app *app)
{
	return refreshes[refresh_index(app)].name;
}

/* "links." of "Links". */
static void write_scope(const struct screen *screen, char ret[KEEP_NAME_SIZE])
{
	size_t i;

	for (i = 0; screen->name[i] && i < KEEP_NAME_SIZE - 2; i++)
		ret[i] = (char)tolower((unsigned char)screen->name[i]);
	ret[i++] = '.';
	ret[i] = '\0';
}

static void keep_columns(const struct setup *setup, struct keep *keep)
{
	char text[KEEP_VALUE_SIZE] = "";
	size_t len = 0;

	for (int column = 0; column < COLUMN_COUNT; column++)
		if (setup->hidden & 1u << column && len < sizeof(text))
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", len ? ", " : "",
						column_info((enum column)column)->title);
	keep_put(keep, "hidden-columns", "%s", text);
}

static bool recall_columns(struct setup *setup, const char *value)
{
	char text[KEEP_VALUE_SIZE], *next = text, *title;

	snprintf(text, sizeof(text), "%s", value);
	while ((title = strsep(&next, ",")) != NULL) {
		enum column column;

		title += strspn(title, " ");
		if (!*title)
			continue;
		if (!column_by_title(title, &column) || !column_can_hide(column))
			return false;
		setup->hidden |= 1u << column;
	}
	return true;
}

void setup_keep(const struct app *app, struct keep *keep)
{
	size_t count, i;
	const struct screen *const *all = screens(&count);

	keep->scope[0] = '\0';
	keep_put(keep, "refresh", "%s", setup_refresh_name(app));
	keep_put(keep, "colors", "%s", color_names[app->setup.colors]);
	keep_put_flag(keep, "ascii", app->setup.ascii);
	keep_put_flag(keep, "mouse", !app->setup.no_mouse);
	keep_columns(&app->setup, keep);
	for (i = 0; i < count; i++) {
		if (!all[i]->keep)
			continue;
		write_scope(all[i], keep->scope);
		all[i]->keep(app->states[i], keep);
	}
	keep->scope[0] = '\0';
}

static bool recall_refresh(struct app *app, const char *value)
{
	for (int i = 0; i < REFRESHES; i++)
		if (!strcmp(refreshes[i].name, value)) {
			app->live.refresh_us = refreshes[i].us;
			return true;
		}
	return false;
}

/* Return: 1 taken, 0 the name is none of the whole, -1 the value is none. */
static int recall_whole(struct app *app, const struct keep_pair *pair)
{
	struct setup *setup = &app->setup;
	const char *name = pair->name, *value = pair->value;
	bool good, mouse = true;
	int colors;

	if (!strcmp(name, "refresh")) {
		good = recall_refresh(app, value);
	} else if (!strcmp(name, "colors")) {
		colors = keep_choice(value, color_names);
		good = colors >= 0;
		setup->colors = good ? (enum theme_colors)colors : THEME_AUTO;
	} else if (!strcmp(name, "ascii")) {
		good = keep_flag(value, &setup->ascii);
	} else if (!strcmp(name, "mouse")) {
		good = keep_flag(value, &mouse);
		setup->no_mouse = !mouse;
	} else if (!strcmp(name, "hidden-columns")) {
		good = recall_columns(setup, value);
	} else {
		return 0;
	}
	return good ? 1 : -1;
}

/* Return: as recall_whole(). */
static int recall_of_screen(const struct app *app, const struct keep_pair *pair)
{
	size_t count, i;
	const struct screen *const *all = screens(&count);

	for (i = 0; i < count; i++) {
		char scope[KEEP_NAME_SIZE];

		write_scope(all[i], scope);
		if (!all[i]->recall || strncmp(pair->name, scope, strlen(scope)) != 0)
			continue;
		return all[i]->recall(app->states[i], pair->name + strlen(scope), pair->value) ? 1 : -1;
	}
	return 0;
}

bool setup_recall(struct app *app, const struct keep *keep, char *ret_wrong, size_t size)
{
	bool good = true;

	for (size_t i = 0; i < keep->count; i++) {
		int taken = recall_whole(app, &keep->pairs[i]);

		if (!taken)
			taken = recall_of_screen(app, &keep->pairs[i]);
		/* A name of no use here may be another version's: nothing is said of that. */
		if (taken < 0 && good)
			snprintf(ret_wrong, size, "%s = %s", keep->pairs[i].name, keep->pairs[i].value);
		good &= taken >= 0;
	}
	app->setup.stale = true;
	return good;
}

int setup_start(struct app *app, struct error *err)
{
	const char *path = app->options->keep_path;
	struct error trouble = { 0 };
	char wrong[160] = "";
	struct keep *keep;

	app->setup.stale = true;
	if (!path)
		return 0;
	keep = calloc(1, sizeof(*keep));
	if (!keep)
		return err_nomem(err);
	if (keep_read(keep, path, &trouble) < 0)
		app_say(app, "settings %s", trouble.text);
	if (!setup_recall(app, keep, wrong, sizeof(wrong)) && !trouble.code)
		app_say(app, "settings not used: \"%s\" is not known (%.160s)", wrong, path);
	free(keep);
	setup_keep(app, &app->setup.began);
	return 0;
}

void setup_end(const struct app *app)
{
	struct keep *now, *file;

	if (!app->options->keep_path)
		return;
	now = calloc(1, sizeof(*now));
	file = calloc(1, sizeof(*file));
	if (now && file) {
		setup_keep(app, now);
		/* The file as it is by now: another screen may have ended meanwhile. */
		keep_read(file, app->options->keep_path, NULL);
		if (keep_update(file, &app->setup.began, now))
			keep_write(file, app->options->keep_path);
	}
	free(now);
	free(file);
}
