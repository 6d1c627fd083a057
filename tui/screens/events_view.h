/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* events_view.h - state and parts of the Events screen */
#ifndef IBWIRE_TUI_SCREENS_EVENTS_VIEW_H
#define IBWIRE_TUI_SCREENS_EVENTS_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "tui/model/event_list.h"
#include "tui/draw/list.h"
#include "tui/model/error_sums.h"

struct app;
struct rect;

/* Window of the error counters, and interval of its updates. */
#define ERRORS_US (3600 * US_PER_S)
#define ERRORS_EVERY_US (3 * US_PER_S)

struct event_view {
	struct event_list events;
	struct list list;
	int64_t cursor_id;   /* selected event; 0: follow the newest */
	uint64_t generation; /* of app when the context was last read */
	bool errors_shown;
	struct error_sums errors;
	struct list error_list;
	uint64_t error_guid; /* selected port; 0: stay at the top */
	uint8_t error_port;
};

/* events_draw - the list of events. events_draw_errors - ports with increased error counters. */
void events_draw(struct event_view *view, const struct app *app, const struct rect *body);
void events_draw_errors(struct event_view *view, const struct app *app, const struct rect *body);

#endif
