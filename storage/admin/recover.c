/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * recover.c - the readable rows of a damaged database in a new one
 *
 * Each table is read forward to its first damage, then backward from its end: rows between two damaged pages are
 * lost. Of node and port, whose ids must have no holes, lost rows are also searched in their index. Finally rows are
 * removed that would be wrong without those that were lost.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/stop.h"
#include "base/text.h"
#include "storage/admin.h"
#include "storage/admin/admin_internal.h"
#include "storage/admin/catalog.h"
#include "storage/codec/codec.h"
#include "storage/file/db.h"
#include "storage/file/schema.h"

enum { NAME_SIZE = 64 };

/* The result of a table. */
struct recovered {
	int64_t rows, removed;
	int64_t from[2], to[2];    /* the first two columns of the keys before and after the damage */
	bool damaged, has_from, has_to;
	char error[192];
	char key[2][NAME_SIZE];    /* names of these columns; "0": it has one */
};

struct recovering {
	sqlite3 *source, *db; /* the damaged database; the new one */
	struct recovered *tables; /* as catalog_tables */
	admin_recovered_fn *found;
	void *ctx;
};

/* The statements that copy a table. */
struct copying {
	struct recovered *to;
	sqlite3_stmt *insert;
	struct text select, order, backward;
	int columns;
};

static int describe(struct recovering *recovering, const char *table, struct copying *copying, struct error *err)
{
	static const char columns[] =
		"SELECT group_concat(name, ', '), count(*), max(CASE pk WHEN 1 THEN name END),"
		" coalesce(max(CASE pk WHEN 2 THEN name END), '0') FROM pragma_table_info(?1)";
	static const char keys[] =
		"SELECT group_concat(name, ', '), group_concat(name || ' DESC', ', ') FROM"
		" (SELECT name FROM pragma_table_info(?1) WHERE pk ORDER BY pk)";
	struct recovered *to = copying->to;
	struct text insert = { 0 };
	sqlite3_stmt *row;
	int result = db_prepare(recovering->db, columns, &row, err);

	sqlite3_bind_text(row, 1, table, -1, SQLITE_STATIC);
	if (!result)
		result = db_step(row, err);
	if (result > 0) {
		copying->columns = sqlite3_column_int(row, 1);
		for (int i = 0; i < 2; i++)
			sqlite3_snprintf(NAME_SIZE, to->key[i], "%s", sqlite3_column_text(row, 2 + i));
		text_appendf(&copying->select, "SELECT %s, %s, %s FROM %s ORDER BY ", to->key[0], to->key[1],
			     (const char *)sqlite3_column_text(row, 0), table);
	}
	sqlite3_finalize(row);
	if (result >= 0)
		result = db_prepare(recovering->db, keys, &row, err);
	if (result < 0)
		return result;
	sqlite3_bind_text(row, 1, table, -1, SQLITE_STATIC);
	result = db_step(row, err);
	if (result > 0) {
		text_append(&copying->order, (const char *)sqlite3_column_text(row, 0));
		text_append(&copying->backward, (const char *)sqlite3_column_text(row, 1));
	}
	sqlite3_finalize(row);
	text_appendf(&insert, "INSERT INTO %s VALUES (?", table);
	for (int i = 1; i < copying->columns; i++)
		text_append(&insert, ", ?");
	text_append(&insert, ")");
	if (result >= 0)
		result = text_failed(&insert) ? err_nomem(err) :
			 db_prepare(recovering->db, text_chars(&insert), &copying->insert, err);
	text_done(&insert);
	return result;
}

/* Insert the row of @select. Return: 1; 0: a row with its key is there; or an error of the new database. */
static int insert_row(struct copying *copying, sqlite3_stmt *select, struct error *err)
{
	sqlite3 *db = sqlite3_db_handle(copying->insert);
	int code, extended;

	for (int i = 0; i < copying->columns; i++)
		sqlite3_bind_value(copying->insert, i + 1, sqlite3_column_value(select, i + 2));
	code = sqlite3_step(copying->insert);
	extended = sqlite3_extended_errcode(db);
	if (code != SQLITE_DONE && (extended & 0xff) != SQLITE_CONSTRAINT)
		return db_fail(db, err);
	sqlite3_reset(copying->insert);
	copying->to->rows += code == SQLITE_DONE;
	if (extended == SQLITE_CONSTRAINT_PRIMARYKEY || extended == SQLITE_CONSTRAINT_ROWID)
		return 0;
	/* No writer stores a row that the constraints reject. */
	copying->to->removed += code != SQLITE_DONE;
	return 1;
}

/*
 * Copy rows in an order until their end, damage, or one that is there.
 * @key:  of the last row that was read
 * @whole: continue after rows that are there
 * Return: 0 or an error. @ret_damage: it ended at damage.
 */
static int copy_rows(struct recovering *recovering, struct copying *copying, const char *order, bool whole,
		     int64_t key[2], bool *ret_read, bool *ret_damage, struct error *err)
{
	size_t len = copying->select.len;
	struct error damage = { 0 };
	sqlite3_stmt *select = NULL;
	int result, inserted = 1;

	text_append(&copying->select, order);
	if (text_failed(&copying->select))
		return err_nomem(err);
	result = db_prepare(recovering->source, text_chars(&copying->select), &select, &damage);
	while (result >= 0 && (inserted > 0 || (whole && !inserted)) && (result = db_step(select, &damage)) > 0) {
		inserted = insert_row(copying, select, err);
		if (inserted <= 0)
			continue;
		key[0] = sqlite3_column_int64(select, 0);
		key[1] = sqlite3_column_int64(select, 1);
		*ret_read = true;
	}
	sqlite3_finalize(select);
	copying->select.len = len;
	*ret_damage = result < 0;
	if (inserted < 0)
		return inserted;
	if (result < 0 && (damage.code == ERR_NOMEM || stop_requested()))
		return err_set(err, damage.code, "%s", damage.text);
	if (result < 0) {
		bool defined = sqlite3_errcode(recovering->source) != SQLITE_ERROR;

		sqlite3_snprintf(sizeof(copying->to->error), copying->to->error, "%s", defined
				 ? sqlite3_errmsg(recovering->source) : "its definition in the schema is damaged");
	}
	return 0;
}

static int copy_table(struct recovering *recovering, size_t at, struct error *err)
{
	const char *table = catalog_tables[at].name;
	/* Tables whose index has all columns. */
	const char *index = !strcmp(table, "node") ? "guid" : !strcmp(table, "port") ? "node, number" : NULL;
	struct recovered *to = &recovering->tables[at];
	struct copying copying = { .to = to };
	int64_t key[2], holes = 1;
	bool unused;
	int result = describe(recovering, table, &copying, err);

	if (result >= 0)
		result = copy_rows(recovering, &copying, text_chars(&copying.order), false, to->from, &to->has_from,
				   &to->damaged, err);
	if (!result && to->damaged)
		result = copy_rows(recovering, &copying, text_chars(&copying.backward), false, to->to, &to->has_to,
				   &unused, err);
	if (!result && to->damaged && index)
		result = copy_rows(recovering, &copying, index, true, key, &unused, &unused, err);
	if (!result && to->damaged && index)
		result = db_integerf(recovering->db, 1, &holes, err, "SELECT max(id) <> count(*) FROM %s", table);
	to->damaged &= holes != 0;
	sqlite3_finalize(copying.insert);
	text_done(&copying.select);
	text_done(&copying.order);
	text_done(&copying.backward);
	return result;
}

/* is_packed(SAMPLES, SWEEPS) - can they be unpacked? SWEEPS is 0 for a row of hot; NULL: not known, so no. */
static void is_packed(sqlite3_context *context, int count, sqlite3_value **values)
{
	struct codec_sample samples[CODEC_CHUNK_SWEEPS];
	const void *data = sqlite3_value_blob(values[0]);
	size_t len = (size_t)sqlite3_value_bytes(values[0]);
	int64_t sweeps = sqlite3_value_int64(values[1]);
	bool packed = false;

	(void)count;
	if (sqlite3_value_type(values[1]) != SQLITE_NULL && sweeps <= CODEC_CHUNK_SWEEPS)
		packed = (sweeps ? codec_read_chunk(data, len, samples, (unsigned)sweeps)
				 : hot_read_block(data, len, samples)) == 0;
	sqlite3_result_int(context, packed);
}

#define NEWEST "(SELECT coalesce(max(id), 0) FROM sweep)"

/* Rows that cannot be used, or would belong to later sweeps, windows and findings that get the ids of lost ones. */
static const struct { const char *table, *rows; } unusable[] = {
	{ "hot", "id / 65536 > " NEWEST " OR NOT is_packed(samples, 0)" },
	{ "chunk", "NOT is_packed(samples, (SELECT to_sweep - from_sweep FROM chunk_window"
	  " WHERE id = chunk.id / 2097152))" },
	{ "chunk_sum", "window NOT IN (SELECT id FROM chunk_window)" },
	{ "chunk_error", "window NOT IN (SELECT id FROM chunk_window)" },
	{ "hour_sum", "hour NOT IN (SELECT id FROM hour)" },
	{ "hour_error", "hour NOT IN (SELECT id FROM hour)" },
	{ "error", "sweep > " NEWEST },
	{ "absolute", "sweep > " NEWEST },
	{ "detail", "sweep > " NEWEST },
	{ "detail_value", "NOT EXISTS (SELECT 1 FROM detail d WHERE d.sweep = detail_value.sweep"
	  " AND d.port = detail_value.port AND d.attribute = detail_value.counter / 32)" },
	{ "node_version", "from_sweep > " NEWEST },
	{ "port_version", "from_sweep > " NEWEST " OR " ADMIN_PORT_WITHOUT_NODE },
	{ "route_version", "from_sweep > " NEWEST },
	{ "firmware", "from_sweep > " NEWEST },
	{ "pkey_version", "from_sweep > " NEWEST },
	{ "span", "from_sweep > " NEWEST },
	{ "finding_state", "finding NOT IN (SELECT id FROM finding) OR state_sweep NOT NULL AND NOT EXISTS (SELECT 1"
	  " FROM finding_state b WHERE b.finding = finding_state.finding"
	  " AND b.from_sweep = finding_state.state_sweep)" },
	{ "finding", "id NOT IN (SELECT finding FROM finding_state)" },
	{ "snapshot", "id NOT IN (SELECT snapshot FROM snapshot_node GROUP BY snapshot"
	  " HAVING max(node) + 1 = count(*))" },
	{ "snapshot_node", "snapshot NOT IN (SELECT id FROM snapshot)" },
	{ "snapshot_port", "snapshot NOT IN (SELECT id FROM snapshot)" },
	{ "snapshot_firmware", "snapshot NOT IN (SELECT id FROM snapshot)" },
	{ "job_rhythm", "job NOT IN (SELECT number FROM job)" },
};

/* A counter without a row in detail_value is 0: without its lost rows, a reading would be wrong. */
static int remove_readings(struct recovering *recovering, struct error *err)
{
	const struct recovered *lost = &recovering->tables[catalog_find("detail_value") - catalog_tables];
	struct recovered *detail = &recovering->tables[catalog_find("detail") - catalog_tables];
	int result;

	if (!lost->damaged)
		return 0;
	result = db_execf(recovering->db, err,
			  "DELETE FROM detail WHERE (sweep, port) BETWEEN (%lld, %lld) AND (%lld, %lld)",
			  (long long)lost->from[0], (long long)lost->from[1],
			  lost->has_to ? (long long)lost->to[0] : INT64_MAX, (long long)lost->to[1]);
	detail->removed += sqlite3_changes(recovering->db);
	return result;
}

/*
 * Readings are computed from the last row of absolute and the deltas since then. After lost rows they are unknown until
 * the next row: ports get one without counters in the last sweep of the lost rows, in the sweep before it, and before
 * the end of each window, which has its own readings.
 */
static int mark_readings(struct recovering *recovering, const char *table, struct error *err)
{
	static const char mark[] =
		"INSERT OR IGNORE INTO absolute (sweep, port, at_us, wall_us, wide)"
		" SELECT s.id, p.id, s.end_us, s.wall_us, 0 FROM sweep s, port p"
		" WHERE (s.id IN (SELECT id FROM sweep WHERE id <= ?3 ORDER BY id DESC LIMIT 2)"
		" OR s.id IN (SELECT to_sweep - 2 FROM chunk_window WHERE to_sweep - 1 BETWEEN ?1 AND ?3))"
		" AND CASE WHEN ?1 = ?3 THEN p.id > ?2 AND p.id < ?4 ELSE s.id > ?1 OR p.id > ?2 END";
	size_t at = (size_t)(catalog_find(table) - catalog_tables);
	const struct recovered *lost = &recovering->tables[at];
	int64_t blocks = catalog_tables[at].scale;
	int64_t from = lost->from[0] / blocks, to = lost->has_to ? lost->to[0] / blocks : INT64_MAX;
	sqlite3_stmt *insert;
	int result;

	if (!lost->damaged)
		return 0;
	result = db_prepare(recovering->db, mark, &insert, err);
	if (!result) {
		DB_BIND(insert, 1, from, blocks > 1 ? lost->from[0] % blocks * CODEC_BLOCK_PORTS + CODEC_BLOCK_PORTS - 1
						    : lost->from[1],
			to, blocks > 1 ? lost->to[0] % blocks * CODEC_BLOCK_PORTS : lost->to[1]);
		result = db_run(insert, err);
	}
	sqlite3_finalize(insert);
	return result;
}

static int remove_unusable(struct recovering *recovering, struct error *err)
{
	/* Boots that are lost get a name; detail_last is computed. */
	static const char derived[] =
		"INSERT INTO boot (id, boot_id) SELECT DISTINCT boot, 'lost-' || boot FROM sweep"
		" WHERE boot NOT IN (SELECT id FROM boot);"
		"INSERT INTO detail_last SELECT port, attribute, max(sweep) FROM detail GROUP BY 1, 2";
	static const char *const of_readings[] = { "absolute", "hot", "error" };
	int result = remove_readings(recovering, err);

	for (size_t i = 0; !result && i < sizeof(of_readings) / sizeof(*of_readings); i++)
		result = mark_readings(recovering, of_readings[i], err);
	for (size_t i = 0; !result && i < sizeof(unusable) / sizeof(*unusable); i++) {
		struct recovered *table = &recovering->tables[catalog_find(unusable[i].table) - catalog_tables];

		result = db_execf(recovering->db, err, "DELETE FROM %s WHERE %s", unusable[i].table, unusable[i].rows);
		table->removed += sqlite3_changes(recovering->db);
		table->rows -= sqlite3_changes(recovering->db);
	}
	if (!result)
		result = db_exec(recovering->db, derived, err);
	recovering->tables[catalog_find("detail_last") - catalog_tables].rows = sqlite3_changes(recovering->db);
	return result;
}

/* The sweep with which a window or hour begins; 0: it is lost. */
static int64_t first_sweep(struct recovering *recovering, const char *table, int64_t id)
{
	int64_t sweep = 0;

	db_integerf(recovering->db, 0, &sweep, NULL, "SELECT from_sweep FROM %s WHERE id = %lld", table, (long long)id);
	return sweep;
}

/* "sweep 120, port 64" */
static void append_place(struct recovering *recovering, size_t at, const int64_t key[2], struct text *text)
{
	const struct catalog_table *table = &catalog_tables[at];
	const struct recovered *of = &recovering->tables[at];
	int64_t first = key[0] / table->scale, port = table->scale > 1 ? key[0] % table->scale : key[1], sweep = first;
	bool windows = table->range == RANGE_WINDOWS, hours = table->range == RANGE_HOURS;
	bool of_sweep = table->scale > 1 || !strcmp(table->name, "sweep") || strstr(of->key[0], "sweep");

	if (windows || hours)
		sweep = first_sweep(recovering, windows ? "chunk_window" : "hour", first);
	if (windows || hours ? sweep > 0 : of_sweep)
		text_appendf(text, "sweep %" PRId64, sweep);
	else
		text_appendf(text, "%s %" PRId64, windows ? "window" : hours ? "hour" : table->name, first);
	if (table->scale > 1)
		text_appendf(text, ", port %" PRId64, table->scale == HOT_BLOCKS ? port * CODEC_BLOCK_PORTS : port);
	else if (of->key[1][0] != '0')
		text_appendf(text, ", %s %" PRId64, of->key[1], port);
}

/* Where rows of a damaged table are missing. */
static void append_missing(struct recovering *recovering, size_t at, struct text *text)
{
	const struct recovered *table = &recovering->tables[at];

	if (!table->has_from && !table->has_to) {
		text_appendf(text, "all (%s)", table->error);
		return;
	}
	text_append(text, "between ");
	if (table->has_from)
		append_place(recovering, at, table->from, text);
	else
		text_append(text, "the beginning");
	text_append(text, " and ");
	if (table->has_to)
		append_place(recovering, at, table->to, text);
	else
		text_append(text, "the end");
}

static int report(struct recovering *recovering, struct error *err)
{
	int result = 0;

	for (size_t i = 0; !result && i < catalog_table_count; i++) {
		const struct recovered *table = &recovering->tables[i];
		struct text missing = { 0 };
		struct admin_recovered row = { .table = catalog_tables[i].name, .rows = table->rows,
					       .removed = table->removed };

		if (table->damaged)
			append_missing(recovering, i, &missing);
		row.missing = text_chars(&missing);
		result = text_failed(&missing) ? err_nomem(err) : 0;
		if (!result && (table->rows || table->removed || table->damaged))
			recovering->found(recovering->ctx, &row);
		text_done(&missing);
	}
	return result;
}

static int make(void *ctx, const char *part, struct error *err)
{
	struct recovering *recovering = ctx;
	int result = schema_create(part, err);

	if (result < 0)
		return result;
	if (sqlite3_open_v2(part, &recovering->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
		result = db_fail(recovering->db, err);
	admin_watch_stop(recovering->db);
	/* Until it is complete, no other process uses it. */
	if (!result)
		result = db_exec(recovering->db, "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF;"
				 " PRAGMA temp_store = MEMORY; PRAGMA cache_size = -65536; BEGIN;"
				 " DELETE FROM meta", err);
	schema_harden(recovering->db);
	if (!result && sqlite3_create_function(recovering->db, "is_packed", 2, SQLITE_UTF8, NULL, is_packed, NULL, NULL)
	    != SQLITE_OK)
		result = db_fail(recovering->db, err);
	for (size_t i = 0; !result && i < catalog_table_count; i++)
		if (catalog_tables[i].range != RANGE_NONE && strcmp(catalog_tables[i].name, "detail_last") != 0)
			result = copy_table(recovering, i, err);
	if (!result)
		result = remove_unusable(recovering, err);
	if (!result)
		result = report(recovering, err);
	if (!result)
		result = db_exec(recovering->db, "COMMIT; PRAGMA journal_mode = WAL", err);
	if (sqlite3_close(recovering->db) != SQLITE_OK && !result)
		result = err_set(err, ERR_INTERNAL, "%s could not be closed", part);
	return result;
}

int admin_recover(const char *path, const char *new_path, admin_recovered_fn *found, void *ctx, struct error *err)
{
	struct recovering recovering = { .found = found, .ctx = ctx };
	int result = schema_open_damaged(path, &recovering.source, err);

	if (result < 0)
		return result;
	admin_watch_stop(recovering.source);
	recovering.tables = calloc(catalog_table_count, sizeof(*recovering.tables));
	result = recovering.tables ? admin_create(new_path, make, &recovering, err) : err_nomem(err);
	free(recovering.tables);
	sqlite3_close(recovering.source);
	return result;
}
