/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/model/census.h"

#include <stdlib.h>

#include "analysis/balance.h"
#include "analysis/status.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"
#include "storage/reader.h"
#include "tui/model/port_marks.h"
#include "tui/model/context.h"
#include "tui/model/port_table.h"

static void count_port(const struct port_table *table, const struct shape *shape, uint32_t index, struct census *ret)
{
	const struct fabric *fabric = table->snapshot->fabric;
	const struct port *port = &fabric->ports[index];
	const struct port_view *view = &table->views[index];
	bool counted;

	if (port->peer != FABRIC_NONE && port->peer > index && port->state >= PORT_INIT) {
		ret->bits_per_s += port_rate_bits_per_s(port);
		ret->links_degraded += port_is_degraded(fabric, shape, index);
		return;
	}
	if (view->word != WORD_DOWN || view->unused)
		return;
	/* Where the other end is known, and down as well, it is one link. */
	counted = port->peer != FABRIC_NONE && port->peer < index && table->views[port->peer].word == WORD_DOWN &&
		  !table->views[port->peer].unused;
	ret->links_down += !counted;
}

static bool is_down(const struct port_table *table, uint64_t node_guid, uint8_t num)
{
	uint32_t port = fabric_find_port(table->snapshot->fabric, node_guid, num);

	return port != FABRIC_NONE && table->views[port].word == WORD_DOWN && !table->views[port].unused;
}

/* If the topology lost a cable, the finding still has both ends of the link. */
static void join_ends(const struct port_table *table, const struct snapshot_context *context, struct census *ret)
{
	const struct fabric *fabric = table->snapshot->fabric;
	size_t i;

	for (i = 0; i < context->finding_count; i++) {
		const struct finding *finding = &context->findings[i].finding;
		uint32_t port = fabric_find_port(fabric, finding->node_guid, finding->port);

		if (finding->kind == FINDING_LINK_DOWN && ret->links_down > 1 && port != FABRIC_NONE &&
		    fabric->ports[port].peer == FABRIC_NONE && is_down(table, finding->node_guid, finding->port) &&
		    is_down(table, finding->peer_guid, finding->peer_port))
			ret->links_down--;
	}
}

static void count_adaptive(const struct fabric *fabric, const struct shape_settings *settings, struct census *ret)
{
	uint8_t *adaptive = NULL;
	size_t i;

	/* Without memory it is not known, as without settings. */
	if (balance_adaptive_create(settings, fabric, &adaptive, NULL) < 0)
		return;
	for (i = 0; adaptive && i < fabric->node_count; i++) {
		ret->adaptive_on += adaptive[i] == ADAPTIVE_ON;
		ret->adaptive_off += adaptive[i] == ADAPTIVE_OFF;
	}
	free(adaptive);
}

void census_count(const struct port_table *table, const struct snapshot_context *context,
		  const struct shape_settings *settings, struct census *ret)
{
	const struct shape *shape = context->shape;
	const struct fabric *fabric;
	uint32_t i;

	*ret = (struct census){ .sm_port = FABRIC_NONE };
	if (!table->snapshot)
		return;
	fabric = table->snapshot->fabric;
	ret->hosts = shape ? shape->host_count : 0;
	for (i = 0; i < fabric->port_count; i++) {
		if (ret->sm_port == FABRIC_NONE && fabric->ports[i].guid &&
		    fabric->ports[i].guid == table->snapshot->sweep.sm.guid)
			ret->sm_port = i;
		if (port_is_pollable(fabric, &fabric->ports[i]))
			count_port(table, shape, i, ret);
	}
	join_ends(table, context, ret);
	count_adaptive(fabric, settings, ret);
}
