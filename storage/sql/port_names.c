/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/sql/port_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "storage/file/db.h"
#include "storage/file/tables.h"

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
			names->ports[id] = (struct known_port){ .node = (uint32_t)db_u64(rows, 1),
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

const struct known_port *port_names_find(const struct port_names *names, uint64_t port)
{
	return port < names->count && names->ports[port].node ? &names->ports[port] : NULL;
}

const char *port_names_node(const struct port_names *names, const struct known_port *port, int64_t sweep)
{
	size_t low = 0, high = names->name_count;

	/* The first one after (node, sweep). */
	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct node_name *name = &names->names[middle];

		if (name->node < port->node || (name->node == port->node && name->from_sweep <= sweep))
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || names->names[low - 1].node != port->node)
		return NULL;
	return text_chars(&names->chars) + names->names[low - 1].at;
}
