/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/model/links.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"
#include "facts/link.h"
#include "storage/reader.h"
#include "tui/model/context.h"
#include "tui/model/port_table.h"

/* Height of an end without a tier: above all others. */
#define NO_TIER 255

void links_init(struct links *links)
{
	memset(links, 0, sizeof(*links));
	/* The busiest links first. */
	links->sort = LINK_COLUMN_LOAD;
	links->descending = true;
}

static void drop_rows(struct links *links)
{
	free(links->all);
	free(links->rows);
	free(links->entries);
	free(links->finding_of);
	select_marks_done(&links->marks);
	links->finding_of = NULL;
	links->all = NULL;
	links->rows = NULL;
	links->entries = NULL;
	links->count = links->unused_count = links->row_count = 0;
	links->table = NULL;
	links->context = NULL;
}

void links_done(struct links *links)
{
	drop_rows(links);
	filter_done(&links->filter);
	map_done(&links->tags);
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

/* Load of one direction, as counted by the sender; if unknown, by the receiver. */
static void fill_direction(const struct port_table *table, uint32_t from, uint32_t to, unsigned direction,
			   struct link_row *ret)
{
	const struct port_facts *sender = &table->views[from];
	const struct port_facts *receiver = to == FABRIC_NONE ? NULL : &table->views[to];

	if (receiver && isnan(sender->xmit_bytes_per_s) && !isnan(receiver->rcv_bytes_per_s)) {
		ret->bytes_per_s[direction] = receiver->rcv_bytes_per_s;
		ret->percent[direction] = receiver->rcv_percent;
	} else {
		ret->bytes_per_s[direction] = sender->xmit_bytes_per_s;
		ret->percent[direction] = sender->xmit_percent;
	}
}

static void fill_row(const struct port_table *table, const struct shape *shape, uint32_t port, uint32_t peer,
		     struct link_row *ret)
{
	const struct port_facts *own = &table->views[port];
	const struct port_row *rows = table->snapshot->rows;

	*ret = (struct link_row){
		.ends = { port, peer }, .status = own->status, .unused = own->unused,
		.last_wall_us = rows[port].last_wall_us,
	};
	fill_direction(table, port, peer, 0, ret);
	/* Without a cable there is no other end; the port's own receive counters are still shown. */
	if (peer == FABRIC_NONE) {
		ret->bytes_per_s[1] = own->rcv_bytes_per_s;
		ret->percent[1] = own->rcv_percent;
		/* A switch's port 0 is not a link of interest. */
		ret->unused |= !table->snapshot->fabric->ports[port].num;
		return;
	}
	fill_direction(table, peer, port, 1, ret);
	ret->status = port_status_worse(own->status, table->views[peer].status);
	ret->unused &= table->views[peer].unused;
	if (rows[peer].last_wall_us > ret->last_wall_us)
		ret->last_wall_us = rows[peer].last_wall_us;
	ret->degraded = link_is_degraded(table->snapshot->fabric, shape, port);
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
		uint32_t finding = links->finding_of[link->ends[i]];

		/* Findings are sorted by severity. */
		if (finding && (!link->finding || finding < link->finding))
			link->finding = finding;
		/* Hidden ports do not widen the columns. */
		if (!link->unused)
			widen(&links->end_columns[i], links->table->order.name_columns[port->node], port->num);
	}
	if (link->finding)
		link->mark = port_mark_of(&links->context->findings[link->finding - 1]);
	links->has_marks |= link->mark != MARK_NONE;
	links->unused_count += link->unused;
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
			fill_row(table, shape, i, peer, link);
		else
			fill_row(table, shape, peer, i, link);
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
	links->finding_of = calloc(room, sizeof(*links->finding_of));
	links->all = calloc(room, sizeof(*links->all));
	links->rows = calloc(room, sizeof(*links->rows));
	links->entries = calloc(room, sizeof(*links->entries));
	if (!links->finding_of || !links->all || !links->rows || !links->entries) {
		drop_rows(links);
		return err_nomem(err);
	}
	links->table = table;
	links->context = context;
	links->has_marks = false;
	links->end_columns[0] = links->end_columns[1] = 0;
	port_marks_find(context->shape, table->snapshot->fabric, context->findings, context->finding_count,
			links->finding_of);
	make_rows(links);
	links_arrange(links);
	return 0;
}

double links_number(const struct links *links, const struct link_row *link, enum link_column column)
{
	const struct port_facts *views = links->table->views;
	bool back = column == LINK_COLUMN_STALL_BACK || column == LINK_COLUMN_WAIT_BACK;
	unsigned side = links_side(links, link, 0);
	uint32_t end = links_end(links, link, back);

	switch (column) {
	case LINK_COLUMN_LOAD:
	case LINK_COLUMN_SPARK:
		return links_load(link);
	case LINK_COLUMN_XMIT:
		return link->bytes_per_s[side];
	case LINK_COLUMN_RCV:
		return link->bytes_per_s[!side];
	case LINK_COLUMN_XMIT_PERCENT:
	case LINK_COLUMN_XMIT_BAR:
		return link->percent[side];
	case LINK_COLUMN_RCV_PERCENT:
	case LINK_COLUMN_RCV_BAR:
		return link->percent[!side];
	case LINK_COLUMN_XMIT_PACKETS:
		return views[end].xmit_packets_per_s;
	case LINK_COLUMN_RCV_PACKETS:
		return views[end].rcv_packets_per_s;
	case LINK_COLUMN_STALL:
	case LINK_COLUMN_STALL_BACK:
		return end == FABRIC_NONE ? NAN : views[end].stall_percent;
	case LINK_COLUMN_WAIT:
	case LINK_COLUMN_WAIT_BACK:
		return end == FABRIC_NONE ? NAN : views[end].wait_ticks_per_s;
	default:
		return NAN;
	}
}

/* The key by which a row is sorted; NAN if unknown. */
static double key_of(const struct links *links, const struct link_row *link)
{
	const struct fabric *fabric = links->table->snapshot->fabric;
	uint32_t end = links_end(links, link, links->sort == LINK_COLUMN_PEER);
	uint64_t rate;

	switch (links->sort) {
	case LINK_COLUMN_TAG:
		return links_is_tagged(links, link);
	case LINK_COLUMN_FINDING:
		/* The worst finding first; a link without any is sorted as unknown. */
		return link->finding ? (double)link->mark * 1e6 - link->finding : NAN;
	case LINK_COLUMN_STATUS:
		return link->status;
	case LINK_COLUMN_LINK:
		rate = port_rate_bits_per_s(&fabric->ports[link->ends[0]]);
		return rate ? (double)rate : NAN;
	case LINK_COLUMN_ERRORS:
	case LINK_COLUMN_WHICH_ERRORS:
		return links_errors(links, link);
	case LINK_COLUMN_AGE:
		return link->last_wall_us ? -(double)link->last_wall_us : NAN;
	case LINK_COLUMN_PORT:
	case LINK_COLUMN_PEER:
		return end == FABRIC_NONE ? NAN : links->table->order.port_rank[end];
	case LINK_COLUMN_STATE:
		return fabric->ports[end].state * 16 + fabric->ports[end].phys_state;
	case LINK_COLUMN_LID:
		return fabric_port_lid(fabric, &fabric->ports[end]);
	case LINK_COLUMN_GUID: /* 64 bits do not fit: it is the tie */
		return 0;
	default:
		return links_number(links, link, links->sort);
	}
}

static int compare_entries(const void *a, const void *b)
{
	const struct link_entry *entry_a = a, *entry_b = b;

	if (entry_a->key != entry_b->key)
		return entry_a->key < entry_b->key ? -1 : 1;
	if (entry_a->tie != entry_b->tie)
		return entry_a->tie < entry_b->tie ? -1 : 1;
	return entry_a->link < entry_b->link ? -1 : entry_a->link > entry_b->link;
}

/* Unknown values last in both orders, ties by name. */
static void links_sort(struct links *links)
{
	const struct fabric *fabric = links->table->snapshot->fabric;
	struct link_entry *entries = links->entries;

	for (size_t i = 0; i < links->row_count; i++) {
		const struct link_row *link = links_row(links, i);
		uint32_t first = links_end(links, link, 0);
		double key = key_of(links, link);

		if (isnan(key))
			key = INFINITY;
		else if (links->descending)
			key = -key;
		entries[i] = (struct link_entry){ key, links->table->order.port_rank[first], links->rows[i] };
		if (links->sort == LINK_COLUMN_GUID) {
			uint64_t guid = fabric->nodes[fabric->ports[first].node].guid;

			entries[i].tie = links->descending ? ~guid : guid;
		}
	}
	qsort(entries, links->row_count, sizeof(*entries), compare_entries);
	for (size_t i = 0; i < links->row_count; i++)
		links->rows[i] = entries[i].link;
}

void links_arrange(struct links *links)
{
	bool filtered;

	links->row_count = 0;
	if (!links->table)
		return;
	/* Without memory for the filter nothing is hidden. */
	filtered = links->filter.select.term_count && links_mark(links, NULL) == 0;
	for (uint32_t i = 0; i < links->count; i++) {
		const struct link_row *link = &links->all[i];

		if (link->unused && !links->show_unused)
			continue;
		if (links->tagged_only && !links_is_tagged(links, link))
			continue;
		if (filtered && !links_passes(links, link))
			continue;
		links->rows[links->row_count++] = i;
	}
	links_sort(links);
}

const struct link_row *links_row(const struct links *links, size_t row)
{
	return &links->all[links->rows[row]];
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

size_t links_find(const struct links *links, uint64_t node_guid, uint8_t num)
{
	uint32_t port;
	size_t row;

	if (!links->table)
		return 0;
	port = fabric_find_port(links->table->snapshot->fabric, node_guid, num);
	if (port == FABRIC_NONE)
		return links->row_count;
	for (row = 0; row < links->row_count; row++) {
		const struct link_row *link = links_row(links, row);

		if (link->ends[0] == port || link->ends[1] == port)
			break;
	}
	return row;
}

static uint64_t tag_key(const struct links *links, const struct link_row *link)
{
	const struct fabric *fabric = links->table->snapshot->fabric;
	const struct port *port = &fabric->ports[link->ends[0]];

	return map_mix(fabric->nodes[port->node].guid) ^ port->num;
}

bool links_is_tagged(const struct links *links, const struct link_row *link)
{
	uint32_t tagged;

	return links->tag_count && map_get(&links->tags, tag_key(links, link), &tagged) && tagged;
}

int links_tag(struct links *links, const struct link_row *link, struct error *err)
{
	bool tagged = links_is_tagged(links, link);

	if (map_put(&links->tags, tag_key(links, link), !tagged) < 0)
		return err_nomem(err);
	links->tag_count += tagged ? (size_t)-1 : 1;
	return 0;
}

void links_untag_all(struct links *links)
{
	map_done(&links->tags);
	links->tag_count = 0;
	links->tagged_only = false;
}

double links_load(const struct link_row *link)
{
	return fmax(link->percent[0], link->percent[1]);
}

double links_errors(const struct links *links, const struct link_row *link)
{
	double errors = NAN;

	for (unsigned i = 0; i < 2 && link->ends[i] != FABRIC_NONE; i++)
		errors = facts_sum(errors, links->table->views[link->ends[i]].errors);
	return errors;
}

bool links_descending_first(enum link_column column)
{
	return column_info(column)->right || column == LINK_COLUMN_XMIT_BAR || column == LINK_COLUMN_RCV_BAR ||
	       column == LINK_COLUMN_SPARK || column == LINK_COLUMN_STATUS || column == LINK_COLUMN_WHICH_ERRORS ||
	       column == LINK_COLUMN_FINDING || column == LINK_COLUMN_TAG;
}
