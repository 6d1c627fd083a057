/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/model/links.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"
#include "facts/link.h"
#include "facts/port_columns.h"
#include "storage/reader.h"
#include "tui/model/context.h"
#include "tui/model/port_table.h"

/* Height of an end without a tier: above all others. */
#define NO_TIER 255

static void drop_rows(struct links *links)
{
	free(links->all);
	select_marks_done(&links->marks);
	links->all = NULL;
	links->count = links->unused_count = 0;
	links->table = NULL;
	links->context = NULL;
}

void links_done(struct links *links)
{
	drop_rows(links);
}

/* Distance of an end from the hosts. */
static unsigned height_of(const struct fabric *fabric, const struct shape *shape, uint32_t port)
{
	const struct node *node = &fabric->nodes[fabric->ports[port].node];
	unsigned tier;

	if (node->type != NODE_SWITCH)
		return 0;
	tier = shape ? shape_port_tier(shape, port) : 0;
	return tier ? tier : NO_TIER;
}

static bool is_lower(const struct port_table *table, const struct shape *shape, uint32_t port, uint32_t peer)
{
	const struct fabric *fabric = table->snapshot->fabric;
	unsigned own = height_of(fabric, shape, port), other = height_of(fabric, shape, peer);

	if (own != other)
		return own < other;
	return table->order.port_rank[port] < table->order.port_rank[peer];
}

static void widen(int *columns, size_t name_columns, uint8_t num)
{
	int all = (int)name_columns + 1 + (num >= 100 ? 3 : num >= 10 ? 2 : 1);

	if (all > *columns)
		*columns = all;
}

static void finish_row(struct links *links, struct link_row *link)
{
	const struct fabric *fabric = links->table->snapshot->fabric;

	for (unsigned i = 0; i < 2 && link->ends[i] != FABRIC_NONE; i++) {
		const struct port *port = &fabric->ports[link->ends[i]];
		uint32_t finding = links->context->finding_of ? links->context->finding_of[link->ends[i]] : 0;

		/* Findings are sorted by severity. */
		if (finding && (!link->finding || finding < link->finding))
			link->finding = finding;
		/* Hidden ports do not widen the columns. */
		if (!link->facts.unused)
			widen(&links->end_columns[i], links->table->order.name_columns[port->node], port->num);
	}
	if (link->finding)
		link->mark = port_mark_of(&links->context->findings[link->finding - 1]);
	links->has_marks |= link->mark != MARK_NONE;
	links->unused_count += link->facts.unused;
}

static void make_rows(struct links *links)
{
	const struct port_table *table = links->table;
	const struct fabric *fabric = table->snapshot->fabric;
	const struct shape *shape = links->context->shape;

	for (uint32_t i = 0; i < fabric->port_count; i++) {
		uint32_t peer = fabric->ports[i].peer;
		struct link_row *link = &links->all[links->count];

		/* Each link is processed at its lower port index. */
		if (!port_is_pollable(fabric, &fabric->ports[i]) || (peer != FABRIC_NONE && peer < i))
			continue;
		links->count++;
		if (peer == FABRIC_NONE || is_lower(table, shape, i, peer))
			*link = (struct link_row){ .ends = { i, peer } };
		else
			*link = (struct link_row){ .ends = { peer, i } };
		link_facts_of(&table->ports[link->ends[0]], peer == FABRIC_NONE ? NULL : &table->ports[link->ends[1]],
			      shape, &link->facts);
		finish_row(links, link);
	}
}

int links_set(struct links *links, const struct port_table *table, const struct snapshot_context *context,
	      struct error *err)
{
	size_t room;

	drop_rows(links);
	if (!table->snapshot)
		return 0;
	room = table->snapshot->fabric->port_count + 1;
	links->all = calloc(room, sizeof(*links->all));
	if (!links->all) {
		drop_rows(links);
		return err_nomem(err);
	}
	links->table = table;
	links->context = context;
	links->has_marks = false;
	links->end_columns[0] = links->end_columns[1] = 0;
	make_rows(links);
	return 0;
}

unsigned links_side(const struct links *links, const struct link_row *link, unsigned place)
{
	/* A port without a peer is always displayed first. */
	return link->ends[1] == FABRIC_NONE ? place : place ^ links->swapped;
}

uint32_t links_end(const struct links *links, const struct link_row *link, unsigned place)
{
	return link->ends[links_side(links, link, place)];
}
