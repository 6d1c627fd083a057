/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/model/port_errors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/delta.h"
#include "base/array.h"
#include "base/err.h"
#include "base/text.h"
#include "storage/history.h"
#include "tui/model/error_sums.h"
#include "tui/model/format.h"

/* Aggregates up to this length are used; longer ones are read from sweeps. */
#define PIECE_US (10 * 60 * INT64_C(1000000))

struct reading_errors {
	struct port_errors *errors;
	struct history_piece piece;
	bool failed; /* no memory */
};

static struct port_error *error_of(struct reading_errors *reading, const struct history_port *who, int64_t from_us)
{
	struct port_errors *errors = reading->errors;
	uint64_t key = map_mix(who->node_guid) ^ who->num;
	struct port_error *moved;
	uint32_t index;

	if (map_get(&errors->by_port, key, &index))
		return &errors->list[index];
	moved = array_grow(errors->list, errors->count, &errors->capacity, sizeof(*moved));
	if (moved)
		errors->list = moved;
	if (!moved || map_put(&errors->by_port, key, (uint32_t)errors->count) < 0) {
		reading->failed = true;
		return NULL;
	}
	moved[errors->count] =
		(struct port_error){ .node_guid = who->node_guid, .port = who->num, .first_us = from_us };
	return &moved[errors->count++];
}

/* So many of one counter (or more), at some time between the two. Return: whether there was memory. */
static bool add(struct reading_errors *reading, const struct history_port *who, enum counter counter, uint64_t value,
		bool at_least, int64_t from_us, int64_t to_us)
{
	struct port_error *error;

	if (!value || !(ERRORS_COUNTED & COUNTER_BIT(counter)))
		return true;
	error = error_of(reading, who, from_us);
	if (!error)
		return false;
	error->value[counter - COUNTER_TRAFFIC_COUNT] += value;
	error->total += value;
	error->at_least |= at_least;
	error->last_us = to_us;
	return true;
}

static bool take_piece(void *ctx, const struct history_piece *piece)
{
	struct reading_errors *reading = ctx;

	reading->piece = *piece;
	return true;
}

static bool take_delta(void *ctx, size_t port, const struct history_port *who, const struct delta *delta,
		       int64_t samples)
{
	struct reading_errors *reading = ctx;
	unsigned i;

	(void)port;
	(void)samples;
	for (i = COUNTER_TRAFFIC_COUNT; i < COUNTER_COUNT; i++)
		if ((delta->known & COUNTER_BIT(i)) &&
		    !add(reading, who, (enum counter)i, delta->value[i],
			 ((delta->reset | delta->saturated) & COUNTER_BIT(i)) != 0, reading->piece.from_us,
			 reading->piece.to_us))
			return false;
	return true;
}

static bool take_error(void *ctx, const struct history_error *error)
{
	return add(ctx, &error->who, error->counter, error->value, error->at_least, error->wall_us, error->wall_us);
}

static int compare(const void *a, const void *b)
{
	const struct port_error *x = a, *y = b;

	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	if (x->last_us != y->last_us)
		return x->last_us > y->last_us ? -1 : 1;
	if (x->node_guid != y->node_guid)
		return x->node_guid < y->node_guid ? -1 : 1;
	return x->port - y->port;
}

void port_errors_done(struct port_errors *errors)
{
	free(errors->list);
	map_done(&errors->by_port);
	memset(errors, 0, sizeof(*errors));
}

/* Beyond the retention of samples, from aggregates with a coarser time. */
static int read_sums(struct reader *reader, struct reading_errors *reading, struct error *err)
{
	const struct history_consumer consumer = { take_piece, take_delta, reading };
	struct history_query query = { .longest_us = PIECE_US, .counters = ERRORS_COUNTED };
	struct history_range range;
	int code = reader_history_range(reader, reading->errors->since_us, reading->errors->until_us, &range, err);

	query.after = range.after;
	query.until = range.until;
	return code < 0 || range.after == range.until ? code : reader_history(reader, &query, &consumer, err);
}

int port_errors_read(struct reader *reader, int64_t since_us, int64_t until_us, int64_t kept_us,
		     struct port_errors *ret, struct error *err)
{
	struct reading_errors reading = { .errors = ret };
	int code;

	port_errors_done(ret);
	ret->until_us = until_us;
	/* A sweep at the very start of the retention is included. */
	ret->since_us = until_us >= kept_us && since_us < kept_us ? kept_us - 1 : since_us;
	code = until_us >= kept_us ? reader_history_errors(reader, ret->since_us, until_us, take_error, &reading, err) :
				     read_sums(reader, &reading, err);
	if (code == 0 && reading.failed)
		code = err_nomem(err);
	if (code < 0) {
		port_errors_done(ret);
		return code;
	}
	if (ret->count)
		qsort(ret->list, ret->count, sizeof(*ret->list), compare);
	map_done(&ret->by_port);
	return 0;
}

const char *port_errors_text(const struct port_error *error, char *ret, size_t size)
{
	bool done[COUNTER_COUNT - COUNTER_TRAFFIC_COUNT] = { false };
	struct text text = { 0 };
	char count[32];

	for (;;) {
		unsigned most = COUNTER_COUNT - COUNTER_TRAFFIC_COUNT, i;

		for (i = 0; i < COUNTER_COUNT - COUNTER_TRAFFIC_COUNT; i++)
			if (!done[i] && error->value[i] &&
			    (most == COUNTER_COUNT - COUNTER_TRAFFIC_COUNT || error->value[i] > error->value[most]))
				most = i;
		if (most == COUNTER_COUNT - COUNTER_TRAFFIC_COUNT)
			break;
		done[most] = true;
		text_appendf(&text, "%s%s %s", text.len ? ", " : "",
			     format_count(error->value[most], 24, count, sizeof(count)),
			     counter_info((enum counter)(most + COUNTER_TRAFFIC_COUNT))->title);
	}
	snprintf(ret, size, "%s", text_chars(&text));
	text_done(&text);
	return ret;
}
