/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * writer_details.c - the slow counters that a sweep read, and what a new collector goes on from
 *
 * Unlike the fast counters each reading is stored whole, beside what was counted
 * since the one before: they are few, and most of their counters are 0 and take nothing.
 */
#include <stdlib.h>

#include "base/err.h"
#include "storage/file/db.h"
#include "storage/read/details.h"
#include "storage/file/schema.h"
#include "storage/write/writer_internal.h"

static int store_values(struct writer *writer, int64_t id, uint32_t port, const struct detail_sample *sample,
			struct error *err)
{
	static const struct detail_delta nothing_known = { 0 };
	const struct detail_delta *delta = sample->delta ? sample->delta : &nothing_known;
	const struct detail_reading *reading = sample->reading;
	enum detail_attribute attribute = (enum detail_attribute)reading->attribute;
	sqlite3_stmt *insert = writer->statements[WRITE_DETAIL_VALUE];
	int result = 0;

	for (unsigned i = 0; !result && i < detail_count(attribute); i++) {
		uint32_t bit = UINT32_C(1) << i;
		uint32_t counted = delta->known & bit ? delta->value[i] : 0;
		int marks = (delta->known & delta->reset & bit ? MARK_RESET : 0) |
			    (delta->known & delta->saturated & bit ? MARK_SATURATED : 0);

		if (!(reading->present & bit) || (!reading->value[i] && !counted && !marks))
			continue;
		sqlite3_bind_int64(insert, 1, id);
		sqlite3_bind_int64(insert, 2, port);
		sqlite3_bind_int(insert, 3, (int)DETAIL_ID(attribute, i));
		sqlite3_bind_int64(insert, 4, reading->value[i]);
		if (delta->known & bit)
			sqlite3_bind_int64(insert, 5, counted);
		else
			sqlite3_bind_null(insert, 5);
		sqlite3_bind_int(insert, 6, marks);
		result = db_run(insert, err);
	}
	return result;
}

static int store_row(struct writer *writer, int64_t id, uint32_t port, const struct detail_sample *sample,
		     struct error *err)
{
	const struct detail_reading *reading = sample->reading;
	sqlite3_stmt *insert = writer->statements[WRITE_DETAIL], *last = writer->statements[WRITE_DETAIL_LAST];
	uint32_t all = detail_all((enum detail_attribute)reading->attribute);
	int result;

	sqlite3_bind_int64(insert, 1, id);
	sqlite3_bind_int64(insert, 2, port);
	sqlite3_bind_int(insert, 3, reading->attribute);
	sqlite3_bind_int64(insert, 4, reading->at_us);
	if (sample->delta)
		sqlite3_bind_int64(insert, 5, sample->delta->elapsed_us);
	else
		sqlite3_bind_null(insert, 5);
	sqlite3_bind_int(insert, 6, reading->layout);
	sqlite3_bind_int64(insert, 7, all & ~reading->present);
	/* What was not read now has no change, whatever the delta says. */
	sqlite3_bind_int64(insert, 8, all & ~(sample->delta ? sample->delta->known & reading->present : 0));
	result = db_run(insert, err);
	if (result < 0)
		return result;
	sqlite3_bind_int64(last, 1, port);
	sqlite3_bind_int(last, 2, reading->attribute);
	sqlite3_bind_int64(last, 3, id);
	return db_run(last, err);
}

static int store_detail(struct writer *writer, int64_t id, const struct detail_sample *sample, struct error *err)
{
	struct detail_sample stored = *sample;
	struct known_port *known;
	uint32_t port;
	int result;

	if (sample->port >= writer->port_id_count)
		return err_set(err, ERR_INTERNAL, "details of port %u, which the fabric has not", sample->port);
	if (sample->reading->attribute >= DETAIL_ATTRIBUTE_COUNT)
		return err_set(err, ERR_INTERNAL, "details of an attribute %u, which there is not",
			       sample->reading->attribute);
	port = writer->port_ids[sample->port];
	known = &writer->cache.ports[port];
	if (known->detailed[sample->reading->attribute] == id)
		return err_set(err, ERR_INTERNAL, "%s of port %u twice in one sweep",
			       detail_attribute_name((enum detail_attribute)sample->reading->attribute), sample->port);
	/* The reading that it counts from may be lost: then this one is a first reading. */
	if (writer->diverged && !known->detailed[sample->reading->attribute])
		stored.delta = NULL;
	known->detailed[sample->reading->attribute] = id;
	result = store_row(writer, id, port, &stored, err);
	return result ? result : store_values(writer, id, port, &stored, err);
}

int writer_store_details(struct writer *writer, const struct sweep *sweep, int64_t id, struct error *err)
{
	int result = 0;

	for (size_t i = 0; !result && i < sweep->detail_count; i++)
		result = store_detail(writer, id, &sweep->details[i], err);
	return result;
}

int writer_restore_details(const struct writer *writer, struct restored *ret, struct error *err)
{
	const struct writer_cache *cache = &writer->cache;
	/* What to subtract from a wall clock to have the newest sweep's boottime. */
	int64_t offset_us = cache->sweep_wall_us - cache->sweep_start_us, count = 0;
	struct stored_detail stored;
	struct detail_scan scan;
	int result = db_integer(writer->db, "SELECT count(*) FROM detail_last", 0, &count, err);

	if (result < 0)
		return result;
	ret->details = calloc(count ? (size_t)count : 1, sizeof(*ret->details));
	if (!ret->details)
		return err_nomem(err);
	result = detail_scan_begin(&scan, writer->db,
				   "detail_last l CROSS JOIN detail d ON d.sweep = l.sweep AND d.port = l.port AND"
				   " d.attribute = l.attribute JOIN sweep s ON s.id = d.sweep", err);
	while (!result && (result = detail_scan_next(&scan, &stored, err)) > 0) {
		struct restored_detail *detail = &ret->details[ret->detail_count];

		result = 0;
		if (!stored.port || stored.port >= cache->port_count || ret->detail_count == (size_t)count)
			continue;
		*detail = (struct restored_detail){
			.node_guid = cache->nodes[cache->ports[stored.port].node].guid,
			.port = cache->ports[stored.port].num,
			.reading = stored.reading,
			.wall_us = stored.wall_us,
		};
		/* Read last in an earlier boot: only the wall clock spans the two. */
		if (stored.boot != cache->boot)
			detail->reading.at_us = stored.wall_us - offset_us;
		ret->detail_count++;
	}
	detail_scan_end(&scan);
	return result;
}
