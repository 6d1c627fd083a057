/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* balance_hosts.c - the hosts of the Balance screen with their rails, by imbalance */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/balance.h"
#include "analysis/rate.h"
#include "base/err.h"
#include "base/text.h"
#include "fabric/shape.h"
#include "tui/draw/draw.h"
#include "tui/draw/key.h"
#include "tui/model/context.h"
#include "tui/model/live.h"
#include "tui/model/port_table.h"
#include "tui/model/trend.h"
#include "tui/screens/balance_view.h"

#define BITS_PER_BYTE_PER_US 8e6

/* The columns of a host; its rails follow. */
enum { NAME, IMBALANCE, TX, RX, COLUMNS };

/* Widths: imbalance, rates, all three with their gaps; of a rail. */
enum { IMBALANCE_COLUMNS = 10, RATE_COLUMNS = 8, NUMBER_COLUMNS = 31, CELL = 5, CELL_NARROW = 3,
       SPARK_LEAST = 11 };

static const struct shape_host *host_at(const struct balance_view *view, const struct app *app, size_t row)
{
	return row < view->host_count ? &app->context->shape->hosts[view->hosts[row].index] : NULL;
}

static void save_cursor(struct balance_view *view, const struct app *app)
{
	const struct shape_host *host = host_at(view, app, view->host_list.cursor);

	if (!host)
		return;
	if (view->rail >= host->count)
		view->rail = host->count - 1;
	view->host_guid = app->live->shown->fabric->nodes[app->context->shape->host_nodes[host->first]].guid;
}

static int make(struct balance_view *view, const struct app *app, struct error *err)
{
	const struct shape *shape = app->context->shape;
	const struct balance_input input = loads_input(&view->loads, shape);
	struct balance_amount rails[BALANCE_RAILS_MOST];

	free(view->hosts);
	view->hosts = calloc(shape->host_count + 1, sizeof(*view->hosts));
	view->host_count = view->idle_hosts = 0;
	if (!view->hosts)
		return err_nomem(err);
	for (size_t i = 0; i < shape->host_count; i++) {
		struct balance_amount *sum = &view->hosts[view->host_count];

		if (shape->hosts[i].count < 2)
			continue;
		*sum = (struct balance_amount){ .kind = "host", .index = (uint32_t)i };
		balance_host_rails(&input, &shape->hosts[i], rails, sum);
		if (balance_host_is_busy(sum, &view->limits) || view->all)
			view->host_count++;
		else
			view->idle_hosts++;
	}
	qsort(view->hosts, view->host_count, sizeof(*view->hosts), balance_compare_excess);
	for (size_t i = 0; view->host_list.cursor && i < view->host_count; i++)
		if (app->live->shown->fabric->nodes[shape->host_nodes[host_at(view, app, i)->first]].guid ==
		    view->host_guid) {
			view->host_list.cursor = i;
			break;
		}
	return 0;
}

/* A rail as a cell of the map: the mean of both directions. */
static struct heat_cell cell_of(const struct balance_amount *rail)
{
	double load = balance_amount_load(rail) * BITS_PER_BYTE_PER_US / 2;
	struct heat_cell cell = { .value = { (float)load, NAN, NAN }, .links = 1, .working = rail->active ? 1 : 0 };

	cell.sign = !rail->active ? HEAT_DOWN : isnan(load) ? HEAT_UNKNOWN : HEAT_LOAD;
	return cell;
}

/* Widths in a line. */
struct widths {
	int columns[COLUMNS], cell, rails, spark;
};

static struct widths widths_of(const struct balance_view *view, const struct app *app, const struct rect *body)
{
	struct widths widths = { { 8, IMBALANCE_COLUMNS, RATE_COLUMNS, RATE_COLUMNS }, CELL, 0, 0 };
	int longest = 0, left = body->columns - NUMBER_COLUMNS;

	for (size_t i = 0; i < view->host_count; i++) {
		const struct shape_host *host = host_at(view, app, i);
		int columns = (int)text_columns(host->name);

		longest = columns > longest ? columns : longest;
		widths.rails = (int)host->count > widths.rails ? (int)host->count : widths.rails;
	}
	widths.rails = widths.rails > BALANCE_RAILS_MOST ? BALANCE_RAILS_MOST : widths.rails;
	while (widths.cell > CELL_NARROW && left - widths.rails * widths.cell < longest)
		widths.cell--;
	left -= widths.rails * widths.cell;
	longest = longest < left ? longest : left;
	widths.columns[NAME] = longest < 8 ? 8 : longest > 32 ? 32 : longest;
	left -= widths.columns[NAME] + 1;
	widths.spark = left < SPARK_LEAST ? 0 : left > TREND_LOADS ? TREND_LOADS : left;
	return widths;
}

static int spark_x(const struct rect *body, const struct widths *widths)
{
	return body->x + widths->columns[NAME] + NUMBER_COLUMNS + widths->rails * widths->cell + 1;
}

static void draw_host(const struct balance_view *view, const struct app *app, const struct rect *body,
		      const struct widths *widths, int y, size_t row)
{
	const struct balance_input input = loads_input(&view->loads, app->context->shape);
	const struct shape_host *host = host_at(view, app, row);
	struct balance_amount rails[BALANCE_RAILS_MOST], sum = { 0 };
	uint32_t count = balance_host_rails(&input, host, rails, &sum);
	bool here = row == view->host_list.cursor;
	struct brush brush = app_brush(app, here);
	int x = body->x + widths->columns[NAME] + NUMBER_COLUMNS;
	char text[32], xmit[32], rcv[32];

	snprintf(text, sizeof(text), isnan(sum.excess) ? "-" : "%.0f", fabs(100 * sum.excess));
	format_rate(measure_scale(sum.xmit, 1e6), RATE_COLUMNS, xmit, sizeof(xmit));
	format_rate(measure_scale(sum.rcv, 1e6), RATE_COLUMNS, rcv, sizeof(rcv));
	draw_cells(&brush, y, body, widths->columns, (const struct table_cell[]){
		[NAME] = { host->name, ROLE_TEXT, ALIGN_NAME },
		[IMBALANCE] = { text, sum.excess >= 1 ? ROLE_WARNING : ROLE_TEXT, ALIGN_RIGHT },
		[TX] = { xmit, ROLE_TEXT, ALIGN_RIGHT },
		[RX] = { rcv, ROLE_TEXT, ALIGN_RIGHT },
	}, COLUMNS);
	for (uint32_t i = 0; i < count && x + widths->cell <= body->x + body->columns; i++, x += widths->cell) {
		const struct heat_cell rail = cell_of(&rails[i]);
		enum role role = heat_write(&rail, HEAT_MEASURED, widths->cell, app->theme->unicode, text);

		brush = app_brush(app, here && i == view->rail);
		draw_cell(&brush, y, x, widths->cell, text, ALIGN_LEFT, role);
	}
	brush = app_brush(app, false);
	if (widths->spark)
		draw_host_spark(app, &brush, y, spark_x(body, widths), widths->spark, view->hosts[row].index,
				ROLE_LOAD_LOW);
}

static void draw_heads(const struct app *app, const struct rect *body, const struct widths *widths, int y)
{
	static const struct table_cell heads[COLUMNS] = {
		{ "HOST", ROLE_HEAD, ALIGN_LEFT }, { "IMBALANCE%", ROLE_HEAD, ALIGN_RIGHT },
		{ "TXb/s", ROLE_HEAD, ALIGN_RIGHT }, { "RXb/s", ROLE_HEAD, ALIGN_RIGHT },
	};
	const struct brush brush = app_brush(app, false);
	int x = body->x + widths->columns[NAME] + NUMBER_COLUMNS;
	char text[16];

	draw_cells(&brush, y, body, widths->columns, heads, COLUMNS);
	for (int i = 1; x + widths->cell <= body->x + body->columns && i <= widths->rails; i++, x += widths->cell) {
		snprintf(text, sizeof(text), "%d", i);
		draw_cell(&brush, y, x, heat_number_columns(widths->cell), text, ALIGN_RIGHT, ROLE_HEAD);
	}
	app->trend->wanted |= widths->spark > 0;
	draw_cell(&brush, y, spark_x(body, widths), widths->spark, "LAST SWEEPS", ALIGN_LEFT, ROLE_HEAD);
}

/* "node0119 mlx5_3: sends ..., 82 % of 200 Gb/s; the busiest of 8, 332 % above their mean". */
static void draw_words(const struct balance_view *view, const struct app *app, const struct rect *body, int y)
{
	const struct balance_input input = loads_input(&view->loads, app->context->shape);
	const struct shape_host *host = host_at(view, app, view->host_list.cursor);
	struct balance_amount rails[BALANCE_RAILS_MOST], sum = { 0 };
	const struct brush brush = app_brush(app, false);
	const struct balance_amount *rail = &rails[view->rail % BALANCE_RAILS_MOST];
	uint32_t count = host ? balance_host_rails(&input, host, rails, &sum) : 0;
	struct text text = { 0 };
	char xmit[32], rcv[32], rate[32];

	if (view->rail >= count)
		return;
	text_appendf(&text, "%s: ", app->table->order.names[rail->index]);
	if (rail->known)
		text_appendf(&text, "TX %s, RX %s, %.0f %% of %s in both directions",
			     rate_format(measure_scale(rail->xmit, 1e6), xmit, sizeof(xmit)),
			     rate_format(measure_scale(rail->rcv, 1e6), rcv, sizeof(rcv)),
			     100 * balance_amount_load(rail) * BITS_PER_BYTE_PER_US / 2,
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
	const struct brush brush = app_brush(app, false);
	struct segments title = { 0 };
	struct widths widths;
	char window[64];

	segment_add(&title, 0, ROLE_STRONG, "host rails: load of the busiest rail above the host's mean");
	segment_add(&title, 1, ROLE_TEXT, "%s", view_window(view, window, sizeof(window)));
	segment_add(&title, 2, ROLE_TEXT, "%zu hosts, %zu idle%s", view->host_count, view->idle_hosts,
		    view->idle_hosts ? " (i shows them)" : "");
	draw_segments(&brush, body->y, body->x, body->columns, &title);
	list_place(&view->host_list, view->host_count, body->y + 2, body->rows - 3);
	if (!view->host_count) {
		draw_line(&brush, body, 2, ROLE_TEXT, view->idle_hosts ?
			  "no host has enough traffic to compare its rails" : "no host has more than one HCA");
		return;
	}
	widths = widths_of(view, app, body);
	draw_heads(app, body, &widths, body->y + 1);
	for (int line = 0; line < body->rows - 3 && view->host_list.first + (size_t)line < view->host_count; line++)
		draw_host(view, app, body, &widths, body->y + 2 + line,
			  view->host_list.first + (size_t)line);
	draw_words(view, app, body, body->y + body->rows - 1);
}

static bool key(struct balance_view *view, struct app *app, int pressed)
{
	if (pressed == KEY_SPECIAL(KEY_LEFT))
		view->rail -= view->rail > 0;
	else if (pressed == KEY_SPECIAL(KEY_RIGHT))
		view->rail++;
	else
		return false;
	save_cursor(view, app);
	return true;
}

static void subject(const struct balance_view *view, const struct app *app, struct subject *ret)
{
	const struct shape_host *host = host_at(view, app, view->host_list.cursor);
	const struct node *node;
	uint32_t index;

	if (!host || view->rail >= host->count)
		return;
	index = app->context->shape->host_nodes[host->first + view->rail];
	node = &app->live->shown->fabric->nodes[index];
	*ret = node->ports == 1 ? subject_of_port(app, node->first_port) : subject_of_node(app, index);
}

const struct balance_part_info balance_hosts = {
	.make = make,
	.draw = draw,
	.key = key,
	.moved = save_cursor,
	.subject = subject,
};
