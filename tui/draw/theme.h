/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * theme.h - colours and attributes by role
 *
 * The colour-blind-safe palette of Okabe and Ito: blue, orange, vermillion, purple. Colour is never
 * the only indication: a word accompanies it, and without colours bold, dim and underline are used.
 * The selected row is one bar: white on blue, without colours reversed. Otherwise reverse is only for
 * heads and a selected cell.
 */
#ifndef IBWIRE_TUI_DRAW_THEME_H
#define IBWIRE_TUI_DRAW_THEME_H

#include <curses.h>
#include <stdbool.h>

#include "tui/model/role.h"
#include "tui/tui.h"

/* The pair of ROLE_CURSOR, the only one with a background. */
enum { THEME_CURSOR_PAIR = ROLE_CURSOR + 1 };

/* Maximum number of colours. */
enum theme_colors { THEME_AUTO, THEME_256, THEME_16, THEME_8, THEME_MONO, THEME_COLORS };

struct theme {
	attr_t attributes[ROLE_COUNT];
	short pairs[ROLE_COUNT];  /* of curses; 0: terminal default */
	short colors[ROLE_COUNT]; /* foreground; -1: terminal default */
	bool unicode; /* non-ASCII characters are allowed */
	struct paint *paint; /* of the terminal (draw.h), borrowed; NULL: every text is written at once */
};

/*
 * theme_init - initialize after curses has started
 * Uses 256, 16, 8 or no colours, depending on the terminal, @most, and @color from command line and
 * environment, which takes precedence. May be called again.
 */
void theme_init(struct theme *theme, enum tui_color color, enum theme_colors most, bool unicode);

/*
 * theme_make - attributes for a number of colours (0: none), without pairs. Does not need curses.
 */
void theme_make(struct theme *theme, int colors, bool unicode);

#endif
