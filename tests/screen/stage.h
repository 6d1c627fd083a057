/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * stage.h - the screen on a recorded database, with a clock that stands still and no terminal
 */
#ifndef IBWIRE_TESTS_SCREEN_STAGE_H
#define IBWIRE_TESTS_SCREEN_STAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "tui/draw/draw.h"
#include "tui/draw/key.h"
#include "tui/draw/prompt.h"
#include "tui/draw/terminal.h"
#include "tui/model/context.h"
#include "tui/model/live.h"
#include "tui/model/port_table.h"
#include "tui/screens/app.h"
#include "tui/screens/setup.h"
#include "tui/tui.h"

struct saved_label;

struct stage {
	struct clock clock;
	int64_t boot_us, wall_us; /* move them to let time pass */
	struct tui_options options;
	struct app app;
	int rows, columns;
};

/*
 * stage_open - the screen as it comes up (cmocka assertions)
 * @path:     of the database
 * @wall_us:  what the clock says
 * @at_us:    the time that is asked for; 0: the newest
 */
void stage_open(struct stage *stage, const char *path, int64_t wall_us, int64_t at_us, int rows, int columns);
void stage_close(struct stage *stage);

/* stage_key - a key as in app.h; what follows from it is loaded and drawn. stage_keys - characters. */
void stage_key(struct stage *stage, int key);
void stage_keys(struct stage *stage, const char *keys);
void stage_mouse(struct stage *stage, const struct mouse *mouse);

/* stage_draw - on a terminal of this size, in the canvas. */
void stage_draw(struct stage *stage, int rows, int columns);

/* stage_shows - is this text on the screen? */
bool stage_shows(const char *text);

/* stage_print - the screen, for a person, as comments of a test. */
void stage_print(void);

/* When the last sweep of a recording ends (wall clock). */
#define STAGE_END_US (INT64_C(1790000000) * US_PER_S)

/* stage_record - a scenario of tests/scenarios, by its name, played into a database (cmocka assertions) */
void stage_record(const char *scenario, const char *path);

/* stage_save - store a snapshot: sweep @number of a fabric of its own (tui/model/test_sample.h) at @wall_us */
void stage_save(const char *path, const struct saved_label *label, unsigned number, int64_t wall_us);

#endif
