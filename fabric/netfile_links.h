/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* netfile_links.h - the links of a file, from the ports that its lines name; private to fabric/netfile.c */
#ifndef IBWIRE_FABRIC_NETFILE_LINKS_H
#define IBWIRE_FABRIC_NETFILE_LINKS_H

#include <stddef.h>
#include <stdint.h>

struct error;
struct fabric;
struct netfile_notes;

/* A port of the fabric and the peer that its line names. */
struct net_link {
	uint32_t port;
	uint64_t peer_guid;
	uint8_t peer_num;
	size_t line;
};

/*
 * netfile_link - connect the ports of links on which both lines agree, or that one of them names
 * @links:  in order of lines; @notes: what does not fit is counted
 * Other ports are down afterwards. Return: 0 or ERR_NOMEM.
 */
int netfile_link(struct fabric *fabric, const struct net_link *links, size_t count, struct netfile_notes *notes,
		 struct error *err);

#endif
