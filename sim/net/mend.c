/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sim/net/mend.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "base/text.h"
#include "fabric/fabric.h"

/* The last unicast LID. Source: IBA Vol 1, 4.1.3 (LIDs above it are multicast). */
#define MAX_UNICAST_LID 0xbfff

static bool peer_is_written(const struct fabric *fabric, const struct port *port)
{
	return port->num > 0 && port->num <= MEND_MAX_PORTS && port->peer != FABRIC_NONE &&
	       fabric->ports[port->peer].num <= MEND_MAX_PORTS;
}

static uint16_t writable_lid(uint16_t lid, struct mend_write_notes *notes)
{
	if (lid <= MAX_UNICAST_LID)
		return lid;
	notes->lids_dropped++;
	return 0;
}

/* Does this contain what ibsim takes for the end of a description without quotes? */
static bool ends_plain_desc(const char *desc)
{
	static const char *const ends[] = { " enhanced port ", " base port ", " lid ", " lmc " };
	size_t i;

	for (i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (strstr(desc, ends[i]))
			return true;
	return false;
}

/*
 * ibsim reads a quoted description up to the next quote, so a description that contains one is written
 * without quotes. If that would be misread too, its quotes become apostrophes. An empty description would
 * become the node's id, so a space is written.
 */
static void write_desc(struct text *text, const struct node *node, struct mend_write_notes *notes)
{
	char desc[NODE_DESC_SIZE + 1];
	char *c;

	memcpy(desc, node->desc, sizeof(desc));
	desc[NODE_DESC_SIZE] = '\0';
	if (!desc[0]) {
		notes->descs_changed++;
		text_append(text, "\" \"");
		return;
	}
	for (c = desc; *c; c++) {
		if (*c != '\n' && *c != '\r')
			continue;
		*c = ' ';
		notes->descs_changed++;
	}
	if (!strchr(desc, '"')) {
		text_appendf(text, "\"%s\"", desc);
	} else if (desc[0] != '"' && !isspace((unsigned char)desc[0]) && !ends_plain_desc(desc)) {
		text_append(text, desc);
	} else {
		notes->descs_changed++;
		for (c = desc; (c = strchr(c, '"'));)
			*c = '\'';
		text_appendf(text, "\"%s\"", desc);
	}
}

/* In the comment of a port, ibsim takes "x=1" for an option. */
static void write_peer_desc(struct text *text, const struct node *node)
{
	char desc[NODE_DESC_SIZE + 1];
	char *c;

	memcpy(desc, node->desc, sizeof(desc));
	desc[NODE_DESC_SIZE] = '\0';
	for (c = desc; *c; c++)
		if (*c == '=' || *c == '"' || (unsigned char)*c < 0x20)
			*c = '_';
	text_appendf(text, "\"%s\"", desc);
}

static void write_id(struct text *text, const struct node *node)
{
	static const char letters[] = { [NODE_CA] = 'H', [NODE_SWITCH] = 'S', [NODE_ROUTER] = 'R' };
	char letter = node->type <= NODE_ROUTER && node->type >= NODE_CA ? letters[node->type] : 'H';

	text_appendf(text, "\"%c-%016" PRIx64 "\"", letter, node->guid);
}

/* " 4xHDR": the rate that both ends and ibsim support. Modifications are counted once per link. */
static void write_rate(struct text *text, const struct fabric *fabric, uint32_t index, struct mend_write_notes *notes)
{
	const struct port *port = &fabric->ports[index], *peer = &fabric->ports[port->peer];
	unsigned lanes = link_width_lanes(port->width), peer_lanes = link_width_lanes(peer->width);
	enum link_speed speed = port->speed < peer->speed ? port->speed : peer->speed;
	size_t once = index < port->peer ? 1 : 0;

	if (port->speed != peer->speed || lanes != peer_lanes)
		notes->ends_differed += once;
	lanes = peer_lanes < lanes ? peer_lanes : lanes;
	if (speed == LINK_SPEED_NONE || !lanes)
		notes->speeds_unknown += once;
	if (speed == LINK_SPEED_NONE)
		speed = LINK_SPEED_SDR;
	if (!lanes)
		lanes = 4;
	if (speed > LINK_SPEED_HDR) {
		notes->speeds_lowered += once;
		speed = LINK_SPEED_HDR;
	}
	text_appendf(text, " %ux%s", lanes, link_speed_name(speed));
}

static void write_port(struct text *text, const struct fabric *fabric, uint32_t index, struct mend_write_notes *notes)
{
	const struct port *port = &fabric->ports[index], *peer = &fabric->ports[port->peer];
	const struct node *node = &fabric->nodes[port->node], *peer_node = &fabric->nodes[peer->node];
	uint16_t peer_lid = fabric_port_lid(fabric, peer);

	text_appendf(text, "[%u]", port->num);
	/* The port GUIDs of ibsim: the node GUID plus the port number. */
	if (node->type != NODE_SWITCH)
		text_appendf(text, "(%" PRIx64 ") ", node->guid + port->num);
	text_append(text, "\t");
	write_id(text, peer_node);
	text_appendf(text, "[%u]", peer->num);
	if (peer_node->type != NODE_SWITCH)
		text_appendf(text, "(%" PRIx64 ") ", peer_node->guid + peer->num);
	text_append(text, "\t\t# ");
	if (node->type != NODE_SWITCH)
		text_appendf(text, "lid %u lmc 0 ", writable_lid(port->lid, notes));
	write_peer_desc(text, peer_node);
	text_appendf(text, " lid %u", peer_lid <= MAX_UNICAST_LID ? peer_lid : 0);
	write_rate(text, fabric, index, notes);
	text_append(text, "\n");
}

static void write_node(struct text *text, const struct fabric *fabric, const struct node *node,
		       struct mend_write_notes *notes)
{
	static const char *const types[] = { [NODE_CA] = "Ca", [NODE_SWITCH] = "Switch", [NODE_ROUTER] = "Rt" };
	static const char *const guids[] = {
		[NODE_CA] = "caguid", [NODE_SWITCH] = "switchguid", [NODE_ROUTER] = "rtguid",
	};
	uint8_t type = node->type >= NODE_CA && node->type <= NODE_ROUTER ? node->type : NODE_CA;
	unsigned ports = node->port_count < MEND_MAX_PORTS ? node->port_count : MEND_MAX_PORTS;
	uint32_t i;

	text_appendf(text, "\nvendid=0x%x\ndevid=0x%x\nsysimgguid=0x%" PRIx64 "\n%s=0x%" PRIx64 "(%" PRIx64 ")\n",
		     node->vendor_id, node->device_id, node->system_guid ? node->system_guid : node->guid,
		     guids[type], node->guid, node->guid);
	text_appendf(text, "%s\t%u ", types[type], ports);
	write_id(text, node);
	text_append(text, "\t\t# ");
	write_desc(text, node, notes);
	if (type == NODE_SWITCH)
		text_appendf(text, " %s port 0 lid %u lmc 0", node->enhanced_port0 ? "enhanced" : "base",
			     writable_lid(node->lid, notes));
	text_append(text, "\n");
	for (i = node->first_port; i < node->first_port + node->ports; i++) {
		if (peer_is_written(fabric, &fabric->ports[i]))
			write_port(text, fabric, i, notes);
		else if (fabric->ports[i].peer != FABRIC_NONE && i < fabric->ports[i].peer)
			notes->ports_cut++;
	}
}

/* Count duplicates among the port GUIDs of ibsim; incomplete if out of memory. */
static size_t count_guid_clashes(const struct fabric *fabric)
{
	struct map seen = { 0 };
	size_t i, clashes = 0;
	uint32_t other;

	for (i = 0; i < fabric->port_count; i++) {
		const struct node *node = &fabric->nodes[fabric->ports[i].node];
		uint64_t guid = node->guid + fabric->ports[i].num;

		if (node->type == NODE_SWITCH || fabric->ports[i].peer == FABRIC_NONE)
			continue;
		if (map_get(&seen, guid, &other))
			clashes++;
		else if (map_put(&seen, guid, 1) < 0)
			break;
	}
	map_done(&seen);
	return clashes;
}

void mend_write(struct text *text, const struct fabric *fabric, struct mend_write_notes *ret_notes)
{
	struct mend_write_notes notes = { 0 };
	size_t i;

	text_append(text, "#\n# Topology file: written by ibwire-sim\n#\n");
	if (fabric->from_node < fabric->node_count)
		text_appendf(text, "# Initiated from node %016" PRIx64 " port %016" PRIx64 "\n",
			     fabric->nodes[fabric->from_node].guid, fabric->nodes[fabric->from_node].guid + 1);
	for (i = 0; i < fabric->node_count; i++)
		write_node(text, fabric, &fabric->nodes[i], &notes);
	notes.port_guids_clash = count_guid_clashes(fabric);
	if (ret_notes)
		*ret_notes = notes;
}

/* --- reading --- */

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
	mend_write(net, fabric, &notes.written);
	if (text_failed(net)) {
		fabric_destroy(fabric);
		return err_nomem(err);
	}
	*ret = fabric;
	*ret_notes = notes;
	return 0;
}

void mend_describe(const struct mend_notes *notes, void (*print)(void *ctx, const char *line), void *ctx)
{
	const struct {
		size_t count;
		const char *one, *many;
	} kinds[] = {
		{ notes->read.lines_ignored, "line is not part of a fabric: ignored",
		  "lines are not part of a fabric: ignored" },
		{ notes->read.peers_unknown, "cable to a node or port that is not in the file: omitted",
		  "cables to nodes or ports that are not in the file: omitted" },
		{ notes->read.peers_one_sided, "cable listed at one end only: other end added",
		  "cables listed at one end only: other ends added" },
		{ notes->read.peers_conflicting, "port whose peer lists another cable: omitted",
		  "ports whose peers list other cables: omitted" },
		{ notes->written.speeds_lowered, "link faster than HDR, the maximum of ibsim 0.10: set to HDR",
		  "links faster than HDR, the maximum of ibsim 0.10: set to HDR" },
		{ notes->written.ends_differed, "link whose ends differ in speed or width: set to the lower one",
		  "links whose ends differ in speed or width: set to the lower one" },
		{ notes->written.speeds_unknown, "link of unknown speed or width: set to SDR or 4x",
		  "links of unknown speed or width: set to SDR or 4x" },
		{ notes->written.descs_changed, "NodeDescription that ibsim cannot represent: modified",
		  "NodeDescriptions that ibsim cannot represent: modified" },
		{ notes->written.ports_cut, "link of a port above 254, the maximum of ibsim: omitted",
		  "links of ports above 254, the maximum of ibsim: omitted" },
		{ notes->written.lids_dropped, "LID outside the unicast range: opensm assigns it",
		  "LIDs outside the unicast range: opensm assigns them" },
		{ notes->written.port_guids_clash,
		  "port whose GUID in ibsim (node GUID plus port) is a duplicate: opensm may report it",
		  "ports whose GUIDs in ibsim (node GUID plus port) are duplicates: opensm may report them" },
	};
	char line[160];
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (!kinds[i].count)
			continue;
		snprintf(line, sizeof(line), "%zu %s", kinds[i].count,
			 kinds[i].count == 1 ? kinds[i].one : kinds[i].many);
		print(ctx, line);
	}
}
