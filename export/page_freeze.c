/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* page_freeze.c - pages that outlive what they were built from, for a screen */
#include <stdlib.h>
#include <string.h>

#include "analysis/metric.h"
#include "analysis/series.h"
#include "base/err.h"
#include "export/page_work.h"

static void *copy(struct page *page, const void *from, size_t count, size_t size)
{
	void *to = page_alloc(page, count, size);

	if (to && count)
		memcpy(to, from, count * size);
	return to;
}

static void copy_text(struct page *page, const char **chars)
{
	if (*chars)
		*chars = page_print(page, "%s", *chars);
}

static void copy_signs(struct page *page, const struct page_sign **list, size_t count)
{
	struct page_sign *signs = copy(page, *list, count, sizeof(*signs));

	for (size_t i = 0; signs && i < count; i++) {
		copy_text(page, &signs[i].text);
		copy_text(page, &signs[i].word);
		copy_text(page, &signs[i].name);
		copy_text(page, &signs[i].action);
	}
	*list = signs;
}

static void copy_fields(struct page *page, struct page_section *section)
{
	size_t count = section->fields.count;
	struct page_field *fields = copy(page, section->fields.list, count, sizeof(*fields));

	for (size_t i = 0; fields && i < count; i++) {
		copy_text(page, &fields[i].name);
		copy_text(page, &fields[i].value);
		copy_text(page, &fields[i].note);
	}
	section->fields.list = fields;
}

/* Without what only HTML has. */
static void copy_items(struct page *page, struct page_section *section)
{
	size_t count = section->items.count;
	struct page_item *items = copy(page, section->items.list, count, sizeof(*items));

	for (size_t i = 0; items && i < count; i++) {
		copy_text(page, &items[i].word);
		copy_text(page, &items[i].name);
		copy_text(page, &items[i].about);
		for (size_t line = 0; line < PAGE_ITEM_LINES; line++)
			copy_text(page, &items[i].lines[line].chars);
	}
	section->items.list = items;
	copy_text(page, &section->items.none);
}

static void copy_lines(struct page *page, struct page_lines *lines)
{
	struct page_series *series = copy(page, lines->series, lines->series_count, sizeof(*series));
	struct page_mark *marks = copy(page, lines->marks, lines->mark_count, sizeof(*marks));

	for (size_t i = 0; series && i < lines->series_count; i++) {
		copy_text(page, &series[i].name);
		series[i].steps = copy(page, series[i].steps, series[i].count, sizeof(*series[i].steps));
	}
	for (size_t i = 0; marks && i < lines->mark_count; i++) {
		copy_text(page, &marks[i].name);
		copy_text(page, &marks[i].text);
	}
	copy_text(page, &lines->title);
	lines->metric = copy(page, lines->metric, 1, sizeof(*lines->metric));
	lines->series = series;
	lines->marks = marks;
}

static void copy_bars(struct page *page, struct page_bars *bars)
{
	struct page_bar *list = copy(page, bars->bars, bars->count, sizeof(*list));

	for (size_t i = 0; list && i < bars->count; i++)
		copy_text(page, &list[i].name);
	bars->bars = list;
	copy_text(page, &bars->title);
}

static void copy_names(struct page *page, const char *const **list, size_t count)
{
	const char **names = copy(page, *list, count, sizeof(*names));

	for (size_t i = 0; names && i < count; i++)
		copy_text(page, &names[i]);
	*list = names;
}

static void copy_heat(struct page *page, struct page_heat *heat)
{
	copy_text(page, &heat->title);
	copy_names(page, &heat->row_names, heat->rows);
	copy_names(page, &heat->column_names, heat->columns);
	heat->values = copy(page, heat->values, heat->rows * heat->columns, sizeof(*heat->values));
}

static int keep_rows(struct page *page, size_t at, struct error *err)
{
	struct page_section *section = &page->sections[at];
	const struct result_options options = { .format = RESULT_KEEP, .record = section->kind == PAGE_RECORD,
						.rendering = PAGE_TEXT };
	struct column *columns = copy(page, section->table.columns, section->table.count, sizeof(*columns));

	if (!columns)
		return err_nomem(err);
	for (size_t i = 0; i < section->table.count; i++)
		copy_text(page, &columns[i].title);
	section->table.columns = columns;
	page->kept[at] = result_create(NULL, &options, columns, section->table.count);
	if (page->kept[at])
		section->table.fill(page->kept[at], section->table.ctx);
	return result_finish(page->kept[at], err);
}

static int freeze_section(struct page *page, size_t at, struct error *err)
{
	struct page_section *section = &page->sections[at];

	copy_text(page, &section->title);
	copy_text(page, &section->about);
	switch (section->kind) {
	case PAGE_TABLE:
	case PAGE_RECORD:
		return keep_rows(page, at, err);
	case PAGE_VERDICT:
		copy_text(page, &section->verdict.subject);
		copy_text(page, &section->verdict.sentence);
		copy_signs(page, &section->verdict.signs, section->verdict.sign_count);
		break;
	case PAGE_SIGNS:
		copy_signs(page, &section->signs.list, section->signs.count);
		break;
	case PAGE_FIELDS:
		copy_fields(page, section);
		break;
	case PAGE_NOTE:
		copy_text(page, &section->note);
		break;
	case PAGE_ITEMS:
		copy_items(page, section);
		break;
	case PAGE_LINES:
		copy_lines(page, &section->lines);
		break;
	case PAGE_BARS:
		copy_bars(page, &section->bars);
		break;
	case PAGE_HEAT:
	case PAGE_MATRIX:
		copy_heat(page, &section->heat);
		break;
	default:
		break;
	}
	return 0;
}

int page_freeze(struct page *page, struct error *err)
{
	int code = 0;

	if (!page || page->failed)
		return err_nomem(err);
	page->kept = calloc(page->section_count + 1, sizeof(struct result *));
	if (!page->kept)
		return err_nomem(err);
	page->kept_count = page->section_count;
	for (size_t i = 0; code == 0 && i < page->section_count; i++)
		if (page_shows(&page->sections[i], PAGE_TEXT))
			code = freeze_section(page, i, err);
	return code == 0 && page->failed ? err_nomem(err) : code;
}

const struct page_section *page_section_at(const struct page *page, size_t *at)
{
	while (*at < page->section_count)
		if (page_shows(&page->sections[(*at)++], PAGE_TEXT))
			return &page->sections[*at - 1];
	return NULL;
}

const struct result *page_rows(const struct page *page, const struct page_section *section)
{
	return page->kept[section - page->sections];
}
