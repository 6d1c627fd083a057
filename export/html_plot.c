/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* html_plot.c - figures of html.h as SVG: lines, bars, heat maps */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/series.h"
#include "base/plot.h"
#include "base/text.h"
#include "export/html.h"

/* Sizes in pixels. A character of the labels (12 px) is up to 8 px wide, capitals excepted. */
enum { WIDTH = HTML_PLOT_WIDTH, LETTER = 8, TEXT_HEIGHT = 15, COLORS = 8, HEAT_STEPS = 7, NAME_COLUMNS = 24 };

/* --- parts that all figures share --- */

static void begin_figure(struct text *page, const char *title, double height)
{
	text_append(page, "<figure>\n");
	html_element(page, "h3", NULL, "%s", title);
	text_appendf(page, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %.0f\" role=\"img\" ", WIDTH,
		     height);
	text_append(page, "aria-label=\"");
	html_escape(page, title);
	text_append(page, "\">\n");
}

static void end_figure(struct text *page)
{
	text_append(page, "</svg>\n</figure>\n");
}

/* A name in at most @columns columns. */
static void append_name(struct text *page, const char *name, size_t columns)
{
	struct text_cut cut = { strlen(name), strlen(name) };

	if (text_columns(name) > columns)
		cut = text_cut_name(name, columns);
	html_escapef(page, "%.*s%s%s", (int)cut.head, name, name[cut.head] ? "\u2026" : "", name + cut.tail);
}

/* Text at a position; @anchor: start, middle or end. */
static void append_label(struct text *page, double x, double y, const char *anchor, const char *class, size_t columns,
			 const char *chars)
{
	struct text shown = { 0 };

	/* Escapes take columns, and html_escape() does not change them. */
	text_append_escaped(&shown, chars, strlen(chars));
	text_appendf(page, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" class=\"%s\">", x, y, anchor, class);
	append_name(page, text_chars(&shown), columns);
	text_append(page, "</text>\n");
	page->failed |= text_failed(&shown);
	text_done(&shown);
}

/* Return: the larger of @widest and the columns of a name, at most @most. */
static size_t wider(struct text *page, size_t widest, const char *name, size_t most)
{
	struct text shown = { 0 };
	size_t columns;

	text_append_escaped(&shown, name, strlen(name));
	columns = text_columns(text_chars(&shown));
	page->failed |= text_failed(&shown);
	text_done(&shown);
	columns = columns > most ? most : columns;
	return columns > widest ? columns : widest;
}

static void append_rule(struct text *page, const char *class, double x1, double y1, double x2, double y2)
{
	text_appendf(page, "<path class=\"%s\" d=\"M%.1f %.1fL%.1f %.1f\"/>\n", class, x1, y1, x2, y2);
}

/* --- lines --- */

enum { LINES_LEFT = 84, LINES_TOP = 22, LINES_BOTTOM = 26, LINES_HEIGHT = 220, QUARTERS = 4 };
/* Names of series: distance from the curves, length of the sample of the line, columns. */
enum { NAME_GAP = 22, SAMPLE = 26, SERIES_NAME = 18 };

struct plane {
	const struct page_lines *lines;
	double left, right, top, bottom, high;
};

static double plane_x(const struct plane *plane, int64_t wall_us)
{
	const struct page_lines *lines = plane->lines;
	double share = (double)(wall_us - lines->from_us) / (double)(lines->until_us - lines->from_us);

	return plane->left + fmin(fmax(share, 0), 1) * (plane->right - plane->left);
}

static double plane_y(const struct plane *plane, double value)
{
	return plane->bottom - value / plane->high * (plane->bottom - plane->top);
}

static double highest_point(const struct page_lines *lines)
{
	double high = 0;

	for (size_t i = 0; i < lines->series_count; i++)
		for (size_t k = 0; k < lines->series[i].count; k++)
			high = fmax(high, lines->series[i].steps[k].mean);
	return high;
}

static void append_axes(struct text *page, const struct plane *plane)
{
	const struct page_lines *lines = plane->lines;
	struct plot_ticks ticks = plot_ticks_begin(lines->from_us, lines->until_us,
						   (unsigned)(plane->right - plane->left) / LETTER);
	char label[PAGE_VALUE_SIZE];
	int64_t tick_us;

	for (int i = 0; i <= QUARTERS; i++) {
		double y = plane_y(plane, plane->high * i / QUARTERS);

		append_rule(page, "grid", plane->left, y, plane->right, y);
		append_label(page, plane->left - 8, y + 4, "end", "axis", PAGE_VALUE_SIZE,
			     metric_format_value(lines->metric, plane->high * i / QUARTERS, label, sizeof(label)));
	}
	while (plot_ticks_next(&ticks, &tick_us)) {
		double x = plane_x(plane, tick_us);

		append_rule(page, "grid", x, plane->bottom, x, plane->bottom + 5);
		plot_ticks_format(&ticks, tick_us, label, sizeof(label));
		append_label(page, x, plane->bottom + 19, "middle", "axis", PAGE_VALUE_SIZE, label);
	}
}

/* Series beyond the colours repeat them with other dashes. */
static void append_look(struct text *page, size_t series)
{
	static const char *const dashes[] = { "", "7 5", "2 5", "10 4 2 4", "5 3", "14 5", "1 4", "8 3 2 3 2 3" };
	const char *dash = dashes[(series + series / COLORS) % COLORS];

	text_appendf(page, "<path class=\"curve s%zu\"", series % COLORS);
	if (dash[0])
		text_appendf(page, " stroke-dasharray=\"%s\"", dash);
}

static void append_curve(struct text *page, const struct plane *plane, size_t number)
{
	const struct page_series *series = &plane->lines->series[number];
	bool joined = false;

	append_look(page, number);
	text_append(page, " d=\"M0 0");
	for (size_t i = 0; i < series->count; i++) {
		const struct series_step *step = &series->steps[i];

		if (!isnan(step->mean))
			text_appendf(page, joined ? "L%.1f %.1f" : "M%.1f %.1fh.1",
				     plane_x(plane, step->from_us + (step->until_us - step->from_us) / 2),
				     plane_y(plane, step->mean));
		joined = !isnan(step->mean);
	}
	text_append(page, "\"><title>");
	html_escape(page, series->name);
	text_append(page, "</title></path>\n");
}

struct name_place {
	size_t series;
	double y, end_y; /* of the name, and of the end of the curve */
};

static int compare_places(const void *a, const void *b)
{
	const struct name_place *x = a, *y = b;

	return x->end_y < y->end_y ? -1 : x->end_y > y->end_y;
}

/* Names at the right, in the order in which the curves end, at distances that can be read. */
static void append_names(struct text *page, const struct plane *plane)
{
	const struct page_lines *lines = plane->lines;
	struct name_place *places = calloc(lines->series_count + 1, sizeof(*places));
	double limit = plane->bottom;

	if (!places) {
		page->failed = true;
		return;
	}
	for (size_t i = 0; i < lines->series_count; i++) {
		const struct page_series *series = &lines->series[i];

		places[i] = (struct name_place){ .series = i, .end_y = plane->bottom };
		for (size_t k = 0; k < series->count; k++)
			if (!isnan(series->steps[k].mean))
				places[i].end_y = plane_y(plane, series->steps[k].mean);
	}
	qsort(places, lines->series_count, sizeof(*places), compare_places);
	for (size_t i = 0; i < lines->series_count; i++)
		places[i].y = i ? fmax(places[i].end_y, places[i - 1].y + TEXT_HEIGHT) : places[i].end_y;
	for (size_t i = lines->series_count; i--; limit = places[i].y - TEXT_HEIGHT)
		places[i].y = fmin(places[i].y, limit);
	for (size_t i = 0; i < lines->series_count; i++) {
		const struct name_place *place = &places[i];
		double x = plane->right + NAME_GAP;

		append_rule(page, "lead", plane->right + 3, place->end_y, x - 4, place->y);
		append_look(page, place->series);
		text_appendf(page, " d=\"M%.1f %.1fh%d\"/>\n", x, place->y, SAMPLE);
		append_label(page, x + SAMPLE + 6, place->y + 4, "start", "name", SERIES_NAME,
			     lines->series[place->series].name);
	}
	free(places);
}

static void append_marks(struct text *page, const struct plane *plane)
{
	for (size_t i = 0; i < plane->lines->mark_count; i++) {
		double x = plane_x(plane, plane->lines->marks[i].wall_us);
		const char letter[2] = { (char)('A' + i % 26), '\0' };

		append_rule(page, "rule", x, plane->top, x, plane->bottom);
		append_label(page, x, plane->top - 7, "middle", "axis", 1, letter);
	}
}

void html_lines(struct text *page, const struct page_lines *lines)
{
	size_t widest = 4, names = lines->series_count * TEXT_HEIGHT;
	double high = highest_point(lines), height = names > LINES_HEIGHT ? (double)names : LINES_HEIGHT;
	double scale = metric_shown_factor(lines->metric);
	struct plane plane = { .lines = lines, .left = LINES_LEFT, .top = LINES_TOP, .bottom = LINES_TOP + height };

	for (size_t i = 0; i < lines->series_count; i++)
		widest = wider(page, widest, lines->series[i].name, SERIES_NAME);
	plane.right = WIDTH - NAME_GAP - SAMPLE - 8 - (double)widest * LETTER;
	/* Some space above the highest point; the axis is round as displayed. */
	plane.high = (high > 0 ? plot_round_top(high * 1.02 * scale) : 1) / scale;
	begin_figure(page, lines->title, plane.bottom + LINES_BOTTOM);
	append_axes(page, &plane);
	append_marks(page, &plane);
	for (size_t i = 0; i < lines->series_count; i++)
		append_curve(page, &plane, i);
	append_names(page, &plane);
	text_append(page, "</svg>\n");
	if (lines->mark_count)
		text_append(page, "<figcaption>");
	for (size_t i = 0; i < lines->mark_count; i++)
		html_element(page, "div", NULL, "%c  %s: %s", (char)('A' + i % 26), lines->marks[i].name,
			     lines->marks[i].text);
	text_append(page, lines->mark_count ? "</figcaption>\n</figure>\n" : "</figure>\n");
}

/* --- bars --- */

enum { BAR_HEIGHT = 14, BAR_STEP = 21, BAR_VALUE = 92, PROFILE_HEIGHT = 160, PROFILE_LEFT = 84 };

static double highest_bar(const struct page_bars *bars)
{
	double high = isnan(bars->mean) ? 0 : bars->mean;

	for (size_t i = 0; i < bars->count; i++)
		high = fmax(high, bars->bars[i].value);
	return high > 0 ? high : 1;
}

/* The sign of a state is part of the value, because colour alone is not enough. */
static void append_value(struct text *page, const struct page_bars *bars, const struct page_bar *bar, double x,
			 double y)
{
	char value[PAGE_VALUE_SIZE] = "unknown", both[PAGE_VALUE_SIZE + 8];

	if (!isnan(bar->value))
		bars->format(bar->value, value, sizeof(value));
	snprintf(both, sizeof(both), "%s %s", value, bar->state > PAGE_INFO ? html_state_sign(bar->state) : "");
	append_label(page, x, y, "start", "value", sizeof(both), both);
}

static void append_named_bars(struct text *page, const struct page_bars *bars, double high)
{
	size_t widest = 4;
	double left, scale, bottom = (double)bars->count * BAR_STEP;

	for (size_t i = 0; i < bars->count; i++)
		widest = wider(page, widest, bars->bars[i].name, NAME_COLUMNS);
	left = (double)widest * LETTER + 14;
	scale = (WIDTH - left - BAR_VALUE) / high;
	for (size_t i = 0; i < bars->count; i++) {
		const struct page_bar *bar = &bars->bars[i];
		double y = (double)i * BAR_STEP + (BAR_STEP - BAR_HEIGHT) / 2.0;
		double wide = isnan(bar->value) ? 0 : bar->value * scale;

		append_label(page, left - 8, y + 11, "end", "name", NAME_COLUMNS, bar->name);
		text_appendf(page, "<path class=\"f %s\" d=\"M%.1f %.1fh%.1fv%dh-%.1fz\"/>\n",
			     html_state_class(bar->state), left, y, fmax(wide, 1), BAR_HEIGHT, fmax(wide, 1));
		append_value(page, bars, bar, left + wide + 7, y + 11);
	}
	if (!isnan(bars->mean)) {
		double x = left + bars->mean * scale;

		append_rule(page, "rule", x, 0, x, bottom + 4);
		append_label(page, x, bottom + 16, "middle", "axis", PAGE_VALUE_SIZE, "mean");
	}
}

static int compare_bars(const void *a, const void *b)
{
	const struct page_bar *x = a, *y = b;

	if (isnan(x->value) || isnan(y->value))
		return isnan(y->value) - isnan(x->value);
	return x->value < y->value ? -1 : x->value > y->value;
}

/* Unknown values come first and have no height. */
static void append_profile(struct text *page, const struct page_bars *bars, struct page_bar *sorted, double high)
{
	double step = (double)(WIDTH - PROFILE_LEFT) / (double)bars->count, scale = (PROFILE_HEIGHT - 20) / high;
	const struct page_bar *lowest = sorted, *highest = &sorted[bars->count - 1];
	char value[PAGE_VALUE_SIZE];
	struct text end = { 0 };

	qsort(sorted, bars->count, sizeof(*sorted), compare_bars);
	while (lowest < highest && isnan(lowest->value))
		lowest++;
	for (size_t i = 0; i < bars->count; i++) {
		double tall = isnan(sorted[i].value) ? 0 : fmax(sorted[i].value * scale, 1);

		text_appendf(page, "<path class=\"f %s\" d=\"M%.2f %dv-%.1fh%.2fv%.1fz\"/>\n",
			     html_state_class(sorted[i].state), PROFILE_LEFT + (double)i * step, PROFILE_HEIGHT, tall,
			     step * 0.92, tall);
	}
	for (int i = 0; i <= 1; i++)
		append_label(page, PROFILE_LEFT - 8, PROFILE_HEIGHT - i * high * scale + 4, "end", "axis",
			     PAGE_VALUE_SIZE, bars->format(i * high, value, sizeof(value)));
	if (!isnan(bars->mean)) {
		double y = PROFILE_HEIGHT - bars->mean * scale;

		append_rule(page, "rule", PROFILE_LEFT, y, WIDTH, y);
		append_label(page, PROFILE_LEFT + 4, y - 5, "start", "axis", PAGE_VALUE_SIZE, "mean");
	}
	text_appendf(&end, "lowest: %s", lowest->name);
	append_label(page, PROFILE_LEFT, PROFILE_HEIGHT + 17, "start", "axis", NAME_COLUMNS + 10, text_chars(&end));
	text_clear(&end);
	text_appendf(&end, "highest: %s", highest->name);
	append_label(page, WIDTH, PROFILE_HEIGHT + 17, "end", "axis", NAME_COLUMNS + 10, text_chars(&end));
	page->failed |= text_failed(&end);
	text_done(&end);
}

void html_bars(struct text *page, const struct page_bars *bars)
{
	bool named = bars->count <= HTML_BARS_NAMED;
	struct page_bar *sorted = calloc(bars->count + 1, sizeof(*sorted));

	if (!sorted) {
		page->failed = true;
		return;
	}
	for (size_t i = 0; i < bars->count; i++)
		sorted[i] = bars->bars[i];
	begin_figure(page, bars->title, named ? (double)bars->count * BAR_STEP + 24 : PROFILE_HEIGHT + 24);
	if (named)
		append_named_bars(page, bars, highest_bar(bars));
	else
		append_profile(page, bars, sorted, highest_bar(bars));
	end_figure(page);
	free(sorted);
}

/* --- heat maps --- */

enum {
	CELL_WIDEST = 76, CELL_TALL = 24, HEAT_TALLEST = 560, LEGEND = 44, NUMBER_WIDTH = 34, NUMBER_HEIGHT = 15,
	STRAIGHT_LETTERS = 6, /* width of a character of a column name that is not turned */
};

struct grid {
	const struct page_heat *heat;
	double left, top, wide, tall, scale_top;
	bool numbers, turned;
	size_t row_every, column_every; /* only every nth name has space */
};

static size_t widest_name(struct text *page, const char *const *names, size_t count)
{
	size_t widest = 1;

	for (size_t i = 0; i < count; i++)
		widest = wider(page, widest, names[i], NAME_COLUMNS);
	return widest;
}

static struct grid grid_of(struct text *page, const struct page_heat *heat)
{
	size_t row_name = widest_name(page, heat->row_names, heat->rows);
	size_t name = widest_name(page, heat->column_names, heat->columns);
	struct grid grid = { .heat = heat, .left = (double)row_name * LETTER + 14, .scale_top = heat->top };

	for (size_t i = 0; heat->top <= 0 && i < heat->rows * heat->columns; i++)
		grid.scale_top = fmax(grid.scale_top, heat->values[i]);
	if (!(grid.scale_top > 0))
		grid.scale_top = 1;
	grid.wide = fmin(CELL_WIDEST, (WIDTH - grid.left) / (double)heat->columns);
	grid.tall = fmin(CELL_TALL, HEAT_TALLEST / (double)heat->rows);
	grid.turned = (double)name * STRAIGHT_LETTERS + 6 > grid.wide;
	grid.top = grid.turned ? (double)name * LETTER + 8 : TEXT_HEIGHT + 4;
	grid.numbers = grid.wide >= NUMBER_WIDTH && grid.tall >= NUMBER_HEIGHT;
	grid.row_every = 1 + (size_t)((TEXT_HEIGHT - 2) / (grid.tall + 1));
	grid.column_every = grid.turned ? 1 + (size_t)((TEXT_HEIGHT - 2) / (grid.wide + 1)) : 1;
	return grid;
}

/* @share: of the scale */
static int heat_step(double share)
{
	int step = (int)(share * HEAT_STEPS);

	return step < 0 ? 0 : step >= HEAT_STEPS ? HEAT_STEPS - 1 : step;
}

/* Without space for its number, a cell is filled to the height of its value. */
static void append_heat_cell(struct text *page, const struct grid *grid, size_t row, size_t column)
{
	double value = grid->heat->values[row * grid->heat->columns + column];
	double x = grid->left + (double)column * grid->wide, y = grid->top + (double)row * grid->tall;
	double gap = grid->wide > 8 && grid->tall > 8 ? 1 : 0.2, wide = grid->wide - gap, tall = grid->tall - gap;
	double share = value / grid->scale_top, fill = grid->numbers ? tall : fmin(share, 1) * tall;
	char label[PAGE_VALUE_SIZE];

	if (isnan(value)) {
		append_label(page, x + wide / 2, y + tall / 2 + 4, "middle", "axis", 1, grid->numbers ? "\u00b7" : "");
		return;
	}
	if (!grid->numbers && gap >= 1)
		text_appendf(page, "<path class=\"cell\" d=\"M%.1f %.1fh%.1fv%.1fh-%.1fz\"/>", x, y, wide, tall, wide);
	text_appendf(page, "<path class=\"h%d\" d=\"M%.1f %.1fh%.1fv-%.1fh-%.1fz\"><title>", heat_step(share), x,
		     y + tall, wide, fill, wide);
	html_escapef(page, "%s, %s: %s", grid->heat->row_names[row], grid->heat->column_names[column],
		     grid->heat->format(value, label, sizeof(label)));
	text_append(page, "</title></path>\n");
	if (grid->numbers)
		append_label(page, x + wide / 2, y + tall / 2 + 4, "middle",
			     heat_step(share) <= HEAT_STEPS / 2 + 1 ? "low" : "high", PAGE_VALUE_SIZE,
			     grid->heat->format(value, label, sizeof(label)));
}

static void append_heat_names(struct text *page, const struct grid *grid)
{
	const struct page_heat *heat = grid->heat;

	for (size_t i = 0; i < heat->rows; i += grid->row_every)
		append_label(page, grid->left - 8, grid->top + ((double)i + 0.5) * grid->tall + 4, "end", "name",
			     NAME_COLUMNS, heat->row_names[i]);
	for (size_t i = 0; i < heat->columns; i += grid->column_every) {
		double x = grid->left + ((double)i + 0.5) * grid->wide;

		if (grid->turned) {
			text_appendf(page, "<g transform=\"translate(%.1f %.1f) rotate(-90)\">", x + 4, grid->top - 6);
			append_label(page, 0, 0, "start", "name", NAME_COLUMNS, heat->column_names[i]);
			text_append(page, "</g>\n");
		} else {
			append_label(page, x, grid->top - 6, "middle", "name", NAME_COLUMNS, heat->column_names[i]);
		}
	}
}

static void append_legend(struct text *page, const struct grid *grid, double y)
{
	char label[PAGE_VALUE_SIZE];

	for (int i = 0; i < HEAT_STEPS; i++)
		text_appendf(page, "<path class=\"h%d\" d=\"M%.1f %.1fh24v10h-24z\"/>", i, grid->left + i * 26, y);
	append_label(page, grid->left, y + 24, "start", "axis", PAGE_VALUE_SIZE,
		     grid->heat->format(0, label, sizeof(label)));
	append_label(page, grid->left + HEAT_STEPS * 26, y + 24, "end", "axis", PAGE_VALUE_SIZE,
		     grid->heat->format(grid->scale_top, label, sizeof(label)));
}

void html_heat(struct text *page, const struct page_heat *heat)
{
	struct grid grid = grid_of(page, heat);
	double bottom = grid.top + (double)heat->rows * grid.tall;

	begin_figure(page, heat->title, bottom + LEGEND);
	append_heat_names(page, &grid);
	for (size_t row = 0; row < heat->rows; row++)
		for (size_t column = 0; column < heat->columns; column++)
			append_heat_cell(page, &grid, row, column);
	append_legend(page, &grid, bottom + 10);
	end_figure(page);
}

/* A name in a heading of the matrix; one that is cut has all of it in a tooltip. */
static void append_heading(struct text *page, const char *name, const char *prefix, uint64_t id)
{
	text_append(page, "<th");
	if (text_columns(name) > NAME_COLUMNS) {
		text_append(page, " title=\"");
		html_escape(page, name);
		text_append(page, "\"");
	}
	text_append(page, ">");
	if (prefix && id)
		html_link_begin(page, prefix, id, 0);
	append_name(page, name, NAME_COLUMNS);
	text_append(page, prefix && id ? "</a></th>\n" : "</th>\n");
}

static void append_matrix_cell(struct text *page, double value, const struct page_place *place, const char *prefix)
{
	bool link = prefix && place && place->id, down = place && place->problem;

	text_append(page, "<td");
	if (down || !isnan(value)) {
		text_append(page, " class=\"");
		if (!isnan(value))
			text_appendf(page, "h%d", heat_step(value / 100));
		text_append(page, down ? " down\"" : "\"");
	}
	if (down) {
		text_append(page, " title=\"");
		html_escape(page, place->problem);
		text_append(page, "\"");
	}
	text_append(page, ">");
	if (link)
		html_link_begin(page, prefix, place->id, place->number);
	if (!isnan(value))
		text_appendf(page, "%.0f", value);
	if (down)
		text_append(page, html_state_sign(PAGE_CRITICAL));
	else if (isnan(value))
		text_append(page, "\u00b7");
	text_append(page, link ? "</a></td>" : "</td>");
}

void html_matrix(struct text *page, const struct page_heat *heat, const char *prefix)
{
	text_append(page, "<figure>\n");
	html_element(page, "h3", NULL, "%s", heat->title);
	text_append(page, "<table class=\"matrix\">\n<thead><tr><th></th>");
	for (size_t i = 0; i < heat->columns; i++)
		append_heading(page, heat->column_names[i], prefix, heat->column_ids ? heat->column_ids[i] : 0);
	text_append(page, "</tr></thead>\n<tbody>\n");
	for (size_t row = 0; row < heat->rows; row++) {
		text_append(page, "<tr>");
		append_heading(page, heat->row_names[row], prefix, heat->row_ids ? heat->row_ids[row] : 0);
		for (size_t at = row * heat->columns; at < (row + 1) * heat->columns; at++)
			append_matrix_cell(page, heat->values[at], heat->places ? &heat->places[at] : NULL, prefix);
		text_append(page, "</tr>\n");
	}
	text_append(page, "</tbody>\n</table>\n</figure>\n");
}
