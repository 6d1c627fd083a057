/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/lib/columns.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "cli/command.h"
#include "cli/lib/options.h"

enum { NAME_SIZE = 48, NAMES = 2 }; /* a key and a title */

static bool is_end(const struct column *column)
{
	return !column->key && !column->title;
}

const struct column *columns_find(const struct column_source *source, const char *typed)
{
	for (const struct column *column = source->columns; !is_end(column); column++)
		if ((column->key && !strcasecmp(column->key, typed)) ||
		    (column->title && !strcasecmp(column->title, typed)) ||
		    (column->narrow && !strcasecmp(column->narrow, typed)))
			return column;
	return NULL;
}

static size_t count_of(const struct column_source *source)
{
	size_t count = 0;

	while (!is_end(&source->columns[count]))
		count++;
	return count;
}

/* The first of @count columns with a key; @count: there is none. */
static size_t find_key(const struct column *list, size_t count, const char *key)
{
	size_t i = 0;

	while (i < count && (!list[i].key || strcmp(list[i].key, key) != 0))
		i++;
	return i;
}

static const char *with_prefix(const char *prefix, const char *name, char *ret)
{
	if (!prefix || !name)
		return name;
	snprintf(ret, NAME_SIZE, "%s%s", prefix, name);
	return ret;
}

/* Append a column of a source, as it is or as an item of the list. */
static void add(struct columns *columns, const struct column_source *source, const struct column *column,
		const struct column_item *item)
{
	struct column *ret = &columns->list[columns->count];
	char *names = columns->names + NAMES * NAME_SIZE * columns->count;

	*ret = *column;
	ret->row = source->row;
	ret->key = item && item->as ? item->as : with_prefix(source->key_prefix, column->key, names);
	ret->title = item && item->title ? item->title :
					   with_prefix(source->title_prefix, column->title, names + NAME_SIZE);
	if (item) {
		ret->flags |= (item->table ? 0 : COLUMN_NO_TABLE) | (item->no_data ? COLUMN_NO_DATA : 0);
		if (item->below)
			ret->flags = (ret->flags & ~(unsigned)COLUMN_FLEXIBLE) | COLUMN_BELOW;
		ret->priority = item->priority;
	}
	columns->count++;
}

static const struct column_source *source_of(const struct column_list *list, unsigned row)
{
	const struct column_source *source = list->sources;

	while (source->row != row)
		source++;
	return source;
}

static bool is_item(const struct column_list *list, unsigned row, const char *key)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->items[i].row == row && !strcmp(list->items[i].key, key))
			return true;
	return false;
}

/* Append a column that is not an item. Without items all are shown, else those to be appended. */
static void add_other(struct columns *columns, const struct column_list *list, const struct column_source *source,
		      const struct column *column)
{
	size_t at = columns->count;

	if (list->count && is_item(list, source->row, column->key))
		return;
	add(columns, source, column, NULL);
	if (!list->count)
		return;
	if (find_key(columns->list, at, columns->list[at].key) < at)
		columns->count--;
	else if (!(source->append && column->flags & COLUMN_APPEND))
		columns->list[at].flags |= COLUMN_NO_TABLE | COLUMN_NO_DATA;
}

/* All columns that the list may have: its items, then the others of its sources. */
static int add_all(const struct column_list *list, struct columns *ret, struct error *err)
{
	size_t most = list->count;

	for (size_t i = 0; i < list->source_count; i++)
		most += count_of(&list->sources[i]);
	ret->list = calloc(most + 1, sizeof(*ret->list));
	ret->names = malloc(NAMES * NAME_SIZE * (most + 1));
	if (!ret->list || !ret->names)
		return err_nomem(err);
	for (size_t i = 0; i < list->count; i++) {
		const struct column_source *source = source_of(list, list->items[i].row);
		size_t count = count_of(source), at = find_key(source->columns, count, list->items[i].key);

		assert(at < count);
		add(ret, source, &source->columns[at], &list->items[i]);
	}
	for (size_t i = 0; i < list->source_count; i++) {
		const struct column_source *source = &list->sources[i];

		for (const struct column *column = source->columns; !is_end(column); column++)
			add_other(ret, list, source, column);
	}
	return 0;
}

/* Keep the usual columns; @without: flags of which one is sufficient to drop a column. */
static void drop_hidden(struct columns *columns, unsigned without)
{
	const unsigned hidden = COLUMN_NO_TABLE | COLUMN_NO_DATA;
	size_t count = 0;

	for (size_t i = 0; i < columns->count; i++)
		if ((columns->list[i].flags & hidden) != hidden && !(columns->list[i].flags & without))
			columns->list[count++] = columns->list[i];
	columns->count = count;
}

static int unknown_column(const struct command *command, const struct columns *columns, const char *key,
			  struct error *err)
{
	struct nearest nearest;

	nearest_init(&nearest, key);
	for (size_t i = 0; i < columns->count; i++)
		if (columns->list[i].key)
			nearest_offer(&nearest, columns->list[i].key);
	return options_usage_error(command, err, "unknown column '%.48s'%s", key,
				   nearest.best ? nearest_hint(&nearest) : ": see --columns help");
}

/* Replace the columns by those of --columns. */
static int choose(const struct command *command, const char *chosen, struct columns *columns, struct error *err)
{
	struct column *list = calloc(columns->count + 1, sizeof(*list));
	size_t count = 0;
	char key[NAME_SIZE];

	if (!list)
		return err_nomem(err);
	while (*chosen) {
		size_t len = strcspn(chosen, ","), at;

		snprintf(key, sizeof(key), "%.*s", (int)(len < NAME_SIZE ? len : NAME_SIZE - 1), chosen);
		chosen += len + (chosen[len] == ',');
		at = find_key(columns->list, columns->count, key);
		if (at == columns->count || find_key(list, count, key) < count) {
			free(list);
			return at == columns->count ? unknown_column(command, columns, key, err) :
			       options_usage_error(command, err, "--columns has '%s' twice", key);
		}
		list[count] = columns->list[at];
		list[count].flags &= ~(unsigned)(COLUMN_NO_TABLE | COLUMN_NO_DATA);
		list[count++].priority = 0;
	}
	free(columns->list);
	columns->list = list;
	columns->count = count;
	return count ? 0 : options_usage_error(command, err, "--columns needs a key: see --columns help");
}

/* One row for each key, in the format of the options. */
static int print_help(const struct options *options, const struct columns *columns, struct error *err)
{
	static const struct column help_columns[] = {
		{ .key = "key", .title = "KEY", .kind = COLUMN_TEXT },
		{ .key = "title", .title = "TITLE", .kind = COLUMN_TEXT },
		{ .key = "meaning", .title = "MEANING", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE },
	};
	struct result *result = output_begin(options, false, help_columns, 3);
	int code;

	for (size_t i = 0; i < columns->count; i++) {
		if (!columns->list[i].key)
			continue;
		result_text(result, 0, columns->list[i].key);
		result_text(result, 1, columns->list[i].title);
		result_text(result, 2, columns->list[i].help);
		result_end_row(result);
	}
	code = output_end(result, 0, err);
	return code < 0 ? code : 1;
}

int columns_create(const struct command *command, const struct options *options, const struct column_list *list,
		   const char *chosen, struct columns *ret, struct error *err)
{
	struct columns columns = { 0 };
	int code = add_all(list, &columns, err);

	/* A page of several renderings has all columns; for a single one the others only cost time. */
	if (code == 0 && !chosen)
		drop_hidden(&columns, !command                          ? 0 :
				      options->format == RESULT_TABLE ? COLUMN_NO_TABLE :
									COLUMN_NO_DATA);
	else if (code == 0 && !strcmp(chosen, "help"))
		code = print_help(options, &columns, err);
	else if (code == 0)
		code = choose(command, chosen, &columns, err);
	if (code == 0)
		*ret = columns;
	else
		columns_done(&columns);
	return code;
}

void columns_done(struct columns *columns)
{
	free(columns->list);
	free(columns->names);
	*columns = (struct columns){ 0 };
}
