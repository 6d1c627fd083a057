/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * export.c - a part of the history as a separate database
 *
 * The new database is created as usual and filled table by table with the rows of the part
 * (storage/admin/catalog.c). Hidden data is never written to it, so no free page contains any.
 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "base/when.h"
#include "fabric/fabric.h"
#include "fabric/names.h"
#include "storage/admin/admin_internal.h"
#include "storage/file/db.h"
#include "storage/admin/anonymise.h"
#include "storage/admin/catalog.h"
#include "storage/read/readings.h"
#include "storage/file/schema.h"

struct exporting {
	const char *path;
	const struct export_query *query;
	sqlite3 *source; /* the old database, for queries in C */
	sqlite3 *db;     /* the new one; the old one is attached as "source" */
	bool immutable;
	struct anonymiser anonymiser;
	struct export_summary summary;
};

static int attach_source(struct exporting *exporting, struct error *err)
{
	struct text uri = { 0 };
	int on = 1;
	int result = schema_uri(exporting->path, exporting->immutable ? "?mode=ro&immutable=1" : "?mode=ro",
				&uri, err);

	if (!result)
		result = db_execf(exporting->db, err, "ATTACH %Q AS source", text_chars(&uri));
	text_done(&uri);
	/* Readers without write access need its log. */
	if (!result)
		sqlite3_file_control(exporting->db, "source", SQLITE_FCNTL_PERSIST_WAL, &on);
	return result;
}

static void name_is_generic(sqlite3_context *context, int count, sqlite3_value **values)
{
	const void *bytes = sqlite3_value_blob(values[0]);
	char desc[NODE_DESC_SIZE + 1] = "";
	int len = sqlite3_value_bytes(values[0]);

	(void)count;
	if (bytes && len > 0)
		memcpy(desc, bytes, len > NODE_DESC_SIZE ? NODE_DESC_SIZE : (size_t)len);
	sqlite3_result_int(context, names_is_generic(desc));
}

/* Until it is complete, no other process uses it, and it need not survive a crash. */
static int open_new_file(struct exporting *exporting, const char *part, struct error *err)
{
	int result = schema_create(part, err);

	if (result < 0)
		return result;
	if (sqlite3_open_v2(part, &exporting->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL)
	    != SQLITE_OK)
		return db_fail(exporting->db, err);
	sqlite3_busy_timeout(exporting->db, 10000);
	admin_watch_stop(exporting->db);
	result = db_exec(exporting->db, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
			 " PRAGMA temp_store = MEMORY; PRAGMA cache_size = -65536", err);
	/* After the settings: a hardened connection cannot turn its journal off. */
	schema_harden(exporting->db);
	if (!result)
		result = attach_source(exporting, err);
	if (!result && sqlite3_create_function(exporting->db, "name_is_generic", 1, SQLITE_UTF8, NULL,
					       name_is_generic, NULL, NULL) != SQLITE_OK)
		result = db_fail(exporting->db, err);
	return result ? result : db_exec(exporting->db, "BEGIN", err);
}

static int nothing_there(const struct exporting *exporting, struct error *err)
{
	char since[WHEN_SIZE], until[WHEN_SIZE];
	const struct export_query *query = exporting->query;

	if (query->since_us && query->until_us)
		return err_set(err, ERR_UNAVAILABLE, "nothing is stored from %s to %s; see: ibwire db",
			       when_format_local(query->since_us, since), when_format_local(query->until_us, until));
	if (query->since_us)
		return err_set(err, ERR_UNAVAILABLE, "nothing is stored from %s on; see: ibwire db",
			       when_format_local(query->since_us, since));
	if (query->until_us)
		return err_set(err, ERR_UNAVAILABLE, "nothing is stored before %s; see: ibwire db",
			       when_format_local(query->until_us, until));
	return err_set(err, ERR_UNAVAILABLE, "%s has no sweep yet; wait for the first sweep of the collector",
		       exporting->path);
}

/*
 * The sweeps of the part are those with samples, sums or events in that time. It is extended to whole
 * windows, and contains the hours that are completely within it.
 */
static const char find_sweeps[] =
	"CREATE TEMP TABLE part (since, until, first, last, first_window, last_window, first_hour, last_hour);"
	"INSERT INTO part (since, until) VALUES (%lld, %lld);"
	"UPDATE part SET first = coalesce((SELECT min(s) FROM (SELECT min(id) AS s FROM source.sweep"
	" WHERE wall_us >= since UNION ALL SELECT min(from_sweep) FROM source.chunk_window WHERE from_us >= since"
	" UNION ALL SELECT min(from_sweep) FROM source.hour WHERE from_us >= since"
	" UNION ALL SELECT min(sweep) FROM source.event WHERE wall_us >= since)), 1),"
	" last = coalesce((SELECT max(s) FROM (SELECT max(id) AS s FROM source.sweep WHERE wall_us <= until"
	" UNION ALL SELECT max(to_sweep) - 1 FROM source.chunk_window WHERE to_us <= until"
	" UNION ALL SELECT max(to_sweep) - 1 FROM source.hour WHERE to_us <= until)), 0)";
static const char find_windows[] =
	"UPDATE part SET first = coalesce((SELECT min(from_sweep) FROM source.chunk_window WHERE to_sweep > first"
	" AND from_sweep <= first), first),"
	" last = coalesce((SELECT max(to_sweep) - 1 FROM source.chunk_window WHERE to_sweep > last"
	" AND from_sweep <= last), last);"
	"UPDATE part SET (first_window, last_window) = (SELECT coalesce(min(id), 1), coalesce(max(id), 0)"
	" FROM source.chunk_window WHERE to_sweep > first AND from_sweep <= last),"
	" (first_hour, last_hour) = (SELECT coalesce(min(id), 1), coalesce(max(id), 0)"
	" FROM source.hour WHERE from_sweep >= first AND to_sweep - 1 <= last)";

static int find_range(struct exporting *exporting, struct error *err)
{
	const struct export_query *query = exporting->query;
	int64_t none = 0;
	long long since_us = query->since_us ? query->since_us : INT64_MIN;
	long long until_us = query->until_us ? query->until_us : INT64_MAX;
	int result = db_execf(exporting->db, err, find_sweeps, since_us, until_us);

	if (!result)
		result = db_integer(exporting->db, "SELECT first > last FROM part", 0, &none, err);
	if (!result && none)
		result = nothing_there(exporting, err);
	return result ? result : db_exec(exporting->db, find_windows, err);
}

/* The value of a column in the new table. */
static const char *column_sql(const struct exporting *exporting, const struct catalog_table *table, const char *column)
{
	for (int i = 0; i < CATALOG_COLUMNS_MAX && table->columns[i].name; i++) {
		const struct catalog_column *copied = &table->columns[i];

		if (strcmp(copied->name, column))
			continue;
		if (exporting->query->anonymise && copied->hidden)
			return copied->hidden;
		return copied->sql ? copied->sql : column;
	}
	return column;
}

static void append_where(struct text *sql, const struct catalog_table *table)
{
	static const char *const ends[RANGE_COUNT][2] = {
		[RANGE_SWEEPS] = { "first", "last" }, [RANGE_WINDOWS] = { "first_window", "last_window" },
		[RANGE_HOURS] = { "first_hour", "last_hour" },
	};

	switch (table->range) {
	case RANGE_SWEEPS:
	case RANGE_WINDOWS:
	case RANGE_HOURS:
		if (table->key)
			text_appendf(sql, " WHERE (%s BETWEEN (SELECT %s FROM part) * %lld"
				     " AND ((SELECT %s FROM part) + 1) * %lld - 1)", table->key, ends[table->range][0],
				     (long long)table->scale, ends[table->range][1], (long long)table->scale);
		break;
	case RANGE_SNAPSHOTS:
		text_appendf(sql, " WHERE %s IN (SELECT id FROM source.snapshot WHERE complete AND wall_us BETWEEN"
			     " (SELECT since FROM part) AND (SELECT until FROM part))", table->key);
		break;
	case RANGE_JOBS:
		text_appendf(sql, " WHERE %s IN (SELECT number FROM source.job WHERE begin_us <= (SELECT until FROM"
			     " part) AND coalesce(end_us >= (SELECT since FROM part), 1))", table->key);
		break;
	case RANGE_FINDINGS:
		text_appendf(sql, " WHERE %s IN (SELECT id FROM source.finding WHERE opened_sweep <= " CATALOG_LAST
			     " AND (closed_sweep IS NULL OR closed_sweep > " CATALOG_FIRST "))", table->key);
		break;
	case RANGE_LASTING:
		text_append(sql, " WHERE (from_sweep <= " CATALOG_LAST
			    " AND (to_sweep IS NULL OR to_sweep > " CATALOG_FIRST "))");
		break;
	default:
		return;
	}
	if (table->also)
		text_appendf(sql, " OR %s", table->also);
}

static int copy_sql(const struct exporting *exporting, const struct catalog_table *table, struct text *sql,
		    struct error *err)
{
	struct text values = { 0 };
	sqlite3_stmt *columns;
	bool more = false;
	int result = db_prepare(exporting->db, "SELECT name FROM pragma_table_info(?1, 'main')", &columns, err);

	if (result < 0)
		return result;
	sqlite3_bind_text(columns, 1, table->name, -1, SQLITE_STATIC);
	text_appendf(sql, "INSERT OR REPLACE INTO main.%s (", table->name);
	while ((result = db_step(columns, err)) > 0) {
		const char *name = (const char *)sqlite3_column_text(columns, 0);

		text_appendf(sql, "%s%s", more ? ", " : "", name);
		text_appendf(&values, "%s%s", more ? ", " : "", column_sql(exporting, table, name));
		more = true;
	}
	sqlite3_finalize(columns);
	text_appendf(sql, ") SELECT %s FROM ", text_chars(&values));
	if (table->from)
		text_append(sql, table->from);
	else
		text_appendf(sql, "source.%s", table->name);
	text_append(sql, " t");
	append_where(sql, table);
	if (!result && (text_failed(sql) || text_failed(&values)))
		result = err_nomem(err);
	text_done(&values);
	return result;
}

static int copy_table(struct exporting *exporting, const struct catalog_table *table, struct error *err)
{
	struct text sql = { 0 };
	int result;

	if (table->range == RANGE_NONE)
		return 0;
	result = copy_sql(exporting, table, &sql, err);
	if (!result)
		result = db_exec(exporting->db, text_chars(&sql), err);
	text_done(&sql);
	return result;
}

/* Absolute values at the first sweep: those of later sweeps are computed from them. */
static int put_first_readings(struct exporting *exporting, struct error *err)
{
	int64_t first = 0, ports = 0;
	struct stored_reading *by_port;
	sqlite3_stmt *insert = NULL;
	int result = db_integer(exporting->source, "SELECT max(id) FROM port", 0, &ports, err);

	if (!result)
		result = db_integer(exporting->db, "SELECT first FROM part", 0, &first, err);
	if (result < 0)
		return result;
	by_port = calloc((size_t)ports + 1, sizeof(*by_port));
	if (!by_port)
		return err_nomem(err);
	result = readings_prepare_absolute(exporting->db, &insert, err);
	if (!result)
		result = readings_load(exporting->source, first, by_port, (size_t)ports + 1, err);
	for (int64_t i = 1; !result && i <= ports; i++)
		if (by_port[i].there && by_port[i].read_sweep == first)
			result = readings_write_absolute(insert, (uint32_t)i, &by_port[i], err);
	sqlite3_finalize(insert);
	free(by_port);
	return result;
}

/* The last readings of ports in a gap. */
static const char resting_readings[] =
	"INSERT OR IGNORE INTO main.absolute SELECT a.* FROM main.span g CROSS JOIN source.absolute a"
	" ON a.sweep = g.read_sweep AND a.port = g.port";

static int fill(struct exporting *exporting, struct error *err)
{
	struct export_summary *summary = &exporting->summary;
	int result = find_range(exporting, err);

	if (!result && exporting->query->anonymise)
		result = anonymise_begin(&exporting->anonymiser, exporting->db, err);
	for (size_t i = 0; !result && i < catalog_table_count; i++)
		result = copy_table(exporting, &catalog_tables[i], err);
	if (!result)
		result = db_exec(exporting->db, resting_readings, err);
	if (!result)
		result = put_first_readings(exporting, err);
	if (!result)
		result = db_integer(exporting->db, "SELECT count(*) FROM main.sweep", 0, &summary->sweeps, err);
	if (!result)
		result = db_integer(exporting->db, "SELECT wall_us FROM main.sweep ORDER BY id LIMIT 1", 0,
				    &summary->since_us, err);
	if (!result)
		result = db_integer(exporting->db, "SELECT wall_us FROM main.sweep ORDER BY id DESC LIMIT 1", 0,
				    &summary->until_us, err);
	return result;
}

static int make(void *ctx, const char *part, struct error *err)
{
	struct exporting *exporting = ctx;
	int result = schema_verify_keys(exporting->source, err);

	if (!result)
		result = open_new_file(exporting, part, err);
	if (!result)
		result = fill(exporting, err);
	if (!result)
		result = db_exec(exporting->db, "COMMIT; DETACH source; PRAGMA main.journal_mode = WAL", err);
	if (sqlite3_close(exporting->db) != SQLITE_OK && !result)
		result = err_set(err, ERR_INTERNAL, "%s could not be closed", part);
	anonymise_done(&exporting->anonymiser);
	return result;
}

int admin_export(const char *path, const char *new_path, const struct export_query *query,
		 struct export_summary *ret, struct error *err)
{
	struct exporting exporting = { .path = path, .query = query };
	int64_t log;
	int result = admin_open(path, false, &exporting.source, &exporting.immutable, err);

	if (result < 0)
		return result;
	result = admin_create(new_path, make, &exporting, err);
	sqlite3_close(exporting.source);
	if (result < 0)
		return result;
	*ret = exporting.summary;
	return admin_file_bytes(new_path, &ret->bytes, &log, err);
}
