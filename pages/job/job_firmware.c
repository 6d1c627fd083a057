/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "pages/job/job_firmware.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "export/page.h"
#include "fabric/fabric.h"
#include "fabric/names.h"
#include "pages/job_report.h"

/* Does a run use a node: an HCA of it, their leaves, and switches with uplinks of its report? By node of its fabric. */
static bool *nodes_of(const struct job_report *run, struct page *page)
{
	const struct fabric *fabric = run->fabric;
	bool *nodes = page_alloc(page, fabric->node_count + 1, sizeof(*nodes));

	for (size_t i = 0; nodes && i < run->port_count; i++) {
		const struct port *port = &fabric->ports[run->ports[i].port];

		nodes[port->node] = true;
		if (port->peer != FABRIC_NONE)
			nodes[fabric->ports[port->peer].node] = true;
	}
	for (size_t i = 0; nodes && i < run->uplink_count; i++) {
		const struct port *port = &fabric->ports[run->uplinks[i].port];

		nodes[port->node] = true;
		if (port->peer != FABRIC_NONE)
			nodes[fabric->ports[port->peer].node] = true;
	}
	return nodes;
}

/* Firmware of one kind of node: of a type, a DeviceID and a PSID. */
static bool same_kind(const struct node *a, const struct node *b)
{
	return a->firmware.source && b->firmware.source && a->type == b->type && a->device_id == b->device_id &&
	       *a->firmware.psid && !strcmp(a->firmware.psid, b->firmware.psid);
}

/* What a node had in the earlier run, if it is another version; NULL: the same, or not known. */
static const struct firmware *other_before(const struct fabric *before, const bool *used, const struct node *node)
{
	uint32_t found = fabric_find_node(before, node->guid);
	const struct firmware *other = NULL;

	if (found != FABRIC_NONE && before->nodes[found].firmware.source)
		return firmware_differs(&before->nodes[found].firmware, &node->firmware) ?
		       &before->nodes[found].firmware : NULL;
	for (size_t i = 0; i < before->node_count; i++) {
		if (!used[i] || !same_kind(&before->nodes[i], node))
			continue;
		if (firmware_same(&before->nodes[i].firmware, &node->firmware))
			return NULL;
		other = &before->nodes[i].firmware;
	}
	return other;
}

static int compare(const void *left, const void *right)
{
	const struct job_firmware *a = left, *b = right;

	if ((a->node->type == NODE_SWITCH) != (b->node->type == NODE_SWITCH))
		return a->node->type == NODE_SWITCH ? -1 : 1;
	return names_compare(a->name, b->name);
}

const struct job_firmware *job_firmware_compare(const struct job_report *before, const struct job_report *now,
						struct page *page, size_t *ret_count)
{
	struct job_firmware *list = NULL;
	const struct firmware *other;
	bool *used[2];

	*ret_count = 0;
	if (!before->fabric || !now->fabric)
		return NULL;
	used[0] = nodes_of(before, page);
	used[1] = nodes_of(now, page);
	for (size_t i = 0; used[0] && used[1] && i < now->fabric->node_count; i++) {
		const struct node *node = &now->fabric->nodes[i];

		if (!used[1][i] || !node->firmware.source || !(other = other_before(before->fabric, used[0], node)))
			continue;
		if (!list && !(list = page_alloc(page, now->fabric->node_count - i, sizeof(*list))))
			return NULL;
		list[(*ret_count)++] = (struct job_firmware){ now->fabric->names.shown[i], node, other };
	}
	if (list)
		qsort(list, *ret_count, sizeof(*list), compare);
	return list;
}
