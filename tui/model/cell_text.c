/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/model/cell_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "facts/link.h"
#include "storage/reader.h"
#include "tui/model/error_sums.h"
#include "tui/model/format.h"
#include "tui/model/context.h"
#include "tui/model/port_table.h"

void cell_text_port(const struct port_table *table, uint32_t index, char *ret)
{
	snprintf(ret, PORT_NAME_SIZE, "-");
	if (index != FABRIC_NONE)
		order_port_name(&table->order, table->snapshot->fabric, index, ret);
}

const char *cell_text_guid(uint64_t guid, char *ret)
{
	/* Called for each link while a filter is typed; snprintf() takes ten times as long. */
	memcpy(ret, "0x", 2);
	for (unsigned i = 0; i < 16; i++)
		ret[2 + i] = "0123456789abcdef"[guid >> (60 - 4 * i) & 15];
	ret[18] = '\0';
	return ret;
}

/* "3/0": errors of the first end and of the other; one number without another end, or if neither has errors. */
static void write_errors(const struct links *links, const struct link_row *link, int columns, char *ret)
{
	const struct port_facts *views = links->table->views, *first = &views[links_end(links, link, 0)], *second;
	uint32_t other = links_end(links, link, 1);
	unsigned half = columns > 7 ? (unsigned)columns / 2 : 3;
	char text[2][32];

	second = other == FABRIC_NONE ? NULL : &views[other];
	if (!second || (isnan(first->errors) && isnan(second->errors)) ||
	    (first->errors == 0 && second->errors == 0 && !first->errors_at_least && !second->errors_at_least)) {
		format_errors(first->errors, first->errors_at_least, (unsigned)columns, ret, CELL_SIZE);
		return;
	}
	snprintf(ret, CELL_SIZE, "%s/%s",
		 format_errors(first->errors, first->errors_at_least, half, text[0], sizeof(text[0])),
		 format_errors(second->errors, second->errors_at_least, half, text[1], sizeof(text[1])));
}

static void write_which_errors(const struct links *links, const struct error_sums *sums, const struct link_row *link,
			       char *ret)
{
	const struct fabric *fabric = links->table->snapshot->fabric;
	struct text text = { 0 };

	for (unsigned place = 0; place < 2 && links_end(links, link, place) != FABRIC_NONE; place++) {
		const struct port *port = &fabric->ports[links_end(links, link, place)];
		const struct error_sum *sum = error_sums_find(sums, fabric->nodes[port->node].guid, port->num);

		if (sum)
			errors_append(&text, !place ? "" : text.len ? "; peer: " : "peer: ", COUNTER_ERROR_SET,
				      sum->full, sum->value);
	}
	snprintf(ret, CELL_SIZE, "%s", text_chars(&text));
	text_done(&text);
}

/* Prefix for the end that the status belongs to, if it is not the first one and there is room. */
static void write_status(const struct links *links, const struct link_row *link, int columns, char *ret)
{
	const char *word = port_status_name(link->status);
	uint32_t first = links_end(links, link, 0);

	snprintf(ret, CELL_SIZE, "%s", word);
	if (link->status > STATUS_IDLE && links->table->views[first].status != link->status &&
	    columns >= (int)strlen(word) + 5)
		snprintf(ret, CELL_SIZE, "peer %s", word);
}

static void write_finding(const struct links *links, const struct link_row *link, int columns, char *ret)
{
	const char *mark = port_mark_name(link->mark);

	ret[0] = '\0';
	if (!link->finding)
		return;
	snprintf(ret, CELL_SIZE, "%s", mark);
	if (columns > 12)
		snprintf(ret, CELL_SIZE, "%-4s %s", mark,
			 finding_kind_name(links->context->findings[link->finding - 1].finding.kind));
}

const char *cell_text(const struct links *links, const struct error_sums *sums, const struct link_row *link,
		      enum link_column column, int columns, int64_t now_us, char *ret)
{
	const struct fabric *fabric = links->table->snapshot->fabric;
	const struct port *first = &fabric->ports[links_end(links, link, 0)];
	double number = links_number(links, link, column);
	uint32_t end;

	snprintf(ret, CELL_SIZE, "-");
	switch (column) {
	case LINK_COLUMN_TAG:
		snprintf(ret, CELL_SIZE, "%s", links_is_tagged(links, link) ? "*" : "");
		break;
	case LINK_COLUMN_FINDING:
		write_finding(links, link, columns, ret);
		break;
	case LINK_COLUMN_PORT:
	case LINK_COLUMN_PEER:
		cell_text_port(links->table, links_end(links, link, column == LINK_COLUMN_PEER), ret);
		break;
	case LINK_COLUMN_STATUS:
		write_status(links, link, columns, ret);
		break;
	case LINK_COLUMN_STATE:
		snprintf(ret, CELL_SIZE, "%s/%s", port_state_name(first->state),
			 port_phys_state_name(first->phys_state));
		break;
	case LINK_COLUMN_LINK:
		link_text(&fabric->ports[link->ends[0]], link->degraded, ret);
		break;
	case LINK_COLUMN_XMIT:
	case LINK_COLUMN_RCV:
		format_rate(number, (unsigned)columns, ret, CELL_SIZE);
		break;
	case LINK_COLUMN_STALL:
	case LINK_COLUMN_STALL_BACK:
		format_percent(number, ret, CELL_SIZE);
		end = links_end(links, link, column == LINK_COLUMN_STALL_BACK);
		if (end != FABRIC_NONE && links->table->views[end].stall_at_least)
			strcat(ret, "+");
		break;
	case LINK_COLUMN_LOAD:
	case LINK_COLUMN_XMIT_PERCENT:
	case LINK_COLUMN_RCV_PERCENT:
		format_percent(number, ret, CELL_SIZE);
		break;
	case LINK_COLUMN_XMIT_PACKETS:
	case LINK_COLUMN_RCV_PACKETS:
	case LINK_COLUMN_WAIT:
	case LINK_COLUMN_WAIT_BACK:
		format_per_s(number, ret, CELL_SIZE);
		break;
	case LINK_COLUMN_ERRORS:
		write_errors(links, link, columns, ret);
		break;
	case LINK_COLUMN_WHICH_ERRORS:
		write_which_errors(links, sums, link, ret);
		break;
	case LINK_COLUMN_AGE:
		if (link->last_wall_us)
			format_age(now_us > link->last_wall_us ? now_us - link->last_wall_us : 0, ret, CELL_SIZE);
		break;
	case LINK_COLUMN_LID:
		if (fabric_port_lid(fabric, first))
			snprintf(ret, CELL_SIZE, "%u", fabric_port_lid(fabric, first));
		break;
	case LINK_COLUMN_GUID:
		cell_text_guid(fabric->nodes[first->node].guid, ret);
		break;
	default: /* bars are drawn, not written */
		ret[0] = '\0';
		break;
	}
	return ret;
}
