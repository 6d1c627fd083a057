/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* status_fabric.c - the sections about the fabric of the page of HTML that begins with its status */
#include "pages/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/balance.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "base/when.h"
#include "export/columns.h"
#include "export/page.h"
#include "fabric/fabric.h"
#include "fabric/names.h"
#include "fabric/shape.h"
#include "facts/event_columns.h"
#include "facts/heat.h"
#include "facts/saved_columns.h"
#include "pages/health.h"
#include "pages/history.h"
#include "storage/history.h"
#include "storage/jobs.h"
#include "storage/reader.h"

/* Limits that keep the page under 100 KB. */
enum { FINDINGS_BYTES = 34000, CELLS_MOST = 800, COLUMNS_MOST = 48, LINKS_MOST = 12, JOBS_MOST = 10, EVENTS_MOST = 12 };
enum { TREND_HOURS = 6, EVENTS_HOURS = 24 };

struct fabric_page {
	struct moment *moment;
	struct page *page;
	struct balance_load *loads; /* by port: of the window of `ibwire balance`; of the page */
	const char *window;         /* its length */
	struct { uint32_t port; double percent; } busiest[LINKS_MOST + 1];
	size_t busiest_count;
};

/* --- verdict and findings --- */

/* "spine" for spine.db; "" for fabric.db, the default. */
static const char *fabric_name(const char *path, struct page *page)
{
	const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	size_t len = strcspn(base, ".");

	return len == strlen("fabric") && !strncmp(base, "fabric", len) ? "" :
	       page_print(page, " %.*s", (int)len, base);
}

static void add_verdict(const struct status *status, const struct health_filter *filter, bool links, struct page *page)
{
	static const enum page_state states[] = { PAGE_GOOD, PAGE_WARNING, PAGE_CRITICAL };
	const struct sweep_info *sweep = status->moment.snapshot ? &status->moment.snapshot->sweep : NULL;
	bool is_live = status->state.is_live, past = status->at_us;
	enum page_state worst = states[health_worst(&status->findings)];
	struct text summary = { 0 };
	char time[WHEN_SIZE];

	if (sweep)
		health_append_summary(&status->moment, filter, &status->findings, &summary);
	else
		text_append(&summary, status->state.text);
	/* Without current or complete data nothing is clean. */
	if (!is_live && !past && worst == PAGE_GOOD)
		worst = PAGE_WARNING;
	if (worst == PAGE_GOOD && sweep && sweep->ports_answered < sweep->ports_polled)
		worst = PAGE_INFO;
	page_add(page, &(struct page_section){ .kind = PAGE_VERDICT, .in = PAGE_HTML, .state = worst, .verdict = {
		.heading = page_print(page, "InfiniBand fabric%s%s%s", fabric_name(status->path, page),
				      sweep ? " at " : "", sweep ? when_format_local(sweep->wall_us, time) : ""),
		.detail = past ? "a moment of the past" :
			  links ? "this page reloads every " STATUS_RELOAD_S " s" : NULL,
		.sentence = page_keep(page, &summary),
		.note = !is_live && sweep ? status->state.text : NULL,
		.note_state = past ? PAGE_PLAIN : PAGE_WARNING,
	} });
}

static int add_findings(struct status *status, bool links, struct page *page, struct error *err)
{
	const struct health_filter filter = { .is_page = true };
	const struct health_layout layout = { .in = PAGE_HTML, .title = "Findings", .none = "No open findings.",
					      .links = links, .html_most = FINDINGS_BYTES };
	const struct finding_query query = { .at_us = status->at_us };
	int code = status->moment.snapshot ? health_load(&status->moment, &filter, &query, &status->findings, err) : 0;

	if (code == 0)
		add_verdict(status, &filter, links, page);
	if (code == 0 && status->moment.snapshot)
		health_add_findings(status->moment.reference_us, &filter, &status->findings, &layout, page);
	return code;
}

/* --- load between leaves and spines, busiest links --- */

/* Of the busier direction. */
static double utilization(const struct fabric_page *of, uint32_t port)
{
	const struct balance_load *load = &of->loads[port];
	uint64_t bits_per_s = port_rate_bits_per_s(&of->moment->fabric->ports[port]);

	if (!load->known || !(load->elapsed_us > 0) || !bits_per_s)
		return NAN;
	return 8e8 * fmax(load->xmit_bytes, load->rcv_bytes) / load->elapsed_us / (double)bits_per_s;
}

/* The same from the counters of either end. */
static double link_utilization(const struct fabric_page *of, uint32_t port)
{
	uint32_t peer = of->moment->fabric->ports[port].peer;
	double own = utilization(of, port);

	return isnan(own) && peer != FABRIC_NONE ? utilization(of, peer) : own;
}

static double map_load(const void *ctx, uint32_t port)
{
	return link_utilization(ctx, port);
}

struct leaf {
	uint32_t node, row; /* of the heat map */
	double highest;     /* utilization of its links; NAN: unknown */
};

struct load_map {
	struct heat heat;     /* of all leaves and spines, in percent */
	struct leaf *leaves;  /* the first ones are rows */
	uint32_t *columns;    /* nodes */
	uint32_t *column_of;  /* by node: column plus 1; 0: none */
	size_t leaf_count, row_count, column_count;
	const char **names;   /* of rows, then of columns; their GUIDs */
	uint64_t *ids;
	double *values;
	struct page_place *places; /* parallel: the port of the leaf with this value */
};

static int compare_highest(const void *a, const void *b)
{
	const struct leaf *x = a, *y = b;

	if (isnan(x->highest) || isnan(y->highest))
		return isnan(x->highest) - isnan(y->highest);
	return (x->highest < y->highest) - (x->highest > y->highest);
}

/* Both leaves and columns begin with the index of a node. */
static int compare_names(const void *a, const void *b, void *ctx)
{
	char **names = ctx;

	return names_compare(names[*(const uint32_t *)a], names[*(const uint32_t *)b]);
}

/* Add the spines of a leaf. Return: false: there would be too many cells. */
static bool add_columns(const struct leaf *leaf, struct load_map *map)
{
	size_t before = map->column_count;

	for (size_t i = 0; i < heat_columns(&map->heat, leaf->row); i++) {
		uint32_t node = heat_column(&map->heat, leaf->row, i);

		if (!heat_cell(&map->heat, leaf->row, i)->links || map->column_of[node])
			continue;
		map->columns[map->column_count++] = node;
		map->column_of[node] = 1;
	}
	if (!map->row_count ||
	    ((map->row_count + 1) * map->column_count <= CELLS_MOST && map->column_count <= COLUMNS_MOST))
		return true;
	while (map->column_count > before)
		map->column_of[map->columns[--map->column_count]] = 0;
	return false;
}

/* Choose the busiest leaves until the map is full, then sort by name. */
static void choose_nodes(struct fabric_page *of, struct load_map *map)
{
	const struct shape *shape = of->moment->shape;
	char **names = of->moment->names_shown.names;

	for (size_t row = 0; row < map->heat.row_count; row++) {
		struct leaf *leaf = &map->leaves[map->leaf_count];

		*leaf = (struct leaf){ map->heat.rows[row], (uint32_t)row, NAN };
		if (shape->nodes[leaf->node].up_group == SHAPE_NONE)
			continue;
		for (size_t i = 0; i < heat_columns(&map->heat, row); i++)
			leaf->highest = fmax(leaf->highest,
					     (double)heat_cell(&map->heat, row, i)->value[HEAT_MEASURED]);
		map->leaf_count++;
	}
	qsort(map->leaves, map->leaf_count, sizeof(*map->leaves), compare_highest);
	while (map->row_count < map->leaf_count && add_columns(&map->leaves[map->row_count], map))
		map->row_count++;
	if (map->column_count > COLUMNS_MOST)
		map->column_count = COLUMNS_MOST;
	qsort_r(map->leaves, map->row_count, sizeof(*map->leaves), compare_names, names);
	qsort_r(map->columns, map->column_count, sizeof(*map->columns), compare_names, names);
}

/* A link of a leaf that is down marks the cell of its last spine. */
static int mark_down(const struct fabric_page *of, const struct load_map *map, size_t row, uint32_t port,
		     struct error *err)
{
	const struct fabric *fabric = of->moment->fabric;
	struct past_peer peer;
	char name[PORT_NAME_SIZE];
	int code = reader_last_peer(of->moment->reader, fabric->nodes[fabric->ports[port].node].guid,
				    fabric->ports[port].num, of->moment->at_us, &peer, err);
	uint32_t node = code > 0 ? fabric_find_node(fabric, peer.guid) : FABRIC_NONE;
	uint32_t column = node == FABRIC_NONE ? 0 : map->column_of[node];

	if (code <= 0 || !column)
		return code < 0 && code != ERR_UNAVAILABLE ? code : 0;
	order_port_name(&of->moment->names_shown, fabric, port, name);
	map->places[row * map->column_count + column - 1] = (struct page_place){
		.id = map->ids[row], .number = fabric->ports[port].num,
		.problem = page_print(of->page, "the link of %s to %s/%u is down", name,
				      of->moment->names_shown.names[node], peer.port) };
	return 0;
}

static int fill_map(const struct fabric_page *of, struct load_map *map, struct error *err)
{
	const struct fabric *fabric = of->moment->fabric;
	int code = 0;

	memset(map->column_of, 0, fabric->node_count * sizeof(*map->column_of));
	for (size_t i = 0; i < map->column_count; i++) {
		map->column_of[map->columns[i]] = (uint32_t)i + 1;
		map->names[map->row_count + i] = of->moment->names_shown.names[map->columns[i]];
		map->ids[map->row_count + i] = fabric->nodes[map->columns[i]].guid;
	}
	for (size_t i = 0; i < map->row_count * map->column_count; i++)
		map->values[i] = NAN;
	for (size_t row = 0; row < map->row_count && code == 0; row++) {
		uint32_t leaf = map->leaves[row].node;

		map->names[row] = of->moment->names_shown.names[leaf];
		map->ids[row] = fabric->nodes[leaf].guid;
		for (size_t i = 0; i < heat_columns(&map->heat, map->leaves[row].row); i++) {
			const struct heat_cell *cell = heat_cell(&map->heat, map->leaves[row].row, i);
			uint32_t column = map->column_of[heat_column(&map->heat, map->leaves[row].row, i)];
			size_t at = row * map->column_count + column - 1;

			if (!column || !cell->links)
				continue;
			map->values[at] = (double)cell->value[HEAT_MEASURED];
			map->places[at] = (struct page_place){ map->ids[row], fabric->ports[cell->port].num, NULL };
		}
		for (uint32_t i = 0; i < fabric->nodes[leaf].port_count && code == 0; i++) {
			uint32_t port = fabric->nodes[leaf].first_port + i;

			if (fabric->ports[port].state == PORT_DOWN)
				code = mark_down(of, map, row, port, err);
		}
	}
	return code;
}

static int add_map(struct fabric_page *of, struct error *err)
{
	size_t nodes = of->moment->fabric->node_count + 1;
	const struct heat_source source = { .shape = of->moment->shape, .nodes = of->moment->names_shown.nodes,
					    .tier = 1, .load = map_load, .ctx = of };
	struct page *page = of->page;
	struct load_map map = {
		.leaves = page_alloc(page, nodes, sizeof(*map.leaves)),
		.columns = page_alloc(page, nodes, sizeof(*map.columns)),
		.column_of = page_alloc(page, nodes, sizeof(*map.column_of)),
		.names = page_alloc(page, 2 * nodes, sizeof(*map.names)),
		.ids = page_alloc(page, 2 * nodes, sizeof(*map.ids)),
		.values = page_alloc(page, CELLS_MOST + COLUMNS_MOST, sizeof(*map.values)),
		.places = page_alloc(page, CELLS_MOST + COLUMNS_MOST, sizeof(*map.places)),
	};
	int code;

	if (!map.leaves || !map.columns || !map.column_of || !map.names || !map.ids || !map.values || !map.places)
		return err_nomem(err);
	code = heat_create(&source, &map.heat, err);
	if (code < 0)
		return code;
	choose_nodes(of, &map);
	code = fill_map(of, &map, err);
	heat_done(&map.heat);
	if (code < 0 || !map.row_count)
		return code;
	page_add(page, &(struct page_section){ .kind = PAGE_PART, .in = PAGE_HTML });
	page_add(page, &(struct page_section){ .kind = PAGE_MATRIX, .in = PAGE_HTML, .heat = {
		.title = page_print(page, "Busiest link of each leaf and spine, %% of its rate, mean of %s",
				    of->window),
		.row_names = map.names, .column_names = map.names + map.row_count,
		.row_ids = map.ids, .column_ids = map.ids + map.row_count,
		.rows = map.row_count, .columns = map.column_count, .values = map.values, .places = map.places,
	} });
	page_add_note(page, PAGE_HTML, true,
		      "Higher of both directions. \u00b7: no link, or unknown. \u2716: a link is down.");
	if (map.row_count < map.leaf_count)
		page_add_note(page, PAGE_HTML, true, "These are the busiest of %zu leaves; all: ibwire balance --all",
			      map.leaf_count);
	page_close(page);
	return 0;
}

enum { LINK_PORT, LINK_PEER, LINK_UTIL, LINK_TX, LINK_RX, LINK_STALL, LINK_COLUMNS };

static const struct column link_columns[LINK_COLUMNS] = {
	[LINK_PORT] = { .title = "Port", .kind = COLUMN_TEXT },
	[LINK_PEER] = { .title = "Peer", .kind = COLUMN_TEXT },
	[LINK_UTIL] = { .title = "Max util", .kind = COLUMN_PERCENT },
	[LINK_TX] = { .title = "TX", .kind = COLUMN_RATE },
	[LINK_RX] = { .title = "RX", .kind = COLUMN_RATE },
	[LINK_STALL] = { .title = "XmitWait", .kind = COLUMN_PERCENT, .measured = true },
};

static void put_percent(struct result *result, size_t column, double percent)
{
	result_real(result, column, percent);
	if (!isnan(percent))
		result_showf(result, column, STYLE_PLAIN, "%.1f %%", percent);
}

static void put_target(struct result *result, size_t column, const struct fabric *fabric, uint32_t port)
{
	result_target(result, column, fabric->nodes[fabric->ports[port].node].guid, fabric->ports[port].num);
}

static void put_busiest(struct result *result, const void *ctx)
{
	const struct fabric_page *of = ctx;
	const struct fabric *fabric = of->moment->fabric;
	char name[PORT_NAME_SIZE];

	for (size_t i = 0; i < of->busiest_count; i++) {
		uint32_t port = of->busiest[i].port;
		const struct balance_load *load = &of->loads[port];

		order_port_name(&of->moment->names_shown, fabric, port, name);
		result_text(result, LINK_PORT, name);
		put_target(result, LINK_PORT, fabric, port);
		order_port_name(&of->moment->names_shown, fabric, fabric->ports[port].peer, name);
		result_text(result, LINK_PEER, name);
		put_target(result, LINK_PEER, fabric, fabric->ports[port].peer);
		put_percent(result, LINK_UTIL, of->busiest[i].percent);
		result_real(result, LINK_TX, load->xmit_bytes * 1e6 / load->elapsed_us);
		result_real(result, LINK_RX, load->rcv_bytes * 1e6 / load->elapsed_us);
		put_percent(result, LINK_STALL, 100 * load->stall);
		if (load->stall > 0 && load->stall_at_least)
			result_at_least(result, LINK_STALL);
		result_end_row(result);
	}
	result_none(result, "No link carries traffic.");
}

/* Each link once, by the end with counters. */
static void add_busiest(struct fabric_page *of)
{
	const struct fabric *fabric = of->moment->fabric;

	for (uint32_t i = 0; i < fabric->port_count; i++) {
		uint32_t peer = fabric->ports[i].peer;
		double percent = utilization(of, i);
		size_t at = of->busiest_count;

		if (!(percent > 0) || peer == FABRIC_NONE || (peer < i && of->loads[peer].known))
			continue;
		for (; at > 0 && of->busiest[at - 1].percent < percent; at--)
			of->busiest[at] = of->busiest[at - 1];
		of->busiest[at].port = i;
		of->busiest[at].percent = percent;
		of->busiest_count += of->busiest_count < LINKS_MOST;
	}
	page_add(of->page, &(struct page_section){ .kind = PAGE_PART, .in = PAGE_HTML });
	page_add(of->page, &(struct page_section){
		.kind = PAGE_TABLE, .in = PAGE_HTML,
		.title = page_print(of->page, "Links with the highest load, mean of %s", of->window),
		.table = { link_columns, LINK_COLUMNS, put_busiest, of } });
	page_close(of->page);
}

static int add_loads(struct status *status, struct page *page, struct error *err)
{
	struct moment *moment = &status->moment;
	const struct sweep_info *sweep = &moment->snapshot->sweep;
	struct load_query query = { .until_us = sweep->wall_us, .snapshot = moment->snapshot };
	struct fabric_page *of = page_alloc(page, 1, sizeof(*of));
	char span[WHEN_SIZE];
	int64_t window_us;
	int code;

	if (!of)
		return err_nomem(err);
	of->moment = moment;
	of->page = page;
	of->loads = page_alloc(page, moment->fabric->port_count + 1, sizeof(*of->loads));
	if (!of->loads)
		return err_nomem(err);
	window_us = balance_window_us(status->limits, sweep->interval_us);
	query.since_us = sweep->wall_us - window_us;
	of->window = page_print(page, "%s", when_format_span(window_us, span));
	code = reader_history_loads(moment->reader, &query, of->loads, err);
	if (code >= 0)
		code = moment_find_shape(moment, err);
	if (code < 0)
		return code;
	page_add(page, &(struct page_section){ .kind = PAGE_CARD, .in = PAGE_HTML, .title = "Load" });
	page_add(page, &(struct page_section){ .kind = PAGE_ROW, .in = PAGE_HTML });
	code = add_map(of, err);
	add_busiest(of);
	page_close(page);
	page_close(page);
	return code;
}

/* --- rate, stall and errors --- */

static bool fill_subject(const struct fabric *fabric, enum node_type type, struct history_subject *ret)
{
	ret->ports = calloc(fabric->port_count + 1, sizeof(*ret->ports));
	for (uint32_t i = 0; ret->ports && i < fabric->port_count; i++)
		if (fabric->nodes[fabric->ports[i].node].type == type && port_is_pollable(fabric, &fabric->ports[i]))
			ret->ports[ret->port_count++] = i;
	return ret->ports;
}

static int add_trend(struct status *status, struct page *page, struct error *err)
{
	static char hcas[] = "HCAs", switches[] = "switches";
	struct history_subject items[] = { { .name = hcas }, { .name = switches } };
	const struct moment *moment = &status->moment;
	struct history_window window = { .moment = moment, .until_us = moment->snapshot->sweep.wall_us };
	int code = fill_subject(moment->fabric, NODE_CA, &items[0]) &&
		   fill_subject(moment->fabric, NODE_SWITCH, &items[1]) ? 0 : err_nomem(err);

	window.since_us = window.until_us - TREND_HOURS * 3600 * US_PER_S;
	if (code == 0)
		code = history_window_find(&window, err);
	if (code > 0) {
		page_add(page, &(struct page_section){ .kind = PAGE_CARD, .title = "Last hours" });
		code = history_add_plots(&window, items, 2, PAGE_HTML, 1, NULL, 0, page, err);
		page_close(page);
	}
	status->damage = window.damage;
	free(items[0].ports);
	free(items[1].ports);
	return code;
}

/* --- jobs and events --- */

static const struct column_source job_sources[] = {
	{ .columns = job_columns }, { .columns = job_rhythm_columns, .row = JOB_RHYTHM_ROW },
};
static const struct column_item job_items[] = {
	{ .key = "id", .table = true }, { .key = "name", .table = true }, { .key = "hosts", .table = true },
	{ .key = "begin", .table = true }, { .key = "duration_us", .table = true }, { .key = "ending", .table = true },
	{ .key = "period_s", .row = JOB_RHYTHM_ROW, .table = true },
	{ .key = "wire_percent", .row = JOB_RHYTHM_ROW, .table = true },
	{ .key = "phase", .row = JOB_RHYTHM_ROW, .table = true },
};
static const struct column_list job_list = { job_sources, 2, job_items, sizeof(job_items) / sizeof(*job_items) };

static const struct column_source event_sources[] = { { .columns = event_columns } };
static const struct column_item event_items[] = {
	{ .key = "time", .table = true }, { .key = "severity", .table = true }, { .key = "text", .table = true },
};
static const struct column_list event_list = { event_sources, 1, event_items,
					       sizeof(event_items) / sizeof(*event_items) };

struct listing {
	struct moment *moment;
	struct result *result;
	struct job now;
};

static bool put_job(void *ctx, const struct job *job)
{
	struct listing *listing = ctx;
	const struct job_facts facts = job_facts_of(job, &listing->now, listing->moment->at_us);
	const void *const rows[] = { &facts, NULL, [JOB_RHYTHM_ROW] = &facts.rhythm };

	result_fill_rows(listing->result, rows);
	return result_end_row(listing->result);
}

/* Jobs that had begun at the time of the page, oldest first. */
static void put_jobs(struct result *result, const void *ctx)
{
	struct listing listing = *(const struct listing *)ctx;
	const struct job_query query = { .until_us = listing.moment->at_us, .most = JOBS_MOST,
					 .at_us = listing.moment->at_us };
	bool older = false;

	listing.result = result;
	job_set_end(&listing.now);
	jobs_list(listing.moment->reader, &query, &older, put_job, &listing, result_error(result));
	if (older)
		result_note(result, "and older ones: ibwire job list");
	result_none(result, "No jobs: see ibwire job begin, and ibwire run.");
}

static void put_events(struct result *result, const void *ctx)
{
	const struct moment *moment = ((const struct listing *)ctx)->moment;
	int64_t until_us = moment->snapshot->sweep.wall_us;
	const struct event_query query = { .since_us = until_us - EVENTS_HOURS * 3600 * US_PER_S,
					   .until_us = until_us };
	size_t older = events_put(result, moment, &query, NULL, NULL, EVENTS_MOST);

	if (older)
		result_note(result, "and %zu older ones of the last %d h: ibwire events", older, EVENTS_HOURS);
	result_none(result, "No events in a day.");
}

static int add_lists(struct status *status, struct page *page, struct error *err)
{
	struct listing *listing = page_alloc(page, 1, sizeof(*listing));
	int code = listing ? columns_usual(&job_list, &status->jobs, err) : err_nomem(err);

	if (code == 0)
		code = columns_usual(&event_list, &status->events, err);
	if (code < 0)
		return code;
	listing->moment = &status->moment;
	page_add(page, &(struct page_section){ .kind = PAGE_TABLE, .in = PAGE_HTML, .title = "Newest events",
		.table = { status->events.list, status->events.count, put_events, listing } });
	page_add(page, &(struct page_section){ .kind = PAGE_TABLE, .in = PAGE_HTML, .title = "Newest jobs",
		.table = { status->jobs.list, status->jobs.count, put_jobs, listing } });
	return 0;
}

/* Links to earlier and later moments, and fields for a time, a subject and a job. */
static void add_search(const struct status *status, struct page *page)
{
	static const struct { int64_t us; const char *text; } steps[] = {
		{ -86400 * US_PER_S, "-1 day" }, { -3600 * US_PER_S, "-1 h" }, { -600 * US_PER_S, "-10 min" },
		{ -60 * US_PER_S, "-1 min" }, { 60 * US_PER_S, "+1 min" }, { 600 * US_PER_S, "+10 min" },
		{ 3600 * US_PER_S, "+1 h" },
	};
	static const struct page_form forms[] = {
		{ "./", "at", "Time", "Show" }, { "report", "subject", "Report of a port, host or switch", "Show" },
		{ "history", "subject", "History of a port, link, host, switch or group", "Show" },
		{ "job", "subject", "Report of a job", "Show" },
	};
	enum { STEPS = sizeof(steps) / sizeof(*steps), FORMS = sizeof(forms) / sizeof(*forms) };
	int64_t at_us = status->moment.snapshot ? status->moment.snapshot->sweep.wall_us : status->now_us;
	struct page_link *links = page_alloc(page, STEPS + 1, sizeof(*links));
	size_t count = 0;
	char time[WHEN_SIZE];

	page_add(page, &(struct page_section){ .kind = PAGE_CARD, .in = PAGE_HTML });
	for (size_t i = 0; links && i < STEPS; i++) {
		if (steps[i].us > 0 && (!status->at_us || at_us + steps[i].us > status->now_us))
			continue;
		when_format_utc_s(at_us + steps[i].us, time);
		links[count++] = (struct page_link){ page_print(page, "./?at=%s", time), steps[i].text };
	}
	if (links && status->at_us)
		links[count++] = (struct page_link){ "./", "now" };
	page_add(page, &(struct page_section){ .kind = PAGE_LINKS, .about = "Another moment",
					       .links = { links, count } });
	for (size_t i = 0; i < FORMS; i++)
		page_add(page, &(struct page_section){ .kind = PAGE_FORM, .form = forms[i] });
	page_close(page);
}

/* --- the page --- */

int status_add_fabric(struct status *status, bool links, struct page *page, struct error *err)
{
	int code = add_findings(status, links, page, err);

	if (links) {
		page_link_names(page, "report?subject=");
		add_search(status, page);
	}
	if (code == 0 && status->moment.snapshot)
		code = add_loads(status, page, err);
	if (code == 0 && status->moment.snapshot)
		code = add_trend(status, page, err);
	if (code == 0 && status->moment.snapshot)
		code = add_lists(status, page, err);
	return code;
}

void status_add_links(struct page *page)
{
	static const struct page_link links[] = {
		{ "api/status", "status" }, { "api/health", "health" }, { "api/links", "links" },
		{ "api/balance", "balance" }, { "api/events?limit=100", "events" },
		{ "api/history?top=20", "busiest links" },
	};

	page_add(page, &(struct page_section){ .kind = PAGE_LINKS, .about = "JSON",
					       .links = { links, sizeof(links) / sizeof(*links) } });
}
