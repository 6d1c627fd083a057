/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* job_rhythm.c - the rhythm of a job over its life, and when it stalled or was slower */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/metric.h"
#include "base/array.h"
#include "base/err.h"
#include "base/when.h"
#include "facts/job_rhythm.h"
#include "facts/saved_columns.h"
#include "pages/job/job_page.h"
#include "pages/job/job_work.h"

/* Steps of tables in text and HTML, and of data and plots. */
enum { STEPS_FEW = 4, STEPS_MANY = 120 };

/* Periods that differ by a larger share have changed. */
#define CHANGED 0.05

/* A stall or slowdown that begins again within this time is the same. */
#define SAME_US (60 * US_PER_S)

struct minutes {
	struct job_minute *list;
	size_t count, capacity;
	bool failed;
};

static bool add_minute(void *ctx, const struct job_minute *minute)
{
	struct minutes *minutes = ctx;
	struct job_minute *added = array_add(&minutes->list, &minutes->count, &minutes->capacity, sizeof(*added));

	if (added)
		*added = *minute;
	minutes->failed = !added;
	return added;
}

/* --- steps --- */

static int compare(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

/* The median of what @which has of minutes; NAN: it is known of none. @space: for @count numbers */
static double median(const struct job_minute *minutes, size_t count, double (*which)(const struct job_minute *),
		     double *space)
{
	size_t known = 0;

	for (size_t i = 0; i < count; i++)
		if (!isnan(which(&minutes[i])))
			space[known++] = which(&minutes[i]);
	qsort(space, known, sizeof(*space), compare);
	return known ? (space[(known - 1) / 2] + space[known / 2]) / 2 : NAN;
}

static double period_of(const struct job_minute *minute) { return minute->rhythm.period_s; }
static double spread_of(const struct job_minute *minute) { return minute->rhythm.spread_s; }
static double share_of(const struct job_minute *minute) { return minute->rhythm.wire_share; }
static double rate_of(const struct job_minute *minute) { return minute->rhythm.bytes_per_s; }
static double shortest_of(const struct job_minute *minute) { return minute->rhythm.shortest_s; }
static double before_of(const struct job_minute *minute) { return minute->before_s; }
static double slower_of(const struct job_minute *minute) { return minute->slower; }

/* The worst of two phases. */
static enum job_phase worse(enum job_phase a, enum job_phase b)
{
	static const unsigned char order[JOB_PHASES] = { [JOB_PHASE_RUNS] = 1, [JOB_PHASE_SLOWER] = 2,
							 [JOB_PHASE_STALLED] = 3 };

	return order[a] > order[b] ? a : b;
}

/* Several minutes as one: medians, the most frequent kind, the worst phase. */
static struct job_minute combine(const struct job_minute *minutes, size_t count, double *space)
{
	struct job_minute ret = { .job = minutes->job, .wall_us = minutes[count - 1].wall_us };
	size_t kinds[RHYTHM_KINDS] = { 0 };

	for (size_t i = 0; i < count; i++) {
		kinds[minutes[i].rhythm.kind]++;
		ret.phase = worse(ret.phase, minutes[i].phase);
	}
	/* What is known of some minutes is more than what is not of others. */
	for (int i = RHYTHM_IDLE; i < RHYTHM_KINDS; i++)
		if (kinds[i] && (!ret.rhythm.kind || kinds[i] > kinds[ret.rhythm.kind]))
			ret.rhythm.kind = (enum rhythm_kind)i;
	ret.rhythm.period_s = median(minutes, count, period_of, space);
	ret.rhythm.spread_s = median(minutes, count, spread_of, space);
	ret.rhythm.wire_share = median(minutes, count, share_of, space);
	ret.rhythm.bytes_per_s = median(minutes, count, rate_of, space);
	ret.rhythm.shortest_s = median(minutes, count, shortest_of, space);
	ret.before_s = median(minutes, count, before_of, space);
	ret.slower = median(minutes, count, slower_of, space);
	return ret;
}

/* The rhythms of the parts of equal length into which the time of the job is divided. */
static int make_steps(struct job_report *report, const struct minutes *minutes, size_t most, double *space,
		      struct job_rhythm_step **ret, size_t *ret_count, struct error *err)
{
	int64_t from_us = minutes->list[0].wall_us, span_us = minutes->list[minutes->count - 1].wall_us - from_us + 1;
	int64_t step_us = (span_us + (int64_t)most - 1) / (int64_t)most;

	if (step_us < 60 * US_PER_S)
		step_us = 60 * US_PER_S;
	for (size_t i = 0, end; i < minutes->count; i = end) {
		int64_t number = (minutes->list[i].wall_us - from_us) / step_us;
		struct job_rhythm_step *step = job_grow(report, ret, ret_count, sizeof(*step));
		struct job_minute all;

		for (end = i + 1; end < minutes->count; end++)
			if ((minutes->list[end].wall_us - from_us) / step_us != number)
				break;
		if (!step)
			return err_nomem(err);
		all = combine(minutes->list + i, end - i, space);
		*step = (struct job_rhythm_step){ .from_us = minutes->list[i].wall_us, .minutes = end - i,
						  .until_us = from_us + (number + 1) * step_us,
						  .rhythm = job_rhythm_of(&all, 0) };
		if (step->until_us > report->end_us && report->end_us > step->from_us)
			step->until_us = report->end_us;
	}
	return 0;
}

static int find_episodes(struct job_report *report, const struct minutes *minutes, struct error *err)
{
	struct job_episode *last = NULL;

	for (size_t i = 0; i < minutes->count; i++) {
		const struct job_minute *minute = &minutes->list[i];
		bool goes_on = last && !last->until_us && last->phase == minute->phase &&
			       llabs(last->since_us - minute->since_us) < SAME_US;

		if (last && !last->until_us && !goes_on)
			last->until_us = minute->wall_us;
		if (!minute->since_us)
			continue;
		if (!goes_on) {
			last = job_grow(report, &report->episodes, &report->episode_count, sizeof(*last));
			if (!last)
				return err_nomem(err);
			*last = (struct job_episode){ .phase = minute->phase, .since_us = minute->since_us };
		}
		last->slower_percent = 100 * (minute->slower - 1);
	}
	/* Of a job that has ended, until its end: at least until the newest row. */
	if (last && !last->until_us && !report->running)
		last->until_us = minutes->list[minutes->count - 1].wall_us < report->end_us ? report->end_us :
				 minutes->list[minutes->count - 1].wall_us;
	return 0;
}

int job_read_rhythm(struct job_work *work, struct error *err)
{
	struct job_report *report = work->report;
	struct minutes minutes = { 0 };
	struct job_minute all = { 0 };
	double *space = NULL;
	int code = jobs_minutes(work->reader, report->job.number, 0, INT64_MAX, add_minute, &minutes, err);

	if (code == 0 && minutes.failed)
		code = err_nomem(err);
	if (code == 0 && minutes.count) {
		space = calloc(minutes.count, sizeof(*space));
		code = space ? 0 : err_nomem(err);
	}
	if (space) {
		all = combine(minutes.list, minutes.count, space);
		/* Not the rate and the trend at one moment. */
		all.phase = JOB_PHASE_RUNS;
		code = make_steps(report, &minutes, STEPS_FEW, space, &report->rhythm_few, &report->rhythm_few_count,
				  err);
	}
	if (space && code == 0)
		code = make_steps(report, &minutes, STEPS_MANY, space, &report->rhythm_steps,
				  &report->rhythm_step_count, err);
	if (space && code == 0)
		code = find_episodes(report, &minutes, err);
	report->rhythm_median = job_rhythm_of(&all, 0);
	report->rhythm = job_rhythm_of(&report->job.minute, job_rhythm_time(&report->job, work->settings->now_us));
	free(space);
	free(minutes.list);
	return code;
}

/* --- tables and plot --- */

#define STEP(member) COLUMN_MEMBER(struct job_rhythm_step, member)

static const struct column step_columns[] = {
	{ .key = "from", .title = "FROM", .kind = COLUMN_TIME, STEP(from_us) },
	{ .key = "until", .title = "UNTIL", .kind = COLUMN_TIME, .flags = COLUMN_NO_TABLE, STEP(until_us) },
};

/* The columns of a step, and those of its rhythm. */
static const struct column *make_columns(struct page *page, size_t *ret_count)
{
	enum { OWN = sizeof(step_columns) / sizeof(*step_columns) };
	struct column *columns;
	size_t count = OWN;

	for (size_t i = 0; job_rhythm_columns[i].key; i++)
		count++;
	columns = page_alloc(page, count, sizeof(*columns));
	for (size_t i = 0; columns && i < count; i++)
		columns[i] = i < OWN ? step_columns[i] : job_rhythm_columns[i - OWN];
	*ret_count = count;
	return columns;
}

static void put_steps(struct result *result, const struct job_rhythm_step *steps, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const void *const rows[] = { &steps[i], NULL, [JOB_RHYTHM_ROW] = &steps[i].rhythm };

		result_fill_rows(result, rows);
		result_end_row(result);
	}
}

static void put_few(struct result *result, const void *ctx)
{
	const struct job_report *report = ctx;

	put_steps(result, report->rhythm_few, report->rhythm_few_count);
}

static void put_many(struct result *result, const void *ctx)
{
	const struct job_report *report = ctx;

	put_steps(result, report->rhythm_steps, report->rhythm_step_count);
}

static void fill_phase(struct result *result, size_t at, const void *row)
{
	result_text(result, at, job_phase_name(((const struct job_episode *)row)->phase));
}

static void fill_duration(struct result *result, size_t at, const void *row)
{
	const struct job_episode *episode = row;

	if (episode->until_us)
		result_integer(result, at, episode->until_us - episode->since_us);
	else
		result_show(result, at, "lasts", STYLE_WARNING);
}

#define EPISODE(member) COLUMN_MEMBER(struct job_episode, member)

static const struct column episode_columns[] = {
	{ .key = "phase", .title = "PHASE", .kind = COLUMN_TEXT, .fill = fill_phase },
	{ .key = "since", .title = "SINCE", .kind = COLUMN_TIME, EPISODE(since_us) },
	{ .key = "until", .title = "UNTIL", .kind = COLUMN_TIME, .flags = COLUMN_NONZERO, EPISODE(until_us) },
	{ .key = "duration_us", .title = "DURATION", .kind = COLUMN_SPAN_US, .fill = fill_duration },
	{ .key = "slower_percent", .title = "SLOWER%", .kind = COLUMN_PERCENT, EPISODE(slower_percent) },
};

static void put_episodes(struct result *result, const void *ctx)
{
	const struct job_report *report = ctx;

	for (size_t i = 0; i < report->episode_count; i++) {
		result_fill(result, &report->episodes[i]);
		result_end_row(result);
	}
}

/* The length of an iteration over the time of the job. */
static void add_plot(const struct job_report *report, unsigned in, struct page *page)
{
	static const struct metric period = { .key = "period_s", .unit = "seconds", .kind = METRIC_UTILIZATION };
	size_t count = report->rhythm_step_count, known = 0;
	struct series_step *steps = page_alloc(page, count, sizeof(*steps));
	struct page_series *series = page_alloc(page, 1, sizeof(*series));

	for (size_t i = 0; steps && i < count; i++) {
		const struct job_rhythm_step *step = &report->rhythm_steps[i];
		double period_s = step->rhythm.period_s;

		known += !isnan(period_s);
		steps[i] = (struct series_step){ .from_us = step->from_us, .until_us = step->until_us,
						 .low = period_s, .mean = period_s, .high = period_s,
						 .samples = !isnan(period_s), .ports = !isnan(period_s) };
	}
	if (!steps || !series || known < 2)
		return;
	*series = (struct page_series){ "iteration", steps, count };
	page_add(page, &(struct page_section){ .kind = PAGE_LINES, .in = in, .lines = {
		.title = "Length of an iteration", .series = series, .series_count = 1, .from_us = steps[0].from_us,
		.until_us = steps[count - 1].until_us, .metric = &period } });
}

/* Does the table have more than the line with the newest rhythm? */
static bool has_changed(const struct job_report *report)
{
	double least = INFINITY, most = 0;

	for (size_t i = 0; i < report->rhythm_few_count; i++) {
		least = fmin(least, report->rhythm_few[i].rhythm.period_s);
		most = fmax(most, report->rhythm_few[i].rhythm.period_s);
	}
	return report->episode_count || most > least * (1 + CHANGED);
}

void job_add_rhythm(const struct job_report *report, bool all, unsigned in, struct page *page)
{
	unsigned data = in & PAGE_JSON;
	unsigned shown = in & (all || has_changed(report) ? PAGE_TEXT | PAGE_HTML : PAGE_HTML);
	size_t count;
	const struct column *columns = make_columns(page, &count);

	if (!columns)
		return;
	if (shown && report->rhythm_few_count)
		page_add(page, &(struct page_section){
			.kind = PAGE_TABLE, .in = shown, .title = "Rhythm",
			.about = "medians over the time of the job", .table = { columns, count, put_few, report } });
	if (shown & PAGE_HTML)
		add_plot(report, PAGE_HTML, page);
	if (data)
		page_add(page, &(struct page_section){ .kind = PAGE_TABLE, .in = data, .key = "rhythm",
						       .table = { columns, count, put_many, report } });
	if (data || report->episode_count)
		page_add(page, &(struct page_section){
			.kind = PAGE_TABLE, .in = report->episode_count ? in : data, .key = "phases",
			.title = "Stalls and slowdowns",
			.table = { episode_columns, sizeof(episode_columns) / sizeof(*episode_columns), put_episodes,
				   report } });
}
