/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * sample_db.c - write sweeps of the sample fabric to a database, for tests of the screen
 *
 * sample_db PATH LEAVES SWEEPS INTERVAL_S [hold|gap]
 *
 * The last sweep is of now. With "hold" it continues like a collector until it is
 * stopped: it holds the lock and stores a sweep every INTERVAL_S. With "gap" the middle
 * third of the sweeps is not stored, and no delta covers it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/stop.h"
#include "storage/writer.h"
#include "tui/model/test_sample.h"

static int store(struct writer *writer, struct sample *before, struct sample *after, unsigned number, int64_t wall_us,
		 int64_t interval_us, struct error *err)
{
	const struct sink *sink = writer_sink(writer);
	struct sweep sweep;

	sample_sweep(number ? after : before, number, wall_us, interval_us, &sweep);
	sweep.generation = number ? 2 : 1;
	return sink->store(sink->ctx, &sweep, err);
}

static int run(const char *path, unsigned leaves, unsigned sweeps, int64_t interval_us, const char *mode,
	       struct error *err)
{
	const struct clock *clock = clock_system();
	struct sample before = { 0 }, after = { 0 };
	struct writer *writer = NULL;
	int64_t wall_us = clock_wall_us(clock), next_us = clock_boottime_us(clock);
	unsigned number;
	int status = writer_open(path, &writer, err);

	if (!status)
		status = sample_create(&before, leaves, false, err);
	if (!status)
		status = sample_create(&after, leaves, true, err);
	for (number = 0; !status && number < sweeps; number++) {
		if (!strcmp(mode, "gap") && number / (sweeps / 3) == 1)
			continue;
		status = store(writer, &before, &after, number, wall_us - (sweeps - 1 - number) * interval_us,
			       interval_us, err);
	}
	while (!status && !strcmp(mode, "hold")) {
		next_us += interval_us;
		clock->sleep_until(clock->ctx, next_us);
		if (stop_requested())
			break;
		/* A failed store is repeated, as in a collector: tests move the file away and back. */
		store(writer, &before, &after, number++, clock_wall_us(clock), interval_us, NULL);
	}
	sample_destroy(&before);
	sample_destroy(&after);
	writer_close(writer);
	return status;
}

int main(int argc, char **argv)
{
	struct error err = { 0 };

	if (argc < 5) {
		fprintf(stderr, "usage: sample_db PATH LEAVES SWEEPS INTERVAL_S [hold|gap]\n");
		return 64;
	}
	stop_install();
	if (run(argv[1], (unsigned)atoi(argv[2]), (unsigned)atoi(argv[3]), atoi(argv[4]) * US_PER_S,
		argc > 5 ? argv[5] : "", &err) < 0) {
		fprintf(stderr, "sample_db: %s\n", err.text);
		return -err.code;
	}
	return 0;
}
