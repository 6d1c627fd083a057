/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* screen_overview.c - what hurts whom since when, what changed, where the load is */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "base/when.h"
#include "fabric/fabric.h"
#include "tui/app.h"
#include "tui/changes.h"
#include "tui/draw.h"
#include "tui/groups.h"
#include "tui/list.h"
#include "tui/overview.h"

#define CHANGES_US (3600 * US_PER_S)
#define CHANGES_LABEL "CHANGES 1h"

struct overview {
	bool dirty;              /* made of another snapshot or moment than is shown */
	const struct finding_row **problems; /* borrowed of the moment; acknowledged ones last */
	size_t problem_count, open_count;
	struct changes changes;
	struct port_groups groups;
	struct list list;        /* the cursor: problems, then groups */
	size_t first_problem, first_group; /* that are seen */
	struct overview_plan plan; /* of the last drawing */
	int64_t kept_finding;    /* what the cursor stood on */
	char kept_group[GROUP_NAME_SIZE];
};

static void *create(struct app *app, struct error *err)
{
	struct overview *overview = calloc(1, sizeof(*overview));

	(void)app;
	if (!overview)
		err_nomem(err);
	return overview;
}

static void destroy(void *state)
{
	struct overview *overview = state;

	if (!overview)
		return;
	free(overview->problems);
	changes_done(&overview->changes);
	groups_done(&overview->groups);
	free(overview);
}

static void changed(void *state, struct app *app)
{
	struct overview *overview = state;

	(void)app;
	overview->dirty = true;
}

/* Infos are no problems: they are told as changes, and in the groups' states. */
static int find_problems(struct overview *overview, const struct moment *moment)
{
	const struct finding_row **problems = calloc(moment->finding_count + 1, sizeof(*problems));
	size_t i;

	overview->problem_count = overview->open_count = 0;
	free(overview->problems);
	overview->problems = problems;
	for (i = 0; problems && i < moment->finding_count; i++) {
		const struct finding_row *row = &moment->findings[i];

		if (row->finding.severity < FINDING_WARNING)
			continue;
		problems[overview->problem_count++] = row;
		overview->open_count += !row->acknowledged.at_us;
	}
	return problems ? 0 : ERR_NOMEM;
}

/* The cursor stays on what it stood on, wherever that is now. */
static void find_kept(struct overview *overview)
{
	size_t i;

	for (i = 0; overview->kept_finding && i < overview->problem_count; i++)
		if (overview->problems[i]->finding.id == overview->kept_finding)
			overview->list.cursor = i;
	for (i = 0; overview->kept_group[0] && i < overview->groups.count; i++)
		if (!strcmp(overview->groups.list[i].name, overview->kept_group))
			overview->list.cursor = overview->problem_count + i;
}

static void keep(struct overview *overview)
{
	size_t cursor = overview->list.cursor;

	overview->kept_finding = 0;
	overview->kept_group[0] = '\0';
	/* At the top one wants to see what is worst, whatever that is. */
	if (cursor && cursor < overview->problem_count)
		overview->kept_finding = overview->problems[cursor]->finding.id;
	else if (cursor >= overview->problem_count && cursor - overview->problem_count < overview->groups.count)
		memcpy(overview->kept_group, overview->groups.list[cursor - overview->problem_count].name,
		       sizeof(overview->kept_group));
}

/* Bring it up to what is shown. What there is no memory for is left out: the next sweep tries again. */
static void update(struct overview *overview, const struct app *app)
{
	int64_t shown_us = app->live.shown->sweep.wall_us;

	if (!overview->dirty)
		return;
	overview->dirty = false;
	if (find_problems(overview, &app->moment) < 0 ||
	    changes_make(&app->moment, shown_us - CHANGES_US, app->live.at_us ? shown_us : INT64_MAX,
			 &overview->changes, NULL) < 0 ||
	    groups_make(&app->table, &app->moment, &overview->groups, NULL) < 0)
		overview->dirty = true;
	find_kept(overview);
}

static void write_clock(int64_t wall_us, char *ret, size_t size)
{
	time_t seconds = (time_t)(wall_us / US_PER_S);
	struct tm parts;

	localtime_r(&seconds, &parts);
	if (!strftime(ret, size, "%H:%M", &parts))
		ret[0] = '\0';
}

/* "02:58", or of what is older than a day how long it is: "4d02h". */
static void write_since(int64_t since_us, int64_t shown_us, char ret[WHEN_SIZE])
{
	const int64_t day_us = 24 * 3600 * US_PER_S;

	if (shown_us - since_us < day_us)
		write_clock(since_us, ret, WHEN_SIZE);
	else if (shown_us - since_us < 100 * day_us)
		when_format_span(shown_us - since_us, ret);
	else
		format_age(shown_us - since_us, ret, WHEN_SIZE);
}

static void draw_problems_head(const struct overview *overview, const struct brush *brush, const struct rect *body)
{
	struct problem_places places;
	char text[128];
	size_t len, seen = (size_t)(overview->plan.problems_rows / overview->plan.problem_lines);

	overview_problem_places(body->columns, &places);
	len = (size_t)snprintf(text, sizeof(text), "PROBLEMS %zu", overview->open_count);
	if (overview->problem_count > overview->open_count)
		len += (size_t)snprintf(text + len, sizeof(text) - len, ", acknowledged %zu",
					overview->problem_count - overview->open_count);
	if (seen < overview->problem_count)
		snprintf(text + len, sizeof(text) - len, " (%zu-%zu seen)", overview->first_problem + 1,
			 overview->first_problem + seen);
	draw_cell(brush, body->y, body->x, body->columns, text, ALIGN_LEFT, ROLE_HEAD);
	if (!overview->problem_count)
		return;
	draw_cell(brush, body->y, body->x + places.since, places.since_columns, "SINCE", ALIGN_LEFT, ROLE_HEAD);
	draw_cell(brush, body->y, body->x + places.cause, places.cause_columns, "CAUSE", ALIGN_LEFT, ROLE_HEAD);
}

/* Good news only where enough was asked to know. */
static void draw_no_problems(const struct app *app, const struct brush *brush, int y, const struct rect *body)
{
	const struct sweep_info *sweep = &app->live.shown->sweep;
	char answered[32], asked[32], text[200];
	bool all = sweep->ports_asked && sweep->ports_answered >= sweep->ports_asked;

	format_count(sweep->ports_asked, 24, asked, sizeof(asked));
	format_count(sweep->ports_asked - sweep->ports_answered, 24, answered, sizeof(answered));
	if (all)
		snprintf(text, sizeof(text), " no problems: all %s ports that were asked answered", asked);
	else if (!sweep->ports_asked)
		snprintf(text, sizeof(text), " no problem is known; no port was asked");
	else
		snprintf(text, sizeof(text), " no problems, as far as is known: %s of %s ports did not answer",
			 answered, asked);
	draw_cell(brush, y, body->x, body->columns, text, ALIGN_LEFT, all ? ROLE_GOOD : ROLE_WARNING);
}

static const char *cause_of(const struct finding *finding)
{
	return *finding->cause && strcmp(finding->cause, "unknown") ? finding->cause : finding_kind_name(finding->kind);
}

/* Its evidence in so many lines, broken between words. Return: the line behind it. */
static int draw_evidence(const struct brush *brush, int y, int end, const struct rect *body, const char *text,
			 enum role role)
{
	int indent = 6, columns = body->columns - indent;

	while (*text && y < end) {
		size_t bytes = text_prefix_bytes(text, (size_t)columns), cut = bytes;
		char line[CELL_SIZE];

		/* The last line is cut by draw_cell, which shows that it is. */
		if (text[bytes] && y + 1 < end) {
			while (cut && text[cut] != ' ')
				cut--;
			bytes = cut ? cut : bytes;
		} else {
			bytes = strlen(text);
		}
		snprintf(line, sizeof(line), "%.*s", (int)bytes, text);
		draw_cell(brush, y++, body->x + indent, columns, line, ALIGN_LEFT, role);
		text += bytes;
		while (*text == ' ')
			text++;
	}
	return y;
}

static void write_acknowledged(const struct finding_row *row, char *ret, size_t size)
{
	const struct acknowledgement *said = &row->acknowledged;
	char until[WHEN_SIZE];

	if (said->until_us)
		snprintf(ret, size, "%s until %s: %s", said->person, when_format_local(said->until_us, until),
			 said->reason);
	else
		snprintf(ret, size, "%s: %s", said->person, said->reason);
}

static void draw_problem(const struct overview *overview, const struct app *app, const struct brush *plain, size_t index,
			 int y, const struct rect *body)
{
	const struct finding_row *row = overview->problems[index];
	bool known = row->acknowledged.at_us, critical = row->finding.severity == FINDING_CRITICAL;
	enum role role = known ? ROLE_FAINT : critical ? ROLE_CRITICAL : ROLE_WARNING;
	bool here = index == overview->list.cursor;
	const struct brush brush = { plain->theme, plain->flags | (here ? DRAW_CURSOR : 0) };
	struct problem_places places;
	char since[WHEN_SIZE], text[600];
	int end = y + overview->plan.problem_lines;

	overview_problem_places(body->columns, &places);
	draw_cell(&brush, y, body->x, body->columns, here ? ">" : "", ALIGN_LEFT, ROLE_TEXT);
	draw_cell(&brush, y, body->x + 1, places.severity_columns, known ? "ack" : critical ? "CRIT" : "WARN",
		  ALIGN_LEFT, role);
	draw_cell(&brush, y, body->x + places.subject, places.subject_columns, row->finding.subject, ALIGN_MIDDLE,
		  known ? ROLE_FAINT : ROLE_STRONG);
	write_since(row->finding.since_us, app->live.shown->sweep.wall_us, since);
	draw_cell(&brush, y, body->x + places.since, places.since_columns, since, ALIGN_LEFT,
		  known ? ROLE_FAINT : ROLE_TEXT);
	draw_cell(&brush, y, body->x + places.cause, places.cause_columns, cause_of(&row->finding), ALIGN_LEFT,
		  known ? ROLE_FAINT : ROLE_TEXT);
	y++;
	if (known) {
		write_acknowledged(row, text, sizeof(text));
		y = draw_evidence(plain, y, y + 1, body, text, ROLE_FAINT);
	}
	snprintf(text, sizeof(text), "%s: %s", finding_kind_name(row->finding.kind), row->finding.text);
	/* What to do has the last line where there are three. */
	y = draw_evidence(plain, y, end - (overview->plan.problem_lines > 2 && !known && *row->finding.advice), body, text,
			  known ? ROLE_FAINT : ROLE_TEXT);
	if (overview->plan.problem_lines > 2 && !known) {
		snprintf(text, sizeof(text), "> %s", row->finding.advice);
		draw_evidence(plain, y, end, body, *row->finding.advice ? text : "", ROLE_FAINT);
	}
}

static void draw_problems(struct overview *overview, const struct app *app, const struct brush *brush,
			  const struct rect *body)
{
	const struct overview_plan *plan = &overview->plan;
	int seen = plan->problems_rows / plan->problem_lines, i;

	draw_problems_head(overview, brush, body);
	if (!overview->problem_count) {
		draw_no_problems(app, brush, body->y + plan->problems, body);
		return;
	}
	for (i = 0; i < seen; i++)
		draw_problem(overview, app, brush, overview->first_problem + (size_t)i,
			     body->y + plan->problems + i * plan->problem_lines, body);
}

static const char *write_times(const struct change *change, char *ret, size_t size)
{
	char from[16], to[16];

	write_clock(change->first_us, from, sizeof(from));
	write_clock(change->last_us, to, sizeof(to));
	if (strcmp(from, to))
		snprintf(ret, size, "%s-%s", from, to);
	else
		snprintf(ret, size, "%s", to);
	return ret;
}

/* One line for each, or as many as fit into the only one. */
static void draw_changes(const struct overview *overview, const struct brush *brush, const struct rect *body)
{
	enum { LABEL = 12, SEGMENTS = 8 };
	const struct changes *changes = &overview->changes;
	int y = body->y + overview->plan.changes, rows = overview->plan.changes_rows, i;
	int x = body->x + LABEL, columns = body->columns - LABEL;
	struct segment segments[SEGMENTS];
	char times[40], text[400];
	size_t count = 0;

	if (!rows)
		return;
	draw_cell(brush, y, body->x, body->columns, CHANGES_LABEL, ALIGN_LEFT, ROLE_STRONG);
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
		snprintf(text, sizeof(text), "%d of %zu%s", rows, changes->count, changes->cut ? "+" : "");
		draw_cell(brush, y + 1, body->x, LABEL, text, ALIGN_LEFT, ROLE_FAINT);
	}
	if (rows > 1)
		return;
	for (; count < SEGMENTS && count < changes->count; count++) {
		const struct change *change = &changes->list[count];
		char at[16];

		write_clock(change->last_us, at, sizeof(at));
		segments[count].role = ROLE_TEXT;
		segments[count].rank = (int)count;
		snprintf(segments[count].text, sizeof(segments[count].text), "%s %s", at, change->brief);
	}
	draw_segments(brush, y, x, columns, segments, count);
}

/* The text and look of a cell of a group. */
static enum role write_cell(const struct port_group *group, enum group_column column, int columns, bool unicode,
			    char ret[CELL_SIZE])
{
	static const enum role states[] = {
		[GROUP_STATE_UNKNOWN] = ROLE_SILENT, [GROUP_STATE_OK] = ROLE_FAINT, [GROUP_STATE_TOLD] = ROLE_STRONG,
		[GROUP_STATE_WARNING] = ROLE_WARNING, [GROUP_STATE_CRITICAL] = ROLE_CRITICAL,
	};
	double percent = column == GROUP_COLUMN_MEAN ? group->mean_percent :
			 column == GROUP_COLUMN_MIN ? group->min_percent : group->max_percent;
	uint32_t number = column == GROUP_COLUMN_PORTS ? group->ports :
			  column == GROUP_COLUMN_SILENT ? group->silent : group->down;

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
		return theme_load_role(percent);
	case GROUP_COLUMN_HISTOGRAM:
		group_histogram(group, unicode, ret);
		return theme_load_role(group->max_percent);
	case GROUP_COLUMN_STALL:
		format_percent(group->stall_percent, ret, CELL_SIZE);
		return group->stall_percent >= 10 ? ROLE_WARNING : ROLE_TEXT;
	case GROUP_COLUMN_ERRORS:
		if (isnan(group->errors))
			snprintf(ret, CELL_SIZE, "-");
		else
			format_count((uint64_t)group->errors, (unsigned)columns - group->errors_at_least, ret, CELL_SIZE);
		if (group->errors_at_least && group->errors > 0)
			strcat(ret, "+");
		return group->errors > 0 ? ROLE_WARNING : ROLE_FAINT;
	case GROUP_COLUMN_STATE:
		group_state_word(group, columns, ret, CELL_SIZE);
		return states[group_state(group)];
	default:
		format_count(number, (unsigned)columns, ret, CELL_SIZE);
		return column == GROUP_COLUMN_PORTS ? ROLE_TEXT : !number ? ROLE_FAINT :
		       column == GROUP_COLUMN_SILENT ? ROLE_SILENT : ROLE_DOWN;
	}
}

static void draw_group(const struct overview *overview, const struct brush *plain, size_t index, int y,
		       const struct column_place *places, const struct rect *body)
{
	bool here = overview->problem_count + index == overview->list.cursor, right;
	const struct brush brush = { plain->theme, plain->flags | (here ? DRAW_CURSOR : 0) };
	char text[CELL_SIZE];
	int column;

	draw_cell(&brush, y, body->x, body->columns, here ? ">" : "", ALIGN_LEFT, ROLE_TEXT);
	for (column = 0; column < GROUP_COLUMN_COUNT; column++) {
		enum role role;

		if (!places[column].columns)
			continue;
		group_column_title((enum group_column)column, &right);
		role = write_cell(&overview->groups.list[index], (enum group_column)column, places[column].columns,
				  brush.theme->unicode, text);
		draw_cell(&brush, y, body->x + places[column].x, places[column].columns, text,
			  right ? ALIGN_RIGHT : column == GROUP_COLUMN_NAME ? ALIGN_MIDDLE : ALIGN_LEFT, role);
	}
}

static void draw_groups(struct overview *overview, const struct brush *brush, const struct rect *body)
{
	const struct overview_plan *plan = &overview->plan;
	struct column_place places[GROUP_COLUMN_COUNT];
	int name_columns = 0, column, i, y = body->y + plan->groups_head;
	size_t group;
	bool right;

	if (!plan->groups_head_rows)
		return;
	for (group = 0; group < overview->groups.count; group++) {
		int columns = (int)text_columns(overview->groups.list[group].name);

		name_columns = columns > name_columns ? columns : name_columns;
	}
	overview_columns(body->columns, name_columns, places);
	draw_cell(brush, y, body->x, body->columns, "", ALIGN_LEFT, ROLE_HEAD);
	for (column = 0; column < GROUP_COLUMN_COUNT; column++) {
		const char *title = group_column_title((enum group_column)column, &right);
		/* The heads of sections begin at the edge. */
		int x = column == GROUP_COLUMN_NAME ? 0 : places[column].x;

		draw_cell(brush, y, body->x + x, places[column].columns, title, right ? ALIGN_RIGHT : ALIGN_LEFT,
			  ROLE_HEAD);
	}
	for (i = 0; i < plan->groups_rows; i++)
		draw_group(overview, brush, overview->first_group + (size_t)i, body->y + plan->groups + i, places, body);
}

/* What is seen of the problems and of the groups: around the cursor, where that is in them. */
static void follow_cursor(struct overview *overview)
{
	const struct overview_plan *plan = &overview->plan;
	size_t cursor = overview->list.cursor, problems = overview->problem_count, groups = overview->groups.count;
	int seen = plan->problems_rows / plan->problem_lines;

	overview->first_problem = layout_scroll(overview->first_problem, cursor < problems ? cursor : overview->first_problem,
						problems, seen);
	overview->first_group = layout_scroll(overview->first_group,
					      cursor >= problems ? cursor - problems : overview->first_group, groups,
					      plan->groups_rows);
}

static void draw(void *state, struct app *app, const struct rect *body)
{
	struct overview *overview = state;
	const struct brush brush = { &app->theme, app_dims(app) ? DRAW_DIM : 0 };
	struct overview_ask ask = { .rows = body->rows };

	update(overview, app);
	ask.problems = overview->problem_count;
	ask.changes = overview->changes.count;
	ask.groups = overview->groups.count;
	overview_plan(&ask, &overview->plan);
	list_fit(&overview->list, overview->problem_count + overview->groups.count,
		 overview->plan.problems_rows / overview->plan.problem_lines);
	follow_cursor(overview);
	draw_problems(overview, app, &brush, body);
	draw_changes(overview, &brush, body);
	draw_groups(overview, &brush, body);
}

static bool key(void *state, struct app *app, int pressed)
{
	struct overview *overview = state;
	bool taken = list_key(&overview->list, pressed);

	(void)app;
	if (taken)
		keep(overview);
	return taken;
}

static void subject(void *state, const struct app *app, struct subject *ret)
{
	struct overview *overview = state;
	const struct port_group *group;
	size_t cursor = overview->list.cursor;

	update(overview, app);
	if (cursor < overview->problem_count) {
		*ret = (struct subject){ .kind = SUBJECT_FINDING, .id = overview->problems[cursor]->finding.id };
		return;
	}
	cursor -= overview->problem_count;
	if (cursor >= overview->groups.count)
		return;
	group = &overview->groups.list[cursor];
	if (group->own.kind != SUBJECT_NONE) {
		*ret = group->own;
	} else if (group->worst) {
		*ret = (struct subject){ .kind = SUBJECT_FINDING, .id = group->worst->finding.id };
	} else if (group->hottest != FABRIC_NONE) {
		const struct fabric *fabric = app->live.shown->fabric;
		const struct port *port = &fabric->ports[group->hottest];

		*ret = (struct subject){ .kind = SUBJECT_PORT, .node_guid = fabric->nodes[port->node].guid,
					 .port = port->num };
	}
}

static bool mouse(void *state, struct app *app, const struct mouse *mouse)
{
	struct overview *overview = state;
	const struct overview_plan *plan = &overview->plan;
	int y = mouse->y - app->body.y;
	struct subject here = { SUBJECT_NONE };

	if (mouse->wheel) {
		list_wheel(&overview->list, mouse->wheel);
		keep(overview);
		return true;
	}
	if (overview->problem_count && y >= plan->problems && y < plan->problems + plan->problems_rows)
		list_move_to(&overview->list,
			     overview->first_problem + (size_t)((y - plan->problems) / plan->problem_lines));
	else if (plan->groups_rows && y >= plan->groups && y < plan->groups + plan->groups_rows)
		list_move_to(&overview->list,
			     overview->problem_count + overview->first_group + (size_t)(y - plan->groups));
	else
		return false;
	keep(overview);
	subject(state, app, &here);
	if (mouse->twice && here.kind != SUBJECT_NONE)
		app_open(app, &screen_detail, &here);
	return true;
}

static const struct key_help footer_keys[] = {
	{ "Enter", "detail" }, { "b", "begin" }, { "a", "acknowledge" }, { "t", "time" }, { "< >", "step" },
	{ "1-6", "screens" }, { "?", "help" }, { "q", "quit" }, { NULL, NULL },
};

static const struct key_help help[] = {
	{ "Up Down PgUp PgDn", "the cursor: through the problems, then through the groups" },
	{ "Home End", "the first, the last; k j g G do the same" },
	{ "Enter", "on a group: its uplinks, else its worst problem, else the port that sends most" },
	{ "b a", "go to where a problem began; acknowledge it, or take that back" },
	{ "CRIT WARN ack", "a problem's severity; ack: somebody knows of it, and said why it may wait" },
	{ "CHANGES 1h", "of the hour before the shown time; what belongs together is one" },
	{ "compute out in", "what hosts send, and what is sent to them" },
	{ "leaf up", "what leafs send to the tier above; spine down: what spines send to the one below" },
	{ "other", "without the switches above, which have a problem and so a row of their own" },
	{ "MEAN MIN MAX", "what its ports send, in percent of their links' data rates" },
	{ "0 ... 100%", "how many ports send 0 to 10 percent, 10 to 20, ..." },
	{ "unknown", "of a group: fewer than 95 percent of its ports were read" },
	{ NULL, NULL },
};

const struct screen screen_overview = {
	.name = "Overview",
	.is_tab = true,
	.create = create,
	.destroy = destroy,
	.changed = changed,
	.draw = draw,
	.key = key,
	.mouse = mouse,
	.subject = subject,
	.footer_keys = footer_keys,
	.help = help,
};
