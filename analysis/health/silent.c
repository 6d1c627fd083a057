/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Unresponsive nodes: links are up, the performance agent does not respond. */
#include "analysis/health/state.h"

/* All switches that an HCA is cabled to are unresponsive. */
static bool is_behind_silent_switch(const struct health *health, const struct health_node *node)
{
	uint32_t cabled = 0;

	for (uint32_t i = node->first_port; i < node->first_port + node->slots; i++) {
		const struct health_node *other;

		if (health->ports[i].peer == HEALTH_NONE)
			continue;
		other = &health->nodes[health->ports[health->ports[i].peer].node];
		if (other->type != NODE_SWITCH || !other->silent_sweeps)
			return false;
		cabled++;
	}
	return cabled > 0;
}

/*
 * A subnet manager removes an unresponsive switch, and with it the routes to the HCAs behind it.
 * Only the switch is reported. When it responds again, the delay of these HCAs is restarted. A
 * finding that is already open stays.
 */
static void mark_behind_silent_switch(struct health *health)
{
	for (uint32_t i = 0; i < health->node_count; i++) {
		struct health_node *node = &health->nodes[i];

		node->behind_silent_switch = node->type == NODE_CA && node->polled && !node->responded &&
			is_behind_silent_switch(health, node) &&
				    !health_find(health, FINDING_NODE_SILENT, node->guid, 0, 0);
		if (!node->behind_silent_switch)
			continue;
		health->nodes_silent -= node->silent;
		node->silent = true;
		node->silent_sweeps = 0;
		node->responded_us = health->now_us;
	}
}

/* Update the unresponsive nodes and since when they are. */
static void find_silent(struct health *health)
{
	const struct health_settings *settings = &health->settings;

	health->nodes_polled = health->nodes_silent = 0;
	for (size_t i = 0; i < health->node_count; i++) {
		struct health_node *node = &health->nodes[i];

		if (!node->polled) {
			node->silent = false;
			node->silent_sweeps = 0;
			node->responded_us = health->now_us;
			continue;
		}
		health->nodes_polled++;
		if (node->responded) {
			node->silent = false;
			node->silent_sweeps = 0;
			node->responded_us = health->now_us;
			continue;
		}
		if (!node->silent_sweeps++)
			node->silent_wall_us = health->wall_us;
		node->silent = (node->silent_sweeps >= settings->silent_sweeps &&
				health->now_us - node->responded_us >= settings->silent_after_us) ||
			       health_find(health, FINDING_NODE_SILENT, node->guid, 0, 0);
		health->nodes_silent += node->silent;
	}
	mark_behind_silent_switch(health);
	/* A mass failure is not a fault of the nodes: it is reported as coverage. */
	health->mass_silence = health->nodes_silent > 8 && health->nodes_silent * 10 > health->nodes_polled;
}

static void hold_silent(struct health *health, uint32_t at, uint32_t hcas, const char *host)
{
	const struct health_node *node = &health->nodes[at];
	bool is_switch = node->type == NODE_SWITCH;
	struct health_open_finding *open;
	char since[32];

	open = health_hold(health, &(struct health_case){
		.kind = FINDING_NODE_SILENT, .severity = is_switch ? FINDING_CRITICAL : FINDING_WARNING, .node = at,
		.port = HEALTH_NONE, .peer = HEALTH_NONE, .since_wall_us = node->silent_wall_us,
		.cause = is_switch ? "switch" : hcas > 1 ? "host" : "hca" });
	if (!open)
		return;
	if (host && hcas > 1) {
		health_subject(open, "%s", host);
		health_text(open, "%u HCAs of %s have not responded for %s (%u sweeps); their links are up", hcas, host,
			    health_duration(health->now_us - node->responded_us, since), node->silent_sweeps);
	} else {
		health_subject(open, "%s", node->name);
		health_text(open, "%s has not responded for %s (%u sweeps); its links are up", node->name,
			    health_duration(health->now_us - node->responded_us, since), node->silent_sweeps);
	}
	health_number(open, "silent_s", (double)(health->now_us - node->responded_us) / SECOND_US);
	health_number(open, "silent_sweeps", node->silent_sweeps);
	health_number(open, "nodes", hcas);
	if (open->affected_generation == health->generation)
		return;
	open->affected_generation = health->generation;
	open->finding.host_count = open->finding.hosts_touched = 0;
	if (host)
		health_add_affected(open, host);
	else
		health_add_affected_below(health, open, at);
}

static void report_silent(struct health *health)
{
	for (uint32_t i = 0; i < health->host_count; i++) {
		uint32_t first = HEALTH_NONE, count = 0;

		for (uint32_t at = health->hosts[i].first; at != HEALTH_NONE; at = health->nodes[at].host_next) {
			if (!health->nodes[at].silent || health->nodes[at].behind_silent_switch)
				continue;
			count++;
			if (first == HEALTH_NONE || health->nodes[at].guid < health->nodes[first].guid)
				first = at;
		}
		if (count)
			hold_silent(health, first, count, health->hosts[i].name);
	}
	for (uint32_t i = 0; i < health->node_count; i++)
		if (health->nodes[i].silent && health->nodes[i].host == HEALTH_NONE)
			hold_silent(health, i, 1, NULL);
}

void health_silent(struct health *health)
{
	find_silent(health);
	if (!health->mass_silence)
		report_silent(health);
}
