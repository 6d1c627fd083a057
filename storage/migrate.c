/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * migrate.c - databases of older versions brought up to date
 *
 * tables.c says what a new database is like; here stands, for each version, what
 * makes the next one of it. A step only adds: it takes no longer for a large
 * database than for a small one. Views and names are made anew after the last step.
 *
 * For another version: raise SCHEMA_VERSION, change tables.c, add the step. Where
 * it changes a table that an earlier step makes out of tables.c, that step needs
 * the text as it was. migrate_test.c compares what comes out with a new database.
 */
#include <stddef.h>

#include "base/err.h"
#include "storage/db.h"
#include "storage/schema.h"
#include "storage/tables.h"

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

static int step_2_to_3(sqlite3 *db, struct error *err)
{
	int result = schema_make_history(db, err);

	return result ? result : db_exec(db, "PRAGMA user_version = 3", err);
}

/* What makes version i + 2 of version i + 1. A step that was released is never changed. */
static int (*const steps[])(sqlite3 *db, struct error *err) = { step_1_to_2, step_2_to_3 };

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
	return result ? result : schema_fill_names(db, err);
}

int schema_migrate(sqlite3 *db, struct error *err)
{
	int64_t version = 0;
	int result = db_integer(db, "PRAGMA user_version", 0, &version, err);

	if (result < 0 || version == SCHEMA_VERSION)
		return result;
	result = db_exec(db, "BEGIN IMMEDIATE", err);
	if (!result)
		result = run_steps(db, err);
	if (!result)
		result = db_exec(db, "COMMIT", err);
	if (result < 0 && !sqlite3_get_autocommit(db))
		sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	return result;
}
