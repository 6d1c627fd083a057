/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/screens/setup.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "tui/config_file.h"
#include "tui/model/live.h"
#include "tui/screens/app.h"
#include "tui/tui.h"

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

	while (i < REFRESHES - 1 && refreshes[i].us < app->live->refresh_us)
		i++;
	return i;
}

void setup_refresh(struct app *app, int direction)
{
	app->live->refresh_us = refreshes[(refresh_index(app) + direction + REFRESHES) % REFRESHES].us;
}

const char *setup_refresh_name(const struct app *app)
{
	return refreshes[refresh_index(app)].name;
}

/* "links." of "Links". */
static void write_scope(const struct screen *screen, char ret[CONFIG_NAME_SIZE])
{
	size_t i;

	for (i = 0; screen->name[i] && i < CONFIG_NAME_SIZE - 2; i++)
		ret[i] = (char)tolower((unsigned char)screen->name[i]);
	ret[i++] = '.';
	ret[i] = '\0';
}

static void keep_columns(const struct setup *setup, struct config *config)
{
	char text[CONFIG_VALUE_SIZE] = "";
	size_t len = 0;

	for (int column = 0; column < COLUMN_COUNT; column++)
		if (setup->hidden & 1u << column && len < sizeof(text))
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", len ? ", " : "",
						column_info((enum column)column)->title);
	config_put(config, "hidden-columns", "%s", text);
}

static bool recall_columns(struct setup *setup, const char *value)
{
	char text[CONFIG_VALUE_SIZE], *next = text, *title;

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

void setup_save(const struct app *app, struct config *config)
{
	size_t count, i;
	const struct screen *const *all = screens(&count);

	config->scope[0] = '\0';
	config_put(config, "refresh", "%s", setup_refresh_name(app));
	config_put(config, "colors", "%s", color_names[app->setup->colors]);
	config_put_flag(config, "ascii", app->setup->ascii);
	config_put_flag(config, "mouse", !app->setup->no_mouse);
	keep_columns(app->setup, config);
	for (i = 0; i < count; i++) {
		if (!all[i]->save)
			continue;
		write_scope(all[i], config->scope);
		all[i]->save(app->states[i], config);
	}
	config->scope[0] = '\0';
}

static bool recall_refresh(struct app *app, const char *value)
{
	for (int i = 0; i < REFRESHES; i++)
		if (!strcmp(refreshes[i].name, value)) {
			app->live->refresh_us = refreshes[i].us;
			return true;
		}
	return false;
}

/* Return: 1 taken, 0 the name is none of the whole, -1 the value is none. */
static int recall_whole(struct app *app, const struct config_pair *pair)
{
	struct setup *setup = app->setup;
	const char *name = pair->name, *value = pair->value;
	bool good, mouse = true;
	int colors;

	if (!strcmp(name, "refresh")) {
		good = recall_refresh(app, value);
	} else if (!strcmp(name, "colors")) {
		colors = config_choice(value, color_names);
		good = colors >= 0;
		setup->colors = good ? (enum theme_colors)colors : THEME_AUTO;
	} else if (!strcmp(name, "ascii")) {
		good = config_flag(value, &setup->ascii);
	} else if (!strcmp(name, "mouse")) {
		good = config_flag(value, &mouse);
		setup->no_mouse = !mouse;
	} else if (!strcmp(name, "hidden-columns")) {
		good = recall_columns(setup, value);
	} else {
		return 0;
	}
	return good ? 1 : -1;
}

/* Return: as recall_whole(). */
static int recall_of_screen(const struct app *app, const struct config_pair *pair)
{
	size_t count, i;
	const struct screen *const *all = screens(&count);

	for (i = 0; i < count; i++) {
		char scope[CONFIG_NAME_SIZE];

		write_scope(all[i], scope);
		if (!all[i]->restore || strncmp(pair->name, scope, strlen(scope)) != 0)
			continue;
		return all[i]->restore(app->states[i], pair->name + strlen(scope), pair->value) ? 1 : -1;
	}
	return 0;
}

bool setup_restore(struct app *app, const struct config *config, char *ret_wrong, size_t size)
{
	bool good = true;

	for (size_t i = 0; i < config->count; i++) {
		int taken = recall_whole(app, &config->pairs[i]);

		if (!taken)
			taken = recall_of_screen(app, &config->pairs[i]);
		/* A name of no use here may be another version's: nothing is said of that. */
		if (taken < 0 && good)
			snprintf(ret_wrong, size, "%s = %s", config->pairs[i].name, config->pairs[i].value);
		good &= taken >= 0;
	}
	app->setup->stale = true;
	return good;
}

int setup_start(struct app *app, struct error *err)
{
	const char *path = app->options->config_path;
	struct error trouble = { 0 };
	char wrong[160] = "";
	struct config *config;

	app->setup->stale = true;
	if (!path)
		return 0;
	config = calloc(1, sizeof(*config));
	if (!config)
		return err_nomem(err);
	if (config_read(config, path, &trouble) < 0)
		app_message(app, "settings %s", trouble.text);
	if (!setup_restore(app, config, wrong, sizeof(wrong)) && !trouble.code)
		app_message(app, "settings ignored: unknown value \"%s\" (%.160s)", wrong, path);
	free(config);
	setup_save(app, &app->setup->began);
	return 0;
}

void setup_end(const struct app *app)
{
	struct config *now, *file;

	if (!app->options->config_path)
		return;
	now = calloc(1, sizeof(*now));
	file = calloc(1, sizeof(*file));
	if (now && file) {
		setup_save(app, now);
		/* The file as it is by now: another screen may have ended meanwhile. */
		config_read(file, app->options->config_path, NULL);
		if (config_update(file, &app->setup->began, now))
			config_write(file, app->options->config_path);
	}
	free(now);
	free(file);
}
