/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * writer_details.c - slow counters of a sweep
 *
 * Unlike fast counters, every reading is stored completely, with its delta: there are few, and most
 * of their counters are 0 and have no row.
 */
#include "base/err.h"
#include "storage/file/db.h"
#include "storage/read/details.h"
#include "storage/write/writer_internal.h"

static int store_values(struct writer *writer, int64_t id, uint32_t port, const struct detail_reading *reading,
			const struct detail_delta *delta, struct error *err)
{
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
		DB_BIND(insert, 1, id, port, DETAIL_ID(attribute, i), reading->value[i], counted, marks);
		if (!(delta->known & bit))
			sqlite3_bind_null(insert, 5);
		result = db_run(insert, err);
	}
	return result;
}

static int store_detail(struct writer *writer, int64_t id, const struct detail_sample *sample, struct error *err)
{
	static const struct detail_delta nothing_known = { 0 };
	sqlite3_stmt *insert = writer->statements[WRITE_DETAIL], *last = writer->statements[WRITE_DETAIL_LAST];
	const struct detail_reading *reading = sample->reading;
	enum detail_attribute attribute = (enum detail_attribute)reading->attribute;
	const struct detail_delta *delta = sample->delta;
	int64_t *newest;
	uint32_t port;
	int result;

	if (sample->port >= writer->port_id_count)
		return err_set(err, ERR_INTERNAL, "details of port %u, which is not in the fabric", sample->port);
	port = writer->port_ids[sample->port];
	newest = &writer->cache.ports[port].detail_sweep[attribute];
	if (*newest == id)
		return err_set(err, ERR_INTERNAL, "%s of port %u twice in one sweep", detail_attribute_name(attribute),
			       sample->port);
	/* The reading where the delta starts may be lost: then this is a first reading. */
	if (writer->diverged && !*newest)
		delta = NULL;
	*newest = id;
	if (!delta)
		delta = &nothing_known;
	/* The delta may contain counters that were not read now: they are unknown. */
	DB_BIND(insert, 1, id, port, attribute, reading->at_us, delta->elapsed_us, reading->layout,
		detail_all(attribute) & ~reading->present, detail_all(attribute) & ~(delta->known & reading->present));
	if (delta == &nothing_known)
		sqlite3_bind_null(insert, 5);
	DB_BIND(last, 1, port, attribute, id);
	result = db_run(insert, err);
	if (!result)
		result = db_run(last, err);
	return result ? result : store_values(writer, id, port, reading, delta, err);
}

int writer_store_details(struct writer *writer, const struct sweep *sweep, int64_t id, struct error *err)
{
	int result = 0;

	for (size_t i = 0; !result && i < sweep->detail_count; i++)
		result = store_detail(writer, id, &sweep->details[i], err);
	return result;
}
