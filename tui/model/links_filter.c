/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* links_filter.c - evaluation of a filter for a link: keys and text */
#include <string.h>

#include "fabric/fabric.h"
#include "fabric/shape.h"
#include "storage/reader.h"
#include "tui/model/links.h"
#include "tui/model/context.h"
#include "tui/model/port_table.h"
#include "facts/link.h"
#include "facts/order.h"

int links_begin_filter(struct links *links, struct filter *filter, struct error *err)
{
	struct select_facts facts = {
		.fabric = links->table->snapshot->fabric, .shape = links->context->shape, .ports = links->table->ports,
		.finding_of = links->context->finding_of, .findings = links->context->findings,
	};

	return filter_mark(filter, &facts, &links->marks, err);
}

/* "0x..." with 16 digits. Called for each link while a filter is typed; snprintf() takes ten times as long. */
#define GUID_SIZE 19
static char *write_guid(uint64_t guid, char *to)
{
	to = stpcpy(to, "0x");
	for (int shift = 60; shift >= 0; shift -= 4)
		*to++ = "0123456789abcdef"[guid >> shift & 15];
	return to;
}

/* The texts of a port for the filter, one per line. Return: their end. */
static char *append_texts(const struct port_table *table, uint32_t index, char *to)
{
	const struct fabric *fabric = table->snapshot->fabric;
	const struct port *port = &fabric->ports[index];
	const struct node *node = &fabric->nodes[port->node];

	to = order_port_name_of(table->order.names[port->node], port->num, to);
	*to++ = '\n';
	if (strcmp(node->name, table->order.names[port->node])) {
		to = order_port_name_of(node->name, port->num, to);
		*to++ = '\n';
	}
	to = write_guid(node->guid, to);
	*to++ = '\n';
	return to;
}

/* All texts of a link for the filter. */
#define TEXT_SIZE (4 * (PORT_NAME_SIZE + 1) + 2 * (GUID_SIZE + 1) + LINK_TEXT_SIZE + 64)

static void write_text(const struct port_table *table, const struct link_row *link, char *to)
{
	to = append_texts(table, link->ends[0], to);
	if (link->ends[1] != FABRIC_NONE)
		to = append_texts(table, link->ends[1], to);
	to = stpcpy(to, port_status_name(link->facts.status));
	*to++ = '\n';
	if (link->facts.degraded)
		to = stpcpy(to, "degraded\n");
	link_text(&table->snapshot->fabric->ports[link->ends[0]], link->facts.degraded, to);
}

bool links_passes(const struct links *links, const struct link_row *link, const struct filter *filter, bool tagged)
{
	const select_bits *marks = links->marks.ports;
	select_bits bits = filter_tag_bits(filter, tagged);
	char text[TEXT_SIZE] = "";

	for (unsigned i = 0; marks && i < 2 && link->ends[i] != FABRIC_NONE; i++)
		bits |= marks[link->ends[i]];
	/* Skipped if unused: it takes most of the time of filtering all links. */
	if (filter_reads(filter))
		write_text(links->table, link, text);
	return filter_matches(filter, text, bits);
}
