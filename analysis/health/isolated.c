/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Nodes without any link that is up, and which of them failed together
 *
 * A node is isolated when links of it are down and none is up. A host is down when all of its
 * cabled HCAs are isolated and most of them failed at once. Nodes that failed within restart_within
 * of their neighbour form a cluster: a switch with the hosts behind it, or hosts of one leaf. The
 * node with the lowest index represents the cluster.
 */
#include <stdlib.h>

#include "analysis/health/state.h"
#include "base/array.h"

static void mark_isolated(struct health *health, struct health_node *node, uint32_t at)
{
	uint32_t up = 0, down = 0;

	node->isolated = node->claimed = false;
	node->cluster = at;
	node->isolated_us = HEALTH_LONG_AGO;
	for (uint32_t i = node->first_port; i < node->first_port + node->slots; i++) {
		const struct health_port *port = &health->ports[i];

		if (port->peer == HEALTH_NONE)
			continue;
		if (!health_link_is_down(health, port)) {
			up += port->link == LINK_IS_UP;
			continue;
		}
		down++;
		/* The time when its last link went down, from the end that is down. */
		if (port->link != LINK_IS_DOWN)
			port = &health->ports[port->peer];
		if (port->changed_us >= node->isolated_us) {
			node->isolated_us = port->changed_us;
			node->isolated_wall_us = port->changed_wall_us;
		}
	}
	node->isolated = down && !up;
}

/* The first switch that an isolated HCA was cabled to, or NONE. */
static uint32_t leaf_of(const struct health *health, uint32_t at)
{
	const struct health_node *node = &health->nodes[at];

	for (uint32_t i = node->first_port; i < node->first_port + node->slots; i++)
		if (health->ports[i].peer != HEALTH_NONE)
			return health->ports[health->ports[i].peer].node;
	return HEALTH_NONE;
}

uint32_t health_cluster_of(struct health *health, uint32_t at)
{
	while (health->nodes[at].cluster != at)
		at = health->nodes[at].cluster = health->nodes[health->nodes[at].cluster].cluster;
	return at;
}

static void join(struct health *health, uint32_t a, uint32_t b)
{
	a = health_cluster_of(health, a);
	b = health_cluster_of(health, b);
	/* The lower index represents both, so the order does not matter. */
	if (a < b)
		health->nodes[b].cluster = a;
	else
		health->nodes[a].cluster = b;
}

/* Close enough in time for a common cause. */
static bool is_simultaneous(const struct health *health, int64_t a_us, int64_t b_us)
{
	return llabs(a_us - b_us) <= health->settings.restart_within_us;
}

struct health_host_view health_view_host(const struct health *health, const struct health_host *host)
{
	struct health_host_view view = { .last_us = HEALTH_LONG_AGO, .first = HEALTH_NONE };

	for (uint32_t at = host->first; at != HEALTH_NONE; at = health->nodes[at].host_next) {
		const struct health_node *node = &health->nodes[at];
		bool cabled = false;

		for (uint32_t i = node->first_port; i < node->first_port + node->slots && !cabled; i++)
			cabled = health->ports[i].peer != HEALTH_NONE && health->ports[i].link != LINK_NEVER_UP;
		if (!cabled)
			continue;
		view.cabled++;
		if (view.first == HEALTH_NONE || node->guid < health->nodes[view.first].guid)
			view.first = at;
		if (!node->isolated)
			continue;
		view.isolated++;
		if (node->isolated_us > view.last_us)
			view.last_us = node->isolated_us;
	}
	for (uint32_t at = host->first; at != HEALTH_NONE; at = health->nodes[at].host_next) {
		const struct health_node *node = &health->nodes[at];
		uint32_t leaf;

		if (!node->isolated || view.last_us - node->isolated_us > health->settings.restart_within_us)
			continue;
		view.recent++;
		if (!view.wall_us || node->isolated_wall_us < view.wall_us)
			view.wall_us = node->isolated_wall_us;
		leaf = leaf_of(health, at);
		view.behind_isolated += leaf != HEALTH_NONE && health->nodes[leaf].isolated;
	}
	return view;
}

void health_forget_host(struct health *health, uint32_t at)
{
	for (uint32_t node = health->hosts[at].first; node != HEALTH_NONE; node = health->nodes[node].host_next)
		for (uint32_t i = health->nodes[node].first_port;
		     i < health->nodes[node].first_port + health->nodes[node].slots; i++)
			for (uint32_t end = 0; end < 2; end++) {
				uint32_t port = end ? health->ports[i].peer : i;

				if (port != HEALTH_NONE && health->ports[port].tracker != HEALTH_NONE)
					health_forget_recent(&health->trackers[health->ports[port].tracker],
							     health->now_us - 2 * MINUTE_US, health->now_us);
			}
}

/* Detect that a host as a whole went down, or came back. */
static void update_host(struct health *health, uint32_t at)
{
	struct health_host *host = &health->hosts[at];
	struct health_host_view view = health_view_host(health, host);
	bool all = view.cabled && view.isolated == view.cabled && 2 * view.recent >= view.cabled;
	/* A single HCA may be down because of its cable, so the delay of a link applies. */
	bool down = all && (view.cabled > 1 || health->now_us - view.last_us >= health->settings.down_after_us);

	if (down && !host->down) {
		host->down = true;
		host->down_us = view.last_us;
		host->down_wall_us = view.wall_us;
		health_forget_host(health, at);
	} else if (host->down && view.cabled && view.isolated < view.cabled) {
		host->down = false;
		host->rack_guid = 0;
		host->restart_us = host->behind_isolated ? HEALTH_LONG_AGO : health->now_us;
		host->restart_wall_us = host->down_wall_us;
		host->charge_until_us = health->now_us + health->settings.restart_charge_us;
	}
	host->behind_isolated = host->down && view.recent && view.behind_isolated == view.recent;
}

static bool departed_with(const struct health *health, uint32_t hca, const struct health_host *host)
{
	return hca != HEALTH_NONE && is_simultaneous(health, health->hosts[health->nodes[hca].host].down_us,
						     host->down_us);
}

/*
 * Put a host into the cluster of the switch, or of the hosts of its leaf, that failed with it. In
 * order of time.
 */
static void join_host(struct health *health, const struct health_host *host)
{
	uint32_t leaf;

	for (uint32_t at = host->first; at != HEALTH_NONE; at = health->nodes[at].host_next) {
		struct health_node *node = &health->nodes[at];

		if (!node->isolated)
			continue;
		node->claimed = true;
		if (host->first != at)
			join(health, host->first, at);
		leaf = leaf_of(health, at);
		if (leaf == HEALTH_NONE)
			continue;
		if (health->nodes[leaf].isolated) {
			if (is_simultaneous(health, health->nodes[leaf].isolated_us, host->down_us) ||
			    host->behind_isolated)
				join(health, leaf, at);
		} else if (departed_with(health, health->nodes[leaf].isolated_host, host)) {
			join(health, health->nodes[leaf].isolated_host, at);
		} else {
			health->nodes[leaf].isolated_host = at;
		}
	}
}

static int compare_times(const void *a, const void *b)
{
	const struct departed_host *x = a, *y = b;

	if (x->us != y->us)
		return x->us < y->us ? -1 : 1;
	return (x->host > y->host) - (x->host < y->host);
}

/* Count the members of each cluster at the node that represents it. */
static void count_clusters(struct health *health)
{
	for (uint32_t i = 0; i < health->node_count; i++)
		health->nodes[i].cluster_switches = health->nodes[i].cluster_hosts = health->nodes[i].cluster_racks = 0;
	for (uint32_t i = 0; i < health->node_count; i++)
		if (health->nodes[i].isolated && health->nodes[i].type == NODE_SWITCH)
			health->nodes[health_cluster_of(health, i)].cluster_switches++;
	for (uint32_t i = 0; i < health->host_count; i++) {
		const struct health_host *host = &health->hosts[i];
		struct health_node *root;

		if (!host->down)
			continue;
		root = &health->nodes[health_cluster_of(health, host->first)];
		root->cluster_hosts++;
		root->cluster_racks += host->rack_guid != 0;
	}
}

/* List the hosts that are down by the time of their failure. Return: their number. */
static size_t list_departed(struct health *health)
{
	struct departed_host *grown;
	size_t count = 0;

	for (uint32_t i = 0; i < health->host_count; i++) {
		if (!health->hosts[i].down)
			continue;
		grown = array_grow(health->departed, count, &health->departed_capacity, sizeof(*grown));
		if (!grown) {
			health->failed = true;
			break;
		}
		health->departed = grown;
		grown[count++] = (struct departed_host){ .us = health->hosts[i].down_us, .host = i };
	}
	if (count)
		qsort(health->departed, count, sizeof(*health->departed), compare_times);
	return count;
}

void health_find_isolated(struct health *health)
{
	size_t departed;

	for (uint32_t i = 0; i < health->node_count; i++) {
		mark_isolated(health, &health->nodes[i], i);
		health->nodes[i].isolated_host = HEALTH_NONE;
	}
	for (uint32_t i = 0; i < health->host_count; i++)
		update_host(health, i);
	departed = list_departed(health);
	for (size_t g = 0; g < departed; g++)
		join_host(health, &health->hosts[health->departed[g].host]);
	health->isolated_switches = 0;
	for (uint32_t i = 0; i < health->node_count; i++)
		if (health->nodes[i].isolated && health->nodes[i].type == NODE_SWITCH) {
			health->nodes[i].claimed = true;
			health->isolated_switches++;
		}
	count_clusters(health);
}
