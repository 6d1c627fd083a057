/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/read/firmware.h"

#include <string.h>

#include "base/err.h"
#include "fabric/fabric.h"
#include "storage/file/db.h"
#include "storage/file/schema.h"
#include "storage/read/topology.h"

static uint32_t number(sqlite3_stmt *row, int column)
{
	return (uint32_t)sqlite3_column_int64(row, column);
}

void firmware_read_row(sqlite3_stmt *row, int column, struct firmware *ret)
{
	const char *psid = (const char *)sqlite3_column_text(row, column + 7);

	*ret = (struct firmware){
		.at_us = db_us(row, column), .changed_us = db_us(row, column + 1),
		.source = (uint8_t)db_choice(row, column + 2, FIRMWARE_IMPORTED),
		.major = number(row, column + 3), .minor = number(row, column + 4),
		.sub_minor = number(row, column + 5), .built = number(row, column + 6),
	};
	firmware_set_psid(ret, psid ? psid : "", psid ? strlen(psid) : 0);
}

int firmware_state(sqlite3 *db, int64_t sweep, int64_t *ret, struct error *err)
{
	/* Rows are added at the newest sweep only, so the last one of a past sweep is always the same. */
	return db_integerf(db, 0, ret, err, "SELECT id FROM firmware WHERE from_sweep <= %lld"
			   " ORDER BY from_sweep DESC, id DESC LIMIT 1", (long long)sweep);
}

/* Both are in order of node id. Of rows that began in one sweep, the last one is valid. */
int firmware_load(sqlite3 *db, int64_t sweep, const struct topology *topology, struct error *err)
{
	const struct fabric *fabric = topology->fabric;
	sqlite3_stmt *rows;
	size_t node = 0;
	int result = db_prepare(db, "SELECT node, " FIRMWARE_COLUMNS " FROM firmware WHERE from_sweep <= ?1 AND"
				" (to_sweep IS NULL OR to_sweep > ?1) ORDER BY node, id", &rows, err);

	if (result < 0)
		return result;
	for (size_t i = 0; i < fabric->node_count; i++)
		fabric->nodes[i].firmware = (struct firmware){ 0 };
	sqlite3_bind_int64(rows, 1, sweep);
	while ((result = db_step(rows, err)) > 0) {
		uint64_t id = db_u64(rows, 0);

		while (node < fabric->node_count && topology->nodes[node].id < id)
			node++;
		if (node < fabric->node_count && topology->nodes[node].id == id)
			firmware_read_row(rows, 1, &fabric->nodes[node].firmware);
	}
	sqlite3_finalize(rows);
	return result;
}

/* The newest row of a node. id 0: none */
struct last_row {
	int64_t id;
	bool is_open;
};

static int find_last(sqlite3 *db, int64_t node, struct last_row *ret, struct firmware *ret_firmware, struct error *err)
{
	sqlite3_stmt *row;
	int result = db_prepare(db, "SELECT id, to_sweep IS NULL, " FIRMWARE_COLUMNS " FROM firmware WHERE node = ?1"
				" ORDER BY from_sweep DESC, id DESC LIMIT 1", &row, err);

	*ret = (struct last_row){ 0 };
	*ret_firmware = (struct firmware){ 0 };
	if (result < 0)
		return result;
	sqlite3_bind_int64(row, 1, node);
	result = db_step(row, err);
	if (result > 0) {
		*ret = (struct last_row){ sqlite3_column_int64(row, 0), sqlite3_column_int(row, 1) };
		firmware_read_row(row, 2, ret_firmware);
	}
	sqlite3_finalize(row);
	return result < 0 ? result : 0;
}

static int insert(sqlite3 *db, int64_t node, int64_t sweep, const struct firmware *firmware, struct error *err)
{
	sqlite3_stmt *insert;
	int result = db_prepare(db, "INSERT INTO firmware (node, from_sweep, " FIRMWARE_COLUMNS
				") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", &insert, err);

	if (result < 0)
		return result;
	DB_BIND(insert, 1, node, sweep, firmware->at_us);
	db_bind_nonzero(insert, 4, (uint64_t)firmware->changed_us);
	DB_BIND(insert, 5, firmware->source, firmware->major, firmware->minor, firmware->sub_minor, firmware->built);
	sqlite3_bind_text(insert, 10, firmware->psid, -1, SQLITE_STATIC);
	result = db_run(insert, err);
	sqlite3_finalize(insert);
	return result;
}

static enum firmware_put compare(const struct last_row *last, const struct firmware *old, const struct firmware *new)
{
	if (!last->id)
		return FIRMWARE_PUT_FIRST;
	if (!firmware_same(old, new))
		/* What is read is of now. */
		return last->is_open && new->source == FIRMWARE_IMPORTED && new->at_us < old->at_us ?
		       FIRMWARE_PUT_OLDER : FIRMWARE_PUT_CHANGED;
	return !last->is_open || (*new->psid && !*old->psid) || (new->built && !old->built) ? FIRMWARE_PUT_MORE :
	       FIRMWARE_PUT_SAME;
}

int firmware_put(sqlite3 *db, int64_t node, int64_t sweep, const struct firmware *firmware, struct firmware *ret_old,
		 struct error *err)
{
	struct firmware now = *firmware;
	struct last_row last;
	enum firmware_put put;
	int result = find_last(db, node, &last, ret_old, err);

	if (result < 0)
		return result;
	put = compare(&last, ret_old, firmware);
	if (put == FIRMWARE_PUT_SAME || put == FIRMWARE_PUT_OLDER)
		return (int)put;
	now.changed_us = put == FIRMWARE_PUT_CHANGED ? now.at_us : 0;
	if (put == FIRMWARE_PUT_MORE) {
		now.at_us = ret_old->at_us;
		now.changed_us = ret_old->changed_us;
		now.built = now.built ? now.built : ret_old->built;
		if (!*now.psid)
			memcpy(now.psid, ret_old->psid, sizeof(now.psid));
	}
	if (last.is_open)
		result = db_execf(db, err, "UPDATE firmware SET to_sweep = %lld WHERE id = %lld", (long long)sweep,
				  (long long)last.id);
	if (!result)
		result = insert(db, node, sweep, &now, err);
	return result ? result : (int)put;
}

int firmware_forget(sqlite3 *db, int64_t node, int64_t sweep, struct error *err)
{
	return db_execf(db, err, "UPDATE firmware SET to_sweep = %lld WHERE node = %lld AND to_sweep IS NULL",
			(long long)sweep, (long long)node);
}
