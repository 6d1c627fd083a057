/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* overview_view.h - the parts of the overview, each drawn where its plan says */
#ifndef IBWIRE_TUI_SCREENS_OVERVIEW_VIEW_H
#define IBWIRE_TUI_SCREENS_OVERVIEW_VIEW_H

#include <stddef.h>
#include <stdint.h>

#include "tui/model/changes.h"
#include "tui/model/groups.h"
#include "tui/model/overview_layout.h"

struct app;
struct brush;
struct finding_row;
struct rect;

/* What is on the overview. */
struct overview_view {
	const struct finding_row **problems; /* borrowed of the context; acknowledged ones last */
	size_t problem_count, open_count;
	struct changes changes;
	struct port_groups groups;
	size_t cursor;                     /* over the problems, then the groups */
	size_t first_problem, first_group; /* that are seen */
	struct overview_plan plan;
};

/* How far back changes are told. */
#define OVERVIEW_CHANGES_US (3600 * INT64_C(1000000))

void overview_draw_problems(const struct overview_view *view, const struct app *app, const struct brush *brush,
			    const struct rect *body);
void overview_draw_changes(const struct overview_view *view, const struct app *app, const struct brush *brush,
			   const struct rect *body);
void overview_draw_groups(const struct overview_view *view, const struct app *app, const struct brush *brush,
			  const struct rect *body);

#endif
