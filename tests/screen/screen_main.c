/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* screen_main.c - the screen alone on a database, for its tests: screen_main PATH */
#include <stdio.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/stop.h"
#include "tui/tui.h"

int main(int argc, char **argv)
{
	struct tui_options options = { .clock = clock_system() };
	struct error err = { 0 };

	if (argc != 2)
		return 64;
	options.db_path = argv[1];
	stop_install();
	if (tui_run(&options, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return -err.code;
	}
	return 0;
}
