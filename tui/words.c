/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/words.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/rate.h"
#include "storage/reader.h"
#include "tui/format.h"
#include "tui/table.h"

char *words_append_port(const char *name, uint8_t num, char *to)
{
	size_t len = strnlen(name, NODE_NAME_SIZE - 1);

	memcpy(to, name, len);
	to += len;
	*to++ = '/';
	if (num >= 100)
		*to++ = (char)('0' + num / 100);
	if (num >= 10)
		*to++ = (char)('0' + num / 10 % 10);
	*to++ = (char)('0' + num % 10);
	*to = '\0';
	return to;
}

const char *words_link(const struct port *port, char *ret)
{
	unsigned lanes = link_width_lanes(port->width);

	ret[0] = '\0';
	if (lanes)
		snprintf(ret, WORDS_LINK_SIZE, "%ux%s", lanes, link_speed_name(port->speed));
	return ret;
}

const char *words_guid(uint64_t guid, char *ret)
{
	snprintf(ret, WORDS_GUID_SIZE, "0x%016" PRIx64, guid);
	return ret;
}

static void write_errors(const struct row_view *view, int columns, char *ret)
{
	char count[32];

	if (isnan(view->errors)) {
		snprintf(ret, CELL_SIZE, "-");
		return;
	}
	/* A plus: at least so many, for a counter was reset or stood at its maximum. */
	format_count((uint64_t)view->errors, (unsigned)columns - view->at_least, count, sizeof(count));
	snprintf(ret, CELL_SIZE, "%s%s", count, view->at_least ? "+" : "");
}

/* "symbol_errors 12, rcv_errors 3", the most frequent not first but in the catalogue's order. */
static void write_which_errors(const struct error_sum *sum, char *ret)
{
	size_t len = 0;
	unsigned i;

	ret[0] = '\0';
	if (!sum)
		return;
	for (i = COUNTER_TRAFFIC_COUNT; i < COUNTER_COUNT; i++) {
		uint64_t value = sum->value[i - COUNTER_TRAFFIC_COUNT];
		bool full = sum->full & COUNTER_BIT(i);

		if ((value || full) && len < CELL_SIZE)
			len += (size_t)snprintf(ret + len, CELL_SIZE - len, "%s%s %" PRIu64 "%s", len ? ", " : "",
						counter_info(i)->key, value, full ? "+ (full)" : "");
	}
}

const char *words_cell(const struct table *table, const struct error_sums *sums, uint32_t index, enum column column,
		       int columns, int64_t now_us, char *ret)
{
	const struct fabric *fabric = table->snapshot->fabric;
	const struct port *port = &fabric->ports[index];
	const struct port *peer = port->peer == FABRIC_NONE ? NULL : &fabric->ports[port->peer];
	const struct row_view *view = &table->views[index];
	const struct delta *sum = &table->snapshot->rows[index].sum;

	snprintf(ret, CELL_SIZE, "-");
	switch (column) {
	case COLUMN_PORT:
		words_append_port(table->order.names[port->node], port->num, ret);
		break;
	case COLUMN_PEER:
		if (peer)
			words_append_port(table->order.names[peer->node], peer->num, ret);
		break;
	case COLUMN_STATUS:
		snprintf(ret, CELL_SIZE, "%s", port_word_name(view->word));
		break;
	case COLUMN_STATE:
		snprintf(ret, CELL_SIZE, "%s/%s", port_state_name(port->state), port_phys_state_name(port->phys_state));
		break;
	case COLUMN_LINK:
		if (link_width_lanes(port->width))
			words_link(port, ret);
		break;
	case COLUMN_XMIT:
		format_rate(view->xmit_bytes_per_s, (unsigned)columns, ret, CELL_SIZE);
		break;
	case COLUMN_RCV:
		format_rate(view->rcv_bytes_per_s, (unsigned)columns, ret, CELL_SIZE);
		break;
	case COLUMN_XMIT_PERCENT:
		format_percent(view->xmit_percent, ret, CELL_SIZE);
		break;
	case COLUMN_RCV_PERCENT:
		format_percent(view->rcv_percent, ret, CELL_SIZE);
		break;
	case COLUMN_XMIT_PACKETS:
		format_per_s(rate_per_s(sum, COUNTER_XMIT_PACKETS), ret, CELL_SIZE);
		break;
	case COLUMN_RCV_PACKETS:
		format_per_s(rate_per_s(sum, COUNTER_RCV_PACKETS), ret, CELL_SIZE);
		break;
	case COLUMN_STALL:
		format_percent(view->stall_percent, ret, CELL_SIZE);
		if (view->stall_at_least)
			strcat(ret, "+");
		break;
	case COLUMN_WAIT:
		format_per_s(rate_per_s(sum, COUNTER_XMIT_WAIT), ret, CELL_SIZE);
		break;
	case COLUMN_ERRORS:
		write_errors(view, columns, ret);
		break;
	case COLUMN_WHICH_ERRORS:
		write_which_errors(error_sums_find(sums, fabric->nodes[port->node].guid, port->num), ret);
		break;
	case COLUMN_AGE:
		if (view->last_wall_us)
			format_age(now_us > view->last_wall_us ? now_us - view->last_wall_us : 0, ret, CELL_SIZE);
		break;
	case COLUMN_LID:
		if (fabric_port_lid(fabric, port))
			snprintf(ret, CELL_SIZE, "%u", fabric_port_lid(fabric, port));
		break;
	case COLUMN_GUID:
		words_guid(fabric->nodes[port->node].guid, ret);
		break;
	default: /* bars are drawn, not written */
		ret[0] = '\0';
		break;
	}
	return ret;
}
