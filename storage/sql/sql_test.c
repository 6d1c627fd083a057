/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* sql_test.c - sample and port_sum return the stored data for any statement */
#define UNIT_TEST_SETUP make
#define UNIT_TEST_TEARDOWN remove_all
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/map.h"
#include "base/unit_test.h"
#include "base/when.h"
#include "storage/reader.h"
#include "storage/sql/sample_plan.h"
#include "storage/test/test_check.h"
#include "storage/test/test_folder.h"
#include "storage/test/test_model.h"
#include "storage/writer.h"

static struct model *model;
static struct reader *reader;

/* With restarts, so that a part is compacted. */
int make(void **state)
{
	struct writer *writer;

	test_folder_make(state);
	model = model_create(31, 2, 5, 4);
	model->keep_history = true;
	writer = check_open_writer(path);
	for (int i = 0; i < 900; i++) {
		check_store(writer, model_step(model));
		if (i % 400 == 399) {
			writer_close(writer);
			writer = check_open_writer(path);
		}
	}
	writer_close(writer);
	reader = check_open_reader(path);
	return 0;
}

int remove_all(void **state)
{
	reader_close(reader);
	model_destroy(model);
	return test_folder_remove(state);
}

static void run_sql(const char *statement, bool (*row)(void *ctx, const struct cell *cells, int count), void *ctx)
{
	const struct sql_consumer consumer = { check_any_header, row, ctx };
	struct error err = { 0 };

	if (reader_sql(reader, statement, 0, &consumer, &err) < 0)
		fail_msg("%s: %s", statement, err.text);
}

/* Columns of sample as they are declared. */
static bool check_sample(void *ctx, const struct cell *cells, int count)
{
	size_t *seen = ctx;
	int64_t sweep = cells[SAMPLE_SWEEP].integer;
	size_t port = check_find_port(model, strtoull(cells[SAMPLE_NODE_GUID].bytes, NULL, 16),
				      cells[SAMPLE_PORT].integer);
	const struct model_truth *truth = &model->sweeps[sweep - 1].truth[port];
	char time[WHEN_SIZE];

	assert_int_equal(count, SAMPLE_SINCE);
	assert_true(truth->has_delta);
	assert_int_equal(cells[SAMPLE_WALL].integer, model->sweeps[sweep - 1].wall_us);
	assert_string_equal(cells[SAMPLE_TIME].bytes, when_format_utc(model->sweeps[sweep - 1].wall_us, time));
	assert_int_equal(cells[SAMPLE_ELAPSED].integer, truth->delta.elapsed_us);
	assert_int_equal(cells[SAMPLE_RESET].integer & truth->delta.known, truth->delta.reset & truth->delta.known);
	assert_int_equal(cells[SAMPLE_SATURATED].integer & truth->delta.known,
			 truth->delta.saturated & truth->delta.known);
	for (int i = 0; i < COUNTER_COUNT; i++) {
		const struct cell *cell = &cells[SAMPLE_COUNTERS + i];

		assert_int_equal(cell->type == CELL_INTEGER, truth->delta.known >> i & 1);
		if (cell->type == CELL_INTEGER)
			assert_true((uint64_t)cell->integer == truth->delta.value[i]);
	}
	if (truth->delta.known & COUNTER_BIT(COUNTER_XMIT_DATA)) {
		uint64_t words = truth->delta.value[COUNTER_XMIT_DATA];

		assert_true(cells[SAMPLE_XMIT_BYTES].integer ==
			    (words > INT64_MAX / 4 ? INT64_MAX : (int64_t)words * 4));
	}
	++*seen;
	return true;
}

TEST(every_stored_delta_is_a_row_of_sample)
{
	size_t seen = 0, expected = 0;

	for (size_t s = 0; s < model->sweep_count; s++)
		for (size_t p = 0; p < model->port_count; p++)
			expected += model->sweeps[s].truth[p].has_delta;
	run_sql("SELECT * FROM sample", check_sample, &seen);
	assert_int_equal(seen, expected);
}

struct answer {
	int64_t rows, elapsed_us, sweeps;
};

static bool read_answer(void *ctx, const struct cell *cells, int count)
{
	struct answer *answer = ctx;

	(void)count;
	*answer = (struct answer){ cells[0].integer, cells[1].integer, cells[2].integer };
	return true;
}

/* A value to compare with a column: mostly of its type. */
static const char *random_value(const char *column, uint64_t seed, char *ret, size_t size)
{
	static const char *const odd[] = {
		"NULL", "''", "'abc'", "-1", "0", "9223372036854775807", "-9223372036854775808", "1e300", "-1e300",
		"3.5", "x'00'", "'2026'", "'2026-11'", "'2026-11-18x'", "'2026-02-31'", "'9'", "'0x'", "' 5'", "'5'",
	};
	const struct model_sweep *sweep = &model->sweeps[map_mix(seed) % model->sweep_count];
	const struct model_port *port = &model->ports[map_mix(seed + 1) % model->port_count];
	char time[WHEN_SIZE];

	if (map_mix(seed + 2) % 6 == 0)
		snprintf(ret, size, "%s", odd[map_mix(seed + 3) % (sizeof(odd) / sizeof(*odd))]);
	else if (!strcmp(column, "sweep"))
		snprintf(ret, size, "%d", (int)(map_mix(seed + 4) % 910));
	else if (!strcmp(column, "wall_us"))
		snprintf(ret, size, "%" PRId64, sweep->wall_us + (int64_t)(seed % 3) - 1);
	else if (!strcmp(column, "time"))
		snprintf(ret, size, "'%.*s'", (int)(4 + map_mix(seed + 5) % 25), when_format_utc(sweep->wall_us, time));
	else if (!strcmp(column, "node_guid"))
		snprintf(ret, size, "'0x%016" PRIx64 "'", model->nodes[port->node].node.guid);
	else if (!strcmp(column, "node"))
		snprintf(ret, size, "(SELECT name FROM node_version WHERE node = %d)", (int)(map_mix(seed + 6) % 7));
	else
		snprintf(ret, size, "%d", (int)(map_mix(seed + 7) % 12));
	return ret;
}

/* A condition that is evaluated in the table does not change the result; LIMIT prevents that. */
TEST(no_condition_changes_the_result)
{
	static const char *const columns[] = { "sweep", "wall_us", "time", "node_guid", "node", "port", "port_id" };
	static const char *const operators[] = { "=", ">", ">=", "<", "<=", "!=", "IS" };
	size_t found = 0;

	for (uint64_t seed = 0; seed < 150; seed++) {
		char conditions[1024] = "1", statement[2048], value[128];
		struct answer pushed = { 0 }, plain = { 0 };

		for (uint64_t i = 0; i < 1 + seed % 3; i++) {
			uint64_t random = map_mix(seed * 10 + i);
			const char *column = columns[random % 7];
			size_t len = strlen(conditions);

			snprintf(conditions + len, sizeof(conditions) - len, " AND %s %s %s%s", column,
				 operators[map_mix(random) % (random % 4 ? 5 : 7)],
				 random_value(column, random, value, sizeof(value)),
				 map_mix(random + 9) % 5 == 0 ? " COLLATE NOCASE" : "");
		}
		snprintf(statement, sizeof(statement), "SELECT count(*), sum(elapsed_us), sum(sweep) FROM sample"
			 " WHERE %s", conditions);
		run_sql(statement, read_answer, &pushed);
		snprintf(statement, sizeof(statement), "SELECT count(*), sum(elapsed_us), sum(sweep) FROM"
			 " (SELECT * FROM sample LIMIT -1 OFFSET 0) WHERE %s", conditions);
		run_sql(statement, read_answer, &plain);
		if (memcmp(&pushed, &plain, sizeof(plain)))
			fail_msg("%s: %" PRId64 " rows and not %" PRId64, conditions, pushed.rows, plain.rows);
		found += plain.rows > 0;
	}
	assert_true(found > 30);
}

TEST(joins_and_views_find_the_same)
{
	struct answer joined = { 0 }, counted = { 0 };

	run_sql("SELECT count(*), sum(s.elapsed_us), sum(s.sweep) FROM port p JOIN sample s ON s.port_id = p.id",
	    read_answer, &joined);
	run_sql("SELECT count(*), sum(elapsed_us), sum(sweep) FROM traffic", read_answer, &counted);
	assert_memory_equal(&joined, &counted, sizeof(joined));
	run_sql("SELECT count(*), sum(n), sum(m) FROM (SELECT node, port, count(*) AS n, sum(sweep) AS m FROM traffic"
	    " WHERE time > '2000' GROUP BY 1, 2)", read_answer, &joined);
	assert_int_equal(joined.elapsed_us, counted.rows);
	assert_int_equal(joined.sweeps, counted.sweeps);
}

/* A window as arguments: (since, until] of labels. */
TEST(arguments_are_a_window)
{
	for (uint64_t seed = 0; seed < 30; seed++) {
		int64_t since = model->sweeps[map_mix(seed) % 900].wall_us;
		int64_t until = model->sweeps[map_mix(seed + 1) % 900].wall_us;
		char statement[256], from[WHEN_SIZE], to[WHEN_SIZE];
		struct answer answer = { 0 };
		int64_t rows = 0;

		for (size_t s = 0; s < model->sweep_count; s++)
			for (size_t p = 0; p < model->port_count; p++)
				rows += model->sweeps[s].wall_us > since && model->sweeps[s].wall_us <= until &&
					model->sweeps[s].truth[p].has_delta;
		snprintf(statement, sizeof(statement), "SELECT count(*), 0, 0 FROM sample('%s', '%s')",
			 when_format_utc(since, from), when_format_utc(until, to));
		run_sql(statement, read_answer, &answer);
		assert_int_equal(answer.rows, rows);
		snprintf(statement, sizeof(statement), "SELECT count(*), 0, 0 FROM sample WHERE until = %" PRId64
			 " AND since = %" PRId64, until, since);
		run_sql(statement, read_answer, &answer);
		assert_int_equal(answer.rows, rows);
	}
}

/* Sweeps (after, until], and the number of ports with samples in them. */
struct window {
	size_t after, until, seen;
};

/* Counters are shown as 2^63 - 1 at most. */
static int64_t shown(uint64_t value)
{
	return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

static bool check_sum(void *ctx, const struct cell *cells, int count)
{
	struct window *window = ctx;
	size_t port = check_find_port(model, strtoull(cells[SUM_NODE_GUID].bytes, NULL, 16), cells[SUM_PORT].integer);
	const struct check_sum sum = check_truth(model, port, (int64_t)window->after, (int64_t)window->until);
	const struct delta *delta = &sum.delta;

	assert_int_equal(count, SUM_SINCE);
	assert_int_equal(cells[SUM_SAMPLES].integer, sum.samples);
	assert_int_equal(cells[SUM_ELAPSED].integer, delta->elapsed_us);
	assert_int_equal(cells[SUM_UNKNOWN].integer, (COUNTER_BIT(COUNTER_COUNT) - 1) & ~delta->known);
	assert_int_equal(cells[SUM_RESET].integer, delta->reset);
	assert_int_equal(cells[SUM_SATURATED].integer, delta->saturated);
	for (int i = 0; i < COUNTER_COUNT; i++) {
		assert_int_equal(cells[SUM_COUNTERS + i].type, sum.ever & COUNTER_BIT(i) ? CELL_INTEGER : CELL_NULL);
		if (sum.ever & COUNTER_BIT(i))
			assert_int_equal(cells[SUM_COUNTERS + i].integer, shown(delta->value[i]));
	}
	for (int i = COUNTER_XMIT_DATA; i <= COUNTER_RCV_DATA; i++)
		if (sum.ever & COUNTER_BIT(i))
			assert_int_equal(cells[SUM_XMIT_BYTES + i].integer,
					 delta->value[i] > INT64_MAX / 4 ? INT64_MAX : (int64_t)delta->value[i] * 4);
	window->seen++;
	return true;
}

/* Of all ports, and of one. */
TEST(sums_are_those_of_the_stored_deltas)
{
	for (uint64_t seed = 0; seed < 60; seed++) {
		struct window window = { .after = map_mix(seed) % 900 };
		char statement[128];
		size_t ports = 0;

		window.until = window.after + 1 + map_mix(seed + 1) % (900 - window.after);
		for (size_t p = 0; p < model->port_count; p++)
			ports += check_truth(model, p, (int64_t)window.after, (int64_t)window.until).samples > 0;
		snprintf(statement, sizeof(statement), "SELECT * FROM port_sum(%" PRId64 ", %" PRId64 ")%s",
			 window.after ? model->sweeps[window.after - 1].wall_us : 0,
			 model->sweeps[window.until - 1].wall_us, seed % 2 ? " WHERE port_id = 3" : "");
		run_sql(statement, check_sum, &window);
		if (seed % 2)
			assert_in_range(window.seen, 0, 1);
		else
			assert_int_equal(window.seen, ports);
	}
}

TEST(the_shell_with_the_extension_reads_the_same)
{
	static const char *const statements[] = {
		"SELECT count(*), sum(elapsed_us), sum(sweep + symbol_errors) FROM sample",
		"SELECT count(*), sum(elapsed_us), sum(xmit_data / 1000 + sweep) FROM delta",
		"SELECT count(*), sum(elapsed_us), sum(symbol_errors / 1000000) FROM port_sum(0)",
	};
	const char *build = getenv("IBWIRE_BUILD");
	char command[4096];

	snprintf(command, sizeof(command), "%s/ibwire-sql.so", build ? build : ".");
	if (!build || access(command, R_OK) != 0 || system("command -v sqlite3 >/dev/null") != 0) {
		print_message("# no sqlite3 shell, or no IBWIRE_BUILD/ibwire-sql.so\n");
		skip();
	}
	for (size_t i = 0; i < sizeof(statements) / sizeof(*statements); i++) {
		struct answer answer = { 0 }, shell = { 0 };
		FILE *output;

		run_sql(statements[i], read_answer, &answer);
		assert_true(answer.rows > 0);
		snprintf(command, sizeof(command), "sqlite3 -batch -readonly -noheader -list '%s'"
			 " \".load %s/ibwire-sql\" \"%s\"", path, build, statements[i]);
		output = popen(command, "r");
		assert_non_null(output);
		assert_int_equal(fscanf(output, "%" SCNd64 "|%" SCNd64 "|%" SCNd64, &shell.rows, &shell.elapsed_us,
					&shell.sweeps), 3);
		assert_int_equal(pclose(output), 0);
		assert_memory_equal(&shell, &answer, sizeof(answer));
	}
}

TEST(wrong_times_are_refused)
{
	static const char *const wrong[] = {
		"SELECT * FROM port_sum('soon')", "SELECT * FROM sample('soon')",
		"SELECT * FROM sample('-10m', 'soon')",
		"SELECT * FROM port_sum(x'00')",
	};
	const struct sql_consumer consumer = { check_any_header, read_answer, NULL };

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct error err = { 0 };

		if (reader_sql(reader, wrong[i], 0, &consumer, &err) != ERR_USAGE)
			fail_msg("%s: %s", wrong[i], err.text);
		assert_non_null(strstr(err.text, "time"));
	}
}

/* In steps of SQLite, and in statements that a table of ours runs. */
TEST(a_statement_ends_at_its_timeout)
{
	static const char *const endless[] = {
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*), 0, 0 FROM n",
		"SELECT count(*), 0, 0 FROM sample a CROSS JOIN sample b CROSS JOIN sample c",
	};
	struct answer answer = { 0 };
	const struct sql_consumer consumer = { check_any_header, read_answer, &answer };

	for (size_t i = 0; i < sizeof(endless) / sizeof(*endless); i++) {
		struct error err = { 0 };

		assert_int_equal(reader_sql(reader, endless[i], 200000, &consumer, &err), ERR_IO);
		assert_non_null(strstr(err.text, "stopped after 200.0 ms"));
		assert_non_null(strstr(err.text, "--timeout"));
	}
	/* The connection has no limit afterwards. */
	run_sql("SELECT count(*), 0, 0 FROM sample", read_answer, &answer);
	assert_true(answer.rows > 0);
}

/* A time whose text is above another text is not below the bound of that text. */
TEST(bounds_of_texts_omit_nothing)
{
	static const char some[] = "0123456789-T:.Z x/A";

	for (uint64_t seed = 0; seed < 200000; seed++) {
		int64_t us = 1767225600000000 + (int64_t)(map_mix(seed) % 31536000000000), other;
		char text[WHEN_SIZE + 4], shown[WHEN_SIZE];
		size_t len;
		int order;

		/* Near each other, so that the texts differ late. */
		other = us + (int64_t)(map_mix(seed + 1) % (seed % 2 ? 3000000 : 100000000000));
		when_format_utc(other, text);
		len = strlen(text);
		if (seed % 3 == 0)
			text[map_mix(seed + 2) % (len + 1)] = '\0';
		if (seed % 5 == 0 && *text)
			text[map_mix(seed + 3) % strlen(text)] = some[map_mix(seed + 4) % (sizeof(some) - 1)];
		when_format_utc(us, shown);
		order = strcmp(shown, text);
		if (order >= 0)
			assert_true(us >= sample_time_bound(text, false));
		if (order <= 0)
			assert_true(us <= sample_time_bound(text, true));
	}
}
