/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Subjects, ports and affected hosts of findings, also for nodes that have left the fabric. */
#include <string.h>

#include "analysis/health/state.h"
#include "fabric/shape.h"

#define LABEL_SIZE 160

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

static const char *port_label(const struct health *health, const struct health_port *port, char ret[LABEL_SIZE])
{
	const struct health_node *node = port->node;
	uint32_t now = node->now == FABRIC_NONE ? FABRIC_NONE :
						  fabric_node_port(health->input->fabric, node->now, port->num);

	if (now != FABRIC_NONE)
		return shape_port_name(health->input->shape, now, ret, LABEL_SIZE);
	snprintf(ret, LABEL_SIZE, "%.140s/%u", node->name, port->num);
	return ret;
}

/* The end of a link that is named second: the host, or the switch of the higher tier. */
static bool is_upper(const struct health_port *port)
{
	const struct health_node *node = port->node, *other = port->peer->node;

	if (node->type != other->type)
		return node->type != NODE_SWITCH;
	if (node->tier != other->tier)
		return node->tier > other->tier;
	return node->guid > other->guid;
}

void health_name_port(const struct health *health, struct health_open_finding *open, const struct health_port *port,
		      bool link)
{
	char first[LABEL_SIZE], second[LABEL_SIZE];

	if (!link || !port->peer) {
		health_subject(open, "%s", port_label(health, port, first));
		return;
	}
	if (is_upper(port))
		port = port->peer;
	health_subject(open, "%.77s - %.77s", port_label(health, port, first), port_label(health, port->peer, second));
}

void health_set_add(struct health_set *set, const struct health_port *port)
{
	if (!set->count)
		set->first = port;
	set->several_nodes |= port->node != set->first->node;
	if (set->count < FINDING_PORTS_MAX)
		set->ports[set->count] = (struct finding_port){ port->node->guid, port->num };
	set->count++;
}

void health_set_add_node(struct health_set *set, const struct health_node *node)
{
	for (uint32_t i = 0; node && i < node->slots; i++)
		if (node->type == NODE_SWITCH || node->ports[i].peer) {
			health_set_add(set, &node->ports[i]);
			return;
		}
}

bool health_is_read(const struct health_port *port)
{
	return port && port->is_read && !port->node->silent;
}

void health_set_add_links(struct health_set *set, const struct health_node *node)
{
	for (uint32_t i = 0; node && i < node->slots; i++)
		if (node->ports[i].peer)
			health_set_add(set, &node->ports[i]);
}

void health_set_add_host(struct health_set *set, const struct health_node *node, bool silent)
{
	if (!node->host) {
		health_set_add_links(set, node);
		return;
	}
	for (const struct health_node *hca = node->host->first; hca; hca = hca->host_next)
		if (!silent || hca->silent)
			health_set_add_links(set, hca);
}

struct health_open_finding *health_find_tag(const struct health *health, enum finding_kind kind, uint8_t tag)
{
	for (size_t i = 0; i < health->open.count; i++) {
		struct health_open_finding *open = health_open_at(health, i);

		if (open->finding.kind == kind && open->finding.tag == tag && !open->dropped)
			return open;
	}
	return NULL;
}

void health_list_set(struct health_open_finding *open, const struct health_set *set)
{
	open->finding.port_count = set->count < FINDING_PORTS_MAX ? set->count : FINDING_PORTS_MAX;
	memcpy(open->finding.ports, set->ports, open->finding.port_count * sizeof(set->ports[0]));
}

struct health_open_finding *health_hold_set(struct health *health, const struct health_case *what,
					    const struct health_set *set)
{
	struct health_open_finding *open = what->tag ? health_find_tag(health, what->kind, what->tag) : NULL;
	uint64_t guid = set->several_nodes ? 0 : set->first->node->guid;
	uint8_t port = set->count > 1 ? 0 : set->first->num;
	struct health_case wide = *what;

	if (open && open->finding.node_guid != guid)
		guid = 0;
	if (!guid || (open && open->finding.port != port))
		port = 0;
	wide.node = guid ? set->first->node : NULL;
	wide.port = port ? set->first : NULL;
	if (open) {
		wide.since = open->since;
		if (open->finding.node_guid != guid || open->finding.port != port)
			health_drop(open);
	}
	open = health_hold(health, &wide);
	health_list_set(open, set);
	return open;
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

static void add_below(struct health *health, struct health_open_finding *open, const struct health_node *node,
		      unsigned tiers)
{
	const struct health_node *before = NULL;

	for (uint32_t i = 0; i < node->slots; i++) {
		const struct health_port *port = &node->ports[i];
		struct health_host *host = port->peer ? port->peer->node->host : NULL;

		if (port->way == WAY_HOST && host) {
			if (host->affected_pass == health->affected_pass)
				continue;
			host->affected_pass = health->affected_pass;
			health_add_affected(open, host->name);
		} else if (port->peer && port->way == WAY_DOWN && tiers && port->peer->node != before) {
			/* Skip parallel links, which usually have adjacent ports. */
			before = port->peer->node;
			add_below(health, open, before, tiers - 1);
		}
	}
}

void health_affected_below(struct health *health, struct health_open_finding *open, const struct health_node *node)
{
	if (open->affected_generation == health->generation)
		return;
	health_clear_affected(open);
	open->affected_generation = health->generation;
	health->affected_pass++;
	add_below(health, open, node, 3);
}

void health_affected_link(struct health *health, struct health_open_finding *open, const struct health_port *port)
{
	const struct health_host *host = health_edge_host(port);

	if (host)
		health_affected_host(open, host->name);
	else if (port->peer)
		health_affected_below(health, open, is_upper(port) ? port->peer->node : port->node);
}

static const char *end_name(const struct health_node *node, char ret[SHAPE_TIER_SIZE])
{
	return node->type == NODE_SWITCH ? shape_tier_name(node->tier, ret) : node_class_name(node->class);
}

/* Set subject and beginning of the text by any port of a group. */
static void describe_equal(struct health *health, const struct health_group *group, const struct health_port *port,
			   char text[64])
{
	const struct health_node *hca = port->node->type == NODE_SWITCH ? port->peer->node : port->node;
	char low[SHAPE_TIER_SIZE], high[SHAPE_TIER_SIZE];

	if (is_upper(port) && group->link)
		port = port->peer;
	health_subject(group->open, group->link ? "%s - %s links" : "%s ports to %s", end_name(port->node, low),
		       end_name(port->peer->node, high));
	snprintf(text, 64, "%u equal %s%s (device ID %u)", group->held, group->link ? "link" : "port",
		 group->held == 1 ? "" : "s",
		 hca->now == FABRIC_NONE ? 0 : health->input->fabric->nodes[hca->now].device_id);
}

void health_describe_group(struct health *health, const struct health_group *group)
{
	struct finding *finding = &group->open->finding;
	char worst[2 * sizeof(finding->text)], equal[64] = "", names[160] = "";
	unsigned named = 0;

	snprintf(worst, sizeof(worst), TENSE("%.140s", "%.140s"), finding->text, group->open->past);
	health_number(group->open, "links", group->held);
	group->open->extent = group->held;
	health_clear_affected(group->open);
	finding->port_count = 0;
	health->affected_pass++;
	for (struct health_port *port = health_next_port(health, NULL); port; port = health_next_port(health, port)) {
		struct health_host *host = port->peer ? health_edge_host(port) : NULL;
		size_t len = strlen(names);

		if (port->merged[group->kind] != group->tag || !(port->merged_held >> group->kind & 1) || !port->peer)
			continue;
		if (!finding->port_count)
			describe_equal(health, group, port, equal);
		if (finding->port_count < FINDING_PORTS_MAX)
			finding->ports[finding->port_count++] = (struct finding_port){ port->node->guid, port->num };
		if (host && host->affected_pass == health->affected_pass)
			continue;
		/* A link to a host by the host, others by their port. */
		if (named++ < 3 && host)
			snprintf(names + len, sizeof(names) - len, "%s%.44s", len ? ", " : "", host->name);
		else if (named <= 3)
			snprintf(names + len, sizeof(names) - len, "%s%.44s/%u", len ? ", " : "", port->node->name,
				 port->num);
		if (!host)
			continue;
		host->affected_pass = health->affected_pass;
		health_add_affected(group->open, host->name);
	}
	health_text(group->open, "%s; worst: %s; first: %.90s", equal, worst, names);
}
