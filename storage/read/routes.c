/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* routes.c - stores and reads forwarding tables as versions of blocks */
#include "storage/read/topology.h"

#include "base/err.h"
#include "fabric/routes.h"
#include "storage/file/db.h"
#include "storage/read/reader_internal.h"
#include "storage/write/writer_internal.h"

/* End the version of a block with sweep @id, and begin another one if the block still exists. */
static int store_block(struct writer *writer, const struct routes *routes, const struct route_block *block, int64_t id,
		       struct error *err)
{
	sqlite3_stmt *open = writer->statements[OPEN_ROUTE_VERSION], *close = writer->statements[CLOSE_ROUTE_VERSION];
	const struct route_table *table = routes_find(routes, block->node_guid);
	uint32_t lid = (uint32_t)block->block * ROUTES_BLOCK;
	int64_t node = writer_node_id(writer, block->node_guid, err);
	int result;

	if (node <= 0)
		return (int)node;
	DB_BIND(close, 1, id, node, block->block);
	result = db_run(close, err);
	if (result || lid >= ROUTES_LIDS || !routes_is_read(table, (uint16_t)lid))
		return result;
	DB_BIND(open, 1, id, node, block->block);
	sqlite3_bind_blob(open, 4, table->ports + lid, ROUTES_BLOCK, SQLITE_STATIC);
	return db_run(open, err);
}

int writer_store_routes(struct writer *writer, const struct sweep *sweep, int64_t id, struct error *err)
{
	int result = 0;

	if (!sweep->routes)
		return 0;
	for (size_t i = 0; !result && i < sweep->route_block_count; i++)
		result = store_block(writer, sweep->routes, &sweep->route_blocks[i], id, err);
	return result;
}

static int take_row(sqlite3_stmt *row, struct routes *ret, struct error *err)
{
	int64_t block = sqlite3_column_int64(row, 1);
	const uint8_t *ports = sqlite3_column_blob(row, 2);

	if (block < 0 || block >= ROUTES_BLOCKS || !ports || sqlite3_column_bytes(row, 2) != ROUTES_BLOCK)
		return 0;
	return routes_set_block(ret, db_u64(row, 0), (unsigned)block, ports, NULL, err);
}

int routes_load(sqlite3 *db, int64_t sweep, int64_t until, struct routes *ret, struct error *err)
{
	static const char now[] =
		"SELECT n.guid, v.block, v.ports FROM route_version v CROSS JOIN node n ON n.id = v.node"
		" WHERE v.to_sweep IS NULL AND ?1 = 0";
	static const char then[] =
		"SELECT n.guid, v.block, v.ports FROM route_version v CROSS JOIN node n ON n.id = v.node"
		" WHERE v.from_sweep <= ?2 AND (v.to_sweep IS NULL OR v.to_sweep > ?1)";
	/* Of several versions of a block, the first is set last. */
	static const char first[] =
		"SELECT n.guid, v.block, v.ports FROM route_version v CROSS JOIN node n ON n.id = v.node"
		" WHERE v.from_sweep <= ?2 AND (v.to_sweep IS NULL OR v.to_sweep > ?1) ORDER BY v.from_sweep DESC";
	sqlite3_stmt *rows;
	int result = db_prepare(db, until != sweep ? first : sweep ? then : now, &rows, err);

	*ret = (struct routes){ 0 };
	if (result < 0)
		return result;
	sqlite3_bind_int64(rows, 1, sweep);
	sqlite3_bind_int64(rows, 2, until);
	while (!result && (result = db_step(rows, err)) > 0)
		result = take_row(rows, ret, err);
	sqlite3_finalize(rows);
	if (result < 0)
		routes_done(ret);
	return result;
}

int reader_routes(struct reader *reader, int64_t at_us, struct routes *ret, struct error *err)
{
	struct stored_sweep sweep;
	int result = reader_begin_at(reader, at_us, &sweep, err);

	*ret = (struct routes){ 0 };
	if (result < 0)
		return result;
	result = routes_load(reader->db, at_us ? sweep.info.id : 0, at_us ? sweep.info.id : 0, ret, err);
	reader_end(reader);
	return result;
}

int reader_routes_before(struct reader *reader, int64_t since_us, int64_t until_us, struct routes *ret,
			 struct error *err)
{
	struct stored_sweep since = { 0 }, until;
	int result = reader_begin_at(reader, until_us, &until, err);

	*ret = (struct routes){ 0 };
	if (result < 0)
		return result;
	result = reader_find_sweep(reader, since_us, &since, NULL);
	/* Without a sweep at the start of the window: as first known in it. */
	if (result == 0 || result == ERR_UNAVAILABLE)
		result = routes_load(reader->db, result ? 0 : since.info.id, until.info.id, ret, err);
	reader_end(reader);
	return result;
}
