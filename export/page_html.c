/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* page_html.c - a page as a document of HTML */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "export/format.h"
#include "export/html.h"
#include "export/page_work.h"

/* Depth of groups within groups; columns of a table that fits on a phone. */
enum { DEPTH_MOST = 8, NARROW_COLUMNS = 4 };

struct printing {
	struct text *text;
	const char *link_prefix; /* NULL: names are no links */
	enum page_kind open[DEPTH_MOST];
	size_t depth;
};

/* --- groups --- */

static void open_group(struct printing *printing, const struct page_section *section)
{
	struct text *text = printing->text;

	if (printing->depth < DEPTH_MOST)
		printing->open[printing->depth] = section->kind;
	printing->depth++;
	if (section->kind > PAGE_CARD && section->kind != PAGE_FOLD && section->title)
		html_element(text, "h3", NULL, "%s", section->title);
	if (section->kind == PAGE_CARD)
		html_card_begin(text, section->title);
	else if (section->kind == PAGE_PAIR || section->kind == PAGE_ROW)
		text_append(text, section->kind == PAGE_PAIR ? "<div class=\"pair\">\n" : "<div class=\"row\">\n");
	else if (section->kind == PAGE_PART)
		text_append(text, "<div>");
	else
		text_append(text, "<details>");
	if (section->kind == PAGE_FOLD)
		html_element(text, "summary", NULL, "%s", section->title);
}

static void close_group(struct printing *printing)
{
	enum page_kind kind = PAGE_CARD;

	if (!printing->depth)
		return;
	printing->depth--;
	if (printing->depth < DEPTH_MOST)
		kind = printing->open[printing->depth];
	text_append(printing->text, kind == PAGE_CARD ? "</section>\n" : kind == PAGE_FOLD ? "</details>\n" :
		    kind == PAGE_PAIR || kind == PAGE_ROW ? "</div>\n" : "</div>");
}

/* --- sections --- */

static void append_note(struct text *text, enum page_state state, bool soft, const char *chars)
{
	bool sign = state >= PAGE_WARNING;

	html_element(text, "p", soft ? "soft" : state ? html_state_class(state) : NULL, "%s%s%s",
		     sign ? html_state_sign(state) : "", sign ? " " : "", chars);
}

static void append_verdict(struct text *text, const struct page_section *section)
{
	const struct page_verdict *verdict = &section->verdict;

	text_append(text, "<h1>");
	html_escape(text, verdict->heading);
	if (verdict->detail)
		html_element(text, "span", "soft", " \u00b7 %s", verdict->detail);
	text_append(text, "</h1>\n");
	html_element(text, "p", "word", "%s %s", html_state_sign(section->state),
		     verdict->word ? verdict->word : html_state_word(section->state));
	html_element(text, "p", "sentence", "%s", verdict->sentence);
	if (verdict->note)
		append_note(text, verdict->note_state, false, verdict->note);
	if (!verdict->sign_count)
		return;
	text_append(text, "<ul class=\"signs\">\n");
	for (size_t i = 0; i < verdict->sign_count; i++)
		html_sign_item(text, verdict->signs[i].state, verdict->signs[i].text);
	text_append(text, "</ul>\n");
}

static void append_fields(struct text *text, const struct page_section *section)
{
	text_append(text, "<dl class=\"tiles\">\n");
	for (size_t i = 0; i < section->fields.count; i++) {
		const struct page_field *field = &section->fields.list[i];

		text_append(text, "<div>");
		html_element(text, "dt", NULL, "%c%s", toupper((unsigned char)field->name[0]), field->name + 1);
		text_append(text, "<dd>");
		html_escape(text, field->value);
		if (field->note && *field->note)
			html_element(text, "small", NULL, "%s", field->note);
		text_append(text, "</dd></div>\n");
	}
	text_append(text, "</dl>\n");
}

static void append_signs(struct text *text, const struct page_section *section)
{
	bool plain = true;

	for (size_t i = 0; i < section->signs.count; i++)
		plain &= section->signs.list[i].state == PAGE_PLAIN;
	if (!section->signs.count)
		return;
	text_append(text, plain ? "<ul>\n" : "<ul class=\"signs\">\n");
	for (size_t i = 0; i < section->signs.count; i++) {
		const struct page_sign *sign = &section->signs.list[i];
		struct text line = { 0 };

		if (sign->word)
			text_appendf(&line, "%s: ", sign->name);
		text_append(&line, sign->text);
		if (sign->word && sign->action)
			text_appendf(&line, "; fix: %s", sign->action);
		if (plain)
			html_element(text, "li", NULL, "%s", text_chars(&line));
		else
			html_sign_item(text, sign->state, text_chars(&line));
		text->failed |= text_failed(&line);
		text_done(&line);
	}
	text_append(text, "</ul>\n");
}

static enum page_state state_of(enum cell_style style, enum page_state otherwise)
{
	return style == STYLE_CRITICAL ? PAGE_CRITICAL : style == STYLE_WARNING ? PAGE_WARNING : otherwise;
}

static void append_item(struct text *text, const struct page_item *item)
{
	enum page_state state = state_of(item->style, PAGE_INFO);

	if (item->anchor)
		text_appendf(text, "<li id=\"%s\">", item->anchor);
	else
		text_append(text, "<li>");
	text_appendf(text, "<p><strong class=\"%s\">%s ", html_state_class(state), html_state_sign(state));
	html_element(text, "span", NULL, "%s", item->word);
	text_append(text, "</strong> ");
	html_element(text, "strong", NULL, "%s", item->name);
	html_element(text, "span", NULL, "%s", item->about);
	text_append(text, "</p>\n");
	for (size_t i = 0; i < PAGE_ITEM_LINES; i++)
		if (item->lines[i].chars && *item->lines[i].chars)
			html_element(text, "p", item->lines[i].soft ? "soft" : NULL, "%s", item->lines[i].chars);
	if (item->folded) {
		text_append(text, "<details>");
		html_element(text, "summary", NULL, "%s", item->folded_title);
		html_element(text, "p", NULL, "%s", item->folded);
		text_append(text, "</details>\n");
	}
	if (item->command) {
		text_append(text, "<p class=\"soft\">");
		if (item->link.href) {
			text_append(text, "<a href=\"");
			html_escape(text, item->link.href);
			text_append(text, "\">");
			html_escape(text, item->link.text);
			text_append(text, "</a> ");
		}
		html_element(text, "code", NULL, "%s", item->command);
		text_append(text, "</p>\n");
	}
	text_append(text, "</li>\n");
}

static void append_items(struct text *text, const struct page_section *section)
{
	size_t count = section->items.count, end = text->len + section->items.html_most, shown = 0;

	if (count)
		text_append(text, "<ul class=\"signs findings\">\n");
	for (; shown < count && (!shown || !section->items.html_most || text->len <= end); shown++)
		append_item(text, &section->items.list[shown]);
	if (count)
		text_append(text, "</ul>\n");
	else if (section->items.none)
		html_element(text, "p", NULL, "%s", section->items.none);
	if (shown < count)
		html_element(text, "p", NULL, "and %zu more: %s", count - shown, section->items.more);
}

static void append_links(struct text *text, const struct page_section *section)
{
	text_append(text, "<p>");
	if (section->about)
		html_escapef(text, "%s: ", section->about);
	for (size_t i = 0; i < section->links.count; i++) {
		text_append(text, i ? " <a href=\"" : "<a href=\"");
		html_escape(text, section->links.list[i].href);
		text_append(text, "\">");
		html_escape(text, section->links.list[i].text);
		text_append(text, "</a>");
	}
	text_append(text, "</p>\n");
}

static void append_form(struct text *text, const struct page_form *form)
{
	text_appendf(text, "<form action=\"%s\" method=\"get\"><label>", form->action);
	html_escapef(text, "%s ", form->label);
	text_appendf(text, "<input name=\"%s\" required=\"\"/></label> <button>", form->name);
	html_escape(text, form->button);
	text_append(text, "</button></form>\n");
}

/* --- tables --- */

static void append_cell(const struct printing *printing, const struct result *kept, size_t row, size_t column,
			struct text *cell)
{
	const struct html_column shape = { NULL, column_is_right(&kept->columns[column]) };
	struct text *text = printing->text;
	unsigned number = 0;
	uint64_t id = printing->link_prefix ? result_target_of(kept, row, column, &number) : 0;
	enum cell_style style;

	result_cell(kept, row, column, 0, cell, &style);
	html_cell_begin(text, &shape, cell->len ? state_of(style, PAGE_PLAIN) : PAGE_PLAIN);
	if (id)
		html_link_begin(text, printing->link_prefix, id, number);
	html_escape(text, text_chars(cell));
	text_append(text, id ? "</a></td>" : "</td>");
	text->failed |= text_failed(cell);
}

/* One line per column; a title that begins with blanks belongs to the one above it. */
static void append_record(struct text *text, const struct result *kept, struct text *cell)
{
	static const struct html_column plain = { NULL, false };

	text_append(text, "<table>\n<tbody>");
	for (size_t i = 0; result_rows(kept) && i < kept->column_count; i++) {
		const struct column *column = &kept->columns[i];
		enum cell_style style;

		if (!column_is_in_html(column) || !result_has_line(kept, 0, i))
			continue;
		html_row(text);
		html_cell_begin(text, &plain, PAGE_PLAIN);
		html_escapef(text, "%s%s", column->title[0] == ' ' ? "\u2003" : "",
			     column->title + strspn(column->title, " "));
		text_append(text, "</td>");
		result_cell(kept, 0, i, 0, cell, &style);
		html_cell_begin(text, &plain, state_of(style, PAGE_PLAIN));
		html_escape(text, text_chars(cell));
		text_append(text, "</td>");
		html_row_end(text);
	}
	html_table_end(text);
}

static void append_rows(const struct printing *printing, const struct result *kept, struct text *cell)
{
	struct text *text = printing->text;
	struct html_column *heads = calloc(kept->column_count + 1, sizeof(*heads));
	size_t count = 0;

	if (!heads) {
		text->failed = true;
		return;
	}
	for (size_t i = 0; i < kept->column_count; i++)
		if (column_is_in_html(&kept->columns[i]))
			heads[count++] = (struct html_column){ kept->columns[i].title,
							       column_is_right(&kept->columns[i]) };
	text_append(text, count > NARROW_COLUMNS ? "<div class=\"wide\">\n" : "");
	html_table_begin(text, heads, count);
	for (size_t row = 0; row < result_rows(kept); row++) {
		html_row(text);
		for (size_t i = 0; i < kept->column_count; i++)
			if (column_is_in_html(&kept->columns[i]))
				append_cell(printing, kept, row, i, cell);
		html_row_end(text);
	}
	html_table_end(text);
	text_append(text, count > NARROW_COLUMNS ? "</div>\n" : "");
	free(heads);
}

/* Lines of a result below or instead of its table. */
static void append_notes(struct text *text, const struct text *notes, const char *class)
{
	const char *at = text_chars(notes);

	for (size_t len; *at; at += len + 1) {
		len = strcspn(at, "\n");
		html_element(text, "p", class, "%.*s", (int)len, at);
	}
}

static int append_table(const struct printing *printing, const struct page_section *section, struct error *err)
{
	struct text *text = printing->text;
	const struct result_options options = { .format = RESULT_KEEP, .rendering = PAGE_HTML };
	struct result *kept = result_create(NULL, &options, section->table.columns, section->table.count);
	struct text cell = { 0 };
	int code;

	if (kept)
		section->table.fill(kept, section->table.ctx);
	code = result_finish(kept, err);
	if (code == 0 && !result_rows(kept) && kept->none.len)
		append_notes(text, &kept->none, NULL);
	else if (code == 0 && section->kind == PAGE_RECORD)
		append_record(text, kept, &cell);
	else if (code == 0)
		append_rows(printing, kept, &cell);
	if (code == 0)
		append_notes(text, &kept->notes, "soft");
	text_done(&cell);
	result_destroy(kept);
	return code;
}

/* --- the page --- */

static bool has_own_card(enum page_kind kind)
{
	return kind > PAGE_CLOSE;
}

static int append_section(struct printing *printing, const struct page_section *section, struct error *err)
{
	bool own = !printing->depth && has_own_card(section->kind);
	struct text *text = printing->text;
	int code = 0;

	if (section->kind < PAGE_CLOSE) {
		open_group(printing, section);
		return 0;
	}
	if (section->kind == PAGE_CLOSE) {
		close_group(printing);
		return 0;
	}
	if (own && section->kind == PAGE_VERDICT)
		text_appendf(text, "<section class=\"card verdict %s\">\n", html_state_class(section->state));
	else if (own)
		text_appendf(text, "<section class=\"card%s\">\n", section->new_sheet ? " sheet" : "");
	if (section->title && section->kind < PAGE_LINES)
		html_element(text, own ? "h2" : "h3", NULL, "%s%s%s%s", section->title, section->about ? " (" : "",
			     section->about ? section->about : "", section->about ? ")" : "");
	switch (section->kind) {
	case PAGE_VERDICT:
		append_verdict(text, section);
		break;
	case PAGE_FIELDS:
		append_fields(text, section);
		break;
	case PAGE_TABLE:
	case PAGE_RECORD:
		code = append_table(printing, section, err);
		break;
	case PAGE_NOTE:
		append_note(text, section->state, section->soft, section->note);
		break;
	case PAGE_SIGNS:
		append_signs(text, section);
		break;
	case PAGE_ITEMS:
		append_items(text, section);
		break;
	case PAGE_LINKS:
		append_links(text, section);
		break;
	case PAGE_FORM:
		append_form(text, &section->form);
		break;
	case PAGE_LINES:
		html_lines(text, &section->lines);
		break;
	case PAGE_BARS:
		html_bars(text, &section->bars);
		break;
	case PAGE_HEAT:
		html_heat(text, &section->heat);
		break;
	case PAGE_MATRIX:
		html_matrix(text, &section->heat, printing->link_prefix);
		break;
	default:
		break;
	}
	if (own)
		html_card_end(text);
	return code;
}

int page_html(const struct page *page, struct text *ret, struct error *err)
{
	struct printing printing = { .text = ret };
	int code = 0;

	if (!page || page->failed)
		return err_nomem(err);
	printing.link_prefix = page->link_prefix;
	html_begin(ret, page->title);
	for (size_t i = 0; code == 0 && i < page->section_count; i++)
		if (page_shows(&page->sections[i], PAGE_HTML))
			code = append_section(&printing, &page->sections[i], err);
	html_end(ret);
	return code == 0 && text_failed(ret) ? err_nomem(err) : code;
}
