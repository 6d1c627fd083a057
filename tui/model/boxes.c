/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/model/boxes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "fabric/fabric.h"
#include "fabric/host.h"
#include "fabric/shape.h"
#include "storage/reader.h"
#include "tui/model/port_table.h"

static void drop(struct boxes *boxes)
{
	free(boxes->all);
	free(boxes->rows);
	boxes->all = NULL;
	boxes->rows = NULL;
	boxes->count = boxes->row_count = 0;
	boxes->table = NULL;
	boxes->shape = NULL;
}

void boxes_done(struct boxes *boxes)
{
	drop(boxes);
	filter_done(&boxes->filter);
}

/* Sort key of the box of a node: class, then name. */
static uint64_t order_of(const struct boxes *boxes, uint32_t node)
{
	const struct port_table *table = boxes->table;
	const struct node *self = &table->snapshot->fabric->nodes[node];
	uint64_t kind = 30;

	if (self->type == NODE_SWITCH)
		kind = boxes->shape && boxes->shape->nodes[node].tier ? boxes->shape->nodes[node].tier : 20;
	else if (self->type != NODE_CA || (boxes->shape && boxes->shape->nodes[node].host == SHAPE_NONE))
		kind = 40;
	/* A node without ports has no rank by name. */
	return kind << 32 | (self->ports ? table->order.port_rank[self->first_port] : UINT32_MAX);
}

static int compare_boxes(const void *a, const void *b)
{
	const struct box *x = a, *y = b;

	if (x->order != y->order)
		return x->order < y->order ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

int boxes_set(struct boxes *boxes, const struct port_table *table, const struct shape *shape, struct error *err)
{
	size_t room;

	drop(boxes);
	if (!table->snapshot)
		return 0;
	room = table->snapshot->fabric->node_count + 1;
	boxes->all = calloc(room, sizeof(*boxes->all));
	boxes->rows = calloc(room, sizeof(*boxes->rows));
	if (!boxes->all || !boxes->rows) {
		drop(boxes);
		return err_nomem(err);
	}
	boxes->table = table;
	boxes->shape = shape;
	for (uint32_t node = 0; node + 1 < room; node++) {
		uint32_t host = shape ? shape->nodes[node].host : SHAPE_NONE;

		/* One box per host, for its first HCA. */
		if (host != SHAPE_NONE && shape->host_nodes[shape->hosts[host].first] != node)
			continue;
		boxes->all[boxes->count++] = (struct box){ order_of(boxes, node), node, host };
	}
	qsort(boxes->all, boxes->count, sizeof(*boxes->all), compare_boxes);
	boxes_arrange(boxes);
	return 0;
}

const char *boxes_name(const struct boxes *boxes, const struct box *box)
{
	if (box->host != SHAPE_NONE)
		return boxes->shape->hosts[box->host].name;
	return boxes->table->order.names[box->node];
}

static bool node_passes(const struct boxes *boxes, const struct select_marks *marks, uint32_t index, const char *name)
{
	const struct node *node = &boxes->table->snapshot->fabric->nodes[index];

	for (uint32_t i = node->first_port; i < node->first_port + node->ports; i++)
		if (filter_matches(&boxes->filter, name, marks->ports[i]))
			return true;
	return !node->ports && filter_matches(&boxes->filter, name, marks->nodes[index]);
}

static bool box_passes(const struct boxes *boxes, const struct select_marks *marks, const struct box *box)
{
	const struct shape_host *host = box->host != SHAPE_NONE ? &boxes->shape->hosts[box->host] : NULL;
	const char *name = boxes_name(boxes, box);
	bool passes = false;

	if (!marks->ports)
		return filter_matches(&boxes->filter, name, 0);
	if (!host)
		return node_passes(boxes, marks, box->node, name);
	for (uint32_t i = host->first; !passes && i < host->first + host->count; i++)
		passes = node_passes(boxes, marks, boxes->shape->host_nodes[i], name);
	return passes;
}

void boxes_arrange(struct boxes *boxes)
{
	struct select_facts facts = {
		.shape = boxes->shape, .finding_of = boxes->finding_of, .findings = boxes->findings,
	};
	struct select_marks marks = { 0 };
	bool filtered;

	boxes->row_count = 0;
	if (!boxes->table)
		return;
	facts.fabric = boxes->table->snapshot->fabric;
	facts.ports = boxes->table->ports;
	/* Without memory for the filter nothing is hidden. */
	filtered = boxes->filter.select.term_count && filter_mark(&boxes->filter, &facts, &marks, NULL) == 0;
	for (size_t i = 0; i < boxes->count; i++)
		if (!filtered || box_passes(boxes, &marks, &boxes->all[i]))
			boxes->rows[boxes->row_count++] = (uint32_t)i;
	select_marks_done(&marks);
}

size_t boxes_find(const struct boxes *boxes, uint64_t node_guid)
{
	uint32_t node, host;
	size_t i;

	if (!boxes->table)
		return boxes->count;
	node = fabric_find_node(boxes->table->snapshot->fabric, node_guid);
	if (node == FABRIC_NONE)
		return boxes->count;
	host = boxes->shape ? boxes->shape->nodes[node].host : SHAPE_NONE;
	for (i = 0; i < boxes->count; i++)
		if (boxes->all[i].node == node || (host != SHAPE_NONE && boxes->all[i].host == host))
			break;
	return i;
}

size_t boxes_row(const struct boxes *boxes, size_t box)
{
	size_t row;

	for (row = 0; row < boxes->row_count && boxes->rows[row] != box; row++)
		;
	return row;
}

/* "mlx5_0" of "node0001 mlx5_0"; the whole name if it has no device. */
static const char *device_of(const struct node *node, const char *name)
{
	char host[NODE_NAME_SIZE];
	size_t len;

	if (!host_name(node, host))
		return name;
	len = strlen(host);
	return !strncmp(name, host, len) && name[len] == ' ' ? name + len + 1 : name;
}

static void label(const struct boxes *boxes, const struct node *node, const struct port *port, uint32_t index,
		  char *ret, size_t size)
{
	const struct shape_port *place = boxes->shape ? &boxes->shape->ports[index] : NULL;
	const char *device = device_of(node, boxes->table->order.names[port->node]);

	if (node->type == NODE_SWITCH && place && place->cage && place->split)
		snprintf(ret, size, "%u.%u", place->cage, place->split);
	else if (node->type == NODE_SWITCH)
		snprintf(ret, size, "%u", port->num);
	else if (node->port_count > 1)
		snprintf(ret, size, "%.12s/%u", device, port->num);
	else
		snprintf(ret, size, "%.12s", device);
}

static size_t add_node(const struct boxes *boxes, uint32_t index, struct box_port *to)
{
	const struct fabric *fabric = boxes->table->snapshot->fabric;
	const struct node *node = &fabric->nodes[index];
	size_t count = 0;

	for (uint32_t port = node->first_port; port < node->first_port + node->ports; port++) {
		if (!fabric->ports[port].num)
			continue;
		to[count].port = port;
		label(boxes, node, &fabric->ports[port], port, to[count].label, sizeof(to[count].label));
		count++;
	}
	return count;
}

long boxes_ports(const struct boxes *boxes, const struct box *box, struct box_port **ret, struct error *err)
{
	const struct fabric *fabric = boxes->table->snapshot->fabric;
	const struct shape_host *host = box->host == SHAPE_NONE ? NULL : &boxes->shape->hosts[box->host];
	size_t room = 1, count = 0;
	uint32_t nodes = host ? host->count : 1;

	for (uint32_t i = 0; i < nodes; i++)
		room += fabric->nodes[host ? boxes->shape->host_nodes[host->first + i] : box->node].ports;
	*ret = calloc(room, sizeof(**ret));
	if (!*ret)
		return err_nomem(err);
	for (uint32_t i = 0; i < nodes; i++)
		count += add_node(boxes, host ? boxes->shape->host_nodes[host->first + i] : box->node, *ret + count);
	return (long)count;
}
