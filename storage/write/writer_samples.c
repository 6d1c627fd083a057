/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * writer_samples.c - one sweep's samples as deltas, spans and absolute readings
 *
 * A port of the fabric either has a delta or an absolute reading in a sweep (or
 * both), or a span covers it. The writer puts each delta on the last reading as
 * a reader would. Where that does not give the reading that came with it (the
 * machine booted, a counter came or went or changed its width), the reading is
 * stored beside the delta, so that what is read back is always what was read.
 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "fabric/fabric.h"
#include "storage/codec/codec.h"
#include "storage/file/db.h"
#include "storage/codec/hot_block.h"
#include "storage/file/schema.h"
#include "storage/write/writer_internal.h"

static int store_absolute(struct writer *writer, uint32_t port, struct error *err)
{
	struct stored_reading *last = &writer->cache.ports[port].last;

	last->base_sweep = last->read_sweep;
	return readings_write_absolute(writer->statements[WRITE_ABSOLUTE], port, last, err);
}

/*
 * A collector that starts reads the newest absolute values and the deltas since. Where
 * it ends after a sweep or two, a few sweeps' deltas are read sooner than all readings are written.
 */
#define FEW_OWN_SWEEPS 2
#define FEW_SWEEPS 8

static bool is_read_soon(const struct writer_cache *cache, const struct stored_reading *last)
{
	return last->base_sweep && cache->sweep - cache->loaded_sweep <= FEW_OWN_SWEEPS &&
		cache->sweep - last->base_sweep <= FEW_SWEEPS;
}

int writer_store_last(struct writer *writer, struct error *err)
{
	int result = 0;

	for (size_t i = 1; !result && i < writer->cache.port_count; i++) {
		const struct stored_reading *last = &writer->cache.ports[i].last;

		if (last->there && last->base_sweep != last->read_sweep && !is_read_soon(&writer->cache, last))
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
		sqlite3_bind_int64(insert, 1, sweep);
		sqlite3_bind_int64(insert, 2, port);
		sqlite3_bind_int(insert, 3, i);
		db_bind_u64(insert, 4, delta->value[i]);
		sqlite3_bind_int(insert, 5, marks);
		result = db_run(insert, err);
	}
	return result;
}

static int store_delta(struct writer *writer, int64_t sweep, uint32_t port, const struct delta *delta,
		       struct error *err)
{
	struct codec_sample *sample = &writer->samples[port];

	sample->there = true;
	sample->elapsed_us = delta->elapsed_us;
	sample->unknown = COUNTER_ALL_SET & ~delta->known;
	for (int i = 0; i < COUNTER_TRAFFIC_COUNT; i++)
		sample->value[i] = delta->known & COUNTER_BIT(i) ? delta->value[i] : 0;
	return store_errors(writer, sweep, port, delta, err);
}

/* Room for a sample of every port that is known, in whole blocks; none is there. */
static int make_room(struct writer *writer, struct error *err)
{
	size_t ports = (writer->cache.port_count + CODEC_BLOCK_PORTS - 1) / CODEC_BLOCK_PORTS * CODEC_BLOCK_PORTS;

	if (writer->cache.port_count > HISTORY_PORTS)
		return err_set(err, ERR_IO, "more than %lld ports were seen over time; start another database with "
			       "--new-fabric", (long long)HISTORY_PORTS - 1);
	if (ports > writer->sample_count) {
		struct codec_sample *samples = reallocarray(writer->samples, ports, sizeof(*samples));
		bool *sampled;

		if (!samples)
			return err_nomem(err);
		writer->samples = samples;
		sampled = reallocarray(writer->sampled, ports, sizeof(*sampled));
		if (!sampled)
			return err_nomem(err);
		writer->sampled = sampled;
		writer->sample_count = ports;
		writer->samples_left = true;
	}
	if (writer->samples_left)
		memset(writer->samples, 0, writer->sample_count * sizeof(*writer->samples));
	if (writer->sample_count)
		memset(writer->sampled, 0, writer->sample_count * sizeof(*writer->sampled));
	writer->samples_left = true;
	return 0;
}

static bool any_there(const struct codec_sample *samples)
{
	for (size_t i = 0; i < CODEC_BLOCK_PORTS; i++)
		if (samples[i].there)
			return true;
	return false;
}

/* What was put into writer->samples, as a row for each block of ports. */
static int store_blocks(struct writer *writer, int64_t id, struct error *err)
{
	sqlite3_stmt *insert = writer->statements[WRITE_HOT];
	int result = 0;

	for (size_t i = 0; !result && i < writer->sample_count; i += CODEC_BLOCK_PORTS) {
		if (!any_there(&writer->samples[i]))
			continue;
		writer->packed.len = 0;
		if (hot_write_block(&writer->packed, &writer->samples[i]) < 0)
			return err_nomem(err);
		sqlite3_bind_int64(insert, 1, HOT_ID(id, (int64_t)(i / CODEC_BLOCK_PORTS)));
		sqlite3_bind_blob(insert, 2, writer->packed.data, (int)writer->packed.len, SQLITE_STATIC);
		result = db_run(insert, err);
		/* Ready for the next sweep, while they are at hand. */
		memset(&writer->samples[i], 0, CODEC_BLOCK_PORTS * sizeof(*writer->samples));
	}
	writer->samples_left = result < 0;
	return result;
}

/* Are two readings the same in all that is stored of them? */
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

static int store_reading(struct writer *writer, const struct sweep *sweep, int64_t id, uint32_t port,
			 const struct port_sample *sample, bool after_span, struct error *err)
{
	struct stored_reading *last = &writer->cache.ports[port].last;
	const struct delta *delta = sample->delta;
	bool follows = last->there && delta;
	struct delta since_stored;
	int result = 0;

	/* The collector counts from a reading that the database lost, or from one before a sweep that it holds. */
	if (writer->diverged && follows && sample->reading->at_us - delta->elapsed_us != last->reading.at_us) {
		delta_between(&last->reading, sample->reading, &since_stored);
		delta = &since_stored;
	}
	if (delta)
		result = store_delta(writer, id, port, delta, err);
	if (result < 0)
		return result;
	if (follows) {
		reading_apply(&last->reading, delta);
		follows = same_reading(&last->reading, sample->reading);
	}
	last->there = true;
	last->read_sweep = id;
	last->reading = *sample->reading;
	last->wall_us = sweep->wall_us + (sample->reading->at_us - sweep->start_us);
	/* Behind a span too: at the end of a window in between no reading of it was stored. */
	if (!follows || after_span)
		result = store_absolute(writer, port, err);
	return result;
}

/* From sweep @id on the port is in span @why; SAMPLE_OK ends the one that it is in. */
static int set_span(struct writer *writer, int64_t id, uint32_t port, int why, struct error *err)
{
	struct known_port *known = &writer->cache.ports[port];
	int result = 0;

	if (known->span_from ? known->span_why == why : why == SAMPLE_OK)
		return 0;
	if (known->span_from) {
		sqlite3_stmt *update = writer->statements[CLOSE_SPAN];

		sqlite3_bind_int64(update, 1, id);
		sqlite3_bind_int64(update, 2, known->span_from);
		sqlite3_bind_int64(update, 3, port);
		result = db_run(update, err);
		known->span_from = 0;
	}
	if (result < 0 || why == SAMPLE_OK)
		return result;
	if (known->last.there && known->last.base_sweep != known->last.read_sweep)
		result = store_absolute(writer, port, err);
	if (!result) {
		sqlite3_stmt *insert = writer->statements[OPEN_SPAN];

		sqlite3_bind_int64(insert, 1, id);
		sqlite3_bind_int64(insert, 2, port);
		sqlite3_bind_int(insert, 3, why);
		if (known->last.there)
			sqlite3_bind_int64(insert, 4, known->last.read_sweep);
		else
			sqlite3_bind_null(insert, 4);
		result = db_run(insert, err);
	}
	known->span_from = id;
	known->span_why = why;
	return result;
}

static int store_sample(struct writer *writer, const struct sweep *sweep, int64_t id, const struct port_sample *sample,
			struct error *err)
{
	bool ok = sample->status == SAMPLE_OK && sample->reading, after_span;
	struct known_port *known;
	uint32_t port;
	int result;

	if (sample->port >= writer->port_id_count)
		return err_set(err, ERR_INTERNAL, "a sample of port %u, which the fabric has not", sample->port);
	port = writer->port_ids[sample->port];
	known = &writer->cache.ports[port];
	if (writer->sampled[port])
		return err_set(err, ERR_INTERNAL, "two samples of port %u in one sweep", sample->port);
	writer->sampled[port] = true;
	known->pollable = true;
	after_span = known->span_from != 0;
	/* The span first: it stores the last reading before it. */
	result = set_span(writer, id, port, ok ? SAMPLE_OK : sample->status == SAMPLE_OK ? SAMPLE_SILENT :
			  (int)sample->status, err);
	if (!result && ok)
		result = store_reading(writer, sweep, id, port, sample, after_span, err);
	return result;
}

/* Ports that should have had a sample and have none. */
static int store_unsampled(struct writer *writer, int64_t id, struct error *err)
{
	int result = 0;

	for (size_t i = 1; !result && i < writer->cache.port_count; i++) {
		const struct known_port *known = &writer->cache.ports[i];

		if (!writer->sampled[i] && known->pollable)
			result = set_span(writer, id, (uint32_t)i, known->from_sweep ? SAMPLE_UNPLANNED : SPAN_ABSENT,
					  err);
	}
	return result;
}

int writer_store_samples(struct writer *writer, const struct sweep *sweep, int64_t id, struct error *err)
{
	int result = make_room(writer, err);

	for (size_t i = 0; !result && i < sweep->sample_count; i++)
		result = store_sample(writer, sweep, id, &sweep->samples[i], err);
	if (!result)
		result = store_blocks(writer, id, err);
	return result ? result : store_unsampled(writer, id, err);
}
