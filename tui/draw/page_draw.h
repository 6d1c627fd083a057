/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* page_draw.h - the renderer of pages (export/page.h) for the screen: as lines of a text page */
#ifndef IBWIRE_TUI_DRAW_PAGE_DRAW_H
#define IBWIRE_TUI_DRAW_PAGE_DRAW_H

#include <stdbool.h>
#include <stdint.h>

struct page;
struct subject;
struct text_page;

/* page_open - the subject of a target (result_target()). @ctx: of the caller */
typedef struct subject page_open(const void *ctx, uint64_t id, unsigned number);

/*
 * page_lay_out - lines of the sections of text, for a width
 * @from:  after page_freeze()
 * @to:    replaced; lines whose cells have a target (result_target()) have that node or port as subject
 *
 * Of tables that are too wide columns are left out by descending priority, and flexible ones are cut.
 */
void page_lay_out(const struct page *from, struct text_page *to, int columns, bool unicode);

/*
 * page_append - the same below the lines that are there, for the width of @to
 * @open:  NULL: targets are nodes and ports
 */
void page_append(const struct page *from, struct text_page *to, bool unicode, page_open *open, const void *ctx);

#endif
