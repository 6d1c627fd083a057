/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* screen_setup.c - display settings */
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
		else if (setting->kind == SETTING_CHOICE)
			value = setting->words[*(const unsigned *)field];
		else
			value = column_info(*(const enum link_column *)field)->title;
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
	if (setting->kind == SETTING_COLUMN)
		return column_by_title(value, field) ? 1 : -1;
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

static void save_columns(const struct setup *setup, struct config *config)
{
	char text[CONFIG_VALUE_SIZE] = "";
	size_t len = 0;

	for (int column = 0; column < LINK_COLUMN_COUNT; column++)
		if (setup->hidden & 1u << column && len < sizeof(text))
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", len ? ", " : "",
						column_info((enum link_column)column)->title);
	config_put(config, "hidden-columns", text);
}

static bool restore_columns(struct setup *setup, const char *value)
{
	char text[CONFIG_VALUE_SIZE], *next = text, *title;

	snprintf(text, sizeof(text), "%s", value);
	while ((title = strsep(&next, ",")) != NULL) {
		enum link_column column;

		title += strspn(title, " ");
		if (!*title)
			continue;
		if (!column_by_title(title, &column) || !column_can_hide(column))
			return false;
		setup->hidden |= 1u << column;
	}
	return true;
}

static void default_order(struct setup *setup)
{
	for (int i = 0; i < LINK_COLUMN_COUNT; i++)
		setup->order[i] = (uint8_t)i;
}

/* The order in use; "": the default. */
static void save_order(const struct setup *setup, struct config *config)
{
	char text[CONFIG_VALUE_SIZE] = "";
	size_t len = 0;
	bool moved = false;

	for (int i = 0; i < LINK_COLUMN_COUNT && len < sizeof(text); i++) {
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", len ? ", " : "",
					column_info((enum link_column)setup->order[i])->title);
		moved |= setup->order[i] != i;
	}
	config_put(config, "column-order", moved ? text : "");
}

/* Columns that are not named, such as those of a newer version, follow the named ones. */
static bool restore_order(struct setup *setup, const char *value)
{
	char text[CONFIG_VALUE_SIZE], *next = text, *title;
	uint8_t order[LINK_COLUMN_COUNT];
	uint32_t named = 0;
	int count = 0;

	snprintf(text, sizeof(text), "%s", value);
	while ((title = strsep(&next, ",")) != NULL) {
		enum link_column column;

		title += strspn(title, " ");
		if (!*title)
			continue;
		if (!column_by_title(title, &column) || named & 1u << column)
			return false;
		named |= 1u << column;
		order[count++] = (uint8_t)column;
	}
	for (int column = 0; column < LINK_COLUMN_COUNT; column++)
		if (!(named & 1u << column))
			order[count++] = (uint8_t)column;
	memcpy(setup->order, order, sizeof(order));
	return true;
}

/* --- lists: NAME.sort, NAME.descending, and titles of columns in NAME.hidden and NAME.order --- */

static void save_titles(const struct table *table, const char *name, const char *member, const uint8_t *columns,
			size_t count, struct config *config)
{
	char text[CONFIG_VALUE_SIZE] = "", full[CONFIG_NAME_SIZE];
	size_t len = 0;

	for (size_t i = 0; i < count && len < sizeof(text); i++)
		if (table_title(table, columns[i]))
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", len ? ", " : "",
						table_title(table, columns[i]));
	snprintf(full, sizeof(full), "%s.%s", name, member);
	config_put(config, full, text);
}

static void save_table(const struct table *table, struct config *config)
{
	const char *name = table->view->name;
	uint8_t usual[TABLE_COLUMNS], hidden[TABLE_COLUMNS];
	char full[CONFIG_NAME_SIZE];
	size_t hidden_count = 0;

	for (size_t i = 0; i < table->column_count; i++)
		if (table->hidden >> i & 1)
			hidden[hidden_count++] = (uint8_t)i;
	snprintf(full, sizeof(full), "%s.sort", name);
	config_put(config, full, table_title(table, table->sort));
	snprintf(full, sizeof(full), "%s.descending", name);
	config_put(config, full, flag_names[table->descending]);
	save_titles(table, name, "hidden", hidden, hidden_count, config);
	table_usual_order(table, usual);
	save_titles(table, name, "order", table->order,
		    memcmp(table->order, usual, table->column_count) ? table->column_count : 0, config);
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
static bool restore_order_of(struct table *table, const char *value)
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
	size_t len = strlen(table->view->name);
	const char *member = pair->name + len + 1;

	if (strncmp(pair->name, table->view->name, len) || pair->name[len] != '.')
		return 0;
	if (!strcmp(member, "sort"))
		return table_find_column(table, pair->value, &table->sort) ? 1 : -1;
	if (!strcmp(member, "hidden"))
		return restore_hidden(table, pair->value) ? 1 : -1;
	if (!strcmp(member, "order"))
		return restore_order_of(table, pair->value) ? 1 : -1;
	if (strcmp(member, "descending"))
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
	save_columns(app->setup, config);
	save_order(app->setup, config);
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

	if (!strcmp(pair->name, "hidden-columns"))
		return restore_columns(app->setup, pair->value) ? 1 : -1;
	if (!strcmp(pair->name, "column-order"))
		return restore_order(app->setup, pair->value) ? 1 : -1;
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
	default_order(app->setup);
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

/* The values as indices; then one row per column of Links. */
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
	size_t first;                      /* first visible line */
	enum link_column columns[LINK_COLUMN_COUNT]; /* that can be hidden */
	size_t column_count;
};

static void init(void *state, const struct app *app)
{
	struct setup_screen *self = state;

	(void)app;
	for (int column = 0; column < LINK_COLUMN_COUNT; column++)
		if (column_can_hide((enum link_column)column))
			self->columns[self->column_count++] = (enum link_column)column;
}

static unsigned *row_value(const struct app *app, size_t row)
{
	return (unsigned *)((char *)app->setup + rows[row].offset);
}

/* The line of a row: settings, a blank line, a title, columns. */
static size_t line_of(size_t row)
{
	return row < ROW_COLUMNS ? row : row + 2;
}

static void draw_row(const struct setup_screen *self, const struct app *app, const struct rect *body, int y,
		     size_t row)
{
	const struct brush brush = { app->theme, row == self->list.cursor ? DRAW_CURSOR : 0 };
	const int widths[] = { NAME_COLUMNS - 1, VALUE_COLUMNS - 1, body->columns - NAME_COLUMNS - VALUE_COLUMNS };
	struct table_cell cells[] = { { .role = ROLE_TEXT }, { .role = ROLE_STRONG }, { .role = ROLE_FAINT } };

	if (row < ROW_COLUMNS) {
		cells[0].text = rows[row].name;
		cells[1].text = rows[row].words[*row_value(app, row)];
		cells[2].text = rows[row].meaning;
	} else {
		enum link_column column = self->columns[row - ROW_COLUMNS];

		cells[0].text = column_info(column)->title;
		cells[1].text = app->setup->hidden & 1u << column ? "hidden" : "shown";
		cells[2].text = column_info(column)->meaning;
	}
	draw_cells(&brush, y, body, widths, cells, 3);
}

static void draw(void *state, struct app *app, const struct rect *body)
{
	const struct brush brush = { app->theme, 0 };
	struct setup_screen *self = state;
	size_t count = ROW_COLUMNS + self->column_count, line;

	list_fit(&self->list, count, body->rows);
	self->first = layout_scroll(self->first, line_of(self->list.cursor), line_of(count), body->rows);
	for (int y = 0; y < body->rows; y++) {
		line = self->first + (size_t)y;
		if (line == ROW_COLUMNS + 1)
			draw_line(&brush, body, y, ROLE_GOOD,
				  "COLUMNS OF LINKS (there, Shift-Left and Shift-Right move the sort column)");
		else if (line < ROW_COLUMNS)
			draw_row(self, app, body, body->y + y, line);
		else if (line > ROW_COLUMNS + 1 && line < line_of(count))
			draw_row(self, app, body, body->y + y, line - 2);
	}
}

static const struct key_help footer_keys[] = {
	{ "Esc", "back" }, { "Left Right", "change" }, { "Up Down", "choose" }, { NULL, NULL },
};

static void change(const struct setup_screen *self, struct app *app, int direction)
{
	size_t row = self->list.cursor;
	unsigned count = 0;

	if (row >= ROW_COLUMNS) {
		app->setup->hidden ^= 1u << self->columns[row - ROW_COLUMNS];
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
	size_t line = self->first + (size_t)(event->y - app->body.y), row = line < ROW_COLUMNS ? line : line - 2;

	if (event->wheel)
		app_move_list(app, event, 0);
	if (event->wheel || event->y >= app->body.y + app->body.rows || line == ROW_COLUMNS ||
	    line == ROW_COLUMNS + 1 || row >= ROW_COLUMNS + self->column_count)
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
	.init = init,
	.draw = draw,
	.footer_keys = footer_keys,
	.key = key,
	.mouse = mouse,
	.list = list_at_start,
	.help = help,
	.needs_nothing = true,
};
