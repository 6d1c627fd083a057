/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* pkeys.c - stores and reads P_Key tables as versions of each port */
#include "fabric/pkeys.h"

#include <stdlib.h>

#include "base/err.h"
#include "storage/file/db.h"
#include "storage/read/reader_internal.h"
#include "storage/read/topology.h"
#include "storage/write/writer_internal.h"

/* Blocks of a P_KeyTable attribute: its modifiers end with 2,047. Source: IBA Vol 1, 14.2.5.7. */
enum { BYTES_MOST = 2 * PKEYS_BLOCK * 2048 };

/* End the version of a table with sweep @id, and begin another one. */
static int store_table(struct writer *writer, const struct pkey_table *table, int64_t id, struct error *err)
{
	sqlite3_stmt *open = writer->statements[OPEN_PKEY_VERSION], *close = writer->statements[CLOSE_PKEY_VERSION];
	uint32_t node = writer_cache_find_node(&writer->cache, table->node_guid);
	uint32_t port = node ? writer_cache_find_port(&writer->cache, node, table->port) : 0;
	uint8_t *bytes;
	int result;

	if (!port)
		return 0;
	bytes = malloc((size_t)2 * table->count + 1);
	if (!bytes)
		return err_nomem(err);
	for (unsigned i = 0; i < table->count; i++) {
		bytes[2 * i] = (uint8_t)(table->keys[i] >> 8);
		bytes[2 * i + 1] = (uint8_t)table->keys[i];
	}
	DB_BIND(close, 1, id, port);
	result = db_run(close, err);
	if (!result) {
		DB_BIND(open, 1, id, port);
		sqlite3_bind_blob(open, 3, bytes, 2 * table->count, SQLITE_STATIC);
		sqlite3_bind_int(open, 4, table->enforcement);
		result = db_run(open, err);
	}
	free(bytes);
	return result;
}

int writer_store_pkeys(struct writer *writer, const struct sweep *sweep, int64_t id, struct error *err)
{
	int result = 0;

	for (size_t i = 0; sweep->pkeys && !result && i < sweep->pkey_change_count; i++) {
		const struct pkey_change *change = &sweep->pkey_changes[i];
		const struct pkey_table *table = pkeys_find(sweep->pkeys, change->node_guid, change->port);

		if (table)
			result = store_table(writer, table, id, err);
	}
	return result;
}

static int take_row(sqlite3_stmt *row, struct pkeys *ret, struct error *err)
{
	const uint8_t *bytes = sqlite3_column_blob(row, 2);
	int length = sqlite3_column_bytes(row, 2), result;
	uint16_t *keys;

	if (length < 0 || length > BYTES_MOST)
		return 0;
	keys = calloc((size_t)length / 2 + 1, sizeof(*keys));
	if (!keys)
		return err_nomem(err);
	for (int i = 0; i + 1 < length; i += 2)
		keys[i / 2] = (uint16_t)(bytes[i] << 8 | bytes[i + 1]);
	result = pkeys_set(ret, db_u64(row, 0), (uint8_t)sqlite3_column_int(row, 1), keys, (size_t)length / 2,
			   (uint8_t)(sqlite3_column_int(row, 3) & (PKEYS_INBOUND | PKEYS_OUTBOUND)), err);
	free(keys);
	return result < 0 ? result : 0;
}

int pkeys_load(sqlite3 *db, int64_t sweep, struct pkeys *ret, struct error *err)
{
	static const char now[] =
		"SELECT n.guid, p.number, v.keys, v.enforcement FROM pkey_version v CROSS JOIN port p ON p.id = v.port"
		" CROSS JOIN node n ON n.id = p.node WHERE v.to_sweep IS NULL AND ?1 = 0";
	static const char then[] =
		"SELECT n.guid, p.number, v.keys, v.enforcement FROM pkey_version v CROSS JOIN port p ON p.id = v.port"
		" CROSS JOIN node n ON n.id = p.node"
		" WHERE v.from_sweep <= ?1 AND (v.to_sweep IS NULL OR v.to_sweep > ?1)";
	sqlite3_stmt *rows;
	int result = db_prepare(db, sweep ? then : now, &rows, err);

	*ret = (struct pkeys){ 0 };
	if (result < 0)
		return result;
	sqlite3_bind_int64(rows, 1, sweep);
	while (!result && (result = db_step(rows, err)) > 0)
		result = take_row(rows, ret, err);
	sqlite3_finalize(rows);
	if (result < 0)
		pkeys_done(ret);
	return result;
}

int reader_pkeys(struct reader *reader, int64_t at_us, struct pkeys *ret, struct error *err)
{
	struct stored_sweep sweep;
	int result = reader_begin_at(reader, at_us, &sweep, err);

	*ret = (struct pkeys){ 0 };
	if (result < 0)
		return result;
	result = pkeys_load(reader->db, at_us ? sweep.info.id : 0, ret, err);
	reader_end(reader);
	return result;
}
