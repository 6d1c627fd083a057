/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* diff.h - changes between two states of one fabric */
#ifndef IBWIRE_FABRIC_DIFF_H
#define IBWIRE_FABRIC_DIFF_H

#include <stdint.h>

struct fabric;

enum fabric_change {
	CHANGE_NODE_ADDED,
	CHANGE_NODE_REMOVED,
	CHANGE_NODE_NAME,
	CHANGE_NODE_LID,
	CHANGE_PORT_STATE,  /* up, down or in between */
	CHANGE_PORT_PEER,   /* cabled elsewhere; ports that just went down have CHANGE_PORT_STATE */
	CHANGE_PORT_RATE,   /* active width or speed */
	CHANGE_PORT_LID,    /* of an HCA's or router's port; a switch's is CHANGE_NODE_LID */
	CHANGE_COUNT,
};

/*
 * fabric_diff - report each change from @before to @after
 * @before_index, @after_index: index of the node (CHANGE_NODE_*) or port (CHANGE_PORT_*) in the
 *                              fabric of that side; FABRIC_NONE: not in it
 *
 * Nodes and ports are matched by GUID and port number. A change of a link is reported once, at the
 * end with the lower index in @after. Ports of added or removed nodes are not reported; state
 * changes of their peers are, but not the change of the peer itself.
 * Return: number of changes.
 */
typedef void fabric_diff_report(void *ctx, enum fabric_change change, uint32_t before_index, uint32_t after_index);
uint64_t fabric_diff(const struct fabric *before, const struct fabric *after, fabric_diff_report *report, void *ctx);

#endif
