/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * topology_diff.c - `ibwire topology diff`: nodes and links against a saved file
 *
 * By GUID and port number. Names and LIDs are not compared: they change without recabling. Firmware is, if the
 * file has it.
 */
#include <stdio.h>

#include "base/err.h"
#include "facts/cells.h"
#include "cli/topology/topology.h"
#include "export/result.h"
#include "fabric/fabric.h"

enum { CHANGE, NODE_PORT, PEER_PORT, NODE, GUID, PORT, PEER, PEER_GUID, PEER_NUM, WAS, NOW, COLUMN_COUNT };

static const struct column columns[COLUMN_COUNT] = {
	[CHANGE] = { .key = "change", .title = "CHANGE", .kind = COLUMN_TEXT },
	[NODE_PORT] = { .title = "NODE OR PORT", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL },
	[PEER_PORT] = { .title = "PEER", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL },
	[NODE] = { .key = "node", .kind = COLUMN_TEXT },
	[GUID] = { .key = "node_guid", .kind = COLUMN_GUID },
	[PORT] = { .key = "port", .kind = COLUMN_INTEGER },
	[PEER] = { .key = "peer", .kind = COLUMN_TEXT },
	[PEER_GUID] = { .key = "peer_guid", .kind = COLUMN_GUID },
	[PEER_NUM] = { .key = "peer_port", .kind = COLUMN_INTEGER },
	[WAS] = { .key = "was", .title = "WAS", .kind = COLUMN_TEXT },
	[NOW] = { .key = "now", .title = "NOW", .kind = COLUMN_TEXT },
};

struct differ {
	struct result *result;
	size_t changes;
};

static const char *rate_text(const struct port *port, char ret[24])
{
	if (!link_width_lanes(port->width) || port->speed == LINK_SPEED_NONE)
		return NULL;
	snprintf(ret, 24, "%ux %s", link_width_lanes(port->width), link_speed_name((enum link_speed)port->speed));
	return ret;
}

static void fill_end(struct result *result, const struct fabric *fabric, uint32_t node, const struct port *port,
		     bool peer)
{
	cells_displayed_name(result, peer ? PEER_PORT : NODE_PORT, fabric, fabric->nodes[node].name,
			     port ? port->num : -1);
	result_text(result, peer ? PEER : NODE, fabric->nodes[node].name);
	result_unsigned(result, peer ? PEER_GUID : GUID, fabric->nodes[node].guid);
	if (port)
		result_integer(result, peer ? PEER_NUM : PORT, port->num);
}

static void put_rate(struct result *result, size_t column, const struct port *port)
{
	char text[24];

	if (port)
		result_text(result, column, rate_text(port, text));
	else
		result_show(result, column, "", STYLE_PLAIN);
}

/* A node, or a link if @port is not NULL, with its rates. */
static void put_change(struct differ *differ, const char *change, const struct fabric *fabric, uint32_t node,
		       const struct port *port, const struct port *was, const struct port *now)
{
	result_text(differ->result, CHANGE, change);
	fill_end(differ->result, fabric, node, port, false);
	if (port)
		fill_end(differ->result, fabric, fabric->ports[port->peer].node, &fabric->ports[port->peer], true);
	else
		result_show(differ->result, PEER_PORT, "", STYLE_PLAIN);
	put_rate(differ->result, WAS, was);
	put_rate(differ->result, NOW, now);
	result_end_row(differ->result);
	differ->changes++;
}

static void put_link(struct differ *differ, const char *change, const struct fabric *fabric, uint32_t index,
		     const struct port *was, const struct port *now)
{
	const struct port *port = &fabric->ports[index];

	put_change(differ, change, fabric, port->node, port, was, now);
}

static void put_nodes(struct differ *differ, const char *change, const struct fabric *from, const struct fabric *in)
{
	for (uint32_t i = 0; i < from->node_count; i++)
		if (fabric_find_node(in, from->nodes[i].guid) == FABRIC_NONE)
			put_change(differ, change, from, i, NULL, NULL, NULL);
}

/* The same port of the other fabric if it has the same peer; else NULL. */
static const struct port *same_link(const struct fabric *from, uint32_t index, const struct fabric *in)
{
	const struct port *port = &from->ports[index], *peer = &from->ports[port->peer], *other;
	uint32_t found = fabric_find_port(in, from->nodes[port->node].guid, port->num);

	if (found == FABRIC_NONE || !fabric_is_linked(in, found))
		return NULL;
	other = &in->ports[in->ports[found].peer];
	if (other->num != peer->num || in->nodes[other->node].guid != from->nodes[peer->node].guid)
		return NULL;
	return &in->ports[found];
}

static bool same_rate(const struct port *a, const struct port *b)
{
	/* A value unknown on one side is not a difference. */
	if (a->speed == LINK_SPEED_NONE || b->speed == LINK_SPEED_NONE || !a->width || !b->width)
		return true;
	return a->speed == b->speed && a->width == b->width;
}

/* Nodes of both with a firmware that is known and not the same. */
static void put_firmware(struct differ *differ, const struct fabric *before, const struct fabric *after)
{
	for (uint32_t i = 0; i < after->node_count; i++) {
		uint32_t found = fabric_find_node(before, after->nodes[i].guid);
		const struct firmware *now = &after->nodes[i].firmware, *was;
		char version[FIRMWARE_TEXT_SIZE];

		was = found == FABRIC_NONE ? NULL : &before->nodes[found].firmware;
		if (!was || !firmware_differs(was, now))
			continue;
		result_text(differ->result, CHANGE, "firmware-changed");
		fill_end(differ->result, after, i, NULL, false);
		result_show(differ->result, PEER_PORT, "", STYLE_PLAIN);
		result_text(differ->result, WAS, firmware_format(was, version));
		result_text(differ->result, NOW, firmware_format(now, version));
		result_end_row(differ->result);
		differ->changes++;
	}
}

static void put_links(struct differ *differ, const struct fabric *before, const struct fabric *after)
{
	for (uint32_t i = 0; i < before->port_count; i++)
		if (fabric_is_linked(before, i) && i < before->ports[i].peer && !same_link(before, i, after))
			put_link(differ, "link-removed", before, i, &before->ports[i], NULL);
	for (uint32_t i = 0; i < after->port_count; i++) {
		const struct port *port = &after->ports[i], *was;

		if (!fabric_is_linked(after, i) || i > port->peer)
			continue;
		was = same_link(after, i, before);
		if (!was)
			put_link(differ, "link-added", after, i, NULL, port);
		else if (!same_rate(was, port))
			put_link(differ, "rate-changed", after, i, was, port);
	}
}

int topology_diff(const struct topology_options *options, const struct topology *topology, const char *path,
		  struct error *err)
{
	const struct name_map *names = topology->names ? topology->names : topology->moment.names;
	struct differ differ = { 0 };
	struct fabric *before;
	int code = topology_read_file(path, names, &before, err);

	if (code < 0)
		return code;
	differ.result = output_begin(&options->common, false, columns, COLUMN_COUNT);
	put_nodes(&differ, "node-removed", before, topology->fabric);
	put_nodes(&differ, "node-added", topology->fabric, before);
	put_links(&differ, before, topology->fabric);
	put_firmware(&differ, before, topology->fabric);
	result_none(differ.result, "no difference");
	code = output_end(differ.result, 0, err);
	fabric_destroy(before);
	return code < 0 ? code : differ.changes > 0;
}
