/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/read/sums.h"

#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "storage/codec/codec.h"
#include "storage/file/db.h"
#include "storage/file/schema.h"
#include "storage/read/readings.h"

/* With a larger part of all ports all rows are read and the others skipped. */
enum { PORTS_BY_KEY = 8, ERRORS_BY_KEY = 64 };

enum { HOUR_SUMS, HOUR_ERRORS, WINDOW_SUMS, WINDOW_ERRORS, SAMPLE_ERRORS, SAMPLE_ERRORS_OF_PORT };

static const char *const statements_sql[] = {
	[HOUR_SUMS] = " FROM hour_sum WHERE hour = ?1",
	[HOUR_ERRORS] = "SELECT port, counter, value FROM hour_error WHERE hour = ?1",
	[WINDOW_SUMS] = " FROM chunk_sum WHERE window = ?1",
	[WINDOW_ERRORS] = "SELECT port, counter, value FROM chunk_error WHERE window = ?1",
	[SAMPLE_ERRORS] = "SELECT port, counter, value, marks FROM error WHERE sweep >= ?1 AND sweep < ?2",
	[SAMPLE_ERRORS_OF_PORT] = ("SELECT e.port, e.counter, e.value, e.marks FROM sweep s CROSS JOIN error e"
				   " ON e.sweep = s.id AND e.port = ?3 WHERE s.id >= ?1 AND s.id < ?2"),
};

/* Compile a statement, unless it was used before. Of sums, only the counters of the query are read. */
static int prepare(struct sums_reader *reader, int which, struct error *err)
{
	struct text sql = { 0 };
	int result;

	if (reader->statements[which])
		return 0;
	if (which == HOUR_SUMS || which == WINDOW_SUMS) {
		text_append(&sql, "SELECT NULL, port, samples, elapsed_us, unknown, reset, saturated");
		for (int i = 0; i < COUNTER_TRAFFIC_COUNT; i++)
			if (reader->query.counters & COUNTER_BIT(i))
				text_appendf(&sql, ", %s", counter_info((enum counter)i)->key);
	}
	text_append(&sql, statements_sql[which]);
	if (which < SAMPLE_ERRORS && reader->by_range)
		text_append(&sql, " AND port >= ?2 AND port < ?3");
	result = text_failed(&sql) ? err_nomem(err) :
		 db_prepare(reader->packed.db, text_chars(&sql), &reader->statements[which], err);
	text_done(&sql);
	return result;
}

/* Adds to a sum that stops at UINT64_MAX. */
static void add_value(uint64_t *sum, uint64_t later)
{
	if (__builtin_add_overflow(*sum, later, sum))
		*sum = UINT64_MAX;
}

/* Add the sum of later sweeps. */
static void port_sum_add(struct port_sum *sum, const struct port_sum *later)
{
	if (!later->samples)
		return;
	if (!sum->samples) {
		*sum = *later;
		return;
	}
	sum->samples += later->samples;
	sum->ever |= later->ever;
	sum->sum.elapsed_us = delta_us_add(sum->sum.elapsed_us, later->sum.elapsed_us);
	sum->sum.known &= later->sum.known;
	sum->sum.reset |= later->sum.reset;
	sum->sum.saturated |= later->sum.saturated;
	for (int i = 0; i < COUNTER_COUNT; i++)
		add_value(&sum->sum.value[i], later->sum.value[i]);
}

void port_sum_add_delta(struct port_sum *sum, const struct delta *later)
{
	struct port_sum one = { .samples = 1, .ever = later->known, .sum = *later };

	for (int i = 0; i < COUNTER_COUNT; i++)
		if (!(later->known & COUNTER_BIT(i)))
			one.sum.value[i] = 0;
	one.sum.reset &= later->known;
	one.sum.saturated &= later->known;
	port_sum_add(sum, &one);
}

/* The same for a stored sample, without its rows of error (marks and error counters). */
static void add_sample(struct port_sum *sum, const struct codec_sample *sample)
{
	counter_set known = COUNTER_ALL_SET & ~sample->unknown;

	if (!sum->samples++)
		sum->sum.known = COUNTER_ALL_SET;
	sum->sum.elapsed_us = delta_us_add(sum->sum.elapsed_us, sample->elapsed_us);
	sum->sum.known &= known;
	sum->ever |= known;
	/* Unknown values are 0. */
	for (int i = 0; i < COUNTER_TRAFFIC_COUNT; i++)
		add_value(&sum->sum.value[i], sample->value[i]);
}

static struct port_sum *sum_of(struct sums_reader *reader, uint64_t port)
{
	const struct sums_query *query = &reader->query;
	size_t index = port - query->first;

	/* Nearly always the port after the previous one. */
	if (query->ports) {
		bool is_next = reader->next < query->port_count && query->ports[reader->next] == port;

		index = is_next ? reader->next : ports_find(query->ports, query->port_count, port);
		reader->next = index + 1 < query->port_count ? index + 1 : 0;
	}
	return index < reader->count ? &reader->by_port[index] : NULL;
}

static void read_sum(sqlite3_stmt *row, counter_set counters, struct port_sum *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->samples = db_u64(row, SUM_ROW_SAMPLES);
	ret->sum.elapsed_us = db_us(row, SUM_ROW_ELAPSED);
	ret->sum.known = counters & ~db_u64(row, SUM_ROW_UNKNOWN);
	ret->ever = ret->sum.known;
	ret->sum.reset = db_u64(row, SUM_ROW_RESET);
	ret->sum.saturated = db_u64(row, SUM_ROW_SATURATED);
	for (int i = 0, column = SUM_ROW_TRAFFIC; i < COUNTER_TRAFFIC_COUNT; i++) {
		if (!(counters & COUNTER_BIT(i)))
			continue;
		ret->sum.value[i] = db_u64(row, column);
		if (!(ret->ever & COUNTER_BIT(i)) && sqlite3_column_type(row, column) != SQLITE_NULL)
			ret->ever |= COUNTER_BIT(i);
		column++;
	}
}

/* Select the sums of one window or hour, with by_range of ports [@from_port, @to_port). */
static void bind_rows(const struct sums_reader *reader, sqlite3_stmt *rows, int64_t from_port, int64_t to_port)
{
	sqlite3_bind_int64(rows, 1, reader->part->unit.id);
	if (reader->by_range)
		DB_BIND(rows, 2, from_port, to_port);
}

static int add_rows(struct sums_reader *reader, int64_t from_port, int64_t to_port, struct error *err)
{
	bool hour = reader->part->source == PLAN_HOUR_SUMS;
	int which = hour ? HOUR_SUMS : WINDOW_SUMS, which_errors = hour ? HOUR_ERRORS : WINDOW_ERRORS;
	sqlite3_stmt *sums, *errors;
	struct port_sum read, *sum;
	int result = prepare(reader, which, err);

	if (result < 0)
		return result;
	sums = reader->statements[which];
	bind_rows(reader, sums, from_port, to_port);
	while ((result = db_step(sums, err)) > 0) {
		sum = sum_of(reader, db_u64(sums, SUM_ROW_PORT));
		if (!sum)
			continue;
		read_sum(sums, reader->query.counters, &read);
		port_sum_add(sum, &read);
	}
	sqlite3_reset(sums);
	if (!result && reader->query.counters & COUNTER_ERROR_SET)
		result = prepare(reader, which_errors, err);
	errors = reader->statements[which_errors];
	if (result < 0 || !(reader->query.counters & COUNTER_ERROR_SET))
		return result;
	bind_rows(reader, errors, from_port, to_port);
	while ((result = db_step(errors, err)) > 0) {
		uint64_t counter = db_u64(errors, 1);

		sum = sum_of(reader, db_u64(errors, 0));
		if (!sum || counter >= COUNTER_COUNT)
			continue;
		sum->ever |= COUNTER_BIT(counter);
		add_value(&sum->sum.value[counter], db_u64(errors, 2));
	}
	sqlite3_reset(errors);
	return result;
}

static int add_sums(struct sums_reader *reader, struct error *err)
{
	const uint32_t *ports = reader->query.ports;
	int result = 0;

	if (!reader->by_key)
		return add_rows(reader, reader->packed.from_port, reader->packed.to_port, err);
	for (size_t i = 0; !result && i < reader->query.port_count; i++)
		result = add_rows(reader, ports[i], ports[i] + 1, err);
	return result;
}

static int add_chunk(void *ctx, const struct packed_row *row, struct error *err)
{
	struct sums_reader *reader = ctx;
	const struct plan_part *part = reader->part;
	struct port_sum *sum = sum_of(reader, row->from_port);
	struct codec_sum chunk;

	(void)err;
	if (!sum)
		return 0;
	if (codec_sum_chunk(row->data, row->len, (unsigned)(row->to_sweep - row->from_sweep),
			    (unsigned)(part->from_sweep - row->from_sweep),
			    (unsigned)(part->to_sweep - row->from_sweep), &chunk) < 0)
		return PACKED_DAMAGED;
	if (!chunk.samples)
		return 0;
	if (!sum->samples)
		sum->sum.known = COUNTER_ALL_SET;
	sum->samples += chunk.samples;
	sum->sum.elapsed_us = delta_us_add(sum->sum.elapsed_us, (int64_t)(chunk.elapsed_us & INT64_MAX));
	sum->sum.known &= ~chunk.unknown;
	sum->ever |= COUNTER_ALL_SET & ~chunk.never;
	for (int i = 0; i < COUNTER_TRAFFIC_COUNT; i++)
		add_value(&sum->sum.value[i], chunk.value[i]);
	return 0;
}

static int add_block(void *ctx, const struct packed_row *row, struct error *err)
{
	struct codec_sample samples[CODEC_BLOCK_PORTS];
	struct sums_reader *reader = ctx;

	(void)err;
	if (hot_read_block(row->data, row->len, samples) < 0)
		return PACKED_DAMAGED;
	for (uint32_t i = 0; i < CODEC_BLOCK_PORTS; i++) {
		struct port_sum *sum = samples[i].there ? sum_of(reader, row->from_port + i) : NULL;

		if (sum)
			add_sample(sum, &samples[i]);
	}
	return 0;
}

/* Rows of error of the samples in a part. */
static int add_errors(struct sums_reader *reader, int which, uint32_t port, struct error *err)
{
	int result = prepare(reader, which, err);
	sqlite3_stmt *rows = reader->statements[which];

	if (result < 0)
		return result;
	DB_BIND(rows, 1, reader->part->from_sweep, reader->part->to_sweep, port);
	while ((result = db_step(rows, err)) > 0) {
		struct port_sum *sum = sum_of(reader, db_u64(rows, 0));
		uint64_t counter = db_u64(rows, 1), value = db_u64(rows, 2);
		int marks = sqlite3_column_int(rows, 3);

		if (!sum || !sum->samples || counter >= COUNTER_COUNT)
			continue;
		if (marks & MARK_RESET)
			sum->sum.reset |= COUNTER_BIT(counter);
		if (marks & MARK_SATURATED)
			sum->sum.saturated |= COUNTER_BIT(counter);
		/* Rows of traffic counters have only marks: the value is in the sample. */
		if (counter >= COUNTER_TRAFFIC_COUNT)
			add_value(&sum->sum.value[counter], value);
	}
	sqlite3_reset(rows);
	return result;
}

static int add_samples(struct sums_reader *reader, struct error *err)
{
	const struct sums_query *query = &reader->query;
	int result = packed_read(&reader->packed, reader->part,
				 reader->part->source == PLAN_CHUNKS ? add_chunk : add_block, reader, err);

	if (result < 0 || !query->ports || query->port_count > ERRORS_BY_KEY)
		return result ? result : add_errors(reader, SAMPLE_ERRORS, 0, err);
	for (size_t i = 0; !result && i < query->port_count; i++)
		result = add_errors(reader, SAMPLE_ERRORS_OF_PORT, query->ports[i], err);
	return result;
}

int sums_begin(struct sums_reader *reader, sqlite3 *db, const struct sums_query *query, struct port_sum *by_port,
	       size_t count, struct error *err)
{
	size_t listed = query->ports ? query->port_count : 0;
	uint32_t first = listed ? query->ports[0] : query->first;
	uint32_t end = listed ? query->ports[listed - 1] + 1 : first + (uint32_t)count;
	int64_t ports = 0;
	int result = db_integer(db, "SELECT max(id) FROM port", 0, &ports, err);

	*reader = (struct sums_reader){ .query = *query, .by_port = by_port, .count = count };
	if (!query->counters)
		reader->query.counters = COUNTER_ALL_SET;
	reader->by_key = query->ports && (int64_t)query->port_count <= ports / PORTS_BY_KEY + 1;
	/* A comparison for each row takes a tenth of the time, so not for all rows. */
	reader->by_range = reader->by_key || (int64_t)(end - first) < ports;
	packed_begin(&reader->packed, db, reader->by_key ? query->ports : NULL, query->port_count);
	reader->packed.from_port = first;
	reader->packed.to_port = end;
	return result;
}

int sums_add(struct sums_reader *reader, const struct plan_part *part, struct error *err)
{
	bool is_sum = part->source == PLAN_HOUR_SUMS || part->source == PLAN_WINDOW_SUMS;

	reader->part = part;
	return is_sum ? add_sums(reader, err) : add_samples(reader, err);
}

void sums_end(struct sums_reader *reader)
{
	for (size_t i = 0; i < sizeof(statements_sql) / sizeof(*statements_sql); i++)
		sqlite3_finalize(reader->statements[i]);
	packed_end(&reader->packed);
}

int sums_load(sqlite3 *db, const struct sums_query *query, struct port_sum *by_port, size_t count,
	      struct sums_origin *ret, struct error *err)
{
	struct sums_reader reader;
	struct window_plan plan = { 0 };
	struct plan_part part;
	unsigned sources = 0;
	int result = sums_begin(&reader, db, query, by_port, count, err);

	if (!result)
		result = window_plan_begin(&plan, db, query->after, query->until, PLAN_ANY_SUM, err);
	while (!result && (result = window_plan_next(&plan, &part, err)) > 0) {
		sources |= 1u << part.source;
		result = sums_add(&reader, &part, err);
	}
	if (!result && ret)
		*ret = (struct sums_origin){ sources, reader.packed.damage };
	window_plan_end(&plan);
	sums_end(&reader);
	return result;
}
