/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/file/schema.h"

#include <stdio.h>
#include <string.h>

#include "analysis/job_watch.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "collector/sink.h"
#include "fabric/counter.h"
#include "fabric/detail.h"
#include "fabric/fabric.h"
#include "fabric/firmware.h"
#include "fabric/speed.h"
#include "storage/file/db.h"
#include "storage/file/tables.h"
#include "storage/jobs.h"

static int insert_code(sqlite3 *db, const char *kind, int value, const char *name, struct error *err)
{
	return db_execf(db, err, "REPLACE INTO code (kind, value, name) VALUES (%Q, %d, %Q)", kind, value, name);
}

static int insert_codes(sqlite3 *db, struct error *err)
{
	static const struct { const char *kind; int code; const char *name; } others[] = {
		{ "width", LINK_WIDTH_1X, "1x" }, { "width", LINK_WIDTH_4X, "4x" }, { "width", LINK_WIDTH_8X, "8x" },
		{ "width", LINK_WIDTH_12X, "12x" }, { "width", LINK_WIDTH_2X, "2x" },
		{ "why", GAP_ABSENT, "absent" }, { "window_state", WINDOW_WRITING, "being written" },
		{ "window_state", WINDOW_COMPLETE, "complete" }, { "window_state", WINDOW_SUMS_ONLY, "sums only" },
		{ "layout", FEC_LAYOUT_LANES, "lanes" }, { "layout", FEC_LAYOUT_RS, "rs" },
		{ "layout", FEC_LAYOUT_RS_544, "rs-544" },
	};
	int result = 0;

	for (int i = NODE_CA; !result && i <= NODE_ROUTER; i++)
		result = insert_code(db, "node_type", i, node_type_name((uint8_t)i), err);
	for (int i = PORT_DOWN; !result && i <= PORT_ACTIVE; i++)
		result = insert_code(db, "state", i, port_state_name((uint8_t)i), err);
	for (int i = PHYS_SLEEP; !result && i <= PHYS_TEST; i++)
		result = insert_code(db, "phys_state", i, port_phys_state_name((uint8_t)i), err);
	for (int i = LINK_SPEED_SDR; !result && i < LINK_SPEED_COUNT; i++)
		result = insert_code(db, "speed", i, link_speed_name((enum link_speed)i), err);
	for (size_t i = 0; !result && i < sizeof(others) / sizeof(*others); i++)
		result = insert_code(db, others[i].kind, others[i].code, others[i].name, err);
	for (int i = SAMPLE_SILENT; !result && i < SAMPLE_STATUS_COUNT; i++)
		result = insert_code(db, "why", i, sample_status_name((enum sample_status)i), err);
	for (int i = EVENT_INFO; !result && i <= EVENT_CRITICAL; i++)
		result = insert_code(db, "severity", i, event_severity_name((enum event_severity)i), err);
	for (int i = 0; !result && i < JOB_ENDING_COUNT; i++)
		result = insert_code(db, "job_ending", i, job_ending_name((enum job_ending)i), err);
	for (int i = 0; !result && i < RHYTHM_KINDS; i++)
		result = insert_code(db, "rhythm", i, rhythm_kind_name((enum rhythm_kind)i), err);
	for (int i = 0; !result && i < JOB_PHASES; i++)
		result = insert_code(db, "job_phase", i, job_phase_name((enum job_phase)i), err);
	for (int i = 0; !result && i < DETAIL_ATTRIBUTE_COUNT; i++)
		result = insert_code(db, "attribute", i, detail_attribute_name((enum detail_attribute)i), err);
	for (int i = FIRMWARE_READ; !result && i <= FIRMWARE_IMPORTED; i++)
		result = insert_code(db, "firmware_source", i, firmware_source_name((enum firmware_source)i), err);
	return result;
}

static int insert_counters(sqlite3 *db, struct error *err)
{
	int result = 0;

	for (int i = 0; !result && i < COUNTER_COUNT; i++) {
		const struct counter_info *info = counter_info((enum counter)i);

		result = db_execf(db, err, "REPLACE INTO counter (id, key, title, unit, meaning)"
				  " VALUES (%d, %Q, %Q, %Q, %Q)", i, info->key, info->title, info->unit, info->meaning);
	}
	return result;
}

static int insert_detail_counter(sqlite3 *db, enum detail_attribute attribute, unsigned number, struct error *err)
{
	const struct detail_info *info = detail_info(attribute, number);
	/* The integers of SQLite have a sign. */
	uint64_t max = detail_max(attribute, number) < INT64_MAX ? detail_max(attribute, number) : INT64_MAX;

	return db_execf(db, err, "REPLACE INTO detail_counter (id, attribute, number, key, unit, meaning, max)"
			" VALUES (%u, %d, %u, %Q, %Q, %Q, %lld)", DETAIL_ID(attribute, number), (int)attribute, number,
			info->key, info->unit, info->meaning, (long long)max);
}

static int insert_detail_counters(sqlite3 *db, struct error *err)
{
	int result = 0;

	for (int i = 0; !result && i < DETAIL_ATTRIBUTE_COUNT; i++)
		for (unsigned number = 0; !result && number < detail_count((enum detail_attribute)i); number++)
			result = insert_detail_counter(db, (enum detail_attribute)i, number, err);
	return result;
}

/* Names of counters and codes. Like the views, they depend only on the program. */
static int fill_names(sqlite3 *db, struct error *err)
{
	int result = insert_counters(db, err);

	if (!result)
		result = insert_detail_counters(db, err);
	return result ? result : insert_codes(db, err);
}

/* A traffic counter in a view: bytes instead of words, and no negative numbers. */
static void append_view_column(struct text *sql, enum counter counter)
{
	const char *key = counter_info(counter)->key;

	if (counter == COUNTER_XMIT_DATA || counter == COUNTER_RCV_DATA)
		text_append(sql, counter == COUNTER_XMIT_DATA ? ",\n\td.xmit_bytes AS xmit_bytes"
							  : ",\n\td.rcv_bytes AS rcv_bytes");
	else
		text_appendf(sql, ",\n\tCASE WHEN d.%s < 0 THEN %lld ELSE d.%s END AS %s", key, (long long)INT64_MAX,
			     key, counter == COUNTER_XMIT_WAIT ? "xmit_wait_ticks" : key);
}

/* Run the statements that @append appends. */
static int make(sqlite3 *db, void (*append)(struct text *sql), struct error *err)
{
	struct text sql = { 0 };
	int result;

	append(&sql);
	result = text_failed(&sql) ? err_nomem(err) : db_exec(db, text_chars(&sql), err);
	text_done(&sql);
	return result;
}

/* @create: the beginning of each statement */
static void append_all_views(struct text *sql, const char *create)
{
	text_append(sql, create);
	text_append(sql, tables_traffic_begin);
	for (int i = 0; i < COUNTER_TRAFFIC_COUNT; i++)
		append_view_column(sql, (enum counter)i);
	text_append(sql, tables_traffic_end);
	for (size_t i = 0; tables_views[i]; i++) {
		text_append(sql, create);
		text_append(sql, tables_views[i]);
	}
}

static void append_views(struct text *sql)
{
	append_all_views(sql, "CREATE VIEW ");
}

static void append_temporary_views(struct text *sql)
{
	append_all_views(sql, "CREATE TEMP VIEW IF NOT EXISTS ");
}

static int make_views(sqlite3 *db, struct error *err)
{
	return make(db, append_views, err);
}

int schema_make_temporary_views(sqlite3 *db, struct error *err)
{
	return make(db, append_temporary_views, err);
}

int schema_fill(sqlite3 *db, struct error *err)
{
	int result = db_exec(db, "BEGIN IMMEDIATE", err);

	if (!result)
		result = make(db, schema_append_tables, err);
	if (!result)
		result = make_views(db, err);
	if (!result)
		result = db_execf(db, err, "INSERT INTO meta (key, value) VALUES ('created_us', %lld)",
				  (long long)clock_wall_us(clock_system()));
	if (!result)
		result = fill_names(db, err);
	return result ? result : db_exec(db, "COMMIT", err);
}

/*
 * Find a statement that @append appends and the schema does not contain.
 * Return: 1 and its first line without a parenthesis in @ret; 0: it contains all; or an error.
 */
static int find_missing(sqlite3 *db, void (*append)(struct text *sql), char ret[80], struct error *err)
{
	struct text sql = { 0 };
	sqlite3_stmt *find = NULL;
	int result, found = 1;
	const char *at;
	int64_t row = 0;
	bool again;
	size_t len;

	append(&sql);
	result = text_failed(&sql) ? err_nomem(err) :
		 db_prepare(db, "SELECT rowid FROM sqlite_schema WHERE sql = ?1 AND (rootpage > 0) = ?2"
			    " AND rowid > ?3", &find, err);
	for (at = text_chars(&sql); !result && found && *at; at += len + 2) {
		len = tables_statement_length(at);
		sqlite3_bind_text(find, 1, at, (int)len, SQLITE_STATIC);
		sqlite3_bind_int(find, 2, append == schema_append_tables);
		/* Most schemas have them in this order: search after the previous one first, then everywhere. */
		do {
			sqlite3_bind_int64(find, 3, row);
			found = db_step(find, err);
			again = !found && row;
			row = found > 0 ? sqlite3_column_int64(find, 0) : 0;
			sqlite3_reset(find);
		} while (again);
		result = found < 0 ? found : 0;
		if (!found)
			snprintf(ret, 80, "%.*s", (int)strcspn(at, "(\n") - 1, at);
	}
	sqlite3_finalize(find);
	text_done(&sql);
	return result ? result : !found;
}

/* Does it have the views of this program, by their text? */
static int has_views(sqlite3 *db, struct error *err)
{
	char missing[80];
	int result = find_missing(db, append_views, missing, err);

	return result < 0 ? result : !result;
}

int schema_verify_tables(sqlite3 *db, struct error *err)
{
	char missing[80];
	int result = find_missing(db, schema_append_tables, missing, err);

	if (result <= 0)
		return result;
	return err_set(err, ERR_IO, "%s does not have schema version %d (no matching \"%s\"): it is damaged, "
		       "changed by another program or of an unreleased ibwire; restore a backup, or give another --db",
		       sqlite3_db_filename(db, "main"), SCHEMA_VERSION, missing);
}

/* First columns of indexes, and the column at which the next hour begins. Both ends of an index limit all values. */
static const struct {
	const char *table, *column;
	int64_t least, most;
} keys[] = {
	{ "sweep", "id", 1, SCHEMA_SWEEPS },
	{ "sweep", "wall_us", 0, SCHEMA_TIME_MOST_US },
	{ "event", "id", 1, INT64_MAX - 1 },
	{ "event", "wall_us", 0, SCHEMA_TIME_MOST_US },
	{ "hot", "id", HOT_BLOCKS, HOT_ID(SCHEMA_SWEEPS + 1, 0) - 1 },
	{ "chunk", "id", HISTORY_PORTS, CHUNK_ID(SCHEMA_SWEEPS + 1, 0) - 1 },
	{ "chunk_window", "id", 1, SCHEMA_SWEEPS },
	{ "chunk_window", "to_sweep", 1, SCHEMA_SWEEPS },
	{ "chunk_sum", "window", 1, SCHEMA_SWEEPS },
	{ "chunk_error", "window", 1, SCHEMA_SWEEPS },
	{ "hour", "id", 1, SCHEMA_SWEEPS },
	{ "hour", "to_sweep", 1, SCHEMA_SWEEPS },
	{ "hour", "to_window", 1, SCHEMA_SWEEPS },
	{ "hour_sum", "hour", 1, SCHEMA_SWEEPS },
	{ "hour_error", "hour", 1, SCHEMA_SWEEPS },
	{ "error", "sweep", 1, SCHEMA_SWEEPS },
	{ "absolute", "sweep", 1, SCHEMA_SWEEPS },
	{ "detail", "sweep", 1, SCHEMA_SWEEPS },
	{ "detail_value", "sweep", 1, SCHEMA_SWEEPS },
	{ "detail_last", "port", 1, HISTORY_PORTS - 1 },
	{ "span", "from_sweep", 1, SCHEMA_SWEEPS },
	{ "span", "to_sweep", 1, SCHEMA_SWEEPS },
	{ "node_version", "from_sweep", 1, SCHEMA_SWEEPS },
	{ "port_version", "from_sweep", 1, SCHEMA_SWEEPS },
	{ "route_version", "from_sweep", 1, SCHEMA_SWEEPS },
	{ "firmware", "id", 1, INT64_MAX - 1 },
	{ "pkey_version", "from_sweep", 1, SCHEMA_SWEEPS },
	{ "finding", "id", 1, INT64_MAX - 1 },
	{ "finding", "opened_us", 0, SCHEMA_TIME_MOST_US },
	{ "finding", "closed_us", 0, SCHEMA_TIME_MOST_US },
	{ "snapshot", "id", 1, INT64_MAX - 1 },
	{ "job", "number", 1, INT64_MAX - 1 },
	{ "job_rhythm", "wall_us", 0, SCHEMA_TIME_MOST_US },
	{ "node", "id", 1, HISTORY_PORTS - 1 },
	{ "port", "id", 1, HISTORY_PORTS - 1 },
};

static int verify_key(sqlite3 *db, size_t key, struct error *err)
{
	const char *table = keys[key].table, *column = keys[key].column;
	bool wrong = false;
	int result = 0;

	/* All keys are checked at each open. A short statement, since compiling takes most of the time. */
	for (int last = 0; !result && !wrong && last < 2; last++) {
		sqlite3_stmt *end = NULL;
		char sql[80];
		int type;

		snprintf(sql, sizeof(sql), "SELECT %s(%s) FROM %s", last ? "max" : "min", column, table);
		result = db_prepare(db, sql, &end, err);
		if (!result)
			result = db_step(end, err);
		type = sqlite3_column_type(end, 0);
		wrong = result > 0 && type != SQLITE_NULL &&
			(type != SQLITE_INTEGER || sqlite3_column_int64(end, 0) < keys[key].least ||
			 sqlite3_column_int64(end, 0) > keys[key].most);
		result = result < 0 ? result : 0;
		sqlite3_finalize(end);
	}
	if (!result && wrong)
		result = err_set(err, ERR_IO, "%s is damaged (a value of %s.%s is out of range); " DB_RECOVER,
				 sqlite3_db_filename(db, "main"), table, column);
	return result;
}

/* Arrays by port and node have as many elements as the largest id. */
static int verify_ids(sqlite3 *db, const char *table, struct error *err)
{
	int64_t holes = 0;
	int result = db_integerf(db, 0, &holes, err, "SELECT (SELECT max(id) FROM %s) <> (SELECT count(*) FROM %s)",
				 table, table);

	if (!result && holes)
		result = err_set(err, ERR_IO, "%s is damaged (the ids of table %s have holes); " DB_RECOVER,
				 sqlite3_db_filename(db, "main"), table);
	return result;
}

int schema_verify_keys(sqlite3 *db, struct error *err)
{
	int result = 0;

	for (size_t i = 0; !result && i < sizeof(keys) / sizeof(*keys); i++)
		result = verify_key(db, i, err);
	if (!result)
		result = verify_ids(db, "node", err);
	return result ? result : verify_ids(db, "port", err);
}

int schema_check_fabric(sqlite3 *db, const char *path, const struct fabric *fabric, const char *advice,
			struct error *err)
{
	bool others = false, known = false;
	int64_t count = 0;
	sqlite3_stmt *find;
	int result = db_integer(db, "SELECT count(*) FROM node", 0, &count, err);

	if (result < 0 || !count)
		return result;
	result = db_prepare(db, "SELECT 1 FROM node WHERE guid = ?", &find, err);
	for (size_t i = 0; result >= 0 && !known && i < fabric->node_count; i++) {
		/* This host's own HCA may be connected to any fabric. */
		if (i == fabric->from_node && fabric->nodes[i].type != NODE_SWITCH)
			continue;
		others = true;
		db_bind_u64(find, 1, fabric->nodes[i].guid);
		result = db_step(find, err);
		known = result > 0;
		sqlite3_reset(find);
	}
	sqlite3_finalize(find);
	if (result < 0 || known || !others)
		return result < 0 ? result : 0;
	return err_set(err, ERR_UNAVAILABLE, "%s contains another fabric: none of the %zu discovered nodes is in "
		       "it; %s", path, fabric->node_count, advice);
}

/*
 * --- migration of databases with an older schema version ---
 *
 * To change the schema: change tables.c, increment SCHEMA_VERSION, and add a step that makes the new
 * version from the previous one. A released step never changes. Views do not count as part of a
 * version, since no stored data depends on them.
 */

static int add_jobs(sqlite3 *db, struct error *err)
{
	return db_exec(db, tables_job_5, err);
}

/* Tables with the text of this program; ALTER TABLE would make another one. */
static int extend_findings(sqlite3 *db, struct error *err)
{
#define STATE \
	"finding, from_sweep, wall_us, severity, subject, cause, text, advice, evidence, hosts, affected_hosts, ports"
	int result = db_exec(db, "CREATE TEMP TABLE old_finding AS SELECT * FROM main.finding;"
			     " CREATE TEMP TABLE old_state AS SELECT * FROM main.finding_state;"
			     " DROP TABLE main.finding_state; DROP TABLE main.finding", err);

	if (!result)
		result = db_exec(db, tables_finding, err);
	if (!result)
		result = db_exec(db, "INSERT INTO main.finding SELECT * FROM old_finding;"
				 " INSERT INTO main.finding_state (" STATE ") SELECT " STATE " FROM old_state;"
				 " DROP TABLE old_finding; DROP TABLE old_state", err);
#undef STATE
	return result;
}

/* A migration from version 1 has created the table with its index. 4096: JOB_COMMAND_MOST. */
static int index_jobs(sqlite3 *db, struct error *err)
{
	return db_exec(db, "CREATE INDEX IF NOT EXISTS job_by_time ON job (begin_us, end_us);"
		       " UPDATE job SET command = substr(command, 1, 1023) || '...' WHERE length(CAST(command AS BLOB))"
		       " > 4096", err);
}

/* Replace the text of tables, whose rows are the same in both, and free both texts. */
static int replace_tables(sqlite3 *db, struct text *old, struct text *new, struct error *err)
{
	sqlite3_stmt *update = NULL;
	int64_t cookie = 0;
	int result = text_failed(new) || text_failed(old) ? err_nomem(err) :
		     db_prepare(db, "UPDATE sqlite_schema SET sql = ?2 WHERE type = 'table'"
				" AND sql IN (?1, ?1 || ' STRICT', ?1 || ', STRICT')", &update, err);

	for (const char *from = text_chars(old), *to = text_chars(new); !result && *from;
	     from += tables_statement_length(from) + 2, to += tables_statement_length(to) + 2) {
		sqlite3_bind_text(update, 1, from, (int)tables_statement_length(from), SQLITE_STATIC);
		sqlite3_bind_text(update, 2, to, (int)tables_statement_length(to), SQLITE_STATIC);
		result = db_run(update, err);
	}
	sqlite3_finalize(update);
	text_done(old);
	text_done(new);
	/* Other connections read the schema again when this number changes. */
	if (!result)
		result = db_integer(db, "PRAGMA schema_version", 0, &cookie, err);
	if (!result)
		result = db_execf(db, err, "PRAGMA schema_version = %d", (int)((uint32_t)cookie + 1));
	return result;
}

/*
 * Tables of version 4 are STRICT, which SQLite before 3.37 does not know. Instead, a constraint checks types. Rows are
 * the same in both, so only the text of tables changes. Earlier steps have made tables that are not STRICT.
 */
static int replace_strict(sqlite3 *db, struct error *err)
{
	struct text untyped = { 0 }, typed = { 0 };

	tables_append_untyped(&untyped, 5);
	tables_append_typed(&typed, 5);
	return replace_tables(db, &untyped, &typed, err);
}

/* Cluster, user, account, partition and suspensions of jobs: NULL in rows of version 5, which lack these columns. */
static int extend_jobs(sqlite3 *db, struct error *err)
{
	struct text old = { 0 }, new = { 0 };

	tables_append_typed(&old, 5);
	tables_append_typed(&new, 6);
	return replace_tables(db, &old, &new, err);
}

/* New tables, which follow those of version 6. */
static int add_tables(sqlite3 *db, struct error *err)
{
	struct text old = { 0 }, new = { 0 };
	int result;

	tables_append_typed(&old, 6);
	tables_append_typed(&new, 7);
	result = text_failed(&old) || text_failed(&new) ? err_nomem(err) :
		 db_exec(db, text_chars(&new) + strlen(text_chars(&old)), err);
	text_done(&old);
	text_done(&new);
	return result;
}

/* The step at index i makes version i + 2 from version i + 1; NULL ends the table. */
static schema_step_fn *const steps[] = { add_jobs, extend_findings, index_jobs, replace_strict, extend_jobs,
					 add_tables, NULL };

_Static_assert(sizeof(steps) / sizeof(*steps) == SCHEMA_VERSION, "one step for each older version, then NULL");

/* In a transaction of the caller, so that no other process migrates meanwhile. */
static int run_steps(sqlite3 *db, schema_step_fn *const *list, struct error *err)
{
	int64_t version = 0;
	int result = db_integer(db, "PRAGMA user_version", 0, &version, err);

	for (; !result && list[version - 1]; version++) {
		result = list[version - 1](db, err);
		if (!result)
			result = db_execf(db, err, "PRAGMA user_version = %d", (int)version + 1);
	}
	return result;
}

static int update_views(sqlite3 *db, struct error *err)
{
	/* The steps may have changed the text of tables. */
	int result = schema_rewrite_end(db, err);

	if (!result)
		result = db_exec(db, tables_drop_views, err);
	if (!result)
		result = make_views(db, err);
	if (!result)
		result = fill_names(db, err);
	if (!result)
		result = schema_verify_tables(db, err);
	return result ? result : schema_verify_keys(db, err);
}

int schema_run_steps(sqlite3 *db, schema_step_fn *const *list, schema_step_fn *finish, struct error *err)
{
	int result = db_exec(db, "BEGIN IMMEDIATE", err);

	if (!result)
		result = run_steps(db, list, err);
	if (!result && finish)
		result = finish(db, err);
	if (!result)
		result = db_exec(db, "COMMIT", err);
	if (result < 0 && !sqlite3_get_autocommit(db))
		sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	return result;
}

/* A database that was old when it was opened, and that another process has migrated since then. */
static int end_rewrite_of_other(sqlite3 *db, struct error *err)
{
	int defensive = 1, result;

	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, -1, &defensive);
	if (defensive)
		return 0;
	result = schema_rewrite_end(db, err);
	return result ? result : schema_verify_tables(db, err);
}

int schema_require_version(sqlite3 *db, const char *path, int64_t *ret_version, struct error *err)
{
	int result = db_integer(db, "PRAGMA user_version", 0, ret_version, err);

	if (!result && *ret_version == SCHEMA_VERSION)
		return end_rewrite_of_other(db, err);
	if (!result)
		result = err_set(err, ERR_IO, "%s has schema version %lld, supported: %d; use the ibwire of its "
				 "collector, or migrate an older database with: ibwire collect --once", path,
				 (long long)*ret_version, SCHEMA_VERSION);
	return result;
}

int schema_migrate(sqlite3 *db, struct error *err)
{
	int64_t version = 0;
	int result = db_integer(db, "PRAGMA user_version", 0, &version, err);

	if (!result && version < SCHEMA_VERSION)
		return schema_run_steps(db, steps, update_views, err);
	if (!result)
		result = end_rewrite_of_other(db, err);
	if (result < 0)
		return result;
	/* Without space for the views, the tables are still usable. */
	if (has_views(db, NULL) == 0)
		schema_run_steps(db, steps, update_views, NULL);
	return 0;
}
