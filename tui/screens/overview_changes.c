/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/screens/overview_view.h"

#include <stdio.h>
#include <string.h>

#include "tui/screens/app.h"
#include "tui/draw/draw.h"

static const char *write_times(const struct change *change, char *ret, size_t size)
{
	char from[16], to[16];

	format_time(change->first_us, "%H:%M", from, sizeof(from));
	format_time(change->last_us, "%H:%M", to, sizeof(to));
	if (strcmp(from, to))
		snprintf(ret, size, "%s-%s", from, to);
	else
		snprintf(ret, size, "%s", to);
	return ret;
}

/* "1h", or less where more happened than is kept. */
static const char *write_told(const struct changes *changes, int64_t shown_us, char *ret, size_t size)
{
	if (changes->since_us <= shown_us - OVERVIEW_CHANGES_US)
		snprintf(ret, size, "1h");
	else
		format_age(shown_us - changes->since_us, ret, size);
	return ret;
}

/* One line for each, or as many as fit into the only one. */
void overview_draw_changes(const struct overview_view *view, const struct app *app, const struct brush *brush,
			   const struct rect *body)
{
	enum { LABEL = 12, SEGMENTS = 8 };
	const struct changes *changes = &view->changes;
	int y = body->y + view->plan.changes, rows = view->plan.changes_rows, i;
	int x = body->x + LABEL, columns = body->columns - LABEL;
	struct segment segments[SEGMENTS];
	char times[40], text[400];
	size_t count = 0;

	if (!rows)
		return;
	snprintf(text, sizeof(text), "CHANGES %s",
		 write_told(changes, app->live.shown->sweep.wall_us, times, sizeof(times)));
	draw_cell(brush, y, body->x, body->columns, text, ALIGN_LEFT, ROLE_STRONG);
	if (!changes->count) {
		draw_cell(brush, y, x, columns, "nothing", ALIGN_LEFT, ROLE_FAINT);
		return;
	}
	for (i = 0; rows > 1 && i < rows; i++) {
		const struct change *change = &changes->list[i];

		snprintf(text, sizeof(text), "%s  %s", write_times(change, times, sizeof(times)), change->text);
		draw_cell(brush, y + i, x, columns, text, ALIGN_LEFT, ROLE_TEXT);
	}
	if (rows > 1 && (size_t)rows < changes->count) {
		snprintf(text, sizeof(text), "%d of %zu", rows, changes->count);
		draw_cell(brush, y + 1, body->x, LABEL, text, ALIGN_LEFT, ROLE_FAINT);
	}
	if (rows > 1)
		return;
	for (; count < SEGMENTS && count < changes->count; count++) {
		const struct change *change = &changes->list[count];
		char at[16];

		format_time(change->last_us, "%H:%M", at, sizeof(at));
		segments[count].role = ROLE_TEXT;
		segments[count].rank = (int)count;
		snprintf(segments[count].text, sizeof(segments[count].text), "%s %s", at, change->brief);
	}
	draw_segments(brush, y, x, columns, segments, count);
}
