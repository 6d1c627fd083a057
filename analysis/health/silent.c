/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Nodes whose links are up and whose performance agents do not answer. */
#include "analysis/health/state.h"

/* Is an HCA behind switches alone that answer nothing themselves? */
static bool is_echo(const struct health *health, const struct health_node *node)
{
	uint32_t cabled = 0, i;

	for (i = node->first_port; i < node->first_port + node->slots; i++) {
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
 * A subnet manager takes a switch that is silent to it for gone, and with it the routes to what is behind. These
 * HCAs are silent because of their switch: it is told, and they are not, nor counted; when it answers again they
 * have as long as anybody. One that was told before stays.
 */
static void mark_echoes(struct health *health)
{
	uint32_t i;

	for (i = 0; i < health->node_count; i++) {
		struct health_node *node = &health->nodes[i];

		node->silent_echo = node->type == NODE_CA && node->asked && !node->answered && is_echo(health, node) &&
				    !health_find(health, FINDING_NODE_SILENT, node->guid, 0, 0);
		if (!node->silent_echo)
			continue;
		health->nodes_silent -= node->silent;
		node->silent = true;
		node->silent_sweeps = 0;
		node->answered_us = health->now_us;
	}
}

/* Which nodes do not answer, and for how long. */
static void find_silent(struct health *health)
{
	const struct health_settings *settings = &health->settings;
	size_t i;

	health->nodes_asked = health->nodes_silent = 0;
	for (i = 0; i < health->node_count; i++) {
		struct health_node *node = &health->nodes[i];

		if (!node->asked) {
			node->silent = false;
			node->silent_sweeps = 0;
			node->answered_us = health->now_us;
			continue;
		}
		health->nodes_asked++;
		if (node->answered) {
			node->silent = false;
			node->silent_sweeps = 0;
			node->answered_us = health->now_us;
			continue;
		}
		if (!node->silent_sweeps++)
			node->silent_wall_us = health->wall_us;
		node->silent = (node->silent_sweeps >= settings->silent_sweeps &&
				health->now_us - node->answered_us >= settings->silent_after_us) ||
			       health_find(health, FINDING_NODE_SILENT, node->guid, 0, 0);
		health->nodes_silent += node->silent;
	}
	mark_echoes(health);
	/* So many at once are no faults of theirs: coverage says it. */
	health->silence_of_many = health->nodes_silent > 8 && health->nodes_silent * 10 > health->nodes_asked;
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
		health_text(open, "%u HCAs of %s answer nothing for %s (%u sweeps); their links are up", hcas, host,
			    health_duration(health->now_us - node->answered_us, since), node->silent_sweeps);
	} else {
		health_subject(open, "%s", node->name);
		health_text(open, "%s answers nothing for %s (%u sweeps); its links are up", node->name,
			    health_duration(health->now_us - node->answered_us, since), node->silent_sweeps);
	}
	health_number(open, "silent_s", (double)(health->now_us - node->answered_us) / SECOND_US);
	health_number(open, "silent_sweeps", node->silent_sweeps);
	health_number(open, "nodes", hcas);
	if (open->touched == health->generation)
		return;
	open->touched = health->generation;
	open->finding.host_count = open->finding.hosts_touched = 0;
	if (host)
		health_touch(open, host);
	else
		health_touch_below(health, open, at);
}

static void tell_silent(struct health *health)
{
	uint32_t i, at;

	for (i = 0; i < health->host_count; i++) {
		uint32_t first = HEALTH_NONE, count = 0;

		for (at = health->hosts[i].first; at != HEALTH_NONE; at = health->nodes[at].host_next) {
			if (!health->nodes[at].silent || health->nodes[at].silent_echo)
				continue;
			count++;
			if (first == HEALTH_NONE || health->nodes[at].guid < health->nodes[first].guid)
				first = at;
		}
		if (count)
			hold_silent(health, first, count, health->hosts[i].name);
	}
	for (i = 0; i < health->node_count; i++)
		if (health->nodes[i].silent && health->nodes[i].host == HEALTH_NONE)
			hold_silent(health, i, 1, NULL);
}

void health_silent(struct health *health)
{
	find_silent(health);
	if (!health->silence_of_many)
		tell_silent(health);
}
