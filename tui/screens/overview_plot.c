/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* overview_plot.c - traffic, XmitWait%, errors and findings over time on the Overview screen */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "tui/draw/draw.h"
#include "tui/model/changes.h"
#include "tui/model/context.h"
#include "tui/model/live.h"
#include "tui/model/port_table.h"
#include "tui/model/trend.h"
#include "tui/screens/app.h"
#include "tui/screens/overview_view.h"
#include "facts/bars.h"

enum { LABEL_NAME = 9, LABEL_VALUE = 9, LABEL = LABEL_NAME + LABEL_VALUE + 2, COLUMNS_MOST = 512 };

enum band { BAND_XMIT, BAND_RCV, BAND_STALL, BAND_ERRORS, BAND_COUNT };

/* The time of the plot: from the oldest sweep to the shown one. */
struct span {
	int64_t from_us, until_us;
	int columns;
	size_t end; /* the point after the shown sweep */
};

static int column_of(const struct span *span, int64_t wall_us)
{
	int64_t whole = span->until_us - span->from_us;
	int64_t column = whole > 0 ? (wall_us - span->from_us) * span->columns / whole : 0;

	return (int)(column < 0 ? 0 : column >= span->columns ? span->columns - 1 : column);
}

static struct measure band_value(const struct trend_point *point, enum band band)
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
	double values[BAND_COUNT][COLUMNS_MOST], counts[BAND_COUNT][COLUMNS_MOST];
	struct measure most[BAND_COUNT];
	bool at_least[BAND_COUNT];
};

static void add_value(struct columns *columns, enum band band, int column, struct measure measure)
{
	double *to = &columns->values[band][column], value = measure.value;

	if (isnan(value))
		return;
	columns->at_least[band] |= measure_is_at_least(measure);
	if (band == BAND_STALL || band == BAND_ERRORS)
		*to = fmax(*to, value);
	else
		*to = columns->counts[band][column]++ > 0 ? *to + value : value;
}

static void fill_columns(const struct trend *trend, const struct span *span, struct columns *ret)
{
	memset(ret->counts, 0, sizeof(ret->counts));
	memset(ret->at_least, 0, sizeof(ret->at_least));
	for (int band = 0; band < BAND_COUNT; band++)
		for (int i = 0; i < span->columns; i++)
			ret->values[band][i] = NAN;
	for (size_t i = trend_first(trend); i < span->end; i++) {
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
		double most = NAN;

		for (int i = 0; i < span->columns; i++) {
			if (ret->counts[band][i] > 0)
				ret->values[band][i] /= ret->counts[band][i];
			most = fmax(most, ret->values[band][i]);
		}
		ret->most[band] = measure_of(most, !ret->at_least[band]);
	}
}

static const char *write_value(enum band band, struct measure value, char *ret, size_t size)
{
	if (band == BAND_STALL)
		return format_percent(value, ret, size);
	if (band == BAND_ERRORS)
		return format_errors(value, 9, ret, size);
	return format_rate(value, measure_is_at_least(value) ? LABEL_VALUE : 12, ret, size);
}

static void draw_label(const struct brush *brush, int y, int x, const char *name, enum band band,
		       struct measure value, enum role role)
{
	char text[CELL_SIZE];

	draw_cell(brush, y, x, LABEL_NAME, name, ALIGN_LEFT, role);
	if (!isnan(value.value))
		draw_cell(brush, y, x + LABEL_NAME + 1, LABEL_VALUE, write_value(band, value, text, sizeof(text)),
			  ALIGN_RIGHT, role);
}

static void draw_band(const struct app *app, const struct brush *brush, const struct span *span,
		      const struct columns *columns, enum band band, int y, int rows, const struct rect *body)
{
	static const char *const names[] = { "TX", "RX", "XmitWait%", "ERRORS" };
	const struct trend *trend = app->trend;
	const double *values = columns->values[band];
	struct measure now = MEASURE_NONE;
	double most = columns->most[band].value, scale = band == BAND_STALL ? fmax(most, 10) : most;
	bool alarming = band == BAND_ERRORS ? most > 0 : band == BAND_STALL && most >= 10;
	struct text line = { 0 };

	if (span->end > trend_first(trend))
		now = band_value(&trend->points[(span->end - 1) % TREND_POINTS], band);
	draw_label(brush, y, body->x + 1, names[band], band, now, ROLE_STRONG);
	if (isnan(most)) {
		draw_cell(brush, y, body->x + LABEL + 1, span->columns, span->end ?
			  "unknown: not counted by these ports" : "reading stored history ...", ALIGN_LEFT, ROLE_FAINT);
		return;
	}
	if (rows > 1)
		draw_label(brush, y + 1, body->x + 1, "max", band, columns->most[band], ROLE_FAINT);
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
	return (struct span){ shown_us - step_us * columns, shown_us, columns, end };
}

void overview_draw_plot(const struct overview_view *view, const struct app *app, const struct brush *brush,
			const struct rect *body)
{
	int y = body->y + view->plan.plot, rows = view->plan.plot_rows - 2, minor = rows > 12 ? 2 : 1;
	const struct span span = make_span(app->trend, app->live->shown->sweep.wall_us, body->columns - LABEL - 2);
	int seconds = (int)((span.until_us - span.from_us + US_PER_S / 2) / US_PER_S);
	struct columns columns;
	char text[96 + PORT_NAME_SIZE], port[PORT_NAME_SIZE] = "";

	fill_columns(app->trend, &span, &columns);
	if (view->waiting != FABRIC_NONE)
		port_table_name(app->table, view->waiting, port);
	snprintf(text, sizeof(text), "LAST %dm%02ds  TX and RX of hosts, highest XmitWait%%%s%s%s, errors per sweep",
		 seconds / 60, seconds % 60, *port ? " (now " : "", port, *port ? ")" : "");
	draw_cell(brush, y++, body->x, body->columns, text, ALIGN_LEFT, ROLE_HEAD);
	for (int band = 0; band < BAND_COUNT; band++) {
		int traffic = rows - 2 * minor;
		int lines = band == BAND_XMIT ? traffic - traffic / 2 : band == BAND_RCV ? traffic / 2 : minor;

		draw_band(app, brush, &span, &columns, (enum band)band, y, lines, body);
		y += lines;
	}
	draw_axis(app, brush, &span, y, body);
}
