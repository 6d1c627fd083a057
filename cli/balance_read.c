/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* balance_read.c - what ports counted in one window, and since when a group is uneven */
#include <stdlib.h>
#include <string.h>

#include "analysis/delta.h"
#include "base/clock.h"
#include "base/err.h"
#include "cli/balance.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"
#include "storage/reader.h"

struct window_reading {
	struct balance_answer *answer;
	const uint32_t *ports; /* or NULL */
};

static bool take_piece(void *ctx, const struct history_piece *piece)
{
	(void)ctx;
	(void)piece;
	return true;
}

static bool take_delta(void *ctx, size_t port, const struct history_port *who, const struct delta *delta,
		       int64_t samples)
{
	struct window_reading *reading = ctx;

	(void)who;
	(void)samples;
	delta_add(&reading->answer->sums[reading->ports ? reading->ports[port] : port], delta);
	return true;
}

static int read_sums(struct window_reading *reading, struct history_query *query, const struct history_range *range,
		     struct error *err)
{
	const struct history_consumer consumer = { take_piece, take_delta, reading };

	query->after = range->after;
	query->until = range->until;
	query->longest_us = INT64_MAX;
	query->counters = COUNTER_BIT(COUNTER_XMIT_DATA) | COUNTER_BIT(COUNTER_RCV_DATA) |
			  COUNTER_BIT(COUNTER_XMIT_WAIT) | COUNTER_BIT(COUNTER_XMIT_DISCARDS);
	query->damage = &reading->answer->damage;
	return reader_history(reading->answer->view.reader, query, &consumer, err);
}

int balance_read(struct balance_answer *answer, int64_t since_us, int64_t until_us, bool round, const uint32_t *ports,
		 size_t count, struct balance_load *loads, struct error *err)
{
	const struct snapshot *snapshot = answer->view.snapshot;
	struct window_reading reading = { answer, ports };
	struct history_port *chosen = NULL;
	struct history_query query = { .ports = answer->ports, .port_count = count };
	struct history_range range;
	int code = reader_history_range(answer->view.reader, since_us, until_us, &range, err);
	size_t i;

	if (code == 0 && round && range.after != range.until)
		code = reader_history_round(answer->view.reader, &range, err);
	if (code < 0 || range.after == range.until)
		return code;
	if (ports) {
		query.ports = chosen = calloc(count + 1, sizeof(*chosen));
		if (!chosen)
			return err_nomem(err);
	}
	for (i = 0; i < count; i++) {
		size_t at = ports ? ports[i] : i;

		answer->sums[at] = (struct delta){ 0 };
		if (chosen)
			chosen[i] = answer->ports[at];
	}
	code = read_sums(&reading, &query, &range, err);
	free(chosen);
	for (i = 0; code == 0 && i < count; i++) {
		size_t at = ports ? ports[i] : i;
		const struct port *port = &answer->view.fabric->ports[answer->indices[at]];

		balance_load_of(&answer->sums[at], &answer->view.fabric->nodes[port->node], port,
				snapshot->caps ? &snapshot->caps[port->node] : NULL, &loads[answer->indices[at]]);
	}
	return code < 0 ? code : 1;
}
