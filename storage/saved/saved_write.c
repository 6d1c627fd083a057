/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * saved_write.c - snapshots are written and removed while a collector stores sweeps
 *
 * This is done in steps: short transactions with pauses between them.
 */
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
#include "storage/file/lock.h"
#include "storage/file/schema.h"
#include "storage/saved.h"
#include "storage/saved/saved_columns.h"
#include "storage/saved/saved_internal.h"

/* Incomplete snapshots that are older were left by a killed process. */
#define ABANDONED_US (INT64_C(600000000))

/* --- steps --- */

/*
 * A step locks the database for about 1/20 of the collector's interval (and a commit) within these
 * limits; the pause is as long as the step, at least PAUSE_US. SQLite's busy handler retries after 1, 3,
 * 8, 18, 33 and 53 ms, so a collector that waits for a step finds the database unlocked in the
 * pause, after at most 1/10 of its interval. 4,000 ports are written in one step if the collector
 * sweeps every second.
 */
#define STEP_LEAST_US (5 * US_PER_MS)
#define STEP_MOST_US (40 * US_PER_MS)
#define STEPS_AN_INTERVAL 20
#define PAUSE_US (10 * US_PER_MS)

static int64_t now_us(void)
{
	return clock_boottime_us(clock_system());
}

int saved_begin_step(struct saved_writer *writer, struct error *err)
{
	const struct clock *clock = clock_system();
	int64_t pid;
	int result;

	if (now_us() < writer->free_us && lock_held(writer->path, &pid))
		clock->sleep_until(clock->ctx, writer->free_us);
	result = db_exec(writer->db, "BEGIN IMMEDIATE", err);
	writer->open = !result;
	writer->began_us = now_us();
	return result;
}

int saved_end_step(struct saved_writer *writer, int result, struct error *err)
{
	int64_t held_us, ended_us;

	if (!writer->open)
		return result;
	if (result >= 0) {
		int committed = db_exec(writer->db, "COMMIT", err);

		result = committed < 0 ? committed : result;
	}
	if (result < 0 && !sqlite3_get_autocommit(writer->db))
		sqlite3_exec(writer->db, "ROLLBACK", NULL, NULL, NULL);
	writer->open = false;
	ended_us = now_us();
	held_us = ended_us - writer->began_us;
	writer->free_us = ended_us + (held_us > PAUSE_US ? held_us : PAUSE_US);
	if (held_us > writer->longest_us)
		writer->longest_us = held_us;
	return result;
}

int saved_pace(struct saved_writer *writer, struct error *err)
{
	int result;

	if (now_us() - writer->began_us < writer->step_us)
		return 0;
	result = saved_end_step(writer, 0, err);
	return result < 0 ? result : saved_begin_step(writer, err);
}

/* Create the file, unless a collector is creating it. */
static int create_file(const char *path, struct error *err)
{
	struct error cause = { 0 };
	struct db_lock lock;
	int result = lock_take(path, &lock, &cause);

	if (result == ERR_UNAVAILABLE)
		return err_set(err, ERR_UNAVAILABLE, "a collector is creating %s; try again in a moment", path);
	if (result < 0)
		return err_set(err, result, "%s", cause.text);
	result = schema_create(path, err);
	lock_release(&lock);
	return result;
}

/* Without an interval (single sweeps), no collector waits. */
static int choose_step(struct saved_writer *writer, struct error *err)
{
	int64_t interval_us = 0, step_us;
	int result = db_integer(writer->db, "SELECT interval_us FROM sweep ORDER BY id DESC LIMIT 1", 0, &interval_us,
				err);

	step_us = interval_us / STEPS_AN_INTERVAL;
	writer->step_us = interval_us <= 0 || step_us > STEP_MOST_US ? STEP_MOST_US
			: step_us < STEP_LEAST_US ? STEP_LEAST_US : step_us;
	return result;
}

int saved_writer_open(const char *path, struct saved_writer **ret, struct error *err)
{
	struct saved_writer *writer = calloc(1, sizeof(*writer));
	bool there = false;
	int result;

	if (!writer)
		return err_nomem(err);
	writer->path = strdup(path);
	result = writer->path ? schema_check(path, &there, err) : err_nomem(err);
	if (!result && !there)
		result = create_file(path, err);
	if (!result)
		result = schema_open_writer(path, &writer->db, err);
	/* The collector checkpoints the log, or the last connection that is closed; not a step. */
	if (!result)
		result = db_exec(writer->db, "PRAGMA wal_autocheckpoint = 0", err);
	if (!result)
		result = choose_step(writer, err);
	if (result < 0) {
		saved_writer_close(writer);
		return result;
	}
	*ret = writer;
	return 0;
}

void saved_writer_close(struct saved_writer *writer)
{
	if (!writer)
		return;
	sqlite3_close(writer->db);
	free(writer->path);
	free(writer);
}

int64_t saved_longest_us(const struct saved_writer *writer)
{
	return writer->longest_us;
}

/* --- names and fabrics --- */

/* @ret: id of the complete snapshot with a name; 0: none. */
static int find_name(struct saved_writer *writer, const char *name, int64_t *ret, struct error *err)
{
	return db_integerf(writer->db, 0, ret, err, "SELECT id FROM snapshot WHERE name = %Q AND complete", name);
}

static int name_is_taken(const char *name, struct error *err)
{
	return err_set(err, ERR_USAGE, "a snapshot '%s' exists; choose another name, or remove it first: "
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

/* Remove the rows of a snapshot from one table, node by node. */
static int remove_rows(struct saved_writer *writer, int64_t id, const char *sql, struct error *err)
{
	sqlite3_stmt *rows;
	int result = db_prepare(writer->db, sql, &rows, err);

	do {
		if (!result)
			result = saved_pace(writer, err);
		if (result < 0)
			break;
		sqlite3_bind_int64(rows, 1, id);
		result = db_run(rows, err);
	} while (!result && sqlite3_changes(writer->db));
	sqlite3_finalize(rows);
	return result;
}

/* Within a step; more steps may follow. */
static int remove_id(struct saved_writer *writer, int64_t id, struct error *err)
{
	/* Now it is invisible; if the process is killed, the next snapshot removes the rest. */
	int result = db_execf(writer->db, err, "UPDATE snapshot SET complete = 0 WHERE id = %lld", (long long)id);

	if (!result)
		result = remove_rows(writer, id, "DELETE FROM snapshot_port WHERE snapshot = ?1 AND node = "
				     "(SELECT min(node) FROM snapshot_port WHERE snapshot = ?1)", err);
	if (!result)
		result = remove_rows(writer, id, "DELETE FROM snapshot_node WHERE snapshot = ?1 AND node <= "
				     "(SELECT min(node) + 63 FROM snapshot_node WHERE snapshot = ?1)", err);
	if (!result)
		result = remove_rows(writer, id, "DELETE FROM snapshot_firmware WHERE snapshot = ?1 AND node <= "
				     "(SELECT min(node) + 63 FROM snapshot_firmware WHERE snapshot = ?1)", err);
	return result ? result : db_execf(writer->db, err, "DELETE FROM snapshot WHERE id = %lld", (long long)id);
}

int saved_remove_name(struct saved_writer *writer, const char *name, struct error *err)
{
	int64_t id;
	int result = find_name(writer, name, &id, err);

	return result || !id ? result : remove_id(writer, id, err);
}

int saved_remove(struct saved_writer *writer, const char *name, struct error *err)
{
	int64_t id;
	int result = saved_begin_step(writer, err);

	if (result < 0)
		return result;
	/* Within the transaction: another process may have removed it. */
	result = find_name(writer, name, &id, err);
	if (!result && !id)
		result = err_set(err, ERR_USAGE, "there is no snapshot '%s'; see: ibwire snapshot list",
				 name);
	if (!result)
		result = remove_id(writer, id, err);
	return saved_end_step(writer, result, err);
}

/* Remove snapshots that killed processes left. */
static int remove_abandoned(struct saved_writer *writer, struct error *err)
{
	int64_t id = 0, wall_us = clock_wall_us(clock_system());
	int result;

	do {
		result = db_integerf(writer->db, 0, &id, err, "SELECT id FROM snapshot WHERE NOT complete AND"
				     " abs(wall_us - %lld) > %lld LIMIT 1", (long long)wall_us,
				     (long long)ABANDONED_US);
		if (!result && id) {
			result = saved_begin_step(writer, err);
			if (!result)
				result = saved_end_step(writer, remove_id(writer, id, err), err);
		}
	} while (!result && id);
	return result;
}

/* --- writing --- */

struct saving {
	struct saved_writer *writer;
	const struct sweep *sweep;
	int64_t id;
	const struct detail_reading **details; /* DETAIL_SELDOM for each sample, NULL: not read */
	sqlite3_stmt *insert;
};

static int write_head(struct saving *saving, const struct saved_label *label, struct error *err)
{
	const struct sweep *sweep = saving->sweep;
	sqlite3_stmt *insert;
	int result = db_prepare(saving->writer->db,
				"INSERT INTO snapshot (name, note, complete, wall_us, start_us, end_us, boot_id, sweep,"
				" discovered, slow, ports_planned, ports_polled, ports_answered, mads_sent,"
				" mads_timed_out, spread_us) VALUES (?, ?, 0, ?, ?, ?, ?, (SELECT max(id) FROM sweep),"
				" ?, ?, ?, ?, ?, ?, ?, ?)", &insert, err);

	if (result < 0)
		return result;
	sqlite3_bind_text(insert, 1, label->name, -1, SQLITE_STATIC);
	sqlite3_bind_text(insert, 2, label->note, -1, SQLITE_STATIC); /* NULL: NULL */
	DB_BIND(insert, 3, sweep->wall_us, sweep->start_us, sweep->end_us);
	sqlite3_bind_text(insert, 6, sweep->boot_id, -1, SQLITE_STATIC);
	DB_BIND(insert, 7, label->discovered, label->slow, sweep->ports_planned, sweep->ports_polled,
		sweep->ports_answered, (int64_t)sweep->mads_sent, (int64_t)sweep->mads_timed_out, sweep->spread_us);
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

		DB_BIND(insert, 1, saving->id, (int64_t)i, (int64_t)node->guid);
		sqlite3_bind_text(insert, 4, node->name, -1, SQLITE_STATIC);
		sqlite3_bind_blob(insert, 5, node->desc, (int)strnlen(node->desc, NODE_DESC_SIZE), SQLITE_STATIC);
		DB_BIND(insert, 6, node->type, node->port_count, (int64_t)node->system_guid, node->vendor_id,
			node->device_id);
		result = db_run(insert, err);
		if (!result)
			result = saved_pace(saving->writer, err);
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

	for (int i = 0; i < DETAIL_SELDOM; i++) {
		const struct detail_reading *reading = details[i];

		for (unsigned number = 0; number < detail_count((enum detail_attribute)i); number++, column++)
			if (reading && reading->present >> number & 1)
				db_bind_u64(insert, column, reading->value[number]);
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
	DB_BIND(insert, SAVED_SNAPSHOT + 1, saving->id, port->node, port->num);
	if (port->peer != FABRIC_NONE)
		DB_BIND(insert, SAVED_PEER_NODE + 1, fabric->ports[port->peer].node, fabric->ports[port->peer].num);
	DB_BIND(insert, SAVED_STATE + 1, port->state, port->phys_state, port->width, port->speed,
		fabric_port_lid(fabric, port), sample->status);
	DB_BIND(insert, SAVED_WIDE + 1, 0, 0, 0); /* saturated, fec_layout */
	if (sample->reading)
		bind_fast(insert, sample->reading);
	bind_slow(insert, saving->details + index * DETAIL_SELDOM);
	return db_run(insert, err);
}

static int write_ports(struct saving *saving, struct error *err)
{
	struct text sql = { 0 };
	int result;

	text_append(&sql, "INSERT INTO snapshot_port VALUES (?");
	for (int i = 1; i < saved_column_count(); i++)
		text_append(&sql, ", ?");
	text_append(&sql, ")");
	result = text_failed(&sql) ? err_nomem(err)
		: db_prepare(saving->writer->db, text_chars(&sql), &saving->insert, err);
	text_done(&sql);
	for (size_t i = 0; !result && i < saving->sweep->sample_count; i++) {
		result = write_port(saving, i, err);
		if (!result)
			result = saved_pace(saving->writer, err);
	}
	sqlite3_finalize(saving->insert);
	return result;
}

/* The slow counters by sample: in the sweep they are in order of response. */
static int sort_details(struct saving *saving, struct error *err)
{
	const struct sweep *sweep = saving->sweep;
	uint32_t *sample_of = calloc(sweep->fabric->port_count + 1, sizeof(*sample_of));

	saving->details = calloc(sweep->sample_count * DETAIL_SELDOM + 1, sizeof(struct detail_reading *));
	if (!sample_of || !saving->details) {
		free(sample_of);
		return err_nomem(err);
	}
	for (size_t i = 0; i < sweep->sample_count; i++)
		sample_of[sweep->samples[i].port] = (uint32_t)i + 1;
	for (size_t i = 0; i < sweep->detail_count; i++) {
		const struct detail_sample *detail = &sweep->details[i];
		uint32_t sample = sample_of[detail->port];

		if (sample && detail->reading->attribute < DETAIL_SELDOM)
			saving->details[(sample - 1) * DETAIL_SELDOM + detail->reading->attribute] =
				detail->reading;
	}
	free(sample_of);
	return 0;
}

/* Make it visible; meanwhile the name may have been taken, or the job it belongs to removed. */
static int complete(struct saving *saving, const struct saved_label *label, struct error *err)
{
	int64_t id, job = 0;
	int result = find_name(saving->writer, label->name, &id, err);

	if (!result && id)
		result = name_is_taken(label->name, err);
	if (!result && sscanf(label->name, "job-%" SCNd64, &job) == 1)
		result = db_integerf(saving->writer->db, 0, &id, err, "SELECT number FROM job WHERE number = %lld",
				     (long long)job);
	if (!result && !id && job)
		result = err_set(err, ERR_USAGE, "the job was removed by another process");
	return result ? result : db_execf(saving->writer->db, err, "UPDATE snapshot SET complete = 1 WHERE id = %lld",
					  (long long)saving->id);
}

/* Remove what was committed of a failed one; if that fails too, a later snapshot removes it. */
static void undo(struct saving *saving)
{
	if (saving->id && saved_begin_step(saving->writer, NULL) == 0)
		saved_end_step(saving->writer, remove_id(saving->writer, saving->id, NULL), NULL);
}

int saved_write(struct saved_writer *writer, const struct saved_label *label, const struct sweep *sweep,
		struct error *err)
{
	struct saving saving = { .writer = writer, .sweep = sweep };
	int result = remove_abandoned(writer, err);

	if (!result)
		result = sort_details(&saving, err);
	if (!result)
		result = saved_begin_step(writer, err);
	if (!result) {
		result = write_head(&saving, label, err);
		if (!result)
			result = write_nodes(&saving, err);
		if (!result)
			result = saved_write_firmware(writer, saving.id, err);
		if (!result)
			result = write_ports(&saving, err);
		if (!result)
			result = complete(&saving, label, err);
		result = saved_end_step(writer, result, err);
	}
	if (result < 0)
		undo(&saving);
	free(saving.details);
	return result;
}
