/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/model/port_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/balance.h"
#include "base/err.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"
#include "storage/reader.h"
#include "tui/model/cell_text.h"
#include "tui/model/context.h"

static void drop_rows(struct port_table *table)
{
	free(table->views);
	table->views = NULL;
	table->snapshot = NULL;
	memset(&table->summary, 0, sizeof(table->summary));
}

void port_table_done(struct port_table *table)
{
	drop_rows(table);
	order_done(&table->order);
}

/* The view of a port, with its errors since the display was started instead of those of the window. */
static void view_port(const struct snapshot *snapshot, uint32_t index, const struct error_sums *sums,
		      struct port_facts *ret)
{
	const struct port *port = &snapshot->fabric->ports[index];
	const struct error_sum *sum = error_sums_find(sums, snapshot->fabric->nodes[port->node].guid, port->num);

	port_facts_of(snapshot, index, 0, true, ret);
	ret->errors = sum ? (double)sum->total : snapshot->rows[index].sum.known & ERRORS_COUNTED ? 0 : NAN;
	ret->errors_at_least = sum && sum->at_least;
}

/* The links of a fabric have few different texts: each is made once. */
static void widen_link(struct fabric_summary *summary, const struct port *port, bool *seen)
{
	unsigned kind = (port->width & 31U) * LINK_SPEED_COUNT + port->speed % LINK_SPEED_COUNT;
	char link[CELL_LINK_SIZE];
	int columns;

	if (seen[kind])
		return;
	seen[kind] = true;
	columns = (int)strlen(cell_text_link(port, link));
	if (columns > summary->link_columns)
		summary->link_columns = columns;
}

static void summarise_port(struct fabric_summary *summary, const struct fabric *fabric, uint32_t index,
			   const struct port_facts *view, bool *seen)
{
	const struct port *port = &fabric->ports[index];

	summary->ports++;
	summary->by_status[view->status]++;
	if (view->unused)
		summary->ports_unused++;
	else if (view->status == STATUS_DOWN)
		summary->ports_down++;
	if (port->peer != FABRIC_NONE && port->peer > index && port->state >= PORT_INIT)
		summary->links_up++;
	if (fabric->nodes[port->node].type == NODE_CA) {
		summary->hosts_xmit_bytes_per_s = facts_sum(summary->hosts_xmit_bytes_per_s, view->xmit_bytes_per_s);
		summary->hosts_rcv_bytes_per_s = facts_sum(summary->hosts_rcv_bytes_per_s, view->rcv_bytes_per_s);
	}
	widen_link(summary, port, seen);
}

static void summarise(struct port_table *table, const struct error_sums *sums)
{
	const struct fabric *fabric = table->snapshot->fabric;
	struct fabric_summary *summary = &table->summary;
	bool seen[32 * LINK_SPEED_COUNT] = { false };

	memset(summary, 0, sizeof(*summary));
	summary->hosts_xmit_bytes_per_s = summary->hosts_rcv_bytes_per_s = NAN;
	for (size_t i = 0; i < fabric->node_count; i++) {
		if (fabric->nodes[i].type == NODE_SWITCH)
			summary->switches++;
		else if (fabric->nodes[i].type == NODE_CA)
			summary->hcas++;
		else
			summary->others++;
	}
	for (size_t i = 0; i < fabric->port_count; i++)
		if (port_is_pollable(fabric, &fabric->ports[i]))
			summarise_port(summary, fabric, (uint32_t)i, &table->views[i], seen);
	for (size_t i = 0; i < sums->count; i++) {
		summary->errors += sums->sums[i].total;
		summary->errors_at_least |= sums->sums[i].at_least;
	}
}

int port_table_set(struct port_table *table, const struct snapshot *snapshot, const struct error_sums *sums,
		       struct error *err)
{
	size_t count;
	int status;

	drop_rows(table);
	if (!snapshot)
		return 0;
	count = snapshot->fabric->port_count;
	table->views = malloc((count + 1) * sizeof(*table->views));
	if (!table->views) {
		status = err_nomem(err);
		goto fail;
	}
	table->snapshot = snapshot;
	status = order_names(&table->order, snapshot->fabric, err);
	if (status < 0)
		goto fail;
	for (size_t i = 0; i < count; i++)
		view_port(snapshot, (uint32_t)i, sums, &table->views[i]);
	summarise(table, sums);
	return 0;
fail:
	drop_rows(table);
	return status;
}

static void count_deviation(const struct port_table *table, const struct shape *shape, uint32_t index,
			    struct fabric_summary *ret)
{
	const struct fabric *fabric = table->snapshot->fabric;
	const struct port *port = &fabric->ports[index];
	const struct port_facts *view = &table->views[index];
	bool counted;

	if (fabric->nodes[port->node].type == NODE_CA && port->state == PORT_ACTIVE &&
	    !node_is_aggregation(&fabric->nodes[port->node]))
		ret->injection_bits_per_s += port_rate_bits_per_s(port);
	if (port->peer != FABRIC_NONE && port->peer > index && port->state >= PORT_INIT) {
		ret->links_degraded += port_is_degraded(fabric, shape, index);
		return;
	}
	if (view->status != STATUS_DOWN || view->unused)
		return;
	/* A link whose other end is known, and down as well, counts once. */
	counted = port->peer != FABRIC_NONE && port->peer < index && table->views[port->peer].status == STATUS_DOWN &&
		  !table->views[port->peer].unused;
	ret->links_down += !counted;
}

static bool is_down(const struct port_table *table, uint64_t node_guid, uint8_t num)
{
	uint32_t port = fabric_find_port(table->snapshot->fabric, node_guid, num);

	return port != FABRIC_NONE && table->views[port].status == STATUS_DOWN && !table->views[port].unused;
}

/* If the topology lost a cable, the finding still has both ends of the link. */
static void join_ends(const struct port_table *table, const struct snapshot_context *context,
		      struct fabric_summary *ret)
{
	const struct fabric *fabric = table->snapshot->fabric;

	for (size_t i = 0; i < context->finding_count; i++) {
		const struct finding *finding = &context->findings[i].finding;
		uint32_t port = fabric_find_port(fabric, finding->node_guid, finding->port);

		if (finding->kind == FINDING_LINK_DOWN && ret->links_down > 1 && port != FABRIC_NONE &&
		    fabric->ports[port].peer == FABRIC_NONE && is_down(table, finding->node_guid, finding->port) &&
		    is_down(table, finding->peer_guid, finding->peer_port))
			ret->links_down--;
	}
}

static void count_adaptive(const struct fabric *fabric, const struct shape_settings *settings,
			   struct fabric_summary *ret)
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
	struct fabric_summary *summary = &table->summary;
	const struct fabric *fabric;

	summary->sm_port = FABRIC_NONE;
	if (!table->snapshot)
		return;
	fabric = table->snapshot->fabric;
	summary->hosts = shape ? shape->host_count : 0;
	for (uint32_t i = 0; i < fabric->port_count; i++) {
		if (summary->sm_port == FABRIC_NONE && fabric->ports[i].guid &&
		    fabric->ports[i].guid == table->snapshot->sweep.sm.guid)
			summary->sm_port = i;
		if (port_is_pollable(fabric, &fabric->ports[i]))
			count_deviation(table, shape, i, summary);
	}
	join_ends(table, context, summary);
	count_adaptive(fabric, settings, summary);
}
