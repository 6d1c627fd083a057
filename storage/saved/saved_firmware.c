/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* saved_firmware.c - firmware of nodes: imported, and that of snapshots */
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "analysis/event.h"
#include "fabric/fabric.h"
#include "storage/file/db.h"
#include "storage/read/firmware.h"
#include "storage/saved.h"
#include "storage/saved/saved_internal.h"

int saved_write_firmware(struct saved_writer *writer, int64_t snapshot, struct error *err)
{
	return db_execf(writer->db, err, "INSERT INTO snapshot_firmware (snapshot, node, " FIRMWARE_COLUMNS ")"
			" SELECT s.snapshot, s.node, " FIRMWARE_COLUMNS " FROM snapshot_node s JOIN node n ON"
			" n.guid = s.guid JOIN firmware f ON f.node = n.id AND f.to_sweep IS NULL"
			" WHERE s.snapshot = %lld", (long long)snapshot);
}

int saved_load_firmware(sqlite3 *db, int64_t snapshot, struct fabric *fabric, struct error *err)
{
	sqlite3_stmt *rows;
	int result = db_prepare(db, "SELECT node, " FIRMWARE_COLUMNS " FROM snapshot_firmware WHERE snapshot = ?",
				&rows, err);

	if (result < 0)
		return result;
	sqlite3_bind_int64(rows, 1, snapshot);
	while ((result = db_step(rows, err)) > 0)
		if (db_u64(rows, 0) < fabric->node_count)
			firmware_read_row(rows, 1, &fabric->nodes[db_u64(rows, 0)].firmware);
	sqlite3_finalize(rows);
	return result;
}

struct importing {
	struct saved_writer *writer;
	sqlite3_stmt *find, *event;
	int64_t sweep, wall_us;
	struct saved_firmware_counts counts;
};

static int report(struct importing *importing, const struct node_firmware *one, const char *name,
		  const struct firmware *old, struct error *err)
{
	sqlite3_stmt *insert = importing->event;
	struct event event = { 0 };

	firmware_format_change(name, old, &one->firmware, event.text, sizeof(event.text));
	DB_BIND(insert, 1, importing->sweep, importing->wall_us, (int64_t)one->node_guid);
	sqlite3_bind_text(insert, 4, event.text, -1, SQLITE_STATIC);
	return db_run(insert, err);
}

static int import_one(struct importing *importing, const struct node_firmware *one, struct error *err)
{
	struct saved_firmware_counts *counts = &importing->counts;
	struct firmware old;
	char name[NODE_NAME_SIZE];
	int64_t node;
	int result;

	db_bind_u64(importing->find, 1, one->node_guid);
	result = db_step(importing->find, err);
	node = result > 0 ? sqlite3_column_int64(importing->find, 0) : 0;
	if (result > 0)
		saved_copy_text(name, sizeof(name), importing->find, 1);
	sqlite3_reset(importing->find);
	counts->unknown += !result;
	if (result <= 0)
		return result;
	result = firmware_put(importing->writer->db, node, importing->sweep, &one->firmware, &old, err);
	counts->first += result == FIRMWARE_PUT_FIRST;
	counts->changed += result == FIRMWARE_PUT_CHANGED || result == FIRMWARE_PUT_MORE;
	counts->same += result == FIRMWARE_PUT_SAME;
	counts->older += result == FIRMWARE_PUT_OLDER;
	if (result == FIRMWARE_PUT_CHANGED)
		result = report(importing, one, name, &old, err);
	return result < 0 ? result : 0;
}

static int prepare(struct importing *importing, struct error *err)
{
	sqlite3 *db = importing->writer->db;
	int result = db_integer(db, "SELECT max(id) FROM sweep", 0, &importing->sweep, err);

	if (!result && !importing->sweep)
		result = err_set(err, ERR_UNAVAILABLE, "no sweep is stored yet: start a collector first");
	if (!result)
		result = db_prepare(db, "SELECT id, (SELECT name FROM node_version v WHERE v.node = n.id"
				    " ORDER BY from_sweep DESC LIMIT 1) FROM node n WHERE guid = ?", &importing->find,
				    err);
	if (!result)
		result = db_prepare(db, "INSERT INTO event (sweep, wall_us, kind, severity, node_guid, port, text)"
				    " VALUES (?1, ?2, 'firmware-changed', 0, ?3, 0, ?4)", &importing->event, err);
	return result;
}

int saved_import_firmware(struct saved_writer *writer, const struct node_firmware *list, size_t count,
			  struct saved_firmware_counts *ret, struct error *err)
{
	struct importing importing = { .writer = writer, .wall_us = clock_wall_us(clock_system()) };
	int result = saved_begin_step(writer, err);

	if (result < 0)
		return result;
	result = prepare(&importing, err);
	for (size_t i = 0; !result && i < count; i++) {
		result = import_one(&importing, &list[i], err);
		if (!result)
			result = saved_pace(writer, err);
	}
	sqlite3_finalize(importing.find);
	sqlite3_finalize(importing.event);
	result = saved_end_step(writer, result, err);
	*ret = importing.counts;
	return result;
}
