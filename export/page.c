/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "export/page_work.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/text.h"

struct page *page_create(const char *title)
{
	struct page *page = calloc(1, sizeof(*page));

	if (page)
		page->title = page_print(page, "%s", title);
	return page;
}

void page_destroy(struct page *page)
{
	if (!page)
		return;
	for (size_t i = 0; i < page->kept_count; i++)
		result_destroy(page->kept[i]);
	free(page->kept);
	for (size_t i = 0; i < page->block_count; i++)
		free(page->blocks[i]);
	free(page->blocks);
	free(page->sections);
	free(page);
}

/* Free a block with the page, or now if it cannot be kept. Return: @block, or NULL. */
static void *keep(struct page *page, void *block)
{
	void **blocks = array_grow(page->blocks, page->block_count, &page->block_capacity, sizeof(*blocks));

	if (blocks)
		page->blocks = blocks;
	if (!blocks || !block) {
		free(block);
		page->failed = true;
		return NULL;
	}
	blocks[page->block_count++] = block;
	return block;
}

void *page_alloc(struct page *page, size_t count, size_t size)
{
	return page ? keep(page, calloc(count ? count : 1, size)) : NULL;
}

const char *page_print(struct page *page, const char *fmt, ...)
{
	va_list args;
	char *chars = NULL;

	if (!page)
		return "";
	va_start(args, fmt);
	if (vasprintf(&chars, fmt, args) < 0)
		chars = NULL;
	va_end(args);
	chars = keep(page, chars);
	return chars ? chars : "";
}

const char *page_keep(struct page *page, struct text *text)
{
	const char *chars = page_print(page, "%s", text_chars(text));

	if (page)
		page->failed |= text_failed(text);
	text_done(text);
	return chars;
}

void page_add(struct page *page, const struct page_section *section)
{
	struct page_section *sections;

	if (!page)
		return;
	sections = array_grow(page->sections, page->section_count, &page->section_capacity, sizeof(*sections));
	if (!sections) {
		page->failed = true;
		return;
	}
	page->sections = sections;
	sections[page->section_count++] = *section;
}

void page_link_names(struct page *page, const char *prefix)
{
	if (page)
		page->link_prefix = prefix;
}

void page_close(struct page *page)
{
	page_add(page, &(struct page_section){ .kind = PAGE_CLOSE });
}

void page_add_note(struct page *page, unsigned in, bool soft, const char *fmt, ...)
{
	va_list args;
	char *chars = NULL;

	if (!page)
		return;
	va_start(args, fmt);
	if (vasprintf(&chars, fmt, args) < 0)
		chars = NULL;
	va_end(args);
	chars = keep(page, chars);
	page_add(page, &(struct page_section){ .kind = PAGE_NOTE, .in = in, .soft = soft, .note = chars ? chars : "" });
}

/* --- rendering --- */

bool page_shows(const struct page_section *section, enum page_target target)
{
	bool has_data = section->kind == PAGE_TABLE || section->kind == PAGE_RECORD;

	if (section->in && !(section->in & target))
		return false;
	if (target == PAGE_TEXT)
		return section->kind > PAGE_CLOSE && section->kind != PAGE_LINKS && section->kind != PAGE_FORM;
	return target == PAGE_HTML || (has_data && (target == PAGE_CSV || section->key));
}

struct page_options page_options_of(const struct result_options *options)
{
	return (struct page_options){
		.target = options->format == RESULT_JSON ? PAGE_JSON :
			  options->format == RESULT_CSV  ? PAGE_CSV : PAGE_TEXT,
		.color = options->color, .csv_raw = options->csv_raw, .notes = options->notes, .width = options->width,
	};
}

int page_write_table(const struct page *page, const struct page_section *section, FILE *stream,
		     const struct page_options *options, struct error *err)
{
	const struct result_options output = {
		.format = options->target == PAGE_JSON ? RESULT_JSON : options->target == PAGE_CSV ? RESULT_CSV :
								       RESULT_TABLE,
		.record = section->kind == PAGE_RECORD, .color = options->color, .csv_raw = options->csv_raw,
		.notes = options->notes, .width = options->width, .rendering = options->target,
	};
	const struct result *kept = page->kept ? page->kept[section - page->sections] : NULL;
	struct result *result;
	int code;

	if (kept)
		return result_render(kept, stream, &output, NULL, err);
	result = result_create(stream, &output, section->table.columns, section->table.count);
	if (result)
		section->table.fill(result, section->table.ctx);
	code = result_finish(result, err);
	result_destroy(result);
	return code;
}

/* JSON: one object with a member for each section, or the only one. CSV: the rows of one table. */
static int render_data(const struct page *page, FILE *stream, const struct page_options *options, struct error *err)
{
	bool json = options->target == PAGE_JSON, any = false;
	int code = 0;

	for (size_t i = 0; code == 0 && i < page->section_count && !ferror(stream); i++) {
		const struct page_section *section = &page->sections[i];

		if (!page_shows(section, options->target))
			continue;
		if (json && !*section->key)
			return page_write_table(page, section, stream, options, err);
		if (json)
			fprintf(stream, "%s\"%s\": ", any ? ",\n" : "{", section->key);
		any = true;
		code = page_write_table(page, section, stream, options, err);
	}
	if (json && code == 0)
		fputs(any ? "}\n" : "{}\n", stream);
	return code;
}

int page_render(const struct page *page, FILE *stream, const struct page_options *options, struct error *err)
{
	struct text html = { 0 };
	int code = 0;

	if (!page || page->failed)
		return err_nomem(err);
	if (options->target == PAGE_TEXT)
		return page_render_text(page, stream, options, err);
	if (options->target != PAGE_HTML)
		return render_data(page, stream, options, err);
	code = page_html(page, &html, err);
	if (code == 0 && fwrite(text_chars(&html), 1, html.len, stream) != html.len && errno != EPIPE)
		code = err_set(err, ERR_IO, "cannot write the page: %s", strerror(errno));
	text_done(&html);
	return code;
}
