/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* header.c - status and summary of the fabric in the first lines of every screen */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "analysis/rate.h"
#include "base/clock.h"
#include "base/text.h"
#include "base/when.h"
#include "fabric/fabric.h"
#include "fabric/host.h"
#include "fabric/shape.h"
#include "tui/draw/draw.h"
#include "tui/model/context.h"
#include "tui/model/live.h"
#include "tui/model/port_table.h"
#include "tui/screens/app.h"
#include "tui/tui.h"

/* Whole seconds, to write less to the terminal. */
static const char *write_seconds(int64_t us, char *ret)
{
	if (us < 60 * US_PER_S)
		snprintf(ret, WHEN_SIZE, "%d s", (int)(us / US_PER_S));
	else
		when_format_span(us, ret);
	return ret;
}

/* Duration of a sweep, in few characters. */
static const char *write_took(int64_t us, char *ret)
{
	if (us >= 10 * US_PER_MS && us < US_PER_S)
		snprintf(ret, WHEN_SIZE, "%d ms", (int)(us / US_PER_MS));
	else
		when_format_span(us, ret);
	return ret;
}

static const char *write_clock(int64_t wall_us, char *ret, size_t size)
{
	return format_time(wall_us, "%H:%M:%S", ret, size);
}

static const char *write_count(uint64_t count, char *ret, size_t size)
{
	return format_count(count, 24, ret, size);
}

/* State of the data: live, late, history. */
static void add_state(const struct app *app, struct segments *line)
{
	char span[WHEN_SIZE], at[WHEN_SIZE];
	int64_t age_us = live_age_us(app->live), ahead_us = app->live->ahead_us, ago_us;
	enum live_state state = live_state(app->live);

	if (live_load_is_slow(app->live) && app->live->at_us) {
		segment_add(line, 0, ROLE_WARNING, "READING %s", when_format_local(app->live->at_us, at));
	} else if (live_load_is_slow(app->live)) {
		segment_add(line, 0, ROLE_WARNING, "READING the newest sweep");
	} else if (app->live->paused && app->live->shown) {
		segment_add(line, 0, ROLE_WARNING, "PAUSED at %s",
			    write_clock(app->live->shown->sweep.wall_us, at, sizeof(at)));
	} else if (state == LIVE_PAST) {
		ago_us = app->now_us - app->live->shown->sweep.wall_us;
		segment_add(line, 0, ROLE_WARNING, "HISTORY -%s", write_seconds(ago_us - ago_us % US_PER_S, span));
		segment_add(line, 0, ROLE_WARNING, "%s", when_format_local(app->live->shown->sweep.wall_us, at));
	} else if (state == LIVE_FRESH) {
		segment_add(line, 0, ROLE_GOOD, "LIVE %s", write_clock(app->now_us, at, sizeof(at)));
	} else if (state == LIVE_LATE) {
		segment_add(line, 0, ROLE_WARNING, "LATE: data %s old", write_seconds(age_us, span));
	} else if (state == LIVE_NO_COLLECTOR) {
		segment_add(line, 0, ROLE_WARNING, ahead_us ? "NOT LIVE: data %s in the future, see the clock" :
			    "NOT LIVE: data %s old", write_seconds(ahead_us ? ahead_us : age_us, span));
	} else {
		segment_add(line, 0, ROLE_WARNING, "NO DATA YET");
	}
}

static bool is_open(const struct app *app, enum finding_kind kind, const char **ret_cause)
{
	for (size_t i = 0; i < app->context->finding_count; i++)
		if (app->context->findings[i].finding.kind == kind && !app->context->findings[i].finding.ok_since_us) {
			*ret_cause = app->context->findings[i].finding.cause;
			return true;
		}
	return false;
}

static const char *sm_name(const struct app *app, char *ret, size_t size)
{
	const struct sm_state *sm = &app->live->shown->sweep.sm;
	const struct fabric *fabric = app->live->shown->fabric;
	uint32_t port = app->table->totals.sm_port;
	char host[NODE_NAME_SIZE];

	if (port == FABRIC_NONE)
		snprintf(ret, size, "lid %u", sm->lid);
	else if (host_name(&fabric->nodes[fabric->ports[port].node], host))
		snprintf(ret, size, "%.120s", host);
	else
		snprintf(ret, size, "%.120s", app->table->order.names[fabric->ports[port].node]);
	return ret;
}

static void add_sm(const struct app *app, struct segments *line)
{
	const struct sm_state *sm = &app->live->shown->sweep.sm;
	const char *cause = "";
	char name[160];

	sm_name(app, name, sizeof(name));
	if (!sm->lid)
		segment_add(line, 1, ROLE_WARNING, "no SM");
	else if (sm->state == SM_NOT_QUERIED)
		segment_add(line, 2, ROLE_TEXT, "SM lid %u not queried", sm->lid);
	else if (!sm->known)
		segment_add(line, 1, ROLE_WARNING, "SM lid %u silent", sm->lid);
	else if (sm->state != 3)
		segment_add(line, 1, ROLE_WARNING, "SM %s (no master)", name);
	else if (is_open(app, FINDING_SM_LOST, &cause))
		segment_add(line, 1, ROLE_WARNING, "SM %s (%s)", name, *cause ? cause : "see problems");
	else
		segment_add(line, 2, ROLE_TEXT, "SM %s ok", name);
}

/* Whether all nodes accept our M_Key. */
static void add_keys(const struct app *app, struct segments *line)
{
	size_t locked = app->table->summary.by_status[STATUS_LOCKED];
	const char *cause;
	char number[32];

	if (locked)
		segment_add(line, 1, ROLE_LOCKED, "%s locked", write_count(locked, number, sizeof(number)));
	else if (is_open(app, FINDING_LOCKED, &cause))
		segment_add(line, 2, ROLE_LOCKED, "M_Keys missing");
	else
		segment_add(line, 4, ROLE_TEXT, "M_Key ok");
}

static void draw_status(const struct app *app, const struct brush *brush, const struct rect *area)
{
	const struct snapshot *shown = app->live->shown;
	struct segments line = { 0 };
	char span[WHEN_SIZE], took[WHEN_SIZE], answered[32], polled[32], at[16];
	bool fresh = live_state(app->live) == LIVE_FRESH;

	segment_add(&line, 6, ROLE_STRONG, "ibwire");
	add_state(app, &line);
	if (shown) {
		const struct sweep_info *sweep = &shown->sweep;

		write_took(sweep->duration_us, took);
		if (fresh)
			segment_add(&line, 1, ROLE_TEXT, "sweep %s ago, %s",
				    format_age(live_age_us(app->live), span, sizeof(span)), took);
		else
			segment_add(&line, 3, ROLE_TEXT, "sweep took %s", took);
		segment_add(&line, 0, sweep->ports_answered < sweep->ports_polled ? ROLE_WARNING : ROLE_TEXT,
			    "responded %s/%s", write_count(sweep->ports_answered, answered, sizeof(answered)),
			    write_count(sweep->ports_polled, polled, sizeof(polled)));
		add_sm(app, &line);
		add_keys(app, &line);
		if (!fresh)
			segment_add(&line, 5, ROLE_TEXT, "now %s", write_clock(app->now_us, at, sizeof(at)));
		if (shown->fabric->from_node != FABRIC_NONE)
			segment_add(&line, 7, ROLE_TEXT, "via %.100s/%u",
				    app->table->order.names[shown->fabric->from_node], shown->fabric->from_port);
	}
	draw_segments(brush, area->y, area->x, area->columns, &line);
}

/* Number of links, and those that are not Active or not as built. */
static void add_links(const struct app *app, struct segments *line)
{
	static const struct { enum port_state state; const char *word; enum role role; } states[] = {
		{ PORT_DOWN, "down", ROLE_DOWN }, { PORT_INIT, "init", ROLE_WARNING },
		{ PORT_ARMED, "armed", ROLE_WARNING },
	};
	const struct fabric_summary *summary = &app->table->summary;
	const struct shape *shape = app->context->shape;
	size_t degraded = shape ? shape->slow_count : 0;
	bool bad = summary->links_by_state[PORT_ACTIVE] < summary->links || degraded;
	char number[32];

	segment_add(line, 0, ROLE_TEXT, "links %s%s", write_count(summary->links, number, sizeof(number)),
		    bad ? ":" : "");
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		uint32_t count = summary->links_by_state[states[i].state];

		if (count)
			segment_add(line, 0, states[i].role, "%s %s", write_count(count, number, sizeof(number)),
				    states[i].word);
	}
	if (degraded)
		segment_add(line, 0, ROLE_WARNING, "%s degraded", write_count(degraded, number, sizeof(number)));
	if (!bad)
		segment_add(line, 1, ROLE_TEXT, "all up");
	if (summary->injection_bits_per_s)
		segment_add(line, 3, ROLE_TEXT, "injection %s",
			    rate_format_bits((double)summary->injection_bits_per_s / 8, number, sizeof(number)));
	if (shape && shape->bisection_bits_per_s_now)
		segment_add(line, 4, ROLE_TEXT, "bisection %s%s", shape->bisection_at_most ? "<= " : "",
			    rate_format_bits((double)shape->bisection_bits_per_s_now / 8, number, sizeof(number)));
}

static void draw_counts(const struct app *app, const struct brush *brush, const struct rect *area)
{
	/* Locked ports are shown in the line above. */
	static const struct { enum port_status status; enum role role; } words[] = {
		{ STATUS_SILENT, ROLE_SILENT }, { STATUS_INIT, ROLE_WARNING }, { STATUS_UNSUPPORTED, ROLE_UNSUPPORTED },
	};
	static const struct { enum summary_nodes class; const char *word; } classes[] = {
		{ SUMMARY_HCAS, "HCA" }, { SUMMARY_AGGREGATION, "aggregation node" }, { SUMMARY_ROUTERS, "router" },
	};
	const struct fabric_summary *summary = &app->table->summary;
	const struct table_totals *totals = &app->table->totals;
	struct segments line = { 0 };
	char number[32], more[32];

	segment_add(&line, 1, ROLE_TEXT, "%s host%s, %s switch%s",
		    write_count(totals->hosts, number, sizeof(number)), text_plural(totals->hosts),
		    write_count(summary->nodes[SUMMARY_SWITCHES], more, sizeof(more)),
		    summary->nodes[SUMMARY_SWITCHES] == 1 ? "" : "es");
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
		uint32_t count = summary->nodes[classes[i].class];

		if (count && (classes[i].class != SUMMARY_HCAS || count != totals->hosts))
			segment_add(&line, 4, ROLE_TEXT, "%s %s%s", write_count(count, number, sizeof(number)),
				    classes[i].word, count == 1 ? "" : "s");
	}
	add_links(app, &line);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t count = summary->by_status[words[i].status];

		if (count)
			segment_add(&line, 1, words[i].role, "%s port%s %s", write_count(count, number, sizeof(number)),
				    count == 1 ? "" : "s", port_status_name(words[i].status));
	}
	if (totals->adaptive_on || totals->adaptive_off)
		segment_add(&line, 3, ROLE_TEXT, "AR on %s, off %s",
			    write_count(totals->adaptive_on, number, sizeof(number)),
			    write_count(totals->adaptive_off, more, sizeof(more)));
	if (summary->ports_unused)
		segment_add(&line, 5, ROLE_TEXT, "%s unused",
			    write_count(summary->ports_unused, number, sizeof(number)));
	draw_segments(brush, area->y + 1, area->x, area->columns, &line);
}

static void draw_load(const struct app *app, const struct brush *brush, const struct rect *area)
{
	const struct fabric_summary *summary = &app->table->summary;
	const struct table_totals *totals = &app->table->totals;
	struct measure sent = summary->hosts_xmit_bytes_per_s;
	bool unknown = isnan(sent.value);
	char xmit[32], rcv[32], number[32], at[16];
	struct segments line = { 0 };

	segment_add(&line, 0, unknown ? ROLE_FAINT : ROLE_STRONG, "hosts TX %s, RX %s",
		    rate_format(sent, xmit, sizeof(xmit)),
		    rate_format(summary->hosts_rcv_bytes_per_s, rcv, sizeof(rcv)));
	if (measure_is_at_least(sent))
		segment_add(&line, 1, ROLE_WARNING, "exact for %" PRIu32 " of %" PRIu32 " ports", sent.exact,
			    sent.parts);
	if (unknown && sent.parts && app->table->summary.by_status[STATUS_NEW])
		segment_add(&line, 1, ROLE_TEXT, "(rates available after the second sweep)");
	if (app->live->baseline_us)
		segment_add(&line, 0, ROLE_TEXT, "%s: rates since %s",
			    app->limit.name[0] ? app->limit.name : "BASELINE",
			    write_clock(app->live->baseline_us, at, sizeof(at)));
	segment_add(&line, 1, totals->errors ? ROLE_WARNING : ROLE_TEXT, "errors %s%s since %s",
		    totals->errors || !totals->errors_at_least ?
		    write_count(totals->errors, number, sizeof(number)) : "?",
		    totals->errors && totals->errors_at_least ? "+" : "",
		    write_clock(app->live->errors.since_us, at, sizeof(at)));
	draw_segments(brush, area->y + 2, area->x, area->columns, &line);
}

void header_draw(const struct app *app, const struct rect *area)
{
	const struct brush plain = { app->theme, 0 };
	const struct brush brush = app_brush(app, false);

	draw_status(app, &plain, area);
	if (!app->live->shown)
		return;
	if (area->rows > 1)
		draw_counts(app, &brush, area);
	if (area->rows > 2)
		draw_load(app, &brush, area);
}

/* One or two missing sweeps are tolerated before the reason is shown. */
static bool is_stuck(const struct app *app)
{
	return live_state(app->live) == LIVE_LATE &&
	       live_age_us(app->live) > 5 * app->live->shown->sweep.interval_us + 2 * US_PER_S;
}

const char *app_notice(const struct app *app, char *ret, size_t size)
{
	const struct tui_child_state *child = app->child;

	ret[0] = '\0';
	if (app->message[0] && clock_boottime_us(app->options->clock) < app->message_until_us)
		snprintf(ret, size, "%s", app->message);
	else if (app->live->problem[0])
		snprintf(ret, size, "%s", app->live->problem);
	else if (app->options->child && !child->running && !app->live->status.live && child->line[0])
		snprintf(ret, size, "the collector ended: %.200s; start one: ibwire collect --db %s", child->line,
			 app->options->db_path);
	else if (app->options->child && !child->running && !app->live->status.live)
		snprintf(ret, size, "the collector ended (exit status %d); start one: ibwire collect --db %s",
			 child->exit_status, app->options->db_path);
	else if (is_stuck(app) && app->options->child && child->line[0])
		snprintf(ret, size, "the collector stores nothing: %s", child->line);
	else if (is_stuck(app))
		snprintf(ret, size, "a collector is running (process %ld) but stores nothing: check its log",
			 (long)app->live->status.collector_pid);
	else if (live_state(app->live) == LIVE_NO_COLLECTOR && app->options->child)
		snprintf(ret, size, "the collector is starting; stored data is shown");
	else if (live_state(app->live) == LIVE_NO_COLLECTOR)
		snprintf(ret, size, "no collector is running: start ibwire collect");
	return ret;
}

/* Whether the shown data is too old for the present state. */
static bool is_old(const struct app *app)
{
	enum live_state state = live_state(app->live);

	return state == LIVE_LATE || state == LIVE_NO_COLLECTOR || (state != LIVE_PAST && app->live->problem[0]);
}

struct brush app_brush(const struct app *app, bool cursor)
{
	return (struct brush){ app->theme, (is_old(app) ? DRAW_DIM : 0u) | (cursor ? DRAW_CURSOR : 0u) };
}

/* Columns of a tab of which only the number is shown. */
enum { TAB_NUMBER = 3 };

/* One tab's text: "2 Links". Return: its columns. */
static int write_tab(const struct screen *screen, size_t index, char *ret, size_t size)
{
	snprintf(ret, size, " %zu %s ", index + 1, screen->name);
	return (int)text_columns(ret);
}

/* On a narrow terminal only the current tab has its name, so that there is space for the path. */
static int tab_columns(const struct app *app, const struct screen *tab, int columns, int whole)
{
	return columns < (app->depth > 1 ? 100 : 72) && tab != app->path[0].screen ? TAB_NUMBER : whole;
}

const struct screen *tabs_at(const struct app *app, int x)
{
	char text[64];
	int from = 0;

	for (size_t i = 0; x >= 0 && i < TAB_COUNT; i++) {
		from += tab_columns(app, screens[i], app->body.columns, write_tab(screens[i], i, text, sizeof(text)));
		if (x < from)
			return screens[i];
	}
	return NULL;
}

/* The path from the tab to the current page. */
static void draw_path(const struct app *app, const struct brush *brush, int y, int x, int columns)
{
	char text[1024] = "", name[NODE_NAME_SIZE * 2];
	size_t len = 0;

	for (size_t i = 1; i < app->depth && len < sizeof(text); i++) {
		subject_name(app, &app->path[i].subject, name, sizeof(name));
		len += (size_t)snprintf(text + len, sizeof(text) - len, " > %s",
					name[0] ? name : app->path[i].screen->name);
	}
	draw_cell(brush, y, x, columns, text, ALIGN_NAME, ROLE_STRONG);
}

void tabs_draw(const struct app *app, const struct rect *area)
{
	const struct brush brush = { app->theme, 0 };
	char text[64];
	int x = 0;

	draw_cell(&brush, area->y, area->x, area->columns, "", ALIGN_LEFT, ROLE_TEXT);
	for (size_t i = 0; i < TAB_COUNT; i++) {
		bool here = screens[i] == app->path[0].screen;
		int columns = tab_columns(app, screens[i], area->columns, write_tab(screens[i], i, text, sizeof(text)));

		if (x + columns > area->columns)
			return;
		text[columns == TAB_NUMBER ? 2 : columns] = '\0';
		draw_cell(&brush, area->y, area->x + x, columns, text, ALIGN_LEFT, here ? ROLE_SORTED : ROLE_FAINT);
		x += columns;
	}
	if (app->depth > 1 && x + 4 < area->columns)
		draw_path(app, &brush, area->y, area->x + x, area->columns - x);
}

/* Draw a key and what it does. Return: the columns that it needs; 0: there is no space. */
static int draw_key(const struct app *app, const struct rect *area, int x, const struct key_help *key)
{
	const struct brush brush = { app->theme, 0 };
	int key_columns = (int)text_columns(key->keys), columns = (int)text_columns(key->text);

	if (x + key_columns + 1 + columns > area->x + area->columns)
		return 0;
	draw_cell(&brush, area->y, x, key_columns, key->keys, ALIGN_LEFT, ROLE_KEY);
	draw_cell(&brush, area->y, x + key_columns + 1, columns, key->text, ALIGN_LEFT, ROLE_TEXT);
	return key_columns + 1 + columns + 2;
}

void footer_draw_keys(const struct app *app, const struct rect *area, const struct key_help *keys)
{
	static const struct key_help to_live = { "L", "live" };
	const struct brush brush = { app->theme, 0 };
	int x = area->x, columns = 1;

	draw_cell(&brush, area->y, x, area->columns, "", ALIGN_LEFT, ROLE_TEXT);
	/* At a past time the first key is the one back to now. */
	if (app->live->at_us)
		x += draw_key(app, area, x, &to_live);
	for (; keys->keys && columns; keys++) {
		columns = draw_key(app, area, x, keys);
		x += columns;
	}
}
