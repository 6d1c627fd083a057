/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/reader.h"

#include "base/text.h"
#include "fabric/names.h"
#include "storage/file/db.h"
#include "storage/read/reader_internal.h"
#include "storage/read/topology.h"

/* Wall clock of the first stored sweep from one on. */
#define WALL_FROM(sweep) "(SELECT s.wall_us FROM sweep s WHERE s.id >= " sweep " ORDER BY s.id LIMIT 1)"

/* A stored description for display, or the last one that is not generic. */
static int read_name(sqlite3_stmt *row, int column, sqlite3_stmt *names, uint64_t guid, int64_t sweep,
		     char ret[NODE_NAME_SIZE], struct error *err)
{
	char desc[NODE_DESC_SIZE + 1];
	int result = 0;

	topology_read_description(row, column, desc);
	ret[0] = '\0';
	if (names_is_generic(desc))
		result = topology_last_name(names, guid, sweep, ret, err);
	if (!ret[0])
		text_sanitise(desc, NODE_DESC_SIZE, ret, NODE_NAME_SIZE);
	return result;
}

static int report_departed(sqlite3 *db, int64_t sweep, reader_departed_fn *each, void *ctx, struct error *err)
{
	static const char query[] =
		"SELECT n.guid, v.description, (SELECT s.wall_us FROM sweep s WHERE s.id >= v.from_sweep"
		" AND s.id < v.to_sweep ORDER BY s.id DESC LIMIT 1), " WALL_FROM("v.to_sweep")
		" FROM node n CROSS JOIN node_version v"
		" ON v.node = n.id AND v.from_sweep = (SELECT max(o.from_sweep) FROM node_version o"
		" WHERE o.node = n.id AND o.from_sweep <= ?1) WHERE v.to_sweep <= ?1 ORDER BY n.id";
	sqlite3_stmt *rows = NULL, *names = NULL;
	int result = db_prepare(db, query, &rows, err);

	if (!result)
		result = topology_prepare_names(db, &names, err);
	if (!result)
		sqlite3_bind_int64(rows, 1, sweep);
	while (result >= 0 && (result = db_step(rows, err)) > 0) {
		struct departed_node gone = { .guid = db_u64(rows, 0), .seen_us = db_us(rows, 2),
					  .departed_us = db_us(rows, 3) };
		char name[NODE_NAME_SIZE];

		result = read_name(rows, 1, names, gone.guid, sweep, name, err);
		gone.name = name;
		if (result < 0 || !each(ctx, &gone))
			break;
	}
	sqlite3_finalize(rows);
	sqlite3_finalize(names);
	return result < 0 ? result : 0;
}

int reader_departed_nodes(struct reader *reader, int64_t at_us, reader_departed_fn *each, void *ctx, struct error *err)
{
	struct stored_sweep sweep;
	int result = reader_begin_at(reader, at_us, &sweep, err);

	if (result < 0)
		return result;
	result = report_departed(reader->db, sweep.info.id, each, ctx, err);
	reader_end(reader);
	return result;
}

static int find_peer(sqlite3 *db, uint64_t node_guid, uint8_t port, int64_t sweep, struct past_peer *ret,
		     struct error *err)
{
	static const char query[] =
		"SELECT f.guid, o.number, (SELECT l.description FROM node_version l WHERE l.node = f.id"
		" AND l.from_sweep <= ?3 ORDER BY l.from_sweep DESC LIMIT 1),"
		" CASE WHEN v.to_sweep <= ?3 THEN " WALL_FROM("v.to_sweep")
		" END FROM node n CROSS JOIN port p ON p.node = n.id AND p.number = ?2"
		" CROSS JOIN port_version v ON v.port = p.id AND v.from_sweep <= ?3 AND v.peer IS NOT NULL"
		" CROSS JOIN port o ON o.id = v.peer CROSS JOIN node f ON f.id = o.node"
		" WHERE n.guid = ?1 ORDER BY v.from_sweep DESC LIMIT 1";
	sqlite3_stmt *rows = NULL, *names = NULL;
	int result = db_prepare(db, query, &rows, err);
	bool found;

	if (!result)
		result = topology_prepare_names(db, &names, err);
	if (!result) {
		db_bind_u64(rows, 1, node_guid);
		DB_BIND(rows, 2, port, sweep);
		result = db_step(rows, err);
	}
	found = result > 0;
	if (found) {
		*ret = (struct past_peer){ .guid = db_u64(rows, 0), .port = (uint8_t)sqlite3_column_int(rows, 1),
					   .until_us = db_us(rows, 3) };
		result = read_name(rows, 2, names, ret->guid, sweep, ret->name, err);
	}
	sqlite3_finalize(rows);
	sqlite3_finalize(names);
	return result < 0 ? result : found;
}

int reader_last_peer(struct reader *reader, uint64_t node_guid, uint8_t port, int64_t at_us, struct past_peer *ret,
		     struct error *err)
{
	struct stored_sweep sweep;
	int result = reader_begin_at(reader, at_us, &sweep, err);

	if (result < 0)
		return result;
	result = find_peer(reader->db, node_guid, port, sweep.info.id, ret, err);
	reader_end(reader);
	return result;
}
