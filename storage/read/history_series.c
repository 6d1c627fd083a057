/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* history_series.c - the counters of a window in steps of time, and as loads */
#include <stdlib.h>

#include "analysis/balance.h"
#include "analysis/series.h"
#include "base/err.h"
#include "fabric/fabric.h"
#include "storage/history.h"
#include "storage/read/reader_internal.h"
#include "storage/read/sums.h"
#include "storage/reader.h"

/* Samples that are read within an acceptable time; limit of points, as a multiple, if each is a sweep. */
enum { SAMPLES_MOST = 3000000, POINTS_TIMES = 2 };

/* While a window is read. */
struct filling {
	struct history_series *query;
	int64_t *last_us; /* by port: end of the last piece that it is in; 0: none */
	int64_t to_us;    /* end of this piece */
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
	filling->to_us = piece->to_us;
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
	filling->last_us[port] = filling->to_us;
	for (size_t i = 0; i < query->series_count; i++)
		series_add(query->series[i], port, &query->metric_ports[port], delta, samples);
	return true;
}

/* Active ports that were not read in the last pieces, or in none. */
static void miss_ports(const struct filling *filling)
{
	const struct history_series *query = filling->query;

	for (size_t port = 0; filling->begun && port < query->port_count; port++) {
		const struct metric_port *of = &query->metric_ports[port];

		if (filling->last_us[port] >= filling->to_us || !of->port || of->port->state != PORT_ACTIVE)
			continue;
		for (size_t i = 0; i < query->series_count; i++)
			series_missed(query->series[i], filling->last_us[port]);
	}
}

int reader_history_series(struct reader *reader, struct history_series *query, struct error *err)
{
	struct filling filling = { .query = query, .last_us = calloc(query->port_count + 1, sizeof(int64_t)) };
	const struct history_consumer consumer = { take_piece, take_delta, &filling };
	struct history_query what = {
		.after = query->range->after, .until = query->range->until, .longest_us = query->longest_us,
		.ports = query->ports, .port_count = query->port_count, .damage = query->damage,
	};
	int code;

	if (!filling.last_us)
		return err_nomem(err);
	for (size_t i = 0; i < query->series_count; i++)
		what.counters |= query->series[i]->metric.counters;
	code = reader_history(reader, &what, &consumer, err);
	if (!filling.failed) {
		end_piece(&filling);
		miss_ports(&filling);
	}
	free(filling.last_us);
	return code == 0 && filling.failed ? err_nomem(err) : code;
}

/* The shortest step for which stored sums are read, if samples, or shorter sums, are too many. */
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

/* The loads of the ports of a query. */
struct reading_loads {
	const struct snapshot *snapshot;
	const struct history_range *range;
	struct history_port *ports;
	size_t count;
	struct balance_load *loads; /* by port of the fabric */
};

static void set_load(const struct reading_loads *reading, size_t place, const struct delta *sum)
{
	const struct fabric *fabric = reading->snapshot->fabric;
	uint32_t index = fabric_find_port(fabric, reading->ports[place].node_guid, reading->ports[place].num);
	const struct port *port = &fabric->ports[index];

	balance_load_of(sum, &fabric->nodes[port->node], port,
			reading->snapshot->caps ? &reading->snapshot->caps[port->node] : NULL, &reading->loads[index]);
	if (history_began_before(reading->range, sum->elapsed_us))
		reading->loads[index].known = false;
}

static void add_load(void *ctx, size_t place, const struct history_port *who, const struct history_sum *total)
{
	(void)who;
	set_load(ctx, place, &total->sum);
}

static int list_ports(const struct load_query *query, struct reading_loads *reading, struct error *err)
{
	const struct fabric *fabric = query->snapshot->fabric;
	size_t most = query->ports ? query->port_count : fabric->port_count;

	reading->ports = calloc(most + 1, sizeof(*reading->ports));
	if (!reading->ports)
		return err_nomem(err);
	for (size_t i = 0; i < most; i++) {
		const struct port *port = &fabric->ports[query->ports ? query->ports[i] : i];

		if (!query->ports && (!port_is_pollable(fabric, port) || port->peer == FABRIC_NONE))
			continue;
		reading->ports[reading->count++] = (struct history_port){ fabric->nodes[port->node].guid, port->num };
		set_load(reading, reading->count - 1, &(struct delta){ 0 });
	}
	return 0;
}

int reader_history_loads(struct reader *reader, const struct load_query *query, struct balance_load *loads,
			 struct error *err)
{
	struct history_range range;
	struct reading_loads reading = { .snapshot = query->snapshot, .range = &range, .loads = loads };
	struct history_query totals = {
		.damage = query->damage,
		.counters = COUNTER_BIT(COUNTER_XMIT_DATA) | COUNTER_BIT(COUNTER_RCV_DATA) |
			    COUNTER_BIT(COUNTER_XMIT_WAIT) | COUNTER_BIT(COUNTER_XMIT_DISCARDS),
	};
	int code = reader_history_range(reader, query->since_us, query->until_us, &range, err);

	if (code == 0 && query->round && range.after != range.until)
		code = reader_history_round(reader, &range, 0, err);
	if (code < 0 || range.after == range.until)
		return code;
	code = list_ports(query, &reading, err);
	totals.after = range.after;
	totals.until = range.until;
	totals.ports = reading.ports;
	totals.port_count = reading.count;
	if (code == 0)
		code = reader_history_totals(reader, &totals, add_load, &reading, err);
	free(reading.ports);
	return code < 0 ? code : 1;
}
