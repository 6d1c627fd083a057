/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/lib/columns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/nearest.h"
#include "cli/command.h"
#include "cli/lib/options.h"

enum { KEY_SIZE = 48 };

/* @what: "column", "sort key" */
static int unknown_column(const struct command *command, const struct columns *columns, const char *what,
			  const char *key, struct error *err)
{
	struct nearest nearest;

	nearest_init(&nearest, key);
	for (size_t i = 0; i < columns->count; i++)
		if (columns->list[i].key)
			nearest_offer(&nearest, columns->list[i].key);
	return options_usage_error(command, err, "unknown %s '%.48s'%s", what, key,
				   nearest.best ? nearest_hint(&nearest) : ": see --columns help");
}

/* Replace the columns by those of --columns. */
static int choose(const struct command *command, const char *chosen, struct columns *columns, struct error *err)
{
	struct column *list = calloc(columns->count + 1, sizeof(*list));
	size_t count = 0;
	char key[KEY_SIZE];

	if (!list)
		return err_nomem(err);
	while (*chosen) {
		size_t len = strcspn(chosen, ","), at;

		snprintf(key, sizeof(key), "%.*s", (int)(len < KEY_SIZE ? len : KEY_SIZE - 1), chosen);
		chosen += len + (chosen[len] == ',');
		at = columns_find_key(columns->list, columns->count, key);
		if (at == columns->count || columns_find_key(list, count, key) < count) {
			free(list);
			return at == columns->count ? unknown_column(command, columns, "column", key, err) :
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

/* A column by its key, or else by its title. Return: columns->count if there is none. */
static size_t find_typed(const struct columns *columns, const char *typed)
{
	size_t at = columns_find_key(columns->list, columns->count, typed);

	for (size_t i = 0; at == columns->count && i < columns->count; i++)
		if (column_is_called(&columns->list[i], typed))
			at = i;
	return at;
}

/* The column of --sort is appended, and in no output, if it is not shown. */
static int add_sort(const struct column *sort, struct columns *columns, struct error *err)
{
	struct column *list;
	size_t at = 0;

	while (at < columns->count && (columns->list[at].key != sort->key || columns->list[at].title != sort->title))
		at++;
	columns->sort = at + 1;
	if (at < columns->count)
		return 0;
	list = reallocarray(columns->list, at + 1, sizeof(*list));
	if (!list)
		return err_nomem(err);
	columns->list = list;
	list[at] = *sort;
	list[at].flags |= COLUMN_NO_TABLE | COLUMN_NO_DATA;
	columns->count++;
	return 0;
}

int columns_create(const struct command *command, const struct options *options, const struct column_list *list,
		   const char *chosen, const char *sort, struct columns *ret, struct error *err)
{
	struct columns columns;
	struct column sorted = { 0 };
	int code = columns_compose(list, &columns, err);

	if (code == 0 && sort) {
		size_t at = find_typed(&columns, sort);

		if (at == columns.count)
			code = unknown_column(command, &columns, "sort key", sort, err);
		else
			sorted = columns.list[at];
	}
	/* A column that the format does not show would only cost time. */
	if (code == 0 && !chosen)
		columns_drop(&columns, options->format == RESULT_TABLE ? COLUMN_NO_TABLE : COLUMN_NO_DATA);
	else if (code == 0 && !strcmp(chosen, "help"))
		code = print_help(options, &columns, err);
	else if (code == 0)
		code = choose(command, chosen, &columns, err);
	if (code == 0 && sort)
		code = add_sort(&sorted, &columns, err);
	if (code == 0)
		*ret = columns;
	else
		columns_done(&columns);
	return code;
}

struct result *columns_begin(const struct options *options, const struct columns *columns)
{
	struct result_options output = options_result(options);

	output.sort = columns->sort;
	return result_create(options->out, &output, columns->list, columns->count);
}
