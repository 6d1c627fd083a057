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
#include <stdbool.h>
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
	const char *path;
};

static int parse(int argc, char **argv, struct options *options)
{
	enum { PORTS, INTERVAL, HOURS, SEED, BEGIN, LIVE, COUNT };
	struct {
		const char *name;
		double low, high, value;
	} numbers[] = {
		[PORTS] = { "--ports", 64, 65536, 4096 }, [INTERVAL] = { "--interval", 0.1, 3600, 1 },
		[HOURS] = { "--hours", 0.001, 24 * 366, 1 }, [SEED] = { "--seed", 0, 1e15, 1 },
		[BEGIN] = { "--begin", 0, 1e11, 1795046400 }, [LIVE] = { "--live", 0, 1e6, 0 },
	};
	bool until_now = false;
	int i, at;
	char *end;

	for (at = 1; at + 1 < argc; at += 2) {
		for (i = 0; i < COUNT && strcmp(argv[at], numbers[i].name); i++)
			;
		if (i == COUNT)
			break;
		if (i == BEGIN && !strcmp(argv[at + 1], "now")) {
			until_now = true;
			continue;
		}
		numbers[i].value = strtod(argv[at + 1], &end);
		if (end == argv[at + 1] || *end || !(numbers[i].value >= numbers[i].low &&
						     numbers[i].value <= numbers[i].high)) {
			fprintf(stderr, "makedb: %s must be a number from %g to %g, not \"%s\"\n", argv[at],
				numbers[i].low, numbers[i].high, argv[at + 1]);
			return ERR_USAGE;
		}
	}
	if (at != argc - 1 || argv[at][0] == '-') {
		fputs(USAGE, stderr);
		return ERR_USAGE;
	}
	if (until_now)
		numbers[BEGIN].value = (double)time(NULL) - numbers[HOURS].value * 3600;
	*options = (struct options){
		.day = { .ports = (size_t)numbers[PORTS].value, .seed = (uint64_t)numbers[SEED].value,
			 .interval_us = (int64_t)(numbers[INTERVAL].value * (double)SECOND_US),
			 .begin_us = (int64_t)numbers[BEGIN].value * SECOND_US },
		.hours = numbers[HOURS].value, .live_s = numbers[LIVE].value, .path = argv[at],
	};
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
