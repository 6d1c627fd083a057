/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* details.c - slow counters: stored rows, and their totals over a window before a time */
#include "storage/read/details.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/text.h"
#include "storage/file/db.h"
#include "storage/file/schema.h"
#include "storage/read/reader_internal.h"

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
		detail->reading.value[number] = db_u64(row, 1);
	if (!(delta->known & bit))
		return;
	delta->value[number] = db_u64(row, 2);
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

/* One attribute of one port. */
struct found {
	uint32_t port; /* id */
	struct detail_row row;
};

struct gathering {
	struct reader *reader;
	const struct detail_query *query;
	int64_t until, after, from; /* sweeps: of the requested time; before the window; before the scan */
	int64_t began_us;           /* wall clock: deltas before it are left out; 0: none */
	struct found *found;
	size_t count, capacity;
	uint32_t *index; /* by port id and attribute: index into found + 1; 0: none */
	size_t port_count; /* highest id + 1 */
};

/* The ports of the query, by GUID ?3 and number ?4. */
#define QUERY_PORTS \
	"(SELECT p.id AS id FROM port p JOIN node n ON n.id = p.node WHERE n.guid = ?3 AND (?4 < 0 OR p.number = ?4))"

/* A few ports by a lookup in each sweep: a scan would read the rows of all others. */
#define QUERY_ATTRIBUTES " AND (?5 = 0 OR ?5 >> d.attribute & 1)"
static const char walk_all[] = "detail d JOIN sweep s ON s.id = d.sweep WHERE d.sweep > ?1 AND d.sweep <= ?2"
			       QUERY_ATTRIBUTES " ORDER BY d.sweep";
static const char walk_some[] =
	"sweep s CROSS JOIN " QUERY_PORTS " q CROSS JOIN detail d ON d.sweep = s.id AND d.port = q.id"
	" WHERE s.id > ?1 AND s.id <= ?2" QUERY_ATTRIBUTES " ORDER BY s.id";

#define LAST \
	"detail_last l CROSS JOIN detail d ON d.sweep = l.sweep AND d.port = l.port AND d.attribute = l.attribute" \
	" JOIN sweep s ON s.id = d.sweep WHERE l.sweep <= ?1" QUERY_ATTRIBUTES
static const char last_all[] = LAST;
static const char last_some[] = LAST " AND l.port IN " QUERY_PORTS;

/* The entry of a port and attribute, created if there is none. Return: NULL without memory. */
static struct found *entry_of(struct gathering *gathering, const struct stored_detail *stored)
{
	uint32_t *index = &gathering->index[(size_t)stored->port * DETAIL_ATTRIBUTE_COUNT + stored->reading.attribute];

	if (!*index) {
		struct found *found = array_grow(gathering->found, gathering->count, &gathering->capacity,
						 sizeof(*found));

		if (!found)
			return NULL;
		gathering->found = found;
		found[gathering->count] = (struct found){ .port = stored->port };
		*index = (uint32_t)++gathering->count;
	}
	return &gathering->found[*index - 1];
}

static int gather(struct gathering *gathering, const char *from, int64_t after, int64_t until, struct error *err)
{
	const struct detail_query *query = gathering->query;
	struct stored_detail stored;
	struct detail_scan scan;
	int result = detail_scan_begin(&scan, gathering->reader->db, from, err);

	if (!result) {
		DB_BIND(scan.rows, 1, after, until);
		/* Without effect for all ports: the statement has no such parameters. */
		db_bind_u64(scan.rows, 3, query->node_guid);
		sqlite3_bind_int(scan.rows, 4, query->port);
		sqlite3_bind_int64(scan.rows, 5, query->attributes);
	}
	while (!result && (result = detail_scan_next(&scan, &stored, err)) > 0) {
		struct found *found = stored.port < gathering->port_count ? entry_of(gathering, &stored) : NULL;

		result = found || stored.port >= gathering->port_count ? 0 : err_nomem(err);
		if (!found)
			continue;
		if (stored.sweep > found->row.sweep) {
			found->row.sweep = stored.sweep;
			found->row.wall_us = stored.wall_us;
			found->row.reading = stored.reading;
		}
		if (stored.sweep > gathering->after && stored.has_delta &&
		    stored.wall_us - stored.delta.elapsed_us >= gathering->began_us)
			detail_delta_add(&found->row.sum, &stored.delta);
	}
	detail_scan_end(&scan);
	return result;
}

static int find_range(struct gathering *gathering, struct error *err)
{
	const struct detail_query *query = gathering->query;
	int64_t newest = 0, ports = 0, back = query->node_guid ? DETAIL_LOOK_BACK_NODE_SWEEPS : DETAIL_LOOK_BACK_SWEEPS;
	struct stored_sweep sweep;
	int result = reader_newest_id(gathering->reader, &newest, err);

	if (!result)
		result = reader_find_sweep(gathering->reader, query->at_us, &sweep, err);
	if (!result)
		result = reader_window_begin(gathering->reader, &sweep, query->at_us, query->window_us,
					     &gathering->after, err);
	if (!result)
		result = db_integer(gathering->reader->db, "SELECT max(id) FROM port", 0, &ports, err);
	if (result < 0)
		return result;
	gathering->port_count = (size_t)ports + 1;
	gathering->until = sweep.info.id;
	gathering->from = gathering->after;
	if (query->inside)
		gathering->began_us = (query->at_us ? query->at_us : sweep.info.wall_us) - query->window_us;
	/* Older readings are found by detail_last, unless the port was read again since. */
	if (gathering->until < newest && gathering->from > gathering->until - back)
		gathering->from = gathering->until - back;
	gathering->index = calloc(gathering->port_count * DETAIL_ATTRIBUTE_COUNT, sizeof(*gathering->index));
	return gathering->index ? 0 : err_nomem(err);
}

/* Sets the identities of the ports. */
static int identify(struct gathering *gathering, struct error *err)
{
	sqlite3_stmt *port;
	int result = db_prepare(gathering->reader->db, "SELECT n.guid, p.number FROM port p JOIN node n"
				" ON n.id = p.node WHERE p.id = ?", &port, err);

	for (size_t i = 0; result >= 0 && i < gathering->count; i++) {
		struct found *found = &gathering->found[i];

		sqlite3_bind_int64(port, 1, found->port);
		result = db_step(port, err);
		if (result > 0) {
			found->row.node_guid = db_u64(port, 0);
			found->row.port = (uint8_t)sqlite3_column_int(port, 1);
		}
		sqlite3_reset(port);
	}
	sqlite3_finalize(port);
	return result < 0 ? result : 0;
}

static int find_all(struct gathering *gathering, struct error *err)
{
	bool all = !gathering->query->node_guid;
	int result = find_range(gathering, err);

	if (result < 0)
		return result;
	result = gather(gathering, all ? walk_all : walk_some, gathering->from, gathering->until, err);
	if (!result)
		result = gather(gathering, all ? last_all : last_some, gathering->from, 0, err);
	return result ? result : identify(gathering, err);
}

int reader_details(struct reader *reader, const struct detail_query *query, reader_detail_fn *each, void *ctx,
		   struct error *err)
{
	struct gathering gathering = { .reader = reader, .query = query };
	bool more = true;
	int result = reader_begin(reader, err);

	if (result < 0)
		return result;
	result = find_all(&gathering, err);
	reader_end(reader);
	/* In order of port. */
	for (size_t i = 0; !result && more && i < gathering.port_count * DETAIL_ATTRIBUTE_COUNT; i++)
		more = !gathering.index[i] || each(ctx, &gathering.found[gathering.index[i] - 1].row);
	free(gathering.found);
	free(gathering.index);
	return result;
}
