/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * tui.h - interactive display of a fabric from its database
 *
 * It only reads the database and opens no device. The collector is another process, known only
 * through the callback of the caller.
 */
#ifndef IBWIRE_TUI_TUI_H
#define IBWIRE_TUI_TUI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct call_context;
struct clock;
struct error;
struct name_map;
struct balance_settings;
struct shape_settings;

enum tui_color { TUI_COLOR_AUTO, TUI_COLOR_ALWAYS, TUI_COLOR_NEVER };

/* State of the collector started for this display. */
struct tui_child_state {
	bool running;
	int exit_status; /* after its exit, as in a shell: 128 + signal */
	char line[512];  /* its last message, "" for none */
};

struct tui_options {
	const char *db_path;           /* borrowed, as is all below */
	const struct name_map *names;  /* or NULL */
	const struct clock *clock;
	const struct shape_settings *shape;     /* or NULL: host classes, rails, adaptive routing from the settings */
	const struct balance_settings *balance; /* or NULL: the defaults */
	/* Runs a command of this program in a thread (call_fn of base/call.h), for reports; NULL: disabled. */
	int (*command)(const struct call_context *context, int argc, char **argv, struct error *err);
	const char *program;           /* path of this program, which takes snapshots; NULL: disabled */
	/* Arguments of these commands: for all, and for those that poll the fabric. */
	const char *const *arguments, *const *device_arguments; /* NULL-terminated; or NULL */
	const char *status_path;       /* file with a line for the last row, such as what is simulated; NULL: none */
	const char *config_path;         /* settings file (config_file.h); NULL: settings are not saved */
	int64_t at_us;                 /* wall clock of the time to show; 0: the newest sweep */
	enum tui_color color;          /* AUTO: as the terminal supports, none if NO_COLOR is set */
	/*
	 * Called several times per second for the state of the collector started for this
	 * display; NULL if another process collects.
	 */
	void (*child)(void *ctx, struct tui_child_state *ret);
	void *child_ctx;
};

/*
 * tui_run - run until a key, a signal (base/stop.h) or the end of the terminal
 *
 * The terminal is restored on every exit, also on a crash.
 * Call tui_check_terminal() before.
 * Return: 0; ERR_USAGE without a terminal; the negated exit status of the collector, with
 * its last message, if it exited before there was data; ERR_NOMEM.
 */
int tui_run(const struct tui_options *options, struct error *err);

/*
 * tui_config_path - path of the settings file: ibwire/top.conf in $XDG_CONFIG_HOME, else in ~/.config
 * A relative path is ignored, as in the XDG Base Directory Specification.
 * Return: false if neither variable is set or the path is too long: nothing is saved then.
 */
bool tui_config_path(char *ret, size_t size);

/*
 * tui_check_terminal - whether the terminal is suitable, before a collector is started
 * Return: 0; ERR_USAGE if stdin or stdout is not a terminal, or $TERM is unknown or has no cursor
 * movement.
 */
int tui_check_terminal(struct error *err);

#endif
