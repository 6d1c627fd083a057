/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Subjects and affected hosts of findings, also for nodes that have left the fabric. */
#include <stdio.h>

#include "analysis/health/state.h"
#include "fabric/shape.h"

const char *health_duration(int64_t us, char ret[32])
{
	long long s = us / SECOND_US;

	if (s < 120)
		snprintf(ret, 32, "%lld s", s);
	else if (s < 120 * 60)
		snprintf(ret, 32, "%lld min", s / 60);
	else if (s < 48 * 3600)
		snprintf(ret, 32, "%lld h", s / 3600);
	else
		snprintf(ret, 32, "%lld days", s / 86400);
	return ret;
}

const char *health_port_label(const struct health *health, uint32_t at, char ret[HEALTH_LABEL])
{
	const struct health_port *port = &health->ports[at];
	const struct health_node *node = &health->nodes[port->node];
	const struct fabric *fabric = health->input->fabric;
	uint32_t now = node->now == FABRIC_NONE ? FABRIC_NONE : fabric_node_port(fabric, node->now, port->num);

	if (now != FABRIC_NONE)
		return shape_port_name(health->input->shape, now, ret, HEALTH_LABEL);
	snprintf(ret, HEALTH_LABEL, "%.140s/%u", node->name, port->num);
	return ret;
}

/* The end that is named second: the host, or the switch of the higher tier. */
static bool is_upper(const struct health *health, uint32_t port)
{
	const struct health_node *node = &health->nodes[health->ports[port].node];
	const struct health_node *other = &health->nodes[health->ports[health->ports[port].peer].node];

	if (node->type != other->type)
		return node->type != NODE_SWITCH;
	if (node->tier != other->tier)
		return node->tier > other->tier;
	return node->guid > other->guid;
}

void health_link_subject(const struct health *health, struct health_open_finding *open, uint32_t at)
{
	char first[HEALTH_LABEL], second[HEALTH_LABEL];
	uint32_t peer = health->ports[at].peer;

	if (peer == HEALTH_NONE) {
		health_subject(open, "%s", health_port_label(health, at, first));
		return;
	}
	if (is_upper(health, at)) {
		peer = at;
		at = health->ports[at].peer;
	}
	health_subject(open, "%.77s - %.77s", health_port_label(health, at, first),
		       health_port_label(health, peer, second));
}

void health_clear_affected(struct health_open_finding *open)
{
	open->finding.host_count = open->finding.affected_hosts = 0;
	open->affected_generation = 0;
}

void health_add_affected(struct health_open_finding *open, const char *host)
{
	struct finding *finding = &open->finding;

	finding->affected_hosts++;
	if (finding->host_count < FINDING_HOSTS_MAX)
		snprintf(finding->hosts[finding->host_count++], sizeof(finding->hosts[0]), "%s", host);
}

void health_affected_host(struct health_open_finding *open, const char *host)
{
	health_clear_affected(open);
	health_add_affected(open, host);
}

static void add_below(struct health *health, struct health_open_finding *open, uint32_t at, unsigned tiers)
{
	const struct health_node *node = &health->nodes[at];
	uint32_t before = HEALTH_NONE;

	for (uint32_t i = node->first_port; i < node->first_port + node->slots; i++) {
		const struct health_port *port = &health->ports[i];
		uint32_t below = port->peer == HEALTH_NONE ? HEALTH_NONE : health->ports[port->peer].node;

		if (below == HEALTH_NONE)
			continue;
		if (port->way == WAY_HOST && health->nodes[below].host != HEALTH_NONE) {
			struct health_host *host = &health->hosts[health->nodes[below].host];

			if (host->affected_pass == health->affected_pass)
				continue;
			host->affected_pass = health->affected_pass;
			health_add_affected(open, host->name);
		} else if (port->way == WAY_DOWN && tiers && below != before) {
			/* Skip parallel links, which usually have adjacent ports. */
			before = below;
			add_below(health, open, below, tiers - 1);
		}
	}
}

void health_affected_below(struct health *health, struct health_open_finding *open, uint32_t node)
{
	if (open->affected_generation == health->generation)
		return;
	health_clear_affected(open);
	open->affected_generation = health->generation;
	health->affected_pass++;
	add_below(health, open, node, 3);
}

void health_affected_link(struct health *health, struct health_open_finding *open, uint32_t at)
{
	uint32_t host = health_edge_host(health, at), peer = health->ports[at].peer;

	if (host != HEALTH_NONE)
		health_affected_host(open, health->hosts[host].name);
	else if (peer != HEALTH_NONE)
		health_affected_below(health, open, health->ports[is_upper(health, at) ? peer : at].node);
}
