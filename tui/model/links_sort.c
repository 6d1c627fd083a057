/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* links_sort.c - sort order of the links */
#include <math.h>
#include <stdlib.h>

#include "fabric/fabric.h"
#include "storage/reader.h"
#include "tui/model/links.h"
#include "tui/model/port_table.h"

/* A number of the port that stands first or second; NAN where there is no such port. */
static double key_of_end(const struct links *links, uint32_t index, enum column column)
{
	const struct port_table *table = links->table;
	const struct fabric *fabric = table->snapshot->fabric;
	const struct port *port = &fabric->ports[index];

	if (index == FABRIC_NONE)
		return NAN;
	switch (column) {
	case COLUMN_PORT:
	case COLUMN_PEER:
		return table->order.port_rank[index];
	case COLUMN_STATE:
		return port->state * 16 + port->phys_state;
	case COLUMN_XMIT_PACKETS:
		return table->views[index].xmit_packets_per_s;
	case COLUMN_RCV_PACKETS:
		return table->views[index].rcv_packets_per_s;
	case COLUMN_STALL:
	case COLUMN_STALL_BACK:
		return table->views[index].stall_percent;
	case COLUMN_WAIT:
	case COLUMN_WAIT_BACK:
		return table->views[index].wait_ticks_per_s;
	case COLUMN_LID:
		return fabric_port_lid(fabric, port);
	default: /* 64 bits of a GUID do not fit: it is the tie */
		return 0;
	}
}

/* The number that a row is ordered by; NAN where it is not known. */
static double key_of(const struct links *links, const struct link_row *link)
{
	const struct fabric *fabric = links->table->snapshot->fabric;
	unsigned side = links_side(links, link, 0);
	uint64_t rate;

	switch (links->sort) {
	case COLUMN_TAG:
		return links_is_tagged(links, link);
	case COLUMN_FINDING:
		/* The worst stand first among the findings; a link without any is no better known. */
		return link->finding ? (double)link->mark * 1e6 - link->finding : NAN;
	case COLUMN_STATUS:
		return link->word;
	case COLUMN_LINK:
		rate = port_rate_bits_per_s(&fabric->ports[link->ends[0]]);
		return rate ? (double)rate : NAN;
	case COLUMN_LOAD:
		return links_load(link);
	case COLUMN_XMIT:
		return link->bytes_per_s[side];
	case COLUMN_RCV:
		return link->bytes_per_s[!side];
	case COLUMN_XMIT_PERCENT:
	case COLUMN_XMIT_BAR:
		return link->percent[side];
	case COLUMN_RCV_PERCENT:
	case COLUMN_RCV_BAR:
		return link->percent[!side];
	case COLUMN_ERRORS:
	case COLUMN_WHICH_ERRORS:
		return links_errors(links, link);
	case COLUMN_AGE:
		return link->last_wall_us ? -(double)link->last_wall_us : NAN;
	case COLUMN_PEER:
	case COLUMN_STALL_BACK:
	case COLUMN_WAIT_BACK:
		return key_of_end(links, links_end(links, link, 1), links->sort);
	default:
		return key_of_end(links, links_end(links, link, 0), links->sort);
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

void links_sort(struct links *links)
{
	const struct fabric *fabric = links->table->snapshot->fabric;
	struct link_entry *entries = links->entries;
	size_t i;

	for (i = 0; i < links->row_count; i++) {
		const struct link_row *link = links_row(links, i);
		uint32_t first = links_end(links, link, 0);
		double key = key_of(links, link);

		if (isnan(key))
			key = INFINITY;
		else if (links->descending)
			key = -key;
		entries[i] = (struct link_entry){ key, links->table->order.port_rank[first], links->rows[i] };
		if (links->sort == COLUMN_GUID) {
			uint64_t guid = fabric->nodes[fabric->ports[first].node].guid;

			entries[i].tie = links->descending ? ~guid : guid;
		}
	}
	qsort(entries, links->row_count, sizeof(*entries), compare_entries);
	for (i = 0; i < links->row_count; i++)
		links->rows[i] = entries[i].link;
}
