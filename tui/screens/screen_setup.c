/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* screen_setup.c - display settings */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "tui/config_file.h"
#include "tui/draw/draw.h"
#include "tui/draw/key.h"
#include "tui/draw/list.h"
#include "tui/draw/terminal.h"
#include "tui/model/live.h"
#include "tui/screens/app.h"
#include "tui/screens/list_screen.h"
#include "tui/screens/setup.h"
#include "tui/tui.h"

/* Minimum update intervals, by the values of setup->refresh. */
static const int64_t refresh_s[] = { 0, 2, 5, 10, 30, 60 };

static const char *const color_names[] = { "auto", "256", "16", "8", "mono", NULL };
static const char *const refresh_names[] = { "each sweep", "2 s", "5 s", "10 s", "30 s", "60 s", NULL };
static const char *const flag_names[] = { "no", "yes", NULL };

static const struct setting settings[] = {
	{ "refresh", SETTING_CHOICE, offsetof(struct setup, refresh), refresh_names },
	{ "colors", SETTING_CHOICE, offsetof(struct setup, colors), color_names },
	{ "ascii", SETTING_CHOICE, offsetof(struct setup, ascii), flag_names },
	{ "mouse", SETTING_CHOICE, offsetof(struct setup, mouse), flag_names },
	{ NULL, SETTING_FLAG, 0, NULL },
};

static void changed(const struct app *app)
{
	app->setup->stale = true;
	app->live->refresh_us = refresh_s[app->setup->refresh] * US_PER_S;
}

static void save_settings(const struct setting *setting, const void *state, struct config *config)
{
	for (; setting && setting->name; setting++) {
		const void *field = (const char *)state + setting->offset;
		const char *value;

		if (setting->kind == SETTING_FLAG)
			value = flag_names[*(const bool *)field];
		else
			value = setting->words[*(const unsigned *)field];
		config_put(config, setting->name, value);
	}
}

/* Return: 1 restored, 0 unknown name, -1 invalid value. */
static int restore_setting(const struct setting *setting, void *state, const char *name, const char *value)
{
	const char *const *words;
	unsigned choice = 0;
	void *field;

	while (setting && setting->name && strcmp(setting->name, name))
		setting++;
	if (!setting || !setting->name)
		return 0;
	field = (char *)state + setting->offset;
	words = setting->kind == SETTING_FLAG ? flag_names : setting->words;
	while (words[choice] && strcmp(words[choice], value))
		choice++;
	if (!words[choice])
		return -1;
	if (setting->kind == SETTING_FLAG)
		*(bool *)field = choice;
	else
		*(unsigned *)field = choice;
	return 1;
}

/* --- lists: NAME.sort, NAME.descending, and titles of columns in NAME.hidden and NAME.order --- */

/* The name of a setting of a list. Return: @ret. */
static const char *table_setting(const struct table_view *view, const char *member, char ret[CONFIG_NAME_SIZE])
{
	const char *own = !strcmp(member, "hidden") ? view->hidden_setting :
			  !strcmp(member, "order") ? view->order_setting : NULL;

	if (own)
		snprintf(ret, CONFIG_NAME_SIZE, "%s", own);
	else
		snprintf(ret, CONFIG_NAME_SIZE, "%s.%s", view->name, member);
	return ret;
}

static void save_titles(const struct table *table, const char *member, const uint8_t *columns, size_t count,
			struct config *config)
{
	char text[CONFIG_VALUE_SIZE] = "", name[CONFIG_NAME_SIZE];
	size_t len = 0;

	for (size_t i = 0; i < count && len < sizeof(text); i++)
		if (table_title(table, columns[i]))
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", len ? ", " : "",
						table_title(table, columns[i]));
	config_put(config, table_setting(table->view, member, name), text);
}

static void save_table(const struct table *table, struct config *config)
{
	uint8_t usual[TABLE_COLUMNS], hidden[TABLE_COLUMNS];
	char name[CONFIG_NAME_SIZE];
	size_t hidden_count = 0;
	bool moved;

	for (size_t i = 0; i < table->column_count; i++)
		if (table->hidden >> i & 1)
			hidden[hidden_count++] = (uint8_t)i;
	config_put(config, table_setting(table->view, "sort", name), table_title(table, table->sort));
	config_put(config, table_setting(table->view, "descending", name), flag_names[table->descending]);
	save_titles(table, "hidden", hidden, hidden_count, config);
	table_usual_order(table, usual);
	moved = memcmp(table->order, usual, table->column_count);
	save_titles(table, "order", table->order, moved ? table->column_count : 0, config);
}

/* Titles to columns. Return: whether all are valid and none is named twice. */
static bool read_titles(const struct table *table, const char *value, uint8_t *ret, size_t *ret_count)
{
	char text[CONFIG_VALUE_SIZE], *next = text, *title;
	uint64_t named = 0;
	size_t column;

	*ret_count = 0;
	snprintf(text, sizeof(text), "%s", value);
	while ((title = strsep(&next, ",")) != NULL) {
		title += strspn(title, " ");
		if (!*title)
			continue;
		if (!table_find_column(table, title, &column) || named >> column & 1)
			return false;
		named |= UINT64_C(1) << column;
		ret[(*ret_count)++] = (uint8_t)column;
	}
	return true;
}

static bool restore_hidden(struct table *table, const char *value)
{
	uint8_t columns[TABLE_COLUMNS];
	uint64_t hidden = 0;
	size_t count;

	if (!read_titles(table, value, columns, &count))
		return false;
	for (size_t i = 0; i < count; i++) {
		if (!table_can_hide(table, columns[i]))
			return false;
		hidden |= UINT64_C(1) << columns[i];
	}
	table->hidden = hidden;
	return true;
}

/* Columns that are not named, such as those of a newer version, follow the named ones. */
static bool restore_order(struct table *table, const char *value)
{
	uint8_t order[TABLE_COLUMNS], usual[TABLE_COLUMNS];
	size_t count;

	if (!read_titles(table, value, order, &count))
		return false;
	table_usual_order(table, usual);
	for (size_t i = 0; i < table->column_count; i++)
		if (!memchr(order, usual[i], count))
			order[count++] = usual[i];
	memcpy(table->order, order, count);
	return true;
}

/* Return: as restore_setting(). */
static int restore_table(struct table *table, const struct config_pair *pair)
{
	const struct table_view *view = table->view;
	char name[CONFIG_NAME_SIZE];

	if (!strcmp(pair->name, table_setting(view, "sort", name)))
		return table_find_column(table, pair->value, &table->sort) ? 1 : -1;
	if (!strcmp(pair->name, table_setting(view, "hidden", name)))
		return restore_hidden(table, pair->value) ? 1 : -1;
	if (!strcmp(pair->name, table_setting(view, "order", name)))
		return restore_order(table, pair->value) ? 1 : -1;
	if (strcmp(pair->name, table_setting(view, "descending", name)))
		return 0;
	if (strcmp(pair->value, "yes") && strcmp(pair->value, "no"))
		return -1;
	table->descending = !strcmp(pair->value, "yes");
	return 1;
}

static struct table *table_at(const struct app *app, size_t screen, size_t which)
{
	const struct screen_table *table = screens[screen]->tables;

	if (!table || !table[which].view)
		return NULL;
	return &((struct list_screen *)((char *)app->states[screen] + table[which].offset))->table;
}

void setup_save(const struct app *app, struct config *config)
{
	const struct table *table;

	save_settings(settings, app->setup, config);
	for (size_t i = 0; i < SCREEN_COUNT; i++)
		save_settings(screens[i]->settings, app->states[i], config);
	for (size_t i = 0; i < SCREEN_COUNT; i++)
		for (size_t which = 0; (table = table_at(app, i, which)) != NULL; which++)
			save_table(table, config);
}

/* Return: as restore_setting(). */
static int restore_pair(const struct app *app, const struct config_pair *pair)
{
	int restored = restore_setting(settings, app->setup, pair->name, pair->value);
	struct table *table;

	for (size_t i = 0; !restored && i < SCREEN_COUNT; i++)
		restored = restore_setting(screens[i]->settings, app->states[i], pair->name, pair->value);
	for (size_t i = 0; i < SCREEN_COUNT; i++)
		for (size_t which = 0; !restored && (table = table_at(app, i, which)) != NULL; which++)
			restored = restore_table(table, pair);
	return restored;
}

bool setup_restore(struct app *app, const struct config *config, char *ret_wrong, size_t size)
{
	bool good = true;

	for (size_t i = 0; i < config->count; i++) {
		/* An unknown name may be another version's: it is ignored. */
		bool valid = restore_pair(app, &config->pairs[i]) >= 0;

		if (!valid && good)
			snprintf(ret_wrong, size, "%s = %s", config->pairs[i].name, config->pairs[i].value);
		good &= valid;
	}
	changed(app);
	return good;
}

int setup_start(struct app *app, struct error *err)
{
	const char *path = app->options->config_path;
	struct error trouble = { 0 };
	char wrong[160] = "";
	struct config *config;

	app->setup->stale = true;
	app->setup->mouse = 1;
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
		/* Another instance may have changed the file. */
		config_read(file, app->options->config_path, NULL);
		if (config_update(file, &app->setup->began, now))
			config_write(file, app->options->config_path);
	}
	free(now);
	free(file);
}

/* --- the screen --- */

/* The values as indices; then one row for each column of each list. */
static const struct {
	const char *name, *meaning;
	size_t offset; /* in struct setup */
	const char *const *words;
} rows[] = {
	{ "colours", "maximum; NO_COLOR and --color take precedence", offsetof(struct setup, colors), color_names },
	{ "characters", "ASCII: for terminals without line-drawing characters", offsetof(struct setup, ascii),
	  (const char *const[]){ "all", "ASCII", NULL } },
	{ "refresh", "display update interval; polling is not affected", offsetof(struct setup, refresh),
	  refresh_names },
	{ "mouse", "on: hold Shift to select text", offsetof(struct setup, mouse),
	  (const char *const[]){ "off", "on", NULL } },
};
enum { ROW_COLUMNS = sizeof(rows) / sizeof(rows[0]) };

#define NAME_COLUMNS 14
#define VALUE_COLUMNS 14

struct setup_screen {
	struct list list;
	size_t first; /* first visible line */
};

/* A row behind the settings. */
struct column_row {
	struct table *table;
	size_t column;
	size_t line; /* a blank line and a title are above the first column of a list */
};

/* Find a row, or with SIZE_MAX the number of all rows and lines. Return: false: there is no such row. */
static bool find_column(const struct app *app, size_t row, struct column_row *ret, size_t *ret_rows)
{
	size_t at = ROW_COLUMNS, line = ROW_COLUMNS;
	struct table *table;

	for (size_t i = 0; i < SCREEN_COUNT; i++)
		for (size_t which = 0; (table = table_at(app, i, which)) != NULL; which++) {
			line += 2;
			for (size_t column = 0; column < table->column_count; column++) {
				if (!table_can_hide(table, column))
					continue;
				*ret = (struct column_row){ table, column, line++ };
				if (at++ == row)
					return true;
			}
		}
	*ret = (struct column_row){ .line = line };
	*ret_rows = at;
	return false;
}

static unsigned *row_value(const struct app *app, size_t row)
{
	return (unsigned *)((char *)app->setup + rows[row].offset);
}

static size_t row_count(const struct app *app, size_t *ret_lines)
{
	struct column_row none;
	size_t count = 0;

	find_column(app, SIZE_MAX, &none, &count);
	*ret_lines = none.line;
	return count;
}

static size_t line_of(const struct app *app, size_t row)
{
	struct column_row here = { .line = row };
	size_t count;

	if (row >= ROW_COLUMNS)
		find_column(app, row, &here, &count);
	return here.line;
}

static void draw_row(const struct setup_screen *self, const struct app *app, const struct rect *body, int y,
		     size_t row)
{
	const struct brush brush = { app->theme, row == self->list.cursor ? DRAW_CURSOR : 0 };
	const int widths[] = { NAME_COLUMNS - 1, VALUE_COLUMNS - 1, body->columns - NAME_COLUMNS - VALUE_COLUMNS };
	struct table_cell cells[] = { { .role = ROLE_TEXT }, { .role = ROLE_STRONG }, { .role = ROLE_FAINT } };
	struct column_row here;
	size_t count;

	if (row < ROW_COLUMNS) {
		cells[0].text = rows[row].name;
		cells[1].text = rows[row].words[*row_value(app, row)];
		cells[2].text = rows[row].meaning;
	} else if (find_column(app, row, &here, &count)) {
		const char *meaning = table_help(here.table, here.column);

		cells[0].text = table_title(here.table, here.column);
		cells[1].text = here.table->hidden >> here.column & 1 ? "hidden" : "shown";
		cells[2].text = meaning ? meaning : "";
	}
	draw_cells(&brush, y, body, widths, cells, 3);
}

static void draw_title(const struct app *app, const struct rect *body, int line, const struct table *table)
{
	const struct brush brush = { app->theme, 0 };
	char name[64];

	for (size_t i = 0; i <= strlen(table->view->name) && i < sizeof(name); i++)
		name[i] = (char)toupper((unsigned char)table->view->name[i]);
	draw_line(&brush, body, line, ROLE_GOOD,
		  "COLUMNS OF %s (there, Shift-Left and Shift-Right move the sort column)", name);
}

static void draw(void *state, struct app *app, const struct rect *body)
{
	struct setup_screen *self = state;
	size_t lines, count = row_count(app, &lines);
	struct column_row here = { 0 };
	const struct table *above = NULL;

	list_fit(&self->list, count, body->rows);
	self->first = layout_scroll(self->first, line_of(app, self->list.cursor), lines, body->rows);
	for (size_t row = 0; row < count; row++) {
		size_t line = line_of(app, row), unused;
		bool first = row >= ROW_COLUMNS && find_column(app, row, &here, &unused) && here.table != above;

		above = here.table;
		if (first && line > self->first && line - 1 < self->first + (size_t)body->rows)
			draw_title(app, body, (int)(line - 1 - self->first), here.table);
		if (line >= self->first && line < self->first + (size_t)body->rows)
			draw_row(self, app, body, body->y + (int)(line - self->first), row);
	}
}

static const struct key_help footer_keys[] = {
	{ "Esc", "back" }, { "Left Right", "change" }, { "Up Down", "choose" }, { NULL, NULL },
};

static void change(const struct setup_screen *self, struct app *app, int direction)
{
	size_t row = self->list.cursor, unused;
	struct column_row here;
	unsigned count = 0;

	if (row >= ROW_COLUMNS) {
		if (find_column(app, row, &here, &unused))
			here.table->hidden ^= UINT64_C(1) << here.column;
	} else {
		while (rows[row].words[count])
			count++;
		*row_value(app, row) = (*row_value(app, row) + count + (unsigned)direction) % count;
	}
	changed(app);
}

static bool key(void *state, struct app *app, int pressed)
{
	struct setup_screen *self = state;

	switch (pressed) {
	case KEY_ESCAPE:
	case 'q':
	case 'S':
	case KEY_SPECIAL(KEY_F(2)):
		app_back(app);
		return true;
	case KEY_SPECIAL(KEY_LEFT):
		change(self, app, -1);
		return true;
	case ' ':
	case '\r':
	case KEY_SPECIAL(KEY_RIGHT):
		change(self, app, 1);
		return true;
	default:
		return false;
	}
}

static bool mouse(void *state, struct app *app, const struct mouse *event)
{
	struct setup_screen *self = state;
	size_t line = self->first + (size_t)(event->y - app->body.y), row = 0, lines, count = row_count(app, &lines);

	if (event->wheel)
		app_move_list(app, event, 0);
	while (row < count && line_of(app, row) < line)
		row++;
	if (event->wheel || event->y >= app->body.y + app->body.rows || row == count || line_of(app, row) != line)
		return false;
	/* A click on the selected row changes its value. */
	if (row == self->list.cursor)
		change(self, app, 1);
	list_move_to(&self->list, row);
	return false;
}

static const struct key_help help[] = {
	{ "Up Down", "choose" },
	{ "Left Right", "change; also Enter, Space or double-click" },
	{ "Esc q F2", "back; changes are saved on exit" },
	{ NULL, NULL },
};

const struct screen screen_setup = {
	.name = "setup",
	.size = sizeof(struct setup_screen),
	.draw = draw,
	.footer_keys = footer_keys,
	.key = key,
	.mouse = mouse,
	.list = list_at_start,
	.help = help,
	.needs_nothing = true,
};
