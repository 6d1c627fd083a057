/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* coverage.c - read what a burn-in is judged by: history, FEC counters, findings */
#include "pages/coverage.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/rate.h"
#include "base/array.h"
#include "base/err.h"
#include "fabric/fabric.h"
#include "fabric/plan_diff.h"
#include "fabric/shape.h"
#include "facts/moment.h"
#include "facts/port_marks.h"
#include "storage/reader.h"

/* The load is judged over intervals of at most this time, or of one sweep; sums are of at most this time. */
enum { PIECE_US = 60 * 1000000, SUMS_US = 20 * 60 * 1000000 };

struct history_reading {
	struct coverage *coverage;
	const uint32_t *index; /* by port of the query: of the fabric */
	int64_t long_us;       /* pieces that are longer have a mean only */
};

static bool begin_piece(void *ctx, const struct history_piece *piece)
{
	const struct history_reading *reading = ctx;

	coverage_begin_piece(reading->coverage, piece->to_us, piece->to_us - piece->from_us > reading->long_us);
	return true;
}

static bool add_delta(void *ctx, size_t port, const struct history_port *who, const struct delta *delta,
		      int64_t samples)
{
	const struct history_reading *reading = ctx;

	(void)who;
	(void)samples;
	coverage_add(reading->coverage, reading->index[port], delta);
	return true;
}

/* --- idle stretches --- */

/*
 * Sweeps (after, until] that are read in one way. In an idle one no port has as much traffic as in one interval with
 * the load: sums show the same of loads as single sweeps, which take sixty times as long to read. After an error, the
 * time without errors begins with the next sum.
 */
struct stretch {
	int64_t after, until;
	bool idle;
};

struct stretches {
	const struct coverage *coverage;
	const uint32_t *index; /* as in struct history_reading */
	struct stretch *list;
	size_t count, capacity;
	int64_t length_us;     /* of the current piece */
	bool no_memory;
};

static bool begin_stretch(void *ctx, const struct history_piece *piece)
{
	struct stretches *found = ctx;
	struct stretch *last = array_add(&found->list, &found->count, &found->capacity, sizeof(*last));

	found->no_memory = !last;
	if (!last)
		return false;
	*last = (struct stretch){ piece->from_sweep - 1, piece->to_sweep - 1, piece->source != HISTORY_RAW };
	found->length_us = piece->to_us - piece->from_us + found->coverage->interval_us;
	/* Two of one kind are one; what follows may be of another kind as soon as it is known. */
	if (found->count > 1 && last[-1].idle == last->idle && !last->idle) {
		last[-1].until = last->until;
		found->count--;
	}
	return true;
}

static bool mark_busy(void *ctx, size_t port, const struct history_port *who, const struct delta *delta,
		      int64_t samples)
{
	struct stretches *found = ctx;
	const struct coverage *coverage = found->coverage;
	struct stretch *last = &found->list[found->count - 1];
	uint64_t bits_per_s = port_rate_bits_per_s(&coverage->fabric->ports[found->index[port]]);
	double most = coverage->limits.min_load_percent * (double)coverage->interval_us / (double)found->length_us;

	(void)who;
	(void)samples;
	for (int i = COUNTER_XMIT_DATA; last->idle && i <= COUNTER_RCV_DATA; i++) {
		struct measure percent = rate_utilization_percent(rate_bytes_per_s(delta, (enum counter)i), bits_per_s);

		/* Of what is not known here, single sweeps may know a part. */
		last->idle = measure_exact(percent) < most;
	}
	return true;
}

/* @query: with the ports */
static int find_stretches(struct coverage_report *report, const struct history_query *query, const uint32_t *index,
			  struct stretches *ret, struct error *err)
{
	const struct history_consumer consumer = { begin_stretch, mark_busy, ret };
	struct history_query sums = *query;
	int code;

	*ret = (struct stretches){ .coverage = &report->coverage, .index = index };
	sums.longest_us = SUMS_US;
	sums.damage = NULL;
	code = reader_history(report->moment->reader, &sums, &consumer, err);
	return code == 0 && ret->no_memory ? err_nomem(err) : code;
}

static int read_history(struct coverage_report *report, const struct history_range *range, struct error *err)
{
	const struct fabric *fabric = report->moment->fabric;
	struct history_port *ports = calloc(fabric->port_count + 1, sizeof(*ports));
	uint32_t *index = calloc(fabric->port_count + 1, sizeof(*index));
	int64_t interval_us = report->coverage.interval_us;
	struct history_reading reading = { .coverage = &report->coverage, .index = index };
	const struct history_consumer consumer = { begin_piece, add_delta, &reading };
	struct history_query query = { .after = range->after, .until = range->until, .ports = ports,
				       .counters = COVERAGE_COUNTERS, .damage = &report->damage };
	struct stretches found = { 0 };
	int code = ports && index ? 0 : err_nomem(err);

	for (uint32_t i = 0; code == 0 && i < fabric->port_count; i++) {
		if (!coverage_is_link(fabric, i))
			continue;
		index[query.port_count] = i;
		ports[query.port_count++] = history_port_of(fabric, i);
	}
	if (code == 0)
		code = find_stretches(report, &query, index, &found, err);
	for (size_t i = 0; code == 0 && i < found.count; i++) {
		query.after = found.list[i].after;
		query.until = found.list[i].until;
		query.longest_us = found.list[i].idle ? SUMS_US : PIECE_US;
		reading.long_us = found.list[i].idle ? SUMS_US : interval_us > PIECE_US ? interval_us : PIECE_US;
		code = reader_history(report->moment->reader, &query, &consumer, err);
	}
	free(found.list);
	free(ports);
	free(index);
	return code;
}

static bool add_detail(void *ctx, const struct detail_row *row)
{
	struct coverage_report *report = ctx;
	const struct fabric *fabric = report->moment->fabric;
	uint32_t port = fabric_find_port(fabric, row->node_guid, row->port);
	struct coverage_fec *fec;
	uint64_t rate;

	if (port == FABRIC_NONE || row->reading.attribute != DETAIL_EXTENDED_SPEEDS || !ber_counts_fec(&row->reading,
													&row->sum))
		return true;
	fec = &report->fec[port];
	rate = port_rate_bits_per_s(&fabric->ports[port]);
	fec->layout = row->reading.layout;
	fec->raw = ber_raw(&row->sum, (enum fec_layout)row->reading.layout, rate);
	fec->effective = ber_effective(&row->sum, (enum fec_layout)row->reading.layout, rate);
	return true;
}

static int read_fec(struct coverage_report *report, struct error *err)
{
	const struct coverage *coverage = &report->coverage;
	const struct detail_query query = { .at_us = coverage->until_us, .port = -1,
					    .attributes = 1u << DETAIL_EXTENDED_SPEEDS,
					    .window_us = coverage->until_us - coverage->since_us };

	report->fec = calloc(report->moment->fabric->port_count + 1, sizeof(*report->fec));
	if (!report->fec)
		return err_nomem(err);
	for (size_t i = 0; i < report->moment->fabric->port_count; i++)
		report->fec[i].raw.rate = report->fec[i].effective.rate = NAN;
	return reader_details(report->moment->reader, &query, add_detail, report, err);
}

int coverage_read(struct coverage_report *report, int64_t since_us, int64_t until_us, struct error *err)
{
	struct history_range range;
	int code = reader_history_range(report->moment->reader, since_us, until_us, &range, err);

	if (code == 0 && range.after >= range.until)
		code = err_set(err, ERR_UNAVAILABLE, "no samples in the window: 'ibwire db' shows the stored time "
			       "range");
	report->is_all_stored = range.since_us > since_us;
	if (code == 0)
		code = coverage_init(&report->coverage, report->moment->fabric, &report->limits,
				     report->is_all_stored ? range.since_us : since_us,
				     report->moment->snapshot->sweep.interval_us, err);
	if (code == 0)
		code = read_history(report, &range, err);
	if (code == 0) {
		coverage_end(&report->coverage, range.last_us);
		code = read_fec(report, err);
	}
	if (code == 0)
		code = health_load(report->moment, &report->filter, &(struct finding_query){ .at_us = range.last_us },
				   &report->rows, err);
	if (code == 0)
		code = summary_load(report->moment->snapshot, report->moment->reader, &report->summary, err);
	return code;
}

void coverage_report_done(struct coverage_report *report)
{
	coverage_done(&report->coverage);
	free(report->fec);
	health_rows_done(&report->rows);
}

bool coverage_is_judged(const struct coverage_report *report, uint32_t port)
{
	return coverage_is_link(report->moment->fabric, port) && selection_has_link(&report->selection, port);
}

bool coverage_link_has_problem(const struct coverage_report *report, uint32_t port)
{
	uint32_t peer = report->moment->fabric->ports[port].peer;

	return coverage_left(&report->coverage, port) || coverage_left(&report->coverage, peer) ||
	       link_is_degraded(report->moment->shape, port);
}

/* Is a finding about a port that is not cabled as planned, such as one on the leaf of another rail? */
static bool is_of_plan(const struct coverage_report *report, const struct finding *finding)
{
	const struct plan_diff *diff = report->plan_diff;
	uint64_t guid;
	uint8_t num;

	for (unsigned end = 0; finding_end(finding, report->moment->fabric, end, &guid, &num); end++) {
		uint32_t port = guid && num ? fabric_find_port(report->moment->fabric, guid, num) : FABRIC_NONE;

		for (size_t i = 0; port != FABRIC_NONE && i < diff->count; i++)
			for (uint32_t j = 0; j < diff->list[i].port_count; j++)
				if (diff->ports[diff->list[i].first_port + j] == port)
					return true;
	}
	return false;
}

bool coverage_finding_is_other(const struct coverage_report *report, const struct health_row *row)
{
	const struct finding *finding = &row->row.finding;
	uint32_t port = finding->port ? fabric_find_port(report->moment->fabric, finding->node_guid, finding->port) :
					FABRIC_NONE;

	if (!health_counts(row) || finding->severity < FINDING_WARNING ||
	    (report->plan_diff && (finding->kind == FINDING_PLAN_DIFFERS || is_of_plan(report, finding))))
		return false;
	return port == FABRIC_NONE || !coverage_is_judged(report, port) || !coverage_link_has_problem(report, port);
}

bool coverage_difference_counts(const struct coverage_report *report, const struct plan_difference *difference)
{
	const uint32_t *ports = report->plan_diff->ports + difference->first_port;

	if (difference->change != PLAN_SLOW)
		return true;
	for (uint32_t i = 0; i < difference->port_count; i++)
		if (coverage_is_judged(report, ports[i]) && coverage_link_has_problem(report, ports[i]))
			return false;
	return true;
}

void coverage_count(struct coverage_report *report)
{
	const struct fabric *fabric = report->moment->fabric;

	for (uint32_t i = 0; i < fabric->port_count; i++) {
		unsigned left;
		bool first;

		if (!coverage_is_judged(report, i))
			continue;
		left = coverage_left(&report->coverage, i);
		report->directions++;
		report->covered += !left;
		for (unsigned bit = 0; bit < COVERAGE_LEFT_BITS; bit++)
			report->left_by_bit[bit] += (left >> bit) & 1;
		/* Each link once. */
		first = i < fabric->ports[i].peer;
		report->links += first;
		report->left_links += first && (left || coverage_left(&report->coverage, fabric->ports[i].peer));
		report->slow_links += first && link_is_degraded(report->moment->shape, i);
		report->points += first && coverage_link_has_problem(report, i);
	}
	for (size_t i = 0; i < report->rows.count; i++)
		report->other_findings += coverage_finding_is_other(report, &report->rows.list[i]);
	for (size_t i = 0; report->plan_diff && i < report->plan_diff->count; i++)
		report->plan_points += coverage_difference_counts(report, &report->plan_diff->list[i]);
	report->points += report->other_findings + report->plan_points;
}
