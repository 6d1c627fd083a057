/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* overview_top.c - the small map, and the busiest links and hosts of the Overview screen */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"
#include "tui/draw/draw.h"
#include "tui/model/context.h"
#include "tui/model/heat_cell.h"
#include "tui/model/live.h"
#include "tui/model/port_table.h"
#include "tui/model/trend.h"
#include "tui/screens/app.h"
#include "tui/screens/links_view.h"
#include "tui/screens/overview_view.h"

static int at_least(int a, int b)
{
	return a > b ? a : b;
}

static void draw_head(const struct brush *brush, int y, int x, int columns, const char *text)
{
	draw_cell(brush, y, x, columns, text, ALIGN_LEFT, ROLE_HEAD);
}

/* The colour of a link: of its worst finding; load alone is no problem. */
static enum role link_role(const struct app *app, uint32_t port)
{
	enum port_mark mark = context_mark_at(app->context, port);

	return mark >= MARK_WARNING ? mark_role(mark) : ROLE_LOAD_LOW;
}

/* --- map --- */

static double map_load(const void *ctx, uint32_t port)
{
	return measure_exact(((const struct app *)ctx)->table->ports[port].util) / 100;
}

/* The map of the shown sweep; without memory it has no rows. */
static void make_map(struct overview_view *view, const struct app *app)
{
	const struct heat_source source = { .shape = app->context->shape, .nodes = app->table->order.nodes, .tier = 1,
					    .load = map_load, .ctx = app };

	heat_done(&view->map);
	view->map_most = MEASURE_NONE;
	if (!source.shape || heat_create(&source, &view->map, NULL) < 0)
		return;
	for (size_t row = 0; row < view->map.row_count; row++)
		for (size_t i = 0; i < heat_columns(&view->map, row); i++) {
			const struct heat_cell *cell = heat_cell(&view->map, row, i);

			if (cell->working)
				view->map_most = measure_max(view->map_most, app->table->ports[cell->port].util);
		}
}

/* Add a pair of switches to a cell of the screen, which shows the worst of its links. */
static void merge_cell(struct heat_cell *ret, const struct heat_cell *cell)
{
	static const uint8_t ranks[] = { [HEAT_NO_LINK] = 0, [HEAT_LOAD] = 1, [HEAT_UNKNOWN] = 2, [HEAT_DOWN] = 3,
					 [HEAT_MISSING] = 4 };
	uint8_t sign = cell->links && cell->working < cell->links ? HEAT_DOWN : cell->sign;

	ret->sign = ranks[sign] > ranks[ret->sign] ? sign : ret->sign;
	if (isnan(cell->value[HEAT_MEASURED]) || cell->value[HEAT_MEASURED] <= ret->value[HEAT_MEASURED])
		return;
	ret->value[HEAT_MEASURED] = cell->value[HEAT_MEASURED];
	ret->port = cell->port;
}

enum { MAP_HEAD = 28, MAP_HEAD_SHORT = 19 };

/* Columns of a cell: from three on with the number. */
static int map_cell_columns(int columns, size_t cells)
{
	int width = (columns - 1) / (int)cells;

	return width < 1 ? 1 : width > 4 ? 4 : width;
}

/* Cells of the same role are one text. */
static void draw_map_row(const struct app *app, const struct heat_cell *cells, size_t count, int width,
			 const struct brush *brush, int y, int x)
{
	struct text run = { 0 };
	enum role role = ROLE_TEXT;
	size_t first = 0;
	char text[16];

	for (size_t i = 0; i < count; i++) {
		enum role next = heat_write(&cells[i], HEAT_MEASURED, width, brush->theme->unicode, text);

		/* As the row of its group. */
		if (next == ROLE_LOAD_MIDDLE || next == ROLE_LOAD_HIGH)
			next = link_role(app, cells[i].port);
		if (next != role) {
			draw_cell(brush, y, x + width * (int)first, width * (int)(i - first), text_chars(&run),
				  ALIGN_LEFT, role);
			text_clear(&run);
			first = i;
			role = next;
		}
		text_append(&run, text);
	}
	draw_cell(brush, y, x + width * (int)first, width * (int)(count - first), text_chars(&run), ALIGN_LEFT, role);
	text_done(&run);
}

/* Leaves are columns, spines are rows; several switches share a cell where there is no room. */
static void draw_map(const struct overview_view *view, const struct app *app, const struct brush *brush,
		     const struct rect *area)
{
	const struct heat *map = &view->map;
	size_t leaves = map->row_count, spines = map->column_count;
	size_t rows = (size_t)at_least(area->rows - 2, 0), columns = (size_t)area->columns - 1;
	const char *const *names = (const char *const *)app->table->order.names;
	char text[CELL_SIZE], most[16];
	struct heat_cell *cells;

	rows = rows < spines ? rows : spines;
	columns = columns < leaves ? columns : leaves;
	cells = calloc(rows * columns + 1, sizeof(*cells));
	if (!cells || !leaves || !spines)
		goto out;
	for (size_t i = 0; i < rows * columns; i++)
		cells[i] = (struct heat_cell){ .value[HEAT_MEASURED] = NAN };
	for (size_t leaf = 0; leaf < leaves; leaf++)
		for (size_t i = 0; i < heat_columns(map, leaf); i++) {
			size_t spine = map->blocks[map->row_block[leaf]].first + i;

			merge_cell(&cells[spine * rows / spines * columns + leaf * columns / leaves],
				   heat_cell(map, leaf, i));
		}
	snprintf(text, sizeof(text), area->columns < MAP_HEAD ? "LEAF-SPINE max %s" : "LOAD leaf to spine  max %s",
		 format_percent(view->map_most, most, sizeof(most)));
	draw_head(brush, area->y, area->x, area->columns, text);
	for (size_t row = 0; row < rows; row++)
		draw_map_row(app, &cells[row * columns], columns, map_cell_columns(area->columns, columns), brush,
			     area->y + 1 + (int)row, area->x + 1);
	snprintf(text, sizeof(text), "%s ... %s", names[map->rows[0]], names[map->rows[leaves - 1]]);
	draw_cell(brush, area->y + 1 + (int)rows, area->x + 1, area->columns - 1, text, ALIGN_NAME, ROLE_FAINT);
out:
	free(cells);
}

/* --- busiest links and hosts --- */

static void insert(struct overview_top *top, uint32_t index, struct measure value)
{
	size_t at = top->count;

	if (!top->rows || isnan(value.value) ||
	    (top->count == OVERVIEW_TOP && value.value <= top->rows[OVERVIEW_TOP - 1].value.value))
		return;
	if (top->count < OVERVIEW_TOP)
		top->count++;
	else
		at--;
	for (; at > 0 && top->rows[at - 1].value.value < value.value; at--)
		top->rows[at] = top->rows[at - 1];
	top->rows[at] = (struct overview_top_row){ .index = index, .value = value };
}

/* The ports of a host: its HCAs are adjacent in host_nodes. Return: their number, at most @most. */
static size_t host_ports(const struct app *app, uint32_t host, uint32_t *ret, size_t most)
{
	const struct shape *shape = app->context->shape;
	const struct fabric *fabric = app->live->shown->fabric;
	size_t count = 0;

	for (uint32_t i = 0; i < shape->hosts[host].count; i++) {
		const struct node *node = &fabric->nodes[shape->host_nodes[shape->hosts[host].first + i]];

		for (uint32_t port = node->first_port; port < node->first_port + node->ports && count < most; port++)
			ret[count++] = port;
	}
	return count;
}

enum { HOST_PORTS = 64, TOP_ROWS = 9 };

static void host_rates(const struct app *app, uint32_t host, struct measure *ret_xmit, struct measure *ret_rcv)
{
	uint32_t ports[HOST_PORTS];
	size_t count = host_ports(app, host, ports, HOST_PORTS);

	*ret_xmit = *ret_rcv = MEASURE_NONE;
	for (size_t i = 0; i < count; i++)
		port_facts_add(&app->table->ports[ports[i]], ret_xmit, ret_rcv);
}

/* "node0001 mlx5_0/1 > leaf-u01-r0/1" */
static void name_link(const struct app *app, uint32_t port, char *ret, size_t size)
{
	const struct fabric *fabric = app->live->shown->fabric;
	char low[PORT_NAME_SIZE], high[PORT_NAME_SIZE];

	order_port_name(&app->table->order, fabric, port, low);
	order_port_name(&app->table->order, fabric, fabric->ports[port].peer, high);
	snprintf(ret, size, "%s > %s", low, high);
}

void overview_find_top(struct overview_view *view, const struct app *app)
{
	const struct fabric *fabric = app->live->shown->fabric;
	const struct shape *shape = app->context->shape;

	view->links.count = view->hosts.count = 0;
	view->waiting = FABRIC_NONE;
	if (!view->links.rows)
		view->links.rows = calloc(OVERVIEW_TOP, sizeof(*view->links.rows));
	if (!view->hosts.rows)
		view->hosts.rows = calloc(OVERVIEW_TOP, sizeof(*view->hosts.rows));
	for (uint32_t i = 0; i < fabric->port_count; i++) {
		const struct port_facts *port = &app->table->ports[i], *other;
		uint32_t peer = fabric->ports[i].peer;
		struct measure out = port->xmit_percent, in = port->rcv_percent;

		if (port->stall_percent.value > (view->waiting == FABRIC_NONE ? 0 :
						 app->table->ports[view->waiting].stall_percent.value))
			view->waiting = i;
		/* Each link once, by its busier direction. */
		if (peer == FABRIC_NONE || i > peer)
			continue;
		other = &app->table->ports[peer];
		out = measure_is_better(other->rcv_percent, out) ? other->rcv_percent : out;
		in = measure_is_better(other->xmit_percent, in) ? other->xmit_percent : in;
		if (in.value > out.value)
			insert(&view->links, peer, in);
		else
			insert(&view->links, i, out);
	}
	for (uint32_t i = 0; shape && i < shape->host_count; i++) {
		struct measure xmit, rcv;

		host_rates(app, i, &xmit, &rcv);
		insert(&view->hosts, i, measure_max(xmit, rcv));
	}
	for (size_t i = 0; i < view->links.count; i++) {
		name_link(app, view->links.rows[i].index, view->names[i], sizeof(view->names[i]));
		view->links.rows[i].name = view->names[i];
	}
	for (size_t i = 0; i < view->hosts.count; i++) {
		struct overview_top_row *row = &view->hosts.rows[i];

		row->name = shape->hosts[row->index].name;
		host_rates(app, row->index, &row->xmit, &row->rcv);
	}
	make_map(view, app);
	list_screen_changed(&view->link_list, true);
	list_screen_changed(&view->host_list, true);
}

void host_spark(const struct app *app, uint32_t host, int columns, struct text *ret)
{
	uint32_t ports[HOST_PORTS];

	app->trend->wanted = true;
	trend_spark(app->trend, ports, host_ports(app, host, ports, HOST_PORTS), columns, app->theme->unicode, ret);
}

enum {
	PERCENT_COLUMNS = 5, RATE_COLUMNS = 8, LOAD_COLUMNS = 9, HOSTS_FROM = 100, RATES_FROM = 150, SPARK_LEAST = 6,
	SPARK_USUAL = 14,
};
enum { LINK_COLUMNS = PERCENT_COLUMNS + 3 };

#define TOP_MEMBER(member) COLUMN_MEMBER(struct overview_top_row, member)
#define TOP_NAME TOP_MEMBER(name), .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL
#define TOP_SPARK { .title = "LAST SWEEPS", .narrow = "LAST", TOP_MEMBER(value), .flags = COLUMN_FLEXIBLE, \
		    .help = "utilization in the last sweeps" }

/* In both lists the name is the first column, and the sparkline the last one. */
enum { NAME, UTIL, TOP_LINK_SPARK, TOP_LINK_COLUMNS };
enum { LOAD = NAME + 1, TX, RX, TOP_HOST_SPARK, TOP_HOST_COLUMNS };

static const struct column top_link_columns[TOP_LINK_COLUMNS] = {
	[NAME] = { .title = "TOP LINKS", TOP_NAME, .help = "busiest links, in their busier direction" },
	[UTIL] = { .title = "UTIL%", .kind = COLUMN_PERCENT, TOP_MEMBER(value), .help = "utilization" },
	[TOP_LINK_SPARK] = TOP_SPARK,
};

static const struct column top_host_columns[TOP_HOST_COLUMNS] = {
	[NAME] = { .title = "TOP HOSTS", TOP_NAME, .help = "busiest hosts" },
	[LOAD] = { .title = "LOAD", .narrow = "LOAD b/s", .kind = COLUMN_RATE, TOP_MEMBER(value),
		   .help = "sent or received, whichever is more" },
	[TX] = { .title = "TX", .narrow = "TX b/s", .kind = COLUMN_RATE, TOP_MEMBER(xmit), .help = "sent" },
	[RX] = { .title = "RX", .narrow = "RX b/s", .kind = COLUMN_RATE, TOP_MEMBER(rcv), .help = "received" },
	[TOP_HOST_SPARK] = TOP_SPARK,
};

static const struct column_step link_steps[] = {
	{ NAME, 12, 0 }, { UTIL, PERCENT_COLUMNS, 0 }, { TOP_LINK_SPARK, SPARK_LEAST, 0 }, { NAME, COLUMN_WIDEST, 0 },
	{ TOP_LINK_SPARK, TREND_LOADS, 0 },
}, host_steps[] = {
	{ NAME, 9, 0 }, { LOAD, LOAD_COLUMNS, 0 }, { TOP_HOST_SPARK, SPARK_LEAST, 0 }, { NAME, COLUMN_WIDEST, 0 },
	{ TOP_HOST_SPARK, SPARK_USUAL, 0 }, { TX, RATE_COLUMNS, 0 }, { RX, RATE_COLUMNS, 0 },
	{ TOP_HOST_SPARK, TREND_LOADS, 0 },
};

static struct subject top_subject(const struct table *table, size_t index)
{
	const struct overview_top_row *row = table_row(table, index);
	const struct shape *shape = table->app->context->shape;

	if (table->view == &overview_links_view)
		return subject_of_port(table->app, row->index);
	return subject_of_node(table->app, shape->host_nodes[shape->hosts[row->index].first]);
}

static struct table_id top_id(const struct table *table, size_t index)
{
	const struct subject subject = top_subject(table, index);

	return (struct table_id){ subject.node_guid, subject.port };
}

static bool top_cell(const struct table *table, size_t index, size_t column, int columns, struct text *ret)
{
	const struct overview_top_row *row = table_row(table, index);

	if (column + 1 < table->view->column_count)
		return false;
	if (table->view == &overview_links_view)
		trend_spark(table->app->trend, &row->index, 1, columns, table->app->theme->unicode, ret);
	else
		host_spark(table->app, row->index, columns, ret);
	return true;
}

static enum role top_role(const struct table *table, size_t index, size_t column, enum role usual)
{
	const struct overview_top_row *row = table_row(table, index);

	if (table->view == &overview_links_view)
		return column == NAME ? ROLE_TEXT : link_role(table->app, row->index);
	return column == TOP_HOST_SPARK ? ROLE_LOAD_LOW : usual;
}

static int top_widest(const struct table *table, size_t column)
{
	int widest = 1;

	for (size_t i = 0; column == NAME && i < table_count(table); i++) {
		const struct overview_top_row *row = table_row(table, i);

		widest = at_least(widest, (int)text_columns(row->name));
	}
	return column == NAME ? widest : COLUMN_WIDEST;
}

#define TOP_VIEW(columns_, steps_, count_) \
	.columns = columns_, .column_count = count_, .steps = steps_, \
	.step_count = sizeof(steps_) / sizeof(steps_[0]), \
	.fixed = 1 << NAME, .descending = 1 << (count_ - 1), .sort_descending = true, \
	.at_shown_time = true, .update = overview_update, .id = top_id, .subject = top_subject, .text = top_cell, \
	.role = top_role, .widest = top_widest

const struct table_view overview_links_view = {
	.name = "top-links", .noun = "busy link", .plural = "busy links", .none = "no link has a load",
	TOP_VIEW(top_link_columns, link_steps, TOP_LINK_COLUMNS), .sort = UTIL,
	.array = TABLE_ARRAY(struct overview_view, links.rows, links.count),
};

const struct table_view overview_hosts_view = {
	.name = "top-hosts", .noun = "busy host", .plural = "busy hosts", .none = "no host has a load",
	TOP_VIEW(top_host_columns, host_steps, TOP_HOST_COLUMNS), .sort = LOAD,
	.array = TABLE_ARRAY(struct overview_view, hosts.rows, hosts.count),
};

/* Return: by how much a width was reduced. */
static int shrink(int *columns, int least, int by)
{
	int spare = at_least(*columns - least, 0);

	by = by < 0 ? 0 : by > spare ? spare : by;
	*columns -= by;
	return by;
}

/* Columns of the map, the name of a host and the sparklines: these shrink before a name is cut. */
static void fit_top(const struct overview_view *view, const struct app *app, int columns, int rates, int *map,
		    int *host, int *spark)
{
	const struct shape *shape = app->context->shape;
	int link = top_widest(&view->link_list.table, NAME), spark_count = columns < HOSTS_FROM ? 1 : 2, over, cells;

	*host = at_least(*host, top_widest(&view->host_list.table, NAME));
	*spark = columns / 8 > TREND_LOADS ? TREND_LOADS : columns / 8;
	over = *map + 1 + link + LINK_COLUMNS + spark_count * *spark - columns;
	if (spark_count > 1)
		over += 1 + *host + LOAD_COLUMNS + 1 + rates * (RATE_COLUMNS + 1) + 2;
	/* The map without blanks, the sparklines, then the title and names of the map. */
	cells = *map ? shape->tiers[1].switches < (unsigned)*map ? (int)shape->tiers[1].switches : *map - 1 : 0;
	cells = cells ? cells * map_cell_columns(*map, (size_t)cells) + 1 : 0;
	over -= shrink(map, at_least(cells, MAP_HEAD), over);
	over -= spark_count * shrink(spark, SPARK_LEAST, (over + spark_count - 1) / spark_count);
	shrink(map, at_least(cells, MAP_HEAD_SHORT), over);
	/* What is still missing is cut off the names of links. */
	*host = *host > columns / 8 ? columns / 8 : *host;
}

void overview_draw_top(struct overview_view *view, struct app *app, const struct brush *brush, const struct rect *body)
{
	const struct shape *shape = app->context->shape;
	bool mapped = shape && shape->tier_count >= 2;
	int spark, rates = body->columns < RATES_FROM ? 0 : 2, name = 9;
	struct rect area = { body->y + view->plan.top, body->x, view->plan.top_rows, mapped ? body->columns / 4 : 0 };
	struct rect links = area, hosts = area;

	fit_top(view, app, body->columns, rates, &area.columns, &name, &spark);
	hosts.columns = name + spark + LOAD_COLUMNS + 1 + rates * (RATE_COLUMNS + 1) + 2;
	hosts.x = body->x + body->columns - hosts.columns;
	links.x = area.x + area.columns + mapped;
	links.columns = (body->columns < HOSTS_FROM ? body->x + body->columns : hosts.x - 2) - links.x;
	if (mapped)
		draw_map(view, app, brush, &area);
	view->hosts_shown = body->columns >= HOSTS_FROM;
	view->link_list.no_cursor = view->part != OVERVIEW_LINKS;
	view->host_list.no_cursor = view->part != OVERVIEW_HOSTS;
	list_screen_draw(&view->link_list, app, &links);
	if (view->hosts_shown)
		list_screen_draw(&view->host_list, app, &hosts);
}

size_t overview_top_rows(const struct overview_view *view, const struct app *app)
{
	const struct shape *shape = app->context->shape;
	size_t spines = shape && shape->tier_count >= 2 ? shape->tiers[2].switches + 1 : 0;
	size_t most = view->links.count > view->hosts.count ? view->links.count : view->hosts.count;
	size_t wanted = spines > TOP_ROWS ? spines : TOP_ROWS;

	return most < 1 ? 1 : most < wanted ? most : wanted;
}
