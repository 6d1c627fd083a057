/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * every_path_test.c - what is read back is what was written, by every path that leads to it
 *
 * The samples are those of a model: counters up to 2^64 - 1, resets, saturated and unknown counters,
 * gaps, changes of topology. They are compared when all are in hot, when half are compacted (up to
 * the middle of a window), and when all are: by delta_scan, readings, sums, sample and port_sum,
 * and by the sqlite3 shell with the extension.
 *
 *     IBWIRE_SAMPLES=50000    about how many of them
 */
#define UNIT_TEST_SETUP make
#define UNIT_TEST_TEARDOWN remove_all
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/err.h"
#include "base/text.h"
#include "base/unit_test.h"
#include "storage/pack/compact.h"
#include "storage/file/db.h"
#include "storage/reader.h"
#include "storage/read/readings.h"
#include "storage/file/schema.h"
#include "storage/read/sums.h"
#include "storage/test/test_check.h"
#include "storage/test/test_folder.h"
#include "storage/test/test_truth.h"

int make(void **state)
{
	const char *wanted = getenv("IBWIRE_SAMPLES");
	/* Fewer sweeps would make no hour. */
	int64_t sweeps = (int64_t)(strtod(wanted && *wanted ? wanted : "50000", NULL) / PORTS * 1.5);

	test_folder_make(state);
	truth_make(sweeps < 300 ? 300 : sweeps);
	print_message("# %" PRId64 " samples in %" PRId64 " sweeps\n", truth.samples, truth.sweeps);
	return 0;
}

int remove_all(void **state)
{
	truth_forget();
	return test_folder_remove(state);
}

/* The next sample in order of sweep and port id. */
struct expected {
	int64_t sweep;
	uint32_t id;
	uint32_t port;
	struct delta delta;
	int64_t seen;
};

static void expect_next(struct expected *expected)
{
	if (!expected->sweep)
		expected->sweep = 1;
	for (; expected->sweep <= truth.sweeps; expected->sweep++, expected->id = 0) {
		while (++expected->id < IDS) {
			expected->port = truth.port_of_id[expected->id];
			if (expected->port == NO_PORT ||
			    !truth_delta(expected->port, expected->sweep, &expected->delta))
				continue;
			expected->seen++;
			return;
		}
	}
	fail_msg("there are more rows than samples");
}

static void differs(int64_t sweep, uint32_t id, const char *what)
{
	fail_msg("sweep %" PRId64 ", port %u: %s is not what was written", sweep, id, what);
}

static sqlite3 *open_db(void)
{
	struct error err = { 0 };
	sqlite3 *db = NULL;

	if (schema_open_second(path, &db, &err) < 0)
		fail_msg("%s", err.text);
	return db;
}

static void check_scan(sqlite3 *db)
{
	struct expected expected = { 0 };
	struct delta_scan scan;
	struct error err = { 0 };
	struct delta read;
	int result = delta_scan_begin(&scan, db, 0, truth.sweeps, &err);

	while (!result && (result = delta_scan_next(&scan, &err)) > 0) {
		expect_next(&expected);
		result = delta_scan_read(&scan, &read, &err);
		if (scan.sweep != expected.sweep || scan.port != expected.id)
			differs(expected.sweep, expected.id, "who comes next");
		if (memcmp(&read, &expected.delta, sizeof(read)) != 0)
			differs(expected.sweep, expected.id, "the delta");
	}
	if (result < 0)
		fail_msg("%s", err.text);
	assert_int_equal(scan.damage.count, 0);
	assert_int_equal(expected.seen, truth.samples);
	delta_scan_end(&scan);
}

static void check_readings(sqlite3 *db)
{
	static struct stored_reading stored[IDS];
	struct stored_reading alone;

	for (int i = 0; i < MOMENTS; i++) {
		memset(stored, 0, sizeof(stored));
		assert_int_equal(readings_load(db, truth.moments[i].sweep, stored, IDS, NULL), 0);
		for (uint32_t id = 1; id < IDS; id++) {
			uint32_t port = truth.port_of_id[id];
			const struct reading *read = &stored[id].reading;

			if (port == NO_PORT)
				continue;
			assert_int_equal(stored[id].there, truth.moments[i].there[port]);
			if (stored[id].there && (memcmp(read->value, truth.moments[i].readings[port].value,
							sizeof(read->value)) != 0 ||
						 read->present != truth.moments[i].readings[port].present ||
						 read->at_us != truth.moments[i].readings[port].at_us))
				differs(truth.moments[i].sweep, id, "the reading");
			if (id % 16 != (uint32_t)i % 16)
				continue;
			assert_int_equal(readings_load_port(db, truth.moments[i].sweep, id, &alone, NULL), 0);
			if (alone.there != stored[id].there ||
			    (alone.there && (memcmp(&alone.reading, read, sizeof(*read)) != 0 ||
					     alone.read_sweep != stored[id].read_sweep ||
					     alone.wall_us != stored[id].wall_us)))
				differs(truth.moments[i].sweep, id, "the reading of one port");
		}
	}
}

static void compare_sum(const struct range *range, uint32_t id, const struct port_sum *sum)
{
	static const struct port_sum none;
	const struct port_sum *kept = truth.port_of_id[id] == NO_PORT ? &none : &range->sums[truth.port_of_id[id]];

	if (sum->samples != kept->samples || sum->sum.elapsed_us != kept->sum.elapsed_us)
		differs(range->until, id, "how many samples are in a sum");
	if (sum->sum.known != kept->sum.known || sum->ever != kept->ever)
		differs(range->until, id, "what is known of a sum");
	if (sum->sum.reset != kept->sum.reset || sum->sum.saturated != kept->sum.saturated)
		differs(range->until, id, "what a sum is marked with");
	if (memcmp(sum->sum.value, kept->sum.value, sizeof(sum->sum.value)) != 0)
		differs(range->until, id, "a sum");
}

static unsigned check_sums(sqlite3 *db)
{
	static struct port_sum sums[IDS];
	unsigned sources = 0;

	for (int i = 0; i < RANGES; i++) {
		const struct range *range = &truth.ranges[i];
		struct sums_query query = { .after = range->after, .until = range->until };
		struct sums_origin origin;

		memset(sums, 0, sizeof(sums));
		assert_int_equal(sums_load(db, &query, sums, IDS, &origin, NULL), 0);
		assert_int_equal(origin.damage.count, 0);
		sources |= origin.sources;
		for (uint32_t id = 1; id < IDS; id++)
			compare_sum(range, id, &sums[id]);
		for (uint32_t id = 1 + (uint32_t)i; id < IDS; id += 100) {
			struct port_sum one = { 0 };

			query.ports = &id;
			query.port_count = 1;
			assert_int_equal(sums_load(db, &query, &one, 1, NULL, NULL), 0);
			compare_sum(range, id, &one);
		}
	}
	return sources;
}

/* Columns of both statements below. */
enum { ROW_FIRST, ROW_SECOND, ROW_ELAPSED, ROW_UNKNOWN, ROW_RESET, ROW_SATURATED, ROW_BYTES,
       ROW_COUNTERS = ROW_BYTES + 2, ROW_COLUMNS = ROW_COUNTERS + COUNTER_COUNT };

static void ask_for(struct text *sql, const char *first, const char *from)
{
	text_appendf(sql, "SELECT %s, elapsed_us, unknown, reset, saturated, xmit_bytes, rcv_bytes", first);
	for (int i = 0; i < COUNTER_COUNT; i++)
		text_appendf(sql, ", %s", counter_info((enum counter)i)->key);
	text_appendf(sql, " FROM %s", from);
	assert_false(text_failed(sql));
}

static void ask_for_range(struct text *sql, const struct range *range)
{
	char from[80];

	snprintf(from, sizeof(from), "port_sum(%" PRId64 ", %" PRId64 ")",
		 range->after ? truth_label_us(range->after) : 0, truth_label_us(range->until));
	ask_for(sql, "port_id, samples", from);
}

static int64_t most(uint64_t value)
{
	return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

/* Marks, bytes and counters of a row. @capped: counters are shown as 2^63 - 1 at most, else bit by bit. */
static bool same_row(const struct cell *cells, const struct delta *delta, counter_set ever, bool capped)
{
	bool same = cells[ROW_ELAPSED].integer == delta->elapsed_us &&
		cells[ROW_UNKNOWN].integer == (int64_t)(COUNTER_ALL_SET & ~delta->known) &&
		cells[ROW_RESET].integer == (int64_t)delta->reset &&
		cells[ROW_SATURATED].integer == (int64_t)delta->saturated;

	for (int i = 0; i < COUNTER_COUNT; i++) {
		const struct cell *cell = &cells[ROW_COUNTERS + i];
		int64_t shown = capped ? most(delta->value[i]) : (int64_t)delta->value[i];

		same &= cell->type == (ever & COUNTER_BIT(i) ? CELL_INTEGER : CELL_NULL);
		if (ever & COUNTER_BIT(i))
			same &= cell->integer == shown;
	}
	for (int i = COUNTER_XMIT_DATA; i <= COUNTER_RCV_DATA; i++)
		if (ever & COUNTER_BIT(i))
			same &= cells[ROW_BYTES + i].integer == (delta->value[i] > INT64_MAX / 4 ? INT64_MAX :
								 (int64_t)delta->value[i] * 4);
	return same;
}

/* The row function of "sweep, port_id, ... FROM sample": @ctx is struct expected. */
static bool check_sample_row(void *ctx, const struct cell *cells, int count)
{
	struct expected *expected = ctx;

	assert_int_equal(count, ROW_COLUMNS);
	expect_next(expected);
	if (cells[ROW_FIRST].integer != expected->sweep || cells[ROW_SECOND].integer != expected->id)
		differs(expected->sweep, expected->id, "who comes next in sample");
	if (!same_row(cells, &expected->delta, expected->delta.known, false))
		differs(expected->sweep, expected->id, "the row of sample");
	return true;
}

struct sum_rows {
	const struct range *range;
	size_t seen;
};

/* The same of port_sum: @ctx is struct sum_rows. */
static bool check_sum_row(void *ctx, const struct cell *cells, int count)
{
	struct sum_rows *rows = ctx;
	int64_t id = cells[ROW_FIRST].integer;
	const struct port_sum *kept;

	assert_int_equal(count, ROW_COLUMNS);
	assert_in_range(id, 1, IDS - 1);
	assert_true(truth.port_of_id[id] != NO_PORT);
	kept = &rows->range->sums[truth.port_of_id[id]];
	if ((uint64_t)cells[ROW_SECOND].integer != kept->samples ||
	    !same_row(cells, &kept->sum, kept->ever, true))
		differs(rows->range->until, (uint32_t)id, "the row of port_sum");
	rows->seen++;
	return true;
}

typedef bool row_function(void *ctx, const struct cell *cells, int count);
typedef void asking(const struct text *sql, row_function *row, void *ctx);

static bool no_header(void *ctx, const char *const *names, int count)
{
	(void)ctx;
	(void)names;
	return count == ROW_COLUMNS;
}

static void ask_reader(const struct text *sql, row_function *row, void *ctx)
{
	const struct sql_consumer consumer = { no_header, row, ctx };
	struct reader *reader = check_open_reader(path);
	struct error err = { 0 };

	if (reader_sql(reader, text_chars(sql), 0, &consumer, &err) < 0)
		fail_msg("%s", err.text);
	reader_close(reader);
}

/* Numbers separated by bars, a row in each line. */
static void ask_shell(const struct text *sql, row_function *row, void *ctx)
{
	struct text command = { 0 };
	char *line = NULL;
	size_t size = 0;
	FILE *answer;

	text_appendf(&command, "sqlite3 -batch -readonly -noheader -list '%s' \".load %s/ibwire-sql\" \"%s\"", path,
		     getenv("IBWIRE_BUILD"), text_chars(sql));
	assert_false(text_failed(&command));
	answer = popen(text_chars(&command), "r");
	assert_non_null(answer);
	while (getline(&line, &size, answer) > 0) {
		struct cell cells[ROW_COLUMNS] = { 0 };
		char *at = line;
		int count = 0;

		for (; count < ROW_COLUMNS; count++) {
			char *end;

			cells[count].integer = strtoll(at, &end, 10);
			cells[count].type = end > at ? CELL_INTEGER : CELL_NULL;
			if (*end != '|')
				break;
			at = end + 1;
		}
		row(ctx, cells, count + 1);
	}
	assert_int_equal(pclose(answer), 0);
	free(line);
	text_done(&command);
}

static void check_sql(asking *ask)
{
	struct expected expected = { 0 };
	struct text sql = { 0 };

	ask_for(&sql, "sweep, port_id", "sample");
	ask(&sql, check_sample_row, &expected);
	text_done(&sql);
	assert_int_equal(expected.seen, truth.samples);
	for (int i = 0; i < RANGES; i++) {
		struct sum_rows rows = { .range = &truth.ranges[i] };
		size_t ports = 0;

		memset(&sql, 0, sizeof(sql));
		ask_for_range(&sql, &truth.ranges[i]);
		ask(&sql, check_sum_row, &rows);
		text_done(&sql);
		for (size_t port = 0; port < PORTS; port++)
			ports += truth.ranges[i].sums[port].samples > 0;
		assert_int_equal(rows.seen, ports);
	}
}

/* Compact until sweep @until is in chunks, and one step more, which ends within a window. */
static void compact_until(int64_t until)
{
	static struct compaction compaction;
	sqlite3 *db = open_db();
	struct error err = { 0 };
	int64_t done = 0;
	int result = compact_init(&compaction, db, truth.sweeps < 10000 ? 32 : 120, &err);

	for (int i = 1; !result && (result = compact_step(&compaction, &err)) > 0; i++) {
		if (done >= until)
			break;
		result = db_integer(db, "SELECT max(to_sweep) FROM chunk_window WHERE state > 0", 0, &done, &err);
		/* Otherwise the task of the thread. */
		if (i % 64 == 0)
			sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
	}
	if (result < 0)
		fail_msg("%s", err.text);
	compact_done(&compaction);
	sqlite3_close(db);
}

/* Return: the set of sources of sums. */
static unsigned check_all(void)
{
	struct error err = { 0 };
	sqlite3 *db = open_db();
	unsigned from;

	assert_int_equal(db_exec(db, "BEGIN", &err), 0);
	check_scan(db);
	check_readings(db);
	from = check_sums(db);
	assert_int_equal(db_exec(db, "COMMIT", &err), 0);
	sqlite3_close(db);
	check_sql(ask_reader);
	return from;
}

TEST(everything_is_in_hot)
{
	assert_int_equal(check_integer(path, "SELECT count(*) FROM chunk_window"), 0);
	assert_int_equal(check_all(), 1 << PLAN_HOT);
}

TEST(half_of_it_is_compacted)
{
	compact_until(truth.sweeps / 2);
	assert_true(check_integer(path, "SELECT count(*) FROM hot") > 0);
	assert_true(check_integer(path, "SELECT count(*) FROM chunk") > 0);
	assert_true(check_all() & 1 << PLAN_WINDOW_SUMS);
}

TEST(the_shell_reads_the_same)
{
	const char *build = getenv("IBWIRE_BUILD");
	char extension[4096];

	snprintf(extension, sizeof(extension), "%s/ibwire-sql.so", build ? build : ".");
	if (!build || access(extension, R_OK) != 0 || system("command -v sqlite3 >/dev/null") != 0) {
		print_message("# no sqlite3 shell, or no IBWIRE_BUILD/ibwire-sql.so\n");
		skip();
	}
	check_sql(ask_shell);
}

TEST(everything_is_compacted)
{
	compact_until(INT64_MAX);
	assert_true(check_integer(path, "SELECT count(*) FROM hour WHERE state = 1") > 0);
	assert_int_equal(check_all() & 1 << PLAN_HOUR_SUMS, 1 << PLAN_HOUR_SUMS);
	check_integrity(path);
}
