/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* keys.c - keys with the same meaning on every screen */
#include <curses.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/process.h"
#include "base/text.h"
#include "base/when.h"
#include "tui/draw/key.h"
#include "tui/draw/prompt.h"
#include "tui/model/context.h"
#include "tui/model/format.h"
#include "tui/model/live.h"
#include "tui/screens/app.h"
#include "tui/tui.h"

#define MESSAGE_US (6 * US_PER_S)

/* Columns of the name in the prompt for an acknowledgement. */
enum { ACKNOWLEDGE_NAME = 100 };

#define MINUTE_US (60 * US_PER_S)
#define HOUR_US (60 * MINUTE_US)

const struct key_help common_help[] = {
	{ "NAVIGATION", NULL },
	{ "1 2 3 ... Tab", "select a screen; Shift-Tab: previous" },
	{ "Enter", "open the details of the selected item" },
	{ "Esc", "back, along the path in the second line" },
	{ "p", "front panel of the selected switch or host" },
	{ "N", "list of all nodes" },
	{ "TIME", NULL },
	{ "< >", "previous sweep, next sweep" },
	{ "{ } [ ]", "a minute back, forward; an hour back, forward" },
	{ "t", "go to a time: -10m, 14:00, yesterday 14:00, 2026-11-20 14:00" },
	{ "b", "go to the time the selected finding opened" },
	{ "L", "return to live data" },
	{ "Space", "pause or resume the display; collection continues" },
	{ "m M", "set a baseline: rates since this time; M: rates of one sweep" },
	{ "ACTIONS", NULL },
	{ "a", "acknowledge the selected finding with reason and duration; or revoke it" },
	{ "r", "report on the selected item, as printed by ibwire report" },
	{ "DISPLAY", NULL },
	{ "F1 ? h", "help; the same key, Esc or q closes it" },
	{ "F2 S", "setup: colours, characters, refresh, mouse, columns; saved on exit" },
	{ "F3 F4 F6", "search, filter and sort, like / and s" },
	{ "^L", "redraw the screen" },
	{ "^Z", "suspend to the shell; fg resumes" },
	{ "q F10", "quit" },
	{ NULL, NULL },
};

void app_message(struct app *app, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(app->message, sizeof(app->message), fmt, args);
	va_end(args);
	app->message_until_us = clock_boottime_us(app->options->clock) + MESSAGE_US;
}

void app_set_time(struct app *app, int64_t at_us)
{
	app->message[0] = '\0'; /* the message was about another time */
	live_set_time(app->live, at_us);
}

void app_set_limit(struct app *app, const char *name, int64_t from_us, int64_t until_us)
{
	snprintf(app->limit.name, sizeof(app->limit.name), "%s", name);
	app->limit.from_us = from_us;
	app->limit.until_us = until_us;
	app_set_time(app, until_us);
	live_set_baseline(app->live, from_us);
}

void app_clear_limit(struct app *app)
{
	if (!app->limit.name[0])
		return;
	app->limit.name[0] = '\0';
	live_set_baseline(app->live, 0);
}

static void go_by(struct app *app, int64_t span_us)
{
	int64_t at_us;

	if (!app->live->shown || (!app->live->at_us && span_us > 0))
		return;
	at_us = app->live->shown->sweep.wall_us + span_us;
	if (at_us < app->live->status.first_wall_us)
		at_us = app->live->status.first_wall_us;
	app_set_time(app, at_us >= app->live->status.last.wall_us ? 0 : at_us);
}

static void go_by_sweeps(struct app *app, int64_t sweeps)
{
	live_step(app->live, sweeps);
}

static void go_to_typed(struct app *app, const char *typed)
{
	struct error trouble = { 0 };
	int64_t at_us = 0;

	if (!typed[0])
		return;
	if (when_parse(typed, app->now_us, &at_us, &trouble) < 0) {
		app_message(app, "%s", trouble.text);
		prompt_start(app->prompt, "go to: ", typed, go_to_typed);
		return;
	}
	app_set_time(app, at_us >= app->now_us ? 0 : at_us);
}

/* The finding at the cursor, or the worst one at the selected port or node. */
static const struct finding_row *finding_here(const struct app *app)
{
	const struct subject subject = app_subject_here(app);

	if (subject.kind == SUBJECT_FINDING)
		return subject_finding(app, &subject);
	if (subject.kind == SUBJECT_NODE || subject.kind == SUBJECT_PORT || subject.kind == SUBJECT_GROUP)
		return context_finding(app->context, subject.node_guid, subject.port);
	return NULL;
}

/* The beginning of the selected finding; from there, the sweep that opened it. */
static void go_to_begin(struct app *app)
{
	const struct finding_row *row = finding_here(app);
	int64_t first_us = app->live->status.first_wall_us;
	char began[WHEN_SIZE], reported[WHEN_SIZE];
	bool again = app->begin.shown_us && app->live->at_us == app->begin.shown_us;

	if (!row && !again) {
		app_message(app, "no open finding selected: b goes to the start of a finding");
		return;
	}
	if (!again) {
		app->begin.since_us = row->finding.since_us;
		app->begin.opened_us = row->opened_us;
		app->begin.shown_us = app->begin.since_us > first_us ? app->begin.since_us : first_us;
	}
	format_time(app->begin.since_us, app->begin.opened_us - app->begin.since_us < 12 * HOUR_US ? "%H:%M:%S" :
		    "%F %H:%M:%S", began, sizeof(began));
	format_time(app->begin.opened_us, "%H:%M:%S", reported, sizeof(reported));
	/* The sweep that opened the finding is the first that shows it. */
	app_set_time(app, again ? app->begin.opened_us : app->begin.shown_us);
	if (again)
		app_message(app, "reported %s, began %s", reported, began);
	else
		app_message(app, "began %s, reported %s (b)", began, reported);
}

/* Input of the prompts for an acknowledgement so far. */
struct acknowledge_input {
	struct finding finding; /* only kind, place and subject are used */
	char reason[256];
};

/* Store the acknowledgement and update the screen. */
static void store_acknowledgement(struct app *app, struct acknowledgement *given, const char *done)
{
	struct error trouble = { 0 };
	char until[WHEN_SIZE];

	given->at_us = clock_wall_us(app->options->clock);
	login_name(given->person, sizeof(given->person));
	if (finding_acknowledge(app->options->db_path, &app->acknowledge_input->finding, given, &trouble) < 0) {
		app_message(app, "not written: %s", trouble.text);
		return;
	}
	app->stale = true;
	if (app->live->at_us)
		app_message(app, "%s; the screen shows an earlier time (L: live)", done);
	else if (given->until_us > given->at_us)
		app_message(app, "%s until %s", done, when_format_local(given->until_us, until));
	else
		app_message(app, "%s", done);
}

static void ask_duration(struct app *app, const char *text);

/* @typed: a span ("8h", "2d"); "": until revoked. */
static void duration_entered(struct app *app, const char *typed)
{
	struct acknowledgement given = { 0 };
	struct error trouble = { 0 };
	int64_t span_us = 0;

	typed += strspn(typed, " ");
	if (*typed && when_span_parse(typed, &span_us, &trouble) < 0) {
		app_message(app, "%s", trouble.text);
		ask_duration(app, typed);
		return;
	}
	if (*typed)
		given.until_us = clock_wall_us(app->options->clock) + span_us;
	memcpy(given.reason, app->acknowledge_input->reason, sizeof(given.reason));
	store_acknowledgement(app, &given, "acknowledged");
}

static void ask_duration(struct app *app, const char *text)
{
	prompt_start(app->prompt, "duration (8h, 2d; empty = until revoked): ", text, duration_entered);
}

static void reason_entered(struct app *app, const char *typed)
{
	char *reason = app->acknowledge_input->reason;

	text_sanitise(typed, strlen(typed), reason, sizeof(app->acknowledge_input->reason));
	if (*reason)
		ask_duration(app, "");
	else
		app_message(app, "not acknowledged: a reason is required");
}

static void revoke_entered(struct app *app, const char *typed)
{
	/* An acknowledgement that has already ended revokes it. */
	struct acknowledgement given = { .until_us = clock_wall_us(app->options->clock) };

	if (typed[0] == 'y' || typed[0] == 'Y')
		store_acknowledgement(app, &given, "acknowledgement revoked");
	else
		app_message(app, "acknowledgement unchanged");
}

/* Prompt for a reason and a duration, or to revoke an acknowledgement. */
static void acknowledge_here(struct app *app)
{
	const struct finding_row *row = finding_here(app);
	const struct acknowledgement *given;
	char label[sizeof(app->prompt->label)];

	if (!row) {
		app_message(app, "no open finding selected: a acknowledges a finding");
		return;
	}
	if (!app->acknowledge_input)
		app->acknowledge_input = malloc(sizeof(*app->acknowledge_input));
	if (!app->acknowledge_input) {
		app_message(app, "not enough memory to acknowledge a finding");
		return;
	}
	*app->acknowledge_input = (struct acknowledge_input){ .finding = row->finding };
	/* These point into a row that may be freed before the input is complete. */
	app->acknowledge_input->finding.cause = app->acknowledge_input->finding.advice = "";
	app->acknowledge_input->finding.number_count = 0;
	given = &row->acknowledged;
	if (given->at_us) {
		app_message(app, "acknowledged by %s: %s", given->person, given->reason);
		prompt_start(app->prompt, "revoke the acknowledgement? (y, n): ", "", revoke_entered);
		return;
	}
	/* A very long name is cut to whole UTF-8 characters. */
	snprintf(label, sizeof(label), "reason to acknowledge %.*s: ",
		 (int)text_prefix_bytes(row->finding.subject, ACKNOWLEDGE_NAME), row->finding.subject);
	prompt_start(app->prompt, label, "", reason_entered);
}

/* The next or previous tab, cyclic. */
static void step_tab(struct app *app, int64_t step)
{
	size_t here = 0;

	while (screens[here] != app->path[0].screen)
		here++;
	app_show(app, screens[(here + TAB_COUNT + (size_t)step) % TAB_COUNT]);
}

static void ask_time(struct app *app)
{
	prompt_start(app->prompt, "go to (-10m, 14:00, yesterday 14:00): ", "", go_to_typed);
}

static void follow_newest(struct app *app)
{
	app_clear_limit(app);
	app_set_time(app, 0);
}

static void pause_or_resume(struct app *app)
{
	if (app->live->at_us)
		follow_newest(app);
	else
		live_pause(app->live);
}

static void set_baseline(struct app *app)
{
	if (!app->live->shown)
		return;
	live_set_baseline(app->live, app->live->shown->sweep.wall_us);
	app_message(app, "rates are since this time; M ends it");
}

static void end_baseline(struct app *app)
{
	app_clear_limit(app);
	live_set_baseline(app->live, 0);
}

static void report_here(struct app *app)
{
	const struct subject here = app_subject_here(app);

	text_report(app, &here);
}

/* Open the front panel of the selected switch or host. */
static void open_panel_here(struct app *app)
{
	struct subject subject = app_subject_here(app);
	const struct finding_row *row = subject_finding(app, &subject);

	if (row)
		subject = subject_of_finding(row);
	if (!subject.node_guid)
		app_message(app, "no switch or host selected: p shows its front panel");
	else if (app_screen(app) != &screen_ports)
		app_open(app, &screen_ports, &subject);
}

static void open_help(struct app *app)
{
	app_open(app, &screen_help, &(struct subject){ .kind = SUBJECT_NONE });
}

static void open_nodes(struct app *app)
{
	app_open(app, &screen_nodes, &(struct subject){ .kind = SUBJECT_NONE });
}

static void open_setup(struct app *app)
{
	app_open(app, &screen_setup, &(struct subject){ .kind = SUBJECT_NONE });
}

static void redraw(struct app *app)
{
	(void)app;
	clearok(curscr, TRUE);
}

static void quit(struct app *app)
{
	app->quit = true;
}

static const struct {
	int key;
	void (*run)(struct app *app);
} actions[] = {
	{ '\r', app_open_here }, { KEY_ESCAPE, app_back }, { 'p', open_panel_here },
	{ 't', ask_time }, { 'b', go_to_begin }, { 'L', follow_newest }, { ' ', pause_or_resume },
	{ 'm', set_baseline }, { 'M', end_baseline }, { 'a', acknowledge_here }, { 'r', report_here },
	{ '?', open_help }, { 'h', open_help }, { KEY_SPECIAL(KEY_F(1)), open_help },
	{ 'N', open_nodes }, { 'S', open_setup }, { KEY_SPECIAL(KEY_F(2)), open_setup },
	{ KEY_CTRL('l'), redraw }, { 'q', quit }, { KEY_SPECIAL(KEY_F(10)), quit },
};

/* Steps by sweeps, by time, and by tabs. */
static const struct {
	int key;
	void (*run)(struct app *app, int64_t step);
	int64_t step;
} steps[] = {
	{ '<', go_by_sweeps, -1 }, { '>', go_by_sweeps, 1 },
	{ '{', go_by, -MINUTE_US }, { '}', go_by, MINUTE_US }, { '[', go_by, -HOUR_US }, { ']', go_by, HOUR_US },
	{ '\t', step_tab, 1 }, { KEY_SPECIAL(KEY_BTAB), step_tab, -1 },
};

/* "z", "^A", "F7", "Delete" */
static const char *write_key(int key, char *ret, size_t size)
{
	const char *name = key < 0 ? keyname(-key) : NULL;

	if (name && !strncmp(name, "KEY_F(", 6))
		snprintf(ret, size, "F%d", atoi(name + 6));
	else if (key < 0)
		snprintf(ret, size, "%s", name ? name + 4 * !strncmp(name, "KEY_", 4) : "this key");
	else if (key < ' ' || key == KEY_DELETE)
		snprintf(ret, size, "%s", key == KEY_DELETE ? "Backspace" : unctrl((chtype)key));
	else if (key < 0x7f || (key >= 0xa0 && key < 0x250)) /* Latin letters; others may combine, or have no glyph */
		snprintf(ret, size, "%lc", (wint_t)key);
	else
		snprintf(ret, size, "U+%04X", (unsigned)key);
	return ret;
}

void common_key(struct app *app, int key)
{
	char name[32];

	if (key >= '1' && key < '1' + TAB_COUNT) {
		app_show(app, screens[key - '1']);
		return;
	}
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		if (steps[i].key == key) {
			steps[i].run(app, steps[i].step);
			return;
		}
	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
		if (actions[i].key == key) {
			actions[i].run(app);
			return;
		}
	app_message(app, "%s has no function here; ? lists the keys", write_key(key, name, sizeof(name)));
}
