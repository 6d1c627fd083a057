/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/screens/acknowledge.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/login.h"
#include "base/text.h"
#include "base/when.h"
#include "tui/draw/prompt.h"
#include "tui/model/context.h"
#include "tui/model/live.h"
#include "tui/screens/app.h"
#include "tui/tui.h"

/* "" is without an end, else a span ("8h", "2d"). @ret_us: wall clock; 0: until it is taken back. */
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

/* Write it, and show it at once. */
static void say(struct app *app, struct acknowledgement *said, const char *done)
{
	struct error trouble = { 0 };
	char until[WHEN_SIZE];

	said->at_us = clock_wall_us(app->options->clock);
	login_name(said->person, sizeof(said->person));
	if (finding_acknowledge(app->options->db_path, &app->acknowledge_input->finding, said, &trouble) < 0) {
		app_message(app, "not written: %s", trouble.text);
		return;
	}
	app->stale = true;
	if (app->live->at_us)
		app_message(app, "%s; the screen shows an earlier time (L: live)", done);
	else if (said->until_us > said->at_us)
		app_message(app, "%s until %s", done, when_format_local(said->until_us, until));
	else
		app_message(app, "%s", done);
}

static void take_until(struct app *app, const char *typed)
{
	struct acknowledgement said = { 0 };
	struct error trouble = { 0 };

	if (parse_until(typed, clock_wall_us(app->options->clock), &said.until_us, &trouble) < 0) {
		app_message(app, "%s", trouble.text);
		prompt_start(app->prompt, "duration (8h, 2d; empty = until revoked): ", typed, take_until);
		return;
	}
	memcpy(said.reason, app->acknowledge_input->reason, sizeof(said.reason));
	say(app, &said, "acknowledged");
}

static void take_reason(struct app *app, const char *typed)
{
	char *reason = app->acknowledge_input->reason;

	text_sanitise(typed, strlen(typed), reason, sizeof(app->acknowledge_input->reason));
	if (!*reason) {
		app_message(app, "not acknowledged: a reason is required");
		return;
	}
	prompt_start(app->prompt, "duration (8h, 2d; empty = until revoked): ", "", take_until);
}

static void take_back(struct app *app, const char *typed)
{
	/* Over at once: until the time at which it was said. */
	struct acknowledgement said = { .until_us = clock_wall_us(app->options->clock) };

	if (typed[0] == 'y' || typed[0] == 'Y')
		say(app, &said, "acknowledgement revoked");
	else
		app_message(app, "acknowledgement unchanged");
}

void acknowledge_start(struct app *app, const struct finding_row *row)
{
	const struct acknowledgement *said = &row->acknowledged;
	char label[sizeof(app->prompt->label)];

	*app->acknowledge_input = (struct acknowledge_input){ .finding = row->finding };
	/* Both point into a row that may be freed before the input is complete. */
	app->acknowledge_input->finding.cause = app->acknowledge_input->finding.advice = "";
	app->acknowledge_input->finding.number_count = 0;
	if (said->at_us) {
		app_message(app, "acknowledged by %s: %s", said->person, said->reason);
		prompt_start(app->prompt, "revoke the acknowledgement? (y, n): ", "", take_back);
		return;
	}
	/* Whole characters: a name may hold others than ASCII. */
	snprintf(label, sizeof(label), "reason to acknowledge %.*s: ", (int)text_prefix_bytes(row->finding.subject, 30),
		 row->finding.subject);
	prompt_start(app->prompt, label, "", take_reason);
}
