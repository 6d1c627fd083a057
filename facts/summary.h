/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * summary.h - the numbers of a whole fabric, as every command, metric and screen shows them
 *
 * summary_begin() counts the nodes, summary_add_port() is called for each port with its facts, and
 * summary_end() completes the links. summary_load() does all three. The work is O(ports).
 */
#ifndef IBWIRE_FACTS_SUMMARY_H
#define IBWIRE_FACTS_SUMMARY_H

#include <stdint.h>

#include "analysis/measure.h"
#include "analysis/rate.h"
#include "analysis/status.h"
#include "fabric/fabric.h"

struct error;
struct port_facts;
struct reader;
struct snapshot;
struct text;

/* Nodes by class; aggregation nodes are CAs on the wire, but no host's HCA. */
enum summary_nodes {
	SUMMARY_HCAS, SUMMARY_SWITCHES, SUMMARY_ROUTERS, SUMMARY_AGGREGATION, SUMMARY_OTHERS, SUMMARY_NODES_COUNT,
};

struct fabric_summary {
	uint32_t nodes[SUMMARY_NODES_COUNT];
	uint32_t node_count;
	/*
	 * Links by state, which is the lower one of both ends: a link is Active only if both are. Those that are down
	 * include links that went down within PORT_UNUSED_US and whose cable the topology no longer has.
	 */
	uint32_t links;
	uint32_t links_by_state[PORT_ACTIVE + 1];
	/* Pollable ports. */
	uint32_t ports;
	uint32_t ports_down;                /* PortState Down, whether used before or not */
	uint32_t ports_unused;              /* of by_status[STATUS_DOWN] those that are unused (port_facts.h) */
	uint32_t by_status[STATUS_COUNT];
	uint32_t ports_bounded;             /* respond, and their traffic in the window is only a lower bound */
	uint32_t ports_without_peer;        /* with a link to a node that did not respond to discovery */
	struct measure hosts_xmit_bytes_per_s, hosts_rcv_bytes_per_s; /* total of the HCA ports with a link */
	uint64_t injection_bits_per_s;      /* data rate of all HCA ports with an Active link, one direction */
	uint32_t stall_rules[STALL_RULE_COUNT]; /* switches and HCAs by the length of a tick of PortXmitWait */
};

void summary_begin(const struct fabric *fabric, struct fabric_summary *ret);

/* summary_add_port - add a port; one without counters (port_is_pollable()) is ignored. */
void summary_add_port(struct fabric_summary *summary, const struct snapshot *snapshot, const struct port_facts *port);

/*
 * summary_end - complete the links
 * @reader:  of the snapshot, for the last peer of ports that lost theirs; NULL: each of these counts as a link
 * Return: 0; ERR_IO; ERR_NOMEM.
 */
int summary_end(struct fabric_summary *summary, const struct snapshot *snapshot, struct reader *reader,
		struct error *err);

/* summary_load - all of it. Return: as summary_end(). */
int summary_load(const struct snapshot *snapshot, struct reader *reader, struct fabric_summary *ret,
		 struct error *err);

/* summary_node_class - the class of a node. */
enum summary_nodes summary_node_class(const struct node *node);

/*
 * summary_append_nodes - "2 switches, 16 HCAs, 1 router"; without a node of it, only these two classes are shown
 * summary_append_links - "127 of them active, 1 init"
 */
void summary_append_nodes(const struct fabric_summary *summary, struct text *text);
void summary_append_links(const struct fabric_summary *summary, struct text *text);

#endif
