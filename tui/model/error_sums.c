/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/model/error_sums.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/text.h"
#include "fabric/fabric.h"
#include "facts/port_facts.h"
#include "storage/history.h"
#include "storage/reader.h"
#include "tui/model/format.h"

static uint64_t key_of(uint64_t node_guid, uint8_t port)
{
	return map_mix(node_guid) ^ port;
}

const struct error_sum *error_sums_find(const struct error_sums *sums, uint64_t node_guid, uint8_t port)
{
	uint32_t index;

	return map_get(&sums->by_port, key_of(node_guid, port), &index) ? &sums->sums[index] : NULL;
}

/* The sum of a port, added if it is missing. Return: NULL without memory. */
static struct error_sum *sum_of(struct error_sums *sums, uint64_t node_guid, uint8_t port)
{
	struct error_sum *grown;
	uint32_t index;

	if (map_get(&sums->by_port, key_of(node_guid, port), &index))
		return &sums->sums[index];
	grown = array_grow(sums->sums, sums->count, &sums->capacity, sizeof(*grown));
	if (!grown)
		return NULL;
	sums->sums = grown;
	if (map_put(&sums->by_port, key_of(node_guid, port), (uint32_t)sums->count) < 0)
		return NULL;
	sums->sums[sums->count] = (struct error_sum){ .node_guid = node_guid, .port = port };
	return &sums->sums[sums->count++];
}

static void add_count(struct error_sum *sum, unsigned counter, uint64_t value, bool at_least)
{
	sum->value[counter - COUNTER_TRAFFIC_COUNT] += value;
	if (!(COUNTER_ERROR_SUM_SET & COUNTER_BIT(counter)))
		return;
	sum->total += value;
	sum->at_least |= at_least;
}

static bool has_errors(const struct delta *delta)
{
	uint64_t any = delta_lower_bounds(delta) & COUNTER_ERROR_SET;

	for (unsigned i = COUNTER_TRAFFIC_COUNT; i < COUNTER_COUNT; i++)
		any |= delta->known & COUNTER_BIT(i) ? delta->value[i] : 0;
	return any;
}

int error_sums_add(struct error_sums *sums, const struct snapshot *snapshot, struct error *err)
{
	const struct fabric *fabric = snapshot->fabric;

	/* The first deltas began with an earlier sweep. */
	if (!sums->since_us)
		sums->since_us = snapshot->sweep.wall_us - snapshot_covered_us(snapshot);
	for (size_t port = 0; port < fabric->port_count; port++) {
		const struct delta *delta = &snapshot->rows[port].sum;
		struct error_sum *sum;

		if (!has_errors(delta))
			continue;
		sum = sum_of(sums, fabric->nodes[fabric->ports[port].node].guid, fabric->ports[port].num);
		if (!sum)
			return err_nomem(err);
		for (unsigned i = COUNTER_TRAFFIC_COUNT; i < COUNTER_COUNT; i++)
			if (delta->known & COUNTER_BIT(i))
				add_count(sum, i, delta->value[i],
					  delta_lower_bounds(delta) & COUNTER_BIT(i));
		sum->full = (sum->full & ~delta->known) | (delta->saturated & delta->known & COUNTER_ERROR_SET);
	}
	return 0;
}

void error_sums_done(struct error_sums *sums)
{
	free(sums->sums);
	map_done(&sums->by_port);
	memset(sums, 0, sizeof(*sums));
}

/* Aggregates up to this length are used; longer ones are read from sweeps. */
#define PIECE_US (10 * 60 * INT64_C(1000000))

struct reading_errors {
	struct error_sums *sums;
	struct history_piece piece;
	bool failed; /* no memory */
};

/* @value (or more) of one counter, at some time between the two. Return: false without memory. */
static bool add(struct reading_errors *reading, const struct history_port *who, enum counter counter, uint64_t value,
		bool at_least, int64_t from_us, int64_t to_us)
{
	struct error_sum *sum;

	if (!value || !(COUNTER_ERROR_SUM_SET & COUNTER_BIT(counter)))
		return true;
	sum = sum_of(reading->sums, who->node_guid, who->num);
	reading->failed = !sum;
	if (!sum)
		return false;
	if (!sum->total)
		sum->first_us = from_us;
	add_count(sum, counter, value, at_least);
	sum->last_us = to_us;
	return true;
}

static bool begin_piece(void *ctx, const struct history_piece *piece)
{
	struct reading_errors *reading = ctx;

	reading->piece = *piece;
	return true;
}

static bool add_delta(void *ctx, size_t port, const struct history_port *who, const struct delta *delta,
		      int64_t samples)
{
	struct reading_errors *reading = ctx;

	(void)port;
	(void)samples;
	for (unsigned i = COUNTER_TRAFFIC_COUNT; i < COUNTER_COUNT; i++)
		if ((delta->known & COUNTER_BIT(i)) &&
		    !add(reading, who, (enum counter)i, delta->value[i],
			 (delta_lower_bounds(delta) & COUNTER_BIT(i)) != 0, reading->piece.from_us,
			 reading->piece.to_us))
			return false;
	return true;
}

static bool add_error(void *ctx, const struct history_error *error)
{
	return add(ctx, &error->who, error->counter, error->value, error->at_least, error->wall_us, error->wall_us);
}

static int compare(const void *a, const void *b)
{
	const struct error_sum *x = a, *y = b;

	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	if (x->last_us != y->last_us)
		return x->last_us > y->last_us ? -1 : 1;
	if (x->node_guid != y->node_guid)
		return x->node_guid < y->node_guid ? -1 : 1;
	return x->port - y->port;
}

/* Beyond the retention of samples, from aggregates with a coarser time. */
static int read_sums(struct reader *reader, struct reading_errors *reading, struct error *err)
{
	const struct history_consumer consumer = { begin_piece, add_delta, reading };
	struct history_query query = { .longest_us = PIECE_US, .counters = COUNTER_ERROR_SUM_SET };
	struct history_range range;
	int code = reader_history_range(reader, reading->sums->since_us, reading->sums->until_us, &range, err);

	query.after = range.after;
	query.until = range.until;
	return code < 0 || range.after == range.until ? code : reader_history(reader, &query, &consumer, err);
}

/*
 * As `ibwire errors`: what a port counted is more if a counter was reset, also in a sweep without an increase, or if it
 * was not read in all of the window, or has left the fabric.
 */
static int mark_bounds(struct reader *reader, struct error_sums *sums, struct error *err)
{
	const struct snapshot_query query = { .at_us = sums->until_us, .window_us = sums->until_us - sums->since_us };
	struct snapshot *snapshot;
	int code = sums->count ? snapshot_load(reader, &query, &snapshot, err) : 0;

	if (code < 0 || !sums->count)
		return code;
	for (size_t i = 0; i < sums->count; i++) {
		struct error_sum *sum = &sums->sums[i];
		uint32_t port = fabric_find_port(snapshot->fabric, sum->node_guid, sum->port);
		const struct delta *delta = port == FABRIC_NONE ? NULL : &snapshot->rows[port].sum;

		sum->at_least |= !delta || (delta_lower_bounds(delta) & COUNTER_ERROR_SUM_SET) ||
				 port_is_cut(snapshot, port, delta, snapshot_covered_us(snapshot));
	}
	snapshot_destroy(snapshot);
	return 0;
}

int error_sums_read(struct reader *reader, int64_t since_us, int64_t until_us, int64_t kept_us,
		    struct error_sums *ret, struct error *err)
{
	struct reading_errors reading = { .sums = ret };
	int code;

	error_sums_done(ret);
	ret->until_us = until_us;
	/* A sweep at the very start of the retention is included. */
	ret->since_us = until_us >= kept_us && since_us < kept_us ? kept_us - 1 : since_us;
	code = until_us >= kept_us ? reader_history_errors(reader, ret->since_us, until_us, add_error, &reading, err) :
				     read_sums(reader, &reading, err);
	if (code == 0 && reading.failed)
		code = err_nomem(err);
	if (code == 0)
		code = mark_bounds(reader, ret, err);
	if (code < 0) {
		error_sums_done(ret);
		return code;
	}
	if (ret->count)
		qsort(ret->sums, ret->count, sizeof(*ret->sums), compare);
	return 0;
}

const char *error_sum_text(const struct error_sum *sum, char *ret, size_t size)
{
	bool done[ERROR_COUNTERS] = { false };
	struct text text = { 0 };
	char count[32];

	for (;;) {
		unsigned most = ERROR_COUNTERS;

		for (unsigned i = 0; i < ERROR_COUNTERS; i++)
			if (!done[i] && sum->value[i] && (most == ERROR_COUNTERS || sum->value[i] > sum->value[most]))
				most = i;
		if (most == ERROR_COUNTERS)
			break;
		done[most] = true;
		text_appendf(&text, "%s%s %s", text.len ? ", " : "",
			     format_count(sum->value[most], 24, count, sizeof(count)),
			     counter_info((enum counter)(most + COUNTER_TRAFFIC_COUNT))->title);
	}
	snprintf(ret, size, "%s", text_chars(&text));
	text_done(&text);
	return ret;
}
