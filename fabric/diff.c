/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/diff.h"

#include <stdbool.h>
#include <string.h>

#include "fabric/fabric.h"

struct differ {
	const struct fabric *before, *after;
	fabric_diff_report *report;
	void *ctx;
	uint64_t changes;
};

static void tell(struct differ *differ, enum fabric_change change, uint32_t before, uint32_t after)
{
	differ->report(differ->ctx, change, before, after);
	differ->changes++;
}

/* Two peers are the same port, by GUID and number. */
static bool same_peer(const struct differ *differ, const struct port *before, const struct port *after)
{
	const struct port *old_peer, *new_peer;

	if (before->peer == FABRIC_NONE || after->peer == FABRIC_NONE)
		return before->peer == after->peer;
	old_peer = &differ->before->ports[before->peer];
	new_peer = &differ->after->ports[after->peer];
	return old_peer->num == new_peer->num &&
	       differ->before->nodes[old_peer->node].guid == differ->after->nodes[new_peer->node].guid;
}

/*
 * Only one of two peers exists: check that its node is in both fabrics. If not, the cable did not
 * move; the node was added or removed, which is reported separately.
 */
static bool knows_both_peers(const struct differ *differ, const struct port *before, const struct port *after)
{
	const struct fabric *has = before->peer == FABRIC_NONE ? differ->after : differ->before;
	const struct fabric *other = before->peer == FABRIC_NONE ? differ->before : differ->after;
	uint32_t peer = before->peer == FABRIC_NONE ? after->peer : before->peer;

	return fabric_find_node(other, has->nodes[has->ports[peer].node].guid) != FABRIC_NONE;
}

/*
 * State and rate of a link change at both ends; only the end with the lower index is reported. The
 * ends of a link that went down are only in @before.
 */
static bool tells_for_link(const struct differ *differ, const struct port *before, const struct port *after,
			   uint32_t index)
{
	uint32_t peer = after->peer, peer_before = before->peer;
	const struct port *was;

	if (peer == FABRIC_NONE && peer_before != FABRIC_NONE) {
		was = &differ->before->ports[peer_before];
		peer = fabric_find_port(differ->after, differ->before->nodes[was->node].guid, was->num);
		if (peer != FABRIC_NONE && differ->after->ports[peer].state == was->state)
			return true;
	}
	return peer == FABRIC_NONE || peer > index;
}

static void diff_port(struct differ *differ, uint32_t old_index, uint32_t new_index)
{
	const struct port *before = &differ->before->ports[old_index];
	const struct port *after = &differ->after->ports[new_index];

	if (before->state != after->state && tells_for_link(differ, before, after, new_index))
		tell(differ, CHANGE_PORT_STATE, old_index, new_index);
	/* A removed cable is reported as a port that went down, a moved cable here. */
	if (!same_peer(differ, before, after) && after->peer != FABRIC_NONE && before->peer != FABRIC_NONE &&
	    tells_for_link(differ, before, after, new_index))
		tell(differ, CHANGE_PORT_PEER, old_index, new_index);
	else if (!same_peer(differ, before, after) && before->state == after->state &&
		 knows_both_peers(differ, before, after))
		tell(differ, CHANGE_PORT_PEER, old_index, new_index);
	/* Port 0 of a switch has no link; what it reports of one may be that of any port. */
	if (after->num && (before->speed != after->speed || before->width != after->width) &&
	    before->state >= PORT_INIT && after->state >= PORT_INIT &&
	    tells_for_link(differ, before, after, new_index))
		tell(differ, CHANGE_PORT_RATE, old_index, new_index);
	/* LID 0: the subnet manager has not assigned one yet. */
	if (differ->after->nodes[after->node].type != NODE_SWITCH && before->lid != after->lid && before->lid &&
	    after->lid)
		tell(differ, CHANGE_PORT_LID, old_index, new_index);
}

static void diff_node(struct differ *differ, uint32_t old_index, uint32_t new_index)
{
	const struct node *before = &differ->before->nodes[old_index];
	const struct node *after = &differ->after->nodes[new_index];

	if (strcmp(before->name, after->name))
		tell(differ, CHANGE_NODE_NAME, old_index, new_index);
	if (before->lid != after->lid)
		tell(differ, CHANGE_NODE_LID, old_index, new_index);
	for (uint32_t i = 0; i < after->ports; i++) {
		uint32_t index = after->first_port + i;
		uint32_t was = fabric_node_port(differ->before, old_index, differ->after->ports[index].num);

		if (was != FABRIC_NONE)
			diff_port(differ, was, index);
	}
}

uint64_t fabric_diff(const struct fabric *before, const struct fabric *after, fabric_diff_report *report, void *ctx)
{
	struct differ differ = { before, after, report, ctx, 0 };

	for (uint32_t i = 0; i < before->node_count; i++)
		if (fabric_find_node(after, before->nodes[i].guid) == FABRIC_NONE)
			tell(&differ, CHANGE_NODE_REMOVED, i, FABRIC_NONE);
	for (uint32_t i = 0; i < after->node_count; i++) {
		uint32_t was = fabric_find_node(before, after->nodes[i].guid);

		if (was == FABRIC_NONE)
			tell(&differ, CHANGE_NODE_ADDED, FABRIC_NONE, i);
		else
			diff_node(&differ, was, i);
	}
	return differ.changes;
}
