/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/model/trend.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/rate.h"
#include "base/text.h"
#include "fabric/fabric.h"
#include "storage/history.h"
#include "tui/model/live.h"
#include "tui/model/port_table.h"
#include "facts/bars.h"

/* Readings of ports that are read at once, and the multiple of that time before the next read. */
#define READINGS_AT_ONCE 200000
#define READ_SHARE 8

enum { LOAD_UNKNOWN = 255, LOAD_MOST = 250, LOADS_PER_PERCENT = 2 };

struct trend_port {
	struct measure xmit_bytes_per_s, rcv_bytes_per_s;
	double percent; /* utilization of the busier direction; NAN: unknown, or a lower bound */
	struct measure stall_percent;
	struct measure errors;
};

void trend_done(struct trend *trend)
{
	bool wanted = trend->wanted;

	fabric_destroy(trend->fabric);
	free(trend->loads);
	free(trend->ports);
	*trend = (struct trend){ .wanted = wanted };
}

size_t trend_first(const struct trend *trend)
{
	return trend->total > TREND_POINTS ? trend->total - TREND_POINTS : 0;
}

size_t trend_until(const struct trend *trend, int64_t wall_us)
{
	size_t end = trend->total;

	while (end > trend_first(trend) && trend->points[(end - 1) % TREND_POINTS].wall_us > wall_us)
		end--;
	return end;
}

double trend_load(const struct trend *trend, uint32_t port, size_t point)
{
	uint8_t load;

	if (point >= trend->total || point + TREND_LOADS < trend->total || !trend->loads ||
	    port >= trend->fabric->port_count)
		return NAN;
	load = trend->loads[(size_t)port * TREND_LOADS + point % TREND_LOADS];
	return load == LOAD_UNKNOWN ? NAN : (double)load / LOADS_PER_PERCENT;
}

void trend_spark(const struct trend *trend, const uint32_t *ports, size_t count, int columns, bool unicode,
		 struct text *ret)
{
	size_t end = trend_until(trend, trend->shown_us);

	for (int i = columns; i > 0; i--) {
		double sum = 0;
		size_t known = 0;

		for (size_t j = 0; end >= (size_t)i && j < count; j++) {
			double load = trend_load(trend, ports[j], end - (size_t)i);

			sum += isnan(load) ? 0 : load;
			known += !isnan(load);
		}
		if (known)
			bars_append_spark(ret, sum / (double)known, 100, !unicode);
		else
			text_append(ret, " ");
	}
}

static uint8_t *loads_create(const struct fabric *fabric)
{
	size_t size = (fabric->port_count + 1) * TREND_LOADS;
	uint8_t *loads = malloc(size);

	if (loads)
		memset(loads, LOAD_UNKNOWN, size);
	return loads;
}

/* Keep the loads of ports that also exist in another fabric. Return: false without memory. */
static bool adopt(struct trend *trend, struct fabric *fabric)
{
	uint8_t *loads;
	struct trend_port *ports;

	if (trend->fabric == fabric)
		return trend->loads && trend->ports;
	loads = loads_create(fabric);
	ports = calloc(fabric->port_count + 1, sizeof(*ports));
	for (uint32_t i = 0; loads && trend->fabric && i < fabric->port_count; i++) {
		uint32_t old = fabric_find_port(trend->fabric, fabric->nodes[fabric->ports[i].node].guid,
						fabric->ports[i].num);

		if (old != FABRIC_NONE)
			memcpy(loads + (size_t)i * TREND_LOADS, trend->loads + (size_t)old * TREND_LOADS, TREND_LOADS);
	}
	fabric_destroy(trend->fabric);
	free(trend->loads);
	free(trend->ports);
	trend->loads = loads;
	trend->ports = ports;
	trend->fabric = fabric_share(fabric);
	return loads && ports;
}

static uint8_t load_of(double percent)
{
	if (isnan(percent))
		return LOAD_UNKNOWN;
	return percent < LOAD_MOST / LOADS_PER_PERCENT ? (uint8_t)(percent * LOADS_PER_PERCENT + 0.5) : LOAD_MOST;
}

/* Append trend->ports as a point. */
static void append(struct trend *trend, int64_t from_us, int64_t wall_us)
{
	const struct fabric *fabric = trend->fabric;
	struct trend_point *point = &trend->points[trend->total % TREND_POINTS];

	*point = (struct trend_point){ from_us, wall_us, MEASURE_NONE, MEASURE_NONE, MEASURE_NONE, MEASURE_NONE };
	for (uint32_t i = 0; i < fabric->port_count; i++) {
		const struct trend_port *port = &trend->ports[i];

		if (fabric->nodes[fabric->ports[i].node].type == NODE_CA && fabric->ports[i].state >= PORT_INIT) {
			uint32_t peer = fabric->ports[i].peer;
			const struct trend_port *other = peer == FABRIC_NONE ? NULL : &trend->ports[peer];
			struct measure out = port->xmit_bytes_per_s, in = port->rcv_bytes_per_s;

			/* As port_facts_add(). */
			if (other && measure_is_better(other->rcv_bytes_per_s, out))
				out = other->rcv_bytes_per_s;
			if (other && measure_is_better(other->xmit_bytes_per_s, in))
				in = other->xmit_bytes_per_s;
			point->xmit_bytes_per_s = measure_add(point->xmit_bytes_per_s, out);
			point->rcv_bytes_per_s = measure_add(point->rcv_bytes_per_s, in);
		}
		if (!(port->stall_percent.value <= point->stall_percent.value) && !isnan(port->stall_percent.value))
			point->stall_percent = port->stall_percent;
		point->errors = measure_add(point->errors, port->errors);
		trend->loads[(size_t)i * TREND_LOADS + trend->total % TREND_LOADS] = load_of(port->percent);
	}
	trend->total++;
}

/* Append the shown sweep. */
static void append_shown(struct trend *trend, const struct snapshot *shown, const struct port_table *table)
{
	int64_t from_us = shown->sweep.wall_us - shown->sweep.interval_us;

	for (uint32_t i = 0; i < trend->fabric->port_count; i++) {
		const struct port_facts *port = &table->ports[i];

		trend->ports[i] = (struct trend_port){ port->xmit_bytes_per_s, port->rcv_bytes_per_s,
						       measure_exact(port->util), port->stall_percent,
						       port->window_errors };
	}
	if (trend->total)
		from_us = trend->points[(trend->total - 1) % TREND_POINTS].wall_us;
	append(trend, from_us, shown->sweep.wall_us);
}

/* --- stored sweeps --- */

struct reading_sweeps {
	struct trend *trend;
	const struct snapshot *shown;
	int64_t wall_us, before_us; /* of the current piece, and of the one before; 0: none yet */
};

static void clear_ports(struct trend *trend)
{
	for (size_t i = 0; i < trend->fabric->port_count; i++)
		trend->ports[i] = (struct trend_port){ measure_of(NAN, false), measure_of(NAN, false), NAN,
						       measure_of(NAN, false), MEASURE_NONE };
}

/* An HCA without counters has those of the other end of its link. */
static void finish_piece(struct reading_sweeps *reading)
{
	struct trend *trend = reading->trend;
	const struct fabric *fabric = trend->fabric;

	if (!reading->wall_us)
		return;
	for (uint32_t i = 0; i < fabric->port_count; i++) {
		uint32_t peer = fabric->ports[i].peer;

		if (!reading->shown->rows[i].mirrored || peer == FABRIC_NONE)
			continue;
		trend->ports[i].xmit_bytes_per_s = trend->ports[peer].rcv_bytes_per_s;
		trend->ports[i].rcv_bytes_per_s = trend->ports[peer].xmit_bytes_per_s;
		trend->ports[i].percent = trend->ports[peer].percent;
	}
	append(trend, reading->before_us, reading->wall_us);
}

static bool next_piece(void *ctx, const struct history_piece *piece)
{
	struct reading_sweeps *reading = ctx;

	finish_piece(reading);
	clear_ports(reading->trend);
	reading->before_us = reading->wall_us ? reading->wall_us :
						piece->to_us - reading->shown->sweep.interval_us;
	reading->wall_us = piece->to_us;
	return true;
}

static bool next_delta(void *ctx, size_t port, const struct history_port *who, const struct delta *delta,
		       int64_t samples)
{
	const struct reading_sweeps *reading = ctx;
	const struct fabric *fabric = reading->trend->fabric;
	uint32_t index = fabric_find_port(fabric, who->node_guid, who->num), node;
	struct measure xmit = rate_bytes_per_s(delta, COUNTER_XMIT_DATA);
	struct measure rcv = rate_bytes_per_s(delta, COUNTER_RCV_DATA);

	(void)port;
	(void)samples;
	if (index == FABRIC_NONE)
		return true;
	node = fabric->ports[index].node;
	reading->trend->ports[index] = (struct trend_port){
		xmit, rcv, measure_exact(rate_utilization_percent(measure_max(xmit, rcv),
								  port_rate_bits_per_s(&fabric->ports[index]))),
		stall_estimate(delta, &fabric->nodes[node], &fabric->ports[index],
			       reading->shown->caps ? &reading->shown->caps[node] : NULL),
		facts_errors(delta),
	};
	return true;
}

/* Read the sweeps up to the shown one. */
static void read_sweeps(struct trend *trend, const struct live *live)
{
	const struct snapshot *shown = live->shown;
	int64_t most = READINGS_AT_ONCE / (int64_t)(shown->fabric->port_count + 1);
	struct reading_sweeps reading = { .trend = trend, .shown = shown };
	struct history_consumer consumer = { next_piece, next_delta, &reading };
	struct history_query query = { .counters = COUNTER_ERROR_SET | COUNTER_BIT(COUNTER_XMIT_DATA) |
						   COUNTER_BIT(COUNTER_RCV_DATA) | COUNTER_BIT(COUNTER_XMIT_WAIT) };
	struct history_range range;
	int64_t shown_us = trend->shown_us;

	trend_done(trend);
	trend->shown_us = trend->read_us = shown_us;
	if (!live->reader || !adopt(trend, shown->fabric) ||
	    reader_history_range(live->reader, shown_us - TREND_SPAN_US, shown_us, &range, NULL) < 0)
		return;
	most = most < 1 ? 1 : most > TREND_POINTS ? TREND_POINTS : most;
	query.until = range.until;
	query.after = range.until - range.after > most ? range.until - most : range.after;
	if (reader_history(live->reader, &query, &consumer, NULL) == 0)
		finish_piece(&reading);
}

/* The shown sweep follows the newest point. */
static bool is_next(const struct trend *trend, const struct live *live)
{
	const struct sweep_info *sweep = &live->shown->sweep;
	int64_t newest_us = trend->total ? trend->points[(trend->total - 1) % TREND_POINTS].wall_us : 0;

	return newest_us && !live->at_us && !live->baseline_us && sweep->wall_us > newest_us &&
	       sweep->wall_us - newest_us < 5 * (sweep->interval_us + US_PER_S);
}

static bool is_stored(const struct trend *trend, int64_t wall_us)
{
	return trend->total && wall_us >= trend->points[trend_first(trend) % TREND_POINTS].wall_us &&
	       wall_us <= trend->points[(trend->total - 1) % TREND_POINTS].wall_us;
}

bool trend_poll(struct trend *trend, const struct live *live, const struct port_table *table, int64_t now_us)
{
	int64_t wall_us = live->shown ? live->shown->sweep.wall_us : 0;
	bool news = trend->shown_us != wall_us;

	if (!trend->wanted || !live->shown || !table->snapshot)
		return false;
	if (news)
		trend->asked_us = now_us;
	trend->shown_us = wall_us;
	if (is_stored(trend, wall_us))
		return news;
	if (is_next(trend, live) && adopt(trend, live->shown->fabric)) {
		append_shown(trend, live->shown, table);
		return true;
	}
	/* While keys step in time, the read waits for the last of them. */
	if (trend->read_us == wall_us || now_us - trend->asked_us < READ_SHARE * trend->took_us)
		return news;
	read_sweeps(trend, live);
	trend->took_us = clock_boottime_us(live->clock) - now_us;
	trend->asked_us = now_us;
	return true;
}
