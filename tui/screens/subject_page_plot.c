/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * subject_page_plot.c - history of a port, of all ports of a node, or of the busiest member of a
 * group
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/when.h"
#include "fabric/shape.h"
#include "storage/history.h"
#include "tui/model/context.h"
#include "tui/model/live.h"
#include "tui/model/port_table.h"
#include "tui/screens/app.h"
#include "tui/screens/subject_page.h"
#include "tui/tui.h"

/* Minimum interval of reading a plot again, and the same as a multiple of the read time. */
#define RELOAD_US (3 * US_PER_S)
#define RELOAD_SHARE 30

/* Reads of more samples are deferred until after a frame. */
#define SAMPLES_AT_ONCE 60000

/* Columns of labels, minimum columns for two plots side by side, gap, and minimum points. */
enum { LABEL_COLUMNS = 11, BESIDE_COLUMNS = 70, GAP_COLUMNS = 2, POINTS_LEAST = 20 };

static const struct window {
	const char *name;
	int64_t span_us;
} windows[] = {
	{ "1 min", 60 * US_PER_S }, { "10 min", 600 * US_PER_S }, { "1 h", 3600 * US_PER_S },
	{ "6 h", 6 * 3600 * US_PER_S }, { "24 h", 24 * 3600 * US_PER_S }, { "7 d", 7 * 24 * 3600 * US_PER_S },
};

static const struct curve {
	const char *name;
	const char *keys[2]; /* metrics (analysis/metric.h): one curve, or TX and RX */
	bool share;          /* share of the group's bytes of its busiest member */
} curves[] = {
	{ "utilization", { "xmit_utilization_percent", "rcv_utilization_percent" }, false },
	{ "rate", { "xmit_bytes", "rcv_bytes" }, false },
	{ "XmitWait % (estimate)", { "stall_percent", NULL }, false },
	{ "packets", { "xmit_packets", "rcv_packets" }, false },
	{ "errors", { "errors", NULL }, false },
	{ "share of the group's bytes", { "xmit_bytes", "rcv_bytes" }, true },
};

enum { WINDOW_COUNT = sizeof(windows) / sizeof(*windows), CURVE_COUNT = sizeof(curves) / sizeof(*curves) };

/* The metric of shares. */
static const struct metric share_metric = { "share", "percent", "of the group's bytes", METRIC_UTILIZATION, 0, 1 };

void history_plot_zoom(struct history_plot *plot, int step)
{
	int window = (int)plot->window + step;

	plot->window = window < 0 ? 0 : window >= WINDOW_COUNT ? WINDOW_COUNT - 1 : (unsigned)window;
}

void history_plot_next(struct history_plot *plot, const struct subject *place)
{
	do
		plot->metric = (plot->metric + 1) % CURVE_COUNT;
	while (curves[plot->metric].share && place->kind != SUBJECT_GROUP);
}

int64_t history_plot_window_us(const struct history_plot *plot)
{
	return windows[plot->window].span_us;
}

void history_plot_done(struct history_plot *plot)
{
	for (size_t i = 0; i < plot->series_count; i++)
		series_done(&plot->series[i]);
	plot->series_count = 0;
}

/* Ports that are summed up. */
struct members {
	struct history_port ports[256];
	struct metric_port metric_ports[256];
	size_t count;
};

static void add_member(struct members *members, const struct snapshot *shown, uint32_t index)
{
	const struct port *port = &shown->fabric->ports[index];
	const struct node *node = &shown->fabric->nodes[port->node];

	if (members->count == sizeof(members->ports) / sizeof(*members->ports))
		return;
	members->ports[members->count] = history_port_of(shown->fabric, index);
	members->metric_ports[members->count++] =
		(struct metric_port){ node, port, shown->caps ? &shown->caps[port->node] : NULL };
}

/*
 * The ports of the curve: a port, the linked ports of a node, the busiest member of a group, or
 * with @all all members.
 */
static void find_members(struct history_plot *plot, const struct app *app, const struct subject *place, bool all,
			 struct members *members)
{
	const struct snapshot *shown = app->live->shown;
	const struct fabric *fabric = shown->fabric;
	uint32_t node = fabric_find_node(fabric, place->node_guid), i, port;

	members->count = 0;
	plot->about[0] = '\0';
	if (node == FABRIC_NONE)
		return;
	if (place->kind == SUBJECT_PORT) {
		port = fabric_node_port(fabric, node, place->port);
		if (port != FABRIC_NONE)
			add_member(members, shown, port);
	} else if (place->kind == SUBJECT_NODE) {
		for (i = fabric->nodes[node].first_port; i < fabric->nodes[node].first_port + fabric->nodes[node].ports;
		     i++)
			if (fabric->ports[i].peer != FABRIC_NONE && port_is_pollable(fabric, &fabric->ports[i]))
				add_member(members, shown, i);
		if (members->count != 1)
			snprintf(plot->about, sizeof(plot->about), "total of %zu ports", members->count);
	} else if (place->kind == SUBJECT_GROUP) {
		uint32_t group = subject_group(app->context->shape, place);
		const struct shape *shape = app->context->shape;

		port = group == SHAPE_NONE ? FABRIC_NONE : group_hottest_port(app, group);
		for (i = 0; all && group != SHAPE_NONE && i < shape->groups[group].count; i++)
			add_member(members, shown, shape->members[shape->groups[group].first + i]);
		if (port == FABRIC_NONE)
			return;
		if (!all)
			add_member(members, shown, port);
		snprintf(plot->about, sizeof(plot->about), "busiest member now, %s/%u",
			 app->table->order.names[node], fabric->ports[port].num);
	}
}

/* Read the selected metrics over the window, summed over the ports. */
static int read_members(const struct history_plot *plot, struct reader *reader, const struct members *members,
			int columns, struct series series[2], size_t *ret_count, struct error *err)
{
	const struct curve *curve = &curves[plot->metric];
	struct series *all[2] = { &series[0], &series[1] };
	struct history_range range;
	struct history_series query = {
		.range = &range, .ports = members->ports, .metric_ports = members->metric_ports,
		.port_count = members->count, .series = all,
	};
	unsigned points = columns > LABEL_COLUMNS + POINTS_LEAST ? (unsigned)(columns - LABEL_COLUMNS) : POINTS_LEAST;
	int64_t step_us;
	int code = reader_history_range(reader, plot->since_us, plot->until_us, &range, err);

	*ret_count = 0;
	step_us = code < 0 ? 0 : history_step_us(&range, members->count, plot->until_us - plot->since_us, points);
	for (size_t i = 0; code == 0 && i < 2 && curve->keys[i]; i++) {
		struct metric metric;

		if (!metric_find(curve->keys[i], &metric))
			return err_set(err, ERR_INTERNAL, "unknown metric %s", curve->keys[i]);
		code = series_init(&series[i], &metric, members->count, plot->since_us, plot->until_us, step_us,
				   when_zone_us(plot->until_us), err);
		*ret_count = code < 0 ? i : i + 1;
	}
	query.series_count = *ret_count;
	query.longest_us = step_us / 2;
	if (code == 0)
		code = reader_history_series(reader, &query, err);
	if (code < 0) {
		for (size_t i = 0; i < *ret_count; i++)
			series_done(&series[i]);
		*ret_count = 0;
	}
	return code;
}

/* Divide by the series of all members, which has the same steps. */
static void make_shares(struct series *one, const struct series *all)
{
	for (size_t i = 0; i < one->count; i++) {
		struct series_step *step = &one->steps[i];
		double whole = i < all->count ? all->steps[i].mean : NAN;

		step->mean = whole > 0 ? 100 * step->mean / whole : NAN;
		step->low = step->high = NAN;
	}
	one->metric = share_metric;
}

static int read_plot(struct history_plot *plot, const struct app *app, const struct subject *place, int columns,
		     struct error *err)
{
	struct reader *reader = app->live->reader;
	struct series whole[2];
	struct members members;
	size_t count;
	int code;

	if (!reader)
		return err_set(err, ERR_UNAVAILABLE, "the database cannot be read at present");
	find_members(plot, app, place, false, &members);
	if (!members.count)
		return err_set(err, ERR_UNAVAILABLE, "no port has a link at present");
	code = read_members(plot, reader, &members, columns, plot->series, &plot->series_count, err);
	if (code < 0 || !curves[plot->metric].share)
		return code;
	find_members(plot, app, place, true, &members);
	code = read_members(plot, reader, &members, columns, whole, &count, err);
	for (size_t i = 0; code == 0 && i < count; i++) {
		make_shares(&plot->series[i], &whole[i]);
		series_done(&whole[i]);
	}
	return code;
}

/* Whether the loaded plot is of the selection, at any time. */
static bool is_choice(const struct history_plot *plot, const struct subject *place, int columns)
{
	return plot->loaded.done && subject_equal(&plot->loaded.place, place) &&
	       plot->loaded.window == plot->window && plot->loaded.metric == plot->metric &&
	       plot->loaded.columns == columns;
}

/* Begin of the window that the plot is limited to; 0: it has the selected length. */
static int64_t limit_us(const struct app *app)
{
	bool within = app->limit.name[0] && app->limit.from_us < app->live->shown->sweep.wall_us;

	return within ? app->limit.from_us : 0;
}

static bool is_loaded(const struct history_plot *plot, const struct app *app, const struct subject *place, int columns)
{
	int64_t now_us = clock_boottime_us(app->options->clock), until_us = app->live->shown->sweep.wall_us;
	int64_t pause_us = RELOAD_SHARE * plot->loaded.took_us;

	if (!is_choice(plot, place, columns) || plot->loaded.at_us != app->live->at_us ||
	    plot->loaded.limit_us != limit_us(app))
		return false;
	return until_us == plot->until_us ||
	       now_us - plot->loaded.boot_us < (pause_us > RELOAD_US ? pause_us : RELOAD_US);
}

static bool takes_long(struct history_plot *plot, const struct app *app, const struct subject *place)
{
	struct history_range range;
	struct members members;

	if (!app->live->reader)
		return false;
	find_members(plot, app, place, curves[plot->metric].share, &members);
	return reader_history_range(app->live->reader, plot->since_us, plot->until_us, &range, NULL) == 0 &&
	       (range.until - range.after) * (int64_t)members.count >
		       (plot->samples_at_once ? plot->samples_at_once : SAMPLES_AT_ONCE);
}

static void load(struct history_plot *plot, const struct app *app, const struct subject *place, int columns)
{
	int64_t begin_us = clock_boottime_us(app->options->clock);
	bool beside = columns >= BESIDE_COLUMNS && curves[plot->metric].keys[1];
	struct error trouble = { 0 };

	if (read_plot(plot, app, place, beside ? columns / 2 : columns, &trouble) < 0)
		snprintf(plot->problem, sizeof(plot->problem), "%s", trouble.text);
	plot->loaded.boot_us = clock_boottime_us(app->options->clock);
	plot->loaded.took_us = plot->loaded.boot_us - begin_us;
}

/* The window begins with the oldest stored sweep if that is later. */
static int64_t window_start_us(const struct history_plot *plot, const struct app *app)
{
	int64_t since_us = limit_us(app) ? limit_us(app) : plot->until_us - history_plot_window_us(plot);
	struct history_range range;

	if (app->live->reader && reader_history_range(app->live->reader, since_us, plot->until_us, &range, NULL) == 0)
		return range.since_us;
	return since_us;
}

bool history_plot_load(struct history_plot *plot, const struct app *app, const struct subject *place, int columns)
{
	bool waited;

	if (place->kind != SUBJECT_PORT && place->kind != SUBJECT_NODE && place->kind != SUBJECT_GROUP) {
		plot->waits = false;
		return false;
	}
	if (curves[plot->metric].share && place->kind != SUBJECT_GROUP)
		plot->metric = 0;
	waited = plot->waits && is_choice(plot, place, columns);
	if (!waited && is_loaded(plot, app, place, columns))
		return false;
	history_plot_done(plot);
	plot->problem[0] = '\0';
	plot->until_us = app->live->shown->sweep.wall_us;
	plot->since_us = window_start_us(plot, app);
	plot->waits = !waited && !is_choice(plot, place, columns) && takes_long(plot, app, place);
	plot->loaded.done = true;
	plot->loaded.place = *place;
	plot->loaded.window = plot->window;
	plot->loaded.metric = plot->metric;
	plot->loaded.columns = columns;
	plot->loaded.at_us = app->live->at_us;
	plot->loaded.limit_us = limit_us(app);
	if (!plot->waits)
		load(plot, app, place, columns);
	return true;
}

/* "TX  mean 12.1 %, max 83.4 %", or that there is no data. */
static void title_of(const struct history_plot *plot, size_t i, char *ret, size_t size)
{
	const char *way = plot->series_count < 2 ? "" : i ? "RX  " : "TX  ";
	const struct series *series = &plot->series[i];
	char mean_text[METRIC_VALUE_SIZE], high_text[METRIC_VALUE_SIZE];
	double sum = 0, weight = 0, high = NAN;
	const char *mark = "";

	for (size_t step = 0; step < series->count; step++) {
		const struct series_step *at = &series->steps[step];

		if (isnan(at->mean))
			continue;
		sum += at->mean * at->weight_us;
		weight += at->weight_us;
		mark = at->at_least ? "+" : mark;
		high = fmax(high, fmax(at->high, at->mean));
	}
	if (weight > 0)
		snprintf(ret, size, "%smean %s%s, max %s%s", way,
			 metric_format_value(&series->metric, sum / weight, mean_text, sizeof(mean_text)), mark,
			 metric_format_value(&series->metric, high, high_text, sizeof(high_text)), mark);
	else
		snprintf(ret, size, "%sno data in this window", way);
}

static void draw_one(const struct history_plot *plot, size_t i, int width, int height, bool unicode, struct text *ret)
{
	struct plot how = {
		.from_us = plot->since_us, .until_us = plot->until_us, .width = width > 0 ? (unsigned)width : 0,
		.height = height > 0 ? (unsigned)height : 0, .ascii = !unicode,
	};

	/* TX and RX share one axis, for comparison. */
	for (size_t other = 0; other < plot->series_count; other++)
		how.reach = fmax(how.reach, series_high(&plot->series[other]));
	series_plot(&plot->series[i], how, ret);
}

/* Append curves side by side. @first, @count: of the plot's series. */
static void put_curves(const struct history_plot *plot, struct text_page *page, size_t first, size_t count, int height,
		       bool unicode)
{
	int columns = count > 1 ? (page->columns - GAP_COLUMNS) / 2 : page->columns;
	struct text drawn[2] = { 0 };
	const char *at[2] = { "", "" };
	char line[CELL_SIZE];

	page_line(page, NULL);
	for (size_t i = 0; i < count; i++) {
		title_of(plot, first + i, line, sizeof(line));
		page_put(page, (int)i * (columns + GAP_COLUMNS), columns, ALIGN_LEFT, ROLE_TEXT, line);
		if (!series_is_unknown(&plot->series[first + i]))
			draw_one(plot, first + i, columns, height, unicode, &drawn[i]);
		at[i] = text_chars(&drawn[i]);
	}
	while (*at[0] || *at[1]) {
		page_line(page, NULL);
		for (size_t i = 0; i < count; i++) {
			size_t len = strcspn(at[i], "\n");

			snprintf(line, sizeof(line), "%.*s", (int)len, at[i]);
			page_put(page, (int)i * (columns + GAP_COLUMNS), columns, ALIGN_LEFT, ROLE_TEXT, line);
			at[i] += len + (at[i][len] == '\n');
		}
	}
	text_done(&drawn[0]);
	text_done(&drawn[1]);
}

void history_plot_put(const struct history_plot *plot, struct text_page *page, int height, bool unicode)
{
	int64_t stored_us = plot->until_us - plot->since_us;
	const char *whole = plot->loaded.limit_us ? "the job" : windows[plot->loaded.window].name;
	char until[WHEN_SIZE], stored[WHEN_SIZE + 4] = "";
	size_t beside;

	if (plot->loaded.limit_us || stored_us < windows[plot->loaded.window].span_us)
		snprintf(stored, sizeof(stored), "%s of ",
			 when_format_span(stored_us / US_PER_S * US_PER_S, until));
	page_heading(page, "%s, %s%s to %s%s%s", curves[plot->loaded.metric].name, stored, whole,
		     when_format_local(plot->until_us, until), plot->about[0] ? "; " : "", plot->about);
	if (plot->problem[0] || plot->waits) {
		page_wrap(page, NULL, 0, plot->waits ? ROLE_FAINT : ROLE_WARNING,
			  plot->waits ? "reading stored history ..." : plot->problem);
		return;
	}
	beside = plot->series_count == 2 && page->columns >= BESIDE_COLUMNS ? 2 : 1;
	for (size_t i = 0; i < plot->series_count; i += beside)
		put_curves(plot, page, i, beside, height, unicode);
}
