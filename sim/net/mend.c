/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sim/net/mend.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "base/text.h"
#include "fabric/fabric.h"

/* The last unicast LID. Source: IBA Vol 1, 4.1.3 (LIDs above it are multicast). */
#define MAX_UNICAST_LID 0xbfff

static void limit_lid(uint16_t *lid, struct mend_notes *notes)
{
	notes->lids_dropped += *lid > MAX_UNICAST_LID;
	*lid = *lid > MAX_UNICAST_LID ? 0 : *lid;
}

/* ibsim reads a description up to the next quote, and an empty one becomes the node's id. */
static void mend_node(struct node *node, struct mend_notes *notes)
{
	bool changed = !*node->desc;
	char *c;

	for (c = node->desc; *c; c++) {
		if (*c != '"' && (unsigned char)*c >= ' ' && *c != 0x7f)
			continue;
		*c = *c == '"' ? '\'' : ' ';
		changed = true;
	}
	if (!*node->desc)
		strcpy(node->desc, " ");
	notes->descs_changed += changed;
	if (!node->system_guid)
		node->system_guid = node->guid;
	if (node->port_count > MEND_MAX_PORTS)
		node->port_count = MEND_MAX_PORTS;
	limit_lid(&node->lid, notes);
}

static void cut_link(struct port *port, struct port *peer, struct mend_notes *notes)
{
	port->peer = peer->peer = FABRIC_NONE;
	port->state = peer->state = PORT_DOWN;
	port->phys_state = peer->phys_state = PHYS_POLLING;
	notes->ports_cut++;
}

/* The rate that both ends and ibsim support. */
static void mend_rate(struct port *port, struct port *peer, struct mend_notes *notes)
{
	unsigned lanes = link_width_lanes(port->width), peer_lanes = link_width_lanes(peer->width);
	uint8_t speed = port->speed < peer->speed ? port->speed : peer->speed;

	lanes = peer_lanes < lanes ? peer_lanes : lanes;
	notes->speeds_unknown += speed == LINK_SPEED_NONE || !lanes;
	notes->speeds_lowered += speed > LINK_SPEED_HDR;
	port->speed = peer->speed = speed == LINK_SPEED_NONE ? LINK_SPEED_SDR
							     : speed > LINK_SPEED_HDR ? LINK_SPEED_HDR : speed;
	port->width = peer->width = link_width_code(lanes ? lanes : 4);
}

/* Count duplicates among the port GUIDs of ibsim; incomplete if out of memory. */
static size_t count_guid_clashes(const struct fabric *fabric)
{
	struct map guids = { 0 };
	size_t clashes = 0;
	uint32_t other;

	for (size_t i = 0; i < fabric->port_count; i++) {
		const struct port *port = &fabric->ports[i];

		if (fabric->nodes[port->node].type == NODE_SWITCH || port->peer == FABRIC_NONE)
			continue;
		if (map_get(&guids, port->guid, &other))
			clashes++;
		else if (map_put(&guids, port->guid, 1) < 0)
			break;
	}
	map_done(&guids);
	return clashes;
}

void mend_fabric(struct fabric *fabric, struct mend_notes *notes)
{
	for (uint32_t i = 0; i < fabric->node_count; i++)
		mend_node(&fabric->nodes[i], notes);
	for (uint32_t i = 0; i < fabric->port_count; i++) {
		struct port *port = &fabric->ports[i], *peer;

		limit_lid(&port->lid, notes);
		port->lmc = 0;
		/* The port GUIDs of ibsim. */
		if (fabric->nodes[port->node].type != NODE_SWITCH)
			port->guid = fabric->nodes[port->node].guid + port->num;
		if (port->peer == FABRIC_NONE || port->peer < i)
			continue;
		peer = &fabric->ports[port->peer];
		if (!port->num || !peer->num || port->num > MEND_MAX_PORTS || peer->num > MEND_MAX_PORTS)
			cut_link(port, peer, notes);
		else
			mend_rate(port, peer, notes);
	}
	notes->port_guids_clash = count_guid_clashes(fabric);
}

void mend_write(struct text *text, const struct fabric *fabric)
{
	if (fabric->from_node < fabric->node_count)
		text_appendf(text, "# Initiated from node %016" PRIx64 " port %016" PRIx64 "\n",
			     fabric->nodes[fabric->from_node].guid, fabric->nodes[fabric->from_node].guid + 1);
	netfile_write(text, fabric);
}

/* "# Initiated from node 0002c9030004e938 port ...", which ibnetdiscover writes at the top. */
static uint32_t find_from_node(const struct fabric *fabric, const char *chars, size_t len)
{
	static const char prefix[] = "# Initiated from node ";
	const char *found = memmem(chars, len, prefix, sizeof(prefix) - 1);
	char digits[17] = "";
	size_t left;

	if (!found)
		return FABRIC_NONE;
	found += sizeof(prefix) - 1;
	left = len - (size_t)(found - chars);
	memcpy(digits, found, left < 16 ? left : 16);
	return fabric_find_node(fabric, strtoull(digits, NULL, 16));
}

int mend(const char *chars, size_t len, struct text *net, struct fabric **ret, struct mend_notes *ret_notes,
	 struct error *err)
{
	struct mend_notes notes = { 0 };
	struct fabric *fabric;
	int code = netfile_read(chars, len, NULL, &fabric, &notes.read, err);

	if (code < 0)
		return code;
	fabric->from_node = find_from_node(fabric, chars, len);
	mend_fabric(fabric, &notes);
	mend_write(net, fabric);
	if (text_failed(net)) {
		fabric_destroy(fabric);
		return err_nomem(err);
	}
	*ret = fabric;
	*ret_notes = notes;
	return 0;
}

void mend_describe(const struct mend_notes *notes, netfile_print *print, void *ctx)
{
	const struct netfile_note kinds[] = {
		{ { .lines = notes->speeds_lowered }, "link faster than HDR, the maximum of ibsim 0.10: set to HDR",
		  "links faster than HDR, the maximum of ibsim 0.10: set to HDR" },
		{ { .lines = notes->speeds_unknown }, "link of unknown speed or width: set to SDR or 4x",
		  "links of unknown speed or width: set to SDR or 4x" },
		{ { .lines = notes->descs_changed }, "NodeDescription that ibsim cannot represent: modified",
		  "NodeDescriptions that ibsim cannot represent: modified" },
		{ { .lines = notes->ports_cut }, "link of a port above 254, the maximum of ibsim: omitted",
		  "links of ports above 254, the maximum of ibsim: omitted" },
		{ { .lines = notes->lids_dropped }, "LID outside the unicast range: opensm assigns it",
		  "LIDs outside the unicast range: opensm assigns them" },
		{ { .lines = notes->port_guids_clash },
		  "port whose GUID in ibsim (node GUID plus port) is a duplicate: opensm may report it",
		  "ports whose GUIDs in ibsim (node GUID plus port) are duplicates: opensm may report them" },
	};
	struct netfile_notes read = notes->read;

	read.rates_unknown.lines = 0; /* speeds_unknown has them */
	netfile_describe(&read, print, ctx);
	netfile_describe_counts(kinds, sizeof(kinds) / sizeof(kinds[0]), print, ctx);
}
