/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* page_text.c - a page as text: one blank line between its sections, titles in capitals */
#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/metric.h"
#include "analysis/series.h"
#include "base/err.h"
#include "base/plot.h"
#include "base/text.h"
#include "base/when.h"
#include "export/page_work.h"

enum { FIELD = 10, ITEM_INDENT = 10, CHECK_INDENT = 20, BAR_MOST = 40 };

/* Lines of a plot, and those of one of many. */
enum { PLOT_HEIGHT = 8, PLOT_LOW = 5, PLOTS_HIGH = 2 };

struct printing {
	const struct page *page;
	FILE *stream;
	const struct page_options *options;
	unsigned width;     /* of wrapped text */
	unsigned line_width; /* of lines that are whole without a terminal */
	struct text text;   /* what is not yet written */
	bool begun;
	enum page_kind last;
};

static const char *const colors[PAGE_STATES] = {
	[PAGE_PLAIN] = "", [PAGE_GOOD] = "\033[1;32m", [PAGE_INFO] = "\033[1;32m", [PAGE_WARNING] = "\033[1;33m",
	[PAGE_CRITICAL] = "\033[1;31m",
};

static const char *const style_colors[STYLE_COUNT] = {
	[STYLE_PLAIN] = "", [STYLE_DIM] = "\033[2m", [STYLE_WARNING] = "\033[33m", [STYLE_CRITICAL] = "\033[1;31m",
	[STYLE_STRONG] = "\033[1m",
};

static void color_on(struct printing *printing, const char *color)
{
	if (printing->options->color)
		text_append(&printing->text, color);
}

static void color_off(struct printing *printing, const char *color)
{
	if (printing->options->color && *color)
		text_append(&printing->text, "\033[0m");
}

/* Append text that may be of the fabric, without its end of line. */
static void append_safe(struct printing *printing, const char *chars)
{
	text_append_escaped(&printing->text, chars, strlen(chars));
}

/* --- text --- */

/* Append what was formatted as a line, and release it. */
static void append_line(struct printing *printing, struct text *line, unsigned indent)
{
	text_append_wrapped(&printing->text, text_chars(line), 0, indent, printing->line_width);
	printing->text.failed |= text_failed(line);
	text_done(line);
}

static void append_title(struct printing *printing, const struct page_section *section)
{
	struct text line = { 0 };

	text_append(&line, section->title);
	for (size_t i = 0; i < line.len; i++)
		line.chars[i] = (char)toupper((unsigned char)line.chars[i]);
	if (section->about)
		text_appendf(&line, " (%s)", section->about);
	append_line(printing, &line, 4);
}

static void append_verdict(struct printing *printing, const struct page_section *section)
{
	const struct page_verdict *verdict = &section->verdict;
	size_t most = verdict->text_most ? verdict->text_most - 1 : verdict->sign_count;
	unsigned column = verdict->subject ? (unsigned)text_columns(verdict->subject) + 2 : 0;
	struct text sentence = { 0 };

	/* Not behind the escape sequence, which would count as a word. */
	text_append_wrapped(&sentence, verdict->sentence, column, 4, printing->width);
	color_on(printing, colors[section->state]);
	if (verdict->subject) {
		append_safe(printing, verdict->subject);
		text_append(&printing->text, ": ");
	}
	text_append(&printing->text, text_chars(&sentence));
	printing->text.failed |= text_failed(&sentence);
	text_done(&sentence);
	color_off(printing, colors[section->state]);
	for (size_t i = 0; i < verdict->sign_count && i < most; i++) {
		color_on(printing, colors[verdict->signs[i].state]);
		text_append(&printing->text, "  - ");
		text_append_wrapped(&printing->text, verdict->signs[i].text, 4, 4, printing->width);
		color_off(printing, colors[verdict->signs[i].state]);
	}
	if (verdict->sign_count > most)
		text_appendf(&printing->text, "  - and %zu more: --all\n", verdict->sign_count - most);
}

static void append_fields(struct printing *printing, const struct page_section *section)
{
	for (size_t i = 0; i < section->fields.count; i++) {
		const struct page_field *field = &section->fields.list[i];
		struct text line = { 0 };

		text_append(&line, field->value);
		if (field->note && *field->note)
			text_appendf(&line, "%s%s", line.len ? "; " : "", field->note);
		text_appendf(&printing->text, "%-*s", FIELD, field->name);
		text_append_wrapped(&printing->text, text_chars(&line), FIELD, FIELD, printing->width);
		printing->text.failed |= text_failed(&line);
		text_done(&line);
	}
}

static void append_note(struct printing *printing, const struct page_section *section)
{
	struct text note = { 0 };

	/* Not behind the escape sequence, which would count as a word. */
	text_append_wrapped(&note, section->note, section->indent, section->indent, printing->line_width);
	text_appendf(&printing->text, "%*s", (int)section->indent, "");
	color_on(printing, colors[section->state]);
	text_append(&printing->text, text_chars(&note));
	color_off(printing, colors[section->state]);
	printing->text.failed |= text_failed(&note);
	text_done(&note);
}

/* "pass  name          text", and what to do below it. */
static void append_check(struct printing *printing, const struct page_sign *sign)
{
	struct text *text = &printing->text;
	const char *color = sign->state == PAGE_PLAIN ? style_colors[STYLE_DIM] : colors[sign->state];

	color_on(printing, color);
	text_append(text, sign->word);
	color_off(printing, color);
	text_appendf(text, "  %-12s  ", sign->name);
	text_append_wrapped(text, sign->text, CHECK_INDENT, CHECK_INDENT, printing->width);
	if (!sign->action)
		return;
	text_appendf(text, "%*sfix: ", CHECK_INDENT, "");
	text_append_wrapped(text, sign->action, CHECK_INDENT + 5, CHECK_INDENT + 5, printing->width);
}

static void append_signs(struct printing *printing, const struct page_section *section)
{
	for (size_t i = 0; i < section->signs.count; i++) {
		const struct page_sign *sign = &section->signs.list[i];

		if (sign->word) {
			append_check(printing, sign);
			continue;
		}
		color_on(printing, colors[sign->state]);
		text_append(&printing->text, "- ");
		text_append_wrapped(&printing->text, sign->text, 2, 2, printing->width);
		color_off(printing, colors[sign->state]);
	}
}

static void append_items(struct printing *printing, const struct page_section *section)
{
	struct text *text = &printing->text;

	for (size_t i = 0; i < section->items.count; i++) {
		const struct page_item *item = &section->items.list[i];
		const char *color = style_colors[item->style];
		struct text line = { 0 };

		color_on(printing, color);
		text_appendf(text, "%-*s", ITEM_INDENT - 1, item->word);
		/* Without colour of the item, a terminal gets the same bytes. */
		if (printing->options->color)
			text_append(text, "\033[0m");
		text_append(text, " ");
		text_appendf(&line, "%s  %s", item->name, item->about);
		text_append_wrapped(text, text_chars(&line), ITEM_INDENT, ITEM_INDENT, printing->line_width);
		text->failed |= text_failed(&line);
		text_done(&line);
		for (size_t k = 0; k < PAGE_ITEM_LINES; k++) {
			const char *chars = item->lines[k].chars;
			unsigned indent = ITEM_INDENT + (chars && (chars[0] == '>' || chars[0] == '+') ? 2 : 0);

			if (!chars || !*chars)
				continue;
			text_appendf(text, "%*s%.*s", ITEM_INDENT, "", (int)(indent - ITEM_INDENT), chars);
			text_append_wrapped(text, chars + (indent - ITEM_INDENT), indent, indent, printing->width);
		}
	}
	if (!section->items.count && section->items.none)
		text_append_wrapped(text, section->items.none, 0, 0, printing->line_width);
}

/* --- figures --- */

static struct series series_at(const struct page_lines *lines, size_t at)
{
	return (struct series){ .metric = *lines->metric, .steps = (struct series_step *)lines->series[at].steps,
				.count = lines->series[at].count };
}

int page_plot(const struct page_lines *lines, size_t at, unsigned width, bool ascii, struct text *ret)
{
	const struct series series = series_at(lines, at);
	struct plot plot = {
		.from_us = lines->from_us, .until_us = lines->until_us, .width = width, .ascii = ascii,
		.height = lines->height ? lines->height : lines->series_count > PLOTS_HIGH ? PLOT_LOW : PLOT_HEIGHT,
	};

	for (size_t i = 0; i < lines->series_count; i++) {
		const struct series other = series_at(lines, i);

		plot.reach = fmax(plot.reach, series_high(&other));
	}
	return series_plot(&series, plot, ret);
}

static void append_lines(struct printing *printing, const struct page_lines *lines)
{
	const struct page_options *options = printing->options;

	for (size_t i = 0; i < lines->series_count; i++) {
		struct text line = { 0 };

		if (lines->title) {
			text_appendf(&line, "%s: %s", lines->title, lines->series[i].name);
			append_line(printing, &line, 4);
		}
		if (page_plot(lines, i, options->width ? options->width : printing->width, options->ascii,
			      &printing->text) < 0)
			printing->text.failed = true;
	}
	for (size_t i = 0; i < lines->mark_count; i++) {
		struct text line = { 0 };
		char at[WHEN_SIZE];

		text_appendf(&line, "%s  %s: %s", when_format_local(lines->marks[i].wall_us, at), lines->marks[i].name,
			     lines->marks[i].text);
		append_line(printing, &line, 4);
	}
}

static int end_table(struct result *result, struct error *err)
{
	int code = result_finish(result, err);

	result_destroy(result);
	return code;
}

static struct result *begin_table(const struct printing *printing, const struct column *columns, size_t count)
{
	const struct result_options output = { .format = RESULT_TABLE, .color = printing->options->color,
					       .width = printing->options->width };

	return result_create(printing->stream, &output, columns, count);
}

static int write_bars(struct printing *printing, const struct page_bars *bars, struct error *err)
{
	enum { NAME, VALUE, BAR, COLUMNS };
	static const struct column columns[COLUMNS] = {
		[NAME] = { .title = "", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL },
		[VALUE] = { .title = "", .kind = COLUMN_REAL }, [BAR] = { .title = "", .kind = COLUMN_TEXT },
	};
	struct result *result = begin_table(printing, columns, COLUMNS);
	double high = isnan(bars->mean) ? 0 : bars->mean;
	char value[PAGE_VALUE_SIZE], bar[BAR_MOST + 1];

	for (size_t i = 0; i < bars->count; i++)
		high = fmax(high, bars->bars[i].value);
	for (size_t i = 0; i < bars->count; i++) {
		double share = high > 0 ? bars->bars[i].value / high : 0;
		size_t len = isnan(share) ? 0 : (size_t)(share * BAR_MOST + 0.5);

		memset(bar, '#', len);
		bar[len] = '\0';
		result_text(result, NAME, bars->bars[i].name);
		result_real(result, VALUE, bars->bars[i].value);
		result_show(result, VALUE, isnan(bars->bars[i].value) ? "unknown" :
			    bars->format(bars->bars[i].value, value, sizeof(value)),
			    bars->bars[i].state == PAGE_CRITICAL ? STYLE_CRITICAL :
			    bars->bars[i].state == PAGE_WARNING ? STYLE_WARNING : STYLE_PLAIN);
		result_text(result, BAR, bar);
		result_end_row(result);
	}
	return end_table(result, err);
}

static const char *format_share(double value, char *ret, size_t size)
{
	snprintf(ret, size, "%.0f", value);
	return ret;
}

/* A table of numbers; a cell without a value is a dot. */
static int write_heat(struct printing *printing, const struct page_heat *heat, bool matrix, struct error *err)
{
	struct column *columns = calloc(heat->columns + 1, sizeof(*columns));
	page_format *format = matrix ? format_share : heat->format;
	struct result *result;
	char value[PAGE_VALUE_SIZE];
	int code;

	if (!columns)
		return err_nomem(err);
	columns[0] = (struct column){ .title = "", .kind = COLUMN_TEXT };
	for (size_t i = 0; i < heat->columns; i++)
		columns[i + 1] = (struct column){ .title = heat->column_names[i], .kind = COLUMN_REAL };
	result = begin_table(printing, columns, heat->columns + 1);
	for (size_t row = 0; row < heat->rows; row++) {
		result_text(result, 0, heat->row_names[row]);
		for (size_t i = 0; i < heat->columns; i++) {
			double number = heat->values[row * heat->columns + i];

			result_show(result, i + 1, isnan(number) ? "\u00b7" : format(number, value, sizeof(value)),
				    STYLE_PLAIN);
		}
		result_end_row(result);
	}
	code = end_table(result, err);
	free(columns);
	return code;
}

/* --- the page --- */

static int flush_text(struct printing *printing, struct error *err)
{
	if (text_failed(&printing->text))
		return err_nomem(err);
	fputs(text_chars(&printing->text), printing->stream);
	text_clear(&printing->text);
	return 0;
}

static int write_section(struct printing *printing, const struct page_section *section, struct error *err)
{
	/* More of the same, and the list below notes, follow without a blank line. */
	bool joined = (printing->last == PAGE_NOTE && section->kind == PAGE_ITEMS) ||
		      (printing->last == section->kind && (section->kind == PAGE_NOTE || section->kind == PAGE_FIELDS));
	int code;

	if (printing->begun && (section->space == SPACE_LINE || (section->space == SPACE_BY_KIND && !joined)))
		text_append(&printing->text, "\n");
	printing->begun = true;
	printing->last = section->kind;
	if (section->title)
		append_title(printing, section);
	switch (section->kind) {
	case PAGE_VERDICT:
		append_verdict(printing, section);
		break;
	case PAGE_FIELDS:
		append_fields(printing, section);
		break;
	case PAGE_NOTE:
		append_note(printing, section);
		break;
	case PAGE_SIGNS:
		append_signs(printing, section);
		break;
	case PAGE_ITEMS:
		append_items(printing, section);
		break;
	case PAGE_LINES:
		append_lines(printing, &section->lines);
		break;
	case PAGE_BARS:
	case PAGE_HEAT:
	case PAGE_MATRIX:
		text_append_wrapped(&printing->text, section->kind == PAGE_BARS ? section->bars.title :
				    section->heat.title, 0, 4, printing->line_width);
		break;
	default:
		break;
	}
	code = flush_text(printing, err);
	if (code < 0)
		return code;
	if (section->kind == PAGE_TABLE || section->kind == PAGE_RECORD)
		return page_write_table(printing->page, section, printing->stream, printing->options, err);
	if (section->kind == PAGE_BARS)
		return write_bars(printing, &section->bars, err);
	if (section->kind == PAGE_HEAT || section->kind == PAGE_MATRIX)
		return write_heat(printing, &section->heat, section->kind == PAGE_MATRIX, err);
	return 0;
}

int page_render_text(const struct page *page, FILE *stream, const struct page_options *options, struct error *err)
{
	struct printing printing = {
		.page = page, .stream = stream, .options = options,
		.width = text_wrap_width(options->width),
		.line_width = options->width ? text_wrap_width(options->width) : UINT_MAX,
	};
	int code = 0;

	for (size_t i = 0; code == 0 && i < page->section_count && !ferror(stream); i++)
		if (page_shows(&page->sections[i], PAGE_TEXT))
			code = write_section(&printing, &page->sections[i], err);
	text_done(&printing.text);
	return code;
}
