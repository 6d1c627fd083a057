/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* report.c - the report of what the cursor stands on, as `ibwire report` prints it */
#include <inttypes.h>
#include <stdio.h>

#include "base/when.h"
#include "tui/screens/app.h"
#include "tui/screens/screen_text.h"

enum { ARGS_MOST = 16 };

size_t text_arguments(const char **list, size_t count, size_t most, const char *const *more)
{
	for (size_t i = 0; more && more[i] && count < most; i++)
		list[count++] = more[i];
	list[count] = NULL;
	return count;
}

void text_report(struct app *app, const struct subject *subject)
{
	const struct finding_row *row = subject_finding(app, subject);
	const struct subject place = row ? subject_of_finding(row) : *subject;
	char who[32], at[WHEN_SIZE], name[NODE_NAME_SIZE * 2 + 16], title[sizeof(name) + 16];
	const char *args[ARGS_MOST + 1] = { "report", who, "--db", app->options->db_path, "--color", "never" };
	const char *const past[] = { "--at", at, NULL };
	const struct text_command command = { .title = title, .args = args };
	size_t count = 6;

	if (!app->live.shown || !place.node_guid || (place.kind != SUBJECT_PORT && place.kind != SUBJECT_NODE &&
						     place.kind != SUBJECT_GROUP)) {
		app_say(app, "a report is of a port, a node or a finding at one: the cursor stands on none");
		return;
	}
	if (place.kind == SUBJECT_PORT)
		snprintf(who, sizeof(who), "0x%016" PRIx64 "/%u", place.node_guid, place.port);
	else
		snprintf(who, sizeof(who), "0x%016" PRIx64, place.node_guid);
	when_format_utc(app->live.shown->sweep.wall_us, at);
	count = text_arguments(args, count, ARGS_MOST, app->live.at_us ? past : NULL);
	text_arguments(args, count, ARGS_MOST, app->options->arguments);
	snprintf(title, sizeof(title), "report of %s", subject_name(app, &place, name, sizeof(name)));
	text_show(app, &command);
}
