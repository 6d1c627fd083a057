/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/sql/sql_tables.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "base/when.h"
#include "fabric/counter.h"
#include "storage/file/db.h"
#include "storage/sql/delta_table.h"
#include "storage/sql/port_names.h"

void sql_declare_counters(struct text *sql)
{
	for (int i = 0; i < COUNTER_COUNT; i++)
		text_appendf(sql, ", %s INTEGER", counter_info((enum counter)i)->key);
}

int64_t sql_bytes(uint64_t words)
{
	return words > INT64_MAX / COUNTER_WORD_BYTES ? INT64_MAX : (int64_t)(words * COUNTER_WORD_BYTES);
}

bool sql_parse_time(sqlite3_value *value, int64_t absent, int64_t *ret_us, struct error *err)
{
	switch (sqlite3_value_type(value)) {
	case SQLITE_NULL:
		*ret_us = absent;
		return true;
	case SQLITE_INTEGER:
	case SQLITE_FLOAT:
		*ret_us = sqlite3_value_int64(value);
		return true;
	case SQLITE_TEXT:
		return when_parse((const char *)sqlite3_value_text(value), clock_wall_us(clock_system()), ret_us,
				  err) == 0;
	default:
		err_set(err, ERR_USAGE, "a time is text such as '-10m' or '2026-11-20T14:00:00Z', or microseconds "
			"since 1970");
		return false;
	}
}

void sql_put_port(sqlite3_context *context, const struct port_names *names, uint64_t port_id, int64_t sweep,
		  enum sql_port what)
{
	const struct known_port *port = port_names_find(names, port_id);
	const char *name;
	char guid[24];

	if (!port)
		return;
	if (what == SQL_PORT) {
		sqlite3_result_int(context, port->num);
	} else if (what == SQL_NODE_GUID) {
		snprintf(guid, sizeof(guid), "0x%016" PRIx64, port->node_guid);
		sqlite3_result_text(context, guid, -1, SQLITE_TRANSIENT);
	} else {
		name = port_names_node(names, port, sweep);
		if (name)
			sqlite3_result_text(context, name, -1, SQLITE_TRANSIENT);
	}
}

int sql_fail(sqlite3_vtab *table, const struct error *err)
{
	sqlite3_free(table->zErrMsg);
	table->zErrMsg = sqlite3_mprintf("%s", err->text);
	if (err->code == ERR_IO)
		return SQLITE_CORRUPT_VTAB; /* the file's fault, not that of who asks */
	return err->code == ERR_NOMEM ? SQLITE_NOMEM : SQLITE_ERROR;
}

int sql_declare(sqlite3 *db, const char *declaration, size_t size, sqlite3_vtab **ret)
{
	sqlite3_vtab *table = calloc(1, size);
	int code = table ? sqlite3_declare_vtab(db, declaration) : SQLITE_NOMEM;

	if (code != SQLITE_OK) {
		free(table);
		return code;
	}
	/* It only reads its own database: views may use it, also where the schema is not trusted. */
	sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
	*ret = table;
	return SQLITE_OK;
}

int sql_disconnect(sqlite3_vtab *table)
{
	free(table);
	return SQLITE_OK;
}

int sql_open(size_t size, sqlite3_vtab_cursor **ret)
{
	sqlite3_vtab_cursor *cursor = calloc(1, size);

	if (!cursor)
		return SQLITE_NOMEM;
	*ret = cursor;
	return SQLITE_OK;
}

int sql_tables_connect(sqlite3 *db, struct error *err)
{
	static const char *const names[] = { "SELECT 1 FROM delta", "SELECT 1 FROM sample", "SELECT 1 FROM port_sum" };
	int result = 0;

	for (size_t i = 0; !result && i < sizeof(names) / sizeof(*names); i++) {
		sqlite3_stmt *statement;

		result = db_prepare(db, names[i], &statement, err);
		sqlite3_finalize(statement);
	}
	return result;
}

int sql_tables_register(sqlite3 *db, struct error *err)
{
	int result = delta_table_register(db, err);

	if (result < 0)
		return result;
	if (sample_table_register(db) != SQLITE_OK || port_sum_table_register(db) != SQLITE_OK)
		return db_fail(db, err);
	return 0;
}
