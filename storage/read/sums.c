/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/read/sums.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "storage/codec/codec.h"
#include "storage/file/db.h"
#include "storage/read/raw_sums.h"
#include "storage/read/readings.h"
#include "storage/file/schema.h"

/* Columns of a sum in "SELECT *": tables.c. */
enum { SUM_PORT = 1, SUM_SAMPLES, SUM_ELAPSED, SUM_UNKNOWN, SUM_RESET, SUM_SATURATED, SUM_TRAFFIC };

/* Put a later sum behind an earlier one. */
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
		port_sum_add_value(&sum->sum.value[i], later->sum.value[i]);
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

void port_sum_add_sample(struct port_sum *sum, const struct codec_sample *sample)
{
	counter_set known = COUNTER_ALL_SET & ~sample->unknown;

	if (!sum->samples++)
		sum->sum.known = COUNTER_ALL_SET;
	sum->sum.elapsed_us = delta_us_add(sum->sum.elapsed_us, sample->elapsed_us);
	sum->sum.known &= known;
	sum->ever |= known;
	/* What is not known is 0 in a sample. */
	for (int i = 0; i < COUNTER_TRAFFIC_COUNT; i++)
		port_sum_add_value(&sum->sum.value[i], sample->value[i]);
}

/* Walks hours, windows and raw samples over a range of sweeps. */
struct gathering {
	sqlite3 *db;
	sqlite3_stmt *hour, *window;           /* the first that ends behind a sweep */
	sqlite3_stmt *hour_sums, *hour_errors; /* rows of one of them */
	sqlite3_stmt *window_sums, *window_errors;
	uint32_t port;      /* the only one, 0: all from `first` on */
	uint32_t first;
	struct port_sum *by_port;
	size_t count;
	struct sums_cover cover;
};

static struct port_sum *sum_of(const struct gathering *gathering, uint64_t port)
{
	if (gathering->port)
		return port == gathering->port ? gathering->by_port : NULL;
	return port - gathering->first < gathering->count ? &gathering->by_port[port - gathering->first] : NULL;
}

static void read_sum(sqlite3_stmt *row, struct port_sum *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->samples = db_u64(row, SUM_SAMPLES);
	ret->sum.elapsed_us = db_us(row, SUM_ELAPSED);
	ret->sum.known = COUNTER_ALL_SET & ~db_u64(row, SUM_UNKNOWN);
	ret->ever = ret->sum.known;
	ret->sum.reset = db_u64(row, SUM_RESET);
	ret->sum.saturated = db_u64(row, SUM_SATURATED);
	for (int i = 0; i < COUNTER_TRAFFIC_COUNT; i++) {
		ret->sum.value[i] = db_u64(row, SUM_TRAFFIC + i);
		/* Only of what is not always known has to be asked whether it ever was. */
		if (!(ret->ever & COUNTER_BIT(i)) && sqlite3_column_type(row, SUM_TRAFFIC + i) != SQLITE_NULL)
			ret->ever |= COUNTER_BIT(i);
	}
}

static int add_rows(struct gathering *gathering, sqlite3_stmt *sums, sqlite3_stmt *errors, int64_t id,
		    struct error *err)
{
	struct port_sum read, *sum;
	int result;

	sqlite3_bind_int64(sums, 1, id);
	sqlite3_bind_int64(errors, 1, id);
	if (gathering->port) {
		sqlite3_bind_int64(sums, 2, gathering->port);
		sqlite3_bind_int64(errors, 2, gathering->port);
	}
	while ((result = db_step(sums, err)) > 0) {
		sum = sum_of(gathering, db_u64(sums, SUM_PORT));
		if (!sum)
			continue;
		read_sum(sums, &read);
		port_sum_add(sum, &read);
	}
	sqlite3_reset(sums);
	while (!result && (result = db_step(errors, err)) > 0) {
		uint64_t counter = db_u64(errors, 1);

		result = 0;
		sum = sum_of(gathering, db_u64(errors, 0));
		if (!sum || counter >= COUNTER_COUNT)
			continue;
		sum->ever |= COUNTER_BIT(counter);
		port_sum_add_value(&sum->sum.value[counter], db_u64(errors, 2));
	}
	sqlite3_reset(errors);
	return result;
}

/* The samples of one port: error counters that moved are looked for where there may be any. */
static int add_port(struct gathering *gathering, struct delta_scan *scan, struct error *err)
{
	struct delta delta;
	int result = 0;

	while (!result && (result = delta_scan_next(scan, err)) > 0) {
		result = delta_scan_read(scan, &delta, err);
		if (!result)
			port_sum_add_delta(gathering->by_port, &delta);
	}
	return result;
}

static void note_damage(struct sums_cover *cover, size_t count, const char *first)
{
	if (count && !cover->damaged)
		snprintf(cover->damage, sizeof(cover->damage), "%s", first);
	cover->damaged += count;
}

static int add_raw_of_port(struct gathering *gathering, int64_t after, int64_t until, struct error *err)
{
	struct delta_scan scan;
	int result = delta_scan_begin_ports(&scan, gathering->db, after, until, &gathering->port, 1, err);

	if (!result)
		result = add_port(gathering, &scan, err);
	note_damage(&gathering->cover, scan.damaged, scan.damage);
	delta_scan_end(&scan);
	return result;
}

static int add_raw(struct gathering *gathering, int64_t after, int64_t until, struct error *err)
{
	struct raw_damage damage = { 0 };
	int result;

	gathering->cover.from |= SUMS_RAW;
	if (gathering->port)
		return add_raw_of_port(gathering, after, until, err);
	result = raw_sums_add(gathering->db, after, until, gathering->first, gathering->by_port, gathering->count,
			      &damage, err);
	note_damage(&gathering->cover, damage.count, damage.first);
	return result;
}

struct run {
	int64_t id, from, to;
	int state;
};

/* The first hour or window that ends behind a sweep. Return: 1, 0 where there is none, or an error. */
static int find_run(sqlite3_stmt *find, int64_t sweep, struct run *ret, struct error *err)
{
	int result;

	sqlite3_bind_int64(find, 1, sweep);
	result = db_step(find, err);
	if (result > 0)
		*ret = (struct run){ .id = sqlite3_column_int64(find, 0), .from = sqlite3_column_int64(find, 1),
				     .to = sqlite3_column_int64(find, 2), .state = sqlite3_column_int(find, 3) };
	sqlite3_reset(find);
	return result;
}

/* Add what begins at sweep @at. Return: the next sweep to go on from, or a negative error. */
static int64_t add_from(struct gathering *gathering, int64_t at, int64_t until, struct error *err)
{
	struct run hour = { 0 }, window = { 0 };
	int has_window = find_run(gathering->window, at, &window, err);
	int has_hour = has_window < 0 ? has_window : find_run(gathering->hour, at, &hour, err);
	/* The windows of the sweep expired, its hour is still there. */
	bool hour_only = has_hour > 0 && (has_window <= 0 || (window.from > at && window.from > hour.from));
	int64_t end;
	int result;

	if (has_hour < 0)
		return has_hour;
	if (has_hour && hour.to - 1 <= until && (hour.from == at || hour_only)) {
		gathering->cover.from |= SUMS_HOURS;
		if (hour.from < at)
			gathering->cover.after = hour.from - 1;
		result = add_rows(gathering, gathering->hour_sums, gathering->hour_errors, hour.id, err);
		return result ? result : hour.to;
	}
	if (hour_only) {
		gathering->cover.until = hour.from - 1;
		return until + 1;
	}
	if (has_window && window.to - 1 <= until && (window.from >= at || window.state == WINDOW_SUMS_ONLY)) {
		gathering->cover.from |= SUMS_WINDOWS;
		if (window.from < at)
			gathering->cover.after = window.from - 1;
		result = add_rows(gathering, gathering->window_sums, gathering->window_errors, window.id, err);
		return result ? result : window.to;
	}
	if (has_window && window.state == WINDOW_SUMS_ONLY) {
		gathering->cover.until = window.from - 1;
		return until + 1;
	}
	end = has_window && window.to - 1 < until ? window.to - 1 : until;
	result = add_raw(gathering, at - 1, end, err);
	return result ? result : end + 1;
}

static int prepare(struct gathering *gathering, struct error *err)
{
#define FIND(table, states) \
	"SELECT id, from_sweep, to_sweep, state FROM " table " WHERE to_sweep > ?1 AND " states \
	" ORDER BY to_sweep LIMIT 1"
#define SUMS(table, key, and) "SELECT * FROM " table "_sum WHERE " key " = ?1" and
#define ERRORS(table, key, and) "SELECT port, counter, value FROM " table "_error WHERE " key " = ?1" and
#define ONE " AND port = ?2"
	sqlite3 *db = gathering->db;
	bool one = gathering->port != 0;
	int result = db_prepare(db, FIND("hour", "state = 1"), &gathering->hour, err);

	if (!result)
		result = db_prepare(db, FIND("chunk_window", "state > 0"), &gathering->window, err);
	if (!result)
		result = db_prepare(db, one ? SUMS("hour", "hour", ONE) : SUMS("hour", "hour", ""),
				    &gathering->hour_sums, err);
	if (!result)
		result = db_prepare(db, one ? ERRORS("hour", "hour", ONE) : ERRORS("hour", "hour", ""),
				    &gathering->hour_errors, err);
	if (!result)
		result = db_prepare(db, one ? SUMS("chunk", "window", ONE) : SUMS("chunk", "window", ""),
				    &gathering->window_sums, err);
	if (!result)
		result = db_prepare(db, one ? ERRORS("chunk", "window", ONE) : ERRORS("chunk", "window", ""),
				    &gathering->window_errors, err);
	return result;
}

int sums_load(sqlite3 *db, int64_t after, int64_t until, uint32_t port, struct port_sum *by_port, size_t count,
	      struct sums_cover *ret, struct error *err)
{
	struct gathering gathering = { .db = db, .port = port, .by_port = by_port, .count = count,
				       .cover = { .after = after, .until = until } };
	int64_t at = after < 0 ? 1 : after + 1;
	int result = prepare(&gathering, err);

	while (!result && at <= until) {
		int64_t next = add_from(&gathering, at, until, err);

		/* Only a damaged row ends before it begins. */
		if (next >= 0 && next <= at)
			next = err_set(err, ERR_IO, "%s is damaged (a window or hour ends before sweep %lld, which "
				       "it is to hold); restore a backup", sqlite3_db_filename(db, "main"),
				       (long long)at);
		if (next < 0)
			result = (int)next;
		at = next;
	}
	sqlite3_finalize(gathering.hour);
	sqlite3_finalize(gathering.window);
	sqlite3_finalize(gathering.hour_sums);
	sqlite3_finalize(gathering.hour_errors);
	sqlite3_finalize(gathering.window_sums);
	sqlite3_finalize(gathering.window_errors);
	if (!result && ret)
		*ret = gathering.cover;
	return result;
}

static int find_sweep(sqlite3 *db, int64_t at_us, int64_t *ret, struct error *err)
{
	sqlite3_stmt *row;
	int result = db_prepare(db, "SELECT id FROM sweep WHERE wall_us <= ? ORDER BY wall_us DESC, id DESC LIMIT 1",
				&row, err);

	if (result < 0)
		return result;
	sqlite3_bind_int64(row, 1, at_us);
	result = db_step(row, err);
	if (result >= 0)
		*ret = result ? sqlite3_column_int64(row, 0) : 0;
	sqlite3_finalize(row);
	return result < 0 ? result : 0;
}

int sums_find_sweeps(sqlite3 *db, int64_t from_us, int64_t until_us, int64_t *ret_after, int64_t *ret_until,
		     struct error *err)
{
	int64_t after = 0, until = 0;
	int result = find_sweep(db, until_us, &until, err);

	if (!result)
		result = find_sweep(db, from_us, &after, err);
	if (result < 0)
		return result;
	*ret_until = until;
	*ret_after = after < until ? after : until;
	return 0;
}

int sums_writer_init(struct sums_writer *writer, sqlite3 *db, const char *table, struct error *err)
{
	struct text sql = { 0 };
	char error[96];
	int result;

	memset(writer, 0, sizeof(*writer));
	text_appendf(&sql, "REPLACE INTO %s_sum VALUES (?, ?, ?, ?, ?, ?, ?", table);
	for (int i = 0; i < COUNTER_TRAFFIC_COUNT; i++)
		text_append(&sql, ", ?");
	text_append(&sql, ")");
	snprintf(error, sizeof(error), "REPLACE INTO %s_error VALUES (?, ?, ?, ?)", table);
	result = text_failed(&sql) ? err_nomem(err) : db_prepare(db, text_chars(&sql), &writer->sum, err);
	text_done(&sql);
	return result ? result : db_prepare(db, error, &writer->error, err);
}

void sums_writer_done(struct sums_writer *writer)
{
	sqlite3_finalize(writer->sum);
	sqlite3_finalize(writer->error);
	memset(writer, 0, sizeof(*writer));
}

int sums_write_errors(struct sums_writer *writer, int64_t id, uint32_t port, const struct port_sum *sum,
		      struct error *err)
{
	const struct delta *delta = &sum->sum;
	int result = 0;

	for (int i = COUNTER_TRAFFIC_COUNT; !result && i < COUNTER_COUNT; i++) {
		/* A 0 says of a counter that is not always known that it was at times: see read_sum(). */
		if (!delta->value[i] && (delta->known & COUNTER_BIT(i) || !(sum->ever & COUNTER_BIT(i))))
			continue;
		sqlite3_bind_int64(writer->error, 1, id);
		sqlite3_bind_int64(writer->error, 2, port);
		sqlite3_bind_int(writer->error, 3, i);
		db_bind_u64(writer->error, 4, delta->value[i]);
		result = db_run(writer->error, err);
	}
	return result;
}

int sums_write(struct sums_writer *writer, int64_t id, uint32_t port, const struct port_sum *sum, struct error *err)
{
	const struct delta *delta = &sum->sum;
	int result;

	if (!sum->samples)
		return 0;
	sqlite3_bind_int64(writer->sum, 1, id);
	sqlite3_bind_int64(writer->sum, 1 + SUM_PORT, port);
	db_bind_u64(writer->sum, 1 + SUM_SAMPLES, sum->samples);
	sqlite3_bind_int64(writer->sum, 1 + SUM_ELAPSED, delta->elapsed_us);
	db_bind_u64(writer->sum, 1 + SUM_UNKNOWN, COUNTER_ALL_SET & ~delta->known);
	db_bind_u64(writer->sum, 1 + SUM_RESET, delta->reset);
	db_bind_u64(writer->sum, 1 + SUM_SATURATED, delta->saturated);
	for (int i = 0; i < COUNTER_TRAFFIC_COUNT; i++) {
		if (sum->ever & COUNTER_BIT(i))
			db_bind_u64(writer->sum, 1 + SUM_TRAFFIC + i, delta->value[i]);
		else
			sqlite3_bind_null(writer->sum, 1 + SUM_TRAFFIC + i);
	}
	result = db_run(writer->sum, err);
	return result ? result : sums_write_errors(writer, id, port, sum, err);
}

int sums_read_windows(sqlite3 *db, int64_t from, int64_t to, uint32_t from_port, uint32_t to_port,
		      struct port_sum *by_port, struct error *err)
{
	struct gathering gathering = { .db = db, .first = from_port, .by_port = by_port,
				       .count = to_port - from_port };
	sqlite3_stmt *sums = NULL, *errors = NULL, *windows = NULL;
	int result = db_prepare(db, "SELECT * FROM chunk_sum WHERE window = ?1 AND port >= ?2 AND port < ?3", &sums,
				err);

	if (!result)
		result = db_prepare(db, "SELECT port, counter, value FROM chunk_error WHERE window = ?1 AND port >= ?2"
				    " AND port < ?3", &errors, err);
	if (!result)
		result = db_prepare(db, "SELECT id FROM chunk_window WHERE id >= ?1 AND id < ?2 ORDER BY id", &windows,
				    err);
	if (!result) {
		sqlite3_bind_int64(windows, 1, from);
		sqlite3_bind_int64(windows, 2, to);
	}
	while (!result && (result = db_step(windows, err)) > 0) {
		sqlite3_bind_int64(sums, 2, from_port);
		sqlite3_bind_int64(errors, 2, from_port);
		sqlite3_bind_int64(sums, 3, to_port);
		sqlite3_bind_int64(errors, 3, to_port);
		result = add_rows(&gathering, sums, errors, sqlite3_column_int64(windows, 0), err);
	}
	sqlite3_finalize(windows);
	sqlite3_finalize(sums);
	sqlite3_finalize(errors);
	return result;
}
