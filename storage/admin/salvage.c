/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/admin/salvage.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "storage/admin/admin_internal.h"
#include "storage/file/db.h"
#include "storage/admin/catalog.h"
#include "storage/file/schema.h"

/* Columns of the longest primary key. */
enum { KEYS_MOST = 3 };

/*
 * What lies between two places is halved so often at most. A page holds some dozens of rows: so this finds the pages
 * beside it. Where nothing can be read up to the end of a table, which may be far, and among rows of one first key,
 * it is halved less often.
 */
enum { HALVED_MOST = 10, HALVED_AT_END = 6, HALVED_WITHIN = 4 };

/* Of one table so many stretches are looked at closely: a file that is nothing but damage shall not take for ever. */
enum { TRIES_MOST = 200000 };

/* Above every key that there is. */
#define KEY_END (INT64_MAX - 1)

enum direction { UP, DOWN, DIRECTION_COUNT };

/* Rows whose first keys are these, and the next one is from lo to hi. */
struct stretch {
	int level;               /* so many keys are fixed */
	int64_t fixed[KEYS_MOST];
	int64_t lo, hi;
};

struct salvaging {
	sqlite3 *source, *db;
	admin_fault_fn *missing;
	void *ctx;
	uint64_t missing_count;
	/* The table in hand. */
	const struct kept_table *table;
	int column_count;
	int keys[KEYS_MOST];     /* which columns */
	char key_name[64];       /* of the first */
	int key_count;           /* 0: the key is no number */
	sqlite3_stmt *insert;
	sqlite3_stmt *scans[KEYS_MOST][DIRECTION_COUNT];
	unsigned tries_left;
	bool has_hole;           /* one that was not told yet, of the first key */
	int64_t hole_lo, hole_hi;
};

/* What one scan came to. */
struct scanned {
	bool damaged; /* it did not reach the end */
	bool any;
	int64_t last; /* where any: the key of the last row that can be believed */
};

/* Is it what is read that is bad, and not what we do? */
static bool is_damage(sqlite3 *db)
{
	int code = sqlite3_extended_errcode(db);

	switch (code & 0xff) {
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
	case SQLITE_TOOBIG:
		return true;
	case SQLITE_IOERR:
		return code == SQLITE_IOERR_READ || code == SQLITE_IOERR_SHORT_READ || code == SQLITE_IOERR_CORRUPTFS;
	default:
		return false;
	}
}

static const char *key_word(const struct salvaging *salvaging)
{
	const struct kept_table *table = salvaging->table;

	if (!table->key || strcmp(table->key, salvaging->key_name))
		return "rows";
	return table->range == RANGE_SWEEPS ? "sweeps" : table->range == RANGE_WINDOWS ? "windows of sweeps" :
	       table->range == RANGE_HOURS ? "hours" : table->range == RANGE_LASTING ? "what began in sweeps" : "rows";
}

static void tell_hole(struct salvaging *salvaging)
{
	const struct kept_table *table = salvaging->table;
	int64_t lo = salvaging->hole_lo, hi = salvaging->hole_hi;
	bool scaled = table->key && !strcmp(table->key, salvaging->key_name);
	char what[160];

	if (!salvaging->has_hole)
		return;
	salvaging->has_hole = false;
	salvaging->missing_count++;
	if (!salvaging->missing)
		return;
	if (scaled)
		lo /= table->scale;
	if (!lo && hi == KEY_END) {
		snprintf(what, sizeof(what), "nothing of it can be read");
	} else if (hi == KEY_END) {
		snprintf(what, sizeof(what), "%s from %" PRId64 " on cannot be read", key_word(salvaging), lo);
	} else {
		if (scaled)
			hi /= table->scale;
		snprintf(what, sizeof(what), "some of %s %" PRId64 " to %" PRId64 " cannot be read",
			 key_word(salvaging), lo, hi);
	}
	salvaging->missing(salvaging->ctx, &(struct admin_fault){ .where = table->name, .what = what });
}

/* Neighbours are told as one. */
static void note_hole(struct salvaging *salvaging, const struct stretch *stretch)
{
	int64_t lo = stretch->level ? stretch->fixed[0] : stretch->lo;
	int64_t hi = stretch->level ? stretch->fixed[0] : stretch->hi;

	if (salvaging->has_hole && lo <= salvaging->hole_hi && hi >= salvaging->hole_lo) {
		salvaging->hole_lo = lo < salvaging->hole_lo ? lo : salvaging->hole_lo;
		salvaging->hole_hi = hi > salvaging->hole_hi ? hi : salvaging->hole_hi;
		return;
	}
	if (salvaging->has_hole && salvaging->hole_hi < KEY_END && lo == salvaging->hole_hi + 1) {
		salvaging->hole_hi = hi;
		return;
	}
	tell_hole(salvaging);
	salvaging->has_hole = true;
	salvaging->hole_lo = lo;
	salvaging->hole_hi = hi;
}

/* A row into the new table. It may be there already. Return: 1 where the table does not take it, 0, or an error. */
static int put_row(struct salvaging *salvaging, sqlite3_stmt *row, struct error *err)
{
	sqlite3_stmt *insert = salvaging->insert;
	int code;

	for (int i = 0; i < salvaging->column_count; i++)
		sqlite3_bind_value(insert, i + 1, sqlite3_column_value(row, i));
	code = sqlite3_step(insert);
	if (code != SQLITE_DONE && (sqlite3_errcode(salvaging->db) & 0xff) == SQLITE_CONSTRAINT) {
		int why = sqlite3_extended_errcode(salvaging->db);

		sqlite3_reset(insert);
		return why != SQLITE_CONSTRAINT_PRIMARYKEY && why != SQLITE_CONSTRAINT_ROWID &&
		       why != SQLITE_CONSTRAINT_UNIQUE;
	}
	if (code != SQLITE_DONE)
		db_fail(salvaging->db, err);
	code = code == SQLITE_DONE ? 0 : ERR_IO;
	sqlite3_reset(insert);
	return code;
}

/* A key that a damaged page made up shows by its order. */
static bool is_in_order(const struct stretch *stretch, enum direction direction, const struct scanned *scanned,
			int64_t key)
{
	if (key < stretch->lo || key > stretch->hi)
		return false;
	return !scanned->any || (direction == UP ? key >= scanned->last : key <= scanned->last);
}

/* Copy the rows of a stretch, as far as they can be read one after the other. Return: 0 or an error. */
static int scan(struct salvaging *salvaging, const struct stretch *stretch, enum direction direction,
		struct scanned *ret, struct error *err)
{
	sqlite3_stmt *rows = salvaging->scans[stretch->level][direction];
	int result = 0, code = SQLITE_DONE, key_column = salvaging->keys[stretch->level];
	struct scanned before = { 0 };

	*ret = before;
	salvaging->tries_left -= salvaging->tries_left > 0;
	for (int i = 0; i < stretch->level; i++)
		sqlite3_bind_int64(rows, i + 1, stretch->fixed[i]);
	sqlite3_bind_int64(rows, stretch->level + 1, stretch->lo);
	sqlite3_bind_int64(rows, stretch->level + 2, stretch->hi);
	while (result >= 0 && (code = sqlite3_step(rows)) == SQLITE_ROW) {
		int64_t key = sqlite3_column_int64(rows, key_column);

		/* Of two that are not in order either may be the wrong one: behind the one before them it goes on. */
		if (salvaging->key_count && !is_in_order(stretch, direction, ret, key)) {
			*ret = before;
			ret->damaged = true;
			break;
		}
		before = *ret;
		ret->any = true;
		ret->last = key;
		result = put_row(salvaging, rows, err);
		if (result == 1) {
			struct stretch one = *stretch;

			one.lo = one.hi = key;
			note_hole(salvaging, &one);
		}
	}
	if (result >= 0 && code != SQLITE_ROW && code != SQLITE_DONE) {
		ret->damaged = is_damage(salvaging->source);
		if (!ret->damaged)
			result = db_fail(salvaging->source, err);
	}
	sqlite3_reset(rows);
	return result < 0 ? result : 0;
}

static int walk(struct salvaging *salvaging, struct stretch stretch, struct error *err);

static bool is_last_key(const struct salvaging *salvaging, const struct stretch *stretch)
{
	return stretch->level + 1 >= salvaging->key_count;
}

/*
 * Something in a stretch cannot be read. From both ends, then each half of what is left.
 * More rows of one key are gone through by the next one.
 */
static int sift(struct salvaging *salvaging, struct stretch stretch, int halvings, struct error *err)
{
	bool last = is_last_key(salvaging, &stretch);
	struct stretch half = stretch;
	struct scanned up, down;
	int result;

	if (!salvaging->tries_left) {
		note_hole(salvaging, &stretch);
		return 0;
	}
	result = scan(salvaging, &stretch, UP, &up, err);
	if (result < 0 || !up.damaged)
		return result;
	if (up.any)
		stretch.lo = up.last + last;
	if (stretch.lo > stretch.hi)
		return 0;
	result = scan(salvaging, &stretch, DOWN, &down, err);
	if (result < 0 || !down.damaged)
		return result;
	if (down.any)
		stretch.hi = down.last - last;
	if (stretch.lo > stretch.hi)
		return 0;
	if (stretch.lo == stretch.hi && !last) {
		stretch.fixed[stretch.level++] = stretch.lo;
		stretch.lo = 0;
		stretch.hi = KEY_END;
		return walk(salvaging, stretch, err);
	}
	if (stretch.lo == stretch.hi || !halvings) {
		note_hole(salvaging, &stretch);
		return 0;
	}
	half = stretch;
	half.hi = stretch.lo + (stretch.hi - stretch.lo) / 2;
	result = sift(salvaging, half, halvings - 1, err);
	if (result < 0)
		return result;
	half.lo = half.hi + 1;
	half.hi = stretch.hi;
	return sift(salvaging, half, halvings - 1, err);
}

/* From a place on nothing was found: its neighbourhood is gone through all the same, and further off less closely. */
static int sift_end(struct salvaging *salvaging, struct stretch stretch, struct error *err)
{
	struct stretch part = stretch;
	int result = 0;

	for (int64_t step = 1; !result && !stretch.level && step < (stretch.hi - stretch.lo) / 2; step *= 2) {
		part.lo = stretch.lo;
		part.hi = stretch.lo + step - 1;
		result = sift(salvaging, part, HALVED_AT_END, err);
		stretch.lo += step;
	}
	if (!result)
		note_hole(salvaging, &stretch);
	return result;
}

/* Where one row after the other cannot be read: twice as far each time. @ret: the first place where it goes on. */
static int leap(struct salvaging *salvaging, const struct stretch *stretch, struct scanned *scanned, int64_t *ret,
		bool *ret_found, struct error *err)
{
	struct stretch rest = *stretch;
	int result = 0;

	*ret_found = false;
	for (int64_t step = 1; !result && step <= stretch->hi - stretch->lo; step *= 2) {
		rest.lo = stretch->lo + step;
		result = scan(salvaging, &rest, UP, scanned, err);
		if (!result && (scanned->any || !scanned->damaged)) {
			*ret_found = true;
			*ret = rest.lo;
			break;
		}
		if (step > INT64_MAX / 2)
			break;
	}
	return result;
}

static int walk(struct salvaging *salvaging, struct stretch stretch, struct error *err)
{
	bool last = is_last_key(salvaging, &stretch), found;
	struct stretch hole = stretch;
	struct scanned scanned;
	int64_t next = 0;
	int result = scan(salvaging, &stretch, UP, &scanned, err);

	while (!result && scanned.damaged) {
		if (scanned.any && last && scanned.last == stretch.hi)
			return 0;
		if (scanned.any)
			stretch.lo = scanned.last + last;
		result = leap(salvaging, &stretch, &scanned, &next, &found, err);
		if (result < 0)
			return result;
		hole.lo = stretch.lo;
		hole.hi = found ? next - 1 : stretch.hi;
		if (!found)
			return sift_end(salvaging, hole, err);
		result = sift(salvaging, hole, stretch.level ? HALVED_WITHIN : HALVED_MOST, err);
		stretch.lo = next;
	}
	return result;
}

/* All columns of the new table, and which of them its rows are ordered by. */
static int list_columns(struct salvaging *salvaging, struct text *ret, char keys[KEYS_MOST][64], struct error *err)
{
	bool numbers = true;
	sqlite3_stmt *columns;
	int result = db_prepare(salvaging->db, "SELECT name, type, pk FROM pragma_table_info(?1)", &columns, err);

	if (result < 0)
		return result;
	sqlite3_bind_text(columns, 1, salvaging->table->name, -1, SQLITE_STATIC);
	salvaging->column_count = salvaging->key_count = 0;
	while ((result = db_step(columns, err)) > 0) {
		const char *name = (const char *)sqlite3_column_text(columns, 0);
		int key = sqlite3_column_int(columns, 2) - 1;

		text_appendf(ret, "%s%s", salvaging->column_count ? ", " : "", name);
		if (key >= 0 && key < KEYS_MOST) {
			snprintf(keys[key], 64, "%s", name);
			salvaging->keys[key] = salvaging->column_count;
			salvaging->key_count = salvaging->key_count > key ? salvaging->key_count : key + 1;
			numbers = numbers && !strcmp((const char *)sqlite3_column_text(columns, 1), "INTEGER");
		}
		salvaging->column_count++;
	}
	sqlite3_finalize(columns);
	memcpy(salvaging->key_name, keys[0], sizeof(salvaging->key_name));
	if (!numbers)
		salvaging->key_count = 0;
	return result < 0 ? result : text_failed(ret) ? err_nomem(err) : 0;
}

static int prepare_insert(struct salvaging *salvaging, struct error *err)
{
	struct text sql = { 0 };
	int result;

	/* What a new database has of itself gives way where the key is no number (meta). */
	text_appendf(&sql, "INSERT%s INTO %s VALUES (?", salvaging->key_count ? "" : " OR REPLACE",
		     salvaging->table->name);
	for (int i = 1; i < salvaging->column_count; i++)
		text_append(&sql, ", ?");
	text_append(&sql, ")");
	result = text_failed(&sql) ? err_nomem(err)
				   : db_prepare(salvaging->db, text_chars(&sql), &salvaging->insert, err);
	text_done(&sql);
	return result;
}

static int prepare_scan(struct salvaging *salvaging, const char *columns, char keys[KEYS_MOST][64], int level,
			enum direction direction, struct error *err)
{
	struct text sql = { 0 };
	int result;

	text_appendf(&sql, "SELECT %s FROM %s", columns, salvaging->table->name);
	if (salvaging->key_count) {
		text_append(&sql, " WHERE ");
		for (int i = 0; i < level; i++)
			text_appendf(&sql, "%s = ?%d AND ", keys[i], i + 1);
		text_appendf(&sql, "%s BETWEEN ?%d AND ?%d ORDER BY ", keys[level], level + 1, level + 2);
		for (int i = 0; i < salvaging->key_count; i++)
			text_appendf(&sql, "%s%s%s", i ? ", " : "", keys[i], direction == DOWN ? " DESC" : "");
	}
	result = text_failed(&sql) ? err_nomem(err) : db_prepare(salvaging->source, text_chars(&sql),
								 &salvaging->scans[level][direction], err);
	text_done(&sql);
	return result;
}

static int prepare_table(struct salvaging *salvaging, struct error *err)
{
	char keys[KEYS_MOST][64] = { "" };
	struct text columns = { 0 };
	int result = list_columns(salvaging, &columns, keys, err);

	/* The list has tables of other versions too. */
	if (!result && !salvaging->column_count) {
		text_done(&columns);
		return 0;
	}
	if (!result)
		result = prepare_insert(salvaging, err);
	for (int level = 0; !result && level < (salvaging->key_count ? salvaging->key_count : 1); level++)
		for (int direction = UP; !result && direction < DIRECTION_COUNT; direction++)
			result = prepare_scan(salvaging, text_chars(&columns), keys, level, (enum direction)direction,
					      err);
	text_done(&columns);
	return result;
}

static int salvage_table(struct salvaging *salvaging, const struct kept_table *table, struct error *err)
{
	struct stretch all = { .lo = 0, .hi = KEY_END };
	struct scanned scanned = { 0 };
	int result;

	salvaging->table = table;
	salvaging->tries_left = TRIES_MOST;
	result = prepare_table(salvaging, err);
	if (result < 0 || !salvaging->column_count)
		goto out;
	if (salvaging->key_count)
		result = walk(salvaging, all, err);
	else
		result = scan(salvaging, &all, UP, &scanned, err);
	if (!result && !salvaging->key_count && scanned.damaged)
		note_hole(salvaging, &all);
	tell_hole(salvaging);
out:
	sqlite3_finalize(salvaging->insert);
	salvaging->insert = NULL;
	for (int level = 0; level < KEYS_MOST; level++)
		for (int direction = UP; direction < DIRECTION_COUNT; direction++) {
			sqlite3_finalize(salvaging->scans[level][direction]);
			salvaging->scans[level][direction] = NULL;
		}
	return result;
}

static int open_new(struct salvaging *salvaging, const char *path, struct error *err)
{
	int result = schema_create(path, err);

	if (result < 0)
		return result;
	if (sqlite3_open_v2(path, &salvaging->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
		return db_fail(salvaging->db, err);
	admin_watch_stop(salvaging->db);
	return db_exec(salvaging->db, "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF;"
		       " PRAGMA cache_size = -65536; BEGIN", err);
}

int salvage_run(sqlite3 *source, const char *path, admin_fault_fn *missing, void *ctx, uint64_t *ret_missing,
		struct error *err)
{
	struct salvaging salvaging = { .source = source, .missing = missing, .ctx = ctx };
	int result = open_new(&salvaging, path, err);

	admin_watch_stop(source);
	/* All of one moment, also beside a collector. */
	if (!result)
		result = db_exec(source, "BEGIN", err);
	for (size_t i = 0; !result && i < kept_table_count; i++)
		if (kept_tables[i].range != RANGE_NONE)
			result = salvage_table(&salvaging, &kept_tables[i], err);
	if (!result)
		result = db_exec(salvaging.db, "COMMIT", err);
	if (!sqlite3_get_autocommit(source))
		sqlite3_exec(source, "ROLLBACK", NULL, NULL, NULL);
	if (sqlite3_close(salvaging.db) != SQLITE_OK && !result)
		result = err_set(err, ERR_INTERNAL, "%s could not be closed", path);
	*ret_missing = salvaging.missing_count;
	return result;
}
