/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* page_work.h - the contents of a page, for its renderers; private to export/ */
#ifndef IBWIRE_EXPORT_PAGE_WORK_H
#define IBWIRE_EXPORT_PAGE_WORK_H

#include "export/page.h"

struct page {
	const char *title;
	const char *link_prefix; /* of page_link_names(); NULL: no links */
	struct page_section *sections;
	size_t section_count, section_capacity;
	struct result **kept; /* parallel to the sections, after page_freeze(); else NULL */
	size_t kept_count;
	void **blocks; /* memory of page_alloc() */
	size_t block_count, block_capacity;
	bool failed;
};

/* page_shows - is a section in a rendering? */
bool page_shows(const struct page_section *section, enum page_target target);

/* page_write_table - write a table or record. Return: 0 or an error. */
int page_write_table(const struct page *page, const struct page_section *section, FILE *stream,
		     const struct page_options *options, struct error *err);

/* page_render_text - page_text.c */
int page_render_text(const struct page *page, FILE *stream, const struct page_options *options, struct error *err);

#endif
