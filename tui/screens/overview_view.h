/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* overview_view.h - state and parts of the Overview screen */
#ifndef IBWIRE_TUI_SCREENS_OVERVIEW_VIEW_H
#define IBWIRE_TUI_SCREENS_OVERVIEW_VIEW_H

#include <stddef.h>
#include <stdint.h>

#include "tui/draw/list.h"
#include "tui/model/changes.h"
#include "facts/heat.h"
#include "tui/model/groups.h"
#include "tui/model/layout.h"
#include "tui/model/port_table.h"
#include "tui/screens/list_screen.h"

struct app;
struct brush;
struct finding_row;
struct rect;

/* The busiest links or hosts. */
enum { OVERVIEW_TOP = 24 };
struct overview_top_row {
	uint32_t index;           /* the sending port of a link; of a host, an index into the shape's hosts */
	struct measure value;     /* percent of a link; bytes per second of a host */
	struct measure xmit, rcv; /* of a host, bytes per second */
	const char *name;         /* borrowed */
};
struct overview_top {
	struct overview_top_row *rows;
	size_t count;
};

/* State and content of the screen. */
struct overview_view {
	struct list list;                  /* rows: the problems, then the groups */
	uint64_t generation;               /* of app that the content was built from; 0: none */
	int64_t cursor_finding;            /* the selected finding, or group */
	char cursor_group[GROUP_NAME_SIZE];
	const struct finding_row **problems; /* borrowed from the context; acknowledged ones last */
	size_t problem_count, open_count, clearing_count;
	struct changes changes;
	char jobs[1024];                   /* job_list_line() */
	size_t job_count;
	struct port_groups groups;
	struct heat map;                   /* of leaves and spines */
	struct measure map_most;
	struct overview_top links, hosts;
	char names[OVERVIEW_TOP][2 * PORT_NAME_SIZE + 8]; /* of the links */
	struct list_screen link_list, host_list;
	enum overview_part { OVERVIEW_LINKS, OVERVIEW_HOSTS, OVERVIEW_FINDINGS } part; /* keys go there */
	bool hosts_shown;
	uint32_t waiting;                  /* the port with the highest XmitWait%; FABRIC_NONE: none waits */
	size_t first_problem, first_group; /* first visible ones */
	struct overview_plan plan;
};

/* Time span of the changes. */
#define OVERVIEW_CHANGES_US (3600 * INT64_C(1000000))

void overview_draw_problems(const struct overview_view *view, const struct app *app, const struct brush *brush,
			    const struct rect *body);
void overview_draw_changes(const struct overview_view *view, const struct app *app, const struct brush *brush,
			   const struct rect *body);
void overview_draw_groups(const struct overview_view *view, const struct app *app, const struct brush *brush,
			  const struct rect *body);

/* overview_update - rebuild for the shown snapshot, before keys and frames. Return: false: lists are arranged. */
bool overview_update(void *state, struct app *app);

/* overview_find_top - the busiest links and hosts of the shown sweep. */
void overview_find_top(struct overview_view *view, const struct app *app);

/* overview_top_rows - rows that the map and the busiest links and hosts need at most. */
size_t overview_top_rows(const struct overview_view *view, const struct app *app);

/* overview_draw_plot - traffic, stall and errors over time; overview_draw_top - map, links and hosts. */
void overview_draw_plot(const struct overview_view *view, const struct app *app, const struct brush *brush,
			const struct rect *body);
void overview_draw_top(struct overview_view *view, struct app *app, const struct brush *brush,
		       const struct rect *body);

/* The busiest links and hosts; their state is a struct overview_view. */
extern const struct table_view overview_links_view, overview_hosts_view;

#endif
