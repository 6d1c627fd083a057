/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/when.h"

static const struct series_step empty_step = { .low = NAN, .mean = NAN, .high = NAN };

/* The last multiple of a step at or before a time, in local time. */
static int64_t align(int64_t wall_us, int64_t step_us, int64_t zone_us)
{
	int64_t rest = (wall_us + zone_us) % step_us;

	return wall_us - (rest < 0 ? rest + step_us : rest);
}

int series_init(struct series *series, const struct metric *metric, size_t ports, int64_t since_us, int64_t until_us,
		int64_t step_us, int64_t zone_us, struct error *err)
{
	char span[WHEN_SIZE];
	int64_t from_us;
	double steps;

	*series = (struct series){ .metric = *metric, .step_us = step_us };
	from_us = step_us ? align(since_us, step_us, zone_us) : since_us;
	steps = step_us ? ceil((double)(until_us - from_us) / (double)step_us) : 0;
	if (steps > SERIES_STEPS_MOST)
		return err_set(err, ERR_USAGE, "steps of %s are %.0f in this window, and at most %d are possible; give "
			       "longer ones", when_format_span(step_us, span), steps, SERIES_STEPS_MOST);
	series->capacity = series->count = !step_us ? 0 : steps < 1 ? 1 : (size_t)steps;
	series->steps = calloc(series->count + 1, sizeof(*series->steps));
	series->ports = calloc(ports + 1, sizeof(*series->ports));
	if (!series->steps || !series->ports) {
		series_done(series);
		return err_nomem(err);
	}
	for (size_t i = 0; i < series->count; i++, from_us += step_us) {
		series->steps[i] = empty_step;
		series->steps[i].from_us = from_us;
		series->steps[i].until_us = from_us + step_us;
	}
	return 0;
}

void series_done(struct series *series)
{
	free(series->steps);
	free(series->ports);
	memset(series, 0, sizeof(*series));
}

/* The step of a time; outside of the range (the clock was set back) the nearest one. */
static struct series_step *step_at(struct series *series, int64_t at_us)
{
	int64_t at = (at_us - series->steps[0].from_us - 1) / series->step_us;

	if (at_us <= series->steps[0].from_us)
		at = 0;
	return &series->steps[at < (int64_t)series->count ? (size_t)at : series->count - 1];
}

static void reach_step(struct series *series)
{
	series->step++;
	series->step_window_us = series->at->window_us;
}

int series_begin(struct series *series, int64_t from_us, int64_t to_us, unsigned tags)
{
	struct series_step *steps, *last = series->at;

	if (series->at) {
		series->before_from_us = series->piece.from_us;
		series->before_to_us = series->piece.to_us;
	}
	memset(&series->piece, 0, sizeof(series->piece));
	series->piece.from_us = from_us;
	series->piece.to_us = to_us;
	series->piece.since_us = to_us;
	if (series->step_us) {
		/* A sum belongs to the step of its middle, a sweep to that of its time. */
		series->at = step_at(series, from_us + (to_us - from_us) / 2);
		series->at->tags |= tags;
		if (series->at != last)
			reach_step(series);
		return 0;
	}
	steps = array_grow(series->steps, series->count, &series->capacity, sizeof(*steps));
	if (!steps)
		return ERR_NOMEM;
	series->steps = steps;
	series->at = &steps[series->count++];
	*series->at = empty_step;
	series->at->until_us = to_us;
	series->at->tags = tags;
	reach_step(series);
	return 0;
}

/* A port was read: the window of the step is that of the port that was read for longest. */
static void add_time(struct series *series, struct series_port *port, int64_t elapsed_us)
{
	if (port->step != series->step)
		*port = (struct series_port){ series->step, series->step_window_us };
	port->read_us += elapsed_us;
	if (port->read_us > series->at->window_us)
		series->at->window_us = port->read_us;
}

void series_add(struct series *series, size_t place, const struct metric_port *port, const struct delta *delta,
		int64_t samples)
{
	struct series_step *step = series->at;
	int64_t since_us = series->piece.to_us - delta->elapsed_us;
	struct metric_value value;

	metric_of(&series->metric, port, delta, &value);
	if (value.has_total) {
		step->has_total = true;
		if (__builtin_add_overflow(step->total, value.total, &step->total))
			step->total = UINT64_MAX;
	}
	if (value.has_rate) {
		series->piece.part += value.part;
		series->piece.whole += value.whole;
		series->piece.elapsed_us += (double)delta->elapsed_us;
		series->piece.ports++;
	}
	if (value.has_rate || value.at_least)
		add_time(series, &series->ports[place], delta->elapsed_us);
	if ((value.part > 0 || value.at_least) && since_us < series->piece.since_us)
		series->piece.since_us = since_us;
	if (!value.has_rate && value.at_least && series->metric.kind == METRIC_COUNT)
		series->piece.bound_us = fmax(series->piece.bound_us, (double)delta->elapsed_us);
	series->piece.unknown |= !value.has_rate;
	/* Also without a number: a port of a sum may have counted nothing but be saturated. */
	step->at_least |= value.at_least;
	if (value.has_rate || value.has_total)
		step->samples += samples;
}

/*
 * Start of a step that is a single piece: the start of its piece, or the end of the previous step.
 */
static void date_step(struct series *series, double elapsed_us)
{
	struct series_step *step = series->at;
	int64_t from_us = series->piece.from_us, before_us = series->count > 1 ? step[-1].until_us : from_us;

	if (elapsed_us > 0 && step->until_us - (int64_t)elapsed_us < from_us)
		from_us = step->until_us - (int64_t)elapsed_us;
	if (series->count > 1 && before_us < step->until_us && (from_us < before_us || elapsed_us <= 0))
		from_us = before_us;
	step->from_us = from_us < step->until_us ? from_us : step->until_us - 1;
}

void series_missed(struct series *series, int64_t since_us)
{
	/* Readings are not at the time of their sweep. */
	int64_t after_us = since_us + (series->piece.from_us - series->before_to_us) / 2;

	/* A share is that of the known ports. */
	if (series->metric.kind != METRIC_COUNT || series->ports_most + !since_us < 2 ||
	    after_us >= series->piece.from_us)
		return;
	for (struct series_step *step = series->at; step->until_us > after_us; step--) {
		step->at_least |= step->samples > 0;
		if (step == series->steps)
			break;
	}
}

/* A port that was not read in the piece before is missing in all of them since its delta begins. */
static void missing_before(struct series *series)
{
	int64_t space_us = series->piece.from_us - series->before_to_us;
	struct series_step *at = series->at;

	if (!series->before_to_us || space_us <= 0 ||
	    series->piece.since_us >= series->before_from_us - space_us / 2)
		return;
	/* This piece is complete; its step may have others. */
	if (at > series->steps && (!series->step_us || at->from_us >= series->before_to_us))
		series->at--;
	series_missed(series, series->piece.since_us);
	series->at = at;
}

void series_end(struct series *series)
{
	struct series_step *step = series->at;
	size_t ports = series->piece.ports;
	double elapsed_us = ports ? series->piece.elapsed_us / (double)ports : 0, value;

	if (!series->step_us)
		date_step(series, elapsed_us);
	if (!ports) {
		/* The lower bound of the mean is over this time too, and there is none of the minimum. */
		if (series->piece.bound_us > 0) {
			step->weight_us += series->piece.bound_us;
			step->mean *= 1 - series->piece.bound_us / step->weight_us;
			step->low = 0;
		}
		return;
	}
	value = series->metric.kind == METRIC_COUNT ? series->piece.part :
						      100 * series->piece.part / series->piece.whole;
	step->low = fmin(step->low, value);
	step->high = fmax(step->high, value);
	step->mean = isnan(step->mean) ? 0 : step->mean;
	step->weight_us += elapsed_us;
	step->mean += (value - step->mean) * elapsed_us / step->weight_us;
	step->ports = step->ports && step->ports < ports ? step->ports : ports;
	/* A share is that of the known ports. */
	step->at_least |= series->piece.unknown && series->metric.kind == METRIC_COUNT;
	series->ports_most = ports > series->ports_most ? ports : series->ports_most;
	missing_before(series);
}

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

bool series_is_reset(const struct series *series)
{
	size_t bounds = 0;

	for (size_t i = 0; i < series->count; i++)
		bounds += series->steps[i].at_least;
	return bounds && series_is_unknown(series);
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

int series_plot(const struct series *series, struct plot plot, struct text *ret)
{
	struct plot_point *points = calloc(series->count + 1, sizeof(*points));
	double factor = metric_shown_factor(&series->metric);
	int code;

	if (!points)
		return ERR_NOMEM;
	for (size_t i = 0; i < series->count; i++)
		points[i] = (struct plot_point){ series->steps[i].from_us, series->steps[i].until_us,
						 series->steps[i].mean * factor,
						 series->steps[i].high * factor, series->steps[i].at_least };
	plot.points = points;
	plot.count = series->count;
	plot.label = plot_label;
	plot.label_ctx = &series->metric;
	code = plot_draw(&plot, ret);
	free(points);
	return code;
}
