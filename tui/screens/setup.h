/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* setup.h - settings of the display, and their restoration at the next start (screen_setup.c) */
#ifndef IBWIRE_TUI_SCREENS_SETUP_H
#define IBWIRE_TUI_SCREENS_SETUP_H

#include <stdbool.h>
#include <stdint.h>

#include "tui/config_file.h"
#include "tui/draw/theme.h"

struct app;
struct error;

struct setup {
	unsigned colors;   /* enum theme_colors */
	unsigned ascii;    /* 1: ASCII only, also in a UTF-8 locale */
	unsigned mouse;    /* 1: on; 0: text selection is left to the terminal */
	unsigned refresh;  /* display update interval: index into a list */
	bool stale;        /* not applied to the terminal yet */
	struct config began; /* settings after the start */
};

/*
 * setup_start - restore the saved settings, or set defaults
 * Errors in the file are shown in the notice line; valid lines are used.
 * Return: 0 or ERR_NOMEM.
 */
int setup_start(struct app *app, struct error *err);

/* setup_end - save settings changed since the start. Write errors are ignored. */
void setup_end(const struct app *app);

/*
 * setup_save, setup_restore - settings of the display and of all screens, as pairs
 * @ret_wrong:  the first one with an invalid value
 * Return: setup_restore(): whether the values of all known names are valid.
 */
void setup_save(const struct app *app, struct config *config);
bool setup_restore(struct app *app, const struct config *config, char *ret_wrong, size_t size);

#endif
