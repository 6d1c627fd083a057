/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* links_draw.h - drawing of the links table */
#ifndef IBWIRE_TUI_SCREENS_LINKS_DRAW_H
#define IBWIRE_TUI_SCREENS_LINKS_DRAW_H

#include "analysis/status.h"
#include "tui/model/layout.h"
#include "tui/model/context.h"
#include "tui/draw/theme.h"

struct app;
struct links;
struct list;

/* status_role, mark_role - the colours of a port status and of the mark of a finding. */
enum role status_role(enum port_status status);
enum role mark_role(enum port_mark mark);

/* links_places - positions of the columns for a width. */
void links_places(const struct app *app, const struct links *links, int columns, struct column_place *ret);

/* links_draw - heads and visible rows. */
void links_draw(const struct app *app, const struct links *links, const struct list *list, const struct rect *body);

/* links_draw_menu - the sort menu over the rows; @chosen: the selected column. */
void links_draw_menu(const struct app *app, const struct links *links, enum link_column chosen,
		     const struct rect *body);

#endif
