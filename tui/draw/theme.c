/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/draw/theme.h"

#include <stdlib.h>
#include <string.h>

/*
 * Foreground of a role with 256, 16 and 8 colours (-1: terminal default), and attributes with and
 * without colours. Only the cursor has a background.
 */
struct paint {
	short color256, color16, color8;
	attr_t with_color, mono;
};

/* Blue; COLOR_BLUE with fewer colours. */
enum { CURSOR_BACK256 = 25 };

static const struct paint paints[ROLE_COUNT] = {
	[ROLE_TEXT] = { -1, -1, -1, A_NORMAL, A_NORMAL },
	[ROLE_FAINT] = { 245, 8, -1, A_NORMAL, A_DIM },
	[ROLE_STRONG] = { -1, -1, -1, A_BOLD, A_BOLD },
	[ROLE_GOOD] = { 36, 6, COLOR_CYAN, A_BOLD, A_BOLD },
	[ROLE_WARNING] = { 214, 11, COLOR_YELLOW, A_BOLD, A_BOLD },
	[ROLE_CRITICAL] = { 202, 9, COLOR_RED, A_BOLD, A_BOLD | A_UNDERLINE },
	[ROLE_SILENT] = { 214, 11, COLOR_YELLOW, A_BOLD, A_BOLD },
	[ROLE_LOCKED] = { 175, 13, COLOR_MAGENTA, A_BOLD, A_BOLD },
	[ROLE_DOWN] = { 202, 9, COLOR_RED, A_NORMAL, A_UNDERLINE },
	/* Blue of 8 colours is unreadable on black. */
	[ROLE_UNSUPPORTED] = { 110, 12, COLOR_CYAN, A_NORMAL, A_DIM },
	[ROLE_LOAD_LOW] = { 75, 14, COLOR_CYAN, A_NORMAL, A_NORMAL },
	[ROLE_LOAD_MIDDLE] = { 214, 11, COLOR_YELLOW, A_NORMAL, A_NORMAL },
	[ROLE_LOAD_HIGH] = { 202, 9, COLOR_RED, A_BOLD, A_BOLD },
	[ROLE_HEAD] = { -1, -1, -1, A_REVERSE, A_REVERSE },
	[ROLE_SORTED] = { -1, -1, -1, A_REVERSE | A_BOLD, A_REVERSE | A_BOLD | A_UNDERLINE },
	[ROLE_KEY] = { -1, -1, -1, A_BOLD, A_BOLD },
	[ROLE_MATCH] = { -1, -1, -1, A_BOLD | A_UNDERLINE, A_BOLD | A_UNDERLINE },
	[ROLE_CURSOR] = { 231, 15, COLOR_WHITE, A_BOLD, A_REVERSE },
};

static bool colors_wanted(enum tui_color color)
{
	const char *no_color = getenv("NO_COLOR");

	if (color == TUI_COLOR_NEVER)
		return false;
	/* https://no-color.org: any value but an empty one. */
	return color == TUI_COLOR_ALWAYS || !no_color || !*no_color;
}

void theme_make(struct theme *theme, int colors, bool unicode)
{
	memset(theme, 0, sizeof(*theme));
	theme->unicode = unicode;
	for (int role = 0; role < ROLE_COUNT; role++) {
		const struct paint *paint = &paints[role];

		theme->attributes[role] = colors ? paint->with_color : paint->mono;
		theme->colors[role] = -1;
		if (colors)
			theme->colors[role] = colors >= 256 ? paint->color256 : colors >= 16 ? paint->color16 :
												paint->color8;
	}
	/* With 8 colours there is no grey. */
	if (colors && colors < 16)
		theme->attributes[ROLE_FAINT] = A_DIM;
}

/* Number of colours: command line and environment take precedence over the saved setting. */
static int color_count(enum tui_color color, enum theme_colors most)
{
	static const int at_most[THEME_COLORS] = {
		[THEME_AUTO] = 256, [THEME_256] = 256, [THEME_16] = 16, [THEME_8] = 8, [THEME_MONO] = 0,
	};
	int count = at_most[most];

	if (color == TUI_COLOR_ALWAYS && !count)
		count = 256;
	if (!count || !colors_wanted(color) || !has_colors() || start_color() != OK || COLORS < 8)
		return 0;
	return COLORS < count ? COLORS : count;
}

void theme_init(struct theme *theme, enum tui_color color, enum theme_colors most, bool unicode)
{
	int count = color_count(color, most);
	short background = -1;

	theme_make(theme, count, unicode);
	if (!count)
		return;
	if (use_default_colors() != OK)
		background = COLOR_BLACK;
	for (int role = 0; role < ROLE_COUNT; role++) {
		short foreground = theme->colors[role];
		short behind = role != ROLE_CURSOR ? background :
			       count >= 256 ? CURSOR_BACK256 : COLOR_BLUE;

		if (foreground < 0 && background >= 0)
			foreground = COLOR_WHITE;
		/* Pair 0 is the terminal default. */
		if (foreground >= 0 && init_pair((short)(role + 1), foreground, behind) == OK)
			theme->pairs[role] = (short)(role + 1);
	}
}
