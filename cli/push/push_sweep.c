/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/push/push_sweep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "cli/lib/settings.h"
#include "cli/metrics/metrics_families.h"
#include "cli/push/push_encode.h"
#include "cli/push/push_send.h"
#include "fabric/fabric.h"
#include "storage/reader.h"

void push_source_done(struct push_source *source)
{
	metrics_topology_destroy(source->topology);
	source->topology = NULL;
	free(source->slots);
	source->slots = NULL;
	free(source->sent);
	source->sent = NULL;
	free(source->is_sent);
	source->is_sent = NULL;
	text_done(&source->request);
	text_done(&source->line);
	text_done(&source->encoded);
	text_done(&source->name);
}

/* The time between two samples of it, without a change. */
#define PRESENT_US (15 * US_PER_S)
#define PRESENT_NAME "ibwire_collector_live"
/* "Prometheus Remote-Write 1.0 specification", section Stale Markers */
#define STALE_BITS 0x7ff0000000000002

/*
 * Samples that are sent again must have the same values: not the time of XmitWait, of which each delta needs the link
 * speed of its time, and a restart adds up the deltas of many sweeps.
 */
static bool is_pushed(const struct metrics_family *family)
{
	return strcmp(family->name, PRESENT_NAME) != 0 && strcmp(family->name, "ibwire_database_size_bytes") != 0 &&
	       strcmp(family->name, "ibwire_metrics_build_duration_seconds") != 0 &&
	       strcmp(family->name, "ibwire_port_xmit_wait_seconds") != 0;
}

/* Counters and states of ports. Ratios are sent with each sweep: avg_over_time() weights samples, not time. */
static bool can_be_left_out(const struct metrics_family *family)
{
	return family->scope == METRICS_PORT && !(metrics_unit(family) && strcmp(metrics_unit(family), "ratio") == 0);
}

/* Nothing was sent with the labels of this topology. */
static bool forget_sent(struct push_source *source, size_t port_count)
{
	const struct metrics_schema *schema = metrics_schema_find(NULL);
	size_t count = 0;

	free(source->is_sent);
	source->is_sent = NULL;
	free(source->sent);
	source->sent = NULL;
	if (!source->unchanged_us)
		return true;
	for (size_t i = 0; i < metrics_family_count(schema); i++) {
		const struct metrics_family family = metrics_family_get(schema, i);

		count += can_be_left_out(&family) ? port_count : 0;
	}
	source->sent = malloc((count + 1) * sizeof(*source->sent));
	for (size_t i = 0; source->sent && i < count; i++)
		source->sent[i] = NAN;
	return source->sent;
}

/* The encoded labels of each port, and its place among the counters. */
static int prepare(struct push_source *source, struct fabric *fabric, struct error *err)
{
	if (source->topology && source->topology->fabric == fabric)
		return 0;
	metrics_topology_destroy(source->topology);
	source->topology = NULL;
	free(source->slots);
	source->slots = calloc(fabric->port_count + 1, sizeof(*source->slots));
	if (!source->slots || !forget_sent(source, fabric->port_count))
		return err_nomem(err);
	for (uint32_t i = 0; i < fabric->port_count; i++) {
		const struct port *port = &fabric->ports[i];

		if (!push_state_port(source->state, fabric->nodes[port->node].guid, port->num, &source->slots[i]))
			return err_nomem(err);
	}
	return metrics_topology_create(fabric, source->settings, metrics_schema_find(NULL), push_labels_encode,
				       source->labels, &source->topology, err);
}

static int flush(struct push_source *source, struct error *err)
{
	int code = 1;

	if (text_failed(&source->request) || text_failed(&source->encoded) || text_failed(&source->line))
		return err_nomem(err);
	if (source->pending)
		code = push_target_send(source->target, &source->request, source->pending, err);
	text_clear(&source->request);
	source->pending = 0;
	return code;
}

/* The value of a row; NAN: none. */
static double value_of(const struct push_source *source, const struct metrics_family *family,
		       const struct metrics_page *page, uint32_t row)
{
	const struct metrics_counters *counters;

	if (!metrics_family_counts(family))
		return metrics_family_value(family, page, row);
	counters = &source->state->ports[source->slots[row]].counters;
	if (!(counters->known & COUNTER_BIT(family->counter)))
		return NAN;
	return (double)counters->value[family->counter] * family->scale;
}

/* Labels of a row: prepared ones of its port, or encoded here. */
static struct push_bytes labels_of(struct push_source *source, const struct metrics_family *family,
				   const struct metrics_page *page, uint32_t row)
{
	const struct metrics_topology *topology = page->topology;
	bool of_port = family->scope == METRICS_PORT && !family->own_labels;

	if (of_port && !family->labels)
		return (struct push_bytes){ topology->labels.chars + topology->label_at[row],
					    topology->label_at[row + 1] - topology->label_at[row] };
	text_clear(&source->line);
	text_clear(&source->encoded);
	if (of_port)
		metrics_schema_find(NULL)->port_labels(topology->fabric, row, &source->line);
	if (family->labels)
		family->labels(page, row, &source->line);
	push_labels_encode(text_chars(&source->line), source->labels, &source->encoded);
	return (struct push_bytes){ source->encoded.chars, source->encoded.len };
}

/* Whether an unchanged value of a port is sent: once per --unchanged, one in 64 of the ports at the same time. */
static bool is_due(const struct push_source *source, const struct metrics_page *page, uint32_t row)
{
	int64_t phase_us = source->unchanged_us / 64 * (row % 64);

	return (page->status.last.wall_us + phase_us) / source->unchanged_us !=
	       (source->state->acknowledged.wall_us + phase_us) / source->unchanged_us;
}

static double stale_marker(void)
{
	const uint64_t bits = STALE_BITS;
	double marker;

	memcpy(&marker, &bits, sizeof(marker));
	return marker;
}

static void encode_name(struct push_source *source, const char *name, const char *suffix)
{
	text_clear(&source->line);
	text_append(&source->line, name);
	text_append(&source->line, suffix);
	text_clear(&source->name);
	push_label_append(&source->name, "__name__", strlen("__name__"), text_chars(&source->line), source->line.len);
}

static void append_sample(struct push_source *source, const struct metrics_family *family,
			  const struct metrics_page *page, uint32_t row, double value)
{
	push_series_append(&source->request, (struct push_bytes){ source->name.chars, source->name.len },
			   labels_of(source, family, page, row), value, source->wall_ms);
	source->pending++;
}

/* @sent: by row, or NULL; @is_sent: by row */
static int send_family(struct push_source *source, const struct metrics_family *family,
		       const struct metrics_page *page, double *sent, bool *is_sent, struct error *err)
{
	int code = 1;

	encode_name(source, family->name, metrics_suffix(family));
	if (text_failed(&source->name))
		return err_nomem(err);
	for (uint32_t row = 0; row < metrics_row_count(page, family->scope) && code > 0; row++) {
		double value = value_of(source, family, page, row);

		if (isnan(value) ? !is_sent[row] : sent && sent[row] == value && !is_due(source, page, row))
			continue;
		if (sent)
			sent[row] = value;
		is_sent[row] = !isnan(value);
		append_sample(source, family, page, row, page->is_stale || isnan(value) ? stale_marker() : value);
		if (source->pending >= source->batch || source->pending == source->target->samples_most)
			code = flush(source, err);
	}
	return code;
}

/* The counters after this sweep. */
static void count(struct push_source *source, const struct snapshot *snapshot, bool is_origin)
{
	source->state->ahead = true;
	for (uint32_t i = 0; i < snapshot->fabric->port_count; i++) {
		const struct port_row *row = &snapshot->rows[i];
		struct metrics_counters *counters = &source->state->ports[source->slots[i]].counters;

		if (row->mirrored)
			continue;
		if (is_origin)
			counters->known |= row->sum.known;
		else
			push_counters_add(counters, &row->sum);
	}
}

/* What was measured in this sweep. */
static int fill(struct push_source *source, struct reader *reader, const struct snapshot *snapshot,
		struct metrics_page *page, struct error *err)
{
	int code = reader_status_at(reader, snapshot->sweep.wall_us, &page->status, err);

	page->topology = source->topology;
	page->status.last = snapshot->sweep;
	if (code == 0)
		code = metrics_fill_groups(reader, source->settings, snapshot, page, err);
	if (code == 0)
		code = metrics_fill_findings(reader, page->status.last.wall_us, page, err);
	if (code == 0)
		code = metrics_fill_jobs(reader, page, err);
	return code < 0 ? code : metrics_fill_ports(reader, snapshot, page, err);
}

/*
 * The next sweep. Where the samples of sweeps were removed by retention, it is the first one with samples, and its
 * sums are those since the acknowledged sweep.
 * Return: 1; 0: none.
 */
static int load_next(struct push_source *source, struct reader *reader, struct snapshot **ret, struct error *err)
{
	const struct push_state *state = source->state;
	struct snapshot_query query = { .names = source->names };
	struct push_sweep last = state->acknowledged;
	int64_t newest, steps = 1;
	int code = reader_newest(reader, &newest, err);

	if (code < 0 || (last.id && newest <= last.id))
		return code;
	if (!last.id) {
		query.at_us = state->origin.wall_us;
		code = snapshot_load(reader, &query, ret, err);
		return code < 0 ? code : 1;
	}
	/* A wall clock that was set back has labelled several sweeps alike: more steps are needed then. */
	for (int i = 0; i < 3; i++) {
		code = reader_sweep_beside(reader, last.wall_us, steps, &query.at_us, err);
		query.window_us = 0;
		if (code == 0)
			code = snapshot_load(reader, &query, ret, err);
		if (code < 0)
			return code;
		if ((*ret)->sweep.id > last.id)
			break;
		steps += last.id + 1 - (*ret)->sweep.id;
		snapshot_destroy(*ret);
		*ret = NULL;
	}
	if (!*ret)
		return err_set(err, ERR_IO, "cannot find the sweep after %lld: the clock of the collector was changed",
			       (long long)last.id);
	if ((*ret)->sweep.id > last.id + 1) {
		snapshot_destroy(*ret);
		query.window_us = query.at_us - last.wall_us;
		code = snapshot_load(reader, &query, ret, err);
	}
	return code < 0 ? code : 1;
}

static bool has_finding(const struct metrics_page *page, const struct metrics_finding *finding)
{
	for (uint32_t i = 0; i < page->open_count; i++) {
		const struct metrics_finding *open = &page->open[i];

		if (open->id == finding->id && open->severity == finding->severity &&
		    !strcmp(open->subject, finding->subject) && !strcmp(open->cause, finding->cause))
			return true;
	}
	return false;
}

/* End the series of findings that were in the last sweep with other labels, or have closed. */
static bool end_findings(struct push_source *source, const struct metrics_family *family,
			const struct metrics_page *page, const struct metrics_page *last)
{
	encode_name(source, family->name, metrics_suffix(family));
	for (uint32_t row = 0; row < last->open_count; row++)
		if (!has_finding(page, &last->open[row]))
			append_sample(source, family, last, row, stale_marker());
	return !text_failed(&source->name);
}

/* Rows of a family that struct push_source.is_sent has room for. */
static size_t row_room(const struct metrics_page *page, enum metrics_scope scope)
{
	return scope == METRICS_OPEN ? METRICS_FINDINGS_MOST : metrics_row_count(page, scope);
}

/* @last: with the findings of the last sweep */
static int send_sweep(struct push_source *source, const struct metrics_page *page, const struct metrics_page *last,
		      struct error *err)
{
	const struct metrics_schema *schema = metrics_schema_find(NULL);
	double *sent = page->is_stale ? NULL : source->sent;
	size_t rows = 0;
	bool *is_sent;
	int code = 1;

	source->wall_ms = page->status.last.wall_us / 1000 + page->is_stale;
	text_clear(&source->request);
	source->pending = 0;
	for (size_t i = 0; i < metrics_family_count(schema); i++)
		rows += row_room(page, metrics_family_get(schema, i).scope);
	/* The number of groups follows from the topology. */
	if (!source->is_sent)
		source->is_sent = calloc(rows, sizeof(*source->is_sent));
	is_sent = source->is_sent;
	if (!is_sent)
		return err_nomem(err);
	for (size_t i = 0; i < metrics_family_count(schema) && code > 0; i++) {
		const struct metrics_family family = metrics_family_get(schema, i);
		bool left_out = sent && can_be_left_out(&family);

		if (is_pushed(&family) && !(page->is_stale && family.lasting))
			code = send_family(source, &family, page, left_out ? sent : NULL, is_sent, err);
		if (code > 0 && family.scope == METRICS_OPEN && !end_findings(source, &family, page, last))
			code = err_nomem(err);
		if (left_out)
			sent += page->topology->fabric->port_count;
		is_sent += row_room(page, family.scope);
	}
	if (code > 0)
		code = flush(source, err);
	return code > 0 ? push_target_finish(source->target, err) : code;
}

/* Send the samples of a snapshot, or the end of its series; destroys it. */
static int send_snapshot(struct push_source *source, struct reader *reader, struct snapshot *snapshot, bool is_end,
			 struct error *err)
{
	struct metrics_page page = { .is_stale = is_end }, last = { .open_count = 0 };
	int code = prepare(source, snapshot->fabric, err);

	if (code == 0 && !is_end)
		count(source, snapshot, !source->state->acknowledged.id);
	if (code == 0)
		code = fill(source, reader, snapshot, &page, err);
	snapshot_destroy(snapshot);
	if (code == 0 && !is_end && source->state->acknowledged.id)
		code = metrics_fill_findings(reader, source->state->acknowledged.wall_us, &last, err);
	if (code == 0)
		code = send_sweep(source, &page, &last, err);
	free(page.ports);
	free(page.numbers);
	free(page.groups);
	return code;
}

int push_sweep(struct push_source *source, struct reader *reader, struct error *err)
{
	struct snapshot *snapshot = NULL;
	struct push_sweep sent;
	int code = load_next(source, reader, &snapshot, err);

	if (code <= 0)
		return code;
	sent = (struct push_sweep){ snapshot->sweep.id, snapshot->sweep.wall_us };
	code = send_snapshot(source, reader, snapshot, false, err);
	if (code <= 0)
		return code;
	source->state->acknowledged = sent;
	source->state->ahead = false;
	code = push_state_save(source->state, err);
	return code < 0 ? code : 1;
}

/* End the series of the last sweep. Sent again after a restart, the samples are the same. */
static int send_end(struct push_source *source, struct reader *reader, struct error *err)
{
	const struct push_sweep *last = &source->state->acknowledged;
	const struct snapshot_query query = { .names = source->names, .at_us = last->wall_us };
	struct snapshot *snapshot;
	int code = snapshot_load(reader, &query, &snapshot, err);

	if (code < 0)
		return code;
	source->ended = last->id;
	if (snapshot->sweep.id != last->id) { /* the clock of the collector was changed */
		snapshot_destroy(snapshot);
		return 1;
	}
	code = send_snapshot(source, reader, snapshot, true, err);
	/* The next sweep has every series. */
	if (code > 0 && !forget_sent(source, source->topology->fabric->port_count))
		code = err_nomem(err);
	return code;
}

static int send_live(struct push_source *source, struct error *err)
{
	int code;

	text_clear(&source->request);
	text_clear(&source->encoded);
	encode_name(source, PRESENT_NAME, "");
	push_labels_encode("", source->labels, &source->encoded);
	push_series_append(&source->request, (struct push_bytes){ source->name.chars, source->name.len },
			   (struct push_bytes){ source->encoded.chars, source->encoded.len }, source->live,
			   clock_wall_us(clock_system()) / 1000);
	source->pending = 1;
	code = text_failed(&source->name) ? err_nomem(err) : flush(source, err);
	return code > 0 ? push_target_finish(source->target, err) : code;
}

int push_present(struct push_source *source, struct reader *reader, struct error *err)
{
	int64_t last = source->state->acknowledged.id, now_us = clock_boottime_us(clock_system());
	struct db_status status;
	int code = reader_status(reader, &status, err);

	if (code < 0)
		return code;
	code = 1;
	if (last && status.last.id == last && source->ended != last && metrics_is_stale(&status))
		code = send_end(source, reader, err);
	if (code <= 0 || (source->present_us && source->live == status.live &&
			  now_us < source->present_us + PRESENT_US))
		return code;
	source->present_us = now_us;
	source->live = status.live;
	return send_live(source, err);
}
