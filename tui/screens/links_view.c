/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/screens/links_view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "fabric/fabric.h"
#include "facts/link.h"
#include "storage/reader.h"
#include "tui/draw/theme.h"
#include "tui/model/error_sums.h"
#include "tui/model/live.h"
#include "tui/model/port_table.h"
#include "tui/model/trend.h"

enum role status_role(enum port_status status)
{
	static const enum role roles[STATUS_COUNT] = {
		[STATUS_OK] = ROLE_TEXT,         [STATUS_IDLE] = ROLE_FAINT,       [STATUS_NEW] = ROLE_FAINT,
		[STATUS_UNPLANNED] = ROLE_FAINT, [STATUS_UNFINISHED] = ROLE_FAINT, [STATUS_INIT] = ROLE_WARNING,
		[STATUS_LOCKED] = ROLE_LOCKED,   [STATUS_SILENT] = ROLE_SILENT,
		[STATUS_UNSUPPORTED] = ROLE_UNSUPPORTED,
		[STATUS_DOWN] = ROLE_DOWN,       [STATUS_MIRRORED] = ROLE_FAINT,
	};

	return roles[status];
}

enum role mark_role(enum port_mark mark)
{
	if (mark == MARK_CRITICAL)
		return ROLE_CRITICAL;
	return mark == MARK_WARNING ? ROLE_WARNING : ROLE_FAINT;
}

/* --- cells that both ends decide: LINK_ROW is a struct link_cells --- */

#define LINK_MEMBER(member) COLUMN_MEMBER(struct link_cells, facts.member)

static const struct port *first_port(const struct link_cells *cells)
{
	return &cells->links->table->snapshot->fabric->ports[links_end(cells->links, cells->link, 0)];
}

static double number_state(const void *row)
{
	return first_port(row)->state * 16 + first_port(row)->phys_state;
}

static double number_link(const void *row)
{
	uint64_t rate = port_rate_bits_per_s(first_port(row));

	return rate ? (double)rate : NAN;
}

/* Negative, so that ages that are not read again stay in order. */
static double number_age(const void *row)
{
	int64_t last_us = ((const struct link_cells *)row)->link->facts.last_wall_us;

	return last_us ? -(double)last_us : NAN;
}

static void fill_state(struct result *result, size_t at, const void *row)
{
	const struct port *port = first_port(row);

	result_showf(result, at, STYLE_PLAIN, "%s/%s", port_state_name(port->state),
		     port_phys_state_name(port->phys_state));
}

static void fill_link(struct result *result, size_t at, const void *row)
{
	const struct link_cells *cells = row;
	char text[LINK_TEXT_SIZE];

	result_show(result, at, link_text(first_port(cells), cells->link->facts.degraded, text), STYLE_PLAIN);
}

/* "symbol_errors 12, rcv_errors 3; peer: link_downed 1". */
static void fill_which_errors(struct result *result, size_t at, const void *row)
{
	const struct link_cells *cells = row;
	const struct fabric *fabric = cells->links->table->snapshot->fabric;
	struct text text = { 0 };

	for (unsigned place = 0; place < 2 && links_end(cells->links, cells->link, place) != FABRIC_NONE; place++) {
		const struct port *port = &fabric->ports[links_end(cells->links, cells->link, place)];
		const struct error_sum *sum = error_sums_find(cells->sums, fabric->nodes[port->node].guid, port->num);

		if (sum)
			errors_append(&text, !place ? "" : text.len ? "; peer: " : "peer: ", COUNTER_ERROR_SET,
				      sum->at_least ? COUNTER_ERROR_SET : 0, sum->full, sum->value);
	}
	result_show(result, at, text_chars(&text), STYLE_PLAIN);
	text_done(&text);
}

static const struct column view_columns[LINK_COLUMN_COUNT] = {
	[LINK_FINDING] = { .title = "FINDING", .narrow = "FIND", .flags = COLUMN_FLEXIBLE,
			   .help = "worst open finding of the link" },
	[LINK_PORT] = { .key = "name", .row = PORT_ROW,
			.help = "end nearer to the hosts (x: the other end): node/port" },
	[LINK_PEER] = { .key = "name", .row = PEER_ROW, .title = HEADING_PEER,
			.help = "port at the other end of the cable" },
	[LINK_STATUS] = { .key = "status", .row = LINK_ROW,
			  .help = "status of the worse end: ok, idle, silent, ..." },
	[LINK_STATE] = { .title = HEADING_STATE, .row = LINK_ROW, .number = number_state, .fill = fill_state,
			 .help = "logical and physical state of PORT (PortInfo)" },
	[LINK_LINK] = { .title = HEADING_LINK, .row = LINK_ROW, .number = number_link, .fill = fill_link,
			.help = "width and speed; degraded: below what ends support" },
	[LINK_LOAD] = { .key = "util", .row = LINK_ROW, .help = "utilization of the busier direction" },
	[LINK_XMIT] = { .title = HEADING_TX, .narrow = "TXb/s", .kind = COLUMN_RATE, .row = LINK_ROW,
			LINK_MEMBER(bytes_per_s[0]), .help = "bits per second from PORT to PEER" },
	[LINK_XMIT_PERCENT] = { .title = HEADING_TX_PERCENT, .kind = COLUMN_PERCENT, .row = LINK_ROW,
				LINK_MEMBER(percent[0]), .help = "the same in % of the link's data rate" },
	[LINK_XMIT_BAR] = { .title = "TX LOAD", .narrow = "TX", .row = LINK_ROW, LINK_MEMBER(percent[0]),
			    .flags = COLUMN_FLEXIBLE, .help = "the same as a bar" },
	[LINK_RCV] = { .title = HEADING_RX, .narrow = "RXb/s", .kind = COLUMN_RATE, .row = LINK_ROW,
		       LINK_MEMBER(bytes_per_s[1]), .help = "bits per second from PEER to PORT" },
	[LINK_RCV_PERCENT] = { .title = HEADING_RX_PERCENT, .kind = COLUMN_PERCENT, .row = LINK_ROW,
			       LINK_MEMBER(percent[1]), .help = "the same in % of the link's data rate" },
	[LINK_RCV_BAR] = { .title = "RX LOAD", .narrow = "RX", .row = LINK_ROW, LINK_MEMBER(percent[1]),
			   .flags = COLUMN_FLEXIBLE, .help = "the same as a bar" },
	[LINK_SPARK] = { .title = "LAST SWEEPS", .narrow = "LAST", .row = LINK_ROW, LINK_MEMBER(util),
			 .flags = COLUMN_FLEXIBLE, .help = "LOAD% in the last sweeps, the newest at the right" },
	[LINK_XMIT_PACKETS] = { .key = "xmit_packets_per_s", .row = PORT_ROW,
				.help = "packets per second sent by PORT" },
	[LINK_RCV_PACKETS] = { .key = "rcv_packets_per_s", .row = PORT_ROW,
			       .help = "packets per second received by PORT" },
	[LINK_STALL] = { .key = "stall_percent", .row = PORT_ROW,
			 .help = "time waiting for credits, estimated from XmitWait" },
	[LINK_STALL_BACK] = { .key = "stall_percent", .row = PEER_ROW, .title = "PeerWait%", .narrow = "PWait%",
			      .help = "the same for PEER" },
	[LINK_WAIT] = { .key = "xmit_wait_ticks_per_s", .row = PORT_ROW,
			.help = "XmitWait ticks per second of PORT" },
	[LINK_WAIT_BACK] = { .key = "xmit_wait_ticks_per_s", .row = PEER_ROW, .title = "PeerWait/s",
			     .narrow = "PWait/s", .help = "the same for PEER" },
	[LINK_ERRORS] = { .title = HEADING_ERRORS, .narrow = "ERR", .kind = COLUMN_INTEGER, .row = LINK_ROW,
			  LINK_MEMBER(errors), .help = "errors of PORT / PEER since the time in the header" },
	[LINK_WHICH_ERRORS] = { .title = "WHICH ERRORS", .narrow = "WHICH", .row = LINK_ROW, LINK_MEMBER(errors),
				.fill = fill_which_errors, .flags = COLUMN_FLEXIBLE,
				.help = "error counters that increased" },
	[LINK_AGE] = { .title = HEADING_AGE, .kind = COLUMN_SPAN_S, .row = LINK_ROW, .number = number_age,
		       .help = "age of the link's newest reading" },
	[LINK_LID] = { .key = "lid", .row = PORT_ROW, .help = "LID at which PORT is polled" },
	[LINK_GUID] = { .key = "node_guid", .row = PORT_ROW, .help = "node GUID of PORT" },
};

static const struct column_step steps[] = {
	/* Minimum for every width. */
	{ LINK_PORT, 12, 0 },
	{ LINK_STATUS, 6, 0 },
	{ LINK_XMIT, 6, 0 },
	{ LINK_RCV, 6, 0 },
	{ LINK_ERRORS, 4, 0 },
	{ LINK_FINDING, 4, 0 },
	{ LINK_COLUMN_COUNT, 1, 0 }, /* TAG */
	{ LINK_PEER, 10, 0 },
	{ LINK_XMIT_PERCENT, 4, 0 },
	{ LINK_RCV_PERCENT, 4, 0 },
	{ LINK_LINK, COLUMN_WIDEST, 17 },
	{ LINK_PORT, COLUMN_WIDEST, 16 },
	{ LINK_PEER, COLUMN_WIDEST, 13 },
	{ LINK_LOAD, 5, 0 },
	{ LINK_AGE, 3, 0 },
	{ LINK_PORT, COLUMN_WIDEST, 17 },
	{ LINK_PEER, COLUMN_WIDEST, 17 },
	/* Up to a terminal of about 120 columns: full words and numbers. */
	{ LINK_XMIT_BAR, 4, 0 },
	{ LINK_RCV_BAR, 4, 0 },
	{ LINK_LOAD, 6, 0 },
	{ LINK_XMIT, 10, 0 },
	{ LINK_RCV, 10, 0 },
	{ LINK_PORT, COLUMN_WIDEST, 24 },
	{ LINK_PEER, COLUMN_WIDEST, 24 },
	{ LINK_STATUS, 11, 0 },
	{ LINK_XMIT_BAR, 9, 0 },
	{ LINK_RCV_BAR, 9, 0 },
	{ LINK_ERRORS, 7, 0 },
	/* Wider: additional columns. */
	{ LINK_STALL, 7, 0 },
	{ LINK_STALL_BACK, 7, 0 },
	{ LINK_FINDING, 22, 0 },
	{ LINK_SPARK, 19, 0 },
	{ LINK_ERRORS, 9, 0 },
	{ LINK_WHICH_ERRORS, 16, 0 },
	{ LINK_WAIT, 6, 0 },
	{ LINK_WAIT_BACK, 7, 0 },
	{ LINK_PORT, COLUMN_WIDEST, 32 },
	{ LINK_PEER, COLUMN_WIDEST, 32 },
	{ LINK_XMIT_PACKETS, 7, 0 },
	{ LINK_RCV_PACKETS, 7, 0 },
	{ LINK_LID, 5, 0 },
	{ LINK_STATE, 15, 0 },
	{ LINK_WHICH_ERRORS, 24, 0 },
	{ LINK_GUID, 18, 0 },
	{ LINK_STALL, 9, 0 },
	{ LINK_STALL_BACK, 9, 0 },
	{ LINK_WAIT, 10, 0 },
	{ LINK_WAIT_BACK, 10, 0 },
	{ LINK_XMIT_BAR, 16, 0 },
	{ LINK_RCV_BAR, 16, 0 },
	{ LINK_PORT, COLUMN_WIDEST, 0 },
	{ LINK_PEER, COLUMN_WIDEST, 0 },
	{ LINK_SPARK, 60, 0 },
	{ LINK_WHICH_ERRORS, 400, 0 },
};

/* --- the functions of the view --- */

static const struct link_row *link_at(const struct links_screen *self, size_t index)
{
	return &self->links.all[index];
}

/* Rebuild the links of the shown snapshot if necessary: proportional to the fabric, only while visible. */
static bool update(void *state, struct app *app)
{
	struct links_screen *self = state;
	struct error err = { 0 };

	if (self->generation == app->generation)
		return false;
	self->generation = app->generation;
	if (links_set(&self->links, app->table, app->context, &err) < 0)
		app_message(app, "%s", err.text);
	return true;
}

static size_t count(const struct table *table)
{
	return ((const struct links_screen *)table->state)->links.count;
}

static bool is_listed(const struct table *table, size_t index)
{
	const struct links_screen *self = table->state;

	return self->links.show_unused || !link_at(self, index)->facts.unused;
}

static void read_row(const struct table *table, size_t index, const void *ret[TABLE_STRUCTS])
{
	struct links_screen *self = table->state;
	const struct link_row *link = link_at(self, index);
	uint32_t peer = links_end(&self->links, link, 1);

	self->cells = (struct link_cells){ link->facts, &self->links, link, &table->app->live->errors };
	for (unsigned place = 0; place < 2; place++) {
		unsigned side = links_side(&self->links, link, place);

		self->cells.facts.bytes_per_s[place] = link->facts.bytes_per_s[side];
		self->cells.facts.percent[place] = link->facts.percent[side];
	}
	ret[PORT_ROW] = &self->links.table->ports[links_end(&self->links, link, 0)];
	ret[PEER_ROW] = peer == FABRIC_NONE ? NULL : &self->links.table->ports[peer];
	ret[LINK_ROW] = &self->cells;
}

static struct table_id identity(const struct table *table, size_t index)
{
	const struct links_screen *self = table->state;
	const struct fabric *fabric = self->links.table->snapshot->fabric;
	const struct port *port = &fabric->ports[link_at(self, index)->ends[0]];

	return (struct table_id){ fabric->nodes[port->node].guid, port->num };
}

static struct subject subject(const struct table *table, size_t index)
{
	const struct links_screen *self = table->state;

	if (self->generation != table->app->generation)
		return (struct subject){ .kind = SUBJECT_NONE };
	return subject_of_port(table->app, links_end(&self->links, link_at(self, index), 0));
}

static bool matches(const struct table *table, size_t index, const struct filter *filter)
{
	const struct links_screen *self = table->state;

	return links_passes(&self->links, link_at(self, index), filter,
			    table_is_tagged(&self->rows.table, identity(table, index)));
}

static bool begin_filter(const struct table *table, struct filter *filter)
{
	struct links *links = &((struct links_screen *)table->state)->links;

	return links->table && links_begin_filter(links, filter, NULL) == 0;
}

/* Ties are in the order of names. Return: whether the column has a key of its own. */
static bool key(const struct table *table, size_t index, size_t column, struct table_key *ret)
{
	const struct links_screen *self = table->state;
	const struct links *links = &self->links;
	const struct link_row *link = link_at(self, index);
	const struct fabric *fabric = links->table->snapshot->fabric;
	uint32_t first = links_end(links, link, 0), end = links_end(links, link, column == LINK_PEER);

	ret->tie = links->table->order.port_rank[first];
	switch (column) {
	case LINK_FINDING:
		/* The worst finding first; a link without any is sorted as unknown. */
		if (link->finding)
			ret->number = (double)link->mark * 1e6 - link->finding;
		return true;
	case LINK_PORT:
	case LINK_PEER:
		if (end != FABRIC_NONE)
			ret->number = links->table->order.port_rank[end];
		return true;
	case LINK_GUID: /* 64 bits do not fit in a double */
		ret->number = 0;
		ret->rest = fabric->nodes[fabric->ports[first].node].guid;
		return true;
	default:
		return false;
	}
}

static int widest(const struct table *table, size_t column)
{
	const struct links *links = &((const struct links_screen *)table->state)->links;
	int columns;

	switch (column) {
	case LINK_FINDING:
		return links->has_marks;
	case LINK_PORT:
	case LINK_PEER:
		columns = links->end_columns[(column == LINK_PEER) ^ links->swapped];
		return columns > 1 ? columns : 1;
	case LINK_LINK:
		return table->app->table->totals.link_columns > 5 ? table->app->table->totals.link_columns : 5;
	default:
		return COLUMN_WIDEST;
	}
}

/* Both bars are equally long, for comparison. */
static void adjust(struct column_place *places)
{
	struct column_place *xmit = &places[LINK_XMIT_BAR], *rcv = &places[LINK_RCV_BAR];

	if (xmit->columns && rcv->columns)
		xmit->columns = rcv->columns = (xmit->columns + rcv->columns) / 2;
}

static enum role role(const struct table *table, size_t index, size_t column, enum role usual)
{
	const struct links *links = &((const struct links_screen *)table->state)->links;
	const struct link_row *link = &links->all[index];
	unsigned side = links_side(links, link, 0);

	(void)usual;
	switch (column) {
	case LINK_FINDING:
		return mark_role(link->mark);
	case LINK_STATUS:
	case LINK_STATE:
		return status_role(link->facts.status);
	case LINK_LOAD:
	case LINK_SPARK:
		return link->facts.status == STATUS_IDLE ? ROLE_FAINT : role_of_load(link->facts.util.value);
	case LINK_XMIT:
	case LINK_XMIT_PERCENT:
	case LINK_XMIT_BAR:
		return link->facts.status == STATUS_IDLE ? ROLE_FAINT : role_of_load(link->facts.percent[side].value);
	case LINK_RCV:
	case LINK_RCV_PERCENT:
	case LINK_RCV_BAR:
		return link->facts.status == STATUS_IDLE ? ROLE_FAINT : role_of_load(link->facts.percent[!side].value);
	case LINK_ERRORS:
	case LINK_WHICH_ERRORS:
		return facts_has_errors(link->facts.errors) ? ROLE_WARNING : ROLE_FAINT;
	case LINK_LINK:
		return link->facts.degraded ? ROLE_WARNING : ROLE_TEXT;
	case LINK_PORT:
	case LINK_PEER:
		return link->facts.status == STATUS_DOWN || link->facts.status == STATUS_IDLE ? ROLE_FAINT : ROLE_TEXT;
	default:
		return ROLE_FAINT;
	}
}

/* --- texts that depend on their width --- */

/* "3/0": errors of the first end and of the other; one number without another end, or if neither has errors. */
static void append_errors(const struct links *links, const struct link_row *link, int columns, struct text *ret)
{
	const struct port_facts *ports = links->table->ports, *first = &ports[links_end(links, link, 0)], *second;
	uint32_t other = links_end(links, link, 1);
	unsigned half = columns > 7 ? (unsigned)columns / 2 : 3;
	char text[2][32];

	second = other == FABRIC_NONE ? NULL : &ports[other];
	if (!second || (isnan(first->errors.value) && isnan(second->errors.value)) ||
	    (measure_exact(first->errors) == 0 && measure_exact(second->errors) == 0)) {
		text_append(ret, format_errors(first->errors, (unsigned)columns, text[0], sizeof(text[0])));
		return;
	}
	text_appendf(ret, "%s/%s", format_errors(first->errors, half, text[0], sizeof(text[0])),
		     format_errors(second->errors, half, text[1], sizeof(text[1])));
}

/* With a prefix if it belongs to the other end, and there is room. */
static void append_status(const struct links *links, const struct link_row *link, int columns, struct text *ret)
{
	const char *word = port_status_name(link->facts.status);
	uint32_t first = links_end(links, link, 0);

	if (link->facts.status > STATUS_IDLE && links->table->ports[first].status != link->facts.status &&
	    columns >= (int)strlen(word) + 5)
		text_append(ret, "peer ");
	text_append(ret, word);
}

static void append_finding(const struct links *links, const struct link_row *link, int columns, struct text *ret)
{
	const char *mark = port_mark_name(link->mark);

	if (!link->finding)
		return;
	if (columns > 12)
		text_appendf(ret, "%-4s %s", mark,
			     finding_kind_name(links->context->findings[link->finding - 1].finding.kind));
	else
		text_append(ret, mark);
}

static void append_age(const struct app *app, const struct link_row *link, struct text *ret)
{
	int64_t last_us = link->facts.last_wall_us;
	char text[16];

	if (last_us)
		text_append(ret, format_age(app->now_us > last_us ? app->now_us - last_us : 0, text, sizeof(text)));
	else
		text_append(ret, "-");
}

static bool text(const struct table *table, size_t index, size_t column, int columns, struct text *ret)
{
	const struct links *links = &((const struct links_screen *)table->state)->links;
	const struct link_row *link = &links->all[index];
	bool unicode = table->app->theme->unicode;
	char bar[CELL_SIZE];
	unsigned side = links_side(links, link, 0);

	switch (column) {
	case LINK_FINDING:
		append_finding(links, link, columns, ret);
		return true;
	case LINK_STATUS:
		append_status(links, link, columns, ret);
		return true;
	case LINK_ERRORS:
		append_errors(links, link, columns, ret);
		return true;
	case LINK_AGE:
		append_age(table->app, link, ret);
		return true;
	case LINK_SPARK:
		table->app->trend->wanted = true;
		columns = columns < TREND_LOADS ? columns : TREND_LOADS;
		trend_spark(table->app->trend, &link->ends[0], 1, columns, unicode, ret);
		return true;
	case LINK_XMIT_BAR:
	case LINK_RCV_BAR:
		side ^= column == LINK_RCV_BAR;
		/* Traffic of an idle link is from polling. */
		text_append(ret, format_bar(link->facts.status == STATUS_IDLE ? measure_of(0, true) :
					    link->facts.percent[side], (unsigned)columns, unicode, bar));
		return true;
	default:
		return false;
	}
}

const struct table_view links_view = {
	.name = "links",
	.hidden_setting = "hidden-columns",
	.order_setting = "column-order",
	.noun = "link",
	.plural = "links",
	.none = "This fabric has no ports with counters.",
	.none_listed = "All ports are unused. d shows them.",
	.columns = view_columns,
	.column_count = LINK_COLUMN_COUNT,
	.sources = { [PORT_ROW] = port_columns, [PEER_ROW] = port_columns, [LINK_ROW] = link_columns },
	.steps = steps,
	.step_count = sizeof(steps) / sizeof(steps[0]),
	.fixed = 1 << LINK_PORT | 1 << LINK_FINDING,
	.descending = 1 << LINK_XMIT_BAR | 1 << LINK_RCV_BAR | 1 << LINK_SPARK | 1 << LINK_STATUS |
		      1 << LINK_WHICH_ERRORS | 1 << LINK_FINDING,
	/* The busiest links first. */
	.sort = LINK_LOAD,
	.sort_descending = true,
	.tags = true,
	.at_shown_time = true,
	.update = update,
	.count = count,
	.row = read_row,
	.id = identity,
	.subject = subject,
	.text = text,
	.role = role,
	.key = key,
	.widest = widest,
	.adjust = adjust,
	.is_listed = is_listed,
	.begin_filter = begin_filter,
	.matches = matches,
};
