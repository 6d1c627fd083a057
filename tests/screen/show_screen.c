/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * show_screen.c - print screens of `ibwire top` on a database, without a terminal and with a stopped clock
 *
 * show_screen PATH AT ROWS COLUMNS KEYS...
 *
 * AT is the shown time in microseconds since 1970. Each word of KEYS is typed, then the screen is printed below a line
 * "== WORD". A newline is Enter; the words <esc> and <down> are these keys.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/screen/canvas.h"
#include "tests/screen/stage.h"
#include "tui/draw/key.h"

static void type(const char *word)
{
	if (!strcmp(word, "<esc>"))
		stage_key(KEY_ESCAPE);
	else if (!strcmp(word, "<down>"))
		stage_key(KEY_SPECIAL(KEY_DOWN));
	else
		for (; *word; word++)
			stage_key(*word == '\n' ? '\r' : (unsigned char)*word);
}

int main(int argc, char **argv)
{
	char line[CANVAS_LINE_SIZE];
	int64_t at_us;

	if (argc < 5) {
		fprintf(stderr, "usage: show_screen PATH AT ROWS COLUMNS KEYS...\n");
		return 64;
	}
	at_us = atoll(argv[2]);
	stage_open(argv[1], at_us, at_us, atoi(argv[3]), atoi(argv[4]));
	for (int i = 5; i < argc; i++) {
		type(argv[i]);
		printf("== %s\n", argv[i]);
		for (int row = 0; row < canvas.rows; row++)
			printf("%s\n", canvas_line(row, line));
	}
	app_done(&stage.app);
	return 0;
}
