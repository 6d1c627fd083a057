/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/pack/compact_stripe.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "storage/pack/compact.h"
#include "storage/file/db.h"
#include "storage/codec/hot_block.h"
#include "storage/file/schema.h"

void stripe_free(struct stripe *stripe)
{
	if (!stripe)
		return;
	bytes_done(&stripe->packed);
	free(stripe->errors);
	free(stripe);
}

/* Rows of hot in one sweep. */
static int read_rows(struct compaction *compaction, size_t place, struct error *err)
{
	struct stripe *stripe = compaction->stripe;
	int64_t sweep = compaction->from_sweep + (int64_t)place, block = stripe->from_port / CODEC_BLOCK_PORTS;
	sqlite3_stmt *rows = compaction->statements[READ_HOT];
	int result;

	sqlite3_bind_int64(rows, 1, HOT_ID(sweep, block));
	sqlite3_bind_int64(rows, 2, HOT_ID(sweep, block + STRIPE_BLOCKS));
	while ((result = db_step(rows, err)) > 0) {
		size_t at = (size_t)(sqlite3_column_int64(rows, 0) - HOT_ID(sweep, block));
		const void *packed = sqlite3_column_blob(rows, 1);
		size_t len = (size_t)sqlite3_column_bytes(rows, 1);

		/* A longer row is damaged, which is found without its end. */
		if (len > HOT_BLOCK_MOST)
			len = HOT_BLOCK_MOST + 1;
		stripe->rows[at][place].at = (uint32_t)stripe->packed.len;
		/* An empty row is damaged, as is one of a single byte. */
		stripe->rows[at][place].len = len ? (uint32_t)len : 1;
		result = bytes_append(&stripe->packed, len ? packed : "", len ? len : 1);
		if (result < 0) {
			err_nomem(err);
			break;
		}
	}
	sqlite3_reset(rows);
	return result;
}

/* Rows of error in one sweep, appended to the list of each port. */
static int read_errors(struct compaction *compaction, size_t place, struct error *err)
{
	struct stripe *stripe = compaction->stripe;
	sqlite3_stmt *rows = compaction->statements[READ_ERRORS];
	int result;

	sqlite3_bind_int64(rows, 1, compaction->from_sweep + (int64_t)place);
	sqlite3_bind_int64(rows, 2, stripe->from_port);
	sqlite3_bind_int64(rows, 3, (int64_t)stripe->from_port + STRIPE_PORTS);
	while ((result = db_step(rows, err)) > 0) {
		size_t port = (size_t)(sqlite3_column_int64(rows, 0) - stripe->from_port);
		int64_t counter = sqlite3_column_int64(rows, 1);
		struct stripe_error *errors;

		if (counter < 0 || counter >= COUNTER_COUNT)
			continue; /* of a newer catalogue */
		errors = array_grow(stripe->errors, stripe->error_count, &stripe->error_capacity, sizeof(*errors));
		if (!errors) {
			result = err_nomem(err);
			break;
		}
		stripe->errors = errors;
		errors[stripe->error_count++] = (struct stripe_error){
			.place = (uint16_t)place, .counter = (uint8_t)counter, .value = db_u64(rows, 2),
			.marks = (uint8_t)sqlite3_column_int(rows, 3),
		};
		if (stripe->last_error[port])
			stripe->errors[stripe->last_error[port] - 1].next = (uint32_t)stripe->error_count;
		else
			stripe->first_error[port] = (uint32_t)stripe->error_count;
		stripe->last_error[port] = (uint32_t)stripe->error_count;
	}
	sqlite3_reset(rows);
	return result;
}

/* Absolute readings of one sweep: the deltas of later sweeps add to them. */
static int read_absolutes(struct compaction *compaction, size_t place, struct error *err)
{
	sqlite3_stmt *rows = compaction->statements[READ_ABSOLUTES];
	uint32_t from_port = compaction->stripe->from_port;
	int result;

	sqlite3_bind_int64(rows, 1, compaction->from_sweep + (int64_t)place);
	sqlite3_bind_int64(rows, 2, from_port);
	sqlite3_bind_int64(rows, 3, (int64_t)from_port + STRIPE_PORTS);
	while ((result = db_step(rows, err)) > 0) {
		uint64_t port = db_u64(rows, 1);

		if (port < compaction->port_count)
			readings_read_absolute(rows, &compaction->last[port]);
	}
	sqlite3_reset(rows);
	return result;
}

int stripe_read(struct compaction *compaction, uint32_t from_port, struct error *err)
{
	size_t sweeps = (size_t)(compaction->to_sweep - compaction->from_sweep);
	struct stripe *stripe = compaction->stripe;
	int result;

	stripe->there = false;
	stripe->from_port = from_port;
	stripe->packed.len = 0;
	stripe->error_count = 0;
	memset(stripe->rows, 0, sizeof(stripe->rows));
	memset(stripe->first_error, 0, sizeof(stripe->first_error));
	memset(stripe->last_error, 0, sizeof(stripe->last_error));
	/* Without a transaction each statement would take and release locks. */
	result = db_exec(compaction->db, "BEGIN", err);
	for (size_t i = 0; !result && i < sweeps; i++) {
		result = read_rows(compaction, i, err);
		if (!result)
			result = read_errors(compaction, i, err);
		if (!result)
			result = read_absolutes(compaction, i, err);
	}
	if (!sqlite3_get_autocommit(compaction->db))
		sqlite3_exec(compaction->db, "ROLLBACK", NULL, NULL, NULL); /* it only read */
	stripe->there = !result;
	return result;
}

/* A row that cannot be unpacked: without these samples later readings are unknown. */
static void note_damage(struct compaction *compaction, uint32_t port, size_t place)
{
	compaction->damaged++;
	for (uint32_t i = port; i < port + CODEC_BLOCK_PORTS && i < compaction->port_count; i++)
		if (compaction->last[i].base_sweep < compaction->from_sweep + (int64_t)place)
			compaction->last[i].there = false;
}

void stripe_unpack(struct compaction *compaction, uint32_t port)
{
	size_t sweeps = (size_t)(compaction->to_sweep - compaction->from_sweep);
	struct codec_sample samples[CODEC_BLOCK_PORTS];
	struct stripe *stripe = compaction->stripe;
	size_t block = (port - stripe->from_port) / CODEC_BLOCK_PORTS;

	for (size_t i = 0; i < CODEC_BLOCK_PORTS; i++)
		stripe->series[i].group.count = stripe->series[i].group.any_unknown = 0;
	for (size_t place = 0; place < sweeps; place++) {
		const uint8_t *packed = stripe->packed.data + stripe->rows[block][place].at;
		size_t len = stripe->rows[block][place].len;

		if (!len)
			continue;
		if (hot_read_block(packed, len, samples) < 0) {
			note_damage(compaction, port, place);
			continue;
		}
		for (size_t i = 0; i < CODEC_BLOCK_PORTS; i++)
			if (samples[i].there)
				codec_series_add(&stripe->series[i], &samples[i], (unsigned)place);
	}
}

/* Sets the time of the last reading, if there are samples from @first on. */
static void date_reading(const struct compaction *compaction, const struct codec_series *series, unsigned first,
			 struct stored_reading *last)
{
	const struct codec_group *group = &series->group;
	unsigned place;

	if (first >= group->count)
		return;
	place = group->at[group->count - 1];
	last->read_sweep = compaction->from_sweep + place;
	last->wall_us = last->reading.at_us + compaction->offsets_us[place];
}

/* The first sample that is newer than the last reading of the port; without a reading their count. */
static unsigned first_later(const struct compaction *compaction, const struct codec_group *group,
			    const struct stored_reading *last)
{
	unsigned first = 0;

	if (!last || !last->there)
		return group->count;
	while (first < group->count && compaction->from_sweep + group->at[first] <= last->base_sweep)
		first++;
	return first;
}

/* Counter by counter: for ports without rows of error. */
static void add_columns(const struct codec_series *series, unsigned first, struct stored_reading *last,
			struct port_sum *ret)
{
	const struct codec_group *group = &series->group;
	uint64_t elapsed_us = 0;

	ret->samples = group->count;
	ret->sum.known = COUNTER_ALL_SET;
	ret->ever = group->any_unknown ? 0 : COUNTER_ALL_SET;
	for (unsigned i = 0; group->any_unknown && i < group->count; i++) {
		ret->sum.known &= ~group->unknown[i];
		ret->ever |= COUNTER_ALL_SET & ~group->unknown[i];
	}
	for (unsigned i = 0; i < group->count; i++)
		elapsed_us += series->elapsed_us[i];
	ret->sum.elapsed_us = (int64_t)(elapsed_us & INT64_MAX);
	/* Unknown values are 0. */
	for (unsigned j = 0; j < COUNTER_TRAFFIC_COUNT; j++)
		ret->sum.value[j] = codec_sum_column(group->value[j], group->count);
	if (first >= group->count)
		return;
	for (unsigned i = 0; i < first; i++)
		elapsed_us -= series->elapsed_us[i];
	last->reading.at_us = delta_us_add(last->reading.at_us, (int64_t)(elapsed_us & INT64_MAX));
	for (unsigned j = 0; j < COUNTER_TRAFFIC_COUNT; j++) {
		/* The sum is already known, unless it includes earlier samples or has reached its maximum. */
		if (!first && ret->sum.value[j] != UINT64_MAX)
			last->reading.value[j] += ret->sum.value[j];
		else
			for (unsigned i = first; i < group->count; i++)
				last->reading.value[j] += group->value[j][i];
	}
}

/* Sample by sample. @error: index + 1 of the first row of error. */
static void add_samples(const struct stripe *stripe, const struct codec_series *series, uint32_t error, unsigned first,
			struct stored_reading *last, struct port_sum *ret)
{
	const struct codec_group *group = &series->group;

	for (unsigned i = 0; i < group->count; i++) {
		struct delta delta = { .elapsed_us = (int64_t)series->elapsed_us[i],
				       .known = COUNTER_ALL_SET & ~group->unknown[i] };

		for (unsigned j = 0; j < COUNTER_TRAFFIC_COUNT; j++)
			delta.value[j] = group->value[j][i];
		for (; error && stripe->errors[error - 1].place <= group->at[i]; error = stripe->errors[error - 1].next)
			if (stripe->errors[error - 1].place == group->at[i])
				delta_put_error(&delta, stripe->errors[error - 1].counter,
						stripe->errors[error - 1].value, stripe->errors[error - 1].marks);
		port_sum_add_delta(ret, &delta);
		if (i >= first)
			reading_apply(&last->reading, &delta);
	}
}

void stripe_add_up(struct compaction *compaction, uint32_t port, struct port_sum *ret)
{
	const struct stripe *stripe = compaction->stripe;
	const struct codec_series *series = &stripe->series[port % CODEC_BLOCK_PORTS];
	struct stored_reading *last = port < compaction->port_count ? &compaction->last[port] : NULL;
	unsigned first = first_later(compaction, &series->group, last);
	uint32_t error = stripe->first_error[port - stripe->from_port];

	*ret = (struct port_sum){ 0 };
	if (!series->group.count)
		return;
	if (error)
		add_samples(stripe, series, error, first, last, ret);
	else
		add_columns(series, first, last, ret);
	if (last)
		date_reading(compaction, series, first, last);
}
