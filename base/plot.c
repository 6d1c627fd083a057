/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/plot.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "base/when.h"

enum { AXIS_LINES = 2, COLUMNS_LEAST = 10, TICKS = 4, LEVELS = 8 };

struct bar {
	double mean, high; /* NAN: a gap */
	bool at_least;
};

struct drawing {
	const struct plot *plot;
	struct bar *bars;
	unsigned columns, rows; /* of the bars */
	unsigned label_width;
	double top;
};

static int64_t column_us(const struct drawing *drawing, unsigned column)
{
	double share = (double)column / drawing->columns;

	return drawing->plot->from_us + (int64_t)(share * (double)(drawing->plot->until_us - drawing->plot->from_us));
}

/* The mean of a bar is weighted by the time of its points within the column. */
static void fill_bars(struct drawing *drawing)
{
	const struct plot *plot = drawing->plot;
	size_t first = 0;

	for (unsigned column = 0; column < drawing->columns; column++) {
		int64_t from = column_us(drawing, column), until = column_us(drawing, column + 1);
		struct bar *bar = &drawing->bars[column];
		double weight = 0;

		*bar = (struct bar){ .mean = 0, .high = NAN };
		while (first < plot->count && plot->points[first].until_us <= from)
			first++;
		for (size_t i = first; i < plot->count && plot->points[i].from_us < until; i++) {
			const struct plot_point *point = &plot->points[i];
			int64_t begin = point->from_us > from ? point->from_us : from;
			int64_t end = point->until_us < until ? point->until_us : until;

			if (isnan(point->mean) || end <= begin)
				continue;
			bar->mean += point->mean * (double)(end - begin);
			weight += (double)(end - begin);
			bar->high = fmax(bar->high, fmax(point->high, point->mean));
			bar->at_least |= point->at_least;
		}
		bar->mean = weight > 0 ? bar->mean / weight : NAN;
	}
}

double plot_round_top(double high)
{
	static const double steps[] = { 1, 1.2, 1.6, 2, 2.4, 3, 4, 5, 6, 8, 10 };
	double scale;

	if (!(high > 0))
		return 1;
	scale = pow(10, floor(log10(high)));
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++)
		if (high <= steps[i] * scale)
			return steps[i] * scale;
	return 10 * scale;
}

static double find_top(const struct drawing *drawing)
{
	double high = drawing->plot->reach;

	for (unsigned i = 0; i < drawing->columns; i++)
		high = fmax(high, drawing->bars[i].high);
	return drawing->plot->top > 0 && high <= drawing->plot->top ? drawing->plot->top : plot_round_top(high);
}

/* Is there a label at the upper edge of this row? row == rows is the axis. */
static bool has_tick(const struct drawing *drawing, unsigned row)
{
	unsigned ticks = drawing->rows % TICKS == 0 ? TICKS : drawing->rows % 2 == 0 ? 2 : 1;

	return row % (drawing->rows / ticks) == 0;
}

static const char *label_of(const struct drawing *drawing, unsigned row, char ret[PLOT_LABEL_SIZE])
{
	const struct plot *plot = drawing->plot;

	return plot->label(plot->label_ctx, drawing->top * (drawing->rows - row) / drawing->rows, ret, PLOT_LABEL_SIZE);
}

static unsigned widest_label(const struct drawing *drawing)
{
	char label[PLOT_LABEL_SIZE];
	size_t widest = 0;

	for (unsigned row = 0; row <= drawing->rows; row++) {
		size_t columns = has_tick(drawing, row) ? text_columns(label_of(drawing, row, label)) : 0;

		widest = columns > widest ? columns : widest;
	}
	return (unsigned)widest;
}

static void append_margin(const struct drawing *drawing, unsigned row, const char *axis, struct text *ret)
{
	char label[PLOT_LABEL_SIZE] = "";

	if (drawing->label_width) {
		if (has_tick(drawing, row))
			label_of(drawing, row, label);
		for (size_t i = text_columns(label); i < drawing->label_width; i++)
			text_append(ret, " ");
		text_append(ret, label);
		text_append(ret, " ");
	}
	text_append(ret, axis);
}

/* The character of a bar in the row @below rows above the axis. */
static const char *cell_of(const struct drawing *drawing, const struct bar *bar, unsigned below)
{
	static const char *const blocks[LEVELS + 1] = {
		" ", "\u2581", "\u2582", "\u2583", "\u2584", "\u2585", "\u2586", "\u2587", "\u2588",
	};
	static const char *const marks[LEVELS + 1] = { " ", "_", "_", ".", ".", ":", ":", "#", "#" };
	double scale = drawing->rows / drawing->top;
	long level;
	unsigned high;

	if (isnan(bar->mean))
		return " ";
	level = lround(bar->mean * scale * LEVELS) - (long)below * LEVELS;
	/* 0 is a known value and gets the lowest mark. */
	if (below == 0 && level <= 0)
		level = 1;
	/* The first row above the bar, or the highest one of it. */
	if (bar->at_least && level > -LEVELS && (level <= 0 || (below + 1 == drawing->rows && level <= LEVELS)))
		return "+";
	if (level > 0)
		return (drawing->plot->ascii ? marks : blocks)[level > LEVELS ? LEVELS : level];
	high = (unsigned)(bar->high * scale);
	if (high == below || (high >= drawing->rows && below == drawing->rows - 1))
		return bar->high > bar->mean ? drawing->plot->ascii ? "'" : "\u00b7" : " ";
	return " ";
}

static void append_row(const struct drawing *drawing, unsigned row, struct text *ret)
{
	bool ascii = drawing->plot->ascii;
	unsigned below = drawing->rows - 1 - row, last = drawing->columns;

	append_margin(drawing, row, has_tick(drawing, row) ? ascii ? "+" : "\u2524" : ascii ? "|" : "\u2502", ret);
	while (last && cell_of(drawing, &drawing->bars[last - 1], below)[0] == ' ')
		last--;
	for (unsigned column = 0; column < last; column++)
		text_append(ret, cell_of(drawing, &drawing->bars[column], below));
	text_append(ret, "\n");
}

unsigned plot_ticks_format(const struct plot_ticks *ticks, int64_t wall_us, char *ret, size_t size)
{
	int64_t every_us = ticks->every_us;
	time_t seconds = (time_t)(wall_us / US_PER_S);
	struct tm parts = { 0 };
	bool midnight;

	localtime_r(&seconds, &parts);
	midnight = !parts.tm_hour && !parts.tm_min && !parts.tm_sec;
	return (unsigned)strftime(ret, size, every_us >= 86400 * US_PER_S || midnight ? "%m-%d" :
				  every_us >= 60 * US_PER_S ? "%H:%M" : "%H:%M:%S", &parts);
}

/* The smallest tick distance with enough space for the labels. */
static int64_t choose_ticks(double span_us, unsigned columns)
{
	static const int64_t every_s[] = {
		1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 3 * 3600, 6 * 3600, 12 * 3600,
		86400, 2 * 86400, 7 * 86400, 14 * 86400, 28 * 86400, 91 * 86400, 364 * 86400,
	};
	size_t count = sizeof(every_s) / sizeof(*every_s);

	for (size_t i = 0; i < count; i++) {
		unsigned needed = every_s[i] < 60 ? 11 : 8;

		if ((double)(every_s[i] * US_PER_S) / span_us * columns >= needed)
			return every_s[i] * US_PER_S;
	}
	return every_s[count - 1] * US_PER_S;
}

struct plot_ticks plot_ticks_begin(int64_t from_us, int64_t until_us, unsigned columns)
{
	struct plot_ticks ticks = { .from_us = from_us, .until_us = until_us };

	ticks.every_us = choose_ticks((double)(until_us - from_us), columns);
	ticks.local_us = from_us + when_zone_us(from_us);
	ticks.local_us += (ticks.every_us - ticks.local_us % ticks.every_us) % ticks.every_us;
	return ticks;
}

bool plot_ticks_next(struct plot_ticks *ticks, int64_t *ret_us)
{
	for (;;) {
		/* The zone offset may change between two ticks. */
		int64_t guess_us = ticks->local_us - when_zone_us(ticks->local_us);

		*ret_us = ticks->local_us - when_zone_us(guess_us);
		ticks->local_us += ticks->every_us;
		if (*ret_us >= ticks->until_us)
			return false;
		if (*ret_us >= ticks->from_us)
			return true;
	}
}

/* Iterator over the ticks of a drawing. */
struct tick {
	struct plot_ticks ticks;
	int64_t time_us;
	unsigned column;
};

static struct tick first_tick(const struct drawing *drawing)
{
	return (struct tick){
		.ticks = plot_ticks_begin(drawing->plot->from_us, drawing->plot->until_us, drawing->columns),
	};
}

static bool next_tick(const struct drawing *drawing, struct tick *tick)
{
	const struct plot *plot = drawing->plot;
	double span_us = (double)(plot->until_us - plot->from_us);

	if (!plot_ticks_next(&tick->ticks, &tick->time_us))
		return false;
	tick->column = (unsigned)((double)(tick->time_us - plot->from_us) / span_us * drawing->columns);
	return tick->column < drawing->columns;
}

static void append_axis(const struct drawing *drawing, struct text *ret)
{
	bool ascii = drawing->plot->ascii;
	struct tick tick = first_tick(drawing);
	bool more = next_tick(drawing, &tick);

	append_margin(drawing, drawing->rows, ascii ? "+" : "\u2514", ret);
	for (unsigned column = 0; column < drawing->columns; column++) {
		if (more && tick.column == column)
			text_append(ret, ascii ? "+" : "\u252c");
		else
			text_append(ret, ascii ? "-" : "\u2500");
		while (more && tick.column <= column)
			more = next_tick(drawing, &tick);
	}
	text_append(ret, "\n");
}

/* Labels are centred below their ticks; those without enough space are omitted. */
static void append_times(const struct drawing *drawing, struct text *ret)
{
	unsigned margin = drawing->label_width ? drawing->label_width + 2 : 1, width = drawing->plot->width, at = 0;
	struct tick tick = first_tick(drawing);
	char label[16];

	while (next_tick(drawing, &tick)) {
		unsigned len = plot_ticks_format(&tick.ticks, tick.time_us, label, sizeof(label));
		unsigned begin = margin + tick.column > len / 2 ? margin + tick.column - len / 2 : 0;

		if (begin + len > width)
			begin = width > len ? width - len : 0;
		if ((at && begin <= at) || begin + len > width)
			continue;
		for (; at < begin; at++)
			text_append(ret, " ");
		text_append(ret, label);
		at += len;
	}
	text_append(ret, "\n");
}

int plot_draw(const struct plot *plot, struct text *ret)
{
	struct drawing drawing = { .plot = plot };

	if (plot->width < 2 || plot->height < AXIS_LINES + 1 || plot->until_us <= plot->from_us)
		return 0;
	drawing.rows = plot->height - AXIS_LINES;
	drawing.columns = plot->width - 1;
	drawing.bars = calloc(drawing.columns, sizeof(*drawing.bars));
	if (!drawing.bars)
		return ERR_NOMEM;
	/* The width of the labels depends on the top, which depends on the time per column. */
	fill_bars(&drawing);
	drawing.top = find_top(&drawing);
	drawing.label_width = widest_label(&drawing);
	if (plot->width >= drawing.label_width + 2 + COLUMNS_LEAST) {
		drawing.columns = plot->width - drawing.label_width - 2;
		fill_bars(&drawing);
	} else {
		drawing.label_width = 0;
	}
	for (unsigned row = 0; row < drawing.rows; row++)
		append_row(&drawing, row, ret);
	append_axis(&drawing, ret);
	append_times(&drawing, ret);
	free(drawing.bars);
	return text_failed(ret) ? ERR_NOMEM : 0;
}
