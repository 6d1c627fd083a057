/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * After a restart of the collector only the open findings are known of the time before. Their
 * contents are put into the state of the rules, so that each finding continues.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/health/state.h"
#include "base/err.h"

/*
 * Add the node at the far end of a down link, which discovery cannot reach; the subject has its
 * name.
 */
static struct health_node *restore_far_end(struct health *health, const struct finding *finding)
{
	bool trunk = !finding->cause || !strcmp(finding->cause, LINK_CAUSE_TRUNK);
	struct health_node *node = health_add_node(health, finding->peer_guid, (uint32_t)finding->peer_port + 1);
	const char *last = NULL, *next;
	char name[sizeof(finding->subject)];

	if (!node) {
		health->failed = true;
		return NULL;
	}
	for (next = finding->subject; (next = strstr(next, " - ")); next += 3)
		last = next + 3;
	snprintf(name, sizeof(name), "%s", last ? last : finding->subject);
	if (strrchr(name, '/'))
		*strrchr(name, '/') = 0;
	node->type = trunk ? NODE_SWITCH : NODE_CA;
	if (!trunk && finding->host_count)
		node->host = health_find_host(health, finding->hosts[0]);
	health->failed |= !health_copy_name(&node->name, name);
	return node;
}

/* Restore a down link that the fabric does not contain: the finding has both of its ends. */
static void restore_link(struct health *health, const struct health_open_finding *open)
{
	const struct finding *finding = &open->finding;
	struct health_node *node = health_find_node(health, finding->node_guid);
	struct health_node *far = health_find_node(health, finding->peer_guid);
	struct health_port *port, *peer;

	if (!finding->peer_guid || !node)
		return;
	if (!far)
		far = restore_far_end(health, finding);
	if (!far || finding->port >= node->slots || finding->peer_port >= far->slots)
		return;
	port = &node->ports[finding->port];
	peer = &far->ports[finding->peer_port];
	if (port->link != LINK_NEVER_UP || peer->link != LINK_NEVER_UP || port->peer || peer->peer)
		return;
	port->peer = peer;
	peer->peer = port;
	port->link = peer->link = LINK_IS_DOWN;
	port->changed_us = peer->changed_us = open->since.us;
	port->began = peer->began = open->since;
	health->down_ports += 2;
}

/* Restore a node that is not in the fabric, with its name. */
static void restore_node(struct health *health, const struct finding *finding)
{
	struct health_node *node;

	if (!finding->node_guid || health_find_node(health, finding->node_guid))
		return;
	node = health_add_node(health, finding->node_guid, 1);
	if (!node || !health_copy_name(&node->name, finding->subject))
		health->failed = true;
}

int health_restore_counts(struct health *health, const struct health_count *counts, size_t count, struct error *err)
{
	free(health->counts);
	health->count_count = 0;
	health->counts = malloc((count + 1) * sizeof(*counts));
	if (!health->counts)
		return err_nomem(err);
	if (count)
		memcpy(health->counts, counts, count * sizeof(*counts));
	health->count_count = count;
	return 0;
}

/* Only the wall clock is common to both runs. */
static void restore_count(struct health *health, const struct health_count *count)
{
	const struct health_node *node = health_find_node(health, count->node_guid);
	int64_t back_us = health->wall_us - count->wall_us;
	int64_t stored_us = health->now_us - (health->wall_us - count->first_wall_us);

	/* Nothing is restored of the time before the clock started. */
	health->stored_us = stored_us > 0 ? stored_us : 0;
	if (node && count->port < node->slots && back_us >= 0 && back_us < health->now_us)
		health_record_count(health, &node->ports[count->port], count, health->now_us - back_us);
}

/* Continue the time and the number of sweeps without a response. */
static void restore_silence(struct health *health, const struct health_open_finding *open)
{
	double sweeps = finding_number_of(&open->finding, "silent_sweeps", 1);
	struct health_node *node = health_find_node(health, open->finding.node_guid);

	if (!node)
		return;
	node->silence = (struct debounce){
		.sweeps = sweeps >= 1 && sweeps < UINT32_MAX ? (uint32_t)sweeps : 1,
		.good_us = open->since.us,
		.bad = open->since,
	};
}

/* Links have been in their state for as long as their finding. */
static void restore_not_active(struct health *health, const struct health_open_finding *open)
{
	const struct finding *finding = &open->finding;
	const struct finding_port single = { finding->node_guid, finding->port };
	unsigned count = finding->port ? 1 : finding->port_count;

	for (unsigned i = 0; i < count; i++) {
		const struct finding_port *which = finding->port ? &single : &finding->ports[i];
		struct health_node *node = health_find_node(health, which->node_guid);
		struct health_port *port = node && which->port < node->slots ? &node->ports[which->port] : NULL;

		if (port && port->degraded != HEALTH_NOT_ACTIVE)
			port = port->peer;
		if (!port || port->degraded != HEALTH_NOT_ACTIVE)
			continue;
		port->degraded_us = open->since.us;
		port->degraded_since = open->since;
		port->degraded_at_least = finding_number_of(finding, FINDING_LOWER_BOUND, 0) > 0;
	}
}

void health_restore_state(struct health *health)
{
	for (size_t i = 0; i < health->open.count; i++) {
		const struct health_open_finding *open = health_open_at(health, i);
		const struct finding *finding = &open->finding;

		health_restore_group(health, finding);
		if (finding->kind == FINDING_LINK_DOWN)
			restore_link(health, open);
		else if (finding->kind == FINDING_NODE_MISSING || finding->kind == FINDING_HOST_RESTART)
			restore_node(health, finding);
		else if (finding->kind == FINDING_NODE_SILENT && !finding_is_refusal(finding))
			restore_silence(health, open);
		else if (finding->kind == FINDING_LINK_NOT_ACTIVE)
			restore_not_active(health, open);
	}
	for (size_t i = 0; i < health->count_count; i++)
		restore_count(health, &health->counts[i]);
	free(health->counts);
	health->counts = NULL;
	health->count_count = 0;
}

static bool is_up(const struct health_node *node)
{
	for (uint32_t i = 0; node->now != FABRIC_NONE && i < node->slots; i++)
		if (node->ports[i].link == LINK_IS_UP)
			return true;
	return false;
}

/* Any host that the finding names is up. */
static bool has_host(const struct health *health, const struct finding *finding)
{
	for (size_t h = 0; h < health->host_count; h++)
		for (unsigned i = 0; i < finding->host_count; i++) {
			if (strcmp(health->hosts[h]->name, finding->hosts[i]) != 0)
				continue;
			for (const struct health_node *node = health->hosts[h]->first; node; node = node->host_next)
				if (is_up(node))
					return true;
		}
	return false;
}

/* A host was restarting when the collector stopped, and did not return in time. */
static void restart_to_missing(struct health *health, struct health_open_finding *restart,
			       const struct health_node *node)
{
	struct health_open_finding *open = health_hold(health, &(struct health_case){
		.kind = FINDING_NODE_MISSING, .severity = FINDING_WARNING, .node = node,
		.since = restart->since, .cause = "host", .subject = restart->finding.subject });

	health_drop(restart);
	open->restored = true;
	health_text(open, "all HCAs of %s " TENSE("have", "had") " been down for more than %lld min",
		    restart->finding.subject, (long long)(health->settings.missing_after_us / MINUTE_US));
	memcpy(open->finding.hosts, restart->finding.hosts, sizeof(open->finding.hosts));
	open->finding.host_count = restart->finding.host_count;
	open->finding.affected_hosts = restart->finding.affected_hosts;
	memcpy(open->finding.ports, restart->finding.ports, sizeof(open->finding.ports));
	open->finding.port_count = restart->finding.port_count;
}

void health_restored_nodes(struct health *health)
{
	size_t count = health->open.count;

	for (size_t i = 0; i < count; i++) {
		struct health_open_finding *open = health_open_at(health, i);
		const struct finding *finding = &open->finding;
		const struct health_node *node = health_find_node(health, finding->node_guid);
		int64_t gone_us = health->now_us - open->since.us;

		if (!open->restored || !node || gone_us >= health->settings.forget_us ||
		    (finding->kind != FINDING_NODE_MISSING && finding->kind != FINDING_HOST_RESTART))
			continue;
		/* With a tag it names hosts of a leaf, which is up itself. */
		if (finding->tag ? has_host(health, finding) : is_up(node)) {
			open->restored = false;
			continue;
		}
		health_extend(health, open);
		open->finding.last_seen_us = health->wall_us;
		if (finding->kind == FINDING_HOST_RESTART && gone_us >= health->settings.missing_after_us)
			restart_to_missing(health, open, node);
	}
}
