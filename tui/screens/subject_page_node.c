/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* subject_page_node.c - a node with all of its ports; the fabric as a whole */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/balance.h"
#include "analysis/rate.h"
#include "base/when.h"
#include "fabric/planes.h"
#include "fabric/shape.h"
#include "tui/model/context.h"
#include "tui/model/live.h"
#include "tui/model/port_table.h"
#include "tui/screens/app.h"
#include "tui/screens/subject_page.h"
#include "facts/link.h"
#include "facts/node_facts.h"
#include "facts/order.h"

enum { LABEL = 10, CELL = 64 };

/* The columns of a list of ports. */
enum { PORT, PEER, WORD, LINK, TX, RX, STALL, ERRORS, COLUMNS };

static void list_widths(int columns, int link_columns, int ret[COLUMNS])
{
	int rates = columns >= 90 ? 17 : 6, link = columns < 60 ? 0 : link_columns < 8 ? 8 : link_columns;
	int peer = columns - 5 - 12 - (link ? link + 1 : 0) - 2 * (rates + 1) - 10 - 8;

	peer = peer > 60 ? 60 : peer < 6 ? 6 : peer;
	memcpy(ret, (const int[COLUMNS]){ 4, peer, 11, link, rates, rates, 9, 7 }, COLUMNS * sizeof(*ret));
}

static void write_load(double bytes_per_s, double percent, int columns, char ret[CELL])
{
	char rate[32], share[16];

	format_percent(percent, share, sizeof(share));
	if (columns > 10)
		snprintf(ret, CELL, "%s %5s", rate_format_bits(bytes_per_s, rate, sizeof(rate)), share);
	else
		snprintf(ret, CELL, "%s", share);
}

static void put_port_row(struct text_page *page, const struct app *app, const int *widths, uint32_t index)
{
	const struct fabric *fabric = app->live->shown->fabric;
	const struct port *port = &fabric->ports[index];
	const struct port_facts *view = &app->table->views[index];
	const struct subject subject = subject_of_port(app, index);
	/* For port 0, any finding of the switch would match. */
	const struct finding_row *finding =
		port->num ? context_finding(app->context, subject.node_guid, subject.port) : NULL;
	bool degraded = link_is_degraded(fabric, app->context->shape, index);
	char num[8], peer[PORT_NAME_SIZE], link[LINK_TEXT_SIZE], out[CELL], in[CELL], stall[16], errors[32];
	const struct table_cell cells[COLUMNS] = {
		[PORT] = { num, finding ? ROLE_WARNING : ROLE_STRONG, ALIGN_RIGHT },
		[PEER] = { peer, ROLE_TEXT, ALIGN_MIDDLE },
		[WORD] = { port_status_name(view->status), view->status <= STATUS_IDLE ? ROLE_TEXT : ROLE_WARNING,
			   ALIGN_LEFT },
		[LINK] = { link_text(port, degraded, link), degraded ? ROLE_WARNING : ROLE_TEXT, ALIGN_LEFT },
		[TX] = { out, role_of_load(view->xmit_percent), ALIGN_RIGHT },
		[RX] = { in, role_of_load(view->rcv_percent), ALIGN_RIGHT },
		[STALL] = { stall, ROLE_TEXT, ALIGN_RIGHT },
		[ERRORS] = { errors, view->errors > 0 ? ROLE_WARNING : ROLE_FAINT, ALIGN_RIGHT },
	};

	snprintf(num, sizeof(num), "%u", port->num);
	port_table_name(app->table, port->peer, peer);
	write_load(view->xmit_bytes_per_s, view->xmit_percent, widths[TX], out);
	write_load(view->rcv_bytes_per_s, view->rcv_percent, widths[RX], in);
	format_percent(view->stall_percent, stall, sizeof(stall));
	format_errors(view->errors, false, 6, errors, sizeof(errors));
	page_line(page, &subject);
	page_cells(page, widths, cells, COLUMNS);
	if (finding)
		page_put(page, widths[PORT], 1, ALIGN_LEFT, ROLE_WARNING, "!");
}

static void put_ports(struct text_page *page, const struct app *app, uint32_t node_index)
{
	static const struct table_cell heads[COLUMNS] = {
		{ "PORT", ROLE_HEAD, ALIGN_RIGHT }, { HEADING_PEER, ROLE_HEAD, ALIGN_LEFT },
		{ HEADING_STATUS, ROLE_HEAD, ALIGN_LEFT }, { HEADING_LINK, ROLE_HEAD, ALIGN_LEFT },
		{ HEADING_TX, ROLE_HEAD, ALIGN_RIGHT }, { HEADING_RX, ROLE_HEAD, ALIGN_RIGHT },
		{ HEADING_STALL, ROLE_HEAD, ALIGN_RIGHT }, { HEADING_ERRORS, ROLE_HEAD, ALIGN_RIGHT },
	};
	const struct node *node = &app->live->shown->fabric->nodes[node_index];
	int widths[COLUMNS];
	unsigned unused = 0;

	list_widths(page->columns, app->table->totals.link_columns, widths);
	page_heading(page, "PORTS");
	page_line(page, NULL);
	page_cells(page, widths, heads, COLUMNS);
	for (uint32_t i = node->first_port; i < node->first_port + node->ports; i++) {
		if (!port_is_pollable(app->live->shown->fabric, &app->live->shown->fabric->ports[i]))
			continue;
		if (app->table->views[i].unused)
			unused++;
		else
			put_port_row(page, app, widths, i);
	}
	if (unused)
		page_text(page, ROLE_FAINT, "and %u down and unused", unused);
}

/* Totals of all of its ports. */
static void put_sums(struct text_page *page, const struct app *app, uint32_t index)
{
	const struct fabric *fabric = app->live->shown->fabric;
	const struct node *node = &fabric->nodes[index];
	struct node_facts facts;
	double errors = 0;
	unsigned up = 0, known = 0;
	char out_text[32], in_text[32];

	node_facts_of(&app->table->scope, index, false, NULL, &facts);
	for (uint32_t i = node->first_port; i < node->first_port + node->ports; i++) {
		const struct port_facts *view = &app->table->views[i];

		errors += isnan(view->errors) ? 0 : view->errors;
		/* Port 0 of a switch has no link, but what it counts is part of the sums. */
		if (!fabric->ports[i].num)
			continue;
		up += fabric->ports[i].state >= PORT_INIT;
		known += !isnan(view->xmit_bytes_per_s);
	}
	page_label(page, NULL, "total", LABEL);
	page_putf(page, LABEL, ROLE_TEXT, "TX %s  RX %s  %u port%s read of %u with a link;  errors %.0f",
		  rate_format_bits(facts.xmit_bytes_per_s, out_text, sizeof(out_text)),
		  rate_format_bits(facts.rcv_bytes_per_s, in_text, sizeof(in_text)), known,
		  known == 1 ? "" : "s", up, errors);
}

/* Multi-plane ports: the sums of their planes. */
static void put_planes(struct text_page *page, const struct app *app, const struct node *node)
{
	const struct fabric *fabric = app->live->shown->fabric;
	char text[160];

	for (uint32_t i = node->first_port; i < node->first_port + node->ports; i++) {
		struct plane_sum sum = { 0 };

		if (!port_is_plane(fabric, i) || port_first_plane(fabric, i) != i)
			continue;
		for (uint32_t plane = i; plane != FABRIC_NONE; plane = port_next_plane(fabric, plane))
			plane_sum_add(&sum, &fabric->ports[plane], app->table->views[plane].xmit_bytes_per_s,
				      app->table->views[plane].rcv_bytes_per_s);
		page_text(page, ROLE_FAINT, "port %u", fabric->ports[i].num);
		page_put(page, LABEL, -1, ALIGN_LEFT, ROLE_TEXT, plane_sum_text(&sum, text, sizeof(text)));
	}
}

static void put_identity(struct text_page *page, const struct app *app, uint32_t index)
{
	const struct snapshot *shown = app->live->shown;
	const struct node *node = &shown->fabric->nodes[index];
	const struct shape *shape = app->context->shape;
	const struct shape_node *place = shape ? &shape->nodes[index] : NULL;
	const struct subject subject = subject_of_node(app, index);
	int x;

	page_line(page, &subject);
	x = page_put(page, 0, -1, ALIGN_LEFT, ROLE_STRONG, app->table->order.names[index]);
	x = page_putf(page, x + 2, ROLE_TEXT, "%s", node_type_name(node->type));
	if (place && strcmp(node_class_name(place->class), node_type_name(node->type)))
		x = page_putf(page, x + 2, ROLE_TEXT, "%s", node_class_name(place->class));
	if (place && place->tier)
		x = page_putf(page, x + 2, ROLE_TEXT, "tier %u", place->tier);
	if (node->adaptive != ADAPTIVE_UNKNOWN)
		x = page_putf(page, x + 2, ROLE_TEXT, "adaptive routing %s",
			      balance_adaptive_name((enum adaptive_routing)node->adaptive));
	if (place && place->host != SHAPE_NONE)
		page_putf(page, x + 2, ROLE_TEXT, "of host %s", shape->hosts[place->host].name);
	page_label(page, NULL, "is", LABEL);
	x = page_putf(page, LABEL, ROLE_TEXT, "GUID 0x%016" PRIx64, node->guid);
	if (node->lid)
		x = page_putf(page, x + 2, ROLE_TEXT, "LID %u", node->lid);
	page_putf(page, x + 2, ROLE_TEXT, "vendor 0x%06" PRIx32 "  device %u  revision 0x%" PRIx32 "  %u port%s",
		  node->vendor_id, node->device_id, node->revision, node->port_count, node->port_count == 1 ? "" : "s");
	for (uint32_t port = node->first_port; port < node->first_port + node->ports; port++)
		if (shown->sweep.sm.known && shown->sweep.sm.guid &&
		    (shown->fabric->ports[port].guid == shown->sweep.sm.guid || node->guid == shown->sweep.sm.guid)) {
			page_line(page, NULL);
			page_putf(page, LABEL, ROLE_GOOD, "master subnet manager, priority %u",
				  shown->sweep.sm.priority);
			break;
		}
}

/* The groups of a switch. */
static void put_groups(struct text_page *page, const struct app *app, uint32_t node)
{
	const struct shape *shape = app->context->shape;
	char name[NODE_NAME_SIZE * 2 + 16];

	for (uint32_t i = 0; shape && i < shape->group_count; i++) {
		const struct shape_group *group = &shape->groups[i];
		const struct subject subject = subject_of_group(app, group);

		if (group->node != node || (group->kind != GROUP_UP && group->count < 2))
			continue;
		page_label(page, &subject, "group", LABEL);
		page_putf(page, LABEL, ROLE_TEXT, "%s: %u links of %u built",
			  subject_name(app, &subject, name, sizeof(name)), group->count, group->built);
	}
}

void subject_page_node(struct subject_page *detail, const struct app *app, uint32_t index)
{
	const struct node *node = &app->live->shown->fabric->nodes[index];
	struct text_page *page = &detail->page;

	put_identity(page, app, index);
	put_sums(page, app, index);
	put_planes(page, app, node);
	subject_page_findings(detail, app, node->guid, 0);
	subject_page_history(detail, app);
	put_ports(page, app, index);
	put_groups(page, app, index);
}

void subject_page_fabric(struct subject_page *detail, const struct app *app)
{
	const struct fabric_summary *summary = &app->table->summary;
	const struct shape *shape = app->context->shape;
	const struct snapshot *shown = app->live->shown;
	struct text_page *page = &detail->page;
	struct text text = { 0 };
	char out[32], in[32], at[WHEN_SIZE];

	page_text(page, ROLE_STRONG, "The fabric at %s", when_format_local(shown->sweep.wall_us, at));
	summary_append_nodes(summary, &text);
	text_appendf(&text, "; %" PRIu32 " links, ", summary->links);
	summary_append_links(summary, &text);
	text_appendf(&text, "; %" PRIu32 " ports, %" PRIu32 " of them down, %" PRIu32 " unused", summary->ports,
		     summary->ports_down, summary->ports_unused);
	page_text(page, ROLE_TEXT, "%s", text_chars(&text));
	text_done(&text);
	page_text(page, ROLE_TEXT, "hosts TX %s, RX %s; errors %" PRIu64 "%s",
		  rate_format_bits(summary->hosts_xmit_bytes_per_s, out, sizeof(out)),
		  rate_format_bits(summary->hosts_rcv_bytes_per_s, in, sizeof(in)), app->table->totals.errors,
		  app->table->totals.errors_at_least ? "+" : "");
	page_text(page, ROLE_TEXT,
		  "the sweep polled %u of %u ports, %u responded; %" PRIu64 " MADs sent, %" PRIu64 " unanswered",
		  shown->sweep.ports_polled, shown->sweep.ports_planned, shown->sweep.ports_answered,
		  shown->sweep.mads_sent, shown->sweep.mads_timed_out);
	if (shape) {
		page_text(page, ROLE_TEXT, "%s, %u tier%s, %zu hosts, %zu rails", shape_kind_name(shape->kind),
			  shape->tier_count, shape->tier_count == 1 ? "" : "s", shape->host_count, shape->rail_count);
		page_wrap(page, NULL, 0, ROLE_FAINT, shape->reason);
	}
	for (int word = 0; word < STATUS_COUNT; word++) {
		if (!summary->by_status[word])
			continue;
		page_text(page, ROLE_TEXT, "%8" PRIu32 " ports %s", summary->by_status[word],
			  port_status_name((enum port_status)word));
	}
	subject_page_findings(detail, app, 0, 0);
}
