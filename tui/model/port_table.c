/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/model/port_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/balance.h"
#include "base/err.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"
#include "facts/link.h"
#include "storage/reader.h"
#include "tui/model/context.h"

static void drop_rows(struct port_table *table)
{
	free(table->ports);
	table->ports = NULL;
	table->snapshot = NULL;
	memset(&table->summary, 0, sizeof(table->summary));
	memset(&table->totals, 0, sizeof(table->totals));
}

void port_table_done(struct port_table *table)
{
	drop_rows(table);
	order_done(&table->order);
}

void port_table_name(const struct port_table *table, uint32_t port, char *ret)
{
	snprintf(ret, PORT_NAME_SIZE, "-");
	if (port != FABRIC_NONE)
		order_port_name(&table->order, table->snapshot->fabric, port, ret);
}

/* Was the port not read in the newest sweep, so that it may have more errors? */
static bool is_silent(const struct port_facts *facts)
{
	return facts->status == STATUS_UNFINISHED || facts->status == STATUS_LOCKED || facts->status == STATUS_SILENT;
}

/* The facts of a port, with its errors since the display was started instead of those of the window. */
static void fill_port(const struct port_scope *scope, uint32_t index, const struct error_sums *sums,
		      struct port_facts *ret)
{
	const struct snapshot *snapshot = scope->snapshot;
	const struct port *port = &snapshot->fabric->ports[index];
	const struct error_sum *sum = error_sums_find(sums, snapshot->fabric->nodes[port->node].guid, port->num);

	port_facts_of(scope, index, ret);
	if (sum && sum->full & COUNTER_ERROR_SUM_SET)
		ret->errors = measure_saturated((double)sum->total);
	else if (sum)
		ret->errors = measure_of((double)sum->total, !sum->at_least && !is_silent(ret));
	else
		ret->errors = snapshot->rows[index].sum.known & COUNTER_ERROR_SUM_SET ? measure_of(0, true) :
			MEASURE_NONE;
}

static void summarise(struct port_table *table, const struct error_sums *sums, struct reader *reader)
{
	const struct snapshot *snapshot = table->snapshot;
	struct fabric_summary before_links;

	summary_begin(snapshot->fabric, &table->summary);
	for (uint32_t i = 0; i < snapshot->fabric->port_count; i++) {
		summary_add_port(&table->summary, snapshot, &table->ports[i]);
		table->totals.errors_at_least |= is_silent(&table->ports[i]);
	}
	before_links = table->summary;
	/* A database that cannot be read is reported by what reads more of it. */
	if (summary_end(&table->summary, snapshot, reader, NULL) < 0) {
		table->summary = before_links;
		summary_end(&table->summary, snapshot, NULL, NULL);
	}
	for (size_t i = 0; i < sums->count; i++) {
		table->totals.errors += sums->sums[i].total;
		table->totals.errors_at_least |= sums->sums[i].at_least;
	}
}

int port_table_set(struct port_table *table, const struct snapshot *snapshot, const struct error_sums *sums,
		   struct reader *reader, struct error *err)
{
	size_t count;
	int status;

	drop_rows(table);
	if (!snapshot)
		return 0;
	count = snapshot->fabric->port_count;
	table->ports = malloc((count + 1) * sizeof(*table->ports));
	if (!table->ports) {
		status = err_nomem(err);
		goto fail;
	}
	table->snapshot = snapshot;
	table->scope = (struct port_scope){ .snapshot = snapshot, .order = &table->order, .newest = true };
	status = order_names(&table->order, snapshot->fabric, err);
	if (status < 0)
		goto fail;
	for (size_t i = 0; i < count; i++)
		fill_port(&table->scope, (uint32_t)i, sums, &table->ports[i]);
	summarise(table, sums, reader);
	return 0;
fail:
	drop_rows(table);
	return status;
}

/* The links of a fabric have few different texts: each is made once. */
static void widen_link(struct table_totals *totals, const struct port *port, bool degraded,
		       bool seen[2][32 * LINK_SPEED_COUNT])
{
	unsigned kind = (port->width & 31U) * LINK_SPEED_COUNT + port->speed % LINK_SPEED_COUNT;
	char link[LINK_TEXT_SIZE];
	int columns;

	if (seen[degraded][kind])
		return;
	seen[degraded][kind] = true;
	columns = (int)strlen(link_text(port, degraded, link));
	if (columns > totals->link_columns)
		totals->link_columns = columns;
}

static void count_adaptive(const struct fabric *fabric, const struct shape_settings *settings,
			   struct table_totals *ret)
{
	uint8_t *adaptive = NULL;

	/* Unknown without memory, as without settings. */
	if (balance_adaptive_create(settings, fabric, &adaptive, NULL) < 0)
		return;
	for (size_t i = 0; adaptive && i < fabric->node_count; i++) {
		ret->adaptive_on += adaptive[i] == ADAPTIVE_ON;
		ret->adaptive_off += adaptive[i] == ADAPTIVE_OFF;
	}
	free(adaptive);
}

void port_table_compare(struct port_table *table, const struct snapshot_context *context,
			const struct shape_settings *settings)
{
	const struct shape *shape = context->shape;
	struct table_totals *totals = &table->totals;
	bool seen[2][32 * LINK_SPEED_COUNT] = { { false } };
	const struct fabric *fabric;

	totals->sm_port = FABRIC_NONE;
	if (!table->snapshot)
		return;
	fabric = table->snapshot->fabric;
	totals->hosts = shape ? shape->host_count : 0;
	for (uint32_t i = 0; i < fabric->port_count; i++) {
		if (totals->sm_port == FABRIC_NONE && fabric->ports[i].guid &&
		    fabric->ports[i].guid == table->snapshot->sweep.sm.guid)
			totals->sm_port = i;
		widen_link(totals, &fabric->ports[i], link_is_degraded(shape, i), seen);
	}
	count_adaptive(fabric, settings, totals);
}
