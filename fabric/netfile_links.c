/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/netfile_links.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "fabric/fabric.h"
#include "fabric/netfile.h"

/* The links of a file, while they are made. */
struct links {
	struct fabric *fabric;
	const struct net_link *list;
	struct netfile_notes *notes;
	uint32_t *wanted; /* port to its link in the file; FABRIC_NONE: not listed */
	size_t to_last;   /* one-sided links to the last node */
};

/* A port without a known peer is not up. */
static void unplug(struct fabric *fabric, uint32_t index)
{
	struct port *port = &fabric->ports[index];

	port->state = PORT_DOWN;
	port->phys_state = PHYS_POLLING;
	port->speed = LINK_SPEED_NONE;
	port->width = LINK_WIDTH_NONE;
}

/* The file has the cable at @index lead to @guid and @num, or has no information. */
static bool end_agrees(const struct links *links, uint32_t index, uint64_t guid, uint8_t num)
{
	const struct net_link *back;

	if (links->wanted[index] == FABRIC_NONE)
		return true;
	back = &links->list[links->wanted[index]];
	return back->peer_guid == guid && back->peer_num == num;
}

/* Both ends have the rate that one of them has. Return: whether they had different ones. */
static bool match_rates(struct port *port, struct port *peer, bool *ret_unknown)
{
	struct port *from = port_rate_bits_per_s(port) ? port : peer, *to = from == port ? peer : port;

	if (!port_rate_bits_per_s(to) && port_rate_bits_per_s(from)) {
		to->speed = from->speed;
		to->width = from->width;
		*ret_unknown = true;
	}
	return port->speed != peer->speed || port->width != peer->width;
}

/* Ports of a link that both ends agree on, or one of them lists. */
static void complete_link(struct links *links, const struct net_link *link, uint32_t peer)
{
	struct fabric *fabric = links->fabric;
	struct netfile_notes *notes = links->notes;
	struct port *port = &fabric->ports[link->port], *other = &fabric->ports[peer];
	bool one_sided = links->wanted[peer] == FABRIC_NONE, unknown = false;

	if (one_sided) {
		unread_add(&notes->peers_one_sided, link->line);
		links->to_last += other->node == fabric->node_count - 1;
		other->state = PORT_ACTIVE;
		other->phys_state = PHYS_LINK_UP;
	}
	if (match_rates(port, other, &unknown) && link->port < peer)
		unread_add(&notes->ends_differ, link->line);
	if (unknown && !one_sided)
		unread_add(&notes->ends_unknown, link->line);
	if (!port_rate_bits_per_s(port) && (one_sided || link->port < peer))
		unread_add(&notes->rates_unknown, link->line);
}

static void make_link(struct links *links, const struct net_link *link)
{
	struct netfile_notes *notes = links->notes;
	struct fabric *fabric = links->fabric;
	uint64_t guid = fabric->nodes[fabric->ports[link->port].node].guid;
	uint8_t num = fabric->ports[link->port].num;
	uint32_t peer = fabric_find_port(fabric, link->peer_guid, link->peer_num);

	if (peer != FABRIC_NONE && peer != link->port && end_agrees(links, peer, guid, num) &&
	    fabric_link(fabric, link->port, peer, NULL) == 0) {
		complete_link(links, link, peer);
		return;
	}
	unread_add(peer == FABRIC_NONE ? &notes->peers_unknown : peer == link->port ? &notes->peers_self :
		   &notes->peers_conflicting, link->line);
	unplug(fabric, link->port);
}

int netfile_link(struct fabric *fabric, const struct net_link *list, size_t count, struct netfile_notes *notes,
		 struct error *err)
{
	struct links links = { .fabric = fabric, .list = list, .notes = notes,
			       .wanted = malloc((fabric->port_count + 1) * sizeof(*links.wanted)) };

	if (!links.wanted)
		return err_nomem(err);
	memset(links.wanted, 0xff, fabric->port_count * sizeof(*links.wanted));
	for (size_t i = 0; i < count; i++)
		links.wanted[list[i].port] = (uint32_t)i;
	for (size_t i = 0; i < count; i++)
		make_link(&links, &list[i]);
	/* The last node lists fewer links than its peers, and only that node: its end is missing. */
	notes->unfinished |= links.to_last && links.to_last == notes->peers_one_sided.lines;
	free(links.wanted);
	return 0;
}
