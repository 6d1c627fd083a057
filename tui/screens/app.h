/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * app.h - what the screens share, and what a screen is
 *
 * A screen is one file and one constant struct screen in the table of
 * screens.c. The loop in tui.c knows nothing of what is on it.
 */
#ifndef IBWIRE_TUI_SCREENS_APP_H
#define IBWIRE_TUI_SCREENS_APP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tui/screens/acknowledge.h"
#include "tui/model/census.h"
#include "tui/model/layout.h"
#include "tui/model/live.h"
#include "tui/model/context.h"
#include "tui/draw/key.h"
#include "tui/draw/prompt.h"
#include "tui/screens/setup.h"
#include "tui/model/subject.h"
#include "tui/model/port_table.h"
#include "tui/draw/terminal.h"
#include "tui/draw/theme.h"
#include "tui/tui.h"

struct brush;
struct error;
struct config;
struct screen;
struct shape_group;

/* The way from a tab to what is looked at: Esc goes back along it. */
#define PATH_MAX_DEPTH 8

struct place {
	const struct screen *screen;
	struct subject subject; /* that it was opened for; a tab: none */
};

struct app {
	const struct tui_options *options;
	struct theme theme;
	struct setup setup;
	struct live live;
	struct snapshot_context context; /* what is known of the time that live.shown is of */
	struct port_table table;   /* all ports of what is shown: numbers, names, sums */
	struct census census; /* of the same: how big it is, what is not as it was built */
	bool stale;           /* table and context have to be made again of the same snapshot */
	struct tui_child_state child;
	struct prompt prompt;
	struct acknowledge_input acknowledge_input; /* while it is typed */
	char message[256];    /* said in the notice line until a time; "": nothing */
	int64_t message_until_us;
	int64_t started_us;   /* boottime */
	int64_t now_us;       /* wall clock of this round */
	struct place path[PATH_MAX_DEPTH]; /* the first is a tab */
	size_t depth;         /* places in it, at least 1 */
	struct rect body;     /* of the last drawing */
	struct {
		int y, x;
		int64_t at_us;          /* boottime */
		struct subject subject; /* that the cursor stood on after it */
	} press;              /* of the mouse, the last one that no key came after; at_us is 0: none */
	void **states;        /* one per screen */
	bool quit;
};

/* A line of help: which keys, what they do. */
struct key_help {
	const char *keys, *text;
};

struct screen {
	const char *name; /* of a tab as it stands in the header */
	bool is_tab;      /* has a number, in the order of the table */
	size_t size;      /* of its own state, which is all zero at first */
	void (*init)(void *state, const struct app *app); /* what is not; NULL: nothing */
	void (*done)(void *state);                        /* what it owns goes, not itself; NULL: nothing does */
	/* The snapshot, the context, or the table's numbers are others. Not called before there is a snapshot. */
	void (*changed)(void *state, struct app *app);
	/* It comes to the front (or stays there) for a subject; of a tab: it was chosen, and kind is NONE. */
	void (*opened)(void *state, struct app *app, const struct subject *subject);
	/* Asked several times a second, in front or not. Return: whether there is something new to draw. */
	bool (*poll)(void *state, struct app *app);
	void (*draw)(void *state, struct app *app, const struct rect *body);
	/* The footer; NULL: keys of @footer_keys. */
	void (*draw_footer)(void *state, struct app *app, const struct rect *footer);
	const struct key_help *footer_keys;
	/* Return: whether the key meant something here; else the common keys are tried. */
	bool (*key)(void *state, struct app *app, int key);
	/* Return: whether the cursor stands on what was pressed, so that a second press there is Enter. NULL: never. */
	bool (*mouse)(void *state, struct app *app, const struct mouse *mouse);
	/* What the cursor stands on: Enter opens it, a, b and r are about it. NULL: nothing ever. */
	void (*subject)(void *state, const struct app *app, struct subject *ret);
	const struct key_help *help; /* ends with an entry of NULL keys */
	/* What is kept until the next start, told with config_put(); NULL: nothing. */
	void (*save)(void *state, struct config *config);
	/* One of these, before the first snapshot. Return: whether the name and the value are known. */
	bool (*restore)(void *state, const char *name, const char *value);
	bool needs_nothing; /* it shows something also before there is a snapshot */
};

/*
 * app_init - all screens, and nothing to show yet. app_done - also after an error.
 * @options:  borrowed
 * Return: 0 or ERR_NOMEM.
 */
int app_init(struct app *app, const struct tui_options *options, struct error *err);
void app_done(struct app *app);

/*
 * app_poll - look whether there is something new to show, and take it
 * Return: 0; ERR_NOMEM. Trouble with the database is shown, and no error.
 */
int app_poll(struct app *app, bool *ret_news, struct error *err);

/* app_key, app_mouse - what somebody did. None may follow before app_poll() where app or app->live became stale. */
void app_key(struct app *app, int key);
void app_mouse(struct app *app, const struct mouse *mouse);

/* app_draw - everything, on a terminal of this size that was erased. */
void app_draw(struct app *app, int rows, int columns);

/* screens - the table. Return: its first entry, @ret_count how many. */
const struct screen *const *screens(size_t *ret_count);

/* screen_state - the state of a screen. */
void *screen_state(const struct app *app, const struct screen *screen);

/* screen_subject shows any subject, screen_ports a node; the others are tabs, or what a key opens. */
extern const struct screen screen_overview, screen_links, screen_balance, screen_ports, screen_events, screen_snapshots,
	screen_subject, screen_text, screen_help, screen_setup;

/* screen_links_show - go to the links, those that a filter (tui/model/filter.h) lets through. */
void screen_links_show(struct app *app, const char *typed);

/* app_screen - the one in front. app_subject - what it was opened for. */
const struct screen *app_screen(const struct app *app);
const struct subject *app_subject(const struct app *app);

/* app_show - go to a tab: the path begins anew. */
void app_show(struct app *app, const struct screen *screen);

/* app_open - one step deeper: a screen for a subject. app_back - one step back; at a tab nothing happens. */
void app_open(struct app *app, const struct screen *screen, const struct subject *subject);
void app_back(struct app *app);

/* subject_of_port, subject_of_node - by their index in the shown fabric. subject_of_group - by its shape. */
struct subject subject_of_port(const struct app *app, uint32_t port);
struct subject subject_of_node(const struct app *app, uint32_t node);
struct subject subject_of_group(const struct app *app, const struct shape_group *group);

/* subject_finding - the open finding of a subject, or NULL. */
const struct finding_row *subject_finding(const struct app *app, const struct subject *subject);

/* subject_name - as shown in the path: "leaf01/12", "leaf01 uplinks". Return: @ret. */
const char *subject_name(const struct app *app, const struct subject *subject, char *ret, size_t size);

/* app_subject_here - what the cursor of the screen in front stands on; kind NONE: nothing. app_open_here - open it. */
struct subject app_subject_here(const struct app *app);
void app_open_here(struct app *app);

/* app_message - a line that is read for some seconds. */
__attribute__((format(printf, 2, 3))) void app_message(struct app *app, const char *fmt, ...);

/* app_set_time - show the fabric as it was at a time (wall clock; 0: as it is, from now on). */
void app_set_time(struct app *app, int64_t at_us);

/* app_brush - how things of the shown time are drawn: dim where that is too old. @cursor: it stands there. */
struct brush app_brush(const struct app *app, bool cursor);

/* app_notice - what has to be told in a line of its own, "" for nothing. Return: @ret. */
const char *app_notice(const struct app *app, char *ret, size_t size);

/* common_key - the keys that mean the same on every screen. common_help - what help says of them. */
void common_key(struct app *app, int key);
extern const struct key_help common_help[];

/* header_draw - the fabric in as many lines as the layout gives. */
void header_draw(const struct app *app, const struct rect *area);

/* tabs_draw - the screens, or the way to what is shown. tabs_at - the tab at a column, or NULL. */
void tabs_draw(const struct app *app, const struct rect *area);
const struct screen *tabs_at(const struct app *app, int x);

/* footer_draw_keys - a line of "key meaning" pairs, as many as fit. */
void footer_draw_keys(const struct app *app, const struct rect *area, const struct key_help *keys);

#endif
