/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* history_series.c - what ports counted over a window, in steps of time */

#include "analysis/series.h"
#include "base/err.h"
#include "storage/history.h"

/* Samples that are waited for; twice as many points as wanted are still no burden where each is a sweep. */
enum { SAMPLES_MOST = 3000000, POINTS_TIMES = 2 };

/* While a window is read. */
struct filling {
	struct history_series *query;
	bool begun;
	bool failed; /* no memory */
};

static void end_piece(const struct filling *filling)
{
	for (size_t i = 0; filling->begun && i < filling->query->series_count; i++)
		series_end(filling->query->series[i]);
}

static bool take_piece(void *ctx, const struct history_piece *piece)
{
	struct filling *filling = ctx;
	struct history_series *query = filling->query;

	end_piece(filling);
	filling->begun = true;
	query->pieces[piece->source]++;
	for (size_t i = 0; i < query->series_count; i++)
		filling->failed |=
			series_begin(query->series[i], piece->from_us, piece->to_us, 1u << piece->source) < 0;
	return !filling->failed;
}

static bool take_delta(void *ctx, size_t port, const struct history_port *who, const struct delta *delta,
		       int64_t samples)
{
	struct filling *filling = ctx;
	struct history_series *query = filling->query;

	(void)who;
	query->any = true;
	for (size_t i = 0; i < query->series_count; i++)
		series_add(query->series[i], &query->metric_ports[port], delta, samples);
	return true;
}

int reader_history_series(struct reader *reader, struct history_series *query, struct error *err)
{
	struct filling filling = { .query = query };
	const struct history_consumer consumer = { take_piece, take_delta, &filling };
	struct history_query what = {
		.after = query->range->after, .until = query->range->until, .longest_us = query->longest_us,
		.ports = query->ports, .port_count = query->port_count, .damage = query->damage,
	};
	int code;

	for (size_t i = 0; i < query->series_count; i++)
		what.counters |= query->series[i]->metric.counters;
	code = reader_history(reader, &what, &consumer, err);
	if (!filling.failed)
		end_piece(&filling);
	return code == 0 && filling.failed ? err_nomem(err) : code;
}

/* The shortest step that lets stored sums be read, where samples, or shorter sums, would be too many to wait for. */
static int64_t least_step(const struct history_range *range, size_t ports)
{
	int64_t samples = (range->until - range->after) * (int64_t)ports;

	/* A piece is half a step at most. */
	if (range->hour_us && range->chunk_sweeps && samples / range->chunk_sweeps > SAMPLES_MOST)
		return 2 * range->hour_us;
	return range->chunk_us && samples > SAMPLES_MOST ? 2 * range->chunk_us : 0;
}

int64_t history_step_us(const struct history_range *range, size_t ports, int64_t span_us, unsigned points)
{
	int64_t least_us = least_step(range, ports), step_us = span_us / (points ? points : 1);

	if (range->until - range->after <= (int64_t)points * POINTS_TIMES)
		return 0;
	return series_round_span(step_us > least_us ? step_us : least_us);
}
