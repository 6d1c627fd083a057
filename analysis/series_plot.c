/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Plot of a series as lines of text. */
#include <math.h>
#include <stdlib.h>

#include "analysis/series.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/plot.h"

int64_t series_round_span(int64_t span_us)
{
	static const int64_t steps_s[] = {
		1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1200, 1800, 3600, 2 * 3600, 3 * 3600, 4 * 3600,
		6 * 3600, 8 * 3600, 12 * 3600, 86400, 2 * 86400, 7 * 86400, 14 * 86400, 28 * 86400,
	};
	size_t count = sizeof(steps_s) / sizeof(*steps_s);

	for (size_t i = 0; i < count; i++)
		if (steps_s[i] * US_PER_S >= span_us)
			return steps_s[i] * US_PER_S;
	return (span_us / (28 * 86400 * US_PER_S) + 1) * 28 * 86400 * US_PER_S;
}

bool series_is_unknown(const struct series *series)
{
	for (size_t i = 0; i < series->count; i++)
		if (series->steps[i].samples)
			return false;
	return true;
}

/* Axis labels are round in the displayed unit (bits for bytes, per hour for errors). */
static const char *plot_label(const void *ctx, double value, char *ret, size_t size)
{
	const struct metric *metric = ctx;

	return metric_format_value(metric, value / metric_shown_factor(metric), ret, size);
}

double series_high(const struct series *series)
{
	double high = 0;

	for (size_t i = 0; i < series->count; i++)
		high = fmax(high, fmax(series->steps[i].high, series->steps[i].mean));
	return high * metric_shown_factor(&series->metric);
}

int series_plot(const struct series *series, const struct series_plot *plot, struct text *ret)
{
	struct plot_point *points = calloc(series->count + 1, sizeof(*points));
	const struct plot drawn = {
		.points = points, .count = series->count, .from_us = plot->from_us, .until_us = plot->until_us,
		.width = plot->width, .height = plot->height, .label = plot_label, .label_ctx = &series->metric,
		.ascii = plot->ascii, .top = plot->top, .reach = plot->reach,
	};
	double factor = metric_shown_factor(&series->metric);
	int code;

	if (!points)
		return ERR_NOMEM;
	for (size_t i = 0; i < series->count; i++)
		points[i] = (struct plot_point){ series->steps[i].from_us, series->steps[i].until_us,
						 series->steps[i].mean * factor,
						 series->steps[i].high * factor };
	code = plot_draw(&drawn, ret);
	free(points);
	return code;
}
