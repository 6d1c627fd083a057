/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/theme.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A role's foreground with 256, 16 and 8 colours (-1: the terminal's own), and attributes without any. */
struct paint {
	short color256, color16, color8;
	attr_t with_color, mono;
};

static const struct paint paints[ROLE_COUNT] = {
	[ROLE_TEXT] = { -1, -1, -1, A_NORMAL, A_NORMAL },
	[ROLE_FAINT] = { 245, 8, -1, A_NORMAL, A_DIM },
	[ROLE_STRONG] = { -1, -1, -1, A_BOLD, A_BOLD },
	[ROLE_GOOD] = { 36, 6, COLOR_CYAN, A_BOLD, A_BOLD },
	[ROLE_WARNING] = { 214, 11, COLOR_YELLOW, A_BOLD, A_BOLD },
	[ROLE_CRITICAL] = { 203, 9, COLOR_RED, A_BOLD, A_BOLD | A_REVERSE },
	[ROLE_SILENT] = { 214, 11, COLOR_YELLOW, A_BOLD, A_BOLD },
	[ROLE_LOCKED] = { 175, 13, COLOR_MAGENTA, A_BOLD, A_BOLD },
	[ROLE_DOWN] = { 203, 9, COLOR_RED, A_NORMAL, A_UNDERLINE },
	[ROLE_UNSUPPORTED] = { 110, 12, COLOR_BLUE, A_NORMAL, A_DIM },
	[ROLE_LOAD_LOW] = { 75, 14, COLOR_CYAN, A_NORMAL, A_NORMAL },
	[ROLE_LOAD_MIDDLE] = { 214, 11, COLOR_YELLOW, A_NORMAL, A_NORMAL },
	[ROLE_LOAD_HIGH] = { 203, 9, COLOR_RED, A_BOLD, A_BOLD },
	[ROLE_HEAD] = { -1, -1, -1, A_REVERSE, A_REVERSE },
	[ROLE_SORTED] = { -1, -1, -1, A_REVERSE | A_BOLD, A_REVERSE | A_BOLD | A_UNDERLINE },
	[ROLE_KEY] = { -1, -1, -1, A_BOLD, A_BOLD },
};

static bool colors_wanted(enum tui_color color)
{
	const char *no_color = getenv("NO_COLOR");

	if (color == TUI_COLOR_NEVER)
		return false;
	/* https://no-color.org: any value but an empty one. */
	return color == TUI_COLOR_ALWAYS || !no_color || !*no_color;
}

void theme_init(struct theme *theme, enum tui_color color, bool unicode)
{
	bool colored = colors_wanted(color) && has_colors() && start_color() == OK;
	short background = -1;
	int role;

	memset(theme, 0, sizeof(*theme));
	theme->unicode = unicode;
	if (colored && use_default_colors() != OK)
		background = COLOR_BLACK;
	for (role = 0; role < ROLE_COUNT; role++) {
		const struct paint *paint = &paints[role];
		short foreground = COLORS >= 256 ? paint->color256 : COLORS >= 16 ? paint->color16 : paint->color8;

		theme->attributes[role] = colored ? paint->with_color : paint->mono;
		if (!colored)
			continue;
		if (foreground < 0 && background >= 0)
			foreground = COLOR_WHITE;
		/* Pair 0 is the terminal's own look. */
		if (foreground >= 0 && init_pair((short)(role + 1), foreground, background) == OK)
			theme->pairs[role] = (short)(role + 1);
		/* With 8 colours there is no grey. */
		if (role == ROLE_FAINT && COLORS < 16)
			theme->attributes[role] = A_DIM;
	}
}

enum role theme_load_role(double percent)
{
	if (isnan(percent))
		return ROLE_FAINT;
	return percent >= 90 ? ROLE_LOAD_HIGH : percent >= 70 ? ROLE_LOAD_MIDDLE : ROLE_LOAD_LOW;
}
