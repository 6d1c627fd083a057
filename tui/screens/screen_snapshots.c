/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* screen_snapshots.c - stored snapshots: list, taking one, differences */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "base/when.h"
#include "facts/saved_columns.h"
#include "storage/saved.h"
#include "base/child_command.h"
#include "tui/draw/draw.h"
#include "tui/draw/prompt.h"
#include "tui/model/live.h"
#include "tui/screens/app.h"
#include "tui/screens/list_screen.h"
#include "tui/tui.h"

/* Minimum interval of reading the list while following the fabric. */
#define RELOAD_US (3 * US_PER_S)

enum { ARGS_MOST = 32 };

struct screen_state {
	struct list_screen list;
	struct saved_info *rows;   /* oldest first */
	size_t count, capacity;
	size_t by;                 /* index into text_by_words */
	uint64_t generation;       /* of app when the list was read */
	int64_t loaded_boot_us;    /* 0: never */
	char problem[512];
	/* The snapshot being taken, and the result of the last one. */
	struct child_command run;
	char name[SAVED_NAME_SIZE];
	int64_t began_us;
	char outcome[512];
	bool failed;
};

static void done(void *data)
{
	struct screen_state *state = data;

	child_command_stop(&state->run, COMMAND_WAIT_MS);
	free(state->rows);
}

static bool add_row(void *ctx, const struct saved_info *info)
{
	struct screen_state *state = ctx;
	struct saved_info *rows = array_grow(state->rows, state->count, &state->capacity, sizeof(*rows));

	if (!rows) {
		snprintf(state->problem, sizeof(state->problem), "not enough memory for all snapshots");
		return false;
	}
	state->rows = rows;
	rows[state->count++] = *info;
	return true;
}

/* Read the list, only while the screen is visible. */
static bool update(void *data, struct app *app)
{
	struct screen_state *state = data;
	int64_t now_us = clock_boottime_us(app->options->clock);
	struct error trouble = { 0 };

	if (!app->live->reader ||
	    (state->loaded_boot_us &&
	     (state->generation == app->generation || now_us - state->loaded_boot_us < RELOAD_US)))
		return false;
	state->count = 0;
	state->problem[0] = '\0';
	if (saved_list(app->live->reader, add_row, state, &trouble) < 0)
		snprintf(state->problem, sizeof(state->problem), "%s", trouble.text);
	state->loaded_boot_us = now_us;
	state->generation = app->generation;
	return true;
}

/* --- the difference of two --- */

static void show_difference(struct screen_state *state, struct app *app, const struct saved_info *a,
			    const struct saved_info *b)
{
	const struct saved_info *before = a->wall_us <= b->wall_us ? a : b, *after = before == a ? b : a;
	const char *args[ARGS_MOST + 1] = {
		"snapshot", "--by", text_by_words[state->by], "--db", app->options->db_path, "--color", "never",
	};
	const char *const operands[] = { "--", "diff", before->name, after->name, NULL };
	char title[2 * SAVED_NAME_SIZE + 32];
	const struct text_command command = { .title = title, .args = args, .by = 2 };
	size_t count = text_arguments(args, 7, ARGS_MOST, app->options->arguments);

	text_arguments(args, count, ARGS_MOST, operands);
	snprintf(title, sizeof(title), "from %s to %s", before->name, after->name);
	text_show(app, &command);
}

/* Enter tags a snapshot, or compares with the tagged one. */
static void tag(struct screen_state *state, struct app *app, const struct saved_info *here)
{
	struct error trouble = { 0 };
	size_t tagged;

	if (!list_screen_tagged(&state->list, &tagged)) {
		if (table_tag(&state->list.table, state->list.list.cursor, &trouble) < 0)
			app_message(app, "%s", trouble.text);
		else
			app_message(app, "%s selected: press Enter on another snapshot to compare", here->name);
		return;
	}
	if (&state->rows[tagged] != here)
		show_difference(state, app, &state->rows[tagged], here);
	table_untag_all(&state->list.table);
}

/* --- taking one --- */

static void take_snapshot(struct app *app, const char *note)
{
	struct screen_state *state = screen_state(app, &screen_snapshots);
	const char *args[ARGS_MOST + 1] = { "ibwire", "snapshot", "--db", app->options->db_path };
	const char *const noted[] = { "--note", note, NULL }, *const operands[] = { "--", "take", state->name, NULL };
	struct error trouble = { 0 };
	size_t count = text_arguments(args, 4, ARGS_MOST, app->options->arguments);

	count = text_arguments(args, count, ARGS_MOST, app->options->device_arguments);
	count = text_arguments(args, count, ARGS_MOST, note[0] ? noted : NULL);
	text_arguments(args, count, ARGS_MOST, operands);
	state->outcome[0] = '\0';
	state->began_us = clock_boottime_us(app->options->clock);
	if (child_command_start(&state->run, app->options->program, args, false, &trouble) < 0)
		app_message(app, "%s", trouble.text);
}

static void name_entered(struct app *app, const char *name)
{
	struct screen_state *state = screen_state(app, &screen_snapshots);

	if (!name[0])
		return;
	if (strlen(name) >= sizeof(state->name)) {
		app_message(app, "a name has at most %zu bytes", sizeof(state->name) - 1);
		prompt_start(app->prompt, "name: ", name, name_entered);
		return;
	}
	snprintf(state->name, sizeof(state->name), "%.*s", (int)sizeof(state->name) - 1, name);
	prompt_start(app->prompt, "note (or nothing): ", "", take_snapshot);
}

static void prompt_name(const struct screen_state *state, struct app *app)
{
	char name[SAVED_NAME_SIZE];

	if (state->run.pid && !state->run.ended) {
		app_message(app, "%s is still in progress", state->name);
		return;
	}
	format_time(app->now_us, "%Y-%m-%d-%H%M", name, sizeof(name));
	prompt_start(app->prompt, "name of the snapshot: ", name, name_entered);
}

static bool poll_run(void *data, struct app *app)
{
	struct screen_state *state = data;
	char line[sizeof(state->outcome) - SAVED_NAME_SIZE - 32] = "";

	if (!child_command_poll(&state->run))
		return false;
	if (!state->run.ended || state->outcome[0])
		return true;
	child_command_last_line(&state->run, line, sizeof(line));
	state->failed = state->run.exit_status != 0;
	/* A successful snapshot appears in the list. */
	if (state->failed)
		snprintf(state->outcome, sizeof(state->outcome), "%s failed: %s", state->name,
			 line[0] ? line : "ended without a message");
	else
		snprintf(state->outcome, sizeof(state->outcome), "%s is stored", state->name);
	state->loaded_boot_us = 0;
	if (app_screen(app) != &screen_snapshots)
		app_message(app, "%.*s", (int)sizeof(app->message) - 1, state->outcome);
	return true;
}

/* --- drawing --- */

static void fill_responded(struct result *result, size_t at, const void *row)
{
	const struct saved_info *info = row;

	result_unsigned(result, at, info->ports_answered);
	result_showf(result, at, info->ports_answered < info->ports_polled ? STYLE_WARNING : STYLE_PLAIN,
		     "%" PRIu32 "/%" PRIu32, info->ports_answered, info->ports_polled);
}

enum { NAME, TAKEN, RESPONDED, SLOW, NOTE, COLUMNS };

static const struct column columns[COLUMNS] = {
	[NAME] = { .key = "name" }, [TAKEN] = { .key = "time", .priority = 1 },
	[RESPONDED] = { .title = "RESPONDED", .narrow = "RESP.", .kind = COLUMN_INTEGER, .fill = fill_responded,
			.priority = 2, .help = "ports that responded, of those that were polled" },
	[SLOW] = { .key = "slow", .priority = 4 }, [NOTE] = { .key = "note", .priority = 3 },
};

static struct table_id identity(const struct table *table, size_t index)
{
	return (struct table_id){ 0, (uint64_t)((const struct saved_info *)table_row(table, index))->id };
}

/* Snapshots taken after the shown time are faint. */
static enum role role(const struct table *table, size_t index, size_t column, enum role usual)
{
	const struct saved_info *row = table_row(table, index);

	if (table->app->live->at_us && row->wall_us > table->app->live->shown->sweep.wall_us)
		return ROLE_FAINT;
	return column == NAME ? ROLE_STRONG : usual;
}

static const struct table_view table = {
	.name = "snapshots",
	.noun = "snapshot",
	.plural = "snapshots",
	.none = "no snapshots: n takes one of all counters of all ports",
	.columns = columns,
	.column_count = COLUMNS,
	.sources = { snapshot_columns },
	.fixed = 1 << NAME,
	.descending = 1 << TAKEN,
	.sort = TAKEN,
	.sort_descending = true,
	.tags = true,
	.update = update,
	.array = TABLE_ARRAY(struct screen_state, rows, count),
	.id = identity,
	.role = role,
};

/* The last line: progress, result, or a hint for differences. */
static void draw_status(const struct screen_state *state, const struct app *app, const struct brush *brush,
			const struct rect *body)
{
	int64_t taken_us = clock_boottime_us(app->options->clock) - state->began_us;
	int last = body->rows - 1;

	if (state->run.pid && !state->run.ended)
		draw_line(brush, body, last, ROLE_GOOD, "taking %s ... %d s", state->name, (int)(taken_us / US_PER_S));
	else if (state->problem[0])
		draw_line(brush, body, last, ROLE_WARNING, "%s", state->problem);
	else if (state->outcome[0])
		draw_line(brush, body, last, state->failed ? ROLE_WARNING : ROLE_GOOD, "%s", state->outcome);
	else
		draw_line(brush, body, last, ROLE_FAINT, "one row per %s in differences (y: change)",
			  text_by_words[state->by]);
}

static void draw(void *data, struct app *app, const struct rect *body)
{
	const struct brush brush = { app->theme, 0 };
	struct screen_state *state = data;
	struct rect upper = *body;

	upper.rows--;
	list_screen_draw(&state->list, app, &upper);
	draw_status(state, app, &brush, body);
}

static bool key(void *data, struct app *app, int pressed)
{
	struct screen_state *state = data;
	const struct saved_info *here = NULL;
	size_t index;

	if (list_screen_index(&state->list, &index))
		here = &state->rows[index];
	switch (pressed) {
	case 'n':
		prompt_name(state, app);
		return true;
	case '\r':
		if (here)
			tag(state, app, here);
		return true;
	case 'd':
		/* The newest snapshot is the last one that was read. */
		if (!here || index == state->count - 1)
			app_message(app, "d on an older snapshot compares it with the newest");
		else
			show_difference(state, app, here, &state->rows[state->count - 1]);
		return true;
	case 'u':
		table_untag_all(&state->list.table);
		return true;
	case 'y':
		state->by = text_by_words[state->by + 1] ? state->by + 1 : 0;
		state->outcome[0] = '\0';
		return true;
	default:
		return false;
	}
}

static const struct key_help footer_keys[] = {
	{ "?", "help" }, { "n", "new" }, { "Enter", "compare two" }, { "/", "filter" }, { "s", "sort" },
	{ "d", "to the newest" }, { "y", "rows by" }, { "q", "quit" }, { NULL, NULL },
};

static const struct key_help help[] = {
	{ "Enter", "select; on a second snapshot: show the difference" },
	{ "d", "show the difference to the newest snapshot" },
	{ "y", "rows of a difference: port, link, switch or host" },
	{ "u", "clear the selection" },
	{ "n", "take a snapshot with a name and a note: polls all ports (requires a device)" },
	{ NULL, NULL },
};

const struct screen screen_snapshots = {
	.name = "Snapshots",
	.size = sizeof(struct screen_state),
	.done = done,
	.poll = poll_run,
	.draw = draw,
	.key = key,
	.tables = (const struct screen_table[]){ { &table, offsetof(struct screen_state, list) }, { NULL, 0 } },
	.footer_keys = footer_keys,
	.help = help,
};
