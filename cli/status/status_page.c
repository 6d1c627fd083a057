/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* status_page.c - `ibwire status --html`: the sections about the fabric */
#include "cli/status/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/balance.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "base/when.h"
#include "cli/health/health.h"
#include "cli/lib/options.h"
#include "cli/lib/moment_options.h"
#include "cli/lib/settings.h"
#include "export/page.h"
#include "fabric/fabric.h"
#include "fabric/names.h"
#include "fabric/shape.h"
#include "pages/history.h"
#include "storage/history.h"
#include "storage/reader.h"

/* Limits that keep the page under 100 KB. */
enum { FINDINGS_BYTES = 34000, CELLS_MOST = 1200, COLUMNS_MOST = 48, LINKS_MOST = 12 };
enum { TREND_HOURS = 6 };

struct fabric_page {
	struct moment *view;
	struct page *page;
	struct balance_load *loads; /* by port: of the window of `ibwire balance`; of the page */
	const char *window;         /* its length */
	struct { uint32_t port; double percent; } busiest[LINKS_MOST + 1];
	size_t busiest_count;
};

/* --- verdict and findings --- */

static void add_verdict(const struct status *status, const struct health_filter *filter, struct page *page)
{
	static const enum page_state states[] = { PAGE_GOOD, PAGE_WARNING, PAGE_CRITICAL };
	const struct sweep_info *sweep = status->view.snapshot ? &status->view.snapshot->sweep : NULL;
	bool is_live = status->state.is_live, past = status->at_us;
	enum page_state worst = states[health_worst(&status->findings)];
	struct text summary = { 0 };
	char time[WHEN_SIZE];

	if (sweep)
		health_append_summary(&status->view, filter, &status->findings, &summary);
	else
		text_append(&summary, status->state.text);
	/* Without current or complete data nothing is clean. */
	if (!is_live && !past && worst == PAGE_GOOD)
		worst = PAGE_WARNING;
	if (worst == PAGE_GOOD && sweep && sweep->ports_answered < sweep->ports_polled)
		worst = PAGE_INFO;
	page_add(page, &(struct page_section){ .kind = PAGE_VERDICT, .in = PAGE_HTML, .state = worst, .verdict = {
		.heading = page_print(page, "InfiniBand fabric%s%s", sweep ? " at " : "",
				      sweep ? when_format_local(sweep->wall_us, time) : ""),
		.sentence = page_keep(page, &summary),
		.note = !is_live && sweep ? status->state.text : NULL,
		.note_state = past ? PAGE_PLAIN : PAGE_WARNING,
	} });
}

static int add_findings(struct status *status, bool links, struct page *page, struct error *err)
{
	const struct health_filter filter = { 0 };
	const struct health_layout layout = { .in = PAGE_HTML, .title = "Findings", .none = "No open findings.",
					      .links = links, .html_most = FINDINGS_BYTES };
	const struct finding_query query = { .at_us = status->at_us };
	int code = status->view.snapshot ? health_load(&status->view, &filter, &query, &status->findings, err) : 0;

	if (code == 0)
		add_verdict(status, &filter, page);
	if (code == 0 && status->view.snapshot)
		health_add_findings(status->view.reference_us, &filter, &status->findings, &layout, page);
	return code;
}

/* --- load between leaves and spines, busiest links --- */

/* Of the busier direction. */
static double utilization(const struct fabric_page *of, uint32_t port)
{
	const struct balance_load *load = &of->loads[port];
	uint64_t bits_per_s = port_rate_bits_per_s(&of->view->fabric->ports[port]);

	if (!load->known || !(load->elapsed_us > 0) || !bits_per_s)
		return NAN;
	return 8e8 * fmax(load->xmit_bytes, load->rcv_bytes) / load->elapsed_us / (double)bits_per_s;
}

/* The same from the counters of either end. */
static double link_utilization(const struct fabric_page *of, uint32_t port)
{
	uint32_t peer = of->view->fabric->ports[port].peer;
	double own = utilization(of, port);

	return isnan(own) && peer != FABRIC_NONE ? utilization(of, peer) : own;
}

struct leaf {
	uint32_t node;
	double highest; /* utilization of its links; NAN: unknown */
};

struct load_map {
	struct leaf *leaves;  /* the first ones are rows */
	uint32_t *columns;    /* nodes */
	uint32_t *column_of;  /* by node: column plus 1; 0: none */
	size_t leaf_count, row_count, column_count;
	const char **names;   /* of rows, then of columns */
	double *values;
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
static bool add_columns(const struct fabric_page *of, const struct shape_group *group, struct load_map *map)
{
	const struct fabric *fabric = of->view->fabric;
	size_t before = map->column_count;

	for (uint32_t i = 0; i < group->count; i++) {
		uint32_t peer = fabric->ports[of->view->shape->members[group->first + i]].peer;

		if (peer == FABRIC_NONE || map->column_of[fabric->ports[peer].node])
			continue;
		map->columns[map->column_count++] = fabric->ports[peer].node;
		map->column_of[fabric->ports[peer].node] = 1;
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
	const struct shape *shape = of->view->shape;
	char **names = of->view->names_shown.names;

	for (size_t g = 0; g < shape->group_count; g++) {
		const struct shape_group *group = &shape->groups[g];
		struct leaf *leaf = &map->leaves[map->leaf_count];

		if (group->kind != GROUP_UP || group->tier != 1)
			continue;
		*leaf = (struct leaf){ group->node, NAN };
		for (uint32_t i = 0; i < group->count; i++)
			leaf->highest = fmax(leaf->highest, link_utilization(of, shape->members[group->first + i]));
		map->leaf_count++;
	}
	qsort(map->leaves, map->leaf_count, sizeof(*map->leaves), compare_highest);
	while (map->row_count < map->leaf_count &&
	       add_columns(of, &shape->groups[shape->nodes[map->leaves[map->row_count].node].up_group], map))
		map->row_count++;
	if (map->column_count > COLUMNS_MOST)
		map->column_count = COLUMNS_MOST;
	qsort_r(map->leaves, map->row_count, sizeof(*map->leaves), compare_names, names);
	qsort_r(map->columns, map->column_count, sizeof(*map->columns), compare_names, names);
}

static void fill_map(const struct fabric_page *of, struct load_map *map)
{
	const struct shape *shape = of->view->shape;
	const struct fabric *fabric = of->view->fabric;

	memset(map->column_of, 0, fabric->node_count * sizeof(*map->column_of));
	for (size_t i = 0; i < map->column_count; i++) {
		map->column_of[map->columns[i]] = (uint32_t)i + 1;
		map->names[map->row_count + i] = of->view->names_shown.names[map->columns[i]];
	}
	for (size_t i = 0; i < map->row_count * map->column_count; i++)
		map->values[i] = NAN;
	for (size_t row = 0; row < map->row_count; row++) {
		const struct shape_group *group = &shape->groups[shape->nodes[map->leaves[row].node].up_group];

		map->names[row] = of->view->names_shown.names[map->leaves[row].node];
		for (uint32_t i = 0; i < group->count; i++) {
			uint32_t port = shape->members[group->first + i], peer = fabric->ports[port].peer;
			uint32_t column = peer == FABRIC_NONE ? 0 : map->column_of[fabric->ports[peer].node];
			double *cell = &map->values[row * map->column_count + column - 1];

			if (column)
				*cell = fmax(*cell, link_utilization(of, port));
		}
	}
}

static void add_map(struct fabric_page *of)
{
	size_t nodes = of->view->fabric->node_count + 1;
	struct page *page = of->page;
	struct load_map map = {
		.leaves = page_alloc(page, nodes, sizeof(*map.leaves)),
		.columns = page_alloc(page, nodes, sizeof(*map.columns)),
		.column_of = page_alloc(page, nodes, sizeof(*map.column_of)),
		.names = page_alloc(page, 2 * nodes, sizeof(*map.names)),
		.values = page_alloc(page, CELLS_MOST + COLUMNS_MOST, sizeof(*map.values)),
	};

	if (!map.leaves || !map.columns || !map.column_of || !map.names || !map.values)
		return;
	choose_nodes(of, &map);
	if (!map.row_count)
		return;
	fill_map(of, &map);
	page_add(page, &(struct page_section){ .kind = PAGE_CARD, .title = "Load between leaves and spines" });
	page_add(page, &(struct page_section){ .kind = PAGE_MATRIX, .in = PAGE_HTML, .heat = {
		.title = "Busiest link of each pair, % of its rate",
		.row_names = map.names, .column_names = map.names + map.row_count,
		.rows = map.row_count, .columns = map.column_count, .values = map.values,
	} });
	page_add_note(page, PAGE_HTML, true, "Higher of both directions, mean of %s. \u00b7: no link, or unknown.",
		      of->window);
	if (map.row_count < map.leaf_count)
		page_add_note(page, PAGE_HTML, true, "These are the busiest of %zu leaves; all: ibwire balance --all",
			      map.leaf_count);
	page_close(page);
}

enum { LINK_PORT, LINK_PEER, LINK_UTIL, LINK_TX, LINK_RX, LINK_STALL, LINK_COLUMNS };

static const struct column link_columns[LINK_COLUMNS] = {
	[LINK_PORT] = { .title = "Port", .kind = COLUMN_TEXT },
	[LINK_PEER] = { .title = "Peer", .kind = COLUMN_TEXT },
	[LINK_UTIL] = { .title = "Max util", .kind = COLUMN_PERCENT },
	[LINK_TX] = { .title = "TX", .kind = COLUMN_RATE },
	[LINK_RX] = { .title = "RX", .kind = COLUMN_RATE },
	[LINK_STALL] = { .title = "XmitWait", .kind = COLUMN_PERCENT },
};

static void put_percent(struct result *result, size_t column, double percent)
{
	result_real(result, column, percent);
	if (!isnan(percent))
		result_showf(result, column, STYLE_PLAIN, "%.1f %%", percent);
}

static int put_busiest(struct result *result, const void *ctx, enum page_target target, struct error *err)
{
	const struct fabric_page *of = ctx;
	const struct fabric *fabric = of->view->fabric;
	char name[PORT_NAME_SIZE];

	(void)target;
	(void)err;
	for (size_t i = 0; i < of->busiest_count; i++) {
		uint32_t port = of->busiest[i].port;
		const struct balance_load *load = &of->loads[port];

		order_port_name(&of->view->names_shown, fabric, port, name);
		result_text(result, LINK_PORT, name);
		order_port_name(&of->view->names_shown, fabric, fabric->ports[port].peer, name);
		result_text(result, LINK_PEER, name);
		put_percent(result, LINK_UTIL, of->busiest[i].percent);
		result_real(result, LINK_TX, load->xmit_bytes * 1e6 / load->elapsed_us);
		result_real(result, LINK_RX, load->rcv_bytes * 1e6 / load->elapsed_us);
		put_percent(result, LINK_STALL, 100 * load->stall);
		result_end_row(result);
	}
	result_none(result, "No link carries traffic.");
	return 0;
}

/* Each link once, by the end with counters. */
static void add_busiest(struct fabric_page *of)
{
	const struct fabric *fabric = of->view->fabric;

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
	page_add(of->page, &(struct page_section){
		.kind = PAGE_TABLE, .in = PAGE_HTML,
		.title = page_print(of->page, "Links with the highest load, mean of %s", of->window),
		.table = { link_columns, LINK_COLUMNS, put_busiest, of } });
}

static int add_loads(struct status *status, struct page *page, struct error *err)
{
	struct moment *view = &status->view;
	const struct sweep_info *sweep = &view->snapshot->sweep;
	struct load_query query = { .until_us = sweep->wall_us, .snapshot = view->snapshot };
	struct fabric_page *of = page_alloc(page, 1, sizeof(*of));
	struct settings settings;
	char span[WHEN_SIZE];
	int64_t window_us;
	int code;

	if (!of)
		return err_nomem(err);
	of->view = view;
	of->page = page;
	of->loads = page_alloc(page, view->fabric->port_count + 1, sizeof(*of->loads));
	if (!of->loads)
		return err_nomem(err);
	code = settings_load(NULL, &settings, err);
	window_us = balance_window_us(&settings.health.balance, sweep->interval_us);
	settings_done(&settings);
	if (code < 0)
		return code;
	query.since_us = sweep->wall_us - window_us;
	of->window = page_print(page, "%s", when_format_span(window_us, span));
	code = reader_history_loads(view->reader, &query, of->loads, err);
	if (code >= 0)
		code = moment_find_shape(view, err);
	if (code < 0)
		return code;
	add_map(of);
	add_busiest(of);
	return 0;
}

/* --- rate, stall and errors --- */

static bool fill_subject(const struct fabric *fabric, enum node_type type, struct history_subject *ret)
{
	ret->ports = calloc(fabric->port_count + 1, sizeof(*ret->ports));
	ret->indices = calloc(fabric->port_count + 1, sizeof(*ret->indices));
	for (uint32_t i = 0; ret->ports && ret->indices && i < fabric->port_count; i++) {
		const struct node *node = &fabric->nodes[fabric->ports[i].node];

		if (node->type != type || !port_is_pollable(fabric, &fabric->ports[i]))
			continue;
		ret->indices[ret->port_count] = i;
		ret->ports[ret->port_count++] = (struct history_port){ node->guid, fabric->ports[i].num };
	}
	return ret->ports && ret->indices;
}

static int add_trend(struct status *status, struct page *page, struct error *err)
{
	static char hcas[] = "HCAs", switches[] = "switches";
	struct history_subject items[] = { { .name = hcas }, { .name = switches } };
	const struct moment *view = &status->view;
	struct history_window window = { .moment = view, .until_us = view->snapshot->sweep.wall_us };
	int code = fill_subject(view->fabric, NODE_CA, &items[0]) &&
		   fill_subject(view->fabric, NODE_SWITCH, &items[1]) ? 0 : err_nomem(err);

	window.since_us = window.until_us - TREND_HOURS * 3600 * US_PER_S;
	if (code == 0)
		code = history_window_find(&window, err);
	if (code > 0) {
		page_add(page, &(struct page_section){ .kind = PAGE_CARD, .title = "Last hours" });
		code = history_add_plots(&window, items, 2, PAGE_HTML, 1, NULL, 0, page, err);
		page_close(page);
	}
	options_warn_damage(window.damage.count, window.damage.first);
	options_warn_damage(view->snapshot->damaged, view->snapshot->damage);
	for (size_t i = 0; i < 2; i++) {
		free(items[i].ports);
		free(items[i].indices);
	}
	return code;
}

/* --- the page --- */

int status_add_fabric(struct status *status, bool links, struct page *page, struct error *err)
{
	int code = add_findings(status, links, page, err);

	if (code == 0 && status->view.snapshot)
		code = add_loads(status, page, err);
	if (code == 0 && status->view.snapshot)
		code = add_trend(status, page, err);
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
