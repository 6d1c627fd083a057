/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/draw/page_draw.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "export/columns.h"
#include "export/page.h"
#include "tui/draw/text_page.h"

/* Columns of labels, indents and cells. */
enum { FIELD = 10, INDENT = 4, ITEM_INDENT = 10, CHECK_INDENT = 20, GAP = COLUMNS_GAP, HEAT_CELL = 11, BAR_MOST = 30 };

static const enum role roles[PAGE_STATES] = {
	[PAGE_PLAIN] = ROLE_TEXT, [PAGE_GOOD] = ROLE_GOOD, [PAGE_INFO] = ROLE_STRONG, [PAGE_WARNING] = ROLE_WARNING,
	[PAGE_CRITICAL] = ROLE_CRITICAL,
};

static const enum role style_roles[STYLE_COUNT] = {
	[STYLE_PLAIN] = ROLE_TEXT, [STYLE_DIM] = ROLE_FAINT, [STYLE_WARNING] = ROLE_WARNING,
	[STYLE_CRITICAL] = ROLE_CRITICAL, [STYLE_STRONG] = ROLE_STRONG,
};

static int wider(int widest, const char *chars)
{
	int columns = (int)text_columns(chars);

	return columns > widest ? columns : widest;
}

/* --- tables --- */

/* Where sections are drawn to. */
struct drawing {
	struct text_page *to;
	page_open *open;
	const void *ctx;
	bool unicode;
};

static struct subject subject_of(const struct drawing *drawing, uint64_t id, unsigned number)
{
	if (!id)
		return (struct subject){ 0 };
	if (drawing->open)
		return drawing->open(drawing->ctx, id, number);
	if (number > UINT8_MAX)
		return (struct subject){ 0 };
	return (struct subject){ .kind = number ? SUBJECT_PORT : SUBJECT_NODE, .node_guid = id,
				 .port = (uint8_t)number };
}

struct layout {
	const struct drawing *drawing;
	const struct result *rows;
	const struct column *columns;
	size_t count;
	struct column_fit *fits;
};

static void measure(struct layout *layout, int columns, struct text *cell)
{
	for (size_t i = 0; i < layout->count; i++) {
		struct column_fit *fit = &layout->fits[i];

		fit->hidden = result_is_hidden(layout->rows, i);
		if (fit->hidden)
			continue;
		fit->natural = (unsigned)wider(0, layout->columns[i].title);
		for (size_t row = 0; row < result_rows(layout->rows); row++) {
			result_cell(layout->rows, row, i, 0, cell, NULL);
			fit->natural = (unsigned)wider((int)fit->natural, text_chars(cell));
		}
	}
	columns_fit_table(layout->columns, layout->fits, layout->count, (unsigned)columns, NULL);
}

/* The first target of a row. */
static struct subject subject_of_row(const struct layout *layout, size_t row)
{
	unsigned number = 0;
	uint64_t id = 0;

	for (size_t i = 0; i < layout->count && !id; i++)
		id = result_target_of(layout->rows, row, i, &number);
	return subject_of(layout->drawing, id, number);
}

static void put_row(const struct layout *layout, size_t row, struct text_page *to, struct text *cell)
{
	const struct subject subject = subject_of_row(layout, row);
	enum cell_style style;
	int x = 0;

	page_line(to, &subject);
	for (size_t i = 0; i < layout->count; i++) {
		const struct column *column = &layout->columns[i];

		if (layout->fits[i].hidden)
			continue;
		result_cell(layout->rows, row, i, layout->fits[i].width, cell, &style);
		page_put(to, x, (int)layout->fits[i].width, column_is_right(column) ? ALIGN_RIGHT :
			 column->flags & COLUMN_KEEP_TAIL ? ALIGN_NAME : ALIGN_LEFT,
			 column->flags & COLUMN_LOAD ? role_of_load(result_number_of(layout->rows, row, i)) :
			 style_roles[style], text_chars(cell));
		x += (int)layout->fits[i].width + GAP;
	}
	for (size_t i = 0; i < layout->count; i++) {
		if (!layout->fits[i].below)
			continue;
		result_cell(layout->rows, row, i, 0, cell, &style);
		page_wrap(to, NULL, INDENT, style_roles[style], text_chars(cell));
	}
}

static void put_rows(const struct layout *layout, struct text_page *to, struct text *cell)
{
	int x = 0;

	page_line(to, NULL);
	for (size_t i = 0; i < layout->count; i++) {
		if (layout->fits[i].hidden)
			continue;
		page_put(to, x, (int)layout->fits[i].width,
			 column_is_right(&layout->columns[i]) ? ALIGN_RIGHT : ALIGN_LEFT, ROLE_HEAD,
			 layout->columns[i].title);
		x += (int)layout->fits[i].width + GAP;
	}
	for (size_t row = 0; row < result_rows(layout->rows); row++)
		put_row(layout, row, to, cell);
}

static void put_record(const struct layout *layout, struct text_page *to, struct text *cell)
{
	enum cell_style style;
	int indent = FIELD;

	for (size_t i = 0; i < layout->count; i++)
		if (!result_is_hidden(layout->rows, i))
			indent = wider(indent - GAP, layout->columns[i].title) + GAP;
	for (size_t i = 0; i < layout->count; i++) {
		struct subject subject;
		unsigned number;
		uint64_t id;

		if (result_is_hidden(layout->rows, i))
			continue;
		id = result_target_of(layout->rows, 0, i, &number);
		subject = subject_of(layout->drawing, id, number);
		result_cell(layout->rows, 0, i, 0, cell, &style);
		page_field(to, &subject, layout->columns[i].title, ROLE_FAINT, indent, style_roles[style],
			   text_chars(cell));
	}
}

static void put_lines_of(struct text_page *to, enum role role, const char *chars)
{
	for (size_t len; *chars; chars += len + (chars[len] == '\n')) {
		len = strcspn(chars, "\n");
		page_text(to, role, "%.*s", (int)len, chars);
	}
}

static void put_table(const struct page *from, const struct page_section *section, const struct drawing *drawing)
{
	struct text_page *to = drawing->to;
	struct layout layout = {
		.drawing = drawing,
		.rows = page_rows(from, section), .columns = section->table.columns, .count = section->table.count,
		.fits = calloc(section->table.count + 1, sizeof(*layout.fits)),
	};
	struct text cell = { 0 };

	if (!layout.fits) {
		to->failed = true;
	} else if (!result_rows(layout.rows)) {
		put_lines_of(to, ROLE_FAINT, result_none_text(layout.rows));
	} else if (section->kind == PAGE_RECORD) {
		put_record(&layout, to, &cell);
	} else {
		measure(&layout, to->columns, &cell);
		put_rows(&layout, to, &cell);
	}
	for (const char *note = result_notes(layout.rows); *note; note += strcspn(note, "\n") + 1) {
		text_clear(&cell);
		text_append_bytes(&cell, note, strcspn(note, "\n"));
		page_wrap(to, NULL, 0, ROLE_FAINT, text_chars(&cell));
	}
	to->failed |= text_failed(&cell);
	text_done(&cell);
	free(layout.fits);
}

/* --- text --- */

static void put_verdict(const struct page_section *section, struct text_page *to)
{
	const struct page_verdict *verdict = &section->verdict;
	struct text text = { 0 };

	if (verdict->subject)
		text_appendf(&text, "%s: ", verdict->subject);
	text_append(&text, verdict->sentence);
	page_wrap(to, NULL, 0, roles[section->state], text_chars(&text));
	for (size_t i = 0; i < verdict->sign_count; i++)
		page_field(to, NULL, "  -", roles[verdict->signs[i].state], INDENT, roles[verdict->signs[i].state],
			   verdict->signs[i].text);
	to->failed |= text_failed(&text);
	text_done(&text);
}

static void put_sign(const struct page_sign *sign, struct text_page *to)
{
	char label[CHECK_INDENT + 1];

	if (!sign->word) {
		page_field(to, NULL, "-", roles[sign->state], 2, roles[sign->state], sign->text);
		return;
	}
	snprintf(label, sizeof(label), "%s  %s", sign->word, sign->name);
	page_field(to, NULL, label, roles[sign->state], CHECK_INDENT, ROLE_TEXT, sign->text);
	if (sign->action)
		page_field(to, NULL, "", ROLE_TEXT, CHECK_INDENT, ROLE_FAINT, sign->action);
}

static void put_fields(const struct page_section *section, const struct drawing *drawing)
{
	struct text_page *to = drawing->to;
	int indent = FIELD - 1;

	for (size_t i = 0; i < section->fields.count; i++)
		indent = wider(indent, section->fields.list[i].name);
	for (size_t i = 0; i < section->fields.count; i++) {
		const struct page_field *field = &section->fields.list[i];
		const struct subject subject = subject_of(drawing, field->id, field->number);
		struct text text = { 0 };

		text_append(&text, field->value);
		if (field->note && *field->note)
			text_appendf(&text, "%s%s", text.len ? "; " : "", field->note);
		page_field(to, &subject, field->name, ROLE_FAINT, indent + 1, roles[field->state], text_chars(&text));
		to->failed |= text_failed(&text);
		text_done(&text);
	}
}

static void put_items(const struct page_section *section, const struct drawing *drawing)
{
	struct text_page *to = drawing->to;

	for (size_t i = 0; i < section->items.count; i++) {
		const struct page_item *item = &section->items.list[i];
		const struct subject subject = subject_of(drawing, item->id, item->number);
		int x;

		page_line(to, &subject);
		page_put(to, 0, ITEM_INDENT - 1, ALIGN_LEFT, style_roles[item->style], item->word);
		x = page_putf(to, ITEM_INDENT, ROLE_STRONG, "%s", item->name);
		page_putf(to, x + GAP, ROLE_TEXT, "%s", item->about);
		for (size_t line = 0; line < PAGE_ITEM_LINES; line++)
			page_wrap(to, NULL, ITEM_INDENT, item->lines[line].soft ? ROLE_FAINT : ROLE_TEXT,
				  item->lines[line].chars);
	}
	if (!section->items.count && section->items.none)
		page_text(to, ROLE_FAINT, "%s", section->items.none);
}

/* --- figures --- */

static void put_plots(const struct page_lines *lines, struct text_page *to, bool unicode)
{
	struct text text = { 0 };

	for (size_t i = 0; i < lines->series_count; i++) {
		page_text(to, ROLE_HEAD, "%s%s%s", lines->title ? lines->title : "", lines->title ? ": " : "",
			  lines->series[i].name);
		text_clear(&text);
		to->failed |= page_plot(lines, i, (unsigned)to->columns, !unicode, &text) < 0;
		put_lines_of(to, ROLE_TEXT, text_chars(&text));
	}
	text_done(&text);
}

static void put_bars(const struct page_bars *bars, struct text_page *to)
{
	char value[PAGE_VALUE_SIZE], bar[BAR_MOST + 1];
	double high = 0;
	int widest = 0;

	page_text(to, ROLE_HEAD, "%s", bars->title);
	for (size_t i = 0; i < bars->count; i++) {
		high = fmax(high, bars->bars[i].value);
		widest = wider(widest, bars->bars[i].name);
	}
	for (size_t i = 0; i < bars->count; i++) {
		const struct page_bar *from = &bars->bars[i];
		size_t len = high > 0 && from->value > 0 ? (size_t)(from->value / high * BAR_MOST + 0.5) : 0;

		memset(bar, '#', len);
		bar[len] = '\0';
		page_line(to, NULL);
		page_put(to, 0, widest, ALIGN_LEFT, ROLE_TEXT, from->name);
		page_put(to, widest + GAP, HEAT_CELL, ALIGN_RIGHT, roles[from->state], isnan(from->value) ? "unknown" :
			 bars->format(from->value, value, sizeof(value)));
		page_put(to, widest + HEAT_CELL + 2 * GAP, -1, ALIGN_LEFT, ROLE_TEXT, bar);
	}
}

/* Numbers whose colour is their share of the highest one. */
static void put_heat(const struct page_heat *heat, bool percent, struct text_page *to)
{
	char value[PAGE_VALUE_SIZE];
	double top = percent ? 100 : heat->top;
	int widest = 0;

	page_text(to, ROLE_HEAD, "%s", heat->title);
	for (size_t i = 0; i < heat->rows; i++)
		widest = wider(widest, heat->row_names[i]);
	for (size_t i = 0; !(top > 0) && i < heat->rows * heat->columns; i++)
		top = fmax(top, heat->values[i]);
	page_line(to, NULL);
	for (size_t i = 0; i < heat->columns; i++)
		page_put(to, widest + GAP + (int)i * (HEAT_CELL + 1), HEAT_CELL, ALIGN_RIGHT, ROLE_HEAD,
			 heat->column_names[i]);
	for (size_t row = 0; row < heat->rows; row++) {
		page_line(to, NULL);
		page_put(to, 0, widest, ALIGN_LEFT, ROLE_TEXT, heat->row_names[row]);
		for (size_t i = 0; i < heat->columns; i++) {
			double number = heat->values[row * heat->columns + i];

			snprintf(value, sizeof(value), "%.0f", number);
			if (!percent && !isnan(number))
				heat->format(number, value, sizeof(value));
			page_put(to, widest + GAP + (int)i * (HEAT_CELL + 1), HEAT_CELL, ALIGN_RIGHT,
				 role_of_load(100 * number / top), isnan(number) ? "." : value);
		}
	}
}

/* --- the page --- */

static void put_title(const struct page_section *section, struct text_page *to)
{
	char title[256];

	snprintf(title, sizeof(title), "%s", section->title);
	for (char *c = title; *c; c++)
		*c = (char)toupper((unsigned char)*c);
	page_heading(to, "%s%s%s%s", title, section->about ? " (" : "", section->about ? section->about : "",
		     section->about ? ")" : "");
}

static void put_section(const struct page *from, const struct page_section *section, const struct drawing *drawing)
{
	struct text_page *to = drawing->to;

	switch (section->kind) {
	case PAGE_VERDICT:
		put_verdict(section, to);
		break;
	case PAGE_FIELDS:
		put_fields(section, drawing);
		break;
	case PAGE_TABLE:
	case PAGE_RECORD:
		put_table(from, section, drawing);
		break;
	case PAGE_NOTE:
		page_wrap(to, NULL, (int)section->indent, section->soft ? ROLE_FAINT : roles[section->state],
			  section->note);
		break;
	case PAGE_SIGNS:
		for (size_t i = 0; i < section->signs.count; i++)
			put_sign(&section->signs.list[i], to);
		break;
	case PAGE_ITEMS:
		put_items(section, drawing);
		break;
	case PAGE_LINES:
		put_plots(&section->lines, to, drawing->unicode);
		break;
	case PAGE_BARS:
		put_bars(&section->bars, to);
		break;
	case PAGE_HEAT:
	case PAGE_MATRIX:
		put_heat(&section->heat, section->kind == PAGE_MATRIX, to);
		break;
	default:
		break;
	}
}

void page_append(const struct page *from, struct text_page *to, bool unicode, page_open *open, const void *ctx)
{
	const struct drawing drawing = { to, open, ctx, unicode };
	const struct page_section *section;
	enum page_kind last = PAGE_CLOSE;

	for (size_t at = 0; (section = page_section_at(from, &at)); last = section->kind) {
		bool joined = last == PAGE_NOTE && (section->kind == PAGE_NOTE || section->kind == PAGE_ITEMS);

		joined |= section->kind == PAGE_FIELDS && last != PAGE_CLOSE;
		joined |= section->kind == PAGE_NOTE && last == PAGE_TABLE;
		joined = section->space == SPACE_BY_KIND ? joined : section->space == SPACE_NONE;
		if (section->title)
			put_title(section, to);
		else if (to->line_count && !joined)
			page_line(to, NULL);
		put_section(from, section, &drawing);
	}
}

void page_lay_out(const struct page *from, struct text_page *to, int columns, bool unicode)
{
	page_begin(to, columns);
	page_append(from, to, unicode, NULL, NULL);
}
