/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/sql/sql_tables.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "base/when.h"
#include "fabric/counter.h"
#include "storage/file/db.h"
#include "storage/file/tables.h"

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

struct named_port {
	uint64_t node_guid;
	uint32_t node; /* its id; 0: no such port */
	uint8_t num;
};

struct node_name {
	uint32_t node;
	int64_t from_sweep;
	size_t at; /* offset in chars */
};

static int load_ports(struct port_names *names, sqlite3 *db, struct error *err)
{
	sqlite3_stmt *rows;
	int64_t top = 0;
	int result = db_integer(db, "SELECT max(id) FROM port", 0, &top, err);

	if (result < 0)
		return result;
	names->count = (size_t)top + 1;
	names->ports = calloc(names->count, sizeof(*names->ports));
	if (!names->ports)
		return err_nomem(err);
	result = db_prepare(db, "SELECT p.id, p.node, n.guid, p.number FROM port p CROSS JOIN node n ON n.id = p.node",
			    &rows, err);
	if (result < 0)
		return result;
	while ((result = db_step(rows, err)) > 0) {
		uint64_t id = db_u64(rows, 0);

		if (id < names->count)
			names->ports[id] = (struct named_port){ .node = (uint32_t)db_u64(rows, 1),
								.node_guid = db_u64(rows, 2),
								.num = (uint8_t)db_u64(rows, 3) };
	}
	sqlite3_finalize(rows);
	return result;
}

static int load_names(struct port_names *names, sqlite3 *db, struct error *err)
{
	sqlite3_stmt *rows;
	int result = db_prepare(db, "SELECT node, from_sweep, name FROM (" TABLES_NODE_NAMES ")"
				" ORDER BY node, from_sweep", &rows, err);

	if (result < 0)
		return result;
	while ((result = db_step(rows, err)) > 0) {
		struct node_name *grown = array_grow(names->names, names->name_count, &names->name_capacity,
						     sizeof(*grown));
		const char *name = (const char *)sqlite3_column_text(rows, 2);

		if (!grown) {
			result = err_nomem(err);
			break;
		}
		names->names = grown;
		grown[names->name_count++] = (struct node_name){ .node = (uint32_t)db_u64(rows, 0),
								 .from_sweep = sqlite3_column_int64(rows, 1),
								 .at = names->chars.len };
		text_append_bytes(&names->chars, name ? name : "", name ? strlen(name) : 0);
		text_append_bytes(&names->chars, "", 1);
	}
	sqlite3_finalize(rows);
	return !result && text_failed(&names->chars) ? err_nomem(err) : result;
}

int port_names_load(struct port_names *names, sqlite3 *db, struct error *err)
{
	int result;

	port_names_done(names);
	result = load_ports(names, db, err);
	return result ? result : load_names(names, db, err);
}

void port_names_done(struct port_names *names)
{
	free(names->ports);
	free(names->names);
	text_done(&names->chars);
	memset(names, 0, sizeof(*names));
}

bool port_names_has(const struct port_names *names, uint64_t port)
{
	return port < names->count && names->ports[port].node;
}

/* The name of a node at a sweep, or the last one before; NULL: none. */
static const char *find_name(const struct port_names *names, uint32_t node, int64_t sweep)
{
	size_t low = 0, high = names->name_count;

	/* The first one after (node, sweep). */
	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct node_name *name = &names->names[middle];

		if (name->node < node || (name->node == node && name->from_sweep <= sweep))
			low = middle + 1;
		else
			high = middle;
	}
	return low && names->names[low - 1].node == node ? text_chars(&names->chars) + names->names[low - 1].at : NULL;
}

void port_names_put(const struct port_names *names, sqlite3_context *context, uint64_t port_id, int64_t sweep,
		    enum sql_port what)
{
	const struct named_port *port;
	const char *name;
	char guid[24];

	if (!port_names_has(names, port_id))
		return;
	port = &names->ports[port_id];
	switch (what) {
	case SQL_PORT:
		sqlite3_result_int(context, port->num);
		break;
	case SQL_NODE_GUID:
		snprintf(guid, sizeof(guid), "0x%016" PRIx64, port->node_guid);
		sqlite3_result_text(context, guid, -1, SQLITE_TRANSIENT);
		break;
	case SQL_NODE:
		name = find_name(names, port->node, sweep);
		if (name)
			sqlite3_result_text(context, name, -1, SQLITE_TRANSIENT);
		break;
	}
}

int sql_fail(sqlite3_vtab *table, const struct error *err)
{
	sqlite3_free(table->zErrMsg);
	table->zErrMsg = sqlite3_mprintf("%s", err->text);
	if (err->code == ERR_IO)
		return SQLITE_CORRUPT_VTAB; /* the file is damaged, the statement is correct */
	return err->code == ERR_NOMEM ? db_nomem() : SQLITE_ERROR;
}

int sql_connect(sqlite3 *db, void *ctx, int argc, const char *const *argv, sqlite3_vtab **ret, char **message)
{
	const struct sql_kind *kind = ctx;
	struct sql_table *table = calloc(1, sizeof(*table));
	struct text sql = { 0 };
	int code;

	(void)argc;
	(void)argv;
	(void)message;
	text_appendf(&sql, "CREATE TABLE %s (%s", kind->name, kind->columns);
	for (int i = 0; i < kind->counters; i++)
		text_appendf(&sql, ", %s INTEGER", counter_info((enum counter)i)->key);
	text_appendf(&sql, "%s)", kind->hidden);
	code = table && !text_failed(&sql) ? sqlite3_declare_vtab(db, text_chars(&sql)) : db_nomem();
	text_done(&sql);
	if (code != SQLITE_OK) {
		free(table);
		return code;
	}
	*table = (struct sql_table){ .db = db, .kind = kind };
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
	return *ret ? SQLITE_OK : db_nomem();
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
