/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Many equal findings of ports as one finding of the fabric. */
#include <string.h>

#include "analysis/health/state.h"

/* Kinds whose causes, such as a setting or a firmware version, affect many ports at once. */
static const enum finding_kind grouped[HEALTH_GROUPED] = {
	FINDING_LINK_DEGRADED, FINDING_LINK_FLAPPING, FINDING_SYMBOL_ERRORS, FINDING_FEC_UNCORRECTABLE,
	FINDING_RECEIVE_ERRORS, FINDING_LINK_ERRORS, FINDING_CONSTRAINT_ERRORS, FINDING_XMIT_DISCARDS,
	FINDING_LINK_NOT_ACTIVE,
};

/* From this number on, equal findings that opened within a minute are one finding of the fabric. */
enum { MANY_EQUAL = 10, EQUAL_WITHIN_US = MINUTE_US };

/* The index of a grouped kind, or HEALTH_GROUPED. */
static unsigned grouped_index(enum finding_kind kind)
{
	unsigned index = 0;

	while (index < HEALTH_GROUPED && grouped[index] != kind)
		index++;
	return index;
}

struct health_open_finding *health_find_merged(const struct health *health, enum finding_kind kind,
					       const struct health_node *node, uint8_t port)
{
	unsigned index = port && port < node->slots ? grouped_index(kind) : HEALTH_GROUPED;
	uint8_t tag = index < HEALTH_GROUPED ? node->ports[port].merged[index] : 0;

	return tag ? health_find_open(health, kind, 0, 0, tag) : NULL;
}

static uint64_t device_of(const struct health *health, const struct health_node *node)
{
	return node->now == FABRIC_NONE ? 0 : health->input->fabric->nodes[node->now].device_id;
}

struct health_group *health_find_group(struct health *health, const struct health_case *what)
{
	const struct health_port *port = what->port, *end = port;
	unsigned kind = port && port->peer && !what->tag ? grouped_index(what->kind) : HEALTH_GROUPED;
	struct health_group *group;
	uint64_t devices, key;

	if (kind == HEALTH_GROUPED)
		return NULL;
	/* The class of a host link is that of the host, at either end. */
	if (end->node->type != NODE_SWITCH)
		end = end->peer;
	devices = device_of(health, port->node) << 16 | device_of(health, port->peer->node);
	key = map_mix(map_mix(devices << 16 | health_link_class(end) << 8 | port->node->type) ^ what->equal) | 1;
	group = &health->groups[kind][key % 255 + 1];
	if (!group->key)
		*group = (struct health_group){ .key = key, .kind = (uint8_t)kind, .tag = (uint8_t)(key % 255 + 1) };
	return group->key == key ? group : NULL;
}

struct health_port *health_find_member(struct health *health, const struct health_case *what,
				       const struct health_group *group)
{
	struct health_port *port = &what->port->node->ports[what->port->num], *peer = port->peer;

	if (!health_find_open(health, what->kind, 0, 0, group->tag))
		return NULL;
	if (port->merged[group->kind] == group->tag || (what->either_end && peer->merged[group->kind] == group->tag))
		return port->merged[group->kind] == group->tag ? port : peer;
	if (health->step)
		return NULL;
	port->merged[group->kind] = group->tag;
	return port;
}

/* Add a port with its own finding @open to the finding of its group, whose text is that of the worst port. */
static void add_member(struct health *health, struct health_group *group, struct health_port *port,
		       const struct health_open_finding *open)
{
	const struct finding *member = &open->finding;
	bool first = !group->open;
	struct finding *finding;

	if (first)
		group->open = health_hold(health, &(struct health_case){
			.kind = member->kind, .severity = member->severity, .tag = group->tag,
			.since = open->since, .cause = member->cause,
			.at = { open->held_us, member->last_seen_us } });
	else
		health_set_severity(group->open, member->severity, open->held_us);
	finding = &group->open->finding;
	/* It goes on while one of its ports does. */
	group->open->ended = open->ended && (first || group->open->ended);
	finding->stopped = member->stopped && (first || finding->stopped);
	if (first || open->increased_us > group->open->increased_us) {
		group->open->increased_us = open->increased_us;
		finding->increased_us = member->increased_us;
	}
	if (open->held_us > group->open->held_us) {
		group->open->held_us = open->held_us;
		finding->last_seen_us = member->last_seen_us;
	}
	if (first || (member->number_count && member->numbers[0].value > finding->numbers[0].value)) {
		memcpy(finding->numbers, member->numbers, sizeof(finding->numbers));
		finding->number_count = member->number_count;
		memcpy(finding->text, member->text, sizeof(finding->text));
		memcpy(group->open->past, open->past, sizeof(open->past));
	}
	group->held += !(port->merged_held >> group->kind & 1);
	port->merged_held |= (uint16_t)(1 << group->kind);
	health->any_merged_held = true;
}

void health_add_pending(struct health *health)
{
	struct health_group *group = health->pending.group;

	/* Before add_member(), which calls health_hold(). */
	health->pending.group = NULL;
	if (group)
		add_member(health, group, health->pending.port, &health->pending.open);
}

void health_restore_group(struct health *health, const struct finding *finding)
{
	unsigned kind = finding->node_guid || !finding->tag ? HEALTH_GROUPED : grouped_index(finding->kind);

	for (unsigned i = 0; kind < HEALTH_GROUPED && i < finding->port_count; i++) {
		struct health_node *node = health_find_node(health, finding->ports[i].node_guid);

		if (node && finding->ports[i].port < node->slots)
			node->ports[finding->ports[i].port].merged[kind] = finding->tag;
	}
}

void health_start_groups(struct health *health)
{
	struct health_group *first = health->groups[0], *end = first + HEALTH_GROUPED * 256;

	for (struct health_group *group = first; group < end; group++) {
		group->due = group->held = 0;
		group->open = NULL;
		group->joined = false;
	}
	for (size_t i = 0; i < health->open.count; i++) {
		struct health_open_finding *open = health_open_at(health, i);

		if (open->group && health->now_us - open->opened_us > EQUAL_WITHIN_US)
			open->group = NULL;
		if (open->group)
			open->group->due++;
	}
	for (struct health_group *group = first; group < end; group++)
		if (group->key && !group->due && !health_find_open(health, grouped[group->kind], 0, 0, group->tag))
			group->key = 0;
	for (struct health_port *port = health->any_merged_held ? health_next_port(health, NULL) : NULL; port;
	     port = health_next_port(health, port)) {
		/* What ended at a port no longer explains its errors, even if it holds at the other ports. */
		for (unsigned kind = 0; kind < HEALTH_GROUPED; kind++)
			if ((port->merged_before & ~port->merged_held) >> kind & 1)
				port->merged[kind] = 0;
		port->merged_before = port->merged_held;
		port->merged_held = 0;
	}
	health->any_merged_held = false;
}

void health_finish_groups(struct health *health)
{
	struct health_group *first = health->groups[0], *end = first + HEALTH_GROUPED * 256;

	health_add_pending(health);
	for (size_t i = 0; i < health->open.count; i++) {
		struct health_open_finding *open = health_open_at(health, i);
		struct health_group *group = open->group;
		struct health_port *port;

		if (!group || open->dropped || group->due < MANY_EQUAL)
			continue;
		port = &health_find_node(health, open->finding.node_guid)->ports[open->finding.port];
		port->merged[group->kind] = group->tag;
		open->folded = open->is_new;
		open->dropped = true;
		group->joined = true;
		add_member(health, group, port, open);
	}
	for (struct health_group *group = first; group < end; group++)
		if (group->open) {
			group->open->changed |= group->joined && health->step; /* not by a restart */
			health_describe_group(health, group);
		}
}
