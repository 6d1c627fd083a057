/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* overview_draw.c - the parts of the Overview screen */
#include <stdio.h>
#include <string.h>

#include "analysis/rate.h"
#include "base/clock.h"
#include "base/text.h"
#include "base/when.h"
#include "fabric/fabric.h"
#include "facts/finding_columns.h"
#include "tui/draw/draw.h"
#include "tui/model/context.h"
#include "tui/model/live.h"
#include "tui/model/port_table.h"
#include "tui/screens/app.h"
#include "tui/screens/links_view.h"
#include "tui/screens/overview_view.h"

/* "02:58", or the age if older than a day: "4d02h". */
static void write_since(int64_t since_us, int64_t shown_us, char ret[WHEN_SIZE])
{
	const int64_t day_us = 24 * 3600 * US_PER_S;

	if (shown_us - since_us < day_us)
		format_time(since_us, "%H:%M", ret, WHEN_SIZE);
	else if (shown_us - since_us < 100 * day_us)
		when_format_span(shown_us - since_us, ret);
	else
		format_age(shown_us - since_us, ret, WHEN_SIZE);
}

static void draw_problems_head(const struct overview_view *view, const struct brush *brush, const struct rect *body)
{
	struct problem_places places;
	bool narrow = body->columns < 60;
	char text[128];
	size_t len, seen = (size_t)(view->plan.problems_rows / view->plan.problem_lines);

	overview_problem_places(body->columns, &places);
	len = (size_t)snprintf(text, sizeof(text), "PROBLEMS %zu", view->open_count);
	if (view->clearing_count)
		len += (size_t)snprintf(text + len, sizeof(text) - len, ", clearing %zu", view->clearing_count);
	if (view->problem_count > view->open_count + view->clearing_count)
		len += (size_t)snprintf(text + len, sizeof(text) - len, ", %s %zu", narrow ? "ack" : "acknowledged",
					view->problem_count - view->open_count - view->clearing_count);
	if (seen < view->problem_count)
		snprintf(text + len, sizeof(text) - len, narrow ? ": %zu-%zu" : "; showing %zu to %zu",
			 view->first_problem + 1, view->first_problem + seen);
	draw_cell(brush, body->y, body->x, body->columns, text, ALIGN_LEFT, ROLE_HEAD);
	if (!view->problem_count)
		return;
	draw_cell(brush, body->y, body->x + places.since, places.since_columns, "SINCE", ALIGN_LEFT, ROLE_HEAD);
	draw_cell(brush, body->y, body->x + places.cause, places.cause_columns, "CAUSE", ALIGN_LEFT, ROLE_HEAD);
}

/* "No problems" only if enough ports were polled. */
static void draw_no_problems(const struct app *app, const struct brush *brush, int line, const struct rect *body)
{
	const struct sweep_info *sweep = &app->live->shown->sweep;
	char silent[32], polled[32];
	bool all = sweep->ports_polled && sweep->ports_answered >= sweep->ports_polled;

	format_count(sweep->ports_polled, 24, polled, sizeof(polled));
	format_count(sweep->ports_polled - sweep->ports_answered, 24, silent, sizeof(silent));
	if (all)
		draw_line(brush, body, line, ROLE_GOOD, " no problems: all %s polled ports responded", polled);
	else if (!sweep->ports_polled)
		draw_line(brush, body, line, ROLE_WARNING, " no known problems; no port was polled");
	else
		draw_line(brush, body, line, ROLE_WARNING, " no known problems: %s of %s ports were not read",
			  silent, polled);
}

static const char *cause_of(const struct finding *finding)
{
	return *finding->cause && strcmp(finding->cause, "unknown") ? finding->cause : finding_kind_name(finding->kind);
}

enum { INDENT = 6 };

/* Columns for a text below a problem's first line. */
static size_t text_room(const struct rect *body)
{
	int columns = body->columns < OVERVIEW_PROBLEM_COLUMNS ? body->columns : OVERVIEW_PROBLEM_COLUMNS;

	return (size_t)(columns - INDENT);
}

/* Draw a text below the first line of a problem, up to line @end. Return: the next line. */
static int draw_below(const struct brush *brush, int y, int end, const struct rect *body, const char *text,
		      enum role role)
{
	return y + draw_wrapped(brush, y, body->x + INDENT, (int)text_room(body), end - y, text, role);
}

static void write_acknowledged(const struct finding_row *row, char *ret, size_t size)
{
	const struct acknowledgement *given = &row->acknowledged;
	char until[WHEN_SIZE];

	if (given->until_us)
		snprintf(ret, size, "%s until %s: %s", given->person, when_format_local(given->until_us, until),
			 given->reason);
	else
		snprintf(ret, size, "%s: %s", given->person, given->reason);
}

/* "affects 40 hosts: node[0001-0032], ..." */
static void write_hosts(const struct finding *finding, char *ret, size_t size)
{
	struct text hosts = { 0 };

	finding_append_hosts(finding, &hosts);
	snprintf(ret, size, "affects %s", text_chars(&hosts));
	text_done(&hosts);
}

/* "CLEARING (ok for 43s): uplink-imbalance: port 20 carried ..." */
static void write_evidence(const struct finding_row *row, int64_t shown_us, char *ret, size_t size)
{
	const struct finding *finding = &row->finding;
	char span[16], at[WHEN_SIZE], until[WHEN_SIZE], last[FINDING_INCREASE_SIZE], peak[FINDING_PEAK_SIZE];
	int64_t from_us, until_us;
	size_t len = 0;

	if (finding->ok_since_us)
		len = (size_t)snprintf(ret, size, "CLEARING (ok for %s): ",
				       format_age(shown_us - finding->ok_since_us, span, sizeof(span)));
	finding_format_increase(finding, shown_us, last);
	len += (size_t)snprintf(ret + len, size - len, "%s%s%s: ", finding_kind_name(finding->kind), *last ? ", " : "",
				last);
	if (row->measured_us > shown_us)
		len += (size_t)snprintf(ret + len, size - len, "as of %s: ",
					format_time(row->measured_us, "%H:%M:%S", at, sizeof(at)));
	len += (size_t)snprintf(ret + len, size - len, "%s", finding->text);
	/* The rows below are of the shown sweep. */
	if (finding_is_of_window(finding->kind) && finding_window(finding, &from_us, &until_us))
		len += (size_t)snprintf(ret + len, size - len, " (%s to %s)",
					format_time(from_us, "%H:%M:%S", at, sizeof(at)),
					format_time(until_us, "%H:%M:%S", until, sizeof(until)));
	if (*finding_format_peak_time(row, shown_us, peak))
		snprintf(ret + len, size - len, "; peaked at %s", peak);
}

/*
 * Lines below the first one: acknowledgement, evidence, and if there is room affected hosts and
 * action.
 */
static void draw_problem_lines(const struct overview_view *view, const struct brush *brush,
			       const struct finding_row *row, int64_t shown_us, int y, const struct rect *body)
{
	const struct finding *finding = &row->finding;
	bool known = row->acknowledged.at_us, clearing = !known && finding->ok_since_us;
	bool faint = known || finding_phase(finding) != FINDING_PHASE_ACTIVE;
	int left = view->plan.problem_lines - 1, end, evidence;
	char text[FINDING_HOSTS_MAX * 66 + 64];
	bool advises, names;

	if (known) {
		write_acknowledged(row, text, sizeof(text));
		y = draw_below(brush, y, y + 1, body, text, ROLE_FAINT);
		left--;
	}
	write_evidence(row, shown_us, text, sizeof(text));
	/* Two lines of evidence come before the action, all of it before the hosts. */
	evidence = (int)(text_columns(text) / text_room(body)) + 1;
	advises = !known && !clearing && *finding->advice && left > (evidence < 2 ? evidence : 2);
	names = left > 2 && left > evidence + advises && !known && finding->affected_hosts;
	end = y + left - advises - names;
	y = draw_below(brush, y, end, body, text, faint ? ROLE_FAINT : ROLE_TEXT);
	if (names) {
		write_hosts(finding, text, sizeof(text));
		y = draw_below(brush, y, y + 1, body, text, faint ? ROLE_FAINT : ROLE_TEXT);
	}
	snprintf(text, sizeof(text), "> %s", finding->advice);
	if (advises)
		draw_below(brush, y, y + 1, body, text, ROLE_FAINT);
}

static void draw_problem(const struct overview_view *view, const struct app *app, const struct brush *plain,
			 size_t index, int y, const struct rect *body)
{
	const struct finding_row *row = view->problems[index];
	enum port_mark mark = port_mark_of(row);
	bool faint = mark == MARK_ACKNOWLEDGED || finding_phase(&row->finding) != FINDING_PHASE_ACTIVE;
	bool here = view->part == OVERVIEW_FINDINGS && index == view->list.cursor;
	const struct brush brush = { plain->theme, plain->flags | (here ? DRAW_CURSOR : 0) };
	char since[WHEN_SIZE], subject[sizeof(row->finding.subject) + 24];
	struct problem_places places;

	overview_problem_places(body->columns, &places);
	draw_cell(&brush, y, body->x, body->columns, here ? ">" : "", ALIGN_LEFT, ROLE_TEXT);
	draw_cell(&brush, y, body->x + 1, places.severity_columns, port_mark_name(mark), ALIGN_LEFT,
		  faint ? ROLE_FAINT : mark_role(mark));
	snprintf(subject, sizeof(subject), row->echoes ? "%s  +%u related" : "%s", row->finding.subject, row->echoes);
	draw_cell(&brush, y, body->x + places.subject, places.subject_columns, subject, ALIGN_NAME,
		  faint ? ROLE_FAINT : ROLE_STRONG);
	write_since(row->finding.since_us, app->live->shown->sweep.wall_us, since);
	draw_cell(&brush, y, body->x + places.since, places.since_columns, since, ALIGN_LEFT,
		  faint ? ROLE_FAINT : ROLE_TEXT);
	draw_cell(&brush, y, body->x + places.cause, places.cause_columns, cause_of(&row->finding), ALIGN_LEFT,
		  faint ? ROLE_FAINT : ROLE_TEXT);
	draw_problem_lines(view, plain, row, app->live->shown->sweep.wall_us, y + 1, body);
}

void overview_draw_problems(const struct overview_view *view, const struct app *app, const struct brush *brush,
			    const struct rect *body)
{
	const struct overview_plan *plan = &view->plan;
	int seen = plan->problems_rows / plan->problem_lines;

	draw_problems_head(view, brush, body);
	if (!view->problem_count) {
		draw_no_problems(app, brush, plan->problems, body);
		return;
	}
	for (int i = 0; i < seen; i++)
		draw_problem(view, app, brush, view->first_problem + (size_t)i,
			     body->y + plan->problems + i * plan->problem_lines, body);
}

/* --- changes --- */

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

/* "1h", or less if not all events are loaded. */
static const char *write_span(const struct changes *changes, int64_t shown_us, char *ret, size_t size)
{
	if (changes->since_us <= shown_us - OVERVIEW_CHANGES_US)
		snprintf(ret, size, "1h");
	else
		format_age(shown_us - changes->since_us, ret, size);
	return ret;
}

/* One line per change, or a single line of short forms. */
void overview_draw_changes(const struct overview_view *view, const struct app *app, const struct brush *brush,
			   const struct rect *body)
{
	enum { LABEL = 12, BRIEF_MOST = 8 };
	const struct changes *changes = &view->changes;
	int y = body->y + view->plan.changes, rows = view->plan.changes_rows;
	int x = body->x + LABEL, columns = body->columns - LABEL;
	struct segments line = { 0 };
	char times[40], text[400];

	if (!rows)
		return;
	draw_line(brush, body, view->plan.changes, ROLE_STRONG, "CHANGES %s",
		  write_span(changes, app->live->shown->sweep.wall_us, times, sizeof(times)));
	if (!changes->count) {
		draw_cell(brush, y, x, columns, "none", ALIGN_LEFT, ROLE_FAINT);
		return;
	}
	for (int i = 0; rows > 1 && i < rows; i++) {
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
	for (int i = 0; i < BRIEF_MOST && (size_t)i < changes->count; i++)
		segment_add(&line, i, ROLE_TEXT, "%s %s",
			    format_time(changes->list[i].last_us, "%H:%M", times, sizeof(times)),
			    changes->list[i].brief);
	draw_segments(brush, y, x, columns, &line);
}

/* --- groups --- */

/* Load alone is no problem: it is marked where the group has a finding. */
static enum role load_role(const struct port_group *group, double percent)
{
	return group_state(group) >= GROUP_STATE_WARNING || isnan(percent) ? role_of_load(percent) : ROLE_LOAD_LOW;
}

/* Write the text of a cell. Return: its role. */
static enum role write_cell(const struct app *app, const struct port_group *group, enum group_column column,
			    int columns, char ret[CELL_SIZE])
{
	static const enum role states[] = {
		[GROUP_STATE_UNKNOWN] = ROLE_SILENT, [GROUP_STATE_OK] = ROLE_FAINT, [GROUP_STATE_INFO] = ROLE_STRONG,
		[GROUP_STATE_WARNING] = ROLE_WARNING, [GROUP_STATE_CRITICAL] = ROLE_CRITICAL,
	};
	struct measure percent = column == GROUP_COLUMN_MEAN ? group->mean_percent :
			 column == GROUP_COLUMN_MIN ? group->min_percent : group->max_percent;
	uint32_t number = column == GROUP_COLUMN_PORTS ? group->ports : group->silent;

	switch (column) {
	case GROUP_COLUMN_NAME:
		snprintf(ret, CELL_SIZE, "%s", group->name);
		return ROLE_TEXT;
	case GROUP_COLUMN_RATE:
		format_rate(group->bytes_per_s, (unsigned)columns, ret, CELL_SIZE);
		return ROLE_TEXT;
	case GROUP_COLUMN_MEAN:
	case GROUP_COLUMN_MIN:
	case GROUP_COLUMN_MAX:
		format_percent(percent, ret, CELL_SIZE);
		return load_role(group, percent.value);
	case GROUP_COLUMN_HISTOGRAM:
		group_histogram(group, app->theme->unicode, ret);
		return load_role(group, group->max_percent.value);
	case GROUP_COLUMN_STALL:
		format_percent(group->stall_percent, ret, CELL_SIZE);
		return group->stall_percent.value >= 10 ? ROLE_WARNING : ROLE_TEXT;
	case GROUP_COLUMN_ERRORS:
		format_errors(group->errors, (unsigned)columns, ret, CELL_SIZE);
		return facts_has_errors(group->errors) ? ROLE_WARNING : ROLE_FAINT;
	case GROUP_COLUMN_HOTTEST:
		ret[0] = '\0';
		if (group->hottest != FABRIC_NONE && group->max_percent.value > RATE_IDLE_PERCENT)
			port_table_name(app->table, group->hottest, ret);
		return ROLE_TEXT;
	case GROUP_COLUMN_STATE:
		group_state_word(group, columns, ret, CELL_SIZE);
		return states[group_state(group)];
	default:
		format_count(number, (unsigned)columns, ret, CELL_SIZE);
		return column == GROUP_COLUMN_PORTS ? ROLE_TEXT : number ? ROLE_SILENT : ROLE_FAINT;
	}
}

static void draw_group(const struct overview_view *view, const struct app *app, const struct brush *plain, size_t index,
		       int y, const struct column_place *places, const struct rect *body)
{
	bool here = view->part == OVERVIEW_FINDINGS && view->problem_count + index == view->list.cursor, right;
	const struct brush brush = { plain->theme, plain->flags | (here ? DRAW_CURSOR : 0) };
	char text[CELL_SIZE];

	draw_cell(&brush, y, body->x, body->columns, here ? ">" : "", ALIGN_LEFT, ROLE_TEXT);
	for (int column = 0; column < GROUP_COLUMN_COUNT; column++) {
		enum role role;

		if (!places[column].columns)
			continue;
		group_column_title((enum group_column)column, &right);
		role = write_cell(app, &view->groups.list[index], (enum group_column)column, places[column].columns,
				  text);
		draw_cell(&brush, y, body->x + places[column].x, places[column].columns, text,
			  right ? ALIGN_RIGHT : column == GROUP_COLUMN_NAME || column == GROUP_COLUMN_HOTTEST ?
			  ALIGN_NAME : ALIGN_LEFT, role);
	}
}

void overview_draw_groups(const struct overview_view *view, const struct app *app, const struct brush *brush,
			  const struct rect *body)
{
	const struct overview_plan *plan = &view->plan;
	struct column_place places[GROUP_COLUMN_COUNT];
	int name_columns = 0, y = body->y + plan->groups_head;
	bool right;

	if (!plan->groups_head_rows)
		return;
	for (size_t group = 0; group < view->groups.count; group++) {
		int columns = (int)text_columns(view->groups.list[group].name);

		name_columns = columns > name_columns ? columns : name_columns;
	}
	overview_columns(body->columns, name_columns, places);
	draw_cell(brush, y, body->x, body->columns, "", ALIGN_LEFT, ROLE_HEAD);
	for (int column = 0; column < GROUP_COLUMN_COUNT; column++) {
		const char *title = group_column_title((enum group_column)column, &right);
		/* Heads of sections begin at the edge. */
		int x = column == GROUP_COLUMN_NAME ? 0 : places[column].x;

		draw_cell(brush, y, body->x + x, places[column].columns, title, right ? ALIGN_RIGHT : ALIGN_LEFT,
			  ROLE_HEAD);
	}
	for (int i = 0; i < plan->groups_rows; i++)
		draw_group(view, app, brush, view->first_group + (size_t)i, body->y + plan->groups + i, places, body);
}
