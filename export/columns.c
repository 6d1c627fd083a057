/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "export/columns.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "base/text.h"

enum { NAME_SIZE = 48, NAMES = 2 }; /* a key and a title */

static bool is_end(const struct column *column)
{
	return !column->key && !column->title;
}

bool column_is_called(const struct column *column, const char *typed)
{
	return (column->key && !strcasecmp(column->key, typed)) ||
	       (column->title && !strcasecmp(column->title, typed)) ||
	       (column->narrow && !strcasecmp(column->narrow, typed));
}

const struct column *columns_find(const struct column_source *source, const char *typed)
{
	for (const struct column *column = source->columns; !is_end(column); column++)
		if (column_is_called(column, typed))
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

size_t columns_find_key(const struct column *list, size_t count, const char *key)
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
	if (columns_find_key(columns->list, at, columns->list[at].key) < at)
		columns->count--;
	else if (!(source->append && column->flags & COLUMN_APPEND))
		columns->list[at].flags |= COLUMN_NO_TABLE | COLUMN_NO_DATA;
}

int columns_compose(const struct column_list *list, struct columns *ret, struct error *err)
{
	size_t most = list->count;

	*ret = (struct columns){ 0 };
	for (size_t i = 0; i < list->source_count; i++)
		most += count_of(&list->sources[i]);
	ret->list = calloc(most + 1, sizeof(*ret->list));
	ret->names = malloc(NAMES * NAME_SIZE * (most + 1));
	if (!ret->list || !ret->names)
		return err_nomem(err);
	for (size_t i = 0; i < list->count; i++) {
		const struct column_source *source = source_of(list, list->items[i].row);
		size_t count = count_of(source), at = columns_find_key(source->columns, count, list->items[i].key);

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

void columns_drop(struct columns *columns, unsigned flags)
{
	const unsigned hidden = COLUMN_NO_TABLE | COLUMN_NO_DATA;
	size_t count = 0;

	for (size_t i = 0; i < columns->count; i++)
		if ((columns->list[i].flags & hidden) != hidden && !(columns->list[i].flags & flags))
			columns->list[count++] = columns->list[i];
	columns->count = count;
}

int columns_usual(const struct column_list *list, struct columns *ret, struct error *err)
{
	int code = columns_compose(list, ret, err);

	if (code == 0)
		columns_drop(ret, 0);
	return code;
}

void columns_done(struct columns *columns)
{
	free(columns->list);
	free(columns->names);
	*columns = (struct columns){ 0 };
}

enum { FLEXIBLE_LEAST = 14, FLEXIBLE_NAME = 20, FLEXIBLE_GOOD = 32, SPARE = 6, USEFUL = 4 };

/* Total width if flexible columns are limited to @flexible. */
static unsigned total_width(const struct column *columns, const struct column_fit *fits, size_t count,
			    unsigned flexible)
{
	unsigned total = 0;

	for (size_t i = 0; i < count; i++) {
		unsigned width = fits[i].natural;

		if (fits[i].hidden)
			continue;
		if (columns[i].flags & COLUMN_FLEXIBLE && width > flexible)
			width = flexible;
		total += width + (total ? COLUMNS_GAP : 0);
	}
	return total;
}

/* Hide columns of at least this priority, highest first, until the rest fits. */
static void hide_until(const struct column *columns, struct column_fit *fits, size_t count, unsigned limit,
		       unsigned priority, unsigned flexible, struct text *hidden)
{
	while (total_width(columns, fits, count, flexible) > limit) {
		size_t worst = count;

		for (size_t i = 0; i < count; i++)
			if (!fits[i].hidden && columns[i].priority >= priority &&
			    (worst == count || columns[i].priority >= columns[worst].priority))
				worst = i;
		if (worst == count)
			break;
		fits[worst].hidden = true;
		if (hidden)
			text_appendf(hidden, "%s%s", hidden->len ? ", " : "", columns[worst].title);
	}
}

/* Distribute the remaining width over the flexible columns. */
static void share_width(const struct column *columns, struct column_fit *fits, size_t count, unsigned limit)
{
	unsigned total = total_width(columns, fits, count, FLEXIBLE_LEAST);
	bool grew = true;

	for (size_t i = 0; i < count; i++) {
		fits[i].width = fits[i].natural;
		if (limit && columns[i].flags & COLUMN_FLEXIBLE && fits[i].width > FLEXIBLE_LEAST)
			fits[i].width = FLEXIBLE_LEAST;
	}
	/* Names first, which are not wrapped and tell rows apart. */
	for (unsigned names = 1; limit && names < 2; names--, grew = true)
		while (grew) {
			grew = false;
			for (size_t i = 0; i < count && total < limit; i++) {
				if (fits[i].hidden || fits[i].width >= fits[i].natural ||
				    (names && !(columns[i].flags & COLUMN_KEEP_TAIL)))
					continue;
				fits[i].width++;
				total++;
				grew = true;
			}
		}
}

void columns_fit_table(const struct column *columns, struct column_fit *fits, size_t count, unsigned limit,
		 struct text *hidden)
{
	bool fit = !limit || total_width(columns, fits, count, UINT_MAX) <= limit;

	for (size_t i = 0; i < count && !fit; i++)
		if (!fits[i].hidden && columns[i].flags & COLUMN_BELOW)
			fits[i].hidden = fits[i].below = true;
	if (limit) {
		hide_until(columns, fits, count, limit, SPARE, FLEXIBLE_GOOD, hidden);
		hide_until(columns, fits, count, limit, USEFUL, FLEXIBLE_NAME, hidden);
		hide_until(columns, fits, count, limit, 1, FLEXIBLE_LEAST, hidden);
	}
	share_width(columns, fits, count, limit);
}
