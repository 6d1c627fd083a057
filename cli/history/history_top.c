/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* history_top.c - the ports with the highest values over a window */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/rate.h"
#include "base/err.h"
#include "base/text.h"
#include "base/when.h"
#include "facts/cells.h"
#include "cli/history/history.h"
#include "export/result.h"
#include "fabric/fabric.h"
#include "storage/reader.h"

enum {
	SINCE, UNTIL, NODE_PORT, NODE_GUID, NODE, PORT, PEER_PORT_NAME, PEER_GUID, PEER, PEER_PORT, COUNTER, UNIT,
	TX, RX, MEAN, TOTAL, AT_LEAST, ELAPSED, SAMPLES, COLUMN_COUNT,
};

static const struct column top_columns[COLUMN_COUNT] = {
	[SINCE] = { .key = "since", .kind = COLUMN_TIME },
	[UNTIL] = { .key = "until", .kind = COLUMN_TIME },
	[NODE_PORT] = { .title = "PORT", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL },
	CELLS_NODE_COLUMNS(NODE_GUID),
	[PEER_PORT_NAME] = { .title = "PEER", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL,
			     .priority = 2 },
	CELLS_PEER_COLUMNS(PEER_GUID),
	[COUNTER] = { .key = "counter", .kind = COLUMN_TEXT },
	[UNIT] = { .key = "unit", .kind = COLUMN_TEXT },
	[TX] = { .key = "xmit_bytes_per_s", .title = HEADING_TX, .kind = COLUMN_RATE, .measured = true },
	[RX] = { .key = "rcv_bytes_per_s", .title = HEADING_RX, .kind = COLUMN_RATE, .measured = true },
	[MEAN] = { .key = "mean", .title = "MEAN", .kind = COLUMN_REAL, .measured = true },
	[TOTAL] = { .key = "total", .title = "TOTAL", .kind = COLUMN_INTEGER, .measured = true },
	[AT_LEAST] = { .key = "at_least", .kind = COLUMN_BOOL },
	[ELAPSED] = { .key = "elapsed_s", .title = "COVERAGE", .kind = COLUMN_SPAN_S, .priority = 3 },
	[SAMPLES] = { .key = "samples", .title = "READINGS", .kind = COLUMN_INTEGER, .priority = 4 },
};

/* The total of one port over the window. */
struct top_row {
	uint32_t index; /* of the moment's fabric */
	struct history_sum counted;
	struct metric_value value;
	double mean;    /* units per second or percent; NAN */
	double rank;
};

static int compare_rows(const void *a, const void *b)
{
	const struct top_row *left = a, *right = b;

	if (left->rank != right->rank)
		return left->rank > right->rank ? -1 : 1;
	/* Compare totals with a floating-point tolerance. */
	if (left->value.total != right->value.total)
		return left->value.total > right->value.total ? -1 : 1;
	return left->index < right->index ? -1 : left->index > right->index;
}

/* Sort by total if known: the rate of a port with few readings is not comparable. */
static void value_row(const struct history *history, struct top_row *row)
{
	const struct metric *metric = &history->metrics[0];
	struct metric_port port = history_metric_port(&history->moment, row->index);

	row->mean = NAN;
	row->rank = -1;
	if (!row->counted.samples)
		return;
	if (!history->is_detail)
		metric_of(metric, &port, &row->counted.sum, &row->value);
	if (row->value.has_rate)
		row->mean = metric->kind == METRIC_COUNT ? row->value.part : 100 * row->value.part / row->value.whole;
	if (metric->kind == METRIC_COUNT && row->value.has_total)
		row->rank = (double)row->value.total;
	else if (metric->kind != METRIC_COUNT && row->value.has_rate)
		row->rank = row->mean;
}

/* Does the metric count both directions? The ends of a link have the same value then. */
static bool is_both(const struct metric *metric)
{
	counter_set both = COUNTER_BIT(COUNTER_XMIT_DATA) | COUNTER_BIT(COUNTER_RCV_DATA);

	return (metric->counters & both) == both;
}

/* @covered_us: history_covered_us() */
static void put_row(struct result *result, const struct history *history, const struct top_row *row,
		    int64_t covered_us)
{
	const struct metric *metric = &history->metrics[0];
	uint32_t peer = history->moment.fabric->ports[row->index].peer;
	/* The window of a detail counter lies between its own readings. */
	bool total_at_least = row->value.has_total && (row->value.at_least || (!history->is_detail &&
			      port_is_cut(history->moment.snapshot, row->index, &row->counted.sum, covered_us)));
	char number[METRIC_VALUE_SIZE];

	result_integer(result, SINCE, history->since_us);
	result_integer(result, UNTIL, history->until_us);
	cells_port_name(result, NODE_PORT, &history->moment.names_shown, history->moment.fabric, row->index);
	cells_port(result, NODE_GUID, history->moment.fabric, row->index);
	if (peer != FABRIC_NONE) {
		cells_port_name(result, PEER_PORT_NAME, &history->moment.names_shown, history->moment.fabric, peer);
		cells_port(result, PEER_GUID, history->moment.fabric, peer);
	}
	result_text(result, COUNTER, metric->key);
	result_text(result, UNIT, metric->unit);
	if (is_both(metric)) {
		result_measure(result, TX, rate_bytes_per_s(&row->counted.sum, COUNTER_XMIT_DATA));
		result_measure(result, RX, rate_bytes_per_s(&row->counted.sum, COUNTER_RCV_DATA));
	}
	if (!isnan(row->mean)) {
		result_measure(result, MEAN, measure_of(row->mean, !row->value.at_least));
		result_show(result, MEAN, metric_format_value(metric, row->mean, number, sizeof(number)), STYLE_PLAIN);
	}
	if (row->value.has_total) {
		result_unsigned(result, TOTAL, row->value.total);
		result_show(result, TOTAL, metric_format_total(metric, row->value.total, number, sizeof(number)),
			    STYLE_PLAIN);
		if (total_at_least)
			result_at_least(result, TOTAL);
	}
	result_bool(result, AT_LEAST, row->value.at_least || total_at_least);
	result_real(result, ELAPSED, (double)row->counted.sum.elapsed_us / 1e6);
	if (!history->is_detail)
		result_integer(result, SAMPLES, row->counted.samples);
	result_end_row(result);
}

/* Keep one row of each link: that of the end with the higher rank. Return: their number. */
static size_t keep_links(const struct fabric *fabric, struct top_row *rows, size_t count, bool *seen)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		uint32_t peer = fabric->ports[rows[i].index].peer;

		seen[rows[i].index] = true;
		if (peer == FABRIC_NONE || peer == rows[i].index || !seen[peer])
			rows[kept++] = rows[i];
	}
	return kept;
}

static int print_rows(const struct history *history, struct top_row *rows, size_t count, struct error *err)
{
	const struct fabric *fabric = history->moment.fabric;
	const struct metric *metric = &history->metrics[0];
	struct column columns[COLUMN_COUNT];
	char since[WHEN_SIZE], until[WHEN_SIZE];
	struct result *result;
	int64_t longest_us = 0;
	size_t known = 0, shown;
	bool both = is_both(metric), *seen = calloc(fabric->port_count + 1, sizeof(*seen));

	if (!seen)
		return err_nomem(err);
	memcpy(columns, top_columns, sizeof(columns));
	/* One direction is the mean itself, the sum of both is less useful than each. */
	columns[TX].flags = columns[RX].flags = both ? 0 : COLUMN_NO_TABLE;
	columns[MEAN].flags = both && metric->kind == METRIC_COUNT ? COLUMN_NO_TABLE : 0;
	for (size_t i = 0; i < count; i++)
		if (rows[i].counted.sum.elapsed_us > longest_us)
			longest_us = rows[i].counted.sum.elapsed_us;
	longest_us = history_covered_us(&history->range, longest_us);
	while (known < count && rows[known].rank > 0)
		known++;
	if (both)
		known = keep_links(fabric, rows, known, seen);
	free(seen);
	result = output_begin(&history->options, false, columns, COLUMN_COUNT);
	shown = known < (uint64_t)history->top ? known : (size_t)history->top;
	for (size_t i = 0; i < shown; i++)
		put_row(result, history, &rows[i], longest_us);
	when_format_local(history->since_us, since);
	when_format_local(history->until_us, until);
	result_none(result, "%s of all %zu ports is 0 or unknown, %s to %s", metric->key, count, since, until);
	if (shown)
		result_note(result, "%zu of %zu %s with a value, by %s, %s to %s", shown, known,
			    both ? "links" : "ports", metric->key, since, until);
	return output_end(result, 0, err);
}

/* Collect the ports of all subjects once. Return: their number, or ERR_NOMEM. */
static int64_t collect_ports(const struct history *history, const struct subjects *subjects, struct top_row **ret_rows,
			     struct history_port **ret_ports, struct error *err)
{
	size_t most = history->moment.fabric->port_count, count = 0;
	bool *seen = calloc(most + 1, sizeof(*seen));

	*ret_rows = calloc(most + 1, sizeof(**ret_rows));
	*ret_ports = calloc(most + 1, sizeof(**ret_ports));
	if (!seen || !*ret_rows || !*ret_ports) {
		free(seen);
		return err_nomem(err);
	}
	for (size_t s = 0; s < subjects->count; s++) {
		const struct history_subject *subject = &subjects->items[s];

		for (size_t i = 0; i < subject->port_count; i++) {
			if (seen[subject->ports[i]])
				continue;
			seen[subject->ports[i]] = true;
			(*ret_rows)[count].index = subject->ports[i];
			(*ret_ports)[count++] = history_port_of(history->moment.fabric, subject->ports[i]);
		}
	}
	free(seen);
	return (int64_t)count;
}

/*
 * The order does not depend on half a minute: the ends of a long window are aligned to stored sums, as are those of
 * any window where there are only sums. Rows show the actual window.
 */
static int round_window(struct history *history, struct error *err)
{
	enum { SWEEPS_LEAST = 500 };
	int code = reader_history_round(history->moment.reader, &history->range, SWEEPS_LEAST, err);

	if (code == 0 && history->range.first_us)
		history->since_us = history->range.first_us;
	if (code == 0 && history->range.last_us)
		history->until_us = history->range.last_us;
	return code;
}

static int sum_rows(struct history *history, const struct history_query *query, struct top_row *rows,
		    struct error *err)
{
	struct history_sum *sums = calloc(query->port_count + 1, sizeof(*sums));
	int code = sums ? reader_history_sums(history->moment.reader, query, sums, err) : err_nomem(err);

	for (size_t i = 0; code == 0 && i < query->port_count; i++)
		rows[i].counted = sums[i];
	free(sums);
	return code;
}

/* Deltas of a detail counter over the window. */
struct detail_sums {
	const struct history *history;
	struct top_row *rows;
	uint32_t *place; /* by port of the fabric: index in rows plus 1; 0: not selected */
};

static bool add_detail(void *ctx, const struct detail_row *detail)
{
	const struct detail_sums *sums = ctx;
	const struct history *history = sums->history;
	uint32_t port = fabric_find_port(history->moment.fabric, detail->node_guid, detail->port);
	uint32_t bit = UINT32_C(1) << history->detail_number;
	const struct detail_delta *sum = &detail->sum;
	struct top_row *row;

	if (port == FABRIC_NONE || !sums->place[port] || !(sum->known & bit) || sum->elapsed_us <= 0)
		return true;
	row = &sums->rows[sums->place[port] - 1];
	row->counted.samples = 1;
	row->counted.sum.elapsed_us = sum->elapsed_us;
	row->value = (struct metric_value){
		.has_rate = true, .has_total = true, .at_least = detail_delta_lower_bounds(sum) & bit,
		.part = (double)sum->value[history->detail_number] * 1e6 / (double)sum->elapsed_us, .whole = 1,
		.total = sum->value[history->detail_number],
	};
	return true;
}

static int sum_details(struct history *history, struct top_row *rows, size_t count, struct error *err)
{
	const struct detail_query query = {
		.at_us = history->until_us, .window_us = history->until_us - history->since_us, .port = -1,
		.attributes = 1u << history->detail,
	};
	struct detail_sums sums = { .history = history, .rows = rows };
	int code;

	sums.place = calloc(history->moment.fabric->port_count + 1, sizeof(*sums.place));
	if (!sums.place)
		return err_nomem(err);
	for (size_t i = 0; i < count; i++)
		sums.place[rows[i].index] = (uint32_t)i + 1;
	code = reader_details(history->moment.reader, &query, add_detail, &sums, err);
	free(sums.place);
	return code;
}

int history_top(struct history *history, const struct subjects *subjects, struct error *err)
{
	struct top_row *rows;
	struct history_port *ports;
	int64_t count = collect_ports(history, subjects, &rows, &ports, err);
	int code = count < 0 ? (int)count : history->is_detail ? 0 : round_window(history, err);
	struct history_query query = {
		.after = history->range.after, .until = history->range.until,
		.counters = history->metrics[0].counters, .ports = ports,
		.damage = &history->damage,
	};
	bool any = false;

	query.port_count = count < 0 ? 0 : (size_t)count;
	if (code == 0 && history->is_detail)
		code = sum_details(history, rows, (size_t)count, err);
	else if (code == 0)
		code = sum_rows(history, &query, rows, err);
	for (int64_t i = 0; code == 0 && i < count; i++) {
		value_row(history, &rows[i]);
		any |= rows[i].counted.samples > 0;
	}
	if (code == 0 && !any && !history->is_detail)
		code = history_nothing(history, NULL, err);
	if (code == 0) {
		qsort(rows, (size_t)count, sizeof(*rows), compare_rows);
		code = print_rows(history, rows, (size_t)count, err);
	}
	free(rows);
	free(ports);
	return code;
}
