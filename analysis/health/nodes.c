/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Findings about whole nodes that left the fabric or restart. They explain the links that are down
 * with them, so this rule runs before the rules about links.
 *
 * A node is isolated when links of it are down and none is up. A host is down when all of its
 * cabled HCAs are isolated and most of them failed at once. Nodes that failed within restart_within
 * of their neighbour form a cluster: a switch with the hosts behind it, or hosts of one leaf. The
 * node with the lowest GUID represents the cluster.
 */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "analysis/health/state.h"

/* The isolated HCAs of a host. */
struct host_hcas {
	uint32_t cabled, isolated, recent; /* recent: within restart_within of the last */
	uint32_t behind_isolated;          /* their leaf is isolated, too */
	struct health_node *first;     /* with the lowest GUID, or NULL */
	int64_t last_us;               /* of the last failure */
	struct health_time first_recent;
};

/* A discovery found the node; that a link is up is known from either end. */
static bool is_found(const struct health *health, const struct health_node *node)
{
	return node->now != FABRIC_NONE && !health->fabric->nodes[node->now].kept;
}

static void mark_isolated(const struct health *health, struct health_node *node)
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
			up += port->link == LINK_IS_UP &&
			      (is_found(health, node) || is_found(health, port->peer->node));
			continue;
		}
		down++;
		/* The time when its last link went down, from the end that is down. */
		if (port->link != LINK_IS_DOWN)
			port = port->peer;
		if (port->changed_us >= node->isolated_us) {
			node->isolated_us = port->changed_us;
			node->isolated_since = port->began;
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

struct health_node *health_cluster(struct health_node *node)
{
	while (node->cluster != node)
		node = node->cluster = node->cluster->cluster;
	return node;
}

static void join(struct health_node *a, struct health_node *b)
{
	a = health_cluster(a);
	b = health_cluster(b);
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

static struct host_hcas count_hcas(const struct health *health, const struct health_host *host)
{
	struct host_hcas hcas = { .last_us = HEALTH_LONG_AGO };

	for (struct health_node *node = host->first; node; node = node->host_next) {
		if (!is_cabled(node))
			continue;
		hcas.cabled++;
		if (!hcas.first || node->guid < hcas.first->guid)
			hcas.first = node;
		if (!node->isolated)
			continue;
		hcas.isolated++;
		if (node->isolated_us > hcas.last_us)
			hcas.last_us = node->isolated_us;
	}
	for (const struct health_node *node = host->first; node; node = node->host_next) {
		const struct health_node *leaf;

		if (!node->isolated || hcas.last_us - node->isolated_us > health->settings.restart_within_us)
			continue;
		hcas.recent++;
		if (!hcas.first_recent.us || node->isolated_since.us < hcas.first_recent.us)
			hcas.first_recent = node->isolated_since;
		leaf = leaf_of(node);
		hcas.behind_isolated += leaf && leaf->isolated;
	}
	return hcas;
}

/* Detect that a host as a whole went down, or came back. */
static void update_host(struct health *health, struct health_host *host)
{
	struct host_hcas hcas = count_hcas(health, host);
	bool all = hcas.cabled && hcas.isolated == hcas.cabled && 2 * hcas.recent >= hcas.cabled;
	/* A single HCA may be down because of its cable, so the delay of a link applies. */
	bool down = all && (hcas.cabled > 1 || health->now_us - hcas.last_us >= health->settings.down_after_us);

	if (down && !host->down) {
		host->down = true;
		host->down_us = hcas.last_us;
		host->down_since = hcas.first_recent;
		health_forget_host(health, host);
	} else if (host->down && hcas.cabled && hcas.isolated < hcas.cabled) {
		host->down = false;
		host->rack_guid = 0;
		host->restart_us = host->behind_isolated ? HEALTH_LONG_AGO : health->now_us;
		host->restart_since = host->down_since;
		host->charge_until_us = health->now_us + health->settings.restart_charge_us;
	}
	host->behind_isolated = host->down && hcas.recent && hcas.behind_isolated == hcas.recent;
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
		health_cluster(node)->cluster_switches++;
	}
	for (uint32_t i = 0; i < health->host_count; i++) {
		const struct health_host *host = health->hosts[i];

		if (!host->down || !host->first)
			continue;
		health_cluster(host->first)->cluster_hosts++;
		health_cluster(host->first)->cluster_racks += host->rack_guid != 0;
	}
}

/* Mark isolated nodes and hosts from the current links, and cluster them. */
static void find_isolated(struct health *health)
{
	for (uint32_t i = 0; i < health->node_count; i++)
		mark_isolated(health, health->nodes[i]);
	for (uint32_t i = 0; i < health->host_count; i++)
		update_host(health, health->hosts[i]);
	join_hosts(health);
	count_clusters(health);
}

/* The isolated nodes of a cluster. */
struct cluster {
	uint32_t switches, hosts;
	const struct health_node *lead; /* switch of the lowest tier, then of the lowest GUID */
	int64_t last_us;
	struct health_time since;
};

static bool leads(const struct health_node *node, const struct health_node *other)
{
	unsigned tier = node->tier ? node->tier : UINT8_MAX, than = other->tier ? other->tier : UINT8_MAX;

	return tier != than ? tier < than : node->guid < other->guid;
}

static struct cluster view_cluster(struct health *health, const struct health_node *root)
{
	struct cluster cluster = { .last_us = HEALTH_LONG_AGO };

	for (uint32_t i = 0; i < health->node_count; i++) {
		struct health_node *node = health->nodes[i];

		if (!node->isolated || health_cluster(node) != root)
			continue;
		if (node->type != NODE_SWITCH) {
			cluster.hosts += node->host && node->host->first == node;
			continue;
		}
		cluster.switches++;
		if (!cluster.lead || leads(node, cluster.lead))
			cluster.lead = node;
		if (node->isolated_us > cluster.last_us)
			cluster.last_us = node->isolated_us;
		if (!cluster.since.us || node->isolated_since.us < cluster.since.us)
			cluster.since = node->isolated_since;
	}
	return cluster;
}

/* A host that went down, as a member of a cluster. */
static bool is_of_cluster(const struct health_host *host, const struct health_node *root)
{
	return host->down && host->first && health_cluster(host->first) == root;
}

static void hold_switches(struct health *health, const struct health_node *root)
{
	struct cluster cluster = view_cluster(health, root);
	int64_t down_us = health->now_us - cluster.last_us;
	long long limit_s = health->settings.down_after_us / SECOND_US;
	struct health_open_finding *open;
	struct health_set ports = { 0 };
	char since[32];

	if (!cluster.lead || down_us >= health->settings.forget_us ||
	    (down_us < health->settings.down_after_us &&
	     !health_find(health, FINDING_NODE_MISSING, cluster.lead, 0, 0)))
		return;
	open = health_hold(health, &(struct health_case){
		.kind = FINDING_NODE_MISSING, .severity = FINDING_CRITICAL, .node = cluster.lead,
		.since = cluster.since, .cause = cluster.switches > 1 ? "rack" : "switch" });
	health_duration(down_us, since);
	if (cluster.switches > 1 || cluster.hosts)
		health_text(open,
			    "all links of %s " TENSE("have", "had") " been down for %s (threshold %lld s); %u switch%s "
			    "and %u host%s failed together", cluster.lead->name, since, limit_s, cluster.switches,
			    cluster.switches == 1 ? "" : "es", cluster.hosts, text_plural(cluster.hosts));
	else
		health_text(open, "all links of %s " TENSE("have", "had") " been down for %s (threshold %lld s); its "
			    "neighbors " TENSE("are", "were") " up",
			    cluster.lead->name, since, limit_s);
	health_number(open, "down_s", (double)down_us / SECOND_US);
	health_number(open, "switches_gone", cluster.switches);
	health_number(open, "hosts_gone", cluster.hosts);
	open->extent = (double)cluster.switches + cluster.hosts;
	for (uint32_t i = 0; i < health->node_count; i++)
		if (health->nodes[i]->isolated && health_cluster(health->nodes[i]) == root)
			health_set_add_links(&ports, health->nodes[i]);
	health_list_set(open, &ports);
	if (!cluster.hosts) {
		health_affected_below(health, open, cluster.lead);
		return;
	}
	health_clear_affected(open);
	for (uint32_t i = 0; i < health->host_count; i++)
		if (is_of_cluster(health->hosts[i], root))
			health_add_affected(open, health->hosts[i]->name);
}

/* The leaf with most HCAs of a cluster, on a tie the one with the lowest GUID; or NULL. */
static const struct health_node *common_leaf(struct health *health, const struct health_node *root)
{
	const struct health_node *best = NULL;
	uint32_t most = 0;

	for (uint32_t n = 0; n < health->node_count; n++) {
		const struct health_node *leaf = health->nodes[n];
		uint32_t count = 0;

		for (uint32_t i = 0; leaf->isolated_hca && i < leaf->slots; i++)
			count += leaf->ports[i].peer && leaf->ports[i].peer->node->isolated &&
				 health_cluster(leaf->ports[i].peer->node) == root;
		if (count > most || (best && count == most && leaf->guid < best->guid)) {
			most = count;
			best = leaf;
		}
	}
	return best;
}

static bool is_of_rack(const struct health_host *host, uint64_t guid, unsigned tag)
{
	return host->rack_guid == guid && host->rack_tag == tag;
}

/* An unused tag: a leaf may lose several racks one after the other. */
static uint8_t free_rack_tag(struct health *health, const struct health_node *leaf)
{
	unsigned tag;
	uint32_t i;

	for (tag = 1; tag < UINT8_MAX; tag++) {
		for (i = 0; i < health->host_count && !is_of_rack(health->hosts[i], leaf->guid, tag); i++)
			;
		if (i == health->host_count && !health_find(health, FINDING_NODE_MISSING, leaf, 0, (uint8_t)tag))
			break;
	}
	return (uint8_t)tag;
}

/* Hosts of one leaf that failed together are one finding of the leaf. */
static void claim_rack(struct health *health, const struct health_node *root)
{
	const struct health_node *leaf;
	uint64_t guid = 0;
	uint8_t tag = 0;

	for (uint32_t i = 0; i < health->host_count; i++) {
		const struct health_host *host = health->hosts[i];

		if (host->rack_guid && is_of_cluster(host, root)) {
			guid = host->rack_guid;
			tag = host->rack_tag;
		}
	}
	if (!guid) {
		leaf = common_leaf(health, root);
		if (!leaf)
			return;
		guid = leaf->guid;
		tag = free_rack_tag(health, leaf);
	}
	for (uint32_t i = 0; i < health->host_count; i++)
		if (is_of_cluster(health->hosts[i], root)) {
			health->hosts[i]->rack_guid = guid;
			health->hosts[i]->rack_tag = tag;
		}
}

/* Report all hosts of a leaf that failed together. */
static void hold_rack(struct health *health, const struct health_node *leaf, uint8_t tag)
{
	int64_t last_us = HEALTH_LONG_AGO;
	struct health_open_finding *open;
	struct health_time began = { 0 };
	struct health_set ports = { 0 };
	uint32_t hosts = 0;
	char since[32];

	for (uint32_t i = 0; i < health->host_count; i++) {
		const struct health_host *host = health->hosts[i];

		if (!host->down || !is_of_rack(host, leaf->guid, tag))
			continue;
		hosts++;
		if (host->down_us > last_us)
			last_us = host->down_us;
		if (!began.us || host->down_since.us < began.us)
			began = host->down_since;
	}
	if (health->now_us - last_us < health->settings.down_after_us)
		return;
	open = health_hold(health, &(struct health_case){
		.kind = FINDING_NODE_MISSING, .severity = FINDING_WARNING, .node = leaf, .tag = tag,
		.since = began, .cause = "rack" });
	health_subject(open, "hosts of %s", leaf->name);
	health_text(open,
		    "%u hosts of %s (threshold %u) went down together and " TENSE("have been", "were") " down for %s; "
		    "the switch " TENSE("is", "was") " up",
		    hosts, leaf->name, health->settings.rack_hosts, health_duration(health->now_us - last_us, since));
	health_number(open, "down_s", (double)(health->now_us - last_us) / SECOND_US);
	health_number(open, "hosts_gone", hosts);
	open->extent = hosts;
	health_clear_affected(open);
	for (uint32_t i = 0; i < health->host_count; i++) {
		if (!health->hosts[i]->down || !is_of_rack(health->hosts[i], leaf->guid, tag))
			continue;
		health_add_affected(open, health->hosts[i]->name);
		health_set_add_host(&ports, health->hosts[i]->first, false);
	}
	health_list_set(open, &ports);
}

static void hold_racks(struct health *health)
{
	uint32_t j;

	for (uint32_t i = 0; i < health->host_count; i++) {
		const struct health_host *host = health->hosts[i];
		const struct health_node *leaf = health_find_node(health, host->rack_guid);

		if (!host->down || !host->rack_guid || !leaf)
			continue;
		/* Report it once, for the first of its hosts. */
		for (j = 0; !health->hosts[j]->down || !is_of_rack(health->hosts[j], leaf->guid, host->rack_tag); j++)
			;
		if (j == i)
			hold_rack(health, leaf, host->rack_tag);
	}
}

static void hold_host(struct health *health, const struct health_host *host)
{
	const struct health_settings *settings = &health->settings;
	int64_t down_us = health->now_us - host->down_us;
	bool missing = host->down && down_us >= settings->missing_after_us;
	struct health_open_finding *open;
	struct health_set ports = { 0 };
	struct host_hcas hcas;
	char since[32], all[32];
	bool one;

	if (!host->down && health->now_us - host->restart_us >= settings->restart_charge_us)
		return;
	if (host->down && (host->rack_guid || host->behind_isolated || down_us < settings->down_after_us ||
			   down_us >= settings->forget_us))
		return;
	hcas = count_hcas(health, host);
	if (!hcas.first)
		return;
	one = hcas.cabled == 1;
	snprintf(all, sizeof(all), one ? "the HCA" : "all %u HCAs", hcas.cabled);
	open = health_hold(health, &(struct health_case){
		.kind = missing ? FINDING_NODE_MISSING : FINDING_HOST_RESTART,
		.severity = missing ? FINDING_WARNING : FINDING_INFO, .node = hcas.first,
		.since = host->down ? host->down_since : host->restart_since, .cause = "host",
		.subject = host->name });
	health_duration(down_us, since);
	if (missing) {
		health_drop(health_find(health, FINDING_HOST_RESTART, hcas.first, 0, 0));
		health_text(open, "%s of %s " TENSE("%s", "had") " been down for %s (threshold %lld min)", all,
			    host->name, one ? "has" : "have", since,
			    (long long)(settings->missing_after_us / MINUTE_US));
		health_number(open, "down_s", (double)down_us / SECOND_US);
	} else if (host->down) {
		health_text(open, "%s of %s went down%s %s ago: it "
			    TENSE("restarts, or is powered off", "restarted, or was powered off"),
			    all, host->name, one ? "" : " together", since);
	} else {
		health_text(open, one ? "%s restarted: its HCA went down and came back" :
			    "%s restarted: all of its %u HCAs went down together and came back", host->name,
			    hcas.cabled);
	}
	health_number(open, "hcas", hcas.cabled);
	health_set_add_host(&ports, hcas.first, false);
	health_list_set(open, &ports);
	health_affected_host(open, host->name);
}

struct nodes { bool were_down; }; /* links were down in the previous step */

static void sweep(struct health *health, void *state)
{
	struct nodes *nodes = state;

	/* A host may get the name of one that is down, or its own name back, while no link is down. */
	if (health->down_ports || nodes->were_down || health->input->topology_changed) {
		find_isolated(health);
		for (uint32_t i = 0; i < health->node_count; i++) {
			const struct health_node *node = health->nodes[i];

			if (node->cluster_switches)
				hold_switches(health, node);
			else if (node->cluster_racks || node->cluster_hosts >= health->settings.rack_hosts)
				claim_rack(health, node);
		}
		hold_racks(health);
	}
	nodes->were_down = health->down_ports > 0;
	for (uint32_t i = 0; i < health->host_count; i++)
		hold_host(health, health->hosts[i]);
	health_restored_nodes(health);
}

const struct health_rule health_nodes = { .state_size = sizeof(struct nodes), .sweep = sweep };
