/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* detail_node.c - a switch or a host's HCA with all of its ports; and the fabric as a whole */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/plane_sum.h"
#include "analysis/rate.h"
#include "base/when.h"
#include "fabric/planes.h"
#include "fabric/shape.h"
#include "tui/model/cell_text.h"
#include "tui/model/context.h"
#include "tui/model/live.h"
#include "tui/model/port_table.h"
#include "tui/screens/app.h"
#include "tui/screens/subject_page.h"

enum { LABEL = 10, CELL = 64 };

/* Where the columns of a list of ports stand; 0 columns: not there. */
struct list_columns {
	int peer_x, peer, word_x, link_x, out_x, out, in_x, in, stall_x, errors_x;
};

static struct list_columns list_columns(int columns)
{
	struct list_columns at = { .peer_x = 5 };
	/* Fixed ones from the right: word 11, link 8, out and in, stall 6, errors 7. */
	int rates = columns >= 90 ? 17 : 6, x;

	at.out = at.in = rates;
	at.peer = columns - 5 - 12 - (columns >= 60 ? 9 : 0) - 2 * (rates + 1) - 10 - 8;
	if (at.peer > 60)
		at.peer = 60;
	if (at.peer < 6)
		at.peer = 6;
	x = at.peer_x + at.peer + 1;
	at.word_x = x;
	x += 12;
	at.link_x = x;
	x += columns >= 60 ? 9 : 0;
	at.out_x = x;
	at.in_x = x + rates + 1;
	at.stall_x = at.in_x + rates + 1;
	at.errors_x = at.stall_x + 10;
	return at;
}

static void put_list_head(struct text_page *page, const struct list_columns *at, bool links)
{
	page_line(page, NULL);
	page_put(page, 0, 4, ALIGN_RIGHT, ROLE_HEAD, "PORT");
	page_put(page, at->peer_x, at->peer, ALIGN_LEFT, ROLE_HEAD, "PEER");
	page_put(page, at->word_x, 11, ALIGN_LEFT, ROLE_HEAD, "STATE");
	if (links)
		page_put(page, at->link_x, 8, ALIGN_LEFT, ROLE_HEAD, "LINK");
	page_put(page, at->out_x, at->out, ALIGN_RIGHT, ROLE_HEAD, "TX");
	page_put(page, at->in_x, at->in, ALIGN_RIGHT, ROLE_HEAD, "RX");
	page_put(page, at->stall_x, 9, ALIGN_RIGHT, ROLE_HEAD, "XmitWait%");
	page_put(page, at->errors_x, 7, ALIGN_RIGHT, ROLE_HEAD, "ERRORS");
}

static void put_load(struct text_page *page, int x, int columns, double bytes_per_s, double percent)
{
	char rate[32], share[16], text[CELL];

	format_percent(percent, share, sizeof(share));
	if (columns > 10)
		snprintf(text, sizeof(text), "%s %5s", rate_format_bits(bytes_per_s, rate, sizeof(rate)), share);
	else
		snprintf(text, sizeof(text), "%s", share);
	page_put(page, x, columns, ALIGN_RIGHT, role_of_load(percent), text);
}

static void put_port_row(struct text_page *page, const struct app *app, const struct list_columns *at, bool links,
			 uint32_t index)
{
	const struct fabric *fabric = app->live->shown->fabric;
	const struct port *port = &fabric->ports[index];
	const struct port_view *view = &app->table->views[index];
	const struct subject subject = subject_of_port(app, index);
	/* Of port 0 it would be any of the switch's. */
	const struct finding_row *finding =
		port->num ? context_finding(app->context, subject.node_guid, subject.port) : NULL;
	char text[NODE_NAME_SIZE + 8];

	page_line(page, &subject);
	snprintf(text, sizeof(text), "%u", port->num);
	page_put(page, 0, 4, ALIGN_RIGHT, finding ? ROLE_WARNING : ROLE_STRONG, text);
	if (finding)
		page_put(page, 4, 1, ALIGN_LEFT, ROLE_WARNING, "!");
	snprintf(text, sizeof(text), "-");
	if (port->peer != FABRIC_NONE)
		cell_text_append_port(app->table->order.names[fabric->ports[port->peer].node],
				      fabric->ports[port->peer].num, text);
	page_put(page, at->peer_x, at->peer, ALIGN_MIDDLE, ROLE_TEXT, text);
	page_put(page, at->word_x, 11, ALIGN_LEFT,
		 view->word == WORD_OK || view->word == WORD_IDLE ? ROLE_TEXT : ROLE_WARNING,
		 port_word_name(view->word));
	if (links)
		page_put(page, at->link_x, 8, ALIGN_LEFT, ROLE_TEXT, cell_text_link(port, text));
	put_load(page, at->out_x, at->out, view->xmit_bytes_per_s, view->xmit_percent);
	put_load(page, at->in_x, at->in, view->rcv_bytes_per_s, view->rcv_percent);
	format_percent(view->stall_percent, text, sizeof(text));
	page_put(page, at->stall_x, 9, ALIGN_RIGHT, ROLE_TEXT, text);
	snprintf(text, sizeof(text), "-");
	if (!isnan(view->errors))
		format_count((uint64_t)view->errors, 6, text, sizeof(text));
	page_put(page, at->errors_x, 7, ALIGN_RIGHT, view->errors > 0 ? ROLE_WARNING : ROLE_FAINT, text);
}

static void put_ports(struct text_page *page, const struct app *app, uint32_t node_index)
{
	const struct node *node = &app->live->shown->fabric->nodes[node_index];
	struct list_columns at = list_columns(page->columns);
	bool links = page->columns >= 60;
	unsigned unused = 0;

	page_heading(page, "PORTS");
	put_list_head(page, &at, links);
	for (uint32_t i = node->first_port; i < node->first_port + node->ports; i++) {
		if (!port_is_pollable(app->live->shown->fabric, &app->live->shown->fabric->ports[i]))
			continue;
		if (app->table->views[i].unused)
			unused++;
		else
			put_port_row(page, app, &at, links, i);
	}
	if (unused) {
		page_line(page, NULL);
		page_putf(page, 0, ROLE_FAINT, "and %u down and unused", unused);
	}
}

/* What all of its ports do together. */
static void put_sums(struct text_page *page, const struct app *app, const struct node *node)
{
	const struct fabric *fabric = app->live->shown->fabric;
	double out = NAN, in = NAN, errors = 0;
	unsigned up = 0, known = 0;
	char out_text[32], in_text[32];

	for (uint32_t i = node->first_port; i < node->first_port + node->ports; i++) {
		const struct port_view *view = &app->table->views[i];

		errors += isnan(view->errors) ? 0 : view->errors;
		/* A switch's port 0 has no link; its errors count all the same. */
		if (!fabric->ports[i].num)
			continue;
		up += fabric->ports[i].state >= PORT_INIT;
		if (!isnan(view->xmit_bytes_per_s)) {
			out = (isnan(out) ? 0 : out) + view->xmit_bytes_per_s;
			known++;
		}
		if (!isnan(view->rcv_bytes_per_s))
			in = (isnan(in) ? 0 : in) + view->rcv_bytes_per_s;
	}
	page_line(page, NULL);
	page_put(page, 0, LABEL - 1, ALIGN_LEFT, ROLE_FAINT, "total");
	page_putf(page, LABEL, ROLE_TEXT, "TX %s  RX %s  %u port%s read of %u with a link;  errors %.0f",
		  rate_format_bits(out, out_text, sizeof(out_text)), rate_format_bits(in, in_text, sizeof(in_text)),
		  known, known == 1 ? "" : "s", up, errors);
}

/* Ports that are planes of one: what they are together. */
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
		page_line(page, NULL);
		page_putf(page, 0, ROLE_FAINT, "port %u", fabric->ports[i].num);
		page_put(page, LABEL, -1, ALIGN_LEFT, ROLE_TEXT, plane_sum_text(&sum, text, sizeof(text)));
	}
}

static void put_who(struct text_page *page, const struct app *app, uint32_t index)
{
	const struct snapshot *shown = app->live->shown;
	const struct node *node = &shown->fabric->nodes[index];
	const struct shape *shape = app->context->shape;
	const struct shape_node *place = shape ? &shape->nodes[index] : NULL;
	const struct subject subject = subject_of_node(app, index);
	char guid[CELL_GUID_SIZE];
	uint32_t port;
	int x;

	page_line(page, &subject);
	x = page_put(page, 0, -1, ALIGN_LEFT, ROLE_STRONG, app->table->order.names[index]);
	x = page_putf(page, x + 2, ROLE_TEXT, "%s", node_type_name(node->type));
	if (place && strcmp(node_class_name(place->class), node_type_name(node->type)))
		x = page_putf(page, x + 2, ROLE_TEXT, "%s", node_class_name(place->class));
	if (place && place->tier)
		x = page_putf(page, x + 2, ROLE_TEXT, "tier %u", place->tier);
	if (place && place->host != SHAPE_NONE)
		page_putf(page, x + 2, ROLE_TEXT, "of host %s", shape->hosts[place->host].name);
	page_line(page, NULL);
	page_put(page, 0, LABEL - 1, ALIGN_LEFT, ROLE_FAINT, "is");
	x = page_putf(page, LABEL, ROLE_TEXT, "GUID %s", cell_text_guid(node->guid, guid));
	if (node->lid)
		x = page_putf(page, x + 2, ROLE_TEXT, "LID %u", node->lid);
	page_putf(page, x + 2, ROLE_TEXT, "vendor 0x%06" PRIx32 "  device %u  revision 0x%" PRIx32 "  %u port%s",
		  node->vendor_id, node->device_id, node->revision, node->port_count, node->port_count == 1 ? "" : "s");
	for (port = node->first_port; port < node->first_port + node->ports; port++)
		if (shown->sweep.sm.known && shown->sweep.sm.guid &&
		    (shown->fabric->ports[port].guid == shown->sweep.sm.guid || node->guid == shown->sweep.sm.guid)) {
			page_line(page, NULL);
			page_putf(page, LABEL, ROLE_GOOD, "master subnet manager, priority %u",
				  shown->sweep.sm.priority);
			break;
		}
}

/* The groups of a switch: what can be opened from here. */
static void put_groups(struct text_page *page, const struct app *app, uint32_t node)
{
	const struct shape *shape = app->context->shape;
	char name[NODE_NAME_SIZE * 2 + 16];

	for (uint32_t i = 0; shape && i < shape->group_count; i++) {
		const struct shape_group *group = &shape->groups[i];
		const struct subject subject = subject_of_group(app, group);

		if (group->node != node || (group->kind != GROUP_UP && group->count < 2))
			continue;
		page_line(page, &subject);
		page_put(page, 0, LABEL - 1, ALIGN_LEFT, ROLE_FAINT, "group");
		page_putf(page, LABEL, ROLE_TEXT, "%s: %u links of %u built",
			  subject_name(app, &subject, name, sizeof(name)), group->count, group->built);
	}
}

void subject_page_node(struct subject_page *detail, const struct app *app, uint32_t index)
{
	const struct node *node = &app->live->shown->fabric->nodes[index];
	struct text_page *page = &detail->page;

	put_who(page, app, index);
	put_sums(page, app, node);
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
	char out[32], in[32], at[WHEN_SIZE];

	page_line(page, NULL);
	page_putf(page, 0, ROLE_STRONG, "The fabric at %s", when_format_local(shown->sweep.wall_us, at));
	page_line(page, NULL);
	page_putf(page, 0, ROLE_TEXT,
		  "%zu switches, %zu HCAs, %zu others; %zu links up; %zu ports, %zu of them down, %zu unused",
		  summary->switches, summary->hcas, summary->others, summary->links_up, summary->ports,
		  summary->ports_down, summary->ports_unused);
	page_line(page, NULL);
	page_putf(page, 0, ROLE_TEXT, "hosts TX %s, RX %s; errors %" PRIu64 "%s",
		  rate_format_bits(summary->hosts_xmit_bytes_per_s, out, sizeof(out)),
		  rate_format_bits(summary->hosts_rcv_bytes_per_s, in, sizeof(in)), summary->errors,
		  summary->errors_at_least ? "+" : "");
	page_line(page, NULL);
	page_putf(page, 0, ROLE_TEXT,
		  "the sweep polled %u of %u ports, %u responded; %" PRIu64 " MADs sent, %" PRIu64 " unanswered",
		  shown->sweep.ports_asked, shown->sweep.ports_planned, shown->sweep.ports_answered,
		  shown->sweep.mads_sent, shown->sweep.mads_timed_out);
	if (shape) {
		page_line(page, NULL);
		page_putf(page, 0, ROLE_TEXT, "%s of %u tiers, %zu hosts, %zu rails", shape_kind_name(shape->kind),
			  shape->tier_count, shape->host_count, shape->rail_count);
		page_wrap(page, NULL, 0, ROLE_FAINT, shape->reason);
	}
	for (int word = 0; word < WORD_COUNT; word++) {
		if (!summary->words[word])
			continue;
		page_line(page, NULL);
		page_putf(page, 0, ROLE_TEXT, "%8zu ports %s", summary->words[word],
			  port_word_name((enum port_word)word));
	}
	subject_page_findings(detail, app, 0, 0);
}
