/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* screen_jobs.c - running and past jobs: list, reports, and the window of a job on all screens */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/child_command.h"
#include "base/clock.h"
#include "base/text.h"
#include "base/when.h"
#include "tui/draw/draw.h"
#include "tui/draw/list.h"
#include "tui/model/context.h"
#include "tui/model/format.h"
#include "tui/model/job_list.h"
#include "tui/model/live.h"
#include "tui/screens/app.h"
#include "tui/tui.h"

/* A report is started if a job was selected for this time. */
#define PREVIEW_US (300 * US_PER_MS)

/* The report of the selected job is below the list if the body has this height. */
enum { ARGS_MOST = 32, PREVIEW_BODY = 24 };

struct screen_state {
	struct list list;
	int64_t cursor_number; /* of the selected job; 0: the cursor stays on its row */
	/* The report below the list. */
	struct {
		struct child_command run;
		int64_t selected, selected_us; /* number of the selected job; boottime when it was selected */
		int64_t number, at_us;         /* of the job whose report was started (0: none), and wall clock */
		int columns;                   /* for which it was started */
		char *text;                    /* its output; NULL: it runs */
	} preview;
};

static void done(void *data)
{
	struct screen_state *state = data;

	child_command_stop(&state->preview.run, COMMAND_WAIT_MS);
	free(state->preview.text);
}

/* A row of the display, the newest job first, or NULL. */
static struct job_row *row_at(const struct app *app, size_t row)
{
	return row < app->jobs->count ? &app->jobs->rows[app->jobs->count - 1 - row] : NULL;
}

static void save_cursor(void *data, struct app *app)
{
	struct screen_state *state = data;
	const struct job_row *here = row_at(app, state->list.cursor);

	/* A cursor on the first row stays on the newest job. */
	state->cursor_number = here && state->list.cursor ? here->job.number : 0;
}

static void load(struct screen_state *state, const struct app *app)
{
	job_list_load(app->jobs, app->live);
	for (size_t i = 0; state->cursor_number && i < app->jobs->count; i++)
		if (row_at(app, i)->job.number == state->cursor_number)
			state->list.cursor = i;
}

/* --- what keys do --- */

/* The arguments of `ibwire job`, with the name of the program first. */
static void make_arguments(const struct app *app, const char *word, const struct job *job, const char **args)
{
	const char *const begin[] = { "ibwire", "job", "--db", app->options->db_path, "--color", "never", NULL };
	const char *const operands[] = { "--", word, job->id, NULL };
	size_t count = text_arguments(args, 0, ARGS_MOST, begin);

	count = text_arguments(args, count, ARGS_MOST, app->options->arguments);
	text_arguments(args, count, ARGS_MOST, operands);
}

static void show_command(struct app *app, const char *word, const char *title, const struct job *job)
{
	const char *args[ARGS_MOST + 1];
	char text[JOB_ID_SIZE + 64];
	const struct text_command command = { .title = text, .args = args + 1, .fits = true };

	make_arguments(app, word, job, args);
	snprintf(text, sizeof(text), "%s %.*s", title, JOB_ID_SIZE, job->id);
	text_show(app, &command);
}

static void compare(struct app *app, const struct job *job)
{
	if (job->name[0])
		show_command(app, "compare", "earlier run of the name of job", job);
	else
		app_message(app, "c compares with the earlier job of the same name: %.64s has no name", job->id);
}

/* All screens show the job: at its end, with rates and histories since its begin. */
static void show_window(struct app *app, const struct job *job)
{
	char name[64];

	snprintf(name, sizeof(name), "JOB %.*s", (int)text_prefix_bytes(job->id, 24), job->id);
	app_set_limit(app, name, job->begin_us, job->end_us);
	app_message(app, "rates and histories on all screens are of the job; L ends this");
}

static bool key(void *data, struct app *app, int pressed)
{
	const struct screen_state *state = data;
	const struct job_row *here = row_at(app, state->list.cursor);

	if (!here)
		return false;
	switch (pressed) {
	case '\r':
	case 'r':
		show_command(app, "report", "report of job", &here->job);
		return true;
	case 'c':
		compare(app, &here->job);
		return true;
	case 'w':
		show_window(app, &here->job);
		return true;
	case 'b':
		app_set_time(app, here->job.begin_us);
		return true;
	default:
		return false;
	}
}

/* --- the report below the list --- */

static void start_preview(struct screen_state *state, const struct app *app, const struct job *job)
{
	const char *args[ARGS_MOST + 1];

	free(state->preview.text);
	state->preview.text = NULL;
	state->preview.number = job->number;
	state->preview.columns = app->body.columns;
	state->preview.at_us = app->now_us;
	make_arguments(app, "report", job, args);
	child_command_start(&state->preview.run, app->options->program, args, app->body.columns, false, NULL);
}

static bool has_preview(const struct app *app)
{
	return app->options->program && app->body.rows >= PREVIEW_BODY;
}

/* Return: whether a redraw is needed. */
static bool poll_preview(struct screen_state *state, const struct app *app)
{
	const struct job_row *here = row_at(app, state->list.cursor);
	int64_t now_us = clock_boottime_us(app->options->clock);

	if (!here || !has_preview(app))
		return false;
	if (state->preview.selected != here->job.number) {
		state->preview.selected = here->job.number;
		state->preview.selected_us = now_us;
	}
	if ((state->preview.number != here->job.number || state->preview.columns != app->body.columns) &&
	    now_us - state->preview.selected_us >= PREVIEW_US)
		start_preview(state, app, &here->job);
	if (!state->preview.number || state->preview.text || !child_command_poll(&state->preview.run))
		return false;
	if (!state->preview.run.ended)
		return false;
	state->preview.text = strdup(text_chars(&state->preview.run.output));
	if (state->preview.text)
		text_replace_controls(state->preview.text);
	return true;
}

static void draw_preview(const struct screen_state *state, const struct brush *brush, const struct rect *area)
{
	bool here = state->preview.number == state->preview.selected;
	const char *at = here && state->preview.text ? state->preview.text : "";
	char time[WHEN_SIZE];

	if (here && state->preview.text)
		draw_line(brush, area, 0, ROLE_HEAD, "REPORT of %s  (Enter: all of it)",
			  format_time(state->preview.at_us, "%H:%M:%S", time, sizeof(time)));
	else
		draw_line(brush, area, 0, ROLE_HEAD, "REPORT ...");
	for (int y = 1; *at && y < area->rows; y++) {
		size_t len = strcspn(at, "\n");

		draw_line(brush, area, y, ROLE_TEXT, "%.*s", (int)len, at);
		at += len + (at[len] == '\n');
	}
}

/* --- drawing --- */

enum { ID, NAME, HOSTS, BEGAN, DURATION, BYTES, STATE, COLUMNS };

static void column_widths(const struct app *app, int columns, int ret[COLUMNS])
{
	int id = 4, name = 4, rest;

	for (size_t i = 0; i < app->jobs->count; i++) {
		int id_columns = (int)text_columns(app->jobs->rows[i].job.id);
		int name_columns = (int)text_columns(app->jobs->rows[i].job.name);

		id = id_columns > id ? id_columns : id;
		name = name_columns > name ? name_columns : name;
	}
	ret[HOSTS] = 5;
	ret[BEGAN] = 16;
	ret[DURATION] = 8;
	ret[BYTES] = columns >= 72 ? 9 : 0;
	ret[STATE] = columns >= 60 ? 18 : 8;
	rest = columns - ret[HOSTS] - ret[BEGAN] - ret[DURATION] - ret[BYTES] - ret[STATE] - COLUMNS;
	ret[ID] = id < rest / 2 || rest < 8 ? id : rest / 2;
	ret[ID] = ret[ID] > 8 && rest < 16 ? 8 : ret[ID];
	rest -= ret[ID];
	ret[NAME] = rest < 4 ? 0 : name < rest ? name : rest;
}

static void write_bytes(const struct job_row *row, char *ret, size_t size)
{
	static const char *const units[] = { "B", "kB", "MB", "GB", "TB", "PB", "EB" };
	double bytes = row->bytes;
	size_t unit = 0;

	while (bytes >= 999.5 && unit + 1 < sizeof(units) / sizeof(*units)) {
		bytes /= 1000;
		unit++;
	}
	if (isnan(bytes))
		snprintf(ret, size, "%s", row->read_boot_us ? "-" : "");
	else
		snprintf(ret, size, "~%.3g %s", bytes, units[unit]);
}

static enum role write_state(const struct job *job, char *ret, size_t size)
{
	switch (job->ending) {
	case JOB_RUNNING:
		snprintf(ret, size, "running");
		return ROLE_GOOD;
	case JOB_ENDED:
		if (job->exit_status >= 0)
			snprintf(ret, size, "exit %d", job->exit_status);
		else
			snprintf(ret, size, "ended");
		return job->exit_status > 0 ? ROLE_WARNING : ROLE_TEXT;
	case JOB_REPLACED:
		snprintf(ret, size, "replaced by %.*s", JOB_ID_SIZE, job->ended_by);
		return ROLE_FAINT;
	default:
		snprintf(ret, size, "%s", job_ending_name(job->ending));
		return ROLE_FAINT;
	}
}

static void draw_row(const struct app *app, const struct brush *brush, const int *widths, int y,
		     const struct rect *body, const struct job_row *row)
{
	const struct job *job = &row->job;
	/* Jobs that began after the shown time are faint. */
	bool later = app->live->at_us && job->begin_us > app->live->shown->sweep.wall_us;
	char hosts[24], began[WHEN_SIZE], span[WHEN_SIZE], bytes[24], ending[JOB_ID_SIZE + 16];
	int64_t duration_us = job_duration_us(job, &(struct job){ .end_us = app->now_us });
	enum role role = later ? ROLE_FAINT : ROLE_TEXT, ending_role = write_state(job, ending, sizeof(ending));

	if (row->hosts)
		format_count(row->hosts, (unsigned)widths[HOSTS], hosts, sizeof(hosts));
	else
		snprintf(hosts, sizeof(hosts), "all");
	write_bytes(row, bytes, sizeof(bytes));
	draw_cells(brush, y, body, widths, (const struct table_cell[]){
		[ID] = { job->id, later ? ROLE_FAINT : ROLE_STRONG, ALIGN_MIDDLE },
		[NAME] = { job->name, role, ALIGN_MIDDLE },
		[HOSTS] = { hosts, role, ALIGN_RIGHT },
		[BEGAN] = { format_time(job->begin_us, "%F %H:%M", began, sizeof(began)), role, ALIGN_LEFT },
		[DURATION] = { when_format_span(duration_us / US_PER_S * US_PER_S, span), role, ALIGN_RIGHT },
		[BYTES] = { bytes, role, ALIGN_RIGHT },
		[STATE] = { ending, later ? ROLE_FAINT : ending_role, ALIGN_LEFT },
	}, COLUMNS);
}

/* The bytes of one more of the visible jobs in each frame. */
static bool poll_data(void *data, struct app *app)
{
	struct screen_state *state = data;

	if (app_screen(app) != &screen_jobs || !app->live->shown)
		return false;
	if (poll_preview(state, app))
		return true;
	for (int y = 0; y < state->list.height; y++) {
		struct job_row *row = row_at(app, state->list.first + (size_t)y);

		if (row && job_list_read_bytes(row, app->live, app->context->shape))
			return true;
	}
	return false;
}

static void draw(void *data, struct app *app, const struct rect *area)
{
	static const struct table_cell heads[COLUMNS] = {
		{ "JOB", ROLE_HEAD, ALIGN_LEFT }, { "NAME", ROLE_HEAD, ALIGN_LEFT },
		{ "HOSTS", ROLE_HEAD, ALIGN_RIGHT },
		{ "BEGAN", ROLE_HEAD, ALIGN_LEFT }, { "DURATION", ROLE_HEAD, ALIGN_RIGHT },
		{ "BYTES", ROLE_HEAD, ALIGN_RIGHT }, { "STATE", ROLE_HEAD, ALIGN_LEFT },
	};
	struct screen_state *state = data;
	struct brush brush = { app->theme, 0 };
	struct rect upper = *area, lower = *area;
	const struct rect *body = &upper;
	int widths[COLUMNS];

	load(state, app);
	if (has_preview(app) && app->jobs->count) {
		int most = area->rows / 3, needed = (int)(app->jobs->count < 100 ? app->jobs->count : 100) + 2;

		upper.rows = needed < most ? needed : most;
		lower.y += upper.rows;
		lower.rows -= upper.rows;
		draw_preview(state, &brush, &lower);
	}
	column_widths(app, body->columns, widths);
	draw_cells(&brush, body->y, body, widths, heads, COLUMNS);
	list_place(&state->list, app->jobs->count, body->y + 1, body->rows - 2);
	if (!app->jobs->count)
		draw_line(&brush, body, 1, ROLE_FAINT, "no jobs: ibwire run -- COMMAND, or ibwire job begin ID");
	for (int y = 0; y < state->list.height && state->list.first + (size_t)y < app->jobs->count; y++) {
		size_t row = state->list.first + (size_t)y;

		brush.flags = row == state->list.cursor ? DRAW_CURSOR : 0;
		draw_row(app, &brush, widths, body->y + 1 + y, body, row_at(app, row));
	}
	brush.flags = 0;
	draw_line(&brush, body, body->rows - 1, app->jobs->problem[0] ? ROLE_WARNING : ROLE_FAINT, "%s",
		  app->jobs->problem[0] ? app->jobs->problem :
		  "bytes: sent and received by the HCAs of its hosts, in whole sweeps");
}

static const struct key_help footer_keys[] = {
	{ "Enter", "report" }, { "c", "compare" }, { "w", "its window" }, { "b", "begin" },
	{ "?", "help" }, { "q", "quit" }, { NULL, NULL },
};

static const struct key_help help[] = {
	{ "Up Down PgUp PgDn", "move" },
	{ "Enter r", "report of the job, as printed by ibwire job report" },
	{ "c", "compare with the earlier job of the same name" },
	{ "w", "limit all screens to the job: rates and histories from its begin to its end; L ends this" },
	{ "b", "go to the time when it began" },
	{ "BYTES", "sent and received by the HCAs of its hosts; ~: whole sweeps, the report is exact" },
	{ "replaced", "it never ended; closed when a job began on its hosts. expired: closed by its age" },
	{ NULL, NULL },
};

const struct screen screen_jobs = {
	.name = "Jobs",
	.size = sizeof(struct screen_state),
	.done = done,
	.poll = poll_data,
	.draw = draw,
	.key = key,
	.list = list_at_start,
	.moved = save_cursor,
	.footer_keys = footer_keys,
	.help = help,
};
