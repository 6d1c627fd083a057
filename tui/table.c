/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/rate.h"
#include "analysis/stall.h"
#include "base/err.h"
#include "base/text.h"
#include "fabric/fabric.h"
#include "storage/reader.h"
#include "tui/order.h"
#include "tui/words.h"

void table_init(struct table *table)
{
	memset(table, 0, sizeof(*table));
	/* The busiest first: what an operator looks for before anything is typed. */
	table->sort = COLUMN_XMIT;
	table->descending = true;
}

static void drop_rows(struct table *table)
{
	free(table->views);
	free(table->rows);
	table->views = NULL;
	table->rows = NULL;
	table->row_count = 0;
	table->snapshot = NULL;
	memset(&table->summary, 0, sizeof(table->summary));
}

void table_done(struct table *table)
{
	drop_rows(table);
	order_done(&table->order);
}

static void view_stall(const struct snapshot *snapshot, uint32_t index, struct row_view *ret)
{
	const struct port *port = &snapshot->fabric->ports[index];
	const struct port_row *row = &snapshot->rows[index];
	struct stall stall = { .percent = NAN };

	if (row->status == SAMPLE_OK && snapshot->caps)
		stall = stall_estimate(&row->sum, &snapshot->fabric->nodes[port->node], port,
				       &snapshot->caps[port->node]);
	ret->stall_percent = stall.percent;
	ret->stall_at_least = stall.at_least;
}

static void view_port(const struct snapshot *snapshot, uint32_t index, const struct error_sums *sums,
		      struct row_view *ret)
{
	const struct fabric *fabric = snapshot->fabric;
	const struct port *port = &fabric->ports[index];
	const struct port_row *row = &snapshot->rows[index];
	uint64_t rate = port_rate_bits_per_s(port);
	const struct error_sum *sum = error_sums_find(sums, fabric->nodes[port->node].guid, port->num);

	*ret = (struct row_view){
		.xmit_bytes_per_s = rate_bytes_per_s(&row->sum, COUNTER_XMIT_DATA),
		.rcv_bytes_per_s = rate_bytes_per_s(&row->sum, COUNTER_RCV_DATA),
		.errors = sum ? (double)sum->total : row->sum.known & ERRORS_COUNTED ? 0 : NAN,
		.at_least = sum && sum->at_least,
		.last_wall_us = row->last_wall_us,
	};
	/* A sweep without this port has no numbers of it, whatever the window summed up. */
	if (row->status != SAMPLE_OK)
		ret->xmit_bytes_per_s = ret->rcv_bytes_per_s = NAN;
	ret->xmit_percent = rate_utilization_percent(ret->xmit_bytes_per_s, rate);
	ret->rcv_percent = rate_utilization_percent(ret->rcv_bytes_per_s, rate);
	view_stall(snapshot, index, ret);
	ret->word = (uint8_t)port_word_now(port, row->status, ret->xmit_bytes_per_s, ret->rcv_bytes_per_s);
	ret->unused = ret->word == WORD_DOWN &&
		      (!row->last_wall_us || snapshot->sweep.wall_us - row->last_wall_us > TABLE_UNUSED_US);
}

static void sum_known(double *sum, double value)
{
	if (!isnan(value))
		*sum = isnan(*sum) ? value : *sum + value;
}

static void widen(int *columns, size_t name_columns, uint8_t num)
{
	int all = (int)name_columns + 1 + (num >= 100 ? 3 : num >= 10 ? 2 : 1);

	if (all > *columns)
		*columns = all;
}

static void summarise_port(struct fabric_summary *summary, const struct fabric *fabric, uint32_t index,
			   const struct row_view *view, const size_t *name_columns)
{
	const struct port *port = &fabric->ports[index];
	char link[WORDS_LINK_SIZE];
	int link_columns;

	summary->ports++;
	summary->words[view->word]++;
	if (view->unused)
		summary->ports_unused++;
	else if (view->word == WORD_DOWN)
		summary->ports_down++;
	if (port->peer != FABRIC_NONE && port->peer > index && port->state >= PORT_INIT)
		summary->links_up++;
	if (fabric->nodes[port->node].type == NODE_CA) {
		sum_known(&summary->hosts_xmit_bytes_per_s, view->xmit_bytes_per_s);
		sum_known(&summary->hosts_rcv_bytes_per_s, view->rcv_bytes_per_s);
	}
	link_columns = (int)strlen(words_link(port, link));
	if (link_columns > summary->link_columns)
		summary->link_columns = link_columns;
	/* Names of ports that are seldom shown do not widen the columns. */
	if (view->unused)
		return;
	widen(&summary->port_columns, name_columns[port->node], port->num);
	if (port->peer != FABRIC_NONE) {
		const struct port *peer = &fabric->ports[port->peer];

		widen(&summary->peer_columns, name_columns[peer->node], peer->num);
	}
}

static int summarise(struct table *table, const struct error_sums *sums, struct error *err)
{
	const struct fabric *fabric = table->snapshot->fabric;
	struct fabric_summary *summary = &table->summary;
	size_t *name_columns = calloc(fabric->node_count + 1, sizeof(*name_columns));
	size_t i;

	if (!name_columns)
		return err_nomem(err);
	memset(summary, 0, sizeof(*summary));
	summary->hosts_xmit_bytes_per_s = summary->hosts_rcv_bytes_per_s = NAN;
	for (i = 0; i < fabric->node_count; i++) {
		name_columns[i] = text_columns(table->order.names[i]);
		if (fabric->nodes[i].type == NODE_SWITCH)
			summary->switches++;
		else if (fabric->nodes[i].type == NODE_CA)
			summary->hcas++;
		else
			summary->others++;
	}
	for (i = 0; i < fabric->port_count; i++)
		if (port_is_pollable(fabric, &fabric->ports[i]))
			summarise_port(summary, fabric, (uint32_t)i, &table->views[i], name_columns);
	for (i = 0; i < sums->count; i++) {
		summary->errors += sums->sums[i].total;
		summary->errors_at_least |= sums->sums[i].at_least;
	}
	free(name_columns);
	return 0;
}

int table_set_snapshot(struct table *table, const struct snapshot *snapshot, const struct error_sums *sums,
		       struct error *err)
{
	size_t count, i;
	int status;

	drop_rows(table);
	if (!snapshot)
		return 0;
	count = snapshot->fabric->port_count;
	table->views = calloc(count + 1, sizeof(*table->views));
	table->rows = calloc(count + 1, sizeof(*table->rows));
	if (!table->views || !table->rows) {
		status = err_nomem(err);
		goto fail;
	}
	table->snapshot = snapshot;
	status = order_names(&table->order, snapshot->fabric, err);
	if (status < 0)
		goto fail;
	for (i = 0; i < count; i++) {
		uint32_t peer = snapshot->fabric->ports[i].peer;

		view_port(snapshot, (uint32_t)i, sums, &table->views[i]);
		table->views[i].port_rank = table->order.port_rank[i];
		table->views[i].peer_rank = peer == FABRIC_NONE ? UINT32_MAX : table->order.port_rank[peer];
	}
	status = summarise(table, sums, err);
	if (status < 0)
		goto fail;
	table_arrange(table);
	return 0;
fail:
	drop_rows(table);
	return status;
}

/* The texts of a port that a filter looks at. Return: their end. */
static char *append_texts(const struct table *table, const struct port *port, char *to)
{
	const char *name = table->snapshot->fabric->nodes[port->node].name;

	to = words_append_port(table->order.names[port->node], port->num, to);
	*to++ = '\n';
	if (strcmp(name, table->order.names[port->node])) {
		to = words_append_port(name, port->num, to);
		*to++ = '\n';
	}
	return to;
}

/* Does the filter's text stand in what identifies and describes this port? */
static bool passes_filter(const struct table *table, uint32_t index)
{
	const struct fabric *fabric = table->snapshot->fabric;
	const struct port *port = &fabric->ports[index];
	char text[4 * (WORDS_PORT_SIZE + 1) + 128], *to = text;

	/* A line break between the parts keeps a word from matching across them. */
	to = append_texts(table, port, to);
	if (port->peer != FABRIC_NONE)
		to = append_texts(table, &fabric->ports[port->peer], to);
	to = stpcpy(to, port_word_name(table->views[index].word));
	*to++ = '\n';
	words_link(port, to);
	to += strlen(to);
	*to++ = '\n';
	words_guid(fabric->nodes[port->node].guid, to);
	return filter_matches(&table->filter, text);
}

void table_arrange(struct table *table)
{
	const struct fabric *fabric;
	uint32_t i;

	table->row_count = 0;
	if (!table->snapshot)
		return;
	fabric = table->snapshot->fabric;
	for (i = 0; i < fabric->port_count; i++) {
		if (!port_is_pollable(fabric, &fabric->ports[i]))
			continue;
		if (table->views[i].unused && !table->show_unused)
			continue;
		if (table->filter.word_count && !passes_filter(table, i))
			continue;
		table->rows[table->row_count++] = i;
	}
	order_rows(table);
}

size_t table_find(const struct table *table, uint64_t node_guid, uint8_t num)
{
	uint32_t index;
	size_t row;

	if (!table->snapshot)
		return table->row_count;
	index = fabric_find_port(table->snapshot->fabric, node_guid, num);
	if (index == FABRIC_NONE)
		return table->row_count;
	for (row = 0; row < table->row_count && table->rows[row] != index; row++)
		;
	return row;
}

bool table_descending_first(enum column column)
{
	return column_info(column)->right || column == COLUMN_XMIT_BAR || column == COLUMN_RCV_BAR ||
	       column == COLUMN_STATUS || column == COLUMN_WHICH_ERRORS;
}
