/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/model/table.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "fabric/names.h"

/* Priorities from this one on are those of additional columns, up to twice as many. */
enum { MORE = 4 };

/*
 * Sort key of a row, of at most 32 bytes: qsort() of glibc sorts larger ones by pointers, which takes longer.
 * rest: if the keys are texts, the offset of the text that is compared after the number.
 */
struct entry {
	struct table_key key;
	uint32_t row;
};

struct order {
	const char *texts; /* NULL: keys are no texts */
	bool descending;
};

/* TAG is behind the columns of the view, and before those that are appended to them. */
static bool is_tag(const struct table *table, size_t column)
{
	return table->view->tags && column == table->view->column_count;
}

static const struct column *column_of(const struct table *table, size_t column)
{
	return &table->columns[column];
}

/* A column of the view, as the table of its struct describes it. */
static struct column complete(const struct table_view *view, const struct column *column)
{
	const struct column *source = view->sources[column->row];
	struct column ret;

	if (column->fill || column->type || column_has_number(column) || !column->key)
		return *column;
	while (source && source->key && strcmp(source->key, column->key))
		source++;
	if (!source || !source->key)
		return *column;
	ret = *source;
	ret.row = column->row;
	if (column->title) {
		ret.title = column->title;
		ret.narrow = column->narrow;
	}
	ret.help = column->help ? column->help : source->help;
	ret.priority = column->priority ? column->priority : source->priority;
	return ret;
}

static bool has_key(const struct table *table, unsigned row, const char *key)
{
	for (size_t i = 0; i < table->column_count; i++)
		if (table->columns[i].key && table->columns[i].row == row && !strcmp(table->columns[i].key, key))
			return true;
	return false;
}

/* Columns that each list of these rows has, also one that does not name them. */
static void append_columns(struct table *table)
{
	const struct table_view *view = table->view;

	for (unsigned row = 0; row < TABLE_STRUCTS; row++) {
		const struct column *source = view->sources[row];
		bool again = row && source == view->sources[row - 1];

		for (; !again && source && source->key && table->column_count < TABLE_COLUMNS; source++) {
			if (!(source->flags & COLUMN_APPEND) || has_key(table, row, source->key))
				continue;
			table->columns[table->column_count] = *source;
			table->columns[table->column_count++].row = row;
		}
	}
}

void table_init(struct table *table, const struct table_view *view, void *state, const struct app *app)
{
	const struct result_options keep = { .format = RESULT_KEEP };

	*table = (struct table){ .view = view, .state = state, .app = app, .sort = view->sort,
				 .descending = view->sort_descending,
				 .column_count = view->column_count + view->tags };
	for (size_t i = 0; i < view->column_count; i++)
		table->columns[i] = complete(view, &view->columns[i]);
	if (view->tags)
		table->columns[view->column_count] =
			(struct column){ .title = "TAG", .narrow = "", .help = "tagged with T or Insert" };
	append_columns(table);
	table->cells = result_create(NULL, &keep, table->columns, table->column_count);
	table_usual_order(table, table->order);
}

void table_usual_order(const struct table *table, uint8_t *ret)
{
	size_t columns = table->view->column_count;

	/* TAG is the first one from the left. */
	for (size_t i = 0; i < table->column_count; i++)
		ret[i] = (uint8_t)(!table->view->tags || i > columns ? i : i ? i - 1 : columns);
}

void table_done(struct table *table)
{
	if (!table->view)
		return;
	free(table->rows);
	free(table->ordered);
	filter_done(&table->filter);
	map_done(&table->tags);
	if (table->cells)
		result_finish(table->cells, NULL);
	result_destroy(table->cells);
	text_done(&table->text);
	*table = (struct table){ 0 };
}

const char *table_title(const struct table *table, size_t column)
{
	return column_of(table, column)->title;
}

const char *table_help(const struct table *table, size_t column)
{
	return column_of(table, column)->help;
}

bool table_is_right(const struct table *table, size_t column)
{
	return !is_tag(table, column) && column_is_right(column_of(table, column));
}

bool table_can_hide(const struct table *table, size_t column)
{
	return !is_tag(table, column) && table_title(table, column) && !(table->view->fixed >> column & 1);
}

bool table_find_column(const struct table *table, const char *title, size_t *ret)
{
	size_t len = strlen(title);

	for (size_t i = 0; i < table->column_count; i++) {
		const char *own = table_title(table, i);

		/* The percent sign may be missing: LOAD% was LOAD. */
		if (own && !strncmp(own, title, len) && (!own[len] || !strcmp(own + len, "%"))) {
			*ret = i;
			return true;
		}
	}
	return false;
}

const char *table_head(const struct table *table, size_t column, int columns, bool unicode, char *ret)
{
	const struct column *info = column_of(table, column);
	const char *arrow = table->descending ? (unicode ? "\xe2\x96\xbc" : "v") : (unicode ? "\xe2\x96\xb2" : "^");
	bool sorted = table->sort == column;
	const char *title = info->title;

	/* A narrow rate has no unit: the short title has it. */
	if (info->narrow && ((int)text_columns(title) + sorted > columns ||
			     (info->kind == COLUMN_RATE && columns < 10)))
		title = info->narrow;
	snprintf(ret, TABLE_HEAD_SIZE, "%s%s", title, sorted && (int)text_columns(title) < columns ? arrow : "");
	return ret;
}

/* --- rows and cells --- */

const void *table_row(const struct table *table, size_t index)
{
	const struct table_array *array = &table->view->array;
	const char *rows;

	memcpy(&rows, (const char *)table->state + array->rows, sizeof(rows));
	return rows + index * array->size;
}

size_t table_count(const struct table *table)
{
	const struct table_view *view = table->view;

	return view->count ? view->count(table) : *(const size_t *)((const char *)table->state + view->array.count);
}

static void read_row(const struct table *table, size_t index, const void *ret[TABLE_STRUCTS])
{
	memset(ret, 0, TABLE_STRUCTS * sizeof(*ret));
	if (table->view->row)
		table->view->row(table, index, ret);
	else
		ret[0] = table_row(table, index);
}

/* Fill cells of a row. @columns: 1 << column. Return: false without memory. */
static bool fill_cells(struct table *table, size_t index, uint64_t columns)
{
	const void *row[TABLE_STRUCTS];

	table->filled = 0;
	if (!table->cells)
		return false;
	result_clear(table->cells);
	read_row(table, index, row);
	for (size_t i = 0; i < table->column_count; i++)
		if (columns >> i & 1 && row[table->columns[i].row])
			result_fill_cell(table->cells, i, row[table->columns[i].row]);
	return result_end_row(table->cells);
}

/* Several cells of a row are read next. */
static void begin_row(struct table *table, size_t index, uint64_t columns)
{
	if (!fill_cells(table, index, columns))
		return;
	table->filled = index + 1;
	table->filled_columns = columns;
}

/* Fill a cell, unless begin_row() did. */
static bool has_cell(struct table *table, size_t index, size_t column)
{
	return (table->filled == index + 1 && table->filled_columns >> column & 1) ||
	       fill_cells(table, index, UINT64_C(1) << column);
}

static enum role role_of(enum cell_style style)
{
	static const enum role roles[STYLE_COUNT] = {
		[STYLE_PLAIN] = ROLE_TEXT, [STYLE_DIM] = ROLE_FAINT, [STYLE_WARNING] = ROLE_WARNING,
		[STYLE_CRITICAL] = ROLE_CRITICAL, [STYLE_STRONG] = ROLE_STRONG,
	};

	return roles[style];
}

static const char *cell_of(struct table *table, size_t index, size_t column, int columns, enum role *ret_role)
{
	const struct table_view *view = table->view;
	enum cell_style style = STYLE_PLAIN;

	text_clear(&table->text);
	if (is_tag(table, column)) {
		*ret_role = ROLE_GOOD;
		return table_is_tagged(table, view->id(table, index)) ? "*" : "";
	}
	if (!view->text || !view->text(table, index, column, columns, &table->text))
		if (has_cell(table, index, column))
			result_cell(table->cells, 0, column, (unsigned)columns, &table->text, &style);
	*ret_role = role_of(style);
	if (view->role)
		*ret_role = view->role(table, index, column, *ret_role);
	return text_chars(&table->text);
}

void table_begin_row(struct table *table, size_t row, uint64_t columns)
{
	begin_row(table, table->rows[row], columns);
}

const char *table_cell(struct table *table, size_t row, size_t column, int columns, enum role *ret_role)
{
	return cell_of(table, table->rows[row], column, columns, ret_role);
}

/* --- widths --- */

/* Widths do not shrink while the list is shown, so that columns stay where they are. */
static void measure(struct table *table, size_t all)
{
	enum role role;

	for (size_t i = 0; i < table->column_count; i++) {
		if (!table_title(table, i) || is_tag(table, i))
			continue;
		/* With room for the mark of the order. */
		if (!table->widest[i])
			table->widest[i] = (int)text_columns(table_title(table, i)) + 1;
		for (size_t row = 0; row < all; row++) {
			int columns = (int)text_columns(cell_of(table, row, i, 0, &role));

			if (columns > table->widest[i])
				table->widest[i] = columns;
		}
	}
}

/* Columns that a cell needs at least. */
static int least_of(const struct table *table, size_t column)
{
	const struct column *info = &table->columns[column];
	int widest = table->widest[column], title = (int)text_columns(info->narrow ? info->narrow : info->title);
	int least = widest;

	if (table->view->fixed >> column & 1)
		least = 17; /* "node0001 mlx5_0/1" */
	else if (info->flags & COLUMN_FLEXIBLE)
		least = 8;
	else if (info->kind == COLUMN_RATE || info->kind == COLUMN_BYTES || info->kind == COLUMN_INTEGER)
		least = 6;
	least = least > title ? least : title;
	return least < widest ? least : widest;
}

/*
 * Columns by priority: the important ones as narrow as they can be, then as wide as their cells; then all others in the
 * same way.
 */
static size_t make_steps(const struct table *table, struct column_step ret[2 * TABLE_COLUMNS])
{
	const struct table_view *view = table->view;
	size_t count = 0;

	if (view->tags)
		ret[count++] = (struct column_step){ (uint8_t)view->column_count, 1, 0 };
	for (unsigned step = 0; step < 4 * MORE; step++) {
		unsigned priority = step % MORE + step / (2 * MORE) * MORE;
		bool wide = step / MORE % 2;

		for (size_t i = 0; i < table->column_count; i++)
			if (table->columns[i].title && table->columns[i].priority == priority && !is_tag(table, i))
				ret[count++] = (struct column_step){
					(uint8_t)i, (int16_t)(wide ? table->widest[i] : least_of(table, i)), 0,
				};
	}
	return count;
}

/* The steps of the view, with those of the appended columns before the last ones, by which texts and bars grow. */
static size_t add_steps(const struct table *table, uint64_t elastic, struct column_step ret[2 * TABLE_COLUMNS])
{
	const struct table_view *view = table->view;
	size_t first = view->step_count, count = 0;

	assert(first + table->column_count - view->column_count <= 2 * TABLE_COLUMNS);
	while (first && elastic >> view->steps[first - 1].column & 1)
		first--;
	for (size_t i = 0; i < first; i++)
		ret[count++] = view->steps[i];
	for (size_t i = view->column_count + view->tags; i < table->column_count; i++)
		ret[count++] = (struct column_step){
			(uint8_t)i, (int16_t)(text_columns(table_title(table, i)) + 1), 0,
		};
	for (size_t i = first; i < view->step_count; i++)
		ret[count++] = view->steps[i];
	return count;
}

void table_places(const struct table *table, int columns, struct column_place *ret)
{
	const struct table_view *view = table->view;
	struct column_step steps[2 * TABLE_COLUMNS];
	struct column_set set = { .count = table->column_count, .steps = steps, .order = table->order };
	int widest[TABLE_COLUMNS];

	for (size_t i = 0; i < table->column_count; i++) {
		if (table_can_hide(table, i))
			set.hidden |= table->hidden & UINT64_C(1) << i;
		if (column_of(table, i)->flags & COLUMN_FLEXIBLE)
			set.elastic |= UINT64_C(1) << i;
		if (is_tag(table, i))
			widest[i] = table->tag_count > 0;
		else if (view->widest)
			widest[i] = view->widest(table, i);
		else
			widest[i] = view->steps ? COLUMN_WIDEST : table->widest[i];
	}
	set.widest = widest;
	set.step_count = view->steps ? add_steps(table, set.elastic, steps) : make_steps(table, steps);
	columns_fit(&set, columns, ret);
	if (view->adjust) {
		view->adjust(ret);
		columns_set_positions(&set, ret);
	}
}

/* --- order --- */

static int compare_entries(const void *a, const void *b, void *ctx)
{
	const struct entry *entry_a = a, *entry_b = b;
	const struct table_key *key_a = &entry_a->key, *key_b = &entry_b->key;
	const struct order *by = ctx;

	if (key_a->number != key_b->number)
		return key_a->number < key_b->number ? -1 : 1;
	if (by->texts) {
		int order = names_compare(by->texts + key_a->rest, by->texts + key_b->rest);

		if (order)
			return by->descending ? -order : order;
	} else if (key_a->rest != key_b->rest) {
		return key_a->rest < key_b->rest ? -1 : 1;
	}
	if (key_a->tie != key_b->tie)
		return key_a->tie < key_b->tie ? -1 : 1;
	return entry_a->row < entry_b->row ? -1 : entry_a->row > entry_b->row;
}

/*
 * Read the key of a row from its cell.
 * @texts:  of all rows, NUL-terminated; the first one is empty
 * Return: whether the key is a text.
 */
static bool read_key(struct table *table, struct entry *entry, struct text *texts)
{
	const struct column *column = &table->columns[table->sort];
	const void *row[TABLE_STRUCTS];

	if (column_has_number(column)) {
		read_row(table, entry->row, row);
		if (row[column->row])
			entry->key.number = column_number(column, row[column->row]);
		return false;
	}
	if (!has_cell(table, entry->row, table->sort))
		return false;
	if (column_is_right(column) || column->kind == COLUMN_TIME || column->kind == COLUMN_BOOL) {
		entry->key.number = result_number_of(table->cells, 0, table->sort);
		return false;
	}
	result_cell(table->cells, 0, table->sort, 0, &table->text, NULL);
	if (!strcmp(text_chars(&table->text), "-") || !table->text.len)
		return true;
	entry->key.number = 0;
	entry->key.rest = texts->len;
	text_append_bytes(texts, text_chars(&table->text), table->text.len + 1);
	return true;
}

/* Set the order of all rows. */
static void sort_rows(struct table *table, struct entry *entries, size_t count)
{
	const struct table_view *view = table->view;
	struct order by = { .descending = table->descending };
	struct text texts = { 0 };
	bool is_text = false;

	text_append_bytes(&texts, "", 1);
	for (size_t i = 0; i < count; i++) {
		struct entry *entry = &entries[i];

		*entry = (struct entry){ .key.number = NAN, .row = (uint32_t)i };
		if (view->key && view->key(table, i, table->sort, &entry->key))
			; /* it is complete */
		else if (is_tag(table, table->sort))
			entry->key.number = table_is_tagged(table, view->id(table, i));
		else
			is_text |= read_key(table, entry, &texts);
		/* Unknown values are the last ones in both orders. */
		if (isnan(entry->key.number)) {
			entry->key.number = INFINITY;
		} else if (table->descending && !is_text) {
			entry->key.number = -entry->key.number;
			entry->key.rest = ~entry->key.rest;
		}
	}
	by.texts = is_text && !text_failed(&texts) ? texts.chars : NULL;
	qsort_r(entries, count, sizeof(*entries), compare_entries, &by);
	text_done(&texts);
	for (size_t i = 0; i < count; i++)
		table->ordered[i] = entries[i].row;
}

/* Sort all rows, unless only the filter or the tags have changed. Return: false without memory. */
static bool order_rows(struct table *table, size_t all, bool changed)
{
	struct entry *entries;

	if (!changed && all == table->ordered_count && table->ordered_by == table->sort &&
	    table->ordered_descending == table->descending && !is_tag(table, table->sort))
		return true;
	table->ordered_count = 0;
	if (all > table->capacity) {
		uint32_t *rows = reallocarray(table->rows, all, sizeof(*rows));
		uint32_t *ordered = reallocarray(table->ordered, all, sizeof(*ordered));

		table->rows = rows ? rows : table->rows;
		table->ordered = ordered ? ordered : table->ordered;
		if (!rows || !ordered)
			return false;
		table->capacity = all;
	}
	entries = malloc((all + 1) * sizeof(*entries));
	if (!entries)
		return false;
	sort_rows(table, entries, all);
	free(entries);
	table->ordered_count = all;
	table->ordered_by = table->sort;
	table->ordered_descending = table->descending;
	return true;
}

/* --- filter --- */

static bool matches(struct table *table, size_t index, struct text *line)
{
	const struct table_view *view = table->view;
	enum role role;

	if (view->matches)
		return view->matches(table, index, &table->filter);
	text_clear(line);
	begin_row(table, index, UINT64_MAX);
	for (size_t i = 0; i < table->column_count; i++)
		if (table->columns[i].title && !is_tag(table, i))
			text_appendf(line, "%s\n", cell_of(table, index, i, 0, &role));
	return filter_matches(&table->filter, text_chars(line), filter_tag_bits(&table->filter,
				table_is_tagged(table, view->id(table, index))));
}

/* @line: a buffer; NULL: there is no filter */
static bool is_shown(struct table *table, size_t index, struct text *line)
{
	const struct table_view *view = table->view;

	if (table->tagged_only && !table_is_tagged(table, view->id(table, index)))
		return false;
	return !line || matches(table, index, line);
}

void table_arrange(struct table *table, bool changed)
{
	const struct table_view *view = table->view;
	size_t all = table_count(table);
	bool *shown = calloc(all + 1, sizeof(*shown));
	struct text line = { 0 };
	bool filtered;

	table->count = table->row_count = table->filled = 0;
	table->failed = !shown || !order_rows(table, all, changed);
	if (table->failed)
		goto out;
	filtered = table->filter.select.term_count &&
		   (!view->begin_filter || view->begin_filter(table, &table->filter));
	/* In the order of the data, which is that of memory: it takes less time than the order of the list. */
	for (size_t i = 0; i < all; i++) {
		if (view->is_listed && !view->is_listed(table, i))
			continue;
		table->count++;
		shown[i] = is_shown(table, i, filtered ? &line : NULL);
	}
	for (size_t i = 0; i < all; i++)
		if (shown[table->ordered[i]])
			table->rows[table->row_count++] = table->ordered[i];
	table->filled = 0;
	if (changed && !view->steps)
		measure(table, all);
out:
	text_done(&line);
	free(shown);
}

void table_sort_by(struct table *table, size_t column)
{
	if (table->sort != column)
		table->descending = is_tag(table, column) || table_is_right(table, column) ||
				    table->view->descending >> column & 1;
	table->sort = column;
}

const char *table_match(const struct table *table, const char *text, size_t *ret_len)
{
	for (size_t i = 0; i < table->filter.select.term_count; i++) {
		const struct select_term *term = &table->filter.select.terms[i];
		bool is_text = term->key == SELECT_WORD && !term->negated && !(table->filter.is_regex >> i & 1);
		const char *found = is_text ? filter_find(text, term->text) : NULL;

		if (found) {
			*ret_len = strlen(term->text);
			return found;
		}
	}
	return NULL;
}

/* --- identity --- */

struct table_id table_id(const struct table *table, size_t row)
{
	return table->view->id(table, table->rows[row]);
}

size_t table_find(const struct table *table, struct table_id id)
{
	size_t row;

	for (row = 0; row < table->row_count; row++) {
		struct table_id here = table_id(table, row);

		if (here.high == id.high && here.low == id.low)
			break;
	}
	return row;
}

static uint64_t tag_key(struct table_id id)
{
	return map_mix(id.high) ^ id.low;
}

bool table_is_tagged(const struct table *table, struct table_id id)
{
	uint32_t tagged;

	return table->tag_count && map_get(&table->tags, tag_key(id), &tagged) && tagged;
}

int table_tag(struct table *table, size_t row, struct error *err)
{
	struct table_id id = table_id(table, row);
	bool tagged = table_is_tagged(table, id);

	if (map_put(&table->tags, tag_key(id), !tagged) < 0)
		return err_nomem(err);
	table->tag_count += tagged ? (size_t)-1 : 1;
	return 0;
}

void table_untag_all(struct table *table)
{
	map_done(&table->tags);
	table->tag_count = 0;
	table->tagged_only = false;
}
