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
#include "tui/model/live.h"
#include "tui/screens/app.h"
#include "tui/screens/screen_text.h"
#include "tui/tui.h"

#define MESSAGE_US (6 * US_PER_S)
#define MINUTE_US (60 * US_PER_S)
#define HOUR_US (60 * MINUTE_US)

const struct key_help common_help[] = {
	{ "NAVIGATION", NULL },
	{ "1 2 3 ... Tab", "select a screen; Shift-Tab: previous" },
	{ "Enter", "open the details of the selected item" },
	{ "Esc", "back, along the path in the second line" },
	{ "p", "front panel of the selected switch or host" },
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

static void go_by(struct app *app, int64_t span_us)
{
	int64_t at_us;

	if (!app->live->shown || (!app->live->at_us && span_us > 0))
		return;
	at_us = app->live->shown->sweep.wall_us + span_us;
	app_set_time(app, at_us >= app->live->status.last.wall_us ? 0 : at_us);
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

static void go_to_begin(struct app *app)
{
	const struct finding_row *row = finding_here(app);

	if (row)
		app_set_time(app, row->finding.since_us);
	else
		app_message(app, "no open finding selected: b goes to the start of a finding");
}

/* Input of the prompts for an acknowledgement so far. */
struct acknowledge_input {
	struct finding finding; /* only kind, place and subject are used */
	char reason[256];
};

/* Parse a span ("8h", "2d"); "": no end. @ret_us: wall clock; 0: until revoked. */
static int parse_until(const char *typed, int64_t now_us, int64_t *ret_us, struct error *err)
{
	int64_t span_us = 0;
	int code;

	while (*typed == ' ')
		typed++;
	if (!*typed) {
		*ret_us = 0;
		return 0;
	}
	code = when_span_parse(typed, &span_us, err);
	if (code < 0)
		return code;
	if (span_us > INT64_MAX - now_us)
		return err_set(err, ERR_USAGE, "'%.40s' is too long: leave it empty for no end",
			       typed);
	*ret_us = now_us + span_us;
	return 0;
}

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

static void until_entered(struct app *app, const char *typed)
{
	struct acknowledgement given = { 0 };
	struct error trouble = { 0 };

	if (parse_until(typed, clock_wall_us(app->options->clock), &given.until_us, &trouble) < 0) {
		app_message(app, "%s", trouble.text);
		prompt_start(app->prompt, "duration (8h, 2d; empty = until revoked): ", typed, until_entered);
		return;
	}
	memcpy(given.reason, app->acknowledge_input->reason, sizeof(given.reason));
	store_acknowledgement(app, &given, "acknowledged");
}

static void reason_entered(struct app *app, const char *typed)
{
	char *reason = app->acknowledge_input->reason;

	text_sanitise(typed, strlen(typed), reason, sizeof(app->acknowledge_input->reason));
	if (!*reason) {
		app_message(app, "not acknowledged: a reason is required");
		return;
	}
	prompt_start(app->prompt, "duration (8h, 2d; empty = until revoked): ", "", until_entered);
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

/* Prompts for a reason and a duration, or to revoke an acknowledgement. @row: an open finding. */
static void acknowledge_start(struct app *app, const struct finding_row *row)
{
	const struct acknowledgement *given = &row->acknowledged;
	char label[sizeof(app->prompt->label)];

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
	if (given->at_us) {
		app_message(app, "acknowledged by %s: %s", given->person, given->reason);
		prompt_start(app->prompt, "revoke the acknowledgement? (y, n): ", "", revoke_entered);
		return;
	}
	/* Cut to whole UTF-8 characters. */
	snprintf(label, sizeof(label), "reason to acknowledge %.*s: ", (int)text_prefix_bytes(row->finding.subject, 30),
		 row->finding.subject);
	prompt_start(app->prompt, label, "", reason_entered);
}

static void acknowledge_here(struct app *app)
{
	const struct finding_row *row = finding_here(app);

	if (row)
		acknowledge_start(app, row);
	else
		app_message(app, "no open finding selected: a acknowledges a finding");
}

static void step_tab(struct app *app, int step)
{
	size_t count, tabs = 0, here = 0;
	const struct screen *const *all = screens(&count);

	while (tabs < count && all[tabs]->is_tab) {
		if (all[tabs] == app->path[0].screen)
			here = tabs;
		tabs++;
	}
	app_show(app, all[(here + tabs + (size_t)step) % tabs]);
}

static bool tab_key(struct app *app, int key)
{
	size_t count, index = (size_t)(key - '1');
	const struct screen *const *all = screens(&count);

	if (key < '1' || key > '9' || index >= count || !all[index]->is_tab)
		return false;
	app_show(app, all[index]);
	return true;
}

static bool time_key(struct app *app, int key)
{
	switch (key) {
	case '<':
		live_step(app->live, -1);
		return true;
	case '>':
		live_step(app->live, 1);
		return true;
	case '{':
		go_by(app, -MINUTE_US);
		return true;
	case '}':
		go_by(app, MINUTE_US);
		return true;
	case '[':
		go_by(app, -HOUR_US);
		return true;
	case ']':
		go_by(app, HOUR_US);
		return true;
	case 't':
		prompt_start(app->prompt, "go to (-10m, 14:00, yesterday 14:00): ", "", go_to_typed);
		return true;
	case 'b':
		go_to_begin(app);
		return true;
	case 'L':
		app_set_time(app, 0);
		return true;
	case ' ':
		if (app->live->at_us)
			app_set_time(app, 0);
		else
			live_pause(app->live);
		return true;
	case 'm':
		if (app->live->shown) {
			live_set_baseline(app->live, app->live->shown->sweep.wall_us);
			app_message(app, "rates are since this time; M ends it");
		}
		return true;
	case 'M':
		live_set_baseline(app->live, 0);
		return true;
	default:
		return false;
	}
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

void common_key(struct app *app, int key)
{
	const struct subject none = { .kind = SUBJECT_NONE };
	struct subject here;

	if (tab_key(app, key) || time_key(app, key))
		return;
	switch (key) {
	case 'q':
	case KEY_SPECIAL(KEY_F(10)):
		app->quit = true;
		break;
	case '?':
	case 'h':
	case KEY_SPECIAL(KEY_F(1)):
		app_open(app, &screen_help, &none);
		break;
	case 'S':
	case KEY_SPECIAL(KEY_F(2)):
		app_open(app, &screen_setup, &none);
		break;
	case '\t':
		step_tab(app, 1);
		break;
	case KEY_SPECIAL(KEY_BTAB):
		step_tab(app, -1);
		break;
	case KEY_ESCAPE:
		app_back(app);
		break;
	case '\r':
		app_open_here(app);
		break;
	case 'a':
		acknowledge_here(app);
		break;
	case 'r':
		here = app_subject_here(app);
		text_report(app, &here);
		break;
	case 'p':
		open_panel_here(app);
		break;
	case KEY_CTRL('l'):
		clearok(curscr, TRUE);
		break;
	default:
		break;
	}
}
