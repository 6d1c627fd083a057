/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* subject.c - the parts that pages of several subjects share */
#include "pages/subject.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "export/columns.h"
#include "export/page.h"
#include "fabric/fabric.h"
#include "fabric/names.h"
#include "fabric/shape.h"
#include "facts/cells.h"
#include "facts/health_rows.h"
#include "facts/link.h"
#include "facts/order.h"
#include "facts/port_columns.h"
#include "facts/port_marks.h"
#include "pages/health.h"

struct port_facts subject_port(const struct subject_facts *facts, uint32_t port)
{
	struct port_facts ret;

	if (facts->ports)
		ret = facts->ports[port];
	else
		port_facts_of(&facts->scope, port, &ret);
	ret.scope = &facts->scope;
	ret.age_s = facts_age_s(facts->scope.reference_us, facts->scope.snapshot->rows[port].last_wall_us);
	return ret;
}

struct column *page_columns(struct page *page, const struct column_list *list, size_t *ret_count)
{
	struct columns columns;
	struct column *ret = NULL;

	*ret_count = 0;
	if (columns_usual(list, &columns, NULL) == 0)
		ret = page_alloc(page, columns.count, sizeof(*ret));
	if (ret) {
		memcpy(ret, columns.list, columns.count * sizeof(*ret));
		*ret_count = columns.count;
	}
	/* Names with a prefix are in the memory of the list. */
	for (size_t i = 0; i < *ret_count; i++) {
		if (ret[i].key)
			ret[i].key = page_print(page, "%s", ret[i].key);
		if (ret[i].title)
			ret[i].title = page_print(page, "%s", ret[i].title);
	}
	columns_done(&columns);
	return ret;
}

const char *group_name(const struct subject_facts *facts, const struct shape_group *group, struct page *page)
{
	char **names = facts->scope.order->names;

	return group->kind == GROUP_UP ? page_print(page, "%s uplinks", names[group->node]) :
					 page_print(page, "%s to %s", names[group->node], names[group->peer]);
}

const char *group_links(const struct subject_facts *facts, const struct shape_group *group, struct page *page)
{
	const struct shape *shape = facts->scope.shape;
	unsigned active = 0;

	for (uint32_t i = group->first; i < group->first + group->count; i++)
		active += fabric_link_state(shape->fabric, shape->members[i]) == PORT_ACTIVE;
	return page_print(page, "%s: %u link%s of %u built%s", group_name(facts, group, page), group->count,
			  text_plural(group->count), group->built,
			  active < group->count ? page_print(page, ", %u active", active) : "");
}

/* --- ports --- */

/* A port of a table, or its last peer that was unplugged. */
struct end_row {
	const struct subject_facts *facts;
	const struct port_facts *port;
	const struct past_peer *past; /* NULL: none */
};

static void fill_number(struct result *result, size_t at, const void *row)
{
	const struct end_row *of = row;
	const struct fabric *fabric = of->facts->scope.snapshot->fabric;
	const struct port *port = &fabric->ports[of->port->port];

	result_integer(result, at, port->num);
	result_target(result, at, fabric->nodes[port->node].guid, port->num);
}

const char *past_peer_name(const struct subject_facts *facts, const struct past_peer *past, char *ret, size_t size)
{
	uint32_t node = fabric_find_node(facts->scope.snapshot->fabric, past->guid);
	char name[NODE_NAME_SIZE];

	names_display(facts->scope.snapshot->fabric, past->name, name);
	snprintf(ret, size, "%s/%u", node == FABRIC_NONE ? name : facts->scope.order->names[node], past->port);
	return ret;
}

static void fill_peer(struct result *result, size_t at, const void *row)
{
	const struct end_row *of = row;
	const struct fabric *fabric = of->facts->scope.snapshot->fabric;
	uint32_t peer = fabric->ports[of->port->port].peer;
	char name[NODE_NAME_SIZE + 16];

	if (of->past) {
		result_text(result, at, past_peer_name(of->facts, of->past, name, sizeof(name)));
		result_showf(result, at, STYLE_PLAIN, "%s" NAMES_WAS, name);
	} else if (peer != FABRIC_NONE) {
		cells_port_name(result, at, of->facts->scope.order, fabric, peer);
	}
}

static void fill_peer_until(struct result *result, size_t at, const void *row)
{
	const struct end_row *of = row;

	if (of->past)
		result_integer(result, at, of->past->until_us);
}

static void fill_error_count(struct result *result, size_t at, const void *row)
{
	const struct port_facts *port = ((const struct end_row *)row)->port;

	result_measure(result, at, port->errors);
	if (facts_has_errors(port->errors))
		result_showf(result, at, STYLE_WARNING, "%.0f%s", port->errors.value, measure_mark(port->errors));
	else
		result_show(result, at, port->errors_known && !isnan(port->errors.value) ? "0" : "-", STYLE_DIM);
}

static const struct column end_columns[] = {
	{ .key = "number", .title = "PORT", .kind = COLUMN_INTEGER, .fill = fill_number },
	{ .key = "peer", .title = HEADING_PEER, .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL,
	  .fill = fill_peer, .help = "port at the other end of the link, or of the last one" },
	{ .key = "peer_until", .title = "UNTIL", .kind = COLUMN_TIME, .fill = fill_peer_until,
	  .help = "removal of the last cable" },
	{ .key = "error_count", .title = HEADING_ERRORS, .kind = COLUMN_INTEGER, .fill = fill_error_count },
	{ 0 },
};

enum { END_ROW = LINK_ROW };

static const struct column_source end_sources[] = {
	{ .columns = port_columns, .row = PORT_ROW },
	{ .columns = end_columns, .row = END_ROW },
};

/*
 * Both ends of a link. A column that is at another place in tables than in data is there twice. The state of a port is
 * in its status, too: on narrow terminals others are more useful.
 */
static const struct column_item end_items[] = {
	{ .key = "name", .as = "port", .table = true },
	{ .key = "status", .table = true, .no_data = true },
	{ .key = "role", .table = true, .no_data = true, .priority = 2 },
	{ .key = "tier", .table = true, .no_data = true, .priority = 4 },
	{ .key = "rail", .table = true, .no_data = true, .priority = 4 },
	{ .key = "state", .table = true, .priority = 5 },
	{ .key = "phys_state", .table = true, .priority = 7 },
	{ .key = "link", .table = true },
	{ .key = "rate_gbps", .table = true, .priority = 7 },
	{ .key = "lid", .table = true, .priority = 3 },
	{ .key = "peer", .row = END_ROW, .table = true },
	{ .key = "peer_until", .row = END_ROW },
	{ .key = "xmit_bytes_per_s", .table = true, .priority = 1 },
	{ .key = "rcv_bytes_per_s", .table = true, .priority = 1 },
	{ .key = "status" },
	{ .key = "xmit_utilization_percent", .table = true, .no_data = true, .priority = 3 },
	{ .key = "rcv_utilization_percent", .table = true, .no_data = true, .priority = 3 },
	{ .key = "stall_percent", .table = true, .priority = 3 },
	{ .key = "error_count", .row = END_ROW, .table = true, .no_data = true },
	{ .key = "age_s", .table = true, .priority = 6 },
};

/* The ports of one node, by their numbers, or of a host, by the names of the first column. */
static const struct column_item port_items[] = {
	{ .key = "name", .as = "port" },
	{ .key = "number", .row = END_ROW, .table = true, .no_data = true },
	{ .key = "peer", .row = END_ROW, .table = true, .no_data = true },
	{ .key = "status", .table = true, .no_data = true },
	{ .key = "state", .table = true, .priority = 5 },
	{ .key = "phys_state", .table = true, .priority = 7 },
	{ .key = "link", .table = true, .priority = 1 },
	{ .key = "rate_gbps", .table = true, .priority = 7 },
	{ .key = "lid", .table = true, .priority = 7 },
	{ .key = "peer", .row = END_ROW },
	{ .key = "peer_until", .row = END_ROW },
	{ .key = "xmit_bytes_per_s", .table = true, .priority = 4 },
	{ .key = "rcv_bytes_per_s", .table = true, .priority = 4 },
	{ .key = "status" },
	{ .key = "xmit_utilization_percent", .table = true, .no_data = true },
	{ .key = "rcv_utilization_percent", .table = true, .no_data = true },
	{ .key = "stall_percent", .table = true, .no_data = true, .priority = 1 },
	{ .key = "error_count", .row = END_ROW, .table = true, .no_data = true },
	{ .key = "age_s", .table = true, .priority = 6 },
};

struct ends {
	const struct subject_facts *facts;
	const uint32_t *ports;
	const struct past_peer *past;
	size_t count;
};

static void put_ends(struct result *result, const void *ctx)
{
	const struct ends *ends = ctx;

	for (size_t i = 0; i < ends->count; i++) {
		const struct port_facts port = subject_port(ends->facts, ends->ports[i]);
		const struct end_row end = { ends->facts, &port,
					     ends->past && ends->past[i].guid ? &ends->past[i] : NULL };

		result_fill_rows(result, (const void *const[]){ [PORT_ROW] = &port, [END_ROW] = &end });
		result_end_row(result);
	}
}

void subject_add_ends(const struct subject_facts *facts, const uint32_t *ports, const struct past_peer *past,
		      size_t count, bool of_node, const char *title, struct page *page)
{
	const struct column_list list = {
		.sources = end_sources, .source_count = sizeof(end_sources) / sizeof(*end_sources),
		.items = of_node ? port_items : end_items,
		.count = of_node ? sizeof(port_items) / sizeof(*port_items) : sizeof(end_items) / sizeof(*end_items),
	};
	const struct port *all = facts->scope.snapshot->fabric->ports;
	struct ends *ends = page_alloc(page, 1, sizeof(*ends));
	size_t column_count;
	struct column *columns = page_columns(page, &list, &column_count);

	if (!ends || !columns)
		return;
	/* Of several nodes a number is no name. */
	for (size_t i = 1; of_node && i < count; i++)
		if (all[ports[i]].node != all[ports[0]].node) {
			columns[0].flags &= ~COLUMN_NO_TABLE;
			columns[1].flags |= COLUMN_NO_TABLE;
		}
	/* Two ends are the peers of each other. */
	for (size_t i = 0; !of_node && count == 2 && !(past && (past[0].guid || past[1].guid)) && i < column_count; i++)
		if (columns[i].fill == fill_peer)
			columns[i].flags |= COLUMN_NO_TABLE;
	*ends = (struct ends){ facts, ports, past, count };
	page_add(page, &(struct page_section){ .kind = PAGE_TABLE, .key = "ports", .title = title,
					       .table = { columns, column_count, put_ends, ends } });
}

/* --- findings --- */

/* @port: 0: the node itself or any of its ports. */
static bool is_at(const struct subject_facts *facts, const struct finding *finding, uint64_t node_guid, uint8_t port)
{
	const struct fabric *fabric = facts->scope.snapshot->fabric;
	uint32_t index = port ? fabric_find_port(fabric, node_guid, port) : FABRIC_NONE;
	uint64_t guid;
	uint8_t num;

	if (index != FABRIC_NONE)
		return finding_concerns_port(facts->scope.shape, fabric, finding, index);
	for (unsigned at = 0; node_guid && finding_end(finding, fabric, at, &guid, &num); at++)
		if (guid == node_guid)
			return true;
	return !node_guid;
}

void subject_add_some_findings(const struct subject_facts *facts, const char *title, const char *none,
			       bool (*is_shown)(const void *ctx, const struct finding_row *row), const void *ctx,
			       struct page *page)
{
	const struct health_filter filter = { .all = true };
	const struct health_layout layout = { .in = PAGE_TEXT, .title = title, .none = none, .brief = true };
	struct health_rows *rows = page_alloc(page, 1, sizeof(*rows));

	if (!rows)
		return;
	rows->list = page_alloc(page, facts->finding_count, sizeof(*rows->list));
	for (size_t i = 0; rows->list && i < facts->finding_count; i++)
		if (is_shown(ctx, &facts->findings[i]))
			health_row_of(&facts->findings[i], &filter, &rows->list[rows->count++]);
	if (rows->count || none)
		health_add_findings(facts->scope.reference_us, &filter, rows, &layout, page);
}

struct place {
	const struct subject_facts *facts;
	uint64_t node_guid;
	uint8_t port;
};

static bool is_at_place(const void *ctx, const struct finding_row *row)
{
	const struct place *place = ctx;

	return is_at(place->facts, &row->finding, place->node_guid, place->port);
}

void subject_add_findings(const struct subject_facts *facts, uint64_t node_guid, uint8_t port, struct page *page)
{
	const struct place place = { facts, node_guid, port };

	subject_add_some_findings(facts, NULL, "no open findings", is_at_place, &place, page);
}
