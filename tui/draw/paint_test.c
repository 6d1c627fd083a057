/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* paint_test.c - rows collected in a frame are the same in curses as texts written at once */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/unit_test.h"
#include "tui/draw/draw.h"

enum { ROWS = 24, COLUMNS = 80 };

static cchar_t expected[ROWS][COLUMNS + 1], found[ROWS][COLUMNS + 1];

static FILE *terminal;
static SCREEN *screen;

static int start(void **state)
{
	(void)state;
	setenv("LINES", "24", 1);
	setenv("COLUMNS", "80", 1);
	terminal = fopen("/dev/null", "r+");
	if (!setlocale(LC_CTYPE, "C.UTF-8") || !terminal)
		return -1;
	screen = newterm("xterm-256color", terminal, terminal);
	return screen ? 0 : -1;
}

static int stop(void **state)
{
	(void)state;
	endwin();
	delscreen(screen);
	return fclose(terminal);
}

static void read_cells(cchar_t cells[ROWS][COLUMNS + 1])
{
	memset(cells, 0, sizeof(expected));
	for (int y = 0; y < ROWS; y++)
		mvin_wchnstr(y, 0, cells[y], COLUMNS);
}

/* Rows of several texts, some with characters of two columns or of none; most rows stay the same. */
static void draw_rows(const struct theme *theme, uint64_t step, int until)
{
	static const char *const texts[] = { "port", "\xe2\x96\x88\xe2\x96\x88\xe2\x96\x81 ", "e\xcc\x81t\xc3\xa9",
					     "\xe6\x97\xa5\xe6\x9c\xac", "", "97%" };
	const struct brush brush = { theme, 0 };

	for (int y = 0; y < until; y++) {
		uint64_t seed = map_mix((uint64_t)y * 1000 + (y % 4 ? 0 : step));

		for (unsigned i = 0; i < seed % 5; i++, seed = map_mix(seed))
			draw_cell(&brush, y, (int)(16 * i), 15, texts[seed / 8 % 6], ALIGN_LEFT,
				  seed % 2 ? ROLE_TEXT : ROLE_CRITICAL);
	}
}

TEST_WITH(a_frame_equals_texts_written_at_once, start, stop)
{
	struct theme theme;
	struct paint *paint = paint_create();

	assert_non_null(paint);
	theme_make(&theme, 256, true);
	for (uint64_t step = 0; step < 50; step++) {
		theme.paint = NULL;
		erase();
		draw_rows(&theme, step, ROWS);
		read_cells(expected);
		/* The state of the frame before. */
		paint_begin(paint, 0, 0);
		theme.paint = paint;
		for (uint64_t frame = step ? step - 1 : 0; frame <= step; frame++) {
			paint_begin(paint, ROWS, COLUMNS);
			draw_rows(&theme, frame, ROWS);
			paint_end(paint);
		}
		read_cells(found);
		assert_memory_equal(found, expected, sizeof(found));
	}
	paint_destroy(paint);
}

TEST_WITH(only_rows_that_differ_are_written, start, stop)
{
	struct theme theme;
	struct paint *paint = paint_create();
	size_t touched = 0;

	assert_non_null(paint);
	theme_make(&theme, 256, true);
	theme.paint = paint;
	for (uint64_t step = 0; step < 3; step++) {
		paint_begin(paint, ROWS, COLUMNS);
		draw_rows(&theme, step, ROWS);
		untouchwin(stdscr);
		paint_end(paint);
	}
	for (int y = 0; y < ROWS; y++) {
		touched += is_linetouched(stdscr, y);
		assert_false(y % 4 && is_linetouched(stdscr, y));
	}
	assert_true(touched > 0);
	paint_destroy(paint);
}

/* A selected row of texts of several roles, with gaps and a bar. */
static void draw_selected(const struct theme *theme, unsigned flags)
{
	const struct brush brush = { theme, flags };

	draw_cell(&brush, 3, 0, COLUMNS, "", ALIGN_LEFT, ROLE_TEXT);
	draw_cell(&brush, 3, 1, 4, "CRIT", ALIGN_LEFT, ROLE_CRITICAL);
	draw_cell(&brush, 3, 7, 10, "leaf01/3", ALIGN_LEFT, ROLE_FAINT);
	draw_cell(&brush, 3, 20, 4, "\xe2\x96\x88\xe2\x96\x88\xe2\x96\x8c ", ALIGN_LEFT, ROLE_LOAD_HIGH);
}

TEST_WITH(the_selected_row_is_one_bar_in_which_loads_are_visible, start, stop)
{
	static const int counts[] = { 0, 8, 16, 256 };

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		for (unsigned old = 0; old <= DRAW_DIM; old += DRAW_DIM) {
			wchar_t character[CCHARW_MAX];
			attr_t first_attributes = 0, attributes;
			short first_pair = 0, pair;
			struct theme theme;

			theme_make(&theme, counts[i], true);
			for (int role = 0; counts[i] && role < ROLE_COUNT; role++)
				theme.pairs[role] = (short)(role + 1);
			erase();
			draw_selected(&theme, DRAW_CURSOR | old);
			read_cells(found);
			getcchar(&found[3][0], character, &first_attributes, &first_pair, NULL);
			for (int x = 0; x < COLUMNS; x++) {
				getcchar(&found[3][x], character, &attributes, &pair, NULL);
				assert_int_equal(attributes, first_attributes);
				assert_int_equal(pair, first_pair);
				/* A reversed block has the colour of the background. */
				if (x >= 20 && x < 23)
					assert_int_equal(*character, attributes & A_REVERSE ? L'#' :
								     x < 22 ? L'\u2588' : L'\u258c');
			}
			assert_true(first_attributes & A_REVERSE || first_pair);
		}
}
