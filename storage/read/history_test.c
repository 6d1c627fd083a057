/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* history_test.c - the pieces of any window add up to the stored deltas */
#include <stdio.h>

#include "base/err.h"
#include "base/map.h"
#include "base/test_cases.h"
#include "base/unit_test.h"
#include "storage/history.h"
#include "storage/reader.h"
#include "storage/test/test_check.h"
#include "storage/test/test_folder.h"
#include "storage/test/test_model.h"
#include "storage/writer.h"

enum { MOST_PORTS = 64 };

/* The result of a query. */
struct got {
	const struct model *model;
	struct check_sum sums[MOST_PORTS]; /* by the model's ports */
	struct history_piece last;
	size_t pieces[HISTORY_SOURCE_COUNT];
	int64_t longest_us, after, until;
	size_t stop_after; /* pieces; 0: never */
	counter_set counters;
	size_t totals;
};

static bool take_piece(void *ctx, const struct history_piece *piece)
{
	struct got *got = ctx;
	size_t seen = got->pieces[0] + got->pieces[1] + got->pieces[2];

	assert_false(got->stop_after && seen >= got->stop_after);
	/* In order, each once. */
	assert_int_equal(piece->from_sweep, got->last.to_sweep);
	assert_true(piece->to_sweep > piece->from_sweep && piece->to_sweep <= got->until + 1);
	assert_int_equal(piece->from_us, got->model->sweeps[piece->from_sweep - 1].wall_us);
	assert_int_equal(piece->to_us, got->model->sweeps[piece->to_sweep - 2].wall_us);
	if (piece->source == HISTORY_RAW)
		assert_int_equal(piece->to_sweep, piece->from_sweep + 1);
	else
		assert_true(piece->to_us - piece->from_us <= got->longest_us);
	got->pieces[piece->source]++;
	got->last = *piece;
	return !got->stop_after || seen + 1 < got->stop_after;
}

static bool take_delta(void *ctx, size_t port, const struct history_port *who, const struct delta *delta,
		       int64_t samples)
{
	struct got *got = ctx;
	size_t index = check_find_port(got->model, who->node_guid, who->num);

	(void)port;
	assert_true(samples >= 1 && samples <= got->last.to_sweep - got->last.from_sweep);
	check_sum_add(&got->sums[index], delta, samples);
	return true;
}

static void check_total(void *ctx, size_t port, const struct history_port *who, const struct history_sum *total)
{
	struct got *got = ctx;
	size_t index = check_find_port(got->model, who->node_guid, who->num);
	struct check_sum truth = check_truth(got->model, index, got->after, got->until);

	(void)port;
	assert_int_equal(total->samples, truth.samples);
	assert_int_equal(total->sum.elapsed_us, truth.delta.elapsed_us);
	assert_int_equal(total->sum.known & got->counters, truth.delta.known & got->counters);
	assert_int_equal(total->ever & got->counters, truth.ever & got->counters);
	for (int i = 0; i < COUNTER_COUNT; i++)
		if (truth.ever & got->counters & COUNTER_BIT(i))
			assert_int_equal(total->sum.value[i], truth.delta.value[i]);
	got->totals++;
}

static void check_sums(const struct got *got, const struct model *model, int64_t after, int64_t until,
		       const bool *wanted, counter_set counters)
{
	for (size_t p = 0; p < model->port_count; p++) {
		const struct delta *sum = &got->sums[p].delta;
		struct check_sum truth = check_truth(model, p, after, wanted[p] ? until : after);
		const struct delta *given = &truth.delta;
		counter_set known = given->known & counters;

		assert_int_equal(got->sums[p].samples, truth.samples);
		assert_int_equal(sum->elapsed_us, given->elapsed_us);
		assert_int_equal(sum->known & counters, known);
		assert_int_equal((sum->reset | sum->saturated) & known, (given->reset | given->saturated) & known);
		for (int i = 0; i < COUNTER_COUNT; i++)
			if (known & COUNTER_BIT(i))
				assert_int_equal(sum->value[i], given->value[i]);
	}
}

/* The reported errors, by port of the model. */
struct got_errors {
	const struct model *model;
	uint64_t value[MOST_PORTS][COUNTER_COUNT];
	counter_set at_least[MOST_PORTS];
	int64_t last_us, since_us, until_us;
};

static bool take_error(void *ctx, const struct history_error *error)
{
	struct got_errors *got = ctx;
	size_t port = check_find_port(got->model, error->who.node_guid, error->who.num);
	uint64_t *sum = &got->value[port][error->counter];

	assert_true(error->wall_us >= got->last_us);
	assert_true(error->wall_us > got->since_us && error->wall_us <= got->until_us);
	assert_true(error->counter >= COUNTER_TRAFFIC_COUNT && error->counter < COUNTER_COUNT);
	got->last_us = error->wall_us;
	got->at_least[port] |= error->at_least ? COUNTER_BIT(error->counter) : 0;
	/* As delta_add() does. */
	if (__builtin_add_overflow(*sum, error->value, sum))
		*sum = UINT64_MAX;
	return true;
}

/* Counters with errors that are a lower bound in one of the sweeps: after a reset of any counter all of the port. */
static counter_set error_bounds(const struct model *model, size_t port, int64_t after, int64_t until)
{
	counter_set bounds = 0;

	for (int64_t s = after; s < until; s++) {
		const struct delta *delta = &model->sweeps[s].truth[port].delta;
		bool reset = delta->reset & delta->known;

		for (int i = COUNTER_TRAFFIC_COUNT; model->sweeps[s].truth[port].has_delta && i < COUNTER_COUNT; i++) {
			counter_set bit = COUNTER_BIT(i) & delta->known;
			bool marked = (delta->reset | delta->saturated) & bit;

			bounds |= marked || (reset && delta->value[i]) ? bit : 0;
		}
	}
	return bounds;
}

/* The errors of a window add up to the deltas in it. */
static void check_errors(struct reader *reader, const struct model *model, int64_t since_us, int64_t until_us,
		       int64_t after, int64_t until)
{
	struct got_errors got = { .model = model, .since_us = since_us, .until_us = until_us };

	assert_int_equal(reader_history_errors(reader, since_us, until_us, take_error, &got, NULL), 0);
	for (size_t p = 0; p < model->port_count; p++) {
		const struct check_sum truth = check_truth(model, p, after, until);

		assert_int_equal(got.at_least[p], error_bounds(model, p, after, until));
		for (int i = COUNTER_TRAFFIC_COUNT; i < COUNTER_COUNT; i++)
			assert_int_equal(got.value[p][i], truth.delta.value[i]);
	}
}

/* Compares a random window with the model. */
static void check_random_window(struct reader *reader, const struct model *model, uint64_t seed,
				size_t pieces[HISTORY_SOURCE_COUNT])
{
	static const int64_t longest[] = { 0, 30000000, 300000000, 3000000000, 8000000000, INT64_MAX };
	const struct model_sweep *begin = &model->sweeps[map_mix(seed) % model->sweep_count];
	int64_t until_us = model->sweeps[map_mix(seed + 1) % model->sweep_count].wall_us + (int64_t)(seed % 3) - 1;
	int64_t since_us = begin->wall_us - (int64_t)(seed % 2), after;
	struct history_port ports[MOST_PORTS];
	struct got got = { .model = model };
	const struct history_consumer consumer = { take_piece, take_delta, &got };
	struct history_query query = { .longest_us = longest[map_mix(seed + 2) % 6],
				       .counters = map_mix(seed + 3) & (COUNTER_BIT(COUNTER_COUNT) - 1) };
	struct history_range range;
	bool wanted[MOST_PORTS];

	assert_int_equal(reader_history_range(reader, since_us, until_us, &range, NULL), 0);
	/* The clock is not set back here. */
	assert_int_equal(range.until, since_us < until_us ? check_range(model, until_us, until_us - since_us, &after) :
			 range.until);
	if (since_us >= until_us) {
		assert_int_equal(range.after, range.until);
		return;
	}
	assert_int_equal(range.after, after);
	check_errors(reader, model, since_us, until_us, range.after, range.until);
	for (size_t p = 0; p < model->port_count; p++) {
		wanted[p] = seed % 3 == 0 || map_mix(seed + 10 + p) % (seed % 3 == 1 ? 2 : 10) == 0;
		if (!wanted[p])
			continue;
		ports[query.port_count++] = (struct history_port){
			model->nodes[model->ports[p].node].node.guid, model->ports[p].num,
		};
	}
	if (seed % 3 == 2)
		ports[query.port_count++] = (struct history_port){ 12345, 1 }; /* unknown */
	if (seed % 4 == 0 && range.after < range.until) {
		int64_t until = range.until;

		assert_int_equal(reader_history_round(reader, &range, 0, NULL), 0);
		/* Of windows of at most 120 sweeps. */
		assert_in_range(range.after, after > 60 ? after - 60 : 0, after + 60);
		assert_in_range(range.until, until > 60 ? until - 60 : 0, until + 60);
		assert_true(range.after < range.until && range.until <= (int64_t)model->sweep_count);
		assert_int_equal(range.first_us, model->sweeps[range.after].wall_us);
		assert_int_equal(range.last_us, model->sweeps[range.until - 1].wall_us);
	}
	query.ports = seed % 3 ? ports : NULL;
	query.after = range.after;
	query.until = got.until = range.until;
	got.longest_us = query.longest_us;
	got.last.to_sweep = range.after + 1;
	assert_int_equal(reader_history(reader, &query, &consumer, NULL), 0);
	assert_int_equal(got.last.to_sweep, range.until + 1);
	check_sums(&got, model, range.after, range.until, wanted, query.counters);
	got.after = range.after;
	got.counters = query.counters ? query.counters : COUNTER_BIT(COUNTER_COUNT) - 1;
	query.at_a_time = seed % 9;
	assert_int_equal(reader_history_totals(reader, &query, check_total, &got, NULL), 0);
	assert_true(got.totals || query.ports);
	for (int i = 0; i < HISTORY_SOURCE_COUNT; i++)
		pieces[i] += got.pieces[i];
}

TEST_IN_FOLDER(any_window_adds_up_from_any_pieces)
{
	for (uint64_t seed = 0; seed < test_cases(3); seed++) {
		struct model *model = model_create(seed + 400, 2, 5, 4);
		size_t pieces[HISTORY_SOURCE_COUNT] = { 0 };
		struct reader *reader;
		struct writer *writer;

		assert_true(model->port_count <= MOST_PORTS);
		model->keep_history = true;
		writer = check_open_writer(path);
		check_store(writer, model_step(model));
		reader = check_open_reader(path);
		for (size_t i = 0; i < 1500; i++) {
			/* Half a day, so that there are hours. */
			if (seed)
				model_jump(model, 30000000);
			check_store(writer, model_step(model));
			if (i % 10 == 0)
				check_random_window(reader, model, seed * 100000 + i, pieces);
		}
		writer_close(writer);
		for (uint64_t i = 0; i < 300; i++)
			check_random_window(reader, model, seed * 100000 + 50000 + i, pieces);
		reader_close(reader);
		print_message("# note: %zu single sweeps, %zu chunk sums, %zu hour sums read\n", pieces[HISTORY_RAW],
			      pieces[HISTORY_CHUNK_SUMS], pieces[HISTORY_HOUR_SUMS]);
		assert_true(pieces[HISTORY_RAW] > 0 && pieces[HISTORY_CHUNK_SUMS] > 0);
		assert_true(!seed || pieces[HISTORY_HOUR_SUMS] > 0);
		test_folder_renew();
		model_destroy(model);
	}
}

TEST_IN_FOLDER(a_consumer_can_stop)
{
	struct model *model = model_create(7, 1, 4, 2);
	struct got got = { .model = model, .stop_after = 3, .last.to_sweep = 1, .until = 20 };
	const struct history_consumer consumer = { take_piece, take_delta, &got };
	const struct history_query query = { .until = 20 };
	struct writer *writer;
	struct reader *reader;

	model->keep_history = true;
	writer = check_open_writer(path);
	check_store_steps(writer, model, 20);
	reader = check_open_reader(path);
	assert_int_equal(reader_history(reader, &query, &consumer, NULL), 0);
	assert_int_equal(got.pieces[HISTORY_RAW], 3);
	reader_close(reader);
	writer_close(writer);
	model_destroy(model);
}

/* Its values are used in calculations: every way to read samples stops with one line. */
TEST_IN_FOLDER(a_damaged_window_is_refused)
{
	static const char *const forged[] = { "from_sweep = 0", "from_sweep = to_sweep", "from_sweep = -1 << 46" };
	struct model *model = model_create(7, 1, 4, 2);
	struct got got = { .model = model, .until = 30, .last.to_sweep = 1 };
	const struct history_consumer pieces = { take_piece, take_delta, &got };
	const struct sql_consumer rows = { check_any_header, NULL, NULL };
	struct history_port port = { model->nodes[0].node.guid, 1 };
	struct history_query query = { .until = 30, .ports = &port, .port_count = 1 };

	model->keep_history = true;
	check_collect(path, model, 30, 10);
	for (size_t i = 0; i < sizeof(forged) / sizeof(*forged); i++) {
		struct error err[3] = { 0 };
		struct history_sum sum;
		struct reader *reader;
		char sql[128];

		snprintf(sql, sizeof(sql), "UPDATE chunk_window SET %s WHERE id = 1", forged[i]);
		check_change(path, sql);
		reader = check_open_reader(path);
		assert_int_equal(reader_history(reader, &query, &pieces, &err[0]), ERR_IO);
		assert_int_equal(reader_history_sums(reader, &query, &sum, &err[1]), ERR_IO);
		assert_int_equal(reader_sql(reader, "SELECT 1 FROM sample", 0, &rows, &err[2]), ERR_IO);
		for (int way = 0; way < 3; way++)
			check_error_line(&err[way], "window 1 has an impossible range");
		reader_close(reader);
	}
	model_destroy(model);
}

TEST_IN_FOLDER(a_database_without_sweeps_has_no_history)
{
	struct history_range range;
	struct reader *reader;
	struct writer *writer;

	writer = check_open_writer(path);
	reader = check_open_reader(path);
	assert_int_equal(reader_history_range(reader, 0, 0, &range, NULL), 0);
	assert_int_equal(range.until, 0);
	assert_int_equal(range.after, 0);
	assert_int_equal(range.oldest_us, 0);
	reader_close(reader);
	writer_close(writer);
}

TEST_IN_FOLDER(a_window_begins_at_the_oldest_sweep_although_the_first_clock_was_ahead)
{
	static const char *const ahead[] = { "UPDATE sweep SET wall_us = wall_us + 86400000000 WHERE id = 1",
					     "UPDATE chunk_window SET from_us = from_us + 86400000000 WHERE id = 1" };
	struct model *model = model_create(3, 1, 4, 2);

	model->keep_history = true;
	check_collect(path, model, 30, 10);
	for (size_t i = 0; i < 2; i++) {
		int64_t oldest_us, newest_us;
		struct history_range range;
		struct reader *reader;

		check_change(path, ahead[i]);
		oldest_us = check_integer(path, "SELECT min(w) FROM (SELECT wall_us AS w FROM sweep UNION ALL"
					  " SELECT from_us FROM chunk_window WHERE state > 0)");
		newest_us = check_integer(path, "SELECT wall_us FROM sweep ORDER BY id DESC LIMIT 1");
		reader = check_open_reader(path);
		for (int hours = 0; hours < 48; hours += 47) {
			int64_t since_us = newest_us - hours * INT64_C(3600000000) - US_PER_S;

			assert_int_equal(reader_history_range(reader, since_us, newest_us, &range, NULL), 0);
			assert_int_equal(range.since_us, since_us > oldest_us ? since_us : oldest_us);
			assert_true(range.since_us < newest_us);
		}
		reader_close(reader);
	}
	model_destroy(model);
}
