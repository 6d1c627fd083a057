/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Writes a fabric as an ibnetdiscover output; sim/net/mend.c changes what ibsim does not support. */
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "fabric/fabric.h"
#include "fabric/netfile.h"

/*
 * Line ends and quotes would end a line or a description.
 * @comment: of a port, where ibsim would take "w=1" for an option
 */
static void append_desc(struct text *text, const char *from, bool comment)
{
	char desc[NODE_DESC_SIZE + 1];
	char *c;

	memcpy(desc, from, sizeof(desc));
	desc[NODE_DESC_SIZE] = '\0';
	for (c = desc; *c; c++) {
		if (*c == '"')
			*c = '\'';
		else if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = ' ';
		else if (comment && *c == '=')
			*c = '_';
	}
	text_appendf(text, "\"%s\"", desc);
}

static void append_id(struct text *text, const struct node *node)
{
	char letter = node->type == NODE_SWITCH ? 'S' : node->type == NODE_ROUTER ? 'R' : 'H';

	text_appendf(text, "\"%c-%016" PRIx64 "\"", letter, node->guid);
}

static void append_port(struct text *text, const struct fabric *fabric, const struct port *port)
{
	const struct port *peer = &fabric->ports[port->peer];
	const struct node *node = &fabric->nodes[port->node], *peer_node = &fabric->nodes[peer->node];

	text_appendf(text, "[%u]", port->num);
	if (node->type != NODE_SWITCH)
		text_appendf(text, "(%" PRIx64 ") ", port->guid);
	text_append(text, "\t");
	append_id(text, peer_node);
	text_appendf(text, "[%u]", peer->num);
	if (peer_node->type != NODE_SWITCH)
		text_appendf(text, "(%" PRIx64 ") ", peer->guid);
	text_append(text, "\t\t# ");
	if (node->type != NODE_SWITCH)
		text_appendf(text, "lid %u lmc %u ", port->lid, port->lmc);
	append_desc(text, peer_node->desc, true);
	text_appendf(text, " lid %u", fabric_port_lid(fabric, peer));
	if (link_width_lanes(port->width) && port->speed != LINK_SPEED_NONE)
		text_appendf(text, " %ux%s", link_width_lanes(port->width),
			     link_speed_name((enum link_speed)port->speed));
	text_append(text, "\n");
}

static size_t append_node(struct text *text, const struct fabric *fabric, const struct node *node)
{
	static const char *const words[] = { "Ca", "Ca", "Switch", "Rt" };
	static const char *const guids[] = { "caguid", "caguid", "switchguid", "rtguid" };
	uint8_t type = node->type <= NODE_ROUTER ? node->type : NODE_CA;
	char version[FIRMWARE_TEXT_SIZE];
	size_t left_out = 0;

	text_appendf(text, "\nvendid=0x%x\ndevid=0x%x\n", node->vendor_id, node->device_id);
	if (node->system_guid)
		text_appendf(text, "sysimgguid=0x%" PRIx64 "\n", node->system_guid);
	if (firmware_format(&node->firmware, version))
		text_appendf(text, NETFILE_FIRMWARE "%s%s%s\n", version, *node->firmware.psid ? " psid=" : "",
			     node->firmware.psid);
	text_appendf(text, "%s=0x%" PRIx64 "(%" PRIx64 ")\n%s\t%u ", guids[type], node->guid, node->guid, words[type],
		     node->port_count);
	append_id(text, node);
	text_append(text, "\t\t# ");
	append_desc(text, node->desc, false);
	if (type == NODE_SWITCH)
		text_appendf(text, " %s port 0 lid %u lmc 0", node->enhanced_port0 ? "enhanced" : "base", node->lid);
	text_append(text, "\n");
	for (uint32_t i = node->first_port; i < node->first_port + node->ports; i++) {
		const struct port *port = &fabric->ports[i];

		if (fabric_is_linked(fabric, i))
			append_port(text, fabric, port);
		else
			left_out += port->peer != FABRIC_NONE && i < port->peer;
	}
	return left_out;
}

size_t netfile_write(struct text *text, const struct fabric *fabric)
{
	size_t left_out = 0;

	text_append(text, "#\n# Topology file: written by ibwire, as ibnetdiscover writes it\n#\n");
	for (size_t i = 0; i < fabric->node_count; i++)
		left_out += append_node(text, fabric, &fabric->nodes[i]);
	return left_out;
}
