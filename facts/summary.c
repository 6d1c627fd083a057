/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "facts/summary.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/text.h"
#include "facts/port_facts.h"
#include "storage/reader.h"

enum summary_nodes summary_node_class(const struct node *node)
{
	switch (node->type) {
	case NODE_SWITCH:
		return SUMMARY_SWITCHES;
	case NODE_CA:
		return node_is_aggregation(node) ? SUMMARY_AGGREGATION : SUMMARY_HCAS;
	default:
		return node->type == NODE_ROUTER ? SUMMARY_ROUTERS : SUMMARY_OTHERS;
	}
}

void summary_begin(const struct fabric *fabric, struct fabric_summary *ret)
{
	*ret = (struct fabric_summary){
		.node_count = (uint32_t)fabric->node_count, .hosts_xmit_bytes_per_s = MEASURE_NONE,
		.hosts_rcv_bytes_per_s = MEASURE_NONE,
	};
	for (size_t i = 0; i < fabric->node_count; i++)
		ret->nodes[summary_node_class(&fabric->nodes[i])]++;
}

void summary_add_port(struct fabric_summary *summary, const struct snapshot *snapshot, const struct port_facts *facts)
{
	const struct fabric *fabric = snapshot->fabric;
	const struct port *port = &fabric->ports[facts->port];

	if (port->peer != FABRIC_NONE && port->peer > facts->port)
		summary->links_by_state[fabric_link_state(fabric, facts->port)]++;
	if (!port_is_pollable(fabric, port))
		return;
	summary->ports++;
	summary->by_status[facts->status]++;
	summary->ports_down += port->state == PORT_DOWN;
	summary->ports_unused += facts->unused;
	if (facts->status <= STATUS_IDLE || facts->status == STATUS_MIRRORED)
		summary->ports_bounded += !measure_is_exact(facts->xmit_bytes_per_s) ||
					  !measure_is_exact(facts->rcv_bytes_per_s);
	summary->ports_without_peer += port_is_unidentified(port);
	if (fabric->nodes[port->node].type != NODE_CA || node_is_aggregation(&fabric->nodes[port->node]))
		return;
	port_facts_add(facts, &summary->hosts_xmit_bytes_per_s, &summary->hosts_rcv_bytes_per_s);
	if (fabric_link_state(fabric, facts->port) == PORT_ACTIVE)
		summary->injection_bits_per_s += port_rate_bits_per_s(port);
}

/* The port was up within the last hour; now it is down, and the topology has no peer of it. */
static bool lost_its_link(const struct snapshot *snapshot, uint32_t index)
{
	const struct port *port = &snapshot->fabric->ports[index];

	return port->peer == FABRIC_NONE && port->state == PORT_DOWN && port_is_pollable(snapshot->fabric, port) &&
	       !port_was_unused(snapshot, index);
}

int summary_end(struct fabric_summary *summary, const struct snapshot *snapshot, struct reader *reader,
		struct error *err)
{
	const struct fabric *fabric = snapshot->fabric;

	for (uint32_t i = 0; i < fabric->port_count; i++) {
		const struct port *port = &fabric->ports[i];
		struct past_peer peer;
		uint32_t other;
		int code;

		if (!lost_its_link(snapshot, i))
			continue;
		code = reader ? reader_last_peer(reader, fabric->nodes[port->node].guid, port->num,
						 snapshot->sweep.wall_us, &peer, err) : 0;
		if (code < 0)
			return code;
		other = code ? fabric_find_port(fabric, peer.guid, peer.port) : FABRIC_NONE;
		/* Both ends of one link count once. */
		if (other == FABRIC_NONE || other > i || !lost_its_link(snapshot, other))
			summary->links_by_state[PORT_DOWN]++;
	}
	for (unsigned state = 0; state <= PORT_ACTIVE; state++)
		summary->links += summary->links_by_state[state];
	for (uint32_t i = 0; i < fabric->node_count; i++) {
		const struct node *node = &fabric->nodes[i];
		enum summary_nodes class = summary_node_class(node);

		if (class == SUMMARY_SWITCHES || class == SUMMARY_HCAS)
			summary->stall_rules[stall_rule_of(node, snapshot->caps ? &snapshot->caps[i] : NULL)]++;
	}
	return 0;
}

int summary_load(const struct snapshot *snapshot, struct reader *reader, struct fabric_summary *ret,
		 struct error *err)
{
	const struct port_scope scope = { .snapshot = snapshot, .reference_us = snapshot->sweep.wall_us,
					  .newest = true };

	summary_begin(snapshot->fabric, ret);
	for (uint32_t i = 0; i < snapshot->fabric->port_count; i++) {
		struct port_facts port;

		port_facts_of(&scope, i, &port);
		summary_add_port(ret, snapshot, &port);
	}
	return summary_end(ret, snapshot, reader, err);
}

void summary_append_nodes(const struct fabric_summary *summary, struct text *text)
{
	static const struct { enum summary_nodes class; const char *one, *several; } names[SUMMARY_NODES_COUNT] = {
		{ SUMMARY_SWITCHES, "switch", "switches" }, { SUMMARY_HCAS, "HCA", "HCAs" },
		{ SUMMARY_AGGREGATION, "aggregation node", "aggregation nodes" },
		{ SUMMARY_ROUTERS, "router", "routers" },
		{ SUMMARY_OTHERS, "node of unknown type", "nodes of unknown type" },
	};

	for (unsigned i = 0; i < SUMMARY_NODES_COUNT; i++) {
		uint32_t count = summary->nodes[names[i].class];

		if (count || names[i].class <= SUMMARY_SWITCHES)
			text_appendf(text, "%s%" PRIu32 " %s", i ? ", " : "", count,
				     count == 1 ? names[i].one : names[i].several);
	}
}

void summary_append_links(const struct fabric_summary *summary, struct text *text)
{
	static const char *const names[] = {
		[PORT_STATE_UNKNOWN] = "unknown", [PORT_DOWN] = "down", [PORT_INIT] = "init", [PORT_ARMED] = "armed",
	};

	text_appendf(text, "%" PRIu32 " of them active", summary->links_by_state[PORT_ACTIVE]);
	for (unsigned state = PORT_ARMED + 1; state-- > PORT_STATE_UNKNOWN;)
		if (summary->links_by_state[state])
			text_appendf(text, ", %" PRIu32 " %s", summary->links_by_state[state], names[state]);
}
