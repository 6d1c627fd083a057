/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The database of hostile.h, with the retention of `ibwire collect`: each day must be read back exactly. */
#include <inttypes.h>

#include "base/clock.h"
#include "fabric/fabric.h"
#include "storage/history.h"
#include "storage/reader.h"
#include "storage/test/test_check.h"
#include "storage/test/test_folder.h"
#include "storage/writer.h"
#include "tests/world/hostile.h"

#define DAY_US (86400 * US_PER_S)

/* Size of a database besides its readings: topologies, events, findings, and the log. */
enum { WEEK_BYTES = 48 << 20 };

/* Days that are stored. */
enum { DAYS_MAX = 16 };

/* What is stored of each day, and in all. */
static struct week {
	struct writer *writer;
	int64_t begin_us;
	struct history_sum days[DAYS_MAX][LAB_NODES][LAB_SWITCH_PORTS + 1];
	struct history_sum total[LAB_NODES][LAB_SWITCH_PORTS + 1];
	uint64_t days_checked, sums_compared, readings;
} week;

/* As `ibwire collect` without options. */
static const struct writer_retention retention = {
	.raw_us = 7 * DAY_US, .sums_us = 30 * DAY_US, .hours_us = 730 * DAY_US,
};

static void add(struct history_sum *sum, const struct delta *delta)
{
	delta_add(&sum->sum, delta);
	sum->samples++;
}

void hostile_week_store(const struct sweep *sweep)
{
	const struct sink *sink = writer_sink(week.writer);
	int64_t day = (sweep->wall_us - week.begin_us - 1) / DAY_US;
	struct error err = { 0 };

	if (sink->store(sink->ctx, sweep, &err) < 0)
		fail_msg("%s", err.text);
	assert_in_range(day, 0, DAYS_MAX - 1);
	for (size_t i = 0; i < sweep->sample_count; i++) {
		const struct port_sample *sample = &sweep->samples[i];
		size_t node = lab_node_of(sweep->fabric, sample->port);
		unsigned num = sweep->fabric->ports[sample->port].num;

		week.readings += sample->reading != NULL;
		if (!sample->delta)
			continue;
		add(&week.days[day][node][num], sample->delta);
		add(&week.total[node][num], sample->delta);
	}
}

static int store_events(void *ctx, const struct event *events, size_t count, struct error *err)
{
	if (hostile->lab_sink.store_events(hostile->lab, events, count, err) < 0)
		return ERR_IO;
	return writer_sink(week.writer)->store_events(ctx, events, count, err);
}

/* The sums of a window are those of the stored deltas. */
static void check_sums(struct reader *reader, int64_t since_us, int64_t until_us,
		       struct history_sum (*truth)[LAB_SWITCH_PORTS + 1])
{
	struct history_port ports[LAB_NODES * LAB_SWITCH_PORTS];
	struct history_sum sums[LAB_NODES * LAB_SWITCH_PORTS];
	struct history_range range;
	size_t count = 0;

	for (size_t node = 0; node < LAB_NODES; node++)
		for (unsigned num = 1; num <= LAB_SWITCH_PORTS; num++)
			if (truth[node][num].samples)
				ports[count++] = (struct history_port){ lab_guid(node), (uint8_t)num };
	assert_int_equal(reader_history_range(reader, since_us, until_us, &range, NULL), 0);
	assert_int_equal(reader_history_sums(reader, &(struct history_query){
		.after = range.after, .until = range.until, .ports = ports, .port_count = count,
		.counters = COUNTER_BIT(COUNTER_COUNT) - 1 }, sums, NULL), 0);
	for (size_t i = 0; i < count; i++) {
		const struct history_sum *right = &truth[ports[i].node_guid - lab_guid(0)][ports[i].num];

		assert_true(sums[i].sum.elapsed_us == right->sum.elapsed_us);
		assert_true(sums[i].samples == right->samples);
		assert_true(sums[i].sum.known == right->sum.known);
		for (int c = 0; c < COUNTER_COUNT; c++) {
			if (!(right->sum.known & COUNTER_BIT(c)))
				continue;
			assert_true(sums[i].sum.value[c] == right->sum.value[c]);
			week.sums_compared++;
		}
	}
}

void hostile_week_check_days(void)
{
	int64_t begin_us = week.begin_us + (int64_t)week.days_checked * DAY_US;
	struct reader *reader;

	if (begin_us + DAY_US >= hostile->lab->last_sweep.wall_us)
		return;
	reader = check_open_reader(path);
	check_sums(reader, begin_us, begin_us + DAY_US, week.days[week.days_checked++]);
	reader_close(reader);
}

/* All of it, from sums where samples have expired. */
static void check_week(uint64_t sweep)
{
	struct reader *reader = check_open_reader(path);
	struct db_status status;

	assert_int_equal(reader_status(reader, &status, NULL), 0);
	check_sums(reader, 0, 0, week.total);
	print_message("# %" PRIu64 " sweeps: %" PRId64 " bytes, %" PRIu64 " readings\n", sweep, status.size_bytes,
		      week.readings);
	/* Twice the estimate: traffic, stalls and detail counters of each port are random. */
	assert_true(status.size_bytes < 2 * (int64_t)week.readings * WRITER_BYTES_PER_SAMPLE + WEEK_BYTES);
	reader_close(reader);
}

void hostile_week_begin(struct hostile *h)
{
	h->week = true;
	week.begin_us = h->lab->run.wall_us;
}

void hostile_week_open(struct hostile *h)
{
	week.writer = check_open_writer(path);
	writer_set_retention(week.writer, &retention);
	h->lab->sink = *writer_sink(week.writer);
	h->lab->sink.store = hostile_store;
	h->lab->sink.store_events = store_events;
}

void hostile_week_close(struct hostile *h)
{
	writer_close(week.writer);
	check_week(h->sweep);
}

uint64_t hostile_week_sums(void)
{
	return week.sums_compared;
}
