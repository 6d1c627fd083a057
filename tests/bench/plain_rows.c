/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tests/bench/plain_rows.h"

#include <stdlib.h>

#include <sqlite3.h>

#include "base/err.h"
#include "collector/sink.h"

#define COUNTER_ALL (COUNTER_BIT(COUNTER_COUNT) - 1)

/* The key: by sweep, then by port. As one integer it takes 8 bytes a row, as two columns of WITHOUT ROWID 20. */
#define ROW_ID(sweep, port) ((sweep) * 1048576 + (port))

struct plain_rows {
	sqlite3 *db;
	sqlite3_stmt *insert_sweep, *insert, *read_port, *sum_ports;
	int64_t newest;
};

static int fail(struct plain_rows *rows, struct error *err)
{
	return err_set(err, ERR_IO, "plain rows: %s", sqlite3_errmsg(rows->db));
}

static int run(struct plain_rows *rows, const char *sql, struct error *err)
{
	return sqlite3_exec(rows->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : fail(rows, err);
}

static int prepare(struct plain_rows *rows, const char *sql, sqlite3_stmt **ret, struct error *err)
{
	return sqlite3_prepare_v2(rows->db, sql, -1, ret, NULL) == SQLITE_OK ? 0 : fail(rows, err);
}

static int prepare_all(struct plain_rows *rows, struct error *err)
{
	int result = prepare(rows, "INSERT INTO sweep VALUES (?, ?)", &rows->insert_sweep, err);

	if (!result)
		result = prepare(rows, "INSERT INTO plain VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
				 &rows->insert, err);
	/* The key begins with the sweep: a port is looked up in each of them. */
	if (!result)
		result = prepare(rows, "SELECT plain.* FROM sweep"
				 " CROSS JOIN plain ON plain.id = sweep.id * 1048576 + ?1"
				 " WHERE sweep.id > ?2 AND sweep.id <= ?3",
				 &rows->read_port, err);
	if (!result)
		result = prepare(rows, "SELECT id & 1048575 AS port, sum(xmit_data), sum(rcv_data),"
				 " sum(xmit_packets), sum(rcv_packets) FROM plain"
				 " WHERE id >= (?1 + 1) * 1048576 AND id < (?2 + 1) * 1048576 GROUP BY 1",
				 &rows->sum_ports, err);
	return result;
}

static int read_newest(struct plain_rows *rows, struct error *err)
{
	sqlite3_stmt *newest;
	int result = prepare(rows, "SELECT ifnull(max(id), 0) FROM sweep", &newest, err);

	if (!result && sqlite3_step(newest) == SQLITE_ROW)
		rows->newest = sqlite3_column_int64(newest, 0);
	sqlite3_finalize(newest);
	return result;
}

int plain_open(const char *path, struct plain_rows **ret, struct error *err)
{
	struct plain_rows *rows = calloc(1, sizeof(*rows));
	int result;

	if (!rows)
		return err_nomem(err);
	result = sqlite3_open(path, &rows->db) == SQLITE_OK ? 0 : fail(rows, err);
	/* As the writer has them (storage/file/file.c). */
	if (!result)
		result = run(rows, "PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
			     "PRAGMA secure_delete = OFF; PRAGMA cache_size = -16384; PRAGMA mmap_size = 0;"
			     "PRAGMA wal_autocheckpoint = 2048; PRAGMA journal_size_limit = 8388608;"
			     "PRAGMA temp_store = MEMORY;"
			     "CREATE TABLE IF NOT EXISTS sweep (id INTEGER PRIMARY KEY, wall_us INTEGER);"
			     "CREATE TABLE IF NOT EXISTS plain (id INTEGER PRIMARY KEY, elapsed_us INTEGER,"
			     " unknown INTEGER, xmit_data INTEGER, rcv_data INTEGER, xmit_packets INTEGER,"
			     " rcv_packets INTEGER, xmit_wait INTEGER, unicast_xmit INTEGER, unicast_rcv INTEGER,"
			     " multicast_xmit INTEGER, multicast_rcv INTEGER)", err);
	if (!result)
		result = prepare_all(rows, err);
	if (!result)
		result = read_newest(rows, err);
	if (result) {
		plain_close(rows);
		return result;
	}
	*ret = rows;
	return 0;
}

void plain_close(struct plain_rows *rows)
{
	if (!rows)
		return;
	sqlite3_finalize(rows->insert_sweep);
	sqlite3_finalize(rows->insert);
	sqlite3_finalize(rows->read_port);
	sqlite3_finalize(rows->sum_ports);
	sqlite3_close(rows->db);
	free(rows);
}

static int step(struct plain_rows *rows, sqlite3_stmt *statement, struct error *err)
{
	int code = sqlite3_step(statement);

	sqlite3_reset(statement);
	return code == SQLITE_DONE ? 0 : fail(rows, err);
}

static int store_sample(struct plain_rows *rows, const struct port_sample *sample, struct error *err)
{
	const struct delta *delta = sample->delta;

	sqlite3_bind_int64(rows->insert, 1, ROW_ID(rows->newest, sample->port));
	sqlite3_bind_int64(rows->insert, 2, delta->elapsed_us);
	sqlite3_bind_int64(rows->insert, 3, (int64_t)(COUNTER_ALL & ~delta->known));
	for (int i = 0; i < COUNTER_TRAFFIC_COUNT; i++)
		sqlite3_bind_int64(rows->insert, 4 + i, (int64_t)delta->value[i]);
	return step(rows, rows->insert, err);
}

int plain_store(struct plain_rows *rows, const struct sweep *sweep, struct error *err)
{
	int result = run(rows, "BEGIN IMMEDIATE", err);

	rows->newest++;
	sqlite3_bind_int64(rows->insert_sweep, 1, rows->newest);
	sqlite3_bind_int64(rows->insert_sweep, 2, sweep->wall_us);
	if (!result)
		result = step(rows, rows->insert_sweep, err);
	for (size_t i = 0; !result && i < sweep->sample_count; i++)
		if (sweep->samples[i].delta)
			result = store_sample(rows, &sweep->samples[i], err);
	return result ? result : run(rows, "COMMIT", err);
}

int64_t plain_newest(const struct plain_rows *rows)
{
	return rows->newest;
}

static int count_rows(struct plain_rows *rows, sqlite3_stmt *statement, int64_t *ret_rows, struct error *err)
{
	int code;

	*ret_rows = 0;
	while ((code = sqlite3_step(statement)) == SQLITE_ROW)
		++*ret_rows;
	sqlite3_reset(statement);
	return code == SQLITE_DONE ? 0 : fail(rows, err);
}

int plain_read_port(struct plain_rows *rows, uint32_t port, int64_t after, int64_t until, int64_t *ret_rows,
		    struct error *err)
{
	sqlite3_bind_int64(rows->read_port, 1, port);
	sqlite3_bind_int64(rows->read_port, 2, after);
	sqlite3_bind_int64(rows->read_port, 3, until);
	return count_rows(rows, rows->read_port, ret_rows, err);
}

int plain_sum_ports(struct plain_rows *rows, int64_t after, int64_t until, int64_t *ret_rows, struct error *err)
{
	sqlite3_bind_int64(rows->sum_ports, 1, after);
	sqlite3_bind_int64(rows->sum_ports, 2, until);
	return count_rows(rows, rows->sum_ports, ret_rows, err);
}
