/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * tui.h - the screen: a fabric watched from its database
 *
 * It reads the database and nothing else: no device is opened here, and
 * collecting is another process, of which it knows only what its starter tells.
 */
#ifndef IBWIRE_TUI_TUI_H
#define IBWIRE_TUI_TUI_H

#include <stdbool.h>
#include <stdint.h>

struct clock;
struct error;
struct name_map;
struct balance_settings;
struct shape_settings;

enum tui_color { TUI_COLOR_AUTO, TUI_COLOR_ALWAYS, TUI_COLOR_NEVER };

/* How the collector is that was started for this screen. */
struct tui_child_state {
	bool running;
	int exit_status; /* once it ended: as a shell says it, 128 + signal included */
	char line[512];  /* the last line that it said, "" for none */
};

struct tui_options {
	const char *db_path;           /* borrowed, as is all below */
	const struct name_map *names;  /* or NULL */
	const struct clock *clock;
	const struct shape_settings *shape;     /* or NULL: classes, rails, adaptive routing as set by a person */
	const struct balance_settings *balance; /* or NULL: the defaults */
	/* Arguments for commands that are run from the screen: for all of them, and for those that ask the fabric. */
	const char *program;           /* that is run for a report or a snapshot: this one's path; NULL: none is */
	const char *const *arguments, *const *device_arguments; /* each ends with NULL; or NULL */
	const char *config_path;         /* of the file with what is kept until the next start; NULL: nothing is */
	int64_t at_us;                 /* wall clock: show the fabric as it was then; 0: as it is */
	int64_t refresh_us;            /* how often a new sweep is shown at most; 0: each one */
	enum tui_color color;          /* AUTO: as the terminal can, nothing where NO_COLOR is set */
	/*
	 * Asked several times a second for the collector that belongs to this
	 * screen; NULL where another process collects.
	 */
	void (*child)(void *ctx, struct tui_child_state *ret);
	void *child_ctx;
};

/*
 * tui_run - show the screen until the user, a signal (base/stop.h) or the end of
 * the terminal ends it
 *
 * The terminal is restored on every way out, also where the program crashes.
 * Return: 0; ERR_USAGE where stdin and stdout are no terminal, or one that
 * cannot move its cursor; the negated exit status of the child where that ended
 * before there was anything to show, with its last line as the text; ERR_NOMEM.
 */
int tui_run(const struct tui_options *options, struct error *err);

/*
 * tui_check_terminal - can the screen be shown here at all?
 * For a caller that would start something for it first. Return: 0, or
 * ERR_USAGE as tui_run().
 */
int tui_check_terminal(struct error *err);

#endif
