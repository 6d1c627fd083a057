/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* saved_write.c - snapshots written and removed, beside a collector that writes, too */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "collector/sink.h"
#include "fabric/fabric.h"
#include "storage/file/db.h"
#include "storage/file/schema.h"
#include "storage/saved.h"
#include "storage/saved/saved_columns.h"
#include "storage/saved/saved_steps.h"

/* What is not complete after so long was left behind by a process that was killed. */
#define ABANDONED_US (INT64_C(600000000))

/* --- questions before the work --- */

/* The complete snapshot of a name. @ret: 0: none. */
static int find_name(struct saved_writer *writer, const char *name, int64_t *ret, struct error *err)
{
	sqlite3_stmt *row;
	int result = db_prepare(writer->db, "SELECT id FROM snapshot WHERE name = ? AND complete", &row, err);

	if (result < 0)
		return result;
	sqlite3_bind_text(row, 1, name, -1, SQLITE_STATIC);
	result = db_step(row, err);
	*ret = result > 0 ? sqlite3_column_int64(row, 0) : 0;
	sqlite3_finalize(row);
	return result < 0 ? result : 0;
}

static int name_is_taken(const char *name, struct error *err)
{
	return err_set(err, ERR_USAGE, "there is a snapshot called '%s'; choose another name, or remove it first: "
		       "ibwire snapshot remove '%s'", name, name);
}

int saved_is_free(struct saved_writer *writer, const char *name, struct error *err)
{
	int64_t id;
	int result = find_name(writer, name, &id, err);

	if (!result && id)
		result = name_is_taken(name, err);
	return result;
}

int saved_check_fabric(struct saved_writer *writer, const struct fabric *fabric, struct error *err)
{
	return schema_check_fabric(writer->db, writer->path, fabric, "give another --db", err);
}

/* --- removing --- */

/* One table's rows of a snapshot, node by node. */
static int remove_rows(struct saved_writer *writer, int64_t id, const char *sql, struct error *err)
{
	sqlite3_stmt *rows;
	int result = db_prepare(writer->db, sql, &rows, err);

	do {
		if (!result)
			result = saved_step_pace(writer, err);
		if (result < 0)
			break;
		sqlite3_bind_int64(rows, 1, id);
		result = db_run(rows, err);
	} while (!result && sqlite3_changes(writer->db));
	sqlite3_finalize(rows);
	return result;
}

/* Inside a step; several may follow. */
static int remove_id(struct saved_writer *writer, int64_t id, struct error *err)
{
	char sql[128];
	int result;

	/* It counts no more from here on; what a kill leaves behind goes with the next one that is taken. */
	snprintf(sql, sizeof(sql), "UPDATE snapshot SET complete = 0 WHERE id = %" PRId64, id);
	result = db_exec(writer->db, sql, err);
	if (!result)
		result = remove_rows(writer, id, "DELETE FROM snapshot_port WHERE snapshot = ?1 AND node = "
				     "(SELECT min(node) FROM snapshot_port WHERE snapshot = ?1)", err);
	if (!result)
		result = remove_rows(writer, id, "DELETE FROM snapshot_node WHERE snapshot = ?1 AND node <= "
				     "(SELECT min(node) + 63 FROM snapshot_node WHERE snapshot = ?1)", err);
	if (result < 0)
		return result;
	snprintf(sql, sizeof(sql), "DELETE FROM snapshot WHERE id = %" PRId64, id);
	return db_exec(writer->db, sql, err);
}

int saved_remove(struct saved_writer *writer, const char *name, struct error *err)
{
	int64_t id;
	int result = saved_step_begin(writer, err);

	if (result < 0)
		return result;
	/* Asked inside: somebody else may have removed it. */
	result = find_name(writer, name, &id, err);
	if (!result && !id)
		result = err_set(err, ERR_USAGE, "no snapshot is called '%s' (any more); see: ibwire snapshot list",
				 name);
	if (!result)
		result = remove_id(writer, id, err);
	return saved_step_end(writer, result, err);
}

/* What killed processes left. */
static int remove_abandoned(struct saved_writer *writer, struct error *err)
{
	int64_t id = 0, wall_us = clock_wall_us(clock_system());
	char sql[160];
	int result;

	snprintf(sql, sizeof(sql), "SELECT id FROM snapshot WHERE NOT complete AND wall_us NOT BETWEEN %" PRId64
		 " AND %" PRId64 " LIMIT 1", wall_us - ABANDONED_US, wall_us + ABANDONED_US);
	do {
		result = db_integer(writer->db, sql, 0, &id, err);
		if (!result && id) {
			result = saved_step_begin(writer, err);
			if (!result)
				result = saved_step_end(writer, remove_id(writer, id, err), err);
		}
	} while (!result && id);
	return result;
}

/* --- writing --- */

/* While one is written. */
struct saving {
	struct saved_writer *writer;
	const struct sweep *sweep;
	int64_t id;
	const struct detail_reading **details; /* DETAIL_ATTRIBUTE_COUNT for each sample, NULL: not read */
	sqlite3_stmt *insert;
};

static int write_head(struct saving *saving, const struct saved_label *label, struct error *err)
{
	const struct sweep *sweep = saving->sweep;
	sqlite3_stmt *insert;
	int result = db_prepare(saving->writer->db,
				"INSERT INTO snapshot (name, note, complete, wall_us, start_us, end_us, boot_id, sweep,"
				" discovered, slow, ports_planned, ports_asked, ports_answered, mads_sent,"
				" mads_timed_out, spread_us) VALUES (?, ?, 0, ?, ?, ?, ?, (SELECT max(id) FROM sweep),"
				" ?, ?, ?, ?, ?, ?, ?, ?)", &insert, err);

	if (result < 0)
		return result;
	sqlite3_bind_text(insert, 1, label->name, -1, SQLITE_STATIC);
	sqlite3_bind_text(insert, 2, label->note, -1, SQLITE_STATIC); /* NULL: NULL */
	sqlite3_bind_int64(insert, 3, sweep->wall_us);
	sqlite3_bind_int64(insert, 4, sweep->start_us);
	sqlite3_bind_int64(insert, 5, sweep->end_us);
	sqlite3_bind_text(insert, 6, sweep->boot_id, -1, SQLITE_STATIC);
	sqlite3_bind_int(insert, 7, label->discovered);
	sqlite3_bind_int(insert, 8, label->slow);
	sqlite3_bind_int64(insert, 9, sweep->ports_planned);
	sqlite3_bind_int64(insert, 10, sweep->ports_asked);
	sqlite3_bind_int64(insert, 11, sweep->ports_answered);
	db_bind_u64(insert, 12, sweep->mads_sent);
	db_bind_u64(insert, 13, sweep->mads_timed_out);
	sqlite3_bind_int64(insert, 14, sweep->spread_us);
	result = db_run(insert, err);
	sqlite3_finalize(insert);
	saving->id = sqlite3_last_insert_rowid(saving->writer->db);
	return result;
}

static int write_nodes(struct saving *saving, struct error *err)
{
	const struct fabric *fabric = saving->sweep->fabric;
	sqlite3_stmt *insert;
	int result = db_prepare(saving->writer->db,
				"INSERT INTO snapshot_node (snapshot, node, guid, name, description, type, port_count,"
				" system_guid, vendor_id, device_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", &insert,
				err);

	for (size_t i = 0; !result && i < fabric->node_count; i++) {
		const struct node *node = &fabric->nodes[i];

		sqlite3_bind_int64(insert, 1, saving->id);
		sqlite3_bind_int64(insert, 2, (sqlite3_int64)i);
		db_bind_u64(insert, 3, node->guid);
		sqlite3_bind_text(insert, 4, node->name, -1, SQLITE_STATIC);
		sqlite3_bind_blob(insert, 5, node->desc, (int)strnlen(node->desc, NODE_DESC_SIZE), SQLITE_STATIC);
		sqlite3_bind_int(insert, 6, node->type);
		sqlite3_bind_int(insert, 7, node->port_count);
		db_bind_u64(insert, 8, node->system_guid);
		sqlite3_bind_int64(insert, 9, node->vendor_id);
		sqlite3_bind_int(insert, 10, node->device_id);
		result = db_run(insert, err);
		if (!result)
			result = saved_step_pace(saving->writer, err);
	}
	sqlite3_finalize(insert);
	return result;
}

static void bind_fast(sqlite3_stmt *insert, const struct reading *reading)
{
	counter_set full = 0;

	for (int i = 0; i < COUNTER_COUNT; i++) {
		if (!(reading->present & COUNTER_BIT(i)))
			continue;
		db_bind_u64(insert, SAVED_FAST + 1 + i, reading->value[i]);
		if (reading->value[i] == reading_max(reading, (enum counter)i))
			full |= COUNTER_BIT(i);
	}
	sqlite3_bind_int64(insert, SAVED_AT + 1, reading->at_us);
	db_bind_u64(insert, SAVED_WIDE + 1, reading->wide);
	db_bind_u64(insert, SAVED_SATURATED + 1, full);
}

static void bind_slow(sqlite3_stmt *insert, const struct detail_reading *const *details)
{
	int column = SAVED_FAST + COUNTER_COUNT + 1;
	int64_t last_us = 0;

	for (int i = 0; i < DETAIL_ATTRIBUTE_COUNT; i++) {
		const struct detail_reading *reading = details[i];

		for (unsigned number = 0; number < detail_count((enum detail_attribute)i); number++, column++)
			if (reading && reading->present >> number & 1)
				sqlite3_bind_int64(insert, column, reading->value[number]);
		if (!reading)
			continue;
		last_us = reading->at_us > last_us ? reading->at_us : last_us;
		sqlite3_bind_int64(insert, SAVED_SLOW_AT + 1, last_us);
		if (i == DETAIL_EXTENDED_SPEEDS)
			sqlite3_bind_int(insert, SAVED_FEC_LAYOUT + 1, reading->layout);
	}
}

static int write_port(struct saving *saving, size_t index, struct error *err)
{
	const struct fabric *fabric = saving->sweep->fabric;
	const struct port_sample *sample = &saving->sweep->samples[index];
	const struct port *port = &fabric->ports[sample->port];
	sqlite3_stmt *insert = saving->insert;

	sqlite3_clear_bindings(insert);
	sqlite3_bind_int64(insert, SAVED_SNAPSHOT + 1, saving->id);
	sqlite3_bind_int64(insert, SAVED_NODE + 1, port->node);
	sqlite3_bind_int(insert, SAVED_NUMBER + 1, port->num);
	if (port->peer != FABRIC_NONE) {
		sqlite3_bind_int64(insert, SAVED_PEER_NODE + 1, fabric->ports[port->peer].node);
		sqlite3_bind_int(insert, SAVED_PEER_NUMBER + 1, fabric->ports[port->peer].num);
	}
	sqlite3_bind_int(insert, SAVED_STATE + 1, port->state);
	sqlite3_bind_int(insert, SAVED_PHYS_STATE + 1, port->phys_state);
	sqlite3_bind_int(insert, SAVED_WIDTH + 1, port->width);
	sqlite3_bind_int(insert, SAVED_SPEED + 1, port->speed);
	sqlite3_bind_int(insert, SAVED_LID + 1, fabric_port_lid(fabric, port));
	sqlite3_bind_int(insert, SAVED_WHY + 1, sample->status);
	sqlite3_bind_int(insert, SAVED_WIDE + 1, 0);
	sqlite3_bind_int(insert, SAVED_SATURATED + 1, 0);
	sqlite3_bind_int(insert, SAVED_FEC_LAYOUT + 1, 0);
	if (sample->reading)
		bind_fast(insert, sample->reading);
	bind_slow(insert, saving->details + index * DETAIL_ATTRIBUTE_COUNT);
	return db_run(insert, err);
}

static int write_ports(struct saving *saving, struct error *err)
{
	struct text sql = { 0 };
	int result;

	text_append(&sql, "INSERT INTO snapshot_port (");
	saved_append_columns(&sql);
	text_append(&sql, ") VALUES (?");
	for (int i = 1; i < saved_column_count(); i++)
		text_append(&sql, ", ?");
	text_append(&sql, ")");
	result = text_failed(&sql) ? err_nomem(err)
		: db_prepare(saving->writer->db, text_chars(&sql), &saving->insert, err);
	text_done(&sql);
	for (size_t i = 0; !result && i < saving->sweep->sample_count; i++) {
		result = write_port(saving, i, err);
		if (!result)
			result = saved_step_pace(saving->writer, err);
	}
	sqlite3_finalize(saving->insert);
	return result;
}

/* The slow counters by sample: they come in the order in which they were answered. */
static int sort_details(struct saving *saving, struct error *err)
{
	const struct sweep *sweep = saving->sweep;
	uint32_t *sample_of = calloc(sweep->fabric->port_count + 1, sizeof(*sample_of));

	saving->details = calloc(sweep->sample_count * DETAIL_ATTRIBUTE_COUNT + 1, sizeof(struct detail_reading *));
	if (!sample_of || !saving->details) {
		free(sample_of);
		return err_nomem(err);
	}
	for (size_t i = 0; i < sweep->sample_count; i++)
		sample_of[sweep->samples[i].port] = (uint32_t)i + 1;
	for (size_t i = 0; i < sweep->detail_count; i++) {
		const struct detail_sample *detail = &sweep->details[i];
		uint32_t sample = sample_of[detail->port];

		if (sample)
			saving->details[(sample - 1) * DETAIL_ATTRIBUTE_COUNT + detail->reading->attribute] =
				detail->reading;
	}
	free(sample_of);
	return 0;
}

/* From now on it counts: the name must still be free. */
static int complete(struct saving *saving, const struct saved_label *label, struct error *err)
{
	char sql[128];
	int64_t id;
	int result = find_name(saving->writer, label->name, &id, err);

	if (!result && id)
		result = name_is_taken(label->name, err);
	if (result < 0)
		return result;
	snprintf(sql, sizeof(sql), "UPDATE snapshot SET complete = 1 WHERE id = %" PRId64, saving->id);
	return db_exec(saving->writer->db, sql, err);
}

/* What was committed of one that failed; where that fails, too, it is abandoned and goes later. */
static void undo(struct saving *saving)
{
	if (saving->id && saved_step_begin(saving->writer, NULL) == 0)
		saved_step_end(saving->writer, remove_id(saving->writer, saving->id, NULL), NULL);
}

int saved_write(struct saved_writer *writer, const struct saved_label *label, const struct sweep *sweep,
		struct error *err)
{
	struct saving saving = { .writer = writer, .sweep = sweep };
	int result = remove_abandoned(writer, err);

	if (!result)
		result = sort_details(&saving, err);
	if (!result)
		result = saved_step_begin(writer, err);
	if (!result) {
		result = write_head(&saving, label, err);
		if (!result)
			result = write_nodes(&saving, err);
		if (!result)
			result = write_ports(&saving, err);
		if (!result)
			result = complete(&saving, label, err);
		result = saved_step_end(writer, result, err);
	}
	if (result < 0)
		undo(&saving);
	free(saving.details);
	return result;
}
