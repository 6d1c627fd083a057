/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * app.h - state shared by the screens, and the interface of a screen
 *
 * Each screen is one constant struct screen in the table "screens" of app.c, and owns its state. It rebuilds
 * what it shows if app->generation has changed.
 */
#ifndef IBWIRE_TUI_SCREENS_APP_H
#define IBWIRE_TUI_SCREENS_APP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tui/model/layout.h"
#include "tui/model/role.h"
#include "tui/model/subject.h"

struct acknowledge_input;
struct brush;
struct call;
struct call_result;
struct error;
struct finding_row;
struct job_list;
struct list;
struct list_screen;
struct live;
struct mouse;
struct port_table;
struct prompt;
struct screen;
struct setup;
struct shape_group;
struct snapshot_context;
struct table_view;
struct text;
struct theme;
struct tui_child_state;
struct trend;
struct tui_options;

/* Number of screens, and of those that are tabs. */
enum { SCREEN_COUNT = 12, TAB_COUNT = 7 };

/* The path from a tab to the current page; Esc goes back along it. */
#define PATH_MAX_DEPTH 8

struct place {
	const struct screen *screen;
	struct subject subject; /* what it shows; SUBJECT_NONE for a tab */
};

struct app {
	const struct tui_options *options;
	struct theme *theme;
	struct setup *setup;
	struct live *live;
	struct snapshot_context *context; /* shape, findings and events of live->shown */
	struct port_table *table; /* numbers, names and sums of all ports of live->shown */
	struct trend *trend;      /* load over the last minutes; trend->wanted: a screen draws it */
	struct job_list *jobs;    /* loaded by the screens that show them */
	/* Histories are limited to this window (wall clock); until_us 0: to the shown time. name "": no limit. */
	struct {
		char name[160]; /* "job 4711" */
		int64_t from_us, until_us;
	} limit;
	struct tui_child_state *child;
	struct prompt *prompt;
	struct { int64_t since_us, opened_us, shown_us; } begin; /* of the finding of the last key b; shown 0: none */
	struct acknowledge_input *acknowledge_input; /* keys.c; NULL: not yet used */
	uint64_t generation;  /* changes with the snapshot, the context or the table; 0: nothing to show yet */
	bool command_runs;    /* in a thread, and its end is to be seen soon */
	bool stale;           /* table and context have to be rebuilt for the same snapshot */
	char message[256];    /* shown in the notice line until message_until_us; "": none */
	int64_t message_until_us;
	int64_t started_us;   /* boottime */
	int64_t now_us;       /* wall clock of this iteration of the main loop */
	struct place path[PATH_MAX_DEPTH]; /* the first one is a tab */
	size_t depth;         /* places in path, at least 1 */
	struct rect body;     /* of the last frame */
	struct {
		int y, x;
		int64_t at_us;          /* boottime */
		struct subject subject; /* selected by the click */
	} press;              /* the last click not followed by a key; at_us 0: none */
	void *states[SCREEN_COUNT];
	void *parts;          /* allocation behind the pointers above */
	bool quit;
};

/* One line of help. */
struct key_help {
	const char *keys, *text;
};

/* A setting that is a member of a state. Lists end with an entry of NULL name. */
struct setting {
	const char *name;
	enum { SETTING_FLAG, SETTING_CHOICE } kind; /* a bool, or an enum by its words */
	size_t offset;
	const char *const *words; /* SETTING_CHOICE: NULL-terminated */
};

/* A list of a screen (tui/model/table.h). */
struct screen_table {
	const struct table_view *view;
	size_t offset; /* of its struct list_screen in the state */
};

struct screen {
	const char *name; /* of a tab: its title in the header */
	size_t size;      /* of its state, which is zeroed at first */
	void (*init)(void *state, const struct app *app); /* initializes the state; NULL: zero suffices */
	void (*done)(void *state);                        /* frees what the state owns, not itself; NULL: nothing */
	/* The screen is opened, or already open, for a subject; SUBJECT_NONE for a tab. */
	void (*opened)(void *state, struct app *app, const struct subject *subject);
	/* Called several times per second, visible or not. Return: whether a redraw is needed. */
	bool (*poll)(void *state, struct app *app);
	/*
	 * The lists of the screen, ending with a view NULL; NULL: none. The visible one (NULL function: the first) gets
	 * keys and clicks that the screen does not handle, and does what is NULL below.
	 */
	const struct screen_table *tables;
	size_t (*table)(void *state, const struct app *app);
	void (*draw)(void *state, struct app *app, const struct rect *body);
	/* Draws the footer; NULL: footer_keys. */
	void (*draw_footer)(void *state, struct app *app, const struct rect *footer);
	const struct key_help *footer_keys;
	/* Return: whether the key was handled; else those of the list and the common keys are tried. NULL: none. */
	bool (*key)(void *state, struct app *app, int key);
	/* Return: whether the click selected a row, so that a second click acts as Enter. NULL: app_move_list(). */
	bool (*mouse)(void *state, struct app *app, const struct mouse *mouse);
	/* The list whose cursor keys and mouse move, or NULL. NULL function: none. */
	struct list *(*list)(void *state, const struct app *app);
	/* The cursor of the list was moved by a key or the mouse. NULL: nothing to do. */
	void (*moved)(void *state, struct app *app);
	/* The selected subject, for Enter, a, b and r. NULL: never any. */
	void (*subject)(void *state, const struct app *app, struct subject *ret);
	const struct key_help *help; /* ends with an entry of NULL keys */
	const struct setting *settings; /* saved on exit, and restored before the first snapshot; NULL: none */
	bool needs_nothing; /* also usable before the first snapshot */
};

/*
 * app_init - initialize all screens. app_done - also after an error.
 * @options:  borrowed
 * Return: 0 or ERR_NOMEM.
 */
int app_init(struct app *app, const struct tui_options *options, struct error *err);
void app_done(struct app *app);

/*
 * app_poll - load new data if there is any
 * Return: 0 or ERR_NOMEM. Database errors are displayed and not returned.
 */
int app_poll(struct app *app, bool *ret_news, struct error *err);

/*
 * app_key, app_mouse - handle input. If app or app->live became stale, call app_poll() before
 * the next.
 */
void app_key(struct app *app, int key);
void app_mouse(struct app *app, const struct mouse *mouse);

/* app_draw - draw the whole screen of an erased terminal of this size. */
void app_draw(struct app *app, int rows, int columns);

/* screens - all screens; the first TAB_COUNT are tabs, in the order of their numbers. */
extern const struct screen *const screens[SCREEN_COUNT];

/* screen_state - the state of a screen. */
void *screen_state(const struct app *app, const struct screen *screen);

/* screen_subject shows any subject, screen_ports a node; the others are tabs or opened by a key. */
extern const struct screen screen_overview, screen_links, screen_balance, screen_ports, screen_events, screen_snapshots,
	screen_jobs, screen_nodes, screen_subject, screen_text, screen_help, screen_setup;

/* screen_links_show - open Links with a filter (tui/model/filter.h). */
void screen_links_show(struct app *app, const char *typed);

/* screen_list - the visible one of the tables of a screen, or NULL. */
struct list_screen *screen_list(const struct app *app, const struct screen *screen);

/* list_at_start - struct screen's list of a state that begins with it. */
struct list *list_at_start(void *state, const struct app *app);

/*
 * app_move_list - move the cursor of the current screen's list by the mouse, or if that is NULL by a key
 * Return: whether it was moved.
 */
bool app_move_list(struct app *app, const struct mouse *mouse, int key);

/* app_screen - the current screen. app_subject - its subject. */
const struct screen *app_screen(const struct app *app);
const struct subject *app_subject(const struct app *app);

/* app_show - open a tab; the path starts over. */
void app_show(struct app *app, const struct screen *screen);

/*
 * app_open - open a screen for a subject, one level deeper. app_back - one level up; no effect
 * at a tab.
 */
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

/* app_subject_here - the selected subject; SUBJECT_NONE: none. app_open_here - open it. */
struct subject app_subject_here(const struct app *app);
void app_open_here(struct app *app);

/* app_message - show a line for some seconds. */
__attribute__((format(printf, 2, 3))) void app_message(struct app *app, const char *fmt, ...);

/* app_set_time - show the fabric at a time (wall clock; 0: follow the newest sweep). */
void app_set_time(struct app *app, int64_t at_us);

/*
 * app_set_limit - show a window on all screens: histories of it, and rates since its begin, at its end
 * @until_us:  wall clock; 0: it has not ended, follow the newest sweep
 * app_clear_limit - show the usual windows again; no effect without a limit.
 */
void app_set_limit(struct app *app, const char *name, int64_t from_us, int64_t until_us);
void app_clear_limit(struct app *app);

/* app_brush - the style for data of the shown time: dimmed if it is too old. @cursor: selected. */
struct brush app_brush(const struct app *app, bool cursor);

/* app_notice - the current notice, "" for none. Return: @ret. */
const char *app_notice(const struct app *app, char *ret, size_t size);

/* common_key - keys with the same meaning on all screens. common_help - their help. */
void common_key(struct app *app, int key);
extern const struct key_help common_help[];

/* host_spark - the mean utilization of the ports of a host of the shape in the last sweeps (tui/model/trend.h). */
void host_spark(const struct app *app, uint32_t host, int columns, struct text *ret);

/* header_draw - status and summary of the fabric, in as many lines as the area has. */
void header_draw(const struct app *app, const struct rect *area);

/* tabs_draw - the tabs and the path. tabs_at - the tab at a column, or NULL. */
void tabs_draw(const struct app *app, const struct rect *area);
const struct screen *tabs_at(const struct app *app, int x);

/* footer_draw_keys - "key meaning" pairs in one line, as many as fit. */
void footer_draw_keys(const struct app *app, const struct rect *area, const struct key_help *keys);

/* A command of this program; all texts are copied. */
struct text_command {
	const char *title;          /* "report of leaf01/12" */
	const char *const *args;    /* from its name on; NULL-terminated */
	size_t by;                  /* index in args of the value of --by, which y changes; 0: none */
	bool fits;                  /* its output fits any width; otherwise the screen scrolls sideways */
};

/* text_by_words - the values of --by, in the order of the key y; ends with NULL. */
extern const char *const text_by_words[];

/* text_show - run a command and open the screen with its output. */
void text_show(struct app *app, const struct text_command *command);

/* Output beyond this is dropped. */
enum { TEXT_OUTPUT_MOST = 4 << 20 };

/*
 * text_start - run a command of this program in a thread (base/call.h). @args: from its name on; NULL-terminated
 * Return: NULL: an error.
 */
struct call *text_start(const struct app *app, const char *const *args, int columns, struct error *err);

/* text_of_result - its warnings, output and error, without control characters, for free(). NULL: no memory. */
char *text_of_result(const struct call_result *result);

/* text_report - `ibwire report` of a subject as of the shown time, or a message if it has none. */
void text_report(struct app *app, const struct subject *subject);

/*
 * text_arguments - append arguments to a list
 * @list:  @most entries and a terminating NULL
 * @more:  NULL-terminated; or NULL
 * Return: the new length; what does not fit is dropped.
 */
size_t text_arguments(const char **list, size_t count, size_t most, const char *const *more);

#endif
