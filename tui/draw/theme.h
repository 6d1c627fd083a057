/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * theme.h - how things look, by their meaning
 *
 * Colours are from a palette that colour-blind people can tell apart (Okabe and
 * Ito: blue, orange, vermillion, purple), and never the only sign: a word stands
 * beside each, and without colours bold, dim and underline do what they can.
 * Reversed is only what the cursor stands on, and heads.
 */
#ifndef IBWIRE_TUI_DRAW_THEME_H
#define IBWIRE_TUI_DRAW_THEME_H

#include <curses.h>
#include <stdbool.h>

#include "tui/model/role.h"
#include "tui/tui.h"

/* How many colours are used at most. */
enum theme_colors { THEME_AUTO, THEME_256, THEME_16, THEME_8, THEME_MONO, THEME_COLORS };

struct theme {
	attr_t attributes[ROLE_COUNT];
	short pairs[ROLE_COUNT];  /* of curses; 0: the terminal's own look */
	short colors[ROLE_COUNT]; /* the foreground; -1: the terminal's own */
	bool unicode; /* may characters other than ASCII be written? */
};

/*
 * theme_init - after curses has started
 * Uses 256, 16 or 8 colours or none, as the terminal has and as @color and
 * @most say: @color is what the command line and the environment want, which
 * wins. May be called again.
 */
void theme_init(struct theme *theme, enum tui_color color, enum theme_colors most, bool unicode);

/* theme_make - the looks with so many colours (0: none), without their pairs. No curses is needed for it. */
void theme_make(struct theme *theme, int colors, bool unicode);

#endif
