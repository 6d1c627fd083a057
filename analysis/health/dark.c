/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/health/dark.h"

#include <stdlib.h>

#include "analysis/health/state.h"
#include "base/array.h"

static void mark_dark(struct health *health, struct health_node *node, uint32_t at)
{
	uint32_t up = 0, down = 0, i;

	node->dark = node->claimed = false;
	node->cluster = at;
	node->dark_us = HEALTH_LONG_AGO;
	for (i = node->first_port; i < node->first_port + node->slots; i++) {
		const struct health_port *port = &health->ports[i];

		if (port->peer == HEALTH_NONE)
			continue;
		if (!health_link_is_down(health, port)) {
			up += port->link == LINK_IS_UP;
			continue;
		}
		down++;
		/* Of the two ends the one that says so; of links the last one: then it went. */
		if (port->link != LINK_IS_DOWN)
			port = &health->ports[port->peer];
		if (port->changed_us >= node->dark_us) {
			node->dark_us = port->changed_us;
			node->dark_wall_us = port->changed_wall_us;
		}
	}
	node->dark = down && !up;
}

/* The switch behind a dark HCA, where it is dark as well; else the switch itself. */
static uint32_t leaf_of(const struct health *health, uint32_t at)
{
	const struct health_node *node = &health->nodes[at];
	uint32_t i;

	for (i = node->first_port; i < node->first_port + node->slots; i++)
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
	/* The lower stands for both, so that order does not matter. */
	if (a < b)
		health->nodes[b].cluster = a;
	else
		health->nodes[a].cluster = b;
}

/* Did they go so close to one another that it was one cause? */
static bool together(const struct health *health, int64_t a_us, int64_t b_us)
{
	return llabs(a_us - b_us) <= health->settings.restart_within_us;
}

struct health_host_view health_view_host(const struct health *health, const struct health_host *host)
{
	struct health_host_view view = { .last_us = HEALTH_LONG_AGO, .first = HEALTH_NONE };
	uint32_t at, i;

	for (at = host->first; at != HEALTH_NONE; at = health->nodes[at].host_next) {
		const struct health_node *node = &health->nodes[at];
		bool cabled = false;

		for (i = node->first_port; i < node->first_port + node->slots && !cabled; i++)
			cabled = health->ports[i].peer != HEALTH_NONE && health->ports[i].link != LINK_NEVER_UP;
		if (!cabled)
			continue;
		view.cabled++;
		if (view.first == HEALTH_NONE || node->guid < health->nodes[view.first].guid)
			view.first = at;
		if (!node->dark)
			continue;
		view.dark++;
		if (node->dark_us > view.last_us)
			view.last_us = node->dark_us;
	}
	for (at = host->first; at != HEALTH_NONE; at = health->nodes[at].host_next) {
		const struct health_node *node = &health->nodes[at];
		uint32_t leaf;

		if (!node->dark || view.last_us - node->dark_us > health->settings.restart_within_us)
			continue;
		view.lately++;
		if (!view.wall_us || node->dark_wall_us < view.wall_us)
			view.wall_us = node->dark_wall_us;
		leaf = leaf_of(health, at);
		view.behind_dark += leaf != HEALTH_NONE && health->nodes[leaf].dark;
	}
	return view;
}

void health_forget_host(struct health *health, uint32_t at)
{
	uint32_t node, i, end;

	for (node = health->hosts[at].first; node != HEALTH_NONE; node = health->nodes[node].host_next)
		for (i = health->nodes[node].first_port;
		     i < health->nodes[node].first_port + health->nodes[node].slots; i++)
			for (end = 0; end < 2; end++) {
				uint32_t port = end ? health->ports[i].peer : i;

				if (port != HEALTH_NONE && health->ports[port].tracker != HEALTH_NONE)
					health_forget_lately(&health->trackers[health->ports[port].tracker],
							     health->now_us - 2 * MINUTE_US, health->now_us);
			}
}

/* Is the host as a whole down, up again, restarting? */
static void follow_host(struct health *health, uint32_t at)
{
	struct health_host *host = &health->hosts[at];
	struct health_host_view view = health_view_host(health, host);
	bool all = view.cabled && view.dark == view.cabled && 2 * view.lately >= view.cabled;
	/* One HCA that is gone may be its cable: it takes as long as a cable does to be called so. */
	bool down = all && (view.cabled > 1 || health->now_us - view.last_us >= health->settings.down_after_us);

	if (down && !host->down) {
		host->down = true;
		host->down_us = view.last_us;
		host->down_wall_us = view.wall_us;
		health_forget_host(health, at);
	} else if (host->down && view.cabled && view.dark < view.cabled) {
		host->down = false;
		host->rack_guid = 0;
		host->restart_us = host->behind_dark ? HEALTH_LONG_AGO : health->now_us;
		host->restart_wall_us = host->down_wall_us;
		host->charge_until_us = health->now_us + health->settings.restart_charge_us;
	}
	host->behind_dark = host->down && view.lately && view.behind_dark == view.lately;
}

static bool went_with(const struct health *health, uint32_t hca, const struct health_host *host)
{
	return hca != HEALTH_NONE && together(health, health->hosts[health->nodes[hca].host].down_us, host->down_us);
}

/* Hosts that went with a switch, or with other hosts of a leaf, are of its cluster. In order of going. */
static void join_host(struct health *health, const struct health_host *host)
{
	uint32_t at, leaf;

	for (at = host->first; at != HEALTH_NONE; at = health->nodes[at].host_next) {
		struct health_node *node = &health->nodes[at];

		if (!node->dark)
			continue;
		node->claimed = true;
		if (host->first != at)
			join(health, host->first, at);
		leaf = leaf_of(health, at);
		if (leaf == HEALTH_NONE)
			continue;
		if (health->nodes[leaf].dark) {
			if (together(health, health->nodes[leaf].dark_us, host->down_us) || host->behind_dark)
				join(health, leaf, at);
		} else if (went_with(health, health->nodes[leaf].dark_host, host)) {
			join(health, health->nodes[leaf].dark_host, at);
		} else {
			health->nodes[leaf].dark_host = at;
		}
	}
}

static int by_time(const void *a, const void *b)
{
	const struct health_gone *x = a, *y = b;

	if (x->us != y->us)
		return x->us < y->us ? -1 : 1;
	return (x->host > y->host) - (x->host < y->host);
}

/* What is in each cluster, noted at the node that stands for it. */
static void count_clusters(struct health *health)
{
	uint32_t i;

	for (i = 0; i < health->node_count; i++)
		health->nodes[i].cluster_switches = health->nodes[i].cluster_hosts = health->nodes[i].cluster_racks = 0;
	for (i = 0; i < health->node_count; i++)
		if (health->nodes[i].dark && health->nodes[i].type == NODE_SWITCH)
			health->nodes[health_cluster_of(health, i)].cluster_switches++;
	for (i = 0; i < health->host_count; i++) {
		const struct health_host *host = &health->hosts[i];
		struct health_node *root;

		if (!host->down)
			continue;
		root = &health->nodes[health_cluster_of(health, host->first)];
		root->cluster_hosts++;
		root->cluster_racks += host->rack_guid != 0;
	}
}

/* Hosts that are down, in the order in which they went. Return: how many. */
static size_t list_gone(struct health *health)
{
	struct health_gone *grown;
	size_t count = 0;
	uint32_t i;

	for (i = 0; i < health->host_count; i++) {
		if (!health->hosts[i].down)
			continue;
		grown = array_grow(health->gone, count, &health->gone_capacity, sizeof(*grown));
		if (!grown) {
			health->failed = true;
			break;
		}
		health->gone = grown;
		grown[count++] = (struct health_gone){ .us = health->hosts[i].down_us, .host = i };
	}
	if (count)
		qsort(health->gone, count, sizeof(*health->gone), by_time);
	return count;
}

void health_find_dark(struct health *health)
{
	size_t gone, g;
	uint32_t i;

	for (i = 0; i < health->node_count; i++) {
		mark_dark(health, &health->nodes[i], i);
		health->nodes[i].dark_host = HEALTH_NONE;
	}
	for (i = 0; i < health->host_count; i++)
		follow_host(health, i);
	gone = list_gone(health);
	for (g = 0; g < gone; g++)
		join_host(health, &health->hosts[health->gone[g].host]);
	health->dark_switches = 0;
	for (i = 0; i < health->node_count; i++)
		if (health->nodes[i].dark && health->nodes[i].type == NODE_SWITCH) {
			health->nodes[i].claimed = true;
			health->dark_switches++;
		}
	count_clusters(health);
}
