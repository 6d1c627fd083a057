/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* balance_hosts.c - the hosts of the Balance screen with their rails, by imbalance */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/rate.h"
#include "base/err.h"
#include "base/text.h"
#include "fabric/shape.h"
#include "facts/amount.h"
#include "tui/draw/draw.h"
#include "tui/model/context.h"
#include "tui/model/live.h"
#include "tui/model/port_table.h"
#include "tui/model/trend.h"
#include "tui/screens/balance_view.h"

enum { NAME, IMBALANCE, TX, RX, RAILS, SPARK, HOST_COLUMNS };

/* Columns of a rail, with the blank behind it; those of all rails at first. */
enum { CELL = 5, CELL_NARROW = 3, RAILS_LEAST = 24, SPARK_LEAST = 11 };

static const struct shape_host *host_at(const struct app *app, const struct balance_view *view, size_t index)
{
	return &app->context->shape->hosts[view->host_rows[index].amount.index];
}

/* The rails of a host. Return: their number. */
static uint32_t rails_of(const struct app *app, const struct balance_view *view, size_t index,
			 struct balance_amount rails[BALANCE_RAILS_MOST])
{
	const struct balance_input input = loads_input(&view->loads, app->context->shape);
	struct balance_amount sum = { 0 };

	return balance_host_rails(&input, host_at(app, view, index), rails, &sum);
}

/* The rail to look at: one that is down, else the one farthest from the mean. */
static uint32_t worst_rail(const struct balance_amount *rails, uint32_t count)
{
	uint32_t worst = 0;

	for (uint32_t i = 0; i < count && rails[worst].active; i++)
		if (!rails[i].active || fabs(rails[i].excess) > fabs(rails[worst].excess))
			worst = i;
	return worst;
}

static int make(struct balance_view *view, const struct app *app, struct error *err)
{
	const struct shape *shape = app->context->shape;
	const struct balance_input input = loads_input(&view->loads, shape);
	struct balance_amount rails[BALANCE_RAILS_MOST];

	free(view->host_rows);
	view->host_rows = calloc(shape->host_count + 1, sizeof(*view->host_rows));
	view->host_count = view->idle_hosts = view->most_rails = 0;
	if (!view->host_rows)
		return err_nomem(err);
	for (size_t i = 0; i < shape->host_count; i++) {
		struct amount_facts *facts = &view->host_rows[view->host_count];
		uint32_t count;

		if (shape->hosts[i].count < 2)
			continue;
		*facts = (struct amount_facts){ .amount = { .kind = "host", .index = (uint32_t)i } };
		count = balance_host_rails(&input, &shape->hosts[i], rails, &facts->amount);
		view->most_rails = count > view->most_rails ? count : view->most_rails;
		if (balance_host_is_busy(&facts->amount, &view->limits) || view->all)
			view->host_count++;
		else
			view->idle_hosts++;
	}
	qsort(view->host_rows, view->host_count, sizeof(*view->host_rows), balance_compare_excess);
	list_screen_changed(&view->hosts, true);
	return 0;
}

/* --- the list --- */

static const struct column host_columns[HOST_COLUMNS] = {
	[NAME] = { .key = "name", .title = "HOST", .help = "host with several HCAs" },
	[IMBALANCE] = { .key = "excess_percent", .help = "load of the busiest rail above the host's mean" },
	[TX] = { .key = "xmit_bytes_per_s", .title = "TX", .narrow = "TXb/s" },
	[RX] = { .key = "rcv_bytes_per_s", .title = "RX", .narrow = "RXb/s" },
	[RAILS] = { .title = "RAILS", .flags = COLUMN_FLEXIBLE, .help = "load of each HCA in % of its rate" },
	[SPARK] = { .title = "LAST SWEEPS", .narrow = "LAST", .flags = COLUMN_FLEXIBLE,
		    .help = "mean utilization of the host's ports in the last sweeps" },
};

static const struct column_step host_steps[] = {
	{ NAME, 8, 0 }, { IMBALANCE, 10, 0 }, { TX, 8, 0 }, { RX, 8, 0 }, { RAILS, CELL_NARROW, 0 },
	{ RAILS, COLUMN_WIDEST, RAILS_LEAST }, { NAME, COLUMN_WIDEST, 32 }, { RAILS, COLUMN_WIDEST, 0 },
	{ SPARK, SPARK_LEAST, 0 }, { SPARK, TREND_LOADS, 0 },
};

static size_t count_hosts(const struct table *table)
{
	return ((const struct balance_view *)table->state)->host_count;
}

static void read_host(const struct table *table, size_t index, const void *ret[TABLE_STRUCTS])
{
	struct balance_view *view = table->state;

	view->host_rows[index].name = host_at(table->app, view, index)->name;
	ret[0] = &view->host_rows[index];
}

static struct table_id host_id(const struct table *table, size_t index)
{
	uint32_t first = host_at(table->app, table->state, index)->first;

	return (struct table_id){ table->app->live->shown->fabric->nodes[table->app->context->shape->host_nodes[first]]
				  .guid, 0 };
}

static struct subject subject_of(const struct table *table, size_t index)
{
	struct balance_amount rails[BALANCE_RAILS_MOST];
	uint32_t count = rails_of(table->app, table->state, index, rails);
	uint32_t node = rails[worst_rail(rails, count)].index;
	const struct node *hca = &table->app->live->shown->fabric->nodes[node];

	return hca->ports == 1 ? subject_of_port(table->app, hca->first_port) : subject_of_node(table->app, node);
}

/* The hosts are sorted by imbalance, equal whole percents by name; RAILS is sorted by the busiest one. */
static bool host_key(const struct table *table, size_t index, size_t column, struct table_key *ret)
{
	const struct balance_view *view = table->state;
	struct balance_amount rails[BALANCE_RAILS_MOST];

	ret->tie = index;
	if (column == IMBALANCE)
		ret->number = -(double)index;
	else if (column == RAILS)
		ret->number = balance_amounts_most(rails, rails_of(table->app, view, index, rails));
	else if (column == SPARK)
		ret->number = balance_amount_load(&view->host_rows[index].amount);
	return column == IMBALANCE || column == RAILS || column == SPARK;
}

static int host_widest(const struct table *table, size_t column)
{
	const struct balance_view *view = table->state;
	int widest = 8;

	if (column != NAME)
		return column == RAILS ? CELL * (int)view->most_rails : COLUMN_WIDEST;
	for (size_t i = 0; i < view->host_count; i++) {
		int columns = (int)text_columns(host_at(table->app, view, i)->name);

		widest = columns > widest ? columns : widest;
	}
	return widest;
}

/* A rail as a cell of the map: the mean of both directions. */
static enum role write_rail(const struct balance_amount *rail, int columns, bool unicode, char *ret)
{
	double load = balance_amount_load(rail);
	const struct heat_cell cell = { .value = { (float)load, NAN, NAN }, .links = 1, .working = rail->active > 0,
					.sign = !rail->active ? HEAT_DOWN : isnan(load) ? HEAT_UNKNOWN : HEAT_LOAD };

	return heat_write(&cell, HEAT_MEASURED, columns, unicode, ret);
}

static int cell_columns(const struct balance_view *view, int columns)
{
	int cell = view->most_rails ? columns / (int)view->most_rails : 0;

	return !columns || cell > CELL ? CELL : cell < CELL_NARROW ? CELL_NARROW : cell;
}

static bool host_cell(const struct table *table, size_t index, size_t column, int columns, struct text *ret)
{
	const struct balance_view *view = table->state;
	const struct balance_amount *host = &view->host_rows[index].amount;
	struct balance_amount rails[BALANCE_RAILS_MOST];
	uint32_t count = column == RAILS ? rails_of(table->app, view, index, rails) : 0;
	char text[16];

	if (column == IMBALANCE)
		text_appendf(ret, isnan(host->excess) ? "-" : "%.0f", fabs(100 * host->excess));
	for (uint32_t i = 0; i < count; i++) {
		write_rail(&rails[i], cell_columns(view, columns), table->app->theme->unicode, text);
		text_append(ret, text);
	}
	if (column == SPARK)
		host_spark(table->app, host->index, columns, ret);
	return column == IMBALANCE || column == RAILS || column == SPARK;
}

static enum role host_role(const struct table *table, size_t index, size_t column, enum role usual)
{
	const struct balance_view *view = table->state;

	if (column == IMBALANCE && view->host_rows[index].amount.excess >= 1)
		return ROLE_WARNING;
	return column == SPARK ? ROLE_LOAD_LOW : usual;
}

const struct table_view hosts_view = {
	.name = "hosts", .noun = "host", .plural = "hosts", .none = "", /* draw() has the reason */
	.columns = host_columns, .column_count = HOST_COLUMNS, .sources = { amount_columns }, .steps = host_steps,
	.step_count = sizeof(host_steps) / sizeof(host_steps[0]), .fixed = 1 << NAME,
	.descending = 1 << RAILS | 1 << SPARK, .sort = IMBALANCE, .sort_descending = true, .at_shown_time = true,
	.count = count_hosts, .row = read_host, .id = host_id, .subject = subject_of, .text = host_cell,
	.role = host_role, .key = host_key, .widest = host_widest,
};

/* The rails in their colours, over the cells of the list; the cursor is one bar of one colour. */
static void draw_rails(const struct balance_view *view, const struct app *app)
{
	const struct list *list = &view->hosts.list;
	const struct column_place *place = &view->hosts.places[RAILS];
	const struct brush brush = app_brush(app, false);
	int cell = cell_columns(view, place->columns), shown = place->columns / cell;
	struct balance_amount rails[BALANCE_RAILS_MOST];
	char text[16];

	for (int i = 0; i < shown && i < (int)view->most_rails; i++) {
		snprintf(text, sizeof(text), "%*d", heat_number_columns(cell), i + 1);
		draw_cell(&brush, list->y - 1, app->body.x + place->x + i * cell, cell, text, ALIGN_LEFT,
			  view->hosts.table.sort == RAILS ? ROLE_SORTED : ROLE_HEAD);
	}
	for (size_t row = list->first; row < list->count && row < list->first + (size_t)list->height; row++) {
		int count = (int)rails_of(app, view, view->hosts.table.rows[row], rails);

		for (int i = 0; i < shown && i < count && row != list->cursor; i++) {
			enum role role = write_rail(&rails[i], cell, app->theme->unicode, text);

			draw_cell(&brush, list->y + (int)(row - list->first), app->body.x + place->x + i * cell, cell,
				  text, ALIGN_LEFT, role);
		}
	}
}

/* "node0119 mlx5_3: sends ..., 82 % of 200 Gb/s; the busiest of 8, 332 % above their mean". */
static void draw_words(const struct balance_view *view, const struct app *app, const struct rect *body, int y)
{
	struct balance_amount rails[BALANCE_RAILS_MOST];
	const struct brush brush = app_brush(app, false);
	const struct balance_amount *rail;
	struct text text = { 0 };
	char xmit[32], rcv[32], rate[32];
	uint32_t count;
	size_t index;

	if (!list_screen_index(&view->hosts, &index))
		return;
	count = rails_of(app, view, index, rails);
	rail = &rails[worst_rail(rails, count)];
	text_appendf(&text, "%s: ", app->table->order.names[rail->index]);
	if (rail->known)
		text_appendf(&text, "TX %s, RX %s, %.0f %% of %s in both directions",
			     rate_format(measure_scale(rail->xmit, 1e6), xmit, sizeof(xmit)),
			     rate_format(measure_scale(rail->rcv, 1e6), rcv, sizeof(rcv)),
			     100 * balance_amount_load(rail),
			     rate_format_bits(rail->capacity / 8, rate, sizeof(rate)));
	else
		text_append(&text, rail->active ? "not read in this window" : "all ports down");
	if (!isnan(rail->excess))
		text_appendf(&text, "; %.0f %% %s the mean of %u rails", fabs(100 * rail->excess),
			     rail->excess < 0 ? "below" : "above", count);
	draw_cell(&brush, y, body->x, body->columns, text_chars(&text), ALIGN_LEFT, ROLE_STRONG);
	text_done(&text);
}

static void draw(struct balance_view *view, struct app *app, const struct rect *body)
{
	const struct rect list = { body->y + 1, body->x, body->rows - 2, body->columns };
	const struct brush brush = app_brush(app, false);
	struct segments title = { 0 };
	char window[64];

	segment_add(&title, 0, ROLE_STRONG, "host rails: load of the busiest rail above the host's mean");
	segment_add(&title, 1, ROLE_TEXT, "%s", view_window(view, window, sizeof(window)));
	segment_add(&title, 2, ROLE_TEXT, "%zu host%s, %zu idle%s", view->host_count, text_plural(view->host_count),
		    view->idle_hosts,
		    view->idle_hosts ? " (i shows them)" : "");
	draw_segments(&brush, body->y, body->x, body->columns, &title);
	list_screen_draw(&view->hosts, app, &list);
	if (view->host_count && view->hosts.mode != LIST_SORT)
		draw_rails(view, app);
	else if (!view->host_count)
		draw_line(&brush, body, 2, ROLE_TEXT, view->idle_hosts ?
			  "no host has enough traffic to compare its rails" : "no host has more than one HCA");
	draw_words(view, app, body, body->y + body->rows - 1);
}

const struct balance_part_info balance_hosts = {
	.make = make,
	.draw = draw,
};
