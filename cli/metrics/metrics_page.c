/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/metrics/metrics_page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis/balance.h"
#include "analysis/rate.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/process.h"
#include "base/when.h"
#include "cli/lib/settings.h"
#include "cli/metrics/metrics_families.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"
#include "storage/findings.h"
#include "storage/history.h"
#include "facts/health_rows.h"
#include "facts/moment.h"
#include "facts/port_columns.h"
#include "facts/port_facts.h"

void metrics_topology_destroy(struct metrics_topology *topology)
{
	if (!topology)
		return;
	shape_destroy(topology->shape);
	fabric_destroy(topology->fabric);
	free(topology->label_at);
	text_done(&topology->labels);
	free(topology);
}

static void page_clear(struct metrics_page *page)
{
	metrics_topology_destroy(page->topology);
	free(page->counters);
	free(page->ports);
	free(page->numbers);
	free(page->groups);
	free(page->details);
	free(page->readings);
	*page = (struct metrics_page){ .counted = 0 };
}

bool metrics_source_close(struct metrics_source *source)
{
	if (source->is_used)
		return false;
	reader_close(source->reader);
	source->reader = NULL;
	source->page.is_complete = false;
	return true;
}

bool metrics_source_done(struct metrics_source *source)
{
	if (!metrics_source_close(source))
		return false;
	page_clear(&source->page);
	return true;
}

void metrics_port_labels(const struct metrics_topology *topology, uint32_t port, struct text *ret)
{
	text_append_bytes(ret, topology->labels.chars + topology->label_at[port],
			  topology->label_at[port + 1] - topology->label_at[port]);
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
	topology->fabric = fabric_share(fabric);
	topology->label_at = calloc(fabric->port_count + 1, sizeof(*topology->label_at));
	code = topology->label_at ?
		shape_create(fabric, &settings->shape, &topology->shape, err) : err_nomem(err);
	for (uint32_t i = 0; code == 0 && i < fabric->port_count; i++) {
		text_clear(&labels);
		schema->port_labels(fabric, i, &labels);
		if (encode)
			encode(text_chars(&labels), external, &topology->labels);
		else
			text_append(&topology->labels, text_chars(&labels));
		topology->label_at[i + 1] = (uint32_t)topology->labels.len;
	}
	if (code == 0 && (text_failed(&labels) || text_failed(&topology->labels)))
		code = err_nomem(err);
	text_done(&labels);
	if (code < 0) {
		metrics_topology_destroy(topology);
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

/* Move the page to a fabric; counters stay with their ports. */
static int move_page(struct metrics_source *source, struct fabric *fabric, struct error *err)
{
	struct metrics_page *page = &source->page;
	const struct fabric *last = page->topology ? page->topology->fabric : NULL;
	struct metrics_topology *topology = NULL;
	struct metrics_counters *counters;
	struct metrics_detail *details;
	int code;

	if (last == fabric)
		return 0;
	counters = calloc(fabric->port_count + 1, sizeof(*counters));
	details = calloc(source->schema->details ? fabric->port_count + 1 : 1, sizeof(*details));
	code = counters && details ? metrics_topology_create(fabric, source->settings, source->schema, NULL, NULL,
							     &topology, err) : err_nomem(err);
	for (uint32_t i = 0; code == 0 && last && i < fabric->port_count; i++) {
		const struct port *port = &fabric->ports[i];
		uint32_t then = fabric_find_port(last, fabric->nodes[port->node].guid, port->num);

		if (then == FABRIC_NONE)
			continue;
		counters[i] = page->counters[then];
		if (source->schema->details)
			details[i] = page->details[then];
	}
	free(code < 0 ? counters : page->counters);
	free(code < 0 ? details : page->details);
	metrics_topology_destroy(code < 0 ? topology : page->topology);
	if (code < 0)
		return code;
	page->counters = counters;
	page->details = details;
	page->topology = topology;
	return 0;
}

static void add_total(void *ctx, size_t place, const struct history_port *who, const struct history_sum *total)
{
	const struct metrics_page *page = ctx;
	uint32_t port = fabric_find_port(page->topology->fabric, who->node_guid, who->num);
	struct delta delta = total->sum;

	(void)place;
	delta.known = total->ever;
	if (port == FABRIC_NONE)
		return;
	metrics_counters_add(&page->counters[port], &delta);
	if (page->counters[port].known & delta.known & COUNTER_BIT(COUNTER_XMIT_WAIT))
		page->counters[port].wait_s += (double)delta.value[COUNTER_XMIT_WAIT] * page->counters[port].tick_s;
}

/* Add what was stored after the sweep of the last page. Counters that were not completely added to begin again. */
static int fill_counters(struct metrics_source *source, struct error *err)
{
	struct metrics_page *page = &source->page;
	const struct history_query query = { .after = page->counted, .until = page->status.last.id };
	int code = page->counted ? reader_history_totals(source->reader, &query, add_total, page, err) : 0;

	if (code < 0)
		page_clear(page);
	else
		page->counted = page->status.last.id;
	return code;
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
	if (reading->present & COUNTER_BIT(COUNTER_XMIT_WAIT))
		page->counters[port].wait_s = (double)reading->value[COUNTER_XMIT_WAIT] * page->counters[port].tick_s;
}

/* Counters begin at the absolute values, which take longer to read. */
static int begin_ports(struct metrics_source *source, struct error *err)
{
	struct metrics_page *page = &source->page;
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
	int64_t window_us;
	const struct shape *shape = page->topology->shape;
	const struct shape_group *last = shape->group_count ? &shape->groups[shape->group_count - 1] : NULL;
	struct load_query query = { .until_us = wall_us, .snapshot = snapshot,
				    .ports = shape->members, .port_count = last ? last->first + last->count : 0 };
	struct balance_input input = { .shape = shape, .loads = loads };
	struct balance_settings limits = { 0 };
	struct balance balance = { 0 };
	int code = loads ? settings_balance(settings, reader, &limits, err) : err_nomem(err);

	window_us = balance_window_us(&limits, page->status.last.interval_us);
	query.since_us = wall_us - window_us;
	input.window_us = (double)window_us;
	if (code == 0 && query.port_count)
		code = reader_history_loads(reader, &query, loads, err);
	if (code > 0)
		code = balance_evaluate(&input, &limits, &balance, err);
	free(page->groups);
	page->group_count = balance.count;
	page->groups = calloc(balance.count + 1, sizeof(*page->groups));
	if (code == 0 && !page->groups)
		code = err_nomem(err);
	for (size_t i = 0; code == 0 && i < balance.count; i++) {
		const struct balance_result *result = &balance.results[i];
		const struct shape_group *group = &shape->groups[result->group];

		page->groups[i] = (struct metrics_group){
			.imbalance = result->state == BALANCE_ACTIVE ? measure_exact(balance_excess(result)) : NAN,
			.mean = measure_exact(balance_mean(result)), .most = measure_exact(balance_max(result)),
		};
		for (uint32_t j = 0; j < group->count; j++)
			page->groups[i].active += result->members[j].works;
	}
	balance_done(&balance);
	free(loads);
	return code;
}

/* Stops without memory: fewer readings than there are. */
static bool add_reading(void *ctx, const struct detail_row *row)
{
	struct metrics_page *page = ctx;
	uint32_t port = fabric_find_port(page->topology->fabric, row->node_guid, row->port);
	struct metrics_reading *readings;

	if (port == FABRIC_NONE || detail_is_state((enum detail_attribute)row->reading.attribute))
		return true;
	readings = array_grow(page->readings, page->reading_count, &page->reading_capacity, sizeof(*readings));
	if (!readings)
		return false;
	page->readings = readings;
	readings[page->reading_count++] = (struct metrics_reading){ port, row->reading };
	return true;
}

static bool add_detail(void *ctx, const struct detail_row *row)
{
	struct metrics_page *page = ctx;
	const struct detail_reading *reading = &row->reading;
	uint32_t port = fabric_find_port(page->topology->fabric, row->node_guid, row->port);
	struct metrics_detail *detail = port != FABRIC_NONE ? &page->details[port] : NULL;
	bool counted = detail && detail->known;

	if (!detail || (reading->attribute != DETAIL_RCV_ERRORS && reading->attribute != DETAIL_XMIT_DISCARDS))
		return true;
	for (unsigned i = 0; i < detail_count(reading->attribute); i++)
		counted |= reading->present & 1U << i && reading->value[i];
	for (unsigned i = 0; counted && i < detail_count(reading->attribute); i++) {
		unsigned at = METRICS_DETAIL(reading->attribute, i);
		uint64_t value = reading->value[i];

		if (!(reading->present & 1U << i))
			continue;
		detail->value[at] += value >= detail->last[at] ? value - detail->last[at] : value;
		detail->last[at] = value;
		detail->known |= (uint16_t)(1U << at);
	}
	return true;
}

int metrics_fill_findings(struct reader *reader, int64_t at_us, struct metrics_page *page, struct error *err)
{
	const struct moment moment = { .reader = reader };
	const struct health_filter all = { .all = true };
	struct health_rows rows;
	int code = health_load(&moment, &all, &(struct finding_query){ .at_us = at_us }, &rows, err);

	memset(page->findings, 0, sizeof(page->findings));
	page->acknowledged = page->open_count = 0;
	for (size_t i = 0; code == 0 && i < rows.count; i++) {
		const struct finding *finding = &rows.list[i].row.finding;
		struct metrics_finding *open = &page->open[page->open_count];

		if (rows.list[i].place == HEALTH_ACKNOWLEDGED)
			page->acknowledged++;
		if (!health_counts(&rows.list[i]) || (unsigned)finding->kind >= FINDING_KIND_COUNT ||
		    finding->severity > FINDING_CRITICAL)
			continue;
		page->findings[finding->kind][finding->severity]++;
		if (page->open_count == METRICS_FINDINGS_MOST)
			continue;
		page->open_count++;
		*open = (struct metrics_finding){ finding->id, finding->kind, finding->severity, "", "" };
		snprintf(open->subject, sizeof(open->subject), "%s", finding->subject);
		snprintf(open->cause, sizeof(open->cause), "%s", finding->cause ? finding->cause : "");
	}
	if (code == 0)
		health_rows_done(&rows);
	return code;
}

static bool add_job(void *ctx, const struct job *job)
{
	struct metrics_page *page = ctx;
	int64_t at_us = page->status.last.wall_us;
	struct metrics_batch_job *added = &page->jobs[page->job_count % METRICS_JOBS_MOST];

	if (job->end_us && job->end_us <= at_us)
		return true;
	memcpy(added->id, job->id, sizeof(added->id));
	memcpy(added->name, job->name, sizeof(added->name));
	memcpy(added->labels, job->labels, sizeof(added->labels));
	added->rhythm = job_rhythm_of(&job->minute, 0);
	if (at_us - added->rhythm.wall_us > JOB_RHYTHM_RECENT_US)
		added->rhythm = job_rhythm_of(&(struct job_minute){ 0 }, 0);
	page->job_count++;
	return true;
}

int metrics_fill_jobs(struct reader *reader, struct metrics_page *page, struct error *err)
{
	int64_t at_us = page->status.last.wall_us;
	const struct job_query query = { .since_us = at_us, .until_us = at_us, .at_us = at_us };
	int code;

	page->job_count = 0;
	code = jobs_list(reader, &query, NULL, add_job, page, err);
	if (page->job_count > METRICS_JOBS_MOST)
		page->job_count = METRICS_JOBS_MOST;
	return code;
}

int metrics_fill_ports(struct reader *reader, const struct snapshot *snapshot, struct metrics_page *page,
		       struct error *err)
{
	const struct port_scope scope = { .snapshot = snapshot, .reference_us = snapshot->sweep.wall_us,
					  .newest = true };

	size_t count = 0;

	page->number_count = 0;
	for (const struct column *column = port_columns; (column = metrics_column_next(column)); column++)
		page->number_count++;
	page->ports = calloc(snapshot->fabric->port_count + 1, sizeof(*page->ports));
	page->numbers = calloc(snapshot->fabric->port_count * page->number_count + 1, sizeof(*page->numbers));
	if (!page->ports || !page->numbers)
		return err_nomem(err);
	summary_begin(snapshot->fabric, &page->summary);
	for (uint32_t i = 0; i < snapshot->fabric->port_count; i++) {
		const struct port_row *row = &snapshot->rows[i];
		struct port_facts port;

		port_facts_of(&scope, i, &port);
		summary_add_port(&page->summary, snapshot, &port);
		page->ports[i] = (struct metrics_port){
			.last_wall_us = row->last_wall_us, .sample = (uint8_t)row->status, .mirrored = row->mirrored,
		};
		for (const struct column *column = port_columns; (column = metrics_column_next(column)); column++)
			page->numbers[count++] = measure_exact(column_measure(column, &port));
	}
	return summary_end(&page->summary, snapshot, reader, err);
}

/* A port that is down keeps its tick, for what it counted before; not if it was never of that length. */
static void fill_ticks(const struct snapshot *snapshot, struct metrics_page *page)
{
	for (uint32_t i = 0; snapshot->caps && i < snapshot->fabric->port_count; i++) {
		const struct port *port = &snapshot->fabric->ports[i];
		double tick_s = stall_tick_s(&snapshot->fabric->nodes[port->node], port, &snapshot->caps[port->node]);

		if (!isnan(tick_s))
			page->counters[i].tick_s = tick_s;
		else if (snapshot->caps[port->node].wait_contradicted)
			page->counters[i].tick_s = 0;
	}
}

static int fill_from_snapshot(struct metrics_source *source, struct error *err)
{
	const struct snapshot_query query = { .names = source->names };
	struct metrics_page *page = &source->page;
	struct snapshot *snapshot;
	int code;

	/* They are large, and so is the snapshot. */
	free(page->ports);
	free(page->numbers);
	page->ports = NULL;
	page->numbers = NULL;
	code = snapshot_load(source->reader, &query, &snapshot, err);
	if (code < 0)
		return code;
	/* A database that was restored into the same file. */
	if (snapshot->sweep.id < page->counted)
		page_clear(page);
	code = move_page(source, snapshot->fabric, err);
	if (code == 0)
		fill_ticks(snapshot, page);
	if (code == 0)
		code = reader_status(source->reader, &page->status, err);
	/* A sweep may have been stored in between: the page is of the snapshot's. */
	page->status.last = snapshot->sweep;
	if (code == 0)
		code = metrics_fill_ports(source->reader, snapshot, page, err);
	if (code == 0)
		code = metrics_fill_groups(source->reader, source->settings, snapshot, page, err);
	snapshot_destroy(snapshot);
	return code;
}

static int page_build(struct metrics_source *source, bool live, struct error *err)
{
	int64_t begin_us = clock_boottime_us(clock_system());
	struct metrics_page *page = &source->page;
	int code;

	page->is_complete = false;
	code = fill_from_snapshot(source, err);
	if (code == 0)
		code = fill_counters(source, err);
	if (code == 0)
		code = begin_ports(source, err);
	if (code == 0 && source->schema->details)
		code = reader_details(source->reader, &(struct detail_query){ .port = -1,
				      .attributes = 1u << DETAIL_RCV_ERRORS | 1u << DETAIL_XMIT_DISCARDS },
				      add_detail, page, err);
	page->reading_count = 0;
	if (code == 0 && source->details)
		code = reader_details(source->reader, &(struct detail_query){ .port = -1 }, add_reading, page, err);
	if (code == 0)
		code = metrics_fill_findings(source->reader, 0, page, err);
	if (code == 0)
		code = metrics_fill_jobs(source->reader, page, err);
	page->is_complete = code == 0;
	page->schema = source->schema;
	page->live = live;
	page->served_since_us = source->served_since_us;
	page->build_s = (double)(clock_boottime_us(clock_system()) - begin_us) / 1e6;
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
	page_clear(&source->page);
}

bool metrics_is_stale(const struct db_status *status)
{
	int64_t age_us = when_age_us(clock_wall_us(clock_system()), status->last.wall_us);

	return status->live ? health_is_stale(&status->last, age_us) : sweep_is_late(&status->last, age_us);
}

int metrics_source_page(struct metrics_source *source, const atomic_bool *stop, const struct metrics_page **ret,
			struct error *err)
{
	bool live = reader_has_collector(source->path);
	struct metrics_page *page = &source->page;
	int64_t newest;
	int code;

	forget_replaced(source);
	code = source->reader ? 0 : reader_open(source->path, &source->reader, err);
	if (code == 0) {
		reader_set_stop(source->reader, stop);
		code = reader_newest(source->reader, &newest, err);
	}
	if (code == 0 && (!page->is_complete || newest != page->status.last.id || live != page->live))
		code = page_build(source, live, err);
	if (code < 0) {
		reader_close(source->reader);
		source->reader = NULL;
		return code;
	}
	reader_set_stop(source->reader, NULL);
	page->status.live = live;
	page->is_stale = source->served_since_us && metrics_is_stale(&page->status);
	*ret = page;
	return 0;
}
