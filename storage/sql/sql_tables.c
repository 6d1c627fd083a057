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
#include "storage/sql/port_names.h"

void sql_declare_counters(struct text *sql, int count)
{
	for (int i = 0; i < count; i++)
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
		return SQLITE_CORRUPT_VTAB; /* the file is damaged, the statement is correct */
	return err->code == ERR_NOMEM ? SQLITE_NOMEM : SQLITE_ERROR;
}

int sql_connect(sqlite3 *db, void *kind, int argc, const char *const *argv, sqlite3_vtab **ret, char **message)
{
	struct sql_table *table = calloc(1, sizeof(*table));
	struct text sql = { 0 };
	int code = SQLITE_NOMEM;

	(void)argc;
	(void)argv;
	(void)message;
	((const struct sql_kind *)kind)->declare(&sql);
	if (table && !text_failed(&sql))
		code = sqlite3_declare_vtab(db, text_chars(&sql));
	text_done(&sql);
	if (code != SQLITE_OK) {
		free(table);
		return code;
	}
	table->db = db;
	table->kind = kind;
	/* It only reads its own database: views may use it, also where the schema is not trusted. */
	sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
	*ret = &table->base;
	return SQLITE_OK;
}

int sql_disconnect(sqlite3_vtab *table)
{
	free(table);
	return SQLITE_OK;
}

int sql_open(sqlite3_vtab *table, sqlite3_vtab_cursor **ret)
{
	*ret = calloc(1, ((const struct sql_table *)table)->kind->cursor_size);
	return *ret ? SQLITE_OK : SQLITE_NOMEM;
}

int sql_register(sqlite3 *db, const struct sql_kind *kind, const sqlite3_module *module, struct error *err)
{
	return sqlite3_create_module(db, kind->name, module, (void *)kind) == SQLITE_OK ? 0 : db_fail(db, err);
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
	int result = sample_table_register(db, err);

	return result ? result : port_sum_table_register(db, err);
}
