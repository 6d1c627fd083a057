/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * writer_samples.c - samples of one sweep as deltas, gaps and absolute readings; slow counters
 *
 * A port has a delta or an absolute reading in a sweep (or both), or a gap covers it. The writer
 * adds each delta to the last reading as a reader does. If the result is not the reading of the
 * sample (the host was rebooted, a counter appeared, disappeared or changed its width), the reading
 * is stored too. So what is read back is always what was read.
 *
 * The collector needs deltas for its findings, so it passes them: to compute them here as well would
 * take 30 % more time.
 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "fabric/fabric.h"
#include "storage/codec/codec.h"
#include "storage/file/db.h"
#include "storage/file/schema.h"
#include "storage/read/details.h"
#include "storage/write/writer_internal.h"

static int store_absolute(struct writer *writer, uint32_t port, struct error *err)
{
	struct stored_reading *last = &writer->cache.ports[port].last;

	last->base_sweep = last->read_sweep;
	return readings_write_absolute(writer->statements[WRITE_ABSOLUTE], port, last, err);
}

/*
 * The next collector reads the newest absolute values and the deltas after them. For a collector
 * that ends after a sweep or two, that takes less time than to store all readings.
 */
#define FEW_OWN_SWEEPS 2
#define FEW_SWEEPS 8

static bool has_near_base(const struct writer_cache *cache, const struct stored_reading *last)
{
	return last->base_sweep && cache->sweep - cache->loaded_sweep <= FEW_OWN_SWEEPS &&
		cache->sweep - last->base_sweep <= FEW_SWEEPS;
}

int writer_store_last(struct writer *writer, struct error *err)
{
	int result = 0;

	for (size_t i = 1; !result && i < writer->cache.port_count; i++) {
		const struct stored_reading *last = &writer->cache.ports[i].last;

		if (last->there && last->base_sweep != last->read_sweep && !has_near_base(&writer->cache, last))
			result = store_absolute(writer, (uint32_t)i, err);
	}
	return result;
}

static int store_errors(struct writer *writer, int64_t sweep, uint32_t port, const struct delta *delta,
			struct error *err)
{
	sqlite3_stmt *insert = writer->statements[WRITE_ERROR];
	uint64_t moved = (delta->reset | delta->saturated) & delta->known;
	int result = 0;

	for (int i = COUNTER_TRAFFIC_COUNT; i < COUNTER_COUNT; i++)
		moved |= delta->value[i];
	if (!moved)
		return 0;
	for (int i = 0; !result && i < COUNTER_COUNT; i++) {
		counter_set bit = COUNTER_BIT(i);
		int marks = (delta->reset & bit ? MARK_RESET : 0) | (delta->saturated & bit ? MARK_SATURATED : 0);

		if (!(delta->known & bit) || (!marks && (i < COUNTER_TRAFFIC_COUNT || !delta->value[i])))
			continue;
		DB_BIND(insert, 1, sweep, port, i, (int64_t)delta->value[i], marks);
		result = db_run(insert, err);
	}
	return result;
}

static int store_delta(struct writer *writer, int64_t sweep, uint32_t port, const struct delta *delta,
		       struct codec_sample *ret, struct error *err)
{
	ret->there = true;
	ret->elapsed_us = delta->elapsed_us;
	ret->unknown = COUNTER_ALL_SET & ~delta->known;
	for (int i = 0; i < COUNTER_TRAFFIC_COUNT; i++)
		ret->value[i] = delta->known & COUNTER_BIT(i) ? delta->value[i] : 0;
	return store_errors(writer, sweep, port, delta, err);
}

/* Are all stored fields of two readings equal? */
static bool same_reading(const struct reading *a, const struct reading *b)
{
	if (a->at_us != b->at_us || a->present != b->present || (a->wide & a->present) != (b->wide & b->present))
		return false;
	if ((a->present & COUNTER_ALL_SET) == COUNTER_ALL_SET)
		return memcmp(a->value, b->value, sizeof(a->value)) == 0;
	for (int i = 0; i < COUNTER_COUNT; i++)
		if (a->present & COUNTER_BIT(i) && a->value[i] != b->value[i])
			return false;
	return true;
}

static int store_reading(struct writer *writer, const struct sweep *sweep, int64_t id, uint32_t port, bool after_gap,
			 struct codec_sample *ret, struct error *err)
{
	struct stored_reading *last = &writer->cache.ports[port].last;
	const struct reading *reading = writer->samples[port]->reading;
	const struct delta *delta = writer->samples[port]->delta;
	bool follows = last->there && delta;
	int result = 0;

	if (delta)
		result = store_delta(writer, id, port, delta, ret, err);
	if (result < 0)
		return result;
	if (follows) {
		reading_apply(&last->reading, delta);
		follows = same_reading(&last->reading, reading);
	}
	if (!follows)
		last->reading = *reading;
	last->there = true;
	last->read_sweep = id;
	last->wall_us = sweep->wall_us + (reading->at_us - sweep->start_us);
	/* After a gap too: no reading of the port was stored at the end of a window within the gap. */
	if (!follows || after_gap)
		result = store_absolute(writer, port, err);
	return result;
}

/* From sweep @id on, the port has a gap for the reason @why; SAMPLE_OK ends its gap. */
static int set_gap(struct writer *writer, int64_t id, uint32_t port, int why, struct error *err)
{
	struct known_port *known = &writer->cache.ports[port];
	sqlite3_stmt *close = writer->statements[CLOSE_GAP], *open = writer->statements[OPEN_GAP];
	int result = 0;

	if (known->gap_from ? known->gap_why == why : why == SAMPLE_OK)
		return 0;
	if (known->gap_from) {
		DB_BIND(close, 1, id, known->gap_from, port);
		result = db_run(close, err);
		known->gap_from = 0;
	}
	if (result < 0 || why == SAMPLE_OK)
		return result;
	if (known->last.there && known->last.base_sweep != known->last.read_sweep)
		result = store_absolute(writer, port, err);
	if (!result) {
		DB_BIND(open, 1, id, port, why);
		db_bind_nonzero(open, 4, known->last.there ? (uint64_t)known->last.read_sweep : 0);
		result = db_run(open, err);
	}
	known->gap_from = id;
	known->gap_why = why;
	return result;
}

/* @ret: zeroed; filled if the port has a delta. */
static int store_port(struct writer *writer, const struct sweep *sweep, int64_t id, uint32_t port,
		      struct codec_sample *ret, struct error *err)
{
	const struct port_sample *sample = writer->samples[port];
	struct known_port *known = &writer->cache.ports[port];
	bool after_gap = known->gap_from != 0;
	int why, result;

	known->pollable |= sample != NULL;
	if (!known->pollable)
		return 0;
	if (sample)
		why = sample->status == SAMPLE_OK && !sample->reading ? SAMPLE_SILENT : (int)sample->status;
	else
		why = known->from_sweep ? SAMPLE_UNPLANNED : GAP_ABSENT;
	/* The gap first: set_gap() stores the last reading before it. */
	result = set_gap(writer, id, port, why, err);
	if (!result && why == SAMPLE_OK)
		result = store_reading(writer, sweep, id, port, after_gap, ret, err);
	return result;
}

/* Store the ports from @first on, and pack their deltas behind those of the blocks before. */
static int store_block(struct writer *writer, const struct sweep *sweep, int64_t id, size_t first, struct error *err)
{
	struct codec_sample block[CODEC_BLOCK_PORTS] = { 0 };
	bool any = false;

	for (size_t i = 0; i < CODEC_BLOCK_PORTS && first + i < writer->cache.port_count; i++) {
		int result = store_port(writer, sweep, id, (uint32_t)(first + i), &block[i], err);

		if (result < 0)
			return result;
		any |= block[i].there;
	}
	if (any && hot_write_block(&writer->packed, block) < 0)
		return err_nomem(err);
	writer->block_ends[first / CODEC_BLOCK_PORTS] = writer->packed.len;
	return 0;
}

/* After all blocks are packed: to insert each one at once would take 20 % more time. */
static int insert_blocks(struct writer *writer, int64_t id, struct error *err)
{
	sqlite3_stmt *insert = writer->statements[WRITE_HOT];
	size_t from = 0;
	int result = 0;

	for (size_t i = 0; !result && i * CODEC_BLOCK_PORTS < writer->cache.port_count; i++) {
		size_t end = writer->block_ends[i];

		if (from == end)
			continue;
		sqlite3_bind_int64(insert, 1, HOT_ID(id, (int64_t)i));
		sqlite3_bind_blob(insert, 2, writer->packed.data + from, (int)(end - from), SQLITE_STATIC);
		result = db_run(insert, err);
		from = end;
	}
	return result;
}

/* Set writer->samples, and allocate writer->block_ends. */
static int index_samples(struct writer *writer, const struct sweep *sweep, struct error *err)
{
	size_t ports = writer->cache.port_count;
	const struct port_sample **samples;
	size_t *ends;

	samples = reallocarray(writer->samples, ports + 1, sizeof(*samples));
	if (!samples)
		return err_nomem(err);
	writer->samples = samples;
	ends = reallocarray(writer->block_ends, ports / CODEC_BLOCK_PORTS + 1, sizeof(*ends));
	if (!ends)
		return err_nomem(err);
	writer->block_ends = ends;
	memset(samples, 0, ports * sizeof(*samples));
	for (size_t i = 0; i < sweep->sample_count; i++) {
		uint32_t index = sweep->samples[i].port;

		if (index >= writer->port_id_count)
			return err_set(err, ERR_INTERNAL, "a sample of port %u, which is not in the fabric", index);
		if (!writer->port_ids[index])
			continue;
		if (samples[writer->port_ids[index]])
			return err_set(err, ERR_INTERNAL, "two samples of port %u in one sweep", index);
		samples[writer->port_ids[index]] = &sweep->samples[i];
	}
	return 0;
}

int writer_store_samples(struct writer *writer, const struct sweep *sweep, int64_t id, struct error *err)
{
	int result = index_samples(writer, sweep, err);

	writer->packed.len = 0;
	for (size_t i = 0; !result && i < writer->cache.port_count; i += CODEC_BLOCK_PORTS)
		result = store_block(writer, sweep, id, i, err);
	return result ? result : insert_blocks(writer, id, err);
}

/* --- slow counters: each reading is stored with its delta; counters that are 0 have no row --- */

static int store_values(struct writer *writer, int64_t id, uint32_t port, const struct detail_reading *reading,
			const struct detail_delta *delta, struct error *err)
{
	enum detail_attribute attribute = (enum detail_attribute)reading->attribute;
	sqlite3_stmt *insert = writer->statements[WRITE_DETAIL_VALUE];
	int result = 0;

	for (unsigned i = 0; !result && i < detail_count(attribute); i++) {
		uint32_t bit = UINT32_C(1) << i;
		uint64_t counted = delta->known & bit ? delta->value[i] : 0;
		int marks = (delta->known & delta->reset & bit ? MARK_RESET : 0) |
			    (delta->known & delta->saturated & bit ? MARK_SATURATED : 0);

		if (!(reading->present & bit) || (!reading->value[i] && !counted && !marks))
			continue;
		DB_BIND(insert, 1, id, port, DETAIL_ID(attribute, i), (int64_t)reading->value[i], (int64_t)counted,
			marks);
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
	if (!port)
		return 0;
	newest = &writer->cache.ports[port].detail_sweep[attribute];
	if (*newest == id)
		return err_set(err, ERR_INTERNAL, "%s of port %u twice in one sweep", detail_attribute_name(attribute),
			       sample->port);
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
