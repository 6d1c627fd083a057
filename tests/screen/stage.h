/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* stage.h - the screen on a recorded database, with a stopped clock and without a terminal */
#ifndef IBWIRE_TESTS_SCREEN_STAGE_H
#define IBWIRE_TESTS_SCREEN_STAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "storage/test/test_folder.h"
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

struct balance_settings;
struct job;
struct saved_label;

/* The open screen. */
extern struct stage {
	struct clock clock;
	int64_t boot_us, wall_us; /* advanced by the test */
	const struct balance_settings *balance; /* of the next stage_open(); or NULL */
	struct tui_options options;
	struct app app;
	int rows, columns;
	uint64_t random;
} stage;

/* TEST_ON_STAGE - a test in a folder of its own; the screen is closed after it. */
#define TEST_ON_STAGE(name) TEST_WITH(name, test_folder_make, stage_end)
int stage_end(void **state);

/*
 * stage_open - start the screen, and close the previous one (cmocka assertions)
 * @path:     of the database
 * @wall_us:  wall clock
 * @at_us:    the time to show; 0: the newest
 */
void stage_open(const char *path, int64_t wall_us, int64_t at_us, int rows, int columns);

/* stage_begin - record a scenario and open it 3 s after its end (cmocka assertions). */
void stage_begin(const char *scenario, int64_t at_us, int rows, int columns);

/* stage_key - press a key (tui/draw/key.h); its effects are loaded and drawn. stage_keys - characters. */
void stage_key(int key);
void stage_keys(const char *keys);
void stage_mouse(const struct mouse *mouse);

/* stage_draw - draw for a terminal of this size, in the canvas. */
void stage_draw(int rows, int columns);

/* stage_shows - whether this text is on the screen. */
bool stage_shows(const char *text);

/*
 * stage_expect - fail and print the screen unless it shows this text; stage_hides - if it does
 * stage_try - stage_keys(), then stage_expect().
 */
void stage_expect(const char *text);
void stage_try(const char *keys, const char *text);
void stage_hides(const char *text);

/* stage_random - a number below @limit, from stage.random, which may be set to a seed. */
unsigned stage_random(unsigned limit);

/* stage_print - print the screen as comments of a test. */
void stage_print(void);

/* When the last sweep of a recording ends (wall clock). */
#define STAGE_END_US (INT64_C(1790000000) * US_PER_S)

/*
 * stage_record - store a scenario of tests/scenarios in a new database (cmocka assertions)
 * stage_record_until - its first @length_us; 0: the whole scenario
 * A program runs each scenario once; later databases are copies.
 */
void stage_record(const char *scenario, const char *path);
void stage_record_until(const char *scenario, const char *path, int64_t length_us);

/*
 * stage_job - store a job with id, name, hosts, begin_us, end_us (0: it runs) and exit_status; others on
 * the same hosts are not closed (cmocka assertions)
 */
void stage_job(const char *db, const struct job *job);

/* stage_save - add a snapshot: sweep @number of the sample fabric (tui/model/test_sample.h), taken at @wall_us. */
void stage_save(const char *path, const struct saved_label *label, unsigned number, int64_t wall_us);

#endif
