/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/port_errors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/delta.h"
#include "base/array.h"
#include "base/err.h"
#include "base/text.h"
#include "storage/history.h"
#include "tui/errors.h"
#include "tui/format.h"

/* Sums of a few minutes are told apart; longer ones are read from sweeps. */
#define PIECE_US (10 * 60 * INT64_C(1000000))

struct reading_errors {
	struct port_errors *errors;
	struct history_piece piece;
	bool failed; /* no memory */
};

static bool take_piece(void *ctx, const struct history_piece *piece)
{
	struct reading_errors *reading = ctx;

	reading->piece = *piece;
	if (piece->to_us - piece->from_us > reading->errors->piece_us)
		reading->errors->piece_us = piece->to_us - piece->from_us;
	return true;
}

static struct port_error *error_of(struct reading_errors *reading, const struct history_port *who)
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
	moved[errors->count] = (struct port_error){ .node_guid = who->node_guid, .port = who->num,
						    .first_us = reading->piece.from_us };
	return &moved[errors->count++];
}

static bool has_some(const struct delta *delta)
{
	unsigned i;

	for (i = COUNTER_TRAFFIC_COUNT; i < COUNTER_COUNT; i++)
		if ((ERRORS_COUNTED & COUNTER_BIT(i)) && (delta->known & COUNTER_BIT(i)) && delta->value[i])
			return true;
	return false;
}

static bool take_delta(void *ctx, size_t port, const struct history_port *who, const struct delta *delta,
		       int64_t samples)
{
	struct reading_errors *reading = ctx;
	struct port_error *error;
	unsigned i;

	(void)port;
	(void)samples;
	if (!has_some(delta))
		return true;
	error = error_of(reading, who);
	if (!error)
		return false;
	for (i = COUNTER_TRAFFIC_COUNT; i < COUNTER_COUNT; i++) {
		if (!(ERRORS_COUNTED & COUNTER_BIT(i)) || !(delta->known & COUNTER_BIT(i)))
			continue;
		error->value[i - COUNTER_TRAFFIC_COUNT] += delta->value[i];
		error->total += delta->value[i];
	}
	error->last_us = reading->piece.to_us;
	error->at_least |= ((delta->reset | delta->saturated) & delta->known & ERRORS_COUNTED) != 0;
	return true;
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

int port_errors_read(struct reader *reader, int64_t since_us, int64_t until_us, struct port_errors *ret,
		     struct error *err)
{
	struct reading_errors reading = { .errors = ret };
	const struct history_consumer consumer = { take_piece, take_delta, &reading };
	struct history_query query = { .longest_us = PIECE_US, .counters = ERRORS_COUNTED };
	struct history_range range;
	int code;

	port_errors_done(ret);
	ret->since_us = since_us;
	ret->until_us = until_us;
	code = reader_history_range(reader, since_us, until_us, &range, err);
	query.after = range.after;
	query.until = range.until;
	if (code == 0 && range.after != range.until)
		code = reader_history(reader, &query, &consumer, err);
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

const char *port_errors_words(const struct port_error *error, char *ret, size_t size)
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
