/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* sql_extension.c - ibwire-sql.so: sample, port_sum and delta as an SQLite extension */
#include "storage/sql/extension.h"

#include "base/err.h"
#include "storage/sql/sql_tables.h"

SQLITE_EXTENSION_INIT1

/* SQLite derives this name from the file name. */
__attribute__((visibility("default")))
int sqlite3_ibwiresql_init(sqlite3 *db, char **message, const sqlite3_api_routines *api);

int sqlite3_ibwiresql_init(sqlite3 *db, char **message, const sqlite3_api_routines *api)
{
	struct error err = { 0 };

	SQLITE_EXTENSION_INIT2(api);
	if (sql_tables_register(db, &err) == 0)
		return SQLITE_OK;
	*message = sqlite3_mprintf("%s", err.text);
	return SQLITE_ERROR;
}
