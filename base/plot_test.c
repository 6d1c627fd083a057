/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/map.h"
#include "base/text.h"
#include "base/plot.h"
#include "base/unit_test.h"

enum { MOST_LINES = 64, MOST_POINTS = 300 };

static const char *plain(const void *ctx, double value, char *ret, size_t size)
{
	(void)ctx;
	snprintf(ret, size, "%g", value);
	return ret;
}

/* A plot split into lines. */
struct drawn {
	struct text text;
	const char *lines[MOST_LINES];
	size_t count;
};

static void draw(const struct plot *plot, struct drawn *ret)
{
	char *line;

	memset(ret, 0, sizeof(*ret));
	assert_int_equal(plot_draw(plot, &ret->text), 0);
	for (line = ret->text.chars; line && *line; ret->count++) {
		assert_true(ret->count < MOST_LINES);
		ret->lines[ret->count] = line;
		line = strchr(line, '\n');
		assert_non_null(line);
		*line++ = '\0';
	}
}

static const int64_t hour_us = 3600000000, noon_us = 1795176000000000; /* 2026-11-20T12:00:00Z */

TEST(plot_matches_expected_text)
{
	static const double means[20] = {
		0, 66, 132, 198, 264, 275, 340, 430, 495, 620, 1000, NAN, NAN, NAN, NAN, NAN, 0, 1, 0, 0,
	};
	static const char *const unicode[] = {
		"1000 \u2524         \u00b7\u2588", " 750 \u2524         \u2584\u2588",
	};
	static const char *const ascii[] = {
		"1000 +         '#", " 750 +         .#", " 500 +     _.:###", " 250 +__.:#######     ____",
		"   0 ++---------+---------", "    12:00     13:00",
	};
	struct plot_point points[20];
	struct plot plot = {
		.points = points, .count = 20, .from_us = noon_us, .until_us = noon_us + 2 * hour_us,
		.width = 4 + 2 + 20, .height = 6, .label = plain,
	};
	struct drawn drawn;

	setenv("TZ", "UTC0", 1);
	tzset();
	for (int i = 0; i < 20; i++)
		points[i] = (struct plot_point){ noon_us + i * hour_us / 10, noon_us + (i + 1) * hour_us / 10,
						 means[i], i == 9 ? 900 : NAN, false };
	draw(&plot, &drawn);
	for (size_t i = 0; i < 2; i++)
		assert_string_equal(drawn.lines[i], unicode[i]);
	assert_int_equal(drawn.count, 6);
	text_done(&drawn.text);
	plot.ascii = true;
	draw(&plot, &drawn);
	for (size_t i = 0; i < 6; i++)
		assert_string_equal(drawn.lines[i], ascii[i]);
	text_done(&drawn.text);
}

struct random_plot {
	struct plot_point points[MOST_POINTS];
	struct plot plot;
	uint64_t random;
};

static uint64_t draw_random(struct random_plot *random, uint64_t below)
{
	random->random = map_mix(random->random + 1);
	return random->random % below;
}

/* Random points in order, with gaps, extreme values and other windows. */
static void make_plot(struct random_plot *ret, uint64_t seed)
{
	int64_t at_us = noon_us + (int64_t)(seed % 1000) * 977000000, step_us;
	double scale;

	ret->random = seed;
	step_us = (int64_t)(1 + draw_random(ret, 1 + draw_random(ret, 3600000000)));
	scale = pow(10, (double)draw_random(ret, 25) - 5);
	ret->plot = (struct plot){
		.points = ret->points, .count = draw_random(ret, MOST_POINTS), .from_us = at_us,
		.width = (unsigned)draw_random(ret, 150), .height = (unsigned)draw_random(ret, 20),
		.ascii = draw_random(ret, 2), .label = plain,
	};
	for (size_t i = 0; i < ret->plot.count; i++) {
		struct plot_point *point = &ret->points[i];

		point->from_us = at_us;
		at_us += 1 + (int64_t)draw_random(ret, (uint64_t)step_us);
		point->until_us = at_us;
		point->mean = draw_random(ret, 4) ? (double)draw_random(ret, 1000) * scale / 1000 : NAN;
		point->high = draw_random(ret, 2) ? point->mean * 1.5 : NAN;
		if (draw_random(ret, 8) == 0)
			at_us += (int64_t)draw_random(ret, (uint64_t)step_us * 20);
	}
	ret->plot.until_us = at_us + (int64_t)draw_random(ret, (uint64_t)step_us * 3) + 1;
	if (draw_random(ret, 5) == 0)
		ret->plot.from_us += (ret->plot.until_us - ret->plot.from_us) / 2;
}

TEST(plot_fits_its_size)
{
	static struct random_plot random;
	size_t drawn_plots = 0;

	for (uint64_t seed = 0; seed < 20000; seed++) {
		struct drawn drawn;

		make_plot(&random, seed);
		draw(&random.plot, &drawn);
		assert_int_equal(drawn.count, random.plot.width < 2 || random.plot.height < 3 ? 0 : random.plot.height);
		drawn_plots += drawn.count > 0;
		for (size_t i = 0; i < drawn.count; i++) {
			size_t len = strlen(drawn.lines[i]);

			assert_true(text_columns(drawn.lines[i]) <= random.plot.width);
			assert_true(!len || drawn.lines[i][len - 1] != ' ');
			for (size_t at = 0; random.plot.ascii && at < len; at++)
				assert_in_range(drawn.lines[i][at], ' ', '~');
		}
		text_done(&drawn.text);
	}
	assert_true(drawn_plots > 10000);
}

TEST(axis_covers_all_values)
{
	static struct random_plot random;
	size_t seen = 0;

	for (uint64_t seed = 0; seed < 5000; seed++) {
		double above = INFINITY, highest = 0, top = NAN;
		struct drawn drawn;

		make_plot(&random, seed);
		random.plot.width = 80;
		draw(&random.plot, &drawn);
		for (size_t i = 0; i + 1 < drawn.count; i++) {
			char *end;
			double label = strtod(drawn.lines[i], &end);

			if (end == drawn.lines[i])
				continue;
			assert_true(label < above);
			above = label;
			top = isnan(top) ? label : top;
			seen++;
		}
		for (size_t i = 0; i < random.plot.count; i++)
			if (random.points[i].until_us > random.plot.from_us && !isnan(random.points[i].mean))
				highest = fmax(highest, fmax(random.points[i].mean, random.points[i].high));
		/* %g rounds to six digits. */
		assert_true(isnan(top) || highest <= top * 1.00001);
		assert_true(drawn.count < 3 || above == 0);
		text_done(&drawn.text);
	}
	assert_true(seen > 10000);
}

/* One point per column: unknown is blank, known has a mark, and a larger mean is never a lower bar. */
TEST(gaps_are_blank_and_bars_are_monotonic)
{
	enum { COLUMNS = 60, ROWS = 8 };
	struct plot_point points[COLUMNS];

	for (uint64_t seed = 0; seed < 2000; seed++) {
		struct plot plot = {
			.points = points, .count = COLUMNS, .from_us = noon_us,
			.until_us = noon_us + COLUMNS * hour_us, .width = COLUMNS + 1 + 1 + 3, .height = ROWS + 2,
			.ascii = true, .label = plain, .top = 100,
		};
		unsigned heights[COLUMNS] = { 0 };
		struct drawn drawn;

		for (uint64_t i = 0; i < COLUMNS; i++)
			points[i] = (struct plot_point){
				noon_us + (int64_t)i * hour_us, noon_us + (int64_t)(i + 1) * hour_us,
				map_mix(seed * 100 + i) % 3 ? (double)(map_mix(seed + i) % 101) : NAN, NAN, false,
			};
		draw(&plot, &drawn);
		for (size_t row = 0; row < ROWS; row++)
			for (size_t i = 0; i < COLUMNS && strlen(drawn.lines[row]) > i + 5; i++)
				heights[i] += drawn.lines[row][i + 5] != ' ';
		for (size_t i = 0; i < COLUMNS; i++) {
			assert_int_equal(heights[i] > 0, !isnan(points[i].mean));
			for (size_t j = 0; j < i; j++)
				assert_false(points[i].mean > points[j].mean && heights[i] < heights[j]);
		}
		text_done(&drawn.text);
	}
}

/* On the day summer time ends; midnight is labelled with the date. */
TEST(tick_labels_are_local_times_in_order)
{
	struct plot_point point = { .mean = NAN };
	struct plot plot = { .points = &point, .count = 1, .width = 120, .height = 5, .label = plain };
	struct drawn drawn;
	const char *line;

	setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
	tzset();
	plot.from_us = 1792879200000000; /* 2026-10-24T22:00:00Z: midnight */
	plot.until_us = plot.from_us + 25 * hour_us;
	point.from_us = plot.from_us;
	point.until_us = plot.until_us;
	draw(&plot, &drawn);
	line = drawn.lines[4];
	assert_memory_equal(line + strspn(line, " "), "10-25", 5);
	assert_non_null(strstr(line, "06:00"));
	assert_true(strstr(line, "12:00") < strstr(line, "18:00"));
	assert_true(strstr(line, "06:00") < strstr(line, "12:00"));
	text_done(&drawn.text);
	plot.until_us = plot.from_us + 20000000;
	draw(&plot, &drawn);
	assert_non_null(strstr(drawn.lines[4], "00:00:10"));
	text_done(&drawn.text);
}

TEST(plots_with_equal_reach_share_their_axis)
{
	struct plot_point low = { noon_us, noon_us + hour_us, 130, NAN, false },
			  high = { noon_us, noon_us + hour_us, 870, 930, false };
	struct plot plot = {
		.points = &high, .count = 1, .from_us = noon_us, .until_us = noon_us + hour_us,
		.width = 40, .height = 10, .label = plain, .ascii = true,
	};
	struct drawn of_high, of_low;

	draw(&plot, &of_high);
	plot.points = &low;
	plot.reach = 930;
	draw(&plot, &of_low);
	assert_int_equal(of_low.count, of_high.count);
	for (size_t i = 0; i < of_low.count; i++)
		assert_memory_equal(of_low.lines[i], of_high.lines[i], 6);
	/* Larger values extend the axis. */
	plot.points = &high;
	plot.reach = 10;
	text_done(&of_low.text);
	draw(&plot, &of_low);
	for (size_t i = 0; i < of_low.count; i++)
		assert_string_equal(of_low.lines[i], of_high.lines[i]);
	text_done(&of_low.text);
	text_done(&of_high.text);
}
