/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * migrate.c - databases of older versions brought up to date
 *
 * tables.c says what a new database is like; here stands, for each version, what
 * makes the next one of it. The step to version 3 writes every delta anew, that to
 * version 5 replaces the text of all tables, the others only add. Views and names
 * are made anew after the last step.
 *
 * Views are no part of a version: only people ask them. So a database of this
 * version whose views another program made gets today's.
 *
 * For another version: raise SCHEMA_VERSION, change tables.c, add the step. Where
 * it changes a table that an earlier step makes out of tables.c, that step needs
 * the text as it was. migrate_test.c compares what comes out with a new database.
 */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "storage/codec/codec.h"
#include "storage/file/db.h"
#include "storage/codec/hot_block.h"
#include "storage/file/schema.h"
#include "storage/file/tables.h"

/* Statements; NULL ends them. Comments in the columns stay in the schema, as tables.c has them. */
static const char *const version_1_to_2[] = {
	"ALTER TABLE sweep ADD COLUMN ports_unfinished /* its time was over before they answered */ INTEGER",
	"ALTER TABLE sweep ADD COLUMN spread_us /* between its first and its last reading */ INTEGER",
	"ALTER TABLE sweep ADD COLUMN node_spread_us /* the same within one switch, the largest of all */ INTEGER",
	"ALTER TABLE caps ADD COLUMN tick /* xmit_wait counts (tick + 1) symbol times; NULL: not known */ INTEGER",
	"ALTER TABLE caps ADD COLUMN missing /* set of what it refused: 1 << attribute (code attribute),"
	" 64 PortCountersExtended, 128 PortSamplesControl */ INTEGER NOT NULL DEFAULT 0",
	tables_detail,
	"PRAGMA user_version = 2",
	NULL,
};

static int run_statements(sqlite3 *db, const char *const *sql, struct error *err)
{
	int result = 0;

	for (; !result && *sql; sql++)
		result = db_exec(db, *sql, err);
	return result;
}

static int step_1_to_2(sqlite3 *db, struct error *err)
{
	return run_statements(db, version_1_to_2, err);
}

/* A row of delta: sweep, port, elapsed_us, unknown, and the traffic counters that there were, in their order. */
static void read_delta(sqlite3_stmt *row, struct codec_sample *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->there = true;
	ret->elapsed_us = sqlite3_column_int64(row, 2) > 0 ? sqlite3_column_int64(row, 2) : 0;
	ret->unknown = db_u64(row, 3);
	for (int i = 0; i < COUNTER_TRAFFIC_COUNT; i++)
		ret->value[i] = ret->unknown & COUNTER_BIT(i) ? 0 : db_u64(row, 4 + i);
}

/* What was read of one block of ports in one sweep becomes a row of hot. */
static int flush_block(sqlite3_stmt *insert, int64_t id, struct bytes *packed, struct codec_sample *samples,
		       struct error *err)
{
	packed->len = 0;
	if (hot_write_block(packed, samples) < 0)
		return err_nomem(err);
	memset(samples, 0, CODEC_BLOCK_PORTS * sizeof(*samples));
	sqlite3_bind_int64(insert, 1, id);
	sqlite3_bind_blob(insert, 2, packed->data, (int)packed->len, SQLITE_STATIC);
	return db_run(insert, err);
}

/* Each row of delta into hot; the collector compacts them by and by. */
static int pack_deltas(sqlite3_stmt *rows, sqlite3_stmt *insert, struct bytes *packed, struct error *err)
{
	struct codec_sample samples[CODEC_BLOCK_PORTS] = { 0 };
	int64_t block = -1;
	int result = 0;

	while (!result && (result = db_step(rows, err)) > 0) {
		int64_t port = sqlite3_column_int64(rows, 1), id = HOT_ID(sqlite3_column_int64(rows, 0), port /
									 CODEC_BLOCK_PORTS);

		result = 0;
		if (port < 0 || port >= HISTORY_PORTS)
			continue;
		if (block >= 0 && block != id)
			result = flush_block(insert, block, packed, samples, err);
		block = id;
		read_delta(rows, &samples[port % CODEC_BLOCK_PORTS]);
	}
	if (!result && block >= 0)
		result = flush_block(insert, block, packed, samples, err);
	return result;
}

static int step_2_to_3(sqlite3 *db, struct error *err)
{
	sqlite3_stmt *rows = NULL, *insert = NULL;
	struct bytes packed = { 0 };
	int result = schema_make_history(db, err);

	if (!result)
		result = db_prepare(db, "SELECT sweep, port, elapsed_us, unknown, xmit_data, rcv_data, xmit_packets,"
				    " rcv_packets, xmit_wait, unicast_xmit_packets, unicast_rcv_packets,"
				    " multicast_xmit_packets, multicast_rcv_packets FROM main.delta"
				    " ORDER BY sweep, port", &rows, err);
	if (!result)
		result = db_prepare(db, "INSERT INTO hot (id, samples) VALUES (?, ?)", &insert, err);
	if (!result)
		result = pack_deltas(rows, insert, &packed, err);
	sqlite3_finalize(rows);
	sqlite3_finalize(insert);
	bytes_done(&packed);
	if (!result)
		result = db_exec(db, tables_drop_views, err);
	return result ? result : db_exec(db, "DROP TABLE delta; PRAGMA user_version = 3", err);
}

/* Statements, as above. */
static const char *const version_3_to_4[] = {
	tables_finding,
	tables_route,
	"PRAGMA user_version = 4",
	NULL,
};

static int step_3_to_4(sqlite3 *db, struct error *err)
{
	return run_statements(db, version_3_to_4, err);
}

/* The columns of all tables, in their order. */
static int list_columns(sqlite3 *db, struct text *ret, struct error *err)
{
	sqlite3_stmt *rows;
	int result = db_prepare(db, "SELECT m.name || '.' || c.name || ' ' FROM sqlite_schema m,"
				" pragma_table_info(m.name) c WHERE m.type = 'table' ORDER BY m.name, c.cid", &rows,
				err);

	while (!result && (result = db_step(rows, err)) > 0) {
		text_append(ret, (const char *)sqlite3_column_text(rows, 0));
		result = text_failed(ret) ? err_nomem(err) : 0;
	}
	sqlite3_finalize(rows);
	return result;
}

/* The text of each table in the schema becomes that of a new database; rows are stored alike in both. */
static int replace_texts(sqlite3 *db, const char *tables, struct error *err)
{
	sqlite3_stmt *replace = NULL;
	size_t len;
	int result = db_prepare(db, "UPDATE sqlite_schema SET sql = ?1 WHERE type = 'table' AND"
				" substr(?1, 1, 15 + length(name)) = 'CREATE TABLE ' || name || ' ('", &replace, err);

	for (; !result && *tables; tables += len + 2) {
		len = schema_next_statement(tables);
		sqlite3_bind_text(replace, 1, tables, (int)len, SQLITE_STATIC);
		result = db_run(replace, err);
	}
	sqlite3_finalize(replace);
	return result;
}

/* Only the declared types and ranges are new, so no row has to be written again. */
static int step_4_to_5(sqlite3 *db, struct error *err)
{
	struct text tables = { 0 }, before = { 0 }, after = { 0 };
	int result = list_columns(db, &before, err);

	schema_append_tables(&tables);
	if (!result && text_failed(&tables))
		result = err_nomem(err);
	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 0, NULL);
	if (!result)
		result = db_exec(db, "PRAGMA writable_schema = ON", err);
	if (!result)
		result = replace_texts(db, text_chars(&tables), err);
	if (!result)
		result = db_exec(db, "PRAGMA writable_schema = RESET; PRAGMA user_version = 5", err);
	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	if (!result)
		result = list_columns(db, &after, err);
	if (!result && strcmp(text_chars(&before), text_chars(&after)) != 0)
		result = err_set(err, ERR_IO, "%s is damaged (its columns are not those of schema version 4); restore "
				 "a backup", sqlite3_db_filename(db, "main"));
	text_done(&tables);
	text_done(&before);
	text_done(&after);
	return result;
}

/* What makes version i + 2 of version i + 1. A step that was released is never changed. */
static int (*const steps[])(sqlite3 *db, struct error *err) = {
	step_1_to_2, step_2_to_3, step_3_to_4, step_4_to_5,
};

_Static_assert(sizeof(steps) / sizeof(*steps) == SCHEMA_VERSION - 1, "each version but the first has its step");

static int run_steps(sqlite3 *db, struct error *err)
{
	int64_t version = 0;
	/* Asked inside the transaction: so it cannot change before the steps are done. */
	int result = db_integer(db, "PRAGMA user_version", 0, &version, err);

	if (!result && version < 1)
		result = err_set(err, ERR_IO,
				 "%s is damaged (schema version %lld); move it aside or restore a copy of it",
				 sqlite3_db_filename(db, "main"), (long long)version);
	for (; !result && version < SCHEMA_VERSION; version++)
		result = steps[version - 1](db, err);
	if (!result)
		result = db_exec(db, tables_drop_views, err);
	if (!result)
		result = schema_make_views(db, err);
	if (!result)
		result = schema_fill_names(db, err);
	if (!result)
		result = schema_verify_tables(db, err);
	return result ? result : schema_verify_keys(db, err);
}

/* Are its views, by the text in its schema, those that a new database has? */
static int compare_views(sqlite3 *db, sqlite3 *fresh, bool *ret, struct error *err)
{
	sqlite3_stmt *views, *find = NULL;
	int result = db_prepare(fresh, "SELECT name, sql FROM sqlite_schema WHERE type = 'view'", &views, err);

	if (!result)
		result = db_prepare(db, "SELECT 1 FROM sqlite_schema WHERE type = 'view' AND name = ? AND sql = ?",
				    &find, err);
	*ret = true;
	while (!result && *ret && (result = db_step(views, err)) > 0) {
		sqlite3_bind_value(find, 1, sqlite3_column_value(views, 0));
		sqlite3_bind_value(find, 2, sqlite3_column_value(views, 1));
		result = db_step(find, err);
		*ret = result > 0;
		result = result < 0 ? result : 0;
		sqlite3_reset(find);
	}
	sqlite3_finalize(find);
	sqlite3_finalize(views);
	return result;
}

static int has_views(sqlite3 *db, bool *ret, struct error *err)
{
	sqlite3 *fresh = NULL;
	int result = sqlite3_open(":memory:", &fresh) == SQLITE_OK ? schema_make_views(fresh, err)
								   : db_fail(fresh, err);

	if (!result)
		result = compare_views(db, fresh, ret, err);
	sqlite3_close(fresh);
	return result;
}

static int bring_up(sqlite3 *db, struct error *err)
{
	int result = db_exec(db, "BEGIN IMMEDIATE", err);

	if (!result)
		result = run_steps(db, err);
	if (!result)
		result = db_exec(db, "COMMIT", err);
	if (result < 0 && !sqlite3_get_autocommit(db))
		sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	return result;
}

int schema_migrate(sqlite3 *db, struct error *err)
{
	int64_t version = 0;
	bool same = false;
	int result = db_integer(db, "PRAGMA user_version", 0, &version, err);

	if (result < 0 || version != SCHEMA_VERSION)
		return result < 0 ? result : bring_up(db, err);
	/* Where there is no room for them the others still answer. */
	if (has_views(db, &same, NULL) == 0 && !same)
		bring_up(db, NULL);
	return 0;
}
