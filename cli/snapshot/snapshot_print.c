/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* snapshot_print.c - a difference as table, JSON or CSV */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "facts/cells.h"
#include "cli/snapshot/snapshot.h"
#include "fabric/fabric.h"

/* Columns of a row; those of one side follow, then those of the peer of a link, then NOTE. */
enum {
	FROM, TO, SUBJECT, NODE_GUID, NODE, PORT, PEER_SUBJECT, PEER_GUID, PEER, PEER_PORT, CHANGE, STATUS_FROM,
	STATUS_TO, PORTS, PORTS_UNKNOWN, RECABLED, FIRMWARE_FROM, FIRMWARE_TO, ELAPSED, FIRST_SIDE,
};

enum {
	XMIT_BYTES, RCV_BYTES, XMIT_PACKETS, RCV_PACKETS, XMIT_WAIT, UNICAST_XMIT, UNICAST_RCV, MULTICAST_XMIT,
	MULTICAST_RCV, ERRORS_SHOWN, ERRORS, DETAILS, RESET, SATURATED, AT_LEAST, UNKNOWN, SIDE_COUNT,
};

enum { NOTE = FIRST_SIDE + 2 * SIDE_COUNT, COLUMN_COUNT };

static const struct column about_columns[FIRST_SIDE] = {
	[FROM] = { .key = "from_time", .kind = COLUMN_TIME },
	[TO] = { .key = "to_time", .kind = COLUMN_TIME },
	[SUBJECT] = { .title = "PORT", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL },
	CELLS_NODE_COLUMNS(NODE_GUID),
	[PEER_SUBJECT] = { .title = "PEER", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL,
			   .priority = 4 },
	CELLS_PEER_COLUMNS(PEER_GUID),
	[CHANGE] = { .key = "change", .kind = COLUMN_TEXT },
	[STATUS_FROM] = { .key = "status_from", .kind = COLUMN_TEXT },
	[STATUS_TO] = { .key = "status_to", .kind = COLUMN_TEXT },
	[PORTS] = { .key = "ports", .title = "PORTS", .kind = COLUMN_INTEGER, .priority = 5 },
	[PORTS_UNKNOWN] = { .key = "ports_unknown", .kind = COLUMN_INTEGER },
	[RECABLED] = { .key = "recabled", .kind = COLUMN_BOOL },
	[FIRMWARE_FROM] = { .key = "firmware_from", .kind = COLUMN_TEXT },
	[FIRMWARE_TO] = { .key = "firmware_to", .kind = COLUMN_TEXT },
	[ELAPSED] = { .key = "elapsed_us", .kind = COLUMN_SPAN_US },
};

/* Kinds of rows that have a column, as bits; all others are in every row. */
enum {
	IN_PORT = 1 << DIFF_BY_PORT, IN_LINK = 1 << DIFF_BY_LINK, IN_SWITCH = 1 << DIFF_BY_SWITCH,
	IN_HOST = 1 << DIFF_BY_HOST,
};

static const unsigned column_rows[FIRST_SIDE] = {
	[NODE_GUID] = IN_PORT | IN_LINK | IN_SWITCH, [PORT] = IN_PORT | IN_LINK, [PEER_SUBJECT] = IN_PORT | IN_LINK,
	[PEER_GUID] = IN_PORT | IN_LINK, [PEER] = IN_PORT | IN_LINK, [PEER_PORT] = IN_PORT | IN_LINK,
	[CHANGE] = IN_PORT | IN_LINK, [STATUS_FROM] = IN_PORT, [STATUS_TO] = IN_PORT, [PORTS] = IN_SWITCH | IN_HOST,
	[PORTS_UNKNOWN] = IN_SWITCH | IN_HOST, [RECABLED] = IN_PORT,
	[FIRMWARE_FROM] = IN_PORT, [FIRMWARE_TO] = IN_PORT, [ELAPSED] = IN_PORT | IN_LINK,
};

#define SIDE(peer, a) { \
	[XMIT_BYTES] = { .key = peer "xmit_bytes", .title = a "TX", .kind = COLUMN_BYTES, .measured = true }, \
	[RCV_BYTES] = { .key = peer "rcv_bytes", .title = a "RX", .kind = COLUMN_BYTES, .measured = true }, \
	[XMIT_PACKETS] = { .key = peer "xmit_packets", .title = a "TX PKTS", .kind = COLUMN_INTEGER, \
			   .priority = 9, .measured = true }, \
	[RCV_PACKETS] = { .key = peer "rcv_packets", .title = a "RX PKTS", .kind = COLUMN_INTEGER, .priority = 9, \
			  .measured = true }, \
	[XMIT_WAIT] = { .key = peer "xmit_wait_ticks", .title = a "XmitWait", .kind = COLUMN_INTEGER, \
			.priority = 6, .measured = true }, \
	[UNICAST_XMIT] = { .key = peer "unicast_xmit_packets", .kind = COLUMN_INTEGER, .measured = true }, \
	[UNICAST_RCV] = { .key = peer "unicast_rcv_packets", .kind = COLUMN_INTEGER, .measured = true }, \
	[MULTICAST_XMIT] = { .key = peer "multicast_xmit_packets", .kind = COLUMN_INTEGER, .measured = true }, \
	[MULTICAST_RCV] = { .key = peer "multicast_rcv_packets", .kind = COLUMN_INTEGER, .measured = true }, \
	[ERRORS_SHOWN] = { .title = a "ERRORS", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE }, \
	[ERRORS] = { .key = peer "errors", .kind = COLUMN_OBJECT, .member = cells_error_key }, \
	[DETAILS] = { .key = peer "details", .kind = COLUMN_OBJECT, .member = cells_detail_key }, \
	[RESET] = { .key = peer "reset", .kind = COLUMN_LIST }, \
	[SATURATED] = { .key = peer "saturated", .kind = COLUMN_LIST }, \
	[AT_LEAST] = { .key = peer "at_least", .kind = COLUMN_LIST }, \
	[UNKNOWN] = { .key = peer "unknown", .kind = COLUMN_LIST } }

static const struct column one_side[SIDE_COUNT] = SIDE("", "");
static const struct column link_sides[2][SIDE_COUNT] = { SIDE("", "A "), SIDE("peer_", "B ") };

/* Column of each traffic counter. */
static const size_t traffic_columns[COUNTER_TRAFFIC_COUNT] = {
	[COUNTER_XMIT_DATA] = XMIT_BYTES, [COUNTER_RCV_DATA] = RCV_BYTES, [COUNTER_XMIT_PACKETS] = XMIT_PACKETS,
	[COUNTER_RCV_PACKETS] = RCV_PACKETS, [COUNTER_XMIT_WAIT] = XMIT_WAIT,
	[COUNTER_UNICAST_XMIT_PACKETS] = UNICAST_XMIT, [COUNTER_UNICAST_RCV_PACKETS] = UNICAST_RCV,
	[COUNTER_MULTICAST_XMIT_PACKETS] = MULTICAST_XMIT, [COUNTER_MULTICAST_RCV_PACKETS] = MULTICAST_RCV,
};

struct printer {
	struct result *result;
	const struct diff *diff;
	enum diff_by by;
	bool is_table; /* skip cells that the format does not show */
	struct column columns[COLUMN_COUNT];
};

/* Columns without key and title are in no format. */
static void describe_columns(struct printer *printer)
{
	static const char *const titles[DIFF_BY_COUNT] = {
		[DIFF_BY_PORT] = "PORT", [DIFF_BY_LINK] = "A", [DIFF_BY_SWITCH] = "SWITCH", [DIFF_BY_HOST] = "HOST",
	};
	struct column *columns = printer->columns;

	memcpy(columns, about_columns, sizeof(about_columns));
	for (size_t i = 0; i < FIRST_SIDE; i++)
		if (column_rows[i] && !(column_rows[i] & 1u << printer->by))
			columns[i].key = columns[i].title = NULL;
	columns[SUBJECT].title = titles[printer->by];
	if (printer->by == DIFF_BY_LINK) {
		columns[PEER_SUBJECT].title = "B";
		columns[PEER_SUBJECT].priority = 0;
		memcpy(&columns[FIRST_SIDE], link_sides, sizeof(link_sides));
	} else {
		memcpy(&columns[FIRST_SIDE], one_side, sizeof(one_side));
	}
	if (printer->by == DIFF_BY_HOST)
		columns[NODE].key = "host";
	columns[NOTE] = (struct column){ .title = "NOTE", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE };
}

/* --- a row --- */

static void put_traffic(struct printer *printer, size_t first, const struct counted *counters)
{
	for (size_t i = 0; i < COUNTER_TRAFFIC_COUNT; i++) {
		bool at_least = counters[i].reset || counters[i].saturated;
		size_t column = first + traffic_columns[i];
		uint64_t value = counters[i].value;

		if (i == COUNTER_XMIT_DATA || i == COUNTER_RCV_DATA ? !counted_bytes(&counters[i], &value)
								    : !counters[i].known)
			continue;
		/* At least 0 is unknown. */
		if (!at_least || value)
			result_unsigned(printer->result, column, value);
		if (at_least && value)
			result_at_least(printer->result, column);
	}
}

/* Changed errors for tables: "link_downed 2, symbol_errors 65535+". */
static void put_errors_shown(struct printer *printer, size_t first, const struct counted *counters)
{
	struct text shown = { 0 };
	bool known = false;

	for (size_t i = COUNTER_TRAFFIC_COUNT; i < COUNTED_COUNT; i++) {
		const struct counted *one = &counters[i];
		/* Detail counters are shown if they add to the counter that they split up. */
		bool wanted = i < COUNTER_COUNT ||
			      i == COUNTED_DETAIL(DETAIL_EXTENDED_SPEEDS, DETAIL_FEC_UNCORRECTED_BLOCKS);

		known |= wanted && one->known;
		if (wanted && one->known && one->value)
			text_appendf(&shown, "%s%s %" PRIu64 "%s", shown.len ? ", " : "", counted_key(i), one->value,
				     one->reset || one->saturated ? "+" : "");
	}
	if (known)
		result_text(printer->result, first + ERRORS_SHOWN, result_chars(printer->result, &shown));
	text_done(&shown);
}

static void put_lists(struct printer *printer, size_t first, const struct counted *counters, bool is_sum)
{
	struct result *result = printer->result;

	for (size_t i = RESET; i <= UNKNOWN; i++)
		if (!(is_sum && (i == RESET || i == SATURATED)))
			result_empty(result, first + i);
	for (size_t i = 0; i < COUNTED_COUNT; i++) {
		const char *key = counted_key(i);

		if (!key)
			continue;
		/* Most detail counters are absent: a counter missing in `details` is unknown. */
		if (!counters[i].known && i < COUNTER_COUNT)
			result_item(result, first + UNKNOWN, "%s", key);
		if (counters[i].known && (counters[i].reset || counters[i].saturated))
			result_item(result, first + AT_LEAST, "%s", key);
		if (counters[i].reset)
			result_item(result, first + RESET, "%s", key);
		if (counters[i].saturated && !is_sum)
			result_item(result, first + SATURATED, "%s", key);
	}
}

static void put_side(struct printer *printer, size_t first, const struct diff_side *side)
{
	struct result *result = printer->result;

	put_traffic(printer, first, side->counters);
	if (printer->is_table) {
		put_errors_shown(printer, first, side->counters);
		return;
	}
	put_lists(printer, first, side->counters, !side->port);
	result_empty(result, first + ERRORS);
	result_empty(result, first + DETAILS);
	for (size_t i = COUNTER_TRAFFIC_COUNT; i < COUNTED_COUNT; i++)
		if (side->counters[i].known)
			result_member(result, first + (i < COUNTER_COUNT ? ERRORS : DETAILS), counted_key(i),
				      side->counters[i].value);
}

static void put_port(struct printer *printer, const struct fabric *fabric, uint32_t index, bool as_peer)
{
	const struct port *port = &fabric->ports[index];

	if (printer->is_table)
		cells_displayed_name(printer->result, as_peer ? PEER_SUBJECT : SUBJECT, fabric,
				     fabric->nodes[port->node].name, port->num);
	else
		cells_port(printer->result, as_peer ? PEER_GUID : NODE_GUID, fabric, index);
}

static const char *change_of(bool was_there, bool is_there)
{
	return !was_there ? "came" : !is_there ? "went" : "both";
}

static void append_note(struct text *note, const char *end, const char *what, const char *when)
{
	text_appendf(note, "%s%s%s%s", note->len ? "; " : "", end, what, when);
}

/* The firmware of the node of a port in both snapshots; FIRMWARE_UNKNOWN: not known. */
static void find_firmware(const struct diff *diff, const struct diff_port *port, struct firmware ret[2])
{
	const struct fabric *fabrics[] = { diff->before->fabric, diff->after->fabric };
	const uint32_t at[] = { port->before, port->after };

	for (int i = 0; i < 2; i++)
		ret[i] = at[i] == FABRIC_NONE ? (struct firmware){ 0 } :
			 fabrics[i]->nodes[fabrics[i]->ports[at[i]].node].firmware;
}

static bool has_other_firmware(const struct diff *diff, const struct diff_port *port)
{
	struct firmware firmware[2];

	find_firmware(diff, port, firmware);
	return firmware_differs(&firmware[0], &firmware[1]);
}

static void note_firmware(struct text *note, const struct diff *diff, const struct diff_port *port, const char *end)
{
	char before[FIRMWARE_TEXT_SIZE], after[FIRMWARE_TEXT_SIZE], change[2 * FIRMWARE_TEXT_SIZE + 8];
	struct firmware firmware[2];

	find_firmware(diff, port, firmware);
	if (!firmware_differs(&firmware[0], &firmware[1]))
		return;
	snprintf(change, sizeof(change), "%s -> %s", firmware_format(&firmware[0], before),
		 firmware_format(&firmware[1], after));
	append_note(note, end, "firmware ", change);
}

/* Why a value is missing or a lower bound. @end: "", or the end of a link */
static void note_port(struct text *note, const struct diff_port *port, const char *end)
{
	const struct difference *difference = &port->difference;
	enum sample_status before = difference->status_before, after = difference->status_after;
	bool reset = false, saturated = false;

	for (size_t i = 0; i < COUNTED_COUNT; i++) {
		reset |= difference->counters[i].reset;
		saturated |= difference->counters[i].saturated;
	}
	if (!difference->was_there || !difference->is_there)
		append_note(note, end, change_of(difference->was_there, difference->is_there), "");
	else if (before == after && after != SAMPLE_OK)
		append_note(note, end, sample_status_name(after), "");
	else if (before != SAMPLE_OK)
		append_note(note, end, sample_status_name(before), " at the first snapshot");
	else if (after != SAMPLE_OK)
		append_note(note, end, sample_status_name(after), " at the second snapshot");
	if (reset)
		append_note(note, end, "reset in between: lower bound", "");
	if (saturated)
		append_note(note, end, "a counter is saturated: lower bound", "");
	if (port->recabled)
		append_note(note, end, "peer changed", "");
}

static void put_note(struct printer *printer, const struct diff_row *row)
{
	struct text note = { 0 };

	if (row->added || row->removed)
		append_note(&note, "", row->added ? "link added" : "link removed", "");
	if (row->sides[0].port)
		note_port(&note, row->sides[0].port, row->sides[1].port ? "A " : "");
	if (row->sides[1].port)
		note_port(&note, row->sides[1].port, "B ");
	for (size_t i = 0; i < 2; i++)
		if (row->sides[i].port)
			note_firmware(&note, printer->diff, row->sides[i].port,
				      i ? "B " : row->sides[1].port ? "A " : "");
	if (row->ports_unknown)
		text_appendf(&note, "%u of %u ports unknown: lower bound", row->ports_unknown, row->ports);
	result_text(printer->result, NOTE, result_chars(printer->result, &note));
	text_done(&note);
}

static void put_about_port(struct printer *printer, const struct diff_row *row)
{
	const struct diff_port *port = row->sides[0].port, *peer = row->sides[1].port;
	const struct difference *difference = &port->difference;
	struct result *result = printer->result;
	char version[FIRMWARE_TEXT_SIZE];
	struct firmware firmware[2];
	uint32_t index;
	const struct fabric *fabric = diff_fabric(printer->diff, port, &index);

	put_port(printer, fabric, index, false);
	cells_nonzero(result, ELAPSED, difference->elapsed_us);
	if (peer) {
		fabric = diff_fabric(printer->diff, peer, &index);
		put_port(printer, fabric, index, true);
		result_text(result, CHANGE, change_of(!row->added, !row->removed));
		return;
	}
	result_text(result, CHANGE, change_of(difference->was_there, difference->is_there));
	if (difference->was_there)
		result_text(result, STATUS_FROM, sample_status_name(difference->status_before));
	if (difference->is_there)
		result_text(result, STATUS_TO, sample_status_name(difference->status_after));
	result_bool(result, RECABLED, port->recabled);
	find_firmware(printer->diff, port, firmware);
	for (int i = 0; i < 2; i++)
		result_text(result, i ? FIRMWARE_TO : FIRMWARE_FROM, firmware_format(&firmware[i], version));
	if (fabric->ports[index].peer != FABRIC_NONE)
		put_port(printer, fabric, fabric->ports[index].peer, true);
}

static void put_about_sum(struct printer *printer, const struct diff_row *row)
{
	cells_displayed_name(printer->result, SUBJECT, printer->diff->after->fabric, row->name, -1);
	result_text(printer->result, NODE, row->name);
	if (printer->by == DIFF_BY_SWITCH)
		result_unsigned(printer->result, NODE_GUID, row->node_guid);
	result_integer(printer->result, PORTS, row->ports);
	result_integer(printer->result, PORTS_UNKNOWN, row->ports_unknown);
}

static void put_row(struct printer *printer, const struct diff_row *row)
{
	result_integer(printer->result, FROM, printer->diff->before->info.wall_us);
	result_integer(printer->result, TO, printer->diff->after->info.wall_us);
	if (row->name)
		put_about_sum(printer, row);
	else
		put_about_port(printer, row);
	for (size_t i = 0; i < 2 && row->sides[i].counters; i++)
		put_side(printer, FIRST_SIDE + i * SIDE_COUNT, &row->sides[i]);
	if (printer->is_table)
		put_note(printer, row);
	result_end_row(printer->result);
}

/* --- all rows --- */

/* Is a row shown in tables: does it have a value, or a reason for a missing one? */
static bool is_changed(const struct diff *diff, const struct diff_row *row)
{
	for (size_t side = 0; side < 2 && row->sides[side].counters; side++) {
		const struct diff_port *port = row->sides[side].port;

		for (size_t i = 0; i < COUNTED_COUNT; i++)
			if (row->sides[side].counters[i].known && row->sides[side].counters[i].value)
				return true;
		if (port && !row->known && !difference_is_down(&port->difference))
			return true;
		if (port && (port->difference.was_there != port->difference.is_there ||
			     has_other_firmware(diff, port)))
			return true;
	}
	return row->added || row->removed || row->ports_unknown;
}

int diff_print(const struct options *options, const struct diff *diff, const struct diff_rows *rows, enum diff_by by,
	       bool all, struct error *err)
{
	struct result_options output = options_result(options);
	struct printer printer = { .diff = diff, .by = by, .is_table = output.format == RESULT_TABLE };
	size_t hidden = 0;

	describe_columns(&printer);
	printer.result = result_create(options->out, &output, printer.columns, COLUMN_COUNT);
	for (size_t i = 0; i < rows->count; i++) {
		if (output.format == RESULT_TABLE && !all && !is_changed(diff, &rows->rows[i]))
			hidden++;
		else
			put_row(&printer, &rows->rows[i]);
	}
	if (hidden)
		result_note(printer.result, "%zu unchanged rows hidden; --all shows them", hidden);
	return output_end(printer.result, 0, err);
}
