/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/keep.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/err.h"
#include "fabric/fabric.h"

/*
 * The former peer of a port still exists: a port of @found with a link and no peer, or a port of a
 * node that is kept.
 */
static bool is_held(const struct fabric *before, const struct fabric *found, const bool *kept, const struct port *port)
{
	const struct port *peer;
	uint32_t now;

	if (port->peer == FABRIC_NONE)
		return false;
	peer = &before->ports[port->peer];
	if (kept[peer->node])
		return true;
	now = fabric_find_port(found, before->nodes[peer->node].guid, peer->num);
	return now != FABRIC_NONE && found->ports[now].state >= PORT_INIT && found->ports[now].peer == FABRIC_NONE;
}

/*
 * Mark nodes to keep. Nodes behind a switch that is kept are kept, too, so this takes several
 * rounds.
 */
static int mark(const struct fabric *before, const struct fabric *found, bool *kept)
{
	bool more = true;
	int count = 0;

	while (more) {
		more = false;
		for (uint32_t i = 0; i < before->node_count; i++) {
			const struct node *node = &before->nodes[i];

			if (kept[i] || fabric_find_node(found, node->guid) != FABRIC_NONE)
				continue;
			for (uint32_t p = node->first_port; p < node->first_port + node->ports && !kept[i]; p++)
				kept[i] = is_held(before, found, kept, &before->ports[p]);
			more |= kept[i];
			count += kept[i];
		}
	}
	return count;
}

static int add_node(struct fabric *to, const struct fabric *from, uint32_t index, bool kept, struct error *err)
{
	struct node node = from->nodes[index];
	int64_t code;

	node.kept |= kept;
	code = fabric_add_node(to, &node, err);
	for (uint32_t p = node.first_port; p < node.first_port + node.ports && code >= 0; p++)
		code = fabric_add_port(to, &from->ports[p], err);
	return code < 0 ? (int)code : 0;
}

/* Links of @from between ports that exist in @to and have no peer there. */
static int add_links(struct fabric *to, const struct fabric *from, struct error *err)
{
	int code = 0;

	for (uint32_t p = 0; p < from->port_count && code == 0; p++) {
		const struct port *port = &from->ports[p], *peer;
		uint32_t here, there;

		if (port->peer == FABRIC_NONE || port->peer < p)
			continue;
		peer = &from->ports[port->peer];
		here = fabric_find_port(to, from->nodes[port->node].guid, port->num);
		there = fabric_find_port(to, from->nodes[peer->node].guid, peer->num);
		if (here != FABRIC_NONE && there != FABRIC_NONE && to->ports[here].peer == FABRIC_NONE &&
		    to->ports[there].peer == FABRIC_NONE && to->ports[here].state >= PORT_INIT &&
		    to->ports[there].state >= PORT_INIT)
			code = fabric_link(to, here, there, err);
	}
	return code;
}

static int build(const struct fabric *before, const struct fabric *found, const bool *kept, struct fabric *to,
		 struct error *err)
{
	int code = 0;

	for (uint32_t i = 0; i < found->node_count && code == 0; i++)
		code = add_node(to, found, i, false, err);
	for (uint32_t i = 0; i < before->node_count && code == 0; i++)
		if (kept[i])
			code = add_node(to, before, i, true, err);
	/* New links take precedence: a cable may have been moved. */
	if (code == 0)
		code = add_links(to, found, err);
	if (code == 0)
		code = add_links(to, before, err);
	if (code == 0)
		code = fabric_finish(to, NULL, err);
	if (code == 0 && found->from_node != FABRIC_NONE) {
		to->from_node = fabric_find_node(to, found->nodes[found->from_node].guid);
		to->from_port = found->from_port;
	}
	return code;
}

int fabric_keep_silent(const struct fabric *before, const struct fabric *found, struct fabric **ret,
		       struct error *err)
{
	bool *kept = calloc(before->node_count + 1, sizeof(*kept));
	struct fabric *to = NULL;
	int count, code;

	if (!kept)
		return err_nomem(err);
	count = mark(before, found, kept);
	if (count) {
		to = fabric_create(err);
		code = to ? build(before, found, kept, to, err) : ERR_NOMEM;
		if (code == 0) {
			*ret = to;
		} else {
			fabric_destroy(to);
			count = code;
		}
	}
	free(kept);
	return count;
}

static int compare_guids(const void *a, const void *b, void *ctx)
{
	const struct node *nodes = ctx;
	uint64_t left = nodes[*(const uint32_t *)a].guid, right = nodes[*(const uint32_t *)b].guid;

	return (left > right) - (left < right);
}

int fabric_sort(struct fabric **fabric, const struct name_map *map, struct error *err)
{
	const struct fabric *from = *fabric;
	uint32_t *order = calloc(from->node_count + 1, sizeof(*order));
	struct fabric *to = order ? fabric_create(NULL) : NULL;
	int code = to ? 0 : err_nomem(err);

	for (uint32_t i = 0; code == 0 && i < from->node_count; i++)
		order[i] = i;
	if (code == 0)
		qsort_r(order, from->node_count, sizeof(*order), compare_guids, from->nodes);
	for (uint32_t i = 0; code == 0 && i < from->node_count; i++)
		code = add_node(to, from, order[i], false, err);
	if (code == 0)
		code = add_links(to, from, err);
	if (code == 0)
		code = fabric_finish(to, map, err);
	fabric_destroy(code == 0 ? *fabric : to);
	if (code == 0)
		*fabric = to;
	free(order);
	return code;
}
