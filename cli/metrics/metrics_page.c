/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/metrics/metrics_page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis/balance.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/process.h"
#include "cli/lib/settings.h"
#include "cli/metrics/metrics_families.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"
#include "storage/findings.h"
#include "storage/history.h"
#include "facts/port_columns.h"
#include "facts/port_facts.h"

void metrics_topology_release(struct metrics_topology *topology)
{
	if (!topology || --topology->references)
		return;
	shape_destroy(topology->shape);
	fabric_destroy(topology->fabric);
	free(topology->label_at);
	free(topology->shared);
	text_done(&topology->labels);
	free(topology);
}

static void page_free(struct metrics_page *page)
{
	if (!page)
		return;
	metrics_topology_release(page->topology);
	free(page->counters);
	free(page->ports);
	free(page->numbers);
	free(page->groups);
	free(page->details);
	free(page);
}

void metrics_page_release(struct metrics_page *page)
{
	if (page && !--page->references)
		page_free(page);
}

bool metrics_source_done(struct metrics_source *source)
{
	if (source->is_used)
		return false;
	metrics_page_release(source->page);
	source->page = NULL;
	reader_close(source->reader);
	source->reader = NULL;
	return true;
}

static uint32_t first_port(const struct fabric *fabric, uint32_t port)
{
	return fabric->nodes[fabric->ports[port].node].first_port;
}

/* The labels of a port begin with so many bytes of those of its node's first port. */
static uint16_t count_shared(const struct metrics_topology *topology, uint32_t port, const char *labels)
{
	uint32_t first = first_port(topology->fabric, port), at = topology->label_at[first];
	uint32_t most = first < port ? topology->label_at[first + 1] - at : 0;
	uint16_t len = 0;

	while (len < most && len < UINT16_MAX && labels[len] == topology->labels.chars[at + len])
		len++;
	return len;
}

void metrics_port_labels(const struct metrics_topology *topology, uint32_t port, struct text *ret)
{
	const uint32_t *at = topology->label_at;

	text_append_bytes(ret, topology->labels.chars + at[first_port(topology->fabric, port)], topology->shared[port]);
	text_append_bytes(ret, topology->labels.chars + at[port], at[port + 1] - at[port]);
}

int metrics_topology_create(struct fabric *fabric, const struct settings *settings, const struct metrics_schema *schema,
			    metrics_encode_fn *encode, const char *external, struct metrics_topology **ret,
			    struct error *err)
{
	struct metrics_topology *topology = calloc(1, sizeof(*topology));
	struct text labels = { 0 };
	int code;

	if (!topology)
		return err_nomem(err);
	topology->references = 1;
	topology->fabric = fabric_share(fabric);
	topology->label_at = calloc(fabric->port_count + 1, sizeof(*topology->label_at));
	topology->shared = calloc(fabric->port_count + 1, sizeof(*topology->shared));
	code = topology->label_at && topology->shared ?
		shape_create(fabric, &settings->shape, &topology->shape, err) : err_nomem(err);
	for (uint32_t i = 0; code == 0 && i < fabric->port_count; i++) {
		text_clear(&labels);
		schema->port_labels(fabric, i, &labels);
		if (encode) {
			encode(text_chars(&labels), external, &topology->labels);
		} else {
			topology->shared[i] = count_shared(topology, i, text_chars(&labels));
			text_append(&topology->labels, text_chars(&labels) + topology->shared[i]);
		}
		topology->label_at[i + 1] = (uint32_t)topology->labels.len;
	}
	if (code == 0 && (text_failed(&labels) || text_failed(&topology->labels)))
		code = err_nomem(err);
	text_done(&labels);
	if (code < 0) {
		metrics_topology_release(topology);
		return code;
	}
	*ret = topology;
	return 0;
}

void metrics_counters_add(struct metrics_counters *counters, const struct delta *delta)
{
	for (int i = 0; i < COUNTER_COUNT; i++)
		if (counters->known & delta->known & COUNTER_BIT(i) &&
		    __builtin_add_overflow(counters->value[i], delta->value[i], &counters->value[i]))
			counters->value[i] = UINT64_MAX;
}

/* The counters of the last page: its own array if no response needs it, and the topology is the same. */
static struct metrics_counters *take_counters(struct metrics_page *last, const struct fabric *fabric)
{
	struct metrics_counters *counters;

	if (last && last->references == 1 && last->topology->fabric == fabric) {
		counters = last->counters;
		last->counters = NULL;
		return counters;
	}
	counters = calloc(fabric->port_count + 1, sizeof(*counters));
	for (uint32_t i = 0; counters && last && i < fabric->port_count; i++) {
		const struct port *port = &fabric->ports[i];
		uint32_t then = fabric_find_port(last->topology->fabric, fabric->nodes[port->node].guid, port->num);

		if (then != FABRIC_NONE)
			counters[i] = last->counters[then];
	}
	return counters;
}

/* The topology of the last page, or a new one if the fabric has changed. */
static int find_topology(struct metrics_source *source, struct fabric *fabric, struct metrics_topology **ret,
			 struct error *err)
{
	struct metrics_page *last = source->page;

	if (!last || last->topology->fabric != fabric)
		return metrics_topology_create(fabric, source->settings, source->schema, NULL, NULL, ret, err);
	last->topology->references++;
	*ret = last->topology;
	return 0;
}

/*
 * A last page that no response needs is not served again: free what the next one does not take over, and move it to a
 * new topology, before the counters of a snapshot are in memory.
 */
static int prepare_last(struct metrics_source *source, struct error *err)
{
	const struct snapshot_query query = { .fabric_only = true, .names = source->names };
	struct metrics_page *last = source->page;
	struct metrics_counters *counters;
	struct metrics_topology *topology;
	struct snapshot *snapshot;
	int code;

	if (!last || last->references > 1)
		return 0;
	free(last->ports);
	free(last->numbers);
	last->ports = NULL;
	last->numbers = NULL;
	code = snapshot_load(source->reader, &query, &snapshot, err);
	if (code < 0)
		return code;
	code = find_topology(source, snapshot->fabric, &topology, err);
	snapshot_destroy(snapshot);
	if (code < 0)
		return code;
	counters = take_counters(last, topology->fabric);
	if (!counters) {
		metrics_topology_release(topology);
		return err_nomem(err);
	}
	free(last->counters);
	last->counters = counters;
	metrics_topology_release(last->topology);
	last->topology = topology;
	return 0;
}

static void add_total(void *ctx, size_t place, const struct history_port *who, const struct history_sum *total)
{
	const struct metrics_page *page = ctx;
	uint32_t port = fabric_find_port(page->topology->fabric, who->node_guid, who->num);
	struct delta delta = total->sum;

	(void)place;
	delta.known = total->ever;
	if (port != FABRIC_NONE)
		metrics_counters_add(&page->counters[port], &delta);
}

/* Take over the counters of the last page, and add what was stored after its sweep. */
static int fill_counters(struct metrics_source *source, struct metrics_page *page, struct error *err)
{
	struct metrics_page *last = source->page;
	const struct history_query query = { .after = last ? last->status.last.id : 0, .until = page->status.last.id };

	page->counters = take_counters(last, page->topology->fabric);
	if (!page->counters)
		return err_nomem(err);
	return last ? reader_history_totals(source->reader, &query, add_total, page, err) : 0;
}

/* Was the port read, but has no counters yet? */
static bool is_new(const struct metrics_page *page, uint32_t port)
{
	return !page->counters[port].known && !page->ports[port].mirrored && page->ports[port].last_wall_us;
}

static void begin_port(void *ctx, uint32_t port, const struct reading *reading)
{
	struct metrics_page *page = ctx;

	if (!is_new(page, port))
		return;
	page->counters[port].known = reading->present;
	memcpy(page->counters[port].value, reading->value, sizeof(reading->value));
}

/* Counters begin at the absolute values, which take longer to read. */
static int begin_ports(struct metrics_source *source, struct metrics_page *page, struct error *err)
{
	const struct fabric *fabric = page->topology->fabric;

	for (uint32_t i = 0; i < fabric->port_count; i++)
		if (is_new(page, i))
			return reader_readings(source->reader, page->status.last.id, fabric, begin_port, page, err);
	return 0;
}

int metrics_fill_groups(struct reader *reader, const struct settings *settings, const struct snapshot *snapshot,
			struct metrics_page *page, struct error *err)
{
	struct balance_load *loads = calloc(snapshot->fabric->port_count + 1, sizeof(*loads));
	int64_t wall_us = page->status.last.wall_us;
	int64_t window_us = balance_window_us(&settings->health.balance, page->status.last.interval_us);
	const struct shape *shape = page->topology->shape;
	const struct shape_group *last = shape->group_count ? &shape->groups[shape->group_count - 1] : NULL;
	struct load_query query = { .since_us = wall_us - window_us, .until_us = wall_us, .snapshot = snapshot,
				    .ports = shape->members, .port_count = last ? last->first + last->count : 0 };
	struct balance_input input = { .shape = shape, .loads = loads, .window_us = (double)window_us };
	struct balance balance = { 0 };
	int code = loads ? 0 : err_nomem(err);

	if (code == 0 && query.port_count)
		code = reader_history_loads(reader, &query, loads, err);
	if (code > 0)
		code = balance_evaluate(&input, &settings->health.balance, &balance, err);
	page->group_count = balance.count;
	page->groups = calloc(balance.count + 1, sizeof(*page->groups));
	if (code == 0 && !page->groups)
		code = err_nomem(err);
	for (size_t i = 0; code == 0 && i < balance.count; i++) {
		const struct balance_result *result = &balance.results[i];
		const struct shape_group *group = &shape->groups[result->group];

		page->groups[i] = (struct metrics_group){
			.imbalance = result->state == BALANCE_ACTIVE ? result->excess : NAN,
			.mean = result->mean_utilization, .most = result->max_utilization,
		};
		for (uint32_t j = 0; j < group->count; j++)
			page->groups[i].active += result->members[j].works;
	}
	balance_done(&balance);
	free(loads);
	return code;
}

static int fill_groups(struct metrics_source *source, struct metrics_page *page, struct error *err)
{
	const struct snapshot_query query = { .fabric_only = true, .names = source->names };
	struct snapshot *topology;
	int code = snapshot_load(source->reader, &query, &topology, err);

	if (code < 0)
		return code;
	/* The topology of a later sweep may differ: the next page has groups again. */
	if (topology->fabric == page->topology->fabric)
		code = metrics_fill_groups(source->reader, source->settings, topology, page, err);
	snapshot_destroy(topology);
	return code;
}

/* Details of a page while they are read. */
struct reading_details {
	const struct metrics_page *last; /* or NULL */
	uint32_t *last_of; /* by port of the page's fabric: index into the details of the last page, plus 1 */
	struct metrics_page *page;
	int code;
	struct error *err;
};

/* The entry of the port of a row; NULL: it has none and needs none, or there is no memory. */
static struct metrics_detail *find_entry(struct reading_details *reading, const struct detail_row *row, uint32_t port)
{
	struct metrics_page *page = reading->page;
	struct metrics_detail *entry = page->detail_count ? &page->details[page->detail_count - 1] : NULL;
	const struct metrics_detail *last;
	bool counted = false;

	if (entry && entry->port == port)
		return entry;
	for (unsigned i = 0; i < detail_count(row->reading.attribute); i++)
		counted |= row->reading.present & 1U << i && row->reading.value[i];
	last = reading->last_of[port] ? &reading->last->details[reading->last_of[port] - 1] : NULL;
	if (!counted && !last)
		return NULL;
	entry = array_grow(page->details, page->detail_count, &page->detail_capacity, sizeof(*entry));
	if (!entry) {
		reading->code = err_nomem(reading->err);
		return NULL;
	}
	page->details = entry;
	entry += page->detail_count++;
	*entry = last ? *last : (struct metrics_detail){ .node_guid = row->node_guid, .num = row->port };
	entry->port = port;
	return entry;
}

static bool add_detail(void *ctx, const struct detail_row *row)
{
	struct reading_details *reading = ctx;
	uint32_t port = fabric_find_port(reading->page->topology->fabric, row->node_guid, row->port);
	struct metrics_detail *entry;

	if (port == FABRIC_NONE ||
	    (row->reading.attribute != DETAIL_RCV_ERRORS && row->reading.attribute != DETAIL_XMIT_DISCARDS))
		return true;
	entry = find_entry(reading, row, port);
	for (unsigned i = 0; entry && i < detail_count(row->reading.attribute); i++) {
		unsigned at = METRICS_DETAIL(row->reading.attribute, i);
		uint32_t value = row->reading.value[i];

		if (!(row->reading.present & 1U << i))
			continue;
		entry->value[at] += value >= entry->last[at] ? value - entry->last[at] : value;
		entry->last[at] = value;
		entry->known |= (uint16_t)(1U << at);
	}
	return reading->code == 0;
}

static int fill_details(struct metrics_source *source, struct metrics_page *page, struct error *err)
{
	struct reading_details reading = { .last = source->page, .page = page, .err = err };
	const struct detail_query query = { .port = -1 };
	const struct fabric *fabric = page->topology->fabric;
	int code;

	if (!source->schema->details)
		return 0;
	reading.last_of = calloc(fabric->port_count + 1, sizeof(*reading.last_of));
	if (!reading.last_of)
		return err_nomem(err);
	for (uint32_t i = 0; reading.last && i < reading.last->detail_count; i++) {
		const struct metrics_detail *detail = &reading.last->details[i];
		uint32_t port = fabric_find_port(fabric, detail->node_guid, detail->num);

		if (port != FABRIC_NONE)
			reading.last_of[port] = i + 1;
	}
	code = reader_details(source->reader, &query, add_detail, &reading, err);
	free(reading.last_of);
	return code < 0 ? code : reading.code;
}

static bool count_finding(void *ctx, const struct finding_row *row)
{
	struct metrics_page *page = ctx;

	if (row->acknowledged.at_us)
		page->acknowledged++;
	else if (!row->origin && (unsigned)row->finding.kind < FINDING_KIND_COUNT &&
		 row->finding.severity <= FINDING_CRITICAL)
		page->findings[row->finding.kind][row->finding.severity]++;
	return true;
}

int metrics_fill_findings(struct reader *reader, int64_t at_us, struct metrics_page *page, struct error *err)
{
	return reader_findings(reader, &(struct finding_query){ .at_us = at_us }, count_finding, page, err);
}

int metrics_fill_ports(struct reader *reader, const struct snapshot *snapshot, struct metrics_page *page,
		       struct error *err)
{
	const struct port_scope scope = { .snapshot = snapshot, .reference_us = snapshot->sweep.wall_us,
					  .newest = true };

	size_t count = 0;

	for (const struct column *column = port_columns; (column = metrics_column_next(column)); column++)
		page->number_count++;
	page->ports = calloc(snapshot->fabric->port_count + 1, sizeof(*page->ports));
	page->numbers = calloc(snapshot->fabric->port_count * page->number_count + 1, sizeof(*page->numbers));
	if (!page->ports || !page->numbers)
		return err_nomem(err);
	summary_begin(snapshot->fabric, &page->summary);
	for (uint32_t i = 0; i < snapshot->fabric->port_count; i++) {
		const struct port_row *row = &snapshot->rows[i];
		struct port_facts view;

		port_facts_of(&scope, i, &view);
		summary_add_port(&page->summary, snapshot, &view);
		page->ports[i] = (struct metrics_port){
			.last_wall_us = row->last_wall_us, .sample = (uint8_t)row->status, .mirrored = row->mirrored,
		};
		for (const struct column *column = port_columns; (column = metrics_column_next(column)); column++)
			page->numbers[count++] = measure_exact(column_measure(column, &view));
	}
	return summary_end(&page->summary, snapshot, reader, err);
}

/* What needs the counters of the snapshot: they are large, and are freed before the rest is read. */
static int fill_from_snapshot(struct metrics_source *source, const struct snapshot *snapshot,
			      struct metrics_page *page, struct error *err)
{
	int code = find_topology(source, snapshot->fabric, &page->topology, err);

	if (code == 0)
		code = reader_status(source->reader, &page->status, err);
	if (code < 0)
		return code;
	/* A sweep may have been stored in between: the page is of the snapshot's. */
	page->status.last = snapshot->sweep;
	return metrics_fill_ports(source->reader, snapshot, page, err);
}

static int page_build(struct metrics_source *source, bool live, struct error *err)
{
	const struct snapshot_query query = { .names = source->names };
	int64_t begin_us = clock_boottime_us(clock_system());
	struct metrics_page *page;
	struct snapshot *snapshot;
	int code = prepare_last(source, err);

	if (code == 0)
		code = snapshot_load(source->reader, &query, &snapshot, err);
	if (code < 0)
		return code;
	/* A database that was restored into the same file. */
	if (source->page && snapshot->sweep.id < source->page->status.last.id) {
		metrics_page_release(source->page);
		source->page = NULL;
	}
	page = calloc(1, sizeof(*page));
	code = page ? fill_from_snapshot(source, snapshot, page, err) : err_nomem(err);
	snapshot_destroy(snapshot);
	if (code == 0)
		code = fill_counters(source, page, err);
	if (code == 0)
		code = begin_ports(source, page, err);
	if (code == 0)
		code = fill_groups(source, page, err);
	if (code == 0)
		code = fill_details(source, page, err);
	if (code == 0)
		code = metrics_fill_findings(source->reader, 0, page, err);
	if (code == 0) {
		page->references = 1;
		page->schema = source->schema;
		page->live = live;
		page->build_s = (double)(clock_boottime_us(clock_system()) - begin_us) / 1e6;
		metrics_page_release(source->page);
		source->page = page;
	} else {
		page_free(page);
	}
	heap_give_back();
	return code;
}

/* Another file: there is no continuation, the counters begin again. */
static void forget_replaced(struct metrics_source *source)
{
	struct stat st;

	if (stat(source->path, &st) < 0 || (st.st_dev == source->device && st.st_ino == source->inode))
		return;
	source->device = st.st_dev;
	source->inode = st.st_ino;
	metrics_page_release(source->page);
	source->page = NULL;
}

static int refresh(struct metrics_source *source, const atomic_bool *stop, struct error *err)
{
	bool live = reader_has_collector(source->path);
	int64_t newest;
	int code;

	forget_replaced(source);
	code = source->reader ? 0 : reader_open(source->path, &source->reader, err);
	if (code == 0) {
		reader_set_stop(source->reader, stop);
		code = reader_newest(source->reader, &newest, err);
	}
	if (code == 0 && (!source->page || !source->page->ports || newest != source->page->status.last.id ||
			  live != source->page->live))
		code = page_build(source, live, err);
	return code;
}

int metrics_source_page(struct metrics_source *source, const atomic_bool *stop, struct metrics_page **ret,
			struct error *err)
{
	int code = refresh(source, stop, err);

	if (code < 0) {
		/* The counters of a page that failed are lost: the next one begins at absolute values. */
		if (source->page && !source->page->counters) {
			metrics_page_release(source->page);
			source->page = NULL;
		}
		reader_close(source->reader);
		source->reader = NULL;
		return code;
	}
	reader_set_stop(source->reader, NULL);
	source->page->references++;
	*ret = source->page;
	return 0;
}
