/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* header.c - status and summary of the fabric in the first lines of every screen */
#include <math.h>
#include <stdio.h>

#include "analysis/rate.h"
#include "base/clock.h"
#include "base/text.h"
#include "base/when.h"
#include "fabric/fabric.h"
#include "fabric/host.h"
#include "tui/draw/draw.h"
#include "tui/model/context.h"
#include "tui/model/live.h"
#include "tui/model/port_table.h"
#include "tui/screens/app.h"
#include "tui/tui.h"

#define SPAN_SIZE WHEN_SIZE

/* Whole seconds: a clock that ticks in tenths would cost bytes for nothing. */
static const char *write_seconds(int64_t us, char *ret)
{
	if (us < 60 * US_PER_S)
		snprintf(ret, SPAN_SIZE, "%d s", (int)(us / US_PER_S));
	else
		when_format_span(us, ret);
	return ret;
}

/* How long a sweep took, in few characters. */
static const char *write_took(int64_t us, char *ret)
{
	if (us >= 10 * US_PER_MS && us < US_PER_S)
		snprintf(ret, SPAN_SIZE, "%d ms", (int)(us / US_PER_MS));
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

__attribute__((format(printf, 4, 5)))
static void add(struct segment *segments, size_t *count, int rank, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(segments[*count].text, sizeof(segments[*count].text), fmt, args);
	va_end(args);
	segments[*count].rank = rank;
	segments[*count].role = ROLE_TEXT;
	(*count)++;
}

/* State of the data: live, late, history. */
static void add_state(const struct app *app, struct segment *segments, size_t *count)
{
	char span[SPAN_SIZE], at[WHEN_SIZE];
	int64_t age_us = live_age_us(app->live);
	enum role role = ROLE_WARNING;

	if (live_load_is_slow(app->live) && app->live->at_us) {
		add(segments, count, 0, "READING %s", when_format_local(app->live->at_us, at));
	} else if (live_load_is_slow(app->live)) {
		add(segments, count, 0, "READING the newest sweep");
	} else if (app->live->paused && app->live->shown) {
		add(segments, count, 0, "PAUSED at %s", write_clock(app->live->shown->sweep.wall_us, at, sizeof(at)));
	} else if (live_state(app->live) == LIVE_PAST) {
		int64_t ago_us = app->now_us - app->live->shown->sweep.wall_us;

		add(segments, count, 0, "HISTORY -%s", write_seconds(ago_us - ago_us % US_PER_S, span));
		segments[*count - 1].role = role;
		add(segments, count, 0, "%s", when_format_local(app->live->shown->sweep.wall_us, at));
	} else {
		switch (live_state(app->live)) {
		case LIVE_FRESH:
			add(segments, count, 0, "LIVE %s", write_clock(app->now_us, at, sizeof(at)));
			role = ROLE_GOOD;
			break;
		case LIVE_LATE:
			add(segments, count, 0, "LATE: data %s old", write_seconds(age_us, span));
			break;
		case LIVE_NO_COLLECTOR:
			if (app->live->ahead_us)
				age_us = app->live->ahead_us;
			add(segments, count, 0, app->live->ahead_us ? "NOT LIVE: data %s in the future, see the clock" :
			    "NOT LIVE: data %s old", write_seconds(age_us, span));
			break;
		default:
			add(segments, count, 0, "NO DATA YET");
			break;
		}
	}
	segments[*count - 1].role = role;
}

static bool is_open(const struct app *app, enum finding_kind kind, const char **ret_cause)
{
	size_t i;

	for (i = 0; i < app->context->finding_count; i++)
		if (app->context->findings[i].finding.kind == kind) {
			*ret_cause = app->context->findings[i].finding.cause;
			return true;
		}
	return false;
}

static const char *sm_name(const struct app *app, char *ret, size_t size)
{
	const struct sm_state *sm = &app->live->shown->sweep.sm;
	const struct fabric *fabric = app->live->shown->fabric;
	uint32_t port = app->table->summary.sm_port;
	char host[NODE_NAME_SIZE];

	if (port == FABRIC_NONE)
		snprintf(ret, size, "lid %u", sm->lid);
	else if (host_name(&fabric->nodes[fabric->ports[port].node], host))
		snprintf(ret, size, "%.120s", host);
	else
		snprintf(ret, size, "%.120s", app->table->order.names[fabric->ports[port].node]);
	return ret;
}

static void add_sm(const struct app *app, struct segment *segments, size_t *count)
{
	const struct sm_state *sm = &app->live->shown->sweep.sm;
	const char *cause = "";
	char name[160];
	bool lost = is_open(app, FINDING_SM_LOST, &cause);

	if (!sm->lid)
		add(segments, count, 1, "no SM");
	else if (!sm->known)
		add(segments, count, 1, "SM lid %u silent", sm->lid);
	else if (sm->state != 3)
		add(segments, count, 1, "SM %s (no master)", sm_name(app, name, sizeof(name)));
	else if (lost)
		add(segments, count, 1, "SM %s (%s)", sm_name(app, name, sizeof(name)),
		    *cause ? cause : "see problems");
	else
		add(segments, count, 2, "SM %s ok", sm_name(app, name, sizeof(name)));
	segments[*count - 1].role = sm->lid && sm->known && sm->state == 3 && !lost ? ROLE_TEXT : ROLE_WARNING;
}

/* Do all nodes answer to us? */
static void add_keys(const struct app *app, struct segment *segments, size_t *count)
{
	const struct fabric_summary *summary = &app->table->summary;
	const char *cause;
	char number[32];

	if (summary->words[WORD_LOCKED])
		add(segments, count, 1, "%s locked", write_count(summary->words[WORD_LOCKED], number, sizeof(number)));
	else if (is_open(app, FINDING_LOCKED, &cause))
		add(segments, count, 2, "M_Keys missing");
	else
		add(segments, count, 4, "M_Key ok");
	if (segments[*count - 1].rank < 4)
		segments[*count - 1].role = ROLE_LOCKED;
}

static void draw_trust(const struct app *app, const struct brush *brush, const struct rect *area)
{
	const struct snapshot *shown = app->live->shown;
	struct segment segments[10];
	char span[SPAN_SIZE], took[WHEN_SIZE], answered[32], asked[32], at[16];
	size_t count = 0;
	int64_t age_us = live_age_us(app->live);
	bool fresh = live_state(app->live) == LIVE_FRESH;

	add(segments, &count, 6, "ibwire");
	segments[0].role = ROLE_STRONG;
	add_state(app, segments, &count);
	if (shown) {
		write_took(shown->sweep.duration_us, took);
		if (fresh)
			add(segments, &count, 1, "sweep %s ago, %s", format_age(age_us, span, sizeof(span)), took);
		else
			add(segments, &count, 3, "sweep took %s", took);
		add(segments, &count, 0, "responded %s/%s",
		    write_count(shown->sweep.ports_answered, answered, sizeof(answered)),
		    write_count(shown->sweep.ports_asked, asked, sizeof(asked)));
		if (shown->sweep.ports_answered < shown->sweep.ports_asked)
			segments[count - 1].role = ROLE_WARNING;
		add_sm(app, segments, &count);
		add_keys(app, segments, &count);
		if (!fresh)
			add(segments, &count, 5, "now %s", write_clock(app->now_us, at, sizeof(at)));
		if (shown->fabric->from_node != FABRIC_NONE)
			add(segments, &count, 7, "via %.100s/%u",
			    app->table->order.names[shown->fabric->from_node], shown->fabric->from_port);
	}
	draw_segments(brush, area->y, area->x, area->columns, segments, count);
}

/* How many there are, and which of the links are not as they were built. */
static void add_links(const struct app *app, struct segment *segments, size_t *count)
{
	const struct fabric_summary *summary = &app->table->summary;
	char number[32];

	add(segments, count, 0, "links %s%s",
	    write_count(summary->links_up + summary->links_down, number, sizeof(number)),
	    summary->links_down || summary->links_degraded ? ":" : "");
	if (summary->links_down) {
		add(segments, count, 0, "%s down", write_count(summary->links_down, number, sizeof(number)));
		segments[*count - 1].role = ROLE_DOWN;
	}
	if (summary->links_degraded) {
		add(segments, count, 0, "%s degraded", write_count(summary->links_degraded, number, sizeof(number)));
		segments[*count - 1].role = ROLE_WARNING;
	}
	if (!summary->links_down && !summary->links_degraded)
		add(segments, count, 1, "all up");
	if (summary->bits_per_s)
		add(segments, count, 3, "capacity %s",
		    rate_format_bits((double)summary->bits_per_s / 8, number, sizeof(number)));
}

static void draw_size(const struct app *app, const struct brush *brush, const struct rect *area)
{
	const struct fabric_summary *summary = &app->table->summary;
	struct segment segments[16];
	char number[32], more[32];
	size_t count = 0;
	/* Locked ports are shown in the line above. */
	const struct { enum port_word word; enum role role; } words[] = {
		{ WORD_SILENT, ROLE_SILENT }, { WORD_INIT, ROLE_WARNING }, { WORD_UNSUPPORTED, ROLE_UNSUPPORTED },
	};
	size_t i;

	add(segments, &count, 1, "%s hosts, %s switches", write_count(summary->hosts, number, sizeof(number)),
	    write_count(summary->switches, more, sizeof(more)));
	if (summary->hcas != summary->hosts)
		add(segments, &count, 4, "%s HCAs", write_count(summary->hcas, number, sizeof(number)));
	if (summary->others)
		add(segments, &count, 4, "%s routers", write_count(summary->others, number, sizeof(number)));
	add_links(app, segments, &count);
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!summary->words[words[i].word])
			continue;
		add(segments, &count, 1, "%s port%s %s",
		    write_count(summary->words[words[i].word], number, sizeof(number)),
		    summary->words[words[i].word] == 1 ? "" : "s", port_word_name(words[i].word));
		segments[count - 1].role = words[i].role;
	}
	if (summary->adaptive_on || summary->adaptive_off)
		add(segments, &count, 3, "AR on %s, off %s", write_count(summary->adaptive_on, number, sizeof(number)),
		    write_count(summary->adaptive_off, more, sizeof(more)));
	if (summary->ports_unused)
		add(segments, &count, 5, "%s unused", write_count(summary->ports_unused, number, sizeof(number)));
	draw_segments(brush, area->y + 1, area->x, area->columns, segments, count);
}

static void draw_load(const struct app *app, const struct brush *brush, const struct rect *area)
{
	const struct fabric_summary *summary = &app->table->summary;
	const struct error_sums *errors = &app->live->errors;
	struct segment segments[4];
	char xmit[16], rcv[16], number[32], at[16];
	size_t count = 0;

	add(segments, &count, 0, "hosts TX %s, RX %s",
	    rate_format_bits(summary->hosts_xmit_bytes_per_s, xmit, sizeof(xmit)),
	    rate_format_bits(summary->hosts_rcv_bytes_per_s, rcv, sizeof(rcv)));
	segments[0].role = isnan(summary->hosts_xmit_bytes_per_s) ? ROLE_FAINT : ROLE_STRONG;
	if (isnan(summary->hosts_xmit_bytes_per_s))
		add(segments, &count, 1, "(rates available after the second sweep)");
	if (app->live->baseline_us)
		add(segments, &count, 0, "BASELINE: rates since %s",
		    write_clock(app->live->baseline_us, at, sizeof(at)));
	add(segments, &count, 1, "errors %s%s since %s", write_count(summary->errors, number, sizeof(number)),
	    summary->errors_at_least ? "+" : "", write_clock(errors->since_wall_us, at, sizeof(at)));
	if (summary->errors)
		segments[count - 1].role = ROLE_WARNING;
	draw_segments(brush, area->y + 2, area->x, area->columns, segments, count);
}

void header_draw(const struct app *app, const struct rect *area)
{
	const struct brush plain = { app->theme, 0 };
	const struct brush brush = app_brush(app, false);

	draw_trust(app, &plain, area);
	if (!app->live->shown)
		return;
	if (area->rows > 1)
		draw_size(app, &brush, area);
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
	else if (app->options->child && !child->running && !app->live->status.live)
		snprintf(ret, size, "the collector ended (exit status %d)%s%s", child->exit_status,
			 child->line[0] ? ": " : "", child->line);
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

/* One tab's text: "2 Links". Return: its columns. */
static int write_tab(const struct screen *screen, size_t index, char *ret, size_t size)
{
	snprintf(ret, size, " %zu %s ", index + 1, screen->name);
	return (int)text_columns(ret);
}

/* On a narrow terminal the one that is shown is what has to be read; the others are numbers. */
static int tab_columns(const struct app *app, const struct screen *tab, int columns, int whole)
{
	return columns < 72 && tab != app->path[0].screen ? 3 : whole;
}

const struct screen *tabs_at(const struct app *app, int x)
{
	size_t count, i;
	const struct screen *const *all = screens(&count);
	char text[64];
	int from = 0;

	for (i = 0; x >= 0 && i < count && all[i]->is_tab; i++) {
		from += tab_columns(app, all[i], app->body.columns, write_tab(all[i], i, text, sizeof(text)));
		if (x < from)
			return all[i];
	}
	return NULL;
}

/* The path from the tab to the current page. */
static void draw_path(const struct app *app, const struct brush *brush, int y, int x, int columns)
{
	char text[1024] = "", name[NODE_NAME_SIZE * 2];
	size_t i, len = 0;

	for (i = 1; i < app->depth && len < sizeof(text); i++) {
		subject_name(app, &app->path[i].subject, name, sizeof(name));
		len += (size_t)snprintf(text + len, sizeof(text) - len, " > %s",
					name[0] ? name : app->path[i].screen->name);
	}
	draw_cell(brush, y, x, columns, text, ALIGN_MIDDLE, ROLE_STRONG);
}

void tabs_draw(const struct app *app, const struct rect *area)
{
	const struct brush brush = { app->theme, 0 };
	size_t count, i;
	const struct screen *const *all = screens(&count);
	char text[64];
	int x = 0;

	draw_cell(&brush, area->y, area->x, area->columns, "", ALIGN_LEFT, ROLE_TEXT);
	for (i = 0; i < count && all[i]->is_tab; i++) {
		bool here = all[i] == app->path[0].screen;
		int columns = tab_columns(app, all[i], area->columns, write_tab(all[i], i, text, sizeof(text)));

		if (x + columns > area->columns)
			return;
		draw_cell(&brush, area->y, area->x + x, columns, text, ALIGN_LEFT, here ? ROLE_SORTED : ROLE_FAINT);
		x += columns;
	}
	if (app->depth > 1 && x + 4 < area->columns)
		draw_path(app, &brush, area->y, area->x + x, area->columns - x);
}

void footer_draw_keys(const struct app *app, const struct rect *area, const struct key_help *keys)
{
	const struct brush brush = { app->theme, 0 };
	int x = area->x, end = area->x + area->columns;

	draw_cell(&brush, area->y, x, area->columns, "", ALIGN_LEFT, ROLE_TEXT);
	for (; keys->keys; keys++) {
		int key_columns = (int)text_columns(keys->keys), columns = (int)text_columns(keys->text);

		if (x + key_columns + 1 + columns > end)
			return;
		draw_cell(&brush, area->y, x, key_columns, keys->keys, ALIGN_LEFT, ROLE_KEY);
		draw_cell(&brush, area->y, x + key_columns + 1, columns, keys->text, ALIGN_LEFT, ROLE_TEXT);
		x += key_columns + 1 + columns + 2;
	}
}
