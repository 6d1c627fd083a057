/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* events_view.h - between the files of the screen of events: what it holds, and how that is drawn */
#ifndef IBWIRE_TUI_SCREENS_EVENTS_VIEW_H
#define IBWIRE_TUI_SCREENS_EVENTS_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "tui/event_list.h"
#include "tui/draw/list.h"
#include "tui/model/port_errors.h"

struct app;
struct rect;

/* Errors are counted over so long, and again after this while. */
#define ERRORS_US (3600 * US_PER_S)
#define ERRORS_EVERY_US (3 * US_PER_S)

struct event_view {
	struct event_list events;
	struct list list;
	int64_t cursor_id;   /* the event that the cursor stands on; 0: it stays on the newest */
	bool dirty;          /* another context came */
	bool errors_shown;
	struct port_errors errors;
	struct list error_list;
	uint64_t error_guid; /* of the port under its cursor; 0: it stays on top */
	uint8_t error_port;
};

/* events_draw - what happened. events_draw_errors - ports whose error counters moved. */
void events_draw(struct event_view *view, const struct app *app, const struct rect *body);
void events_draw_errors(struct event_view *view, const struct app *app, const struct rect *body);

#endif
