/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * migrate.c - migration of databases with an older schema version
 *
 * tables.c defines the current schema; the table below has one step for each older version. To
 * change the schema: change tables.c, increment SCHEMA_VERSION, add a step that makes the new
 * version from the previous one. A released step never changes.
 *
 * Views do not count as part of a version, since no stored data depends on them: a database with
 * other views gets the current ones when it is opened for writing.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/err.h"
#include "storage/file/db.h"
#include "storage/file/schema.h"
#include "storage/file/tables.h"

/* The step at index i makes version i + 2 from version i + 1; NULL ends the table. */
static schema_step_fn *const steps[] = { NULL };

_Static_assert(sizeof(steps) / sizeof(*steps) == SCHEMA_VERSION, "one step for each older version, then NULL");

/* In a transaction of the caller, so that no other process migrates meanwhile. */
static int run_steps(sqlite3 *db, schema_step_fn *const *list, struct error *err)
{
	int64_t version = 0;
	char set_version[48];
	int result = db_integer(db, "PRAGMA user_version", 0, &version, err);

	for (; !result && list[version - 1]; version++) {
		result = list[version - 1](db, err);
		snprintf(set_version, sizeof(set_version), "PRAGMA user_version = %d", (int)version + 1);
		if (!result)
			result = db_exec(db, set_version, err);
	}
	return result;
}

static int update_views(sqlite3 *db, struct error *err)
{
	int result = db_exec(db, tables_drop_views, err);

	if (!result)
		result = schema_make_views(db, err);
	if (!result)
		result = schema_fill_names(db, err);
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

/* Are the views of @db, by their text, those of a new database? */
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

int schema_migrate(sqlite3 *db, struct error *err)
{
	int64_t version = 0;
	bool same = false;
	int result = db_integer(db, "PRAGMA user_version", 0, &version, err);

	if (result < 0 || version < SCHEMA_VERSION)
		return result < 0 ? result : schema_run_steps(db, steps, update_views, err);
	/* Without space for the views, the tables are still usable. */
	if (has_views(db, &same, NULL) == 0 && !same)
		schema_run_steps(db, steps, update_views, NULL);
	return 0;
}
