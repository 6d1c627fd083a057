/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * boxes.h - the boxes of a fabric, each with its ports: a switch, or a host with all its HCAs
 *
 * Leafs first, then what stands above them, hosts, and what is neither; by name among
 * themselves. No curses here.
 */
#ifndef IBWIRE_TUI_MODEL_BOXES_H
#define IBWIRE_TUI_MODEL_BOXES_H

#include <stddef.h>
#include <stdint.h>

#include "tui/model/filter.h"

struct error;
struct shape;
struct port_table;

struct box {
	uint64_t order;
	uint32_t node; /* the switch; of a host its first HCA */
	uint32_t host; /* index into the shape's hosts, or SHAPE_NONE */
};

struct boxes {
	const struct port_table *table; /* borrowed; NULL: empty */
	const struct shape *shape; /* borrowed; NULL: each node is a box of its own */
	struct box *all;
	size_t count;
	uint32_t *rows;            /* of those whose names pass the filter, in order */
	size_t row_count;
	struct filter filter;
};

/* One port on the front of a box. */
struct box_port {
	uint32_t port;
	char label[24]; /* "12", "6.2", "mlx5_0", "mlx5_0/2" */
};

/* boxes_set - those of what is shown now. Return: 0, or ERR_NOMEM: there are none then. */
int boxes_set(struct boxes *boxes, const struct port_table *table, const struct shape *shape, struct error *err);
void boxes_done(struct boxes *boxes);

/* boxes_arrange - apply the filter after it was changed. */
void boxes_arrange(struct boxes *boxes);

/* boxes_name - of a box (borrowed). */
const char *boxes_name(const struct boxes *boxes, const struct box *box);

/* boxes_find - the box of a node by GUID; boxes->count where there is none. boxes_row - its row, or row_count. */
size_t boxes_find(const struct boxes *boxes, uint64_t node_guid);
size_t boxes_row(const struct boxes *boxes, size_t box);

/*
 * boxes_ports - the ports of a box, in order of device and number; a switch's port 0 is not on its front
 * @ret:  one after the other; free() it. NULL where there is none
 * Return: how many; below 0: ERR_NOMEM.
 */
long boxes_ports(const struct boxes *boxes, const struct box *box, struct box_port **ret, struct error *err);

#endif
