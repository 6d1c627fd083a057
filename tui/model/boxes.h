/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * boxes.h - the devices of a fabric with a front panel: switches, and hosts with all their HCAs
 *
 * Leaves first, then upper tiers, hosts, and others; by name within each class.
 */
#ifndef IBWIRE_TUI_MODEL_BOXES_H
#define IBWIRE_TUI_MODEL_BOXES_H

#include <stddef.h>
#include <stdint.h>

#include "tui/model/filter.h"

struct error;
struct finding_row;
struct shape;
struct port_table;

struct box {
	uint64_t order;
	uint32_t node; /* the switch, or the first HCA of a host */
	uint32_t host; /* index into the shape's hosts, or SHAPE_NONE */
};

struct boxes {
	const struct port_table *table; /* borrowed; NULL: empty */
	const struct shape *shape; /* borrowed; NULL: one box per node */
	struct box *all;
	size_t count;
	uint32_t *rows;            /* those matching the filter, in order */
	size_t row_count;
	struct filter filter;      /* of the name, and of the ports: a box passes if one of them does */
	const uint32_t *finding_of; /* open_findings_mark(), for the filter; NULL: unknown */
	const struct finding_row *findings; /* borrowed, as finding_of */
};

/* One port of a front panel. */
struct box_port {
	uint32_t port;
	char label[24]; /* "12", "6.2", "mlx5_0", "mlx5_0/2" */
};

/* boxes_set - build the boxes of a snapshot. Return: 0, or ERR_NOMEM: empty then. */
int boxes_set(struct boxes *boxes, const struct port_table *table, const struct shape *shape, struct error *err);
void boxes_done(struct boxes *boxes);

/* boxes_arrange - apply the filter after a change. */
void boxes_arrange(struct boxes *boxes);

/* boxes_name - name of a box (borrowed). */
const char *boxes_name(const struct boxes *boxes, const struct box *box);

/* boxes_find - the box of a node GUID, or boxes->count. boxes_row - its row, or row_count. */
size_t boxes_find(const struct boxes *boxes, uint64_t node_guid);
size_t boxes_row(const struct boxes *boxes, size_t box);

/*
 * boxes_ports - ports of a box by device and number, without port 0 of a switch
 * @ret:  array for free(); NULL if empty
 * Return: their number, or ERR_NOMEM.
 */
long boxes_ports(const struct boxes *boxes, const struct box *box, struct box_port **ret, struct error *err);

#endif
