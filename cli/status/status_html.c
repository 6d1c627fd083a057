/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* status_html.c - `ibwire status --html`: one page of the fabric for a browser */
#include "cli/status/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/balance.h"
#include "analysis/rate.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "base/when.h"
#include "cli/health/health.h"
#include "cli/history/history.h"
#include "cli/lib/options.h"
#include "cli/lib/view.h"
#include "export/html.h"
#include "fabric/fabric.h"
#include "fabric/names.h"
#include "fabric/shape.h"
#include "storage/reader.h"

/* Limits that keep the page under 100 KB. */
enum { FINDINGS_BYTES = 34000, CELLS_MOST = 1200, COLUMNS_MOST = 48, LINKS_MOST = 12 };
enum { TREND_HOURS = 6 };

struct page {
	struct text text;
	struct view *view;
	bool links;
	struct balance_load *loads; /* by port: of the window of `ibwire balance` */
};

/* --- verdict and findings --- */

/* The value of the first line of the status. */
static void append_state(const char *status, struct text *ret)
{
	size_t title = strcspn(status, " ");
	const char *value = status + title + strspn(status + title, " ");

	text_append_bytes(ret, value, strcspn(value, "\n"));
}

static void append_verdict(struct page *page, const char *status, const struct health_filter *filter,
			   const struct health_rows *rows)
{
	static const enum page_state states[] = { PAGE_GOOD, PAGE_WARNING, PAGE_CRITICAL };
	const struct sweep_info *sweep = page->view->snapshot ? &page->view->snapshot->sweep : NULL;
	struct text state = { 0 }, summary = { 0 };
	bool live, past = page->view->at_us;
	enum page_state worst = states[health_worst(rows)];
	char time[WHEN_SIZE];

	append_state(status, &state);
	live = !strncmp(text_chars(&state), "live:", 5);
	if (sweep)
		health_append_summary(page->view, filter, rows, &summary);
	else
		text_append(&summary, text_chars(&state));
	/* Without current or complete data nothing is clean. */
	if (!live && !past && worst == PAGE_GOOD)
		worst = PAGE_WARNING;
	if (worst == PAGE_GOOD && sweep && sweep->ports_answered < sweep->ports_polled)
		worst = PAGE_INFO;
	text_appendf(&page->text, "<section class=\"card verdict %s\">\n", html_state_class(worst));
	html_element(&page->text, "h1", NULL, "InfiniBand fabric%s%s", sweep ? " at " : "",
		     sweep ? when_format_local(sweep->wall_us, time) : "");
	html_element(&page->text, "p", "word", "%s %s", html_state_sign(worst), html_state_word(worst));
	html_element(&page->text, "p", "sentence", "%s", text_chars(&summary));
	if (!live && sweep)
		html_element(&page->text, "p", past ? NULL : "warning", "%s%s", past ? "" : "\u25b2 ",
			     text_chars(&state));
	html_card_end(&page->text);
	page->text.failed |= text_failed(&state) || text_failed(&summary);
	text_done(&state);
	text_done(&summary);
}

static int append_findings(struct page *page, const struct options *options, const char *status, struct error *err)
{
	const struct health_filter filter = { .options = options };
	const struct finding_query query = { .at_us = options->at_us };
	struct health_rows rows = { 0 };
	int code = page->view->snapshot ? health_load(page->view, &filter, &query, &rows, err) : 0;

	if (code == 0)
		append_verdict(page, status, &filter, &rows);
	if (code == 0 && page->view->snapshot) {
		html_card_begin(&page->text, "Findings");
		health_html(page->view, &filter, &rows, page->links, FINDINGS_BYTES, &page->text);
		html_card_end(&page->text);
	}
	health_rows_done(&rows);
	return code;
}

/* --- load between leaves and spines, busiest links --- */

/* Of the busier direction. */
static double utilization(const struct page *page, uint32_t port)
{
	const struct balance_load *load = &page->loads[port];
	uint64_t bits_per_s = port_rate_bits_per_s(&page->view->fabric->ports[port]);

	if (!load->known || !(load->elapsed_us > 0) || !bits_per_s)
		return NAN;
	return 8e8 * fmax(load->xmit_bytes, load->rcv_bytes) / load->elapsed_us / (double)bits_per_s;
}

/* The same from the counters of either end. */
static double link_utilization(const struct page *page, uint32_t port)
{
	uint32_t peer = page->view->fabric->ports[port].peer;
	double own = utilization(page, port);

	return isnan(own) && peer != FABRIC_NONE ? utilization(page, peer) : own;
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
	double values[CELLS_MOST + COLUMNS_MOST];
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
static bool add_columns(const struct page *page, const struct shape_group *group, struct load_map *map)
{
	const struct fabric *fabric = page->view->fabric;
	size_t before = map->column_count;

	for (uint32_t i = 0; i < group->count; i++) {
		uint32_t peer = fabric->ports[page->view->shape->members[group->first + i]].peer;

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
static void choose_nodes(struct page *page, struct load_map *map)
{
	const struct shape *shape = page->view->shape;
	char **names = page->view->names_shown.names;

	for (size_t g = 0; g < shape->group_count; g++) {
		const struct shape_group *group = &shape->groups[g];
		struct leaf *leaf = &map->leaves[map->leaf_count];

		if (group->kind != GROUP_UP || group->tier != 1)
			continue;
		*leaf = (struct leaf){ group->node, NAN };
		for (uint32_t i = 0; i < group->count; i++)
			leaf->highest = fmax(leaf->highest, link_utilization(page, shape->members[group->first + i]));
		map->leaf_count++;
	}
	qsort(map->leaves, map->leaf_count, sizeof(*map->leaves), compare_highest);
	while (map->row_count < map->leaf_count &&
	       add_columns(page, &shape->groups[shape->nodes[map->leaves[map->row_count].node].up_group], map))
		map->row_count++;
	if (map->column_count > COLUMNS_MOST)
		map->column_count = COLUMNS_MOST;
	qsort_r(map->leaves, map->row_count, sizeof(*map->leaves), compare_names, names);
	qsort_r(map->columns, map->column_count, sizeof(*map->columns), compare_names, names);
}

static void fill_map(const struct page *page, struct load_map *map)
{
	const struct shape *shape = page->view->shape;
	const struct fabric *fabric = page->view->fabric;

	memset(map->column_of, 0, fabric->node_count * sizeof(*map->column_of));
	for (size_t i = 0; i < map->column_count; i++) {
		map->column_of[map->columns[i]] = (uint32_t)i + 1;
		map->names[map->row_count + i] = page->view->names_shown.names[map->columns[i]];
	}
	for (size_t i = 0; i < map->row_count * map->column_count; i++)
		map->values[i] = NAN;
	for (size_t row = 0; row < map->row_count; row++) {
		const struct shape_group *group = &shape->groups[shape->nodes[map->leaves[row].node].up_group];

		map->names[row] = page->view->names_shown.names[map->leaves[row].node];
		for (uint32_t i = 0; i < group->count; i++) {
			uint32_t port = shape->members[group->first + i], peer = fabric->ports[port].peer;
			uint32_t column = peer == FABRIC_NONE ? 0 : map->column_of[fabric->ports[peer].node];
			double *cell = &map->values[row * map->column_count + column - 1];

			if (column)
				*cell = fmax(*cell, link_utilization(page, port));
		}
	}
}

static int append_map(struct page *page, struct error *err)
{
	size_t nodes = page->view->fabric->node_count + 1;
	struct load_map map = {
		.leaves = calloc(nodes, sizeof(*map.leaves)), .columns = calloc(nodes, sizeof(*map.columns)),
		.column_of = calloc(nodes, sizeof(*map.column_of)), .names = calloc(2 * nodes, sizeof(*map.names)),
	};
	int code = map.leaves && map.columns && map.column_of && map.names ? 0 : err_nomem(err);

	if (code == 0)
		choose_nodes(page, &map);
	if (code == 0 && map.row_count) {
		fill_map(page, &map);
		html_card_begin(&page->text, "Load between leaves and spines");
		html_matrix(&page->text, &(struct page_heat){
			.title = "Busiest link of each pair, % of its rate",
			.row_names = map.names, .column_names = map.names + map.row_count,
			.rows = map.row_count, .columns = map.column_count, .values = map.values,
		});
		html_element(&page->text, "p", "soft", "Higher of both directions, over the window of ibwire balance. "
			     "\u00b7: no link, or unknown.");
		if (map.row_count < map.leaf_count)
			html_element(&page->text, "p", "soft", "These are the busiest of %zu leaves; all: ibwire "
				     "balance --all", map.leaf_count);
		html_card_end(&page->text);
	}
	free(map.leaves);
	free(map.columns);
	free(map.column_of);
	free(map.names);
	return code;
}

static const struct html_column link_columns[] = {
	{ "Port", false }, { "Peer", false }, { "Max util", true }, { "TX", true }, { "RX", true },
	{ "XmitWait", true },
};

static void append_link(struct page *page, uint32_t port, double percent)
{
	const struct balance_load *load = &page->loads[port];
	char name[PORT_NAME_SIZE], tx[PAGE_VALUE_SIZE], rx[PAGE_VALUE_SIZE];

	html_row(&page->text);
	order_port_name(&page->view->names_shown, page->view->fabric, port, name);
	html_cell(&page->text, &link_columns[0], PAGE_PLAIN, "%s", name);
	order_port_name(&page->view->names_shown, page->view->fabric, page->view->fabric->ports[port].peer, name);
	html_cell(&page->text, &link_columns[1], PAGE_PLAIN, "%s", name);
	html_cell(&page->text, &link_columns[2], PAGE_PLAIN, "%.1f %%", percent);
	html_cell(&page->text, &link_columns[3], PAGE_PLAIN, "%s",
		  rate_format_bits(load->xmit_bytes * 1e6 / load->elapsed_us, tx, sizeof(tx)));
	html_cell(&page->text, &link_columns[4], PAGE_PLAIN, "%s",
		  rate_format_bits(load->rcv_bytes * 1e6 / load->elapsed_us, rx, sizeof(rx)));
	html_cell(&page->text, &link_columns[5], PAGE_PLAIN, isnan(load->stall) ? "-" : "%.1f %%", 100 * load->stall);
	html_row_end(&page->text);
}

/* Each link once, by the end with counters. */
static void append_busiest(struct page *page)
{
	const struct fabric *fabric = page->view->fabric;
	struct { uint32_t port; double percent; } best[LINKS_MOST + 1];
	size_t count = 0;

	for (uint32_t i = 0; i < fabric->port_count; i++) {
		uint32_t peer = fabric->ports[i].peer;
		double percent = utilization(page, i);
		size_t at = count;

		if (!(percent > 0) || peer == FABRIC_NONE || (peer < i && page->loads[peer].known))
			continue;
		for (; at > 0 && best[at - 1].percent < percent; at--)
			best[at] = best[at - 1];
		best[at].port = i;
		best[at].percent = percent;
		count += count < LINKS_MOST;
	}
	html_card_begin(&page->text, "Links with the highest load");
	text_append(&page->text, "<div class=\"wide\">\n");
	if (count)
		html_table_begin(&page->text, link_columns, sizeof(link_columns) / sizeof(*link_columns));
	for (size_t i = 0; i < count; i++)
		append_link(page, best[i].port, best[i].percent);
	if (count)
		html_table_end(&page->text);
	else
		html_element(&page->text, "p", NULL, "No link carries traffic.");
	text_append(&page->text, "</div>\n");
	html_card_end(&page->text);
}

static int append_loads(struct page *page, struct error *err)
{
	const struct sweep_info *sweep = &page->view->snapshot->sweep;
	const struct load_query query = {
		.since_us = sweep->wall_us - balance_window_us(sweep->interval_us), .until_us = sweep->wall_us,
		.snapshot = page->view->snapshot,
	};
	int code;

	page->loads = calloc(page->view->fabric->port_count + 1, sizeof(*page->loads));
	if (!page->loads)
		return err_nomem(err);
	code = reader_history_loads(page->view->reader, &query, page->loads, err);
	if (code >= 0)
		code = view_find_shape(page->view, err);
	if (code == 0)
		code = append_map(page, err);
	if (code == 0)
		append_busiest(page);
	return code;
}

/* --- rate, stall and errors --- */

static bool fill_subject(const struct fabric *fabric, enum node_type type, struct subject *ret)
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

static int append_trend(struct page *page, const struct options *options, struct error *err)
{
	static char hcas[] = "HCAs", switches[] = "switches";
	struct subject items[] = { { .name = hcas }, { .name = switches } };
	struct subjects subjects = { .items = items, .count = 2 };
	struct history history = { .options = *options, .view = *page->view };
	int code = fill_subject(page->view->fabric, NODE_CA, &items[0]) &&
		   fill_subject(page->view->fabric, NODE_SWITCH, &items[1]) ? 0 : err_nomem(err);

	history.until_us = page->view->snapshot->sweep.wall_us;
	history.since_us = history.until_us - TREND_HOURS * 3600 * US_PER_S;
	if (code == 0)
		code = reader_history_range(page->view->reader, history.since_us, history.until_us, &history.range,
					    err);
	/* A new database: the plots begin with its first sweep. */
	if (history.range.oldest_us > history.since_us)
		history.since_us = history.range.oldest_us;
	if (code == 0 && history.range.after < history.range.until && history.since_us < history.until_us) {
		html_card_begin(&page->text, "Last hours");
		code = history_html_plots(&history, &subjects, 1, NULL, 0, &page->text, err);
		html_card_end(&page->text);
	}
	view_warn_damage(history.damage.count, history.damage.first);
	view_warn_damage(page->view->snapshot->damaged, page->view->snapshot->damage);
	for (size_t i = 0; i < subjects.count; i++) {
		free(items[i].ports);
		free(items[i].indices);
	}
	return code;
}

/* --- the page --- */

static void append_status(struct page *page, const char *status)
{
	static const struct html_column columns[] = { { "ibwire status", false }, { "", false } };

	html_card_begin(&page->text, "Collector");
	html_table_begin(&page->text, columns, 2);
	while (*status) {
		const char *end = strchrnul(status, '\n'), *gap;
		size_t indent = strspn(status, " ");

		gap = strstr(status + indent, "  ");
		gap = gap && gap < end ? gap : end;
		html_row(&page->text);
		html_cell(&page->text, &columns[0], PAGE_PLAIN, "%s%.*s", indent ? "\u2003" : "",
			  (int)(gap - status - (ptrdiff_t)indent), status + indent);
		gap += strspn(gap, " ");
		html_cell(&page->text, &columns[1], PAGE_PLAIN, "%.*s", (int)(end - gap), gap);
		html_row_end(&page->text);
		status = end + (*end == '\n');
	}
	html_table_end(&page->text);
	if (page->links)
		text_append(&page->text, "<p>JSON: <a href=\"api/status\">status</a> <a href=\"api/health\">health</a> "
			    "<a href=\"api/links\">links</a> <a href=\"api/balance\">balance</a> "
			    "<a href=\"api/events?limit=100\">events</a> "
			    "<a href=\"api/history?top=20\">busiest links</a></p>\n");
	html_card_end(&page->text);
}

int status_html(struct view *view, const struct options *options, const char *path, bool links, const char *status,
		struct error *err)
{
	struct page page = { .view = view, .links = links };
	int code;

	html_begin(&page.text, "InfiniBand fabric");
	code = append_findings(&page, options, status, err);
	if (code == 0 && view->snapshot)
		code = append_loads(&page, err);
	if (code == 0 && view->snapshot)
		code = append_trend(&page, options, err);
	append_status(&page, status);
	html_end(&page.text);
	free(page.loads);
	if (code == 0)
		return output_file(options, &page.text, path, err);
	text_done(&page.text);
	return code;
}
