/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/push/push_sweep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cli/lib/settings.h"
#include "cli/metrics/metrics_families.h"
#include "cli/push/push_encode.h"
#include "cli/push/push_send.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"
#include "storage/findings.h"
#include "storage/reader.h"
#include "view/port_view.h"

static void topology_free(struct metrics_topology *topology)
{
	if (!topology)
		return;
	shape_destroy(topology->shape);
	fabric_destroy(topology->fabric);
	free(topology->label_at);
	text_done(&topology->labels);
	free(topology);
}

void push_source_done(struct push_source *source)
{
	topology_free(source->topology);
	source->topology = NULL;
	free(source->slots);
	source->slots = NULL;
	text_done(&source->request);
	text_done(&source->line);
	text_done(&source->encoded);
	text_done(&source->name);
}

/* The encoded labels of each port, and its place among the counters. */
static int prepare_ports(struct push_source *source, struct metrics_topology *topology, const struct fabric *fabric,
			 struct error *err)
{
	const struct metrics_schema *schema = metrics_schema_find(NULL);

	topology->label_at = calloc(fabric->port_count + 1, sizeof(*topology->label_at));
	source->slots = calloc(fabric->port_count + 1, sizeof(*source->slots));
	if (!topology->label_at || !source->slots)
		return err_nomem(err);
	for (uint32_t i = 0; i < fabric->port_count; i++) {
		const struct port *port = &fabric->ports[i];

		if (!push_state_port(source->state, fabric->nodes[port->node].guid, port->num, &source->slots[i]))
			return err_nomem(err);
		text_clear(&source->line);
		schema->port_labels(fabric, i, &source->line);
		push_labels_encode(text_chars(&source->line), source->labels, &topology->labels);
		topology->label_at[i + 1] = (uint32_t)topology->labels.len;
		if (port->peer == FABRIC_NONE || port->peer < i)
			continue;
		topology->links++;
		topology->links_active += port->state == PORT_ACTIVE;
	}
	for (size_t i = 0; i < fabric->node_count; i++)
		if (fabric->nodes[i].type <= NODE_ROUTER)
			topology->nodes[fabric->nodes[i].type]++;
	return text_failed(&source->line) || text_failed(&topology->labels) ? err_nomem(err) : 0;
}

static int prepare(struct push_source *source, struct fabric *fabric, struct error *err)
{
	int code;

	if (source->topology && source->topology->fabric == fabric)
		return 0;
	topology_free(source->topology);
	free(source->slots);
	source->slots = NULL;
	source->topology = calloc(1, sizeof(*source->topology));
	if (!source->topology)
		return err_nomem(err);
	source->topology->fabric = fabric_share(fabric);
	code = shape_create(fabric, &source->settings->shape, &source->topology->shape, err);
	if (code == 0)
		code = prepare_ports(source, source->topology, fabric, err);
	if (code < 0) {
		topology_free(source->topology);
		source->topology = NULL;
	}
	return code;
}

/* What is not stored with a sweep, or differs when a batch is sent again. */
static bool is_pushed(const struct metrics_family *family)
{
	static const char *const of_now[] = { "ibwire_collector_live", "ibwire_database_size_bytes",
		"ibwire_metrics_build_duration_seconds", "ibwire_discovery_timestamp_seconds", "ibwire_build" };

	for (size_t i = 0; i < sizeof(of_now) / sizeof(*of_now); i++)
		if (!strcmp(family->name, of_now[i]))
			return false;
	return family->scope != METRICS_GROUP;
}

static uint32_t row_count(const struct metrics_page *page, enum metrics_scope scope)
{
	if (scope == METRICS_PORT)
		return (uint32_t)page->topology->fabric->port_count;
	if (scope == METRICS_FINDING)
		return FINDING_KIND_COUNT * (FINDING_CRITICAL + 1);
	return scope == METRICS_NODE_TYPE ? NODE_ROUTER : scope == METRICS_ONCE;
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

	if (family->value)
		return family->value(page, row);
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

static int send_family(struct push_source *source, const struct metrics_family *family,
		       const struct metrics_page *page, struct error *err)
{
	static const char *const suffixes[] = { "", "_total", "_info" };
	int code = 1;

	text_clear(&source->line);
	text_append(&source->line, family->name);
	text_append(&source->line, suffixes[family->type]);
	text_clear(&source->name);
	push_label_append(&source->name, "__name__", strlen("__name__"), text_chars(&source->line), source->line.len);
	if (text_failed(&source->name))
		return err_nomem(err);
	for (uint32_t row = 0; row < row_count(page, family->scope) && code > 0; row++) {
		double value = value_of(source, family, page, row);

		if (isnan(value))
			continue;
		push_series_append(&source->request, (struct push_bytes){ source->name.chars, source->name.len },
				   labels_of(source, family, page, row), value, source->wall_ms);
		if (++source->pending >= source->batch)
			code = flush(source, err);
	}
	return code;
}

static bool count_finding(void *ctx, const struct finding_row *row)
{
	struct metrics_page *page = ctx;

	if (row->acknowledged.at_us)
		page->acknowledged++;
	else if ((unsigned)row->finding.kind < FINDING_KIND_COUNT && row->finding.severity <= FINDING_CRITICAL)
		page->findings[row->finding.kind][row->finding.severity]++;
	return true;
}

/* What is measured, and the counters after this sweep. */
static int fill(struct push_source *source, const struct snapshot *snapshot, bool is_origin, struct metrics_page *page,
		struct error *err)
{
	source->state->ahead = true;
	page->topology = source->topology;
	page->status.last = snapshot->sweep;
	page->ports = calloc(snapshot->fabric->port_count + 1, sizeof(*page->ports));
	if (!page->ports)
		return err_nomem(err);
	for (uint32_t i = 0; i < snapshot->fabric->port_count; i++) {
		const struct port_row *row = &snapshot->rows[i];
		struct metrics_counters *counters = &source->state->ports[source->slots[i]].counters;
		struct port_view view;

		port_view_of(snapshot, i, snapshot->sweep.wall_us, true, &view);
		page->ports[i] = (struct metrics_port){
			.last_wall_us = row->last_wall_us, .sample = (uint8_t)row->status,
			.xmit_ratio = view.xmit_percent / 100, .rcv_ratio = view.rcv_percent / 100,
			.wait_ratio = view.stall_percent / 100,
			.symbol_ber = row->status == SAMPLE_OK ? view.ber[VIEW_BER_SYMBOL].rate : NAN,
		};
		if (row->mirrored)
			continue;
		if (is_origin)
			counters->known |= row->sum.known;
		else
			push_counters_add(counters, &row->sum);
	}
	return 0;
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

static int send_sweep(struct push_source *source, struct reader *reader, struct metrics_page *page, struct error *err)
{
	const struct metrics_schema *schema = metrics_schema_find(NULL);
	const struct finding_query query = { .at_us = page->status.last.wall_us };
	int code = reader_findings(reader, &query, count_finding, page, err);

	if (code == 0)
		code = 1;
	source->wall_ms = page->status.last.wall_us / 1000;
	text_clear(&source->request);
	source->pending = 0;
	for (size_t i = 0; i < schema->count && code > 0; i++)
		if (is_pushed(&schema->families[i]))
			code = send_family(source, &schema->families[i], page, err);
	if (code > 0)
		code = flush(source, err);
	return code > 0 ? push_target_finish(source->target, err) : code;
}

int push_sweep(struct push_source *source, struct reader *reader, struct error *err)
{
	bool is_origin = !source->state->acknowledged.id;
	struct metrics_page page = { 0 };
	struct snapshot *snapshot = NULL;
	int code = load_next(source, reader, &snapshot, err);

	if (code <= 0)
		return code;
	code = prepare(source, snapshot->fabric, err);
	if (code == 0)
		code = fill(source, snapshot, is_origin, &page, err);
	snapshot_destroy(snapshot);
	if (code == 0)
		code = send_sweep(source, reader, &page, err);
	free(page.ports);
	if (code <= 0)
		return code;
	source->state->acknowledged = (struct push_sweep){ page.status.last.id, page.status.last.wall_us };
	source->state->ahead = false;
	code = push_state_save(source->state, err);
	return code < 0 ? code : 1;
}
