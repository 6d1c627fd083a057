/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/model/port_marks.h"

#include "fabric/fabric.h"
#include "fabric/shape.h"
#include "tui/model/context.h"

const char *port_mark_name(enum port_mark mark)
{
	static const char *const names[] = { "", "ack", "info", "WARN", "CRIT" };

	return names[mark];
}

enum port_mark port_mark_of(const struct finding_row *row)
{
	if (row->acknowledged.at_us)
		return MARK_ACKNOWLEDGED;
	if (row->finding.severity == FINDING_CRITICAL)
		return MARK_CRITICAL;
	return row->finding.severity == FINDING_WARNING ? MARK_WARNING : MARK_INFO;
}

/* Whether a finding of a node concerns one of its ports. */
static bool is_about(const struct shape *shape, const struct fabric *fabric, const struct finding *finding,
		     uint32_t port)
{
	uint32_t peer = fabric->ports[port].peer;

	switch (finding->kind) {
	case FINDING_NODE_SILENT:
	case FINDING_LOCKED:
		return true;
	case FINDING_UPLINK_IMBALANCE:
	case FINDING_UPLINKS_MISSING:
		if (finding->peer_guid)
			return peer != FABRIC_NONE &&
			       fabric->nodes[fabric->ports[peer].node].guid == finding->peer_guid;
		return shape && shape->ports[port].way == WAY_UP;
	default:
		return fabric->nodes[fabric->ports[port].node].type != NODE_SWITCH;
	}
}

bool finding_concerns_port(const struct snapshot_context *context, const struct fabric *fabric,
			   const struct finding *finding, uint32_t index)
{
	const struct port *port = &fabric->ports[index];
	uint64_t guid = fabric->nodes[port->node].guid;

	if (finding->node_guid == guid && !finding->port)
		return is_about(context->shape, fabric, finding, index);
	return (finding->node_guid == guid && finding->port == port->num) ||
	       (finding->peer_port && finding->peer_guid == guid && finding->peer_port == port->num);
}

static void mark_finding(const struct snapshot_context *context, const struct fabric *fabric, uint32_t index,
			 uint32_t *finding_of)
{
	const struct finding *finding = &context->findings[index].finding;
	uint32_t node = fabric_find_node(fabric, finding->node_guid), port;

	if (finding->port) {
		port = fabric_find_port(fabric, finding->node_guid, finding->port);
		/* The first finding is the worst. */
		if (port != FABRIC_NONE && !finding_of[port])
			finding_of[port] = index + 1;
	} else if (node != FABRIC_NONE) {
		for (uint32_t i = 0; i < fabric->nodes[node].ports; i++) {
			port = fabric->nodes[node].first_port + i;
			if (!finding_of[port] && is_about(context->shape, fabric, finding, port))
				finding_of[port] = index + 1;
		}
	}
	port = finding->peer_port ? fabric_find_port(fabric, finding->peer_guid, finding->peer_port) : FABRIC_NONE;
	if (port != FABRIC_NONE && !finding_of[port])
		finding_of[port] = index + 1;
}

void port_marks_find(const struct snapshot_context *context, const struct fabric *fabric, uint32_t *ret)
{
	for (size_t i = 0; i < context->finding_count; i++)
		mark_finding(context, fabric, (uint32_t)i, ret);
}

bool port_is_degraded(const struct fabric *fabric, const struct shape *shape, uint32_t index)
{
	const uint32_t ends[2] = { index, fabric->ports[index].peer };

	if (ends[1] == FABRIC_NONE)
		return false;
	for (unsigned i = 0; i < 2; i++) {
		const struct port *port = &fabric->ports[ends[i]], *peer = &fabric->ports[ends[!i]];
		uint64_t rate = port_rate_bits_per_s(port);

		if (rate && (port_is_below_enabled(port, peer) || (shape && rate < shape->built_bits_per_s[ends[i]])))
			return true;
	}
	return false;
}
