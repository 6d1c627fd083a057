/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/pack/compact.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "storage/file/db.h"
#include "storage/file/schema.h"

#define US_PER_HOUR (3600 * US_PER_S)

/* Sweeps of a window, by the interval in us (0: single sweeps). */
static unsigned count_window_sweeps(int64_t interval_us)
{
	/* Measured: 120 sweeps at 1 s, 60 at 10 s and above; linear in between. */
	if (interval_us <= 0 || interval_us >= 10 * US_PER_S)
		return 60;
	if (interval_us <= US_PER_S)
		return 120;
	return 120 - (unsigned)((interval_us - US_PER_S) * 60 / (9 * US_PER_S));
}

/* Sweeps [?1, ?2), also those without a row of sweep in a damaged database. Ports are [?3, ?4). */
#define EACH_SWEEP \
	"WITH RECURSIVE w(sweep) AS (SELECT ?1 UNION ALL SELECT sweep + 1 FROM w WHERE sweep + 1 < ?2) "
_Static_assert(HOT_BLOCKS == 65536 && CODEC_BLOCK_PORTS == 32, "as in READ_HOT");

static const char *const statements_sql[COMPACT_STATEMENTS] = {
	[READ_HOT] = EACH_SWEEP "SELECT h.id, h.samples FROM w CROSS JOIN hot h ON h.id >= w.sweep * 65536 + ?3 / 32"
		     " AND h.id < w.sweep * 65536 + ?4 / 32",
	[READ_ERRORS] = EACH_SWEEP "SELECT e.port, e.sweep, e.counter, e.value, e.marks FROM w CROSS JOIN error e"
			" ON e.sweep = w.sweep AND e.port >= ?3 AND e.port < ?4 ORDER BY e.port, e.sweep",
	[READ_ABSOLUTES] = EACH_SWEEP "SELECT a.* FROM w CROSS JOIN absolute a"
			   " ON a.sweep = w.sweep AND a.port >= ?3 AND a.port < ?4",
};

/* REPLACE: a step may be repeated. */
static const struct { const char *table; int columns; } written[COMPACT_STATEMENTS] = {
	[WRITE_CHUNK] = { "chunk", 2 },
	[WRITE_ABSOLUTE] = { "absolute", ABSOLUTE_COUNTERS + COUNTER_COUNT },
	[WRITE_WINDOW_SUM] = { "chunk_sum", SUM_ROW_TRAFFIC + COUNTER_TRAFFIC_COUNT },
	[WRITE_WINDOW_ERROR] = { "chunk_error", 4 },
	[WRITE_HOUR_SUM] = { "hour_sum", SUM_ROW_TRAFFIC + COUNTER_TRAFFIC_COUNT },
	[WRITE_HOUR_ERROR] = { "hour_error", 4 },
};

int compact_init(struct compaction *compaction, sqlite3 *db, unsigned window_sweeps, struct error *err)
{
	int result;

	memset(compaction, 0, sizeof(*compaction));
	compaction->db = db;
	compaction->window_sweeps = window_sweeps;
	/* For compact_hot(). */
	result = db_exec(db, "CREATE TEMP TABLE IF NOT EXISTS hot_rest (id INTEGER PRIMARY KEY, samples BLOB)", err);
	for (size_t i = 0; !result && i < COMPACT_STATEMENTS; i++) {
		if (statements_sql[i])
			result = db_prepare(db, statements_sql[i], &compaction->statements[i], err);
		else
			result = db_prepare_replace(db, written[i].table, written[i].columns,
						    &compaction->statements[i], err);
	}
	return result;
}

/* The window is complete; the readings of its last sweep are the first ones of the next window. */
static void end_window(struct compaction *compaction)
{
	free(compaction->offsets_us);
	stripe_free(compaction->stripe);
	bytes_done(&compaction->packed); /* it grew to the size of the largest window */
	compaction->offsets_us = NULL;
	compaction->stripe = NULL;
	compaction->window = 0;
}

/* Discard the window: it starts again from the database. */
static void leave_window(struct compaction *compaction)
{
	end_window(compaction);
	free(compaction->last);
	compaction->last = NULL;
}

void compact_done(struct compaction *compaction)
{
	leave_window(compaction);
	for (size_t i = 0; i < COMPACT_STATEMENTS; i++)
		sqlite3_finalize(compaction->statements[i]);
	memset(compaction->statements, 0, sizeof(compaction->statements));
}

int compact_begin(struct compaction *compaction, struct error *err)
{
	return db_exec(compaction->db, "BEGIN IMMEDIATE", err);
}

int compact_end(struct compaction *compaction, int result, struct error *err)
{
	if (!result)
		result = db_exec(compaction->db, "COMMIT", err);
	if (result < 0 && !sqlite3_get_autocommit(compaction->db))
		sqlite3_exec(compaction->db, "ROLLBACK", NULL, NULL, NULL);
	return result;
}

/*
 * The end of the window that begins with @from: its number of sweeps, or, if at least half full, the
 * end of the hour of the wall clock. @ret_to: 0 if it is not full yet.
 */
static int find_end(struct compaction *compaction, int64_t from, int64_t *ret_to, int64_t wall_us[2],
		    struct error *err)
{
	unsigned full = compaction->window_sweeps, count = 0;
	sqlite3_stmt *rows;
	int result = db_prepare(compaction->db, "SELECT id, wall_us, interval_us FROM sweep WHERE id >= ? ORDER BY id",
				&rows, err);

	*ret_to = 0;
	if (result < 0)
		return result;
	sqlite3_bind_int64(rows, 1, from);
	while ((result = db_step(rows, err)) > 0) {
		int64_t id = sqlite3_column_int64(rows, 0), at_us = db_us(rows, 1);

		if (!full)
			full = count_window_sweeps(sqlite3_column_int64(rows, 2));
		if (full > CODEC_CHUNK_SWEEPS)
			full = CODEC_CHUNK_SWEEPS;
		if (!count)
			wall_us[0] = at_us;
		/* In a damaged database sweeps may be missing. */
		if (count && (id - from >= CODEC_CHUNK_SWEEPS ||
			      (2 * count >= full && at_us / US_PER_HOUR != wall_us[0] / US_PER_HOUR))) {
			*ret_to = id - from > CODEC_CHUNK_SWEEPS ? from + CODEC_CHUNK_SWEEPS : id;
			break;
		}
		wall_us[1] = at_us;
		if (++count >= full) {
			*ret_to = id + 1;
			break;
		}
	}
	sqlite3_finalize(rows);
	return result < 0 ? result : 0;
}

static int load_offsets(struct compaction *compaction, struct error *err)
{
	sqlite3_stmt *rows;
	int result = db_prepare(compaction->db, "SELECT id, wall_us - start_us FROM sweep WHERE id >= ? AND id < ?",
				&rows, err);

	if (result < 0)
		return result;
	DB_BIND(rows, 1, compaction->from_sweep, compaction->to_sweep);
	while ((result = db_step(rows, err)) > 0)
		compaction->offsets_us[sqlite3_column_int64(rows, 0) - compaction->from_sweep] =
			db_us(rows, 1);
	sqlite3_finalize(rows);
	return result;
}

/* The last readings before the window: those of the previous window, else from the database. */
static int load_last(struct compaction *compaction, uint32_t port_count, struct error *err)
{
	bool follows = compaction->last && compaction->last_sweep == compaction->from_sweep - 1 &&
		       compaction->port_count <= port_count && !compaction->next_port;
	size_t known = follows ? compaction->port_count : 0;
	struct stored_reading *last = reallocarray(compaction->last, port_count, sizeof(*last));
	int result;

	if (!last)
		return err_nomem(err);
	memset(&last[known], 0, (port_count - known) * sizeof(*last));
	compaction->last = last;
	compaction->port_count = port_count;
	/* In a window that an earlier run began, the readings of its first ports are not updated. */
	compaction->last_sweep = compaction->next_port ? -1 : compaction->to_sweep - 1;
	if (follows)
		return 0;
	result = db_exec(compaction->db, "BEGIN", err);
	if (result < 0)
		return result;
	result = readings_load(compaction->db, compaction->from_sweep - 1, last, port_count, err);
	sqlite3_exec(compaction->db, "ROLLBACK", NULL, NULL, NULL); /* it only read */
	return result;
}

/* Loads what the steps of a window need. */
static int enter_window(struct compaction *compaction, struct error *err)
{
	size_t sweeps = (size_t)(compaction->to_sweep - compaction->from_sweep);
	int64_t ports = 0;
	int result = db_integer(compaction->db, "SELECT max(id) FROM port", 0, &ports, err);

	if (result < 0)
		return result;
	compaction->offsets_us = calloc(sweeps, sizeof(*compaction->offsets_us));
	compaction->stripe = calloc(1, sizeof(*compaction->stripe));
	if (!compaction->offsets_us || !compaction->stripe)
		return err_nomem(err);
	result = load_offsets(compaction, err);
	return result ? result : load_last(compaction, (uint32_t)ports + 1, err);
}

/* An unfinished window. Return: 1, 0 without one, or an error. */
static int find_unfinished(struct compaction *compaction, struct error *err)
{
	int64_t row[4];
	int result = db_row(compaction->db, "SELECT id, from_sweep, to_sweep, next_port FROM chunk_window"
			    " WHERE state = 0 ORDER BY id DESC LIMIT 1", NULL, 0, row, 4, err);

	if (result <= 0)
		return result;
	if (row[1] < 1 || row[2] <= row[1] || row[2] - row[1] > CODEC_CHUNK_SWEEPS || row[3] < 0 ||
	    row[3] >= HISTORY_PORTS || row[3] % COMPACT_PORTS)
		return err_set(err, ERR_IO, "%s is damaged (window %lld has an impossible range of sweeps); "
			       "restore a backup", sqlite3_db_filename(compaction->db, "main"), (long long)row[0]);
	compaction->window = row[0];
	compaction->from_sweep = row[1];
	compaction->to_sweep = row[2];
	compaction->next_port = (uint32_t)row[3];
	return 1;
}

static int insert_window(struct compaction *compaction, const int64_t wall_us[2], struct error *err)
{
	const int64_t row[] = { compaction->window, compaction->from_sweep, compaction->to_sweep, wall_us[0],
				wall_us[1] };
	int result = compact_begin(compaction, err);

	if (!result)
		result = db_row(compaction->db, "INSERT INTO chunk_window (id, from_sweep, to_sweep, from_us, to_us,"
				" state, next_port) VALUES (?, ?, ?, ?, ?, 0, 0)", row, 5, NULL, 0, err);
	return compact_end(compaction, result, err);
}

/* Begin the next window, if it is full. Return: 1, 0 if not, or an error. */
static int find_next(struct compaction *compaction, struct error *err)
{
	int64_t last[2], to, wall_us[2] = { 0 };
	int result = db_row(compaction->db, "SELECT (SELECT max(id) FROM chunk_window), coalesce((SELECT max(to_sweep)"
			    " FROM chunk_window), (SELECT min(id) FROM sweep))", NULL, 0, last, 2, err);

	if (result < 0 || !last[1])
		return result < 0 ? result : 0;
	result = find_end(compaction, last[1], &to, wall_us, err);
	if (result < 0 || !to)
		return result;
	compaction->window = last[0] + 1;
	compaction->from_sweep = last[1];
	compaction->to_sweep = to;
	compaction->next_port = 0;
	result = insert_window(compaction, wall_us, err);
	return result ? result : 1;
}

/* Pack and add up all sweeps of the ports of this step. */
static int pack_ports(struct compaction *compaction, struct error *err)
{
	unsigned sweeps = (unsigned)(compaction->to_sweep - compaction->from_sweep);
	const struct stripe *stripe = compaction->stripe;
	uint32_t port = compaction->next_port;
	int result = 0;

	compaction->packed.len = 0;
	if (!stripe->loaded || port < stripe->from_port || port + COMPACT_PORTS > stripe->from_port + STRIPE_PORTS)
		result = stripe_read(compaction, port, err);
	for (size_t i = 0; !result && i < COMPACT_PORTS; i++, port++) {
		const struct codec_series *series = &stripe->series[i % CODEC_BLOCK_PORTS];

		if (i % CODEC_BLOCK_PORTS == 0)
			stripe_unpack(compaction, port);
		stripe_add_up(compaction, port, &compaction->port_sums[i]);
		compaction->chunk_at[i] = compaction->packed.len;
		if (series->group.count && codec_write_series(&compaction->packed, series, sweeps) < 0)
			result = err_nomem(err);
		compaction->chunk_at[i + 1] = compaction->packed.len;
	}
	return result;
}

static int write_chunk(sqlite3_stmt *replace, const struct compaction *compaction, uint32_t place, struct error *err)
{
	size_t begin = compaction->chunk_at[place], end = compaction->chunk_at[place + 1];

	sqlite3_bind_int64(replace, 1, CHUNK_ID(compaction->window, compaction->next_port + place));
	sqlite3_bind_blob(replace, 2, compaction->packed.data + begin, (int)(end - begin), SQLITE_STATIC);
	return db_run(replace, err);
}

static int write_sum(sqlite3_stmt *replace, int64_t unit, uint32_t port, const struct port_sum *sum, struct error *err)
{
	const struct delta *delta = &sum->sum;

	DB_BIND(replace, 1, unit, port, (int64_t)sum->samples, delta->elapsed_us,
		(int64_t)(COUNTER_ALL_SET & ~delta->known), (int64_t)delta->reset, (int64_t)delta->saturated);
	for (int i = 0; i < COUNTER_TRAFFIC_COUNT; i++) {
		if (sum->ever & COUNTER_BIT(i))
			db_bind_u64(replace, 1 + SUM_ROW_TRAFFIC + i, delta->value[i]);
		else
			sqlite3_bind_null(replace, 1 + SUM_ROW_TRAFFIC + i);
	}
	return db_run(replace, err);
}

/* The rows of chunk_error or hour_error of one port. */
static int write_errors(sqlite3_stmt *insert, int64_t unit, uint32_t port, const struct port_sum *sum,
			struct error *err)
{
	const struct delta *delta = &sum->sum;
	int result = 0;

	for (int i = COUNTER_TRAFFIC_COUNT; !result && i < COUNTER_COUNT; i++) {
		/* A row of 0: the counter was known at times, but not always (read_sum() in sums.c). */
		if (!delta->value[i] && (delta->known & COUNTER_BIT(i) || !(sum->ever & COUNTER_BIT(i))))
			continue;
		DB_BIND(insert, 1, unit, port, i);
		db_bind_u64(insert, 4, delta->value[i]);
		result = db_run(insert, err);
	}
	return result;
}

int compact_write_sums(struct compaction *compaction, enum compact_statement sum, enum compact_statement error,
		       struct error *err)
{
	int64_t unit = compaction->sum_unit;
	int result = 0;

	for (uint32_t i = 0; !result && i < COMPACT_PORTS; i++) {
		const struct port_sum *of_port = &compaction->port_sums[i];
		uint32_t port = compaction->next_port + i;

		if (!of_port->samples)
			continue;
		result = write_sum(compaction->statements[sum], unit, port, of_port, err);
		if (!result)
			result = write_errors(compaction->statements[error], unit, port, of_port, err);
	}
	return result;
}

int compact_update_window(struct compaction *compaction, int64_t id, int64_t next_port, int state, struct error *err)
{
	return db_row(compaction->db, "UPDATE chunk_window SET next_port = ?, state = ? WHERE id = ?",
		      (int64_t[]){ next_port, state, id }, 3, NULL, 0, err);
}

/* Write the packed samples, their sums, and the last readings of ports up to @end. */
static int write_ports(struct compaction *compaction, uint32_t end, struct error *err)
{
	int result = 0;

	for (uint32_t i = 0; !result && i < COMPACT_PORTS; i++)
		if (compaction->port_sums[i].samples)
			result = write_chunk(compaction->statements[WRITE_CHUNK], compaction, i, err);
	compaction->sum_unit = compaction->window;
	if (!result)
		result = compact_write_sums(compaction, WRITE_WINDOW_SUM, WRITE_WINDOW_ERROR, err);
	for (uint32_t port = compaction->next_port; !result && port < end; port++) {
		const struct stored_reading *last = &compaction->last[port];

		if (last->there && last->read_sweep != last->base_sweep)
			result = readings_write_absolute(compaction->statements[WRITE_ABSOLUTE], port, last, err);
	}
	return result;
}

/* One step of the window. */
static int step_window(struct compaction *compaction, struct error *err)
{
	bool complete = compaction->next_port + COMPACT_PORTS >= compaction->port_count;
	uint32_t end = complete ? compaction->port_count : compaction->next_port + COMPACT_PORTS;
	int result = pack_ports(compaction, err);

	if (!result)
		result = compact_begin(compaction, err);
	if (result < 0)
		return result;
	result = write_ports(compaction, end, err);
	if (!result)
		result = compact_update_window(compaction, compaction->window,
					       (int64_t)compaction->next_port + COMPACT_PORTS,
					       complete ? WINDOW_COMPLETE : WINDOW_WRITING, err);
	result = compact_end(compaction, result, err);
	if (result < 0)
		return result;
	for (uint32_t i = compaction->next_port; i < end; i++)
		compaction->last[i].base_sweep = compaction->last[i].read_sweep;
	compaction->next_port += COMPACT_PORTS;
	if (complete)
		end_window(compaction);
	return 1;
}

int compact_step(struct compaction *compaction, struct error *err)
{
	int result = 1;

	if (!compaction->window) {
		result = compact_hot(compaction, err);
		if (!result)
			result = compact_hours(compaction, err);
		if (result)
			return result;
		result = find_unfinished(compaction, err);
		if (!result)
			result = find_next(compaction, err);
		if (result > 0) {
			result = enter_window(compaction, err);
			result = result ? result : 1;
		}
	}
	if (result > 0)
		result = step_window(compaction, err);
	if (result < 0)
		leave_window(compaction);
	return result;
}
