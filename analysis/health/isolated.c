/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Nodes without any link that is up, and which of them failed together
 *
 * A node is isolated when links of it are down and none is up. A host is down when all of its
 * cabled HCAs are isolated and most of them failed at once. Nodes that failed within restart_within
 * of their neighbour form a cluster: a switch with the hosts behind it, or hosts of one leaf. The
 * node with the lowest GUID represents the cluster.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/health/state.h"

static void mark_isolated(struct health_node *node)
{
	uint32_t up = 0, down = 0;

	node->claimed = false;
	node->cluster = node;
	node->isolated_us = HEALTH_LONG_AGO;
	for (uint32_t i = 0; i < node->slots; i++) {
		const struct health_port *port = &node->ports[i];

		if (!port->peer)
			continue;
		if (!health_link_is_down(port)) {
			up += port->link == LINK_IS_UP;
			continue;
		}
		down++;
		/* The time when its last link went down, from the end that is down. */
		if (port->link != LINK_IS_DOWN)
			port = port->peer;
		if (port->changed_us >= node->isolated_us) {
			node->isolated_us = port->changed_us;
			node->isolated_wall_us = port->changed_wall_us;
		}
	}
	node->isolated = down && !up;
	node->isolated_hca = NULL;
	node->cluster_switches = node->cluster_hosts = node->cluster_racks = 0;
}

/* The first switch that an isolated HCA was cabled to, or NULL. */
static struct health_node *leaf_of(const struct health_node *node)
{
	for (uint32_t i = 0; i < node->slots; i++)
		if (node->ports[i].peer)
			return node->ports[i].peer->node;
	return NULL;
}

struct health_node *health_cluster_of(struct health_node *node)
{
	while (node->cluster != node)
		node = node->cluster = node->cluster->cluster;
	return node;
}

static void join(struct health_node *a, struct health_node *b)
{
	a = health_cluster_of(a);
	b = health_cluster_of(b);
	/* The lower GUID represents both, so the order does not matter. */
	if (a->guid < b->guid)
		b->cluster = a;
	else
		a->cluster = b;
}

/* Close enough in time for a common cause. */
static bool is_simultaneous(const struct health *health, int64_t a_us, int64_t b_us)
{
	return llabs(a_us - b_us) <= health->settings.restart_within_us;
}

static bool is_cabled(const struct health_node *node)
{
	for (uint32_t i = 0; i < node->slots; i++)
		if (node->ports[i].peer && node->ports[i].link != LINK_NEVER_UP)
			return true;
	return false;
}

struct health_host_view health_view_host(const struct health *health, const struct health_host *host)
{
	struct health_host_view view = { .last_us = HEALTH_LONG_AGO };

	for (struct health_node *node = host->first; node; node = node->host_next) {
		if (!is_cabled(node))
			continue;
		view.cabled++;
		if (!view.first || node->guid < view.first->guid)
			view.first = node;
		if (!node->isolated)
			continue;
		view.isolated++;
		if (node->isolated_us > view.last_us)
			view.last_us = node->isolated_us;
	}
	for (const struct health_node *node = host->first; node; node = node->host_next) {
		const struct health_node *leaf;

		if (!node->isolated || view.last_us - node->isolated_us > health->settings.restart_within_us)
			continue;
		view.recent++;
		if (!view.wall_us || node->isolated_wall_us < view.wall_us)
			view.wall_us = node->isolated_wall_us;
		leaf = leaf_of(node);
		view.behind_isolated += leaf && leaf->isolated;
	}
	return view;
}

/* Detect that a host as a whole went down, or came back. */
static void update_host(struct health *health, struct health_host *host)
{
	struct health_host_view view = health_view_host(health, host);
	bool all = view.cabled && view.isolated == view.cabled && 2 * view.recent >= view.cabled;
	/* A single HCA may be down because of its cable, so the delay of a link applies. */
	bool down = all && (view.cabled > 1 || health->now_us - view.last_us >= health->settings.down_after_us);

	if (down && !host->down) {
		host->down = true;
		host->down_us = view.last_us;
		host->down_wall_us = view.wall_us;
		health_forget_host(health, host);
	} else if (host->down && view.cabled && view.isolated < view.cabled) {
		host->down = false;
		host->rack_guid = 0;
		host->restart_us = host->behind_isolated ? HEALTH_LONG_AGO : health->now_us;
		host->restart_wall_us = host->down_wall_us;
		host->charge_until_us = health->now_us + health->settings.restart_charge_us;
	}
	host->behind_isolated = host->down && view.recent && view.behind_isolated == view.recent;
}

/* Put a host into the cluster of the switch, or of the hosts of its leaf, that failed with it. */
static void join_host(struct health *health, const struct health_host *host)
{
	for (struct health_node *node = host->first; node; node = node->host_next) {
		struct health_node *leaf = leaf_of(node);

		if (!node->isolated)
			continue;
		node->claimed = true;
		join(host->first, node);
		if (!leaf)
			continue;
		if (leaf->isolated) {
			if (is_simultaneous(health, leaf->isolated_us, host->down_us) || host->behind_isolated)
				join(leaf, node);
		} else if (leaf->isolated_hca &&
			   is_simultaneous(health, leaf->isolated_hca->host->down_us, host->down_us)) {
			join(leaf->isolated_hca, node);
		} else {
			leaf->isolated_hca = node;
		}
	}
}

static int compare_down(const void *a, const void *b)
{
	const struct health_host *x = *(struct health_host *const *)a, *y = *(struct health_host *const *)b;

	if (x->down_us != y->down_us)
		return x->down_us < y->down_us ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Hosts that are down, in the order of their failure. */
static void join_hosts(struct health *health)
{
	struct health_host **down = calloc(health->host_count + 1, sizeof(struct health_host *));
	size_t count = 0;

	if (!down) {
		health->failed = true;
		return;
	}
	for (size_t i = 0; i < health->host_count; i++)
		if (health->hosts[i]->down)
			down[count++] = health->hosts[i];
	qsort(down, count, sizeof(struct health_host *), compare_down);
	for (size_t i = 0; i < count; i++)
		join_host(health, down[i]);
	free(down);
}

/* Count the members of each cluster at the node that represents it. */
static void count_clusters(struct health *health)
{
	health->isolated_switches = 0;
	for (uint32_t i = 0; i < health->node_count; i++) {
		struct health_node *node = health->nodes[i];

		if (!node->isolated || node->type != NODE_SWITCH)
			continue;
		node->claimed = true;
		health->isolated_switches++;
		health_cluster_of(node)->cluster_switches++;
	}
	for (uint32_t i = 0; i < health->host_count; i++) {
		const struct health_host *host = health->hosts[i];

		if (!host->down || !host->first)
			continue;
		health_cluster_of(host->first)->cluster_hosts++;
		health_cluster_of(host->first)->cluster_racks += host->rack_guid != 0;
	}
}

void health_find_isolated(struct health *health)
{
	for (uint32_t i = 0; i < health->node_count; i++)
		mark_isolated(health->nodes[i]);
	for (uint32_t i = 0; i < health->host_count; i++)
		update_host(health, health->hosts[i]);
	join_hosts(health);
	count_clusters(health);
}
