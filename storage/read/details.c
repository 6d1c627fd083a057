/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/read/details.h"

#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "storage/file/db.h"
#include "storage/file/schema.h"

#define COLUMNS "d.sweep, d.port, d.attribute, d.at_us, d.elapsed_us, d.layout, d.missing, d.unknown," \
	" s.wall_us + (d.at_us - s.start_us), s.boot"
enum { DETAIL_SWEEP, DETAIL_PORT, DETAIL_ATTRIBUTE, DETAIL_AT, DETAIL_ELAPSED, DETAIL_LAYOUT, DETAIL_MISSING,
       DETAIL_UNKNOWN, DETAIL_WALL, DETAIL_BOOT };

int detail_scan_begin(struct detail_scan *scan, sqlite3 *db, const char *from, struct error *err)
{
	struct text sql = { 0 };
	int result;

	memset(scan, 0, sizeof(*scan));
	text_appendf(&sql, "SELECT " COLUMNS " FROM %s", from);
	result = text_failed(&sql) ? err_nomem(err) : db_prepare(db, text_chars(&sql), &scan->rows, err);
	text_done(&sql);
	if (!result)
		result = db_prepare(db, "SELECT counter, value, counted, marks FROM detail_value"
				    " WHERE sweep = ? AND port = ? AND counter >= ? AND counter < ?", &scan->values,
				    err);
	return result;
}

static void read_value(sqlite3_stmt *row, struct stored_detail *detail)
{
	struct detail_delta *delta = &detail->delta;
	uint64_t number = db_u64(row, 0) % DETAIL_NUMBERS;
	uint32_t bit, marks = (uint32_t)sqlite3_column_int(row, 3);

	if (number >= detail_count((enum detail_attribute)detail->reading.attribute))
		return; /* of a newer version */
	bit = UINT32_C(1) << number;
	if (detail->reading.present & bit)
		detail->reading.value[number] = (uint32_t)sqlite3_column_int64(row, 1);
	if (!(delta->known & bit))
		return;
	delta->value[number] = (uint32_t)sqlite3_column_int64(row, 2);
	delta->reset |= marks & MARK_RESET ? bit : 0;
	delta->saturated |= marks & MARK_SATURATED ? bit : 0;
}

static int read_values(sqlite3_stmt *values, struct stored_detail *detail, struct error *err)
{
	int attribute = detail->reading.attribute, result;

	DB_BIND(values, 1, detail->sweep, detail->port, DETAIL_ID(attribute, 0), DETAIL_ID(attribute + 1, 0));
	while ((result = db_step(values, err)) > 0)
		read_value(values, detail);
	sqlite3_reset(values);
	return result;
}

static void read_row(sqlite3_stmt *row, enum detail_attribute attribute, struct stored_detail *ret)
{
	uint32_t all = detail_all(attribute);

	memset(ret, 0, sizeof(*ret));
	ret->sweep = sqlite3_column_int64(row, DETAIL_SWEEP);
	ret->port = (uint32_t)sqlite3_column_int64(row, DETAIL_PORT);
	ret->wall_us = db_us(row, DETAIL_WALL);
	ret->boot = sqlite3_column_int64(row, DETAIL_BOOT);
	ret->reading.attribute = (uint8_t)attribute;
	ret->reading.layout = (uint8_t)sqlite3_column_int(row, DETAIL_LAYOUT);
	ret->reading.present = all & ~(uint32_t)sqlite3_column_int64(row, DETAIL_MISSING);
	ret->reading.at_us = db_us(row, DETAIL_AT);
	ret->has_delta = sqlite3_column_type(row, DETAIL_ELAPSED) != SQLITE_NULL;
	if (!ret->has_delta)
		return;
	ret->delta.elapsed_us = db_us(row, DETAIL_ELAPSED);
	ret->delta.known = all & ~(uint32_t)sqlite3_column_int64(row, DETAIL_UNKNOWN);
}

int detail_scan_next(struct detail_scan *scan, struct stored_detail *ret, struct error *err)
{
	int result;

	while ((result = db_step(scan->rows, err)) > 0) {
		uint64_t attribute = db_u64(scan->rows, DETAIL_ATTRIBUTE);

		if (attribute >= DETAIL_ATTRIBUTE_COUNT)
			continue;
		read_row(scan->rows, (enum detail_attribute)attribute, ret);
		result = read_values(scan->values, ret, err);
		return result < 0 ? result : 1;
	}
	return result;
}

void detail_scan_end(struct detail_scan *scan)
{
	sqlite3_finalize(scan->rows);
	sqlite3_finalize(scan->values);
}
