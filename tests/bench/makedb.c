/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * makedb.c - write a database with a synthetic history (fabric_day.h), as a collector does
 *
 *   makedb [--ports N] [--interval SECONDS] [--hours H] [--seed N] [--begin UNIXTIME|now] [--live SECONDS] PATH
 *
 * Port ends, 64 to 65,536 (4096); time between sweeps (1); duration (1); seed (1); wall clock of the first
 * sweep (2026-11-19 00:00 UTC; now: the last sweep ends about now). With --live it then stores sweeps in
 * real time.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/stop.h"
#include "collector/sink.h"
#include "storage/writer.h"
#include "tests/bench/fabric_day.h"
#include "tests/bench/measure.h"

#define SECOND_US INT64_C(1000000)
#define USAGE "usage: makedb [--ports N] [--interval SECONDS] [--hours H] [--seed N] [--begin UNIXTIME|now]" \
	" [--live SECONDS] PATH\n"

struct options {
	struct fabric_day_settings day;
	double hours, live_s;
	bool until_now;
	const char *path;
};

/* A number in [low, high], else an error. */
static int parse_number(const char *name, const char *text, double low, double high, double *ret)
{
	char *end;

	*ret = strtod(text, &end);
	if (!*text || *end || !(*ret >= low && *ret <= high)) {
		fprintf(stderr, "makedb: --%s must be a number from %g to %g, not \"%s\"\n", name, low, high, text);
		return ERR_USAGE;
	}
	return 0;
}

static int parse(int argc, char **argv, struct options *options)
{
	static const struct option longs[] = {
		{ "ports", required_argument, NULL, 'p' }, { "interval", required_argument, NULL, 'i' },
		{ "hours", required_argument, NULL, 'h' }, { "seed", required_argument, NULL, 's' },
		{ "begin", required_argument, NULL, 'b' }, { "live", required_argument, NULL, 'l' }, { 0 },
	};
	double ports = 4096, interval_s = 1, seed = 1, begin_s = 1795046400;
	int option, result = 0;

	options->hours = 1;
	while (!result && (option = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (option == 'p')
			result = parse_number("ports", optarg, 64, 65536, &ports);
		else if (option == 'i')
			result = parse_number("interval", optarg, 0.1, 3600, &interval_s);
		else if (option == 'h')
			result = parse_number("hours", optarg, 0.001, 24 * 366, &options->hours);
		else if (option == 's')
			result = parse_number("seed", optarg, 0, 1e15, &seed);
		else if (option == 'b' && !strcmp(optarg, "now"))
			options->until_now = true;
		else if (option == 'b')
			result = parse_number("begin", optarg, 0, 1e11, &begin_s);
		else if (option == 'l')
			result = parse_number("live", optarg, 0, 1e6, &options->live_s);
		else
			result = ERR_USAGE;
	}
	if (result || optind != argc - 1) {
		fputs(USAGE, stderr);
		return ERR_USAGE;
	}
	options->path = argv[optind];
	if (options->until_now)
		begin_s = (double)time(NULL) - options->hours * 3600;
	options->day.ports = (size_t)ports;
	options->day.interval_us = (int64_t)(interval_s * (double)SECOND_US);
	options->day.seed = (uint64_t)seed;
	options->day.begin_us = (int64_t)begin_s * SECOND_US;
	return 0;
}

static int fill(struct writer *writer, struct fabric_day *day, const struct options *options, struct error *err)
{
	const struct sink *sink = writer_sink(writer);
	size_t sweeps = (size_t)(options->hours * 3600 * (double)SECOND_US / (double)options->day.interval_us);
	int64_t began_us = clock_boottime_us(clock_system());
	size_t samples = 0, i;
	int result = 0;

	for (i = 0; i < sweeps && !result && !stop_requested(); i++) {
		const struct sweep *sweep;

		sweep = fabric_day_step(day);
		result = sink->store(sink->ctx, sweep, err);
		if (i % SETTLE_SWEEPS(options->day.interval_us) == 0)
			settle(NULL);
		samples += sweep->ports_answered;
	}
	if (!result)
		printf("%zu sweeps, %zu port-samples in %.1f s: %s\n", i, samples,
		       (double)(clock_boottime_us(clock_system()) - began_us) / 1e6, options->path);
	return result;
}

/* The history may end before the current time: the missing sweeps are stored first. */
static int store_live(struct writer *writer, struct fabric_day *day, const struct options *options, struct error *err)
{
	const struct sink *sink = writer_sink(writer);
	const struct clock *clock = clock_system();
	int64_t end_us = clock_boottime_us(clock) + (int64_t)(options->live_s * (double)SECOND_US);
	int result = 0;

	if (options->live_s > 0)
		puts("live");
	fflush(stdout);
	while (!result && !stop_requested() && clock_boottime_us(clock) < end_us) {
		const struct sweep *sweep;
		int64_t early_us;

		sweep = fabric_day_step(day);
		early_us = sweep->wall_us - clock_wall_us(clock);
		if (early_us > 0)
			clock->sleep_until(clock->ctx, clock_boottime_us(clock) + early_us);
		result = sink->store(sink->ctx, sweep, err);
	}
	return result;
}

int main(int argc, char **argv)
{
	struct options options = { 0 };
	struct fabric_day *day = NULL;
	struct writer *writer = NULL;
	struct error err = { 0 };
	int result = parse(argc, argv, &options);

	if (result)
		return -result;
	stop_install();
	result = fabric_day_create(&options.day, &day, &err);
	if (!result)
		result = writer_open(options.path, &writer, &err);
	if (!result)
		result = fill(writer, day, &options, &err);
	if (!result)
		result = store_live(writer, day, &options, &err);
	writer_close(writer);
	fabric_day_destroy(day);
	if (result)
		fprintf(stderr, "makedb: %s\n", err.text);
	return -result;
}
