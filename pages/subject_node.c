/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* subject_node.c - a node with all of its ports, a group of links, and the fabric as a whole */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/balance.h"
#include "analysis/rate.h"
#include "base/text.h"
#include "base/when.h"
#include "export/page.h"
#include "fabric/device.h"
#include "fabric/fabric.h"
#include "fabric/planes.h"
#include "fabric/shape.h"
#include "facts/cells.h"
#include "facts/node_facts.h"
#include "facts/order.h"
#include "facts/summary.h"
#include "pages/subject.h"

static const struct fabric *fabric_of(const struct subject_facts *facts)
{
	return facts->scope.snapshot->fabric;
}

static void add_fields(struct page *page, struct page_field *fields, size_t count)
{
	page_add(page, &(struct page_section){ .kind = PAGE_FIELDS, .in = PAGE_TEXT | PAGE_HTML,
					       .fields = { fields, count } });
}

/* --- nodes --- */

/* "switch  tier 1  adaptive routing on" */
static const char *node_kind(const struct subject_facts *facts, uint32_t index, struct page *page)
{
	const struct node *node = &fabric_of(facts)->nodes[index];
	const struct shape *shape = facts->scope.shape;
	const struct shape_node *place = shape ? &shape->nodes[index] : NULL;
	struct text text = { 0 };

	text_append(&text, node_type_name(node->type));
	if (place && strcmp(node_class_name(place->class), node_type_name(node->type)))
		text_appendf(&text, "  %s", node_class_name(place->class));
	if (place && place->tier)
		text_appendf(&text, "  tier %u", place->tier);
	if (node->adaptive != ADAPTIVE_UNKNOWN)
		text_appendf(&text, "  adaptive routing %s",
			     balance_adaptive_name((enum adaptive_routing)node->adaptive));
	if (place && place->host != SHAPE_NONE)
		text_appendf(&text, "  of host %s", shape->hosts[place->host].name);
	return page_keep(page, &text);
}

static bool is_master(const struct subject_facts *facts, const struct node *node)
{
	const struct sweep_info *sweep = &facts->scope.snapshot->sweep;
	bool found = node->guid == sweep->sm.guid;

	for (uint32_t port = node->first_port; port < node->first_port + node->ports; port++)
		found |= fabric_of(facts)->ports[port].guid == sweep->sm.guid;
	return found && sweep->sm.known && sweep->sm.guid;
}

/* "28.39.1002  PSID MT_0000000838  since 2026-11-29 10:00:00 UTC; imported" */
static const char *firmware_text(const struct node *node, struct page *page)
{
	const struct firmware *firmware = &node->firmware;
	char version[FIRMWARE_TEXT_SIZE], since[WHEN_SIZE];

	firmware_format(firmware, version);
	if (firmware->changed_us)
		when_format_local(firmware->changed_us, since);
	return page_print(page, "%s%s%s%s%s%s", version, *firmware->psid ? "  PSID " : "", firmware->psid,
			  firmware->changed_us ? "  updated " : "", firmware->changed_us ? since : "",
			  firmware->source == FIRMWARE_IMPORTED ? "  imported" : "");
}

static void add_identity(const struct subject_facts *facts, uint32_t index, struct page *page)
{
	const struct node *node = &fabric_of(facts)->nodes[index];
	struct page_field *fields = page_alloc(page, 4, sizeof(*fields));
	char model[DEVICE_MODEL_SIZE];
	size_t count = 2;

	if (!fields)
		return;
	fields[0] = (struct page_field){
		.name = "node", .state = PAGE_INFO, .id = node->guid,
		.value = page_print(page, "%s  %s", facts->scope.order->names[index], node_kind(facts, index, page)),
	};
	fields[1] = (struct page_field){
		.name = "is",
		.value = page_print(page, "GUID 0x%016" PRIx64 "%s  %s  vendor 0x%06" PRIx32 "  device %u  revision 0x%"
				    PRIx32 "  %u port%s", node->guid,
				    node->lid ? page_print(page, "  LID %u", node->lid) : "",
				    device_model(node, model), node->vendor_id, node->device_id, node->revision,
				    node->port_count, node->port_count == 1 ? "" : "s"),
	};
	if (node->firmware.source)
		fields[count++] = (struct page_field){ .name = "firmware", .value = firmware_text(node, page) };
	if (is_master(facts, node))
		fields[count++] = (struct page_field){
			.name = "SM", .state = PAGE_GOOD,
			.value = page_print(page, "master subnet manager, priority %u",
					    facts->scope.snapshot->sweep.sm.priority),
		};
	add_fields(page, fields, count);
}

static const char *errors_text(struct page *page, struct measure errors)
{
	return isnan(errors.value) ? "-" : page_print(page, "%.0f%s", errors.value, measure_mark(errors));
}

/* "total": all of the ports. Port 0 of a switch has no link, but what it counts is part of the sums. */
static void fill_totals(const struct subject_facts *facts, const uint32_t *ports, size_t count,
			struct page_field *field, struct page *page)
{
	struct measure xmit = MEASURE_NONE, rcv = MEASURE_NONE;
	char out[32], in[32];
	struct measure errors = MEASURE_NONE;

	for (size_t i = 0; i < count; i++) {
		const struct port_facts port = subject_port(facts, ports[i]);

		if (port_is_pollable(fabric_of(facts), &fabric_of(facts)->ports[ports[i]]))
			port_facts_add(&port, &xmit, &rcv);
		errors = measure_add(errors, port.errors);
	}
	*field = (struct page_field){
		.name = "total",
		.value = page_print(page, "TX %s  RX %s  %u of %u port%s measured;  errors %s",
				    rate_format(xmit, out, sizeof(out)), rate_format(rcv, in, sizeof(in)), xmit.exact,
				    xmit.parts, xmit.parts == 1 ? "" : "s", errors_text(page, errors)),
	};
}

/* Multi-plane ports: the sums of their planes. */
static void fill_planes(const struct subject_facts *facts, uint32_t first, struct page_field *field, struct page *page)
{
	const struct fabric *fabric = fabric_of(facts);
	struct plane_sum sum = { 0 };
	char text[160];

	for (uint32_t plane = first; plane != FABRIC_NONE; plane = port_next_plane(fabric, plane)) {
		const struct port_facts port = subject_port(facts, plane);

		plane_sum_add(&sum, &fabric->ports[plane], port.xmit_bytes_per_s, port.rcv_bytes_per_s);
	}
	*field = (struct page_field){ .name = page_print(page, "port %u", fabric->ports[first].num),
				      .value = page_print(page, "%s", plane_sum_text(&sum, text, sizeof(text))) };
}

void subject_add_totals(const struct subject_facts *facts, const uint32_t *ports, size_t port_count, struct page *page)
{
	struct page_field *fields = page_alloc(page, port_count + 1, sizeof(*fields));
	size_t count = 1;

	if (!fields)
		return;
	fill_totals(facts, ports, port_count, &fields[0], page);
	for (size_t i = 0; i < port_count; i++)
		if (port_is_plane(fabric_of(facts), ports[i]) &&
		    port_first_plane(fabric_of(facts), ports[i]) == ports[i])
			fill_planes(facts, ports[i], &fields[count++], page);
	add_fields(page, fields, count);
}

static void add_node_totals(const struct subject_facts *facts, uint32_t index, struct page *page)
{
	const struct node *node = &fabric_of(facts)->nodes[index];
	uint32_t *ports = page_alloc(page, node->ports + 1U, sizeof(*ports));

	for (uint32_t i = 0; ports && i < node->ports; i++)
		ports[i] = node->first_port + i;
	if (ports)
		subject_add_totals(facts, ports, node->ports, page);
}

void subject_add_node(const struct subject_facts *facts, uint32_t index, struct page *page)
{
	add_identity(facts, index, page);
	add_node_totals(facts, index, page);
	subject_add_findings(facts, fabric_of(facts)->nodes[index].guid, 0, page);
}

/* The groups of a switch. */
static void add_groups(const struct subject_facts *facts, uint32_t node, struct page *page)
{
	const struct shape *shape = facts->scope.shape;
	struct page_field *fields = page_alloc(page, shape ? shape->group_count : 0, sizeof(*fields));
	size_t count = 0;

	for (uint32_t i = 0; fields && shape && i < shape->group_count; i++) {
		const struct shape_group *group = &shape->groups[i];

		if (group->node != node || (group->kind != GROUP_UP && group->count < 2))
			continue;
		fields[count++] = (struct page_field){
			.name = "group", .id = i + UINT64_C(1), .number = TARGET_GROUP,
			.value = group_links(facts, group, page),
		};
	}
	if (count)
		add_fields(page, fields, count);
}

void subject_add_node_ports(const struct subject_facts *facts, uint32_t index, struct page *page)
{
	const struct node *node = &fabric_of(facts)->nodes[index];
	uint32_t *ports = page_alloc(page, node->ports, sizeof(*ports));
	unsigned unused = 0;
	size_t count = 0;

	for (uint32_t i = node->first_port; ports && i < node->first_port + node->ports; i++) {
		if (!port_is_pollable(fabric_of(facts), &fabric_of(facts)->ports[i]))
			continue;
		if (subject_port(facts, i).unused)
			unused++;
		else
			ports[count++] = i;
	}
	subject_add_ends(facts, ports, NULL, count, true, "Ports", page);
	if (unused)
		page_add_note(page, PAGE_TEXT, true, "and %u down and unused", unused);
	add_groups(facts, index, page);
}

/* --- groups --- */

void subject_add_group(const struct subject_facts *facts, uint32_t index, struct page *page)
{
	const struct shape_group *group = &facts->scope.shape->groups[index];
	uint64_t guid = fabric_of(facts)->nodes[group->node].guid;
	struct page_field *field = page_alloc(page, 2, sizeof(*field));

	if (!field)
		return;
	field[0] = (struct page_field){ .name = "group", .value = group_name(facts, group, page), .state = PAGE_INFO,
					.id = index + UINT64_C(1), .number = TARGET_GROUP };
	field[1] = (struct page_field){
		.name = "links", .state = group->count < group->built ? PAGE_WARNING : PAGE_PLAIN, .id = guid,
		.value = page_print(page, "%u of %u built, of a switch of tier %u", group->count, group->built,
				    group->tier),
	};
	add_fields(page, field, 2);
	subject_add_findings(facts, guid, 0, page);
}

/* Sums over the members. */
struct group_sums {
	const struct subject_facts *facts;
	const struct shape_group *group;
	struct measure out, in;
	double capacity, lids;
};

/* The rate that a member can carry. */
static double capacity_of(const struct subject_facts *facts, uint32_t port)
{
	return fabric_link_state(fabric_of(facts), port) == PORT_ACTIVE ?
	       (double)port_rate_bits_per_s(&fabric_of(facts)->ports[port]) : 0;
}

enum { PORT, PEER, TX, TX_SHARE, RX, RX_SHARE, FAIR, TABLE, STALL, ERRORS, COLUMNS };

static const struct column member_columns[COLUMNS] = {
	[PORT] = { .title = "PORT", .kind = COLUMN_INTEGER },
	[PEER] = { .title = HEADING_PEER, .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL },
	[TX] = { .title = HEADING_TX_PERCENT, .kind = COLUMN_PERCENT, .measured = true, .flags = COLUMN_LOAD },
	[TX_SHARE] = { .title = "SHARE", .kind = COLUMN_PERCENT },
	[RX] = { .title = HEADING_RX_PERCENT, .kind = COLUMN_PERCENT, .measured = true, .flags = COLUMN_LOAD },
	[RX_SHARE] = { .title = "SHARE", .kind = COLUMN_PERCENT, .priority = 1 },
	[FAIR] = { .title = "FAIR", .kind = COLUMN_PERCENT, .priority = 2 },
	[TABLE] = { .title = "TABLE", .kind = COLUMN_PERCENT, .priority = 1 },
	[STALL] = { .title = HEADING_STALL, .kind = COLUMN_PERCENT, .measured = true, .priority = 2 },
	[ERRORS] = { .title = HEADING_ERRORS, .kind = COLUMN_INTEGER, .priority = 2 },
};

static void put_share(struct result *result, size_t at, double part, double whole)
{
	result_real(result, at, whole > 0 ? 100 * part / whole : NAN);
}

static void put_member(struct result *result, const struct group_sums *sums, uint32_t index)
{
	const struct subject_facts *facts = sums->facts;
	const struct port *port = &fabric_of(facts)->ports[index];
	const struct port_facts own = subject_port(facts, index);

	result_integer(result, PORT, port->num);
	result_target(result, PORT, fabric_of(facts)->nodes[port->node].guid, port->num);
	if (port->peer != FABRIC_NONE)
		cells_port_name(result, PEER, facts->scope.order, fabric_of(facts), port->peer);
	if (capacity_of(facts, index) <= 0)
		result_show(result, PEER, NULL, STYLE_DIM);
	result_measure(result, TX, own.xmit_percent);
	put_share(result, TX_SHARE, measure_exact(own.xmit_bytes_per_s), measure_exact(sums->out));
	result_measure(result, RX, own.rcv_percent);
	put_share(result, RX_SHARE, measure_exact(own.rcv_bytes_per_s), measure_exact(sums->in));
	put_share(result, FAIR, capacity_of(facts, index), sums->capacity);
	put_share(result, TABLE, facts->routes == ROUTES_READ ? facts->lids[port->num] : NAN, sums->lids);
	result_measure(result, STALL, own.stall_percent);
	result_measure(result, ERRORS, own.errors);
	if (facts_has_errors(own.errors))
		result_show(result, ERRORS, NULL, STYLE_WARNING);
	result_end_row(result);
}

static void put_members(struct result *result, const void *ctx)
{
	const struct group_sums *sums = ctx;
	const uint32_t *members = sums->facts->scope.shape->members;

	for (uint32_t i = sums->group->first; i < sums->group->first + sums->group->count; i++)
		put_member(result, sums, members[i]);
	result_note(result, "TX%%, RX%%: of the link rate. SHARE: of the group's traffic. FAIR: by link rate. TABLE: "
		    "share of the group's destination LIDs in the switch's forwarding table.");
}

void subject_add_group_members(const struct subject_facts *facts, uint32_t index, struct page *page)
{
	const struct shape *shape = facts->scope.shape;
	struct group_sums *sums = page_alloc(page, 1, sizeof(*sums));

	if (!sums)
		return;
	sums->facts = facts;
	sums->group = &shape->groups[index];
	for (uint32_t i = sums->group->first; i < sums->group->first + sums->group->count; i++) {
		const struct port_facts port = subject_port(facts, shape->members[i]);

		port_facts_add(&port, &sums->out, &sums->in);
		sums->capacity += capacity_of(facts, shape->members[i]);
		if (facts->routes == ROUTES_READ)
			sums->lids += facts->lids[fabric_of(facts)->ports[shape->members[i]].num];
	}
	page_add(page, &(struct page_section){ .kind = PAGE_TABLE, .in = PAGE_TEXT, .title = "Members",
					       .table = { member_columns, COLUMNS, put_members, sums } });
}

/* --- the fabric --- */

void subject_add_fabric(const struct subject_facts *facts, const struct fabric_summary *summary, struct page *page)
{
	const struct sweep_info *sweep = &facts->scope.snapshot->sweep;
	const struct shape *shape = facts->scope.shape;
	struct text text = { 0 };
	char out[32], in[32], at[WHEN_SIZE];
	struct measure errors = MEASURE_NONE;

	page_add(page, &(struct page_section){
		.kind = PAGE_NOTE, .in = PAGE_TEXT, .state = PAGE_INFO,
		.note = page_print(page, "The fabric at %s", when_format_local(sweep->wall_us, at)) });
	summary_append_nodes(summary, &text);
	text_appendf(&text, "; %" PRIu32 " link%s, ", summary->links, text_plural(summary->links));
	summary_append_links(summary, &text);
	page_add_note(page, PAGE_TEXT, false, "%s; %" PRIu32 " port%s, %" PRIu32 " of them down, %" PRIu32 " unused",
		      page_keep(page, &text), summary->ports, text_plural(summary->ports), summary->ports_down,
		      summary->ports_unused);
	for (uint32_t i = 0; i < fabric_of(facts)->port_count; i++) {
		const struct port_facts port = subject_port(facts, i);

		errors = measure_add(errors, port.errors);
	}
	page_add_note(page, PAGE_TEXT, false, "hosts TX %s, RX %s; errors %s",
		      rate_format(summary->hosts_xmit_bytes_per_s, out, sizeof(out)),
		      rate_format(summary->hosts_rcv_bytes_per_s, in, sizeof(in)), errors_text(page, errors));
	page_add_note(page, PAGE_TEXT, false, "the sweep polled %u of %u port%s, %u responded; %" PRIu64 " MADs sent, %"
		      PRIu64 " unanswered", sweep->ports_polled, sweep->ports_planned,
		      text_plural(sweep->ports_planned), sweep->ports_answered,
		      sweep->mads_sent, sweep->mads_timed_out);
	if (shape) {
		page_add_note(page, PAGE_TEXT, false, "%s, %u tier%s, %zu host%s, %zu rail%s",
			      shape_kind_name(shape->kind), shape->tier_count, shape->tier_count == 1 ? "" : "s",
			      shape->host_count, text_plural(shape->host_count), shape->rail_count,
			      text_plural(shape->rail_count));
		page_add_note(page, PAGE_TEXT, true, "%s", shape->reason);
	}
	for (int word = 0; word < STATUS_COUNT; word++)
		if (summary->by_status[word])
			page_add_note(page, PAGE_TEXT, false, "%8" PRIu32 " ports %s", summary->by_status[word],
				      port_status_name((enum port_status)word));
	subject_add_findings(facts, 0, 0, page);
}
