/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/screens/app.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "fabric/shape.h"
#include "tui/draw/draw.h"
#include "tui/draw/key.h"
#include "tui/draw/list.h"
#include "tui/draw/prompt.h"
#include "tui/draw/terminal.h"
#include "tui/model/context.h"
#include "tui/model/job_list.h"
#include "tui/model/live.h"
#include "tui/model/port_table.h"
#include "tui/model/trend.h"
#include "tui/screens/list_screen.h"
#include "tui/screens/setup.h"
#include "tui/tui.h"

/* Maximum time between the clicks of a double click. */
#define DOUBLE_PRESS_US (500 * US_PER_MS)

const struct screen *const screens[SCREEN_COUNT] = {
	&screen_overview, &screen_links, &screen_balance, &screen_ports, &screen_events, &screen_snapshots,
	&screen_jobs, &screen_nodes, &screen_subject, &screen_text, &screen_help, &screen_setup,
};

void *screen_state(const struct app *app, const struct screen *screen)
{
	size_t i = 0;

	while (screens[i] != screen)
		i++;
	return app->states[i];
}

static struct list_screen *list_of(void *state, const struct screen_table *table)
{
	return (struct list_screen *)((char *)state + table->offset);
}

struct list_screen *screen_list(const struct app *app, const struct screen *screen)
{
	void *state = screen_state(app, screen);
	size_t which = screen->table ? screen->table(state, app) : 0;

	for (const struct screen_table *table = screen->tables; table && table->view; table++)
		if (!which--)
			return list_of(state, table);
	return NULL;
}

const struct screen *app_screen(const struct app *app)
{
	return app->path[app->depth - 1].screen;
}

const struct subject *app_subject(const struct app *app)
{
	return &app->path[app->depth - 1].subject;
}

struct subject app_subject_here(const struct app *app)
{
	const struct screen *screen = app_screen(app);
	struct subject here = { .kind = SUBJECT_NONE };
	const struct list_screen *list = screen_list(app, screen);
	size_t index;

	if (app->live->shown && screen->subject)
		screen->subject(screen_state(app, screen), app, &here);
	else if (app->live->shown && list && list->table.view->subject && list_screen_index(list, &index))
		here = list->table.view->subject(&list->table, index);
	return here;
}

static void notify_opened(struct app *app)
{
	const struct screen *screen = app_screen(app);

	if (screen->opened)
		screen->opened(screen_state(app, screen), app, app_subject(app));
}

void app_show(struct app *app, const struct screen *screen)
{
	app->path[0] = (struct place){ .screen = screen };
	app->depth = 1;
	notify_opened(app);
}

void app_open(struct app *app, const struct screen *screen, const struct subject *subject)
{
	struct place *last = &app->path[app->depth - 1];

	if (last->screen == screen && subject_equal(&last->subject, subject))
		return;
	/* A path that is too long keeps its beginning; its last step is replaced. */
	if (app->depth < PATH_MAX_DEPTH)
		app->depth++;
	app->path[app->depth - 1] = (struct place){ screen, *subject };
	notify_opened(app);
}

void app_open_here(struct app *app)
{
	const struct subject here = app_subject_here(app);

	if (here.kind != SUBJECT_NONE)
		app_open(app, &screen_subject, &here);
}

void app_back(struct app *app)
{
	if (app->depth == 1)
		return;
	app->depth--;
	notify_opened(app);
}

static int create_screens(struct app *app, struct error *err)
{
	for (size_t i = 0; i < SCREEN_COUNT; i++) {
		app->states[i] = calloc(1, screens[i]->size);
		if (!app->states[i])
			return err_nomem(err);
		for (const struct screen_table *table = screens[i]->tables; table && table->view; table++)
			table_init(&list_of(app->states[i], table)->table, table->view, app->states[i], app);
		if (screens[i]->init)
			screens[i]->init(app->states[i], app);
	}
	return 0;
}

static void destroy_screens(const struct app *app)
{
	for (size_t i = 0; i < SCREEN_COUNT; i++) {
		if (!app->states[i])
			continue;
		for (const struct screen_table *table = screens[i]->tables; table && table->view; table++)
			table_done(&list_of(app->states[i], table)->table);
		if (screens[i]->done)
			screens[i]->done(app->states[i]);
		free(app->states[i]);
	}
}

/* The targets of the pointers in struct app. */
struct parts {
	struct theme theme;
	struct setup setup;
	struct live live;
	struct snapshot_context context;
	struct port_table table;
	struct trend trend;
	struct job_list jobs;
	struct tui_child_state child;
	struct prompt prompt;
};

int app_init(struct app *app, const struct tui_options *options, struct error *err)
{
	struct parts *parts = calloc(1, sizeof(*parts));
	int status;

	*app = (struct app){ .options = options, .depth = 1, .path[0].screen = screens[0], .parts = parts };
	if (!parts)
		return err_nomem(err);
	app->theme = &parts->theme;
	app->setup = &parts->setup;
	app->live = &parts->live;
	app->context = &parts->context;
	app->table = &parts->table;
	app->trend = &parts->trend;
	app->jobs = &parts->jobs;
	app->child = &parts->child;
	app->prompt = &parts->prompt;
	app->started_us = clock_boottime_us(options->clock);
	app->now_us = clock_wall_us(options->clock);
	live_init(app->live, options->db_path, options->names, options->clock, 0);
	app->live->at_us = options->at_us;
	status = create_screens(app, err);
	return status < 0 ? status : setup_start(app, err);
}

void app_done(struct app *app)
{
	if (!app->parts)
		return;
	destroy_screens(app);
	port_table_done(app->table);
	trend_done(app->trend);
	job_list_done(app->jobs);
	context_done(app->context);
	live_done(app->live);
	free(app->acknowledge_input);
	free(app->parts);
}

/* The snapshot or its context changed. */
static int update_snapshot(struct app *app, struct error *err)
{
	struct live *live = app->live;
	struct error trouble = { 0 };
	int status = port_table_set(app->table, live->shown, &live->errors, live->reader, err);

	if (status < 0)
		return status;
	status = context_load(app->context, live->reader, live->shown, live->at_us, clock_wall_us(live->clock),
			      app->options->shape, &trouble);
	if (status == ERR_NOMEM)
		return err_set(err, status, "%s", trouble.text);
	if (status < 0)
		app_message(app, "%s", trouble.text);
	port_table_compare(app->table, app->context, app->options->shape);
	app->stale = false;
	app->generation += live->shown != NULL;
	return 0;
}

int app_poll(struct app *app, bool *ret_news, struct error *err)
{
	bool changed = false;
	int status = live_poll(app->live, &changed, err);

	if (status < 0)
		return status;
	app->now_us = clock_wall_us(app->options->clock);
	*ret_news = changed || app->stale;
	if (*ret_news) {
		status = update_snapshot(app, err);
		if (status < 0)
			return status;
	}
	if (trend_poll(app->trend, app->live, app->table, clock_boottime_us(app->options->clock)))
		*ret_news = true;
	app->command_runs = false;
	for (size_t i = 0; i < SCREEN_COUNT; i++)
		if (screens[i]->poll && screens[i]->poll(app->states[i], app))
			*ret_news = true;
	if (app->live->refused[0]) {
		app_message(app, "%s", app->live->refused);
		app->live->refused[0] = '\0';
		*ret_news = true;
	}
	return 0;
}

struct list *list_at_start(void *state, const struct app *app)
{
	(void)app;
	return state;
}

bool app_move_list(struct app *app, const struct mouse *mouse, int key)
{
	const struct screen *screen = app_screen(app);
	void *state = screen_state(app, screen);
	struct list_screen *self = screen_list(app, screen);
	struct list *list = self ? &self->list : screen->list ? screen->list(state, app) : NULL;
	bool moved = list && (mouse ? list_mouse(list, mouse) : list_key(list, key));

	if (moved && self)
		list_screen_moved(self);
	else if (moved && screen->moved)
		screen->moved(state, app);
	return moved;
}

static void dispatch_key(struct app *app, int key)
{
	const struct screen *screen = app_screen(app);
	struct list_screen *list = screen_list(app, screen);

	if (!app->live->shown && !screen->needs_nothing) {
		common_key(app, key);
		return;
	}
	if (list)
		list_screen_update(list, app);
	if (!(list && list_screen_has_focus(list)) && screen->key && screen->key(screen_state(app, screen), app, key))
		return;
	if (!(list && list_screen_key(list, app, key)) && !app_move_list(app, NULL, key))
		common_key(app, key);
}

void app_key(struct app *app, int key)
{
	key = key_plain(key);
	app->press.at_us = 0;
	if (!app->prompt->done || !prompt_key(app->prompt, app, key))
		dispatch_key(app, key);
}

/*
 * A second click at the same place is a double click if it follows soon, or if the cursor is still
 * on what the first one selected; the rows may have moved in between.
 */
static void click(struct app *app, const struct screen *screen, const struct mouse *mouse)
{
	int64_t now_us = clock_boottime_us(app->options->clock);
	const struct subject before = app_subject_here(app);
	struct list_screen *list = screen_list(app, screen);
	bool twice = mouse->twice, chosen;

	if (app->press.at_us && mouse->y == app->press.y && abs(mouse->x - app->press.x) <= 1)
		twice |= subject_equal(&before, &app->press.subject) &&
			 (now_us - app->press.at_us < DOUBLE_PRESS_US || before.kind != SUBJECT_NONE);
	app->press.at_us = 0;
	if (screen->mouse)
		chosen = screen->mouse(screen_state(app, screen), app, mouse);
	else
		chosen = list ? list_screen_mouse(list, app, mouse) : app_move_list(app, mouse, 0);
	if (mouse->wheel || app_screen(app) != screen)
		return;
	if (twice) {
		if (chosen)
			dispatch_key(app, '\r');
		return;
	}
	app->press.y = mouse->y;
	app->press.x = mouse->x;
	app->press.at_us = now_us;
	app->press.subject = app_subject_here(app);
}

void app_mouse(struct app *app, const struct mouse *mouse)
{
	const struct screen *screen = app_screen(app), *tab;

	if (mouse->y < app->body.y) {
		tab = mouse->wheel ? NULL : tabs_at(app, mouse->y == app->body.y - 1 ? mouse->x : -1);
		if (tab)
			app_show(app, tab);
	} else if (app->live->shown || screen->needs_nothing) {
		click(app, screen, mouse);
	}
}

/* The body before the first snapshot. */
static void draw_waiting(const struct app *app, const struct rect *body)
{
	const struct brush brush = { app->theme, 0 };
	int seconds = (int)((clock_boottime_us(app->options->clock) - app->started_us) / US_PER_S);
	int line = body->rows > 4 ? 1 : 0;

	draw_line(&brush, body, line, ROLE_STRONG, "%s ... %d s", app->options->child ? "discovering the fabric" :
		  "waiting for the first sweep of the running collector", seconds);
	draw_line(&brush, body, line + 1, ROLE_FAINT, "database: %.500s", app->options->db_path);
	if (app->options->child && app->child->line[0])
		draw_line(&brush, body, line + 2, ROLE_FAINT, "%s", app->child->line);
}

/* The end of what is typed is always visible. */
static void draw_prompt(const struct prompt *prompt, const struct brush *brush, const struct rect *footer)
{
	char line[sizeof(prompt->label) + sizeof(prompt->text) + 1];
	size_t columns = (size_t)footer->columns, used;

	snprintf(line, sizeof(line), "%s%s_", prompt->label, prompt->text);
	used = text_columns(line);
	draw_cell(brush, footer->y, footer->x, footer->columns,
		  line + (used > columns ? text_prefix_bytes(line, used - columns) : 0), ALIGN_LEFT, ROLE_STRONG);
}

/* The prompt if there is one, else the footer of the screen. */
static void draw_footer(struct app *app, const struct rect *footer)
{
	const struct brush brush = { app->theme, 0 };
	const struct screen *screen = app_screen(app);
	struct list_screen *list = app->live->shown ? screen_list(app, screen) : NULL;

	if (app->prompt->done)
		draw_prompt(app->prompt, &brush, footer);
	else if (screen->draw_footer)
		screen->draw_footer(screen_state(app, screen), app, footer);
	else if (list)
		list_screen_draw_footer(list, app, footer, screen->footer_keys);
	else
		footer_draw_keys(app, footer, screen->footer_keys);
}

/* The line of the status file below everything else; "": none. */
static void read_status(const struct app *app, int rows, char *ret, size_t size)
{
	struct text text = { 0 };

	ret[0] = '\0';
	if (app->options->status_path && rows > LAYOUT_MIN_ROWS &&
	    text_read_file(app->options->status_path, "", size - 1, &text, NULL) == 0)
		text_sanitise(text_chars(&text), strcspn(text_chars(&text), "\n"), ret, size);
	text_done(&text);
}

void app_draw(struct app *app, int rows, int columns)
{
	const struct screen *screen = app_screen(app);
	const struct brush brush = { app->theme, 0 };
	struct frame frame;
	char status[512], notice[768];

	read_status(app, rows, status, sizeof(status));
	app_notice(app, notice, sizeof(notice));
	if (status[0])
		draw_cell(&brush, rows - 1, 0, columns, status, ALIGN_LEFT, ROLE_FAINT);
	if (!layout_frame(rows - (status[0] != '\0'), columns, notice[0] != '\0', &frame)) {
		draw_cell(&brush, 0, 0, columns, "terminal too small: at least 40x10", ALIGN_LEFT, ROLE_WARNING);
		return;
	}
	app->body = frame.body;
	header_draw(app, &frame.header);
	if (frame.tabs.rows)
		tabs_draw(app, &frame.tabs);
	draw_cell(&brush, frame.notice.y, frame.notice.x, frame.notice.rows ? columns : 0, notice, ALIGN_LEFT,
		  ROLE_WARNING);
	if (!app->live->shown && !screen->needs_nothing)
		draw_waiting(app, &frame.body);
	else if (!screen->draw)
		list_screen_draw(screen_list(app, screen), app, &frame.body);
	else
		screen->draw(screen_state(app, screen), app, &frame.body);
	draw_footer(app, &frame.footer);
}

struct subject subject_of_port(const struct app *app, uint32_t port)
{
	struct subject subject = subject_of_node(app, app->live->shown->fabric->ports[port].node);

	subject.kind = SUBJECT_PORT;
	subject.port = app->live->shown->fabric->ports[port].num;
	return subject;
}

struct subject subject_of_node(const struct app *app, uint32_t node)
{
	return (struct subject){ .kind = SUBJECT_NODE, .node_guid = app->live->shown->fabric->nodes[node].guid };
}

struct subject subject_of_group(const struct app *app, const struct shape_group *group)
{
	struct subject subject = subject_of_node(app, group->node);

	subject.kind = SUBJECT_GROUP;
	if (group->kind != GROUP_UP)
		subject.peer_guid = app->live->shown->fabric->nodes[group->peer].guid;
	return subject;
}

const struct finding_row *subject_finding(const struct app *app, const struct subject *subject)
{
	for (size_t i = 0; subject->kind == SUBJECT_FINDING && i < app->context->finding_count; i++)
		if (app->context->findings[i].finding.id == subject->id)
			return &app->context->findings[i];
	return NULL;
}

static void node_name(const struct app *app, uint64_t guid, char *ret, size_t size)
{
	const struct snapshot *shown = app->live->shown;
	uint32_t node = shown ? fabric_find_node(shown->fabric, guid) : FABRIC_NONE;

	if (node != FABRIC_NONE)
		snprintf(ret, size, "%s", app->table->order.names[node]);
	else
		snprintf(ret, size, "0x%016" PRIx64, guid);
}

const char *subject_name(const struct app *app, const struct subject *subject, char *ret, size_t size)
{
	const struct finding_row *row = subject_finding(app, subject);
	char name[NODE_NAME_SIZE], peer[NODE_NAME_SIZE];

	ret[0] = '\0';
	node_name(app, subject->node_guid, name, sizeof(name));
	switch (subject->kind) {
	case SUBJECT_NODE:
		snprintf(ret, size, "%s", name);
		break;
	case SUBJECT_PORT:
		snprintf(ret, size, "%s/%u", name, subject->port);
		break;
	case SUBJECT_GROUP:
		node_name(app, subject->peer_guid, peer, sizeof(peer));
		if (subject->peer_guid)
			snprintf(ret, size, "%s to %s", name, peer);
		else
			snprintf(ret, size, "%s uplinks", name);
		break;
	case SUBJECT_FINDING:
		snprintf(ret, size, "%s", row ? finding_kind_name(row->finding.kind) : "finding, not open");
		break;
	case SUBJECT_FABRIC:
		snprintf(ret, size, "the fabric");
		break;
	default:
		break;
	}
	return ret;
}
