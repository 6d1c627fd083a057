/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/schema.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "collector/sink.h"
#include "fabric/counter.h"
#include "fabric/detail.h"
#include "fabric/fabric.h"
#include "fabric/speed.h"
#include "storage/db.h"
#include "storage/tables.h"

/* One row of table code for each name; those of the fabric's own enums. */
static int insert_code(sqlite3_stmt *insert, const char *kind, int value, const char *name, struct error *err)
{
	sqlite3_bind_text(insert, 1, kind, -1, SQLITE_STATIC);
	sqlite3_bind_int(insert, 2, value);
	sqlite3_bind_text(insert, 3, name, -1, SQLITE_STATIC);
	return db_run(insert, err);
}

static int insert_codes(sqlite3 *db, struct error *err)
{
	static const struct { int code; const char *name; } widths[] = {
		{ LINK_WIDTH_1X, "1x" }, { LINK_WIDTH_4X, "4x" }, { LINK_WIDTH_8X, "8x" },
		{ LINK_WIDTH_12X, "12x" }, { LINK_WIDTH_2X, "2x" },
	};
	sqlite3_stmt *insert;
	int result = db_prepare(db, "REPLACE INTO code (kind, value, name) VALUES (?, ?, ?)", &insert, err);

	for (int i = NODE_CA; !result && i <= NODE_ROUTER; i++)
		result = insert_code(insert, "node_type", i, node_type_name((uint8_t)i), err);
	for (int i = PORT_DOWN; !result && i <= PORT_ACTIVE; i++)
		result = insert_code(insert, "state", i, port_state_name((uint8_t)i), err);
	for (int i = PHYS_SLEEP; !result && i <= PHYS_TEST; i++)
		result = insert_code(insert, "phys_state", i, port_phys_state_name((uint8_t)i), err);
	for (int i = LINK_SPEED_SDR; !result && i < LINK_SPEED_COUNT; i++)
		result = insert_code(insert, "speed", i, link_speed_name((enum link_speed)i), err);
	for (size_t i = 0; !result && i < sizeof(widths) / sizeof(*widths); i++)
		result = insert_code(insert, "width", widths[i].code, widths[i].name, err);
	for (int i = SAMPLE_SILENT; !result && i < SAMPLE_STATUS_COUNT; i++)
		result = insert_code(insert, "why", i, sample_status_name((enum sample_status)i), err);
	if (!result)
		result = insert_code(insert, "why", SPAN_ABSENT, "absent", err);
	for (int i = EVENT_INFO; !result && i <= EVENT_CRITICAL; i++)
		result = insert_code(insert, "severity", i, event_severity_name((enum event_severity)i), err);
	for (int i = 0; !result && i < DETAIL_ATTRIBUTE_COUNT; i++)
		result = insert_code(insert, "attribute", i, detail_attribute_name((enum detail_attribute)i), err);
	if (!result)
		result = insert_code(insert, "window_state", WINDOW_WRITING, "being written", err);
	if (!result)
		result = insert_code(insert, "window_state", WINDOW_COMPLETE, "complete", err);
	if (!result)
		result = insert_code(insert, "window_state", WINDOW_SUMS_ONLY, "sums only", err);
	if (!result)
		result = insert_code(insert, "layout", FEC_LAYOUT_LANES, "lanes", err);
	if (!result)
		result = insert_code(insert, "layout", FEC_LAYOUT_RS, "rs", err);
	sqlite3_finalize(insert);
	return result;
}

static int insert_counters(sqlite3 *db, struct error *err)
{
	sqlite3_stmt *insert;
	int result = db_prepare(db, "REPLACE INTO counter (id, key, title, unit, meaning) VALUES (?, ?, ?, ?, ?)",
				&insert, err);

	for (int i = 0; !result && i < COUNTER_COUNT; i++) {
		const struct counter_info *info = counter_info((enum counter)i);

		sqlite3_bind_int(insert, 1, i);
		sqlite3_bind_text(insert, 2, info->key, -1, SQLITE_STATIC);
		sqlite3_bind_text(insert, 3, info->title, -1, SQLITE_STATIC);
		sqlite3_bind_text(insert, 4, info->unit, -1, SQLITE_STATIC);
		sqlite3_bind_text(insert, 5, info->meaning, -1, SQLITE_STATIC);
		result = db_run(insert, err);
	}
	sqlite3_finalize(insert);
	return result;
}

static int insert_detail_counter(sqlite3_stmt *insert, enum detail_attribute attribute, unsigned number,
				 struct error *err)
{
	const struct detail_info *info = detail_info(attribute, number);

	sqlite3_bind_int(insert, 1, (int)DETAIL_ID(attribute, number));
	sqlite3_bind_int(insert, 2, (int)attribute);
	sqlite3_bind_int(insert, 3, (int)number);
	sqlite3_bind_text(insert, 4, info->key, -1, SQLITE_STATIC);
	sqlite3_bind_text(insert, 5, info->unit, -1, SQLITE_STATIC);
	sqlite3_bind_text(insert, 6, info->meaning, -1, SQLITE_STATIC);
	sqlite3_bind_int64(insert, 7, detail_max(attribute, number));
	return db_run(insert, err);
}

static int insert_detail_counters(sqlite3 *db, struct error *err)
{
	sqlite3_stmt *insert;
	int result = db_prepare(db, "REPLACE INTO detail_counter (id, attribute, number, key, unit, meaning, max)"
				" VALUES (?, ?, ?, ?, ?, ?, ?)", &insert, err);

	for (int i = 0; !result && i < DETAIL_ATTRIBUTE_COUNT; i++)
		for (unsigned number = 0; !result && number < detail_count((enum detail_attribute)i); number++)
			result = insert_detail_counter(insert, (enum detail_attribute)i, number, err);
	sqlite3_finalize(insert);
	return result;
}

int schema_fill_names(sqlite3 *db, struct error *err)
{
	int result = insert_counters(db, err);

	if (!result)
		result = insert_detail_counters(db, err);
	return result ? result : insert_codes(db, err);
}

/* The columns of one set of counters, as the catalogue names them. */
static void append_counter_columns(struct text *sql, counter_set set)
{
	for (int i = 0; i < COUNTER_COUNT; i++) {
		const struct counter_info *info = counter_info((enum counter)i);

		if (set & COUNTER_BIT(i))
			text_appendf(sql, "\t%s INTEGER, -- %s, %s; NULL: not known\n", info->key, info->title,
				     info->unit);
	}
}

/* A traffic counter as the views show it: bytes for words, and never a negative number. */
static void append_view_column(struct text *sql, enum counter counter)
{
	const char *key = counter_info(counter)->key;

	if (counter == COUNTER_XMIT_DATA || counter == COUNTER_RCV_DATA)
		text_appendf(sql, ",\n\td.%s AS %s", counter == COUNTER_XMIT_DATA ? "xmit_bytes" : "rcv_bytes",
			     counter == COUNTER_XMIT_DATA ? "xmit_bytes" : "rcv_bytes");
	else
		text_appendf(sql, ",\n\tCASE WHEN d.%s < 0 THEN %lld ELSE d.%s END AS %s", key, (long long)INT64_MAX,
			     key, counter == COUNTER_XMIT_WAIT ? "xmit_wait_ticks" : key);
}

int schema_make_history(sqlite3 *db, struct error *err)
{
	struct text sql = { 0 };
	int result;

	text_append(&sql, tables_history);
	text_append(&sql, tables_chunk_sum_begin);
	append_counter_columns(&sql, COUNTER_TRAFFIC_SET);
	text_append(&sql, tables_chunk_sum_end);
	text_append(&sql, tables_hour_sum_begin);
	append_counter_columns(&sql, COUNTER_TRAFFIC_SET);
	text_append(&sql, tables_hour_sum_end);
	text_append(&sql, tables_chunk_error);
	tables_append_snapshot(&sql);
	result = text_failed(&sql) ? err_nomem(err) : db_exec(db, text_chars(&sql), err);
	text_done(&sql);
	return result;
}

static int create_tables(sqlite3 *db, struct error *err)
{
	struct text sql = { 0 };
	int result;

	text_append(&sql, tables_fixed);
	text_append(&sql, tables_absolute_begin);
	append_counter_columns(&sql, COUNTER_TRAFFIC_SET | COUNTER_ERROR_SET);
	text_append(&sql, tables_absolute_end);
	text_append(&sql, tables_detail);
	text_append(&sql, tables_route);
	text_append(&sql, tables_finding);
	result = text_failed(&sql) ? err_nomem(err) : db_exec(db, text_chars(&sql), err);
	text_done(&sql);
	return result;
}

int schema_make_views(sqlite3 *db, struct error *err)
{
	struct text sql = { 0 };
	int result;

	text_append(&sql, tables_traffic_begin);
	for (int i = 0; i < COUNTER_TRAFFIC_COUNT; i++)
		append_view_column(&sql, (enum counter)i);
	text_append(&sql, tables_traffic_end);
	text_append(&sql, tables_views);
	result = text_failed(&sql) ? err_nomem(err) : db_exec(db, text_chars(&sql), err);
	text_done(&sql);
	return result;
}

static int insert_meta(sqlite3 *db, struct error *err)
{
	sqlite3_stmt *insert;
	int result = db_prepare(db, "INSERT INTO meta (key, value) VALUES ('created_us', ?)",
				&insert, err);

	if (result < 0)
		return result;
	sqlite3_bind_int64(insert, 1, clock_wall_us(clock_system()));
	result = db_run(insert, err);
	sqlite3_finalize(insert);
	return result;
}

int schema_fill(sqlite3 *db, struct error *err)
{
	int result = db_exec(db, "BEGIN IMMEDIATE", err);

	if (!result)
		result = create_tables(db, err);
	if (!result)
		result = schema_make_history(db, err);
	if (!result)
		result = schema_make_views(db, err);
	if (!result)
		result = insert_meta(db, err);
	if (!result)
		result = schema_fill_names(db, err);
	if (!result)
		result = db_exec(db, "COMMIT", err);
	return result;
}
