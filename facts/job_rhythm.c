/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "facts/job_rhythm.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "analysis/rate.h"
#include "base/clock.h"
#include "base/when.h"

/* Changes of a period that are smaller are none, in percent. */
#define SAME_PERCENT 0.5

struct sentence {
	char *chars;
	size_t len;
};

static void add(struct sentence *sentence, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void add(struct sentence *sentence, const char *fmt, ...)
{
	size_t left = JOB_RHYTHM_SIZE - sentence->len;
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(sentence->chars + sentence->len, left, fmt, args);
	va_end(args);
	if (len > 0)
		sentence->len += (size_t)len < left ? (size_t)len : left - 1;
}

/* "4.2 s", "12m30s": three digits below a minute. */
static const char *span_text(double seconds, char ret[WHEN_SIZE])
{
	if (seconds < 59.95) {
		snprintf(ret, WHEN_SIZE, "%.3g s", seconds);
		return ret;
	}
	return when_format_span((int64_t)llround(seconds * 1e6), ret);
}

static void add_share(struct sentence *sentence, const struct job_rhythm *rhythm, const char *of)
{
	if (!isnan(rhythm->wire_percent))
		add(sentence, ", %.0f %% of %s on the wire", rhythm->wire_percent, of);
}

static void add_trend(struct sentence *sentence, const struct job_rhythm *rhythm)
{
	const char *than = rhythm->phase == JOB_PHASE_SLOWER ? "before" : "an hour ago";

	if (isnan(rhythm->trend_percent))
		return;
	if (fabs(rhythm->trend_percent) < SAME_PERCENT)
		add(sentence, ", as %s", than);
	else
		add(sentence, ", %.0f %% %s than %s", fabs(rhythm->trend_percent),
		    rhythm->trend_percent > 0 ? "longer" : "shorter", than);
}

/* How short iterations may be at an interval of 1 s, if that is shorter than the present one. */
static void add_advice(struct sentence *sentence, double shortest_s)
{
	char interval[WHEN_SIZE], shortest[WHEN_SIZE];

	if (isnan(shortest_s)) {
		add(sentence, "not resolvable by these sweeps");
		return;
	}
	add(sentence, "not resolvable at %s: iterations are shorter than %s", span_text(shortest_s / 2, interval),
	    span_text(shortest_s, shortest));
	if (shortest_s > 2)
		add(sentence, "; an interval of 1 s would show those of 2 s and more");
}

/* Where no period is known. */
static void add_slower(struct sentence *sentence, const struct job_rhythm *rhythm)
{
	if (rhythm->phase == JOB_PHASE_SLOWER && !isnan(rhythm->trend_percent))
		add(sentence, ", %.0f %% slower than before", rhythm->trend_percent);
}

static void add_rhythm(struct sentence *sentence, const struct job_rhythm *rhythm)
{
	char chars[WHEN_SIZE];

	switch (rhythm->kind) {
	case RHYTHM_IDLE:
		add(sentence, "sends nothing");
		break;
	case RHYTHM_STEADY:
		add(sentence, "sends all the time");
		if (!isnan(rhythm->bytes_per_s))
			add(sentence, ", %s", rate_format_bits(rhythm->bytes_per_s, chars, sizeof(chars)));
		add_slower(sentence, rhythm);
		break;
	case RHYTHM_PERIODIC:
		add(sentence, "iteration %s", isnan(rhythm->period_s) ? "of an unknown length" :
		    span_text(rhythm->period_s, chars));
		add_share(sentence, rhythm, "it");
		add_trend(sentence, rhythm);
		break;
	case RHYTHM_IRREGULAR:
		add(sentence, "phases without a period");
		add_share(sentence, rhythm, "the time");
		add_slower(sentence, rhythm);
		break;
	case RHYTHM_UNRESOLVABLE:
		add_advice(sentence, rhythm->shortest_s);
		add_slower(sentence, rhythm);
		break;
	default:
		add(sentence, "unknown: too few sweeps yet");
		break;
	}
}

static void put_text(struct job_rhythm *rhythm, int64_t now_us)
{
	struct sentence sentence = { .chars = rhythm->text };
	char when[WHEN_SIZE];

	if (!rhythm->known) {
		add(&sentence, "unknown: nothing is stored of it");
		return;
	}
	if (rhythm->since_us)
		add(&sentence, "%s since %s: ", job_phase_name(rhythm->phase), when_format_local(rhythm->since_us,
												 when));
	if (rhythm->phase == JOB_PHASE_STALLED)
		add(&sentence, "all of its ports are quiet");
	else
		add_rhythm(&sentence, rhythm);
	if (now_us && now_us - rhythm->wall_us > JOB_RHYTHM_RECENT_US)
		add(&sentence, " (%s)", when_format_local(rhythm->wall_us, when));
}

struct job_rhythm job_rhythm_of(const struct job_minute *minute, int64_t now_us)
{
	const struct rhythm *now = &minute->rhythm;
	struct job_rhythm ret = {
		.kind = RHYTHM_UNKNOWN, .phase = JOB_PHASE_LEARNING, .period_s = NAN, .spread_s = NAN,
		.wire_percent = NAN, .trend_percent = NAN, .bytes_per_s = NAN, .shortest_s = NAN,
	};

	if (minute->job) {
		ret = (struct job_rhythm){
			.known = true, .kind = now->kind, .phase = minute->phase, .period_s = now->period_s,
			.spread_s = now->spread_s, .wire_percent = 100 * now->wire_share, .trend_percent = NAN,
			.bytes_per_s = now->bytes_per_s, .shortest_s = now->shortest_s, .since_us = minute->since_us,
			.wall_us = minute->wall_us,
		};
		if (minute->phase == JOB_PHASE_SLOWER)
			ret.trend_percent = 100 * (minute->slower - 1);
		else if (now->kind == RHYTHM_PERIODIC)
			ret.trend_percent = 100 * (now->period_s / minute->before_s - 1);
	}
	put_text(&ret, now_us);
	return ret;
}

const char *job_rhythm_state_text(const struct job_rhythm *rhythm, char *ret)
{
	char span[WHEN_SIZE];

	switch (rhythm->kind) {
	case RHYTHM_PERIODIC:
		snprintf(ret, JOB_RHYTHM_SIZE, "%s", isnan(rhythm->period_s) ? "-" : span_text(rhythm->period_s, span));
		break;
	case RHYTHM_UNRESOLVABLE:
		if (isnan(rhythm->shortest_s))
			snprintf(ret, JOB_RHYTHM_SIZE, "?");
		else
			snprintf(ret, JOB_RHYTHM_SIZE, "< %s", span_text(rhythm->shortest_s, span));
		break;
	case RHYTHM_UNKNOWN:
		snprintf(ret, JOB_RHYTHM_SIZE, "-");
		break;
	default:
		snprintf(ret, JOB_RHYTHM_SIZE, "%s", rhythm_kind_name(rhythm->kind));
		break;
	}
	return ret;
}

/* --- columns --- */

static const struct job_rhythm *row_of(const void *row)
{
	return row;
}

static void fill_period(struct result *result, size_t at, const void *row)
{
	const struct job_rhythm *rhythm = row_of(row);
	char text[JOB_RHYTHM_SIZE];

	result_real(result, at, rhythm->period_s);
	result_show(result, at, job_rhythm_state_text(rhythm, text), isnan(rhythm->period_s) ? STYLE_DIM : STYLE_PLAIN);
}

static double number_period(const void *row)
{
	return row_of(row)->period_s;
}

static void fill_kind(struct result *result, size_t at, const void *row)
{
	result_text(result, at, row_of(row)->known ? rhythm_kind_name(row_of(row)->kind) : NULL);
}

/* Tables have what is unusual. */
static void fill_phase(struct result *result, size_t at, const void *row)
{
	enum job_phase phase = row_of(row)->phase;
	bool unusual = phase == JOB_PHASE_STALLED || phase == JOB_PHASE_SLOWER;

	result_text(result, at, row_of(row)->known ? job_phase_name(phase) : NULL);
	result_show(result, at, unusual ? job_phase_name(phase) : "", phase == JOB_PHASE_STALLED ? STYLE_CRITICAL :
		    phase == JOB_PHASE_SLOWER ? STYLE_WARNING : STYLE_PLAIN);
}

#define RHYTHM(member) .row = JOB_RHYTHM_ROW, COLUMN_MEMBER(struct job_rhythm, member)

const struct column job_rhythm_columns[] = {
	{ .key = "period_s", .title = "ITERATION", .kind = COLUMN_SPAN_S, .priority = 1, .row = JOB_RHYTHM_ROW,
	  .fill = fill_period, .number = number_period,
	  .help = "length of an iteration by its traffic, or why there is none: < 20 s: too short for the sweeps" },
	{ .key = "wire_percent", .title = "WIRE%", .kind = COLUMN_PERCENT, .priority = 2, RHYTHM(wire_percent),
	  .help = "share of the time in which it communicates" },
	{ .key = "trend_percent", .title = "LONGER%", .kind = COLUMN_PERCENT, .priority = 2, RHYTHM(trend_percent),
	  .help = "how much longer an iteration is than an hour ago, or than before a slowdown" },
	{ .key = "phase", .title = "PHASE", .kind = COLUMN_TEXT, .priority = 1, .row = JOB_RHYTHM_ROW,
	  .fill = fill_phase,
	  .help = "learning, runs, stalled (all of its ports are quiet), or slower; tables have the last two" },
	{ .key = "phase_since", .title = "PHASE SINCE", .kind = COLUMN_TIME, .flags = COLUMN_NO_TABLE | COLUMN_NONZERO,
	  RHYTHM(since_us), .help = "when it stalled or became slower" },
	{ .key = "rhythm", .title = "RHYTHM", .kind = COLUMN_TEXT, .flags = COLUMN_NO_TABLE, .row = JOB_RHYTHM_ROW,
	  .fill = fill_kind,
	  .help = "unknown, idle, steady, periodic, irregular, or unresolvable by the interval of sweeps" },
	{ .key = "spread_s", .title = "SPREAD", .kind = COLUMN_REAL, .flags = COLUMN_NO_TABLE, RHYTHM(spread_s),
	  .help = "standard deviation of single iterations, in seconds" },
	{ .key = "rhythm_bytes_per_s", .title = "SENDS", .kind = COLUMN_RATE, .flags = COLUMN_NO_TABLE,
	  RHYTHM(bytes_per_s), .help = "what all of its ports sent in the last minutes" },
	{ .key = "shortest_period_s", .title = "SHORTEST", .kind = COLUMN_REAL, .flags = COLUMN_NO_TABLE,
	  RHYTHM(shortest_s), .help = "shortest period that the sweeps resolve, in seconds" },
	{ .key = "rhythm_time", .title = "RHYTHM OF", .kind = COLUMN_TIME, .flags = COLUMN_NO_TABLE | COLUMN_NONZERO,
	  RHYTHM(wall_us), .help = "time of the sweep that these numbers are of" },
	{ .key = "rhythm_text", .title = "RHYTHM IN WORDS", .kind = COLUMN_TEXT, .flags = COLUMN_NO_TABLE |
	  COLUMN_FLEXIBLE, RHYTHM(text), .help = "the same as a sentence" },
	{ 0 },
};
