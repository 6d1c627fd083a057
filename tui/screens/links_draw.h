/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* links_draw.h - the table of links on the screen */
#ifndef IBWIRE_TUI_SCREENS_LINKS_DRAW_H
#define IBWIRE_TUI_SCREENS_LINKS_DRAW_H

#include "analysis/status.h"
#include "tui/model/layout.h"
#include "tui/model/port_marks.h"
#include "tui/draw/theme.h"

struct app;
struct links;
struct list;

/* word_role, mark_role - how a port's word and a finding's mark look. */
enum role word_role(enum port_word word);
enum role mark_role(enum port_mark mark);

/* links_places - where the columns stand in so wide a table. */
void links_places(const struct app *app, const struct links *links, int columns, struct column_place *ret);

/* links_draw - heads and rows, @list->first the first of them. */
void links_draw(const struct app *app, const struct links *links, const struct list *list, const struct rect *body);

/* links_draw_menu - the columns to choose from, over the rows: @chosen is the one that the cursor stands on. */
void links_draw_menu(const struct app *app, const struct links *links, enum column chosen, const struct rect *body);

#endif
