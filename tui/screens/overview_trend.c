/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* overview_trend.c - the plot, the small map, and the busiest links and hosts of the Overview screen */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/rate.h"
#include "base/text.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"
#include "tui/draw/draw.h"
#include "tui/model/changes.h"
#include "tui/model/context.h"
#include "tui/model/heat.h"
#include "tui/model/live.h"
#include "tui/model/port_table.h"
#include "tui/model/trend.h"
#include "tui/screens/app.h"
#include "tui/screens/links_draw.h"
#include "tui/screens/overview_view.h"
#include "view/bars.h"

enum { LABEL_NAME = 9, LABEL_VALUE = 9, LABEL = LABEL_NAME + LABEL_VALUE + 2, COLUMNS_MOST = 512 };

/* --- plot --- */

enum band { BAND_XMIT, BAND_RCV, BAND_STALL, BAND_ERRORS, BAND_COUNT };

/* The time of the plot: @columns columns from the oldest sweep to the shown one. */
struct span {
	int64_t from_us, until_us;
	int columns;
};

static int column_of(const struct span *span, int64_t wall_us)
{
	int64_t whole = span->until_us - span->from_us;
	int64_t column = whole > 0 ? (wall_us - span->from_us) * span->columns / whole : 0;

	return (int)(column < 0 ? 0 : column >= span->columns ? span->columns - 1 : column);
}

static double band_value(const struct trend_point *point, enum band band)
{
	switch (band) {
	case BAND_XMIT:
		return point->xmit_bytes_per_s;
	case BAND_RCV:
		return point->rcv_bytes_per_s;
	case BAND_STALL:
		return point->stall_percent;
	default:
		return point->errors;
	}
}

/* Values by column: the mean of traffic, the maximum of stall and errors; and the largest. NAN: all unknown. */
struct columns {
	double values[BAND_COUNT][COLUMNS_MOST], counts[BAND_COUNT][COLUMNS_MOST], most[BAND_COUNT];
};

static void add_value(struct columns *columns, enum band band, int column, double value)
{
	double *to = &columns->values[band][column];

	if (isnan(value))
		return;
	if (band == BAND_STALL || band == BAND_ERRORS)
		*to = fmax(*to, value);
	else
		*to = columns->counts[band][column]++ > 0 ? *to + value : value;
}

static void fill_columns(const struct trend *trend, const struct span *span, size_t end, struct columns *ret)
{
	memset(ret->counts, 0, sizeof(ret->counts));
	for (int band = 0; band < BAND_COUNT; band++)
		for (int i = 0; i < span->columns; i++)
			ret->values[band][i] = NAN;
	for (size_t i = trend_first(trend); i < end; i++) {
		const struct trend_point *point = &trend->points[i % TREND_POINTS];
		int last = column_of(span, point->wall_us), first = column_of(span, point->from_us);

		if (point->wall_us <= span->from_us)
			continue;
		/* A column belongs to the sweep that ends in it. */
		for (int column = first < last ? first + 1 : last; column <= last; column++)
			for (int band = 0; band < BAND_COUNT; band++)
				add_value(ret, (enum band)band, column, band_value(point, (enum band)band));
	}
	for (int band = 0; band < BAND_COUNT; band++) {
		ret->most[band] = NAN;
		for (int i = 0; i < span->columns; i++) {
			if (ret->counts[band][i] > 0)
				ret->values[band][i] /= ret->counts[band][i];
			ret->most[band] = fmax(ret->most[band], ret->values[band][i]);
		}
	}
}

static const char *write_value(enum band band, double value, char *ret, size_t size)
{
	if (band == BAND_STALL)
		return format_percent(value, ret, size);
	if (band == BAND_ERRORS)
		return format_errors(value, false, 9, ret, size);
	return format_rate(value, 12, ret, size);
}

static void draw_label(const struct brush *brush, int y, int x, const char *name, enum band band, double value,
		       enum role role)
{
	char text[CELL_SIZE];

	draw_cell(brush, y, x, LABEL_NAME, name, ALIGN_LEFT, role);
	if (!isnan(value))
		draw_cell(brush, y, x + LABEL_NAME + 1, LABEL_VALUE, write_value(band, value, text, sizeof(text)),
			  ALIGN_RIGHT, role);
}

static void draw_band(const struct app *app, const struct brush *brush, const struct span *span,
		      const struct columns *columns, enum band band, int y, int rows, const struct rect *body)
{
	static const char *const names[] = { "TX", "RX", "XmitWait%", "ERRORS" };
	const struct trend *trend = app->trend;
	const double *values = columns->values[band];
	double most = columns->most[band], scale = band == BAND_STALL ? fmax(most, 10) : most, now = NAN;
	size_t end = trend_until(trend, app->live->shown->sweep.wall_us);
	bool alarming = band == BAND_ERRORS ? most > 0 : band == BAND_STALL && most >= 10;
	struct text line = { 0 };

	if (end > trend_first(trend))
		now = band_value(&trend->points[(end - 1) % TREND_POINTS], band);
	draw_label(brush, y, body->x + 1, names[band], band, now, ROLE_STRONG);
	if (isnan(most)) {
		draw_cell(brush, y, body->x + LABEL + 1, span->columns, end ? "unknown: not counted by these ports" :
			  "reading stored history ...", ALIGN_LEFT, ROLE_FAINT);
		return;
	}
	if (rows > 1)
		draw_label(brush, y + 1, body->x + 1, "max", band, most, ROLE_FAINT);
	for (int row = 0; row < rows; row++) {
		double step = scale / rows, base = step * (rows - 1 - row);

		text_clear(&line);
		for (int i = 0; i < span->columns; i++) {
			if (isnan(values[i]) || (row < rows - 1 && values[i] <= base))
				text_append(&line, " ");
			else
				bars_append_spark(&line, values[i] - base, step, !brush->theme->unicode);
		}
		draw_fitted(brush, y + row, body->x + LABEL + 1, text_chars(&line),
			    alarming ? ROLE_WARNING : most > 0 ? ROLE_LOAD_LOW : ROLE_FAINT);
	}
	text_done(&line);
}

/* Findings that were opened and closed: the role of the most severe one in each column, or ROLE_FAINT. */
static void find_marks(const struct app *app, const struct span *span, enum role *ret)
{
	for (int i = 0; i < span->columns; i++)
		ret[i] = ROLE_FAINT;
	for (size_t i = 0; i < app->context->recent_event_count; i++) {
		const struct recent_event *event = &app->context->recent_events[i];
		enum role *mark = &ret[column_of(span, event->wall_us)];

		if (event->wall_us <= span->from_us || event->wall_us > app->live->shown->sweep.wall_us)
			continue;
		if (!strcmp(event->kind, "finding-opened") && event->severity == EVENT_CRITICAL)
			*mark = ROLE_CRITICAL;
		else if (!strcmp(event->kind, "finding-opened") && event->severity == EVENT_WARNING)
			*mark = *mark == ROLE_CRITICAL ? *mark : ROLE_WARNING;
		else if (!strcmp(event->kind, "finding-closed") && *mark == ROLE_FAINT &&
			 !changes_was_info(app->context, event))
			*mark = ROLE_GOOD;
	}
}

static bool has_mark(const enum role *marks, int column, int columns)
{
	for (int i = 0; i < columns; i++)
		if (marks[column + i] != ROLE_FAINT)
			return true;
	return false;
}

/* The marks of findings, and the times at both ends unless a mark is there. */
static void draw_axis(const struct app *app, const struct brush *brush, const struct span *span, int y,
		      const struct rect *body)
{
	enum { TIME = 8 };
	enum role marks[COLUMNS_MOST];
	int64_t shown_us = app->live->shown->sweep.wall_us;
	char axis[COLUMNS_MOST + 1], run[COLUMNS_MOST + 1], text[32];

	find_marks(app, span, marks);
	memset(axis, '.', sizeof(axis));
	if (!has_mark(marks, 0, TIME))
		memcpy(axis, format_time(span->from_us, "%H:%M:%S", text, sizeof(text)), TIME);
	if (!has_mark(marks, span->columns - TIME, TIME))
		memcpy(axis + span->columns - TIME, format_time(shown_us, "%H:%M:%S", text, sizeof(text)), TIME);
	draw_cell(brush, y, body->x + 1, LABEL, "! opened  + closed", ALIGN_LEFT, ROLE_FAINT);
	for (int i = 0, end; i < span->columns; i = end) {
		for (end = i; end < span->columns && marks[end] == marks[i]; end++)
			run[end - i] = marks[i] == ROLE_FAINT ? axis[end] : marks[i] == ROLE_GOOD ? '+' : '!';
		run[end - i] = '\0';
		draw_cell(brush, y, body->x + LABEL + 1 + i, end - i, run, ALIGN_LEFT, marks[i]);
	}
}

static void draw_head(const struct brush *brush, int y, int x, int columns, const char *text)
{
	draw_cell(brush, y, x, columns, text, ALIGN_LEFT, ROLE_HEAD);
}

/*
 * From the oldest sweep to the shown one, at most TREND_SPAN_US. Columns start at multiples of their
 * time, so that only the last one changes with a sweep until the plot moves by a whole column.
 */
static struct span make_span(const struct trend *trend, int64_t shown_us, int columns)
{
	size_t end = trend_until(trend, shown_us), first = trend_first(trend);
	int64_t from_us = first < end ? trend->points[first % TREND_POINTS].from_us : shown_us - 1;
	int64_t whole_us = shown_us - from_us, step_us = US_PER_MS;

	columns = columns < COLUMNS_MOST ? columns : COLUMNS_MOST;
	while (step_us * columns < whole_us && step_us * columns < TREND_SPAN_US)
		step_us = step_us * 9 / 8 + 1;
	if (step_us * columns > TREND_SPAN_US)
		step_us = TREND_SPAN_US / columns;
	shown_us += (step_us - shown_us % step_us) % step_us;
	return (struct span){ shown_us - step_us * columns, shown_us, columns };
}

void overview_draw_plot(const struct overview_view *view, const struct app *app, const struct brush *brush,
			const struct rect *body)
{
	int y = body->y + view->plan.plot, rows = view->plan.plot_rows - 2, minor = rows > 12 ? 2 : 1;
	const struct span span = make_span(app->trend, app->live->shown->sweep.wall_us, body->columns - LABEL - 2);
	int seconds = (int)((span.until_us - span.from_us + US_PER_S / 2) / US_PER_S);
	struct columns columns;
	char text[96];

	fill_columns(app->trend, &span, trend_until(app->trend, app->live->shown->sweep.wall_us), &columns);
	snprintf(text, sizeof(text), "LAST %dm%02ds  TX and RX of hosts, highest XmitWait%%, errors per sweep",
		 seconds / 60, seconds % 60);
	draw_head(brush, y++, body->x, body->columns, text);
	for (int band = 0; band < BAND_COUNT; band++) {
		int traffic = rows - 2 * minor;
		int lines = band == BAND_XMIT ? traffic - traffic / 2 : band == BAND_RCV ? traffic / 2 : minor;

		draw_band(app, brush, &span, &columns, (enum band)band, y, lines, body);
		y += lines;
	}
	draw_axis(app, brush, &span, y, body);
}

/* --- map --- */

/* A link is coloured only if it has a finding: load alone is no problem. */
static enum role calm_role(enum role role)
{
	return role == ROLE_LOAD_MIDDLE || role == ROLE_LOAD_HIGH ? ROLE_LOAD_LOW : role;
}

struct small_map {
	struct heat_cell *cells;  /* rows of spines, columns of leaves */
	uint32_t *place;          /* by node: its row or column; SHAPE_NONE: neither */
	size_t leaves, spines;
	size_t rows, columns;     /* of the cells: several switches share one where there is no room */
	uint32_t first_leaf, last_leaf;
	double most;
};

/* Leaves and spines in order of name. Return: whether there are any. */
static bool place_switches(struct small_map *map, const struct app *app)
{
	const struct shape *shape = app->context->shape;
	const struct fabric *fabric = app->live->shown->fabric;

	map->place = malloc((fabric->node_count + 1) * sizeof(*map->place));
	for (size_t i = 0; map->place && i < fabric->node_count; i++) {
		uint32_t node = app->table->order.nodes[i];

		map->place[node] = SHAPE_NONE;
		if (shape->nodes[node].tier == 1) {
			map->first_leaf = map->leaves ? map->first_leaf : node;
			map->last_leaf = node;
			map->place[node] = (uint32_t)map->leaves++;
		} else if (shape->nodes[node].tier == 2) {
			map->place[node] = (uint32_t)map->spines++;
		}
	}
	return map->place && map->leaves && map->spines;
}

static struct heat_cell *cell_at(const struct small_map *map, uint32_t leaf, uint32_t spine)
{
	size_t column = map->place[leaf], row = map->place[spine];

	if (map->place[leaf] == SHAPE_NONE || map->place[spine] == SHAPE_NONE)
		return NULL;
	column = map->leaves > map->columns ? column * map->columns / map->leaves : column;
	row = map->spines > map->rows ? row * map->rows / map->spines : row;
	return &map->cells[row * map->columns + column];
}

static void fill_cells(struct small_map *map, const struct app *app)
{
	const struct shape *shape = app->context->shape;
	const struct fabric *fabric = app->live->shown->fabric;

	for (uint32_t i = 0; i < fabric->port_count; i++) {
		const struct port_view *view = &app->table->views[i];
		uint32_t peer = fabric->ports[i].peer;
		double percent = fmax(view->xmit_percent, view->rcv_percent);
		struct heat_cell *cell;

		if (shape->ports[i].way != WAY_UP || peer == FABRIC_NONE ||
		    shape->nodes[fabric->ports[i].node].tier != 1)
			continue;
		cell = cell_at(map, fabric->ports[i].node, fabric->ports[peer].node);
		if (!cell)
			continue;
		cell->links = 1;
		cell->working = 1;
		if (fabric->ports[i].state < PORT_INIT)
			cell->sign = HEAT_DOWN;
		else if (isnan(percent))
			cell->sign = cell->sign == HEAT_NO_LINK ? HEAT_UNKNOWN : cell->sign;
		else if (cell->sign != HEAT_DOWN)
			cell->sign = HEAT_LOAD;
		cell->value[HEAT_MEASURED] = fmaxf(cell->value[HEAT_MEASURED], (float)(percent / 100));
		map->most = fmax(map->most, percent);
	}
	for (size_t i = 0; i < shape->missing_count; i++) {
		struct heat_cell *cell = cell_at(map, shape->missing[i].low, shape->missing[i].high);

		if (cell && !shape->missing[i].links)
			cell->sign = HEAT_MISSING;
	}
}

/* Columns of a cell: from three on with the number. */
static int map_cell_columns(int columns, size_t cells)
{
	int width = (columns - 1) / (int)cells;

	return width < 1 ? 1 : width > 4 ? 4 : width;
}

/* Cells of the same role are one text. */
static void draw_map_row(const struct heat_cell *cells, size_t count, int width, const struct brush *brush, int y,
			 int x)
{
	struct text run = { 0 };
	enum role role = ROLE_TEXT;
	size_t first = 0;
	char text[16];

	for (size_t i = 0; i < count; i++) {
		enum role next = calm_role(heat_write(&cells[i], HEAT_MEASURED, width, brush->theme->unicode, text));

		if (next != role) {
			draw_cell(brush, y, x + width * (int)first, width * (int)(i - first), text_chars(&run),
				  ALIGN_LEFT, role);
			text_clear(&run);
			first = i;
			role = next;
		}
		text_append(&run, text);
	}
	draw_cell(brush, y, x + width * (int)first, width * (int)(count - first), text_chars(&run), ALIGN_LEFT, role);
	text_done(&run);
}

static void draw_map(const struct app *app, const struct brush *brush, const struct rect *area)
{
	struct small_map map = { .most = NAN };
	char text[CELL_SIZE], most[16];
	const char *const *names = (const char *const *)app->table->order.names;
	int width;

	if (!place_switches(&map, app))
		goto out;
	map.rows = (size_t)(area->rows - 2) < map.spines ? (size_t)(area->rows - 2) : map.spines;
	map.columns = (size_t)area->columns - 1 < map.leaves ? (size_t)area->columns - 1 : map.leaves;
	width = map_cell_columns(area->columns, map.columns);
	map.cells = calloc(map.rows * map.columns + 1, sizeof(*map.cells));
	if (!map.cells)
		goto out;
	for (size_t i = 0; i < map.rows * map.columns; i++)
		map.cells[i].value[HEAT_MEASURED] = NAN;
	fill_cells(&map, app);
	snprintf(text, sizeof(text), area->columns < 30 ? "LOAD %zu x %zu  max %s" : "%zu LEAVES x %zu SPINES  max %s",
		 map.leaves, map.spines, format_percent(map.most, most, sizeof(most)));
	draw_head(brush, area->y, area->x, area->columns, text);
	for (size_t row = 0; row < map.rows; row++)
		draw_map_row(&map.cells[row * map.columns], map.columns, width, brush, area->y + 1 + (int)row,
			     area->x + 1);
	snprintf(text, sizeof(text), "%s ... %s", names[map.first_leaf], names[map.last_leaf]);
	draw_cell(brush, area->y + 1 + (int)map.rows, area->x + 1, area->columns - 1, text, ALIGN_MIDDLE, ROLE_FAINT);
out:
	free(map.place);
	free(map.cells);
}

/* --- busiest links and hosts --- */

static void insert(struct overview_top *top, uint32_t index, double value)
{
	size_t at = top->count;

	if (isnan(value) || (top->count == OVERVIEW_TOP && value <= top->rows[OVERVIEW_TOP - 1].value))
		return;
	if (top->count < OVERVIEW_TOP)
		top->count++;
	else
		at--;
	for (; at > 0 && top->rows[at - 1].value < value; at--)
		top->rows[at] = top->rows[at - 1];
	top->rows[at].index = index;
	top->rows[at].value = value;
}

/* The ports of a host: its HCAs are adjacent in host_nodes. Return: their number, at most @most. */
static size_t host_ports(const struct app *app, uint32_t host, uint32_t *ret, size_t most)
{
	const struct shape *shape = app->context->shape;
	const struct fabric *fabric = app->live->shown->fabric;
	size_t count = 0;

	for (uint32_t i = 0; i < shape->hosts[host].count; i++) {
		const struct node *node = &fabric->nodes[shape->host_nodes[shape->hosts[host].first + i]];

		for (uint32_t port = node->first_port; port < node->first_port + node->ports && count < most; port++)
			ret[count++] = port;
	}
	return count;
}

enum { HOST_PORTS = 64, TOP_ROWS = 9 };

static void host_rates(const struct app *app, uint32_t host, double *ret_xmit, double *ret_rcv)
{
	uint32_t ports[HOST_PORTS];
	size_t count = host_ports(app, host, ports, HOST_PORTS);

	*ret_xmit = *ret_rcv = NAN;
	for (size_t i = 0; i < count; i++) {
		const struct port_view *view = &app->table->views[ports[i]];

		if (!isnan(view->xmit_bytes_per_s))
			*ret_xmit = (isnan(*ret_xmit) ? 0 : *ret_xmit) + view->xmit_bytes_per_s;
		if (!isnan(view->rcv_bytes_per_s))
			*ret_rcv = (isnan(*ret_rcv) ? 0 : *ret_rcv) + view->rcv_bytes_per_s;
	}
}

void overview_find_top(struct overview_view *view, const struct app *app)
{
	const struct fabric *fabric = app->live->shown->fabric;
	const struct shape *shape = app->context->shape;

	view->links.count = view->hosts.count = 0;
	for (uint32_t i = 0; i < fabric->port_count; i++) {
		const struct port_view *port = &app->table->views[i];
		uint32_t peer = fabric->ports[i].peer;

		/* Each link once, by its busier direction. */
		if (peer == FABRIC_NONE || i > peer)
			continue;
		if (port->rcv_percent > port->xmit_percent)
			insert(&view->links, peer, port->rcv_percent);
		else
			insert(&view->links, i, port->xmit_percent);
	}
	for (uint32_t i = 0; shape && i < shape->host_count; i++) {
		double xmit, rcv;

		host_rates(app, i, &xmit, &rcv);
		insert(&view->hosts, i, fmax(xmit, rcv));
	}
}

/* The sparkline of a row, at its right end. */
static void draw_spark(const struct app *app, const struct brush *brush, int y, int x, int columns,
		       const uint32_t *ports, size_t count, enum role role)
{
	struct text line = { 0 };

	trend_spark(app->trend, ports, count, columns, brush->theme->unicode, &line);
	draw_fitted(brush, y, x, text_chars(&line), role);
	text_done(&line);
}

void draw_host_spark(const struct app *app, const struct brush *brush, int y, int x, int columns, uint32_t host,
		     enum role role)
{
	uint32_t ports[HOST_PORTS];

	draw_spark(app, brush, y, x, columns, ports, host_ports(app, host, ports, HOST_PORTS), role);
}

/* The colour of a link: of its worst finding. */
static enum role link_role(const struct app *app, uint32_t port)
{
	const struct fabric *fabric = app->live->shown->fabric;
	enum port_mark worst = MARK_NONE;

	for (size_t i = 0; i < app->context->finding_count; i++) {
		const struct finding_row *row = &app->context->findings[i];

		if (port_mark_of(row) > worst && finding_concerns_port(app->context, fabric, &row->finding, port))
			worst = port_mark_of(row);
	}
	return worst >= MARK_WARNING ? mark_role(worst) : ROLE_LOAD_LOW;
}

enum { PERCENT_COLUMNS = 5, RATE_COLUMNS = 8, RX_FROM = 140 };

static int spark_columns(const struct rect *body)
{
	int columns = body->columns / 8;

	return columns > TREND_LOADS ? TREND_LOADS : columns;
}

static void draw_links(const struct overview_view *view, const struct app *app, const struct brush *brush,
		       const struct rect *area, int spark)
{
	const struct fabric *fabric = app->live->shown->fabric;
	int name = area->columns - spark - PERCENT_COLUMNS - 3;
	char text[2 * PORT_NAME_SIZE + 8], low[PORT_NAME_SIZE], high[PORT_NAME_SIZE];

	draw_head(brush, area->y, area->x, area->columns, "TOP LINKS");
	draw_cell(brush, area->y, area->x + name + 2, PERCENT_COLUMNS, "UTIL%", ALIGN_RIGHT, ROLE_HEAD);
	for (int i = 0; i + 1 < area->rows && (size_t)i < view->links.count; i++) {
		uint32_t port = view->links.rows[i].index, peer = fabric->ports[port].peer;
		enum role role = link_role(app, port);
		int y = area->y + 1 + i;

		order_port_name(&app->table->order, fabric, port, low);
		order_port_name(&app->table->order, fabric, peer, high);
		snprintf(text, sizeof(text), "%s > %s", low, high);
		draw_cell(brush, y, area->x + 1, name, text, ALIGN_MIDDLE, ROLE_TEXT);
		format_percent(view->links.rows[i].value, text, sizeof(text));
		draw_cell(brush, y, area->x + name + 2, PERCENT_COLUMNS, text, ALIGN_RIGHT, role);
		draw_spark(app, brush, y, area->x + area->columns - spark, spark, &port, 1, role);
	}
}

static void draw_rate(const struct brush *brush, int y, int x, double bytes_per_s)
{
	char text[CELL_SIZE];

	draw_cell(brush, y, x, RATE_COLUMNS, format_rate(bytes_per_s, RATE_COLUMNS, text, sizeof(text)), ALIGN_RIGHT,
		  ROLE_TEXT);
}

static void draw_hosts(const struct overview_view *view, const struct app *app, const struct brush *brush,
		       const struct rect *area, int spark, int rates)
{
	int name = area->columns - spark - rates * (RATE_COLUMNS + 1) - 2;
	int x = area->x + name + 2;

	draw_head(brush, area->y, area->x, area->columns, "TOP HOSTS");
	draw_cell(brush, area->y, x, RATE_COLUMNS, "TX b/s", ALIGN_RIGHT, ROLE_HEAD);
	if (rates > 1)
		draw_cell(brush, area->y, x + RATE_COLUMNS + 1, RATE_COLUMNS, "RX b/s", ALIGN_RIGHT, ROLE_HEAD);
	for (int i = 0; i + 1 < area->rows && (size_t)i < view->hosts.count; i++) {
		uint32_t host = view->hosts.rows[i].index;
		int y = area->y + 1 + i;
		double xmit, rcv;

		host_rates(app, host, &xmit, &rcv);
		draw_cell(brush, y, area->x + 1, name, app->context->shape->hosts[host].name, ALIGN_MIDDLE, ROLE_TEXT);
		draw_rate(brush, y, x, xmit);
		if (rates > 1)
			draw_rate(brush, y, x + RATE_COLUMNS + 1, rcv);
		draw_host_spark(app, brush, y, area->x + area->columns - spark, spark, host, ROLE_LOAD_LOW);
	}
}

void overview_draw_top(const struct overview_view *view, const struct app *app, const struct brush *brush,
		       const struct rect *body)
{
	const struct shape *shape = app->context->shape;
	bool mapped = shape && shape->tier_count >= 2;
	int spark = spark_columns(body), rates = body->columns < RX_FROM ? 1 : 2, name = 9;
	struct rect area = { body->y + view->plan.top, body->x, view->plan.top_rows, mapped ? body->columns / 4 : 0 };
	struct rect links = area, hosts = area;

	for (size_t i = 0; i < view->hosts.count; i++) {
		int columns = (int)text_columns(shape->hosts[view->hosts.rows[i].index].name);

		name = columns > name ? columns : name;
	}
	name = name > body->columns / 10 ? body->columns / 10 : name;
	hosts.columns = name + spark + rates * (RATE_COLUMNS + 1) + 2;
	hosts.x = body->x + body->columns - hosts.columns;
	links.x = area.x + area.columns + mapped;
	links.columns = hosts.x - links.x - 1;
	if (mapped)
		draw_map(app, brush, &area);
	draw_links(view, app, brush, &links, spark);
	draw_hosts(view, app, brush, &hosts, spark, rates);
}

size_t overview_top_rows(const struct overview_view *view, const struct app *app)
{
	const struct shape *shape = app->context->shape;
	size_t spines = shape && shape->tier_count >= 2 ? shape->tiers[2].switches + 1 : 0;
	size_t most = view->links.count > view->hosts.count ? view->links.count : view->hosts.count;
	size_t wanted = spines > TOP_ROWS ? spines : TOP_ROWS;

	return most < 1 ? 1 : most < wanted ? most : wanted;
}
