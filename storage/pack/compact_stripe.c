/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/pack/compact.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "storage/file/db.h"
#include "storage/codec/codec.h"
#include "storage/file/schema.h"

void stripe_free(struct stripe *stripe)
{
	if (!stripe)
		return;
	bytes_done(&stripe->packed);
	free(stripe->errors);
	free(stripe);
}

static int read_blocks(struct compaction *compaction, struct error *err)
{
	struct stripe *stripe = compaction->stripe;
	sqlite3_stmt *rows = compaction->statements[READ_HOT];
	int result;

	while ((result = db_step(rows, err)) > 0) {
		int64_t id = sqlite3_column_int64(rows, 0);
		size_t place = (size_t)(id / HOT_BLOCKS - compaction->from_sweep);
		size_t block = (size_t)(id % HOT_BLOCKS - stripe->from_port / CODEC_BLOCK_PORTS);
		const void *packed = sqlite3_column_blob(rows, 1);
		size_t len = (size_t)sqlite3_column_bytes(rows, 1);

		/* A longer row is damaged, which is found without its end. */
		if (len > HOT_BLOCK_MOST)
			len = HOT_BLOCK_MOST + 1;
		stripe->rows[block][place].at = (uint32_t)stripe->packed.len;
		/* An empty row is damaged, as is one of a single byte. */
		stripe->rows[block][place].len = len ? (uint32_t)len : 1;
		result = bytes_append(&stripe->packed, len ? packed : "", len ? len : 1);
		if (result < 0)
			return err_nomem(err);
	}
	return result;
}

static int read_errors(struct compaction *compaction, struct error *err)
{
	struct stripe *stripe = compaction->stripe;
	sqlite3_stmt *rows = compaction->statements[READ_ERRORS];
	int result;

	while ((result = db_step(rows, err)) > 0) {
		struct stripe_error *errors = array_grow(stripe->errors, stripe->error_count, &stripe->error_capacity,
							 sizeof(*errors));

		if (!errors)
			return err_nomem(err);
		stripe->errors = errors;
		errors[stripe->error_count++] = (struct stripe_error){
			.port = (uint32_t)sqlite3_column_int64(rows, 0),
			.place = (uint16_t)(sqlite3_column_int64(rows, 1) - compaction->from_sweep),
			.counter = sqlite3_column_int64(rows, 2), .value = db_u64(rows, 3),
			.marks = (uint8_t)sqlite3_column_int(rows, 4),
		};
	}
	return result;
}

/* The deltas of later sweeps add to the newest absolute reading. */
static int read_absolutes(struct compaction *compaction, struct error *err)
{
	sqlite3_stmt *rows = compaction->statements[READ_ABSOLUTES];
	int result;

	while ((result = db_step(rows, err)) > 0) {
		uint64_t port = db_u64(rows, 1);

		if (port < compaction->port_count &&
		    sqlite3_column_int64(rows, 0) > compaction->last[port].base_sweep)
			readings_read_absolute(rows, &compaction->last[port]);
	}
	return result;
}

int stripe_read(struct compaction *compaction, uint32_t from_port, struct error *err)
{
	struct stripe *stripe = compaction->stripe;
	int result;

	stripe->loaded = false;
	stripe->from_port = from_port;
	stripe->packed.len = stripe->error_count = stripe->next_error = 0;
	memset(stripe->rows, 0, sizeof(stripe->rows));
	for (int i = READ_HOT; i <= READ_ABSOLUTES; i++)
		DB_BIND(compaction->statements[i], 1, compaction->from_sweep, compaction->to_sweep, from_port,
			(int64_t)from_port + STRIPE_PORTS);
	/* Without a transaction each statement would take and release locks. */
	result = db_exec(compaction->db, "BEGIN", err);
	if (!result)
		result = read_blocks(compaction, err);
	if (!result)
		result = read_errors(compaction, err);
	if (!result)
		result = read_absolutes(compaction, err);
	for (int i = READ_HOT; i <= READ_ABSOLUTES; i++)
		sqlite3_reset(compaction->statements[i]);
	if (!sqlite3_get_autocommit(compaction->db))
		sqlite3_exec(compaction->db, "ROLLBACK", NULL, NULL, NULL); /* it only read */
	stripe->loaded = !result;
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

/* The next row of error of a port; NULL: none. */
static const struct stripe_error *next_error(struct stripe *stripe, uint32_t port)
{
	while (stripe->next_error < stripe->error_count && stripe->errors[stripe->next_error].port < port)
		stripe->next_error++;
	if (stripe->next_error < stripe->error_count && stripe->errors[stripe->next_error].port == port)
		return &stripe->errors[stripe->next_error];
	return NULL;
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

/* Sample by sample. */
static void add_samples(struct stripe *stripe, uint32_t port, unsigned first, struct stored_reading *last,
			struct port_sum *ret)
{
	const struct codec_series *series = &stripe->series[port % CODEC_BLOCK_PORTS];
	const struct codec_group *group = &series->group;

	for (unsigned i = 0; i < group->count; i++) {
		struct delta delta = { .elapsed_us = (int64_t)series->elapsed_us[i],
				       .known = COUNTER_ALL_SET & ~group->unknown[i] };
		const struct stripe_error *error;

		for (unsigned j = 0; j < COUNTER_TRAFFIC_COUNT; j++)
			delta.value[j] = group->value[j][i];
		while ((error = next_error(stripe, port)) && error->place <= group->at[i]) {
			if (error->place == group->at[i])
				delta_put_error(&delta, error->counter, error->value, error->marks);
			stripe->next_error++;
		}
		port_sum_add_delta(ret, &delta);
		if (i >= first)
			reading_apply(&last->reading, &delta);
	}
}

void stripe_add_up(struct compaction *compaction, uint32_t port, struct port_sum *ret)
{
	struct stripe *stripe = compaction->stripe;
	const struct codec_series *series = &stripe->series[port % CODEC_BLOCK_PORTS];
	struct stored_reading *last = port < compaction->port_count ? &compaction->last[port] : NULL;
	unsigned first = first_later(compaction, &series->group, last);

	*ret = (struct port_sum){ 0 };
	if (!series->group.count)
		return;
	if (next_error(stripe, port))
		add_samples(stripe, port, first, last, ret);
	else
		add_columns(series, first, last, ret);
	if (last)
		date_reading(compaction, series, first, last);
}
