/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * setup.h - what its user set about the screen as a whole, and how it comes back at the next start
 */
#ifndef IBWIRE_TUI_SCREENS_SETUP_H
#define IBWIRE_TUI_SCREENS_SETUP_H

#include <stdbool.h>
#include <stdint.h>

#include "tui/config_file.h"
#include "tui/draw/theme.h"

struct app;
struct error;

struct setup {
	enum theme_colors colors;
	bool ascii;        /* only ASCII, also where the locale has more */
	bool no_mouse;     /* the terminal's own selection needs no Shift then */
	uint32_t hidden;   /* columns of Links: 1 << enum column */
	bool stale;        /* the terminal does not show it so yet */
	struct config began; /* how all was after the start */
};

/*
 * setup_start - take over what was kept, or begin without
 * What is wrong with the file is said in the notice line; the rest of it counts.
 * Return: 0 or ERR_NOMEM.
 */
int setup_start(struct app *app, struct error *err);

/* setup_end - keep what was changed since the start. What cannot be kept is lost without a word. */
void setup_end(const struct app *app);

/*
 * setup_save, setup_restore - of the whole and of all screens, as pairs
 * @ret_wrong:  the first whose value is none
 * Return: setup_restore(): whether all values of names that are known were taken.
 */
void setup_save(const struct app *app, struct config *config);
bool setup_restore(struct app *app, const struct config *config, char *ret_wrong, size_t size);

/* setup_refresh - how often a new sweep is shown, one step slower or faster (direction -1 or 1), round and round. */
void setup_refresh(struct app *app, int direction);

/* setup_refresh_name - "each sweep", "2 s", ... */
const char *setup_refresh_name(const struct app *app);

/* setup_colors_name - "auto", "256", "16", "8", "mono". */
const char *setup_colors_name(enum theme_colors colors);

#endif
