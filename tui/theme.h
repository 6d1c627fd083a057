/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * theme.h - how things look, by their meaning
 *
 * Colours are from a palette that colour-blind people can tell apart (Okabe and
 * Ito: blue, orange, vermillion, purple), and never the only sign: a word stands
 * beside each, and without colours bold, dim and underline do what they can.
 */
#ifndef IBWIRE_TUI_THEME_H
#define IBWIRE_TUI_THEME_H

#include <curses.h>
#include <stdbool.h>

#include "tui/tui.h"

enum role {
	ROLE_TEXT,
	ROLE_FAINT,   /* idle, unused, explanations */
	ROLE_STRONG,  /* numbers that are looked for */
	ROLE_GOOD,    /* LIVE */
	ROLE_WARNING,
	ROLE_CRITICAL,
	ROLE_SILENT,
	ROLE_LOCKED,
	ROLE_DOWN,
	ROLE_UNSUPPORTED,
	ROLE_LOAD_LOW,
	ROLE_LOAD_MIDDLE,
	ROLE_LOAD_HIGH,
	ROLE_HEAD,    /* heads of columns */
	ROLE_SORTED,  /* the head of the column that rows are ordered by */
	ROLE_KEY,     /* a key in the footer */
	ROLE_COUNT,
};

struct theme {
	attr_t attributes[ROLE_COUNT];
	short pairs[ROLE_COUNT];
	bool unicode; /* may characters other than ASCII be written? */
};

/*
 * theme_init - after curses has started
 * Uses 256, 16 or 8 colours or none, as the terminal has and @color says.
 */
void theme_init(struct theme *theme, enum tui_color color, bool unicode);

/* theme_load_role - how a load in percent looks; NAN is faint. */
enum role theme_load_role(double percent);

#endif
