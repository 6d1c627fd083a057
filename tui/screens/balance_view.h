/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* balance_view.h - state and parts of the Balance screen: map, groups, hosts */
#ifndef IBWIRE_TUI_SCREENS_BALANCE_VIEW_H
#define IBWIRE_TUI_SCREENS_BALANCE_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "facts/group.h"
#include "tui/screens/app.h"
#include "tui/model/heat_cell.h"
#include "tui/screens/list_screen.h"
#include "tui/model/loads.h"

struct amount_facts;

enum balance_part { PART_MAP, PART_GROUPS, PART_HOSTS };

struct balance_view;

/* What the cells of a group are read from. */
struct group_cells {
	const struct balance_view *view;
	const struct app *app;
	const struct balance_result *result;
};

struct balance_view {
	struct loads loads;
	struct balance_settings limits;
	enum balance_part part;
	uint64_t seen;           /* generation of app that the loads were adapted to */
	uint64_t generation;     /* of the loads that the content was built from; 0: none */
	/* The map. */
	struct heat heat;
	unsigned tier;           /* of the rows */
	bool inward, hottest_first;
	enum heat_value value;
	uint32_t *order;         /* rows in display order */
	struct list rows;
	size_t column, first_column;
	struct heat_layout layout; /* of the last frame */
	uint64_t row_guid, column_guid; /* selected switches; 0: none yet */
	/* Groups: results, worst first. */
	uint32_t *results;
	size_t result_count;
	struct group_counts counts;
	size_t most_members;     /* of the largest group */
	int name_columns;        /* of the longest name of a group */
	bool all;                /* include balanced and idle ones */
	struct list_screen groups;
	struct group_cells group_cells; /* of the row that was read last */
	/* Hosts of several HCAs, the most uneven first. */
	struct amount_facts *host_rows;
	size_t host_count, idle_hosts, most_rails;
	struct list_screen hosts;
};

struct balance_part_info {
	/* Build from view->loads. Return: 0 or ERR_NOMEM. */
	int (*make)(struct balance_view *view, const struct app *app, struct error *err);
	void (*draw)(struct balance_view *view, struct app *app, const struct rect *body);
	/* As in struct screen; NULL: those of the list. */
	bool (*key)(struct balance_view *view, struct app *app, int key);
	void (*moved)(struct balance_view *view, const struct app *app);
	void (*subject)(const struct balance_view *view, const struct app *app, struct subject *ret);
};
extern const struct balance_part_info balance_map, balance_groups, balance_hosts;

/* groups_view, hosts_view - the lists of groups and of hosts; their state is a struct balance_view. */
extern const struct table_view groups_view, hosts_view;

/* map_press_column - select the column of the map at a column of the terminal. */
void map_press_column(struct balance_view *view, int x);

/* groups_draw_members - members of a group: down ones first, then by load. */
void groups_draw_members(const struct app *app, const struct rect *area, const struct balance_result *result);

/* view_window - "60 s from 05:32:00", the window of the loads. Return: @ret. */
const char *view_window(const struct balance_view *view, char *ret, size_t size);

/*
 * view_group_text - "TMH  routing  AR off: its tables send 52 % of ..." for a result. Return:
 * @ret.
 */
const char *view_group_text(const struct balance_view *view, const struct app *app,
			     const struct balance_result *result, char *ret, size_t size);

#endif
