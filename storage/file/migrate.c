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
#include <stddef.h>

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

int schema_migrate(sqlite3 *db, struct error *err)
{
	int64_t version = 0;
	int result = db_integer(db, "PRAGMA user_version", 0, &version, err);

	if (result < 0 || version < SCHEMA_VERSION)
		return result < 0 ? result : schema_run_steps(db, steps, update_views, err);
	/* Without space for the views, the tables are still usable. */
	if (schema_has_views(db, NULL) == 0)
		schema_run_steps(db, steps, update_views, NULL);
	return 0;
}
