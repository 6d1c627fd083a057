/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* screen_jobs.c - running and past jobs: list, reports, and the window of a job on all screens */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/call.h"
#include "base/clock.h"
#include "base/text.h"
#include "base/when.h"
#include "facts/saved_columns.h"
#include "export/page.h"
#include "tui/draw/draw.h"
#include "tui/draw/page_draw.h"
#include "tui/draw/text_page.h"
#include "tui/draw/theme.h"
#include "tui/model/context.h"
#include "tui/model/format.h"
#include "tui/model/job_list.h"
#include "tui/model/live.h"
#include "tui/screens/app.h"
#include "tui/screens/list_screen.h"
#include "tui/tui.h"

/* A report is started if a job was selected for this time. */
#define PREVIEW_US (300 * US_PER_MS)

/* The report of the selected job is below the list if the body has this height. */
enum { ARGS_MOST = 32, PREVIEW_BODY = 24 };

struct screen_state {
	struct list_screen rows;
	int64_t seen_boot_us; /* when the jobs were loaded that are shown */
	bool bytes_read;      /* of a job since then */
	struct job_facts facts; /* of the row that was read last */
	/* The report below the list. */
	struct {
		struct call *call;             /* NULL: none runs */
		int64_t selected, selected_us; /* number of the selected job; boottime when it was selected */
		int64_t number, at_us;         /* of the job whose report was started (0: none), and wall clock */
		int columns;                   /* for which it was started */
		bool ended;
		struct text_page lines;        /* its page, or what it printed */
	} preview;
};

static void done(void *data)
{
	struct screen_state *state = data;

	call_destroy(state->preview.call);
	page_done(&state->preview.lines);
}

/* The selected job, or NULL. */
static struct job_row *job_here(const struct screen_state *state, const struct app *app)
{
	size_t index;

	return list_screen_index(&state->rows, &index) && index < app->jobs->count ? &app->jobs->rows[index] : NULL;
}

/* --- what keys do --- */

/* The arguments of `ibwire job`. */
static void make_arguments(const struct app *app, const char *word, const struct job *job, const char **args)
{
	const char *const begin[] = { "job", "--db", app->options->db_path, "--color", "never", NULL };
	const char *const cluster[] = { "--cluster", job->labels[JOB_CLUSTER], NULL };
	const char *const operands[] = { "--", word, job->id, NULL };
	size_t count = text_arguments(args, 0, ARGS_MOST, begin);

	if (*job->labels[JOB_CLUSTER])
		count = text_arguments(args, count, ARGS_MOST, cluster);

	count = text_arguments(args, count, ARGS_MOST, app->options->arguments);
	text_arguments(args, count, ARGS_MOST, operands);
}

static void show_command(struct app *app, const char *word, const char *title, const struct job *job)
{
	const char *args[ARGS_MOST + 1];
	char text[JOB_DISPLAY_SIZE + 64];
	const struct text_command command = { .title = text, .args = args, .fits = true };

	make_arguments(app, word, job, args);
	snprintf(text, sizeof(text), "%s %.*s", title, JOB_DISPLAY_SIZE, job->display_id);
	text_show(app, &command);
}

static void compare(struct app *app, const struct job *job)
{
	if (job->name[0])
		show_command(app, "compare", "earlier run of the name of job", job);
	else
		app_message(app, "c compares with the earlier job of the same name: %.64s has no name",
			    job->display_id);
}

/* All screens show the job: at its end, with rates and histories since its begin. */
static void show_window(struct app *app, const struct job *job)
{
	char name[64];

	snprintf(name, sizeof(name), "JOB %.*s", (int)text_prefix_bytes(job->display_id, 24),
		 job->display_id);
	app_set_limit(app, name, job->begin_us, job->end_us);
	app_message(app, "rates and histories on all screens are of the job; L ends this");
}

static bool key(void *data, struct app *app, int pressed)
{
	const struct screen_state *state = data;
	const struct job_row *here = job_here(state, app);

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

	state->preview.ended = false;
	state->preview.number = job->number;
	state->preview.columns = app->body.columns;
	state->preview.at_us = app->now_us;
	make_arguments(app, "report", job, args);
	call_destroy(state->preview.call);
	state->preview.call = text_start(app, args, app->body.columns, NULL);
}

/* A page, or else text with an error. */
static void lay_out(struct screen_state *state, const struct app *app, const struct call_result *result)
{
	struct page *page = call_take_value(state->preview.call);
	char *text = page ? NULL : text_of_result(result);

	page_begin(&state->preview.lines, state->preview.columns);
	if (page)
		page_lay_out(page, &state->preview.lines, state->preview.columns, app->theme->unicode);
	for (char *at = text, *line; at && (line = strsep(&at, "\n"));)
		page_text(&state->preview.lines, ROLE_TEXT, "%s", line);
	page_destroy(page);
	free(text);
}

static bool has_preview(const struct app *app)
{
	return app->options->command && app->body.rows >= PREVIEW_BODY;
}

/* Return: whether a redraw is needed. */
static bool poll_preview(struct screen_state *state, struct app *app)
{
	const struct call_result *result;
	const struct job_row *here = job_here(state, app);
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
	result = state->preview.call ? call_result(state->preview.call) : NULL;
	app->command_runs |= state->preview.call != NULL;
	if (!result)
		return false;
	lay_out(state, app, result);
	state->preview.ended = true;
	call_destroy(state->preview.call);
	state->preview.call = NULL;
	return true;
}

static void draw_preview(const struct screen_state *state, const struct brush *brush, const struct rect *area)
{
	bool here = state->preview.number == state->preview.selected;
	const struct rect below = { area->y + 1, area->x, area->rows - 1, area->columns };
	char time[WHEN_SIZE];

	if (here && state->preview.ended)
		draw_line(brush, area, 0, ROLE_HEAD, "REPORT of %s  (Enter: all of it)",
			  format_time(state->preview.at_us, "%H:%M:%S", time, sizeof(time)));
	else
		draw_line(brush, area, 0, ROLE_HEAD, "REPORT ...");
	if (here && state->preview.ended)
		page_draw(&state->preview.lines, &(struct page_view){ .cursor = PAGE_NONE }, brush, &below);
}

/* --- drawing --- */

static void fill_hosts(struct result *result, size_t at, const void *row)
{
	size_t hosts = ((const struct job_row *)row)->hosts;

	if (hosts)
		result_unsigned(result, at, hosts);
	else
		result_show(result, at, "all", STYLE_PLAIN);
}

static void fill_bytes(struct result *result, size_t at, const void *row)
{
	static const char *const units[] = { "B", "kB", "MB", "GB", "TB", "PB", "EB" };
	const struct job_row *job = row;
	double bytes = job->bytes;
	size_t unit = 0;

	result_real(result, at, bytes);
	while (bytes >= 999.5 && unit + 1 < sizeof(units) / sizeof(*units)) {
		bytes /= 1000;
		unit++;
	}
	if (isnan(bytes))
		result_show(result, at, job->read_boot_us ? "-" : "", STYLE_PLAIN);
	else
		result_showf(result, at, STYLE_PLAIN, "~%.3g %s", bytes, units[unit]);
}

static void fill_state(struct result *result, size_t at, const void *row)
{
	const struct job *job = &((const struct job_row *)row)->job;
	bool failed = job->ending == JOB_ENDED && job->exit_status > 0;

	switch (job->ending) {
	case JOB_RUNNING:
		result_text(result, at, "running");
		break;
	case JOB_ENDED:
		result_text(result, at, "ended");
		if (job->exit_status >= 0)
			result_showf(result, at, failed ? STYLE_WARNING : STYLE_PLAIN, "exit %d", job->exit_status);
		break;
	case JOB_REPLACED:
		result_showf(result, at, STYLE_DIM, "replaced by %.*s", JOB_ID_SIZE, job->ended_by);
		break;
	default:
		result_show(result, at, job_ending_name(job->ending), STYLE_DIM);
		break;
	}
}

enum { ID, NAME, HOSTS, BEGAN, DURATION, BYTES, STATE, PERIOD, WIRE, PHASE, USER, ACCOUNT, PARTITION, CLUSTER,
       CONFIDENCE, COLUMNS };

/* Structs of a row: a struct job_row, a struct job_facts, and its rhythm. */
enum { JOB_ROW, FACTS, RHYTHM = JOB_RHYTHM_ROW };

static const struct column columns[COLUMNS] = {
	[ID] = { .key = "id", .row = FACTS }, [NAME] = { .key = "name", .row = FACTS, .priority = 1 },
	[HOSTS] = { .title = "HOSTS", .kind = COLUMN_INTEGER, .fill = fill_hosts, .priority = 2,
		    .help = "number of its hosts; all: of the fabric" },
	[BEGAN] = { .key = "begin", .row = FACTS }, [DURATION] = { .key = "duration_us", .row = FACTS, .priority = 1 },
	[BYTES] = { .title = "BYTES", .kind = COLUMN_BYTES, .fill = fill_bytes, .priority = 3,
		    .help = "sent and received by the HCAs of its hosts; ~: whole sweeps, the report is exact" },
	[STATE] = { .title = "STATE", .fill = fill_state, .flags = COLUMN_FLEXIBLE,
		    .help = "running, suspended, exit status; replaced: it never ended, and was closed when a job "
			    "began on its hosts; expired: closed by its age" },
	[PERIOD] = { .key = "period_s", .row = RHYTHM, .priority = 1 },
	[WIRE] = { .key = "wire_percent", .row = RHYTHM, .priority = 2 },
	[PHASE] = { .key = "phase", .row = RHYTHM, .priority = 1 },
	[USER] = { .key = "user", .row = FACTS, .priority = 4 },
	[ACCOUNT] = { .key = "account", .row = FACTS, .priority = 6 },
	[PARTITION] = { .key = "partition", .row = FACTS, .priority = 5 },
	[CLUSTER] = { .key = "cluster", .row = FACTS, .priority = 7 },
	[CONFIDENCE] = { .key = "confidence_percent", .row = FACTS, .priority = 8 },
};

static size_t count(const struct table *table)
{
	return table->app->jobs->count;
}

static void read_row(const struct table *table, size_t index, const void *ret[TABLE_STRUCTS])
{
	struct screen_state *state = table->state;

	const struct job *job = &table->app->jobs->rows[index].job;

	state->facts = job_facts_of(job, &(struct job){ .end_us = table->app->now_us },
				    table->app->jobs->at_us);
	ret[JOB_ROW] = &table->app->jobs->rows[index];
	ret[FACTS] = &state->facts;
	ret[RHYTHM] = &state->facts.rhythm;
}

static struct table_id identity(const struct table *table, size_t index)
{
	return (struct table_id){ 0, (uint64_t)table->app->jobs->rows[index].job.number };
}

/* Jobs that began after the shown time are faint. */
static enum role role(const struct table *table, size_t index, size_t column, enum role usual)
{
	const struct job *job = &table->app->jobs->rows[index].job;

	if (table->app->live->at_us && job->begin_us > table->app->live->shown->sweep.wall_us)
		return ROLE_FAINT;
	return column == ID ? ROLE_STRONG : column == STATE && job->ending == JOB_RUNNING ? ROLE_GOOD : usual;
}

/* What no job has, of the batch system, of a rhythm or of a search in the traffic, has no column. */
static int widest(const struct table *table, size_t column)
{
	const struct job_list *jobs = table->app->jobs;
	bool of_rhythm = column >= PERIOD && column <= PHASE, found = column < PERIOD;

	for (size_t i = 0; !found && i < jobs->count; i++)
		found = of_rhythm ? jobs->rows[i].job.minute.job : column == CONFIDENCE ?
			job_is_detected(&jobs->rows[i].job) :
			*jobs->rows[i].job.labels[table->columns[column].which];
	return found ? table->widest[column] : 0;
}

static bool update(void *data, struct app *app)
{
	struct screen_state *state = data;
	bool news;

	job_list_load(app->jobs, app->live);
	news = state->seen_boot_us != app->jobs->loaded_boot_us || state->bytes_read;
	state->seen_boot_us = app->jobs->loaded_boot_us;
	state->bytes_read = false;
	return news;
}

static const struct table_view table = {
	.name = "jobs",
	.noun = "job",
	.plural = "jobs",
	.none = "no jobs: ibwire run -- COMMAND, or ibwire job begin ID",
	.columns = columns,
	.column_count = COLUMNS,
	.sources = { [FACTS] = job_columns, [RHYTHM] = job_rhythm_columns },
	.fixed = 1 << ID,
	.descending = 1 << BEGAN,
	.sort = BEGAN,
	.sort_descending = true,
	.update = update,
	.count = count,
	.row = read_row,
	.id = identity,
	.role = role,
	.widest = widest,
};

/* The bytes of one more of the visible jobs in each frame. */
static bool poll_data(void *data, struct app *app)
{
	struct screen_state *state = data;
	const struct list *list = &state->rows.list;
	const struct table *rows = &state->rows.table;

	if (app_screen(app) != &screen_jobs || !app->live->shown)
		return false;
	list_screen_update(&state->rows, app);
	if (poll_preview(state, app))
		return true;
	for (size_t row = list->first; row < list->first + (size_t)list->height && row < rows->row_count; row++) {
		size_t index = rows->rows[row];

		if (index >= app->jobs->count ||
		    !job_list_read_bytes(&app->jobs->rows[index], app->live, app->context->shape))
			continue;
		state->bytes_read = true;
		return true;
	}
	return false;
}

static void draw(void *data, struct app *app, const struct rect *area)
{
	const struct brush brush = { app->theme, 0 };
	struct screen_state *state = data;
	struct rect upper = *area, lower = *area;

	list_screen_update(&state->rows, app);
	if (has_preview(app) && app->jobs->count) {
		int most = area->rows / 3, needed = (int)(app->jobs->count < 100 ? app->jobs->count : 100) + 2;

		upper.rows = needed < most ? needed : most;
		lower.y += upper.rows;
		lower.rows -= upper.rows;
		draw_preview(state, &brush, &lower);
	}
	upper.rows--;
	list_screen_draw(&state->rows, app, &upper);
	draw_line(&brush, &upper, upper.rows, app->jobs->problem[0] ? ROLE_WARNING : ROLE_FAINT, "%s",
		  app->jobs->problem[0] ? app->jobs->problem :
		  "bytes: sent and received by the HCAs of its hosts, in whole sweeps");
}

static const struct key_help footer_keys[] = {
	{ "?", "help" }, { "Enter", "report" }, { "/", "filter" }, { "s", "sort" }, { "c", "compare" },
	{ "w", "its window" }, { "b", "begin" }, { "q", "quit" }, { NULL, NULL },
};

static const struct key_help help[] = {
	{ "Enter r", "report of the job, as printed by ibwire job report" },
	{ "c", "compare with the earlier job of the same name" },
	{ "w", "limit all screens to the job: rates and histories from its begin to its end; L ends this" },
	{ "b", "go to the time when it began" },
	{ NULL, NULL },
};

const struct screen screen_jobs = {
	.name = "Jobs",
	.size = sizeof(struct screen_state),
	.done = done,
	.poll = poll_data,
	.draw = draw,
	.key = key,
	.tables = (const struct screen_table[]){ { &table, offsetof(struct screen_state, rows) }, { NULL, 0 } },
	.footer_keys = footer_keys,
	.help = help,
};
