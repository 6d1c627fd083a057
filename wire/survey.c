/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "wire/survey.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/err.h"

#define NOTES_MAX 8

void survey_done(struct survey *survey)
{
	for (size_t i = 0; i < survey->count; i++)
		free(survey->nodes[i].ports);
	free(survey->nodes);
	map_done(&survey->by_guid);
	text_done(&survey->notes);
}

void survey_note(struct survey *survey, const char *fmt, ...)
{
	char line[400];
	va_list args;

	if (survey->note_count++ >= NOTES_MAX)
		return;
	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	text_appendf(&survey->notes, "%s\n", line);
}

void survey_take_notes(const struct survey *survey, struct text *ret)
{
	text_append(ret, text_chars(&survey->notes));
	if (survey->note_count > NOTES_MAX)
		text_appendf(ret, "and %u more such lines\n", survey->note_count - NOTES_MAX);
}

static bool can_enter_by(const struct smp_node *info, const struct path *path)
{
	if (info->port > info->node.port_count)
		return false;
	/* No port leads into a switch that is the node of this host. */
	return info->port || (info->node.type == NODE_SWITCH && !path->hops);
}

/* The response is from the node that responded first with this GUID. */
static bool is_same(const struct survey_node *node, const struct smp_node *info)
{
	const struct node *known = &node->node;
	uint64_t port_guid = node->ports[info->port <= known->port_count ? info->port : 0].guid;

	return known->type == info->node.type && known->port_count == info->node.port_count &&
	       known->system_guid == info->node.system_guid && known->device_id == info->node.device_id &&
	       known->vendor_id == info->node.vendor_id && (!port_guid || port_guid == info->port_guid) &&
	       (known->type != NODE_SWITCH || node->ports[0].guid == info->port_guid);
}

static int add_node(struct survey *survey, const struct smp_node *info, const struct path *path, uint32_t request_node,
		    struct error *err)
{
	struct survey_port *ports = calloc(info->node.port_count + 1u, sizeof(*ports));
	struct survey_node *nodes = array_grow(survey->nodes, survey->count, &survey->capacity, sizeof(*nodes));

	if (nodes)
		survey->nodes = nodes;
	if (!nodes || !ports || map_put(&survey->by_guid, info->node.guid, (uint32_t)survey->count) < 0) {
		free(ports);
		return err_nomem(err);
	}
	nodes[survey->count++] = (struct survey_node){
		.node = info->node, .path = *path, .request_node = request_node, .ports = ports,
	};
	return 0;
}

int survey_add(struct survey *survey, const struct smp_node *info, const struct path *path, uint32_t request_node,
		uint32_t *ret, bool *ret_new, struct error *err)
{
	uint32_t index;

	if (!info->node.guid) {
		survey_note(survey, "a node with the GUID 0 is left out, because it has no identity; was its "
			    "flash lost?");
		return 1;
	}
	if (!can_enter_by(info, path) || info->node.type > NODE_ROUTER) {
		survey_note(survey, "node 0x%016" PRIx64 " is left out: invalid NodeInfo (local port %u of %u, "
			    "node type %u)", info->node.guid, info->port, info->node.port_count, info->node.type);
		return 1;
	}
	*ret_new = !map_get(&survey->by_guid, info->node.guid, &index);
	if (*ret_new) {
		index = (uint32_t)survey->count;
		if (add_node(survey, info, path, request_node, err) < 0)
			return ERR_NOMEM;
	} else if (!is_same(&survey->nodes[index], info)) {
		survey_note(survey, "two nodes have the GUID 0x%016" PRIx64 ": the first one is kept",
			    info->node.guid);
		survey->nodes[index].doubtful = true;
		return 1;
	}
	survey->nodes[index].ports[info->node.type == NODE_SWITCH ? 0 : info->port].guid = info->port_guid;
	*ret = index;
	return 0;
}

static struct survey_port *port_at(const struct survey *survey, uint32_t node, uint8_t num)
{
	return &survey->nodes[node].ports[num];
}

static bool leads_to(const struct survey_port *port, uint32_t node, uint8_t num)
{
	return port->linked && port->peer_node == node && port->peer_port == num;
}

static void cut(struct survey *survey, struct survey_port *port)
{
	struct survey_port *peer = port_at(survey, port->peer_node, port->peer_port);

	port->linked = port->own = false;
	peer->linked = peer->own = false;
}

/*
 * A link contradicts another one. The near port was queried itself, so links seen from other ports
 * are replaced. The link of the far port stays until it is queried itself, which continues here
 * from its side; an HCA cannot be queried.
 * Return: whether the link can be stored now.
 */
static bool contradict(struct survey *survey, uint32_t node, uint8_t num, uint32_t found, uint8_t far_num)
{
	struct survey_port *near = port_at(survey, node, num), *far = port_at(survey, found, far_num);

	survey_note(survey, "0x%016" PRIx64 " port %u and 0x%016" PRIx64 " port %u: one of them has two peers: two "
		    "nodes have one GUID, or a cable was moved; the first link is kept",
		    survey->nodes[node].node.guid, num, survey->nodes[found].node.guid, far_num);
	survey->nodes[node].doubtful = survey->nodes[found].doubtful = true;
	if ((near->linked && near->own) || far->linked)
		return false;
	cut(survey, near);
	return true;
}

bool survey_link(struct survey *survey, uint32_t node, uint8_t num, uint32_t found, uint8_t far_num, bool first)
{
	struct survey_port *near = port_at(survey, node, num), *far = port_at(survey, found, far_num);
	bool fits = leads_to(near, found, far_num) || (!near->linked && !far->linked);

	if (!fits && !contradict(survey, node, num, found, far_num))
		return false;
	near->linked = far->linked = true;
	near->peer_node = found;
	near->peer_port = far_num;
	far->peer_node = node;
	far->peer_port = num;
	near->own = true;
	far->own |= first;
	return fits;
}

const uint8_t *survey_caps(const struct survey_node *node, uint8_t num)
{
	return node->ports[node->node.type == NODE_SWITCH && node->ports[0].known ? 0 : num].info;
}

void survey_read_port(const struct survey_node *node, uint8_t num, struct port *ret)
{
	const struct survey_port *from = &node->ports[num];

	*ret = (struct port){ .num = num };
	smp_read_port(from->info, survey_caps(node, num), from->extended, ret);
	if (node->node.type == NODE_SWITCH && num)
		return;
	ret->guid = from->guid;
	ret->lid = smp_read_base_lid(from->info);
	ret->lmc = smp_read_lmc(from->info);
}

int survey_add_to(const struct survey_node *from, struct fabric *fabric, struct error *err)
{
	bool is_switch = from->node.type == NODE_SWITCH;
	struct node node = from->node;
	int64_t code;

	if (is_switch)
		node.lid = smp_read_base_lid(from->ports[0].info);
	code = fabric_add_node(fabric, &node, err);
	for (unsigned num = is_switch ? 0 : 1; num <= node.port_count && code >= 0; num++) {
		struct port port;

		if (!from->ports[num].known && !from->ports[num].linked)
			continue;
		survey_read_port(from, (uint8_t)num, &port);
		code = fabric_add_port(fabric, &port, err);
	}
	return code < 0 ? (int)code : 0;
}

static int add_links(struct fabric *fabric, const struct survey *survey, struct error *err)
{
	int code = 0;

	for (size_t i = 0; i < survey->count; i++) {
		const struct survey_node *node = &survey->nodes[i];

		for (unsigned num = 1; num <= node->node.port_count && code == 0; num++) {
			const struct survey_port *port = &node->ports[num];

			if (port->linked)
				code = fabric_link(fabric, fabric_node_port(fabric, (uint32_t)i, (uint8_t)num),
						   fabric_node_port(fabric, port->peer_node, port->peer_port), err);
		}
	}
	return code;
}

int survey_finish(const struct survey *survey, struct fabric **ret, struct error *err)
{
	struct fabric *fabric = fabric_create(err);
	int code = fabric ? 0 : ERR_NOMEM;

	for (size_t i = 0; i < survey->count && code >= 0; i++)
		code = survey_add_to(&survey->nodes[i], fabric, err);
	if (code >= 0)
		code = add_links(fabric, survey, err);
	if (code >= 0 && survey->count) {
		fabric->from_node = 0;
		fabric->from_port = survey->from_port;
	}
	if (code >= 0)
		code = fabric_finish(fabric, NULL, err);
	if (code < 0) {
		fabric_destroy(fabric);
		return code;
	}
	*ret = fabric;
	return 0;
}
