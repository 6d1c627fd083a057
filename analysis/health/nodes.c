/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Findings about whole nodes that left the fabric or restart; isolated.c detects them. They explain
 * the links that are down with them, so this rule runs before the rules about links.
 */
#include "analysis/health/state.h"

/* The isolated nodes of a cluster. */
struct cluster {
	uint32_t switches, hosts;
	uint32_t lead;               /* switch of the lowest tier, then of the lowest GUID */
	int64_t last_us, wall_us;
};

static bool leads(const struct health_node *node, const struct health_node *other)
{
	unsigned tier = node->tier ? node->tier : UINT8_MAX, than = other->tier ? other->tier : UINT8_MAX;

	return tier != than ? tier < than : node->guid < other->guid;
}

static struct cluster view_cluster(struct health *health, uint32_t root)
{
	struct cluster cluster = { .lead = HEALTH_NONE, .last_us = HEALTH_LONG_AGO };

	for (uint32_t i = 0; i < health->node_count; i++) {
		const struct health_node *node = &health->nodes[i];

		if (!node->isolated || health_cluster_of(health, i) != root)
			continue;
		if (node->type == NODE_SWITCH) {
			cluster.switches++;
			if (cluster.lead == HEALTH_NONE || leads(node, &health->nodes[cluster.lead]))
				cluster.lead = i;
			if (node->isolated_us > cluster.last_us)
				cluster.last_us = node->isolated_us;
			if (!cluster.wall_us || node->isolated_wall_us < cluster.wall_us)
				cluster.wall_us = node->isolated_wall_us;
		} else if (node->host != HEALTH_NONE && health->hosts[node->host].first == i) {
			cluster.hosts++;
		}
	}
	return cluster;
}

static void hold_switches(struct health *health, uint32_t root)
{
	struct cluster cluster = view_cluster(health, root);
	int64_t down_us = health->now_us - cluster.last_us;
	long long limit_s = health->settings.down_after_us / SECOND_US;
	const struct health_node *lead;
	struct health_open_finding *open;
	char since[32];

	if (cluster.lead == HEALTH_NONE || down_us >= health->settings.forget_us)
		return;
	lead = &health->nodes[cluster.lead];
	if (down_us < health->settings.down_after_us && !health_find(health, FINDING_NODE_MISSING, lead->guid, 0, 0))
		return;
	open = health_hold(health, &(struct health_case){
		.kind = FINDING_NODE_MISSING, .severity = FINDING_CRITICAL, .node = lead,
		.since_wall_us = cluster.wall_us, .cause = cluster.switches > 1 ? "rack" : "switch" });
	health_duration(down_us, since);
	if (cluster.switches > 1 || cluster.hosts)
		health_text(open,
			    "all links of %s have been down for %s (threshold %lld s); %u switches and %u hosts failed "
			    "together", lead->name, since, limit_s, cluster.switches, cluster.hosts);
	else
		health_text(open, "all links of %s have been down for %s (threshold %lld s); its neighbors are up",
			    lead->name, since, limit_s);
	health_number(open, "down_s", (double)down_us / SECOND_US);
	health_number(open, "switches_gone", cluster.switches);
	health_number(open, "hosts_gone", cluster.hosts);
	if (!cluster.hosts) {
		health_affected_below(health, open, cluster.lead);
		return;
	}
	health_clear_affected(open);
	for (uint32_t i = 0; i < health->host_count; i++)
		if (health->hosts[i].down && health_cluster_of(health, health->hosts[i].first) == root)
			health_add_affected(open, health->hosts[i].name);
}

/* The leaf with most HCAs of a cluster, on a tie the one with the lowest GUID. */
static uint32_t common_leaf(struct health *health, uint32_t root)
{
	uint32_t best = HEALTH_NONE, most = 0;

	for (uint32_t i = 0; i < health->node_count; i++) {
		const struct health_node *leaf = &health->nodes[i];
		uint32_t count = 0;

		if (leaf->isolated_host == HEALTH_NONE)
			continue;
		for (uint32_t p = leaf->first_port; p < leaf->first_port + leaf->slots; p++) {
			uint32_t peer = health->ports[p].peer;

			if (peer != HEALTH_NONE && health->nodes[health->ports[peer].node].isolated)
				count += health_cluster_of(health, health->ports[peer].node) == root;
		}
		if (count > most || (count == most && best != HEALTH_NONE && leaf->guid < health->nodes[best].guid)) {
			most = count;
			best = i;
		}
	}
	return best;
}

/* An unused tag: a leaf may lose several racks one after the other. */
static uint8_t free_rack_tag(struct health *health, uint64_t leaf_guid)
{
	unsigned tag;
	uint32_t i;

	for (tag = 1; tag < UINT8_MAX; tag++) {
		for (i = 0; i < health->host_count; i++)
			if (health->hosts[i].rack_guid == leaf_guid && health->hosts[i].rack_tag == tag)
				break;
		if (i == health->host_count && !health_find(health, FINDING_NODE_MISSING, leaf_guid, 0, (uint8_t)tag))
			break;
	}
	return (uint8_t)tag;
}

/* Hosts of one leaf that failed together are one finding of the leaf. */
static void claim_rack(struct health *health, uint32_t root)
{
	uint32_t leaf;
	uint64_t guid = 0;
	uint8_t tag = 0;

	for (uint32_t i = 0; i < health->host_count; i++) {
		const struct health_host *host = &health->hosts[i];

		if (host->down && host->rack_guid && health_cluster_of(health, host->first) == root) {
			guid = host->rack_guid;
			tag = host->rack_tag;
		}
	}
	if (!guid) {
		leaf = common_leaf(health, root);
		if (leaf == HEALTH_NONE)
			return;
		guid = health->nodes[leaf].guid;
		tag = free_rack_tag(health, guid);
	}
	for (uint32_t i = 0; i < health->host_count; i++)
		if (health->hosts[i].down && health_cluster_of(health, health->hosts[i].first) == root) {
			health->hosts[i].rack_guid = guid;
			health->hosts[i].rack_tag = tag;
		}
}

static bool is_of_rack(const struct health_host *host, uint64_t guid, uint8_t tag)
{
	return host->down && host->rack_guid == guid && host->rack_tag == tag;
}

/* Report all hosts of a leaf that failed together. */
static void hold_rack(struct health *health, uint32_t leaf, uint8_t tag)
{
	const struct health_node *node = &health->nodes[leaf];
	int64_t last_us = HEALTH_LONG_AGO, wall_us = 0;
	struct health_open_finding *open;
	uint32_t hosts = 0;
	char since[32];

	for (uint32_t i = 0; i < health->host_count; i++) {
		const struct health_host *host = &health->hosts[i];

		if (!is_of_rack(host, node->guid, tag))
			continue;
		hosts++;
		if (host->down_us > last_us)
			last_us = host->down_us;
		if (!wall_us || host->down_wall_us < wall_us)
			wall_us = host->down_wall_us;
	}
	if (!hosts || health->now_us - last_us < health->settings.down_after_us)
		return;
	open = health_hold(health, &(struct health_case){
		.kind = FINDING_NODE_MISSING, .severity = FINDING_WARNING, .node = node, .tag = tag,
		.since_wall_us = wall_us, .cause = "rack" });
	health_subject(open, "hosts of %s", node->name);
	health_text(open,
		    "%u hosts of %s (threshold %u) went down together and have been down for %s; the switch is up",
		    hosts, node->name, health->settings.rack_hosts, health_duration(health->now_us - last_us, since));
	health_number(open, "down_s", (double)(health->now_us - last_us) / SECOND_US);
	health_number(open, "hosts_gone", hosts);
	health_clear_affected(open);
	for (uint32_t i = 0; i < health->host_count; i++)
		if (is_of_rack(&health->hosts[i], node->guid, tag))
			health_add_affected(open, health->hosts[i].name);
}

static void hold_host(struct health *health, const struct health_host *host)
{
	const struct health_settings *settings = &health->settings;
	int64_t down_us = health->now_us - host->down_us;
	bool missing = host->down && down_us >= settings->missing_after_us;
	struct health_open_finding *open;
	struct health_host_view view;
	char since[32];

	if (!host->down && health->now_us - host->restart_us >= settings->restart_charge_us)
		return;
	if (host->down && (host->rack_guid || host->behind_isolated || down_us < settings->down_after_us ||
			   down_us >= settings->forget_us))
		return;
	view = health_view_host(health, host);
	if (view.first == HEALTH_NONE)
		return;
	open = health_hold(health, &(struct health_case){
		.kind = missing ? FINDING_NODE_MISSING : FINDING_HOST_RESTART,
		.severity = missing ? FINDING_WARNING : FINDING_INFO, .node = &health->nodes[view.first],
		.since_wall_us = host->down ? host->down_wall_us : host->restart_wall_us, .cause = "host",
		.subject = host->name });
	health_duration(down_us, since);
	if (missing) {
		health_drop(health_find(health, FINDING_HOST_RESTART, health->nodes[view.first].guid, 0, 0));
		health_text(open, "all %u HCAs of %s have been down for %s (threshold %lld min)", view.cabled,
			    host->name, since, (long long)(settings->missing_after_us / MINUTE_US));
		health_number(open, "down_s", (double)down_us / SECOND_US);
	} else if (host->down) {
		health_text(open, "all %u HCAs of %s went down together %s ago: it restarts, or is powered off",
			    view.cabled, host->name, since);
	} else {
		health_text(open, "%s restarted: all of its %u HCAs went down together and came back", host->name,
			    view.cabled);
	}
	health_number(open, "hcas", view.cabled);
	health_affected_host(open, host->name);
}

static void hold_racks(struct health *health)
{
	uint32_t j, leaf;

	for (uint32_t i = 0; i < health->host_count; i++) {
		const struct health_host *host = &health->hosts[i];

		if (!host->down || !host->rack_guid || !map_get(&health->by_guid, host->rack_guid, &leaf))
			continue;
		/* Report it once, for the first of its hosts. */
		for (j = 0; j < i && !is_of_rack(&health->hosts[j], host->rack_guid, host->rack_tag); j++)
			;
		if (j == i)
			hold_rack(health, leaf, host->rack_tag);
	}
}

static void find_missing(struct health *health)
{
	health_find_isolated(health);
	for (uint32_t i = 0; i < health->node_count; i++) {
		const struct health_node *node = &health->nodes[i];

		if (node->cluster_switches)
			hold_switches(health, i);
		else if (node->cluster_racks || node->cluster_hosts >= health->settings.rack_hosts)
			claim_rack(health, i);
	}
	hold_racks(health);
}

void health_nodes(struct health *health)
{
	if (health->down_ports || health->isolated_before)
		find_missing(health);
	health->isolated_before = health->down_ports > 0;
	for (uint32_t i = 0; i < health->host_count; i++)
		hold_host(health, &health->hosts[i]);
}
