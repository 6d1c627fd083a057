/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * app.h - what the screens share, and what a screen is
 *
 * A screen is one file and one constant struct screen in the table of
 * screens.c. The loop in tui.c knows nothing of what is on it.
 */
#ifndef IBWIRE_TUI_APP_H
#define IBWIRE_TUI_APP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tui/layout.h"
#include "tui/live.h"
#include "tui/table.h"
#include "tui/theme.h"
#include "tui/tui.h"

struct error;
struct screen;

/*
 * A key: a character as its code point, a special key (curses KEY_*) as the
 * negative of its code.
 */
#define KEY_SPECIAL(code) (-(code))
#define KEY_CTRL(letter) ((letter) & 0x1f)
#define KEY_ESCAPE 27

struct app {
	const struct tui_options *options;
	struct theme theme;
	struct live live;
	struct table table; /* all ports of what is shown; the header sums them up */
	bool table_stale;   /* the table has to be made again of the same snapshot */
	struct tui_child_state child;
	int64_t started_us; /* boottime */
	int64_t now_us;     /* wall clock of this round */
	size_t current, previous; /* screens */
	void **states;      /* one per screen */
	bool quit;
};

/* A line of help: which keys, what they do. */
struct key_help {
	const char *keys, *text;
};

struct screen {
	const char *name;
	/* The screen's own state, or NULL with @err; NULL function: it has none. */
	void *(*create)(struct app *app, struct error *err);
	void (*destroy)(void *state);
	/* app->table holds another snapshot. */
	void (*changed)(void *state, struct app *app);
	void (*draw)(void *state, struct app *app, const struct rect *body);
	/* The footer; NULL: the common one. */
	void (*draw_footer)(void *state, struct app *app, const struct rect *footer);
	/* Return: whether the key meant something here; else the common keys are tried. */
	bool (*key)(void *state, struct app *app, int key);
	const struct key_help *help; /* ends with an entry of NULL keys */
};

/* screens - the table. Return: its first entry, @ret_count how many. */
const struct screen *const *screens(size_t *ret_count);

/* The ones that others name. */
extern const struct screen screen_ports, screen_help;

/* app_show - go to a screen. */
void app_show(struct app *app, const struct screen *screen);

/* app_dims - is what is shown too old to be taken for now? */
bool app_dims(const struct app *app);

/* app_notice - what has to be told in a line of its own, "" for nothing. Return: @ret. */
const char *app_notice(const struct app *app, char *ret, size_t size);

/* header_draw - the fabric in as many lines as the layout gives. */
void header_draw(const struct app *app, const struct rect *area);

/* footer_draw_keys - a line of "key meaning" pairs, as many as fit. */
void footer_draw_keys(const struct app *app, const struct rect *area, const struct key_help *keys);

#endif
